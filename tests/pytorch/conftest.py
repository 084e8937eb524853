"""What the tests of PyTorch share. `make test-torch` runs them; nothing here is skipped."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))  # torch_kernels


def pytest_configure(config):
    """What PyTorch warns of in its own code is no error."""
    for line in (
        "ignore:.*torch.jit:DeprecationWarning",
        "ignore::DeprecationWarning:torch.*",
        "ignore::FutureWarning:torch.*",
        "ignore::UserWarning:torch.*",
    ):
        config.addinivalue_line("filterwarnings", line)


@pytest.fixture(autouse=True)
def fresh():
    """Programs that Dynamo compiled in another test are no part of this one."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(0)


@pytest.fixture
def x():
    return torch.randn(5, 200)


@pytest.fixture
def w():
    return torch.randn(200)
