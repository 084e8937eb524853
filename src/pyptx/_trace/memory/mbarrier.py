"""`ptx.mbarrier`: mbarrier objects in shared memory.

`smem.mbarrier` makes objects with methods; the functions here do the same at any address.
Source: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex

from pyptx._operands import Address, Register, Symbol, Variable
from pyptx._source import caller
from pyptx._trace.collectives.cluster import arrive_remote
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.indexing import add_index
from pyptx._trace.core.older import warn_of_place
from pyptx._trace.core.values import Not, Reg, Value, guard, integer, needed_guard, raw
from pyptx.errors import LanguageError
from pyptx.types import b64, u32
from pyptx.types import pred as predicate

_BYTES = 8


@dataclass(frozen=True, slots=True)
class Mbarrier:
    """One mbarrier object. As an operand it is its address.

    `pred=` of a method is the predicate of its instruction, for example that of `ptx.elect()`.
    """

    trace: Trace
    base: Variable | Register
    offset: int = 0
    made: int | None = None
    """How many statements there were before it, of an object at a register of the user's."""

    def __repr__(self) -> str:
        return f"<mbarrier at byte {self.offset} of {_name(self.base)}>"

    def __ptx_operand__(self, trace: Trace) -> Symbol | Address:
        self._own(trace)
        if isinstance(self.base, Variable):
            return Symbol(self.base, self.offset)
        if self.made is not None:
            warn_of_place(trace.body, self.made, self.base)
        return Address(self.base, self.offset)

    def init(self, count: int | Reg, *, pred: Reg | Not | None = None) -> None:
        """Make the object, which waits for `count` arrivals in each phase. One `mbarrier.init`.

        `ptx.fence.mbarrier_init()` lets other CTAs of the cluster see it, a barrier this CTA.
        """
        self._write("init.shared.b64", count, pred=pred)

    def inval(self, *, pred: Reg | Not | None = None) -> None:
        """End the object, so that its memory may hold something else. One `mbarrier.inval`."""
        self._write("inval.shared.b64", pred=pred)

    def arrive(self, count: int | Reg | None = None, *, pred: Reg | Not | None = None) -> Reg:
        """Arrive, `count` times; the state (b64) of the phase. One `mbarrier.arrive`."""
        counts = () if count is None else (count,)
        return self._state("arrive.shared.b64", *counts, pred=pred)

    def arrive_drop(self, count: int | Reg | None = None, *, pred: Reg | Not | None = None) -> Reg:
        """Arrive and stay away from later phases; the state (b64). One `mbarrier.arrive_drop`."""
        counts = () if count is None else (count,)
        return self._state("arrive_drop.shared.b64", *counts, pred=pred)

    def arrive_expect_tx(self, count: int | Reg, *, pred: Reg | Not | None = None) -> Reg:
        """Expect `count` bytes in this phase and arrive; the state (b64).

        One `mbarrier.arrive.expect_tx`.
        """
        return self._state("arrive.expect_tx.shared.b64", count, pred=pred)

    def expect_tx(self, count: int | Reg, *, pred: Reg | Not | None = None) -> None:
        """Expect `count` bytes in this phase, without arriving. One `mbarrier.expect_tx`."""
        self._write("expect_tx.shared.b64", count, pred=pred)

    def arrive_remote(
        self,
        rank: int | Reg,
        count: int | Reg | None = None,
        *,
        relaxed: bool = False,
        pred: Reg | Not | None = None,
    ) -> None:
        """Arrive at the mbarrier in this place of the CTA of that rank, releasing unless `relaxed`.

        `ptx.cluster.arrive_remote` says what a relaxed arrival orders. Its wait has `cluster=True`.
        Two instructions, `mapa` and `mbarrier.arrive`; an `add` more for a register with an offset.
        """
        self._trace()
        arrive_remote(self, rank, count, relaxed=relaxed, pred=pred)

    def test_wait(self, parity: int | Reg, *, cluster: bool = False, relaxed: bool = False) -> Reg:
        """Whether the phase of that parity is complete; a predicate. One `mbarrier.test_wait`.

        It acquires what threads of this CTA released, with `cluster=True` also those of other CTAs
        of the cluster. A `relaxed` test, from PTX 8.6 on, acquires nothing: it is enough where the
        thread then issues asynchronous writes over what was read asynchronously before.
        """
        return self._tested("test_wait", parity, cluster=cluster, relaxed=relaxed)

    def try_wait(self, parity: int | Reg, *, cluster: bool = False, relaxed: bool = False) -> Reg:
        """`test_wait` that may suspend the thread for a while. One `mbarrier.try_wait`."""
        return self._tested("try_wait", parity, cluster=cluster, relaxed=relaxed)

    def wait(self, parity: int | Reg, *, cluster: bool = False, relaxed: bool = False) -> None:
        """Wait until the phase of that parity is complete; `cluster` and `relaxed` as `test_wait`.

        Two instructions, a loop: `mbarrier.try_wait.parity` and `bra`. The first phase of an object
        has parity 0, the next one 1, and so on.
        """
        trace = self._trace()
        again = trace.label()
        trace.place(again)
        done = self._tested("try_wait", parity, cluster=cluster, relaxed=relaxed)
        trace.write("bra", again, guard=needed_guard(trace, Not(done)))

    def _tested(self, operation: str, parity: int | Reg, *, cluster: bool, relaxed: bool) -> Reg:
        semantics, scope = "relaxed" if relaxed else "acquire", "cluster" if cluster else "cta"
        order = f".{semantics}.{scope}" if cluster or relaxed else ""  # otherwise .acquire.cta
        trace = self._trace()
        done = Reg(trace, trace.register(predicate))
        spelling = f"mbarrier.{operation}.parity{order}.shared.b64"
        trace.write(spelling, done.register, raw(trace, self), raw(trace, parity))
        return done

    def _state(self, operation: str, *operands: int | Reg, pred: Reg | Not | None) -> Reg:
        trace = self._trace()
        state = Reg(trace, trace.register(b64))
        given = [raw(trace, operand) for operand in (self, *operands)]
        trace.write(f"mbarrier.{operation}", state.register, *given, guard=guard(trace, pred))
        return state

    def _write(self, operation: str, *operands: int | Reg, pred: Reg | Not | None) -> None:
        trace = self._trace()
        given = [raw(trace, operand) for operand in (self, *operands)]
        trace.write(f"mbarrier.{operation}", *given, guard=guard(trace, pred))

    def _trace(self) -> Trace:
        trace = current("an mbarrier")
        self._own(trace)
        return trace

    def _own(self, trace: Trace) -> None:
        if self.trace is not trace:
            raise LanguageError("an mbarrier of another kernel is used here", location=caller())


def _name(base: Variable | Register) -> str:
    """Shared memory as a person knows it."""
    if isinstance(base, Variable):
        return base.name or f"shared_{base.index}"
    return f"register {base.index}"


@dataclass(frozen=True, slots=True)
class MbarrierArray:
    """`count` mbarrier objects from an address on: `bars[i]` is one of them."""

    first: Mbarrier
    count: int

    def __repr__(self) -> str:
        return f"<{self.count} mbarriers of {_name(self.first.base)}>"

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Mbarrier]:
        return (self[index] for index in range(self.count))

    def __getitem__(self, index: SupportsIndex | Value) -> Mbarrier:
        """One object. No instruction for an int; see `at` for a register."""
        if isinstance(index, Value):
            return self.at(index)
        position = integer(index)
        if position is None or not 0 <= position < self.count:
            raise LanguageError(
                f"index {index!r} is outside {self.count} mbarriers", location=caller()
            )
        return replace(self.first, offset=self.first.offset + position * _BYTES)

    def at(self, index: Value) -> Mbarrier:
        """The object at an index in a 32-bit register. One `mad.lo`; a `mov` for a variable."""
        trace = current("an mbarrier")
        base = self.first.base
        if isinstance(base, Variable):
            register = trace.register(u32)
            trace.write("mov.u32", register, Symbol(base))
            base = register
        found = add_index(trace, base, index, _BYTES, "mbarriers")
        return Mbarrier(trace, found, self.first.offset)

    def init_all(self, count: int | Reg, *, pred: Reg | Not | None = None) -> None:
        """`init` of every object. One `mbarrier.init` each."""
        for barrier in self:
            barrier.init(count, pred=pred)

    def arrive_remote_all(
        self,
        rank: int | Reg,
        count: int | Reg | None = None,
        *,
        relaxed: bool = False,
        pred: Reg | Not | None = None,
    ) -> None:
        """`arrive_remote` at every object. Two instructions each, as there or three."""
        for barrier in self:
            barrier.arrive_remote(rank, count, relaxed=relaxed, pred=pred)


class Mbarriers(MbarrierArray):
    """The objects of one `smem.mbarrier`. As an operand they are their address."""

    __slots__ = ()

    @property
    def variable(self) -> Variable:
        """The shared memory that they are."""
        assert isinstance(self.first.base, Variable)
        return self.first.base

    def __ptx_operand__(self, trace: Trace) -> Symbol | Address:
        return self.first.__ptx_operand__(trace)

    def init(self, count: int | Reg, *, pred: Reg | Not | None = None) -> None:
        """`init` of every object. One `mbarrier.init` each."""
        self.init_all(count, pred=pred)

    def __getattr__(self, name: str) -> Any:
        """What a single object has; of several, one is to be named."""
        if name.startswith("_") or not hasattr(Mbarrier, name):
            raise AttributeError(name)
        if self.count != 1:
            raise LanguageError(
                f"there are {self.count} mbarriers here: .{name} is that of one",
                location=caller(),
                notes=(("help", f"bars[0].{name}(...)"),),
            )
        return getattr(self[0], name)


def array(base: object, byte_offset: int, count: int) -> MbarrierArray:
    """`count` mbarrier objects from `byte_offset` bytes after an address on, as `at` takes it.

    The offset is a multiple of 8. No instruction.
    """
    first, offset, number = at(base), integer(byte_offset), integer(count)
    if offset is None or offset % _BYTES or number is None or number < 1:
        raise LanguageError(
            f"no array of mbarriers: {count!r} at byte {byte_offset!r}",
            location=caller(),
            notes=(("legal", "1 or more, at a multiple of 8"),),
        )
    return MbarrierArray(replace(first, offset=first.offset + offset), number)


# ---- at any address ------------------------------------------------------------------------------


def at(address: object) -> Mbarrier:
    """The object at an address: shared memory, an address operand or a 32-bit register.

    No instruction.
    """
    trace = current("ptx.mbarrier")
    found = raw(trace, address)
    if isinstance(found, Register):
        return Mbarrier(trace, found, made=len(trace.body))
    if isinstance(found, Symbol):
        found = Address(found.of, found.offset)
    base = found.base if isinstance(found, Address) else None
    shared = isinstance(base, Variable) and base.space == "shared"
    if not isinstance(found, Address) or not (shared or isinstance(base, Register)):
        raise LanguageError(
            f"an mbarrier lies in shared memory, not at {address!r}",
            location=caller(),
            notes=(("help", "smem.mbarrier(), or its address in a 32-bit register"),),
        )
    assert isinstance(base, Variable | Register)
    made = len(trace.body) if isinstance(base, Register) else None
    return Mbarrier(trace, base, found.offset, made)


def init(address: object, count: int | Reg, *, pred: Reg | Not | None = None) -> None:
    """`Mbarrier.init` at an address. One `mbarrier.init`."""
    at(address).init(count, pred=pred)


def inval(address: object, *, pred: Reg | Not | None = None) -> None:
    """`Mbarrier.inval` at an address. One `mbarrier.inval`."""
    at(address).inval(pred=pred)


def arrive(
    address: object, count: int | Reg | None = None, *, pred: Reg | Not | None = None
) -> Reg:
    """`Mbarrier.arrive` at an address. One `mbarrier.arrive`."""
    return at(address).arrive(count, pred=pred)


def arrive_expect_tx(address: object, count: int | Reg, *, pred: Reg | Not | None = None) -> Reg:
    """`Mbarrier.arrive_expect_tx` at an address. One `mbarrier.arrive.expect_tx`."""
    return at(address).arrive_expect_tx(count, pred=pred)


def expect_tx(address: object, count: int | Reg, *, pred: Reg | Not | None = None) -> None:
    """`Mbarrier.expect_tx` at an address. One `mbarrier.expect_tx`."""
    at(address).expect_tx(count, pred=pred)


def try_wait(
    address: object, parity: int | Reg, *, cluster: bool = False, relaxed: bool = False
) -> Reg:
    """`Mbarrier.try_wait` at an address. One `mbarrier.try_wait`."""
    return at(address).try_wait(parity, cluster=cluster, relaxed=relaxed)


def wait(
    address: object, parity: int | Reg, *, cluster: bool = False, relaxed: bool = False
) -> None:
    """`Mbarrier.wait` at an address. Two instructions, a loop."""
    at(address).wait(parity, cluster=cluster, relaxed=relaxed)
