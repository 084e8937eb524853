// Tensor maps as the emulator reads them, and the rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (CUDA
// Driver API, "Tensor Map Object Management"). Axes count from the one whose elements lie next to each other, as the driver's do. The
// driver's own 128 bytes are its secret; these have the same contents. pyptx/_emulator/tensor_map.py writes them
// too.
#ifndef PYPTX_TENSOR_MAP_H_
#define PYPTX_TENSOR_MAP_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

namespace pyptx {

constexpr int kMaxMapRank = 5;
constexpr int kMaxSpatial = 3;  // axes of an image: W, H, D
constexpr size_t kMapBytes = 128;
constexpr size_t kMapAlign = 128;      // of parameters, as CUDA 13 aligns them
constexpr size_t kLeastMapAlign = 64;  // that instructions need
constexpr char kMapMagic[] = {'P', 'T', 'X', 'T', 'M', 'A', 'P', 1};

// CUtensorMapDataType.
enum class MapType : uint8_t { kU8, kU16, kU32, kS32, kU64, kS64, kF16, kF32, kF64, kBF16, kCount };
constexpr uint8_t kMapTypeBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};

enum class MapMode : uint8_t { kTile, kIm2col };

// By the number of spatial axes, where a bounding box of .im2col has its corners, and the most that is added there.
constexpr int kMostCorner[] = {0, 32767, 127, 15};
constexpr uint32_t kMostOffset[] = {0, 65535, 255, 31};

struct alignas(kMapAlign) TensorMap {
  char magic[8];
  uint8_t type;         // MapType
  uint8_t rank;
  uint8_t interleave;   // 0 none, 1 slices of 16 bytes, 2 of 32 bytes
  uint8_t swizzle;      // 0 none, 1 spans of 32 bytes, 2 of 64, 3 of 128
  uint8_t l2_promotion; // 0 none, 1 to 64 bytes, 2 to 128, 3 to 256
  uint8_t oob_fill;     // 0 zeros, 1 NaN
  MapMode mode;
  uint8_t atomicity;    // of 128-byte spans: what is moved as a whole; 0 16 bytes, 1 32, 2 32 with halves flipped, 3 64
  uint64_t address;
  uint64_t sizes[kMaxMapRank];
  uint64_t strides[kMaxMapRank - 1];  // bytes, of the axes from the second on
  uint16_t box[kMaxMapRank];  // of .im2col: channels per pixel, pixels per column
  uint8_t element_strides[kMaxMapRank];
  uint8_t padding;
  int16_t lower[kMaxSpatial], upper[kMaxSpatial];  // corners of .im2col, W first
  uint8_t reserved[4];

  // Of a map whose type is known to be one.
  uint32_t element_bytes() const { return kMapTypeBytes[type]; }
  // Elements of a copy along an axis.
  uint32_t extent(int axis) const { return (box[axis] + element_strides[axis] - 1u) / element_strides[axis]; }
  bool im2col() const { return mode == MapMode::kIm2col; }
  int spatial() const { return rank - 2; }
  // Bytes of a row of a copy, and rows.
  uint32_t row_bytes() const { return (im2col() ? box[0] : extent(0)) * element_bytes(); }
  uint32_t rows() const {
    if (im2col()) return box[1];
    uint32_t count = 1;
    for (int axis = 1; axis < rank; ++axis) count *= extent(axis);
    return count;
  }
  // CUtensorMapSwizzle.
  int driver_swizzle() const { return swizzle + atomicity; }
};
static_assert(sizeof(TensorMap) == kMapBytes && offsetof(TensorMap, box) == 96);

// What is wrong with the tensor of a map: its sizes, its strides or its address. An axis is counted as in arrays,
// the last one first.
inline std::optional<std::string> CheckMapTensor(const TensorMap& map) {
  const auto name = [&](int axis) { return "axis " + std::to_string(map.rank - 1 - axis); };
  const uint64_t unit = map.interleave == 2 ? 32 : 16;
  for (int axis = map.rank - 1; axis >= 0; --axis) {
    if (map.sizes[axis] < 1 || map.sizes[axis] > uint64_t{1} << 32) {
      return name(axis) + " has size " + std::to_string(static_cast<int64_t>(map.sizes[axis])) + "; the range is 1 to 2**32";
    }
  }
  for (int axis = map.rank - 1; axis >= 1; --axis) {
    const uint64_t stride = map.strides[axis - 1];
    if (stride % unit != 0 || stride >= uint64_t{1} << 40) {
      return "the stride of " + name(axis) + " is " + std::to_string(static_cast<int64_t>(stride)) + " bytes; it must be a multiple of " +
             std::to_string(unit) + " below 2**40";
    }
  }
  // Whether any position of the filter is inside of the bounding box.
  for (int axis = map.im2col() ? map.spatial() - 1 : -1; axis >= 0; --axis) {
    const int64_t first = map.lower[axis], last = static_cast<int64_t>(map.sizes[axis + 1]) - 1 + map.upper[axis];
    if (first <= last) continue;
    return "the bounding box is empty along " + name(axis + 1) + ": it goes from " + std::to_string(first) + " to " +
           std::to_string(last);
  }
  if (map.address % unit != 0) {
    char text[32];
    std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(map.address));
    return "the address " + std::string(text) + " of the tensor is no multiple of " + std::to_string(unit);
  }
  return {};
}

inline std::optional<std::string> CheckBox(const TensorMap& map) {
  for (int axis = 0; axis < map.rank; ++axis) {
    if (map.box[axis] < 1 || map.box[axis] > 256) {
      return "its box has " + std::to_string(map.box[axis]) + " elements along an axis; the range is 1 to 256";
    }
  }
  return {};
}

inline std::optional<std::string> CheckCorners(const TensorMap& map) {
  if (map.rank < 3) return "its rank is " + std::to_string(map.rank) + "; .im2col has rank 3 to 5";
  const int most = kMostCorner[map.spatial()];
  for (int axis = 0; axis < map.spatial(); ++axis) {
    for (const int corner : {map.lower[axis], map.upper[axis]}) {
      if (corner < -most - 1 || corner > most) return "a corner of its bounding box is " + std::to_string(corner) + ", too far away";
    }
  }
  if (map.box[0] < 1 || map.box[0] > 256) return "it has " + std::to_string(map.box[0]) + " channels per pixel; the range is 1 to 256";
  if (map.box[1] < 1 || map.box[1] > 1024) return "it has " + std::to_string(map.box[1]) + " pixels per column; the range is 1 to 1024";
  return {};
}

// What is wrong with a map's description, which changes of single fields can break.
inline std::optional<std::string> CheckMapDescription(const TensorMap& map) {
  const auto number = [](uint64_t value) { return std::to_string(value); };
  if (std::memcmp(map.magic, kMapMagic, sizeof kMapMagic) != 0) return "there is no tensor map here";
  if (map.type >= static_cast<uint8_t>(MapType::kCount)) return "its element type " + number(map.type) + " is none that has a model";
  if (map.rank < 1 || map.rank > kMaxMapRank) return "its rank is " + number(map.rank) + "; tensor maps have rank 1 to 5";
  if (map.mode > MapMode::kIm2col) return "its mode is none that has a model";
  if (auto problem = map.im2col() ? CheckCorners(map) : CheckBox(map)) return problem;
  for (int axis = 0; axis < map.rank; ++axis) {
    if (map.element_strides[axis] < 1 || map.element_strides[axis] > 8) {
      return "its element stride along an axis is " + number(map.element_strides[axis]) + "; the range is 1 to 8";
    }
  }
  if (map.interleave > 2 || map.swizzle > 3 || map.atomicity > 3 || map.oob_fill > 1) {
    return "its interleave, swizzle or fill is none that has a model";
  }
  if (map.atomicity != 0 && map.swizzle != 3) return "only swizzles in spans of 128 bytes move more than 16 bytes as a whole";
  const uint32_t row = map.row_bytes();
  if (map.interleave == 0 && map.element_strides[0] != 1) return "its element stride along the last axis must be 1";
  if (map.interleave == 0 && row % 16 != 0) return "its box has " + number(row) + " bytes along the last axis, no multiple of 16";
  // The manuals allow less as well, and do not say where rows stand then: on an H200 not one behind the other.
  if (map.interleave == 0 && map.swizzle != 0 && row != 16u << map.swizzle) {
    return "its box has " + number(row) + " bytes along the last axis, and the swizzle's span " + number(16u << map.swizzle);
  }
  return {};
}

}  // namespace pyptx

#endif  // PYPTX_TENSOR_MAP_H_
