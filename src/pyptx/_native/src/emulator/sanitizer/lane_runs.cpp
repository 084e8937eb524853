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

namespace {

bool lie_as(const uint64_t* addresses, const LanePattern& pattern) {
  const uint64_t first = addresses[0];
  uint64_t differences = 0;
  PYPTX_EACH_LANE(l) {
    differences |= addresses[l] ^ (first + static_cast<uint64_t>(static_cast<int64_t>(pattern.from_first[l])));
  }
  return differences == 0;
}

// The pattern of addresses; false where they are far apart.
bool read_pattern(const uint64_t* addresses, uint32_t bytes, LanePattern* pattern) {
  uint32_t offsets[kLanes];
  pattern->bytes = bytes;
  pattern->low = pattern->high = 0;
  pattern->bits = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const auto difference = static_cast<int64_t>(addresses[l] - addresses[0]);
    if (difference != static_cast<int32_t>(difference)) return false;
    pattern->from_first[l] = static_cast<int32_t>(difference);
    pattern->low = std::min(pattern->low, pattern->from_first[l]);
    pattern->high = std::max(pattern->high, pattern->from_first[l]);
    offsets[l] = static_cast<uint32_t>(pattern->from_first[l]);
    pattern->bits |= offsets[l];
  }
  find_runs(offsets, kFullMask, bytes, false, &pattern->runs);
  return true;
}

}  // namespace

void LanePatterns::reset(size_t instructions) {
  patterns_.assign(1, LanePattern());
  patterns_.reserve(kMost);
  of_.assign(instructions, 0);
}

const LanePattern* LanePatterns::find(const uint64_t* addresses, uint32_t instruction, uint32_t bytes) {
  const auto same = [&](const LanePattern& p) { return p.bytes == bytes && lie_as(addresses, p); };
  uint8_t& index = of_[instruction];
  if (same(patterns_[index])) return &patterns_[index];
  const auto known = std::find_if(patterns_.begin(), patterns_.end(), same);
  if (known != patterns_.end()) {
    index = static_cast<uint8_t>(known - patterns_.begin());
    return &*known;
  }
  LanePattern pattern;
  if (!read_pattern(addresses, bytes, &pattern)) return nullptr;
  if (patterns_.size() < kMost) {
    index = static_cast<uint8_t>(patterns_.size());
    patterns_.push_back(pattern);
  } else {
    index = static_cast<uint8_t>(1 + next_++ % (kMost - 1));
    patterns_[index] = pattern;
  }
  return &patterns_[index];
}

}  // namespace pyptx::emulator
