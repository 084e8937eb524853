// Indices of elements that the program knows (`X[i, j]`): each is held to the size of its dimension.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine.h"

namespace pyptx::emulator {

// An index in a register; it and the `span` - 1 after it have to be below the extent.
struct Subscript {
  uint32_t offset;  // of the register in a warp's registers
  uint8_t width;    // in bits: 32 or 64
  bool is_signed;
  uint8_t axis;
  bool known;             // whether `extent` is a number, otherwise the register below holds it
  uint64_t extent;
  uint32_t extent_offset;
  uint8_t extent_width;
  uint32_t span;
  std::string of;  // what is indexed
};

// Those of one instruction, and what it does besides.
struct Subscripts {
  // Of 32 bits, with a number that it has to be below, at most 2 ** 31.
  struct Plain {
    uint32_t offset, limit;
  };
  static constexpr uint32_t kMostPlain = 2;

  Handler handler, sanitized;
  uint32_t plain_count = 0;  // beyond kMostPlain where not all of the list are here
  Plain plain[kMostPlain];
  bool store;
  std::vector<Subscript> list;

  void add(const Subscript& s);
};

// Run the instruction, then report the lanes whose indices are not below their extents: an address beyond all memory
// has stopped the launch by then, with a message of its own.
void run_subscripted(Warp& w, const Instruction& in, uint32_t mask);
void run_subscripted_sanitized(Warp& w, const Instruction& in, uint32_t mask);

}  // namespace pyptx::emulator
