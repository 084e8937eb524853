// Where a warp's registers are.
//
// Traced kernels write most registers once. If each had a place of its own, the registers of a warp would not stay in the
// host's nearest cache, so registers of one width that are never live together share a place.
#include <algorithm>
#include <functional>
#include <queue>
#include <stdexcept>

#include "program.h"

namespace pyptx::emulator {
namespace {

constexpr uint64_t kMaxFileBytes = 16u << 20;
// The unit of all places.
constexpr uint32_t kPlaceBytes = 4;

uint32_t slot_bytes(unsigned width) { return width == 1 ? kPlaceBytes : width * kLanes / 8; }

bool shares(const Lifetime& lifetime) { return lifetime.first <= lifetime.last; }

// Places for registers of one width, in the order in which their lifetimes begin.
class RegisterPlaces {
 public:
  RegisterPlaces(uint64_t* end, uint32_t bytes) : end_(end), bytes_(bytes) {}

  uint32_t own() {
    const uint64_t at = *end_;
    *end_ += bytes_;
    return static_cast<uint32_t>(at);
  }

  // The instruction that is the last to use a register may write another: the two are apart.
  uint32_t shared(const Lifetime& lifetime) {
    while (!taken_.empty() && taken_.top().first < lifetime.first) {
      free_.push_back(taken_.top().second);
      taken_.pop();
    }
    uint32_t at;
    if (free_.empty()) {
      at = own();
    } else {
      at = free_.back();  // the latest, which is most likely to be in a cache
      free_.pop_back();
    }
    taken_.emplace(lifetime.last, at);
    return at;
  }

 private:
  using Taken = std::pair<uint32_t, uint32_t>;  // until when, and where

  uint64_t* end_;
  uint32_t bytes_;
  std::priority_queue<Taken, std::vector<Taken>, std::greater<>> taken_;
  std::vector<uint32_t> free_;
};

}  // namespace

void Program::lay_out_registers(const std::vector<Lifetime>& lifetimes) {
  // Wide registers first, so that each is aligned to its size.
  uint64_t end = 0;
  std::vector<uint32_t> sharing;
  for (const unsigned width : {128u, 64u, 32u, 16u, 8u, 1u}) {
    RegisterPlaces places(&end, slot_bytes(width));
    sharing.clear();
    for (uint32_t r = 0; r < registers.size(); ++r) {
      if (registers[r].width != width) continue;
      if (r < lifetimes.size() && shares(lifetimes[r])) sharing.push_back(r);
      else registers[r].offset = places.own();
      if (end > kMaxFileBytes) throw std::runtime_error("kernel " + name + ": too many registers to emulate");
    }
    std::stable_sort(sharing.begin(), sharing.end(),
                     [&](uint32_t a, uint32_t b) { return lifetimes[a].first < lifetimes[b].first; });
    for (const uint32_t r : sharing) registers[r].offset = places.shared(lifetimes[r]);
  }
  true_predicate = static_cast<uint32_t>(end);
  end = (end + 4 + 63) & ~63ull;
  sink = static_cast<uint32_t>(end);
  file_bytes = static_cast<uint32_t>(end + 512);
}

void Program::share_registers(std::vector<Lifetime> lifetimes, const std::vector<uint8_t>& apart,
                              const std::vector<std::pair<uint32_t*, size_t>>& more) {
  // A function that is called while it runs keeps its registers as a whole, and its callers have some in common with it.
  if (lifetimes.empty() || !functions.empty()) return;
  for (uint32_t r = 0; r < lifetimes.size(); ++r) {
    if (apart[r] != 0) lifetimes[r] = Lifetime();
  }
  // Some start with a value, and others are read or written while the warp does something else.
  for (const std::vector<uint32_t>* list : {&tracked, &held}) {
    for (const uint32_t r : *list) lifetimes[r] = Lifetime();
  }
  std::vector<uint32_t> before;
  for (const RegisterSlot& slot : registers) before.push_back(slot.offset);
  const uint32_t predicate = true_predicate, thrown_away = sink;
  lay_out_registers(lifetimes);
  std::vector<uint32_t> now(thrown_away / kPlaceBytes + 1, 0);
  for (size_t r = 0; r < before.size(); ++r) now[before[r] / kPlaceBytes] = registers[r].offset;
  now[predicate / kPlaceBytes] = true_predicate;
  now[thrown_away / kPlaceBytes] = sink;
  const auto move = [&](uint32_t& at) {
    if ((at & kPoolBit) == 0) at = now[at / kPlaceBytes];
  };
  for (Instruction& in : code) {
    for (uint32_t& at : in.operand) move(at);  // one that is not used is 0
    move(in.guard);
  }
  for (const auto& [operands, count] : more) std::for_each(operands, operands + count, move);
  for (const std::unique_ptr<Subscripts>& all : subscripts) {
    if (all == nullptr) continue;
    for (uint32_t k = 0; k < std::min(all->plain_count, Subscripts::kMostPlain); ++k) move(all->plain[k].offset);
    for (Subscript& s : all->list) {
      move(s.offset);
      if (!s.known) move(s.extent_offset);
    }
  }
}

}  // namespace pyptx::emulator
