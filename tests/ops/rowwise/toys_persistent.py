"""Operations that no library needs, for strategies that go through rows: one of each kind.

Each says in NumPy float64 what it is (`reference`), so that a strategy is compared with formulas
that know nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyptx import Reg, ptx, reg
from pyptx.ops.rowwise.arithmetic import LOG2_E, Math
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, ROW, Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.statistics import Statistic, Sums, Term, Terms
from pyptx.types import DType, bf16, f16, f32, f64

INF = float("inf")
LN_2 = 0.6931471805599453
Arrays = dict[str, np.ndarray]


# ---- statistics ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range(Statistic):
    """The largest and the smallest element; nothing that elements are padded with suits both."""

    count: int = 2

    def neutral(self, number: int) -> float:
        return INF if number else -INF

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        del chains
        most, least = (reg.scalar(m.dtype, init=self.neutral(i)) for i in range(2))
        for vector in vectors:
            for (value,) in vector.terms:
                m.max(most, most, value, **self._where(vector))
                m.min(least, least, value, **self._where(vector))
        return [most, least]

    @staticmethod
    def _where(vector: Terms) -> dict[str, Any]:
        return {} if vector.active is None else {"pred": vector.active}

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        most, least = (reg.scalar(m.dtype, init=self.neutral(i)) for i in range(2))
        for part in parts:
            m.max(most, most, part[0])
            m.min(least, least, part[1])
        return [most, least]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        del m
        most, least = values
        return [ptx.warp.reduce_max(most, width=width), ptx.warp.reduce_min(least, width=width)]


@dataclass(frozen=True)
class Exponentials(Statistic):
    """The largest element, and the sum of exp(x - it); f32. Elements are padded with -inf."""

    count: int = 2

    def neutral(self, number: int) -> float:
        return 0.0 if number else -INF

    @staticmethod
    def exp(m: Math, value: Reg, most: Reg) -> Reg:
        """exp(value - most), 0 for -inf also where nothing is larger."""
        finite = m.max(most, -3e38)
        return ptx.inst.ex2.approx.f32(m.mul(m.sub(value, finite), LOG2_E))

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        del chains
        values = [value for vector in vectors for (value,) in vector.terms]
        most = reg.scalar(m.dtype, init=-INF)
        for value in values:
            m.max(most, most, value)
        return [most, m.total([self.exp(m, value, most) for value in values])]

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        most = reg.scalar(m.dtype, init=-INF)
        for part in parts:
            m.max(most, most, part[0])
        return [most, m.total([m.mul(part[1], self.exp(m, part[0], most)) for part in parts])]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        most = reg.scalar(m.dtype, init=values[0])
        ptx.warp.reduce_max(most, width=width)
        total = m.mul(values[1], self.exp(m, values[0], most))
        return [most, ptx.warp.reduce_sum(total, width=width)]


# ---- operations ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Toy(RowOp):
    """An operation with a reference: arrays by name, all float64, to its outputs by name."""

    @property
    def middle(self) -> float:
        """Around which inputs per element are."""
        return 0.0

    def reference(self, given: Arrays) -> Arrays:
        raise NotImplementedError

    def rows(self, **options: Any) -> Rows:
        return Rows((self.columns,), types_of(self), self.compute, **options)

    def arrays(self, count: int, seed: int = 0) -> list[np.ndarray]:
        """Normal values for the inputs, as their types hold them, of `count` rows."""
        middle = {ELEMENT: self.middle, COLUMN: 0.0, ROW: 0.0}
        random = np.random.default_rng(seed)
        shapes = {ELEMENT: (count, self.columns), COLUMN: (self.columns,), ROW: (count,)}
        values = [(random.standard_normal(shapes[o.per]) + middle[o.per], o) for o in self.inputs]
        return [np.asarray(value, operand.dtype.numpy) for value, operand in values]


@dataclass(frozen=True)
class Everything(Toy):
    """Two inputs per element, per column and per row, and two outputs of each kind; two sums.

    f = a + mean(x g), h = b mean(x w): y = x f + g w, z = g h - c; the sums over rows of g x f and
    of x + h.
    """

    x: DType = bf16
    g: DType = f32
    compute_type: DType = f32

    @property
    def name(self) -> str:
        return "everything"

    @property
    def compute(self) -> DType:
        return self.compute_type

    @property
    def inputs(self) -> tuple[Operand, ...]:
        c = self.compute_type
        return (
            Operand("w", self.g, COLUMN),
            Operand("x", self.x),
            Operand("a", c, ROW),
            Operand("g", self.g),
            Operand("b", self.x, ROW),
            Operand("c", self.x, COLUMN),
        )

    @property
    def outputs(self) -> tuple[Operand, ...]:
        c = self.compute_type
        return (
            Operand("f", c, ROW),
            Operand("y", self.g),
            Operand("p", c, COLUMN),
            Operand("z", self.x),
            Operand("h", self.g, ROW),
            Operand("q", c, COLUMN),
        )

    @property
    def statistic(self) -> Statistic:
        return Sums(2)

    def term(self, m: Math, v: Values) -> Term:
        del m
        return v.x, v.g, v.x, v.w

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, Reg]:
        mean = 1.0 / self.columns
        return m.fma(total[0], mean, row.a), m.mul(m.mul(total[1], mean), row.b)

    def result(self, m: Math, v: Values, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        return m.fma(v.x, f[0], m.mul(v.g, v.w)), m.sub(m.mul(v.g, f[1]), v.c)

    def row_result(self, m: Math, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        del m
        return f

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: tuple[Reg, Reg]) -> None:
        m.fma(sums[0], v.g, m.mul(v.x, f[0]), sums[0])
        m.add(sums[1], sums[1], m.add(v.x, f[1]))

    def reference(self, given: Arrays) -> Arrays:
        x, g, w, c = (given[name] for name in "xgwc")
        f = given["a"] + (x * g).mean(1)
        h = given["b"] * (x * w).mean(1)
        return {
            "f": f,
            "h": h,
            "y": x * f[:, None] + g * w,
            "z": g * h[:, None] - c,
            "p": (g * x * f[:, None]).sum(0),
            "q": (x + h[:, None]).sum(0),
        }


@dataclass(frozen=True)
class Scaled(Toy):
    """(x - least) / (most - least), of two numbers per row; nothing per column."""

    x: DType = f32
    compute_type: DType = f32

    @property
    def middle(self) -> float:
        """So far from zero that a number which is nobody's would be noticed."""
        return 10.0

    @property
    def name(self) -> str:
        return "scaled"

    @property
    def compute(self) -> DType:
        return self.compute_type

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (Operand("x", self.x, pad=-INF),)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return Operand("y", self.x), Operand("size", self.compute_type, ROW)

    @property
    def statistic(self) -> Statistic:
        return Range()

    def term(self, m: Math, v: Values) -> Term:
        del m
        return (v.x,)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, Reg]:
        del row
        return total[1], m.sub(total[0], total[1])

    def result(self, m: Math, v: Values, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        return (m.divide(m.sub(v.x, f[0]), f[1]),)

    def row_result(self, m: Math, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        del m
        return (f[1],)

    def reference(self, given: Arrays) -> Arrays:
        x = given["x"]
        least, size = x.min(1), np.ptp(x, 1)
        return {"y": (x - least[:, None]) / size[:, None], "size": size}


@dataclass(frozen=True)
class Softmax(Toy):
    """exp(x) over its sum, and the sum of that over rows; f32."""

    x: DType = bf16
    summed: bool = False

    @property
    def name(self) -> str:
        return "softmax"

    @property
    def compute(self) -> DType:
        return f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (Operand("x", self.x, pad=-INF),)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        use = (Operand("use", f32, COLUMN),) if self.summed else ()
        return Operand("y", f32), *use, Operand("lse", f32, ROW)

    @property
    def statistic(self) -> Statistic:
        return Exponentials()

    def term(self, m: Math, v: Values) -> Term:
        del m
        return (v.x,)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, Reg, Reg]:
        del row
        return total[0], total[1], m.divide(1.0, total[1])

    def result(self, m: Math, v: Values, f: tuple[Reg, Reg, Reg]) -> tuple[Reg, ...]:
        return (m.mul(Exponentials.exp(m, v.x, f[0]), f[2]),)

    def row_result(self, m: Math, f: tuple[Reg, Reg, Reg]) -> tuple[Reg, ...]:
        return (m.fma(ptx.inst.lg2.approx.f32(f[1]), LN_2, f[0]),)

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: tuple[Reg, Reg, Reg]) -> None:
        m.add(sums[0], sums[0], self.result(m, v, f)[0])

    def reference(self, given: Arrays) -> Arrays:
        e = np.exp(given["x"])
        y = e / e.sum(1, keepdims=True)
        return {"y": y, "lse": np.log(e.sum(1)), "use": y.sum(0)}


@dataclass(frozen=True)
class Alone(Toy):
    """y = x g s + w: elements that need nothing of their row but its scalar."""

    x: DType = f16
    g: DType = f32
    summed: bool = False

    @property
    def name(self) -> str:
        return "alone"

    @property
    def compute(self) -> DType:
        return f64 if f64 in (self.x, self.g) else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        x, g = Operand("x", self.x), Operand("g", self.g)
        return x, g, Operand("s", f32, ROW), Operand("w", self.x, COLUMN)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return Operand("y", self.g), *([Operand("p", self.compute, COLUMN)] if self.summed else [])

    def result(self, m: Math, v: Values, f: Scalars) -> tuple[Reg, ...]:
        return (m.fma(m.mul(v.x, v.g), f.s, v.w),)

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: Scalars) -> None:
        m.fma(sums[0], v.x, f.s, sums[0])

    def reference(self, given: Arrays) -> Arrays:
        x, s = given["x"], given["s"][:, None]
        return {"y": x * given["g"] * s + given["w"], "p": (x * s).sum(0)}


# ---- comparing -----------------------------------------------------------------------------------


def summed(rows: Rows, partial: np.ndarray) -> np.ndarray:
    """The sum of partial sums, each of which is moved so that its vectors are aligned."""
    total = np.zeros(rows.columns)
    for index, line in enumerate(partial):
        head = -index * rows.columns % rows.unit
        first = 0 if rows.aligned else rows.unit - head
        total += line[first : first + rows.columns]
    return total


def check(
    op: Toy, rows: Rows, kernel: Any, count: int, written: int | None, **how: Any
) -> list[np.ndarray]:
    """Run in the emulator: nothing is found, and outputs, returned, are those of the reference.

    `written` partial sums are there, None for whole ones, which are of the type `result` (of `how`)
    if that is given; `mail` are inputs of the strategy.
    """
    arrays, mail, result = op.arrays(count), how.pop("mail", ()), how.pop("result", None)
    ran = kernel.emulate(*arrays, *mail, **how)
    assert not ran.report.findings, "\n".join(map(str, ran.report.findings))
    found = list(ran.outputs) if isinstance(ran.outputs, (tuple, list)) else [ran.outputs]
    given = {o.name: a.astype(np.float64) for o, a in zip(op.inputs, arrays, strict=True)}
    expected = op.reference(given)
    for operand, array in zip(op.outputs, found[: len(op.outputs)], strict=True):
        partial = written is not None and operand.per == COLUMN
        wide = summed(rows, array[:written]) if partial else array.astype(np.float64)
        right = expected[operand.name]
        dtype = result if result is not None and operand.per == COLUMN else operand.dtype
        # a value is rounded to its type once; sums of a row or a column to that of arithmetic
        unit, least = {bf16: (2.0**-8, 0.0), f16: (2.0**-11, 2.0**-24)}.get(
            dtype, (2.0**-23, 0.0) if dtype is f32 else (0.0, 0.0)
        )
        near = 1e-13 if op.compute is f64 else 2e-5
        size = float(np.max(np.abs(right), initial=1.0))
        np.testing.assert_allclose(
            wide, right, rtol=near + unit, atol=near * size + least, err_msg=operand.name
        )
    return found
