"""Kernels that copy boxes, and what they should do, written from the manual with NumPy.

Everything here runs in the emulator and on a GPU alike. A box's coordinates begin with the last
axis, as the instructions' do; all else is in the order of arrays.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import ml_dtypes  # noqa: F401  # NumPy learns the names of small floats from it
import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Layout, OobFill, Tile, kernel, ptx, reg, smem
from pyptx._layouts import Atomicity
from pyptx.types import (
    DType,
    bf16,
    e4m3,
    e5m2,
    f16,
    f32,
    f64,
    s8,
    s16,
    s32,
    s64,
    u8,
    u16,
    u32,
    u64,
)  # fmt: skip

Array = NDArray[Any]
THREADS = 128
UNTOUCHED = 0xA5A5A5A5

# PTX ISA, "Swizzling Modes": which 16-byte chunk of a line stands at each place, line by line.
PATTERNS = {
    Layout.ROW: ["01234567"],
    Layout.TMA_32B: ["01234567", "10325476"],
    Layout.TMA_64B: ["01234567", "10325476", "23016745", "32107654"],
    Layout.TMA_128B: [
        "01234567", "10325476", "23016745", "32107654",
        "45670123", "54761032", "67452301", "76543210",
    ],
    Layout.TMA_128B_ATOM_32B: ["01234567", "23016745", "45670123", "67452301"],
    Layout.TMA_128B_ATOM_32B_FLIP_8B: ["01234567", "23016745", "45670123", "67452301"],
    Layout.TMA_128B_ATOM_64B: ["01234567", "45670123"],
}  # fmt: skip


class Copied(abc.ABC):
    """What copies of either kind, boxes and pixels of images, say of what they bring."""

    dtype: DType
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    @abc.abstractmethod
    def extents(self) -> tuple[int, ...]:
        """The elements in shared memory along each axis."""

    @property
    def bytes(self) -> int:
        return int(np.prod(self.extents)) * self.dtype.bytes

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype(f"u{self.dtype.bytes}")

    @property
    def words(self) -> int:
        """Words of shared memory that tests look at: the box, in whole patterns."""
        return -(-self.bytes // 1024) * 256


@dataclass(frozen=True)
class Box(Copied):
    """A tensor and the boxes that are copied: one for each of `coords`."""

    dtype: DType
    shape: tuple[int, ...]
    box: tuple[int, ...]
    coords: tuple[tuple[int, ...], ...]
    layout: Layout = Layout.ROW
    strides: tuple[int, ...] | None = None
    fill: OobFill = OobFill.ZEROS

    @property
    def extents(self) -> tuple[int, ...]:
        steps = self.strides or (1,) * self.rank
        return tuple(-(-size // step) for size, step in zip(self.box, steps, strict=True))

    @property
    def unit(self) -> int:
        """Elements that the first coordinate is a multiple of: those of 16 bytes."""
        return 16 // self.dtype.bytes

    @property
    def arch(self) -> str:
        return "auto" if self.layout.atomicity is Atomicity.B16 else "sm_100a"

    def tile(self) -> Tile:
        return Tile(
            *self.shape, self.dtype, self.layout,
            tma_box=self.box, tma_element_strides=self.strides, tma_oob_fill=self.fill,
        )  # fmt: skip


# ---- what the manual says ------------------------------------------------------------------------


def places(case: Box) -> Array:
    """Where each byte of a box stands in shared memory."""
    pattern = PATTERNS[case.layout]
    offsets = np.arange(case.bytes)
    line, chunk, byte = offsets // 128, offsets // 16 % 8, offsets % 16
    found = [pattern[row].index(str(c)) for row, c in zip(line % len(pattern), chunk, strict=True)]
    if case.layout is Layout.TMA_128B_ATOM_32B_FLIP_8B:  # halves, in every second line
        byte = byte ^ line % 2 * 8
    return line * 128 + np.array(found) * 16 + byte


def positions(case: Box, coord: tuple[int, ...]) -> tuple[list[Array], Array]:
    """For each axis the indices that a box takes, and which elements are inside of the tensor."""
    steps = case.strides or (1,) * case.rank
    starts = coord[::-1]
    indices = [
        start + step * np.arange(extent)
        for start, step, extent in zip(starts, steps, case.extents, strict=True)
    ]
    valid = [(i >= 0) & (i < size) for i, size in zip(indices, case.shape, strict=True)]
    inside = np.ones(case.extents, bool)
    for axis, each in enumerate(valid):
        inside &= each.reshape([-1 if a == axis else 1 for a in range(case.rank)])
    clipped = [np.clip(i, 0, size - 1) for i, size in zip(indices, case.shape, strict=True)]
    return clipped, inside


def loaded(case: Box, x: Array, fill: int = 0) -> Array:
    """Shared memory as words after each load, for a tensor of unsigned integers."""
    out = np.full((len(case.coords), case.words), UNTOUCHED, np.uint32)
    for memory, coord in zip(out.view(np.uint8), case.coords, strict=True):
        indices, inside = positions(case, coord)
        values = np.where(inside, x[np.ix_(*indices)], np.array(fill, x.dtype))
        memory[places(case)] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    return out


def boxes_of(case: Box, memory: Array) -> Array:
    """The elements of the boxes that stand in shared memory, given as words."""
    raw = memory.view(np.uint8).reshape(len(case.coords), -1)[:, places(case)]
    values = np.ascontiguousarray(raw).view(case.numpy)
    return values.reshape(len(case.coords), *case.extents)


def stored(case: Box, y: Array, memory: Array, combine: Any = None) -> Array:
    """The tensor after all boxes have been stored, or combined with it, one after the other."""
    y = y.copy()
    for coord, box in zip(case.coords, boxes_of(case, memory), strict=True):
        indices, inside = positions(case, coord)
        where = tuple(axis[inside] for axis in np.meshgrid(*indices, indexing="ij"))
        values = box[inside]
        y[where] = values if combine is None else combine(y[where], values)
    return y


# ---- kernels -------------------------------------------------------------------------------------


def copies(rank: int) -> Any:
    return getattr(ptx.cp.async_.bulk, f"tensor_{rank}d")


def each_word(case: Box, lane: Any) -> Any:
    """The words that a thread moves: their numbers, in registers, with a predicate or None."""
    for first in range(0, case.words, THREADS):
        yield lane + first if first else lane


@cache
def load_kernel(case: Box) -> Kernel:
    """CTA k loads the box at coordinates k to shared memory, and shared memory to the output."""
    count = len(case.coords)

    @kernel(
        in_specs=(case.tile(), Tile(count, case.rank, s32)),
        out_specs=(Tile(count, case.words, u32),),
        grid=(count, 1, 1), block=(THREADS, 1, 1), arch=case.arch,
    )  # fmt: skip
    def load_box(X, C, S):
        memory = smem.alloc(u32, (case.words,), align=1024)
        bar = smem.mbarrier()
        box = X.tma_desc()
        c, s = ptx.global_ptrs(C, S)
        lane = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        one = lane == 0
        bar.init(1, pred=one)
        for word in each_word(case, lane):
            memory[word] = UNTOUCHED
        ptx.inst.fence.proxy.async_()
        ptx.bar.sync(0)
        with ptx.if_(one):
            at = c + cta * (4 * case.rank)
            coord = [ptx.inst.ld.global_.s32(ptx.addr(at, 4 * i)) for i in range(case.rank)]
            copies(case.rank).prefetch(src=box, coord=coord)
            bar.arrive_expect_tx(box.bytes)
            copies(case.rank)(dst=memory, src=box, coord=coord, mbar=bar)
        bar.wait(0)
        out = s + cta * (4 * case.words)
        for word in each_word(case, lane):
            ptx.inst.st.global_.u32(ptx.addr(out + word * 4), memory[word])

    return load_box


@cache
def store_kernel(case: Box, op: str = "") -> Kernel:
    """One CTA brings each row of M to shared memory and stores it to the box at coordinates k."""
    count = len(case.coords)
    tile = case.tile()

    @kernel(
        in_specs=(Tile(count, case.words, u32), tile),
        out_specs=(tile,),
        input_output_aliases={1: 0},
        grid=(1, 1, 1), block=(THREADS, 1, 1), arch=case.arch,
    )  # fmt: skip
    def store_box(M, Y0, Y):
        memory = smem.alloc(u32, (case.words,), align=1024)
        box = Y.tma_desc()
        (m,) = ptx.global_ptrs(M)
        lane = reg.from_(ptx.special.tid.x(), u32)
        one = lane == 0
        for k, coord in enumerate(case.coords):
            for word in each_word(case, lane):
                at = ptx.addr(m + word * 4, 4 * case.words * k)
                memory[word] = ptx.inst.ld.global_.u32(at)
            ptx.inst.fence.proxy.async_.shared__cta()
            ptx.bar.sync(0)
            with ptx.if_(one):
                if op:
                    copies(case.rank).reduce(op, dst=box, src=memory, coord=list(coord))
                else:
                    copies(case.rank).store(dst=box, src=memory, coord=list(coord))
                ptx.cp.async_.bulk.commit_group()
                ptx.cp.async_.bulk.wait_group(0)
            ptx.bar.sync(0)

    return store_box


@cache
def multicast_kernel(case: Box) -> Kernel:
    """CTA 0 of a cluster of two loads the box at coordinates 0 for both, CTA 1 the other likewise.

    The output has what each CTA's shared memory holds: both boxes.
    """
    half = case.words

    @kernel(
        in_specs=(case.tile(), Tile(2, case.rank, s32)),
        out_specs=(Tile(2, 2 * half, u32),),
        grid=(2, 1, 1), cluster=(2, 1, 1), block=(THREADS, 1, 1),
    )  # fmt: skip
    def multicast_box(X, C, S):
        memory = smem.alloc(u32, (2 * half,), align=1024)
        bar = smem.mbarrier()
        box = X.tma_desc()
        c, s = ptx.global_ptrs(C, S)
        lane = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        one = lane == 0
        bar.init(1, pred=one)
        ptx.fence.mbarrier_init()
        for first in range(0, 2 * half, THREADS):
            memory[lane + first] = UNTOUCHED
        ptx.inst.fence.proxy.async_()
        ptx.cluster.sync()
        with ptx.if_(one):
            at = c + cta * (4 * case.rank)
            coord = [ptx.inst.ld.global_.s32(ptx.addr(at, 4 * i)) for i in range(case.rank)]
            bar.arrive_expect_tx(2 * box.bytes)
            place = reg.from_(memory, u32)
            place += ptx.inst.mul.lo.u32(cta, 4 * half)
            copies(case.rank)(dst=ptx.addr(place), src=box, coord=coord, mbar=bar, multicast_mask=3)
        bar.wait(0)
        out = s + cta * (8 * half)
        for first in range(0, 2 * half, THREADS):
            word = lane + first
            ptx.inst.st.global_.u32(ptx.addr(out + word * 4), memory[word])
        ptx.cluster.sync()

    return multicast_box


def coordinates(case: Box) -> Array:
    return np.array(case.coords, np.int32).reshape(len(case.coords), case.rank)


def tensor(case: Box, seed: int = 0) -> Array:
    """Random bits, as unsigned integers."""
    generator = np.random.default_rng(seed)
    return generator.integers(0, 256, (*case.shape, case.dtype.bytes), np.uint8).view(case.numpy)[
        ..., 0
    ]


def memories(case: Box, seed: int = 1) -> Array:
    generator = np.random.default_rng(seed)
    return generator.integers(0, 2**32, (len(case.coords), case.words), np.uint32)


def typed(case: Box, array: Array) -> Array:
    """The bits as what the kernel takes."""
    return array.view(str(case.dtype.numpy))


def corners(case: Box) -> tuple[tuple[int, ...], ...]:
    """Boxes that lie inside, reach beyond the tensor on either side of each axis, or miss it.

    Along the last axis of the tensor they begin at multiples of 16 bytes, as a GPU demands.
    """
    found = [tuple(0 for _ in case.shape)]
    units = (case.unit, *(1 for _ in case.shape[1:]))
    sizes, spans = case.shape[::-1], case.box[::-1]
    for axis, (unit, size, span) in enumerate(zip(units, sizes, spans, strict=True)):
        beyond = -(-size // unit) * unit
        starts = (-span, -(span // 2), -unit, unit, size - 1, size - span // 2, beyond)
        found += [
            tuple(start // unit * unit if i == axis else 0 for i in range(case.rank))
            for start in starts
        ]
    found.append(tuple(-unit for unit in units))
    found.append(tuple((size - 1) // unit * unit for unit, size in zip(units, sizes, strict=True)))
    return tuple(dict.fromkeys(found))


def for_stores(case: Box) -> Box:
    """The same boxes but those that begin before the tensor, where no store may."""
    return replace(case, coords=tuple(c for c in case.coords if min(c) >= 0))


# ---- cases ---------------------------------------------------------------------------------------


def case(
    dtype: DType,
    shape: tuple[int, ...],
    box: tuple[int, ...],
    layout: Layout = Layout.ROW,
    **options: Any,
) -> Box:
    """A case with boxes at all corners."""
    found = Box(dtype, shape, box, (), layout, **options)
    return replace(found, coords=corners(found))


SWIZZLES = {Layout.TMA_32B: 32, Layout.TMA_64B: 64, Layout.TMA_128B: 128}

CASES = {
    "rank 1": case(f32, (37,), (12,)),
    "rank 2": case(f32, (9, 20), (5, 12)),
    "rank 3": case(bf16, (4, 5, 24), (2, 3, 8)),
    "rank 4": case(s32, (3, 2, 5, 12), (2, 2, 3, 8)),
    "rank 5": case(u64, (2, 3, 2, 3, 6), (2, 2, 1, 2, 4)),
    **{
        f"{layout.name} of {dtype}": case(
            dtype, (21, (2 * span + 16) // dtype.bytes), (18, span // dtype.bytes), layout
        )
        for layout, span in SWIZZLES.items()
        for dtype in (bf16, f32)
    },
    "TMA_128B of rank 3": case(e4m3, (3, 11, 144), (2, 9, 128), Layout.TMA_128B),
    "TMA_64B of rank 5": case(f64, (2, 2, 3, 3, 12), (1, 2, 2, 3, 8), Layout.TMA_64B),
    **{
        f"elements of {dtype}": case(dtype, (7, 48 // dtype.bytes), (4, 32 // dtype.bytes))
        for dtype in (u8, s8, e4m3, e5m2, u16, s16, u32, s32, u64, s64, f16, bf16, f32, f64)
    },
    "every second row": case(f32, (11, 12), (6, 8), strides=(2, 1)),
    "every third of an odd box": case(bf16, (9, 10, 16), (4, 7, 8), strides=(2, 3, 1)),
    "strides and a swizzle": case(f32, (30, 32), (24, 16), Layout.TMA_64B, strides=(3, 1)),
    "a box of the whole tensor": case(f32, (6, 8), (6, 8)),
    "a box larger than the tensor": case(f16, (3, 16), (5, 24)),
    "the largest box": case(u8, (3, 272), (2, 256)),
}  # fmt: skip

# Swizzles that move more than 16 bytes as a whole, of sm_100.
ATOMS = {
    f"{layout.name} of {dtype}": case(
        dtype, (21, 272 // dtype.bytes), (18, 128 // dtype.bytes), layout
    )
    for layout in PATTERNS
    if layout.atomicity is not Atomicity.B16
    for dtype in (bf16, f32)
}  # fmt: skip

NANS = {
    f"NaN of {dtype}": case(dtype, (6, 32 // dtype.bytes), (4, 32 // dtype.bytes), fill=OobFill.NAN)
    for dtype in (f16, bf16, f32, f64)
}

# The instruction's reductions; boxes overlap, so that each element is combined several times.
REDUCTIONS = [
    *((dtype, op) for dtype in (u32, s32, u64) for op in ("add", "min", "max", "and", "or", "xor")),
    *((s64, op) for op in ("min", "max")),
    *((u32, op) for op in ("inc", "dec")),
    *((dtype, op) for dtype in (f16, bf16) for op in ("add", "min", "max")),
    (f32, "add"),
    (f64, "add"),
]


def reduction(dtype: DType) -> Box:
    """Boxes that overlap, in shared memory that is swizzled."""
    unit = 16 // dtype.bytes
    coords = ((0, 0), (unit, 2), (2 * unit, 5), (0, 0))
    return Box(dtype, (9, 3 * unit), (6, 2 * unit), coords, Layout.TMA_32B)


def multicast(layout: Layout) -> Box:
    """A box that begins before the tensor, and one that reaches beyond its end."""
    return Box(f32, (20, 40), (8, 32), ((-4, 2), (16, 15)), layout)


def reduced(case: Box) -> tuple[Array, Array]:
    """Shared memory as words and a tensor, of small whole numbers whose sums are exact."""
    generator = np.random.default_rng(3)
    elements = (len(case.coords), 4 * case.words // case.dtype.bytes)
    source, y = (generator.integers(0, 41, shape) for shape in (elements, case.shape))
    if case.dtype.is_float or case.dtype.is_signed:
        source, y = source - 20, y - 20
    name = str(case.dtype.numpy)
    return source.astype(name).view(np.uint32), y.astype(name)
