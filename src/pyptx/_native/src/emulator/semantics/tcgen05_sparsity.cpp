// Which elements of a sparse A are stored, of tcgen05.mma.sp (PTX ISA, "Sparse Matrices" of tcgen05).
//
// A row is made of chunks of four units, of which two are stored; metadata have two bits for each, its place in the
// chunk. A unit is half an element of tf32, one of 16 or 8 bits, two of 4. The manual shows in figures where metadata
// lie: those of units of up to 8 bits in the lane of their row, one behind the other in two columns. Of units of 16
// bits they fill one column: 8 units of rows i and i + 8 are in the halves of a cell, in lane i of the 16 that these
// rows are in, the next 8 units in lane i + 8; a selector of 1 is the column behind.
#include <string>

#include "tcgen05_product.h"

namespace pyptx::emulator {
namespace {

constexpr unsigned kRowPair = 8;

unsigned index_of(const TensorProduct& p, TensorMemory& memory, unsigned lane, unsigned unit) {
  const uint32_t column = p.metadata.column + p.what.selector;
  if (p.what.a.bits() < 16) return memory.at(lane, column + unit / 16) >> 2 * (unit % 16) & 3u;
  const unsigned row = lane % kHalfLanes;
  const uint32_t cell = memory.at(lane - row + unit / kRowPair * kRowPair + row % kRowPair, column);
  return cell >> (16 * (row / kRowPair) + 2 * (unit % kRowPair)) & 3u;
}

// 0b0110 is the one pair of places in falling order that the manual lists.
bool has_meaning(unsigned bits, unsigned low, unsigned high) {
  if (bits == 32) return high == low + 1 && low % 2 == 0;
  return low < high || (low == 2 && high == 1);
}

void report_metadata(const TensorProduct& p, unsigned lane, unsigned chunk, unsigned low, unsigned high) {
  std::string text = "0b";
  for (const unsigned bit : {high >> 1, high & 1u, low >> 1, low & 1u}) text += bit != 0 ? '1' : '0';
  wrong_matrix(*p.warp, *p.at, p.lane,
               "the metadata of chunk " + std::to_string(chunk) + " of the row in lane " + std::to_string(lane) +
                   " are " + text +
                   (p.what.a.bits() == 32 ? "; of tf32 0b0100 and 0b1110 have a meaning"
                                          : "; they name a lower place first, then a higher one, or are 0b0110"));
}

}  // namespace

bool find_tensor_places(const TensorProduct& p, Cta& cta, unsigned lane, std::vector<uint8_t>* places) {
  TensorMemory& memory = tensor_memory(cta);
  const unsigned bits = p.what.a.bits(), unit_bits = bits >= 16 ? 16 : 8;
  const unsigned stored = p.what.a.k(), units = stored * bits / unit_bits;
  std::vector<unsigned> at(units);  // places of units
  for (unsigned unit = 0; unit < units; unit += 2) {
    const unsigned low = index_of(p, memory, lane, unit), high = index_of(p, memory, lane, unit + 1);
    if (!has_meaning(bits, low, high)) {
      report_metadata(p, lane, unit / 2, low, high);
      return false;
    }
    at[unit] = 2 * unit + low;
    at[unit + 1] = 2 * unit + high;
  }
  places->resize(stored);
  for (unsigned e = 0; e < stored; ++e) {
    const unsigned first_bit = e * bits;
    (*places)[e] = static_cast<uint8_t>((at[first_bit / unit_bits] * unit_bits + first_bit % unit_bits) / bits);
  }
  return true;
}

}  // namespace pyptx::emulator
