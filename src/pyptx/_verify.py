"""Checks of a whole kernel that no single instruction can make."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from pyptx import device
from pyptx._ir import Instruction, Kernel, Module, Place, Statement
from pyptx._isa.model import Form
from pyptx._operands import Immediate, Label, Operand, Register, Targets, registers_of
from pyptx._target import Target
from pyptx.errors import LanguageError, SpecError

ENDS: Final = frozenset(("ret", "exit", "trap"))
"""Opcodes after which a thread without a guard runs nothing more."""


def verify(module: Module) -> None:
    """Check labels, register definitions and shared memory of every kernel.

    Raises LanguageError at the Python line of the instruction, SpecError for resources.
    """
    for kernel in module.kernels:
        _labels(kernel)
        for register, instruction in unset_reads(kernel):
            if register.index not in kernel.undefined:
                raise _unset(register, instruction)
        _shared(kernel, module.target)
        _named_shared(kernel, module)


def _named_shared(kernel: Kernel, module: Module) -> None:
    """Beyond the static limit a kernel's memory is one array, where functions find no variable."""
    named = [v for v in kernel.shared.offsets if v.size and v in module.variables]
    if named and kernel.shared.dynamic:
        raise SpecError(
            f"{kernel.name} names {named[0].name}, a .shared variable of the module, and has "
            f"{kernel.shared.size} bytes of shared memory; with one it has at most "
            f"{device.STATIC_SHARED}",
            notes=(("help", "smem.alloc for all, or smem.extern for what a launch makes larger"),),
        )


def _shared(kernel: Kernel, target: Target) -> None:
    limit = device.of(target).cta_shared
    if kernel.shared.size > limit:
        raise SpecError(
            f"{kernel.name} allocates {kernel.shared.size} bytes of shared memory; "
            f"a CTA of {target} has at most {limit}",
            notes=tuple(
                ("allocated", f"{v.name or f'shared_{v.index}'}: {v.size} bytes")
                for v in kernel.shared.offsets
            ),
        )


@cache
def _branches(form: Form) -> bool:
    return any(operand.kind in ("label", "labels") for operand in form.operands)


def branch_labels(instruction: Instruction) -> list[Label]:
    """The labels that an instruction may branch to."""
    found: list[Label] = []
    if not _branches(instruction.form):
        return found
    for operand in instruction.operands:
        if type(operand) is Label:
            found.append(operand)
        elif type(operand) is Targets:
            found += operand.labels
    return found


def _labels(kernel: Kernel) -> None:
    placed = {s.label for s in kernel.body if isinstance(s, Place)}
    for statement in kernel.body:
        if isinstance(statement, Instruction):
            for label in branch_labels(statement):
                if label not in placed:
                    raise LanguageError(
                        "this branches to a label that is placed nowhere",
                        location=statement.location,
                        notes=(
                            ("help", "ptx.place(label) or ptx.label(name) puts it into the body"),
                        ),
                    )


# ---- registers that are read before anything sets them -------------------------------------------


@cache
def _accesses(form: Form, modifiers: tuple[str, ...]) -> tuple[str, ...]:
    """How each operand of a spelling is accessed: "in", "out" or "inout"; addresses are read."""
    chosen = form.assign(modifiers) or {}
    specs = (o for o in form.operands if o.when is None or o.when in chosen)
    return tuple("in" if o.kind == "address" else o.access for o in specs)


def reads_and_writes(
    instruction: Instruction,
) -> tuple[tuple[Register, ...], tuple[Register, ...]]:
    """The registers an instruction reads and the ones it writes; every check asks for them."""
    known = instruction.accessed
    if known is not None:
        return known
    reads = [] if instruction.guard is None else [instruction.guard.register]
    writes: list[Register] = []
    accesses = _accesses(instruction.form, instruction.modifiers)
    for access, operand in zip(accesses, instruction.operands, strict=False):
        registers = (operand,) if type(operand) is Register else registers_of(operand)
        if access != "out":
            reads += registers
        if access != "in":
            writes += registers
    found = tuple(reads), tuple(writes)
    object.__setattr__(instruction, "accessed", found)
    return found


@dataclass(slots=True)
class _Block:
    """Instructions that run one after the other: what they need from before, and what they set.

    Registers are known by their numbers.
    """

    exposed: dict[int, tuple[Register, Instruction]] = field(
        default_factory=dict[int, "tuple[Register, Instruction]"]
    )
    written: set[int] = field(default_factory=set[int])
    successors: list[int] = field(default_factory=list[int])

    def append(self, instruction: Instruction, never: Container[int]) -> None:
        """Add what runs next; `never` are the predicates that never hold."""
        reads, writes = reads_and_writes(instruction)
        if instruction.form.opcode == "wgmma" and _is_false(_scale_d(instruction), never):
            reads = tuple(register for register in reads if register not in writes)
        for register in reads:
            if register.index not in self.written:
                self.exposed.setdefault(register.index, (register, instruction))
        self.written.update([register.index for register in writes])


@cache
def _place_of_scale_d(form: Form) -> int | None:
    names = [operand.name for operand in form.operands]
    return names.index("scaleD") if "scaleD" in names else None


def _scale_d(instruction: Instruction) -> Operand | None:
    """Whether `wgmma` adds D, which it otherwise does not read; None for its fences and groups."""
    place = _place_of_scale_d(instruction.form)
    return None if place is None else instruction.operands[place]


def _is_false(operand: Operand | None, never: Container[int]) -> bool:
    if type(operand) is Immediate:
        return operand.bits == 0
    return type(operand) is Register and operand.index in never


def _multiplies(statement: Statement) -> bool:
    return isinstance(statement, Instruction) and statement.form.opcode == "wgmma"


def _never_true(kernel: Kernel) -> frozenset[int]:
    """The predicates that nothing sets but comparisons of a number with itself by `setp.ne`."""
    constant: set[int] = set()
    others: set[int] = set()
    for statement in kernel.body:
        if isinstance(statement, Place):
            continue
        written = [register.index for register in reads_and_writes(statement)[1]]
        (constant if _differs_from_itself(statement) else others).update(written)
    return frozenset(constant - others)


def _differs_from_itself(instruction: Instruction) -> bool:
    """Whether it sets one predicate: of `p|q`, the second holds."""
    if instruction.form.opcode != "setp" or instruction.modifiers[0] != "ne":
        return False
    found, one, *others = instruction.operands
    number = type(one) is Immediate and one.dtype.is_integer
    return type(found) is Register and number and others == [one]


def unset_reads(kernel: Kernel) -> Iterator[tuple[Register, Instruction]]:
    """The registers that an instruction reads and that on no path anything has written before it.

    A forward analysis. Only registers that some block needs from before are followed, each as one
    bit.
    """
    blocks = _blocks(kernel)
    needed = sorted({index for b in blocks for index in b.exposed})
    bit = {index: 1 << i for i, index in enumerate(needed)}
    written = [sum(bit[r] for r in b.written if r in bit) for b in blocks]
    held: list[int | None] = [None] * len(blocks)
    held[0] = 0
    work = [0]
    while work:
        index = work.pop()
        after = (held[index] or 0) | written[index]
        for successor in blocks[index].successors:
            before = held[successor]
            if before is None or after & ~before:
                held[successor] = after | (before or 0)
                work.append(successor)
    for block, before in zip(blocks, held, strict=True):
        for register, instruction in block.exposed.values() if before is not None else ():
            if not (before or 0) & bit[register.index]:
                yield register, instruction


def _unset(register: Register, instruction: Instruction) -> LanguageError:
    return LanguageError(
        f"{instruction.spelling} reads a .{register.dtype} register that nothing has set",
        location=instruction.location,
        notes=(("help", f"reg.scalar({register.dtype}, init=...) sets it"),),
    )


def _blocks(kernel: Kernel) -> list[_Block]:
    """The basic blocks, with the blocks that may run next."""
    blocks = [_Block()]
    never = _never_true(kernel) if any(map(_multiplies, kernel.body)) else ()
    starts: dict[Label, int] = {}
    jumps: list[tuple[_Block, Label]] = []
    for statement in kernel.body:
        block = blocks[-1]
        if isinstance(statement, Place):
            starts[statement.label] = len(blocks)
            block.successors.append(len(blocks))
            blocks.append(_Block())
            continue
        block.append(statement, never)
        targets = branch_labels(statement)
        if targets or statement.form.opcode in ENDS:
            jumps += ((block, label) for label in targets)
            if statement.guard is not None:
                block.successors.append(len(blocks))
            blocks.append(_Block())
    for block, label in jumps:
        block.successors.append(starts[label])
    return blocks
