// Instructions in which the lanes of a warp exchange values: shfl, vote, match, activemask, redux, elect.
#include <algorithm>

#include "machine/warp.h"
#include "modifiers.h"

namespace pyptx::emulator {

Handler resolve_matrix(Decoding& d);  // matrix.cpp

namespace {

enum class Shuffle : uint32_t { Up, Down, Butterfly, Index };

void report_lane(Warp& w, const Instruction& in, Kind kind, unsigned lane, unsigned other, const char* note) {
  Finding f{};
  f.kind = kind;
  f.site = site_of(w, in, lane);
  if (other < kLanes) f.other = {kNone, f.site.cta, w.index, other, false};
  f.note = note;
  report(w, f);
}

// The lanes that execute now; what is wrong with their membermasks is reported.
uint32_t enter(Warp& w, const Instruction& in, uint32_t mask, unsigned members_slot) {
  const uint32_t* members = source<uint32_t>(w, in, members_slot);
  const uint32_t may = gather(w, in, mask, members);
  if (may == 0 || !w.worker->launch->synchronisation) {
    w.lost = 0;
    return may;
  }
  if (w.lost == 0 && (lane_mask([&](unsigned l) { return (members[l] >> l & 1u) != 0; }) & may) == may) return may;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(may >> l & 1u)) continue;
    if (!(members[l] >> l & 1u)) {
      report_lane(w, in, Kind::BadMembermask, l, kLanes, "the membermask does not name the lane that executes it");
    } else if (members[l] & w.lost) {
      const auto gone = static_cast<unsigned>(__builtin_ctz(members[l] & w.lost));
      report_lane(w, in, Kind::AbsentLane, l, gone, "the membermask names a lane that exits without executing it");
    } else {
      continue;
    }
    break;
  }
  w.lost = 0;
  return may;
}

// Which lane each lane reads, and whether that lies in its segment.
struct Sources {
  uint32_t from[kLanes];
  uint32_t valid;
};

template <Shuffle kMode>
void find_sources(const uint32_t* b, const uint32_t* c, Sources& out) {
  alignas(64) uint32_t inside[kLanes];
  PYPTX_EACH_LANE(l) {
    const int32_t lane = static_cast<int32_t>(l), distance = static_cast<int32_t>(b[l] & 31u);
    const int32_t segment = static_cast<int32_t>(c[l] >> 8 & 31u), clamp = static_cast<int32_t>(c[l] & 31u);
    const int32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    int32_t j = kMode == Shuffle::Up          ? lane - distance
                : kMode == Shuffle::Down      ? lane + distance
                : kMode == Shuffle::Butterfly ? (lane ^ distance)
                                              : (first | (distance & ~segment));
    const bool ok = kMode == Shuffle::Up ? j >= last : j <= last;
    j = ok ? j : lane;
    out.from[l] = static_cast<uint32_t>(j) & 31u;
    inside[l] = ok;
  }
  out.valid = lane_mask([&](unsigned l) { return inside[l] != 0; });
}

// A value brings what the lane that gives it has acquired: one lane waits for a flag, and the others get its answer.
void order_sources(Warp& w, uint32_t mask, const Sources& s) {
  order_together(w, mask);
  if (!w.cta->cluster->clocks.active() || !w.cta->cluster->clocks.apart(w.agent)) return;
  for (uint32_t rest = mask; rest != 0;) {
    const uint32_t from = s.from[__builtin_ctz(rest)];
    const uint32_t to = rest & lane_mask([&](unsigned l) { return s.from[l] == from; });
    rest &= ~to;
    order_exchange(w, 1u << from, to | 1u << from);
  }
}

void move_lanes(Warp& w, const Instruction& in, uint32_t mask, const Sources& s) {
  order_sources(w, mask, s);
  const uint32_t* a = source<uint32_t>(w, in, 2);
  alignas(64) uint32_t value[kLanes];
  PYPTX_EACH_LANE(l) value[l] = a[s.from[l]];
  if (w.worker->launch->synchronisation && mask != kFullMask) {
    for (unsigned l = 0; l < kLanes; ++l) {
      if ((mask >> l & 1u) && !(mask >> s.from[l] & 1u)) {
        report_lane(w, in, Kind::AbsentLane, l, s.from[l], "the lane that it reads from does not execute it");
        break;
      }
    }
  }
  each_lane<uint32_t>(w, in, 0, mask, [&](unsigned l) { return value[l]; });
  set_predicate(w, in, 1, mask, s.valid);
}

// Operands: d, p, a, b, c, membermask.
template <Shuffle kMode>
void shfl(Warp& w, const Instruction& in, uint32_t mask) {
  mask = enter(w, in, mask, 5);
  if (mask == 0) return;
  Sources s;
  find_sources<kMode>(source<uint32_t>(w, in, 3), source<uint32_t>(w, in, 4), s);
  move_lanes(w, in, mask, s);
}

// With constants for b and c, what each lane reads is known beforehand.
void shfl_fixed(Warp& w, const Instruction& in, uint32_t mask) {
  mask = enter(w, in, mask, 5);
  if (mask != 0) move_lanes(w, in, mask, *static_cast<const Sources*>(in.plan));
}

// Calls f(group, members) for each set of lanes that share a membermask.
// All of its lanes get values of all, but for elect.
template <bool kExchange = true, class F>
void each_group(Warp& w, const Instruction& in, uint32_t mask, unsigned members_slot, F f) {
  const uint32_t* members = source<uint32_t>(w, in, members_slot);
  order_together(w, mask);
  for (uint32_t rest = mask; rest != 0;) {
    const uint32_t named = members[__builtin_ctz(rest)];
    const uint32_t group = rest & lane_mask([&](unsigned l) { return members[l] == named; });
    rest &= ~group;
    if (kExchange) order_exchange(w, group, group);
    f(group);
  }
}

enum class Vote : uint32_t { All, Any, Uniform, Ballot };

// Operands: d, a, membermask.
template <Vote kVote>
void vote(Warp& w, const Instruction& in, uint32_t mask) {
  mask = enter(w, in, mask, 2);
  if (mask == 0) return;
  const uint32_t p = predicate(w, in, 1);
  each_group(w, in, mask, 2, [&](uint32_t group) {
    const uint32_t yes = p & group;
    if (kVote == Vote::Ballot) {
      each_lane<uint32_t>(w, in, 0, group, [=](unsigned) { return yes; });
      return;
    }
    const bool result = kVote == Vote::All ? yes == group : kVote == Vote::Any ? yes != 0 : yes == group || yes == 0;
    set_predicate(w, in, 0, group, result ? kFullMask : 0);
  });
}

// Operands: d, p, a, membermask.
template <class T, bool kAll>
void match(Warp& w, const Instruction& in, uint32_t mask) {
  mask = enter(w, in, mask, 3);
  if (mask == 0) return;
  T a[kLanes];
  std::memcpy(a, source<T>(w, in, 2), sizeof a);
  each_group(w, in, mask, 3, [&](uint32_t group) {
    uint32_t* d = destination<uint32_t>(w, in, 0);
    for (uint32_t rest = group; rest != 0;) {
      const T value = a[__builtin_ctz(rest)];
      const uint32_t same = group & lane_mask([&](unsigned l) { return a[l] == value; });
      for (unsigned l = 0; l < kLanes; ++l) {
        if (same >> l & 1u) d[l] = kAll && same != group ? 0 : same;
      }
      if (kAll) set_predicate(w, in, 1, same, same == group ? kFullMask : 0);
      rest &= ~same;
    }
  });
}

void activemask(Warp& w, const Instruction& in, uint32_t mask) {
  each_lane<uint32_t>(w, in, 0, mask, [=](unsigned) { return mask; });
}

// Operands: d, p, membermask. The lowest named lane that executes leads.
void elect(Warp& w, const Instruction& in, uint32_t mask) {
  mask = enter(w, in, mask, 2);
  if (mask == 0) return;
  const uint32_t* members = source<uint32_t>(w, in, 2);
  each_group<false>(w, in, mask, 2, [&](uint32_t group) {
    const uint32_t named = group & members[__builtin_ctz(group)];
    const auto leader = static_cast<uint32_t>(__builtin_ctz(named ? named : group));
    each_lane<uint32_t>(w, in, 0, group, [=](unsigned) { return leader; });
    set_predicate(w, in, 1, group, 1u << leader);
  });
}

enum class Redux : uint32_t { Add, And, Or, Xor, Min, Max };

template <class T, Redux kOp>
T combine(T a, T b) {
  switch (kOp) {
    case Redux::Add: return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    case Redux::And: return a & b;
    case Redux::Or: return a | b;
    case Redux::Xor: return a ^ b;
    case Redux::Min: return a < b ? a : b;
    case Redux::Max: return a > b ? a : b;
  }
  return a;
}

// Operands: d, a, membermask.
template <class T, Redux kOp>
void redux(Warp& w, const Instruction& in, uint32_t mask) {
  mask = enter(w, in, mask, 2);
  if (mask == 0) return;
  T a[kLanes];
  std::memcpy(a, source<T>(w, in, 1), sizeof a);
  each_group(w, in, mask, 2, [&](uint32_t group) {
    auto l = static_cast<unsigned>(__builtin_ctz(group));
    T value = a[l];
    for (++l; l < kLanes; ++l) {
      if (group >> l & 1u) value = combine<T, kOp>(value, a[l]);
    }
    each_lane<T>(w, in, 0, group, [=](unsigned) { return value; });
  });
}

// redux.sync.{min,max}{.abs}{.NaN}.f32. detail: bit 0 max, bit 1 abs, bit 2 NaN.
void redux_float(Warp& w, const Instruction& in, uint32_t mask) {
  mask = enter(w, in, mask, 2);
  if (mask == 0) return;
  const bool largest = in.detail & 1u, absolute = in.detail & 2u, propagate = in.detail & 4u;
  uint32_t a[kLanes];
  std::memcpy(a, source<uint32_t>(w, in, 1), sizeof a);
  if (absolute) {
    for (uint32_t& x : a) x &= 0x7fffffffu;
  }
  // A total order on bit patterns, so that -0 is less than +0.
  const auto key = [](uint32_t x) { return x >> 31 ? ~x : x | 0x80000000u; };
  const auto is_nan = [](uint32_t x) { return (x & 0x7fffffffu) > 0x7f800000u; };
  each_group(w, in, mask, 2, [&](uint32_t group) {
    bool any = false, nan = false;
    uint32_t best = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(group >> l & 1u)) continue;
      if (is_nan(a[l])) {
        nan = true;
      } else if (!any || (largest ? key(a[l]) > key(best) : key(a[l]) < key(best))) {
        best = a[l];
        any = true;
      }
    }
    const uint32_t value = !any || (nan && propagate) ? 0x7fffffffu : best;
    each_lane<uint32_t>(w, in, 0, group, [=](unsigned) { return value; });
  });
}

// ---- Decoding --------------------------------------------------------------------------------------------

struct Row {
  std::string_view spelling;
  Handler handler;
};

Handler find(const Row* rows, size_t count, std::string_view spelling) {
  for (size_t i = 0; i < count; ++i) {
    if (rows[i].spelling == spelling) return rows[i].handler;
  }
  return nullptr;
}

struct ShuffleRow {
  std::string_view spelling;
  Handler handler;
  void (*find_sources)(const uint32_t*, const uint32_t*, Sources&);
};
constexpr ShuffleRow kShuffles[] = {
    {"shfl.sync.up.b32", shfl<Shuffle::Up>, find_sources<Shuffle::Up>},
    {"shfl.sync.down.b32", shfl<Shuffle::Down>, find_sources<Shuffle::Down>},
    {"shfl.sync.bfly.b32", shfl<Shuffle::Butterfly>, find_sources<Shuffle::Butterfly>},
    {"shfl.sync.idx.b32", shfl<Shuffle::Index>, find_sources<Shuffle::Index>}};
constexpr Row kVotes[] = {{"vote.sync.all.pred", vote<Vote::All>},
                          {"vote.sync.any.pred", vote<Vote::Any>},
                          {"vote.sync.uni.pred", vote<Vote::Uniform>},
                          {"vote.sync.ballot.b32", vote<Vote::Ballot>}};
constexpr Row kRedux[] = {
    {"redux.sync.add.u32", redux<uint32_t, Redux::Add>}, {"redux.sync.add.s32", redux<int32_t, Redux::Add>},
    {"redux.sync.min.u32", redux<uint32_t, Redux::Min>}, {"redux.sync.min.s32", redux<int32_t, Redux::Min>},
    {"redux.sync.max.u32", redux<uint32_t, Redux::Max>}, {"redux.sync.max.s32", redux<int32_t, Redux::Max>},
    {"redux.sync.and.b32", redux<uint32_t, Redux::And>}, {"redux.sync.or.b32", redux<uint32_t, Redux::Or>},
    {"redux.sync.xor.b32", redux<uint32_t, Redux::Xor>}};
constexpr Row kMatchAny[] = {{"match.any.sync.b32", match<uint32_t, false>},
                             {"match.any.sync.b64", match<uint64_t, false>}};
constexpr Row kMatchAll[] = {{"match.all.sync.b32", match<uint32_t, true>},
                             {"match.all.sync.b64", match<uint64_t, true>}};

// `d` or `d|p`, as two slots; the second is thrown away where it is not written.
bool bind_pair(Decoding& d, unsigned first_width) {
  static const OperandView kSink;
  if (d.elements(0) == 0 || d.elements(0) > 2) return false;
  const OperandView* second = d.elements(0) == 2 ? d.element(0, 1) : &kSink;
  return d.bind_destination(d.element(0, 0), first_width, first_width) && d.bind_destination(second, 1, 1);
}

Handler resolve_shuffle(Decoding& d) {
  if (d.operands.size() != 5 || !bind_pair(d, 32)) return nullptr;
  for (unsigned k = 1; k < 5; ++k) {
    if (!d.source(k, 32)) return nullptr;
  }
  for (const ShuffleRow& row : kShuffles) {
    if (row.spelling != d.spelling) continue;
    using View = OperandView::Kind;
    if (d.operands[2].kind != View::Immediate || d.operands[3].kind != View::Immediate) return row.handler;
    uint32_t b[kLanes], c[kLanes];
    std::fill_n(b, kLanes, static_cast<uint32_t>(d.operands[2].bits));
    std::fill_n(c, kLanes, static_cast<uint32_t>(d.operands[3].bits));
    Sources s;
    row.find_sources(b, c, s);
    d.out->plan = d.keep(s);
    return shfl_fixed;
  }
  return nullptr;
}

Handler resolve_vote(Decoding& d) {
  const unsigned width = d.last() == "pred" ? 1 : 32;
  if (d.operands.size() != 3 || !d.destination(0, width) || !d.source(1, 1) || !d.source(2, 32)) return nullptr;
  return find(kVotes, std::size(kVotes), d.spelling);
}

Handler resolve_match(Decoding& d) {
  const unsigned width = d.last() == "b64" ? 64 : 32;
  if (d.operands.size() != 3 || !bind_pair(d, 32) || !d.source(1, width) || !d.source(2, 32)) return nullptr;
  const Handler any = find(kMatchAny, std::size(kMatchAny), d.spelling);
  if (any != nullptr) return d.elements(0) == 1 ? any : nullptr;
  return find(kMatchAll, std::size(kMatchAll), d.spelling);
}

Handler resolve_redux(Decoding& d) {
  if (!d.shape(32, 32, 2)) return nullptr;
  if (d.last() != "f32") return find(kRedux, std::size(kRedux), d.spelling);
  static constexpr Modifier kFloat[] = {{"sync", 0}, {"min", 0}, {"max", 1}, {"abs", 2}, {"NaN", 4}, {"f32", 0}};
  if (!d.has("sync") || d.has("min") == d.has("max")) return nullptr;
  for (const std::string_view m : d.modifiers) {
    uint32_t value;
    if (!read_modifier(m, kFloat, std::size(kFloat), &value)) return nullptr;
    d.out->detail |= value;
  }
  return redux_float;
}

}  // namespace

Handler resolve_warp(Decoding& d) {
  if (d.opcode == "shfl") return resolve_shuffle(d);
  if (d.opcode == "vote") return resolve_vote(d);
  if (d.opcode == "match") return resolve_match(d);
  if (d.opcode == "redux") return resolve_redux(d);
  if (d.spelling == "activemask.b32") return d.operands.size() == 1 && d.destination(0, 32) ? activemask : nullptr;
  if (d.spelling == "elect.sync") {
    return d.operands.size() == 2 && d.elements(0) == 2 && bind_pair(d, 32) && d.source(1, 32) ? elect : nullptr;
  }
  return resolve_matrix(d);
}

}  // namespace pyptx::emulator
