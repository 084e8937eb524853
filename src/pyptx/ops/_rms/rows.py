"""Forward, one CTA a row: the row comes by one bulk copy while the weights go to registers.

A device without bulk copies has each thread copy the elements that it reads, by `cp.async`.

What a CTA waits for is on its way before anything is waited for, so with a few CTAs on each
multiprocessor the memory never idles; between the copy and the stores there is one barrier. With
few rows there is no memory to keep busy: loads to registers are sooner there, and several CTAs add
up the same row, so that each has only a part of it to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from pyptx import Kernel, Reg, Tensor, kernel, ptx, reg, smem
from pyptx.device import KIB, Needs
from pyptx.ops._rms.arithmetic import Arithmetic, Forward, address, team_sum
from pyptx.ops._rms.elements import BULK, async_load, bulk_load, load_one, store_one, wide
from pyptx.ops._rms.geometry import Ends, Part, Rows, grid, load_weights
from pyptx.types import u8, u32

_AT_ONCE: Final = "relaxed.cta.global"
"""Loads that stay where they are; the assembler moves weak ones of w behind the wait for x."""


def forward(
    rows: Rows,
    eps: float,
    *,
    threads: int,
    held: bool,
    invvar: bool,
    maxnreg: int | None = None,
    direct: bool = False,
    parts: int = 1,
) -> Kernel:
    """x[*B, N], w[N] to y[*B, N], and r[*B] with `invvar`. The row must fit in shared memory.

    `held` keeps the row in registers between the sum and the result; otherwise it is read from
    shared memory twice, and more CTAs fit. `direct` loads the row to registers, without a copy.
    Then there may be `parts` CTAs for each row, a power of two: all of them add up the whole row,
    and each writes its part.
    """
    assert held or not direct
    assert direct or parts == 1
    out_specs = rows.forward_outputs(invvar=invvar)

    def body(x: Tensor, w: Tensor, *outputs: Tensor) -> None:
        _row(rows, eps, threads, held, direct, parts, x, w, outputs)

    def rms_norm_row(X: Tensor, W: Tensor, Y: Tensor) -> None:
        body(X, W, Y)

    def rms_norm_row_invvar(X: Tensor, W: Tensor, Y: Tensor, R: Tensor) -> None:
        body(X, W, Y, R)

    options: dict[str, Any] = {} if maxnreg is None else {"maxnreg": maxnreg}
    return kernel(
        in_specs=rows.forward_inputs,
        out_specs=out_specs,
        grid=grid(lambda B: (B * parts, 1, 1)),
        block=(threads, 1, 1),
        arch="auto",
        parallel=("B",),
        **options,
    )(rms_norm_row_invvar if invvar else rms_norm_row)


def needs(rows: Rows, *, direct: bool) -> Needs:
    """What `forward` needs of a device; beside the row a CTA has sums of its warps."""
    if direct:
        return Needs()
    copied = Needs(("cp.async",), rows.part(1) * rows.xs.bytes + KIB)
    return replace(copied, features=BULK) if rows.device.has(*BULK) else copied


def _row(
    rows: Rows,
    eps: float,
    threads: int,
    held: bool,
    direct: bool,
    parts: int,
    X: Tensor,
    W: Tensor,
    outputs: Sequence[Tensor],
) -> None:
    a = Arithmetic(rows.compute)
    xs, ws = rows.xs, rows.ws
    x, w, y = ptx.global_ptrs(X, W, outputs[0])
    lane = reg.from_(ptx.special.tid.x(), u32)
    row = reg.from_(ptx.special.ctaid.x(), u32)
    rank = None
    if parts > 1:
        rank = row & (parts - 1)
        row = row >> (parts.bit_length() - 1)
    whole = Part(rows, row, lane, threads)
    part = whole if rank is None else Part(rows, row, lane, threads, parts, rank)
    copy = None if direct or not rows.device.has(*BULK) else _Copy(whole, x)
    active = [part.active(k) for k in range(part.each)]
    if not direct and copy is None:
        copy = _ThreadCopies(whole, x, active)
    weights = load_weights(part, w, active, _AT_ONCE if direct else "global")
    ends = None if rows.aligned else Ends(whole)
    end_x = end_w = None
    if ends is not None:
        end_x = load_one(rows.x, a.dtype, x + ends.position * rows.x.bytes, pred=ends.active)
        end_w = load_one(
            rows.weight, a.dtype, w + wide(ends.column) * rows.weight.bytes, pred=ends.active
        )
    if copy is None:
        space, here = _AT_ONCE, x + part.offset * rows.x.bytes
    else:
        space, here = "shared", copy.wait()

    def load(k: int) -> list[Reg]:
        return xs.load(space, here, part.step(k, xs), pred=active[k])

    words = [load(k) for k in range(part.each)]
    summed = words
    if rank is not None:
        start = x + whole.offset * rows.x.bytes
        summed = [
            xs.load(_AT_ONCE, start, whole.step(k, xs), pred=whole.active(k))
            for k in range(whole.each)
        ]
    values = [value for group in summed for value in xs.unpack(group)]
    if end_x is not None:
        values.append(end_x)
    forward_ = Forward(a, rows.columns, eps)
    squares = team_sum(a, a.products((v, v) for v in values), lane, threads)
    r = forward_.invvar(squares)
    if len(outputs) > 1:
        (invvar,) = ptx.global_ptrs(outputs[1])
        first = lane == 0 if rank is None else (lane | rank) == 0
        store_one(a.dtype, invvar + row * a.dtype.bytes, r, pred=first)

    y += part.offset * rows.weight.bytes
    for k in range(part.each):
        group = xs.unpack(words[k] if held else load(k))
        result = [
            forward_.result(v, u, r) for v, u in zip(group, ws.unpack(weights[k]), strict=True)
        ]
        ws.store("global", y, part.step(k, ws), ws.pack(result), pred=active[k])
    if ends is not None and end_x is not None and end_w is not None:
        (base,) = ptx.global_ptrs(outputs[0])
        place = base + ends.position * rows.weight.bytes
        there = ends.active if rank is None else ends.active & (rank == 0)
        store_one(rows.weight, place, forward_.result(end_x, end_w, r), pred=there)


class _ThreadCopies:
    """The row on its way to shared memory, each thread's groups by its own copies."""

    def __init__(self, part: Part, x: Reg, active: Sequence[Reg | None]) -> None:
        xs = part.rows.xs
        buffer = smem.alloc(u8, part.most * xs.bytes, align=128)
        self._here = ptx.inst.mad.lo.u32(part.lane, xs.bytes, address(buffer))
        source = x + part.offset * part.rows.x.bytes
        for k, ok in enumerate(active):
            async_load(self._here, source, part.step(k, xs), xs.bytes, pred=ok)

    def wait(self) -> Reg:
        """The address of the thread's first group, when its own are there; it reads no other."""
        ptx.inst.cp.async_.wait_all()
        return self._here


class _Copy:
    """The row on its way to shared memory."""

    def __init__(self, part: Part, x: Reg) -> None:
        xs = part.rows.xs
        self._part = part
        self._buffer = smem.alloc(u8, part.most * xs.bytes, align=128)
        self._arrived = smem.mbarrier()
        with ptx.if_(part.lane == 0):
            self._arrived.init(1)
            ptx.fence.mbarrier_init()
            size = part.bytes_of(xs)
            self._arrived.arrive_expect_tx(size)
            source = x + part.start * part.rows.x.bytes
            bulk_load(self._buffer.address(), ptx.addr(source), size, self._arrived)

    def wait(self) -> Reg:
        """The address of the thread's first group, when the row is there."""
        ptx.bar.sync(0)  # the mbarrier is there
        part = self._part
        here = ptx.inst.mad.lo.u32(part.lane, part.rows.xs.bytes, address(self._buffer))
        self._arrived.wait(0)
        return here
