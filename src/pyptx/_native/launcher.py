"""The launcher of runtimes that have streams and addresses of their own: pyptx_launcher.h."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from pyptx._native import loader
from pyptx.errors import CallError, DeviceError, PtxError

_ABI: Final = 2
_INVALID: Final = 1


class _Cubin(ctypes.Structure):
    """PyptxCubin of pyptx_launcher.h."""

    _fields_ = (
        ("target", ctypes.c_char_p),
        ("code", ctypes.c_char_p),
        ("bytes", ctypes.c_uint64),
        ("step", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )


@cache
def library() -> ctypes.CDLL:
    """The launcher. Raises DeviceError where it is missing or of another build."""
    if sys.platform == "win32":
        raise DeviceError(
            "kernels are not launched on GPUs on Windows",
            notes=(("help", "call the kernel with tensors on the CPU: the emulator runs it"),),
        )
    found = loader.load("pyptx_launcher")
    found.pyptx_launcher_abi.restype = ctypes.c_uint32
    if found.pyptx_launcher_abi() != _ABI:
        raise DeviceError(
            f"the launcher has interface {found.pyptx_launcher_abi()}, this package needs {_ABI}",
            notes=loader.HELP,
        )
    found.pyptx_call_create.restype = ctypes.c_void_p
    found.pyptx_call_create.argtypes = (
        ctypes.c_char_p,
        ctypes.POINTER(_Cubin),
        ctypes.c_uint64,
        ctypes.c_int32,
        ctypes.POINTER(ctypes.c_int64),
    )
    found.pyptx_call_destroy.restype = None
    found.pyptx_call_destroy.argtypes = (ctypes.c_void_p,)
    found.pyptx_call_launch.restype = ctypes.c_int32
    found.pyptx_call_launch.argtypes = (
        ctypes.c_void_p,
        ctypes.c_int32,
        ctypes.c_void_p,
        ctypes.c_char_p,
    )
    found.pyptx_launcher_problem.restype = ctypes.c_char_p
    found.pyptx_launcher_problem.argtypes = ()
    found.pyptx_launcher_counters.restype = None
    return found


@cache
def _with_objects() -> ctypes.PyDLL:
    """The functions of the launcher that take objects of Python, and hold the GIL."""
    found = ctypes.PyDLL(library()._name)  # noqa: SLF001  # the path it was loaded from
    found.pyptx_fast_path.restype = ctypes.c_void_p
    found.pyptx_fast_path.argtypes = (ctypes.py_object,)
    found.pyptx_fast_remember.restype = ctypes.c_int32
    found.pyptx_fast_remember.argtypes = (ctypes.py_object, ctypes.py_object, ctypes.py_object)
    return found


def fast_path(settings: tuple[Any, ...]) -> tuple[Callable[..., Any], object] | None:
    """A function that launches what is known to it, and what `remember` tells it by.

    `settings` are what src/launcher/fast.cc says. None where this interpreter has no fast path.
    """
    made = _with_objects().pyptx_fast_path(settings)
    if not made:
        return None
    pair: tuple[Callable[..., Any], object] = ctypes.cast(made, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(pair))  # the reference that the call gave
    return pair


def remember(path: object, arguments: tuple[Any, ...], known: tuple[Any, ...]) -> bool:
    """Make a call known to a fast path; whether it can be."""
    return bool(_with_objects().pyptx_fast_remember(path, arguments, known))


def counters() -> tuple[int, int]:
    """Modules loaded and kernels launched by this process."""
    found = (ctypes.c_int64 * 2)()
    library().pyptx_launcher_counters(found)
    return found[0], found[1]


class NativeCall:
    """A call that any thread may launch on any device.

    `cubins` are the code of each step by target, `assembler` is the major version of the ptxas that
    made them, `itemsizes` are the bytes of an element of each output, scratch last. Raises
    CallError where they do not go together, DeviceError where the launcher is missing.
    """

    __slots__ = ("__weakref__", "handle", "launch")

    def __init__(
        self,
        plan: str,
        cubins: Sequence[Mapping[str, bytes]],
        assembler: int,
        itemsizes: Sequence[int],
    ) -> None:
        functions = library()
        given = [
            _Cubin(target.encode(), code, len(code), step, 0)
            for step, codes in enumerate(cubins)
            for target, code in codes.items()
        ]
        handle = functions.pyptx_call_create(
            plan.encode(),
            (_Cubin * len(given))(*given),
            len(given),
            assembler,
            (ctypes.c_int64 * len(itemsizes))(*itemsizes),
        )
        if not handle:
            raise CallError(functions.pyptx_launcher_problem().decode())
        self.handle: int = handle
        self.launch: Any = functions.pyptx_call_launch
        """launch(handle, device, stream, words): 0 or the number of a `failure`."""
        weakref.finalize(self, functions.pyptx_call_destroy, handle).atexit = False

    @staticmethod
    def failure(status: int) -> PtxError:
        """The error of a launch in this thread that returned `status`."""
        problem = library().pyptx_launcher_problem().decode()
        return CallError(problem) if status == _INVALID else DeviceError(problem)
