// Instruction descriptors of tcgen05.mma, and the kinds that give their fields a meaning (PTX ISA, "Instruction
// descriptor").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elements.h"

namespace pyptx::emulator {

constexpr unsigned kTensorKBytes = 32;  // of a row of A, or of a column of B; of a sparse product a column has twice

struct TensorType {
  uint32_t code;
  std::string_view name;
  unsigned packed;  // bits, where elements in shared memory are closer together than in a byte each
};

struct TensorKind {
  std::string_view name;
  std::vector<TensorType> types;
  std::vector<std::pair<uint32_t, Sum>> sums;  // none where D is always f32
  bool integers = false;
  bool in_bytes = false;  // smaller elements take a byte
  unsigned blocks = 0;    // factors of a row without .scale_vec, of kinds that have them
};

// nullptr for what is no kind that runs.
const TensorKind* tensor_kind(std::string_view name);

// What the spelling of a product says.
struct TensorForm {
  const TensorKind* kind = nullptr;
  unsigned ctas = 1;
  unsigned blocks = 0;      // factors of a row
  bool sparse = false;      // .sp
  bool stationary = false;  // .ws
};

struct TensorMultiplicand {
  const Multiplied* type = nullptr;
  unsigned packed = 0;
  unsigned bytes = kTensorKBytes;  // along K
  bool columns = false;  // MN-major
  double sign = 1;
  unsigned factor_byte = 0;  // scale factor ID: the first byte of its factors

  unsigned bits() const { return type->bits; }
  unsigned k() const { return bytes * 8 / bits(); }
};

// What an instruction descriptor says.
struct TensorShape {
  unsigned m = 0, n = 0, ctas = 1;
  // D in the lanes of a CTA ("Data path layout organization"): so many parts of its columns, one behind the other, each
  // of all rows; or, in half of each quarter of the lanes, one.
  unsigned parts = 1;
  bool halves = false;
  unsigned selector = 0;  // of the columns of a sparse A's metadata
  unsigned most_shift = 0;  // of the columns of B, of .ws
  Sum sum = Sum::F32;
  bool saturate = false;
  Factor factor = nullptr;
  int least_factor = -127;  // the exponent of the smallest normal factor
  TensorMultiplicand a, b;

  unsigned rows() const { return m / ctas; }  // of A and D in a CTA
  unsigned lines() const { return n / ctas; }  // of B in a CTA's shared memory
  unsigned columns() const { return n / parts; }  // of D in a lane
};

// Reads one; what is wrong with it, "" if nothing is.
std::string read_tensor_shape(const TensorForm& form, uint32_t bits, TensorShape* out);

}  // namespace pyptx::emulator
