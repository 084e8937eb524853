// The reader of program images, and a launch of what it takes: any findings will do, but nothing outside of the
// launch's memory is touched and the launch ends.
#include <cstdint>
#include <vector>

#include "pyptx_emulator.h"
#include "target.h"

uint64_t accepted = 0;

namespace {

constexpr uint64_t kMostInstructions = 500;
constexpr uint64_t kMostParameters = 1 << 12;
constexpr size_t kTensors = 4;

struct Memory {
  alignas(256) uint8_t tensors[kTensors][1024];
};

void launch(const PyptxEmulatorApi& api, const PyptxProgram* program, uint32_t sanitize) {
  const uint64_t bytes = api.program_param_bytes(program);
  if (bytes > kMostParameters) return;
  Memory memory = {};
  const int64_t shape[] = {256};
  PyptxBuffer buffers[kTensors] = {};
  std::vector<uint64_t> parameters(bytes / 8 + kTensors + 1);
  for (size_t i = 0; i < kTensors; ++i) {
    buffers[i] = {memory.tensors[i], sizeof memory.tensors[i], nullptr, shape, 1, 4, 0, 0};
    parameters[i] = reinterpret_cast<uintptr_t>(memory.tensors[i]);
  }
  PyptxLaunch config = {};
  config.size = sizeof config;
  for (int i = 0; i < 3; ++i) config.grid[i] = config.block[i] = 1;
  config.grid[0] = 2;
  config.block[0] = 40;
  config.sanitize = sanitize;
  config.threads = 1;
  config.max_instructions = kMostInstructions;
  config.max_launch_instructions = 4 * kMostInstructions;
  config.max_seconds = 5;
  config.params = parameters.data();
  config.param_bytes = bytes;
  config.buffers = buffers;
  config.buffer_count = kTensors;
  PyptxResult* result = api.launch(program, &config);
  PROMISE(result != nullptr);
  const int32_t status = api.result_status(result);
  PROMISE(status >= PYPTX_OK && status <= PYPTX_INVALID);
  PROMISE((api.result_message(result)[0] == '\0') == (status == PYPTX_OK));
  api.result_destroy(result);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const PyptxEmulatorApi& api = *pyptx_emulator_api();
  const char* error = nullptr;
  PyptxProgram* program = api.program_create(data, size, &error);
  if (program == nullptr) {
    PROMISE(error != nullptr && error[0] != '\0');
    return 0;
  }
  ++accepted;
  launch(api, program, 0);
  launch(api, program, PYPTX_SANITIZE_ALL);
  api.program_destroy(program);
  return 0;
}
