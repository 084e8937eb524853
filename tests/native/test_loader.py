"""Finding the native libraries, and saying how to build them where they are missing."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyptx._native import loader
from pyptx.errors import DeviceError

HELP = (
    "  help: pip install . in a checkout builds them; they need CMake and GCC or Clang\n"
    "  help: by hand: cmake -S src/pyptx/_native -B build/native -G Ninja "
    "&& cmake --build build/native"
)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch):
    """The loader with nothing loaded, and with what it loaded afterwards."""
    for function in (loader.emulator, loader.ffi_library):
        monkeypatch.setattr(loader, function.__name__, function.__wrapped__)
    return monkeypatch


def test_a_missing_library_says_how_to_build_it(fresh, tmp_path: Path):
    fresh.setenv("PYPTX_NATIVE_DIR", str(tmp_path))
    fresh.setattr(loader, "_variant", lambda: "v3")
    with pytest.raises(DeviceError) as raised:
        loader.emulator()
    assert str(raised.value) == (
        f"the native library pyptx_emulator_v3 is missing\n  looked in: {tmp_path}\n{HELP}"
    )


@pytest.mark.parametrize(("system", "suffix"), [("darwin", "dylib"), ("win32", "dll")])
def test_libraries_of_other_systems_have_their_names(fresh, tmp_path: Path, system, suffix):
    fresh.setenv("PYPTX_NATIVE_DIR", str(tmp_path))
    fresh.setattr(loader, "_variant", lambda: "base")
    library = tmp_path / f"libpyptx_emulator_base.{suffix}"
    library.write_bytes(b"nothing")
    fresh.setattr(sys, "platform", system)
    with pytest.raises(DeviceError) as raised:
        loader.emulator()
    assert str(raised.value).startswith("the native library cannot be loaded: ")
    assert f"  library: {library}\n" in str(raised.value)


def test_windows_has_no_handlers_for_xla(fresh):
    fresh.setattr(sys, "platform", "win32")
    with pytest.raises(DeviceError) as raised:
        loader.ffi_library()
    assert str(raised.value) == (
        "kernels do not run from JAX on Windows\n"
        "  help: call the kernel with NumPy arrays: the emulator runs it"
    )


def test_a_broken_library_is_said(fresh, tmp_path: Path):
    fresh.setenv("PYPTX_NATIVE_DIR", str(tmp_path))
    name = f"libpyptx_emulator_{loader._variant()}.so"
    (tmp_path / name).write_bytes(b"nothing")
    with pytest.raises(DeviceError) as raised:
        loader.emulator()
    assert str(raised.value).startswith("the native library cannot be loaded: ")
    assert str(raised.value).endswith(f"  library: {tmp_path / name}\n{HELP}")


def test_a_library_of_another_interface_is_refused(fresh):
    own = loader._ABI
    fresh.setattr(loader, "_ABI", 99)
    with pytest.raises(DeviceError) as raised:
        loader.emulator()
    assert (
        str(raised.value)
        == f"the emulator's library has interface {own}, this package needs 99\n{HELP}"
    )


def test_the_variable_names_the_only_directory(fresh, tmp_path: Path):
    fresh.setenv("PYPTX_NATIVE_DIR", str(tmp_path))
    assert loader.directories() == (tmp_path,)
    fresh.delenv("PYPTX_NATIVE_DIR")
    found = loader.directories()
    assert found[0] == Path(loader.__file__).parent / "lib"
    assert found[-1].parts[-2:] == ("build", "native")


@pytest.mark.parametrize(
    ("machine", "features", "builds", "chosen"),
    [
        ("x86_64", {"sse2", "avx"}, "base v3 v4", ["base"]),
        ("x86_64", loader._V3_FEATURES | {"sse2"}, "base v3 v4", ["v3", "base"]),
        ("x86_64", loader._V4_FEATURES - {"avx512_vbmi2"}, "base v3 v4", ["v3", "base"]),
        ("AMD64", loader._V4_FEATURES | {"sse2"}, "base v3 v4", ["v4", "v3", "base"]),
        ("x86_64", loader._V4_FEATURES, "base v3", ["v3", "base"]),
        ("x86_64", loader._V4_FEATURES, "", []),
        ("aarch64", {"asimd"}, "base", ["base"]),
    ],
)
def test_the_build_that_the_processor_runs_is_taken(
    fresh, tmp_path: Path, machine: str, features: set[str], builds: str, chosen: list[str]
):
    for build in builds.split():
        (tmp_path / f"libpyptx_emulator_{build}.so").touch()
    fresh.setenv("PYPTX_NATIVE_DIR", str(tmp_path))
    fresh.setattr(loader.platform, "machine", lambda: machine)
    fresh.setattr(loader, "_processor_features", lambda: frozenset(features))
    assert loader.variants() == chosen
    assert loader._variant.__wrapped__() == (chosen or ["base"])[0]


@pytest.mark.parametrize("level", ["v3", "v4"])
def test_the_build_knows_what_the_loader_asks_for(level: str):
    text = (Path(loader.__file__).parent / "CMakeLists.txt").read_text()
    listed = {
        name: found.split() for name, found in re.findall(r"set\(PYPTX_(V\d)_FEATURES (.*)\)", text)
    }
    features = " ".join(listed[level.upper()]).replace(
        "${PYPTX_V3_FEATURES}", " ".join(listed["V3"])
    )
    assert set(features.split()) == loader._LEVELS[level]


def test_the_structures_have_the_sizes_of_the_header():
    api = loader.emulator()
    assert api.size == ctypes.sizeof(loader.EmulatorApi)
    assert ctypes.sizeof(loader.Buffer) == 48
    assert ctypes.sizeof(loader.Launch) == 176
    assert ctypes.sizeof(loader.Watch) == 16
    assert ctypes.sizeof(loader.Visit) == 32
    assert ctypes.sizeof(loader.Signals) == 56
    assert ctypes.sizeof(loader.Statistics) == 56
    assert ctypes.sizeof(loader.SourceLine) == 24


RUN = """
import numpy as np
from pyptx import _emulator as emulator
from tests.emulator.harness import device, output, run
x, y = device(np.arange(64, dtype=np.float32)), output(64, np.float32)
text = '''
.param u64 X
.param u64 Y
.shared tile 256 16
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %tid.x
mul.wide.u32 %rd3, %r1, 4
add.u64 %rd1, %rd1, %rd3
add.u64 %rd2, %rd2, %rd3
ld.global.f32 %f1, [%rd1]
fma.rn.f32 %f1, %f1, %f1, 0.5
shfl.sync.bfly.b32 %f2, %f1, 1, 31, -1
sqrt.rn.f32 %f2, %f2
st.global.f32 [%rd2], %f2
'''
report = run(text, [x], [y], block=64, sanitize=True, statistics=True)
report.check()
print(y.tobytes().hex(), report.instructions)
"""


def test_all_builds_of_the_core_give_the_same_bits():
    outputs = set()
    variants = loader.variants()
    if len(variants) == 1:
        pytest.skip("this machine runs one build of the core")
    for variant in variants:
        prelude = f"from pyptx._native import loader; loader._variant = lambda: {variant!r}\n"
        root = Path(__file__).parents[2]
        done = subprocess.run(
            [sys.executable, "-c", prelude + RUN], capture_output=True, text=True, cwd=root,
            env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}, check=True,
        )  # fmt: skip
        outputs.add(done.stdout)
    assert len(outputs) == 1
