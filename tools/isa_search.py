"""Looks for spellings that the assembler takes and the table lacks.

Starts from spellings that exist and changes them with modifiers from one pool of the whole ISA, so
that what was left out of one opcode can be found through another. Of each opcode are tried:

single   the shortest spelling of every form, with every modifier of the pool put in at every
         place, put in the place of every modifier, with every modifier left out, with every two
         of them swapped; where an opcode has dozens of forms, each with all modifiers of the
         opcode and a share of the others
options  the shortest spelling with each option of each form; each modifier that the assembler
         does not refuse outright on the opcode is put in at one place, and in the place of one
several  two and three such changes at once, drawn by chance
operands what is refused for its operands alone, with the operands of every other form

Where a type takes the place of a type, the operands are also tried in that type. On targets other
than the first, the modifiers of the opcode and a share of the others are put in at one place of
every form, and everything is tried again that the first target refuses for being the target that it
is, and a sample of the rest. A modifier that an assembler cannot read past on an opcode is given up
there after a few lines.

The proof has how many spellings of each opcode, and instructions with them, were tried.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import chain, islice
from typing import Final, NamedTuple, TypeVar

import isa_bulk as bulk
import isa_oracle as oracle

from pyptx._isa.differences import COMPLETE, LAXER
from pyptx._isa.model import WIDE, Form, OperandSpec, Option, Slot, length_in, slot_of
from pyptx._isa.sample import least, operand_lists, plain
from pyptx._isa.syntax import takes_constant
from pyptx._isa.table import forms
from pyptx._target import Target
from pyptx.types import DTYPES

TARGETS: Final = tuple(
    Target.parse(t) for t in ("sm_100a", "sm_80", "sm_90a", "sm_103a", "sm_107a", "sm_120a")
)
"""Where to search: a target of each generation, with its own features; all of it at the first."""

_OTHERS: Final = frozenset(
    (
        *("pzo", "unified", "trans", "x2", "x4", "full", "v16", "scatter", "gather"),
        *("ue8m0", "b1", "u128", "s128", "param::func", "L1::32B", "valid_addr", "im2col_offs"),
        *("phase_type::secondary", "layout::v2", "report", "try_get", "submit", "check"),
        *("acc::f64", "e2m1x4", "e3m2x4", "cta_group::4", "multicast::cta", "b256", "bulk_wait"),
        *("override::global_address", "override::global_dim", "override::global_dim_stride"),
        *("multimem", "counted::bytes", "mbarrier::complete_tx::16B", "mbarrier::report::fabric"),
        # words of the assembler that no row has
        *("L2::no_allocate", "alloc_large", "alloc_same", "alloc_small", "en", "evict_first"),
        *("evict_last", "evict_normal", "evict_unchanged", "no_allocate", "fused", "matrix::A"),
        *("matrix::D", "matrix::scaleA", "matrix::scaleB", "matrix::sparseMetadata", "maxabs"),
        *("multicast", "no_membermask_overlap", "safeadd", "scratch", "tex", "transA", "transB"),
        *("negA", "negB", "extern", "common", "unique", "reserved", "ptr", "allocno"),
    )
)
"""Modifiers that no row of the table has, so that they are tried everywhere too."""

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

_FEW: Final = 15
"""Of so many forms each is tried with the whole pool, of twice as many with half of what their
opcode lacks."""
_SEVERAL: Final = 1000
"""How many spellings with several changes are drawn of each form."""
_LISTS: Final = 30
_MISFITS: Final = 1500
"""How many lists of operands an opcode's misfits are tried with, and how many misfits."""
_CHUNK: Final = 20_000
_SAMPLE: Final = 0.01
"""How much of what one target refuses is tried on each other one too."""
_SHARE: Final = 5
"""On another target, a form is tried with one of so many words that its opcode lacks."""
_PATIENCE: Final = 8
"""After so many lines that the assembler could not read past, a modifier is tried no more on an
opcode."""

_OF_TARGET: Final = re.compile(
    r"not supported on|for arch|not yet implemented|requires .*(\.target|sm_|PTX ISA)"
    r"|cannot be compiled for"
)
"""A word against the target and not against the spelling."""
_OF_OPERANDS: Final = re.compile(
    r"Arguments? .*(mismatch|must be|required|expected)|[Vv]ector (is not )?expected|Result vector"
    r"|number of arguments|[Oo]perand"
)
"""A word against the operands and not against the spelling."""
_OUTRIGHT: Final = re.compile(
    r"Unknown modifier|Illegal (query |rounding )?modifier|Comparison qualifier is not"
    r"|No state space qualifier|Illegal reduction operation|Not a name of|Parsing error|crashed"
    r"|Illegal matrix shape|Multiple matrix shape|Vector qualifier is not|number of state spaces"
    r"|nstruction types? specified|of type .* as vector element"
)
"""A word against a modifier on the instruction, whatever else it has."""


class Candidate(NamedTuple):
    """A changed spelling, with operands that might fit, and the words that are new in it."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: str
    added: tuple[str, ...] = ()
    only_added: bool = False

    @property
    def spelling(self) -> str:
        return ".".join((self.opcode, *self.modifiers))

    @property
    def statement(self) -> str:
        return f"{'.'.join((self.opcode, *self.modifiers))} {self.operands};"


_T = TypeVar("_T")


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


# ---- changes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Base:
    """A spelling of a form, to be changed."""

    form: Form
    modifiers: tuple[str, ...]

    @cached_property
    def chosen(self) -> dict[str, Option]:
        chosen = self.form.assign(self.modifiers)
        assert chosen is not None
        return chosen

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The slot of each modifier."""
        return tuple(slot for slot in self.form.slots if slot.name in self.chosen)

    @cached_property
    def operands(self) -> str:
        return oracle.written(plain(self.form, self.chosen))

    def retyped(self, types: dict[str, str]) -> str | None:
        """The operands with other types for the slots named; None where no operand has such."""
        operands: tuple[OperandSpec, ...] = self.form.operands
        for slot in self.slots:
            if slot.name in types and len(slot.options) == 1:
                old, new = slot.options[0].name, types[slot.name]
                operands = tuple(_with_type(o, new) if o.type == old else o for o in operands)
        form = replace(self.form, operands=operands, rules=(), chapter="changed")
        chosen = self.chosen | {slot: Option(name) for slot, name in types.items()}
        if not all(_fits(operand, chosen) for operand in operands):
            return None
        return oracle.written(plain(form, chosen))

    def added(self, place: int, word: str) -> Candidate:
        modifiers = (*self.modifiers[:place], word, *self.modifiers[place:])
        return Candidate(self.form.opcode, modifiers, self.operands, (word,), only_added=True)

    def candidate(self, modifiers: Iterable[str], operands: str | None, *added: str) -> Candidate:
        text = self.operands if operands is None else operands
        return Candidate(self.form.opcode, tuple(modifiers), text, added)


def _with_type(operand: OperandSpec, name: str) -> OperandSpec:
    return replace(operand, type=name)


def _fits(operand: OperandSpec, chosen: dict[str, Option]) -> bool:
    """Whether there is such an operand: an option may be no type though it stands as one."""
    inner = operand.type.removeprefix("wide(").removesuffix(")")
    dtype = chosen[inner].name if inner in chosen else inner
    if operand.kind in ("value", "immediate", "tensor") and dtype not in DTYPES:
        return False
    if operand.kind == "immediate" and not (takes_constant(dtype) or dtype == "pred"):
        return False
    if operand.type != inner and dtype not in WIDE:
        return False
    length = str(operand.length)
    vector = chosen.get(slot_of(length))
    return vector is None or 1 <= (length_in(length, vector.name) or 0) <= _LONGEST


def shortest(form: Form) -> Base:
    return Base(form, least(form))


def with_options(form: Form) -> list[Base]:
    """The shortest spelling with each option; the shortest of all is not among them."""
    spelled = (least(form, o.name, s.name) for s in form.slots for o in s.options)
    return [Base(form, m) for m in dict.fromkeys(spelled) if m != least(form)]


def single(base: Base, words: Sequence[str]) -> Iterator[Candidate]:
    """Every change of a base by one of the words, or by none."""
    old = base.modifiers
    for place in range(len(old) + 1):
        for word in words:
            yield base.added(place, word)
    for place in range(len(old)):
        yield from _replaced(base, place, words)
    for place in range(len(old)):
        yield base.candidate((*old[:place], *old[place + 1 :]), None)
        for other in range(place + 1, len(old)):
            swapped = list(old)
            swapped[place], swapped[other] = old[other], old[place]
            yield base.candidate(swapped, None)


def _replaced(base: Base, place: int, words: Sequence[str]) -> Iterator[Candidate]:
    old, slot = base.modifiers, base.slots[place].name
    before, after = old[:place], old[place + 1 :]
    for word in words:
        if word == old[place]:
            continue
        yield base.candidate((*before, word, *after), None, word)
        if word in DTYPES and old[place] in DTYPES:
            operands = base.retyped({slot: word})
            if operands not in (None, base.operands):
                yield base.candidate((*before, word, *after), operands, word)


def several(
    base: Base, words: Sequence[str], size: int, generator: random.Random
) -> Iterator[Candidate]:
    """`size` times two or three changes."""
    for _ in range(size):
        now: list[tuple[str, str]] = [
            (slot.name, word) for slot, word in zip(base.slots, base.modifiers, strict=True)
        ]
        for _ in range(generator.choice((2, 2, 3))):
            _change(now, words, generator)
        added = (word for slot, word in now if not slot or base.chosen[slot].name != word)
        types = {slot: word for slot, word in now if slot and word in DTYPES}
        types = {s: w for s, w in types.items() if base.chosen[s].name in DTYPES}
        types = {s: w for s, w in types.items() if base.chosen[s].name != w}
        operands = base.retyped(types) if types else None
        yield base.candidate((word for _, word in now), operands, *added)


def _change(now: list[tuple[str, str]], words: Sequence[str], generator: random.Random) -> None:
    kind = generator.choice(("put in", "put in", "replace", "replace", "leave out", "swap"))
    if kind == "put in" or not now:
        now.insert(generator.randrange(len(now) + 1), ("", generator.choice(words)))
        return
    place = generator.randrange(len(now))
    if kind == "replace":
        now[place] = (now[place][0], generator.choice(words))
    elif kind == "leave out":
        del now[place]
    else:
        other = generator.randrange(len(now))
        now[place], now[other] = now[other], now[place]


# ---- searching ----------------------------------------------------------------------------------


@dataclass
class Found:
    """What a search of an opcode tried, and what the assembler takes that the table lacks."""

    spellings: int = 0
    instructions: int = 0
    taken: dict[str, list[Target]] = field(default_factory=dict[str, list[Target]])


class Search:
    """The search of one opcode, at the newest version that rows and assembler cover."""

    def __init__(self, opcode: str, several_of_each: int = _SEVERAL) -> None:
        self._forms = _by_opcode()[opcode]
        self._several = several_of_each
        self._generator = random.Random(opcode)
        self._version = min(COMPLETE, oracle.newest())
        self._spellings: set[int] = set()
        self._instructions = 0
        self._stuck: Counter[str] = Counter()
        self._own = sorted({o.name for f in self._forms for s in f.slots for o in s.options})
        self._live = set(self._own)
        self._misfits: dict[tuple[str, ...], Candidate] = {}
        self._elsewhere: list[Candidate] = []
        self._taken: defaultdict[Target, dict[tuple[str, ...], Candidate]] = defaultdict(dict)

    def run(self) -> Found:
        first, *others = [t for t in TARGETS if self._has(t)]
        for form in self._forms:  # what ends the reading is learnt from one form for the next
            self._ask(single(shortest(form), self._share()), first)
        for other in others:
            self._ask(self._anywhere(), other)
        words = sorted(self._live)
        bases = [base for form in self._forms for base in with_options(form)]
        self._ask(chain.from_iterable(self._once(b, words) for b in bases), first)
        self._ask(chain.from_iterable(self._drawn(f, words) for f in self._forms), first)
        self._ask(self._other_operands(), first)
        elsewhere, self._elsewhere = self._elsewhere, []
        for other in others:
            self._ask(elsewhere, other)
        return Found(len(self._spellings), self._instructions, self._confirmed())

    def sample(self, size: int) -> Found:
        """So many changes of each form by any words, at the first target or at another."""
        first, *others = [t for t in TARGETS if self._has(t)]
        drawn = [
            candidate
            for form in self._forms
            for base in (shortest(form),)
            for candidate in chain(
                self._once(base, self._some(list(pool()), size)),
                several(base, pool(), size, self._generator),
            )
        ]
        self._ask(drawn, self._generator.choice((first, self._generator.choice(others))))
        return Found(len(self._spellings), self._instructions, self._confirmed())

    def _share(self) -> list[str]:
        """What a form is tried with first: all of the pool where forms are few."""
        return self._words(max(1, len(self._forms) // _FEW))

    def _words(self, shares: int) -> list[str]:
        """The opcode's modifiers, and one of so many of the others."""
        others = [word for word in pool() if word not in self._own]
        return [*self._own, *self._generator.sample(others, len(others) // shares)]

    def _has(self, target: Target) -> bool:
        return target in oracle.known_targets() and target.version <= self._version

    def _anywhere(self) -> Iterator[Candidate]:
        """Every form with its share of the pool, each word at one place."""
        for form in self._forms:
            yield from self._once(shortest(form), self._words(_SHARE))

    def _once(self, base: Base, words: Sequence[str]) -> Iterator[Candidate]:
        """Each word put in at one place, and in the place of what stands there."""
        for word in words:
            place = self._generator.randrange(len(base.modifiers) + 1)
            yield base.added(place, word)
            if place < len(base.modifiers):
                yield from _replaced(base, place, (word,))

    def _drawn(self, form: Form, words: Sequence[str]) -> Iterator[Candidate]:
        bases = [shortest(form), *with_options(form)]
        each = max(1, self._several // len(bases))
        for base in bases if words else ():
            yield from several(base, words, each, self._generator)

    def _other_operands(self) -> list[Candidate]:
        """What is refused for its operands, with the operands of other forms."""
        lists = {
            oracle.written(operands): None
            for form in self._forms
            for operands in operand_lists(form, Base(form, least(form)).chosen)
        }
        misfits = self._some(list(self._misfits.values()), _MISFITS)
        return [
            candidate._replace(operands=operands)
            for candidate in misfits
            for operands in self._some(list(lists), _LISTS)
            if operands != candidate.operands
        ]

    def _some(self, of: list[_T], size: int) -> list[_T]:
        return of if len(of) <= size else self._generator.sample(of, size)

    def _ask(self, candidates: Iterable[Candidate], target: Target) -> None:
        usable = (c for c in candidates if all(self._stuck[w] < _PATIENCE for w in c.added))
        while chunk := list(islice(usable, _CHUNK)):
            self._instructions += len(chunk)
            self._spellings.update(hash(c.spelling) for c in chunk)
            said, uneasy = bulk.refusals([c.statement for c in chunk], self._version, target)
            for number in uneasy:
                self._stuck.update(chunk[number].added)
            for candidate, refusal in zip(chunk, said, strict=True):
                self._learn(candidate, refusal, target)

    def _learn(self, candidate: Candidate, refusal: bulk.Refusal, target: Target) -> None:
        kind = _kind(refusal)
        if kind == "taken":
            self._taken[target].setdefault(tuple(sorted(candidate.modifiers)), candidate)
        elif kind == "target" or self._generator.random() < _SAMPLE:
            self._elsewhere.append(candidate)
        if kind == "operands":
            self._misfits.setdefault(candidate.modifiers, candidate)
        if kind == "broken":
            self._stuck.update(candidate.added)
        elif kind == "live" or (kind == "operands" and candidate.only_added):
            self._live.update(candidate.added)

    def _confirmed(self) -> dict[str, list[Target]]:
        """What the assembler says nothing against, and takes in a module of its own, with where."""
        found: defaultdict[str, list[Target]] = defaultdict(list)
        for target, taken in self._taken.items():
            unknown = [c for c in taken.values() if not _known(c.opcode, c.modifiers)]
            lines = [oracle.around(c.statement) for c in unknown]
            verdicts = oracle.verdicts(lines, self._version, target)
            for candidate, line, verdict in zip(unknown, lines, verdicts, strict=True):
                if verdict is None and oracle.alone(line, self._version, target):
                    found[candidate.spelling].append(target)
        return dict(found)


@cache
def _kind(refusal: bulk.Refusal) -> str:
    """What a refusal is of, but for the target: of nothing else ("target"), of the "operands", of a
    modifier "outright"; "live" where it is of how modifiers go together, "broken" where nothing
    could be read behind it, "taken" where it is none."""
    if not refusal:
        return "taken"
    if bulk.broken(refusal):
        return "broken"
    said = [each for each in refusal if not _OF_TARGET.search(each)]
    if not said:
        return "target"
    if any(map(_OUTRIGHT.search, said)):
        return "outright"
    return "operands" if all(map(_OF_OPERANDS.search, said)) else "live"


def _known(opcode: str, modifiers: tuple[str, ...]) -> bool:
    """Whether the table has a spelling, or its difference is known; or the same of it without a
    word that the assembler ignores there, as most of those that a spelling has twice."""
    if in_table(opcode, modifiers):
        return True
    spelling = ".".join((opcode, *modifiers))
    covering = [each for each in LAXER if each.covers(spelling)]
    if not all(each.ignored for each in covering):
        return True
    ignored = re.compile("|".join(each.ignored for each in covering) or "(?!)")
    return any(
        _known(opcode, (*modifiers[:place], *modifiers[place + 1 :]))
        for place, word in enumerate(modifiers)
        if word in modifiers[:place] or ignored.fullmatch(word)
    )
