"""Calls as texts, which is how the operators of PyTorch carry them."""

from __future__ import annotations

from typing import Final

from pyptx._launch.call import Call
from pyptx.errors import CallError

_calls: Final[dict[str, Call]] = {}
"""The calls that programs of this process name. Such a program may run whenever it likes."""


def text(call: Call) -> str:
    """The text of a call: its name, and the identity of what it does."""
    key = f"{call.name} {call.identity}"
    _calls.setdefault(key, call)
    return key


def call(program: str) -> Call:
    """The call of a text. Raises CallError where this process has not made it."""
    found = _calls.get(program)
    if found is None:
        name = program.partition(" ")[0]
        raise CallError(
            f"the program calls kernel {name}, which this process has not made",
            notes=(("help", "export the program, or call the kernel once before"),),
        )
    return found
