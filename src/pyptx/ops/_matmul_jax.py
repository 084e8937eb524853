"""Matrix products as operations of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import jax
import jax.numpy

from pyptx import KernelSequence, PtxError
from pyptx._calls import binding
from pyptx._recent import Recent
from pyptx._source import call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._matmul_checks import (
    BlockScales,
    as_matrix,
    bias_of,
    block_scales,
    broadcast,
    check_factors,
    check_shapes,
    check_types,
    every_block,
    operand,
    out_scale_of,
    pair_scales,
    result_type,
    scales,
    type_of,
    types_of,
)
from pyptx.ops._matmul_derivative import (
    Formula,
    Fused,
    dot,
    formula_of,
    fused,
    ragged_rows,
    underived,
    underived_rows,
)
from pyptx.ops._matmul_launch import alone
from pyptx.ops._matmul_options import (
    check_activation,
    check_epilogue,
    check_flag,
    checked_numbers,
    is_tf32,
    no_product,
)
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.epilogue import Activation, Epilogue, Layer
from pyptx.ops.tensor_core.factors import DTYPES, EIGHT_BITS, FLOAT8, INT8, Call
from pyptx.ops.tensor_core.shape import Major, Spread
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
    type. One launch under `jax.vmap`. Sharded rows of a and columns of b need no communication; a
    sharded K needs one all-reduce of f32 sums, or one reduce-scatter where the result is sharded
    over the same axis of the mesh (with bias, activation or residual, K is gathered instead).

    If rows in memory are not a multiple of 16 bytes, a copy pads them first. The order of a sum
    depends only on the sizes, so results are the same in every run. Raises CallError.
    """
    applied = any(x is not None for x in (a_scale, b_scale, bias, activation, residual, out_scale))
    plain = not applied and amax is False
    if plain:
        try:
            kernel = KNOWN.get(_kind(a, b, out_dtype, precision))
            if kernel is not None:
                return kernel(a, b)
        except (AttributeError, TypeError, PtxError):
            pass  # not known yet, or refused: what follows finds the line that is to blame
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
    run = _Run(out, layer, blocks, tf32=tf32)
    elements = () if residual is None else (residual,)
    d, *largest = shell.located("matmul", where, run.batched, a, (b,), rows, columns, elements)
    if plain and not (vector_a or vector_b or shell.is_traced((a, b))):
        _remember(_kind(a, b, out_dtype, precision), out, a, b)
    if vector_a:
        d = d[..., 0, :]
    d = d[..., 0] if vector_b else d
    return (d, _whole(largest[0])) if amax else d


def _kind(a: Any, b: Any, out_dtype: Any, precision: Any) -> tuple[Any, ...]:
    """What a call of two arrays alone depends on."""
    return a.__class__, b.__class__, a.shape, a.dtype, b.shape, b.dtype, out_dtype, precision


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
    check_activation(activation, where)
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
    run = _Run(out, layer)
    d, *largest = shell.located(
        "gated_matmul", where, run.batched, x, (gate, up), rows, columns, ()
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
    run = _Run(out, made, reference=reference)
    found = shell.located(
        "fused_matmul", where, run.batched, a, tuple(others), of_rows, of_columns, of_elements
    )
    return tuple(found) if results else found[0]


@binding(CallError, "ragged_dot")
def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    *,
    preferred_element_type: Any = None,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
) -> Any:
    """`jax.lax.ragged_dot`: consecutive groups of rows, each multiplied by its own matrix.

    lhs          (M, K): bf16, f16, f32, float8_e4m3fn or float8_e5m2
    rhs          (G, K, N) of the same type, float8 types may differ; G at most 2048
    group_sizes  (G,) integers, read when the kernel runs: the first rows are the first group's.
                 Negative sizes count as zero; a group ends at the last row of lhs
    preferred_element_type  as `out_dtype` of `matmul`
    lhs_scale    of 8-bit floats, as `a_scale` of `matmul`: (M, 1), (M, K / 128) or one number
    rhs_scale    as `b_scale` with the groups: (G, 1, N), (G, K / 128, N / 128), (G, K / 128, N) or
                 one number
    returns      (M, N); zeros in rows that are in no group

    One launch computes all groups, and one the gradient in `rhs`, with a separate sum over each
    group's rows. Sharded columns of rhs need no communication; lhs is gathered. Everything else is
    as in `matmul`. Raises CallError.
    """
    where = call_site()
    dtype = check_types("ragged_dot", where, lhs=lhs, rhs=rhs)
    out = result_type(preferred_element_type, dtype, where)
    eight = dtype in FLOAT8.values()
    if dtype in INT8.values() or (not eight and (lhs_scale, rhs_scale) != (None, None)):
        what = "" if dtype in INT8.values() else ", which has no scales"
        raise CallError(
            f"lhs has elements of type {lhs.dtype}{what}",
            location=where,
            notes=(("legal", " ".join(FLOAT8 if what else [*DTYPES, *FLOAT8])),),
        )
    shapes = tuple(lhs.shape), tuple(rhs.shape), tuple(getattr(group_sizes, "shape", ()))
    ranks = tuple(map(len, shapes)) == (2, 3, 1)
    if not ranks or lhs.shape[1] != rhs.shape[1] or rhs.shape[0] != group_sizes.shape[0]:
        raise CallError(
            f"lhs has shape {shapes[0]}, rhs {shapes[1]} and group_sizes {shapes[2]}",
            location=where,
            notes=(("legal", "(M, K), (G, K, N) and (G,)"),),
        )
    if rhs.shape[0] > plan.MOST_GROUPS:
        raise CallError(
            f"rhs has {rhs.shape[0]} groups, and ragged_dot takes {plan.MOST_GROUPS}",
            location=where,
        )
    lhs, rhs, lengths = shell.as_jax(lhs, rhs, group_sizes)
    if not jnp.issubdtype(lengths.dtype, jnp.integer):
        raise CallError(f"group_sizes has elements of type {lengths.dtype}", location=where)
    lengths = jnp.clip(lengths, 0, min(shell.MOST_ROWS, lhs.shape[0])).astype(jnp.int32)
    if eight:
        names = ("lhs_scale", "rhs_scale")
        scales = every_block((lhs_scale, rhs_scale), lhs, rhs, dtype, where, names)
        return shell.located(
            "ragged_dot", where, partial(underived_rows, scales.kind, out), lhs,
            jnp.swapaxes(rhs, -1, -2), lengths, (scales.of_a, scales.of_b),
        )  # fmt: skip
    return shell.located("ragged_dot", where, partial(ragged_rows, "MN", out), lhs, rhs, lengths)


@binding(CallError, "dot_general")
def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`jax.lax.dot_general` for dimension numbers that need no transpose.

    lhs, rhs             of the types that `matmul` takes; for 8-bit types the contracting
                         dimensions come last
    dimension_numbers    ((contracting of lhs, of rhs), (batch of lhs, of rhs)). Batch dimensions
                         come first in both; contracting ones are next to each other, in the same
                         order in both, either directly after the batch or last
    precision               as `matmul`'s
    preferred_element_type  as `out_dtype` of `matmul`

    Everything else is as in `matmul`. Raises CallError.
    """
    where = call_site()
    dtype = check_types("dot_general", where, lhs=lhs, rhs=rhs)
    tf32 = is_tf32(precision, "lhs", lhs, where)
    out = result_type(preferred_element_type, dtype, where)
    (contract_l, contract_r), (batch_l, batch_r) = checked_numbers(
        dimension_numbers, lhs, rhs, where
    )
    lhs, rhs = shell.as_jax(lhs, rhs)
    batch = tuple(range(len(batch_l)))
    if batch_l != batch or batch_r != batch:
        raise no_product("batch dimensions come first, in order", dimension_numbers, where)
    if [lhs.shape[i] for i in (*batch_l, *contract_l)] != [
        rhs.shape[i] for i in (*batch_r, *contract_r)
    ]:
        raise CallError(
            f"lhs has shape {tuple(lhs.shape)} and rhs {tuple(rhs.shape)}, whose sizes along "
            f"{dimension_numbers} are not equal",
            location=where,
        )
    a, a_last = as_matrix(lhs, len(batch), contract_l, dimension_numbers, where)
    b, b_last = as_matrix(rhs, len(batch), contract_r, dimension_numbers, where)
    spread: Spread | None = "G" if len(batch) > 1 else None
    if contract_l == (lhs.ndim - 1,) and not batch and lhs.ndim > 2:
        a, spread = lhs, "M"
    if not (a_last or b_last or batch) and len(contract_l) == lhs.ndim - 1 == rhs.ndim - 1 > 1:
        a, b, spread = lhs, rhs, "K"
    rows = [n for i, n in enumerate(lhs.shape) if i >= len(batch) and i not in contract_l]
    columns = [n for i, n in enumerate(rhs.shape) if i >= len(batch) and i not in contract_r]
    majors: tuple[Major, Major] = ("K" if a_last else "MN", "K" if b_last else "MN")
    if dtype in EIGHT_BITS.values() and majors != ("K", "K"):
        raise no_product(
            "of 8 bits, those that are summed over come last", dimension_numbers, where
        )
    call = Call(*majors, out, tf32=tf32, spread=spread)
    d = shell.located("dot_general", where, partial(dot, call), a, b)
    return d.reshape(*lhs.shape[: len(batch)], *rows, *columns)


# ---- batches -------------------------------------------------------------------------------------


class _Run:
    """A product of matrices along leading dimensions, which are broadcast."""

    def __init__(
        self, out: DType, applied: Layer | Epilogue, blocks: BlockScales | None = None,
        reference: Callable[..., Any] | None = None, tf32: bool = False,
    ) -> None:  # fmt: skip
        self.out, self.applied, self.blocks, self.reference = out, applied, blocks, reference
        self.tf32 = tf32

    def batched(
        self, a: Any, bs: Sequence[Any], rows: Sequence[Any], columns: Sequence[Any],
        elements: Sequence[Any],
    ) -> list[Any]:  # fmt: skip
        """D and further results. `rows`, `columns` and `elements` have the whole batch, or none."""
        lead = jnp.broadcast_shapes(a.shape[:-2], bs[0].shape[:-2])
        m, n = a.shape[-2], bs[0].shape[-1]
        columns = [_one_of(x, 1) for x in columns]
        scales: list[Any] = []
        if self.blocks is not None:
            scales = [self.blocks.of_a, _one_of(self.blocks.of_b, 2)]
        shared = all(x.ndim == 1 for x in columns) and all(x.ndim == 2 for x in scales[1:])
        if _shared(bs[0], 2) and shared:
            # One matrix for all rows of a, whose axes stay what devices may split.
            operands = [
                *(jnp.broadcast_to(x, (*lead, *x.shape[-2:])) for x in scales[:1]),
                *scales[1:],
                *(jnp.broadcast_to(x, (*lead, m)) for x in rows),
                *columns,
                *(jnp.broadcast_to(x, (*lead, m, n)) for x in elements),
            ]
            a = jnp.broadcast_to(a, (*lead, *a.shape[-2:]))
            own = [_one_of(b, 2) for b in bs]
            return self._one(a, own, operands, "M" if lead else None)
        operands = [
            *(_batch_of(x, 2, lead) for x in scales),
            *(_batch_of(x, 1, lead) for x in (*rows, *columns)),
            *(_batch_of(x, 2, lead) for x in elements),
        ]
        a = _batch_of(a, 2, lead)
        own = [jnp.broadcast_to(b, (*lead, *b.shape[-2:])) for b in bs]
        return self._one(a, own, operands, "G" if len(lead) > 1 else None)

    def _one(
        self, a: Any, bs: Sequence[Any], operands: Sequence[Any], spread: Spread | None = None
    ) -> list[Any]:
        major: Major = "MN"
        if str(a.dtype) in EIGHT_BITS:
            bs, major = [jnp.swapaxes(b, -1, -2) for b in bs], "K"
        kind = None if self.blocks is None else self.blocks.kind
        call = Call("K", major, self.out, self._epilogue, kind, self.tf32, spread)
        amax = call.epilogue is not None and call.epilogue.amax
        if self.blocks is not None or amax or self.out in EIGHT_BITS.values():
            return shell.applied(underived, call, a, list(bs), list(operands))
        if call.epilogue is None:
            return [shell.applied(dot, call, a, bs[0])]
        own = self.applied
        formula = formula_of(own) if isinstance(own, Layer) else Formula(own, self.reference)
        product = Fused("K", major, self.out, formula, tf32=self.tf32, spread=spread)
        return shell.applied(fused, product, a, list(bs), list(operands))

    @property
    def _epilogue(self) -> Epilogue | None:
        if isinstance(self.applied, Epilogue):
            return self.applied
        return None if self.applied == Layer() else self.applied.epilogue


def _shared(x: Any, rank: int) -> bool:
    """Whether an array has one element of the batch, of this rank."""
    return all(isinstance(size, int) and size == 1 for size in x.shape[: x.ndim - rank])


def _one_of(x: Any, rank: int) -> Any:
    """Without a batch, where it is one of one."""
    return x.reshape(x.shape[x.ndim - rank :]) if _shared(x, rank) else x


def _batch_of(x: Any, rank: int, lead: tuple[Any, ...]) -> Any:
    """One for all of the batch, or one for each of it."""
    if _shared(x, rank):
        return _one_of(x, rank)
    return jnp.broadcast_to(x, (*lead, *x.shape[x.ndim - rank :]))
