// Which registers a kernel may read before it writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pyptx::emulator {

// What an instruction reads and writes, as register numbers.
struct Uses {
  std::vector<uint32_t> sources, destinations;
  std::vector<uint32_t> conditional;  // also read, where the predicate holds that is the first bound operand
};

// Where an instruction may go.
struct Flow {
  bool guarded = false;
  bool leaves = false;  // without a guard, the next instruction is not reached from it
  std::vector<uint32_t> targets;
};

// Registers that are live at `entry`, where the kernel starts: along some path through the code, whatever its conditions,
// they are read before they are written. All registers for code too big to analyse.
std::vector<uint32_t> live_at_start(const std::vector<Flow>& flow, const std::vector<Uses>& uses, uint32_t registers,
                                    uint32_t entry);

}  // namespace pyptx::emulator
