#include "tensor_memory_order.h"

#include <algorithm>

#include "machine/tensor_memory.h"
#include "shadow_cells.h"

namespace pyptx::emulator {
namespace {

constexpr uint32_t kHalfQuarter = 16;

ClusterClocks& clocks_of(const Warp& w) { return w.cta->cluster->clocks; }

TensorKnowledge& knowledge_of(const Warp& w) { return tensor_memory(*w.cta).shadow.warps[w.index]; }

// The last mark of a warp in the epochs up to `clock`.
TensorMark mark_at(const TensorKnowledge& warp, uint32_t clock) {
  for (auto mark = warp.marks.rbegin(); mark != warp.marks.rend(); ++mark) {
    if (mark->clock <= clock) return *mark;
  }
  return TensorMark();
}

// The mark of the epoch that the warp is in, which starts with what the one before says.
TensorMark& current_mark(Warp& w, TensorKnowledge& warp) {
  const uint32_t clock = clocks_of(w).own(w.agent);
  if (warp.marks.empty() || warp.marks.back().clock != clock) {
    TensorMark mark = warp.marks.empty() ? TensorMark() : warp.marks.back();
    mark.clock = clock;
    warp.marks.push_back(mark);
  }
  return warp.marks.back();
}

struct Verdict {
  Kind kind = Kind::TensorRace;
  const char* note = "";
};

// Whether a load or store is behind its warp's wait, in what another knows of that warp.
const char* unwaited(const TensorTouch& before, const TensorMark& mark) {
  if (before.use == TensorUse::Load) {
    return mark.waited[0] < before.sequence ? "no tcgen05.wait::ld has waited for the load before" : "";
  }
  return mark.waited[1] < before.sequence ? "no tcgen05.wait::st has waited for the store before" : "";
}

Verdict judge_own(Warp& w, const TensorTouch& before, TensorUse use) {
  const TensorKnowledge& warp = knowledge_of(w);
  if (before.use == TensorUse::Store && use == TensorUse::Store) return {};
  return {Kind::TensorRace, unwaited(before, mark_at(warp, clocks_of(w).own(w.agent)))};
}

Verdict judge_other(Warp& w, const TensorTouch& before, TensorUse use) {
  const uint32_t known = clocks_of(w).reach(w.agent, before.agent);
  if (before.clock > known) return {Kind::TensorRace, "no barrier orders the accesses"};
  const TensorMark mark = mark_at(knowledge_of(*before.warp), known);
  if (before.use != TensorUse::Work && *unwaited(before, mark) != 0) return {Kind::TensorRace, unwaited(before, mark)};
  if (use == TensorUse::Free) return {};
  const std::vector<uint32_t>& seen = knowledge_of(w).seen;
  if (mark.fenced[static_cast<int>(before.use)] < before.sequence) {
    return {Kind::TensorFence, "no tcgen05.fence::before_thread_sync lies between the access before and the barrier"};
  }
  if (before.agent >= seen.size() || seen[before.agent] < before.clock) {
    return {Kind::TensorFence, "no tcgen05.fence::after_thread_sync lies between the barrier and this access"};
  }
  return {};
}

// What follows an operation other than the thread's next one.
Verdict judge_ended(Warp& w, const TensorTouch& before, TensorUse use) {
  if (clocks_of(w).reach(w.agent, before.operation_agent) < before.operation_clock) {
    return {Kind::TensorRace, "no wait for an mbarrier with its tcgen05.commit says that the operation has ended"};
  }
  const std::vector<uint32_t>& seen = knowledge_of(w).seen;
  const bool fenced = before.operation_agent < seen.size() && seen[before.operation_agent] >= before.operation_clock;
  if (fenced || use == TensorUse::Free) return {};
  return {Kind::TensorFence,
          "no tcgen05.fence::after_thread_sync lies between the wait for the operation and this access"};
}

Verdict judge(Warp& w, const TensorTouch& before, TensorUse use) {
  const bool own = before.agent == w.agent;
  if (before.use != TensorUse::Work) return own ? judge_own(w, before, use) : judge_other(w, before, use);
  const bool ended = clocks_of(w).reach(w.agent, before.operation_agent) >= before.operation_clock;
  if (use != TensorUse::Work) return judge_ended(w, before, use);
  if (own) return {};
  return ended ? judge_ended(w, before, use) : judge_other(w, before, use);
}

bool complain(Warp& w, const Instruction& in, unsigned lane, const TensorTouch& before, TensorUse use, bool write,
              Warp* peer) {
  const Verdict verdict = judge(w, before, use);
  if (*verdict.note == 0 || (peer != nullptr && *judge(*peer, before, use).note == 0)) return false;
  Finding f{};
  f.kind = verdict.kind;
  f.site = site_of(w, in, lane, write);
  f.other = site_of(*before.warp, program_of(w).code[before.instruction], 0, before.write);
  f.note = verdict.note;
  report(w, f);
  return true;
}

template <class F>
void each_cell(TensorShadow& shadow, const TensorPlace& place, F f) {
  if (shadow.cells.empty()) shadow.cells.resize(kTensorLanes / kHalfQuarter * kTensorColumns);
  const uint32_t end = (place.first_lane + place.lanes + kHalfQuarter - 1) / kHalfQuarter;
  for (uint32_t half = place.first_lane / kHalfQuarter; half < end; ++half) {
    for (uint32_t column = place.first_column; column < place.first_column + place.columns; ++column) {
      f(shadow.cells[half * kTensorColumns + column]);
    }
  }
}

void record(TensorCell& cell, const TensorTouch& touch, bool write) {
  if (write) {
    cell.stored = true;
    cell.store = touch;
    cell.loads.clear();
    return;
  }
  for (TensorTouch& load : cell.loads) {
    if (load.agent == touch.agent && load.use == touch.use) {
      load = touch;
      return;
    }
  }
  cell.loads.push_back(touch);
}

bool same_touch(const TensorTouch& a, const TensorTouch& b) {
  return a.warp == b.warp && a.sequence == b.sequence && a.clock == b.clock && a.use == b.use &&
         a.operation_agent == b.operation_agent && a.operation_clock == b.operation_clock;
}

// Whether one of those that touched a cell before conflicts with an access to it.
bool conflicts(Warp& w, const Instruction& in, unsigned lane, const TensorCell& cell, TensorUse use, bool write,
               Warp* peer) {
  if (cell.stored && complain(w, in, lane, cell.store, use, write, peer)) return true;
  return write && std::any_of(cell.loads.begin(), cell.loads.end(), [&](const TensorTouch& load) {
           return complain(w, in, lane, load, use, write, peer);
         });
}

}  // namespace

void check_tensor(Warp& w, const Instruction& in, unsigned lane, Cta& owner, const TensorPlace& place, TensorUse use,
                  bool write, const Operation* operation) {
  if (!clocks_of(w).active()) return;
  TensorTouch touch{use,      w.agent, clocks_of(w).own(w.agent), ++knowledge_of(w).sequence, 0, 0,
                    in.index, &w,      write};
  if (operation != nullptr) {
    touch.operation_agent = operation->agent;
    touch.operation_clock = operation->clock;
  }
  bool complained = false;
  TensorTouch fine;  // stored a cell, and that does not conflict: mostly it stored the next one, too
  each_cell(tensor_memory(owner).shadow, place, [&](TensorCell& cell) {
    const bool known = fine.warp != nullptr && cell.stored && cell.loads.empty() && same_touch(cell.store, fine);
    if (!complained && !known) {
      complained = conflicts(w, in, lane, cell, use, write, nullptr);
      if (!complained && cell.stored) fine = cell.store;
    }
    record(cell, touch, write);
  });
}

void check_tensor_free(Warp& w, const Instruction& in, unsigned lane, const TensorPlace& place, Warp* peer) {
  if (!clocks_of(w).active()) return;
  bool complained = false;
  each_cell(tensor_memory(*w.cta).shadow, place, [&](TensorCell& cell) {
    if (!complained) complained = conflicts(w, in, lane, cell, TensorUse::Free, true, peer);
    cell = TensorCell();
  });
}

void check_tensor_written(Warp& w, const Instruction& in, unsigned lane, Cta& owner, const TensorPlace& place) {
  if (!w.worker->launch->initialisation) return;
  const TensorMemory& memory = tensor_memory(owner);
  for (uint32_t row = place.first_lane; row < place.first_lane + place.lanes; ++row) {
    if (all_written(&memory.written[row * kTensorColumns + place.first_column], place.columns)) continue;
    for (uint32_t column = place.first_column; column < place.first_column + place.columns; ++column) {
      if (memory.written[row * kTensorColumns + column]) continue;
      report(w, Kind::UninitialisedMemory, site_of(w, in, lane),
             std::string("Tensor Memory") + (&owner == w.cta ? "" : " of the peer CTA") + ", lane " +
             std::to_string(row) + ", column " + std::to_string(column));
      return;
    }
  }
}

void note_tensor_written(Cta& owner, const TensorPlace& place) {
  TensorMemory& memory = tensor_memory(owner);
  for (uint32_t lane = place.first_lane; lane < place.first_lane + place.lanes; ++lane) {
    std::fill_n(memory.written.begin() + static_cast<ptrdiff_t>(lane * kTensorColumns + place.first_column),
                place.columns, uint8_t{1});
  }
}

void order_tensor_work(Warp& w, unsigned lane, Operation& operation) {
  if (!clocks_of(w).active()) return;
  auto& place = knowledge_of(w).operations[lane];
  if (place.second == 0) {
    order_issue(w, lane, operation);
    // The one that was forgotten when clocks were used up is not this one.
    knowledge_of(w).operations[lane] = {operation.agent, operation.clock};
    return;
  }
  std::tie(operation.agent, operation.clock) = place;
}

void order_tensor_commit(Warp& w, unsigned lane, Operation& operation) {
  if (!clocks_of(w).active()) return;
  order_tensor_work(w, lane, operation);
  TensorKnowledge& warp = knowledge_of(w);
  warp.operations[lane] = {0, 0};
  auto& commits = warp.commits[lane];
  for (const auto& [agent, clock] : commits) {
    for (const uint32_t column : {agent, clocks_of(w).column(agent, Known::Ended)}) {
      operation.copies.push_back({column, clock, 1, 1});
    }
  }
  // What an operation reads was complete when its thread issued it; so it is where the operation has ended.
  operation.history = order_history(w, 1u << lane);
  const auto same = std::find_if(commits.begin(), commits.end(),
                                 [&](const auto& before) { return before.first == operation.agent; });
  if (same != commits.end()) same->second = operation.clock;
  else commits.emplace_back(operation.agent, operation.clock);
}

void order_tensor_wait(Warp& w, bool stores) {
  if (!clocks_of(w).active()) return;
  TensorKnowledge& warp = knowledge_of(w);
  current_mark(w, warp).waited[stores ? 1 : 0] = warp.sequence;
}

void order_tensor_fence(Warp& w, bool before) {
  if (!clocks_of(w).active()) return;
  TensorKnowledge& warp = knowledge_of(w);
  if (before) {
    std::fill(std::begin(current_mark(w, warp).fenced), std::end(current_mark(w, warp).fenced), warp.sequence);
    return;
  }
  warp.seen.resize(clocks_of(w).agents());
  for (uint32_t a = 0; a < warp.seen.size(); ++a) warp.seen[a] = clocks_of(w).reach(w.agent, a);
}

void forget_tensor(Cta& cta) {
  if (cta.tensor_memory == nullptr) return;
  TensorShadow& shadow = cta.tensor_memory->shadow;
  shadow.cells.clear();
  for (TensorKnowledge& warp : shadow.warps) warp = TensorKnowledge();
}

}  // namespace pyptx::emulator
