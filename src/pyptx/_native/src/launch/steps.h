// The steps of a call on a CUDA device: what the FFI handler and the launcher of other runtimes share.
#ifndef PYPTX_LAUNCH_STEPS_H_
#define PYPTX_LAUNCH_STEPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "buffers.h"
#include "driver.h"
#include "modules.h"
#include "plan.h"

namespace pyptx::cuda {

// What is at fault: the call, the machine, or the launch.
enum class Cause : int32_t { kInvalid = 1, kPrecondition = 2, kInternal = 3 };

struct Failure {
  Cause cause;
  std::string kernel;
  std::string problem;  // one sentence without the kernel's name
};

using Outcome = std::optional<Failure>;

// The code of one step, and what it became in each context.
struct StepCode {
  Images images;
  KernelFunctions functions;
};

// Adds a cubin to the images of a step. Returns the problem, if any.
std::optional<std::string> Image(std::string_view target, std::string_view bytes, Images* images);

// Loads the step's kernel into the current context, or into the primary one of device `ordinal`.
Outcome PrepareStep(const Step& step, StepCode& code, int32_t ordinal);

// Launches a step on a stream of the current context.
Outcome ExecuteStep(const Step& step, StepCode& code, CallBuffers& buffers, Stream stream, int32_t ordinal);

// The same for a step whose expressions are evaluated for these buffers.
Outcome ExecuteLaunch(const Step& step, const Launch& launch, StepCode& code, CallBuffers& buffers, Stream stream,
                      int32_t ordinal);

// Kernels launched by this library so far.
int64_t Launched();

}  // namespace pyptx::cuda

#endif  // PYPTX_LAUNCH_STEPS_H_
