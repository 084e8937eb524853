#include "access.h"

#include <algorithm>

#include "modifiers.h"

namespace pyptx::emulator {
namespace {

void report_access(Warp& w, const Instruction& in, const AccessPlan& plan, Kind kind, Space space, uint64_t address,
                   unsigned lane, const char* note = "") {
  Finding f{};
  f.kind = kind;
  f.site = site_of(w, in, lane, plan.access != Access::Load);
  f.has_address = true;
  f.space = space;
  f.address = address;
  f.bytes = plan.bytes;
  f.note = note;
  report(w, f);
}

bool misaligned(const AccessPlan& plan, uint64_t address) { return (address & (plan.bytes - 1u)) != 0; }

// ---- Statistics ------------------------------------------------------------------------------------------

void add_request(PyptxInstructionStatistics& s, uint64_t sectors, uint64_t ideal_sectors, uint64_t wavefronts,
                 uint64_t ideal_wavefronts) {
  ++s.requests;
  s.sectors += sectors;
  s.ideal_sectors += ideal_sectors;
  s.wavefronts += wavefronts;
  s.ideal_wavefronts += ideal_wavefronts;
}

void count_sectors(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask) {
  uint64_t sectors[kLanes * 2], starts[kLanes];
  size_t n = 0, lanes = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    starts[lanes++] = a.at[l];
    for (uint64_t s = a.at[l] >> 5; s <= (a.at[l] + plan.bytes - 1) >> 5 && n < std::size(sectors); ++s) sectors[n++] = s;
  }
  std::sort(sectors, sectors + n);
  std::sort(starts, starts + lanes);
  const auto touched = static_cast<uint64_t>(std::unique(sectors, sectors + n) - sectors);
  const auto distinct = static_cast<uint64_t>(std::unique(starts, starts + lanes) - starts);
  add_request(w.worker->statistics[in.index], touched, (distinct * plan.bytes + 31) / 32, 0, 0);
}

// Passes through 32 banks of 4 bytes; 8-byte accesses go in two halves of the warp, 16-byte ones in four.
void count_wavefronts(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask) {
  const unsigned words = std::max(1u, plan.bytes / 4u);
  const unsigned lanes = words >= 8 ? 4 : words >= 4 ? 8 : words >= 2 ? 16 : 32;
  uint64_t passes = 0, ideal = 0;
  for (unsigned first = 0; first < kLanes; first += lanes) {
    uint64_t seen[kLanes];
    unsigned n = 0;
    uint8_t per_bank[32] = {0};
    uint8_t most = 0;
    for (unsigned l = first; l < first + lanes; ++l) {
      if (!(mask >> l & 1u)) continue;
      for (unsigned k = 0; k < words; ++k) {
        const uint64_t word = a.at[l] / 4 + k;
        if (std::find(seen, seen + n, word) != seen + n || n == kLanes) continue;
        seen[n++] = word;
        most = std::max(most, ++per_bank[word & 31u]);
      }
    }
    passes += most;
    ideal += (n + 31) / 32;
  }
  add_request(w.worker->statistics[in.index], 0, 0, passes, ideal);
}

// What the lanes of one instruction store: neighbours are marked as one.
class Stored {
 public:
  explicit Stored(bool has_value) : has_value_(has_value) {}
  Stored(const Stored&) = delete;
  ~Stored() { mark(); }
  void add(Buffer& buffer, uint64_t at, uint64_t bytes) {
    if (!buffer.written.wanted()) return;
    if (&buffer == buffer_ && at == hi_) {
      hi_ += bytes;
      return;
    }
    mark();
    buffer_ = &buffer;
    lo_ = at;
    hi_ = at + bytes;
  }

 private:
  void mark() {
    if (buffer_ != nullptr) buffer_->mark(lo_, hi_ - lo_, has_value_);
  }

  bool has_value_;
  Buffer* buffer_ = nullptr;
  uint64_t lo_ = 0, hi_ = 0;
};

// ---- Spaces ----------------------------------------------------------------------------------------------

template <bool kSanitized>
uint32_t locate_global(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask,
                       Places& places) {
  Memory& memory = w.worker->launch->memory;
  uint32_t& hint = w.worker->buffer_hint[in.index];
  Stored stored(!plan.discards);
  uint32_t good = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    const uint64_t at = a.at[l];
    Buffer* buffer = memory.find(at, at + plan.bytes, hint);
    if (buffer == nullptr) {
      report_access(w, in, plan, Kind::OutOfBounds, Space::Global, at, l);
    } else if (misaligned(plan, at)) {
      report_access(w, in, plan, Kind::Misaligned, Space::Global, at, l);
    } else if (buffer->read_only && plan.access != Access::Load) {
      report_access(w, in, plan, Kind::ReadOnly, Space::Global, at, l);
    } else {
      good |= 1u << l;
      places.at[l] = reinterpret_cast<uint8_t*>(at);
      if (plan.access != Access::Load) stored.add(*buffer, at, plan.bytes);
      if (kSanitized && buffer->watched) note_visit(w, in, at, plan.bytes, l, plan.access != Access::Load);
      if (kSanitized && buffer->stores != nullptr) {
        check_global(w, in, *buffer, at, l, plan.bytes, plan.access, plan.order, nullptr, true);
      }
    }
  }
  if (w.worker->statistics != nullptr && good != 0) count_sectors(w, in, plan, a, good);
  return good;
}

// Offsets in the shared memory of the CTA that each address names; lanes that name none, or are not aligned,
// are reported.
uint32_t own_offsets(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask,
                     uint32_t* offsets) {
  const uint64_t base = w.cta->shared_base;
  const uint64_t size = w.worker->launch->shared_bytes;
  const uint64_t end = size >= plan.bytes ? size - plan.bytes : 0;
  uint64_t most = 0, bits = 0;
  PYPTX_EACH_LANE(l) {
    const uint64_t offset = (mask >> l & 1u) ? a.at[l] - base : 0;
    offsets[l] = static_cast<uint32_t>(offset);
    most = offset > most ? offset : most;
    bits |= offset;
  }
  if (__builtin_expect(most <= end && size >= plan.bytes && !misaligned(plan, bits), 1)) return mask;
  uint32_t good = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    const uint64_t offset = a.at[l] - base;
    if (offset > end || size < plan.bytes) {
      report_access(w, in, plan, Kind::OutOfBounds, Space::Shared, a.at[l], l);
    } else if (misaligned(plan, a.at[l])) {
      report_access(w, in, plan, Kind::Misaligned, Space::Shared, a.at[l], l);
    } else {
      good |= 1u << l;
    }
  }
  return good;
}

template <bool kSanitized>
uint32_t locate_own_shared(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask,
                           Places& places) {
  alignas(64) uint32_t offsets[kLanes];
  mask = own_offsets(w, in, plan, a, mask, offsets);
  uint8_t* shared = w.cta->shared;
  PYPTX_EACH_LANE(l) places.at[l] = shared + offsets[l];
  if (mask == 0) return 0;
  if (kSanitized) check_shared(w, in, *w.cta, offsets, mask, plan.bytes, plan.access, plan.order);
  if (w.worker->statistics != nullptr) count_wavefronts(w, in, plan, a, mask);
  return mask;
}

// Shared memory of any CTA of the cluster: lanes are grouped by the rank in their addresses.
template <bool kSanitized>
uint32_t locate_cluster_shared(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a,
                               uint32_t mask, Places& places) {
  Cluster& cluster = *w.cta->cluster;
  const uint32_t size = w.worker->launch->shared_bytes;
  uint32_t good = 0;
  for (uint32_t rest = mask; rest != 0;) {
    const uint64_t rank = a.at[__builtin_ctz(rest)] >> kRankShift;
    alignas(64) uint32_t offsets[kLanes] = {0};
    uint32_t group = 0, usable = 0;
    Cta* cta = rank < cluster.ctas.size() ? &cluster.ctas[rank] : nullptr;
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(rest >> l & 1u) || a.at[l] >> kRankShift != rank) continue;
      group |= 1u << l;
      const uint64_t offset = cta != nullptr ? a.at[l] - cta->shared_base : ~0ull;
      if (cta == nullptr || size < plan.bytes || offset > size - plan.bytes) {
        report_access(w, in, plan, Kind::OutOfBounds, Space::SharedCluster, a.at[l], l);
      } else if (misaligned(plan, offset)) {
        report_access(w, in, plan, Kind::Misaligned, Space::SharedCluster, a.at[l], l);
      } else if (cta->live_warps == 0) {
        report_access(w, in, plan, Kind::OutOfBounds, Space::SharedCluster, a.at[l], l,
                      "the CTA that owns this shared memory has exited");
      } else {
        offsets[l] = static_cast<uint32_t>(offset);
        places.at[l] = cta->shared + offset;
        usable |= 1u << l;
      }
    }
    rest &= ~group;
    good |= usable;
    if (kSanitized && usable != 0) check_shared(w, in, *cta, offsets, usable, plan.bytes, plan.access, plan.order);
  }
  if (w.worker->statistics != nullptr && good != 0) count_wavefronts(w, in, plan, a, good);
  return good;
}

template <bool kSanitized>
uint32_t locate_local(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask,
                      Places& places) {
  const uint32_t size = program_of(w).space_bytes[static_cast<size_t>(VariableSpace::Local)];
  uint32_t good = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    const uint64_t at = a.at[l];
    if (size < plan.bytes || at > size - plan.bytes) {
      report_access(w, in, plan, Kind::OutOfBounds, Space::Local, at, l);
    } else if (misaligned(plan, at)) {
      report_access(w, in, plan, Kind::Misaligned, Space::Local, at, l);
    } else {
      places.at[l] = w.cta->local + static_cast<size_t>(w.index * kLanes + l) * size + at;
      good |= 1u << l;
      if (kSanitized) check_local(w, in, static_cast<uint32_t>(at), l, plan.bytes, plan.access);
    }
  }
  return good;
}

// Constant and parameter memory: read only, the same bytes for every thread.
uint32_t locate_constant(Warp& w, const Instruction& in, const AccessPlan& plan, Space space, const uint8_t* bytes,
                         uint64_t size, const Addresses& a, uint32_t mask, Places& places) {
  uint32_t good = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    const uint64_t at = a.at[l];
    if (size < plan.bytes || at > size - plan.bytes) {
      report_access(w, in, plan, Kind::OutOfBounds, space, at, l);
    } else if (misaligned(plan, at)) {
      report_access(w, in, plan, Kind::Misaligned, space, at, l);
    } else if (plan.access != Access::Load) {
      report_access(w, in, plan, Kind::ReadOnly, space, at, l);
    } else {
      places.at[l] = const_cast<uint8_t*>(bytes) + at;
      good |= 1u << l;
    }
  }
  return good;
}

}  // namespace

template <bool kSanitized>
uint32_t locate(Warp& w, const Instruction& in, const AccessPlan& plan, Space space, const Addresses& a,
                uint32_t mask, Places& places) {
  const Launch& launch = *w.worker->launch;
  switch (space) {
    case Space::Global:
      return locate_global<kSanitized>(w, in, plan, a, mask, places);
    case Space::Shared:
      return locate_own_shared<kSanitized>(w, in, plan, a, mask, places);
    case Space::SharedCluster:
      return locate_cluster_shared<kSanitized>(w, in, plan, a, mask, places);
    case Space::Local:
      return locate_local<kSanitized>(w, in, plan, a, mask, places);
    case Space::Const:
      return locate_constant(w, in, plan, space, launch.memory.constants.data(), launch.memory.constants.size(), a,
                             mask, places);
    case Space::Param:
      return locate_constant(w, in, plan, space, static_cast<const uint8_t*>(launch.config.params),
                             launch.config.param_bytes, a, mask, places);
    case Space::Generic:
      return locate_any<kSanitized>(w, in, plan, a, mask, places);
  }
  return 0;
}

template <bool kSanitized>
uint32_t locate_any(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask,
                    Places& places) {
  uint32_t good = 0;
  for (uint32_t rest = mask; rest != 0;) {
    const Space space = space_of(a.at[__builtin_ctz(rest)]);
    Addresses inside;
    uint32_t group = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      const bool here = (rest >> l & 1u) && space_of(a.at[l]) == space;
      inside.at[l] = space == Space::Global ? a.at[l] : a.at[l] & ~kWindowMask;
      group |= static_cast<uint32_t>(here) << l;
    }
    rest &= ~group;
    good |= locate<kSanitized>(w, in, plan, space, inside, group, places);
  }
  return good;
}

template <bool kSanitized>
const uint8_t* locate_uniform(Warp& w, const Instruction& in, const AccessPlan& plan, uint64_t address) {
  const Launch& launch = *w.worker->launch;
  PyptxInstructionStatistics* statistics = w.worker->statistics;
  if (misaligned(plan, address)) return nullptr;
  const auto inside = [&](const void* bytes, uint64_t offset, uint64_t size) {
    return size >= plan.bytes && offset <= size - plan.bytes ? static_cast<const uint8_t*>(bytes) + offset : nullptr;
  };
  switch (plan.space) {
    case Space::Global: {
      Buffer* buffer = w.worker->launch->memory.find(address, address + plan.bytes, w.worker->buffer_hint[in.index]);
      if (buffer == nullptr || (kSanitized && (buffer->stores != nullptr || buffer->watched))) {
        return nullptr;
      }
      if (statistics != nullptr) {
        const uint64_t sectors = (plan.bytes + 31u) / 32u;
        add_request(statistics[in.index], sectors, sectors, 0, 0);
      }
      return reinterpret_cast<const uint8_t*>(address);
    }
    case Space::Shared: {
      const uint64_t offset = address - w.cta->shared_base;
      const uint8_t* place = inside(w.cta->shared, offset, launch.shared_bytes);
      if (place == nullptr) return nullptr;
      if (statistics != nullptr) add_request(statistics[in.index], 0, 0, 1, 1);
      if (kSanitized) check_shared_uniform(w, in, *w.cta, static_cast<uint32_t>(offset), kFullMask, plan.bytes, plan.order);
      return place;
    }
    case Space::Const:
      return inside(launch.memory.constants.data(), address, launch.memory.constants.size());
    case Space::Param:
      return inside(launch.config.params, address, launch.config.param_bytes);
    default:
      return nullptr;
  }
}

namespace {

// Asks for the memory that the instruction will touch next, if it goes on as from the last time to this: in the warp's
// next iteration, or in the same warp of the next CTA. Its shadow, too.
void fetch_ahead(Warp& w, const Instruction& in, const Buffer& buffer, uint64_t address, uint64_t length) {
  constexpr uint64_t kLine = 64;
  Worker& worker = *w.worker;
  if (worker.last_places.empty()) return;
  const uint64_t place = uint64_t{in.index} * worker.launch->warps_per_cta + w.index;
  uint64_t& last = worker.last_places[place % Worker::kPlaces];
  const uint64_t next = 2 * address - last;
  last = address;
  if (next == address || next < buffer.lo || next > buffer.hi - length) return;
  const auto fetch = [&](const void* from, uint64_t bytes) {
    for (uint64_t k = 0; k < bytes; k += kLine) __builtin_prefetch(static_cast<const uint8_t*>(from) + k, 0, 2);
  };
  fetch(reinterpret_cast<const void*>(next), length);
  if (buffer.stores == nullptr) return;
  const auto shift = static_cast<unsigned>(__builtin_ctz(program_of(w).global_granule));
  fetch(buffer.stores + ((next - buffer.lo) >> shift), (length >> shift) * sizeof *buffer.stores);
}

}  // namespace

template <bool kSanitized>
uint8_t* locate_global_range(Warp& w, const Instruction& in, const AccessPlan& plan, uint64_t address) {
  Worker& worker = *w.worker;
  const uint64_t end = address + static_cast<uint64_t>(plan.bytes) * kLanes;
  Buffer* buffer = worker.launch->memory.find(address, end, worker.buffer_hint[in.index]);
  if (buffer == nullptr || misaligned(plan, address)) return nullptr;
  fetch_ahead(w, in, *buffer, address, end - address);
  if (plan.access != Access::Load) {
    if (buffer->read_only) return nullptr;
    buffer->mark(address, end - address);
  }
  if (kSanitized && buffer->watched) {
    for (unsigned l = 0; l < kLanes; ++l) {
      note_visit(w, in, address + l * plan.bytes, plan.bytes, l, plan.access != Access::Load);
    }
  }
  if (kSanitized && buffer->stores != nullptr) {
    check_global_range(w, in, *buffer, address, plan.bytes, plan.access, plan.order);
  }
  if (worker.statistics != nullptr) {
    add_request(worker.statistics[in.index], ((end - 1) >> 5) - (address >> 5) + 1, plan.bytes, 0, 0);
  }
  return reinterpret_cast<uint8_t*>(address);
}

template <bool kSanitized>
uint8_t* locate_shared_range(Warp& w, const Instruction& in, const AccessPlan& plan, uint64_t address) {
  Worker& worker = *w.worker;
  const uint64_t offset = address - w.cta->shared_base;
  const uint64_t length = static_cast<uint64_t>(plan.bytes) * kLanes, size = worker.launch->shared_bytes;
  if (size < length || offset > size - length || misaligned(plan, address)) return nullptr;
  if (kSanitized) {
    check_shared_range(w, in, *w.cta, static_cast<uint32_t>(offset), plan.bytes, plan.access, plan.order);
  }
  if (worker.statistics != nullptr) {
    add_request(worker.statistics[in.index], 0, 0, (plan.bytes + 3u) / 4u, (plan.bytes + 3u) / 4u);
  }
  return w.cta->shared + offset;
}

template <bool kSanitized>
const uint8_t* locate_shared_pattern(Warp& w, const Instruction& in, const AccessPlan& plan, uint64_t address,
                                     const LanePattern& pattern) {
  const auto first = static_cast<int64_t>(address - w.cta->shared_base);
  const int64_t size = w.worker->launch->shared_bytes;
  if (first < 0 || first > size || first + pattern.low < 0 || first + pattern.high + plan.bytes > size) return nullptr;
  if (misaligned(plan, static_cast<uint64_t>(first) | pattern.bits)) return nullptr;
  if (kSanitized) {
    const LaneOffsets offsets{static_cast<uint32_t>(first), reinterpret_cast<const uint32_t*>(pattern.from_first)};
    check_shared_runs(w, in, *w.cta, offsets, kFullMask, plan.bytes, Access::Load, plan.order, pattern.runs);
  }
  return w.cta->shared + first;
}

void count_global(Warp& w, const Instruction& in, const Addresses& a, uint32_t mask, uint32_t bytes) {
  if (w.worker->statistics == nullptr || mask == 0 || bytes == 0) return;
  if ((mask & (mask - 1)) == 0) {
    const uint64_t first = a.at[__builtin_ctz(mask)];
    add_request(w.worker->statistics[in.index], ((first + bytes - 1) >> 5) - (first >> 5) + 1, (bytes + 31) / 32, 0, 0);
    return;
  }
  AccessPlan plan;
  plan.bytes = static_cast<uint8_t>(bytes);
  count_sectors(w, in, plan, a, mask);
}

namespace {

bool report_place(Warp& w, const Instruction& in, Kind kind, Space space, uint64_t address, uint32_t bytes,
                  unsigned lane, bool store, const std::string& note) {
  Finding f{};
  f.kind = kind;
  f.site = site_of(w, in, lane, store);
  f.has_address = true;
  f.space = space;
  f.address = address;
  f.bytes = bytes;
  f.note = note;
  report(w, f);
  return false;
}

}  // namespace

void order_lanes(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask) {
  if (!w.worker->launch->races) return;
  for (uint32_t rest = mask; rest != 0;) {
    const uint64_t address = a.at[__builtin_ctz(rest)];
    const uint32_t group = rest & lane_mask([&](unsigned l) { return a.at[l] == address; });
    rest &= ~group;
    const Space space = plan.space == Space::Generic ? space_of(address) : plan.space;
    const bool global = space == Space::Global;
    if (!global && space != Space::Shared && space != Space::SharedCluster) continue;
    order_access(w, in, global, global ? address : address & ~kWindowMask, group, plan.access, plan.order);
  }
  if (plan.order.release && plan.access != Access::Load) order_tick(w);
}

bool find_shared(Warp& w, const Instruction& in, Space space, uint64_t address, uint32_t bytes, uint32_t alignment,
                 unsigned lane, bool store, Cta** owner, uint32_t* offset) {
  const auto wrong = [&](Kind kind, Space where, const std::string& note) {
    return report_place(w, in, kind, where, address, bytes, lane, store, note);
  };
  if (space == Space::Generic) {
    const Space found = space_of(address);
    if (found != Space::SharedCluster) return wrong(Kind::OutOfBounds, found, "the address is not of shared memory");
    address &= ~kWindowMask;
    space = Space::SharedCluster;
  }
  auto& ctas = w.cta->cluster->ctas;
  const uint64_t rank = address >> kRankShift;
  const uint32_t size = w.worker->launch->shared_bytes;
  Cta* cta = space == Space::Shared ? w.cta : rank < ctas.size() ? &ctas[rank] : nullptr;
  const uint64_t at = cta != nullptr ? address - cta->shared_base : 0;
  if (cta == nullptr || size < bytes || at > size - bytes) return wrong(Kind::OutOfBounds, space, "");
  if (address % alignment != 0) {
    return wrong(Kind::Misaligned, space, "the address must be a multiple of " + std::to_string(alignment));
  }
  if (cta->live_warps == 0) return wrong(Kind::OutOfBounds, space, "the CTA that owns this shared memory has exited");
  *owner = cta;
  *offset = static_cast<uint32_t>(at);
  return true;
}

Buffer* find_global(Warp& w, const Instruction& in, uint64_t address, uint32_t bytes, uint32_t alignment, unsigned lane,
                    bool store) {
  const auto wrong = [&](Kind kind, const std::string& note) {
    report_place(w, in, kind, Space::Global, address, bytes, lane, store, note);
    return nullptr;
  };
  Buffer* buffer = w.worker->launch->memory.find(address, address + bytes, w.worker->buffer_hint[in.index]);
  if (buffer == nullptr) return wrong(Kind::OutOfBounds, "");
  if (address % alignment != 0) {
    return wrong(Kind::Misaligned, "the address must be a multiple of " + std::to_string(alignment));
  }
  if (!store) return buffer;
  if (buffer->read_only) return wrong(Kind::ReadOnly, "");
  buffer->mark(address, bytes);
  return buffer;
}

#define PYPTX_LOCATE(sanitized)                                                                                      \
  template uint32_t locate<sanitized>(Warp&, const Instruction&, const AccessPlan&, Space, const Addresses&,         \
                                      uint32_t, Places&);                                                            \
  template uint32_t locate_any<sanitized>(Warp&, const Instruction&, const AccessPlan&, const Addresses&, uint32_t,  \
                                          Places&);                                                                  \
  template const uint8_t* locate_uniform<sanitized>(Warp&, const Instruction&, const AccessPlan&, uint64_t);         \
  template uint8_t* locate_global_range<sanitized>(Warp&, const Instruction&, const AccessPlan&, uint64_t);          \
  template uint8_t* locate_shared_range<sanitized>(Warp&, const Instruction&, const AccessPlan&, uint64_t);           \
  template const uint8_t* locate_shared_pattern<sanitized>(Warp&, const Instruction&, const AccessPlan&, uint64_t,   \
                                                           const LanePattern&);
PYPTX_LOCATE(false)
PYPTX_LOCATE(true)

// ---- Decoding --------------------------------------------------------------------------------------------

namespace {

constexpr Modifier kSpaces[] = {
    {"global", static_cast<uint32_t>(Space::Global)},
    {"shared", static_cast<uint32_t>(Space::Shared)},
    {"shared::cta", static_cast<uint32_t>(Space::Shared)},
    {"shared::cluster", static_cast<uint32_t>(Space::SharedCluster)},
    {"local", static_cast<uint32_t>(Space::Local)},
    {"const", static_cast<uint32_t>(Space::Const)},
    {"param", static_cast<uint32_t>(Space::Param)},
    {"param::entry", static_cast<uint32_t>(Space::Param)},
    {"param::func", static_cast<uint32_t>(Space::Param)}};
constexpr Modifier kVectors[] = {{"v2", 2}, {"v4", 4}, {"v8", 8}};
// Bit 0 strong, bit 1 acquire, bit 2 release.
constexpr Modifier kOrders[] = {{"weak", 0},    {"relaxed", 1}, {"acquire", 3}, {"release", 5},
                                {"acq_rel", 7}, {"volatile", 1}, {"mmio", 1}};
constexpr Modifier kScopes[] = {{"cta", static_cast<uint32_t>(Scope::Cta)},
                                {"cluster", static_cast<uint32_t>(Scope::Cluster)},
                                {"gpu", static_cast<uint32_t>(Scope::Gpu)},
                                {"sys", static_cast<uint32_t>(Scope::System)}};
// Cache operators, eviction priorities and prefetch sizes: no effect on values.
constexpr Modifier kIgnored[] = {
    {"ca", 0}, {"cg", 0}, {"cs", 0}, {"lu", 0}, {"cv", 0}, {"wb", 0}, {"wt", 0},
    {"L1::evict_normal", 0}, {"L1::evict_unchanged", 0}, {"L1::evict_first", 0}, {"L1::evict_last", 0},
    {"L1::no_allocate", 0}, {"L2::evict_last", 0}, {"L2::evict_normal", 0}, {"L2::evict_first", 0},
    {"L2::cache_hint", 0}, {"L2::64B", 0}, {"L2::128B", 0}, {"L2::256B", 0}};

bool read_one(std::string_view m, AccessPlan* plan) {
  uint32_t value;
  if (read_modifier(m, kSpaces, std::size(kSpaces), &value)) {
    plan->space = static_cast<Space>(value);
    return true;
  }
  if (read_modifier(m, kVectors, std::size(kVectors), &value)) {
    plan->vector = static_cast<uint8_t>(value);
    return true;
  }
  if (read_modifier(m, kOrders, std::size(kOrders), &value)) {
    plan->order.strong |= value & 1u;
    plan->order.acquire |= (value & 2u) != 0;
    plan->order.release |= (value & 4u) != 0;
    return true;
  }
  if (m == "nc") {
    plan->read_only = true;
    return true;
  }
  if (read_modifier(m, kScopes, std::size(kScopes), &value)) {
    plan->order.scope = static_cast<Scope>(value);
    return true;
  }
  return read_modifier(m, kIgnored, std::size(kIgnored), &value);
}

}  // namespace

bool read_access(Decoding& d, AccessPlan* plan) {
  for (auto m = d.modifiers.begin(); m != d.modifiers.end();) {
    m = read_one(*m, plan) ? d.modifiers.erase(m) : m + 1;
  }
  return true;
}

bool bind_address(Decoding& d, unsigned k, AccessPlan* plan) { return bind_address_view(d, d.view(k), plan); }

bool bind_address_view(Decoding& d, const OperandView* v, AccessPlan* plan) {
  if (v == nullptr || v->kind != OperandView::Kind::Address) return false;
  OperandView base;
  base.kind = v->has_base ? OperandView::Kind::Register : OperandView::Kind::Immediate;
  base.reg = v->reg;
  plan->address = static_cast<uint8_t>(d.bound());
  plan->wide_address = v->width == 64;
  plan->constant_address = !v->has_base || v->space != 0xff;
  d.out->immediate = v->offset;
  if (v->space != 0xff && plan->space != Space::Generic) {
    // A variable or parameter is addressed in its own space.
    static constexpr Space kOf[] = {Space::Shared, Space::Local, Space::Const, Space::Global, Space::Param};
    const bool cluster = plan->space == Space::SharedCluster && kOf[v->space] == Space::Shared;
    // What is passed in a call is in a frame.
    if (kOf[v->space] == Space::Local && plan->space == Space::Param) plan->space = Space::Local;
    if (kOf[v->space] != plan->space && !cluster) return false;
  }
  if (v->space != 0xff && plan->space == Space::Generic && v->space != 3) return false;
  return d.bind_source(&base, v->width, v->width);
}

bool bind_policy(Decoding& d, unsigned k) { return d.source(k, 64); }

void note_access(Decoding& d, const AccessPlan& plan) {
  const bool generic = plan.space == Space::Generic;
  const bool shared = plan.space == Space::Shared || plan.space == Space::SharedCluster || plan.space == Space::Local;
  d.access(shared || generic, plan.space == Space::Global || generic, plan.bytes);
}

}  // namespace pyptx::emulator
