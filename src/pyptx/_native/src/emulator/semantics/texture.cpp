// Handles of textures and surfaces, and what is asked about them: txq, suq, istypep.
#include "texture.h"

#include <cstring>

#include "matrix.h"

namespace pyptx::emulator {
namespace {

constexpr char kMagic[] = {'P', 'T', 'X', 'T', 'E', 'X', 0, 1};
constexpr int64_t kMostSize = 0x7fffffff;

constexpr Geometry kGeometries[] = {
    {"1d", TextureKind::D1, 1, 1},          {"2d", TextureKind::D2, 2, 2},
    {"3d", TextureKind::D3, 4, 3},          {"a1d", TextureKind::Layered1d, 2, 1},
    {"a2d", TextureKind::Layered2d, 4, 2},  {"cube", TextureKind::Cubemap, 4, 3},
    {"acube", TextureKind::LayeredCubemap, 4, 3},
};

constexpr std::string_view kKindNames[] = {"linear",     "1d",         "2d",      "3d",
                                           "1d_layered", "2d_layered", "cubemap", "cubemap_layered"};

bool is_valid(const Texture& t) {
  const bool known = t.kind < TextureKind::kCount && t.texel < Texel::kCount &&
                     (t.channels == 1 || t.channels == 2 || t.channels == 4);
  if (std::memcmp(t.magic, kMagic, sizeof kMagic) != 0 || !known) return false;
  int64_t bytes = t.bytes();
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (t.address_mode[axis] >= AddressMode::kCount || t.size[axis] < 1 || t.size[axis] > kMostSize) return false;
    if (__builtin_mul_overflow(bytes, t.size[axis], &bytes)) return false;
  }
  return true;
}

bool read_texture(const Launch& launch, uint64_t handle, Texture* texture) {
  const uint64_t offset = handle & ~kWindowMask, size = launch.config.param_bytes;
  const bool there = size >= sizeof *texture && offset <= size - sizeof *texture;
  if ((handle & kWindowMask) != kTextureWindow || !there) return false;
  std::memcpy(texture, static_cast<const uint8_t*>(launch.config.params) + offset, sizeof *texture);
  return is_valid(*texture);
}

// The texture, or surface, of a lane's handle; `geometry` is what the instruction reads, nullptr for any. False, and a
// finding, if it is none.
bool find_texture(Warp& w, const Instruction& in, unsigned lane, uint64_t handle, bool surface,
                  const Geometry* geometry, Texture* texture) {
  const std::string wanted = surface ? "surface" : "texture";
  if (!read_texture(*w.worker->launch, handle, texture)) {
    wrong_texture(w, in, lane, "its operand is no handle of a " + wanted + " of this launch: " +
                                   (surface ? "Surface(...)" : "Texture(...)") + " in params= of from_ptx gives one");
    return false;
  }
  if ((texture->surface != 0) != surface) {
    wrong_texture(w, in, lane, "the handle is of a " + std::string(surface ? "texture" : "surface") +
                                   ", and the instruction takes a " + wanted);
    return false;
  }
  if (geometry == nullptr || geometry->kind == texture->kind) return true;
  wrong_texture(w, in, lane, "the " + wanted + " has kind \"" + std::string(name_of(texture->kind)) +
                                 "\", and the instruction takes kind \"" + std::string(name_of(geometry->kind)) + "\"");
  return false;
}

// ---- Questions -------------------------------------------------------------------------------------------

enum class Query : uint8_t { Width, Height, Depth, DataType, Order, Normalized, ArraySize };
struct QueryRow {
  std::string_view name;
  Query query;
  bool surfaces;
};
constexpr QueryRow kQueries[] = {
    {"width", Query::Width, true},
    {"height", Query::Height, true},
    {"depth", Query::Depth, true},
    {"channel_data_type", Query::DataType, true},
    {"channel_order", Query::Order, true},
    {"normalized_coords", Query::Normalized, false},
    {"array_size", Query::ArraySize, true},
};

struct QueryPlan : TexturePlan {
  Query query = Query::Width;
  bool surface = false;
};

// PTX ISA, "Channel Data Type and Channel Order Fields": OpenCL's numbers.
uint32_t data_type_of(const Texture& t) {
  constexpr uint32_t kElements[] = {0x10da, 0x10d7, 0x10db, 0x10d8, 0x10dc, 0x10d9, 0x10dd, 0x10de};
  constexpr uint32_t kNormalized[] = {0x10d2, 0x10d0, 0x10d3, 0x10d1};
  const auto texel = static_cast<unsigned>(t.texel);
  return t.normalized_float != 0 && t.texel <= Texel::S16 ? kNormalized[texel] : kElements[texel];
}

uint32_t answer(const Texture& t, Query query) {
  const auto size = [&](unsigned axis) { return static_cast<uint32_t>(t.size[axis]); };
  switch (query) {
    case Query::Width: return size(0);
    case Query::Height: return size(1);
    case Query::Depth: return t.kind == TextureKind::D3 ? size(2) : 1;
    case Query::DataType: return data_type_of(t);
    case Query::Order: return t.channels == 1 ? 0x10b0 : t.channels == 2 ? 0x10b2 : 0x10b5;  // R, RG, RGBA
    case Query::Normalized: return t.normalized;
    case Query::ArraySize: return !t.layered() ? 1 : t.kind >= TextureKind::Cubemap ? size(2) / 6 : size(2);
  }
  return 0;
}

void ask(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& plan = *static_cast<const QueryPlan*>(in.plan);
  const uint64_t* handles = source<uint64_t>(w, in, plan.address);
  auto* to = destination<uint32_t>(w, in, plan.results);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    Texture texture;
    if (!find_texture(w, in, lane, handles[lane], plan.surface, nullptr, &texture)) return;
    to[lane] = answer(texture, plan.query);
  }
}

Handler resolve_query(Decoding& d) {
  QueryPlan plan;
  plan.surface = d.opcode == "suq";
  if (d.modifiers.size() != 2 || d.modifiers[1] != "b32" || d.operands.size() != 2) return nullptr;
  for (const QueryRow& row : kQueries) {
    if (row.name != d.modifiers[0] || (plan.surface && !row.surfaces)) continue;
    plan.query = row.query;
    plan.results = static_cast<uint8_t>(d.bound());
    if (!d.destination(0, 32) || !bind_address(d, 1, &plan) || !plan.wide_address) return nullptr;
    d.out->plan = d.keep(plan);
    return ask;
  }
  return nullptr;
}

void ask_type(Warp& w, const Instruction& in, uint32_t mask) {
  const uint64_t* handles = source<uint64_t>(w, in, 1);
  uint32_t yes = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    Texture texture;
    const bool known = read_texture(*w.worker->launch, handles[l], &texture);
    if (known && (texture.surface != 0) == (in.detail != 0)) yes |= 1u << l;
  }
  set_predicate(w, in, 0, mask, yes);
}

Handler resolve_type(Decoding& d) {
  if (d.modifiers.size() != 1 || d.operands.size() != 2) return nullptr;
  const bool surface = d.modifiers[0] == "surfref";
  if (!surface && d.modifiers[0] != "texref") return nullptr;
  if (!d.destination(0, 1) || !d.source(1, 64)) return nullptr;
  d.out->detail = surface;
  return ask_type;
}

}  // namespace

const Geometry* geometry_of(std::string_view name) {
  for (const Geometry& each : kGeometries) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::string_view name_of(TextureKind kind) { return kKindNames[static_cast<unsigned>(kind)]; }

void wrong_texture(Warp& w, const Instruction& in, unsigned lane, const std::string& note) {
  report(w, Kind::BadTexture, site_of(w, in, lane), note);
}

bool bind_texture(Decoding& d, unsigned operand, TexturePlan* plan) {
  const OperandView* coordinates = d.element(operand, 1);
  if (d.elements(operand) != 2 || !bind_address_view(d, d.element(operand, 0), plan)) return false;
  if (!plan->wide_address) return false;
  plan->coordinates = static_cast<uint8_t>(d.bound());
  if (coordinates->kind != OperandView::Kind::Vector) {
    return plan->geometry->coordinates == 1 && d.bind_source(coordinates, 32, 32);
  }
  if (coordinates->elements.size() != plan->geometry->coordinates) return false;
  for (const OperandView& v : coordinates->elements) {
    if (!d.bind_source(&v, 32, 32)) return false;
  }
  return true;
}

bool find_first(Warp& w, const Instruction& in, const TexturePlan& plan, uint32_t mask, bool surface, Texture* texture,
                uint32_t* lanes) {
  const uint64_t* handles = held<uint64_t>(w, in, plan.address);
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  const uint64_t handle = handles[first];
  *lanes = mask & lane_mask([&](unsigned l) { return handles[l] == handle; });
  return find_texture(w, in, first, handle, surface, plan.geometry, texture);
}

bool reads_texels(std::string_view opcode) {
  return opcode == "tex" || opcode == "tld4" || opcode == "suld" || opcode == "sust" || opcode == "sured";
}

Handler resolve_texture(Decoding& d) {
  if (reads_texels(d.opcode)) return d.opcode[0] == 't' ? resolve_fetch(d) : resolve_surface(d);
  if (d.opcode == "txq" || d.opcode == "suq") return resolve_query(d);
  return d.opcode == "istypep" ? resolve_type(d) : nullptr;
}

}  // namespace pyptx::emulator
