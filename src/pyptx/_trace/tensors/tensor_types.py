"""Loads and stores of a tensor in a type that is not its Tile's.

An address that comes from one tensor is followed through moves and sums. Untyped accesses (`.b32`)
are of bits and go with every type; so do unsigned ones of several elements at once, as compilers
write them. A typed access means the elements, and has to be of their type.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from pyptx import _verify as verify
from pyptx._ir import Instruction, Statement
from pyptx._operands import Address, Operand, Parameter, Register, Symbol
from pyptx._trace.tensors.tensor import Tensor
from pyptx.errors import LanguageError
from pyptx.types import DTYPES, DType

_ACCESSES: Final = frozenset(("ld", "ldu", "st", "atom", "red"))
_ELSEWHERE: Final = frozenset(("shared", "param", "local", "const"))
_FOLLOWED: Final = frozenset(("mov", "cvta", "add", "sub", "mad", "cvt", "selp", "min", "max"))
"""What makes an address of addresses. The result of anything else is no address that is known."""
_NONE: Final[frozenset[Parameter]] = frozenset()


def check_types(body: Sequence[Statement], tensors: Sequence[Tensor]) -> None:
    """Raises LanguageError at the first access of a tensor in a type that is not its Tile's."""
    of = {tensor.parameter: tensor for tensor in tensors if tensor.tile is not None}
    if not of:
        return
    instructions = [each for each in body if isinstance(each, Instruction)]
    roots = roots_of(instructions, of)
    for instruction in instructions:
        if instruction.form.opcode not in _ACCESSES or _ELSEWHERE & set(_spaces(instruction)):
            continue
        kind = DTYPES.get(instruction.modifiers[-1]) if instruction.modifiers else None
        base = next((o.base for o in instruction.operands if isinstance(o, Address)), None)
        found = roots.get(base, frozenset[Parameter]()) if isinstance(base, Register) else ()
        held = {of[parameter].dtype for parameter in found}
        if kind is not None and len(held) == 1 and not _means(kind, next(iter(held))):
            raise _wrong(instruction, kind, [of[parameter] for parameter in found])


def _spaces(instruction: Instruction) -> list[str]:
    return [modifier.partition("::")[0] for modifier in instruction.modifiers]


def roots_of(
    instructions: Sequence[Instruction], of: Container[Parameter]
) -> dict[Register | None, frozenset[Parameter]]:
    """The tensors and tensor maps of these parameters whose address a register can hold."""
    roots: dict[Register | None, frozenset[Parameter]] = {}
    sums: list[tuple[Sequence[Register], Sequence[Register]]] = []
    for instruction in instructions:
        if named := _parameters(instruction.operands, of, Symbol):
            _add(roots, _written(instruction), frozenset(named))
        elif instruction.form.opcode in _FOLLOWED:
            sums.append(verify.reads_and_writes(instruction))
        elif instruction.form.opcode == "ld" and "param" in instruction.modifiers:
            found = frozenset(_parameters(instruction.operands, of, Address))
            _add(roots, _written(instruction), found)
    changed = True
    while changed:
        changed = False
        for reads, writes in sums:
            changed |= _add(roots, writes, _of_any(roots, reads))
    return roots


def _written(instruction: Instruction) -> Sequence[Register]:
    return verify.reads_and_writes(instruction)[1]


def _of_any(
    roots: dict[Register | None, frozenset[Parameter]], registers: Sequence[Register]
) -> frozenset[Parameter]:
    held = [roots[register] for register in registers if register in roots]
    return frozenset[Parameter]().union(*held) if held else _NONE


def _add(
    roots: dict[Register | None, frozenset[Parameter]],
    registers: Sequence[Register],
    found: frozenset[Parameter],
) -> bool:
    """Whether a register can hold an address that it could not before."""
    changed = False
    for register in registers if found else ():
        before = roots.get(register, _NONE)
        if not found <= before:
            roots[register] = before | found
            changed = True
    return changed


def _parameters(
    operands: Sequence[Operand], of: Container[Parameter], kind: type[Address | Symbol]
) -> list[Parameter]:
    """The parameters of `of` that operands load, or whose address they are."""
    given = [operand for operand in operands if isinstance(operand, kind)]
    bases = [each.base if isinstance(each, Address) else each.of for each in given]
    return [base for base in bases if isinstance(base, Parameter) and base in of]


def _means(access: DType, held: DType) -> bool:
    """Whether an access in a type is of elements of another."""
    if access is held or access.is_bits:
        return True
    if access.is_packed:
        return access.name.rpartition("x")[0] == held.name
    if access.is_integer and access.bits > held.bits:
        return not access.is_signed
    if access.bits != held.bits:
        return False
    if access.is_integer and held.is_integer:
        return access.is_signed == held.is_signed or access.bits >= 32  # no extension of the sign
    # PTX has no `ld` of floats of 8 and 16 bits, and `.u16` is what it had before `.b16`.
    return access.is_integer and held.bits < 32


def _wrong(instruction: Instruction, kind: DType, tensors: list[Tensor]) -> LanguageError:
    names = " and ".join(tensor.name for tensor in tensors)
    dtype = tensors[0].dtype
    opcode = instruction.form.opcode
    atomic = opcode in ("atom", "red")
    index = f"{names}[i] = v" if opcode == "st" else f"{names}[i]"
    help_ = f"{index} {'stores' if opcode == 'st' else 'loads'} in the type of the Tile"
    return LanguageError(
        f"{instruction.spelling} of {names}, whose Tile holds .{dtype}",
        location=instruction.location,
        notes=(
            ("legal", f".{dtype}" if atomic else f".{dtype.access}, and .b{kind.bits} for bits"),
            *(() if atomic else (("help", help_),)),
        ),
    )
