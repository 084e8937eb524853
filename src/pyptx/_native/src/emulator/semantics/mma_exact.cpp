// mma.sync of f64 and of single bits.
//
// The manual leaves the order in which mma adds open. Sums of f64 are fma after fma, in the order of k, from C on, each
// rounded as the instruction says. What is counted of bits wraps.
#include "floating.h"
#include "mma.h"

namespace pyptx::emulator {
namespace {

struct ExactPlan {
  unsigned m = 0, k = 0;
  bool exclusive = false;  // .xor
  Rounding rounding = Rounding::Nearest;
  unsigned a_slot = 0, b_slot = 0, c_slot = 0;
};

const ExactPlan& plan_of(const Instruction& in) { return *static_cast<const ExactPlan*>(in.plan); }

// An element of f64: a register of a lane, whose four quad lanes have four neighbours along k.
double double_at(Warp& w, const Instruction& in, unsigned first, unsigned lines, unsigned line, unsigned along) {
  const unsigned reg = along / kLineLanes * (lines / kBlockLines) + line / kBlockLines;
  return held<double>(w, in, first + reg)[line % kBlockLines * kLineLanes + along % kLineLanes];
}

// Puts f(row, column, C) into D where lanes of `mask` hold it.
template <class T, class F>
void each_sum(Warp& w, const Instruction& in, uint32_t mask, F f) {
  const ExactPlan& plan = plan_of(in);
  T results[4 * kLanes];
  for (unsigned r = 0; r < plan.m / 4; ++r) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const unsigned row = r / 2 * kBlockLines + l / kLineLanes, column = l % kLineLanes * 2 + r % 2;
      results[r * kLanes + l] = f(row, column, held<T>(w, in, plan.c_slot + r)[l]);
    }
  }
  for (unsigned r = 0; r < plan.m / 4; ++r) {
    for (unsigned l = 0; l < kLanes; ++l) {
      if (mask >> l & 1u) held<T>(w, in, r)[l] = results[r * kLanes + l];
    }
  }
}

double fused(Rounding rounding, double a, double b, double c) {
  if (rounding == Rounding::Nearest) return Nearest64<FusedMultiplyAdd>{}(a, b, c);
  return directed64<FusedMultiplyAdd>(rounding, a, b, c);
}

void multiply_doubles(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const ExactPlan& plan = plan_of(in);
  each_sum<double>(w, in, mask, [&](unsigned row, unsigned column, double sum) {
    for (unsigned k = 0; k < plan.k; ++k) {
      const double b = double_at(w, in, plan.b_slot, kColumns, column, k);
      sum = fused(plan.rounding, double_at(w, in, plan.a_slot, plan.m, row, k), b, sum);
    }
    return sum;
  });
}

void count_bits(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const ExactPlan& plan = plan_of(in);
  each_sum<uint32_t>(w, in, mask, [&](unsigned row, unsigned column, uint32_t sum) {
    for (unsigned word = 0; word < plan.k / 32; ++word) {
      const uint32_t a = element(w, in, plan.a_slot, plan.m, 32, row, word);
      const uint32_t b = element(w, in, plan.b_slot, kColumns, 32, column, word);
      sum += static_cast<uint32_t>(__builtin_popcount(plan.exclusive ? a ^ b : a & b));
    }
    return sum;
  });
}

// `line` is how many registers' worth a quad has of a row: four of f64, four words of bits.
Handler finish(Decoding& d, ExactPlan plan, unsigned per_register, unsigned width, Handler handler) {
  const unsigned line = plan.k / (kLineLanes * per_register), of_a = line * plan.m / kBlockLines, sums = plan.m / 4;
  plan.a_slot = sums;
  plan.b_slot = sums + of_a;
  plan.c_slot = plan.b_slot + line;
  const bool bound = d.operands.size() == 4 && bind_registers(d, 0, sums, width, true) &&
                     bind_registers(d, 1, of_a, width, false) && bind_registers(d, 2, line, width, false) &&
                     bind_registers(d, 3, sums, width, false);
  if (!bound) return nullptr;
  d.out->plan = d.keep(plan);
  return handler;
}

}  // namespace

// {.rnd}.f64.f64.f64.f64
Handler resolve_mma_doubles(Decoding& d, Modifiers& m, const MmaShape& shape) {
  ExactPlan plan{shape.m, shape.k};
  plan.rounding = m.rounding();
  for (unsigned i = 0; i < 4; ++i) {
    if (!m.take("f64")) return nullptr;
  }
  const bool known = shape.m == 16 ? shape.k <= 16 : shape.k == 4;
  return m.done() && known ? finish(d, plan, 1, 64, multiply_doubles) : nullptr;
}

// .s32.b1.b1.s32.op.popc
Handler resolve_mma_bits(Decoding& d, Modifiers& m, const MmaShape& shape) {
  if (!m.take("s32") || !m.take("b1") || !m.take("b1") || !m.take("s32")) return nullptr;
  ExactPlan plan{shape.m, shape.k};
  plan.exclusive = m.take("xor");
  if (!plan.exclusive && !m.take("and")) return nullptr;
  return m.take("popc") && m.done() && shape.k >= 128 ? finish(d, plan, 32, 32, count_bits) : nullptr;
}

}  // namespace pyptx::emulator
