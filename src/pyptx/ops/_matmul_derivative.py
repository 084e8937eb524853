"""Matrix products of JAX with their derivatives, which are products by the same kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy

from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._matmul_launch import computed
from pyptx.ops._ragged_launch import ragged, ragged_scaled
from pyptx.ops.tensor_core.epilogue import (
    Epilogue,
    Layer,
    begin,
    cotangent_type,
    kept_type,
    with_sums,
)
from pyptx.ops.tensor_core.factors import DTYPES, EIGHT_BITS, Call, derivatives
from pyptx.ops.tensor_core.shape import Blocks, Major, Spread
from pyptx.types import DType, f32

_jax: Any = jax  # for what JAX annotates in part
jnp: Any = jax.numpy

# ---- products ------------------------------------------------------------------------------------


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def dot(call: Call, a: Any, b: Any) -> Any:
    """D of matrices, or of batches of matrices, without an epilogue; see `computed`."""
    return computed(call, a, [b])[0]


def _dot_fwd(call: Call, a: Any, b: Any) -> tuple[Any, Any]:
    _check_differentiable(a, b)
    return dot(call, a, b), (a, b)


def _dot_bwd(call: Call, saved: tuple[Any, Any], g: Any) -> tuple[Any, Any]:
    (g,) = shell.as_jax(g)
    return _cotangents(call, *saved, g)


dot.defvjp(_dot_fwd, _dot_bwd)


def _check_differentiable(a: Any, b: Any) -> None:
    if str(a.dtype) in EIGHT_BITS:
        raise CallError(
            f"a product of {a.dtype} and {b.dtype} has no derivative",
            notes=(("help", "differentiate the product of the arrays before they were rounded"),),
        )


def _cotangents(call: Call, a: Any, b: Any, g: Any) -> tuple[Any, Any]:
    """Those of both factors, for the cotangent of their product.

    It is multiplied in its own type: rounded to the factors', one of f32 would lose its bits, or
    be beyond the range of f16.
    """
    factors = {"a": a, "b": b, "g": g.astype(a.dtype) if call.tf32 else g}
    da, db = (
        _cotangent(call, primal, g.shape[:-2], of.majors, *(factors[name] for name in of.factors))
        for primal, of in zip((a, b), derivatives(call.a_major, call.b_major), strict=True)
    )
    return da, db


def _cotangent(
    call: Call, primal: Any, batch: tuple[Any, ...], majors: tuple[Major, Major], x: Any, y: Any
) -> Any:
    """The cotangent of a factor; added up over axes of the batch that it is the same for."""
    over = shell.shared_over(primal, x, y)
    spread, summed = call.spread, tuple[int, ...]()
    if spread in ("M", "K"):
        spread = "M" if primal.ndim > 2 else "K"
    else:
        own = primal.shape[:-2] or (None,) * len(batch)
        summed = tuple(i for i, size in enumerate(batch) if own[i] != size)
    dtype = f32 if over or summed else DTYPES[str(primal.dtype)]
    found = dot(Call(*majors, dtype, tf32=call.tf32, spread=spread), x, y)
    if summed:
        found = found.sum(summed, keepdims=primal.ndim > 2)
    if over:
        found = _jax.lax.psum(found, over)
    return shell.like(found.astype(primal.dtype), primal)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def underived(call: Call, a: Any, bs: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """What `computed` gives, of products that have no derivative."""
    return computed(call, a, bs, operands)


def _underived_fwd(
    call: Call, a: Any, bs: Sequence[Any], operands: Sequence[Any]
) -> tuple[list[Any], Any]:
    del operands
    _check_differentiable(a, bs[0])
    what = "an amax" if call.epilogue is not None and call.epilogue.amax else str(call.out.numpy)
    raise CallError(
        f"a product with {what} as a result has no derivative",
        notes=(("help", "differentiate the product with out_dtype=jax.numpy.bfloat16"),),
    )


def _underived_bwd(call: Call, saved: Any, cotangents: Any) -> Any:
    raise AssertionError((call, saved, cotangents))  # the other has raised


underived.defvjp(_underived_fwd, _underived_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0, 1))
def underived_rows(
    blocks: Blocks, out: DType, a: Any, b: Any, lengths: Any, scales: Sequence[Any]
) -> Any:
    """What `ragged_scaled` gives, of types that have no derivative."""
    return ragged_scaled(blocks, out, a, b, lengths, scales)


def _underived_rows_fwd(
    blocks: Blocks, out: DType, a: Any, b: Any, lengths: Any, scales: Sequence[Any]
) -> tuple[Any, Any]:
    _check_differentiable(a, b)
    raise AssertionError((blocks, out, lengths, scales))  # which that has raised for


def _underived_rows_bwd(blocks: Blocks, out: DType, saved: Any, g: Any) -> Any:
    raise AssertionError((blocks, out, saved, g))


underived_rows.defvjp(_underived_rows_fwd, _underived_rows_bwd)


# ---- products of groups --------------------------------------------------------------------------


@partial(_jax.custom_vjp, nondiff_argnums=(0, 1))
def ragged_rows(b_major: Major, out: DType, a: Any, b: Any, lengths: Any) -> Any:
    """Each group of rows of a (M, K) by its matrix of b, (groups, K, N) or (groups, N, K)."""
    return ragged("M", b_major, out, a, b, lengths)


def _ragged_rows_fwd(
    b_major: Major, out: DType, a: Any, b: Any, lengths: Any
) -> tuple[Any, tuple[Any, ...]]:
    return ragged_rows(b_major, out, a, b, lengths), (a, b, lengths)


def _ragged_rows_bwd(
    b_major: Major, out: DType, saved: tuple[Any, ...], g: Any
) -> tuple[Any, Any, None]:
    del out
    a, b, lengths = saved
    (g,) = shell.as_jax(g)
    turned: Major = "MN" if b_major == "K" else "K"
    da = _of_groups(partial(ragged_rows, turned), a, g, b, lengths)
    db = _of_groups(ragged_parts, b, *((a, g) if b_major == "MN" else (g, a)), lengths)
    return da, db, None


ragged_rows.defvjp(_ragged_rows_fwd, _ragged_rows_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def ragged_parts(out: DType, a: Any, b: Any, lengths: Any) -> Any:
    """For each group of rows, the product of a's (M,) and b's (N,) along them: (groups, M, N)."""
    return ragged("K", "MN", out, a, b, lengths)


def _ragged_parts_fwd(out: DType, a: Any, b: Any, lengths: Any) -> tuple[Any, tuple[Any, ...]]:
    return ragged_parts(out, a, b, lengths), (a, b, lengths)


def _ragged_parts_bwd(out: DType, saved: tuple[Any, ...], g: Any) -> tuple[Any, Any, None]:
    del out
    a, b, lengths = saved
    (g,) = shell.as_jax(g)
    da = _of_groups(partial(ragged_rows, "K"), a, b, g, lengths)
    return da, _of_groups(partial(ragged_rows, "MN"), b, a, g, lengths), None


ragged_parts.defvjp(_ragged_parts_fwd, _ragged_parts_bwd)


def _of_groups(product: Callable[..., Any], primal: Any, *factors: Any) -> Any:
    """The cotangent of a factor, which this product is; over devices it is added up in f32.

    The last of the factors are the lengths, of which devices may have their own.
    """
    over = shell.shared_over(primal, *factors)
    found = product(f32 if over else DTYPES[str(primal.dtype)], *factors)
    return shell.column_cotangent(found, primal, *factors)


# ---- products with an epilogue -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Formula:
    """What a product's elements are, for a kernel and, in `reference`, for JAX.

    reference   `reference(*sums, *operands)` of f32 arrays that broadcast gives D, or a tuple of it
                and further results; without it there is no derivative
    keeps       whether the derivative needs the sums, which the kernel then writes, too
    bounded     whether the derivative of D in its sum is about one at most, or the other sum of a
                gated pair: it is in the range of D's type where a program of that type alone is
    """

    epilogue: Epilogue
    reference: Callable[..., Any] | None
    keeps: bool = True
    bounded: bool = False


def formula_of(layer: Layer) -> Formula:
    """A Layer's."""
    scaled = layer.scaled or layer.quantized
    keeps = scaled or layer.paired or layer.activation is not None
    return Formula(layer.epilogue, _Reference(layer), keeps, bounded=not scaled)


_ACTIVATIONS: dict[str | None, Callable[[Any], Any]] = {
    None: lambda x: x,
    "relu": _jax.nn.relu,
    "silu": _jax.nn.silu,
    "gelu": partial(_jax.nn.gelu, approximate=False),
    "gelu_tanh": partial(_jax.nn.gelu, approximate=True),
}


@dataclass(frozen=True, slots=True)
class _Reference:
    layer: Layer

    def __call__(self, total: Any, *others: Any) -> Any:
        layer, left = self.layer, list(others)
        other = left.pop(0) if layer.paired else None
        row = left.pop(0) if layer.scaled else None
        last = left.pop(0) if layer.quantized else None
        if row is not None:
            total = total * row * left.pop(0)
            other = None if other is None else other * row * left.pop(0)
        if layer.bias is not None:
            total = total + left.pop(0)
        total = _ACTIVATIONS[layer.activation](total)
        if other is not None:
            total = total * other
        total = total if layer.residual is None else total + left.pop(0)
        return total if last is None else total * last


@dataclass(frozen=True, slots=True)
class Fused:
    """A product with an epilogue; with `sums`, these are its last results."""

    a_major: Major
    b_major: Major
    out: DType
    formula: Formula
    sums: bool = False
    tf32: bool = False
    spread: Spread | None = None

    @property
    def call(self) -> Call:
        """What a launch takes."""
        epilogue = self.formula.epilogue
        if self.sums:
            epilogue = with_sums(epilogue, kept_type(self.out))
        return Call(
            self.a_major, self.b_major, self.out, epilogue, tf32=self.tf32, spread=self.spread
        )


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def fused(product: Fused, a: Any, bs: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """D and further results of matrices, or of batches of them; see `computed`."""
    return computed(product.call, a, bs, operands)


def _fused_fwd(
    product: Fused, a: Any, bs: Sequence[Any], operands: Sequence[Any]
) -> tuple[list[Any], Any]:
    _check_differentiable(a, bs[0])
    if product.formula.reference is None:
        raise CallError(
            "this epilogue has no derivative: fused_matmul was not given reference=",
            notes=(("help", "reference=function of the sums and operands as arrays"),),
        )
    kept: list[Any] = []
    if product.formula.keeps and not product.sums:
        every = fused(replace(product, sums=True), a, bs, operands)
        results = every[: len(product.call.results)]
        kept = every[len(results) :]
    else:
        results = fused(product, a, bs, operands)
        if product.formula.keeps:
            kept = results[-len(bs) :]
    return results, (a, bs, operands, kept)


def _fused_bwd(product: Fused, saved: Any, cotangents: Sequence[Any]) -> tuple[Any, Any, Any]:
    a, bs, operands, kept = saved
    gs = [g.astype(jnp.float32) for g in shell.as_jax(*cotangents)]
    further: Sequence[Any] = ()
    if product.sums:
        gs, further = gs[: -len(bs)], gs[-len(bs) :]
    sums = [s.astype(jnp.float32) for s in kept] or [gs[0] * 0 for _ in bs]
    _, pull = _jax.vjp(partial(_referred, product.formula), sums, list(operands))
    of_sums, of_operands = pull(tuple(gs))
    if further:
        of_sums = [g + more for g, more in zip(of_sums, further, strict=True)]
    formula, results = product.formula, product.call.results
    rounded = cotangent_type(results, DTYPES[str(a.dtype)], bounded=formula.bounded).numpy
    pairs = [
        _cotangents(product.call, a, b, g.astype(rounded)) for b, g in zip(bs, of_sums, strict=True)
    ]
    da = pairs[0][0]
    for more, _ in pairs[1:]:
        da = da + more
    found = [shell.like(d, x) for d, x in zip(of_operands, operands, strict=True)]
    return da, type(bs)(db for _, db in pairs), type(operands)(found)


fused.defvjp(_fused_fwd, _fused_bwd)


def _referred(formula: Formula, sums: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, ...]:
    """The results of the reference, f32."""
    epilogue = formula.epilogue
    rows, vectors = len(epilogue.rows), len(epilogue.rows) + len(epilogue.columns)
    shaped: list[Any] = []
    for i, x in enumerate(operands):
        wide = x.astype(jnp.float32)
        shaped.append(wide[..., None] if i < rows else wide[..., None, :] if i < vectors else wide)
    assert formula.reference is not None
    found = formula.reference(*sums, *shaped)
    several: tuple[Any, ...] = found if isinstance(found, tuple) else (found,)  # pyright: ignore[reportUnknownVariableType]
    wanted = 1 + len(epilogue.results)
    if len(several) != wanted:
        raise CallError(
            f"reference gives {len(several)} of {wanted} results",
            location=begin(formula.reference),
            notes=(("help", "reference= is the same function on arrays"),),
        )
    return tuple(jnp.broadcast_to(x.astype(jnp.float32), sums[0].shape) for x in several)
