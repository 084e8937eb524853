"""Names of the other public pyptx, CUDA C++, Triton, Numba and Warp, and what to write instead."""

from __future__ import annotations

from typing import Final

CURES: Final[dict[str, str]] = {
    "alloc": "reg.scalar(dtype) is a register, smem.alloc(dtype, shape) shared memory",
    "alloc_array": "reg.array(dtype, count)",
    "alloc_with_layout": "smem.wgmma_tile(dtype, shape, major)",
    "collector_a": 'collector="a::fill"',
    "cvta": "ptx.global_ptrs(X), or ptx.inst.cvta.to.global_.u64(address)",
    "detect_arch": 'arch="auto", the default of kernel',
    "differentiable_kernel": "jax.custom_vjp around two kernels",
    "expr": "leave it out: the instructions stand by themselves",
    "file_": "leave it out: k.ptx(lines=True) has the lines of the program",
    "intrinsic": "a Python function is inlined; ptx.func makes a device function",
    "loc": "leave it out: k.ptx(lines=True) has the lines of the program",
    "loop_label": "leave it out: labels are made for you",
    "pipe": "ptx.inst.<opcode>(a, b) gives its destination, which the next instruction takes",
    "raw_params": "Scalar(u32) in in_specs, or ptx.param(u32, name) in the body",
    "scale_c": "scale_input_d=n divides D by 2**n, enable_input_d= says whether D is added",
    "scale_d": "enable_input_d= says whether D is added",
    "sparse": "sparse_metadata=, the address of the metadata",
    "stmatrix_x4_trans_f32_bf16": "ptx.inst.cvt.rn.bf16x2.f32, then ptx.stmatrix(trans=True)",
    "tma": "ptx.cp.async_.bulk.tensor_3d(dst=, src=, coord=, mbar=), and its .store",
    "tma_padding": "layout=Layout.TMA_128B: a swizzle avoids bank conflicts without padding",
    "tma_rank": "a Tile of that rank, with a size of tma_box= for each dimension",
    "var": "ptx.const, ptx.global_ and ptx.local, or smem.alloc",
}
"""Of the other public pyptx."""

_EXP: Final = "ptx.math has exp, log, sqrt, rsqrt, tanh and others; ptx.inst has the instructions"
_ATOMIC: Final = (
    "ptx.inst.red.global_.add.f32(Y.address(i), v); ptx.inst.atom gives the old value too"
)

ELSEWHERE: Final[dict[str, str]] = {
    **dict.fromkeys(("threadIdx", "thread_id", "tid"), "ptx.special.tid.x()"),
    **dict.fromkeys(("blockIdx", "block_id", "program_id"), "ptx.special.ctaid.x()"),
    **dict.fromkeys(("blockDim", "block_dim"), "ptx.special.ntid.x()"),
    **dict.fromkeys(("gridDim", "grid_dim", "num_programs"), "ptx.special.nctaid.x()"),
    **dict.fromkeys(("laneId", "lane_id", "laneid"), "ptx.special.laneid()"),
    **dict.fromkeys(("warpId", "warp_id", "warpid"), "ptx.special.warpid()"),
    "grid": "ptx.special.ctaid.x() * ptx.special.ntid.x() + ptx.special.tid.x(), or .y, .z",
    **dict.fromkeys(("syncthreads", "debug_barrier", "sync_threads"), "ptx.bar.sync()"),
    **dict.fromkeys(("syncwarp", "sync_warp"), "ptx.inst.bar.warp.sync(0xffffffff)"),
    "threadfence": "ptx.inst.fence.acq_rel.gpu()",
    "threadfence_block": "ptx.inst.fence.acq_rel.cta()",
    **dict.fromkeys(("atomic_add", "atomicAdd", "atomic"), _ATOMIC),
    **dict.fromkeys(
        ("shfl_down", "shfl_down_sync"), "ptx.inst.shfl.sync.down.b32(r, n, 31, 0xffffffff)"
    ),
    **dict.fromkeys(("shfl_up", "shfl_up_sync"), "ptx.inst.shfl.sync.up.b32(r, n, 0, 0xffffffff)"),
    **dict.fromkeys(
        ("shfl_xor", "shfl_xor_sync"), "ptx.inst.shfl.sync.bfly.b32(r, n, 31, 0xffffffff)"
    ),
    **dict.fromkeys(
        ("shfl", "shfl_sync", "shuffle"), "ptx.inst.shfl.sync.idx.b32(r, lane, 31, 0xffffffff)"
    ),
    **dict.fromkeys(("ballot", "ballot_sync"), "ptx.inst.vote.sync.ballot.b32(p, 0xffffffff)"),
    **dict.fromkeys(("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf"), _EXP),
    **dict.fromkeys(("maximum", "fmax", "max"), "ptx.inst.max.f32(a, b), or .s32, .u32 and so on"),
    **dict.fromkeys(("minimum", "fmin", "min"), "ptx.inst.min.f32(a, b), or .s32, .u32 and so on"),
    "fma": "ptx.inst.fma.rn.f32(a, b, c)",
    **dict.fromkeys(("astype", "to", "cast"), "ptx.inst.cvt.rn.f32.u32(r), and so on"),
    **dict.fromkeys(("item", "tolist", "numpy"), "Y[i] = r stores it; the call returns Y"),
    "abs": "abs(r)",
    "sum": "ptx.warp.reduce_sum(r) over a warp, ptx.cta.reduce_sum(r) over a CTA",
    "dot": "ptx.mma, ptx.wgmma or ptx.tcgen05",
    "arange": "each thread has its own index: ptx.special.tid.x()",
    **dict.fromkeys(("zeros", "full"), "reg.array(f32, n), smem.alloc(f32, shape)"),
    **dict.fromkeys(("shared_array", "SharedArray"), "smem.alloc(f32, shape)"),
    "load": "X[i], or X.load(i, vector=4) of a tensor X",
    "store": "Y[i] = v, or Y.store(i, values) of a tensor Y",
    "static_range": "range(n) of Python, which is unrolled",
    **dict.fromkeys(("device_print", "print"), "ptx.printf(format, ...)"),
    "constexpr": "a keyword-only parameter of the kernel is a compile-time constant",
}
"""Of CUDA C++, Triton, Numba and Warp, as names of `ptx`, `reg`, `smem` and what is in them."""


def cure(name: str) -> tuple[tuple[str, str], ...]:
    """The note of an error about this name, none where there is nothing to say."""
    return (("instead", CURES[name]),) if name in CURES else ()


def of_other_languages(name: str) -> tuple[tuple[str, str], ...]:
    """The note where a kernel's body uses a name that another language for GPUs has."""
    return (("instead", ELSEWHERE[name]),) if name in ELSEWHERE and name not in CURES else ()
