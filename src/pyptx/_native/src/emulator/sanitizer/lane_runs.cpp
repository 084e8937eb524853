#include "lane_runs.h"

#include <algorithm>
#include <cstring>

namespace pyptx::emulator {
namespace {

// Runs that load the same places side by side, one after the other, become one.
void join_runs(const uint32_t* offsets, LaneRuns* runs) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < runs->count; ++i) {
    const LaneRun& run = runs->run[i];
    LaneRun* last = count == 0 ? nullptr : &runs->run[count - 1];
    if (last != nullptr && !run.one_place && !last->one_place && last->lanes == run.lanes &&
        offsets[last->lane] == offsets[run.lane] && last->lane + last->lanes * (last->again + 1u) == run.lane) {
      ++last->again;
    } else {
      runs->run[count++] = run;
    }
  }
  runs->count = count;
}

}  // namespace

void find_runs(const uint32_t* offsets, uint32_t mask, uint32_t bytes, bool store, LaneRuns* runs) {
  alignas(64) uint32_t before[kLanes];
  before[0] = offsets[0];
  std::memcpy(before + 1, offsets, sizeof before - sizeof *before);
  const uint32_t both = mask & mask << 1;
  const uint64_t same = store ? 0 : both & lane_mask([&](unsigned l) { return offsets[l] == before[l]; });
  const uint64_t next = both & lane_mask([&](unsigned l) { return offsets[l] == before[l] + bytes; });
  runs->count = 0;
  for (uint64_t rest = mask; rest != 0;) {
    const auto l = static_cast<unsigned>(__builtin_ctzll(rest));
    const bool one_place = same >> (l + 1) & 1u;
    const auto more = static_cast<unsigned>(__builtin_ctzll(~((one_place ? same : next) >> (l + 1))));
    runs->run[runs->count++] = {static_cast<uint8_t>(l), static_cast<uint8_t>(more + 1), 0, one_place};
    rest &= ~uint64_t{0} << (l + more + 1);
  }
  if (!store) join_runs(offsets, runs);
}

const LanePattern* find_pattern(const uint64_t* addresses, uint32_t instruction, uint32_t bytes, LanePattern* pattern) {
  const uint64_t first = addresses[0];
  uint64_t differences = 0;
  if (pattern->instruction == instruction) {
    PYPTX_EACH_LANE(l) {
      differences |= addresses[l] ^ (first + static_cast<uint64_t>(static_cast<int64_t>(pattern->from_first[l])));
    }
    if (differences == 0) return pattern;
  }
  uint32_t offsets[kLanes];
  pattern->instruction = ~0u;
  pattern->low = pattern->high = 0;
  pattern->bits = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const auto difference = static_cast<int64_t>(addresses[l] - first);
    if (difference != static_cast<int32_t>(difference)) return nullptr;
    pattern->from_first[l] = static_cast<int32_t>(difference);
    pattern->low = std::min(pattern->low, pattern->from_first[l]);
    pattern->high = std::max(pattern->high, pattern->from_first[l]);
    offsets[l] = static_cast<uint32_t>(pattern->from_first[l]);
    pattern->bits |= offsets[l];
  }
  find_runs(offsets, kFullMask, bytes, false, &pattern->runs);
  pattern->instruction = instruction;
  return pattern;
}

}  // namespace pyptx::emulator
