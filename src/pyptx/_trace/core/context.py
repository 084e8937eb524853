"""The current trace: where every call of the language appends.

One `Trace` holds all state of tracing one kernel; the only module-level state is the context
variable that names it. So what was traced before never shows in a kernel's text.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, TypeAlias

from pyptx._frozen import constructor
from pyptx._ir import Guard, Instruction, Kernel, Place, Statement, Subscript
from pyptx._isa import available, check, opcode_path
from pyptx._isa.automaton import State
from pyptx._isa.check import Bound
from pyptx._isa.given import Raw
from pyptx._isa.model import ANY_VERSION
from pyptx._isa.special import SPECIAL
from pyptx._isa.table import opcodes
from pyptx._layouts import TensorMap
from pyptx._operands import (
    Address,
    Label,
    Parameter,
    Register,
    SpecialRegister,
    Symbol,
    Variable,
    registers_of,
)
from pyptx._source import SourceLocation, caller
from pyptx._target import PtxVersion, Target
from pyptx._trace.core.batch import Batch
from pyptx._trace.core.labels import with_needed_labels
from pyptx._trace.core.products import with_product
from pyptx._trace.core.scope import ModuleScope
from pyptx._trace.core.shuffles import check_shuffle
from pyptx._trace.core.unrolling import Unrolling
from pyptx.errors import IsaError, LanguageError
from pyptx.types import DType

_make_instruction: Final = constructor(Instruction)
_make_register: Final = constructor(Register)


@dataclass
class Block:
    """An open `if_`, `else_`, `loop`, `while_` or `range_`: for errors, break and continue."""

    construct: str
    location: SourceLocation
    break_label: Label | None = None
    continue_label: Label | None = None


ENTERED: Final = {
    "ptx.if_": "with ptx.if_(p): ...",
    "ptx.else_": "with ptx.else_(): ...",
    "ptx.loop": "with ptx.loop(): ...",
    "ptx.while_": "with ptx.while_(lambda: i < n): ...",
    "ptx.range_": "for i in ptx.range_(n): ...",
}
"""How each block is entered."""

_DEEPEST: Final = 64
"""Blocks in blocks."""
Strides: TypeAlias = tuple[tuple[Register, Parameter], ...]


@dataclass
class Trace:
    """The kernel being traced; `version` is the user's, None for the lowest that suffices."""

    target: Target
    version: PtxVersion | None = None
    # The threads of a CTA and the CTAs of a cluster, along x, y and z; None where no launch is
    # known, as in device functions.
    block_size: tuple[int, int, int] | None = None
    cluster_size: tuple[int, int, int] | None = None
    parameters: list[Parameter] = field(default_factory=list[Parameter])
    registers: list[Register] = field(default_factory=list[Register])
    variables: list[Variable] = field(default_factory=list[Variable])
    body: list[Statement] = field(default_factory=list[Statement])
    blocks: list[Block] = field(default_factory=list[Block])
    needed: PtxVersion = ANY_VERSION
    # The label that a directly following else_ replaces, and where in the body it stands.
    open_else: tuple[int, Label, Block] | None = None
    named: dict[str, Label] = field(default_factory=dict[str, Label])
    placed: set[Label] = field(default_factory=set[Label])
    # What the boxes of tensor maps may name: dimensions and compile-time keywords.
    sizes: dict[str, object] = field(default_factory=dict[str, object])
    # The registers that hold run-time dimensions, and which, for errors.
    run_time: dict[Register, str] = field(default_factory=dict[Register, str])
    # Elements of `reg.array` that the assignment that runs has stored: its frame, and where.
    stored: list[tuple[int, object, int]] = field(default_factory=list[tuple[int, object, int]])
    # The grid axis that counts a batch; and for each tensor the index in each level of the batch
    # whose axis it has, with the parameter that holds the stride.
    batch: Batch | None = None
    strides: dict[Parameter, Strides] = field(default_factory=dict[Parameter, "Strides"])
    # The parameter of each tensor map, by the tensor's and what the map says.
    tensor_maps: dict[tuple[Parameter, TensorMap], Parameter] = field(
        default_factory=dict[tuple[Parameter, TensorMap], Parameter]
    )
    # What the tensor map says whose address a register holds.
    map_registers: dict[Register, TensorMap] = field(default_factory=dict[Register, TensorMap])
    abandoned: LanguageError | None = None
    # Blocks that were made and not entered yet, by what they are, with their lines.
    made: dict[int, tuple[str, SourceLocation]] = field(
        default_factory=dict[int, "tuple[str, SourceLocation]"]
    )
    # What the kernel begins with, after its parameters are loaded: `start` statements of the body.
    prologue: list[Statement] = field(default_factory=list[Statement])
    start: int = 0
    # How the elements of a tensor or a variable are addressed, by what declares it.
    elements: dict[Parameter | Variable, object] = field(
        default_factory=dict["Parameter | Variable", object]
    )
    # Checks that need the whole body.
    at_end: list[Callable[[list[Statement]], None]] = field(
        default_factory=list[Callable[[list[Statement]], None]]
    )
    # The line of instructions that no line of the body asks for: loads of scalars, the last `ret`.
    implicit: SourceLocation | None = None
    # The registers that `|` made and that no instruction has written since, and how many statements
    # there were before each.
    ored: dict[Register, int] = field(default_factory=dict[Register, int])
    unrolling: Unrolling = field(default_factory=Unrolling)
    # What the module has that functions share with the kernel.
    module: ModuleScope = field(default_factory=ModuleScope)
    # Strings of `.pragma` for the instruction that follows, and for the whole kernel.
    pragmas: list[str] = field(default_factory=list[str])
    kernel_pragmas: list[str] = field(default_factory=list[str])
    # The shared memory that reductions and scans over the CTA have in common, once there is one.
    scratch: Variable | None = None
    # What fills tiles of shared memory and what reads their elements, in order.
    tiles: dict[Variable, list[Any]] = field(default_factory=dict[Variable, "list[Any]"])
    # The type of the elements of a matrix that b32 registers hold, and the length of the body when
    # they were loaded; None where they are declared so.
    fragments: dict[Register, tuple[DType, int | None]] = field(
        default_factory=dict[Register, "tuple[DType, int | None]"]
    )
    # The numbers of registers whose values do not matter until something sets them.
    undefined: set[int] = field(default_factory=set[int])
    _labels: int = 0
    _available: dict[tuple[int, tuple[str, ...]], None] = field(
        default_factory=dict[tuple[int, tuple[str, ...]], None]
    )

    # ---- making things ---------------------------------------------------------------------------

    def register(self, dtype: DType) -> Register:
        register = _make_register(len(self.registers), dtype)
        self.registers.append(register)
        return register

    def label(self) -> Label:
        self._labels += 1
        return Label(self._labels - 1)

    def variable(
        self, space: str, size: int, align: int, name: str = "", initial: bytes = b""
    ) -> Variable:
        variable = Variable(len(self.variables), space, size, align, name, initial)
        self.variables.append(variable)
        return variable

    # ---- appending -------------------------------------------------------------------------------

    def place(self, label: Label) -> None:
        self.body.append(Place(label))
        self.placed.add(label)

    def emit(
        self,
        state: State,
        raw: Sequence[Raw],
        guard: Guard | None = None,
        *,
        location: SourceLocation | None = None,
        fresh: bool = True,
        own: bool = False,
    ) -> Bound:
        """Check one instruction and append it. Raises IsaError at the user's line.

        `own` instructions are the language's, which may take the address of a batched tensor.
        """
        if self.abandoned is not None:
            raise self.abandoned
        where = location or self.implicit or caller()
        try:
            bound = check.bind(state, raw, self.register if fresh else None)
            self._require(bound, state.modifiers)
            self._require_special(bound)
        except IsaError as error:
            notes = with_product(self.body, error.notes, raw)
            raise IsaError(error.problem, location=where, notes=notes) from None
        if state.opcode == "shfl":
            check_shuffle(state.modifiers, bound.operands, where)
        if self.ored and bound.operands and bound.operands[0] in self.ored:
            made = bound.operands[0]
            assert isinstance(made, Register)
            self._check_pair(bound, made, self.ored.pop(made), where)
        if self.batch is not None:
            self._check_batch(self.batch, bound, where, own=own)
        pragmas = tuple(self.pragmas)
        self.pragmas.clear()
        self.body.append(
            _make_instruction(
                bound.form, state.modifiers, bound.operands, guard, where, pragmas, None, ()
            )
        )
        if len(self.body) >= self.unrolling.due:
            self.unrolling.count(self.body)
        return bound

    def _require(self, bound: Bound, modifiers: tuple[str, ...]) -> None:
        key = id(bound.form), modifiers
        if key not in self._available:
            needed = available.require(bound.form, modifiers, self.target, self.version)
            self.needed = max(self.needed, needed)
            self._available[key] = None

    def _require_special(self, bound: Bound) -> None:
        if SpecialRegister not in map(type, bound.operands):
            return
        for operand in bound.operands:
            if isinstance(operand, SpecialRegister):
                where = SPECIAL[operand.name].availability
                name = f"%{operand.name}"
                needed = available.require_parts(name, [where], self.target, self.version)
                self.needed = max(self.needed, needed)

    def _check_pair(self, bound: Bound, made: Register, before: int, where: SourceLocation) -> None:
        """Refuse `p | q` as the destination `p|q`: what `or` has made would be overwritten.

        Only where the instruction takes two destinations and nothing has read the result of `or`.
        """
        after = islice(self.body, before + 1, None)
        read = made in bound.operands[1:] or not all(
            isinstance(each, Instruction) and made not in _named(each) for each in after
        )
        if read or bound.form.operands[0].second is None:
            return
        raise LanguageError(
            f"`|` appends `or`, whose result {bound.form.opcode} overwrites: it is no pair of "
            "destinations",
            location=where,
            notes=(("help", "ptx.pair(p, q) is the destination p|q"),),
        )

    def _check_batch(self, batch: Batch, bound: Bound, where: SourceLocation, *, own: bool) -> None:
        """Refuse what the body cannot do where jax.vmap has taken an axis of the grid."""
        for operand in bound.operands:
            if isinstance(operand, SpecialRegister) and batch.takes(operand.name):
                raise LanguageError(
                    f"%{operand.name} counts the elements of jax.vmap here: this kernel is batched "
                    f"along the {batch.axis} axis of its grid",
                    location=where,
                    notes=(
                        (
                            "help",
                            "an axis that grid= leaves at 1 is free for jax.vmap; do not read it",
                        ),
                        ("help", "jax.lax.map runs a kernel once per element"),
                    ),
                )
            if isinstance(operand, (Address, Symbol)) and not own:
                self._check_address(operand, where)

    def _check_address(self, operand: Address | Symbol, where: SourceLocation) -> None:
        base = operand.base if isinstance(operand, Address) else operand.of
        if isinstance(base, Parameter) and base in self.strides:
            raise LanguageError(
                f"the parameter {base.name} is the address of a whole batch under jax.vmap",
                location=where,
                notes=(("help", f"p, = ptx.global_ptrs({base.name}) gives the element's address"),),
            )

    def write(self, spelling: str, *raw: Raw, guard: Guard | None = None) -> Bound:
        """Append an instruction that the language itself spells."""
        return self.emit(spelled(spelling), raw, guard, own=True)

    def subscript(self, subscripts: tuple[Subscript, ...]) -> None:
        """Say which elements the last instruction loads or stores."""
        if subscripts:
            last = self.body[-1]
            assert isinstance(last, Instruction)
            self.body[-1] = replace(last, subscripts=subscripts)

    @contextmanager
    def beginning(self) -> Generator[None]:
        """Append where the kernel begins, so that what is set there is set in every thread."""
        body, self.body = self.body, self.prologue
        try:
            yield
        finally:
            self.body = body

    # ---- blocks ----------------------------------------------------------------------------------

    def enter(self, block: Block) -> None:
        """Open a block. Raises LanguageError beyond the depth of any program that has an end."""
        if len(self.blocks) >= _DEEPEST:
            raise LanguageError(
                f"{_DEEPEST} blocks are open, one in the other",
                location=block.location,
                notes=(
                    ("why", "a block is traced once, whatever decides it when the kernel runs"),
                    ("help", "a depth that is a Python number ends: if n > 0: f(n - 1)"),
                ),
            )
        self.blocks.append(block)

    def abandon(self, block: Block) -> None:
        """What an exception left behind has no end: the trace cannot go on even if it is caught."""
        self.abandoned = LanguageError(
            f"an exception left {block.construct} while it was being traced, and was caught",
            location=block.location,
            notes=(("help", "catch it inside of the block, or let it end the trace"),),
        )

    def innermost_loop(self, construct: str) -> Block:
        for block in reversed(self.blocks):
            if block.break_label is not None:
                return block
        raise LanguageError(
            f"{construct} stands outside every loop",
            location=caller(),
            notes=(("legal in", "ptx.loop, ptx.while_, ptx.range_"),),
        )

    def finish(self, name: str) -> Kernel:
        """Close the trace: the kernel without directives."""
        if self.abandoned is not None:
            raise self.abandoned
        for block in self.blocks:
            raise left_open(block)
        for construct, location in self.made.values():
            raise LanguageError(
                f"{construct} is made here, and its block is never entered",
                location=location,
                notes=(("help", ENTERED[construct]),),
            )
        for check_body in self.at_end:
            check_body(self.body)
        self.unrolling.count(self.body)
        self.body[self.start : self.start] = self.prologue
        last = self.body[-1] if self.body else None
        ends = isinstance(last, Instruction) and not last.guard
        if not (ends and isinstance(last, Instruction) and last.form.opcode in ("ret", "exit")):
            self.write("ret")
        return Kernel(
            name,
            tuple(self.parameters),
            tuple(self.variables),
            (),
            tuple(self.registers),
            with_needed_labels(self.body),
            pragmas=tuple(self.kernel_pragmas),
            undefined=frozenset(self.undefined),
        )


def _named(instruction: Instruction) -> set[Register]:
    """The registers that an instruction reads or writes, its guard's too."""
    found = {each for operand in instruction.operands for each in registers_of(operand)}
    return found if instruction.guard is None else found | {instruction.guard.register}


def left_open(block: Block) -> LanguageError:
    """The error for a loop whose iterator was kept, and whose body never came to its end."""
    return LanguageError(
        f"{block.construct} was left by Python while it was being traced",
        location=block.location,
        notes=(("help", "ptx.break_(pred=p) leaves a loop when the kernel runs"),),
    )


_current: ContextVar[Trace | None] = ContextVar("pyptx_trace", default=None)
in_kernel: Final = _current.get
"""The kernel that is being traced, None outside of one."""
_spelled: dict[str, State] = {}


def spelled(spelling: str) -> State:
    """The ISA state of a spelling such as `add.rn.f32`, remembered."""
    state = _spelled.get(spelling)
    if state is None:
        opcode, *modifiers = spelling.split(".")
        state = _spelled[spelling] = opcode_path.walk(opcodes(), opcode, modifiers)
    return state


def current(what: object) -> Trace:
    """The trace that is open. Raises LanguageError where `what` is used outside a kernel."""
    trace = _current.get()
    if trace is None:
        raise LanguageError(
            f"{what} is used outside a kernel",
            location=caller(),
            notes=(("help", "call it in the body of a function decorated with @kernel"),),
        )
    return trace


def refuse_in_kernel(name: str) -> None:
    """Raises LanguageError where a kernel or sequence is used in the body of a kernel."""
    if _current.get() is not None:
        raise LanguageError(
            f"{name} is a kernel, and a kernel cannot be called in the body of a kernel",
            location=caller(),
            notes=(
                ("help", "a plain Python function that both call is inlined into each"),
                ("help", "@ptx.func makes a device function, which ptx.call(f, ...) calls"),
                ("help", "@pyptx.sequence applies kernels one after the other"),
            ),
        )


@contextmanager
def tracing(trace: Trace) -> Generator[Trace]:
    """Make `trace` the current one."""
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)
