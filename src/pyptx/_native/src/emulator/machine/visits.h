// Accesses of a CTA's shared memory by other CTAs of its cluster: that they come before its exit, after which the
// memory is another CTA's (PTX ISA, "Shared State Space"; CUDA Programming Guide, "Distributed Shared Memory").
#pragma once

#include <cstdint>
#include <vector>

namespace pyptx::emulator {

struct Warp;
struct Cta;
struct Instruction;
struct Mbarrier;

// The last access by a warp of another CTA; clock 0 for none.
struct Visit {
  uint32_t clock = 0, instruction = 0, offset = 0, lane = 0;
  bool store = false;
  uint64_t phase = 0;  // of an mbarrier that it arrived at
};

using Visits = std::vector<Visit>;  // by the warp's agent

// A warp loads, stores or changes atomically at an offset in the memory of `owner`.
void record_visit(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, unsigned lane, bool store);
// It changes an mbarrier there. Who sees the phase end knows that too.
void record_visit(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, unsigned lane, Mbarrier& b);
// A thread of the CTA whose memory it is has loaded the newest value at an offset, which orders the store of it, and no
// other access, before what the thread does next.
void observe_visits(Cta& owner, uint64_t offset);
// That the CTA whose memory it is has started before.
void check_started(Warp& w, const Instruction& in, const Cta& owner, uint32_t offset, unsigned lane, bool store);
// The last warp of the CTA has exited.
void check_visits(Cta& cta);
void forget_visits(Cta& cta);

}  // namespace pyptx::emulator
