// PTX ISA, "Data Movement and Conversion Instructions: cvt" and "cvt.pack".
#pragma once

#include "machine/machine.h"

namespace pyptx::emulator {

Handler resolve_convert(Decoding& d);

}  // namespace pyptx::emulator
