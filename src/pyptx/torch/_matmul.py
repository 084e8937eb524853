"""`matmul` and `scaled_mm` as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from pyptx._runtime import targets
from pyptx._runtime.torch.tensors import dtype_name
from pyptx.errors import CallError
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.epilogue import Layer
from pyptx.ops.tensor_core.factors import DTYPES, FLOAT8, INT8, Call
from pyptx.ops.tensor_core.shape import BLOCK, Blocks
from pyptx.torch import _arguments as arguments
from pyptx.torch._products import as_rows, computed, dot, in_memory, takes_tf32
from pyptx.torch._products_split import is_split_inside, reshaped, rows
from pyptx.types import DType, bf16, s32


@arguments.operation
def matmul(input: Any, other: Any, *, out_dtype: Any = None) -> Any:
    """`torch.matmul` on tensor cores: sums in float32, rounded once.

    input      (..., M, K) or (K): bfloat16, float16 or float32
    other      (..., K, N) or (K), of the same type; under autocast both are converted to its type
    out_dtype  of the result: bfloat16, float16 or float32; by default input's type
    returns    (..., M, N); dimensions before the last two are broadcast

    A transposed matrix, such as `weight.t()`, is not copied; a matrix that is contiguous in neither
    order is copied. Each float32 number is split into three bfloat16 numbers, and the six largest
    products are added: the error is that of float32 sums, at six times the work of bfloat16. After
    `torch.set_float32_matmul_precision("high")` or "medium" each is rounded to 10 bits of fraction
    instead, for one product of tf32 numbers.

    If rows in memory are not a multiple of 16 bytes, a copy pads them first. The order of a sum
    depends only on the sizes, so results are the same in every run. The same kernels compute first
    derivatives, PyTorch's operators those of higher order. A result of more bits than input has
    has a gradient of as many, which are all multiplied: float32 by bfloat16 is three bfloat16
    products, by float16 five. `scaled_mm` multiplies 8-bit types. Raises CallError.
    """
    check_types("matmul", DTYPES, input=input, other=other)
    wanted = arguments.autocast_type(input.device.type)
    if wanted is None and input.dtype != other.dtype:
        raise CallError(
            f"input has elements of type {dtype_name(input.dtype)} and other of "
            f"{dtype_name(other.dtype)}; matmul takes one type",
            notes=(("help", "other.to(input.dtype)"),),
        )
    kind = input.dtype if wanted is None else wanted
    plan.check("matmul", targets.chosen(), bf16)
    out = result_type(kind if out_dtype is None else out_dtype)
    _check_shapes(input, other)
    tf32 = takes_tf32(kind)

    def run(input: Any, other: Any, **_: Any) -> Any:  # out_dtype is known
        a, b = input.to(kind), other.to(kind)
        vector_a, vector_b = a.ndim == 1, b.ndim == 1
        d = _batched(out, tf32, a[None] if vector_a else a, b[:, None] if vector_b else b)
        d = d[..., 0, :] if vector_a else d
        return d[..., 0] if vector_b else d

    return run


def _batched(out: DType, tf32: bool, a: Any, b: Any) -> Any:
    """Matrices along leading dimensions, which are broadcast."""
    lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, n = a.shape[-2], b.shape[-1]
    if _shared(b) and is_split_inside(a):
        one, back = rows(a.expand(*lead, *a.shape[-2:]))
        return back(_batched(out, tf32, one, b.reshape(b.shape[-2:])))
    if _shared(b) and (a.ndim == 2 or arguments.is_contiguous(a)):  # one matrix for all rows of a
        flat, a_major = in_memory(as_rows(a) if a.ndim > 2 else a, "K")
        a, b = flat, b.reshape(b.shape[-2:])
    else:
        a, b = (_batch(x, lead) for x in (a, b))
        a, a_major = in_memory(a, "K")
    b, b_major = in_memory(b, "MN")
    d = dot(Call(a_major, b_major, out, tf32=tf32)).run(a, b)
    return reshaped(d, (*lead, m, n))


def _shared(x: Any) -> bool:
    return all(isinstance(size, int) and size == 1 for size in x.shape[:-2])


def _batch(x: Any, lead: Any) -> Any:
    """One matrix for all of the batch, or one for each of it, along one dimension."""
    if _shared(x):
        return x.reshape(x.shape[-2:])
    count = math.prod(lead)
    return (
        x
        if x.ndim == 3 and x.shape[0] == count
        else reshaped(x.expand(*lead, *x.shape[-2:]), (count, *x.shape[-2:]))
    )


@arguments.operation
def scaled_mm(
    input: Any,
    mat2: Any,
    scale_a: Any,
    scale_b: Any,
    bias: Any = None,
    scale_result: Any = None,
    out_dtype: Any = None,
    use_fast_accum: Any = False,
) -> Any:
    """`torch._scaled_mm` in a kernel: (input * scale_a) @ (mat2 * scale_b) + bias, rounded once.

    input           (M, K), float8_e4m3fn or float8_e5m2
    mat2            (K, N) of either of these types; a transposed (N, K) is not copied, another
                    matrix is
    scale_a         float32: one number, or (M, 1) for each row, or (M, ceil(K / 128)) for each row
                    and 128 of K
    scale_b         float32: one number, or (1, N) for each column, or for each 128 of K and each
                    128 columns, (ceil(K / 128), ceil(N / 128)), or each column, (ceil(K / 128), N)
    bias            (N): bfloat16, float16 or float32
    scale_result    float32, one number that multiplies a result of 8 bits before it is rounded
    out_dtype       bfloat16, float16, float32, float8_e4m3fn or float8_e5m2; by default input's
    use_fast_accum  has no effect: tensor cores add 8-bit products with few bits, on an H200 with an
                    error of up to 2**-10.8 of the sum of absolute products for K = 4096. With
                    scales of 128 of K, sums of 128 products are added in float32
    returns         (M, N). Results of 8 bits saturate: what is beyond the type's largest number
                    becomes that number

    Runs on sm_89 and later, and on the CPU. Derivatives are not supported. Raises CallError.
    """
    del use_fast_accum
    check_types("scaled_mm", FLOAT8, input=input, mat2=mat2)
    plan.check("scaled_mm", targets.chosen(), FLOAT8[dtype_name(input.dtype)])
    _check_matrices(input, mat2)
    out = result_type(input.dtype if out_dtype is None else out_dtype, DTYPES | FLOAT8)
    if scale_result is not None:
        _check_scale("scale_result", scale_result, ())
        if out not in FLOAT8.values():
            raise CallError(
                f"scale_result is given, and the result's type is {dtype_name(out_dtype)}",
                notes=(("help", "scaled_mm(...) * scale_result"),),
            )
    m, n = input.shape[0], mat2.shape[1]
    depth, across = ((size + BLOCK - 1) // BLOCK for size in (input.shape[1], n))
    _check_scale("scale_a", scale_a, (m, 1), (m, depth))
    _check_scale("scale_b", scale_b, (1, n), (depth, across), (depth, n))
    whole_a, whole_b = _is_one(scale_a, (m, 1)), _is_one(scale_b, (1, n))
    blocks: Blocks | None = None
    if not (whole_a and whole_b):
        # One number is that of every block; one for each column makes all scales those of columns.
        by_block = scale_b.numel() == 1 if whole_b else tuple(scale_b.shape) == (depth, across)
        blocks = "block" if by_block else "column"
    layer = Layer(blocks is None, _bias_type(bias, n), quantized=scale_result is not None)
    call = Call("K", "K", out, None if layer == Layer() else layer.epilogue, blocks)

    def run(
        input: Any, mat2: Any, scale_a: Any, scale_b: Any, bias: Any = None,
        scale_result: Any = None, *_: Any, **__: Any,
    ) -> Any:  # fmt: skip
        a, b = input.contiguous(), mat2.t().contiguous()
        rows = () if scale_result is None else (scale_result.reshape(1).expand(a.shape[0]),)
        if blocks is None:
            of_a, of_b = (
                x.reshape(-1).expand(size)
                for x, size in ((scale_a, a.shape[0]), (scale_b, b.shape[0]))
            )
            given = [of_a, *rows, of_b]
        else:
            wide = across if blocks == "block" else b.shape[0]
            of_a, of_b = (
                (x.reshape(1, 1) if x.numel() == 1 else x).expand(shape)
                for x, shape in ((scale_a, (a.shape[0], depth)), (scale_b, (depth, wide)))
            )
            given = [of_a, of_b, *rows]
        given = [x.contiguous() for x in (*given, *(() if bias is None else (bias,)))]
        with torch.no_grad():
            return computed(call, a, [b], given)[0]

    return run


@arguments.operation
def int_mm(input: Any, mat2: Any) -> Any:
    """`torch._int_mm` in a kernel: products of integers of 8 bits, with exact sums.

    input    (M, K), int8 or uint8
    mat2     (K, N), int8 or uint8; a transposed (N, K) is not copied, another matrix is
    returns  (M, N), int32; sums beyond it wrap

    Runs on sm_80 and later, and on the CPU. There is no derivative. Raises CallError.
    """
    check_types("int_mm", INT8, input=input, mat2=mat2)
    plan.check("int_mm", targets.chosen(), INT8[dtype_name(input.dtype)])
    _check_matrices(input, mat2)

    def run(input: Any, mat2: Any) -> Any:
        with torch.no_grad():
            a, b = input.contiguous(), mat2.t().contiguous()
            return computed(Call("K", "K", s32), a, [b])[0]

    return run


# ---- checks --------------------------------------------------------------------------------------


def check_types(name: str, legal: Any, **tensors: Any) -> None:
    """Raises CallError for what is no tensor of one of these types."""
    for each, tensor in tensors.items():
        arguments.check_tensor(each, tensor, name)
        if dtype_name(tensor.dtype) not in legal:
            raise CallError(
                f"{each} has elements of type {dtype_name(tensor.dtype)}",
                notes=(("legal", " ".join(legal)),),
            )


def result_type(wanted: Any, legal: Mapping[str, DType] = DTYPES) -> DType:
    """A result's type as kernels call it. Raises CallError for others than theirs."""
    found = legal.get(dtype_name(wanted)) if isinstance(wanted, torch.dtype) else None
    if found is None:
        raise CallError(
            f"out_dtype is {wanted!r}",
            notes=(("legal", " ".join(f"torch.{name}" for name in legal)),),
        )
    return found


def _check_shapes(a: Any, b: Any) -> None:
    shapes = f"input has shape {tuple(a.shape)} and other {tuple(b.shape)}"
    if min(a.ndim, b.ndim) < 1 or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise CallError(
            f"{shapes}; input's last dimension is other's last but one",
            notes=(("legal", "(..., M, K) @ (..., K, N)"),),
        )
    of_a, of_b = a.shape[:-2], b.shape[:-2]
    pairs = zip(reversed(of_a), reversed(of_b), strict=False)
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        raise CallError(
            f"{shapes}, whose batches {tuple(of_a)} and {tuple(of_b)} cannot be broadcast",
            notes=(("help", "a batch dimension is the same in both, or 1"),),
        )


def _check_matrices(a: Any, b: Any) -> None:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise CallError(
            f"input has shape {tuple(a.shape)} and mat2 {tuple(b.shape)}; input's last dimension "
            "is mat2's first",
            notes=(("legal", "(M, K) and (K, N)"),),
        )


def _is_one(scale: Any, whole: tuple[int, int]) -> bool:
    """Whether a scale is one number, or one for all of K."""
    return scale.numel() == 1 or tuple(scale.shape) == whole


def _check_scale(name: str, scale: Any, *shapes: tuple[int, ...]) -> None:
    check_scale(name, scale, ((), (1,), (1, 1), *shapes))


def check_scale(name: str, scale: Any, shapes: Sequence[tuple[int, ...]]) -> None:
    """Raises CallError for what is no tensor of float32 of one of these shapes."""
    if not isinstance(scale, torch.Tensor) or scale.dtype != torch.float32:
        kind = scale.dtype if isinstance(scale, torch.Tensor) else type(scale).__name__
        raise CallError(
            f"{name} is {str(kind).removeprefix('torch.')} and must be a float32 tensor",
            notes=(("help", f"{name}=torch.tensor(1.0)"),),
        )
    if all(tuple(scale.shape) != shape for shape in shapes):  # sizes of a trace have no hash
        raise CallError(
            f"{name} has shape {tuple(scale.shape)}",
            notes=(("legal", " ".join(dict.fromkeys(map(str, shapes)))),),
        )


def _bias_type(bias: Any, columns: int) -> DType | None:
    if bias is None:
        return None
    check_types("scaled_mm", DTYPES, bias=bias)
    if tuple(bias.shape) != (columns,):
        raise CallError(f"bias has shape {tuple(bias.shape)}, and mat2 has {columns} columns")
    return DTYPES[dtype_name(bias.dtype)]
