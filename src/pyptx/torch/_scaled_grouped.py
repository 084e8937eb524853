"""`scaled_grouped_mm`: products of groups of rows, or of parts of K, of 8-bit floats."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import torch

from pyptx._runtime import targets
from pyptx._runtime.torch.tensors import dtype_name
from pyptx.errors import CallError
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.factors import FLOAT8
from pyptx.ops.tensor_core.shape import BLOCK, Blocks
from pyptx.torch import _arguments as arguments
from pyptx.torch._grouped import check_ends, lengths_of
from pyptx.torch._matmul import check_scale, check_types, result_type
from pyptx.torch._products import ragged, tensor_type
from pyptx.types import DType, f32


@arguments.operation
def scaled_grouped_mm(
    mat_a: Any,
    mat_b: Any,
    scale_a: Any,
    scale_b: Any,
    offs: Any = None,
    bias: Any = None,
    scale_result: Any = None,
    out_dtype: Any = None,
    use_fast_accum: Any = False,
) -> Any:
    """`torch._scaled_grouped_mm` in a kernel, for groups of rows and for groups along K.

    mat_a           (M, K), float8_e4m3fn or float8_e5m2
    mat_b           (G, K, N) of either of these types, a matrix for each group of rows; G at most
                    2048. Transposed (G, N, K) are not copied, others are. Or (K, N), for groups
                    along K
    scale_a         float32: one number, or (M) for each row, or (M, ceil(K / 128)) for each row and
                    128 of K. For groups along K one number, or (G * M) for each row of each group
    scale_b         float32: one number, or (G, N) for each column, or for each 128 of K and each
                    128 columns, (G, ceil(K / 128), ceil(N / 128)), or each column,
                    (G, ceil(K / 128), N). For groups along K one number, or (G * N)
    offs            (G) int32 on the same device, not decreasing: where each group ends
    out_dtype       bfloat16, float16 or float32; by default bfloat16
    use_fast_accum  has no effect: sums of 128 products are added in float32
    returns         (M, N); zeros in rows after the last group. For groups along K (G, M, N), with
                    zeros for an empty group

    One launch computes all groups. For groups along K the matrices are converted to bfloat16 first,
    which is exact, and the float32 sums are multiplied by the scales after the launch. Runs on
    sm_89 and later, and on the CPU. Derivatives, bias and scale_result are not supported. Raises
    CallError.
    """
    del use_fast_accum
    check_types("scaled_grouped_mm", FLOAT8, mat_a=mat_a, mat_b=mat_b)
    plan.check("scaled_grouped_mm", targets.chosen(), FLOAT8[dtype_name(mat_a.dtype)])
    out = result_type(torch.bfloat16 if out_dtype is None else out_dtype)
    _check_shapes(mat_a, mat_b)
    check_ends("scaled_grouped_mm", offs, mat_b)
    for name, each in (("bias", bias), ("scale_result", scale_result)):
        if each is not None:
            raise CallError(f"{name} is given, and scaled_grouped_mm takes none")
    if mat_b.ndim == 2:
        groups = offs.shape[0]
        check_scale("scale_a", scale_a, ((), (1,), (groups * mat_a.shape[0],)))
        check_scale("scale_b", scale_b, ((), (1,), (groups * mat_b.shape[1],)))
        product = partial(_parts, out)
    else:
        product = partial(_rows, out, _kind(mat_a, mat_b, scale_a, scale_b))

    def run(
        mat_a: Any, mat_b: Any, scale_a: Any, scale_b: Any, offs: Any, *_: Any, **__: Any
    ) -> Any:
        with torch.no_grad():
            return product(mat_a, mat_b, scale_a, scale_b, lengths_of(offs))

    return run


def _rows(
    out: DType, kind: Blocks, a: Any, b: Any, scale_a: Any, scale_b: Any, lengths: Any
) -> Any:
    """a (M, K) and b (G, K, N) to (M, N)."""
    m, groups = a.shape[0], b.shape[0]
    depth, across, n = _blocks(b)
    rows = scale_a[:, None] if scale_a.ndim == 1 and scale_a.shape[0] == m else scale_a
    columns = scale_b[:, None] if scale_b.ndim == 2 else scale_b
    wide = across if kind == "block" else n
    scales = rows.expand(m, depth), columns.expand(groups, depth, wide)
    return ragged(
        "M", "K", out, a.contiguous(), b.mT.contiguous(), lengths,
        kind, [each.contiguous() for each in scales],
    )  # fmt: skip


def _parts(out: DType, a: Any, b: Any, scale_a: Any, scale_b: Any, lengths: Any) -> Any:
    """a (M, K) and b (K, N) to (G, M, N)."""
    columns, rows = (
        x.to(torch.bfloat16, memory_format=torch.contiguous_format) for x in (a.t(), b)
    )
    sums = ragged("K", "MN", f32, columns, rows, lengths)
    groups, m, n = sums.shape
    of_a = scale_a if scale_a.numel() == 1 else scale_a.reshape(groups, m, 1)
    of_b = scale_b if scale_b.numel() == 1 else scale_b.reshape(groups, 1, n)
    return (sums * of_a * of_b).to(tensor_type(out))


def _blocks(b: Any) -> tuple[Any, Any, Any]:
    """Blocks of K, blocks of columns, and columns of (..., K, N)."""
    k, n = b.shape[-2:]
    return (k + BLOCK - 1) // BLOCK, (n + BLOCK - 1) // BLOCK, n


def _check_shapes(mat_a: Any, mat_b: Any) -> None:
    depth: Literal[0, 1] = 1 if mat_b.ndim == 3 else 0
    if mat_a.ndim != 2 or mat_b.ndim not in (2, 3) or mat_a.shape[1] != mat_b.shape[depth]:
        raise CallError(
            f"mat_a has shape {tuple(mat_a.shape)} and mat_b {tuple(mat_b.shape)}",
            notes=(("legal", "(M, K) and (G, K, N), or (M, K) and (K, N) for groups along K"),),
        )


def _kind(a: Any, b: Any, scale_a: Any, scale_b: Any) -> Blocks:
    """What has a scale of b. Raises CallError for scales of other shapes."""
    m, groups = a.shape[0], b.shape[0]
    depth, across, n = _blocks(b)
    blocks = (groups, depth, across)
    check_scale("scale_a", scale_a, ((), (1,), (m,), (m, depth)))
    check_scale("scale_b", scale_b, ((), (1,), (groups, n), blocks, (groups, depth, n)))
    return "block" if scale_b.numel() == 1 or tuple(scale_b.shape) == blocks else "column"
