// Binds the operands of an instruction, for the chapters of the semantics.
#include "program.h"

#include <algorithm>

namespace pyptx::emulator {

Decoding::Decoding(Program& program, Instruction& instruction) : out(&instruction), program_(program) {}

bool Decoding::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string_view Decoding::last(unsigned k) const {
  return k < modifiers.size() ? modifiers[modifiers.size() - 1 - k] : std::string_view();
}

void Decoding::append(uint32_t offset, unsigned width, bool inverted) {
  const unsigned k = bound();
  if (k < kInlineOperands) out->operand[k] = offset;
  if (inverted) out->invert |= 1u << (k & 31u);
  slots_.push_back(offset);
  widths_.push_back(static_cast<uint8_t>(width));
}

bool Decoding::bind_source(const OperandView* v, unsigned least, unsigned most) {
  using Kind = OperandView::Kind;
  if (v == nullptr) return false;
  if (v->kind == Kind::Immediate) {
    const bool predicate = least == 1;
    append(program_.intern(predicate ? (v->bits != 0 ? ~0ull : 0) : v->bits, least), least, false);
    return true;
  }
  const bool negated = v->kind == Kind::Negated;
  if (v->kind != Kind::Register && !(negated && least == 1)) return false;
  const RegisterSlot& slot = program_.registers[v->reg];
  if (slot.width < least || slot.width > most) return false;
  sources_.push_back(v->reg);
  append(slot.offset, slot.width, negated);
  return true;
}

bool Decoding::bind_destination(const OperandView* v, unsigned least, unsigned most) {
  using Kind = OperandView::Kind;
  if (v == nullptr) return false;
  if (v->kind == Kind::Sink) {
    append(program_.sink, least, false);
    return true;
  }
  if (v->kind != Kind::Register || v->reg >= program_.image_registers) return false;
  const RegisterSlot& slot = program_.registers[v->reg];
  if (slot.width < least || slot.width > most) return false;
  destinations_.push_back(v->reg);
  append(slot.offset, slot.width, false);
  return true;
}

bool Decoding::shape(unsigned dst_width, unsigned src_width, unsigned sources) {
  if (operands.size() != sources + 1 || !destination(0, dst_width)) return false;
  for (unsigned k = 1; k <= sources; ++k) {
    if (!source(k, src_width)) return false;
  }
  return true;
}

const OperandView* Decoding::element(unsigned operand, unsigned e) const {
  const OperandView* v = view(operand);
  if (v == nullptr) return nullptr;
  if (v->kind != OperandView::Kind::Pair && v->kind != OperandView::Kind::Vector) return e == 0 ? v : nullptr;
  return e < v->elements.size() ? &v->elements[e] : nullptr;
}

unsigned Decoding::elements(unsigned operand) const {
  const OperandView* v = view(operand);
  if (v == nullptr) return 0;
  if (v->kind != OperandView::Kind::Pair && v->kind != OperandView::Kind::Vector) return 1;
  return static_cast<unsigned>(v->elements.size());
}

bool Decoding::accumulators(unsigned operand) {
  for (unsigned e = 0; e < elements(operand); ++e) {
    const OperandView* v = element(operand, e);
    if (v->kind != OperandView::Kind::Register || !bind_destination(v, 32, 32)) return false;
    held_.accumulators.push_back(v->reg);
  }
  return true;
}

bool Decoding::inputs(unsigned operand) {
  for (unsigned e = 0; e < elements(operand); ++e) {
    const OperandView* v = element(operand, e);
    if (v->kind != OperandView::Kind::Register || !bind_source(v, 32, 32)) return false;
    held_.inputs.push_back(v->reg);
  }
  return true;
}

bool Decoding::loads(unsigned operand) {
  for (unsigned e = 0; e < elements(operand); ++e) {
    const OperandView* v = element(operand, e);
    if (!bind_destination(v, 32, 32)) return false;
    if (v->kind == OperandView::Kind::Register) held_.loads.push_back(v->reg);
  }
  return true;
}

void* Decoding::keep_bytes(size_t size) { return program_.keep_bytes(size); }

void Decoding::access(bool shared, bool global, unsigned bytes) { program_.access(shared, global, bytes); }

void Decoding::reset() {
  slots_.clear();
  widths_.clear();
  sources_.clear();
  destinations_.clear();
  held_ = Held();
  out->handler = out->sanitized = nullptr;
  out->immediate = 0;
  out->invert = out->detail = out->target = 0;
  out->more = nullptr;
  out->plan = nullptr;
  std::memset(out->operand, 0, sizeof out->operand);
}

}  // namespace pyptx::emulator
