"""What `plan.operation` says to operations that contradict themselves, and to wrong formulas."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pyptx import CallError, LanguageError, PtxError, SpecError, ptx
from pyptx.errors import UnknownNameError
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.operation import Operand, Pick, RowOp
from pyptx.ops.rowwise.statistics import Both, Largest, Sums
from pyptx.types import bf16, e4m3, f32, f64, s8, s32

X = np.ones((3, 8), np.float32)
LEFT_OUT = object()
PLAIN: dict[str, Any] = {
    "name": "mine",
    "compute": f32,
    "inputs": (Operand("x", f32),),
    "outputs": (Operand("y", f32),),
    "statistic": Sums(1),
    "term": lambda self, m, v: (v.x, v.x),
    "factors": lambda self, m, total, row: total[0],
    "result": lambda self, m, v, f: (m.mul(v.x, f),),
}
X_AND = PLAIN["inputs"]
Y_AND = PLAIN["outputs"]
SUMMED = {
    "outputs": (*Y_AND, Operand("u", f32, "column")),
    "accumulate": lambda self, m, sums, v, f: m.add(sums[0], sums[0], v.x),
}
SPAN = {
    "measure": lambda self, m, v, f: m.abs(v.x),
    "measured": lambda self, m, largest, f: largest,
}


def mine(columns: Any = 8, **members: Any) -> RowOp:
    """An operation that is right, but for these members."""
    body = {name: each for name, each in (PLAIN | members).items() if each is not LEFT_OUT}
    return dataclass(frozen=True)(type("Mine", (RowOp,), body))(columns)


WRONG = {
    "no name": (
        lambda: plan.operation(mine(name=LEFT_OUT), (8,)),
        """
        Mine has no name
          help: name = "my_operation"
        """,
    ),
    "no compute": (
        lambda: plan.operation(mine(compute=LEFT_OUT), (8,)),
        """
        Mine has no compute
          help: compute = f32
        """,
    ),
    "no inputs": (
        lambda: plan.operation(mine(inputs=LEFT_OUT), (8,)),
        """
        Mine has no inputs
          help: inputs = (Operand("x", f32),)
        """,
    ),
    "no outputs": (
        lambda: plan.operation(mine(outputs=LEFT_OUT), (8,)),
        """
        Mine has no outputs
          help: outputs = (Operand("y", f32),)
        """,
    ),
    "a name that is none": (
        lambda: plan.operation(mine(name="my operation"), (8,)),
        """
        Mine.name is 'my operation', which is no name of Python
          help: name = "my_operation"
        """,
    ),
    "arithmetic of 16 bits": (
        lambda: plan.operation(mine(compute=bf16), (8,)),
        """
        Mine.compute is bf16, which formulas cannot compute with
          legal: f32 f64
        """,
    ),
    "an operand that is no tuple": (
        lambda: plan.operation(mine(inputs=Operand("x", f32)), (8,)),
        """
        Mine.inputs must be a tuple of one Operand or more
          given: Operand(name='x', dtype=f32, per='element', pad=0.0)
          help: inputs = (Operand("x", f32),)
        """,
    ),
    "no output": (
        lambda: plan.operation(mine(outputs=()), (8,)),
        """
        Mine.outputs must be a tuple of one Operand or more
          given: ()
          help: outputs = (Operand("y", f32),)
        """,
    ),
    "no rows": (
        lambda: plan.operation(mine(inputs=(Operand("x", f32, "row"),)), (8,)),
        """
        Mine has no input per element, so it has no rows
          help: inputs = (Operand("x", f32),)
        """,
    ),
    "an operand whose name is none": (
        lambda: plan.operation(mine(inputs=(Operand("in", f32),)), (8,)),
        "Mine has an operand 'in', which is no name of Python",
    ),
    "two operands of a name": (
        lambda: plan.operation(mine(outputs=(Operand("x", f32),)), (8,)),
        """
        Mine has two operands 'x'
          help: an input and an output have different names, too
        """,
    ),
    "two names that differ in case": (
        lambda: plan.operation(mine(inputs=(*X_AND, Operand("X", f32))), (8,)),
        """
        Mine has operands 'x' and 'X', which are one name in a kernel
          help: an input and an output have different names, too
        """,
    ),
    "an operand that hides the inputs per row": (
        lambda: plan.operation(mine(inputs=(*X_AND, Operand("row", f32))), (8,)),
        """
        Mine has an operand 'row', and formulas have something else of that name
          taken: chunk_statistics column is_in is_up_to mail of_vector read row
        """,
    ),
    "an input per rows": (
        lambda: plan.operation(mine(inputs=(*X_AND, Operand("r", f32, "rows"))), (8,)),
        """
        r of Mine.inputs has per='rows'
          legal: "element" "column" "row"
        """,
    ),
    "an output per rows": (
        lambda: plan.operation(mine(outputs=(*Y_AND, Operand("r", f32, "rows"))), (8,)),
        """
        r of Mine.outputs has per='rows'
          legal: "element" "column" "row" "block"
        """,
    ),
    "an input of 8 bits": (
        lambda: plan.operation(mine(inputs=(Operand("x", e4m3),)), (8,)),
        """
        x of Mine.inputs has one e4m3 per element
          legal: bf16 f16 f32 f64
        """,
    ),
    "numbers of rows of 8 bits": (
        lambda: plan.operation(mine(outputs=(*Y_AND, Operand("n", s8, "row"))), (8,)),
        """
        n of Mine.outputs has one s8 per row
          legal: bf16 f16 f32 f64 s32
        """,
    ),
    "another span": (
        lambda: plan.operation(mine(span="rows", **SPAN), (8,)),
        """
        Mine.span is 'rows'
          legal: None "row" "block"
        """,
    ),
    "a span and sums over rows": (
        lambda: plan.operation(mine(span="row", **SPAN, **SUMMED), (8,), (f32,)),
        """
        Mine has span="row" and sums over rows (u), and no kernel has both
          help: a second operation for the sums
        """,
    ),
    "blocks without a span": (
        lambda: plan.operation(mine(outputs=(*Y_AND, Operand("b", f32, "block"))), (8,)),
        """
        Mine has no span and outputs per block (b)
          help: span = "block", with measure and measured
        """,
    ),
    "numbers of rows of a span of blocks": (
        lambda: plan.operation(
            mine(span="block", outputs=(*Y_AND, Operand("n", f32, "row")), **SPAN), (8,)
        ),
        """
        Mine has span="block" and outputs per row (n)
          help: span = "row", with measure and measured
        """,
    ),
    "a span and picks": (
        lambda: plan.operation(mine(span="row", picks=(Pick("p", "x", "i"),), **SPAN), (8,)),
        'Mine has span="row" and picks, and no kernel has both',
    ),
    "a pick of nothing": (
        lambda: plan.operation(mine(picks=(Pick("p", "z", "i"),)), (8,)),
        "Mine picks p of z, which is no input per element",
    ),
    "a pick at no column": (
        lambda: plan.operation(mine(picks=(Pick("p", "x", "i"),)), (8,)),
        """
        Mine picks p at i, which is no input per row of s32
          help: inputs = (..., Operand("i", s32, "row"))
        """,
    ),
    "a pick whose name is taken": (
        lambda: plan.operation(
            mine(inputs=(*X_AND, Operand("i", s32, "row")), picks=(Pick("i", "x", "i"),)), (8,)
        ),
        "Mine picks i, and has an input per row of that name",
    ),
    "a statistic that is none": (
        lambda: plan.operation(mine(statistic="sum"), (8,)),
        """
        Mine.statistic is 'sum', which is no Statistic
          help: statistic = Sums(1), or None where elements need nothing of a row
        """,
    ),
    "two statistics of another width": (
        lambda: plan.operation(mine(statistic=Both(Sums(1), 1, Largest())), (8,)),
        """
        Mine.statistic is Both with width=1, and a term of Sums(count=1) has 2 numbers
          help: Both(Sums(count=1), 2, Largest(count=1))
        """,
    ),
    "no term": (
        lambda: plan.operation(mine(term=LEFT_OUT), (8,)),
        """
        Mine has the statistic Sums(count=1), and no term
          help: def term(self, m, v): return v.x, v.x
        """,
    ),
    "no result": (
        lambda: plan.operation(mine(result=LEFT_OUT), (8,)),
        """
        Mine has outputs per element (y), and no result
          help: def result(self, m, v, f): return (m.mul(v.x, f),)
        """,
    ),
    "no row_result": (
        lambda: plan.operation(mine(outputs=(*Y_AND, Operand("n", f32, "row"))), (8,)),
        """
        Mine has outputs per row (n), and no row_result
          help: def row_result(self, m, f): return (f,)
        """,
    ),
    "no row_result of blocks": (
        lambda: plan.operation(
            mine(span="block", outputs=(Operand("b", f32, "block"),), **SPAN), (8,)
        ),
        """
        Mine has outputs per block (b), and no row_result
          help: def row_result(self, m, f): return (f,)
        """,
    ),
    "no accumulate": (
        lambda: plan.operation(mine(outputs=SUMMED["outputs"]), (8,), (f32,)),
        """
        Mine has outputs per column (u), and no accumulate
          help: def accumulate(self, m, sums, v, f): m.add(sums[0], sums[0], v.x)
        """,
    ),
    "no measure": (
        lambda: plan.operation(mine(span="row", measured=SPAN["measured"]), (8,)),
        """
        Mine has span="row", and no measure
          help: def measure(self, m, v, f): return m.abs(v.x)
        """,
    ),
    "no measured": (
        lambda: plan.operation(mine(span="row", measure=SPAN["measure"]), (8,)),
        """
        Mine has span="row", and no measured
          help: def measured(self, m, largest, f): return largest
        """,
    ),
}

OTHER_ROWS = {
    "another number of columns": (
        lambda: plan.operation(mine(8), (9,)),
        """
        mine is made for rows of 8 elements, and rows of the shape (9,) have 9
          help: Mine(columns=9)
        """,
    ),
    "rows of two dimensions": (
        lambda: plan.operation(mine(8), (3, 4)),
        """
        mine is made for rows of 8 elements, and rows of the shape (3, 4) have 12
          help: Mine(columns=12)
        """,
    ),
    "rows without elements": (
        lambda: plan.operation(mine(0), (0,)),
        "rows of mine have 0 elements and need one at least",
    ),
    "a number for a shape": (
        lambda: plan.operation(mine(8), 8),
        """
        mine is made for rows of a shape, and 8 is no tuple
          help: plan.operation(Mine(columns=8), (8,))
        """,
    ),
    "a length that is no integer": (
        lambda: plan.operation(mine("N"), ("N",)),
        """
        rows of mine have the length N, which is no integer
          help: kernels are made for a length; the number of rows may be a symbol
        """,
    ),
    "no types of sums": (
        lambda: plan.operation(mine(**SUMMED), (8,)),
        """
        mine has 1 output per column (u), and results has no types
          help: plan.operation(op, shape, results=(f32,))
        """,
    ),
    "a type that is no tuple": (
        lambda: plan.operation(mine(**SUMMED), (8,), f32),
        """
        mine has 1 output per column (u), and results is f32
          help: plan.operation(op, shape, results=(f32,))
        """,
    ),
    "types of no sums": (
        lambda: plan.operation(mine(), (8,), (f32, f32)),
        """
        mine has no outputs per column, and results has 2 types
          help: plan.operation(op, shape, results=())
        """,
    ),
    "a type wider than the sums": (
        lambda: plan.operation(mine(**SUMMED), (8,), (f64,)),
        """
        results has f64 for u, which is summed in f32
          legal: bf16 f16 f32
        """,
    ),
}

FORMULAS = {
    "more elements than outputs": (
        lambda: plan.operation(mine(result=lambda s, m, v, f: (v.x, v.x)), (8,)).emulate(X),
        """
        Mine.result gives 2 numbers, and Mine has 1 output per element (y)
          formula: here
        """,
    ),
    "fewer elements than outputs": (
        lambda: plan.operation(mine(result=lambda s, m, v, f: ()), (8,)).emulate(X),
        """
        Mine.result gives no numbers, and Mine has 1 output per element (y)
          formula: here
        """,
    ),
    "an element that is no tuple": (
        lambda: plan.operation(mine(result=lambda s, m, v, f: v.x), (8,)).emulate(X),
        """
        Mine.result gives a register and must give a tuple
          formula: here
          help: return (y,)
        """,
    ),
    "no return": (
        lambda: plan.operation(mine(result=lambda s, m, v, f: None), (8,)).emulate(X),
        """
        Mine.result gives None and must give a tuple
          formula: here
          help: return (y,)
        """,
    ),
    "an element that is no register": (
        lambda: plan.operation(mine(result=lambda s, m, v, f: (1.0,)), (8,)).emulate(X),
        """
        Mine.result gives 1.0, which is no register
          formula: here
          help: reg.scalar(f32, init=1.0)
        """,
    ),
    "numbers of rows that nothing takes": (
        lambda: plan.operation(mine(row_result=lambda s, m, f: (f, f)), (8,)).emulate(X),
        """
        Mine.row_result gives 2 numbers, and Mine has no outputs per row
          formula: here
        """,
    ),
    "too few numbers of blocks": (
        lambda: plan.operation(
            mine(
                span="block",
                outputs=(Operand("b", f32, "block"), Operand("c", f32, "block")),
                row_result=lambda s, m, f: (f,),
                result=LEFT_OUT,
                **SPAN,
            ),
            (8,),
        ).emulate(X),
        """
        Mine.row_result gives 1 number, and Mine has 2 outputs per block (b c)
          formula: here
        """,
    ),
    "a term that is too short": (
        lambda: plan.operation(mine(term=lambda s, m, v: (v.x,)), (8,)).emulate(X),
        """
        Mine.term gives 1 number, and a term of Sums(count=1) has 2 numbers
          formula: here
        """,
    ),
    "a term that is too long": (
        lambda: plan.operation(
            mine(statistic=Largest(), term=lambda s, m, v: (v.x, v.x)), (8,)
        ).emulate(X),
        """
        Mine.term gives 2 numbers, and a term of Largest(count=1) has 1 number
          formula: here
        """,
    ),
}

IN_FORMULAS = {
    "no such operand": (
        UnknownNameError,
        lambda: plan.operation(mine(result=lambda s, m, v, f: (v.z,)), (8,)).emulate(X),
        """
        v.z is no input per element or column
          names: x
        """,
    ),
    "inputs per row that terms do not have": (
        LanguageError,
        lambda: plan.operation(
            mine(
                65_536,
                inputs=(*X_AND, Operand("s", f32, "row")),
                term=lambda s, m, v: (v.x, v.row.s),
            ),
            (65_536,),
        ).emulate(np.ones((1, 65_536), np.float32), np.ones(1, np.float32)),
        """
        v.row has no inputs per row here
          help: term_reads_row = True, if term needs them
        """,
    ),
}

CASES = [
    *((SpecError, *each) for each in WRONG.values()),
    *((CallError, *each) for each in OTHER_ROWS.values()),
    *((LanguageError, *each) for each in FORMULAS.values()),
    *IN_FORMULAS.values(),
]
NAMES = [*WRONG, *OTHER_ROWS, *FORMULAS, *IN_FORMULAS]


def refused(error: type[PtxError], call: Any) -> str:
    """The message without its source line, which has to be one of the call."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    location = caught.value.location
    assert location is not None
    assert location.file == __file__
    assert location.line - call.__code__.co_firstlineno in range(12)
    first, _source, *notes = str(caught.value).splitlines()
    text = "\n".join([first.removeprefix(f"{location}: "), *notes])
    return re.sub(rf"{re.escape(__file__)}:\d+: .*", "here", text)


@pytest.mark.parametrize(("error", "call", "message"), CASES, ids=NAMES)
def test_message(error, call, message):
    assert refused(error, call) == textwrap.dedent(message).strip()


def test_formulas_are_checked_in_what_they_give_and_nothing_else():
    """Lists are as good as tuples, and an operation equal to the one that was given."""
    found = plan.operation(mine(result=lambda s, m, v, f: [m.mul(v.x, f)]), (8,)).emulate(X)
    np.testing.assert_array_equal(found.outputs[0], 8 * X)
    op = mine(outputs=(Operand("n", f32, "row"),), result=LEFT_OUT, row_result=lambda s, m, f: (f,))
    np.testing.assert_array_equal(plan.operation(op, (8,)).emulate(X).outputs[0], [8, 8, 8])


def test_integers_per_row_may_be_written():
    rounded = mine(
        outputs=(*Y_AND, Operand("n", s32, "row")),
        row_result=lambda s, m, f: (ptx.inst.cvt.rni.s32.f32(f),),
    )
    found = plan.operation(rounded, (8,)).emulate(X).outputs
    np.testing.assert_array_equal(found[1], np.int32([8, 8, 8]))
