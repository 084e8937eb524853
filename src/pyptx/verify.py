"""Checks of a whole kernel that no single instruction can make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from pyptx.errors import LanguageError, SpecError
from pyptx.ir import Instruction, Kernel, Module, Place
from pyptx.operands import Address, Label, Negated, Operand, Pair, Register, Vector
from pyptx.source import SourceLocation
from pyptx.target import Target

# Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
SHARED_LIMIT: Final = {
    75: 64, 80: 163, 86: 99, 87: 163, 88: 99, 89: 99, 90: 227,
    100: 227, 103: 227, 110: 227, 120: 99, 121: 99,
}  # fmt: skip
"""KiB of shared memory one CTA can have, by compute capability."""
MAX_THREADS: Final = 1024


def verify(module: Module) -> None:
    """Check labels, register definitions and shared memory of every kernel.

    Raises LanguageError at the Python line of the instruction, SpecError for resources.
    """
    for kernel in module.kernels:
        _labels(kernel)
        _definitions(kernel)
        _shared(kernel, module.target)


def _shared(kernel: Kernel, target: Target) -> None:
    limit = SHARED_LIMIT[target.sm] * 1024
    if kernel.shared.size > limit:
        raise SpecError(
            f"{kernel.name} allocates {kernel.shared.size} bytes of shared memory; "
            f"a CTA of {target} has at most {limit}",
            notes=tuple(
                ("allocated", f"{v.name or f'shared_{v.index}'}: {v.size} bytes")
                for v in kernel.shared.offsets
            ),
        )


def _labels(kernel: Kernel) -> None:
    placed = {s.label for s in kernel.body if isinstance(s, Place)}
    for statement in kernel.body:
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                if isinstance(operand, Label) and operand not in placed:
                    raise LanguageError(
                        "this branches to a label that is placed nowhere",
                        location=statement.location,
                        notes=(("help", "ptx.place(label) puts it into the body"),),
                    )


# ---- registers that are read before anything sets them -------------------------------------------


def reads_and_writes(instruction: Instruction) -> tuple[list[Register], list[Register]]:
    """The registers an instruction reads and the ones it writes."""
    chosen = instruction.form.assign(instruction.modifiers) or {}
    specs = [o for o in instruction.form.operands if o.when is None or o.when in chosen]
    reads: list[Register] = []
    writes: list[Register] = []
    if instruction.guard is not None:
        reads.append(instruction.guard.register)
    for spec, operand in zip(specs, instruction.operands, strict=False):
        registers = list(_registers(operand))
        if spec.access != "out" or isinstance(operand, Address):
            reads += registers
        if spec.access != "in" and not isinstance(operand, Address):
            writes += registers
    return reads, writes


def _registers(operand: Operand) -> Iterator[Register]:
    match operand:
        case Register():
            yield operand
        case Negated():
            yield operand.register
        case Address():
            if isinstance(operand.base, Register):
                yield operand.base
        case Vector():
            yield from (e for e in operand.elements if isinstance(e, Register))
        case Pair():
            yield from (e for e in (operand.first, operand.second) if isinstance(e, Register))
        case _:
            return


def _definitions(kernel: Kernel) -> None:
    """Forward analysis: on no path has anything written a register that an instruction reads."""
    blocks = _blocks(kernel)
    may_hold = [0] * len(blocks)
    work = [0]
    reached = {0}
    while work:
        index = work.pop()
        out = may_hold[index] | blocks[index].written
        for successor in blocks[index].successors:
            if successor not in reached or out & ~may_hold[successor]:
                reached.add(successor)
                may_hold[successor] |= out
                work.append(successor)
    for index in sorted(reached):
        _check_block(blocks[index], may_hold[index])


class _Block:
    def __init__(self) -> None:
        self.steps: list[tuple[SourceLocation, str, list[Register], int]] = []
        self.written = 0
        self.successors: list[int] = []


def _blocks(kernel: Kernel) -> list[_Block]:
    blocks = [_Block()]
    starts: dict[Label, int] = {}
    jumps: defaultdict[int, list[Label]] = defaultdict(list)
    falls: list[bool] = [True]
    for statement in kernel.body:
        if isinstance(statement, Place):
            blocks.append(_Block())
            falls.append(True)
            starts[statement.label] = len(blocks) - 1
            continue
        block = blocks[-1]
        reads, writes = reads_and_writes(statement)
        mask = sum(1 << register.index for register in set(writes))
        block.steps.append((statement.location, statement.spelling, reads, mask))
        block.written |= mask
        targets = [o for o in statement.operands if isinstance(o, Label)]
        if targets or statement.form.opcode in ("ret", "exit"):
            jumps[len(blocks) - 1] += targets
            falls[-1] = statement.guard is not None
            blocks.append(_Block())
            falls.append(True)
    for index, block in enumerate(blocks):
        block.successors = [starts[label] for label in jumps[index]]
        if falls[index] and index + 1 < len(blocks):
            block.successors.append(index + 1)
    return blocks


def _check_block(block: _Block, held: int) -> None:
    for location, spelling, reads, mask in block.steps:
        for register in reads:
            if not held >> register.index & 1:
                raise LanguageError(
                    f"{spelling} reads a .{register.dtype} register that nothing has set",
                    location=location,
                    notes=(("help", f"reg.scalar({register.dtype}, init=...) sets it"),),
                )
        held |= mask
