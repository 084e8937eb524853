#include "written.h"

#include <new>

namespace pyptx::emulator {

void Written::make(uint64_t bytes, uint32_t size) {
  while (size >> shift_ > 1) ++shift_;
  granules_ = bytes >> shift_;
  words_.reset(static_cast<uint32_t*>(std::calloc(granules_ / kBits + 1, sizeof(uint32_t))));
  if (words_ == nullptr) throw std::bad_alloc();
}

Written::Missing Written::missing(uint32_t bytes) const {
  const uint64_t each = bytes >> shift_;
  // Mostly all are written: several words are looked at together.
  constexpr uint64_t kTogether = 16;
  const uint64_t words = granules_ / kBits;
  uint64_t word = 0;
  for (uint32_t all = ~0u; word + kTogether <= words; word += kTogether) {
    for (uint64_t k = 0; k < kTogether; ++k) all &= words_[word + k];
    if (all != ~0u) break;
  }
  while (word < words && words_[word] == ~0u) ++word;
  uint64_t granule = word * kBits;
  while (granule < granules_ && has_value(granule)) ++granule;
  Missing out{0, granules_ / each, granule / each};
  for (uint64_t element = out.first; element < out.elements; ++element) {
    bool whole = true;
    for (uint64_t k = 0; k < each; ++k) whole &= has_value(element * each + k);
    out.count += !whole;
  }
  return out;
}

}  // namespace pyptx::emulator
