// What is ordered before what: vector clocks within a cluster, segments of CTAs across the grid, and the events that
// move them on.
#include "sanitizer.h"

#include <algorithm>

#include "shadow_cells.h"

namespace pyptx::emulator {

void ClusterClocks::reset(uint32_t warps, bool asynchronous) {
  const uint32_t agents = warps + (asynchronous ? kForks : 0);
  const bool fits = warps != 0 && agents <= kMaxAgents;
  warps_ = fits ? warps : 0;
  agents_ = fits ? agents : 0;
  width_ = asynchronous ? 2 * agents_ : agents_;
  clocks_.assign(static_cast<size_t>(warps_) * width_, 0);
  for (uint32_t a = 0; a < warps_; ++a) clocks_[static_cast<size_t>(a) * width_ + a] = 1;
  forked_.assign(asynchronous ? kForks : 0, 0);
  next_fork_ = 0;
  fenced_.assign(agents_, {});
  observed_.assign(agents_, {});
  published_.clear();
}

namespace {

void join(std::vector<uint32_t>& into, const uint32_t* from, size_t size) {
  if (into.size() < size) into.resize(size, 0);
  for (size_t i = 0; i < size; ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

void ClusterClocks::join_into(std::vector<uint32_t>& into, uint32_t agent) const { join(into, of(agent), width_); }

void ClusterClocks::join_from(uint32_t agent, const std::vector<uint32_t>& from) {
  uint32_t* to = &clocks_[static_cast<size_t>(agent) * width_];
  for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

void ClusterClocks::join_one(uint32_t agent, uint32_t other, uint32_t clock) {
  uint32_t& known = clocks_[static_cast<size_t>(agent) * width_ + other];
  known = std::max(known, clock);
}

bool ClusterClocks::tick(uint32_t agent) {
  return ++clocks_[static_cast<size_t>(agent) * width_ + agent] >= kMaxClock;
}

std::pair<uint32_t, uint32_t> ClusterClocks::fork(bool* full) {
  const uint32_t fork = next_fork_;
  next_fork_ = fork + 1 == kForks ? 0 : fork + 1;
  *full = ++forked_[fork] >= kMaxClock;
  return {warps_ + fork, forked_[fork]};
}

void ClusterClocks::fence_proxies(uint32_t agent) {
  uint32_t* row = &clocks_[static_cast<size_t>(agent) * width_];
  for (uint32_t i = 0; i < agents_; ++i) row[agents_ + i] = std::max(row[agents_ + i], row[i]);
}

void ClusterClocks::fence(uint32_t agent) {
  join_from(agent, observed_[agent]);
  observed_[agent].clear();
  fenced_[agent].assign(of(agent), of(agent) + width_);
}

void ClusterClocks::publish(uint32_t agent, uint64_t address, Order order) {
  if (order.release) join(published_[address], of(agent), width_);
  else if (!fenced_[agent].empty()) join(published_[address], fenced_[agent].data(), width_);
}

void ClusterClocks::observe(uint32_t agent, uint64_t address, Order order) {
  const auto found = published_.find(address);
  if (found == published_.end()) return;
  if (order.acquire) join_from(agent, found->second);
  else join(observed_[agent], found->second.data(), width_);
}

namespace {

// Beyond these, segments are no longer told apart, which loses races and invents none.
constexpr uint64_t kMaxCtas = 1u << 30, kMaxExtra = 1u << 20;

}  // namespace

uint64_t GlobalClocks::segments_for(uint64_t ctas) { return std::min(ctas, kMaxCtas) + kMaxExtra; }

void GlobalClocks::reset(uint64_t ctas, uint32_t base, bool parallel) {
  base_ = base;
  parallel_ = parallel;
  ctas_ = std::min(ctas, kMaxCtas);
  extra_.clear();
  published_.clear();
}

void GlobalClocks::start(GlobalAgent& agent, uint64_t cta) const {
  agent = GlobalAgent();
  agent.cta = cta;
  agent.segment = base_ + static_cast<uint32_t>(std::min(cta + 1, ctas_));
}

namespace {

void join(Known& into, const Known& from) {
  for (const auto& [cta, count] : from) {
    uint32_t& known = into[cta];
    known = std::max(known, count);
  }
}

void join_self(Known& into, const GlobalAgent& agent) {
  uint32_t& known = into[agent.cta];
  known = std::max(known, agent.count + 1);
}

}  // namespace

// Which CTAs' accesses are no longer told apart depends on who came first, unless one thread runs.
void GlobalClocks::used_up() const {
  if (parallel_) throw Conflict();
}

void GlobalClocks::end_segment(GlobalAgent& agent) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (extra_.size() >= kMaxExtra) {
    used_up();
    return;
  }
  ++agent.count;
  extra_.emplace_back(agent.cta, agent.count);
  agent.segment = base_ + static_cast<uint32_t>(ctas_ + extra_.size());
}

std::pair<uint64_t, uint32_t> GlobalClocks::fork(GlobalAgent& agent, uint32_t* segment) {
  const std::lock_guard<std::mutex> lock(mutex_);
  *segment = agent.segment;
  if (extra_.size() >= kMaxExtra) {
    used_up();
    return {0, 0};
  }
  const uint64_t fork = agent.cta | kForkedAgent;
  extra_.emplace_back(fork, agent.forks);
  *segment = base_ + static_cast<uint32_t>(ctas_ + extra_.size());
  return {fork, agent.forks++};
}

void GlobalClocks::learn(Known& known, uint64_t agent, uint32_t count) {
  if (agent == 0) return;
  uint32_t& k = known[agent];
  k = std::max(k, count + 1);
}

void GlobalClocks::acquire(GlobalAgent& agent, const Known& from) { emulator::join(agent.known, from); }

void GlobalClocks::release(Known& into, GlobalAgent& agent) {
  emulator::join(into, agent.known);
  join_self(into, agent);
  end_segment(agent);
}

void GlobalClocks::fence(GlobalAgent& agent) {
  emulator::join(agent.known, agent.observed);
  agent.observed.clear();
  agent.fenced = agent.known;
  join_self(agent.fenced, agent);
  agent.has_fenced = true;
  end_segment(agent);
}

void GlobalClocks::publish(GlobalAgent& agent, uint64_t address, Order order) {
  if (!order.release && !agent.has_fenced) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Known& published = published_[address];
    emulator::join(published, order.release ? agent.known : agent.fenced);
    if (order.release) join_self(published, agent);
    any_published_.store(true, std::memory_order_release);
  }
  if (order.release) end_segment(agent);
}

void GlobalClocks::observe(GlobalAgent& agent, uint64_t address, Order order) {
  if (!any_published_.load(std::memory_order_acquire)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = published_.find(address);
  if (found != published_.end()) emulator::join(order.acquire ? agent.known : agent.observed, found->second);
}

void GlobalClocks::join(GlobalAgent& into, GlobalAgent& from) {
  emulator::join(into.known, from.known);
  join_self(into.known, from);
}

std::pair<uint64_t, uint32_t> GlobalClocks::place_of(uint32_t segment) {
  const uint64_t index = segment - base_ - 1;
  if (index < ctas_) return {index, 0};
  const std::lock_guard<std::mutex> lock(mutex_);
  return extra_[index - ctas_];
}

uint64_t GlobalClocks::cta_of(uint32_t segment) { return place_of(segment).first & ~kForkedAgent; }

bool GlobalClocks::ordered(const GlobalAgent& agent, uint32_t segment) {
  const auto [cta, count] = place_of(segment);
  if (cta == agent.cta) return true;
  const auto known = agent.known.find(cta);
  return known != agent.known.end() && known->second > count;
}

void GlobalClocks::fence_proxies(GlobalAgent& agent, uint64_t kind) {
  Known fenced;
  for (const auto& [cta, count] : agent.known) {
    if ((cta & (kForkedAgent | kFencedAgent | kReleasedAgent)) == 0) fenced[cta | kind] = count;
  }
  fenced[agent.cta | kind] = agent.count + 1;
  emulator::join(agent.known, fenced);
  end_segment(agent);
}

bool GlobalClocks::fenced(const GlobalAgent& agent, uint32_t segment, uint64_t kind) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (extra_.size() >= kMaxExtra) return true;  // an operation's stores may count as its CTA's
  }
  const auto [cta, count] = place_of(segment);
  if ((cta & kForkedAgent) != 0) return true;
  const auto known = agent.known.find(cta | kind);
  return known != agent.known.end() && known->second > count;
}

// ---- Order -----------------------------------------------------------------------------------------------

// Clocks are used up: all history is forgotten, which loses races with what lies before and invents none.
void forget_history(Cluster& c) {
  c.clocks.reset(c.clocks.warps(), c.clocks.asynchronous());
  for (Cta& cta : c.ctas) {
    std::fill(cta.shadow.stores.begin(), cta.shadow.stores.end(), 0);
    std::fill(cta.shadow.loads.begin(), cta.shadow.loads.end(), 0);
    cta.shadow.readers.clear();
    cta.shadow.free_readers.clear();
    for (Barrier& b : cta.barriers) b.clocks.clear();
    forget_visits(cta);
  }
  c.barrier.clocks.clear();
  c.barrier.released.clear();
  forget_operations(c);
}

namespace {

void tick(Warp& w) {
  Cluster& c = *w.cta->cluster;
  if (c.clocks.tick(w.agent)) forget_history(c);
}

bool orders(const Warp& w) { return w.cta->cluster->clocks.active(); }

}  // namespace

void order_warp(Warp& w) {
  if (orders(w)) tick(w);
}

void order_arrive(Warp& w, std::vector<uint32_t>& into) {
  if (!orders(w)) return;
  w.cta->cluster->clocks.join_into(into, w.agent);
  tick(w);
}

void order_leave(Warp& w, const std::vector<uint32_t>& from) {
  if (orders(w)) w.cta->cluster->clocks.join_from(w.agent, from);
}

void order_fence(Warp& w) {
  if (orders(w)) {
    w.cta->cluster->clocks.fence(w.agent);
    tick(w);
  }
  if (w.worker->launch->races) w.worker->launch->global_clocks.fence(w.cta->global);
}

void order_access(Warp& w, bool global, uint64_t address, Access access, Order order) {
  if (!w.worker->launch->races || !order.strong) return;
  ClusterClocks& clocks = w.cta->cluster->clocks;
  // Global addresses are host addresses; shared ones get a tag, so that the two never meet.
  const uint64_t key = global ? address : address | kSharedWindow;
  if (clocks.active()) {
    if (access != Access::Store) clocks.observe(w.agent, key, order);
    if (access != Access::Load) {
      clocks.publish(w.agent, key, order);
      if (order.release) tick(w);
    }
  }
  if (!global) return;
  GlobalClocks& globals = w.worker->launch->global_clocks;
  if (access != Access::Store) globals.observe(w.cta->global, address, order);
  if (access != Access::Load) globals.publish(w.cta->global, address, order);
}

}  // namespace pyptx::emulator
