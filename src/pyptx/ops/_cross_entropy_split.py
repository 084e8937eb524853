"""The cross entropy of logits whose columns are split over the devices of an axis of a mesh."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pyptx.ops import _jax as shell
from pyptx.ops._cross_entropy import Part, PartGradient
from pyptx.ops.rowwise import plan

_jax: Any = jax  # for what JAX annotates in part


def loss(x: Any, labels: Any, axis: str, ignored: int | None, smoothing: float, z: float) -> Any:
    """The loss of whole rows, of a device's columns of them: one all-reduce of a few numbers.

    All devices have the same number of columns, in the axis' order, and labels of all columns.
    """
    count, columns = _jax.lax.axis_size(axis), x.shape[-1]
    device = _jax.lax.axis_index(axis)
    there = (labels >= 0) & (labels < count * columns)
    here = jnp.where(there, labels - device * columns, -1)
    found = part(x, here)
    if ignored is not None:  # also where the row is not a number
        instead = (0, 1, 0, 0)
        found = [jnp.where(labels == ignored, *each) for each in zip(instead, found, strict=True)]
    maximum, exponentials, picked, total = found
    # Those of all devices, by a sum in which every device has a place of its own.
    mine: Any = _jax.numpy.equal(np.arange(count), device)
    places = [_jax.numpy.where(mine, each[..., None], 0) for each in (maximum, exponentials)]
    both = jnp.stack([picked, total], -1)
    summed = _jax.lax.psum(jnp.concatenate([*places, both], -1), axis)
    maxima = _jax.lax.stop_gradient(summed[..., :count])
    largest = jnp.max(maxima, -1)
    # Of minus infinities nothing can be subtracted.
    largest = jnp.where(largest == -jnp.inf, 0, largest)
    logarithm = jnp.log(jnp.sum(summed[..., count:-2] * jnp.exp(maxima - largest[..., None]), -1))
    whole = largest + logarithm
    mean = summed[..., -1] / (count * columns)
    of_label = largest - summed[..., -2] + logarithm
    value = of_label if not smoothing else (1 - smoothing) * of_label + smoothing * (whole - mean)
    value = value + z * whole**2 if z else value  # a square may be infinite
    value = value * jnp.where(there, 1, jnp.nan).astype(value.dtype)
    return value if ignored is None else jnp.where(labels == ignored, 0, value)


@_jax.custom_vjp
def part(x: Any, labels: Any) -> tuple[Any, Any, Any, Any]:
    """Of a device's columns the maximum M, the sum of exp(x - M), x in the label's column or 0, and
    the sum of x.

    What is made of the first two does not depend on M, whose cotangent is not read.
    """
    columns = x.shape[-1]
    op = Part(columns, shell.DTYPES[str(x.dtype)])
    maximum, exponentials, picked, total = plan.operation(op, (columns,))(x, labels)
    return maximum, exponentials, picked, total


def _part_fwd(x: Any, labels: Any) -> tuple[Any, Any]:
    found = part(x, labels)
    return found, (x, labels, found[0])


def _part_bwd(saved: tuple[Any, ...], cotangents: Any) -> tuple[Any, None]:
    x, labels, maximum = saved
    return gradient(x, labels, maximum, *shell.as_jax(*cotangents[1:])), None


part.defvjp(_part_fwd, _part_bwd)


@_jax.custom_vjp
def gradient(x: Any, labels: Any, maximum: Any, slope: Any, picked: Any, total: Any) -> Any:
    columns = x.shape[-1]
    op = PartGradient(columns, shell.DTYPES[str(x.dtype)])
    return plan.operation(op, (columns,))(x, labels, maximum, slope, picked, total)


def _gradient_fwd(*operands: Any) -> tuple[Any, Any]:
    return gradient(*operands), operands


def _gradient_bwd(operands: tuple[Any, ...], cotangent: Any) -> tuple[Any, ...]:
    x, labels, *rows = operands
    _, pull = _jax.vjp(partial(_reference_gradient, labels), x, *rows)
    dx, *others = pull(cotangent)
    return dx, None, *others


gradient.defvjp(_gradient_fwd, _gradient_bwd)


def _reference_gradient(
    labels: Any, x: Any, maximum: Any, slope: Any, picked: Any, total: Any
) -> Any:
    """The formula in jax.numpy, for derivatives of higher order."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    hot = _jax.nn.one_hot(labels, x.shape[-1], dtype=wide.dtype)
    largest = _jax.lax.stop_gradient(maximum)[..., None]
    powers = jnp.exp(wide - largest) * slope[..., None]
    return (powers + hot * picked[..., None] + total[..., None]).astype(x.dtype)
