// Floating-point arithmetic in integers: exact significands of up to 128 bits, rounded once.
//
// For what the host's own arithmetic cannot do in one operation: the directed roundings of f64, and integers
// to and from floats in every direction. Scalar, and free of the host's rounding mode.
#pragma once

#include "machine/machine.h"
#include "rounding.h"

namespace pyptx::emulator {

// value = significand * 2^exponent. Bit 0 of the significand may be sticky: set if anything below is lost.
struct Exact {
  bool negative;
  int exponent;
  uint128 significand;
};

inline int leading_zeros(uint128 v) {
  const uint64_t high = static_cast<uint64_t>(v >> 64), low = static_cast<uint64_t>(v);
  return high ? __builtin_clzll(high) : low ? 64 + __builtin_clzll(low) : 128;
}

inline uint128 shift_right_sticky(uint128 v, int by) {
  if (by <= 0) return v;
  if (by >= 128) return v != 0;
  return (v >> by) | ((v & ((uint128(1) << by) - 1)) != 0);
}

// A finite value of format F.
template <class F>
Exact unpack(typename F::Bits bits) {
  const int field = static_cast<int>((bits & F::magnitude) >> F::fraction_bits);
  const typename F::Bits fraction = bits & (F::least_normal - 1);
  return {(bits & F::sign) != 0, (field ? field : 1) - F::bias - static_cast<int>(F::fraction_bits),
          field ? uint128(fraction | F::least_normal) : uint128(fraction)};
}

// Round to format F. A zero keeps the sign of `v`.
template <class F>
typename F::Bits round_to(const Exact& v, Rounding mode) {
  using Bits = typename F::Bits;
  const Bits sign = v.negative ? F::sign : Bits(0);
  if (v.significand == 0) return sign;
  constexpr int precision = F::fraction_bits + 1;
  const int top = 128 - leading_zeros(v.significand);
  const int least = 1 - F::bias - static_cast<int>(F::fraction_bits);
  int exponent = v.exponent + top - precision;  // of the last place kept
  if (exponent < least) exponent = least;
  const int cut = exponent - v.exponent;
  uint128 kept = 0, rest = 0, half = 1;
  if (cut <= 0) {
    kept = v.significand << -cut;
  } else if (cut <= 126) {
    kept = v.significand >> cut;
    rest = v.significand & ((uint128(1) << cut) - 1);
    half = uint128(1) << (cut - 1);
  } else {
    rest = 1, half = 2;  // less than half of the least place
  }
  if (rest != 0 && rounds_up<uint128>(mode, v.negative, kept & 1, rest, half)) ++kept;
  if (kept >> precision) kept >>= 1, ++exponent;
  if (!(kept >> F::fraction_bits)) return sign | static_cast<Bits>(kept);  // subnormal
  const int field = exponent - least + 1;
  if (field >= (1 << F::exponent_bits) - 1) {
    const bool outwards = mode == Rounding::Nearest || mode == Rounding::Away ||
                          mode == (v.negative ? Rounding::Down : Rounding::Up);
    return sign | (outwards ? F::infinity : F::largest);
  }
  return sign | static_cast<Bits>(Bits(field) << F::fraction_bits) |
         static_cast<Bits>(kept & (F::least_normal - 1));
}

// a + b; an exact zero of opposite signs is -0 only when rounding down.
inline Exact add_exact(Exact a, Exact b, Rounding mode) {
  if (a.significand == 0 && b.significand == 0)
    return {a.negative == b.negative ? a.negative : mode == Rounding::Down, 0, 0};
  if (a.significand == 0) return b;
  if (b.significand == 0) return a;
  // Both to the top but one bit for a carry, then the smaller down to the larger's exponent.
  for (Exact* x : {&a, &b}) {
    const int room = leading_zeros(x->significand) - 2;
    x->significand <<= room;
    x->exponent -= room;
  }
  if (a.exponent < b.exponent) std::swap(a, b);
  b.significand = shift_right_sticky(b.significand, a.exponent - b.exponent);
  if (a.negative == b.negative) return {a.negative, a.exponent, a.significand + b.significand};
  if (a.significand == b.significand) return {mode == Rounding::Down, 0, 0};
  if (a.significand > b.significand) return {a.negative, a.exponent, a.significand - b.significand};
  return {b.negative, a.exponent, b.significand - a.significand};
}

// Significands of at most 64 bits.
inline Exact multiply_exact(const Exact& a, const Exact& b) {
  return {a.negative != b.negative, a.exponent + b.exponent, a.significand * b.significand};
}

// Significands of at most 53 bits, b not zero: 64 or more bits of quotient and a sticky one.
inline Exact divide_exact(Exact a, const Exact& b) {
  if (a.significand == 0) return {a.negative != b.negative, 0, 0};
  const int room = leading_zeros(a.significand);
  a.significand <<= room;
  const uint128 quotient = a.significand / b.significand;
  const bool inexact = quotient * b.significand != a.significand;
  return {a.negative != b.negative, a.exponent - room - b.exponent, quotient | inexact};
}

// a not negative, at most 53 bits: 62 or more bits of root and a sticky one.
inline Exact root_exact(Exact a) {
  if (a.significand == 0) return a;
  int room = leading_zeros(a.significand) - 1;
  if ((a.exponent - room) & 1) --room;
  a.significand <<= room;
  a.exponent -= room;
  uint128 root = 0, rest = a.significand;
  for (uint128 bit = uint128(1) << 126; bit; bit >>= 2) {
    const bool fits = rest >= root + bit;
    if (fits) rest -= root + bit;
    root = (root >> 1) + (fits ? bit : 0);
  }
  return {false, a.exponent / 2 - 1, (root << 1) | (rest != 0)};
}

}  // namespace pyptx::emulator
