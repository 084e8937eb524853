"""Kernels on NumPy arrays: the emulator, on the arrays where they are if their alignment allows."""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from typing import Any, Final, TypeAlias

import ml_dtypes  # noqa: F401  # NumPy learns bfloat16 and the 8-bit floats from it  # pyright: ignore[reportUnusedImport]
import numpy as np
from numpy.typing import NDArray

from pyptx.emulator import (
    Completion,
    Emulation,
    Map,
    Report,
    Tensor,
    Value,
    device_array,
    on_device,
    run,
)
from pyptx.errors import CallError
from pyptx.launch.call import Call
from pyptx.launch.plan import (
    Argument,
    Bytes,
    EarlierResult,
    InputAddress,
    InputValue,
    Integer,
    MapArgument,
    OutputAddress,
)
from pyptx.runtime import scalars

Array: TypeAlias = NDArray[Any]

THREADS: Final = "PYPTX_EMULATOR_THREADS"
SANITIZE: Final = "PYPTX_EMULATOR_SANITIZE"

scalars_by_value: Final = True
"""Scalars are numbers on the host and go into the launch as they are."""


def scalar(value: object, dtype: str, name: str) -> Array:
    """A run-time scalar as an operand: an array of rank 0."""
    scalars.check(value, dtype, name)
    return np.asarray(value, dtype=dtype)


def launch(call: Call, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Run `call` in the emulator. Raises EmulationError for what the kernel did wrong.

    $PYPTX_EMULATOR_THREADS is the number of host threads (all cores), $PYPTX_EMULATOR_SANITIZE=1
    adds the sanitizer; the same variables hold for JAX on the CPU.
    """
    done = emulate(
        call, arrays, sanitize=bool(_setting(SANITIZE)), threads=_setting(THREADS) or None
    )
    done.report.check()
    return done.outputs


def _setting(variable: str) -> int:
    text = os.environ.get(variable, "0")
    if not text.isdecimal():
        raise CallError(f"{variable} is {text!r} and must be a number")
    return int(text)


def emulate(
    call: Call,
    arrays: Sequence[Array],
    *,
    sanitize: bool = True,
    threads: int | None = None,
    max_instructions: int | None = None,
    seed: int | None = None,
    statistics: bool = False,
    completion: Completion | None = None,
) -> Emulation:
    """Run `call` in the emulator and keep its report; findings do not raise.

    The options are those of `pyptx.emulator.run`. Raises EmulationError where the kernel has
    instructions that are not emulated.
    """
    shapes = [array.shape for array in arrays]
    tensors = (*call.outputs, *call.scratch)
    result_shapes = (*call.output_shapes(shapes), *call.scratch_shapes(shapes))
    launches = call.plan.evaluate(shapes, result_shapes)
    images = [code.image() for code in call.code]
    updated = {source for source, _ in call.aliases}
    # Sectors are counted as on a device, where tensors start at multiples of 256 bytes.
    inputs = [
        _copy(array) if statistics or i in updated else on_device(array, *images)
        for i, array in enumerate(arrays)
    ]
    shared = {target: inputs[source] for source, target in call.aliases}
    results = [
        shared.get(i, device_array(shape, tensor.dtype))
        for i, (tensor, shape) in enumerate(zip(tensors, result_shapes, strict=True))
    ]
    reports: list[Report] = []
    written = {target for _, target in call.aliases}
    for launch, image in zip(launches, images, strict=True):
        if launch.empty:
            for index in launch.zeros:
                results[index][...] = 0
            reports.append(Report(launch.kernel, "ok", ""))
            continue
        report = run(
            image,
            [_argument(call, argument, inputs, results, written) for argument in launch.arguments],
            grid=launch.grid,
            block=launch.block,
            cluster=launch.cluster,
            dynamic_shared=launch.shared,
            sanitize=sanitize,
            threads=threads,
            max_instructions=max_instructions,
            seed=seed,
            statistics=statistics,
            completion=completion,
        )
        reports.append(report)
        if report.status == "stopped":
            break
        written.update(a.index for a in launch.arguments if isinstance(a, OutputAddress))
    return Emulation(tuple(results[: len(call.outputs)]), tuple(reports))


def _copy(array: Array) -> Array:
    copy = device_array(array.shape, array.dtype)
    copy[...] = array
    return copy


def _argument(
    call: Call,
    argument: Argument,
    inputs: Sequence[Array],
    results: Sequence[Array],
    initialised: Set[int],
) -> Tensor | Map | Value | bytes:
    """What the emulator takes; `initialised` are the results that have been written before."""
    match argument:
        case InputValue(index):
            return inputs[index].tobytes()
        case Integer():
            return argument.value
        case Bytes(data, align):
            return Value(data, align)
        case MapArgument(buffer, name, described, sizes, strides):
            arrays = inputs if isinstance(buffer, InputAddress) else results
            axes = (tuple(map(int, each)) for each in (sizes, strides))
            return Map(arrays[buffer.index], name, described, *axes)
        case InputAddress(index):
            written = any(source == index for source, _ in call.aliases)
            return Tensor(inputs[index], call.inputs[index].name, writable=written)
        case OutputAddress(index) | EarlierResult(index):
            written = isinstance(argument, OutputAddress)
            tensor = (*call.outputs, *call.scratch)[index]
            known = index in initialised
            return Tensor(results[index], tensor.name, writable=written, initialised=known)
