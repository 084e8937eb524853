"""Where kernels run, by the type of the arrays: JAX and PyTorch (CUDA and CPU), and NumPy."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from pyptx._calls import binding
from pyptx._launch.call import Call
from pyptx._runtime import dynamo
from pyptx._runtime.jax.collectives import collectives
from pyptx._runtime.jax.registration import register_with_jax
from pyptx._runtime.recording import Recorder, current
from pyptx._runtime.sanitizing import sanitize
from pyptx._runtime.shortcut import Shortcut
from pyptx._runtime.targets import target
from pyptx._source import SourceLocation
from pyptx._spec import Scalar, Spec
from pyptx.errors import CallError

if TYPE_CHECKING:
    import numpy as np

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

_MODULES: Final = {
    "jax": "pyptx._runtime.jax.runtime",
    "numpy": "pyptx._runtime.numpy",
    "torch": "pyptx._runtime.torch.runtime",
}
_KINDS: Final = {
    "jax": ("a JAX array", "jax.numpy.asarray({})"),
    "torch": ("a torch.Tensor", "torch.as_tensor({})"),
    "numpy": ("a NumPy array", "numpy.asarray({})"),
}
"""What an array of each kind is called, and what makes another one of it."""


class Runtime(Protocol):
    """What a kernel needs of a place to run; the modules in _MODULES have one each.

    A `Recorder` is another place: in the body of a sequence, operations are recorded.
    """

    scalars_by_value: bool
    """Whether the kernel is specialised to take scalars by value, or by address."""
    conversion: str
    """What makes an array of another type, with places for its name and the type."""

    def scalar(self, value: object, dtype: str, name: str) -> Any:
        """A number or an array of rank 0 as an operand of NumPy's type `dtype`.

        Raises CallError for a number that the type does not hold; `name` is the parameter's.
        """
        ...

    def describe(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Operands with `shape`, and `dtype` by NumPy's name."""
        ...

    def launch(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run the call on checked operands, one result per output."""
        ...

    def launch_with_scalars(
        self, call: Call, operands: Sequence[Any], arrays: Sequence[Any], shortcut: Shortcut
    ) -> tuple[Any, ...]:
        """`launch` of an operation with scalars, called on `arrays`."""
        ...

    def remembered(
        self, call: Call, operands: Sequence[Any], shortcut: Shortcut
    ) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        """What launches the call on other arrays of the same classes, shapes and types.

        `shortcut` is the operation's; a runtime that has one puts it there.
        """
        ...


def select(
    specs: Sequence[Spec],
    arrays: Sequence[object],
    names: Sequence[str],
    location: SourceLocation | None = None,
) -> Runtime | Recorder:
    """The runtime of these arguments: NumPy, JAX or PyTorch, whichever the tensors belong to.

    In the body of a sequence it is the recorder of the sequence, whatever they are. Scalars may be
    numbers with each. Without any tensor it is JAX where JAX has been imported. Raises CallError
    for a mixture and for other types. Imports JAX and PyTorch only when they already are.
    """
    if (recorder := current()) is not None:
        return recorder
    jax = sys.modules.get("jax")
    found = _kinds(specs, arrays, names, location)
    if len(found) > 1:
        raise _mixed(found, location)
    if "torch" in found:
        return _module("torch").place(specs, arrays)
    use_jax = "jax" in found or (not found and jax is not None)
    return _module("jax" if use_jax else "numpy")


def _mixed(found: Mapping[str, str], location: SourceLocation | None) -> CallError:
    """The error for arrays of two kinds, the first of each by kind."""
    (kind, name), (other, second) = sorted(
        found.items(), key=lambda item: list(_KINDS).index(item[0])
    )[:2]
    return CallError(
        f"{name} is {_KINDS[kind][0]} and {second} {_KINDS[other][0]}",
        location=location,
        notes=(("help", f"pass both as one kind: {_KINDS[kind][1].format(second)}"),),
    )


def emulator(
    specs: Sequence[Spec],
    arrays: Sequence[object],
    names: Sequence[str],
    location: SourceLocation | None = None,
) -> Any:
    """The runtime that emulates these arguments: NumPy's, or PyTorch's for tensors on the CPU.

    Raises CallError for others.
    """
    found = _kinds(specs, arrays, names, location)
    if len(found) > 1 and "jax" not in found:
        raise _mixed(found, location)
    if "torch" in found:
        torch = _module("torch")
        torch.check_on_cpu(arrays, names, location)
        return torch.place(specs, arrays)
    if "jax" in found:
        raise CallError(
            f"{found['jax']} is a JAX array; emulating takes NumPy arrays",
            location=location,
            notes=(("help", f"numpy.asarray({found['jax']})"),),
        )
    return _module("numpy")


def numpy_arrays(
    specs: Sequence[Spec],
    arrays: Sequence[object],
    names: Sequence[str],
    location: SourceLocation | None = None,
) -> Sequence[object]:
    """The arguments with arrays of NumPy in place of tensors. Raises CallError as `emulator`."""
    if "torch" not in _kinds(specs, arrays, names, location):
        return arrays
    emulator(specs, arrays, names, location)
    return _module("torch").numpy_arrays(arrays)


def _kinds(
    specs: Sequence[Spec],
    arrays: Sequence[object],
    names: Sequence[str],
    location: SourceLocation | None,
) -> dict[str, str]:
    """Whose arrays there are, "jax", "torch" or "numpy", and the first of each."""
    jax_array = getattr(sys.modules.get("jax"), "Array", ())
    torch = dynamo.imported()
    torch_tensor = getattr(torch, "Tensor", ())
    # Numbers that a program of PyTorch is compiled without.
    traced = (torch.SymInt, torch.SymFloat, torch.SymBool) if torch is not None else ()
    # There are arrays and numbers of NumPy only where it has been imported.
    numpy = sys.modules.get("numpy")
    numbers = (bool, int, float, getattr(numpy, "generic", ()), *traced)
    found: dict[str, str] = {}
    for spec, array, name in zip(specs, arrays, names, strict=True):
        if isinstance(array, jax_array):
            found.setdefault("jax", name)
        elif isinstance(array, torch_tensor):
            found.setdefault("torch", name)
        elif isinstance(array, getattr(numpy, "ndarray", ())):
            _check_array(cast("Any", array), name, location)
            found.setdefault("numpy", name)
        elif not (isinstance(spec, Scalar) and isinstance(array, numbers)):
            raise _wrong_type(name, array, location)
    return found


def _check_array(array: np.ndarray[Any, Any], name: str, location: SourceLocation | None) -> None:
    """Raises CallError for an array whose memory is not just its numbers."""
    import numpy as np

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
    """A runtime by name; imported when it is needed, because some of them import a framework."""
    return importlib.import_module(_MODULES[name])


def _wrong_type(name: str, array: object, location: SourceLocation | None) -> CallError:
    kind = f"{type(array).__module__}.{type(array).__qualname__}"
    return CallError(
        f"{name} is a {kind.removeprefix('builtins.')}; "
        "kernels take arrays of JAX and NumPy, and tensors of PyTorch",
        location=location,
        notes=(
            (
                "help",
                f"numpy.asarray({name}), jax.numpy.asarray({name}) or torch.as_tensor({name})",
            ),
        ),
    )


@binding(CallError, "pyptx.export_safety_checks")
def export_safety_checks() -> list[Any]:
    """The `disabled_checks` that let jax.export export a program with kernels. Needs JAX.

    jax.export.export(jax.jit(f), disabled_checks=pyptx.export_safety_checks())(x)
    """
    return importlib.import_module("pyptx._runtime.jax.runtime").safety_checks()
