"""Each strategy writes each kind of output, alone and with the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import Reg
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import (
    BLOCK,
    BLOCK_COLUMNS,
    COLUMN,
    ROW,
    Operand,
    Scalars,
    Span,
    Values,
)
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.plan_sums import by_cluster
from pyptx.ops.rowwise.sequences import Operation, finished
from pyptx.ops.rowwise.statistics import Statistic, Sums, Term
from pyptx.ops.rowwise.strategies import (
    cluster,
    cta,
    one_cluster,
    one_pass,
    persistent,
    subwarp,
    two_pass,
    two_pass_few,
    two_reductions,
)
from pyptx.types import DType, bf16, f32

from .toys_persistent import Arrays, Softmax, Toy, check


@dataclass(frozen=True)
class Outputs(Toy):
    """f = s + mean(x w), or s if it is not `reduced`: y = x f, n = f, and u, the sums of x f.

    `kinds` has the names of what is written.
    """

    kinds: str
    x: DType = f32
    reduced: bool = True

    name = "outputs"
    compute = f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("x", self.x), Operand("s", f32, ROW), Operand("w", self.x, COLUMN)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        every = Operand("y", self.x), Operand("n", f32, ROW), Operand("u", f32, COLUMN)
        return tuple(operand for operand in every if operand.name in self.kinds)

    @property
    def statistic(self) -> Statistic | None:
        return Sums(1) if self.reduced else None

    def term(self, m: Math, v: Values) -> Term:
        del m
        return v.x, v.w

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> Reg:
        return m.fma(total[0], 1.0 / self.columns, row.s) if self.reduced else row.s

    def result(self, m: Math, v: Values, f: Reg) -> tuple[Reg, ...]:
        return (m.mul(v.x, f),) if "y" in self.kinds else ()

    def row_result(self, m: Math, f: Reg) -> tuple[Reg, ...]:
        del m
        return (f,) if "n" in self.kinds else ()

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: Reg) -> None:
        m.fma(sums[0], v.x, f, sums[0])

    def reference(self, given: Arrays) -> Arrays:
        x, f = given["x"], given["s"]
        if self.reduced:
            f = f + (x * given["w"]).mean(1)
        return {"y": x * f[:, None], "n": f, "u": (x * f[:, None]).sum(0)}


# ---- each strategy by itself ---------------------------------------------------------------------

Strategy = Callable[[Toy, Rows], Operation]
ALONE: dict[str, Strategy] = {
    "subwarp": lambda op, rows: subwarp.independent(op, rows, subwarp.Shape(8, 2, 64)),
    "subwarp that stays": lambda op, rows: subwarp.independent(
        op, rows, subwarp.Shape(8, 2, 64), ctas=1
    ),
    "cta": lambda op, rows: cta.independent(op, rows, threads=32, held=False),
    "cta, held": lambda op, rows: cta.independent(op, rows, threads=32, held=True),
    "cta, late": lambda op, rows: cta.independent(op, rows, threads=32, held=False, late=True),
    "cta, direct": lambda op, rows: cta.independent(op, rows, threads=32, held=True, direct=True),
    "cta, parts": lambda op, rows: cta.independent(
        op, rows, threads=32, held=True, direct=True, parts=2
    ),
    "persistent": lambda op, rows: persistent.kernel_of(
        op, rows, persistent.Shape(4 * rows.alignments, 2, 32, 2)
    ),
    "cluster": lambda op, rows: cluster.kernel_of(
        op, rows, cluster.Shape(4 * rows.alignments, 2, 64, 3)
    ),
    "grid": lambda op, rows: by_cluster(
        op, rows, cluster.Shape(2 * rows.alignments, 2, 64, 3, grid=True)
    ),
    "two passes": lambda op, rows: two_pass.independent(op, rows),
}
KINDS_ALONE = ["y", "n", "yn"]


@pytest.mark.parametrize("kinds", KINDS_ALONE)
@pytest.mark.parametrize("n", [192, 131])
@pytest.mark.parametrize("strategy", ALONE)
def test_rows_that_need_nothing_of_each_other(strategy, n, kinds):
    op = Outputs(n, kinds)
    check(op, op.rows(), ALONE[strategy](op, op.rows()), 21, None)


@pytest.mark.parametrize("n", [192, 131])
def test_one_pass_has_numbers_of_rows_alone(n):
    op = Outputs(n, "n")
    check(op, op.rows(), one_pass.independent(op, op.rows(), threads=32, each=2), 21, None)
    assert not any(one_pass.fits(Outputs(n, kinds)) for kinds in ("y", "yn", "u", "nu"))


def of_teams(op: Toy, rows: Rows, partial: Operation, count: int, each: int = 1) -> Operation:
    return finished(op, rows, partial, count, each, (f32,))


def summed_by_subwarps(op: Toy, rows: Rows) -> Operation:
    shape = subwarp.Shape(8, 2, 64)
    partial = subwarp.persistent(op, rows, shape, ctas=2)
    return of_teams(op, rows.divided(), partial, 2, shape.rows)


def summed_by_teams(op: Toy, rows: Rows) -> Operation:
    shape = persistent.Shape(4 * rows.alignments, 2, 32, 2)
    partial = persistent.kernel_of(op, rows, shape)
    return of_teams(op, rows, partial, shape.ctas, shape.neighbours(op, rows))


def summed_by_clusters(op: Toy, rows: Rows) -> Operation:
    shape = cluster.Shape(4 * rows.alignments, 2, 64, 3)
    return of_teams(op, rows, cluster.kernel_of(op, rows, shape), shape.teams)


def summed_by_grids(op: Toy, rows: Rows) -> Operation:
    shape = cluster.Shape(2 * rows.alignments, 2, 64, 3, grid=True)
    return of_teams(op, rows, by_cluster(op, rows, shape), shape.teams)


def summed_by_one_cluster(op: Toy, rows: Rows) -> Operation:
    shape = one_cluster.Shape(2, 96, 2, 2)
    return one_cluster.persistent(op, rows.divided(), shape, result=f32)


def summed_by_several_clusters(op: Toy, rows: Rows) -> Operation:
    shape = one_cluster.Shape(2, 96, 2, 2, clusters=3)
    partial = one_cluster.persistent(op, rows.divided(), shape, result=f32)
    return of_teams(op, rows.divided(), partial, shape.clusters, shape.at_once)


def summed_in_two_passes(op: Toy, rows: Rows) -> Operation:
    teams = 4 * rows.alignments
    return of_teams(op, rows, two_pass.persistent(op, rows, teams=teams), teams)


SUMMED: dict[str, Strategy] = {
    "subwarp": summed_by_subwarps,
    "persistent": summed_by_teams,
    "cluster": summed_by_clusters,
    "grid": summed_by_grids,
    "one cluster": summed_by_one_cluster,
    "several clusters": summed_by_several_clusters,
    "two passes": summed_in_two_passes,
}
KINDS_SUMMED = ["u", "yu", "nu", "ynu"]


@pytest.mark.parametrize("kinds", KINDS_SUMMED)
@pytest.mark.parametrize("n", [192, 131])
@pytest.mark.parametrize("strategy", SUMMED)
def test_sums_over_rows(strategy, n, kinds):
    op = Outputs(n, kinds)
    check(op, op.rows(), SUMMED[strategy](op, op.rows()), 40, None)


@pytest.mark.parametrize("kinds", KINDS_SUMMED)
def test_sums_over_a_few_rows_in_two_passes(kinds):
    op = Outputs(192, kinds)
    shape = two_pass_few.Shape(32, 2)
    few = two_pass_few.persistent(op, op.rows(), shape, result=f32)
    check(op, op.rows(), few, 5, None)


# ---- a second reduction --------------------------------------------------------------------------


@dataclass(frozen=True)
class Spanned(Toy):
    """y = x a, of the largest |x| of a row or a block, a; n = a of a row, b = a of a block."""

    kinds: str
    span: Span = "row"

    name = "spanned"
    compute = f32
    inputs = (Operand("x", f32),)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        every = Operand("y", f32), Operand("n", f32, ROW), Operand("b", f32, BLOCK)
        return tuple(operand for operand in every if operand.name in self.kinds)

    def measure(self, m: Math, v: Values, f: Any) -> Reg:
        del f
        return m.abs(v.x)

    def measured(self, m: Math, largest: Reg, f: Any) -> Reg:
        del m, f
        return largest

    def result(self, m: Math, v: Values, f: Reg) -> tuple[Reg, ...]:
        return (m.mul(v.x, f),) if "y" in self.kinds else ()

    def row_result(self, m: Math, f: Reg) -> tuple[Reg, ...]:
        del m
        return () if self.kinds == "y" else (f,)

    def reference(self, given: Arrays) -> Arrays:
        x = given["x"]
        starts = range(0, self.columns, BLOCK_COLUMNS)
        blocks = np.maximum.reduceat(np.abs(x), starts, axis=1)
        each = np.abs(x).max(1, keepdims=True)
        if self.span == "block":
            each = blocks.repeat(BLOCK_COLUMNS, axis=1)[:, : self.columns]
        return {"y": x * each, "n": np.abs(x).max(1), "b": blocks}


@pytest.mark.parametrize(
    ("span", "kinds"),
    [("row", "y"), ("row", "n"), ("row", "yn"), ("block", "y"), ("block", "b"), ("block", "yb")],
)
@pytest.mark.parametrize("n", [192, 131])
@pytest.mark.parametrize("shape", [(1, 2, True), (2, 1, False)], ids=str)
def test_second_reductions(shape, n, span, kinds):
    op = Spanned(n, kinds, span)
    rows = op.rows()
    kernel = two_reductions.independent(op, rows, two_reductions.Shape(*shape))
    check(op, rows, kernel, 9, None)


@dataclass(frozen=True)
class Relative(Softmax):
    """exp(x) over the largest one; elements that are not there would be in the sum as zeros."""

    span = "row"

    def measure(self, m: Math, v: Values, f: tuple[Reg, Reg, Reg]) -> Reg:
        return self.result(m, v, f)[0]

    def measured(self, m: Math, largest: Reg, f: tuple[Reg, Reg, Reg]) -> tuple[Reg, Reg, Reg]:
        return f[0], f[1], m.divide(f[2], largest)

    def reference(self, given: Arrays) -> Arrays:
        found = super().reference(given)
        return {**found, "y": found["y"] / found["y"].max(1, keepdims=True)}


@pytest.mark.parametrize("shape", [(1, 2, True), (2, 1, False)], ids=str)
def test_second_reductions_pad_rows(shape):
    op = Relative(131)
    rows = op.rows()
    kernel = two_reductions.independent(op, rows, two_reductions.Shape(*shape))
    check(op, rows, kernel, 9, None)


# ---- the strategies that a plan chooses ----------------------------------------------------------

CHOSEN = [
    (8, 40, f32, "sm_90a", "subwarp"),
    (97, 12, bf16, "sm_90a", "subwarp persistent"),
    (1001, 170, f32, "sm_90a", "row one_pass persistent"),
    (4096, 9, f32, "sm_90a", "row one_cluster"),
    (65_536, 9, f32, "sm_90a", "chunks two_pass cluster"),
    (65_540, 2, bf16, "sm_89", "chunks two_pass"),
]
"""Columns, rows, their type, the target, and the kernels that rows of this size have."""


@pytest.mark.parametrize(("n", "count", "dtype", "target", "ways"), CHOSEN, ids=str)
def test_a_plan_writes_every_output(n, count, dtype, target, ways):
    """Short rows and long ones, few and many, of all kinds of outputs."""
    found: set[str] = set()
    for kinds in KINDS_ALONE + KINDS_SUMMED:
        op = Outputs(n, kinds, dtype)
        with pyptx.target(target):
            whole = plan.operation(op, (n,), (f32,) * ("u" in kinds))
            check(op, op.rows(), whole, count, None)
            ran = whole.emulate(*op.arrays(count))
        found |= {r.kernel.removeprefix("outputs_") for r in ran.reports if r.instructions}
    assert found - {"column_sums"} == set(ways.split())
