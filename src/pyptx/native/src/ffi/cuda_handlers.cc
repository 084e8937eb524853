// The FFI target pyptx_cuda: instantiate reads the attributes, prepare loads the module into the
// device's context, execute launches on XLA's stream and nothing else.
//
// Attributes: `plan` (see plan.h), `cubins` (a dictionary from target name to bytes) and `assembler`
// (the major version of the ptxas that made them).

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call.h"
#include "driver.h"
#include "modules.h"

namespace pyptx::cuda {
namespace {

namespace ffi = xla::ffi;

std::atomic<int64_t> g_instantiated{0};
std::atomic<int64_t> g_launched{0};

// One call site of one executable; shared by all devices and concurrent executions.
struct CudaState {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  Plan plan;
  Images images;
  KernelFunctions functions;
};
ffi::TypeId CudaState::id = {};
ffi::TypeInfo CudaState::info = ffi::MakeTypeInfo<CudaState>();

ffi::ErrorOr<Images> CubinsAttribute(const std::string& kernel, const ffi::Dictionary& attributes) {
  Images images;
  auto cubins = attributes.get<ffi::Dictionary>("cubins");
  auto assembler = attributes.get<int64_t>("assembler");
  if (!cubins.has_value() || cubins->size() == 0 || !assembler.has_value()) {
    return ffi::Unexpected(InvalidCall(kernel, "the call has no attribute 'cubins' or 'assembler'"));
  }
  images.assembler_major = int(*assembler);
  for (std::string_view name : *cubins) {
    auto bytes = BytesAttribute(*cubins, name);
    if (!bytes.has_value()) return ffi::Unexpected(bytes.error());
    auto target = ParseTarget(name);
    if (!target || bytes->substr(0, 4) != "\x7f" "ELF") {
      return ffi::Unexpected(InvalidCall(kernel, "'" + std::string(name) + "' is not a cubin for a target"));
    }
    images.entries.push_back({std::string(name), *target, Cubin::Intern(*bytes)});
  }
  return images;
}

ffi::Error RejectValues(const Plan& plan) {
  for (const Parameter& parameter : plan.parameters) {
    if (parameter.kind == Parameter::Kind::kInputValue) {
      return InvalidCall(plan.kernel, "a scalar by value would need its value on the host; "
                                      "on a GPU scalars are passed by address");
    }
  }
  return ffi::Error::Success();
}

ffi::ErrorOr<std::unique_ptr<CudaState>> Instantiate(ffi::Dictionary attributes) {
  auto plan = PlanAttribute(attributes);
  if (!plan.has_value()) return ffi::Unexpected(plan.error());
  if (ffi::Error error = RejectValues(*plan); error.failure()) return ffi::Unexpected(error);
  auto images = CubinsAttribute(plan->kernel, attributes);
  if (!images.has_value()) return ffi::Unexpected(images.error());
  auto state = std::make_unique<CudaState>();
  state->plan = std::move(*plan);
  state->images = std::move(*images);
  g_instantiated.fetch_add(1, std::memory_order_relaxed);
  return state;
}

ffi::Error ResolveFunction(CudaState* state, int32_t ordinal, Function* function) {
  auto problem = state->functions.Resolve(state->images, state->plan.kernel, state->plan.cluster,
                                          ordinal, function);
  if (problem) return KernelError(ffi::ErrorCode::kFailedPrecondition, state->plan.kernel, *problem);
  return ffi::Error::Success();
}

ffi::Error Prepare(CudaState* state, int32_t ordinal) {
  Function function = nullptr;
  return ResolveFunction(state, ordinal, &function);
}

// One pointer per kernel parameter, to the value that the driver copies into the launch.
std::vector<void*> ParameterPointers(const Plan& plan, CallBuffers& buffers, Launch& launch) {
  std::vector<void*> pointers(plan.parameters.size());
  for (size_t i = 0; i < pointers.size(); ++i) {
    const Parameter& parameter = plan.parameters[i];
    switch (parameter.kind) {
      case Parameter::Kind::kInputAddress: pointers[i] = &buffers.inputs[parameter.index].data; break;
      case Parameter::Kind::kOutputAddress: pointers[i] = &buffers.outputs[parameter.index].data; break;
      default: pointers[i] = &launch.integers[i]; break;
    }
  }
  return pointers;
}

ffi::Error LaunchKernel(const Plan& plan, const Launch& launch, void** parameters, Function function,
                        Stream stream) {
  LaunchConfig config{};
  for (size_t i = 0; i < 3; ++i) {
    config.grid[i] = uint32_t(launch.grid[i]);
    config.block[i] = plan.block[i];
  }
  config.shared_bytes = uint32_t(launch.shared);
  config.stream = stream;
  LaunchAttribute cluster;
  if (plan.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    std::memset(&cluster, 0, sizeof cluster);
    cluster.id = kLaunchAttributeClusterDimension;
    cluster.value.cluster = {plan.cluster[0], plan.cluster[1], plan.cluster[2]};
    config.attributes = &cluster;
    config.attribute_count = 1;
  }
  if (Result r = GetDriver().LaunchKernelEx(&config, function, parameters, nullptr)) {
    return KernelError(ffi::ErrorCode::kInternal, plan.kernel, Describe("cuLaunchKernelEx", r));
  }
  g_launched.fetch_add(1, std::memory_order_relaxed);
  return ffi::Error::Success();
}

ffi::Error Execute(CudaState* state, Stream stream, int32_t ordinal, ffi::RemainingArgs arguments,
                   ffi::RemainingRets results) {
  CallBuffers buffers;
  ffi::Error error = CollectBuffers(state->plan, arguments, results, &buffers);
  if (error.failure()) return error;
  Launch launch;
  if (auto problem = EvaluateLaunch(state->plan, buffers.all, &launch)) {
    return InvalidCall(state->plan.kernel, *problem);
  }
  if (launch.empty()) return ffi::Error::Success();
  Function function = nullptr;
  error = ResolveFunction(state, ordinal, &function);
  if (error.failure()) return error;
  std::vector<void*> parameters = ParameterPointers(state->plan, buffers, launch);
  return LaunchKernel(state->plan, launch, parameters.data(), function, stream);
}

}  // namespace
}  // namespace pyptx::cuda

using pyptx::cuda::CudaState;

PYPTX_FFI_EXPORT XLA_FFI_Error* pyptx_cuda_instantiate(XLA_FFI_CallFrame* frame) {
  XLA_FFI_Error* error = pyptx::EnsureStateType<CudaState>(frame->api, "pyptx.CudaState");
  if (error != nullptr) return error;
  XLA_FFI_DEFINE_HANDLER(handler, pyptx::cuda::Instantiate, xla::ffi::Ffi::BindInstantiate().Attrs());
  return (*handler)(frame);
}

PYPTX_FFI_EXPORT XLA_FFI_Error* pyptx_cuda_prepare(XLA_FFI_CallFrame* frame) {
  XLA_FFI_DEFINE_HANDLER(handler, pyptx::cuda::Prepare,
                         xla::ffi::Ffi::BindPrepare()
                             .Ctx<xla::ffi::State<CudaState>>()
                             .Ctx<xla::ffi::DeviceOrdinal>());
  return (*handler)(frame);
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
  return (*handler)(frame);
}

// Counts since the process began: call sites instantiated, modules loaded, kernels launched.
PYPTX_FFI_EXPORT void pyptx_cuda_counters(int64_t counters[3]) {
  counters[0] = pyptx::cuda::g_instantiated.load();
  counters[1] = pyptx::cuda::ModuleLoads();
  counters[2] = pyptx::cuda::g_launched.load();
}
