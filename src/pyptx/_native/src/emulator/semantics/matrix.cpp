// Matrices that the lanes of a warp hold together: ldmatrix, stmatrix, movmatrix; mma is in mma.cpp.
#include "matrix.h"

#include <cstdio>

#include "access.h"
#include "modifiers.h"
#include "spelling.h"

namespace pyptx::emulator {

// Whether the whole warp is here; lanes that never come are reported, and the others go on without them.
bool together(Warp& w, const Instruction& in, uint32_t mask) {
  bool diverged = false;
  if (!converge(w, in, mask, &diverged)) return false;
  if (diverged || mask != kFullMask) report_diverged(w, in, mask);
  return true;
}

void wrong_matrix(Warp& w, const Instruction& in, unsigned lane, const std::string& note) {
  report(w, Kind::BadMatrix, site_of(w, in, lane), note);
}

namespace {

constexpr uint8_t kSharedVariable = 0;  // OperandView::space
constexpr unsigned kRows = kBlockLines, kRowBytes = 16, kGroup = kLineLanes;  // of a matrix of 16-bit values

// ---- ldmatrix, stmatrix, movmatrix -----------------------------------------------------------------------

struct MatrixPlan : AccessPlan {
  unsigned number = 1;
  bool trans = false;
};

// The place of the pair's value j that lane l holds: its row's first byte is at the address of lane `row`.
struct Element {
  unsigned row, column;
};

Element element_of(unsigned lane, unsigned j, bool trans) {
  const unsigned line = lane / kGroup, along = lane % kGroup * 2 + j;
  return trans ? Element{along, line} : Element{line, along};
}

// Whether the rows whose addresses two lanes give are stored with the same values.
bool same_rows(Warp& w, const Instruction& in, unsigned a, unsigned b) {
  const auto& plan = *static_cast<const MatrixPlan*>(in.plan);
  const auto value = [&](unsigned lane, unsigned column) {
    const auto* data = held<uint16_t>(w, in, plan.data + lane / kRows);
    const unsigned row = lane % kRows, line = plan.trans ? column : row, along = plan.trans ? row : column;
    return data[2 * (line * kGroup + along / 2) + along % 2];
  };
  for (unsigned column = 0; column < kRows; ++column) {
    if (value(a, column) != value(b, column)) return false;
  }
  return true;
}

template <bool kSanitized, bool kStore>
void move_matrices(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto& plan = *static_cast<const MatrixPlan*>(in.plan);
  Addresses a;
  read_addresses(w, in, plan, a);
  if (kStore) memory_changed(w);
  const uint32_t given = plan.number == 4 ? kFullMask : (1u << kRows * plan.number) - 1;
  Places places;
  const uint32_t good = locate<kSanitized>(w, in, plan, plan.space, a, mask & given, places);
  for (unsigned m = 0; m < plan.number; ++m) {
    auto* data = held<uint16_t>(w, in, plan.data + m);
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1u)) continue;
      for (unsigned j = 0; j < 2; ++j) {
        const Element e = element_of(l, j, plan.trans);
        const unsigned from = m * kRows + e.row;
        if (!(good >> from & 1u)) continue;
        uint8_t* place = places.at[from] + 2 * e.column;
        if (kStore) std::memcpy(place, data + 2 * l + j, 2);
        else std::memcpy(data + 2 * l + j, place, 2);
      }
    }
  }
}

bool read_number(Modifiers& m, unsigned* number) {
  *number = m.take("x1") ? 1 : m.take("x2") ? 2 : m.take("x4") ? 4 : 0;
  return *number != 0;
}

Handler resolve_move_matrices(Decoding& d, bool store) {
  MatrixPlan plan;
  Modifiers m(d);
  if (!m.take("sync") || !m.take("aligned") || !m.take("m8n8") || !read_number(m, &plan.number)) return nullptr;
  plan.trans = m.take("trans");
  plan.space = m.take("shared") || m.take("shared::cta") ? Space::Shared : Space::Generic;
  if (!m.take("b16") || !m.done() || d.operands.size() != 2) return nullptr;
  // Without a state space a variable of shared memory stands for its address there.
  if (plan.space == Space::Generic && d.operands[store ? 0 : 1].space == kSharedVariable) plan.space = Space::Shared;
  plan.access = store ? Access::Store : Access::Load;
  if (store) plan.same_value = same_rows;
  plan.element = 4;
  plan.vector = 4;
  plan.bytes = kRowBytes;
  const auto bind = [&](unsigned operand) {
    plan.data = static_cast<uint8_t>(d.bound());
    if (d.elements(operand) != plan.number) return false;
    for (unsigned e = 0; e < plan.number; ++e) {
      const OperandView* v = d.element(operand, e);
      if (!(store ? d.bind_source(v, 32, 32) : d.bind_destination(v, 32, 32))) return false;
    }
    return true;
  };
  if (store ? !bind_address(d, 0, &plan) || !bind(1) : !bind(0) || !bind_address(d, 1, &plan)) return nullptr;
  note_access(d, plan);
  d.out->plan = d.keep(plan);
  d.out->sanitized = store ? move_matrices<true, true> : move_matrices<true, false>;
  return store ? move_matrices<false, true> : move_matrices<false, false>;
}

void movmatrix(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  uint16_t matrix[kRows][kRows];
  const uint16_t* a = source<uint16_t>(w, in, 1);
  for (unsigned l = 0; l < kLanes; ++l) {
    for (unsigned j = 0; j < 2; ++j) matrix[l / kGroup][l % kGroup * 2 + j] = a[2 * l + j];
  }
  each_lane<uint32_t>(w, in, 0, mask, [&](unsigned l) {
    const unsigned line = l / kGroup, along = l % kGroup * 2;
    return static_cast<uint32_t>(matrix[along][line] | static_cast<uint32_t>(matrix[along + 1][line]) << 16);
  });
}

}  // namespace

Handler resolve_matrix(Decoding& d) {
  if (d.opcode == "ldmatrix" || d.opcode == "stmatrix") return resolve_move_matrices(d, d.opcode == "stmatrix");
  if (d.opcode == "mma") return resolve_mma(d);
  if (d.spelling == "movmatrix.sync.aligned.m8n8.trans.b16") return d.shape(32, 32, 1) ? movmatrix : nullptr;
  return nullptr;
}

}  // namespace pyptx::emulator
