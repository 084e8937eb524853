// atom and red: read-modify-write of global and shared memory, lanes in ascending order.
//
// Memory of several host threads is updated with the host's atomic instructions. Scalar `.f32` additions to
// global memory take subnormal inputs and results as zeros of the same sign; all other types keep them
// (PTX ISA, "atom").
#include <cmath>

#include "access.h"
#include "floating.h"
#include "modifiers.h"
#include "strong_access.h"

namespace pyptx::emulator {
namespace {

struct AtomicPlan : AccessPlan {
  Update update = nullptr;         // elements of up to 8 bytes
  Update update_global = nullptr;  // the same in global memory
  bool returns = false;            // atom: destinations come first
  bool compares = false;           // cas: two sources
  uint8_t second = 0;              // slot of its second source
};

template <class T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
uint64_t to_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T> uint64_t add(uint64_t a, uint64_t b, uint64_t) { return to_bits<T>(static_cast<T>(a + b)); }
template <class T> uint64_t smaller(uint64_t a, uint64_t b, uint64_t) { return from_bits<T>(b) < from_bits<T>(a) ? b : a; }
template <class T> uint64_t larger(uint64_t a, uint64_t b, uint64_t) { return from_bits<T>(b) > from_bits<T>(a) ? b : a; }
uint64_t bit_and(uint64_t a, uint64_t b, uint64_t) { return a & b; }
uint64_t bit_or(uint64_t a, uint64_t b, uint64_t) { return a | b; }
uint64_t bit_xor(uint64_t a, uint64_t b, uint64_t) { return a ^ b; }
uint64_t exchange(uint64_t, uint64_t b, uint64_t) { return b; }
uint64_t compare_and_swap(uint64_t a, uint64_t b, uint64_t c) { return a == b ? c : a; }
uint64_t increment(uint64_t a, uint64_t b, uint64_t) { return a >= b ? 0 : a + 1; }
uint64_t decrement(uint64_t a, uint64_t b, uint64_t) { return a == 0 || a > b ? b : a - 1; }

uint64_t canonical_f32(float value) { return to_bits(canonical(value)); }

uint64_t add_f32(uint64_t a, uint64_t b, uint64_t) { return canonical_f32(from_bits<float>(a) + from_bits<float>(b)); }

uint64_t flush(uint64_t bits) { return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits; }

uint64_t add_f32_flush(uint64_t a, uint64_t b, uint64_t) { return flush(add_f32(flush(a), flush(b), 0)); }

// A NaN in memory stays one, quiet, in shared memory, where the addition is that of a thread; in global memory
// the operand's goes before it, and either keeps every bit.
uint64_t add_f64(uint64_t a, uint64_t b, uint64_t) {
  const double x = from_bits<double>(a), y = from_bits<double>(b), sum = x + y;
  return to_bits(std::isnan(sum) ? nan_of(x, y) : sum);
}

uint64_t add_f64_global(uint64_t a, uint64_t b, uint64_t c) {
  const double x = from_bits<double>(a), y = from_bits<double>(b);
  return std::isnan(y) ? b : std::isnan(x) ? a : add_f64(a, b, c);
}

// 16-bit formats: an f32 holds their sums closely enough that rounding twice equals rounding once, because it
// has more than twice their precision plus two bits.
struct Half {
  static constexpr uint32_t kNan = 0x7fff;
  static float widen(uint32_t h) {
    const uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
    if (exponent == 31) return from_bits<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) {
      const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return sign ? -magnitude : magnitude;
    }
    return from_bits<float>(sign | (exponent + 112) << 23 | fraction << 13);
  }
  static uint32_t narrow(float value) {
    const auto bits = static_cast<uint32_t>(to_bits(value));
    const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to infinity
    if (magnitude < 0x38800000u) {                        // subnormal: a multiple of 2^-24
      return sign | static_cast<uint32_t>(std::nearbyint(from_bits<float>(magnitude) * 0x1p24f));
    }
    const uint32_t odd = magnitude >> 13 & 1u;
    return sign | (((magnitude + 0xfffu + odd) >> 13) - (112u << 10));
  }
};

struct Brain {
  static constexpr uint32_t kNan = 0x7fff;
  static float widen(uint32_t h) { return from_bits<float>(static_cast<uint64_t>(h) << 16); }
  static uint32_t narrow(float value) {
    const auto bits = static_cast<uint32_t>(to_bits(value));
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  }
};

enum class Half16 : uint8_t { Add, Min, Max };

template <class F, Half16 kOp>
uint32_t half_lane(uint32_t a, uint32_t b) {
  const float x = F::widen(a), y = F::widen(b);
  if (kOp == Half16::Add) {
    const float sum = x + y;
    return std::isnan(sum) ? F::kNan : F::narrow(sum) & 0xffffu;
  }
  if (std::isnan(x)) return std::isnan(y) ? F::kNan : b;
  if (std::isnan(y)) return a;
  // -0 is less than +0, so equal values are told apart by their signs.
  const bool less = x < y || (x == y && (a & 0x8000u) > (b & 0x8000u));
  return less == (kOp == Half16::Min) ? a : b;
}

template <class F, Half16 kOp>
uint64_t half_one(uint64_t a, uint64_t b, uint64_t) {
  return half_lane<F, kOp>(static_cast<uint32_t>(a), static_cast<uint32_t>(b));
}

template <class F, Half16 kOp>
uint64_t half_two(uint64_t a, uint64_t b, uint64_t) {
  const uint64_t low = half_lane<F, kOp>(a & 0xffffu, b & 0xffffu);
  return low | static_cast<uint64_t>(half_lane<F, kOp>(a >> 16 & 0xffffu, b >> 16 & 0xffffu)) << 16;
}

// ---- Updating memory -------------------------------------------------------------------------------------

template <class T>
uint64_t update_as(uint8_t* place, Update update, uint64_t b, uint64_t c, bool* changed) {
  T* p = reinterpret_cast<T*>(place);
  T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  for (;;) {
    const T value = static_cast<T>(update(old, b, c));
    if (__atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      *changed |= value != old;
      return old;
    }
  }
}

}  // namespace

uint64_t update_at(uint8_t* place, unsigned bytes, Update update, uint64_t b, uint64_t c, bool* changed) {
  if (bytes == 4) return update_as<uint32_t>(place, update, b, c, changed);
  if (bytes == 8) return update_as<uint64_t>(place, update, b, c, changed);
  return update_as<uint16_t>(place, update, b, c, changed);
}

namespace {

uint64_t lane_bits(const uint8_t* lanes, unsigned lane, unsigned bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, lanes + lane * bytes, bytes);
  return bits;
}

const uint8_t* source_at(Warp& w, const Instruction& in, unsigned slot) {
  const uint32_t at = in.more != nullptr ? in.more[slot] : in.operand[slot];
  return w.base[at >> 31] + (at & ~kPoolBit);
}

uint8_t* destination_at(Warp& w, const Instruction& in, unsigned slot) {
  return w.base[0] + (in.more != nullptr ? in.more[slot] : in.operand[slot]);
}

template <bool kSanitized>
uint32_t locate_atomic(Warp& w, const Instruction& in, const AtomicPlan& plan, uint32_t mask, Places& places,
                       uint32_t* global, StrongStores& stores) {
  Addresses a;
  read_addresses(w, in, plan, a);
  if (kSanitized) stores.look(w, plan, a, mask);
  mask = locate<kSanitized>(w, in, plan, plan.space, a, mask, places);
  *global = plan.space == Space::Global ? mask : plan.space != Space::Generic ? 0
            : mask & lane_mask([&](unsigned l) { return space_of(a.at[l]) == Space::Global; });
  if (kSanitized) stores.begin(w, in, plan, a, mask, places);
  if (kSanitized) order_lanes(w, in, plan, a, mask);
  return mask;
}

template <bool kSanitized>
void atomic(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& plan = *static_cast<const AtomicPlan*>(in.plan);
  Places places;
  uint32_t global;
  StrongStores stores;
  mask = locate_atomic<kSanitized>(w, in, plan, mask, places, &global, stores);
  bool changed = false;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    const Update update = global >> l & 1u ? plan.update_global : plan.update;
    uint64_t old[8];
    for (unsigned e = 0; e < plan.vector; ++e) {
      const uint64_t b = lane_bits(source_at(w, in, plan.data + e), l, plan.element);
      const uint64_t c = plan.compares ? lane_bits(source_at(w, in, plan.second), l, plan.element) : 0;
      old[e] = update_at(places.at[l] + e * plan.element, plan.element, update, b, c, &changed);
    }
    for (unsigned e = 0; plan.returns && e < plan.vector; ++e) {
      std::memcpy(destination_at(w, in, e) + l * plan.element, &old[e], plan.element);
    }
  }
  if (changed) memory_changed(w);
  if (kSanitized) stores.done(w);
}

// 128-bit exch and cas.
template <bool kSanitized>
void atomic_wide(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& plan = *static_cast<const AtomicPlan*>(in.plan);
  Places places;
  uint32_t global;
  StrongStores stores;
  mask = locate_atomic<kSanitized>(w, in, plan, mask, places, &global, stores);
  const std::lock_guard<std::mutex> lock(w.worker->launch->wide_atomics);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    uint128 old, b, c = 0;
    std::memcpy(&old, places.at[l], 16);
    std::memcpy(&b, source_at(w, in, plan.data) + l * 16, 16);
    if (plan.compares) std::memcpy(&c, source_at(w, in, plan.second) + l * 16, 16);
    const uint128 value = !plan.compares ? b : old == b ? c : old;
    std::memcpy(places.at[l], &value, 16);
    if (value != old) memory_changed(w);
    if (plan.returns) std::memcpy(destination_at(w, in, 0) + l * 16, &old, 16);
  }
  if (kSanitized) stores.done(w);
}

// ---- Decoding --------------------------------------------------------------------------------------------

struct Row {
  std::string_view op, type;
  uint8_t bytes;
  Update update;
  Update global;  // nullptr: the same
};

constexpr Row kRows[] = {
    {"add", "u32", 4, add<uint32_t>, nullptr}, {"add", "s32", 4, add<uint32_t>, nullptr},
    {"add", "u64", 8, add<uint64_t>, nullptr}, {"add", "s64", 8, add<uint64_t>, nullptr},
    {"add", "f32", 4, add_f32, add_f32_flush}, {"add", "f64", 8, add_f64, add_f64_global},
    {"add", "f16", 2, half_one<Half, Half16::Add>, nullptr}, {"add", "bf16", 2, half_one<Brain, Half16::Add>, nullptr},
    {"add", "f16x2", 4, half_two<Half, Half16::Add>, nullptr}, {"add", "bf16x2", 4, half_two<Brain, Half16::Add>, nullptr},
    {"min", "f16", 2, half_one<Half, Half16::Min>, nullptr}, {"min", "bf16", 2, half_one<Brain, Half16::Min>, nullptr},
    {"min", "f16x2", 4, half_two<Half, Half16::Min>, nullptr}, {"min", "bf16x2", 4, half_two<Brain, Half16::Min>, nullptr},
    {"max", "f16", 2, half_one<Half, Half16::Max>, nullptr}, {"max", "bf16", 2, half_one<Brain, Half16::Max>, nullptr},
    {"max", "f16x2", 4, half_two<Half, Half16::Max>, nullptr}, {"max", "bf16x2", 4, half_two<Brain, Half16::Max>, nullptr},
    {"min", "u32", 4, smaller<uint32_t>, nullptr}, {"min", "s32", 4, smaller<int32_t>, nullptr},
    {"min", "u64", 8, smaller<uint64_t>, nullptr}, {"min", "s64", 8, smaller<int64_t>, nullptr},
    {"max", "u32", 4, larger<uint32_t>, nullptr}, {"max", "s32", 4, larger<int32_t>, nullptr},
    {"max", "u64", 8, larger<uint64_t>, nullptr}, {"max", "s64", 8, larger<int64_t>, nullptr},
    {"and", "b32", 4, bit_and, nullptr}, {"and", "b64", 8, bit_and, nullptr},
    {"or", "b32", 4, bit_or, nullptr}, {"or", "b64", 8, bit_or, nullptr},
    {"xor", "b32", 4, bit_xor, nullptr}, {"xor", "b64", 8, bit_xor, nullptr},
    {"exch", "b32", 4, exchange, nullptr}, {"exch", "b64", 8, exchange, nullptr},
    {"exch", "b128", 16, nullptr, nullptr},
    {"cas", "b16", 2, compare_and_swap, nullptr}, {"cas", "b32", 4, compare_and_swap, nullptr},
    {"cas", "b64", 8, compare_and_swap, nullptr}, {"cas", "b128", 16, nullptr, nullptr},
    {"inc", "u32", 4, increment, nullptr}, {"dec", "u32", 4, decrement, nullptr}};

// What read_access leaves: the operation, `noftz`, the type.
const Row* read_row(Decoding& d, AtomicPlan* plan) {
  read_access(d, plan);
  const bool noftz = d.has("noftz");
  if (d.modifiers.size() != (noftz ? 3u : 2u) || (noftz && d.modifiers[1] != "noftz")) return nullptr;
  for (const Row& row : kRows) {
    if (row.op == d.modifiers[0] && row.type == d.last()) return &row;
  }
  return nullptr;
}

bool bind_elements(Decoding& d, unsigned operand, const AtomicPlan& plan, bool destination) {
  if (d.elements(operand) != plan.vector && !(destination && d.elements(operand) == 1)) return false;
  const unsigned width = plan.element * 8u;
  for (unsigned e = 0; e < plan.vector; ++e) {
    const OperandView* v = d.element(operand, d.elements(operand) == 1 ? 0 : e);
    if (d.elements(operand) == 1 && plan.vector > 1 && v->kind != OperandView::Kind::Sink) return false;
    if (!(destination ? d.bind_destination(v, width, width) : d.bind_source(v, width, width))) return false;
  }
  return true;
}

}  // namespace

Update find_update(std::string_view operation, std::string_view type, bool global, unsigned* bytes) {
  for (const Row& row : kRows) {
    if (row.op != operation || row.type != type || row.bytes > 8) continue;
    *bytes = row.bytes;
    return global && row.global != nullptr ? row.global : row.update;
  }
  return nullptr;
}

Handler resolve_atomic(Decoding& d) {
  AtomicPlan plan;
  plan.access = Access::Atomic;
  const std::vector<std::string_view> spelled = d.modifiers;
  plan.order.scope = Scope::Gpu;
  const Row* row = read_row(d, &plan);
  d.modifiers = spelled;
  if (row == nullptr) return nullptr;
  plan.element = row->bytes;
  plan.bytes = static_cast<uint8_t>(row->bytes * plan.vector);
  plan.order.strong = true;
  plan.update = row->update;
  plan.update_global = row->global != nullptr ? row->global : row->update;
  plan.returns = d.opcode == "atom";
  plan.compares = row->op == "cas";
  if (plan.compares && !plan.returns) return nullptr;
  if (plan.space == Space::Local || plan.space == Space::Const || plan.space == Space::Param) return nullptr;
  unsigned k = 0;
  if (plan.returns && !bind_elements(d, k++, plan, true)) return nullptr;
  if (!bind_address(d, k++, &plan)) return nullptr;
  plan.data = static_cast<uint8_t>(d.bound());
  if (!bind_elements(d, k++, plan, false)) return nullptr;
  plan.second = static_cast<uint8_t>(d.bound());
  if (plan.compares && !d.source(k++, plan.element * 8u)) return nullptr;
  if (k < d.operands.size() && !bind_policy(d, k++)) return nullptr;
  if (k != d.operands.size()) return nullptr;
  note_access(d, plan);
  d.out->plan = d.keep(plan);
  d.out->sanitized = row->update == nullptr ? atomic_wide<true> : atomic<true>;
  return row->update == nullptr ? atomic_wide<false> : atomic<false>;
}

}  // namespace pyptx::emulator
