#include "sparsity.h"

namespace pyptx::emulator {
namespace {

constexpr unsigned kQuad = 4, kHalfRows = 8;

// The place of a stored unit in its chunk.
unsigned index_of(const Sparsity& s, const uint32_t* metadata, unsigned row, unsigned unit) {
  const unsigned quad = row % kHalfRows * kQuad + s.first, half = row / kHalfRows;
  if (s.unit() == 16) return metadata[quad + unit / 8] >> (16 * half + 2 * (unit % 8)) & 3u;
  return metadata[quad + unit / 16 * 2 + half] >> 2 * (unit % 16) & 3u;
}

std::string binary(unsigned low, unsigned high) {
  std::string text = "0b";
  for (const unsigned bit : {high >> 1, high & 1u, low >> 1, low & 1u}) text += bit != 0 ? '1' : '0';
  return text;
}

bool has_meaning(const Sparsity& s, unsigned low, unsigned high) {
  if (s.bits == 32) return high == low + 1 && low % 2 == 0;
  return !s.ordered || low < high;
}

}  // namespace

bool find_places(const Sparsity& s, const uint32_t* metadata, unsigned row, uint8_t places[kMostK], std::string* note) {
  uint8_t at[kMostK];  // of units
  for (unsigned unit = 0; unit < s.units(); unit += 2) {
    const unsigned low = index_of(s, metadata, row, unit), high = index_of(s, metadata, row, unit + 1);
    if (!has_meaning(s, low, high)) {
      *note = "the metadata of chunk " + std::to_string(unit / 2) + " of row " + std::to_string(row) + " are " +
              binary(low, high) + (s.bits == 32 ? "; of tf32 0b0100 and 0b1110 have a meaning"
                                                : "; ordered ones name a lower place first, then a higher one");
      return false;
    }
    at[unit] = static_cast<uint8_t>(2 * unit + low);
    at[unit + 1] = static_cast<uint8_t>(2 * unit + high);
  }
  for (unsigned e = 0; e < s.stored; ++e) {
    const unsigned first_bit = e * s.bits, unit = first_bit / s.unit();
    places[e] = static_cast<uint8_t>((at[unit] * s.unit() + first_bit % s.unit()) / s.bits);
  }
  return true;
}

bool select_lanes(Sparsity* s, uint64_t selector) {
  s->first = static_cast<unsigned>(selector) * s->lanes();
  return selector < kQuad / s->lanes();
}

}  // namespace pyptx::emulator
