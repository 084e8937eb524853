// Tensor Memory of a CTA, and what tensor cores of the fifth generation do in it (PTX ISA, "Tensor Memory").
//
// 128 lanes of 512 columns of 32 bits. An address has the lane in its high half and the column in its low half. A warp
// reaches the 32 lanes of its number in its warpgroup by loads and stores, which end by tcgen05.wait; multiplications
// and copies are operations (async.h) that end in the order in which they were issued, and tcgen05.commit is one that
// arrives at an mbarrier behind them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sanitize_tensor.h"
#include "warp.h"

namespace pyptx::emulator {

constexpr uint32_t kTensorLanes = 128, kTensorColumns = 512, kQuarterLanes = 32;

// What an operation does when it is performed.
struct TensorWork {
  virtual ~TensorWork() = default;
  virtual void perform() = 0;
};

struct TensorAddress {
  uint32_t lane, column;
};
constexpr TensorAddress tensor_address(uint32_t bits) { return {bits >> 16, bits & 0xffffu}; }

struct TensorAllocation {
  uint32_t columns;
  Site site;
};

struct TensorMemory {
  std::vector<uint32_t> cells;    // lane by lane
  std::vector<uint8_t> written;   // of each cell
  std::map<uint32_t, TensorAllocation> allocations;  // by the first column
  bool relinquished = false;      // tcgen05.relinquish_alloc_permit
  std::vector<TensorMoves> moves;  // of each warp
  TensorShadow shadow;

  explicit TensorMemory(size_t warps);
  uint32_t& at(uint32_t lane, uint32_t column) { return cells[lane * kTensorColumns + column]; }
  bool is_allocated(uint32_t column) const;
};

TensorMemory& tensor_memory(Cta& cta);

// bad-tensor-memory.
void wrong_tensor_memory(Warp& w, const Instruction& in, unsigned lane, const std::string& note);

// Whether these lanes and columns exist and are allocated; false, and a finding, if not.
bool check_tensor_place(Warp& w, const Instruction& in, unsigned lane, const TensorPlace& place);

// Allocations that are still there when the CTA exits.
void check_tensor_exit(Cta& cta);

}  // namespace pyptx::emulator
