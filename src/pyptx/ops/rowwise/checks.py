"""Checks of an operation's declarations, and of the rows that it is made for.

`plan` makes them once for an operation, and none at a call.
"""

from __future__ import annotations

import keyword
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Final, SupportsIndex, TypeGuard, cast, get_args

from pyptx import CallError, SpecError
from pyptx._source import SourceLocation, call_site
from pyptx.ops.rowwise.formula_checks import many, width_of
from pyptx.ops.rowwise.operation import (
    BLOCK,
    COLUMN,
    ELEMENT,
    ROW,
    Operand,
    Per,
    RowOp,
    Span,
)
from pyptx.ops.rowwise.statistics import Both, Statistic
from pyptx.types import DType, bf16, e4m3, e5m2, f16, f32, f64, s8, s32

_FLOATS: Final = (bf16, f16, f32, f64)
_INPUTS: Final[Mapping[str, tuple[DType, ...]]] = {
    ELEMENT: _FLOATS,
    COLUMN: _FLOATS,
    ROW: (*_FLOATS, s32),
}
_OUTPUTS: Final[Mapping[str, tuple[DType, ...]]] = {
    ELEMENT: (*_FLOATS, e4m3, e5m2, s8),
    COLUMN: _FLOATS,
    ROW: (*_FLOATS, s32),
    BLOCK: (*_FLOATS, s32),
}
"""Types of arrays, by what there is a number for."""

_RESERVED: Final = frozenset(
    ("column", "is_in", "is_up_to", "of_vector", "row", "chunk_statistics", "mail", "read")
)
"""What `Values` have besides elements, and tensors that strategies add to an operation's."""

_MEMBERS: Final = {
    "name": 'name = "my_operation"',
    "compute": "compute = f32",
    "inputs": 'inputs = (Operand("x", f32),)',
    "outputs": 'outputs = (Operand("y", f32),)',
}
_FORMULAS: Final = {
    "term": "def term(self, m, v): return v.x, v.x",
    "result": "def result(self, m, v, f): return (m.mul(v.x, f),)",
    "row_result": "def row_result(self, m, f): return (f,)",
    "accumulate": "def accumulate(self, m, sums, v, f): m.add(sums[0], sums[0], v.x)",
    "measure": "def measure(self, m, v, f): return m.abs(v.x)",
    "measured": "def measured(self, m, largest, f): return largest",
}
"""How each member is written."""


def check(op: RowOp, shape: tuple[int, ...], results: tuple[DType, ...]) -> None:
    """Raises SpecError for an operation that contradicts itself.

    Raises CallError for rows that it is not made for, and for wrong types of sums.
    """
    where, name = call_site(), type(op).__name__
    for member, example in _MEMBERS.items():
        _has(op, member, "", example, where)
    if not _is_name(op.name):
        raise SpecError(
            f"{name}.name is {op.name!r}, which is no name of Python",
            location=where,
            notes=(("help", _MEMBERS["name"]),),
        )
    if op.compute not in (f32, f64):
        raise SpecError(
            f"{name}.compute is {op.compute!r}, which formulas cannot compute with",
            location=where,
            notes=(("legal", "f32 f64"),),
        )
    _check_operands(op, where)
    _check_span(op, where)
    _check_picks(op, where)
    _check_statistic(op, where)
    _check_formulas(op, where)
    _check_rows(op, shape, where)
    _check_results(op, results, where)


def _has(op: RowOp, member: str, why: str, example: str, where: SourceLocation) -> None:
    """Raises SpecError where the class has left out a member."""
    if getattr(type(op), member) is getattr(RowOp, member):
        name = type(op).__name__
        problem = f"{name} has {why}, and no {member}" if why else f"{name} has no {member}"
        raise SpecError(problem, location=where, notes=(("help", example),))


# ---- declarations --------------------------------------------------------------------------------


def _check_operands(op: RowOp, where: SourceLocation) -> None:
    kind, taken = type(op).__name__, dict[str, str]()
    for member, legal in (("inputs", _INPUTS), ("outputs", _OUTPUTS)):
        operands: object = getattr(op, member)
        listed = cast("Sequence[object]", operands) if isinstance(operands, (tuple, list)) else ()
        if not listed or not all(isinstance(each, Operand) for each in listed):
            raise SpecError(
                f"{kind}.{member} must be a tuple of one Operand or more",
                location=where,
                notes=(("given", repr(getattr(op, member))), ("help", _MEMBERS[member])),
            )
        for operand in cast("Sequence[Operand]", listed):
            _check_name(operand.name, kind, taken, where)
            _check_type(operand, f"{kind}.{member}", legal, where)
    if not op.given(ELEMENT):
        raise SpecError(
            f"{kind} has no input per element, so it has no rows",
            location=where,
            notes=(("help", _MEMBERS["inputs"]),),
        )


def _check_name(name: object, kind: str, taken: dict[str, str], where: SourceLocation) -> None:
    """Names become parameters, in capital letters too, and attributes of `Values`."""
    notes: tuple[tuple[str, str], ...] = ()
    if not _is_name(name):
        problem = f"{kind} has an operand {name!r}, which is no name of Python"
    elif name.lower() in taken:
        first = taken[name.lower()]
        problem = f"{kind} has two operands {name!r}"
        if first != name:
            problem = f"{kind} has operands {first!r} and {name!r}, which are one name in a kernel"
        notes = (("help", "an input and an output have different names, too"),)
    elif name in _RESERVED:
        problem = f"{kind} has an operand {name!r}, and formulas have something else of that name"
        notes = (("taken", " ".join(sorted(_RESERVED))),)
    else:
        taken[name.lower()] = name
        return
    raise SpecError(problem, location=where, notes=notes)


def _is_name(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def _check_type(
    operand: Operand, member: str, legal: Mapping[str, tuple[DType, ...]], where: SourceLocation
) -> None:
    if operand.per not in legal:
        raise SpecError(
            f"{operand.name} of {member} has per={operand.per!r}",
            location=where,
            notes=(("legal", " ".join(f'"{per}"' for per in legal)),),
        )
    if operand.dtype not in legal[operand.per]:
        raise SpecError(
            f"{operand.name} of {member} has one {operand.dtype!r} per {operand.per}",
            location=where,
            notes=(("legal", " ".join(dtype.name for dtype in legal[operand.per])),),
        )


def _check_span(op: RowOp, where: SourceLocation) -> None:
    name, span = type(op).__name__, op.span
    legal = get_args(Span)
    if span is not None and span not in legal:
        raise SpecError(
            f"{name}.span is {span!r}",
            location=where,
            notes=(("legal", " ".join(["None", *(f'"{each}"' for each in legal)])),),
        )
    if span is not None and op.written(COLUMN):
        raise SpecError(
            f'{name} has span="{span}" and sums over rows ({_names(op, COLUMN)}), and no kernel '
            "has both",
            location=where,
            notes=(("help", "a second operation for the sums"),),
        )
    wrong: Per = ROW if span == "block" else BLOCK
    if op.written(wrong):
        has = "no span" if span is None else f'span="{span}"'
        notes = (("help", f'span = "{wrong}", with measure and measured'),)
        raise SpecError(
            f"{name} has {has} and outputs per {wrong} ({_names(op, wrong)})",
            location=where,
            notes=notes,
        )


def _check_picks(op: RowOp, where: SourceLocation) -> None:
    name, scalars = type(op).__name__, {o.name: o.dtype for o in op.given(ROW)}
    if op.picks and op.span is not None:
        raise SpecError(
            f'{name} has span="{op.span}" and picks, and no kernel has both', location=where
        )
    for pick in op.picks:
        notes: tuple[tuple[str, str], ...] = ()
        if pick.of not in [o.name for o in op.given(ELEMENT)]:
            problem = f"{name} picks {pick.name} of {pick.of}, which is no input per element"
        elif scalars.get(pick.at) is not s32:
            problem = f"{name} picks {pick.name} at {pick.at}, which is no input per row of s32"
            notes = (("help", f'inputs = (..., Operand("{pick.at}", s32, "row"))'),)
        elif pick.name in scalars:
            problem = f"{name} picks {pick.name}, and has an input per row of that name"
        else:
            continue
        raise SpecError(problem, location=where, notes=notes)


def _check_statistic(op: RowOp, where: SourceLocation) -> None:
    name, statistic = type(op).__name__, op.statistic
    if statistic is None:
        return
    if not isinstance(statistic, Statistic):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SpecError(
            f"{name}.statistic is {statistic!r}, which is no Statistic",
            location=where,
            notes=(("help", "statistic = Sums(1), or None where elements need nothing of a row"),),
        )
    if isinstance(statistic, Both):
        width = width_of(statistic.first)
        if width is not None and width != statistic.width:
            raise SpecError(
                f"{name}.statistic is Both with width={statistic.width}, and a term of "
                f"{statistic.first!r} has {many(width, 'number')}",
                location=where,
                notes=(("help", f"Both({statistic.first!r}, {width}, {statistic.second!r})"),),
            )


def _check_formulas(op: RowOp, where: SourceLocation) -> None:
    needed: dict[str, str] = {}
    if op.statistic is not None:
        needed["term"] = f"the statistic {op.statistic!r}"
    kinds: dict[str, Per] = {"result": ELEMENT, "row_result": ROW, "accumulate": COLUMN}
    for formula, per in kinds.items():
        if op.written(per):
            needed[formula] = f"outputs per {per} ({_names(op, per)})"
    if op.span is not None:
        needed["measure"] = needed["measured"] = f'span="{op.span}"'
    if op.written(BLOCK):
        needed["row_result"] = f"outputs per {BLOCK} ({_names(op, BLOCK)})"
    for formula, why in needed.items():
        _has(op, formula, why, _FORMULAS[formula], where)


def _names(op: RowOp, per: Per) -> str:
    return " ".join(operand.name for operand in op.written(per))


# ---- rows and sums -------------------------------------------------------------------------------


def _check_rows(op: RowOp, shape: object, where: SourceLocation) -> None:
    if not isinstance(shape, tuple):
        raise CallError(
            f"{op.name} is made for rows of a shape, and {shape!r} is no tuple",
            location=where,
            notes=(("help", f"plan.operation({type(op).__name__}(columns=8), (8,))"),),
        )
    sizes = cast("tuple[object, ...]", shape)
    for size in (*sizes, op.columns):
        check_length(op.name, size, where)
    columns = math.prod(cast("tuple[int, ...]", shape))
    if columns != op.columns:
        raise CallError(
            f"{op.name} is made for rows of {op.columns} elements, and rows of the shape "
            f"{shape} have {columns}",
            location=where,
            notes=(("help", f"{type(op).__name__}(columns={columns})"),),
        )
    if columns < 1:
        raise CallError(
            f"rows of {op.name} have {columns} elements and need one at least", location=where
        )


def check_length(name: str, size: object, where: SourceLocation) -> None:
    """Raises CallError for a row's length that is no integer, as of `jax.export.symbolic_shape`."""
    try:
        operator.index(cast("SupportsIndex", size))
    except TypeError:
        raise CallError(
            f"rows of {name} have the length {size}, which is no integer",
            location=where,
            notes=(("help", "kernels are made for a length; the number of rows may be a symbol"),),
        ) from None


def _check_results(op: RowOp, results: object, where: SourceLocation) -> None:
    summed = op.written(COLUMN)
    listed = cast("Sequence[object]", results) if isinstance(results, (tuple, list)) else None
    example = ", ".join([op.compute.name] * len(summed)) + ("," if len(summed) == 1 else "")
    if listed is None or len(listed) != len(summed):
        outputs = f"{many(len(summed), 'output')} per column"
        outputs += f" ({_names(op, COLUMN)})" if summed else ""
        found = f"is {results!r}" if listed is None else f"has {many(len(listed), 'type')}"
        raise CallError(
            f"{op.name} has {outputs}, and results {found}",
            location=where,
            notes=(("help", f"plan.operation(op, shape, results=({example}))"),),
        )
    legal = [dtype for dtype in _FLOATS if dtype.bytes <= op.compute.bytes]
    for operand, dtype in zip(summed, listed, strict=True):
        if dtype not in legal:
            raise CallError(
                f"results has {dtype!r} for {operand.name}, which is summed in {op.compute}",
                location=where,
                notes=(("legal", " ".join(each.name for each in legal)),),
            )
