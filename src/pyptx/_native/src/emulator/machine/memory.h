// The address spaces of a launch, and which global memory it may touch.
//
// A global address is a host address. Generic addresses of the other spaces lie in windows at the top of the
// 64-bit range where no host address can be: an address in a window is the window's base plus the address in
// its space. A shared address has the CTA's rank in the cluster in bits 24 and up, as hardware has it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "program.h"
#include "pyptx_emulator.h"
#include "sanitizer/shadow_pool.h"
#include "sanitizer/touch.h"
#include "sanitizer/written.h"

namespace pyptx::emulator {

enum class Space : uint8_t { Global, Shared, SharedCluster, Local, Const, Param, Generic };

constexpr uint64_t kWindowMask = 0xff00000000000000ull;
constexpr uint64_t kSharedWindow = 0x1000000000000000ull;
constexpr uint64_t kLocalWindow = 0x2000000000000000ull;
constexpr uint64_t kConstWindow = 0x3000000000000000ull;
constexpr uint64_t kParamWindow = 0x4000000000000000ull;
constexpr unsigned kRankShift = 24;

// The space that a generic address lies in; the address in that space is `address & ~kWindowMask`.
inline Space space_of(uint64_t address) {
  switch (address & kWindowMask) {
    case kSharedWindow: return Space::SharedCluster;
    case kLocalWindow: return Space::Local;
    case kConstWindow: return Space::Const;
    case kParamWindow: return Space::Param;
    default: return Space::Global;
  }
}

// Bytes at the start of a CTA's shared window that belong to the system (sm_90 and later).
inline uint32_t reserved_shared(unsigned sm) { return sm >= 90 ? 1024 : 0; }

// Bytes of the reserved shared memory that are there for barriers of cooperative groups; they lie after the kernel's own.
constexpr uint32_t kReservedForGroups = 1024;

// A tensor of the launch or a global variable of the kernel.
struct Buffer {
  uint64_t lo = 0, hi = 0;
  bool read_only = false;
  bool initialised = true;  // before the launch
  bool complete = false;    // every element has to be written
  bool watched = false;     // the launch asks who touches a part of it, or griddepcontrol.wait comes before that
  bool stored_before = false, loaded_before = false;  // by the launch before, which may not have ended
  std::string name;
  std::string parameter;  // the kernel's name of it
  std::vector<int64_t> shape;
  uint32_t itemsize = 0;
  // Shadow, one cell per granule: the last store and the last load. nullptr where nothing needs it.
  uint64_t* stores = nullptr;
  uint64_t* loads = nullptr;
  uint32_t* store_epochs = nullptr;  // of the same accesses
  uint32_t* load_epochs = nullptr;
  std::unique_ptr<BufferHistory> history;  // what cells have no room for
  // Of cells and of blocks of them, see ownership.h; only where several host threads may run.
  uint64_t* owners = nullptr;
  uint64_t* block_owners = nullptr;
  std::unique_ptr<std::atomic<bool>> has_loads, has_history;
  Written written;  // where every element has to be

  // So many bytes have a value now, or have none any more.
  void mark(uint64_t address, uint64_t bytes, bool has_value = true) {
    if (written.wanted() && bytes > 0) written.mark(address - lo, bytes, has_value);
  }
};

// What malloc of device code gives memory from: 8 MiB, as on a device by default. Blocks that were freed are used again
// once no new memory is left.
// Source: CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations".
class Heap {
 public:
  static constexpr uint64_t kBytes = 8u << 20, kAlignment = 16;

  void place(uint64_t base) { base_ = base; }
  // The address of a block, 0 where there is no room.
  uint64_t allocate(uint64_t bytes);
  // Frees a block, and gives its bytes; 0 where none begins at the address.
  uint64_t release(uint64_t address);

 private:
  uint64_t base_ = 0, end_ = 0;         // end_: bytes that have been given so far
  std::map<uint64_t, uint64_t> used_, free_;  // bytes of blocks, by their offset
};

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  ~Memory() { ShadowPool::instance().give(std::move(shadow_)); }

  // Merges buffers at the same address: an argument that is updated in place is passed twice.
  void set_buffers(const PyptxLaunch& launch, const Program& program, const std::vector<std::string>& names);

  // Gives buffers the shadow that the sanitizer needs; `segments` are those of the launch, `owned` says that cells
  // have owners. Returns the segment up to which cells count as empty.
  uint32_t add_shadow(const PyptxLaunch& launch, uint32_t granule, uint64_t segments, bool owned);
  // Whether two buffers share bytes, so that an address may be in either.
  bool overlap() const;

  // What a cooperative launch's grid.sync() waits at, whose address is in %envreg1 and %envreg2.
  void add_grid_barrier();

  // Prepares to tell what is written; `granule` is the program's smallest access.
  void add_written(uint32_t granule);

  // The buffer that holds [lo, hi), tried at `hint` first; nullptr if none does. Updates the hint.
  Buffer* find(uint64_t lo, uint64_t hi, uint32_t& hint) {
    if (hint < buffers.size() && lo >= buffers[hint].lo && hi <= buffers[hint].hi && lo < hi) {
      return &buffers[hint];
    }
    return search(lo, hi, hint);
  }
  // The buffer whose end or start is nearest to an address; nullptr if there are no buffers.
  const Buffer* nearest(uint64_t address) const;

  std::vector<Buffer> buffers;
  uint64_t global_base = 0;
  uint64_t grid_barrier = 0;  // 0 if there is none
  Heap heap;
  std::vector<uint8_t> constants;  // the const space

 private:
  Buffer* search(uint64_t lo, uint64_t hi, uint32_t& hint);
  void add_variables(const Program& program);
  void add_heap();

  std::vector<uint8_t> storage_, heap_storage_;  // of global variables; of what kernels allocate
  alignas(16) uint32_t grid_barrier_[4] = {};    // of cooperative groups: its size, and the barrier
  ShadowPool::Shadow shadow_;
};

}  // namespace pyptx::emulator
