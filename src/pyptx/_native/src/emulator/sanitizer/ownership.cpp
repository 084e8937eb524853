#include "ownership.h"

#include <algorithm>
#include <thread>

#include "machine/warp.h"

namespace pyptx::emulator {
namespace {

// A cell: owner:31 | written:1 | 32 bits unused. An owner is numbered as the segment of its first CTA would be, so that
// cells of earlier launches count as empty here as they do in the shadow.
//
// A block has a word of the same form, with its state in the lowest bits. While it is whole, its word says what the words
// of all its cells would, and those are not used. It is split when some of its cells are taken otherwise than the rest.
constexpr uint64_t kWritten = uint64_t{1} << 32;
constexpr unsigned kOwnerShift = 33;
constexpr uint64_t kSplit = 1, kBeingSplit = 2;

uint64_t owner_of(uint64_t word) { return word >> kOwnerShift; }

bool exchange(uint64_t* word, uint64_t& old, uint64_t wanted) {
  return __atomic_compare_exchange_n(word, &old, wanted, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// How a cluster takes cells of a buffer: to store into them, or only to read.
class Taking {
 public:
  Taking(const Warp& w, const Buffer& buffer, bool store)
      : cells_(buffer.owners), blocks_(buffer.block_owners), base_(w.worker->launch->global_order.base()),
        mine_(base_ + 1 + w.cta->cluster->linear), everybody_(base_ + 1 + w.worker->launch->clusters),
        written_(store ? kWritten : 0) {}

  // How many of the cells are no other cluster's, too.
  uint64_t take(uint64_t first, uint64_t count) const {
    uint64_t alone = 0;
    for (const uint64_t end = first + count; first < end;) {
      const uint64_t block = first / kOwnedBlock, some = std::min(end, (block + 1) * kOwnedBlock) - first;
      alone += take_in(block, first, some);
      first += some;
    }
    return alone;
  }

 private:
  bool current(uint64_t word) const { return owner_of(word) > base_; }
  bool is_mine(uint64_t word) const { return owner_of(word) == mine_; }

  // What a word says once the cluster has taken what it stands for.
  uint64_t taken(uint64_t old) const {
    if (is_mine(old)) return old | written_;
    if (!current(old)) return mine_ << kOwnerShift | written_;
    if (written_ != 0 || (old & kWritten) != 0) throw Conflict();
    return everybody_ << kOwnerShift;
  }

  uint64_t take_in(uint64_t block, uint64_t first, uint64_t count) const {
    uint64_t* word = blocks_ + block;
    uint64_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    for (;;) {
      if (current(old) && (old & kSplit) != 0) return take_each(first, count);
      if (current(old) && (old & kBeingSplit) != 0) {
        std::this_thread::yield();
        old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        continue;
      }
      const uint64_t wanted = taken(old);
      const bool as_one = count == kOwnedBlock || wanted == old;
      if (as_one && (wanted == old || exchange(word, old, wanted))) return is_mine(wanted) ? count : 0;
      if (!as_one) split(block, old);
    }
  }

  uint64_t take_each(uint64_t first, uint64_t count) const {
    uint64_t alone = 0;
    for (uint64_t i = first; i < first + count; ++i) {
      uint64_t old = __atomic_load_n(cells_ + i, __ATOMIC_ACQUIRE), wanted = taken(old);
      while (wanted != old && !exchange(cells_ + i, old, wanted)) wanted = taken(old);
      alone += is_mine(wanted);
    }
    return alone;
  }

  // Gives cells of a whole block words of their own, and `old` what the block's is then. Other threads wait meanwhile.
  void split(uint64_t block, uint64_t& old) const {
    const uint64_t split = everybody_ << kOwnerShift | kSplit, being_split = everybody_ << kOwnerShift | kBeingSplit;
    uint64_t* word = blocks_ + block;
    if (!current(old)) {  // and neither are the cells
      if (exchange(word, old, split)) old = split;
      return;
    }
    const uint64_t whole = old;
    if (!exchange(word, old, being_split)) return;
    for (uint64_t i = 0; i < kOwnedBlock; ++i) {
      __atomic_store_n(cells_ + block * kOwnedBlock + i, whole, __ATOMIC_RELAXED);
    }
    __atomic_store_n(word, split, __ATOMIC_RELEASE);
    old = split;
  }

  uint64_t *const cells_, *const blocks_;
  const uint64_t base_, mine_, everybody_, written_;
};

}  // namespace

Owned take_cells(const Warp& w, const Buffer& buffer, uint64_t first, uint64_t count, bool store) {
  const uint64_t alone = Taking(w, buffer, store).take(first, count);
  // What a cluster may not write has been written before the launch, or is what all who read it are told of.
  if (alone != count && !buffer.initialised) throw Conflict();
  return alone == count ? Owned::Alone : alone == 0 ? Owned::Shared : Owned::Mixed;
}

}  // namespace pyptx::emulator
