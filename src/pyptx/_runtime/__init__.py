"""Where kernels run: JAX (CUDA and CPU) and NumPy, chosen by the type of the arrays."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

import numpy as np

from pyptx._calls import binding
from pyptx._launch.call import Call
from pyptx._runtime.jax.collectives import collectives
from pyptx._runtime.jax.registration import register_with_jax
from pyptx._runtime.recording import Recorder, current
from pyptx._runtime.sanitizing import sanitize
from pyptx._runtime.targets import target
from pyptx._source import SourceLocation
from pyptx._spec import Scalar, Spec
from pyptx.errors import CallError

__all__ = [
    "Runtime",
    "collectives",
    "emulator",
    "export_safety_checks",
    "register_with_jax",
    "sanitize",
    "select",
    "target",
]

_MODULES: Final = {"jax": "pyptx._runtime.jax.runtime", "numpy": "pyptx._runtime.numpy"}


class Runtime(Protocol):
    """What a kernel needs of a place to run; the modules in _MODULES are two.

    A `Recorder` is the third place: in the body of a sequence, operations are recorded.
    """

    scalars_by_value: bool
    """Whether the kernel is specialised to take scalars by value, or by address."""

    def scalar(self, value: object, dtype: str, name: str) -> Any:
        """A number or an array of rank 0 as an operand of NumPy's type `dtype`.

        Raises CallError for a number that the type does not hold; `name` is the parameter's.
        """
        ...

    def launch(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run the call on checked operands, one result per output."""
        ...


def select(
    specs: Sequence[Spec],
    arrays: Sequence[object],
    names: Sequence[str],
    location: SourceLocation | None = None,
) -> Runtime | Recorder:
    """The runtime of these arguments: NumPy or JAX, whichever the tensors belong to.

    In the body of a sequence it is the recorder of the sequence, whatever they are. Scalars may be
    numbers with either. Without any tensor it is JAX where JAX has been imported. Raises CallError
    for a mixture and for other types. Imports JAX only when it already is.
    """
    if (recorder := current()) is not None:
        return recorder
    jax = sys.modules.get("jax")
    found = _kinds(specs, arrays, names, location)
    if len(found) > 1:
        raise CallError(
            f"{found['jax']} is a JAX array and {found['numpy']} a NumPy array",
            location=location,
            notes=(("help", f"pass both as one kind: jax.numpy.asarray({found['numpy']})"),),
        )
    use_jax = "jax" in found or (not found and jax is not None)
    return _module("jax" if use_jax else "numpy")


def emulator(
    specs: Sequence[Spec],
    arrays: Sequence[object],
    names: Sequence[str],
    location: SourceLocation | None = None,
) -> Any:
    """The NumPy runtime, for arguments that are NumPy's. Raises CallError for others."""
    found = _kinds(specs, arrays, names, location)
    if "jax" in found:
        raise CallError(
            f"{found['jax']} is a JAX array; emulating takes NumPy arrays",
            location=location,
            notes=(("help", f"numpy.asarray({found['jax']})"),),
        )
    return _module("numpy")


def _kinds(
    specs: Sequence[Spec],
    arrays: Sequence[object],
    names: Sequence[str],
    location: SourceLocation | None,
) -> dict[str, str]:
    """Whose arrays there are, "jax" or "numpy", and the first of each."""
    jax_array = getattr(sys.modules.get("jax"), "Array", ())
    found: dict[str, str] = {}
    for spec, array, name in zip(specs, arrays, names, strict=True):
        if isinstance(array, jax_array):
            found.setdefault("jax", name)
        elif isinstance(array, np.ndarray):
            _check_array(cast("Any", array), name, location)
            found.setdefault("numpy", name)
        elif not (isinstance(spec, Scalar) and isinstance(array, (bool, int, float, np.generic))):
            raise _wrong_type(name, array, location)
    return found


def _check_array(array: np.ndarray[Any, Any], name: str, location: SourceLocation | None) -> None:
    """Raises CallError for an array whose memory is not just its numbers."""
    dtype = array.dtype
    if isinstance(array, np.ma.MaskedArray):
        problem, cure = "a masked array, and a kernel cannot see the mask", ".filled(value)"
    elif dtype.names is not None:
        fields = " ".join(dtype.names)
        problem, cure = f"a structured array of the fields {fields}", f'["{dtype.names[0]}"].copy()'
    elif dtype.hasobject:
        problem, cure = "an array of Python objects", '.astype("float32")'
    elif not dtype.isnative:
        order = "big" if dtype.newbyteorder("big") == dtype else "little"
        problem = f"an array of {order}-endian numbers, and a kernel reads those of this machine"
        cure = f'.astype("{dtype.newbyteorder("native").name}")'
    else:
        return
    raise CallError(
        f"{name} is {problem}", location=location, notes=(("help", f"pass {name}{cure}"),)
    )


def _module(name: str) -> Any:
    """A runtime by name; imported when it is needed, because one of them imports JAX."""
    return importlib.import_module(_MODULES[name])


def _wrong_type(name: str, array: object, location: SourceLocation | None) -> CallError:
    kind = f"{type(array).__module__}.{type(array).__qualname__}"
    return CallError(
        f"{name} is a {kind.removeprefix('builtins.')}; kernels take JAX and NumPy arrays",
        location=location,
        notes=(("help", f"numpy.asarray({name}) or jax.numpy.asarray({name})"),),
    )


@binding(CallError, "pyptx.export_safety_checks")
def export_safety_checks() -> list[Any]:
    """The `disabled_checks` that let jax.export export a program with kernels. Needs JAX.

    jax.export.export(jax.jit(f), disabled_checks=pyptx.export_safety_checks())(x)
    """
    return importlib.import_module("pyptx._runtime.jax.runtime").safety_checks()
