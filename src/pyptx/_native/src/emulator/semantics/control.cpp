// Control flow: bra, brx.idx, exit, ret, trap, brkpt, pmevent.
#include "machine/warp.h"

namespace pyptx::emulator {
namespace {

void bra(Warp& w, const Instruction& in, uint32_t mask) { branch(w, in, mask, in.target); }

struct BranchTable {
  uint32_t count;
  const uint32_t* targets;
};

void brx(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& table = *static_cast<const BranchTable*>(in.plan);
  uint32_t index[kLanes];
  std::memcpy(index, source<uint32_t>(w, in, 0), sizeof index);
  for (uint32_t rest = mask; rest != 0;) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    uint32_t group = 0;
    for (unsigned l = lane; l < kLanes; ++l) {
      if ((rest >> l & 1u) && index[l] == index[lane]) group |= 1u << l;
    }
    rest &= ~group;
    if (index[lane] >= table.count) {
      report(w, Kind::BadBranch, site_of(w, in, lane),
             "index " + std::to_string(index[lane]) + " of " + std::to_string(table.count) + " targets");
      return;
    }
    branch(w, in, group, table.targets[index[lane]]);
  }
}

void leave(Warp& w, const Instruction&, uint32_t mask) { exit_lanes(w, mask); }

void trap(Warp& w, const Instruction& in, uint32_t mask) {
  report(w, Kind::Trap, site_of(w, in, static_cast<unsigned>(__builtin_ctz(mask))), {});
}

void nothing(Warp&, const Instruction&, uint32_t) {}

Handler resolve_brx(Decoding& d) {
  if (d.operands.size() != 2 || d.operands[1].kind != OperandView::Kind::Vector || !d.source(0, 32)) return nullptr;
  const auto& labels = d.operands[1].elements;
  std::vector<uint32_t> targets;
  for (const OperandView& v : labels) {
    if (v.kind != OperandView::Kind::Label) return nullptr;
    targets.push_back(v.target);
  }
  auto* kept = static_cast<uint32_t*>(d.keep_array(targets.size() * sizeof(uint32_t)));
  std::copy(targets.begin(), targets.end(), kept);
  d.out->plan = d.keep(BranchTable{static_cast<uint32_t>(targets.size()), kept});
  return brx;
}

}  // namespace

Handler resolve_control(Decoding& d) {
  if (d.spelling == "bra" || d.spelling == "bra.uni") {
    if (d.operands.size() != 1 || d.operands[0].kind != OperandView::Kind::Label) return nullptr;
    d.out->target = d.operands[0].target;
    return bra;
  }
  if (d.spelling == "brx.idx" || d.spelling == "brx.idx.uni") return resolve_brx(d);
  if (d.spelling == "pmevent" || d.spelling == "pmevent.mask") {
    return d.operands.size() == 1 && d.operands[0].kind == OperandView::Kind::Immediate ? nothing : nullptr;
  }
  if (!d.operands.empty()) return nullptr;
  if (d.spelling == "exit" || d.spelling == "ret" || d.spelling == "ret.uni") return leave;
  if (d.spelling == "trap") return trap;
  if (d.spelling == "brkpt") return nothing;
  return nullptr;
}

}  // namespace pyptx::emulator
