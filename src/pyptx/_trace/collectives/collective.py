"""Reductions and scans over a CTA and over a cluster, through shared memory.

Warps combine their lanes by shuffles and store what they have; the first warp combines that and
stores what all threads load. All calls of a kernel share one piece of shared memory, in parts that
are safe to use again and again, also in loops:

- `_PARTS`, one slot for each warp: written before the first barrier of a call, read by the first
  warp alone before the second one.
- `_RESULTS`, one slot for each warp: written between the two barriers, read after the second, so
  until the first barrier of the next call.
- `_SHARE`, one slot: what other CTAs of the cluster read between the two barriers of the cluster.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyptx._ir import Guard
from pyptx._isa.given import Number, Raw
from pyptx._isa.special import SPECIAL
from pyptx._operands import Address, Register, Symbol, Variable
from pyptx._source import caller
from pyptx._trace.collectives.lanes import (
    FULL,
    LAST_LANE,
    WHOLE,
    Combination,
    Lanes,
    combination,
    copied,
    fold,
    given_back,
    lane_operand,
    put,
    scan,
    shift,
    shuffle,
    shuffled,
    taken,
)
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.values import Reg, own
from pyptx.errors import LanguageError
from pyptx.types import pred, u32

_SLOT: Final = 8  # bytes, those of the widest value
_WARP: Final = 32


@dataclass(frozen=True, slots=True)
class Cta:
    """The threads of a CTA, whose number is known while the kernel is traced."""

    trace: Trace
    block: tuple[int, int, int]

    @property
    def threads(self) -> int:
        return math.prod(self.block)

    @property
    def warps(self) -> int:
        return -(-self.threads // _WARP)

    @property
    def rest(self) -> int:
        """Threads of the last warp where it is not whole, otherwise 0."""
        return self.threads % _WARP

    # ---- threads ---------------------------------------------------------------------------------

    def thread(self) -> Register:
        """The thread's number in the CTA, x fastest: a `mov` for each axis, `mad` between them."""
        axes = [(axis, size) for axis, size in zip("xyz", self.block, strict=True) if size > 1]
        (axis, _), *more = reversed(axes)
        number = self._index(axis)
        for inner, size in more:
            sum_ = self.trace.register(u32)
            self.trace.write("mad.lo.u32", sum_, number, Number(size), self._index(inner))
            number = sum_
        return number

    def _index(self, axis: str) -> Register:
        found = self.trace.register(u32)
        self.trace.write("mov.u32", found, SPECIAL[f"tid.{axis}"].operand)
        return found

    def lanes(self, thread: Register | None) -> Lanes:
        """The lanes of this thread's warp. Three instructions where the last warp is not whole."""
        if not self.rest:
            return WHOLE
        few = (1 << self.rest) - 1
        if thread is None:
            return Lanes(Number(few), Number(self.rest - 1))
        whole = self.test("setp.lt.u32", thread, self.threads - self.rest)
        mask, clamp = self.trace.register(u32), self.trace.register(u32)
        condition = whole.register
        self.trace.write("selp.u32", mask, FULL, Number(few), condition)
        self.trace.write("selp.u32", clamp, LAST_LANE, Number(self.rest - 1), condition)
        return Lanes(mask, clamp)

    def test(self, spelling: str, register: Register, number: Raw | int) -> Guard:
        holds = self.trace.register(pred)
        other = Number(number) if isinstance(number, int) else number
        self.trace.write(spelling, holds, register, other)
        return Guard(holds)

    def apply(self, spelling: str, register: Register, number: int) -> Register:
        result = self.trace.register(u32)
        self.trace.write(spelling, result, register, Number(number))
        return result

    @contextmanager
    def unless(self, skipped: Guard) -> Generator[None]:
        """Instructions that threads jump over where the guard holds. One `bra`."""
        after = self.trace.label()
        self.trace.write("bra", after, guard=skipped)
        yield
        self.trace.place(after)

    def barrier(self) -> None:
        self.trace.write("bar.sync", Number(0))

    # ---- shared memory ---------------------------------------------------------------------------

    @property
    def _scratch(self) -> Variable:
        if self.trace.scratch is None:
            size = (2 * self.warps + 1) * _SLOT
            self.trace.scratch = self.trace.variable("shared", size, _SLOT)
        return self.trace.scratch

    def parts(self) -> Address:
        return Address(self._scratch, 0)

    def results(self) -> Address:
        return Address(self._scratch, self.warps * _SLOT)

    def share(self) -> Address:
        return Address(self._scratch, 2 * self.warps * _SLOT)

    def slot(self, index: Register, size: int) -> Register:
        """The address of a slot of the first part, `size` bytes each. A `mov` and a `mad`."""
        base, address = self.trace.register(u32), self.trace.register(u32)
        self.trace.write("mov.u32", base, Symbol(self._scratch))
        self.trace.write("mad.lo.u32", address, index, Number(size), base)
        return address

    def store(self, where: Address, value: Register, guard: Guard | None = None) -> None:
        self.trace.write(f"st.shared.b{value.dtype.bits}", where, value, guard=guard)

    def load(self, target: Register, where: Address) -> Register:
        self.trace.write(f"ld.shared.b{target.dtype.bits}", target, where)
        return target


def cta(what: str) -> Cta:
    """The CTA of the kernel that is traced. Raises LanguageError where its size is not known."""
    trace = current(what)
    if trace.block_size is None:
        raise LanguageError(
            f"{what} needs the number of threads of the CTA, which nothing says here",
            location=caller(),
            notes=(("help", "kernel(block=128) says it; a device function does not know it"),),
        )
    return Cta(trace, trace.block_size)


# ---- reductions ----------------------------------------------------------------------------------


def reduce(what: str, value: object, function: object) -> Reg:
    """Combine the values of all threads, in place, in every thread."""
    here = cta(what)
    given = taken(what, value)
    register = own(here.trace, given)
    how = combination(what, given, function)
    if here.threads > _WARP:
        thread = here.thread()
        with here.unless(_stored(here, how, register, thread)):
            total = _first_warp(here, how, register, thread)
            first = here.test("setp.eq.u32", thread, 0)
            here.store(here.results(), total, first)
        here.barrier()
        here.load(register, here.results())
        return given_back(what, given)
    lanes = here.lanes(None)
    some = bool(here.threads & (here.threads - 1))
    total = fold(here.trace, how, register, here.threads, lanes, some=some)
    if some:
        total, _ = shuffle(here.trace, "idx", total, Number(0), mask=lanes.mask)
    put(here.trace, register, total)
    return given_back(what, given)


def _stored(here: Cta, how: Combination, value: Register, thread: Register) -> Guard:
    """Combine each warp, store what it has, and wait; true in the threads of other warps."""
    lanes = here.lanes(thread)
    total = fold(here.trace, how, value, _WARP, lanes, some=bool(here.rest))
    first = here.test("setp.eq.u32", here.apply("and.b32", thread, _WARP - 1), 0)
    _store_part(here, total, thread, first)
    here.barrier()
    return here.test("setp.ge.u32", thread, _WARP)


def _store_part(here: Cta, value: Register, thread: Register, guard: Guard) -> Register:
    """Store a value to the slot of its warp: `shr`, `mov`, `mad`, `st`; the slot's address."""
    slot = here.slot(here.apply("shr.u32", thread, 5), value.dtype.bytes)
    here.store(Address(slot), value, guard)
    return slot


def _load_part(here: Cta, value: Register, thread: Register) -> Register:
    """In the first warp: what the warp of the lane's number stored, the last one's beyond.

    `mov`, `mad`, `ld`, and a `min` where there are fewer warps than lanes.
    """
    index = thread if here.warps == _WARP else here.apply("min.u32", thread, here.warps - 1)
    part = here.trace.register(value.dtype)
    return here.load(part, Address(here.slot(index, value.dtype.bytes)))


def _first_warp(here: Cta, how: Combination, value: Register, thread: Register) -> Register:
    """In the first warp: what all warps stored, combined; lane 0 has it."""
    part = _load_part(here, value, thread)
    some = bool(here.warps & (here.warps - 1))
    lanes = Lanes(clamp=Number(here.warps - 1)) if some else WHOLE
    return fold(here.trace, how, part, here.warps, lanes, some=some)


def cluster_reduce(what: str, value: object, function: object) -> Reg:
    """Combine the values of all threads of the cluster, in place, in every thread."""
    here = cta(what)
    ctas = math.prod(here.trace.cluster_size or (1, 1, 1))
    if ctas == 1:
        return reduce(what, value, function)
    given = taken(what, value)
    register = own(here.trace, given)
    how = combination(what, given, function)
    thread = here.thread() if here.threads > 1 else copied(here.trace, u32, 0)
    if here.threads > _WARP:
        with here.unless(_stored(here, how, register, thread)):
            total = _first_warp(here, how, register, thread)
            here.store(here.share(), total, here.test("setp.eq.u32", thread, 0))
    else:
        some = bool(here.threads & (here.threads - 1))
        total = fold(here.trace, how, register, here.threads, here.lanes(None), some=some)
        here.store(here.share(), total, here.test("setp.eq.u32", thread, 0))
    cluster_barrier(here.trace)
    with here.unless(here.test("setp.ne.u32", thread, 0)):
        here.store(here.results(), _ranks(here, how, register, ctas))
    cluster_barrier(here.trace)
    here.load(register, here.results())
    return given_back(what, given)


def _ranks(here: Cta, how: Combination, value: Register, ctas: int) -> Register:
    """What all CTAs have, combined in the order of their ranks; three instructions for each."""
    trace = here.trace
    parts: list[Register] = []
    for rank in range(ctas):
        there, part = trace.register(u32), trace.register(value.dtype)
        share = here.share()
        assert isinstance(share.base, Variable)
        source = Symbol(share.base, share.offset)
        trace.write("mapa.shared::cluster.u32", there, source, Number(rank))
        trace.write(f"ld.shared::cluster.b{value.dtype.bits}", part, Address(there))
        parts.append(part)
    total = parts[0]
    for part in parts[1:]:
        total = how.apply(trace, total, total, part, None)
    return total


def cluster_barrier(trace: Trace) -> None:
    """Arrive and wait: what the CTAs of the cluster wrote before, all of it reads after."""
    trace.write("barrier.cluster.arrive")
    trace.write("barrier.cluster.wait")


# ---- scans ---------------------------------------------------------------------------------------


def scanned(
    what: str, value: object, function: object, *, exclusive: bool, identity: object = None
) -> Reg:
    """What the threads up to this one combine to, in a new register."""
    here = cta(what)
    trace = here.trace
    given = taken(what, value, "reads")
    register = own(trace, given)
    how = combination(what, given, function)
    first = how.identity(identity) if exclusive else None
    thread = here.thread() if here.threads > _WARP else None
    lanes = here.lanes(thread)
    result = copied(trace, given.dtype, register)
    scan(trace, how, result, min(here.threads, _WARP), mask=lanes.mask)
    slot = None if thread is None else _store_last(here, result, thread)
    if exclusive:
        result = shift(trace, result, first, mask=lanes.mask)
    if thread is not None and slot is not None:
        _add_before(here, how, result, thread, slot)
    return Reg(trace, result)


def _store_last(here: Cta, value: Register, thread: Register) -> Register:
    """Store what the last lane of each warp has; the address of the warp's slot."""
    last = here.test("setp.eq.u32", here.apply("and.b32", thread, _WARP - 1), _WARP - 1)
    return _store_part(here, value, thread, last)


def _add_before(
    here: Cta, how: Combination, value: Register, thread: Register, slot: Register
) -> None:
    """Combine what the warps before have into `value`, which is written.

    The last warp's own part is not needed, so a last warp that is not whole stores none.
    """
    trace = here.trace
    here.barrier()
    with here.unless(here.test("setp.ge.u32", thread, here.warps - 1)):
        part = here.trace.register(value.dtype)
        own_slot = here.slot(thread, value.dtype.bytes)
        here.load(part, Address(own_slot))
        mask = Number((1 << here.warps - 1) - 1)
        scan(trace, how, part, here.warps - 1, mask=mask)
        here.store(Address(own_slot, here.results().offset), part)
    here.barrier()
    with here.unless(here.test("setp.lt.u32", thread, _WARP)):
        before = trace.register(value.dtype)
        here.load(before, Address(slot, here.results().offset - value.dtype.bytes))
        put(trace, value, how.apply(trace, value, before, value, None))


# ---- broadcasts ----------------------------------------------------------------------------------


def broadcast(what: str, value: object, thread: object) -> Reg:
    """The value of one thread in every thread, in a new register."""
    here = cta(what)
    given = taken(what, value, "reads")
    register = own(here.trace, given)
    shuffled(what, given)
    chosen = lane_operand(what, "thread", thread, here.threads)
    if here.threads <= _WARP:
        result, _ = shuffle(here.trace, "idx", register, chosen, mask=here.lanes(None).mask)
        return Reg(here.trace, result)
    it = here.test("setp.eq.u32", here.thread(), chosen)
    here.barrier()
    here.store(here.results(), register, it)
    here.barrier()
    return Reg(here.trace, here.load(here.trace.register(given.dtype), here.results()))
