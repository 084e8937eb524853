#include "program.h"

#include <algorithm>
#include <stdexcept>

namespace pyptx::emulator {

Uses::Role role_of(const Decoding& d) {
  // What CUDA's compiler turns the result of a test into before it branches.
  constexpr std::string_view kComputing[] = {"mov", "selp", "setp", "set", "cvt", "and", "or", "xor", "not"};
  if (std::find(std::begin(kComputing), std::end(kComputing), d.opcode) != std::end(kComputing)) {
    return Uses::Role::Computes;
  }
  const bool tests = d.opcode == "mbarrier" && (d.has("test_wait") || d.has("try_wait"));
  return tests ? Uses::Role::Tests : Uses::Role::Other;
}

uint64_t content_hash(const void* bytes, size_t size) {
  const auto* p = static_cast<const uint8_t*>(bytes);
  uint64_t h = 0x9e3779b97f4a7c15ull ^ size;
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, p + i, std::min<size_t>(8, size - i));
    h = (h ^ word) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  return h;
}

void* Program::keep_bytes(size_t size) {
  kept_.push_back(std::make_unique<uint8_t[]>(size + 16));
  const auto address = reinterpret_cast<uintptr_t>(kept_.back().get());
  return reinterpret_cast<void*>((address + 15) & ~static_cast<uintptr_t>(15));
}

uint32_t Program::intern(uint64_t bits, unsigned width) {
  if (width == 1) bits = bits != 0 ? ~0ull : 0;
  if (width < 64 && width > 1) bits &= (1ull << width) - 1;
  const unsigned group = width == 1 || width == 32 ? 0 : width == 64 ? 1 : 2;
  const uint64_t key = group == 2 ? bits * 31 + width : bits;
  auto& table = interned_[group];
  if (group != 2) {
    const auto found = table.find(key);
    if (found != table.end()) return found->second;
  }
  const uint32_t offset = static_cast<uint32_t>(pool_bytes_.size());
  const unsigned lane = width == 1 ? 4 : width / 8;
  pool_bytes_.resize(offset + std::max(64u, lane * kLanes), 0);
  for (unsigned l = 0; l < kLanes; ++l) {
    std::memcpy(&pool_bytes_[offset + l * lane], &bits, std::min(lane, 8u));
    // 128-bit immediates are sign-extended like the 64 bits that the image has.
    if (lane == 16 && (bits >> 63)) std::memset(&pool_bytes_[offset + l * lane + 8], 0xff, 8);
  }
  if (group != 2) table.emplace(key, offset | kPoolBit);
  return offset | kPoolBit;
}

void Program::access(bool shared, bool global, uint32_t bytes) {
  if (shared) shared_granule = std::min(shared_granule, bytes);
  if (global) {
    global_granule = std::min(global_granule, bytes);
    widest_global = std::max(widest_global, bytes);
  }
}

const Function* Program::function_of(uint32_t instruction) const {
  for (const Function& f : functions) {
    if (instruction >= f.first && instruction < f.end) return &f;
  }
  return nullptr;
}

void Program::find_tracked(std::vector<uint32_t> at_start) {
  tracked = std::move(at_start);
  std::vector<uint8_t> keep(image_registers, 0);
  for (const Uses& u : uses) {
    if (u.moved.kind == Moved::Kind::Load) tracked.insert(tracked.end(), u.moved.to.begin(), u.moved.to.end());
  }
  tracked.erase(std::remove(tracked.begin(), tracked.end(), Moved::kHasValue), tracked.end());
  for (const uint32_t r : tracked) keep[r] = 1;
  track_moves(keep);
  const auto untracked = [&](uint32_t r) { return !keep[r]; };
  const auto drop = [&](std::vector<uint32_t>& list) {
    list.erase(std::remove_if(list.begin(), list.end(), untracked), list.end());
  };
  for (Uses& u : uses) {
    drop(u.sources);
    drop(u.conditional);
    drop(u.destinations);
  }
}

void Program::find_ignored(const std::vector<Flow>& flow) {
  size_t places = size_t{1} << 20;
  for (uint32_t i = 0; i < uses.size(); ++i) {
    if (uses[i].role != Uses::Role::Tests || !ignores_result(flow, uses, i, &places)) continue;
    ignored.resize(code.size(), 0);
    ignored[i] = 1;
  }
}

// Registers that what has no value is moved to are tracked too; movers do not count as readers.
void Program::track_moves(std::vector<uint8_t>& keep) {
  using Kind = Moved::Kind;
  const auto kept = [&](uint32_t r) { return r != Moved::kHasValue && keep[r] != 0; };
  std::vector<std::vector<uint32_t>> movers(tracked.empty() ? 0 : image_registers);  // by what they move
  for (uint32_t i = 0; i < uses.size() && !tracked.empty(); ++i) {
    if (uses[i].moved.kind == Kind::Store) continue;
    for (const uint32_t r : uses[i].moved.from) {
      if (r != Moved::kHasValue) movers[r].push_back(i);
    }
  }
  for (size_t next = 0; next < tracked.size(); ++next) {
    for (const uint32_t i : movers[tracked[next]]) {
      for (const uint32_t r : uses[i].moved.to) {
        if (r == Moved::kHasValue || keep[r]) continue;
        keep[r] = 1;
        tracked.push_back(r);
      }
    }
  }
  for (Uses& u : uses) {
    if (u.moved.kind == Kind::None) continue;
    const auto any = [&](const std::vector<uint32_t>& list) { return std::any_of(list.begin(), list.end(), kept); };
    if (!any(u.moved.from) && !any(u.moved.to)) {
      u.moved = Moved();  // also its memory
      continue;
    }
    const auto moved = [](const std::vector<uint32_t>& list) {
      return [&list](uint32_t r) { return std::find(list.begin(), list.end(), r) != list.end(); };
    };
    u.sources.erase(std::remove_if(u.sources.begin(), u.sources.end(), moved(u.moved.from)), u.sources.end());
    u.sources.insert(u.sources.end(), u.moved.read.begin(), u.moved.read.end());
    u.destinations.erase(std::remove_if(u.destinations.begin(), u.destinations.end(), moved(u.moved.to)), u.destinations.end());
    for (auto* list : {&u.moved.from, &u.moved.to}) {
      for (uint32_t& r : *list) r = kept(r) ? r : Moved::kHasValue;
    }
  }
}

void Program::find_held() {
  if (products.empty()) return;
  std::unordered_map<uint32_t, uint32_t> numbers;
  const auto number_all = [&](std::vector<uint32_t>& list) {
    for (uint32_t& r : list) {
      const auto [found, added] = numbers.emplace(r, static_cast<uint32_t>(held.size()));
      if (added) held.push_back(r);
      r = found->second;
    }
  };
  for (auto& [instruction, product] : products) {
    number_all(product->accumulators);
    number_all(product->inputs);
    number_all(product->loads);
  }
  touches.resize(code.size());
  for (uint32_t i = 0; i < uses.size(); ++i) {
    if (products.count(i) != 0) continue;
    for (const auto* list : {&uses[i].sources, &uses[i].destinations}) {
      for (const uint32_t r : *list) {
        const auto found = numbers.find(r);
        if (found != numbers.end()) touches[i].push_back(found->second);
      }
    }
  }
}

}  // namespace pyptx::emulator
