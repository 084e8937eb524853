// What strong stores and atomics release at addresses, and what loads of their values acquire.
//
// A load acquires what was released with the value that it gives: by the store of this value, by the atomics that it went
// through, and by earlier stores of the same warp at this address. The store of another warp ends that (PTX ISA, "Release
// and Acquire Patterns": observation order goes through atomics alone).
//
// fence.sc orders more than acquire and release patterns do, whose fences and accesses are of one thread. If one fence.sc
// happens before a strong store, and a load of its value happens before another, then the second comes after the first in
// Fence-SC order: the other way round, the load would happen before the store. So all threads of a CTA may execute
// fence.sc, and one of them stores for all after a barrier; and the same for loads. What such a fence comes after travels
// with what happens before, as ClockVector::fenced, and from the load on as ClockVector::told. Of the scopes .cta and
// .cluster this holds for fences of one CTA.
#include <algorithm>

#include "clocks.h"
#include "machine/warp.h"
#include "semantics/access.h"
#include "shadow_cells.h"

namespace pyptx::emulator {
namespace {

// At one address, of one scope. What more warps have released is not told apart, which loses races and invents none.
constexpr size_t kMostParts = 8;
constexpr uint64_t kSeveralAuthors = ~uint64_t{0};
constexpr unsigned kAuthorBits = 20;  // of the warp's agent in its cluster

ClusterClocks& clocks_of(const Warp& w) { return w.cta->cluster->clocks; }

bool orders(const Warp& w) { return clocks_of(w).active(); }

uint64_t author_of(const Warp& w) { return w.cta->cluster->linear << kAuthorBits | w.agent; }

// What lanes of a warp know, of all clusters; `did` are those of which it has what they did, too.
ClustersPointer everything(const Warp& w, uint32_t mask, uint32_t did) {
  auto own = std::make_shared<ClockVector>();
  clocks_of(w).release_known(w.agent, mask, *own);
  clocks_of(w).release_own(w.agent, did, w.live, *own);
  const ClustersPointer others = std::move(own->others);
  own->others.reset();
  own->forget_sequential();
  auto mine = std::make_shared<Clusters>();
  mine->emplace_back(w.cta->cluster->linear, Snapshot{clocks_of(w).generation(), std::move(own)});
  return join(others, mine);
}

// The part of a warp's own cluster, and the others'.
void learn_everything(Warp& w, uint32_t mask, const ClustersPointer& known, bool others) {
  ClusterClocks& clocks = clocks_of(w);
  const Snapshot* own = find_cluster(known, w.cta->cluster->linear);
  if (own != nullptr && own->generation == clocks.generation()) clocks.acquire(w.agent, mask, w.live, *own->clocks);
  if (!others || known->size() == (own != nullptr ? 1u : 0u)) return;
  ClockVector foreign;
  foreign.others = known;
  clocks.acquire(w.agent, mask, w.live, foreign);
}

bool wide(Scope scope) { return scope >= Scope::Gpu; }

uint64_t where(const Warp& w, Scope scope) {
  return wide(scope) ? 0 : scope == Scope::Cluster ? w.cta->cluster->linear : w.cta->linear;
}

void note(std::vector<Fenced>& all, Fenced one) {
  for (Fenced& f : all) {
    if (f.mask != one.mask || f.scope != one.scope || f.least != one.least) continue;
    f.known = join(f.known, one.known);
    f.instruction = one.instruction;
    return;
  }
  all.push_back(std::move(one));
}

// The narrowest scope that has the warp and an author; of several the widest.
Scope least_of(const Warp& w, uint64_t author) {
  if (author == kSeveralAuthors || author >> kAuthorBits != w.cta->cluster->linear) return Scope::Gpu;
  const uint64_t agent = author & ((uint64_t{1} << kAuthorBits) - 1);
  return agent / w.cta->warps.size() == w.cta->rank ? Scope::Cta : Scope::Cluster;
}

bool alike(const PublishedPart& a, const PublishedPart& b) {
  return a.sequential == b.sequential && a.where == b.where && (a.scope == b.scope || (wide(a.scope) && wide(b.scope)));
}

void add(PublishedParts& place, PublishedPart part) {
  const auto same = [&](const PublishedPart& p) { return alike(p, part) && p.author == part.author; };
  auto found = std::find_if(place.begin(), place.end(), same);
  if (found == place.end() && place.size() >= kMostParts) {
    found = std::find_if(place.begin(), place.end(), [&](const PublishedPart& p) { return alike(p, part); });
    if (found != place.end()) found->author = kSeveralAuthors;
  }
  if (found == place.end()) {
    place.push_back(std::move(part));
    return;
  }
  found->known = join(found->known, part.known);
  found->instruction = part.instruction;
}

// What a strong store of lanes releases.
PublishedParts released(const Warp& w, uint32_t mask, const Instruction& in, bool release) {
  const ClusterClocks& clocks = clocks_of(w);
  const uint64_t author = author_of(w);
  PublishedParts parts;
  if (release) parts.push_back({Scope::System, 0, author, in.index, false, everything(w, mask, mask)});
  for (const Fenced& f : clocks.fenced(w.agent)) {
    if (release || (f.mask & mask) == 0) continue;
    parts.push_back({f.scope, where(w, f.scope), author, f.instruction, false, f.of(w.agent, mask)});
  }
  for (const Scope scope : {Scope::Cta, Scope::System}) {
    ClustersPointer fenced = clocks.fenced_before(w.agent, mask, wide(scope));
    if (fenced != nullptr) parts.push_back({scope, where(w, scope), author, in.index, true, std::move(fenced)});
  }
  return parts;
}

// What lanes have loaded by relaxed loads, they acquire at a fence whose scope has the threads that released it.
void acquire_observed(Warp& w, const Instruction& in, uint32_t mask, Scope scope) {
  ClusterClocks& clocks = clocks_of(w);
  std::vector<Fenced> observed;
  observed.swap(clocks.observed(w.agent));
  for (Fenced& o : observed) {
    if ((o.mask & mask) == 0) {
      clocks.observed(w.agent).push_back(std::move(o));
      continue;
    }
    if (o.least <= scope || wide(scope)) learn_everything(w, o.mask & mask, o.known, true);
    else w.worker->launch->global_order.miss({o.instruction, in.index, o.scope, scope, o.known});
  }
}

// fence.sc: what came before those of which its lanes have been told, by fences of the CTA or of a wide scope.
void learn_told(Warp& w, uint32_t mask, bool wide) {
  for (const auto& [lanes, known] : clocks_of(w).told(w.agent, mask, wide)) learn_everything(w, lanes, known, true);
}

void observe_sequential(Warp& w, const PublishedPart& part, uint32_t mask) {
  ClockVector known;
  if (wide(part.scope)) known.told[1] = part.known;
  // A fence of the CTA's scope is enough for another within it.
  if (part.where == where(w, part.scope) && least_of(w, part.author) == Scope::Cta) known.told[0] = part.known;
  clocks_of(w).acquire(w.agent, mask, w.live, known);
}

// Each lane of a fence may later store for itself; lanes that have learned the same are together in one part.
void keep_fence(Warp& w, const Instruction& in, uint32_t mask, Scope scope, bool sequential) {
  ClusterClocks& clocks = clocks_of(w);
  std::vector<Fenced>& fenced = clocks.fenced(w.agent);
  for (Fenced& f : fenced) {
    if (f.scope <= scope && (sequential || !f.sequential)) f.mask &= ~mask;
  }
  fenced.erase(std::remove_if(fenced.begin(), fenced.end(), [](const Fenced& f) { return f.mask == 0; }), fenced.end());
  for (uint32_t rest = mask; rest != 0;) {
    const uint32_t group = clocks.alike_lanes(w.agent, rest);
    rest &= ~group;
    const bool alone = (group & (group - 1)) == 0;
    Fenced f{group, scope, in.index, everything(w, group, alone ? group : 0)};
    f.sequential = sequential;
    f.own = alone ? 0 : clocks.own(w.agent);
    f.live = w.live;
    f.cluster = w.cta->cluster->linear;
    fenced.push_back(std::move(f));
  }
}

}  // namespace

ClustersPointer Fenced::of(uint32_t agent, uint32_t lanes) const {
  const Snapshot* mine = own == 0 ? nullptr : find_cluster(known, cluster);
  if (mine == nullptr) return known;
  auto clocks = std::make_shared<ClockVector>(*mine->clocks);
  clocks->learn_lanes({agent, own, mask & lanes & live, live});
  auto only = std::make_shared<Clusters>();
  only->emplace_back(cluster, Snapshot{mine->generation, std::move(clocks)});
  return join(known, only);
}

void Publications::reset() { places_.clear(); }

void Publications::publish(Warp& w, uint64_t address, uint32_t mask, const Instruction& in, Access access, bool release) {
  PublishedParts parts = released(w, mask, in, release);
  const bool ends = access == Access::Store;
  if (parts.empty() && !ends) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = places_.find(address);
  if (found == places_.end() && parts.empty()) return;
  PublishedParts& place = found == places_.end() ? places_[address] : found->second;
  if (ends) {
    const auto others = [author = author_of(w)](const PublishedPart& p) {
      return p.author != author && p.author != kSeveralAuthors;
    };
    place.erase(std::remove_if(place.begin(), place.end(), others), place.end());
  }
  for (PublishedPart& part : parts) add(place, std::move(part));
}

void Publications::observe(Warp& w, uint64_t address, uint32_t mask, const Instruction& in, bool acquire) {
  PublishedParts parts;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = places_.find(address);
    if (found == places_.end()) return;
    parts = found->second;
  }
  observe_parts(w, parts, mask, in, acquire);
}

std::shared_ptr<const PublishedParts> Publications::parts(uint64_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = places_.find(address);
  return found == places_.end() ? nullptr : std::make_shared<const PublishedParts>(found->second);
}

void observe_parts(Warp& w, const PublishedParts& parts, uint32_t mask, const Instruction& in, bool acquire) {
  for (const PublishedPart& part : parts) {
    if (part.sequential) {
      observe_sequential(w, part, mask);
    } else if (part.where != where(w, part.scope)) {
      w.worker->launch->global_order.miss({part.instruction, in.index, part.scope, Scope::System, part.known});
    } else if (acquire) {
      learn_everything(w, mask, part.known, true);
    } else {
      note(clocks_of(w).observed(w.agent), {mask, part.scope, part.instruction, part.known, least_of(w, part.author)});
    }
  }
}

void order_fence(Warp& w, const Instruction& in, uint32_t mask, Scope scope, Fencing how) {
  if (!orders(w)) return;
  if (how.acquires) acquire_observed(w, in, mask, scope);
  if (how.sequential) {
    learn_told(w, mask, false);
    if (wide(scope)) learn_told(w, mask, true);
  }
  if (how.releases) keep_fence(w, in, mask, scope, how.sequential);
  order_tick(w);
}

void release_fenced(const Warp& w, uint32_t mask, Scope least, ClockVector& into) {
  for (const Fenced& f : clocks_of(w).fenced(w.agent)) {
    if ((f.mask & mask) == 0 || f.scope < least) continue;
    const ClustersPointer known = f.of(w.agent, mask);
    const Snapshot* own = find_cluster(known, f.cluster);
    if (own != nullptr && own->generation == clocks_of(w).generation()) into.join(*own->clocks);
    into.others = join(into.others, known);
  }
}

void observe_relaxed(Warp& w, const Instruction& in, uint32_t mask, Scope least, const ClockVector& released) {
  if (released.empty()) return;
  auto own = std::make_shared<ClockVector>(released);
  const ClustersPointer others = std::move(own->others);
  own->others.reset();
  auto mine = std::make_shared<Clusters>();
  mine->emplace_back(w.cta->cluster->linear, Snapshot{clocks_of(w).generation(), std::move(own)});
  note(clocks_of(w).observed(w.agent), {mask, Scope::System, in.index, join(others, mine), least});
}

void order_access(Warp& w, const Instruction& in, bool global, uint64_t address, uint32_t mask, Access access,
                  Order order) {
  if (!order.strong || !orders(w)) return;
  Publications& places = global ? w.worker->launch->global_order.published : w.cta->cluster->published;
  if (access != Access::Store) places.observe(w, address, mask, in, order.acquire);
  if (access != Access::Store && !global) observe_visits(*w.cta, address - w.cta->shared_base);
  if (access != Access::Load) places.publish(w, address, mask, in, access, order.release);
}

}  // namespace pyptx::emulator
