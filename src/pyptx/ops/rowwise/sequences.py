"""Several kernels as one operation: which one by the number of rows, or one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pyptx import Kernel, KernelSequence, Tile, cond, sequence
from pyptx.ops._parameters import with_parameters
from pyptx.ops.rowwise.finish import column_sums
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.types import DType

Operation: TypeAlias = "Kernel | KernelSequence"


def of_operation(
    op: RowOp,
    rows: Rows,
    results: Sequence[DType],
    name: str,
    function: Callable[..., Any],
) -> KernelSequence:
    """A sequence with the operation's arrays as parameters."""
    left = iter(results)
    outputs = [
        _sum(rows, next(left)) if operand.per == COLUMN else rows.tile(operand)
        for operand in op.outputs
    ]
    return sequence_of(op, rows, outputs, name, function)


def sequence_of(
    op: RowOp, rows: Rows, outputs: Sequence[Tile], name: str, function: Callable[..., Any]
) -> KernelSequence:
    """The same with results that are not all the operation's own: partial sums."""
    body = with_parameters(function, [operand.name for operand in op.inputs], name=name)
    inputs = tuple(rows.tile(operand) for operand in op.inputs)
    return sequence(in_specs=inputs, out_specs=tuple(outputs), parallel=("B",))(body)


def _sum(rows: Rows, result: DType) -> Tile:
    return Tile(*rows.shape, result, sum_over="B", accumulate=rows.compute)


def either(
    op: RowOp,
    rows: Rows,
    most: int,
    few: Operation,
    many: Operation,
    results: Sequence[DType] = (),
) -> KernelSequence:
    """`few` for up to `most` rows, `many` for more."""

    def chosen(*arrays: Any) -> Any:
        return cond(_at_most(most), few, many, *arrays)

    return of_operation(op, rows, results, op.name, chosen)


def _at_most(rows: int) -> Callable[[Any], Any]:
    """Whether there are so few rows; a lambda by itself has no types."""
    return lambda B: rows >= B


def finished(
    op: RowOp,
    rows: Rows,
    partial: Operation,
    partials: int,
    rows_each: int,
    results: Sequence[DType],
) -> KernelSequence:
    """An operation that writes partial sums, then a kernel for each type that adds them up."""
    like = op.given(ELEMENT)[0]
    summed = [i for i, operand in enumerate(op.outputs) if operand.per == COLUMN]
    places = {
        dtype: [i for i, each in zip(summed, results, strict=True) if each is dtype]
        for dtype in results
    }
    finish = {
        dtype: column_sums(op.name, rows, like, partials, rows_each, dtype, len(own))
        for dtype, own in places.items()
    }

    def in_two_steps(*arrays: Any) -> tuple[Any, ...]:
        returned: Any = partial(*arrays)
        found: list[Any] = [returned] if len(op.outputs) == 1 else list(returned)
        counted = arrays[[operand.name for operand in op.inputs].index(like.name)]
        for dtype, own in places.items():
            added: Any = finish[dtype](*(found[i] for i in own), counted)
            for i, each in zip(own, [added] if len(own) == 1 else added, strict=True):
                found[i] = each
        return tuple(found)

    return of_operation(op, rows, results, f"{op.name}_in_two_steps", in_two_steps)
