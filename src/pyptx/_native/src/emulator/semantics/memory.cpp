// ld, ldu, st, and what else takes addresses; atom and red are in atomic.cpp.
#include <algorithm>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "access.h"
#include "modifiers.h"
#include "quads.h"
#include "strong_access.h"

namespace pyptx::emulator {

Handler resolve_atomic(Decoding& d);   // atomic.cpp
Handler resolve_address(Decoding& d);  // address.cpp

namespace {

// Moves the data of one instruction. A range is 32 lanes' elements one after the other.
struct Movers {
  void (*range)(Warp&, const Instruction&, uint8_t*);
  void (*lanes)(Warp&, const Instruction&, uint32_t, const Places&);
  void (*broadcast)(Warp&, const Instruction&, const uint8_t*);  // loads only
  void (*runs)(Warp&, const Instruction&, const uint8_t*, const LanePattern&);  // loads only
};

struct MovePlan : AccessPlan {
  Movers movers;
  bool sign = false;              // a narrow signed element extends its sign
  uint8_t register_bytes[8] = {0};  // per element, where registers are wider than elements
};

const MovePlan& plan_of(const Instruction& in) { return *static_cast<const MovePlan*>(in.plan); }

void load_quads(const uint32_t* from, uint32_t* const* d) {
  for (unsigned l = 0; l < kLanes; l += 8) {
    const uint32_t* p = from + l * 4;
    TwoQuads a, b, c, e;
    get(a, p), get(b, p + 8), get(c, p + 16), get(e, p + 24);
    pair(a, c);
    pair(b, e);
    transpose(a, c, b, e);
    put(d[0] + l, a);
    put(d[1] + l, c);
    put(d[2] + l, b);
    put(d[3] + l, e);
  }
}

void store_quads(uint32_t* to, const uint32_t* const* s) {
  for (unsigned l = 0; l < kLanes; l += 8) {
    uint32_t* p = to + l * 4;
    TwoQuads a, b, c, e;
    get(a, s[0] + l), get(b, s[1] + l), get(c, s[2] + l), get(e, s[3] + l);
    transpose(a, b, c, e);
    pair(a, b);
    pair(c, e);
    put(p, a);
    put(p + 8, c);
    put(p + 16, b);
    put(p + 24, e);
  }
}

// Registers as wide as elements. Destinations of a load are operands 0..N-1, sources of a store 1..N.
template <class E, unsigned N>
struct Load {
  static void range(Warp& w, const Instruction& in, uint8_t* from) {
    const E* p = reinterpret_cast<const E*>(from);
    E* d[N];
    for (unsigned e = 0; e < N; ++e) d[e] = destination<E>(w, in, e);
    if constexpr (N == 1) {
      std::memcpy(d[0], p, sizeof(E) * kLanes);
    } else if constexpr (N == 4 && sizeof(E) == 4) {
      load_quads(p, d);
    } else {
      for (unsigned l = 0; l < kLanes; ++l) {
#pragma GCC unroll 8
        for (unsigned e = 0; e < N; ++e) d[e][l] = p[l * N + e];
      }
    }
  }
  static void lanes(Warp& w, const Instruction& in, uint32_t mask, const Places& from) {
    E* d[N];
    for (unsigned e = 0; e < N; ++e) d[e] = destination<E>(w, in, e);
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1u)) continue;
      for (unsigned e = 0; e < N; ++e) std::memcpy(&d[e][l], from.at[l] + e * sizeof(E), sizeof(E));
    }
  }
  static void broadcast(Warp& w, const Instruction& in, const uint8_t* from) {
    for (unsigned e = 0; e < N; ++e) {
      E value;
      std::memcpy(&value, from + e * sizeof(E), sizeof(E));
      E* d = destination<E>(w, in, e);
      PYPTX_EACH_LANE(l) d[l] = value;
    }
  }
  // The lanes of a run, or, as `kCount` says, a number of them that is known here: tiles have so many columns.
  template <unsigned kCount>
  static inline __attribute__((always_inline)) void run_of(E* d, const uint8_t* place, const LaneRun& run) {
    const unsigned lanes = kCount != 0 ? kCount : run.lanes;
    if (run.one_place) {
      E value;
      std::memcpy(&value, place, sizeof(E));
      for (unsigned l = 0; l < lanes; ++l) d[l] = value;
      return;
    }
    for (unsigned k = 0; k <= run.again; ++k, d += lanes) {
      if (N == 1) std::memcpy(d, place, lanes * sizeof(E));
      for (unsigned l = 0; N != 1 && l < lanes; ++l) std::memcpy(d + l, place + l * N * sizeof(E), sizeof(E));
    }
  }
  static void runs(Warp& w, const Instruction& in, const uint8_t* from, const LanePattern& pattern) {
    for (unsigned e = 0; e < N; ++e) {
      E* d = destination<E>(w, in, e);
      for (uint32_t i = 0; i < pattern.runs.count; ++i) {
        const LaneRun& run = pattern.runs.run[i];
        const uint8_t* place = from + pattern.from_first[run.lane] + e * sizeof(E);
        if (run.lanes == 16) run_of<16>(d + run.lane, place, run);
        else if (run.lanes == 8) run_of<8>(d + run.lane, place, run);
        else run_of<0>(d + run.lane, place, run);
      }
    }
  }
  static constexpr Movers movers = {range, lanes, broadcast, runs};
};

template <class E, unsigned N>
struct Store {
  static void range(Warp& w, const Instruction& in, uint8_t* to) {
    E* p = reinterpret_cast<E*>(to);
    const E* s[N];
    for (unsigned e = 0; e < N; ++e) s[e] = source<E>(w, in, 1 + e);
    if constexpr (N == 1) {
      std::memcpy(p, s[0], sizeof(E) * kLanes);
    } else if constexpr (N == 4 && sizeof(E) == 4) {
      store_quads(p, s);
    } else {
      for (unsigned l = 0; l < kLanes; ++l) {
#pragma GCC unroll 8
        for (unsigned e = 0; e < N; ++e) p[l * N + e] = s[e][l];
      }
    }
  }
  static void lanes(Warp& w, const Instruction& in, uint32_t mask, const Places& to) {
    const E* s[N];
    for (unsigned e = 0; e < N; ++e) s[e] = source<E>(w, in, 1 + e);
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1u)) continue;
      for (unsigned e = 0; e < N; ++e) std::memcpy(to.at[l] + e * sizeof(E), &s[e][l], sizeof(E));
    }
  }
  static constexpr Movers movers = {range, lanes, nullptr, nullptr};
};

// Registers wider than elements: loads extend, stores take the low bytes.
void load_wide(Warp& w, const Instruction& in, uint32_t mask, const Places& from) {
  const MovePlan& plan = plan_of(in);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    for (unsigned e = 0; e < plan.vector; ++e) {
      uint64_t value = 0;
      std::memcpy(&value, from.at[l] + e * plan.element, plan.element);
      const unsigned unused = 64 - 8u * plan.element;
      if (plan.sign) value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
      const unsigned width = plan.register_bytes[e];
      std::memcpy(destination<uint8_t>(w, in, e) + l * width, &value, width);
    }
  }
}

void store_wide(Warp& w, const Instruction& in, uint32_t mask, const Places& to) {
  const MovePlan& plan = plan_of(in);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    for (unsigned e = 0; e < plan.vector; ++e) {
      const uint8_t* s = source<uint8_t>(w, in, 1 + e) + l * plan.register_bytes[e];
      std::memcpy(to.at[l] + e * plan.element, s, plan.element);
    }
  }
}

bool same_value(Warp& w, const Instruction& in, unsigned a, unsigned b) {
  const MovePlan& plan = plan_of(in);
  for (unsigned e = 0; e < plan.vector; ++e) {
    const uint8_t* s = source<uint8_t>(w, in, 1 + e);
    const unsigned width = plan.register_bytes[e];
    if (std::memcmp(s + a * width, s + b * width, plan.element) != 0) return false;
  }
  return true;
}

template <template <class, unsigned> class M>
Movers movers_for(unsigned element, unsigned vector) {
#define PYPTX_MOVER(bytes, type, n) \
  if (element == bytes && vector == n) return M<type, n>::movers
  PYPTX_MOVER(4, uint32_t, 1);
  PYPTX_MOVER(4, uint32_t, 2);
  PYPTX_MOVER(4, uint32_t, 4);
  PYPTX_MOVER(4, uint32_t, 8);
  PYPTX_MOVER(2, uint16_t, 1);
  PYPTX_MOVER(2, uint16_t, 2);
  PYPTX_MOVER(2, uint16_t, 4);
  PYPTX_MOVER(2, uint16_t, 8);
  PYPTX_MOVER(8, uint64_t, 1);
  PYPTX_MOVER(8, uint64_t, 2);
  PYPTX_MOVER(8, uint64_t, 4);
  PYPTX_MOVER(1, uint8_t, 1);
  PYPTX_MOVER(1, uint8_t, 2);
  PYPTX_MOVER(1, uint8_t, 4);
  PYPTX_MOVER(1, uint8_t, 8);
  PYPTX_MOVER(16, uint128, 1);
#undef PYPTX_MOVER
  return {nullptr, nullptr, nullptr, nullptr};
}

// ---- Handlers --------------------------------------------------------------------------------------------

// Whether 32 lanes touch consecutive ranges of `bytes`, a power of two; of registers, before addresses are made of them.
#ifdef __AVX512F__

// A vector of the host at a time, as the registers were written: a load across two stores that are not done yet waits
// for both. Comparisons give masks, of which nothing has to be reduced.
inline bool consecutive(const uint64_t* a, unsigned bytes) {
  struct Places {
    uint64_t of[6][8];  // of the lanes of a vector, for elements of 1 to 32 bytes
  };
  static constexpr Places kPlaces = [] {
    Places places{};
    for (unsigned i = 0; i < 6; ++i)
      for (unsigned l = 0; l < 8; ++l) places.of[i][l] = uint64_t{l} << i;
    return places;
  }();
  const __m512i step = _mm512_set1_epi64(8ll * bytes);
  __m512i expected = _mm512_add_epi64(_mm512_set1_epi64(static_cast<int64_t>(a[0])),
                                      _mm512_loadu_si512(kPlaces.of[__builtin_ctz(bytes)]));
  unsigned others = 0;
  for (unsigned l = 0; l < kLanes; l += 8) {
    others |= _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(a + l), expected);
    expected = _mm512_add_epi64(expected, step);
  }
  return others == 0;
}

#endif

template <class T>
inline bool consecutive(const T* a, unsigned bytes) {
  const T first = a[0];
  if (static_cast<T>(a[1] - first) != bytes) return false;
  // Vectors of the host are compared with those before them, which takes less than all places from the first.
  constexpr unsigned kStep = 32 / sizeof(T);
  const T step = T{kStep} * bytes;
  const int shift = __builtin_ctz(bytes);
  T differences = 0;
  for (unsigned l = 0; l < kStep; ++l) differences |= a[l] ^ static_cast<T>(first + (static_cast<T>(l) << shift));
  for (unsigned l = kStep; l < kLanes; ++l) differences |= static_cast<T>(a[l] - a[l - kStep]) ^ step;
  return differences == 0;
}

bool consecutive(Warp& w, const Instruction& in, const MovePlan& plan, uint64_t* address) {
  const auto offset = static_cast<uint64_t>(in.immediate);
  if (plan.wide_address) {
    const uint64_t* a = source<uint64_t>(w, in, plan.address);
    *address = a[0] + offset;
    return consecutive(a, plan.bytes);
  }
  const uint32_t* a = source<uint32_t>(w, in, plan.address);
  const uint32_t first = a[0] + static_cast<uint32_t>(offset);
  *address = first;
  return consecutive(a, plan.bytes) && first <= ~0u - kLanes * plan.bytes;  // an address has 32 bits
}

bool uniform(const Addresses& a) {
  const uint64_t first = a.at[0];
  if (a.at[1] != first) return false;
  uint64_t differences = 0;
  PYPTX_EACH_LANE(l) differences |= a.at[l] ^ first;
  return differences == 0;
}

template <bool kSanitized>
uint8_t* locate_range(Warp& w, const Instruction& in, const MovePlan& plan, uint64_t first) {
  Space space = plan.space;
  if (space == Space::Generic) {
    space = space_of(first);
    if (space_of(first + kLanes * plan.bytes) != space) return nullptr;
    if (space != Space::Global) first &= ~kWindowMask;
    if (space == Space::SharedCluster && first >> kRankShift == w.cta->rank) space = Space::Shared;
  }
  if (space == Space::Global) return locate_global_range<kSanitized>(w, in, plan, first);
  if (space == Space::Shared) return locate_shared_range<kSanitized>(w, in, plan, first);
  return nullptr;
}

template <bool kSanitized>
bool load_uniform(Warp& w, const Instruction& in, const MovePlan& plan, uint64_t address) {
  const uint8_t* from = locate_uniform<kSanitized>(w, in, plan, address);
  if (from == nullptr) return false;
  plan.movers.broadcast(w, in, from);
  return true;
}

template <bool kSanitized>
bool load_range(Warp& w, const Instruction& in, const MovePlan& plan, uint64_t address) {
  uint8_t* from = locate_range<kSanitized>(w, in, plan, address);
  if (from == nullptr) return false;
  plan.movers.range(w, in, from);
  return true;
}

bool has_patterns(const Warp& w, const MovePlan& plan) {
  return plan.space == Space::Shared && w.worker->statistics == nullptr && !w.worker->patterns.empty();
}

// Of the CTA's own shared memory, where the lanes' addresses lie to each other in some way.
template <bool kSanitized>
bool load_pattern(Warp& w, const Instruction& in, const MovePlan& plan, uint64_t address, const LanePattern& pattern) {
  const uint8_t* from = locate_shared_pattern<kSanitized>(w, in, plan, address, pattern);
  if (from == nullptr) return false;
  plan.movers.runs(w, in, from, pattern);
  return true;
}

// The same where they do as they did before.
template <bool kSanitized>
bool load_as_before(Warp& w, const Instruction& in, const MovePlan& plan) {
  if (plan.wide_address || !has_patterns(w, plan)) return false;
  const LanePattern& pattern = w.worker->patterns.of(in.index);
  if (pattern.bytes != plan.bytes) return false;
  const uint32_t* a = source<uint32_t>(w, in, plan.address);
  if (!follows(a, pattern)) return false;
  return load_pattern<kSanitized>(w, in, plan, a[0] + static_cast<uint32_t>(in.immediate), pattern);
}

template <bool kSanitized>
bool load_found(Warp& w, const Instruction& in, const MovePlan& plan, const Addresses& a) {
  const LanePattern* pattern = has_patterns(w, plan) ? w.worker->patterns.find(a.at, in.index, plan.bytes) : nullptr;
  return pattern != nullptr && load_pattern<kSanitized>(w, in, plan, a.at[0], *pattern);
}

// Where the lanes' addresses lie to each other in some way, or in none. Not a part of the handlers: the arrays would
// cost the common way, too.
template <bool kSanitized>
__attribute__((noinline)) void load_lanes(Warp& w, const Instruction& in, uint32_t mask, bool look) {
  const MovePlan& plan = plan_of(in);
  Addresses a;
  read_addresses(w, in, plan, a);
  if (look) {
    if (uniform(a) && load_uniform<kSanitized>(w, in, plan, a.at[0])) return;
    if (load_found<kSanitized>(w, in, plan, a)) return;
  }
  Places places;
  mask = locate<kSanitized>(w, in, plan, plan.space, a, mask, places);
  if (kSanitized && plan.order.strong) order_strong_loads(w, in, plan, a, mask, places);
  plan.movers.lanes(w, in, mask, places);
}

template <bool kSanitized>
void load(Warp& w, const Instruction& in, uint32_t mask) {
  const MovePlan& plan = plan_of(in);
  const bool whole = mask == kFullMask && plan.movers.range != nullptr && !(kSanitized && plan.order.strong);
  if (whole && plan.constant_address) {
    const uint64_t address = *source<uint64_t>(w, in, plan.address) + static_cast<uint64_t>(in.immediate);
    if (load_uniform<kSanitized>(w, in, plan, address)) return;
  }
  if (whole && load_as_before<kSanitized>(w, in, plan)) return;
  uint64_t first;
  const bool range = whole && consecutive(w, in, plan, &first);
  if (range && load_range<kSanitized>(w, in, plan, first)) return;
  load_lanes<kSanitized>(w, in, mask, whole && !range);
}

template <bool kSanitized>
__attribute__((noinline)) void store_lanes(Warp& w, const Instruction& in, uint32_t mask, uint8_t* range) {
  const MovePlan& plan = plan_of(in);
  const bool ordered = kSanitized && plan.order.strong;
  Addresses a;
  read_addresses(w, in, plan, a);
  if (range != nullptr) {
    if (ordered) order_lanes(w, in, plan, a, mask);
    plan.movers.range(w, in, range);
    return;
  }
  const bool kept = ordered && gives_older_values(w);
  Places places;
  StrongStores stores;
  if (kept) stores.look(w, plan, a, mask);
  mask = locate<kSanitized>(w, in, plan, plan.space, a, mask, places);
  if (kept) stores.begin(w, in, plan, a, mask, places);
  if (ordered) order_lanes(w, in, plan, a, mask);
  plan.movers.lanes(w, in, mask, places);
  if (kept) stores.done(w);
}

template <bool kSanitized>
void store(Warp& w, const Instruction& in, uint32_t mask) {
  const MovePlan& plan = plan_of(in);
  memory_changed(w);
  const bool ordered = kSanitized && plan.order.strong;
  uint64_t first;
  const bool range = mask == kFullMask && plan.movers.range != nullptr && !(ordered && gives_older_values(w)) &&
                     consecutive(w, in, plan, &first);
  uint8_t* to = range ? locate_range<kSanitized>(w, in, plan, first) : nullptr;
  if (to != nullptr && !ordered) plan.movers.range(w, in, to);
  else store_lanes<kSanitized>(w, in, mask, to);
}

// ---- Decoding --------------------------------------------------------------------------------------------

struct TypeRow {
  std::string_view name;
  uint8_t bytes;
  bool sign;
};
constexpr TypeRow kTypes[] = {{"b8", 1, false},  {"u8", 1, false},  {"s8", 1, true},   {"b16", 2, false},
                              {"u16", 2, false}, {"s16", 2, true},  {"b32", 4, false}, {"u32", 4, false},
                              {"s32", 4, true},  {"f32", 4, false}, {"b64", 8, false}, {"u64", 8, false},
                              {"s64", 8, false}, {"f64", 8, false}, {"b128", 16, false}};

bool read_type(Decoding& d, MovePlan* plan) {
  if (d.modifiers.size() != 1) return false;
  for (const TypeRow& row : kTypes) {
    if (row.name != d.modifiers[0]) continue;
    plan->element = row.bytes;
    plan->sign = row.sign;
    plan->bytes = static_cast<uint8_t>(row.bytes * plan->vector);
    return plan->bytes <= 32;
  }
  return false;
}

// Binds the data operand, which is a vector where the spelling says so.
bool bind_data(Decoding& d, unsigned operand, MovePlan* plan, bool store) {
  plan->data = static_cast<uint8_t>(d.bound());
  if (d.elements(operand) != plan->vector) return false;
  const unsigned least = plan->element * 8u, most = least == 128 ? 128 : 64;
  bool wide = false;
  for (unsigned e = 0; e < plan->vector; ++e) {
    const OperandView* v = d.element(operand, e);
    if (!(store ? d.bind_source(v, least, most) : d.bind_destination(v, least, most))) return false;
    const unsigned width = d.bound_width(plan->data + e);
    plan->register_bytes[e] = static_cast<uint8_t>(width / 8);
    wide |= width != least;
  }
  if (wide) plan->movers = {nullptr, store ? store_wide : load_wide, nullptr, nullptr};
  else plan->movers = store ? movers_for<Store>(plan->element, plan->vector) : movers_for<Load>(plan->element, plan->vector);
  return plan->movers.lanes != nullptr;
}

Handler resolve_move_memory(Decoding& d, bool is_store) {
  MovePlan plan;
  plan.access = is_store ? Access::Store : Access::Load;
  plan.same_value = is_store ? same_value : nullptr;
  const std::vector<std::string_view> spelled = d.modifiers;
  const bool known = read_access(d, &plan) && read_type(d, &plan);
  d.modifiers = spelled;
  if (!known || d.operands.size() < 2 || d.operands.size() > 3) return nullptr;
  if (is_store ? !bind_address(d, 0, &plan) || !bind_data(d, 1, &plan, true)
               : !bind_data(d, 0, &plan, false) || !bind_address(d, 1, &plan)) {
    return nullptr;
  }
  if (d.operands.size() == 3 && !bind_policy(d, 2)) return nullptr;
  note_access(d, plan);
  d.out->plan = d.keep(plan);
  d.out->sanitized = is_store ? store<true> : load<true>;
  return is_store ? store<false> : load<false>;
}

}  // namespace

Handler resolve_memory(Decoding& d) {
  if (d.opcode == "ld" || d.opcode == "ldu") return resolve_move_memory(d, false);
  if (d.opcode == "st") return resolve_move_memory(d, true);
  if (d.opcode == "atom" || d.opcode == "red") return resolve_atomic(d);
  return resolve_address(d);
}

}  // namespace pyptx::emulator
