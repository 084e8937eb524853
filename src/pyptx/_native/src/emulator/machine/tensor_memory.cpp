#include "tensor_memory.h"

namespace pyptx::emulator {

TensorMemory::TensorMemory(size_t warps)
    : cells(size_t{kTensorLanes} * kTensorColumns, 0xffffffffu),
      written(size_t{kTensorLanes} * kTensorColumns, 0),
      moves(warps),
      shadow(warps) {}

bool TensorMemory::is_allocated(uint32_t column) const {
  const auto behind = allocations.upper_bound(column);
  if (behind == allocations.begin()) return false;
  const auto& [first, allocation] = *std::prev(behind);
  return column < first + allocation.columns;
}

TensorMemory& tensor_memory(Cta& cta) {
  if (cta.tensor_memory == nullptr) cta.tensor_memory = std::make_shared<TensorMemory>(cta.warps.size());
  return *cta.tensor_memory;
}

void wrong_tensor_memory(Warp& w, const Instruction& in, unsigned lane, const std::string& note) {
  report(w, Kind::BadTensorMemory, site_of(w, in, lane), note);
}

bool note_tensor_group(Warp& w, const Instruction& in, unsigned lane, unsigned size) {
  const auto wrong = [&](const std::string& note) {
    wrong_tensor_memory(w, in, lane, note);
    return false;
  };
  unsigned& before = tensor_memory(*w.cta).group;
  if (before != 0 && before != size) {
    return wrong("an instruction of cta_group::" + std::to_string(before) +
                 " came before; all of a kernel have one group");
  }
  before = size;
  const size_t ctas = w.cta->cluster->ctas.size();
  if (size == 1 || (w.cta->rank | 1u) < ctas) return true;
  return wrong("the CTA has no peer: its cluster has " + std::to_string(ctas) +
               (ctas == 1 ? " CTA, and its rank is " : " CTAs, and its rank is ") + std::to_string(w.cta->rank));
}

bool find_tensor_group(Warp& w, const Instruction& in, unsigned lane, unsigned size, TensorGroup* group) {
  if (!note_tensor_group(w, in, lane, size)) return false;
  *group = {size, {w.cta, nullptr}};
  if (size == 1) return true;
  std::vector<Cta>& ctas = w.cta->cluster->ctas;
  group->ctas[0] = &ctas[w.cta->rank & ~1u];
  group->ctas[1] = &ctas[w.cta->rank | 1u];
  if (ctas[w.cta->rank ^ 1u].live_warps != 0) return true;
  wrong_tensor_memory(w, in, lane, "the peer CTA has exited");
  return false;
}

bool check_tensor_place(Warp& w, const Instruction& in, unsigned lane, Cta& owner, const TensorPlace& place) {
  const auto range = [](uint32_t first, uint32_t count) {
    return std::to_string(first) + (count > 1 ? " to " + std::to_string(first + count - 1) : "");
  };
  if (place.first_lane + place.lanes > kTensorLanes || place.first_column + place.columns > kTensorColumns) {
    wrong_tensor_memory(w, in, lane, "it needs lanes " + range(place.first_lane, place.lanes) + ", columns " +
                                         range(place.first_column, place.columns) +
                                         "; there are 128 lanes and 512 columns");
    return false;
  }
  for (uint32_t column = place.first_column; column < place.first_column + place.columns; ++column) {
    if (tensor_memory(owner).is_allocated(column)) continue;
    wrong_tensor_memory(w, in, lane, "it needs columns " + range(place.first_column, place.columns) + ", and column " +
                                         std::to_string(column) + " is not allocated" +
                                         (&owner == w.cta ? "" : " in the peer CTA"));
    return false;
  }
  return true;
}

std::string describe_tensor_wait(const Warp& w, const Split& split) {
  if (split.wait.phase != 0) {
    const auto& peer = w.cta->cluster->ctas[w.cta->rank ^ 1u].tensor_memory;
    const bool alone = peer == nullptr || peer->allocating.empty();
    if (split.wait.phase == kPairFrees || alone) return "a warp of the peer CTA to execute it too";
  }
  return std::to_string(split.wait.object) + " columns of Tensor Memory to be free beside each other";
}

void check_tensor_exit(Cta& cta) {
  if (cta.tensor_memory == nullptr || !cta.cluster->worker->launch->synchronisation) return;
  for (const auto& [first, allocation] : cta.tensor_memory->allocations) {
    report(cta.warps[0], Kind::UnfreedTensorMemory, allocation.site,
           "the CTA exits, and no tcgen05.dealloc has freed the " + std::to_string(allocation.columns) +
           " columns from column " + std::to_string(first) + " on");
  }
}

}  // namespace pyptx::emulator
