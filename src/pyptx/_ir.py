"""The intermediate representation: typed PTX instructions, frozen, with no text inside.

One source gives one module, in any process: nothing here holds a name that was not the user's, and
source locations are carried beside the meaning and take no part in equality.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from pyptx._isa.model import Form
from pyptx._operands import Label, Operand, Parameter, Register, Variable
from pyptx._source import UNKNOWN, SourceLocation
from pyptx._target import PtxVersion, Target
from pyptx.device import STATIC_SHARED


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p` before an instruction."""

    register: Register
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A `.loc`: the line of the source that the compiler names, in a file of `Debug.files`.

    `inlined` is how the manual writes what it was inlined from: `function_name ..., inlined_at`.
    `before` are the lines directly before it that no instruction has, which it may refer to.
    `intermediate` are file, line and column of each `.loc_intermediate` behind it: the same place
    in the languages between the source and PTX.
    """

    file: int
    line: int
    column: int
    inlined: str = ""
    before: tuple[Line, ...] = ()
    intermediate: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Subscript:
    """An index, in a register, of the element that an instruction loads or stores.

    It counts from 0 along an axis of `of`, which has `extent` elements, and so do the `span`
    elements from it on. The emulator checks that; the text and the machine code have none of it.
    """

    register: Register
    extent: int | Register
    axis: int
    of: str
    span: int = 1


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `modifiers` are the spelled ones in manual order, without dots.

    `pragmas` are the strings of `.pragma` statements that stand before it.
    """

    form: Form
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None = None
    location: SourceLocation = field(default=UNKNOWN, compare=False)
    pragmas: tuple[str, ...] = ()
    debug: Line | None = field(default=None, compare=False)
    subscripts: tuple[Subscript, ...] = field(default=(), compare=False)
    # The registers that it reads and those that it writes, once `_verify` has looked.
    accessed: tuple[tuple[Register, ...], tuple[Register, ...]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

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
    """A directive of a kernel or function such as `.maxntid 256, 1, 1` or `.noreturn`."""

    name: str
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """The names that a file gives the registers of a body, and its labels, in their order."""

    registers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One `.entry`: parameters, variables, directives and the flat body.

    `undefined` are the numbers of registers that may be read before anything sets them.
    """

    name: str
    parameters: tuple[Parameter, ...]
    variables: tuple[Variable, ...]
    directives: tuple[Directive, ...]
    registers: tuple[Register, ...]
    body: tuple[Statement, ...]
    linkage: str = "visible"
    pragmas: tuple[str, ...] = ()
    written: Written = field(default=Written(), compare=False)
    undefined: frozenset[int] = field(default=frozenset(), compare=False)

    @property
    def shared(self) -> SharedLayout:
        """Where the shared variables lie, and whether they are dynamic."""
        return shared_layout(self.variables)


@dataclass(frozen=True, slots=True)
class Function:
    """One `.func`. `body` is None where the module only declares it.

    A parameter or result that is declared in `.reg` is a register of the function.
    """

    name: str
    returns: tuple[Parameter | Register, ...]
    parameters: tuple[Parameter | Register, ...]
    variables: tuple[Variable, ...]
    directives: tuple[Directive, ...]
    registers: tuple[Register, ...]
    body: tuple[Statement, ...] | None
    linkage: str = ""
    pragmas: tuple[str, ...] = ()
    written: Written = field(default=Written(), compare=False)


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
        return self.size > STATIC_SHARED


def shared_layout(variables: tuple[Variable, ...]) -> SharedLayout:
    """Lay the shared variables out in order of allocation, each at its alignment.

    Those of "extern" linkage all begin behind the others, where dynamic shared memory begins.
    """
    offsets: dict[Variable, int] = {}
    end, align = 0, 1
    shared = (v for v in variables if v.space == "shared")
    for variable in sorted(shared, key=lambda v: v.linkage == "extern"):
        start = -(-end // variable.align) * variable.align
        offsets[variable] = start
        end, align = start + variable.size, max(align, variable.align)
    return SharedLayout(offsets, end, align)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of a PTX file with its marks, and where it stands, from 1."""

    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class CodeLabel:
    """A label of the code in debug information: that of a function, and its label there."""

    function: str
    label: Label


@dataclass(frozen=True, slots=True)
class Section:
    """A `.section` of debug information: its name, and its tokens as they were written."""

    name: str
    content: tuple[str | CodeLabel, ...]


@dataclass(frozen=True, slots=True)
class Debug:
    """The debug information of a module: the `.file` lines and the sections."""

    files: tuple[tuple[int, str], ...] = ()
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Module:
    """A PTX module: version, target, kernels, and what they share.

    `variables` are those of the module; a kernel's and a function's own include the ones of the
    module that it names. A traced kernel keeps all of its variables itself. `options` are the words
    after the target, `aliases` pairs of a name and the function that it stands for. Comments and
    debug information take no part in equality.
    """

    version: PtxVersion
    target: Target
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...] = ()
    variables: tuple[Variable, ...] = ()
    options: tuple[str, ...] = ()
    pragmas: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    comments: tuple[Comment, ...] = field(default=(), compare=False)
    debug: Debug = field(default=Debug(), compare=False)
