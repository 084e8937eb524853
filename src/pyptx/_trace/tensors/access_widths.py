"""How wide the accesses of each tensor are: what the addresses of its first element allow."""

from __future__ import annotations

from typing import Final

from pyptx._ir import Instruction, Kernel
from pyptx._operands import Address, Parameter, Register
from pyptx._trace.tensors.tensor_types import roots_of
from pyptx.types import DTYPES

WIDEST: Final = 32
"""Bytes of the widest access that any target has."""

_ACCESSES: Final = frozenset(("ld", "ldu", "st", "atom", "red"))
_HINTS: Final = frozenset(("prefetch", "prefetchu", "applypriority", "createpolicy"))
_ELSEWHERE: Final = frozenset(("shared", "param", "local", "const"))
_COPIED: Final = 16
"""Bytes that addresses of copies to shared memory are multiples of, at most."""
_VECTORS: Final = {"v2": 2, "v4": 4, "v8": 8}


def access_widths(kernel: Kernel, count: int) -> tuple[int, ...]:
    """The widest access in bytes of each of the kernel's first `count` parameters.

    An access through an address that is not known to be of one of them counts for all.
    """
    instructions = [each for each in kernel.body if isinstance(each, Instruction)]
    if any(each.form.opcode == "call" for each in instructions):
        return (WIDEST,) * count
    tensors = kernel.parameters[:count]
    roots = roots_of(instructions, frozenset(tensors))
    found = dict.fromkeys(tensors, 1)
    for instruction in instructions:
        bases = [each.base for each in instruction.operands if isinstance(each, Address)]
        width = _width(instruction)
        if not bases or width == 1:
            continue
        own = frozenset[Parameter]().union(
            *(roots.get(base, ()) for base in bases if isinstance(base, Register))
        )
        for parameter in own or tensors:
            found[parameter] = max(found[parameter], width)
    return tuple(found[parameter] for parameter in tensors)


def _width(instruction: Instruction) -> int:
    """The bytes that an access is of; 1 where it is none of global memory."""
    opcode, modifiers = instruction.form.opcode, instruction.modifiers
    spaces = {modifier.partition("::")[0] for modifier in modifiers}
    if opcode in _HINTS or (opcode != "cp" and _ELSEWHERE & spaces):
        return 1
    if opcode not in _ACCESSES:
        return _COPIED if opcode == "cp" else WIDEST
    dtype = DTYPES.get(modifiers[-1])
    if dtype is None:
        return WIDEST
    return dtype.bytes * next((n for name, n in _VECTORS.items() if name in modifiers), 1)
