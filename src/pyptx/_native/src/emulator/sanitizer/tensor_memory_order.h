// The order of accesses to Tensor Memory (PTX ISA, "Tensor Memory Consistency Model").
//
// A load or a store has happened once its warp has waited for it (tcgen05.wait), and is known to other threads behind
// tcgen05.fence::before_thread_sync, what orders threads, and tcgen05.fence::after_thread_sync. Multiplications and
// copies of one thread follow each other; that they have ended is known to who waits for an mbarrier that
// tcgen05.commit arrives at, behind tcgen05.fence::after_thread_sync.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pyptx::emulator {

struct Cta;
struct Instruction;
struct Operation;
struct Warp;

// Lanes and columns from a first one on.
struct TensorPlace {
  uint32_t first_lane, lanes, first_column, columns;
};

enum class TensorUse : uint8_t { Load, Store, Work, Free };  // Work: an operation; Free: tcgen05.dealloc

// Who touched a cell of the shadow.
struct TensorTouch {
  TensorUse use = TensorUse::Load;
  uint32_t agent = 0, clock = 0, sequence = 0;  // the warp's clock, and its how-manyth access it is
  uint32_t operation_agent = 0, operation_clock = 0;
  uint32_t instruction = 0;
  Warp* warp = nullptr;
  bool write = false;
};

// What a warp has waited for and what it has put before a fence, up to an epoch of its clock; as sequences.
struct TensorMark {
  uint32_t clock = 0;
  uint32_t waited[2] = {0, 0};  // loads, stores
  uint32_t fenced[3] = {0, 0, 0};  // loads, stores, operations
};

struct TensorKnowledge {
  uint32_t sequence = 0;
  std::vector<TensorMark> marks;
  std::vector<uint32_t> seen;  // its clocks at the last tcgen05.fence::after_thread_sync
  // By lane: the place in the order of accesses of the operations since its last commit, and those of its commits, of
  // each agent the last one.
  std::array<std::pair<uint32_t, uint32_t>, 32> operations{};
  std::array<std::vector<std::pair<uint32_t, uint32_t>>, 32> commits;
};

// A cell is a column of half a quarter of the lanes, which every shape touches as a whole.
struct TensorCell {
  bool stored = false;
  TensorTouch store;
  std::vector<TensorTouch> loads;
};

struct TensorShadow {
  std::vector<TensorCell> cells;
  std::vector<TensorKnowledge> warps;

  explicit TensorShadow(size_t count) : warps(count) {}
};

// Checks and records an access to a CTA's memory; of an operation also by its place in the order. Every column of
// `place` is touched.
void check_tensor(Warp& w, const Instruction& in, unsigned lane, Cta& owner, const TensorPlace& place, TensorUse use,
                  bool write, const Operation* operation);
// Checks that columns of the warp's CTA are freed behind all that touches them. Where a warp of the peer frees them
// together with this one, what either of them knows to have happened has.
void check_tensor_free(Warp& w, const Instruction& in, unsigned lane, const TensorPlace& place, Warp* peer);
// Whether what is loaded has been stored; the first that has not is reported.
void check_tensor_written(Warp& w, const Instruction& in, unsigned lane, Cta& owner, const TensorPlace& place);
// What is stored from now on.
void note_tensor_written(Cta& owner, const TensorPlace& place);
// Gives an operation its place in the order of accesses: all of a thread's up to a commit have one. A commit says that
// these have ended, those before the commits before it, and all that its thread knew to have happened.
void order_tensor_work(Warp& w, unsigned lane, Operation& operation);
void order_tensor_commit(Warp& w, unsigned lane, Operation& operation);
void order_tensor_wait(Warp& w, bool stores);
void order_tensor_fence(Warp& w, bool before);
// Clocks are used up.
void forget_tensor(Cta& cta);

// A load or a store that a warp has not waited for, where these end late.
struct TensorMove {
  const Instruction* at;
  uint32_t mask, address;
  std::vector<uint32_t> values;  // of a store
};
struct TensorMoves {
  std::vector<TensorMove> loads, stores;
};

}  // namespace pyptx::emulator
