// A call as the launcher keeps it: its plan, and the code of each step.
#ifndef PYPTX_LAUNCHER_CALL_H_
#define PYPTX_LAUNCHER_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan.h"
#include "steps.h"

struct PyptxCall {
  pyptx::Plan plan;
  std::vector<std::unique_ptr<pyptx::cuda::StepCode>> code;  // one per step
  std::vector<size_t> itemsizes;                             // one per output
  size_t axes = 0;                                           // of all buffers
};

namespace pyptx::cuda {

// Remembers what went wrong for pyptx_launcher_problem in this thread, and returns the cause.
int32_t Failed(Cause cause, const std::string& kernel, const std::string& problem);

// A call on buffers of known shapes: what is left for a launch are their addresses. Expressions are evaluated once,
// but for the steps with tensor maps, which have addresses in them.
class BoundCall {
 public:
  // `dims` are the sizes of all axes: of inputs, outputs and scratch. Returns nullptr where they are not the plan's.
  static std::unique_ptr<BoundCall> Make(PyptxCall* call, std::vector<int64_t> dims);

  // `addresses` are those of inputs, outputs and scratch. The primary context of the device is current.
  int32_t Launch(int32_t device, Stream stream, const uint64_t* addresses) const;

  size_t buffers() const { return call_->plan.inputs.size() + call_->plan.outputs.size(); }

 private:
  explicit BoundCall(PyptxCall* call) : call_(call) {}
  void Fill(const uint64_t* addresses, CallBuffers* buffers) const;

  PyptxCall* call_;
  std::vector<int64_t> dims_;
  std::vector<BufferView> views_;  // without addresses
  std::vector<pyptx::Launch> launches_;
};

}  // namespace pyptx::cuda

#endif  // PYPTX_LAUNCHER_CALL_H_
