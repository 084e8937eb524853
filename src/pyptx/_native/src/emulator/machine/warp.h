// The state of a running launch, from one warp up to the launch.
//
// A warp's lanes that are at the same instruction form a split. One split runs (Warp::pc, Warp::active), the
// others wait in Warp::others. The split with the lowest instruction runs, and splits that meet become one,
// so diverged lanes converge again without an analysis of the control flow. A split that branches backward
// many times while others are ready steps back for them, so that no lane starves another of its warp.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "async.h"
#include "machine.h"
#include "memory.h"
#include "product.h"
#include "program.h"
#include "pyptx_emulator.h"
#include "printed.h"
#include "report.h"
#include "sanitizer/lane_runs.h"
#include "sanitizer/older_values.h"
#include "sanitizer/sanitizer.h"
#include "watch.h"

namespace pyptx::emulator {

struct Cta;
struct Cluster;
struct Worker;
struct Launch;
struct TensorMemory;

// What a split waits for.
struct Wait {
  enum class Kind : uint8_t {
    None,         // ready
    Lanes,        // until the lanes named by `object` reach the same instruction (shfl, vote, match, redux)
    Converge,     // until all lanes of the warp reach the same instruction (.aligned barriers)
    WarpBarrier,  // until the lanes named by `object` reach a bar.warp.sync of the same mask
    Barrier,      // until barrier `object` of the CTA completes
    Cluster,      // until phase `object` of the cluster barrier completes
    Mbarrier,     // until phase `phase` of the CTA's mbarrier at offset `object` completes, or for a while
    Copies,       // until all but the last `object` groups of copies are complete
    Products,     // until all but the last `object` groups of multiplications are complete
    TensorMemory, // until columns of Tensor Memory are freed
  };
  Kind kind = Kind::None;
  uint32_t object = 0;
  const Instruction* at = nullptr;
  uint64_t phase = 0;
};

struct Split {
  uint32_t pc, mask;
  Wait wait;
};

// Bits of Warp::attention: why the loop must look up.
enum Attention : uint32_t {
  kSplitsChanged = 1,  // splits were added or woken
  kBlocked = 2,        // the running split has moved to `others`
  kExited = 4,         // lanes of the running split have exited
  kYield = 8,          // let other warps run
  kSpinning = 16,      // the running split cannot change anything any more by itself
  kRotate = 32,        // the running split steps back for others of its warp
};

enum class WarpState : uint8_t { Ready, Blocked, Spinning, Done };

// A function that a lane has called: where from, the frame that it returns to, and what else it needs again.
struct CallFrame {
  uint32_t call;   // the instruction
  uint32_t frame;  // of the caller, in its local memory
  std::vector<uint8_t> kept;  // of a recursive function: its registers from before
};

// A register that is not written as a whole: the bytes that have no value, as bits, in each lane, and the load of local
// memory that brought some of them, kNone if none did.
struct Partly {
  std::array<uint16_t, kLanes> missing{};
  uint32_t load = kNone;
  uint64_t address = 0;
  uint32_t bytes = 0;
};

// A warp that starts is assigned a new one, so every field says what it starts as.
struct Warp : WarpRegisters {
  uint32_t pc = 0;          // of the running split; already the next instruction while a handler runs
  uint32_t active = 0;      // lanes of the running split
  uint32_t next_split = ~0u;  // the loop looks up when pc reaches this
  uint32_t attention = 0;
  uint32_t live = 0;   // lanes that have not exited
  uint32_t index = 0;  // in its CTA
  uint32_t agent = 0;  // in its cluster: the index of its vector clock
  WarpState state = WarpState::Ready;
  bool suspended = false;  // merging is suspended, for fairness
  bool polling = false;    // it was woken only to see whether its spin loop still stands still
  bool forced = false;    // a split that waited to converge goes on diverged, because nothing else can run
  uint32_t lost = 0;   // lanes that a waiting split named and that exited instead
  uint32_t backward = 0;  // backward branches since the last change of splits
  uint32_t cluster_arrived = 0;  // lanes that arrived at the cluster barrier and have not waited
  Cta* cta = nullptr;
  Worker* worker = nullptr;
  std::vector<Split> others;
  uint32_t* defined = nullptr;  // lane mask per register of the image
  std::unordered_map<uint32_t, Partly> partly;
  uint64_t executed = 0;

  // The loop that may have come to a standstill.
  uint32_t spin_branch = ~0u;
  uint32_t spin_visits = 0;
  uint64_t spin_version = 0;
  bool spin_snapshot_valid = false;
  uint32_t spin_carry = 0;
  std::vector<uint8_t> spin_snapshot;

  // The functions that each lane is in, the innermost last, and where the frame of that one lies.
  std::vector<std::vector<CallFrame>> calls;  // empty in a program without functions
  uint32_t frame[kLanes] = {};

  // Groups of copies that each lane has committed, and the copies whose end has not been waited for.
  uint32_t copy_groups[kLanes] = {}, bulk_groups[kLanes] = {};
  std::vector<OperationPointer> copies;
  // Multiplications: groups committed, how many were issued, those that have not been waited for, the place in the
  // order of accesses of those since the last group, and the state of the registers that they use.
  uint32_t product_groups = 0, products_issued = 0;
  std::vector<Pending> products;
  std::pair<uint32_t, uint32_t> product_place{0, 0};
  bool product_fenced = false;
  std::vector<HeldRegister> held;
  std::vector<uint32_t> register_requests;  // the setmaxnregs that it executed, while the sanitizer looks
  // try_waits that have returned false without need, so that loops are seen to be there.
  std::vector<uint32_t> hurried;
  // The last test of an mbarrier that failed, for the table of a deadlock.
  const Instruction* failed_test = nullptr;
  uint32_t failed_offset = 0;
  uint64_t failed_phase = 0;
  uint32_t grid_waited = 0;  // lanes that come after a griddepcontrol.wait
};

// registers() in machine.h casts a Warp that it has not seen: its registers are the only base and lie at its beginning.
static_assert(std::is_base_of<WarpRegisters, Warp>::value && !std::is_polymorphic<Warp>::value,
              "a Warp has to begin with its registers");

// One of the 16 barriers of a CTA.
struct Barrier {
  uint32_t arrived = 0;   // threads, in whole warps where a whole warp arrived
  uint32_t expected = 0;  // 0: every thread of the CTA that has not exited
  uint32_t waiting = 0;   // splits
  uint32_t population = 0;  // for bar.red
  bool all = true, any = false;
  bool counted = false;
  ClockVector clocks;  // joined clocks of those that arrived
};

struct Cta {
  Cluster* cluster;
  uint32_t rank;     // in the cluster
  uint32_t id[3];    // %ctaid
  uint64_t linear;   // id in the grid, row-major
  uint32_t shared_base;  // shared-space address of its first byte
  uint8_t* shared;
  uint8_t* local;  // warp-major, then lane-major
  uint32_t live_warps;
  std::vector<Warp> warps;
  Barrier barriers[16];
  std::map<uint32_t, Mbarrier> mbarriers;  // the live ones, by offset
  std::vector<Warpgroup> warpgroups;
  std::shared_ptr<TensorMemory> tensor_memory;  // made when it is first used
  SharedShadow shadow;
  Visits visits;  // to its shared memory
  std::map<uint32_t, SentCopy> sent;  // to other CTAs, by agent
  SequentialFences sequential_fences;  // of its threads
  LocalShadow local_shadow;
  uint32_t segment = 0;  // its number in cells of global memory
  // By a tensor map's address: what its bytes were when it was last acquired, as cells of its buffer's shadow, zeros
  // for those that nobody had released.
  std::unordered_map<uint64_t, std::vector<uint64_t>> acquired_maps;
};

struct ClusterBarrier {
  uint32_t phase = 0;
  bool arrived = false;  // whether any thread has, in this phase
  ClockVector clocks, released;  // of this phase so far, of the last complete one
};

// The unit of residency: its CTAs run interleaved on one host thread.
struct Cluster {
  Worker* worker = nullptr;
  uint64_t linear = 0;
  uint32_t id[3] = {0, 0, 0};
  std::vector<Cta> ctas;
  uint64_t version = 0;  // grows whenever a store or an atomic may have changed memory
  uint64_t progress = 0; // grows whenever a warp that stood still moved on
  uint64_t executed = 0, clock_readings = 0;
  uint64_t random = 0;  // state of the random schedule: the cluster's own, so that host threads do not matter
  uint32_t warps_left = 0;
  size_t turn = 0;
  ClusterBarrier barrier;
  ClusterClocks clocks;
  Publications published;  // at addresses of its shared memory
  OlderValues older_values;  // of its shared memory
  SequentialFences sequential_fences;  // of its threads, of its scope or a wider one
  uint64_t older_random = 0;  // state of what decides which loads give older values
  std::vector<Issuer> issuers;  // per agent that operations take
  std::vector<OperationPointer> operations;  // that are under way, in the order of their issue
  bool timed_out = false;    // parked try_waits have returned false since anything changed,
  uint64_t timed_out_state;  // which this tells

  std::vector<uint8_t> register_bytes, shared_bytes, local_bytes;
  std::vector<uint32_t> defined_bytes;

  uint32_t draw(uint32_t below);  // of the random schedule
  uint32_t draw_older(uint32_t below);
};

// A host thread of a launch.
struct Worker {
  Launch* launch;
  std::vector<uint32_t> buffer_hint;  // per instruction: the buffer it touched last
  LanePatterns patterns;  // of loads of shared memory
  static constexpr uint32_t kPlaces = 4096;
  std::vector<uint64_t> last_places;  // in global memory, of instructions of warps, by the low bits of their numbers
  PyptxInstructionStatistics* statistics = nullptr;  // per instruction, nullptr if not asked for
  std::vector<PyptxInstructionStatistics> statistics_storage;
  uint64_t executed = 0;
  uint64_t unaccounted = 0;  // instructions that are not yet in Launch::executed
  uint32_t looks = 0;        // at the launch's budgets
  PyptxSignals* signals = nullptr;  // of the thread that launched
  std::chrono::steady_clock::time_point next_signals;

  // Whether the launch goes on: nobody has stopped or cancelled it, and there is time left.
  bool goes_on();
  // Lets signal handlers run, if it is time to.
  void look_for_signals(std::chrono::steady_clock::time_point now);
  // Counts instructions; how many more the launch may run.
  void account(uint64_t instructions);
  uint64_t allowance() const;
};

// Ends a host thread of a launch whose result would depend on which thread runs when: what threads did is thrown
// away, and the launch runs again on one (see api.cpp).
struct Conflict {};

struct Launch {
  const Program* program;
  PyptxLaunch config;
  Memory memory;
  Findings findings;
  Watches watches;
  Printed printed;
  GlobalOrder global_order;
  GridWaits grid_waits;
  OlderValues global_values;
  SequentialFences sequential_fences;
  std::atomic<bool> older_values{false};  // loads may give them
  std::mutex wide_atomics;  // 128-bit read-modify-write
  std::atomic<bool> stop{false};
  std::atomic<bool> conflict{false}, cancelled{false}, late{false};
  std::atomic<uint64_t> executed{0};  // instructions of all warps, but for what workers have not accounted for
  std::atomic<uint64_t> next_cluster{0};
  std::atomic<uint64_t> resident{0};
  uint64_t clusters = 0;
  uint64_t residency = 0;  // clusters that the modelled device holds at once
  uint32_t threads = 1;    // host threads
  uint64_t most_instructions = 0;                       // of all warps
  std::chrono::steady_clock::time_point deadline;
  uint32_t cluster_size = 1, cluster_dim[3] = {1, 1, 1}, cluster_grid[3] = {1, 1, 1};
  uint32_t threads_per_cta = 0, warps_per_cta = 0;
  uint32_t shared_bytes = 0;  // a CTA's, static and dynamic, and what cooperative groups have of the reserved memory
  uint32_t kernel_shared_bytes = 0, reserved_at = 0;  // the kernel's part, and where the reserved one begins
  bool initialisation = false, races = false, synchronisation = false;
  Completion completion = Completion::Eager;
  std::mutex running_mutex;
  std::condition_variable ended;
  int running = 0;  // host threads but the one that launched; below 0 for one that has ended before it is counted
  std::mutex failure_mutex;
  std::string explored;  // which of several schedules it is, if not the first
  std::string failure;  // what ended a host thread before its time

  bool parallel() const { return threads > 1; }
};

inline const Program& program_of(const Warp& w) { return *w.worker->launch->program; }

// host_threads.cpp
// Host threads for a launch whose clusters and program are known.
uint32_t host_threads(const Launch& launch);
void run_launch(Launch& launch, std::vector<PyptxInstructionStatistics>* statistics, uint64_t* executed);

// schedule.cpp, for handlers. All take effect when the handler returns.
void look_up(Warp& w, uint32_t why);
// The lanes of `mask`, a part of the running split, wait; they continue at `resume`. The rest of the split
// goes on behind the current instruction.
void block(Warp& w, uint32_t mask, uint32_t resume, Wait wait);
void exit_lanes(Warp& w, uint32_t mask);
// The lanes of `taken` continue at `target`, the rest of the split where it is.
void jump(Warp& w, uint32_t taken, uint32_t target);
// A branch of the lanes of `taken` to `target`; the rest of the split falls through.
void branch(Warp& w, const Instruction& in, uint32_t taken, uint32_t target);
// Makes a split that waits ready; the warp may be another one than the running one.
void wake(Warp& w, Split& split);
// The lanes of `mask` that may run a warp-synchronous instruction now: those whose named lanes (`members`, a
// mask per lane) have all arrived or exited. The others have been blocked until theirs do.
uint32_t gather(Warp& w, const Instruction& in, uint32_t mask, const uint32_t* members);
// For .aligned instructions: true if the whole warp is here, or never will be; otherwise the lanes of `mask`
// wait for the others. *diverged says that lanes are missing.
bool converge(Warp& w, const Instruction& in, uint32_t mask, bool* diverged);
// The finding, of the sanitizer, where lanes are missing (sync.cpp).
void report_diverged(Warp& w, const Instruction& in, uint32_t mask);
// Barriers that count all threads, after lanes have exited (sync.cpp).
void barriers_after_exit(Warp& w);
// Warps of one warpgroup that execute setmaxnreg in different ways, when their CTA exits (sync.cpp).
void check_register_requests(Cta& cta);
// What a waiting split waits for, for the table of a deadlock (sync.cpp).
std::string describe_wait(const Warp& w, const Split& split);

// Every store and every atomic that changes memory: spinning warps of the cluster look again.
inline void memory_changed(Warp& w) { ++w.cta->cluster->version; }

}  // namespace pyptx::emulator
