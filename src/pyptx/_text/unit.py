"""What one PTX file has declared so far, for the functions that follow."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyptx._ir import CodeLabel, Function
from pyptx._isa import available, opcode_path
from pyptx._isa.automaton import State
from pyptx._isa.model import Availability, Form
from pyptx._isa.special import SPECIAL
from pyptx._isa.table import spellings
from pyptx._operands import Variable
from pyptx._target import PtxVersion, Target
from pyptx.errors import IsaError


@dataclass
class Unit:
    """The header of a file and the names of its module scope."""

    version: PtxVersion
    target: Target
    file: str
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    kernels: set[str] = field(default_factory=set[str])
    labels: dict[str, CodeLabel] = field(default_factory=dict[str, CodeLabel])
    _states: dict[str, State] = field(default_factory=dict[str, State])
    _available: dict[tuple[int, tuple[str, ...]], None] = field(
        default_factory=dict[tuple[int, tuple[str, ...]], None]
    )

    def state(self, opcode: str, modifiers: tuple[str, ...]) -> State:
        """The state of a spelling. Raises IsaError.

        Compilers write modifiers in other orders than the manual's too, which assemblers take; the
        state has the manual's.
        """
        spelled = ".".join((opcode, *modifiers))
        state = self._states.get(spelled)
        if state is None:
            ordered = opcode_path.ordered(spellings(), opcode, modifiers)
            state = self._states[spelled] = opcode_path.walk(spellings(), opcode, ordered)
        return state

    def require(self, form: Form, modifiers: tuple[str, ...]) -> None:
        """Check that target and version of the file have an instruction. Raises IsaError."""
        key = id(form), modifiers
        if key not in self._available:
            available.require(form, modifiers, self.target, self.version)
            self._available[key] = None

    def require_special(self, name: str) -> None:
        """Check that target and version of the file have a special register. Raises IsaError."""
        parts: list[Availability] = [SPECIAL[name].availability]
        available.require_parts(f"%{name}", parts, self.target, self.version)

    def __contains__(self, name: object) -> bool:
        """Whether the module scope has a name."""
        return name in self.variables or name in self.functions or name in self.kernels


_IN_PYTHON = ("help", "write")


def notes_for_text(error: IsaError) -> tuple[tuple[str, str], ...]:
    """The notes of an error without those that say how to write it in Python."""
    kept = [note for note in error.notes if note[0] not in _IN_PYTHON]
    for label, text in error.notes:
        if label == "write":
            parts = text.removeprefix("ptx.inst.").split(".")
            kept.append(("write", ".".join(map(opcode_path.ptx_name, parts))))
    return tuple(kept)
