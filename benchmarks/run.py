"""Measures everything that this machine can: `python benchmarks/run.py [--only PART ...]`.

Without a GPU that is the emulator; it says so. Results go to benchmarks/results, one file for each
part and device, with the machine, the versions and every reading. `--check` makes a bar that does
not hold an error.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

from measure import CONSOLE, RESULTS, Result, cpu, gpu

GPU_PARTS: Final = {"rms_norm": ("jax", "torch", "triton"), "launch": ("jax", "torch")}
"""Parts that need a GPU, and the packages that they compare with."""
PARTS: Final = (*GPU_PARTS, "emulator")


def main() -> int:
    given = arguments().parse_args()
    # PyTorch and JAX share the memory of one GPU.
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    device = gpu()
    results: list[Result] = []
    for module in modules(given.only or PARTS, has_gpu=device is not None):
        result = module.measure(device if device and module.__name__ in GPU_PARTS else cpu())
        module.report(result)
        CONSOLE.print(f"written: {result.write(given.out)}\n")
        results.append(result)
    failed = [bar for result in results for bar in result.bars if not bar.holds]
    if failed:
        CONSOLE.print(f"{len(failed)} bars do not hold: {', '.join(bar.name for bar in failed)}")
    return 1 if not results or (failed and given.check) else 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="may be repeated")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where results are written")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar does not hold")
    return parser


def modules(parts: list[str] | tuple[str, ...], *, has_gpu: bool) -> Iterator[ModuleType]:
    """The modules of the parts that can run here; says why another one cannot."""
    for part in PARTS:
        if part not in parts:
            continue
        if part in GPU_PARTS and not has_gpu:
            CONSOLE.print(f"{part}: not measured, it needs an NVIDIA GPU and there is none here")
            continue
        missing = [n for n in GPU_PARTS.get(part, ()) if importlib.util.find_spec(n) is None]
        if missing:
            CONSOLE.print(f"{part}: not measured, it needs {' and '.join(missing)}")
            continue
        yield importlib.import_module(part)


if __name__ == "__main__":
    sys.exit(main())
