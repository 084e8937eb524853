"""Runs the conformance kernels on a GPU through the driver: outputs by case name."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from kernels import CTAS, INPUT_BYTES, OUTPUT_BYTES, TARGET, THREADS, VERSION, Case, inputs

from pyptx._assemble import PTXAS, find
from pyptx._ir import Module
from pyptx._text import write

BATCH = 100


def run(cases: Sequence[Case]) -> Iterator[tuple[Case, np.ndarray]]:
    """Each case with its output buffer, uint8."""
    from cuda.bindings import driver

    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    context = check(driver.cuDevicePrimaryCtxRetain(device))
    check(driver.cuCtxSetCurrent(context))
    source, target = (check(driver.cuMemAlloc(n)) for n in (INPUT_BYTES, OUTPUT_BYTES))
    try:
        for start in range(0, len(cases), BATCH):
            batch = cases[start : start + BATCH]
            module = check(driver.cuModuleLoadData(assemble(batch)))
            for case in batch:
                yield case, _launch(driver, module, case, source, target)
            check(driver.cuModuleUnload(module))
    finally:
        check(driver.cuMemFree(source))
        check(driver.cuMemFree(target))


def _launch(driver: Any, module: Any, case: Case, source: Any, target: Any) -> np.ndarray:
    function = check(driver.cuModuleGetFunction(module, case.name.encode()))
    data = inputs(case)
    output = np.zeros(OUTPUT_BYTES, np.uint8)
    check(driver.cuMemcpyHtoD(source, data.ctypes.data, INPUT_BYTES))
    check(driver.cuMemsetD8(target, 0, OUTPUT_BYTES))
    values = np.array([int(source)], np.uint64), np.array([int(target)], np.uint64)
    pointers = np.array([v.ctypes.data for v in values], np.uint64)
    check(driver.cuLaunchKernel(function, CTAS, 1, 1, THREADS, 1, 1, 0, 0, pointers.ctypes.data, 0))
    check(driver.cuMemcpyDtoH(output.ctypes.data, target, OUTPUT_BYTES))
    return output


def check(result: tuple[Any, ...]) -> Any:
    """The value of a driver call. Raises RuntimeError."""
    status, *values = result
    if int(status) != 0:
        raise RuntimeError(f"the driver returned {status}")
    return values[0] if values else None


def assemble(cases: Sequence[Case]) -> bytes:
    """One cubin with the kernels of many cases."""
    module = Module(VERSION, TARGET, tuple(case.kernel for case in cases))
    with tempfile.TemporaryDirectory() as folder:
        text, cubin = Path(folder, "cases.ptx"), Path(folder, "cases.cubin")
        text.write_text(write(module).ptx)
        command = [str(find(PTXAS)), f"-arch={TARGET}", "--fmad=false", str(text), "-o", str(cubin)]
        subprocess.run(command, check=True, capture_output=True)
        return cubin.read_bytes()
