"""The emulator's header stands alone, in C and in C++."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).parents[2] / "src/pyptx/_native/include"
PROGRAM = """
#include "pyptx_emulator.h"
int main(void) {
  const PyptxEmulatorApi* (*entry)(void) = pyptx_emulator_api;
  static PyptxLaunch launch;
  launch.size = sizeof launch;
  return entry == 0 || launch.size == 0;
}
"""


@pytest.mark.parametrize(
    ("compiler", "language", "standard"), [("cc", "c", "c11"), ("c++", "c++", "c++17")]
)
def test_the_header_compiles(compiler: str, language: str, standard: str, tmp_path: Path):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} on this machine")
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}"]
    subprocess.run(
        [compiler, "-x", language, *flags, "-c", "-", "-o", tmp_path / "out.o"],
        input=PROGRAM, text=True, check=True,
    )  # fmt: skip
