// Asynchronous copies, stores and reductions (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous
// copy", st.async, red.async).
//
// A handler checks what a lane's operation will touch, records it, and issues the operation (async.h).
#include <algorithm>
#include <string>

#include "access.h"
#include "copy.h"
#include "modifiers.h"

namespace pyptx::emulator {
namespace {

const CopyPlan& plan_of(const Instruction& in) { return *static_cast<const CopyPlan*>(in.plan); }

}  // namespace

uint64_t address_of(Warp& w, const Instruction& in, const Pointer& p, unsigned lane) {
  if (p.wide) return source<uint64_t>(w, in, p.slot)[lane] + static_cast<uint64_t>(p.offset);
  return static_cast<uint32_t>(source<uint32_t>(w, in, p.slot)[lane] + static_cast<uint32_t>(p.offset));
}

void wrong_copy(Warp& w, const Instruction& in, unsigned lane, const std::string& note) {
  report(w, Kind::BadCopy, site_of(w, in, lane), note);
}

bool find_one(Warp& w, const Instruction& in, const Pointer& p, unsigned lane, uint32_t bytes, uint32_t alignment,
              bool store, SharedPlace* out) {
  return find_shared(w, in, p.space, address_of(w, in, p, lane), bytes, alignment, lane, store, &out->owner,
                     &out->offset);
}

OperationPointer new_operation(Warp& w, const Instruction& in, uint32_t mask, Grouping grouping) {
  auto op = std::make_shared<Operation>();
  op->at = &in;
  op->warp = &w;
  op->mask = mask;
  op->grouping = grouping;
  const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
  if (grouping == Grouping::Copies) op->group = w.copy_groups[lane];
  if (grouping == Grouping::Bulk) op->group = w.bulk_groups[lane];
  return op;
}

bool check_barrier(Warp& w, const Instruction& in, unsigned lane, const SharedPlace& at, bool sanitized) {
  const Mbarrier* b = mbarrier_at(*at.owner, at.offset);
  if (b == nullptr) {
    Finding f{};
    f.kind = Kind::BadMbarrier;
    f.site = site_of(w, in, lane);
    f.has_address = true;
    f.space = at.owner == w.cta ? Space::Shared : Space::SharedCluster;
    f.address = at.owner->shared_base + at.offset;
    f.bytes = kMbarrierBytes;
    f.note = "there is no mbarrier here: mbarrier.init has not been executed, or mbarrier.inval has";
    report(w, f);
    return false;
  }
  if (sanitized) check_mbarrier_use(w, in, lane, *at.owner, at.offset, *b);
  return true;
}

bool find_destinations(Warp& w, const Instruction& in, unsigned lane, uint32_t size, uint32_t alignment,
                       std::vector<SharedPlace>* out) {
  const CopyPlan& plan = plan_of(in);
  SharedPlace first;
  if (!find_one(w, in, plan.to, lane, size, alignment, true, &first)) return false;
  if (!plan.multicast) {
    out->push_back(first);
    return true;
  }
  auto& ctas = w.cta->cluster->ctas;
  const uint16_t mask = source<uint16_t>(w, in, plan.ctas)[lane];
  if (mask == 0 || mask >> ctas.size() != 0) {
    char text[96];
    std::snprintf(text, sizeof text, "the mask 0x%04x does not name CTAs of the cluster, which has %zu", mask, ctas.size());
    wrong_copy(w, in, lane, text);
    return false;
  }
  for (size_t rank = 0; rank < ctas.size(); ++rank) {
    if (mask >> rank & 1u) out->push_back({&ctas[rank], first.offset});
  }
  return true;
}

void count_bulk(Warp& w, const Instruction& in, unsigned lane, uint64_t address, uint32_t size) {
  Addresses a;
  a.at[lane] = address;
  count_global(w, in, a, 1u << lane, size);
}

bool bind_pointer_view(Decoding& d, const OperandView* v, Space space, Pointer* p) {
  AccessPlan plan;
  // The name of a shared variable is an address of the cluster's shared memory, also where a generic one may stand.
  if (space == Space::Generic && v != nullptr && v->space == 0) space = Space::SharedCluster;
  plan.space = space;
  if (!bind_address_view(d, v, &plan)) return false;
  *p = {space, plan.address, plan.wide_address, d.out->immediate};
  d.out->immediate = 0;
  return true;
}

namespace {

// The mbarrier that an operation completes on, where its destination is.
bool find_barrier(Warp& w, const Instruction& in, unsigned lane, const Cta& destination, SharedPlace* out) {
  const CopyPlan& plan = plan_of(in);
  if (!find_one(w, in, plan.barrier, lane, kMbarrierBytes, kMbarrierBytes, true, out)) return false;
  if (out->owner != &destination) {
    wrong_copy(w, in, lane, "the mbarrier and the destination are in shared memory of different CTAs");
    return false;
  }
  return true;
}

// ---- Bulk copies -----------------------------------------------------------------------------------------

bool check_size(Warp& w, const Instruction& in, unsigned lane, uint32_t size) {
  if (size % 16 == 0) return true;
  wrong_copy(w, in, lane, "a size of " + std::to_string(size) + " bytes is not a multiple of 16");
  return false;
}

// To shared memory; the bytes are counted on mbarriers. A copy of no bytes accesses nothing, wherever it points.
template <bool kSanitized>
void to_shared(Warp& w, const Instruction& in, unsigned lane) {
  const CopyPlan& plan = plan_of(in);
  const uint32_t size = source<uint32_t>(w, in, plan.size)[lane];
  if (!check_size(w, in, lane, size) || size == 0) return;
  std::vector<SharedPlace> to;
  SharedPlace barrier, from;
  if (!find_destinations(w, in, lane, size, 16, &to) ||
      !find_one(w, in, plan.barrier, lane, kMbarrierBytes, kMbarrierBytes, true, &barrier)) {
    return;
  }
  const uint8_t* bytes = nullptr;
  Buffer* buffer = nullptr;
  const uint64_t source_address = address_of(w, in, plan.from, lane);
  if (plan.from.space == Space::Global) {
    buffer = find_global(w, in, source_address, size, 16, lane, false);
    if (buffer == nullptr) return;
    bytes = reinterpret_cast<const uint8_t*>(source_address);
    count_bulk(w, in, lane, source_address, size);
  } else {
    if (!find_one(w, in, plan.from, lane, size, 16, false, &from)) return;
    bytes = from.bytes();
  }
  if (plan.from.space == Space::Shared && to[0].owner == w.cta) {
    wrong_copy(w, in, lane, "copies from shared memory go to other CTAs of the cluster, not to the thread's own");
    return;
  }
  if (!plan.multicast && barrier.owner != to[0].owner) {
    wrong_copy(w, in, lane, "the mbarrier and the destination are in shared memory of different CTAs");
    return;
  }
  const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
  op->update = plan.update;
  op->element = plan.unit;
  for (const SharedPlace& t : to) {
    const SharedPlace at{t.owner, barrier.offset};
    if (!check_barrier(w, in, lane, at, kSanitized)) return;
    op->pieces.push_back({t.bytes(), bytes, size, 0, t.owner});
    op->signals.push_back({at.owner, at.offset, size});
  }
  if (kSanitized) {
    order_issue(w, lane, *op);
    if (buffer != nullptr) check_copy_global(w, in, *buffer, source_address, size, lane, false, true, *op);
    else check_copy_shared(w, in, *from.owner, from.offset, size, lane, false, true, *op);
    if (buffer == nullptr) order_sent(w, in, lane, *op);
    for (const SharedPlace& t : to) check_copy_shared(w, in, *t.owner, t.offset, size, lane, true, true, *op);
  }
  issue(w, op);
}

// From shared to global memory, in bulk groups.
template <bool kSanitized>
void to_global(Warp& w, const Instruction& in, unsigned lane) {
  const CopyPlan& plan = plan_of(in);
  const uint32_t size = source<uint32_t>(w, in, plan.size)[lane];
  if (!check_size(w, in, lane, size) || size == 0) return;
  SharedPlace from;
  const uint64_t address = address_of(w, in, plan.to, lane);
  if (!find_one(w, in, plan.from, lane, size, 16, false, &from)) return;
  Buffer* buffer = find_global(w, in, address, size, 16, lane, true);
  if (buffer == nullptr) return;
  count_bulk(w, in, lane, address, size);
  const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::Bulk);
  op->update = plan.update;
  op->element = plan.unit;
  op->pieces.push_back({reinterpret_cast<uint8_t*>(address), from.bytes(), size, 0, nullptr});
  if (kSanitized) {
    order_issue(w, lane, *op);
    check_copy_shared(w, in, *from.owner, from.offset, size, lane, false, true, *op);
    check_copy_global(w, in, *buffer, address, size, lane, true, true, *op);
  }
  issue(w, op);
}

// A prefetch of what is not there has no effect; its size and alignment are checked as a copy's are.
void prefetch(Warp& w, const Instruction& in, unsigned lane) {
  const CopyPlan& plan = plan_of(in);
  const uint32_t size = source<uint32_t>(w, in, plan.size)[lane];
  if (!check_size(w, in, lane, size) || size == 0) return;
  if (address_of(w, in, plan.from, lane) % 16 != 0) wrong_copy(w, in, lane, "the address must be a multiple of 16");
}

// ---- st.async and red.async ------------------------------------------------------------------------------

template <bool kSanitized>
void store_lane(Warp& w, const Instruction& in, unsigned lane, const std::shared_ptr<const History>& history) {
  const CopyPlan& plan = plan_of(in);
  // A launch with clusters of one CTA is made without clusters, and then an H200 ends it as an illegal instruction.
  if (w.cta->cluster->ctas.size() == 1) {
    wrong_copy(w, in, lane, "the instruction needs a launch in clusters of more than one CTA");
    return;
  }
  SharedPlace to, barrier;
  if (!find_one(w, in, plan.to, lane, plan.bytes, plan.bytes, true, &to) ||
      !find_barrier(w, in, lane, *to.owner, &barrier) ||
      !check_barrier(w, in, lane, barrier, kSanitized)) {
    return;
  }
  if (plan.update != nullptr && to.owner == w.cta) {
    wrong_copy(w, in, lane, "red.async changes shared memory of other CTAs than the thread's own");
    return;
  }
  const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
  for (unsigned e = 0; e < plan.vector; ++e) {
    const uint8_t* value = source<uint8_t>(w, in, plan.data + e) + lane * plan.element;
    op->data.insert(op->data.end(), value, value + plan.element);
  }
  op->update = plan.update;
  op->element = plan.unit;
  op->pieces.push_back({to.bytes(), nullptr, plan.bytes, 0, to.owner});
  op->signals.push_back({barrier.owner, barrier.offset, plan.bytes});
  op->history = history;
  if (kSanitized) {
    order_issue(w, lane, *op);
    check_copy_shared(w, in, *to.owner, to.offset, plan.bytes, lane, true, false, *op);
  }
  issue(w, op);
}

template <bool kSanitized>
void store_async(Warp& w, const Instruction& in, uint32_t mask) {
  const std::shared_ptr<const History> history = kSanitized ? order_history(w, mask) : nullptr;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (mask >> l & 1u) store_lane<kSanitized>(w, in, l, history);
  }
  if (kSanitized) order_tick(w);
}

using One = void (*)(Warp&, const Instruction&, unsigned);

template <One kOne>
void each(Warp& w, const Instruction& in, uint32_t mask) {
  for (unsigned l = 0; l < kLanes; ++l) {
    if (mask >> l & 1u) kOne(w, in, l);
  }
}

// ---- cp.async --------------------------------------------------------------------------------------------

// The bytes that a lane reads; the rest of its destination becomes zeros.
uint32_t source_bytes(Warp& w, const Instruction& in, unsigned lane) {
  const CopyPlan& plan = plan_of(in);
  if (plan.skips) return predicate(w, in, plan.limit) >> lane & 1u ? 0 : plan.bytes;
  return plan.limited ? source<uint32_t>(w, in, plan.limit)[lane] : plan.bytes;
}

template <bool kSanitized>
bool copy_lane(Warp& w, const Instruction& in, unsigned lane, Operation& op) {
  const CopyPlan& plan = plan_of(in);
  const uint32_t bytes = source_bytes(w, in, lane);
  if (bytes > plan.bytes) {
    wrong_copy(w, in, lane, "a source of " + std::to_string(bytes) + " bytes is larger than the " +
                                std::to_string(plan.bytes) + " that are copied");
    return false;
  }
  SharedPlace to;
  if (!find_one(w, in, plan.to, lane, plan.bytes, plan.bytes, true, &to)) return false;
  const uint64_t from = address_of(w, in, plan.from, lane);
  Buffer* buffer = nullptr;
  if (bytes != 0) {
    buffer = find_global(w, in, from, bytes, plan.bytes, lane, false);
    if (buffer == nullptr) return false;
  }
  op.pieces.push_back({to.bytes(), reinterpret_cast<const uint8_t*>(from), bytes, plan.bytes - bytes, to.owner});
  if (kSanitized) {
    if (buffer != nullptr) check_copy_global(w, in, *buffer, from, bytes, lane, false, false, op);
    check_copy_shared(w, in, *to.owner, to.offset, plan.bytes, lane, true, false, op);
  }
  return true;
}

void count_lanes(Warp& w, const Instruction& in, uint32_t mask) {
  if (w.worker->statistics == nullptr) return;
  Addresses a;
  for (unsigned l = 0; l < kLanes; ++l) a.at[l] = address_of(w, in, plan_of(in).from, l);
  const uint32_t reading = lane_mask([&](unsigned l) { return source_bytes(w, in, l) != 0; });
  count_global(w, in, a, mask & reading, plan_of(in).bytes);
}

// The lanes whose next group has the same number make one operation.
template <bool kSanitized>
void copy(Warp& w, const Instruction& in, uint32_t mask) {
  count_lanes(w, in, mask);
  for (uint32_t rest = mask; rest != 0;) {
    const auto first = static_cast<unsigned>(__builtin_ctz(rest));
    uint32_t group = 0;
    for (unsigned l = first; l < kLanes; ++l) {
      if ((rest >> l & 1u) && w.copy_groups[l] == w.copy_groups[first]) group |= 1u << l;
    }
    rest &= ~group;
    const OperationPointer op = new_operation(w, in, group, Grouping::Copies);
    if (kSanitized) order_issue(w, first, *op);
    for (unsigned l = first; l < kLanes; ++l) {
      if ((group >> l & 1u) && !copy_lane<kSanitized>(w, in, l, *op)) return;
    }
    issue(w, op);
  }
}

template <bool kSanitized>
void arrive_after_copies(Warp& w, const Instruction& in, unsigned lane) {
  const CopyPlan& plan = plan_of(in);
  SharedPlace barrier;
  if (!find_one(w, in, plan.barrier, lane, kMbarrierBytes, kMbarrierBytes, true, &barrier) ||
      !check_barrier(w, in, lane, barrier, kSanitized)) {
    return;
  }
  Mbarrier& b = *mbarrier_at(*barrier.owner, barrier.offset);
  if (in.detail != 0 && ++b.pending > kMostArrivals) {
    wrong_copy(w, in, lane, "the mbarrier has 1048575 pending arrivals already");
    return;
  }
  const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
  op->arrives = true;
  op->signals.push_back({barrier.owner, barrier.offset, 0});
  if (kSanitized) order_copies(w, 1u << lane, *op);
  issue(w, op);
}

// ---- Groups ----------------------------------------------------------------------------------------------
// Instruction::detail of waits and commits:
constexpr uint32_t kBulk = 1, kReads = 2, kAll = 4;

void commit(Warp& w, const Instruction& in, uint32_t mask) {
  uint32_t* groups = in.detail & kBulk ? w.bulk_groups : w.copy_groups;
  for (unsigned l = 0; l < kLanes; ++l) groups[l] += mask >> l & 1u;
}

void wait_groups(Warp& w, const Instruction& in, uint32_t mask) {
  if (in.detail & kAll) commit(w, in, mask);
  const auto but = static_cast<uint32_t>(in.immediate);
  if (!finish_copies(w, in, mask, but)) block(w, mask, in.index + 1, {Wait::Kind::Copies, but, &in});
}

// ---- Decoding --------------------------------------------------------------------------------------------

bool bind_pointer(Decoding& d, unsigned k, Space space, Pointer* p) { return bind_pointer_view(d, d.view(k), space, p); }

Handler keep(Decoding& d, const CopyPlan& plan, Handler plain, Handler sanitized) {
  d.out->plan = d.keep(plan);
  d.out->sanitized = sanitized;
  return plain;
}

constexpr Modifier kHints[] = {{"L2::cache_hint", 0}, {"L2::64B", 0}, {"L2::128B", 0}, {"L2::256B", 0}};

// cp.async.{ca,cg}.shared.global [dst], [src], cp-size {, src-size | ignore-src} {, policy}
Handler resolve_copy_lanes(Decoding& d, const std::vector<std::string_view>& m) {
  CopyPlan plan;
  plan.grouping = Grouping::Copies;
  plan.generic_proxy = true;
  bool hint = false;
  for (size_t i = 4; i < m.size(); ++i) {
    uint32_t ignored;
    if (!read_modifier(m[i], kHints, std::size(kHints), &ignored)) return nullptr;
    hint |= m[i] == "L2::cache_hint";
  }
  const OperandView* size = d.view(2);
  if (m.size() < 4 || m[3] != "global" || (m[2] != "shared" && m[2] != "shared::cta") || size == nullptr ||
      size->kind != OperandView::Kind::Immediate) {
    return nullptr;
  }
  const bool known = size->bits == 16 || (m[1] == "ca" && (size->bits == 4 || size->bits == 8));
  const size_t operands = d.operands.size() - (hint ? 1 : 0);
  if (!known || operands < 3 || operands > 4) return nullptr;
  plan.bytes = plan.element = static_cast<uint8_t>(size->bits);
  if (!bind_pointer(d, 0, Space::Shared, &plan.to) || !bind_pointer(d, 1, Space::Global, &plan.from)) return nullptr;
  if (operands == 4) {
    plan.limit = static_cast<uint8_t>(d.bound());
    plan.skips = d.operands[3].width == 1;
    plan.limited = !plan.skips;
    if (!d.source(3, plan.skips ? 1 : 32)) return nullptr;
  }
  if (hint && !bind_policy(d, static_cast<unsigned>(operands))) return nullptr;
  d.access(true, false, plan.bytes);
  d.access(false, true, plan.limited ? 1u : plan.bytes);
  return keep(d, plan, copy<false>, copy<true>);
}

Handler resolve_arrive_after(Decoding& d, const std::vector<std::string_view>& m) {
  CopyPlan plan;
  size_t i = 3;
  d.out->detail = 1;  // the arrival is pending from now on
  if (i < m.size() && m[i] == "noinc") {
    d.out->detail = 0;
    ++i;
  }
  plan.barrier.space = Space::Generic;
  if (i < m.size() && (m[i] == "shared" || m[i] == "shared::cta")) {
    plan.barrier.space = Space::Shared;
    ++i;
  }
  if (m.size() != i + 1 || m[i] != "b64" || d.operands.size() != 1) return nullptr;
  if (!bind_pointer(d, 0, plan.barrier.space, &plan.barrier)) return nullptr;
  return keep(d, plan, each<arrive_after_copies<false>>, each<arrive_after_copies<true>>);
}

Handler resolve_groups(Decoding& d, const std::string& rest) {
  const bool bulk = rest.rfind("bulk.", 0) == 0;
  const std::string what = bulk ? rest.substr(5) : rest;
  d.out->detail = bulk ? kBulk : 0;
  if (what == "commit_group") return d.operands.empty() ? commit : nullptr;
  if (what == "wait_all") {
    d.out->detail |= kAll;
    return !bulk && d.operands.empty() ? wait_groups : nullptr;
  }
  if (what != "wait_group" && !(bulk && what == "wait_group.read")) return nullptr;
  if (what != "wait_group") d.out->detail |= kReads;
  if (d.operands.size() != 1 || d.operands[0].kind != OperandView::Kind::Immediate) return nullptr;
  d.out->immediate = static_cast<int64_t>(std::min<uint64_t>(d.operands[0].bits, 0x7fffffff));
  return wait_groups;
}

// The operation and the type that end the spelling of a reduction; they are taken off `m`.
bool read_update(std::vector<std::string_view>& m, bool global, CopyPlan* plan) {
  if (m.size() < 2) return false;
  const std::string_view type = m.back();
  m.pop_back();
  if (m.back() == "noftz") m.pop_back();
  else if ((type == "f16" || type == "bf16") && m.back() == "add") return false;
  unsigned bytes = 0;
  plan->update = m.empty() ? nullptr : find_update(m.back(), type, global, &bytes);
  if (plan->update == nullptr || m.back() == "exch" || m.back() == "cas") return false;
  m.pop_back();
  plan->unit = static_cast<uint8_t>(bytes);
  return true;
}

// cp.async.bulk and cp.reduce.async.bulk; `m` begins behind "bulk".
Handler resolve_bulk(Decoding& d, std::vector<std::string_view> m, bool reduces) {
  CopyPlan plan;
  const bool out = !m.empty() && m[0] == "global";
  if (reduces && !read_update(m, out, &plan)) return nullptr;
  bool hint = false;
  if (!m.empty() && m.back() == "L2::cache_hint") {
    hint = true;
    m.pop_back();
  }
  if (!m.empty() && m.back() == "multicast::cluster") {
    plan.multicast = true;
    m.pop_back();
  }
  if (m.size() != 3) return nullptr;
  const bool from_global = m[1] == "global";
  if (out) {
    if (m[1] != "shared::cta" || m[2] != "bulk_group" || plan.multicast) return nullptr;
    plan.grouping = Grouping::Bulk;
    plan.to.space = Space::Global;
  } else {
    const bool own = m[0] == "shared::cta";
    if ((!own && m[0] != "shared::cluster") || m[2] != kMechanism) return nullptr;
    if (from_global ? reduces || (own && plan.multicast)
                    : m[1] != "shared::cta" || own || plan.multicast || hint) {
      return nullptr;
    }
    plan.to.space = own ? Space::Shared : Space::SharedCluster;
  }
  plan.from.space = from_global ? Space::Global : Space::Shared;
  plan.bytes = plan.element = 16;
  unsigned k = 0;
  if (!bind_pointer(d, k++, plan.to.space, &plan.to) || !bind_pointer(d, k++, plan.from.space, &plan.from)) return nullptr;
  plan.size = static_cast<uint8_t>(d.bound());
  if (!d.source(k++, 32)) return nullptr;
  if (!out && !bind_pointer(d, k++, plan.to.space, &plan.barrier)) return nullptr;
  plan.ctas = static_cast<uint8_t>(d.bound());
  if (plan.multicast && !d.source(k++, 16)) return nullptr;
  if (hint && !bind_policy(d, k++)) return nullptr;
  if (k != d.operands.size()) return nullptr;
  d.access(true, out || from_global, 16);
  return out ? keep(d, plan, each<to_global<false>>, each<to_global<true>>)
             : keep(d, plan, each<to_shared<false>>, each<to_shared<true>>);
}

// cp.async.bulk.prefetch.L2.global{.L2::cache_hint} [src], size {, policy}
Handler resolve_bulk_prefetch(Decoding& d, const std::vector<std::string_view>& m) {
  CopyPlan plan;
  const bool hint = m.size() == 4 && m[3] == "L2::cache_hint";
  if (m.size() != (hint ? 4u : 3u) || m[1] != "L2" || m[2] != "global" || d.operands.size() != (hint ? 3u : 2u)) return nullptr;
  if (!bind_pointer(d, 0, Space::Global, &plan.from)) return nullptr;
  plan.size = static_cast<uint8_t>(d.bound());
  if (!d.source(1, 32) || (hint && !bind_policy(d, 2))) return nullptr;
  return keep(d, plan, each<prefetch>, each<prefetch>);
}

Handler resolve_cp(Decoding& d) {
  std::vector<std::string_view> m = d.modifiers;
  const bool reduces = !m.empty() && m[0] == "reduce";
  if (reduces) m.erase(m.begin());
  if (m.size() < 2 || m[0] != "async") return nullptr;
  if (m[1] == "bulk" && m.size() > 2) {
    const bool weak = m[2] == "weak" && !reduces && m.size() > 3;
    const std::vector<std::string_view> rest(m.begin() + (weak ? 3 : 2), m.end());
    const bool prefetches = rest.size() > 1 && rest[0] == "prefetch";
    if (!weak && rest[prefetches ? 1 : 0] == "tensor") return resolve_tensor_copy(d, rest, reduces);
    if (reduces) return resolve_bulk(d, rest, true);
    if (rest[0] == "prefetch") return resolve_bulk_prefetch(d, rest);
    if (rest[0] == "commit_group") return rest.size() == 1 ? resolve_groups(d, "bulk.commit_group") : nullptr;
    if (rest[0] == "wait_group") {
      const bool read = rest.size() == 2 && rest[1] == "read";
      return read ? resolve_groups(d, "bulk.wait_group.read") : rest.size() == 1 ? resolve_groups(d, "bulk.wait_group") : nullptr;
    }
    return resolve_bulk(d, rest, false);
  }
  if (reduces) return nullptr;
  if (m[1] == "ca" || m[1] == "cg") return resolve_copy_lanes(d, m);
  if (m[1] == "mbarrier" && m.size() > 2 && m[2] == "arrive") return resolve_arrive_after(d, m);
  return m.size() == 2 ? resolve_groups(d, std::string(m[1])) : nullptr;
}

// st.async{.weak}{.shared::cluster}.mechanism{.vec}.type and red.async.relaxed.cluster{...}.mechanism.op.type
Handler resolve_store_async(Decoding& d) {
  CopyPlan plan;
  std::vector<std::string_view> m(d.modifiers.begin() + 1, d.modifiers.end());
  const bool reduces = d.opcode == "red";
  plan.generic_proxy = true;
  if (reduces && (m.size() < 2 || m[0] != "relaxed" || m[1] != "cluster")) return nullptr;
  if (reduces) m.erase(m.begin(), m.begin() + 2);
  else if (!m.empty() && m[0] == "weak") m.erase(m.begin());
  plan.to.space = Space::Generic;
  if (!m.empty() && m[0] == "shared::cluster") {
    plan.to.space = Space::SharedCluster;
    m.erase(m.begin());
  }
  if (m.empty() || m[0] != kMechanism) return nullptr;
  m.erase(m.begin());
  unsigned element = 0;
  if (reduces) {
    if (!read_update(m, false, &plan) || !m.empty()) return nullptr;
    element = plan.unit;
  } else {
    if (m.size() == 2 && (m[0] == "v2" || m[0] == "v4")) {
      plan.vector = m[0] == "v2" ? 2 : 4;
      m.erase(m.begin());
    }
    static constexpr Modifier kTypes[] = {{"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4},
                                          {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};
    uint32_t bytes;
    if (m.size() != 1 || !read_modifier(m[0], kTypes, std::size(kTypes), &bytes)) return nullptr;
    element = bytes;
  }
  plan.element = static_cast<uint8_t>(element);
  plan.bytes = static_cast<uint8_t>(element * plan.vector);
  if (d.operands.size() != 3 || plan.bytes > 16 || !bind_pointer(d, 0, plan.to.space, &plan.to)) return nullptr;
  plan.data = static_cast<uint8_t>(d.bound());
  if (d.elements(1) != plan.vector) return nullptr;
  for (unsigned e = 0; e < plan.vector; ++e) {
    if (!d.bind_source(d.element(1, e), element * 8u, element * 8u)) return nullptr;
  }
  if (!bind_pointer(d, 2, plan.to.space, &plan.barrier)) return nullptr;
  d.access(true, false, plan.bytes);
  return keep(d, plan, store_async<false>, store_async<true>);
}

}  // namespace

bool finish_copies(Warp& w, const Instruction& in, uint32_t mask, uint32_t but) {
  const Grouping grouping = in.detail & kBulk ? Grouping::Bulk : Grouping::Copies;
  const bool reads = (in.detail & kReads) != 0;
  if (!copies_done(w, mask, grouping, but, reads)) return false;
  order_waited(w, mask, grouping, but, reads);
  return true;
}

Handler resolve_copy(Decoding& d) {
  if (d.opcode == "cp") return resolve_cp(d);
  const bool asynchronous = !d.modifiers.empty() && d.modifiers[0] == "async";
  return asynchronous && (d.opcode == "st" || d.opcode == "red") ? resolve_store_async(d) : nullptr;
}

}  // namespace pyptx::emulator
