// What is ordered before what: vector clocks within a cluster, what clusters publish in global memory, and the events
// that move them on.
#include "clocks.h"

#include <algorithm>
#include <numeric>

#include "machine/warp.h"
#include "semantics/access.h"
#include "shadow_cells.h"

namespace pyptx::emulator {

const char* name_of(Scope scope) {
  static constexpr const char* kNames[] = {".cta", ".cluster", ".gpu", ".sys"};
  return kNames[static_cast<int>(scope)];
}

// ---- Within a cluster ------------------------------------------------------------------------------------

void ClusterClocks::reset(uint32_t warps, bool asynchronous) {
  const uint32_t forks = asynchronous ? kFirstForks : 0, agents = warps + forks;
  const bool fits = warps != 0 && agents <= kMaxAgents;
  warps_ = fits ? warps : 0;
  agents_ = fits ? agents : 0;
  asynchronous_ = asynchronous;
  generation_ = 0;
  rows_.resize(warps_);
  forked_.resize(fits ? forks : 0);
  turns_.resize(forked_.size());
  std::iota(turns_.begin(), turns_.end(), 0);
  restart();
  generation_ = 0;
}

void ClusterClocks::restart() {
  ++generation_;
  for (uint32_t a = 0; a < warps_; ++a) {
    Row& row = rows_[a];
    row.known.clocks.assign(agents_, 0);
    row.known.proxies.assign(asynchronous_ ? kProxyKinds * warps_ + kOperationKinds * forked_.size() : 0, 0);
    row.known.lanes.clear();
    row.known.others.reset();
    row.known.forget_sequential();
    row.own = 1;
    row.together = 0;
    row.broadcast = false;
    row.extras.clear();
    row.copies.clear();
    row.fenced.clear();
    row.observed.clear();
  }
  std::fill(forked_.begin(), forked_.end(), 0);
}

uint32_t ClusterClocks::reach(uint32_t agent, uint32_t column) const {
  if (column == agent) return rows_[agent].own;
  uint32_t clock = rows_[agent].known.reach(column);
  for (const Extra& e : rows_[agent].extras) clock = std::max(clock, e.known.reach(column));
  for (const LanePart& p : rows_[agent].copies) {
    if (p.column == column) clock = std::max(clock, p.clock);
  }
  return clock;
}

bool ClusterClocks::knows(uint32_t agent, uint32_t mask, uint32_t column, uint32_t clock, uint32_t lane,
                          bool every_lane) const {
  const Row& row = rows_[agent];
  if (row.known.covers(column, clock, lane, every_lane)) return true;
  uint32_t rest = mask;  // lanes that may know it by themselves
  for (const Extra& e : row.extras) {
    if (e.known.covers(column, clock, lane, every_lane)) rest &= ~e.mask;
    if (rest == 0) return true;
  }
  if (every_lane || mask != 1u << lane) return false;
  return std::any_of(row.copies.begin(), row.copies.end(), [=](const LanePart& p) {
    return p.column == column && p.clock >= clock && (p.mask >> lane & 1u) != 0;
  });
}

bool ClusterClocks::knows(uint32_t agent, uint32_t mask, const Touch& other) const {
  const auto covered = [&](const ClockVector& known) {
    const Snapshot* s = find_cluster(known.others, other.cluster);
    if (s == nullptr || s->generation < other.generation) return false;
    return s->generation > other.generation ||
           s->clocks->covers(other.column, other.clock, other.lane, other.every_lane);
  };
  const Row& row = rows_[agent];
  if (covered(row.known)) return true;
  uint32_t rest = mask;
  for (const Extra& e : row.extras) {
    if (covered(e.known)) rest &= ~e.mask;
    if (rest == 0) return true;
  }
  return false;
}

bool ClusterClocks::waited(uint32_t agent, uint32_t fork) const {
  const uint32_t column = warps_ + fork, clock = forked_[fork];
  if (clock == 0 || reach(agent, column) >= clock) return true;
  for (uint32_t a = 0; a < warps_; ++a) {
    if (reach(a, column) >= clock) return true;
  }
  return false;
}

uint32_t ClusterClocks::free_fork(uint32_t agent) {
  // A few that nobody ever waits for must not be all that is looked at.
  constexpr size_t kLooks = 8;
  for (size_t i = 0; i < std::min(kLooks, turns_.size()); ++i) {
    const uint32_t fork = turns_[i];
    if (!waited(agent, fork)) continue;
    turns_.erase(turns_.begin() + static_cast<ptrdiff_t>(i));
    return fork;
  }
  const auto fork = static_cast<uint32_t>(forked_.size());
  if (agents_ == kMaxAgents) {
    const uint32_t oldest = turns_.front();
    turns_.erase(turns_.begin());
    return oldest;
  }
  ++agents_;
  forked_.push_back(0);
  for (Row& row : rows_) {
    row.known.clocks.resize(agents_, 0);
    row.known.proxies.resize(kProxyKinds * warps_ + kOperationKinds * forked_.size(), 0);
  }
  return fork;
}

std::pair<uint32_t, uint32_t> ClusterClocks::fork(uint32_t agent, bool* full) {
  const uint32_t fork = free_fork(agent);
  turns_.push_back(fork);
  *full = ++forked_[fork] >= kMaxForkClock;
  return {warps_ + fork, forked_[fork]};
}

void ClusterClocks::fence_proxies(uint32_t agent, uint32_t mask, uint32_t live, Known kind) {
  Row& row = rows_[agent];
  const uint32_t first = column(0, kind);
  uint32_t* proxied = &row.known.proxies[first - kProxyColumns];
  for (uint32_t i = 0; i < warps_; ++i) proxied[i] = std::max(proxied[i], row.known.clocks[i]);
  // Of its own warp a lane's own stores, and those of other lanes that it knows of.
  row.known.learn_lanes({first + agent, row.own, mask & live, live});
  std::vector<LanePart> more;
  const auto fenced = [&](const LanePart& p) {
    if (p.column < warps_) more.push_back({first + p.column, p.clock, p.mask, p.whole});
  };
  for (const LanePart& p : row.known.lanes) fenced(p);
  for (const Extra& e : row.extras) {
    if ((e.mask & mask) == 0) continue;
    for (const LanePart& p : e.known.lanes) fenced(p);
    for (uint32_t i = 0; i < warps_; ++i) proxied[i] = std::max(proxied[i], e.known.at(i));
  }
  for (const LanePart& p : more) row.known.learn_lanes(p);
  if (kind == Known::SharedProxy) return;
  row.known.others = join(row.known.others, fenced_of(row.known.others, kind));
  for (Extra& e : row.extras) {
    if ((e.mask & mask) != 0) e.known.others = join(e.known.others, fenced_of(e.known.others, kind));
  }
}

// What threads of other clusters did, as what a fence of proxies comes after.
ClustersPointer ClusterClocks::fenced_of(const ClustersPointer& others, Known kind) const {
  if (others == nullptr) return nullptr;
  auto fenced = std::make_shared<Clusters>();
  fenced->reserve(others->size());
  for (const auto& [cluster, snapshot] : *others) {
    auto known = std::make_shared<ClockVector>();
    for (uint32_t a = warps_; a-- > 0;) known->learn(column(a, kind), snapshot.clocks->at(a));
    for (const LanePart& p : snapshot.clocks->lanes) {
      if (p.column < warps_) known->learn_lanes({column(p.column, kind), p.clock, p.mask, p.whole});
    }
    fenced->emplace_back(cluster, Snapshot{snapshot.generation, std::move(known)});
  }
  return fenced;
}

void ClusterClocks::release(uint32_t agent, uint32_t mask, uint32_t live, ClockVector& into) const {
  release_known(agent, mask, into);
  release_own(agent, mask, live, into);
  for (const Fenced& f : rows_[agent].fenced) {
    if (f.sequential && (f.mask & mask) != 0) into.fenced[f.wide()] = join(into.fenced[f.wide()], f.of(agent, mask));
  }
}

void ClusterClocks::release_known(uint32_t agent, uint32_t mask, ClockVector& into) const {
  const Row& row = rows_[agent];
  into.join(row.known);
  for (const Extra& e : row.extras) {
    if ((e.mask & mask) != 0) into.join(e.known);
  }
  for (const LanePart& p : row.copies) {
    if ((p.mask & mask) != 0) into.learn_lanes({p.column, p.clock, p.mask & mask, p.whole});
  }
}

void ClusterClocks::release_own(uint32_t agent, uint32_t mask, uint32_t live, ClockVector& into) const {
  const uint32_t own = rows_[agent].own;
  // Of what its own warp did, lanes release what they did themselves and what they have met.
  if (mask != 0) into.learn_lanes({agent, own, mask & live, live});
  if (asynchronous_) into.learn(column(agent, Known::Cause), own);
}

uint32_t ClusterClocks::alike_lanes(uint32_t agent, uint32_t lanes) const {
  const Row& row = rows_[agent];
  const uint32_t first = lanes & (~lanes + 1);
  const auto keep = [&](uint32_t mask) { lanes &= (mask & first) != 0 ? mask : ~mask; };
  for (const Extra& e : row.extras) keep(e.mask);
  if (!row.copies.empty()) lanes = first;
  return lanes;
}

ClustersPointer ClusterClocks::fenced_before(uint32_t agent, uint32_t mask, bool wide) const {
  const Row& row = rows_[agent];
  ClustersPointer fenced = row.known.fenced[wide];
  for (const Extra& e : row.extras) {
    if ((e.mask & mask) != 0) fenced = join(fenced, e.known.fenced[wide]);
  }
  for (const Fenced& f : row.fenced) {
    if (f.sequential && f.wide() == wide && (f.mask & mask) != 0) fenced = join(fenced, f.of(agent, mask));
  }
  return fenced;
}

std::vector<std::pair<uint32_t, ClustersPointer>> ClusterClocks::told(uint32_t agent, uint32_t mask, bool wide) const {
  const Row& row = rows_[agent];
  std::vector<std::pair<uint32_t, ClustersPointer>> all;
  if (row.known.told[wide] != nullptr) all.emplace_back(mask, row.known.told[wide]);
  for (const Extra& e : row.extras) {
    if ((e.mask & mask) != 0 && e.known.told[wide] != nullptr) all.emplace_back(e.mask & mask, e.known.told[wide]);
  }
  return all;
}

void ClusterClocks::release_causes(uint32_t agent, ClockVector& into) const {
  if (!asynchronous_) return;
  const Row& row = rows_[agent];
  const auto join = [&](const ClockVector& known) {
    for (uint32_t a = warps_; a-- > 0;) into.learn(column(a, Known::Cause), known.at(column(a, Known::Cause)));
  };
  join(row.known);
  for (const Extra& e : row.extras) join(e.known);
  into.learn(column(agent, Known::Cause), row.own);
}

void ClusterClocks::acquire_causes(uint32_t agent, const ClockVector& from) {
  ClockVector& known = rows_[agent].known;
  if (column(0, Known::Cause) - kProxyColumns >= from.proxies.size()) return;
  for (uint32_t a = 0; a < warps_; ++a) known.learn(column(a, Known::Cause), from.at(column(a, Known::Cause)));
}

void ClusterClocks::acquire(uint32_t agent, uint32_t mask, uint32_t live, const ClockVector& from) {
  if (from.empty()) return;
  Row& row = rows_[agent];
  if ((mask & live) == live) {
    row.known.join(from);
    return;
  }
  const auto same = std::find_if(row.extras.begin(), row.extras.end(), [=](const Extra& e) { return e.mask == mask; });
  if (same != row.extras.end()) same->known.join(from);
  else row.extras.push_back({mask, from});
}

void ClusterClocks::wait_for_own(uint32_t agent, const LanePart& copies) {
  Row& row = rows_[agent];
  if (row.known.at(copies.column) >= copies.clock) return;
  LanePart now = copies;
  for (const LanePart& p : row.copies) {
    if (p.column == now.column && p.clock == now.clock) now.mask |= p.mask;
  }
  // Whoever knows of a clock knows of the earlier ones, so a loop that never meets keeps one part for each agent.
  const auto known = [&](const LanePart& p) {
    return p.column == now.column && p.clock <= now.clock && (p.mask & ~now.mask) == 0;
  };
  row.copies.erase(std::remove_if(row.copies.begin(), row.copies.end(), known), row.copies.end());
  row.copies.push_back(now);
}

bool ClusterClocks::waited_apart(uint32_t agent, uint32_t operation) const {
  const std::vector<LanePart>& copies = rows_[agent].copies;
  return std::any_of(copies.begin(), copies.end(), [=](const LanePart& p) { return p.column == operation; });
}

void ClusterClocks::release_ended(uint32_t agent, uint32_t mask, ClockVector& into) const {
  const Row& row = rows_[agent];
  into.join(only_ended(row.known));
  for (const Extra& e : row.extras) {
    if ((e.mask & mask) != 0) into.join(only_ended(e.known));
  }
}

void ClusterClocks::acquire_ended(uint32_t agent, uint32_t mask, uint32_t live, const ClockVector& from) {
  acquire(agent, mask, live, only_ended(from));
}

ClockVector ClusterClocks::only_ended(const ClockVector& from) const {
  ClockVector ended;
  for (uint32_t a = agents_; a-- > warps_;) {
    const uint32_t at = column(a, Known::Ended), clock = from.at(at);
    if (clock != 0) ended.learn(at, clock);
  }
  return ended;
}

ClockVector ClusterClocks::ended(uint32_t operation, uint32_t clock, bool reads, bool proxy) const {
  ClockVector known;
  known.learn(operation, clock);
  if (proxy) known.learn(column(operation, Known::Ended), clock);
  if (!reads) known.learn(column(operation, Known::GlobalProxy), clock);
  return known;
}

// What a vector says has happened, as what a fence.sc comes after.
std::shared_ptr<const ClockVector> ClusterClocks::sequential(const ClockVector& known) const {
  auto before = std::make_shared<ClockVector>();
  for (uint32_t a = warps_; a-- > 0;) {
    before->learn(column(a, Known::Sequential), std::max(known.reach(a), known.reach(column(a, Known::Sequential))));
  }
  return before;
}

ClustersPointer ClusterClocks::release_sequential(uint32_t agent, uint32_t mask, uint32_t live, uint64_t cluster) const {
  ClockVector own;
  release(agent, mask, live, own);
  auto others = std::make_shared<Clusters>();
  if (own.others != nullptr) {
    for (const auto& [other, snapshot] : *own.others) {
      if (other != cluster) others->emplace_back(other, Snapshot{snapshot.generation, sequential(*snapshot.clocks)});
    }
  }
  auto mine = std::make_shared<Clusters>();
  mine->emplace_back(cluster, Snapshot{generation(), sequential(own)});
  return join(others, mine);
}

void ClusterClocks::acquire_sequential(uint32_t agent, uint32_t mask, uint32_t live, uint64_t cluster,
                                       const ClustersPointer& known) {
  if (known == nullptr) return;
  const Snapshot* own = find_cluster(known, cluster);
  if (own != nullptr && own->generation == generation()) acquire(agent, mask, live, *own->clocks);
  ClockVector foreign;
  foreign.others = known;
  acquire(agent, mask, live, foreign);
}

bool ClusterClocks::may_know(uint32_t agent, uint64_t cluster, const Touch& other) const {
  const uint32_t sequential = column(other.column, Known::Sequential);
  if (other.cluster == cluster) {
    return other.generation != generation() || reach(agent, other.column) >= other.clock ||
           reach(agent, sequential) >= other.clock;
  }
  const auto covered = [&](const ClockVector& known) {
    const Snapshot* s = find_cluster(known.others, other.cluster);
    return s != nullptr && (s->generation > other.generation || s->clocks->reach(other.column) >= other.clock ||
                            s->clocks->reach(sequential) >= other.clock);
  };
  const Row& row = rows_[agent];
  return covered(row.known) ||
         std::any_of(row.extras.begin(), row.extras.end(), [&](const Extra& e) { return covered(e.known); });
}

void ClusterClocks::meet(uint32_t agent, uint32_t mask, uint32_t live) {
  Row& row = rows_[agent];
  if ((mask & live) != live) {
    ClockVector together;
    release(agent, mask, live, together);
    acquire(agent, mask, live, together);
    return;
  }
  for (const Extra& e : row.extras) row.known.join(e.known);
  for (const LanePart& p : row.copies) row.known.learn_lanes(p);
  row.extras.clear();
  row.copies.clear();
  row.known.learn(agent, row.own);
  for (Fenced& f : row.fenced) {
    if (!f.sequential) continue;
    row.known.fenced[f.wide()] = join(row.known.fenced[f.wide()], f.of(agent, f.mask));
    f.sequential = false;
  }
}

void ClusterClocks::hand_on(uint32_t agent, uint32_t from, uint32_t to, uint32_t live) {
  ClockVector acquired;
  for (const Extra& e : rows_[agent].extras) {
    if ((e.mask & from) != 0 && (to & ~e.mask) != 0) acquired.join(e.known);
  }
  for (const LanePart& p : rows_[agent].copies) {
    if ((p.mask & from) != 0) acquired.learn_lanes({p.column, p.clock, p.mask & from, p.whole});
  }
  if (acquired.empty()) return;
  const auto forget = [](std::vector<uint32_t>& clocks, uint32_t at) {
    if (at < clocks.size()) clocks[at] = 0;
  };
  forget(acquired.clocks, agent);
  for (uint32_t kind = 0; kind < kProxyKinds; ++kind) forget(acquired.proxies, kind * warps_ + agent);
  const auto own = [&](const LanePart& p) {
    const uint32_t proxy = p.column - kProxyColumns;
    return p.column < kProxyColumns ? p.column == agent : proxy < kProxyKinds * warps_ && proxy % warps_ == agent;
  };
  acquired.lanes.erase(std::remove_if(acquired.lanes.begin(), acquired.lanes.end(), own), acquired.lanes.end());
  acquire(agent, to, live, acquired);
}

bool ClusterClocks::tick(uint32_t agent) { return ++rows_[agent].own >= kMaxClock; }

// ---- Between clusters ------------------------------------------------------------------------------------

namespace {

// CTAs beyond these are not told apart.
constexpr uint64_t kMaxCtas = 1u << 30;

ClusterClocks& clocks_of(const Warp& w) { return w.cta->cluster->clocks; }

bool orders(const Warp& w) { return clocks_of(w).active(); }

}  // namespace

uint64_t GlobalOrder::segments_for(uint64_t ctas) { return std::min(ctas, kMaxCtas) + 1; }

void GlobalOrder::reset(uint64_t ctas, uint32_t base) {
  base_ = base;
  ctas_ = std::min(ctas, kMaxCtas);
  published.reset();
  misses_.clear();
}

uint32_t GlobalOrder::segment_of(uint64_t cta) const { return base_ + static_cast<uint32_t>(std::min(cta + 1, ctas_)); }

bool GlobalOrder::told_apart(uint32_t segment) const { return ctas_ < kMaxCtas || segment - base_ < kMaxCtas; }

void GlobalOrder::miss(Miss miss) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [found, added] = misses_.emplace(std::make_pair(miss.release, miss.acquire), miss);
  if (!added) found->second.known = join(found->second.known, miss.known);
}

GlobalOrder::Reason GlobalOrder::reason(const Warp& w, const Touch& other) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, miss] : misses_) {
    const Snapshot* s = find_cluster(miss.known, other.cluster);
    if (s == nullptr || s->generation != other.generation) continue;
    const bool ended = other.end_is_enough &&
                       s->clocks->at(clocks_of(w).column(other.column, Known::Ended)) >= other.clock;
    if (!ended && !s->clocks->covers(other.column, other.clock, other.lane, other.every_lane)) continue;
    const SourceTable table = source_of(program_of(w).hash);
    const bool ignored = miss.release == kNone, releases = !ignored && miss.release_scope < miss.acquire_scope;
    const uint32_t at = releases ? miss.release : miss.acquire;
    const std::string place = table.place(at);
    const std::string where = program_of(w).text[at] + " at " + (place.empty() ? "instruction " + std::to_string(at) : place);
    if (ignored) return {false, "nothing uses the result of " + where + ", so it orders nothing"};
    const Scope needed = other.cluster == w.cta->cluster->linear ? Scope::Cluster : Scope::Gpu;
    return {true, "the scope " + std::string(name_of(releases ? miss.release_scope : miss.acquire_scope)) + " of " + where +
                      " is too narrow to order the two; " + name_of(needed) + " is enough"};
  }
  return {false, ""};
}

// ---- Order -----------------------------------------------------------------------------------------------

// Clocks are used up: all history is forgotten, which loses races with what lies before and invents none.
void forget_history(Cluster& c) {
  c.worker->launch->older_values.store(false, std::memory_order_relaxed);
  c.clocks.restart();
  for (Cta& cta : c.ctas) {
    ++cta.shadow.changes;
    std::fill(cta.shadow.stores.begin(), cta.shadow.stores.end(), 0);
    std::fill(cta.shadow.loads.begin(), cta.shadow.loads.end(), 0);
    cta.shadow.strong.clear();
    for (Barrier& b : cta.barriers) b.clocks.clear();
    forget_visits(cta);
  }
  c.published.reset();
  c.barrier.clocks.clear();
  c.barrier.released.clear();
  forget_operations(c);
}

void order_tick(Warp& w) {
  if (!orders(w)) return;
  Cluster& c = *w.cta->cluster;
  if (c.clocks.tick(w.agent)) forget_history(c);
}

void order_warp(Warp& w, uint32_t mask) {
  if (!orders(w)) return;
  clocks_of(w).meet(w.agent, mask, w.live);
  order_tick(w);
}

void order_exchange(Warp& w, uint32_t from, uint32_t to) {
  if (orders(w) && clocks_of(w).apart(w.agent)) clocks_of(w).hand_on(w.agent, from, to, w.live);
}

void order_together(Warp& w, uint32_t mask) {
  if (!orders(w) || (mask & w.live) != w.live || !clocks_of(w).broadcast(w.agent)) return;
  order_tick(w);
  clocks_of(w).broadcast(w.agent) = false;
  clocks_of(w).together(w.agent) = clocks_of(w).own(w.agent);
}

void order_arrive(Warp& w, uint32_t mask, ClockVector& into) {
  if (!orders(w)) return;
  clocks_of(w).release(w.agent, mask, w.live, into);
  order_tick(w);
}

void order_relaxed(Warp& w, uint32_t mask, ClockVector& into) {
  if (!orders(w)) return;
  clocks_of(w).release_causes(w.agent, into);
  clocks_of(w).release_ended(w.agent, mask, into);
  release_fenced(w, mask, Scope::Cluster, into);
}

void order_leave(Warp& w, uint32_t mask, const ClockVector& from) {
  if (orders(w)) clocks_of(w).acquire(w.agent, mask, w.live, from);
}

}  // namespace pyptx::emulator
