// What instructions on matrices share: the types of their elements as numbers, sums, and fragments in registers.
//
// Which element a lane holds is the manual's ("Matrix Fragments for mma", "ldmatrix", "Register Fragments" of
// wgmma): blocks of 8 lines, of which lane l has line l / 4, and in it as many neighbours as a register holds, from
// l % 4 times as many on.
#pragma once

#include <cmath>
#include <string_view>

#include "../warp.h"
#include "floating.h"

namespace pyptx::emulator {

constexpr unsigned kBlockLines = 8, kLineLanes = 4;

// Operands beyond those that an instruction holds itself.
inline uint32_t slot(const Instruction& in, unsigned k) { return k < kInlineOperands ? in.operand[k] : in.more[k]; }

template <class T>
inline T* held(Warp& w, const Instruction& in, unsigned k) {
  const uint32_t at = slot(in, k);
  return reinterpret_cast<T*>(registers(w).base[at >> 31] + (at & ~kPoolBit));
}

// A small float's bits as those of a double; without infinities only the highest pattern is a NaN.
inline double small_float(uint32_t bits, unsigned exponent_bits, unsigned mantissa_bits, bool infinities) {
  const uint64_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const uint32_t most = (1u << exponent_bits) - 1, exponent = bits >> mantissa_bits & most;
  const uint64_t sign = static_cast<uint64_t>(bits >> (exponent_bits + mantissa_bits) & 1u) << 63;
  const int bias = static_cast<int>(most >> 1);
  if (exponent == most && (infinities ? mantissa != 0 : mantissa == (1u << mantissa_bits) - 1)) return std::nan("");
  if (exponent == most && infinities) return bits_as<double>(sign | 0x7ff0000000000000ull);
  if (exponent == 0) {
    const double least = bits_as<double>(static_cast<uint64_t>(1024 - bias - static_cast<int>(mantissa_bits)) << 52);
    const double size = static_cast<double>(mantissa) * least;
    return sign != 0 ? -size : size;
  }
  const auto place = static_cast<uint64_t>(static_cast<int>(exponent) - bias + 1023);
  return bits_as<double>(sign | place << 52 | mantissa << (52 - mantissa_bits));
}

// The type of a multiplicand's elements.
struct Multiplied {
  std::string_view name;
  unsigned bits;
  double (*value)(uint32_t);
};

// nullptr for what is no such type.
const Multiplied* multiplied(std::string_view name);

enum class Sum : uint8_t { F16, F32, S32 };

// The type that sums are in, by its name; false for another.
bool read_sum(std::string_view name, Sum* sum);

uint16_t to_half(double x);
// A sum as the bits that a register has of it: rounded once, to nearest even, or of an integer wrapped or clamped.
uint32_t rounded(Sum type, bool satfinite, double sum);
// The number that those bits are.
double addend(Sum type, uint32_t bits);

// The bits of an element of a multiplicand: of line `line`, place `along`, where the registers from slot `first` count
// blocks of lines first, of which there are `lines` in all.
inline uint32_t element(Warp& w, const Instruction& in, unsigned first, unsigned lines, unsigned bits, unsigned line,
                        unsigned along) {
  const unsigned per = 32 / bits, wide = kLineLanes * per;
  const unsigned reg = along / wide * (lines / kBlockLines) + line / kBlockLines;
  const unsigned lane = line % kBlockLines * kLineLanes + along % wide / per;
  const uint32_t word = held<uint32_t>(w, in, first + reg)[lane];
  return bits == 32 ? word : word >> (along % per * bits) & ((1u << bits) - 1);
}

// Whether the whole warp is here; lanes that never come are reported, and the others go on without them.
bool together(Warp& w, const Instruction& in, uint32_t mask);

}  // namespace pyptx::emulator
