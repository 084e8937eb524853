// Registers of multiplications of a warpgroup, and the place of these among other accesses.
//
// Accumulators, and registers that hold A, belong to a multiplication until wgmma.wait_group has waited for it. Between
// what else uses them and a multiplication that does lies a wgmma.fence, but for accumulators of several
// multiplications of one shape (PTX ISA, wgmma.fence and wgmma.wait_group).
#include <algorithm>

#include "machine/product.h"
#include "shadow_cells.h"
#include "machine/warp.h"

namespace pyptx::emulator {
namespace {

using Use = HeldRegister::Use;

void report_register(Warp& w, const Instruction& in, uint32_t number, uint32_t other, const std::string& note) {
  Finding f{};
  f.kind = Kind::RegisterRace;
  f.site = site_of(w, in, 0);
  f.other = site_of(w, program_of(w).code[other], 0);
  f.note = "%r" + std::to_string(program_of(w).held[number]) + ": " + note;
  report(w, f);
}

// What is wrong with another multiplication's use of a register, "" if nothing is. `same_shape`: it has that of the
// register's latest one.
const char* conflict(const HeldRegister& h, Use use, bool same_shape) {
  if (h.touched) return "no wgmma.fence lies between its use and the multiplication";
  const auto other = [&](Use before) {
    return before != Use::None && (before != use || (use == Use::Accumulator && !same_shape));
  };
  if (other(h.under_way)) return "no wgmma.wait_group has waited for the multiplication that uses it otherwise";
  if (other(h.since_fence)) return "no wgmma.fence lies between multiplications that use it in different ways";
  return "";
}

}  // namespace

void check_held_registers(Warp& w, const Instruction& in) {
  for (const uint32_t number : program_of(w).touches[in.index]) {
    HeldRegister& h = w.held[number];
    if (h.under_way != Use::None) {
      report_register(w, in, number, h.product,
                      h.under_way == Use::Loaded
                          ? "no tcgen05.wait::ld has waited for the load that brings it"
                          : "no wgmma.wait_group has waited for the multiplication that uses it");
      h.under_way = Use::None;
    }
    h.touched = true;
    h.toucher = in.index;
  }
}

void check_product_registers(Warp& w, const Instruction& in) {
  if (!w.worker->launch->races) return;
  const Held& held = *program_of(w).products.find(in.index)->second;
  bool wrong = false;
  if (!w.product_fenced) {
    report(w, Kind::RegisterRace, site_of(w, in, 0), "no wgmma.fence precedes the warpgroup's first multiplication");
    w.product_fenced = wrong = true;
  }
  const Instruction* code = program_of(w).code.data();
  uint32_t latest = in.index;  // mostly that of the next register, too
  bool same_shape = true;
  const auto use_all = [&](const std::vector<uint32_t>& numbers, Use use) {
    for (const uint32_t number : numbers) {
      HeldRegister& h = w.held[number];
      if (h.product != latest) same_shape = code[h.product].detail == in.detail;
      latest = h.product;
      const char* note = conflict(h, use, same_shape);
      if (!wrong && *note != 0) {
        report_register(w, in, number, h.touched ? h.toucher : h.product, note);
        wrong = true;
      }
      h = {in.index, w.product_groups, use, use, false, 0};
    }
  };
  use_all(held.inputs, Use::Input);
  use_all(held.accumulators, Use::Accumulator);
}

void hold_loaded_registers(Warp& w, const Instruction& in) {
  if (!w.worker->launch->races) return;
  const auto found = program_of(w).products.find(in.index);
  if (found == program_of(w).products.end()) return;
  for (const uint32_t number : found->second->loads) {
    HeldRegister& h = w.held[number];
    if (h.under_way == Use::Loaded) {
      report_register(w, in, number, h.product, "no tcgen05.wait::ld has waited for the load that brings it");
    }
    h = {in.index, 0, Use::Loaded, Use::None, false, 0};
  }
}

void order_loaded_registers(Warp& w) {
  for (HeldRegister& h : w.held) {
    if (h.under_way == Use::Loaded) h.under_way = Use::None;
  }
}

void order_registers(Warp& w) {
  w.product_fenced = true;
  for (HeldRegister& h : w.held) {
    h.touched = false;
    h.since_fence = Use::None;
  }
}

void order_registers_waited(Warp& w, uint32_t but) {
  for (HeldRegister& h : w.held) {
    if (static_cast<uint64_t>(h.group) + but < w.product_groups) h.under_way = Use::None;
  }
}

void order_product(Warp& w, Operation& op) {
  if (!w.cta->cluster->clocks.active()) return;
  if (op.clock == 0) {
    std::tie(op.agent, op.clock) = w.product_place;
    if (op.clock == 0) order_issue(w, 0, op);
  }
  w.product_place = {op.agent, op.clock};
  w.cta->cluster->clocks.release_causes(w.agent, op.causes);  // all warps have come so far when it ends
}

void order_products_waited(Warp& w, const Operation& op) {
  ClusterClocks& clocks = w.cta->cluster->clocks;
  if (!clocks.active()) return;
  clocks.acquire_causes(w.agent, op.causes);
  if (op.clock != 0) clocks.acquire(w.agent, w.live, w.live, clocks.ended(op.agent, op.clock, false, true));
}

}  // namespace pyptx::emulator
