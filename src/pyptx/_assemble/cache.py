"""Assembled kernels on disk, keyed by content, safe under concurrent processes.

An entry is written to a temporary file and renamed into place, so a reader sees a whole entry or
none; it begins with the digest of the rest, so a damaged one is recognised, removed and made again.
The folder is $PYPTX_CACHE_DIR, or `pyptx` in the user's cache folder (~/.cache on Linux). When it
outgrows `LIMIT` bytes the entries that were not used for longest go first.

A digest does not say who wrote an entry, so the folder and each entry must be the user's own, and
writable by nobody else. Others are not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LIMIT: Final = 512 * 2**20
"""Bytes that the folder may hold."""

_SUFFIX: Final = ".cubin"
_DIGEST: Final = hashlib.sha256().digest_size
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
# A FIFO is opened at once, and then seen to be one. Windows has none, and no owners either.
_OPEN: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def directory() -> Path | None:
    """The folder that holds the entries; it need not exist. None without a home directory."""
    named = os.environ.get("PYPTX_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base or Path.home() / ".cache") / "pyptx"
    except RuntimeError:
        return None


def problem(folder: Path) -> str:
    """Why a folder that exists is not used, "" for one that is."""
    return _problem(folder.stat())


def key(*parts: str) -> str:
    """The name of the entry for these parts; each counts with its length, so no two runs mix."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def load(name: str) -> bytes | None:
    """The payload stored under `name`; None where there is none or it was damaged."""
    folder = directory()
    if folder is None or not _usable(folder):
        return None
    path = folder / (name + _SUFFIX)
    try:
        data = _read(path)
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
    folder = directory()
    if folder is None:
        return
    path = folder / (name + _SUFFIX)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _usable(folder):
            return
        _write(path, hashlib.sha256(payload).digest() + payload)
    except OSError:
        return
    _trim(path)


def _problem(found: os.stat_result) -> str:
    user = os.geteuid() if hasattr(os, "geteuid") else found.st_uid
    if found.st_uid != user:
        return f"it belongs to user {found.st_uid}, and this is user {user}"
    if found.st_mode & _OTHERS and hasattr(os, "geteuid"):
        return f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})"
    return ""


def _usable(folder: Path) -> bool:
    """Whether the folder exists and is the user's own; warns of one that is not."""
    try:
        why = problem(folder)
    except OSError:
        return False
    if why:
        warnings.warn(
            f"assembled kernels are not kept in {folder}: {why}; "
            "set PYPTX_CACHE_DIR to a folder of your own",
            RuntimeWarning,
            stacklevel=1,  # one warning, whoever asks
        )
    return not why


def _read(path: Path) -> bytes:
    """The bytes of an entry. Raises OSError for what is no file of the user's own."""
    handle = os.open(path, _OPEN)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or _problem(found):
            raise OSError(f"{path} is no file of this user's own")
        return file.read()


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
