// What instructions on matrices share: fragments in registers.
//
// Which element a lane holds is the manual's ("Matrix Fragments for mma", "ldmatrix", "Register Fragments" of
// wgmma): blocks of 8 lines, of which lane l has line l / 4, and in it as many neighbours as a register holds, from
// l % 4 times as many on.
#pragma once

#include "machine/warp.h"
#include "elements.h"

namespace pyptx::emulator {

constexpr unsigned kBlockLines = 8, kLineLanes = 4;

// Operands beyond those that an instruction holds itself.
inline uint32_t slot(const Instruction& in, unsigned k) { return k < kInlineOperands ? in.operand[k] : in.more[k]; }

template <class T>
inline T* held(Warp& w, const Instruction& in, unsigned k) {
  const uint32_t at = slot(in, k);
  return reinterpret_cast<T*>(registers(w).base[at >> 31] + (at & ~kPoolBit));
}

// The bits of an element of a multiplicand: of line `line`, place `along`, where the registers from slot `first` count
// blocks of lines first, of which there are `lines` in all.
inline uint32_t element(Warp& w, const Instruction& in, unsigned first, unsigned lines, unsigned bits, unsigned line,
                        unsigned along) {
  const unsigned per = 32 / bits, wide = kLineLanes * per;
  const unsigned reg = along / wide * (lines / kBlockLines) + line / kBlockLines;
  const unsigned lane = line % kBlockLines * kLineLanes + along % wide / per;
  const uint32_t word = held<uint32_t>(w, in, first + reg)[lane];
  return bits == 32 ? word : word >> (along % per * bits) & ((1u << bits) - 1);
}

// Whether the whole warp is here; lanes that never come are reported, and the others go on without them.
bool together(Warp& w, const Instruction& in, uint32_t mask);

void wrong_matrix(Warp& w, const Instruction& in, unsigned lane, const std::string& note);

Handler resolve_mma(Decoding& d);

}  // namespace pyptx::emulator
