// Elements of a multiplicand that tensor cores read from shared memory, from chunks to Numbers::bits.
#pragma once

#include "quads.h"
#include "shared_matrix.h"
#include "tensor_sum.h"

namespace pyptx::emulator {

// Rows of A, or columns of B: those that chunks have are lines `first` and behind.
struct LineRange {
  unsigned first, count;
};

// Where lines are among those of a range, and the other way round.
struct LineOrder {
  static unsigned at(unsigned line) { return line; }
  static unsigned line(unsigned at) { return at; }
};

// Chunks along K, line by line; four lines, of which there is a multiple of four, are turned at once.
template <class T, class Order>
void load_rows(const Cta& cta, const std::vector<uint32_t>& places, LineRange range, Numbers* numbers) {
  constexpr unsigned kLines = 4, kPer = sizeof(uint32_t) / sizeof(T), kWidth = 8 * sizeof(T);
  constexpr uint32_t kOnes = ~0u >> (32 - kWidth);
  const unsigned chunks = numbers->steps * sizeof(T) / kChunk;
  for (unsigned at = 0; at < range.count; at += kLines) {
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      Quad words[kLines];
      for (unsigned i = 0; i < kLines; ++i) {
        words[i] = quad_at(cta.shared + places[Order::line(at + i) * chunks + chunk]);
      }
      transpose(words[0], words[1], words[2], words[3]);
      uint32_t* to = &numbers->bits[numbers->at(chunk * (kChunk / sizeof(T)), range.first + at)];
      for (const Quad& word : words) {
        for (unsigned e = 0; e < kPer; ++e, to += numbers->stride) put(to, word >> kWidth % 32 * e & kOnes);
      }
    }
  }
}

// Chunks of neighbouring lines, step by step.
template <class T, class Order>
void load_columns(const Cta& cta, const std::vector<uint32_t>& places, LineRange range, Numbers* numbers) {
  constexpr unsigned kEach = kChunk / sizeof(T);
  const unsigned chunks = range.count / kEach;
  for (size_t i = 0; i < places.size(); ++i) {
    T elements[kEach];
    std::memcpy(elements, cta.shared + places[i], kChunk);
    const auto step = static_cast<unsigned>(i) / chunks, first = static_cast<unsigned>(i) % chunks * kEach;
    uint32_t* to = &numbers->bits[numbers->at(step, range.first)];
    for (unsigned e = 0; e < kEach; ++e) to[Order::at(first + e)] = elements[e];
  }
}

}  // namespace pyptx::emulator
