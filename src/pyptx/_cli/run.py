"""`pyptx run`: a program or a kernel in the emulator, with every check on."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import typer

from pyptx._cli.console import say
from pyptx._cli.program import (
    Program,
    Sizes,
    dimensions,
    of_each,
    require_file,
    require_sizes,
    shapes,
    sizes_of_each,
)
from pyptx._cli.report import show_report
from pyptx._emulator import Emulation, Report
from pyptx._kernel import Operation
from pyptx._runtime.jax.registration import when_imported
from pyptx._runtime.sanitizing import Sanitized, forget, observe, sanitize
from pyptx._spec import Scalar, Spec
from pyptx.errors import CallError, EmulationError, PtxError


def run_kernels(
    kernels: Sequence[Operation], sizes: Sizes, schedules: int, given: Sequence[str] = ()
) -> None:
    """Run each on random arrays and print its reports. Exits with 1 for findings.

    `given` is what `--input` says of some of the arrays.
    """
    every = of_each([kernel.input_names for kernel in kernels], parse_inputs(given))
    reports: list[Report] = []
    for kernel, own, inputs in zip(kernels, sizes_of_each(kernels, sizes), every, strict=True):
        require_sizes(kernel, own)
        constants = {n: v for n, v in own.items() if n not in dimensions(kernel)}
        arrays = given_arrays(kernel, inputs, own)
        done = kernel.emulate(*arrays, sanitize=True, schedules=schedules, **constants)
        for report in done.reports:
            reports.append(report)
            show_report(report)
        if any(report.findings for report in done.reports):
            _say_random(kernel, inputs)
    stop_for_findings(reports)


def _say_random(kernel: Operation, inputs: Mapping[str, str]) -> None:
    """Which integers were random: as indices they may be wrong where the kernel is right."""
    for name, spec in zip(kernel.input_names, kernel.in_specs, strict=True):
        if spec.dtype.is_integer and not isinstance(spec, Scalar) and name not in inputs:
            say(
                f"{kernel.name} ran on random integers from 0 to {_INTEGERS - 1} for {name}; "
                f"--input {name}=LOW:HIGH gives other ones"
            )


def random_arrays(kernel: Operation, sizes: Sizes) -> list[Any]:
    """Inputs of the kernel's shapes: standard normal floats, small integers, scalars of 1.

    Raises CallError where they do not fit into memory.
    """
    rng = np.random.default_rng(0)
    found: list[Any] = []
    for name, spec, shape in zip(
        kernel.input_names, kernel.in_specs, shapes(kernel, sizes), strict=True
    ):
        try:
            found.append(_random(spec, shape, rng))
        except (MemoryError, ValueError, OverflowError) as error:
            raise CallError(f"there is no array for {name} of {kernel.name}: {error}") from None
    return found


_INTEGERS: Final = 100
"""Random integers are below it."""
_INPUT: Final = (
    "help",
    (
        "--input I=0:32 for random numbers from 0 to 31, --input I=0:M with a dimension, "
        "--input I=indices.npy"
    ),
)


def parse_inputs(texts: Sequence[str]) -> dict[str, str]:
    """`I=0:M` or `I=x.npy` by the name of the input. Raises PtxError."""
    found: dict[str, str] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name.isidentifier():
            raise PtxError(f"--input {text} is not NAME=LOW:HIGH", notes=(_INPUT,))
        found[name] = value
    return found


def given_arrays(kernel: Operation, inputs: Mapping[str, str], sizes: Sizes) -> list[Any]:
    """Random inputs, and for those that `--input` names what it says. Raises PtxError."""
    names = kernel.input_names
    for name in inputs:
        if name not in names:
            listed = ("inputs", " ".join(names) or "none")
            raise PtxError(f"{kernel.name} has no input {name}", notes=(listed,))
    arrays = random_arrays(kernel, sizes)
    for i, name in enumerate(names):
        if name in inputs:
            arrays[i] = _given(f"--input {name}={inputs[name]}", inputs[name], arrays[i], sizes)
    return arrays


def _given(option: str, value: str, array: Any, sizes: Sizes) -> Any:
    """An array like `array` of the numbers that an option says, or that of a file."""
    if value.endswith(".npy"):
        require_file(Path(value), f"{option}: ")
        return np.load(value, allow_pickle=False)
    ends = [sizes.get(end, end) for end in value.split(":")]
    try:
        low, high = (int(str(end)) for end in ends)
        numbers = np.random.default_rng(0).integers(low, high, np.shape(array))
    except ValueError as error:
        raise PtxError(f"{option}: {error}", notes=(_INPUT,)) from None
    return numbers.astype(array.dtype)


def _random(spec: Spec, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    dtype = np.dtype(str(spec.dtype.numpy))
    if isinstance(spec, Scalar):
        return dtype.type(1)
    if dtype.kind in "iub":
        return rng.integers(0, 2 if dtype.kind == "b" else _INTEGERS, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def run_program(program: Program, schedules: int) -> None:
    """Run the file as Python would, every kernel call in the emulator, and print each report.

    JAX runs on the CPU and without compiling, so that each call is seen with its arrays; what the
    program compiles itself, by `.lower().compile()`, is checked and not counted per line. Exits
    with 1 for findings; the first one ends the program.
    """
    os.environ |= {"JAX_PLATFORMS": "cpu", "JAX_DISABLE_JIT": "1"}
    sys.argv = [str(program.path)]
    recorder = _Recorder()
    every = Sanitized()
    try:
        with sanitize(schedules=schedules) as every, recorded(recorder):
            program.execute("__main__")
    except EmulationError:
        if not every.findings and not any(report.findings for report in recorder.reports):
            raise
    for report in merged(recorder.reports):
        show_report(report)
    known = {finding.text for report in recorder.reports for finding in report.findings}
    others = [finding for finding in every.findings if finding.text not in known]
    compiled = every.launches - recorder.launches
    if compiled:
        number = f"{len(others)} finding{'s' * (len(others) != 1)}" if others else "no findings"
        say("\n".join((f"compiled programs, launches {compiled}: {number}", *map(str, others))))
    if not compiled and not recorder.reports:
        say(f"{program.path} called no kernel")
    if others:
        raise typer.Exit(1)
    stop_for_findings(recorder.reports)


def merged(reports: Iterable[Report]) -> list[Report]:
    """Reports of calls that ran the same instructions and found the same, added up."""
    groups: dict[tuple[object, ...], Report] = {}
    for report in reports:
        key = (report.kernel, report.message, report.locations)
        known = groups.get(key)
        groups[key] = report if known is None else added(known, report)
    return list(groups.values())


def added(a: Report, b: Report) -> Report:
    """Two reports of the same instructions as one."""
    sums = tuple(x + y for x, y in zip(a.statistics, b.statistics, strict=True))
    return replace(a, instructions=a.instructions + b.instructions, statistics=sums)


class _Recorder:
    """Keeps the report of every launch that is made from Python; findings end the program."""

    statistics = True

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.launches = 0

    def keep(self, reports: Sequence[Report]) -> bool:
        """The reports of a call; those of `k.emulate` are added to `reports` alone."""
        self.reports += reports
        self.launches += len(reports)
        return False


@contextmanager
def recorded(recorder: _Recorder) -> Generator[None]:
    """Every kernel that is called or emulated runs with all checks, and its report is kept.

    Calls of JAX are seen where they run, on arrays: below `jax.vmap`, `jax.checkpoint` and
    gradients, and not at all where nothing runs, as in `jax.eval_shape`.
    """
    emulate = Operation.emulate

    def checked(operation: Operation, *arrays: Any, **keywords: Any) -> Emulation:
        given: dict[str, Any] = {**keywords, "sanitize": True}
        emulation = emulate(operation, *arrays, **given)
        recorder.reports += emulation.reports
        return emulation

    observe(recorder)
    try:
        with ExitStack() as patches:
            patches.enter_context(patch.object(Operation, "emulate", checked))
            when_imported(lambda: patches.enter_context(compiled_as_ever()))
            yield
    finally:
        forget(recorder)


def compiled_as_ever() -> AbstractContextManager[object]:
    """Let programs that are compiled by hand run: with JAX_DISABLE_JIT, JAX refuses them."""
    jax: Any = sys.modules["jax"]
    call = jax.stages.Compiled.__call__

    def run(compiled: Any, *arguments: Any, **keywords: Any) -> Any:
        with jax.disable_jit(False):
            return call(compiled, *arguments, **keywords)

    return patch.object(jax.stages.Compiled, "__call__", run)


def stop_for_findings(reports: Sequence[Report]) -> None:
    if any(report.findings for report in reports):
        raise typer.Exit(1)
