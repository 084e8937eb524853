"""Record what this GPU's approximate functions give; fit_approximations.py finds its tables.

    python tools/record_approximations.py FOLDER

Writes FOLDER/<function>.npz for each function: for all inputs of some binades the bits of the
result, as differences from one input to the next (modulo 2**32, the first from zero), which are
small and compress well.
"""

# The benchmarks are no package.
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from approximations import kernel_of

BINADE: Final = 2**23
"""Inputs of f32 with the same exponent."""
BINADES: Final = {
    "ex2.approx.ftz.f32": (-4, -1, 0),
    "lg2.approx.ftz.f32": (-1, 0, 1),
    "rcp.approx.ftz.f32": (0,),
    "rsqrt.approx.ftz.f32": (0, 1),
    "sqrt.approx.ftz.f32": (0, 1),
    "sin.approx.ftz.f32": (-5, -4, -3, -2, -1, 0),
    "cos.approx.ftz.f32": (-1, 0),
    "tanh.approx.f32": (-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2),
}
"""Exponents of the inputs of each function, all positive."""


def results(spelling: str, first: int) -> np.ndarray:
    """This device's results for the inputs of a binade, as bits; `first` are those of the first."""
    return np.asarray(jax.jit(kernel_of(spelling, BINADE))(np.uint32(first)))


def steps(bits: np.ndarray) -> np.ndarray:
    """From each result to the next."""
    return np.diff(bits, prepend=np.uint32(0)).view(np.int32)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for spelling, exponents in BINADES.items():
        found: dict[str, Any] = {
            str(each): steps(results(spelling, (127 + each) << 23)) for each in exponents
        }
        path = folder / f"{spelling}.npz"
        np.savez_compressed(path, **found)
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
