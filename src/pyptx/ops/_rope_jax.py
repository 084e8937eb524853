"""`rope` as an operation of JAX."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._rope import Rope, frequencies, kernel_of
from pyptx.ops.rowwise.checks import check_length

_jax: Any = jax  # for what JAX annotates in part


@binding(CallError, "rope")
def rope(
    q: Any, k: Any, positions: Any, *, base: float = 10000.0, interleaved: bool = False
) -> tuple[Any, Any]:
    """Rotary position embedding of queries and keys: (q, k), with each pair of elements rotated.

    q, k         bf16, f16, f32 or f64, of one type; of shape (..., heads, D) with D even. The
                 numbers of heads may differ; the leading dimensions must be the same
    positions    integers that broadcast to the leading dimensions: s32, or narrower
    base         at least 1: pair i is rotated by position * base**(-2 i / D)
    interleaved  pairs are elements 2 i and 2 i + 1; otherwise i and i + D / 2
    returns      arrays of the shapes and type of q and k

    Angles are computed in integers, so large positions cost no accuracy. Rotations are in f32, or
    in f64 for f64 arrays, and rounded once. One kernel rotates both arrays. The gradient is the
    inverse rotation, by the same kernel, at every order. One launch under `jax.vmap`, and one per
    device if leading dimensions are sharded. Raises CallError.
    """
    where = call_site()
    op = checked(q, k, positions, interleaved, where)
    base = shell.number("base", base, "rope(q, k, positions, base=10000.0)", where)
    if base < 1:
        raise CallError(f"base is {base!r} and must be at least 1", location=where)
    queries, keys, given = shell.as_jax(q, k, positions)
    given = _jax.numpy.broadcast_to(given.astype(np.int32), queries.shape[:-2])
    return shell.located("rope", where, _rope, op, base, given, queries, keys)


def checked(q: Any, k: Any, positions: Any, interleaved: object, where: SourceLocation) -> Rope:
    shell.check_targets("rope", where)
    dtype = shell.check_array("q", q, "rope", where)
    if shell.check_array("k", k, "rope", where) is not dtype:
        raise CallError(
            f"k is {k.dtype}{list(k.shape)}, and q {q.dtype}{list(q.shape)}",
            location=where,
            notes=(("help", "k.astype(q.dtype)"),),
        )
    for size in (*q.shape[-2:], *k.shape[-2:]):
        check_length("rope", size, where)
    problem = None
    if q.ndim < 2 or q.shape[-1] % 2 or 0 in q.shape[-2:]:
        problem = f"q has shape {tuple(q.shape)}, and rope takes (..., heads, D) with D even"
    elif (*k.shape[:-2], k.shape[-1]) != (*q.shape[:-2], q.shape[-1]) or 0 in k.shape[-2:]:
        problem = f"k has shape {tuple(k.shape)}, and q {tuple(q.shape)}; heads alone may differ"
    elif not isinstance(interleaved, bool):
        problem = f"interleaved is {interleaved!r} and must be True or False"
    else:
        problem = _problem_of(positions, tuple(q.shape[:-2]))
    if problem is not None:
        help_ = (("help", "positions.astype(jax.numpy.int32)"),) if "take int32" in problem else ()
        raise CallError(problem, location=where, notes=help_)
    return Rope(dtype, q.shape[-1], (q.shape[-2], k.shape[-2]), bool(interleaved), back=False)


def _problem_of(positions: Any, lead: tuple[int, ...]) -> str | None:
    """What is wrong with positions."""
    kind = str(positions.dtype) if hasattr(positions, "dtype") else type(positions).__name__
    if not _jax.numpy.issubdtype(getattr(positions, "dtype", object), np.integer):
        return f"positions are {kind} and must be an array of integers"
    if positions.dtype.itemsize > 4 or kind == "uint32":
        return f"positions are {kind}; kernels take int32"
    if shell.broadcasts(tuple(positions.shape), lead):
        return None
    return f"positions have shape {tuple(positions.shape)}, which does not broadcast to {lead}"


@partial(_jax.custom_vjp, nondiff_argnums=(0, 1))
def _rope(op: Rope, base: float, positions: Any, q: Any, k: Any) -> tuple[Any, Any]:
    turns = _jax.numpy.asarray(np.asarray(frequencies(base, op.size, op.dtype), np.uint32))
    y, z = kernel_of(op)(positions, turns, q, k)
    return y, z


def _rope_fwd(op: Rope, base: float, *arrays: Any) -> tuple[Any, Any]:
    return _rope(op, base, *arrays), arrays[0]


def _rope_bwd(op: Rope, base: float, positions: Any, cotangents: Any) -> tuple[None, Any, Any]:
    back = replace(op, back=not op.back)
    return (None, *_rope(back, base, positions, *shell.as_jax(*cotangents)))


_rope.defvjp(_rope_fwd, _rope_bwd)
