"""Few rows of A times B, for Hopper: B is read once, at the speed of memory.

That is decoding: B is a layer's weights, and A has a row for each sequence. `mma.sync` takes B from
registers as memory gives it, 16 bytes a thread, without a way through shared memory: a permutation
of K changes no sum if A has it too, and one of N is undone when results are written. A warp
multiplies 16 rows of A by 64 columns of B. The warps of a CTA go along K, as do the CTAs of a
cluster; their sums are added in shared memory, in one order. 16 warps are all that a multiprocessor
has registers for: two CTAs of 8 took up to a fifth longer, since a second one is not on every
multiprocessor.

More than 16 rows are right too: each 16 read B again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyptx import Kernel, Reg, Tensor, ptx, reg, smem
from pyptx._operands import Address
from pyptx.device import WARP
from pyptx.ops.rowwise.vectors import PIECE, advance, wide
from pyptx.ops.tensor_core import arrays, measured
from pyptx.ops.tensor_core.divide import if_not_below
from pyptx.ops.tensor_core.elements import Elements, store_pair
from pyptx.ops.tensor_core.schedule import low
from pyptx.ops.tensor_core.shape import CTAS, Major, Product, clusters_at_once
from pyptx.types import DType, b32, bf16, f16, f32, u32

ROWS: Final = 16
"""Of A, that a CTA multiplies."""
COLUMNS: Final = 64
"""Of B, that a CTA multiplies."""
ALONG: Final = 16
"""Warps of a CTA, each with other values of K."""
THREADS: Final = ALONG * WARP
CHUNKS: Final[dict[Major, int]] = {"MN": 64, "K": 32}
"""Values of K that a warp loads before it multiplies."""
PITCH: Final = COLUMNS + 4
"""Numbers from a row of sums to the next in shared memory: stores of a warp meet other banks."""
PAIRS: Final = ROWS * COLUMNS // 2
"""Neighbours of a CTA's sums, which a thread adds at a time."""
CLUSTER: Final = 8
"""CTAs of the largest cluster."""


@dataclass(frozen=True, slots=True)
class FewRows:
    """A kernel of this kind; a cluster of so many CTAs has one tile, each other values of K."""

    cluster: int = 1


def fits(product: Product) -> bool:
    """Whether there is such a kernel: two matrices of 16 bits, A by rows."""
    epilogue = product.epilogue
    one_result = epilogue is None or (epilogue.factors == 1 and not product.amax)
    plain = product.ragged is None and not product.promoted and not product.batched
    kinds = product.a is product.b and product.a in (bf16, f16)
    return one_result and plain and kinds and product.a_major == "K"


def choose(product: Product, m: int, n: int, k: int, matrices: int = 1) -> FewRows | None:
    """The kernel for a product of these sizes; None where one by tiles has been quicker.

    A tile has as many CTAs as leave a multiprocessor to each, and each warp a chunk.
    """
    limits = measured.FEW_ROWS[product.b_major]
    most = min(CLUSTER, k // chunk(product))
    there = 0 < m <= ROWS and 0 < n <= limits.columns and k <= limits.depth
    if matrices > 1 or most == 0 or not there or not fits(product):
        return None
    tiles = -(-n // COLUMNS)
    room = (c for c in (2, 4, CLUSTER) if tiles <= min(limits.ctas // c, clusters_at_once(c, CTAS)))
    cluster = max((c for c in room if c <= most), default=1)
    few = tiles * cluster <= limits.few and k > limits.shallow
    return None if few else FewRows(cluster)


def chunk(product: Product) -> int:
    """Values of K that the warps of a CTA load before they multiply."""
    return CHUNKS[product.b_major] * ALONG


def build(product: Product, shape: FewRows) -> Kernel:
    """The kernel of A, B and the epilogue's arrays to D, for any sizes.

    Rows of A and B are multiples of 16 bytes.
    """

    def matmul(*tensors: Tensor) -> None:
        _Cta(product, shape, tensors).run()

    return arrays.kernel_of(
        product,
        matmul,
        grid=f"{shape.cluster} * cdiv(M, {ROWS}) * cdiv(N, {COLUMNS})",
        block=THREADS,
        cluster=(shape.cluster, 1, 1),
        arch="auto",
        name="matmul_few_rows",
        minnctapersm=1,
    )


class _Cta:
    """A CTA, and its tile of D."""

    def __init__(self, product: Product, shape: FewRows, tensors: Sequence[Tensor]) -> None:
        named = dict(zip(arrays.names(product), tensors, strict=True))
        self.product, self.cluster = product, shape.cluster
        self.chunk = CHUNKS[product.b_major]
        self.results = [named[name] for name in named if name.startswith("D")]
        self.sizes = sizes = arrays.sizes(product, named["A"], self.results[0])
        operands = [named[name] for name in named if name.startswith("E")]
        self.elements = Elements(product, sizes, operands)
        self.a, self.b = ptx.global_ptrs(named["A"], named["B"])
        self.thread = reg.from_(ptx.special.tid.x(), u32)
        self.lane, self.along = self.thread & (WARP - 1), self.thread >> 5
        # How `mma.sync` numbers lanes: eight groups of four.
        self.group, self.inside = self.lane >> 2, self.lane & 3
        number = reg.from_(ptx.special.ctaid.x(), u32)
        self.rank = number & (shape.cluster - 1)
        number = number // shape.cluster
        across = (sizes.n + (COLUMNS - 1)) // COLUMNS
        down = if_not_below(number, across)
        self.row = low(down, ROWS)
        self.column = low(number - low(down, across), COLUMNS)

    def run(self) -> None:
        """The kernel's body."""
        if self.cluster > 1:
            self._expect()
        sums = self._sums()
        held = smem.alloc(f32, (ALONG, ROWS, PITCH), align=PIECE)
        for row, column, values in self._places(sums):
            place = held.address(self.along, row, column)
            if len(values) > 1:
                ptx.inst.st.shared.v4.f32(place, list(values))
            else:
                ptx.inst.st.shared.f32(place, values[0])
        ptx.bar.sync()
        if self.cluster > 1:
            ptx.cluster.wait()  # all CTAs have started, and their mbarriers are there
        own = PAIRS // self.cluster
        for first in range(0, PAIRS, THREADS):
            pair = self.thread + first
            row, column = _of_pair(pair)
            total = _total([held.address(i, row, column) for i in range(ALONG)])
            if self.cluster == 1:
                self._store(row, column, total)
            else:
                self._send(pair // own, pair & (own - 1), total)
        if self.cluster > 1:
            self._receive(own)

    # ---- along K ---------------------------------------------------------------------------------

    def _sums(self) -> list[list[Reg]]:
        """This warp's sums: eight blocks of `mma.sync`, four numbers a thread."""
        sums = [[reg.scalar(f32, init=0.0) for _ in range(4)] for _ in range(COLUMNS // 8)]
        size, stride = self.sizes.k, ALONG * self.chunk * self.cluster
        k = reg.from_(low(low(self.rank, ALONG) + self.along, self.chunk), u32)
        left = ptx.inst.selp.u32(size - k, 0, k < size)
        whole = (left + (stride - self.chunk)) // stride
        start = ptx.inst.selp.u32(k, 0, k < size)
        factors = (_ByRows if self.product.b_major == "K" else _ByColumns)(self, start)
        for _ in ptx.range_(0, whole, dtype=u32):
            factors.add(sums, None)
            factors.advance(stride)
        k += low(whole, stride)
        with ptx.if_(k < size):
            factors.add(sums, k)
        return sums

    def _places(self, sums: Sequence[Sequence[Reg]]) -> list[tuple[Reg, Reg, Sequence[Reg]]]:
        """Rows and columns of a warp's sums, and neighbours that begin there."""
        halves = [(half, other) for half in range(2) for other in range(2)]
        if self.product.b_major == "MN":  # block i has every eighth column from i on
            return [
                (
                    self.group + 8 * half,
                    (self.inside << 4) + (8 * other + i),
                    [block[2 * half + other] for block in sums[i : i + 4]],
                )
                for half, other in halves
                for i in (0, 4)
            ]
        return [  # transposed
            (
                (self.inside << 1) + (8 * (i // 4) + other),
                self.group + (16 * (i % 4) + 8 * half),
                [block[2 * half + other]],
            )
            for i, block in enumerate(sums)
            for half, other in halves
        ]

    # ---- over the cluster ------------------------------------------------------------------------

    def _expect(self) -> None:
        """Make the mbarrier that counts what the other CTAs send; the cluster learns of it."""
        own = PAIRS // self.cluster
        self.sent = smem.alloc(f32, (self.cluster, own, 2), align=PIECE)
        self.arrived = smem.mbarrier(1)
        with ptx.if_(self.thread == 0):
            self.arrived.init(1)
            self.arrived[0].arrive_expect_tx(2 * PAIRS * f32.bytes)
            ptx.fence.mbarrier_init()
        ptx.cluster.arrive(relaxed=True)  # the fence is the release of the mbarrier

    def _send(self, whose: Reg, which: Reg, total: Sequence[Reg]) -> None:
        """Give a pair to the CTA that adds it up."""
        index = low(self.rank, PAIRS // self.cluster) + which
        mine = ptx.inst.mad.lo.u32(index, 2 * f32.bytes, reg.from_(self.sent, u32))
        there, arrived = (
            ptx.cluster.map_shared_rank(each, whose) for each in (mine, self.arrived[0])
        )
        kind = "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32"
        ptx.inst[kind](ptx.addr(there), list(total), ptx.addr(arrived))

    def _receive(self, own: int) -> None:
        """Add up what all CTAs have sent, and write it."""
        self.arrived[0].wait(0, cluster=True)
        with ptx.if_(self.thread < own):
            row, column = _of_pair(low(self.rank, own) + self.thread)
            self._store(row, column, self._sum_of_cluster(self.thread))

    def _sum_of_cluster(self, which: Reg) -> list[Reg]:
        return _total([self.sent.address(i, which, 0) for i in range(self.cluster)])

    def _store(self, row: Reg, column: Reg, total: Sequence[Reg]) -> None:
        """Two neighbours of D, and of what else the epilogue gives."""
        row, column = self.row + row, self.column + column
        found = self.elements.apply([], [row], column, [list(total)])
        there = (row < self.sizes.m) & (column < self.sizes.n)
        for tensor, numbers in zip(self.results, found, strict=True):
            store_pair(tensor, [row, column], numbers, there)


class _Factors:
    """What a warp reads of A and B, from a value of K on. A row or column that there is not is
    another one, of which nothing is written."""

    def __init__(self, cta: _Cta) -> None:
        self.cta = cta
        self.dtype = cta.product.b
        self.column = cta.column
        self.kinds = cta.product.kinds

    def add(self, sums: Sequence[Sequence[Reg]], k: Reg | None) -> None:
        """Add the products of a chunk. At the end of K, its first value is `k`."""
        raise NotImplementedError

    def advance(self, distance: int) -> None:
        """Go on along K."""
        raise NotImplementedError

    def steps(self, length: int, along: Reg, k: Reg | None) -> list[tuple[int, Reg | None]]:
        """Where each step of a chunk begins, and whether the thread's values of K are there; `k`
        is None where all are."""
        starts, size = range(0, self.cta.chunk, length), self.cta.sizes.k
        return [(at, None if k is None else k + along + at < size) for at in starts]

    def of_a(self, k: Reg) -> list[Reg]:
        """The addresses of the two rows of A that this thread has, at a value of K."""
        last = self.cta.sizes.m - 1
        rows = [self.cta.row + self.cta.group + 8 * half for half in range(2)]
        rows = [ptx.inst.min.u32(row, last) for row in rows]
        return [_place(self.cta.a, row, self.cta.sizes.k, k, self.dtype) for row in rows]

    def load_b(self, place: Reg, offset: int, there: Reg | None) -> list[Reg]:
        """16 bytes of B; zeros where K has ended."""
        words = _words(4, there)
        ptx.inst["ld.global.nc.L1::no_allocate.v4.b32"](words, ptx.addr(place, offset), pred=there)
        return words

    def load_a(self, place: Reg, offset: int, words: int, there: Reg | None) -> list[Reg]:
        """The same of A, which other CTAs of the multiprocessor read too."""
        found = _words(words, there)
        ptx.inst[f"ld.global.nc.v{words}.b32"](found, ptx.addr(place, offset), pred=there)
        return found

    def multiply(self, d: Sequence[Reg], rows: Sequence[Reg], columns: Sequence[Reg]) -> None:
        """One `mma.sync`."""
        ptx.mma.sync(
            shape=(16, 8, 16), dtype_d=f32, dtype_a=self.kinds[0], dtype_b=self.kinds[1],
            dtype_c=f32, d=d, a=rows, b=columns, c=d,
        )  # fmt: skip


class _ByRows(_Factors):
    """B as (N, K): its rows are those of the first factor of `mma.sync`, and D is transposed."""

    STEP: Final = 32
    """Values of K that two `mma.sync` multiply: a thread has 8 of them, which are neighbours."""

    def __init__(self, cta: _Cta, k: Reg) -> None:
        super().__init__(cta)
        self.along = cta.inside << 3
        along = k + self.along
        last = cta.sizes.n - 1
        first = self.column + cta.group
        lines = [ptx.inst.min.u32(first + i, last) for i in range(0, COLUMNS, 8)]
        self.b = [_place(cta.b, line, cta.sizes.k, along, self.dtype) for line in lines]
        self.a = self.of_a(along)

    def add(self, sums: Sequence[Sequence[Reg]], k: Reg | None) -> None:
        steps, size = self.steps(self.STEP, self.along, k), self.dtype.bytes
        of_b = [[self.load_b(p, at * size, ok) for p in self.b] for at, ok in steps]
        of_a = [[self.load_a(p, at * size, 4, ok) for p in self.a] for at, ok in steps]
        for lines, rows in zip(of_b, of_a, strict=True):
            for half in (0, 2):
                for i, d in enumerate(sums):
                    of_rows, of_columns = divmod(i, 4)
                    one, other = lines[2 * of_columns : 2 * of_columns + 2]
                    first = [one[half], other[half], one[half + 1], other[half + 1]]
                    self.multiply(d, first, rows[of_rows][half : half + 2])

    def advance(self, distance: int) -> None:
        for place in (*self.a, *self.b):
            advance(place, distance * self.dtype.bytes)


class _ByColumns(_Factors):
    """B as (K, N): a thread has 8 neighbours of each of four rows, and pairs them by `prmt`."""

    STEP: Final = 16
    """Values of K that one `mma.sync` multiplies: a thread has 4 of them, which are neighbours."""

    def __init__(self, cta: _Cta, k: Reg) -> None:
        super().__init__(cta)
        self.along = cta.inside << 2
        along = k + self.along
        column = self.column + (cta.group << 3)
        column = ptx.inst.selp.u32(column, 0, column < cta.sizes.n)
        self.b = _place(cta.b, along, cta.sizes.n, column, self.dtype)
        self.line = wide(cta.sizes.n) * self.dtype.bytes
        self.a = self.of_a(along)

    def add(self, sums: Sequence[Sequence[Reg]], k: Reg | None) -> None:
        steps, size = self.steps(self.STEP, self.along, k), self.dtype.bytes
        of_b: list[list[list[Reg]]] = []
        for at, ok in steps:
            places = [self.b + self.line * (at + i) for i in range(4)]
            of_b.append([self.load_b(place, 0, ok) for place in places])
        of_a = [[self.load_a(p, at * size, 2, ok) for p in self.a] for at, ok in steps]
        for lines, (one, other) in zip(of_b, of_a, strict=True):
            rows = [one[0], other[0], one[1], other[1]]
            for i, d in enumerate(sums):
                word, order = i // 2, 0x7632 if i % 2 else 0x5410
                columns = [
                    ptx.inst.prmt.b32(lines[j][word], lines[j + 1][word], order) for j in (0, 2)
                ]
                self.multiply(d, rows, columns)

    def advance(self, distance: int) -> None:
        advance(self.b, self.line * distance)
        for place in self.a:
            advance(place, distance * self.dtype.bytes)


def _of_pair(pair: Reg) -> tuple[Reg, Reg]:
    """The row and the first column of a pair of a CTA's sums."""
    return pair // (COLUMNS // 2), (pair & (COLUMNS // 2 - 1)) << 1


def _words(count: int, there: Reg | None) -> list[Reg]:
    return [reg.scalar(b32, init=None if there is None else 0) for _ in range(count)]


def _place(base: Reg, row: Reg, length: Reg, column: Reg, dtype: DType) -> Reg:
    """The address of an element of a matrix whose rows have this length."""
    index = ptx.inst.mad.wide.u32(row, length, wide(column))
    return base + index * dtype.bytes


def _total(places: Sequence[Address]) -> list[Reg]:
    """The sums of pairs in shared memory, in their order."""
    totals: list[Reg] = []
    for place in places:
        pair = [reg.scalar(f32) for _ in range(2)]
        ptx.inst.ld.shared.v2.f32(pair, place)
        totals = (
            [ptx.inst.add.rn.f32(a, b) for a, b in zip(totals, pair, strict=True)]
            if totals
            else pair
        )
    return totals
