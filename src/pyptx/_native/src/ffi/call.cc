#include "call.h"

#include <cstdint>
#include <optional>

namespace pyptx {
namespace {

namespace ffi = xla::ffi;

BufferView View(const ffi::AnyBuffer& buffer) {
  auto dims = buffer.dimensions();
  return {buffer.untyped_data(), dims.begin(), int(dims.size()), buffer.size_bytes()};
}

}  // namespace

ffi::Error KernelError(ffi::ErrorCode code, const std::string& kernel, const std::string& problem) {
  return ffi::Error(code, "pyptx: kernel " + kernel + ": " + problem);
}

ffi::Error InvalidCall(const std::string& kernel, const std::string& problem) {
  return KernelError(ffi::ErrorCode::kInvalidArgument, kernel, problem);
}

ffi::ErrorOr<Plan> PlanAttribute(const ffi::Dictionary& attributes) {
  auto text = attributes.get<std::string_view>("plan");
  if (!text.has_value()) {
    return ffi::Unexpected(ffi::Error::InvalidArgument("pyptx: the call has no attribute 'plan'"));
  }
  Plan plan;
  if (std::optional<std::string> problem = ParsePlan(*text, &plan)) {
    return ffi::Unexpected(InvalidCall(plan.Kernels(), *problem));
  }
  return plan;
}

ffi::ErrorOr<std::string_view> BytesAttribute(const ffi::Dictionary& attributes, std::string_view name) {
  auto bytes = attributes.get<ffi::Span<const uint8_t>>(name);
  if (!bytes.has_value()) {
    return ffi::Unexpected(ffi::Error::InvalidArgument("pyptx: the call has no bytes attribute '" +
                                                       std::string(name) + "'"));
  }
  return std::string_view(reinterpret_cast<const char*>(bytes->begin()), bytes->size());
}

ffi::Error CollectBuffers(const Plan& plan, ffi::RemainingArgs arguments, ffi::RemainingRets results,
                          CallBuffers* buffers) {
  if (arguments.size() > kMaxBuffers || results.size() > kMaxBuffers) {
    return InvalidCall(plan.Kernels(), "it has more than " + std::to_string(kMaxBuffers) +
                                        " inputs or outputs");
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto argument = arguments.get<ffi::AnyBuffer>(i);
    if (!argument.has_value()) return argument.error();
    buffers->inputs[i] = View(*argument);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    auto result = results.get<ffi::AnyBuffer>(i);
    if (!result.has_value()) return result.error();
    buffers->outputs[i] = View(**result);
  }
  buffers->all.input_count = int(arguments.size());
  buffers->all.output_count = int(results.size());
  if (auto problem = CheckShapes(plan, buffers->all)) return InvalidCall(plan.Kernels(), *problem);
  return ffi::Error::Success();
}

}  // namespace pyptx
