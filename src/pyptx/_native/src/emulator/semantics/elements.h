// The elements of matrices as numbers: types of multiplicands, factors that scale them, and sums.
#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>

#include "floating.h"

namespace pyptx::emulator {

// What a small float has beyond numbers, at its highest exponent: IEEE's infinities and NaNs, one NaN (all bits set),
// or nothing.
enum class Specials : uint8_t { Infinities, OneNan, None };

// A small float's bits as those of a double.
inline double small_float(uint32_t bits, unsigned exponent_bits, unsigned mantissa_bits, Specials specials) {
  const uint64_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const uint32_t most = (1u << exponent_bits) - 1, exponent = bits >> mantissa_bits & most;
  const uint64_t sign = static_cast<uint64_t>(bits >> (exponent_bits + mantissa_bits) & 1u) << 63;
  const int bias = static_cast<int>(most >> 1);
  if (exponent == most && specials != Specials::None) {
    const bool infinities = specials == Specials::Infinities;
    if (infinities ? mantissa != 0 : mantissa == (1u << mantissa_bits) - 1) return std::nan("");
    if (infinities) return bits_as<double>(sign | 0x7ff0000000000000ull);
  }
  if (exponent == 0) {
    const double least = bits_as<double>(static_cast<uint64_t>(1024 - bias - static_cast<int>(mantissa_bits)) << 52);
    const double size = static_cast<double>(mantissa) * least;
    return sign != 0 ? -size : size;
  }
  const auto place = static_cast<uint64_t>(static_cast<int>(exponent) - bias + 1023);
  return bits_as<double>(sign | place << 52 | mantissa << (52 - mantissa_bits));
}

// The type of a multiplicand's elements. `bits` is what one of them takes, padding included.
struct Multiplied {
  std::string_view name;
  unsigned bits;
  double (*value)(uint32_t);
  int least_exponent = 0;  // of its normal numbers
  // The same of many, all of which f32 has.
  void (*values)(const uint32_t* bits, float* out, size_t count) = nullptr;
};

// nullptr for what is no such type. Elements of four bits are packed.
const Multiplied* multiplied(std::string_view name);

// What .kind::f8f6f4 and .kind::mxf8f6f4 multiply, a byte each; nullptr for another type.
const Multiplied* multiplied_in_bytes(std::string_view name);

// A factor of block scaling: ue8m0 or ue4m3; nullptr for another type.
using Factor = double (*)(uint32_t);
Factor factor(std::string_view name);

enum class Sum : uint8_t { F16, F32, S32 };

// The type that sums are in, by its name; false for another.
bool read_sum(std::string_view name, Sum* sum);

uint16_t to_half(double x);
// A sum as the bits that a register has of it: rounded once, to nearest even, or of an integer wrapped or clamped.
uint32_t rounded(Sum type, bool satfinite, double sum);
// The number that those bits are.
double addend(Sum type, uint32_t bits);

}  // namespace pyptx::emulator
