// Special registers (PTX ISA, "Special Registers"). Those that stay the same while a warp runs are filled in
// when it starts; reading one that changes is an instruction of its own.
#include "machine/special.h"

#include <algorithm>

#include "machine/device.h"
#include "machine/warp.h"

namespace pyptx::emulator {
namespace {

constexpr SpecialRow kRows[] = {
    {"tid.x", Special::tid_x, 32}, {"tid.y", Special::tid_y, 32}, {"tid.z", Special::tid_z, 32},
    {"ntid.x", Special::ntid_x, 32}, {"ntid.y", Special::ntid_y, 32}, {"ntid.z", Special::ntid_z, 32},
    {"laneid", Special::laneid, 32}, {"warpid", Special::warpid, 32}, {"nwarpid", Special::nwarpid, 32},
    {"ctaid.x", Special::ctaid_x, 32}, {"ctaid.y", Special::ctaid_y, 32}, {"ctaid.z", Special::ctaid_z, 32},
    {"nctaid.x", Special::nctaid_x, 32}, {"nctaid.y", Special::nctaid_y, 32}, {"nctaid.z", Special::nctaid_z, 32},
    {"smid", Special::smid, 32}, {"nsmid", Special::nsmid, 32}, {"gridid", Special::gridid, 64},
    {"is_explicit_cluster", Special::is_explicit_cluster, 1},
    {"clusterid.x", Special::clusterid_x, 32}, {"clusterid.y", Special::clusterid_y, 32},
    {"clusterid.z", Special::clusterid_z, 32}, {"nclusterid.x", Special::nclusterid_x, 32},
    {"nclusterid.y", Special::nclusterid_y, 32}, {"nclusterid.z", Special::nclusterid_z, 32},
    {"cluster_ctaid.x", Special::cluster_ctaid_x, 32}, {"cluster_ctaid.y", Special::cluster_ctaid_y, 32},
    {"cluster_ctaid.z", Special::cluster_ctaid_z, 32}, {"cluster_nctaid.x", Special::cluster_nctaid_x, 32},
    {"cluster_nctaid.y", Special::cluster_nctaid_y, 32}, {"cluster_nctaid.z", Special::cluster_nctaid_z, 32},
    {"cluster_ctarank", Special::cluster_ctarank, 32}, {"cluster_nctarank", Special::cluster_nctarank, 32},
    // The fourth component of every index and size is zero.
    {"tid.w", Special::fourth, 32}, {"ntid.w", Special::fourth, 32}, {"ctaid.w", Special::fourth, 32},
    {"nctaid.w", Special::fourth, 32}, {"clusterid.w", Special::fourth, 32}, {"nclusterid.w", Special::fourth, 32},
    {"cluster_ctaid.w", Special::fourth, 32}, {"cluster_nctaid.w", Special::fourth, 32},
    {"lanemask_eq", Special::lanemask_eq, 32}, {"lanemask_le", Special::lanemask_le, 32},
    {"lanemask_lt", Special::lanemask_lt, 32}, {"lanemask_ge", Special::lanemask_ge, 32},
    {"lanemask_gt", Special::lanemask_gt, 32},
    {"reserved_smem_offset_begin", Special::reserved_smem_offset_begin, 32},
    {"reserved_smem_offset_end", Special::reserved_smem_offset_end, 32},
    {"reserved_smem_offset_cap", Special::reserved_smem_offset_cap, 32},
    {"reserved_smem_offset_0", Special::reserved_smem_offset, 32},
    {"reserved_smem_offset_1", Special::reserved_smem_offset, 32},
    {"total_smem_size", Special::total_smem_size, 32}, {"aggr_smem_size", Special::aggr_smem_size, 32},
    {"dynamic_smem_size", Special::dynamic_smem_size, 32},
    {"current_graph_exec", Special::current_graph_exec, 64},
    {"clock", Special::clock, 32}, {"clock_hi", Special::clock_hi, 32}, {"clock64", Special::clock64, 64},
    {"globaltimer", Special::globaltimer, 64}, {"globaltimer_lo", Special::globaltimer_lo, 32},
    {"globaltimer_hi", Special::globaltimer_hi, 32},
};

constexpr SpecialRow kEnvironment = {"envreg", Special::envreg, 32};
constexpr SpecialRow kCounters[] = {
    {"pm0", Special::pm, 32}, {"pm1", Special::pm, 32}, {"pm2", Special::pm, 32}, {"pm3", Special::pm, 32},
    {"pm4", Special::pm, 32}, {"pm5", Special::pm, 32}, {"pm6", Special::pm, 32}, {"pm7", Special::pm, 32},
    {"pm0_64", Special::pm64, 64}, {"pm1_64", Special::pm64, 64}, {"pm2_64", Special::pm64, 64},
    {"pm3_64", Special::pm64, 64}, {"pm4_64", Special::pm64, 64}, {"pm5_64", Special::pm64, 64},
    {"pm6_64", Special::pm64, 64}, {"pm7_64", Special::pm64, 64}};

bool is_environment(std::string_view name) {
  if (name.size() < 7 || name.size() > 8 || name.substr(0, 6) != "envreg") return false;
  unsigned number = 0;
  for (const char c : name.substr(6)) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  return number < 32;
}

// Virtual time: nanoseconds and cycles are instructions of the cluster, so runs repeat exactly.
// Every reading advances it, so that a loop that waits for a time ends.
uint64_t ticks(Warp& w) {
  Cluster& c = *w.cta->cluster;
  return c.executed + 16 * ++c.clock_readings;
}

unsigned sm_count(unsigned sm) { return device_of(sm).multiprocessors; }

uint64_t thread_in_cta(const Warp& w, unsigned lane) { return w.index * kLanes + lane; }

// The value of a lane.
uint64_t value_of(const Warp& w, Special special, unsigned lane) {
  const Launch& launch = *w.worker->launch;
  const PyptxLaunch& config = launch.config;
  const Cta& cta = *w.cta;
  const Cluster& cluster = *cta.cluster;
  const uint64_t thread = thread_in_cta(w, lane);
  const uint32_t* dim = launch.cluster_dim;
  const auto at = [](Special first, Special s) { return static_cast<int>(s) - static_cast<int>(first); };
  switch (special) {
    case Special::tid_x: return thread % config.block[0];
    case Special::tid_y: return thread / config.block[0] % config.block[1];
    case Special::tid_z: return thread / config.block[0] / config.block[1];
    case Special::ntid_x: case Special::ntid_y: case Special::ntid_z:
      return config.block[at(Special::ntid_x, special)];
    case Special::laneid: return lane;
    case Special::warpid: return w.index;
    case Special::nwarpid: return 64;
    case Special::ctaid_x: case Special::ctaid_y: case Special::ctaid_z:
      return cta.id[at(Special::ctaid_x, special)];
    case Special::nctaid_x: case Special::nctaid_y: case Special::nctaid_z:
      return config.grid[at(Special::nctaid_x, special)];
    case Special::smid: return cta.linear % sm_count(launch.program->sm);
    case Special::nsmid: return sm_count(launch.program->sm);
    case Special::gridid: return 1;
    case Special::is_explicit_cluster: return config.cluster[0] != 0;
    case Special::clusterid_x: case Special::clusterid_y: case Special::clusterid_z:
      return cluster.id[at(Special::clusterid_x, special)];
    case Special::nclusterid_x: case Special::nclusterid_y: case Special::nclusterid_z:
      return launch.cluster_grid[at(Special::nclusterid_x, special)];
    case Special::cluster_ctaid_x: return cta.rank % dim[0];
    case Special::cluster_ctaid_y: return cta.rank / dim[0] % dim[1];
    case Special::cluster_ctaid_z: return cta.rank / dim[0] / dim[1];
    case Special::cluster_nctaid_x: case Special::cluster_nctaid_y: case Special::cluster_nctaid_z:
      return dim[at(Special::cluster_nctaid_x, special)];
    case Special::cluster_ctarank: return cta.rank;
    case Special::cluster_nctarank: return launch.cluster_size;
    case Special::lanemask_eq: return 1u << lane;
    case Special::lanemask_lt: return (1u << lane) - 1;
    case Special::lanemask_le: return (2ull << lane) - 1;
    case Special::lanemask_gt: return static_cast<uint32_t>(~((2ull << lane) - 1));
    case Special::lanemask_ge: return static_cast<uint32_t>(~((1ull << lane) - 1));
    case Special::reserved_smem_offset_end: case Special::reserved_smem_offset_cap:
      return reserved_shared(launch.program->sm);
    case Special::total_smem_size:
      return (launch.kernel_shared_bytes + 127u) / 128u * 128u;
    case Special::aggr_smem_size:
      return (launch.kernel_shared_bytes + 127u) / 128u * 128u + reserved_shared(launch.program->sm);
    case Special::dynamic_smem_size: return config.dynamic_shared;
    case Special::reserved_smem_offset: return reserved_shared(launch.program->sm) + launch.reserved_at;
    default: return 0;  // envreg, reserved_smem_offset_begin, no graph
  }
}

template <class T>
void read_changing(Warp& w, const Instruction& in, uint32_t mask) {
  const auto value = static_cast<T>(read_special(w, static_cast<Special>(in.detail)));
  each_lane<T>(w, in, 0, mask, [=](unsigned) { return value; });
}

}  // namespace

const SpecialRow* find_special(std::string_view name) {
  for (const SpecialRow& row : kRows) {
    if (row.name == name) return &row;
  }
  for (const SpecialRow& row : kCounters) {
    if (row.name == name) return &row;
  }
  return is_environment(name) ? &kEnvironment : nullptr;
}

std::string special_name(Special special, uint64_t value) {
  if (special == Special::envreg) return "envreg" + std::to_string(value);
  for (const SpecialRow& row : kRows) {
    if (row.special == special) return std::string(row.name);
  }
  return "special";
}

namespace {

bool differs_by_lane(Special s) {
  return s == Special::laneid || (s >= Special::tid_x && s <= Special::tid_z) ||
         (s >= Special::lanemask_eq && s <= Special::lanemask_gt);
}

}  // namespace

void fill_special(Warp& w, Special special, unsigned width, uint8_t* place) {
  if (width == 1) {
    const uint32_t bits = value_of(w, special, 0) != 0 ? kFullMask : 0;
    std::memcpy(place, &bits, sizeof bits);
    return;
  }
  const uint32_t* block = w.worker->launch->config.block;
  if (width == 32 && (!differs_by_lane(special) || (special == Special::tid_x && block[1] * block[2] == 1))) {
    const auto first = static_cast<uint32_t>(value_of(w, special, 0));
    const uint32_t step = special == Special::tid_x;
    auto* lanes = reinterpret_cast<uint32_t*>(place);
    PYPTX_EACH_LANE(l) lanes[l] = first + l * step;
    return;
  }
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint64_t value = value_of(w, special, l);
    std::memcpy(place + l * (width / 8), &value, width / 8);
  }
}

uint64_t read_special(Warp& w, Special special) {
  switch (special) {
    case Special::clock_hi: case Special::globaltimer_hi: return ticks(w) >> 32;
    case Special::pm: case Special::pm64: return 0;  // no performance counters are configured
    default: return ticks(w);
  }
}

Handler resolve_special(Decoding& d) {
  if (d.opcode != "mov" || d.operands.size() != 2 || d.operands[1].kind != OperandView::Kind::Special) return nullptr;
  const SpecialRow* row = find_special(d.operands[1].special);
  if (row == nullptr || d.modifiers.size() != 1) return nullptr;
  const std::string_view type = d.modifiers[0];
  const unsigned width = type == "u32" || type == "b32" || type == "s32" ? 32
                         : type == "u64" || type == "b64" || type == "s64" ? 64 : 0;
  if (width != row->width || !d.destination(0, width)) return nullptr;
  d.out->detail = static_cast<uint32_t>(row->special);
  return width == 32 ? read_changing<uint32_t> : read_changing<uint64_t>;
}

}  // namespace pyptx::emulator
