// The floating-point environment that the lane functions rely on: rounding to nearest, subnormals kept.
#pragma once

#include <cfenv>

namespace pyptx::emulator {

// Holds while it lives, in this thread and in threads started meanwhile. XLA, for one, flushes subnormals in
// the threads that it calls from.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&before_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace pyptx::emulator
