#include "product.h"

#include <algorithm>

#include "warp.h"

namespace pyptx::emulator {
namespace {

uint32_t warps_of(const Cta& cta, uint32_t warpgroup) {
  const auto all = static_cast<uint32_t>(cta.warps.size());
  return std::min(kWarpgroupWarps, all - warpgroup * kWarpgroupWarps);
}

// Instructions and operands that all warps of a warpgroup must have alike.
void compare(Warp& w, const Instruction& in, const Part& mine, const Part& first) {
  const std::string other = "warp " + std::to_string(first.warp->index) + " of the warpgroup";
  Finding f{};
  f.site = site_of(w, in, 0);
  f.other = site_of(*first.warp, *first.at, 0);
  if (&in != first.at) {
    if (!w.worker->launch->synchronisation) return;
    f.kind = Kind::DivergentBarrier;
    f.note = other + " executes another multiplication; all four must alike";
  } else if (mine.a != first.a || mine.b != first.b || mine.accumulates != first.accumulates) {
    const char* what = mine.a != first.a ? "descriptor of A" : mine.b != first.b ? "descriptor of B" : "scale-d";
    f.kind = Kind::BadMatrix;
    f.note = "its " + std::string(what) + " is not that of " + other;
  } else {
    return;
  }
  report(w, f);
}

void report_missing(const Product& product) {
  const Part& first = product.parts[0];
  if (!first.warp->worker->launch->synchronisation) return;
  report(*first.warp, Kind::DivergentBarrier, site_of(*first.warp, *first.at, 0),
         "warp " + std::to_string(product.missing()->index) +
         " of the warpgroup does not execute it; all four must alike");
}

bool waits_for_mbarrier(const Warp& w) {
  return std::any_of(w.others.begin(), w.others.end(), [](const Split& s) { return s.wait.kind == Wait::Kind::Mbarrier; });
}

}  // namespace

Part* Product::part_of(const Warp& w) {
  for (Part& p : parts) {
    if (p.warp == &w) return &p;
  }
  return nullptr;
}

Warp* Product::missing() const {
  if (alone) return nullptr;
  for (uint32_t i = 0; i < warps_of(*cta, warpgroup); ++i) {
    Warp& w = cta->warps[warpgroup * kWarpgroupWarps + i];
    if (std::none_of(parts.begin(), parts.end(), [&](const Part& p) { return p.warp == &w; })) return &w;
  }
  return nullptr;
}

OperationPointer join_product(Warp& w, const Instruction& in, Part part) {
  const uint32_t number = w.index / kWarpgroupWarps, mine = w.products_issued++;
  Warpgroup& group = w.cta->warpgroups[number];
  const bool alone = mine < group.issued;
  if (alone) group.open.push_front(nullptr);
  else if (mine - group.issued == group.open.size()) group.open.push_back(nullptr);
  OperationPointer& op = group.open[alone ? 0 : mine - group.issued];
  if (op == nullptr) {
    op = std::make_shared<Operation>();
    op->at = &in;
    op->warp = &w;
    op->mask = part.mask;
    op->product = std::make_shared<Product>();
    op->product->cta = w.cta;
    op->product->warpgroup = number;
    op->product->alone = alone;
  } else {
    compare(w, in, part, op->product->parts[0]);
  }
  op->product->parts.push_back(std::move(part));
  w.products.push_back({op, w.product_groups});
  return op;
}

void issue_products(Cta& cta, uint32_t warpgroup) {
  Warpgroup& group = cta.warpgroups[warpgroup];
  while (!group.open.empty() && group.open.front()->product->missing() == nullptr) {
    const OperationPointer op = std::move(group.open.front());
    group.open.pop_front();
    if (!op->product->alone) ++group.issued;
    issue(*op->warp, op);
  }
}

bool finish_products(Warp& w, uint32_t but) {
  const auto waited = [&](const Pending& p) { return static_cast<uint64_t>(p.group) + but < w.product_groups; };
  const bool done = std::none_of(w.products.begin(), w.products.end(), [&](const Pending& p) {
    return waited(p) && p.operation->stage != Stage::Done;
  });
  if (!done) return false;
  for (const Pending& p : w.products) {
    if (waited(p)) order_products_waited(w, *p.operation);
  }
  w.products.erase(std::remove_if(w.products.begin(), w.products.end(), waited), w.products.end());
  order_registers_waited(w, but);
  return true;
}

void wake_products(Product& product) {
  for (const Part& part : product.parts) {
    for (Split& s : part.warp->others) {
      if (s.wait.kind == Wait::Kind::Products && finish_products(*part.warp, s.wait.object)) wake(*part.warp, s);
    }
  }
}

bool force_products(Cluster& c) {
  for (Cta& cta : c.ctas) {
    for (Warpgroup& group : cta.warpgroups) {
      if (group.open.empty()) continue;
      const Product& product = *group.open.front()->product;
      if (waits_for_mbarrier(*product.missing())) continue;  // which is what is wrong
      report_missing(product);
      const OperationPointer op = std::move(group.open.front());
      group.open.pop_front();
      ++group.issued;
      issue(*op->warp, op);
      return true;
    }
  }
  return false;
}

void check_products(Cta& cta) {
  for (const Warpgroup& group : cta.warpgroups) {
    if (!group.open.empty()) report_missing(*group.open.front()->product);
  }
}

std::string describe_products(const Warp& w, uint32_t but) {
  for (const Pending& p : w.products) {
    if (static_cast<uint64_t>(p.group) + but >= w.product_groups || p.operation->stage == Stage::Done) continue;
    const Warp* missing = p.operation->product->missing();
    if (missing != nullptr) {
      return "a multiplication that warp " + std::to_string(missing->index) + " of the warpgroup has not executed";
    }
  }
  return "multiplications to complete";
}

}  // namespace pyptx::emulator
