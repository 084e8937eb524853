// Tensor maps that a kernel changes (PTX ISA, tensormap.replace, tensormap.cp_fenceproxy, and the fences of the
// tensormap proxy under "membar / fence").
//
// A changed map lies in shared or global memory, at a multiple of 128 bytes. Copies read maps through a proxy of
// their own: what threads wrote reaches it behind a release of the proxy by those who wrote and an acquire of the
// map's address by those who copy.
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

#include "../../tensor_map.h"
#include "copy.h"

namespace pyptx::emulator {
namespace {

enum class Field : uint8_t {
  GlobalAddress, Rank, BoxDim, GlobalDim, GlobalStride, ElementStride, ElementType, Interleave, Swizzle, Atomicity, Fill
};

struct FieldRow {
  std::string_view name;
  Field field;
  bool wide, ordinal, immediate;
};

constexpr FieldRow kFields[] = {
    {"global_address", Field::GlobalAddress, true, false, false},
    {"rank", Field::Rank, false, false, false},
    {"box_dim", Field::BoxDim, false, true, false},
    {"global_dim", Field::GlobalDim, false, true, false},
    {"global_stride", Field::GlobalStride, true, true, false},
    {"element_stride", Field::ElementStride, false, true, false},
    {"elemtype", Field::ElementType, false, false, true},
    {"interleave_layout", Field::Interleave, false, false, true},
    {"swizzle_mode", Field::Swizzle, false, false, true},
    {"swizzle_atomicity", Field::Atomicity, false, false, true},
    {"fill_mode", Field::Fill, false, false, true},
};

struct MapPlan : CopyPlan {
  Field field = Field::GlobalAddress;
  uint8_t ordinal = 0;
  uint8_t value = 0;  // slot
  bool wide = false;
};

const MapPlan& plan_of(const Instruction& in) { return *static_cast<const MapPlan*>(in.plan); }

// The table "Tensormap new_val validity": its types in the driver's numbers, which are others.
constexpr uint8_t kElementTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12, 13, 14, 15};

// ---- Replacing a field -----------------------------------------------------------------------------------

std::string number(uint64_t value) { return std::to_string(value); }

std::optional<std::string> outside(const char* what, uint64_t value, uint64_t least, uint64_t most, const char* range) {
  if (value >= least && value <= most) return {};
  return "the " + std::string(what) + " " + number(value) + " is outside of " + range;
}

// What is wrong with the new value on its own; that fields fit together is looked at when a copy uses the map.
std::optional<std::string> check_value(const MapPlan& plan, uint64_t value) {
  switch (plan.field) {
    case Field::Rank: return outside("rank, less one,", value, 0, kMaxMapRank - 1, "0 to 4");
    case Field::BoxDim: return outside("size of the box", value, 1, 256, "1 to 256");
    case Field::GlobalDim: return outside("size of the tensor", value, 1, ~0u, "1 to 2**32 - 1");
    case Field::ElementStride: return outside("element stride", value, 1, 8, "1 to 8");
    case Field::GlobalStride:
      if (plan.ordinal == kMaxMapRank - 1) return "a tensor of 5 axes has the strides 0 to 3";
      if (value % 16 == 0 && value < uint64_t{1} << 40) return {};
      return "the stride of " + number(value) + " bytes must be a multiple of 16 below 2**40";
    default: return {};
  }
}

void set_field(TensorMap& map, const MapPlan& plan, uint64_t value) {
  const auto small = static_cast<uint8_t>(value);
  switch (plan.field) {
    case Field::GlobalAddress: map.address = value; return;
    case Field::Rank: map.rank = static_cast<uint8_t>(small + 1); return;
    case Field::BoxDim: map.box[plan.ordinal] = static_cast<uint16_t>(value); return;
    case Field::GlobalDim: map.sizes[plan.ordinal] = value; return;
    case Field::GlobalStride: map.strides[plan.ordinal] = value; return;
    case Field::ElementStride: map.element_strides[plan.ordinal] = small; return;
    case Field::ElementType: map.type = kElementTypes[small]; return;
    case Field::Interleave: map.interleave = small; return;
    case Field::Swizzle: map.swizzle = small; return;
    case Field::Atomicity: map.atomicity = small; return;
    case Field::Fill: map.oob_fill = small; return;
  }
}

// The 128 bytes of a map in shared or global memory, and that the lane may access them.
template <bool kSanitized>
uint8_t* find_map(Warp& w, const Instruction& in, const Pointer& p, unsigned lane, Access access) {
  const uint64_t address = address_of(w, in, p, lane);
  const bool generic = p.space == Space::Generic;
  const bool global = generic ? space_of(address) == Space::Global : p.space == Space::Global;
  const bool store = access != Access::Load;
  if (!global) {
    SharedPlace at;
    if (!find_one(w, in, p, lane, kMapBytes, kMapAlign, store, &at)) return nullptr;
    if (kSanitized) check_shared_piece(w, in, *at.owner, at.offset, lane, kMapBytes, access);
    return at.bytes();
  }
  Buffer* buffer = find_global(w, in, address, kMapBytes, kMapAlign, lane, store);
  if (buffer == nullptr) return nullptr;
  if (kSanitized && buffer->stores != nullptr) {
    check_global(w, in, *buffer, address, lane, kMapBytes, access, Order(), nullptr, false);
  }
  return reinterpret_cast<uint8_t*>(address);
}

// A map begins as 128 bytes of zeros too, where a kernel sets every field of it, as Triton's do.
void begin_map(TensorMap& map) {
  static constexpr uint8_t kZeros[kMapBytes] = {};
  if (std::memcmp(&map, kZeros, kMapBytes) == 0) std::memcpy(map.magic, kMapMagic, sizeof kMapMagic);
}

template <bool kSanitized>
void replace_lane(Warp& w, const Instruction& in, unsigned lane) {
  const MapPlan& plan = plan_of(in);
  uint8_t* bytes = find_map<kSanitized>(w, in, plan.to, lane, Access::Atomic);
  if (bytes == nullptr) return;
  TensorMap map;
  std::memcpy(&map, bytes, sizeof map);
  begin_map(map);
  const uint64_t value = plan.wide ? source<uint64_t>(w, in, plan.value)[lane] : source<uint32_t>(w, in, plan.value)[lane];
  std::optional<std::string> problem;
  if (std::memcmp(map.magic, kMapMagic, sizeof kMapMagic) != 0) problem = "there is no tensor map here";
  else if (map.im2col()) problem = "it is a map for .im2col, and .tile changes others";
  if (!problem) problem = check_value(plan, value);
  if (problem) {
    wrong_copy(w, in, lane, "the tensor map: " + *problem);
    return;
  }
  set_field(map, plan, value);
  std::memcpy(bytes, &map, sizeof map);
}

template <bool kSanitized>
void replace(Warp& w, const Instruction& in, uint32_t mask) {
  for (unsigned l = 0; l < kLanes; ++l) {
    if (mask >> l & 1u) replace_lane<kSanitized>(w, in, l);
  }
}

// ---- The proxy -------------------------------------------------------------------------------------------

void release(Warp& w, const Instruction&, uint32_t mask) { order_map_release(w, mask); }

void acquire(Warp& w, const Instruction& in, uint32_t mask) {
  for (unsigned l = 0; l < kLanes; ++l) {
    if (mask >> l & 1u) order_map_acquire(w, address_of(w, in, plan_of(in).from, l), kMapBytes);
  }
}

void nothing(Warp&, const Instruction&, uint32_t) {}

// The warp copies a map to global memory together; lanes that name other places make copies of their own.
template <bool kSanitized>
void copy_released(Warp& w, const Instruction& in, uint32_t mask) {
  bool diverged;
  if (!converge(w, in, mask, &diverged)) return;
  if (diverged) report_diverged(w, in, mask);
  const MapPlan& plan = plan_of(in);
  uint64_t last_to = 0, last_from = 0;
  bool any = false;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    const uint64_t to = address_of(w, in, plan.to, l), from = address_of(w, in, plan.from, l);
    if (any && to == last_to && from == last_from) continue;
    const uint8_t* source_bytes = find_map<kSanitized>(w, in, plan.from, l, Access::Load);
    uint8_t* bytes = source_bytes == nullptr ? nullptr : find_map<kSanitized>(w, in, plan.to, l, Access::Store);
    if (bytes == nullptr) return;
    std::memcpy(bytes, source_bytes, kMapBytes);
    any = true;
    last_to = to;
    last_from = from;
  }
  if (kSanitized) order_map_release(w, mask);
}

// ---- Decoding --------------------------------------------------------------------------------------------

Handler keep(Decoding& d, const MapPlan& plan, Handler plain, Handler sanitized) {
  d.out->plan = d.keep(plan);
  d.out->sanitized = sanitized;
  return plain;
}

// tensormap.replace.tile.field{.ss}.b1024.type  [addr], {ord,} new_val
Handler resolve_replace(Decoding& d) {
  const auto& m = d.modifiers;
  if (m.size() < 5 || m[1] != "tile" || m[m.size() - 2] != "b1024") return nullptr;
  const FieldRow* row = nullptr;
  for (const FieldRow& each : kFields) {
    if (each.name == m[2]) row = &each;
  }
  if (row == nullptr || d.last() != (row->wide ? "b64" : "b32")) return nullptr;
  MapPlan plan;
  plan.field = row->field;
  plan.wide = row->wide;
  if (m.size() == 6) {
    if (m[3] != "global" && m[3] != "shared::cta") return nullptr;
    plan.to.space = m[3] == "global" ? Space::Global : Space::Shared;
  }
  const unsigned value = row->ordinal ? 2 : 1;
  if (d.operands.size() != value + 1 || !bind_pointer_view(d, d.view(0), plan.to.space, &plan.to)) return nullptr;
  if (row->ordinal) {
    const OperandView* ordinal = d.view(1);
    if (ordinal->kind != OperandView::Kind::Immediate || ordinal->bits >= kMaxMapRank) return nullptr;
    plan.ordinal = static_cast<uint8_t>(ordinal->bits);
  }
  if (row->immediate) {
    const OperandView* v = d.view(value);
    if (v->kind != OperandView::Kind::Immediate || v->bits >= std::size(kElementTypes)) return nullptr;
  }
  plan.value = static_cast<uint8_t>(d.bound());
  if (!d.source(value, row->wide ? 64 : 32)) return nullptr;
  d.access(true, true, kMapBytes);
  return keep(d, plan, replace<false>, replace<true>);
}

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned  [dst], [src], 128
Handler resolve_copy_released(Decoding& d) {
  const auto& m = d.modifiers;
  const bool known = m.size() == 8 && m[1] == "global" && m[2] == "shared::cta" && m[3] == "tensormap::generic" &&
                     m[4] == "release" && m[6] == "sync" && m[7] == "aligned";
  const OperandView* size = d.view(2);
  if (!known || d.operands.size() != 3 || size->kind != OperandView::Kind::Immediate || size->bits != kMapBytes) {
    return nullptr;
  }
  MapPlan plan;
  if (!bind_pointer_view(d, d.view(0), Space::Global, &plan.to) ||
      !bind_pointer_view(d, d.view(1), Space::Shared, &plan.from)) {
    return nullptr;
  }
  d.access(true, true, kMapBytes);
  return keep(d, plan, copy_released<false>, copy_released<true>);
}

}  // namespace

Handler resolve_map_fence(Decoding& d) {
  MapPlan plan;
  if (d.has("release")) return d.operands.empty() ? keep(d, plan, nothing, release) : nullptr;
  const OperandView* size = d.view(1);
  if (!d.has("acquire") || d.operands.size() != 2 || size->kind != OperandView::Kind::Immediate ||
      size->bits != kMapBytes || !bind_pointer_view(d, d.view(0), Space::Generic, &plan.from)) {
    return nullptr;
  }
  return keep(d, plan, nothing, acquire);
}

Handler resolve_tensor_map(Decoding& d) {
  if (d.opcode != "tensormap" || d.modifiers.empty()) return nullptr;
  if (d.modifiers[0] == "replace") return resolve_replace(d);
  return d.modifiers[0] == "cp_fenceproxy" ? resolve_copy_released(d) : nullptr;
}

}  // namespace pyptx::emulator
