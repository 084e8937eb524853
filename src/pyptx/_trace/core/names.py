"""Names that a run-time block binds anew, and blocks that Python leaves early.

The body of a block is traced once, so a Python name that is bound anew in it has its new value for
everything that is traced later: in threads that skip the block, and in the other rounds of a loop.
A register that is written (`x += v`, `x.set(v)`) changes when the kernel runs. The one rule: a name
that was bound before a block and is bound anew in it is not read after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from types import FrameType, FunctionType
from typing import Final, TypeVar, cast

from pyptx import _bytecode as bytecode
from pyptx._operands import Register
from pyptx._source import SourceLocation, is_of_ops, users_frames
from pyptx._trace.core.holders import PLAIN, Holder, Slot, global_names, holders
from pyptx._trace.core.older import UsersAddress, warn_of_rounds
from pyptx._trace.core.slots import (
    CURE,
    WHY,
    At,
    Change,
    Late,
    changes,
    is_other,
    is_plain,
    warn_of_constant,
    warn_of_number,
)
from pyptx._trace.core.users import CONTAINERS, is_users
from pyptx._trace.core.values import Not, Reg, Value, is_same
from pyptx.errors import LanguageError
from pyptx.types import DTYPES, pred

_roots: Final[set[int]] = set()
"""Code of the package that calls the user's functions: frames above it belong to no kernel."""

_Function = TypeVar("_Function", bound=Callable[..., object])


def root(function: _Function) -> _Function:
    """Mark a function of the package that runs the function of a kernel."""
    _roots.add(id(cast("FunctionType", function).__code__))
    return function


@dataclass(slots=True)
class Names:
    """What the names of the user's frames were bound to when a block began."""

    construct: str
    location: SourceLocation
    repeats: bool
    frames: dict[FrameType, tuple[int, dict[str, object]]] = field(
        default_factory=dict[FrameType, tuple[int, dict[str, object]]]
    )
    holders: list[tuple[FrameType, Holder]] = field(default_factory=list[tuple[FrameType, Holder]])
    # Names that the condition of a loop reads, which is called once and not in every round.
    condition: frozenset[str] = frozenset()
    # The register that counts the rounds of a `ptx.range_`.
    counter: Reg | None = None

    def take(self) -> None:
        """Remember the names of the frames that are running."""
        for frame in users_frames(_roots):
            # What `pyptx.ops` binds itself is right, as its tests see: to follow that too would
            # take a fifth of the time that its kernels take to trace.
            held = _given(frame) if is_of_ops(frame) else _bound(frame)
            self.frames[frame] = frame.f_lasti, held
            for name, value in held.items():
                self.holders += [(frame, holder) for holder in holders(value, name)]

    def check(self, first: int, end: int) -> list[Change]:
        """Raises LanguageError where the block was left early or bound a name that is read later.

        Gives what else it changed, which the whole body decides.
        """
        running = set(users_frames(_roots))
        frames = [frame for frame in self.frames if frame in running]
        for frame in frames:
            self._check_left(frame)
        for frame in frames:
            self._check_names(frame)
            self._check_counter(frame)
        if self.repeats:
            warn_of_rounds(self.location, self.construct, list(self._older(running)))
        block = At(self.construct, self.location, self.repeats, first, end)
        found: list[Change] = list(self._operands(running, block)) if self.repeats else []
        for frame, holder in self.holders:
            for change in changes(holder, block):
                if not isinstance(change, Slot):
                    found.append(change)
                elif frame in running:
                    warn_of_number(change, block)
                    self._check_slot(frame, change)
                    self._warn_of_constant(frame, change, block)
        return found

    def _older(self, running: Set[FrameType]) -> Iterator[tuple[str, SourceLocation, Reg]]:
        """What a loop reads and still holds a register as it was before an operator wrote it.

        How it is written, where it is read, and the register.
        """
        objects: dict[int, object] = {}
        for frame in running & self.frames.keys():
            now = _bound(frame)
            for name, old in self.frames[frame][1].items():
                if now.get(name) is not old and is_same(old, now.get(name)):
                    objects[id(old)] = old
        for _, holder in self.holders:
            objects.update((id(old), old) for old, _ in holder.renewed())
        if not objects:
            return
        for frame in running & self.frames.keys():
            now = _bound(frame)
            for name, old in self.frames[frame][1].items():
                if id(old) in objects and now.get(name) is old:
                    yield from self._read_in_it(frame, name, name, old)
        for frame, holder in self.holders:
            if frame in running:
                for spelled, old in holder.kept(objects):
                    yield from self._read_in_it(frame, holder.name, spelled, old)

    def _read_in_it(
        self, frame: FrameType, name: str, spelled: str, register: object
    ) -> Iterator[tuple[str, SourceLocation, Reg]]:
        entered, _ = self.frames[frame]
        attribute = _attribute(spelled)
        line = bytecode.read_between(frame.f_code, entered, frame.f_lasti, name, attribute)
        if line is not None and isinstance(register, Reg):
            yield spelled, SourceLocation(frame.f_code.co_filename, line), register

    def _operands(self, running: Set[FrameType], block: At) -> Iterator[Late]:
        """The negations and addresses from before a loop that its body reads by a name."""
        for frame in running & self.frames.keys():
            entered, held = self.frames[frame]
            for name, value in held.items():
                if not isinstance(value, (Not, UsersAddress)):
                    continue
                line = bytecode.read_between(frame.f_code, entered, frame.f_lasti, name)
                base = value.of.register if isinstance(value, Not) else value.base
                if line is not None and isinstance(base, Register):
                    read = SourceLocation(frame.f_code.co_filename, line)
                    yield Late(name, base, read, block)

    def _check_left(self, frame: FrameType) -> None:
        entered, _ = self.frames[frame]
        if bytecode.same(frame.f_code, entered, frame.f_lasti):  # it called what made the block
            return
        left = bytecode.leaving(frame.f_code, entered, frame.f_lasti)
        if left is not None:
            word, line = left
            where = SourceLocation(frame.f_code.co_filename, line) if line else self.location
            raise left_early(word, where, self.construct, self.location)

    def _check_names(self, frame: FrameType) -> None:
        entered, held = self.frames[frame]
        names = _bound(frame)
        for name, old in held.items():
            new = names.get(name, old)
            if is_same(new, old) or is_same(new, self.counter) or _same(old, new):
                continue
            read = self._read(frame, entered, name)
            if read is not None:
                self._reject(frame, name, old, new, read)

    def _check_slot(self, frame: FrameType, slot: Slot) -> None:
        """A tile or an mbarrier in another's place: what leads to it is not read later."""
        entered, _ = self.frames[frame]
        if not is_other(slot):
            return
        read = self._read(frame, entered, slot.name)
        if read is not None:
            raise LanguageError(
                f"{slot.spelled} has another value after {self.construct} than before it, and "
                f"{slot.name} is read later",
                location=self.location,
                notes=(
                    ("read", SourceLocation(frame.f_code.co_filename, read).quoted),
                    ("why", WHY),
                    ("help", "an index or an address that changes is a register, changed by .set"),
                ),
            )

    def _warn_of_constant(self, frame: FrameType, slot: Slot, block: At) -> None:
        """A constant in an element or attribute, where a block that is no loop changed it."""
        if self.repeats or not is_plain(slot):
            return
        code, here = frame.f_code, frame.f_lasti
        attribute = _attribute(slot.spelled)
        if attribute is not None:
            read = bytecode.next_attribute(code, here, attribute)
        else:
            read = bytecode.next_read(code, here, slot.name)
        if read is not None:
            warn_of_constant(slot, block, SourceLocation(code.co_filename, read))

    def _check_counter(self, frame: FrameType) -> None:
        """The variable of a loop is one round further after it than Python's."""
        if self.counter is None:
            return
        for name, value in frame.f_locals.items():
            if not is_same(value, self.counter):
                continue
            code = frame.f_code
            read = bytecode.next_read(code, frame.f_lasti, name, jump=True)
            if read is not None:
                raise LanguageError(
                    f"{name} is read after its loop, where it holds the stop and not what it had "
                    "in the last round",
                    location=SourceLocation(code.co_filename, read),
                    notes=(
                        ("loop", self.location.quoted),
                        ("help", f"a register of its own keeps it: last.set({name}) in the loop"),
                    ),
                )

    def _read(self, frame: FrameType, entered: int, name: str) -> int | None:
        """The line that reads a name after the block, or in the next round of a loop."""
        code, here = frame.f_code, frame.f_lasti
        found = bytecode.next_read(code, here, name)
        if found is None and self.repeats:
            found = bytecode.next_read(code, entered, name)
        if found is None and name in self.condition:
            found = self.location.line
        return found

    def _reject(self, frame: FrameType, name: str, old: object, new: object, read: int) -> None:
        code = frame.f_code
        entered, _ = self.frames[frame]
        line = bytecode.binding(code, entered, frame.f_lasti, name) or self.location.line
        reads = SourceLocation(code.co_filename, read)
        notes = [("block", self.location.quoted)]
        if read != line:
            notes.append(("read", reads.quoted))
        raise LanguageError(
            f"{name} was bound before {self.construct} and is bound anew in it, and it is read "
            f"{'in the next round' if self.repeats and read <= line else 'after it'}",
            location=SourceLocation(code.co_filename, line),
            notes=(*notes, ("why", WHY), ("help", self._cure(name, old, new))),
        )

    def _cure(self, name: str, old: object, new: object) -> str:
        if isinstance(old, Reg) and self.construct == "ptx.else_":
            return f"{name} = reg.scalar({old.dtype}) before both blocks, {name}.set(v) in each"
        if isinstance(old, Reg):
            return CURE.format(name)
        if isinstance(old, (bool, int, float)) and isinstance(new, (Value, bool, int, float)):
            return _register_for(name, old, new)
        return f"another name in the block; a register is changed by {name}.set(v)"


def _register_for(name: str, old: float, new: Value | float) -> str:
    """How a number that a block replaces is written as a register."""
    default = "f32" if isinstance(old, float) or isinstance(new, float) else "s32"
    dtype = new.dtype if isinstance(new, Value) else DTYPES[default]
    if dtype is pred or (isinstance(old, bool) and isinstance(new, bool)):
        made = f"reg.scalar(pred, init={bool(old)})"
        return f"{name} = {made} before the block, and {name}.set(v) in it"
    start = old if dtype.is_float and not isinstance(old, bool) else int(old)
    if dtype.bits == 8 and dtype.is_integer:
        wide = "s32" if dtype.is_signed else "u32"
        made = f"reg.scalar({wide}, init={start})"
        widened = f"ptx.inst.cvt.{wide}.{dtype}(v)"
        return f"{name} = {made} before the block, and {name}.set({widened}) in it"
    made = f"reg.scalar({dtype}, init={start!r})"
    return f"{name} = {made} before the block, and {name} += v or {name}.set(v) in it"


def _given(frame: FrameType) -> dict[str, object]:
    """The variables of a frame of the package that hold an object or a function of the user."""
    return {
        name: value
        for name, value in frame.f_locals.items()
        if not isinstance(value, (Value, *PLAIN, *CONTAINERS)) and is_users(value)
    }


def _attribute(spelled: str) -> str | None:
    """The last attribute of what leads to a value; None for a name or an element."""
    _, dot, attribute = spelled.rpartition(".")
    return attribute if dot and attribute.isidentifier() else None


def _bound(frame: FrameType) -> dict[str, object]:
    """The variables of a frame, and those of its module that its code names."""
    known = frame.f_globals
    return {name: known[name] for name in global_names(frame.f_code, known)} | frame.f_locals


def left_early(
    word: str, where: SourceLocation, construct: str, block: SourceLocation
) -> LanguageError:
    """The error for Python's `return`, `break` or `continue` in a block of the kernel."""
    instead = {
        "return": "ptx.ret() returns when the kernel runs, in the threads that come to it",
        "break": "ptx.break_() leaves the loop when the kernel runs",
        "continue": "ptx.continue_() goes to the next round when the kernel runs",
    }
    help_ = instead.get(word, "ptx.ret(), ptx.break_() and ptx.continue_() act when it runs")
    return LanguageError(
        f"`{word}` leaves {construct} while the kernel is traced, so what follows is never traced",
        location=where,
        notes=(
            *((("block", block.quoted),) if block != where else ()),
            ("help", help_),
        ),
    )


def _same(old: object, new: object) -> bool:
    """Whether equal constants: any other comparison might append an instruction."""
    if type(old) is not type(new):
        return False
    if isinstance(old, tuple):
        olds, news = cast("tuple[object, ...]", old), cast("tuple[object, ...]", new)
        return len(olds) == len(news) and all(
            is_same(a, b) or _same(a, b) for a, b in zip(olds, news, strict=True)
        )
    return isinstance(old, PLAIN) and old == new
