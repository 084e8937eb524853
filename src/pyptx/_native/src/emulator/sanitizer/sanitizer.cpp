#include "sanitizer.h"

#include <algorithm>
#include <cstring>

#include "ownership.h"
#include "semantics/access.h"
#include "shadow_cells.h"

namespace pyptx::emulator {

// ---- Shared memory ---------------------------------------------------------------------------------------

Party party_of(const Warp& w, Order order) {
  const ClusterClocks& clocks = w.cta->cluster->clocks;
  const uint32_t own = clocks.own(w.agent);
  return {clocks.of(w.agent), clocks.agents(), w.agent, own,
          w.agent << kAgentShift | (order.strong ? kStrong : 0) | own, order.strong};
}

Site site_of_agent(const Warp& w, uint32_t agent, uint32_t lane, uint32_t clock, uint32_t instruction, bool store) {
  const Cluster& c = *w.cta->cluster;
  if (agent >= c.clocks.warps()) {
    const Issuer& issuer = c.issuers[agent - c.clocks.warps()];
    if (issuer.clock != clock) return {instruction, ~0ull, kNone, kNone, store};
    return {instruction, issuer.cta, issuer.warp, issuer.lane, store};
  }
  const auto per_cta = c.worker->launch->warps_per_cta;
  return {instruction, c.ctas[agent / per_cta].linear, agent % per_cta, lane, store};
}

void report_race(Warp& w, const Instruction& in, const Cta& owner, uint32_t offset, unsigned lane, uint32_t bytes,
                 bool store, const Site& other, const char* note) {
  Finding f{};
  f.kind = Kind::SharedRace;
  f.site = site_of(w, in, lane, store);
  f.other = other;
  f.has_address = true;
  f.space = &owner == w.cta ? Space::Shared : Space::SharedCluster;
  f.address = owner.shared_base + offset;
  f.bytes = bytes;
  f.note = note;
  report(w, f);
}

namespace {

const char* why_unordered(const Warp& w, uint32_t agent) {
  if (agent == w.agent) return "no bar.warp.sync or barrier orders these lanes of one warp";
  return agent < w.cta->cluster->clocks.warps() ? "no barrier orders the two"
                                                : "the asynchronous operation has not been waited for";
}

}  // namespace

void report_uninitialised(Warp& w, const Instruction& in, Space space, uint64_t address, unsigned lane,
                          uint32_t bytes) {
  Finding f{};
  f.kind = Kind::UninitialisedMemory;
  f.site = site_of(w, in, lane);
  f.has_address = true;
  f.space = space;
  f.address = address;
  f.bytes = bytes;
  report(w, f);
}

// The reader of several that is not ordered before the access; kNone if all are.
uint32_t unordered_reader(const SharedShadow& s, uint32_t who, const Party& p, uint32_t lane, bool several) {
  const auto& entries = s.readers[readers_of(who)];
  for (uint32_t a = 0; a < p.agents; ++a) {
    const uint32_t entry = entries[a];
    if (clock_of(entry) == 0) continue;
    if (a == p.agent ? !p.orders_own(entry, lane, several) : clock_of(entry) > p.clocks[a]) return a;
  }
  return kNone;
}

void forget_readers(SharedShadow& s, uint64_t cell) {
  if (agent_of(who_in(cell)) == kManyAgents) s.free_readers.push_back(readers_of(who_in(cell)));
}

void record_load(SharedShadow& s, const Party& p, uint64_t& cell, uint32_t lane, bool several, uint32_t instruction) {
  const uint32_t old = who_in(cell), me = p.who_of(lane, several);
  const uint32_t a = agent_of(old);
  if (old != 0 && a == kManyAgents) {
    if (unordered_reader(s, old, p, lane, several) == kNone) {  // all come before this one
      forget_readers(s, cell);
      cell = cell_of(me, instruction);
      return;
    }
    uint32_t& mine = s.readers[readers_of(old)][p.agent];
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
  uint32_t id;
  if (s.free_readers.empty()) {
    id = static_cast<uint32_t>(s.readers.size());
    s.readers.emplace_back(p.agents, 0);
  } else {
    id = s.free_readers.back();
    s.free_readers.pop_back();
    s.readers[id].assign(p.agents, 0);
  }
  s.readers[id][a] = old & kReaderMask;
  s.readers[id][p.agent] = me & kReaderMask;
  cell = cell_of(kManyAgents << kAgentShift | id, instruction);
}

// One cell, one lane (or several that read the same).
void check_cell(Warp& w, const Instruction& in, Cta& owner, const Party& p, uint32_t index, unsigned lane, bool several,
                uint32_t bytes, bool store) {
  SharedShadow& s = owner.shadow;
  uint64_t& stored = s.stores[index];
  uint64_t& loaded = s.loads[index];
  const uint32_t offset = index << s.shift;
  if (!p.fine(who_in(stored), lane, several)) {
    const uint32_t who = who_in(stored);
    const uint32_t agent = agent_of(who);
    report_race(w, in, owner, offset, lane, bytes, store,
                site_of_agent(w, agent, lane_of(who), clock_of(who), static_cast<uint32_t>(stored), true),
                why_unordered(w, agent));
  } else if (store && who_in(loaded) != 0) {
    const uint32_t who = who_in(loaded);
    const bool many = agent_of(who) == kManyAgents;
    const uint32_t reader = many ? unordered_reader(s, who, p, lane, several) : p.fine(who, lane, several) ? kNone : agent_of(who);
    if (reader != kNone) {
      const uint32_t clock = clock_of(many ? s.readers[readers_of(who)][reader] : who);
      report_race(w, in, owner, offset, lane, bytes, store,
                  site_of_agent(w, reader, many ? kNone : lane_of(who), clock, static_cast<uint32_t>(loaded), false),
                  why_unordered(w, reader));
    }
  }
  if (store) {
    forget_readers(s, loaded);
    stored = cell_of(p.who_of(lane, several), in.index);
    loaded = 0;
  } else {
    record_load(s, p, loaded, lane, several, in.index);
  }
}

namespace {

// Whether 32 consecutive lanes last touched these cells as they do now, in one instruction, before this access.
// The common case: a tile that is written and read by rows.
bool one_history(const uint64_t* cells, uint32_t count, uint32_t lane_shift, const Party& p) {
  const uint64_t first = cells[0], step = first == 0 ? 0 : uint64_t{1} << (kLaneShift + 32);
  uint64_t differences = 0;
  for (uint32_t i = 0; i < count; ++i) differences |= cells[i] ^ (first + (i >> lane_shift) * step);
  return differences == 0 && agent_of(who_in(first)) != kManyAgents && p.fine(who_in(first), 0, false);
}

void record_range(uint64_t* cells, uint32_t count, uint32_t lane_shift, uint32_t who, uint32_t instruction) {
  const uint64_t first = cell_of(who, instruction);
  for (uint32_t i = 0; i < count; ++i) cells[i] = first + (static_cast<uint64_t>(i >> lane_shift) << (kLaneShift + 32));
}

// All cells of 32 consecutive lane accesses at once; false if something needs a closer look.
bool check_cells(SharedShadow& s, const Party& p, uint32_t first, uint32_t count, uint32_t lane_shift, bool store,
                 uint32_t instruction) {
  uint64_t* stores = &s.stores[first];
  uint64_t* loads = &s.loads[first];
  const uint32_t* clocks = p.clocks;
  const uint32_t agents = p.agents, agent = p.agent, own = p.own;
  const bool plain = one_history(stores, count, lane_shift, p) && one_history(loads, count, lane_shift, p);
  uint32_t bad = 0;
  for (uint32_t i = 0; !plain && i < count; ++i) {
    const uint32_t a = who_in(stores[i]), b = who_in(loads[i]);
    const uint32_t lane = i >> lane_shift;
    const uint32_t aa = agent_of(a), ba = agent_of(b);
    const uint32_t known = clocks[aa < agents ? aa : 0], also = clocks[ba < agents ? ba : 0];
    const bool own_store = (clock_of(a) < own) | ((lane_of(a) == lane) & !(a & kSeveral));
    const bool own_load = (clock_of(b) < own) | ((lane_of(b) == lane) & !(b & kSeveral));
    const bool store_fine = (a == 0) | (aa == agent ? own_store : clock_of(a) <= known);
    const bool load_fine = (b == 0) | ((ba < agents) & (ba == agent ? own_load : clock_of(b) <= also));
    bad |= static_cast<uint32_t>(!store_fine) | static_cast<uint32_t>(!load_fine);
  }
  if (bad != 0) return false;
  record_range(store ? stores : loads, count, lane_shift, p.who, instruction);
  if (store) std::memset(loads, 0, count * sizeof *loads);
  return true;
}

uint32_t log2_of(uint32_t value) { return static_cast<uint32_t>(__builtin_ctz(value)); }

}  // namespace

void initialise_range(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t length, unsigned lane,
                      uint32_t bytes, bool load) {
  SharedShadow& s = owner.shadow;
  uint8_t* first = &s.written[offset >> s.shift];
  const uint32_t count = length >> s.shift;
  if (load) {
    const void* missing = std::memchr(first, 0, count);
    if (missing == nullptr) return;
    const auto index = static_cast<uint32_t>(static_cast<const uint8_t*>(missing) - first);
    const uint32_t at = offset + (index << s.shift);
    const unsigned reader = length > bytes ? (at - offset) / bytes : lane;
    report_uninitialised(w, in, &owner == w.cta ? Space::Shared : Space::SharedCluster, owner.shared_base + at, reader,
                         bytes);
  }
  std::memset(first, 1, count);
}

namespace {

void initialise_lane(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, unsigned lane, uint32_t bytes,
                     bool load) {
  SharedShadow& s = owner.shadow;
  uint8_t* first = &s.written[offset >> s.shift];
  const uint32_t count = bytes >> s.shift;
  uint8_t all = 1;
  for (uint32_t k = 0; k < count; ++k) all &= first[k];
  if (all) return;
  initialise_range(w, in, owner, offset, bytes, lane, bytes, load);
}

// ---- Global memory ---------------------------------------------------------------------------------------
// A cell: segment:31 | strong:1 | instruction:22 | warp:5 | lane:5.

constexpr unsigned kInstructionShift = 10;
constexpr uint32_t kInstructionMask = (1u << 22) - 1;
static_assert(kMaxInstructions - 1 <= kInstructionMask, "a cell has no room for the number of an instruction");

uint64_t global_cell(const Warp& w, const Instruction& in, Order order) {
  const uint64_t who = static_cast<uint64_t>(w.cta->global.segment) << 1 | (order.strong ? 1u : 0u);
  return who << 32 | static_cast<uint64_t>(in.index) << kInstructionShift | w.index << 5;
}

uint32_t segment_of(uint64_t cell) { return static_cast<uint32_t>(cell >> 33); }
uint32_t instruction_in(uint64_t cell) { return static_cast<uint32_t>(cell >> kInstructionShift) & kInstructionMask; }
bool strong_cell(uint64_t cell) { return cell >> 32 & 1u; }

// What a load leaves where nothing has been stored, so that one place is reported once. It is no store: nobody races
// with it.
constexpr uint64_t kReported = static_cast<uint64_t>(kInstructionMask) << kInstructionShift;
bool only_reported(uint64_t cell) { return (cell & kReported) == kReported; }

void report_global_race(Warp& w, const Instruction& in, uint64_t address, unsigned lane, uint32_t bytes, bool store,
                        uint64_t cell, bool cell_stored) {
  GlobalClocks& clocks = w.worker->launch->global_clocks;
  Finding f{};
  f.kind = Kind::GlobalRace;
  f.site = site_of(w, in, lane, store);
  f.other = {instruction_in(cell), clocks.cta_of(segment_of(cell)),
             static_cast<uint32_t>(cell >> 5 & 31u), static_cast<uint32_t>(cell & 31u), cell_stored};
  f.has_address = true;
  f.address = address;
  f.bytes = bytes;
  f.note = clocks.forked(segment_of(cell)) ? "the asynchronous operation has not been waited for"
                                           : "nothing orders the two CTAs here";
  report(w, f);
}

struct Cells {
  size_t first, count;
};

Cells cells_of(const Warp& w, const Buffer& b, uint64_t address, uint64_t length) {
  const uint32_t shift = log2_of(program_of(w).global_granule);
  return {static_cast<size_t>((address >> shift) - (b.lo >> shift)), std::max<size_t>(1, length >> shift)};
}

void check_global_cell(Warp& w, const Instruction& in, Buffer& b, size_t index, uint64_t address, unsigned lane,
                       uint32_t bytes, Access access, Order order) {
  const Launch& launch = *w.worker->launch;
  GlobalClocks& clocks = w.worker->launch->global_clocks;
  const uint64_t me = global_cell(w, in, order) | lane;
  const uint64_t stored = b.stores[index];
  const bool store = access != Access::Load;
  const bool written = clocks.current(segment_of(stored));
  if (launch.initialisation && access != Access::Store && !b.initialised && !written) {
    report_uninitialised(w, in, Space::Global, address, lane, bytes);
    b.stores[index] = me | kReported;
  }
  if (b.loads != nullptr) {
    const uint64_t loaded = b.has_loads->load(std::memory_order_relaxed) ? b.loads[index] : 0;
    const auto conflicts = [&](uint64_t cell) {
      return clocks.current(segment_of(cell)) && segment_of(cell) != w.cta->global.segment && !only_reported(cell) &&
             !(order.strong && strong_cell(cell)) && !clocks.ordered(w.cta->global, segment_of(cell));
    };
    if (conflicts(stored)) report_global_race(w, in, address, lane, bytes, store, stored, true);
    else if (store && conflicts(loaded)) report_global_race(w, in, address, lane, bytes, store, loaded, false);
    if (!store) {
      b.has_loads->store(true, std::memory_order_relaxed);
      b.loads[index] = me;
    }
  }
  if (store) b.stores[index] = me;
}

}  // namespace

// ---- State -----------------------------------------------------------------------------------------------

void SharedShadow::reset(uint32_t bytes, uint32_t granule, bool init, bool race) {
  shift = log2_of(granule);
  initialisation = init;
  races = race;
  const size_t cells = (bytes >> shift) + 1;
  if (init) written.assign(cells, 0);
  if (!race) return;
  stores.assign(cells, 0);
  loads.assign(cells, 0);
  readers.clear();
  free_readers.clear();
}

void LocalShadow::reset(uint32_t bytes_per_lane, uint32_t lanes, uint32_t granule, bool init) {
  shift = log2_of(granule);
  cells_per_lane = (bytes_per_lane >> shift) + 1;
  if (init && bytes_per_lane != 0) written.assign(static_cast<size_t>(cells_per_lane) * lanes, 0);
  else written.clear();
}

// ---- Checks ----------------------------------------------------------------------------------------------

void check_shared_uniform(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, unsigned lane, uint32_t bytes,
                          Order order) {
  SharedShadow& s = owner.shadow;
  if (!owner.mbarriers.empty()) check_not_mbarrier(w, in, owner, offset, bytes, lane, false);
  if (s.initialisation) initialise_range(w, in, owner, offset, bytes, lane, bytes, true);
  if (!s.races || !w.cta->cluster->clocks.active()) return;
  if (&owner != w.cta) record_visit(w, in, owner, offset, lane, false);
  const Party p = party_of(w, order);
  const uint32_t cells = std::max(1u, bytes >> s.shift);
  for (uint32_t k = 0; k < cells; ++k) {
    check_cell(w, in, owner, p, (offset >> s.shift) + k, lane, true, bytes, false);
  }
}

void check_shared(Warp& w, const Instruction& in, Cta& owner, const uint32_t* offsets, uint32_t mask, uint32_t bytes,
                  Access access, Order order) {
  SharedShadow& s = owner.shadow;
  const bool store = access != Access::Load;
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  bool uniform = access == Access::Load && (mask & (mask - 1)) != 0;
  for (unsigned l = first; uniform && l < kLanes; ++l) uniform = !(mask >> l & 1u) || offsets[l] == offsets[first];
  if (uniform) {
    check_shared_uniform(w, in, owner, offsets[first], first, bytes, order);
    return;
  }
  if (!owner.mbarriers.empty()) {
    for (unsigned l = first; l < kLanes; ++l) {
      if (mask >> l & 1u) check_not_mbarrier(w, in, owner, offsets[l], bytes, l, store);
    }
  }
  if (s.initialisation) {
    for (unsigned l = first; l < kLanes; ++l) {
      if (mask >> l & 1u) initialise_lane(w, in, owner, offsets[l], l, bytes, access != Access::Store);
    }
  }
  if (!s.races || !w.cta->cluster->clocks.active()) return;
  if (&owner != w.cta) record_visit(w, in, owner, offsets[first], first, store);
  const Party p = party_of(w, order);
  const auto& plan = *static_cast<const AccessPlan*>(in.plan);
  const uint32_t cells = std::max(1u, bytes >> s.shift);
  for (unsigned l = first; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    const uint32_t index = offsets[l] >> s.shift;
    if (access == Access::Store && !order.strong && l != first) {
      // Lanes of one store that write one address: which one wins is undefined, unless they agree.
      const uint64_t cell = s.stores[index];
      const uint32_t who = who_in(cell);
      const bool same = agent_of(who) == p.agent && clock_of(who) == p.own && static_cast<uint32_t>(cell) == in.index;
      unsigned twin = l;
      for (unsigned k = first; same && k < l; ++k) {
        if ((mask >> k & 1u) && offsets[k] == offsets[l]) twin = k;
      }
      if (twin != l && plan.same_value != nullptr && plan.same_value(w, in, twin, l)) continue;
    }
    for (uint32_t k = 0; k < cells; ++k) {
      check_cell(w, in, owner, p, index + k, l, false, bytes, store);
    }
  }
}

void check_shared_range(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t bytes, Access access,
                        Order order) {
  SharedShadow& s = owner.shadow;
  const bool store = access != Access::Load;
  if (!owner.mbarriers.empty()) check_not_mbarrier(w, in, owner, offset, bytes * kLanes, 0, store);
  if (s.initialisation) initialise_range(w, in, owner, offset, bytes * kLanes, 0, bytes, access != Access::Store);
  if (!s.races || !w.cta->cluster->clocks.active()) return;
  if (&owner != w.cta) record_visit(w, in, owner, offset, 0, store);
  const Party p = party_of(w, order);
  const uint32_t cells = bytes >> s.shift;
  if (check_cells(s, p, offset >> s.shift, cells * kLanes, log2_of(cells), store, in.index)) return;
  for (unsigned l = 0; l < kLanes; ++l) {
    for (uint32_t k = 0; k < cells; ++k) {
      check_cell(w, in, owner, p, (offset >> s.shift) + l * cells + k, l, false, bytes, store);
    }
  }
}

void check_global(Warp& w, const Instruction& in, Buffer& b, uint64_t address, unsigned lane, uint32_t bytes,
                  Access access, Order order) {
  const Cells cells = cells_of(w, b, address, bytes);
  for (size_t k = 0; k < cells.count; ++k) {
    // What several clusters only read is in order, and no cell could remember them all.
    if (b.owners != nullptr && take_cells(w, b, cells.first + k, 1, access != Access::Load) != Owned::Alone) continue;
    check_global_cell(w, in, b, cells.first + k, address, lane, bytes, access, order);
  }
}

void check_global_range(Warp& w, const Instruction& in, Buffer& b, uint64_t address, uint32_t bytes, Access access,
                        Order order) {
  const Cells cells = cells_of(w, b, address, static_cast<uint64_t>(bytes) * kLanes);
  const size_t per_lane = cells.count / kLanes;
  uint64_t* stores = b.stores + cells.first;
  const uint64_t segment = w.cta->global.segment, base = w.worker->launch->global_clocks.base();
  const uint64_t me = global_cell(w, in, order);
  const bool store = access != Access::Load;
  const Owned owned = b.owners == nullptr ? Owned::Alone : take_cells(w, b, cells.first, cells.count, store);
  if (owned == Owned::Shared) return;
  if (owned == Owned::Mixed) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      check_global(w, in, b, address + static_cast<uint64_t>(lane) * bytes, lane, bytes, access, order);
    }
    return;
  }
  // The common case: nobody else has been here.
  uint64_t foreign = 0, missing = 0;
  for (size_t i = 0; i < cells.count; ++i) {
    foreign |= static_cast<uint64_t>((stores[i] >> 33 > base) & (stores[i] >> 33 != segment));
    missing |= static_cast<uint64_t>(stores[i] >> 33 <= base);
  }
  const bool look = store ? b.loads != nullptr && b.has_loads->load(std::memory_order_relaxed)
                          : b.loads != nullptr || (missing && !b.initialised);
  if ((foreign && b.loads != nullptr) || look) {
    for (size_t i = 0; i < cells.count; ++i) {
      const auto lane = static_cast<unsigned>(i / per_lane);
      check_global_cell(w, in, b, cells.first + i, address + static_cast<uint64_t>(lane) * bytes, lane, bytes, access,
                        order);
    }
    return;
  }
  if (!store) return;
  const uint32_t shift = log2_of(static_cast<uint32_t>(per_lane));
  for (size_t i = 0; i < cells.count; ++i) stores[i] = me | i >> shift;
}

void check_global_proxies(Warp& w, const Instruction& in, Buffer& b, uint64_t address, uint32_t bytes, unsigned lane,
                          bool store) {
  if (b.loads == nullptr) return;
  GlobalClocks& clocks = w.worker->launch->global_clocks;
  const Cells cells = cells_of(w, b, address, bytes);
  if (b.owners != nullptr) take_cells(w, b, cells.first, cells.count, store);
  uint32_t fine = 0;
  for (size_t k = 0; k < cells.count; ++k) {
    const uint64_t cell = b.stores[cells.first + k];
    const uint32_t segment = segment_of(cell);
    if (segment == fine || !clocks.current(segment) || only_reported(cell)) continue;
    if (clocks.fenced(w.cta->global, segment, kFencedAgent)) {
      fine = segment;
      continue;
    }
    Finding f{};
    f.kind = Kind::ProxyRace;
    f.site = site_of(w, in, lane, store);
    f.other = {instruction_in(cell), clocks.cta_of(segment),
               static_cast<uint32_t>(cell >> 5 & 31u), static_cast<uint32_t>(cell & 31u), true};
    f.has_address = true;
    f.address = address;
    f.bytes = bytes;
    f.note = "no fence.proxy.async lies between the store and the copy";
    report(w, f);
    return;
  }
}

void order_map_release(Warp& w) {
  if (w.worker->launch->races) w.worker->launch->global_clocks.fence_proxies(w.cta->global, kReleasedAgent);
}

void order_map_acquire(Warp& w, uint64_t address, uint32_t bytes) {
  Launch& launch = *w.worker->launch;
  uint32_t hint = 0;
  Buffer* b = launch.races ? launch.memory.find(address, address + bytes, hint) : nullptr;
  if (b == nullptr || b->loads == nullptr) return;
  const Cells cells = cells_of(w, *b, address, bytes);
  if (b->owners != nullptr) take_cells(w, *b, cells.first, cells.count, false);
  std::vector<uint64_t>& seen = w.cta->global.acquired_maps[address];
  seen.assign(b->stores + cells.first, b->stores + cells.first + cells.count);
  for (uint64_t& cell : seen) {
    const uint32_t segment = segment_of(cell);
    if (!launch.global_clocks.current(segment)) continue;
    if (!launch.global_clocks.fenced(w.cta->global, segment, kReleasedAgent)) cell = 0;
  }
}

void check_map_proxies(Warp& w, const Instruction& in, Buffer& b, uint64_t address, uint32_t bytes, unsigned lane) {
  if (b.loads == nullptr) return;
  GlobalClocks& clocks = w.worker->launch->global_clocks;
  const Cells cells = cells_of(w, b, address, bytes);
  if (b.owners != nullptr) take_cells(w, b, cells.first, cells.count, false);
  const auto acquired = w.cta->global.acquired_maps.find(address);
  for (size_t k = 0; k < cells.count; ++k) {
    const uint64_t cell = b.stores[cells.first + k];
    const uint32_t segment = segment_of(cell);
    if (!clocks.current(segment) || only_reported(cell)) continue;
    if (acquired != w.cta->global.acquired_maps.end() && acquired->second[k] == cell) continue;
    Finding f{};
    f.kind = Kind::ProxyRace;
    f.site = site_of(w, in, lane, false);
    f.other = {instruction_in(cell), clocks.cta_of(segment),
               static_cast<uint32_t>(cell >> 5 & 31u), static_cast<uint32_t>(cell & 31u), true};
    f.has_address = true;
    f.address = address;
    f.bytes = bytes;
    const bool released = clocks.fenced(w.cta->global, segment, kReleasedAgent);
    f.note = released ? "the CTA has not acquired the tensor map since: fence.proxy.tensormap::generic.acquire"
                      : "nobody has released the tensor map since: fence.proxy.tensormap::generic.release, or "
                        "tensormap.cp_fenceproxy, and a barrier or flag that this CTA waits for";
    report(w, f);
    return;
  }
}

void check_local(Warp& w, const Instruction& in, uint32_t offset, unsigned lane, uint32_t bytes, Access access) {
  LocalShadow& s = w.cta->local_shadow;
  if (s.written.empty()) return;
  const size_t first = static_cast<size_t>(w.index * kLanes + lane) * s.cells_per_lane + (offset >> s.shift);
  const size_t count = bytes >> s.shift;
  for (size_t k = 0; k < count; ++k) {
    if (access == Access::Load && !s.written[first + k]) {
      report_uninitialised(w, in, Space::Local, offset, lane, bytes);
    }
    s.written[first + k] = 1;
  }
}

void forget_global(Warp& w, uint64_t address, uint32_t bytes) {
  uint32_t hint = 0;
  Buffer* b = w.worker->launch->memory.find(address, address + bytes, hint);
  if (b == nullptr || b->stores == nullptr) return;
  const Cells cells = cells_of(w, *b, address, bytes);
  if (b->owners != nullptr) take_cells(w, *b, cells.first, cells.count, true);
  for (size_t k = 0; k < cells.count; ++k) b->stores[cells.first + k] = 0;
}

// ---- Registers -------------------------------------------------------------------------------------------

void check_registers(Warp& w, const Instruction& in, uint32_t active) {
  const Program& program = program_of(w);
  if (in.index >= program.uses.size()) return;
  const Uses& uses = program.uses[in.index];
  if (uses.sources.empty() && uses.destinations.empty() && w.held.empty()) return;
  uint32_t guard;
  std::memcpy(&guard, w.base[0] + in.guard, sizeof guard);
  const uint32_t mask = active & (guard ^ in.guard_invert);
  if (!w.held.empty() && mask != 0 && !program.touches[in.index].empty()) check_held_registers(w, in);
  if (w.defined == nullptr) return;
  const auto check = [&](uint32_t r, uint32_t lanes) {
    const RegisterSlot& slot = program.registers[r];
    const uint32_t need = slot.width == 1 && slot.offset == in.guard ? active : lanes;
    const uint32_t missing = need & ~w.defined[r];
    if (__builtin_expect(missing == 0, 1)) return;
    report(w, slot.width == 1 ? Kind::UnassignedPredicate : Kind::UninitialisedRegister,
           site_of(w, in, static_cast<unsigned>(__builtin_ctz(missing))),
           (slot.width == 1 ? "%p" : "%r") + std::to_string(r));
    w.defined[r] |= missing;
  };
  for (const uint32_t r : uses.sources) check(r, mask);
  for (const uint32_t r : uses.conditional) check(r, mask & predicate(w, in, 0));
  for (const uint32_t r : uses.destinations) w.defined[r] |= mask;
}

}  // namespace pyptx::emulator
