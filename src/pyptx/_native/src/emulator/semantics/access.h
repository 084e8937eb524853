// From a memory instruction's address operand to host memory: addresses per lane, bounds, alignment, shadow,
// statistics. Shared by loads, stores and atomics.
#pragma once

#include "machine/warp.h"

namespace pyptx::emulator {

// What a memory instruction does, decoded; Instruction::plan of ld, st, atom, red and friends.
struct AccessPlan {
  Space space = Space::Generic;
  Access access = Access::Load;
  Order order;
  uint8_t element = 4;   // bytes
  uint8_t vector = 1;    // elements
  uint8_t bytes = 4;     // element * vector: the alignment, too
  bool constant_address = false;  // a variable's or parameter's: the same in all lanes
  bool wide_address = true;  // the address register has 64 bits
  bool discards = false;     // a store that leaves no value
  bool read_only = false;    // ld.global.nc, tex, suld
  bool texture = false;      // tex, suld
  uint8_t address = 0;   // slot of the address operand
  uint8_t data = 0;      // slot of the first data operand
  // Stores: whether two lanes store the same value.
  bool (*same_value)(Warp&, const Instruction&, unsigned, unsigned) = nullptr;
};

// The space, type, vector length and memory-model modifiers of a spelling. `used[i]` tells whether modifier i
// was understood; the caller rejects what neither it nor this knows.
bool read_access(Decoding& d, AccessPlan* plan);
// Binds operand k, an address; the byte offset goes to Instruction::immediate.
bool bind_address(Decoding& d, unsigned k, AccessPlan* plan);
bool bind_address_view(Decoding& d, const OperandView* v, AccessPlan* plan);
// An operand that holds a cache policy.
bool bind_policy(Decoding& d, unsigned k);
void note_access(Decoding& d, const AccessPlan& plan);

// An address per lane.
struct alignas(64) Addresses {
  uint64_t at[kLanes];
};

inline void read_addresses(Warp& w, const Instruction& in, const AccessPlan& plan, Addresses& out) {
  const auto offset = static_cast<uint64_t>(in.immediate);
  if (plan.wide_address) {
    const uint64_t* a = source<uint64_t>(w, in, plan.address);
    PYPTX_EACH_LANE(l) out.at[l] = a[l] + offset;
  } else {
    const uint32_t* a = source<uint32_t>(w, in, plan.address);
    PYPTX_EACH_LANE(l) out.at[l] = static_cast<uint32_t>(a[l] + static_cast<uint32_t>(offset));
  }
}

// Where lanes' bytes are on the host.
struct alignas(64) Places {
  uint8_t* at[kLanes];
};

// Checks the accesses of the lanes of `mask` whose addresses are in `space` (not Generic), reports what is
// wrong, and finds the host memory of the rest, whose mask it returns.
template <bool kSanitized>
uint32_t locate(Warp& w, const Instruction& in, const AccessPlan& plan, Space space, const Addresses& addresses,
                uint32_t mask, Places& places);

// The same for generic addresses: lanes may be in different spaces.
template <bool kSanitized>
uint32_t locate_any(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& addresses,
                    uint32_t mask, Places& places);

// One place that all 32 lanes load from: its host memory, or nullptr if the general way must look at it.
template <bool kSanitized>
const uint8_t* locate_uniform(Warp& w, const Instruction& in, const AccessPlan& plan, uint64_t address);

// 32 lanes that touch consecutive ranges of global memory from `address` on: their host memory, or nullptr if
// the general way must look at them.
template <bool kSanitized>
uint8_t* locate_global_range(Warp& w, const Instruction& in, const AccessPlan& plan, uint64_t address);

// The same for the CTA's own shared memory; `address` is in the shared space.
template <bool kSanitized>
uint8_t* locate_shared_range(Warp& w, const Instruction& in, const AccessPlan& plan, uint64_t address);

// 32 lanes that load from the CTA's own shared memory, the first of them at an address in its space: the host memory of
// lane 0's, or nullptr if the general way must look at them.
template <bool kSanitized>
const uint8_t* locate_shared_pattern(Warp& w, const Instruction& in, const AccessPlan& plan, uint64_t address,
                                     const LanePattern& pattern);

// The order that strong accesses of the lanes of `mask` carry; the lanes of one address act together.
void order_lanes(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask);

// One lane's `bytes` of shared memory at an address in `space` (Shared, SharedCluster, or Generic): the CTA that
// has them and their offset there. False, and a finding, if they are outside, misaligned, or of a CTA that has
// exited.
bool find_shared(Warp& w, const Instruction& in, Space space, uint64_t address, uint32_t bytes, uint32_t alignment,
                 unsigned lane, bool store, Cta** owner, uint32_t* offset);

// The buffer that holds one lane's `bytes` of global memory; nullptr, and a finding, if none does, if they are
// misaligned, or if a store may not go there.
Buffer* find_global(Warp& w, const Instruction& in, uint64_t address, uint32_t bytes, uint32_t alignment, unsigned lane,
                    bool store);

// Tells the launch's watches of an access of one lane.
inline void note_visit(Warp& w, const Instruction& in, uint64_t address, uint64_t bytes, unsigned lane, bool store) {
  if (w.worker->launch->grid_waits.wanted()) check_grid_wait(w, in, address, bytes, lane, store);
  w.worker->launch->watches.add(address, bytes, {w.cta->linear, 0, in.index, w.index, 1u << lane, store, 0});
}

// Counts, where that is asked for, the sectors of global memory that the lanes of `mask` touch with `bytes` each;
// `ideal` is what the same bytes take side by side.
void count_global(Warp& w, const Instruction& in, const Addresses& addresses, uint32_t mask, uint32_t bytes);

}  // namespace pyptx::emulator
