// The .approx functions as the hardware's unit gives them: bit for bit what an H100 gave for all arguments of 30
// binades, and an H200 for the arguments of tests/conformance. Other GPUs have not been measured, and the same unit
// is assumed in them.
//
// The unit interpolates (Oberman and Siu, "A High-Performance Area-Efficient Multifunction Interpolator", ARITH
// 2005). The first digits of the argument's fraction are the number of a segment, and the next 17 are x. The value is
// c0 + c1 x + c2 s(x), where s is the square of x without the low columns of its partial products. It is truncated
// to the 24 digits of the result. All of this is exact in f64.
#pragma once

#include "approximate_tables.h"
#include "floating.h"

namespace pyptx::emulator {

constexpr unsigned kFraction = 23;  // digits of an f32 behind the point
constexpr uint32_t kFractionMask = (1u << kFraction) - 1;
constexpr uint32_t kInfinity32 = 0x7f800000u;
constexpr unsigned kXDigits = 17;
constexpr uint32_t kSegmentMask = 127;

// The coefficients of each segment.
template <size_t N>
struct Table {
  double c0[N] = {}, c1[N] = {}, c2[N] = {};
};
template <size_t N>
constexpr Table<N> as_table(const Segment (&segments)[N]) {
  Table<N> table;
  for (size_t i = 0; i < N; ++i) {
    table.c0[i] = static_cast<double>(segments[i].c0);
    table.c1[i] = segments[i].c1;
    table.c2[i] = segments[i].c2;
  }
  return table;
}
inline constexpr auto kExp2Table = as_table(kExp2Segments);
inline constexpr auto kLog2Table = as_table(kLog2Segments);
inline constexpr auto kReciprocalTable = as_table(kReciprocalSegments);
inline constexpr auto kReciprocalRootTable = as_table(kReciprocalRootSegments);
inline constexpr auto kRootTable = as_table(kRootSegments);
inline constexpr auto kSineTable = as_table(kSineSegments);
inline constexpr auto kTanhTable = as_table(kTanhSegments);

// x^2 in units of 2^-15, for x of 17 digits behind the point. Digits i < j of x make a partial product of 2^(1-i-j),
// and digit i by itself one of 2^-2i; those below 2^-15 are left out.
inline int32_t truncated_square(uint32_t x) {
  uint32_t sum = 0;
  for (unsigned i = 1; i <= 7; ++i) {
    const uint32_t products = (x >> (i + 1) & ((1u << (16 - 2 * i)) - 1)) + (1u << (15 - 2 * i));
    const int32_t all_if_set = static_cast<int32_t>(x << (32 - kXDigits + i - 1)) >> 31;
    sum += products & static_cast<uint32_t>(all_if_set);
  }
  return static_cast<int32_t>(sum);
}

// A place in a table is the number of the segment, then x. Above bit 24 a function may keep what it likes.
inline double interpolate(uint32_t place, double c0, double c1, double c2) {
  const uint32_t x = place & ((1u << kXDigits) - 1);
  return c0 + c1 * static_cast<int32_t>(x) + c2 * truncated_square(x);
}
template <size_t N>
double interpolate(const Table<N>& table, uint32_t place) {
  const uint32_t segment = place >> kXDigits & kSegmentMask;
  return interpolate(place, table.c0[segment], table.c1[segment], table.c2[segment]);
}

// To 24 digits, of a value of the normal range of f32.
inline float truncated(double value) {
  return static_cast<float>(bits_as<double>(bits_as<uint64_t>(value) & ~uint64_t{0x1fffffff}));
}
// The nearest integer, for |x| < 2^51.
inline double nearest_integer(double x) {
  return (x + 0x1.8p52) - 0x1.8p52;
}
inline uint32_t choose(bool first, uint32_t a, uint32_t b) { return first ? a : b; }
inline bool is_subnormal(float x) { return std::fabs(x) < 0x1p-126f; }
inline int32_t exponent_field(uint32_t bits) { return static_cast<int32_t>(bits >> kFraction & 255); }
// A significand of 2^23 to 2^24, and the exponent's field less one: 2^24 carries into it.
inline int32_t compose(int32_t significand, int32_t field_less_one) {
  return significand + field_less_one * (1 << kFraction);
}

// Each function has the place of an argument in its table, and the result from the value there. Without .ftz the
// assembler scales what the unit takes for zero or what would give it, by `scaled`, and its result by `unscaled`.
struct Unscaled {
  static float argument(float x) { return flush(x); }  // as the unit reads it
  static float scaled(float x) { return x; }
  static float unscaled(float, float y) { return y; }
};

// The fraction of the argument is truncated to 23 digits. Of a negative argument these are complemented, without
// adding the one that would make it the negative number, unless all are zero. So 2^x is 1 for |x| < 2^-23.
struct Exp2 : Unscaled {
  static constexpr auto& table = kExp2Table;
  static int32_t fixed(float x) {
    const float a = std::fabs(x);
    const int32_t magnitude = static_cast<int32_t>((a < 256.0f ? a : 255.0f) * 0x1p23f);
    const int32_t complement = (magnitude & kFractionMask) ? ~magnitude : -magnitude;
    return x < 0 ? complement : magnitude;
  }
  static uint32_t place(float x) { return static_cast<uint32_t>(fixed(x)) & kFractionMask; }
  static float result(float x, uint32_t, double value) {
    const int32_t whole = fixed(x) >> kFraction;
    const int32_t kept = whole < -126 ? -126 : whole > 127 ? 127 : whole;
    const int32_t bits = compose(static_cast<int32_t>(value * 0x1p-15), kept + 126);
    const uint32_t number = whole < -126 ? 0 : choose(whole > 127, kInfinity32, static_cast<uint32_t>(bits));
    return bits_as<float>(choose(x != x, kNan32, number));
  }
  static float scaled(float x) { return x < -126.0f ? x * 0.5f : x; }
  static float unscaled(float x, float y) { return x < -126.0f ? y * y : y; }
};

// The exponent is added to the logarithm of the significand. A negative sum is complemented, without adding one,
// and the magnitude truncated to a multiple of 2^-36. The logarithm of 1 is 0 without the table.
struct Log2 : Unscaled {
  static constexpr auto& table = kLog2Table;
  static uint32_t place(float x) { return bits_as<uint32_t>(x) & kFractionMask; }
  static float result(float x, uint32_t, double value) {
    const double sum = value + (exponent_field(bits_as<uint32_t>(x)) - 127) * 0x1p38;
    const double quarter = (sum < 0 ? -1 - sum : sum) * 0.25;
    const double near = nearest_integer(quarter);
    const float magnitude = truncated((near - (near > quarter ? 1.0 : 0.0)) * 0x1p-36);
    const uint32_t number = bits_as<uint32_t>(x == 1 ? 0.0f : sum < 0 ? -magnitude : magnitude);
    const uint32_t bits = bits_as<uint32_t>(x);
    const uint32_t limit = choose(x == 0, kInfinity32 | 1u << 31, choose(bits == kInfinity32, bits, kNan32));
    return bits_as<float>(choose((x > 0) & (bits < kInfinity32), number, limit));
  }
  static float scaled(float x) { return is_subnormal(x) ? x * 0x1p24f : x; }
  static float unscaled(float x, float y) { return is_subnormal(x) ? y - 24.0f : y; }
};

struct UnitReciprocal : Unscaled {
  static constexpr auto& table = kReciprocalTable;
  static int32_t significand(uint32_t, double value) { return static_cast<int32_t>(value * 0x1p-16); }
  static uint32_t place(float x) { return (bits_as<uint32_t>(x) & kFractionMask) << 1; }
  static float result(float x, uint32_t place, double value) {
    const uint32_t bits = bits_as<uint32_t>(x), magnitude = bits & ~(1u << 31), sign = bits ^ magnitude;
    const int32_t found = compose(significand(place, value), 252 - exponent_field(bits));
    const uint32_t number = choose(found < 1 << kFraction, 0, static_cast<uint32_t>(found));
    const uint32_t finite = choose(magnitude == 0, kInfinity32, choose(magnitude == kInfinity32, 0, number));
    return bits_as<float>(choose(x != x, kNan32, finite | sign));
  }
  static float scale(float x) {
    return is_subnormal(x) ? 0x1p24f : std::fabs(x) > 0x1p126f ? 0.25f : 1.0f;
  }
  static float scaled(float x) { return x * scale(x); }
  static float unscaled(float x, float y) { return y * scale(x); }
};

// Of roots the second half of the table is for odd exponents, whose fields are even.
inline uint32_t place_of_root(float x) {
  return (bits_as<uint32_t>(x) ^ 1u << kFraction) & ((2u << kFraction) - 1);
}
inline int32_t half_exponent(float x) { return (exponent_field(bits_as<uint32_t>(x)) - 127) >> 1; }

// Exact for even powers of two, without the table.
struct ReciprocalRoot : Unscaled {
  static constexpr auto& table = kReciprocalRootTable;
  static int32_t significand(uint32_t place, double value) {
    return place ? static_cast<int32_t>(value * 0x1p-16) : 2 << kFraction;
  }
  static uint32_t place(float x) { return place_of_root(x); }
  static float result(float x, uint32_t place, double value) {
    const uint32_t bits = bits_as<uint32_t>(x);
    const auto number = static_cast<uint32_t>(compose(significand(place, value), 125 - half_exponent(x)));
    const uint32_t limit = choose(x == 0, kInfinity32 | bits, choose(bits == kInfinity32, 0, kNan32));
    return bits_as<float>(choose((x > 0) & (bits < kInfinity32), number, limit));
  }
  static float scaled(float x) { return is_subnormal(x) ? x * 0x1p24f : x; }
  static float unscaled(float x, float y) { return is_subnormal(x) ? y * 0x1p12f : y; }
};

struct UnitRoot : Unscaled {
  static constexpr auto& table = kRootTable;
  static uint32_t place(float x) { return place_of_root(x); }
  static float result(float x, uint32_t, double value) {
    const uint32_t bits = bits_as<uint32_t>(x);
    const auto number = static_cast<uint32_t>(compose(static_cast<int32_t>(value * 0x1p-17), 126 + half_exponent(x)));
    const uint32_t limit = choose((x == 0) | (bits == kInfinity32), bits, kNan32);
    return bits_as<float>(choose((x > 0) & (bits < kInfinity32), number, limit));
  }
  static float scaled(float x) { return is_subnormal(x) ? x * 0x1p24f : x; }
  static float unscaled(float x, float y) { return is_subnormal(x) ? y * 0x1p-12f : y; }
};

// sin and cos are two machine instructions. The first multiplies by 1 / 2 pi, rounded to 24 digits, and truncates
// the product to f32. The second truncates that, a number of turns, to a multiple of 2^-25. It has a table of the
// first quadrant, whose argument it complements in every second one. So the cosine of 0 is not from the table's
// end but from one unit before it.
template <bool Cosine>
struct Sine : Unscaled {
  static constexpr auto& table = kSineTable;
  static constexpr double kTurns = 0x1.45f306p-3;  // in one radian
  static constexpr unsigned kFlips = 31;           // the bit of a place that says that the sign changes

  static uint32_t place(float x) {
    const double product = x * kTurns;
    const double turns = bits_as<double>(bits_as<uint64_t>(product) & ~uint64_t{1ull << 63 | 0x1fffffff});
    const double fractional = turns < 0x1p23 ? turns : 0.0;  // beyond, all f32 are integers
    const double rest = fractional - static_cast<int32_t>(fractional);
    const auto sine_angle = static_cast<uint32_t>(static_cast<int32_t>(rest * 0x1p25));
    const uint32_t angle = sine_angle + (Cosine ? 1u << kFraction : 0);
    const uint32_t odd = angle >> kFraction & 1;
    return ((angle ^ (0 - odd)) & kFractionMask) | (angle >> (kFraction + 1) & 1) << kFlips;
  }
  static float result(float x, uint32_t place, double value) {
    const uint32_t bits = bits_as<uint32_t>(x), own = Cosine ? 0 : bits & 1u << 31;
    const uint32_t number = bits_as<uint32_t>(truncated(value * 0x1p-38)) ^ own ^ (place & 1u << kFlips);
    return bits_as<float>(choose((bits & kInfinity32) == kInfinity32, kNan32, number));
  }
};

// The first segment of each binade.
constexpr int kTanhBinades = std::size(kTanhDigits);
struct TanhStarts {
  uint32_t at[kTanhBinades] = {};
};
constexpr TanhStarts tanh_starts() {
  TanhStarts starts;
  for (int i = 1; i < kTanhBinades; ++i) starts.at[i] = starts.at[i - 1] + (1u << kTanhDigits[i - 1]);
  return starts;
}
inline constexpr TanhStarts kTanhStarts = tanh_starts();

// The segments of tanh are of unequal width: each binade is divided by itself, and what is behind x is dropped. The
// argument is the result where its magnitude is below 2^-8, and 1 from 8 on.
struct Tanh : Unscaled {
  static constexpr auto& table = kTanhTable;
  static float argument(float x) { return x; }
  static uint32_t place(float x) {
    const uint32_t bits = bits_as<uint32_t>(x);
    const int32_t above = exponent_field(bits) - 127 - kTanhFirst;
    const int32_t binade = above < 0 ? 0 : above >= kTanhBinades ? kTanhBinades - 1 : above;
    const uint32_t within = (bits & kFractionMask) >> (kFraction - kXDigits - kTanhDigits[binade]);
    return (kTanhStarts.at[binade] << kXDigits) + within;
  }
  static float result(float x, uint32_t, double value) {
    const float a = std::fabs(x);
    const float magnitude = a < 0x1p-8f ? a : a >= 8.0f ? 1.0f : truncated(value * 0x1p-39);
    return bits_as<float>(choose(x != x, kNan32, bits_as<uint32_t>(std::copysign(magnitude, x))));
  }
  static_assert(kTanhFirst == -8 && kTanhFirst + kTanhBinades == 3, "the table is from 2^-8 to 8");
};

// What the unit gives for 32 arguments. The look-up is a loop by itself, so the others vectorise everywhere.
template <class K>
inline __attribute__((always_inline)) void by_unit(const float* a, float* out) {
  alignas(64) uint32_t places[kLanes];
  alignas(64) double c0[kLanes], c1[kLanes], c2[kLanes];
  PYPTX_EACH_LANE(l) places[l] = K::place(K::argument(a[l]));
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint32_t segment = places[l] >> kXDigits & kSegmentMask;
    c0[l] = K::table.c0[segment], c1[l] = K::table.c1[segment], c2[l] = K::table.c2[segment];
  }
  PYPTX_EACH_LANE(l) {
    const double value = interpolate(places[l], c0[l], c1[l], c2[l]);
    out[l] = K::result(K::argument(a[l]), places[l], value);
  }
}
template <class K, bool Ftz>
inline __attribute__((always_inline)) void approximate_lanes(const float* a, float* out) {
  if constexpr (Ftz) {
    by_unit<K>(a, out);
  } else {
    alignas(64) float scaled[kLanes];
    PYPTX_EACH_LANE(l) scaled[l] = K::scaled(a[l]);
    by_unit<K>(scaled, out);
    PYPTX_EACH_LANE(l) out[l] = K::unscaled(a[l], out[l]);
  }
}

// rcp and rsqrt of the upper half of an f64: the unit reads its 20 digits, and the 20 digits of the result are
// truncated. The lower half of the source is ignored, by which some NaNs are infinities, and that of the result is
// zero; subnormals are zero on both sides.
constexpr uint32_t kUpperNan = 0x7fffffffu, kUpperInfinity = 0x7ff00000u, kUpperLeast = 0x00100000u;
inline double from_upper(uint32_t upper) { return bits_as<double>(uint64_t{upper} << 32); }
struct ReciprocalUpper {
  double operator()(double a) const {
    const auto bits = static_cast<uint32_t>(bits_as<uint64_t>(a) >> 32);
    const uint32_t sign = bits & 1u << 31, magnitude = bits ^ sign;
    if (magnitude > kUpperInfinity) return from_upper(kUpperNan);
    if (magnitude < kUpperLeast) return from_upper(sign | kUpperInfinity);
    if (magnitude == kUpperInfinity) return from_upper(sign);
    const uint32_t place = (magnitude & (kUpperLeast - 1)) << 4;
    const int32_t significand = UnitReciprocal::significand(place, interpolate(kReciprocalTable, place));
    const int32_t found = (significand >> 3) + (2044 - static_cast<int32_t>(magnitude >> 20)) * (1 << 20);
    return from_upper(sign | (found < 1 << 20 ? 0 : static_cast<uint32_t>(found)));
  }
};
struct ReciprocalRootUpper {
  double operator()(double a) const {
    const auto bits = static_cast<uint32_t>(bits_as<uint64_t>(a) >> 32);
    const uint32_t sign = bits & 1u << 31, magnitude = bits ^ sign;
    if (magnitude < kUpperLeast) return from_upper(sign | kUpperInfinity);
    if (sign || magnitude > kUpperInfinity) return from_upper(kUpperNan);
    if (magnitude == kUpperInfinity) return 0;
    const uint32_t place = ((magnitude ^ kUpperLeast) & (2 * kUpperLeast - 1)) << 3;
    const int32_t significand = ReciprocalRoot::significand(place, interpolate(kReciprocalRootTable, place));
    const int32_t half = (static_cast<int32_t>(magnitude >> 20) - 1023) >> 1;
    return from_upper(static_cast<uint32_t>((significand >> 3) + (1021 - half) * (1 << 20)));
  }
};

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
