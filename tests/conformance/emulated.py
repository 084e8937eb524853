"""Runs conformance kernels in the emulator."""

from __future__ import annotations

import numpy as np
from kernels import CTAS, INPUT_BYTES, OUTPUT_BYTES, TARGET, THREADS, Case, inputs

from pyptx import _emulator as emulator


def supported(case: Case) -> bool:
    """Whether the emulator runs every instruction of the case."""
    return not emulator.unsupported(emulator.encode(case.kernel, TARGET))


def run(case: Case) -> np.ndarray:
    """The output buffer, uint8."""
    source = emulator.device_array((INPUT_BYTES,), np.uint8)
    source[:] = inputs(case)
    target = emulator.device_array((OUTPUT_BYTES,), np.uint8)
    target[:] = 0
    report = emulator.run(
        emulator.encode(case.kernel, TARGET),
        [emulator.Tensor(source, "input"), emulator.Tensor(target, "output", writable=True)],
        grid=(CTAS, 1, 1),
        block=(THREADS, 1, 1),
        threads=1,
    )
    report.check()
    return target
