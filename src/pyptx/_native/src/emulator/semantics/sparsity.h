// Where the elements stand of a matrix of which half is left out (PTX ISA, "Sparse matrix storage", and the figures of
// metadata of mma.sp and wgmma.mma_async.sp).
//
// A row is made of chunks of four units, of which two are stored, and metadata have two bits for each stored unit: its
// place in the chunk. A unit is an element of 16 or 8 bits, half an element of 32, two of 4. The lanes of a quad, those
// of rows i and i + 8, hold the metadata of both: of units of 16 bits a lane has 4 chunks of each row, row i in its low
// half; of units of 8 bits it has 8 chunks, and lanes take turns with the rows.
#pragma once

#include <cstdint>
#include <string>

namespace pyptx::emulator {

constexpr unsigned kMostK = 128;  // along which elements of 4 bits and more are multiplied

struct Sparsity {
  unsigned bits = 0;    // of an element, 0 where nothing is left out
  unsigned stored = 0;  // elements of a row
  unsigned first = 0;   // lane of a quad that has the first chunks
  bool ordered = false;

  unsigned units() const { return stored * bits / unit(); }
  unsigned unit() const { return bits >= 16 ? 16 : 8; }
  // Lanes of a quad whose metadata count.
  unsigned lanes() const { return units() / 8; }
};

// The places along k of a row's stored elements, of a warp's 16 rows, from the metadata of its lanes; false, and a
// note, where these have values that the manual gives no meaning.
bool find_places(const Sparsity& s, const uint32_t* metadata, unsigned row, uint8_t places[kMostK], std::string* note);

// Reads the selector: which lanes of a quad count.
bool select_lanes(Sparsity* s, uint64_t selector);

}  // namespace pyptx::emulator
