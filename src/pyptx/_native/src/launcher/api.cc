// The C interface of the launcher: include/pyptx_launcher.h.

#include "pyptx_launcher.h"

#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "buffers.h"
#include "call.h"
#include "modules.h"

#define PYPTX_LAUNCHER_EXPORT extern "C" __attribute__((visibility("default")))

namespace pyptx::cuda {
namespace {

thread_local std::string t_problem;

std::optional<std::string> AddCubins(const PyptxCubin* cubins, uint64_t count, int assembler, PyptxCall* call) {
  for (size_t i = 0; i < call->plan.steps.size(); ++i) {
    call->code.push_back(std::make_unique<StepCode>());
    call->code.back()->images.assembler_major = assembler;
  }
  for (uint64_t i = 0; i < count; ++i) {
    const PyptxCubin& cubin = cubins[i];
    if (cubin.step >= call->code.size()) return "the call has code for a step that its plan lacks";
    std::string_view bytes(static_cast<const char*>(cubin.code), cubin.bytes);
    if (auto problem = Image(cubin.target, bytes, &call->code[cubin.step]->images)) return problem;
  }
  for (const auto& code : call->code) {
    if (code->images.entries.empty()) return "the call has no code for it";
  }
  return {};
}

std::unique_ptr<PyptxCall> Create(const char* plan, const PyptxCubin* cubins, uint64_t count, int assembler,
                                  const int64_t* itemsizes) {
  auto call = std::make_unique<PyptxCall>();
  std::optional<std::string> problem = ParsePlan(plan, &call->plan);
  if (!problem) problem = AddCubins(cubins, count, assembler, call.get());
  const size_t inputs = call->plan.inputs.size(), outputs = call->plan.outputs.size();
  if (!problem && (inputs > kMaxBuffers || outputs > kMaxBuffers)) {
    problem = "it has more than " + std::to_string(kMaxBuffers) + " inputs or outputs";
  }
  if (problem) {
    Failed(Cause::kInvalid, call->plan.Kernels(), *problem);
    return nullptr;
  }
  for (const auto* shapes : {&call->plan.inputs, &call->plan.outputs}) {
    for (const Shape& shape : *shapes) call->axes += shape.size();
  }
  for (size_t i = 0; i < outputs; ++i) call->itemsizes.push_back(size_t(itemsizes[i]));
  return call;
}

// The words of a call as buffers, whose ranks are those of its plan.
class Words {
 public:
  Words(const PyptxCall& call, const void* words) : next_(static_cast<const char*>(words)), dims_(call.axes) {
    const size_t buffers = call.plan.inputs.size() + call.plan.outputs.size();
    if (call.axes > 0) std::memcpy(dims_.data(), next_ + 8 * buffers, 8 * call.axes);
    axis_ = dims_.data();
  }

  BufferView Next(const Shape& shape, size_t itemsize) {
    uint64_t address = 0;
    std::memcpy(&address, next_, sizeof address);
    next_ += sizeof address;
    BufferView view{reinterpret_cast<void*>(static_cast<uintptr_t>(address)), axis_, int(shape.size()), itemsize};
    for (int i = 0; i < view.rank; ++i) view.bytes *= size_t(*axis_++);
    return view;
  }

 private:
  const char* next_;
  std::vector<int64_t> dims_;
  const int64_t* axis_ = nullptr;
};

int32_t LaunchAll(PyptxCall* call, int32_t device, Stream stream, const void* values) {
  CallBuffers buffers;
  Words words(*call, values);
  const Plan& plan = call->plan;
  buffers.all.input_count = int(plan.inputs.size());
  buffers.all.output_count = int(plan.outputs.size());
  for (size_t i = 0; i < plan.inputs.size(); ++i) buffers.inputs[i] = words.Next(plan.inputs[i], 1);
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    buffers.outputs[i] = words.Next(plan.outputs[i], call->itemsizes[i]);
  }
  if (auto problem = CheckShapes(plan, buffers.all)) return Failed(Cause::kInvalid, plan.Kernels(), *problem);
  DeviceScope scope(device);
  if (scope.problem()) return Failed(Cause::kPrecondition, plan.Kernels(), *scope.problem());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    Outcome failure = ExecuteStep(plan.steps[i], *call->code[i], buffers, stream, device);
    if (failure) return Failed(failure->cause, failure->kernel, failure->problem);
  }
  return PYPTX_LAUNCHED;
}

}  // namespace

int32_t Failed(Cause cause, const std::string& kernel, const std::string& problem) {
  t_problem = "kernel " + kernel + ": " + problem;
  return static_cast<int32_t>(cause);
}

}  // namespace pyptx::cuda

PYPTX_LAUNCHER_EXPORT uint32_t pyptx_launcher_abi(void) { return PYPTX_LAUNCHER_ABI; }

PYPTX_LAUNCHER_EXPORT PyptxCall* pyptx_call_create(const char* plan, const PyptxCubin* cubins, uint64_t count,
                                                   int32_t assembler, const int64_t* itemsizes) {
  try {
    return pyptx::cuda::Create(plan, cubins, count, assembler, itemsizes).release();
  } catch (const std::exception& e) {
    pyptx::cuda::t_problem = std::string("the call cannot be made: ") + e.what();
    return nullptr;
  }
}

PYPTX_LAUNCHER_EXPORT void pyptx_call_destroy(PyptxCall* call) { delete call; }

PYPTX_LAUNCHER_EXPORT int32_t pyptx_call_launch(PyptxCall* call, int32_t device, void* stream, const void* values) {
  try {
    return pyptx::cuda::LaunchAll(call, device, static_cast<pyptx::cuda::Stream>(stream), values);
  } catch (const std::exception& e) {
    pyptx::cuda::t_problem = std::string("the call failed: ") + e.what();
    return PYPTX_FAILED;
  }
}

PYPTX_LAUNCHER_EXPORT const char* pyptx_launcher_problem(void) { return pyptx::cuda::t_problem.c_str(); }

PYPTX_LAUNCHER_EXPORT void pyptx_launcher_counters(int64_t counters[2]) {
  counters[0] = pyptx::cuda::ModuleLoads();
  counters[1] = pyptx::cuda::Launched();
}
