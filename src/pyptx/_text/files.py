"""PTX files as compilers leave them: their bytes, and what the assembler is given of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyptx._ir import Module
from pyptx._source import SourceLocation
from pyptx._text.writer import Text, write
from pyptx.errors import PtxError

_RANGE: Final = re.compile(r"<\s*(0[xX][0-9a-fA-F]+|\d+)U?\s*>")
_MANY: Final = 1 << 20


def decoded(data: bytes) -> str:
    """PTX text from bytes. Those that are not UTF-8, which comments may have, become U+FFFD.

    The NUL with which compilers' libraries end a text is left out.
    """
    return without_end(data.decode(errors="replace"))


def without_end(text: str) -> str:
    """The text without the NULs at its end."""
    return text.rstrip("\0")


def read_file(path: Path) -> str:
    """The text of a PTX file, as `decoded` has it. Raises PtxError for what cannot be read."""
    try:
        if not path.is_file():
            raise PtxError(
                f"{path} is no regular file" if path.exists() else f"there is no file {path}"
            )
        return decoded(path.read_bytes())
    except OSError as error:
        raise PtxError(f"{path} cannot be read: {error.strerror}") from None


def _count(digits: str) -> int:
    """The number that a range has, or one that is as much too large."""
    if len(digits) > 20:
        return _MANY + 1
    return int(digits, 16 if digits[:2] in ("0x", "0X") else 10)


@dataclass(frozen=True, slots=True)
class _OwnLines(Mapping[int, SourceLocation]):
    """The lines of a file that the assembler is given as it is, made when they are asked for."""

    name: str
    count: int

    def __getitem__(self, line: int) -> SourceLocation:
        if not 1 <= line <= self.count:
            raise KeyError(line)
        return SourceLocation(self.name, line)

    def __iter__(self) -> Iterator[int]:
        return iter(range(1, self.count + 1))

    def __len__(self) -> int:
        return self.count


def for_assembler(text: str, module: Module, name: str) -> Text:
    """A file as the assembler is given it, with its own lines.

    The assembler makes every register that is declared. Where a range has millions, it is given
    the module written again, which declares the registers that something names.
    """
    if sum(_count(match[1]) for match in _RANGE.finditer(text)) > _MANY:
        return write(module)
    return Text(text, _OwnLines(name, text.count("\n") + 1))
