"""Which way a row-wise operation moves its rows: by their length, when it is compiled.

A new number of rows needs no new kernel: where a few rows want another kernel than many, an
operation has both, and each launch chooses. A way says what it needs of a device (`needs` in its
file); a device that does not allow it gets the next one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

from pyptx import CallError, Kernel, KernelSequence, Tile, device, lowered_for, sequence
from pyptx._target import Target
from pyptx.device import WARP
from pyptx.ops.rowwise.finish import column_sums
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.strategies import subwarp
from pyptx.ops.rowwise.vectors import power_of_two
from pyptx.types import DType

Operation: TypeAlias = "Kernel | KernelSequence"

_EVERYWHERE: Final = ("bf16", "createpolicy", "cp.async")
"""Features of all devices that there are kernels for."""

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


@lru_cache(_OPERATIONS)
def operation(op: RowOp, shape: tuple[int, ...], results: tuple[DType, ...] = ()) -> KernelSequence:
    """The operation on rows of a shape, on whatever it is lowered for.

    It takes and gives arrays in the order of `op.inputs` and `op.outputs`; `results` are the types
    of those that are sums over rows.
    """
    rows = Rows(shape, types_of(op), op.compute)

    def on_targets(*arrays: Any) -> Any:
        return _chosen(op, _on_targets(op.name, rows), results)(*arrays)

    return _sequence(op, rows, results, op.name, on_targets)


def check(name: str, targets: Iterable[Target]) -> None:
    """Raises CallError for a target that no kernel can be assembled for."""
    for target in targets:
        if not device.of(target).has(*_EVERYWHERE):
            raise CallError(
                f"{name} has no kernels for {target}",
                notes=(
                    ("legal", "sm_80 and later: bf16 and the cache policies of loads are theirs"),
                ),
            )


def _on_targets(name: str, rows: Rows) -> Rows:
    targets = lowered_for()
    check(name, targets)
    return replace(rows, device=device.common(targets))


def _sequence(
    op: RowOp,
    rows: Rows,
    results: Sequence[DType],
    name: str,
    function: Callable[..., Any],
) -> KernelSequence:
    """A sequence with the operation's arrays as parameters."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(operand.name, kind) for operand in op.inputs]
    function.__name__ = function.__qualname__ = name
    setattr(function, "__signature__", inspect.Signature(parameters))  # noqa: B010
    left = iter(results)
    return sequence(
        in_specs=tuple(rows.tile(operand) for operand in op.inputs),
        out_specs=tuple(
            _sum(rows, next(left)) if operand.per == COLUMN else rows.tile(operand)
            for operand in op.outputs
        ),
        parallel=("B",),
    )(function)


def _sum(rows: Rows, result: DType) -> Tile:
    return Tile(*rows.shape, result, sum_over="B", accumulate=rows.compute)


@lru_cache(_OPERATIONS)
def _chosen(op: RowOp, rows: Rows, results: tuple[DType, ...]) -> Operation:
    if op.written(COLUMN):
        return _with_sums(op, rows, results)
    return _without_sums(op, rows)


def _without_sums(op: RowOp, rows: Rows) -> Operation:
    return subwarp.independent(op, rows, _shape(rows, 2))


def _with_sums(op: RowOp, rows: Rows, results: tuple[DType, ...]) -> Operation:
    shape = _shape(rows, 3)
    ctas = 2 * rows.device.multiprocessors
    gradient = subwarp.persistent(op, rows, shape, ctas=ctas)
    return _finished(op, rows.divided(), gradient, ctas, shape.rows, results)


def _finished(
    op: RowOp,
    rows: Rows,
    partial: Operation,
    partials: int,
    rows_each: int,
    results: Sequence[DType],
) -> KernelSequence:
    """An operation that writes partial sums, then the kernels that add them up."""
    like = op.given(ELEMENT)[0]
    finish = [column_sums(op.name, rows, like, partials, rows_each, each) for each in results]

    def in_two_steps(*arrays: Any) -> tuple[Any, ...]:
        found: Any = partial(*arrays)
        counted = arrays[[operand.name for operand in op.inputs].index(like.name)]
        left = iter(finish)
        return tuple(
            next(left)(array, counted) if operand.per == COLUMN else array
            for operand, array in zip(op.outputs, found, strict=True)
        )

    return _sequence(op, rows, results, f"{op.name}_in_two_steps", in_two_steps)


# ---- sizes ---------------------------------------------------------------------------------------


def _shape(rows: Rows, accesses: int) -> subwarp.Shape:
    """Lanes for a row, and rows for a thread, so that it has about so many accesses."""
    groups = rows.divided().groups
    count = min(WARP, power_of_two(groups))
    return subwarp.Shape(count, max(1, accesses // -(-groups // count)), 256)
