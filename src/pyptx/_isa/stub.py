"""Typing stubs of `ptx.inst` and `ptx.special`, from the tables.

`python -m pyptx._isa.stub` writes them beside the modules that they describe.

The forms of an opcode become a deterministic automaton, whose states are merged where everything
that may follow is the same; each state left is a class, its modifiers are attributes, and a call
has an overload for each way to give the operands. Types know no dtypes: a register is a `Reg`.
"""

from __future__ import annotations

import keyword
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from pyptx._isa.forms import calls
from pyptx._isa.model import WIDE, Form, OperandSpec, Option, Slot, length_in, slot_of
from pyptx._isa.opcode_path import python_name
from pyptx._isa.operand_types import length_of, type_of
from pyptx._isa.special import SPECIAL, SpecialEntry
from pyptx._isa.syntax import takes_constant
from pyptx._isa.table import forms
from pyptx.types import DTYPES, DType

COMMAND: Final = "python -m pyptx._isa.stub"
_TRACE: Final = Path(__file__).parents[1] / "_trace" / "control"
_WIDTH: Final = 100

_WRITTEN: Final = f"# Written by `{COMMAND}` from the ISA table.\n\n"
HEADER: Final = f'''{_WRITTEN}\
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar, overload

import numpy as np

from pyptx._isa.given import RawPair, TensorPosition
from pyptx._operands import (
    Address,
    FabricHandle,
    FunctionName,
    Label,
    Minus,
    Pair,
    Parameter,
    Part,
    Sink,
    Symbol,
    Targets,
    TensorAddress,
    Variable,
)
from pyptx._trace.core.context import Trace
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Not, Reg, Special

class _Memory(Protocol):
    """Something in memory that is its address as an operand, such as a shared tile."""

    def __ptx_operand__(self, trace: Trace) -> Symbol | Address: ...

class _Named(Protocol):
    """Something whose address a `mov` takes: memory or a function."""

    def __ptx_operand__(self, trace: Trace) -> Symbol | Address | FunctionName: ...

_Whole: TypeAlias = int | np.integer[Any]
_Number: TypeAlias = float | np.generic
_Source: TypeAlias = Reg | Not
_Integer: TypeAlias = _Source | _Whole
_Float: TypeAlias = _Source | _Number
_Symbol: TypeAlias = Symbol | Variable | Parameter | FunctionName | _Named
_Address: TypeAlias = Address | Reg | Symbol | Variable | Parameter | _Memory
_Position: TypeAlias = TensorPosition | TensorAddress
_Targets: TypeAlias = Targets | Sequence[Label] | Sequence[str]
_Registers: TypeAlias = Sequence[Reg] | RegArray
_Sources: TypeAlias = Sequence[_Source] | RegArray
_Integers: TypeAlias = Sequence[_Integer] | RegArray
_Floats: TypeAlias = Sequence[_Float] | RegArray
_Mixed: TypeAlias = Sequence[Reg | Sink] | RegArray
_Guard: TypeAlias = Reg | Not | None

_Vector = TypeVar("_Vector", bound=_Registers)
_Two = TypeVar("_Two", bound=Reg | Pair)
_Selected = TypeVar("_Selected", bound=Reg | Part)

class Spelling:
    """An opcode and modifiers so far. Call it with the operands, destination first or left out."""
'''

FOOTER: Final = """
inst: Final[Instructions]
"""

# ---- what is a state ----------------------------------------------------------------------------

_Facts: TypeAlias = tuple[tuple[str, Option], ...]
_Position: TypeAlias = tuple[Form, int, _Facts]


@dataclass(frozen=True, slots=True)
class Call:
    """One way to call a spelling: (name, type) of the operands, how many are needed, the result."""

    parameters: tuple[tuple[str, str], ...]
    least: int
    result: str


@dataclass(frozen=True, slots=True)
class Node:
    """Everything that may follow a spelling: modifiers with the state after each, and calls."""

    after: tuple[tuple[str, int], ...]
    calls: tuple[Call, ...]


class Automaton:
    """The minimal automaton of one opcode: its states, each numbered after those that follow it."""

    def __init__(self, opcode_forms: tuple[Form, ...]) -> None:
        self.nodes: list[Node] = []
        self._order = {form: (form.syntax, i) for i, form in enumerate(opcode_forms)}
        self._numbers: dict[Node, int] = {}
        self._known: dict[frozenset[_Position], int | None] = {}
        self._matters = {form: _matters(form) for form in opcode_forms}
        first = self._visit(self._closed({(form, 0, ()) for form in opcode_forms}))
        assert first is not None
        self.first = first

    def _visit(self, positions: frozenset[_Position]) -> int | None:
        """The number of a state; None where no spelling is reached from it."""
        if positions not in self._known:
            after: list[tuple[str, int]] = []
            for name, reached in self._next(positions):
                number = self._visit(reached)
                if number is not None:
                    after.append((name, number))
            node = Node(tuple(after), _calls(self._ends(positions)))
            empty = not node.after and not node.calls
            self._known[positions] = None if empty else self._number(node)
        return self._known[positions]

    def _ends(self, positions: frozenset[_Position]) -> list[tuple[Form, dict[str, Option]]]:
        """The forms that are complete, in the order in which a call tries them."""
        ends = [(form, facts) for form, index, facts in positions if index == len(form.slots)]
        ends.sort(key=lambda end: (self._order[end[0]], [(s, o.name) for s, o in end[1]]))
        return [(form, dict(facts)) for form, facts in ends if form.allows(dict(facts))]

    def _number(self, node: Node) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]

    def _next(self, positions: frozenset[_Position]) -> Iterator[tuple[str, frozenset[_Position]]]:
        reached: defaultdict[str, set[_Position]] = defaultdict(set)
        for form, index, facts in positions:
            if index < len(form.slots):
                slot = form.slots[index]
                for option in slot.options:
                    known = self._matters[form].get(slot.name)
                    fact = ((slot.name, known[option.name]),) if known else ()
                    reached[option.name].add((form, index + 1, facts + fact))
        for name in sorted(reached):
            yield name, self._closed(reached[name])

    def _closed(self, positions: set[_Position]) -> frozenset[_Position]:
        """Add the positions reached by leaving optional slots out."""
        found = set(positions)
        for form, index, facts in positions:
            for end in range(index, len(form.slots)):
                if form.slots[end].required:
                    break
                found.add((form, end + 1, facts))
        return frozenset(found)


def _matters(form: Form) -> dict[str, dict[str, Option]]:
    """For each slot on which rules or operands depend, an option that stands for each other one.

    Options for which all of them come out the same are one, so that states stay few.
    """
    found: dict[str, dict[str, Option]] = {}
    for slot in form.slots:
        classes: dict[object, Option] = {}
        by_name = {o.name: classes.setdefault(_effect(form, slot, o), o) for o in slot.options}
        if any(_uses(form, slot)):
            found[slot.name] = by_name
    return found


def _uses(form: Form, slot: Slot) -> Iterator[bool]:
    for condition, requirement in form.rules:
        yield slot.name in (_slot_in(condition), _slot_in(requirement))
    for spec in form.operands:
        length = slot_of(spec.length) if isinstance(spec.length, str) else None
        yield slot.name in (_slot_in_type(spec), length, spec.when)


def _slot_in(term: str) -> str:
    return term.lstrip("!").partition("=")[0].removesuffix("?")


def _slot_in_type(spec: OperandSpec) -> str:
    return spec.type.removeprefix("wide(").removesuffix(")")


def _effect(form: Form, slot: Slot, option: Option) -> tuple[object, ...]:
    """What a rule or an operand sees of an option."""
    terms = (term for rule in form.rules for term in rule if _slot_in(term) == slot.name)
    effect: list[object] = [option.name in term.partition("=")[2].split("|") for term in terms]
    for spec in form.operands:
        if _slot_in_type(spec) == slot.name:
            wide = spec.type.startswith("wide(")
            effect.append(_suits(DTYPES[WIDE[option.name] if wide else option.name]))
        if isinstance(spec.length, str) and slot_of(spec.length) == slot.name:
            effect.append((length_in(spec.length, option.name) or 1) > 1)
    return tuple(effect)


def _suits(dtype: DType) -> tuple[str, bool]:
    """What may stand for a register of a type: a kind of numbers, and whether an address may."""
    numbers = ("Float" if dtype.is_float else "Integer") if takes_constant(dtype.name) else "Source"
    return numbers, dtype.bits in (32, 64) and (dtype.is_integer or dtype.is_bits)


# ---- calls --------------------------------------------------------------------------------------


def _calls(ends: list[tuple[Form, dict[str, Option]]]) -> tuple[Call, ...]:
    """The calls of a state: with the destination, then without, then with it thrown away.

    Types do not tell some forms apart; what an earlier call takes too is left to that.
    """
    groups: tuple[list[Call], list[Call], list[Call]] = ([], [], [])
    for form, chosen in ends:
        _add(groups, form, chosen)
    found: list[Call] = []
    for call in (call for group in groups for call in group):
        index = next((i for i, known in enumerate(found) if _covers(known, call)), None)
        if index is None:
            found.append(call)
        else:
            found[index] = _named_for_both(found[index], call)
    return tuple(found)


def _add(groups: tuple[list[Call], ...], form: Form, chosen: dict[str, Option]) -> None:
    full, short, thrown = groups
    specs = [o for o in form.operands if o.when is None or o.when in chosen]
    types = [_type(o, chosen) for o in specs]
    types[1:] = (_LATER.get(type_, type_) for type_ in types[1:])
    given = tuple(zip(map(_parameter, specs), types, strict=True))
    least = sum(not o.optional for o in specs)
    full.append(Call(given, least, given[0][1] if form.outputs else "None"))
    if form.outputs and "sink" in specs[0].accepts and given[0][1] in _THROWN:
        thrown_away = _THROWN[given[0][1]]
        full.append(Call(((given[0][0], thrown_away), *given[1:]), least, thrown_away))
    if specs and specs[0].access == "out" and not specs[0].partial:
        made = _made(specs[0], chosen)
        (thrown if made == "None" else short).append(Call(given[1:], least - 1, made))


_LATER: Final = {"_Vector": "_Registers", "_Two": "Reg | Pair"}
"""Destinations behind the first, which is what a call returns."""

_THROWN: Final = {"Reg": "Sink", "_Vector": "_Mixed"}
"""What a destination may be besides, where it, or elements of it, may be thrown away."""


def _covers(known: Call, call: Call) -> bool:
    """Whether a call takes everything that another takes."""
    types = zip(known.parameters, call.parameters, strict=False)
    return (
        known.least <= call.least
        and len(call.parameters) <= len(known.parameters)
        and all(_atoms(b) <= _atoms(a) for (_, a), (_, b) in types)
    )


def _atoms(type_: str) -> set[str]:
    return {atom for part in type_.split(" | ") for atom in _ATOMS.get(part, part).split()}


_ATOMS: Final = {
    "_Source": "Reg Not",
    "_Whole": "int",
    "_Number": "int float",
    "_Integer": "Reg Not int",
    "_Float": "Reg Not int float",
    "_Address": "Reg Address Symbol",
    "_Vector": "[Reg]",
    "_Registers": "[Reg]",
    "_Mixed": "[Reg] [Sink]",
    "_Sources": "[Reg] [Not]",
    "_Integers": "[Reg] [Not] [int]",
    "_Floats": "[Reg] [Not] [int] [float]",
    "_Two": "Reg Pair",
    "_Selected": "Reg Part",
}
"""The parts of the stub's types, to compare them; a type that is not here has one."""


def _named_for_both(known: Call, call: Call) -> Call:
    if known.result != call.result or len(known.parameters) != len(call.parameters):
        return known
    pairs = zip(known.parameters, call.parameters, strict=True)
    merged = ((a if b in a.split("_or_") else f"{a}_or_{b}", type_) for (a, type_), (b, _) in pairs)
    return Call(tuple(merged), known.least, known.result)


def _parameter(spec: OperandSpec) -> str:
    return f"{spec.name}_" if spec.name in ("pred", "self", *keyword.kwlist) else spec.name


def _made(spec: OperandSpec, chosen: dict[str, Option]) -> str:
    if spec.kind == "sink":
        return "None"
    return "list[Reg]" if _is_vector(spec, chosen) else "Reg"


def _is_vector(spec: OperandSpec, chosen: dict[str, Option]) -> bool:
    return spec.braces or length_of(spec, chosen) > 1


_KINDS: Final = {
    "address": "_Address",
    "tensor": "_Position",
    "fabric": "FabricHandle",
    "sink": "Sink",
    "label": "Label | str",
    "labels": "_Targets",
}
"""The type of an operand that is no value, by its kind."""


def _type(spec: OperandSpec, chosen: dict[str, Option]) -> str:
    if spec.kind in _KINDS:
        return _KINDS[spec.kind]
    numbers, holds_address = _suits(type_of(spec, chosen))
    if spec.kind == "immediate":
        return "_Number" if numbers == "Float" else "_Whole"
    if spec.access != "in":
        return _destination(spec, chosen)
    takes = f"_{numbers}" if "immediate" in spec.accepts else "_Source"
    if spec.parts or spec.minus:
        return _decorated(spec, takes)
    if _is_vector(spec, chosen):
        return f"{takes}s"
    special = " | Special" if "special" in spec.accepts else ""
    symbol = " | _Symbol" if "symbol" in spec.accepts and holds_address else ""
    return f"{takes}{special}{symbol}"


def _decorated(spec: OperandSpec, takes: str) -> str:
    """A source that may be a part of a register, or negated."""
    if spec.minus == "required":
        return "Minus"
    return f"{takes}{' | Part' if spec.parts else ''}{' | Minus' if spec.minus else ''}"


def _destination(spec: OperandSpec, chosen: dict[str, Option]) -> str:
    if spec.parts:
        return "Part" if spec.partial else "_Selected"
    if _is_vector(spec, chosen):
        return "RawPair" if spec.second == "required" else "_Vector"
    if spec.second is not None:
        return "Pair" if spec.second == "required" else "_Two"
    return "Reg"


# ---- text ---------------------------------------------------------------------------------------


def text() -> str:
    """The whole stub. The same for the same table, in every process."""
    by_opcode: defaultdict[str, list[Form]] = defaultdict(list)
    passed = [form for form in calls.FORMS if form.opcode != "call"]  # `ptx.call` is that
    for form in (*forms(), *passed):
        by_opcode[form.opcode].append(form)
    opcodes = {name: tuple(by_opcode[name]) for name in sorted(by_opcode)}
    parts = [HEADER]
    parts += ["".join(_classes(name, Automaton(each))) for name, each in opcodes.items()]
    parts.append("class Instructions:\n")
    parts.append('    """The root of the namespace; its attributes are opcodes."""\n\n')
    for name, each in opcodes.items():
        parts.append(f"    {python_name(name)}: {_class(name, 0)}\n{_documentation(each)}")
    # What a program puts together has operands that only the trace can check.
    parts.append("    def __getitem__(self, spelling: str) -> Callable[..., Any]: ...\n")
    return "".join((*parts, FOOTER))


def _documentation(opcode_forms: tuple[Form, ...]) -> str:
    first, *more = dict.fromkeys(form.summary for form in opcode_forms)
    if not more:
        return f'    """{first}"""\n'
    return "".join((f'    """{first}\n\n', *(f"    {line}\n" for line in more), '    """\n'))


def _class(opcode: str, place: int) -> str:
    """The class of a state, numbered as the walk from the opcode first meets it."""
    return f"_{opcode}_{place}" if place else f"_{opcode}"


def _classes(opcode: str, automaton: Automaton) -> Iterator[str]:
    places = _places(automaton)
    for number, place in places.items():
        node = automaton.nodes[number]
        yield f"\nclass {_class(opcode, place)}(Spelling):\n"
        for name, after in node.after:
            yield f"    {python_name(name)}: {_class(opcode, places[after])}\n"
        for call in node.calls:
            yield "    @overload\n" if len(node.calls) > 1 else ""
            yield _definition(call)


def _places(automaton: Automaton) -> dict[int, int]:
    places = {automaton.first: 0}
    waiting = [automaton.first]
    for number in waiting:
        for _, after in automaton.nodes[number].after:
            if after not in places:
                places[after] = len(places)
                waiting.append(after)
    return places


def _definition(call: Call) -> str:
    defaults = ["" if i < call.least else " = ..." for i in range(len(call.parameters))]
    listed = [f"{n}: {t}{d}" for (n, t), d in zip(call.parameters, defaults, strict=True)]
    parameters = ["self", *listed, *(["/"] if listed else []), "*", "pred: _Guard = None"]
    line = f"    def __call__({', '.join(parameters)}) -> {call.result}: ..."
    if len(line) <= _WIDTH:
        return f"{line}\n"
    inner = "".join(f"        {each},\n" for each in parameters)
    return f"    def __call__(\n{inner}    ) -> {call.result}: ...\n"


def special_text() -> str:
    """The stub of `ptx.special`: a method for each register, a class for one with components."""
    components: defaultdict[str, list[SpecialEntry]] = defaultdict(list)
    for entry in SPECIAL.values():
        components[entry.name.partition(".")[0]].append(entry)
    parts = [
        f"{_WRITTEN}from typing import Final\n\nfrom pyptx._trace.core.values import Special\n"
    ]
    whole: list[str] = []
    for name, entries in components.items():
        if entries[0].name == name:
            whole.append(_read(name, entries[0]))
        else:
            methods = "\n".join(_read(e.name.partition(".")[2], e) for e in entries)
            parts.append(f"\nclass _{name}:\n{methods}")
            whole.append(f'    {name}: _{name}\n    """{_sentence(entries[0])}"""\n')
    parts.append('\nclass Specials:\n    """The special registers, as operands of `mov`."""\n\n')
    parts.append("\n".join(whole))
    return "".join((*parts, "\nspecial: Final[Specials]\n"))


def _read(name: str, entry: SpecialEntry) -> str:
    return f'    def {name}(self) -> Special:\n        """{_sentence(entry)}"""\n'


def _sentence(entry: SpecialEntry) -> str:
    summary = entry.summary[0].upper() + entry.summary[1:]
    return f"{summary}, .{entry.dtype}."


FILES: Final = {_TRACE / "namespace.pyi": text, _TRACE / "special.pyi": special_text}
"""The stubs, each with what makes its text."""


def main() -> None:
    """Write the stubs beside the modules that they describe."""
    for path, made in FILES.items():
        path.write_text(made())
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
