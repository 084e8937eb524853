"""`ptx.cp.async_.bulk.tensor_1d` to `tensor_5d`: copies of boxes of a tensor through a tensor map.

Source: PTX ISA, "Data Movement and Conversion Instructions: Tensor Copy".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx._isa.given import Raw, TensorPosition
from pyptx._source import caller
from pyptx._trace.core.addresses import tensor_position
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.values import Not, Reg, guard, raw
from pyptx._trace.memory.arrangement import filled_by_map
from pyptx._trace.memory.smem import SharedTile
from pyptx._trace.tensors.tensor_map import TensorMapReg, check_tile
from pyptx.errors import LanguageError

_COMPLETE: Final = "mbarrier::complete_tx::bytes"

Coordinates = Sequence[int | Reg]


class TensorCopy:
    """Copies of boxes of a tensor of one rank (sm_90). `X.tma_desc()` is the tensor's map.

    `coord` is where the box begins, in elements, with the last axis of the tensor first. The first
    is a multiple of 16 bytes. The box may lie outside of the tensor: a load fills what is beyond, a
    store leaves it out. Coordinates of loads may be negative, those of stores and reductions not.
    LanguageError where numbers break this; coordinates in registers that do are a finding of the
    emulator, and an illegal instruction on a GPU. (Seen on an H200. The second rule is in the CUDA
    C++ Programming Guide, "Tensor Memory Access", under "Negative indices and out of bounds".)

    In shared memory a box takes `X.tma_desc().bytes`, at a multiple of 128 bytes, or of
    `X.tma_desc().align` where it is swizzled.

    With a map of `Im2col`, of rank 3 to 5, `coord` are the first channel, the base of the filter
    along W, H and D, and the image; `offsets` are what a load or a prefetch adds to the base, from
    W on: ints or 16-bit registers. The base lies in the bounding box.
    """

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._name = f"ptx.cp.async_.bulk.tensor_{rank}d"

    def __call__(
        self,
        *,
        dst: object,
        src: Reg,
        coord: Coordinates,
        mbar: object,
        offsets: Coordinates | None = None,
        multicast_mask: int | Reg | None = None,
        cta_group: int = 1,
        cache_policy: Reg | None = None,
        pred: Reg | Not | None = None,
    ) -> None:
        """Copy a box to shared memory; `mbar` counts its bytes as they arrive.

        With `offsets`, the pixels of an `.im2col`.

        With a `multicast_mask`, to the same place in every CTA of the cluster whose bit is set, and
        to its mbarrier. `cta_group=2` lets the mbarrier be that of the other CTA of a pair
        (sm_100). `cache_policy` is a b64 register of `createpolicy`, which says how long the L2
        cache keeps the lines. One `cp.async.bulk.tensor`.
        """
        trace = current(self._name)
        _check_tile(src, dst)
        masks = () if multicast_mask is None else (raw(trace, multicast_mask),)
        multicast = ".multicast::cluster" if masks else ""
        group = f".cta_group::{cta_group}" if cta_group != 1 else ""
        policies = () if cache_policy is None else (raw(trace, cache_policy),)
        hint = ".L2::cache_hint" if policies else ""
        trace.write(
            f"{self._spelling()}.shared::cluster.global.{_mode(offsets)}.{_COMPLETE}"
            f"{multicast}{group}{hint}",
            raw(trace, dst),
            self._position(trace, src, coord),
            raw(trace, mbar),
            *self._offsets(trace, offsets),
            *masks,
            *policies,
            guard=guard(trace, pred),
        )
        if isinstance(src, TensorMapReg) and isinstance(dst, SharedTile):
            filled_by_map(trace, dst, src.map)

    def store(
        self, *, dst: Reg, src: object, coord: Coordinates, pred: Reg | Not | None = None
    ) -> None:
        """Copy a box from shared memory to the tensor, in the bulk group. One instruction.

        `ptx.fence.proxy_async("shared::cta")` and a barrier stand before it, where threads stored.
        """
        self._out("", dst, src, coord, pred)

    def reduce(
        self, op: str, *, dst: Reg, src: object, coord: Coordinates, pred: Reg | Not | None = None
    ) -> None:
        """Combine the tensor with a box of shared memory, in the bulk group.

        `op` is `add`, `min`, `max`, `inc`, `dec`, `and`, `or` or `xor`, of each element atomically.
        One `cp.reduce.async.bulk.tensor`.
        """
        self._out(op, dst, src, coord, pred)

    def prefetch(
        self,
        *,
        src: Reg,
        coord: Coordinates,
        offsets: Coordinates | None = None,
        pred: Reg | Not | None = None,
    ) -> None:
        """Bring a box into the L2 cache. One `cp.async.bulk.prefetch.tensor`."""
        trace = current(f"{self._name}.prefetch")
        trace.write(
            f"cp.async.bulk.prefetch.tensor.{self._rank}d.L2.global.{_mode(offsets)}",
            self._position(trace, src, coord),
            *self._offsets(trace, offsets),
            guard=guard(trace, pred),
        )

    def _out(
        self, op: str, dst: Reg, src: object, coord: Coordinates, pred: Reg | Not | None
    ) -> None:
        trace = current(f"{self._name}.{'reduce' if op else 'store'}")
        _check_tile(dst, src)
        reduction = f".{op}" if op else ""
        images = isinstance(dst, TensorMapReg) and dst.map.im2col is not None
        mode = "im2col_no_offs" if images else "tile"
        trace.write(
            f"{self._spelling(op)}.global.shared::cta{reduction}.{mode}.bulk_group",
            self._position(trace, dst, coord),
            raw(trace, src),
            guard=guard(trace, pred),
        )

    def _spelling(self, op: str = "") -> str:
        return f"cp{'.reduce' if op else ''}.async.bulk.tensor.{self._rank}d"

    def _offsets(self, trace: Trace, offsets: Coordinates | None) -> tuple[Raw, ...]:
        if offsets is None:
            return ()
        count = self._rank - 2
        if not isinstance(offsets, (tuple, list)) or len(offsets) != count or count < 1:
            raise LanguageError(
                f"{self._name} takes {max(count, 0)} offsets, not {offsets!r}",
                location=caller(),
                notes=(("help", "offsets=[...] are those of W, H and D, of rank 3 to 5"),),
            )
        return (raw(trace, list(offsets)),)

    def _position(self, trace: Trace, tensor_map: object, coord: Coordinates) -> TensorPosition:
        if not isinstance(coord, (tuple, list)) or len(coord) != self._rank:
            raise LanguageError(
                f"{self._name} takes {self._rank} coordinates, not {coord!r}",
                location=caller(),
                notes=(("help", "coord=[...] begins with the last axis of the tensor"),),
            )
        return tensor_position(trace, tensor_map, coord)


def _mode(offsets: object) -> str:
    return "tile" if offsets is None else "im2col"


def _check_tile(tensor_map: object, tile: object) -> None:
    if isinstance(tensor_map, TensorMapReg) and isinstance(tile, SharedTile):
        check_tile(tensor_map.map, tile)
