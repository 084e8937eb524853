"""Short rows: a part of a warp takes a row, and several rows at once.

A row is so short that its threads have a group or a few each. All rows that a thread takes are
loaded before any of them is used, and sums go through shuffles only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops._rms.arithmetic import Arithmetic, Backward, Forward
from pyptx.ops._rms.elements import advance, instruction, load_one, store_one, wide
from pyptx.ops._rms.geometry import Part, Rows, grid, load_weights
from pyptx.types import DType, u32

BLOCK = 32
"""Rows that a sum of the weight's gradient takes in before it joins a second one."""


@dataclass(frozen=True, slots=True)
class Teams:
    """`lanes` threads take a row, `rows_each` of them at once; a CTA has `threads`."""

    lanes: int
    rows_each: int
    threads: int

    @property
    def count(self) -> int:
        """Teams of a CTA."""
        return self.threads // self.lanes

    @property
    def rows(self) -> int:
        """Rows that a CTA takes at once."""
        return self.count * self.rows_each


class _Place:
    """Where a thread is: its row, its part of a row, and which of its rows there are."""

    def __init__(self, rows: Rows, teams: Teams, total: int | Reg) -> None:
        thread = reg.from_(ptx.special.tid.x(), u32)
        self.thread = thread
        self.cta = reg.from_(ptx.special.ctaid.x(), u32)
        self.lane = thread & (teams.lanes - 1)
        self.team = thread >> (teams.lanes.bit_length() - 1)
        self.row = ptx.inst.mad.lo.u32(self.cta, teams.rows, self.team)
        self.total = ptx.inst.cvt.u32.u64(total)
        self.part = Part(rows, self.row, self.lane, teams.lanes)
        self.active = [self.part.active(k) for k in range(self.part.each)]

    def live(self, j: int, teams: Teams) -> list[Reg]:
        """For each group of the j-th row whether it is there."""
        row = self.row + j * teams.count < self.total
        return [row if ok is None else row & ok for ok in self.active]


def forward(
    rows: Rows, eps: float, teams: Teams, *, invvar: bool, maxnreg: int | None = None
) -> Kernel:
    """x[*B, N], w[N] to y[*B, N], and r[*B] with `invvar`."""
    rows = rows.divided()
    n, compute = rows.columns, rows.compute

    def body(X: Tensor, W: Tensor, outputs: Sequence[Tensor]) -> None:
        a = Arithmetic(compute)
        math = Forward(a, n, eps)
        xs, ws = rows.xs, rows.ws
        x, w, y = ptx.global_ptrs(X, W, outputs[0])
        at = _Place(rows, teams, X.shape[0])
        part, bytes_x, bytes_y = at.part, n * rows.x.bytes, n * rows.weight.bytes
        x += part.offset * rows.x.bytes
        y += part.offset * rows.weight.bytes
        live = [at.live(j, teams) for j in range(teams.rows_each)]
        words = [
            [
                xs.load("global", x, j * teams.count * bytes_x + part.step(k, xs), pred=ok)
                for k, ok in enumerate(oks)
            ]
            for j, oks in enumerate(live)
        ]
        weights = load_weights(part, w, at.active)
        squares = [
            a.products(((v, v) for word in words[j] for v in xs.unpack(word)), chains=2)
            for j in range(teams.rows_each)
        ]
        _reduce(squares, teams)
        for j, oks in enumerate(live):
            r = math.invvar(squares[j])
            for k, ok in enumerate(oks):
                # unpacked again: the elements would take more registers than the words
                pairs = zip(xs.unpack(words[j][k]), ws.unpack(weights[k]), strict=True)
                result = ws.pack([math.result(v, u, r) for v, u in pairs])
                ws.store("global", y, j * teams.count * bytes_y + part.step(k, ws), result, pred=ok)
            if len(outputs) > 1:
                (out,) = ptx.global_ptrs(outputs[1])
                row = at.row + j * teams.count
                first = (at.lane == 0) & (row < at.total)
                store_one(compute, out + row * compute.bytes, r, pred=first)

    def rms_norm_lanes(X: Tensor, W: Tensor, Y: Tensor) -> None:
        body(X, W, (Y,))

    def rms_norm_lanes_invvar(X: Tensor, W: Tensor, Y: Tensor, R: Tensor) -> None:
        body(X, W, (Y, R))

    options: dict[str, Any] = {} if maxnreg is None else {"maxnreg": maxnreg}
    return kernel(
        in_specs=rows.forward_inputs,
        out_specs=rows.forward_outputs(invvar=invvar),
        grid=grid(lambda B: (ptx.cdiv(B, teams.rows), 1, 1)),
        block=(teams.threads, 1, 1),
        arch="auto",
        parallel=("B",),
        **options,
    )(rms_norm_lanes_invvar if invvar else rms_norm_lanes)


def backward(rows: Rows, teams: Teams, *, ctas: int, maxnreg: int | None = None) -> Kernel:
    """g[*B, N], r[*B], x[*B, N], w[N] to dx[*B, N] and `ctas` partial sums of dw[N].

    CTA i writes partial sum i; with fewer rows only the first cdiv(B, teams.rows) are written.
    """
    rows = rows.divided()
    n, compute = rows.columns, rows.compute

    def rms_norm_lanes_backward(
        G: Tensor, R: Tensor, X: Tensor, W: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        a = Arithmetic(compute)
        math = Backward(a, n)
        xs, ws = rows.xs, rows.ws
        g, r_, x, w, dx, dw = ptx.global_ptrs(G, R, X, W, DX, DW)
        at = _Place(rows, teams, X.shape[0])
        part = at.part
        weights = load_weights(part, w, at.active)
        for pointer, dtype in ((x, rows.x), (g, rows.weight), (dx, rows.x)):
            advance(pointer, part.offset * dtype.bytes)
        r_ += at.row * compute.bytes
        near = [[a.zero() for _ in range(rows.group)] for _ in range(part.each)]
        far = _Far(a, teams, at, len(near) * rows.group)
        rounds = 1 << (BLOCK // teams.rows_each).bit_length() - 1
        round_ = reg.scalar(u32, init=0)
        stride = ctas * teams.rows

        with ptx.while_(lambda: at.row - at.team < at.total):
            live = [at.live(j, teams) for j in range(teams.rows_each)]
            loaded = [
                [
                    (
                        xs.load(
                            "global", x, _place(teams, n, rows.x, j) + part.step(k, xs), pred=ok
                        ),
                        ws.load(
                            "global",
                            g,
                            _place(teams, n, rows.weight, j) + part.step(k, ws),
                            pred=ok,
                        ),
                    )
                    for k, ok in enumerate(oks)
                ]
                for j, oks in enumerate(live)
            ]
            scales = [
                load_one(
                    compute,
                    compute,
                    r_ + j * teams.count * compute.bytes,
                    pred=at.row + j * teams.count < at.total,
                )
                for j in range(teams.rows_each)
            ]
            products = [
                a.products(
                    (
                        (v, a.mul(d, u))
                        for k, (xw, gw) in enumerate(loaded[j])
                        for v, d, u in zip(
                            xs.unpack(xw), ws.unpack(gw), ws.unpack(weights[k]), strict=True
                        )
                    ),
                    chains=2,
                )
                for j in range(teams.rows_each)
            ]
            _reduce(products, teams)
            for j, oks in enumerate(live):
                coefficient = math.coefficient(scales[j], products[j])
                for k, ok in enumerate(oks):
                    result: list[Reg] = []
                    xw, gw = loaded[j][k]
                    us = ws.unpack(weights[k])
                    for v, d, u, sum_ in zip(
                        xs.unpack(xw), ws.unpack(gw), us, near[k], strict=True
                    ):
                        result.append(math.result(v, d, u, scales[j], coefficient))
                        math.accumulate(sum_, v, d, scales[j])
                    place = _place(teams, n, rows.x, j) + part.step(k, xs)
                    xs.store("global", dx, place, xs.pack(result), pred=ok)
            round_ += 1
            with ptx.if_((round_ & (rounds - 1)) == 0):
                far.add(near)
            at.row += stride
            for pointer, dtype in ((x, rows.x), (g, rows.weight), (dx, rows.x)):
                advance(pointer, stride * n * dtype.bytes)
            r_ += stride * compute.bytes
        far.add(near)
        _fold(a, rows, teams, at, far.sums(near), dw)

    options: dict[str, Any] = {} if maxnreg is None else {"maxnreg": maxnreg}
    return kernel(
        in_specs=rows.backward_inputs,
        out_specs=(rows.tensor(rows.x), Tile(ctas, n, compute, sum_over="B", partial=True)),
        grid=grid(lambda B: (min(ptx.cdiv(B, teams.rows), ctas), 1, 1)),
        block=(teams.threads, 1, 1),
        arch="auto",
        parallel=("B",),
        **options,
    )(rms_norm_lanes_backward)


def _reduce(sums: Sequence[Reg], teams: Teams) -> None:
    """Add up each of several rows over the threads that share it."""
    if teams.lanes > 1:
        for value in sums:
            ptx.warp.reduce_sum(value, width=teams.lanes)


def _place(teams: Teams, columns: int, dtype: DType, j: int) -> int:
    """Bytes from a team's first row to its j-th."""
    return j * teams.count * columns * dtype.bytes


class _Far:
    """The sums of all rows of a thread, in shared memory, to which those of blocks of rows go."""

    def __init__(self, a: Arithmetic, teams: Teams, at: _Place, count: int) -> None:
        self._a = a
        table = smem.alloc(a.dtype, (count, teams.threads), align=16)
        self._step = teams.threads * a.dtype.bytes
        self._place = ptx.inst.mad.lo.u32(at.thread, a.dtype.bytes, reg.from_(table, u32))
        for i in range(count):
            a.store(ptx.addr(self._place, i * self._step), a.zero())

    def add(self, sums: list[list[Reg]]) -> None:
        """Add sums, and begin them anew."""
        for i, one in enumerate(value for group in sums for value in group):
            total = self._a.zero()
            self._a.load(total, ptx.addr(self._place, i * self._step))
            self._a.store(ptx.addr(self._place, i * self._step), self._a.add(total, one))
            self._a.mov(one, 0.0)

    def sums(self, like: list[list[Reg]]) -> list[list[Reg]]:
        """The sums in registers, in the shape of `like`."""
        for i, value in enumerate(value for group in like for value in group):
            self._a.load(value, ptx.addr(self._place, i * self._step))
        return like


def _fold(
    a: Arithmetic, rows: Rows, teams: Teams, at: _Place, sums: list[list[Reg]], dw: Reg
) -> None:
    """Add up the sums of all threads with the same columns, and write the CTA's partial sum."""
    warps = teams.threads // WARP
    n = rows.columns
    table = smem.alloc(a.dtype, (warps, n), align=16)
    for group in sums:
        for value in group:
            distance = WARP // 2
            while distance >= teams.lanes:
                a.add(value, value, _from_lane(a, value, distance))
                distance //= 2
    with ptx.if_((at.thread & (WARP - 1)) < teams.lanes):
        base = reg.from_(table, u32)
        row = ptx.inst.mad.lo.u32(at.thread >> 5, n * a.dtype.bytes, base)
        place = ptx.inst.mad.lo.u32(at.part.column, a.dtype.bytes, row)
        for k, group in enumerate(sums):
            for i, value in enumerate(group):
                offset = (k * teams.lanes * rows.group + i) * a.dtype.bytes
                a.store(ptx.addr(place, offset), value, pred=at.active[k])
    ptx.bar.sync(0)
    dw += at.cta * (n * a.dtype.bytes)
    for first in range(0, n, teams.threads):
        column = at.thread + first
        there = column < n
        column = ptx.inst.selp.u32(column, 0, there)
        total = a.total([table[warp, column] for warp in range(warps)])
        store_one(a.dtype, dw + wide(column) * a.dtype.bytes, total, pred=there)


def _from_lane(a: Arithmetic, value: Reg, distance: int) -> Reg:
    """The value of the lane that many lanes away, by exclusive or."""
    copy = reg.scalar(a.dtype, init=value)
    low_high = [copy]
    if a.dtype.bits == 64:
        halves = [reg.scalar(u32), reg.scalar(u32)]
        ptx.inst.mov.b64(halves, copy)
        low_high = halves
    for half in low_high:
        instruction("shfl.sync.bfly.b32")(half, half, distance, 31, 0xFFFFFFFF)
    if a.dtype.bits == 64:
        ptx.inst.mov.b64(copy, low_high)
    return copy
