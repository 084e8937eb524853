"""`pyptx check` and `pyptx run` of PTX files."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from pyptx import _assemble as assemble
from pyptx import _emulator as emulator
from pyptx import _ir as ir
from pyptx._cli.console import say, show_table
from pyptx._cli.program import NOT_LITERAL, require_file
from pyptx._cli.report import show_report
from pyptx._cli.run import stop_for_findings
from pyptx._cli.show import show_sass, show_usage
from pyptx._kernel import In, Out, from_ptx
from pyptx._kernel.arguments import Param, declared
from pyptx._kernel.options import parse_target
from pyptx._source import caller
from pyptx._spec import Tile
from pyptx._target import Target
from pyptx._text import for_assembler, parse, read_file
from pyptx._text.entries import reached_entries
from pyptx._verify import verify
from pyptx.errors import EmulationError, LanguageError, PtxError
from pyptx.types import BY_NUMPY, DTYPES, DType

SUFFIX: Final = ".ptx"


@dataclass(frozen=True, slots=True)
class PtxFile:
    """What `FILE.ptx` or `FILE.ptx:ENTRY` on the command line names."""

    path: Path
    content: str
    entry: str | None

    @staticmethod
    def parse(given: str) -> PtxFile | None:
        """None for what is no PTX file. Raises PtxError for one that cannot be read."""
        file, mark, entry = given.partition(f"{SUFFIX}:")
        path = Path(file + mark.rstrip(":"))
        if path.suffix != SUFFIX:
            return None
        return PtxFile(path, read_file(path), entry or None)

    def read(self) -> ir.Module:
        """Raises ParseError at the first line and column that PTX or the table does not have."""
        return parse(self.content, str(self.path))

    def entries(self, module: ir.Module) -> list[ir.Kernel]:
        """The entry that is named, otherwise all. Raises PtxError where there is none."""
        found = [k for k in module.kernels if self.entry in (None, k.name)]
        if not found:
            names = " ".join(k.name for k in module.kernels) or "none"
            wanted = f"entry {self.entry}" if self.entry else "entry"
            raise PtxError(f"{self.path} has no {wanted}", notes=(("entries", names),))
        return found


# ---- check ---------------------------------------------------------------------------------------


def check_file(file: PtxFile, arch: str | None) -> None:
    """Parse, check and assemble each entry; raises the first error.

    A register that is read where nothing has set it is a warning: compilers write such code.
    """
    module = file.read()
    target = parse_target(arch, caller()) if arch is not None else module.target.current
    entries = file.entries(module)
    with ThreadPoolExecutor(1) as pool:  # the assembler is another process
        assembling = pool.submit(_assembled_entries, file, module, entries, target)
        checked = [_checked(module, entry) for entry in entries]
        cubins = assembling.result()
    rows = [
        _row(module, cubins[entry.name], *found)
        for entry, found in zip(entries, checked, strict=True)
    ]
    columns = ("entry", "target", "PTX", "registers>", "spilled>", "emulated", "warnings")
    show_table("", columns, rows)


def _checked(module: ir.Module, entry: ir.Kernel) -> tuple[str, list[str]]:
    """Whether the emulator runs an entry, and what pyptx warns of."""
    alone = ir.Module(module.version, module.target, (entry,), variables=module.variables)
    try:
        verify(alone)
    except LanguageError as error:
        warning = f"line {error.location.line if error.location else '?'}: {error.problem}"
        return _emulated(module, entry), [warning]
    return _emulated(module, entry), []


def _row(
    module: ir.Module, cubin: assemble.Cubin, emulated: str, warnings: list[str]
) -> tuple[str, ...]:
    warnings = warnings + [message.text for message in cubin.warnings]
    return (
        cubin.kernel,
        cubin.target,
        str(module.version),
        str(cubin.registers),
        str(cubin.spill_stores + cubin.spill_loads),
        emulated,
        "; ".join(warnings) or "none",
    )


def _assembled_entries(
    file: PtxFile, module: ir.Module, entries: Sequence[ir.Kernel], target: Target
) -> dict[str, assemble.Cubin]:
    """The cubins of entries by one run of the assembler, by one each where its messages need it."""
    needed = {name: None for entry in entries for name in reached_entries(entry, module)}
    given = for_assembler(file.content, module, str(file.path))
    cubin = assemble.assemble(given.ptx, target, entries=tuple(needed), lines=given.lines)
    if len(entries) == 1:
        return {cubin.kernel: cubin}
    own = {entry.name: _lines(entry) for entry in entries}
    found = assemble.by_entry(cubin, own, given.lines)
    return found or {e.name: _assembled(file, module, e, target) for e in entries}


def _lines(entry: ir.Kernel) -> range:
    """The lines of a file from an entry's first instruction to the brace at its end."""
    found = [s.location.line for s in entry.body if isinstance(s, ir.Instruction)]
    return range(min(found, default=0), max(found, default=-2) + 2)


def _assembled(
    file: PtxFile, module: ir.Module, entry: ir.Kernel, target: Target
) -> assemble.Cubin:
    """The cubin of an entry; what the assembler rejects is an error at its line of the file."""
    given = for_assembler(file.content, module, str(file.path))
    entries = reached_entries(entry, module)
    return assemble.assemble(given.ptx, target, entries=entries, lines=given.lines)


# ---- show ----------------------------------------------------------------------------------------


def show_file(file: PtxFile, arch: str | None, *, sass: bool) -> None:
    """Print the text, and what each assembled entry needs, with `sass` its machine code too."""
    module = file.read()
    target = parse_target(arch, caller()) if arch is not None else module.target.current
    say(file.content.rstrip())
    say()
    for entry in file.entries(module):
        cubin = _assembled(file, module, entry, target)
        if sass:
            show_sass(assemble.sass(cubin))
        show_usage(cubin, file.content)


def _emulated(module: ir.Module, entry: ir.Kernel) -> str:
    """Whether the emulator runs an entry, or what it does not run."""
    try:
        image = emulator.encode(entry, module.target.current, module)
    except EmulationError as error:
        return f"no: {error.problem}"
    missing = emulator.unsupported(image)
    return f"no: {' '.join(dict.fromkeys(missing.values()))}" if missing else "yes"


# ---- run -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Argument:
    """What `--arg` gives a parameter: a number, the bytes of a structure, or an array.

    `way` is "in", "out" or "inout" for an array, and `array` what is in it.
    """

    param: Param | None
    way: str = ""
    array: Any = None


_ARRAY: Final = re.compile(r"(?:(in|out|inout):)?(\w+)\[([\d\s,]*)\](?:=(.+))?")
_FILE: Final = re.compile(r"(?:(in|out|inout):)?(.+\.npy)")
_DIGITS: Final = 20
_HELP: Final = (
    "help",
    (
        "--arg 1024, --arg 2.5, --arg in:f32[64,64], --arg out:f32[64], --arg inout:f32[64]=0, "
        "--arg in:x.npy, --arg hex:00ff"
    ),
)


def parse_argument(given: str) -> Argument:
    """One `--arg`. Raises PtxError for what is none of its forms."""
    if given.startswith("hex:"):
        try:
            return Argument(bytes.fromhex(given.removeprefix("hex:")))
        except ValueError as error:
            raise PtxError(f"--arg {given}: {error}", notes=(_HELP,)) from None
    if match := _ARRAY.fullmatch(given):
        way, dtype, extents, fill = match.groups()
        try:
            shape = tuple(int(extent) for extent in extents.replace(",", " ").split())
        except ValueError as error:
            raise PtxError(f"--arg {given}: {error}", notes=(_HELP,)) from None
        return Argument(None, way or "inout", _filled(given, dtype, shape, fill))
    if match := _FILE.fullmatch(given):
        return Argument(None, match[1] or "inout", _loaded(given, Path(match[2])))
    try:
        value: object = ast.literal_eval(given)
    except NOT_LITERAL:
        value = None
    if not isinstance(value, (bool, int, float)):
        raise PtxError(f"--arg {given} is neither a number nor an array", notes=(_HELP,))
    return Argument(value)


def _loaded(given: str, path: Path) -> Any:
    """The array of a file. Raises PtxError for what is none."""
    require_file(path, f"--arg {given}: ")
    try:
        with path.open("rb") as file:
            found: object = np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, MemoryError, RecursionError) as error:
        raise PtxError(f"--arg {given}: {path} is no array: {error}", notes=(_HELP,)) from None
    if not isinstance(found, np.ndarray):
        raise PtxError(f"--arg {given}: {path} holds several arrays", notes=(_HELP,))
    return found  # pyright: ignore[reportUnknownVariableType]


def _filled(given: str, dtype: str, shape: tuple[int, ...], fill: str | None) -> Any:
    """An array of one value, or of random ones: normal floats, integers from 0 to 99."""
    found = DTYPES.get(dtype)
    if found is None or found.numpy is None:
        known = " ".join(each.name for each in BY_NUMPY.values())
        raise PtxError(f"--arg {given}: arrays have no type {dtype}", notes=(("types", known),))
    kind = np.dtype(str(found.numpy))
    value = None if fill is None else _number(given, fill)
    try:
        if value is not None:
            return np.full(shape, value).astype(kind)
        rng = np.random.default_rng(math.prod(shape))
        if found.is_integer or dtype == "pred":
            return rng.integers(0, 2 if dtype == "pred" else 100, shape).astype(kind)
        return rng.standard_normal(shape).astype(kind)
    except (MemoryError, ValueError, OverflowError) as error:
        raise PtxError(f"--arg {given}: there is no such array: {error}", notes=(_HELP,)) from None


def _number(given: str, fill: str) -> bool | int | float:
    """What an array is filled with."""
    try:
        value: object = ast.literal_eval(fill)
    except NOT_LITERAL:
        value = None
    if isinstance(value, (bool, int, float)):
        return value
    raise PtxError(f"--arg {given}: {fill} is no number", notes=(_HELP,))


def sizes(option: str, given: str) -> tuple[int, ...]:
    """One to three sizes with commas between. Raises PtxError."""
    parts = given.split(",")
    digits = all(part.strip().isdecimal() and len(part) < _DIGITS for part in parts)
    if not digits or len(parts) > 3:
        raise PtxError(
            f"{option} {given} is not one to three sizes", notes=(("help", "4 or 4,1,1"),)
        )
    return tuple(map(int, parts))


@dataclass(frozen=True, slots=True)
class Launch:
    """The options of `pyptx run` that are for PTX files."""

    grid: str
    block: str | None
    cluster: str | None
    smem: int | None
    arguments: tuple[str, ...]
    save: Path | None

    @property
    def given(self) -> bool:
        return self != Launch("1", None, None, None, (), None)


def run_file(file: PtxFile, launch: Launch, schedules: int) -> None:
    """Run an entry in the emulator with all checks, and print its report and its results.

    Exits with 1 for findings.
    """
    module = file.read()
    entries = file.entries(module)
    if len(entries) > 1:
        names = " ".join(entry.name for entry in entries)
        raise PtxError(
            f"{file.path} has several entries; run one of them",
            notes=(("entries", names), ("help", f"{file.path}:{entries[0].name}")),
        )
    entry = entries[0]
    arguments = [parse_argument(given) for given in launch.arguments]
    if len(arguments) != len(entry.parameters):
        listed = ", ".join(f"{p.name} {declared(p)}" for p in entry.parameters) or "none"
        raise PtxError(
            f"{entry.name} takes {len(entry.parameters)} parameters, and there are "
            f"{len(arguments)} --arg",
            notes=(("parameters", listed), _HELP),
        )
    if launch.block is None and not any(d.name == "reqntid" for d in entry.directives):
        raise PtxError(
            f"{entry.name} needs --block: the file does not require a size",
            notes=(("help", "--block 128"),),
        )
    inputs = [a for a in arguments if a.way in ("in", "inout")]
    outputs = [a for a in arguments if a.way in ("out", "inout")]
    kernel = from_ptx(
        file.path,
        entry=entry.name,
        in_specs=[_tile(a) for a in inputs],
        out_specs=[_tile(a) for a in outputs],
        params=[_param(a, inputs, outputs) for a in arguments],
        input_output_aliases={
            _position(a, inputs): _position(a, outputs) for a in inputs if a.way == "inout"
        },
        grid=sizes("--grid", launch.grid),
        block=None if launch.block is None else sizes("--block", launch.block),
        cluster=None if launch.cluster is None else sizes("--cluster", launch.cluster),
        smem=launch.smem,
    )
    done = kernel.emulate(*(a.array for a in inputs), schedules=schedules)
    show_report(done.report)
    stop_for_findings([done.report])
    _show_results(kernel.output_names, done.outputs, launch.save)


def _tile(argument: Argument) -> Tile:
    dtype: DType | None = BY_NUMPY.get(str(argument.array.dtype))
    if dtype is None:
        raise PtxError(f"there is no PTX type for arrays of {argument.array.dtype}")
    return Tile(*argument.array.shape, dtype)


def _position(argument: Argument, among: Sequence[Argument]) -> int:
    return next(i for i, each in enumerate(among) if each is argument)


def _param(argument: Argument, inputs: Sequence[Argument], outputs: Sequence[Argument]) -> Param:
    if argument.way == "out":
        return Out(_position(argument, outputs))
    if argument.way:
        return In(_position(argument, inputs))
    assert argument.param is not None
    return argument.param


def _show_results(names: Sequence[str], arrays: Sequence[Any], save: Path | None) -> None:
    rows: list[tuple[str, ...]] = []
    for name, array in zip(names, arrays, strict=True):
        values = array.astype(np.float64).reshape(-1)
        ends = (f"{values.min():.6g}", f"{values.max():.6g}") if values.size else ("", "")
        first = " ".join(f"{value:.6g}" for value in values[:4])
        shape = "x".join(map(str, array.shape)) or "scalar"
        rows.append((name, f"{array.dtype} {shape}", *ends, first))
        if save is not None:
            _save(save, name, array)
    if rows:
        show_table("results", ("parameter", "array", "least>", "most>", "first values"), rows)
    if save is not None:
        say(f"saved in {save}")


def _save(folder: Path, name: str, array: Any) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{name}.npy", array)
    except OSError as error:
        raise PtxError(f"--save {folder}: {error.strerror}") from None
