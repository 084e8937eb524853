// Four by four elements of 32 bits, whose rows become columns in registers of the host.
#pragma once

#include <cstdint>
#include <cstring>

namespace pyptx::emulator {

using Quad = uint32_t __attribute__((vector_size(16)));

inline Quad quad_at(const void* p) {
  Quad q;
  std::memcpy(&q, p, sizeof q);
  return q;
}

inline void put(void* p, Quad q) { std::memcpy(p, &q, sizeof q); }

// Two quads, which are transposed side by side. By reference: without AVX they are passed by value in another way.
using TwoQuads = uint32_t __attribute__((vector_size(32)));

inline void get(TwoQuads& q, const void* p) { std::memcpy(&q, p, sizeof q); }

inline void put(void* p, const TwoQuads& q) { std::memcpy(p, &q, sizeof q); }

// Four elements of two vectors, counted from 0 in a and from where a ends in b; the same of second quads.
#if defined(__clang__)
#define PYPTX_PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#define PYPTX_PICK_EIGHT(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PYPTX_PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, Pick{i, j, k, l})
#define PYPTX_PICK_EIGHT(a, b, ...) __builtin_shuffle(a, b, PickTwo{__VA_ARGS__})
#endif
#define PYPTX_PICK_TWO(a, b, i, j, k, l) PYPTX_PICK_EIGHT(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4)

inline void transpose(Quad& a, Quad& b, Quad& c, Quad& d) {
  using Pick [[maybe_unused]] = int32_t __attribute__((vector_size(16)));
  const Quad low_ab = PYPTX_PICK(a, b, 0, 4, 1, 5), high_ab = PYPTX_PICK(a, b, 2, 6, 3, 7);
  const Quad low_cd = PYPTX_PICK(c, d, 0, 4, 1, 5), high_cd = PYPTX_PICK(c, d, 2, 6, 3, 7);
  a = PYPTX_PICK(low_ab, low_cd, 0, 1, 4, 5);
  b = PYPTX_PICK(low_ab, low_cd, 2, 3, 6, 7);
  c = PYPTX_PICK(high_ab, high_cd, 0, 1, 4, 5);
  d = PYPTX_PICK(high_ab, high_cd, 2, 3, 6, 7);
}

inline void transpose(TwoQuads& a, TwoQuads& b, TwoQuads& c, TwoQuads& d) {
  using PickTwo [[maybe_unused]] = int32_t __attribute__((vector_size(32)));
  const TwoQuads low_ab = PYPTX_PICK_TWO(a, b, 0, 8, 1, 9), high_ab = PYPTX_PICK_TWO(a, b, 2, 10, 3, 11);
  const TwoQuads low_cd = PYPTX_PICK_TWO(c, d, 0, 8, 1, 9), high_cd = PYPTX_PICK_TWO(c, d, 2, 10, 3, 11);
  a = PYPTX_PICK_TWO(low_ab, low_cd, 0, 1, 8, 9);
  b = PYPTX_PICK_TWO(low_ab, low_cd, 2, 3, 10, 11);
  c = PYPTX_PICK_TWO(high_ab, high_cd, 0, 1, 8, 9);
  d = PYPTX_PICK_TWO(high_ab, high_cd, 2, 3, 10, 11);
}

// The first quads of two vectors, and their second ones.
inline void pair(TwoQuads& a, TwoQuads& b) {
  using PickTwo [[maybe_unused]] = int32_t __attribute__((vector_size(32)));
  const TwoQuads low = PYPTX_PICK_EIGHT(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
  b = PYPTX_PICK_EIGHT(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  a = low;
}
#undef PYPTX_PICK
#undef PYPTX_PICK_TWO
#undef PYPTX_PICK_EIGHT

}  // namespace pyptx::emulator
