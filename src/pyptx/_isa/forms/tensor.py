"""Asynchronous copies of tensors, and the tensor maps that describe them."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

TX = "mbarrier::complete_tx::bytes"
HINT = "{.L2::cache_hint}"
POLICY = "policy:i64@L2::cache_hint"
# A position in a tensor, with what is used in place of the map's address, and of sizes and strides.
COORDS, FIVE = "{tensorCoords}*dim:s32", "{tensorCoords}*5:s32"
AT = "gAddrToOverride:i64!, "
SIZE = "{tensorSizeToOverride}*dim:u16, "
STRIDE = "{tensorLowerStrideToOverride}*dim-1:u32, tensorUpperStrideToOverride:u16!, "
MAP, GATHER = f"[tensorMap:generic, {COORDS}]", f"[tensorMap:generic, {FIVE}]"
DST = "[dst:shared%128]"
SRC = "[src:shared%128]"
MBAR = "[mbar:shared%8]"
OFFSETS = "{im2colOffsets}*dim-2:u16"
HALO = "{im2colInfo}*2:u16"
MASK = "ctaMask:u16@multicast"
MASK32 = "ctaMask:u32"
DIM = "1d 2d 3d 4d 5d"
DIM3 = "3d 4d 5d"
WIDTH = "im2col::w im2col::w::128"
GROUP = "cta_group::1@sm_100f+sm_110f,8.6 cta_group::2@sm_100f+sm_110f,8.6"
BULK = {"sm": "sm_90", "ptx": "8.0"}
CTA = {"sm": "sm_90", "ptx": "8.6"}
NEW = {"sm": "sm_100f sm_110f", "ptx": "8.6"}
REPLACE = {"ss": "global shared::cta", "sm": "sm_90a sm_100f sm_110f sm_120f", "ptx": "8.3"}
# The CTAs that a copy goes to, in a mask of 16 bits or of 32, and what an mbarrier reports of it.
CTAS = {"multicast": "multicast::cluster multicast::cluster::16b@,9.4"}
MULTICAST = f"{{.multicast}}{{.cta_group}}{HINT}"
MULTICAST32 = f".multicast::cluster::32b{{.cta_group}}{HINT}"
RUBIN = {"sm": "sm_107f", "ptx": "9.4"}
REPORT = {"report": " ".join(f"mbarrier::report::{each}@sm_107f,9.4" for each in (
    "disabled", "validity::per_16bytes::80000000", "validity::per_16bytes::8000",
    "validity::per_16bytes::80", "validity::per_16bytes::8", "validity::per_element::ff"))}
NO_OFFSETS = "im2col_no_offs im2col_no_offs::w@sm_107f,9.4"
NARROW, WIDE, ALONE = (MULTICAST, MASK), (MULTICAST32, MASK32), (f"{{.cta_group}}{HINT}", "")
EITHER_MASK = ((*NARROW, CTAS | BULK), (*WIDE, RUBIN))
EITHER_NEW = ((*NARROW, CTAS | NEW), (*WIDE, RUBIN))
# What replaces fields of the map, the position with it, and where that exists.
ADDRESS = ".override::global_address"
PLAIN = (("", MAP, dict[str, str]()), (ADDRESS, f"[tensorMap:generic, {AT}{COORDS}]", RUBIN))
GATHERED = (("", GATHER, dict[str, str]()), (ADDRESS, f"[tensorMap:generic, {AT}{FIVE}]", RUBIN))
SHAPED = (
    (f"{ADDRESS}.override::global_dim",
     f"[tensorMap:generic, {AT}{SIZE}{COORDS}]", RUBIN | {"dim": "1d"}),
    (f"{ADDRESS}.override::global_dim_stride",
     f"[tensorMap:generic, {AT}{SIZE}{STRIDE}{COORDS}]", RUBIN | {"dim": "2d 3d 4d 5d"}))
TILES = (*PLAIN, *SHAPED)
# How what is prefetched is kept, and where that exists for boxes and for newer modes.
KEPT = ((HINT, f", {POLICY}", BULK, NEW), (".L2::evict_last", "", RUBIN, RUBIN))
REDUCE = {"op": "add min max inc dec and or xor"}

FORMS = chapter(
    "Data Movement and Conversion Instructions: Tensor Copy",
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-async-bulk-tensor",
        "Copy a box of a tensor without waiting.",
        *(row(f"cp.async.bulk.tensor.dim.shared::cluster.global{{.tile}}.{TX}{{.report}}{to}{over}"
              f"  {DST}, {position}, {MBAR}, {mask}, {POLICY}",
              **{"dim": DIM, "cta_group": GROUP} | REPORT | where | more)
          for over, position, more in PLAIN for to, mask, where in EITHER_MASK),
        *(row(f"cp.async.bulk.tensor.dim.shared::cluster.global{{.tile}}.{TX}{{.report}}{to}{over}"
              f"  {DST}, {position}, {MBAR}, {mask}, {POLICY}", cta_group=GROUP, **REPORT | more)
          for over, position, more in SHAPED for to, mask in (ALONE, WIDE)),
        *(row("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4"
              f".{TX}{{.report}}{to}{over}  {DST}, {position}, {MBAR}, {mask}, {POLICY}",
              **{"cta_group": GROUP} | REPORT | where | more)
          for over, position, more in GATHERED for to, mask, where in EITHER_NEW),
        *(row(f"cp.async.bulk.tensor.dim.shared::cluster.global.im2col.{TX}{{.report}}{to}{over}"
              f"  {DST}, {position}, {MBAR}, {OFFSETS}, {mask}, {POLICY}",
              **{"dim": DIM3, "cta_group": GROUP} | REPORT | where | more)
          for over, position, more in PLAIN for to, mask, where in EITHER_MASK),
        *(row(f"cp.async.bulk.tensor.dim.shared::cluster.global.mode.{TX}{{.report}}{to}{over}"
              f"  {DST}, {position}, {MBAR}, {HALO}, {mask}, {POLICY}",
              **{"dim": DIM3, "mode": WIDTH, "cta_group": GROUP} | REPORT | where | more)
          for over, position, more in PLAIN for to, mask, where in EITHER_NEW),
        *(row(f"cp.async.bulk.tensor.dim.shared::cta.global{{.tile}}.{TX}{{.report}}{{.cta_group}}"
              f"{HINT}{over}  {DST}, {position}, {MBAR}, {POLICY}",
              **{"dim": DIM, "cta_group": GROUP} | REPORT | CTA | more)
          for over, position, more in TILES),
        *(row(f"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.{TX}{{.report}}"
              f"{{.cta_group}}{HINT}{over}  {DST}, {position}, {MBAR}, {POLICY}",
              **{"cta_group": GROUP, "sm": "sm_100", "ptx": "8.6"} | REPORT | more)
          for over, position, more in GATHERED),
        *(row(f"cp.async.bulk.tensor.dim.shared::cta.global.im2col.{TX}{{.report}}{{.cta_group}}"
              f"{HINT}{over}  {DST}, {position}, {MBAR}, {OFFSETS}, {POLICY}",
              **{"dim": DIM3, "cta_group": GROUP} | REPORT | CTA | more)
          for over, position, more in PLAIN),
        *(row(f"cp.async.bulk.tensor.dim.shared::cta.global.mode.{TX}{{.report}}{{.cta_group}}"
              f"{HINT}{over}  {DST}, {position}, {MBAR}, {HALO}, {POLICY}",
              **{"dim": DIM3, "cta_group": GROUP, "mode": "im2col::w im2col::w::128@sm_100f+sm_110f",
                 "sm": "sm_100", "ptx": "8.6"} | REPORT | more)
          for over, position, more in PLAIN),
        *(row(f"cp.async.bulk.tensor.dim.global.shared::cta{{.tile}}.bulk_group{HINT}{over}"
              f"  {position}, {SRC}, {POLICY}", **{"dim": DIM} | BULK | more)
          for over, position, more in TILES),
        *(row(f"cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{HINT}{over}"
              f"  {position}, {SRC}, {POLICY}", **NEW | more)
          for over, position, more in GATHERED),
        *(row(f"cp.async.bulk.tensor.dim.global.shared::cta.mode.bulk_group{HINT}{over}"
              f"  {position}, {SRC}, {POLICY}", **{"dim": DIM3, "mode": NO_OFFSETS} | BULK | more)
          for over, position, more in PLAIN),
    ),
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-reduce-async-bulk-tensor",
        "Combine a box of a tensor with shared memory without waiting.",
        *(row(f"cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{{.tile}}.bulk_group{HINT}"
              f"{over}  {position}, {SRC}, {POLICY}", **{"dim": DIM} | REDUCE | BULK | more)
          for over, position, more in TILES),
        *(row(f"cp.reduce.async.bulk.tensor.dim.global.shared::cta.op.mode.bulk_group{HINT}{over}"
              f"  {position}, {SRC}, {POLICY}",
              **{"dim": DIM3, "mode": NO_OFFSETS} | REDUCE | BULK | more)
          for over, position, more in PLAIN),
    ),
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-async-bulk-prefetch-tensor",
        "Bring a box of a tensor into the L2 cache.",
        *(row(f"cp.async.bulk.prefetch.tensor.dim.L2.global{{.tile}}{hint}{over}"
              f"  {position}{policy}", **{"dim": DIM} | where | more)
          for hint, policy, where, _ in KEPT for over, position, more in TILES),
        *(row(f"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4{hint}{over}"
              f"  {position}{policy}", **where | more)
          for hint, policy, _, where in KEPT for over, position, more in GATHERED),
        *(row(f"cp.async.bulk.prefetch.tensor.dim.L2.global.im2col{hint}{over}"
              f"  {position}, {OFFSETS}{policy}", **{"dim": DIM3} | where | more)
          for hint, policy, where, _ in KEPT for over, position, more in PLAIN),
        *(row(f"cp.async.bulk.prefetch.tensor.dim.L2.global.mode{hint}{over}"
              f"  {position}, {HALO}{policy}", **{"dim": DIM3, "mode": WIDTH} | where | more)
          for hint, policy, _, where in KEPT for over, position, more in PLAIN),
    ),
    instruction(
        "applypriority",
        "data-movement-and-conversion-instructions-applypriority-async-bulk-tensor",
        "Change the eviction priority of a box of a tensor without waiting.",
        *(row("applypriority.async.bulk.tensor.dim{.global}.bulk_group{.tile}.L2::evict_normal"
              f"{over}  {position}", **{"dim": DIM} | RUBIN | more)
          for over, position, more in TILES),
        *(row("applypriority.async.bulk.tensor.2d{.global}.bulk_group.tile::gather4"
              f".L2::evict_normal{over}  {position}", **RUBIN | more)
          for over, position, more in GATHERED),
        *(row("applypriority.async.bulk.tensor.dim{.global}.bulk_group.im2col.L2::evict_normal"
              f"{over}  {position}, {OFFSETS}", **{"dim": DIM3} | RUBIN | more)
          for over, position, more in PLAIN),
        *(row("applypriority.async.bulk.tensor.dim{.global}.bulk_group.mode.L2::evict_normal"
              f"{over}  {position}, {HALO}", **{"dim": DIM3, "mode": WIDTH} | RUBIN | more)
          for over, position, more in PLAIN),
    ),
    instruction(
        "tensormap", "data-movement-and-conversion-instructions-tensormap-replace",
        "Change one field of a tensor map.",
        row("tensormap.replace.tile.global_address{.ss}.b1024.b64  [addr:ss%128], new_val:i64",
            **REPLACE),
        row("tensormap.replace.tile.rank{.ss}.b1024.b32  [addr:ss%128], new_val:i32",
            **REPLACE),
        row("tensormap.replace.tile.field{.ss}.b1024.b32"
            "  [addr:ss%128], #ord:u32(0..4), new_val:i32",
            field="box_dim global_dim element_stride", **REPLACE),
        row("tensormap.replace.tile.global_stride{.ss}.b1024.b64"
            "  [addr:ss%128], #ord:u32(0..4), new_val:i64",
            **REPLACE),
        row("tensormap.replace.tile.elemtype{.ss}.b1024.b32  [addr:ss%128], #new_val:u32(0..12)",
            **REPLACE),
        row("tensormap.replace.tile.elemtype{.ss}.b1024.b32"
            "  [addr:ss%128], #sub_byte_type:u32(13..15)",
            ss="global shared::cta", sm="sm_100f sm_110f sm_120f", ptx="8.7"),
        row("tensormap.replace.tile.interleave_layout{.ss}.b1024.b32"
            "  [addr:ss%128], #new_val:u32(0..2)", **REPLACE),
        row("tensormap.replace.tile.swizzle_mode{.ss}.b1024.b32  [addr:ss%128], #new_val:u32(0..3)",
            **REPLACE),
        row("tensormap.replace.tile.swizzle_mode{.ss}.b1024.b32"
            "  [addr:ss%128], #swizzle_96B:u32(4)",
            ss="global shared::cta", sm="sm_103a sm_107a", ptx="8.8"),
        row("tensormap.replace.tile.swizzle_atomicity{.ss}.b1024.b32"
            "  [addr:ss%128], #new_val:u32(0..3)",
            ss="global shared::cta", sm="sm_100f sm_110f sm_120f", ptx="8.6"),
        row("tensormap.replace.tile.fill_mode{.ss}.b1024.b32  [addr:ss%128], #new_val:u32(0 1)",
            **REPLACE),
    ),
    instruction(
        "tensormap", "parallel-synchronization-and-communication-instructions-tensormap-cp-fenceproxy",
        "Copy a tensor map to global memory and order that with its later use.",
        row("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned"
            "  [dst:global%128], [src:shared%128], #size:u32(128)",
            scope="cta cluster gpu sys", sm="sm_90", ptx="8.3"),
    ),
)
