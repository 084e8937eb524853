"""`pyptx run`: a program or a kernel in the emulator, with every check on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import typer

from pyptx._cli.console import say
from pyptx._cli.program import Program, Sizes, dimensions, require_sizes, shapes
from pyptx._cli.report import show_report
from pyptx._emulator import Emulation, Report
from pyptx._kernel import Kernel, Operation
from pyptx._spec import Scalar, Spec
from pyptx.errors import EmulationError


def run_kernels(kernels: Sequence[Kernel], sizes: Sizes) -> None:
    """Run each kernel on random arrays and print its report. Exits with 1 for findings."""
    reports: list[Report] = []
    for kernel in kernels:
        require_sizes(kernel, sizes)
        constants = {n: v for n, v in sizes.items() if n not in dimensions(kernel)}
        arrays = random_arrays(kernel, sizes)
        reports.append(kernel.emulate(*arrays, sanitize=True, **constants).report)
        show_report(reports[-1])
    stop_for_findings(reports)


def random_arrays(kernel: Kernel, sizes: Sizes) -> list[Any]:
    """Inputs of the kernel's shapes: standard normal floats, small integers, scalars of 1."""
    rng = np.random.default_rng(0)
    return [
        _random(spec, shape, rng)
        for spec, shape in zip(kernel.in_specs, shapes(kernel, sizes), strict=True)
    ]


def _random(spec: Spec, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    dtype = np.dtype(str(spec.dtype.numpy))
    if isinstance(spec, Scalar):
        return dtype.type(1)
    if dtype.kind in "iub":
        return rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def run_program(program: Program) -> None:
    """Run the file as Python would, every kernel call in the emulator, and print each report.

    JAX runs on the CPU and without compiling, so that each call is seen with its arrays. Exits
    with 1 for findings; the first one ends the program.
    """
    os.environ |= {"JAX_PLATFORMS": "cpu", "JAX_DISABLE_JIT": "1"}
    sys.argv = [str(program.path)]
    reports: list[Report] = []
    try:
        with recorded(reports.append):
            program.execute("__main__")
    except EmulationError:
        if not any(report.findings for report in reports):
            raise
    for report in merged(reports):
        show_report(report)
    if not reports:
        say(f"{program.path} called no kernel")
    stop_for_findings(reports)


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


@contextmanager
def recorded(keep: Callable[[Report], object]) -> Generator[None]:
    """Every kernel that is called or emulated runs with all checks, and its report is kept."""
    emulate = Operation.emulate

    def checked(operation: Operation, *arrays: Any, **keywords: Any) -> Emulation:
        given: dict[str, Any] = {**keywords, "sanitize": True}
        emulation = emulate(operation, *arrays, **given)
        for report in emulation.reports:
            keep(report)
        return emulation

    def call(
        operation: Operation, arrays: Sequence[Any], constants: dict[str, Any], *_: object
    ) -> Any:
        emulation = checked(operation, *map(to_numpy, arrays), **constants)
        emulation.report.check()
        like_jax = any(is_jax(array) for array in arrays)
        outputs = tuple(to_jax(o) if like_jax else o for o in emulation.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    with patch.object(Operation, "emulate", checked), patch.object(Operation, "_run", call):
        yield


def is_jax(array: object) -> bool:
    jax: Any = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.Array)


def to_numpy(array: object) -> Any:
    return np.asarray(array) if is_jax(array) else array


def to_jax(array: object) -> Any:
    return sys.modules["jax"].numpy.asarray(array)


def stop_for_findings(reports: Sequence[Report]) -> None:
    if any(report.findings for report in reports):
        raise typer.Exit(1)
