"""`ptx.cp`: asynchronous copies between global and shared memory.

`ptx.cp.async_` is Ampere's, 4 to 16 bytes a thread in groups; `ptx.cp.async_.bulk` is Hopper's, any
multiple of 16 bytes by one thread, whose arrival an mbarrier counts; `tensor_1d` to `tensor_5d` of
it copy boxes of tensors. Source: PTX ISA, "Asynchronous Copy".
"""

from __future__ import annotations

from typing import Final

from pyptx._isa.given import Number
from pyptx._trace.core.context import current
from pyptx._trace.core.values import Not, Reg, guard, raw
from pyptx._trace.memory.arrangement import filled_in_order
from pyptx._trace.memory.smem import SharedTile
from pyptx._trace.tensors.tensor_copy import TensorCopy

__all__ = ["async_"]

_COMPLETE: Final = "mbarrier::complete_tx::bytes"
_STORE: Final = "cp.async.bulk.global.shared::cta.bulk_group"


class _Bulk:
    """`ptx.cp.async_.bulk`: copies that one thread issues (sm_90). Sizes are multiples of 16."""

    tensor_1d: Final = TensorCopy(1)
    tensor_2d: Final = TensorCopy(2)
    tensor_3d: Final = TensorCopy(3)
    tensor_4d: Final = TensorCopy(4)
    tensor_5d: Final = TensorCopy(5)

    def load(
        self,
        dst: object,
        src: object,
        size: int | Reg,
        mbar: object,
        *,
        multicast_mask: int | Reg | None = None,
        pred: Reg | Not | None = None,
    ) -> None:
        """Copy `size` bytes from global to shared memory; `mbar` counts them as they arrive.

        With a `multicast_mask`, to the same place in every CTA of the cluster whose bit is set, and
        to its mbarrier. One `cp.async.bulk`.
        """
        trace = current("ptx.cp.async_.bulk.load")
        masks = () if multicast_mask is None else (raw(trace, multicast_mask),)
        multicast = ".multicast::cluster" if masks else ""
        trace.write(
            f"cp.async.bulk.shared::cluster.global.{_COMPLETE}{multicast}",
            *(raw(trace, operand) for operand in (dst, src, size, mbar)),
            *masks,
            guard=guard(trace, pred),
        )
        if isinstance(dst, SharedTile):
            filled_in_order(trace, dst, size)

    def to_cluster(
        self,
        dst: object,
        src: object,
        size: int | Reg,
        mbar: object,
        *,
        pred: Reg | Not | None = None,
    ) -> None:
        """Copy `size` bytes of this CTA's shared memory to another CTA's of the cluster.

        `dst` and `mbar` are addresses there, from `ptx.cluster.map_shared_rank`. One
        `cp.async.bulk`.
        """
        trace = current("ptx.cp.async_.bulk.to_cluster")
        trace.write(
            f"cp.async.bulk.shared::cluster.shared::cta.{_COMPLETE}",
            *(raw(trace, operand) for operand in (dst, src, size, mbar)),
            guard=guard(trace, pred),
        )

    def store(
        self, dst: object, src: object, size: int | Reg, *, pred: Reg | Not | None = None
    ) -> None:
        """Copy `size` bytes from shared to global memory, in the bulk group. One `cp.async.bulk`.

        `ptx.fence.proxy_async("shared::cta")` and a barrier stand before it, where threads stored.
        """
        trace = current("ptx.cp.async_.bulk.store")
        operands = [raw(trace, operand) for operand in (dst, src, size)]
        trace.write(_STORE, *operands, guard=guard(trace, pred))

    def prefetch(self, src: object, size: int | Reg, *, pred: Reg | Not | None = None) -> None:
        """Bring `size` bytes of global memory into the L2 cache. One `cp.async.bulk.prefetch`."""
        trace = current("ptx.cp.async_.bulk.prefetch")
        operands = [raw(trace, operand) for operand in (src, size)]
        trace.write("cp.async.bulk.prefetch.L2.global", *operands, guard=guard(trace, pred))

    def commit_group(self) -> None:
        """Put the stores since the last group into a group. One `cp.async.bulk.commit_group`."""
        current("ptx.cp.async_.bulk.commit_group").write("cp.async.bulk.commit_group")

    def wait_group(self, n: int = 0, *, read: bool = False) -> None:
        """Wait until at most `n` of this thread's latest groups are under way.

        With `read`, until they have been read, so that shared memory may change. One
        `cp.async.bulk.wait_group`.
        """
        modifier = ".read" if read else ""
        trace = current("ptx.cp.async_.bulk.wait_group")
        trace.write(f"cp.async.bulk.wait_group{modifier}", Number(n))


class _Async:
    """`ptx.cp.async_`: copies of each thread, in groups (sm_80)."""

    bulk: Final = _Bulk()

    def ca(
        self,
        dst: object,
        src: object,
        size: int,
        *,
        src_size: int | Reg | None = None,
        pred: Reg | Not | None = None,
    ) -> None:
        """Copy 4, 8 or 16 bytes from global to shared memory, through L1 and L2.

        Both addresses are multiples of `size`. With `src_size`, only so many bytes are read, and
        the rest of the destination becomes zeros. One `cp.async.ca`.
        """
        self._copy("ca", dst, src, size, src_size=src_size, pred=pred)

    def cg(
        self,
        dst: object,
        src: object,
        size: int = 16,
        *,
        src_size: int | Reg | None = None,
        pred: Reg | Not | None = None,
    ) -> None:
        """Copy 16 bytes as `ca` does, past L1. One `cp.async.cg`."""
        self._copy("cg", dst, src, size, src_size=src_size, pred=pred)

    def _copy(
        self,
        cache: str,
        dst: object,
        src: object,
        size: int,
        *,
        src_size: int | Reg | None,
        pred: Reg | Not | None,
    ) -> None:
        trace = current(f"ptx.cp.async_.{cache}")
        sizes = () if src_size is None else (raw(trace, src_size),)
        trace.write(
            f"cp.async.{cache}.shared.global",
            *(raw(trace, operand) for operand in (dst, src, size)),
            *sizes,
            guard=guard(trace, pred),
        )

    def commit_group(self) -> None:
        """Put the copies since the last group into a group. One `cp.async.commit_group`."""
        current("ptx.cp.async_.commit_group").write("cp.async.commit_group")

    def wait_group(self, n: int) -> None:
        """Wait until at most `n` of this thread's latest groups are under way.

        Other threads' copies are there behind a barrier. One `cp.async.wait_group`.
        """
        current("ptx.cp.async_.wait_group").write("cp.async.wait_group", Number(n))

    def wait_all(self) -> None:
        """Wait for all copies of this thread. One `cp.async.wait_all`."""
        current("ptx.cp.async_.wait_all").write("cp.async.wait_all")

    def mbarrier_arrive(self, mbar: object, *, noinc: bool = True) -> None:
        """Arrive at an mbarrier once this thread's copies so far are there.

        With `noinc` the arrival counts towards those that the mbarrier waits for. One
        `cp.async.mbarrier.arrive`.
        """
        trace = current("ptx.cp.async_.mbarrier_arrive")
        modifier = ".noinc" if noinc else ""
        trace.write(f"cp.async.mbarrier.arrive{modifier}.shared.b64", raw(trace, mbar))


async_: Final = _Async()
