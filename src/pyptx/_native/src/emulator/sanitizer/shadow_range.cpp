// Cells of the shadow of shared memory: what is recorded of their readers, one by one, and neighbours at once.
//
// Tiles are mostly written and read by rows, so that neighbouring cells have the same history but for the lane. Such a
// range is judged by one of its cells. All else is left to check_cell.
#include <algorithm>
#include <cstring>
#include <utility>

#include "shadow_cells.h"

namespace pyptx::emulator {

// ---- Readers ---------------------------------------------------------------------------------------------

void CellReaders::reset(size_t cells) {
  agents_ = 0;
  blocks_.assign(cells / kBlock + 1, kNone);
  words_.clear();
}

uint32_t* CellReaders::make(uint32_t cell) {
  size_t& block = blocks_[cell / kBlock];
  if (block == kNone) {
    block = words_.size();
    words_.resize(words_.size() + size_t{agents_} * kBlock);
  }
  return of(cell);
}

void CellReaders::grow(uint32_t agents) {
  // The first time as many as there are, then twice as many, so that all growing costs as much as the last.
  const uint32_t more = agents_ == 0 ? agents : std::max(agents, 2 * agents_);
  const size_t before = size_t{agents_} * kBlock, after = size_t{more} * kBlock;
  if (!words_.empty()) {
    std::vector<uint32_t> words(words_.size() / before * after);
    for (size_t& block : blocks_) {
      if (block == kNone) continue;
      std::copy_n(words_.begin() + static_cast<std::ptrdiff_t>(block), before,
                  words.begin() + static_cast<std::ptrdiff_t>(block / before * after));
      block = block / before * after;
    }
    words_ = std::move(words);
  }
  agents_ = more;
}

namespace {

constexpr uint32_t kBlock = CellReaders::kBlock;

// The reader of several that is not ordered before the access; kNone if all are.
uint32_t unordered_reader(const SharedShadow& s, uint32_t index, const Party& p, uint32_t lane, bool several) {
  const uint32_t* entries = s.readers.of(index);
  const uint32_t agents = std::min(p.agents, s.readers.agents());
  for (uint32_t a = 0; a < agents; ++a) {
    const uint32_t entry = entries[a * kBlock];
    if (clock_of(entry) == 0 || (a == p.agent && clock_of(entry) < p.together)) continue;
    if (!p.fine(a << kAgentShift | (entry & kReaderMask), lane, several)) return a;
  }
  return kNone;
}

}  // namespace

uint32_t reader_against(const SharedShadow& s, uint32_t index, const Party& p, uint32_t lane, bool several) {
  const uint32_t who = who_in(s.loads[index]), a = agent_of(who);
  if (a == kManyAgents) return unordered_reader(s, index, p, lane, several);
  if (clock_of(who) == 0 || (a == p.agent && clock_of(who) < p.together)) return kNone;
  return p.fine(who, lane, several) ? kNone : a;
}

uint32_t reader_entry(const SharedShadow& s, uint32_t index, uint32_t reader) {
  const uint32_t who = who_in(s.loads[index]);
  return agent_of(who) == kManyAgents ? s.readers.of(index)[reader * kBlock] | reader << kAgentShift : who;
}

void record_load(SharedShadow& s, const Party& p, uint32_t index, uint32_t lane, bool several, uint32_t instruction) {
  s.readers.reserve(p.agents);
  uint64_t& cell = s.loads[index];
  const uint32_t old = who_in(cell), me = p.who_of(lane, several);
  const uint32_t a = agent_of(old);
  if (a == kManyAgents) {
    if (unordered_reader(s, index, p, lane, several) == kNone) {  // all come before this one
      cell = cell_of(me, instruction);
      return;
    }
    uint32_t& mine = s.readers.of(index)[p.agent * kBlock];
    const bool both = clock_of(mine) == p.own && !p.orders_own(mine, lane, several);
    mine = (me & kReaderMask) | (both ? kSeveral : 0);
    cell = cell_of(old, instruction);
    return;
  }
  const bool same_epoch = a == p.agent && clock_of(old) == p.own;
  if (old == 0 || (a == p.agent && !same_epoch) || (a != p.agent && clock_of(old) <= p.clocks[a])) {
    cell = cell_of(me, instruction);
    return;
  }
  if (same_epoch) {  // another lane of this warp reads it too
    const bool both = several || (old & kSeveral) || lane_of(old) != lane;
    cell = cell_of(both ? old | kSeveral : old, instruction);
    return;
  }
  uint32_t* entries = s.readers.make(index);
  for (uint32_t agent = 0; agent < s.readers.agents(); ++agent) entries[agent * kBlock] = 0;
  entries[a * kBlock] = old & kReaderMask;
  entries[p.agent * kBlock] = me & kReaderMask;
  cell = cell_of(kManyAgents << kAgentShift, instruction);
}

// ---- Ranges ----------------------------------------------------------------------------------------------

namespace {

// What cells that are alike may differ in: the lane, and which instruction it was.
constexpr uint64_t kFree = static_cast<uint64_t>(31u << kLaneShift | kSeveral) << 32 | 0xffffffffu;

// Four cells, which are loaded and stored as one: compilers do worse with counts that they do not know.
using Four = uint64_t __attribute__((vector_size(32)));

inline void load(Four* four, const uint64_t* cells) { std::memcpy(four, cells, sizeof *four); }
inline void store(uint64_t* cells, const Four& four) { std::memcpy(cells, &four, sizeof four); }

inline bool alike(const uint64_t* cells, uint32_t count) {
  const uint64_t first = cells[0];
  uint64_t differences = 0;
  uint32_t i = 0;
  if (count >= 4) {
    Four any = {};
    for (; i + 4 <= count; i += 4) {
      Four four;
      load(&four, cells + i);
      any |= four ^ first;
    }
    differences = any[0] | any[1] | any[2] | any[3];
  }
  for (; i < count; ++i) differences |= cells[i] ^ first;
  return (differences & ~kFree) == 0;
}

// The latest clock of an agent that is ordered before all lanes of the access.
uint32_t limit(const Party& p, uint32_t agent) { return agent == p.agent ? p.synced - 1 : p.clocks[agent]; }

// Where each agent's entries of a range lie side by side.
template <class F>
bool each_block(const CellRange& r, F f) {
  for (uint32_t at = 0; at < r.count;) {
    const uint32_t cell = r.first + at, some = std::min(r.count - at, kBlock - cell % kBlock);
    if (!f(cell, at, some)) return false;
    at += some;
  }
  return true;
}

struct Clocks {
  uint32_t least = ~0u, most = 0;
};

// Runs f with the count as a constant where it is one of those that tiles mostly have.
template <class F>
inline __attribute__((always_inline)) void with_count(uint32_t count, F f) {
  if (count == 16) f(16u);
  else if (count == kBlock) f(kBlock);
  else f(count);
}

Clocks clocks_in(const uint32_t* entries, uint32_t count) {
  Clocks found;
  with_count(count, [&](uint32_t n) __attribute__((always_inline)) {
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t clock = clock_of(entries[i]);
      found.least = clock < found.least ? clock : found.least;
      found.most = clock > found.most ? clock : found.most;
    }
  });
  return found;
}

// Whether all readers of cells that have several are ordered before all lanes of the access.
bool all_ordered(const SharedShadow& s, const Party& p, const CellRange& r) {
  return each_block(r, [&](uint32_t cell, uint32_t, uint32_t count) {
    const uint32_t* entries = s.readers.of(cell);
    for (uint32_t a = 0; a < p.agents; ++a) {
      if (clocks_in(entries + a * kBlock, count).most > limit(p, a)) return false;
    }
    return true;
  });
}

// Whether each of those cells has a reader of another warp that no lane of the access comes after.
bool none_ordered(const SharedShadow& s, const Party& p, const CellRange& r) {
  if (!p.all->alike(p.warp)) return false;
  return each_block(r, [&](uint32_t cell, uint32_t, uint32_t count) {
    const uint32_t* entries = s.readers.of(cell);
    for (uint32_t a = 0; a < p.agents; ++a) {
      if (a != p.agent && clocks_in(entries + a * kBlock, count).least > p.clocks[a]) return true;
    }
    return false;
  });
}

// Whether the latest stores are all ordered before the access, and the latest loads, where that is asked for.
bool each_ordered(const uint64_t* cells, const Party& p, const CellRange& r) {
  const uint32_t* clocks = p.clocks;
  const uint32_t agents = p.agents, agent = p.agent, synced = p.synced;
  const bool several = r.several;
  uint32_t bad = 0;
  for (uint32_t i = 0; i < r.count; ++i) {
    const uint32_t who = who_in(cells[i]), a = agent_of(who), clock = clock_of(who);
    const uint32_t known = clocks[a < agents ? a : 0];
    const bool own = (clock < synced) | ((lane_of(who) == r.lane + (i >> r.lane_shift)) & !(who & kSeveral) & !several);
    const bool fine = (who == 0) | ((a < agents) & (a == agent ? own : clock <= known));
    bad |= (who & kStrong) | static_cast<uint32_t>(!fine);
  }
  return bad == 0;
}

inline bool all_fine(const uint64_t* cells, const Party& p, const CellRange& r) {
  const uint32_t who = who_in(cells[0]), a = agent_of(who);
  if (a < p.agents && (who & kStrong) == 0 && clock_of(who) <= limit(p, a) && alike(cells, r.count)) return true;
  return each_ordered(cells, p, r);
}

inline void record_range(uint64_t* cells, const Party& p, const CellRange& r, uint32_t instruction) {
  constexpr uint64_t kNextLane = uint64_t{1} << (kLaneShift + 32);
  const uint64_t first = cell_of(p.who_of(r.lane, r.several), instruction);
  uint32_t i = 0;
  if (r.lane_shift == 0) {  // a lane has one cell
    Four four = {first, first + kNextLane, first + 2 * kNextLane, first + 3 * kNextLane};
    for (; i + 4 <= r.count; i += 4, four += 4 * kNextLane) store(cells + i, four);
  }
  for (; i < r.count; ++i) cells[i] = first + (i >> r.lane_shift) * kNextLane;
}

// Cells that this warp has loaded since its clock last moved on.
void load_again(uint64_t* cells, const CellRange& r, uint32_t instruction) {
  if (r.several) {
    for (uint32_t i = 0; i < r.count; ++i) cells[i] = cell_of(who_in(cells[i]) | kSeveral, instruction);
    return;
  }
  for (uint32_t i = 0; i < r.count; ++i) {
    const uint32_t old = who_in(cells[i]);
    const bool both = lane_of(old) != r.lane + (i >> r.lane_shift);
    cells[i] = cell_of(both ? old | kSeveral : old, instruction);
  }
}

void record_several(uint64_t* cells, uint32_t count, uint32_t instruction) {
  const uint64_t cell = cell_of(kManyAgents << kAgentShift, instruction);
  uint32_t i = 0;
  for (; i + 4 <= count; i += 4) store(cells + i, Four{cell, cell, cell, cell});
  for (; i < count; ++i) cells[i] = cell;
}

// One more of several readers.
void add_reader(SharedShadow& s, const Party& p, const CellRange& r) {
  each_block(r, [&](uint32_t cell, uint32_t at, uint32_t count) {
    uint32_t* mine = s.readers.of(cell) + p.agent * kBlock;
    const uint32_t me = p.who_of(r.lane, r.several) & kReaderMask;
    const uint32_t latest = p.own >= p.synced ? p.own : ~0u;  // of loads that no lane comes after
    with_count(count, [&](uint32_t n) __attribute__((always_inline)) {
      for (uint32_t i = 0; i < n; ++i) {
        const uint32_t now = me + ((at + i) >> r.lane_shift << kLaneShift), old = mine[i];
        const uint32_t others = ((old | now) & kSeveral) | ((old ^ now) & 31u << kLaneShift);
        const uint32_t both = others != 0 ? kSeveral : 0;
        mine[i] = now | (clock_of(old) == latest ? both : 0);
      }
    });
    return true;
  });
}

// From one reader to two, of which the first is agent `a`.
void begin_readers(SharedShadow& s, const Party& p, const CellRange& r, uint32_t a) {
  each_block(r, [&](uint32_t cell, uint32_t at, uint32_t count) {
    uint32_t* entries = s.readers.make(cell);
    const uint32_t me = p.who_of(r.lane, r.several) & kReaderMask;
    with_count(count, [&](uint32_t n) __attribute__((always_inline)) {
      const uint32_t agents = s.readers.agents();
      for (uint32_t agent = 0; agent < agents; ++agent) std::memset(entries + agent * kBlock, 0, n * sizeof *entries);
      const uint64_t* loads = &s.loads[cell];
      uint32_t *theirs = entries + a * kBlock, *mine = entries + p.agent * kBlock;
      for (uint32_t i = 0; i < n; ++i) theirs[i] = who_in(loads[i]) & kReaderMask;
      for (uint32_t i = 0; i < n; ++i) mine[i] = me + ((at + i) >> r.lane_shift << kLaneShift);
    });
    return true;
  });
}

// The load of cells whose latest load was alike.
bool load_alike(SharedShadow& s, const Party& p, const CellRange& r, uint32_t instruction) {
  uint64_t* loads = &s.loads[r.first];
  const uint32_t who = who_in(loads[0]), a = agent_of(who), clock = clock_of(who);
  if (a == kManyAgents) {
    if (none_ordered(s, p, r)) {
      add_reader(s, p, r);
      record_several(loads, r.count, instruction);
      return true;
    }
    if (!all_ordered(s, p, r)) return false;
  } else if (clock != 0 && a == p.agent) {
    if (clock == p.own) {
      load_again(loads, r, instruction);
      return true;
    }
  } else if (clock != 0 && clock > p.clocks[a]) {
    begin_readers(s, p, r, a);
    record_several(loads, r.count, instruction);
    return true;
  }
  record_range(loads, p, r, instruction);
  return true;
}

// The load of one cell whose latest store is ordered before all lanes, and which nobody else has loaded since; false, and
// nothing is done, otherwise.
inline bool load_one(SharedShadow& s, const Party& p, const CellRange& r, uint32_t instruction) {
  const uint32_t stored = who_in(s.stores[r.first]), a = agent_of(stored);
  if (a >= p.agents || (stored & kStrong) != 0 || clock_of(stored) > limit(p, a)) return false;
  uint64_t& cell = s.loads[r.first];
  const uint32_t loaded = who_in(cell), reader = agent_of(loaded);
  if (loaded != 0 && (reader >= p.agents || clock_of(loaded) > limit(p, reader))) return false;
  if (reader == p.agent && clock_of(loaded) == p.own) return false;  // of one epoch the lanes are kept
  cell = cell_of(p.who_of(r.lane, r.several), instruction);
  return true;
}

// Whether nothing has to be kept of each cell's latest load.
bool all_replaced(const uint64_t* loads, const Party& p, uint32_t count) {
  uint32_t bad = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t who = who_in(loads[i]), a = agent_of(who);
    const uint32_t known = p.clocks[a < p.agents ? a : 0];
    const bool replaced = (who == 0) | ((a < p.agents) & (a == p.agent ? clock_of(who) != p.own : clock_of(who) <= known));
    bad |= static_cast<uint32_t>(!replaced);
  }
  return bad == 0;
}

}  // namespace

bool check_cells(SharedShadow& s, const Party& p, const CellRange& range, bool store, uint32_t instruction) {
  ++s.changes;
  if (!store && range.count == 1 && load_one(s, p, range, instruction)) return true;
  s.readers.reserve(p.agents);
  uint64_t* stores = &s.stores[range.first];
  uint64_t* loads = &s.loads[range.first];
  if (!all_fine(stores, p, range)) return false;
  const bool same = alike(loads, range.count);
  if (!store) {
    if (same) return load_alike(s, p, range, instruction);
    if (!all_replaced(loads, p, range.count)) return false;
    record_range(loads, p, range, instruction);
    return true;
  }
  const bool many = same && agent_of(who_in(loads[0])) == kManyAgents;
  if (many ? !all_ordered(s, p, range) : !all_fine(loads, p, range)) return false;
  record_range(stores, p, range, instruction);
  std::memset(loads, 0, range.count * sizeof *loads);
  return true;
}

}  // namespace pyptx::emulator
