#include <utility>

#include "call.h"

namespace pyptx::cuda {
namespace {

bool HasMaps(const Step& step) {
  for (const Parameter& parameter : step.parameters) {
    if (parameter.kind == Parameter::Kind::kTensorMap) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<BoundCall> BoundCall::Make(PyptxCall* call, std::vector<int64_t> dims) {
  if (dims.size() != call->axes) return nullptr;
  std::unique_ptr<BoundCall> bound(new BoundCall(call));
  bound->dims_ = std::move(dims);
  const int64_t* axis = bound->dims_.data();
  const Plan& plan = call->plan;
  auto add = [&](const Shape& shape, size_t itemsize) {
    BufferView view{nullptr, axis, int(shape.size()), itemsize};
    for (int i = 0; i < view.rank; ++i) view.bytes *= size_t(*axis++);
    bound->views_.push_back(view);
  };
  for (const Shape& shape : plan.inputs) add(shape, 1);
  for (size_t i = 0; i < plan.outputs.size(); ++i) add(plan.outputs[i], call->itemsizes[i]);
  CallBuffers buffers;
  bound->Fill(std::vector<uint64_t>(bound->buffers()).data(), &buffers);
  if (CheckShapes(plan, buffers.all)) return nullptr;
  for (const Step& step : plan.steps) {
    bound->launches_.emplace_back();
    if (!HasMaps(step) && EvaluateLaunch(step, buffers.all, &bound->launches_.back())) return nullptr;
  }
  return bound;
}

void BoundCall::Fill(const uint64_t* addresses, CallBuffers* buffers) const {
  const size_t inputs = call_->plan.inputs.size(), outputs = call_->plan.outputs.size();
  buffers->all.input_count = int(inputs);
  buffers->all.output_count = int(outputs);
  for (size_t i = 0; i < inputs + outputs; ++i) {
    BufferView& view = i < inputs ? buffers->inputs[i] : buffers->outputs[i - inputs];
    view = views_[i];
    view.data = reinterpret_cast<void*>(static_cast<uintptr_t>(addresses[i]));
  }
}

int32_t BoundCall::Launch(int32_t device, Stream stream, const uint64_t* addresses) const {
  CallBuffers buffers;
  Fill(addresses, &buffers);
  const std::vector<Step>& steps = call_->plan.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    Outcome failure = HasMaps(steps[i])
                          ? ExecuteStep(steps[i], *call_->code[i], buffers, stream, device)
                          : ExecuteLaunch(steps[i], launches_[i], *call_->code[i], buffers, stream, device);
    if (failure) return Failed(failure->cause, failure->kernel, failure->problem);
  }
  return 0;
}

}  // namespace pyptx::cuda
