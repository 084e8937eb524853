#include "shared_matrix.h"

#include "access.h"
#include "matrix.h"

namespace pyptx::emulator {

SharedMatrix read_matrix(uint64_t descriptor, uint32_t swizzle) {
  const auto field = [&](unsigned first) { return static_cast<uint32_t>(descriptor >> first & 0x3fffu) << 4; };
  return {field(0), field(16), field(32), static_cast<uint32_t>(descriptor >> 49 & 7u), swizzle};
}

uint32_t chunk_address(const SharedMatrix& d, bool columns, uint32_t line, uint32_t chunk) {
  const uint32_t wide = 1u << d.swizzle, block = line / kBlockLines;
  uint32_t at = d.start + line % kBlockLines * wide * kChunk;
  if (d.swizzle != 0) at += chunk % wide * kChunk + chunk / wide * d.leading + block * d.stride;
  else at += columns ? chunk * d.stride + block * d.leading : chunk * d.leading + block * d.stride;
  return at ^ (((at >> 7) - d.base) & (wide - 1)) << 4;
}

namespace {

// "Matrix Descriptor Format": a matrix that does not begin where its swizzle's pattern repeats says so in its base
// offset, or tensor cores read chunks that lie elsewhere.
bool begins_with_pattern(Warp& w, const Instruction& in, const SharedMatrix& d) {
  const uint32_t wide = 1u << d.swizzle, line = d.start >> 7 & (wide - 1);
  if (((line - d.base) & (wide - 1)) == 0) return true;
  wrong_matrix(w, in, 0, "a matrix begins " + std::to_string(line * 128) + " bytes into its swizzle's pattern of " +
                             std::to_string(wide * 128) + " bytes, and its descriptor has base offset " +
                             std::to_string(d.base) + ": align it to the pattern, or give base offset " +
                             std::to_string(line));
  return false;
}

// The same of the warp's own CTA, where all of them lie in its memory; else what was found is of no use.
bool find_own_chunks(const Warp& w, const Cta& owner, const SharedMatrix& matrix, bool columns, const ChunkRange& range,
                     std::vector<uint32_t>* out) {
  const uint32_t size = w.worker->launch->shared_bytes, window = owner.shared_base & 0x3ffffu;
  if (&owner != w.cta || owner.live_warps == 0 || size < kChunk || window % kChunk != 0) return false;
  bool inside = true;
  out->resize(size_t{range.lines} * range.chunks);
  uint32_t* place = out->data();
  for (uint32_t line = range.first_line; line < range.first_line + range.lines; ++line) {
    for (uint32_t chunk = range.first_chunk; chunk < range.first_chunk + range.chunks; ++chunk) {
      const uint32_t at = chunk_address(matrix, columns, line, chunk) - window;  // what wraps is outside
      inside &= at <= size - kChunk;
      *place++ = at;
    }
  }
  return inside;
}

}  // namespace

bool find_chunks(Warp& w, const Instruction& in, Cta& owner, const SharedMatrix& matrix, bool columns,
                 const ChunkRange& range, std::vector<uint32_t>* out) {
  if (!begins_with_pattern(w, in, matrix)) return false;
  const uint32_t window = owner.shared_base & 0x3ffffu;
  const Space space = &owner == w.cta ? Space::Shared : Space::SharedCluster;
  if (find_own_chunks(w, owner, matrix, columns, range, out)) return true;
  out->clear();
  for (uint32_t line = range.first_line; line < range.first_line + range.lines; ++line) {
    for (uint32_t chunk = range.first_chunk; chunk < range.first_chunk + range.chunks; ++chunk) {
      const uint64_t address = uint64_t{owner.shared_base} - window + chunk_address(matrix, columns, line, chunk);
      Cta* there;
      uint32_t offset;
      if (!find_shared(w, in, space, address, kChunk, kChunk, 0, false, &there, &offset)) return false;
      out->push_back(offset);
    }
  }
  return true;
}

}  // namespace pyptx::emulator
