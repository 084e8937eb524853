// The shadow of global memory, and races of strong accesses in either space.
#include <algorithm>

#include "ownership.h"
#include "semantics/access.h"
#include "shadow_cells.h"

namespace pyptx::emulator {
namespace {

// ---- Cells -----------------------------------------------------------------------------------------------
// A cell: segment:31 | forked:1 | clock and instruction:22 | warp:5 | lane:5. A segment is a CTA. A program's
// instructions take as many of the 22 bits as they need; clock 0 says that the epoch is in an array of its own, as
// generation:9 | fork:9 | clock:14 of an operation, generation:9 | clock:16 of a warp.

constexpr unsigned kInstructionBits = 22, kInstructionShift = 10, kForkShift = 14, kGenerationShift = 23;
constexpr uint32_t kInstructionMask = (1u << kInstructionBits) - 1;
constexpr uint64_t kForked = uint64_t{1} << 32;
static_assert(kMaxInstructions - 1 <= kInstructionMask, "a cell has no room for the number of an instruction");
constexpr uint32_t kForkMask = (1u << (kGenerationShift - kForkShift)) - 1;
static_assert(kMaxAgents - 1 <= kForkMask, "an epoch has no room for an operation's agent");
static_assert(kMaxForkClock < 1u << kForkShift, "an epoch has no room for an operation's clock");
static_assert(kMaxClock < 1u << kGenerationShift, "an epoch has no room for a warp's clock");

// The bits that instructions take; their highest value is none's.
unsigned instruction_bits(const Program& program) {
  return static_cast<unsigned>(64 - __builtin_clzll(program.code.size() + 1));
}

struct Me {
  uint64_t cell;  // of lane 0
  uint32_t epoch;
  bool apart;  // the epoch has to be in the array
};

Me me_of(const Warp& w, const Instruction& in, const Operation* op) {
  const ClusterClocks& clocks = w.cta->cluster->clocks;
  const uint64_t cell = static_cast<uint64_t>(w.cta->segment) << 33 |
                        static_cast<uint64_t>(in.index) << kInstructionShift | w.index << 5;
  if (!clocks.active()) return {cell, 0, false};
  const uint32_t generation = clocks.generation() << kGenerationShift;
  if (op != nullptr && op->clock != 0) {
    return {cell | kForked, generation | (op->agent - clocks.warps()) << kForkShift | op->clock, true};
  }
  const uint32_t own = clocks.own(w.agent);
  const unsigned bits = instruction_bits(program_of(w));
  if (generation != 0 || own >> (kInstructionBits - std::min(bits, kInstructionBits)) != 0) return {cell, generation | own, true};
  return {cell | static_cast<uint64_t>(own) << (kInstructionShift + bits), own, false};
}

uint32_t segment_of(uint64_t cell) { return static_cast<uint32_t>(cell >> 33); }
uint32_t warp_in(uint64_t cell) { return static_cast<uint32_t>(cell >> 5 & 31u); }
uint32_t lane_in(uint64_t cell) { return static_cast<uint32_t>(cell & 31u); }

// What a load leaves where nothing has been stored, so that one place is reported once, and a strong store, whose place
// in the order is elsewhere. It is no weak store: nobody races with it.
constexpr uint64_t kReported = static_cast<uint64_t>(kInstructionMask) << kInstructionShift;
bool only_reported(uint64_t cell) { return (cell & kReported) == kReported; }

// Where a CTA of the grid is.
void find_cta(const Launch& launch, uint64_t cta, uint64_t* cluster, uint32_t* rank) {
  if (launch.cluster_size == 1) {
    *cluster = cta;
    *rank = 0;
    return;
  }
  const uint32_t *grid = launch.config.grid, *dim = launch.cluster_dim;
  const uint64_t id[3] = {cta % grid[0], cta / grid[0] % grid[1], cta / grid[0] / grid[1]};
  const auto linear = [](const uint64_t* at, const uint32_t* extent) {
    return at[0] + extent[0] * (at[1] + static_cast<uint64_t>(extent[1]) * at[2]);
  };
  const uint64_t outside[3] = {id[0] / dim[0], id[1] / dim[1], id[2] / dim[2]};
  const uint64_t inside[3] = {id[0] % dim[0], id[1] % dim[1], id[2] % dim[2]};
  *cluster = linear(outside, launch.cluster_grid);
  *rank = static_cast<uint32_t>(linear(inside, dim));
}

Touch touch_in(const Launch& launch, uint64_t cell, uint32_t epoch, bool store) {
  const unsigned bits = std::min(instruction_bits(*launch.program), kInstructionBits);
  const uint32_t both = static_cast<uint32_t>(cell >> kInstructionShift) & kInstructionMask;
  if (both >> bits != 0) epoch = both >> bits;
  Touch t;
  t.cta = launch.global_order.cta_of(segment_of(cell));
  uint32_t rank;
  find_cta(launch, t.cta, &t.cluster, &rank);
  t.forked = (cell & kForked) != 0;
  const uint32_t warps = launch.warps_per_cta * launch.cluster_size;
  t.column = t.forked ? ClusterClocks::global_column(warps, epoch >> kForkShift & kForkMask)
                      : rank * launch.warps_per_cta + warp_in(cell);
  t.generation = epoch >> kGenerationShift;
  t.clock = epoch & (t.forked ? (1u << kForkShift) - 1 : kClockMask);
  t.instruction = both & ((1u << bits) - 1);
  t.warp = static_cast<uint8_t>(warp_in(cell));
  t.lane = static_cast<uint8_t>(lane_in(cell));
  t.store = store;
  return t;
}

// Whether two threads are in one CTA, one cluster, or neither.
Scope distance(const Warp& w, const Touch& other) {
  if (other.cluster != w.cta->cluster->linear) return Scope::Gpu;
  if (w.worker->launch->cluster_size == 1 || other.cta == w.cta->linear) return Scope::Cta;
  return Scope::Cluster;
}

}  // namespace

// ---- Strong accesses -------------------------------------------------------------------------------------

bool touched_before(const Warp& w, const Touch& other, uint32_t mask) {
  const ClusterClocks& clocks = w.cta->cluster->clocks;
  if (other.cluster != w.cta->cluster->linear) return clocks.knows(w.agent, mask, other);
  if (other.generation != clocks.generation()) return true;
  const bool own_lane = other.column == w.agent && !other.every_lane && mask == 1u << other.lane;
  return own_lane || clocks.knows(w.agent, mask, other.column, other.clock, other.lane, other.every_lane);
}

const Touch* unordered_touch(const Warp& w, const Touches& touches, const Touch& mine, uint32_t mask, bool strong) {
  const bool all_wide = strong && std::min(mine.scope, touches.narrowest()) >= Scope::Gpu;
  if (all_wide) return nullptr;
  for (const Touch& t : touches.all()) {
    if (!t.store && !mine.store) continue;
    if (strong && std::min(t.scope, mine.scope) >= distance(w, t)) continue;
    if (!touched_before(w, t, mask)) return &t;
  }
  return nullptr;
}

Touch touch_of(const Warp& w, const Instruction& in, unsigned lane, bool store, Scope scope) {
  const Cluster& c = *w.cta->cluster;
  Touch t;
  t.cta = w.cta->linear;
  t.cluster = c.linear;
  t.column = w.agent;
  t.generation = c.clocks.generation();
  t.clock = c.clocks.active() ? c.clocks.own(w.agent) : 0;
  t.instruction = in.index;
  t.warp = static_cast<uint8_t>(w.index);
  t.lane = static_cast<uint8_t>(lane);
  t.store = store;
  t.scope = scope;
  return t;
}

Site site_of_touch(const Touch& t) { return {t.instruction, t.cta, t.warp, t.every_lane ? kNone : t.lane, t.store}; }

void report_narrow(Warp& w, Finding f, const Touch& other, Scope mine, bool strong) {
  if (strong) {
    const Scope needed = distance(w, other);
    const bool my_fault = mine < needed, others_fault = other.scope < needed;
    if (my_fault || others_fault) {
      const bool clusters = w.worker->launch->cluster_size > 1;
      const std::string place = !clusters ? "another CTA" : needed == Scope::Gpu ? "another cluster" : "another CTA of the cluster";
      const std::string fault = my_fault && others_fault ? "the scopes of both, " + std::string(name_of(mine)) + " and " +
                                                               name_of(other.scope) + ", are"
                                : my_fault ? "its scope " + std::string(name_of(mine)) + " is"
                                           : "the other's scope " + std::string(name_of(other.scope)) + " is";
      f.kind = Kind::NarrowScope;
      f.note = fault + " too narrow for two threads of which one is in " + place + "; " + name_of(needed) + " is enough";
    }
  } else if (GlobalOrder::Reason reason = w.worker->launch->global_order.reason(w, other); !reason.note.empty()) {
    if (reason.narrow) f.kind = Kind::NarrowScope;
    f.note = std::move(reason.note);
  }
  report(w, std::move(f));
}

namespace {

// ---- Checks ----------------------------------------------------------------------------------------------

uint32_t log2_of(uint32_t value) { return static_cast<uint32_t>(__builtin_ctz(value)); }

struct Cells {
  size_t first, count;
};

Cells cells_of(const Warp& w, const Buffer& b, uint64_t address, uint64_t length) {
  const uint32_t shift = log2_of(program_of(w).global_granule);
  return {static_cast<size_t>((address >> shift) - (b.lo >> shift)), std::max<size_t>(1, length >> shift)};
}

// One lane's access of a cell: what is wrong with it, and its record.
class GlobalCell {
 public:
  GlobalCell(Warp& w, const Instruction& in, Buffer& b, unsigned lane, Access access, Order order, const Operation* op,
             bool plain)
      : w_(w), in_(in), b_(b), launch_(*w.worker->launch), lane_(lane), access_(access), order_(order), op_(op),
        plain_(plain), me_(me_of(w, in, op)) {
    me_.cell |= lane;
  }

  void check(size_t index, uint64_t address, uint32_t bytes) {
    index_ = index;
    address_ = address;
    bytes_ = bytes;
    const uint64_t stored = b_.stores[index];
    const bool written = launch_.global_order.current(segment_of(stored));
    if (launch_.initialisation && access_ != Access::Store && !b_.initialised && !written) {
      report_uninitialised(w_, in_, Space::Global, address, lane_, bytes);
      b_.stores[index] = me_.cell | kReported;
    }
    if (b_.loads == nullptr) {
      if (store()) b_.stores[index] = me_.cell;
      return;
    }
    if (w_.cta->cluster->clocks.active()) check_order(stored);
    if (written && plain_ && access_ == Access::Load) check_read_only(stored);
    record();
  }

 private:
  bool store() const { return access_ != Access::Load; }

  void check_order(uint64_t stored) {
    const uint64_t loaded = b_.has_loads->load(std::memory_order_relaxed) ? b_.loads[index_] : 0;
    if (conflicts(stored, b_.store_epochs[index_], true)) return;
    if (store() && conflicts(loaded, b_.load_epochs[index_], false)) return;
    if (!b_.has_history->load(std::memory_order_relaxed)) return;
    const std::lock_guard<std::mutex> lock(b_.history->mutex);
    const auto found = b_.history->cells.find(index_);
    if (found == b_.history->cells.end()) return;
    const CellHistory& h = found->second;
    Touch mine = touch_of(w_, in_, lane_, store(), order_.scope);
    if (const Touch* t = unordered_touch(w_, h.strong, mine, 1u << lane_, order_.strong)) complain(*t, order_.strong);
    else if (store()) {
      if (const Touch* reader = unordered_touch(w_, h.readers, mine, 1u << lane_, false)) complain(*reader, false);
    }
  }

  // ld.global.nc, tex and suld go by a cache that stores of the kernel do not reach, whatever orders the two.
  void check_read_only(uint64_t stored) {
    const auto& plan = *static_cast<const AccessPlan*>(in_.plan);
    if (!plan.read_only) return;
    if (only_reported(stored) && !b_.has_history->load(std::memory_order_relaxed)) return;
    Finding f{};
    f.kind = Kind::NonCoherentLoad;
    f.site = site_of(w_, in_, lane_, false);
    if (!only_reported(stored)) f.other = site_of_touch(touch_in(launch_, stored, b_.store_epochs[index_], true));
    f.has_address = true;
    f.address = address_;
    f.bytes = bytes_;
    f.note = plan.texture ? "textures and surfaces may give the value from before the kernel's store; the next kernel "
                            "reads the stored one"
                          : "ld.global.nc may give the value from before the kernel's store; ld.global gives the stored one";
    report(w_, f);
  }

  bool conflicts(uint64_t cell, uint32_t epoch, bool other_store) {
    const uint32_t segment = segment_of(cell);
    if (!launch_.global_order.current(segment) || only_reported(cell)) return false;
    const bool same = ((cell ^ me_.cell) & ~kReported) == 0 && (op_ == nullptr || epoch == me_.epoch);
    if (same) return false;  // the same thread
    if (!launch_.global_order.told_apart(segment)) return false;
    const Touch other = touch_in(launch_, cell, epoch, other_store);
    if (touched_before(w_, other, 1u << lane_) || agree(other)) return false;
    complain(other, false);
    return true;
  }

  // Lanes of one store that write one address: which one wins is undefined, unless they agree.
  bool agree(const Touch& other) const {
    if (access_ != Access::Store || !plain_ || other.forked || other.cta != w_.cta->linear ||
        other.warp != w_.index || other.instruction != in_.index || !other.store) {
      return false;
    }
    const auto& plan = *static_cast<const AccessPlan*>(in_.plan);
    return plan.same_value != nullptr && plan.same_value(w_, in_, other.lane, lane_);
  }

  void complain(const Touch& other, bool strong) {
    Finding f{};
    f.kind = Kind::GlobalRace;
    f.site = site_of(w_, in_, lane_, store());
    f.other = site_of_touch(other);
    f.has_address = true;
    f.address = address_;
    f.bytes = bytes_;
    f.note = other.forked                              ? "the asynchronous operation has not been waited for"
             : other.cta != w_.cta->linear              ? "nothing orders the two CTAs here"
             : other.warp != w_.index                   ? "nothing orders the two warps of the CTA here"
                                                        : "no bar.warp.sync or barrier orders these lanes of one warp";
    report_narrow(w_, std::move(f), other, order_.scope, strong);
  }

  void record() {
    if (order_.strong) {
      add(true, touch());
      if (store() && !launch_.global_order.current(segment_of(b_.stores[index_]))) {
        b_.stores[index_] = me_.cell | kReported;
      }
    } else if (store()) {
      if (b_.has_history->load(std::memory_order_relaxed)) {
        const std::lock_guard<std::mutex> lock(b_.history->mutex);
        b_.history->cells.erase(index_);
      }
      b_.stores[index_] = me_.cell;
      if (me_.apart) b_.store_epochs[index_] = me_.epoch;
      if (b_.has_loads->load(std::memory_order_relaxed)) b_.loads[index_] = 0;
    } else {
      keep_reader(b_.loads[index_], b_.load_epochs[index_]);
      b_.has_loads->store(true, std::memory_order_relaxed);
      b_.loads[index_] = me_.cell;
      if (me_.apart) b_.load_epochs[index_] = me_.epoch;
    }
  }

  // The reader before this one, unless this one comes after it.
  void keep_reader(uint64_t cell, uint32_t epoch) {
    const uint32_t segment = segment_of(cell);
    if (!launch_.global_order.current(segment) || !launch_.global_order.told_apart(segment)) return;
    if (((cell ^ me_.cell) & ~kReported) == 0) return;
    const Touch before = touch_in(launch_, cell, epoch, false);
    if (w_.cta->cluster->clocks.active() && !touched_before(w_, before, 1u << lane_)) add(false, before);
  }

  Touch touch() const {
    if (op_ == nullptr || op_->clock == 0) return touch_of(w_, in_, lane_, store(), order_.scope);
    Touch t = touch_in(launch_, me_.cell, me_.epoch, store());
    t.scope = order_.scope;
    return t;
  }

  void add(bool strong, const Touch& touch) {
    b_.has_history->store(true, std::memory_order_relaxed);
    const std::lock_guard<std::mutex> lock(b_.history->mutex);
    auto& cells = b_.history->cells;
    const auto found = cells.find(index_);
    if (found == cells.end() && cells.size() >= BufferHistory::kMostCells) return;
    CellHistory& h = found == cells.end() ? cells[index_] : found->second;
    (strong ? h.strong : h.readers).add(touch);
  }

  Warp& w_;
  const Instruction& in_;
  Buffer& b_;
  Launch& launch_;
  unsigned lane_;
  Access access_;
  Order order_;
  const Operation* op_;
  bool plain_;
  Me me_;
  size_t index_ = 0;
  uint64_t address_ = 0;
  uint32_t bytes_ = 0;
};

}  // namespace

void check_global(Warp& w, const Instruction& in, Buffer& b, uint64_t address, unsigned lane, uint32_t bytes,
                  Access access, Order order, const Operation* op, bool plain) {
  const Cells cells = cells_of(w, b, address, bytes);
  GlobalCell cell(w, in, b, lane, access, order, op, plain && op == nullptr);
  for (size_t k = 0; k < cells.count; ++k) {
    // What several clusters only read is in order, and no cell could remember them all.
    if (b.owners != nullptr && take_cells(w, b, cells.first + k, 1, access != Access::Load) != Owned::Alone) continue;
    cell.check(cells.first + k, address, bytes);
  }
}

void check_global_range(Warp& w, const Instruction& in, Buffer& b, uint64_t address, uint32_t bytes, Access access,
                        Order order) {
  const Cells cells = cells_of(w, b, address, static_cast<uint64_t>(bytes) * kLanes);
  const size_t per_lane = cells.count / kLanes;
  const uint32_t shift = log2_of(static_cast<uint32_t>(per_lane));
  uint64_t* stores = b.stores + cells.first;
  const uint64_t base = w.worker->launch->global_order.base();
  const Me me = me_of(w, in, nullptr);
  const bool store = access != Access::Load;
  const Owned owned = b.owners == nullptr ? Owned::Alone : take_cells(w, b, cells.first, cells.count, store);
  if (owned == Owned::Shared) return;
  if (owned == Owned::Mixed) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      check_global(w, in, b, address + static_cast<uint64_t>(lane) * bytes, lane, bytes, access, order, nullptr, true);
    }
    return;
  }
  // The common case: nobody has been here, or nobody else.
  uint64_t current = 0, missing = 0, foreign = 0;
  for (size_t i = 0; i < cells.count; ++i) {
    const uint64_t now = stores[i] >> 33 > base;
    current |= now;
    missing |= now ^ 1u;
  }
  for (size_t i = 0; current != 0 && i < cells.count; ++i) {
    foreign |= static_cast<uint64_t>(stores[i] >> 33 > base) &
               static_cast<uint64_t>(((stores[i] ^ (me.cell | i >> shift)) & ~kReported) != 0);
  }
  const bool seen = b.loads != nullptr && (b.has_loads->load(std::memory_order_relaxed) ||
                                           b.has_history->load(std::memory_order_relaxed));
  const bool look = store ? seen : b.loads != nullptr || (missing && !b.initialised);
  if ((foreign && b.loads != nullptr) || look || (order.strong && b.loads != nullptr)) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      GlobalCell cell(w, in, b, lane, access, order, nullptr, true);
      for (size_t k = 0; k < per_lane; ++k) {
        cell.check(cells.first + lane * per_lane + k, address + static_cast<uint64_t>(lane) * bytes, bytes);
      }
    }
    return;
  }
  if (!store) return;
  for (size_t i = 0; i < cells.count; ++i) stores[i] = me.cell | i >> shift;
  if (me.apart && b.store_epochs != nullptr) std::fill_n(b.store_epochs + cells.first, cells.count, me.epoch);
}

// ---- Proxies ---------------------------------------------------------------------------------------------

namespace {

// Whether what a thread stored is before a fence of a proxy that a lane of the warp knows of.
bool fenced_before(const Warp& w, Touch t, Known kind, unsigned lane = 0) {
  if (t.forked) return true;
  const ClusterClocks& clocks = w.cta->cluster->clocks;
  t.column = clocks.column(t.column, kind);
  if (t.cluster != w.cta->cluster->linear) return clocks.knows(w.agent, 1u << lane, t);
  if (t.generation != clocks.generation()) return true;
  return clocks.reach(w.agent, t.column) >= t.clock;
}

Finding proxy_race(const Warp& w, const Instruction& in, uint64_t address, uint32_t bytes, unsigned lane, bool store,
                   const Touch& other) {
  Finding f{};
  f.kind = Kind::ProxyRace;
  f.site = site_of(w, in, lane, store);
  f.other = site_of_touch(other);
  f.has_address = true;
  f.address = address;
  f.bytes = bytes;
  return f;
}

}  // namespace

void check_global_proxies(Warp& w, const Instruction& in, Buffer& b, uint64_t address, uint32_t bytes, unsigned lane,
                          bool store) {
  if (b.loads == nullptr || !w.cta->cluster->clocks.active()) return;
  const Launch& launch = *w.worker->launch;
  const Cells cells = cells_of(w, b, address, bytes);
  if (b.owners != nullptr) take_cells(w, b, cells.first, cells.count, store);
  uint64_t fine = 0;
  uint32_t fine_epoch = 0;
  for (size_t k = 0; k < cells.count; ++k) {
    const uint64_t cell = b.stores[cells.first + k];
    const uint32_t epoch = b.store_epochs[cells.first + k];
    // Lanes do not matter here.
    if ((cell >> 5 == fine && epoch == fine_epoch) || !launch.global_order.current(segment_of(cell)) || only_reported(cell)) {
      continue;
    }
    const Touch other = touch_in(launch, cell, epoch, true);
    if (fenced_before(w, other, Known::GlobalProxy, lane)) {
      fine = cell >> 5;
      fine_epoch = epoch;
      continue;
    }
    Finding f = proxy_race(w, in, address, bytes, lane, store, other);
    f.note = "no fence.proxy.async lies between the store and the copy";
    report(w, f);
    return;
  }
}

void order_map_release(Warp& w, uint32_t mask) {
  ClusterClocks& clocks = w.cta->cluster->clocks;
  if (!clocks.active() || !clocks.asynchronous()) return;
  clocks.fence_proxies(w.agent, mask, w.live, Known::MapRelease);
  order_tick(w);
}

void order_map_acquire(Warp& w, uint64_t address, uint32_t bytes) {
  Launch& launch = *w.worker->launch;
  uint32_t hint = 0;
  Buffer* b = w.cta->cluster->clocks.active() ? launch.memory.find(address, address + bytes, hint) : nullptr;
  if (b == nullptr || b->loads == nullptr) return;
  const Cells cells = cells_of(w, *b, address, bytes);
  if (b->owners != nullptr) take_cells(w, *b, cells.first, cells.count, false);
  std::vector<uint64_t>& seen = w.cta->acquired_maps[address];
  seen.assign(b->stores + cells.first, b->stores + cells.first + cells.count);
  for (size_t k = 0; k < cells.count; ++k) {
    if (!launch.global_order.current(segment_of(seen[k]))) continue;
    const Touch other = touch_in(launch, seen[k], b->store_epochs[cells.first + k], true);
    if (!fenced_before(w, other, Known::MapRelease)) seen[k] = 0;
  }
}

void check_map_proxies(Warp& w, const Instruction& in, Buffer& b, uint64_t address, uint32_t bytes, unsigned lane) {
  if (b.loads == nullptr || !w.cta->cluster->clocks.active()) return;
  const Launch& launch = *w.worker->launch;
  const Cells cells = cells_of(w, b, address, bytes);
  if (b.owners != nullptr) take_cells(w, b, cells.first, cells.count, false);
  const auto acquired = w.cta->acquired_maps.find(address);
  for (size_t k = 0; k < cells.count; ++k) {
    const uint64_t cell = b.stores[cells.first + k];
    if (!launch.global_order.current(segment_of(cell)) || only_reported(cell)) continue;
    if (acquired != w.cta->acquired_maps.end() && acquired->second[k] == cell) continue;
    const Touch other = touch_in(launch, cell, b.store_epochs[cells.first + k], true);
    Finding f = proxy_race(w, in, address, bytes, lane, false, other);
    f.note = fenced_before(w, other, Known::MapRelease)
                 ? "the CTA has not acquired the tensor map since: fence.proxy.tensormap::generic.acquire"
                 : "nobody has released the tensor map since: fence.proxy.tensormap::generic.release, or "
                   "tensormap.cp_fenceproxy, and a barrier or flag that this CTA waits for";
    report(w, f);
    return;
  }
}

bool global_has_value(Warp& w, uint64_t address, uint32_t bytes) {
  const Launch& launch = *w.worker->launch;
  uint32_t hint = 0;
  const Buffer* b = w.worker->launch->memory.find(address, address + bytes, hint);
  if (b == nullptr || b->stores == nullptr || b->initialised || !launch.initialisation) return true;
  const Cells cells = cells_of(w, *b, address, bytes);
  return std::all_of(b->stores + cells.first, b->stores + cells.first + cells.count,
                     [&](uint64_t cell) { return launch.global_order.current(segment_of(cell)); });
}

void forget_global(Warp& w, uint64_t address, uint32_t bytes) {
  uint32_t hint = 0;
  Buffer* b = w.worker->launch->memory.find(address, address + bytes, hint);
  if (b == nullptr || b->stores == nullptr) return;
  const Cells cells = cells_of(w, *b, address, bytes);
  if (b->owners != nullptr) take_cells(w, *b, cells.first, cells.count, true);
  for (size_t k = 0; k < cells.count; ++k) b->stores[cells.first + k] = 0;
}

}  // namespace pyptx::emulator
