"""The whole table: every form, and the first state of every opcode."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from pyptx._isa.automaton import State, build
from pyptx._isa.forms import calls
from pyptx._isa.model import Form

CHAPTERS: Final = (
    "integer",
    "floating",
    "half",
    "comparison",
    "logic",
    "movement",
    "asynchronous",
    "tensor",
    "multimem",
    "fabric",
    "conversion",
    "texture",
    "video",
    "stack",
    "control",
    "synchronization",
    "mbarrier",
    "warp_matrix",
    "warpgroup_matrix",
    "tensor_core",
    "miscellaneous",
)
"""The modules of `pyptx._isa.forms`, in the manual's order."""


@cache
def forms() -> tuple[Form, ...]:
    """Every form, in the manual's order. The rows are read at the first call."""
    found: list[Form] = []
    for name in CHAPTERS:
        module = import_module(f"pyptx._isa.forms.{name}")
        found += module.FORMS
    return tuple(found)


@cache
def opcodes() -> dict[str, State]:
    """The first state of each opcode, alphabetically."""
    return build(forms())


@cache
def spellings() -> dict[str, State]:
    """The first state of each opcode, with the calls of functions and what they pass."""
    return build((*forms(), *calls.FORMS))
