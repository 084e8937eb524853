"""Row-wise operations for tests, with what each gives in float64 NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pyptx import Reg, ptx
from pyptx._emulator import Emulation
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import COLUMN, ROW, Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.statistics import Statistic, Sums, Term, Terms
from pyptx.types import DType, bf16, f16, f32, f64


class Kinds(NamedTuple):
    """The types of two inputs, an input per column and two outputs, and the one to compute with."""

    a: DType
    b: DType
    c: DType
    p: DType
    q: DType
    compute: DType


KINDS = [
    Kinds(f32, f32, f32, f32, f32, f32),
    Kinds(bf16, f32, f16, f16, bf16, f32),
    Kinds(f16, bf16, f32, bf16, f16, f32),
    Kinds(f64, bf16, f32, f32, f64, f64),
]


class Means(NamedTuple):
    """What elements of a Blend need of their row."""

    f: Reg
    h: Reg


@dataclass(frozen=True)
class Blend(RowOp):
    """Two inputs, one of which nothing sums alone, one per column and one per row; two sums.

    f = s + mean(a a c), h = mean(a b); p = a f + c, q = b c - h, and f and h of each row; with
    `summed` the sums over rows of a f and of b h.
    """

    kinds: Kinds
    summed: bool = False

    @property
    def name(self) -> str:
        return "blend"

    @property
    def compute(self) -> DType:
        return self.kinds.compute

    @property
    def inputs(self) -> tuple[Operand, ...]:
        k = self.kinds
        s, t = Operand("s", f32, ROW), Operand("t", k.compute, ROW)
        return Operand("a", k.a), s, Operand("c", k.c, COLUMN), Operand("b", k.b), t

    @property
    def outputs(self) -> tuple[Operand, ...]:
        k = self.kinds
        rows = Operand("f", k.compute, ROW), Operand("h", f32, ROW)
        sums = Operand("u", k.compute, COLUMN), Operand("v", k.compute, COLUMN)
        return (Operand("p", k.p), Operand("q", k.q), *rows, *(sums if self.summed else ()))

    @property
    def statistic(self) -> Statistic:
        return Sums(2)

    def term(self, m: Math, v: Values) -> Term:
        return m.mul(v.a, v.c), v.a, v.a, v.b

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> Means:
        mean = 1.0 / self.columns
        return Means(m.fma(total[0], mean, row.s), m.fma(total[1], mean, row.t))

    def result(self, m: Math, v: Values, f: Means) -> tuple[Reg, ...]:
        return m.fma(v.a, f.f, v.c), m.sub(m.mul(v.b, v.c), f.h)

    def row_result(self, m: Math, f: Means) -> tuple[Reg, ...]:
        return f

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: Means) -> None:
        m.fma(sums[0], v.a, f.f, sums[0])
        m.fma(sums[1], v.b, f.h, sums[1])

    def arrays(self, count: int, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        shapes = {"element": (count, self.columns), "column": (self.columns,), "row": (count,)}
        return [rng.uniform(0.5, 1.5, shapes[o.per]).astype(o.dtype.numpy) for o in self.inputs]

    def expected(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Each output in float64, of the inputs as they are; sums over rows are whole."""
        a, s, c, b, t = (array.astype(np.float64) for array in arrays)
        f, h = s + np.mean(a * a * c, 1), t + np.mean(a * b, 1)
        found = [a * f[:, None] + c, b * c - h[:, None], f, h]
        sums = [np.sum(a * f[:, None], 0), np.sum(b * h[:, None], 0)]
        return found + (sums if self.summed else [])


@dataclass(frozen=True, slots=True)
class MaximumAndSum(Statistic):
    """The maximum, and the sum of what is there; elements that are not there are -infinity.

    A term is the element. The sum must leave out what `active` says is not there.
    """

    count = 2

    def neutral(self, number: int) -> float:
        return 0.0 if number else -np.inf

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        del chains
        most, total = m.zero(), m.zero()
        m.mov(most, -np.inf)
        for vector in vectors:
            for (x,) in vector.terms:
                most = m.max(most, x)
                there = x if vector.active is None else m.selp(x, 0.0, vector.active)
                total = m.add(total, there)
        return [most, total]

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        most = parts[0][0]
        for part in parts[1:]:
            most = m.max(most, part[0])
        return [most, m.total([part[1] for part in parts])]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        del m
        most, total = values
        return [ptx.warp.reduce_max(most, width=width), ptx.warp.reduce_sum(total, width=width)]


@dataclass(frozen=True)
class Centred(RowOp):
    """y = (max(x) - x) + mean(x), of negative x: a thread that has no element may not say 0.

    With `summed` also the sum over rows of x mean(x).
    """

    x: DType
    y: DType
    compute_: DType
    summed: bool = False

    @property
    def name(self) -> str:
        return "centred"

    @property
    def compute(self) -> DType:
        return self.compute_

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (Operand("x", self.x, pad=-np.inf),)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("y", self.y), *((Operand("u", self.compute, COLUMN),) * self.summed))

    @property
    def statistic(self) -> Statistic:
        return MaximumAndSum()

    def term(self, m: Math, v: Values) -> Term:
        del m
        return (v.x,)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, Reg]:
        del row
        return total[0], m.mul(total[1], 1.0 / self.columns)

    def result(self, m: Math, v: Values, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        return (m.add(m.sub(f[0], v.x), f[1]),)

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: tuple[Reg, Reg]) -> None:
        m.fma(sums[0], v.x, f[1], sums[0])

    def arrays(self, count: int, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        return [rng.uniform(-3.0, -2.0, (count, self.columns)).astype(self.x.numpy)]

    def expected(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        x = arrays[0].astype(np.float64)
        mean = np.mean(x, 1)[:, None]
        return [np.max(x, 1)[:, None] - x + mean, *([np.sum(x * mean, 0)] * self.summed)]


@dataclass(frozen=True)
class Gate(RowOp):
    """Elements that need nothing of their row: y = x z + x; with `summed` also the sum of x z."""

    x: DType
    y: DType
    summed: bool = False

    @property
    def name(self) -> str:
        return "gate"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("x", self.x), Operand("z", self.y)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("y", self.y), *((Operand("u", self.compute, COLUMN),) * self.summed))

    def result(self, m: Math, v: Values, f: Any) -> tuple[Reg, ...]:
        return (m.fma(v.x, v.z, v.x),)

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: Any) -> None:
        m.fma(sums[0], v.x, v.z, sums[0])

    def arrays(self, count: int, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        shape = count, self.columns
        return [rng.uniform(0.5, 1.5, shape).astype(t.numpy) for t in (self.x, self.y)]

    def expected(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        x, z = (array.astype(np.float64) for array in arrays)
        return [x * z + x, *([np.sum(x * z, 0)] * self.summed)]


Toy = Blend | Centred | Gate


def rows_of(op: RowOp, **options: Any) -> Rows:
    return Rows((op.columns,), types_of(op), op.compute, **options)


def clean(result: Emulation) -> list[np.ndarray]:
    """The outputs of a run in which nothing was found."""
    assert not result.report.findings, "\n".join(map(str, result.report.findings))
    outputs = result.outputs
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def close(op: Toy, found: Sequence[np.ndarray], arrays: Sequence[np.ndarray]) -> None:
    """Each output within the rounding of the sums and of its own type."""
    rounding = {bf16: 2.0**-8, f16: 2.0**-11, f32: 2.0**-24, f64: 2.0**-53}
    expected = op.expected(arrays)
    assert len(found) == len(expected)
    for operand, got, want in zip(op.outputs, found, expected, strict=True):
        assert got.dtype == operand.dtype.numpy
        assert got.shape == want.shape
        scale = np.max(np.abs(want))
        limit = scale * (1e-6 if op.compute is f32 else 1e-14)
        error = np.abs(got.astype(np.float64) - want)
        allowed = limit + 1.01 * rounding[operand.dtype] * np.abs(want)
        assert np.all(error <= allowed), (operand.name, np.max(error), limit)
