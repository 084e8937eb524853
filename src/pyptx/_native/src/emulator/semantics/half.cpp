// PTX ISA, "Half Precision Floating Point Instructions": f16, f16x2, bf16, bf16x2.
//
// A register of packed values is handled as twice as many 16-bit ones. Sums and products are formed in a
// wider format such that one rounding to 16 bits is the only one: f16 in f32, bf16, whose exponents reach as
// far as f32's, in f64; sums of products rounded to odd (floating.h).
#include "approximate.h"
#include "spelling.h"

namespace pyptx::emulator {

namespace {

struct Half {
  using F = Binary16;
  using Wide = float;
  static constexpr Wide tiny = 0x1p-14f - 0x1p-26f;
  static constexpr float beyond = 0x1p16f;
  static Wide load(uint16_t b) { return bits_as<float>(widen<Binary16, Binary32>(b)); }
  static uint16_t store(Wide x) { return narrow<Binary32, Binary16>(bits_as<uint32_t>(x), Rounding::Nearest); }
};

struct Brain {
  using F = Bfloat16;
  using Wide = double;
  static constexpr Wide tiny = 0x1p-126 - 0x1p-135;
  static constexpr float beyond = std::numeric_limits<float>::infinity();
  static Wide load(uint16_t b) { return bits_as<float>(uint32_t(b) << 16); }
  static uint16_t store(Wide x) { return narrow<Binary64, Bfloat16>(bits_as<uint64_t>(x), Rounding::Nearest); }
};

constexpr uint16_t kSign = 0x8000;
// The NaN that stands for an element out of bounds, whose sign does not matter (PTX ISA, "fma", .oob; the
// manual leaves its bits open, an H200 takes these in f16 and bf16 alike).
constexpr uint16_t kOutOfBounds = 0x7ff7;
bool is_out_of_bounds(uint16_t b) { return (b & 0x7fff) == kOutOfBounds; }

struct Options {
  bool ftz, sat, relu, oob, packed, negate, nan, xorsign;
  uint32_t pack() const {
    return ftz | sat << 1 | relu << 2 | oob << 3 | packed << 4 | negate << 5 | nan << 6 | xorsign << 7;
  }
  // Nothing to do but the operation: the loop over lanes vectorises.
  bool plain() const { return !(ftz || sat || relu || oob); }
  static Options of(const Instruction& in) {
    const uint32_t d = in.detail;
    const auto bit = [=](unsigned k) { return (d >> k & 1) != 0; };
    return {bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6), bit(7)};
  }
};

template <class F>
uint16_t flush16(uint16_t b) {
  return (b & F::magnitude) >= F::least_normal ? b : uint16_t(b & kSign);
}
template <class F>
bool is_nan16(uint16_t b) {
  return (b & F::magnitude) > F::infinity;
}

template <class W>
W clamp(W x, const Options& o) {
  x = o.relu ? (x > 0 || x != x ? x : W(0)) : x;
  return o.sat ? saturate(x) : x;
}

// out[i] = f(i) for one or two 16-bit values per lane, then stored under the mask.
template <class G>
inline __attribute__((always_inline)) void each_half(Warp& w, const Instruction& in, uint32_t mask,
                                                     bool packed, G f) {
  alignas(64) uint16_t out[2 * kLanes];
  if (packed) {
    _Pragma("GCC ivdep") for (unsigned i = 0; i < 2 * kLanes; ++i) out[i] = f(i);
    each_lane<uint32_t>(w, in, 0, mask, [&](unsigned l) {
      uint32_t both;
      std::memcpy(&both, out + 2 * l, 4);
      return both;
    });
  } else {
    PYPTX_EACH_LANE(i) out[i] = f(i);
    each_lane<uint16_t>(w, in, 0, mask, [&](unsigned l) { return out[l]; });
  }
}

// With .ftz what is below T::tiny is zero: what rounds to less than the least normal value as if there were no
// least exponent.
template <class T>
inline __attribute__((always_inline)) uint16_t rounded(const Options& o, typename T::Wide value) {
  const bool tiny = o.ftz & (std::fabs(value) < T::tiny);
  return T::store(clamp(tiny ? std::copysign(typename T::Wide(0), value) : value, o));
}

template <class T>
struct Sum {
  static typename T::Wide of(typename T::Wide a, typename T::Wide b) { return a + b; }
};
template <class T>
struct Product {
  static typename T::Wide of(typename T::Wide a, typename T::Wide b) { return a * b; }
};

template <class T, template <class> class Op>
PYPTX_FLATTEN void two_sources(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  const uint16_t* a = source<uint16_t>(w, in, 1);
  const uint16_t* b = source<uint16_t>(w, in, 2);
  const uint16_t flip = o.negate ? kSign : 0;
  if (o.plain())
    return each_half(w, in, mask, o.packed, [=](unsigned i) {
      return T::store(Op<T>::of(T::load(a[i]), T::load(b[i] ^ flip)));
    });
  each_half(w, in, mask, o.packed, [=](unsigned i) {
    const uint16_t x = o.ftz ? flush16<typename T::F>(a[i]) : a[i];
    const uint16_t y = o.ftz ? flush16<typename T::F>(b[i]) : b[i];
    return rounded<T>(o, Op<T>::of(T::load(x), T::load(y ^ flip)));
  });
}

template <class T>
PYPTX_FLATTEN void fused(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  const uint16_t* a = source<uint16_t>(w, in, 1);
  const uint16_t* b = source<uint16_t>(w, in, 2);
  const uint16_t* c = source<uint16_t>(w, in, 3);
  if (o.plain())
    return each_half(w, in, mask, o.packed, [=](unsigned i) {
      return T::store(add_odd(T::load(a[i]) * T::load(b[i]), T::load(c[i])));
    });
  each_half(w, in, mask, o.packed, [=](unsigned i) {
    const uint16_t x = o.ftz ? flush16<typename T::F>(a[i]) : a[i];
    const uint16_t y = o.ftz ? flush16<typename T::F>(b[i]) : b[i];
    const uint16_t z = o.ftz ? flush16<typename T::F>(c[i]) : c[i];
    const uint16_t r = rounded<T>(o, add_odd(T::load(x) * T::load(y), T::load(z)));
    return uint16_t(o.oob & (is_out_of_bounds(a[i]) | is_out_of_bounds(b[i])) ? 0 : r);
  });
}

// neg and abs are additions of zero on the hardware: NaN becomes the canonical one.
template <class F, bool Negate>
PYPTX_FLATTEN void sign(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  const uint16_t* a = source<uint16_t>(w, in, 1);
  each_half(w, in, mask, o.packed, [=](unsigned i) {
    const uint16_t x = Negate ? a[i] ^ kSign : a[i] & ~kSign;
    const uint16_t r = o.ftz ? flush16<F>(x) : x;
    return is_nan16<F>(r) ? F::nan : r;
  });
}

// Bits whose signed order is that of the values, -0 below +0.
inline int16_t ordered(uint16_t b) {
  return static_cast<int16_t>(b ^ ((b & kSign) ? 0x7fff : 0));
}

template <class F, bool Max>
uint16_t smaller_or_larger(uint16_t x, uint16_t y) {
  const bool less = ordered(x) < ordered(y);
  const uint16_t r = less != Max ? x : y;
  return is_nan16<F>(x) ? y : is_nan16<F>(y) ? x : r;
}

template <class F, bool Max>
PYPTX_FLATTEN void extremum16(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  const uint16_t* a = source<uint16_t>(w, in, 1);
  const uint16_t* b = source<uint16_t>(w, in, 2);
  if (!o.ftz && !o.nan && !o.xorsign)
    return each_half(w, in, mask, o.packed, [=](unsigned i) {
      const uint16_t r = smaller_or_larger<F, Max>(a[i], b[i]);
      return uint16_t(is_nan16<F>(r) ? F::nan : r);
    });
  const uint16_t keep = o.xorsign ? 0x7fff : 0xffff;
  each_half(w, in, mask, o.packed, [=](unsigned i) {
    const uint16_t sign = o.xorsign ? (a[i] ^ b[i]) & kSign : 0;
    uint16_t x = a[i] & keep, y = b[i] & keep;
    x = o.ftz ? flush16<F>(x) : x;
    y = o.ftz ? flush16<F>(y) : y;
    const uint16_t r = smaller_or_larger<F, Max>(x, y);
    const bool none = is_nan16<F>(r) | (o.nan & (is_nan16<F>(x) | is_nan16<F>(y)));
    return uint16_t(none ? F::nan : r | sign);
  });
}

// ex2 and tanh: the f32 result, truncated to 16 bits, as on an H200; from T::beyond on it is an infinity. Only ex2
// of bf16 flushes subnormals.
template <class T, class K>
constexpr bool kFlushes = std::is_same_v<K, Exp2> && std::is_same_v<T, Brain>;

template <class T, class K>
PYPTX_FLATTEN void function(Warp& w, const Instruction& in, uint32_t mask) {
  const uint16_t* a = source<uint16_t>(w, in, 1);
  const bool packed = Options::of(in).packed;
  alignas(64) float from[2 * kLanes], to[2 * kLanes];
  for (unsigned first = 0; first < (packed ? 2 * kLanes : kLanes); first += kLanes) {
    const uint16_t* at = a + first;
    PYPTX_EACH_LANE(l) from[first + l] = T::load(kFlushes<T, K> ? flush16<typename T::F>(at[l]) : at[l]);
    by_unit<K>(from + first, to + first);
  }
  each_half(w, in, mask, packed, [&](unsigned i) {
    const uint16_t cut = narrow<Binary32, typename T::F>(bits_as<uint32_t>(to[i]), Rounding::Zero);
    const uint16_t r = to[i] >= T::beyond ? uint16_t(T::F::infinity) : cut;
    return kFlushes<T, K> ? flush16<typename T::F>(r) : r;
  });
}

bool is_half(Type t) { return t == Type::F16 || t == Type::F16x2; }
bool is_packed(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }
bool is_known(Type t) { return is_half(t) || t == Type::BF16 || t == Type::BF16x2; }

// Binds `sources` operands of the type and stores the options.
bool bind(Decoding& d, Options o, Type type, unsigned sources) {
  o.packed = is_packed(type);
  d.out->detail = o.pack();
  return d.shape(bits_of(type), bits_of(type), sources);
}

// add, sub, mul: {.rn}{.ftz}{.sat}.f16{x2}, {.rn}.bf16{x2}.
template <template <class> class Op, bool Negate>
Handler resolve_two(Decoding& d) {
  Modifiers m(d);
  Options o{};
  m.take("rn");
  o.ftz = m.take("ftz");
  o.sat = m.take("sat");
  o.negate = Negate;
  const Type type = m.type();
  if (!is_known(type) || !m.done() || !bind(d, o, type, 2)) return nullptr;
  if (is_half(type)) return two_sources<Half, Op>;
  return o.ftz || o.sat ? nullptr : two_sources<Brain, Op>;
}

// fma.rn{.ftz}{.sat}, .rn{.ftz}.relu, .rn{.relu} for bf16, .rn.oob{.relu}.
Handler resolve_fma(Decoding& d) {
  Modifiers m(d);
  Options o{};
  if (!m.take("rn")) return nullptr;
  o.ftz = m.take("ftz");
  o.sat = m.take("sat");
  o.oob = m.take("oob");
  o.relu = m.take("relu");
  const Type type = m.type();
  const bool together = (o.sat && (o.relu || o.oob)) || (o.oob && o.ftz);
  if (!is_known(type) || !m.done() || together || !bind(d, o, type, 3)) return nullptr;
  if (is_half(type)) return fused<Half>;
  return o.ftz || o.sat ? nullptr : fused<Brain>;
}

template <bool Negate>
Handler resolve_sign(Decoding& d) {
  Modifiers m(d);
  Options o{};
  o.ftz = m.take("ftz");
  const Type type = m.type();
  if (!is_known(type) || !m.done() || !bind(d, o, type, 1)) return nullptr;
  if (is_half(type)) return sign<Binary16, Negate>;
  return o.ftz ? nullptr : sign<Bfloat16, Negate>;
}

template <bool Max>
Handler resolve_extremum(Decoding& d) {
  Modifiers m(d);
  Options o{};
  o.ftz = m.take("ftz");
  o.nan = m.take("NaN");
  o.xorsign = m.take("xorsign");
  if (o.xorsign && !m.take("abs")) return nullptr;
  const Type type = m.type();
  if (!is_known(type) || !m.done() || !bind(d, o, type, 2)) return nullptr;
  if (is_half(type)) return extremum16<Binary16, Max>;
  return o.ftz ? nullptr : extremum16<Bfloat16, Max>;
}

// ex2.approx.{f16,f16x2}, ex2.approx.ftz.{bf16,bf16x2}, tanh.approx of all four.
template <class K>
Handler resolve_function(Decoding& d) {
  Modifiers m(d);
  Options o{};
  if (!m.take("approx")) return nullptr;
  o.ftz = m.take("ftz");
  const Type type = m.type();
  if (!is_known(type) || !m.done() || !bind(d, o, type, 1)) return nullptr;
  if (o.ftz != (is_half(type) ? kFlushes<Half, K> : kFlushes<Brain, K>)) return nullptr;
  return is_half(type) ? function<Half, K> : function<Brain, K>;
}

struct Row {
  std::string_view opcode;
  Handler (*resolve)(Decoding&);
};

constexpr Row kOpcodes[] = {
    {"add", resolve_two<Sum, false>}, {"sub", resolve_two<Sum, true>},
    {"mul", resolve_two<Product, false>}, {"fma", resolve_fma},
    {"neg", resolve_sign<true>}, {"abs", resolve_sign<false>},
    {"min", resolve_extremum<false>}, {"max", resolve_extremum<true>},
    {"ex2", resolve_function<Exp2>}, {"tanh", resolve_function<Tanh>},
};

}  // namespace

Handler resolve_half(Decoding& d) {
  for (const Row& row : kOpcodes)
    if (row.opcode == d.opcode) return row.resolve(d);
  return nullptr;
}

}  // namespace pyptx::emulator
