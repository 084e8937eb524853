"""Runs PTX-like text on arrays: what the tests of the emulator share."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pyptx import _emulator as emulator
from pyptx._emulator import Report, Tensor
from pyptx._target import Target

from .assembly import Assembler

FILE = str(Path(__file__).parent / "kernel_lines.ptx")
"""What findings call the file of a kernel; lines count from the first of its text."""


def encode(text: str, target: str = "sm_90a") -> bytes:
    kernel = Assembler(FILE, 1).assemble(text)
    image = emulator.encode(kernel, Target.parse(target))
    emulator.register_sources(image, kernel)
    return image


def device(values: object, dtype: object = None) -> np.ndarray:
    """A copy of the values as a device array."""
    array = np.asarray(values, dtype)
    copy = emulator.device_array(array.shape, array.dtype)
    copy[...] = array
    return copy


def output(shape: Sequence[int] | int, dtype: object) -> np.ndarray:
    """A device array filled with a pattern that no test writes."""
    shape = (shape,) if isinstance(shape, int) else shape
    array = emulator.device_array(shape, dtype)
    array.reshape(-1).view(np.uint8)[...] = 0xA5
    return array


def run(
    text: str,
    inputs: Sequence[np.ndarray | int] = (),
    outputs: Sequence[np.ndarray] = (),
    *,
    grid: int | tuple[int, int, int] = 1,
    block: int | tuple[int, int, int] = 32,
    cluster: tuple[int, int, int] = (1, 1, 1),
    target: str = "sm_90a",
    initialised: bool = False,
    **options: object,
) -> Report:
    """Run on input arrays, then output arrays, named by the text's parameters. Integers are u32 values."""
    image = encode(text, target)
    names = [line.split()[2] for line in text.splitlines() if line.strip().startswith(".param")]
    arguments: list[Tensor | bytes] = []
    for i, value in enumerate((*inputs, *outputs)):
        if isinstance(value, int):
            arguments.append(struct.pack("<I", value))
        else:
            written = i >= len(inputs)
            arguments.append(
                Tensor(value, names[i], writable=written, initialised=initialised or not written)
            )
    return emulator.run(
        image,
        arguments,
        grid=(grid, 1, 1) if isinstance(grid, int) else grid,
        block=(block, 1, 1) if isinstance(block, int) else block,
        cluster=cluster,
        **options,
    )


def kinds(report: Report) -> list[str]:
    return [finding.kind for finding in report.findings]
