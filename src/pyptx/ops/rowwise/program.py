"""A kernel of an operation: its parameters are the operation's arrays, by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx
from pyptx.ops._parameters import with_parameters
from pyptx.ops.rowwise.formula_checks import with_checks
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, ROW, Operand, Per, RowOp, Scalars, Vectors
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.vectors import Vector
from pyptx.types import DType


def types_of(op: RowOp) -> tuple[DType, ...]:
    """The types of arrays that have a number for each element or column.

    Results of 8 bits are not among them: vectors are 16 bytes of what is read, and such a result is
    stored in as many bytes as a vector has elements.
    """
    operands = [o for o in op.inputs if o.per != ROW]
    operands += [o for o in op.outputs if o.per == ELEMENT and o.dtype.bytes > 1]
    return tuple(dict.fromkeys(operand.dtype for operand in operands))


class Arrays:
    """The tensors of a kernel, by the operands' names, and how their elements are moved."""

    def __init__(self, op: RowOp, rows: Rows, tensors: dict[str, Tensor]) -> None:
        self.op = with_checks(op)
        self.rows = rows
        self.tensors = tensors

    def pointers(self, *operands: Operand) -> list[Reg]:
        """Their addresses, u64."""
        return list(ptx.global_ptrs(*(self.tensors[operand.name] for operand in operands)))

    def inputs(self, per: Per) -> list[tuple[Operand, Vector]]:
        """The inputs that there are one of for each element, column or row."""
        return [(operand, self.rows.vector(operand.dtype)) for operand in self.op.given(per)]

    def outputs(self, per: Per) -> list[tuple[Operand, Vector]]:
        """The outputs, likewise."""
        return [(operand, self.rows.vector(operand.dtype)) for operand in self.op.written(per)]


def make(
    op: RowOp,
    rows: Rows,
    way: str,
    body: Callable[[Arrays], None],
    *,
    sums: Tile | None = None,
    before: Sequence[tuple[str, Tile]] = (),
    after: Sequence[tuple[str, Tile]] = (),
    **options: Any,
) -> Kernel:
    """The kernel `{op.name}_{way}` with the operation's arrays, over which `body` runs.

    `sums` is the Tile of each output per column: partial sums, or whole ones. Inputs of the
    strategy (`before`), such as statistics that another kernel has made, come after the
    operation's, and so do its outputs (`after`).
    """
    inputs = [(operand.name, rows.tile(operand)) for operand in op.inputs] + list(before)
    outputs = [
        (o.name, sums if o.per == COLUMN and sums is not None else rows.tile(o)) for o in op.outputs
    ] + list(after)
    return define(op, rows, way, inputs, outputs, body, **options)


def define(
    op: RowOp,
    rows: Rows,
    way: str,
    inputs: Sequence[tuple[str, Tile]],
    outputs: Sequence[tuple[str, Tile]],
    body: Callable[[Arrays], None],
    **options: Any,
) -> Kernel:
    """The same with these tensors, by their names, instead of all of the operation's."""
    names = [name.upper() for name, _ in (*inputs, *outputs)]

    def program(*tensors: Tensor) -> None:
        found = {name: t for (name, _), t in zip((*inputs, *outputs), tensors, strict=True)}
        body(Arrays(op, rows, found))

    body_of_all = with_parameters(program, names, name=f"{op.name}_{way}", annotation=Tensor)
    return kernel(
        in_specs=tuple(tile for _, tile in inputs),
        out_specs=tuple(tile for _, tile in outputs),
        arch="auto",
        parallel=("B",),
        **options,
    )(body_of_all)


def vectors_of(
    operands: Sequence[tuple[Operand, Vector]],
    words: Sequence[Sequence[Reg]],
    row: Scalars | None = None,
    column: Callable[[], Reg] | None = None,
) -> Vectors:
    """One vector of each operand, given as loaded, the inputs per row, and the first column."""
    unpack = [partial(v.unpack, w) for (_, v), w in zip(operands, words, strict=True)]
    return Vectors([operand for operand, _ in operands], unpack, row, column)
