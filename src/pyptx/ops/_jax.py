"""What operations of JAX have in common: checks of their arrays, and derivatives of a sum."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, cast

import jax
import numpy as np
from jax import core

from pyptx import CallError
from pyptx._runtime import targets
from pyptx._source import SourceLocation
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.arithmetic import problem_of
from pyptx.ops.rowwise.checks import check_length
from pyptx.types import DType, bf16, f16, f32, f64

_jax: Any = jax  # for what JAX annotates in part

DTYPES: Final = {str(dtype.numpy): dtype for dtype in (bf16, f16, f32, f64)}
MOST_ROWS: Final = 2**31 - 1
"""Kernels count rows in 32 bits, and add to the count before they compare it."""


def check_targets(name: str, where: SourceLocation) -> None:
    """Raises CallError where a program is lowered for a target without kernels."""
    try:
        plan.check(name, targets.chosen())
    except CallError as error:
        raise error.at(where) from None


def check_array(
    name: str, array: object, operation: str, where: SourceLocation, *, numpy: bool = False
) -> DType:
    """The type of an array, in JAX or in NumPy. Raises CallError for other things, and types."""
    if not isinstance(array, (jax.Array, np.ndarray)):
        raise CallError(
            f"{name} is a {type(array).__name__}; {operation} takes arrays",
            location=where,
            notes=(("help", f"jax.numpy.asarray({name})"),),
        )
    dtype = cast("Any", array).dtype
    if dtype == np.float64 and not numpy:  # JAX makes f32 of it without jax_enable_x64
        dtype = _jax.dtypes.canonicalize_dtype(dtype)
    dtype = str(dtype)
    if dtype not in DTYPES:
        raise CallError(
            f"{name} has elements of type {dtype}",
            location=where,
            notes=(("legal", " ".join(DTYPES)),),
        )
    return DTYPES[dtype]


def check_rows(x: Any, rank: int, operation: str, where: SourceLocation, name: str = "x") -> None:
    """Raises CallError where rows are too many, or have no elements or no known length."""
    lead = tuple(x.shape[: x.ndim - rank])
    for size in x.shape[x.ndim - rank :]:
        check_length(operation, size, where)
    if 0 in x.shape[x.ndim - rank :]:
        raise CallError(
            f"{name} has shape {tuple(x.shape)}, and {operation} of a row without elements is none",
            location=where,
        )
    # An exported function may have dimensions without a size.
    if all(isinstance(size, int) for size in lead) and math.prod(lead) > MOST_ROWS:
        raise CallError(
            f"{name} has {math.prod(lead)} rows, and {operation} takes {MOST_ROWS}",
            location=where,
            notes=(("help", f"split {name}, or shard its rows with jax.shard_map"),),
        )


def number(
    name: str, value: object, example: str, where: SourceLocation, *, signed: bool = False
) -> float:
    """A number that is part of a kernel. Raises CallError for what is none.

    Negative ones are legal where it is `signed`.
    """
    if isinstance(value, core.Tracer):
        problem = f"{name} is traced; it is part of the kernel and must be known when it is built"
    elif isinstance(value, bool) or not isinstance(value, numbers.Real):
        problem = f"{name} is {value!r} and must be a Python or NumPy number"
    else:
        problem = problem_of(name, value, signed=signed)
        if problem is None:
            return float(value)
    raise CallError(problem, location=where, notes=(("help", example),))


def is_numpy(*arrays: object) -> bool:
    """Whether all of them are NumPy's."""
    return all(isinstance(each, np.ndarray) for each in arrays)


def as_s32(integers: Any) -> Any:
    """Integers as kernels take them: what is no s32 becomes the nearest one.

    NumPy's stay such: JAX would take the low half of 64 bits without jax_enable_x64.
    """
    of: Any = np if is_numpy(integers) else _jax.numpy
    kept, limits = np.iinfo(np.int32), of.iinfo(integers.dtype)
    if limits.max > kept.max:
        integers = of.minimum(integers, integers.dtype.type(kept.max))
    if limits.min < kept.min:
        integers = of.maximum(integers, integers.dtype.type(kept.min))
    return integers.astype(np.int32)


def broadcasts(shape: tuple[Any, ...], to: tuple[Any, ...]) -> bool:
    """Whether an array of one shape broadcasts to another; dimensions may have no size yet."""
    last = zip(shape[::-1], to[::-1], strict=False)
    return len(shape) <= len(to) and all(size in (1, other) for size, other in last)


def located(
    operation: str, where: SourceLocation, function: Callable[..., Any], *arguments: Any
) -> Any:
    """Call a function that has a derivative in reverse mode only; errors name that line."""
    try:
        return applied(function, *arguments)
    except CallError as error:
        raise error.at(where) from None
    except TypeError as error:
        if "custom_vjp" not in str(error):
            raise
        raise CallError(
            f"{operation} has no derivative in forward mode (jax.jvp, jax.jacfwd)",
            location=where,
            notes=(("help", "jax.grad, jax.vjp and jax.jacrev work"),),
        ) from error


def applied(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that has a derivative.

    Outside of a program there is nothing to derive, and JAX's way to the function takes longer than
    a launch.
    """
    if not is_traced(_jax.tree.leaves(arguments)):
        function = _underived(function)
    return function(*arguments)


def _underived(function: Any) -> Callable[..., Any]:
    """What a function computes, without its derivative."""
    if isinstance(function, partial):
        return partial(_underived(function.func), *function.args, **function.keywords)
    return function.__wrapped__ if isinstance(function, _jax.custom_vjp) else function


def is_traced(arrays: Iterable[Any]) -> bool:
    """Whether any of the arrays stands for others: under `jax.jit`, `jax.grad` or `jax.vmap`."""
    return any(isinstance(array, core.Tracer) for array in arrays)


def as_jax(*arrays: Any) -> list[Any]:
    """In a program, NumPy arrays are constants; jax.vjp hands on such cotangents as they are."""
    return [None if array is None else _jax.numpy.asarray(array) for array in arrays]


def shared_over(column: Any, *others: Any) -> tuple[str, ...]:
    """Inside shard_map, the axes of the mesh whose devices have their own rows and one `column`."""
    varying = [jax.typeof(other).manual_axis_type.varying for other in others]
    axes = frozenset[str]().union(*varying) - jax.typeof(column).manual_axis_type.varying
    return tuple(sorted(axes))


def like(cotangent: Any, primal: Any) -> Any:
    """Under an explicit mesh a cotangent is sharded as what it belongs to."""
    wanted = jax.typeof(primal).sharding
    found = jax.typeof(cotangent).sharding
    if found == wanted or wanted.mesh.empty or not wanted.mesh.are_all_axes_explicit:
        return cotangent
    return _jax.sharding.reshard(cotangent, wanted)


def of_rows_like(numbers: Any, x: Any, lead: int) -> Any:
    """Numbers of the rows of x, whose first `lead` dimensions are x's: sharded as x is.

    That is of explicit meshes, where a kernel's arrays have to agree.
    """
    mesh = (sharding := jax.typeof(x).sharding).mesh
    if mesh.empty or not mesh.are_all_axes_explicit:
        return numbers
    if not isinstance(x, core.Tracer):
        mesh = x.sharding.mesh  # that of a type names no devices
    spec = jax.sharding.PartitionSpec(*sharding.spec[:lead], *[None] * (numbers.ndim - lead))
    return _jax.sharding.reshard(numbers, jax.sharding.NamedSharding(mesh, spec))


def column_cotangent(total: Any, column: Any, *others: Any) -> Any:
    """The cotangent of an array per column from the sum over a device's rows."""
    over = shared_over(column, *others)
    if over:
        total = _jax.lax.psum(total, over)
    return like(total.astype(column.dtype), column)


def result_type(column: Any, compute: DType, *others: Any) -> DType:
    """What a kernel rounds a sum to: not yet to the column's type where it goes on over devices."""
    dtype = DTYPES[str(column.dtype)]
    return compute if shared_over(column, *others) or dtype.bytes > compute.bytes else dtype
