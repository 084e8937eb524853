"""Two passes over a few long rows with sums over them: every SM has a chunk of the columns.

The first kernel is that of `two_pass`, which reduces every chunk. The second one starts while that
runs, and has its first rows in registers by the time the statistics are there; what it reads is in
the L2 cache. A CTA has its columns of every row, so the sums over rows are complete without partial
sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from pyptx import Kernel, KernelSequence, Reg, SharedTile, Tile, kernel, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.rowwise import dependent
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, ROW, RowOp, Scalars
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import Arrays, make
from pyptx.ops.rowwise.strategies import two_pass
from pyptx.ops.rowwise.strategies.columns import Columns
from pyptx.ops.rowwise.vectors import load_one, store_one
from pyptx.types import DType, u32

MOST: Final = 16
"""Rows, at most: a thread goes through all of them."""

EACH: Final = 2
"""Vectors of a thread in the kernel of the statistics."""


@dataclass(frozen=True, slots=True)
class Shape:
    """CTAs of `threads` threads with a vector of columns each, `together` rows in registers."""

    threads: int
    together: int


def persistent(op: RowOp, rows: Rows, shape: Shape, *, result: DType) -> Kernel | KernelSequence:
    """The operation with sums over up to `MOST` rows, which have no ends. Both kernels.

    The sums are whole, and rounded once, to the type `result`: `op.compute` or a narrower one.
    """
    return two_pass.both_kernels(op, rows, result_and_sums(op, rows, shape, result=result), EACH)


def result_and_sums(op: RowOp, rows: Rows, shape: Shape, *, result: DType) -> Kernel:
    """The inputs and the statistics of all chunks to the outputs, right after `statistics`."""
    form = _form_of_factors(op)
    return make(
        op,
        rows,
        "two_pass_few",
        lambda arrays: _Chunk(arrays, shape, form).run(),
        before=two_pass.statistics_input(op, rows, EACH),
        sums=Tile(*rows.shape, result, sum_over="B", accumulate=rows.compute),
        grid=(-(-rows.groups // shape.threads), 1, 1),
        block=(shape.threads, 1, 1),
        programmatic_stream_serialization=op.statistic is not None and dependent.starts_early(rows),
    )


class _Chunk:
    """A CTA's columns, of all rows."""

    def __init__(self, arrays: Arrays, shape: Shape, form: Any) -> None:
        self.arrays, self.shape, self.form = arrays, shape, form
        self.op, self.rows = arrays.op, arrays.rows
        first = arrays.tensors[self.op.given(ELEMENT)[0].name]
        self.count = ptx.inst.cvt.u32.u64(first.shape[0])
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        self.cta = reg.from_(ptx.special.ctaid.x(), u32)
        parts = -(-self.rows.groups // shape.threads)
        self.columns = Columns(arrays, shape.threads, parts, self.cta, self.lane, shape.together)
        self.m = self.columns.m
        # Factors of each row.
        numbers = len(_numbers(form))
        self.table: SharedTile | None = None
        if numbers:
            self.table = smem.alloc(self.m.dtype, (MOST + shape.together - 1, numbers))

    def _pointers(self) -> dict[str, Reg]:
        """The addresses of all tensors but outputs per row."""
        arrays = self.arrays
        inputs = [*two_pass.last_first(arrays), *arrays.inputs(ROW), *arrays.inputs(COLUMN)]
        outputs = [*arrays.outputs(ELEMENT), *arrays.outputs(COLUMN)]
        names = [operand.name for operand, _ in inputs]
        names += [] if self.op.statistic is None else [two_pass.CHUNKS]
        names += [operand.name for operand, _ in outputs]
        found = ptx.global_ptrs(*(arrays.tensors[name] for name in names))
        return dict(zip(names, found, strict=True))

    def run(self) -> None:
        columns, together = self.columns, self.shape.together
        self.pointers = self._pointers()
        columns.begin(self.pointers)
        row = reg.scalar(u32, init=0)
        with ptx.while_(lambda: row < self.count):
            found = [columns.load(i, row + i < self.count) for i in range(together)]
            with ptx.if_(row == 0):
                if self.op.statistic is not None:
                    dependent.wait(self.rows)
                self._store_factors()
            for i, held in enumerate(found):
                columns.write(i, held, self._factors(row + i))
            row += together
            columns.advance()
        columns.finish(self.pointers)

    def _store_factors(self) -> None:
        """Put the factors of every row where all threads find them, a warp for each row.

        Rows that are loaded together have zeros where there are no more of them.
        """
        row = reg.scalar(u32, init=self.lane >> 5)
        first = (self.lane & (WARP - 1)) == 0
        with ptx.while_(lambda: row < self.count + (self.shape.together - 1)):
            numbers = [self.m.zero() for _ in _numbers(self.form)]
            with ptx.if_(row < self.count):
                found = _numbers(self._factors_of(row, first))
                for number, value in zip(numbers, found, strict=True):
                    self.m.mov(number, value)
            if self.table is not None:
                with ptx.if_(first):
                    for i, number in enumerate(numbers):
                        self.table[row, i] = number
            row += self.shape.threads // WARP
        ptx.bar.sync(0)

    def _factors_of(self, row: Reg, first: Reg) -> Any:
        """The factors of a row, in every lane of a warp; CTA 0 writes its outputs per row."""
        op, m = self.op, self.m
        scalars = {
            o.name: load_one(
                o.dtype, m.dtype, self.pointers[o.name] + row * o.dtype.bytes, pred=None
            )
            for o, _ in self.arrays.inputs(ROW)
        }
        total: list[Reg] = []
        if op.statistic is not None:
            count = two_pass.parts(self.rows, EACH)
            chunks = self.pointers[two_pass.CHUNKS]
            total = two_pass.of_row(m, op.statistic, chunks, row, count, self.lane)
        f = op.factors(m, total, Scalars(**scalars))
        numbers = op.row_result(m, f)
        for (operand, _), number in zip(self.arrays.outputs(ROW), numbers, strict=True):
            (out,) = self.arrays.pointers(operand)
            place = out + row * operand.dtype.bytes
            store_one(operand.dtype, place, number, pred=first & (self.cta == 0))
        return f

    def _factors(self, row: Reg) -> Any:
        """The factors of a row, as the operation has made them."""
        table = self.table
        numbers = [] if table is None else [table[row, i] for i in range(len(_numbers(self.form)))]
        return _formed(self.form, iter(numbers))


def _form_of_factors(op: RowOp) -> Any:
    """What `op.factors` returns, of registers of a kernel that is traced and never run.

    The strategy has to know how many numbers there are before it makes them.
    """
    found: list[Any] = []

    @kernel(in_specs=(), out_specs=(), grid=(1, 1, 1), block=(WARP, 1, 1), arch="auto")
    def factors() -> None:
        m = Math(op.compute)
        count = 0 if op.statistic is None else op.statistic.count
        scalars = {operand.name: m.zero() for operand in op.given(ROW)}
        found.append(op.factors(m, [m.zero() for _ in range(count)], Scalars(**scalars)))

    factors.ptx()
    return found[0]


def _numbers(form: Any) -> list[Reg]:
    """The registers in factors: None, a register, or tuples and `Scalars` of such."""
    if form is None:
        return []
    if isinstance(form, Reg):
        return [form]
    parts = vars(form).values() if isinstance(form, SimpleNamespace) else form
    return [number for part in parts for number in _numbers(part)]


def _formed(form: Any, numbers: Any) -> Any:
    """Factors of the same form, of other registers."""
    if form is None:
        return None
    if isinstance(form, Reg):
        return next(numbers)
    if isinstance(form, SimpleNamespace):
        return Scalars(**{name: _formed(part, numbers) for name, part in vars(form).items()})
    parts = [_formed(part, numbers) for part in form]
    return type(form)(*parts) if hasattr(form, "_fields") else tuple(parts)
