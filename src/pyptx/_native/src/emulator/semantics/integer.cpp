// PTX ISA, "Integer Arithmetic Instructions".
#include <limits>
#include <type_traits>

#include "spelling.h"

namespace pyptx::emulator {

namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
// A type in which products and shifts of T neither overflow nor are promoted to int.
template <class T>
using Modular = std::conditional_t<sizeof(T) < 4, uint32_t, Unsigned<T>>;
template <class T>
using Wider = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, uint128>>>;

template <class T>
struct Add {
  T operator()(T a, T b) const { return T(Modular<T>(a) + Modular<T>(b)); }
};
template <class T>
struct Subtract {
  T operator()(T a, T b) const { return T(Modular<T>(a) - Modular<T>(b)); }
};
template <class T>
struct MultiplyLow {
  T operator()(T a, T b) const { return T(Modular<T>(a) * Modular<T>(b)); }
};
template <class T>
struct MultiplyHigh {
  T operator()(T a, T b) const { return T((Wider<T>(a) * Wider<T>(b)) >> (8 * sizeof(T))); }
};
template <class T>
struct MultiplyWide {
  Wider<T> operator()(T a, T b) const { return Wider<T>(a) * Wider<T>(b); }
};
template <class T>
struct MadLow {
  T operator()(T a, T b, T c) const { return T(Modular<T>(a) * Modular<T>(b) + Modular<T>(c)); }
};
template <class T>
struct MadHigh {
  T operator()(T a, T b, T c) const { return Add<T>{}(MultiplyHigh<T>{}(a, b), c); }
};

constexpr int32_t clamp32(int64_t v) {
  return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : int32_t(v);
}
struct MadHighSaturated {
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    return clamp32(int64_t(MultiplyHigh<int32_t>{}(a, b)) + c);
  }
};

// The lower 24 bits of a lane as a number.
template <class T>
int64_t lower24(T v) {
  return std::is_signed_v<T> ? int64_t(int32_t(uint32_t(v) << 8) >> 8) : int64_t(uint32_t(v) & 0xffffff);
}
template <class T, bool High>
struct Multiply24 {
  T operator()(T a, T b) const { return T((lower24(a) * lower24(b)) >> (High ? 16 : 0)); }
};
template <class T, bool High>
struct Mad24 {
  T operator()(T a, T b, T c) const { return Add<T>{}(Multiply24<T, High>{}(a, b), c); }
};
struct Mad24HighSaturated {
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    return clamp32(int64_t(Multiply24<int32_t, true>{}(a, b)) + c);
  }
};

template <class T>
struct SumAbsoluteDifference {
  T operator()(T a, T b, T c) const {
    const T difference = a < b ? Subtract<T>{}(b, a) : Subtract<T>{}(a, b);
    return Add<T>{}(c, difference);
  }
};

// Division by zero gives all ones, quotient and remainder alike: so do the instruction sequences that the
// assembler makes for every width (the manual leaves it open). The least value divided by -1 wraps.
template <class T>
struct Divide {
  T operator()(T a, T b) const {
    const bool wraps = std::is_signed_v<T> && b == T(-1);
    const T by = b == 0 || wraps ? T(1) : b;
    return b == 0 ? T(-1) : wraps ? Subtract<T>{}(0, a) : T(a / by);
  }
};
template <class T>
struct Remainder {
  T operator()(T a, T b) const {
    const bool wraps = std::is_signed_v<T> && b == T(-1);
    const T by = b == 0 || wraps ? T(1) : b;
    return b == 0 ? T(-1) : T(a % by);
  }
};

template <class T>
struct Absolute {
  T operator()(T a) const { return a < 0 ? Subtract<T>{}(0, a) : a; }
};
template <class T>
struct Negate {
  T operator()(T a) const { return Subtract<T>{}(0, a); }
};
template <class T>
struct Least {
  T operator()(T a, T b) const { return a < b ? a : b; }
};
template <class T>
struct Greatest {
  T operator()(T a, T b) const { return a > b ? a : b; }
};
template <class Op>
struct Relu {
  int32_t operator()(int32_t a, int32_t b) const {
    const int32_t r = Op{}(a, b);
    return r > 0 ? r : 0;
  }
};

template <class U>
struct CountOnes {
  uint32_t operator()(U a) const { return uint32_t(__builtin_popcountll(a)); }
};
template <class U>
struct CountLeadingZeros {
  uint32_t operator()(U a) const {
    return a == 0 ? 8 * sizeof(U) : uint32_t(__builtin_clzll(a)) - (64 - 8 * sizeof(U));
  }
};

// Position of the most significant bit that is not a sign bit; all ones if there is none. With .shiftamt the
// amount that would shift it to the top.
template <class T, bool ShiftAmount>
struct FindBit {
  uint32_t operator()(T a) const {
    const Unsigned<T> v = a < 0 ? Unsigned<T>(~a) : Unsigned<T>(a);
    const uint32_t zeros = CountLeadingZeros<Unsigned<T>>{}(v);
    return v == 0 ? 0xffffffffu : ShiftAmount ? zeros : uint32_t(8 * sizeof(T) - 1) - zeros;
  }
};

template <class U>
struct ReverseBits {
  U operator()(U a) const {
    uint64_t v = a;
    v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
    v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
    v = __builtin_bswap64(v);
    return U(v >> (64 - 8 * sizeof(U)));
  }
};

// The position of the n-th set bit at or above `base` for positive n, at or below it for negative n; for
// zero, `base` itself if that bit is set. All ones if there is none.
struct FindNthSet {
  uint32_t operator()(uint32_t mask, uint32_t base, uint32_t offset) const {
    base &= 31;
    const int32_t n = int32_t(offset);
    if (n == 0) return mask >> base & 1 ? base : 0xffffffffu;
    int64_t left = n > 0 ? n : -int64_t(n);
    for (int32_t at = int32_t(base); at >= 0 && at < 32; at += n > 0 ? 1 : -1)
      if ((mask >> at & 1) && --left == 0) return uint32_t(at);
    return 0xffffffffu;
  }
};

// a: value, b: position, c: length; the last two by their lower 8 bits.
template <class T>
struct ExtractField {
  T operator()(T a, uint32_t position, uint32_t length) const {
    constexpr unsigned width = 8 * sizeof(T);
    const unsigned from = position & 0xff, count = length & 0xff;
    const unsigned last = from + count == 0 ? 0 : from + count - 1;
    const unsigned msb = last < width - 1 ? last : width - 1;
    const bool fill = std::is_signed_v<T> && count != 0 && (Unsigned<T>(a) >> msb & 1);
    const Unsigned<T> shifted = from < width ? Unsigned<T>(a) >> from : Unsigned<T>(0);
    const unsigned have = from < width ? (count < width - from ? count : width - from) : 0;
    const Unsigned<T> kept = have < width ? (Unsigned<T>(1) << have) - 1 : ~Unsigned<T>(0);
    return T((shifted & kept) | (fill ? ~kept : 0));
  }
};

// a into b at position c with length d.
template <class U>
U insert_field(U a, U b, uint32_t position, uint32_t length) {
  constexpr unsigned width = 8 * sizeof(U);
  const unsigned from = position & 0xff, count = length & 0xff;
  if (from >= width) return b;
  const U ones = count < width ? (U(1) << count) - 1 : ~U(0);
  const U field = ones << from;
  return (b & ~field) | ((a << from) & field);
}

template <class T>
void bfe(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = source<T>(w, in, 1);
  const uint32_t *b = source<uint32_t>(w, in, 2), *c = source<uint32_t>(w, in, 3);
  each_lane<T>(w, in, 0, mask, [=](unsigned l) { return ExtractField<T>{}(a[l], b[l], c[l]); });
}
template <class U>
void bfi(Warp& w, const Instruction& in, uint32_t mask) {
  const U *a = source<U>(w, in, 1), *b = source<U>(w, in, 2);
  const uint32_t *c = source<uint32_t>(w, in, 3), *e = source<uint32_t>(w, in, 4);
  each_lane<U>(w, in, 0, mask, [=](unsigned l) { return insert_field<U>(a[l], b[l], c[l], e[l]); });
}

// `length` ones from `position`; .clamp limits both to 32, .wrap takes them modulo 32.
template <bool Wrap>
struct BitMask {
  uint32_t operator()(uint32_t position, uint32_t length) const {
    const uint32_t from = Wrap ? position & 31 : position < 32 ? position : 32;
    const uint32_t count = Wrap ? length & 31 : length < 32 ? length : 32;
    const uint64_t ones = (uint64_t(1) << count) - 1;
    return uint32_t(ones << from);
  }
};

// The lower `width` bits extended; .clamp limits the width to 32, .wrap takes it modulo 32.
template <class T, bool Wrap>
struct Extend {
  T operator()(T a, T b) const {
    const uint32_t width = Wrap ? uint32_t(b) & 31 : uint32_t(b) < 32 ? uint32_t(b) : 32;
    const uint64_t kept = (uint64_t(1) << width) - 1;
    const bool fill = std::is_signed_v<T> && width != 0 && (uint32_t(a) >> ((width - 1) & 31) & 1);
    return T((uint32_t(a) & uint32_t(kept)) | (fill ? uint32_t(~kept) : 0));
  }
};

// Part k of `bits` bits of a word, signed or not.
inline int32_t part(uint32_t word, unsigned k, unsigned bits, bool is_signed) {
  const uint32_t up = word << (32 - bits * (k + 1));
  return is_signed ? int32_t(up) >> (32 - bits) : int32_t(up >> (32 - bits));
}

constexpr uint32_t kFirstSigned = 1, kSecondSigned = 2, kUpperHalf = 4;  // of Instruction::detail

void dot4(Warp& w, const Instruction& in, uint32_t mask) {
  const bool first = in.detail & kFirstSigned, second = in.detail & kSecondSigned;
  ternary<uint32_t>(w, in, mask, [=](uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned k = 0; k < 4; ++k) c += uint32_t(part(a, k, 8, first) * part(b, k, 8, second));
    return c;
  });
}
void dot2(Warp& w, const Instruction& in, uint32_t mask) {
  const bool first = in.detail & kFirstSigned, second = in.detail & kSecondSigned;
  const unsigned base = in.detail & kUpperHalf ? 2 : 0;
  ternary<uint32_t>(w, in, mask, [=](uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned k = 0; k < 2; ++k)
      c += uint32_t(part(a, k, 16, first) * part(b, base + k, 8, second));
    return c;
  });
}

// Op in each part of a word that is as wide as T; `Positive` is .relu.
template <class T, template <class> class Op, bool Positive = false>
struct Parts {
  static uint32_t one(uint32_t a, uint32_t b) {
    const T r = Op<T>{}(T(a), T(b));
    return Unsigned<T>(Positive && r < 0 ? T(0) : r);
  }
  uint32_t operator()(uint32_t a, uint32_t b) const {
    uint32_t r = 0;
    for (unsigned at = 0; at < 32; at += 8 * sizeof(T)) r |= one(a >> at, b >> at) << at;
    return r;
  }
};
struct NegateParts {
  uint32_t operator()(uint32_t a) const { return Parts<int8_t, Subtract>{}(0, a); }
};
template <class T>
T clamp_to(int64_t v) {
  constexpr int64_t most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  return T(v > most ? most : v < least ? least : v);
}
template <class T>
struct AddSaturated {
  T operator()(T a, T b) const { return clamp_to<T>(int64_t(a) + b); }
};
template <class T>
struct SubtractSaturated {
  T operator()(T a, T b) const { return clamp_to<T>(int64_t(a) - b); }
};

// Multiplication without carries, then an exclusive or: `High` keeps the upper 64 bits of the product.
template <bool High>
struct CarrylessMad {
  uint64_t operator()(uint64_t a, uint64_t b, uint64_t c) const {
    uint128 product = 0;
    for (unsigned k = 0; k < 64; ++k) product ^= (b >> k & 1) ? uint128(a) << k : 0;
    return uint64_t(High ? product >> 64 : product) ^ c;
  }
};

// The handler of Op for the integer type; nullptr for a type that is not listed.
template <template <class> class Op>
Handler binary_of(Type t) {
  switch (t) {
    case Type::U16: return run_binary<Op<uint16_t>, uint16_t>;
    case Type::S16: return run_binary<Op<int16_t>, int16_t>;
    case Type::U32: return run_binary<Op<uint32_t>, uint32_t>;
    case Type::S32: return run_binary<Op<int32_t>, int32_t>;
    case Type::U64: return run_binary<Op<uint64_t>, uint64_t>;
    case Type::S64: return run_binary<Op<int64_t>, int64_t>;
    default: return nullptr;
  }
}
template <template <class> class Op>
Handler ternary_of(Type t) {
  switch (t) {
    case Type::U16: return run_ternary<Op<uint16_t>, uint16_t>;
    case Type::S16: return run_ternary<Op<int16_t>, int16_t>;
    case Type::U32: return run_ternary<Op<uint32_t>, uint32_t>;
    case Type::S32: return run_ternary<Op<int32_t>, int32_t>;
    case Type::U64: return run_ternary<Op<uint64_t>, uint64_t>;
    case Type::S64: return run_ternary<Op<int64_t>, int64_t>;
    default: return nullptr;
  }
}

// Operations that are the same for both signs run as unsigned ones.
Type unsigned_of(Type t) {
  return t == Type::S16 ? Type::U16 : t == Type::S32 ? Type::U32 : t == Type::S64 ? Type::U64 : t;
}

template <class T>
void mad_wide(Warp& w, const Instruction& in, uint32_t mask) {
  const T *a = source<T>(w, in, 1), *b = source<T>(w, in, 2);
  const Wider<T>* c = source<Wider<T>>(w, in, 3);
  each_lane<Wider<T>>(w, in, 0, mask,
                      [=](unsigned l) { return Add<Wider<T>>{}(Wider<T>(a[l]) * Wider<T>(b[l]), c[l]); });
}

Handler checked(Decoding& d, Type t, unsigned sources, Handler handler) {
  return handler && d.shape(bits_of(t), bits_of(t), sources) ? handler : nullptr;
}

// add, sub of whole registers; .sat and the packed types are in kNamed.
template <template <class> class Op>
Handler resolve_sum(Decoding& d) {
  Modifiers m(d);
  const Type t = m.type();
  return m.done() ? checked(d, t, 2, binary_of<Op>(unsigned_of(t))) : nullptr;
}

bool shape_wide(Decoding& d, Type t, unsigned sources) {
  const unsigned bits = bits_of(t);
  if (d.operands.size() != sources + 1 || !d.destination(0, 2 * bits)) return false;
  return d.source(1, bits) && d.source(2, bits) && (sources == 2 || d.source(3, 2 * bits));
}

Handler resolve_mul(Decoding& d) {
  Modifiers m(d);
  const std::string_view part = m.next();
  const Type t = m.type();
  if (!m.done()) return nullptr;
  if (part == "lo") return checked(d, t, 2, binary_of<MultiplyLow>(unsigned_of(t)));
  if (part == "hi") return checked(d, t, 2, binary_of<MultiplyHigh>(t));
  if (part != "wide" || !is_integer(t) || bits_of(t) > 32 || !shape_wide(d, t, 2)) return nullptr;
  switch (t) {
    case Type::U16: return run_binary<MultiplyWide<uint16_t>, uint32_t, uint16_t>;
    case Type::S16: return run_binary<MultiplyWide<int16_t>, int32_t, int16_t>;
    case Type::U32: return run_binary<MultiplyWide<uint32_t>, uint64_t, uint32_t>;
    case Type::S32: return run_binary<MultiplyWide<int32_t>, int64_t, int32_t>;
    default: return nullptr;
  }
}

Handler resolve_mad(Decoding& d) {
  Modifiers m(d);
  const std::string_view part = m.next();
  const bool sat = m.take("sat");
  const Type t = m.type();
  if (!m.done()) return nullptr;
  if (sat)
    return part == "hi" && t == Type::S32 ? checked(d, t, 3, run_ternary<MadHighSaturated, int32_t>) : nullptr;
  if (part == "lo") return checked(d, t, 3, ternary_of<MadLow>(unsigned_of(t)));
  if (part == "hi") return checked(d, t, 3, ternary_of<MadHigh>(t));
  if (part != "wide" || !is_integer(t) || bits_of(t) > 32 || !shape_wide(d, t, 3)) return nullptr;
  switch (t) {
    case Type::U16: return mad_wide<uint16_t>;
    case Type::S16: return mad_wide<int16_t>;
    case Type::U32: return mad_wide<uint32_t>;
    case Type::S32: return mad_wide<int32_t>;
    default: return nullptr;
  }
}

struct Named {
  std::string_view spelling;
  unsigned destination, source, sources;
  Handler handler;
};

// Spellings with a handler of their own: destination width, source width, number of sources.
constexpr Named kNamed[] = {
    {"mul24.lo.u32", 32, 32, 2, run_binary<Multiply24<uint32_t, false>, uint32_t>},
    {"mul24.lo.s32", 32, 32, 2, run_binary<Multiply24<int32_t, false>, int32_t>},
    {"mul24.hi.u32", 32, 32, 2, run_binary<Multiply24<uint32_t, true>, uint32_t>},
    {"mul24.hi.s32", 32, 32, 2, run_binary<Multiply24<int32_t, true>, int32_t>},
    {"mad24.lo.u32", 32, 32, 3, run_ternary<Mad24<uint32_t, false>, uint32_t>},
    {"mad24.lo.s32", 32, 32, 3, run_ternary<Mad24<int32_t, false>, int32_t>},
    {"mad24.hi.u32", 32, 32, 3, run_ternary<Mad24<uint32_t, true>, uint32_t>},
    {"mad24.hi.s32", 32, 32, 3, run_ternary<Mad24<int32_t, true>, int32_t>},
    {"mad24.hi.sat.s32", 32, 32, 3, run_ternary<Mad24HighSaturated, int32_t>},
    {"abs.s16", 16, 16, 1, run_unary<Absolute<int16_t>, int16_t>},
    {"abs.s32", 32, 32, 1, run_unary<Absolute<int32_t>, int32_t>},
    {"abs.s64", 64, 64, 1, run_unary<Absolute<int64_t>, int64_t>},
    {"neg.s16", 16, 16, 1, run_unary<Negate<int16_t>, int16_t>},
    {"neg.s32", 32, 32, 1, run_unary<Negate<int32_t>, int32_t>},
    {"neg.s64", 64, 64, 1, run_unary<Negate<int64_t>, int64_t>},
    {"min.relu.s32", 32, 32, 2, run_binary<Relu<Least<int32_t>>, int32_t>},
    {"max.relu.s32", 32, 32, 2, run_binary<Relu<Greatest<int32_t>>, int32_t>},
    {"add.sat.s32", 32, 32, 2, run_binary<AddSaturated<int32_t>, int32_t>},
    {"add.sat.u32", 32, 32, 2, run_binary<AddSaturated<uint32_t>, uint32_t>},
    {"sub.sat.s32", 32, 32, 2, run_binary<SubtractSaturated<int32_t>, int32_t>},
    {"add.u16x2", 32, 32, 2, run_binary<Parts<uint16_t, Add>, uint32_t>},
    {"add.s16x2", 32, 32, 2, run_binary<Parts<int16_t, Add>, uint32_t>},
    {"add.sat.u16x2", 32, 32, 2, run_binary<Parts<uint16_t, AddSaturated>, uint32_t>},
    {"add.sat.s16x2", 32, 32, 2, run_binary<Parts<int16_t, AddSaturated>, uint32_t>},
    {"add.u8x4", 32, 32, 2, run_binary<Parts<uint8_t, Add>, uint32_t>},
    {"add.s8x4", 32, 32, 2, run_binary<Parts<int8_t, Add>, uint32_t>},
    {"add.sat.u8x4", 32, 32, 2, run_binary<Parts<uint8_t, AddSaturated>, uint32_t>},
    {"add.sat.s8x4", 32, 32, 2, run_binary<Parts<int8_t, AddSaturated>, uint32_t>},
    {"sub.u8x4", 32, 32, 2, run_binary<Parts<uint8_t, Subtract>, uint32_t>},
    {"sub.s8x4", 32, 32, 2, run_binary<Parts<int8_t, Subtract>, uint32_t>},
    {"sub.sat.u8x4", 32, 32, 2, run_binary<Parts<uint8_t, SubtractSaturated>, uint32_t>},
    {"sub.sat.s8x4", 32, 32, 2, run_binary<Parts<int8_t, SubtractSaturated>, uint32_t>},
    {"neg.s8x4", 32, 32, 1, run_unary<NegateParts, uint32_t>},
    {"min.u16x2", 32, 32, 2, run_binary<Parts<uint16_t, Least>, uint32_t>},
    {"min.s16x2", 32, 32, 2, run_binary<Parts<int16_t, Least>, uint32_t>},
    {"min.u8x4", 32, 32, 2, run_binary<Parts<uint8_t, Least>, uint32_t>},
    {"min.s8x4", 32, 32, 2, run_binary<Parts<int8_t, Least>, uint32_t>},
    {"min.relu.s16x2", 32, 32, 2, run_binary<Parts<int16_t, Least, true>, uint32_t>},
    {"min.relu.s8x4", 32, 32, 2, run_binary<Parts<int8_t, Least, true>, uint32_t>},
    {"max.u16x2", 32, 32, 2, run_binary<Parts<uint16_t, Greatest>, uint32_t>},
    {"max.s16x2", 32, 32, 2, run_binary<Parts<int16_t, Greatest>, uint32_t>},
    {"max.u8x4", 32, 32, 2, run_binary<Parts<uint8_t, Greatest>, uint32_t>},
    {"max.s8x4", 32, 32, 2, run_binary<Parts<int8_t, Greatest>, uint32_t>},
    {"max.relu.s16x2", 32, 32, 2, run_binary<Parts<int16_t, Greatest, true>, uint32_t>},
    {"max.relu.s8x4", 32, 32, 2, run_binary<Parts<int8_t, Greatest, true>, uint32_t>},
    {"clmad.lo.u64", 64, 64, 3, run_ternary<CarrylessMad<false>, uint64_t>},
    {"clmad.hi.u64", 64, 64, 3, run_ternary<CarrylessMad<true>, uint64_t>},
    {"popc.b32", 32, 32, 1, run_unary<CountOnes<uint32_t>, uint32_t>},
    {"popc.b64", 32, 64, 1, run_unary<CountOnes<uint64_t>, uint32_t, uint64_t>},
    {"clz.b32", 32, 32, 1, run_unary<CountLeadingZeros<uint32_t>, uint32_t>},
    {"clz.b64", 32, 64, 1, run_unary<CountLeadingZeros<uint64_t>, uint32_t, uint64_t>},
    {"bfind.u32", 32, 32, 1, run_unary<FindBit<uint32_t, false>, uint32_t>},
    {"bfind.s32", 32, 32, 1, run_unary<FindBit<int32_t, false>, uint32_t, int32_t>},
    {"bfind.u64", 32, 64, 1, run_unary<FindBit<uint64_t, false>, uint32_t, uint64_t>},
    {"bfind.s64", 32, 64, 1, run_unary<FindBit<int64_t, false>, uint32_t, int64_t>},
    {"bfind.shiftamt.u32", 32, 32, 1, run_unary<FindBit<uint32_t, true>, uint32_t>},
    {"bfind.shiftamt.s32", 32, 32, 1, run_unary<FindBit<int32_t, true>, uint32_t, int32_t>},
    {"bfind.shiftamt.u64", 32, 64, 1, run_unary<FindBit<uint64_t, true>, uint32_t, uint64_t>},
    {"bfind.shiftamt.s64", 32, 64, 1, run_unary<FindBit<int64_t, true>, uint32_t, int64_t>},
    {"brev.b32", 32, 32, 1, run_unary<ReverseBits<uint32_t>, uint32_t>},
    {"brev.b64", 64, 64, 1, run_unary<ReverseBits<uint64_t>, uint64_t>},
    {"fns.b32", 32, 32, 3, run_ternary<FindNthSet, uint32_t>},
    {"bmsk.clamp.b32", 32, 32, 2, run_binary<BitMask<false>, uint32_t>},
    {"bmsk.wrap.b32", 32, 32, 2, run_binary<BitMask<true>, uint32_t>},
    {"szext.clamp.u32", 32, 32, 2, run_binary<Extend<uint32_t, false>, uint32_t>},
    {"szext.clamp.s32", 32, 32, 2, run_binary<Extend<int32_t, false>, int32_t>},
    {"szext.wrap.u32", 32, 32, 2, run_binary<Extend<uint32_t, true>, uint32_t>},
    {"szext.wrap.s32", 32, 32, 2, run_binary<Extend<int32_t, true>, int32_t>},
};

template <template <class> class Op>
Handler resolve_plain(Decoding& d) {
  Modifiers m(d);
  const Type t = m.type();
  return m.done() ? checked(d, t, 2, binary_of<Op>(t)) : nullptr;
}
Handler resolve_sad(Decoding& d) {
  Modifiers m(d);
  const Type t = m.type();
  return m.done() ? checked(d, t, 3, ternary_of<SumAbsoluteDifference>(t)) : nullptr;
}

Handler resolve_bfe(Decoding& d) {
  Modifiers m(d);
  const Type t = m.type();
  if (!m.done() || !is_integer(t) || bits_of(t) < 32 || d.operands.size() != 4) return nullptr;
  if (!d.destination(0, bits_of(t)) || !d.source(1, bits_of(t)) || !d.source(2, 32) || !d.source(3, 32))
    return nullptr;
  if (bits_of(t) == 32) return is_signed(t) ? bfe<int32_t> : bfe<uint32_t>;
  return is_signed(t) ? bfe<int64_t> : bfe<uint64_t>;
}

Handler resolve_bfi(Decoding& d) {
  Modifiers m(d);
  const Type t = m.type();
  if (!m.done() || (t != Type::B32 && t != Type::B64) || d.operands.size() != 5) return nullptr;
  const unsigned bits = bits_of(t);
  if (!d.destination(0, bits) || !d.source(1, bits) || !d.source(2, bits) || !d.source(3, 32) ||
      !d.source(4, 32))
    return nullptr;
  return t == Type::B32 ? bfi<uint32_t> : bfi<uint64_t>;
}

// dp4a.atype.btype, dp2a.{lo,hi}.atype.btype
Handler resolve_dot(Decoding& d) {
  Modifiers m(d);
  const bool two = d.opcode == "dp2a";
  uint32_t detail = 0;
  if (two) {
    const std::string_view half = m.next();
    if (half != "lo" && half != "hi") return nullptr;
    detail |= half == "hi" ? kUpperHalf : 0;
  }
  const Type a = m.type(), b = m.type();
  const auto fits = [](Type t) { return t == Type::U32 || t == Type::S32; };
  if (!m.done() || !fits(a) || !fits(b) || !d.shape(32, 32, 3)) return nullptr;
  d.out->detail = detail | (is_signed(a) ? kFirstSigned : 0) | (is_signed(b) ? kSecondSigned : 0);
  return two ? dot2 : dot4;
}

struct Row {
  std::string_view opcode;
  Handler (*resolve)(Decoding&);
};

constexpr Row kOpcodes[] = {
    {"add", resolve_sum<Add>},
    {"sub", resolve_sum<Subtract>},
    {"mul", resolve_mul},
    {"mad", resolve_mad},
    {"sad", resolve_sad},
    {"div", resolve_plain<Divide>},
    {"rem", resolve_plain<Remainder>},
    {"min", resolve_plain<Least>},
    {"max", resolve_plain<Greatest>},
    {"bfe", resolve_bfe},
    {"bfi", resolve_bfi},
    {"dp4a", resolve_dot},
    {"dp2a", resolve_dot},
};

}  // namespace

Handler resolve_integer(Decoding& d) {
  for (const Named& row : kNamed)
    if (row.spelling == d.spelling)
      return d.shape(row.destination, row.source, row.sources) ? row.handler : nullptr;
  for (const Row& row : kOpcodes)
    if (row.opcode == d.opcode) return row.resolve(d);
  return nullptr;
}

}  // namespace pyptx::emulator
