"""Structured control flow: blocks that append branches and labels, freely nested.

Each construct says how many instructions it appends. Branches are plain `bra`: the assembler finds
where threads meet again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import SupportsIndex, TypeAlias

from pyptx.errors import LanguageError
from pyptx.ir import Guard, Place
from pyptx.isa.check import Number, Raw
from pyptx.operands import Label
from pyptx.source import caller
from pyptx.trace.context import Block, Trace, current
from pyptx.trace.values import Pred, Reg, Special, Value, guard, move, own
from pyptx.types import DTYPES, DType, s32

Condition: TypeAlias = "Pred | Callable[[], Pred]"
Bound: TypeAlias = "SupportsIndex | Value"


@contextmanager
def if_(predicate: Pred) -> Generator[None]:
    """The body runs in the threads where `predicate` holds. One `bra`."""
    trace = current("ptx.if_")
    block = Block("ptx.if_", caller())
    otherwise = trace.label()
    _branch(trace, otherwise, _opposite(_needed(trace, predicate)))
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
    with trace.block(Block("ptx.loop", caller(), end, again)):
        yield
        trace.place(again)
        _branch(trace, start, None if pred is None else _evaluated(trace, pred))
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
    _branch(trace, end, _opposite(_evaluated(trace, condition)))
    with trace.block(Block("ptx.while_", caller(), end, start)):
        yield
        _branch(trace, start, None)
    trace.place(end)


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
    if isinstance(step, Value) or step.__index__() == 0:
        raise LanguageError("the step of ptx.range_ is a Python int, not 0", location=caller())
    stride = step.__index__()
    kind = _loop_type(first, last, dtype)
    if not isinstance(first, Value) and not isinstance(last, Value):
        if not range(first.__index__(), last.__index__(), stride):
            return
        guarded = False
    else:
        guarded = True
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


def _needed(trace: Trace, predicate: object) -> Guard:
    found = guard(trace, predicate)
    if found is None:
        raise LanguageError("a predicate is needed, not None", location=caller())
    return found


def _opposite(condition: Guard) -> Guard:
    return Guard(condition.register, not condition.negated)


def _evaluated(trace: Trace, condition: object) -> Guard:
    return _needed(trace, condition() if callable(condition) else condition)


def _compare(trace: Trace, spelling: str, counter: Reg, limit: Raw) -> Guard:
    result = trace.register(DTYPES["pred"])
    trace.write(spelling, result, counter.register, limit)
    return Guard(result)


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
            notes=(("help", "convert a bound first: ptx.inst.cvt...(r), or pass dtype="),),
        )
    return kind


def place_label(trace: Trace, label: Label) -> None:
    """Put a label that the user made into the body."""
    if Place(label) in trace.body:
        raise LanguageError("the label stands in the body already", location=caller())
    trace.place(label)
