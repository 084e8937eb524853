// One tcgen05.mma, from its issue until it is performed.
#pragma once

#include <vector>

#include "tcgen05.h"
#include "tcgen05_descriptor.h"

namespace pyptx::emulator {

constexpr unsigned kHalfLanes = 16;

// Columns of B that are taken for zeros, and by how many columns those that are read lie behind (PTX ISA, "Zero-Column
// Mask Descriptor").
struct ZeroColumns {
  uint64_t bits = 0;

  bool masks() const { return (bits >> 39 & 1u) != 0; }
  unsigned shift() const { return static_cast<unsigned>(bits >> 56 & 0x3fu); }
  unsigned zeros() const { return static_cast<unsigned>(bits >> 40 & 0xffu) + 1; }  // Skip Span
  unsigned used() const { return static_cast<unsigned>(bits >> 48 & 0xffu) + 1; }   // Use Span
  unsigned start(unsigned part) const { return static_cast<unsigned>(bits >> 8 * part & 0xffu); }
  bool zeros_first(unsigned part) const { return (bits >> (32 + part) & 1u) != 0; }
  // Whether a column of a part of D's columns is one of them.
  bool has(unsigned part, unsigned column) const;
};

struct TensorProduct : TensorWork {
  TensorGroup group;
  Warp* warp = nullptr;
  const Instruction* at = nullptr;
  unsigned lane = 0;  // that issued it
  unsigned sm = 100;  // the target
  TensorShape what;
  TensorAddress d{}, a{}, metadata{}, a_factors{}, b_factors{};
  unsigned blocks = 0;       // factors of a row
  bool a_in_memory = false;  // in Tensor Memory
  bool sparse = false;
  ZeroColumns zeros;
  ChunkPlaces a_places[2], b_places[2];  // in the shared memory of each CTA
  bool accumulates = false;
  int shift = 0;  // D is divided by 2 ** shift
  uint32_t disabled[8] = {};  // lanes that are not written, of each CTA

  // D of a CTA is in so many lanes: each has a row of a part of the columns.
  unsigned slots() const { return what.rows() * what.parts; }
  unsigned lane_of(unsigned slot) const {
    return what.halves ? d.lane + slot / kHalfLanes * kQuarterLanes + slot % kHalfLanes : slot;
  }
  void perform() override;
};

// Bits of metadata are two for each unit of a sparse A that is stored. Units of 16 bits of a row need one column,
// smaller ones two.
constexpr unsigned metadata_columns(unsigned bits) { return bits >= 16 ? 1 : 2; }

// The places along K of the elements that `lane` of a CTA has of a sparse A; false, and a finding, where metadata have
// values that the manual gives no meaning.
bool find_tensor_places(const TensorProduct& p, Cta& cta, unsigned lane, std::vector<uint8_t>* places);

}  // namespace pyptx::emulator
