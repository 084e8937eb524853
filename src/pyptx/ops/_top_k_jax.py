"""`top_k` and `argmax` as operations of JAX."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import jax

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._top_k import MOST, TopK, kernel_of
from pyptx.types import DType

_jax: Any = jax  # for what JAX annotates in part


@binding(CallError, "top_k")
def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """The k largest elements of each row and their indices, largest first, as `jax.lax.top_k`.

    x        bf16, f16, f32 or f64, of shape (..., N)
    k        a Python integer, 1 to 64, at most N
    returns  values and indices of shape (..., k): x's type, and s32

    Equal elements keep their order. The order of the elements is that of `jax.lax.top_k`: NaN is
    larger than infinity, a negative NaN less than minus infinity, and -0 less than 0. Values are
    differentiable in reverse mode, to any order; one launch under `jax.vmap`, and for each device
    where leading dimensions are sharded. Raises CallError.
    """
    where = call_site()
    dtype = _checked("top_k", x, where)
    most = min(MOST, x.shape[-1])
    known = hasattr(k, "__index__") and not isinstance(k, (bool, jax.Array))
    number = operator.index(k) if known else 0
    if not 0 < number <= most:
        raise CallError(
            f"k is {k!r} and must be a Python integer from 1 to {most}",
            location=where,
            notes=(("help", "for more, jax.lax.top_k(x, k)"),),
        )
    what = TopK(dtype, x.shape[-1], number)
    values, indices = shell.located("top_k", where, _top_k, what, *shell.as_jax(x))
    if number == 1:
        return values[..., None], indices[..., None]
    return values, indices


@binding(CallError, "argmax")
def argmax(x: Any) -> Any:
    """The index of the first largest element of each row, as `jax.numpy.argmax`.

    x        bf16, f16, f32 or f64, of shape (..., N)
    returns  s32 of shape (...)

    A row with NaN gives the index of the first NaN. One launch under `jax.vmap`, and for each
    device where leading dimensions are sharded. Raises CallError.
    """
    where = call_site()
    what = TopK(_checked("argmax", x, where), x.shape[-1], 1, index_only=True)
    return shell.located("argmax", where, _argmax, what, *shell.as_jax(x))


def _checked(name: str, x: Any, where: SourceLocation) -> DType:
    shell.check_targets(name, where)
    dtype = shell.check_array("x", x, name, where)
    if x.ndim == 0:
        raise CallError("x has shape (), and rows are its last dimension", location=where)
    shell.check_rows(x, 1, name, where)
    return dtype


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _argmax(what: TopK, x: Any) -> Any:
    return kernel_of(what)(x)


def _argmax_fwd(what: TopK, x: Any) -> tuple[Any, Any]:
    return _argmax(what, x), x


def _argmax_bwd(what: TopK, x: Any, g: Any) -> tuple[Any]:
    del what, g
    return (_jax.numpy.zeros_like(x),)


_argmax.defvjp(_argmax_fwd, _argmax_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _top_k(what: TopK, x: Any) -> tuple[Any, Any]:
    values, indices = kernel_of(what)(x)
    return values, indices


def _top_k_fwd(what: TopK, x: Any) -> tuple[Any, Any]:
    values, indices = _top_k(what, x)
    return (values, indices), indices


def _top_k_bwd(what: TopK, indices: Any, cotangents: Any) -> tuple[Any]:
    """Every value's cotangent to its column, by a sum that needs nothing of other rows."""
    (g,) = shell.as_jax(cotangents[0])
    if what.k == 1:
        indices, g = indices[..., None], g[..., None]
    hot = _jax.nn.one_hot(indices, what.columns, dtype=bool)
    return (_jax.numpy.where(hot, g[..., None], 0).sum(-2),)


_top_k.defvjp(_top_k_fwd, _top_k_bwd)
