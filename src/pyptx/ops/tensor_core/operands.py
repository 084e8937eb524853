"""A and B on their way: tensor maps, stages of shared memory, and what `wgmma` reads of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyptx import Layout, Reg, SharedTile, Tensor, ptx, reg, smem
from pyptx.ops.tensor_core.schedule import low
from pyptx.ops.tensor_core.shape import ATOM, ROWS, SPAN, Major
from pyptx.types import DType, b32, u32

HALF: Final = ROWS // 2
"""Lines of half a box of 16 bits."""
LARGE: Final = 2**28
"""Bytes of an operand that is read once: on an H100, 112 and 128 MiB took 8 to 10 % less time with
their lines first to leave the L2 cache, and 448 MiB took 2 % more."""


@dataclass(frozen=True, slots=True)
class Team:
    """The `rank` of a CTA among the `size` CTAs of its cluster that multiply the same lines.

    Bit i of `mask` is set where the CTA of rank i in the cluster is one of them.
    """

    rank: Reg
    size: int
    mask: int


@dataclass(frozen=True, slots=True)
class Halves:
    """The tensor map of half boxes: the matrix's lines, `count` of them, are split into groups of
    HALF. The other half of a box is beyond its group: zeros, for which memory is not read.
    """

    map: Any
    count: Reg


@dataclass(frozen=True, slots=True)
class Boxes:
    """Where the boxes of a tile begin: whole ones, and then half a one.

    A box reads 128 bytes of each of a stage's values of K: one cache line where it begins with one,
    otherwise two. So a tile that begins in the middle of a cache line has its first HALF lines
    last.

    first   the line that the whole boxes begin with
    half    the group of the half box
    whole   whether the matrix has all lines of the tile; if not, its last box is a whole one, too
    """

    first: Reg
    half: Reg
    whole: Reg


@dataclass(frozen=True, slots=True)
class Operand:
    """A or B: `lines` rows of A, or columns of B, for each of the stages, which have room for whole
    blocks of 64 rows: what lies beyond the lines is zero, once `fill` has been called. Lines that
    are not along K come in boxes as wide as a swizzle, or in those and half a one, of `halves`.

    Two matrices B have half of the lines each, and a map each. Where the CTAs of a cluster
    multiply the same lines, each of the first `parts` fetches the part of them that is its rank's,
    for all; the first `longer` of them have one group of ATOM lines more, of the map `group`. Boxes
    of lines that are not along K are `dealt` to them, where each then has fewer than equal parts.
    """

    dtype: DType
    lines: int
    k_major: bool
    batched: bool
    stages: SharedTile
    maps: tuple[Any, ...]
    team: Team | None = None
    parts: int = 1
    halves: Halves | None = None
    group: Any = None

    @property
    def dealt(self) -> bool:
        """Whether the CTAs that fetch it have boxes in turn, rather than a part each."""
        if self.team is None:
            return False
        major: Major = "K" if self.k_major else "MN"
        return is_dealt(self.lines, len(self.maps), major, self.dtype, self.team.size)

    @property
    def every_map(self) -> tuple[Any, ...]:
        """Those of half boxes and of single groups, too."""
        more = (self.halves.map,) if self.halves is not None else ()
        return (*self.maps, *more, *(() if self.group is None else (self.group,)))

    @property
    def longer(self) -> int:
        """CTAs that fetch one group of lines more than the others."""
        return _longer(self.lines, self.parts) if self.group is not None else 0

    @property
    def shared(self) -> bool:
        """Whether the CTAs of a cluster fetch it for each other."""
        return self.team is not None

    @property
    def bytes(self) -> int:
        """Of a stage."""
        return (self.lines if self.k_major else self.stages.shape[-1]) * SPAN

    def fetch(
        self,
        stage: Reg,
        full: Any,
        line: Reg,
        k: Reg,
        matrix: list[Reg],
        policy: Reg | None = None,
        boxes: Boxes | None = None,
    ) -> None:
        """Have a stage filled, from this row or column and this value of K on. One thread."""
        if self.team is None or self.dealt or self.parts == self.team.size:
            self._fetch(stage, full, line, k, matrix, policy, boxes)
            return
        with ptx.if_(self.team.rank < self.parts):
            self._fetch(stage, full, line, k, matrix, policy, boxes)

    def boxes(self, line: Reg) -> Boxes | None:
        """Those of the tile that begins at this line, where the last one is half a one."""
        if self.halves is None:
            return None
        turned = is_turned(line, self.lines, self.halves.count)
        first = line + ptx.inst.selp.u32(HALF, 0, turned)
        half = line + ptx.inst.selp.u32(0, self.lines - HALF, turned)
        return Boxes(first, half // HALF, line + self.lines <= self.halves.count)

    def _fetch(
        self, stage: Reg, full: Any, line: Reg, k: Reg, matrix: list[Reg], policy: Reg | None,
        boxes: Boxes | None,
    ) -> None:  # fmt: skip
        after = matrix if self.batched else []
        copy = ptx.cp.async_.bulk.tensor_3d if self.batched else ptx.cp.async_.bulk.tensor_2d
        held = self.stages[stage]
        each = self.lines // len(self.maps)
        own = _shortest(each, self.parts)
        width = own if self.k_major else SPAN // self.dtype.bytes
        more: dict[str, Any] = {}
        if self.team is not None:
            more["multicast_mask"] = self.team.mask
        more["cache_policy"] = policy
        if self.dealt:
            self._fetch_dealt(copy, held, full, line, k, after, boxes, more)
            return
        part = None if self.team is None else self._first_of(self.team.rank, own)
        line = line if part is None else line + part
        begin = line if boxes is None else boxes.first
        for i, described in enumerate(self.maps):
            for panel in range(0, own, width):
                first = i * each + panel if part is None else part + (i * each + panel)
                place = held.address(*((first, 0) if self.k_major else (0, first)))
                if boxes is not None and panel + width > own:
                    self._fetch_half(place, full, line + panel, boxes, [k, *after], more)
                    continue
                at = begin + panel if panel else begin
                coord = [k, at, *after] if self.k_major else [at, k, *after]
                copy(dst=place, src=described, coord=coord, mbar=full, **more)
        if self.team is not None and part is not None and self.longer > 0:
            with ptx.if_(self.team.rank < self.longer):
                place, coord = held.address(part + own, 0), [k, line + own, *after]
                copy(dst=place, src=self.group, coord=coord, mbar=full, **more)

    def _first_of(self, rank: Reg, own: int) -> Reg:
        """The first line of a CTA's part, of at least `own` lines."""
        first = low(rank, own)
        if self.longer > 0:
            first = first + low(ptx.inst.min.u32(rank, self.longer), ATOM)
        return first

    def _fetch_dealt(
        self, copy: Any, held: Any, full: Any, line: Reg, k: Reg, after: list[Reg],
        boxes: Boxes | None, more: dict[str, Any],
    ) -> None:  # fmt: skip
        """Every box by another CTA: of three, the first has the first and the fourth."""
        assert self.team is not None
        begin = line if boxes is None else boxes.first
        for i, panel in enumerate(range(0, self.lines, ROWS)):
            place = held.address(0, panel)
            with ptx.if_(self.team.rank == i % self.parts):
                if boxes is not None and panel + ROWS > self.lines:
                    self._fetch_half(place, full, line + panel, boxes, [k, *after], more)
                else:
                    copy(
                        dst=place,
                        src=self.maps[0],
                        coord=[begin + panel, k, *after],
                        mbar=full,
                        **more,
                    )

    def _fetch_half(
        self, place: Reg, full: Any, line: Reg, boxes: Boxes, after: list[Reg],
        more: dict[str, Any],
    ) -> None:  # fmt: skip
        """The last box of a tile; of one that the matrix has a part of, as many lines as of others,
        from this one on."""
        assert self.halves is not None
        bulk = ptx.cp.async_.bulk
        copy, of_groups = bulk.tensor_2d, bulk.tensor_3d
        if self.batched:
            copy, of_groups = bulk.tensor_3d, bulk.tensor_4d
        with ptx.if_(boxes.whole):
            coord = [0, boxes.half, *after]
            of_groups(dst=place, src=self.halves.map, coord=coord, mbar=full, **more)
        with ptx.else_():
            copy(dst=place, src=self.maps[0], coord=[line, *after], mbar=full, **more)

    def fill(self, thread: Reg, threads: int) -> None:
        """Write zeros to the lines of every stage that are never fetched, along K."""
        words = self.stages.view(b32)
        count, lines, _ = words.shape
        chunk, line = (thread & 7) << 2, thread >> 3
        for stage in ptx.range_(0, count, dtype=u32):
            for first in range(self.lines, lines, threads // 8):
                place = words.address(stage, line + first, chunk)
                ptx.inst.st.shared.v4.b32(place, [0, 0, 0, 0])

    def clear(self, stage: Reg, first: Reg, thread: Reg, threads: int) -> None:
        """Write zeros from this value of K on, of a stage that is not along K; 16 bytes a store."""
        words = self.stages.view(b32)
        _, depth, across = words.shape
        chunk, row = (thread & 7) << 2, reg.from_(first + (thread >> 3), u32)
        with ptx.while_(lambda: row < depth):
            for panel in range(0, across, SPAN // b32.bytes):
                place = words.address(stage, row, chunk + panel)
                ptx.inst.st.shared.v4.b32(place, [0, 0, 0, 0])
            row += threads // 8

    def descriptor(self, stage: Reg, k: int, line: Reg | int) -> Reg:
        """The matrix descriptor of what one instruction reads from this value of K and line on."""
        return ptx.wgmma.descriptor(self.stages[stage], k=k, mn=line)


def leaves_first() -> Reg:
    """The cache policy of an operand that is read once: its lines are the first to leave the L2
    cache, so that lines which kernels before have written stay. To write these back would take
    memory's time.

    Other copies have no policy at all, as those of docs/tutorial/11_fast_product.md, whose last
    kernel took 5 to 10 % less time on an H200 than one of this shape with `evict_normal`.
    """
    return ptx.inst["createpolicy.fractional.L2::evict_first.b64"](1.0)


def is_read_once(once: Reg, lines: Reg, steps: Reg) -> Reg:
    """Whether an operand of so many lines and stages along K has that policy, if read `once`.

    One much larger than the cache pushes other lines out anyway, and was read a little slower so.
    """
    return once & (ptx.inst.mul.wide.u32(lines, steps) < LARGE // SPAN)


def shared_parts(lines: int, matrices: int, major: Major, dtype: DType, size: int) -> int:
    """Into how many parts of whole boxes these lines of every matrix are divided, so that each of
    up to `size` CTAs fetches one: a power of two of equal parts, or of an odd number of groups of
    ATOM rows along K, `size` parts of which some have one more. Or boxes are dealt."""
    if is_dealt(lines, matrices, major, dtype, size):
        return min(size, -(-lines // ROWS))
    if major == "K" and matrices == 1 and lines // ATOM % 2 == 1:
        return min(size, lines // ATOM)
    return _equal_parts(lines, matrices, major, dtype, size)


def is_dealt(lines: int, matrices: int, major: Major, dtype: DType, size: int) -> bool:
    """Whether each of up to `size` CTAs fetches every `size`-th box, half a one too: of 16 bits,
    where equal parts would have more boxes."""
    if major == "K" or matrices > 1 or dtype.bits != 16:
        return False
    boxes = -(-lines // ROWS)
    return -(-boxes // size) * _equal_parts(lines, 1, major, dtype, size) < boxes


def _equal_parts(lines: int, matrices: int, major: Major, dtype: DType, size: int) -> int:
    """A power of two of parts."""
    unit = matrices * (ATOM if major == "K" else SPAN // dtype.bytes)
    parts = 1
    while 2 * parts <= size and lines % (2 * parts * unit) == 0:
        parts *= 2
    return parts


def _shortest(lines: int, parts: int) -> int:
    """Lines of each part, of some of them one group more."""
    return lines // ATOM // parts * ATOM


def _longer(lines: int, parts: int) -> int:
    """Parts that have one group more."""
    return lines // ATOM % parts


def operand(
    tensors: Sequence[Tensor],
    major: Major,
    lines: int,
    stages: int,
    batched: bool,
    team: Team | None = None,
) -> Operand:
    """The stages of A, or of B and a second one, and tensor maps of boxes as wide as a swizzle."""
    dtype = tensors[0].dtype
    depth = SPAN // dtype.bytes
    k_major = major == "K"
    box_lines = SPAN // dtype.bytes
    room = max(lines, ROWS) if k_major else -(-lines // box_lines) * box_lines
    whole = (stages, room, depth) if k_major else (stages, depth, room)
    parts = 1 if team is None else shared_parts(lines, len(tensors), major, dtype, team.size)
    fetched = _shortest(lines // len(tensors), parts)
    box = (fetched, depth) if k_major else (depth, box_lines)
    held = smem.wgmma_tile(dtype, whole, major)
    shape = (*((1,) if batched else ()), *box)
    maps = tuple(tensor.tma_desc(shape, layout=Layout.TMA_128B) for tensor in tensors)
    halves = None
    if ends_with_half(lines, major, dtype):
        split = (*shape[:-1], 1, box_lines)
        described = tensors[0].tma_desc(split, layout=Layout.TMA_128B, split=HALF)
        halves = Halves(described, ptx.inst.cvt.u32.u64(tensors[0].shape[-1]))
    group = None
    if k_major and _longer(lines, parts) > 0:
        one = (*shape[:-2], ATOM, depth)
        group = tensors[0].tma_desc(one, layout=Layout.TMA_128B)
    return Operand(dtype, lines, k_major, batched, held, maps, team, parts, halves, group)


def ends_with_half(lines: int, major: Major, dtype: DType) -> bool:
    """Whether so many lines of a tile are whole boxes and half a one."""
    return major == "MN" and dtype.bits == 16 and lines % ROWS == HALF


def is_turned(line: Reg, lines: int, count: Reg) -> Reg:
    """Whether a whole tile of so many lines, that begins at this one of `count`, has its first HALF
    lines last (`Boxes`)."""
    return (line + lines <= count) & ((line & HALF) > 0)
