// Cubins by content, and the functions they become in each CUDA context.
#ifndef PYPTX_LAUNCH_MODULES_H_
#define PYPTX_LAUNCH_MODULES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver.h"

namespace pyptx::cuda {

// `sm_90a`, `sm_100f`: the compute capability times ten and the suffix, or 0.
struct CubinTarget {
  int sm = 0;
  char suffix = 0;

  // How well it suits a device of this compute capability times ten; 0 when it does not run there.
  int Fit(int device_sm) const;
};

std::optional<CubinTarget> ParseTarget(std::string_view name);

// One cubin of this process. Every executable that embeds the same bytes shares it, and the module
// stays loaded in a context for the process's life: executables come and go, code is small.
class Cubin {
 public:
  explicit Cubin(std::string_view bytes) : bytes_(bytes) {}

  // The cubin with these bytes.
  static std::shared_ptr<Cubin> Intern(std::string_view bytes);

  // The module in `context`, which is current; loads it on the first call for that context.
  Result Load(Context context, Module* module);

  std::string_view bytes() const { return bytes_; }

 private:
  const std::string bytes_;
  std::mutex mutex_;
  std::map<Context, Module> modules_;
};

// The code of one call: a cubin for each embedded target, sorted by the target's name.
struct Images {
  struct Entry {
    std::string name;
    CubinTarget target;
    std::shared_ptr<Cubin> cubin;
  };
  std::vector<Entry> entries;
  int assembler_major = 0;  // of the ptxas that made them, 0 when unknown

  // The entry that suits the device best, null when none does.
  const Entry* ForDevice(int device_sm) const;
  std::string Names() const;
};

// A kernel of `images`, resolved once in each context. Lookups of a resolved context take no lock.
class KernelFunctions {
 public:
  KernelFunctions() = default;
  KernelFunctions(const KernelFunctions&) = delete;
  KernelFunctions& operator=(const KernelFunctions&) = delete;
  ~KernelFunctions();

  // The function for the calling thread's current context, or for the primary context of device
  // `ordinal` when the thread has none. Returns the problem, if any, as one sentence.
  std::optional<std::string> Resolve(const Images& images, const std::string& kernel,
                                     const std::array<uint32_t, 3>& cluster, int ordinal,
                                     Function* function);

 private:
  struct Node {
    Context context;
    Function function;
    Node* next;
  };
  std::atomic<Node*> head_{nullptr};
  std::mutex mutex_;
};

// Makes the primary context of a device current for a scope, unless it is already.
class DeviceScope {
 public:
  explicit DeviceScope(int ordinal);
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope();

  // Why it is not current, as one sentence.
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  bool pushed_ = false;
  std::optional<std::string> problem_;
};

// Whether the primary context of a device is this thread's current one.
bool PrimaryContextIsCurrent(int ordinal);

// Modules loaded by this process so far.
int64_t ModuleLoads();

}  // namespace pyptx::cuda

#endif  // PYPTX_LAUNCH_MODULES_H_
