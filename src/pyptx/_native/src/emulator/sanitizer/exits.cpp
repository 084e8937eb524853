// Asynchronous operations under way when a thread or a CTA exits, whose shared memory is another CTA's then.
#include <algorithm>

#include "semantics/access.h"
#include "shadow_cells.h"

namespace pyptx::emulator {

void check_exit(Warp& w, uint32_t mask) {
  for (const OperationPointer& op : w.copies) {
    if (op->grouping != Grouping::Bulk || (op->mask & mask) == 0 || op->source_waited) continue;
    report(w, Kind::UnfinishedCopy, site_of(w, *op->at, static_cast<unsigned>(__builtin_ctz(op->mask)), true),
           "the thread exits without cp.async.bulk.wait_group, while the copy may still read shared memory");
  }
}

void order_sent(Warp& w, const Instruction& in, unsigned lane, const Operation& op) {
  if (op.clock != 0) w.cta->sent[op.agent] = {op.clock, site_of(w, in, lane, false)};
}

namespace {

// Copies from the CTA's shared memory of which no thread of it knows that they have ended.
void check_sent(Cta& cta) {
  const ClusterClocks& clocks = cta.cluster->clocks;
  for (const auto& [agent, copy] : cta.sent) {
    const uint32_t ended = clocks.column(agent, Known::Ended);
    const auto knows = [&, operation = agent, clock = copy.clock](const Warp& w) {
      return clocks.reach(w.agent, operation) >= clock || clocks.reach(w.agent, ended) >= clock;
    };
    if (std::any_of(cta.warps.begin(), cta.warps.end(), knows)) continue;
    report(cta.warps[0], Kind::UnfinishedCopy, copy.site,
           "the CTA whose shared memory the copy reads exits, and nothing orders the end of the copy before that");
  }
}

}  // namespace

void check_cta_exit(Cta& cta) {
  check_sent(cta);
  const auto unfinished = [](Warp& w, const Site& site) {
    report(w, Kind::UnfinishedCopy, site,
           "the CTA whose shared memory the operation writes to exits, and nobody has waited for it");
  };
  for (const OperationPointer& op : cta.cluster->operations) {
    const bool writes = std::any_of(op->pieces.begin(), op->pieces.end(), [&](const Piece& p) { return p.owner == &cta; });
    if (writes) unfinished(*op->warp, site_of(*op->warp, *op->at, static_cast<unsigned>(__builtin_ctz(op->mask)), true));
  }
  for (const OperationPointer& op : cta.cluster->operations) {
    const auto arrives = [&](const Signal& signal) { return signal.owner == &cta && signal.bytes == 0; };
    const auto signal = std::find_if(op->signals.begin(), op->signals.end(), arrives);
    if (op->warp->cta == &cta || signal == op->signals.end()) continue;
    Finding f = finding_at(*op->warp, *op->at, static_cast<unsigned>(__builtin_ctz(op->mask)), Kind::EarlyExit, cta,
                           signal->offset, kMbarrierBytes);
    f.site.store = true;
    f.note = "nothing orders its arrival before the exit of the CTA whose mbarrier this is";
    report(*op->warp, f);
  }
  for (const auto& [offset, b] : cta.mbarriers) {
    if (b.copies_until > b.seen) unfinished(cta.warps[0], b.copier);
  }
}

}  // namespace pyptx::emulator
