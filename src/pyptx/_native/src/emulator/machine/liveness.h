// Where the registers of a kernel are live, and which of them it may read before it writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pyptx::emulator {

// An instruction that only moves bytes: what has no value goes on without one. Register numbers, kHasValue for what is
// no register or always has a value.
struct Moved {
  enum class Kind : uint8_t {
    None,
    Join,     // mov: the bytes of `from`, one after the other, to `to`
    Split,    // mov: those of `from` to the registers of `to`
    Permute,  // prmt: bytes of two registers, by a selector
    Cut,      // cvt of integers: the first bytes, and what extends them
    Store,    // st: a register of which some bytes have values may be stored, and into local memory one without any
    Load,     // ld that may reach local memory, from which what has no value comes without one
  };
  static constexpr uint32_t kHasValue = 0xffffffffu;
  Kind kind = Kind::None;
  uint8_t bytes = 0;            // of one of several; of Cut: that are read; of Load and Store: of an element
  uint8_t kept = 0;             // of Cut: that are kept of them
  bool sign = false;            // of Cut and Load: the last byte extends them
  bool local = false;           // of Store: to local memory, or it may be
  std::vector<uint32_t> from, to;
  std::vector<uint32_t> read;  // registers of `from` or others that have to have values: a guard, an address, a selector
};

// What an instruction reads and writes, as register numbers.
struct Uses {
  std::vector<uint32_t> sources, destinations;
  std::vector<uint32_t> conditional;  // also read, where the predicate holds that is the first bound operand
  Moved moved;
  // What an instruction does with its sources, as far as it matters to whether a result is used: Computes and nothing
  // else; Tests an mbarrier.
  enum class Role : uint8_t { Other, Computes, Tests };
  Role role = Role::Other;
};

// Where an instruction may go.
struct Flow {
  bool guarded = false;
  bool leaves = false;  // without a guard, the next instruction is not reached from it
  std::vector<uint32_t> targets;
};

// The first and the last instruction that uses a register or where it is live.
struct Lifetime {
  uint32_t first = ~0u, last = 0;
};

struct Lives {
  // Registers that are live at `entry`, where the kernel starts: along some path through the code, whatever its
  // conditions, they are read before they are written. All registers for code too big to analyse.
  std::vector<uint32_t> at_start;
  std::vector<Lifetime> lifetimes;  // by register; none for such code
};

Lives find_lives(const std::vector<Flow>& flow, const std::vector<Uses>& uses, uint32_t registers, uint32_t entry);
// Whether nothing depends on what the instruction `at` writes, not even through instructions that only compute. `places`
// are to be looked at at most, and are fewer afterwards; false where they do not suffice.
bool ignores_result(const std::vector<Flow>& flow, const std::vector<Uses>& uses, uint32_t at, size_t* places);

}  // namespace pyptx::emulator
