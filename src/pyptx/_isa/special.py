"""The special registers: predefined, read-only, read by `mov`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyptx._isa.model import EVERYWHERE, Availability
from pyptx._operands import SpecialRegister
from pyptx._target import PtxVersion
from pyptx.types import DTYPES, DType


@dataclass(frozen=True, slots=True)
class SpecialEntry:
    """A special register: its name without the percent sign, its type and where it exists."""

    name: str
    dtype: DType
    availability: Availability
    summary: str

    @property
    def operand(self) -> SpecialRegister:
        return SpecialRegister(self.name, self.dtype)


def _entries(table: str) -> dict[str, SpecialEntry]:
    """Read lines of `name type availability summary`; `name[4]` are its components x y z w,
    `name<n>` is n registers; availability is `-`, or `target,version` with either left out."""
    found: dict[str, SpecialEntry] = {}
    for line in table.strip().splitlines():
        name, dtype, where, summary = line.split(maxsplit=3)
        sm, _, ptx = where.strip("-").partition(",")
        version = PtxVersion.parse(ptx) if ptx else EVERYWHERE.ptx
        availability = Availability(sm.replace("+", " "), version)
        for each in _names(name):
            found[each] = SpecialEntry(each, DTYPES[dtype], availability, summary)
    return found


def _names(name: str) -> list[str]:
    if name.endswith("[4]"):
        return [f"{name[:-3]}.{component}" for component in "xyzw"]
    if "<" not in name:
        return [name]
    head, _, rest = name.partition("<")
    count, _, tail = rest.partition(">")
    return [f"{head}{i}{tail}" for i in range(int(count))]


# Source: PTX ISA, "Special Registers". Versions before that of the oldest target are left out.
SPECIAL: Final = _entries("""
    tid[4]                       u32  -            thread's index in the CTA
    ntid[4]                      u32  -            number of threads in each dimension of the CTA
    laneid                       u32  -            lane of the thread in its warp
    warpid                       u32  -            warp of the thread; may change while it runs
    nwarpid                      u32  -            largest number of warp identifiers
    ctaid[4]                     u32  -            CTA's index in the grid
    nctaid[4]                    u32  -            number of CTAs in each dimension of the grid
    smid                         u32  -            SM of the thread; may change while it runs
    nsmid                        u32  -            largest number of SM identifiers
    gridid                       u64  -            identifier of the grid
    is_explicit_cluster          pred sm_90,7.8    whether the launch named a cluster
    clusterid[4]                 u32  sm_90,7.8    cluster's index in the grid
    nclusterid[4]                u32  sm_90,7.8    number of clusters in each dimension of the grid
    cluster_ctaid[4]             u32  sm_90,7.8    CTA's index in the cluster
    cluster_nctaid[4]            u32  sm_90,7.8    number of CTAs in each dimension of the cluster
    cluster_ctarank              u32  sm_90,7.8    CTA's rank in the cluster
    cluster_nctarank             u32  sm_90,7.8    number of CTAs in the cluster
    lanemask_eq                  u32  -            mask with the thread's lane
    lanemask_le                  u32  -            mask with the lanes up to the thread's
    lanemask_lt                  u32  -            mask with the lanes before the thread's
    lanemask_ge                  u32  -            mask with the lanes from the thread's on
    lanemask_gt                  u32  -            mask with the lanes after the thread's
    clock                        u32  -            cycle counter, lower half
    clock_hi                     u32  -            cycle counter, upper half
    clock64                      u64  -            cycle counter
    pm<8>                        u32  -            performance monitor counter
    pm<8>_64                     u64  -            performance monitor counter, 64 bits
    envreg<32>                   b32  -            register that the driver defines
    globaltimer                  u64  -            global nanosecond timer
    globaltimer_lo               u32  -            global nanosecond timer, lower half
    globaltimer_hi               u32  -            global nanosecond timer, upper half
    reserved_smem_offset_begin   b32  sm_80,7.6    start of the reserved shared memory
    reserved_smem_offset_end     b32  sm_80,7.6    end of the reserved shared memory
    reserved_smem_offset_cap     b32  sm_80,7.6    end of the shared memory that may be reserved
    reserved_smem_offset_<2>     b32  sm_80,7.6    offset in the reserved shared memory
    total_smem_size              u32  -            bytes of shared memory, without reserved
    aggr_smem_size               u32  sm_90,8.1    bytes of shared memory, with reserved
    dynamic_smem_size            u32  -            bytes of dynamic shared memory of the CTA
    current_graph_exec           u64  ,8.0         identifier of the running CUDA graph, or 0
    perctamemoryoffset           u64  sm_80,9.4    address of the CTA's own global memory
    perctamemorysize             u32  sm_80,9.4    bytes of the CTA's own global memory
""")
"""Every special register by its name, such as "tid.x"."""
