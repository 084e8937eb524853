"""The CUDA handlers without a GPU: a hand-made XLA calls them, a driver that remembers answers.

Each scenario of handlers/scenarios.py is a test, which runs in a process of its own there.
"""

import ctypes
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cuda import pathfinder

import pyptx

HANDLERS = Path(__file__).parent / "handlers"
SCENARIOS = re.findall(
    r"^def (\w+)\(\) -> None:", (HANDLERS / "scenarios.py").read_text(), re.MULTILINE
)
NO_DRIVER = "no_driver"


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """The folder with the fake libcuda.so.1 and the library that makes call frames."""
    jax = pytest.importorskip("jax", reason="XLA's FFI headers come with jaxlib")
    folder = tmp_path_factory.mktemp("handlers")
    compiler = ["g++", "-std=c++17", "-O0", "-fPIC", "-shared", "-isystem", jax.ffi.include_dir()]
    sources = {"mock_cuda.cc": "libcuda.so.1", "call_frame.cc": "call_frame.so"}
    for source, library in sources.items():
        command = [*compiler, f"-Wl,-soname,{library}", str(HANDLERS / source), "-o", library]
        subprocess.run(command, cwd=folder, check=True)
    return folder


def test_every_scenario_is_run():
    assert len(SCENARIOS) == 18


@pytest.fixture(scope="session")
def results(libraries):
    """Exit status and output of each scenario."""
    found = {}
    for names in ([name for name in SCENARIOS if name != NO_DRIVER], [NO_DRIVER]):
        command = [sys.executable, str(HANDLERS / "scenarios.py"), str(libraries), *names]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found |= json.loads(done.stdout)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_handlers(results, scenario):
    if scenario == NO_DRIVER and _has_driver():
        pytest.skip("this machine has an NVIDIA driver")
    status, printed = results[scenario]
    assert (status, printed.strip()) == (0, "ok"), printed


def test_damaged_plans(libraries):
    """Each is refused or evaluated, in a process that would not survive a write past an array."""
    command = [sys.executable, str(HANDLERS / "damaged_plans.py"), str(libraries), "6000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + (libraries / "current").read_text("latin-1")
    seen = json.loads(done.stdout)
    assert seen["refused"] > 1000
    assert seen["evaluated"] > 500
    assert seen["ran"] > 500


def test_declarations_of_the_driver():
    """The hand-written declarations have the layout and the numbers of NVIDIA's header."""
    include = pathfinder.find_nvidia_header_directory("cudart")
    if include is None or not (Path(include) / "cuda.h").exists():
        pytest.skip("no cuda.h: it comes with nvidia-cuda-runtime")
    source = Path(pyptx.__file__).parent / "_native" / "src" / "launch"
    if not source.exists():
        pytest.skip("an installed package has no C++ sources")
    command = ["g++", "-std=c++17", "-fsyntax-only", f"-I{source}", "-isystem", include]
    subprocess.run([*command, str(HANDLERS / "driver_layout.cc")], check=True)


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True
