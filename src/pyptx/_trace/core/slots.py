"""What lists, dicts and objects of the user held when a run-time block began.

A name's next reads are known from the bytecode, an element's are not: `acc[i]` may be any of them.
So an element that a block replaced is judged by the registers that it brings and took: wrong where
the kernel reads the new one's after the block, or the old one's in a loop, whose next round would
read them again. What holds no registers, such as a tile, is judged by the name that leads to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import is_not
from typing import Final, cast

from pyptx import _verify as verify
from pyptx._ir import Instruction, Statement
from pyptx._operands import Register
from pyptx._source import SourceLocation
from pyptx._trace.core.context import Trace
from pyptx._trace.core.values import Reg, RegArray, Value
from pyptx.errors import LanguageError

PLAIN: Final = (bool, int, float, complex, str, bytes, type(None))
WHY: Final = "the block is traced once, so a name bound in it changes for all threads and rounds"
CURE: Final = "{0} += v or {0}.set(v) writes the register that it has"
_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class Slot:
    """An element or attribute that a block gave another value; `name` is what leads to it."""

    name: str
    spelled: str
    old: object
    new: object


@dataclass(frozen=True, slots=True)
class Holder:
    """A list, dict or object, and what it held when the block began."""

    holder: object
    held: list[object] | dict[object, object]
    name: str
    spelled: str

    def replaced(self) -> Iterator[Slot]:
        """The elements that hold something else now; what was added or removed is none."""
        if isinstance(self.held, list):
            now = cast("list[object]", self.holder)
            if not any(map(is_not, self.held, now)):
                return
            pairs = zip(self.held, now, strict=False)
            for i, (old, new) in enumerate(pairs):
                if new is not old:
                    yield Slot(self.name, f"{self.spelled}[{i}]", old, new)
            return
        is_dict = isinstance(self.holder, dict)
        now_ = cast("dict[object, object]", self.holder if is_dict else vars(self.holder))
        for key, old in self.held.items():
            new = now_.get(key, old)
            if new is not old:
                spelled = f"{self.spelled}[{key!r}]" if is_dict else f"{self.spelled}.{key}"
                yield Slot(self.name, spelled, old, new)


@dataclass(frozen=True, slots=True)
class Replaced:
    """A slot that a block gave other registers.

    `first` and `end` are the statements of the block in the body of the kernel.
    """

    slot: Slot
    old: frozenset[Register]
    new: frozenset[Register]
    construct: str
    block: SourceLocation
    repeats: bool
    first: int
    end: int

    def check(self, body: list[Statement]) -> None:
        """Raises LanguageError where the kernel reads what the block replaced."""
        if self.repeats:
            self._reject(body[self.first : self.end], self.old)
        self._reject(body[self.end :], self.new)

    def _reject(self, statements: list[Statement], registers: frozenset[Register]) -> None:
        live = set(registers)
        for statement in statements:
            if not live:
                return
            if not isinstance(statement, Instruction):
                continue
            reads, writes = verify.reads_and_writes(statement)
            if not live.isdisjoint(reads):
                held = "another register" if isinstance(self.slot.new, Reg) else "other registers"
                raise LanguageError(
                    f"{self.slot.spelled} has {held} after {self.construct} than before "
                    "it, and is read here",
                    location=statement.location,
                    notes=(
                        ("block", self.block.quoted),
                        ("why", WHY),
                        ("help", self._cure()),
                    ),
                )
            live.difference_update(writes)

    def _cure(self) -> str:
        spelled, old, new = self.slot.spelled, self.slot.old, self.slot.new
        if isinstance(old, Reg):
            return CURE.format(spelled)
        if isinstance(new, Reg):
            return f"{spelled} is a register before the block, which {spelled}.set(v) writes in it"
        return f"write the registers that it has, each by .set(v), and leave {spelled} as it is"


def holders(value: object, name: str) -> Iterator[Holder]:
    """What can hold registers under a name of the user."""
    return _holders(value, name, name, _DEPTH)


def changed(holder: Holder) -> Iterator[tuple[Slot, frozenset[Register], frozenset[Register]]]:
    """Slots that hold something else now, with the registers that only the old or new one has."""
    for slot in holder.replaced():
        old, new = frozenset(_registers(slot.old, _DEPTH)), frozenset(_registers(slot.new, _DEPTH))
        yield slot, old - new, new - old


def _is_ours(value: object, depth: int = _DEPTH) -> bool:
    """Whether a value is the language's, such as a tile or an mbarrier, or holds one."""
    if isinstance(value, (list, tuple)):
        elements = cast("list[object]", value)
        return depth > 0 and any(_is_ours(each, depth - 1) for each in elements)
    return _module(value).startswith("pyptx.") and not isinstance(value, type)


def is_other(slot: Slot) -> bool:
    """Whether a slot without registers of its own holds another tile, mbarrier or the like."""
    return _is_ours(slot.old) and _is_ours(slot.new) and not _is_same(slot.old, slot.new)


def _is_same(old: object, new: object) -> bool:
    if old is new:
        return True
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        olds, news = cast("list[object]", old), cast("list[object]", new)
        return len(olds) == len(news) and all(map(_is_same, olds, news))
    if isinstance(old, Value) or isinstance(new, Value):
        return False
    # Registers compare by appending an instruction.
    return not any(_registers(cast("object", old), _DEPTH)) and old == new


def _holders(value: object, name: str, spelled: str, depth: int) -> Iterator[Holder]:
    if depth == 0 or isinstance(value, (*PLAIN, Value, RegArray, type)):
        return
    items: Iterator[tuple[object, str]]
    if isinstance(value, (list, tuple)):
        elements = list(cast("list[object]", value))
        if isinstance(value, list):
            yield Holder(cast("object", value), elements, name, spelled)
        items = ((each, f"{spelled}[{i}]") for i, each in enumerate(elements))
    elif isinstance(value, dict):
        mapping = dict(cast("dict[object, object]", value))
        yield Holder(cast("object", value), mapping, name, spelled)
        items = ((each, f"{spelled}[{key!r}]") for key, each in mapping.items())
    elif hasattr(value, "__dict__") and not _module(value).startswith(("pyptx.", "builtins")):
        attributes: dict[object, object] = {**vars(value)}
        yield Holder(value, attributes, name, spelled)
        items = ((each, f"{spelled}.{key}") for key, each in attributes.items())
    else:
        return
    for each, where in items:
        if not isinstance(each, PLAIN):
            yield from _holders(each, name, where, depth - 1)


def _registers(value: object, depth: int) -> Iterator[Register]:
    """The registers that a value of the user is or holds; of a tile, those of its address."""
    if isinstance(value, Reg):
        yield value.register
    elif isinstance(value, Register):
        yield value
    elif depth == 0 or isinstance(value, (*PLAIN, type)):
        return
    elif isinstance(value, (list, tuple, RegArray)):
        for each in cast("list[object]", value):
            yield from _registers(each, depth - 1)
    elif isinstance(value, dict):
        for each in cast("dict[object, object]", value).values():
            yield from _registers(each, depth - 1)
    else:
        for each in _attributes(value):
            yield from _registers(each, depth - 1)


def _attributes(value: object) -> Iterator[object]:
    held: dict[str, object] = dict(vars(value)) if hasattr(value, "__dict__") else {}
    for kind in type(value).__mro__:
        for slot in cast("tuple[str, ...]", getattr(kind, "__slots__", ())):
            held[slot] = getattr(value, slot, None)
    return (each for each in held.values() if not isinstance(each, Trace))


def _module(value: object) -> str:
    return type(value).__module__
