"""Structured control flow: blocks that append branches and labels, freely nested.

Each construct says how many instructions it appends. Branches are plain `bra`: the assembler finds
where threads meet again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, SupportsIndex, TypeAlias

from pyptx import verify
from pyptx.errors import LanguageError
from pyptx.ir import Guard, Instruction
from pyptx.isa.check import Number, Raw
from pyptx.operands import Label
from pyptx.source import caller
from pyptx.trace.context import Block, Trace, current
from pyptx.trace.values import (
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
from pyptx.types import DTYPES, DType, s32

Condition: TypeAlias = "Pred | Callable[[], Pred]"
Bound: TypeAlias = "SupportsIndex | Value"


@contextmanager
def if_(predicate: Pred, *, into: bool = False) -> Generator[None]:
    """The body runs in the threads where `predicate` holds. One `bra`, around the body.

    With `into` two: one into the body where the predicate holds, and one around it, as compilers
    write it. That means the same, and the assembler may order the machine code in another way.
    """
    trace = current("ptx.if_")
    block = Block("ptx.if_", caller())
    otherwise = trace.label()
    holds = needed_guard(trace, predicate)
    if into:
        inside = trace.label()
        _branch(trace, inside, holds)
        _branch(trace, otherwise, None)
        trace.place(inside)
    else:
        _branch(trace, otherwise, _opposite(holds))
    with trace.block(block):
        yield
    trace.place(otherwise)
    trace.open_else = len(trace.body), otherwise, block


@contextmanager
def else_() -> Generator[None]:
    """The other threads of the `ptx.if_` that stands directly before. One `bra`."""
    trace = current("ptx.else_")
    if trace.open_else is None or trace.open_else[0] != len(trace.body):
        raise LanguageError(
            "ptx.else_ does not follow a ptx.if_ directly",
            location=caller(),
            notes=(
                ("help", "with ptx.if_(p): ...   with ptx.else_(): ...   with nothing between"),
            ),
        )
    otherwise = trace.open_else[1]
    trace.open_else = None
    trace.body.pop()  # the label goes behind the branch that ends the first body
    end = trace.label()
    _branch(trace, end, None)
    trace.place(otherwise)
    with trace.block(Block("ptx.else_", caller())):
        yield
    trace.place(end)


@contextmanager
def loop(label: str | None = None, *, pred: Condition | None = None) -> Generator[None]:
    """Run the body, then again while `pred` holds; for ever (until `ptx.break_`) without one.

    `pred` is read at the end of each round: a predicate register that the body sets, or a function
    that appends the comparison. One `bra`, plus what the function appends. `label` is for readers.
    """
    trace = current("ptx.loop")
    del label
    start, again, end = trace.label(), trace.label(), trace.label()
    trace.place(start)
    first = len(trace.body)
    with trace.block(Block("ptx.loop", caller(), end, again)) as block:
        yield
        trace.place(again)
        condition = None if pred is None else _evaluated(trace, pred)
        if condition is not None and not callable(pred):
            _check_changes(trace, first, condition, block)
        _branch(trace, start, condition)
    trace.place(end)


@contextmanager
def while_(condition: Condition) -> Generator[None]:
    """Run the body while `condition` holds, tested before each round.

    A function is called once, at trace time, and appends the comparison: `lambda: i < n`. A
    predicate register is read as the body left it. Two `bra`, plus what the function appends.
    """
    trace = current("ptx.while_")
    start, end = trace.label(), trace.label()
    trace.place(start)
    holds = _evaluated(trace, condition)
    _branch(trace, end, _opposite(holds))
    first = len(trace.body)
    with trace.block(Block("ptx.while_", caller(), end, start)) as block:
        yield
        if not callable(condition):
            _check_changes(trace, first, holds, block)
        _branch(trace, start, None)
    trace.place(end)


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


def range_(
    start: Bound, stop: Bound | None = None, step: SupportsIndex = 1, *, dtype: DType | None = None
) -> Generator[Reg]:
    """`for i in ptx.range_(...)`: a loop of the kernel, `i` its register.

    Bounds are ints or registers of one integer type; `step` is a Python int, not zero. `i` has
    the type of the register bound, otherwise `dtype` (s32). One `mov`, then `add`, `setp` and `bra`
    each round; one `setp` and one `bra` before, unless both bounds are ints. An empty range of ints
    appends nothing. Leave it early with `ptx.break_`, not with `break`.
    """
    trace = current("ptx.range_")
    first, last = (0, start) if stop is None else (start, stop)
    stride = integer(step)
    if not stride:
        raise LanguageError(
            f"the step of ptx.range_ is a Python int other than 0, not {step!r}", location=caller()
        )
    if dtype is not None:
        checked_dtype(dtype)
    known = [_known_bound(bound) for bound in (first, last)]
    kind = _loop_type(first, last, dtype)
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
    block = Block("ptx.range_", caller(), end, again)
    trace.blocks.append(block)
    try:
        yield counter
    except GeneratorExit:
        trace.abandoned = LanguageError(
            "`break` or `return` left a ptx.range_ loop while it was being traced",
            location=block.location,
            notes=(("help", "ptx.break_(pred=p) leaves the loop when the kernel runs"),),
        )
        raise
    trace.blocks.pop()
    trace.place(again)
    trace.write(f"add.{kind}", counter.register, counter.register, Number(stride))
    _branch(trace, begin, _compare(trace, f"setp.{inside}.{kind}", counter, limit))
    trace.place(end)


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
    types = {b.dtype for b in (first, last) if isinstance(b, Value)}
    types |= set[DType]() if dtype is None else {dtype}
    kind = next(iter(types), s32)
    if len(types) > 1 or not kind.is_integer or kind.bits < 16:
        names = " and ".join(sorted(f".{t}" for t in types))
        raise LanguageError(
            f"the bounds of ptx.range_ are {names}; one integer type is needed",
            location=caller(),
            notes=(("help", _one_type(types)),),
        )
    return kind


def _one_type(types: set[DType]) -> str:
    """How bounds of these types become bounds of one."""
    if len(types) == 2 and all(t.is_integer and t.bits >= 16 for t in types):
        narrow, wide = sorted(types, key=lambda t: (t.bits, t.name))
        return f"convert one first: ptx.inst.cvt.{wide}.{narrow}(r)"
    return "bounds are ints, or registers of one integer type of 16 bits or more"


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
