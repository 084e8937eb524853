#include "watch.h"

#include <algorithm>

namespace pyptx::emulator {

void Watches::set(const PyptxLaunch& launch) {
  for (uint64_t i = 0; i < launch.watch_count; ++i) {
    const auto lo = reinterpret_cast<uint64_t>(launch.watches[i].data);
    ranges_.push_back({lo, lo + launch.watches[i].bytes});
  }
}

bool Watches::inside(uint64_t lo, uint64_t hi) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [=](const Range& r) { return r.lo < hi && lo < r.hi; });
}

void Watches::add(uint64_t address, uint64_t bytes, const PyptxVisit& where) {
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (address >= ranges_[i].hi || address + bytes <= ranges_[i].lo) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    lanes_[{static_cast<uint32_t>(i), where.instruction, where.cta, where.warp, where.store}] |= where.lanes;
  }
}

std::vector<PyptxVisit> Watches::visits() const {
  std::vector<PyptxVisit> out;
  for (const auto& [key, lanes] : lanes_) {
    const auto [range, instruction, cta, warp, store] = key;
    out.push_back({cta, range, instruction, warp, lanes, store, 0});
  }
  return out;
}

}  // namespace pyptx::emulator
