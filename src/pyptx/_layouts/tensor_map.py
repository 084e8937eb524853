"""Tensor maps: what CUDA's cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col are told of a tensor.

With their rules. A map is described here without the tensor's address and sizes, which are known at
a launch. Axes are in the order of arrays, the one whose elements lie next to each other last; the
driver and the coordinates of instructions count them from that one on.
Source: CUDA Driver API, "Tensor Map Object Management"; PTX ISA, "Tensors".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Final

from pyptx._calls import constructing
from pyptx._layouts.swizzle import CHUNK_BYTES, Swizzle
from pyptx.errors import SpecError
from pyptx.types import DType

MAP_BYTES: Final = 128
MAP_ALIGN: Final = 128
"""Of a map in the parameters, as CUDA 13 declares it; instructions need 64."""
MAX_RANK: Final = 5
BOX_LIMIT: Final = 256
ELEMENT_STRIDE_LIMIT: Final = 8
PIXEL_LIMIT: Final = 1024
CORNER_BITS: Final = {1: 16, 2: 8, 3: 5}
"""Bits of a corner of im2col's bounding box, by the number of its axes."""
DIM_LIMIT: Final = 2**32
STRIDE_LIMIT: Final = 2**40


class Interleave(Enum):
    """Whether elements are in slices of 16 or 32 bytes; values are the driver's."""

    NONE = 0
    B16 = 1
    B32 = 2


class Atomicity(Enum):
    """What a swizzle moves as a whole, by the numbers of `tensormap.replace.swizzle_atomicity`.

    With B32_FLIP_8B the halves of 16 bytes change places in every second line of 128 bytes as well.
    """

    B16 = 0
    B32 = 1
    B32_FLIP_8B = 2
    B64 = 3


class Layout(Enum):
    """The layout of a box in shared memory.

    ROW is row-major. The TMA_ layouts are row-major with a swizzle of that many bytes, which is the
    size of the last axis of a box. The swizzle permutes chunks of 16 bytes, or of the size after
    ATOM_ (sm_100). The FLIP layout is for loads only. The INTERLEAVE_ layouts are for tensors of
    rank 3 to 5 with elements in slices of 16 or 32 bytes (PTX ISA, "Interleave layout").
    """

    ROW = (Interleave.NONE, Swizzle.NONE, Atomicity.B16)
    TMA_32B = (Interleave.NONE, Swizzle.B32, Atomicity.B16)
    TMA_64B = (Interleave.NONE, Swizzle.B64, Atomicity.B16)
    TMA_128B = (Interleave.NONE, Swizzle.B128, Atomicity.B16)
    TMA_128B_ATOM_32B = (Interleave.NONE, Swizzle.B128, Atomicity.B32)
    TMA_128B_ATOM_32B_FLIP_8B = (Interleave.NONE, Swizzle.B128, Atomicity.B32_FLIP_8B)
    TMA_128B_ATOM_64B = (Interleave.NONE, Swizzle.B128, Atomicity.B64)
    INTERLEAVE_16B = (Interleave.B16, Swizzle.NONE, Atomicity.B16)
    INTERLEAVE_32B = (Interleave.B32, Swizzle.B32, Atomicity.B16)

    def __repr__(self) -> str:
        return f"Layout.{self.name}"

    @property
    def interleave(self) -> Interleave:
        """Whether elements are in slices of 16 or 32 bytes."""
        return self.value[0]

    @property
    def swizzle(self) -> Swizzle:
        """The swizzle of the box."""
        return self.value[1]

    @property
    def atomicity(self) -> Atomicity:
        """What the swizzle moves as a whole."""
        return self.value[2]

    @property
    def driver_swizzle(self) -> int:
        """CUtensorMapSwizzle, which counts the atomicities of 128-byte spans on from theirs."""
        return self.swizzle.value + self.atomicity.value


class L2Promotion(Enum):
    """The smallest unit that a copy fetches into L2, in bytes; values are the driver's."""

    NONE = 0
    B64 = 1
    B128 = 2
    B256 = 3

    def __repr__(self) -> str:
        return f"L2Promotion.{self.name}"


class OobFill(Enum):
    """The fill value of a copy to shared memory outside the tensor.

    NAN is the driver's NAN_REQUEST_ZERO_FMA, for elements that are floats.
    """

    ZEROS = 0
    NAN = 1

    def __repr__(self) -> str:
        return f"OobFill.{self.name}"


# CUtensorMapDataType by the name of a type. Eight bits are moved as they are, whatever they mean.
DATA_TYPES: Final = {
    "u8": 0, "s8": 0, "e4m3": 0, "e5m2": 0, "u16": 1, "s16": 1, "u32": 2, "s32": 3, "u64": 4,
    "s64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9,
}  # fmt: skip

# `tensormap.replace.elemtype` by the name of a type: other numbers than the driver's.
ELEMENT_TYPES: Final = {
    "u8": 0, "s8": 0, "e4m3": 0, "e5m2": 0, "u16": 1, "s16": 1, "u32": 2, "s32": 3, "u64": 4,
    "s64": 5, "f16": 6, "f32": 7, "f64": 9, "bf16": 10,
}  # fmt: skip


class MapError(ValueError):
    """A rule of tensor maps that is broken; `problem` is a sentence, `help` what to do about it."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.help = advice


@constructing(SpecError)
@dataclass(frozen=True, slots=True)
class Im2col:
    """The part of a batch of images that an `.im2col` copy takes (PTX ISA, "im2col mode").

    The tensor has the axes N, W, C or N, H, W, C or N, D, H, W, C. A filter's base goes through a
    bounding box, W fastest and then on to the next image, with the element strides of the map; a
    copy takes `pixels` consecutive positions and `channels` channels of each.

    lower, upper  the corners of the bounding box, in the order of the axes between N and C: `lower`
                  counts from the first element of the axis and `upper` from the last, so a padding
                  of 1 for a filter of 3 is -1 and -1
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


@dataclass(frozen=True, slots=True)
class TensorMap:
    """What a map says besides where the tensor is and how large it is.

    box              elements that a copy spans along each axis; of im2col its pixels and channels
    element_strides  every how many elements along each axis it takes one
    split            the elements of a group, where the tensor's last axis is two axes of the map
    """

    dtype: DType
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    layout: Layout = Layout.ROW
    l2_promotion: L2Promotion = L2Promotion.NONE
    oob_fill: OobFill = OobFill.ZEROS
    im2col: Im2col | None = None
    split: int | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions of the tensor."""
        return len(self.element_strides) if self.im2col is not None else len(self.box)

    @property
    def shape(self) -> tuple[int, ...]:
        """The elements of a copy along each axis, which is its shape in shared memory.

        Of im2col pixels and channels, whatever the strides.
        """
        if self.im2col is not None:
            return self.box
        pairs = zip(self.box, self.element_strides, strict=True)
        return tuple(-(-size // stride) for size, stride in pairs)

    @property
    def corners(self) -> tuple[tuple[int, ...], ...]:
        """The two corners of im2col, none of boxes."""
        return () if self.im2col is None else (self.im2col.lower, self.im2col.upper)

    @property
    def bytes(self) -> int:
        """What a copy fills in shared memory, and what it completes on an mbarrier."""
        return math.prod(self.shape) * self.dtype.bytes

    @property
    def align(self) -> int:
        """Bytes that a copy's place in shared memory is a multiple of: the swizzle's atom."""
        return self.layout.swizzle.atom_bytes

    @property
    def stride_unit(self) -> int:
        """Bytes that the tensor's address and strides are multiples of."""
        return 32 if self.layout.interleave is Interleave.B32 else CHUNK_BYTES

    def check(self) -> None:
        """Raise MapError for a description that no tensor can have."""
        box = _box_errors(self) if self.im2col is None else _im2col_errors(self, self.im2col)
        for error in chain(_split_errors(self), _element_errors(self), box, _layout_errors(self)):
            raise error

    def check_tensor(
        self, sizes: Sequence[int | None], strides: Sequence[int | None], address: int = 0
    ) -> None:
        """Raise MapError for a tensor that cannot have this map; None is a size not known yet.

        `strides` are bytes from one index of an axis to the next, for all axes but the last.
        """
        for axis, size in enumerate(sizes):
            if size is not None and not 1 <= size <= DIM_LIMIT:
                raise MapError(f"axis {axis} has size {size}; the range is 1 to 2**32")
        unit = self.stride_unit
        for axis, stride in enumerate(strides):
            if stride is not None and (stride % unit or not 0 <= stride < STRIDE_LIMIT):
                raise MapError(
                    f"the stride of axis {axis} is {stride} bytes; it must be a multiple of {unit} "
                    "below 2**40",
                    "pad the rows of the array",
                )
        if self.im2col is not None:
            self._check_bounding_box(self.im2col, sizes[1:-1])
        if address % unit:
            raise MapError(f"the address {address:#x} of the tensor is no multiple of {unit}")

    def _check_bounding_box(self, im2col: Im2col, sizes: Sequence[int | None]) -> None:
        """Raise MapError where no place of the filter is inside of the box."""
        for axis, size in enumerate(sizes):
            if size is None:
                continue
            first, last = im2col.lower[axis], size - 1 + im2col.upper[axis]
            if first > last:
                raise MapError(
                    f"the bounding box is empty along axis {axis + 1}: it goes from {first} to "
                    f"{last}"
                )


def _element_errors(tensor_map: TensorMap) -> Iterator[MapError]:
    if tensor_map.dtype.name not in DATA_TYPES:
        known = " ".join(DATA_TYPES)
        yield MapError(
            f"tensor maps have no elements of type {tensor_map.dtype}", f"types: {known}"
        )
    for axis, stride in enumerate(tensor_map.element_strides):
        if not 1 <= stride <= ELEMENT_STRIDE_LIMIT:
            yield MapError(
                f"the element stride along axis {axis} is {stride}; "
                f"the range is 1 to {ELEMENT_STRIDE_LIMIT}"
            )


def _split_errors(tensor_map: TensorMap) -> Iterator[MapError]:
    split, dtype = tensor_map.split, tensor_map.dtype
    if split is None:
        return
    if tensor_map.im2col is not None:
        yield MapError("split= is for boxes, not for im2col", "leave out one of them")
    if split < 1 or split * dtype.bytes % CHUNK_BYTES:
        yield MapError(
            f"split={split} makes groups of {split * dtype.bytes} bytes; they must be a positive "
            f"multiple of {CHUNK_BYTES}",
            f"a multiple of {CHUNK_BYTES // dtype.bytes} elements of {dtype}",
        )


def _im2col_errors(tensor_map: TensorMap, im2col: Im2col) -> Iterator[MapError]:
    axes = tensor_map.rank - 2
    if not 1 <= axes <= 3:
        yield MapError(f"the tensor has rank {tensor_map.rank}; im2col is for rank 3 to 5")
        return
    for name, corner in (("lower", im2col.lower), ("upper", im2col.upper)):
        if len(corner) != axes:
            yield MapError(
                f"{name}={corner!r} has {len(corner)} offsets, and there are {axes} axes between "
                "images and channels"
            )
        limit = 1 << (CORNER_BITS[axes] - 1)
        for offset in corner:
            if not -limit <= offset < limit:
                yield MapError(
                    f"{name}={corner!r} has an offset of {offset}; the range for rank "
                    f"{tensor_map.rank} is {-limit} to {limit - 1}"
                )
    for name, value, most in (
        ("channels", im2col.channels, BOX_LIMIT),
        ("pixels", im2col.pixels, PIXEL_LIMIT),
    ):
        if not 1 <= value <= most:
            yield MapError(f"{name}={value}; the range is 1 to {most}")


def _box_errors(tensor_map: TensorMap) -> Iterator[MapError]:
    rank, strides = tensor_map.rank, tensor_map.element_strides
    if not 1 <= rank <= MAX_RANK:
        yield MapError(f"the tensor has rank {rank}; tensor maps have rank 1 to {MAX_RANK}")
    if len(strides) != rank:
        yield MapError(f"there are {len(strides)} element strides for {rank} axes")
    for axis, size in enumerate(tensor_map.box):
        if not 1 <= size <= BOX_LIMIT:
            yield MapError(
                f"the box has {size} elements along axis {axis}; the range is 1 to {BOX_LIMIT}",
                "copy a larger piece of the tensor as several boxes",
            )


def _layout_errors(tensor_map: TensorMap) -> Iterator[MapError]:
    layout, box, dtype = tensor_map.layout, tensor_map.box, tensor_map.dtype
    row = tensor_map.shape[-1] * dtype.bytes
    if layout.interleave is not Interleave.NONE:
        if tensor_map.rank < 3:
            yield MapError(
                f"{layout!r} needs rank 3 to 5, and the tensor has rank {tensor_map.rank}"
            )
    elif tensor_map.element_strides[-1] != 1:
        yield MapError(
            "the element stride along the last axis is ignored, so it must be 1, not "
            f"{tensor_map.element_strides[-1]}"
        )
    if layout.interleave is Interleave.NONE and row % CHUNK_BYTES:
        yield MapError(
            f"the box has {box[-1]} elements of {dtype} along the last axis, {row} bytes; "
            f"they must be a multiple of {CHUNK_BYTES}",
            f"{-(-row // CHUNK_BYTES) * CHUNK_BYTES // dtype.bytes} elements, and what is beyond "
            "the tensor is filled",
        )
    span = layout.swizzle.span
    # The manuals allow less as well, and do not say where rows stand then: on an H200 not one
    # behind the other.
    if layout.swizzle is not Swizzle.NONE and layout.interleave is Interleave.NONE and row != span:
        yield MapError(
            f"the box has {row} bytes along the last axis; with {layout!r} it has {span}",
            f"{span // dtype.bytes} elements of {dtype}, and several boxes for more",
        )
    if tensor_map.oob_fill is OobFill.NAN and (not dtype.is_float or dtype.bits == 8):
        yield MapError(
            f"{tensor_map.oob_fill!r} is for f16, bf16, f32 and f64, and the elements are {dtype}"
        )


def row_major_strides(sizes: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Bytes from one index to the next, for all axes of a contiguous array but the last."""
    strides: list[int] = []
    step = itemsize
    for size in reversed(sizes[1:]):
        step *= size
        strides.append(step)
    return tuple(reversed(strides))
