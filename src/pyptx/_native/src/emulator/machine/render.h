// An instruction of an image as PTX would write it, for reports. An image has no names of registers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program.h"

namespace pyptx::emulator {

// The predicate that an instruction is guarded by; kNoRegister if none.
struct Guard {
  uint32_t predicate;
  bool negated;
};

std::string render(const Program& program, std::string_view spelling, Guard guard,
                   const std::vector<OperandView>& operands);

}  // namespace pyptx::emulator
