#include "driver.h"

#include <dlfcn.h>

#include <string_view>
#include <type_traits>

namespace pyptx::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

Driver OpenDriver() {
  Driver driver{};
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    driver.problem = std::string("no NVIDIA driver: ") + dlerror();
    return driver;
  }
  std::string missing;
  auto bind = [&](auto* function, const char* name) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr) missing += std::string(" ") + name;
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(symbol);
  };
  bind(&driver.GetErrorName, "cuGetErrorName");
  bind(&driver.GetErrorString, "cuGetErrorString");
  bind(&driver.DriverGetVersion, "cuDriverGetVersion");
  bind(&driver.CtxGetCurrent, "cuCtxGetCurrent");
  bind(&driver.CtxGetDevice, "cuCtxGetDevice");
  bind(&driver.CtxPushCurrent, "cuCtxPushCurrent_v2");
  bind(&driver.CtxPopCurrent, "cuCtxPopCurrent_v2");
  bind(&driver.DeviceGet, "cuDeviceGet");
  bind(&driver.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  bind(&driver.DeviceGetAttribute, "cuDeviceGetAttribute");
  bind(&driver.ModuleLoadData, "cuModuleLoadData");
  bind(&driver.ModuleGetFunction, "cuModuleGetFunction");
  bind(&driver.FuncSetAttribute, "cuFuncSetAttribute");
  bind(&driver.FuncGetAttribute, "cuFuncGetAttribute");
  bind(&driver.OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  bind(&driver.OccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters");
  bind(&driver.LaunchKernelEx, "cuLaunchKernelEx");
  bind(&driver.MemsetD8Async, "cuMemsetD8Async");
  bind(&driver.MemsetD16Async, "cuMemsetD16Async");
  bind(&driver.MemsetD32Async, "cuMemsetD32Async");
  bind(&driver.MemsetD2D32Async, "cuMemsetD2D32Async");
  driver.TensorMapEncodeTiled = reinterpret_cast<decltype(driver.TensorMapEncodeTiled)>(
      dlsym(library, "cuTensorMapEncodeTiled"));
  driver.TensorMapEncodeIm2col = reinterpret_cast<decltype(driver.TensorMapEncodeIm2col)>(
      dlsym(library, "cuTensorMapEncodeIm2col"));
  if (!missing.empty()) {
    driver.problem = std::string("the NVIDIA driver is too old: ") + kLibrary + " lacks" + missing +
                     "; a driver for CUDA 12 or newer has them";
  }
  return driver;
}

struct Meaning {
  Result result;
  const char* text;
  const char* call = nullptr;  // which call means it, any where null
};

// What an error of loading or launching says about the kernel, for the user who wrote it.
constexpr Meaning kMeanings[] = {
    {1, "the device does not take this grid, block, cluster or amount of shared memory",
     "cuLaunchKernelEx"},
    {1, "the device does not take this box, layout or tensor", "cuTensorMapEncodeTiled"},
    {1, "the device does not take this bounding box, layout or tensor", "cuTensorMapEncodeIm2col"},
    {2, "the device has no memory left for the kernel's code or local memory"},
    {100, "no GPU is visible to this process"},
    {200, "the device cannot load this cubin"},
    {209, "the cubin is for another architecture than the device's"},
    {218, "the driver cannot read the code"},
    {300, "the cubin is damaged or made for a newer driver"},
    {500, "the cubin has no kernel of that name"},
    {700, "an earlier kernel of this process read or wrote outside its memory; the context is lost; "
          "run the kernel with k.emulate(..., sanitize=True) to find the line"},
    {701, "the kernel needs more registers or shared memory than the device has for so many threads"},
    {702, "an earlier kernel ran longer than the display's time limit; the context is lost"},
    {710, "an earlier kernel failed an assertion; the context is lost"},
    {714, "an earlier kernel failed in hardware, often a corrupted stack; the context is lost"},
    {715, "an earlier kernel executed an illegal instruction; the context is lost"},
    {716, "an earlier kernel used a misaligned address; the context is lost; "
          "run the kernel with k.emulate(..., sanitize=True) to find the line"},
    {717, "an earlier kernel used an address of the wrong state space; the context is lost"},
    {718, "an earlier kernel jumped outside its code; the context is lost"},
    {719, "an earlier kernel failed or executed trap; the context is lost; "
          "run the kernel with k.emulate(..., sanitize=True) to find the line"},
    {912, "the device cannot place a cluster of this size with the kernel's shared memory and registers"},
};

}  // namespace

const Driver& GetDriver() {
  static const Driver driver = OpenDriver();
  return driver;
}

std::string Describe(const char* call, Result result) {
  const Driver& driver = GetDriver();
  const char* name = nullptr;
  const char* text = nullptr;
  driver.GetErrorName(result, &name);
  driver.GetErrorString(result, &text);
  std::string message = std::string(call) + " failed with " +
                        (name ? name : "an unknown error") + " (" + std::to_string(result) + ")";
  if (text != nullptr) message += std::string(", ") + text;
  for (const Meaning& meaning : kMeanings) {
    bool same_call = meaning.call == nullptr || std::string_view(call) == meaning.call;
    if (meaning.result == result && same_call) message += std::string(": ") + meaning.text;
  }
  return message;
}

int DriverMajorVersion() {
  int version = 0;
  GetDriver().DriverGetVersion(&version);
  return version / 1000;
}

std::string DriverVersionText() {
  int version = 0;
  GetDriver().DriverGetVersion(&version);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace pyptx::cuda
