// mma.sync.m8n8k4 of f16: four products, each of the eight lanes of two quads, i and i + 16 (PTX ISA, "Matrix Fragments
// for mma.m8n8k4 with .f16 floating point type").
//
// The first quad holds the first four rows of A, of C in f16, and the first four columns of B; the second quad the
// others. C and D in f32 are spread otherwise.
#include "mma.h"

namespace pyptx::emulator {
namespace {

constexpr unsigned kProducts = 4, kSecond = 16, kSide = 8, kDepth = 4;

struct QuadPlan {
  bool a_columns, b_rows;
  Sum sum, addend;
  unsigned a_slot, b_slot, c_slot;
};

struct Holder {
  unsigned lane, place;  // place: which of the lane's elements
};

// Element (line, along) of A, of which lines are rows, or of B, of which they are columns. `across`: neighbours in a
// register are lines, not what is along them.
Holder multiplicand(unsigned product, bool across, unsigned line, unsigned along) {
  const unsigned half = line / kDepth * kSecond + product * kDepth;
  return across ? Holder{half + along, line % kDepth} : Holder{half + line % kDepth, along};
}

// Element (row, column) of C or D.
Holder accumulator(unsigned product, Sum type, unsigned row, unsigned column) {
  const unsigned half = row / kDepth * kSecond + product * kDepth;
  if (type == Sum::F16) return {half + row % kDepth, column};
  // Lane: bit 0 of the row and bit 1 of the column. Place: bit 1 of the row, bits 0 and 2 of the column.
  return {half + (row & 1u) + (column & 2u), (row & 2u) + (column & 5u)};
}

double value_at(Warp& w, const Instruction& in, unsigned slot, Holder h) {
  const uint32_t word = held<uint32_t>(w, in, slot + h.place / 2)[h.lane];
  return addend(Sum::F16, word >> 16 * (h.place % 2));
}

double addend_at(Warp& w, const Instruction& in, const QuadPlan& plan, Holder h) {
  if (plan.addend == Sum::F16) return value_at(w, in, plan.c_slot, h);
  return addend(plan.addend, held<uint32_t>(w, in, plan.c_slot + h.place)[h.lane]);
}

void put(Warp& w, const Instruction& in, Sum type, Holder h, uint32_t bits) {
  if (type != Sum::F16) {
    held<uint32_t>(w, in, h.place)[h.lane] = bits;
    return;
  }
  const unsigned shift = 16 * (h.place % 2);
  uint32_t& word = held<uint32_t>(w, in, h.place / 2)[h.lane];
  word = (word & ~(0xffffu << shift)) | bits << shift;
}

// ptxas makes FFMA and FADD of it, from sm_80 on, in one chain for f32 and in two for f16.
float sum_of(Sum type, const float* a, const float* b, float c) {
  const float first = std::fma(a[1], b[1], a[0] * b[0]);
  if (type == Sum::F16) return c + first + std::fma(a[3], b[3], a[2] * b[2]);
  return c + std::fma(a[3], b[3], std::fma(a[2], b[2], first));
}

void multiply(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto& plan = *static_cast<const QuadPlan*>(in.plan);
  uint32_t results[kProducts * kSide * kSide];
  const auto each = [](auto f) {
    for (unsigned e = 0; e < kProducts * kSide * kSide; ++e) f(e, e / (kSide * kSide), e / kSide % kSide, e % kSide);
  };
  each([&](unsigned e, unsigned product, unsigned row, unsigned column) {
    float a[kDepth], b[kDepth];
    for (unsigned k = 0; k < kDepth; ++k) {
      a[k] = static_cast<float>(value_at(w, in, plan.a_slot, multiplicand(product, plan.a_columns, row, k)));
      b[k] = static_cast<float>(value_at(w, in, plan.b_slot, multiplicand(product, plan.b_rows, column, k)));
    }
    const auto c = static_cast<float>(addend_at(w, in, plan, accumulator(product, plan.addend, row, column)));
    results[e] = rounded(plan.sum, false, sum_of(plan.sum, a, b, c));
  });
  each([&](unsigned e, unsigned product, unsigned row, unsigned column) {
    const Holder h = accumulator(product, plan.sum, row, column);
    if (mask >> h.lane & 1u) put(w, in, plan.sum, h, results[e]);
  });
}

}  // namespace

// .dtype.f16.f16.ctype
Handler resolve_mma_quad_pairs(Decoding& d, Modifiers& m, bool a_columns, bool b_rows) {
  QuadPlan plan{a_columns, b_rows, Sum::F32, Sum::F32, 0, 0, 0};
  if (!read_sum(m.next(), &plan.sum) || !m.take("f16") || !m.take("f16")) return nullptr;
  if (!read_sum(m.next(), &plan.addend) || !m.done()) return nullptr;
  if (plan.sum == Sum::S32 || plan.addend == Sum::S32 || d.operands.size() != 4) return nullptr;
  if (plan.sum == Sum::F16 && plan.addend == Sum::F32) return nullptr;
  plan.a_slot = plan.sum == Sum::F16 ? 4 : 8;
  plan.b_slot = plan.a_slot + 2;
  plan.c_slot = plan.b_slot + 2;
  const bool bound = bind_registers(d, 0, plan.a_slot, 32, true) && bind_registers(d, 1, 2, 32, false) &&
                     bind_registers(d, 2, 2, 32, false) &&
                     bind_registers(d, 3, plan.addend == Sum::F16 ? 4 : 8, 32, false);
  if (!bound) return nullptr;
  d.out->plan = d.keep(plan);
  return multiply;
}

}  // namespace pyptx::emulator
