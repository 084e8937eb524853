// The FFI target pyptx_cuda: instantiate reads the attributes, prepare loads the module into the
// device's context, execute launches the steps on XLA's stream in order and nothing else.
//
// Attributes: `plan` (see plan.h), `cubins` (a dictionary from the number of a step to a dictionary from
// target name to bytes) and `assembler` (the major version of the ptxas that made them).

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "call.h"
#include "steps.h"

namespace pyptx::cuda {
namespace {

namespace ffi = xla::ffi;

std::atomic<int64_t> g_instantiated{0};

ffi::Error ErrorOf(const Failure& failure) {
  const auto code = failure.cause == Cause::kInvalid        ? ffi::ErrorCode::kInvalidArgument
                    : failure.cause == Cause::kPrecondition ? ffi::ErrorCode::kFailedPrecondition
                                                            : ffi::ErrorCode::kInternal;
  return KernelError(code, failure.kernel, failure.problem);
}

// One call site of one executable; shared by all devices and concurrent executions.
struct CudaState {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  Plan plan;
  std::vector<std::unique_ptr<StepCode>> code;  // one per step
};
ffi::TypeId CudaState::id = {};
ffi::TypeInfo CudaState::info = ffi::MakeTypeInfo<CudaState>();

ffi::ErrorOr<Images> StepImages(const std::string& kernel, const ffi::Dictionary& cubins, size_t step,
                                int assembler) {
  Images images;
  images.assembler_major = assembler;
  auto entries = cubins.get<ffi::Dictionary>(std::to_string(step));
  if (!entries.has_value() || entries->size() == 0) {
    return ffi::Unexpected(InvalidCall(kernel, "the call has no code for it"));
  }
  for (std::string_view name : *entries) {
    auto bytes = BytesAttribute(*entries, name);
    if (!bytes.has_value()) return ffi::Unexpected(bytes.error());
    if (auto problem = Image(name, *bytes, &images)) return ffi::Unexpected(InvalidCall(kernel, *problem));
  }
  return images;
}

ffi::Error RejectValues(const Step& step) {
  for (const Parameter& parameter : step.parameters) {
    if (parameter.kind == Parameter::Kind::kInputValue) {
      return InvalidCall(step.kernel, "a scalar by value would need its value on the host; "
                                      "on a GPU scalars are passed by address");
    }
  }
  return ffi::Error::Success();
}

ffi::ErrorOr<std::unique_ptr<CudaState>> Instantiate(ffi::Dictionary attributes) {
  auto plan = PlanAttribute(attributes);
  if (!plan.has_value()) return ffi::Unexpected(plan.error());
  auto cubins = attributes.get<ffi::Dictionary>("cubins");
  auto assembler = attributes.get<int64_t>("assembler");
  if (!cubins.has_value() || !assembler.has_value()) {
    return ffi::Unexpected(
        InvalidCall(plan->Kernels(), "the call has no attribute 'cubins' or 'assembler'"));
  }
  auto state = std::make_unique<CudaState>();
  for (size_t i = 0; i < plan->steps.size(); ++i) {
    const Step& step = plan->steps[i];
    if (ffi::Error error = RejectValues(step); error.failure()) return ffi::Unexpected(error);
    auto images = StepImages(step.kernel, *cubins, i, int(*assembler));
    if (!images.has_value()) return ffi::Unexpected(images.error());
    state->code.push_back(std::make_unique<StepCode>());
    state->code.back()->images = std::move(*images);
  }
  state->plan = std::move(*plan);
  g_instantiated.fetch_add(1, std::memory_order_relaxed);
  return state;
}

ffi::Error Prepare(CudaState* state, int32_t ordinal) {
  for (size_t i = 0; i < state->code.size(); ++i) {
    if (Outcome failure = PrepareStep(state->plan.steps[i], *state->code[i], ordinal)) return ErrorOf(*failure);
  }
  return ffi::Error::Success();
}

ffi::Error Execute(CudaState* state, Stream stream, int32_t ordinal, ffi::RemainingArgs arguments,
                   ffi::RemainingRets results) {
  CallBuffers buffers;
  ffi::Error error = CollectBuffers(state->plan, arguments, results, &buffers);
  for (size_t i = 0; error.success() && i < state->code.size(); ++i) {
    Outcome failure = ExecuteStep(state->plan.steps[i], *state->code[i], buffers, stream, ordinal);
    if (failure) return ErrorOf(*failure);
  }
  return error;
}

}  // namespace
}  // namespace pyptx::cuda

using pyptx::cuda::CudaState;

PYPTX_FFI_EXPORT XLA_FFI_Error* pyptx_cuda_instantiate(XLA_FFI_CallFrame* frame) {
  XLA_FFI_Error* error = pyptx::EnsureStateType<CudaState>(frame->api, "pyptx.CudaState");
  if (error != nullptr) return error;
  XLA_FFI_DEFINE_HANDLER(handler, pyptx::cuda::Instantiate, xla::ffi::Ffi::BindInstantiate().Attrs());
  return pyptx::Guarded(frame, *handler);
}

PYPTX_FFI_EXPORT XLA_FFI_Error* pyptx_cuda_prepare(XLA_FFI_CallFrame* frame) {
  XLA_FFI_DEFINE_HANDLER(handler, pyptx::cuda::Prepare,
                         xla::ffi::Ffi::BindPrepare()
                             .Ctx<xla::ffi::State<CudaState>>()
                             .Ctx<xla::ffi::DeviceOrdinal>());
  return pyptx::Guarded(frame, *handler);
}

PYPTX_FFI_EXPORT XLA_FFI_Error* pyptx_cuda_execute(XLA_FFI_CallFrame* frame) {
  XLA_FFI_DEFINE_HANDLER(handler, pyptx::cuda::Execute,
                         xla::ffi::Ffi::BindExecute()
                             .Ctx<xla::ffi::State<CudaState>>()
                             .Ctx<xla::ffi::PlatformStream<pyptx::cuda::Stream>>()
                             .Ctx<xla::ffi::DeviceOrdinal>()
                             .RemainingArgs()
                             .RemainingRets(),
                         {xla::ffi::Traits::kCmdBufferCompatible});
  return pyptx::Guarded(frame, *handler);
}

// Counts since the process began: call sites instantiated, modules loaded, kernels launched.
PYPTX_FFI_EXPORT void pyptx_cuda_counters(int64_t counters[3]) {
  counters[0] = pyptx::cuda::g_instantiated.load();
  counters[1] = pyptx::cuda::ModuleLoads();
  counters[2] = pyptx::cuda::Launched();
}
