// What asynchronous copies have in common: where they come from and go to, and the mbarriers that they complete on.
#pragma once

#include <string>
#include <vector>

#include "access.h"

namespace pyptx::emulator {

// An address operand with its own space.
struct Pointer {
  Space space = Space::Generic;
  uint8_t slot = 0;
  bool wide = true;
  int64_t offset = 0;
};

struct CopyPlan : AccessPlan {
  Pointer to, from, barrier;
  Grouping grouping = Grouping::None;
  bool multicast = false;
  uint8_t size = 0;       // slot of the bytes to copy
  uint8_t limit = 0;      // slot of cp.async's source size, or of its predicate
  bool limited = false, skips = false;
  uint8_t ctas = 0;       // slot of the mask of CTAs
  Update update = nullptr;
  uint8_t unit = 0;       // bytes of an element of a reduction
  bool generic_proxy = false;
};

// Bytes of a CTA's shared memory.
struct SharedPlace {
  Cta* owner = nullptr;
  uint32_t offset = 0;
  uint8_t* bytes() const { return owner->shared + offset; }
};

uint64_t address_of(Warp& w, const Instruction& in, const Pointer& p, unsigned lane);
void wrong_copy(Warp& w, const Instruction& in, unsigned lane, const std::string& note);
bool find_one(Warp& w, const Instruction& in, const Pointer& p, unsigned lane, uint32_t bytes, uint32_t alignment,
              bool store, SharedPlace* out);
OperationPointer new_operation(Warp& w, const Instruction& in, uint32_t mask, Grouping grouping);
// That there is an mbarrier, which whoever completes on it may use.
bool check_barrier(Warp& w, const Instruction& in, unsigned lane, const SharedPlace& at, bool sanitized);
// The CTAs that a copy of `size` bytes writes to, and where in their shared memory.
bool find_destinations(Warp& w, const Instruction& in, unsigned lane, uint32_t size, uint32_t alignment,
                       std::vector<SharedPlace>* out);
void count_bulk(Warp& w, const Instruction& in, unsigned lane, uint64_t address, uint32_t size);

// Binds an address operand, of an instruction or of a part of one.
bool bind_pointer_view(Decoding& d, const OperandView* v, Space space, Pointer* p);

constexpr std::string_view kMechanism = "mbarrier::complete_tx::bytes";

// fence.proxy.tensormap::generic (tma_map.cpp).
Handler resolve_map_fence(Decoding& d);

// cp.async.bulk.tensor and what else takes a tensor map (tma_copy.cpp); `modifiers` begin behind "bulk".
Handler resolve_tensor_copy(Decoding& d, std::vector<std::string_view> modifiers, bool reduces);

}  // namespace pyptx::emulator
