// What Python asks the library outside a launch.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "call.h"
#include "plan.h"

namespace pyptx {
namespace {

template <typename Values>
std::string Join(const Values& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

// From the last axis on, as plans write them.
template <typename Values>
std::string AxesText(const Values& values, int count) {
  std::string text;
  for (int axis = count - 1; axis >= 0; --axis) text += std::to_string(values[axis]) + (axis > 0 ? "|" : "");
  return text;
}

std::string MapText(const MapPlan& plan, const TensorMap& map) {
  return "map:" + plan.before + AxesText(map.sizes, map.rank) + ":" + AxesText(map.strides, map.rank - 1) + plan.after;
}

std::string Hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += "0123456789abcdef"[static_cast<uint8_t>(byte) >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string ParametersText(const Step& step, const Launch& launch) {
  std::string text;
  size_t map = 0;
  for (size_t i = 0; i < step.parameters.size(); ++i) {
    const Parameter& parameter = step.parameters[i];
    if (i > 0) text += ",";
    switch (parameter.kind) {
      case Parameter::Kind::kInputAddress: text += "a" + std::to_string(parameter.index); break;
      case Parameter::Kind::kOutputAddress: text += "r" + std::to_string(parameter.index); break;
      case Parameter::Kind::kEarlierResult: text += "e" + std::to_string(parameter.index); break;
      case Parameter::Kind::kInputValue: text += "v" + std::to_string(parameter.index); break;
      case Parameter::Kind::kInteger:
        text += "i" + std::to_string(parameter.bits) + ":" + std::to_string(launch.integers[i]);
        break;
      case Parameter::Kind::kBytes:
        text += "b" + std::to_string(parameter.align) + ":" + Hexadecimal(parameter.bytes);
        break;
      case Parameter::Kind::kTensorMap:
        text += launch.empty() ? "map:" + parameter.map->text : MapText(*parameter.map, launch.maps[map++]);
        break;
    }
  }
  return text;
}

std::string LaunchText(const Step& step, const Launch& launch) {
  if (launch.skipped) return "kernel=" + step.kernel + ";skipped=1";
  std::string text = "kernel=" + step.kernel + ";grid=" + Join(launch.grid) + ";block=" + Join(step.block) +
                     ";cluster=" + Join(step.cluster) + ";shared=" + std::to_string(launch.shared) +
                     ";params=" + ParametersText(step, launch);
  for (size_t i = 0; i < step.zeros.size(); ++i) {
    text += (i == 0 ? ";zeros=r" : ",r") + std::to_string(step.zeros[i]);
  }
  for (size_t i = 0; i < step.complete.size(); ++i) {
    text += (i == 0 ? ";complete=r" : ",r") + std::to_string(step.complete[i]);
  }
  for (size_t i = 0; i < step.fills.size(); ++i) {
    const Fill& fill = step.fills[i];
    text += (i == 0 ? ";init=r" : ",r") + std::to_string(fill.output) + ":" + Hexadecimal(fill.value);
  }
  return text;
}

// The evaluated launches in the notation of plans, a line each, or the problem.
bool EvaluateText(const char* text, const Buffers& buffers, std::string* out) {
  Plan plan;
  auto problem = ParsePlan(text, &plan);
  if (!problem) problem = CheckShapes(plan, buffers);
  for (size_t i = 0; !problem && i < plan.steps.size(); ++i) {
    Launch launch;
    problem = EvaluateLaunch(plan.steps[i], buffers, &launch);
    if (!problem) *out += (i == 0 ? "" : "\n") + LaunchText(plan.steps[i], launch);
  }
  if (problem) *out = *problem;
  return !problem;
}

}  // namespace
}  // namespace pyptx

// The minor version of the FFI API that the handlers were compiled against. A runtime with a lower
// one rejects them and takes its whole backend down, so Python compares before registering.
PYPTX_FFI_EXPORT int32_t pyptx_ffi_api_minor() { return XLA_FFI_API_MINOR; }

// Evaluates a plan for buffers given by `ranks` (inputs, then outputs; none negative) and their dimensions in
// one row. Returns 1 and the launches, or 0 and the problem, as text cut to `capacity` bytes.
PYPTX_FFI_EXPORT int32_t pyptx_plan_evaluate(const char* plan, const int32_t* ranks, int32_t inputs,
                                         int32_t outputs, const int64_t* dims, char* out,
                                         size_t capacity) {
  std::vector<pyptx::BufferView> views;
  for (int32_t i = 0; i < inputs + outputs; ++i) {
    views.push_back({nullptr, dims, ranks[i], 0});
    dims += ranks[i];
  }
  pyptx::Buffers buffers{views.data(), inputs, views.data() + inputs, outputs};
  std::string text;
  bool good = pyptx::EvaluateText(plan, buffers, &text);
  if (capacity > 0) {
    size_t size = std::min(text.size(), capacity - 1);
    std::memcpy(out, text.data(), size);
    out[size] = 0;
  }
  return good ? 1 : 0;
}
