// A kernel that starts before the one before it has ended, and what the two touch (PTX ISA, "griddepcontrol").
#include <algorithm>

#include "semantics/access.h"
#include "shadow_cells.h"

namespace pyptx::emulator {

void GridWaits::reset(const std::vector<Buffer>& buffers) {
  wanted_ = false;
  for (const Buffer& b : buffers) wanted_ |= b.stored_before || b.loaded_before;
  clusters_.clear();
}

void GridWaits::add(uint64_t cluster, const Touch& wait) {
  const std::lock_guard<std::mutex> lock(mutex_);
  clusters_[cluster].push_back(wait);
}

bool GridWaits::before(const Warp& w, unsigned lane) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = [&](const std::vector<Touch>& waits) {
    return std::any_of(waits.begin(), waits.end(), [&](const Touch& t) { return touched_before(w, t, 1u << lane); });
  };
  const auto own = clusters_.find(w.cta->cluster->linear);
  if (own != clusters_.end() && known(own->second)) return true;
  // Where clusters order each other there is one host thread.
  return !w.worker->launch->parallel() &&
         std::any_of(clusters_.begin(), clusters_.end(), [&](const auto& each) { return known(each.second); });
}

void order_grid_wait(Warp& w, const Instruction& in, uint32_t mask) {
  GridWaits& waits = w.worker->launch->grid_waits;
  mask &= ~w.grid_waited;
  if (!waits.wanted() || mask == 0 || !w.cta->cluster->clocks.active()) return;
  w.grid_waited |= mask;
  const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
  waits.add(w.cta->cluster->linear, touch_of(w, in, lane, false, Scope::System));
}

void check_grid_wait(Warp& w, const Instruction& in, uint64_t address, uint64_t bytes, unsigned lane, bool store) {
  if ((w.grid_waited >> lane & 1u) || !w.cta->cluster->clocks.active()) return;
  uint32_t hint = 0;
  const Buffer* b = w.worker->launch->memory.find(address, address + bytes, hint);
  if (b == nullptr || !(b->stored_before || (store && b->loaded_before))) return;
  if (w.worker->launch->grid_waits.before(w, lane)) {
    w.grid_waited |= 1u << lane;
    return;
  }
  Finding f{};
  f.kind = Kind::GlobalRace;
  f.site = site_of(w, in, lane, store);
  f.has_address = true;
  f.address = address;
  f.bytes = static_cast<uint32_t>(bytes);
  f.note = std::string("the kernel before this one ") + (b->stored_before ? "stores to" : "loads from") +
           " this tensor and may not have ended; griddepcontrol.wait waits for its end";
  report(w, std::move(f));
}

}  // namespace pyptx::emulator
