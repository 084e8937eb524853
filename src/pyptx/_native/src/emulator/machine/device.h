// What GPUs have, by compute capability. Written by `make device` from pyptx/device.py.
#pragma once

#include <cstdint>

namespace pyptx::emulator {

struct Device {
  uint32_t sm;               // compute capability times ten
  uint32_t multiprocessors;  // of the product that is modelled
  uint32_t threads;          // resident on an SM, at most
  uint32_t ctas;             // resident on an SM, at most
  uint32_t shared;           // bytes of an SM
  uint32_t cta_shared;       // bytes of a CTA, at most
  uint32_t reserved_shared;  // bytes of an SM that each CTA takes besides its own
};

inline constexpr Device kDevices[] = {
    {75, 40, 1024, 16, 65536, 65536, 0},
    {80, 108, 2048, 32, 167936, 166912, 1024},
    {86, 84, 1536, 16, 102400, 101376, 1024},
    {87, 16, 1536, 16, 167936, 166912, 1024},
    {88, 16, 1536, 16, 102400, 101376, 1024},
    {89, 142, 1536, 24, 102400, 101376, 1024},
    {90, 132, 2048, 32, 233472, 232448, 1024},
    {100, 148, 2048, 32, 233472, 232448, 1024},
    {103, 148, 2048, 32, 233472, 232448, 1024},
    {107, 148, 2048, 32, 233472, 232448, 1024},
    {110, 20, 1536, 24, 233472, 232448, 1024},
    {120, 170, 1536, 24, 102400, 101376, 1024},
    {121, 48, 1536, 24, 102400, 101376, 1024},
};

inline constexpr uint32_t kGridLimits[] = {2147483647, 65535, 65535};
inline constexpr uint32_t kBlockLimits[] = {1024, 1024, 64};
inline constexpr uint32_t kCtaThreads = 1024;
inline constexpr uint32_t kClusterLimit = 16;

// The device of a compute capability; of one that is not listed, the last one before it.
inline const Device& device_of(uint32_t sm) {
  const Device* found = kDevices;
  for (const Device& device : kDevices) {
    if (device.sm <= sm) found = &device;
  }
  return *found;
}

}  // namespace pyptx::emulator
