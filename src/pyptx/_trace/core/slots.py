"""What a run-time block did to lists, dicts, objects and functions of the user.

A name's next reads are known from the bytecode, an element's are not: `acc[i]` may be any of them.
So an element that a block replaced is judged by the registers that it brings and took: wrong where
the kernel reads the new one's after the block, or the old one's in a loop, whose next round would
read them again. Likewise the registers that a block made and added to a list, which has one for all
rounds, and those that a loop removed. What holds no registers, such as a tile, is judged by the
name that leads to it; a Python number that a loop changed is a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Final, cast

from pyptx import _verify as verify
from pyptx._ir import Instruction, Statement
from pyptx._operands import Register
from pyptx._source import SourceLocation
from pyptx._trace.core.context import Trace
from pyptx._trace.core.holders import PLAIN, Holder, Slot
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Reg, Value, is_same
from pyptx.errors import LanguageError, LanguageWarning
from pyptx.types import pred

WHY: Final = "the block is traced once, so a name bound in it changes for all threads and rounds"
CURE: Final = "{0} += v or {0}.set(v) writes the register that it has"
_DEPTH: Final = 3
_REPORTED_BY: Final = "pyptx"


@dataclass(frozen=True, slots=True)
class At:
    """A block: what opened it, where, and its statements in the body of the kernel."""

    construct: str
    location: SourceLocation
    repeats: bool
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """A slot that a block gave other registers."""

    slot: Slot
    old: frozenset[Register]
    new: frozenset[Register]
    block: At

    def check(self, body: list[Statement]) -> None:
        """Raises LanguageError where the kernel reads what the block replaced."""
        block = self.block
        found = _read(body[block.end :], self.new)
        if block.repeats:
            found = _read(body[block.first : block.end], self.old) or found
        if found is not None:
            held = "another register" if isinstance(self.slot.new, Reg) else "other registers"
            raise _error(
                f"{self.slot.spelled} has {held} after {block.construct} than before it, and is "
                "read here",
                found,
                block,
                WHY,
                self._cure(),
            )

    def _cure(self) -> str:
        spelled, old, new = self.slot.spelled, self.slot.old, self.slot.new
        if isinstance(old, Reg):
            return CURE.format(spelled)
        if isinstance(new, Reg):
            return f"{spelled} is a register before the block, which {spelled}.set(v) writes in it"
        return f"write the registers that it has, each by .set(v), and leave {spelled} as it is"


@dataclass(frozen=True, slots=True)
class Added:
    """Elements that a block added to a list, with the registers that they hold."""

    spelled: str
    registers: frozenset[Register]
    block: At

    def check(self, body: list[Statement]) -> None:
        """Raises LanguageError where the kernel reads one after the block that was made in it."""
        block = self.block
        made = self.registers - _written(body[: block.first])
        made &= _written(body[block.first : block.end])
        found = _read(body[block.end :], made)
        if found is None:
            return
        if block.repeats:
            why = "the block is traced once, so Python adds one element for all rounds"
            cure = "for i in range(n) is unrolled by Python: each i has its own registers"
        else:
            why = "the block is traced once, so Python adds the element for all threads"
            cure = "v = reg.scalar(dtype) before the block, and v.set(x) in it"
        raise _error(
            f"{self.spelled} has more elements after {block.construct} than before it, and one "
            "of them is read here",
            found,
            block,
            why,
            cure,
        )


@dataclass(frozen=True, slots=True)
class Removed:
    """Elements that a loop of the kernel removed from a list, with the registers they hold."""

    spelled: str
    registers: frozenset[Register]
    block: At

    def check(self, body: list[Statement]) -> None:
        """Raises LanguageError where a round reads one, which each later round reads, too."""
        block = self.block
        found = _read(body[block.first : block.end], self.registers)
        if found is not None:
            raise _error(
                f"{self.spelled} has fewer elements after {block.construct} than before it, and "
                "one that was removed is read here",
                found,
                block,
                "the block is traced once, so Python removes one element, which every round reads",
                "for i in range(n) is unrolled by Python: each round removes its own",
            )


@dataclass(frozen=True, slots=True)
class Late:
    """A negation or an address from before a loop, with its register and the line that reads it."""

    name: str
    register: Register
    read: SourceLocation
    block: At

    def check(self, body: list[Statement]) -> None:
        """Warn where the loop writes the register, which each round reads anew."""
        if self.register in _written(body[self.block.first : self.block.end]):
            made = "~p" if self.register.dtype is pred else "ptx.addr(x)"
            copy = (
                f"reg.from_({made}, pred)"
                if made == "~p"
                else f"reg.from_(x, {self.register.dtype})"
            )
            _warn(
                f"{self.name} is {made} from before {self.block.construct}, which writes that "
                "register: each round reads it anew",
                f"{made} is an operand, read by the instruction that takes it",
                f"{copy} before the loop is a register of its own",
                self.block,
                self.read,
            )


Change = Replaced | Added | Removed | Late


def changes(holder: Holder, block: At) -> Iterator[Change | Slot]:
    """What a block changed: what the kernel's body judges, and slots without registers."""
    for slot in holder.replaced():
        old, new = registers(slot.old), registers(slot.new)
        if old - new or new - old:
            yield Replaced(slot, old - new, new - old, block)
        else:
            yield slot
    if (resized := holder.resized()) is not None:
        yield resized
    if held := registers(holder.added()):
        yield Added(holder.spelled, held, block)
    if held := registers(holder.removed()):
        if block.repeats:
            yield Removed(holder.spelled, held, block)
        elif (shrunk := holder.shrunk()) is not None:
            yield shrunk


def warn_of_number(slot: Slot, block: At) -> None:
    """Warn of a number of Python's that a loop of the kernel changed, by which it counts once."""
    if slot.iterator and block.repeats:
        _warn(
            f"{slot.spelled} is an iterator that {block.construct} advances: every round has the "
            "same element",
            "the block is traced once, and Python's iterators advance while it is traced",
            f"for v in {slot.spelled} is unrolled by Python: each round has its own",
            block,
        )
        return
    numbers = (bool, int, float)
    old, new = slot.old, slot.new
    if not (block.repeats and isinstance(old, numbers) and isinstance(new, numbers)) or old == new:
        return
    _warn(
        f"{slot.spelled} is {old} before {block.construct} and {new} after it: every round "
        f"reads {old}",
        "the block is traced once, and Python's numbers change while it is traced",
        "for i in range(n) is unrolled by Python: each round has its own"
        if slot.spelled.startswith("len(")
        else f"a register counts rounds: n = reg.scalar(s32, init={int(old)}), n += 1",
        block,
    )


def is_plain(slot: Slot) -> bool:
    """Whether a slot has another number or function than before; names only count the trace."""
    if isinstance(slot.old, FunctionType) and isinstance(slot.new, FunctionType):
        return True
    numbers = (bool, int, float)
    plain = isinstance(slot.old, numbers) and isinstance(slot.new, numbers)
    return plain and slot.old != slot.new


def warn_of_constant(slot: Slot, block: At, reads: SourceLocation) -> None:
    """Warn of a constant of Python's that a block changed for all threads, and that is read."""
    old, new = (
        getattr(each, "__name__", each) if callable(each) else repr(each)
        for each in (slot.old, slot.new)
    )
    value = "v = reg.scalar(dtype) before the block, and v.set(x) in it"
    if isinstance(slot.old, (bool, int, float)):
        dtype = "f32" if isinstance(slot.old, float) else "s32"
        value = f"v = reg.scalar({dtype}, init={slot.old + 0!r}) before the block, v.set(x) in it"
    _warn(
        f"{slot.spelled} is {old} before {block.construct} and {new} after it, in all threads, and "
        f"{slot.name} is read later",
        WHY.replace("a name bound in it changes", "a Python value changed in it changes"),
        value,
        block,
        reads,
    )


def _warn(what: str, why: str, cure: str, block: At, reads: SourceLocation | None = None) -> None:
    read = () if reads is None else (("read", reads.quoted),)
    # Warnings put the line before it.
    message = LanguageError(what, notes=(*read, ("why", why), ("help", cure)))
    where = block.location
    warnings.warn_explicit(
        str(message), LanguageWarning, where.file, where.line, module=_REPORTED_BY
    )


def _error(what: str, location: SourceLocation, block: At, why: str, cure: str) -> LanguageError:
    return LanguageError(
        what,
        location=location,
        notes=(("block", block.location.quoted), ("why", why), ("help", cure)),
    )


def _read(statements: list[Statement], held: frozenset[Register]) -> SourceLocation | None:
    """The line that reads one of the registers first, before it is written anew."""
    live = set(held)
    for statement in statements:
        if not live:
            break
        if isinstance(statement, Instruction):
            reads, writes = verify.reads_and_writes(statement)
            if not live.isdisjoint(reads):
                return statement.location
            live.difference_update(writes)
    return None


def _written(statements: list[Statement]) -> set[Register]:
    found: set[Register] = set()
    for statement in statements:
        if isinstance(statement, Instruction):
            found.update(verify.reads_and_writes(statement)[1])
    return found


def registers(value: object) -> frozenset[Register]:
    """The registers that a value of the user is or holds; of a tile, those of its address."""
    return frozenset(_registers(value, _DEPTH))


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
    if is_same(old, new):
        return True
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        olds, news = cast("list[object]", old), cast("list[object]", new)
        return len(olds) == len(news) and all(map(_is_same, olds, news))
    if isinstance(old, Value) or isinstance(new, Value):
        return False
    # Registers compare by appending an instruction.
    return not any(_registers(cast("object", old), _DEPTH)) and old == new


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
