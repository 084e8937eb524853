// Runs warps: the instruction loop, splits within a warp, warps within a cluster.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "schedule.h"
#include "sanitizer/shadow_cells.h"
#include "tensor_memory.h"
#include "warp.h"

namespace pyptx::emulator {
namespace {

// Without blocking, a warp runs this many instructions before others get a turn.
constexpr uint64_t kSlice = 100000;
// A cluster runs this many before other clusters are admitted: it may wait for them in ways that cannot be
// seen to stand still.
constexpr uint64_t kTurn = 16000000;
// Backward branches of a split before it steps back for others of its warp that are ready.
constexpr uint32_t kPatience = 512;
constexpr uint64_t kDefaultMaxInstructions = 1ull << 28;
// A running warp looks after so many instructions whether the launch goes on.
constexpr uint64_t kLook = 256;

bool ready(const Split& s) { return s.wait.kind == Wait::Kind::None; }
bool waits_here(const Split& s) {
  return s.wait.kind == Wait::Kind::Lanes || s.wait.kind == Wait::Kind::Converge;
}
bool mergeable(const Split& s) { return ready(s) || waits_here(s); }

bool any_ready(const Warp& w) { return std::any_of(w.others.begin(), w.others.end(), ready); }

bool random_schedule(const Warp& w) { return w.worker->launch->config.schedule == PYPTX_SCHEDULE_RANDOM; }

void left_standstill(Warp& w) {
  if (!w.polling) return;
  w.polling = false;
  ++w.cta->cluster->progress;
}

// Makes a ready split the running one: the first in the program, or a random one.
bool pick(Warp& w) {
  size_t best = w.others.size();
  uint32_t seen = 0;
  for (size_t i = 0; i < w.others.size(); ++i) {
    if (!ready(w.others[i])) continue;
    ++seen;
    const bool better = random_schedule(w) ? w.cta->cluster->draw(seen) == 0
                                           : best == w.others.size() || w.others[i].pc < w.others[best].pc;
    if (better) best = i;
  }
  if (best == w.others.size()) return false;
  w.pc = w.others[best].pc;
  w.active = w.others[best].mask;
  w.others.erase(w.others.begin() + static_cast<ptrdiff_t>(best));
  return true;
}

void merge_here(Warp& w) {
  for (size_t i = 0; i < w.others.size();) {
    if (w.others[i].pc == w.pc && mergeable(w.others[i])) {
      w.active |= w.others[i].mask;
      w.others.erase(w.others.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

// Merges what stands at the running split's instruction, runs the lowest ready split, and notes where to look
// up next.
void settle(Warp& w) {
  w.next_split = ~0u;
  if (w.others.empty() || w.suspended) return;
  merge_here(w);
  Split* lowest = nullptr;
  for (Split& s : w.others) {
    if (ready(s) && s.pc < w.pc && (lowest == nullptr || s.pc < lowest->pc)) lowest = &s;
  }
  if (lowest != nullptr && !random_schedule(w)) {
    std::swap(lowest->pc, w.pc);
    std::swap(lowest->mask, w.active);
    merge_here(w);
  }
  for (const Split& s : w.others) {
    if (mergeable(s) && s.pc > w.pc) w.next_split = std::min(w.next_split, s.pc);
  }
}

void rotate(Warp& w) {
  const auto next = std::find_if(w.others.begin(), w.others.end(), ready);
  if (next == w.others.end()) return;
  const Split split = *next;
  w.others.erase(next);
  w.others.push_back({w.pc, w.active, {}});
  w.pc = split.pc;
  w.active = split.mask;
  w.suspended = true;
  w.backward = 0;
}

// After a handler asked for attention, or the running split met another: decides what runs next. False if the
// warp stops running for now; its state says why.
bool attend(Warp& w) {
  const uint32_t why = std::exchange(w.attention, 0);
  if (w.worker->launch->stop.load(std::memory_order_relaxed)) return false;
  if (why & (kBlocked | kExited)) {
    w.suspended = false;
    w.backward = 0;
  }
  if (why & kExited) left_standstill(w);
  if (w.active == 0 && !pick(w)) {
    w.state = w.live != 0 ? WarpState::Blocked : WarpState::Done;
    return false;
  }
  if ((why & kSpinning) && !any_ready(w)) {
    settle(w);
    w.state = WarpState::Spinning;
    w.polling = false;
    return false;
  }
  if (why & kRotate) rotate(w);
  settle(w);
  return (why & kYield) == 0;
}

// Runs until the warp cannot go on, or gives way, or has run `limit` instructions; true in the last case.
template <bool kSanitized, bool kStatistics, bool kTracked>
bool run_warp(Warp& w, uint64_t limit) {
  const Instruction* code = program_of(w).code.data();
  const uint8_t* file = w.base[0];
  PyptxInstructionStatistics* statistics = w.worker->statistics;
  uint64_t count = 0, pause = std::min(limit, kLook);
  uint32_t pc = w.pc;
  for (;;) {
    if (__builtin_expect(pc >= w.next_split, 0)) {
      if (!attend(w)) break;
      pc = w.pc;
    }
    if (__builtin_expect(count >= pause, 0)) {
      if (count >= limit || !w.worker->goes_on()) break;
      pause = std::min(limit, count + kLook);
    }
    const Instruction& in = code[pc];
    uint32_t guard;
    std::memcpy(&guard, file + in.guard, sizeof guard);
    if (kTracked) check_registers(w, in, w.active);
    const uint32_t mask = w.active & (guard ^ in.guard_invert);
    ++count;
    w.pc = pc + 1;
    if (__builtin_expect(mask != 0, 1)) {
      if (kStatistics) {
        ++statistics[pc].executions;
        statistics[pc].lanes += static_cast<unsigned>(__builtin_popcount(mask));
      }
      (kSanitized ? in.sanitized : in.handler)(w, in, mask);
    }
    pc = w.pc;
  }
  w.executed += count;
  w.cta->cluster->executed += count;
  return count >= limit;
}

using RunWarp = bool (*)(Warp&, uint64_t);

RunWarp loop_for(const Launch& launch) {
  static constexpr RunWarp kLoops[] = {
      run_warp<false, false, false>, run_warp<false, false, true>, run_warp<false, true, false>,
      run_warp<false, true, true>,   run_warp<true, false, false>, run_warp<true, false, true>,
      run_warp<true, true, false>,   run_warp<true, true, true>};
  const bool sanitized = launch.config.sanitize != 0;
  const bool tracked = (launch.initialisation && !launch.program->tracked.empty()) ||
                       (launch.races && !launch.program->products.empty());
  return kLoops[(sanitized ? 4 : 0) + (launch.config.statistics ? 2 : 0) + (tracked ? 1 : 0)];
}

// ---- Clusters --------------------------------------------------------------------------------------------

template <class T>
void fill_lanes(uint8_t* place, uint64_t value) {
  T* lanes = reinterpret_cast<T*>(place);
  PYPTX_EACH_LANE(l) lanes[l] = static_cast<T>(value);
}

// The same value in all lanes of a register that is filled when a warp starts: a number or an address.
void fill_lanes(uint8_t* place, unsigned width, uint64_t value) {
  if (width == 64) return fill_lanes<uint64_t>(place, value);
  if (width == 32) return fill_lanes<uint32_t>(place, value);
  fill_lanes<uint16_t>(place, value);
}

void start_warp(Warp& w, Cta& cta, uint32_t index, uint8_t* file) {
  const Launch& launch = *cta.cluster->worker->launch;
  const Program& program = *launch.program;
  const uint32_t threads = launch.threads_per_cta - index * kLanes;
  w = Warp();
  w.base[0] = file;
  w.base[1] = const_cast<uint8_t*>(program.pool());
  w.pc = program.entry;
  w.live = w.active = threads >= kLanes ? kFullMask : (1u << threads) - 1;
  w.index = index;
  w.agent = cta.rank * launch.warps_per_cta + index;
  w.cta = &cta;
  w.worker = cta.cluster->worker;
  if (launch.races) w.held.resize(program.held.size());
  if (!program.functions.empty()) w.calls.resize(kLanes);
  std::memset(file + program.true_predicate, 0xff, 4);
  for (const uint32_t r : program.tracked) {
    const RegisterSlot& slot = program.registers[r];
    std::memset(file + slot.offset, 0xcd, slot.width == 1 ? 4 : slot.width * kLanes / 8);
  }
  for (const Preload& p : program.preloads) {
    const RegisterSlot& slot = program.registers[p.register_];
    uint8_t* place = file + slot.offset;
    if (p.kind == Preload::Kind::Special) {
      fill_special(w, p.special, slot.width, place);
      if (p.special != Special::envreg) continue;
    }
    // Of a cooperative launch, %envreg1 and %envreg2 are the halves of the address that grid.sync() waits at.
    const uint64_t barrier = launch.memory.grid_barrier;
    const uint64_t environment = p.value == 1 ? barrier >> 32 : p.value == 2 ? barrier & 0xffffffffu : 0;
    const uint64_t base = p.kind == Preload::Kind::SharedSymbol   ? cta.shared_base
                          : p.kind == Preload::Kind::GlobalSymbol ? launch.memory.global_base
                                                                  : 0;
    fill_lanes(place, slot.width, p.kind == Preload::Kind::Special ? environment : base + p.value);
  }
}

void start_cta(Cta& cta, const Launch& launch, uint32_t rank) {
  Cluster& cluster = *cta.cluster;
  const uint32_t* dim = launch.cluster_dim;
  cta.rank = rank;
  const uint32_t inside[3] = {rank % dim[0], rank / dim[0] % dim[1], rank / (dim[0] * dim[1])};
  for (int i = 0; i < 3; ++i) cta.id[i] = cluster.id[i] * dim[i] + inside[i];
  const uint32_t* grid = launch.config.grid;
  cta.linear = cta.id[0] + static_cast<uint64_t>(grid[0]) * (cta.id[1] + static_cast<uint64_t>(grid[1]) * cta.id[2]);
  cta.shared_base = (rank << kRankShift) + reserved_shared(launch.program->sm);
  cta.live_warps = launch.warps_per_cta;
  for (Barrier& b : cta.barriers) b = Barrier();
  cta.mbarriers.clear();
  cta.visits.clear();
  cta.sent.clear();
  cta.sequential_fences.clear();
  cta.tensor_memory.reset();
  cta.warpgroups.assign((launch.warps_per_cta + kWarpgroupWarps - 1) / kWarpgroupWarps, Warpgroup());
  const uint32_t granule = launch.program->shared_granule;
  cta.shadow.reset(launch.shared_bytes, granule, launch.initialisation, launch.races);
  if (launch.program->reads_reserved && launch.initialisation) {
    uint8_t* first = &cta.shadow.written[launch.reserved_at >> cta.shadow.shift];
    std::memset(first, 1, kReservedForGroups >> cta.shadow.shift);
  }
  cta.local_shadow.reset(launch.program->space_bytes[1], launch.warps_per_cta * kLanes, granule,
                         launch.initialisation);
  cta.segment = launch.global_order.segment_of(cta.linear);
  cta.acquired_maps.clear();
}

uint8_t* aligned(std::vector<uint8_t>& bytes, size_t size, size_t alignment) {
  if (bytes.size() < size + alignment) bytes.resize(size + alignment);
  const auto at = reinterpret_cast<uintptr_t>(bytes.data());
  return reinterpret_cast<uint8_t*>((at + alignment - 1) & ~static_cast<uintptr_t>(alignment - 1));
}

}  // namespace

void start_cluster(Cluster& c, Worker& worker, uint64_t linear) {
  Launch& launch = *worker.launch;
  const Program& program = *launch.program;
  c.worker = &worker;
  c.linear = linear;
  const uint32_t* grid = launch.cluster_grid;
  c.id[0] = static_cast<uint32_t>(linear % grid[0]);
  c.id[1] = static_cast<uint32_t>(linear / grid[0] % grid[1]);
  c.id[2] = static_cast<uint32_t>(linear / grid[0] / grid[1]);
  c.version = c.progress = c.executed = c.clock_readings = 0;
  c.turn = 0;
  c.random = (launch.config.seed + 1) * 0x9e3779b97f4a7c15ull + linear * 0xbf58476d1ce4e5b9ull + 1;
  c.random += c.random == 0;
  c.barrier = ClusterBarrier();
  const uint32_t warps = launch.warps_per_cta;
  c.warps_left = warps * launch.cluster_size;
  c.operations.clear();
  c.issuers.clear();
  c.timed_out = false;
  c.clocks.reset(launch.races ? c.warps_left : 0, program.asynchronous);
  c.published.reset();
  c.older_values.clear();
  c.sequential_fences.clear();
  c.older_random = (launch.config.seed + 1) * 0x94d049bb133111ebull + linear * 0xd6e8feb86659fd93ull + 1;
  c.older_random += c.older_random == 0;
  c.ctas.resize(launch.cluster_size);
  uint8_t* files = aligned(c.register_bytes, static_cast<size_t>(program.file_bytes) * c.warps_left, 64);
  // A CTA's shared memory starts at a multiple of 1024; uninitialised values are NaN and large.
  const size_t stride = (launch.shared_bytes + 1023u) & ~1023u;
  uint8_t* shared = aligned(c.shared_bytes, stride * launch.cluster_size, 1024);
  std::memset(shared, 0xff, stride * launch.cluster_size);
  const size_t local = static_cast<size_t>(program.space_bytes[1]) * kLanes * warps;
  uint8_t* locals = aligned(c.local_bytes, local * launch.cluster_size, 64);
  std::memset(locals, 0xff, local * launch.cluster_size);
  const bool tracked = launch.initialisation && !program.tracked.empty();
  if (tracked) c.defined_bytes.assign(static_cast<size_t>(program.image_registers) * c.warps_left, 0);
  for (uint32_t rank = 0; rank < launch.cluster_size; ++rank) {
    Cta& cta = c.ctas[rank];
    cta.cluster = &c;
    cta.shared = shared + stride * rank;
    cta.local = locals + local * rank;
    start_cta(cta, launch, rank);
    cta.warps.resize(warps);
    for (uint32_t i = 0; i < warps; ++i) {
      Warp& w = cta.warps[i];
      start_warp(w, cta, i, files + static_cast<size_t>(program.file_bytes) * (rank * warps + i));
      w.defined = tracked ? &c.defined_bytes[static_cast<size_t>(program.image_registers) * w.agent] : nullptr;
    }
  }
}

namespace {

Warp& warp_at(Cluster& c, size_t i) {
  const size_t per_cta = c.ctas[0].warps.size();
  return c.ctas[i / per_cta].warps[i % per_cta];
}

// A warp that can run: in turn, or at random. Warps that stood still look again when memory has changed.
Warp* choose(Cluster& c, bool* spinning) {
  const Launch& launch = *c.worker->launch;
  const size_t count = c.ctas.size() * c.ctas[0].warps.size();
  const bool random = launch.config.schedule == PYPTX_SCHEDULE_RANDOM;
  *spinning = false;
  Warp* chosen = nullptr;
  uint32_t seen = 0;
  for (size_t k = 0; k < count; ++k) {
    const size_t i = c.turn + k < count ? c.turn + k : c.turn + k - count;
    Warp& w = warp_at(c, i);
    if (w.state == WarpState::Spinning) {
      *spinning = true;
      if (w.spin_version == c.version) continue;
      w.state = WarpState::Ready;
      w.spin_visits = 0;
      w.spin_snapshot_valid = false;
    }
    if (w.state != WarpState::Ready) continue;
    if (!random) {
      c.turn = i + 1 == count ? 0 : i + 1;
      return &w;
    }
    if (c.draw(++seen) == 0) chosen = &w;
  }
  return chosen;
}

void report_runaway(Warp& w) {
  const Program& program = program_of(w);
  const uint32_t at = std::min<uint32_t>(w.pc, static_cast<uint32_t>(program.instructions()));
  report(w, Kind::Runaway, site_of(w, program.code[at], static_cast<unsigned>(__builtin_ctz(w.active ? w.active : 1))),
         "the warp has run " + std::to_string(w.executed) + " instructions");
}

// Where the warp was when the launch's budget ended.
Finding over_budget(const Warp& w, std::string note) {
  const Program& program = program_of(w);
  const uint32_t at = std::min<uint32_t>(w.pc, static_cast<uint32_t>(program.instructions()));
  Finding f{};
  f.kind = Kind::Budget;
  f.site = site_of(w, program.code[at], static_cast<unsigned>(__builtin_ctz(w.active ? w.active : 1)));
  f.note = std::move(note);
  return f;
}

void report_instructions(Warp& w) {
  report(w, over_budget(w, "its warps have run " + std::to_string(w.worker->launch->most_instructions) +
                               " instructions; max_launch_instructions= or $PYPTX_EMULATOR_INSTRUCTIONS allows more"));
}

// Of several host threads one reports it. Running again on one thread would take longer still.
void report_late(const Warp& w) {
  Launch& launch = *w.worker->launch;
  if (launch.stop.exchange(true)) return;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", launch.config.max_seconds);
  launch.findings.add(over_budget(w, std::string("it has run for ") + seconds + " seconds; max_seconds= or $PYPTX_EMULATOR_SECONDS allows more"));
}

// Whether a loop that stands still tests an mbarrier.
bool spins_at_mbarrier(const Warp& w) {
  if (w.state != WarpState::Spinning || w.failed_test == nullptr) return false;
  const Instruction& end = program_of(w).code[w.spin_branch];
  return w.failed_test->index >= end.target && w.failed_test->index <= end.index;
}

std::string describe_spin(const Warp& w) {
  return spins_at_mbarrier(w) ? describe_mbarrier(*w.cta, w.failed_offset, w.failed_phase)
                              : "a change of memory, in a loop that cannot end by itself";
}

}  // namespace

void describe_waits(Cluster& c) {
  Launch& launch = *c.worker->launch;
  for (Cta& cta : c.ctas) {
    for (Warp& w : cta.warps) {
      if (w.state == WarpState::Done) continue;
      for (const Split& s : w.others) {
        if (ready(s)) continue;
        const uint32_t at = s.wait.at != nullptr ? s.wait.at->index : s.pc;
        launch.findings.add_wait({{at, cta.linear, w.index, kNone, false}, s.mask, describe_wait(w, s)});
      }
      if (w.active == 0) continue;
      const uint32_t at = w.state == WarpState::Spinning ? w.spin_branch : w.pc;
      const std::string why = w.state == WarpState::Spinning ? describe_spin(w) : "nothing; it could run";
      launch.findings.add_wait({{at, cta.linear, w.index, kNone, false}, w.active, why});
    }
  }
}

void report_deadlock(Cluster& c, Kind kind, const std::string& note) {
  Finding f{};
  f.kind = kind;
  f.note = note;
  for (Cta& cta : c.ctas) {
    for (Warp& w : cta.warps) {
      if (w.state == WarpState::Done) continue;
      f.site.cta = cta.linear;
      f.site.warp = w.index;
      f.site.instruction = w.others.empty() || w.others[0].wait.at == nullptr
                               ? (w.state == WarpState::Spinning ? w.spin_branch : w.pc)
                               : w.others[0].wait.at->index;
      report(w, f);
      return;
    }
  }
}

namespace {

bool waits_for_mbarrier(const Split& s) { return s.wait.kind == Wait::Kind::Mbarrier; }

}  // namespace

// When nothing else can run: lanes that wait for the rest of their warp at an .aligned instruction go on
// without it, unless the rest waits for an mbarrier, which is what is wrong then.
bool force_diverged(Cluster& c) {
  if (force_products(c)) return true;
  for (Cta& cta : c.ctas) {
    for (Warp& w : cta.warps) {
      if (spins_at_mbarrier(w) || std::any_of(w.others.begin(), w.others.end(), waits_for_mbarrier)) continue;
      for (Split& s : w.others) {
        if (s.wait.kind != Wait::Kind::Converge) continue;
        w.forced = true;
        wake(w, s);
        return true;
      }
    }
  }
  return false;
}

Outcome run_cluster(Cluster& c, uint64_t instructions) {
  Launch& launch = *c.worker->launch;
  Worker& worker = *c.worker;
  const RunWarp run = loop_for(launch);
  const uint64_t most = launch.config.max_instructions ? launch.config.max_instructions : kDefaultMaxInstructions;
  const bool random = launch.config.schedule == PYPTX_SCHEDULE_RANDOM;
  const uint64_t turn = c.executed + (instructions != 0 ? instructions : kTurn);
  for (;;) {
    if (launch.stop.load(std::memory_order_relaxed)) return Outcome::Stopped;
    if (c.warps_left == 0) {
      while (perform_next(c)) {
      }
      return Outcome::Finished;
    }
    if (!c.operations.empty()) perform_some(c);
    if (c.executed > turn) return Outcome::Preempted;
    bool spinning;
    Warp* w = choose(c, &spinning);
    if (w == nullptr) {
      if (perform_next(c) || time_out_waits(c)) continue;
      if (spinning || polls_global(c)) return Outcome::Stalled;  // another cluster's store may release it
      if (force_diverged(c)) continue;
      report_deadlock(c, Kind::Deadlock, "no warp of the CTA's cluster can run");
      return Outcome::Stopped;
    }
    if (w->active == 0) pick(*w);
    if (random && !w->others.empty() && c.draw(4) == 0) rotate(*w);
    w->suspended = false;
    settle(*w);
    const uint64_t slice = std::min({random ? 1 + c.draw(64) : kSlice, most - w->executed + 1, worker.allowance(),
                                     turn - c.executed + 1});
    const uint64_t before = w->executed;
    const bool cut = run(*w, slice);
    worker.account(w->executed - before);
    if (cut && !random) left_standstill(*w);
    if (w->state == WarpState::Done) {
      --c.warps_left;
      if (--w->cta->live_warps == 0 && launch.config.sanitize != 0) {
        check_cta_exit(*w->cta);
        check_visits(*w->cta);
        check_register_requests(*w->cta);
        check_products(*w->cta);
        check_tensor_exit(*w->cta);
      }
    } else if (w->executed > most) {
      report_runaway(*w);
    }
    const bool in_time = worker.goes_on();
    if (launch.stop.load(std::memory_order_relaxed)) return Outcome::Stopped;
    if (worker.allowance() == 0) report_instructions(*w);
    else if (!in_time) report_late(*w);
  }
}

namespace {

uint32_t next_random(uint64_t& state, uint32_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<uint32_t>((state >> 32) % below);
}

}  // namespace

uint32_t Cluster::draw(uint32_t below) { return next_random(random, below); }
uint32_t Cluster::draw_older(uint32_t below) { return next_random(older_random, below); }

// ---- For handlers ----------------------------------------------------------------------------------------

void look_up(Warp& w, uint32_t why) {
  w.attention |= why;
  w.next_split = 0;
}

void wake(Warp& w, Split& split) {
  split.wait = Wait();
  if (w.state == WarpState::Blocked || w.state == WarpState::Spinning) w.state = WarpState::Ready;
  look_up(w, kSplitsChanged);
}

void block(Warp& w, uint32_t mask, uint32_t resume, Wait wait) {
  w.active &= ~mask;
  look_up(w, kBlocked);
  if (wait.kind == Wait::Kind::Lanes) {
    for (Split& s : w.others) {
      if (s.wait.kind != Wait::Kind::Lanes || s.wait.at != wait.at || s.wait.object != wait.object) continue;
      s.mask |= mask;
      if ((s.mask & wait.object & w.live) == (wait.object & w.live)) wake(w, s);
      return;
    }
  }
  w.others.push_back({resume, mask, wait});
}

uint32_t gather(Warp& w, const Instruction& in, uint32_t mask, const uint32_t* members) {
  if (mask == w.live && w.lost == 0) return mask;
  uint32_t may = 0;
  for (uint32_t rest = mask; rest != 0;) {
    const uint32_t named = members[__builtin_ctz(rest)];
    uint32_t group = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      if ((rest >> l & 1u) && members[l] == named) group |= 1u << l;
    }
    rest &= ~group;
    if ((named & w.live & ~mask) == 0) {
      may |= group;
    } else {
      block(w, group, in.index, {Wait::Kind::Lanes, named, &in});
    }
  }
  return may;
}

bool converge(Warp& w, const Instruction& in, uint32_t mask, bool* diverged) {
  *diverged = false;
  if (__builtin_expect(mask == w.live && w.lost == 0, 1)) return true;
  if (mask == w.live || w.forced) {
    *diverged = true;
    w.forced = false;
    w.lost = 0;
    return true;
  }
  block(w, mask, in.index, {Wait::Kind::Converge, w.live, &in});
  return false;
}

void exit_lanes(Warp& w, uint32_t mask) {
  if (!w.copies.empty() && w.worker->launch->config.sanitize != 0) check_exit(w, mask);
  w.active &= ~mask;
  w.live &= ~mask;
  look_up(w, kExited);
  for (Split& s : w.others) {
    const uint32_t named = s.wait.object & w.live;
    if (waits_here(s) && (s.mask & named) == named) {
      w.lost |= s.wait.object & mask;
      wake(w, s);
    }
  }
  barriers_after_exit(w);
}

namespace {

bool stands_still(const Warp& w) {
  return w.spin_carry == w.carry &&
         std::memcmp(w.spin_snapshot.data(), w.base[0], w.spin_snapshot.size()) == 0;
}

// A loop that comes back with the same registers, and no change of memory in between, goes on forever unless
// something else changes memory. Looking costs, so it is done at visits that are powers of two.
void watch_loop(Warp& w, const Instruction& in) {
  const uint64_t version = w.cta->cluster->version;
  if (w.spin_branch != in.index || w.spin_version != version) {
    left_standstill(w);
    w.spin_branch = in.index;
    w.spin_version = version;
    w.spin_visits = 0;
    w.spin_snapshot_valid = false;
    return;
  }
  ++w.spin_visits;
  if (w.spin_snapshot_valid) {
    if (stands_still(w)) {
      look_up(w, kSpinning);
      return;
    }
    w.spin_snapshot_valid = false;
    if (w.polling) w.spin_visits = 0;  // another cluster moved it; it may stand still again at once
    left_standstill(w);
  }
  if (w.spin_visits >= 4 && (w.spin_visits & (w.spin_visits - 1)) == 0) {
    w.spin_snapshot.assign(w.base[0], w.base[0] + program_of(w).true_predicate);
    w.spin_carry = w.carry;
    w.spin_snapshot_valid = true;
  }
}

void went_back(Warp& w, const Instruction& in) {
  if (w.others.empty() || !any_ready(w)) {
    watch_loop(w, in);
    return;
  }
  w.suspended = false;
  if (++w.backward >= kPatience) look_up(w, kRotate);
}

}  // namespace

void jump(Warp& w, uint32_t taken, uint32_t target) {
  const uint32_t rest = w.active & ~taken;
  if (rest == 0) {
    w.pc = target;
  } else {
    w.others.push_back({target, taken, {}});
    w.active = rest;
  }
  if (!w.others.empty()) look_up(w, kSplitsChanged);
}

void branch(Warp& w, const Instruction& in, uint32_t taken, uint32_t target) {
  jump(w, taken, target);
  if (target <= in.index) went_back(w, in);
}

}  // namespace pyptx::emulator
