// What the files of tcgen05 share (PTX ISA, "TensorCore 5th Generation Family Instructions").
#pragma once

#include "machine/tensor_memory.h"
#include "copy.h"
#include "matrix.h"
#include "modifiers.h"
#include "shared_matrix.h"
#include "spelling.h"

namespace pyptx::emulator {

// An address in Tensor Memory: [register + offset].
struct TensorPointer {
  uint8_t slot = 0;
  uint32_t offset = 0;
};

// .cta_group: of how many CTAs.
bool take_tensor_group(Modifiers& m, unsigned* ctas);
bool bind_tensor_pointer(Decoding& d, unsigned operand, TensorPointer* pointer);

inline TensorAddress address_of(Warp& w, const Instruction& in, const TensorPointer& p, unsigned lane) {
  return tensor_address(held<uint32_t>(w, in, p.slot)[lane] + p.offset);
}

// Behind "ld", "st", "mma", "cp" and "shift".
Handler resolve_tensor_move(Decoding& d, Modifiers& m, bool store);
Handler resolve_tensor_product(Decoding& d, Modifiers& m);
Handler resolve_tensor_cp(Decoding& d, Modifiers& m);
Handler resolve_tensor_shift(Decoding& d, Modifiers& m);

// Ends what a warp has not waited for (tcgen05_move.cpp).
void finish_tensor_loads(Warp& w);
void finish_tensor_stores(Warp& w);

// A descriptor of a matrix in shared memory; false, and a finding, for what the manual gives no meaning, or for what
// the emulator does not run. `what` names the matrix.
bool read_tensor_matrix(Warp& w, const Instruction& in, unsigned lane, uint64_t descriptor, const char* what,
                        SharedMatrix* matrix);

}  // namespace pyptx::emulator
