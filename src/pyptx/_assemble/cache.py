"""Assembled kernels on disk, keyed by content, safe under concurrent processes.

An entry is written to a temporary file and renamed into place, so a reader sees a whole entry or
none; it begins with the digest of the rest, so a damaged one is recognised, removed and made again.
The folder is $PYPTX_CACHE_DIR, or `pyptx` in the user's cache folder (~/.cache on Linux). When it
outgrows `LIMIT` bytes the entries that were not used for longest go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LIMIT: Final = 512 * 2**20
"""Bytes that the folder may hold."""

_SUFFIX: Final = ".cubin"
_DIGEST: Final = hashlib.sha256().digest_size


def directory() -> Path:
    """The folder that holds the entries; it need not exist."""
    named = os.environ.get("PYPTX_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or Path.home() / ".cache") / "pyptx"


def key(*parts: str) -> str:
    """The name of the entry for these parts; each counts with its length, so no two runs mix."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def load(name: str) -> bytes | None:
    """The payload stored under `name`; None where there is none or it was damaged."""
    path = _path(name)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    payload = data[_DIGEST:]
    if hashlib.sha256(payload).digest() != data[:_DIGEST]:
        _remove(path)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return payload


def store(name: str, payload: bytes) -> None:
    """Keep `payload` under `name`. A folder that cannot be written keeps nothing."""
    path = _path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, hashlib.sha256(payload).digest() + payload)
    except OSError:
        return
    _trim(path)


def _path(name: str) -> Path:
    return directory() / (name + _SUFFIX)


def _write(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        _remove(Path(temporary))
        raise


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _entries(folder: Path) -> Iterator[tuple[float, int, Path]]:
    with os.scandir(folder) as found:
        for item in found:
            if item.name.endswith((_SUFFIX, ".tmp")):
                # Another process may remove it between the listing and here.
                with contextlib.suppress(OSError):
                    stat = item.stat()
                    yield stat.st_mtime, stat.st_size, Path(item.path)


def _trim(newest: Path) -> None:
    entries = sorted(_entries(newest.parent), key=lambda entry: entry[0])
    excess = sum(size for _, size, _ in entries) - LIMIT
    for _, size, path in entries:
        if excess <= 0:
            return
        if path != newest:
            _remove(path)
            excess -= size
