"""Launches of matrix products in JAX: arrays are padded and cut into parts, batches are folded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy

from pyptx import KernelSequence
from pyptx.ops import _jax as shell
from pyptx.ops._matmul_arrays import (
    as_tf32,
    extended,
    flat,
    in_parts,
    nothing,
    one_batch,
    padded,
)
from pyptx.ops.tensor_core import arrays as product_arrays
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.factors import ALIGNED, FLOAT8, KINDS, Call, part_pairs
from pyptx.ops.tensor_core.shape import Product, Shape
from pyptx.types import f32

_jax: Any = jax  # for what JAX annotates in part
jnp: Any = jax.numpy


def computed(call: Call, a: Any, bs: Sequence[Any], operands: Sequence[Any] = ()) -> list[Any]:
    """D and further results, by one kernel. All arrays are matrices or batches of them.

    `operands` are the epilogue's: (M,) of rows, (N,) of columns, (M, N), batched or not; before
    them the block scales of A and B. Where M or K is `call.spread`, it is several axes of all that
    have it, and nothing is batched; "G" are several axes of a batch. Where a factor is the same
    along an axis of the batch, it may have 1 there.
    """
    if call.spread in (None, "G") and min(a.ndim, bs[0].ndim) > 2:
        a, *bs = one_batch((a, *bs))
    *_, k = call.sizes(a, bs[0])
    if call.spread == "K" and (call.tf32 or (isinstance(k, int) and k < ALIGNED)):
        # Copies transpose tf32 numbers, and few products are padded.
        a, bs = flat(a, a.ndim - 1), [flat(b, b.ndim - 1) for b in bs]
        call = replace(call, spread=None)
    if call.blocks and isinstance(k, int) and k == 0:
        call, operands = replace(call, blocks=None), operands[2:]
    dims = _result_shape(call, a, bs[0])
    nothing = dims if call.epilogue is not None else (*dims, k)
    if any(isinstance(size, int) and size == 0 for size in nothing):
        return _zeros(call, a, bs, dims)
    if call.tf32:
        a, bs = as_tf32(a, call.a_major), [as_tf32(b, call.b_major) for b in bs]
        call = replace(call, a_major="K", b_major="K")
    pairs = () if call.tf32 else part_pairs(str(a.dtype), str(bs[0].dtype))
    if pairs and len(bs) > 1 and str(call.out.numpy) in FLOAT8:
        return _rounded_last(call, a, bs, operands)
    if pairs:
        a = in_parts(a, call.a_major, 0, pairs)
        bs = [in_parts(b, call.b_major, 1, pairs) for b in bs]
    least = min(a.dtype.itemsize, *(dtype.bytes for dtype in call.results))
    a = padded(a, -1)
    amax = call.epilogue is not None and call.epilogue.amax
    across = -2 if call.b_major == "K" else -1
    # Columns of D that are cut off count for the largest value: those of zeros would give NaN.
    bs = [padded(b, across, least, repeated=amax) for b in bs]
    bs = [padded(b, -1, repeated=amax and across == -1) for b in bs]
    a_depth, b_depth = (-1 if major == "K" else -2 for major in (call.a_major, call.b_major))
    depth = a.shape[a_depth] if call.a_major == "K" else bs[0].shape[b_depth]
    if isinstance(depth, int):
        depth = max(depth, ALIGNED // a.dtype.itemsize)  # sums of nothing are zeros
    if call.spread != "K":
        a, bs = extended(a, a_depth, depth), [extended(b, b_depth, depth) for b in bs]
    operands, batches = _operands(call, operands, bs[0].shape[across])
    several = call.spread in (None, "G")
    product = Product(
        KINDS[str(a.dtype)], KINDS[str(bs[0].dtype)], call.out, call.a_major, call.b_major,
        several and a.ndim > 2, several and bs[0].ndim > 2, call.epilogue, batches=batches,
        blocks=call.blocks, spread=call.spread, rounded=bool(pairs),
    )  # fmt: skip
    launch = _launch(product) if shell.is_traced((a, *bs, *operands)) else partial(_once, product)
    found = launch(a, *bs, *operands)
    ds, rows = found[: len(call.results)], found[len(call.results) :]
    last = dims[-2:]
    return [*(d if d.shape[-2:] == last else d[..., : last[0], : last[1]] for d in ds), *rows]


def _result_shape(call: Call, a: Any, b: Any) -> tuple[Any, ...]:
    """D's shape."""
    m, n, _ = call.sizes(a, b)
    if call.spread == "M":
        return (*a.shape[:-1], n)
    return (m, n) if call.spread == "K" else (*(a.shape[:-2] or b.shape[:-2]), m, n)


def _zeros(call: Call, a: Any, bs: Sequence[Any], dims: tuple[Any, ...]) -> list[Any]:
    """The results where there is nothing to multiply."""
    zero: Any = sum((nothing(x) for x in bs), nothing(a))
    found = [jnp.zeros(dims, t.numpy) + zero.astype(t.numpy) for t in call.results]
    if call.epilogue is not None and call.epilogue.amax:
        found.append(jnp.zeros(dims[:-1], jnp.uint32) + zero.astype(jnp.uint32))
    return found


def _rounded_last(call: Call, a: Any, bs: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """What `computed` gives, of elements that the kernel leaves f32.

    Half of a tile's columns are those of each matrix, and promoted sums of 256 columns, of which
    numbers of 8 bits would be a whole panel, do not fit the registers.
    """
    wide, *rest = computed(replace(call, out=f32), a, bs, operands)
    most = float(jnp.finfo(call.out.numpy).max)
    return [jnp.clip(wide, -most, most).astype(call.out.numpy), *rest]


def _operands(
    call: Call, operands: Sequence[Any], columns: Any
) -> tuple[list[Any], tuple[bool, ...]]:
    """Block scales and the epilogue's arrays for so many columns, and whether they are batched."""
    scales: list[Any] = []
    if call.blocks:
        of_a, of_b, *operands = operands
        if call.blocks == "column":
            of_b = extended(of_b, -1, columns, repeated=True)
        scales = [padded(of_a, -1), of_b]
    several = call.spread in (None, "G")
    flags = [several and x.ndim > 2 for x in scales]
    if call.epilogue is None:
        return scales, tuple(flags)
    rows = len(call.epilogue.rows)
    vectors = rows + len(call.epilogue.columns)
    amax = call.epilogue.amax
    found = [
        x if i < rows else extended(x, -1, columns, repeated=amax) for i, x in enumerate(operands)
    ]
    flags += [several and x.ndim > (1 if i < vectors else 2) for i, x in enumerate(operands)]
    return [*scales, *found], tuple(flags)


# ---- kernels -------------------------------------------------------------------------------------


@lru_cache(plan.KEPT)
def _launch(product: Product) -> Callable[..., Any]:
    """The kernel as a function of arrays; under `jax.vmap`, that of more rows or matrices."""

    @_jax.custom_batching.custom_vmap
    def launch(*arrays: Any) -> Any:
        return _once(product, *arrays)

    @launch.def_vmap
    def batched(size: int, mapped: Sequence[bool], *arrays: Any) -> tuple[Any, Any]:  # pyright: ignore[reportUnusedFunction]
        found = _vmapped(product, size, mapped, arrays)
        return found, (True,) * len(found)

    return launch


def _once(product: Product, *arrays: Any) -> tuple[Any, ...]:
    found = plan.operation(product, _shape(product, *arrays[:2]))(*arrays)
    return (found,) if len(product.results) == 1 and not product.amax else tuple(found)


def alone(call: Call, a: Any, b: Any) -> KernelSequence | None:
    """All that `computed` does with two arrays of 16 bits and nothing else, if that is to launch a
    kernel on them as they are; otherwise None."""
    sizes = call.sizes(a, b)
    narrow = {str(a.dtype), str(b.dtype)} <= {"bfloat16", "float16"}
    if not narrow or not all(isinstance(size, int) and size > 0 for size in sizes):
        return None
    least = min(a.dtype.itemsize, call.out.bytes)
    if any(size % (ALIGNED // least) for size in sizes[1:]):
        return None
    kinds = KINDS[str(a.dtype)], KINDS[str(b.dtype)]
    product = Product(*kinds, call.out, call.a_major, call.b_major, spread=call.spread)
    return plan.operation(product, _shape(product, a, b))


def _shape(product: Product, a: Any, b: Any) -> Shape:
    call = Call(product.a_major, product.b_major, product.d, spread=product.spread)
    m, n, k = call.sizes(a, b)
    lead = (a.shape[:-2] or b.shape[:-2]) if product.spread in (None, "G") else ()
    if all(isinstance(size, int) for size in (m, n, k, *lead)):
        return plan.choose(product, m, n, k, math.prod(lead))
    return plan.any_size(product)


def _vmapped(
    product: Product, size: int, mapped: Sequence[bool], arrays: Sequence[Any]
) -> tuple[Any, ...]:
    found = _as_rows(product, size, mapped, arrays)
    return _as_matrices(product, size, mapped, arrays) if found is None else found


def _as_rows(
    product: Product, size: int, mapped: Sequence[bool], arrays: Sequence[Any]
) -> tuple[Any, ...] | None:
    """One more axis of the rows of A, where B is one matrix; None where it is not."""
    b_end = 1 + product.factors
    epilogue, first = product.epilogue, b_end + (2 if product.blocks else 0)
    rows = 0 if epilogue is None else len(epilogue.rows)
    begin = first + rows
    columns = [*range(begin, begin + (0 if epilogue is None else len(epilogue.columns)))]
    if product.blocks:
        columns.append(b_end + 1)
    one = not any(mapped[i] for i in (*range(1, b_end), *columns))
    several = product.batched or product.spread in ("K", "G") or product.a_major != "K"
    if several or not mapped[0] or not one:
        return None
    kept = [
        x if own or 1 <= i < b_end or i in columns else jnp.broadcast_to(x, (size, *x.shape))
        for i, (x, own) in enumerate(zip(arrays, mapped, strict=True))
    ]
    return _launch(replace(product, spread="M"))(*kept)


def _as_matrices(
    product: Product, size: int, mapped: Sequence[bool], arrays: Sequence[Any]
) -> tuple[Any, ...]:
    """One more axis of the batch; what has an element of the batch has all of its matrices."""
    if product.spread in ("M", "K"):
        return _as_matrices_of_one_axis(product, size, mapped, arrays)
    b_end = 1 + product.factors
    of_b = any(mapped[1:b_end])
    mapped_now = [mapped[0], *(of_b,) * product.factors, *mapped[b_end:]]
    batched = (product.a_batched, *(product.b_batched,) * product.factors, *product.batches)
    ranks = _ranks(product)
    shapes = [
        x.shape[int(own) : x.ndim - rank]
        for x, own, many, rank in zip(arrays, mapped, batched, ranks, strict=True)
        if many
    ]
    lead = shapes[0] if shapes else ()
    several = [own or many for own, many in zip(mapped_now, batched, strict=True)]
    kept: list[Any] = []
    for x, own, many, whole, rank in zip(arrays, mapped, batched, several, ranks, strict=True):
        last = x.shape[x.ndim - rank :]
        levels = x.reshape(size if own else 1, *(lead if many else (1,) * len(lead)), *last)
        kept.append(jnp.broadcast_to(levels, (size, *lead, *last)) if whole else x)
    made = replace(
        product, a_batched=several[0], b_batched=several[1], batches=tuple(several[b_end:]),
        spread="G" if lead else None,
    )  # fmt: skip
    return _launch(made)(*kept)


def _ranks(product: Product) -> list[int]:
    """The dimensions of each array without those of a batch."""
    return [
        sum(dim not in ("G", "*G") for dim in tile.dims) for tile in product_arrays.inputs(product)
    ]


def _as_matrices_of_one_axis(
    product: Product, size: int, mapped: Sequence[bool], arrays: Sequence[Any]
) -> tuple[Any, ...]:
    """The same where a dimension is several axes: they become one first."""
    kept: list[Any] = []
    for x, own, after in zip(arrays, mapped, _after(product), strict=True):
        begin, end = int(own), x.ndim - (after or 0)
        one = (*x.shape[:begin], math.prod(x.shape[begin:end]), *x.shape[end:])
        kept.append(x if after is None else x.reshape(one))
    found = _as_matrices(replace(product, spread=None), size, mapped, kept)
    if product.spread == "K":
        return found
    axes = arrays[0].shape[int(mapped[0]) : -1]
    return tuple(x.reshape(size, *axes, *x.shape[2:]) for x in found)


def _after(product: Product) -> list[int | None]:
    """Of each array its dimensions after those that are `spread`, None where it has none."""
    several = f"*{product.spread}"
    found = [tile.dims[::-1] for tile in product_arrays.inputs(product)]
    return [dims.index(several) if several in dims else None for dims in found]
