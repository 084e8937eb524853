"""Bytes that an mbarrier expects, against the bytes that copies bring to it.

In every phase the two are equal, or its wait never ends, so they are equal over a whole run too.
Instructions of one basic block with one guard run equally often: each such group adds a multiple
of what it expects beyond what it brings. Where no group brings more than it expects, one that
expects more is wrong whatever the branches do, and the other way round. That is what is checked
here; groups of both kinds may make up for each other, and are left to the emulator.

Source: PTX ISA, "Tracking asynchronous operations by the mbarrier object".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias

from pyptx._ir import Guard, Instruction
from pyptx._operands import (
    Address,
    Immediate,
    Operand,
    Register,
    Symbol,
    TensorAddress,
    Variable,
)
from pyptx._trace.core.context import Trace
from pyptx._verify import ENDS, branch_labels, reads_and_writes
from pyptx.errors import LanguageError

_MECHANISM: Final = "mbarrier::complete_tx::bytes"
_COUNTING: Final = frozenset(("expect_tx", "complete_tx", _MECHANISM))
_GATHERED: Final = 4  # rows, each a box

Barriers: TypeAlias = Variable | None
"""The mbarriers that a variable holds; None for those that registers point at."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What one instruction adds to the bytes that mbarriers expect; None for a number not known."""

    instruction: Instruction
    barriers: Barriers
    bytes: int | None

    @property
    def expects(self) -> bool:
        return self.instruction.form.opcode == "mbarrier"


def check_transactions(trace: Trace) -> None:
    """Compare the bytes that mbarriers expect with those that copies bring, where both are known.

    Raises LanguageError at the instruction that expects a wrong number.
    """
    body = [s for s in trace.body if isinstance(s, Instruction)]
    if all(_COUNTING.isdisjoint(i.modifiers) for i in body):
        return
    if any(i.form.opcode == "call" for i in body):
        return
    escaped = _escaped(body)
    groups: dict[Barriers, dict[int, list[_Change]]] = defaultdict(lambda: defaultdict(list))
    for group, instruction in _grouped(trace):
        change = _change(trace, instruction)
        if change is not None:
            barriers = None if change.barriers in escaped else change.barriers
            groups[barriers][group].append(change)
    for found in groups.values():
        _check(list(found.values()))


def _grouped(trace: Trace) -> Iterator[tuple[int, Instruction]]:
    """Each instruction with the number of its group: those that run equally often."""
    numbers = count()
    block: dict[Guard | None, int] = {}
    for statement in trace.body:
        if not isinstance(statement, Instruction):
            block.clear()
            continue
        guard = statement.guard
        if guard not in block:
            block[guard] = next(numbers)
        yield block[guard], statement
        if branch_labels(statement) or statement.form.opcode in ENDS:
            block.clear()
            continue
        written = reads_and_writes(statement)[1]
        for other in [g for g in block if g is not None and g.register in written]:
            del block[other]


def _escaped(body: Iterable[Instruction]) -> set[Variable]:
    """Shared variables whose address goes to a register, so that registers may point at them."""
    return {
        operand.of
        for instruction in body
        for operand in instruction.operands
        if isinstance(operand, Symbol) and isinstance(operand.of, Variable)
    }


def _change(trace: Trace, instruction: Instruction) -> _Change | None:
    opcode, modifiers, operands = (
        instruction.form.opcode, instruction.modifiers, instruction.operands,
    )  # fmt: skip
    if opcode == "mbarrier" and {"expect_tx", "complete_tx"} & {*modifiers}:
        *_, place, number = (o for o in operands if isinstance(o, Address | Immediate | Register))
        assert isinstance(place, Address)
        known = isinstance(number, Immediate) and "multicast::cluster::32b" not in modifiers
        size = number.bits if known and isinstance(number, Immediate) else None
        negative = size is not None and "complete_tx" in modifiers
        return _Change(instruction, _barriers(place), -size if negative and size else size)
    if _MECHANISM not in modifiers:
        return None
    # The destination stands first, the mbarrier behind the source: cp has it third.
    place = operands[-1] if opcode != "cp" else _barrier_of_copy(operands)
    return _Change(instruction, _barriers(place), _brought(trace, instruction))


def _barrier_of_copy(operands: tuple[Operand, ...]) -> Operand:
    return next(o for o in operands[2:] if isinstance(o, Address))


def _barriers(place: Operand) -> Barriers:
    base = place.base if isinstance(place, Address) else None
    return base if isinstance(base, Variable) else None


def _brought(trace: Trace, instruction: Instruction) -> int | None:
    """What a copy adds to the bytes that are expected: a negative number, None where unknown."""
    if instruction.form.opcode != "cp" or "reduce" in instruction.modifiers:
        return None
    _, source, *others = instruction.operands
    if isinstance(source, TensorAddress):
        base = source.map.base
        described = trace.map_registers.get(base) if isinstance(base, Register) else None
        rows = _GATHERED if "tile::gather4" in instruction.modifiers else 1
        size = None if described is None else rows * described.bytes
    else:
        size = others[0].bits if isinstance(others[0], Immediate) else None
    copies = _copies(instruction)
    return None if size is None or copies is None else -size * copies


def _copies(instruction: Instruction) -> int | None:
    """How many CTAs a copy goes to; None where its mask is in a register."""
    multicast = [m for m in instruction.modifiers if m.startswith("multicast::")]
    if not multicast:
        return 1
    operands = instruction.operands
    behind = operands[operands.index(_barrier_of_copy(operands)) + 1 :]
    hinted = "L2::cache_hint" in instruction.modifiers
    mask = behind[-2] if hinted else behind[-1]
    return mask.bits.bit_count() if isinstance(mask, Immediate) else None


def _check(groups: list[list[_Change]]) -> None:
    """The groups of the same mbarriers. Raises LanguageError."""
    changes = [change for group in groups for change in group]
    if any(c.bytes is None for c in changes):
        return
    if not any(c.expects for c in changes) or all(c.expects for c in changes):
        return
    sums = [sum(c.bytes or 0 for c in group) for group in groups]
    if min(sums) < 0 < max(sums):
        return
    for group, total in zip(groups, sums, strict=True):
        if total:
            raise _wrong(group)


def _wrong(group: list[_Change]) -> LanguageError:
    expected = sum(c.bytes or 0 for c in group if c.expects)
    brought = -sum(c.bytes or 0 for c in group if not c.expects)
    at = next((c for c in group if c.expects), group[0]).instruction
    copies = [c for c in group if not c.expects]
    help_ = f"expect {brought} bytes; X.tma_desc().bytes are those of one box"
    if not copies:
        problem = f"the mbarrier expects {expected} bytes here, and no copy brings them"
        help_ = "expect only what copies bring"
    elif not expected:
        problem = f"the copy brings {brought} bytes to an mbarrier that does not expect them here"
        return LanguageError(problem, location=at.location, notes=(("help", help_),))
    else:
        what = "the copy brings" if len(copies) == 1 else f"the {len(copies)} copies bring"
        problem = f"the mbarrier expects {expected} bytes, and {what} {brought}"
    lines = [f"{-(c.bytes or 0)} bytes at {c.instruction.location}" for c in copies]
    notes = (("help", help_), *(("brought", line) for line in lines))
    return LanguageError(problem, location=at.location, notes=notes)
