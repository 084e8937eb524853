"""Tensor maps in the body of a kernel: each is a parameter of 128 bytes, by value.

Source: PTX ISA, "Tensor-map"; CUDA C++ Programming Guide, "Tensor Memory Access".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx import device
from pyptx._ir import Instruction
from pyptx._layouts import Atomicity, Im2col, Layout, MapError, TensorMap
from pyptx._layouts.swizzle import CHUNK_BYTES
from pyptx._layouts.tensor_map import MAP_ALIGN, MAP_BYTES, Interleave, row_major_strides
from pyptx._operands import Address, Immediate, Parameter, Register, Symbol, TensorAddress, Variable
from pyptx._source import caller
from pyptx._spec import advice
from pyptx._trace.core.values import Reg
from pyptx.errors import LanguageError, SpecError
from pyptx.types import b8, u64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx._layouts.matrix import MatrixLayout
    from pyptx._source import SourceLocation
    from pyptx._trace.core.context import Trace
    from pyptx._trace.memory.smem import SharedTile

_SUFFIX: Final = "_map"
_SIGN: Final = 1 << 31
_ATOMICITY: Final = "tensor map atomicity"
_RANKS: Final = ("1d", "2d", "3d", "4d", "5d")
_OF_ROWS: Final = frozenset(("tile::gather4", "tile::scatter4"))
_ROWS: Final = 4
_IMAGES: Final = frozenset(("im2col", "im2col_no_offs"))


class TensorMapReg(Reg):
    """The generic address of a tensor map, in a 64-bit register.

    `ptx.addr(X.tma_desc(), [column, row])` is a position in the tensor; coordinates begin with the
    last axis and count elements. `map` is what the tensor map says.
    """

    __slots__ = ("map",)

    def __init__(self, trace: Trace, register: Register, tensor_map: TensorMap) -> None:
        super().__init__(trace, register)
        self.map = tensor_map

    @property
    def bytes(self) -> int:
        """What one copy fills in shared memory, and completes on an mbarrier."""
        return self.map.bytes

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements of one copy along each axis."""
        return self.map.shape

    @property
    def align(self) -> int:
        """Bytes that the place of a copy in shared memory is a multiple of: 128, 256, 512, 1024."""
        return self.map.align


def check_tensor(
    tensor_map: TensorMap, name: str, sizes: Sequence[object], where: SourceLocation
) -> None:
    """Check what is known of the tensor itself. Raises SpecError."""
    known = [size if isinstance(size, int) else None for size in sizes]
    # The stride of an axis is known where the sizes of all axes behind it are.
    behind = [all(size is not None for size in known[axis + 1 :]) for axis in range(len(known))]
    assumed = row_major_strides([size or 1 for size in known], tensor_map.dtype.bytes)
    strides = [stride if whole else None for stride, whole in zip(assumed, behind, strict=False)]
    if tensor_map.split is not None:  # any groups of the last axis are right
        known, strides = [*known[:-1], None, None], [*strides, None]
    try:
        tensor_map.check_tensor(known, strides)
    except MapError as error:
        problem = f"{name} cannot have a tensor map: {error.problem}"
        raise SpecError(problem, location=where, notes=advice(error)) from None


def map_address(trace: Trace, tensor: Parameter, tensor_map: TensorMap) -> TensorMapReg:
    """The generic address of the tensor's map, one parameter for each description.

    Two instructions, a `mov` of the parameter's address and `cvta.param`.
    """
    parameter = trace.tensor_maps.get((tensor, tensor_map))
    if parameter is None:
        count = sum(of is tensor for of, _ in trace.tensor_maps)
        name = f"{tensor.name}{_SUFFIX}{count or ''}"
        parameter = Parameter(
            len(trace.parameters),
            b8,
            name,
            length=MAP_BYTES,
            align=MAP_ALIGN,
            tensor_map=tensor_map,
            of=tensor.index,
        )
        trace.parameters.append(parameter)
        trace.tensor_maps[tensor, tensor_map] = parameter
    inside, generic = trace.register(u64), trace.register(u64)
    trace.write("mov.b64", inside, Symbol(parameter))
    trace.write("cvta.param.u64", generic, inside)
    trace.map_registers[generic] = tensor_map
    return TensorMapReg(trace, generic, tensor_map)


def check_copies(trace: Trace) -> None:
    """Check each instruction that names a tensor map: its rank, and where its box begins.

    Where is in the tensor and in shared memory. What it cannot see, addresses and coordinates in
    registers, is left to the emulator. Raises LanguageError at the instruction.
    """
    for statement in trace.body:
        if type(statement) is Instruction:
            for operand in statement.operands:
                if type(operand) is TensorAddress:
                    _check_copy(trace, statement, operand)


def _check_copy(trace: Trace, instruction: Instruction, position: TensorAddress) -> None:
    base = position.map.base
    tensor_map = trace.map_registers.get(base) if isinstance(base, Register) else None
    if tensor_map is None:
        return
    rank = next(m for m in instruction.modifiers if m in _RANKS)
    if int(rank[0]) != tensor_map.rank:
        raise LanguageError(
            f"the copy is of rank {rank[0]}, and its tensor map has the box {tensor_map.box!r}",
            location=instruction.location,
            notes=(("help", f"write .{tensor_map.rank}d, with as many coordinates"),),
        )
    images = bool(_IMAGES & {*instruction.modifiers})
    if images != (tensor_map.im2col is not None):
        raise LanguageError(
            "the copy is of boxes, and its tensor map of im2col"
            if not images
            else "the copy is .im2col, and its tensor map of boxes",
            location=instruction.location,
            notes=(("help", "offsets=[...] for loads of a map of im2col, and for no other"),),
        )
    gathers = bool(_OF_ROWS & {*instruction.modifiers})
    if gathers and tensor_map.shape[0] != 1:
        raise LanguageError(
            f"rows are gathered and scattered with boxes of one row, not {tensor_map.box!r}",
            location=instruction.location,
            notes=(("help", f"X.tma_desc((1, {tensor_map.box[1]}))"),),
        )
    # Loads name their destination first, stores and reductions their source behind the position.
    first, *others = instruction.operands
    store = first is position and "prefetch" not in instruction.modifiers
    _check_start(instruction, tensor_map, position, store=store)
    _check_layout(trace, instruction, tensor_map, store=store)
    if tensor_map.im2col is not None and store:
        _check_corners(instruction, tensor_map.im2col)
    place = others[0] if first is position and others else first
    if isinstance(place, Address) and isinstance(place.base, Variable):
        _check_place(instruction, tensor_map, place.base)
        _check_room(instruction, tensor_map, place.base, place.offset)


def _check_start(
    instruction: Instruction, tensor_map: TensorMap, position: TensorAddress, *, store: bool
) -> None:
    """That a box begins where it may, as far as its coordinates are numbers.

    That a store has no negative ones is in the CUDA C++ Programming Guide, "Tensor Memory Access",
    under "Negative indices and out of bounds". The manuals do not say that rows begin at multiples
    of 16 bytes; an H200 answers both with an illegal instruction.
    """
    starts = [
        _signed(c) if isinstance(c, Immediate) else None for c in position.coordinates.elements
    ]
    for number, start in enumerate(starts):
        if store and start is not None and start < 0:
            raise LanguageError(
                f"coordinate {number} is {start}; those of stores and reductions must not be "
                "negative, only loads may begin before the tensor",
                location=instruction.location,
                notes=(("help", "begin at 0, with a smaller box"),),
            )
    first, dtype = starts[0], tensor_map.dtype
    unit = CHUNK_BYTES // dtype.bytes
    if tensor_map.layout.interleave is Interleave.NONE and first is not None and first % unit:
        help_ = f"begin at {first // unit * unit}, with a box that spans more"
        if store:
            help_ = "let threads store what lies before such a multiple"
        raise LanguageError(
            f"the first coordinate is {first}, {first * dtype.bytes} bytes of {dtype}; it must be "
            f"a multiple of {unit} elements, {CHUNK_BYTES} bytes",
            location=instruction.location,
            notes=(("help", help_),),
        )


def _check_layout(
    trace: Trace, instruction: Instruction, tensor_map: TensorMap, *, store: bool
) -> None:
    """That the target has the layout, and the direction (PTX ISA, "Swizzling Modes")."""
    layout = tensor_map.layout
    if layout.atomicity is not Atomicity.B16 and not device.of(trace.target).has(_ATOMICITY):
        raise LanguageError(
            f"{trace.target} has no {layout!r}: its swizzles move 16 bytes",
            location=instruction.location,
            notes=(("first in", device.FEATURES[_ATOMICITY]),),
        )
    if layout.atomicity is Atomicity.B32_FLIP_8B and store:
        raise LanguageError(
            f"{layout!r} is for loads alone",
            location=instruction.location,
            notes=(("help", f"layout={Layout.TMA_128B_ATOM_32B!r}"),),
        )


def _check_corners(instruction: Instruction, im2col: Im2col) -> None:
    """PTX ISA, "Restriction on Tensor Copy instructions": a store's images are not padded."""
    if min(im2col.lower) < 0 or max(im2col.upper) > 0:
        raise LanguageError(
            f"the bounding box of a store lies in the image, and lower={im2col.lower!r}, "
            f"upper={im2col.upper!r} reach beyond it",
            location=instruction.location,
            notes=(("legal", "lower of 0 or more, upper of 0 or less"),),
        )


def _signed(coordinate: Immediate) -> int:
    return (coordinate.bits + _SIGN) % (2 * _SIGN) - _SIGN


def _check_place(instruction: Instruction, tensor_map: TensorMap, variable: Variable) -> None:
    """That the pattern of a swizzle begins where the shared memory does.

    A box may begin inside of it, so that several of them fill a larger tile.
    """
    align = tensor_map.align
    if variable.align % align == 0:
        return
    raise LanguageError(
        f"a box in {tensor_map.layout!r} lies in shared memory that is aligned to "
        f"{variable.align} bytes; its pattern repeats every {align} bytes and begins where "
        f"addresses are multiples of {align}",
        location=instruction.location,
        notes=(("help", f"smem.alloc(..., align={align})"),),
    )


def _check_room(
    instruction: Instruction, tensor_map: TensorMap, variable: Variable, offset: int
) -> None:
    """That the shared memory from here on is as large as what the copy moves."""
    rows = _ROWS if _OF_ROWS & {*instruction.modifiers} else 1
    left = variable.size - offset
    if variable.linkage != "extern" and left < rows * tensor_map.bytes:
        raise LanguageError(
            f"the box has {rows * tensor_map.bytes} bytes, and the shared memory from here on "
            f"{left}",
            location=instruction.location,
            notes=(("help", _allocation(tensor_map)),),
        )


def check_tile(tensor_map: TensorMap, tile: SharedTile) -> None:
    """That a tile can hold what one copy moves, and has the layout in which it does.

    A tile without a layout of its own is bytes, in which a box may lie as it likes. Raises
    LanguageError.
    """
    if tile.bytes < tensor_map.bytes:
        raise LanguageError(
            f"the box has {tensor_map.bytes} bytes, and the tile of shape {tile.shape} "
            f"{tile.bytes}",
            location=caller(),
            notes=(("help", _allocation(tensor_map)),),
        )
    layout = tile.layout
    if layout is None:
        return
    row = tensor_map.shape[-1] * tensor_map.dtype.bytes
    whole = tensor_map.layout.atomicity is Atomicity.B16
    if whole and tensor_map.layout.swizzle is layout.swizzle and row == layout.swizzle.span:
        return
    raise LanguageError(
        f"the tile lies in panels of {layout.swizzle.span} bytes ({layout.swizzle}), and the box "
        f"has rows of {row} bytes in {tensor_map.layout!r}",
        location=caller(),
        notes=(("help", _same_layout(layout, tensor_map)),),
    )


def _same_layout(layout: MatrixLayout, tensor_map: TensorMap) -> str:
    named = next(each for each in Layout if each.swizzle is layout.swizzle)
    columns = layout.swizzle.span // tensor_map.dtype.bytes
    return f"layout={named!r}, and a box with {columns} elements along the last axis"


def _allocation(tensor_map: TensorMap) -> str:
    shape, align = tensor_map.shape, tensor_map.align
    return f"smem.alloc({tensor_map.dtype}, {shape}, align={align})"
