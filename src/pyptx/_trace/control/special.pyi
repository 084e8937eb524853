# Written by `python -m pyptx._isa.stub` from the ISA table.

from typing import Final

from pyptx._trace.core.values import Special

class _tid:
    def x(self) -> Special:
        """Thread's index in the CTA, .u32."""

    def y(self) -> Special:
        """Thread's index in the CTA, .u32."""

    def z(self) -> Special:
        """Thread's index in the CTA, .u32."""

    def w(self) -> Special:
        """Thread's index in the CTA, .u32."""

class _ntid:
    def x(self) -> Special:
        """Number of threads in each dimension of the CTA, .u32."""

    def y(self) -> Special:
        """Number of threads in each dimension of the CTA, .u32."""

    def z(self) -> Special:
        """Number of threads in each dimension of the CTA, .u32."""

    def w(self) -> Special:
        """Number of threads in each dimension of the CTA, .u32."""

class _ctaid:
    def x(self) -> Special:
        """CTA's index in the grid, .u32."""

    def y(self) -> Special:
        """CTA's index in the grid, .u32."""

    def z(self) -> Special:
        """CTA's index in the grid, .u32."""

    def w(self) -> Special:
        """CTA's index in the grid, .u32."""

class _nctaid:
    def x(self) -> Special:
        """Number of CTAs in each dimension of the grid, .u32."""

    def y(self) -> Special:
        """Number of CTAs in each dimension of the grid, .u32."""

    def z(self) -> Special:
        """Number of CTAs in each dimension of the grid, .u32."""

    def w(self) -> Special:
        """Number of CTAs in each dimension of the grid, .u32."""

class _clusterid:
    def x(self) -> Special:
        """Cluster's index in the grid, .u32."""

    def y(self) -> Special:
        """Cluster's index in the grid, .u32."""

    def z(self) -> Special:
        """Cluster's index in the grid, .u32."""

    def w(self) -> Special:
        """Cluster's index in the grid, .u32."""

class _nclusterid:
    def x(self) -> Special:
        """Number of clusters in each dimension of the grid, .u32."""

    def y(self) -> Special:
        """Number of clusters in each dimension of the grid, .u32."""

    def z(self) -> Special:
        """Number of clusters in each dimension of the grid, .u32."""

    def w(self) -> Special:
        """Number of clusters in each dimension of the grid, .u32."""

class _cluster_ctaid:
    def x(self) -> Special:
        """CTA's index in the cluster, .u32."""

    def y(self) -> Special:
        """CTA's index in the cluster, .u32."""

    def z(self) -> Special:
        """CTA's index in the cluster, .u32."""

    def w(self) -> Special:
        """CTA's index in the cluster, .u32."""

class _cluster_nctaid:
    def x(self) -> Special:
        """Number of CTAs in each dimension of the cluster, .u32."""

    def y(self) -> Special:
        """Number of CTAs in each dimension of the cluster, .u32."""

    def z(self) -> Special:
        """Number of CTAs in each dimension of the cluster, .u32."""

    def w(self) -> Special:
        """Number of CTAs in each dimension of the cluster, .u32."""

class Specials:
    """The special registers, as operands of `mov`."""

    tid: _tid
    """Thread's index in the CTA, .u32."""

    ntid: _ntid
    """Number of threads in each dimension of the CTA, .u32."""

    def laneid(self) -> Special:
        """Lane of the thread in its warp, .u32."""

    def warpid(self) -> Special:
        """Warp of the thread; may change while it runs, .u32."""

    def nwarpid(self) -> Special:
        """Largest number of warp identifiers, .u32."""

    ctaid: _ctaid
    """CTA's index in the grid, .u32."""

    nctaid: _nctaid
    """Number of CTAs in each dimension of the grid, .u32."""

    def smid(self) -> Special:
        """SM of the thread; may change while it runs, .u32."""

    def nsmid(self) -> Special:
        """Largest number of SM identifiers, .u32."""

    def gridid(self) -> Special:
        """Identifier of the grid, .u64."""

    def is_explicit_cluster(self) -> Special:
        """Whether the launch named a cluster, .pred."""

    clusterid: _clusterid
    """Cluster's index in the grid, .u32."""

    nclusterid: _nclusterid
    """Number of clusters in each dimension of the grid, .u32."""

    cluster_ctaid: _cluster_ctaid
    """CTA's index in the cluster, .u32."""

    cluster_nctaid: _cluster_nctaid
    """Number of CTAs in each dimension of the cluster, .u32."""

    def cluster_ctarank(self) -> Special:
        """CTA's rank in the cluster, .u32."""

    def cluster_nctarank(self) -> Special:
        """Number of CTAs in the cluster, .u32."""

    def lanemask_eq(self) -> Special:
        """Mask with the thread's lane, .u32."""

    def lanemask_le(self) -> Special:
        """Mask with the lanes up to the thread's, .u32."""

    def lanemask_lt(self) -> Special:
        """Mask with the lanes before the thread's, .u32."""

    def lanemask_ge(self) -> Special:
        """Mask with the lanes from the thread's on, .u32."""

    def lanemask_gt(self) -> Special:
        """Mask with the lanes after the thread's, .u32."""

    def clock(self) -> Special:
        """Cycle counter, lower half, .u32."""

    def clock_hi(self) -> Special:
        """Cycle counter, upper half, .u32."""

    def clock64(self) -> Special:
        """Cycle counter, .u64."""

    def pm0(self) -> Special:
        """Performance monitor counter, .u32."""

    def pm1(self) -> Special:
        """Performance monitor counter, .u32."""

    def pm2(self) -> Special:
        """Performance monitor counter, .u32."""

    def pm3(self) -> Special:
        """Performance monitor counter, .u32."""

    def pm4(self) -> Special:
        """Performance monitor counter, .u32."""

    def pm5(self) -> Special:
        """Performance monitor counter, .u32."""

    def pm6(self) -> Special:
        """Performance monitor counter, .u32."""

    def pm7(self) -> Special:
        """Performance monitor counter, .u32."""

    def pm0_64(self) -> Special:
        """Performance monitor counter, 64 bits, .u64."""

    def pm1_64(self) -> Special:
        """Performance monitor counter, 64 bits, .u64."""

    def pm2_64(self) -> Special:
        """Performance monitor counter, 64 bits, .u64."""

    def pm3_64(self) -> Special:
        """Performance monitor counter, 64 bits, .u64."""

    def pm4_64(self) -> Special:
        """Performance monitor counter, 64 bits, .u64."""

    def pm5_64(self) -> Special:
        """Performance monitor counter, 64 bits, .u64."""

    def pm6_64(self) -> Special:
        """Performance monitor counter, 64 bits, .u64."""

    def pm7_64(self) -> Special:
        """Performance monitor counter, 64 bits, .u64."""

    def envreg0(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg1(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg2(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg3(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg4(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg5(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg6(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg7(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg8(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg9(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg10(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg11(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg12(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg13(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg14(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg15(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg16(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg17(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg18(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg19(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg20(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg21(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg22(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg23(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg24(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg25(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg26(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg27(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg28(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg29(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg30(self) -> Special:
        """Register that the driver defines, .b32."""

    def envreg31(self) -> Special:
        """Register that the driver defines, .b32."""

    def globaltimer(self) -> Special:
        """Global nanosecond timer, .u64."""

    def globaltimer_lo(self) -> Special:
        """Global nanosecond timer, lower half, .u32."""

    def globaltimer_hi(self) -> Special:
        """Global nanosecond timer, upper half, .u32."""

    def reserved_smem_offset_begin(self) -> Special:
        """Start of the reserved shared memory, .b32."""

    def reserved_smem_offset_end(self) -> Special:
        """End of the reserved shared memory, .b32."""

    def reserved_smem_offset_cap(self) -> Special:
        """End of the shared memory that may be reserved, .b32."""

    def reserved_smem_offset_0(self) -> Special:
        """Offset in the reserved shared memory, .b32."""

    def reserved_smem_offset_1(self) -> Special:
        """Offset in the reserved shared memory, .b32."""

    def total_smem_size(self) -> Special:
        """Bytes of shared memory, without reserved, .u32."""

    def aggr_smem_size(self) -> Special:
        """Bytes of shared memory, with reserved, .u32."""

    def dynamic_smem_size(self) -> Special:
        """Bytes of dynamic shared memory of the CTA, .u32."""

    def current_graph_exec(self) -> Special:
        """Identifier of the running CUDA graph, or 0, .u64."""

    def perctamemoryoffset(self) -> Special:
        """Address of the CTA's own global memory, .u64."""

    def perctamemorysize(self) -> Special:
        """Bytes of the CTA's own global memory, .u32."""

special: Final[Specials]
