// Tensor Memory of a CTA, and what tensor cores of the fifth generation do in it (PTX ISA, "Tensor Memory").
//
// 128 lanes of 512 columns of 32 bits. An address has the lane in its high half and the column in its low half. A warp
// reaches the 32 lanes of its number in its warpgroup by loads and stores, which end by tcgen05.wait; multiplications
// and copies are operations (async.h) that end in the order in which they were issued, and tcgen05.commit is one that
// arrives at an mbarrier behind them.
//
// Two CTAs of a cluster whose ranks differ in the lowest bit are a pair, and each the other's peer. Operations of
// cta_group::2 reach the memory of both, whichever of them issues one, and a warp of each allocates and frees.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sanitizer/tensor_memory_order.h"
#include "warp.h"

namespace pyptx::emulator {

constexpr uint32_t kTensorLanes = 128, kTensorColumns = 512, kQuarterLanes = 32;
// Wait::phase of a split that allocates, or frees, with the peer.
constexpr uint64_t kPairAllocates = 1, kPairFrees = 2;

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

// What a warp of a pair has come for, until one of the peer comes for the same.
struct TensorRequest {
  Warp* warp;
  const Instruction* at;
  uint32_t mask;
  bool frees;
  uint32_t columns;
  uint32_t address;  // what is freed, or the place in shared memory that the address goes to
};

// The CTAs of an operation, that of the even rank first.
struct TensorGroup {
  unsigned size = 1;
  Cta* ctas[2] = {nullptr, nullptr};
};

struct TensorMemory {
  std::vector<uint32_t> cells;    // lane by lane
  std::vector<uint8_t> written;   // of each cell
  std::map<uint32_t, TensorAllocation> allocations;  // by the first column
  bool relinquished = false;      // tcgen05.relinquish_alloc_permit
  unsigned group = 0;             // CTAs of its instructions' groups, once there was one
  std::deque<TensorRequest> allocating, freeing;
  std::vector<TensorMoves> moves;  // of each warp
  TensorShadow shadow;

  explicit TensorMemory(size_t warps);
  uint32_t& at(uint32_t lane, uint32_t column) { return cells[lane * kTensorColumns + column]; }
  bool is_allocated(uint32_t column) const;
};

TensorMemory& tensor_memory(Cta& cta);

// bad-tensor-memory.
void wrong_tensor_memory(Warp& w, const Instruction& in, unsigned lane, const std::string& note);

// Notes that an instruction's group has so many CTAs; false, and a finding, where there is no peer, or where the CTA's
// instructions before had other groups.
bool note_tensor_group(Warp& w, const Instruction& in, unsigned lane, unsigned size);
// The same, and the group of what the peer must be there for: false, and a finding, also where it has exited.
bool find_tensor_group(Warp& w, const Instruction& in, unsigned lane, unsigned size, TensorGroup* group);

// Whether these lanes and columns of a CTA exist and are allocated; false, and a finding, if not.
bool check_tensor_place(Warp& w, const Instruction& in, unsigned lane, Cta& owner, const TensorPlace& place);

// What a split waits for that allocates or frees.
std::string describe_tensor_wait(const Warp& w, const Split& split);

// Allocations that are still there when the CTA exits.
void check_tensor_exit(Cta& cta);

}  // namespace pyptx::emulator
