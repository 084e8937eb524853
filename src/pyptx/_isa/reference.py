"""What the table knows of an instruction, in words, and a page of it for each opcode.

`pyptx isa` prints the same facts. Whether the emulator runs a form is asked by whoever knows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from pyptx._isa.address import REFERENCES
from pyptx._isa.differences import LAXER
from pyptx._isa.example import Example, example, name_of
from pyptx._isa.model import (
    EVERYWHERE,
    PART_NAMES,
    PARTS,
    Availability,
    Form,
    OperandSpec,
    Option,
    Slot,
)
from pyptx._isa.opcode_path import python_spelling
from pyptx._isa.table import forms
from pyptx._isa.written import NOTES

MANUAL: Final = "https://docs.nvidia.com/cuda/parallel-thread-execution/"
COMMAND: Final = "python tools/isa_pages.py"
Emulated = Callable[[Form], str]
"""What is said of a form's running in the emulator: `yes`, `no`, or what of it does not."""


@dataclass(frozen=True, slots=True)
class Section:
    """The forms of an opcode that one section of the manual describes."""

    opcode: str
    section: str
    chapter: str
    summary: str
    forms: tuple[Form, ...]

    @property
    def example(self) -> Example:
        """A kernel that has one of the forms."""
        return example(self.forms)


@cache
def sections() -> tuple[Section, ...]:
    """Every section, in the manual's order."""
    found: defaultdict[tuple[str, str], list[Form]] = defaultdict(list)
    for form in forms():
        found[form.opcode, form.section].append(form)
    return tuple(
        Section(opcode, section, each[0].chapter, each[0].summary, tuple(each))
        for (opcode, section), each in found.items()
    )


# ---- words --------------------------------------------------------------------------------------


def targets(availability: Availability) -> str:
    """`sm_90+` is that and everything later, `sm_90a` that alone, `sm_100f+` its family."""
    names = availability.sm.split()
    return ", ".join(n if n.endswith("a") else f"{n}+" for n in names) or "all"


def version(availability: Availability) -> str:
    """The first PTX version, `any` where all that are known have it."""
    return "any" if availability.ptx == EVERYWHERE.ptx else f"{availability.ptx}+"


def beyond(availability: Availability) -> str:
    """What an option needs beyond its form, in words; empty where that is nothing."""
    parts = [targets(availability)] if availability.sm else []
    if availability.ptx != EVERYWHERE.ptx:
        parts.append(f"PTX {version(availability)}")
    return ", ".join(parts)


def options(slot: Slot, usable: Callable[[Option], bool] = lambda _: True) -> str:
    """The options of a slot, each with what it needs beyond its form."""
    needs = ((o.name, beyond(o.availability)) for o in slot.options if usable(o))
    return " ".join(f".{name} [{need}]" if need else f".{name}" for name, need in needs)


def telling(slot: Slot) -> bool:
    """Whether a slot has something to choose, to leave out, or needs more than its form."""
    return len(slot.options) > 1 or any(beyond(o.availability) for o in slot.options)


def rules(form: Form) -> list[str]:
    """What of a form combines, in sentences."""
    return [_rule(form, *rule) for rule in form.rules]


def _rule(form: Form, condition: str, requirement: str) -> str:
    if requirement.startswith("!"):
        return f"{_term(form, condition)} excludes {_term(form, requirement[1:])}"
    return f"{_term(form, condition)} needs {_term(form, requirement)}"


def _term(form: Form, term: str) -> str:
    if term.startswith("!"):
        return f"leaving out {_term(form, term[1:])}"
    name, _, values = term.partition("=")
    if name.endswith("?"):
        return f"{_either(values.split('|'))} or no .{name[:-1]}"
    if values:
        return _either(values.split("|"))
    slot = next(s for s in form.slots if s.name == name)
    return f".{name}" if len(slot.options) > 1 else _either([o.name for o in slot.options])


def _either(names: Sequence[str]) -> str:
    *head, last = (f".{name}" for name in names)
    return f"{', '.join(head)} or {last}" if head else last


def operand(form: Form, spec: OperandSpec) -> str:
    """What an operand is: its kind, type, length, where it may be left out, what is legal."""
    described = _KINDS.get(spec.kind, _value)(form, spec)
    if spec.access != "in":
        described = f"{'destination' if spec.access == 'out' else 'read and written'}: {described}"
    if spec.when is not None:
        described += f"; there with .{spec.when} only"
    return f"{described}; may be left out" if spec.optional else described


def _value(form: Form, spec: OperandSpec) -> str:
    described = _registers(form, spec)
    more = [words for name, words in _ACCEPTS.items() if name in spec.accepts]
    if "list" in described:
        described += "".join(f"; some may be {words}" for words in more)
        more = []
    if spec.negatable:
        more.append("its negation, ~p")
    if spec.parts and not spec.partial:
        more.append(f"a part of a register, {_part(spec)}")
    if spec.minus == "optional":
        more.append(f"either negated, ptx.minus({name_of(spec)})")
    if spec.kind == "immediate":
        described, more = f"a {_type(form, spec)} constant", []
    if spec.second is not None:
        second = "ptx.pair(d, p) with a predicate behind it"
        described += f", as {second}" if spec.second == "required" else f", or {second}"
    legal = f", {_legal(spec)}" if spec.legal is not None else ""
    wider = "; may be wider than the type" if spec.wider else ""
    return f"{' or '.join([described, *more])}{legal}{wider}"


def _registers(form: Form, spec: OperandSpec) -> str:
    type_ = _type(form, spec)
    if spec.partial:
        return f"a part of a {type_} register, {_part(spec)}"
    if spec.minus == "required":
        return f"a {type_} register that is negated, ptx.minus({name_of(spec)})"
    if spec.first:
        return f"a list of {spec.length} registers, the first .{spec.first}, the others {type_}"
    if isinstance(spec.length, str):
        return f"a list of {type_} registers, {_length(form, spec)}"
    if spec.length > 1 or spec.braces:
        return f"a list of {spec.length} {type_} register{'s' if spec.length > 1 else ''}"
    return f"a {type_} register"


def _part(spec: OperandSpec) -> str:
    return f'ptx.part({name_of(spec)}, "{PARTS[spec.parts][-1]}"): {PART_NAMES[spec.parts]}'


_ACCEPTS: Final = {
    "immediate": "a constant",
    "special": "a special register",
    "symbol": "the address of a variable",
    "sink": "ptx.sink",
}
"""What an operand takes besides a register."""


def _type(form: Form, spec: OperandSpec) -> str:
    wide = spec.type.startswith("wide(")
    name = spec.type.removeprefix("wide(").removesuffix(")")
    slot = next((s for s in form.slots if s.name == name), None)
    if slot is not None and len(slot.options) == 1:
        name = slot.options[0].name
    if spec.whole:
        return f"{name.removeprefix('b')}-bit integer"
    return f".{name}" if not wide else f"(twice as wide as .{name})"


def _length(form: Form, spec: OperandSpec) -> str:
    length = str(spec.length)
    slot = next(s for s in form.slots if length.startswith(s.name))
    if length != slot.name:
        return f"{length.replace(slot.name, f'.{slot.name}')} of them by its number"
    return f"as many as .{slot.name} says" + ("" if slot.required else ", one register without it")


def _legal(spec: OperandSpec) -> str:
    assert spec.legal is not None
    if isinstance(spec.legal, range):
        steps = f" in steps of {spec.legal.step}" if spec.legal.step > 1 else ""
        return f"{spec.legal[0]} to {spec.legal[-1]}{steps}"
    return " or ".join(map(str, sorted(spec.legal)))


def _address(_form: Form, spec: OperandSpec) -> str:
    space = " or ".join(
        s if s == "generic" else f".{s}" for s in (_SPACES.get(n, n) for n in spec.spaces)
    )
    if spec.spaces == ("handle",):
        return "a texture or surface handle, 64 bits in a register"
    if spec.spaces == ("tmem",):
        return "an address in Tensor Memory, in a .b32 register"
    spelled = " (the space that the modifiers name, generic without)" if space == ".space" else ""
    where = "an address" if spelled else f"an address in {space}" if space != "generic" else (
        "a generic address"
    )  # fmt: skip
    align = f", a multiple of {spec.align} bytes" if spec.align else ""
    only = "" if "variable" in spec.accepts else ", in a register"
    return f"{where}{spelled}{align}{only}"


_SPACES: Final = {"ss": "space"}
"""Slots that spell a state space under another name."""


def _tensor(form: Form, spec: OperandSpec) -> str:
    coordinates = f"{spec.length} {_type(form, spec)} coordinates"
    if isinstance(spec.length, str):
        coordinates = f"{_type(form, spec)} coordinates, as many as .{spec.length} says"
    what = "the address of a tensor map" if spec.name == "tensorMap" else "a handle"
    names = "".join(f", {name_of(each)}" for each in spec.inner)
    between = "".join(f"{each.name}: {operand(form, each)}; " for each in spec.inner)
    found = f"{what} and {coordinates}, ptx.addr(a{names}, [x, y])"
    return f"{found}; between them {between.removesuffix('; ')}" if between else found


def _fabric(_form: Form, spec: OperandSpec) -> str:
    offsets = "".join(f", {name_of(each)}" for each in spec.inner)
    registers = "one of 32 bits and " + ("one" if len(spec.inner) == 1 else "two") + " of 64"
    called = f"ptx.fabric_handle({name_of(spec)}{offsets})"
    return f"a handle of the fabric, {called}, in registers, {registers}"


_KINDS: Final[dict[str, Callable[[Form, OperandSpec], str]]] = {
    "address": _address,
    "tensor": _tensor,
    "fabric": _fabric,
    "sink": lambda _form, _spec: "ptx.sink, or left out",
    "label": lambda _form, _spec: "a label: ptx.label(), or the name of one",
    "labels": lambda _form, _spec: "a list of labels",
    "function": lambda _form, _spec: "a function that ptx.func makes",
    "arguments": lambda _form, _spec: "a list of ptx.argument(...) or registers",
    "prototype": lambda _form, _spec: "a ptx.prototype(...), or the functions that it can be",
}
"""How an operand that is no value is described, by its kind."""


def in_python(form: Form, modifiers: tuple[str, ...]) -> list[str]:
    """How a spelling is called: with the destination left out where it can be, and with it."""
    if form.opcode == "call":
        return [_call(form)]
    chosen = form.assign(modifiers) or {}
    spelled = python_spelling(".".join((form.opcode, *modifiers)))
    specs = [o for o in form.operands if o.when is None or o.when in chosen]
    names = [_argument(spec) for spec in specs]
    calls = [f"{spelled}({', '.join(names)})"]
    made_here = specs and specs[0].second != "required" and not specs[0].partial
    if made_here and specs[0].access == "out":
        made = "" if specs[0].kind == "sink" else f"{name_of(specs[0])} = "
        calls.insert(0, f"{made}{spelled}({', '.join(names[1:])})")
    return calls


def _call(form: Form) -> str:
    names = [spec.name for spec in form.operands]
    given = ["fptr" if "fptr" in names else "func", *(["params"] if "params" in names else [])]
    given += (["ret"] if "ret" in names else []) + (["through=flist"] if "flist" in names else [])
    return f"ptx.call({', '.join(given)})"


def _argument(spec: OperandSpec) -> str:
    if spec.kind == "address":
        return f"ptx.addr({name_of(spec)})"
    if spec.kind == "tensor":
        between = "".join(f", {name_of(each)}" for each in spec.inner)
        return f"ptx.addr({name_of(spec)}{between}, [...])"
    if spec.kind == "fabric":
        return f"ptx.fabric_handle({', '.join(map(name_of, (spec, *spec.inner)))})"
    if spec.minus == "required":
        return f"ptx.minus({name_of(spec)})"
    if spec.partial:
        return f'ptx.part({name_of(spec)}, "{PARTS[spec.parts][0]}")'
    if spec.second == "required":
        return f"ptx.pair({name_of(spec)}, p)"
    return "ptx.sink" if spec.kind == "sink" else name_of(spec)


def notes(opcode: str) -> list[str]:
    """What is often got wrong, and where assemblers take what the manual does not have."""
    laxer = (d.reason for d in LAXER if opcode in _opcodes(d.spelling))
    refused = (f"Refused, though an assembler may take it: {reason}." for reason in laxer)
    return [*NOTES.get(opcode, ()), *refused]


def _opcodes(pattern: str) -> list[str]:
    """The opcodes that a pattern for spellings begins with: `(ld|st)\\..*`, `testp\\...`."""
    begun = re.match(r"\(?([\w|]+)\)?\\\.", pattern)
    return begun[1].split("|") if begun else []


# ---- pages --------------------------------------------------------------------------------------


def page(opcode: str, emulated: Emulated) -> str:
    """The page of an opcode."""
    own = [s for s in sections() if s.opcode == opcode]
    parts = [f"# {opcode}", ""]
    if len(own) > 1:
        parts += [f"- [{_heading(s)}](#{_anchor(_heading(s))})" for s in own] + [""]
    for section in own:
        parts += _section(section, emulated, alone=len(own) == 1)
    if said := notes(opcode):
        parts += ["## Notes", "", *(f"- {each}" for each in said), ""]
    parts += ["[All instructions](README.md)", ""]
    return "\n".join(parts)


def _heading(section: Section) -> str:
    """What sets a section apart from the others of its opcode."""
    tail = _tail(section)
    if sum(_tail(s) == tail and s.opcode == section.opcode for s in sections()) > 1:
        return f"{tail}: {section.chapter.removesuffix(' Instructions').lower()}"
    return tail


def _tail(section: Section) -> str:
    return section.section.rpartition("instructions-")[2].replace("-", " ")


def _anchor(heading: str) -> str:
    """What a heading is called in links."""
    return re.sub(r"[^\w -]", "", heading).replace(" ", "-").lower()


def _section(section: Section, emulated: Emulated, *, alone: bool) -> Iterator[str]:
    if not alone:
        yield from (f"## {_heading(section)}", "")
    yield from (section.summary, "")
    where = f"PTX ISA, [{section.chapter}]({MANUAL}#{section.section})"
    yield from (where, "")
    yield from _table(
        ("", "form", "targets", "PTX", "emulated"),
        [
            (
                str(number),
                _code(form.syntax),
                targets(form.availability),
                version(form.availability),
                _marked(emulated(form)),
            )
            for number, form in enumerate(section.forms, 1)
        ],
    )
    yield from _modifiers(section)
    yield from _operands(section)
    combined = dict.fromkeys(rule for form in section.forms for rule in rules(form))
    if combined:
        yield from ("What combines:", "", *(f"- {_marked(rule)}" for rule in combined), "")
    shown = section.example
    yield from ("In Python:", "", "```text", *in_python(shown.form, shown.modifiers), "```", "")
    tested = "run in the emulator" if runs(shown, emulated) else "assembled"
    yield from (
        f"An example, which is {tested} by a test:",
        "",
        "```python",
        shown.text.rstrip(),
        "```",
        "",
    )


def runs(shown: Example, emulated: Emulated) -> bool:
    """Whether the emulator runs the instruction that an example shows.

    An example has no texture or surface to take the handle of.
    """
    handle = any(spec.name in REFERENCES for spec in shown.form.operands)
    return not handle and emulated(shown.form) != "no"


def _modifiers(section: Section) -> Iterator[str]:
    found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, form in enumerate(section.forms, 1):
        for slot in form.slots:
            if telling(slot):
                found[slot.name, options(slot)].append(number)
    if found:
        rows = [(_code(f".{n}"), _marked(o), _of(f, section)) for (n, o), f in found.items()]
        yield from _table(("modifier", "one of", "forms"), rows)


def _operands(section: Section) -> Iterator[str]:
    """A row for operands of one kind in the same forms."""
    found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, form in enumerate(section.forms, 1):
        for spec in form.operands:
            found[spec.name, operand(form, spec)].append(number)
    alike: defaultdict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for (name, described), numbers in found.items():
        alike[described, tuple(numbers)].append(_code(name))
    if alike:
        rows = [(", ".join(n), _marked(d), _of(f, section)) for (d, f), n in alike.items()]
        yield from _table(("operand", "is", "forms"), rows)


def _of(numbers: Sequence[int], section: Section) -> str:
    """Numbers of forms: `all`, or `1-3, 7`."""
    if len(set(numbers)) == len(section.forms):
        return "all"
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        elif not parts or number != parts[-1][-1]:
            parts.append([number])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _marked(text: str) -> str:
    """Modifiers and Python names in code marks."""
    words = (
        f"`{w.rstrip(',;:')}`{w[len(w.rstrip(',;:')) :]}" if w.startswith(".") else w
        for w in text.split(" ")
    )
    return " ".join(words).replace("|", "\\|")


def index(emulated: Emulated) -> str:
    """The page that lists all opcodes, by the chapters of the manual."""
    parts = [
        "# Instructions",
        "",
        f"These pages list every instruction of `ptx.inst`. `{COMMAND}` writes them",
        "from the ISA table, and `pyptx isa WORDS` searches it. In Python, write `::` as `__`, put",
        "an underscore before a modifier that begins with a digit, and append one to a Python",
        "keyword: `ptx.inst.cp.async_.bulk.shared__cta.global_`,",
        "`ptx.inst.cp.async_.bulk.tensor._2d`.",
        "",
        "`sm_90+` means this target and all later ones, `sm_90a` only this target, `sm_100f+` the",
        "later members of its family. *Emulated* says whether the emulator runs the instruction.",
        "",
    ]
    by_chapter: defaultdict[str, list[Section]] = defaultdict(list)
    for section in sections():
        by_chapter[section.chapter].append(section)
    for chapter, own in by_chapter.items():
        parts += [f"## {chapter}", ""]
        parts += _table(
            ("instruction", "what it does", "forms", "emulated"),
            [(_link(s), s.summary, str(len(s.forms)), _overall(s, emulated)) for s in own],
        )
    return "\n".join(parts)


def _link(section: Section) -> str:
    several = sum(s.opcode == section.opcode for s in sections()) > 1
    target = f"{section.opcode}.md{'#' + _anchor(_heading(section)) if several else ''}"
    name = _heading(section) if several else section.opcode
    return f"[{name}]({target})"


def _overall(section: Section, emulated: Emulated) -> str:
    said = {emulated(form) for form in section.forms}
    return said.pop() if len(said) == 1 and said <= {"yes", "no"} else "in part"


def pages(emulated: Emulated) -> dict[str, str]:
    """Every page by its name in docs/isa."""
    opcodes = sorted({section.opcode for section in sections()})
    return {"README.md": index(emulated)} | {f"{o}.md": page(o, emulated) for o in opcodes}
