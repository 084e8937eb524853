"""A cache with a bound: what was used least recently is forgotten first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import RLock
from typing import Final, Generic, TypeVar

T = TypeVar("T")

CALLS: Final = 1024
"""Calls that an operation remembers, by the sizes and types of their arrays.

A training run has a few; a server sees each length of a sequence. A call is some kilobytes, but for
the kernels that it launches.
"""
SPECIALISATIONS: Final = 256
"""Traced kernels, and calls with the kernels that they launch, that an operation remembers.

A large one is megabytes, and tracing it again takes a second; programs that JAX has compiled do not
need it any more.
"""
IMAGES: Final = 1024
"""Images of the emulator whose Python lines are remembered, here and in the core."""


class Recent(Generic[T]):
    """Values by key, the `most` that were used most recently. Threads may share it."""

    __slots__ = ("_entries", "_lock", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Hashable, T] = OrderedDict()
        # A signal handler, or the equality of a key, may use the same cache.
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> T | None:
        """The value of a key, which is now the one used last; None where it is not kept."""
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def keep(self, key: Hashable, value: T) -> T:
        """Remember a value and return it; the one that was used least recently may go for it."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
            return value

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._entries.clear()
