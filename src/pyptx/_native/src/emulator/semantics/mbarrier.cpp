// mbarrier objects (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").
//
// What an mbarrier holds is kept beside shared memory; the eight bytes there only tell that one is in them. A
// test that fails parks its lanes until the phase completes. When nothing else can run they go on with a
// false result, as hardware's do after a while, so loops that also wait for something else work.
#include <algorithm>
#include <string>

#include "access.h"

namespace pyptx::emulator {
namespace {

enum class Step : uint8_t { Init, Invalidate, Expect, Complete, Arrive, Drop };

struct MbarrierPlan : AccessPlan {
  Step step = Step::Init;
  bool no_complete = false;
  bool expects = false;  // arrive.expect_tx: the count is of bytes
  bool counted = false;  // has a count operand
  bool parity = false;
  bool tries = false;    // try_wait
  bool returns = false;  // a state
  uint8_t count = 0;     // slot of the count, the state or the parity
};

const MbarrierPlan& plan_of(const Instruction& in) { return *static_cast<const MbarrierPlan*>(in.plan); }

// A state: bits 0 to 19 the pending arrivals before the arrival, 20 to 61 the phase, 62 from a .noComplete
// form, 63 always set.
uint64_t encode_state(const Mbarrier& b, bool no_complete) {
  return 1ull << 63 | static_cast<uint64_t>(no_complete) << 62 | (b.phase & 0x3ffffffffffull) << 20 | b.pending;
}
uint64_t phase_in(uint64_t state) { return state >> 20 & 0x3ffffffffffull; }

void wrong(Warp& w, const Instruction& in, unsigned lane, uint64_t address, const std::string& note) {
  Finding f{};
  f.kind = Kind::BadMbarrier;
  f.site = site_of(w, in, lane);
  f.has_address = true;
  f.space = plan_of(in).space == Space::SharedCluster ? Space::SharedCluster : Space::Shared;
  f.address = address & ~kWindowMask;
  f.bytes = kMbarrierBytes;
  f.note = note;
  report(w, f);
}

struct Place {
  Cta* owner = nullptr;
  uint32_t offset = 0;
  Mbarrier* barrier = nullptr;
};

// Where a lane's mbarrier is; false, and a finding, if it is nowhere, or if there is none and there must be.
bool find(Warp& w, const Instruction& in, unsigned lane, uint64_t address, bool live, Place* place) {
  const MbarrierPlan& plan = plan_of(in);
  if (!find_shared(w, in, plan.space, address, kMbarrierBytes, kMbarrierBytes, lane, true, &place->owner,
                   &place->offset)) {
    return false;
  }
  place->barrier = mbarrier_at(*place->owner, place->offset);
  if (place->barrier != nullptr || !live) return true;
  wrong(w, in, lane, address, "there is no mbarrier here: mbarrier.init has not been executed, or mbarrier.inval has");
  return false;
}

uint32_t count_of(Warp& w, const Instruction& in, unsigned lane) {
  const MbarrierPlan& plan = plan_of(in);
  return plan.counted ? source<uint32_t>(w, in, plan.count)[lane] : 1;
}

template <bool kSanitized>
void init_one(Warp& w, const Instruction& in, unsigned lane, uint64_t address) {
  Place p;
  if (!find(w, in, lane, address, false, &p)) return;
  const uint32_t count = count_of(w, in, lane);
  if (p.barrier != nullptr) {
    wrong(w, in, lane, address, "an mbarrier is already here; mbarrier.inval ends its life");
    return;
  }
  if (count == 0 || count > kMostArrivals) {
    wrong(w, in, lane, address, "a count of " + std::to_string(count) + " arrivals is not from 1 to 1048575");
    return;
  }
  if (kSanitized) check_shared_piece(w, in, *p.owner, p.offset, lane, kMbarrierBytes, Access::Store);
  Mbarrier& b = p.owner->mbarriers[p.offset];
  b = Mbarrier();
  b.expected = b.pending = count;
  b.instruction = in.index;
  if (kSanitized) order_init(w, b, lane);
  const uint64_t opaque = 0x6d62617272696572ull;
  std::memcpy(p.owner->shared + p.offset, &opaque, sizeof opaque);
  ++w.cta->cluster->version;
}

template <bool kSanitized>
void invalidate_one(Warp& w, const Instruction& in, unsigned lane, uint64_t address) {
  Place p;
  if (!find(w, in, lane, address, true, &p)) return;
  if (kSanitized) {
    check_mbarrier_use(w, in, lane, *p.owner, p.offset, *p.barrier);
    check_invalidation(w, in, lane, *p.owner, p.offset, *p.barrier);
  }
  if (p.barrier->waiting != 0) {
    wrong(w, in, lane, address, "the mbarrier is invalidated while threads wait for it");
    return;
  }
  p.owner->mbarriers.erase(p.offset);
  std::memset(p.owner->shared + p.offset, 0xff, kMbarrierBytes);
  if (kSanitized) forget_shared(*p.owner, p.offset, kMbarrierBytes);
}

template <bool kSanitized>
void change_one(Warp& w, const Instruction& in, unsigned lane, uint64_t address) {
  const MbarrierPlan& plan = plan_of(in);
  Place p;
  if (!find(w, in, lane, address, true, &p)) return;
  if (kSanitized) {
    check_mbarrier_use(w, in, lane, *p.owner, p.offset, *p.barrier);
    record_visit(w, in, *p.owner, p.offset, lane, *p.barrier);
  }
  const uint32_t bytes = count_of(w, in, lane);
  if (plan.step == Step::Expect) expect_transactions(w, in, lane, *p.owner, p.offset, *p.barrier, bytes);
  else complete_transactions(w, in, lane, *p.owner, p.offset, *p.barrier, bytes);
}

template <bool kSanitized>
void arrive_one(Warp& w, const Instruction& in, unsigned lane, uint64_t address) {
  const MbarrierPlan& plan = plan_of(in);
  Place p;
  if (!find(w, in, lane, address, true, &p)) return;
  Mbarrier& b = *p.barrier;
  if (kSanitized) {
    check_mbarrier_use(w, in, lane, *p.owner, p.offset, b);
    record_visit(w, in, *p.owner, p.offset, lane, b);
    order_arrive(w, in, lane, *p.owner, b, plan.order.release);
  }
  const uint32_t count = plan.expects ? 1 : count_of(w, in, lane);
  if (count == 0) {
    wrong(w, in, lane, address, "a count of 0 arrivals is not from 1 to 1048575");
    return;
  }
  if (plan.expects) expect_transactions(w, in, lane, *p.owner, p.offset, b, count_of(w, in, lane));
  if (plan.returns) destination<uint64_t>(w, in, 0)[lane] = encode_state(b, plan.no_complete);
  if (plan.no_complete && count >= b.pending && b.transactions == 0) {
    wrong(w, in, lane, address, "an arrival with .noComplete would complete the phase");
    return;
  }
  if (plan.step == Step::Drop) {
    if (count > b.expected) {
      wrong(w, in, lane, address,
            std::to_string(count) + " arrivals are dropped of the " + std::to_string(b.expected) + " that it expects");
      return;
    }
    b.expected -= count;
  }
  arrive(w, in, lane, *p.owner, p.offset, b, count);
}

using One = void (*)(Warp&, const Instruction&, unsigned, uint64_t);

template <One kOne>
void each(Warp& w, const Instruction& in, uint32_t mask) {
  Addresses a;
  read_addresses(w, in, plan_of(in), a);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (mask >> l & 1u) kOne(w, in, l, a.at[l]);
  }
}

// A release ends the epoch of the warp, once for all its lanes.
template <bool kSanitized>
void arrive_all(Warp& w, const Instruction& in, uint32_t mask) {
  each<arrive_one<kSanitized>>(w, in, mask);
  if (kSanitized && plan_of(in).order.release) order_tick(w);
}

// ---- Tests -----------------------------------------------------------------------------------------------

// The phase that a lane asks for: that of its state, or the one of its parity that is in progress or was last.
uint64_t wanted_phase(Warp& w, const Instruction& in, unsigned lane, const Mbarrier& b) {
  const MbarrierPlan& plan = plan_of(in);
  if (!plan.parity) return phase_in(source<uint64_t>(w, in, plan.count)[lane]);
  const uint64_t parity = source<uint32_t>(w, in, plan.count)[lane] & 1u;
  return (b.phase & 1u) == parity ? b.phase : b.phase - 1;
}

// Whether a test may be tried without need, once per warp and instruction, so that the loop around it runs.
bool hurry(Warp& w, const Instruction& in) {
  if (std::find(w.hurried.begin(), w.hurried.end(), in.index) != w.hurried.end()) return false;
  w.hurried.push_back(in.index);
  return true;
}

template <bool kSanitized>
void test(Warp& w, const Instruction& in, uint32_t mask) {
  const MbarrierPlan& plan = plan_of(in);
  Addresses a;
  read_addresses(w, in, plan, a);
  uint32_t complete = 0;
  for (uint32_t rest = mask; rest != 0;) {
    const auto first = static_cast<unsigned>(__builtin_ctz(rest));
    Place p;
    if (!find(w, in, first, a.at[first], true, &p)) return;
    if (p.owner != w.cta) {
      wrong(w, in, first, a.at[first], "only mbarriers of the thread's own CTA can be tested");
      return;
    }
    const uint64_t phase = wanted_phase(w, in, first, *p.barrier);
    uint32_t group = 0;
    for (unsigned l = first; l < kLanes; ++l) {
      if ((rest >> l & 1u) && a.at[l] == a.at[first] && wanted_phase(w, in, l, *p.barrier) == phase) group |= 1u << l;
    }
    rest &= ~group;
    if (kSanitized) check_mbarrier_use(w, in, first, *p.owner, p.offset, *p.barrier);
    // The phase before the first is complete: its number is one below 0.
    if (phase + 1 <= p.barrier->phase) {
      complete |= group;
      if (kSanitized) observe_phase(w, in, group, *p.barrier, phase);
      continue;
    }
    if (kSanitized && plan.parity) check_overrun(w, in, first, *p.owner, p.offset, *p.barrier, phase);
    if (plan.tries && !(kSanitized && hurry(w, in))) {
      ++p.barrier->waiting;
      Wait wait{Wait::Kind::Mbarrier, p.offset, &in};
      wait.phase = phase;
      block(w, group, in.index + 1, wait);
      continue;
    }
    w.failed_test = &in;
    w.failed_offset = p.offset;
    w.failed_phase = phase;
  }
  set_predicate(w, in, 0, mask, complete);
}

void pending_count(Warp& w, const Instruction& in, uint32_t mask) {
  const uint64_t* state = source<uint64_t>(w, in, 1);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u) || state[l] >> 62 == 3) continue;
    report(w, Kind::BadMbarrier, site_of(w, in, l), "the state is not of an arrival with .noComplete");
    return;
  }
  each_lane<uint32_t>(w, in, 0, mask, [=](unsigned l) { return static_cast<uint32_t>(state[l] & kMostArrivals); });
}

// ---- Decoding --------------------------------------------------------------------------------------------

Handler keep(Decoding& d, const MbarrierPlan& plan, Handler plain, Handler sanitized) {
  d.out->plan = d.keep(plan);
  d.out->sanitized = sanitized;
  note_access(d, plan);
  return plain;
}

// [addr] and a count.
Handler resolve_change(Decoding& d, MbarrierPlan& plan, bool counted) {
  plan.counted = counted;
  if (d.operands.size() != (counted ? 2u : 1u) || !bind_address(d, 0, &plan)) return nullptr;
  plan.count = static_cast<uint8_t>(d.bound());
  if (counted && !d.source(1, 32)) return nullptr;
  switch (plan.step) {
    case Step::Init: return keep(d, plan, each<init_one<false>>, each<init_one<true>>);
    case Step::Invalidate: return keep(d, plan, each<invalidate_one<false>>, each<invalidate_one<true>>);
    default: return keep(d, plan, each<change_one<false>>, each<change_one<true>>);
  }
}

// A state or a sink, [addr], and a count that may be missing.
Handler resolve_arrive(Decoding& d, MbarrierPlan& plan) {
  if (d.operands.size() < 2 || d.operands.size() > 3) return nullptr;
  plan.returns = d.operands[0].kind == OperandView::Kind::Register;
  plan.counted = d.operands.size() == 3;
  if (plan.returns && plan.space == Space::SharedCluster) return nullptr;
  if (!d.destination(0, 64) || !bind_address(d, 1, &plan)) return nullptr;
  plan.count = static_cast<uint8_t>(d.bound());
  if ((plan.counted && !d.source(2, 32)) || ((plan.expects || plan.no_complete) && !plan.counted)) return nullptr;
  return keep(d, plan, arrive_all<false>, arrive_all<true>);
}

// A predicate, [addr], a state or a parity, and a time that try_wait may have.
Handler resolve_test(Decoding& d, MbarrierPlan& plan) {
  if (d.operands.size() < 3 || d.operands.size() > (plan.tries ? 4u : 3u)) return nullptr;
  if (plan.space == Space::SharedCluster || !d.destination(0, 1) || !bind_address(d, 1, &plan)) return nullptr;
  plan.count = static_cast<uint8_t>(d.bound());
  if (!d.source(2, plan.parity ? 32 : 64)) return nullptr;
  if (d.operands.size() == 4 && !d.source(3, 32)) return nullptr;
  return keep(d, plan, test<false>, test<true>);
}

Handler resolve_pending_count(Decoding& d) {
  const bool layout = d.modifiers.size() == 3 && d.modifiers[1] == "layout::v0";
  if (d.modifiers.size() != (layout ? 3u : 2u) || !d.shape(32, 64, 1)) return nullptr;
  return pending_count;
}

}  // namespace

bool tests_parity(const Instruction& in) { return plan_of(in).parity; }

void deliver_test(Warp& w, const Instruction& in, uint32_t mask, bool complete) {
  set_predicate(w, in, 0, mask, complete ? kFullMask : 0);
}

Handler resolve_mbarrier(Decoding& d) {
  if (d.opcode != "mbarrier" || d.modifiers.size() < 2 || d.last() != "b64") return nullptr;
  if (d.modifiers[0] == "pending_count") return resolve_pending_count(d);
  MbarrierPlan plan;
  plan.access = Access::Atomic;
  plan.element = plan.bytes = kMbarrierBytes;
  const std::vector<std::string_view> spelled = d.modifiers;
  plan.order.scope = Scope::Cta;
  read_access(d, &plan);
  std::vector<std::string_view> rest = std::move(d.modifiers);
  d.modifiers = spelled;
  // The layout that is meant without it.
  rest.erase(std::remove(rest.begin(), rest.end(), std::string_view("layout::v0")), rest.end());
  const std::string_view what = rest[0];
  const std::string_view how = rest.size() == 3 ? rest[1] : std::string_view();
  const bool relaxed = d.has("relaxed");
  if (rest.size() < 2 || rest.size() > 3 || plan.vector != 1) return nullptr;
  if (what == "init" || what == "inval" || what == "expect_tx" || what == "complete_tx") {
    plan.step = what == "init" ? Step::Init : what == "inval" ? Step::Invalidate
                : what == "expect_tx" ? Step::Expect : Step::Complete;
    const bool own = plan.step == Step::Init || plan.step == Step::Invalidate;
    if (!how.empty() || (own && plan.space == Space::SharedCluster)) return nullptr;
    return resolve_change(d, plan, what != "inval");
  }
  if (what == "arrive" || what == "arrive_drop") {
    plan.step = what == "arrive" ? Step::Arrive : Step::Drop;
    plan.expects = how == "expect_tx";
    plan.no_complete = how == "noComplete";
    plan.order.release = !relaxed;
    return how.empty() || plan.expects || plan.no_complete ? resolve_arrive(d, plan) : nullptr;
  }
  if (what == "test_wait" || what == "try_wait") {
    plan.tries = what == "try_wait";
    plan.parity = how == "parity";
    plan.order.acquire = !relaxed;
    return how.empty() || plan.parity ? resolve_test(d, plan) : nullptr;
  }
  return nullptr;
}

}  // namespace pyptx::emulator
