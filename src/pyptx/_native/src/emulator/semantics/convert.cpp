#include "convert.h"

#include <limits>

#include "floating.h"
#include "spelling.h"

namespace pyptx::emulator {

namespace {

// A cvt with all its modifiers. `from` and `to` are element types, Type::None where `small` names the format.
struct Conversion {
  Type from = Type::None, to = Type::None;
  unsigned from_width = 0, to_width = 0;  // of the registers
  Rounding rounding = Rounding::Nearest;
  bool to_integral = false;  // .rni .rzi .rmi .rpi
  bool plain = false;        // no modifier at all
  bool ftz = false, sat = false, relu = false, satfinite = false;
};

const Conversion& conversion(const Instruction& in) { return *static_cast<const Conversion*>(in.plan); }

uint64_t ones(unsigned bits) { return bits == 64 ? ~0ull : (1ull << bits) - 1; }

uint64_t sign_extended(uint64_t v, unsigned bits) {
  return bits == 64 ? v : uint64_t(int64_t(v << (64 - bits)) >> (64 - bits));
}

// Lanes of any register width as 64 bits, cut to the type, extended by its sign.
void load(Warp& w, const Instruction& in, unsigned k, unsigned width, Type t, uint64_t* out) {
  switch (width) {
    case 8: { const auto* p = source<uint8_t>(w, in, k); for (unsigned l = 0; l < kLanes; ++l) out[l] = p[l]; break; }
    case 16: { const auto* p = source<uint16_t>(w, in, k); for (unsigned l = 0; l < kLanes; ++l) out[l] = p[l]; break; }
    case 32: { const auto* p = source<uint32_t>(w, in, k); for (unsigned l = 0; l < kLanes; ++l) out[l] = p[l]; break; }
    default: { const auto* p = source<uint64_t>(w, in, k); for (unsigned l = 0; l < kLanes; ++l) out[l] = p[l]; break; }
  }
  const unsigned bits = bits_of(t);
  for (unsigned l = 0; l < kLanes; ++l)
    out[l] = is_signed(t) ? sign_extended(out[l], bits) : out[l] & ones(bits);
}

// Values of the type, extended by its sign to the register's width.
void store(Warp& w, const Instruction& in, uint32_t mask, unsigned width, Type t, const uint64_t* values) {
  const unsigned bits = bits_of(t);
  const auto value = [=](unsigned l) {
    return is_signed(t) ? sign_extended(values[l], bits) : values[l] & ones(bits);
  };
  switch (width) {
    case 8: return each_lane<uint8_t>(w, in, 0, mask, [=](unsigned l) { return uint8_t(value(l)); });
    case 16: return each_lane<uint16_t>(w, in, 0, mask, [=](unsigned l) { return uint16_t(value(l)); });
    case 32: return each_lane<uint32_t>(w, in, 0, mask, [=](unsigned l) { return uint32_t(value(l)); });
    default: return each_lane<uint64_t>(w, in, 0, mask, value);
  }
}

uint64_t clamp_to(Type t, __int128 v) {
  const unsigned bits = bits_of(t);
  const __int128 most = is_signed(t) ? (__int128(1) << (bits - 1)) - 1 : (__int128(1) << bits) - 1;
  const __int128 least = is_signed(t) ? -most - 1 : 0;
  return uint64_t(v > most ? most : v < least ? least : v);
}

__int128 integer_value(Type t, uint64_t v) { return is_signed(t) ? __int128(int64_t(v)) : __int128(v); }

// Any of the four formats with the type as a value: calls f with the Format.
template <class G>
auto with_format(Type t, G f) {
  switch (t) {
    case Type::F16: return f(Binary16{});
    case Type::BF16: return f(Bfloat16{});
    case Type::F32: return f(Binary32{});
    default: return f(Binary64{});
  }
}

bool is_nan(Type t, uint64_t v) {
  return with_format(t, [=](auto f) { return (v & f.magnitude) > f.infinity; });
}
bool is_infinite(Type t, uint64_t v) {
  return with_format(t, [=](auto f) { return (v & f.magnitude) == f.infinity; });
}
bool is_negative(Type t, uint64_t v) {
  return with_format(t, [=](auto f) { return (v & f.sign) != 0; });
}
Exact exact_of(Type t, uint64_t v) {
  return with_format(t, [=](auto f) {
    using F = decltype(f);
    return unpack<F>(typename F::Bits(v));
  });
}
uint64_t rounded(Type t, const Exact& v, Rounding mode) {
  return with_format(t, [=](auto f) { return uint64_t(round_to<decltype(f)>(v, mode)); });
}
uint64_t flushed(Type t, uint64_t v) {
  return with_format(t, [=](auto f) {
    return (v & f.magnitude) < f.least_normal ? v & f.sign : v;
  });
}

// To an integer in the direction of the mode; what is beyond 2^127 stays beyond 64 bits.
__int128 integral(Exact v, Rounding mode) {
  if (v.significand == 0) return 0;
  if (v.exponent > 64) return v.negative ? -(__int128(1) << 100) : __int128(1) << 100;
  uint128 kept = v.exponent >= 0 ? v.significand << v.exponent : 0;
  if (v.exponent < 0) {
    const int cut = -v.exponent;
    const uint128 rest = cut > 100 ? 1 : v.significand & ((uint128(1) << cut) - 1);
    const uint128 half = cut > 100 ? 2 : uint128(1) << (cut - 1);
    kept = cut > 100 ? 0 : v.significand >> cut;
    if (rest && rounds_up<uint128>(mode, v.negative, kept & 1, rest, half)) ++kept;
  }
  return v.negative ? -__int128(kept) : __int128(kept);
}

// The manual's value for a NaN: zero, or the middle of the range where f64 or 64 bits take part.
uint64_t integer_of_nan(const Conversion& c) {
  const unsigned bits = bits_of(c.to);
  return c.from == Type::F64 || bits == 64 ? 1ull << (bits - 1) : 0;
}

uint64_t float_to_integer(const Conversion& c, uint64_t v) {
  if (c.ftz && c.from == Type::F32) v = flushed(c.from, v);
  if (is_nan(c.from, v)) return integer_of_nan(c);
  if (is_infinite(c.from, v)) {
    const __int128 far = __int128(1) << 100;
    return clamp_to(c.to, is_negative(c.from, v) ? -far : far);
  }
  return clamp_to(c.to, integral(exact_of(c.from, v), c.rounding));
}

// A NaN of format S in format T: quiet, with its sign and as much of its payload as there is room for.
template <class S, class T>
constexpr typename T::Bits carry_nan(typename S::Bits v) {
  constexpr int gain = int(T::fraction_bits) - int(S::fraction_bits);
  const uint64_t payload = v & (S::least_normal - 1);
  const uint64_t moved = gain >= 0 ? payload << (gain & 63) : payload >> (-gain & 63);
  const typename T::Bits sign = (v & S::sign) ? T::sign : 0;
  return typename T::Bits(sign | T::infinity | T::least_normal >> 1 | moved);
}

// A NaN of one format in another. The hardware keeps the payload where the conversion is a shift or nothing
// at all, and to and from f64; elsewhere it gives the canonical NaN, which .ftz makes of an f32 first.
uint64_t converted_nan(const Conversion& c, uint64_t v) {
  if (c.plain && c.from == c.to && bits_of(c.from) > 16) return v;
  if (c.from == Type::BF16 && c.to == Type::F32 && !c.ftz) return v << 16;
  if (c.to != Type::F64 && c.from != Type::F64) return with_format(c.to, [](auto f) { return uint64_t(f.nan); });
  if (c.from == Type::F32 && c.ftz) v = kNan32;
  return with_format(c.from, [=](auto s) {
    return with_format(c.to, [=](auto t) {
      return uint64_t(carry_nan<decltype(s), decltype(t)>(typename decltype(s)::Bits(v)));
    });
  });
}

// Whether a value rounds to less than the least normal one of f32 as if that had the exponents of f64.
bool is_tiny(const Exact& v, Rounding mode) {
  using Wide = Format<uint64_t, 11, 23, 0x3ff7fffff, 0x3ff800000, 0x3ffffffff>;
  constexpr uint64_t least = uint64_t(Wide::bias - 126) << Wide::fraction_bits;
  return (round_to<Wide>(v, mode) & Wide::magnitude) < least;
}

uint64_t saturated(Type t, uint64_t v) {
  const uint64_t one = rounded(t, {false, 0, 1}, Rounding::Nearest);
  return is_nan(t, v) || is_negative(t, v) ? 0 : v > one ? one : v;
}

uint64_t float_to_float(const Conversion& c, uint64_t v) {
  if (c.ftz && c.from == Type::F32) v = flushed(c.from, v);
  uint64_t r;
  if (is_nan(c.from, v)) {
    r = converted_nan(c, v);
  } else if (is_infinite(c.from, v)) {
    r = with_format(c.to, [=](auto f) {
      return uint64_t(f.infinity) | (is_negative(c.from, v) ? uint64_t(f.sign) : 0);
    });
  } else {
    Exact x = exact_of(c.from, v);
    if (c.to_integral && x.exponent < 0) {
      const __int128 n = integral(x, c.rounding);
      x = {x.negative, 0, uint128(n < 0 ? -n : n)};
    }
    r = rounded(c.to, c.ftz && c.to == Type::F32 && is_tiny(x, c.rounding) ? Exact{x.negative, 0, 0} : x, c.rounding);
  }
  return c.sat ? saturated(c.to, r) : r;
}

uint64_t integer_to_float(const Conversion& c, uint64_t v) {
  const __int128 n = integer_value(c.from, v);
  const uint64_t r = rounded(c.to, {n < 0, 0, uint128(n < 0 ? -n : n)}, c.rounding);
  return c.sat ? saturated(c.to, r) : r;
}

uint64_t integer_to_integer(const Conversion& c, uint64_t v) {
  return c.sat ? clamp_to(c.to, integer_value(c.from, v)) : v;
}

// Every conversion between integers and the formats of with_format, lane by lane.
template <uint64_t (*Convert)(const Conversion&, uint64_t)>
void convert(Warp& w, const Instruction& in, uint32_t mask) {
  const Conversion& c = conversion(in);
  uint64_t v[kLanes];
  load(w, in, 1, c.from_width, c.from, v);
  for (unsigned l = 0; l < kLanes; ++l) v[l] = Convert(c, v[l]);
  store(w, in, mask, c.to_width, c.to, v);
}

// The common ones, which vectorise. Registers are as wide as the types.

template <class D, class S>
struct Cast {
  D operator()(S a) const { return static_cast<D>(a); }
};

// f32 or f64 to a 32-bit integer.
template <class D, class S, Rounding Mode>
D to_word(S a) {
  constexpr double least = std::numeric_limits<D>::min(), most = std::numeric_limits<D>::max();
  constexpr double of_nan = std::is_same_v<S, double> ? -0x1p31 : 0;
  const double x = a;
  const double bounded = x < -0x1p33 ? -0x1p33 : x > 0x1p33 ? 0x1p33 : x;
  const double nearest = (bounded + 0x1.8p52) - 0x1.8p52;
  const double floor = nearest - (nearest > bounded ? 1.0 : 0.0);
  const double ceiling = nearest + (nearest < bounded ? 1.0 : 0.0);
  // Towards zero, what is negative and has no sign in D ends up at its least value anyway.
  double r = Mode == Rounding::Nearest ? nearest
             : Mode == Rounding::Up    ? ceiling
                                       : floor;
  r = r < least ? least : r > most ? most : r;
  if (Mode == Rounding::Zero && std::is_signed_v<D>) {
    const double t = bounded < least ? least : bounded > most ? most : bounded;
    return static_cast<D>(x == x ? t : of_nan);
  }
  // The lower 32 bits of the significand of r + 1.5 * 2^52 are the integer; a NaN never gets there.
  const double shifted = (x == x ? r : of_nan) + 0x1.8p52;
  return static_cast<D>(bits_as<uint64_t>(shifted));
}

template <class D, class S, Rounding Mode>
PYPTX_FLATTEN void float_to_word_in(Warp& w, const Instruction& in, uint32_t mask) {
  if (conversion(in).ftz) return unary<D, S>(w, in, mask, [](S a) { return to_word<D, S, Mode>(flush(a)); });
  unary<D, S>(w, in, mask, [](S a) { return to_word<D, S, Mode>(a); });
}

template <class D, class S>
Handler float_to_word(Rounding mode) {
  switch (mode) {
    case Rounding::Zero: return float_to_word_in<D, S, Rounding::Zero>;
    case Rounding::Down: return float_to_word_in<D, S, Rounding::Down>;
    case Rounding::Up: return float_to_word_in<D, S, Rounding::Up>;
    default: return float_to_word_in<D, S, Rounding::Nearest>;
  }
}

// The hosts do with a NaN what carry_nan does.
struct FloatToDouble {
  double operator()(float a) const { return a; }
};
struct DoubleToFloat {
  float operator()(double a) const { return static_cast<float>(a); }
};
struct HalfToFloat {
  uint32_t operator()(uint16_t a) const { return widen<Binary16, Binary32>(a); }
};
struct BrainToFloat {
  uint32_t operator()(uint16_t a) const { return uint32_t(a) << 16; }
};

// f32 to a smaller format F with every modifier at run time. Without .ftz, .sat and .relu, which are rare,
// the loop over lanes vectorises.
template <class F>
struct Narrow {
  Direction<uint32_t> direction;
  bool ftz, sat, relu;
  explicit Narrow(const Conversion& c)
      : direction(c.rounding, c.satfinite), ftz(c.ftz), sat(c.sat), relu(c.relu) {}

  bool plain() const { return !ftz && !sat && !relu; }
  uint32_t simply(float a) const { return narrow<Binary32, F>(bits_as<uint32_t>(a), direction); }
  uint32_t operator()(float a) const {
    float x = ftz ? flush(a) : a;
    x = sat ? saturate(x) : x;
    x = relu && !(x > 0) && x == x ? 0.0f : x;
    return simply(x);
  }
};

template <class F>
PYPTX_FLATTEN void narrow_one(Warp& w, const Instruction& in, uint32_t mask) {
  const Narrow<F> f(conversion(in));
  if (f.plain()) return unary<uint16_t, float>(w, in, mask, [=](float a) { return f.simply(a); });
  unary<uint16_t, float>(w, in, mask, [=](float a) { return f(a); });
}

// Two f32 to a packed pair, the first in the upper half.
template <class F, class D>
PYPTX_FLATTEN void narrow_two(Warp& w, const Instruction& in, uint32_t mask) {
  const Narrow<F> f(conversion(in));
  constexpr unsigned half = sizeof(D) == 4 ? 16 : F::exponent_bits + F::fraction_bits == 3 ? 4 : 8;
  if (f.plain())
    return binary<D, float>(w, in, mask, [=](float a, float b) { return f.simply(a) << half | f.simply(b); });
  binary<D, float>(w, in, mask, [=](float a, float b) { return f(a) << half | f(b); });
}

template <class F>
constexpr unsigned kPlace = F::exponent_bits + F::fraction_bits == 3 ? 4 : 8;  // bits of one of a pair

// A half of a register as f32.
template <class H>
float single(uint16_t half) {
  return bits_as<float>(widen<H, Binary32>(half));
}

// Each half, of format H, to one of a pair of small values.
template <class F, class H, class D>
void narrow_halves(Warp& w, const Instruction& in, uint32_t mask) {
  const Narrow<F> f(conversion(in));
  unary<D, uint32_t>(w, in, mask, [=](uint32_t a) {
    return D(f(single<H>(uint16_t(a >> 16))) << kPlace<F> | f(single<H>(uint16_t(a))));
  });
}

// A pair of small values to a pair of format H, in which all of them are exact.
template <class F, class H, class S>
void widen_two(Warp& w, const Instruction& in, uint32_t mask) {
  const bool relu = conversion(in).relu, finite = conversion(in).satfinite;
  constexpr uint32_t kept = F::sign | F::magnitude;
  const auto one = [=](uint32_t code) {
    const uint32_t wide = widen<F, Binary32>(typename F::Bits(code & kept));
    const uint16_t r = narrow<Binary32, H>(wide, Direction<uint32_t>(Rounding::Nearest, finite));
    return uint32_t(relu && (r & 0x8000) ? 0 : r);
  };
  unary<uint32_t, S>(w, in, mask, [=](S a) { return one(uint32_t(a) >> kPlace<F>) << 16 | one(a); });
}

// tf32 is held in the upper 19 bits. .rna adds half a unit to the bits of what is not infinite or NaN, which
// the mask then cuts, NaN too.
void to_tf32(Warp& w, const Instruction& in, uint32_t mask) {
  const Narrow<Tfloat32> f(conversion(in));
  unary<uint32_t, float>(w, in, mask, [=](float a) { return f(a) << 13; });
}
void to_tf32_away(Warp& w, const Instruction& in, uint32_t mask) {
  const bool finite = conversion(in).satfinite;
  unary<uint32_t>(w, in, mask, [=](uint32_t a) {
    const uint32_t r = ((a & 0x7fffffff) < 0x7f800000 ? a + 0x1000 : a) & 0xffffe000;
    return finite && (r & 0x7fffffff) >= 0x7f800000 ? r - 0x2000 : r;
  });
}

// ue8m0: 2^(code - 127), 0xff NaN. The sign of the source is lost; zero gives the least code.
uint32_t scale_of(float a, bool up, bool finite) {
  const uint32_t bits = bits_as<uint32_t>(a) & 0x7fffffff;
  const uint32_t exponent = bits >> 23, fraction = bits & 0x7fffff;
  if (bits > 0x7f800000) return 0xff;
  if (bits == 0x7f800000) return finite ? 0xfe : 0xff;
  // Below 2^-126 the codes 0 and 1 are left: 2^-127 is the subnormal 0x400000.
  const uint32_t r = exponent ? exponent + (up && fraction) : up && fraction > 0x400000 ? 1 : 0;
  return r > 0xfe ? (finite ? 0xfe : 0xff) : r;
}
void to_scales(Warp& w, const Instruction& in, uint32_t mask) {
  const bool up = conversion(in).rounding == Rounding::Up, finite = conversion(in).satfinite;
  binary<uint16_t, float>(w, in, mask, [=](float a, float b) {
    return uint16_t(scale_of(a, up, finite) << 8 | scale_of(b, up, finite));
  });
}
void brains_to_scales(Warp& w, const Instruction& in, uint32_t mask) {
  const bool up = conversion(in).rounding == Rounding::Up, finite = conversion(in).satfinite;
  unary<uint16_t, uint32_t>(w, in, mask, [=](uint32_t a) {
    return uint16_t(scale_of(bits_as<float>(a & 0xffff0000), up, finite) << 8 |
                    scale_of(bits_as<float>(a << 16), up, finite));
  });
}
void scales_to_brains(Warp& w, const Instruction& in, uint32_t mask) {
  const auto one = [](uint32_t code) -> uint32_t {
    return code == 0xff ? 0x7fff : code == 0 ? 0x0040 : code << 7;
  };
  unary<uint32_t, uint16_t>(w, in, mask, [=](uint16_t a) { return one(a >> 8) << 16 | one(a & 0xff); });
}

// Conversions that name a packed or small format: how wide their operands are and what runs them.
struct Special {
  std::string_view to, from;
  unsigned to_width, from_width, sources;
  const char* modifiers;  // letters of those it takes, see below
  Handler handler;
};

// n .rn, z .rz, p .rp, a .rna; s .satfinite, S it must be there; r .relu.
constexpr Special kSpecial[] = {
    {"f16x2", "f32", 32, 32, 2, "nzsr", narrow_two<Binary16, uint32_t>},
    {"bf16x2", "f32", 32, 32, 2, "nzsr", narrow_two<Bfloat16, uint32_t>},
    {"e4m3x2", "f32", 16, 32, 2, "nSr", narrow_two<E4M3, uint16_t>},
    {"e5m2x2", "f32", 16, 32, 2, "nSr", narrow_two<E5M2, uint16_t>},
    {"e2m3x2", "f32", 16, 32, 2, "nSr", narrow_two<E2M3, uint16_t>},
    {"e3m2x2", "f32", 16, 32, 2, "nSr", narrow_two<E3M2, uint16_t>},
    {"e2m1x2", "f32", 8, 32, 2, "nSr", narrow_two<E2M1, uint8_t>},
    {"e4m3x2", "f16x2", 16, 32, 1, "nSr", narrow_halves<E4M3, Binary16, uint16_t>},
    {"e4m3x2", "bf16x2", 16, 32, 1, "nSr", narrow_halves<E4M3, Bfloat16, uint16_t>},
    {"f16x2", "e4m3x2", 32, 16, 1, "nr", widen_two<E4M3, Binary16, uint16_t>},
    {"bf16x2", "e4m3x2", 32, 16, 1, "nsr", widen_two<E4M3, Bfloat16, uint16_t>},
    {"e5m2x2", "f16x2", 16, 32, 1, "nSr", narrow_halves<E5M2, Binary16, uint16_t>},
    {"e5m2x2", "bf16x2", 16, 32, 1, "nSr", narrow_halves<E5M2, Bfloat16, uint16_t>},
    {"f16x2", "e5m2x2", 32, 16, 1, "nr", widen_two<E5M2, Binary16, uint16_t>},
    {"bf16x2", "e5m2x2", 32, 16, 1, "nsr", widen_two<E5M2, Bfloat16, uint16_t>},
    {"e2m3x2", "f16x2", 16, 32, 1, "nSr", narrow_halves<E2M3, Binary16, uint16_t>},
    {"e2m3x2", "bf16x2", 16, 32, 1, "nSr", narrow_halves<E2M3, Bfloat16, uint16_t>},
    {"f16x2", "e2m3x2", 32, 16, 1, "nr", widen_two<E2M3, Binary16, uint16_t>},
    {"bf16x2", "e2m3x2", 32, 16, 1, "nsr", widen_two<E2M3, Bfloat16, uint16_t>},
    {"e3m2x2", "f16x2", 16, 32, 1, "nSr", narrow_halves<E3M2, Binary16, uint16_t>},
    {"e3m2x2", "bf16x2", 16, 32, 1, "nSr", narrow_halves<E3M2, Bfloat16, uint16_t>},
    {"f16x2", "e3m2x2", 32, 16, 1, "nr", widen_two<E3M2, Binary16, uint16_t>},
    {"bf16x2", "e3m2x2", 32, 16, 1, "nsr", widen_two<E3M2, Bfloat16, uint16_t>},
    {"e2m1x2", "f16x2", 8, 32, 1, "nSr", narrow_halves<E2M1, Binary16, uint8_t>},
    {"e2m1x2", "bf16x2", 8, 32, 1, "nSr", narrow_halves<E2M1, Bfloat16, uint8_t>},
    {"f16x2", "e2m1x2", 32, 8, 1, "nr", widen_two<E2M1, Binary16, uint8_t>},
    {"bf16x2", "e2m1x2", 32, 8, 1, "nsr", widen_two<E2M1, Bfloat16, uint8_t>},
    {"ue8m0x2", "f32", 16, 32, 2, "zps", to_scales},
    {"ue8m0x2", "bf16x2", 16, 32, 1, "zps", brains_to_scales},
    {"bf16x2", "ue8m0x2", 32, 16, 1, "n", scales_to_brains},
    {"tf32", "f32", 32, 32, 1, "nzsr", to_tf32},
    {"tf32", "f32", 32, 32, 1, "as", to_tf32_away},
};

bool allows(const char* modifiers, char c) { return std::strchr(modifiers, c) != nullptr; }

bool spelled_right(const char* modifiers, const Conversion& c) {
  const char rounding = c.rounding == Rounding::Nearest ? 'n'
                        : c.rounding == Rounding::Zero  ? 'z'
                        : c.rounding == Rounding::Up    ? 'p'
                        : c.rounding == Rounding::Away  ? 'a'
                                                        : '-';
  if (!allows(modifiers, rounding) || c.ftz || c.sat || c.to_integral || c.plain) return false;
  if (c.relu && !allows(modifiers, 'r')) return false;
  return c.satfinite ? allows(modifiers, 's') || allows(modifiers, 'S') : !allows(modifiers, 'S');
}

// The modifiers before the types. `given` tells whether a rounding is among them.
void read_modifiers(Modifiers& m, Conversion& c, bool& given) {
  const std::string_view first = m.peek();
  struct Named {
    std::string_view name;
    Rounding rounding;
  };
  static constexpr Named integral[] = {
      {"rni", Rounding::Nearest}, {"rzi", Rounding::Zero}, {"rmi", Rounding::Down}, {"rpi", Rounding::Up}};
  for (const Named& row : integral)
    if (m.take(row.name)) c.rounding = row.rounding, c.to_integral = true;
  if (!c.to_integral) {
    if (m.take("rna")) c.rounding = Rounding::Away;
    else c.rounding = m.rounding();
  }
  given = m.peek() != first;
  c.ftz = m.take("ftz");
  c.sat = m.take("sat");
  c.satfinite = m.take("satfinite");
  c.relu = m.take("relu");
  c.satfinite |= c.relu && m.take("satfinite");
  c.plain = m.peek() == first;
}

bool is_plain_float(Type t) {
  return t == Type::F16 || t == Type::BF16 || t == Type::F32 || t == Type::F64;
}

// Whether the conversion from one of the plain types to another exists as spelled.
bool exists(const Conversion& c, bool given) {
  const bool from_integer = is_integer(c.from), to_integer = is_integer(c.to);
  const bool brain = c.from == Type::BF16 || c.to == Type::BF16;
  if (c.rounding == Rounding::Away) return false;
  if (c.ftz && c.from != Type::F32 && c.to != Type::F32) return false;
  if ((c.relu || c.satfinite) &&
      (c.from != Type::F32 || (c.to != Type::F16 && c.to != Type::BF16) || c.ftz || c.sat)) return false;
  if (brain && c.sat) return false;
  if (from_integer && to_integer) return !given && !c.ftz;
  if (to_integer) return given && c.to_integral;
  if (from_integer) return given && !c.to_integral;
  if (c.from == c.to) return !given || c.to_integral;
  if (c.to_integral) return false;
  // Widening is exact and takes no rounding, except to or from bf16, where it may stand.
  const bool widens = bits_of(c.to) > bits_of(c.from);
  return given != widens || brain;
}

struct Common {
  Type to, from;
  Handler handler;
};

// Vectorised handlers for conversions without saturation or flushing, to nearest where rounding matters.
constexpr Common kCommon[] = {
    {Type::U64, Type::U32, run_unary<Cast<uint64_t, uint32_t>, uint64_t, uint32_t>},
    {Type::S64, Type::U32, run_unary<Cast<uint64_t, uint32_t>, uint64_t, uint32_t>},
    {Type::S64, Type::S32, run_unary<Cast<int64_t, int32_t>, int64_t, int32_t>},
    {Type::U64, Type::S32, run_unary<Cast<int64_t, int32_t>, int64_t, int32_t>},
    {Type::U32, Type::U64, run_unary<Cast<uint32_t, uint64_t>, uint32_t, uint64_t>},
    {Type::S32, Type::S64, run_unary<Cast<uint32_t, uint64_t>, uint32_t, uint64_t>},
    {Type::U32, Type::S64, run_unary<Cast<uint32_t, uint64_t>, uint32_t, uint64_t>},
    {Type::S32, Type::U64, run_unary<Cast<uint32_t, uint64_t>, uint32_t, uint64_t>},
    {Type::U32, Type::U16, run_unary<Cast<uint32_t, uint16_t>, uint32_t, uint16_t>},
    {Type::S32, Type::S16, run_unary<Cast<int32_t, int16_t>, int32_t, int16_t>},
    {Type::U16, Type::U32, run_unary<Cast<uint16_t, uint32_t>, uint16_t, uint32_t>},
    {Type::F32, Type::S32, run_unary<Cast<float, int32_t>, float, int32_t>},
    {Type::F32, Type::U32, run_unary<Cast<float, uint32_t>, float, uint32_t>},
    {Type::F64, Type::S32, run_unary<Cast<double, int32_t>, double, int32_t>},
    {Type::F64, Type::U32, run_unary<Cast<double, uint32_t>, double, uint32_t>},
    {Type::F64, Type::F32, run_unary<FloatToDouble, double, float>},
    {Type::F32, Type::F64, run_unary<DoubleToFloat, float, double>},
    {Type::F32, Type::F16, run_unary<HalfToFloat, uint32_t, uint16_t>},
    {Type::F32, Type::BF16, run_unary<BrainToFloat, uint32_t, uint16_t>},
};

Handler common_handler(const Conversion& c) {
  if (c.from_width != bits_of(c.from) || c.to_width != bits_of(c.to)) return nullptr;
  if (c.from == Type::F32 && c.to == Type::F16) return narrow_one<Binary16>;
  if (c.from == Type::F32 && c.to == Type::BF16) return narrow_one<Bfloat16>;
  if (c.to == Type::S32 && c.from == Type::F32) return float_to_word<int32_t, float>(c.rounding);
  if (c.to == Type::U32 && c.from == Type::F32) return float_to_word<uint32_t, float>(c.rounding);
  if (c.to == Type::S32 && c.from == Type::F64) return float_to_word<int32_t, double>(c.rounding);
  if (c.to == Type::U32 && c.from == Type::F64) return float_to_word<uint32_t, double>(c.rounding);
  if (c.ftz || c.sat || c.rounding != Rounding::Nearest || c.to_integral) return nullptr;
  for (const Common& row : kCommon)
    if (row.from == c.from && row.to == c.to) return row.handler;
  return nullptr;
}

Handler any_handler(const Conversion& c) {
  if (is_integer(c.from)) return is_integer(c.to) ? convert<integer_to_integer> : convert<integer_to_float>;
  return is_integer(c.to) ? convert<float_to_integer> : convert<float_to_float>;
}

Handler resolve_plain(Decoding& d, Conversion c, bool given) {
  if (!exists(c, given) || d.operands.size() != 2) return nullptr;
  // Registers may be wider than the types.
  if (!d.bind_destination(d.view(0), bits_of(c.to), 64) || !d.bind_source(d.view(1), bits_of(c.from), 64))
    return nullptr;
  c.to_width = d.bound_width(0);
  c.from_width = d.bound_width(1);
  d.out->plan = d.keep(c);
  const Handler handler = common_handler(c);
  if (handler) return handler;
  return c.relu || c.satfinite ? nullptr : any_handler(c);
}

Handler resolve_special_format(Decoding& d, const Conversion& c, std::string_view to, std::string_view from) {
  for (const Special& row : kSpecial) {
    if (row.to != to || row.from != from || !spelled_right(row.modifiers, c)) continue;
    d.out->plan = d.keep(c);
    return d.shape(row.to_width, row.from_width, row.sources) ? row.handler : nullptr;
  }
  return nullptr;
}

// detail: bits of an element, whether it is signed, whether c is there.
struct PackName {
  std::string_view name;
  unsigned bits;
  bool is_signed;
};
constexpr PackName kPack[] = {{"u16", 16, false}, {"s16", 16, true}, {"u8", 8, false}, {"s8", 8, true},
                              {"u4", 4, false},   {"s4", 4, true},   {"u2", 2, false}, {"s2", 2, true}};

void pack_saturated(Warp& w, const Instruction& in, uint32_t mask) {
  const PackName& p = *static_cast<const PackName*>(in.plan);
  const int32_t most = p.is_signed ? (1 << (p.bits - 1)) - 1 : (1 << p.bits) - 1;
  const int32_t least = p.is_signed ? -most - 1 : 0;
  const uint32_t kept = (1u << p.bits) - 1;
  const auto cut = [=](int32_t v) { return uint32_t(v > most ? most : v < least ? least : v) & kept; };
  const unsigned bits = p.bits;
  if (bits == 16) {
    binary<uint32_t, int32_t>(w, in, mask, [=](int32_t a, int32_t b) { return cut(a) << 16 | cut(b); });
  } else {
    ternary<uint32_t, int32_t>(w, in, mask, [=](int32_t a, int32_t b, int32_t c) {
      return uint32_t(c) << (2 * bits) | cut(a) << bits | cut(b);
    });
  }
}

// cvt.pack.sat.T.s32 d, a, b (16 bits); cvt.pack.sat.T.s32.b32 d, a, b, c (fewer)
Handler resolve_pack(Decoding& d, Modifiers& m) {
  if (!m.take("sat")) return nullptr;
  const std::string_view name = m.next();
  if (!m.take("s32")) return nullptr;
  for (const PackName& row : kPack) {
    if (row.name != name) continue;
    const bool merges = row.bits < 16;
    if (merges && !m.take("b32")) return nullptr;
    d.out->plan = &row;
    return m.done() && d.shape(32, 32, merges ? 3 : 2) ? pack_saturated : nullptr;
  }
  return nullptr;
}

}  // namespace

Handler resolve_convert(Decoding& d) {
  Modifiers m(d);
  if (m.take("pack")) return resolve_pack(d, m);
  Conversion c;
  bool given = false;
  read_modifiers(m, c, given);
  const std::string_view to = m.next(), from = m.next();
  if (!m.done()) return nullptr;
  c.to = type_of(to);
  c.from = type_of(from);
  const auto plain = [](Type t) { return is_integer(t) || is_plain_float(t); };
  return plain(c.to) && plain(c.from) ? resolve_plain(d, c, given) : resolve_special_format(d, c, to, from);
}

}  // namespace pyptx::emulator
