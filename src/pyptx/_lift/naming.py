"""Names of PTX as names of Python: as they were, as far as Python can have them."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from typing import Final

from pyptx.types import DTYPES

_USED: Final = ("kernel", "ptx", "reg", "smem", "Tensor", *DTYPES)
_LONGEST: Final = 56  # names that say all of a type, as Numba's do, are nothing to read
_TAKEN: Final = frozenset((*_USED, *dir(builtins), *keyword.softkwlist))


class Names:
    """The names of one scope, each given once; `outer` are those of the module around it."""

    def __init__(self, outer: Iterable[str] = ()) -> None:
        self._taken = set(outer)

    def new(self, written: str, fallback: str = "x") -> str:
        """A name that is like the one of PTX, and that nothing else has."""
        name = re.sub(r"\W", "_", written.lstrip("%$"), flags=re.ASCII)
        if len(name) > _LONGEST:
            last = re.search(r"param_\d+$", name)
            name = last[0] if last else fallback
        if not name or name[0].isdigit():
            name = f"{fallback}{name}"
        if name in _TAKEN or keyword.iskeyword(name):
            name += "_"
        unique, number = name, 2
        while unique in self._taken:
            unique, number = f"{name}_{number}", number + 1
        self._taken.add(unique)
        return unique

    @property
    def taken(self) -> frozenset[str]:
        """All names so far."""
        return frozenset(self._taken)


def parts(written: str) -> tuple[str, int] | None:
    """The range and the number of a register such as `%f12`; None for a name of its own."""
    found = re.fullmatch(r"(.*?[^\d])(0|[1-9]\d{0,5})", written)
    return (found[1], int(found[2])) if found else None
