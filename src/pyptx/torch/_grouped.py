"""`grouped_mm`: consecutive groups of rows, each multiplied by a matrix of its own."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import torch

from pyptx._runtime import targets
from pyptx._runtime.torch.tensors import dtype_name
from pyptx.errors import CallError
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.factors import DTYPES
from pyptx.ops.tensor_core.shape import Major
from pyptx.torch import _arguments as arguments
from pyptx.torch._differentiable import differentiable
from pyptx.torch._matmul import check_types, result_type
from pyptx.torch._products import in_memory, ragged, tensor_type
from pyptx.types import DType, bf16


@arguments.operation
def grouped_mm(
    mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    """`torch.nn.functional.grouped_mm` for groups whose lengths are known at run time.

    mat_a      (M, K): bfloat16, float16 or float32
    mat_b      (G, K, N) of the same type, a matrix for each group of rows; G at most 2048. Or
               (K, N), for groups along K; under autocast both are converted to its type
    offs       (G,) int32 on the same device, not decreasing: where each group ends
    out_dtype  of the result: bfloat16, float16 or float32; by default mat_a's type
    returns    (M, N); zeros in rows after the last group. For groups along K (G, M, N), with zeros
               for an empty group

    Transposed matrices, such as `weight.mT` and `mat_a.t()` for groups along K, are not copied. One
    launch computes all groups. Kernels compute first derivatives, PyTorch's operators those of
    higher order. `matmul` multiplies two batches of matrices. bias is not supported. Everything
    else is as in `matmul`. Raises CallError.
    """
    check_types("grouped_mm", DTYPES, mat_a=mat_a, mat_b=mat_b)
    wanted = arguments.autocast_type(mat_a.device.type)
    if wanted is None and mat_a.dtype != mat_b.dtype:
        raise CallError(
            f"mat_a has elements of type {dtype_name(mat_a.dtype)} and mat_b of "
            f"{dtype_name(mat_b.dtype)}; grouped_mm takes one type",
            notes=(("help", "mat_b.to(mat_a.dtype)"),),
        )
    kind = mat_a.dtype if wanted is None else wanted
    plan.check("grouped_mm", targets.chosen(), bf16)
    out = result_type(kind if out_dtype is None else out_dtype)
    if bias is not None:
        raise CallError(
            "bias is given, and grouped_mm adds none",
            notes=(("help", "grouped_mm(...) + bias[group_of_each_row]"),),
        )
    _check_shapes(mat_a, mat_b)
    check_ends("grouped_mm", offs, mat_b)

    def run(mat_a: Any, mat_b: Any, *, offs: Any, **_: Any) -> Any:
        a, b = mat_a.to(kind), mat_b.to(kind)
        lengths = lengths_of(offs)
        b, b_major = in_memory(b, "MN")
        if b.ndim == 2:
            a = a.t() if arguments.is_contiguous(a.t()) else a.t().contiguous()
            b = b if b_major == "MN" else b.t().contiguous()
            return _parts(out).run(a, b, lengths)
        return _rows(b_major, out).run(a.contiguous(), b, lengths)

    return run


def lengths_of(ends: Any) -> Any:
    """The lengths of consecutive groups that end there."""
    return torch.diff(ends, prepend=ends.new_zeros(1))


# ---- both products and their derivatives ---------------------------------------------------------


@lru_cache(plan.KEPT)
def _rows(b_major: Major, out: DType) -> Any:
    """a (M, K) and b (groups, K, N), or (groups, N, K), to (M, N)."""

    def grouped_mm(a: Any, b: Any, lengths: Any) -> Any:
        return ragged("M", b_major, out, a, b, lengths)

    def forward(a: Any, b: Any, lengths: Any) -> Any:
        return grouped_mm(a, b, lengths), (a, b, lengths)

    def backward(saved: Any, g: Any) -> Any:
        a, b, lengths = saved
        dtype = DTYPES[dtype_name(a.dtype)]
        da = ragged("M", "MN" if b_major == "K" else "K", dtype, g, b, lengths)
        pair = (a, g) if b_major == "MN" else (g, a)
        return da, ragged("K", "MN", dtype, *pair, lengths), None

    def reference(a: Any, b: Any, lengths: Any) -> Any:
        b = (b if b_major == "MN" else b.mT).float()
        total = a.new_zeros((a.shape[0], b.shape[2]), dtype=torch.float32)
        for i in range(b.shape[0]):
            total = total + _in_group(a, lengths, i).float() @ b[i]
        return total.to(tensor_type(out))

    return differentiable(grouped_mm, forward, backward, reference=reference)


@lru_cache(plan.KEPT)
def _parts(out: DType) -> Any:
    """a (K, M) and b (K, N) to (groups, M, N)."""

    def grouped_mm(a: Any, b: Any, lengths: Any) -> Any:
        return ragged("K", "MN", out, a, b, lengths)

    def forward(a: Any, b: Any, lengths: Any) -> Any:
        return grouped_mm(a, b, lengths), (a, b, lengths)

    def backward(saved: Any, g: Any) -> Any:
        a, b, lengths = saved
        dtype = DTYPES[dtype_name(a.dtype)]
        da = ragged("M", "K", dtype, b, g, lengths)
        return da, ragged("M", "MN", dtype, a, g, lengths), None

    def reference(a: Any, b: Any, lengths: Any) -> Any:
        groups = range(lengths.shape[0])
        found = [_in_group(a, lengths, i).float().t() @ b.float() for i in groups]
        return torch.stack(found).to(tensor_type(out))

    return differentiable(grouped_mm, forward, backward, reference=reference)


def _in_group(x: Any, lengths: Any, group: int) -> Any:
    """The rows of one group, and zeros for the others."""
    ends = torch.cumsum(lengths, 0)
    row = torch.arange(x.shape[0], device=x.device)
    inside = (row < ends[group]) & (row >= ends[group] - lengths[group])
    return torch.where(inside[:, None], x, 0.0)


# ---- checks --------------------------------------------------------------------------------------


def _check_shapes(a: Any, b: Any) -> None:
    depth: Literal[0, 1] = 1 if b.ndim == 3 else 0
    if a.ndim != 2 or b.ndim not in (2, 3) or a.shape[1] != b.shape[depth]:
        raise CallError(
            f"mat_a has shape {tuple(a.shape)} and mat_b {tuple(b.shape)}",
            notes=(
                ("legal", "(M, K) and (G, K, N), or (M, K) and (K, N) for groups along K"),
                ("help", "pyptx.torch.matmul multiplies two batches of matrices"),
            ),
        )


def check_ends(name: str, ends: Any, b: Any) -> None:
    """Raises CallError for what are no ends of groups."""
    if not isinstance(ends, torch.Tensor) or ends.dtype != torch.int32 or ends.ndim != 1:
        found = type(ends).__name__
        if isinstance(ends, torch.Tensor):
            found = f"{dtype_name(ends.dtype)} of shape {tuple(ends.shape)}"
        raise CallError(
            f"offs is {found}, and must be a vector of int32",
            notes=(("help", "offs = torch.cumsum(lengths, 0, dtype=torch.int32)"),),
        )
    groups = ends.shape[0]
    if b.ndim == 3 and b.shape[0] != groups:
        raise CallError(
            f"offs has {groups} elements, and mat_b {b.shape[0]} matrices",
            notes=(("legal", "an end for each matrix"),),
        )
    if isinstance(groups, int) and groups > plan.MOST_GROUPS:
        raise CallError(f"offs has {groups} groups, and {name} takes {plan.MOST_GROUPS}")
