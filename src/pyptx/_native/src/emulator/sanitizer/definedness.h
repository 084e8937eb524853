// Which bytes of registers have values, for handlers outside of the sanitizer.
#pragma once

#include <cstdint>

namespace pyptx::emulator {

struct Warp;
struct Instruction;

// A function gives back a register: a use of what a load of local memory brought without a value.
void check_returned(Warp& w, const Instruction& call, uint32_t r, unsigned lane);

}  // namespace pyptx::emulator
