"""Runs kernels on the CPU: encodes them, calls the core, and says what it found.

`encode` turns a traced kernel into a program image (docs/architecture.md), `register_sources` tells
the core its Python lines, `run` launches an image on NumPy arrays and returns a `Report`.
"""

from pyptx.emulator.core import Program, register_sources
from pyptx.emulator.encode import encode
from pyptx.emulator.link import link
from pyptx.emulator.report import (
    KINDS,
    Finding,
    InstructionStatistics,
    LineStatistics,
    Report,
    Site,
    Visit,
    Waiting,
)
from pyptx.emulator.run import (
    Completion,
    Emulation,
    Map,
    Tensor,
    Value,
    device_array,
    on_device,
    run,
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
    "unsupported",
]
