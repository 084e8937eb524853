"""Rows of any length: each CTA takes a chunk of a row, and the tensors are read twice.

For rows that no team of CTAs can hold. The first kernel adds up each chunk; the second one reads
the sums of all chunks of a row and writes. Backward, a CTA keeps its columns and goes through rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg
from pyptx.device import WARP
from pyptx.ops._rms import dependent
from pyptx.ops._rms.arithmetic import Arithmetic, Backward, Forward, team_sum
from pyptx.ops._rms.elements import Group, advance, load_one, store_one, wide
from pyptx.ops._rms.geometry import Ends, Part, Rows, grid, load_weights
from pyptx.ops._rms.gradient import WeightGradient
from pyptx.types import u32

THREADS: Final = 256
EACH: Final = 4
"""Groups of a thread, where rows are so many that chunks need not be small."""


def parts(rows: Rows, each: int = EACH) -> int:
    """Chunks of a row; a thread has at most `each` groups."""
    return -(-rows.groups // (THREADS * each))


class _Chunk:
    """A CTA: its chunk of a row, and one of the row's ends for the first threads of chunk 0."""

    def __init__(self, rows: Rows, row: Reg, rank: Reg, count: int) -> None:
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        self.part = Part(rows, row, self.lane, THREADS, count, rank)
        self.ends = None if rows.aligned else Ends(self.part, rank)
        self.active = [self.part.active(k) for k in range(self.part.each)]

    def load(self, base: Reg, group: Group) -> list[list[Reg]]:
        """The thread's elements of a tensor; the last of them is that of the row's ends."""
        place = base + self.part.offset * group.dtype.bytes
        values = [
            group.unpack(group.load("global", place, self.part.step(k, group), pred=ok))
            for k, ok in enumerate(self.active)
        ]
        if self.ends is not None:
            end = base + self.ends.position * group.dtype.bytes
            values.append([load_one(group.dtype, group.compute, end, pred=self.ends.active)])
        return values

    def weights(self, w: Reg) -> list[list[Reg]]:
        ws = self.part.rows.ws
        values = [ws.unpack(words) for words in load_weights(self.part, w, self.active)]
        if self.ends is not None:
            end = w + wide(self.ends.column) * ws.dtype.bytes
            values.append([load_one(ws.dtype, ws.compute, end, pred=self.ends.active)])
        return values

    def store(self, base: Reg, group: Group, values: Sequence[Sequence[Reg]]) -> None:
        place = base + self.part.offset * group.dtype.bytes
        for k, ok in enumerate(self.active):
            group.store("global", place, self.part.step(k, group), group.pack(values[k]), pred=ok)
        if self.ends is not None:
            end = base + self.ends.position * group.dtype.bytes
            store_one(group.dtype, end, values[-1][0], pred=self.ends.active)


def _row_and_rank(count: int) -> tuple[Reg, Reg]:
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    return cta // count, cta % count


def sums_of(rows: Rows, each: int = EACH) -> Tile:
    """The sums of all chunks."""
    return Tile("*B", parts(rows, each), rows.compute)


def row_sum(a: Arithmetic, sums: Reg, row: Reg, count: int, lane: Reg) -> Reg:
    """The sum of a row's chunks, in the same order everywhere, in every lane of a warp."""
    total = a.zero()
    place = sums + (row * count + wide(lane & (WARP - 1))) * a.dtype.bytes
    for first in range(0, count, WARP):
        there = (lane & (WARP - 1)) < count - first
        value = load_one(a.dtype, a.dtype, place + first * a.dtype.bytes, pred=there)
        a.add(total, total, value)
    return ptx.warp.reduce_sum(total)


def sums(rows: Rows, *, gradient: bool, each: int = EACH) -> Kernel:
    """The sums of all chunks[*B, parts]: of x x, or with `gradient` of g w x."""
    count, compute = parts(rows, each), rows.compute
    a = Arithmetic(compute)

    def body(sums_: Tensor, pairs: Sequence[tuple[Reg, Reg]], chunk: _Chunk) -> None:
        total = team_sum(a, a.products(pairs), chunk.lane, THREADS)
        (base,) = ptx.global_ptrs(sums_)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        store_one(compute, base + cta * compute.bytes, total, pred=chunk.lane == 0)

    def rms_norm_chunk_squares(X: Tensor, S: Tensor) -> None:
        dependent.launch_dependents(rows)
        chunk = _Chunk(rows, *_row_and_rank(count), count)
        (x,) = ptx.global_ptrs(X)
        body(S, [(v, v) for group in chunk.load(x, rows.xs) for v in group], chunk)

    def rms_norm_chunk_products(G: Tensor, X: Tensor, W: Tensor, S: Tensor) -> None:
        dependent.launch_dependents(rows)
        chunk = _Chunk(rows, *_row_and_rank(count), count)
        g, x, w = ptx.global_ptrs(G, X, W)
        gs, xs, ws = chunk.load(g, rows.ws), chunk.load(x, rows.xs), chunk.weights(w)
        pairs = [
            (v, a.mul(d, u))
            for group in zip(gs, xs, ws, strict=True)
            for d, v, u in zip(*group, strict=True)
        ]
        body(S, pairs, chunk)

    x, w = rows.tensor(rows.x), rows.row(rows.weight)
    return kernel(
        in_specs=(rows.tensor(rows.weight), x, w) if gradient else (x,),
        out_specs=(sums_of(rows, each),),
        grid=grid(lambda B: (B * count, 1, 1)),
        block=(THREADS, 1, 1),
        arch="auto",
        parallel=("B",),
    )(rms_norm_chunk_products if gradient else rms_norm_chunk_squares)


def forward(rows: Rows, eps: float, *, invvar: bool, each: int = EACH) -> Kernel:
    """x[*B, N], w[N] and the sums of squares[*B, parts] to y[*B, N], and r[*B] with `invvar`.

    Comes right after the kernel of the sums, and has its chunk by the time they are there.
    """
    n, count, compute = rows.columns, parts(rows, each), rows.compute

    def body(X: Tensor, W: Tensor, S: Tensor, outputs: Sequence[Tensor]) -> None:
        a = Arithmetic(compute)
        math = Forward(a, n, eps)
        row, rank = _row_and_rank(count)
        chunk = _Chunk(rows, row, rank, count)
        x, w, s, y = ptx.global_ptrs(X, W, S, outputs[0])
        xs, ws = chunk.load(x, rows.xs), chunk.weights(w)
        dependent.wait(rows)
        r = math.invvar(row_sum(a, s, row, count, chunk.lane))
        result = [
            [math.result(v, u, r) for v, u in zip(*group, strict=True)]
            for group in zip(xs, ws, strict=True)
        ]
        chunk.store(y, rows.ws, result)
        if len(outputs) > 1:
            (out,) = ptx.global_ptrs(outputs[1])
            first = (chunk.lane == 0) & (rank == 0)
            store_one(compute, out + row * compute.bytes, r, pred=first)

    def rms_norm_chunks(X: Tensor, W: Tensor, S: Tensor, Y: Tensor) -> None:
        body(X, W, S, (Y,))

    def rms_norm_chunks_invvar(X: Tensor, W: Tensor, S: Tensor, Y: Tensor, R: Tensor) -> None:
        body(X, W, S, (Y, R))

    return kernel(
        in_specs=(*rows.forward_inputs, sums_of(rows, each)),
        out_specs=rows.forward_outputs(invvar=invvar),
        grid=grid(lambda B: (B * count, 1, 1)),
        block=(THREADS, 1, 1),
        arch="auto",
        parallel=("B",),
        programmatic_stream_serialization=dependent.starts_early(rows),
    )(rms_norm_chunks_invvar if invvar else rms_norm_chunks)


def backward(rows: Rows, *, teams: int) -> Kernel:
    """g, r, x, w and the sums of g w x[*B, parts] to dx[*B, N] and `teams` partial sums of dw[N].

    `teams` is a multiple of `rows.alignments`. CTAs with the same columns share the rows; with
    fewer rows than teams only the first B partial sums are written.
    """
    n, count, compute = rows.columns, parts(rows), rows.compute

    def rms_norm_chunks_backward(
        G: Tensor, R: Tensor, X: Tensor, W: Tensor, S: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        a = Arithmetic(compute)
        math = Backward(a, n)
        team, rank = _row_and_rank(count)
        total = ptx.inst.cvt.u32.u64(X.shape[0])
        chunk = _Chunk(rows, team, rank, count)
        g, r, x, w, s, dx = ptx.global_ptrs(G, R, X, W, S, DX)
        ws = chunk.weights(w)
        gradient = WeightGradient(a, chunk.part, chunk.ends, DW, lambda: team)
        columns = [*gradient.sums]
        if gradient.end_sum is not None:
            columns.append([gradient.end_sum])
        row = reg.scalar(u32, init=team)
        with ptx.while_(lambda: row < total):
            gs, xs = chunk.load(g, rows.ws), chunk.load(x, rows.xs)
            scale = load_one(compute, compute, r + row * compute.bytes, pred=None)
            coefficient = math.coefficient(scale, row_sum(a, s, row, count, chunk.lane))
            result: list[list[Reg]] = []
            for ds, vs, us, cs in zip(gs, xs, ws, columns, strict=True):
                result.append([])
                for d, v, u, c in zip(ds, vs, us, cs, strict=True):
                    result[-1].append(math.result(v, d, u, scale, coefficient))
                    math.accumulate(c, v, d, scale)
            chunk.store(dx, rows.xs, result)
            gradient.row_done(chunk.active)
            row += teams
            for pointer, dtype in ((g, rows.weight), (x, rows.x), (dx, rows.x)):
                advance(pointer, teams * n * dtype.bytes)
        dependent.launch_dependents(rows)
        gradient.write(chunk.active)

    return kernel(
        in_specs=(*rows.backward_inputs, sums_of(rows)),
        out_specs=(
            rows.tensor(rows.x),
            Tile(teams, rows.padded, compute, sum_over="B", partial=True),
        ),
        grid=grid(lambda B: (min(B, teams) * count, 1, 1)),
        block=(THREADS, 1, 1),
        arch="auto",
        parallel=("B",),
    )(rms_norm_chunks_backward)
