"""A kernel with the functions that it calls, as one program of the emulator.

Functions stand before the kernel, each before those that call it where that can be: lanes that are
still in a function are then lower in the program than those that have left it, and run first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, TypeAlias

from pyptx._ir import Function, Instruction, Kernel, Module, Place
from pyptx._isa.model import Form
from pyptx._isa.table import forms
from pyptx._operands import CallTargets, FunctionName, Operand, Parameter, Register, Variable
from pyptx._source import UNKNOWN
from pyptx.errors import EmulationError

ALIGNMENT: Final = 16
"""Bytes that every frame is a multiple of."""

RECURSION: Final = 16 << 10
"""Bytes of stack that a thread has beyond the longest chain of calls, where a chain can go on."""

_ENDS: Final = frozenset(("ret", "exit", "trap", "bra", "brx"))

Body: TypeAlias = Kernel | Function


@dataclass(frozen=True, slots=True)
class Frame:
    """Local memory of a kernel or function: what it declares, passes in calls, and is passed."""

    offsets: Mapping[Variable | Parameter, int]
    size: int


@dataclass(frozen=True)
class Linked:
    """A kernel and its functions: `bodies` in the order of the program, the kernel last.

    `recursive` names the functions that may be called while they run. `stack` is what a thread has
    of local memory, in bytes. `variables` are the shared, constant and global ones, each with a
    number of its own; `places` says which of them a body means by one of its.
    """

    kernel: Kernel
    bodies: tuple[Body, ...]
    variables: tuple[Variable, ...]
    places: Mapping[tuple[str, Variable], Variable]
    by_name: Mapping[str, Variable | Function]
    """What addresses in initial values are of."""
    recursive: frozenset[str]
    frames: Mapping[str, Frame]
    stack: int

    @property
    def functions(self) -> tuple[Function, ...]:
        return tuple(body for body in self.bodies if isinstance(body, Function))

    def instructions(self, body: Body) -> tuple[Instruction, ...]:
        """Those of a body; a function whose end can be reached ends with `ret`."""
        found = tuple(s for s in body.body or () if isinstance(s, Instruction))
        if isinstance(body, Kernel) or body.body is None or not _runs_on(body):
            return found
        location = found[-1].location if found else UNKNOWN
        return (*found, Instruction(_ret(), (), (), location=location))

    @property
    def program(self) -> tuple[Instruction, ...]:
        """Those of the whole program."""
        return tuple(i for body in self.bodies for i in self.instructions(body))

    @property
    def register_names(self) -> tuple[str, ...]:
        """What a file calls the registers of the program, "" where no file does."""
        names: list[str] = []
        for body in self.bodies:
            written = body.written.registers
            named = len(written) == len(body.registers)
            names += written if named else [""] * len(body.registers)
        return tuple(names) if any(names) else ()


def link(kernel: Kernel, module: Module | None = None) -> Linked:
    """The kernel with all functions of the module that it may call.

    Raises EmulationError for a function that the module only declares, but for those of the
    system: they have no instructions in the program.
    """
    try:
        return _linked(_Functions(kernel, module), kernel)
    except RecursionError:
        raise EmulationError(f"the calls of {kernel.name} go too deep to be emulated") from None


def _linked(known: _Functions, kernel: Kernel) -> Linked:
    order = known.order()
    bodies: tuple[Body, ...] = (*order, kernel)
    frames = {body.name: _frame(body) for body in bodies}
    recursive = known.recursive(order)
    return Linked(
        kernel,
        bodies,
        tuple(dict.fromkeys(known.places.values())),
        known.places,
        known.by_name,
        recursive,
        frames,
        known.stack(frames, recursive),
    )


class _Functions:
    """What calls what, and which variables the program has."""

    def __init__(self, kernel: Kernel, module: Module | None) -> None:
        self._kernel = kernel
        self._functions = {f.name: f for f in module.functions} if module else {}
        self._aliases = dict(module.aliases) if module else {}
        self._module = {v.name: v for v in module.variables} if module else {}
        self._reached: dict[str, Function] = {}
        self._calls: dict[str, tuple[str, ...]] = {}
        # In the order in which bodies name them: the kernel's shared memory lies so.
        self.places: dict[tuple[str, Variable], Variable] = {}
        self._count = 0
        self._visit(kernel)
        self._indirect()

    @property
    def by_name(self) -> Mapping[str, Variable | Function]:
        """What an address in an initial value is of."""
        found: dict[str, Variable | Function] = dict(self._reached)
        found |= {name: self._reached[of] for name, of in self._aliases.items() if of in found}
        variables = ((v.name, placed) for (owner, v), placed in self.places.items() if not owner)
        return found | dict(variables)

    def function(self, name: str) -> Function:
        """Raises EmulationError for one without a body."""
        name = self._aliases.get(name, name)
        found = self._functions.get(name)
        if found is None:
            raise EmulationError(
                f"{self._kernel.name} takes the address of the kernel {name}; kernels that launch "
                "kernels are not emulated"
            )
        if found.body is None and not _is_system(found):
            raise EmulationError(
                f"{self._kernel.name} calls {name}, and the file has no body of it; of the "
                f"functions of the system, the emulator has {', '.join(_SYSTEM)}"
            )
        return found

    def _visit(self, body: Body) -> None:
        """The variables of a body, and the functions that it names."""
        names = [self.function(name).name for name in _named(body)]
        for variable in body.variables:
            if variable.space not in ("local", "param"):
                names += self._place(body, variable)
        self._calls[body.name] = tuple(dict.fromkeys(names))
        for name in self._calls[body.name]:
            if name not in self._reached:
                self._reached[name] = self.function(name)
                self._visit(self._reached[name])

    def _place(self, body: Body, variable: Variable) -> list[str]:
        """Give a variable its place; the functions whose addresses are in it."""
        owner = "" if self._module.get(variable.name) == variable else body.name
        if (owner, variable) not in self.places:
            self.places[owner, variable] = replace(variable, index=self._count)
            self._count += 1
        self.places[body.name, variable] = self.places[owner, variable]
        names: list[str] = []
        for address in variable.addresses:
            other = self._module.get(address.of)
            if other is None:
                names.append(self.function(address.of).name)
            elif ("", other) not in self.places:
                names += self._place(body, other)
        return names

    def _indirect(self) -> None:
        """A call through an address may reach every function whose address is taken."""
        taken = tuple(
            name
            for body in (self._kernel, *self._reached.values())
            for name in self._calls[body.name]
            if name not in _called(body, self._aliases)
        )
        for body in (self._kernel, *self._reached.values()):
            if _calls_addresses(body):
                named = self._calls[body.name]
                self._calls[body.name] = tuple(dict.fromkeys((*named, *taken)))

    def order(self) -> tuple[Function, ...]:
        """Each function before those that call it, where none calls itself through others."""
        found: dict[str, Function] = {}
        open_ones: set[str] = set()

        def visit(name: str) -> None:
            if name in found or name in open_ones:
                return
            open_ones.add(name)
            for other in self._calls[name]:
                visit(other)
            found[name] = self._reached[name]

        for name in self._calls[self._kernel.name]:
            visit(name)
        return tuple(found.values())

    def recursive(self, functions: Iterable[Function]) -> frozenset[str]:
        return frozenset(f.name for f in functions if f.name in self._below(f.name))

    def _below(self, name: str) -> set[str]:
        """The functions that may run while this one does."""
        below: set[str] = set()
        work = list(self._calls[name])
        while work:
            other = work.pop()
            if other not in below:
                below.add(other)
                work += self._calls[other]
        return below

    def stack(self, frames: Mapping[str, Frame], recursive: frozenset[str]) -> int:
        """The local memory of a thread: the longest chain of frames, and more for recursion."""
        depths: dict[str, int] = {}

        def depth(name: str) -> int:
            if name not in depths:
                depths[name] = 0  # a call back into the chain
                inner = max(map(depth, self._calls[name]), default=0)
                depths[name] = frames[name].size + inner
            return depths[name]

        return depth(self._kernel.name) + (RECURSION if recursive else 0)


def _operands(body: Body) -> Iterator[Operand]:
    for statement in body.body or ():
        if isinstance(statement, Instruction):
            yield from statement.operands


def _named(body: Body) -> Iterator[str]:
    """The functions that a body calls, or takes the address of."""
    for operand in _operands(body):
        if isinstance(operand, FunctionName):
            yield operand.name
        elif isinstance(operand, CallTargets):
            yield from (function.name for function in operand.functions)


def _calls(body: Body) -> Iterator[Instruction]:
    for statement in body.body or ():
        if isinstance(statement, Instruction) and statement.form.opcode == "call":
            yield statement


def _called(body: Body, aliases: Mapping[str, str]) -> set[str]:
    """The functions that a body calls by name."""
    names = (o.name for i in _calls(body) for o in i.operands if isinstance(o, FunctionName))
    return {aliases.get(name, name) for name in names}


def _calls_addresses(body: Body) -> bool:
    return any(not any(isinstance(o, FunctionName) for o in i.operands) for i in _calls(body))


def _frame(body: Body) -> Frame:
    """What a body has in local memory; parameters of a kernel are the launch's."""
    formal: Sequence[Parameter | Register] = ()
    if isinstance(body, Function):
        formal = (*body.returns, *body.parameters)
    own = (v for v in body.variables if v.space in ("local", "param"))
    offsets: dict[Variable | Parameter, int] = {}
    end = 0
    for each in (*(p for p in formal if isinstance(p, Parameter)), *own):
        align = each.alignment if isinstance(each, Parameter) else each.align
        offsets[each] = -(-end // align) * align
        end = offsets[each] + each.size
    return Frame(offsets, -(-end // ALIGNMENT) * ALIGNMENT)


_SYSTEM: Final[Mapping[str, tuple[list[int], list[int]]]] = {
    "vprintf": ([4], [8, 8]),
    "__assertfail": ([], [8, 8, 4, 8, 8]),
    "malloc": ([8], [8]),
    "free": ([], [8]),
}
"""Functions of CUDA's device runtime, with the bytes of what they give and take."""


def _is_system(function: Function) -> bool:
    """Whether the core has it, as CUDA declares it."""
    given, taken = _SYSTEM.get(function.name, ([0], [0]))
    return (_sizes(function.returns), _sizes(function.parameters)) == (given, taken)


def _sizes(formals: Iterable[Parameter | Register]) -> list[int]:
    return [p.size if isinstance(p, Parameter) else 0 for p in formals]


def _runs_on(function: Function) -> bool:
    """Whether the end of the body can be reached: nothing, a label or a guard stands there."""
    last = function.body[-1] if function.body else None
    if last is None or isinstance(last, Place):
        return True
    return last.guard is not None or last.form.opcode not in _ENDS


@cache
def _ret() -> Form:
    return next(form for form in forms() if form.opcode == "ret")
