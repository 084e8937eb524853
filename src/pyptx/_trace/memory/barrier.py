"""`ptx.named_barrier`: one of the sixteen barriers of the CTA, for some of its warps."""

from __future__ import annotations

from dataclasses import dataclass

from pyptx._source import caller
from pyptx._trace.core.context import current
from pyptx._trace.core.values import Not, Reg, guard, integer, raw
from pyptx.errors import LanguageError

_BARRIERS = 16
_WARP = 32


@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """A barrier of the CTA, and how many threads meet at it (all where that is None)."""

    barrier: int | Reg
    count: int | Reg | None = None

    def sync(self, *, pred: Reg | Not | None = None) -> None:
        """Wait until as many threads have arrived. One `bar.sync`."""
        self._write("bar.sync", pred)

    def arrive(self, *, pred: Reg | Not | None = None) -> None:
        """Arrive without waiting. One `bar.arrive`; needs `count`."""
        if self.count is None:
            raise LanguageError(
                "an arrival says how many threads meet",
                location=caller(),
                notes=(("help", "ptx.named_barrier(1, count=128).arrive()"),),
            )
        self._write("bar.arrive", pred)

    def _write(self, spelling: str, pred: Reg | Not | None) -> None:
        trace = current("ptx.named_barrier")
        counts = () if self.count is None else (raw(trace, self.count),)
        trace.write(spelling, raw(trace, self.barrier), *counts, guard=guard(trace, pred))


def named_barrier(barrier: int | Reg, *, count: int | Reg | None = None) -> NamedBarrier:
    """Barrier 0 to 15 of the CTA (`ptx.bar.sync()` is barrier 0), for `count` threads.

    `count` is a multiple of 32. No instruction.
    """
    number, threads = integer(barrier), integer(count)
    if number is not None and not 0 <= number < _BARRIERS:
        raise LanguageError(
            f"a CTA has no barrier {number}", location=caller(), notes=(("legal", "0 to 15"),)
        )
    if threads is not None and (threads < _WARP or threads % _WARP):
        raise LanguageError(
            f"{threads} threads are not whole warps",
            location=caller(),
            notes=(("legal", f"a multiple of {_WARP}"),),
        )
    return NamedBarrier(barrier, count)
