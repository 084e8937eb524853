// Strong loads, stores and atomics where loads may give older values (sanitizer/older_values.h).
#pragma once

#include <vector>

#include "access.h"
#include "sanitizer/older_values.h"

namespace pyptx::emulator {

// What strong loads of the lanes of `mask` carry of order; the places of those that give older values become theirs.
void order_strong_loads(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask,
                        Places& places);

// Strong stores or atomics of one instruction.
class StrongStores {
 public:
  // Before their places are looked for, which count as written from then on.
  void look(Warp& w, const AccessPlan& plan, const Addresses& a, uint32_t mask) {
    if (gives_older_values(w)) look_for_values(w, plan, a, mask);
  }
  // Before they change memory, and before what they carry of order.
  void begin(Warp& w, const Instruction& in, const AccessPlan& plan, const Addresses& a, uint32_t mask,
             const Places& places);
  // When they have.
  void done(Warp& w) {
    if (!accesses_.empty()) keep(w);
  }

 private:
  struct Access {
    bool global;
    StrongAccess strong;
  };
  void look_for_values(Warp& w, const AccessPlan& plan, const Addresses& a, uint32_t mask);
  void keep(Warp& w);

  uint32_t valued_ = 0;  // lanes whose place has a value
  std::vector<Access> accesses_;
};

}  // namespace pyptx::emulator
