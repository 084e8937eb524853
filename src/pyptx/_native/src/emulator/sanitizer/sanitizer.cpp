#include "sanitizer.h"

#include <algorithm>
#include <cstring>

#include "ownership.h"
#include "semantics/access.h"
#include "shadow_cells.h"

namespace pyptx::emulator {

// ---- Shared memory ---------------------------------------------------------------------------------------

Party party_of(const Warp& w, uint32_t lanes) {
  const ClusterClocks& clocks = w.cta->cluster->clocks;
  const uint32_t own = clocks.own(w.agent);
  return {&clocks, clocks.of(w.agent), clocks.agents(), w.agent, own, clocks.synced(w.agent),
          w.agent << kAgentShift | own, lanes, w.agent};
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
                 bool store, const Site& other, const char* note, const Touch& touch) {
  Finding f{};
  f.kind = Kind::SharedRace;
  f.site = site_of(w, in, lane, store);
  f.other = other;
  f.has_address = true;
  f.space = &owner == w.cta ? Space::Shared : Space::SharedCluster;
  f.address = owner.shared_base + offset;
  f.bytes = bytes;
  f.note = note;
  report_narrow(w, std::move(f), touch, Scope::System, false);
}

Touch touch_of_who(const Warp& w, uint32_t who) {
  const Cluster& c = *w.cta->cluster;
  Touch touch;
  touch.cluster = c.linear;
  touch.column = agent_of(who);
  touch.generation = c.clocks.generation();
  touch.clock = clock_of(who);
  touch.lane = static_cast<uint8_t>(lane_of(who));
  touch.every_lane = (who & kSeveral) != 0;
  return touch;
}

uint32_t reader_against(const SharedShadow& s, uint32_t who, const Party& p, uint32_t lane, bool several) {
  if (agent_of(who) == p.agent && clock_of(who) < p.together) return kNone;
  if (clock_of(who) == 0 && agent_of(who) != kManyAgents) return kNone;
  if (agent_of(who) == kManyAgents) return unordered_reader(s, who, p, lane, several);
  return p.fine(who, lane, several) ? kNone : agent_of(who);
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

// The first cell without a value whose bytes matter to a load of `bytes` by each lane; `count` if none is.
uint32_t first_missing(const Warp& w, const Instruction& in, const uint8_t* cells, uint32_t count, uint32_t shift,
                       uint32_t bytes) {
  const Program& program = program_of(w);
  const auto used = program.used_bytes.find(in.index);
  const uint32_t each = bytes >> shift;
  for (uint32_t k = 0; k < count; ++k) {
    const uint32_t in_cell = (1u << (1u << shift)) - 1;
    const bool matters = used == program.used_bytes.end() || (used->second >> (k % each << shift) & in_cell) != 0;
    if (cells[k] == 0 && matters) return k;
  }
  return count;
}

// The reader of several that is not ordered before the access; kNone if all are.
uint32_t unordered_reader(const SharedShadow& s, uint32_t who, const Party& p, uint32_t lane, bool several) {
  const auto& entries = s.readers[readers_of(who)];
  for (uint32_t a = 0; a < entries.size(); ++a) {
    const uint32_t entry = entries[a];
    if (clock_of(entry) == 0 || (a == p.agent && clock_of(entry) < p.together)) continue;
    if (!p.fine(a << kAgentShift | (entry & kReaderMask), lane, several)) return a;
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
    auto& entries = s.readers[readers_of(old)];
    if (entries.size() <= p.agent) entries.resize(p.agents, 0);  // an operation's agent that there was not before
    uint32_t& mine = entries[p.agent];
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

namespace {

// What strong accesses of a cell an access races with, and its own place among them.
bool check_strong(Warp& w, const Instruction& in, Cta& owner, uint32_t index, const Touch& mine, uint32_t mask,
                  uint32_t bytes, bool strong) {
  const auto found = owner.shadow.strong.find(index);
  const Touch* other = found == owner.shadow.strong.end() ? nullptr
                                                          : unordered_touch(w, found->second, mine, mask, strong);
  if (other == nullptr) return true;
  Finding f{};
  f.kind = Kind::SharedRace;
  f.site = site_of(w, in, mine.lane, mine.store);
  f.other = site_of_touch(*other);
  f.has_address = true;
  f.space = &owner == w.cta ? Space::Shared : Space::SharedCluster;
  f.address = owner.shared_base + (index << owner.shadow.shift);
  f.bytes = bytes;
  f.note = other->forked ? "the asynchronous operation has not been waited for" : why_unordered(w, other->column);
  report_narrow(w, std::move(f), *other, mine.scope, strong);
  return false;
}

}  // namespace

void check_cell(Warp& w, const Instruction& in, Cta& owner, const Party& p, uint32_t index, unsigned lane, bool several,
                uint32_t bytes, bool store, Order order) {
  SharedShadow& s = owner.shadow;
  uint64_t& stored = s.stores[index];
  uint64_t& loaded = s.loads[index];
  const uint32_t offset = index << s.shift, mask = several ? p.lanes : 1u << lane;
  const bool touched = (who_in(stored) & kStrong) != 0;
  bool complained = true;
  if (!p.fine(who_in(stored), lane, several)) {
    const uint32_t who = who_in(stored);
    const uint32_t agent = agent_of(who);
    report_race(w, in, owner, offset, lane, bytes, store,
                site_of_agent(w, agent, lane_of(who), clock_of(who), static_cast<uint32_t>(stored), true),
                why_unordered(w, agent), touch_of_who(w, who));
  } else if (const uint32_t reader = store ? reader_against(s, who_in(loaded), p, lane, several) : kNone; reader != kNone) {
    const uint32_t who = who_in(loaded);
    const bool many = agent_of(who) == kManyAgents;
    const uint32_t entry = many ? s.readers[readers_of(who)][reader] | reader << kAgentShift : who;
    report_race(w, in, owner, offset, lane, bytes, store,
                site_of_agent(w, reader, many || (who & kSeveral) ? kNone : lane_of(who), clock_of(entry), static_cast<uint32_t>(loaded), false),
                why_unordered(w, reader), touch_of_who(w, entry));
  } else {
    complained = false;
  }
  Touch mine;
  if (touched || order.strong) {
    mine = touch_of(w, in, lane, store, order.scope);
    mine.every_lane = several;
  }
  if (touched && !complained) check_strong(w, in, owner, index, mine, mask, bytes, order.strong);
  if (order.strong) {
    s.strong[index].add(mine);
    stored |= static_cast<uint64_t>(kStrong) << 32;
  } else if (store) {
    if (touched) s.strong.erase(index);
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
  return differences == 0 && agent_of(who_in(first)) != kManyAgents && (who_in(first) & kStrong) == 0 &&
         p.fine_for_all(who_in(first), 0, false);
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
  const uint32_t agents = p.agents, agent = p.agent, synced = p.synced;
  const bool plain = one_history(stores, count, lane_shift, p) && one_history(loads, count, lane_shift, p);
  uint32_t bad = 0;
  for (uint32_t i = 0; !plain && i < count; ++i) {
    const uint32_t a = who_in(stores[i]), b = who_in(loads[i]);
    const uint32_t lane = i >> lane_shift;
    const uint32_t aa = agent_of(a), ba = agent_of(b);
    const uint32_t known = clocks[aa < agents ? aa : 0], also = clocks[ba < agents ? ba : 0];
    const bool own_store = (clock_of(a) < synced) | ((lane_of(a) == lane) & !(a & kSeveral));
    const bool own_load = (clock_of(b) < synced) | ((lane_of(b) == lane) & !(b & kSeveral));
    const bool store_fine = (a == 0) | (aa == agent ? own_store : clock_of(a) <= known);
    const bool load_fine = (b == 0) | ((ba < agents) & (ba == agent ? own_load : clock_of(b) <= also));
    bad |= (a & kStrong) | static_cast<uint32_t>(!store_fine) | static_cast<uint32_t>(!load_fine);
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
    if (std::memchr(first, 0, count) == nullptr) return;
    const uint32_t index = first_missing(w, in, first, count, s.shift, bytes);
    if (index == count) return;
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
  strong.clear();
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

bool shared_has_value(const Warp& w, const Cta& owner, uint64_t offset, uint32_t bytes) {
  const SharedShadow& s = owner.shadow;
  const uint64_t size = w.worker->launch->shared_bytes;
  if (!s.initialisation || size < bytes || offset > size - bytes) return true;
  const uint8_t* first = &s.written[offset >> s.shift];
  return std::memchr(first, 0, std::max(1u, bytes >> s.shift)) == nullptr;
}

void check_shared_uniform(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t mask, uint32_t bytes,
                          Order order) {
  SharedShadow& s = owner.shadow;
  mask &= w.live;
  const auto lane = static_cast<unsigned>(__builtin_ctz(mask | 1u << 31));
  if (!owner.mbarriers.empty()) check_not_mbarrier(w, in, owner, offset, bytes, lane, false);
  if (s.initialisation) initialise_range(w, in, owner, offset, bytes, lane, bytes, true);
  if (!s.races || !w.cta->cluster->clocks.active()) return;
  if (&owner != w.cta) record_visit(w, in, owner, offset, lane, false);
  w.cta->cluster->clocks.broadcast(w.agent) = true;
  const Party p = party_of(w, mask);
  const uint32_t cells = std::max(1u, bytes >> s.shift);
  for (uint32_t k = 0; k < cells; ++k) {
    check_cell(w, in, owner, p, (offset >> s.shift) + k, lane, true, bytes, false, order);
  }
}

namespace {

// Whether the lanes of `mask` store one value to one place.
bool one_value(Warp& w, const Instruction& in, const uint32_t* offsets, uint32_t mask, Access access) {
  const auto& plan = *static_cast<const AccessPlan*>(in.plan);
  if (access != Access::Store || plan.same_value == nullptr) return false;
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  for (unsigned l = first + 1; l < kLanes; ++l) {
    if ((mask >> l & 1u) && (offsets[l] != offsets[first] || !plan.same_value(w, in, first, l))) return false;
  }
  return true;
}

}  // namespace

void check_shared(Warp& w, const Instruction& in, Cta& owner, const uint32_t* offsets, uint32_t mask, uint32_t bytes,
                  Access access, Order order) {
  SharedShadow& s = owner.shadow;
  const bool store = access != Access::Load;
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  bool uniform = access == Access::Load && (mask & (mask - 1)) != 0;
  for (unsigned l = first; uniform && l < kLanes; ++l) uniform = !(mask >> l & 1u) || offsets[l] == offsets[first];
  if (uniform) {
    check_shared_uniform(w, in, owner, offsets[first], mask, bytes, order);
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
  Party p = party_of(w, mask);
  const auto& plan = *static_cast<const AccessPlan*>(in.plan);
  if (access == Access::Load && (mask & (mask - 1)) == 0) w.cta->cluster->clocks.broadcast(w.agent) = true;
  if (mask == w.live && one_value(w, in, offsets, mask, access)) p.together = w.cta->cluster->clocks.together(w.agent);
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
      check_cell(w, in, owner, p, index + k, l, false, bytes, store, order);
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
  const Party p = party_of(w, kFullMask);
  const uint32_t cells = bytes >> s.shift;
  if (!order.strong && check_cells(s, p, offset >> s.shift, cells * kLanes, log2_of(cells), store, in.index)) return;
  for (unsigned l = 0; l < kLanes; ++l) {
    for (uint32_t k = 0; k < cells; ++k) {
      check_cell(w, in, owner, p, (offset >> s.shift) + l * cells + k, l, false, bytes, store, order);
    }
  }
}

void check_local(Warp& w, const Instruction& in, uint32_t offset, unsigned lane, uint32_t bytes, Access access) {
  LocalShadow& s = w.cta->local_shadow;
  if (s.written.empty()) return;
  const size_t first = static_cast<size_t>(w.index * kLanes + lane) * s.cells_per_lane + (offset >> s.shift);
  const size_t count = bytes >> s.shift;
  if (access == Access::Load) {
    if (std::memchr(&s.written[first], 0, count) == nullptr) return;
    const uint32_t missing = first_missing(w, in, &s.written[first], static_cast<uint32_t>(count), s.shift, bytes);
    if (missing == count || load_missing(w, in, offset, lane, bytes, &s.written[first], s.shift)) return;
    report_uninitialised(w, in, Space::Local, offset, lane, bytes);
  }
  std::memset(&s.written[first], 1, count);
  if (access == Access::Store) store_missing(w, in, lane, bytes, &s.written[first], s.shift);
}

}  // namespace pyptx::emulator
