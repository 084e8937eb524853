// Who touched given ranges of global memory: for each range the instructions and the warps, with their lanes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "pyptx_emulator.h"

namespace pyptx::emulator {

class Watches {
 public:
  void set(const PyptxLaunch& launch);
  // Whether a range lies in [lo, hi), at least in part.
  bool inside(uint64_t lo, uint64_t hi) const;
  // An access of `bytes` from `address` on. `where` has its CTA, instruction, warp, lanes, and whether it stores.
  void add(uint64_t address, uint64_t bytes, const PyptxVisit& where);
  // In the order of the ranges, then of the instructions.
  std::vector<PyptxVisit> visits() const;

 private:
  struct Range {
    uint64_t lo, hi;
  };
  using Key = std::tuple<uint32_t, uint32_t, uint64_t, uint32_t, uint32_t>;  // range, instruction, CTA, warp, store

  std::vector<Range> ranges_;
  std::mutex mutex_;
  std::map<Key, uint32_t> lanes_;
};

}  // namespace pyptx::emulator
