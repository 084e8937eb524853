// The C interface: checks what a caller hands in, and turns exceptions into results.
#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "device.h"
#include "pyptx_emulator.h"
#include "warp.h"

namespace emu = pyptx::emulator;

struct PyptxProgram {
  std::unique_ptr<emu::Program> program;
};

struct PyptxResult {
  int32_t status = PYPTX_OK;
  std::string message, json, printed;
  std::vector<PyptxInstructionStatistics> statistics;
  uint64_t instructions = 0;
};

namespace {

thread_local std::string t_error;

void set_error(const char** error, const std::string& text) {
  if (error == nullptr) return;
  t_error = text;
  *error = t_error.c_str();
}

PyptxProgram* program_create(const void* image, size_t bytes, const char** error) {
  try {
    auto program = std::make_unique<PyptxProgram>();
    program->program = emu::Program::read(image, bytes);
    return program.release();
  } catch (const std::bad_alloc&) {
    set_error(error, "not enough memory for the program image");
  } catch (const std::exception& e) {
    set_error(error, e.what());
  }
  return nullptr;
}

void program_destroy(PyptxProgram* program) { delete program; }
uint64_t program_instructions(const PyptxProgram* p) { return p->program->instructions(); }
uint64_t program_param_bytes(const PyptxProgram* p) { return p->program->param_bytes; }
uint64_t program_shared_bytes(const PyptxProgram* p) { return p->program->space_bytes[0]; }
uint64_t program_alignment(const PyptxProgram* p) { return p->program->widest_global; }

std::string text_of(const char* text) { return text == nullptr ? std::string() : std::string(text); }

void register_source(const void* image, size_t bytes, const PyptxSourceLine* lines, size_t line_count,
                     const char* const* tensors, size_t tensor_count) {
  try {
    emu::SourceTable table;
    for (size_t i = 0; i < line_count; ++i) {
      table.lines.push_back({text_of(lines[i].file), text_of(lines[i].text), lines[i].line});
    }
    for (size_t i = 0; i < tensor_count; ++i) table.tensors.push_back(text_of(tensors[i]));
    emu::register_source(emu::content_hash(image, bytes), std::move(table));
  } catch (const std::bad_alloc&) {
    // Names make reports readable; without memory for them reports name the PTX instruction.
  }
}

// ---- Launch ----------------------------------------------------------------------------------------------

uint64_t product(const uint32_t* v) { return static_cast<uint64_t>(v[0]) * v[1] * v[2]; }

std::string triple(const uint32_t* v) {
  return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + ")";
}

// A CTA's shared memory. Variables beyond the limit of static memory lie in the dynamic part.
uint64_t shared_bytes_of(const emu::Program& program, const PyptxLaunch& c) {
  const uint64_t variables = program.space_bytes[0], dynamic = c.dynamic_shared;
  return variables > 48u << 10 ? std::max(variables, dynamic) : variables + dynamic;
}

constexpr uint32_t kScheduleMask = 0xff;

// Late where the sanitizer looks for what has not been waited for.
emu::Completion completion_of(const PyptxLaunch& c) {
  switch (c.schedule & ~kScheduleMask) {
    case PYPTX_COMPLETION_EAGER: return emu::Completion::Eager;
    case PYPTX_COMPLETION_LATE: return emu::Completion::Late;
    case PYPTX_COMPLETION_REVERSED: return emu::Completion::Reversed;
    case PYPTX_COMPLETION_RANDOM: return emu::Completion::Random;
    default: return c.sanitize != 0 ? emu::Completion::Late : emu::Completion::Eager;
  }
}

bool beyond(const uint32_t (&sizes)[3], const uint32_t (&limits)[3]) {
  return sizes[0] > limits[0] || sizes[1] > limits[1] || sizes[2] > limits[2];
}

// What is wrong with a launch, "" if nothing is.
std::string problem_with(const emu::Program& program, const PyptxLaunch& c) {
  if (c.size != sizeof(PyptxLaunch)) return "the launch structure has another size than this library's";
  if (product(c.block) == 0 || product(c.block) > emu::kCtaThreads || beyond(c.block, emu::kBlockLimits)) {
    return "block " + triple(c.block) + " must have 1 to " + std::to_string(emu::kCtaThreads) + " threads, at most " +
           std::to_string(emu::kBlockLimits[2]) + " in z";
  }
  if (beyond(c.grid, emu::kGridLimits)) return "grid " + triple(c.grid) + " is larger than " + triple(emu::kGridLimits);
  const bool clustered = c.cluster[0] != 0 || c.cluster[1] != 0 || c.cluster[2] != 0;
  if (clustered && (product(c.cluster) == 0 || product(c.cluster) > emu::kClusterLimit)) {
    return "cluster " + triple(c.cluster) + " must have 1 to " + std::to_string(emu::kClusterLimit) + " CTAs";
  }
  for (int i = 0; clustered && i < 3; ++i) {
    if (c.grid[i] % c.cluster[i] != 0) return "grid " + triple(c.grid) + " is not a multiple of cluster " + triple(c.cluster);
  }
  if (c.param_bytes < program.param_bytes) {
    return "the kernel has " + std::to_string(program.param_bytes) + " bytes of parameters, the launch passes " +
           std::to_string(c.param_bytes);
  }
  if (c.param_bytes > 0 && c.params == nullptr) return "the parameters are missing";
  const uint64_t shared = shared_bytes_of(program, c);
  const uint32_t most = emu::device_of(program.sm).cta_shared;
  if (shared > most) return std::to_string(shared) + " bytes of shared memory are more than " + std::to_string(most);
  if (c.sanitize & ~static_cast<uint32_t>(PYPTX_SANITIZE_ALL)) return "unknown sanitizer flags";
  const uint32_t schedule = c.schedule & kScheduleMask, completion = c.schedule & ~kScheduleMask;
  if (schedule > PYPTX_SCHEDULE_RANDOM || completion > PYPTX_COMPLETION_RANDOM) return "unknown schedule";
  if (c.approximate != PYPTX_APPROXIMATE_ROUNDED) return "unknown mode of approximate operations";
  if (c.buffer_count > 0 && c.buffers == nullptr) return "the buffers are missing";
  for (uint64_t i = 0; i < c.buffer_count; ++i) {
    const PyptxBuffer& b = c.buffers[i];
    if (b.bytes > 0 && b.data == nullptr) return "buffer " + std::to_string(i) + " has no data";
    if (b.rank > 0 && b.shape == nullptr) return "buffer " + std::to_string(i) + " has a rank and no shape";
  }
  return "";
}

// Clusters that the modelled device holds at once: threads, CTAs and shared memory of its SMs.
uint64_t residency_of(const emu::Program& program, const emu::Launch& launch) {
  const emu::Device& device = emu::device_of(program.sm);
  const uint64_t threads = device.threads / (static_cast<uint64_t>(launch.warps_per_cta) * emu::kLanes);
  const uint64_t each = static_cast<uint64_t>(launch.shared_bytes) + device.reserved_shared;
  const uint64_t shared = each == 0 ? device.ctas : device.shared / each;
  const uint64_t ctas = std::min<uint64_t>({device.ctas, threads, shared});
  return std::max<uint64_t>(1, device.multiprocessors * ctas / launch.cluster_size);
}

void prepare(emu::Launch& launch, const emu::Program& program, const PyptxLaunch& config) {
  launch.program = &program;
  launch.config = config;
  launch.threads_per_cta = static_cast<uint32_t>(product(config.block));
  launch.warps_per_cta = (launch.threads_per_cta + emu::kLanes - 1) / emu::kLanes;
  launch.shared_bytes = static_cast<uint32_t>(shared_bytes_of(program, config));
  for (int i = 0; i < 3; ++i) {
    launch.cluster_dim[i] = std::max(1u, config.cluster[i]);
    launch.cluster_grid[i] = config.grid[i] / launch.cluster_dim[i];
  }
  launch.cluster_size = static_cast<uint32_t>(product(launch.cluster_dim));
  launch.clusters = product(launch.cluster_grid);
  launch.residency = residency_of(program, launch);
  launch.initialisation = config.sanitize & PYPTX_SANITIZE_INITIALISATION;
  launch.races = config.sanitize & PYPTX_SANITIZE_RACES;
  launch.synchronisation = config.sanitize & PYPTX_SANITIZE_SYNCHRONISATION;
  launch.config.schedule = config.schedule & kScheduleMask;
  launch.completion = completion_of(config);
  launch.memory.set_buffers(config, program, emu::source_of(program.hash).tensors);
  const uint64_t ctas = launch.clusters * launch.cluster_size;
  const uint64_t segments = emu::GlobalClocks::segments_for(ctas);
  launch.global_clocks.reset(ctas, launch.memory.add_shadow(config, program.global_granule, segments));
}

void set_invalid(PyptxResult& result, const std::string& kernel, const std::string& problem) {
  result.status = PYPTX_INVALID;
  result.message = "kernel " + kernel + ": " + problem;
  result.json = "{}";
}

void run(PyptxResult& result, const emu::Program& program, const PyptxLaunch& config) {
  const std::string problem = problem_with(program, config);
  if (!problem.empty()) {
    set_invalid(result, program.name, problem);
    return;
  }
  auto launch = std::make_unique<emu::Launch>();
  prepare(*launch, program, config);
  if (config.statistics != 0) result.statistics.resize(program.instructions());
  if (launch->clusters > 0) emu::run_launch(*launch, &result.statistics, &result.instructions);
  if (!launch->failure.empty()) {
    set_invalid(result, program.name, launch->failure);
    return;
  }
  result.status = launch->findings.stopped() ? PYPTX_STOPPED : launch->findings.empty() ? PYPTX_OK : PYPTX_FINDINGS;
  result.message = launch->findings.message(*launch);
  result.json = launch->findings.json(*launch);
  result.printed = launch->printed.text();
}

PyptxResult* launch_program(const PyptxProgram* program, const PyptxLaunch* config) {
  auto* result = new (std::nothrow) PyptxResult();
  if (result == nullptr) return nullptr;
  try {
    run(*result, *program->program, *config);
  } catch (const std::bad_alloc&) {
    set_invalid(*result, program->program->name, "not enough memory to emulate the launch");
  } catch (const std::exception& e) {
    set_invalid(*result, program->program->name, e.what());
  }
  return result;
}

int32_t result_status(const PyptxResult* r) { return r->status; }
const char* result_message(const PyptxResult* r) { return r->message.c_str(); }
const char* result_json(const PyptxResult* r) { return r->json.c_str(); }
const PyptxInstructionStatistics* result_statistics(const PyptxResult* r, uint64_t* count) {
  *count = r->statistics.size();
  return r->statistics.empty() ? nullptr : r->statistics.data();
}
const char* result_printed(const PyptxResult* r, uint64_t* bytes) {
  *bytes = r->printed.size();
  return r->printed.data();
}
uint64_t result_instructions(const PyptxResult* r) { return r->instructions; }
void result_destroy(PyptxResult* r) { delete r; }

constexpr PyptxEmulatorApi kApi = {
    PYPTX_EMULATOR_ABI, sizeof(PyptxEmulatorApi), program_create, program_destroy, program_instructions,
    program_param_bytes, program_shared_bytes, program_alignment, register_source, launch_program, result_status, result_message,
    result_json, result_statistics, result_instructions, result_printed, result_destroy};

}  // namespace

extern "C" const PyptxEmulatorApi* pyptx_emulator_api(void) { return &kApi; }
