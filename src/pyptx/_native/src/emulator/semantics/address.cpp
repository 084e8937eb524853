// Instructions on addresses: cvta, isspacep, mapa, getctarank, prefetch, createpolicy, applypriority, discard.
#include <algorithm>

#include "access.h"
#include "modifiers.h"

namespace pyptx::emulator {
namespace {

constexpr Modifier kWindows[] = {{"global", 0},          {"shared", 1},          {"shared::cta", 1},
                                 {"shared::cluster", 2}, {"local", 3},           {"const", 4},
                                 {"param", 5},           {"param::entry", 5}};
constexpr uint64_t kBases[] = {0, kSharedWindow, kSharedWindow, kLocalWindow, kConstWindow, kParamWindow};

// detail: the window. immediate: 1 for cvta.to.
template <class T>
void cvta(Warp& w, const Instruction& in, uint32_t mask) {
  const uint64_t base = kBases[in.detail];
  const bool to = in.immediate != 0;
  unary<T>(w, in, mask, [=](T a) { return static_cast<T>(to ? a - base : a + base); });
}

template <class T>
void isspacep(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = source<T>(w, in, 1);
  const uint32_t window = in.detail;
  const uint64_t base = kBases[window];
  const uint64_t rank = w.cta->rank;
  const uint32_t inside = lane_mask([&](unsigned l) {
    const uint64_t address = a[l];
    if (window == 0) return space_of(address) == Space::Global;
    if ((address & kWindowMask) != base) return false;
    return window != 1 || (address & ~kWindowMask) >> kRankShift == rank;
  });
  set_predicate(w, in, 0, mask, inside);
}

// mapa: the same offset in the shared memory of CTA b of the cluster. detail: the operand is generic.
template <class T>
void mapa(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = source<T>(w, in, 1);
  const uint32_t* b = source<uint32_t>(w, in, 2);
  constexpr T kOffset = (T{1} << kRankShift) - 1;
  const T window = in.detail ? static_cast<T>(kSharedWindow) : T{0};
  each_lane<T>(w, in, 0, mask, [=](unsigned l) {
    return static_cast<T>(window | static_cast<T>(b[l]) << kRankShift | (a[l] & kOffset));
  });
}

template <class T>
void getctarank(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = source<T>(w, in, 1);
  each_lane<uint32_t>(w, in, 0, mask, [=](unsigned l) {
    return static_cast<uint32_t>((static_cast<uint64_t>(a[l]) & ~kWindowMask) >> kRankShift);
  });
}

// A cache policy only reaches the hints of other instructions, which have no effect here; it is nonzero so
// that it can be told from a register that was never set.
void createpolicy(Warp& w, const Instruction& in, uint32_t mask) {
  const uint64_t policy = 0x1000000000000000ull | in.detail;
  each_lane<uint64_t>(w, in, 0, mask, [=](unsigned) { return policy; });
}

void nothing(Warp&, const Instruction&, uint32_t) {}

// applypriority and discard touch 128 bytes that must be valid; discard leaves them undefined.
template <bool kSanitized>
void touch_line(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& plan = *static_cast<const AccessPlan*>(in.plan);
  Addresses a;
  Places places;
  read_addresses(w, in, plan, a);
  mask = locate<false>(w, in, plan, plan.space, a, mask, places);
  if (kSanitized && in.detail != 0) {
    for (unsigned l = 0; l < kLanes; ++l) {
      if (mask >> l & 1u) forget_global(w, reinterpret_cast<uint64_t>(places.at[l]), plan.bytes);
    }
  }
}

Handler resolve_cvta(Decoding& d) {
  size_t i = 0;
  const bool to = i < d.modifiers.size() && d.modifiers[i] == "to";
  i += to;
  if (d.modifiers.size() != i + 2 || !read_modifier(d.modifiers[i], kWindows, std::size(kWindows), &d.out->detail)) {
    return nullptr;
  }
  const std::string_view type = d.last();
  if (type != "u64" && type != "u32") return nullptr;
  d.out->immediate = to;
  if (type == "u32") return nullptr;  // generic addresses have 64 bits here, as on every supported target
  return d.shape(64, 64, 1) ? cvta<uint64_t> : nullptr;
}

Handler resolve_isspacep(Decoding& d) {
  if (d.modifiers.size() != 1 || d.operands.size() != 2 ||
      !read_modifier(d.modifiers[0], kWindows, std::size(kWindows), &d.out->detail) || !d.destination(0, 1) ||
      !d.source(1, 64)) {
    return nullptr;
  }
  return isspacep<uint64_t>;
}

// Shared variables may stand where mapa and getctarank take an address.
Handler resolve_cluster_address(Decoding& d) {
  const std::string_view type = d.last();
  const unsigned width = type == "u64" ? 64 : type == "u32" ? 32 : 0;
  const bool shared = d.modifiers.size() == 2 && d.modifiers[0] == "shared::cluster";
  if (width == 0 || (d.modifiers.size() != 1 && !shared) || d.operands.size() < 2) return nullptr;
  d.out->detail = !shared;
  const bool is_mapa = d.opcode == "mapa";
  if (d.operands.size() != (is_mapa ? 3u : 2u) || !d.destination(0, is_mapa ? width : 32)) return nullptr;
  OperandView base = d.operands[1];
  if (base.kind == OperandView::Kind::Register && base.space == 0 && base.width == 64 && width == 32) return nullptr;
  if (!d.bind_source(&base, width, width) || (is_mapa && !d.source(2, 32))) return nullptr;
  if (!is_mapa) return width == 64 ? getctarank<uint64_t> : getctarank<uint32_t>;
  return width == 64 ? mapa<uint64_t> : mapa<uint32_t>;
}

constexpr std::string_view kPriorities[] = {"L2::evict_last", "L2::evict_normal", "L2::evict_first",
                                            "L2::evict_unchanged"};

Handler resolve_createpolicy(Decoding& d) {
  if (d.modifiers.size() < 2 || d.last() != "b64" || d.operands.empty() || !d.destination(0, 64)) return nullptr;
  const std::string_view kind = d.modifiers[0];
  for (size_t i = 1; i + 1 < d.modifiers.size(); ++i) {
    const std::string_view m = d.modifiers[i];
    const bool priority = std::find(std::begin(kPriorities), std::end(kPriorities), m) != std::end(kPriorities);
    if (!priority && m != "L2" && m != "global") return nullptr;
    d.out->detail = d.out->detail * 8 + static_cast<uint32_t>(m.size());
  }
  if (kind == "fractional") {
    if (d.operands.size() > 2 || (d.operands.size() == 2 && !d.source(1, 32))) return nullptr;
    return createpolicy;
  }
  if (kind == "range") {
    if (d.operands.size() != 4 || d.operands[1].kind != OperandView::Kind::Address) return nullptr;
    AccessPlan ignored;
    return bind_address(d, 1, &ignored) && d.source(2, 32) && d.source(3, 32) ? createpolicy : nullptr;
  }
  return kind == "cvt" && d.operands.size() == 2 && d.source(1, 64) ? createpolicy : nullptr;
}

// A prefetch of an address that is not there has no effect either, so nothing is checked.
Handler resolve_prefetch(Decoding& d) {
  AccessPlan plan;
  static constexpr Modifier kKnown[] = {
      {"L1", static_cast<uint32_t>(Space::Generic)},       {"L2", static_cast<uint32_t>(Space::Generic)},
      {"L2::evict_last", static_cast<uint32_t>(Space::Generic)},
      {"L2::evict_normal", static_cast<uint32_t>(Space::Generic)},
      {"tensormap", static_cast<uint32_t>(Space::Generic)}, {"global", static_cast<uint32_t>(Space::Global)},
      {"local", static_cast<uint32_t>(Space::Local)},      {"const", static_cast<uint32_t>(Space::Const)},
      {"param", static_cast<uint32_t>(Space::Param)}};
  for (const std::string_view m : d.modifiers) {
    uint32_t space;
    if (!read_modifier(m, kKnown, std::size(kKnown), &space)) return nullptr;
    if (static_cast<Space>(space) != Space::Generic) plan.space = static_cast<Space>(space);
  }
  return d.operands.size() == 1 && !d.modifiers.empty() && bind_address(d, 0, &plan) ? nothing : nullptr;
}

Handler resolve_line(Decoding& d) {
  AccessPlan plan;
  const bool discard = d.opcode == "discard";
  plan.access = discard ? Access::Store : Access::Load;
  plan.discards = discard;
  plan.space = d.has("global") ? Space::Global : Space::Generic;
  plan.element = plan.bytes = 128;
  const std::string_view level = discard ? "L2" : "L2::evict_normal";
  const bool known = d.modifiers.size() == (d.has("global") ? 2u : 1u) && d.last() == level;
  if (!known || d.operands.size() != 2 || d.operands[1].kind != OperandView::Kind::Immediate ||
      d.operands[1].bits != 128 || !bind_address(d, 0, &plan)) {
    return nullptr;
  }
  note_access(d, plan);
  d.out->detail = discard;
  d.out->plan = d.keep(plan);
  d.out->sanitized = touch_line<true>;
  return touch_line<false>;
}

}  // namespace

Handler resolve_address(Decoding& d) {
  if (d.opcode == "cvta") return resolve_cvta(d);
  if (d.opcode == "isspacep") return resolve_isspacep(d);
  if (d.opcode == "mapa" || d.opcode == "getctarank") return resolve_cluster_address(d);
  if (d.opcode == "createpolicy") return resolve_createpolicy(d);
  if (d.opcode == "prefetch" || d.opcode == "prefetchu") return resolve_prefetch(d);
  if (d.opcode == "applypriority" || d.opcode == "discard") return resolve_line(d);
  return nullptr;
}

}  // namespace pyptx::emulator
