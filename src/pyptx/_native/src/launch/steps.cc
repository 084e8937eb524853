#include "steps.h"

#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace pyptx::cuda {
namespace {

std::atomic<int64_t> g_launched{0};

Outcome ResolveFunction(const Step& step, StepCode& code, int32_t ordinal, Function* function) {
  auto problem = code.functions.Resolve(code.images, step.kernel, step.cluster, ordinal, function);
  if (problem) return Failure{Cause::kPrecondition, step.kernel, *problem};
  return {};
}

// A map of .im2col; its corners are those of W, H and D, as its axes are counted.
Result EncodeIm2col(const Driver& driver, const TensorMap& map, const uint32_t* element_strides, EncodedMap* encoded) {
  int lower[kMaxSpatial], upper[kMaxSpatial];
  for (int axis = 0; axis < map.spatial(); ++axis) {
    lower[axis] = map.lower[axis];
    upper[axis] = map.upper[axis];
  }
  return driver.TensorMapEncodeIm2col(encoded, map.type, map.rank, reinterpret_cast<void*>(map.address), map.sizes,
                                      map.strides, lower, upper, map.box[0], map.box[1], element_strides,
                                      map.interleave, map.driver_swizzle(), map.l2_promotion, map.oob_fill);
}

std::optional<std::string> EncodeMap(const TensorMap& map, EncodedMap* encoded) {
  const Driver& driver = GetDriver();
  const char* call = map.im2col() ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled";
  if (map.im2col() ? driver.TensorMapEncodeIm2col == nullptr : driver.TensorMapEncodeTiled == nullptr) {
    return std::string("the NVIDIA driver is too old: it lacks ") + call + "; a driver for CUDA 12 or newer has it";
  }
  uint32_t box[kMaxMapRank], element_strides[kMaxMapRank];
  for (int axis = 0; axis < map.rank; ++axis) {
    box[axis] = map.box[axis];
    element_strides[axis] = map.element_strides[axis];
  }
  const Result r =
      map.im2col() ? EncodeIm2col(driver, map, element_strides, encoded)
                   : driver.TensorMapEncodeTiled(encoded, map.type, map.rank, reinterpret_cast<void*>(map.address),
                                                 map.sizes, map.strides, box, element_strides, map.interleave,
                                                 map.driver_swizzle(), map.l2_promotion, map.oob_fill);
  if (r != kSuccess) return Describe(call, r);
  return {};
}

// The driver's form of a launch's tensor maps, in the order of the parameters.
Outcome EncodeMaps(const Step& step, const Launch& launch, std::vector<EncodedMap>* encoded) {
  encoded->resize(launch.maps.size());
  size_t next = 0;
  for (const Parameter& parameter : step.parameters) {
    if (parameter.kind != Parameter::Kind::kTensorMap) continue;
    auto problem = EncodeMap(launch.maps[next], &(*encoded)[next]);
    if (problem) {
      return Failure{Cause::kInvalid, step.kernel, "the tensor map of " + parameter.map->name + ": " + *problem};
    }
    ++next;
  }
  return {};
}

// One pointer per kernel parameter, to the value that the driver copies into the launch.
std::vector<void*> ParameterPointers(const Step& step, CallBuffers& buffers, const Launch& launch,
                                     std::vector<EncodedMap>& maps) {
  std::vector<void*> pointers(step.parameters.size());
  size_t map = 0;
  for (size_t i = 0; i < pointers.size(); ++i) {
    const Parameter& parameter = step.parameters[i];
    if (parameter.kind == Parameter::Kind::kTensorMap) pointers[i] = &maps[map++];
    else if (parameter.kind == Parameter::Kind::kBytes) pointers[i] = const_cast<char*>(parameter.bytes.data());
    else if (parameter.kind == Parameter::Kind::kInputValue) pointers[i] = buffers.Of(parameter).data;
    else if (parameter.IsAddress()) pointers[i] = &buffers.Of(parameter).data;
    else pointers[i] = const_cast<int64_t*>(&launch.integers[i]);  // which the driver only reads
  }
  return pointers;
}

constexpr size_t kMaxLaunchAttributes = 3;

// The launch attributes of a step, into `attributes`; returns how many.
uint32_t LaunchAttributes(const Step& step, LaunchAttribute attributes[kMaxLaunchAttributes]) {
  uint32_t count = 0;
  auto add = [&](int32_t id) -> LaunchAttribute& {
    std::memset(&attributes[count], 0, sizeof attributes[count]);
    attributes[count].id = id;
    return attributes[count++];
  };
  if (step.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    add(kLaunchAttributeClusterDimension).value.cluster = {step.cluster[0], step.cluster[1],
                                                           step.cluster[2]};
  }
  if (step.cooperative) add(kLaunchAttributeCooperative).value.cooperative = 1;
  if (step.programmatic_stream_serialization) {
    add(kLaunchAttributeProgrammaticStreamSerialization)
        .value.programmatic_stream_serialization_allowed = 1;
  }
  return count;
}

// How many CTAs of a launch the device holds at once; no number where the driver does not say.
std::optional<int> MaxResident(const Step& step, const LaunchConfig& config, Function function) {
  const Driver& driver = GetDriver();
  const auto [x, y, z] = step.cluster;
  int count = 0;
  if (x * y * z > 1) {
    if (driver.OccupancyMaxActiveClusters(&count, function, &config) != kSuccess) return {};
    return count * int(x * y * z);
  }
  Device device = 0;
  int multiprocessors = 0;
  int threads = int(config.block[0] * config.block[1] * config.block[2]);
  bool known =
      driver.CtxGetDevice(&device) == kSuccess &&
      driver.DeviceGetAttribute(&multiprocessors, kDeviceMultiprocessorCount, device) == kSuccess &&
      driver.OccupancyMaxActiveBlocksPerMultiprocessor(&count, function, threads, config.shared_bytes) == kSuccess;
  if (!known) return {};
  return count * multiprocessors;
}

// What a cooperative launch asked for that the device cannot hold, and what the kernel uses.
std::string DescribeResidency(const Step& step, const LaunchConfig& config, Function function) {
  const Driver& driver = GetDriver();
  int registers = 0;
  int shared = 0;
  driver.FuncGetAttribute(&registers, kFunctionRegisters, function);
  driver.FuncGetAttribute(&shared, kFunctionSharedSizeBytes, function);
  const uint64_t ctas = uint64_t(config.grid[0]) * config.grid[1] * config.grid[2];
  std::optional<int> most = MaxResident(step, config, function);
  return "the cooperative grid has " + std::to_string(ctas) + " CTAs, and the device holds " +
         (most ? std::to_string(*most) : "fewer") + " at once, each of " +
         std::to_string(config.block[0] * config.block[1] * config.block[2]) + " threads with " +
         std::to_string(registers) + " registers and " + std::to_string(uint64_t(shared) + config.shared_bytes) +
         " bytes of shared memory";
}

Outcome LaunchKernel(const Step& step, const Launch& launch, void** parameters, Function function, Stream stream) {
  LaunchConfig config{};
  for (size_t i = 0; i < 3; ++i) {
    config.grid[i] = uint32_t(launch.grid[i]);
    config.block[i] = step.block[i];
  }
  config.shared_bytes = uint32_t(launch.shared);
  config.stream = stream;
  LaunchAttribute attributes[kMaxLaunchAttributes];
  config.attribute_count = LaunchAttributes(step, attributes);
  config.attributes = config.attribute_count > 0 ? attributes : nullptr;
  if (Result r = GetDriver().LaunchKernelEx(&config, function, parameters, nullptr)) {
    std::string problem = Describe("cuLaunchKernelEx", r);
    if (r == kErrorCooperativeLaunchTooLarge) problem += ": " + DescribeResidency(step, config, function);
    return Failure{Cause::kInternal, step.kernel, problem};
  }
  g_launched.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// The shortest of 1, 2, 4 and 8 bytes that a value repeats.
size_t Period(const std::string& value) {
  size_t period = value.size();
  while (period > 1 && value.compare(0, period / 2, value, period / 2, period / 2) == 0) period /= 2;
  return period;
}

// The little-endian integer of four bytes of a value, or of fewer where it is shorter.
uint32_t Word(const std::string& value, size_t at, size_t bytes) {
  uint32_t word = 0;
  std::memcpy(&word, value.data() + at, bytes);
  return word;
}

// Fills a buffer with a value, on the stream; "" or the call that failed. The driver repeats four bytes at most, so
// eight are two columns of a matrix whose rows they are.
const char* FillBuffer(const BufferView& output, const std::string& value, Stream stream, Result* result) {
  const Driver& driver = GetDriver();
  const uint64_t address = reinterpret_cast<uintptr_t>(output.data);
  const size_t period = Period(value), count = output.bytes / period;
  if (period == 1) {
    *result = driver.MemsetD8Async(address, static_cast<unsigned char>(value[0]), count, stream);
    return "cuMemsetD8Async";
  }
  if (period == 2) {
    *result = driver.MemsetD16Async(address, static_cast<unsigned short>(Word(value, 0, 2)), count, stream);
    return "cuMemsetD16Async";
  }
  if (period == 4) {
    *result = driver.MemsetD32Async(address, Word(value, 0, 4), count, stream);
    return "cuMemsetD32Async";
  }
  *result = driver.MemsetD2D32Async(address, 8, Word(value, 0, 4), 1, count, stream);
  if (*result == kSuccess) *result = driver.MemsetD2D32Async(address + 4, 8, Word(value, 4, 4), 1, count, stream);
  return "cuMemsetD2D32Async";
}

Outcome FillOutput(const Step& step, const BufferView& output, const std::string& value, Stream stream) {
  if (output.bytes == 0) return {};
  const Driver& driver = GetDriver();
  if (!driver.problem.empty()) return Failure{Cause::kPrecondition, step.kernel, driver.problem};
  Result result = kSuccess;
  const char* call = FillBuffer(output, value, stream, &result);
  if (result != kSuccess) return Failure{Cause::kInternal, step.kernel, Describe(call, result)};
  return {};
}

// What outputs hold before the kernel starts.
Outcome WriteInitialValues(const Step& step, const CallBuffers& buffers, Stream stream) {
  for (const Fill& fill : step.fills) {
    Outcome error = FillOutput(step, buffers.outputs[fill.output], fill.value, stream);
    if (error) return error;
  }
  return {};
}

// What an empty grid leaves of the outputs that are sums.
Outcome WriteZeros(const Step& step, const CallBuffers& buffers, Stream stream) {
  for (int index : step.zeros) {
    Outcome error = FillOutput(step, buffers.outputs[index], std::string(1, 0), stream);
    if (error) return error;
  }
  return {};
}

}  // namespace

std::optional<std::string> Image(std::string_view target, std::string_view bytes, Images* images) {
  auto parsed = ParseTarget(target);
  if (!parsed || bytes.substr(0, 4) != "\x7f" "ELF") {
    return "'" + std::string(target) + "' is not a cubin for a target";
  }
  images->entries.push_back({std::string(target), *parsed, Cubin::Intern(bytes)});
  return {};
}

Outcome PrepareStep(const Step& step, StepCode& code, int32_t ordinal) {
  Function function = nullptr;
  return ResolveFunction(step, code, ordinal, &function);
}

Outcome ExecuteStep(const Step& step, StepCode& code, CallBuffers& buffers, Stream stream, int32_t ordinal) {
  Launch launch;
  if (auto problem = EvaluateLaunch(step, buffers.all, &launch)) return Failure{Cause::kInvalid, step.kernel, *problem};
  return ExecuteLaunch(step, launch, code, buffers, stream, ordinal);
}

Outcome ExecuteLaunch(const Step& step, const Launch& launch, StepCode& code, CallBuffers& buffers, Stream stream,
                      int32_t ordinal) {
  if (launch.skipped) return {};
  Outcome error = WriteInitialValues(step, buffers, stream);
  if (error) return error;
  if (launch.empty()) return WriteZeros(step, buffers, stream);
  Function function = nullptr;
  if (error = ResolveFunction(step, code, ordinal, &function); error) return error;
  std::vector<EncodedMap> maps;
  if (error = EncodeMaps(step, launch, &maps); error) return error;
  std::vector<void*> parameters = ParameterPointers(step, buffers, launch, maps);
  return LaunchKernel(step, launch, parameters.data(), function, stream);
}

int64_t Launched() { return g_launched.load(std::memory_order_relaxed); }

}  // namespace pyptx::cuda
