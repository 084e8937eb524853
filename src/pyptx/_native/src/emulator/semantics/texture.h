// Textures and surfaces: what a handle says (PTX ISA, "Texture, Sampler and Surface Types", in unified mode).
//
// A driver's texture object is its secret, so the emulator has one of its own: a record of 72 bytes among the
// parameters. A handle is kTextureWindow plus the record's offset there. pyptx/_kernel/textures.py writes both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "access.h"
#include "spelling.h"

namespace pyptx::emulator {

constexpr uint64_t kTextureWindow = 0x5000000000000000ull;

// As CUDA has them: linear memory, arrays, arrays of layers, and cubemaps.
enum class TextureKind : uint8_t { Linear, D1, D2, D3, Layered1d, Layered2d, Cubemap, LayeredCubemap, kCount };
enum class Texel : uint8_t { U8, S8, U16, S16, U32, S32, F16, F32, kCount };
// cudaTextureAddressMode.
enum class AddressMode : uint8_t { Wrap, Clamp, Mirror, Border, kCount };

struct Texture {
  char magic[8];
  TextureKind kind;
  uint8_t channels;
  Texel texel;
  uint8_t linear;            // filters; otherwise the nearest texel
  uint8_t normalized;        // coordinates of the whole are 0 to 1
  uint8_t normalized_float;  // integers are read as 0 to 1, or -1 to 1
  uint8_t surface;
  AddressMode address_mode[3];
  uint8_t reserved[6];
  float border[4];
  uint64_t address;
  int64_t size[3];  // width, height, and depth, layers or faces; 1 where the kind has none

  unsigned element_bytes() const {
    constexpr uint8_t kBytes[] = {1, 1, 2, 2, 4, 4, 2, 4};
    return kBytes[static_cast<unsigned>(texel)];
  }
  unsigned bytes() const { return element_bytes() * channels; }
  bool is_float() const { return texel >= Texel::F16 || normalized_float != 0; }
  bool layered() const { return kind >= TextureKind::Layered1d; }
  int64_t row_bytes() const { return size[0] * bytes(); }
  uint64_t place(int64_t x, int64_t y, int64_t z) const {
    return address + static_cast<uint64_t>(((z * size[1] + y) * size[0] + x) * bytes());
  }
};
static_assert(sizeof(Texture) == 72, "pyptx/_kernel/textures.py writes 72 bytes");

// What an instruction says of a texture or surface: .1d, .a2d and so on. `coordinates` with a layer and with padding.
struct Geometry {
  std::string_view name;
  TextureKind kind;
  uint8_t coordinates, axes;
};
const Geometry* geometry_of(std::string_view name);
std::string_view name_of(TextureKind kind);

void wrong_texture(Warp& w, const Instruction& in, unsigned lane, const std::string& note);

// What instructions on textures and surfaces share.
struct TexturePlan : AccessPlan {
  const Geometry* geometry = nullptr;
  uint8_t results = 0, coordinates = 0;  // slots of the first
};

// Binds [handle, {coordinates}]: 32 bits each. A sampler in front of them is not unified mode, so false.
bool bind_texture(Decoding& d, unsigned operand, TexturePlan* plan);

// The texture, or surface, of the first lane of `mask`, and which of them have its handle; false, and a finding, if it is
// none.
bool find_first(Warp& w, const Instruction& in, const TexturePlan& plan, uint32_t mask, bool surface, Texture* texture,
                uint32_t* lanes);

// Runs f(texture, lanes) for every handle that lanes have, in the order of their first ones, until one is none or f says
// so by false.
template <class F>
void each_texture(Warp& w, const Instruction& in, const TexturePlan& plan, uint32_t mask, bool surface, F f) {
  Texture texture;
  uint32_t lanes = 0;
  for (uint32_t rest = mask; rest != 0; rest &= ~lanes) {
    if (!find_first(w, in, plan, rest, surface, &texture, &lanes) || !f(texture, lanes)) return;
  }
}

Handler resolve_fetch(Decoding& d);    // tex, tld4: texture_fetch.cpp
Handler resolve_surface(Decoding& d);  // suld, sust, sured: surface.cpp

}  // namespace pyptx::emulator
