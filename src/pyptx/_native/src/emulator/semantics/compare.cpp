// PTX ISA, "Comparison and Selection Instructions", also of half precision: set, setp, selp, slct.
#include "floating.h"
#include "spelling.h"

namespace pyptx::emulator {

namespace {

enum class Compare : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
enum class Join : uint8_t { None, And, Or, Xor };

struct CompareName {
  std::string_view name;
  Compare op;
};
constexpr CompareName kCompare[] = {
    {"eq", Compare::Eq},   {"ne", Compare::Ne},   {"lt", Compare::Lt},   {"le", Compare::Le},
    {"gt", Compare::Gt},   {"ge", Compare::Ge},   {"equ", Compare::Equ}, {"neu", Compare::Neu},
    {"ltu", Compare::Ltu}, {"leu", Compare::Leu}, {"gtu", Compare::Gtu}, {"geu", Compare::Geu},
    {"num", Compare::Num}, {"nan", Compare::Nan},
};
constexpr CompareName kUnsignedCompare[] = {
    {"lo", Compare::Lt}, {"ls", Compare::Le}, {"hi", Compare::Gt}, {"hs", Compare::Ge}};

// Instruction::detail of set and setp, and of their binding.
struct Options {
  Compare compare;
  Join join;
  bool ftz, pair;
  Type result, compared;
  uint32_t pack() const {
    return uint32_t(compare) | uint32_t(join) << 4 | ftz << 6 | pair << 7 | uint32_t(result) << 8 |
           uint32_t(compared) << 16;
  }
  static Options of(const Instruction& in) {
    const uint32_t d = in.detail;
    return {Compare(d & 15), Join(d >> 4 & 3), (d >> 6 & 1) != 0, (d >> 7 & 1) != 0, Type(d >> 8 & 255),
            Type(d >> 16 & 255)};
  }
};

template <class G>
uint32_t compare_integers(Compare op, G pair) {
  switch (op) {
    case Compare::Eq: return pair([](auto a, auto b) { return a == b; });
    case Compare::Ne: return pair([](auto a, auto b) { return a != b; });
    case Compare::Lt: return pair([](auto a, auto b) { return a < b; });
    case Compare::Le: return pair([](auto a, auto b) { return a <= b; });
    case Compare::Gt: return pair([](auto a, auto b) { return a > b; });
    default: return pair([](auto a, auto b) { return a >= b; });
  }
}
// The unordered comparisons are the negations of the opposite ordered ones.
template <class G>
uint32_t compare_floats(Compare op, G pair) {
  switch (op) {
    case Compare::Eq: return pair([](auto a, auto b) { return a == b; });
    case Compare::Ne: return pair([](auto a, auto b) { return (a < b) | (a > b); });
    case Compare::Lt: return pair([](auto a, auto b) { return a < b; });
    case Compare::Le: return pair([](auto a, auto b) { return a <= b; });
    case Compare::Gt: return pair([](auto a, auto b) { return a > b; });
    case Compare::Ge: return pair([](auto a, auto b) { return a >= b; });
    case Compare::Num: return pair([](auto a, auto b) { return (a == a) & (b == b); });
    case Compare::Nan: return pair([](auto a, auto b) { return (a != a) | (b != b); });
    case Compare::Equ: return ~compare_floats(Compare::Ne, pair);
    case Compare::Neu: return ~compare_floats(Compare::Eq, pair);
    case Compare::Ltu: return ~compare_floats(Compare::Ge, pair);
    case Compare::Leu: return ~compare_floats(Compare::Gt, pair);
    case Compare::Gtu: return ~compare_floats(Compare::Le, pair);
    case Compare::Geu: return ~compare_floats(Compare::Lt, pair);
  }
  return 0;
}

template <class T>
uint32_t integers(Warp& w, const Instruction& in, unsigned k, const Options& o) {
  const T *a = source<T>(w, in, k), *b = source<T>(w, in, k + 1);
  return compare_integers(o.compare, [=](auto f) {
    return lane_mask([=](unsigned l) { return f(a[l], b[l]); });
  });
}
template <class F>
uint32_t floats(Warp& w, const Instruction& in, unsigned k, const Options& o) {
  const F *a = source<F>(w, in, k), *b = source<F>(w, in, k + 1);
  if (o.ftz)
    return compare_floats(o.compare, [=](auto f) {
      return lane_mask([=](unsigned l) { return f(flush(a[l]), flush(b[l])); });
    });
  return compare_floats(o.compare, [=](auto f) {
    return lane_mask([=](unsigned l) { return f(a[l], b[l]); });
  });
}
// Part `half` of packed values, or the value itself where `packed` is false.
template <class F>
uint32_t halves(Warp& w, const Instruction& in, unsigned k, const Options& o, bool packed, unsigned half) {
  const uint16_t *a = source<uint16_t>(w, in, k), *b = source<uint16_t>(w, in, k + 1);
  const unsigned step = packed ? 2 : 1;
  alignas(64) float x[kLanes], y[kLanes];
  const auto load = [&](uint16_t v) {
    const bool subnormal = (v & F::magnitude) < F::least_normal;
    return bits_as<float>(widen<F, Binary32>(o.ftz && subnormal ? uint16_t(v & 0x8000) : v));
  };
  for (unsigned l = 0; l < kLanes; ++l) x[l] = load(a[step * l + half]), y[l] = load(b[step * l + half]);
  return compare_floats(o.compare, [&](auto f) {
    return lane_mask([&](unsigned l) { return f(x[l], y[l]); });
  });
}

// The comparison of operands k and k + 1; `half` chooses the part of packed ones.
uint32_t compare(Warp& w, const Instruction& in, unsigned k, const Options& o, unsigned half) {
  switch (o.compared) {
    case Type::B16: case Type::U16: return integers<uint16_t>(w, in, k, o);
    case Type::B32: case Type::U32: return integers<uint32_t>(w, in, k, o);
    case Type::B64: case Type::U64: return integers<uint64_t>(w, in, k, o);
    case Type::S16: return integers<int16_t>(w, in, k, o);
    case Type::S32: return integers<int32_t>(w, in, k, o);
    case Type::S64: return integers<int64_t>(w, in, k, o);
    case Type::F32: return floats<float>(w, in, k, o);
    case Type::F64: return floats<double>(w, in, k, o);
    case Type::F16: return halves<Binary16>(w, in, k, o, false, 0);
    case Type::BF16: return halves<Bfloat16>(w, in, k, o, false, 0);
    case Type::F16x2: return halves<Binary16>(w, in, k, o, true, half);
    case Type::BF16x2: return halves<Bfloat16>(w, in, k, o, true, half);
    default: return 0;
  }
}

uint32_t joined(Join join, uint32_t value, uint32_t other) {
  switch (join) {
    case Join::And: return value & other;
    case Join::Or: return value | other;
    case Join::Xor: return value ^ other;
    default: return value;
  }
}

bool is_packed(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }

// Operands: p, a, b, c. The commonest setp, of one type and with one destination and no third source.
template <class T>
void setp_one(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  if constexpr (std::is_floating_point_v<T>)
    set_predicate(w, in, 0, mask, floats<T>(w, in, 1, o));
  else
    set_predicate(w, in, 0, mask, integers<T>(w, in, 1, o));
}

// Operands: p, q if there is a pair, a, b, c if there is a join. Of packed values p is the lower half's
// comparison and q the upper's; of others q is the comparison's negation, joined likewise.
void setp(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  const unsigned first = o.pair ? 2 : 1;
  const uint32_t other = o.join == Join::None ? 0 : predicate(w, in, first + 2);
  const uint32_t lower = compare(w, in, first, o, 0);
  const uint32_t upper = is_packed(o.compared) ? compare(w, in, first, o, 1) : ~lower;
  set_predicate(w, in, 0, mask, joined(o.join, lower, other));
  if (o.pair) set_predicate(w, in, 1, mask, joined(o.join, upper, other));
}

// Operands: d, a, b, c if there is a join.
void set(Warp& w, const Instruction& in, uint32_t mask) {
  const Options o = Options::of(in);
  const uint32_t other = o.join == Join::None ? 0 : predicate(w, in, 3);
  const uint32_t lower = joined(o.join, compare(w, in, 1, o, 0), other);
  if (is_packed(o.compared)) {
    const uint32_t upper = joined(o.join, compare(w, in, 1, o, 1), other);
    const uint32_t one = o.result == Type::F16x2 ? 0x3c00 : o.result == Type::BF16x2 ? 0x3f80 : 0xffff;
    each_lane<uint32_t>(w, in, 0, mask, [=](unsigned l) {
      return (lower >> l & 1 ? one : 0) | (upper >> l & 1 ? one << 16 : 0);
    });
  } else if (bits_of(o.result) == 16) {
    const uint16_t one = o.result == Type::F16 ? 0x3c00 : o.result == Type::BF16 ? 0x3f80 : 0xffff;
    each_lane<uint16_t>(w, in, 0, mask, [=](unsigned l) { return lower >> l & 1 ? one : uint16_t(0); });
  } else {
    const uint32_t one = o.result == Type::F32 ? 0x3f800000 : 0xffffffff;
    each_lane<uint32_t>(w, in, 0, mask, [=](unsigned l) { return lower >> l & 1 ? one : 0; });
  }
}

// .CmpOp{.BoolOp}{.ftz} and whether the comparison fits the type.
bool read_comparison(Modifiers& m, Options& o, Compare& comparison, bool& unsigned_only) {
  const std::string_view name = m.next();
  bool known = false;
  for (const CompareName& row : kCompare)
    if (row.name == name) comparison = row.op, known = true;
  for (const CompareName& row : kUnsignedCompare)
    if (row.name == name) comparison = row.op, known = unsigned_only = true;
  o.join = m.take("and") ? Join::And : m.take("or") ? Join::Or : m.take("xor") ? Join::Xor : Join::None;
  o.ftz = m.take("ftz");
  return known;
}

bool fits(const Options& o, bool unsigned_only) {
  const Type t = o.compared;
  const bool half = t == Type::F16 || t == Type::F16x2;
  const bool brain = t == Type::BF16 || t == Type::BF16x2;
  if (o.ftz && t != Type::F32 && !half) return false;
  if (unsigned_only) return is_integer(t) && !is_signed(t) && bits_of(t) >= 16;
  if (half || brain || t == Type::F32 || t == Type::F64) return true;
  if (is_bits(t)) return bits_of(t) >= 16 && bits_of(t) <= 64 && o.compare <= Compare::Ne;
  return is_integer(t) && bits_of(t) >= 16 && o.compare <= Compare::Ge;
}

bool bind_sources(Decoding& d, const Options& o) {
  const unsigned count = o.join == Join::None ? 3 : 4, bits = bits_of(o.compared);
  if (d.operands.size() != count || !d.source(1, bits) || !d.source(2, bits)) return false;
  return o.join == Join::None || d.source(3, 1);
}

Handler resolve_setp(Decoding& d) {
  Modifiers m(d);
  Options o{};
  bool unsigned_only = false;
  if (!read_comparison(m, o, o.compare, unsigned_only)) return nullptr;
  o.compared = m.type();
  if (!m.done() || !fits(o, unsigned_only) || d.operands.empty()) return nullptr;
  o.pair = d.operands[0].kind == OperandView::Kind::Pair;
  for (unsigned e = 0; e < (o.pair ? 2u : 1u); ++e)
    if (!d.bind_destination(d.element(0, e), 1, 1)) return nullptr;
  if (!bind_sources(d, o)) return nullptr;
  d.out->detail = o.pack();
  if (o.pair || o.join != Join::None) return setp;
  switch (o.compared) {
    case Type::U32: return setp_one<uint32_t>;
    case Type::S32: return setp_one<int32_t>;
    case Type::F32: return setp_one<float>;
    default: return setp;
  }
}

// The destination types of set by what is compared.
bool set_result_fits(Type result, Type compared) {
  switch (result) {
    case Type::F16: return !is_packed(compared) && compared != Type::BF16;
    case Type::BF16: return !is_packed(compared);
    case Type::U16: case Type::S16: return compared == Type::F16 || compared == Type::BF16;
    case Type::U32: case Type::S32: return true;
    case Type::F32: return !is_packed(compared) && compared != Type::F16 && compared != Type::BF16;
    case Type::F16x2: case Type::BF16x2: return result == compared;
    default: return false;
  }
}

Handler resolve_set(Decoding& d) {
  Modifiers m(d);
  Options o{};
  bool unsigned_only = false;
  if (!read_comparison(m, o, o.compare, unsigned_only)) return nullptr;
  o.result = m.type();
  o.compared = m.type();
  if (!m.done() || !fits(o, unsigned_only) || !set_result_fits(o.result, o.compared)) return nullptr;
  d.out->detail = o.pack();
  return d.destination(0, bits_of(o.result)) && bind_sources(d, o) ? set : nullptr;
}

template <class U>
void selp(Warp& w, const Instruction& in, uint32_t mask) {
  const U *a = source<U>(w, in, 1), *b = source<U>(w, in, 2);
  const uint32_t p = predicate(w, in, 3);
  each_lane<U>(w, in, 0, mask, [=](unsigned l) { return p >> l & 1 ? a[l] : b[l]; });
}

Handler resolve_selp(Decoding& d) {
  Modifiers m(d);
  const Type t = m.type();
  const unsigned bits = bits_of(t);
  const bool plain = is_bits(t) || is_integer(t) || t == Type::F32 || t == Type::F64;
  if (!m.done() || !plain || bits < 16 || bits > 64 || d.operands.size() != 4) return nullptr;
  if (!d.destination(0, bits) || !d.source(1, bits) || !d.source(2, bits) || !d.source(3, 1)) return nullptr;
  return bits == 16 ? selp<uint16_t> : bits == 32 ? selp<uint32_t> : selp<uint64_t>;
}

// a where c is at least zero, else b, also for a NaN.
template <class U, class C, bool Ftz>
void slct(Warp& w, const Instruction& in, uint32_t mask) {
  const U *a = source<U>(w, in, 1), *b = source<U>(w, in, 2);
  const C* c = source<C>(w, in, 3);
  each_lane<U>(w, in, 0, mask, [=](unsigned l) {
    if constexpr (Ftz) return flush(c[l]) >= 0 ? a[l] : b[l];
    else return c[l] >= 0 ? a[l] : b[l];
  });
}
template <class U>
Handler slct_of(Type c, bool ftz) {
  return c == Type::S32 ? slct<U, int32_t, false> : ftz ? slct<U, float, true> : slct<U, float, false>;
}

Handler resolve_slct(Decoding& d) {
  Modifiers m(d);
  const bool ftz = m.take("ftz");
  const Type t = m.type(), c = m.type();
  const unsigned bits = bits_of(t);
  const bool plain = is_bits(t) || is_integer(t) || t == Type::F32 || t == Type::F64;
  if (!m.done() || !plain || bits < 16 || bits > 64 || (c != Type::S32 && c != Type::F32)) return nullptr;
  if ((ftz && c != Type::F32) || d.operands.size() != 4) return nullptr;
  if (!d.destination(0, bits) || !d.source(1, bits) || !d.source(2, bits) || !d.source(3, 32)) return nullptr;
  return bits == 16 ? slct_of<uint16_t>(c, ftz) : bits == 32 ? slct_of<uint32_t>(c, ftz) : slct_of<uint64_t>(c, ftz);
}

}  // namespace

Handler resolve_compare(Decoding& d) {
  if (d.opcode == "setp") return resolve_setp(d);
  if (d.opcode == "set") return resolve_set(d);
  if (d.opcode == "selp") return resolve_selp(d);
  if (d.opcode == "slct") return resolve_slct(d);
  return nullptr;
}

}  // namespace pyptx::emulator
