// The FFI target pyptx_cpu: instantiate makes the emulator's program, execute runs it on XLA's buffers.
// No Python and no callback take part, so it runs from any thread of the runtime.
//
// Attributes: `plan` (see plan.h) and `image` (the emulator's program image).

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call.h"
#include "pyptx_emulator.h"

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

// One call site of one executable; the program is constant, so concurrent executions share it.
struct CpuState {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  Plan plan;
  std::unique_ptr<PyptxProgram, ProgramDeleter> program;
};
ffi::TypeId CpuState::id = {};
ffi::TypeInfo CpuState::info = ffi::MakeTypeInfo<CpuState>();

ffi::ErrorOr<std::unique_ptr<CpuState>> Instantiate(ffi::Dictionary attributes) {
  auto plan = PlanAttribute(attributes);
  if (!plan.has_value()) return ffi::Unexpected(plan.error());
  auto image = BytesAttribute(attributes, "image");
  if (!image.has_value()) return ffi::Unexpected(image.error());
  const PyptxEmulatorApi* emulator = g_emulator.load();
  if (emulator == nullptr) {
    return ffi::Unexpected(InvalidCall(plan->kernel, "the emulator's library is not loaded"));
  }
  const char* problem = "";
  auto state = std::make_unique<CpuState>();
  state->program.reset(emulator->program_create(image->data(), image->size(), &problem));
  if (state->program == nullptr) return ffi::Unexpected(InvalidCall(plan->kernel, problem));
  state->plan = std::move(*plan);
  return state;
}

// Appends `bytes` bytes at the next multiple of their size, as PTX lays parameters out.
void Append(std::string* block, const void* data, size_t bytes) {
  if (bytes > 0) block->resize((block->size() + bytes - 1) / bytes * bytes);
  block->append(static_cast<const char*>(data), bytes);
}

std::string ParameterBlock(const Plan& plan, const CallBuffers& buffers, const Launch& launch) {
  std::string block;
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const Parameter& parameter = plan.parameters[i];
    const BufferView& input = buffers.inputs[parameter.index];
    const BufferView& output = buffers.outputs[parameter.index];
    switch (parameter.kind) {
      case Parameter::Kind::kInputAddress: Append(&block, &input.data, sizeof input.data); break;
      case Parameter::Kind::kOutputAddress: Append(&block, &output.data, sizeof output.data); break;
      case Parameter::Kind::kInputValue: Append(&block, input.data, input.bytes); break;
      case Parameter::Kind::kInteger:
        Append(&block, &launch.integers[i], sizeof launch.integers[i]);
        break;
    }
  }
  return block;
}

bool IsWritten(const CallBuffers& buffers, const void* data) {
  for (int i = 0; i < buffers.all.output_count; ++i) {
    if (buffers.outputs[i].data == data) return true;
  }
  return false;
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

// Inputs, then outputs. An input that shares its memory with an output may be written.
std::vector<PyptxBuffer> EmulatorBuffers(const CallBuffers& buffers) {
  std::vector<PyptxBuffer> described;
  for (int i = 0; i < buffers.all.input_count; ++i) {
    const BufferView& view = buffers.inputs[i];
    described.push_back(Describe(view, IsWritten(buffers, view.data) ? 0 : PYPTX_BUFFER_READ_ONLY));
  }
  for (int i = 0; i < buffers.all.output_count; ++i) {
    const BufferView& view = buffers.outputs[i];
    bool aliased = false;
    for (int j = 0; j < buffers.all.input_count; ++j) aliased |= buffers.inputs[j].data == view.data;
    described.push_back(Describe(view, aliased ? 0 : PYPTX_BUFFER_UNINITIALISED));
  }
  return described;
}

// A count from the environment, so that a compiled program can be examined without making it again.
uint32_t Setting(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : uint32_t(std::strtoul(text, nullptr, 10));
}

PyptxLaunch EmulatorLaunch(const Plan& plan, const Launch& launch) {
  PyptxLaunch description{};
  bool clustered = plan.cluster != std::array<uint32_t, 3>{1, 1, 1};
  description.size = sizeof description;
  for (size_t i = 0; i < 3; ++i) {
    description.grid[i] = uint32_t(launch.grid[i]);
    description.block[i] = plan.block[i];
    description.cluster[i] = clustered ? plan.cluster[i] : 0;
  }
  description.dynamic_shared = uint32_t(launch.shared);
  description.threads = Setting("PYPTX_EMULATOR_THREADS");
  description.sanitize = Setting("PYPTX_EMULATOR_SANITIZE") ? PYPTX_SANITIZE_ALL : 0;
  return description;
}

ffi::Error Outcome(const std::string& kernel, const PyptxResult* result) {
  if (result == nullptr) {
    return KernelError(ffi::ErrorCode::kResourceExhausted, kernel, "no memory left for the emulator");
  }
  const PyptxEmulatorApi* emulator = g_emulator.load();
  int32_t status = emulator->result_status(result);
  if (status == PYPTX_OK) return ffi::Error::Success();
  auto code = status == PYPTX_INVALID ? ffi::ErrorCode::kInvalidArgument : ffi::ErrorCode::kInternal;
  return ffi::Error(code, emulator->result_message(result));
}

ffi::Error Execute(CpuState* state, ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  CallBuffers buffers;
  ffi::Error error = CollectBuffers(state->plan, arguments, results, &buffers);
  if (error.failure()) return error;
  Launch launch;
  if (auto problem = EvaluateLaunch(state->plan, buffers.all, &launch)) {
    return InvalidCall(state->plan.kernel, *problem);
  }
  if (launch.empty()) return ffi::Error::Success();
  std::string parameters = ParameterBlock(state->plan, buffers, launch);
  std::vector<PyptxBuffer> described = EmulatorBuffers(buffers);
  PyptxLaunch description = EmulatorLaunch(state->plan, launch);
  description.params = parameters.data();
  description.param_bytes = parameters.size();
  description.buffers = described.data();
  description.buffer_count = described.size();
  std::unique_ptr<PyptxResult, ResultDeleter> result(
      g_emulator.load()->launch(state->program.get(), &description));
  return Outcome(state->plan.kernel, result.get());
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
  return (*handler)(frame);
}

PYPTX_FFI_EXPORT XLA_FFI_Error* pyptx_cpu_execute(XLA_FFI_CallFrame* frame) {
  XLA_FFI_DEFINE_HANDLER(handler, pyptx::cpu::Execute,
                         xla::ffi::Ffi::BindExecute()
                             .Ctx<xla::ffi::State<CpuState>>()
                             .RemainingArgs()
                             .RemainingRets());
  return (*handler)(frame);
}
