#include "tensor_tile.h"

#define PYPTX_TILE
namespace pyptx::emulator {
namespace {
#ifdef __AVX2__
constexpr unsigned kWide = 8;
#else
constexpr unsigned kWide = 4;
#endif
}  // namespace
}  // namespace pyptx::emulator

#include "tensor_tile_loops.h"

namespace pyptx::emulator {

const TensorTile& tensor_tile() {
  static constexpr TensorTile kPlain = {add, add_fragment, examine};
  static const TensorTile& chosen = tensor_tile_avx512() != nullptr ? *tensor_tile_avx512() : kPlain;
  return chosen;
}

}  // namespace pyptx::emulator
