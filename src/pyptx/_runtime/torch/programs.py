"""Calls as texts, which is how the operators of PyTorch carry them.

A program that this process runs has the name of the call and its identity, with which the process
finds it. One that is exported has all of the call instead: its plan and tensors, the emulator's
images, and a cubin for each target that it is exported for; the process that loads it needs pyptx
and nothing of what made the call.
"""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import torch

from pyptx._assemble import Cubin
from pyptx._launch.call import Call
from pyptx._launch.description import Code, TensorSpec
from pyptx._launch.reading import read
from pyptx._recent import CALLS, Recent
from pyptx._runtime import targets
from pyptx._runtime.assembling import assembled, assembler_of
from pyptx._target import Target
from pyptx.errors import CallError, DeviceError, EmulationError

Fields: TypeAlias = dict[str, Any]

_calls: Final[dict[str, Call]] = {}
"""The calls that programs of this process name. Such a program may run whenever it likes."""

_loaded: Final[Recent[Call]] = Recent(CALLS)
_exported: Final[Recent[str]] = Recent(CALLS)


@dataclass(frozen=True, slots=True)
class OnCuda:
    """A call that came with its cubins: for each step the code by target."""

    call: Call
    cubins: tuple[dict[str, bytes], ...]
    assembler: int


_on_cuda: Final[dict[str, OnCuda | None]] = {}


def text(call: Call) -> str:
    """The text of a call."""
    if torch.compiler.is_exporting():
        key = f"{call.identity} {' '.join(map(str, targets.chosen()))}"
        return _exported.get(key) or _exported.keep(key, _content(call))
    name = f"{call.name} {call.identity}"
    _calls.setdefault(name, call)
    return name


_DAMAGE: Final = (
    ValueError, LookupError, TypeError, AttributeError, RecursionError, zlib.error
)  # fmt: skip
"""What reading a text raises that is JSON of another shape, or not JSON."""


def call(program: str) -> Call:
    """The call of a text. Raises CallError where this process cannot have made or loaded it."""
    found = _calls.get(program) or _loaded.get(program)
    if found is not None:
        return found
    name, _, rest = program.partition(" ")
    if not rest.startswith("{"):
        raise CallError(
            f"the program calls kernel {name}, which this process has not made",
            notes=(("help", "torch.export.save writes programs for other processes"),),
        )
    try:
        return _loaded.keep(program, _read(json.loads(rest)))
    except _DAMAGE as error:
        raise CallError(f"the program's call of kernel {name} is damaged: {error}") from None


def on_cuda(call: Call) -> OnCuda | None:
    """What a loaded call is on a GPU, None for a call of this process.

    Raises DeviceError where it was exported without code for any.
    """
    if call.identity not in _on_cuda:
        return None
    found = _on_cuda[call.identity]
    if found is None:
        raise DeviceError(
            f"kernel {call.name} was exported without code for a GPU",
            notes=(("help", 'export it inside `with pyptx.target("sm_90a"):`'),),
        )
    return found


# ---- writing -------------------------------------------------------------------------------------


def _content(call: Call) -> str:
    """All of a call."""
    emulated = call.lowered_for(targets.emulated())
    fields: Fields = {
        "name": call.name,
        "identity": call.identity,
        "arch": call.arch,
        "inputs": list(map(_tensor, call.inputs)),
        "outputs": list(map(_tensor, call.outputs)),
        "aliases": call.aliases,
        "whole": call.whole,
        "cpu": {**_steps(emulated), "images": _images(emulated)},
        "cuda": _for_cuda(call),
    }
    return f"{call.name} {json.dumps(fields, sort_keys=True, separators=(',', ':'))}"


def _steps(call: Call) -> Fields:
    return {"plan": str(call.plan), "scratch": list(map(_tensor, call.scratch))}


def _images(call: Call) -> list[str] | None:
    try:
        return [_packed(code.image()) for code in call.code]
    except EmulationError:
        return None


def _for_cuda(call: Call) -> Fields | None:
    """The call for the targets that are named or present, None where there are none."""
    try:
        chosen = targets.lowering_targets(call.arch, capabilities)
    except DeviceError:
        return None
    there = call.lowered_for(chosen)
    cubins = assembled(there.code, chosen)
    return {
        **_steps(there),
        "cubins": [{name: _packed(c.code) for name, c in step.items()} for step in cubins],
        "assembler": assembler_of(cubins),
    }


def capabilities() -> list[str]:
    """Compute capabilities of the CUDA devices that this process sees; none is no error."""
    found = map(torch.cuda.get_device_capability, range(torch.cuda.device_count()))
    return [f"{major}.{minor}" for major, minor in found]


def _tensor(tensor: TensorSpec) -> list[Any]:
    return [tensor.name, tensor.dtype, list(tensor.axes), list(tensor.sums)]


def _packed(code: bytes) -> str:
    return base64.b85encode(zlib.compress(code)).decode()


# ---- reading -------------------------------------------------------------------------------------


def _read(fields: Fields) -> Call:
    found = _call(fields, fields["cpu"], fields["cpu"]["images"])
    cuda = fields["cuda"]
    on_cuda: OnCuda | None = None
    if cuda is not None:
        cubins = tuple({n: _unpacked(c) for n, c in step.items()} for step in cuda["cubins"])
        on_cuda = OnCuda(_call(fields, cuda, None), cubins, int(cuda["assembler"]))
    _on_cuda[found.identity] = on_cuda
    return found


def _call(fields: Fields, steps: Fields, images: Sequence[str] | None) -> Call:
    name = str(fields["name"])
    plan = read(steps["plan"])
    # What tells it from the call that it was made of, whose code is made when it is asked for.
    digest = f"loaded {fields['identity']}"
    codes = tuple(
        Code(digest, _no_cubin(name), _image(name, None if images is None else images[i]))
        for i in range(len(plan.steps))
    )
    return Call(
        name,
        str(fields["arch"]),
        plan,
        codes,
        tuple(map(_spec, fields["inputs"])),
        tuple(map(_spec, fields["outputs"])),
        tuple(map(_spec, steps["scratch"])),
        tuple((int(source), int(target)) for source, target in fields["aliases"]),
        whole=tuple(map(str, fields["whole"])),
    )


def _spec(found: Sequence[Any]) -> TensorSpec:
    name, dtype, axes, sums = found
    return TensorSpec(str(name), str(dtype), tuple(axes), tuple(sums))


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b85decode(text))


def _image(name: str, packed: str | None) -> Callable[[], bytes]:
    code = None if packed is None else _unpacked(packed)

    def image() -> bytes:
        if code is None:
            raise EmulationError(f"kernel {name} was exported without a program of the emulator")
        return code

    return image


def _no_cubin(name: str) -> Callable[[Target], Cubin]:
    def cubin(target: Target) -> Cubin:
        raise DeviceError(f"kernel {name} was exported, and is not assembled for {target} again")

    return cubin
