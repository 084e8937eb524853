"""What matrix products of JAX take: checks of their arrays, and arrays as the kernels have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import jax
import jax.numpy
import numpy as np

from pyptx._runtime import targets
from pyptx._source import SourceLocation
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._matmul_options import no_product, scale_of
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.factors import DTYPES, EIGHT_BITS, FLOAT8, INT8, KINDS
from pyptx.ops.tensor_core.shape import BLOCK, Blocks
from pyptx.types import DType, bf16, f32, s32

jnp: Any = jax.numpy


def check_factors(a: Any, bs: Sequence[Any], where: SourceLocation) -> DType:
    names = ("b",) if len(bs) == 1 else ("b[0]", "b[1]")
    if not 0 < len(bs) <= len(names):
        raise CallError(f"b is a tuple of {len(bs)} arrays, and may be of two", location=where)
    for name, b in zip(names, bs, strict=True):
        dtype = check_types("fused_matmul", where, **{"a": a, name: b})
    check_shapes(a, bs[0], where, ("a", names[0]), least=2)
    if len(bs) > 1 and tuple(bs[0].shape) != tuple(bs[1].shape):
        raise CallError(
            f"b[0] has shape {tuple(bs[0].shape)} and b[1] {tuple(bs[1].shape)}; they have one",
            location=where,
        )
    return dtype  # pyright: ignore[reportPossiblyUnboundVariable]


def check_shapes(
    a: Any, b: Any, where: SourceLocation, names: tuple[str, str] = ("a", "b"), least: int = 1
) -> None:
    one, other = names
    if min(a.ndim, b.ndim) < least or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise CallError(
            f"{one} has shape {tuple(a.shape)} and {other} {tuple(b.shape)}; {one}'s last "
            f"dimension is {other}'s last but one",
            location=where,
            notes=(("legal", "(..., M, K) @ (..., K, N)"),),
        )
    _check_batches(a.shape[:-2], b.shape[:-2], names, (tuple(a.shape), tuple(b.shape)), where)


def type_of(x: Any) -> DType:
    return DTYPES[str(x.dtype)]


def types_of(arrays: Sequence[Any]) -> tuple[DType, ...]:
    return tuple(type_of(x) for x in arrays)


def broadcast(name: str, x: Any, shape: tuple[Any, ...], where: SourceLocation) -> Any:
    """An array of an epilogue, with this shape. Raises CallError."""
    is_array = isinstance(x, (jax.Array, np.ndarray))
    kind = str(cast("Any", x).dtype) if is_array else type(x).__name__
    if not is_array or kind not in DTYPES:
        raise CallError(
            f"{name} is of type {kind} and must be an array of one that is added",
            location=where,
            notes=(("legal", " ".join(DTYPES)),),
        )
    (x,) = shell.as_jax(x)
    if not shell.broadcasts(x.shape, shape):
        raise CallError(
            f"{name} has shape {tuple(x.shape)}, which is not broadcast to {tuple(shape)}",
            location=where,
        )
    return jnp.broadcast_to(x, shape)


def bias_of(bias: Any, lead: Sequence[Any], n: Any, where: SourceLocation) -> Any:
    """(N,), or (..., N) with the product's batch."""
    if getattr(bias, "ndim", 0) < 2:
        return broadcast("bias", bias, (n,), where)
    return broadcast("bias", bias, (*lead, 1, n), where)[..., 0, :]


def operand(
    name: str, x: Any, lead: tuple[Any, ...], dims: tuple[Any, ...], where: SourceLocation
) -> Any:
    """An array of `rows`, `columns` or `elements`, with the product's batch or without one."""
    batched = getattr(x, "ndim", 0) > len(dims)
    return broadcast(f"an array of {name}", x, (*lead, *dims) if batched else dims, where)


def check_types(operation: str, where: SourceLocation, **arrays: Any) -> DType:
    found: list[str] = []
    for name, array in arrays.items():
        if not isinstance(array, (jax.Array, np.ndarray)):
            raise CallError(
                f"{name} is a {type(array).__name__}; {operation} takes arrays",
                location=where,
                notes=(("help", f"jax.numpy.asarray({name})"),),
            )
        dtype = str(cast("Any", array).dtype)
        if dtype not in KINDS:
            raise CallError(
                f"{name} has elements of type {dtype}",
                location=where,
                notes=(("legal", " ".join(KINDS)),),
            )
        found.append(dtype)
    mixed = any(all(dtype in kinds for dtype in found) for kinds in (FLOAT8, INT8))
    if len(set(found)) > 1 and not mixed:
        (one, other) = arrays
        raise CallError(
            f"{one} has elements of type {found[0]} and {other} of {found[1]}; {operation} takes "
            "one type",
            location=where,
            notes=(("help", f"{other}.astype({one}.dtype)"),),
        )
    kind = KINDS[found[0]]
    try:
        plan.check(operation, targets.chosen(), bf16 if kind is f32 else kind)
    except CallError as error:
        raise error.at(where) from None
    return kind


@dataclass(frozen=True)
class BlockScales:
    """Those of a, (..., M, K / 128), and of b, (..., K / 128, N / 128) or (..., K / 128, N)."""

    kind: Blocks
    of_a: Any
    of_b: Any


def block_scales(
    given: tuple[Any, Any], a: Any, b: Any, dtype: DType, where: SourceLocation,
    names: tuple[str, str] = ("a_scale", "b_scale"), *, always: bool = False,
) -> BlockScales | None:  # fmt: skip
    """Scales of which one has a number for each 128 of K, f32; None where neither has.

    `always` repeats numbers for each 128 of K.
    """
    one, other = (scale_of(name, x, where) for name, x in zip(names, given, strict=True))
    (m, k), n = a.shape[-2:], b.shape[-1]
    along, down, across = ((size + (BLOCK - 1)) // BLOCK for size in (k, m, n))
    of_a, of_b = a.shape[:-2], b.shape[:-2]
    plain_a = shell.broadcasts(one.shape, (*of_a, m, 1))
    plain_b = shell.broadcasts(other.shape, (*of_b, 1, n))
    rows, squares = (*of_a, m, along), (*of_a, down, along)
    columns, blocks = (*of_b, along, n), (*of_b, along, across)
    known_a = [s for s in (rows, squares) if one.ndim > 1 and shell.broadcasts(one.shape, s)]
    known_b = [s for s in (blocks, columns) if other.ndim > 1 and shell.broadcasts(other.shape, s)]
    if not (plain_a or known_a):
        raise _unfit(names, 0, one, (*of_a, m, 1), where)
    if not (plain_b or known_b):
        raise _unfit(names, 1, other, (*of_b, 1, n), where)
    if plain_a and plain_b and not always:
        return None
    if dtype not in FLOAT8.values():
        name, scale = (names[1], other) if plain_a else (names[0], one)
        raise CallError(
            f"{name} has shape {tuple(scale.shape)}, a number for each {BLOCK} of K; "
            f"a has elements of type {a.dtype}",
            location=where,
            notes=(("legal", "float8_e4m3fn float8_e5m2 with scales of blocks"),),
        )
    if not plain_a and known_a[0] == squares:
        one = jnp.repeat(jnp.broadcast_to(one, squares), BLOCK, -2)[..., :m, :]
    if plain_b and other.ndim and other.shape[-1] != 1:
        known_b = [columns]
    wide = blocks if plain_b and not known_b else known_b[0]
    kind: Blocks = "block" if wide == blocks else "column"
    return BlockScales(kind, jnp.broadcast_to(one, rows), jnp.broadcast_to(other, wide))


def every_block(
    given: tuple[Any, Any], a: Any, b: Any, dtype: DType, where: SourceLocation,
    names: tuple[str, str],
) -> BlockScales:  # fmt: skip
    """The same where scales of all K are repeated for each 128 of it."""
    found = block_scales(given, a, b, dtype, where, names, always=True)
    assert found is not None
    return found


def out_scale_of(scale: Any, shape: tuple[Any, ...], where: SourceLocation) -> Any:
    """What D of this shape is multiplied by before it is rounded: a number for each row, f32."""
    number = scale_of("out_scale", scale, where)
    if not shell.broadcasts(number.shape, (*shape[:-1], 1)):
        raise CallError(
            f"out_scale has shape {tuple(number.shape)}, which is not broadcast to "
            f"{(*shape[:-1], 1)}",
            location=where,
            notes=(("legal", "one number, or (..., M, 1)"),),
        )
    return jnp.broadcast_to(number, (*shape[:-1], 1))[..., 0]


def _unfit(
    names: tuple[str, str], which: int, scale: Any, wanted: tuple[Any, ...], where: SourceLocation
) -> CallError:
    a, b = (name.removesuffix("_scale") for name in names)
    blocks = (
        f"of blocks of {BLOCK}: (..., M, K / {BLOCK}) of {a}, (..., K / {BLOCK}, N / {BLOCK}) or "
        f"(..., K / {BLOCK}, N) of {b}, rounded up"
    )
    return CallError(
        f"{names[which]} has shape {tuple(scale.shape)}, which is not broadcast to {wanted}",
        location=where,
        notes=(
            ("legal", f"(..., M, 1) of {a}, (..., 1, N) of {b}, one number"),
            ("legal", blocks),
        ),
    )


def scales(given: tuple[Any, Any], a: Any, b: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A number for each row of a and column of b, f32: 1 where none is given."""
    found = [
        jnp.broadcast_to(jnp.asarray(1.0 if scale is None else scale, jnp.float32), wanted)
        for scale, wanted in zip(
            given, ((*a.shape[:-1], 1), (*b.shape[:-2], 1, b.shape[-1])), strict=True
        )
    ]
    return (found[0][..., 0],), (found[1][..., 0, :],)


def pair_scales(
    given: tuple[Any, Any, Any], x: Any, gate: Any, where: SourceLocation
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Numbers for each row of x, and for each column of gate and of up."""
    dims = (*x.shape[:-1], 1), *((*gate.shape[:-2], 1, gate.shape[-1]),) * 2
    for name, scale, wanted in zip(("x_scale", "gate_scale", "up_scale"), given, dims, strict=True):
        shape = scale_of(name, scale, where).shape
        if not shell.broadcasts(shape, wanted):
            raise CallError(
                f"{name} has shape {shape}, which is not broadcast to {wanted}",
                location=where,
                notes=(("legal", "(..., M, 1) of x, (..., 1, N) of gate and up, one number"),),
            )
    rows, columns = scales(given[:2], x, gate)
    return rows, (*columns, *scales((None, given[2]), x, gate)[1])


def _check_batches(
    of_a: Sequence[Any], of_b: Sequence[Any], names: tuple[str, str], shapes: tuple[object, object],
    where: SourceLocation,
) -> None:  # fmt: skip
    try:
        jnp.broadcast_shapes(tuple(of_a), tuple(of_b))
    except ValueError:
        raise CallError(
            f"{names[0]} has shape {shapes[0]} and {names[1]} {shapes[1]}, whose batches "
            f"{tuple(of_a)} and {tuple(of_b)} cannot be broadcast",
            location=where,
            notes=(("help", "a batch dimension is the same in both, or 1"),),
        ) from None


def result_type(
    wanted: Any, dtype: DType, where: SourceLocation, *, applied: bool = False,
    operation: str | None = None,
) -> DType:  # fmt: skip
    """That of a product of this type; `applied` says that a result is not the sum alone.

    With the name of an operation that quantizes, 8-bit floats are legal.
    """
    integers = dtype in INT8.values()
    legal = DTYPES | ({"int32": s32} if integers and not applied else {})
    legal = legal if operation is None else legal | FLOAT8
    if wanted is None:
        own = s32 if integers and not applied else dtype
        return bf16 if own in EIGHT_BITS.values() else own
    try:
        name = str(np.dtype(wanted))
    except TypeError:
        name = repr(wanted)
    if name not in legal:
        raise CallError(
            f"the result's type is {name}", location=where, notes=(("legal", " ".join(legal)),)
        )
    try:
        plan.check(operation or "", targets.chosen(), results=(legal[name],))
    except CallError as error:
        raise error.at(where) from None
    return legal[name]


def as_matrix(
    x: Any, batch: int, contract: Sequence[int], numbers: object, where: SourceLocation
) -> tuple[Any, bool]:
    """An array as matrices, and whether the dimensions that are summed over are the last ones."""
    contract = tuple(contract)
    sizes = x.shape
    depth = math.prod(sizes[i] for i in contract)
    begin, end = batch + len(contract), x.ndim - len(contract)
    last = contract == tuple(range(end, x.ndim))
    if not last and contract != tuple(range(batch, begin)):
        raise no_product(
            "dimensions that are summed over come directly after the batch or last", numbers, where
        )
    free = math.prod(sizes[batch:end] if last else sizes[begin:])
    shape = (free, depth) if last else (depth, free)
    return x.reshape(*sizes[:batch], *shape), last
