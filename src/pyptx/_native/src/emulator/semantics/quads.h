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

// Four elements of two vectors, counted from 0 in a and from 4 in b.
#if defined(__clang__)
#define PYPTX_PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define PYPTX_PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, Pick{i, j, k, l})
#endif

inline void transpose(Quad& a, Quad& b, Quad& c, Quad& d) {
  using Pick [[maybe_unused]] = int32_t __attribute__((vector_size(16)));
  const Quad low_ab = PYPTX_PICK(a, b, 0, 4, 1, 5), high_ab = PYPTX_PICK(a, b, 2, 6, 3, 7);
  const Quad low_cd = PYPTX_PICK(c, d, 0, 4, 1, 5), high_cd = PYPTX_PICK(c, d, 2, 6, 3, 7);
  a = PYPTX_PICK(low_ab, low_cd, 0, 1, 4, 5);
  b = PYPTX_PICK(low_ab, low_cd, 2, 3, 6, 7);
  c = PYPTX_PICK(high_ab, high_cd, 0, 1, 4, 5);
  d = PYPTX_PICK(high_ab, high_cd, 2, 3, 6, 7);
}
#undef PYPTX_PICK

}  // namespace pyptx::emulator
