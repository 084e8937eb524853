// Shadow memory and happens-before.
//
// Shared memory: every warp of a cluster has a vector clock; every cell of a CTA's shadow remembers the last
// store and the last load (several loads when they are concurrent). Two accesses race if one is a store, not
// both are strong, and neither happens before the other. Lanes of one warp are ordered by bar.warp.sync and by
// barriers only.
//
// Strong accesses do not race with each other where their scopes hold both threads. The latest of each thread since the
// last weak store are kept apart (touch.h).
//
// Global memory: the same. Its cells name the CTA and the warp, by whose clocks they are judged.
//
// Cells are as small as the kernel's smallest access to the space, and accesses are aligned to their size, so
// a cell is always touched as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clocks.h"

namespace pyptx::emulator {

struct Warp;
struct Cta;
struct Cluster;
struct Launch;
struct Instruction;
struct Buffer;
struct Mbarrier;
struct Operation;
struct ProductRead;
struct History;
enum class Grouping : uint8_t;
struct LaneRuns;
struct LaneOffsets;

enum class Access : uint8_t { Load, Store, Atomic };

// A memory instruction's place in the memory model.
struct Order {
  bool strong = false;   // relaxed, acquire, release, volatile, or an atomic
  bool acquire = false;
  bool release = false;
  Scope scope = Scope::System;
};

// What a fence is of.
struct Fencing {
  bool acquires = true, releases = true;
  bool sequential = false;  // fence.sc, and membar
};

// Which threads of several read a cell, where no barrier orders them: an entry for each agent. Entries are kept by blocks
// of neighbouring cells, so that a warp's access of neighbours looks at an agent's entries side by side.
class CellReaders {
 public:
  static constexpr uint32_t kBlock = 32;

  void reset(size_t cells);
  // The entry of agent a of a cell, which has several readers, is at [a * kBlock]; those of the cells after it in the
  // same block follow.
  uint32_t* of(uint32_t cell) { return &words_[blocks_[cell / kBlock] + cell % kBlock]; }
  const uint32_t* of(uint32_t cell) const { return &words_[blocks_[cell / kBlock] + cell % kBlock]; }
  // Makes room for the cell's block.
  uint32_t* make(uint32_t cell);
  // Makes room for so many agents in every block: operations under way get agents as they begin.
  void reserve(uint32_t agents) {
    if (agents > agents_) grow(agents);
  }
  // How many agents a block has room for; others have read none of its cells.
  uint32_t agents() const { return agents_; }

 private:
  static constexpr size_t kNone = ~size_t{0};

  void grow(uint32_t agents);

  uint32_t agents_ = 0;
  std::vector<size_t> blocks_;  // where the words of a block begin
  std::vector<uint32_t> words_;
};

struct SharedShadow {
  uint32_t shift = 2;  // log2 of a cell's bytes
  bool initialisation = false, races = false;
  std::vector<uint64_t> stores, loads;  // of weak accesses: who << 32 | instruction
  std::unordered_map<uint32_t, Touches> strong;  // by cell
  std::vector<uint8_t> written;
  CellReaders readers;  // concurrent readers' clocks and lanes
  // Goes on with all that is checked, but for what multiplications read that have one place among accesses, the latest
  // such place.
  uint64_t changes = 0;
  uint32_t latest_product = 0;

  void reset(uint32_t bytes, uint32_t granule, bool initialisation, bool races);
  uint32_t granule() const { return 1u << shift; }
};

// The griddepcontrol.waits of a launch, where tensors of the launch before it need one.
class GridWaits {
 public:
  void reset(const std::vector<Buffer>& buffers);
  bool wanted() const { return wanted_; }
  void add(uint64_t cluster, const Touch& wait);
  // Whether what a lane does comes after one of them.
  bool before(const Warp& w, unsigned lane);

 private:
  bool wanted_ = false;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<Touch>> clusters_;
};

struct LocalShadow {
  uint32_t shift = 2;
  uint32_t cells_per_lane = 0;
  std::vector<uint8_t> written;  // warp-major, then lane-major; empty if not checked

  void reset(uint32_t bytes_per_lane, uint32_t lanes, uint32_t granule, bool initialisation);
};

// Checks and records an access. `offsets` are per lane, of lanes in `mask`, in bytes from the start of the
// CTA's shared memory.
void check_shared(Warp& w, const Instruction& in, Cta& owner, const uint32_t* offsets, uint32_t mask,
                  uint32_t bytes, Access access, Order order);
// The same where the lanes' runs are known.
void check_shared_runs(Warp& w, const Instruction& in, Cta& owner, const LaneOffsets& offsets, uint32_t mask,
                       uint32_t bytes, Access access, Order order, const LaneRuns& runs);
// The same for several lanes, those of `mask`, that load from one address.
void check_shared_uniform(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t mask, uint32_t bytes,
                          Order order);
// The same for 32 lanes that touch consecutive ranges.
void check_shared_range(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t bytes,
                        Access access, Order order);
// `op` is the operation that accesses, nullptr for a thread; `plain` is for ld, st, atom and red.
void check_global(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, unsigned lane,
                  uint32_t bytes, Access access, Order order, const Operation* op, bool plain);
void check_global_range(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, uint32_t bytes,
                        Access access, Order order);
void check_local(Warp& w, const Instruction& in, uint32_t offset, unsigned lane, uint32_t bytes, Access access);

// griddepcontrol.wait of lanes, and an access of global memory that it may have to come before.
void order_grid_wait(Warp& w, const Instruction& in, uint32_t mask);
void check_grid_wait(Warp& w, const Instruction& in, uint64_t address, uint64_t bytes, unsigned lane, bool store);

// Whether all of some bytes have a value, as far as the launch looks for those that have none.
bool global_has_value(Warp& w, uint64_t address, uint32_t bytes);
bool shared_has_value(const Warp& w, const Cta& owner, uint64_t offset, uint32_t bytes);

// The bytes become undefined (discard).
void forget_global(Warp& w, uint64_t address, uint32_t bytes);

// Synchronisation that orders memory, for handlers.
void order_tick(Warp& w);  // ends the warp's epoch
void order_warp(Warp& w, uint32_t mask);  // lanes meet: bar.warp.sync and what else orders lanes
// Lanes of `to` get a value of lanes of `from` (shfl, vote, match, redux), and with it what those have acquired.
void order_exchange(Warp& w, uint32_t from, uint32_t to);
// Lanes execute a .sync instruction that orders them in time, and no memory.
void order_together(Warp& w, uint32_t mask);
void order_arrive(Warp& w, uint32_t mask, ClockVector& into);  // release into a barrier
void order_relaxed(Warp& w, uint32_t mask, ClockVector& into);  // an arrival that releases nothing
void order_leave(Warp& w, uint32_t mask, const ClockVector& from);  // acquire from it
void order_fence(Warp& w, const Instruction& in, uint32_t mask, Scope scope, Fencing how);
// The fences of lanes before a relaxed arrival: what those of the scope `least` or a wider one release.
void release_fenced(const Warp& w, uint32_t mask, Scope least, ClockVector& into);
// A relaxed wait: lanes acquire this at their next fence, if its scope is at least `least`.
void observe_relaxed(Warp& w, const Instruction& in, uint32_t mask, Scope least, const ClockVector& released);
// Accesses of lanes at `address` (generic, so that spaces do not collide) that may carry order between threads. The
// caller ends the epoch of a release.
void order_access(Warp& w, const Instruction& in, bool global, uint64_t address, uint32_t mask, Access access,
                  Order order);

// ---- mbarriers and asynchronous operations

// One lane's access of a few bytes of shared memory.
void check_shared_piece(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, unsigned lane, uint32_t bytes,
                        Access access);
// The bytes become undefined.
void forget_shared(Cta& owner, uint32_t offset, uint32_t bytes);
// An initialisation, and every other use: that the former is ordered before it, and visible to it.
void order_init(Warp& w, Mbarrier& b, unsigned lane);
void check_mbarrier_use(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset,
                        const Mbarrier& b);
// An invalidation: that it comes after the other threads' tests.
void check_invalidation(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, const Mbarrier& b);
// A lane's arrival; the caller ends the epoch of one that releases.
void order_arrive(Warp& w, const Instruction& in, unsigned lane, Cta& owner, Mbarrier& b, bool releases);
// A thread knows that a phase is complete; by default that acquires what arrivals released.
void observe_phase(Warp& w, const Instruction& in, uint32_t mask, Mbarrier& b, uint64_t phase);
// The phase ends: that this comes after all tests of the parity that have waited for the one before.
void check_overtaken(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, const Mbarrier& b);
// Whether a test by parity that fails asks for the end of a phase that a thread has missed.
void check_overrun(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b,
                   uint64_t phase);
// An access by other means than mbarrier instructions: that no mbarrier is there.
bool check_not_mbarrier(Warp& w, const Instruction& in, const Cta& owner, uint32_t offset, uint32_t length,
                        unsigned lane, bool store);
// Gives an operation its place in the order of accesses; then what it accesses is checked and recorded.
void order_issue(Warp& w, unsigned lane, Operation& op);
// st.async and red.async: their completion releases what the warp has done so far; the caller ends the epoch.
std::shared_ptr<const History> order_history(Warp& w, uint32_t mask);
void check_copy_shared(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t bytes, unsigned lane,
                       bool store, bool async_proxy, const Operation& op);
// What a product of matrices reads, `bytes` at each place. Warps that read the same for one product share `read`.
void check_product_shared(Warp& w, const Instruction& in, Cta& owner, const std::vector<uint32_t>& places,
                          uint32_t bytes, unsigned lane, const Operation& op, ProductRead* read = nullptr);
void check_copy_global(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, uint32_t bytes, unsigned lane,
                       bool store, bool async_proxy, Operation& op);
// cp.async.mbarrier.arrive: the copies of the lanes so far.
void order_copies(Warp& w, uint32_t mask, Operation& op);
// An operation completes on an mbarrier.
void order_signal(const Operation& op, Mbarrier& b);
// Groups of copies have been waited for.
void order_waited(Warp& w, uint32_t mask, Grouping grouping, uint32_t but, bool reads);
void order_proxies(Warp& w, uint32_t mask, Known kind);  // fence.proxy.async, of shared or of global memory
// A bulk copy of global memory: that threads' stores are behind a fence.proxy.async.
void check_global_proxies(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, uint32_t bytes, unsigned lane,
                          bool store);
void order_inits(Warp& w);    // fence.mbarrier_init
// fence.proxy.tensormap::generic: its release, and its acquire of the map at an address.
void order_map_release(Warp& w, uint32_t mask);
void order_map_acquire(Warp& w, uint64_t address, uint32_t bytes);
// A copy that reads its tensor map in global memory: that both lie between it and what threads stored there.
void check_map_proxies(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, uint32_t bytes, unsigned lane);
// The part of what is forgotten when clocks are used up that is the operations'.
void forget_history(Cluster& c);
void forget_operations(Cluster& c);
// A copy from the warp's own CTA's shared memory to another CTA's, which only that CTA's mbarrier tracks.
void order_sent(Warp& w, const Instruction& in, unsigned lane, const Operation& op);
// Copies that end after who must wait for them has gone.
void check_exit(Warp& w, uint32_t mask);
void check_cta_exit(Cta& cta);

// Registers and predicates read before they are written; then marks what the instruction writes.
void check_registers(Warp& w, const Instruction& in, uint32_t mask);

}  // namespace pyptx::emulator
