"""What tests of running share: the kernels, and programs run in processes of their own."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
IMPORTS = """
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.export, numpy, pyptx, pyptx.ops, pyptx._runtime.jax.runtime
"""
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


def _environment():
    """For processes on the CPU that can import kernels.py."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XLA_FLAGS", "PYPTX_TARGET"))}
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**kept, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}


def _printed(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def process():
    """Runs a program in a fresh process that can import kernels.py; returns what it printed."""

    def run(program, *arguments, **environment):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *map(str, arguments)],
            env={**_environment(), **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return _printed(done)

    return run


@pytest.fixture(scope="session")
def copied(forking):
    """The same in a copy of a process that has imported JAX and pyptx, and has started nothing.

    What XLA reads when it starts may be in the environment, what JAX reads when it is imported may
    not.
    """
    with forking(IMPORTS, "-W", "error") as server:

        def run(program, *arguments, **environment):
            unknown = {k for k in environment if not k.startswith(("XLA_FLAGS", "PYPTX_"))}
            assert not unknown, f"{unknown} may have been read before"
            code, own = textwrap.dedent(program), _environment() | environment
            return _printed(server.run(["-c", *map(str, arguments)], HERE, own, code=code))

        yield run
