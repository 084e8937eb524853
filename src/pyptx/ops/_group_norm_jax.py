"""`group_norm` and `instance_norm` as operations of JAX."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._group_norm import ChannelMoments, ChannelNorm, ChannelNormGradient, ChannelSums
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.checks import check_length
from pyptx.types import DType

_jax: Any = jax  # for what JAX annotates in part


@binding(CallError, "group_norm")
def group_norm(
    x: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *,
    channel_axis: int = 1,
) -> Any:
    """Group normalization: (x - mean) * rsqrt(variance + eps) * weight + bias, rounded once.

    x             bf16, f16, f32 or f64, of shape (N, C, ...)
    num_groups    divides C; mean and variance are over C / num_groups channels of one example
    weight, bias  bf16, f16, f32 or f64, of shape (C,); None for ones and zeros
    eps           a Python or NumPy number, not negative
    channel_axis  the dimension of x that is C; the first one is always N
    returns       x's shape and dtype

    As `torch.nn.functional.group_norm`; `flax.nnx.GroupNorm` has channel_axis=-1. Sums are held in
    f32, in f64 where x is f64. Two kernels read x twice and write the result once; the gradient
    reads x and the cotangent twice. If channel_axis is not 1, XLA transposes x and the result,
    which are copies.

    Kernels compute reverse-mode derivatives; jax.numpy computes those of higher order. `jax.vmap`
    adds rows. Examples may be sharded; only the gradients of weight and bias need a collective.
    Raises CallError.
    """
    where = call_site()
    return _call("group_norm", x, num_groups, weight, bias, eps, channel_axis, where)


@binding(CallError, "instance_norm")
def instance_norm(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, channel_axis: int = 1
) -> Any:
    """`group_norm` with one group per channel, as `torch.nn.functional.instance_norm`."""
    return _call("instance_norm", x, None, weight, bias, eps, channel_axis, call_site())


@dataclass(frozen=True, slots=True)
class _What:
    """What kernels are made for."""

    channels: int
    groups: int
    size: int
    """Elements of a channel."""
    x: DType
    eps: float

    def run(self, op: Any, *arrays: Any) -> Any:
        return plan.operation(op(self.size, self.x), (self.size,))(*arrays)

    def of_groups(self, x: Any) -> Any:
        """Numbers of channels, (N, C), by group: (N, groups, C / groups)."""
        return x.reshape(x.shape[0], self.groups, self.channels // self.groups)

    def of_channels(self, x: Any) -> Any:
        """Numbers of groups, (N, groups), for each channel: (N, C)."""
        shape = (x.shape[0], self.groups, self.channels // self.groups)
        return jnp.broadcast_to(x[..., None], shape).reshape(x.shape[0], self.channels)


def _call(
    name: str,
    x: Any,
    groups: Any,
    weight: Any,
    bias: Any,
    eps: Any,
    axis: Any,
    where: SourceLocation,
) -> Any:
    arguments = "x, num_groups" if name == "group_norm" else "x"
    eps = shell.number("eps", eps, f"{name}({arguments}, eps=1e-5)", where)
    if groups is None and name == "group_norm":
        problem = "num_groups is None and must be an integer"
        raise CallError(problem, location=where, notes=(("help", "group_norm(x, 32)"),))
    what, axis = _checked(name, x, groups, weight, bias, eps, axis, where)
    if 0 in x.shape:
        return x
    x, weight, bias = shell.as_jax(x, weight, bias)
    first = x if axis == 1 else jnp.moveaxis(x, axis, 1)
    rows = first.reshape(*first.shape[:2], what.size)
    y = shell.located(name, where, _norm, what, rows, weight, bias).reshape(first.shape)
    return y if axis == 1 else jnp.moveaxis(y, 1, axis)


def _checked(
    name: str,
    x: Any,
    groups: Any,
    weight: Any,
    bias: Any,
    eps: float,
    axis: Any,
    where: SourceLocation,
) -> tuple[_What, int]:
    shell.check_targets(name, where)
    dtype = shell.check_array("x", x, name, where)
    problem, note = None, None
    if x.ndim < 2:
        problem = f"x has shape {tuple(x.shape)}, and {name} takes (N, C, ...)"
    elif not _is_integer(axis) or not -x.ndim <= axis < x.ndim or axis % x.ndim == 0:
        problem = f"channel_axis is {axis!r}, and x has {x.ndim} dimensions"
        note = ("legal", f"1 to {x.ndim - 1}, or -1 to {1 - x.ndim}")
    if problem is None:
        channels = x.shape[axis]
        check_length(name, channels, where)
        groups = channels if groups is None else groups
        if not _is_integer(groups) or groups < 1 or channels % groups:
            problem = f"num_groups is {groups!r} and must divide the {channels} channels of x"
    if problem is not None:
        raise CallError(problem, location=where, notes=() if note is None else (note,))
    channels = x.shape[axis]
    for each, array in (("weight", weight), ("bias", bias)):
        if array is None:
            continue
        shell.check_array(each, array, name, where)
        if tuple(array.shape) != (channels,):
            raise CallError(
                f"{each} has shape {tuple(array.shape)}, and x {channels} channels",
                location=where,
                notes=(("legal", f"({channels},)"),),
            )
    size = math.prod(x.shape[1:]) // channels if channels else 0
    return _What(channels, int(groups), size, dtype, eps), int(axis) % x.ndim


def _is_integer(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Integral)


# ---- the norm and its derivatives ----------------------------------------------------------------


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _norm(what: _What, x: Any, weight: Any, bias: Any) -> Any:
    return kept(what, x, weight, bias)[0]


def _norm_fwd(what: _What, x: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    y, mean, r = kept(what, x, weight, bias)
    return y, (x, mean, r, weight, bias)


def _norm_bwd(what: _What, saved: tuple[Any, ...], g: Any) -> tuple[Any, Any, Any]:
    x, mean, r, weight, bias = saved
    return gradient(what, *shell.as_jax(x, g, mean, r, weight, bias))


_norm.defvjp(_norm_fwd, _norm_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def kept(what: _What, x: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
    """The norm, with what its gradient needs: the mean and r of each group."""
    means, squares = what.run(ChannelMoments, x)
    each = what.of_groups(means)
    # Distances from one of them are small numbers, and zeros where all channels are one number.
    mean = each[..., 0] + (each - each[..., :1]).mean(-1)
    between = ((each - mean[..., None]) ** 2).sum(-1) * what.size
    variance = (what.of_groups(squares).sum(-1) + between) / _elements(what)
    r = _jax.lax.rsqrt(variance + what.eps)
    scale, zeros = what.of_channels(r), _jax.numpy.zeros_like(means)
    scale = scale if weight is None else scale * weight.astype(scale.dtype)
    shift = zeros if bias is None else zeros + bias.astype(scale.dtype)
    return what.run(ChannelNorm, x, what.of_channels(mean), scale, shift), mean, r


def _kept_fwd(what: _What, *operands: Any) -> tuple[Any, Any]:
    return kept(what, *operands), operands


def _kept_bwd(what: _What, operands: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    return _jax.vjp(partial(_reference, what), *operands)[1](cotangents)


kept.defvjp(_kept_fwd, _kept_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def gradient(what: _What, x: Any, g: Any, mean: Any, r: Any, weight: Any, bias: Any) -> Any:
    """dx, and dw and db of those that are given."""
    center, root = what.of_channels(mean), what.of_channels(r)
    of_g, of_products = what.run(ChannelSums, x, g, center)
    w = (
        _jax.numpy.ones_like(root)
        if weight is None
        else _jax.numpy.zeros_like(root) + weight.astype(root.dtype)
    )
    mean_g = what.of_groups(of_g * w).sum(-1) / _elements(what)
    mean_products = what.of_groups(of_products * w).sum(-1) / _elements(what)
    slope, shift = -(r**3) * mean_products, -r * mean_g
    numbers_of = (center, root * w, what.of_channels(slope), what.of_channels(shift))
    dx = what.run(ChannelNormGradient, x, g, *numbers_of)
    dw, db = (of_products * root).sum(0), of_g.sum(0)
    dw = None if weight is None else shell.column_cotangent(dw, weight, x, g)
    db = None if bias is None else shell.column_cotangent(db, bias, x, g)
    return shell.like(dx, x), dw, db


def _gradient_fwd(what: _What, *operands: Any) -> tuple[Any, Any]:
    return gradient(what, *operands), operands


def _gradient_bwd(what: _What, operands: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    return _jax.vjp(partial(_reference_gradient, what), *operands)[1](cotangents)


gradient.defvjp(_gradient_fwd, _gradient_bwd)


def _elements(what: _What) -> int:
    return what.channels // what.groups * what.size


def _grouped(what: _What, x: Any) -> Any:
    compute = jnp.promote_types(x.dtype, jnp.float32)
    shape = (x.shape[0], what.groups, what.channels // what.groups, what.size)
    return x.astype(compute).reshape(shape)


def _parameter(what: _What, x: Any, like: Any) -> Any:
    return x.astype(like.dtype).reshape(what.groups, what.channels // what.groups, 1)


def _reference(what: _What, x: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
    """The formulas in jax.numpy, for derivatives of higher order."""
    wide = _grouped(what, x)
    mean = wide.mean((2, 3))
    away = wide - mean[..., None, None]
    r = _jax.lax.rsqrt((away**2).mean((2, 3)) + what.eps)
    y = away * r[..., None, None]
    y = y if weight is None else y * _parameter(what, weight, y)
    y = y if bias is None else y + _parameter(what, bias, y)
    return y.reshape(x.shape).astype(x.dtype), mean, r


def _reference_gradient(
    what: _What, x: Any, g: Any, mean: Any, r: Any, weight: Any, bias: Any
) -> tuple[Any, Any, Any]:
    """Those of the gradient."""
    root, cotangent = r[..., None, None], _grouped(what, g)
    normal = (_grouped(what, x) - mean[..., None, None]) * root
    gw = cotangent if weight is None else cotangent * _parameter(what, weight, cotangent)
    along = (gw * normal).mean((2, 3), keepdims=True)
    dx = root * (gw - gw.mean((2, 3), keepdims=True) - normal * along)
    dw = (cotangent * normal).sum((0, 3)).reshape(-1)
    db = cotangent.sum((0, 3)).reshape(-1)
    return (
        dx.reshape(x.shape).astype(x.dtype),
        None if weight is None else dw.astype(weight.dtype),
        None if bias is None else db.astype(bias.dtype),
    )
