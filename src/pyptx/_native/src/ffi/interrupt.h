// Ctrl-C while the CPU handler runs.
//
// XLA runs the handler while Python waits for it and runs no signal handlers. So from the first launch on SIGINT counts
// here, which ends launches, and then goes to the handler that was installed before: Python's, which raises
// KeyboardInterrupt once XLA has returned the launch's error.
#ifndef PYPTX_FFI_INTERRUPT_H_
#define PYPTX_FFI_INTERRUPT_H_

#include <cstdint>

namespace pyptx::cpu {

// How often SIGINT came, for a launch to look at. Not counted where nobody handles it: then it ends the process, or is
// ignored, as ever.
const int32_t* InterruptCount();

// Makes SIGINT count, and returns how often it had come when this execution of a program began, which XLA numbers: what
// comes between two launches of one execution ends the second. Any thread may call it.
int32_t WatchInterrupts(int64_t run_id);

}  // namespace pyptx::cpu

#endif  // PYPTX_FFI_INTERRUPT_H_
