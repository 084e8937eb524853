"""Long rows: several CTAs take a row, each a strip of its columns, and add up through the cluster.

The CTAs of a team go through the team's rows together. Sums travel: while that of one row is on
its way to the other CTAs, the row `lag` rows before is written, read again from shared memory. One
warp only fetches: it waits until a stage has been written and starts the next copy into it. A team
that is larger than a cluster exchanges its sums through global memory, read by a warp of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg, smem
from pyptx.device import WARP, Needs
from pyptx.ops._rms import dependent
from pyptx.ops._rms.arithmetic import (
    Arithmetic,
    Backward,
    Forward,
    address,
    load_warp_sums,
    store_warp_sum,
)
from pyptx.ops._rms.beside import Beside, Progress
from pyptx.ops._rms.elements import (
    BULK,
    LINE,
    PIECE,
    Group,
    instruction,
    rounded_up,
    store_one,
    wide,
)
from pyptx.ops._rms.geometry import Ends, Part, Rows, grid, load_weights
from pyptx.ops._rms.gradient import WeightGradient
from pyptx.ops._rms.ring import Counter, Ring, Source
from pyptx.types import b32, u8, u32, u64

_SUMMED: Final = 1  # a barrier of the threads that compute; 0 is the whole CTA's


@dataclass(frozen=True, slots=True)
class Shape:
    """`teams` teams of `parts` CTAs, each with `threads` threads that compute.

    stages   pieces of rows that a CTA holds: being fetched, waiting, and being written
    lag      rows between the one that is summed and the one that is written; with 0, a CTA only
             fetches while it waits for the sums of others
    shared   whether the weights of a strip are in shared memory (otherwise in registers)
    pieces   how many a row comes in; so much sooner there is room for the next one
    grid     whether a team is larger than a cluster, and exchanges sums through global memory
    """

    teams: int
    parts: int
    threads: int
    stages: int
    lag: int = 1
    shared: bool = True
    grid: bool = False
    pieces: int = 1

    @property
    def block(self) -> int:
        """Threads of a CTA with the warp that fetches, and the one that exchanges."""
        return self.threads + WARP * (2 if self.grid else 1)

    @property
    def clustered(self) -> bool:
        """Whether a team is a cluster: not where it is one CTA, or a grid."""
        return self.parts > 1 and not self.grid

    @property
    def slots(self) -> int:
        """Sums of so many rows can be on their way before the first of them is overwritten."""
        return 2 * self.lag + 2


def stage_bytes(rows: Rows, shape: Shape, *, backward: bool) -> int:
    """Bytes of a piece of a row in each tensor that is read, as `ring.Ring` has them."""
    most = rows.part(shape.parts)
    each = -(-most // shape.threads)
    groups = min(most, -(-each // shape.pieces) * shape.threads)
    read = (rows.xs, rows.ws) if backward else (rows.xs,)
    return sum(rounded_up(groups * group.bytes) for group in read)


def needs(rows: Rows, shape: Shape, *, backward: bool) -> Needs:
    """What `forward` and `backward` need of a device: beside stages, weights and sums."""
    slot = shape.threads // WARP + rounded_up(1 if shape.grid else shape.parts, PIECE // 4)
    shared = shape.stages * (stage_bytes(rows, shape, backward=backward) + 2 * 8)
    shared += shape.slots * (slot * rows.compute.bytes + 2 * 8) + LINE
    if shape.shared:
        shared += rows.part(shape.parts) * rows.ws.bytes
    if not shape.clustered:
        return Needs(BULK, shared, at_once=shape.teams * shape.parts if shape.grid else 0)
    return Needs((*BULK, "clusters", "st.async"), shared, cluster=shape.parts)


def words(rows: Rows) -> int:
    """64-bit words that carry one sum through global memory, 32 bits each and a mark."""
    return rows.compute.bytes // 4


def forward(rows: Rows, eps: float, shape: Shape, *, invvar: bool) -> Kernel:
    """x[*B, N], w[N] to y[*B, N], and r[*B] with `invvar`.

    With `shape.grid` the first input is mail[*B, parts * words] of u64, zeros; so is the first
    output, in place.
    """

    def run(X: Tensor, W: Tensor, outputs: Sequence[Tensor], mail: Tensor | None = None) -> None:
        strip = _Strip(rows, shape, X.shape[0], mail)
        strip.run(_Forward(strip, eps, X, W, outputs))

    def rms_norm_strips(X: Tensor, W: Tensor, Y: Tensor) -> None:
        run(X, W, (Y,))

    def rms_norm_strips_invvar(X: Tensor, W: Tensor, Y: Tensor, R: Tensor) -> None:
        run(X, W, (Y, R))

    def rms_norm_grid(MAIL: Tensor, X: Tensor, W: Tensor, READ: Tensor, Y: Tensor) -> None:
        del READ
        run(X, W, (Y,), MAIL)

    def rms_norm_grid_invvar(
        MAIL: Tensor, X: Tensor, W: Tensor, READ: Tensor, Y: Tensor, R: Tensor
    ) -> None:
        del READ
        run(X, W, (Y, R), MAIL)

    bodies = {
        (False, False): rms_norm_strips,
        (False, True): rms_norm_strips_invvar,
        (True, False): rms_norm_grid,
        (True, True): rms_norm_grid_invvar,
    }
    return kernel(
        in_specs=(*_mail(rows, shape), *rows.forward_inputs),
        out_specs=(*_mail(rows, shape), *rows.forward_outputs(invvar=invvar)),
        **_launch(shape),
    )(bodies[shape.grid, invvar])


def backward(rows: Rows, shape: Shape) -> Kernel:
    """g[*B, N], r[*B], x[*B, N], w[N] to dx[*B, N] and partial sums of dw[N], one for each team.

    With `shape.grid` the first input is mail[*B, parts * words] of u64, zeros; so is the first
    output, in place. With fewer rows than teams only the first B partial sums are written.
    """

    def run(
        G: Tensor,
        R: Tensor,
        X: Tensor,
        W: Tensor,
        DX: Tensor,
        DW: Tensor,
        mail: Tensor | None = None,
    ) -> None:
        strip = _Strip(rows, shape, X.shape[0], mail)
        strip.run(_Backward(strip, G, R, X, W, DX, DW))

    def rms_norm_strips_backward(
        G: Tensor, R: Tensor, X: Tensor, W: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        run(G, R, X, W, DX, DW)

    def rms_norm_grid_backward(
        MAIL: Tensor,
        G: Tensor,
        R: Tensor,
        X: Tensor,
        W: Tensor,
        READ: Tensor,
        DX: Tensor,
        DW: Tensor,
    ) -> None:
        del READ
        run(G, R, X, W, DX, DW, MAIL)

    return kernel(
        in_specs=(
            *_mail(rows, shape),
            *rows.backward_inputs,
        ),
        out_specs=(
            *_mail(rows, shape),
            rows.tensor(rows.x),
            Tile(shape.teams, rows.padded, rows.compute, sum_over="B", partial=True),
        ),
        **_launch(shape),
    )(rms_norm_grid_backward if shape.grid else rms_norm_strips_backward)


def clear(rows: Rows, shape: Shape) -> Kernel:
    """x[*B, N] to mail[*B, parts * words]: zeros; x is there for its number of rows."""
    count, threads = shape.parts * words(rows), 256

    def rms_norm_clear(X: Tensor, MAIL: Tensor) -> None:
        (mail,) = ptx.global_ptrs(MAIL)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        index = cta * threads + wide(reg.from_(ptx.special.tid.x(), u32))
        there = index < X.shape[0] * count
        ptx.inst.st.global_.u64(ptx.addr(mail + index * 8), reg.scalar(u64, init=0), pred=there)

    return kernel(
        in_specs=(rows.tensor(rows.x),),
        out_specs=_mail(rows, shape),
        grid=grid(lambda B: (ptx.cdiv(B * count, threads), 1, 1)),
        block=(threads, 1, 1),
        arch="auto",
        parallel=("B",),
    )(rms_norm_clear)


def _mail(rows: Rows, shape: Shape) -> tuple[Tile, ...]:
    return (Tile("*B", shape.parts * words(rows), u64),) if shape.grid else ()


def _launch(shape: Shape) -> dict[str, Any]:
    """Options of the kernels. A team of a grid waits for all its CTAs, so they start together."""
    return {
        "grid": grid(lambda B: (min(B, shape.teams) * shape.parts, 1, 1)),
        "block": (shape.block, 1, 1),
        "cluster": (shape.parts if shape.clustered else 1, 1, 1),
        "arch": "auto",
        "parallel": ("B",),
        **({"cooperative": True, "input_output_aliases": {0: 0}} if shape.grid else {}),
    }


class _Strip:
    """A CTA: its strip of the team's rows, and how rows come and sums go."""

    def __init__(self, rows: Rows, shape: Shape, total: int | Reg, mail: Tensor | None) -> None:
        # A row is summed when all of its pieces are there, and those before it wait meanwhile.
        assert shape.stages >= (shape.lag + 1) * shape.pieces
        self.shape = shape
        self.a = Arithmetic(rows.compute)
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        self.team = cta // shape.parts
        self.rank = ptx.cluster.rank() if shape.clustered else cta % shape.parts
        self.rows = ptx.inst.cvt.u32.u64(total)
        self.row = reg.scalar(u32, init=self.team)
        self.part = Part(rows, self.row, self.lane, shape.threads, shape.parts, self.rank)
        self.ends = None if rows.aligned else Ends(self.part, self.rank)
        self.active = [self.part.active(k) for k in range(self.part.each)]
        self.mail = ptx.global_ptrs(mail)[0] if mail is not None else None
        self.sums = address(
            smem.alloc(self.a.dtype, (shape.slots, shape.threads // WARP), align=16)
        )
        letters = 1 if shape.grid else shape.parts  # what `_deliver` hands on is a sum already
        letters = rounded_up(letters, PIECE // self.a.dtype.bytes)
        self.letters = smem.alloc(self.a.dtype, (shape.slots, letters), align=PIECE)
        self.read = smem.mbarrier(shape.slots)
        self.written = smem.mbarrier(shape.stages)
        self.free = smem.mbarrier(shape.slots) if shape.grid else None

    def run(self, work: _Forward | _Backward) -> None:
        shape = self.shape
        ring = Ring(
            self.part,
            work.sources(),
            self.row,
            self.rows,
            stages=shape.stages,
            stride=shape.teams,
            pieces=shape.pieces,
        )
        with ptx.if_(self.lane == 0):
            ring.init()
            self.written.init(shape.threads // WARP)
            self.read.init(1)
            if self.free is not None:
                self.free.init(shape.threads // WARP)
            ptx.fence.mbarrier_init()
        if shape.clustered:
            ptx.cluster.arrive(aligned=True)
            ptx.cluster.wait(aligned=True)
        ptx.bar.sync(0)
        with ptx.if_(self.lane < shape.threads):
            self._compute(ring, work)
        with ptx.else_():
            with ptx.if_(self.lane == shape.threads):
                self._fetch(ring)
            if shape.grid:
                with ptx.if_(self.lane >= shape.threads + WARP):
                    self._deliver()

    def _fetch(self, ring: Ring) -> None:
        """One thread: pieces into stages, at first into all, then wherever one has been written."""
        free = Counter(self.shape.stages)
        with ptx.while_(lambda: ring.next_row < self.rows):
            for piece in range(ring.pieces):
                self.written[free.index].wait(free.parity ^ 1)  # at once where it is new
                ring.fetch(free.index, piece)
                free.advance()

    def _compute(self, ring: Ring, work: _Forward | _Backward) -> None:
        shape = self.shape
        work.begin()
        work.beside.load(self.row)
        summed, behind = Counter(shape.stages), Counter(shape.stages)
        sent, received = Counter(shape.slots), Counter(shape.slots)
        waiting, turn = reg.scalar(u32, init=0), reg.scalar(u32, init=0)
        with ptx.loop("rows"):
            more = self.row < self.rows
            work.beside.take()
            with ptx.if_(more):
                work.beside.load(self.row + shape.teams)
                sums = [self._sum(ring, summed, work, piece) for piece in range(ring.pieces)]
                total = self.a.total(sums)
                store_warp_sum(self.a, total, self.lane, self._sums(sent.index))
                ptx.bar.sync(_SUMMED, shape.threads)
                if shape.parts > 1:
                    with ptx.if_(self.lane < WARP):
                        self._send(sent.index)
                sent.advance()
                waiting += 1
            # `lag` turns after its sum, also when no rows follow: the queue moves by turns
            with ptx.if_((turn >= shape.lag) & (waiting > 0)):
                if shape.parts > 1:
                    self.read[received.index].wait(received.parity, cluster=shape.clustered)
                factor = work.factor(self._received(received.index))
                if self.free is not None:
                    ptx.inst.bar.warp.sync(0xFFFFFFFF)
                    with ptx.if_((self.lane & (WARP - 1)) == 0):
                        self.free[received.index].arrive()
                received.advance()
                for piece in range(ring.pieces):
                    work.write(ring.groups(behind.index), ring.ks(piece), factor)
                    ptx.inst.bar.warp.sync(0xFFFFFFFF)
                    with ptx.if_((self.lane & (WARP - 1)) == 0):
                        self.written[behind.index].arrive()
                    behind.advance()
                work.written(factor)
                waiting -= 1
            self.row += shape.teams
            turn += 1
            ptx.break_(pred=~more & (waiting == 0))
        work.end()

    def _sum(self, ring: Ring, stage: Counter, work: _Forward | _Backward, piece: int) -> Reg:
        """What a thread has to add for a piece of the row, when it has arrived."""
        ring.arrived(stage.index).wait(stage.parity)
        total = work.sum(ring.groups(stage.index), ring.ks(piece), ends=piece == 0)
        stage.advance()
        return total

    # ---- sums between CTAs -----------------------------------------------------------------------

    def _sums(self, slot: Reg) -> Reg:
        """Where the warps of this CTA put their sums."""
        bytes_ = self.shape.threads // WARP * self.a.dtype.bytes
        return ptx.inst.mad.lo.u32(slot, bytes_, self.sums)

    def _letters(self, slot: Reg) -> Reg:
        """Where the sums of all CTAs of the team arrive."""
        bytes_ = self.letters.shape[1] * self.a.dtype.bytes
        return ptx.inst.mad.lo.u32(slot, bytes_, address(self.letters))

    def _send(self, slot: Reg) -> None:
        """One warp: give the CTA's sum to all CTAs of the team, lane i to CTA i."""
        a, shape = self.a, self.shape
        total = load_warp_sums(a, self.lane, self._sums(slot), shape.threads // WARP)
        if self.mail is not None:
            with ptx.if_(self.lane == 0):
                self._post(self.mail, total)
            return
        read = self.read[slot]
        with ptx.if_(self.lane == 0):
            read.arrive_expect_tx(shape.parts * a.dtype.bytes)
        with ptx.if_(self.lane < shape.parts):
            mine = ptx.inst.mad.lo.u32(self.rank, a.dtype.bytes, self._letters(slot))
            there = ptx.cluster.map_shared_rank(mine, self.lane)
            bar = ptx.cluster.map_shared_rank(read, self.lane)
            kind = f"st.async.shared::cluster.mbarrier::complete_tx::bytes.b{a.dtype.bits}"
            instruction(kind)(ptx.addr(there), total, ptx.addr(bar))

    def _post(self, mail: Reg, total: Reg) -> None:
        """One thread: the sum into this CTA's words of global memory, each with its mark."""
        count = words(self.part.rows)
        first = self._box(mail, self.row, self.rank)
        mark = reg.scalar(b32, init=1)
        halves = [total] if count == 1 else [reg.scalar(b32), reg.scalar(b32)]
        if count > 1:
            ptx.inst.mov.b64(halves, total)
        for i, half in enumerate(halves):
            word = reg.scalar(u64)
            ptx.inst.mov.b64(word, [half, mark])
            ptx.inst.st.relaxed.gpu.global_.u64(ptx.addr(first, 8 * i), word)

    def _box(self, mail: Reg, row: Reg, rank: Reg) -> Reg:
        """The address of the words of a CTA for a row."""
        count = words(self.part.rows)
        index = row * self.shape.parts + wide(rank)
        return mail + index * (8 * count)

    def _deliver(self) -> None:
        """A warp: wait for the words of all CTAs of the team, row by row, and hand on their sum."""
        assert self.mail is not None
        assert self.free is not None
        a, shape = self.a, self.shape
        count = words(self.part.rows)
        lane = self.lane & (WARP - 1)
        row = reg.scalar(u32, init=self.team)
        place = self._box(self.mail, row, lane)
        slot = Counter(shape.slots)
        rounds = -(-shape.parts // WARP)
        with ptx.while_(lambda: row < self.rows):
            found = [[reg.scalar(u64, init=1 << 32) for _ in range(count)] for _ in range(rounds)]
            with ptx.loop("wait"):
                marks = reg.scalar(u32, init=1)
                for i, box in enumerate(found):
                    there = None if (i + 1) * WARP <= shape.parts else lane < shape.parts - i * WARP
                    for j, word in enumerate(box):
                        at = ptx.addr(place, (i * WARP * count + j) * 8)
                        ptx.inst.ld.relaxed.gpu.global_.u64(word, at, pred=there)
                        ptx.inst.and_.b32(marks, marks, ptx.inst.cvt.u32.u64(word >> 32))
                ptx.break_(pred=ptx.inst.vote.sync.all.pred(marks != 0, 0xFFFFFFFF))
            total = a.total([_value(a, box) for box in found])
            ptx.warp.reduce_sum(total)
            with ptx.if_(lane == 0):
                # A slot is free once all warps have read the sum before; at first all of them are.
                self.free[slot.index].wait(slot.parity ^ 1)
                a.store(ptx.addr(self._letters(slot.index)), total)
                self.read[slot.index].arrive()
            slot.advance()
            row += shape.teams
            place += shape.teams * shape.parts * count * 8

    def _received(self, slot: Reg) -> Reg:
        """The sum over the row, added up in the same order everywhere."""
        a = self.a
        if self.shape.parts == 1:
            return load_warp_sums(a, self.lane, self._sums(slot), self.shape.threads // WARP)
        place = self._letters(slot)
        if self.mail is not None:
            total = a.zero()
            a.load(total, ptx.addr(place))
            return total
        parts: list[Reg] = []
        each = PIECE // a.dtype.bytes
        for first in range(0, self.shape.parts, each):
            some = [reg.scalar(a.dtype) for _ in range(min(each, self.shape.parts - first))]
            vector = f".v{len(some)}" if len(some) > 1 else ""
            load = instruction(f"ld.shared{vector}.{a.dtype.name}")
            load(some if vector else some[0], ptx.addr(place, first * a.dtype.bytes))
            parts += some
        return a.total(parts)


class _Rows:
    """What forward and backward have in common: the weights, and what is beside a row.

    The first entry of `beside.queue` is that of the row being summed, its last one that of the row
    being written.
    """

    def __init__(self, strip: _Strip, w: Reg) -> None:
        self.strip = strip
        self.part = strip.part
        self.a = strip.a
        self.rows = strip.part.rows
        self.stride = strip.shape.teams
        self._w = w
        progress = Progress(strip.row, strip.rows, self.stride)
        self.beside = Beside(self.a, strip.ends, progress, strip.shape.lag + 1)
        self._table: Reg | None = None

    def begin(self) -> None:
        """Load the weights, and prepare what is beside the rows."""
        strip, rows = self.strip, self.rows
        self._weights = load_weights(self.part, self._w, strip.active)
        if strip.shape.shared:
            table = address(smem.alloc(u8, self.part.most * rows.ws.bytes, align=16))
            self._table = ptx.inst.mad.lo.u32(strip.lane, rows.ws.bytes, table)
            for k, group in enumerate(self._weights):
                offset = self.part.step(k, rows.ws)
                rows.ws.store("shared", self._table, offset, group, pred=strip.active[k])
        self.beside.begin(self._w, rows.weight)

    def weights(self, k: int) -> list[Reg]:
        """The weights of the k-th group; a thread reads only what it has put there itself."""
        ws = self.rows.ws
        if self._table is None:
            return ws.unpack(self._weights[k])
        offset = self.part.step(k, ws)
        return ws.unpack(ws.load("shared", self._table, offset, pred=self.strip.active[k]))

    def load_group(self, group: Group, place: Reg, ks: range, k: int) -> list[Reg]:
        """The elements of a thread's k-th group, where a piece with the groups `ks` is."""
        offset = self.part.step(k - ks.start, group)
        return group.unpack(group.load("shared", place, offset, pred=self.strip.active[k]))


class _Forward(_Rows):
    """x to y."""

    def __init__(
        self, strip: _Strip, eps: float, X: Tensor, W: Tensor, outputs: Sequence[Tensor]
    ) -> None:
        x, w, y = ptx.global_ptrs(X, W, outputs[0])
        invvar = ptx.global_ptrs(outputs[1])[0] if len(outputs) > 1 else None
        super().__init__(strip, w)
        rows = self.rows
        self._math = Forward(self.a, rows.columns, eps)
        self._x = X
        self._step = self.stride * rows.columns * rows.weight.bytes
        self._end_y = None
        self.beside.add_ends(x, rows.x, rows.columns)
        if strip.ends is not None:
            self._end_y = y + strip.ends.position * rows.weight.bytes
        self._y = y + self.part.offset * rows.weight.bytes
        self._invvar = None if invvar is None else invvar + strip.row * self.a.dtype.bytes

    def sources(self) -> list[Source]:
        return [Source(self._x, self.rows.xs)]

    def sum(self, places: Sequence[Reg], ks: range, *, ends: bool) -> Reg:
        """The thread's part of the sum of squares of a piece in shared memory."""
        values = [v for k in ks for v in self.load_group(self.rows.xs, places[0], ks, k)]
        if ends:
            values += self.beside.queue[0]
        return self.a.products((v, v) for v in values)

    def factor(self, total: Reg) -> Reg:
        """r of the row to write, whose sum is `total`."""
        return self._math.invvar(total)

    def write(self, places: Sequence[Reg], ks: range, factor: Reg) -> None:
        """Write the next piece of the row that follows the one written before."""
        rows, math = self.rows, self._math
        for k in ks:
            pairs = zip(self.load_group(rows.xs, places[0], ks, k), self.weights(k), strict=True)
            result = rows.ws.pack([math.result(v, u, factor) for v, u in pairs])
            offset, ok = self.part.step(k, rows.ws), self.strip.active[k]
            rows.ws.store("global", self._y, offset, result, pred=ok)

    def written(self, factor: Reg) -> None:
        """Write what else belongs to the row, and go on to the next."""
        strip, rows, math = self.strip, self.rows, self._math
        if self._invvar is not None:
            first = (strip.lane == 0) & (strip.rank == 0)
            store_one(self.a.dtype, self._invvar, factor, pred=first)
            self._invvar += self.stride * self.a.dtype.bytes
        if strip.ends is not None and self._end_y is not None:
            with strip.ends.there():
                (x,) = self.beside.queue[-1]
                value = math.result(x, self.beside.w, factor)
                store_one(rows.weight, self._end_y, value, pred=strip.ends.active)
                self._end_y += self._step
        self._y += self._step

    def end(self) -> None:
        """Nothing is left when all rows are written."""


class _Backward(_Rows):
    """x and g to dx and the sums for dw."""

    def __init__(
        self, strip: _Strip, G: Tensor, R: Tensor, X: Tensor, W: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        g, r, x, w, dx = ptx.global_ptrs(G, R, X, W, DX)
        super().__init__(strip, w)
        rows = self.rows
        self._math = Backward(self.a, rows.columns)
        self._x, self._g, self._dw = X, G, DW
        self._step = self.stride * rows.columns * rows.x.bytes
        self.beside.add(r + wide(strip.row) * self.a.dtype.bytes, self.a.dtype)
        self.beside.add_ends(x, rows.x, rows.columns)
        self.beside.add_ends(g, rows.weight, rows.columns)
        self._end_dx = None
        if strip.ends is not None:
            self._end_dx = dx + strip.ends.position * rows.x.bytes
        self._dx = dx + self.part.offset * rows.x.bytes

    def sources(self) -> list[Source]:
        return [
            Source(self._x, self.rows.xs),
            Source(self._g, self.rows.ws),
        ]

    def begin(self) -> None:
        super().begin()
        strip = self.strip
        self._sums = WeightGradient(self.a, self.part, strip.ends, self._dw, lambda: strip.team)

    def _groups(self, places: Sequence[Reg], ks: range, k: int) -> Iterable[tuple[Reg, Reg, Reg]]:
        """x, g and w of the k-th group."""
        xs = self.load_group(self.rows.xs, places[0], ks, k)
        gs = self.load_group(self.rows.ws, places[1], ks, k)
        return zip(xs, gs, self.weights(k), strict=True)

    def sum(self, places: Sequence[Reg], ks: range, *, ends: bool) -> Reg:
        """The thread's part of the sum of g w x of a piece in shared memory."""
        a = self.a
        triples = [t for k in ks for t in self._groups(places, ks, k)]
        if ends and self.strip.ends is not None:
            _, x, g = self.beside.queue[0]
            triples.append((x, g, self.beside.w))
        return a.products((x, a.mul(g, w)) for x, g, w in triples)

    def factor(self, total: Reg) -> Reg:
        """The coefficient of x in the gradient of the row to write, whose sum is `total`."""
        return self._math.coefficient(self.beside.queue[-1][0], total)

    def write(self, places: Sequence[Reg], ks: range, factor: Reg) -> None:
        """Write the next piece of the gradient of the row that follows the one written before."""
        rows, math = self.rows, self._math
        r = self.beside.queue[-1][0]
        for k in ks:
            result: list[Reg] = []
            groups = self._groups(places, ks, k)
            for (x, g, w), sum_ in zip(groups, self._sums.sums[k], strict=True):
                result.append(math.result(x, g, w, r, factor))
                math.accumulate(sum_, x, g, r)
            offset, ok = self.part.step(k, rows.xs), self.strip.active[k]
            rows.xs.store("global", self._dx, offset, rows.xs.pack(result), pred=ok)

    def written(self, factor: Reg) -> None:
        """Write what else belongs to the row, and go on to the next."""
        strip, rows, math, sums = self.strip, self.rows, self._math, self._sums
        if strip.ends is not None and self._end_dx is not None:
            with strip.ends.there():
                r, x, g = self.beside.queue[-1]
                value = math.result(x, g, self.beside.w, r, factor)
                store_one(rows.x, self._end_dx, value, pred=strip.ends.active)
                sums.add_end(math, x, g, r)
                self._end_dx += self._step
        self._dx += self._step
        sums.row_done(strip.active)

    def end(self) -> None:
        """Write what is left of the sums."""
        dependent.launch_dependents(self.rows)
        self._sums.write(self.strip.active)


def _value(a: Arithmetic, box: Sequence[Reg]) -> Reg:
    """The number in the words of a sum."""
    halves = [reg.scalar(b32) for _ in box]
    for half, word in zip(halves, box, strict=True):
        ptx.inst.mov.b64([half, ptx.sink], word)
    value = reg.scalar(a.dtype)
    if len(halves) == 1:
        ptx.inst.mov.b32(value, halves[0])
    else:
        ptx.inst.mov.b64(value, halves)
    return value
