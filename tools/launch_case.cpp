// Launches a kernel as a file of tools/export_mutants.py says, and prints a digest of what it left:
//
//     launch_case LAUNCH CUBIN TIMES SECONDS fill|leave [RESULTS]
//     launch_case hold
//
// It has a context of its own and nothing else, so that it starts quickly and is easy to check for a tool. Every launch
// starts with the same bytes. Buffers without any are filled with a pattern, or left as they are allocated for tools
// that look at what is not initialised. RESULTS gets the results of the first launch. One line is printed for each
// launch: its digest, `hang` for one that takes longer than SECONDS, or `error` with what the driver says. `hold` keeps
// the device awake until its standard input ends.
//
// The driver is opened as pyptx opens it; src/pyptx/_native/src/launch/driver.cc is compiled with this file.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "launch/driver.h"
#include "tensor_map.h"

namespace {

using pyptx::TensorMap;
using namespace pyptx::cuda;

constexpr int kMisuse = 2, kFailed = 3, kHung = 4;
constexpr unsigned kAtMost = 120;  // seconds that the whole process takes, whatever hangs
constexpr unsigned char kPattern = 0xA5;
constexpr uint32_t kPortableCluster = 8;

// ---- The driver's functions that pyptx itself does not need ----

Result (*Init)(unsigned);
Result (*MemAlloc)(uint64_t*, size_t);
Result (*MemFree)(uint64_t);
Result (*MemcpyHtoD)(uint64_t, const void*, size_t);
Result (*MemcpyDtoH)(void*, uint64_t, size_t);
Result (*MemsetD8)(uint64_t, unsigned char, size_t);
Result (*CtxSynchronize)();
Result (*ModuleUnload)(Module);
Result (*PrimaryCtxRelease)(Device);

[[noreturn]] void Misuse(const std::string& problem) {
  std::cerr << "launch_case: " << problem << std::endl;
  std::exit(kMisuse);
}

void Check(const char* call, Result result) {
  if (result == kSuccess) return;
  std::cout << "error " << Describe(call, result) << std::endl;
  std::exit(kFailed);
}

void OpenDriver() {
  if (!GetDriver().problem.empty()) Misuse(GetDriver().problem);
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  auto bind = [&](auto* function, const char* name) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr) Misuse(std::string("the driver lacks ") + name);
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(symbol);
  };
  bind(&Init, "cuInit");
  bind(&MemAlloc, "cuMemAlloc_v2");
  bind(&MemFree, "cuMemFree_v2");
  bind(&MemcpyHtoD, "cuMemcpyHtoD_v2");
  bind(&MemcpyDtoH, "cuMemcpyDtoH_v2");
  bind(&MemsetD8, "cuMemsetD8_v2");
  bind(&CtxSynchronize, "cuCtxSynchronize");
  bind(&ModuleUnload, "cuModuleUnload");
  bind(&PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
}

Context OpenContext(Device* device) {
  Context context = nullptr;
  Check("cuInit", Init(0));
  Check("cuDeviceGet", GetDriver().DeviceGet(device, 0));
  Check("cuDevicePrimaryCtxRetain", GetDriver().DevicePrimaryCtxRetain(&context, *device));
  Check("cuCtxPushCurrent", GetDriver().CtxPushCurrent(context));
  return context;
}

// ---- A launch as its file says it ----

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Misuse("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Bytes(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

struct Buffer {
  size_t bytes = 0;
  bool initialised = false;
  std::string contents;
  uint64_t address = 0;
};

struct Argument {
  enum class Kind { kAddress, kValue, kMap } kind = Kind::kAddress;
  size_t buffer = 0;
  size_t offset = 0;
  std::string value;  // of a map: as the emulator reads it
  uint64_t address = 0;
  EncodedMap map{};

  void* Pointer() {
    if (kind == Kind::kAddress) return &address;
    return kind == Kind::kMap ? static_cast<void*>(&map) : value.data();
  }
};

struct Case {
  std::string entry;
  LaunchConfig config{};
  LaunchAttribute cluster{};
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  std::vector<size_t> results;
};

void ReadBuffer(std::istream& line, const std::string& folder, Case* read) {
  Buffer buffer;
  std::string file;
  line >> buffer.bytes >> file;
  buffer.initialised = file != "-";
  if (buffer.initialised) buffer.contents = ReadFile(folder + file);
  if (buffer.initialised && buffer.contents.size() != buffer.bytes) Misuse(file + " has another size");
  read->buffers.push_back(buffer);
}

void ReadArgument(std::istream& line, Case* read) {
  std::string kind, hex;
  line >> kind;
  Argument argument;
  if (kind != "value") line >> argument.buffer >> argument.offset;
  if (kind != "address") line >> hex;
  argument.kind = kind == "value" ? Argument::Kind::kValue
                  : kind == "map" ? Argument::Kind::kMap : Argument::Kind::kAddress;
  argument.value = Bytes(hex);
  if (kind == "map" && argument.value.size() != pyptx::kMapBytes) Misuse("a tensor map has another size");
  if (kind != "value" && argument.buffer >= read->buffers.size()) Misuse("an argument is of no buffer");
  read->arguments.push_back(argument);
}

Case ReadCase(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  Case read;
  std::istringstream lines(ReadFile(path));
  for (std::string text; std::getline(lines, text);) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    auto three = [&](uint32_t* to) { line >> to[0] >> to[1] >> to[2]; };
    if (word == "entry") line >> read.entry;
    else if (word == "grid") three(read.config.grid);
    else if (word == "block") three(read.config.block);
    else if (word == "cluster") three(&read.cluster.value.cluster.x);
    else if (word == "shared") line >> read.config.shared_bytes;
    else if (word == "buffer") ReadBuffer(line, folder, &read);
    else if (word == "argument") ReadArgument(line, &read);
    else if (word == "result") line >> read.results.emplace_back();
    else Misuse("an unknown word: " + word);
    if (!line) Misuse("an incomplete line: " + text);
  }
  return read;
}

// ---- Running it ----

void EncodeMap(Argument& argument) {
  TensorMap map;
  std::memcpy(static_cast<void*>(&map), argument.value.data(), sizeof map);
  uint32_t box[pyptx::kMaxMapRank], strides[pyptx::kMaxMapRank];
  for (int axis = 0; axis < map.rank; ++axis) {
    box[axis] = map.box[axis];
    strides[axis] = map.element_strides[axis];
  }
  if (map.im2col()) Misuse("maps of .im2col are not encoded here");
  Check("cuTensorMapEncodeTiled",
        GetDriver().TensorMapEncodeTiled(&argument.map, map.type, map.rank, reinterpret_cast<void*>(argument.address),
                                         map.sizes, map.strides, box, strides, map.interleave, map.driver_swizzle(),
                                         map.l2_promotion, map.oob_fill));
}

void Allocate(Case& launched) {
  for (Buffer& buffer : launched.buffers) Check("cuMemAlloc", MemAlloc(&buffer.address, buffer.bytes));
  for (Argument& argument : launched.arguments) {
    if (argument.kind == Argument::Kind::kValue) continue;
    argument.address = launched.buffers[argument.buffer].address + argument.offset;
    if (argument.kind == Argument::Kind::kMap) EncodeMap(argument);
  }
}

void Fill(const Case& launched, bool pattern) {
  for (const Buffer& buffer : launched.buffers) {
    if (buffer.initialised) {
      Check("cuMemcpyHtoD", MemcpyHtoD(buffer.address, buffer.contents.data(), buffer.bytes));
    } else if (pattern) {
      Check("cuMemsetD8", MemsetD8(buffer.address, kPattern, buffer.bytes));
    }
  }
}

Function Load(Case& launched, const std::string& cubin, Module* module) {
  const Driver& driver = GetDriver();
  Function function = nullptr;
  Check("cuModuleLoadData", driver.ModuleLoadData(module, cubin.data()));
  Check("cuModuleGetFunction", driver.ModuleGetFunction(&function, *module, launched.entry.c_str()));
  if (launched.config.shared_bytes > 0) {
    const int shared = int(launched.config.shared_bytes);
    Check("cuFuncSetAttribute", driver.FuncSetAttribute(function, kFunctionMaxDynamicSharedSizeBytes, shared));
  }
  const auto& cluster = launched.cluster.value.cluster;
  const uint32_t ctas = cluster.x * cluster.y * cluster.z;
  if (ctas > kPortableCluster) {
    Check("cuFuncSetAttribute", driver.FuncSetAttribute(function, kFunctionNonPortableClusterSizeAllowed, 1));
  }
  if (ctas > 1) {
    launched.cluster.id = kLaunchAttributeClusterDimension;
    launched.config.attributes = &launched.cluster;
    launched.config.attribute_count = 1;
  }
  return function;
}

std::atomic<int> g_steps{0};  // odd while a launch runs

// Ends the process where a launch does not end: nothing else can.
void Watch(double seconds) {
  std::thread([seconds] {
    using Clock = std::chrono::steady_clock;
    auto since = Clock::now();
    for (int seen = 0; std::chrono::duration<double>(Clock::now() - since).count() < seconds;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const int steps = g_steps;
      if (steps != seen || steps % 2 == 0) since = Clock::now();
      seen = steps;
    }
    std::cout << "hang" << std::endl;
    _exit(kHung);
  }).detach();
}

void Run(Case& launched, Function function) {
  std::vector<void*> parameters;
  for (Argument& argument : launched.arguments) parameters.push_back(argument.Pointer());
  ++g_steps;
  Check("cuLaunchKernelEx", GetDriver().LaunchKernelEx(&launched.config, function, parameters.data(), nullptr));
  Check("cuCtxSynchronize", CtxSynchronize());
  ++g_steps;
}

std::string Results(const Case& launched) {
  std::string all;
  for (const size_t index : launched.results) {
    const Buffer& buffer = launched.buffers.at(index);
    std::string bytes(buffer.bytes, '\0');
    Check("cuMemcpyDtoH", MemcpyDtoH(bytes.data(), buffer.address, buffer.bytes));
    all += bytes;
  }
  return all;
}

// FNV-1a.
uint64_t Digest(const std::string& bytes) {
  uint64_t digest = 0xcbf29ce484222325;
  for (const unsigned char byte : bytes) digest = (digest ^ byte) * 0x100000001b3;
  return digest;
}

int Launch(char** arguments, int count) {
  Case launched = ReadCase(arguments[0]);
  const std::string cubin = ReadFile(arguments[1]);
  const int times = std::atoi(arguments[2]);
  const bool fill = std::strcmp(arguments[4], "fill") == 0;
  Device device = 0;
  Module module = nullptr;
  OpenContext(&device);
  Allocate(launched);
  const Function function = Load(launched, cubin, &module);
  Watch(std::atof(arguments[3]));
  for (int time = 0; time < times; ++time) {
    Fill(launched, fill);
    Run(launched, function);
    const std::string results = Results(launched);
    std::printf("%016llx\n", static_cast<unsigned long long>(Digest(results)));
    std::fflush(stdout);
    if (time == 0 && count > 5) std::ofstream(arguments[5], std::ios::binary) << results;
  }
  for (const Buffer& buffer : launched.buffers) Check("cuMemFree", MemFree(buffer.address));
  Check("cuModuleUnload", ModuleUnload(module));
  Check("cuDevicePrimaryCtxRelease", PrimaryCtxRelease(device));
  return 0;
}

int Hold() {
  Device device = 0;
  OpenContext(&device);
  std::cout << "held" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const bool hold = count == 2 && std::strcmp(arguments[1], "hold") == 0;
  if (!hold && count < 6) Misuse("LAUNCH CUBIN TIMES SECONDS fill|leave [RESULTS], or hold");
  if (!hold) alarm(kAtMost);
  OpenDriver();
  return hold ? Hold() : Launch(arguments + 1, count - 1);
}
