// Shadow memory and happens-before.
//
// Shared memory: every warp of a cluster has a vector clock; every cell of a CTA's shadow remembers the last
// store and the last load (several loads when they are concurrent). Two accesses race if one is a store, not
// both are strong, and neither happens before the other. Lanes of one warp are ordered by bar.warp.sync and by
// barriers only.
//
// Global memory: races between CTAs. A CTA's stores carry its current segment; a release ends a segment. A CTA
// knows the segments whose release it acquired.
//
// Cells are as small as the kernel's smallest access to the space, and accesses are aligned to their size, so
// a cell is always touched as a whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pyptx::emulator {

struct Warp;
struct Cta;
struct Cluster;
struct Launch;
struct Instruction;
struct Buffer;
struct Mbarrier;
struct Operation;
struct History;
enum class Grouping : uint8_t;

enum class Access : uint8_t { Load, Store, Atomic };

// A memory instruction's place in the memory model.
struct Order {
  bool strong = false;   // relaxed, acquire, release, volatile, or an atomic
  bool acquire = false;
  bool release = false;
};

struct SharedShadow {
  uint32_t shift = 2;  // log2 of a cell's bytes
  bool initialisation = false, races = false;
  std::vector<uint64_t> stores, loads;  // who << 32 | instruction
  std::vector<uint8_t> written;
  std::vector<std::vector<uint32_t>> readers;  // concurrent readers' clocks and lanes, by agent
  std::vector<uint32_t> free_readers;

  void reset(uint32_t bytes, uint32_t granule, bool initialisation, bool races);
  uint32_t granule() const { return 1u << shift; }
};

struct LocalShadow {
  uint32_t shift = 2;
  uint32_t cells_per_lane = 0;
  std::vector<uint8_t> written;  // warp-major, then lane-major; empty if not checked

  void reset(uint32_t bytes_per_lane, uint32_t lanes, uint32_t granule, bool initialisation);
};

// Vector clocks of the warps of a cluster, and of its asynchronous operations, which take a few agents in turn:
// an agent's later operation counts as one that is behind its earlier ones, which loses races and invents none.
class ClusterClocks {
 public:
  void reset(uint32_t warps, bool asynchronous);
  bool active() const { return agents_ != 0; }
  bool asynchronous() const { return width_ != agents_; }
  uint32_t warps() const { return warps_; }
  uint32_t agents() const { return agents_; }
  const uint32_t* of(uint32_t agent) const { return &clocks_[static_cast<size_t>(agent) * width_]; }
  // What its asynchronous operations may rely on (fence.proxy.async): behind its clocks in the same row.
  const uint32_t* proxied(uint32_t agent) const { return of(agent) + agents_; }
  uint32_t own(uint32_t agent) const { return of(agent)[agent]; }
  // A new operation: its agent, in turn, and its clock there. `full` says that clocks are used up.
  std::pair<uint32_t, uint32_t> fork(bool* full);
  void join_one(uint32_t agent, uint32_t other, uint32_t clock);
  void fence_proxies(uint32_t agent);
  void join_into(std::vector<uint32_t>& into, uint32_t agent) const;
  void join_from(uint32_t agent, const std::vector<uint32_t>& from);
  // Ends the agent's epoch; returns true when clocks are used up and all history must be forgotten.
  bool tick(uint32_t agent);
  void fence(uint32_t agent);
  void publish(uint32_t agent, uint64_t address, Order order);
  void observe(uint32_t agent, uint64_t address, Order order);

 private:
  uint32_t warps_ = 0, agents_ = 0, width_ = 0;
  std::vector<uint32_t> clocks_;  // a row per warp
  std::vector<uint32_t> forked_;  // clocks of the agents that are operations
  uint32_t next_fork_ = 0;
  std::vector<std::vector<uint32_t>> fenced_;    // an agent's clocks at its last fence
  std::vector<std::vector<uint32_t>> observed_;  // what relaxed reads saw, for the next fence
  std::unordered_map<uint64_t, std::vector<uint32_t>> published_;
};

using Known = std::unordered_map<uint64_t, uint32_t>;  // CTA -> its segments that are known, counted

// A CTA's part in the races of global memory.
struct GlobalAgent {
  uint32_t segment = 0;  // id
  uint64_t cta = 0;
  uint32_t count = 0;  // segments ended
  uint32_t forks = 0;  // asynchronous operations that have a segment of their own
  Known known, fenced, observed;
  bool has_fenced = false;
  // By a tensor map's address: what its bytes were when it was last acquired, as cells of its buffer's shadow,
  // zeros for those that nobody had released.
  std::unordered_map<uint64_t, std::vector<uint64_t>> acquired_maps;
};

// What an asynchronous operation of a CTA does in global memory is an agent of its own, in `known` too. So is
// what of a CTA's stores is behind a fence.proxy.async that is known.
constexpr uint64_t kForkedAgent = 1ull << 63, kFencedAgent = 1ull << 62;
// The same for a release of the tensormap proxy.
constexpr uint64_t kReleasedAgent = 1ull << 61;

// Segments and released knowledge of a launch; shared by its host threads.
class GlobalClocks {
 public:
  // Segments that a launch of so many CTAs needs, and the segment below its first.
  static uint64_t segments_for(uint64_t ctas);
  void reset(uint64_t ctas, uint32_t base, bool parallel);
  // Whether a segment is of this launch.
  bool current(uint32_t segment) const { return segment > base_; }
  uint32_t base() const { return base_; }
  void start(GlobalAgent& agent, uint64_t cta) const;
  void fence(GlobalAgent& agent);
  void publish(GlobalAgent& agent, uint64_t address, Order order);
  void observe(GlobalAgent& agent, uint64_t address, Order order);
  // Joins what `from` knows and did into `into` (barriers of a cluster).
  void join(GlobalAgent& into, GlobalAgent& from);
  void end_segment(GlobalAgent& agent);
  // An operation's agent and its count there, {0, 0} when segments are used up, and the segment that it is in.
  std::pair<uint64_t, uint32_t> fork(GlobalAgent& agent, uint32_t* segment);
  // The operation is known to be complete.
  static void learn(Known& known, uint64_t agent, uint32_t count);
  static void acquire(GlobalAgent& agent, const Known& from);
  void release(Known& into, GlobalAgent& agent);
  // A fence of a proxy, of global memory; whether what the segment did is behind one. `kind` is kFencedAgent
  // for fence.proxy.async, kReleasedAgent for a release of the tensormap proxy.
  void fence_proxies(GlobalAgent& agent, uint64_t kind);
  bool fenced(const GlobalAgent& agent, uint32_t segment, uint64_t kind);
  // Whether what the segment did happens before what the agent does now.
  bool ordered(const GlobalAgent& agent, uint32_t segment);
  uint64_t cta_of(uint32_t segment);
  // A segment's agent and its count there.
  std::pair<uint64_t, uint32_t> place_of(uint32_t segment);
  // Whether an asynchronous operation made the segment's accesses.
  bool forked(uint32_t segment) { return (place_of(segment).first & kForkedAgent) != 0; }

 private:
  void used_up() const;

  uint32_t base_ = 0;
  bool parallel_ = false;  // several host threads run
  uint64_t ctas_ = 0;  // that have segments of their own, base + 1 to base + ctas
  std::mutex mutex_;
  std::vector<std::pair<uint64_t, uint32_t>> extra_;  // the CTA and count of the segments after those
  std::unordered_map<uint64_t, Known> published_;
  std::atomic<bool> any_published_{false};
};

// Checks and records an access. `offsets` are per lane, of lanes in `mask`, in bytes from the start of the
// CTA's shared memory.
void check_shared(Warp& w, const Instruction& in, Cta& owner, const uint32_t* offsets, uint32_t mask,
                  uint32_t bytes, Access access, Order order);
// The same for several lanes, `lane` the first of them, that load from one address.
void check_shared_uniform(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, unsigned lane, uint32_t bytes,
                          Order order);
// The same for 32 lanes that touch consecutive ranges.
void check_shared_range(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t bytes,
                        Access access, Order order);
void check_global(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, unsigned lane,
                  uint32_t bytes, Access access, Order order);
void check_global_range(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, uint32_t bytes,
                        Access access, Order order);
void check_local(Warp& w, const Instruction& in, uint32_t offset, unsigned lane, uint32_t bytes, Access access);

// The bytes become undefined (discard).
void forget_global(Warp& w, uint64_t address, uint32_t bytes);

// Synchronisation that orders memory, for handlers.
void order_warp(Warp& w);                                // bar.warp.sync and what else orders lanes
void order_arrive(Warp& w, std::vector<uint32_t>& into);  // release into a barrier
void order_leave(Warp& w, const std::vector<uint32_t>& from);  // acquire from it
void order_fence(Warp& w);
// An access at `address` (generic, so that spaces do not collide) that may carry order between threads.
void order_access(Warp& w, bool global, uint64_t address, Access access, Order order);

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
void order_arrive(Warp& w, Cta& owner, Mbarrier& b);  // release; the caller ends the epoch
// A thread knows that a phase is complete; by default that acquires what arrivals released.
void observe_phase(Warp& w, const Instruction& in, Mbarrier& b, uint64_t phase);
// Whether a test by parity that fails asks for the end of a phase that a thread has missed.
void check_overrun(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b,
                   uint64_t phase);
// An access by other means than mbarrier instructions: that no mbarrier is there.
bool check_not_mbarrier(Warp& w, const Instruction& in, const Cta& owner, uint32_t offset, uint32_t length,
                        unsigned lane, bool store);
// Gives an operation its place in the order of accesses; then what it accesses is checked and recorded.
void order_issue(Warp& w, unsigned lane, Operation& op);
// st.async and red.async: their completion releases what the warp has done so far; the caller ends the epoch.
std::shared_ptr<const History> order_history(Warp& w);
void check_copy_shared(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t bytes, unsigned lane,
                       bool store, bool async_proxy, const Operation& op);
void check_copy_global(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, uint32_t bytes, unsigned lane,
                       bool store, bool async_proxy, Operation& op);
// cp.async.mbarrier.arrive: the copies of the lanes so far.
void order_copies(Warp& w, uint32_t mask, Operation& op);
// An operation completes on an mbarrier.
void order_signal(const Operation& op, Mbarrier& b);
// Groups of copies have been waited for.
void order_waited(Warp& w, uint32_t mask, Grouping grouping, uint32_t but, bool reads);
void order_proxies(Warp& w);  // fence.proxy.async, of shared memory
void order_global_proxies(Warp& w);
// A bulk copy of global memory: that threads' stores are behind a fence.proxy.async.
void check_global_proxies(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, uint32_t bytes, unsigned lane,
                          bool store);
void order_inits(Warp& w);    // fence.mbarrier_init
// fence.proxy.tensormap::generic: its release, and its acquire of the map at an address.
void order_map_release(Warp& w);
void order_map_acquire(Warp& w, uint64_t address, uint32_t bytes);
// A copy that reads its tensor map in global memory: that both lie between it and what threads stored there.
void check_map_proxies(Warp& w, const Instruction& in, Buffer& buffer, uint64_t address, uint32_t bytes, unsigned lane);
// The part of what is forgotten when clocks are used up that is the operations'.
void forget_history(Cluster& c);
void forget_operations(Cluster& c);
// Copies that end after who must wait for them has gone.
void check_exit(Warp& w, uint32_t mask);
void check_cta_exit(Cta& cta);

// Registers and predicates read before they are written; then marks what the instruction writes.
void check_registers(Warp& w, const Instruction& in, uint32_t mask);

}  // namespace pyptx::emulator
