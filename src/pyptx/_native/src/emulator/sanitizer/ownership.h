// Which cluster a cell of global memory belongs to while several host threads run.
//
// The sanitizer's shadow remembers the last accesses to a cell, so what it finds depends on their order. Where no two
// clusters touch a cell that one of them writes there is no order to depend on: each sees, and does, what it would
// alone. So before a cluster touches a cell it takes it, for itself or, to read, together with others. Whichever of two
// clusters comes second finds that the cell is not to be had, whatever their order, and the launch is run again on one
// thread (Conflict). Nobody touches a cell, or its shadow, that it has not been given.
//
// A warp mostly touches neighbours. Taking each of their cells would cost it an atomic operation for each lane, so a
// block of cells that are touched together is taken with one.
#pragma once

#include <cstdint>

namespace pyptx::emulator {

struct Buffer;
struct Warp;

// A launch of more clusters has no numbers for their owners.
constexpr uint64_t kMostOwners = uint64_t{1} << 30;
// Cells of a block. A warp's range begins anywhere, and of a larger block it would more often touch only a part.
constexpr uint64_t kOwnedBlock = 16;

enum class Owned : uint8_t {
  Alone,   // no other cluster has touched any of the cells
  Shared,  // others read all of them, too
  Mixed,
};

// Takes cells of a buffer for the warp's cluster. Throws Conflict.
Owned take_cells(const Warp& w, const Buffer& buffer, uint64_t first, uint64_t count, bool store);

}  // namespace pyptx::emulator
