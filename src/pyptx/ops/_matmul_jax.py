"""Matrix products as operations of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import jax.numpy

from pyptx import KernelSequence, PtxError
from pyptx._calls import binding
from pyptx._recent import Recent
from pyptx._source import call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._matmul_batches import Batched
from pyptx.ops._matmul_checks import (
    bias_of,
    block_scales,
    broadcast,
    check_factors,
    check_shapes,
    check_types,
    operand,
    out_scale_of,
    pair_scales,
    result_type,
    scales,
    type_of,
    types_of,
)
from pyptx.ops._matmul_launch import alone
from pyptx.ops._matmul_options import (
    check_activation,
    check_epilogue,
    check_flag,
    is_tf32,
)
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.epilogue import Activation, Epilogue, Layer
from pyptx.ops.tensor_core.factors import FLOAT8, Call
from pyptx.types import DType

_jax: Any = jax  # for what JAX annotates in part
jnp: Any = jax.numpy
KNOWN: Final[Recent[KernelSequence]] = Recent(plan.KEPT)
"""The kernels of products of two arrays alone that were made before, which need no checks again."""


@binding(CallError, "matmul")
def matmul(
    a: Any,
    b: Any,
    *,
    out_dtype: Any = None,
    a_scale: Any = None,
    b_scale: Any = None,
    bias: Any = None,
    activation: Activation | None = None,
    residual: Any = None,
    out_scale: Any = None,
    amax: bool = False,
    precision: Any = None,
) -> Any:
    """a @ b as `jax.numpy.matmul`, on tensor cores: sums in f32, rounded once.

    a          (..., M, K) or (K,): bf16, f16, f32, float8_e4m3fn, float8_e5m2, int8 or uint8
    b          (..., K, N) or (K,), of the same type; float8 types may differ, and int8 types
    out_dtype  of the result: bf16, f16, f32, float8_e4m3fn or float8_e5m2, or int32 of integers; by
               default a's type, bf16 for 8-bit floats, int32 for integers, or bf16 where anything
               is applied to their sums
    a_scale    multiplies a: (..., M, 1), one number per row, or one number. Of blocks:
               (..., M, K / 128), one number per row and 128 of K, or (..., M / 128, K / 128)
    b_scale    multiplies b: (..., 1, N), one number per column, or one number. Of blocks:
               (..., K / 128, N / 128), one number per 128 x 128, or (..., K / 128, N)
    bias       (N,) or (..., 1, N), added to each row
    activation applied to the sum: "relu", "silu", "gelu" or "gelu_tanh"
    residual   of the result's shape or a shape that broadcasts to it; added last
    out_scale  multiplies the result before it is rounded: one number, or (..., M, 1)
    amax       whether to return the result's largest absolute value, too
    precision  of f32 arrays: None or "highest" for the error of f32, or "tf32"; also as JAX spells
               them, `jax.lax.DotAlgorithmPreset.TF32_TF32_F32`
    returns    (..., M, N): activation(a @ b * a_scale * b_scale + bias) + residual, all of it in
               f32 and in one kernel; dimensions before the last two are broadcast. With `amax` a
               tuple of it and an f32 scalar, of the result before out_scale and before rounding

    Results of 8 bits saturate: what is beyond the type's largest number becomes that number, also
    infinity. They need sm_89 or later. They and amax have no derivative. Sharded columns of b are
    gathered for amax.

    8-bit products have no derivative. Their kernel needs K contiguous in both factors, so b is
    transposed first; `dot_general` takes b as (N, K). Sums of integers are exact in 32 bits, and
    wrap beyond. 8-bit floats need sm_89 or later. Tensor cores add them with few bits: on an H200
    the error was up to 2**-10.8 of the sum of absolute products, for K = 4096.

    Scales of blocks are for 8-bit floats; numbers of blocks are rounded up. The sums of each 128 of
    K are multiplied by their scales in f32 registers and added there, so the error does not grow
    with K. With a number per 128 x 128 of b, sharded columns of b are gathered; with one per
    column they are not.

    Each f32 number is split into three bf16 numbers, and the six largest products are added, at six
    times the work of bf16. Tensor cores truncate sums, so a kernel adds those of a few products in
    f32 registers, rounded to nearest: the error is that of f32 sums.
    With "tf32" each is rounded to 10 bits of fraction, to nearest, for one product at twice the
    work of bf16; its kernel needs K contiguous in both factors, and copies transpose others.
    An empty K gives zeros. Reverse-mode derivatives of any order use the same kernels, without
    transposed copies; if the derivative needs a @ b, the kernel also writes it, in the result's
    type, or in f32 for f16, whose range sums may exceed. A result of more bits than a has has a
    cotangent of as many, which are all multiplied: f32 by bf16 is three bf16 products, by f16 five.
    One launch under `jax.vmap`. Sharded rows of a and columns of b need no communication; a
    sharded K needs one all-reduce of f32 sums, or one reduce-scatter where the result is sharded
    over the same axis of the mesh (with bias, activation or residual, K is gathered instead).

    If rows in memory are not a multiple of 16 bytes, a copy pads them first. The order of a sum
    depends only on the sizes, so results are the same in every run. Raises CallError.
    """
    applied = any(x is not None for x in (a_scale, b_scale, bias, activation, residual, out_scale))
    plain = not applied and amax is False
    if plain and (result := _repeated(a, b, out_dtype, precision)) is not None:
        return result
    where = call_site()
    dtype = check_types("matmul", where, a=a, b=b)
    tf32 = is_tf32(precision, "a", a, where)
    out = result_type(out_dtype, dtype, where, applied=applied or amax, operation="matmul")
    check_shapes(a, b, where)
    check_activation(activation, where)
    check_flag("amax", amax, where)
    a, b = shell.as_jax(a, b)
    lead = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    dims = (*lead, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
    if residual is not None:
        residual = broadcast("residual", residual, dims, where)
        residual = residual[..., None, :] if a.ndim == 1 else residual
        residual = residual[..., None] if b.ndim == 1 else residual
    vector_a, vector_b = a.ndim == 1, b.ndim == 1
    a, b = a[None] if vector_a else a, b[:, None] if vector_b else b
    scaled = a_scale is not None or b_scale is not None
    blocks = block_scales((a_scale, b_scale), a, b, dtype, where) if scaled else None
    scaled = scaled and blocks is None
    rows, columns = scales((a_scale, b_scale), a, b) if scaled else ((), ())
    quantized = out_scale is not None or out in FLOAT8.values()
    if quantized:
        rows = (*rows, out_scale_of(out_scale, (*lead, a.shape[-2], b.shape[-1]), where))
    if bias is not None:
        bias = bias_of(bias, lead, b.shape[-1], where)
        columns = (*columns, bias)
    layer = Layer(
        scaled, None if bias is None else type_of(bias), activation,
        None if residual is None else type_of(residual), quantized=quantized, amax=amax,
    )  # fmt: skip
    run = Batched(out, layer, blocks, tf32=tf32)
    elements = () if residual is None else (residual,)
    d, *largest = shell.located("matmul", where, run.product, a, (b,), rows, columns, elements)
    if plain and not (vector_a or vector_b or shell.is_traced((a, b))):
        _remember(_kind(a, b, out_dtype, precision), out, a, b)
    if vector_a:
        d = d[..., 0, :]
    d = d[..., 0] if vector_b else d
    return (d, _whole(largest[0])) if amax else d


def _kind(a: Any, b: Any, out_dtype: Any, precision: Any) -> tuple[Any, ...]:
    """What a call of two arrays alone depends on."""
    return a.__class__, b.__class__, a.shape, a.dtype, b.shape, b.dtype, out_dtype, precision


def _repeated(a: Any, b: Any, out_dtype: Any, precision: Any) -> Any | None:
    """The result of a call whose kernel is kept; otherwise None."""
    try:
        kernel = KNOWN.get(_kind(a, b, out_dtype, precision))
        return None if kernel is None else kernel(a, b)
    except (AttributeError, TypeError, PtxError):
        return None  # the checks of a first call find what is wrong, and say where


def _remember(kind: tuple[Any, ...], out: DType, a: Any, b: Any) -> None:
    """Keep the kernel of a product of two arrays, if it takes them as they are."""
    if b.ndim > 2:
        return
    kernel = alone(Call("K", "MN", out, spread="M" if a.ndim > 2 else None), a, b)
    if kernel is not None:
        KNOWN.keep(kind, kernel)


@binding(CallError, "gated_matmul")
def gated_matmul(
    x: Any,
    gate: Any,
    up: Any,
    *,
    activation: Activation = "silu",
    out_dtype: Any = None,
    x_scale: Any = None,
    gate_scale: Any = None,
    up_scale: Any = None,
    out_scale: Any = None,
    amax: bool = False,
) -> Any:
    """activation(x @ gate) * (x @ up), in one kernel: the first half of a SwiGLU or GeGLU layer.

    x          (..., M, K): bf16, f16, f32, an 8-bit float or 8-bit integers
    gate, up   (..., K, N) of the same type and shape
    activation "silu", "gelu", "gelu_tanh" or "relu"
    out_dtype  of the result, as `matmul`'s; of integers not int32
    x_scale    multiplies x: (..., M, 1), one number per row, or one number
    gate_scale, up_scale   multiply gate and up: (..., 1, N), one per column, or one number
    out_scale, amax   as `matmul`'s
    returns    (..., M, N), with `amax` a tuple of it and an f32 scalar

    Everything else is as in `matmul`. Raises CallError.
    """
    where = call_site()
    dtype = check_types("gated_matmul", where, x=x, gate=gate)
    check_types("gated_matmul", where, gate=gate, up=up)
    out = result_type(out_dtype, dtype, where, applied=True, operation="gated_matmul")
    check_activation(activation, where, needed=True)
    check_flag("amax", amax, where)
    check_shapes(x, gate, where, ("x", "gate"), least=2)
    if tuple(gate.shape) != tuple(up.shape):
        raise CallError(
            f"gate has shape {tuple(gate.shape)} and up {tuple(up.shape)}; they have one",
            location=where,
        )
    x, gate, up = shell.as_jax(x, gate, up)
    rows: tuple[Any, ...] = ()
    columns: tuple[Any, ...] = ()
    scaled = any(scale is not None for scale in (x_scale, gate_scale, up_scale))
    if scaled:
        rows, columns = pair_scales((x_scale, gate_scale, up_scale), x, gate, where)
    if out_scale is not None:
        lead = jnp.broadcast_shapes(x.shape[:-2], gate.shape[:-2])
        dims = (*lead, x.shape[-2], gate.shape[-1])
        rows = (*rows, out_scale_of(out_scale, dims, where))
    layer = Layer(
        scaled, activation=activation, paired=True, quantized=out_scale is not None, amax=amax
    )
    run = Batched(out, layer)
    d, *largest = shell.located(
        "gated_matmul", where, run.product, x, (gate, up), rows, columns, ()
    )
    return (d, _whole(largest[0])) if amax else d


def _whole(rows: Any) -> Any:
    """The largest absolute value of an array, from the bits of those of its rows."""
    return _jax.lax.bitcast_convert_type(rows, jnp.float32).max(initial=0.0)


@binding(CallError, "fused_matmul")
def fused_matmul(
    a: Any,
    b: Any,
    epilogue: Callable[..., Any],
    *,
    rows: Sequence[Any] = (),
    columns: Sequence[Any] = (),
    elements: Sequence[Any] = (),
    out_dtype: Any = None,
    further: Sequence[Any] = (),
    reference: Callable[..., Any] | None = None,
) -> Any:
    """A matrix product with your own function applied to each element, in one kernel.

    a, b       (..., M, K) and (..., K, N) as for `matmul`; b may be a tuple of two arrays of the
               same shape: then a is multiplied by both, and each element has two sums
    epilogue   `epilogue(sum, *of_rows, *of_columns, *of_elements)` of f32 registers returns the
               element, an f32 register; if b is a tuple, two sums come first. With `further`
               results it returns a tuple. It is traced once for each kernel
    rows       arrays of shape (..., M): a number for each row
    columns    arrays of shape (..., N): a number for each column
    elements   arrays of shape (..., M, N)
    further    the types of further results, each of shape (..., M, N)
    reference  the same function on jax.numpy arrays that broadcast; derivatives are computed from
               it, and without it there are none
    returns    the product, (..., M, N), or a tuple of it and the further results

    Kernels are cached by the function object, so define the function once, not in code that runs
    often. Everything else is as in `matmul`. Raises CallError.
    """
    where = call_site()
    check_epilogue(epilogue, where, rows=rows, columns=columns, elements=elements, further=further)
    bs: tuple[Any, ...] = b if isinstance(b, tuple) else (b,)  # pyright: ignore[reportUnknownVariableType]
    dtype = check_factors(a, bs, where)
    out = result_type(out_dtype, dtype, where, applied=True, operation="fused_matmul")
    results = tuple(result_type(each, dtype, where, applied=True) for each in further)
    a, *others = shell.as_jax(a, *bs)
    lead = jnp.broadcast_shapes(a.shape[:-2], others[0].shape[:-2])
    m, n = a.shape[-2], others[0].shape[-1]
    of_rows, of_columns, of_elements = (
        tuple(operand(name, x, lead, dims, where) for x in arrays)
        for name, arrays, dims in (
            ("rows", rows, (m,)), ("columns", columns, (n,)), ("elements", elements, (m, n))
        )
    )  # fmt: skip
    made = Epilogue(
        epilogue, types_of(of_rows), types_of(of_columns), types_of(of_elements), results,
        len(others) > 1,
    )  # fmt: skip
    run = Batched(out, made, reference=reference)
    found = shell.located(
        "fused_matmul", where, run.product, a, tuple(others), of_rows, of_columns, of_elements
    )
    return tuple(found) if results else found[0]
