// Accesses that a cell of the shadow has no room for: strong ones, of which many may be the latest without a race, and
// concurrent readers of global memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace pyptx::emulator {

struct Warp;
struct Instruction;

// Threads that an operation's scope holds, in the order of PTX ISA, "Scope".
enum class Scope : uint8_t { Cta, Cluster, Gpu, System };

// One access. Its cluster and its column there say whose it is, its clock when it was.
struct Touch {
  uint64_t cta = 0, cluster = 0;
  uint32_t column = 0, generation = 0, clock = 0, instruction = 0;
  uint8_t warp = 0, lane = 0;  // of an operation: who issued it
  bool every_lane = false, store = false, forked = false;
  bool end_is_enough = false;  // of an operation: what comes after it need not see what it wrote
  Scope scope = Scope::System;
};

// The latest of each thread that nothing weak has followed.
class Touches {
 public:
  void add(const Touch& touch);
  void clear();
  const std::vector<Touch>& all() const { return touches_; }
  Scope narrowest() const { return narrowest_; }

 private:
  std::vector<Touch> touches_;
  std::unique_ptr<std::unordered_map<uint64_t, uint32_t>> places_;  // of who, once there are many
  Scope narrowest_ = Scope::System;
};

struct CellHistory {
  Touches strong, readers;
};

// Of a buffer of global memory, by cell.
struct BufferHistory {
  // Beyond so many cells nothing is kept, which loses races and invents none.
  static constexpr size_t kMostCells = size_t{1} << 20;

  std::mutex mutex;
  std::unordered_map<uint64_t, CellHistory> cells;
};

}  // namespace pyptx::emulator
