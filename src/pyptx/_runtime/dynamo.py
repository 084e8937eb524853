"""Operations in functions that `torch.compile` traces.

Dynamo follows the Python of a call instead of running it. It does not follow it here: it is led to
one function that it may put into the graph as it is, and that runs when the graph is traced.
PyTorch is imported by then, and need not be before.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakValueDictionary

_operations: Final[WeakValueDictionary[str, Any]] = WeakValueDictionary()
_numbers: Final = itertools.count()


def register(name: str, operation: Any) -> str:
    """A key for an operation, with which `apply` finds it in this process."""
    key = f"{name} {next(_numbers)}"
    _operations[key] = operation
    return key


def imported() -> Any:
    """PyTorch, where this process has imported it; None also while it is being imported."""
    torch: Any = sys.modules.get("torch")
    return torch if hasattr(torch, "SymInt") and hasattr(torch, "compiler") else None


_is_compiling: Callable[[], bool] | None = None


def use(is_compiling: Callable[[], bool]) -> None:
    """Tell what says whether Dynamo follows, so that no call has to find it."""
    global _is_compiling  # noqa: PLW0603  # set once, when PyTorch's runtime is imported
    _is_compiling = is_compiling


def traces() -> bool:
    """Whether Dynamo is following this call."""
    if _is_compiling is not None:
        return _is_compiling()
    torch = imported()
    return torch is not None and torch.compiler.is_dynamo_compiling()


def apply(key: str, *arrays: object, **constants: object) -> Any:
    """Call an operation by its key."""
    return _operations[key](*arrays, **constants)


def specialised(size: Any) -> Any:
    """A size that PyTorch traces with as a number, for which the program is compiled then.

    What is no such size comes back as it is.
    """
    torch = imported()
    return int(size) if torch is not None and isinstance(size, torch.SymInt) else size


def allow() -> bool:
    """Let Dynamo put `apply` into graphs. Dynamo runs this when it comes to it."""
    torch = importlib.import_module("torch")
    allow_in_graph: Callable[[Any], Any] = torch.compiler.allow_in_graph
    allow_in_graph(apply)
    return True


setattr(allow, "_dynamo_marked_constant", True)  # noqa: B010  # as torch.compiler.assume_constant_result does
