"""Looks for spellings that the assembler takes and the table lacks.

Starts from spellings that exist and changes them with modifiers from one pool of the whole ISA, so
that what was left out of one opcode can be found through another.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import isa_oracle as oracle

from pyptx.isa.differences import COMPLETE, LAXER, reason
from pyptx.isa.model import WIDE, Form, OperandSpec, Option, Slot, length_in, slot_of
from pyptx.isa.sample import operand_lists
from pyptx.isa.syntax import takes_constant
from pyptx.isa.table import forms
from pyptx.operands import Operand
from pyptx.target import Target
from pyptx.types import DTYPES

TARGETS: Final = tuple(
    Target.parse(t) for t in ("sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_120a")
)
"""Where to search: one target of each generation, with its own features."""

# Modifiers of PTX that no row of the table has, so that they are tried everywhere too.
_OTHERS: Final = frozenset(
    (
        *("pzo", "unified", "trans", "x2", "x4", "full", "v16", "scatter", "gather"),
        *("ue8m0", "b1", "u128", "s128", "param::func", "L1::32B", "valid_addr", "im2col_offs"),
        *("phase_type::secondary", "layout::v2", "report", "try_get", "submit", "check"),
        *("acc::f64", "e2m1x4", "e3m2x4", "cta_group::4", "multicast::cta", "b256", "bulk_wait"),
        *("override::global_address", "override::global_dim", "override::global_dim_stride"),
        *("multimem", "counted::bytes", "mbarrier::complete_tx::16B", "mbarrier::report::fabric"),
    )
)

_IGNORED: Final = frozenset(
    (
        *("finite", "infinite", "number", "notanumber", "normal", "subnormal"),
        *("global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride"),
        *("elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode"),
        *("acc::f16", "acc::f32", "b8x16", "b6x16_p32", "b4x16_p64"),
        *("texref", "samplerref", "surfref", "b2"),
    )
)
"""What the assembler takes on every instruction and ignores: the properties of testp, the fields of
tensormap.replace, the precisions of multimem.ld_reduce, the formats of ldmatrix, the
kinds of istypep, an index of spcompress."""


_LONGEST: Final = 128
"""The longest vector of any instruction: what wgmma accumulates in, what tcgen05.ld loads."""


@dataclass(frozen=True)
class Candidate:
    """A spelling that the table lacks, with operands that might fit."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]

    @property
    def spelling(self) -> str:
        return ".".join((self.opcode, *self.modifiers))

    @property
    def line(self) -> str:
        return oracle.line(self.spelling, self.operands)


@lru_cache(maxsize=1)
def pool() -> tuple[str, ...]:
    """Every modifier of the table, and the others."""
    names = {o.name for f in forms() for s in f.slots for o in s.options} | _OTHERS
    return tuple(sorted(names - _IGNORED))


@lru_cache(maxsize=1)
def _by_opcode() -> dict[str, tuple[Form, ...]]:
    found: defaultdict[str, list[Form]] = defaultdict(list)
    for form in forms():
        found[form.opcode].append(form)
    return {opcode: tuple(each) for opcode, each in found.items()}


def in_table(opcode: str, modifiers: Iterable[str]) -> bool:
    """Whether some form has these modifiers in any order: the assembler takes most orders."""
    wanted = Counter(modifiers)
    return any(_fills(form, 0, wanted, {}) for form in _by_opcode().get(opcode, ()))


def _fills(form: Form, index: int, rest: Counter[str], chosen: dict[str, Option]) -> bool:
    if index == len(form.slots):
        return not +rest and form.allows(chosen)
    slot = form.slots[index]
    for option in slot.options:
        if rest[option.name] > 0:
            left = rest - Counter([option.name])
            if _fills(form, index + 1, left, {**chosen, slot.name: option}):
                return True
    return not slot.required and _fills(form, index + 1, rest, chosen)


# ---- candidates ---------------------------------------------------------------------------------


def candidates(opcode: str, size: int, generator: random.Random) -> list[Candidate]:
    """`size` different spellings of an opcode, or nearly, that the table lacks."""
    found: dict[str, Candidate] = {}
    for candidate in _candidates(opcode, size * 6, generator):
        if len(found) >= size:
            break
        if not in_table(opcode, candidate.modifiers):
            found.setdefault(candidate.line, candidate)
    return list(found.values())


def _candidates(opcode: str, attempts: int, generator: random.Random) -> Iterator[Candidate]:
    for _ in range(attempts):
        form = generator.choice(_by_opcode()[opcode])
        for _ in range(generator.choice((1, 1, 1, 2))):
            form = _changed(form, generator)
        slots = [s for s in form.slots if s.required or generator.random() < 0.3]
        modifiers = tuple(generator.choice(s.options).name for s in slots)
        if len(set(modifiers)) < len(modifiers):
            continue  # the assembler takes a modifier again without a word
        fixed = {s.name: Option(m) for s, m in zip(slots, modifiers, strict=True)}
        operands = _operands(form, fixed, generator)
        if operands is not None:
            yield Candidate(opcode, modifiers, operands)


def _changed(form: Form, generator: random.Random) -> Form:
    """The form with one slot given another option, left out, or added."""
    slots = list(form.slots)
    types = [i for i, s in enumerate(slots) if s.options[0].name in DTYPES]
    retype = bool(types) and generator.random() < 0.4
    index = generator.choice(types) if retype else generator.randrange(len(slots) + 1)
    name = generator.choice(tuple(DTYPES) if retype else pool())
    added = Slot(f"added {len(slots)} {name}", (Option(name),), required=True)
    kind = "replace" if retype else generator.choice(("replace", "replace", "insert", "remove"))
    operands = form.operands
    if kind == "insert" or index == len(slots):
        slots.insert(index, added)
    elif kind == "remove":
        removed = slots[index]
        if any(_names(o, removed.name) for o in operands):
            return form
        del slots[index]
    else:
        old = slots[index]
        slots[index] = Slot(old.name, (Option(name),), required=True)
        if len(old.options) == 1 and old.options[0].name in DTYPES and name in DTYPES:
            operands = tuple(_retyped(o, old.options[0].name, name) for o in operands)
    return replace(form, slots=tuple(slots), operands=operands, rules=())


def _names(operand: OperandSpec, slot: str) -> bool:
    return slot in (operand.type, slot_of(str(operand.length)), operand.when, *operand.spaces)


def _retyped(operand: OperandSpec, old: str, new: str) -> OperandSpec:
    return replace(operand, type=new) if operand.type == old else operand


def _operands(
    form: Form, fixed: dict[str, Option], generator: random.Random
) -> tuple[Operand, ...] | None:
    """Operands for the chosen options; None where an option is no type though it stands as one."""
    for operand in form.operands:
        inner = operand.type.removeprefix("wide(").removesuffix(")")
        dtype = fixed[inner].name if inner in fixed else inner
        if operand.kind in ("value", "immediate", "tensor") and dtype not in DTYPES:
            return None
        if operand.kind == "immediate" and not (takes_constant(dtype) or dtype == "pred"):
            return None
        if operand.type != inner and dtype not in WIDE:
            return None
        length = str(operand.length)
        vector = fixed.get(slot_of(length))
        if vector is not None and not 1 <= (length_in(length, vector.name) or 0) <= _LONGEST:
            return None
    lists = operand_lists(form, fixed)
    return lists[0] if generator.random() < 0.7 else generator.choice(lists)


# ---- searching ----------------------------------------------------------------------------------


def search(
    opcodes: Sequence[str], size: int, seed: int, targets: Sequence[Target] = TARGETS
) -> dict[str, list[Target]]:
    """Spellings that the assembler takes and the table lacks, each confirmed alone, with where.

    Known differences are left out. `size` candidates for each opcode, at the newest version that
    both the rows and the assembler cover.
    """
    generator = random.Random(seed)
    return confirmed([c for each in opcodes for c in candidates(each, size, generator)], targets)


def confirmed(tried: Iterable[Candidate], targets: Sequence[Target]) -> dict[str, list[Target]]:
    """Those of the candidates that the assembler takes, with where; without known differences."""
    version = min(COMPLETE, oracle.newest())
    unknown = [c for c in tried if reason(c.spelling, LAXER) is None]
    found: defaultdict[str, list[Target]] = defaultdict(list)
    for target in targets:
        if target not in oracle.known_targets() or target.version > version:
            continue
        verdicts = oracle.verdicts([c.line for c in unknown], version, target)
        for candidate, verdict in zip(unknown, verdicts, strict=True):
            known = candidate.spelling in found and target in found[candidate.spelling]
            if verdict is None and not known and oracle.alone(candidate.line, version, target):
                found[candidate.spelling].append(target)
    return dict(found)
