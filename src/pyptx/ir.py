"""The intermediate representation: typed PTX instructions, frozen, with no text inside.

One source gives one module, in any process: nothing here holds a name that was not the user's, and
source locations are carried beside the meaning and take no part in equality.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from pyptx.isa.model import Form
from pyptx.operands import Label, Operand, Parameter, Register, Variable
from pyptx.source import UNKNOWN, SourceLocation
from pyptx.target import PtxVersion, Target


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p` before an instruction."""

    register: Register
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `modifiers` are the spelled ones in manual order, without dots."""

    form: Form
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None = None
    location: SourceLocation = field(default=UNKNOWN, compare=False)

    @property
    def spelling(self) -> str:
        """The opcode with its modifiers, as PTX writes it: `fma.rn.f32`."""
        return ".".join((self.form.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a label stands in the body."""

    label: Label


Statement: TypeAlias = Instruction | Place


@dataclass(frozen=True, slots=True)
class Directive:
    """A performance directive of the entry such as `.maxntid 256, 1, 1`."""

    name: str
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One `.entry`: parameters, variables, directives and the flat body."""

    name: str
    parameters: tuple[Parameter, ...]
    variables: tuple[Variable, ...]
    directives: tuple[Directive, ...]
    registers: tuple[Register, ...]
    body: tuple[Statement, ...]

    @property
    def shared(self) -> SharedLayout:
        """Where the shared variables lie, and whether they are dynamic."""
        return shared_layout(self.variables)


STATIC_SHARED_LIMIT = 48 * 1024
"""Bytes of shared memory that a kernel may declare statically (PTX ISA, `.shared`)."""


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Byte offset of each shared variable in the CTA's window, the total, and its alignment.

    Beyond the static limit the variables live in one dynamic array at the same offsets.
    """

    offsets: dict[Variable, int]
    size: int
    align: int

    @property
    def dynamic(self) -> bool:
        return self.size > STATIC_SHARED_LIMIT


def shared_layout(variables: tuple[Variable, ...]) -> SharedLayout:
    """Lay the shared variables out in order of allocation, each at its alignment."""
    offsets: dict[Variable, int] = {}
    end, align = 0, 1
    for variable in (v for v in variables if v.space == "shared"):
        start = -(-end // variable.align) * variable.align
        offsets[variable] = start
        end, align = start + variable.size, max(align, variable.align)
    return SharedLayout(offsets, end, align)


@dataclass(frozen=True, slots=True)
class Module:
    """A PTX module: version, target and kernels."""

    version: PtxVersion
    target: Target
    kernels: tuple[Kernel, ...]
