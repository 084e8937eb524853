"""`matmul` and `dot_general` as operations of JAX."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final, cast

import jax
import jax.numpy
import numpy as np

from pyptx._runtime import targets
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.shape import Major, Product, Shape
from pyptx.types import DType, bf16, e4m3, e5m2, f16, f32

_jax: Any = jax  # for what JAX annotates in part
jnp: Any = jax.numpy

DTYPES: Final[dict[str, DType]] = {str(dtype.numpy): dtype for dtype in (bf16, f16, f32)}
FLOAT8: Final[dict[str, DType]] = {
    "float8_e4m3fn": e4m3,
    "float8_e5m2": e5m2,
}
_ALIGNED: Final = 16
"""Bytes that rows are a multiple of, as copies to shared memory ask for."""
_SPLIT: Final = ((2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0))
"""Which parts of two f32 numbers are multiplied, the smallest products first: the three of 24 bits
each but for the products that are below the last bit of a sum."""


def matmul(
    a: Any, b: Any, *, out_dtype: Any = None, a_scale: Any = None, b_scale: Any = None
) -> Any:
    """a @ b as `jax.numpy.matmul`, on tensor cores: sums in f32, rounded once.

    a          (..., M, K) or (K,): bf16, f16, f32, float8_e4m3fn or float8_e5m2
    b          (..., K, N) or (K,), of the same type; of the two types of 8 bits either
    out_dtype  of the result: bf16, f16 or f32; a's type where it is left out, bf16 of 8 bits
    a_scale    of 8 bits: what a is to be multiplied by, (..., M, 1) for each row, or one number
    b_scale    likewise (..., 1, N) for each column, or one number
    returns    (..., M, N); dimensions before the last two are broadcast

    Products of 8 bits are those of sm_90a, and have no derivative. Tensor cores add them with few
    bits: on an H200 the error was up to 2**-10.8 of the sum of absolute products, for K = 4096. K
    is contiguous in both factors there, so b is transposed first: `dot_general` takes it as (N, K).

    f32 arrays are cut into three bf16 numbers each, whose six largest products are added: the error
    is that of sums in f32, at six times the work of bf16. Dimensions without elements give zeros,
    as sums of nothing. Differentiable in reverse mode, of any order, by the same kernels and
    without transposed copies. One launch under `jax.vmap`. Split over devices, rows of a and
    columns of b need no communication, and K one all-reduce of f32 sums.

    Rows of memory that are no multiple of 16 bytes are padded first, by a copy. A sum's order
    depends on the sizes alone, so results are the same in every run. Raises CallError.
    """
    where = call_site()
    dtype = _check_types("matmul", where, a=a, b=b)
    out = _result_type(out_dtype, dtype, where)
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise CallError(
            f"a has shape {tuple(a.shape)} and b {tuple(b.shape)}; a's last dimension is b's last "
            "but one",
            location=where,
            notes=(("legal", "(..., M, K) @ (..., K, N)"),),
        )
    _check_batches(a.shape[:-2], b.shape[:-2], tuple(a.shape), tuple(b.shape), where)
    a, b = shell.as_jax(a, b)
    vector_a, vector_b = a.ndim == 1, b.ndim == 1
    if vector_a:
        a = a[None]
    if vector_b:
        b = b[:, None]
    if dtype in FLOAT8.values():
        scales = _scales((a_scale, b_scale), a, b, where)
        d = shell.located("matmul", where, partial(_batched8, out), a, b, *scales)
    elif a_scale is None and b_scale is None:
        d = shell.located("matmul", where, partial(_batched, out), a, b)
    else:
        raise CallError(
            f"a_scale and b_scale are for arrays of 8 bits, and a is {a.dtype}",
            location=where,
            notes=(("legal", " ".join(FLOAT8)), ("help", "matmul(a, b) * scale")),
        )
    if vector_a:
        d = d[..., 0, :]
    return d[..., 0] if vector_b else d


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    *,
    preferred_element_type: Any = None,
) -> Any:
    """`jax.lax.dot_general` for dimension numbers that are a matrix product without a transpose.

    lhs, rhs             of the types that `matmul` takes; of 8 bits, contracting ones come last
    dimension_numbers    ((contracting of lhs, of rhs), (batch of lhs, of rhs)). Batch dimensions
                         come first in both; contracting ones are next to each other, in the same
                         order in both, either directly after the batch or last
    preferred_element_type  as `out_dtype` of `matmul`

    Everything else is as in `matmul`. Raises CallError.
    """
    where = call_site()
    dtype = _check_types("dot_general", where, lhs=lhs, rhs=rhs)
    out = _result_type(preferred_element_type, dtype, where)
    (contract_l, contract_r), (batch_l, batch_r) = (
        (tuple(map(int, left)), tuple(map(int, right))) for left, right in dimension_numbers
    )
    lhs, rhs = shell.as_jax(lhs, rhs)
    batch = tuple(range(len(batch_l)))
    if batch_l != batch or batch_r != batch:
        raise _no_product("batch dimensions come first, in order", dimension_numbers, where)
    if [lhs.shape[i] for i in (*batch_l, *contract_l)] != [
        rhs.shape[i] for i in (*batch_r, *contract_r)
    ]:
        raise CallError(
            f"lhs has shape {tuple(lhs.shape)} and rhs {tuple(rhs.shape)}, whose sizes along "
            f"{dimension_numbers} are not equal",
            location=where,
        )
    a, a_last = _as_matrix(lhs, len(batch), contract_l, dimension_numbers, where)
    b, b_last = _as_matrix(rhs, len(batch), contract_r, dimension_numbers, where)
    rows = [n for i, n in enumerate(lhs.shape) if i >= len(batch) and i not in contract_l]
    columns = [n for i, n in enumerate(rhs.shape) if i >= len(batch) and i not in contract_r]
    majors: tuple[Major, Major] = ("K" if a_last else "MN", "K" if b_last else "MN")
    product = partial(_dot, *majors, out)
    if dtype in FLOAT8.values():
        if majors != ("K", "K"):
            raise _no_product(
                "of 8 bits, those that are summed over come last", dimension_numbers, where
            )
        product = partial(_dot8, out)
    d = shell.located("dot_general", where, product, a, b)
    return d.reshape(*lhs.shape[: len(batch)], *rows, *columns)


# ---- checks --------------------------------------------------------------------------------------


def _check_types(operation: str, where: SourceLocation, **arrays: Any) -> DType:
    found: list[str] = []
    for name, array in arrays.items():
        if not isinstance(array, (jax.Array, np.ndarray)):
            raise CallError(
                f"{name} is a {type(array).__name__}; {operation} takes arrays",
                location=where,
                notes=(("help", f"jax.numpy.asarray({name})"),),
            )
        dtype = str(cast("Any", array).dtype)
        if dtype not in DTYPES and dtype not in FLOAT8:
            raise CallError(
                f"{name} has elements of type {dtype}",
                location=where,
                notes=(("legal", " ".join([*DTYPES, *FLOAT8])),),
            )
        found.append(dtype)
    if len(set(found)) > 1 and not all(dtype in FLOAT8 for dtype in found):
        (one, other) = arrays
        raise CallError(
            f"{one} has elements of type {found[0]} and {other} of {found[1]}; {operation} takes "
            "one type",
            location=where,
            notes=(("help", f"{other}.astype({one}.dtype)"),),
        )
    kind = (DTYPES | FLOAT8)[found[0]]
    try:
        plan.check(operation, targets.chosen(), bf16 if kind is f32 else kind)
    except CallError as error:
        raise error.at(where) from None
    return kind


def _scales(given: tuple[Any, Any], a: Any, b: Any, where: SourceLocation) -> tuple[Any, Any]:
    """A number for each row of a and column of b, f32: 1 where none is given."""
    found: list[Any] = []
    for name, scale, x, last in zip(
        ("a_scale", "b_scale"), given, (a, b), ((a.shape[-2], 1), (1, b.shape[-1])), strict=True
    ):
        wanted = (*x.shape[:-2], *last)
        number = jnp.asarray(1.0 if scale is None else scale, jnp.float32)
        try:
            found.append(jnp.broadcast_to(number, wanted))
        except ValueError:
            raise CallError(
                f"{name} has shape {tuple(number.shape)}, which is not broadcast to {wanted}",
                location=where,
                notes=(("legal", "(..., M, 1) of a, (..., 1, N) of b, one number"),),
            ) from None
    return found[0][..., 0], found[1][..., 0, :]


def _check_batches(
    of_a: Sequence[Any], of_b: Sequence[Any], a: object, b: object, where: SourceLocation
) -> None:
    try:
        jnp.broadcast_shapes(tuple(of_a), tuple(of_b))
    except ValueError:
        raise CallError(
            f"a has shape {a} and b {b}, whose batches {tuple(of_a)} and {tuple(of_b)} cannot be "
            "broadcast",
            location=where,
            notes=(("help", "a batch dimension is the same in both, or 1"),),
        ) from None


def _result_type(wanted: Any, dtype: DType, where: SourceLocation) -> DType:
    if wanted is None:
        return bf16 if dtype in FLOAT8.values() else dtype
    try:
        name = str(np.dtype(wanted))
    except TypeError:
        name = repr(wanted)
    if name not in DTYPES:
        raise CallError(
            f"the result's type is {name}", location=where, notes=(("legal", " ".join(DTYPES)),)
        )
    return DTYPES[name]


def _no_product(rule: str, numbers: object, where: SourceLocation) -> CallError:
    return CallError(
        f"dimension numbers {numbers} are no matrix product without a transpose: {rule}",
        location=where,
        notes=(("help", "jax.numpy.moveaxis brings dimensions there, by a copy"),),
    )


def _as_matrix(
    x: Any, batch: int, contract: Sequence[int], numbers: object, where: SourceLocation
) -> tuple[Any, bool]:
    """An array as matrices, and whether the dimensions that are summed over are the last ones."""
    contract = tuple(contract)
    sizes = x.shape
    count = math.prod(sizes[:batch])
    depth = math.prod(sizes[i] for i in contract)
    begin, end = batch + len(contract), x.ndim - len(contract)
    last = contract == tuple(range(end, x.ndim))
    if not last and contract != tuple(range(batch, begin)):
        raise _no_product(
            "dimensions that are summed over come directly after the batch or last", numbers, where
        )
    free = math.prod(sizes[batch:end] if last else sizes[begin:])
    shape = (free, depth) if last else (depth, free)
    return x.reshape((count, *shape) if batch else shape), last


# ---- products ------------------------------------------------------------------------------------


def _batched(out: DType, a: Any, b: Any) -> Any:
    """Matrices along leading dimensions, which are broadcast."""
    lead = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, n = a.shape[-2], b.shape[-1]
    if _shared(b):  # one matrix for all rows of a
        d = _dot("K", "MN", out, _flat(a, a.ndim - 1), b.reshape(b.shape[-2:]))
        return d.reshape(*lead, m, n)
    if _shared(a):
        d = _dot("K", "MN", out, a.reshape(a.shape[-2:]), _flat(b, b.ndim - 2))
        return d.reshape(*lead, m, n)
    a, b = (jnp.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))
    d = _dot("K", "MN", out, _flat(a, len(lead)), _flat(b, len(lead)))
    return d.reshape(*lead, m, n)


def _shared(x: Any) -> bool:
    return all(isinstance(size, int) and size == 1 for size in x.shape[:-2])


def _flat(x: Any, count: int) -> Any:
    """The first `count` dimensions as one."""
    return x.reshape(math.prod(x.shape[:count]), *x.shape[count:])


@partial(_jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _dot(a_major: Major, b_major: Major, out: DType, a: Any, b: Any) -> Any:
    """D of matrices, or of batches of matrices (rank 3), that are in memory as the majors say."""
    return _computed(a_major, b_major, out, a, b)


def _dot_fwd(a_major: Major, b_major: Major, out: DType, a: Any, b: Any) -> tuple[Any, Any]:
    return _dot(a_major, b_major, out, a, b), (a, b)


def _dot_bwd(
    a_major: Major, b_major: Major, out: DType, saved: tuple[Any, Any], g: Any
) -> tuple[Any, Any]:
    del out
    a, b = saved
    (g,) = shell.as_jax(g)
    g = g.astype(a.dtype)  # both factors have one type
    # In memory B's other dimension is N: what was MN-major is K-major where N is summed over.
    turned: Major = "MN" if b_major == "K" else "K"
    if a_major == "K":
        da = _cotangent(a, ("K", turned), g, b)  # g (M, N) by B's transpose
    else:
        da = _cotangent(a, (turned, "K"), b, g)  # B by g's transpose
    other: Major = "MN" if a_major == "K" else "K"
    if b_major == "MN":
        db = _cotangent(b, (other, "MN"), a, g)  # A's transpose by g
    else:
        db = _cotangent(b, ("MN", other), g, a)  # g's transpose by A
    return da, db


def _cotangent(primal: Any, majors: tuple[Major, Major], x: Any, y: Any) -> Any:
    """The cotangent of a factor; added up over a batch that the factor is the same for."""
    over = shell.shared_over(primal, x, y)
    summed = primal.ndim == 2 and (x.ndim == 3 or y.ndim == 3)
    dtype = DTYPES[str(primal.dtype)]
    found = _dot(*majors, f32 if over or summed else dtype, x, y)
    if summed:
        found = found.sum(0)
    if over:
        found = _jax.lax.psum(found, over)
    return shell.like(found.astype(primal.dtype), primal)


_dot.defvjp(_dot_fwd, _dot_bwd)


def _batched8(out: DType, a: Any, b: Any, rows: Any, columns: Any) -> Any:
    """Matrices of 8 bits along leading dimensions, which are broadcast."""
    lead = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, n = a.shape[-2], b.shape[-1]
    b = jnp.swapaxes(b, -1, -2)
    if _shared(b):
        flat = _flat(a, a.ndim - 1), b.reshape(b.shape[-2:]), rows.reshape(-1), columns.reshape(-1)
        return _dot8(out, *flat).reshape(*lead, m, n)
    a, b = (jnp.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))
    rows, columns = (jnp.broadcast_to(x, (*lead, x.shape[-1])) for x in (rows, columns))
    d = _dot8(out, *(_flat(x, len(lead)) for x in (a, b, rows, columns)))
    return d.reshape(*lead, m, n)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _dot8(out: DType, a: Any, b: Any, *scales: Any) -> Any:
    """D of (M, K) and (N, K) of 8 bits, or of batches of them; scales of its rows and columns."""
    m, n, lead = a.shape[-2], b.shape[-2], a.shape[:-2] or b.shape[:-2]
    if any(isinstance(size, int) and size == 0 for size in (m, n, a.shape[-1], *lead)):
        return jnp.zeros((*lead, m, n), out.numpy)
    a, b = _padded(a, -1), _padded(_padded(b, -1), -2)
    if scales:
        scales = scales[0], _to(scales[1], -1, b.shape[-2])
    one, other = (FLOAT8[str(x.dtype)] for x in (a, b))
    product = Product(one, other, out, "K", "K", a.ndim == 3, b.ndim == 3, bool(scales))
    d = _launch(product)(a, b, *scales)
    return d if d.shape[-2:] == (m, n) else d[..., :m, :n]


def _dot8_fwd(out: DType, a: Any, b: Any, *scales: Any) -> Any:
    del out, scales
    raise CallError(
        f"a product of {a.dtype} and {b.dtype} has no derivative",
        notes=(("help", "differentiate the product of the arrays before they were rounded"),),
    )


_dot8.defvjp(_dot8_fwd, _dot8_fwd)


def _computed(a_major: Major, b_major: Major, out: DType, a: Any, b: Any) -> Any:
    """D, by a kernel of 16-bit types whose rows are a multiple of 16 bytes."""
    m, k = a.shape[-2:] if a_major == "K" else a.shape[:-3:-1]
    n = b.shape[-2] if b_major == "K" else b.shape[-1]
    lead = a.shape[:-2] or b.shape[:-2]
    if any(isinstance(size, int) and size == 0 for size in (m, n, k, *lead)):
        return jnp.zeros((*lead, m, n), out.numpy) + _nothing(a, b, out)
    if str(a.dtype) == "float32":
        a, b = _in_parts(a, a_major, 0), _in_parts(b, b_major, 1)
    a_depth, b_depth = (-1 if major == "K" else -2 for major in (a_major, b_major))
    a, b = _padded(a, -1), _padded(b, -1)
    b = _padded(b, -2) if b_major == "K" else b  # rows of D
    depth = a.shape[a_depth] if a_major == "K" else b.shape[b_depth]
    a, b = _to(a, a_depth, depth), _to(b, b_depth, depth)
    kind = DTYPES[str(a.dtype)]
    product = Product(kind, kind, out, a_major, b_major, a.ndim == 3, b.ndim == 3)
    d = _launch(product)(a, b)
    return d if d.shape[-2:] == (m, n) else d[..., :m, :n]


def _nothing(a: Any, b: Any, out: DType) -> Any:
    """Zero, with what JAX knows of both arrays: over which devices they vary."""
    return (a.sum() * 0 + b.sum() * 0).astype(out.numpy)


def _padded(x: Any, axis: int) -> Any:
    """Zeros after a dimension, so that it is a multiple of 16 bytes, of D too."""
    size = x.shape[axis]
    if not isinstance(size, int):
        return x  # an exported function's dimension without a size: a launch checks it
    return _to(x, axis, size + -size % (_ALIGNED // x.dtype.itemsize))


def _to(x: Any, axis: int, size: Any) -> Any:
    if not isinstance(size, int) or x.shape[axis] == size:
        return x
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, size - x.shape[axis])
    return jnp.pad(x, widths)


def _in_parts(x: Any, major: Major, which: int) -> Any:
    """bf16 parts of f32 numbers, next to each other along K: one product adds all that are wanted.

    What is infinite is so in the product of the largest parts alone: by a zero part of the other
    number it would give NaN. Parts are next to each other so that devices may split K.
    """
    rest = x
    parts: list[Any] = []
    for _ in range(3):
        bits = _jax.lax.bitcast_convert_type(rest, jnp.uint32) & np.uint32(0xFFFF0000)
        part = _jax.lax.bitcast_convert_type(bits, jnp.float32)  # towards zero: never infinite
        finite = jnp.isfinite(part)
        parts.append((part if not parts else jnp.where(finite, part, 0)).astype(jnp.bfloat16))
        rest = jnp.where(finite, rest - part, 0)
    bounded = [jnp.where(jnp.isfinite(parts[0]), parts[0], 0), *parts[1:]]
    chosen = [bounded[pair[which]] for pair in _SPLIT[:-1]] + [parts[0]]
    axis = x.ndim - (1 if major == "K" else 2)
    shape = (*x.shape[:axis], x.shape[axis] * len(_SPLIT), *x.shape[axis + 1 :])
    return jnp.stack(chosen, axis + 1).reshape(shape)


# ---- launches ------------------------------------------------------------------------------------


@lru_cache(plan.KEPT)
def _launch(product: Product) -> Callable[..., Any]:
    """The kernel as a function of arrays; under `jax.vmap`, that of more rows or matrices."""

    @_jax.custom_batching.custom_vmap
    def launch(*arrays: Any) -> Any:
        return plan.operation(product, _shape(product, *arrays[:2]))(*arrays)

    @launch.def_vmap
    def batched(size: int, mapped: Sequence[bool], *arrays: Any) -> tuple[Any, bool]:  # pyright: ignore[reportUnusedFunction]
        return _vmapped(product, size, mapped, arrays), True

    return launch


def _shape(product: Product, a: Any, b: Any) -> Shape:
    m, k = a.shape[-2:] if product.a_major == "K" else a.shape[:-3:-1]
    n = b.shape[-2] if product.b_major == "K" else b.shape[-1]
    lead = a.shape[:-2] or b.shape[:-2] or (1,)
    if all(isinstance(size, int) for size in (m, n, k, *lead)):
        return plan.choose(product, m, n, k, lead[0])
    return Shape()


def _vmapped(product: Product, size: int, mapped: Sequence[bool], arrays: Sequence[Any]) -> Any:
    of_a, of_b = mapped[:2]
    a, b = arrays[:2]
    simple = not product.batched and not product.scaled
    if simple and of_a and not of_b and product.a_major == "K":
        d = _launch(product)(_flat(a, 2), b)  # more rows
        return d.reshape(size, -1, d.shape[-1])
    if simple:
        return _launch(replace(product, a_batched=of_a, b_batched=of_b))(a, b)
    batched = (product.a_batched, product.b_batched) * 2
    # What has an element of the batch has all of its matrices: scales with the arrays they are of.
    of_a, of_b = (any(mapped[i::2]) for i in range(2))
    several = (of_a or batched[0], of_b or batched[1]) * 2
    count = next((x.shape[int(m)] for x, m, g in zip(arrays, mapped, batched) if g), 1)  # noqa: B905
    kept: list[Any] = []
    for x, own, many, whole in zip(arrays, mapped, batched, several):  # noqa: B905
        rest = x.shape[int(own) + int(many) :]
        levels = x.reshape(size if own else 1, count if many else 1, *rest)
        kept.append(_flat(jnp.broadcast_to(levels, (size, count, *rest)), 2) if whole else x)
    made = replace(product, a_batched=several[0], b_batched=several[1])
    d = _launch(made)(*kept)
    return d.reshape(*((size, count) if product.batched else (size,)), *d.shape[-2:])
