"""What instructions work on: registers, constants, addresses, variables, labels; frozen, unnamed.

Registers, labels and variables are numbered in the order in which a trace made them; their PTX
names come from the writer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar, cast

from pyptx._layouts import TensorMap
from pyptx.types import DType, b8


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register; `index` counts all registers of the kernel."""

    index: int
    dtype: DType

    def __hash__(self) -> int:  # registers are the keys of most tables of a kernel
        return self.index


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: the two's complement integer value, or the bit pattern of a float of `dtype`."""

    bits: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A predefined register such as `%tid.x`; `name` is without the percent sign."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Pointer:
    """What a parameter of `.ptr` points to: a state space, "" for generic, and its alignment."""

    space: str = ""
    align: int = 4


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel or function, or a value that a function returns.

    `tensor` names the user's tensor where the parameter is its address. `length` is the number of
    elements of an array, None for a scalar; `align` is 0 where it is that of the type. `opaque` is
    "texref", "samplerref" or "surfref" for a reference to one. `returned` sets what a function
    returns apart from what it takes. `tensor_map` says what a parameter is that is the tensor map
    of the tensor whose address is parameter `of`. `texel` is what an element of a texture or
    surface has bytes of, where the parameter holds its options.
    """

    index: int
    dtype: DType
    name: str
    tensor: bool = False
    length: int | None = None
    align: int = 0
    pointer: Pointer | None = None
    opaque: str = ""
    returned: bool = False
    tensor_map: TensorMap | None = None
    of: int = 0
    texel: int = 0

    @property
    def size(self) -> int:
        """Bytes in the parameter space."""
        return self.dtype.bytes * (1 if self.length is None else self.length)

    @property
    def alignment(self) -> int:
        """Bytes that its offset is a multiple of."""
        return self.align or self.dtype.bytes


@dataclass(frozen=True, slots=True)
class FunctionName:
    """A device function or a kernel: what a call names, and whose address a `mov` takes."""

    name: str


@dataclass(frozen=True, slots=True)
class Initial:
    """An address in the initial value of a variable, at byte `offset`.

    `of` names a variable or function of the module and `addend` is added to its address; `generic`
    is the operator that makes the address generic, `mask` that which takes one byte of it.
    """

    offset: int
    of: str
    addend: int = 0
    generic: bool = False
    mask: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in `space` ("shared", "local", "const", "global", "param"), of `size` bytes.

    `initial` holds the bytes of a const or global variable, empty for zero, and `addresses` what
    the assembler puts over them. The size of a variable of "extern" `linkage` may be 0: unknown.
    `dtype` is how its elements are written, `opaque` "texref", "samplerref" or "surfref";
    `attributes` are `managed` or `unified(...)`.
    """

    index: int
    space: str
    size: int
    align: int
    name: str = ""
    initial: bytes = b""
    dtype: DType = b8
    linkage: str = ""
    addresses: tuple[Initial, ...] = ()
    opaque: str = ""
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable or parameter plus a byte offset, as an operand of `mov`."""

    of: Variable | Parameter
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """A memory operand `[base + offset]`, offset in bytes.

    `unified` where `.unified` stands behind it: the variable has the attribute of that name.
    """

    base: Register | Variable | Parameter | Immediate
    offset: int = 0
    unified: bool = False


@dataclass(frozen=True, slots=True)
class TensorAddress:
    """A position `[map, {x, y}]` in the tensor that a tensor map describes, in elements.

    The coordinates begin with the dimension whose elements lie next to each other. `between` is
    what stands in front of them: a sampler, or what is used in place of fields of the map.
    """

    map: Address
    coordinates: Vector
    between: tuple[Scalar | Vector, ...] = ()


@dataclass(frozen=True, slots=True)
class FabricHandle:
    """`[leId, dataOff]`: a logical endpoint of the fabric, and byte offsets in it."""

    endpoint: Register
    offsets: tuple[Register, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """A position in the body that branches name."""

    index: int


@dataclass(frozen=True, slots=True)
class Targets:
    """The labels that `brx.idx` chooses from by index: a `.branchtargets` list."""

    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Arguments:
    """`(a, b)`: what a call passes, or where it puts what comes back.

    Variables are those of a call sequence, in the parameter space.
    """

    elements: tuple[Register | Immediate | Variable | Parameter, ...]


@dataclass(frozen=True, slots=True)
class Prototype:
    """What the function of an indirect call takes and returns: a `.callprototype`.

    abi_preserve, abi_preserve_control  the numbers of these directives, None without one
    """

    returns: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    noreturn: bool = False
    abi_preserve: int | None = None
    abi_preserve_control: int | None = None

    @property
    def preserves(self) -> dict[str, int]:
        """The directives that say what the function preserves, with their numbers."""
        given = {
            "abi_preserve": self.abi_preserve,
            "abi_preserve_control": self.abi_preserve_control,
        }
        return {name: number for name, number in given.items() if number is not None}


@dataclass(frozen=True, slots=True)
class CallTargets:
    """The functions that an indirect call may reach: a `.calltargets` list."""

    functions: tuple[FunctionName, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p` as a source operand."""

    register: Register


@dataclass(frozen=True, slots=True)
class Part:
    """`r.h1`: bytes (b) or halves (h) of a 32-bit register, as video instructions select them.

    `lanes` is written as after the dot: the part's number, or several, the highest lane first.
    """

    register: Register
    lanes: str


@dataclass(frozen=True, slots=True)
class Minus:
    """`-r` as a source operand: the instruction negates it."""

    of: Register | Part


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a destination that is thrown away."""


Scalar: TypeAlias = Register | Immediate | SpecialRegister | Sink


@dataclass(frozen=True, slots=True)
class Pair:
    """`d|p`: two destinations written as one operand; the first may be a vector."""

    first: Register | Sink | Vector
    second: Register | Sink


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, ...}`."""

    elements: tuple[Scalar, ...]


Operand: TypeAlias = (
    Register
    | Immediate
    | SpecialRegister
    | Symbol
    | Address
    | TensorAddress
    | FabricHandle
    | Part
    | Minus
    | Label
    | Targets
    | FunctionName
    | Arguments
    | Prototype
    | CallTargets
    | Negated
    | Sink
    | Pair
    | Vector
)

_OperandT = TypeVar("_OperandT", bound=Operand)


def replaced(operand: _OperandT, other: Callable[[Register], Register]) -> _OperandT:
    """The operand with every register of it replaced by what `other` gives for it."""
    return cast("_OperandT", _replaced(operand, other))


def _replaced(operand: Operand, other: Callable[[Register], Register]) -> Operand:
    match operand:
        case Register():
            return other(operand)
        case Negated(register):
            return Negated(other(register))
        case Part(register, lanes):
            return Part(other(register), lanes)
        case Minus(of):
            return Minus(replaced(of, other))
        case Pair(first, second):
            return Pair(replaced(first, other), replaced(second, other))
        case Vector(elements):
            return Vector(tuple(replaced(e, other) for e in elements))
        case Address(Register() as base, offset, unified):
            return Address(other(base), offset, unified)
        case TensorAddress(tensor_map, coordinates, between):
            inside = tuple(replaced(each, other) for each in between)
            return TensorAddress(replaced(tensor_map, other), replaced(coordinates, other), inside)
        case FabricHandle(endpoint, offsets):
            return FabricHandle(other(endpoint), tuple(map(other, offsets)))
        case Arguments(elements):
            named = (replaced(e, other) if isinstance(e, Register) else e for e in elements)
            return Arguments(tuple(named))
        case _:
            return operand


def registers_of(operand: Operand) -> list[Register]:
    """The registers that an operand names, in order."""
    kind = type(operand)
    if kind in _WITHOUT_REGISTERS:
        return []
    # Written out for what most operands are: every check of a kernel asks for all of them.
    if isinstance(operand, Register):
        return [operand]
    if isinstance(operand, Address):
        return [operand.base] if isinstance(operand.base, Register) else []
    if isinstance(operand, Vector):
        return [each for each in operand.elements if isinstance(each, Register)]
    found: list[Register] = []

    def keep(register: Register) -> Register:
        found.append(register)
        return register

    replaced(operand, keep)
    return found


_WITHOUT_REGISTERS: Final = frozenset(
    (Immediate, SpecialRegister, Symbol, Label, Targets, FunctionName, Prototype, CallTargets, Sink)
)
