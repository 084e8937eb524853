// Rounding: the directions of PTX, the floating-point formats, and narrowing from one to another.
//
// Everything here is a pure function of bits, free of the host's rounding mode, and written without branches
// on the data so that a loop over lanes vectorises.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pyptx::emulator {

enum class Rounding : uint8_t {
  Nearest,  // .rn, ties to even
  Zero,     // .rz
  Down,     // .rm, towards minus infinity
  Up,       // .rp, towards plus infinity
  Away,     // .rna, to nearest, ties away from zero
};

template <class To, class From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// A binary format: a sign, E exponent bits, M fraction bits. `largest` is the greatest finite code without
// its sign, `nan` what a NaN becomes. A format without infinities has a code for it that is out of reach.
template <class BitsT, unsigned E, unsigned M, uint64_t Largest, uint64_t Infinity, uint64_t Nan>
struct Format {
  using Bits = BitsT;
  static constexpr unsigned exponent_bits = E;
  static constexpr unsigned fraction_bits = M;
  static constexpr int bias = (1 << (E - 1)) - 1;
  static constexpr Bits sign = Bits(1) << (E + M);
  static constexpr Bits magnitude = sign - 1;
  static constexpr Bits largest = Bits(Largest);
  static constexpr Bits infinity = Bits(Infinity);
  static constexpr Bits nan = Bits(Nan);
  static constexpr Bits least_normal = Bits(1) << M;
};

using Binary16 = Format<uint16_t, 5, 10, 0x7bff, 0x7c00, 0x7fff>;
using Bfloat16 = Format<uint16_t, 8, 7, 0x7f7f, 0x7f80, 0x7fff>;
// tf32 as its 19 significant bits; the lane holds them shifted left by 13.
using Tfloat32 = Format<uint32_t, 8, 10, 0x3fbff, 0x3fc00, 0x3ffff>;
using Binary32 = Format<uint32_t, 8, 23, 0x7f7fffff, 0x7f800000, 0x7fffffff>;
using Binary64 =
    Format<uint64_t, 11, 52, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff8000000000000>;
using E4M3 = Format<uint8_t, 4, 3, 0x7e, 0x80, 0x7f>;
using E5M2 = Format<uint8_t, 5, 2, 0x7b, 0x7c, 0x7f>;
using E2M3 = Format<uint8_t, 2, 3, 0x1f, 0x80, 0x1f>;
using E3M2 = Format<uint8_t, 3, 2, 0x1f, 0x80, 0x1f>;
using E2M1 = Format<uint8_t, 2, 1, 0x07, 0x80, 0x07>;

// Whether the last kept unit goes up when `rest` of `half * 2` is cut off.
template <class U>
inline U rounds_up(Rounding mode, bool negative, U odd, U rest, U half) {
  const U nearest = (rest > half) | ((rest == half) & odd);
  const U away = rest >= half;
  const U inexact = rest != 0;
  const U outwards = mode == Rounding::Up ? !negative : negative;
  return mode == Rounding::Nearest ? nearest
         : mode == Rounding::Away  ? away
         : mode == Rounding::Zero  ? U(0)
                                   : U(inexact & outwards);
}

// A direction as masks, all ones or zero, so that lanes choose by it without a branch.
template <class U>
struct Direction {
  U nearest, away, up, down;
  U finite;  // what is beyond the greatest finite value, infinities too, becomes that value
  explicit Direction(Rounding mode, bool to_finite = false)
      : nearest(mode == Rounding::Nearest ? ~U(0) : U(0)),
        away(mode == Rounding::Away ? ~U(0) : U(0)),
        up(mode == Rounding::Up ? ~U(0) : U(0)),
        down(mode == Rounding::Down ? ~U(0) : U(0)),
        finite(to_finite ? ~U(0) : U(0)) {}
};

// A value of format S in the smaller format T, rounded once. NaN gives T::nan; what is beyond the greatest
// finite value gives infinity, or that value where the direction points inwards.
template <class S, class T>
inline typename T::Bits narrow(typename S::Bits from, const Direction<typename S::Bits>& to) {
  using U = typename S::Bits;
  static_assert(sizeof(U) >= 4 && S::fraction_bits > T::fraction_bits);
  using I = std::conditional_t<sizeof(U) == 8, int64_t, int32_t>;
  constexpr I drop = S::fraction_bits - T::fraction_bits, rebias = S::bias - T::bias;
  const U negative = U(I(from) >> (8 * sizeof(U) - 1));  // all ones or zero
  const U magnitude = from & S::magnitude;
  const I field = I(magnitude >> S::fraction_bits);
  const U fraction = magnitude & (S::least_normal - 1);
  const U significand = field == 0 ? fraction : fraction | S::least_normal;
  const I exponent = (field == 0 ? 1 : field) - rebias;  // T's field, if it is positive
  // Below T's least normal the last place stays, so more is cut off; beyond the width nothing changes.
  constexpr I most = S::fraction_bits + 2;
  const I deep = drop + 1 - exponent < most ? drop + 1 - exponent : most;
  const I shift = exponent > 0 ? drop : deep;
  // Adding just below half a unit, or half, or just below one, carries into what is kept where that goes up.
  const U half = (U(1) << shift) >> 1;
  const U odd = (significand >> shift) & 1;
  const U outwards = (to.up & ~negative) | (to.down & negative);
  const U carry = ((half - 1 + odd) & to.nearest) | (half & to.away) | ((half + half - 1) & outwards);
  const U base = U(exponent > 0 ? exponent - 1 : 0) << T::fraction_bits;
  U code = base + ((significand + carry) >> shift);
  // Infinities have the largest exponent of S and end up beyond too. The choice is made in masks, which is
  // what lets the loop over lanes vectorise.
  const U infinite = magnitude == S::infinity ? ~U(0) : U(0);
  const U far = (to.nearest | to.away | outwards | infinite) & ~to.finite;
  const U beyond = U(T::largest) ^ ((U(T::largest) ^ U(T::infinity)) & far);
  code = code > U(T::largest) ? beyond : code;
  code |= negative & U(T::sign);
  return typename T::Bits(magnitude > S::infinity ? U(T::nan) : code);
}

template <class S, class T>
inline typename T::Bits narrow(typename S::Bits from, Rounding mode) {
  return narrow<S, T>(from, Direction<typename S::Bits>(mode));
}

// A value of format S in the larger format T: exact. NaN gives T::nan.
template <class S, class T>
inline typename T::Bits widen(typename S::Bits from) {
  using U = typename T::Bits;
  constexpr unsigned gain = T::fraction_bits - S::fraction_bits;
  const U magnitude = U(from & S::magnitude);
  const U sign = U(from & S::sign) << (T::exponent_bits + T::fraction_bits - S::exponent_bits - S::fraction_bits);
  U code = (magnitude << gain) + (U(T::bias - S::bias) << T::fraction_bits);
  if (T::bias != S::bias) {
    // A subnormal of S: put its digits behind the exponent of S's least normal and subtract that again.
    const U scale = U(T::bias - S::bias + 1) << T::fraction_bits;
    using F = std::conditional_t<sizeof(U) == 8, double, float>;
    const F value = bits_as<F>(U(scale | (magnitude << gain))) - bits_as<F>(scale);
    code = magnitude < S::least_normal ? bits_as<U>(value) : code;
  }
  if (S::infinity > S::largest) code = magnitude >= S::infinity ? U(T::infinity) : code;
  if (S::nan > S::largest) code = magnitude > S::largest && magnitude != S::infinity ? U(T::nan) : code;
  return (U(T::nan) & T::magnitude) == (code & T::magnitude) ? U(T::nan) : code | sign;
}

}  // namespace pyptx::emulator
