#include "clock_vector.h"

#include <algorithm>

namespace pyptx::emulator {
namespace {

void raise(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

bool has_all(const std::vector<uint32_t>& known, const std::vector<uint32_t>& other) {
  for (size_t i = 0; i < other.size(); ++i) {
    if ((i < known.size() ? known[i] : 0) < other[i]) return false;
  }
  return true;
}

bool has_part(const ClockVector& known, const LanePart& part) {
  if (known.at(part.column) >= part.clock) return true;
  return std::any_of(known.lanes.begin(), known.lanes.end(), [&](const LanePart& p) {
    return p.column == part.column && p.clock >= part.clock && (part.mask & ~p.mask) == 0;
  });
}

// Whether `known` has all of `other`, but for what that knows of other clusters.
bool has_all(const ClockVector& known, const ClockVector& other) {
  if (!has_all(known.clocks, other.clocks) || !has_all(known.proxies, other.proxies)) return false;
  return std::all_of(other.lanes.begin(), other.lanes.end(), [&](const LanePart& p) { return has_part(known, p); });
}

Snapshot later(const Snapshot& a, const Snapshot& b) {
  if (a.clocks == b.clocks || a.generation > b.generation) return a;
  if (b.generation > a.generation) return b;
  if (has_all(*a.clocks, *b.clocks)) return a;
  auto both = std::make_shared<ClockVector>(*a.clocks);
  both->join(*b.clocks);
  return {a.generation, std::move(both)};
}

}  // namespace

ClustersPointer join(const ClustersPointer& a, const ClustersPointer& b) {
  if (b == nullptr || a == b) return a;
  if (a == nullptr) return b;
  const bool nothing_new = std::all_of(b->begin(), b->end(), [&](const auto& entry) {
    const Snapshot* known = find_cluster(a, entry.first);
    return known != nullptr && later(*known, entry.second).clocks == known->clocks;
  });
  if (nothing_new) return a;
  auto both = std::make_shared<Clusters>();
  both->reserve(a->size() + b->size());
  auto i = a->begin();
  auto j = b->begin();
  while (i != a->end() && j != b->end()) {
    if (i->first < j->first) both->push_back(*i++);
    else if (j->first < i->first) both->push_back(*j++);
    else {
      both->emplace_back(i->first, later(i->second, j->second));
      ++i;
      ++j;
    }
  }
  both->insert(both->end(), i, a->end());
  both->insert(both->end(), j, b->end());
  return both;
}

const Snapshot* find_cluster(const ClustersPointer& clusters, uint64_t cluster) {
  if (clusters == nullptr) return nullptr;
  const auto found = std::lower_bound(clusters->begin(), clusters->end(), cluster,
                                      [](const auto& entry, uint64_t wanted) { return entry.first < wanted; });
  return found == clusters->end() || found->first != cluster ? nullptr : &found->second;
}

void ClockVector::reset() {
  std::fill(clocks.begin(), clocks.end(), 0);
  std::fill(proxies.begin(), proxies.end(), 0);
  lanes.clear();
  others.reset();
  forget_sequential();
}

void ClockVector::clear() {
  clocks.clear();
  proxies.clear();
  lanes.clear();
  others.reset();
  forget_sequential();
}

void ClockVector::forget_sequential() {
  for (int wide = 0; wide < 2; ++wide) {
    fenced[wide].reset();
    told[wide].reset();
  }
}

void ClockVector::learn(uint32_t column, uint32_t clock) {
  std::vector<uint32_t>& part = column < kProxyColumns ? clocks : proxies;
  const size_t at = column & (kProxyColumns - 1);
  if (part.size() <= at) part.resize(at + 1, 0);
  part[at] = std::max(part[at], clock);
}

void ClockVector::learn_lanes(LanePart part) {
  if (part.mask == part.whole) {
    learn(part.column, part.clock);
    return;
  }
  if (at(part.column) >= part.clock) return;
  uint32_t mask = part.mask;
  LanePart* same = nullptr;
  for (LanePart& p : lanes) {
    if (p.column != part.column) continue;
    if (p.clock >= part.clock) mask |= p.mask;
    if (p.clock == part.clock) same = &p;
  }
  if ((mask & part.whole) == part.whole) {
    const uint32_t column = part.column, clock = part.clock;
    learn(column, clock);
    lanes.erase(std::remove_if(lanes.begin(), lanes.end(),
                               [=](const LanePart& p) { return p.column == column && p.clock <= clock; }),
                lanes.end());
    return;
  }
  if (same != nullptr) {
    same->mask |= part.mask;
    return;
  }
  // What the same lanes had done before is in it.
  lanes.erase(std::remove_if(lanes.begin(), lanes.end(), [&](const LanePart& p) {
    return p.column == part.column && p.clock < part.clock && (p.mask & ~part.mask) == 0;
  }), lanes.end());
  lanes.push_back(part);
}

void ClockVector::join(const ClockVector& from) {
  raise(clocks, from.clocks);
  raise(proxies, from.proxies);
  for (const LanePart& part : from.lanes) learn_lanes(part);
  others = emulator::join(others, from.others);
  if (!from.sequential()) return;
  for (int wide = 0; wide < 2; ++wide) {
    fenced[wide] = emulator::join(fenced[wide], from.fenced[wide]);
    told[wide] = emulator::join(told[wide], from.told[wide]);
  }
}

bool ClockVector::covers(uint32_t column, uint32_t clock, uint32_t lane, bool every_lane) const {
  if (at(column) >= clock) return true;
  return !every_lane && std::any_of(lanes.begin(), lanes.end(), [=](const LanePart& p) {
    return p.column == column && p.clock >= clock && (p.mask >> lane & 1u);
  });
}

uint32_t ClockVector::reach(uint32_t column) const {
  uint32_t clock = at(column);
  for (const LanePart& p : lanes) {
    if (p.column == column) clock = std::max(clock, p.clock);
  }
  return clock;
}

}  // namespace pyptx::emulator
