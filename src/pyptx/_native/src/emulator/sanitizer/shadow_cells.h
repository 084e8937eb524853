// How the shadow of shared memory says who touched a cell; shared by the files of this folder.
#pragma once

#include <cstring>

#include "sanitizer.h"
#include "machine/warp.h"

namespace pyptx::emulator {

// agent:9 | several lanes:1 | strong accesses too:1 | lane:5 | clock:16. Clocks start at 1, so 0 is nobody. The highest
// agent stands for several concurrent readers, which are in SharedShadow::readers; the other bits are 0 then.

constexpr uint32_t kManyAgents = 511, kMaxAgents = 510;
// Agents that asynchronous operations have from the start; there are more where these are all under way.
constexpr uint32_t kFirstForks = 32;
constexpr uint32_t kMaxForkClock = 0x3fff;
constexpr uint32_t kAgentShift = 23, kLaneShift = 16;
constexpr uint32_t kSeveral = 1u << 22, kStrong = 1u << 21, kClockMask = 0xffffu;
constexpr uint32_t kMaxClock = 0xffffu;
// What SharedShadow::readers keeps of a reader: its clock and lanes.
constexpr uint32_t kReaderMask = kClockMask | 31u << kLaneShift | kSeveral;

constexpr uint32_t agent_of(uint32_t who) { return who >> kAgentShift; }
constexpr uint32_t lane_of(uint32_t who) { return who >> kLaneShift & 31u; }
constexpr uint32_t clock_of(uint32_t who) { return who & kClockMask; }

// One access, as it will be recorded and as it sees others.
struct Party {
  const ClusterClocks* all;
  const uint32_t* clocks;
  uint32_t agents, agent, own, synced;
  uint32_t who;    // for lane 0
  uint32_t lanes;  // of several lanes that do the same
  uint32_t warp;   // whose knowledge it is: the agent, or of an operation who issues it
  // A store of one value to one place by all lanes of the warp comes after their own loads of it, and where they have
  // executed a .sync instruction together, after each other's: those before this clock.
  uint32_t together = 0;
  // A write of the asynchronous proxy comes after operations that are known to have ended.
  bool after_ended = false;

  uint32_t who_of(uint32_t lane, bool several) const { return who | lane << kLaneShift | (several ? kSeveral : 0); }

  // Whether what `other` did happens before this access in `lane`.
  bool fine(uint32_t other, uint32_t lane, bool several) const {
    if (fine_for_all(other, lane, several)) return true;
    const uint32_t mask = several ? lanes : 1u << lane, a = agent_of(other), clock = clock_of(other);
    if (all->knows(warp, mask, a, clock, lane_of(other), (other & kSeveral) != 0)) return true;
    return after_ended && a >= all->warps() && all->knows(warp, mask, all->column(a, Known::Ended), clock, 0, true);
  }
  // The same by what all lanes know of all lanes of another warp.
  bool fine_for_all(uint32_t other, uint32_t lane, bool several) const {
    const uint32_t clock = clock_of(other), a = agent_of(other);
    return clock == 0 || (a != agent ? clock <= clocks[a] : orders_own(other, lane, several));
  }
  // The same for what a lane of the same warp did: one lane's accesses are in order.
  bool orders_own(uint32_t other, uint32_t lane, bool several) const {
    return clock_of(other) < synced || (!several && !(other & kSeveral) && lane_of(other) == lane);
  }
};

Party party_of(const Warp& w, uint32_t lanes);

inline uint64_t cell_of(uint32_t who, uint32_t instruction) { return static_cast<uint64_t>(who) << 32 | instruction; }
inline uint32_t who_in(uint64_t cell) { return static_cast<uint32_t>(cell >> 32); }

// A finding at a place in the shared memory of a CTA.
Finding finding_at(const Warp& w, const Instruction& in, unsigned lane, Kind kind, const Cta& owner, uint32_t offset,
                   uint32_t bytes);
// Who an agent is; for one that is an operation, the thread that issued it where that is still known.
Site site_of_agent(const Warp& w, uint32_t agent, uint32_t lane, uint32_t clock, uint32_t instruction, bool store);
void report_race(Warp& w, const Instruction& in, const Cta& owner, uint32_t offset, unsigned lane, uint32_t bytes,
                 bool store, const Site& other, const char* note, const Touch& touch);
Touch touch_of_who(const Warp& w, uint32_t who);
// The latest reader of a cell that is not ordered before the access; kNone if there is none.
uint32_t reader_against(const SharedShadow& s, uint32_t index, const Party& p, uint32_t lane, bool several);
// What is kept of a reader, as a cell has it.
uint32_t reader_entry(const SharedShadow& s, uint32_t index, uint32_t reader);
// A load of local memory of which some of the cells have no value: true if its registers have none now, and its use is
// the finding. A store there of registers of which some bytes have none.
bool load_missing(Warp& w, const Instruction& in, uint64_t address, unsigned lane, uint32_t bytes, const uint8_t* cells,
                  uint32_t shift);
void store_missing(Warp& w, const Instruction& in, unsigned lane, uint32_t bytes, uint8_t* cells, uint32_t shift);
void report_uninitialised(Warp& w, const Instruction& in, Space space, uint64_t address, unsigned lane, uint32_t bytes);
void record_load(SharedShadow& s, const Party& p, uint32_t index, uint32_t lane, bool several, uint32_t instruction);
// Whether all of so many neighbouring cells have a value (SharedShadow::written).
inline bool all_written(const uint8_t* written, uint32_t count) {
  constexpr uint64_t kWritten = 0x0101010101010101u;
  uint64_t all = kWritten;
  for (; count >= 8; count -= 8, written += 8) {
    uint64_t eight;
    std::memcpy(&eight, written, 8);
    all &= eight;
  }
  for (; count != 0; --count, ++written) all &= *written | (kWritten & ~uint64_t{0xff});
  return all == kWritten;
}
// Neighbouring cells that lanes access side by side: cell i is accessed by lane `lane + (i >> lane_shift)`, or by that
// lane and others where `several` lanes load the same.
struct CellRange {
  uint32_t first, count, lane, lane_shift;
  bool several;
};
// All cells of weak accesses at once (shadow_range.cpp); false, and nothing is done, if something needs a closer look.
// What is recorded is what check_cell would record, lane by lane.
bool check_cells(SharedShadow& s, const Party& p, const CellRange& range, bool store, uint32_t instruction);
// One cell, one lane (or several that read the same): what is wrong is reported, and the access recorded.
void check_cell(Warp& w, const Instruction& in, Cta& owner, const Party& p, uint32_t index, unsigned lane, bool several,
                uint32_t bytes, bool store, Order order);
// A strong access that an access of the warp's lanes races with; nullptr if there is none.
const Touch* unordered_touch(const Warp& w, const Touches& touches, const Touch& mine, uint32_t mask, bool strong);
// Whether what was touched happens before what the lanes do now.
bool touched_before(const Warp& w, const Touch& other, uint32_t mask);
Touch touch_of(const Warp& w, const Instruction& in, unsigned lane, bool store, Scope scope);
Site site_of_touch(const Touch& touch);
// How a race of two accesses is reported where scopes make it one.
void report_narrow(Warp& w, Finding f, const Touch& other, Scope mine, bool strong);
// Bytes that one access loads or stores: a load of what was never stored is reported.
void initialise_range(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t length, unsigned lane,
                      uint32_t bytes, bool load);

}  // namespace pyptx::emulator
