#include "shadow_pool.h"

#include <algorithm>
#include <new>
#include <utility>

#include "machine/portable.h"

namespace pyptx::emulator {
namespace {

constexpr size_t kMostKept = size_t{512} << 20;

}  // namespace

Pages::Pages(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = map_pages(bytes);
  if (data_ == nullptr) throw std::bad_alloc();
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Pages::~Pages() {
  if (data_ != nullptr) unmap_pages(data_, bytes_);
}

ShadowPool& ShadowPool::instance() {
  static auto* pool = new ShadowPool();  // outlives every thread that may still use it
  return *pool;
}

ShadowPool::Shadow ShadowPool::take(std::vector<Need> needs, uint64_t segments) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (next_ + segments > kMaxSegments) {
    // Segments start again, so pages with cells of the old ones must not be used again.
    ++generation_;
    next_ = 0;
    kept_.clear();
    kept_bytes_ = 0;
  }
  Shadow shadow;
  for (const Need& need : needs) shadow.pages.push_back(find(need));
  shadow.needs = std::move(needs);
  shadow.base = static_cast<uint32_t>(next_);
  shadow.generation = generation_;
  next_ += segments;
  return shadow;
}

Pages ShadowPool::find(const Need& need) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.need == need; });
  if (found == kept_.end()) return Pages(need.bytes);
  Pages pages = std::move(found->pages);
  kept_.erase(found);
  kept_bytes_ -= need.bytes;
  return pages;
}

void ShadowPool::give(Shadow shadow) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (shadow.generation != generation_) return;
  for (size_t i = 0; i < shadow.pages.size(); ++i) {
    kept_bytes_ += shadow.needs[i].bytes;
    kept_.push_back({shadow.needs[i], std::move(shadow.pages[i])});
  }
  // The oldest go first.
  while (kept_bytes_ > kMostKept) {
    kept_bytes_ -= kept_.front().need.bytes;
    kept_.erase(kept_.begin());
  }
}

}  // namespace pyptx::emulator
