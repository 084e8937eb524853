// What `pyptx.sanitize()` asks of the CPU handler: while it is open anywhere in the process, every launch runs with the
// sanitizer, of programs that were compiled before too, and what it finds is kept for Python instead of failing the run.
#ifndef PYPTX_FFI_SANITIZING_H_
#define PYPTX_FFI_SANITIZING_H_

#include <cstdint>
#include <string>

namespace pyptx::cpu {

// Whether it is open; a launch asks once, when it starts. Any thread may call these functions.
bool Sanitizing();

// A launch that ran with the sanitizer: how it ended, its report for a person and the same as JSON, empty where it has
// no findings.
void KeepLaunch(int32_t status, std::string message, std::string json);

}  // namespace pyptx::cpu

#endif  // PYPTX_FFI_SANITIZING_H_
