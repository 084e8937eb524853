"""A wheel, installed as a user would: an empty environment, and no compiler on the PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = {
    "x86_64": ["emulator_base", "emulator_v3", "emulator_v4", "ffi", "launcher"],
    "aarch64": ["emulator_base", "ffi", "launcher"],
}
BUILD_TOOLS = ("c++", "g++", "gcc", "cc", "clang", "cmake", "ninja", "make", "ld")

PROGRAM = """
import numpy as np
import jax
from pyptx import Scalar, Tile, kernel, ptx, reg
from pyptx.types import f32, u32

@kernel(in_specs=(Scalar(f32), Tile("N", f32)), out_specs=(Tile("N", f32),),
        grid=lambda N: ptx.cdiv(N, 128), block=128)
def scale(a, X, Y):
    thread = reg.from_(ptx.special.tid.x(), u32)
    i = ptx.inst.mad.lo.u32(reg.from_(ptx.special.ctaid.x(), u32), 128, thread)
    with ptx.if_(i < X.shape[0]):
        Y[i] = ptx.inst.mul.rn.f32(a, X[i])

x = np.arange(300, dtype=np.float32)
assert np.array_equal(scale(3.0, x), 3 * x)
scale.emulate(3.0, x).report.check()
assert float(jax.jit(lambda x: scale(3.0, x).sum())(x)) == 3 * x.sum()
print("jaxlib", jax.lib.__version__, "pyptx in", __import__("pyptx").__file__)
"""

BUILDS = """
import sys
import numpy as np
from pyptx._native import loader
from pyptx.ops import layer_norm, matmul

variants = loader.variants()
if len(sys.argv) == 1:
    print(*variants)
    sys.exit()
loader._variant = lambda: sys.argv[1]
x = np.random.default_rng(0).standard_normal((48, 1000)).astype(np.float32)
for result in (layer_norm(x, x[0], x[1]), matmul(x, x.T)):
    print(np.asarray(result).tobytes().hex())
"""


def wheel(processor: str) -> Path:
    found = sorted((ROOT / "dist").glob(f"pyptx_lang-*-py3-none-manylinux_2_28_{processor}.whl"))
    assert found, f"no wheel for {processor}: make wheel"
    return found[-1]


@pytest.mark.wheel
@pytest.mark.parametrize("processor", LIBRARIES)
def test_a_wheel_holds_the_package_and_no_source_of_its_libraries(processor):
    if processor == "aarch64" and not list((ROOT / "dist").glob("*aarch64.whl")):
        pytest.skip("make wheel builds that for ARM too")
    names = zipfile.ZipFile(wheel(processor)).namelist()
    libraries = [n for n in names if n.endswith(".so")]
    expected = [f"pyptx/_native/lib/libpyptx_{name}.so" for name in LIBRARIES[processor]]
    assert sorted(libraries) == expected
    assert {"pyptx/py.typed", "pyptx/__init__.py"} <= set(names)
    assert {Path(n).suffix for n in names if "dist-info" not in n} == {
        ".py",
        ".pyi",
        ".typed",
        ".h",
        ".so",
    }


def interpreter(oldest: tuple[int, int]) -> str:
    """This Python, or one on the PATH that is as new."""
    if sys.version_info >= oldest:
        return sys.executable
    for minor in range(oldest[1], 16):
        found = shutil.which(f"python3.{minor}")
        # A launcher of pyenv is there for each version, also where that is not chosen.
        if found and not subprocess.run([found, "-V"], capture_output=True, check=False).returncode:
            return found
    pytest.skip(f"no Python {'.'.join(map(str, oldest))} or newer on the PATH")


@pytest.mark.wheel
@pytest.mark.parametrize(("jax", "oldest"), [("0.10", (3, 11)), ("0.11", (3, 12))])
def test_it_installs_and_runs_without_a_compiler(tmp_path: Path, jax, oldest):
    home = tmp_path / "home"
    create = [interpreter(oldest), "-m", "venv", "--without-pip", str(home)]
    subprocess.run(create, check=True, capture_output=True)
    python = home / "bin/python"
    bare = {"PATH": str(home / "bin"), "HOME": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    assert not [tool for tool in BUILD_TOOLS if (home / "bin" / tool).exists()]
    configuration = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}

    def run(command: list[object], environment: dict[str, str] = bare) -> str:
        done = subprocess.run(
            [*map(str, command)], env=environment, cwd=tmp_path, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # The pip of these tests, which installs into the other environment.
    run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet",
         "--only-binary", ":all:", f"{wheel('x86_64')}[jax]", f"jax=={jax}.*", f"jaxlib=={jax}.*"],
        bare | configuration | {"HOME": os.environ.get("HOME", "/")},
    )  # fmt: skip
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    said = run([python, program])
    assert said.startswith(f"jaxlib {jax}.")
    assert str(home) in said
    assert "RMS" in run([python, "-m", "pyptx", "demo"])

    program.write_text(BUILDS)
    variants = run([python, program]).split()
    assert variants[-1] == "base"
    assert len({run([python, program, variant]) for variant in variants}) == 1
