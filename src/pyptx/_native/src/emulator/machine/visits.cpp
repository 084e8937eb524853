#include "visits.h"

#include <algorithm>

#include "semantics/access.h"
#include "sanitizer/shadow_cells.h"

namespace pyptx::emulator {
namespace {

void record(Visits& visits, const Warp& w, Visit visit) {
  const ClusterClocks& clocks = w.cta->cluster->clocks;
  if (visits.empty()) visits.resize(clocks.warps());
  visit.clock = clocks.own(w.agent);
  visits[w.agent] = visit;
}

// Whether one of the CTA's warps, and so its exit, comes after what another CTA's did.
bool ordered(const Cta& cta, uint32_t agent, uint32_t clock) {
  const ClusterClocks& clocks = cta.cluster->clocks;
  return std::any_of(cta.warps.begin(), cta.warps.end(),
                     [&](const Warp& w) { return clocks.reach(w.agent, agent) >= clock; });
}

void report_visit(Cta& cta, uint32_t agent, const Visit& visit, uint32_t bytes, const char* note) {
  Warp& w = cta.warps[0];
  Finding f{};
  f.kind = Kind::EarlyExit;
  f.site = site_of_agent(w, agent, visit.lane, visit.clock, visit.instruction, visit.store);
  f.has_address = true;
  f.space = Space::SharedCluster;
  f.address = cta.shared_base + visit.offset;
  f.bytes = bytes;
  f.note = note;
  report(w, f);
}

}  // namespace

void check_started(Warp& w, const Instruction& in, const Cta& owner, uint32_t offset, unsigned lane, bool store) {
  const ClusterClocks& clocks = w.cta->cluster->clocks;
  if (!w.worker->launch->races || !clocks.active() || &owner == w.cta) return;
  const bool started = std::any_of(owner.warps.begin(), owner.warps.end(), [&](const Warp& other) {
    return clocks.reach(w.agent, other.agent) != 0 ||
           (clocks.asynchronous() && clocks.reach(w.agent, clocks.column(other.agent, Known::Cause)) != 0);
  });
  // Without mbarriers, what a relaxed arrival comes after is not kept.
  if (started || (!clocks.asynchronous() && w.cta->cluster->barrier.phase != 0)) return;
  Finding f{};
  f.kind = Kind::EarlyAccess;
  f.site = site_of(w, in, lane, store);
  f.has_address = true;
  f.space = Space::SharedCluster;
  f.address = owner.shared_base + offset;
  f.bytes = owner.shadow.granule();
  f.note = "nothing orders it after the start of the CTA whose memory this is: barrier.cluster.arrive and "
           "barrier.cluster.wait do";
  report(w, f);
}

void record_visit(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, unsigned lane, bool store) {
  check_started(w, in, owner, offset, lane, store);
  record(owner.visits, w, {0, in.index, offset, lane, store, 0});
}

void record_visit(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, unsigned lane, Mbarrier& b) {
  if (&owner == w.cta || !w.worker->launch->races || !w.cta->cluster->clocks.active()) return;
  check_started(w, in, owner, offset, lane, true);
  record(b.visits, w, {0, in.index, offset, lane, true, b.phase});
}

void observe_visits(Cta& owner, uint64_t offset) {
  for (Visit& visit : owner.visits) {
    if (visit.store && visit.offset == offset) visit = Visit();
  }
}

void check_visits(Cta& cta) {
  const auto unordered = [&](uint32_t agent, const Visit& visit) {
    return visit.clock != 0 && !ordered(cta, agent, visit.clock);
  };
  for (uint32_t agent = 0; agent < cta.visits.size(); ++agent) {
    const Visit& visit = cta.visits[agent];
    if (unordered(agent, visit)) {
      report_visit(cta, agent, visit, cta.shadow.granule(), "nothing orders it before the exit of the CTA whose memory this is");
    }
  }
  for (const auto& [offset, b] : cta.mbarriers) {
    for (uint32_t agent = 0; agent < b.visits.size(); ++agent) {
      const Visit& visit = b.visits[agent];
      if (visit.phase < b.seen || !unordered(agent, visit)) continue;
      report_visit(cta, agent, visit, kMbarrierBytes,
                   "nothing orders it before the exit of the CTA whose mbarrier this is, which does not wait for the phase");
    }
  }
}

void forget_visits(Cta& cta) {
  cta.visits.clear();
  for (auto& [offset, b] : cta.mbarriers) b.visits.clear();
}

}  // namespace pyptx::emulator
