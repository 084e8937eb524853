"""Bodies of `ptx.range_` that write the counter or the bound, which every round reads again."""

from __future__ import annotations

from typing import Final

from pyptx._ir import Instruction
from pyptx._isa.given import Raw
from pyptx._operands import Register
from pyptx._source import SourceLocation
from pyptx._trace.core.context import Trace
from pyptx._trace.core.values import Reg
from pyptx._trace.core.warned import warn_at
from pyptx._verify import reads_and_writes

_COUNTER: Final[tuple[str, ...]] = (
    "this writes the counter of a ptx.range_ loop, from which the next round counts on",
    "reg.from_(i, {}) is a copy, another register",
    "with ptx.while_(lambda: i < n): ...   counts as its body says",
)
_BOUND: Final[tuple[str, ...]] = (
    "this writes the bound of a ptx.range_ loop, which every round reads again",
    "ptx.range_(reg.from_(n, {})) has a bound of its own",
    "ptx.break_(pred=p) leaves the loop early",
)


def warn_of_writes(trace: Trace, start: int, counter: Reg, limit: Raw) -> None:
    """Warn at each line of the body, from `start` on, that writes one of these registers."""
    watched: dict[Register, tuple[str, ...]] = {counter.register: _COUNTER}
    if isinstance(limit, Register):
        watched[limit] = _BOUND
    told: set[tuple[Register, SourceLocation]] = set()
    for each in trace.body[start:]:
        if not isinstance(each, Instruction):
            continue
        for register in reads_and_writes(each)[1]:
            if register in watched and (register, each.location) not in told:
                told.add((register, each.location))
                problem, *cures = watched[register]
                notes = (("help", cure.format(register.dtype)) for cure in cures)
                warn_at(each.location, problem, *notes)
