"""What tests of running share: the kernels, and programs run in processes of their own."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DEVICES = 8


@pytest.fixture
def devices():
    """Simulated devices of the CPU; the root's conftest.py asks for them."""
    import jax

    found = jax.devices("cpu")
    assert len(found) == DEVICES, "something started JAX before XLA_FLAGS was set"
    return found


def _module(name):
    spec = importlib.util.spec_from_file_location(f"runtime_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def kernels():
    """The module kernels.py."""
    return _module("kernels")


@pytest.fixture(scope="session")
def accumulating():
    """The module accumulating.py."""
    return _module("accumulating")


@pytest.fixture(scope="session")
def operations(kernels):
    """The module operations.py, and its operation as `normalise`."""
    module = _module("operations")
    module.normalise = module.make(kernels)
    return module


@pytest.fixture(scope="session")
def process():
    """Runs a program in a fresh process that can import kernels.py; returns what it printed."""

    def run(program, *arguments, **environment):
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("XLA_FLAGS", "PYPTX_TARGET"))
        }
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *map(str, arguments)],
            env={**kept, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
