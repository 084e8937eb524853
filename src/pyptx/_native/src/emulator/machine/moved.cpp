// Which instructions only move bytes, so that bytes without a value may go through them.
#include <algorithm>

#include "program.h"

namespace pyptx::emulator {
namespace {

using How = Moved::Kind;
using View = OperandView::Kind;

bool in_image(const OperandView& v, uint32_t registers) { return v.kind == View::Register && v.reg < registers; }

uint32_t number_of(const OperandView& v, uint32_t registers) { return in_image(v, registers) ? v.reg : Moved::kHasValue; }

std::vector<uint32_t> numbers_of(const OperandView& v, uint32_t registers) {
  std::vector<uint32_t> list;
  if (v.kind != View::Vector) return {number_of(v, registers)};
  for (const OperandView& e : v.elements) list.push_back(number_of(e, registers));
  return list;
}

// Bytes of a type without a fraction, 0 for others.
unsigned integer_bytes(std::string_view type) {
  if (type.size() < 2 || (type[0] != 'u' && type[0] != 's' && type[0] != 'b')) return 0;
  const std::string_view bits = type.substr(1);
  return bits == "8" ? 1 : bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : 0;
}

Moved moved_by_mov(const Decoding& d, uint32_t registers) {
  Moved moved;
  const std::string_view type = d.last();
  const unsigned bytes = type == "pred" ? 1 : type == "b128" ? 16 : type == "f32" ? 4 : type == "f64" ? 8 : integer_bytes(type);
  if (d.operands.size() != 2 || bytes == 0) return moved;
  const OperandView &to = d.operands[0], &from = d.operands[1];
  const bool splits = to.kind == View::Vector;
  if (from.kind == View::Negated) return moved;
  moved.kind = splits ? How::Split : How::Join;
  moved.from = numbers_of(from, registers);
  moved.to = numbers_of(to, registers);
  moved.bytes = static_cast<uint8_t>(bytes / std::max(moved.from.size(), moved.to.size()));
  return moved;
}

Moved moved_by_cvt(const Decoding& d, uint32_t registers) {
  Moved moved;
  if (d.modifiers.size() != 2 || d.operands.size() != 2 || d.operands[1].kind != View::Register) return moved;
  const unsigned kept = integer_bytes(d.modifiers[0]), read = integer_bytes(d.modifiers[1]);
  if (kept == 0 || read == 0) return moved;
  moved.kind = How::Cut;
  moved.bytes = static_cast<uint8_t>(read);
  moved.kept = static_cast<uint8_t>(std::min(kept, read));
  moved.sign = d.modifiers[kept < read ? 0 : 1][0] == 's';
  moved.from = {number_of(d.operands[1], registers)};
  moved.to = {number_of(d.operands[0], registers)};
  return moved;
}

bool names_local(const Decoding& d, const OperandView& address) {
  const bool frame = address.space == static_cast<uint8_t>(VariableSpace::Local);
  return d.has("local") || (d.has("param") && frame);
}

// Neither a space of its own nor one that is not local.
bool is_generic(const Decoding& d) {
  constexpr std::string_view kSpaces[] = {"global", "shared", "shared::cta", "shared::cluster", "const", "param",
                                          "param::entry", "param::func", "local"};
  return std::none_of(std::begin(kSpaces), std::end(kSpaces), [&](std::string_view space) { return d.has(space); });
}

// Loads and stores; `local` says that the program has local memory.
Moved moved_by_access(const Decoding& d, uint32_t registers, bool local) {
  Moved moved;
  const bool loads = d.opcode == "ld";
  const unsigned data = loads ? 0 : 1, at = loads ? 1 : 0;
  if (d.operands.size() < 2 || d.operands[at].kind != View::Address) return moved;
  const OperandView& address = d.operands[at];
  const std::string_view type = d.last();
  const unsigned bytes = type == "b128" ? 16 : type == "f32" ? 4 : type == "f64" ? 8 : integer_bytes(type);
  const bool reaches = names_local(d, address) || (local && is_generic(d));
  if (bytes == 0 || (loads && !reaches)) return moved;
  moved.kind = loads ? How::Load : How::Store;
  moved.bytes = static_cast<uint8_t>(bytes);
  moved.sign = type[0] == 's';
  moved.local = reaches;
  (loads ? moved.to : moved.from) = numbers_of(d.operands[data], registers);
  if (address.has_base && address.space == 0xff && address.reg < registers) moved.read.push_back(address.reg);
  if (d.operands.size() > 2 && in_image(d.operands[2], registers)) moved.read.push_back(d.operands[2].reg);
  return moved;
}

}  // namespace

Moved moved_by(const Decoding& d, uint32_t registers, bool local) {
  if (d.opcode == "mov") return moved_by_mov(d, registers);
  if (d.opcode == "cvt") return moved_by_cvt(d, registers);
  if (d.opcode == "st" || d.opcode == "ld") return moved_by_access(d, registers, local);
  Moved moved;
  if (d.opcode != "prmt" || d.modifiers.size() != 1 || d.operands.size() != 4) return moved;
  moved.kind = How::Permute;
  moved.from = {number_of(d.operands[1], registers), number_of(d.operands[2], registers)};
  moved.to = {number_of(d.operands[0], registers)};
  if (in_image(d.operands[3], registers)) moved.read.push_back(d.operands[3].reg);
  return moved;
}

}  // namespace pyptx::emulator
