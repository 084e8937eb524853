#include "shared_matrix.h"

#include "access.h"
#include "matrix.h"

namespace pyptx::emulator {

SharedMatrix read_matrix(uint64_t descriptor, uint32_t swizzle) {
  const auto field = [&](unsigned first) { return static_cast<uint32_t>(descriptor >> first & 0x3fffu) << 4; };
  return {field(0), field(16), field(32), static_cast<uint32_t>(descriptor >> 49 & 7u), swizzle};
}

namespace {

// What of an address a line adds, and what a chunk; then what its swizzle makes of the sum.
uint32_t line_offset(const SharedMatrix& d, bool columns, uint32_t line) {
  const uint32_t apart = d.swizzle == 0 && columns ? d.leading : d.stride;
  return (line % kBlockLines * kChunk << d.swizzle) + line / kBlockLines * apart;
}

uint32_t chunk_offset(const SharedMatrix& d, bool columns, uint32_t chunk) {
  if (d.swizzle == 0) return chunk * (columns ? d.stride : d.leading);
  return chunk % (1u << d.swizzle) * kChunk + (chunk >> d.swizzle) * d.leading;
}

uint32_t swizzled(const SharedMatrix& d, uint32_t at) {
  return at ^ (((at >> 7) - d.base) & ((1u << d.swizzle) - 1)) << 4;
}

}  // namespace

uint32_t chunk_address(const SharedMatrix& d, bool columns, uint32_t line, uint32_t chunk) {
  return swizzled(d, d.start + line_offset(d, columns, line) + chunk_offset(d, columns, chunk));
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

// The chunks of a matrix of the warp's own CTA. It has them at the same offsets each time.
struct KnownChunks {
  SharedMatrix matrix{};
  ChunkRange range{};
  bool columns = false;
  uint32_t window = 0, size = 0;
  ChunkPlaces places;

  bool is(const KnownChunks& other) const {
    const SharedMatrix &a = matrix, &b = other.matrix;
    const ChunkRange &r = range, &s = other.range;
    return a.start == b.start && a.leading == b.leading && a.stride == b.stride && a.base == b.base &&
           a.swizzle == b.swizzle && r.first_chunk == s.first_chunk && r.chunks == s.chunks &&
           r.first_line == s.first_line && r.lines == s.lines && columns == other.columns && window == other.window &&
           size == other.size;
  }
};

// nullptr where not all of them lie in its memory.
ChunkPlaces own_chunks(const KnownChunks& k) {
  const uint32_t lines = k.range.lines, chunks = k.range.chunks;
  auto places = std::make_shared<std::vector<uint32_t>>(size_t{lines} * chunks);
  bool inside = true;
  for (uint32_t i = 0; i < chunks; ++i) {
    const uint32_t begin = k.matrix.start + chunk_offset(k.matrix, k.columns, k.range.first_chunk + i);
    uint32_t* place = places->data() + i;
    for (uint32_t line = k.range.first_line; line < k.range.first_line + lines; ++line, place += chunks) {
      *place = swizzled(k.matrix, begin + line_offset(k.matrix, k.columns, line)) - k.window;  // what wraps is outside
      inside &= *place <= k.size - kChunk;
    }
  }
  return inside ? places : nullptr;
}

// A loop over the stages of a ring finds the same tiles again and again.
ChunkPlaces find_own_chunks(KnownChunks k) {
  constexpr uint32_t kBits = 7;
  static thread_local KnownChunks all[1u << kBits];
  const uint32_t key = k.matrix.start / kChunk + ((k.range.first_line + k.range.lines) << 16);
  KnownChunks& known = all[key * 0x9e3779b1u >> (32 - kBits)];
  if (known.places != nullptr && known.is(k)) return known.places;
  k.places = own_chunks(k);
  if (k.places != nullptr) known = k;
  return k.places;
}

}  // namespace

ChunkPlaces find_chunks(Warp& w, const Instruction& in, Cta& owner, const SharedMatrix& matrix, bool columns,
                        const ChunkRange& range) {
  if (!begins_with_pattern(w, in, matrix)) return nullptr;
  const uint32_t window = owner.shared_base & 0x3ffffu, size = w.worker->launch->shared_bytes;
  const Space space = &owner == w.cta ? Space::Shared : Space::SharedCluster;
  if (&owner == w.cta && owner.live_warps != 0 && size >= kChunk && window % kChunk == 0) {
    ChunkPlaces own = find_own_chunks({matrix, range, columns, window, size, nullptr});
    if (own != nullptr) return own;
  }
  auto places = std::make_shared<std::vector<uint32_t>>();
  for (uint32_t line = range.first_line; line < range.first_line + range.lines; ++line) {
    for (uint32_t chunk = range.first_chunk; chunk < range.first_chunk + range.chunks; ++chunk) {
      const uint64_t address = uint64_t{owner.shared_base} - window + chunk_address(matrix, columns, line, chunk);
      Cta* there;
      uint32_t offset;
      if (!find_shared(w, in, space, address, kChunk, kChunk, 0, false, &there, &offset)) return nullptr;
      places->push_back(offset);
    }
  }
  return places;
}

}  // namespace pyptx::emulator
