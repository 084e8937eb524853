// A libcuda.so.1 that launches nothing and remembers everything, for tests of the CUDA handlers on
// machines without a GPU. Contexts are numbered by device; functions hold their module and name.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Context { int device; };
struct Module { int context; std::string image; };
struct Function { Module* module; std::string name; };
struct Attribute { int id; int padding; uint32_t value[16]; };
struct Config { uint32_t grid[3], block[3], shared; void* stream; Attribute* attributes; uint32_t count; };

std::mutex g_mutex;
std::map<std::string, int> g_settings;   // what the test prescribes
std::map<std::string, int> g_calls;      // how often each function was called
std::string g_log;                       // one line per launch
Context g_contexts[8];
thread_local std::vector<Context*> t_stack;

int Setting(const std::string& name, int fallback) {
  auto found = g_settings.find(name);
  return found == g_settings.end() ? fallback : found->second;
}

// Counts the call and returns the error prescribed for it.
int Called(const char* name) {
  std::lock_guard<std::mutex> lock(g_mutex);
  ++g_calls[name];
  return Setting(std::string("fail ") + name, 0);
}

std::string Triple(const uint32_t* v) {
  return std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]);
}

}  // namespace

extern "C" {

void mock_set(const char* name, int value) { g_settings[name] = value; }
int mock_calls(const char* name) { return g_calls[name]; }
const char* mock_log() { return g_log.c_str(); }
void mock_enter(int device) { g_contexts[device].device = device; t_stack.push_back(&g_contexts[device]); }
void mock_leave() { t_stack.pop_back(); }
int mock_depth() { return int(t_stack.size()); }

int cuGetErrorName(int r, const char** text) {
  static const std::map<int, const char*> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"}, {200, "CUDA_ERROR_INVALID_IMAGE"},
      {500, "CUDA_ERROR_NOT_FOUND"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}, {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"}};
  auto found = names.find(r);
  *text = found == names.end() ? nullptr : found->second;
  return found == names.end();
}
int cuGetErrorString(int r, const char** text) {
  *text = r == 1 ? "invalid argument" : nullptr;
  return *text == nullptr;
}
int cuDriverGetVersion(int* version) { *version = Setting("driver", 13000); return Called("cuDriverGetVersion"); }
int cuCtxGetCurrent(Context** context) {
  *context = t_stack.empty() ? nullptr : t_stack.back();
  return Called("cuCtxGetCurrent");
}
int cuCtxGetDevice(int* device) {
  if (t_stack.empty()) return 201;
  *device = t_stack.back()->device;
  return Called("cuCtxGetDevice");
}
int cuCtxPushCurrent_v2(Context* context) { t_stack.push_back(context); return Called("cuCtxPushCurrent"); }
int cuCtxPopCurrent_v2(Context** context) {
  *context = t_stack.back();
  t_stack.pop_back();
  return Called("cuCtxPopCurrent");
}
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return Called("cuDeviceGet"); }
int cuDevicePrimaryCtxRetain(Context** context, int device) {
  g_contexts[device].device = device;
  *context = &g_contexts[device];
  return Called("cuDevicePrimaryCtxRetain");
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  int sm = Setting("sm " + std::to_string(device), 90);
  *value = attribute == 75 ? sm / 10 : attribute == 76 ? sm % 10 : attribute == 16 ? 132 : 232448;
  return Called("cuDeviceGetAttribute");
}
int cuModuleLoadData(Module** module, const void* image) {
  *module = new Module{t_stack.back()->device, std::string(static_cast<const char*>(image), 8)};
  return Called("cuModuleLoadData");
}
int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  *function = new Function{module, name};
  return Called("cuModuleGetFunction");
}
int cuFuncSetAttribute(Function*, int attribute, int value) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_log += "attribute " + std::to_string(attribute) + "=" + std::to_string(value) + "\n";
  return 0;
}
int cuFuncGetAttribute(int* value, int attribute, Function*) {
  *value = attribute == 4 ? 168 : 1024;
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, Function*, int threads, size_t shared) {
  *count = shared > 100000 ? 1 : 1024 / threads;
  return Called("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}
int cuOccupancyMaxActiveClusters(int* count, Function*, const Config* config) {
  *count = config->count == 2 ? 30 : 0;
  return Called("cuOccupancyMaxActiveClusters");
}
int cuLaunchKernelEx(const Config* config, Function* function, void** parameters, void**) {
  int result = Called("cuLaunchKernelEx");
  if (result != 0) return result;
  std::lock_guard<std::mutex> lock(g_mutex);
  g_log += function->name + " image=" + function->module->image.substr(4) +
           " context=" + std::to_string(function->module->context) + " grid=" + Triple(config->grid) +
           " block=" + Triple(config->block) + " shared=" + std::to_string(config->shared) +
           " stream=" + std::to_string(reinterpret_cast<uintptr_t>(config->stream));
  for (uint32_t i = 0; i < config->count; ++i) {
    g_log += " attribute" + std::to_string(config->attributes[i].id) + "=" + Triple(config->attributes[i].value);
  }
  for (int i = 0; i < Setting("parameters", 0); ++i) {
    int64_t value;
    std::memcpy(&value, parameters[i], sizeof value);
    g_log += " " + std::to_string(value);
  }
  g_log += "\n";
  return 0;
}

// Logs what it is told, and makes a map whose words are all the number of the call.
int cuTensorMapEncodeTiled(uint64_t* map, int type, uint32_t rank, void* address, const uint64_t* sizes,
                           const uint64_t* strides, const uint32_t* box, const uint32_t* steps, int interleave,
                           int swizzle, int promotion, int fill) {
  int result = Called("cuTensorMapEncodeTiled");
  if (result != 0) return result;
  std::lock_guard<std::mutex> lock(g_mutex);
  auto list = [](const auto* values, uint32_t count) {
    std::string text;
    for (uint32_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + std::to_string(values[i]);
    return text;
  };
  g_log += "map aligned=" + std::to_string(reinterpret_cast<uintptr_t>(map) % 128 == 0) + " type=" + std::to_string(type) +
           " address=" + std::to_string(reinterpret_cast<uintptr_t>(address)) + " sizes=" + list(sizes, rank) +
           " strides=" + list(strides, rank - 1) + " box=" + list(box, rank) + " steps=" + list(steps, rank) +
           " modes=" + std::to_string(interleave) + "," + std::to_string(swizzle) + "," + std::to_string(promotion) + "," +
           std::to_string(fill) + "\n";
  for (int i = 0; i < 16; ++i) map[i] = uint64_t(g_calls["cuTensorMapEncodeTiled"]);
  return 0;
}

// The same for a map of im2col.
int cuTensorMapEncodeIm2col(uint64_t* map, int type, uint32_t rank, void* address, const uint64_t* sizes,
                            const uint64_t* strides, const int* lower, const int* upper, uint32_t channels,
                            uint32_t pixels, const uint32_t* steps, int interleave, int swizzle, int promotion,
                            int fill) {
  int result = Called("cuTensorMapEncodeIm2col");
  if (result != 0) return result;
  std::lock_guard<std::mutex> lock(g_mutex);
  auto list = [](const auto* values, uint32_t count) {
    std::string text;
    for (uint32_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + std::to_string(values[i]);
    return text;
  };
  g_log += "im2col type=" + std::to_string(type) + " address=" + std::to_string(reinterpret_cast<uintptr_t>(address)) +
           " sizes=" + list(sizes, rank) + " strides=" + list(strides, rank - 1) + " lower=" + list(lower, rank - 2) +
           " upper=" + list(upper, rank - 2) + " channels=" + std::to_string(channels) + " pixels=" +
           std::to_string(pixels) + " steps=" + list(steps, rank) + " modes=" + std::to_string(interleave) + "," +
           std::to_string(swizzle) + "," + std::to_string(promotion) + "," + std::to_string(fill) + "\n";
  for (int i = 0; i < 16; ++i) map[i] = uint64_t(g_calls["cuTensorMapEncodeIm2col"]);
  return 0;
}

// Rows of integers that are `pitch` bytes apart, of two bytes in a row of two and of four in others.
static int Fill(const char* call, unsigned long long address, size_t pitch, unsigned value, size_t columns, size_t rows,
                void* stream) {
  int result = Called(call);
  if (result != 0) return result;
  std::lock_guard<std::mutex> lock(g_mutex);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      std::memcpy(reinterpret_cast<char*>(address) + row * pitch + column * 4, &value, pitch == 2 ? 2 : 4);
    }
  }
  g_log += std::string(call) + " value=" + std::to_string(value) + " rows=" + std::to_string(rows) +
           " stream=" + std::to_string(reinterpret_cast<uintptr_t>(stream)) + "\n";
  return 0;
}

int cuMemsetD8Async(unsigned long long address, unsigned char value, size_t bytes, void* stream) {
  int result = Called("cuMemsetD8Async");
  if (result != 0) return result;
  std::lock_guard<std::mutex> lock(g_mutex);
  std::memset(reinterpret_cast<void*>(address), value, bytes);
  g_log += "memset value=" + std::to_string(value) + " bytes=" + std::to_string(bytes) +
           " stream=" + std::to_string(reinterpret_cast<uintptr_t>(stream)) + "\n";
  return 0;
}

int cuMemsetD16Async(unsigned long long address, unsigned short value, size_t count, void* stream) {
  return Fill("cuMemsetD16Async", address, 2, value, 1, count, stream);
}

int cuMemsetD32Async(unsigned long long address, unsigned value, size_t count, void* stream) {
  return Fill("cuMemsetD32Async", address, 4, value, 1, count, stream);
}

int cuMemsetD2D32Async(unsigned long long address, size_t pitch, unsigned value, size_t columns, size_t rows,
                       void* stream) {
  return Fill("cuMemsetD2D32Async", address, pitch, value, columns, rows, stream);
}

}  // extern "C"
