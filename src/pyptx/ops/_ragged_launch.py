"""Launches of products of groups of rows in JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

import jax
import jax.numpy

from pyptx.ops import _jax as shell
from pyptx.ops._matmul_arrays import (
    extended,
    gathered,
    in_parts,
    is_explicit,
    nothing,
    padded,
)
from pyptx.ops.tensor_core import arrays as product_arrays
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.factors import KINDS, Call, part_pairs
from pyptx.ops.tensor_core.shape import Blocks, Major, Product
from pyptx.types import DType, bf16

_jax: Any = jax  # for what JAX annotates in part
jnp: Any = jax.numpy


def ragged(
    along: Literal["M", "K"], b_major: Major, out: DType, a: Any, b: Any, lengths: Any
) -> Any:
    """The product of groups of rows, as `Product.ragged` says. `lengths` are int32, one a group.

    "M": a (M, K) and b (groups, K, N), or (groups, N, K), to (M, N)
    "K": a (K, M) and b (K, N) to (groups, M, N)
    """
    groups = lengths.shape[0]
    a_major: Major = "K" if along == "M" else "MN"
    call = Call(a_major, b_major, out)
    m, n, k = call.sizes(a, b)
    dims = (m, n) if along == "M" else (groups, m, n)
    if any(isinstance(size, int) and size == 0 for size in (*dims, k, groups)):
        return jnp.zeros(dims, out.numpy) + (nothing(a) + nothing(b)).astype(out.numpy)
    product = Product(
        KINDS[str(a.dtype)], KINDS[str(b.dtype)], out, a_major, b_major, b_batched=along == "M",
        ragged=along,
    )  # fmt: skip
    a, b, lengths = _gathered(product, a, b, lengths)
    pairs = part_pairs(str(a.dtype), str(b.dtype))
    if pairs:
        product = replace(product, a=bf16, b=bf16, rounded=True)
        a, b = in_parts(a, a_major, 0, pairs), in_parts(b, b_major, 1, pairs)
        lengths = lengths * len(pairs) if along == "K" else lengths
    least = min(a.dtype.itemsize, out.bytes)
    a, b = padded(a, -1), padded(padded(b, -1), -2 if b_major == "K" else -1, least)
    if along == "M":
        depth = a.shape[-1] if b_major == "MN" else b.shape[-1]
        a, b = extended(a, -1, depth), extended(b, -2 if b_major == "MN" else -1, depth)
    d = _ragged(product, a, b, lengths)
    return d if d.shape == dims else d[..., :m, :n]


def ragged_scaled(
    blocks: Blocks, out: DType, a: Any, b: Any, lengths: Any, scales: Sequence[Any]
) -> Any:
    """Groups of rows of a (M, K) by matrices of b (groups, N, K), both of 8 bits, with scales.

    `scales` are of a, (M, K / 128), and of b, (groups, K / 128, N / 128) or (groups, K / 128, N).
    """
    (m, k), (groups, n) = a.shape, b.shape[:2]
    if any(isinstance(size, int) and size == 0 for size in (m, n, k, groups)):
        return jnp.zeros((m, n), out.numpy) + (nothing(a) + nothing(b)).astype(out.numpy)
    product = Product(
        KINDS[str(a.dtype)], KINDS[str(b.dtype)], out, "K", "K", b_batched=True, ragged="M",
        blocks=blocks, batches=(False, True),
    )  # fmt: skip
    a, b, lengths, of_a, of_b = _gathered(product, a, b, lengths, *scales)
    a, b = padded(a, -1), padded(padded(b, -1), -2, 1)
    of_b = extended(of_b, -1, b.shape[-2]) if blocks == "column" else of_b
    return _ragged(product, a, b, lengths, padded(of_a, -1), of_b)[:, :n]


def _gathered(product: Product, *arrays: Any) -> list[Any]:
    """Under an explicit mesh, arrays as under another one: whole where devices may not split them.

    Of two factors that are sharded over one axis of the mesh, the second stays so.
    """
    if not any(map(is_explicit, arrays)):
        return [*arrays]
    split = product_arrays.run_time(product)["parallel"]
    found: list[Any] = []
    taken: set[str] = set()
    for x, tile in reversed([*zip(arrays, product_arrays.inputs(product), strict=True)]):
        spec = jax.typeof(x).sharding.spec
        over = [{axes} if isinstance(axes, str) else {*(axes or ())} for axes in spec]
        kept = [
            dim in split and not axes & taken for dim, axes in zip(tile.dims, over, strict=True)
        ]
        taken = taken.union(*(axes for axes, keep in zip(over, kept, strict=True) if keep))
        found.append(gathered(x, kept) if is_explicit(x) else x)
    return found[::-1]


def _ragged(product: Product, *arrays: Any) -> Any:
    """The kernel of a product of groups; under `jax.vmap`, one launch after another."""
    if shell.is_traced(arrays):
        return _launch_ragged(product)(*arrays)
    return _ragged_once(product, *arrays)


def _ragged_once(product: Product, a: Any, b: Any, lengths: Any, *scales: Any) -> Any:
    m, n, k = Call(product.a_major, product.b_major, product.d).sizes(a, b)
    if all(isinstance(size, int) for size in (m, n, k)):
        shape = plan.choose_ragged(product, m, n, k, lengths.shape[0])
    else:
        shape = plan.with_table(plan.any_size(product), lengths.shape[0])
    return plan.operation(product, shape)(a, b, lengths, *scales)


@lru_cache(plan.KEPT)
def _launch_ragged(product: Product) -> Callable[..., Any]:
    """`_ragged_once` as a function of arrays that JAX can map."""

    @_jax.custom_batching.custom_vmap
    def launch(*arrays: Any) -> Any:
        return _ragged_once(product, *arrays)

    @launch.def_vmap
    def batched(size: int, mapped: Sequence[bool], *arrays: Any) -> tuple[Any, Any]:  # pyright: ignore[reportUnusedFunction]
        every = [
            x if own else jnp.broadcast_to(x, (size, *x.shape))
            for x, own in zip(arrays, mapped, strict=True)
        ]

        def one(given: Any) -> Any:
            return launch(*given)

        return _jax.lax.map(one, tuple(every)), True

    return launch
