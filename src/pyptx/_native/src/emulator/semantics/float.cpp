// PTX ISA, "Floating Point Instructions" and "Mixed Precision Floating Point Instructions": f32, f64, f32x2.
#include "approximate.h"
#include "floating.h"
#include "spelling.h"

namespace pyptx::emulator {

namespace {

// What Instruction::detail holds for the handlers that take their modifiers at run time.
struct Options {
  Rounding rounding = Rounding::Nearest;
  bool ftz = false, sat = false;
  bool nan = false, xorsign = false, absolute = false;  // min, max
  bool pairs = false;                                   // .f32x2
  Type narrow = Type::None;                             // f16 or bf16: the type of the first operands

  uint32_t pack() const {
    return uint32_t(rounding) | ftz << 3 | sat << 4 | nan << 5 | xorsign << 6 | absolute << 7 | pairs << 8 |
           uint32_t(narrow) << 16;
  }
  static Options of(const Instruction& in) {
    const uint32_t d = in.detail;
    Options o;
    o.rounding = Rounding(d & 7);
    o.ftz = d >> 3 & 1, o.sat = d >> 4 & 1;
    o.nan = d >> 5 & 1, o.xorsign = d >> 6 & 1, o.absolute = d >> 7 & 1;
    o.pairs = d >> 8 & 1;
    o.narrow = Type(d >> 16);
    return o;
  }
};

// Sources of run-time handlers: f32 values as they are, or made from f16 or bf16 lanes.
struct Source32 {
  alignas(64) float made[kLanes];
  const float* at;

  Source32(Warp& w, const Instruction& in, unsigned k, Type narrow) {
    at = made;
    if (narrow == Type::None) {
      at = source<float>(w, in, k);
    } else {
      const uint16_t* from = source<uint16_t>(w, in, k);
      for (unsigned l = 0; l < kLanes; ++l)
        made[l] = bits_as<float>(narrow == Type::F16 ? widen<Binary16, Binary32>(from[l])
                                                     : widen<Bfloat16, Binary32>(from[l]));
    }
  }
};

// Stores `values`, one or two per lane.
void store(Warp& w, const Instruction& in, uint32_t mask, const float* values, bool pairs) {
  if (pairs) {
    each_lane<uint64_t>(w, in, 0, mask, [=](unsigned l) {
      return bits_as<uint32_t>(values[2 * l]) | uint64_t(bits_as<uint32_t>(values[2 * l + 1])) << 32;
    });
  } else {
    each_lane<float>(w, in, 0, mask, [=](unsigned l) { return values[l]; });
  }
}

// f32 with every modifier at run time. `Sources` counts the operands; of mixed-precision ones all but the
// last are narrow, and the last of a two-operand one is the f32.
template <class Op, unsigned Sources>
PYPTX_FLATTEN void directed32(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  const unsigned count = o.pairs ? 2 * kLanes : kLanes;
  alignas(64) float out[2 * kLanes];
  const auto put = [&](unsigned i, auto... a) {
    const double x = o.ftz ? flush_tiny(Op::exact(flush(a)..., o.rounding), o.rounding) : Op::exact(a..., o.rounding);
    const float r = round_single(x, o.rounding);
    out[i] = o.sat ? saturate(r) : canonical(r);
  };
  if constexpr (Sources == 1) {
    const float* a = source<float>(w, in, 1);
    for (unsigned i = 0; i < count; ++i) put(i, a[i]);
  } else if constexpr (Sources == 2) {
    const Source32 a(w, in, 1, o.narrow);
    const float* b = source<float>(w, in, 2);
    for (unsigned i = 0; i < count; ++i) put(i, a.at[i], b[i]);
  } else {
    const Source32 a(w, in, 1, o.narrow), b(w, in, 2, o.narrow);
    const float* c = source<float>(w, in, 3);
    for (unsigned i = 0; i < count; ++i) put(i, a.at[i], b.at[i], c[i]);
  }
  store(w, in, mask, out, o.pairs);
}

template <class Op, unsigned Sources>
PYPTX_FLATTEN void directed64_lanes(Warp& w, const Instruction& in, uint32_t mask) {
  const Rounding mode = Options::of(in).rounding;
  if constexpr (Sources == 1) unary<double>(w, in, mask, [=](double a) { return directed64<Op>(mode, a); });
  if constexpr (Sources == 2)
    binary<double>(w, in, mask, [=](double a, double b) { return directed64<Op>(mode, a, b); });
  if constexpr (Sources == 3)
    ternary<double>(w, in, mask,
                    [=](double a, double b, double c) { return directed64<Op>(mode, a, b, c); });
}

template <class Op, class F, unsigned Sources>
constexpr Handler lanes() {
  if constexpr (Sources == 1) return run_unary<Op, F>;
  if constexpr (Sources == 2) return run_binary<Op, F>;
  if constexpr (Sources == 3) return run_ternary<Op, F>;
}

// To nearest with .ftz, where a result may be tiny: only a result of the least normal value needs the unrounded
// one to say whether it is kept, so the lanes are done again if there is one.
template <class Op, bool Sat, unsigned Sources>
PYPTX_FLATTEN void flushed32(Warp& w, const Instruction& in, uint32_t mask) {
  const float* s[3] = {};
  for (unsigned k = 0; k < Sources; ++k) s[k] = source<float>(w, in, k + 1);
  const auto apply = [=](auto f, unsigned l) {
    if constexpr (Sources == 1) return f(s[0][l]);
    else if constexpr (Sources == 2) return f(s[0][l], s[1][l]);
    else return f(s[0][l], s[1][l], s[2][l]);
  };
  alignas(64) float out[kLanes];
  uint32_t least_normal = 0;
  PYPTX_EACH_LANE(l) {
    const float r = flush(apply([](auto... a) { return Op::nearest(flush(a)...); }, l));
    least_normal |= std::fabs(r) == 0x1p-126f ? 1 : 0;
    out[l] = Sat ? saturate(r) : canonical(r);
  }
  if (least_normal)
    for (unsigned l = 0; l < kLanes; ++l) out[l] = apply(Nearest32<Op, true, Sat>{}, l);
  each_lane<float>(w, in, 0, mask, [&](unsigned l) { return out[l]; });
}

template <class Op, unsigned Sources>
Handler single(const Options& o) {
  if (o.rounding != Rounding::Nearest || o.pairs || o.narrow != Type::None) return directed32<Op, Sources>;
  if constexpr (Op::makes_tiny)
    if (o.ftz) return o.sat ? flushed32<Op, true, Sources> : flushed32<Op, false, Sources>;
  if (o.ftz) {
    return o.sat ? lanes<Nearest32<Op, true, true>, float, Sources>()
                 : lanes<Nearest32<Op, true, false>, float, Sources>();
  }
  return o.sat ? lanes<Nearest32<Op, false, true>, float, Sources>()
               : lanes<Nearest32<Op, false, false>, float, Sources>();
}

template <class Op, unsigned Sources>
Handler twice(const Options& o) {
  return o.rounding == Rounding::Nearest ? lanes<Nearest64<Op>, double, Sources>()
                                         : directed64_lanes<Op, Sources>;
}

// add, sub, mul, fma, mad: {.rnd}{.ftz}{.sat}.f32, {.rnd}{.ftz}.f32x2, {.rnd}.f64, and
// {.rnd}{.sat}.f32.{f16,bf16}. `stated` says that the rounding must be written.
template <class Op, unsigned Sources>
Handler arithmetic(Decoding& d, bool stated, bool mixed) {
  Modifiers m(d);
  Options o;
  const std::string_view first = m.peek();
  o.rounding = m.rounding();
  if (stated && m.peek() == first) return nullptr;
  o.ftz = m.take("ftz");
  o.sat = m.take("sat");
  const Type type = m.type();
  if (type == Type::F32 && mixed && !o.ftz && (m.peek() == "f16" || m.peek() == "bf16")) o.narrow = m.type();
  if (!m.done()) return nullptr;
  d.out->detail = o.pack();
  if (o.narrow != Type::None) {
    // add and sub: d, a, c with a narrow; fma: d, a, b, c with a and b narrow.
    bool bound = d.operands.size() == Sources + 1 && d.destination(0, 32);
    for (unsigned k = 1; k <= Sources && bound; ++k) bound = d.source(k, k < Sources ? 16 : 32);
    return bound ? single<Op, Sources>(o) : nullptr;
  }
  if (type == Type::F64 && !o.ftz && !o.sat)
    return d.shape(64, 64, Sources) ? twice<Op, Sources>(o) : nullptr;
  if (type == Type::F32) return d.shape(32, 32, Sources) ? single<Op, Sources>(o) : nullptr;
  if (type != Type::F32x2 || o.sat) return nullptr;
  o.pairs = true;
  d.out->detail = o.pack();
  return d.shape(64, 64, Sources) ? single<Op, Sources>(o) : nullptr;
}

Handler resolve_add(Decoding& d) { return arithmetic<Add, 2>(d, false, true); }
Handler resolve_sub(Decoding& d) { return arithmetic<Subtract, 2>(d, false, true); }
Handler resolve_mul(Decoding& d) { return arithmetic<Multiply, 2>(d, false, false); }
Handler resolve_fma(Decoding& d) { return arithmetic<FusedMultiplyAdd, 3>(d, true, true); }
Handler resolve_mad(Decoding& d) {
  return d.last() == "f32x2" ? nullptr : arithmetic<FusedMultiplyAdd, 3>(d, true, false);
}

// An approximate function in the lanes of a warp.
template <class K, bool Ftz>
PYPTX_FLATTEN void approximate(Warp& w, const Instruction& in, uint32_t mask) {
  alignas(64) float out[kLanes];
  approximate_lanes<K, Ftz>(source<float>(w, in, 1), out);
  each_lane<float>(w, in, 0, mask, [&](unsigned l) { return out[l]; });
}

template <class K>
Handler resolve_approximate(Decoding& d) {
  Modifiers m(d);
  if (!m.take("approx")) return nullptr;
  const bool ftz = m.take("ftz");
  if (!m.take("f32") || !m.done() || !d.shape(32, 32, 1)) return nullptr;
  return ftz ? approximate<K, true> : approximate<K, false>;
}

struct ReciprocalRoot64 {
  double operator()(double a) const { return reciprocal_root(a); }
};

Handler resolve_rsqrt(Decoding& d) {
  if (d.last() == "f32") return resolve_approximate<ReciprocalRoot>(d);
  Modifiers m(d);
  if (!m.take("approx")) return nullptr;
  const bool ftz = m.take("ftz");
  if (!m.take("f64") || !m.done() || !d.shape(64, 64, 1)) return nullptr;
  return ftz ? run_unary<ReciprocalRootUpper, double> : run_unary<ReciprocalRoot64, double>;
}

// rcp, sqrt: .approx{.ftz}.f32, .rnd{.ftz}.f32, .rnd.f64, and rcp.approx.ftz.f64.
template <class Op, class Unit>
Handler resolve_inverse(Decoding& d) {
  Modifiers m(d);
  Options o;
  const bool approx = m.take("approx");
  const std::string_view first = m.peek();
  if (!approx) {
    o.rounding = m.rounding();
    if (m.peek() == first) return nullptr;
  }
  o.ftz = m.take("ftz");
  const Type type = m.type();
  if (!m.done()) return nullptr;
  d.out->detail = o.pack();
  if (type == Type::F32 && approx)
    return !d.shape(32, 32, 1) ? nullptr : o.ftz ? approximate<Unit, true> : approximate<Unit, false>;
  if (type == Type::F32) return d.shape(32, 32, 1) ? single<Op, 1>(o) : nullptr;
  if (type != Type::F64 || !d.shape(64, 64, 1)) return nullptr;
  if (approx)
    return std::is_same_v<Op, Reciprocal> && o.ftz ? run_unary<ReciprocalUpper, double> : nullptr;
  return o.ftz ? nullptr : twice<Op, 1>(o);
}

// a times the unit's reciprocal of b. Without .ftz both are scaled for a subnormal b, with .full for a huge one too,
// whose reciprocal the unit flushes.
template <bool Full, bool Ftz>
PYPTX_FLATTEN void divide_approximately(Warp& w, const Instruction& in, uint32_t mask) {
  const float* a = source<float>(w, in, 1);
  const float* b = source<float>(w, in, 2);
  alignas(64) float dividend[kLanes], divisor[kLanes], inverse[kLanes];
  PYPTX_EACH_LANE(l) {
    const float scale = !Ftz && is_subnormal(b[l]) ? 0x1p24f : Full && std::fabs(b[l]) > 0x1p126f ? 0.25f : 1.0f;
    const float scaled = (Ftz ? flush(a[l]) : a[l]) * scale;
    dividend[l] = Ftz ? flush(scaled) : scaled;
    divisor[l] = b[l] * scale;
  }
  by_unit<UnitReciprocal>(divisor, inverse);
  each_lane<float>(w, in, 0, mask, [&](unsigned l) {
    return Nearest32<Multiply, Ftz, false>{}(dividend[l], inverse[l]);
  });
}

Handler resolve_div(Decoding& d) {
  Modifiers m(d);
  Options o;
  const bool approx = m.take("approx"), full = !approx && m.take("full");
  const std::string_view first = m.peek();
  if (!approx && !full) {
    o.rounding = m.rounding();
    if (m.peek() == first) return nullptr;
  }
  o.ftz = m.take("ftz");
  const Type type = m.type();
  if (!m.done()) return nullptr;
  d.out->detail = o.pack();
  if (type == Type::F64 && !approx && !full && !o.ftz) return d.shape(64, 64, 2) ? twice<Divide, 2>(o) : nullptr;
  if (type != Type::F32 || !d.shape(32, 32, 2)) return nullptr;
  if (approx) return o.ftz ? divide_approximately<false, true> : divide_approximately<false, false>;
  if (full) return o.ftz ? divide_approximately<true, true> : divide_approximately<true, false>;
  return single<Divide, 2>(o);
}

// Sign operations. On the hardware they are additions of zero: an f32 NaN becomes the canonical one, an f64
// NaN quiet, with the sign that it had.
template <bool Negate, bool Ftz>
struct Sign32 {
  float operator()(float a) const {
    const uint32_t b = bits_as<uint32_t>(a);
    const float r = canonical(bits_as<float>(Negate ? b ^ 0x80000000u : b & 0x7fffffffu));
    return Ftz ? flush(r) : r;
  }
};
template <bool Negate>
struct Sign64 {
  double operator()(double a) const {
    const uint64_t b = bits_as<uint64_t>(a);
    constexpr uint64_t sign = 0x8000000000000000ull;
    return a != a ? propagate(a) : bits_as<double>(Negate ? b ^ sign : b & ~sign);
  }
};

template <bool Negate>
Handler resolve_sign(Decoding& d) {
  Modifiers m(d);
  const bool ftz = m.take("ftz");
  const Type type = m.type();
  if (!m.done()) return nullptr;
  if (type == Type::F64 && !ftz) return d.shape(64, 64, 1) ? run_unary<Sign64<Negate>, double> : nullptr;
  if (type != Type::F32 || !d.shape(32, 32, 1)) return nullptr;
  return ftz ? run_unary<Sign32<Negate, true>, float> : run_unary<Sign32<Negate, false>, float>;
}

// min and max with all modifiers at run time.
template <bool Max>
float extremum32(float a, float b, const Options& o) {
  const uint32_t sign = (bits_as<uint32_t>(a) ^ bits_as<uint32_t>(b)) & 0x80000000u;
  const bool absolute = o.xorsign | o.absolute;
  const uint32_t keep = absolute ? 0x7fffffffu : 0xffffffffu;
  float x = bits_as<float>(bits_as<uint32_t>(a) & keep), y = bits_as<float>(bits_as<uint32_t>(b) & keep);
  x = o.ftz ? flush(x) : x, y = o.ftz ? flush(y) : y;
  const float r = extremum<float, Max>(x, y, o.nan, bits_as<float>(kNan32));
  return bits_as<float>(bits_as<uint32_t>(r) | (o.xorsign && r == r ? sign : 0));
}
template <bool Max>
void extremum_two(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  binary<float>(w, in, mask, [=](float a, float b) { return extremum32<Max>(a, b, o); });
}
template <bool Max>
void extremum_three(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  ternary<float>(w, in, mask, [=](float a, float b, float c) {
    return extremum32<Max>(extremum32<Max>(a, b, o), c, o);
  });
}
// The common one: no modifiers.
template <bool Max>
struct Extremum32 {
  float operator()(float a, float b) const {
    return extremum<float, Max>(a, b, false, bits_as<float>(kNan32));
  }
};
template <bool Max>
struct Extremum64 {
  double operator()(double a, double b) const { return extremum<double, Max>(a, b, false, propagate(b)); }
};

template <bool Max>
Handler resolve_extremum(Decoding& d) {
  Modifiers m(d);
  Options o;
  o.ftz = m.take("ftz");
  o.nan = m.take("NaN");
  o.xorsign = m.take("xorsign");
  o.absolute = m.take("abs");
  const bool three = d.operands.size() == 4;
  const Type type = m.type();
  // .xorsign comes with .abs; .abs alone is for three operands, which have no .xorsign.
  if (!m.done() || (three ? o.xorsign : o.xorsign != o.absolute)) return nullptr;
  d.out->detail = o.pack();
  if (type == Type::F64)
    return o.pack() == 0 && d.shape(64, 64, 2) ? run_binary<Extremum64<Max>, double> : nullptr;
  if (type != Type::F32) return nullptr;
  if (three) return d.shape(32, 32, 3) ? extremum_three<Max> : nullptr;
  if (!d.shape(32, 32, 2)) return nullptr;
  return o.pack() == 0 ? run_binary<Extremum32<Max>, float> : extremum_two<Max>;
}

template <class U>
struct CopySign {
  U operator()(U a, U b) const {
    constexpr U sign = U(1) << (8 * sizeof(U) - 1);
    return (a & sign) | (b & ~sign);
  }
};

Handler resolve_copysign(Decoding& d) {
  if (d.spelling == "copysign.f32" && d.shape(32, 32, 2)) return run_binary<CopySign<uint32_t>, uint32_t>;
  if (d.spelling == "copysign.f64" && d.shape(64, 64, 2)) return run_binary<CopySign<uint64_t>, uint64_t>;
  return nullptr;
}

enum class Property : uint32_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };

template <class F>
bool has_property(typename F::Bits bits, Property p) {
  const typename F::Bits magnitude = bits & F::magnitude;
  const bool subnormal = typename F::Bits(magnitude - 1) < F::least_normal - 1;
  switch (p) {
    case Property::Finite: return magnitude < F::infinity;
    case Property::Infinite: return magnitude == F::infinity;
    case Property::Number: return magnitude <= F::infinity;
    case Property::NotANumber: return magnitude > F::infinity;
    case Property::Normal: return !subnormal && magnitude < F::infinity;  // zeros too (PTX ISA, "testp")
    case Property::Subnormal: return subnormal;
  }
  return false;
}

template <class F>
void test_property(Warp& w, const Instruction& in, uint32_t mask) {
  const auto* a = source<typename F::Bits>(w, in, 1);
  const Property p = Property(in.detail);
  set_predicate(w, in, 0, mask, lane_mask([=](unsigned l) { return has_property<F>(a[l], p); }));
}

Handler resolve_testp(Decoding& d) {
  static constexpr std::string_view names[] = {"finite", "infinite", "number", "notanumber", "normal",
                                               "subnormal"};
  Modifiers m(d);
  const std::string_view name = m.next();
  const Type type = m.type();
  uint32_t k = 0;
  while (k < 6 && names[k] != name) ++k;
  if (k == 6 || !m.done() || (type != Type::F32 && type != Type::F64)) return nullptr;
  d.out->detail = k;
  if (!d.shape(1, bits_of(type), 1)) return nullptr;
  return type == Type::F32 ? test_property<Binary32> : test_property<Binary64>;
}

struct Row {
  std::string_view opcode;
  Handler (*resolve)(Decoding&);
};

constexpr Row kOpcodes[] = {
    {"add", resolve_add},
    {"sub", resolve_sub},
    {"mul", resolve_mul},
    {"fma", resolve_fma},
    {"mad", resolve_mad},
    {"div", resolve_div},
    {"rcp", resolve_inverse<Reciprocal, UnitReciprocal>},
    {"sqrt", resolve_inverse<Root, UnitRoot>},
    {"rsqrt", resolve_rsqrt},
    {"sin", resolve_approximate<Sine<false>>},
    {"cos", resolve_approximate<Sine<true>>},
    {"lg2", resolve_approximate<Log2>},
    {"ex2", resolve_approximate<Exp2>},
    {"tanh", resolve_approximate<Tanh>},
    {"abs", resolve_sign<false>},
    {"neg", resolve_sign<true>},
    {"min", resolve_extremum<false>},
    {"max", resolve_extremum<true>},
    {"copysign", resolve_copysign},
    {"testp", resolve_testp},
};

}  // namespace

Handler resolve_float(Decoding& d) {
  for (const Row& row : kOpcodes)
    if (row.opcode == d.opcode) return row.resolve(d);
  return nullptr;
}

}  // namespace pyptx::emulator
