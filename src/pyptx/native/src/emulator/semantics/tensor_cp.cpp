// tcgen05.cp: from a matrix in shared memory to Tensor Memory (PTX ISA, "tcgen05.cp").
#include <cstring>

#include "tensor_core.h"

namespace pyptx::emulator {
namespace {

// So many rows of so many chunks of 16 bytes. Row i goes to each quarter of the lanes whose bit `quarters` has for the
// i / 32 part of the rows.
struct Shape {
  std::string_view name, multicast;
  unsigned rows, chunks;
  uint8_t quarters[4];
};
constexpr Shape kShapes[] = {
    {"128x256b", "", 128, 2, {1, 2, 4, 8}},
    {"128x128b", "", 128, 1, {1, 2, 4, 8}},
    {"64x128b", "warpx2::02_13", 64, 1, {0b0101, 0b1010}},
    {"64x128b", "warpx2::01_23", 64, 1, {0b0011, 0b1100}},
    {"32x128b", "warpx4", 32, 1, {0b1111}},
};
constexpr unsigned kChunkColumns = kChunk / 4;

struct CpPlan {
  const Shape* shape = nullptr;
  TensorPointer to;
  uint8_t descriptor = 0;  // slot
};

struct Copy : TensorWork {
  Cta* cta = nullptr;
  const Shape* shape = nullptr;
  uint32_t column = 0;
  std::vector<uint32_t> places;  // row by row

  void perform() override {
    TensorMemory& memory = tensor_memory(*cta);
    for (size_t i = 0; i < places.size(); ++i) {
      const auto row = static_cast<uint32_t>(i / shape->chunks), chunk = static_cast<uint32_t>(i % shape->chunks);
      for (uint32_t quarter = 0; quarter < kWarpgroupWarps; ++quarter) {
        if (!(shape->quarters[row / kQuarterLanes] >> quarter & 1u)) continue;
        uint32_t* cells = &memory.at(quarter * kQuarterLanes + row % kQuarterLanes, column + chunk * kChunkColumns);
        std::memcpy(cells, cta->shared + places[i], kChunk);
      }
    }
  }
};

template <bool kSanitized>
void issue_copy(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& plan = *static_cast<const CpPlan*>(in.plan);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    const TensorAddress to = address_of(w, in, plan.to, lane);
    const TensorPlace place{to.lane, kTensorLanes, to.column, plan.shape->chunks * kChunkColumns};
    auto copy = std::make_shared<Copy>();
    copy->cta = w.cta;
    copy->shape = plan.shape;
    copy->column = to.column;
    SharedMatrix matrix;
    const uint64_t descriptor = held<uint64_t>(w, in, plan.descriptor)[lane];
    if (!check_tensor_place(w, in, lane, place) ||
        !read_tensor_matrix(w, in, lane, descriptor, "the source", &matrix) ||
        !find_chunks(w, in, matrix, false, {0, plan.shape->chunks, 0, plan.shape->rows}, &copy->places)) {
      return;
    }
    const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
    if (kSanitized) {
      order_tensor_work(w, lane, *op);
      check_tensor(w, in, lane, place, TensorUse::Work, true, op.get());
      for (const uint32_t at : copy->places) check_copy_shared(w, in, *w.cta, at, kChunk, lane, false, true, *op);
      TensorMemory& memory = tensor_memory(*w.cta);
      for (uint32_t row = 0; row < kTensorLanes; ++row) {
        for (uint32_t c = 0; c < place.columns; ++c) memory.written[row * kTensorColumns + to.column + c] = 1;
      }
    }
    op->tensor = std::move(copy);
    issue(w, op);
  }
}

}  // namespace

// cp.cta_group.shape{.multicast} [taddr], sDesc
Handler resolve_tensor_cp(Decoding& d, Modifiers& m) {
  CpPlan plan;
  if (!m.take("cta_group::1")) return nullptr;
  const std::string_view name = m.next(), multicast = m.next();
  for (const Shape& shape : kShapes) {
    if (shape.name == name && shape.multicast == multicast) plan.shape = &shape;
  }
  if (plan.shape == nullptr || !m.done() || d.operands.size() != 2) return nullptr;
  if (!bind_tensor_pointer(d, 0, &plan.to)) return nullptr;
  plan.descriptor = static_cast<uint8_t>(d.bound());
  if (!d.source(1, 64)) return nullptr;
  d.access(true, false, kChunk);
  d.out->plan = d.keep(plan);
  d.out->sanitized = issue_copy<true>;
  return issue_copy<false>;
}

}  // namespace pyptx::emulator
