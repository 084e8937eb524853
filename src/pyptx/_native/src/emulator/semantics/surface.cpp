// suld, sust and sured: surfaces (PTX ISA, "Surface Instructions").
//
// The first coordinate counts bytes, the others rows, planes and layers. What is outside traps, which is a finding; or
// is moved to the nearest place; or is not there: loads give zeros, and stores are left out.
#include <algorithm>
#include <cstring>

#include "matrix.h"
#include "texture.h"

namespace pyptx::emulator {
namespace {

enum class Outside : uint8_t { Trap, Clamp, Zero };

struct SurfacePlan : TexturePlan {
  Outside outside = Outside::Trap;
  Update update = nullptr;  // of sured
  uint8_t register_bytes[4] = {0};  // registers may be wider than elements
};

const SurfacePlan& plan_of(const Instruction& in) { return *static_cast<const SurfacePlan*>(in.plan); }

struct Place {
  int64_t at[3] = {0, 0, 0};  // byte, row, and plane or layer
};

Place place_of(Warp& w, const Instruction& in, const SurfacePlan& plan, const Texture& t, unsigned lane) {
  Place place;
  unsigned slot = plan.coordinates;
  if (t.layered()) place.at[2] = held<uint32_t>(w, in, slot++)[lane];
  for (unsigned axis = 0; axis < plan.geometry->axes; ++axis, ++slot) place.at[axis] = held<int32_t>(w, in, slot)[lane];
  return place;
}

std::string described(const Texture& t, const Place& place, unsigned bytes) {
  std::string text = "bytes " + std::to_string(place.at[0]) + " to " + std::to_string(place.at[0] + bytes - 1) +
                     " of a row of " + std::to_string(t.row_bytes());
  if (t.size[1] > 1) text += ", row " + std::to_string(place.at[1]) + " of " + std::to_string(t.size[1]);
  if (t.size[2] > 1) {
    text += (t.layered() ? ", layer " : ", plane ") + std::to_string(place.at[2]) + " of " + std::to_string(t.size[2]);
  }
  return text;
}

void report_outside(Warp& w, const Instruction& in, const SurfacePlan& plan, Kind kind, unsigned lane,
                    const std::string& note) {
  report(w, kind, site_of(w, in, lane, plan.access != Access::Load), note);
}

// The lane's address in the surface; 0 where nothing is there, or for a finding.
uint64_t find_address(Warp& w, const Instruction& in, const Texture& t, unsigned lane) {
  const SurfacePlan& plan = plan_of(in);
  Place place = place_of(w, in, plan, t, lane);
  if (place.at[0] % plan.bytes != 0) {
    report_outside(w, in, plan, Kind::Misaligned, lane,
                   "the first coordinate counts bytes, and " + std::to_string(place.at[0]) + " is no multiple of " +
                       std::to_string(plan.bytes));
    return 0;
  }
  const int64_t most[] = {t.row_bytes() - plan.bytes, t.size[1] - 1, t.size[2] - 1};
  const bool outside = [&] {
    for (unsigned axis = 0; axis < 3; ++axis) {
      if (place.at[axis] < 0 || place.at[axis] > most[axis]) return true;
    }
    return false;
  }();
  if (outside && plan.outside == Outside::Trap) {
    report_outside(w, in, plan, Kind::OutOfBounds, lane,
                   "the surface does not have " + described(t, place, plan.bytes));
  }
  if (outside && (plan.outside != Outside::Clamp || most[0] < 0)) return 0;
  for (unsigned axis = 0; axis < 3; ++axis) place.at[axis] = std::clamp<int64_t>(place.at[axis], 0, most[axis]);
  place.at[0] -= place.at[0] % plan.bytes;
  return t.place(0, place.at[1], place.at[2]) + static_cast<uint64_t>(place.at[0]);
}

uint64_t element_of(Warp& w, const Instruction& in, const SurfacePlan& plan, unsigned e, unsigned lane) {
  uint64_t value = 0;
  std::memcpy(&value, held<uint8_t>(w, in, plan.data + e) + lane * plan.register_bytes[e], plan.element);
  return value;
}

bool same_value(Warp& w, const Instruction& in, unsigned a, unsigned b) {
  const SurfacePlan& plan = plan_of(in);
  for (unsigned e = 0; e < plan.vector; ++e) {
    if (element_of(w, in, plan, e, a) != element_of(w, in, plan, e, b)) return false;
  }
  return true;
}

void load_lane(Warp& w, const Instruction& in, const SurfacePlan& plan, unsigned lane, const uint8_t* from) {
  for (unsigned e = 0; e < plan.vector; ++e) {
    uint64_t value = 0;
    if (from != nullptr) std::memcpy(&value, from + e * plan.element, plan.element);
    std::memcpy(held<uint8_t>(w, in, plan.data + e) + lane * plan.register_bytes[e], &value, plan.register_bytes[e]);
  }
}

void store_lane(Warp& w, const Instruction& in, const SurfacePlan& plan, unsigned lane, uint8_t* to) {
  for (unsigned e = 0; e < plan.vector; ++e) {
    const uint64_t value = element_of(w, in, plan, e, lane);
    std::memcpy(to + e * plan.element, &value, plan.element);
  }
}

// Rows are as wide as their texels together, so in memory a wide access may begin where only texels do. It is checked
// texel by texel then.
template <bool kSanitized>
uint32_t locate_lanes(Warp& w, const Instruction& in, const Texture& t, const Addresses& a, uint32_t mask,
                      Places& places) {
  const SurfacePlan& plan = plan_of(in);
  AccessPlan access = plan;
  access.space = Space::Global;
  access.bytes = static_cast<uint8_t>(t.row_bytes() % plan.bytes == 0 ? plan.bytes : t.element_bytes());
  uint32_t good = locate<kSanitized>(w, in, access, Space::Global, a, mask, places);
  for (unsigned at = access.bytes; at < plan.bytes; at += access.bytes) {
    Addresses next;
    Places unused;
    PYPTX_EACH_LANE(l) next.at[l] = a.at[l] + at;
    good &= locate<kSanitized>(w, in, access, Space::Global, next, good, unused);
  }
  if (kSanitized && plan.order.strong) order_lanes(w, in, access, a, good);
  return good;
}

template <bool kSanitized>
void access_surface(Warp& w, const Instruction& in, const Texture& t, uint32_t mask) {
  const SurfacePlan& plan = plan_of(in);
  Addresses a = {};
  Places places;
  uint32_t there = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    a.at[l] = find_address(w, in, t, l);
    if (a.at[l] != 0) there |= 1u << l;
    else if (plan.access == Access::Load) load_lane(w, in, plan, l, nullptr);
  }
  if (there == 0) return;
  there = locate_lanes<kSanitized>(w, in, t, a, there, places);
  bool changed = plan.access == Access::Store;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(there >> l & 1u)) continue;
    if (plan.access == Access::Load) load_lane(w, in, plan, l, places.at[l]);
    else if (plan.access == Access::Store) store_lane(w, in, plan, l, places.at[l]);
    else update_at(places.at[l], plan.bytes, plan.update, element_of(w, in, plan, 0, l), 0, &changed);
  }
  if (changed) memory_changed(w);
}

template <bool kSanitized>
void surface(Warp& w, const Instruction& in, uint32_t mask) {
  each_texture(w, in, plan_of(in), mask, true, [&](const Texture& t, uint32_t lanes) {
    access_surface<kSanitized>(w, in, t, lanes);
    return true;
  });
}

// ---- Decoding --------------------------------------------------------------------------------------------

bool bind_data(Decoding& d, unsigned operand, SurfacePlan* plan) {
  plan->data = static_cast<uint8_t>(d.bound());
  if (d.elements(operand) != plan->vector) return false;
  const unsigned least = plan->element * 8u;
  for (unsigned e = 0; e < plan->vector; ++e) {
    const OperandView* v = d.element(operand, e);
    if (!(plan->access == Access::Load ? d.bind_destination(v, least, 64) : d.bind_source(v, least, 64))) return false;
    plan->register_bytes[e] = static_cast<uint8_t>(d.bound_width(plan->data + e) / 8);
  }
  return true;
}

bool read_operation(Modifiers& m, std::string_view* operation) {
  for (const char* name : {"add", "min", "max", "and", "or"}) {
    if (m.take(name)) {
      *operation = name;
      return true;
    }
  }
  return false;
}

// b{.op}.geometry{.cop}{.vec}.type.clamp
bool read_surface(Decoding& d, SurfacePlan* plan) {
  Modifiers m(d);
  std::string_view operation;
  if (!m.take("b") || (plan->access == Access::Atomic && !read_operation(m, &operation))) return false;
  plan->geometry = geometry_of(m.next());
  if (plan->geometry == nullptr || plan->geometry->kind >= TextureKind::Cubemap) return false;
  for (const char* cache : {"ca", "cg", "cs", "cv", "wb", "wt"}) {
    if (m.take(cache)) break;
  }
  plan->vector = m.take("v2") ? 2 : m.take("v4") ? 4 : 1;
  const std::string_view named = m.peek();
  plan->element = static_cast<uint8_t>(bits_of(m.type()) / 8);
  plan->bytes = static_cast<uint8_t>(plan->element * plan->vector);
  if (plan->bytes == 0 || plan->bytes > 16) return false;
  if (plan->access == Access::Atomic) {
    unsigned bytes = 0;
    plan->update = find_update(operation, named, true, &bytes);
    if (plan->update == nullptr) return false;
  }
  if (m.take("clamp")) plan->outside = Outside::Clamp;
  else if (m.take("zero")) plan->outside = Outside::Zero;
  else if (!m.take("trap")) return false;
  return m.done();
}

}  // namespace

// suld.b d, [surf, {b}]; sust.b [surf, {b}], c; sured.b [surf, {b}], c
Handler resolve_surface(Decoding& d) {
  SurfacePlan plan;
  plan.access = d.opcode == "suld" ? Access::Load : d.opcode == "sust" ? Access::Store : Access::Atomic;
  const bool loads = plan.access == Access::Load;
  if (!read_surface(d, &plan) || d.operands.size() != 2) return nullptr;
  plan.read_only = plan.texture = loads;
  plan.same_value = plan.access == Access::Store ? same_value : nullptr;
  plan.order.strong = plan.access == Access::Atomic;
  plan.order.scope = Scope::Gpu;
  if (loads ? !bind_data(d, 0, &plan) || !bind_texture(d, 1, &plan)
            : !bind_texture(d, 0, &plan) || !bind_data(d, 1, &plan)) {
    return nullptr;
  }
  d.access(false, true, plan.element);
  d.out->plan = d.keep(plan);
  d.out->sanitized = surface<true>;
  return surface<false>;
}

}  // namespace pyptx::emulator
