#include "modules.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <unordered_map>

namespace pyptx::cuda {
namespace {

using Problem = std::optional<std::string>;

std::atomic<int64_t> g_module_loads{0};

// Makes `context` current for a scope, unless it is already.
class ScopedContext {
 public:
  ScopedContext(Context current, Context wanted) : pushed_(current != wanted) {
    if (pushed_) result_ = GetDriver().CtxPushCurrent(wanted);
  }
  ~ScopedContext() {
    Context popped = nullptr;
    if (pushed_ && result_ == kSuccess) GetDriver().CtxPopCurrent(&popped);
  }
  Result result() const { return result_; }

 private:
  bool pushed_;
  Result result_ = kSuccess;
};

// The primary context of a device, retained once for the process's life.
Problem PrimaryContext(int ordinal, Context* context) {
  static std::mutex mutex;
  static std::map<int, Context> retained;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = retained.find(ordinal);
  if (found == retained.end()) {
    Device device = 0;
    if (Result r = GetDriver().DeviceGet(&device, ordinal)) return Describe("cuDeviceGet", r);
    if (Result r = GetDriver().DevicePrimaryCtxRetain(context, device)) {
      return Describe("cuDevicePrimaryCtxRetain", r);
    }
    found = retained.emplace(ordinal, *context).first;
  }
  *context = found->second;
  return {};
}

Problem DeviceSm(Device device, int* sm) {
  int major = 0;
  int minor = 0;
  Result r = GetDriver().DeviceGetAttribute(&major, kDeviceComputeCapabilityMajor, device);
  if (r == kSuccess) {
    r = GetDriver().DeviceGetAttribute(&minor, kDeviceComputeCapabilityMinor, device);
  }
  if (r != kSuccess) return Describe("cuDeviceGetAttribute", r);
  *sm = major * 10 + minor;
  return {};
}

std::string LoadProblem(const Images& images, Result result) {
  std::string text = Describe("cuModuleLoadData", result);
  if (images.assembler_major > DriverMajorVersion()) {
    text += "; the driver supports CUDA " + DriverVersionText() +
            " and the kernel was assembled by CUDA " + std::to_string(images.assembler_major) +
            ": the driver is too old, or install nvidia-cuda-nvcc of the driver's version";
  }
  return text;
}

// Lets the kernel use as much shared memory as the device gives a block that asks for it.
Problem AllowSharedMemory(Device device, Function function) {
  const Driver& driver = GetDriver();
  int limit = 0;
  int used = 0;
  Result r = driver.DeviceGetAttribute(&limit, kDeviceMaxSharedMemoryPerBlockOptin, device);
  if (r == kSuccess) r = driver.FuncGetAttribute(&used, kFunctionSharedSizeBytes, function);
  if (r == kSuccess && limit > used) {
    r = driver.FuncSetAttribute(function, kFunctionMaxDynamicSharedSizeBytes, limit - used);
  }
  if (r != kSuccess) return Describe("cuFuncSetAttribute", r);
  return {};
}

// Eight CTAs a cluster run everywhere; more must be asked for.
Problem AllowCluster(const std::array<uint32_t, 3>& cluster, Function function) {
  if (uint64_t(cluster[0]) * cluster[1] * cluster[2] <= 8) return {};
  Result r = GetDriver().FuncSetAttribute(function, kFunctionNonPortableClusterSizeAllowed, 1);
  if (r != kSuccess) return Describe("cuFuncSetAttribute", r);
  return {};
}

// The kernel in `context`, which is current.
Problem LoadFunction(const Images& images, const std::string& kernel,
                     const std::array<uint32_t, 3>& cluster, Context context, Function* function) {
  const Driver& driver = GetDriver();
  Device device = 0;
  if (Result r = driver.CtxGetDevice(&device)) return Describe("cuCtxGetDevice", r);
  int sm = 0;
  if (Problem problem = DeviceSm(device, &sm)) return problem;
  const Images::Entry* entry = images.ForDevice(sm);
  if (entry == nullptr) {
    return "the device has compute capability " + std::to_string(sm / 10) + "." +
           std::to_string(sm % 10) + " and the program holds code for " + images.Names() +
           " only; lower it again with pyptx.target(...) naming a target of that device";
  }
  Module module = nullptr;
  if (Result r = entry->cubin->Load(context, &module)) return LoadProblem(images, r);
  if (Result r = driver.ModuleGetFunction(function, module, kernel.c_str())) {
    return Describe("cuModuleGetFunction", r);
  }
  if (Problem problem = AllowSharedMemory(device, *function)) return problem;
  return AllowCluster(cluster, *function);
}

}  // namespace

int CubinTarget::Fit(int device_sm) const {
  bool same_major = device_sm / 10 == sm / 10;
  if (suffix == 'a') return device_sm == sm ? 1000 : 0;
  if (!same_major || sm > device_sm) return 0;
  return (suffix == 'f' ? 500 : 100) + sm % 10;
}

std::optional<CubinTarget> ParseTarget(std::string_view name) {
  if (name.substr(0, 3) != "sm_") return {};
  CubinTarget target;
  const char* end = name.data() + name.size();
  auto [rest, error] = std::from_chars(name.data() + 3, end, target.sm);
  if (error != std::errc() || target.sm <= 0 || end - rest > 1) return {};
  if (rest != end) target.suffix = *rest;
  bool known = target.suffix == 0 || target.suffix == 'a' || target.suffix == 'f';
  if (!known) return {};
  return target;
}

std::shared_ptr<Cubin> Cubin::Intern(std::string_view bytes) {
  static std::mutex mutex;
  static std::unordered_multimap<size_t, std::shared_ptr<Cubin>> cubins;
  size_t hash = std::hash<std::string_view>()(bytes);
  std::lock_guard<std::mutex> lock(mutex);
  auto [begin, end] = cubins.equal_range(hash);
  auto same = std::find_if(begin, end, [&](auto& item) { return item.second->bytes() == bytes; });
  if (same != end) return same->second;
  return cubins.emplace(hash, std::make_shared<Cubin>(bytes))->second;
}

Result Cubin::Load(Context context, Module* module) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = modules_.find(context);
  if (found != modules_.end()) {
    *module = found->second;
    return kSuccess;
  }
  if (Result r = GetDriver().ModuleLoadData(module, bytes_.data())) return r;
  modules_.emplace(context, *module);
  g_module_loads.fetch_add(1, std::memory_order_relaxed);
  return kSuccess;
}

const Images::Entry* Images::ForDevice(int device_sm) const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries) {
    int fit = entry.target.Fit(device_sm);
    if (fit > 0 && (best == nullptr || fit > best->target.Fit(device_sm))) best = &entry;
  }
  return best;
}

std::string Images::Names() const {
  std::string names;
  for (const Entry& entry : entries) names += (names.empty() ? "" : " ") + entry.name;
  return names;
}

KernelFunctions::~KernelFunctions() {
  for (Node* node = head_.load(); node != nullptr;) {
    Node* next = node->next;
    delete node;
    node = next;
  }
}

std::optional<std::string> KernelFunctions::Resolve(const Images& images, const std::string& kernel,
                                                    const std::array<uint32_t, 3>& cluster,
                                                    int ordinal, Function* function) {
  const Driver& driver = GetDriver();
  if (!driver.problem.empty()) return driver.problem;
  Context current = nullptr;
  if (Result r = driver.CtxGetCurrent(&current)) return Describe("cuCtxGetCurrent", r);
  Context context = current;
  if (context == nullptr) {
    if (Problem problem = PrimaryContext(ordinal, &context)) return problem;
  }
  auto find = [&] {
    Node* node = head_.load(std::memory_order_acquire);
    while (node != nullptr && node->context != context) node = node->next;
    return node;
  };
  Node* node = find();
  if (node == nullptr) {
    std::lock_guard<std::mutex> lock(mutex_);
    node = find();
    if (node == nullptr) {
      ScopedContext scope(current, context);
      if (scope.result() != kSuccess) return Describe("cuCtxPushCurrent", scope.result());
      Problem problem = LoadFunction(images, kernel, cluster, context, function);
      if (problem) return problem;
      node = new Node{context, *function, head_.load(std::memory_order_relaxed)};
      head_.store(node, std::memory_order_release);
    }
  }
  *function = node->function;
  return {};
}

DeviceScope::DeviceScope(int ordinal) {
  const Driver& driver = GetDriver();
  if (!driver.problem.empty()) {
    problem_ = driver.problem;
    return;
  }
  Context wanted = nullptr, current = nullptr;
  if ((problem_ = PrimaryContext(ordinal, &wanted))) return;
  Result r = driver.CtxGetCurrent(&current);
  if (r != kSuccess) {
    problem_ = Describe("cuCtxGetCurrent", r);
    return;
  }
  if (current == wanted) return;
  if ((r = driver.CtxPushCurrent(wanted)) != kSuccess) problem_ = Describe("cuCtxPushCurrent", r);
  pushed_ = r == kSuccess;
}

DeviceScope::~DeviceScope() {
  Context popped = nullptr;
  if (pushed_) GetDriver().CtxPopCurrent(&popped);
}

bool PrimaryContextIsCurrent(int ordinal) {
  Context primary = nullptr, current = nullptr;
  return GetDriver().problem.empty() && !PrimaryContext(ordinal, &primary) &&
         GetDriver().CtxGetCurrent(&current) == kSuccess && current == primary;
}

int64_t ModuleLoads() { return g_module_loads.load(std::memory_order_relaxed); }

}  // namespace pyptx::cuda
