// Happens-before: what each warp of a cluster knows, and what travels between clusters through global memory.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clock_vector.h"
#include "touch.h"

namespace pyptx::emulator {

struct Warp;
struct Instruction;
enum class Access : uint8_t;

// What a column of a clock vector says of an agent: what it did, and what of it proxies may rely on. Of an operation, what
// it did in shared memory, and as GlobalProxy, in global memory; as Ended, that what it did in shared memory has been
// performed, whether or not what it wrote can be seen.
enum class Known : uint8_t {
  Done, SharedProxy, GlobalProxy, MapRelease,
  Cause,       // what came before in time, whether or not what it stored can be seen
  Sequential,  // what came before a fence.sc that the agent's own comes after
  Ended,       // of an operation of the asynchronous proxy alone
};
// Kinds of columns that a warp has besides Done; and that an operation has.
constexpr uint32_t kProxyKinds = 5, kOperationKinds = 2;
// Generations of clocks are counted up to this, and again from 0.
constexpr uint32_t kGenerations = 0x1ff;

// A release or an acquire by a fence: what it holds for which scope.
struct Fenced {
  uint32_t mask;
  Scope scope;
  uint32_t instruction;
  ClustersPointer known;
  // Of what is acquired: the narrowest scope that has who released it.
  Scope least = Scope::Cta;
  // Of a release. `known` lacks what its lanes did themselves, up to the clock `own`, unless that is 0.
  bool sequential = false;  // by fence.sc, since when the lanes have not met
  uint32_t own = 0, live = 0;
  uint64_t cluster = 0;

  bool wide() const { return scope >= Scope::Gpu; }
  // What it holds for what these lanes, of its warp, do next.
  ClustersPointer of(uint32_t agent, uint32_t lanes) const;
};

// Vector clocks of the warps of a cluster, and of its asynchronous operations. An operation takes over the agent of one
// whose end some warp has waited for; if there is none, there is a new agent. An agent's later operation counts as one
// after its earlier ones: once all agents are taken by operations under way, that loses races, and invents none.
//
// A warp's clock ends an epoch at each release. Its lanes know what the others did before the last time that all of them
// met (bar.warp.sync, or a barrier that they wait at together); what single lanes have learned is kept apart until then.
class ClusterClocks {
 public:
  void reset(uint32_t warps, bool asynchronous);
  // Clocks are used up: they start again, in another generation.
  void restart();
  bool active() const { return agents_ != 0; }
  bool asynchronous() const { return asynchronous_; }
  uint32_t warps() const { return warps_; }
  uint32_t agents() const { return agents_; }
  uint32_t generation() const { return generation_ & kGenerations; }
  // An operation has Done, GlobalProxy and Ended alone.
  uint32_t column(uint32_t agent, Known kind) const {
    if (kind == Known::Done) return agent;
    if (agent >= warps_) return global_column(warps_, agent - warps_) + (kind == Known::Ended ? 1 : 0);
    return kProxyColumns + (static_cast<uint32_t>(kind) - 1) * warps_ + agent;
  }
  // GlobalProxy of an operation's agent, the n-th of these, in any cluster of so many warps.
  static uint32_t global_column(uint32_t warps, uint32_t n) { return kProxyColumns + kProxyKinds * warps + kOperationKinds * n; }
  // What all lanes of a warp know.
  const uint32_t* of(uint32_t agent) const { return rows_[agent].known.clocks.data(); }
  const uint32_t* proxied(uint32_t agent) const { return rows_[agent].known.proxies.data(); }
  uint32_t own(uint32_t agent) const { return rows_[agent].own; }
  // Its lanes know of each other what they did before this clock.
  uint32_t synced(uint32_t agent) const { return of(agent)[agent] + 1; }
  // The latest clock of an agent that any lane of the warp knows of.
  uint32_t reach(uint32_t agent, uint32_t column) const;
  // Whether the lanes of `mask` know what a lane, or every lane, of an agent did at a clock.
  bool knows(uint32_t agent, uint32_t mask, uint32_t column, uint32_t clock, uint32_t lane, bool every_lane) const;
  // Whether all lanes of a warp know the same of all lanes of others.
  bool alike(uint32_t agent) const {
    const Row& row = rows_[agent];
    return row.extras.empty() && row.copies.empty() && row.known.lanes.empty();
  }
  // The same of another cluster.
  bool knows(uint32_t agent, uint32_t mask, const Touch& other) const;
  // A new operation of a warp: its agent, and its clock there. `full` says that clocks are used up.
  std::pair<uint32_t, uint32_t> fork(uint32_t agent, bool* full);
  void fence_proxies(uint32_t agent, uint32_t mask, uint32_t live, Known kind);
  // What lanes of a warp have done and know, into a vector; and the other way round.
  void release(uint32_t agent, uint32_t mask, uint32_t live, ClockVector& into) const;
  // The two parts of it.
  void release_known(uint32_t agent, uint32_t mask, ClockVector& into) const;
  void release_own(uint32_t agent, uint32_t mask, uint32_t live, ClockVector& into) const;
  // The first of some lanes, and those of them that have learned for themselves what it has.
  uint32_t alike_lanes(uint32_t agent, uint32_t lanes) const;
  // What came before a fence.sc that what lanes do next comes after; and what lanes have been told of others'.
  ClustersPointer fenced_before(uint32_t agent, uint32_t mask, bool wide) const;
  std::vector<std::pair<uint32_t, ClustersPointer>> told(uint32_t agent, uint32_t mask, bool wide) const;
  void acquire(uint32_t agent, uint32_t mask, uint32_t live, const ClockVector& from);
  // What lanes know at a fence.sc, as what came before it, and what those before theirs have come to.
  ClustersPointer release_sequential(uint32_t agent, uint32_t mask, uint32_t live, uint64_t cluster) const;
  void acquire_sequential(uint32_t agent, uint32_t mask, uint32_t live, uint64_t cluster, const ClustersPointer& known);
  // Whether any lane of the warp, in this cluster, may know what any lane of another thread's warp did, by what happens
  // before or by fence.sc.
  bool may_know(uint32_t agent, uint64_t cluster, const Touch& other) const;
  // Lanes of a warp have waited for their own copies of an operation, which other lanes have not: those of `whole` copied.
  void wait_for_own(uint32_t agent, const LanePart& copies);
  // Whether lanes have waited for an operation each for itself.
  bool waited_apart(uint32_t agent, uint32_t operation) const;
  // The same of causes alone.
  void release_causes(uint32_t agent, ClockVector& into) const;
  void acquire_causes(uint32_t agent, const ClockVector& from);
  // An operation has ended; where `reads` says so, only its part in shared memory. `proxy` says that its proxy is the
  // asynchronous one.
  ClockVector ended(uint32_t operation, uint32_t clock, bool reads, bool proxy) const;
  // The operations that lanes of a warp know to have ended, as a relaxed arrival tells of them, and a relaxed wait learns.
  void release_ended(uint32_t agent, uint32_t mask, ClockVector& into) const;
  void acquire_ended(uint32_t agent, uint32_t mask, uint32_t live, const ClockVector& from);
  ClockVector only_ended(const ClockVector& from) const;
  // Lanes of `to` get a value from lanes of `from`, and with it what these have acquired from other warps. What lanes of
  // the warp itself did is not part of it.
  void hand_on(uint32_t agent, uint32_t from, uint32_t to, uint32_t live);
  // Whether lanes of the warp have acquired something for themselves.
  bool apart(uint32_t agent) const { return !rows_[agent].extras.empty() || !rows_[agent].copies.empty(); }
  // Lanes of a warp meet; the caller ends the epoch.
  void meet(uint32_t agent, uint32_t mask, uint32_t live);
  // Ends the agent's epoch; returns true when clocks are used up and all history must be forgotten.
  bool tick(uint32_t agent);

  // All lanes executed one .sync instruction after what they did before this clock.
  uint32_t& together(uint32_t agent) { return rows_[agent].together; }
  uint32_t together(uint32_t agent) const { return rows_[agent].together; }
  // Lanes have loaded one place since all of them were last together.
  bool& broadcast(uint32_t agent) { return rows_[agent].broadcast; }

  std::vector<Fenced>& fenced(uint32_t agent) { return rows_[agent].fenced; }
  const std::vector<Fenced>& fenced(uint32_t agent) const { return rows_[agent].fenced; }
  std::vector<Fenced>& observed(uint32_t agent) { return rows_[agent].observed; }

 private:
  struct Extra {
    uint32_t mask;
    ClockVector known;
  };
  struct Row {
    ClockVector known;
    uint32_t own = 1, together = 0;
    bool broadcast = false;
    std::vector<Extra> extras;  // what some lanes know
    std::vector<LanePart> copies;  // of which each lane knows its own
    std::vector<Fenced> fenced, observed;
  };

  // Whether some warp, `agent` most likely, has waited for the latest operation of a fork.
  bool waited(uint32_t agent, uint32_t fork) const;
  std::shared_ptr<const ClockVector> sequential(const ClockVector& known) const;
  ClustersPointer fenced_of(const ClustersPointer& others, Known kind) const;
  uint32_t free_fork(uint32_t agent);

  uint32_t warps_ = 0, agents_ = 0, generation_ = 0;
  bool asynchronous_ = false;
  std::vector<Row> rows_;
  std::vector<uint32_t> forked_;  // clocks of the agents that are operations
  std::vector<uint32_t> turns_;   // these agents, the one that was taken longest ago first
};

// What would order accesses and does not: a fence that was too narrow for somebody who saw what it released, or a test
// of an mbarrier whose result nothing uses, which has no `release`.
struct Miss {
  uint32_t release, acquire;  // instructions
  Scope release_scope, acquire_scope;
  ClustersPointer known;  // what it would have brought
};

// What a warp's release at an address holds for a scope, which is of the CTA or the cluster `where`.
struct PublishedPart {
  Scope scope;
  uint64_t where, author;
  uint32_t instruction;
  bool sequential;  // what came before a fence.sc, for who executes another
  ClustersPointer known;
};
using PublishedParts = std::vector<PublishedPart>;

// What strong stores have released at addresses, of a cluster's shared memory or of global memory.
class Publications {
 public:
  void reset();
  void publish(Warp& w, uint64_t address, uint32_t mask, const Instruction& in, Access access, bool release);
  void observe(Warp& w, uint64_t address, uint32_t mask, const Instruction& in, bool acquire);
  // What has been released with the value there; nullptr if nothing has.
  std::shared_ptr<const PublishedParts> parts(uint64_t address) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, PublishedParts> places_;
};

// A load has given a value with which this was released.
void observe_parts(Warp& w, const PublishedParts& parts, uint32_t mask, const Instruction& in, bool acquire);

// What of the order of accesses a launch has in common.
class GlobalOrder {
 public:
  // Numbers of CTAs that cells of global memory have: `base` is below the first of this launch.
  static uint64_t segments_for(uint64_t ctas);
  void reset(uint64_t ctas, uint32_t base);
  bool current(uint32_t segment) const { return segment > base_; }
  uint32_t base() const { return base_; }
  uint32_t segment_of(uint64_t cta) const;
  uint64_t cta_of(uint32_t segment) const { return segment - base_ - 1; }
  // CTAs beyond these are not told apart, which loses races and invents none.
  bool told_apart(uint32_t segment) const;

  Publications published;
  void miss(Miss miss);
  // Why nothing orders two accesses that a miss would order; no note if there is none.
  struct Reason {
    bool narrow;  // because of scopes
    std::string note;
  };
  Reason reason(const Warp& w, const Touch& other);

 private:
  uint32_t base_ = 0;
  uint64_t ctas_ = 0;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint32_t>, Miss> misses_;
};

const char* name_of(Scope scope);

}  // namespace pyptx::emulator
