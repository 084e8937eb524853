// What a launch prints with printf.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace pyptx::emulator {

// Text by CTA, so that its order does not depend on which host thread ran which CTA when.
class Printed {
 public:
  void add(uint64_t cta, const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    by_cta_[cta] += text;
  }

  // Of all CTAs, in the order of their ids.
  std::string text() const {
    std::string all;
    for (const auto& [cta, text] : by_cta_) all += text;
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::string> by_cta_;
};

}  // namespace pyptx::emulator
