// What a launch prints with printf.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

namespace pyptx::emulator {

// Text by CTA, so that its order does not depend on which host thread ran which CTA when. Only what the first
// kMostPrinted bytes of all may still need is kept.
class Printed {
 public:
  void add(uint64_t cta, const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    total_ += text.size();
    if (cta > last_ || (cta == last_ && cut_)) return;
    by_cta_[cta] += text;
    kept_ += text.size();
    cut();
  }

  // Of all CTAs, in the order of their ids.
  std::string text() const {
    std::string all;
    for (const auto& [cta, text] : by_cta_) all += text;
    if (total_ > kept_) {
      if (!all.empty() && all.back() != '\n') all += '\n';
      all += "[pyptx: " + std::to_string(total_ - kept_) + " more bytes were printed and are not kept]\n";
    }
    return all;
  }

 private:
  static constexpr uint64_t kMostPrinted = uint64_t{16} << 20;

  // Takes from the end: what comes later only lies before it, or behind it.
  void cut() {
    while (kept_ > kMostPrinted) {
      const auto last = std::prev(by_cta_.end());
      const uint64_t taken = std::min<uint64_t>(kept_ - kMostPrinted, last->second.size());
      last->second.resize(last->second.size() - taken);
      kept_ -= taken;
      last_ = last->first;
      cut_ = true;
      if (last->second.empty()) by_cta_.erase(last);
    }
  }

  std::mutex mutex_;
  std::map<uint64_t, std::string> by_cta_;
  uint64_t total_ = 0, kept_ = 0;
  uint64_t last_ = ~0ull;  // CTA of which the end is cut off, if any is
  bool cut_ = false;
};

}  // namespace pyptx::emulator
