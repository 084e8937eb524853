"""Tensor maps as the emulator reads them: 128 bytes of its own (docs/architecture.md).

The driver's format is not documented, so the emulator has one of its own with the same contents.
`native/src/tensor_map.h` has it for the handlers and the core.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from pyptx._layouts import TensorMap
from pyptx._layouts.tensor_map import DATA_TYPES, MAP_BYTES, MAX_RANK

MAGIC: Final = b"PTXTMAP\x01"


def encode_map(
    tensor_map: TensorMap, address: int, sizes: Sequence[int], strides: Sequence[int]
) -> bytes:
    """The map of a tensor: its address, its sizes, and its strides in bytes but the last axis'.

    Raises MapError for a rule that the tensor breaks.
    """
    tensor_map.check_tensor(sizes, strides, address)
    layout = tensor_map.layout
    head = struct.pack(
        "<8s8BQ",
        MAGIC,
        DATA_TYPES[tensor_map.dtype.name],
        tensor_map.rank,
        layout.interleave.value,
        layout.swizzle.value,
        tensor_map.l2_promotion.value,
        tensor_map.oob_fill.value,
        int(tensor_map.im2col is not None),
        layout.atomicity.value,
        address,
    )
    fields = (
        struct.pack("<5Q", *_from_last(sizes, MAX_RANK)),
        struct.pack("<4Q", *_from_last(strides, MAX_RANK - 1)),
        struct.pack("<5H", *_from_last(tensor_map.box, MAX_RANK)),
        struct.pack("<5Bx", *_from_last(tensor_map.element_strides, MAX_RANK)),
        *(struct.pack("<3h", *_from_last(corner, MAX_RANK - 2)) for corner in tensor_map.corners),
    )
    return b"".join((head, *fields)).ljust(MAP_BYTES, b"\0")


def _from_last(values: Sequence[int], count: int) -> list[int]:
    """From the last axis on, with zeros for the axes that there are not."""
    return [*reversed(values), *([0] * (count - len(values)))]
