#include "async.h"

#include <algorithm>
#include <cstring>

#include "product.h"
#include "semantics/access.h"
#include "tensor_memory.h"
#include "warp.h"

namespace pyptx::emulator {
namespace {

// An operation that is under way for so many instructions is performed, whatever else can run: a warp may wait
// for it in ways that cannot be seen.
constexpr uint64_t kOverdue = 200000;
// Copies that nobody has waited for are remembered up to this many.
constexpr size_t kRemembered = 4096;

unsigned first_lane(uint32_t mask) { return static_cast<unsigned>(__builtin_ctz(mask ? mask : 1)); }

void wrong_mbarrier(Warp& w, const Instruction& in, unsigned lane, const Cta& owner, uint32_t offset,
                    const std::string& note) {
  Finding f{};
  f.kind = Kind::BadMbarrier;
  f.site = site_of(w, in, lane, true);
  f.has_address = true;
  f.space = &owner == w.cta ? Space::Shared : Space::SharedCluster;
  f.address = owner.shared_base + offset;
  f.bytes = kMbarrierBytes;
  f.note = note;
  report(w, f);
}

// ---- Phases ----------------------------------------------------------------------------------------------

void wake_waiters(Cta& owner, uint32_t offset, Mbarrier& b) {
  for (Warp& w : owner.warps) {
    for (Split& s : w.others) {
      if (s.wait.kind != Wait::Kind::Mbarrier || s.wait.object != offset || b.phase <= s.wait.phase) continue;
      deliver_test(w, *s.wait.at, s.mask, true);
      observe_phase(w, *s.wait.at, s.mask, b, s.wait.phase);
      --b.waiting;
      wake(w, s);
    }
  }
}

void settle(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b) {
  if (b.pending != 0 || b.transactions != 0) return;
  check_overtaken(w, in, lane, owner, offset, b);
  ++b.phase;
  b.pending = b.expected;
  b.released = b.clocks;
  b.causes_released = b.causes;
  for (int i = 0; i < 2; ++i) b.remote_released[i] = b.remote[i];
  ++owner.cluster->version;
  if (b.waiting != 0) wake_waiters(owner, offset, b);
}

// ---- Operations ------------------------------------------------------------------------------------------

void read_sources(Operation& op) {
  size_t bytes = 0;
  for (const Piece& p : op.pieces) bytes += p.bytes;
  op.data.resize(bytes);
  size_t at = 0;
  for (const Piece& p : op.pieces) {
    if (p.bytes != 0) std::memcpy(&op.data[at], p.from, p.bytes);
    at += p.bytes;
  }
}

void write_piece(const Operation& op, const Piece& p, const uint8_t* from) {
  if (op.update == nullptr) {
    if (p.bytes != 0) std::memcpy(p.to, from, p.bytes);
    if (p.zeros != 0) std::memset(p.to + p.bytes, 0, p.zeros);
    return;
  }
  bool changed = false;
  for (uint32_t i = 0; i < p.bytes; i += op.element) {
    uint64_t value = 0;
    std::memcpy(&value, from + i, op.element);
    update_at(p.to + i, op.element, op.update, value, 0, &changed);
  }
}

void write_destinations(Operation& op) {
  size_t at = 0;
  for (const Piece& p : op.pieces) {
    write_piece(op, p, op.data.empty() ? p.from : &op.data[at]);
    at += p.bytes;
  }
}

void signal(Operation& op, const Signal& s) {
  Mbarrier* b = mbarrier_at(*s.owner, s.offset);
  if (b == nullptr) {
    wrong_mbarrier(*op.warp, *op.at, first_lane(op.mask), *s.owner, s.offset,
                   "an operation completes on it after it was invalidated");
    return;
  }
  order_signal(op, *b);
  if (s.bytes != 0) {
    b->copies_until = b->phase + 1;
    b->copier = site_of(*op.warp, *op.at, first_lane(op.mask), true);
  }
  if (s.bytes != 0) complete_transactions(*op.warp, *op.at, first_lane(op.mask), *s.owner, s.offset, *b, s.bytes);
  else arrive(*op.warp, *op.at, first_lane(op.mask), *s.owner, s.offset, *b, 1);
}

// Splits of the warp that wait for its copies, if what they wait for is complete now.
void wake_copiers(Warp& w) {
  for (Split& s : w.others) {
    if (s.wait.kind == Wait::Kind::Copies && finish_copies(w, *s.wait.at, s.mask, s.wait.object)) wake(w, s);
  }
}

void finish(Cluster& c, Operation& op) {
  if (op.product != nullptr) perform_product(*op.product, op);
  else if (op.tensor != nullptr) op.tensor->perform();
  else write_destinations(op);
  op.stage = Stage::Done;
  for (const Signal& s : op.signals) signal(op, s);
  op.data.clear();
  op.data.shrink_to_fit();
  ++c.version;
  if (op.product != nullptr) wake_products(*op.product);
  else wake_copiers(*op.warp);
}

// Whether an operation that was issued earlier has to be performed first.
bool comes_first(const Operation& op, const Operation& later) {
  if (later.arrives) return op.grouping == Grouping::Copies && op.warp == later.warp && (op.mask & later.mask) != 0;
  if (later.tensor != nullptr) return op.tensor != nullptr && op.warp->cta == later.warp->cta;
  return later.product != nullptr && op.product != nullptr && op.product->cta == later.product->cta &&
         op.product->warpgroup == later.product->warpgroup;
}

// One step of the operation at an index of the queue. A copy from shared memory that has a group first reads
// its source, later writes.
void step(Cluster& c, size_t index) {
  const OperationPointer op = c.operations[index];
  const bool in_order = op->arrives || op->product != nullptr || op->tensor != nullptr;
  for (size_t i = 0; in_order && i < index; ++i) {
    if (comes_first(*c.operations[i], *op)) {
      step(c, i);
      return;
    }
  }
  if (op->grouping == Grouping::Bulk && op->stage == Stage::Issued) {
    read_sources(*op);
    op->stage = Stage::Read;
    wake_copiers(*op->warp);
    return;
  }
  c.operations.erase(c.operations.begin() + static_cast<ptrdiff_t>(index));
  finish(c, *op);
}

// What it will overwrite is undefined from now on.
void poison(const Operation& op) {
  if (op.update != nullptr) return;
  for (const Piece& p : op.pieces) {
    if (p.owner != nullptr) std::memset(p.to, 0xff, p.bytes + p.zeros);
  }
}

uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0xff51afd7ed558ccdull;
  return h ^ h >> 32;
}

// Everything that decides how the cluster goes on when nothing else changes.
uint64_t state_of(const Cluster& c) {
  uint64_t h = c.version;
  for (const Cta& cta : c.ctas) {
    for (const Warp& w : cta.warps) {
      if (w.state == WarpState::Done) continue;
      h = mix(mix(mix(h, w.pc), w.active), w.carry);
      h = mix(h, content_hash(w.base[0], program_of(w).true_predicate));
      for (const Split& s : w.others) {
        h = mix(mix(mix(h, s.pc), s.mask), static_cast<uint64_t>(s.wait.kind));
        h = mix(mix(h, s.wait.object), s.wait.phase);
      }
    }
  }
  return h;
}

}  // namespace

// ---- For handlers ----------------------------------------------------------------------------------------

Mbarrier* mbarrier_at(Cta& owner, uint32_t offset) {
  const auto found = owner.mbarriers.find(offset);
  return found == owner.mbarriers.end() ? nullptr : &found->second;
}

void change_transactions(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b,
                         int64_t by) {
  b.transactions += by;
  if (b.transactions > kMostArrivals || b.transactions < -static_cast<int64_t>(kMostArrivals)) {
    wrong_mbarrier(w, in, lane, owner, offset,
                   "its count of outstanding bytes would be " + std::to_string(b.transactions) +
                       ", beyond 1048575 on either side of zero");
    return;
  }
  settle(w, in, lane, owner, offset, b);
}

void expect_transactions(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b,
                         uint32_t bytes) {
  change_transactions(w, in, lane, owner, offset, b, bytes);
}

void complete_transactions(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b,
                           uint32_t bytes) {
  change_transactions(w, in, lane, owner, offset, b, -static_cast<int64_t>(bytes));
}

void arrive(Warp& w, const Instruction& in, unsigned lane, Cta& owner, uint32_t offset, Mbarrier& b, uint32_t count) {
  if (count > b.pending) {
    wrong_mbarrier(w, in, lane, owner, offset,
                   std::to_string(count) + (count == 1 ? " more arrival, and " : " more arrivals, and ") +
                       std::to_string(b.pending) + " of " + std::to_string(b.expected) + " are pending in phase " +
                       std::to_string(b.phase));
    return;
  }
  b.pending -= count;
  settle(w, in, lane, owner, offset, b);
}

void issue(Warp& w, OperationPointer op) {
  Cluster& c = *w.cta->cluster;
  const Launch& launch = *w.worker->launch;
  op->issued = c.executed;
  if (op->grouping != Grouping::None) {
    w.copies.push_back(op);
    if (w.copies.size() > kRemembered) {
      const auto done = std::find_if(w.copies.begin(), w.copies.end(), [](const auto& o) { return o->stage == Stage::Done; });
      if (done != w.copies.end()) w.copies.erase(done);
    }
  }
  if (launch.completion == Completion::Eager) {
    finish(c, *op);
    return;
  }
  if (launch.config.sanitize != 0) poison(*op);
  c.operations.push_back(std::move(op));
}

bool copies_done(const Warp& w, uint32_t mask, Grouping grouping, uint32_t but, bool reads) {
  const uint32_t* committed = grouping == Grouping::Bulk ? w.bulk_groups : w.copy_groups;
  return std::none_of(w.copies.begin(), w.copies.end(), [&](const OperationPointer& op) {
    if (op->grouping != grouping || op->stage >= (reads ? Stage::Read : Stage::Done)) return false;
    for (uint32_t rest = op->mask & mask; rest != 0; rest &= rest - 1) {
      if (static_cast<uint64_t>(op->group) + but < committed[first_lane(rest)]) return true;
    }
    return false;
  });
}

// ---- For the scheduler -----------------------------------------------------------------------------------

bool perform_next(Cluster& c) {
  if (c.operations.empty()) return false;
  const Completion policy = c.worker->launch->completion;
  const size_t count = c.operations.size();
  const size_t index = policy == Completion::Reversed ? count - 1
                       : policy == Completion::Random ? c.draw(static_cast<uint32_t>(count))
                                                      : 0;
  step(c, index);
  return true;
}

void perform_some(Cluster& c) {
  if (c.worker->launch->completion == Completion::Random && c.draw(4) == 0) perform_next(c);
  while (!c.operations.empty() && c.executed - c.operations[0]->issued > kOverdue) step(c, 0);
}

bool time_out_waits(Cluster& c) {
  const uint64_t state = state_of(c);
  if (c.timed_out && c.timed_out_state == state) return false;
  c.timed_out = true;
  c.timed_out_state = state;
  bool any = false;
  for (Cta& cta : c.ctas) {
    for (Warp& w : cta.warps) {
      for (Split& s : w.others) {
        if (s.wait.kind != Wait::Kind::Mbarrier) continue;
        any = true;
        deliver_test(w, *s.wait.at, s.mask, false);
        w.failed_test = s.wait.at;
        w.failed_offset = s.wait.object;
        w.failed_phase = s.wait.phase;
        Mbarrier* b = mbarrier_at(cta, s.wait.object);
        if (b != nullptr) --b->waiting;
        wake(w, s);
      }
    }
  }
  return any;
}

namespace {

// Whether the loop that a test stands in loads from where other clusters may store. The loop ends at the first
// branch behind the test that goes back to the test or before it.
bool loop_polls_global(const Program& program, uint32_t test) {
  for (uint32_t end = test; end < program.instructions(); ++end) {
    const Instruction& in = program.code[end];
    if (!program.branches[end] || in.target > test) continue;
    for (uint32_t i = in.target; i < end; ++i) {
      if (program.polls[i]) return true;
    }
    return false;
  }
  return false;
}

}  // namespace

bool polls_global(const Cluster& c) {
  for (const Cta& cta : c.ctas) {
    for (const Warp& w : cta.warps) {
      for (const Split& s : w.others) {
        if (s.wait.kind == Wait::Kind::Mbarrier && loop_polls_global(program_of(w), s.wait.at->index)) return true;
      }
    }
  }
  return false;
}

std::string describe_mbarrier(const Cta& cta, uint32_t offset, uint64_t wanted) {
  const Program& program = *cta.cluster->worker->launch->program;
  std::string text = "the end of phase " + std::to_string(wanted) + " of the mbarrier at ";
  const Variable* inside = nullptr;
  for (const Variable& v : program.variables) {
    if (v.space == VariableSpace::Shared && offset >= v.offset && offset < v.offset + v.size) inside = &v;
  }
  if (inside != nullptr && !inside->name.empty()) {
    text += "byte " + std::to_string(offset - inside->offset) + " of " + inside->name;
  } else {
    text += "shared byte " + std::to_string(offset);
  }
  const auto found = cta.mbarriers.find(offset);
  if (found == cta.mbarriers.end()) return text + ", which is not initialised any more";
  const Mbarrier& b = found->second;
  return text + ", which is in phase " + std::to_string(b.phase) + ": " + std::to_string(b.pending) + " of " +
         std::to_string(b.expected) + " arrivals pending, " + std::to_string(b.transactions) + " bytes outstanding";
}

}  // namespace pyptx::emulator
