#include "ownership.h"

#include "machine/warp.h"

namespace pyptx::emulator {
namespace {

// A cell: owner:31 | written:1 | 32 bits unused. An owner is numbered as the segment of its first CTA would be, so that
// cells of earlier launches count as empty here as they do in the shadow.
constexpr uint64_t kWritten = uint64_t{1} << 32;
constexpr unsigned kOwnerShift = 33;

// False where the cell is others', too, which only reading allows.
bool take(uint64_t* cell, uint64_t base, uint64_t mine, uint64_t everybody, bool store) {
  uint64_t old = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
  for (;;) {
    const uint64_t owner = old >> kOwnerShift;
    uint64_t wanted = mine << kOwnerShift | (store ? kWritten : 0);
    if (owner == mine) {
      if (!store || (old & kWritten) != 0) return true;
    } else if (owner > base) {
      if (store || (old & kWritten) != 0) throw Conflict();
      if (owner == everybody) return false;
      wanted = everybody << kOwnerShift;
    }
    if (__atomic_compare_exchange_n(cell, &old, wanted, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      return wanted >> kOwnerShift == mine;
    }
  }
}

}  // namespace

Owned take_cells(const Warp& w, const Buffer& buffer, uint64_t first, uint64_t count, bool store) {
  const Launch& launch = *w.worker->launch;
  const uint64_t base = launch.global_order.base();
  const uint64_t mine = base + 1 + w.cta->cluster->linear, everybody = base + 1 + launch.clusters;
  uint64_t alone = 0;
  for (uint64_t i = 0; i < count; ++i) alone += take(buffer.owners + first + i, base, mine, everybody, store);
  // What a cluster may not write has been written before the launch, or is what all who read it are told of.
  if (alone != count && !buffer.initialised) throw Conflict();
  return alone == count ? Owned::Alone : alone == 0 ? Owned::Shared : Owned::Mixed;
}

}  // namespace pyptx::emulator
