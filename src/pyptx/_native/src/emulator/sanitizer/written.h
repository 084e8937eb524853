// Which parts of an output a launch has written: a bit per granule, the program's smallest access or an element.
//
// Several host threads set bits of one word. A warp's store of 32 neighbours sets a whole word, mostly, and then
// no host atomic is needed, because every bit of it is set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace pyptx::emulator {

class Written {
 public:
  // For so many bytes, in granules of `size` bytes, a power of two that divides them.
  void make(uint64_t bytes, uint32_t size);
  bool wanted() const { return words_ != nullptr; }

  // The bytes from `offset` on have a value, or have none any more.
  void mark(uint64_t offset, uint64_t bytes, bool has_value = true) {
    uint64_t granule = offset >> shift_;
    for (uint64_t left = ((offset + bytes - 1) >> shift_) - granule + 1; left > 0;) {
      const auto bit = static_cast<unsigned>(granule % kBits);
      const uint64_t count = std::min<uint64_t>(left, kBits - bit);
      const uint32_t mask = ~0u >> (kBits - count) << bit;
      uint32_t* word = words_.get() + granule / kBits;
      if (!has_value) __atomic_fetch_and(word, ~mask, __ATOMIC_RELAXED);
      else if (mask == ~0u) __atomic_store_n(word, mask, __ATOMIC_RELAXED);
      else if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) != mask) __atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
      granule += count;
      left -= count;
    }
  }

  // Elements of `bytes` bytes that lack a value in any part, and the first of them.
  struct Missing {
    uint64_t count, elements, first;
  };
  Missing missing(uint32_t bytes) const;

 private:
  struct Free {
    void operator()(uint32_t* words) const { std::free(words); }
  };
  static constexpr unsigned kBits = 32;

  bool has_value(uint64_t granule) const { return words_[granule / kBits] >> granule % kBits & 1u; }

  std::unique_ptr<uint32_t[], Free> words_;
  uint64_t granules_ = 0;
  unsigned shift_ = 0;
};

}  // namespace pyptx::emulator
