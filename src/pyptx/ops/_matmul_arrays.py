"""Arrays of matrix products as kernels take them: padded, rounded, or in parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy
import numpy as np
from jax import core
from jax.sharding import PartitionSpec as P

from pyptx.ops.tensor_core.factors import ALIGNED
from pyptx.ops.tensor_core.shape import Major

_jax: Any = jax  # for what JAX annotates in part
jnp: Any = jax.numpy


def nothing(x: Any) -> Any:
    """Zero, with what JAX knows of an array: over which devices it varies."""
    return x.astype(jnp.float32).sum() * 0


def padded(x: Any, axis: int, itemsize: int | None = None, *, repeated: bool = False) -> Any:
    """Zeros after a dimension, so that it is a multiple of 16 bytes, of results too."""
    size = x.shape[axis]
    size += -size % (ALIGNED // (itemsize or x.dtype.itemsize))
    return extended(x, axis, size, repeated=repeated)


def extended(x: Any, axis: int, size: Any, *, repeated: bool = False) -> Any:
    """Zeros after a dimension up to this size, or the last element `repeated`.

    A dimension of an exported function may have no size yet: then the program that is compiled for
    its size has zeros, or leaves them out.
    """
    if x.shape[axis] == size:
        return x
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, size - x.shape[axis])
    return jnp.pad(x, widths, mode="edge" if repeated else "constant")


@partial(_jax.jit, static_argnums=1)  # called by itself it is one program, not one an operation
def as_tf32(x: Any, major: Major) -> Any:
    """Rounded to what tensor cores read of f32 numbers, with K last: they transpose 16 bits."""
    rounded = _jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=10)
    return rounded if major == "K" else jnp.swapaxes(rounded, -1, -2)


@partial(_jax.jit, static_argnums=(1, 2, 3))
def in_parts(x: Any, major: Major, which: int, pairs: Sequence[tuple[int, int]]) -> Any:
    """bf16 parts of numbers, next to each other along K: one product adds all that are wanted.

    `which` is this number's of each of the pairs. What is infinite is so in the product of the
    largest parts alone: by a zero part of the other number it would give NaN. Parts are next to
    each other so that devices may split K.
    """
    rest = x.astype(jnp.float32)
    parts: list[Any] = []
    for _ in range(1 + max(pair[which] for pair in pairs)):
        bits = _jax.lax.bitcast_convert_type(rest, jnp.uint32) & np.uint32(0xFFFF0000)
        part = _jax.lax.bitcast_convert_type(bits, jnp.float32)  # towards zero: never infinite
        finite = jnp.isfinite(part)
        parts.append((part if not parts else jnp.where(finite, part, 0)).astype(jnp.bfloat16))
        rest = jnp.where(finite, rest - part, 0)
    bounded = [jnp.where(jnp.isfinite(parts[0]), parts[0], 0), *parts[1:]]
    chosen = [bounded[pair[which]] for pair in pairs[:-1]] + [parts[0]]
    axis = x.ndim - (1 if major == "K" else 2)
    shape = (*x.shape[:axis], x.shape[axis] * len(pairs), *x.shape[axis + 1 :])
    return jnp.stack(chosen, axis + 1).reshape(shape)


def one_batch(arrays: Sequence[Any]) -> list[Any]:
    """Batches of matrices with the same first dimensions, where one of them may have 1."""
    lead = jnp.broadcast_shapes(*(x.shape[:-2] for x in arrays))
    return [
        x if x.shape[:-2] == lead else jnp.broadcast_to(x, (*lead, *x.shape[-2:])) for x in arrays
    ]


def is_explicit(x: Any) -> bool:
    """Whether its sharding is a part of its type."""
    mesh = jax.typeof(x).sharding.mesh
    return not mesh.empty and mesh.are_all_axes_explicit


def gathered(x: Any, kept: Sequence[bool]) -> Any:
    """An array of an explicit mesh, of which only these dimensions stay sharded."""
    sharding = jax.typeof(x).sharding
    mesh, spec = sharding.mesh, sharding.spec
    wanted = P(*(axes if keep else None for axes, keep in zip(spec, kept, strict=True)))
    if wanted == spec:
        return x
    if not isinstance(x, core.Tracer):
        mesh = x.sharding.mesh  # that of a type names no devices
    return _jax.sharding.reshard(x, jax.sharding.NamedSharding(mesh, wanted))


def flat(x: Any, count: int) -> Any:
    """The first `count` dimensions as one."""
    return x.reshape(math.prod(x.shape[:count]), *x.shape[count:])
