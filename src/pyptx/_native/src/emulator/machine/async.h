// Asynchronous operations of a cluster, and the mbarriers that track them (PTX ISA, "Asynchronous Operations",
// "Parallel Synchronization and Communication Instructions: mbarrier").
//
// An operation is recorded with all that it will touch when it is issued; its data move when it is performed,
// which the launch's completion policy decides. Whoever may observe the data is a matter of what orders
// accesses (sanitizer.h), not of when they move.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report.h"
#include "sanitizer/clock_vector.h"
#include "visits.h"

namespace pyptx::emulator {

struct Cluster;
struct Cta;
struct Instruction;
struct Product;
struct TensorWork;
struct Warp;

// Counts of an mbarrier, and by how much a transaction count may differ from zero.
constexpr uint32_t kMostArrivals = (1u << 20) - 1;
constexpr uint32_t kMbarrierBytes = 8;

// A warp has learned that so many phases are complete; by a test of the parity, when its clock was so far.
struct Observation {
  uint64_t phases = 0;
  uint32_t clock = 0, lane = 0, instruction = kNone;
};

struct Mbarrier {
  uint32_t expected = 0;  // arrivals of each later phase
  uint32_t pending = 0;   // arrivals that this phase still waits for
  int64_t transactions = 0;
  uint64_t phase = 0;  // counted from 0; its parity is the lowest bit
  uint32_t waiting = 0;  // splits that are parked at it
  // Who initialised it, and whether that has been made visible beyond what barriers do.
  uint32_t instruction = 0, agent = 0, clock = 0, lane = 0;
  bool fenced = false;        // by fence.mbarrier_init
  uint32_t fenced_phase = 0;  // of the cluster barrier, when it was
  // Joined clocks of those that arrived; of those that had when the last phase completed.
  ClockVector clocks, released;
  // The same of other CTAs' arrivals, by whether their scope is the cluster, with the instruction of the latest.
  ClockVector remote[2], remote_released[2];
  uint32_t remote_at[2] = {kNone, kNone};
  ClockVector causes, causes_released;  // what came before arrivals and completions that release nothing
  std::unordered_map<uint32_t, Observation> observed;  // by agent
  uint64_t seen = 0;          // phases that somebody knows to be complete
  uint64_t copies_until = 0;  // the last phase that operations have completed in, and one
  Site copier;                // who issued the latest of them
  Visits visits;              // arrivals from other CTAs
};

// What one operation moves: `bytes` from `from`, then zeros up to `bytes + zeros`.
struct Piece {
  uint8_t* to;
  const uint8_t* from;
  uint32_t bytes, zeros;
  Cta* owner;  // of the shared memory that it writes, nullptr for global memory
};

// complete-tx of `bytes` on an mbarrier, or an arrival for `bytes` 0.
struct Signal {
  Cta* owner;
  uint32_t offset, bytes;
};

using Update = uint64_t (*)(uint64_t old, uint64_t b, uint64_t c);

// What a thread had done and knew when it issued an operation whose completion releases that too.
struct History {
  ClockVector known;
};

enum class Grouping : uint8_t { None, Copies, Bulk };
enum class Stage : uint8_t { Issued, Read, Done };

struct Operation {
  const Instruction* at = nullptr;
  Warp* warp = nullptr;
  uint32_t mask = 0;  // lanes that issued it
  Grouping grouping = Grouping::None;
  Stage stage = Stage::Issued;
  bool arrives = false;  // cp.async.mbarrier.arrive: after all earlier copies of its lanes
  uint32_t group = 0;
  uint64_t issued = 0;  // the cluster's instructions then
  std::vector<Piece> pieces;
  std::vector<Signal> signals;
  std::vector<uint8_t> data;  // sources that have been read, or that came from registers
  Update update = nullptr;    // a reduction, of `element` bytes each
  uint8_t element = 0;
  // In the order of accesses: its agent and clock.
  uint32_t agent = 0, clock = 0;
  bool reduces = false;  // its accesses are atomic
  // arrives: agents and clocks of the copies before it, and the lanes that arrive of those that copied.
  std::vector<LanePart> copies;
  std::shared_ptr<const History> history;  // st.async, red.async
  ClockVector causes;  // what came before it
  bool source_waited = false;  // its thread knows that its sources have been read
  uint32_t waited = 0;         // lanes that have waited for it
  std::shared_ptr<Product> product;  // what a warpgroup multiplies
  std::shared_ptr<TensorWork> tensor;  // what a tensor core does in Tensor Memory
};

// Who issued the operation that has an agent's latest clock.
struct Issuer {
  uint32_t clock = 0, warp = 0, lane = 0;
  uint64_t cta = 0;
};

// The latest copy of an agent from a CTA's shared memory to another CTA's.
struct SentCopy {
  uint32_t clock = 0;
  Site site;
};

using OperationPointer = std::shared_ptr<Operation>;

// When operations are performed; PYPTX_COMPLETION_* of a launch, resolved.
enum class Completion : uint8_t { Eager, Late, Reversed, Random };

// ---- For handlers ----------------------------------------------------------------------------------------

void issue(Warp& w, OperationPointer operation);
// Changes of an mbarrier's counts; who waits is woken when the phase completes. What is wrong is reported at
// the instruction.
void expect_transactions(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b,
                         uint32_t bytes);
void complete_transactions(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b,
                           uint32_t bytes);
void arrive(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b, uint32_t count);
// The live mbarrier at an offset, nullptr if there is none.
Mbarrier* mbarrier_at(Cta& owner, uint32_t offset);

// Whether the copies of a warp's lanes are complete but for the last `but` groups; `reads` asks for their
// sources alone.
bool copies_done(const Warp& w, uint32_t mask, Grouping grouping, uint32_t but, bool reads);

// ---- For the scheduler -----------------------------------------------------------------------------------

// Performs the operation, or the step of one, that is due by the policy when nothing else can run; false if
// there is none.
bool perform_next(Cluster& c);
// Performs what has been under way for long, or by chance.
void perform_some(Cluster& c);
// Lets parked try_waits return false; false if that has been done since anything changed.
bool time_out_waits(Cluster& c);
// Whether a parked try_wait is in a loop that also reads global memory.
bool polls_global(const Cluster& c);

// What a test of an mbarrier waits for.
std::string describe_mbarrier(const Cta& cta, uint32_t offset, uint64_t wanted);

// ---- Elsewhere -------------------------------------------------------------------------------------------

// The result of test_wait and try_wait (mbarrier.cpp).
void deliver_test(Warp& w, const Instruction& in, uint32_t mask, bool complete);
// Whether test_wait or try_wait asks for a parity.
bool tests_parity(const Instruction& in);
// Whether a wait for copies is over; then what they did is ordered before what follows (copy.cpp).
bool finish_copies(Warp& w, const Instruction& in, uint32_t mask, uint32_t but);
// One element's update of memory (atomic.cpp): its old value; `changed` is set if it changes.
uint64_t update_at(uint8_t* place, unsigned bytes, Update update, uint64_t b, uint64_t c, bool* changed);
// The update of an operation's name on a type's, nullptr if there is none; `bytes` of the element.
Update find_update(std::string_view operation, std::string_view type, bool global, unsigned* bytes);

}  // namespace pyptx::emulator
