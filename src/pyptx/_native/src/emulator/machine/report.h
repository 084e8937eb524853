// Findings: collected while a launch runs, deduplicated, and rendered for a person and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "memory.h"

namespace pyptx::emulator {

struct Launch;
struct SourceTable;
struct Warp;
struct Instruction;

enum class Kind : uint8_t {
  // Always checked; each stops the launch.
  OutOfBounds, Misaligned, ReadOnly, Deadlock, Runaway, Trap, BadBarrier, BadMbarrier, BadCopy, BadMatrix,
  BadTensorMemory, BadTexture, BadBranch, BadCall, StackOverflow, Budget, Residency,
  // Always checked; the launch runs to its end.
  IndexOutOfRange, UnwrittenOutput,
  // The sanitizer's; the launch runs to its end.
  UninitialisedMemory, UninitialisedRegister, UnassignedPredicate, SharedRace, GlobalRace, NarrowScope,
  DivergentBarrier, AbsentLane, BadMembermask, ProxyRace, UnorderedInit, MbarrierAccess, PhaseOverrun,
  UnfinishedCopy, EarlyAccess, EarlyExit, NonCoherentLoad, RegisterFile, RegisterRace, TensorRace, TensorFence, UnfreedTensorMemory,
};

constexpr uint32_t kNone = 0xffffffffu;

// Who did something where. kNone where it is not known.
struct Site {
  uint32_t instruction = kNone;
  uint64_t cta = ~0ull;  // id in the grid, row-major; ~0 if not known
  uint32_t warp = kNone, lane = kNone;
  bool store = false;
};

struct Finding {
  Kind kind;
  Site site, other;
  bool has_address = false;
  Space space = Space::Global;
  uint64_t address = 0;  // in its space
  uint32_t bytes = 0;
  std::string note;
  uint64_t count = 1;
};

// A row of the table of who waits for what.
struct WaitRow {
  Site site;
  uint32_t lanes = 0;
  std::string waits;
};

class Findings {
 public:
  // Counts a finding; the first of its (kind, instruction, other instruction) is kept, of several CTAs' the one in the
  // lowest. Of different ones a fixed number are kept, the lowest in that order: which are does not depend on when
  // they came. Of outputs that were not written all are kept.
  void add(Finding finding);
  void add_wait(WaitRow row);
  bool empty() const { return found_.empty() && unwritten_.empty(); }
  bool waits_wanted() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waits_wanted_;
  }
  bool stopped() const { return stopped_; }
  std::string message(const Launch& launch) const;
  std::string json(const Launch& launch) const;

 private:
  // Those to report, races first: what is missing before what follows from that.
  std::vector<Finding> sorted(const SourceTable& table) const;

  std::mutex mutex_;
  std::map<std::tuple<Kind, uint32_t, uint32_t>, Finding> found_;
  std::vector<Finding> unwritten_;
  std::vector<WaitRow> waits_;
  bool stopped_ = false, waits_wanted_ = false;
  uint64_t found_cut_ = 0, waits_cut_ = 0;  // that are counted and not kept
};

bool stops(Kind kind);

// Adds a finding for each output of which elements were never written.
void report_unwritten(Launch& launch);

// The site of a lane of the running warp at an instruction.
Site site_of(const Warp& w, const Instruction& in, unsigned lane, bool store = false);

// Adds a finding; one of a kind that stops makes the launch stop.
void report(Warp& w, Finding finding);
void report(Warp& w, Kind kind, const Site& site, std::string note);

// Source lines and names of tensors and registers, for the whole process.
struct SourceLine {
  std::string file, text;
  uint32_t line = 0;
};
struct SourceTable {
  std::vector<SourceLine> lines;
  std::vector<std::string> tensors, registers;
  SourceLine kernel;  // where it is defined

  // "file:line" of an instruction, "" where it is not known.
  std::string place(uint32_t instruction) const;
  // An instruction or a note in which registers, %r0 and %p1 in the core, have the file's names.
  std::string named(const std::string& text) const;
};
void register_source(uint64_t hash, SourceTable table);
// A copy: the table may be replaced meanwhile.
SourceTable source_of(uint64_t hash);

}  // namespace pyptx::emulator
