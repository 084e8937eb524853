"""Programs that are no package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def loaded() -> Callable[[str, str], ModuleType]:
    """A file of the repository, under a name."""

    def load(name: str, path: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, ROOT / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look for it there
        spec.loader.exec_module(module)
        return module

    return load
