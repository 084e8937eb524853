// The C interface: checks what a caller hands in, and turns exceptions into results.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "machine/device.h"
#include "pyptx_emulator.h"
#include "machine/warp.h"

namespace emu = pyptx::emulator;

struct PyptxProgram {
  std::unique_ptr<emu::Program> program;
};

struct PyptxResult {
  int32_t status = PYPTX_OK;
  std::string message, json, printed;
  std::vector<PyptxInstructionStatistics> statistics;
  std::vector<PyptxVisit> visits;
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

emu::SourceLine line_of(const PyptxSourceLine& l) { return {text_of(l.file), text_of(l.text), l.line}; }

void register_source(const void* image, size_t bytes, const PyptxSourceLine* lines, size_t line_count,
                     const char* const* tensors, size_t tensor_count, const PyptxSourceLine* kernel,
                     const char* const* registers, size_t register_count) {
  try {
    emu::SourceTable table;
    for (size_t i = 0; i < line_count; ++i) {
      table.lines.push_back(line_of(lines[i]));
    }
    if (kernel != nullptr) table.kernel = line_of(*kernel);
    for (size_t i = 0; i < tensor_count; ++i) table.tensors.push_back(text_of(tensors[i]));
    for (size_t i = 0; i < register_count; ++i) table.registers.push_back(text_of(registers[i]));
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
  if (!(c.max_seconds >= 0)) return "the seconds that a launch may take must be positive";
  if (c.approximate != PYPTX_APPROXIMATE_UNIT) return "unknown mode of approximate operations";
  if (c.buffer_count > 0 && c.buffers == nullptr) return "the buffers are missing";
  if (c.watch_count > 0 && c.watches == nullptr) return "the watched ranges are missing";
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
  const uint64_t each = static_cast<uint64_t>(launch.kernel_shared_bytes) + device.reserved_shared;
  const uint64_t shared = each == 0 ? device.ctas : device.shared / each;
  const uint64_t ctas = std::min<uint64_t>({device.ctas, threads, shared});
  return std::max<uint64_t>(1, device.multiprocessors * ctas / launch.cluster_size);
}

// The names of tensors, in the order of the buffers: those that were registered, or the image's own.
std::vector<std::string> tensor_names(const emu::Program& program) {
  std::vector<std::string> names = emu::source_of(program.hash).tensors;
  if (!names.empty()) return names;
  for (const emu::Parameter& p : program.params) {
    if (p.tensor) names.push_back(p.name);
  }
  return names;
}

void prepare(emu::Launch& launch, const emu::Program& program, const PyptxLaunch& config) {
  launch.program = &program;
  launch.config = config;
  launch.threads_per_cta = static_cast<uint32_t>(product(config.block));
  launch.warps_per_cta = (launch.threads_per_cta + emu::kLanes - 1) / emu::kLanes;
  launch.shared_bytes = static_cast<uint32_t>(shared_bytes_of(program, config));
  launch.kernel_shared_bytes = launch.shared_bytes;
  if (program.reads_reserved) {
    launch.reserved_at = (launch.shared_bytes + 127u) / 128u * 128u;
    launch.shared_bytes = launch.reserved_at + emu::kReservedForGroups;
  }
  for (int i = 0; i < 3; ++i) {
    launch.cluster_dim[i] = std::max(1u, config.cluster[i]);
    launch.cluster_grid[i] = config.grid[i] / launch.cluster_dim[i];
  }
  launch.cluster_size = static_cast<uint32_t>(product(launch.cluster_dim));
  launch.clusters = product(launch.cluster_grid);
  launch.residency = residency_of(program, launch);
  launch.initialisation = config.sanitize & PYPTX_SANITIZE_INITIALISATION;
  launch.races = config.sanitize & PYPTX_SANITIZE_RACES;
  launch.older_values = launch.races && (config.schedule & kScheduleMask) == PYPTX_SCHEDULE_RANDOM;
  launch.synchronisation = config.sanitize & PYPTX_SANITIZE_SYNCHRONISATION;
  launch.config.schedule = config.schedule & kScheduleMask;
  launch.completion = completion_of(config);
  launch.memory.set_buffers(config, program, tensor_names(program));
  if (program.reads_environment && config.cooperative != 0) launch.memory.add_grid_barrier();
  launch.memory.add_written(program.global_granule);
  launch.watches.set(config);
  launch.grid_waits.reset(launch.memory.buffers);
  for (emu::Buffer& b : launch.memory.buffers) {
    b.watched = launch.watches.inside(b.lo, b.hi) || (launch.races && (b.stored_before || b.loaded_before));
  }
  const uint64_t ctas = launch.clusters * launch.cluster_size;
  const uint64_t segments = emu::GlobalOrder::segments_for(ctas);
  launch.threads = emu::host_threads(launch);
  launch.global_order.reset(ctas,
                            launch.memory.add_shadow(config, program.global_granule, segments, launch.parallel()));
}

// The budget of a launch.
constexpr uint64_t kDefaultLaunchInstructions = 1ull << 34, kMostInstructions = 1ull << 63;
constexpr double kDefaultSeconds = 600, kMostSeconds = 1e9;

PyptxLaunch with_defaults(const PyptxLaunch& given) {
  PyptxLaunch config = given;
  if (config.max_launch_instructions == 0) config.max_launch_instructions = kDefaultLaunchInstructions;
  if (config.max_seconds == 0) config.max_seconds = kDefaultSeconds;
  return config;
}

// A grid of which every warp runs at least one instruction, and that is too much. Says so before anything runs.
bool too_large(emu::Launch& launch) {
  const uint64_t ctas = launch.clusters * launch.cluster_size, most = launch.config.max_launch_instructions;
  if (ctas <= most / launch.warps_per_cta) return false;
  emu::Finding finding{};
  finding.kind = emu::Kind::Budget;
  finding.note = "its grid " + triple(launch.config.grid) + " has " + std::to_string(ctas) + " CTAs of " +
                 std::to_string(launch.warps_per_cta) + (launch.warps_per_cta == 1 ? " warp" : " warps") +
                 ", and all warps together may run " + std::to_string(most) +
                 " instructions; max_launch_instructions= or $PYPTX_EMULATOR_INSTRUCTIONS allows more";
  launch.findings.add(std::move(finding));
  return true;
}

// What a launch may write, as it was before: for a launch that has to run again. Buffers whose flags are all of `but`
// are left as they are: what has no value before a launch and is written whole needs no copy.
class Saved {
 public:
  static constexpr uint32_t kWrittenWhole = PYPTX_BUFFER_UNINITIALISED | PYPTX_BUFFER_COMPLETE;

  explicit Saved(const PyptxLaunch& config, uint32_t but = ~0u) {
    for (uint64_t i = 0; i < config.buffer_count; ++i) {
      const PyptxBuffer& b = config.buffers[i];
      if (b.bytes == 0 || (b.flags & PYPTX_BUFFER_READ_ONLY) != 0 || (b.flags & but) == but) continue;
      const auto* data = static_cast<const char*>(b.data);
      saved_.emplace_back(static_cast<char*>(b.data), std::string(data, b.bytes));
    }
  }
  void restore() const {
    for (const auto& [data, bytes] : saved_) std::copy(bytes.begin(), bytes.end(), data);
  }

 private:
  std::vector<std::pair<char*, std::string>> saved_;
};

void set_invalid(PyptxResult& result, const std::string& kernel, const std::string& problem) {
  result.status = PYPTX_INVALID;
  result.message = "kernel " + kernel + ": " + problem;
  result.json = "{}";
}

std::unique_ptr<emu::Launch> run_once(PyptxResult& result, const emu::Program& program, const PyptxLaunch& config,
                                      std::chrono::steady_clock::time_point deadline) {
  auto launch = std::make_unique<emu::Launch>();
  prepare(*launch, program, config);
  launch->deadline = deadline;
  launch->most_instructions = std::min(config.max_launch_instructions, kMostInstructions);
  result.instructions = 0;
  result.statistics.assign(config.statistics != 0 ? program.instructions() : 0, PyptxInstructionStatistics{});
  if (launch->clusters == 0 || too_large(*launch)) return launch;
  std::optional<Saved> saved;
  if (launch->parallel()) saved.emplace(config, Saved::kWrittenWhole);
  emu::run_launch(*launch, &result.statistics, &result.instructions);
  if (launch->conflict && saved) saved->restore();
  return launch;
}

// Runs a launch on several threads, and again on one where what it gives depends on which of them is faster.
std::unique_ptr<emu::Launch> run_to_end(PyptxResult& result, const emu::Program& program, PyptxLaunch config) {
  const auto seconds = std::chrono::duration<double>(std::min(config.max_seconds, kMostSeconds));
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds);
  std::unique_ptr<emu::Launch> launch = run_once(result, program, config, deadline);
  if (!launch->conflict || launch->cancelled || launch->late || !launch->failure.empty()) return launch;
  launch.reset();
  config.threads = 1;
  return run_once(result, program, config, deadline);
}

bool ended(const emu::Launch& launch) { return !launch.cancelled && launch.failure.empty(); }

// The one schedule of a launch, with what is found at its end.
std::unique_ptr<emu::Launch> run_schedule(PyptxResult& result, const emu::Program& program, const PyptxLaunch& config) {
  std::unique_ptr<emu::Launch> launch = run_to_end(result, program, config);
  if (ended(*launch) && !launch->findings.stopped()) emu::report_unwritten(*launch);
  return launch;
}

std::atomic<uint32_t> g_schedules{1};

// Of a schedule after the first: its seed, and, unless the caller says, when operations are performed.
PyptxLaunch scheduled(const PyptxLaunch& given, uint32_t number) {
  static constexpr uint32_t kCompletions[] = {PYPTX_COMPLETION_RANDOM, PYPTX_COMPLETION_LATE, PYPTX_COMPLETION_REVERSED};
  PyptxLaunch config = given;
  const uint32_t completion = given.schedule & ~kScheduleMask;
  config.schedule = PYPTX_SCHEDULE_RANDOM | (completion != 0 ? completion : kCompletions[number % std::size(kCompletions)]);
  config.seed = given.seed + number;
  return config;
}

std::string named(const PyptxLaunch& config) {
  static constexpr const char* kNames[] = {"eager", "late", "reversed", "random"};
  return "seed=" + std::to_string(config.seed) + ", completion=\"" + kNames[(config.schedule >> 8) - 1] + "\"";
}

// The first of a launch's schedules that has findings; if none has, the first. Each starts with what memory held before.
std::unique_ptr<emu::Launch> run_schedules(PyptxResult& result, const emu::Program& program, const PyptxLaunch& given) {
  const uint32_t wanted = given.sanitize == 0 ? 1 : given.schedules != 0 ? given.schedules : g_schedules.load();
  std::optional<Saved> before;
  if (wanted > 1) before.emplace(given);
  std::unique_ptr<emu::Launch> first = run_schedule(result, program, given);
  if (wanted <= 1 || !ended(*first) || !first->findings.empty()) return first;
  const Saved after(given);
  for (uint32_t number = 1; number < wanted; ++number) {
    const PyptxLaunch config = scheduled(given, number);
    PyptxResult other;
    before->restore();
    std::unique_ptr<emu::Launch> launch = run_schedule(other, program, config);
    if (ended(*launch) && launch->findings.empty()) continue;
    launch->explored = "in schedule " + std::to_string(number + 1) + " of " + std::to_string(wanted) + "; " +
                       named(config) + " repeats it";
    result = std::move(other);
    return launch;
  }
  after.restore();
  return first;
}

void run(PyptxResult& result, const emu::Program& program, const PyptxLaunch& config) {
  const std::string problem = problem_with(program, config);
  if (!problem.empty()) {
    set_invalid(result, program.name, problem);
    return;
  }
  const std::unique_ptr<emu::Launch> launch = run_schedules(result, program, with_defaults(config));
  if (launch->cancelled) {
    result.status = PYPTX_CANCELLED;
    result.message = "kernel " + program.name + ": the launch was cancelled";
    result.json = "{}";
    return;
  }
  if (!launch->failure.empty()) {
    set_invalid(result, program.name, launch->failure);
    return;
  }
  result.status = launch->findings.stopped() ? PYPTX_STOPPED : launch->findings.empty() ? PYPTX_OK : PYPTX_FINDINGS;
  result.message = launch->findings.message(*launch);
  result.json = launch->findings.json(*launch);
  result.printed = launch->printed.text();
  result.visits = launch->watches.visits();
}

PyptxResult* launch_program(const PyptxProgram* program, const PyptxLaunch* config) {
  auto* result = new (std::nothrow) PyptxResult();
  if (result == nullptr) return nullptr;
  try {
    run(*result, *program->program, *config);
  } catch (const std::bad_alloc&) {
    try {
      set_invalid(*result, program->program->name, "no memory left");
    } catch (const std::bad_alloc&) {
      delete result;
      return nullptr;
    }
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
const PyptxVisit* result_visits(const PyptxResult* r, uint64_t* count) {
  *count = r->visits.size();
  return r->visits.data();
}
void result_destroy(PyptxResult* r) { delete r; }
void set_schedules(uint32_t schedules) { g_schedules.store(std::max(1u, schedules)); }

constexpr PyptxEmulatorApi kApi = {
    PYPTX_EMULATOR_ABI, sizeof(PyptxEmulatorApi), program_create, program_destroy, program_instructions,
    program_param_bytes, program_shared_bytes, program_alignment, register_source, launch_program, result_status, result_message,
    result_json, result_statistics, result_instructions, result_printed, result_visits, result_destroy, set_schedules};

}  // namespace

extern "C" const PyptxEmulatorApi* pyptx_emulator_api(void) { return &kApi; }
