// Lane functions of f32 and f64 arithmetic: rounding, flushing, saturation and NVIDIA's NaN.
//
// f32 is exact in every direction without touching the host's rounding mode: a sum, product, quotient or
// root of f32 values is formed in f64 such that one more rounding gives the right f32 (see round_odd below),
// and the direction is settled by comparing the rounded value with the unrounded one. f64 to nearest is the
// host's own; its other directions go through exact.h.
#pragma once

#include <cmath>

#include "exact.h"
#include "rounding.h"

namespace pyptx::emulator {

constexpr uint32_t kNan32 = 0x7fffffffu;           // every NaN that f32 arithmetic makes
constexpr uint64_t kNan64 = 0xfff8000000000000ull;  // what f64 arithmetic makes of no NaN
constexpr uint64_t kQuiet64 = 0x0008000000000000ull;

inline float flush(float x) {
  const uint32_t b = bits_as<uint32_t>(x);
  return bits_as<float>((b & 0x7f800000u) ? b : b & 0x80000000u);
}
inline double flush(double x) {
  const uint64_t b = bits_as<uint64_t>(x);
  return bits_as<double>((b & 0x7ff0000000000000ull) ? b : b & 0x8000000000000000ull);
}
// A choice of bits: to Clang all NaN that arithmetic makes are one, so it drops a choice between two of them.
inline float canonical(float x) { return bits_as<float>(x != x ? kNan32 : bits_as<uint32_t>(x)); }
// [0, 1]; NaN and -0 give +0.
inline float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline double saturate(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

// The NaN of an f64 operation: the first of these that is one, made quiet, with its sign and payload. Which
// source comes first is the operation's.
inline double propagate(double a) { return bits_as<double>(bits_as<uint64_t>(a) | kQuiet64); }
inline double nan_of(double a) { return a != a ? propagate(a) : bits_as<double>(kNan64); }
inline double nan_of(double a, double b) {
  return a != a ? propagate(a) : b != b ? propagate(b) : bits_as<double>(kNan64);
}
inline double nan_of(double a, double b, double c) {
  return a != a ? propagate(a) : nan_of(b, c);
}

// The sum rounded to odd: where it is inexact the last place is one. Rounding that once more, to a format at
// least two places shorter, gives the correctly rounded sum (Boldo and Melquiond, "Emulation of FMA and
// correctly rounded sums: proved algorithms using rounding to odd", 2008).
// No overflow may occur; infinities and NaN pass through.
template <class F>
inline F add_odd(F a, F b) {
  using I = std::conditional_t<sizeof(F) == 8, int64_t, int32_t>;
  const F s = a + b, v = s - a;
  const F error = (a - (s - v)) + (b - v);
  const I bits = bits_as<I>(s);
  const I inexact = std::fabs(error) > 0 ? I(-1) : I(0);  // not for the NaN that infinities leave
  const I even = (bits & 1) - 1;
  const I step = (bits ^ bits_as<I>(error)) < 0 ? I(-1) : I(1);
  return bits_as<F>(bits + (step & inexact & even));
}

// Rounds to f32; `x` is exact, or rounded such that it decides every direction.
inline float round_single(double x, Rounding mode) {
  const float r = static_cast<float>(x);
  const double back = r;
  const bool down = mode == Rounding::Down || (mode == Rounding::Zero && x > 0);
  const bool up = mode == Rounding::Up || (mode == Rounding::Zero && x < 0);
  const int32_t bits = bits_as<int32_t>(r);
  const int32_t outwards = bits < 0 ? -1 : 1;  // adds one unit upwards
  const int32_t step = down && back > x ? -outwards : up && back < x ? outwards : 0;
  return bits_as<float>(bits + step);  // a zero has the sign of x, so it only ever steps outwards
}

// .ftz of a result that is still to be rounded to f32: zero if its 24 digits, rounded as if there were no least
// exponent, are below the least normal value. So some are zero that would round up to that value.
inline double flush_tiny(double x, Rounding mode) {
  const float digits = round_single(x * 0x1p100, mode);
  return std::fabs(digits) < 0x1p-26f ? std::copysign(0.0, x) : x;
}

// `makes_tiny`: whether a result may be smaller than the least normal value and inexact, which sums cannot.
// `nan`: the NaN of these f64 sources, in the order that the hardware prefers them.
struct Add {
  static constexpr bool divides = false, makes_tiny = false;
  static double nan(double a, double b) { return nan_of(b, a); }
  static float nearest(float a, float b) { return a + b; }
  static double exact(float a, float b, Rounding mode) {
    const double s = add_odd(static_cast<double>(a), static_cast<double>(b));
    const bool minus = mode == Rounding::Down && s == 0 && (std::signbit(a) || std::signbit(b));
    return minus ? -0.0 : s;
  }
  static double nearest(double a, double b) { return a + b; }
  static Exact exact(const Exact& a, const Exact& b, Rounding m) { return add_exact(a, b, m); }
};

struct Subtract {
  static constexpr bool divides = false, makes_tiny = false;
  static double nan(double a, double b) { return nan_of(b, a); }
  static float nearest(float a, float b) { return a - b; }
  static double exact(float a, float b, Rounding mode) { return Add::exact(a, -b, mode); }
  static double nearest(double a, double b) { return a - b; }
  static Exact exact(const Exact& a, Exact b, Rounding m) {
    b.negative = !b.negative;
    return add_exact(a, b, m);
  }
};

struct Multiply {
  static constexpr bool divides = false, makes_tiny = true;
  static double nan(double a, double b) { return nan_of(b, a); }
  static float nearest(float a, float b) { return a * b; }
  static double exact(float a, float b, Rounding) { return static_cast<double>(a) * b; }
  static double nearest(double a, double b) { return a * b; }
  static Exact exact(const Exact& a, const Exact& b, Rounding) { return multiply_exact(a, b); }
};

struct Divide {
  static constexpr bool divides = true, makes_tiny = true;
  static double nan(double a, double b) { return nan_of(a, b); }
  static float nearest(float a, float b) { return a / b; }
  // Never within 2^-50 of a 25-bit value other than by being it, so the 53-bit quotient decides.
  static double exact(float a, float b, Rounding) { return static_cast<double>(a) / b; }
  static double nearest(double a, double b) { return a / b; }
  static Exact exact(const Exact& a, const Exact& b, Rounding) { return divide_exact(a, b); }
};

struct FusedMultiplyAdd {
  static constexpr bool divides = false, makes_tiny = true;
  static double nan(double a, double b, double c) { return nan_of(b, c, a); }
  static float nearest(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return static_cast<float>(add_odd(static_cast<double>(a) * b, static_cast<double>(c)));
#endif
  }
  static double exact(float a, float b, float c, Rounding mode) {
    const double p = static_cast<double>(a) * b;
    const double s = add_odd(p, static_cast<double>(c));
    const bool minus = mode == Rounding::Down && s == 0 && (std::signbit(p) || std::signbit(c));
    return minus ? -0.0 : s;
  }
  static double nearest(double a, double b, double c) { return std::fma(a, b, c); }
  static Exact exact(const Exact& a, const Exact& b, const Exact& c, Rounding m) {
    return add_exact(multiply_exact(a, b), c, m);
  }
};

struct Reciprocal {
  static constexpr bool divides = true, makes_tiny = true;
  static double nan(double a) { return nan_of(a); }
  static float nearest(float a) { return 1.0f / a; }
  static double exact(float a, Rounding m) { return Divide::exact(1.0f, a, m); }
  static double nearest(double a) { return 1.0 / a; }
  static Exact exact(const Exact& a, Rounding) { return divide_exact({false, 0, 1}, a); }
};

struct Root {
  static constexpr bool divides = false, makes_tiny = false;
  static double nan(double a) { return nan_of(a); }
  static float nearest(float a) { return std::sqrt(a); }
  // Never within 2^-51 of a 25-bit value other than by being it.
  static double exact(float a, Rounding) { return std::sqrt(static_cast<double>(a)); }
  static double nearest(double a) { return std::sqrt(a); }
  static Exact exact(const Exact& a, Rounding) { return root_exact(a); }
};

// f32 to nearest.
template <class Op, bool Ftz, bool Sat>
struct Nearest32 {
  template <class... A>
  float operator()(A... a) const {
    const float r = rounded(a...);
    return Sat ? saturate(r) : canonical(r);
  }

 private:
  template <class... A>
  static float rounded(A... a) {
    if constexpr (!Ftz) return Op::nearest(a...);
    else if constexpr (!Op::makes_tiny) return flush(Op::nearest(flush(a)...));
    else return static_cast<float>(flush_tiny(Op::exact(flush(a)..., Rounding::Nearest), Rounding::Nearest));
  }
};

inline bool finite(double x) { return std::fabs(x) <= 0x1.fffffffffffffp1023; }

// f64 in any direction.
template <class Op, class... A>
double directed64(Rounding mode, A... a) {
  const double r = Op::nearest(a...);
  if (r != r) return Op::nan(a...);
  // What the host makes of infinities, and of division by zero, needs no rounding.
  if (!(finite(a) && ...)) return r;
  if (Op::divides && !finite(r) && ((a == 0) || ...)) return r;
  return bits_as<double>(round_to<Binary64>(
      Op::exact(unpack<Binary64>(bits_as<uint64_t>(a))..., mode), mode));
}

// f64 to nearest.
template <class Op>
struct Nearest64 {
  template <class... A>
  double operator()(A... a) const {
    const double r = Op::nearest(a...);
    return r != r ? Op::nan(a...) : r;
  }
};

// min and max of the manual: one NaN loses against a number unless `nan`; -0 is less than +0.
template <class F, bool Max>
inline F extremum(F a, F b, bool nan, F made) {
  using U = std::conditional_t<sizeof(F) == 8, uint64_t, uint32_t>;
  const U x = bits_as<U>(a), y = bits_as<U>(b);
  const U equal = Max ? x & y : x | y;  // the same bits, or zeros of both signs
  U r = a < b ? (Max ? y : x) : b < a ? (Max ? x : y) : equal;
  const bool first = a != a, second = b != b;
  r = first ? y : second ? x : r;
  return (first & second) | (nan & (first | second)) ? made : bits_as<F>(r);
}

}  // namespace pyptx::emulator
