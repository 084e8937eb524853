#include "subscripts.h"

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

// The lanes whose index is beyond; those that are not active may be among them.
uint32_t lanes_beyond(Warp& w, const Subscript& s) {
  const uint64_t limit = limit_of(s.extent, s.span);
  if (s.known && s.width == 32 && limit <= 1u << 31) {
    const auto* value = reinterpret_cast<const uint32_t*>(register_at(w, s.offset));
    const auto most = static_cast<uint32_t>(limit);
    uint32_t any = 0;
    PYPTX_EACH_LANE(l) any |= static_cast<uint32_t>(value[l] >= most);
    return any == 0 ? 0 : lane_mask([=](unsigned l) { return value[l] >= most; });
  }
  if (s.known && s.width == 64) {
    const auto* value = reinterpret_cast<const uint64_t*>(register_at(w, s.offset));
    uint64_t any = 0;
    PYPTX_EACH_LANE(l) any |= static_cast<uint64_t>(value[l] >= limit);
    if (any == 0) return 0;
  }
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

void check(Warp& w, const Instruction& in, uint32_t mask, const Subscripts& subscripts) {
  for (const Subscript& s : subscripts.list) {
    const uint32_t beyond = lanes_beyond(w, s) & mask;
    if (__builtin_expect(beyond != 0, 0)) report_beyond(w, in, beyond, s, subscripts.store);
  }
}

const Subscripts& of(const Warp& w, const Instruction& in) {
  return *w.worker->launch->program->subscripts[in.index];
}

}  // namespace

void run_subscripted(Warp& w, const Instruction& in, uint32_t mask) {
  const Subscripts& subscripts = of(w, in);
  subscripts.handler(w, in, mask);
  check(w, in, mask, subscripts);
}

void run_subscripted_sanitized(Warp& w, const Instruction& in, uint32_t mask) {
  const Subscripts& subscripts = of(w, in);
  subscripts.sanitized(w, in, mask);
  check(w, in, mask, subscripts);
}

}  // namespace pyptx::emulator
