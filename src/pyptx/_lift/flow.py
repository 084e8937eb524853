"""Branches and labels as blocks: which of them are an `if_`, an `else_`, a loop and ways out of it.

A trace appends instructions in the order of its statements, so blocks are intervals of the body
that nest. A branch is a block, or a way out of one, exactly where the language would append that
branch there; all others stay branches to labels, which are right whatever the graph looks like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from pyptx import _verify as verify
from pyptx._ir import Function, Instruction, Kernel, Place
from pyptx._operands import Label, Register

_DEEPEST: Final = 12  # Python has at most 20 blocks in one another, readers fewer


@dataclass(frozen=True, slots=True)
class Do:
    """An instruction as it is."""

    index: int


@dataclass(frozen=True, slots=True)
class Leave:
    """A branch out of the innermost loop ("break_") or to its next round ("continue_")."""

    index: int
    how: str


@dataclass(frozen=True, slots=True)
class Jump:
    """A branch to a label that stands by itself."""

    index: int


@dataclass(frozen=True, slots=True)
class If:
    """`index` is the branch around the body; `end` ends the body, `otherwise` is for the rest.

    With `into` it is a branch into the body, and the one behind it, without a guard, goes around.
    """

    index: int
    body: tuple[Node, ...]
    end: int
    otherwise: tuple[Node, ...] | None
    into: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """From `start` to the branch `back`; `compare` is the comparison before it that it tests."""

    start: int
    body: tuple[Node, ...]
    back: int
    compare: int | None


@dataclass(frozen=True, slots=True)
class While:
    """`compare` and the branch behind it leave the loop at its start, `back` ends it."""

    compare: int
    body: tuple[Node, ...]
    back: int


Node: TypeAlias = "Do | Leave | Jump | If | Loop | While"


@dataclass(frozen=True, slots=True)
class _Round:
    """The innermost loop: where `continue_` and `break_` go."""

    again: int
    after: int


class Flow:
    """The blocks of a body.

    `tested` says of an instruction and a predicate whether it is a comparison that sets only this
    predicate, which nothing but the branch behind it reads.
    """

    def __init__(
        self, function: Kernel | Function, tested: Callable[[int, Register], bool]
    ) -> None:
        self.instructions: list[Instruction] = []
        self.positions: dict[Label, int] = {}
        for statement in function.body or ():
            if isinstance(statement, Place):
                self.positions[statement.label] = len(self.instructions)
            else:
                self.instructions.append(statement)
        self._tested = tested
        self._targets: dict[int, int] = {}
        self._ways: list[tuple[int, int]] = []
        for index, instruction in enumerate(self.instructions):
            targets = [self.positions[label] for label in verify.branch_labels(instruction)]
            self._ways += [(index, target) for target in targets]
            if _is_branch(instruction):
                self._targets[index] = targets[0]
        self._reached = {position for _, position in self._ways}
        self._loops = self._found_loops()
        self._open: set[int] = set()
        self.nodes = self._block(0, len(self.instructions), None, 0)

    def _found_loops(self) -> dict[int, int]:
        """The last branch back to each start of a loop that the language can say."""
        loops: dict[int, int] = {}
        for index, target in self._targets.items():
            if target <= index and self._changes(target, index):
                loops[target] = max(index, loops.get(target, 0))
        return {start: back for start, back in loops.items() if self._only_inside(start, back)}

    def _only_inside(self, start: int, back: int) -> bool:
        """Whether every branch into a loop, but for one to its start, is in it."""
        return all(
            start <= branch <= back for branch, target in self._ways if start < target <= back
        )

    def _changes(self, start: int, back: int) -> bool:
        """Whether the loop sets its predicate, or leaves in another way."""
        guard = self.instructions[back].guard
        if guard is None:
            return True
        return any(
            guard.register in verify.reads_and_writes(instruction)[1]
            for instruction in self.instructions[start:back]
        )

    # ---- blocks ----------------------------------------------------------------------------------

    def _block(self, start: int, end: int, inside: _Round | None, depth: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        index = start
        while index < end:
            back = self._loops.get(index)
            if back is not None and index not in self._open and depth < _DEEPEST:
                self._open.add(index)
                nodes.append(self._loop(index, back, depth))
                index = back + 1
            else:
                node, index = self._one(index, end, inside, depth)
                nodes.append(node)
        return tuple(nodes)

    def _loop(self, start: int, back: int, depth: int) -> Loop | While:
        found = self._while(start, back, depth)
        if found is not None:
            return found
        guard = self.instructions[back].guard
        compare = None
        if guard is not None and back > start and back not in self._reached:
            compare = back - 1 if self._tested(back - 1, guard.register) else None
        end = back if compare is None else compare
        body = self._block(start, end, _Round(end, back + 1), depth + 1)
        return Loop(start, body, back, compare)

    def _while(self, start: int, back: int, depth: int) -> While | None:
        leaves = start + 1
        guard = self.instructions[leaves].guard if leaves < back else None
        if (
            guard is None
            or self.instructions[back].guard is not None
            or self._targets.get(leaves) != back + 1
            or leaves in self._reached
            or not self._tested(start, guard.register)
        ):
            return None
        body = self._block(start + 2, back, _Round(start, back + 1), depth + 1)
        return While(start, body, back)

    def _one(self, index: int, end: int, inside: _Round | None, depth: int) -> tuple[Node, int]:
        target = self._targets.get(index)
        if target is None:
            return Do(index), index + 1
        if inside is not None and target == inside.after:
            return Leave(index, "break_"), index + 1
        if inside is not None and target == inside.again:
            return Leave(index, "continue_"), index + 1
        guarded = self.instructions[index].guard is not None
        if guarded and index + 1 < target <= end and depth < _DEEPEST:
            found = self._into(index, end, inside, depth)
            found = found or self._if(index, index + 1, target, end, inside, depth)
            if found is not None:
                return found
        return Jump(index), index + 1

    def _into(
        self, index: int, end: int, inside: _Round | None, depth: int
    ) -> tuple[If, int] | None:
        """`@p bra body; bra end; body: ...`, as compilers write it."""
        around = index + 1
        over = self._targets.get(around)
        if (
            self._targets[index] != index + 2
            or over is None
            or around in self._reached
            or self.instructions[around].guard is not None
            or not index + 2 < over <= end
            or (inside is not None and over in (inside.after, inside.again))
        ):
            return None
        found = self._if(index, index + 2, over, end, inside, depth)
        return None if found is None else (replace(found[0], into=True), found[1])

    def _if(  # noqa: PLR0917
        self, index: int, start: int, target: int, end: int, inside: _Round | None, depth: int
    ) -> tuple[If, int] | None:
        """The body from `start` to `target`, or to a branch before it over what is otherwise."""
        if self._entered(start, target, index, start):
            return None
        last = target - 1
        over = self._targets.get(last)
        if (
            last > start
            and over is not None
            and self.instructions[last].guard is None
            and target < over <= end
            and not (inside is not None and over in (inside.after, inside.again))
            and not self._entered(target, over, index, start)
        ):
            body = self._block(start, last, inside, depth + 1)
            otherwise = self._block(target, over, inside, depth + 1)
            return If(index, body, last, otherwise), over
        body = self._block(start, target, inside, depth + 1)
        return If(index, body, target, None), target

    def _entered(self, start: int, end: int, first: int, body: int) -> bool:
        """Whether a branch leads into an interval from outside, but for those before the body."""
        return any(
            start <= target < end and not start <= branch < end and not first <= branch < body
            for branch, target in self._ways
        )


def _is_branch(instruction: Instruction) -> bool:
    """A branch that the language appends: `bra`, without a guard also `bra.uni`."""
    if instruction.pragmas:
        return False
    uniform = instruction.spelling == "bra.uni" and instruction.guard is None
    return uniform or instruction.spelling == "bra"
