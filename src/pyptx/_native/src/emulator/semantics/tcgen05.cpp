// tcgen05: allocating Tensor Memory, waiting, fences, and commits to mbarriers.
#include "tcgen05.h"

#include <algorithm>
#include <cstring>

namespace pyptx::emulator {
namespace {

constexpr unsigned kAddressBytes = 4;

struct AllocationPlan {
  Pointer to;        // where the address goes
  uint8_t taddr = 0, columns = 0;  // slots
  unsigned ctas = 1;  // of its group
};

const AllocationPlan& plan_of(const Instruction& in) { return *static_cast<const AllocationPlan*>(in.plan); }

unsigned first_lane(uint32_t mask) { return static_cast<unsigned>(__builtin_ctz(mask)); }

// ---- Allocating ------------------------------------------------------------------------------------------

bool may_be_allocated(uint32_t columns) {
  return columns >= 32 && columns <= kTensorColumns && (columns & (columns - 1)) == 0;
}

// The first of so many free columns beside each other; kTensorColumns if there are none.
uint32_t find_free(const TensorMemory& memory, uint32_t columns) {
  uint32_t first = 0;
  for (const auto& [at, allocation] : memory.allocations) {
    if (at - first >= columns) return first;
    first = at + allocation.columns;
  }
  return kTensorColumns - first >= columns ? first : kTensorColumns;
}

template <bool kSanitized>
void give_columns(const TensorRequest& r, uint32_t first) {
  Warp& w = *r.warp;
  const unsigned lane = first_lane(r.mask);
  tensor_memory(*w.cta).allocations[first] = {r.columns, site_of(w, *r.at, lane)};
  if (kSanitized) check_shared_piece(w, *r.at, *w.cta, r.address, lane, kAddressBytes, Access::Store);
  memory_changed(w);
  std::memcpy(w.cta->shared + r.address, &first, kAddressBytes);
}

void forget_columns(TensorMemory& memory, uint32_t first, uint32_t columns) {
  for (uint32_t lane = 0; lane < kTensorLanes; ++lane) {
    const size_t at = size_t{lane} * kTensorColumns + first;
    std::fill_n(memory.cells.begin() + static_cast<ptrdiff_t>(at), columns, 0xffffffffu);
    std::fill_n(memory.written.begin() + static_cast<ptrdiff_t>(at), columns, uint8_t{0});
  }
}

// `peer` is the warp that frees them in the peer CTA; nullptr where there is none. False, and a finding, if they were
// not allocated so.
template <bool kSanitized>
bool take_columns(const TensorRequest& r, Warp* peer) {
  TensorMemory& memory = tensor_memory(*r.warp->cta);
  const unsigned lane = first_lane(r.mask);
  const auto found = memory.allocations.find(r.address);
  if (found == memory.allocations.end() || found->second.columns != r.columns) {
    wrong_tensor_memory(*r.warp, *r.at, lane, found == memory.allocations.end()
                                                  ? "no allocation begins at its address"
                                                  : std::to_string(found->second.columns) +
                                                        " columns are allocated there, not " +
                                                        std::to_string(r.columns));
    return false;
  }
  if (kSanitized) check_tensor_free(*r.warp, *r.at, lane, {0, kTensorLanes, r.address, r.columns}, peer);
  forget_columns(memory, r.address, r.columns);
  memory.allocations.erase(found);
  return true;
}

void wake_tensor_waits(Cta& cta, const Warp* warp) {
  for (Warp& w : cta.warps) {
    for (Split& s : w.others) {
      if (s.wait.kind == Wait::Kind::TensorMemory && (warp == nullptr || &w == warp)) wake(w, s);
    }
  }
}

// ---- Pairs -----------------------------------------------------------------------------------------------

// That the warps of the two CTAs have come for the same; false, and a finding, if not.
bool check_request(const TensorRequest& r, const TensorRequest& other) {
  if (r.columns == other.columns && (!r.frees || r.address == other.address)) return true;
  const auto what = [](const TensorRequest& x) {
    return std::to_string(x.columns) + " columns" + (x.frees ? " from " + std::to_string(x.address) + " on" : "");
  };
  Finding f{};
  f.kind = Kind::BadTensorMemory;
  f.site = site_of(*r.warp, *r.at, first_lane(r.mask));
  f.other = site_of(*other.warp, *other.at, first_lane(other.mask));
  f.note = "the warp of this CTA asks for " + what(r) + ", that of the peer CTA for " + what(other) +
           "; both must alike";
  report(*r.warp, f);
  return false;
}

// What the first of the queues of a CTA and its peer ask for; false if it cannot be given.
template <bool kSanitized>
bool perform_request(const TensorRequest& r, const TensorRequest& peers) {
  if (!check_request(r, peers)) return false;
  if (r.frees) return take_columns<kSanitized>(r, peers.warp) && take_columns<kSanitized>(peers, r.warp);
  const uint32_t first = find_free(tensor_memory(*r.warp->cta), r.columns);
  if (first == kTensorColumns) return false;
  give_columns<kSanitized>(r, first);
  give_columns<kSanitized>(peers, first);
  return true;
}

template <bool kSanitized>
void perform_requests(std::deque<TensorRequest>& own, std::deque<TensorRequest>& others) {
  while (!own.empty() && !others.empty() && perform_request<kSanitized>(own.front(), others.front())) {
    for (auto* queue : {&own, &others}) {
      wake_tensor_waits(*queue->front().warp->cta, queue->front().warp);
      queue->pop_front();
    }
  }
}

// A warp waits for one of the peer, and for columns; then both go on behind their instructions.
template <bool kSanitized>
void join_request(const TensorGroup& group, const TensorRequest& r) {
  const uint64_t kind = r.frees ? kPairFrees : kPairAllocates;
  TensorMemory& own = tensor_memory(*r.warp->cta);
  TensorMemory& peers = tensor_memory(*group.ctas[group.ctas[0] == r.warp->cta ? 1 : 0]);
  (r.frees ? own.freeing : own.allocating).push_back(r);
  block(*r.warp, r.mask, r.at->index + 1, {Wait::Kind::TensorMemory, r.columns, r.at, kind});
  perform_requests<kSanitized>(own.freeing, peers.freeing);
  perform_requests<kSanitized>(own.allocating, peers.allocating);
}

// ---- Instructions ----------------------------------------------------------------------------------------

template <bool kSanitized>
void allocate(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  TensorMemory& memory = tensor_memory(*w.cta);
  const unsigned lane = first_lane(mask);
  const uint32_t columns = held<uint32_t>(w, in, plan_of(in).columns)[lane];
  TensorGroup group;
  if (!find_tensor_group(w, in, lane, plan_of(in).ctas, &group)) return;
  if (memory.relinquished || !may_be_allocated(columns)) {
    wrong_tensor_memory(w, in, lane, memory.relinquished
                                         ? "tcgen05.relinquish_alloc_permit has given up allocating"
                                         : std::to_string(columns) + " columns are not 32, 64, 128, 256 or 512");
    return;
  }
  SharedPlace to;
  if (!find_one(w, in, plan_of(in).to, lane, kAddressBytes, kAddressBytes, true, &to)) return;
  const TensorRequest request{&w, &in, mask, false, columns, to.offset};
  if (group.size == 2) {
    join_request<kSanitized>(group, request);
    return;
  }
  const uint32_t first = find_free(memory, columns);
  if (first != kTensorColumns) give_columns<kSanitized>(request, first);
  else block(w, mask, in.index, {Wait::Kind::TensorMemory, columns, &in});
}

template <bool kSanitized>
void deallocate(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const unsigned lane = first_lane(mask);
  TensorGroup group;
  if (!find_tensor_group(w, in, lane, plan_of(in).ctas, &group)) return;
  const TensorRequest request{&w,   &in, mask, true, held<uint32_t>(w, in, plan_of(in).columns)[lane],
                              held<uint32_t>(w, in, plan_of(in).taddr)[lane]};
  if (group.size == 2) join_request<kSanitized>(group, request);
  else if (take_columns<kSanitized>(request, nullptr)) wake_tensor_waits(*w.cta, nullptr);
}

// Of a pair too, a CTA gives up for itself: nobody waits for the peer, which may have exited behind its own.
void relinquish(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask) || !note_tensor_group(w, in, first_lane(mask), plan_of(in).ctas)) return;
  tensor_memory(*w.cta).relinquished = true;
}

// ---- Waiting and ordering --------------------------------------------------------------------------------

template <bool kSanitized, bool kStores>
void wait(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  if (kStores) finish_tensor_stores(w);
  else finish_tensor_loads(w);
  if (!kSanitized) return;
  if (!kStores) order_loaded_registers(w);
  order_tensor_wait(w, kStores);
}

template <bool kBefore>
void fence(Warp& w, const Instruction&, uint32_t) {
  order_tensor_fence(w, kBefore);
}

void nothing(Warp&, const Instruction&, uint32_t) {}

// ---- Commits ---------------------------------------------------------------------------------------------

struct CommitPlan {
  Pointer barrier;
  bool multicast = false;
  uint8_t ctas = 0;    // slot of the mask
  unsigned group = 1;  // CTAs
};

struct Commit : TensorWork {
  void perform() override {}  // its operation's signals are all
};

template <bool kSanitized>
void commit(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& plan = *static_cast<const CommitPlan*>(in.plan);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = first_lane(rest);
    TensorGroup group;
    SharedPlace at;
    if (!find_tensor_group(w, in, lane, plan.group, &group)) return;
    if (!find_one(w, in, plan.barrier, lane, kMbarrierBytes, kMbarrierBytes, true, &at)) return;
    std::vector<Cta>& ctas = w.cta->cluster->ctas;
    const uint32_t to = plan.multicast ? held<uint16_t>(w, in, plan.ctas)[lane] : 1u << at.owner->rank;
    if (to == 0 || to >> ctas.size() != 0) {
      wrong_copy(w, in, lane, "its mask names CTAs that the cluster does not have");
      return;
    }
    const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
    for (uint32_t rank = 0; rank < ctas.size(); ++rank) {
      if (!(to >> rank & 1u)) continue;
      const SharedPlace there{&ctas[rank], at.offset};
      if (!check_barrier(w, in, lane, there, kSanitized)) return;
      op->signals.push_back({there.owner, there.offset, 0});
    }
    op->tensor = std::make_shared<Commit>();
    if (kSanitized) order_tensor_commit(w, lane, *op);
    issue(w, op);
  }
}

// ---- Decoding --------------------------------------------------------------------------------------------

bool bind_slot(Decoding& d, unsigned operand, uint8_t* slot) {
  *slot = static_cast<uint8_t>(d.bound());
  return d.source(operand, 32);
}

// .cta_group.sync.aligned{.shared::cta}.b32 [dst], nCols
Handler resolve_allocation(Decoding& d, Modifiers& m) {
  AllocationPlan plan;
  if (!take_tensor_group(m, &plan.ctas) || !m.take("sync") || !m.take("aligned")) return nullptr;
  const Space space = m.take("shared::cta") ? Space::Shared : Space::Generic;
  if (!m.take("b32") || !m.done() || d.operands.size() != 2) return nullptr;
  if (!bind_pointer_view(d, d.view(0), space, &plan.to) || !bind_slot(d, 1, &plan.columns)) return nullptr;
  d.access(true, false, kAddressBytes);
  d.out->plan = d.keep(plan);
  d.out->sanitized = allocate<true>;
  return allocate<false>;
}

Handler resolve_deallocation(Decoding& d, Modifiers& m) {
  AllocationPlan plan;
  if (!take_tensor_group(m, &plan.ctas) || !m.take("sync") || !m.take("aligned")) return nullptr;
  if (!m.take("b32") || !m.done()) return nullptr;
  if (d.operands.size() != 2 || !bind_slot(d, 0, &plan.taddr) || !bind_slot(d, 1, &plan.columns)) return nullptr;
  d.out->plan = d.keep(plan);
  d.out->sanitized = deallocate<true>;
  return deallocate<false>;
}

Handler resolve_relinquishing(Decoding& d, Modifiers& m) {
  AllocationPlan plan;
  if (!take_tensor_group(m, &plan.ctas) || !m.take("sync") || !m.take("aligned") || !m.done()) return nullptr;
  d.out->plan = d.keep(plan);
  return relinquish;
}

// .cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [mbar] {, ctaMask}
Handler resolve_commit(Decoding& d, Modifiers& m) {
  CommitPlan plan;
  if (!take_tensor_group(m, &plan.group) || !m.take("mbarrier::arrive::one")) return nullptr;
  const Space space = m.take("shared::cluster") ? Space::SharedCluster : Space::Generic;
  plan.multicast = m.take("multicast::cluster");
  if (!m.take("b64") || !m.done() || d.operands.size() != (plan.multicast ? 2u : 1u)) return nullptr;
  if (!bind_pointer_view(d, d.view(0), space, &plan.barrier)) return nullptr;
  plan.ctas = static_cast<uint8_t>(d.bound());
  if (plan.multicast && !d.source(1, 16)) return nullptr;
  d.access(true, false, kMbarrierBytes);
  d.out->plan = d.keep(plan);
  d.out->sanitized = commit<true>;
  return commit<false>;
}

Handler resolve_wait(Decoding& d, Modifiers& m, bool stores) {
  if (!m.take("sync") || !m.take("aligned") || !m.done() || !d.operands.empty()) return nullptr;
  d.out->sanitized = stores ? wait<true, true> : wait<true, false>;
  return stores ? wait<false, true> : wait<false, false>;
}

Handler resolve_fence(Decoding& d, bool before) {
  d.out->sanitized = before ? fence<true> : fence<false>;
  return nothing;
}

}  // namespace

bool take_tensor_group(Modifiers& m, unsigned* ctas) {
  *ctas = m.peek() == "cta_group::2" ? 2 : 1;
  return m.take("cta_group::" + std::to_string(*ctas));
}

bool bind_tensor_pointer(Decoding& d, unsigned operand, TensorPointer* pointer) {
  const OperandView* v = d.view(operand);
  if (v == nullptr || v->kind != OperandView::Kind::Address || v->space != 0xff) return false;
  OperandView base;
  base.kind = v->has_base ? OperandView::Kind::Register : OperandView::Kind::Immediate;
  base.reg = v->reg;
  pointer->slot = static_cast<uint8_t>(d.bound());
  pointer->offset = static_cast<uint32_t>(v->offset);
  return d.bind_source(&base, 32, 32);
}

bool read_tensor_matrix(Warp& w, const Instruction& in, unsigned lane, uint64_t descriptor, const char* what,
                        SharedMatrix* matrix) {
  constexpr uint64_t kReserved = 0x1fe0'0000'c000'c000ull;
  // By bits 61 to 63: how many bits of the number of a chunk are flipped.
  constexpr int kSwizzles[] = {0, -1, 3, -1, 2, -1, 1, -1};
  const auto wrong = [&](const std::string& note) {
    wrong_matrix(w, in, lane, std::string("the descriptor of ") + what + " " + note);
    return false;
  };
  if ((descriptor & kReserved) != 0) return wrong("has bits in places that no field has");
  if ((descriptor >> 46 & 7u) != 1) return wrong("has no 1 in bits 46 to 48");
  if ((descriptor >> 52 & 1u) != 0) return wrong("has an absolute leading address, which the emulator does not run");
  const auto mode = static_cast<unsigned>(descriptor >> 61);
  if (mode == 1) return wrong("swizzles 128 bytes in atoms of 32, which the emulator does not run");
  if (kSwizzles[mode] < 0) return wrong("has swizzle " + std::to_string(mode) + "; there are 0, 1, 2, 4 and 6");
  *matrix = read_matrix(descriptor, static_cast<uint32_t>(kSwizzles[mode]));
  return true;
}

Handler resolve_tensor_core(Decoding& d) {
  if (d.opcode != "tcgen05") return nullptr;
  Modifiers m(d);
  if (m.take("alloc")) return resolve_allocation(d, m);
  if (m.take("dealloc")) return resolve_deallocation(d, m);
  if (m.take("ld")) return resolve_tensor_move(d, m, false);
  if (m.take("st")) return resolve_tensor_move(d, m, true);
  if (m.take("mma")) return resolve_tensor_product(d, m);
  if (m.take("cp")) return resolve_tensor_cp(d, m);
  if (m.take("shift")) return resolve_tensor_shift(d, m);
  if (m.take("commit")) return resolve_commit(d, m);
  if (m.take("wait::ld")) return resolve_wait(d, m, false);
  if (m.take("wait::st")) return resolve_wait(d, m, true);
  if (m.take("fence::before_thread_sync") && m.done()) return resolve_fence(d, true);
  if (m.take("fence::after_thread_sync") && m.done()) return resolve_fence(d, false);
  return m.take("relinquish_alloc_permit") ? resolve_relinquishing(d, m) : nullptr;
}

}  // namespace pyptx::emulator
