// Matrices in shared memory that tensor cores read by a descriptor (PTX ISA, "Strides", "Canonical Layouts").
#pragma once

#include <cstdint>
#include <vector>

#include "machine/warp.h"

namespace pyptx::emulator {

constexpr unsigned kChunk = 16;  // bytes that stay together in every swizzle

// Distances in bytes. A swizzle flips so many bits of the number of a chunk.
struct SharedMatrix {
  uint32_t start, leading, stride, base, swizzle;
};

// The fields that descriptors of wgmma and of tcgen05 have in common.
SharedMatrix read_matrix(uint64_t descriptor, uint32_t swizzle);

// The address of a chunk, in the 18 bits that descriptors have. Lines are the rows of what is next to each other: of M
// or N where K is, or, with `columns`, of K where M or N is.
uint32_t chunk_address(const SharedMatrix& matrix, bool columns, uint32_t line, uint32_t chunk);

// So many chunks of so many lines.
struct ChunkRange {
  uint32_t first_chunk, chunks, first_line, lines;
};

// Where they lie, line by line, as offsets in the shared memory of a CTA of the cluster; nullptr, and a finding, if some
// do not.
ChunkPlaces find_chunks(Warp& w, const Instruction& in, Cta& owner, const SharedMatrix& matrix, bool columns,
                        const ChunkRange& range);

}  // namespace pyptx::emulator
