// Barriers of a warp, a CTA and a cluster, fences, and setmaxnreg (PTX ISA, "Parallel Synchronization and Communication").
#include <algorithm>
#include <string>

#include "machine/tensor_memory.h"
#include "machine/warp.h"
#include "access.h"
#include "copy.h"
#include "modifiers.h"

namespace pyptx::emulator {

void report_diverged(Warp& w, const Instruction& in, uint32_t mask) {
  if (w.worker->launch->config.sanitize == 0) return;
  Finding f{};
  f.kind = Kind::DivergentBarrier;
  f.site = site_of(w, in, static_cast<unsigned>(__builtin_ctz(mask)));
  char text[96];
  std::snprintf(text, sizeof text, "only lanes 0x%08x of the warp reach it; all must execute an .aligned instruction", mask);
  f.note = text;
  report(w, f);
}

namespace {

enum class Reduction : uint8_t { None, Population, And, Or };

struct BarrierPlan {
  bool arrive = false;   // does not wait
  bool aligned = false;
  bool counted = false;  // has a thread count
  Reduction reduction = Reduction::None;
  // Slots of the bound operands; unused ones are 0.
  uint8_t destination = 0, barrier = 0, count = 0, predicate = 0;
  bool negated = false;
};

const BarrierPlan& plan_of(const Instruction& in) { return *static_cast<const BarrierPlan*>(in.plan); }

bool sanitizes(const Warp& w) { return w.worker->launch->synchronisation; }

uint32_t live_threads(const Cta& cta) {
  uint32_t threads = 0;
  for (const Warp& w : cta.warps) threads += static_cast<uint32_t>(__builtin_popcount(w.live));
  return threads;
}

// The threads of a barrier without a count: of every warp those that have not exited. A whole warp arrives as
// 32 threads where the barrier has a count, as hardware counts warps.
uint32_t weight(const Warp& w, uint32_t mask, bool counted) {
  return counted && mask == w.live ? kLanes : static_cast<uint32_t>(__builtin_popcount(mask));
}

void deliver(Warp& w, const Split& split, const Barrier& b) {
  const Instruction& in = *split.wait.at;
  const BarrierPlan& plan = plan_of(in);
  switch (plan.reduction) {
    case Reduction::None:
      return;
    case Reduction::Population:
      each_lane<uint32_t>(w, in, plan.destination, split.mask, [&](unsigned) { return b.population; });
      return;
    case Reduction::And:
      set_predicate(w, in, plan.destination, split.mask, b.all ? kFullMask : 0);
      return;
    case Reduction::Or:
      set_predicate(w, in, plan.destination, split.mask, b.any ? kFullMask : 0);
      return;
  }
}

void release(Cta& cta, uint32_t id) {
  Barrier& b = cta.barriers[id];
  for (Warp& w : cta.warps) {
    for (Split& s : w.others) {
      if (s.wait.kind != Wait::Kind::Barrier || s.wait.object != id) continue;
      deliver(w, s, b);
      order_leave(w, s.mask, b.clocks);
      wake(w, s);
    }
  }
  b.arrived = b.expected = b.waiting = b.population = 0;
  b.all = true;
  b.any = b.counted = false;
  b.clocks.reset();
}

bool complete(const Cta& cta, const Barrier& b) {
  return b.arrived != 0 && b.arrived >= (b.counted ? b.expected : live_threads(cta));
}

bool bad_barrier(Warp& w, const Instruction& in, uint32_t mask, const std::string& note) {
  report(w, Kind::BadBarrier, site_of(w, in, static_cast<unsigned>(__builtin_ctz(mask))), note);
  return false;
}

// The barrier's number and thread count, the same in all lanes, or a finding.
bool read_operands(Warp& w, const Instruction& in, uint32_t mask, uint32_t* id, uint32_t* count) {
  const BarrierPlan& plan = plan_of(in);
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  *id = source<uint32_t>(w, in, plan.barrier)[first];
  *count = plan.counted ? source<uint32_t>(w, in, plan.count)[first] : 0;
  if (*id > 15) return bad_barrier(w, in, mask, "barrier " + std::to_string(*id) + " does not exist; there are 0 to 15");
  if (plan.counted && (*count == 0 || *count % kLanes != 0)) {
    return bad_barrier(w, in, mask, "a thread count of " + std::to_string(*count) + " is not a multiple of 32");
  }
  const uint32_t threads = w.worker->launch->warps_per_cta * kLanes;
  if (*count > threads) {
    return bad_barrier(w, in, mask, "a thread count of " + std::to_string(*count) + " is more than the CTA has");
  }
  const Barrier& b = w.cta->barriers[*id];
  if (b.arrived != 0 && (b.counted != plan.counted || (b.counted && b.expected != *count))) {
    return bad_barrier(w, in, mask, "the barrier is in use with another thread count");
  }
  return true;
}

void reduce(Warp& w, const Instruction& in, uint32_t mask, Barrier& b) {
  const BarrierPlan& plan = plan_of(in);
  if (plan.reduction == Reduction::None) return;
  const uint32_t p = predicate(w, in, plan.predicate);
  b.population += static_cast<uint32_t>(__builtin_popcount(p & mask));
  b.all &= (p & mask) == mask;
  b.any |= (p & mask) != 0;
}

void bar(Warp& w, const Instruction& in, uint32_t mask) {
  const BarrierPlan& plan = plan_of(in);
  if (plan.aligned) {
    bool diverged;
    if (!converge(w, in, mask, &diverged)) return;
    if (diverged) report_diverged(w, in, mask);
  }
  uint32_t id, count;
  if (!read_operands(w, in, mask, &id, &count)) return;
  Barrier& b = w.cta->barriers[id];
  b.counted = plan.counted;
  b.expected = count;
  b.arrived += weight(w, mask, b.counted);
  reduce(w, in, mask, b);
  order_arrive(w, mask, b.clocks);
  if (!plan.arrive) block(w, mask, in.index + 1, {Wait::Kind::Barrier, id, &in});
  if (complete(*w.cta, b)) release(*w.cta, id);
}

// barrier.cluster: arrive and wait are two instructions; each thread is in one phase.
// Instruction::detail of both:
constexpr uint32_t kAligned = 1, kRelaxed = 2;

// A thread that has arrived and ended neither counts nor is waited for.
struct ClusterThreads {
  uint32_t live = 0, arrived = 0;
};

ClusterThreads cluster_threads(const Cluster& c) {
  ClusterThreads threads;
  for (const Cta& cta : c.ctas) {
    for (const Warp& w : cta.warps) {
      threads.live += static_cast<uint32_t>(__builtin_popcount(w.live));
      threads.arrived += static_cast<uint32_t>(__builtin_popcount(w.live & w.cluster_arrived));
    }
  }
  return threads;
}

void release_cluster(Cluster& c) {
  ++c.barrier.phase;
  c.barrier.arrived = false;
  for (Cta& cta : c.ctas) {
    for (Warp& w : cta.warps) {
      w.cluster_arrived = 0;
      for (Split& s : w.others) {
        if (s.wait.kind != Wait::Kind::Cluster) continue;
        order_leave(w, s.mask, c.barrier.clocks);
        wake(w, s);
      }
    }
  }
  c.barrier.released = c.barrier.clocks;
  c.barrier.clocks.reset();
}

bool cluster_complete(const Cluster& c) {
  if (!c.barrier.arrived) return false;
  for (const Cta& cta : c.ctas) {
    for (const Warp& w : cta.warps) {
      if ((w.live & ~w.cluster_arrived) != 0) return false;
    }
  }
  return true;
}

void cluster_arrive(Warp& w, const Instruction& in, uint32_t mask) {
  bool diverged = false;
  if ((in.detail & kAligned) && !converge(w, in, mask, &diverged)) return;
  if (diverged) report_diverged(w, in, mask);
  if (w.cluster_arrived & mask) {
    bad_barrier(w, in, w.cluster_arrived & mask, "a thread arrives twice without waiting in between");
    return;
  }
  Cluster& c = *w.cta->cluster;
  w.cluster_arrived |= mask;
  c.barrier.arrived = true;
  if (in.detail & kRelaxed) order_relaxed(w, mask, c.barrier.clocks);
  else order_arrive(w, mask, c.barrier.clocks);
  if (cluster_complete(c)) release_cluster(c);
}

void cluster_wait(Warp& w, const Instruction& in, uint32_t mask) {
  bool diverged = false;
  if ((in.detail & kAligned) && !converge(w, in, mask, &diverged)) return;
  if (diverged) report_diverged(w, in, mask);
  Cluster& c = *w.cta->cluster;
  const uint32_t pending = w.cluster_arrived & mask;
  if (pending != mask) order_leave(w, mask & ~pending, c.barrier.released);
  if (pending != 0) block(w, pending, in.index + 1, {Wait::Kind::Cluster, c.barrier.phase, &in});
}

// bar.warp.sync: lanes of one membermask meet, at whichever instructions they are.
void warp_barrier(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t* members = source<uint32_t>(w, in, 0);
  if (sanitizes(w)) {
    for (unsigned l = 0; l < kLanes; ++l) {
      if ((mask >> l & 1u) && !(members[l] >> l & 1u)) {
        report(w, Kind::BadMembermask, site_of(w, in, l), "the membermask does not name the lane that executes it");
        break;
      }
    }
  }
  for (uint32_t rest = mask; rest != 0;) {
    const uint32_t named = members[__builtin_ctz(rest)];
    uint32_t group = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      if ((rest >> l & 1u) && members[l] == named) group |= 1u << l;
    }
    rest &= ~group;
    uint32_t here = group;
    for (const Split& s : w.others) {
      if (s.wait.kind == Wait::Kind::WarpBarrier && s.wait.object == named) here |= s.mask;
    }
    if ((named & w.live & ~here) != 0) {
      block(w, group, in.index + 1, {Wait::Kind::WarpBarrier, named, &in});
      continue;
    }
    order_warp(w, here);
    for (Split& s : w.others) {
      if (s.wait.kind == Wait::Kind::WarpBarrier && s.wait.object == named) wake(w, s);
    }
  }
}

// Instruction::detail of fences has the scope in its low bits, whether it is fence.sc, as membar is, and whether it is
// an acquire or a release alone.
constexpr uint32_t kScopeMask = 3, kSequential = 32, kAcquires = 64, kReleases = 128;

void fence(Warp& w, const Instruction& in, uint32_t mask) {
  const auto scope = static_cast<Scope>(in.detail & kScopeMask);
  const bool sequential = (in.detail & kSequential) != 0;
  if (sequential) order_sequential_fence(w, mask, scope);
  order_fence(w, in, mask, scope, {(in.detail & kReleases) == 0, (in.detail & kAcquires) == 0, sequential});
}

// fence.proxy.async of shared memory, of global memory, or of both; `detail` says which.
constexpr uint32_t kSharedProxies = 4, kGlobalProxies = 8, kOrdersToo = 16;

void fence_proxies(Warp& w, const Instruction& in, uint32_t mask) {
  if (in.detail & kOrdersToo) fence(w, in, mask);
  if (in.detail & kSharedProxies) order_proxies(w, mask, Known::SharedProxy);
  if (in.detail & kGlobalProxies) order_proxies(w, mask, Known::GlobalProxy);
}
void fence_inits(Warp& w, const Instruction&, uint32_t) { order_inits(w); }
void nothing(Warp&, const Instruction&, uint32_t) {}
void grid_wait(Warp& w, const Instruction& in, uint32_t mask) { order_grid_wait(w, in, mask); }
void yield(Warp& w, const Instruction&, uint32_t) { look_up(w, kYield); }

// setmaxnreg: registers are not counted, so only who executes it matters: the whole warp, and all warps of a
// warpgroup alike.
void set_registers(Warp& w, const Instruction& in, uint32_t mask) {
  bool diverged;
  if (!converge(w, in, mask, &diverged)) return;
  if (diverged) report_diverged(w, in, mask);
  if (sanitizes(w)) w.register_requests.push_back(in.index);
}

// ---- Decoding --------------------------------------------------------------------------------------------

constexpr uint32_t kScopes[] = {static_cast<uint32_t>(Scope::Cta), static_cast<uint32_t>(Scope::Cluster),
                                static_cast<uint32_t>(Scope::Gpu), static_cast<uint32_t>(Scope::System)};
constexpr Modifier kScope[] = {{"cta", kScopes[0]}, {"cluster", kScopes[1]}, {"gpu", kScopes[2]}, {"gl", kScopes[2]},
                               {"sys", kScopes[3]}};
constexpr Modifier kFence[] = {{"sc", kFree},      {"acq_rel", kFree}, {"acquire", kFree}, {"release", kFree},
                               {"sync_restrict::shared::cta", kFree},
                               {"sync_restrict::shared::cluster", kFree}};
// Fences between proxies: only the asynchronous one is apart from the generic one here.
constexpr Modifier kProxies[] = {{"alias", kFree},      {"async", kFree}, {"async::generic", kFree},
                                 {"tensormap::generic", kFree}, {"global", kFree}, {"shared::cta", kFree},
                                 {"shared::cluster", kFree}};

Handler resolve_bar(Decoding& d) {
  BarrierPlan plan;
  plan.aligned = d.opcode == "bar" || d.has("aligned");
  size_t i = 0;
  if (i < d.modifiers.size() && d.modifiers[i] == "cta") ++i;
  if (i == d.modifiers.size()) return nullptr;
  const std::string_view kind = d.modifiers[i++];
  unsigned at = 0;
  if (kind == "arrive") plan.arrive = true;
  else if (kind == "red") {
    if (i == d.modifiers.size()) return nullptr;
    const std::string_view op = d.modifiers[i++];
    plan.reduction = op == "popc" ? Reduction::Population : op == "and" ? Reduction::And
                     : op == "or" ? Reduction::Or : Reduction::None;
    if (plan.reduction == Reduction::None) return nullptr;
    plan.destination = static_cast<uint8_t>(d.bound());
    if (!d.destination(at++, plan.reduction == Reduction::Population ? 32 : 1)) return nullptr;
  } else if (kind != "sync") {
    return nullptr;
  }
  for (; i < d.modifiers.size(); ++i) {
    if (d.modifiers[i] != "aligned" && d.modifiers[i] != "u32" && d.modifiers[i] != "pred") return nullptr;
  }
  const unsigned tail = plan.reduction == Reduction::None ? 0 : 1;
  const size_t left = d.operands.size() - std::min<size_t>(at, d.operands.size());
  if (left < 1 + tail || left > 2 + tail) return nullptr;
  plan.barrier = static_cast<uint8_t>(d.bound());
  if (!d.source(at++, 32)) return nullptr;
  if (left == 2 + tail) {
    plan.counted = true;
    plan.count = static_cast<uint8_t>(d.bound());
    if (!d.source(at++, 32)) return nullptr;
  }
  if (plan.arrive && !plan.counted) return nullptr;
  if (tail) {
    plan.predicate = static_cast<uint8_t>(d.bound());
    if (!d.source(at, 1)) return nullptr;
  }
  d.out->plan = d.keep(plan);
  return bar;
}

Handler resolve_cluster_barrier(Decoding& d) {
  if (d.modifiers.size() < 2 || !d.operands.empty()) return nullptr;
  for (size_t i = 2; i < d.modifiers.size(); ++i) {
    const std::string_view m = d.modifiers[i];
    if (m != "release" && m != "relaxed" && m != "acquire" && m != "aligned") return nullptr;
  }
  d.out->detail = (d.has("aligned") ? kAligned : 0) | (d.has("relaxed") ? kRelaxed : 0);
  if (d.modifiers[1] == "arrive") return cluster_arrive;
  return d.modifiers[1] == "wait" ? cluster_wait : nullptr;
}

Handler resolve_set_registers(Decoding& d) {
  const bool known = d.spelling == "setmaxnreg.inc.sync.aligned.u32" || d.spelling == "setmaxnreg.dec.sync.aligned.u32";
  const OperandView* v = d.view(0);
  if (!known || d.operands.size() != 1 || v->kind != OperandView::Kind::Immediate) return nullptr;
  d.out->detail = static_cast<uint32_t>(v->bits);
  return v->bits >= 24 && v->bits <= 256 && v->bits % 8 == 0 ? set_registers : nullptr;
}

Handler resolve_fence(Decoding& d) {
  if (d.modifiers.empty()) return nullptr;
  if (d.spelling == "fence.mbarrier_init.release.cluster") {
    d.out->sanitized = fence_inits;
    return d.operands.empty() ? nothing : nullptr;
  }
  const bool proxy = d.modifiers[0] == "proxy";
  uint32_t scope = static_cast<uint32_t>(Scope::System);
  for (size_t i = proxy; i < d.modifiers.size(); ++i) {
    uint32_t ignored;
    const bool known = read_modifier(d.modifiers[i], kScope, std::size(kScope), &scope) || read_modifier(d.modifiers[i], kFence, std::size(kFence), &ignored) ||
                       (proxy && read_modifier(d.modifiers[i], kProxies, std::size(kProxies), &ignored));
    if (!known) return nullptr;
  }
  if (proxy && d.has("tensormap::generic")) return resolve_map_fence(d);
  if (proxy && (d.has("async") || d.has("async::generic"))) {
    const bool shared = d.has("shared::cta") || d.has("shared::cluster") || d.has("async::generic");
    d.out->detail = scope | (d.has("global") ? 0 : kSharedProxies) | (shared ? 0 : kGlobalProxies) |
                    (d.has("async::generic") ? kOrdersToo : 0);
    d.out->sanitized = fence_proxies;
  }
  if (!proxy) d.out->detail = scope | (d.opcode == "membar" || d.has("sc") ? kSequential : 0);
  d.out->detail |= (d.has("acquire") ? kAcquires : 0) | (d.has("release") ? kReleases : 0);
  if (d.operands.empty()) return proxy ? nothing : fence;
  return nullptr;
}

}  // namespace

void barriers_after_exit(Warp& w) {
  Cta& cta = *w.cta;
  for (uint32_t id = 0; id < 16; ++id) {
    if (!cta.barriers[id].counted && complete(cta, cta.barriers[id])) release(cta, id);
  }
  for (Split& s : w.others) {
    if (s.wait.kind != Wait::Kind::WarpBarrier) continue;
    uint32_t here = 0;
    for (const Split& o : w.others) {
      if (o.wait.kind == Wait::Kind::WarpBarrier && o.wait.object == s.wait.object) here |= o.mask;
    }
    const uint32_t named = s.wait.object;
    if ((named & w.live & ~here) != 0) continue;
    for (Split& o : w.others) {
      if (o.wait.kind == Wait::Kind::WarpBarrier && o.wait.object == named) wake(w, o);
    }
  }
  Cluster& c = *cta.cluster;
  if (cluster_complete(c)) release_cluster(c);
}

namespace {

// What the warps of a CTA have asked for last, all together, is there at once; the others have the least.
void check_register_file(Cta& cta) {
  constexpr uint32_t kRegisters = 65536, kLeast = 24;  // of a multiprocessor, of a thread
  uint32_t asked = 0;
  Warp* most = nullptr;
  const auto last = [](const Warp& w) { return program_of(w).code[w.register_requests.back()].detail; };
  for (Warp& w : cta.warps) {
    asked += (w.register_requests.empty() ? kLeast : last(w)) * kLanes;
    if (!w.register_requests.empty() && (most == nullptr || last(w) > last(*most))) most = &w;
  }
  if (most == nullptr || asked <= kRegisters) return;
  report(*most, Kind::RegisterFile, site_of(*most, program_of(*most).code[most->register_requests.back()], 0),
         "the warps of the CTA ask for " + std::to_string(asked) + " registers together; a multiprocessor has " +
             std::to_string(kRegisters));
}

}  // namespace

void check_register_requests(Cta& cta) {
  check_register_file(cta);
  constexpr size_t kWarpsOfGroup = 4;
  for (size_t i = 0; i < cta.warps.size(); ++i) {
    Warp& w = cta.warps[i];
    const Warp& first = cta.warps[i - i % kWarpsOfGroup];
    if (w.register_requests == first.register_requests) continue;
    const Warp& more = w.register_requests.size() > first.register_requests.size() ? w : first;
    const Warp& other = &more == &w ? first : w;
    size_t k = 0;
    while (k < other.register_requests.size() && more.register_requests[k] == other.register_requests[k]) ++k;
    report(w, Kind::DivergentBarrier, site_of(more, program_of(w).code[more.register_requests[k]], 0),
           "warp " + std::to_string(other.index) + " of the warpgroup does not execute it; all four must alike");
    return;
  }
}

std::string describe_wait(const Warp& w, const Split& split) {
  const Cta& cta = *w.cta;
  char text[160];
  switch (split.wait.kind) {
    case Wait::Kind::None:
      return "nothing; it could run";
    case Wait::Kind::Lanes:
      std::snprintf(text, sizeof text, "lanes 0x%08x at the same instruction; membermask 0x%08x",
                    split.wait.object & w.live & ~split.mask, split.wait.object);
      return text;
    case Wait::Kind::Converge:
      std::snprintf(text, sizeof text, "lanes 0x%08x of the warp at the same instruction", w.live & ~split.mask);
      return text;
    case Wait::Kind::WarpBarrier:
      std::snprintf(text, sizeof text, "lanes 0x%08x at bar.warp.sync; membermask 0x%08x",
                    split.wait.object & w.live & ~split.mask, split.wait.object);
      return text;
    case Wait::Kind::Barrier: {
      const Barrier& b = cta.barriers[split.wait.object];
      std::snprintf(text, sizeof text, "barrier %u; %u of %u threads have arrived", split.wait.object, b.arrived,
                    b.counted ? b.expected : live_threads(cta));
      return text;
    }
    case Wait::Kind::Cluster: {
      const ClusterThreads threads = cluster_threads(*cta.cluster);
      std::snprintf(text, sizeof text, "the cluster barrier; %u of %u threads have arrived", threads.arrived,
                    threads.live);
      return text;
    }
    case Wait::Kind::Mbarrier:
      return describe_mbarrier(cta, split.wait.object, split.wait.phase);
    case Wait::Kind::Copies:
      return "copies to complete";
    case Wait::Kind::Products:
      return describe_products(w, split.wait.object);
    case Wait::Kind::TensorMemory:
      return describe_tensor_wait(w, split);
  }
  return "";
}

Handler resolve_sync(Decoding& d) {
  if (d.opcode == "bar" && d.spelling == "bar.warp.sync") {
    return d.operands.size() == 1 && d.source(0, 32) ? warp_barrier : nullptr;
  }
  if (d.opcode == "barrier" && !d.modifiers.empty() && d.modifiers[0] == "cluster") return resolve_cluster_barrier(d);
  if (d.opcode == "bar" || d.opcode == "barrier") return resolve_bar(d);
  if (d.opcode == "fence" || d.opcode == "membar") return resolve_fence(d);
  if (d.opcode == "griddepcontrol") {
    if (d.spelling == "griddepcontrol.wait") d.out->sanitized = grid_wait;
    return d.operands.empty() && (d.spelling == "griddepcontrol.wait" || d.spelling == "griddepcontrol.launch_dependents")
               ? nothing
               : nullptr;
  }
  if (d.opcode == "setmaxnreg") return resolve_set_registers(d);
  if (d.spelling == "nanosleep.u32") return d.operands.size() == 1 && d.source(0, 32) ? yield : nullptr;
  return nullptr;
}

}  // namespace pyptx::emulator
