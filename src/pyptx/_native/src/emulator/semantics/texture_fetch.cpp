// tex and tld4: reading textures (PTX ISA, "Texture Instructions"; CUDA C++ Programming Guide, "Texture Fetching").
//
// Coordinates count from texels' corners, so texel i is from i to i + 1 and its centre at i + 0.5. Between centres,
// weights are rounded to multiples of 1/256, which the guide calls 9 bits with 8 bits of fraction. How devices round
// the products and their sum is not known: here they are exact to about 53 bits and the sum is rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "elements.h"
#include "matrix.h"
#include "texture.h"

namespace pyptx::emulator {
namespace {

constexpr unsigned kMostTaps = 8, kMostChannels = 4;
constexpr int kFractions = 256;

struct FetchPlan : TexturePlan {
  Type result = Type::F32;
  uint8_t count = 4;      // registers of the result
  bool integers = false;  // coordinates are .s32: of linear memory
  bool gathers = false;   // tld4
  bool resident = false;  // a predicate follows the results: whether the texels are resident, which all are
  uint8_t component = 0;  // of tld4
  uint8_t offsets = 0;    // slot of the first of them
  bool offset = false;    // there are some
};

const FetchPlan& plan_of(const Instruction& in) { return *static_cast<const FetchPlan*>(in.plan); }

// ---- Where it reads --------------------------------------------------------------------------------------

// The texels along one axis; a place of -1 is outside.
struct AxisTaps {
  unsigned count = 1;
  int64_t at[2] = {0, 0};
  double weight[2] = {1, 0};
};

int64_t inside(int64_t i, int64_t size, AddressMode mode) {
  if (mode == AddressMode::Border) return i >= 0 && i < size ? i : -1;
  if (mode == AddressMode::Wrap) return (i % size + size) % size;
  return std::clamp<int64_t>(i, 0, size - 1);  // a mirror's edge lies between two halves of one texel
}

// A coordinate in texels, where the mode has moved it into the texture.
double position(double x, int64_t size, int offset, bool normalized, AddressMode mode) {
  constexpr double kFar = 1e12;
  const auto wide = static_cast<double>(size);
  double at = (normalized ? x * wide : x) + offset;
  if (!std::isfinite(at)) return std::isnan(at) ? 0 : at < 0 ? -kFar : kFar;
  const double whole = std::floor(at / wide);
  if (mode == AddressMode::Wrap || mode == AddressMode::Mirror) at -= whole * wide;
  if (mode == AddressMode::Mirror && std::fmod(whole, 2) != 0) at = wide - at;
  return std::clamp(at, -kFar, kFar);
}

AxisTaps taps_of(double at, int64_t size, bool linear, AddressMode mode) {
  AxisTaps taps;
  if (!linear) {
    taps.at[0] = inside(static_cast<int64_t>(std::floor(at)), size, mode);
    return taps;
  }
  const double from = std::floor(at - 0.5);
  const double fraction = std::floor((at - 0.5 - from) * kFractions + 0.5) / kFractions;
  const auto first = static_cast<int64_t>(from);
  taps.count = 2;
  taps.at[0] = inside(first, size, mode);
  taps.at[1] = inside(first + 1, size, mode);
  taps.weight[0] = 1 - fraction;
  taps.weight[1] = fraction;
  return taps;
}

struct Tap {
  uint64_t address = 0;  // 0: outside
  double weight = 1;
};
struct Taps {
  unsigned count = 0;
  std::array<Tap, kMostTaps> tap;
};

// Where a lane reads: coordinates, offsets in texels, and the layer or the face in `z`.
struct Place {
  double at[3] = {0, 0, 0};
  int offset[3] = {0, 0, 0};
  int64_t z = 0;
};

// The face that a direction meets, and where (CUDA C++ Programming Guide, "Cubemap Textures").
int64_t face_of(const double* r, double* s, double* t) {
  const double x = std::fabs(r[0]), y = std::fabs(r[1]), z = std::fabs(r[2]);
  const unsigned axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
  const bool negative = std::signbit(r[axis]);
  const double most = std::fabs(r[axis]);
  const double along = axis == 0 ? (negative ? r[2] : -r[2]) : axis == 1 ? r[0] : negative ? -r[0] : r[0];
  const double down = axis == 1 ? (negative ? -r[2] : r[2]) : -r[1];
  *s = (along / most + 1) / 2;
  *t = (down / most + 1) / 2;
  return 2 * static_cast<int64_t>(axis) + negative;
}

// The coordinates of a lane.
Place place_of(Warp& w, const Instruction& in, const FetchPlan& plan, const Texture& t, unsigned lane) {
  Place place;
  unsigned slot = plan.coordinates;
  int64_t layer = 0;
  if (t.layered() && t.kind != TextureKind::Cubemap) layer = held<uint32_t>(w, in, slot++)[lane];
  for (unsigned axis = 0; axis < plan.geometry->axes; ++axis, ++slot) {
    place.at[axis] = plan.integers ? held<int32_t>(w, in, slot)[lane] : held<float>(w, in, slot)[lane];
    if (plan.offset) place.offset[axis] = held<int32_t>(w, in, plan.offsets + axis)[lane];
  }
  if (t.kind < TextureKind::Cubemap) {
    place.z = std::min(layer, t.size[2] - 1);
    return place;
  }
  const int64_t face = face_of(place.at, &place.at[0], &place.at[1]);
  place.z = std::min(layer, t.size[2] / 6 - 1) * 6 + face;
  return place;
}

// The texels of a lane; tld4 takes four, counter-clockwise from the lower left one.
Taps find_taps(const FetchPlan& plan, const Texture& t, const Place& place) {
  const bool deep = t.kind == TextureKind::D3, flat = plan.geometry->axes == 1;
  const bool linear = (t.linear != 0 || plan.gathers) && !plan.integers;
  const bool whole = t.normalized != 0 || t.kind >= TextureKind::Cubemap;
  const auto along = [&](unsigned axis, bool there) {
    if (!there) return AxisTaps();
    const AddressMode mode = plan.integers ? AddressMode::Border : t.address_mode[axis];
    const double at = position(place.at[axis], t.size[axis], place.offset[axis], whole, mode);
    return taps_of(at, t.size[axis], linear, mode);
  };
  AxisTaps x = along(0, true), y = along(1, !flat), z = along(2, deep);
  if (!deep) z.at[0] = place.z;
  Taps taps;
  const auto add = [&](unsigned i, unsigned j, unsigned k) {
    const double weight = x.weight[i] * y.weight[j] * z.weight[k];
    if (weight == 0 && !plan.gathers) return;
    const bool outside = x.at[i] < 0 || y.at[j] < 0 || z.at[k] < 0;
    taps.tap[taps.count++] = {outside ? 0 : t.place(x.at[i], y.at[j], z.at[k]), weight};
  };
  if (plan.gathers) {
    add(0, 1, 0), add(1, 1, 0), add(1, 0, 0), add(0, 0, 0);
    return taps;
  }
  for (unsigned k = 0; k < z.count; ++k) {
    for (unsigned j = 0; j < y.count; ++j) {
      for (unsigned i = 0; i < x.count; ++i) add(i, j, k);
    }
  }
  return taps;
}

// ---- What it reads ---------------------------------------------------------------------------------------

template <class T>
T element_at(const uint8_t* place, unsigned channel) {
  T value;
  std::memcpy(&value, place + channel * sizeof(T), sizeof(T));
  return value;
}

double half_at(const uint8_t* place, unsigned channel) {
  return small_float(element_at<uint16_t>(place, channel), 5, 10, Specials::Infinities);
}

// An element as a number.
double number_at(const Texture& t, const uint8_t* place, unsigned channel) {
  switch (t.texel) {
    case Texel::U8: return element_at<uint8_t>(place, channel);
    case Texel::S8: return element_at<int8_t>(place, channel);
    case Texel::U16: return element_at<uint16_t>(place, channel);
    case Texel::S16: return element_at<int16_t>(place, channel);
    case Texel::U32: return element_at<uint32_t>(place, channel);
    case Texel::S32: return element_at<int32_t>(place, channel);
    case Texel::F16: return half_at(place, channel);
    default: return static_cast<double>(element_at<float>(place, channel));
  }
}

double texel_at(const Texture& t, const uint8_t* place, unsigned channel) {
  constexpr double kMost[] = {255, 127, 65535, 32767};
  const double number = number_at(t, place, channel);
  if (t.normalized_float == 0 || t.texel > Texel::S16) return number;
  return std::max(number / kMost[static_cast<unsigned>(t.texel)], -1.0);
}

// What the lanes of one handle get: by lane, four components.
struct Results {
  double of[kLanes][kMostChannels] = {};
};

// Components that the texture does not have are zeros.
void add_texel(const FetchPlan& plan, const Texture& t, unsigned tap, double weight, const uint8_t* place, double* to) {
  const auto value = [&](unsigned c) {
    return c >= t.channels ? 0 : place == nullptr ? static_cast<double>(t.border[c]) : texel_at(t, place, c);
  };
  if (plan.gathers) {
    to[tap] = value(plan.component);
    return;
  }
  for (unsigned c = 0; c < t.channels; ++c) to[c] += weight == 1 ? value(c) : weight * value(c);
}

template <bool kSanitized>
uint32_t read_texels(Warp& w, const Instruction& in, const Texture& t, uint32_t mask, Results* results) {
  const FetchPlan& plan = plan_of(in);
  AccessPlan access = plan;
  access.space = Space::Global;
  access.element = static_cast<uint8_t>(t.element_bytes());
  access.vector = t.channels;
  access.bytes = static_cast<uint8_t>(t.bytes());
  Taps taps[kLanes];
  for (unsigned l = 0; l < kLanes; ++l) {
    if (mask >> l & 1u) taps[l] = find_taps(plan, t, place_of(w, in, plan, t, l));
  }
  for (unsigned tap = 0; tap < kMostTaps; ++tap) {
    Addresses addresses = {};
    Places places;
    uint32_t reading = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1u) || tap >= taps[l].count) continue;
      addresses.at[l] = taps[l].tap[tap].address;
      if (addresses.at[l] != 0) reading |= 1u << l;
    }
    const uint32_t found =
        reading == 0 ? 0 : locate<kSanitized>(w, in, access, Space::Global, addresses, reading, places);
    mask &= ~(reading & ~found);
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1u) || tap >= taps[l].count) continue;
      add_texel(plan, t, tap, taps[l].tap[tap].weight, reading >> l & 1u ? places.at[l] : nullptr, results->of[l]);
    }
  }
  return mask;
}

// ---- Instructions ----------------------------------------------------------------------------------------

// Of a texel, whose bits it has, or of a border, which may be any number.
uint32_t integer_bits(double value) {
  constexpr double kLeast = -2147483648.0, kMost = 4294967295.0;
  return std::isnan(value) ? 0 : static_cast<uint32_t>(static_cast<int64_t>(std::clamp(value, kLeast, kMost)));
}

void put_results(Warp& w, const Instruction& in, uint32_t mask, const Results& results) {
  const FetchPlan& plan = plan_of(in);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    const double* from = results.of[l];
    for (unsigned c = 0; c < kMostChannels; ++c) {
      const unsigned slot = plan.results + c;
      const unsigned pair = plan.results + c / 2;
      if (plan.result == Type::F32) held<float>(w, in, slot)[l] = canonical(static_cast<float>(from[c]));
      else if (plan.result == Type::F16) held<uint16_t>(w, in, slot)[l] = to_half(from[c]);
      else if (plan.result == Type::F16x2) held<uint16_t>(w, in, pair)[2 * l + c % 2] = to_half(from[c]);
      else held<uint32_t>(w, in, slot)[l] = integer_bits(from[c]);
    }
  }
}

bool check_fetch(Warp& w, const Instruction& in, unsigned lane, const Texture& t) {
  const FetchPlan& plan = plan_of(in);
  const bool floats = plan.result == Type::F32 || plan.result == Type::F16 || plan.result == Type::F16x2;
  if (floats == t.is_float()) return true;
  wrong_texture(w, in, lane, std::string("the texture gives ") + (t.is_float() ? "floats" : "integers") +
                                 ", and the instruction takes " + (floats ? "floats" : "integers"));
  return false;
}

// The manual gives offsets beyond these no meaning.
bool check_offsets(Warp& w, const Instruction& in, uint32_t mask) {
  constexpr int kLeast = -8, kMost = 7;
  const FetchPlan& plan = plan_of(in);
  for (unsigned axis = 0; plan.offset && axis < plan.geometry->axes; ++axis) {
    const auto* offsets = held<int32_t>(w, in, plan.offsets + axis);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
      if (offsets[lane] >= kLeast && offsets[lane] <= kMost) continue;
      wrong_texture(w, in, lane, "its offset " + std::to_string(offsets[lane]) + " is not in -8 to 7");
      return false;
    }
  }
  return true;
}

constexpr Geometry kLinear{"1d", TextureKind::Linear, 1, 1};

template <bool kSanitized>
void fetch(Warp& w, const Instruction& in, uint32_t mask) {
  const FetchPlan& plan = plan_of(in);
  if (!check_offsets(w, in, mask)) return;
  if (plan.resident) set_predicate(w, in, plan.results + plan.count, mask, kFullMask);
  each_texture(w, in, plan, mask, false, [&](const Texture& t, uint32_t lanes) {
    if (!check_fetch(w, in, static_cast<unsigned>(__builtin_ctz(lanes)), t)) return false;
    Results results;
    put_results(w, in, read_texels<kSanitized>(w, in, t, lanes, &results), results);
    return true;
  });
}

// ---- Decoding --------------------------------------------------------------------------------------------

// d, or d|p.
bool bind_results(Decoding& d, FetchPlan* plan) {
  plan->results = static_cast<uint8_t>(d.bound());
  plan->count = plan->result == Type::F16x2 ? 2 : 4;
  const unsigned width = plan->result == Type::F16 ? 16 : 32;
  const OperandView* v = d.view(0);
  plan->resident = v->kind == OperandView::Kind::Pair;
  const OperandView* values = plan->resident ? d.element(0, 0) : v;
  if (values == nullptr || values->kind != OperandView::Kind::Vector) return false;
  if (values->elements.size() != plan->count) return false;
  for (const OperandView& each : values->elements) {
    if (!d.bind_destination(&each, width, width)) return false;
  }
  return !plan->resident || d.bind_destination(d.element(0, 1), 1, 1);
}

// {, {offsets}}: one for each coordinate, or four of three. A depth in their place is no vector.
bool bind_offsets(Decoding& d, unsigned k, FetchPlan* plan) {
  const unsigned axes = plan->geometry->axes, count = d.elements(k);
  plan->offset = true;
  plan->offsets = static_cast<uint8_t>(d.bound());
  if (d.view(k)->kind != OperandView::Kind::Vector || plan->geometry->kind >= TextureKind::Cubemap) return false;
  if (count != (axes == 3 ? 4 : axes)) return false;
  for (unsigned e = 0; e < count; ++e) {
    if (!d.bind_source(d.element(k, e), 32, 32)) return false;
  }
  return true;
}

// A texture has one level, so what says which one changes nothing.
bool bind_level(Decoding& d, unsigned k) {
  for (unsigned e = 0; e < d.elements(k); ++e) {
    if (!d.bind_source(d.element(k, e), 32, 32)) return false;
  }
  return true;
}

// tex{.base|.level|.grad}.geometry.v4.type.ctype d, [tex, {c}] {, lod} {, {dPdx}, {dPdy}} {, {offsets}}
// tld4.component.2d.v4.type.f32 d, [tex, {c}] {, {offsets}}
bool read_fetch(Decoding& d, FetchPlan* plan, unsigned* more) {
  Modifiers m(d);
  plan->gathers = d.opcode == "tld4";
  if (!plan->gathers && !m.take("base")) *more = m.take("level") ? 1 : m.take("grad") ? 2 : 0;
  if (plan->gathers) {
    const size_t component = std::string_view("rgba").find(m.next());
    if (component == std::string_view::npos) return false;
    plan->component = static_cast<uint8_t>(component);
  }
  plan->geometry = geometry_of(m.next());
  if (plan->geometry == nullptr || (plan->gathers && plan->geometry->axes != 2)) return false;
  const bool four = m.take("v4");
  if (!four && !m.take("v2")) return false;
  plan->result = m.type();
  if ((plan->result == Type::F16x2) == four) return false;
  plan->integers = m.take("s32");
  if (plan->integers) {
    if (plan->geometry->kind != TextureKind::D1 || *more != 0) return false;
    plan->geometry = &kLinear;
  }
  return (plan->integers || m.take("f32")) && m.done();
}

}  // namespace

Handler resolve_fetch(Decoding& d) {
  FetchPlan plan;
  unsigned more = 0;
  if (!read_fetch(d, &plan, &more) || d.operands.size() < 2 + more || d.operands.size() > 3 + more) return nullptr;
  plan.access = Access::Load;
  plan.read_only = plan.texture = true;
  if (!bind_results(d, &plan) || !bind_texture(d, 1, &plan)) return nullptr;
  for (unsigned k = 2; k < 2 + more; ++k) {
    if (!bind_level(d, k)) return nullptr;
  }
  if (d.operands.size() > 2 + more && !bind_offsets(d, 2 + more, &plan)) return nullptr;
  d.out->plan = d.keep(plan);
  d.out->sanitized = fetch<true>;
  return fetch<false>;
}

}  // namespace pyptx::emulator
