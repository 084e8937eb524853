"""Backward, rows that fit a CTA: teams of threads that stay, each with a ring of rows on their way.

A team reads a row into registers, which frees its stage for the next copy, sums it up, and writes
its gradient. The sums for the weight's gradient stay in registers for all rows of the team; the
teams of a CTA add theirs up at the end. All their rows are cut alike, so threads keep their
columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg, smem
from pyptx.device import KIB, WARP, Needs
from pyptx.ops._rms import dependent
from pyptx.ops._rms.arithmetic import (
    Arithmetic,
    Backward,
    address,
    load_warp_sums,
    store_warp_sum,
)
from pyptx.ops._rms.beside import Beside, Progress
from pyptx.ops._rms.elements import BULK, rounded_up, store_one
from pyptx.ops._rms.geometry import Ends, Part, Rows, grid, load_weights
from pyptx.ops._rms.gradient import WeightGradient
from pyptx.ops._rms.ring import Counter, Ring, Source, ThreadRing
from pyptx.types import u32


@dataclass(frozen=True, slots=True)
class Shape:
    """`ctas` CTAs of `teams` teams of `threads` threads, each with `stages` rows on their way."""

    ctas: int
    teams: int
    threads: int
    stages: int

    def beside(self, rows: Rows) -> int:
        """Rows that a CTA takes at once, of those that lie side by side.

        Where rows have ends, the teams of a CTA take rows that are cut alike instead, so that they
        can add up their sums.
        """
        return self.teams if rows.aligned else 1


def needs(rows: Rows, shape: Shape) -> Needs:
    """What `backward` needs of a device: its stages, and where teams add up their sums."""
    groups = rows.part(1)
    stage = rounded_up(groups * rows.xs.bytes) + rounded_up(groups * rows.ws.bytes)
    sums = -(-groups // shape.threads) * rows.group + 1
    gathered = (shape.teams - 1) * shape.threads * sums * rows.compute.bytes
    features = BULK if rows.device.has(*BULK) else ("cp.async",)
    return Needs(features, shape.teams * shape.stages * stage + gathered + KIB)


def backward(rows: Rows, shape: Shape) -> Kernel:
    """g[*B, N], r[*B], x[*B, N], w[N] to dx[*B, N] and partial sums of dw[N].

    CTA i writes partial sum i; with few rows only the first cdiv(B, `shape.beside`) are written.
    """
    beside = shape.beside(rows)

    def rms_norm_teams_backward(
        G: Tensor, R: Tensor, X: Tensor, W: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        thread = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        if shape.teams == 1:
            lane, team, row = thread, None, cta
        else:
            lane, team = _divided(thread, shape)
            if beside > 1:
                row = ptx.inst.mad.lo.u32(cta, shape.teams, team)
            else:
                row = ptx.inst.mad.lo.u32(team, shape.ctas, cta)
        part = Part(rows, row, lane, shape.threads)
        work = _Team(part, shape, row, team, X.shape[0])
        work.run(G, R, X, W, DX, DW)

    return kernel(
        in_specs=rows.backward_inputs,
        out_specs=(
            rows.tensor(rows.x),
            Tile(shape.ctas, rows.padded, rows.compute, sum_over="B", partial=True),
        ),
        grid=grid(lambda B: (min(ptx.cdiv(B, beside), shape.ctas), 1, 1)),
        block=(shape.threads * shape.teams, 1, 1),
        arch="auto",
        parallel=("B",),
    )(rms_norm_teams_backward)


def _divided(thread: Reg, shape: Shape) -> tuple[Reg, Reg]:
    """Which thread of a team a thread of the CTA is, and of which team."""
    if shape.threads & (shape.threads - 1) == 0:
        return thread & (shape.threads - 1), thread >> (shape.threads.bit_length() - 1)
    lane, team = reg.scalar(u32, init=thread), reg.scalar(u32, init=0)
    for first in range(shape.threads, shape.threads * shape.teams, shape.threads):
        behind = thread >= first
        ptx.inst.sub.u32(lane, lane, shape.threads, pred=behind)
        ptx.inst.add.u32(team, team, 1, pred=behind)
    return lane, team


@dataclass(frozen=True, slots=True)
class _Elements:
    """A thread's group of x, g and w, as they lie there; unpacked they take more registers."""

    rows: Rows
    x: list[Reg]
    g: list[Reg]
    w: list[Reg]

    def unpacked(self) -> Iterator[tuple[Reg, Reg, Reg]]:
        xs, ws = self.rows.xs, self.rows.ws
        return zip(xs.unpack(self.x), ws.unpack(self.g), ws.unpack(self.w), strict=True)


class _Team:
    """What a team of threads does with its rows."""

    def __init__(
        self, part: Part, shape: Shape, row: Reg, team: Reg | None, rows: int | Reg
    ) -> None:
        self.part = part
        self.shape = shape
        self.team = team
        self.row = reg.scalar(u32, init=row)
        self.rows = ptx.inst.cvt.u32.u64(rows)
        self.a = Arithmetic(part.rows.compute)
        self.math = Backward(self.a, part.rows.columns)
        self.stride = shape.ctas * shape.teams
        self.active = [part.active(k) for k in range(part.each)]

    def run(self, G: Tensor, R: Tensor, X: Tensor, W: Tensor, DX: Tensor, DW: Tensor) -> None:
        g, r, x, w, dx = ptx.global_ptrs(G, R, X, W, DX)
        part, rows, a, shape = self.part, self.part.rows, self.a, self.shape
        ends = None if rows.aligned else Ends(part)
        beside = self._beside(ends, g, r, x)
        beside.begin(w, rows.weight)
        ring = self._ring(X, G)
        leader = part.lane == 0
        with ring.threads(leader):
            ring.begin()
        weights = load_weights(part, w, self.active)
        gradient = WeightGradient(a, part, ends, DW, lambda: reg.from_(ptx.special.ctaid.x(), u32))
        slots = self._slots()
        beside.load(self.row)
        ptx.bar.sync(0)  # the mbarriers are there

        stage, half = Counter(shape.stages), reg.scalar(u32, init=0)
        end_dx = dx + ends.position * rows.x.bytes if ends is not None else None
        dx = dx + part.offset * rows.x.bytes
        step = self.stride * rows.columns * rows.x.bytes
        with ptx.while_(lambda: self.row < self.rows):
            beside.take()
            beside.load(self.row + self.stride)
            ring.wait(stage)
            elements = self._read(ring, stage, weights)
            products = a.products((v, a.mul(d, u)) for k in elements for v, d, u in k.unpacked())
            scale, *end = beside.queue[0]
            if ends is not None:
                with ends.there():
                    a.fma(products, end[0], a.mul(end[1], beside.w), products)
            here = ptx.inst.mad.lo.u32(half, self._half_bytes, slots)
            store_warp_sum(a, products, part.lane, here)
            self._sync()
            with ring.threads(leader):  # everyone has read the stage
                ring.fetch(stage.index)
            products = load_warp_sums(a, part.lane, here, shape.threads // WARP)
            coefficient = self.math.coefficient(scale, products)
            self._write(dx, elements, gradient, scale, coefficient)
            if ends is not None and end_dx is not None:
                with ends.there():
                    value = self.math.result(end[0], end[1], beside.w, scale, coefficient)
                    store_one(rows.x, end_dx, value, pred=ends.active)
                    gradient.add_end(self.math, end[0], end[1], scale)
                    end_dx += step
            gradient.row_done(self.active)
            dx += step
            self.row += self.stride
            ptx.inst.xor.b32(half, half, 1)
            stage.advance()
        dependent.launch_dependents(rows)
        gradient.write(self.active, self.team, shape.teams)

    def _beside(self, ends: Ends | None, g: Reg, r: Reg, x: Reg) -> Beside:
        """r of each row, then x and g of its ends."""
        rows, a = self.part.rows, self.a
        beside = Beside(a, ends, Progress(self.row, self.rows, self.stride), depth=1)
        beside.add(r + self.row * a.dtype.bytes, a.dtype)
        beside.add_ends(x, rows.x, rows.columns)
        beside.add_ends(g, rows.weight, rows.columns)
        return beside

    def _ring(self, X: Tensor, G: Tensor) -> Ring:
        """x and g on their way."""
        rows, shape = self.part.rows, self.shape
        kind = Ring if rows.device.has(*BULK) else ThreadRing
        return kind(
            self.part,
            [Source(X, rows.xs), Source(G, rows.ws)],
            self.row,
            self.rows,
            stages=shape.stages,
            stride=self.stride,
            teams=shape.teams,
            team=self.team,
            held=shape.teams == 1,
        )

    def _read(self, ring: Ring, stage: Counter, weights: Sequence[list[Reg]]) -> list[_Elements]:
        """The thread's elements of x and of g, and their weights."""
        part, rows = self.part, self.part.rows
        x, g = ring.groups(stage.index)
        found: list[_Elements] = []
        for k, ok in enumerate(self.active):
            xs = rows.xs.load("shared", x, part.step(k, rows.xs), pred=ok)
            gs = rows.ws.load("shared", g, part.step(k, rows.ws), pred=ok)
            found.append(_Elements(rows, xs, gs, weights[k]))
        return found

    def _write(
        self,
        dx: Reg,
        elements: Sequence[_Elements],
        gradient: WeightGradient,
        r: Reg,
        coefficient: Reg,
    ) -> None:
        """Write the thread's groups of dx, and add to its sums for dw."""
        xs = self.part.rows.xs
        for k, ok in enumerate(self.active):
            result: list[Reg] = []
            for (v, d, u), sum_ in zip(elements[k].unpacked(), gradient.sums[k], strict=True):
                result.append(self.math.result(v, d, u, r, coefficient))
                self.math.accumulate(sum_, v, d, r)
            xs.store("global", dx, self.part.step(k, xs), xs.pack(result), pred=ok)

    def _slots(self) -> Reg:
        """Where the team's warps put their sums; two halves, for rows in turn."""
        warps, teams = self.shape.threads // WARP, self.shape.teams
        table = address(smem.alloc(self.a.dtype, (2, teams, warps), align=16))
        self._half_bytes = teams * warps * self.a.dtype.bytes
        if self.team is None:
            return table
        return ptx.inst.mad.lo.u32(self.team, warps * self.a.dtype.bytes, table)

    def _sync(self) -> None:
        barrier = 1 if self.team is None else self.team + 1
        ptx.bar.sync(barrier, self.shape.threads)
