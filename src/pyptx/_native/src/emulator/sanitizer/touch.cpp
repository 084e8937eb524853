#include "touch.h"

#include <algorithm>

namespace pyptx::emulator {
namespace {

// From so many on they are found by a map.
constexpr size_t kFew = 16;

bool same_thread(const Touch& a, const Touch& b) {
  return a.cluster == b.cluster && a.column == b.column && a.store == b.store;
}

uint64_t key_of(const Touch& t) { return t.cluster << 20 | t.column << 1 | (t.store ? 1u : 0u); }

}  // namespace

void Touches::add(const Touch& touch) {
  narrowest_ = std::min(narrowest_, touch.scope);
  Touch* before = nullptr;
  if (touches_.size() <= kFew) {
    const auto found = std::find_if(touches_.begin(), touches_.end(), [&](const Touch& t) { return same_thread(t, touch); });
    if (found != touches_.end()) before = &*found;
  } else {
    const auto found = places_->find(key_of(touch));
    if (found != places_->end()) before = &touches_[found->second];
  }
  if (before != nullptr) {
    const bool together = before->clock == touch.clock && before->generation == touch.generation;
    const bool every = together && (before->every_lane || touch.every_lane || before->lane != touch.lane);
    const Scope scope = together ? std::min(before->scope, touch.scope) : touch.scope;
    *before = touch;
    before->every_lane |= every;
    before->scope = scope;
    return;
  }
  touches_.push_back(touch);
  if (touches_.size() == kFew + 1) {
    places_ = std::make_unique<std::unordered_map<uint64_t, uint32_t>>();
    for (size_t i = 0; i < touches_.size(); ++i) (*places_)[key_of(touches_[i])] = static_cast<uint32_t>(i);
  } else if (touches_.size() > kFew) {
    (*places_)[key_of(touch)] = static_cast<uint32_t>(touches_.size() - 1);
  }
}

void Touches::clear() {
  touches_.clear();
  places_.reset();
  narrowest_ = Scope::System;
}

}  // namespace pyptx::emulator
