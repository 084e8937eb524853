// PTX ISA, "Video Instructions": scalar ones on a byte, a half or all of a register, and SIMD ones.
#include "spelling.h"

namespace pyptx::emulator {

namespace {

using Wide = __int128;

enum class Op : uint8_t { Add, Subtract, Difference, Least, Greatest, Average, Left, Right, Compare };
enum class Second : uint8_t { None, Add, Least, Greatest };
enum class Test : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

// What is selected of a register: the numbers of `count` parts, 4 bits each, the lowest lane lowest.
struct Selection {
  uint16_t lanes = 0;
  uint8_t count = 0;  // 0 for the whole register
  uint8_t bits = 8;   // of a part
  bool negated = false;

  unsigned lane(unsigned k) const { return lanes >> (4 * k) & 0xf; }
};

// An instruction as it was read; `bits` is the width of a lane, 32 for the scalar ones.
struct Video {
  Op op = Op::Add;
  Second second = Second::None;
  Test test = Test::Equal;
  uint8_t bits = 32;
  uint8_t shift = 0;  // vmad's scale
  bool result_signed = false, a_signed = false, b_signed = false;
  bool saturate = false, wrap = false, one = false;
  bool negate_product = false, negate_c = false, signed_final = false;  // vmad
  Selection d, a, b;
};

// The low `bits` of a word, extended by their sign or by zeros.
Wide extended(uint64_t word, unsigned bits, bool is_signed) {
  const uint64_t low = bits == 64 ? word : word & ((uint64_t(1) << bits) - 1);
  const bool negative = is_signed && (low >> (bits - 1) & 1);
  return negative ? Wide(low) - (Wide(1) << bits) : Wide(low);
}

Wide clamped(Wide value, unsigned bits, bool is_signed) {
  const Wide least = is_signed ? -(Wide(1) << (bits - 1)) : 0;
  const Wide most = (Wide(1) << (is_signed ? bits - 1 : bits)) - 1;
  return value < least ? least : value > most ? most : value;
}

Wide selected(uint32_t word, const Selection& s, bool is_signed) {
  if (s.count == 0) return extended(word, 32, is_signed);
  return extended(word >> (s.bits * s.lane(0)), s.bits, is_signed);
}

bool holds(Test test, Wide a, Wide b) {
  switch (test) {
    case Test::Equal: return a == b;
    case Test::NotEqual: return a != b;
    case Test::Less: return a < b;
    case Test::LessEqual: return a <= b;
    case Test::Greater: return a > b;
    default: return a >= b;
  }
}

Wide primary(const Video& v, Wide a, Wide b) {
  switch (v.op) {
    case Op::Add: return a + b;
    case Op::Subtract: return a - b;
    case Op::Difference: return a < b ? b - a : a - b;
    case Op::Least: return a < b ? a : b;
    case Op::Greatest: return a < b ? b : a;
    case Op::Average: return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case Op::Compare: return holds(v.test, a, b) ? 1 : 0;
    default: break;
  }
  const unsigned by = v.wrap ? unsigned(b) & 31 : b > 32 ? 32 : unsigned(b);
  // Intermediate results have 34 bits, which only a shift to the left leaves.
  return v.op == Op::Left ? extended(uint64_t(a) << by, 34, true) : a >> by;
}

Wide combined(Second second, Wide a, Wide b) {
  switch (second) {
    case Second::Add: return a + b;
    case Second::Least: return a < b ? a : b;
    case Second::Greatest: return a < b ? b : a;
    default: return a;
  }
}

uint32_t scalar(const Video& v, uint32_t a, uint32_t b, uint32_t c) {
  Wide r = primary(v, selected(a, v.a, v.a_signed), selected(b, v.b, v.b_signed));
  const bool part = v.d.count != 0;
  if (v.saturate) r = clamped(r, part ? v.d.bits : 32, v.result_signed);
  if (part) {
    const uint32_t field = ((uint32_t(1) << v.d.bits) - 1) << (v.d.bits * v.d.lane(0));
    return (uint32_t(r) << (v.d.bits * v.d.lane(0)) & field) | (c & ~field);
  }
  if (v.second == Second::None) return uint32_t(r);
  // The manual leaves open which sign a result has that does not fit: here that of its type, as in
  // the assembler's code.
  const Wide first = extended(uint64_t(r), 32, v.result_signed);
  return uint32_t(combined(v.second, first, extended(c, 32, v.result_signed)));
}

uint32_t simd(const Video& v, uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t both = uint64_t(b) << 32 | a;
  const uint32_t low = (uint32_t(1) << v.bits) - 1;
  unsigned written = 0;
  for (unsigned k = 0; k < v.d.count; ++k) written |= 1u << v.d.lane(k);
  const bool sum = v.second == Second::Add;
  uint32_t result = sum ? c : 0;
  for (unsigned k = 0; k < 32u / v.bits; ++k) {
    const Wide first = extended(both >> (v.bits * v.a.lane(k)), v.bits, v.a_signed);
    const Wide other = extended(both >> (v.bits * v.b.lane(k)), v.bits, v.b_signed);
    Wide r = primary(v, first, other);
    if (v.saturate) r = clamped(r, v.bits, v.result_signed);
    const bool chosen = written >> k & 1;
    if (sum) result += chosen ? uint32_t(r) : 0;
    else result |= (chosen ? uint32_t(r) & low : c >> (v.bits * k) & low) << (v.bits * k);
  }
  return result;
}

// The product is negated by its complement and one more, and so is c.
uint32_t multiply(const Video& v, uint32_t a, uint32_t b, uint32_t c) {
  Wide r = selected(a, v.a, v.a_signed) * selected(b, v.b, v.b_signed);
  if (v.negate_product) r = ~r;
  r += extended(v.negate_c ? ~c : c, 32, v.signed_final) + (v.one || v.negate_product || v.negate_c ? 1 : 0);
  r >>= v.shift;
  return uint32_t(v.saturate ? clamped(r, 32, v.signed_final) : r);
}

template <uint32_t (*Of)(const Video&, uint32_t, uint32_t, uint32_t)>
void run_video(Warp& w, const Instruction& in, uint32_t mask) {
  const Video& v = *static_cast<const Video*>(in.plan);
  ternary<uint32_t>(w, in, mask, [&](uint32_t a, uint32_t b, uint32_t c) { return Of(v, a, b, c); });
}

// An operand that may be a part of a register: its selection, and the register itself.
OperandView whole(const OperandView& v, Selection* s) {
  if (v.kind != OperandView::Kind::Part) return v;
  s->lanes = uint16_t(v.bits);
  s->count = uint8_t(v.bits >> 16);
  s->bits = v.bits >> 24 & 1 ? 16 : 8;
  s->negated = v.offset != 0;
  OperandView r = v;
  r.kind = OperandView::Kind::Register;
  return r;
}

bool take_sign(Modifiers& m, bool* is_signed) {
  const Type t = m.type();
  *is_signed = t == Type::S32;
  return t == Type::S32 || t == Type::U32;
}

template <class T, size_t N>
bool take_one(Modifiers& m, const std::pair<std::string_view, T> (&of)[N], T* found) {
  for (const auto& [name, value] : of) {
    if (!m.take(name)) continue;
    *found = value;
    return true;
  }
  return false;
}

constexpr std::pair<std::string_view, Op> kOps[] = {
    {"vadd", Op::Add}, {"vsub", Op::Subtract}, {"vabsdiff", Op::Difference},
    {"vmin", Op::Least}, {"vmax", Op::Greatest}, {"vavrg", Op::Average},
    {"vshl", Op::Left}, {"vshr", Op::Right}, {"vset", Op::Compare},
};
constexpr std::pair<std::string_view, Second> kSeconds[] = {
    {"add", Second::Add}, {"min", Second::Least}, {"max", Second::Greatest}};
constexpr std::pair<std::string_view, Test> kTests[] = {
    {"eq", Test::Equal}, {"ne", Test::NotEqual}, {"lt", Test::Less},
    {"le", Test::LessEqual}, {"gt", Test::Greater}, {"ge", Test::GreaterEqual}};

// The modifiers of all but vmad: types, .sat or a comparison, a shift's mode, the second operation.
bool read_modifiers(const Decoding& d, Video* v) {
  Modifiers m(d);
  const bool compare = v->op == Op::Compare, shift = v->op == Op::Left || v->op == Op::Right;
  if (!compare && !take_sign(m, &v->result_signed)) return false;
  if (!take_sign(m, &v->a_signed) || !take_sign(m, &v->b_signed)) return false;
  if (shift && v->b_signed) return false;
  if (compare && !take_one(m, kTests, &v->test)) return false;
  v->saturate = !compare && m.take("sat");
  if (shift) {
    v->wrap = m.take("wrap");
    if (!v->wrap && !m.take("clamp")) return false;
  }
  take_one(m, kSeconds, &v->second);
  return m.done();
}

// Binds d, a, b and, where there is one, c; a source that is left out is read as b.
bool bind_operands(Decoding& d, Video* v, bool third) {
  if (d.operands.size() != (third ? 4u : 3u)) return false;
  const OperandView to = whole(d.operands[0], &v->d);
  const OperandView a = whole(d.operands[1], &v->a), b = whole(d.operands[2], &v->b);
  Selection of_c;
  const OperandView c = whole(d.operands[third ? 3 : 2], &of_c);
  v->negate_product = v->a.negated != v->b.negated;
  v->negate_c = third && of_c.negated;
  return d.bind_destination(&to, 32, 32) && d.bind_source(&a, 32, 32) && d.bind_source(&b, 32, 32) &&
         d.bind_source(&c, 32, 32) && !(third && of_c.count);
}

Handler resolve_mad(Decoding& d) {
  Video v;
  Modifiers m(d);
  if (!take_sign(m, &v.result_signed) || !take_sign(m, &v.a_signed) || !take_sign(m, &v.b_signed)) return nullptr;
  v.one = m.take("po");
  v.saturate = m.take("sat");
  v.shift = m.take("shr7") ? 7 : m.take("shr15") ? 15 : 0;
  if (!m.done() || !bind_operands(d, &v, true) || v.d.count) return nullptr;
  const bool negated = v.negate_product || v.negate_c;
  if ((v.negate_product && v.negate_c) || (v.one && (negated || v.a.negated))) return nullptr;
  v.signed_final = v.a_signed || v.b_signed || negated;
  d.out->plan = d.keep(v);
  return run_video<multiply>;
}

Handler resolve_scalar(Decoding& d, Video v) {
  const bool third = d.operands.size() == 4;
  if (!read_modifiers(d, &v) || !bind_operands(d, &v, third)) return nullptr;
  const bool merges = v.d.count == 1 && v.second == Second::None;
  if (third != (merges || v.second != Second::None) || v.a.negated || v.b.negated || v.negate_c) return nullptr;
  if (v.d.count > 1 || (v.d.count && !merges) || v.a.count > 1 || v.b.count > 1) return nullptr;
  d.out->plan = d.keep(v);
  return run_video<scalar>;
}

Handler resolve_simd(Decoding& d, Video v, unsigned lanes) {
  v.bits = uint8_t(32 / lanes);
  if (!read_modifiers(d, &v) || !bind_operands(d, &v, true)) return nullptr;
  if ((v.second != Second::None && v.second != Second::Add) || (v.second == Second::Add && v.saturate)) return nullptr;
  if (v.a.negated || v.b.negated || v.negate_c) return nullptr;
  const bool two = lanes == 2;
  Selection all;
  all.count = uint8_t(lanes);
  all.bits = v.bits;
  all.lanes = two ? 0x10 : 0x3210;
  if (v.d.count == 0) v.d = all;
  if (v.a.count == 0) v.a = all;
  if (v.b.count == 0) {
    v.b = all;
    v.b.lanes = two ? 0x32 : 0x7654;
  }
  const bool fit = v.d.bits == v.bits && v.a.bits == v.bits && v.b.bits == v.bits;
  if (!fit || v.a.count != lanes || v.b.count != lanes) return nullptr;
  d.out->plan = d.keep(v);
  return run_video<simd>;
}

}  // namespace

Handler resolve_video(Decoding& d) {
  if (d.opcode.empty() || d.opcode.front() != 'v') return nullptr;
  if (d.opcode == "vmad") return resolve_mad(d);
  std::string_view name = d.opcode;
  const unsigned lanes = name.back() == '2' ? 2 : name.back() == '4' ? 4 : 1;
  if (lanes > 1) name.remove_suffix(1);
  for (const auto& [opcode, op] : kOps) {
    if (name != opcode) continue;
    Video v;
    v.op = op;
    return lanes == 1 ? resolve_scalar(d, v) : resolve_simd(d, v, lanes);
  }
  return nullptr;
}

}  // namespace pyptx::emulator
