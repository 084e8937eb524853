#include "async.h"
#include "sanitize.h"
#include "warp.h"
namespace pyptx::emulator {
void check_shared_piece(Warp&, const Instruction&, Cta&, uint32_t, unsigned, uint32_t, Access) {}
void forget_shared(Cta&, uint32_t, uint32_t) {}
void order_init(Warp&, Mbarrier&, unsigned) {}
void check_mbarrier_use(Warp&, const Instruction&, unsigned, Cta&, uint32_t, const Mbarrier&, bool) {}
void order_arrive(Warp& w, Mbarrier& b) { if (w.cta->cluster->clocks.active()) w.cta->cluster->clocks.join_into(b.clocks, w.agent); }
void observe_phase(Warp& w, const Instruction&, unsigned, Cta&, uint32_t, Mbarrier& b, uint64_t) { if (w.cta->cluster->clocks.active()) w.cta->cluster->clocks.join_from(w.agent, b.released); }
void check_overrun(Warp&, const Instruction&, unsigned, Cta&, uint32_t, Mbarrier&) {}
void order_issue(Warp&, const Instruction&, unsigned, Operation&) {}
void check_copy_shared(Warp&, const Instruction&, Cta& owner, uint32_t offset, uint32_t bytes, unsigned, bool store, bool, const Operation&) {
  SharedShadow& s = owner.shadow;
  if (s.initialisation && store) std::memset(&s.written[offset >> s.shift], 1, bytes >> s.shift);
}
void check_copy_global(Warp& w, const Instruction& in, Buffer& b, uint64_t address, uint32_t bytes, unsigned lane, bool store, const Operation&) {
  if (b.stores != nullptr) check_global(w, in, b, address, lane, bytes, store ? Access::Store : Access::Load, {});
}
void order_copies(Warp&, uint32_t, Operation&) {}
void order_signal(const Operation&, Mbarrier&) {}
void order_waited(Warp&, uint32_t, Grouping, uint32_t, bool) {}
void order_proxies(Warp&) {}
void order_inits(Warp&) {}
void check_exit(Warp&, uint32_t) {}
void check_cta_exit(Cta&) {}
}
