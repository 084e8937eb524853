// tcgen05.shift: rows of Tensor Memory move down by one (PTX ISA, "tcgen05.shift").
//
// The manual moves elements of 32 bytes "downwards across all the rows, except the last, by one row", and gives the
// instruction the shape .31x256b. Programs published with their output on a B200 show the rest: in each quarter of the
// lanes lane i gets what lane i + 1 had, the last one keeps its own, and one instruction moves all four quarters.
#include <algorithm>

#include "tcgen05.h"

namespace pyptx::emulator {
namespace {

constexpr uint32_t kShiftColumns = 8;  // 32 bytes

struct ShiftPlan {
  unsigned ctas = 1;
  TensorPointer at;
};

struct Shift : TensorWork {
  TensorGroup group;
  uint32_t column = 0;

  void perform() override {
    for (unsigned i = 0; i < group.size; ++i) move_rows(*group.ctas[i]->tensor_memory);
  }

  void move_rows(TensorMemory& memory) const {
    for (uint32_t lane = 0; lane + 1 < kTensorLanes; ++lane) {
      if (lane % kQuarterLanes == kQuarterLanes - 1) continue;
      std::copy_n(&memory.at(lane + 1, column), kShiftColumns, &memory.at(lane, column));
    }
  }
};

bool check_lane(Warp& w, const Instruction& in, unsigned lane, const TensorAddress& at) {
  if (at.lane == 0) return true;
  const std::string begins = "its matrix begins in lane " + std::to_string(at.lane);
  wrong_tensor_memory(w, in, lane,
                      at.lane % kQuarterLanes == 0
                          ? begins + ", which the emulator does not run; from lane 0 on it moves all quarters"
                          : begins + ", which is no multiple of 32");
  return false;
}

// Rows that had no value leave the rows that they move to without one.
void move_written(TensorMemory& memory, uint32_t column) {
  const auto written = [&](uint32_t lane) {
    return memory.written.begin() + static_cast<ptrdiff_t>(lane * kTensorColumns + column);
  };
  for (uint32_t lane = 0; lane + 1 < kTensorLanes; ++lane) {
    if (lane % kQuarterLanes != kQuarterLanes - 1) std::copy_n(written(lane + 1), kShiftColumns, written(lane));
  }
}

template <bool kSanitized>
void issue_shift(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& plan = *static_cast<const ShiftPlan*>(in.plan);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    const TensorAddress at = address_of(w, in, plan.at, lane);
    auto shift = std::make_shared<Shift>();
    shift->column = at.column;
    const TensorPlace place{0, kTensorLanes, at.column, kShiftColumns};
    if (!find_tensor_group(w, in, lane, plan.ctas, &shift->group) || !check_lane(w, in, lane, at)) return;
    for (unsigned i = 0; i < shift->group.size; ++i) {
      if (!check_tensor_place(w, in, lane, *shift->group.ctas[i], place)) return;
    }
    const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
    if (kSanitized) order_tensor_work(w, lane, *op);
    for (unsigned i = 0; i < shift->group.size; ++i) {
      Cta& cta = *shift->group.ctas[i];
      if (kSanitized) check_tensor(w, in, lane, cta, place, TensorUse::Work, true, op.get());
      if (kSanitized) move_written(tensor_memory(cta), at.column);
    }
    op->tensor = std::move(shift);
    issue(w, op);
  }
}

}  // namespace

// shift.cta_group.down [taddr]
Handler resolve_tensor_shift(Decoding& d, Modifiers& m) {
  ShiftPlan plan;
  if (!take_tensor_group(m, &plan.ctas) || !m.take("down") || !m.done() || d.operands.size() != 1) return nullptr;
  if (!bind_tensor_pointer(d, 0, &plan.at)) return nullptr;
  d.out->plan = d.keep(plan);
  d.out->sanitized = issue_shift<true>;
  return issue_shift<false>;
}

}  // namespace pyptx::emulator
