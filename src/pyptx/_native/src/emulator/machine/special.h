// The special registers: which there are, and what they hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "machine.h"

namespace pyptx::emulator {

enum class Special : uint8_t {
  tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, laneid, warpid, nwarpid,
  ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z, smid, nsmid, gridid,
  is_explicit_cluster,
  clusterid_x, clusterid_y, clusterid_z, nclusterid_x, nclusterid_y, nclusterid_z,
  cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z,
  cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z, cluster_ctarank, cluster_nctarank,
  lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge, lanemask_gt,
  fourth, envreg, reserved_smem_offset_begin, reserved_smem_offset_end, reserved_smem_offset_cap,
  reserved_smem_offset, total_smem_size, aggr_smem_size, dynamic_smem_size, current_graph_exec,
  // From here on they change while a warp runs.
  clock, clock_hi, clock64, globaltimer, globaltimer_lo, globaltimer_hi, pm, pm64,
  none
};

struct SpecialRow {
  std::string_view name;  // without the percent sign
  Special special;
  uint8_t width;  // bits; 1 for a predicate
};

// The row of a name, nullptr if PTX has no such special register.
const SpecialRow* find_special(std::string_view name);

// "tid.x"; `value` is the number of an envreg.
std::string special_name(Special special, uint64_t value);

inline bool changes(Special s) { return s >= Special::clock; }

// Writes all lanes of a special register that does not change to `place`, whose lanes are `width` bits.
void fill_special(Warp& warp, Special special, unsigned width, uint8_t* place);

// A register that changes, for one reading.
uint64_t read_special(Warp& warp, Special special);

}  // namespace pyptx::emulator
