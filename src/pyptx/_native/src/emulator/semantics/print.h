// printf: the function that device code calls is vprintf, which is the system's and has no body in PTX.
#pragma once

#include "machine/warp.h"

namespace pyptx::emulator {

// One lane's call with the generic addresses of a format and of a buffer with what it formats. The text goes to
// the launch; gives what vprintf returns. What is wrong with the format is reported.
// Source: CUDA C++ Programming Guide, "Formatted Output".
int32_t print(Warp& w, const Instruction& in, unsigned lane, uint64_t format, uint64_t arguments);

// A text that ends in a zero byte, for one lane. False for one that cannot be read, which has been reported.
bool read_text(Warp& w, const Instruction& in, unsigned lane, uint64_t address, std::string* text);

}  // namespace pyptx::emulator
