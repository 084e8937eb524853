"""Copies of a row to the shared memory of one CTA: in bulk, or each thread's own vectors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from pyptx import Reg, ptx, smem
from pyptx.ops.rowwise.exchange import address
from pyptx.ops.rowwise.partition import Part, Rows
from pyptx.ops.rowwise.vectors import LINE, Vector, async_load, bulk_load, rounded_up
from pyptx.types import u8


def places_of(rows: Rows, vectors: Sequence[Vector]) -> list[int]:
    """Where each input is in the shared memory of a row, and where the last one ends, in bytes."""
    places = [0]
    for vector in vectors:
        places.append(rounded_up(places[-1]) + rows.part(1) * vector.bytes)
    return [*map(rounded_up, places[:-1]), places[-1]]


class Buffers:
    """Shared memory for a row of each input."""

    def __init__(self, part: Part, vectors: Sequence[Vector]) -> None:
        self.part, self.vectors = part, vectors
        *self.places, size = places_of(part.rows, vectors)
        self.buffer = smem.alloc(u8, size, align=LINE)

    def mine(self) -> list[Reg]:
        """The address of the thread's first vector of each input."""
        base = address(self.buffer)
        return [
            ptx.inst.mad.lo.u32(self.part.lane, vector.bytes, base + place if place else base)
            for place, vector in zip(self.places, self.vectors, strict=True)
        ]


class ThreadCopies(Buffers):
    """The row on its way to shared memory, each thread's vectors by its own copies."""

    def __init__(
        self,
        part: Part,
        vectors: Sequence[Vector],
        sources: Sequence[Reg],
        active: Sequence[Reg | None],
    ) -> None:
        super().__init__(part, vectors)
        self._here = self.mine()
        for here, source, vector in zip(self._here, sources, vectors, strict=True):
            start = source + part.offset * vector.dtype.bytes
            for k, ok in enumerate(active):
                async_load(here, start, part.step(k, vector), vector.bytes, pred=ok)

    def wait(self) -> list[Reg]:
        """The thread's first vector of each input, when its own are there; it reads no other."""
        ptx.inst.cp.async_.wait_all()
        return self._here


class BulkCopies(Buffers):
    """The row on its way to shared memory; one mbarrier counts the bytes of all inputs."""

    def __init__(self, part: Part, vectors: Sequence[Vector], sources: Sequence[Reg]) -> None:
        super().__init__(part, vectors)
        self._arrived = smem.mbarrier()
        with ptx.if_(part.lane == 0):
            self._arrived.init(1)
            ptx.fence.mbarrier_init()
            sizes = [part.bytes_of(vector) for vector in vectors]
            total = sizes[0]
            for size in sizes[1:]:
                total = total + size
            self._arrived.arrive_expect_tx(total)
            for source, vector, place, size in zip(
                sources, vectors, self.places, sizes, strict=True
            ):
                start = source + part.start * vector.dtype.bytes
                with self._some(size):
                    bulk_load(self.buffer.address(place), ptx.addr(start), size, self._arrived)

    def _some(self, size: int | Reg) -> AbstractContextManager[None]:
        """A block that runs where there are bytes to copy: a short row may be nothing but ends."""
        rows = self.part.rows
        if isinstance(size, int) or rows.columns >= 2 * rows.unit - 1:
            return nullcontext()
        return ptx.if_(size > 0)

    def wait(self) -> list[Reg]:
        """The thread's first vector of each input, when the row is there."""
        ptx.bar.sync(0)  # the mbarrier is there
        here = self.mine()
        self._arrived.wait(0)
        return here
