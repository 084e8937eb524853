"""Structured control flow: blocks that append branches and labels, freely nested.

Each construct says how many instructions it appends. Branches are plain `bra`: the assembler finds
where threads meet again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Final, NoReturn, SupportsIndex, TypeAlias, cast

from pyptx import _verify as verify
from pyptx._bytecode import counted, statement_of
from pyptx._ir import Guard, Instruction
from pyptx._isa.given import Number, Raw
from pyptx._isa.scalar import conversion
from pyptx._operands import Label
from pyptx._source import SourceLocation, caller
from pyptx._trace.control.range_writes import warn_of_writes
from pyptx._trace.core.context import ENTERED, Block, Trace, current
from pyptx._trace.core.names import Names
from pyptx._trace.core.products import product_notes
from pyptx._trace.core.values import (
    Pred,
    Reg,
    Special,
    Value,
    checked_dtype,
    guard,
    integer,
    move,
    needed_guard,
    own,
)
from pyptx.errors import LanguageError
from pyptx.types import DTYPES, DType, s32

Condition: TypeAlias = "Pred | Callable[[], Pred]"
Bound: TypeAlias = "SupportsIndex | Value"


class _Made:
    """What is made by a call of the language and then entered, exactly once: a block, a range."""

    construct: str
    no_truth = "Python cannot branch on what a kernel decides"

    def __init__(self) -> None:
        self._trace = current(self.construct)
        self._location = caller()
        self._entered = False
        self._trace.made[id(self)] = self.construct, self._location

    def __bool__(self) -> NoReturn:
        raise LanguageError(
            f"{self.construct} has no truth value: {self.no_truth}",
            location=caller(),
            notes=(("help", ENTERED[self.construct]),),
        )

    def _enter(self) -> Trace:
        """The trace that it is entered in. Raises LanguageError the second time."""
        if self._entered or self._trace is not current(self.construct):
            raise LanguageError(
                f"this {self.construct} was entered before; a block is entered once",
                location=caller(),
                notes=(("made", str(self._location)), ("help", ENTERED[self.construct])),
            )
        self._entered = True
        del self._trace.made[id(self)]
        return self._trace


class RunTimeBlock(_Made, AbstractContextManager[None]):
    """A block of the kernel: `with` enters it, once, while the kernel is traced.

    Raises LanguageError where it is used as a condition of Python, entered twice, left by Python's
    `return`, `break` or `continue`, and where a name that is bound anew in it is read after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._block = Block(self.construct, self._location)
        self._names: Names | None = None
        self._first = 0

    def __enter__(self) -> None:
        trace = self._enter()
        self._first = len(trace.body)
        self._open(trace)
        repeats = self._block.break_label is not None
        self._names = Names(self.construct, self._block.location, repeats)
        self._names.take()
        trace.enter(self._block)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        trace = self._trace
        if kind is not None:
            trace.abandon(self._block)
            return
        _leave(trace, self._names, self._first)
        self._close(trace)

    def _open(self, trace: Trace) -> None:
        raise NotImplementedError

    def _close(self, trace: Trace) -> None:
        raise NotImplementedError


def _leave(trace: Trace, names: Names | None, first: int) -> None:
    """End the innermost block, which began with statement `first`; raises as RunTimeBlock says."""
    assert names is not None
    block = trace.blocks[-1]
    try:
        replaced = names.check(first, len(trace.body))
    except LanguageError:
        trace.abandon(block)
        raise
    trace.at_end += [each.check for each in replaced]
    trace.blocks.pop()


class _If(RunTimeBlock):
    construct = "ptx.if_"

    def __init__(self, predicate: Pred, *, into: bool) -> None:
        super().__init__()
        self._holds, self._into = needed_guard(self._trace, predicate), into
        self._otherwise: Label | None = None

    def _open(self, trace: Trace) -> None:
        self._otherwise = trace.label()
        if self._into:
            inside = trace.label()
            _branch(trace, inside, self._holds)
            _branch(trace, self._otherwise, None)
            trace.place(inside)
        else:
            _branch(trace, self._otherwise, _opposite(self._holds))

    def _close(self, trace: Trace) -> None:
        assert self._otherwise is not None
        trace.place(self._otherwise)
        trace.open_else = len(trace.body), self._otherwise, self._block


def if_(predicate: Pred, *, into: bool = False) -> RunTimeBlock:
    """The body runs in the threads where `predicate` holds. One `bra`, around the body.

    With `into` two: one into the body where the predicate holds, and one around it, as compilers
    write it. That means the same, and the assembler may order the machine code in another way.
    """
    return _If(predicate, into=into)


class _Else(RunTimeBlock):
    construct = "ptx.else_"
    _end: Label

    def __init__(self) -> None:
        trace = current(self.construct)
        if trace.open_else is None or trace.open_else[0] != len(trace.body):
            raise LanguageError(
                "ptx.else_ does not follow a ptx.if_ directly",
                location=caller(),
                notes=(
                    ("help", "with ptx.if_(p): ...   with ptx.else_(): ...   with nothing between"),
                ),
            )
        super().__init__()

    def _open(self, trace: Trace) -> None:
        if trace.open_else is None or trace.open_else[0] != len(trace.body):
            raise LanguageError(
                "instructions stand between this ptx.else_ and its ptx.if_",
                location=self._block.location,
                notes=(("help", ENTERED[self.construct]),),
            )
        otherwise = trace.open_else[1]
        trace.open_else = None
        trace.body.pop()  # the label goes after the branch that ends the first body
        self._end = trace.label()
        _branch(trace, self._end, None)
        trace.place(otherwise)

    def _close(self, trace: Trace) -> None:
        trace.place(self._end)


def else_() -> RunTimeBlock:
    """The other threads of the `ptx.if_` directly before it. One `bra`."""
    return _Else()


class _Loop(RunTimeBlock):
    construct = "ptx.loop"

    def __init__(self, pred: Condition | None) -> None:
        super().__init__()
        self._pred = pred
        # What a predicate holds at the end of each round, not here, is what counts.
        self._again = None if pred is None or callable(pred) else needed_guard(self._trace, pred)
        self._start: Label | None = None

    def _open(self, trace: Trace) -> None:
        self._start, again, end = trace.label(), trace.label(), trace.label()
        self._block.continue_label, self._block.break_label = again, end
        trace.place(self._start)

    def _close(self, trace: Trace) -> None:
        block = self._block
        assert block.continue_label is not None
        assert block.break_label is not None
        assert self._start is not None
        trace.place(block.continue_label)
        trace.blocks.append(block)  # the condition belongs to the loop
        condition = _evaluated(trace, self._pred) if callable(self._pred) else self._again
        trace.blocks.pop()
        if self._again is not None:
            _check_changes(trace, self._first, self._again, block)
        _branch(trace, self._start, condition)
        trace.place(block.break_label)


def loop(label: str | None = None, *, pred: Condition | None = None) -> RunTimeBlock:
    """Run the body, then again while `pred` holds; without `pred`, until `ptx.break_`.

    `pred` is read at the end of each round: a predicate register that the body sets, or a function
    that appends the comparison. One `bra`, plus what the function appends. `label` is for readers.
    """
    del label
    return _Loop(pred)


class _While(RunTimeBlock):
    construct = "ptx.while_"

    def __init__(self, condition: Condition) -> None:
        super().__init__()
        self._condition = condition
        self._body = 0
        self._holds: Guard | None = None

    def _open(self, trace: Trace) -> None:
        start, end = trace.label(), trace.label()
        self._block.continue_label, self._block.break_label = start, end
        trace.place(start)
        self._holds = _evaluated(trace, self._condition)
        _branch(trace, end, _opposite(self._holds))
        self._body = len(trace.body)

    def _close(self, trace: Trace) -> None:
        block = self._block
        assert self._holds is not None
        assert block.continue_label is not None
        assert block.break_label is not None
        if not callable(self._condition):
            _check_changes(trace, self._body, self._holds, block)
        _branch(trace, block.continue_label, None)
        trace.place(block.break_label)

    def __enter__(self) -> None:
        super().__enter__()
        assert self._names is not None
        self._names.condition = _names_of(self._condition)


def while_(condition: Condition) -> RunTimeBlock:
    """Run the body while `condition` holds, tested before each round.

    A function is called once, at trace time, and appends the comparison: `lambda: i < n`. A
    predicate register is read as the body left it. Two `bra`, plus what the function appends.
    """
    return _While(condition)


def _names_of(condition: object) -> frozenset[str]:
    """The names of other scopes that a condition reads."""
    code = getattr(condition, "__code__", None)
    return frozenset() if code is None else frozenset((*code.co_freevars, *code.co_names))


def _check_changes(trace: Trace, first: int, condition: Guard, block: Block) -> None:
    """The body of a loop, from `first` on, must set its predicate or have another way out.

    Raises LanguageError: `pred=i < n` compares once, before the loop.
    """
    for statement in trace.body[first:]:
        if isinstance(statement, Instruction):
            sets = condition.register in verify.reads_and_writes(statement)[1]
            leaves = statement.form.opcode in verify.ENDS or block.break_label in statement.operands
            if sets or leaves:
                return
    raise LanguageError(
        "this loop never ends: nothing in its body sets its predicate, and nothing leaves it",
        location=block.location,
        notes=(("help", f"compare in every round: {block.construct}({_LAZY[block.construct]})"),),
    )


_LAZY: Final = {"ptx.loop": "pred=lambda: i < n", "ptx.while_": "lambda: i < n"}


class _Range(_Made):
    """What `ptx.range_` gives: iterating it once is the loop."""

    construct = "ptx.range_"
    no_truth = "it is a loop of the kernel"

    def __init__(self, first: Bound, last: Bound, step: int, kind: DType) -> None:
        super().__init__()
        self._bounds, self._step, self._kind = (first, last), step, kind

    def __iter__(self) -> Iterator[Reg]:
        return self._rounds(self._enter())

    def _rounds(self, trace: Trace) -> Generator[Reg]:
        first, last = self._bounds
        kind, stride = self._kind, self._step
        known = [_known_bound(bound) for bound in self._bounds]
        guarded = None in known
        if not guarded and not range(known[0] or 0, known[1] or 0, stride):
            return
        counter = Reg(trace, trace.register(kind))
        move(counter, first)
        limit = _limit(trace, last)
        begin, again, end = trace.label(), trace.label(), trace.label()
        inside, outside = ("lt", "ge") if stride > 0 else ("gt", "le")
        if guarded:
            _branch(trace, end, _compare(trace, f"setp.{outside}.{kind}", counter, limit))
        trace.place(begin)
        start = len(trace.body)
        block = Block(self.construct, self._location, end, again)
        names = Names(self.construct, self._location, repeats=True, counter=counter)
        names.take()
        trace.enter(block)
        _check_statement(self._location)
        try:
            yield counter
        except GeneratorExit:
            trace.abandoned = LanguageError(
                "`break` or `return` left a ptx.range_ loop while it was being traced",
                location=block.location,
                notes=(("help", "ptx.break_(pred=p) leaves the loop when the kernel runs"),),
            )
            raise
        _leave(trace, names, start)
        warn_of_writes(trace, start, counter, limit)
        trace.place(again)
        trace.write(f"add.{kind}", counter.register, counter.register, Number(stride))
        _branch(trace, begin, _compare(trace, f"setp.{inside}.{kind}", counter, limit))
        trace.place(end)


def _check_statement(made: SourceLocation) -> None:
    """Raises LanguageError where the loop in its caller's caller is not a `for` with a body."""
    frame = sys._getframe(2)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    while frame.f_code.co_name == "<genexpr>" and frame.f_back is not None:
        frame = frame.f_back
    code, offset = frame.f_code, frame.f_lasti
    if not statement_of(code, offset):
        raise LanguageError(
            "ptx.range_ is a loop of the kernel, and Python sees one round of it: a comprehension, "
            "sum(), list() and unpacking take one register from it",
            location=made,
            notes=(
                ("help", "for i in ptx.range_(n): ...   acc += v in its body adds up all rounds"),
                ("help", "for i in range(n): ...   is unrolled: each round has its own registers"),
            ),
        )
    if word := counted(code, offset):
        raise LanguageError(
            f"{word} counts what Python sees, and of ptx.range_ it sees one round",
            location=made,
            notes=(
                ("help", "for i in ptx.range_(n): ...   i is the number of the round"),
                ("help", f"for ... in {word}(range(n), ...): ...   is unrolled"),
            ),
        )


def range_(
    start: Bound, stop: Bound | None = None, step: SupportsIndex = 1, *, dtype: DType | None = None
) -> Iterable[Reg]:
    """`for i in ptx.range_(...)`: a loop of the kernel, `i` its register.

    Bounds are ints or registers of one integer type; `step` is a Python int, not zero. `i` has
    the type of the register bound, otherwise `dtype` (s32). One `mov`, then `add`, `setp` and `bra`
    each round; one `setp` and one `bra` before, unless both bounds are ints. An empty range of ints
    appends nothing. Leave it early with `ptx.break_`, not with `break`. Every round reads `i` and
    the register of `stop` again, so a body that writes one of them is warned of.
    """
    current("ptx.range_")
    first, last = (0, start) if stop is None else (start, stop)
    stride = integer(step)
    if not stride:
        raise LanguageError(
            f"the step of ptx.range_ is a Python int other than 0, not {step!r}", location=caller()
        )
    if dtype is not None:
        checked_dtype(dtype)
    for bound in (first, last):
        _known_bound(bound)
    kind = _loop_type(first, last, dtype)
    _check_fits(kind, first, last, stride)
    return _Range(first, last, stride, kind)


def kloop(total: Bound, *, unroll: int = 1, body: Callable[[int | Reg], None]) -> None:
    """Call `body(k)` for each k from 0 to `total`.

    For an int it is called so often, each with an int: Python unrolls the loop. For a register it
    is a loop of the kernel of `unroll` calls a round, and one for the remainder: as two
    `ptx.range_`, with one `add` for each further call of a round, and `rem` and `sub` for the
    end of the first, none of these for `unroll=1`.
    """
    trace = current("ptx.kloop")
    whole, copies = integer(total), integer(unroll)
    if copies is None or copies < 1:
        raise LanguageError(
            f"unroll={unroll!r} is not how often a body is repeated",
            location=caller(),
            notes=(("legal", "1 and more"),),
        )
    if whole is not None:
        for k in range(whole):
            body(k)
        return
    last = Reg(trace, own(trace, cast("Reg", total)))
    rounds = last - last % copies if copies > 1 else last
    for k in range_(0, rounds, copies):
        for copy in range(copies):
            body(k + copy if copy else k)
    if copies > 1:
        for k in range_(rounds, last):
            body(k)


def break_(*, pred: Pred | None = None) -> None:
    """Leave the innermost loop, in the threads where `pred` holds. One `bra`."""
    trace = current("ptx.break_")
    target = trace.innermost_loop("ptx.break_").break_label
    assert target is not None
    _branch(trace, target, guard(trace, pred))


def continue_(*, pred: Pred | None = None) -> None:
    """Go to the next round of the innermost loop. One `bra`."""
    trace = current("ptx.continue_")
    target = trace.innermost_loop("ptx.continue_").continue_label
    assert target is not None
    _branch(trace, target, guard(trace, pred))


def ret(*, pred: Pred | None = None) -> None:
    """Return from the kernel, in the threads where `pred` holds. One `ret`."""
    trace = current("ptx.ret")
    trace.write("ret", guard=guard(trace, pred))


def _branch(trace: Trace, label: Label, condition: Guard | None) -> None:
    trace.write("bra", label, guard=condition)


def _opposite(condition: Guard) -> Guard:
    return Guard(condition.register, not condition.negated)


def _evaluated(trace: Trace, condition: object) -> Guard:
    return needed_guard(trace, condition() if callable(condition) else condition)


def _compare(trace: Trace, spelling: str, counter: Reg, limit: Raw) -> Guard:
    result = trace.register(DTYPES["pred"])
    trace.write(spelling, result, counter.register, limit)
    return Guard(result)


def _known_bound(bound: object) -> int | None:
    """A bound that is an int; None for one in a register."""
    found = integer(bound)
    if found is None and not isinstance(bound, Value):
        raise LanguageError(
            f"a bound of ptx.range_ is an int or a register, not {bound!r}", location=caller()
        )
    return found


def _limit(trace: Trace, last: Bound) -> Raw:
    if isinstance(last, Special):
        staged = Reg(trace, trace.register(last.dtype))
        move(staged, last)
        return staged.register
    if isinstance(last, Reg):
        return own(trace, last)
    return Number(last)


def _loop_type(first: Bound, last: Bound, dtype: DType | None) -> DType:
    bounds = {b.dtype for b in (first, last) if isinstance(b, Value)}
    types = bounds if dtype is None else {dtype, *bounds}
    kind = next(iter(types), s32)
    if len(types) > 1 or not kind.is_integer or kind.bits < 16:
        names = " and ".join(sorted(f".{t}" for t in types))
        registers = [b.register for b in (first, last) if isinstance(b, Reg)]
        raise LanguageError(
            f"the bounds of ptx.range_ are {names}; one integer type is needed",
            location=caller(),
            notes=(
                *product_notes(current("ptx.range_").body, registers),
                *_one_type(bounds, dtype),
            ),
        )
    return kind


def _one_type(bounds: set[DType], dtype: DType | None) -> tuple[tuple[str, str], ...]:
    """How registers of these types become bounds of one, of `dtype` where it is given."""
    plain = all(t.is_integer or t.is_bits for t in bounds)
    if dtype is not None and (not dtype.is_integer or dtype.bits < 16):
        return (("legal", "dtype= is an integer type of 16, 32 or 64 bits"),)
    if dtype is None:
        wide = max(32, *(t.bits for t in bounds)) if plain else 32
        # All values of a narrower unsigned type are in a signed one; it also counts down.
        signed = any(t.is_signed for t in bounds) or not plain
        dtype = DTYPES[f"{'s' if signed else 'u'}{wide}"]
    helps = (_converted(t, dtype) for t in sorted(bounds, key=lambda t: t.name) if t is not dtype)
    return tuple(("help", each) for each in helps)


def _converted(bound: DType, to: DType) -> str:
    """How a bound of one type is written in another."""
    if bound.bits == to.bits and (bound.is_integer or bound.is_bits):
        return f"the .{bound} bound: reg.from_(r, {to})"
    return f"the .{bound} bound: {conversion(to, bound).removeprefix('convert it: ')}"


def _check_fits(kind: DType, first: Bound, last: Bound, stride: int) -> None:
    """The ints of a range must be numbers of its type: a .u32 does not count down by -1."""
    low = -(1 << (kind.bits - 1)) if kind.is_signed else 0
    high = (1 << (kind.bits - kind.is_signed)) - 1
    named = (("starts at", integer(first)), ("stops at", integer(last)), ("steps by", stride))
    for what, value in named:
        if value is None or low <= value <= high:
            continue
        if value < 0 and not kind.is_signed:
            signed = DTYPES[f"s{max(kind.bits, 32)}"]
            help_ = f"count in .{signed}: {_signed(kind, signed, first, last)}"
        else:
            help_ = f"count in 64 bits: {_signed(kind, DTYPES['s64'], first, last)}"
        raise LanguageError(
            f"ptx.range_ counts in .{kind} here and {what} {value}",
            location=caller(),
            notes=(("legal", f"{low} to {high}"), ("help", help_)),
        )


def _signed(kind: DType, to: DType, first: Bound, last: Bound) -> str:
    """How a range of one type is written in a wider or signed one."""
    if not any(isinstance(bound, Value) for bound in (first, last)):
        return f"dtype={to}"
    return _converted(kind, to).removeprefix(f"the .{kind} bound: ") + " for a bound r"


def named_label(trace: Trace, name: str) -> Label:
    """The label of a name, made when it is first named."""
    if name not in trace.named:
        trace.named[name] = trace.label()
    return trace.named[name]


def place_label(trace: Trace, label: object) -> None:
    """Put a label that the user made into the body."""
    if not isinstance(label, Label):
        raise LanguageError(
            f"ptx.place takes a label, not {label!r}",
            location=caller(),
            notes=(("help", "again = ptx.label()"),),
        )
    if label in trace.placed:
        raise LanguageError("the label stands in the body already", location=caller())
    trace.place(label)
