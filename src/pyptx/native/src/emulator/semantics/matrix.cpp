// Matrices that the lanes of a warp hold together: ldmatrix, stmatrix, movmatrix, mma.sync.
//
// The manual leaves the order in which mma adds open. Here products, which are exact, and C are added in double
// precision, in the order of k and C last, and the sum is rounded once, to nearest even. Integers are exact.
#include "matrix.h"

#include <cstdio>

#include "access.h"
#include "modifiers.h"
#include "spelling.h"

namespace pyptx::emulator {

namespace {

constexpr Multiplied kMultiplied[] = {
    {"f16", 16, [](uint32_t b) { return small_float(b, 5, 10, true); }},
    {"bf16", 16, [](uint32_t b) { return static_cast<double>(bits_as<float>(b << 16)); }},
    {"tf32", 32, [](uint32_t b) { return static_cast<double>(bits_as<float>(b & 0xffffe000u)); }},
    {"e4m3", 8, [](uint32_t b) { return small_float(b, 4, 3, false); }},
    {"e5m2", 8, [](uint32_t b) { return small_float(b, 5, 2, true); }},
    {"s8", 8, [](uint32_t b) { return static_cast<double>(static_cast<int8_t>(b)); }},
    {"u8", 8, [](uint32_t b) { return static_cast<double>(b); }},
};

}  // namespace

const Multiplied* multiplied(std::string_view name) {
  for (const Multiplied& type : kMultiplied) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

bool read_sum(std::string_view name, Sum* sum) {
  *sum = name == "f16" ? Sum::F16 : name == "f32" ? Sum::F32 : Sum::S32;
  return *sum != Sum::S32 || name == "s32";
}

uint16_t to_half(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (x != x) return 0x7fff;
  const double size = std::fabs(x);
  if (size >= 65520.0) return sign | 0x7c00;
  const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  const auto digits = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  // A carry out of the digits raises the exponent by itself; subnormals have exponent field 0.
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 14) << 10) + digits));
}

uint32_t rounded(Sum type, bool satfinite, double sum) {
  if (type == Sum::F16) return to_half(sum);
  if (type == Sum::F32) return bits_as<uint32_t>(canonical(static_cast<float>(sum)));
  if (satfinite) sum = std::fmin(std::fmax(sum, -2147483648.0), 2147483647.0);
  return static_cast<uint32_t>(static_cast<int64_t>(sum));
}

double addend(Sum type, uint32_t bits) {
  if (type == Sum::F16) return small_float(bits & 0xffffu, 5, 10, true);
  return type == Sum::F32 ? static_cast<double>(bits_as<float>(bits)) : static_cast<double>(static_cast<int32_t>(bits));
}

// Whether the whole warp is here; lanes that never come are reported, and the others go on without them.
bool together(Warp& w, const Instruction& in, uint32_t mask) {
  bool diverged = false;
  if (!converge(w, in, mask, &diverged)) return false;
  if (diverged || mask != kFullMask) report_diverged(w, in, mask);
  return true;
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

// ---- mma -------------------------------------------------------------------------------------------------

constexpr unsigned kMostRows = 16, kColumns = 8, kMostK = 32;

struct MmaPlan {
  unsigned m, k;
  const Multiplied *a, *b;
  Sum sum;
  bool satfinite;
  unsigned a_slot, b_slot, c_slot;
};

void multiply(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto& plan = *static_cast<const MmaPlan*>(in.plan);
  double a[kMostRows][kMostK], b[kColumns][kMostK];
  for (unsigned k = 0; k < plan.k; ++k) {
    for (unsigned i = 0; i < plan.m; ++i) {
      a[i][k] = plan.a->value(element(w, in, plan.a_slot, plan.m, plan.a->bits, i, k));
    }
    for (unsigned j = 0; j < kColumns; ++j) {
      b[j][k] = plan.b->value(element(w, in, plan.b_slot, kColumns, plan.b->bits, j, k));
    }
  }
  const unsigned pairs = plan.m / kRows;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    for (unsigned p = 0; p < pairs; ++p) {
      uint32_t sums[2];
      for (unsigned j = 0; j < 2; ++j) {
        const unsigned row = p * kRows + l / kGroup, column = l % kGroup * 2 + j;
        double sum = 0;
        for (unsigned k = 0; k < plan.k; ++k) sum += a[row][k] * b[column][k];
        const bool half = plan.sum == Sum::F16;
        const uint32_t c = held<uint32_t>(w, in, plan.c_slot + (half ? p : 2 * p + j))[l];
        sums[j] = rounded(plan.sum, plan.satfinite, sum + addend(plan.sum, half ? c >> 16 * j : c));
      }
      if (plan.sum == Sum::F16) {
        held<uint32_t>(w, in, p)[l] = sums[0] | sums[1] << 16;
      } else {
        held<uint32_t>(w, in, 2 * p)[l] = sums[0];
        held<uint32_t>(w, in, 2 * p + 1)[l] = sums[1];
      }
    }
  }
}

bool read_shape(std::string_view name, MmaPlan* plan) {
  constexpr struct {
    std::string_view name;
    unsigned m, k;
  } kShapes[] = {{"m16n8k4", 16, 4},   {"m16n8k8", 16, 8},   {"m16n8k16", 16, 16},
                 {"m16n8k32", 16, 32}, {"m8n8k16", 8, 16}};
  for (const auto& shape : kShapes) {
    if (shape.name != name) continue;
    plan->m = shape.m;
    plan->k = shape.k;
    return true;
  }
  return false;
}

bool bind_registers(Decoding& d, unsigned operand, unsigned count, bool write) {
  if (d.elements(operand) != count) return false;
  for (unsigned e = 0; e < count; ++e) {
    const OperandView* v = d.element(operand, e);
    if (!(write ? d.bind_destination(v, 32, 32) : d.bind_source(v, 32, 32))) return false;
  }
  return true;
}

Handler resolve_mma(Decoding& d) {
  MmaPlan plan{};
  Modifiers m(d);
  if (!m.take("sync") || !m.take("aligned") || !read_shape(m.next(), &plan)) return nullptr;
  if (!m.take("row") || !m.take("col")) return nullptr;
  plan.satfinite = m.take("satfinite");
  const std::string_view sum = m.next();
  plan.a = multiplied(m.next());
  plan.b = multiplied(m.next());
  if (plan.a == nullptr || plan.b == nullptr || m.next() != sum || !m.done()) return nullptr;
  if (!read_sum(sum, &plan.sum)) return nullptr;
  if (d.operands.size() != 4 || plan.a->bits != plan.b->bits) return nullptr;
  const unsigned sums = plan.m / kRows * (plan.sum == Sum::F16 ? 1 : 2), block = kGroup * 32 / plan.a->bits;
  if (plan.k % block != 0) return nullptr;
  const unsigned of_b = plan.k / block, of_a = of_b * plan.m / kRows;
  plan.a_slot = sums;
  plan.b_slot = sums + of_a;
  plan.c_slot = plan.b_slot + of_b;
  const bool bound = bind_registers(d, 0, sums, true) && bind_registers(d, 1, of_a, false) &&
                     bind_registers(d, 2, of_b, false) && bind_registers(d, 3, sums, false);
  if (!bound) return nullptr;
  d.out->plan = d.keep(plan);
  return multiply;
}

}  // namespace

Handler resolve_matrix(Decoding& d) {
  if (d.opcode == "ldmatrix" || d.opcode == "stmatrix") return resolve_move_matrices(d, d.opcode == "stmatrix");
  if (d.opcode == "mma") return resolve_mma(d);
  if (d.spelling == "movmatrix.sync.aligned.m8n8.trans.b16") return d.shape(32, 32, 1) ? movmatrix : nullptr;
  return nullptr;
}

}  // namespace pyptx::emulator
