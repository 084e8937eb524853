// What the files of mma.sync share (PTX ISA, "Multiply-and-Accumulate Instruction: mma").
#pragma once

#include "matrix.h"
#include "modifiers.h"
#include "spelling.h"

namespace pyptx::emulator {

constexpr unsigned kColumns = 8;

// mKnNkK; `operands` are the vectors D, A, B, C.
struct MmaShape {
  std::string_view name;
  unsigned m, k;
};

bool read_shape(std::string_view name, MmaShape* shape);

// Binds `count` registers of `width` bits.
bool bind_registers(Decoding& d, unsigned operand, unsigned count, unsigned width, bool write);

// Of f64 and of single bits (mma_exact.cpp), and the four small products of m8n8k4 with f16 (mma_quad_pairs.cpp): from
// the modifiers behind the layouts on.
Handler resolve_mma_doubles(Decoding& d, Modifiers& m, const MmaShape& shape);
Handler resolve_mma_bits(Decoding& d, Modifiers& m, const MmaShape& shape);
Handler resolve_mma_quad_pairs(Decoding& d, Modifiers& m, bool a_columns, bool b_columns);

}  // namespace pyptx::emulator
