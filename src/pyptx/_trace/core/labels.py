"""The labels that a body needs, when its trace is closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyptx._ir import Instruction, Place, Statement
from pyptx._operands import Label, Operand, Targets
from pyptx._verify import branch_labels


def with_needed_labels(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """The body with one label where several stand together, and none that nothing branches to.

    Blocks place labels before it is known what leaves them. Labels that nothing needs make the
    assembler allocate registers in another way.
    """
    if not any(isinstance(statement, Place) for statement in body):
        return tuple(body)
    named = {label for s in body if isinstance(s, Instruction) for label in branch_labels(s)}
    same: dict[Label, Label] = {}
    kept: list[Statement] = []
    for statement in body:
        if isinstance(statement, Instruction):
            kept.append(statement)
        elif statement.label in named:
            last = kept[-1] if kept else None
            if isinstance(last, Place):
                same[statement.label] = last.label
            else:
                kept.append(statement)
    return tuple(s if isinstance(s, Place) else _relabelled(s, same) for s in kept)


def _relabelled(instruction: Instruction, same: Mapping[Label, Label]) -> Instruction:
    if not any(label in same for label in branch_labels(instruction)):
        return instruction
    return replace(instruction, operands=tuple(_other(o, same) for o in instruction.operands))


def _other(operand: Operand, same: Mapping[Label, Label]) -> Operand:
    match operand:
        case Label():
            return same.get(operand, operand)
        case Targets(labels):
            return Targets(tuple(same.get(label, label) for label in labels))
        case _:
            return operand
