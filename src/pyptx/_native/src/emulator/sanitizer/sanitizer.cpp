#include "sanitizer.h"

#include <algorithm>
#include <cstring>

#include "lane_runs.h"
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

namespace {

const char* why_unordered(const Warp& w, uint32_t agent) {
  if (agent == w.agent) return "no bar.warp.sync or barrier orders these lanes of one warp";
  if (w.cta->cluster->clocks.waited_apart(w.agent, agent)) {
    return "the lane that copies has waited for the copy, and no bar.warp.sync or barrier orders this lane after it";
  }
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
  ++s.changes;
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
  } else if (const uint32_t reader = store ? reader_against(s, index, p, lane, several) : kNone; reader != kNone) {
    const uint32_t who = who_in(loaded);
    const bool many = agent_of(who) == kManyAgents;
    const uint32_t entry = reader_entry(s, index, reader);
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
    stored = cell_of(p.who_of(lane, several), in.index);
    loaded = 0;
  } else {
    record_load(s, p, index, lane, several, in.index);
  }
}

void initialise_range(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t length, unsigned lane,
                      uint32_t bytes, bool load) {
  SharedShadow& s = owner.shadow;
  ++s.changes;
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
  shift = static_cast<uint32_t>(__builtin_ctz(granule));
  initialisation = init;
  races = race;
  const size_t cells = (bytes >> shift) + 1;
  if (init) written.assign(cells, 0);
  if (!race) return;
  stores.assign(cells, 0);
  loads.assign(cells, 0);
  strong.clear();
  readers.reset(cells);
}

void LocalShadow::reset(uint32_t bytes_per_lane, uint32_t lanes, uint32_t granule, bool init) {
  shift = static_cast<uint32_t>(__builtin_ctz(granule));
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
bool one_value(Warp& w, const Instruction& in, const LaneOffsets& offsets, uint32_t mask, Access access) {
  const auto& plan = *static_cast<const AccessPlan*>(in.plan);
  if (access != Access::Store || plan.same_value == nullptr) return false;
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  for (unsigned l = first + 1; l < kLanes; ++l) {
    if ((mask >> l & 1u) && (offsets.of(l) != offsets.of(first) || !plan.same_value(w, in, first, l))) return false;
  }
  return true;
}

}  // namespace

namespace {

// The lanes that access what the lanes of a run do.
uint32_t lanes_of(const LaneRun& run) { return run.lanes * (run.again + 1u); }

CellRange range_of(const SharedShadow& s, const LaneRun& run, const LaneOffsets& offsets, uint32_t bytes) {
  const uint32_t cells = std::max(1u, bytes >> s.shift), first = offsets.of(run.lane) >> s.shift;
  if (run.one_place) return {first, cells, run.lane, 31, true};
  return {first, run.lanes * cells, run.lane, static_cast<uint32_t>(__builtin_ctz(cells)), run.again != 0};
}

void initialise_run(Warp& w, const Instruction& in, Cta& owner, const LaneOffsets& offsets, const LaneRun& run,
                    uint32_t bytes, bool load) {
  SharedShadow& s = owner.shadow;
  const CellRange range = range_of(s, run, offsets, bytes);
  uint8_t* first = &s.written[range.first];
  if (all_written(first, range.count)) return;
  if (!load) {
    std::memset(first, 1, range.count);
    return;
  }
  for (uint32_t l = run.lane; l < run.lane + lanes_of(run); ++l) {
    initialise_lane(w, in, owner, offsets.of(l), l, bytes, load);
  }
}

// Whether a lane before `lane` stores the same value to the same place in the same instruction. Which of them wins is
// undefined, unless they agree.
bool has_twin(Warp& w, const Instruction& in, const SharedShadow& s, const Party& p, const LaneOffsets& offsets,
              uint32_t mask, unsigned lane) {
  const uint64_t cell = s.stores[offsets.of(lane) >> s.shift];
  const uint32_t who = who_in(cell);
  if (agent_of(who) != p.agent || clock_of(who) != p.own || static_cast<uint32_t>(cell) != in.index) return false;
  unsigned twin = lane;
  for (unsigned k = 0; k < lane; ++k) {
    if ((mask >> k & 1u) && offsets.of(k) == offsets.of(lane)) twin = k;
  }
  const auto& plan = *static_cast<const AccessPlan*>(in.plan);
  return twin != lane && plan.same_value != nullptr && plan.same_value(w, in, twin, lane);
}

}  // namespace

void check_shared(Warp& w, const Instruction& in, Cta& owner, const uint32_t* offsets, uint32_t mask, uint32_t bytes,
                  Access access, Order order) {
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  const bool alone = (mask & (mask - 1)) == 0;
  const uint32_t elsewhere = lane_mask([&](unsigned l) { return offsets[l] != offsets[first]; });
  if (access == Access::Load && !alone && (mask & elsewhere) == 0) {
    check_shared_uniform(w, in, owner, offsets[first], mask, bytes, order);
    return;
  }
  if (access == Access::Load && alone && w.cta->cluster->clocks.active()) {
    w.cta->cluster->clocks.broadcast(w.agent) = true;
  }
  LaneRuns runs;
  find_runs(offsets, mask, bytes, access != Access::Load, &runs);
  check_shared_runs(w, in, owner, {0, offsets}, mask, bytes, access, order, runs);
}

void check_shared_runs(Warp& w, const Instruction& in, Cta& owner, const LaneOffsets& offsets, uint32_t mask,
                       uint32_t bytes, Access access, Order order, const LaneRuns& runs) {
  SharedShadow& s = owner.shadow;
  const bool store = access != Access::Load;
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  for (unsigned l = first; !owner.mbarriers.empty() && l < kLanes; ++l) {
    if (mask >> l & 1u) check_not_mbarrier(w, in, owner, offsets.of(l), bytes, l, store);
  }
  for (uint32_t i = 0; s.initialisation && i < runs.count; ++i) {
    initialise_run(w, in, owner, offsets, runs.run[i], bytes, access != Access::Store);
  }
  if (!s.races || !w.cta->cluster->clocks.active()) return;
  if (&owner != w.cta) record_visit(w, in, owner, offsets.of(first), first, store);
  Party p = party_of(w, mask);
  if (mask == w.live && one_value(w, in, offsets, mask, access)) p.together = w.cta->cluster->clocks.together(w.agent);
  const uint32_t cells = std::max(1u, bytes >> s.shift);
  for (uint32_t i = 0; i < runs.count; ++i) {
    const LaneRun& run = runs.run[i];
    if (!order.strong && check_cells(s, p, range_of(s, run, offsets, bytes), store, in.index)) continue;
    for (uint32_t l = run.lane; l < run.lane + lanes_of(run); ++l) {
      if (access == Access::Store && !order.strong && has_twin(w, in, s, p, offsets, mask, l)) continue;
      for (uint32_t k = 0; k < cells; ++k) {
        check_cell(w, in, owner, p, (offsets.of(l) >> s.shift) + k, l, false, bytes, store, order);
      }
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
  const CellRange range{offset >> s.shift, cells * kLanes, 0, static_cast<uint32_t>(__builtin_ctz(cells)), false};
  if (!order.strong && check_cells(s, p, range, store, in.index)) return;
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
