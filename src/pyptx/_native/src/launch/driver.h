// The part of the CUDA driver API that a launch needs, declared here so that the library builds and
// loads on machines without CUDA; libcuda is opened when the first handler needs it.
#ifndef PYPTX_LAUNCH_DRIVER_H_
#define PYPTX_LAUNCH_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace pyptx::cuda {

using Result = int;
using Device = int;
using Context = struct ContextHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;

// CUlaunchAttribute: an identifier and 64 bytes of value at offset 8.
struct LaunchAttribute {
  int32_t id;
  int32_t padding;
  union {
    char bytes[64];
    uint64_t alignment;
    struct {
      uint32_t x, y, z;
    } cluster;
    int32_t cooperative;
    int32_t programmatic_stream_serialization_allowed;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

// CUlaunchConfig.
struct LaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

// CUtensorMap, as CUDA 13 aligns it; CUDA 12 asked for 64 bytes.
struct alignas(128) EncodedMap {
  uint64_t opaque[16];
};
static_assert(sizeof(EncodedMap) == 128);

constexpr Result kSuccess = 0;
constexpr Result kErrorCooperativeLaunchTooLarge = 720;
constexpr int kLaunchAttributeCooperative = 2;
constexpr int kLaunchAttributeClusterDimension = 4;
constexpr int kLaunchAttributeProgrammaticStreamSerialization = 6;
constexpr int kFunctionSharedSizeBytes = 1;
constexpr int kFunctionRegisters = 4;
constexpr int kFunctionMaxDynamicSharedSizeBytes = 8;
constexpr int kFunctionNonPortableClusterSizeAllowed = 14;
constexpr int kDeviceMultiprocessorCount = 16;
constexpr int kDeviceComputeCapabilityMajor = 75;
constexpr int kDeviceComputeCapabilityMinor = 76;
constexpr int kDeviceMaxSharedMemoryPerBlockOptin = 97;

struct Driver {
  Result (*GetErrorName)(Result, const char**);
  Result (*GetErrorString)(Result, const char**);
  Result (*DriverGetVersion)(int*);
  Result (*CtxGetCurrent)(Context*);
  Result (*CtxGetDevice)(Device*);
  Result (*CtxPushCurrent)(Context);
  Result (*CtxPopCurrent)(Context*);
  Result (*DeviceGet)(Device*, int);
  Result (*DevicePrimaryCtxRetain)(Context*, Device);
  Result (*DeviceGetAttribute)(int*, int, Device);
  Result (*ModuleLoadData)(Module*, const void*);
  Result (*ModuleGetFunction)(Function*, Module, const char*);
  Result (*FuncSetAttribute)(Function, int, int);
  Result (*FuncGetAttribute)(int*, int, Function);
  Result (*OccupancyMaxActiveBlocksPerMultiprocessor)(int*, Function, int, size_t);
  Result (*OccupancyMaxActiveClusters)(int*, Function, const LaunchConfig*);
  Result (*LaunchKernelEx)(const LaunchConfig*, Function, void**, void**);
  Result (*MemsetD8Async)(uint64_t, unsigned char, size_t, Stream);
  Result (*MemsetD16Async)(uint64_t, unsigned short, size_t, Stream);
  Result (*MemsetD32Async)(uint64_t, unsigned, size_t, Stream);
  // Address, pitch in bytes, value, columns, rows.
  Result (*MemsetD2D32Async)(uint64_t, size_t, unsigned, size_t, size_t, Stream);
  // nullptr where the driver has no tensor maps.
  Result (*TensorMapEncodeTiled)(EncodedMap*, int, uint32_t, void*, const uint64_t*, const uint64_t*,
                                 const uint32_t*, const uint32_t*, int, int, int, int);
  Result (*TensorMapEncodeIm2col)(EncodedMap*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const int*,
                                  const int*, uint32_t, uint32_t, const uint32_t*, int, int, int, int);
  std::string problem;  // why the driver cannot be used, empty when it can
};

// Opens libcuda once; check `problem` before the functions.
const Driver& GetDriver();

// "cuLaunchKernelEx failed with CUDA_ERROR_...: what the driver says (what to do)".
std::string Describe(const char* call, Result result);

// The CUDA version that the driver supports, as "13.0".
std::string DriverVersionText();
int DriverMajorVersion();

}  // namespace pyptx::cuda

#endif  // PYPTX_LAUNCH_DRIVER_H_
