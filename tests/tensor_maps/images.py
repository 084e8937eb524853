"""Kernels that copy pixels of images (.im2col), and what they should do, pixel by pixel.

PTX ISA, "im2col mode": the base of a filter goes through a bounding box, W fastest, then on to the
next image; a copy takes a number of its places, moved by offsets, and channels of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from typing import Any

import numpy as np
from boxes import THREADS, UNTOUCHED, Array, Copied, copies, each_word, places

from pyptx import Im2col, Kernel, Layout, OobFill, Tile, kernel, ptx, reg, smem
from pyptx.types import DType, bf16, e4m3, f16, f32, s32, u16, u32


@dataclass(frozen=True)
class Images(Copied):
    """A batch of images and the copies of its pixels: coordinates and offsets, from C and W on."""

    dtype: DType
    shape: tuple[int, ...]
    im2col: Im2col
    coords: tuple[tuple[int, ...], ...]
    offsets: tuple[tuple[int, ...], ...]
    layout: Layout = Layout.ROW
    strides: tuple[int, ...] | None = None
    fill: OobFill = OobFill.ZEROS

    @property
    def extents(self) -> tuple[int, ...]:
        return self.im2col.pixels, self.im2col.channels

    def tile(self) -> Tile:
        return Tile(
            *self.shape, self.dtype, self.layout, tma_im2col=self.im2col,
            tma_element_strides=self.strides, tma_oob_fill=self.fill,
        )  # fmt: skip


# ---- what the manual says ------------------------------------------------------------------------


def walk(case: Images, coord: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The places of the filter from a base on, as (image, D, H, W), without an end."""
    steps = (case.strides or (1,) * case.rank)[1:-1]
    lower, upper = case.im2col.lower, case.im2col.upper
    ends = [size - 1 + u for size, u in zip(case.shape[1:-1], upper, strict=True)]
    image, *base = coord[:0:-1]
    place = list(base)
    while True:
        yield (image, *place)
        for axis in reversed(range(len(place))):
            place[axis] += steps[axis]
            if place[axis] <= ends[axis]:
                break
            place[axis] = lower[axis]
        else:
            image += 1


def elements(
    case: Images, coord: tuple[int, ...], offsets: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], Array]:
    """The index of each element of a copy, pixel by pixel, and which are inside of the tensor."""
    moves = (0, *reversed(offsets))
    taken = islice(walk(case, coord), case.im2col.pixels)
    channels = range(coord[0], coord[0] + case.im2col.channels)
    found = [
        (*(at + move for at, move in zip(place, moves, strict=True)), channel)
        for place, channel in product(taken, channels)
    ]
    inside = [all(0 <= i < n for i, n in zip(index, case.shape, strict=True)) for index in found]
    return found, np.array(inside)


def loaded(case: Images, x: Array, fill: int = 0) -> Array:
    """Shared memory as words after each load."""
    out = np.full((len(case.coords), case.words), UNTOUCHED, np.uint32)
    for memory, coord, offsets in zip(out.view(np.uint8), case.coords, case.offsets, strict=True):
        indices, inside = elements(case, coord, offsets)
        values = np.full(len(indices), fill, x.dtype)
        values[inside] = [x[i] for i, fits in zip(indices, inside, strict=True) if fits]
        memory[places(case)] = values.view(np.uint8)
    return out


def stored(case: Images, y: Array, memory: Array) -> Array:
    """The tensor after all pixels have been stored."""
    y = y.copy()
    raw = memory.view(np.uint8).reshape(len(case.coords), -1)[:, places(case)]
    for coord, values in zip(case.coords, np.ascontiguousarray(raw).view(y.dtype), strict=True):
        indices, inside = elements(case, coord, (0,) * (case.rank - 2))
        for index, fits, value in zip(indices, inside, values, strict=True):
            if fits:
                y[index] = value
    return y


# ---- kernels -------------------------------------------------------------------------------------


@cache
def load_kernel(case: Images) -> Kernel:
    """CTA k loads the pixels at coordinates k to shared memory, and shared memory to the output."""
    count, axes = len(case.coords), case.rank - 2

    @kernel(
        in_specs=(case.tile(), Tile(count, case.rank, s32), Tile(count, axes, u16)),
        out_specs=(Tile(count, case.words, u32),),
        grid=(count, 1, 1), block=(THREADS, 1, 1),
    )  # fmt: skip
    def load_pixels(X, C, M, S):
        memory = smem.alloc(u32, (case.words,), align=1024)
        bar, pixels = smem.mbarrier(), X.tma_desc()
        c, m, s = ptx.global_ptrs(C, M, S)
        lane = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        one = lane == 0
        bar.init(1, pred=one)
        for word in each_word(case, lane):
            memory[word] = UNTOUCHED
        ptx.inst.fence.proxy.async_()
        ptx.bar.sync(0)
        with ptx.if_(one):
            at, moved = c + cta * (4 * case.rank), m + cta * (2 * axes)
            coord = [ptx.inst.ld.global_.s32(ptx.addr(at, 4 * i)) for i in range(case.rank)]
            offsets = [ptx.inst.ld.global_.u16(ptx.addr(moved, 2 * i)) for i in range(axes)]
            copies(case.rank).prefetch(src=pixels, coord=coord, offsets=offsets)
            bar.arrive_expect_tx(pixels.bytes)
            copies(case.rank)(dst=memory, src=pixels, coord=coord, offsets=offsets, mbar=bar)
        bar.wait(0)
        out = s + cta * (4 * case.words)
        for word in each_word(case, lane):
            ptx.inst.st.global_.u32(ptx.addr(out + word * 4), memory[word])

    return load_pixels


@cache
def store_kernel(case: Images) -> Kernel:
    """One CTA stores each row of M, by shared memory, to the pixels at coordinates k."""
    count = len(case.coords)

    @kernel(
        in_specs=(Tile(count, case.words, u32), case.tile()),
        out_specs=(case.tile(),),
        input_output_aliases={1: 0},
        grid=(1, 1, 1), block=(THREADS, 1, 1),
    )  # fmt: skip
    def store_pixels(M, Y0, Y):
        memory = smem.alloc(u32, (case.words,), align=1024)
        pixels = Y.tma_desc()
        (m,) = ptx.global_ptrs(M)
        lane = reg.from_(ptx.special.tid.x(), u32)
        for k, coord in enumerate(case.coords):
            for word in each_word(case, lane):
                at = ptx.addr(m + word * 4, 4 * case.words * k)
                memory[word] = ptx.inst.ld.global_.u32(at)
            ptx.inst.fence.proxy.async_.shared__cta()
            ptx.bar.sync(0)
            with ptx.if_(lane == 0):
                copies(case.rank).store(dst=pixels, src=memory, coord=list(coord))
                ptx.cp.async_.bulk.commit_group()
                ptx.cp.async_.bulk.wait_group(0)
            ptx.bar.sync(0)

    return store_pixels


def coordinates(case: Images) -> Array:
    return np.array(case.coords, np.int32)


def offsets(case: Images) -> Array:
    return np.array(case.offsets, np.uint16)


def tensor(case: Images, seed: int = 0) -> Array:
    """Random bits, as unsigned integers."""
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 256, (*case.shape, case.dtype.bytes), np.uint8)
    return bits.view(case.numpy)[..., 0]


# ---- cases ---------------------------------------------------------------------------------------


def case(
    dtype: DType,
    shape: tuple[int, ...],
    im2col: Im2col,
    layout: Layout = Layout.ROW,
    **options: Any,
) -> Images:
    """Copies from the first, the last and a middle place of the box, with offsets and without."""
    ends = [n - 1 + u for n, u in zip(shape[1:-1], im2col.upper, strict=True)][::-1]
    first = im2col.lower[::-1]
    middle = tuple((a + b) // 2 for a, b in zip(first, ends, strict=True))
    unit = 16 // dtype.bytes
    axes = len(shape) - 2
    coords = [(0, *first, 0), (0, *ends, 0), (unit, *middle, 1), (0, *middle, shape[0] - 1)]
    moves = [(0,) * axes, (1,) * axes, tuple(range(axes)), (2,) * axes]
    return Images(dtype, shape, im2col, tuple(coords), tuple(moves), layout, **options)


CASES = {
    "a line of pixels": case(f32, (3, 9, 12), Im2col((-1,), (-1,), 8, 20)),
    "3 by 3, padded": case(bf16, (3, 5, 7, 72), Im2col((-1, -1), (-1, -1), 64, 48),
                           Layout.TMA_128B),
    "3 by 3, not padded": case(f16, (2, 6, 5, 40), Im2col((0, 0), (-2, -2), 32, 32),
                               Layout.TMA_64B),
    "every second place": case(f32, (4, 7, 8, 16), Im2col((-1, -1), (-1, -1), 8, 40),
                               Layout.TMA_32B, strides=(1, 2, 2, 1)),
    "a volume": case(e4m3, (2, 3, 4, 5, 48), Im2col((-1, 0, -2), (0, -1, 1), 32, 70)),
    "strides of a volume": case(f32, (2, 5, 4, 6, 8), Im2col((0, -1, 0), (-1, 0, 0), 4, 50),
                                strides=(1, 3, 2, 2, 1)),
}  # fmt: skip

STORES = {
    "pixels of a line": case(f32, (3, 9, 12), Im2col((0,), (0,), 8, 20)),
    "pixels of images": case(bf16, (3, 5, 7, 72), Im2col((1, 0), (0, -1), 64, 24), Layout.TMA_128B),
    "pixels of a volume": case(f16, (2, 3, 4, 5, 32), Im2col((0, 1, 0), (-1, 0, 0), 16, 30),
                               Layout.TMA_32B),
}  # fmt: skip
