// The FFI target pyptx_cpu: instantiate makes the emulator's program, execute runs it on XLA's buffers.
// No Python and no callback take part, so it runs from any thread of the runtime.
//
// Attributes: `plan` (see plan.h), `images` (a dictionary from the number of a step to the emulator's
// program image), and `several_devices` where the program runs on more than one.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call.h"
#include "interrupt.h"
#include "pyptx_emulator.h"
#include "sanitizing.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace pyptx::cpu {
namespace {

namespace ffi = xla::ffi;

// The emulator core lives in a library of its own, which Python loads and hands over.
std::atomic<const PyptxEmulatorApi*> g_emulator{nullptr};

struct ProgramDeleter {
  void operator()(PyptxProgram* program) const { g_emulator.load()->program_destroy(program); }
};
struct ResultDeleter {
  void operator()(PyptxResult* result) const { g_emulator.load()->result_destroy(result); }
};

// One call site of one executable; the programs are constant, so concurrent executions share it.
struct CpuState {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  Plan plan;
  std::vector<std::unique_ptr<PyptxProgram, ProgramDeleter>> programs;  // one per step
  bool several_devices = false;
};
ffi::TypeId CpuState::id = {};
ffi::TypeInfo CpuState::info = ffi::MakeTypeInfo<CpuState>();

// JAX makes a state on one thread and uses it on others. It is not built with the thread sanitizer, which is told here.
void HandOver([[maybe_unused]] CpuState* state) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(state);
#endif
}

void TakeOver([[maybe_unused]] CpuState* state) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(state);
#endif
}

ffi::ErrorOr<std::unique_ptr<CpuState>> Instantiate(ffi::Dictionary attributes) {
  auto plan = PlanAttribute(attributes);
  if (!plan.has_value()) return ffi::Unexpected(plan.error());
  auto images = attributes.get<ffi::Dictionary>("images");
  if (!images.has_value()) {
    return ffi::Unexpected(InvalidCall(plan->Kernels(), "the call has no attribute 'images'"));
  }
  const PyptxEmulatorApi* emulator = g_emulator.load();
  if (emulator == nullptr) {
    return ffi::Unexpected(InvalidCall(plan->Kernels(), "the emulator's library is not loaded"));
  }
  auto state = std::make_unique<CpuState>();
  for (size_t i = 0; i < plan->steps.size(); ++i) {
    auto image = BytesAttribute(*images, std::to_string(i));
    if (!image.has_value()) return ffi::Unexpected(image.error());
    const char* problem = "";
    state->programs.emplace_back(emulator->program_create(image->data(), image->size(), &problem));
    if (state->programs[i] == nullptr) {
      return ffi::Unexpected(InvalidCall(plan->steps[i].kernel, problem));
    }
  }
  state->plan = std::move(*plan);
  state->several_devices = attributes.contains("several_devices");
  HandOver(state.get());
  return state;
}

// Appends `bytes` bytes at the next multiple of `align`, their size by default, as PTX lays parameters out.
void Append(std::string* block, const void* data, size_t bytes, size_t align = 0) {
  if (align == 0) align = bytes;
  if (align > 0) block->resize((block->size() + align - 1) / align * align);
  block->append(static_cast<const char*>(data), bytes);
}

std::string ParameterBlock(const Step& step, const CallBuffers& buffers, const Launch& launch) {
  std::string block;
  auto map = launch.maps.begin();
  for (size_t i = 0; i < step.parameters.size(); ++i) {
    const Parameter& parameter = step.parameters[i];
    switch (parameter.kind) {
      case Parameter::Kind::kTensorMap:
        Append(&block, &*map++, kMapBytes, kMapAlign);
        break;
      case Parameter::Kind::kInputValue: {
        const BufferView& input = buffers.inputs[parameter.index];
        Append(&block, input.data, input.bytes);
        break;
      }
      case Parameter::Kind::kInteger:
        Append(&block, &launch.integers[i], size_t(parameter.bits) / 8);
        break;
      case Parameter::Kind::kBytes:
        Append(&block, parameter.bytes.data(), parameter.bytes.size(), size_t(parameter.align));
        break;
      default: {
        const void* address = buffers.Of(parameter).data;
        Append(&block, &address, sizeof address);
        break;
      }
    }
  }
  return block;
}

PyptxBuffer Describe(const BufferView& view, uint32_t flags) {
  PyptxBuffer buffer{};
  uint64_t elements = 1;
  for (int axis = 0; axis < view.rank; ++axis) elements *= uint64_t(view.dims[axis]);
  buffer.data = view.data;
  buffer.bytes = view.bytes;
  buffer.shape = view.dims;
  buffer.rank = uint32_t(view.rank);
  buffer.itemsize = elements > 0 ? uint32_t(view.bytes / elements) : 0;
  buffer.flags = flags;
  return buffer;
}

bool IsAliased(const CallBuffers& buffers, const void* data) {
  for (int i = 0; i < buffers.all.input_count; ++i) {
    if (buffers.inputs[i].data == data) return true;
  }
  return false;
}

bool IsWritten(const CallBuffers& buffers, const void* data) {
  for (int i = 0; i < buffers.all.output_count; ++i) {
    if (buffers.outputs[i].data == data) return true;
  }
  return false;
}

// An input that shares its memory with an output may be written, and then the output has values. So
// has a result that an earlier step wrote; `written` says which.
uint32_t BufferFlags(const CallBuffers& buffers, const Parameter& parameter, const std::vector<bool>& written) {
  const void* data = buffers.Of(parameter).data;
  switch (parameter.kind) {
    case Parameter::Kind::kOutputAddress:
      return written[size_t(parameter.index)] || IsAliased(buffers, data) ? 0 : PYPTX_BUFFER_UNINITIALISED;
    case Parameter::Kind::kEarlierResult: return PYPTX_BUFFER_READ_ONLY;
    default: return IsWritten(buffers, data) ? 0 : PYPTX_BUFFER_READ_ONLY;
  }
}

// Whether the kernel must write every element of a tensor: of an output that has no values yet.
uint32_t CompleteFlag(const Step& step, const Parameter& parameter, uint32_t flags) {
  const bool output = parameter.kind == Parameter::Kind::kOutputAddress && (flags & PYPTX_BUFFER_UNINITIALISED) != 0;
  const bool complete = std::find(step.complete.begin(), step.complete.end(), parameter.index) != step.complete.end();
  return output && complete ? PYPTX_BUFFER_COMPLETE : 0;
}

// Whether a step may store to a tensor's memory, or may load from it.
uint32_t Touches(const Step& step, const CallBuffers& buffers, const void* data) {
  uint32_t touched = 0;
  for (const Parameter& parameter : step.parameters) {
    const bool map = parameter.kind == Parameter::Kind::kTensorMap;
    if (!parameter.IsAddress() && !map) continue;
    const BufferView& tensor = !map ? buffers.Of(parameter)
                               : parameter.map->output ? buffers.outputs[parameter.index] : buffers.inputs[parameter.index];
    if (tensor.data != data) continue;
    const bool stores = parameter.kind == Parameter::Kind::kOutputAddress || (map && parameter.map->output);
    touched |= stores ? PYPTX_BUFFER_STORED_BEFORE : PYPTX_BUFFER_LOADED_BEFORE;
  }
  return touched;
}

// The tensors of a step, in the order of the kernel's parameters. `before` is the step whose end the kernel does not
// wait for to start, if there is one.
std::vector<PyptxBuffer> EmulatorBuffers(const Step& step, const CallBuffers& buffers,
                                         const std::vector<bool>& written, const Step* before) {
  std::vector<PyptxBuffer> described;
  for (const Parameter& parameter : step.parameters) {
    if (!parameter.IsAddress()) continue;
    const uint32_t flags = BufferFlags(buffers, parameter, written);
    const uint32_t touched = before == nullptr ? 0 : Touches(*before, buffers, buffers.Of(parameter).data);
    described.push_back(Describe(buffers.Of(parameter), flags | CompleteFlag(step, parameter, flags) | touched));
  }
  return described;
}

// A count from the environment, so that a compiled program can be examined without making it again.
uint64_t Setting(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

PyptxLaunch EmulatorLaunch(const Step& step, const Launch& launch, bool sanitizing) {
  PyptxLaunch description{};
  bool clustered = step.cluster != std::array<uint32_t, 3>{1, 1, 1};
  description.size = sizeof description;
  for (size_t i = 0; i < 3; ++i) {
    description.grid[i] = uint32_t(launch.grid[i]);
    description.block[i] = step.block[i];
    description.cluster[i] = clustered ? step.cluster[i] : 0;
  }
  description.dynamic_shared = uint32_t(launch.shared);
  description.cooperative = step.cooperative;
  description.threads = uint32_t(Setting("PYPTX_EMULATOR_THREADS"));
  description.max_launch_instructions = Setting("PYPTX_EMULATOR_INSTRUCTIONS");
  description.max_seconds = double(Setting("PYPTX_EMULATOR_SECONDS"));
  description.sanitize = sanitizing || Setting("PYPTX_EMULATOR_SANITIZE") ? PYPTX_SANITIZE_ALL : 0;
  return description;
}

// Keeps what `pyptx.sanitize()` asked for. Returns whether the launch ran to its end, so that the program goes on.
bool Kept(const PyptxResult* result) {
  const PyptxEmulatorApi* emulator = g_emulator.load();
  const int32_t status = emulator->result_status(result);
  const bool found = status == PYPTX_FINDINGS || status == PYPTX_STOPPED;
  if (status == PYPTX_OK) {
    KeepLaunch(status, "", "");
  } else if (found) {
    KeepLaunch(status, emulator->result_message(result), emulator->result_json(result));
  }
  return status == PYPTX_FINDINGS;
}

ffi::Error Outcome(const std::string& kernel, const PyptxResult* result, bool sanitizing) {
  if (result == nullptr) {
    return KernelError(ffi::ErrorCode::kResourceExhausted, kernel, "no memory left for the emulator");
  }
  const PyptxEmulatorApi* emulator = g_emulator.load();
  uint64_t bytes = 0;
  const char* printed = emulator->result_printed(result, &bytes);
  if (bytes > 0) {
    std::fwrite(printed, 1, bytes, stdout);
    std::fflush(stdout);
  }
  int32_t status = emulator->result_status(result);
  if ((sanitizing && Kept(result)) || status == PYPTX_OK) return ffi::Error::Success();
  if (status == PYPTX_CANCELLED) {
    return KernelError(ffi::ErrorCode::kCancelled, kernel, "the emulation was interrupted by SIGINT");
  }
  auto code = status == PYPTX_INVALID ? ffi::ErrorCode::kInvalidArgument : ffi::ErrorCode::kInternal;
  return ffi::Error(code, emulator->result_message(result));
}

void WriteZeros(const Step& step, const CallBuffers& buffers) {
  for (int index : step.zeros) {
    const BufferView& output = buffers.outputs[index];
    if (output.bytes > 0) std::memset(output.data, 0, output.bytes);
  }
}

void WriteInitialValues(const Step& step, const CallBuffers& buffers, std::vector<bool>* written) {
  for (const Fill& fill : step.fills) {
    const BufferView& output = buffers.outputs[fill.output];
    char* at = static_cast<char*>(output.data);
    for (size_t i = 0; i + fill.value.size() <= output.bytes; i += fill.value.size()) {
      std::memcpy(at + i, fill.value.data(), fill.value.size());
    }
    (*written)[size_t(fill.output)] = true;
  }
}

void MarkWritten(const Step& step, std::vector<bool>* written) {
  for (const Parameter& parameter : step.parameters) {
    if (parameter.kind == Parameter::Kind::kOutputAddress) (*written)[size_t(parameter.index)] = true;
  }
}

// `before` is the last step that launched something, if any did, and is then this one.
ffi::Error ExecuteStep(const Step& step, const PyptxProgram* program, const CallBuffers& buffers,
                       std::vector<bool>* written, int32_t interrupts, const Step** before) {
  Launch launch;
  if (auto problem = EvaluateLaunch(step, buffers.all, &launch)) return InvalidCall(step.kernel, *problem);
  if (launch.skipped) return ffi::Error::Success();
  WriteInitialValues(step, buffers, written);
  if (launch.empty()) {
    WriteZeros(step, buffers);
    return ffi::Error::Success();
  }
  std::string parameters = ParameterBlock(step, buffers, launch);
  std::vector<PyptxBuffer> described = EmulatorBuffers(step, buffers, *written, step.programmatic_stream_serialization ? *before : nullptr);
  *before = &step;
  MarkWritten(step, written);
  const bool sanitizing = Sanitizing();
  PyptxLaunch description = EmulatorLaunch(step, launch, sanitizing);
  description.params = parameters.data();
  description.param_bytes = parameters.size();
  description.buffers = described.data();
  description.buffer_count = described.size();
  description.cancel = InterruptCount();
  description.cancel_from = interrupts;
  std::unique_ptr<PyptxResult, ResultDeleter> result(g_emulator.load()->launch(program, &description));
  return Outcome(step.kernel, result.get(), sanitizing);
}

ffi::Error Execute(CpuState* state, ffi::RunId run, ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  TakeOver(state);
  const int32_t interrupts = WatchInterrupts(run.run_id);
  CallBuffers buffers;
  ffi::Error error = CollectBuffers(state->plan, arguments, results, &buffers);
  std::vector<bool> written(size_t(buffers.all.output_count), false);
  const Step* before = nullptr;
  for (size_t i = 0; error.success() && i < state->plan.steps.size(); ++i) {
    error = ExecuteStep(state->plan.steps[i], state->programs[i].get(), buffers, &written, interrupts, &before);
  }
  // Devices that add up results with this one wait for it first, and XLA ends a process that waits
  // for too long, so the error that it would raise is said here.
  if (error.failure() && state->several_devices) std::fprintf(stderr, "%s\n", error.message().c_str());
  return error;
}

}  // namespace
}  // namespace pyptx::cpu

using pyptx::cpu::CpuState;

// Hands over the emulator's function table, which must outlive this library. Returns 0 when the
// table is of another version.
PYPTX_FFI_EXPORT int32_t pyptx_cpu_set_emulator(const PyptxEmulatorApi* api) {
  if (api == nullptr || api->abi != PYPTX_EMULATOR_ABI || api->size != sizeof(PyptxEmulatorApi)) return 0;
  pyptx::cpu::g_emulator.store(api);
  return 1;
}

PYPTX_FFI_EXPORT XLA_FFI_Error* pyptx_cpu_instantiate(XLA_FFI_CallFrame* frame) {
  XLA_FFI_Error* error = pyptx::EnsureStateType<CpuState>(frame->api, "pyptx.CpuState");
  if (error != nullptr) return error;
  XLA_FFI_DEFINE_HANDLER(handler, pyptx::cpu::Instantiate, xla::ffi::Ffi::BindInstantiate().Attrs());
  return pyptx::Guarded(frame, *handler);
}

PYPTX_FFI_EXPORT XLA_FFI_Error* pyptx_cpu_execute(XLA_FFI_CallFrame* frame) {
  XLA_FFI_DEFINE_HANDLER(handler, pyptx::cpu::Execute,
                         xla::ffi::Ffi::BindExecute()
                             .Ctx<xla::ffi::State<CpuState>>()
                             .Ctx<xla::ffi::RunId>()
                             .RemainingArgs()
                             .RemainingRets());
  return pyptx::Guarded(frame, *handler);
}
