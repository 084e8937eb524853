"""Names and keywords of the other public pyptx that are not here, and what to write instead."""

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


def cure(name: str) -> tuple[tuple[str, str], ...]:
    """The note of an error about this name, none where there is nothing to say."""
    return (("instead", CURES[name]),) if name in CURES else ()
