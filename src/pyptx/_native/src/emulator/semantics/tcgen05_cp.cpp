// tcgen05.cp: from a matrix in shared memory to Tensor Memory (PTX ISA, "tcgen05.cp").
#include <cstring>

#include "tcgen05.h"

namespace pyptx::emulator {
namespace {

// So many rows of so many chunks of 16 bytes, `in_quarter` for a quarter of the lanes. Row i goes to each quarter whose
// bit `quarters` has for the i / in_quarter part of the rows.
struct Shape {
  std::string_view name, multicast;
  unsigned rows, chunks, in_quarter;
  uint8_t quarters[4];
};
constexpr Shape kShapes[] = {
    {"128x256b", "", 128, 2, 32, {1, 2, 4, 8}},
    {"4x256b", "", 4, 2, 1, {1, 2, 4, 8}},
    {"128x128b", "", 128, 1, 32, {1, 2, 4, 8}},
    {"64x128b", "warpx2::02_13", 64, 1, 32, {0b0101, 0b1010}},
    {"64x128b", "warpx2::01_23", 64, 1, 32, {0b0011, 0b1100}},
    {"32x128b", "warpx4", 32, 1, 32, {0b1111}},
};
constexpr unsigned kChunkColumns = kChunk / 4;

struct CpPlan {
  const Shape* shape = nullptr;
  unsigned ctas = 1;
  bool widens = false;  // .b8x16.b6x16_p32
  TensorPointer to;
  uint8_t descriptor = 0;  // slot
};

// A chunk of 16 elements of 6 bits, of which the last 4 bytes are padding, as one of 16 bytes: an element has the low bits
// of its byte, where products read it.
void widen(const uint8_t* from, uint8_t* to) {
  constexpr unsigned kBits = 6;
  for (unsigned e = 0; e < kChunk; ++e) {
    uint16_t pair;
    std::memcpy(&pair, from + e * kBits / 8, sizeof pair);
    to[e] = static_cast<uint8_t>(pair >> e * kBits % 8 & ((1u << kBits) - 1));
  }
}

// From each CTA's shared memory to its Tensor Memory.
struct Copy : TensorWork {
  TensorGroup group;
  const Shape* shape = nullptr;
  bool widens = false;
  TensorAddress to{};
  ChunkPlaces places[2];  // of each CTA, row by row

  void perform() override {
    for (unsigned i = 0; i < group.size; ++i) copy(*group.ctas[i], *places[i]);
  }

  void copy(const Cta& cta, const std::vector<uint32_t>& from) {
    TensorMemory& memory = *cta.tensor_memory;
    for (size_t i = 0; i < from.size(); ++i) {
      const auto row = static_cast<uint32_t>(i / shape->chunks), chunk = static_cast<uint32_t>(i % shape->chunks);
      for (uint32_t quarter = 0; quarter < kWarpgroupWarps; ++quarter) {
        if (!(shape->quarters[row / shape->in_quarter] >> quarter & 1u)) continue;
        const uint32_t lane = to.lane + quarter * kQuarterLanes + row % shape->in_quarter;
        uint32_t* cells = &memory.at(lane, to.column + chunk * kChunkColumns);
        if (widens) widen(cta.shared + from[i], reinterpret_cast<uint8_t*>(cells));
        else std::memcpy(cells, cta.shared + from[i], kChunk);
      }
    }
  }
};

// The lanes and columns that a copy writes.
std::vector<TensorPlace> places_of(const Shape& shape, const TensorAddress& to) {
  const uint32_t columns = shape.chunks * kChunkColumns;
  if (shape.in_quarter == kQuarterLanes) return {{to.lane, kTensorLanes, to.column, columns}};
  std::vector<TensorPlace> places;
  for (uint32_t quarter = 0; quarter < kWarpgroupWarps; ++quarter) {
    places.push_back({to.lane + quarter * kQuarterLanes, shape.in_quarter, to.column, columns});
  }
  return places;
}

bool find_copy(Warp& w, const Instruction& in, unsigned lane, const std::vector<TensorPlace>& to, Copy* copy) {
  const auto& plan = *static_cast<const CpPlan*>(in.plan);
  SharedMatrix matrix;
  const uint64_t descriptor = held<uint64_t>(w, in, plan.descriptor)[lane];
  if (!find_tensor_group(w, in, lane, plan.ctas, &copy->group) ||
      !read_tensor_matrix(w, in, lane, descriptor, "the source", &matrix)) {
    return false;
  }
  const ChunkRange range{0, plan.shape->chunks, 0, plan.shape->rows};
  for (unsigned i = 0; i < copy->group.size; ++i) {
    Cta& cta = *copy->group.ctas[i];
    for (const TensorPlace& place : to) {
      if (!check_tensor_place(w, in, lane, cta, place)) return false;
    }
    copy->places[i] = find_chunks(w, in, cta, matrix, false, range);
    if (copy->places[i] == nullptr) return false;
  }
  return true;
}

void check_copy(Warp& w, const Instruction& in, unsigned lane, const std::vector<TensorPlace>& to, const Copy& copy,
                const Operation& op) {
  for (unsigned i = 0; i < copy.group.size; ++i) {
    Cta& cta = *copy.group.ctas[i];
    for (const TensorPlace& place : to) check_tensor(w, in, lane, cta, place, TensorUse::Work, true, &op);
    for (const uint32_t at : *copy.places[i]) check_copy_shared(w, in, cta, at, kChunk, lane, false, true, op);
    for (const TensorPlace& place : to) note_tensor_written(cta, place);
  }
}

template <bool kSanitized>
void issue_copy(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& plan = *static_cast<const CpPlan*>(in.plan);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    auto copy = std::make_shared<Copy>();
    copy->shape = plan.shape;
    copy->widens = plan.widens;
    copy->to = address_of(w, in, plan.to, lane);
    const std::vector<TensorPlace> places = places_of(*plan.shape, copy->to);
    if (!find_copy(w, in, lane, places, copy.get())) return;
    const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
    if (kSanitized) {
      order_tensor_work(w, lane, *op);
      check_copy(w, in, lane, places, *copy, *op);
    }
    op->tensor = std::move(copy);
    issue(w, op);
  }
}

}  // namespace

// cp.cta_group.shape{.multicast}{.b8x16.b6x16_p32} [taddr], sDesc
Handler resolve_tensor_cp(Decoding& d, Modifiers& m) {
  CpPlan plan;
  if (!take_tensor_group(m, &plan.ctas)) return nullptr;
  const std::string_view name = m.next();
  for (const Shape& shape : kShapes) {
    if (plan.shape == nullptr && shape.name == name && (shape.multicast.empty() || m.take(shape.multicast))) {
      plan.shape = &shape;
    }
  }
  plan.widens = m.take("b8x16");
  if (plan.widens && !m.take("b6x16_p32")) return nullptr;
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
