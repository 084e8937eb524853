"""The fuzz targets in Python: readers of text and of files that pyptx did not write itself.

Each takes any bytes and says whether the reader took them. What is no error of the reader's own,
and what breaks its promise, is raised.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pyptx._assemble import cache, ptxas
from pyptx._launch import reading
from pyptx._text import ParseError, normal_form, parse, write
from pyptx.errors import SpecError

_EXTENTS: Final = (0, 1, 64, 2**40)
_HELD: Final = tempfile.TemporaryDirectory(prefix="pyptx-fuzz-")


def ptx(data: bytes) -> bool:
    """A PTX file: refused at a place in it, or a module whose text is read back."""
    text = data.decode("utf-8", "replace")
    try:
        module = parse(text, "fuzz.ptx")
    except ParseError as error:
        assert error.location is not None
        assert error.location.file == "fuzz.ptx"
        assert 1 <= error.location.line <= text.count("\n") + 1
        return False
    assert parse(write(module, lines=bool(module.debug.files)).ptx) == normal_form(module)
    return True


def plan(data: bytes) -> bool:
    """A plan, with its tensor maps: refused by ValueError, or written as it was read."""
    text = data.decode("utf-8", "replace")
    try:
        read = reading.read(text)
    except ValueError:
        return False
    assert str(read) == text
    for extent in _EXTENTS:
        shapes = [
            [tuple(extent if size is None else size for size in shape) for shape in buffers]
            for buffers in (read.inputs, read.outputs)
        ]
        try:
            launches = read.evaluate(*shapes)
        except SpecError:
            continue
        assert len(launches) == len(read.steps)
    return True


def entry(data: bytes) -> bool:
    """An entry of the cache, as a file and as the contents of one whose digest is right."""
    os.environ["PYPTX_CACHE_DIR"] = _HELD.name
    path = Path(_HELD.name) / "entry.cubin"
    path.write_bytes(data)
    path.chmod(0o600)
    payload = cache.load("entry")
    assert payload is None or hashlib.sha256(payload).digest() + payload == data
    assert path.exists() == (payload is not None)
    taken = False
    for contents in (data, payload):
        cubin = ptxas._decode(contents) if contents else None  # pyright: ignore[reportPrivateUsage]
        if cubin is None:
            continue
        taken = True
        again = ptxas._encode(cubin)  # pyright: ignore[reportPrivateUsage]
        assert ptxas._decode(again) == cubin  # pyright: ignore[reportPrivateUsage]
    return taken


TARGETS: Final[Mapping[str, Callable[[bytes], bool]]] = MappingProxyType(
    {"ptx": ptx, "plan": plan, "cache": entry}
)

ROOT: Final = Path(__file__).parents[2]


def corpus(target: str) -> list[Path]:
    """The committed inputs of a target; those of the parser are the small files of its tests."""
    found = sorted((ROOT / "tests/fuzz/corpus" / target).glob("*"))
    if target == "ptx":
        files = sorted((ROOT / "tests/text/corpus").rglob("*.ptx"))
        found += [file for file in files if file.stat().st_size < 8192]
    return found
