"""Record what this GPU's approximate functions give, as differences from the emulator's results.

    python tools/record_approximations.py FOLDER

Writes FOLDER/<function>.npz for each function: for the inputs of some binades the distance to the
emulator's result in units in the last place, in the narrowest signed type that holds all of them.
From them the tables that the GPU interpolates in can be found.
"""

# The benchmarks are no package.
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from approximations import chunk

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
    "tanh.approx.f32": (-5, -4, -3, -2, -1, 0, 1, 2),
}
"""Exponents of the inputs of each function, all positive."""
TYPES: Final = (np.int8, np.int16, np.int32)
"""Near 1, lg2 is close to 0, and an error that is small in itself is many units of it."""


def apart(spelling: str, exponent: int) -> np.ndarray:
    """Of the results for the inputs with this exponent: this GPU's less the emulator's."""
    found, expected = chunk(spelling, (127 + exponent) << 23, BINADE)
    distance: Any = np.asarray(found).astype(np.int64) - np.asarray(expected).astype(np.int64)
    furthest = int(np.abs(distance).max())
    return distance.astype(next(each for each in TYPES if furthest <= np.iinfo(each).max))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for spelling, exponents in BINADES.items():
        found: dict[str, Any] = {str(each): apart(spelling, each) for each in exponents}
        path = folder / f"{spelling}.npz"
        np.savez_compressed(path, **found)
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
