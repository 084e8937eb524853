// Runs the arithmetic instructions of a program image on values given from outside: what tests of the
// instructions' meaning need, and nothing of a launch. No memory, control flow or synchronisation.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>

#include "machine/program.h"
#include "environment.h"
#include "pyptx_emulator.h"

namespace pyptx::emulator {

namespace {

size_t lane_block(unsigned width) { return width == 1 ? sizeof(uint32_t) : kLanes * (width / 8); }

// A warp as far as the handlers of arithmetic see it, with aligned registers.
struct Bench {
  WarpRegisters warp;
  std::unique_ptr<uint8_t[]> bytes;

  explicit Bench(const Program& program) : bytes(new uint8_t[program.file_bytes + 64]()) {
    uint8_t* at = bytes.get();
    at += (64 - reinterpret_cast<uintptr_t>(at) % 64) % 64;
    warp.base[0] = at;
    warp.base[1] = const_cast<uint8_t*>(program.pool());
    warp.carry = 0;
    std::memset(at + program.true_predicate, 0xff, sizeof(uint32_t));
  }
};

void run_once(const Program& program, Bench& bench, uint32_t mask) {
  Warp& warp = reinterpret_cast<Warp&>(bench.warp);
  for (size_t i = 0; i < program.instructions(); ++i) {
    const Instruction& in = program.code[i];
    uint32_t guard;
    std::memcpy(&guard, bench.warp.base[0] + in.guard, sizeof guard);
    const uint32_t active = mask & (guard ^ in.guard_invert);
    if (active) in.handler(warp, in, active);
  }
}

}  // namespace

}  // namespace pyptx::emulator

// Runs the image's instructions in order, once for each of `warps` warps of 32 lanes, `repeat` times on the
// same registers. `registers` has an array for each register of the image: for predicates a uint32_t per
// warp, for others 32 lanes of their width per warp; they are read before and written after. CC.CF starts
// clear. Lanes outside `mask` are not active. 0, or -1 with a message in `error`.
extern "C" PYPTX_EXPORT int pyptx_emulator_evaluate(
    const void* image, uint64_t image_bytes, void* const* registers, uint64_t warps, uint32_t mask,
    uint64_t repeat, char* error, uint64_t error_bytes) {
  using namespace pyptx::emulator;
  const DefaultFloatEnvironment environment;
  try {
    const std::unique_ptr<Program> program = Program::read(image, image_bytes, true);
    Bench bench(*program);
    for (uint64_t w = 0; w < warps; ++w) {
      for (uint32_t r = 0; r < program->image_registers; ++r) {
        const size_t size = lane_block(program->registers[r].width);
        std::memcpy(bench.warp.base[0] + program->registers[r].offset,
                    static_cast<const uint8_t*>(registers[r]) + w * size, size);
      }
      bench.warp.carry = 0;
      for (uint64_t k = 0; k < repeat; ++k) run_once(*program, bench, mask);
      for (uint32_t r = 0; r < program->image_registers; ++r) {
        const size_t size = lane_block(program->registers[r].width);
        std::memcpy(static_cast<uint8_t*>(registers[r]) + w * size,
                    bench.warp.base[0] + program->registers[r].offset, size);
      }
    }
    return 0;
  } catch (const std::exception& problem) {
    if (error_bytes) std::snprintf(error, error_bytes, "%s", problem.what());
    return -1;
  }
}
