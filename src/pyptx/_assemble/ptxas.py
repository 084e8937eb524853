"""The assembler as a process: finding ptxas and nvdisasm, running them, explaining their words."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache as memoize
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from pyptx._assemble import cache
from pyptx._assemble.cubin import (
    Cubin,
    Message,
    constant_bytes,
    entries,
    messages,
    resources,
)
from pyptx._source import SourceLocation
from pyptx._target import Target
from pyptx.errors import AssembleError

if TYPE_CHECKING:
    import subprocess

Lines = Mapping[int, SourceLocation]
"""Line of the PTX text, from 1, to the Python line that made it."""

NO_LINES: Final[Lines] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of the CUDA toolkit: what it is called, who names it, and where it comes from."""

    name: str
    variable: str
    package: str


PTXAS: Final = Tool("ptxas", "PYPTX_PTXAS", "nvidia-cuda-nvcc")
NVDISASM: Final = Tool("nvdisasm", "PYPTX_NVDISASM", "nvidia-cuda-nvdisasm")


def find(tool: Tool) -> Path:
    """Where `tool` is: its variable, then NVIDIA's package or CUDA_HOME, then the PATH.

    Raises AssembleError that names the package to install.
    """
    named = os.environ.get(tool.variable)
    if named:
        if os.access(named, os.X_OK) and Path(named).is_file():
            return Path(named)
        raise AssembleError(f"{tool.variable} names {named!r}, which is not a program")
    # Imported here: it is a tenth of the time of `import pyptx`, and only assembling needs it.
    pathfinder: Any = importlib.import_module("cuda.pathfinder")
    found: str | None = pathfinder.find_nvidia_binary_utility(tool.name) or shutil.which(tool.name)
    if found is None and sys.platform == "darwin":
        raise AssembleError(
            f"no {tool.name}: NVIDIA has no {tool.name} for macOS",
            notes=(
                ("help", "the emulator runs the kernel without it; assemble on Linux or Windows"),
            ),
        )
    if found is None:
        raise AssembleError(
            f"no {tool.name}: assembling needs NVIDIA's {tool.package}",
            notes=(("help", f"pip install {tool.package}, or set {tool.variable}"),),
        )
    return Path(found)


def version(tool: Tool = PTXAS) -> str:
    """The tool's version as it reports it, e.g. "13.5.37"."""
    path = find(tool)
    return _version(tool, path, path.stat().st_mtime_ns)


@memoize
def _version(tool: Tool, path: Path, _modified: int) -> str:
    text = _run(tool, [str(path), "--version"], Path.cwd()).stdout
    match = re.search(r"\bV(\d+\.\d+\.\d+)", text)
    if match is None:
        raise AssembleError(f"{path} does not report a version", notes=(("it said", text.strip()),))
    return match[1]


def assemble(
    ptx: str,
    target: Target | str,
    *,
    contract: bool = False,
    line_info: bool = False,
    flags: Sequence[str] = (),
    entries: Sequence[str] = (),
    lines: Lines = NO_LINES,
) -> Cubin:
    """Assemble a PTX module with one kernel for `target`; known input comes from the disk cache.

    Where the module has several, `entries` names the kernel, and behind it those whose addresses
    it takes.

    `contract` lets the assembler fuse a multiplication and an addition that were written apart.
    `line_info` keeps the PTX lines in the code, which `sass` and profilers read. `flags` are
    further options of ptxas. `lines` maps errors to the user's Python. Raises AssembleError.
    """
    name = str(target if isinstance(target, Target) else _target(target))
    options = ["-v", f"-arch={name}", f"--fmad={'true' if contract else 'false'}"]
    options += ["-lineinfo"] if line_info else []
    options += flags
    options += [option for name in entries for option in ("-e", name)]
    entry = cache.key("cubin-1", ptx, *options, version())
    stored = cache.load(entry)
    cubin = _decode(stored) if stored else None
    if cubin is not None and not _is_asked_for(cubin, ptx, name, entries):
        cubin = None
    if cubin is None:
        cubin = _assemble(ptx, name, options, entries, lines)
        cache.store(entry, _encode(cubin))
    return cubin


def _target(name: str) -> Target:
    try:
        return Target.parse(name)
    except ValueError as error:
        raise AssembleError(str(error)) from None


def _assemble(
    ptx: str, target: str, options: list[str], wanted: Sequence[str], lines: Lines
) -> Cubin:
    with tempfile.TemporaryDirectory(prefix="pyptx-") as folder:
        (Path(folder) / "kernel.ptx").write_text(ptx)
        command = [str(find(PTXAS)), *options, "kernel.ptx", "-o", "kernel.cubin"]
        done = _run(PTXAS, command, Path(folder))
        log = _without_time(done.stdout + done.stderr)
        if done.returncode != 0:
            raise rejection(ptx, target, done.returncode, log, lines)
        code = (Path(folder) / "kernel.cubin").read_bytes()
    names = wanted or entries(log)
    if len(names) != 1 and not wanted:
        raise AssembleError(f"the module has {len(names)} kernels; one is assembled at a time")
    return Cubin(
        kernel=names[0],
        target=target,
        code=code,
        constant=constant_bytes(code, names[0]),
        assembler=version(),
        messages=messages(log),
        log=log,
        **resources(log, names[0]),
    )


def _run(tool: Tool, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    import subprocess  # noqa: PLC0415 (for who assembles)

    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AssembleError(f"{tool.name} does not run: {error}") from None


def _without_time(log: str) -> str:
    kept = (line for line in log.splitlines() if "Compile time" not in line)
    return "\n".join(kept)


def rejection(ptx: str, target: str, status: int, log: str, lines: Lines) -> AssembleError:
    """What ptxas said about a module it rejected, the first error at its Python line."""
    errors = [message for message in messages(log) if message.severity != "warning"]
    located = [message for message in errors if message.line]
    if not located:
        said = errors[0].text if errors else log.strip() or f"exit status {status}"
        return AssembleError(f"ptxas failed: {said}", notes=(("target", target),))
    first, *more = located
    notes = [("PTX", f"line {first.line}: {_line(ptx, first.line)}"), ("target", target)]
    notes += [("also", _where(message, lines)) for message in more]
    return AssembleError(
        f"ptxas rejected the kernel: {first.text}",
        location=lines.get(first.line),
        notes=tuple(notes),
    )


def _line(text: str, number: int) -> str:
    found = text.splitlines()[number - 1 : number]
    return found[0].strip() if found else ""


def _where(message: Message, lines: Lines) -> str:
    location = lines.get(message.line)
    return f"{location or f'PTX line {message.line}'}: {message.text}"


def _encode(cubin: Cubin) -> bytes:
    record = asdict(cubin)
    code = record.pop("code")
    header = json.dumps(record, sort_keys=True).encode()
    return len(header).to_bytes(8, "little") + header + code


_RECORD: Final = {
    "kernel": str, "target": str, "registers": int, "barriers": int, "stack": int,
    "spill_stores": int, "spill_loads": int, "shared": int, "constant": int, "assembler": str,
    "messages": list, "log": str,
}  # fmt: skip
_MESSAGE: Final = {"severity": str, "line": int, "text": str}
_ELF: Final = b"\x7fELF"


def _decode(stored: bytes) -> Cubin | None:
    """The kernel of an entry; None for any bytes that `_encode` does not write."""
    end = 8 + int.from_bytes(stored[:8], "little")
    try:
        record: Any = json.loads(stored[8:end])
    except (ValueError, RecursionError):
        return None
    code = stored[end:]
    if not _has_types(record, _RECORD) or not code.startswith(_ELF):
        return None
    messages: list[Any] = record.pop("messages")
    if not all(_has_types(message, _MESSAGE) for message in messages):
        return None
    return Cubin(code=code, messages=tuple(Message(**message) for message in messages), **record)


def _has_types(found: object, types: Mapping[str, type]) -> bool:
    """Whether these are the names and types of a JSON object; no number is negative."""
    if not isinstance(found, dict):
        return False
    record = cast("dict[str, Any]", found)
    return (
        set(record) == set(types)
        and all(type(record[name]) is kind for name, kind in types.items())
        and all(record[name] >= 0 for name, kind in types.items() if kind is int)
    )


_ENTRY: Final = re.compile(r"\.entry\s+([\w$%]+)")


def _is_asked_for(cubin: Cubin, ptx: str, target: str, wanted: Sequence[str]) -> bool:
    """Whether a stored kernel has the target, the assembler and a name that were asked for."""
    names = wanted[:1] or _ENTRY.findall(ptx)
    return cubin.target == target and cubin.kernel in names and cubin.assembler == version()


@dataclass(frozen=True, slots=True)
class SassInstruction:
    """One machine instruction. `ptx_line` is 0 and `location` None if they are not known."""

    offset: int
    text: str
    ptx_line: int
    location: SourceLocation | None


_SASS: Final = re.compile(r'\s*//## File ".*", line (\d+).*|\s*/\*([0-9a-f]+)\*/\s+(.*?)\s*;.*')


def sass(cubin: Cubin, lines: Lines = NO_LINES) -> tuple[SassInstruction, ...]:
    """The machine code, with the Python line of each instruction where `lines` has it.

    PTX lines are known when the kernel was assembled with `line_info`. Raises AssembleError where
    nvdisasm is missing or cannot read the code.
    """
    with tempfile.TemporaryDirectory(prefix="pyptx-") as folder:
        (Path(folder) / "kernel.cubin").write_bytes(cubin.code)
        command = [str(find(NVDISASM)), "-gp", "-c", "kernel.cubin"]
        done = _run(NVDISASM, command, Path(folder))
    if done.returncode != 0:
        raise AssembleError(f"nvdisasm failed: {done.stderr.strip()}")
    return tuple(_instructions(done.stdout, lines))


def _instructions(listing: str, lines: Lines) -> list[SassInstruction]:
    found: list[SassInstruction] = []
    line = 0
    for match in filter(None, map(_SASS.fullmatch, listing.splitlines())):
        if match[1]:
            line = int(match[1])
        else:
            found.append(SassInstruction(int(match[2], 16), match[3], line, lines.get(line)))
    return found
