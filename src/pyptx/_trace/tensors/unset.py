"""Atomics on outputs that nothing has set: they would combine with what the memory held before.

An output without `init=` is uninitialised memory until the kernel stores to it. A kernel that
stores to an output anywhere, or through an address that comes from elsewhere, may set it first, and
is left to the emulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx._ir import Instruction, Statement
from pyptx._operands import Address, Parameter, Register, TensorAddress
from pyptx._spec import Tile
from pyptx._trace.tensors.tensor import Tensor
from pyptx._trace.tensors.tensor_types import roots_of
from pyptx.errors import LanguageError

_ELSEWHERE: Final = frozenset(("shared", "local", "param", "const"))
_SPACES: Final = _ELSEWHERE | {"global"}
_WRITES: Final = frozenset(("st", "cp", "red", "atom", "multimem", "wmma"))
_FROM_ZERO: Final = frozenset(("add", "or", "xor", "inc"))


def check_unset(
    body: Sequence[Statement], parameters: Sequence[Parameter], tensors: Sequence[Tensor]
) -> None:
    """Raises LanguageError at an atomic on one of these outputs where nothing stores to it."""
    instructions = [each for each in body if isinstance(each, Instruction)]
    written = [each for each in instructions if _writes_global(each)]
    if not tensors or not any(map(_combines, written)):
        return
    if any(each.form.opcode == "call" for each in instructions):
        return
    of = {tensor.parameter: tensor for tensor in tensors}
    by_index = {tensor.parameter.index: tensor for tensor in tensors}
    maps = {
        each: by_index[each.of] for each in parameters if each.tensor_map and each.of in by_index
    }
    everything: dict[Parameter, Tensor | None] = {**dict.fromkeys(parameters), **of, **maps}
    roots = roots_of(instructions, everything)
    combined: dict[Parameter, tuple[Instruction, Tensor]] = {}
    stored: set[Parameter] = set()
    for each in written:
        found = roots.get(_base(each), frozenset[Parameter]())
        if not found and not _combines(each):
            return  # it may store anywhere
        for tensor in filter(None, map(everything.get, found)):
            if _combines(each):
                combined.setdefault(tensor.parameter, (each, tensor))
            else:
                stored.add(tensor.parameter)
    for parameter, (instruction, tensor) in combined.items():
        if parameter not in stored:
            raise _unset(instruction, tensor)


def _writes_global(instruction: Instruction) -> bool:
    if instruction.form.opcode not in _WRITES or "prefetch" in instruction.modifiers:
        return False
    if not any(isinstance(each, (Address, TensorAddress)) for each in instruction.operands):
        return False  # `cp.async.bulk.commit_group`
    named = (modifier.partition("::")[0] for modifier in instruction.modifiers)
    return next((name for name in named if name in _SPACES), "global") not in _ELSEWHERE


def _combines(instruction: Instruction) -> bool:
    """Whether it reads what it writes. The result of `atom.exch` need not be used.

    The address of `multimem` is a multicast object's, which other GPUs may have set.
    """
    opcode, modifiers = instruction.form.opcode, instruction.modifiers
    if opcode == "atom":
        return "exch" not in modifiers
    return opcode == "red" or ("reduce" in modifiers and opcode != "multimem")


def _base(instruction: Instruction) -> Register | None:
    """The register with the address that is written, or with that of its tensor map."""
    for operand in instruction.operands:
        where = operand.map if isinstance(operand, TensorAddress) else operand
        if isinstance(where, Address):
            return where.base if isinstance(where.base, Register) else None
    return None


def _unset(instruction: Instruction, tensor: Tensor) -> LanguageError:
    name = tensor.name
    operation = next((m for m in instruction.modifiers if m in _FROM_ZERO), None)
    return LanguageError(
        f"{instruction.spelling} of {name}, an output that nothing sets before: it is combined "
        "with what the memory held",
        location=instruction.location,
        notes=(
            ("help", f"{_spelled(tensor.tile)}init={'...' if operation is None else 0})   sets it"),
            ("help", f"or store to {name}, and let a barrier order the store before this"),
        ),
    )


def _spelled(tile: Tile | None) -> str:
    """The Tile as it is declared, up to what stands for `init=`."""
    return "Tile(..., " if tile is None else repr(tile).replace(", partial=True", "")[:-1] + ", "
