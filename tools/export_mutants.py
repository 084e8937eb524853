"""Writes the subjects and mutants of mutate.py for a GPU, where mutants_on_gpu.py runs them.

    python tools/export_mutants.py FOLDER                     every subject for Hopper (sm_90a)
    python tools/export_mutants.py FOLDER --subject softmax   those whose names contain a text

FOLDER gets cases.json, which names every case with what the emulator says of it, and a folder for
each subject: the bytes that its launch starts with, the launch as tools/launch_case.cpp reads it,
and a cubin for the kernel and each mutant. It needs no GPU.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from mutate import EQUIVALENT, ROOT, Judged, Subject, judge, mutants, subjects

from pyptx import _assemble as assemble
from pyptx import _text as text
from pyptx._emulator import Map, Tensor, Value
from pyptx._ir import Kernel, Module
from pyptx._target import PTX_FOR_TARGET, Target
from pyptx.errors import AssembleError

HOPPER: Final = Target.parse("sm_90a")
CLEAN: Final = "clean"
LAUNCH: Final = "launch.txt"
EXPECTED: Final = "expected.bin"


class UnexportedError(Exception):
    """Why a subject cannot run on the GPU."""


@dataclass(frozen=True)
class Case:
    """A kernel to launch. `change` is empty for the kernel of the subject itself."""

    subject: str
    folder: str
    cubin: str
    change: str
    verdict: str
    kinds: tuple[str, ...] = ()


@dataclass
class Export:
    """What cases.json holds. `left_out` and `refused` say why."""

    made: str
    """When, by which results are known to be of this export."""
    commit: str
    target: str
    assembler: str
    schedules: int
    cases: list[Case] = field(default_factory=list[Case])
    results: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, Any])
    """The results of each subject's launch, in the order of EXPECTED: their types and sizes."""
    left_out: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refused: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


# ---- A launch ------------------------------------------------------------------------------------


def launch_text(subject: Subject, files: dict[str, bytes]) -> str:
    """The launch of a subject as a text; `files` gets the contents that its buffers start with."""
    options: dict[str, Any] = {"cluster": (1, 1, 1), "dynamic_shared": 0, **subject.options}
    lines = [f"entry {subject.kernel.name}"]
    lines += [f"{name} {_three(options[name])}" for name in ("grid", "block", "cluster")]
    lines.append(f"shared {options['dynamic_shared']}")
    tensors = _buffers(subject)
    before = dict(zip(map(id, subject.tensors), subject.before, strict=True))
    for number, tensor in enumerate(tensors):
        name = "-"
        if tensor.initialised:
            name = f"{number}.bin"
            files[name] = before.get(id(tensor), tensor.array).tobytes()
        lines.append(f"buffer {tensor.array.nbytes} {name}")
    lines += [_argument(each, tensors) for each in subject.arguments]
    lines += [f"result {n}" for n, tensor in enumerate(tensors) if tensor.writable]
    return "\n".join(lines) + "\n"


def _three(sizes: Sequence[int]) -> str:
    return " ".join(map(str, sizes))


def _buffers(subject: Subject) -> list[Tensor]:
    """The tensors of a launch, those in the same memory once."""
    found: list[Tensor] = []
    for tensor in (a for a in subject.arguments if isinstance(a, Tensor)):
        same = [
            each for each in found if _start(each) < _end(tensor) and _start(tensor) < _end(each)
        ]
        if any(_start(each) != _start(tensor) for each in same):
            raise UnexportedError("its tensors overlap")
        if not same:
            found.append(tensor)
    return found


def _start(tensor: Tensor | Map) -> int:
    return tensor.array.ctypes.data


def _end(tensor: Tensor | Map) -> int:
    return _start(tensor) + tensor.array.nbytes


def _argument(argument: object, buffers: Sequence[Tensor]) -> str:
    match argument:
        case Value():
            return f"argument value {argument.data.hex()}"
        case bytes():
            return f"argument value {argument.hex()}"
        case Tensor():
            return f"argument address {_place(argument, buffers)}"
        case Map():
            if argument.map.im2col is not None:
                raise UnexportedError("it has a tensor map of .im2col")
            return f"argument map {_place(argument, buffers)} {argument.encode().hex()}"
        case _:
            raise UnexportedError(f"it has an argument of {type(argument).__name__}")


def _place(argument: Tensor | Map, buffers: Sequence[Tensor]) -> str:
    """The number of the buffer that an argument is in, and the bytes before it there."""
    at = _start(argument)
    for number, buffer in enumerate(buffers):
        if _start(buffer) <= at < _end(buffer):
            return f"{number} {at - _start(buffer)}"
    raise UnexportedError("it has an address outside of its tensors")


# ---- Code ----------------------------------------------------------------------------------------


def for_hopper(module: Module) -> Module:
    """The module for sm_90a. Raises UnexportedError for one that needs another target."""
    if module.target.sm > HOPPER.sm:
        raise UnexportedError(f"it needs {module.target}")
    version = max(module.version, PTX_FOR_TARGET[HOPPER])
    return replace(module, target=HOPPER, version=version)


def cubin(subject: Subject, kernel: Kernel) -> bytes:
    """A kernel in the module of its subject. Raises AssembleError for what ptxas refuses."""
    module = for_hopper(subject.module_with(kernel))
    names = (kernel.name,) if len(module.kernels) > 1 else ()
    return assemble.assemble(text.write(module).ptx, HOPPER, entries=names).code


# ---- Cases ---------------------------------------------------------------------------------------


def commit() -> str:
    """The commit of the sources."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


class Exporter:
    """Writes subjects into a folder, one after the other."""

    def __init__(self, folder: Path, schedules: int, reasons: dict[str, str]) -> None:
        made = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        self.export = Export(made, commit(), str(HOPPER), assemble.version(), schedules)
        self._folder, self._reasons = folder, reasons

    def add(self, subject: Subject) -> None:
        """A subject and its mutants, or why they are left out."""
        count = sum(1 for _ in mutants(subject.kernel))
        if count == 0:
            return
        try:
            for_hopper(subject.module)
            files: dict[str, bytes] = {}
            launch = launch_text(subject, files)
        except UnexportedError as error:
            self._leave(subject, count, str(error))
            return
        judged = judge(subject, self.export.schedules, self._reasons)
        if judged is None:
            self._leave(subject, count, "the emulator has findings in the kernel as it is")
            return
        self._write(subject, launch, files)
        for number, each in enumerate(judged):
            self._mutant(subject, f"{number:02}.cubin", each)

    def _leave(self, subject: Subject, count: int, reason: str) -> None:
        self.export.left_out.append({"subject": subject.name, "mutants": count, "reason": reason})

    def _write(self, subject: Subject, launch: str, files: dict[str, bytes]) -> None:
        folder = self._folder / slug(subject.name)
        folder.mkdir(parents=True)
        (folder / LAUNCH).write_text(launch)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        _, expected = subject.run(subject.kernel)
        (folder / EXPECTED).write_bytes(b"".join(expected))
        self.export.results[subject.name] = [
            {"dtype": str(t.array.dtype), "bytes": t.array.nbytes} for t in subject.tensors
        ]
        self._case(subject, f"{CLEAN}.cubin", subject.kernel, ("", CLEAN, ()))

    def _mutant(self, subject: Subject, name: str, judged: Judged) -> None:
        if judged.verdict == "invalid":
            self._refuse(subject, judged.mutant.change, "the emulator has no form of it")
            return
        said = (judged.mutant.change, judged.verdict, judged.kinds)
        try:
            self._case(subject, name, judged.mutant.kernel, said)
        except AssembleError as error:
            self._refuse(subject, judged.mutant.change, str(error).splitlines()[0])

    def _refuse(self, subject: Subject, change: str, reason: str) -> None:
        self.export.refused.append({"subject": subject.name, "change": change, "reason": reason})

    def _case(
        self, subject: Subject, name: str, kernel: Kernel, said: tuple[str, str, tuple[str, ...]]
    ) -> None:
        folder = slug(subject.name)
        (self._folder / folder / name).write_bytes(cubin(subject, kernel))
        self.export.cases.append(Case(subject.name, folder, name, *said))

    def finish(self) -> None:
        """Write cases.json, which says that the rest is whole."""
        path = self._folder / "cases.json"
        path.write_text(json.dumps(asdict(self.export), indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--subject", default="", help="only subjects whose names contain this")
    parser.add_argument("--schedules", type=int, default=64)
    given = parser.parse_args()
    given.folder.mkdir(parents=True)
    exporter = Exporter(given.folder, given.schedules, json.loads(EQUIVALENT.read_text()))
    for subject in subjects(given.subject):
        exporter.add(subject)
    exporter.finish()
    export = exporter.export
    left = sum(each["mutants"] for each in export.left_out)
    print(f"{len(export.cases)} cases of {len(export.results)} kernels, {len(export.refused)} "
          f"mutants refused, {left} of {len(export.left_out)} kernels left out")  # fmt: skip


if __name__ == "__main__":
    main()
