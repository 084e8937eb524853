// PTX ISA, "Logic and Shift Instructions".
#include "spelling.h"

namespace pyptx::emulator {

namespace {

template <class U>
struct And {
  U operator()(U a, U b) const { return a & b; }
};
template <class U>
struct Or {
  U operator()(U a, U b) const { return a | b; }
};
template <class U>
struct Xor {
  U operator()(U a, U b) const { return a ^ b; }
};
template <class U>
struct Not {
  U operator()(U a) const { return U(~a); }
};
template <class U>
struct LogicalNot {
  U operator()(U a) const { return a == 0 ? 1 : 0; }
};

// The same on predicates: all lanes of a mask at once.
template <template <class> class Op>
void on_predicates(Warp& w, const Instruction& in, uint32_t mask) {
  set_predicate(w, in, 0, mask, Op<uint32_t>{}(predicate(w, in, 1), predicate(w, in, 2)));
}
void not_predicate(Warp& w, const Instruction& in, uint32_t mask) {
  set_predicate(w, in, 0, mask, ~predicate(w, in, 1));
}

Type only_type(Decoding& d) {
  Modifiers m(d);
  const Type t = m.type();
  return m.done() ? t : Type::None;
}

template <template <class> class Op>
Handler resolve_two(Decoding& d) {
  const Type t = only_type(d);
  if (t == Type::None || !d.shape(bits_of(t), bits_of(t), 2)) return nullptr;
  switch (t) {
    case Type::Pred: return on_predicates<Op>;
    case Type::B16: return run_binary<Op<uint16_t>, uint16_t>;
    case Type::B32: return run_binary<Op<uint32_t>, uint32_t>;
    case Type::B64: return run_binary<Op<uint64_t>, uint64_t>;
    default: return nullptr;
  }
}

template <template <class> class Op>
Handler resolve_one(Decoding& d) {
  const Type t = only_type(d);
  if (t == Type::None || !d.shape(bits_of(t), bits_of(t), 1)) return nullptr;
  switch (t) {
    case Type::Pred: return d.opcode == "not" ? not_predicate : nullptr;
    case Type::B16: return run_unary<Op<uint16_t>, uint16_t>;
    case Type::B32: return run_unary<Op<uint32_t>, uint32_t>;
    case Type::B64: return run_unary<Op<uint64_t>, uint64_t>;
    default: return nullptr;
  }
}

// Any function of three bits: entry 4a + 2b + c of the table, chosen by c, then b, then a.
struct Table3 {
  uint32_t even[4], odd[4];  // entries for c = 0, and what c = 1 changes, as masks
  explicit Table3(uint32_t table) {
    for (unsigned k = 0; k < 4; ++k) {
      even[k] = 0u - (table >> (2 * k) & 1);
      odd[k] = even[k] ^ (0u - (table >> (2 * k + 1) & 1));
    }
  }
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    const uint32_t e0 = even[0] ^ (odd[0] & c), e1 = even[1] ^ (odd[1] & c);
    const uint32_t e2 = even[2] ^ (odd[2] & c), e3 = even[3] ^ (odd[3] & c);
    const uint32_t low = e0 ^ ((e0 ^ e1) & b), high = e2 ^ ((e2 ^ e3) & b);
    return low ^ ((low ^ high) & a);
  }
};

void lop3(Warp& w, const Instruction& in, uint32_t mask) {
  const Table3 table(in.detail & 0xff);
  ternary<uint32_t>(w, in, mask, [=](uint32_t a, uint32_t b, uint32_t c) { return table(a, b, c); });
}

constexpr uint32_t kJoinOr = 0x100;  // of Instruction::detail, above the table

// Operands: d, a, b, c, p, q.
void lop3_predicate(Warp& w, const Instruction& in, uint32_t mask) {
  const Table3 table(in.detail & 0xff);
  const uint32_t *a = source<uint32_t>(w, in, 1), *b = source<uint32_t>(w, in, 2), *c = source<uint32_t>(w, in, 3);
  const uint32_t q = predicate(w, in, 5);
  const uint32_t set = lane_mask([=](unsigned l) { return table(a[l], b[l], c[l]) != 0; });
  each_lane<uint32_t>(w, in, 0, mask, [=](unsigned l) { return table(a[l], b[l], c[l]); });
  set_predicate(w, in, 4, mask, in.detail & kJoinOr ? set | q : set & q);
}

// lop3.b32 d, a, b, c, immLut; lop3.{or,and}.b32 d|p, a, b, c, immLut, q
Handler resolve_lop3(Decoding& d) {
  Modifiers m(d);
  const bool with_or = m.take("or"), with_and = !with_or && m.take("and");
  const bool joined = with_or || with_and;
  const OperandView* table = d.view(4);
  if (!m.take("b32") || !m.done() || d.operands.size() != (joined ? 6 : 5)) return nullptr;
  if (table->kind != OperandView::Kind::Immediate) return nullptr;
  if (!d.bind_destination(d.element(0, 0), 32, 32) || !d.source(1, 32) || !d.source(2, 32) || !d.source(3, 32))
    return nullptr;
  d.out->detail = uint32_t(table->bits & 0xff) | (with_or ? kJoinOr : 0);
  if (!joined) return lop3;
  return d.bind_destination(d.element(0, 1), 1, 1) && d.source(5, 1) ? lop3_predicate : nullptr;
}

// Funnel shifts of b:a by c.
template <bool Left, bool Wrap>
struct FunnelShift {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    const uint32_t by = Wrap ? c & 31 : c < 32 ? c : 32;
    const uint64_t both = uint64_t(b) << 32 | a;
    return Left ? uint32_t((both << by) >> 32) : uint32_t(both >> by);
  }
};

// Amounts beyond the width count as the width.
template <class U>
struct ShiftLeft {
  U operator()(U a, uint32_t by) const { return by < 8 * sizeof(U) ? U(a << by) : U(0); }
};
template <class T>
struct ShiftRight {
  T operator()(T a, uint32_t by) const {
    constexpr uint32_t most = 8 * sizeof(T) - 1;
    if (std::is_signed_v<T>) return T(a >> (by < most ? by : most));
    return by <= most ? T(a >> by) : T(0);
  }
};

template <class Op, class T>
void shift(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = source<T>(w, in, 1);
  const uint32_t* by = source<uint32_t>(w, in, 2);
  each_lane<T>(w, in, 0, mask, [=](unsigned l) { return Op{}(a[l], by[l]); });
}

bool shape_shift(Decoding& d, Type t) {
  const unsigned bits = bits_of(t);
  return d.operands.size() == 3 && bits >= 16 && bits <= 64 && d.destination(0, bits) && d.source(1, bits) &&
         d.source(2, 32);
}

Handler resolve_shl(Decoding& d) {
  const Type t = only_type(d);
  if (!is_bits(t) || !shape_shift(d, t)) return nullptr;
  switch (bits_of(t)) {
    case 16: return shift<ShiftLeft<uint16_t>, uint16_t>;
    case 32: return shift<ShiftLeft<uint32_t>, uint32_t>;
    default: return shift<ShiftLeft<uint64_t>, uint64_t>;
  }
}

Handler resolve_shr(Decoding& d) {
  const Type t = only_type(d);
  if ((!is_bits(t) && !is_integer(t)) || !shape_shift(d, t)) return nullptr;
  switch (t) {
    case Type::S16: return shift<ShiftRight<int16_t>, int16_t>;
    case Type::S32: return shift<ShiftRight<int32_t>, int32_t>;
    case Type::S64: return shift<ShiftRight<int64_t>, int64_t>;
    case Type::B16: case Type::U16: return shift<ShiftRight<uint16_t>, uint16_t>;
    case Type::B32: case Type::U32: return shift<ShiftRight<uint32_t>, uint32_t>;
    default: return shift<ShiftRight<uint64_t>, uint64_t>;
  }
}

Handler resolve_shf(Decoding& d) {
  Modifiers m(d);
  const bool left = m.take("l");
  if (!left && !m.take("r")) return nullptr;
  const bool wrap = m.take("wrap");
  if ((!wrap && !m.take("clamp")) || !m.take("b32") || !m.done() || !d.shape(32, 32, 3)) return nullptr;
  if (left) return wrap ? run_ternary<FunnelShift<true, true>, uint32_t>
                        : run_ternary<FunnelShift<true, false>, uint32_t>;
  return wrap ? run_ternary<FunnelShift<false, true>, uint32_t>
              : run_ternary<FunnelShift<false, false>, uint32_t>;
}

struct Row {
  std::string_view opcode;
  Handler (*resolve)(Decoding&);
};

constexpr Row kOpcodes[] = {
    {"and", resolve_two<And>},  {"or", resolve_two<Or>},          {"xor", resolve_two<Xor>},
    {"not", resolve_one<Not>},  {"cnot", resolve_one<LogicalNot>}, {"lop3", resolve_lop3},
    {"shf", resolve_shf},       {"shl", resolve_shl},              {"shr", resolve_shr},
};

}  // namespace

Handler resolve_logic(Decoding& d) {
  for (const Row& row : kOpcodes)
    if (row.opcode == d.opcode) return row.resolve(d);
  return nullptr;
}

}  // namespace pyptx::emulator
