// Which lanes of a warp access places side by side, or one place together.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.h"

namespace pyptx::emulator {

// Lanes one after the other that access places side by side or, in loads, one place.
struct LaneRun {
  uint8_t lane, lanes;
  uint8_t again;   // so many times the next lanes load the same places side by side
  bool one_place;
};

// The lanes of one access, in their order.
struct LaneRuns {
  uint32_t count = 0;
  LaneRun run[kLanes];
};

// Those of the lanes of `mask`, each of which accesses `bytes` at its offset.
void find_runs(const uint32_t* offsets, uint32_t mask, uint32_t bytes, bool store, LaneRuns* runs);

// Offsets of lanes in a CTA's shared memory, as differences from one of them.
struct LaneOffsets {
  uint32_t first;
  const uint32_t* from_first;

  uint32_t of(unsigned lane) const { return first + from_first[lane]; }
};

// How the addresses of a load by all lanes lie to each other. In a loop they do so every time.
struct LanePattern {
  uint32_t bytes = 0;  // that a lane loads; 0 for none
  int32_t low, high;  // the differences are between
  uint32_t bits;      // set in any of them
  int32_t from_first[kLanes];
  LaneRuns runs;
};

// Whether addresses in a space of 32 bits lie to each other as the pattern has it; differences wrap there.
inline bool follows(const uint32_t* addresses, const LanePattern& pattern) {
  const uint32_t first = addresses[0];
  uint32_t differences = 0;
  PYPTX_EACH_LANE(l) differences |= (addresses[l] - first) ^ static_cast<uint32_t>(pattern.from_first[l]);
  return differences == 0;
}

// Patterns of the loads of shared memory of a program. Loads of a tile have one together, so that few are in the host's
// caches.
class LanePatterns {
 public:
  void reset(size_t instructions);
  bool empty() const { return of_.empty(); }
  // What was found of an instruction latest, or another of a load of as many bytes; of none before that.
  const LanePattern& of(uint32_t instruction) const { return patterns_[of_[instruction]]; }
  // The pattern of an instruction's addresses, found before or now; nullptr where they are far apart.
  const LanePattern* find(const uint64_t* addresses, uint32_t instruction, uint32_t bytes);

 private:
  static constexpr uint32_t kMost = 16;

  std::vector<LanePattern> patterns_;  // the first is none
  std::vector<uint8_t> of_;            // by instruction
  uint32_t next_ = 0;                  // that gives way to another
};

}  // namespace pyptx::emulator
