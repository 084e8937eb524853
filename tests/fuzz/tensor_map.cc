// The checks of a tensor map, 128 bytes that a kernel may have put together, and what follows from an accepted one.
#include "tensor_map.h"

#include <algorithm>
#include <cstring>

#include "target.h"

uint64_t accepted = 0;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pyptx::TensorMap map{};
  std::memcpy(&map, data, std::min(size, sizeof map));
  if (auto problem = pyptx::CheckMapDescription(map)) {
    PROMISE(!problem->empty());
    return 0;
  }
  // What copies compute of an accepted map, without checks of their own.
  PROMISE(map.rank >= 1 && map.rank <= pyptx::kMaxMapRank);
  PROMISE(map.element_bytes() >= 1 && map.element_bytes() <= 8);
  for (int axis = 0; axis < map.rank && !map.im2col(); ++axis) PROMISE(map.extent(axis) >= 1 && map.extent(axis) <= 256);
  PROMISE(map.row_bytes() >= 1 && map.row_bytes() <= 256 * 8);
  PROMISE(map.rows() >= 1);
  PROMISE(map.driver_swizzle() <= 6);
  accepted += !pyptx::CheckMapTensor(map);
  return 0;
}
