// The buffers of one call, as a runtime hands them over.
#ifndef PYPTX_LAUNCH_BUFFERS_H_
#define PYPTX_LAUNCH_BUFFERS_H_

#include "plan.h"

namespace pyptx {

constexpr int kMaxBuffers = 64;

// The buffers of one call as views; the views borrow from the caller.
struct CallBuffers {
  BufferView inputs[kMaxBuffers];
  BufferView outputs[kMaxBuffers];
  Buffers all{inputs, 0, outputs, 0};

  // The buffer whose address or value a parameter is.
  BufferView& Of(const Parameter& parameter) {
    bool output = parameter.kind == Parameter::Kind::kOutputAddress ||
                  parameter.kind == Parameter::Kind::kEarlierResult;
    return (output ? outputs : inputs)[parameter.index];
  }
  const BufferView& Of(const Parameter& parameter) const {
    return const_cast<CallBuffers*>(this)->Of(parameter);
  }
};

}  // namespace pyptx

#endif  // PYPTX_LAUNCH_BUFFERS_H_
