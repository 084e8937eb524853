"""Tensor maps: what CUDA's cuTensorMapEncodeTiled is told of a tensor, and its rules.

A map is described here without the tensor's address and sizes, which are known at a launch. Axes
are in the order of arrays, the one whose elements lie next to each other last; the driver and the
coordinates of instructions count them from that one on.
Source: CUDA Driver API, "Tensor Map Object Management"; PTX ISA, "Tensors".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pyptx.layouts.swizzle import CHUNK_BYTES, Swizzle
from pyptx.types import DType

MAP_BYTES: Final = 128
MAP_ALIGN: Final = 128
"""Of a map in the parameters, as CUDA 13 declares it; instructions need 64."""
MAX_RANK: Final = 5
BOX_LIMIT: Final = 256
ELEMENT_STRIDE_LIMIT: Final = 8
DIM_LIMIT: Final = 2**32
STRIDE_LIMIT: Final = 2**40


class Interleave(Enum):
    """Whether elements stand in slices of 16 or 32 bytes; values are the driver's."""

    NONE = 0
    B16 = 1
    B32 = 2


class Layout(Enum):
    """How the elements of a box lie in shared memory.

    ROW is row-major. The TMA_ layouts are row-major and swizzled in spans of that many bytes, which
    the last axis of a box may not exceed. The INTERLEAVE_ ones are for tensors of rank 3 to 5 whose
    elements stand in slices of 16 or 32 bytes (PTX ISA, "Interleave layout").
    """

    ROW = (Interleave.NONE, Swizzle.NONE)
    TMA_32B = (Interleave.NONE, Swizzle.B32)
    TMA_64B = (Interleave.NONE, Swizzle.B64)
    TMA_128B = (Interleave.NONE, Swizzle.B128)
    INTERLEAVE_16B = (Interleave.B16, Swizzle.NONE)
    INTERLEAVE_32B = (Interleave.B32, Swizzle.B32)

    def __repr__(self) -> str:
        return f"Layout.{self.name}"

    @property
    def interleave(self) -> Interleave:
        return self.value[0]

    @property
    def swizzle(self) -> Swizzle:
        return self.value[1]


class L2Promotion(Enum):
    """What a copy fetches into L2 at least, in bytes; values are the driver's."""

    NONE = 0
    B64 = 1
    B128 = 2
    B256 = 3

    def __repr__(self) -> str:
        return f"L2Promotion.{self.name}"


class OobFill(Enum):
    """What a copy to shared memory puts where a box reaches beyond the tensor.

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


class MapError(ValueError):
    """A rule of tensor maps that is broken; `problem` is a sentence, `help` what to do about it."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.help = advice


@dataclass(frozen=True, slots=True)
class TensorMap:
    """What a map says besides where the tensor is and how large it is.

    box              elements that a copy spans along each axis
    element_strides  every how many elements along each axis it takes one
    """

    dtype: DType
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    layout: Layout = Layout.ROW
    l2_promotion: L2Promotion = L2Promotion.NONE
    oob_fill: OobFill = OobFill.ZEROS

    @property
    def rank(self) -> int:
        return len(self.box)

    @property
    def shape(self) -> tuple[int, ...]:
        """The elements of a copy along each axis, which is its shape in shared memory."""
        pairs = zip(self.box, self.element_strides, strict=True)
        return tuple(-(-size // stride) for size, stride in pairs)

    @property
    def bytes(self) -> int:
        """What a copy fills in shared memory, and what it completes on an mbarrier."""
        return math.prod(self.shape) * self.dtype.bytes

    @property
    def align(self) -> int:
        """Bytes that a copy's place in shared memory is a multiple of: the swizzle's atom."""
        return self.layout.swizzle.atom_bytes

    def check(self) -> None:
        """Raise MapError for a description that no tensor can have."""
        for error in (*_box_errors(self), *_layout_errors(self)):
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
        unit = 32 if self.layout.interleave is Interleave.B32 else CHUNK_BYTES
        for axis, stride in enumerate(strides):
            if stride is not None and (stride % unit or not 0 <= stride < STRIDE_LIMIT):
                raise MapError(
                    f"the stride of axis {axis} is {stride} bytes; it must be a multiple of {unit} "
                    "below 2**40",
                    "pad the rows of the array",
                )
        if address % unit:
            raise MapError(f"the address {address:#x} of the tensor is no multiple of {unit}")


def _box_errors(tensor_map: TensorMap) -> Iterator[MapError]:
    rank, strides = tensor_map.rank, tensor_map.element_strides
    if tensor_map.dtype.name not in DATA_TYPES:
        known = " ".join(DATA_TYPES)
        yield MapError(
            f"tensor maps have no elements of type {tensor_map.dtype}", f"types: {known}"
        )
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
    for axis, stride in enumerate(strides):
        if not 1 <= stride <= ELEMENT_STRIDE_LIMIT:
            yield MapError(
                f"the element stride along axis {axis} is {stride}; "
                f"the range is 1 to {ELEMENT_STRIDE_LIMIT}"
            )


def _layout_errors(tensor_map: TensorMap) -> Iterator[MapError]:
    layout, box, dtype = tensor_map.layout, tensor_map.box, tensor_map.dtype
    row = tensor_map.shape[-1] * dtype.bytes
    if layout.interleave is not Interleave.NONE:
        if tensor_map.rank < 3:
            yield MapError(f"{layout!r} needs rank 3 to 5, and the tensor has rank {len(box)}")
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
