// tensor_tile.h with AVX-512, which is looked for when the program runs: in the library that has AVX2 anyway.
#include "tensor_tile.h"

#if defined(__x86_64__) && defined(__AVX2__)
#include <cpuid.h>

#define PYPTX_AVX512
#define PYPTX_TILE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
namespace pyptx::emulator {
namespace {
constexpr unsigned kWide = 16;
}  // namespace
}  // namespace pyptx::emulator

#include "tensor_tile_loops.h"

namespace pyptx::emulator {
namespace {

// Whether the processor has the instructions and the system keeps their registers.
bool has_avx512() {
  unsigned a, b, c, d;
  constexpr unsigned kSaves = 1u << 27, kInstructions = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31, kRegisters = 0xe6;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSaves) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & kInstructions) != kInstructions) return false;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kRegisters) == kRegisters;
}

}  // namespace

const TensorTile* tensor_tile_avx512() {
  static constexpr TensorTile kTile = {add, add_fragment, examine};
  static const bool has = has_avx512();
  return has ? &kTile : nullptr;
}

}  // namespace pyptx::emulator
#else
namespace pyptx::emulator {

const TensorTile* tensor_tile_avx512() { return nullptr; }

}  // namespace pyptx::emulator
#endif
