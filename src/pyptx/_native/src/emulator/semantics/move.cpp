// PTX ISA, "Data Movement and Conversion Instructions": mov, prmt; cvt is in convert.cpp.
#include "convert.h"
#include "spelling.h"

namespace pyptx::emulator {

namespace {

template <class U>
void copy(Warp& w, const Instruction& in, uint32_t mask) {
  unary<U>(w, in, mask, [](U a) { return a; });
}
void copy_predicate(Warp& w, const Instruction& in, uint32_t mask) {
  set_predicate(w, in, 0, mask, predicate(w, in, 1));
}

// detail: number of elements, and bytes of one shifted by 8.
void pack(Warp& w, const Instruction& in, uint32_t mask) {
  const unsigned count = in.detail & 0xff, bytes = in.detail >> 8;
  uint8_t* d = destination<uint8_t>(w, in, 0);
  // Through a buffer: the destination may be one of the elements where widths are equal in number of lanes.
  alignas(64) uint8_t out[16 * kLanes];
  for (unsigned e = 0; e < count; ++e) {
    const uint8_t* a = source<uint8_t>(w, in, 1 + e);
    for (unsigned l = 0; l < kLanes; ++l) std::memcpy(out + (l * count + e) * bytes, a + l * bytes, bytes);
  }
  const unsigned whole = count * bytes;
  if (mask == kFullMask) {
    std::memcpy(d, out, kLanes * whole);
  } else {
    for (unsigned l = 0; l < kLanes; ++l)
      if (mask >> l & 1) std::memcpy(d + l * whole, out + l * whole, whole);
  }
}

// Operands: a, then the destinations, of which detail tells as in pack; bit k of its upper half marks a sink.
void unpack(Warp& w, const Instruction& in, uint32_t mask) {
  const unsigned count = in.detail & 0xff, bytes = in.detail >> 8 & 0xff;
  const uint8_t* a = source<uint8_t>(w, in, 0);
  for (unsigned e = 0; e < count; ++e) {
    if (in.detail >> (16 + e) & 1) continue;
    uint8_t* d = destination<uint8_t>(w, in, 1 + e);
    for (unsigned l = 0; l < kLanes; ++l)
      if (mask >> l & 1) std::memcpy(d + l * bytes, a + (l * count + e) * bytes, bytes);
  }
}

// The commonest: two halves of a 64-bit register.
void pack_words(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t *a = source<uint32_t>(w, in, 1), *b = source<uint32_t>(w, in, 2);
  each_lane<uint64_t>(w, in, 0, mask, [=](unsigned l) { return a[l] | uint64_t(b[l]) << 32; });
}

Handler resolve_vector(Decoding& d, Type t, unsigned packed, bool packs) {
  const unsigned count = d.elements(packed), whole = bits_of(t);
  if (!is_bits(t) || whole < 16 || (count != 2 && count != 4) || (whole == 16 && count == 4)) return nullptr;
  const unsigned part = whole / count;
  d.out->detail = count | part / 8 << 8;
  if (packs) {
    if (!d.destination(0, whole)) return nullptr;
    for (unsigned e = 0; e < count; ++e)
      if (!d.bind_source(d.element(1, e), part, part)) return nullptr;
    return part == 32 && count == 2 ? pack_words : pack;
  }
  if (!d.source(1, whole)) return nullptr;
  for (unsigned e = 0; e < count; ++e) {
    const OperandView* view = d.element(0, e);
    if (!d.bind_destination(view, part, part)) return nullptr;
    if (view->kind == OperandView::Kind::Sink) d.out->detail |= 1u << (16 + e);
  }
  return unpack;
}

bool is_vector(const OperandView* v) { return v && v->kind == OperandView::Kind::Vector; }

Handler resolve_mov(Decoding& d) {
  Modifiers m(d);
  const Type t = m.type();
  if (!m.done() || d.operands.size() != 2) return nullptr;
  if (is_vector(d.view(0))) return resolve_vector(d, t, 0, false);
  if (is_vector(d.view(1))) return resolve_vector(d, t, 1, true);
  const bool movable = is_bits(t) || is_integer(t) || t == Type::F32 || t == Type::F64 || t == Type::Pred;
  if (!movable || bits_of(t) == 8 || !d.shape(bits_of(t), bits_of(t), 1)) return nullptr;
  switch (bits_of(t)) {
    case 1: return copy_predicate;
    case 16: return copy<uint16_t>;
    case 32: return copy<uint32_t>;
    case 64: return copy<uint64_t>;
    default: return copy<uint128>;
  }
}

// Byte k of the pair b:a; with the sign bit of the selector, its sign replicated.
uint32_t pick(uint64_t pair, uint32_t selector) {
  const uint32_t byte = uint32_t(pair >> (8 * (selector & 7))) & 0xff;
  return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}

void permute(Warp& w, const Instruction& in, uint32_t mask) {
  ternary<uint32_t>(w, in, mask, [](uint32_t a, uint32_t b, uint32_t c) {
    const uint64_t pair = uint64_t(b) << 32 | a;
    return pick(pair, c) | pick(pair, c >> 4) << 8 | pick(pair, c >> 8) << 16 | pick(pair, c >> 12) << 24;
  });
}

struct Mode {
  std::string_view name;
  uint16_t selectors[4];  // by the lower two bits of c
};
constexpr Mode kModes[] = {
    {"f4e", {0x3210, 0x4321, 0x5432, 0x6543}},  {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
    {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}},  {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
    {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}},  {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}},
};

void permute_by_mode(Warp& w, const Instruction& in, uint32_t mask) {
  const uint16_t* selectors = static_cast<const Mode*>(in.plan)->selectors;
  ternary<uint32_t>(w, in, mask, [=](uint32_t a, uint32_t b, uint32_t c) {
    const uint64_t pair = uint64_t(b) << 32 | a;
    const uint32_t s = selectors[c & 3];
    return pick(pair, s & 7) | pick(pair, s >> 4 & 7) << 8 | pick(pair, s >> 8 & 7) << 16 |
           pick(pair, s >> 12 & 7) << 24;
  });
}

Handler resolve_prmt(Decoding& d) {
  Modifiers m(d);
  if (!m.take("b32") || !d.shape(32, 32, 3)) return nullptr;
  if (m.done()) return permute;
  const std::string_view name = m.next();
  for (const Mode& mode : kModes)
    if (mode.name == name && m.done()) {
      d.out->plan = &mode;
      return permute_by_mode;
    }
  return nullptr;
}

}  // namespace

Handler resolve_move(Decoding& d) {
  if (d.opcode == "mov") return resolve_mov(d);
  if (d.opcode == "prmt") return resolve_prmt(d);
  if (d.opcode == "cvt") return resolve_convert(d);
  return nullptr;
}

}  // namespace pyptx::emulator
