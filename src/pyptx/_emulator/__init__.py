"""Runs kernels on the CPU: encodes them, calls the core, and says what it found.

`encode` turns a traced kernel into a program image (docs/architecture.md), `register_sources` tells
the core its Python lines, `run` launches an image on NumPy arrays and returns a `Report`.
"""

from pyptx._emulator.core import Program, Sources, register_sources
from pyptx._emulator.encode import encode
from pyptx._emulator.link import link
from pyptx._emulator.report import (
    KINDS,
    Finding,
    InstructionStatistics,
    LineStatistics,
    Report,
    Site,
    Visit,
    Waiting,
)
from pyptx._emulator.run import (
    Completion,
    Emulation,
    Map,
    Tensor,
    Value,
    device_array,
    on_device,
    run,
    set_schedules,
    unsupported,
)

__all__ = [
    "KINDS",
    "Completion",
    "Emulation",
    "Finding",
    "InstructionStatistics",
    "LineStatistics",
    "Map",
    "Program",
    "Report",
    "Site",
    "Sources",
    "Tensor",
    "Value",
    "Visit",
    "Waiting",
    "device_array",
    "encode",
    "link",
    "on_device",
    "register_sources",
    "run",
    "set_schedules",
    "unsupported",
]
