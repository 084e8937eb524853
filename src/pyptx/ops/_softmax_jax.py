"""`softmax` and `log_softmax` as operations of JAX."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from pyptx._source import call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._softmax import Softmax, SoftmaxGradient
from pyptx.ops.rowwise import plan

_jax: Any = jax  # for what JAX annotates in part


def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x - max(x)) / sum(exp(x - max(x))) over the last dimension, rounded once.

    x        bf16, f16, f32 or f64, of any shape but ()
    axis     the last dimension; other axes are moved there first: jax.numpy.moveaxis
    returns  x's shape and dtype

    Sums and exponentials are in f32, in f64 where x is f64. A row of minus infinities, and a row
    with NaN or with plus infinity, is NaN, as in `jax.nn.softmax`. Differentiable in reverse mode
    by kernels, and of higher order by jax.numpy; one launch under `jax.vmap` and for each device.
    Raises CallError.
    """
    return _call("softmax", x, axis, log=False)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """x - max(x) - log(sum(exp(x - max(x)))) over the last dimension, rounded once.

    Everything else is as in `softmax`. Raises CallError.
    """
    return _call("log_softmax", x, axis, log=True)


def _call(name: str, x: Any, axis: object, *, log: bool) -> Any:
    where = call_site()
    shell.check_targets(name, where)
    shell.check_array("x", x, name, where)
    if x.ndim == 0 or axis not in (-1, x.ndim - 1):
        raise CallError(
            f"axis is {axis!r} and x has shape {tuple(x.shape)}; rows are the last dimension",
            location=where,
            notes=(("help", f"{name}(jax.numpy.moveaxis(x, axis, -1)), and back"),),
        )
    shell.check_rows(x, 1, name, where)
    return shell.located(name, where, _softmax, log, *shell.as_jax(x))


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _softmax(log: bool, x: Any) -> Any:
    columns = x.shape[-1]
    return plan.operation(Softmax(columns, shell.DTYPES[str(x.dtype)], log), (columns,))(x)


def _softmax_fwd(log: bool, x: Any) -> tuple[Any, Any]:
    y = _softmax(log, x)
    return y, y


def _softmax_bwd(log: bool, y: Any, g: Any) -> tuple[Any]:
    return (shell.like(gradient(log, y, *shell.as_jax(g)), y),)


_softmax.defvjp(_softmax_fwd, _softmax_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def gradient(log: bool, y: Any, g: Any) -> Any:
    columns = y.shape[-1]
    return plan.operation(SoftmaxGradient(columns, shell.DTYPES[str(y.dtype)], log), (columns,))(
        y, g
    )


def gradient_fwd(log: bool, y: Any, g: Any) -> tuple[Any, Any]:
    return gradient(log, y, g), (y, g)


def gradient_bwd(log: bool, saved: tuple[Any, Any], cotangent: Any) -> tuple[Any, Any]:
    _, pull = _jax.vjp(partial(_reference_gradient, log), *saved)
    return pull(cotangent)


gradient.defvjp(gradient_fwd, gradient_bwd)


def _reference_gradient(log: bool, y: Any, g: Any) -> Any:
    """The formula in jax.numpy, for derivatives of higher order."""
    compute = jnp.promote_types(y.dtype, jnp.float32)
    wide, cotangent = y.astype(compute), g.astype(compute)
    if log:
        dx = cotangent - jnp.exp(wide) * jnp.sum(cotangent, -1, keepdims=True)
    else:
        dx = wide * (cotangent - jnp.sum(wide * cotangent, -1, keepdims=True))
    return dx.astype(y.dtype)
