// What is known to have happened: vector clocks, down to lanes where lanes of a warp differ, and across clusters.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace pyptx::emulator {

// Columns from here on are in ClockVector::proxies.
constexpr uint32_t kProxyColumns = 1u << 16;

// Lanes of a warp, or of the copies of one instruction, that are known up to a clock that the others of `whole` are not.
struct LanePart {
  uint32_t column, clock, mask, whole;
};

struct ClockVector;

// What is known of a cluster. When its clocks are used up they start again in another generation.
struct Snapshot {
  uint32_t generation;
  std::shared_ptr<const ClockVector> clocks;
};

// By cluster, in ascending order.
using Clusters = std::vector<std::pair<uint64_t, Snapshot>>;
using ClustersPointer = std::shared_ptr<const Clusters>;

// The later of both for every cluster; either may be null.
ClustersPointer join(const ClustersPointer& a, const ClustersPointer& b);
const Snapshot* find_cluster(const ClustersPointer& clusters, uint64_t cluster);

struct ClockVector {
  std::vector<uint32_t> clocks;   // by column: an agent
  std::vector<uint32_t> proxies;  // by column, from kProxyColumns on: ClusterClocks::column says whose
  std::vector<LanePart> lanes;
  ClustersPointer others;
  // What came before a fence.sc that this comes after; and before one of which a strong value tells, for who executes a
  // fence.sc next (publications.cpp). First by fences of the scope of a CTA or a cluster, then by those of wider scopes.
  ClustersPointer fenced[2], told[2];

  bool empty() const {
    return clocks.empty() && proxies.empty() && lanes.empty() && others == nullptr && !sequential();
  }
  bool sequential() const {
    return fenced[0] != nullptr || fenced[1] != nullptr || told[0] != nullptr || told[1] != nullptr;
  }
  void forget_sequential();
  void reset();
  void clear();
  void learn(uint32_t column, uint32_t clock);
  void learn_lanes(LanePart part);
  void join(const ClockVector& from);
  uint32_t at(uint32_t column) const {
    if (column < kProxyColumns) return column < clocks.size() ? clocks[column] : 0;
    return column - kProxyColumns < proxies.size() ? proxies[column - kProxyColumns] : 0;
  }
  // Whether it has what a lane, or every lane, of an agent did at a clock.
  bool covers(uint32_t column, uint32_t clock, uint32_t lane, bool every_lane) const;
  // The latest clock of any lane.
  uint32_t reach(uint32_t column) const;
};

}  // namespace pyptx::emulator
