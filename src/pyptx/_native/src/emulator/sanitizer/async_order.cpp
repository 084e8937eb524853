// Happens-before with mbarriers and asynchronous operations.
//
// An operation is an agent that is forked from the thread that issues it: its accesses come after what that
// thread knows, and before what those do who learn of its completion, through the mbarrier that it completes
// on or by waiting for its group. Accesses are checked and recorded when it is issued, so what is found does
// not depend on when its data move.
//
// Completion of a bulk copy orders what the copy did and nothing before it (PTX ISA, "Asynchronous Operations").
// The manual limits that of st.async and red.async, which releases too, in no such way.
//
// What an operation of the asynchronous proxy did has been performed when it is complete. Whoever knows that, and arrives
// at an mbarrier, tells who observes the phase, whatever the semantics of the arrival and of the test: a write of the
// asynchronous proxy that this thread then issues comes after it. Nothing else does where the two are relaxed.
//
// Operations of the asynchronous proxy see what threads stored only behind a fence.proxy.async: a warp's clocks
// have a second part, what has been fenced, that travels with the first. That a thread has loaded from a place
// needs no such fence before an operation writes to it.
#include <algorithm>
#include <cstring>

#include "semantics/access.h"
#include "tensor_memory_order.h"
#include "shadow_cells.h"

namespace pyptx::emulator {
namespace {

ClusterClocks& clocks_of(const Warp& w) { return w.cta->cluster->clocks; }

bool orders(const Warp& w) { return clocks_of(w).active(); }

// Whether a warp knows of all that others' clocks say of threads.
bool covers(const ClusterClocks& clocks, uint32_t agent, const ClockVector& others) {
  for (uint32_t i = 0; i < std::min<uint32_t>(static_cast<uint32_t>(others.clocks.size()), clocks.agents()); ++i) {
    if (others.clocks[i] > clocks.reach(agent, i)) return false;
  }
  return std::all_of(others.lanes.begin(), others.lanes.end(), [&](const LanePart& p) {
    return p.column >= clocks.agents() || p.clock <= clocks.reach(agent, p.column);
  });
}

}  // namespace

Finding finding_at(const Warp& w, const Instruction& in, unsigned lane, Kind kind, const Cta& owner, uint32_t offset,
                   uint32_t bytes) {
  Finding f{};
  f.kind = kind;
  f.site = site_of(w, in, lane);
  f.has_address = true;
  f.space = &owner == w.cta ? Space::Shared : Space::SharedCluster;
  f.address = owner.shared_base + offset;
  f.bytes = bytes;
  return f;
}

void check_shared_piece(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, unsigned lane, uint32_t bytes,
                        Access access) {
  uint32_t offsets[kLanes];
  offsets[lane] = offset;
  check_shared(w, in, owner, offsets, 1u << lane, bytes, access, Order());
}

void forget_shared(Cta& owner, uint32_t offset, uint32_t bytes) {
  SharedShadow& s = owner.shadow;
  ++s.changes;
  if (s.initialisation) std::memset(&s.written[offset >> s.shift], 0, bytes >> s.shift);
}

// ---- mbarriers -------------------------------------------------------------------------------------------

void order_init(Warp& w, Mbarrier& b, unsigned lane) {
  b.agent = w.agent;
  b.lane = lane;
  b.clock = orders(w) ? clocks_of(w).own(w.agent) : 0;
}

void check_mbarrier_use(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset,
                        const Mbarrier& b) {
  if (!orders(w) || b.clock == 0) return;
  const ClusterClocks& clocks = clocks_of(w);
  const bool own_lane = b.agent == w.agent && b.lane == lane;
  const bool ordered = own_lane || clocks.knows(w.agent, 1u << lane, b.agent, b.clock, b.lane, false);
  // A fence of initialisations makes a barrier of the cluster enough that orders nothing else.
  if (ordered || (b.fenced && w.cta->cluster->barrier.phase > b.fenced_phase)) return;
  Finding f = finding_at(w, in, lane, Kind::UnorderedInit, owner, offset, kMbarrierBytes);
  f.other = site_of_agent(w, b.agent, b.lane, b.clock, b.instruction, true);
  f.note = &owner == w.cta ? "no barrier orders its mbarrier.init before this"
                           : "no barrier of the cluster, with fence.mbarrier_init or a release, orders its "
                             "mbarrier.init before this";
  report(w, f);
}

void order_arrive(Warp& w, const Instruction& in, unsigned lane, Cta& owner, Mbarrier& b, bool releases) {
  if (!orders(w)) return;
  const bool remote = &owner != w.cta;
  const bool cluster = static_cast<const AccessPlan*>(in.plan)->order.scope >= Scope::Cluster;
  if (remote) b.remote_at[cluster] = in.index;
  ClockVector& into = remote ? b.remote[cluster] : b.clocks;
  if (releases) {
    clocks_of(w).release(w.agent, 1u << lane, w.live, into);
    return;
  }
  clocks_of(w).release_causes(w.agent, b.causes);
  clocks_of(w).release_ended(w.agent, 1u << lane, into);
  release_fenced(w, 1u << lane, remote ? Scope::Cluster : Scope::Cta, into);
}

namespace {

// What other CTAs' arrivals released is for who waits at the cluster's scope, and only if they arrived at it.
void learn_remote(Warp& w, const Instruction& in, uint32_t mask, Mbarrier& b, Order order) {
  for (const bool cluster : {false, true}) {
    const ClockVector& all = b.remote_released[cluster];
    const ClockVector ended = order.acquire ? ClockVector() : clocks_of(w).only_ended(all);
    const ClockVector& released = order.acquire ? all : ended;
    if (cluster && order.scope >= Scope::Cluster) {
      clocks_of(w).acquire(w.agent, mask, w.live, released);
      if (!order.acquire) observe_relaxed(w, in, mask, Scope::Cluster, all);
      continue;
    }
    if (released.empty()) continue;
    auto known = std::make_shared<Clusters>();
    known->emplace_back(w.cta->cluster->linear,
                        Snapshot{clocks_of(w).generation(), std::make_shared<ClockVector>(released)});
    w.worker->launch->global_order.miss(
        {b.remote_at[cluster], in.index, cluster ? Scope::Cluster : Scope::Cta, order.scope, std::move(known)});
  }
}

// A test whose result nothing uses may as well have failed, unless its warp knew before that the phase is complete.
void miss_ignored(Warp& w, const Instruction& in, const Mbarrier& b) {
  ClockVector released = b.released;
  for (const ClockVector& remote : b.remote_released) released.join(remote);
  auto known = std::make_shared<Clusters>();
  known->emplace_back(w.cta->cluster->linear,
                      Snapshot{clocks_of(w).generation(), std::make_shared<ClockVector>(std::move(released))});
  w.worker->launch->global_order.miss({kNone, in.index, Scope::Cta, Scope::Cta, std::move(known)});
}

}  // namespace

void observe_phase(Warp& w, const Instruction& in, uint32_t mask, Mbarrier& b, uint64_t phase) {
  if (program_of(w).ignores_test(in)) {
    const auto found = b.observed.find(w.agent);
    if (orders(w) && (found == b.observed.end() || found->second.phases < phase + 1)) {
      miss_ignored(w, in, b);
      return;
    }
  }
  b.seen = std::max(b.seen, phase + 1);
  if (!orders(w)) return;
  Observation& observed = b.observed[w.agent];
  const uint64_t phases = std::max(observed.phases, phase + 1);
  observed = {phases, tests_parity(in) ? clocks_of(w).own(w.agent) : 0, static_cast<uint32_t>(__builtin_ctz(mask)), in.index};
  const Order order = static_cast<const AccessPlan*>(in.plan)->order;
  if (phase + 1 == 0) return;
  for (const ClockVector* known : {&b.released, &b.causes_released, &b.remote_released[0], &b.remote_released[1]}) {
    clocks_of(w).acquire_causes(w.agent, *known);
  }
  if (order.acquire) {
    clocks_of(w).acquire(w.agent, mask, w.live, b.released);
  } else {
    clocks_of(w).acquire_ended(w.agent, mask, w.live, b.released);
    observe_relaxed(w, in, mask, Scope::Cta, b.released);
  }
  learn_remote(w, in, mask, b, order);
}

void check_overtaken(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, const Mbarrier& b) {
  if (!orders(w) || !clocks_of(w).asynchronous()) return;
  for (const auto& [agent, seen] : b.observed) {
    if (seen.phases != b.phase || seen.clock == 0) continue;
    const uint32_t column = clocks_of(w).column(agent, Known::Cause);
    const uint32_t known = std::max({b.clocks.at(column), b.causes.at(column), b.remote[0].at(column), b.remote[1].at(column)});
    if (known >= seen.clock) continue;
    Finding f = finding_at(w, in, lane, Kind::PhaseOverrun, owner, offset, kMbarrierBytes);
    f.other = f.site;
    f.other.store = true;
    f.site = site_of_agent(w, agent, seen.lane, seen.clock, seen.instruction, false);
    const std::string wait = b.phase == 0 ? "for the phase before the first"
                                          : "for the end of phase " + std::to_string(b.phase - 1);
    f.note = "nothing orders this wait " + wait + " before the end of phase " + std::to_string(b.phase) +
             ", after which the parity is that of phase " + std::to_string(b.phase + 1);
    report(w, f);
  }
}

void check_invalidation(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, const Mbarrier& b) {
  if (!orders(w)) return;
  for (const auto& [agent, seen] : b.observed) {
    const bool own = agent == w.agent && seen.lane == lane;
    if (own || seen.clock == 0 || clocks_of(w).knows(w.agent, 1u << lane, agent, seen.clock, seen.lane, false)) continue;
    Finding f = finding_at(w, in, lane, Kind::SharedRace, owner, offset, kMbarrierBytes);
    f.site.store = true;
    f.other = site_of_agent(w, agent, seen.lane, seen.clock, seen.instruction, false);
    f.note = "nothing orders a test of the mbarrier before its invalidation";
    report(w, f);
  }
}

// A thread that has seen `observed` phases end asks for the end of the next. If two more have ended meanwhile,
// and it knows of none of them, its parity means another phase than it thinks.
void check_overrun(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b,
                   uint64_t phase) {
  if (!orders(w)) return;
  const auto found = b.observed.find(w.agent);
  const uint64_t observed = found == b.observed.end() ? 0 : found->second.phases;
  if (phase < observed + 2 || (phase - observed) % 2 != 0 || covers(clocks_of(w), w.agent, b.released)) return;
  Finding f = finding_at(w, in, lane, Kind::PhaseOverrun, owner, offset, kMbarrierBytes);
  f.note = "the thread waits for the end of phase " + std::to_string(observed) +
           "; the mbarrier is in phase " + std::to_string(b.phase) + ", which has the same parity";
  report(w, f);
}

bool check_not_mbarrier(Warp& w, const Instruction& in, const Cta& owner, uint32_t offset, uint32_t length,
                        unsigned lane, bool store) {
  const auto next = owner.mbarriers.upper_bound(offset + length - 1);
  if (next == owner.mbarriers.begin()) return true;
  const uint32_t at = std::prev(next)->first;
  if (at + kMbarrierBytes <= offset) return true;
  Finding f = finding_at(w, in, lane, Kind::MbarrierAccess, owner, at, kMbarrierBytes);
  f.site.store = store;
  f.note = "an mbarrier is here until mbarrier.inval, and only mbarrier instructions may touch it";
  report(w, f);
  return false;
}

// ---- Operations ------------------------------------------------------------------------------------------

void order_issue(Warp& w, unsigned lane, Operation& op) {
  op.reduces = op.update != nullptr;
  if (!orders(w)) return;
  Cluster& c = *w.cta->cluster;
  bool full;
  std::tie(op.agent, op.clock) = c.clocks.fork(w.agent, &full);
  if (full) {
    forget_history(c);
    std::tie(op.agent, op.clock) = c.clocks.fork(w.agent, &full);
  }
  if (op.grouping == Grouping::None && op.product == nullptr && op.tensor == nullptr) {
    c.clocks.release_causes(w.agent, op.causes);
  }
  const uint32_t fork = op.agent - c.clocks.warps();
  if (c.issuers.size() <= fork) c.issuers.resize(fork + 1);
  c.issuers[fork] = {op.clock, w.index, lane, w.cta->linear};
}

std::shared_ptr<const History> order_history(Warp& w, uint32_t mask) {
  if (!orders(w)) return nullptr;
  auto history = std::make_shared<History>();
  clocks_of(w).release(w.agent, mask, w.live, history->known);
  return history;
}

void check_copy_global(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, uint32_t bytes, unsigned lane,
                       bool store, bool async_proxy, Operation& op) {
  if (buffer.watched) note_visit(w, in, address, bytes, lane, store);
  if (buffer.stores == nullptr) return;
  if (async_proxy) check_global_proxies(w, in, buffer, address, bytes, lane, store);
  const Access access = !store ? Access::Load : op.reduces ? Access::Atomic : Access::Store;
  check_global(w, in, buffer, address, lane, bytes, access, Order{op.reduces, false, false, Scope::Gpu}, &op, false);
}

void order_copies(Warp& w, uint32_t mask, Operation& arrival) {
  if (!orders(w)) return;
  clocks_of(w).release_causes(w.agent, arrival.causes);
  for (const OperationPointer& op : w.copies) {
    if (op->grouping != Grouping::Copies || (op->mask & mask) == 0) continue;
    if (op->clock == 0) continue;
    for (const uint32_t column : {op->agent, clocks_of(w).column(op->agent, Known::GlobalProxy)}) {
      arrival.copies.push_back({column, op->clock, op->mask & mask, op->mask});
    }
  }
}

namespace {

// st.async, red.async and cp.async are of the generic proxy.
bool of_async_proxy(const Operation& op) {
  return op.grouping != Grouping::Copies && (op.history == nullptr || op.tensor != nullptr);
}

}  // namespace

void order_signal(const Operation& op, Mbarrier& b) {
  if (op.clock != 0) b.clocks.join(clocks_of(*op.warp).ended(op.agent, op.clock, false, of_async_proxy(op)));
  if (op.history != nullptr) b.clocks.join(op.history->known);
  b.causes.join(op.causes);
  for (const LanePart& part : op.copies) b.clocks.learn_lanes(part);
}

namespace {

// Each lane waits for what it has copied itself; what of it other lanes have copied is known once they have met.
void learn_waited(Warp& w, const Operation& op, uint32_t lanes, bool reads) {
  ClusterClocks& clocks = clocks_of(w);
  ClockVector known = clocks.ended(op.agent, op.clock, reads, of_async_proxy(op));
  if (op.grouping == Grouping::Copies && (op.mask & (op.mask - 1)) != 0) {
    clocks.wait_for_own(w.agent, {op.agent, op.clock, lanes, op.mask});
    known.clocks.clear();
  }
  clocks.acquire(w.agent, lanes, w.live, known);
}

}  // namespace

void order_waited(Warp& w, uint32_t mask, Grouping grouping, uint32_t but, bool reads) {
  const uint32_t* committed = grouping == Grouping::Bulk ? w.bulk_groups : w.copy_groups;
  for (OperationPointer& op : w.copies) {
    if (op->grouping != grouping) continue;
    uint32_t waited = 0;
    for (uint32_t rest = op->mask & mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
      if (static_cast<uint64_t>(op->group) + but < committed[lane]) waited |= 1u << lane;
    }
    if (waited == 0) continue;
    op->source_waited = true;
    if (orders(w) && op->clock != 0) learn_waited(w, *op, waited, reads);
    if (reads) continue;
    op->waited |= waited;
  }
  w.copies.erase(std::remove_if(w.copies.begin(), w.copies.end(),
                                [](const OperationPointer& op) { return (op->mask & ~op->waited) == 0; }),
                 w.copies.end());
}

void order_proxies(Warp& w, uint32_t mask, Known kind) {
  if (!orders(w)) return;
  if (clocks_of(w).asynchronous()) clocks_of(w).fence_proxies(w.agent, mask, w.live, kind);
  order_tick(w);
}

void order_inits(Warp& w) {
  if (!orders(w)) return;
  const ClusterClocks& clocks = clocks_of(w);
  for (auto& [offset, b] : w.cta->mbarriers) {
    if (b.fenced || b.clock > clocks.reach(w.agent, b.agent)) continue;
    b.fenced = true;
    b.fenced_phase = w.cta->cluster->barrier.phase;
  }
}

void forget_operations(Cluster& c) {
  c.issuers.assign(c.issuers.size(), Issuer());
  for (Cta& cta : c.ctas) cta.sent.clear();
  const auto forget = [](Operation& op) {
    op.clock = 0;
    op.copies.clear();
    op.history.reset();
    op.causes.clear();
  };
  for (const OperationPointer& op : c.operations) forget(*op);
  for (Cta& cta : c.ctas) {
    for (Warp& w : cta.warps) {
      for (const OperationPointer& op : w.copies) forget(*op);
      for (const Pending& p : w.products) forget(*p.operation);
      w.product_place = {0, 0};
    }
    forget_tensor(cta);
    for (auto& [offset, b] : cta.mbarriers) {
      b.clocks.clear();
      b.released.clear();
      b.causes.clear();
      b.causes_released.clear();
      b.observed.clear();
      for (int i = 0; i < 2; ++i) {
        b.remote[i].clear();
        b.remote_released[i].clear();
      }
      b.clock = 0;
    }
  }
}

}  // namespace pyptx::emulator
