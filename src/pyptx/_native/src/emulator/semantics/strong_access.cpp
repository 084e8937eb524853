#include "strong_access.h"

#include "sanitizer/shadow_cells.h"

namespace pyptx::emulator {
namespace {

OlderValues& values_of(Warp& w, bool global) {
  return global ? w.worker->launch->global_values : w.cta->cluster->older_values;
}

const Publications& published_of(const Warp& w, bool global) {
  return global ? w.worker->launch->global_order.published : w.cta->cluster->published;
}

// f(whether it is global, its address, its lanes) of each place in global or shared memory.
template <class F>
void each_place(const AccessPlan& plan, const Addresses& a, uint32_t mask, F f) {
  for (uint32_t rest = mask; rest != 0;) {
    const uint64_t address = a.at[__builtin_ctz(rest)];
    const uint32_t group = rest & lane_mask([&](unsigned l) { return a.at[l] == address; });
    rest &= ~group;
    const Space space = plan.space == Space::Generic ? space_of(address) : plan.space;
    const bool global = space == Space::Global;
    if (!global && space != Space::Shared && space != Space::SharedCluster) continue;
    f(global, global ? address : address & ~kWindowMask, group);
  }
}

StrongAccess access_of(const Warp& w, const Instruction& in, const AccessPlan& plan, uint64_t address, uint32_t group,
                       const Places& places) {
  const auto lane = static_cast<unsigned>(__builtin_ctz(group));
  return {address, plan.bytes, places.at[lane], touch_of(w, in, lane, plan.access == Access::Store, plan.order.scope)};
}

}  // namespace

void order_strong_loads(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask,
                        Places& places) {
  if (!gives_older_values(w)) {
    order_lanes(w, in, plan, a, mask);
    return;
  }
  each_place(plan, a, mask, [&](bool global, uint64_t address, uint32_t group) {
    const OlderValues::Value* older =
        values_of(w, global).load(w, access_of(w, in, plan, address, group, places));
    if (older == nullptr) {
      order_access(w, in, global, address, group, plan.access, plan.order);
      return;
    }
    for (uint32_t rest = group; rest != 0; rest &= rest - 1) {
      places.at[__builtin_ctz(rest)] = const_cast<uint8_t*>(older->bytes.data());
    }
    if (older->released != nullptr) observe_parts(w, *older->released, group, in, plan.order.acquire);
    // A loop that waits does not stand still yet.
    w.spin_visits = 0;
    w.spin_snapshot_valid = false;
  });
}

void StrongStores::look_for_values(Warp& w, const AccessPlan& plan, const Addresses& a, uint32_t mask) {
  const auto& ctas = w.cta->cluster->ctas;
  each_place(plan, a, mask, [&](bool global, uint64_t address, uint32_t group) {
    const uint64_t rank = address >> kRankShift;
    const bool valued = global               ? global_has_value(w, address, plan.bytes)
                        : rank < ctas.size() ? shared_has_value(w, ctas[rank], address - ctas[rank].shared_base, plan.bytes)
                                             : true;
    if (valued) valued_ |= group;
  });
}

void StrongStores::begin(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask,
                         const Places& places) {
  if (!gives_older_values(w)) return;
  each_place(plan, a, mask, [&](bool global, uint64_t address, uint32_t group) {
    accesses_.push_back({global, access_of(w, in, plan, address, group, places)});
    values_of(w, global).before_store(accesses_.back().strong, (valued_ & group) == group);
  });
}

void StrongStores::keep(Warp& w) {
  for (const Access& access : accesses_) {
    values_of(w, access.global).after_store(access.strong, published_of(w, access.global));
  }
}

}  // namespace pyptx::emulator
