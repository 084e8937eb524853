// What the handlers of both platforms share: attributes in, buffers in, errors out.
#ifndef PYPTX_FFI_CALL_H_
#define PYPTX_FFI_CALL_H_

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "buffers.h"
#include "plan.h"
#include "xla/ffi/api/ffi.h"

#define PYPTX_FFI_EXPORT extern "C" __attribute__((visibility("default")))

namespace pyptx {

xla::ffi::Error KernelError(xla::ffi::ErrorCode code, const std::string& kernel, const std::string& problem);
xla::ffi::Error InvalidCall(const std::string& kernel, const std::string& problem);

// The attribute `plan`, parsed.
xla::ffi::ErrorOr<Plan> PlanAttribute(const xla::ffi::Dictionary& attributes);

// The attribute `name`, an array of bytes borrowed from the call frame.
xla::ffi::ErrorOr<std::string_view> BytesAttribute(const xla::ffi::Dictionary& attributes,
                                                   std::string_view name);

// Collects the buffers and checks their shapes against the plan.
xla::ffi::Error CollectBuffers(const Plan& plan, xla::ffi::RemainingArgs arguments,
                               xla::ffi::RemainingRets results, CallBuffers* buffers);

// Registers State's type with the XLA that owns `api`, once. The runtime asks a handler for its
// metadata before anything else, so handlers call this first; registering from Python instead
// depends on the order in which the runtime flushes its queues.
template <typename State>
XLA_FFI_Error* EnsureStateType(const XLA_FFI_Api* api, const char* name) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (State::id.type_id != 0) return nullptr;
  return xla::ffi::Ffi::RegisterTypeId(api, name, &State::id, &State::info);
}

// Runs a handler. No exception may leave it: XLA, which calls it through C, would end the process.
template <typename Handler>
XLA_FFI_Error* Guarded(XLA_FFI_CallFrame* frame, Handler handler) {
  std::string problem;
  try {
    return handler(frame);
  } catch (const std::exception& e) {
    problem = std::string("pyptx: the call failed: ") + e.what();
  }
  XLA_FFI_Error_Create_Args error{};
  error.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  error.message = problem.c_str();
  error.errc = XLA_FFI_Error_Code_INTERNAL;
  return frame->api->XLA_FFI_Error_Create(&error);
}

}  // namespace pyptx

#endif  // PYPTX_FFI_CALL_H_
