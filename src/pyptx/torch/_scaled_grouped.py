"""`scaled_grouped_mm`: groups of rows of 8-bit floats, each multiplied by a matrix of its own."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import Any

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
from pyptx.torch._products import ragged


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
    """`torch._scaled_grouped_mm` in a kernel, for groups of rows.

    mat_a           (M, K), float8_e4m3fn or float8_e5m2
    mat_b           (G, K, N) of either of these types, a matrix for each group of rows; G at most
                    2048. Transposed (G, N, K) are not copied, others are
    scale_a         float32: one number, or (M) for each row, or (M, ceil(K / 128)) for each row and
                    128 of K
    scale_b         float32: one number, or (G, N) for each column, or for each 128 of K and each
                    128 columns, (G, ceil(K / 128), ceil(N / 128)), or each column,
                    (G, ceil(K / 128), N)
    offs            (G) int32 on the same device, not decreasing: where each group ends
    out_dtype       bfloat16, float16 or float32; by default bfloat16
    use_fast_accum  has no effect: sums of 128 products are added in float32
    returns         (M, N); zeros in rows after the last group

    One launch computes all groups. Runs on sm_89 and later, and on the CPU. Derivatives, groups
    along K, bias and scale_result are not supported. Raises CallError.
    """
    del use_fast_accum
    check_types("scaled_grouped_mm", FLOAT8, mat_a=mat_a, mat_b=mat_b)
    plan.check("scaled_grouped_mm", targets.chosen(), FLOAT8[dtype_name(mat_a.dtype)])
    out = result_type(torch.bfloat16 if out_dtype is None else out_dtype)
    if mat_a.ndim != 2 or mat_b.ndim != 3 or mat_a.shape[1] != mat_b.shape[1]:
        raise CallError(
            f"mat_a has shape {tuple(mat_a.shape)} and mat_b {tuple(mat_b.shape)}",
            notes=(("legal", "(M, K) and (G, K, N)"),),
        )
    check_ends("scaled_grouped_mm", offs, mat_b)
    for name, each in (("bias", bias), ("scale_result", scale_result)):
        if each is not None:
            raise CallError(f"{name} is given, and scaled_grouped_mm takes none")
    n = mat_b.shape[2]
    depth, across = ((size + BLOCK - 1) // BLOCK for size in (mat_a.shape[1], n))
    kind = _kind(mat_a.shape[0], mat_b.shape[0], (depth, across, n), scale_a, scale_b)

    def run(
        mat_a: Any, mat_b: Any, scale_a: Any, scale_b: Any, offs: Any, *_: Any, **__: Any
    ) -> Any:
        m, groups = mat_a.shape[0], mat_b.shape[0]
        wide = across if kind == "block" else n
        rows = scale_a[:, None] if scale_a.ndim == 1 and scale_a.shape[0] == m else scale_a
        columns = scale_b[:, None] if scale_b.ndim == 2 else scale_b
        scales = rows.expand(m, depth), columns.expand(groups, depth, wide)
        b = mat_b.mT.contiguous()
        with torch.no_grad():
            return ragged(
                "M", "K", out, mat_a.contiguous(), b, lengths_of(offs),
                kind, [each.contiguous() for each in scales],
            )  # fmt: skip

    return run


def _kind(m: Any, groups: Any, sizes: tuple[Any, Any, Any], scale_a: Any, scale_b: Any) -> Blocks:
    """What has a scale of b. Raises CallError for scales of other shapes."""
    depth, across, n = sizes
    blocks = (groups, depth, across)
    check_scale("scale_a", scale_a, ((), (1,), (m,), (m, depth)))
    check_scale("scale_b", scale_b, ((), (1,), (groups, n), blocks, (groups, depth, n)))
    return "block" if scale_b.numel() == 1 or tuple(scale_b.shape) == blocks else "column"
