// The inner loops of tensor_sum.h, for the vector instructions that the host has.
//
// tensor_tile_loops.h has them once, and sources include it with vectors of different sizes: tensor_tile.cpp with those
// that its build may use anywhere, tensor_tile_avx512.cpp with AVX-512. All give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pyptx::emulator {

constexpr int32_t kNothing = -4096;  // the exponent of a zero, which is never the largest
constexpr int32_t kLeast = -126;     // the largest exponent of a block is at least that of the smallest normal f32
constexpr unsigned kMostSteps = 128;

// Products that are added at once, of one row with columns of B.
struct TileBlock {
  unsigned length = 0;
  const uint32_t* at = nullptr;        // where in B's arrays are the columns of each step
  const uint32_t* mine_at = nullptr;   // and in A's what the row has
  const float* mine = nullptr;         // A's values or, of wide numbers, significands, from the row's first on
  const int16_t* exponents = nullptr;  // and their exponents
  const float* others = nullptr;       // the same of B
  const int16_t* powers = nullptr;
  int32_t fraction = 0;  // of Addition
  unsigned dropped = 0;
  bool half = false;  // sums are f16
  bool wide = false;  // products, or what they are scaled by, may leave f32
};

// Products that are added at once, of 16 rows with 8 columns, as registers of mma.sync have the sums: register 2p + h has
// rows 8p to 8p + 7, a row in four neighbouring lanes, and in them the columns at places 4h to 4h + 3.
struct FragmentBlock {
  static constexpr unsigned kRegister = 32, kRowValues = 64;

  unsigned length = 0;
  const uint32_t *row_at = nullptr, *column_at = nullptr;  // where in the arrays each step is
  const float* rows = nullptr;          // of each step every row's value, four times
  const int16_t* row_powers = nullptr;  // and its exponent
  const float* columns = nullptr;       // of each step the columns' values, in the order of places
  const int16_t* column_powers = nullptr;  // and their exponents
  int32_t fraction = 0;
  unsigned dropped = 0;
};

// What the exponents of numbers are between, and whether there are infinities or NaNs.
struct Extent {
  int32_t low = 0, high = 0;
  bool special = false;
};

struct TensorTile {
  // Adds the block to the sums of columns, a multiple of 8 from `first` on. A sum that is an infinity or a NaN stays; what
  // others become that have one added has no meaning.
  void (*add)(const TileBlock& block, unsigned first, unsigned columns, float* sums);
  // The same in f32 of the sums of four registers, where they are.
  void (*add_fragment)(const FragmentBlock& block, float* const* sums);
  // Flips the signs of values by `sign`, and finds their exponents, which are at least `least`.
  Extent (*examine)(uint32_t sign, int32_t least, size_t count, float* values, int16_t* exponents);
};

// What this host runs.
const TensorTile& tensor_tile();
// nullptr where the build or the host has no AVX-512.
const TensorTile* tensor_tile_avx512();

}  // namespace pyptx::emulator
