"""Reads a row: one syntax line of the manual, in the notation below, to a Form.

    row("fma.rnd{.ftz}{.sat}.f32  out d:f32, a:f32, b:f32, c:f32", rnd="rn rz rm rp")

Modifiers: `.name` is required, `{.name}` optional. A keyword argument lists a slot's options; a
slot without one is a literal modifier. `option@sm_90` and `option@sm_90,7.8` say where an option
exists beyond what its form needs; `option@,7.8` only the PTX version, `sm_100f+sm_110f` either of
two. Versions before PTX 6.3, that of the oldest target, are left out.

Operands, separated by commas after two spaces:
    a:T           a source: register, or a constant where the type has constants
    a:T!          a register only
    out d:T       a destination; `inout d:T` is read too
    out d{|p}:T   with an optional second destination, a predicate; `d|p:T` where it is required
    {!}c:pred     a predicate that may be negated
    {-}a:T        a source that the instruction negates where it is written so; `-a:T` always
    a{.sel}:T     parts of the register may be selected, of this kind in `model.PARTS`; in
                  `d.sel:T` they have to be
    d*vec:T       a vector as long as slot vec says (v2 v4 v8; a scalar where it is left out)
    d*4:T         a vector of four;  {d}*1:T  of one, in braces all the same
    d*dim-2:T     two less than slot dim says (1d to 5d); `d*num*4:T` four times what slot num says
                  (x1 to x128), `d*shape/2:T` half of n where slot shape says m64n128k16;
                  steps are taken in order and division rounds up: `d*num*3/4:T`
    a:T>          the register may be wider than the type
    a:i32         untyped bits that are an integer: .b32, but not in a register of floats; also i64
    a:T|special   also takes a special register; `|symbol` an address of a variable; `|_` the sink
    #n:u32        a constant; `#n:u32(0..31)` in a range, `(32..64:8)` in steps of 8, `(4 8 16)`
                  one of these; after `a:T` the constants that may stand for the register
    [a:space]     an address in the space that slot `space` spells (generic without one), or
                  literal; `[a:global|generic]` where either will do, `[a:shared%16]` where it is
                  a multiple of 16 and not of the instruction's type, `[a:shared!]` in a register
                  `[d:tmem!]` is an address in Tensor Memory, which has 32 bits;
                  `[tex:handle!]` the handle of a texture or surface, which has no offset
    [a:ss]{.unified}  an address of global memory that may be said to be of a .unified variable
    [map:generic, {c}*dim:s32]  a position in a tensor: the address of its tensor map, coordinates
    [tex:generic, c*4:u32+f32]  the same in a texture; the first of the four, a layer, is .u32
    [tex:generic, s:u64!?, c*2:f32]  with another operand in front of them, which may be left out
    [leId:fabric, off:u64!]  an endpoint of the fabric, in a 32-bit register, and offsets
    _             the sink, where there is no other destination
    target:label  a label; `targets:labels` a list of them; `f:function` a function, `p:arguments`
                  what is passed to it, `l:prototype` what a call through an address may reach
    c:b64?        may be left out;  c:b64@slot   there exactly where the modifier is
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from pyptx._isa.model import EVERYWHERE, Availability, Form, OperandSpec, Option, Slot
from pyptx._target import PtxVersion
from pyptx.types import DTYPES

_MODIFIER: Final = re.compile(r"\{\.([\w:]+)\}|\.([\w:]+)")
_OPERAND: Final = re.compile(
    r"(?P<access>out |inout )?(?P<neg>\{!\})?(?P<minus>\{-\}|-)?(?P<imm>#)?"
    r"(?P<open>\{)?(?P<name>\w+)(?(open)\})(?P<part>\{\.\w+\}|\.\w+)?(?P<second>\{\|\w+\}|\|\w+)?(?:\*(?P<length>\w+(?:[-*/]\d+)*))?"
    r":(?:(?P<first>\w+)\+)?(?P<type>wide\(\w+\)|\w+)(?P<legal>\([^)]*\))?(?P<only>!)?(?P<wider>>)?"
    r"(?P<accepts>(?:\|\w+)*)(?P<optional>\?)?(?:@(?P<when>[\w:]+))?"
)
_ADDRESS: Final = re.compile(
    r"\[(?P<name>\w+):(?P<spaces>[\w|:]+)(?:%(?P<align>\d+))?"
    r"(?:, (?P<inner>[^]]+))?(?P<only>!)?\](?P<unified>\{\.unified\})?"
    r"(?P<optional>\?)?(?:@(?P<when>[\w:]+))?"
)
_COMMA: Final = re.compile(r",(?![^\[]*\])")
NAMED: Final = ("label", "labels", "function", "arguments", "prototype")
"""What stands for a type where an operand is no value: such operands have its kind."""
_INTEGERS: Final = {"i32": "b32", "i64": "b64"}
# Types whose constants PTX can write: integers and untyped bits up to 64 bits, f32 and f64.
_CONSTANTS: Final = frozenset(
    d.name
    for d in DTYPES.values()
    if (d.is_integer or d.is_bits or d.name in ("f32", "f64")) and d.bits <= 64
)


def row(syntax: str, *, ptx: str = "1.0", sm: str = "", rules: str = "", **slots: str) -> Form:
    """Read one syntax line. `ptx` and `sm` say where the form exists, `rules` what combines.

    Rules are separated by semicolons, each `condition: requirement` over slots, for example
    `"nc: space=global; hint: space?=global"`, where `?=` also holds without the slot. Raises
    ValueError for a bad row.
    """
    head, _, tail = syntax.partition("  ")
    opcode = re.split(r"[.{]", head, maxsplit=1)[0]
    modifiers = head[len(opcode) :]
    found = _MODIFIER.findall(modifiers)
    if "".join(f"{{.{a}}}" if a else f".{b}" for a, b in found) != modifiers:
        raise ValueError(f"cannot read the modifiers of {syntax!r}")
    form_slots = tuple(_slot(a or b, slots.get(a or b, a or b), required=bool(b)) for a, b in found)
    if unused := slots.keys() - {s.name for s in form_slots}:
        raise ValueError(f"{syntax!r} has no slot {sorted(unused)}")
    by_name = {slot.name: slot for slot in form_slots}
    operands = tuple(_operand(text, by_name) for text in _split(tail))
    return Form(
        opcode,
        form_slots,
        operands,
        Availability(sm, PtxVersion.parse(ptx)),
        tuple(_rule(text) for text in rules.split(";") if text.strip()),
    )


@dataclass(frozen=True, slots=True)
class Instruction:
    """The rows of one section of the manual."""

    section: str
    summary: str
    forms: tuple[Form, ...]


def instruction(opcode: str, section: str, summary: str, *forms: Form) -> Instruction:
    """The rows of one section of the manual, with its anchor and what it does in one line.

    Raises ValueError for a row of another opcode.
    """
    if other := [form.syntax for form in forms if form.opcode != opcode]:
        raise ValueError(f"{opcode} has rows of another opcode: {other}")
    return Instruction(section, summary, forms)


def chapter(title: str, *instructions: Instruction) -> tuple[Form, ...]:
    """All rows of a chapter of the manual, each knowing where it stands."""
    return tuple(
        replace(form, chapter=title, section=each.section, summary=each.summary)
        for each in instructions
        for form in each.forms
    )


@cache
def _slot(name: str, options: str, *, required: bool) -> Slot:
    return Slot(name, tuple(_option(text) for text in options.split()), required)


@cache
def _option(text: str) -> Option:
    name, _, where = text.partition("@")
    if not where:
        return Option(name)
    sm, _, ptx = where.partition(",")
    version = PtxVersion.parse(ptx) if ptx else EVERYWHERE.ptx
    return Option(name, Availability(sm.replace("+", " "), version))


def _rule(text: str) -> tuple[str, str]:
    condition, _, requirement = text.partition(": ")
    return condition.strip(), requirement.strip()


def _split(tail: str) -> list[str]:
    return [part.strip() for part in _COMMA.split(tail) if part.strip()]


def _operand(text: str, slots: dict[str, Slot]) -> OperandSpec:
    if match := _ADDRESS.fullmatch(text):
        return _address(match, slots)
    if text == "_":
        return OperandSpec(name="_", kind="sink", type="sink", access="out", written="_")
    match = _read(text)
    return _value(text, constant=_takes_constants(match["type"], slots))


@cache
def _read(text: str) -> re.Match[str]:
    match = _OPERAND.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot read the operand {text!r}")
    return match


@cache
def _value(text: str, *, constant: bool) -> OperandSpec:
    match = _read(text)
    access = (match["access"] or "in").strip()
    if match["type"] in NAMED:
        name, kind = match["name"], match["type"]
        return OperandSpec(name=name, kind=kind, type=kind, access=access, written=name)
    accepts = set(filter(None, match["accepts"].split("|")))
    if "_" in accepts:
        accepts = accepts - {"_"} | {"sink"}
    if access == "in" and constant and not match["only"] and not match["neg"]:
        accepts.add("immediate")
    return OperandSpec(
        name=match["name"],
        kind="immediate" if match["imm"] else "value",
        type=_INTEGERS.get(match["type"], match["type"]),
        first=match["first"] or "",
        whole=match["type"] in _INTEGERS,
        access=access,
        length=_length(match["length"]),
        braces=bool(match["open"]),
        optional=bool(match["optional"]),
        when=match["when"],
        wider=bool(match["wider"]),
        accepts=frozenset(accepts),
        second=_presence(match["second"]),
        negatable=bool(match["neg"]),
        parts=(match["part"] or "").strip("{.}"),
        partial=_presence(match["part"]) == "required",
        minus=_presence(match["minus"]),
        legal=_legal(match["legal"]),
        written=_written(match),
    )


def _presence(written: str | None) -> str | None:
    """Whether something that a row has is written in braces there."""
    return None if not written else "optional" if written.startswith("{") else "required"


def _address(match: re.Match[str], slots: dict[str, Slot]) -> OperandSpec:
    address = OperandSpec(
        name=match["name"],
        kind="address",
        type="b64",
        spaces=tuple(match["spaces"].split("|")),
        align=int(match["align"] or 0),
        accepts=frozenset() if match["only"] else frozenset(("variable",)),
        optional=bool(match["optional"]),
        when=match["when"],
        unified=bool(match["unified"]),
        written=f"[{match['name']}]{match['unified'] or ''}",
    )
    if match["inner"] is None:
        return address
    inner = tuple(_operand(text, slots) for text in match["inner"].split(", "))
    names = (f"{{, {each.name}}}" if each.optional else f", {each.name}" for each in inner)
    written = f"[{match['name']}{''.join(names)}]"
    if address.spaces == ("fabric",):
        return replace(address, kind="fabric", type="u32", inner=inner, written=written)
    *between, coordinates = inner
    return replace(
        address,
        kind="tensor",
        type=coordinates.type,
        length=coordinates.length,
        braces=coordinates.braces,
        first=coordinates.first,
        accepts=coordinates.accepts,
        inner=tuple(between),
        written=written,
    )


def _takes_constants(type_: str, slots: dict[str, Slot]) -> bool:
    type_ = _INTEGERS.get(type_, type_)
    slot = slots.get(type_.removeprefix("wide(").removesuffix(")"))
    names = (option.name for option in slot.options) if slot else (type_,)
    return any(name in _CONSTANTS for name in names)


def takes_constant(dtype: str) -> bool:
    """Whether PTX can write a constant of this type as an operand."""
    return dtype in _CONSTANTS


def _length(text: str | None) -> int | str:
    if text is None:
        return 1
    return int(text) if text.isdigit() else text


def _legal(text: str | None) -> frozenset[int] | range | None:
    if text is None:
        return None
    inner = text.strip("()")
    if ".." in inner:
        low, high = inner.split("..")
        high, _, step = high.partition(":")
        return range(int(low), int(high) + 1, int(step or 1))
    return frozenset(int(value) for value in inner.split())


def _written(match: re.Match[str]) -> str:
    name = match["name"]
    if match["length"] and match["length"].isdigit():
        name = "{" + ", ".join(f"{name}{i}" for i in range(int(match["length"]))) + "}"
    before, after = (match["neg"], match["minus"]), (match["part"], match["second"])
    name = "".join((*(each or "" for each in before), name, *(each or "" for each in after)))
    return f"{{{name}}}" if match["optional"] else name
