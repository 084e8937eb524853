"""Finds and loads the native libraries, once a process.

They are looked for where the package is installed and in `build/native` of a source checkout. The
variable PYPTX_NATIVE_DIR names one directory instead, for builds of another kind.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Final

from pyptx.errors import DeviceError

_ENVIRONMENT: Final = "PYPTX_NATIVE_DIR"
_ABI: Final = 6
_SUFFIXES: Final = {"darwin": ".dylib", "win32": ".dll"}
HELP: Final = (
    ("help", "pip install . in a checkout builds them; they need CMake and GCC or Clang"),
    (
        "help",
        (
            "by hand: cmake -S src/pyptx/_native -B build/native -G Ninja "
            "&& cmake --build build/native"
        ),
    ),
)
# What x86-64-v3 has beyond the first x86-64, as Linux names it ("abm" is lzcnt).
_V3_FEATURES: Final = frozenset(("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"))
# And x86-64-v4; with VBMI2, as the first processors with AVX-512 slow down when they use it.
_V4_FEATURES: Final = _V3_FEATURES | {f"avx512{x}" for x in ("bw", "cd", "dq", "f", "vl", "_vbmi2")}
_LEVELS: Final = {"v4": _V4_FEATURES, "v3": _V3_FEATURES, "base": frozenset[str]()}
"""The builds of the core for x86-64, the fastest first, and what they need."""


class Buffer(ctypes.Structure):
    """PyptxBuffer of pyptx_emulator.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_uint32),
        ("itemsize", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )


class Watch(ctypes.Structure):
    """PyptxWatch of pyptx_emulator.h."""

    _fields_ = (("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64))


class Visit(ctypes.Structure):
    """PyptxVisit of pyptx_emulator.h."""

    _fields_ = (
        ("cta", ctypes.c_uint64),
        ("watch", ctypes.c_uint32),
        ("instruction", ctypes.c_uint32),
        ("warp", ctypes.c_uint32),
        ("lanes", ctypes.c_uint32),
        ("store", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )


class Signals(ctypes.Structure):
    """PyptxSignals of pyptx_emulator.h."""

    _fields_ = (
        ("enter", ctypes.c_void_p),
        ("leave", ctypes.c_void_p),
        ("check", ctypes.c_void_p),
        ("fetch", ctypes.c_void_p),
        ("raised", ctypes.c_void_p * 3),
    )


class Launch(ctypes.Structure):
    """PyptxLaunch of pyptx_emulator.h."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("cluster", ctypes.c_uint32 * 3),
        ("dynamic_shared", ctypes.c_uint32),
        ("sanitize", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("schedule", ctypes.c_uint32),
        ("seed", ctypes.c_uint64),
        ("max_instructions", ctypes.c_uint64),
        ("max_launch_instructions", ctypes.c_uint64),
        ("max_seconds", ctypes.c_double),
        ("statistics", ctypes.c_uint32),
        ("approximate", ctypes.c_uint32),
        ("params", ctypes.c_void_p),
        ("param_bytes", ctypes.c_uint64),
        ("buffers", ctypes.POINTER(Buffer)),
        ("buffer_count", ctypes.c_uint64),
        ("watches", ctypes.POINTER(Watch)),
        ("watch_count", ctypes.c_uint64),
        ("cancel", ctypes.POINTER(ctypes.c_int32)),
        ("cancel_from", ctypes.c_int32),
        ("schedules", ctypes.c_uint32),
        ("cooperative", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("signals", ctypes.POINTER(Signals)),
    )


class SourceLine(ctypes.Structure):
    """PyptxSourceLine of pyptx_emulator.h."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("text", ctypes.c_char_p),
        ("line", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )


class Statistics(ctypes.Structure):
    """PyptxInstructionStatistics of pyptx_emulator.h."""

    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in (
            "executions",
            "lanes",
            "requests",
            "sectors",
            "ideal_sectors",
            "wavefronts",
            "ideal_wavefronts",
        )
    )


_POINTER = ctypes.c_void_p
_SIZE = ctypes.c_size_t


class EmulatorApi(ctypes.Structure):
    """PyptxEmulatorApi of pyptx_emulator.h: the core's functions."""

    _fields_ = (
        ("abi", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        (
            "program_create",
            ctypes.CFUNCTYPE(_POINTER, ctypes.c_char_p, _SIZE, ctypes.POINTER(ctypes.c_char_p)),
        ),
        ("program_destroy", ctypes.CFUNCTYPE(None, _POINTER)),
        ("program_instructions", ctypes.CFUNCTYPE(ctypes.c_uint64, _POINTER)),
        ("program_param_bytes", ctypes.CFUNCTYPE(ctypes.c_uint64, _POINTER)),
        ("program_shared_bytes", ctypes.CFUNCTYPE(ctypes.c_uint64, _POINTER)),
        ("program_alignment", ctypes.CFUNCTYPE(ctypes.c_uint64, _POINTER)),
        (
            "register_source",
            ctypes.CFUNCTYPE(
                None,
                ctypes.c_char_p,
                _SIZE,
                ctypes.POINTER(SourceLine),
                _SIZE,
                ctypes.POINTER(ctypes.c_char_p),
                _SIZE,
                ctypes.POINTER(SourceLine),
                ctypes.POINTER(ctypes.c_char_p),
                _SIZE,
            ),
        ),
        ("launch", ctypes.CFUNCTYPE(_POINTER, _POINTER, ctypes.POINTER(Launch))),
        ("result_status", ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER)),
        ("result_message", ctypes.CFUNCTYPE(ctypes.c_char_p, _POINTER)),
        ("result_json", ctypes.CFUNCTYPE(ctypes.c_char_p, _POINTER)),
        (
            "result_statistics",
            ctypes.CFUNCTYPE(ctypes.POINTER(Statistics), _POINTER, ctypes.POINTER(ctypes.c_uint64)),
        ),
        ("result_instructions", ctypes.CFUNCTYPE(ctypes.c_uint64, _POINTER)),
        (
            "result_printed",
            ctypes.CFUNCTYPE(_POINTER, _POINTER, ctypes.POINTER(ctypes.c_uint64)),
        ),
        (
            "result_visits",
            ctypes.CFUNCTYPE(ctypes.POINTER(Visit), _POINTER, ctypes.POINTER(ctypes.c_uint64)),
        ),
        ("result_destroy", ctypes.CFUNCTYPE(None, _POINTER)),
        ("set_schedules", ctypes.CFUNCTYPE(None, ctypes.c_uint32)),
    )


@cache
def emulator() -> EmulatorApi:
    """The emulator core's functions. Raises DeviceError where the library is missing or foreign."""
    library = load(f"pyptx_emulator_{_variant()}")
    library.pyptx_emulator_api.restype = ctypes.POINTER(EmulatorApi)
    api: EmulatorApi = library.pyptx_emulator_api().contents
    if api.abi != _ABI or api.size != ctypes.sizeof(EmulatorApi):
        raise DeviceError(
            f"the emulator's library has interface {api.abi}, this package needs {_ABI}",
            notes=HELP,
        )
    return api


@cache
def ffi_library() -> ctypes.CDLL:
    """The XLA FFI handlers, with the emulator core handed to them. Raises DeviceError."""
    if sys.platform == "win32":
        raise DeviceError(
            "kernels do not run from JAX on Windows",
            notes=(("help", "call the kernel with NumPy arrays: the emulator runs it"),),
        )
    library = load("pyptx_ffi")
    if not library.pyptx_cpu_set_emulator(ctypes.byref(emulator())):
        raise DeviceError(
            "the XLA handlers and the emulator's library are of different builds",
            notes=HELP,
        )
    return library


def directories() -> tuple[Path, ...]:
    """Where the libraries are looked for, in order."""
    named = os.environ.get(_ENVIRONMENT)
    if named:
        return (Path(named),)
    package = Path(__file__).parent
    installed = (Path(entry) / "pyptx/_native/lib" for entry in sys.path if entry)
    return tuple(dict.fromkeys((package / "lib", *installed, package.parents[2] / "build/native")))


def load(name: str) -> ctypes.CDLL:
    """A library of this package by name. Raises DeviceError where it is missing or broken."""
    path = _find(name)
    if path is None:
        looked = tuple(("looked in", str(directory)) for directory in directories())
        raise DeviceError(f"the native library {name} is missing", notes=(*looked, *HELP))
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise DeviceError(
            f"the native library cannot be loaded: {error}",
            notes=(("library", str(path)), *HELP),
        ) from None


def _find(name: str) -> Path | None:
    suffix = _SUFFIXES.get(sys.platform, ".so")
    paths = (directory / f"lib{name}{suffix}" for directory in directories())
    return next((path for path in paths if path.is_file()), None)


def variants() -> list[str]:
    """The builds of the core that there are and that this machine runs, the fastest first."""
    found = ["base"]
    if platform.machine().lower() in {"x86_64", "amd64"}:
        has = _processor_features()
        found = [name for name, needs in _LEVELS.items() if has >= needs]
    return [name for name in found if _find(f"pyptx_emulator_{name}") is not None]


@cache
def _variant() -> str:
    """The build of the core for this machine; where there is none, the one that is missing."""
    return next(iter(variants()), "base")


def _processor_features() -> frozenset[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return frozenset(flags.partition(":")[2].split())
