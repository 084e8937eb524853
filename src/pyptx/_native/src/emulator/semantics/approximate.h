// The .approx functions, rounded correctly but where it is known what an H200 gives instead: the same bits on
// every machine and in every build.
//
// Each function has a kernel in f64 that vectorises, with a relative error below 2^-46 by a wide margin, and
// a slow twin in double-double or integers for the few values (about one in 2^20) where that does not decide
// the rounding to f32. Neither uses the C library's functions, whose last bits differ between systems.
#pragma once

#include "floating.h"

namespace pyptx::emulator {

// hi + lo, with |lo| at most half a unit of hi.
struct Double2 {
  double hi, lo;
};
inline Double2 two_sum(double a, double b) {
  const double s = a + b, v = s - a;
  return {s, (a - (s - v)) + (b - v)};
}
inline Double2 two_product(double a, double b) {
  const double p = a * b;
  return {p, std::fma(a, b, -p)};
}
inline Double2 operator+(Double2 a, Double2 b) {
  const Double2 s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
  const Double2 u = two_sum(s.hi, s.lo + t.hi);
  return two_sum(u.hi, u.lo + t.lo);
}
inline Double2 operator*(Double2 a, Double2 b) {
  const Double2 p = two_product(a.hi, b.hi);
  return two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
inline Double2 operator/(Double2 a, Double2 b) {
  const double q = a.hi / b.hi;
  const Double2 r = a + b * Double2{-q, 0};
  const double q2 = r.hi / b.hi;
  const Double2 r2 = r + b * Double2{-q2, 0};
  const Double2 s = two_sum(q, q2);
  return two_sum(s.hi, s.lo + r2.hi / b.hi);
}
inline Double2 scaled(Double2 a, int power) {
  return {std::ldexp(a.hi, power), std::ldexp(a.lo, power)};
}
inline float to_single(Double2 a) { return static_cast<float>(add_odd(a.hi, a.lo)); }

constexpr Double2 kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr Double2 kLog2E{0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
constexpr Double2 kHalfPi{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

// a * b + c with one rounding where that is fast, else two: a kernel may do either, because what is made of
// its value does not depend on its last bits.
inline double multiply_add(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// The nearest integer, for |x| < 2^51.
inline double nearest_integer(double x) {
  return (x + 0x1.8p52) - 0x1.8p52;
}
// 2^n for an integer n of the normal range.
inline double power_of_two(double n) {
  return bits_as<double>(static_cast<uint64_t>(bits_as<int64_t>(n + 0x1.8p52) + 1023) << 52);
}

// e^r - 1 for |r| < 0.35, by the first 14 terms of its series.
inline double expm1_kernel(double r) {
  double p = 1.0 / 87178291200;
  p = multiply_add(p, r, 1.0 / 6227020800);
  p = multiply_add(p, r, 1.0 / 479001600);
  p = multiply_add(p, r, 1.0 / 39916800);
  p = multiply_add(p, r, 1.0 / 3628800);
  p = multiply_add(p, r, 1.0 / 362880);
  p = multiply_add(p, r, 1.0 / 40320);
  p = multiply_add(p, r, 1.0 / 5040);
  p = multiply_add(p, r, 1.0 / 720);
  p = multiply_add(p, r, 1.0 / 120);
  p = multiply_add(p, r, 1.0 / 24);
  p = multiply_add(p, r, 1.0 / 6);
  p = multiply_add(p, r, 0.5);
  return r + r * r * p;
}
inline Double2 expm1_slow(Double2 r) {
  Double2 p{0, 0};
  for (int k = 30; k >= 1; --k) p = (p + Double2{1, 0}) * r / Double2{static_cast<double>(k), 0};
  return p;
}

// An H200 gives 1 for every argument of a magnitude below 2^-23, and so does this.
struct Exp2 {
  static double kernel(double x) {
    x = std::fabs(x) < 0x1p-23 ? 0.0 : x;
    x = x < -1100.0 ? -1100.0 : x > 1020.0 ? 1020.0 : x;
    const double least = x < -1000.0 ? -1000.0 : x;  // below, any f32 or f16 is zero
    const double n = nearest_integer(least);
    const double r = expm1_kernel((least - n) * kLn2.hi);
    const double scale = power_of_two(n);
    return scale + scale * r;
  }
  static bool outside(double) { return false; }
  static float slow(float x) {
    const double n = nearest_integer(x);
    if (n == x) return static_cast<float>(std::ldexp(1.0, static_cast<int>(n)));
    const Double2 p = expm1_slow(Double2{x - n, 0} * kLn2) + Double2{1, 0};
    return to_single(scaled(p, static_cast<int>(n)));
  }
};

struct Log2 {
  static double kernel(double x) {
    // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
    constexpr uint64_t root_half = 0x3fe6a09e667f3bcd;
    const uint64_t above = bits_as<uint64_t>(x) - root_half;
    const double e = bits_as<double>(((above + (uint64_t(1) << 62)) >> 52 & 0x7ff) + 0x4338000000000000) -
                     (0x1.8p52 + 1024);
    const double m = bits_as<double>((above & 0x000fffffffffffff) + root_half);
    const double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 / 25;
    p = multiply_add(p, z, 1.0 / 23);
    p = multiply_add(p, z, 1.0 / 21);
    p = multiply_add(p, z, 1.0 / 19);
    p = multiply_add(p, z, 1.0 / 17);
    p = multiply_add(p, z, 1.0 / 15);
    p = multiply_add(p, z, 1.0 / 13);
    p = multiply_add(p, z, 1.0 / 11);
    p = multiply_add(p, z, 1.0 / 9);
    p = multiply_add(p, z, 1.0 / 7);
    p = multiply_add(p, z, 1.0 / 5);
    p = multiply_add(p, z, 1.0 / 3);
    const double log = e + (s + s * z * p) * (2 * kLog2E.hi);
    const double infinity = HUGE_VAL;
    return x == 0 ? -infinity : x == infinity ? x : x > 0 ? log : bits_as<double>(kNan64);
  }
  static bool outside(double) { return false; }
  static float slow(float x) {
    int e;
    double m = std::frexp(static_cast<double>(x), &e);
    if (m < 0x1.6a09e667f3bcdp-1) m *= 2, --e;
    const Double2 s = Double2{m - 1, 0} / Double2{m + 1, 0}, z = s * s;
    Double2 p{0, 0};
    for (int k = 61; k >= 1; k -= 2) p = p * z + Double2{1, 0} / Double2{static_cast<double>(k), 0};
    return to_single(Double2{static_cast<double>(e), 0} + p * s * kLog2E * Double2{2, 0});
  }
};

// sin and cos are two machine instructions. The first multiplies by 1 / 2 pi, rounded to 24 bits, and
// truncates the product to f32. The second truncates that, a number of turns, to a multiple of 2^-25. The
// function of this angle is rounded correctly here; an H200 is within 2^-21 of it for every argument, while
// the function of the argument itself is up to 2 away where that is large.
template <bool Cosine>
struct Sine {
  static constexpr double kTurns = 0x1.45f306p-3;  // in one radian
  static constexpr double kUnits = 0x1p25;         // in one turn
  static constexpr double kQuarter = 0x1p23;

  // The angle in units, by magnitude: less than 2^48. All f32 numbers of turns beyond 2^23 are integers.
  static double units(double x) {
    const double product = x * kTurns;
    const double turns = bits_as<double>(bits_as<uint64_t>(product) & ~uint64_t{(1ull << 63) | 0x1fffffff});
    const double exact = turns < 0x1p23 ? turns * kUnits : 0.0;
    const double near = nearest_integer(exact);
    return near - (near > exact ? 1.0 : 0.0);
  }
  // The sign of sin or cos in a quadrant, counted from the one around zero.
  static double with_sign(double x, double y, int64_t quadrant) {
    const uint64_t flips = static_cast<uint64_t>(quadrant & 2) << 62;
    const uint64_t own = Cosine ? 0 : bits_as<uint64_t>(x) & 1ull << 63;
    return bits_as<double>(bits_as<uint64_t>(y) ^ flips ^ own);
  }
  static double kernel(double x) {
    const double angle = units(x);
    const double n = nearest_integer(angle / kQuarter);
    const double r = (angle - n * kQuarter) * (kHalfPi.hi / kQuarter);
    const double z = r * r;
    double s = -1.0 / 1307674368000;
    s = multiply_add(s, z, 1.0 / 6227020800);
    s = multiply_add(s, z, -1.0 / 39916800);
    s = multiply_add(s, z, 1.0 / 362880);
    s = multiply_add(s, z, -1.0 / 5040);
    s = multiply_add(s, z, 1.0 / 120);
    s = multiply_add(s, z, -1.0 / 6);
    s = r + r * z * s;
    double c = 1.0 / 20922789888000;
    c = multiply_add(c, z, -1.0 / 87178291200);
    c = multiply_add(c, z, 1.0 / 479001600);
    c = multiply_add(c, z, -1.0 / 3628800);
    c = multiply_add(c, z, 1.0 / 40320);
    c = multiply_add(c, z, -1.0 / 720);
    c = multiply_add(c, z, 1.0 / 24);
    c = multiply_add(c, z, -0.5);
    c = 1 + z * c;
    const int64_t q = bits_as<int64_t>(n + 0x1.8p52) + (Cosine ? 1 : 0);
    const double y = with_sign(x, (q & 1) ? c : s, q);
    return std::fabs(x) <= 0x1.fffffep127 ? y : bits_as<double>(kNan64);
  }
  static bool outside(double) { return false; }
  static float slow(float x) {
    const double angle = units(x), n = nearest_integer(angle / kQuarter);
    const int quadrant = static_cast<int>(static_cast<int64_t>(n) & 3) + (Cosine ? 1 : 0);
    const Double2 r = Double2{(angle - n * kQuarter) / kQuarter, 0} * kHalfPi, z = r * r * Double2{-1, 0};
    Double2 p{1, 0};
    for (int k = (quadrant & 1) ? 28 : 29; k >= 2; k -= 2)
      p = p * z / Double2{static_cast<double>(k * (k - 1)), 0} + Double2{1, 0};
    if (!(quadrant & 1)) p = p * r;
    return static_cast<float>(with_sign(x, to_single(p), quadrant));
  }
};

// An H200 gives the argument itself where its magnitude is below 2^-8, and 1 from 8 on.
struct Tanh {
  static double kernel(double x) {
    const double a = std::fabs(x);
    const double y = 2 * (a > 20.0 ? 20.0 : a);
    const double n = nearest_integer(y * kLog2E.hi);
    double r = y - n * 0x1.62e42fefa2000p-1;
    r = r - n * 0x1.9ef35793c7673p-41;
    const double scale = power_of_two(n);
    const double t = scale * expm1_kernel(r) + (scale - 1);
    const double curved = t / (t + 2);
    const double magnitude = a < 0x1p-8 ? a : a >= 8.0 ? 1.0 : curved;
    return x != x ? x : std::copysign(magnitude, x);
  }
  static bool outside(double) { return false; }
  static float slow(float x) {
    const double y = 2 * std::fabs(static_cast<double>(x));
    const double n = nearest_integer(y * kLog2E.hi);
    const Double2 r = Double2{y, 0} + kLn2 * Double2{-n, 0};
    const Double2 p = expm1_slow(r);
    const Double2 t = scaled(p, static_cast<int>(n)) + Double2{std::ldexp(1.0, static_cast<int>(n)) - 1, 0};
    return std::copysign(to_single(t / (t + Double2{2, 0})), x);
  }
};

struct ReciprocalRoot {
  static double kernel(double x) { return 1.0 / std::sqrt(x); }
  static bool outside(double) { return false; }
  // The neighbours' midpoint m is the wrong side exactly if m^2 x > 1, and m^2 has 50 bits.
  static float slow(float x) {
    const double y = kernel(x);
    const float near = static_cast<float>(y);
    const float below = near > y ? bits_as<float>(bits_as<uint32_t>(near) - 1) : near;
    const float above = bits_as<float>(bits_as<uint32_t>(below) + 1);
    const double middle = (static_cast<double>(below) + above) / 2;
    return std::fma(middle * middle, static_cast<double>(x), -1.0) > 0 ? below : above;
  }
};

// Whether a kernel's value y does not decide its rounding to f32.
inline bool undecided(double y) {
  const double margin = y * 0x1p-46;
  return static_cast<float>(y - margin) < static_cast<float>(y + margin) ||
         static_cast<float>(y - margin) > static_cast<float>(y + margin);
}

// Whether y^2 m > 2^160, for y of at most 55 bits and m of at most 54.
inline bool square_times_exceeds(uint64_t y, uint64_t m) {
  const uint128 square = uint128(y) * y;
  const uint128 low = uint128(static_cast<uint64_t>(square)) * m;
  const uint128 high = (square >> 64) * m + (low >> 64);
  const uint128 limit = uint128(1) << 96;
  return high > limit || (high == limit && static_cast<uint64_t>(low) != 0);
}

// 1/sqrt(x) of f64. The host's value is off by a unit or so; the midpoints beside it decide exactly.
inline double reciprocal_root(double x) {
  if (x != x) return propagate(x);
  if (x == 0) return std::copysign(HUGE_VAL, x);
  if (x < 0) return bits_as<double>(kNan64);
  if (!finite(x)) return 0;
  int e;
  double m = std::frexp(x, &e) * 2;  // in [1, 4) once e is even
  if (--e & 1) m *= 2, --e;
  const uint64_t scaled_m = static_cast<uint64_t>(m * 0x1p52);
  uint64_t y = static_cast<uint64_t>(1.0 / std::sqrt(m) * 0x1p54);  // in (1/2, 1], its unit is 2
  while (!square_times_exceeds(y + 1, scaled_m)) y += 2;
  while (square_times_exceeds(y - 1, scaled_m)) y -= 2;
  return std::ldexp(static_cast<double>(y), -54 - e / 2);
}

}  // namespace pyptx::emulator
