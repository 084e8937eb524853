#include "subscripts.h"

#include <cstring>
#include <string>

#include "program.h"
#include "report.h"
#include "warp.h"

namespace pyptx::emulator {
namespace {

const uint8_t* register_at(Warp& w, uint32_t offset) { return registers(w).base[0] + offset; }

uint64_t value_of(Warp& w, const Subscript& s, unsigned lane) {
  const uint8_t* at = register_at(w, s.offset);
  if (s.width == 64) return reinterpret_cast<const uint64_t*>(at)[lane];
  const uint32_t value = reinterpret_cast<const uint32_t*>(at)[lane];
  return s.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value))) : value;
}

uint64_t extent_of(Warp& w, const Subscript& s, unsigned lane) {
  if (s.known) return s.extent;
  const uint8_t* at = register_at(w, s.extent_offset);
  if (s.extent_width == 64) return reinterpret_cast<const uint64_t*>(at)[lane];
  return reinterpret_cast<const uint32_t*>(at)[lane];
}

// Beyond it, the index or one of those after it is no element. A negative one is a large number.
uint64_t limit_of(uint64_t extent, uint32_t span) { return extent < span ? 0 : extent - span + 1; }

// Whether all indices are below a limit, which is at most half of what T has. The highest bit is set where one is not.
template <class T>
inline bool all_below(const T* value, T limit) {
  typedef T Vector __attribute__((vector_size(32)));
  constexpr unsigned kLength = sizeof(Vector) / sizeof(T);
  Vector any = {};
#pragma GCC unroll 8
  for (unsigned l = 0; l < kLanes; l += kLength) {
    Vector some;
    std::memcpy(&some, value + l, sizeof some);
    any |= some | ~(some - limit);
  }
  uint64_t bits[4];
  std::memcpy(bits, &any, sizeof bits);
  constexpr uint64_t kHighest = sizeof(T) == 8 ? uint64_t{1} << 63 : 0x8000000080000000u;
  return ((bits[0] | bits[1] | bits[2] | bits[3]) & kHighest) == 0;
}

// Whether it is clear that no index is beyond.
inline bool surely_inside(Warp& w, const Subscript& s) {
  const uint64_t limit = limit_of(s.extent, s.span);
  const uint8_t* values = register_at(w, s.offset);
  if (!s.known || limit > uint64_t{1} << (s.width - 1)) return false;
  return s.width == 32 ? all_below(reinterpret_cast<const uint32_t*>(values), static_cast<uint32_t>(limit))
                       : all_below(reinterpret_cast<const uint64_t*>(values), limit);
}

// The lanes whose index is beyond; those that are not active may be among them.
__attribute__((noinline)) uint32_t lanes_beyond(Warp& w, const Subscript& s) {
  return lane_mask([&](unsigned l) { return value_of(w, s, l) >= limit_of(extent_of(w, s, l), s.span); });
}

std::string described(Warp& w, const Subscript& s, unsigned lane) {
  const uint64_t value = value_of(w, s, lane);
  const auto shown = [&](uint64_t v) {
    return s.is_signed ? std::to_string(static_cast<int64_t>(v)) : std::to_string(v);
  };
  const std::string which = s.span == 1 ? "index " + shown(value) : "indices " + shown(value) + " to " + shown(value + s.span - 1);
  return which + " of dimension " + std::to_string(s.axis) + " of " + s.of + ", whose size is " +
         std::to_string(extent_of(w, s, lane));
}

__attribute__((noinline)) void report_beyond(Warp& w, const Instruction& in, uint32_t beyond, const Subscript& s,
                                             bool store) {
  for (; beyond != 0; beyond &= beyond - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(beyond));
    report(w, Kind::IndexOutOfRange, site_of(w, in, lane, store), described(w, s, lane));
  }
}

inline bool plainly_inside(Warp& w, const Subscripts& subscripts) {
  if (subscripts.plain_count > Subscripts::kMostPlain) return false;
  bool inside = true;
  for (uint32_t i = 0; i < subscripts.plain_count; ++i) {
    const Subscripts::Plain& plain = subscripts.plain[i];
    inside &= all_below(reinterpret_cast<const uint32_t*>(register_at(w, plain.offset)), plain.limit);
  }
  return inside;
}

void check(Warp& w, const Instruction& in, uint32_t mask, const Subscripts& subscripts) {
  for (const Subscript& s : subscripts.list) {
    if (__builtin_expect(surely_inside(w, s), 1)) continue;
    const uint32_t beyond = lanes_beyond(w, s) & mask;
    if (__builtin_expect(beyond != 0, 0)) report_beyond(w, in, beyond, s, subscripts.store);
  }
}

const Subscripts& of(const Warp& w, const Instruction& in) {
  return *w.worker->launch->program->subscripts[in.index];
}

}  // namespace

void Subscripts::add(const Subscript& s) {
  const uint64_t limit = limit_of(s.extent, s.span);
  const bool is_plain = s.known && s.width == 32 && limit <= 1u << 31;
  if (plain_count < kMostPlain && is_plain) plain[plain_count++] = {s.offset, static_cast<uint32_t>(limit)};
  else plain_count = kMostPlain + 1;
  list.push_back(s);
}

void run_subscripted(Warp& w, const Instruction& in, uint32_t mask) {
  const Subscripts& subscripts = of(w, in);
  subscripts.handler(w, in, mask);
  if (__builtin_expect(!plainly_inside(w, subscripts), 0)) check(w, in, mask, subscripts);
}

void run_subscripted_sanitized(Warp& w, const Instruction& in, uint32_t mask) {
  const Subscripts& subscripts = of(w, in);
  subscripts.sanitized(w, in, mask);
  if (__builtin_expect(!plainly_inside(w, subscripts), 0)) check(w, in, mask, subscripts);
}

}  // namespace pyptx::emulator
