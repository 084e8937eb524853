"""Pipelines: which stage of a ring is next, and the mbarriers that say when one is full or free.

A producer fills stages in turn and consumers empty them. Everyone counts for itself: stage 0 to
n - 1, then 0 again with the other phase. Source: PTX ISA, "mbarrier", phases and their parity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyptx._ir import Guard
from pyptx._isa.given import Number
from pyptx._operands import Register
from pyptx._source import caller
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.values import Not, Reg, integer, move, own
from pyptx._trace.memory import smem
from pyptx._trace.memory.mbarrier import Mbarrier, Mbarriers
from pyptx.errors import LanguageError
from pyptx.types import pred as predicate
from pyptx.types import u32


@dataclass(frozen=True, slots=True)
class PipelineState:
    """The stage that comes next and the parity of its phase: u32 registers that `advance` sets."""

    n_stages: int
    stage: Reg
    phase: Reg

    def advance(self) -> Advanced:
        """Go on to the next stage, in place. Four instructions: `add`, `setp`, `mov`, `xor`.

        One stage alone: one `xor` of the phase. `stage, phase = state.advance()` gives what they
        were before, 0 and 0 at first, in registers of their own: two `mov` more.
        """
        trace = current("a pipeline")
        first = len(trace.body)
        stage, phase = own(trace, self.stage), own(trace, self.phase)
        if self.n_stages == 1:
            trace.write("xor.b32", phase, phase, Number(1))
            return Advanced(trace, self, first, len(trace.body))
        trace.write("add.u32", stage, stage, Number(1))
        wrapped: Register = trace.register(predicate)
        trace.write("setp.eq.u32", wrapped, stage, Number(self.n_stages))
        held = Guard(wrapped)
        trace.write("mov.u32", stage, Number(0), guard=held)
        trace.write("xor.b32", phase, phase, Number(1), guard=held)
        return Advanced(trace, self, first, len(trace.body))


@dataclass(frozen=True, slots=True)
class Advanced:
    """What `advance` left: the stage and the phase before it, for whoever unpacks it at once."""

    trace: Trace
    state: PipelineState
    first: int
    end: int

    def __iter__(self) -> Iterator[Reg]:
        trace = self.trace
        if current("a pipeline") is not trace or len(trace.body) != self.end:
            raise LanguageError(
                "what advance() leaves is unpacked at once, before the next instruction",
                location=caller(),
                notes=(("help", "stage, phase = state.advance()"),),
            )
        advancing = trace.body[self.first :]
        del trace.body[self.first :]  # the copies come before the registers change
        before = [Reg(trace, trace.register(u32)) for _ in range(2)]
        for copy, held in zip(before, (self.state.stage, self.state.phase), strict=True):
            move(copy, held)
        trace.body += advancing
        yield from before


def pipeline(
    n_stages: int, *, cursor: int | Reg | None = None, phase: int | Reg | None = None
) -> PipelineState:
    """The stage and phase of one pass through a ring of stages, from `cursor` and `phase` on.

    They are ints or registers that are copied, 0 where they are left out. A consumer begins with
    phase 0, which is that of the first filling; a producer that waits for free stages with phase 1,
    which counts as complete before the first. Two instructions, `mov`.
    """
    count = integer(n_stages)
    if count is None or count < 1:
        raise LanguageError(f"a pipeline has 1 stage or more, not {n_stages!r}", location=caller())
    trace = current("ptx.pipeline")
    registers = [Reg(trace, trace.register(u32)) for _ in range(2)]
    for register, first in zip(registers, (cursor, phase), strict=True):
        move(register, 0 if first is None else first)
    return PipelineState(count, *registers)


@dataclass(frozen=True, slots=True)
class Ring:
    """Two mbarriers for each of `n_stages` stages: `full` and `empty`.

    The producer waits until a stage is empty, and says how many bytes will fill it, or arrives once
    it has. Consumers wait until it is full, and arrive once they have read it.
    """

    n_stages: int
    full: Mbarriers
    empty: Mbarriers
    producers: int
    consumers: int

    def __repr__(self) -> str:
        return f"<ring of {self.n_stages} stages>"

    def init(self, *, pred: Reg | Not | None = None) -> None:
        """Make the mbarriers: one thread, before a barrier of all. One `mbarrier.init` each."""
        self.full.init(self.producers, pred=pred)
        self.empty.init(self.consumers, pred=pred)

    def producer(self) -> PipelineState:
        """A walk that finds every stage empty at first. Two instructions."""
        return pipeline(self.n_stages, phase=1)

    def consumer(self) -> PipelineState:
        """A walk that waits for the first filling of each stage. Two instructions."""
        return pipeline(self.n_stages)

    def acquire(self, state: PipelineState) -> Mbarrier:
        """Wait until the producer's stage is empty; its `full` mbarrier, for what fills it.

        Six instructions: two for the address of each mbarrier, and the two of the wait.
        """
        self.empty[state.stage].wait(state.phase)
        return self.full[state.stage]

    def wait(self, state: PipelineState) -> None:
        """Wait until the consumer's stage is full. Four instructions."""
        self.full[state.stage].wait(state.phase)

    def release(self, state: PipelineState, *, pred: Reg | Not | None = None) -> None:
        """Say that the consumer has read its stage. Three instructions; it counts one arrival."""
        self.empty[state.stage].arrive(pred=pred)


def ring(n_stages: int, *, producers: int = 1, consumers: int = 1, name: str = "") -> Ring:
    """The mbarriers of a ring of stages; the stages themselves are for example
    `smem.wgmma_tile(bf16, (n_stages, 64, 64))`, of which `tile[state.stage]` is one.

    `producers` and `consumers` are the arrivals that make a stage full and empty. 16 bytes of
    shared memory a stage, no instruction.
    """
    full = smem.mbarrier(n_stages, name=f"{name}_full" if name else "")
    empty = smem.mbarrier(n_stages, name=f"{name}_empty" if name else "")
    return Ring(len(full), full, empty, producers, consumers)
