#include "liveness.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace pyptx::emulator {
namespace {

constexpr size_t kMaxWords = 1u << 26;

// The textbook backward analysis over basic blocks, with a bit per register.
class Liveness {
 public:
  Liveness(const std::vector<Flow>& flow, const std::vector<Uses>& uses, uint32_t registers, uint32_t entry)
      : flow_(flow), uses_(uses), registers_(registers), entry_(entry), words_((registers + 63) / 64) {
    find_blocks();
  }

  bool fits() const { return starts_.size() * words_ <= kMaxWords; }

  Lives solve() {
    summarise();
    while (step()) {
    }
    Lives lives;
    for (uint32_t r = 0; !starts_.empty() && r < registers_; ++r) {
      if (bit(live_, block_of_[entry_], r)) lives.at_start.push_back(r);
    }
    lives.lifetimes = lifetimes();
    return lives;
  }

 private:
  using Bits = std::vector<uint64_t>;

  bool bit(const Bits& bits, size_t block, uint32_t r) const { return bits[block * words_ + r / 64] >> (r % 64) & 1u; }
  void set(Bits& bits, size_t block, uint32_t r) const { bits[block * words_ + r / 64] |= uint64_t{1} << (r % 64); }

  size_t end_of(size_t block) const { return block + 1 < starts_.size() ? starts_[block + 1] : flow_.size(); }

  void find_blocks() {
    std::vector<uint8_t> leads(flow_.size() + 1, 0);
    leads[0] = leads[entry_] = 1;
    for (size_t i = 0; i < flow_.size(); ++i) {
      if (flow_[i].leaves || !flow_[i].targets.empty()) leads[i + 1] = 1;
      for (const uint32_t target : flow_[i].targets) leads[target] = 1;
    }
    block_of_.resize(flow_.size() + 1);
    for (size_t i = 0; i < flow_.size(); ++i) {
      if (leads[i]) starts_.push_back(i);
      block_of_[i] = starts_.size() - 1;
    }
    block_of_[flow_.size()] = starts_.size();  // the end, where nothing is live
  }

  // What each block reads before it writes it, and what it writes for certain.
  void summarise() {
    reads_.assign(starts_.size() * words_, 0);
    writes_.assign(starts_.size() * words_, 0);
    live_.assign((starts_.size() + 1) * words_, 0);
    for (size_t b = 0; b < starts_.size(); ++b) {
      for (size_t i = starts_[b]; i < end_of(b); ++i) {
        for (const auto* read : {&uses_[i].sources, &uses_[i].conditional}) {
          for (const uint32_t r : *read) {
            if (!bit(writes_, b, r)) set(reads_, b, r);
          }
        }
        if (flow_[i].guarded) continue;
        for (const uint32_t r : uses_[i].destinations) set(writes_, b, r);
      }
    }
  }

  bool step() {
    bool changed = false;
    for (size_t b = starts_.size(); b-- > 0;) {
      for (size_t w = 0; w < words_; ++w) {
        const size_t at = b * words_ + w;
        const uint64_t in = reads_[at] | (live_behind(b, w) & ~writes_[at]);
        changed |= in != live_[at];
        live_[at] = in;
      }
    }
    return changed;
  }

  // What is live where a block has ended.
  uint64_t live_behind(size_t block, size_t word) const {
    const Flow& last = flow_[end_of(block) - 1];
    uint64_t out = last.guarded || !last.leaves ? live_[(block + 1) * words_ + word] : 0;
    for (const uint32_t target : last.targets) out |= live_[block_of_[target] * words_ + word];
    return out;
  }

  std::vector<Lifetime> lifetimes() const {
    std::vector<Lifetime> found(registers_);
    const auto note = [&](uint32_t r, size_t at) {
      found[r].first = std::min(found[r].first, static_cast<uint32_t>(at));
      found[r].last = std::max(found[r].last, static_cast<uint32_t>(at));
    };
    const auto note_all = [&](uint64_t live, size_t word, size_t at) {
      for (; live != 0; live &= live - 1) note(static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(__builtin_ctzll(live)), at);
    };
    for (size_t b = 0; b < starts_.size(); ++b) {
      for (size_t w = 0; w < words_; ++w) {
        note_all(live_[b * words_ + w], w, starts_[b]);
        note_all(live_behind(b, w), w, end_of(b) - 1);
      }
      for (size_t i = starts_[b]; i < end_of(b); ++i) {
        for (const auto* list : {&uses_[i].sources, &uses_[i].conditional, &uses_[i].destinations}) {
          for (const uint32_t r : *list) note(r, i);
        }
      }
    }
    return found;
  }

  const std::vector<Flow>& flow_;
  const std::vector<Uses>& uses_;
  const uint32_t registers_, entry_;
  const size_t words_;
  std::vector<size_t> starts_, block_of_;
  Bits reads_, writes_, live_;
};

// Places from which a register is followed until it is read or written again.
class ResultSearch {
 public:
  ResultSearch(const std::vector<Flow>& flow, const std::vector<Uses>& uses) : flow_(flow), uses_(uses) {}

  bool ignored(uint32_t at, size_t* places) {
    follow(at);
    while (!pending_.empty()) {
      if (*places == 0) return false;
      --*places;
      const auto [place, r] = pending_.back();
      pending_.pop_back();
      if (place >= flow_.size()) continue;
      const Uses& u = uses_[place];
      if (has(u.sources, r) || has(u.conditional, r)) {
        if (u.role != Uses::Role::Computes) return false;
        follow(place);
      }
      if (has(u.destinations, r) && !flow_[place].guarded) continue;
      go_on(place, r);
    }
    return true;
  }

 private:
  static bool has(const std::vector<uint32_t>& list, uint32_t r) {
    return std::find(list.begin(), list.end(), r) != list.end();
  }

  void follow(uint32_t from) {
    for (const uint32_t r : uses_[from].destinations) go_on(from, r);
  }

  void go_on(uint32_t from, uint32_t r) {
    if (flow_[from].guarded || !flow_[from].leaves) add(from + 1, r);
    for (const uint32_t target : flow_[from].targets) add(target, r);
  }

  void add(uint32_t place, uint32_t r) {
    if (seen_.emplace(place, r).second) pending_.emplace_back(place, r);
  }

  const std::vector<Flow>& flow_;
  const std::vector<Uses>& uses_;
  std::set<std::pair<uint32_t, uint32_t>> seen_;
  std::vector<std::pair<uint32_t, uint32_t>> pending_;
};

}  // namespace

bool ignores_result(const std::vector<Flow>& flow, const std::vector<Uses>& uses, uint32_t at, size_t* places) {
  return ResultSearch(flow, uses).ignored(at, places);
}

Lives find_lives(const std::vector<Flow>& flow, const std::vector<Uses>& uses, uint32_t registers, uint32_t entry) {
  Liveness analysis(flow, uses, registers, entry);
  if (analysis.fits()) return analysis.solve();
  Lives lives;
  lives.at_start.resize(registers);
  std::iota(lives.at_start.begin(), lives.at_start.end(), 0u);
  return lives;
}

}  // namespace pyptx::emulator
