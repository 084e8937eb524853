"""What matrix products of JAX take besides their factors: numbers, names and functions."""

from __future__ import annotations

import operator
from typing import Any, Final, TypeAlias, cast

import jax
import jax.numpy

from pyptx._source import SourceLocation
from pyptx.errors import CallError
from pyptx.ops.tensor_core.epilogue import ACTIVATIONS

Dimensions: TypeAlias = tuple[tuple[int, ...], ...]

_jax: Any = jax  # for what JAX annotates in part
jnp: Any = jax.numpy

_HIGHEST: Final = ("highest", "float32", "bf16_bf16_f32_x6")
_TF32: Final = ("tf32", "tensorfloat32", "tf32_tf32_f32")


def check_activation(activation: object, where: SourceLocation, *, needed: bool = False) -> None:
    if activation is None and needed:
        raise CallError(
            "activation is None, and a gate needs one",
            location=where,
            notes=(("legal", " ".join(ACTIVATIONS)),),
        )
    if activation is not None and activation not in tuple(ACTIVATIONS):
        raise CallError(
            f"there is no activation {activation!r}",
            location=where,
            notes=(("legal", " ".join(ACTIVATIONS)),),
        )


def check_flag(name: str, value: object, where: SourceLocation) -> None:
    if not isinstance(value, bool):
        raise CallError(f"{name} is {value!r} and must be True or False", location=where)


def check_epilogue(epilogue: object, where: SourceLocation, **sequences: object) -> None:
    """Raises CallError for an epilogue that is no function, and for arrays in no tuple or list."""
    if not callable(epilogue):
        raise CallError(
            f"epilogue is {epilogue!r}, and no function",
            location=where,
            notes=(("help", "fused_matmul(a, b, lambda total: total * 0.5)"),),
        )
    for name, value in sequences.items():
        if not isinstance(value, (tuple, list)):
            raise CallError(
                f"{name} has type {type(value).__name__}; fused_matmul takes a list",
                location=where,
                notes=(("help", f"{name}=[{name}]"),),
            )


def is_tf32(precision: Any, name: str, x: Any, where: SourceLocation) -> bool:
    """Whether one product of tf32 numbers is asked for. Raises CallError for other precisions."""
    each = cast("tuple[Any, ...]", precision) if isinstance(precision, tuple) else (precision,)
    # JAX has a pair: one of each array.
    one = each[0] if each and all(x == each[0] for x in each) else cast("Any", precision)
    if one is None or one is _jax.lax.Precision.DEFAULT:
        return False
    spelled = str(getattr(one, "name", one)).lower()
    if spelled in _HIGHEST:
        return False
    if spelled not in _TF32:
        raise CallError(
            f"there is no precision {precision!r}",
            location=where,
            notes=(("legal", 'None "highest" "tf32" jax.lax.DotAlgorithmPreset.TF32_TF32_F32'),),
        )
    if str(x.dtype) != "float32":
        raise CallError(
            f"precision tf32 is of float32; {name} has elements of type {x.dtype}",
            location=where,
        )
    return True


def scale_of(name: str, scale: Any, where: SourceLocation) -> Any:
    """A scale as an f32 array, 1 for none. Raises CallError for what is no number and no array."""
    try:
        return jnp.asarray(1.0 if scale is None else scale, jnp.float32)
    except (TypeError, ValueError):
        kind = type(scale).__name__
        problem = f"{name} is a {kind} and must be a number or an array"
        raise CallError(problem, location=where) from None


def checked_numbers(
    numbers: Any, lhs: Any, rhs: Any, where: SourceLocation
) -> tuple[Dimensions, Dimensions]:
    """Contracting and batch dimensions of lhs and rhs. Raises CallError for what are none.

    Pairs of contracting dimensions, whose order makes no difference, are in that of lhs.
    """
    try:
        found = [tuple(tuple(map(operator.index, dims)) for dims in pair) for pair in numbers]
    except (TypeError, ValueError):
        found = []
    if [len(pair) for pair in found] != [2, 2]:
        raise CallError(
            f"dimension_numbers are {numbers!r}",
            location=where,
            notes=(("legal", "((contracting of lhs, of rhs), (batch of lhs, of rhs))"),),
        )
    contract, batch = found
    for i, (name, x) in enumerate((("lhs", lhs), ("rhs", rhs))):
        dims = contract[i] + batch[i]
        if len(set(dims)) < len(dims) or not all(0 <= dim < x.ndim for dim in dims):
            raise CallError(
                f"dimension numbers {numbers!r} are {dims} of {name}, which has {x.ndim} "
                "dimensions",
                location=where,
                notes=(("legal", "each dimension once, from 0 on"),),
            )
    if len(contract[0]) == len(contract[1]):
        pairs = sorted(zip(*contract, strict=True))
        contract = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    return contract, batch


def no_product(rule: str, numbers: object, where: SourceLocation) -> CallError:
    return CallError(
        f"dimension numbers {numbers} are no matrix product without a transpose: {rule}",
        location=where,
        notes=(("help", "jax.numpy.moveaxis brings dimensions there, by a copy"),),
    )
