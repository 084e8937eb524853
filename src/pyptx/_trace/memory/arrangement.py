"""Tiles that a copy fills in one arrangement and an index reads in another.

A tensor copy with a swizzle permutes the chunks of a row. `tile[row, column]` finds the element
where the tile has that swizzle (`smem.alloc(..., swizzle=)`), and another one where it has none; a
copy of bytes one after the other into a tile with a swizzle is the same mistake the other way
round. Nothing is said of a tile that anything else writes too, of an index that is made with `xor`,
which may be the swizzle by hand, and of elements that the swizzle leaves where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

from pyptx._ir import Instruction
from pyptx._layouts import Atomicity, TensorMap
from pyptx._layouts.matrix import CORE_ROWS
from pyptx._layouts.swizzle import CHUNK_BYTES, Swizzle
from pyptx._operands import Address, Operand, Register, Symbol, Variable, registers_of
from pyptx._trace.core.context import Trace
from pyptx._trace.core.values import Reg, Value, integer
from pyptx._trace.core.warned import warn_at
from pyptx._verify import reads_and_writes
from pyptx.errors import LanguageError

if TYPE_CHECKING:
    from pyptx._trace.memory.smem import SharedTile

_MATRIX: Final = 2
_WRITES: Final = frozenset(("st", "stmatrix", "red", "atom", "cp", "wmma"))
_READS: Final = frozenset(("ld", "ldmatrix", "atom"))
_BY_HAND: Final = frozenset(("xor", "lop3"))


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """A copy into a tile: with a tensor map, or of `size` bytes in order, None if not known."""

    tile: SharedTile
    instruction: object
    map: TensorMap | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """A load of the element of a tile at these indices."""

    tile: SharedTile
    indices: tuple[object, ...]
    instruction: object


def filled_by_map(trace: Trace, tile: SharedTile, tensor_map: TensorMap) -> None:
    """The last instruction copies a box into a tile."""
    if tile.layout is None and tensor_map.layout.swizzle is not Swizzle.NONE:
        _note(trace, Filled(tile, trace.body[-1], map=tensor_map))


def filled_in_order(trace: Trace, tile: SharedTile, size: object) -> None:
    """The last instruction copies bytes into a tile, one after the other."""
    if tile.swizzle is not Swizzle.NONE:
        _note(trace, Filled(tile, trace.body[-1], size=integer(size)))


def indexed(trace: Trace, tile: SharedTile, indices: tuple[object, ...]) -> None:
    """The last instruction loads the element of a tile at these indices."""
    if len(tile.shape) >= _MATRIX and tile.space == "shared":
        _note(trace, Indexed(tile, indices, trace.body[-1]))


def _note(trace: Trace, use: Filled | Indexed) -> None:
    trace.tiles.setdefault(use.tile.variable, []).append(use)


def check_arrangements(trace: Trace) -> None:
    """Raises LanguageError where an index reads what a swizzle has permuted; warns of the reverse.

    The whole body decides, because a loop reads in one round what it has copied in another.
    """
    for variable, uses in trace.tiles.items():
        filled = [use for use in uses if isinstance(use, Filled)]
        read = [use for use in uses if isinstance(use, Indexed)]
        pairs = ((a, b) for a, b in product(filled, read) if _differs(a, b))
        found = next(pairs, None)
        if found is None or _written(trace, variable, filled):
            continue
        by_hand = _derived(trace, _made_by_xor(trace))
        for copy, load in [found, *pairs]:
            if not any(isinstance(i, Reg) and i.register in by_hand for i in load.indices):
                _report(copy, load)
                break


def _differs(copy: Filled, load: Indexed) -> bool:
    """Whether an element that the load may read lies elsewhere than the index says."""
    tile = load.tile
    if copy.map is not None:
        row = copy.map.shape[-1] * copy.map.dtype.bytes
        swizzle = copy.map.layout.swizzle
        rows_agree = tile.layout is None and tile.shape[-1] * tile.dtype.bytes == row
        return rows_agree and any(swizzle.apply(at) != at for at in _places(load))
    layout = tile.layout
    if layout is None or tile.swizzle is Swizzle.NONE:
        return False
    size = tile.bytes if copy.size is None else copy.size
    columns, element = tile.shape[-1], tile.dtype.bytes
    inside = (at % layout.bytes for at in _places(load))
    return any(at < size and layout.offset(*divmod(at // element, columns)) != at for at in inside)


def _places(load: Indexed) -> Iterator[int]:
    """Offsets in bytes of the elements that a load may read, in order; one for each chunk."""
    tile = load.tile
    row, column = load.indices[-2:]
    element, columns = tile.dtype.bytes, tile.shape[-1]
    step = max(CHUNK_BYTES // element, 1)
    for r in _range(row, tile.shape[-2], 1):
        for c in _range(column, columns, step):
            yield tile.offset + (r * columns + c) * element


def _range(index: object, extent: int, step: int) -> Sequence[int]:
    known = None if isinstance(index, Value) else integer(index)
    return range(0, extent, step) if known is None else (known,)


def _report(copy: Filled, load: Indexed) -> None:
    assert isinstance(copy.instruction, Instruction)
    assert isinstance(load.instruction, Instruction)
    tile, where = load.tile, load.instruction.location
    copied = ("copied", copy.instruction.location.quoted)
    if copy.map is None:
        layout = f"Layout.TMA_{tile.swizzle.span}B"
        warn_at(
            where,
            f"a copy of bytes in order fills this tile, whose indices follow a swizzle of "
            f"{tile.swizzle.span} bytes",
            copied,
            ("help", f"smem.alloc({tile.dtype}, {tile.shape}) has its elements in order"),
            ("help", f"a tensor copy with {layout} writes the swizzle"),
        )
        return
    layout = copy.map.layout
    raise LanguageError(
        f"the copy into this tile permutes each row ({layout!r}), and the tile has no swizzle, so "
        "an index finds another element",
        location=where,
        notes=(copied, *_with_swizzle(tile, copy.map), ("help", "Layout.ROW permutes nothing")),
    )


def _with_swizzle(tile: SharedTile, tensor_map: TensorMap) -> tuple[tuple[str, str], ...]:
    whole = tensor_map.layout.atomicity is Atomicity.B16
    if not whole or tile.shape[-2] % CORE_ROWS:
        return ()
    span = tensor_map.layout.swizzle.span
    return (("help", f'smem.alloc({tile.dtype}, {tile.shape}, swizzle="{span}B")'),)


def _written(trace: Trace, variable: Variable, filled: Sequence[Filled]) -> bool:
    """Whether an instruction other than these copies writes the memory."""
    copies = {id(each.instruction) for each in filled}
    addresses = _derived(trace, [], variable)
    for each in trace.body:
        if not isinstance(each, Instruction) or id(each) in copies:
            continue
        opcode = each.form.opcode
        operands = each.operands if opcode == "call" else each.operands[:1]
        if (opcode == "call" or opcode in _WRITES) and any(
            _names(operand, variable) or not addresses.isdisjoint(registers_of(operand))
            for operand in operands
        ):
            return True
    return False


def _names(operand: Operand, variable: Variable) -> bool:
    if isinstance(operand, Symbol):
        return operand.of is variable
    return isinstance(operand, Address) and operand.base is variable


def _made_by_xor(trace: Trace) -> list[Register]:
    return [
        register
        for each in trace.body
        if isinstance(each, Instruction) and each.form.opcode in _BY_HAND
        for register in reads_and_writes(each)[1]
    ]


def _derived(
    trace: Trace, first: Sequence[Register], variable: Variable | None = None
) -> set[Register]:
    """Registers computed from these ones, or from the address of a variable, without loads."""
    found = set(first)
    before = -1
    while len(found) != before:  # a loop may compute before what it reads is set
        before = len(found)
        for each in trace.body:
            if not isinstance(each, Instruction) or each.form.opcode in _READS:
                continue
            reads, writes = reads_and_writes(each)
            named = variable is not None and any(_names(o, variable) for o in each.operands)
            if named or not found.isdisjoint(reads):
                found.update(writes)
    return found
