"""Registering the native handlers with XLA, once a process, before or after JAX is imported."""

from __future__ import annotations

# JAX's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
import ctypes
import importlib
import importlib.machinery
import importlib.util
import re
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pyptx._native import loader
from pyptx.errors import DeviceError

CUDA_TARGET: Final = "pyptx_cuda"
CPU_TARGET: Final = "pyptx_cpu"
OLDEST_JAX: Final = (0, 10)

_STAGES: Final = {
    (CUDA_TARGET, "CUDA"): ("instantiate", "prepare", "execute"),
    (CPU_TARGET, "cpu"): ("instantiate", "execute"),
}

_lock = threading.Lock()
_registered: Final[list[ctypes.CDLL]] = []
_actions: Final[list[Callable[[], object]]] = []


def register() -> None:
    """Register the handlers with the imported JAX. Raises DeviceError where that cannot work."""
    if _registered:
        return
    import jax

    with _lock:
        if _registered:
            return
        _check_jax(jax.__version_info__)
        library = loader.ffi_library()
        _check_version(library, Path(jax.ffi.include_dir()))
        for (target, platform), stages in _STAGES.items():
            handlers = {
                stage: jax.ffi.pycapsule(getattr(library, f"{target}_{stage}")) for stage in stages
            }
            jax.ffi.register_ffi_target(target, handlers, platform=platform)
        importlib.import_module("pyptx._runtime.jax.partition").register()  # it imports JAX
        _registered.append(library)


def when_imported(action: Callable[[], object]) -> None:
    """Call `action` now where JAX is imported, otherwise as soon as it is."""
    if "jax" in sys.modules:
        action()
    else:
        _actions.append(action)


def register_with_jax() -> None:
    """Register now where JAX is imported, otherwise as soon as it is.

    So an exported program runs in any process that imports pyptx, in either order, while importing
    pyptx alone costs no import of JAX.
    """
    if "jax" in sys.modules:
        _register_or_warn()
    elif not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())


def _register_or_warn() -> None:
    # Importing pyptx or jax must work without the native library; a kernel's call raises the error.
    try:
        register()
    except DeviceError as error:
        warnings.warn(f"compiled programs with pyptx kernels will not run: {error}", stacklevel=2)


def _check_jax(version: tuple[int, ...]) -> None:
    if version < OLDEST_JAX:
        raise DeviceError(
            f"jax {'.'.join(map(str, version))} is too old for pyptx",
            notes=(("help", f"pip install 'jax>={'.'.join(map(str, OLDEST_JAX))}'"),),
        )


def _check_version(library: ctypes.CDLL, include: Path) -> None:
    """Refuse handlers built for a newer XLA: registering them would take the backend down."""
    header = (include / "xla/ffi/api/c_api.h").read_text()
    match = re.search(r"#define XLA_FFI_API_MINOR (\d+)", header)
    runtime = int(match[1]) if match else -1
    built: int = library.pyptx_ffi_api_minor()
    if built > runtime:
        raise DeviceError(
            f"the native library was built for XLA FFI 0.{built} and this jaxlib has 0.{runtime}",
            notes=(("help", "build pyptx with jaxlib 0.10, or install a newer jaxlib"),),
        )


class _AfterImport:
    """Finds `jax` as the other finders do, and registers when its import is complete."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "jax":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("jax")
        if spec is not None and spec.loader is not None:
            _call_after(spec.loader)
        return spec


def _call_after(found: Any) -> None:
    execute = found.exec_module

    def exec_module(module: ModuleType) -> None:
        del found.exec_module
        execute(module)
        _register_or_warn()
        while _actions:
            _actions.pop()()

    found.exec_module = exec_module
