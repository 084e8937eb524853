"""What instructions work on: registers, constants, addresses, variables, labels; frozen, unnamed.

Registers, labels and variables are numbered in the order in which a trace made them; their PTX
names come from the writer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pyptx.types import DType


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register; `index` counts all registers of the kernel."""

    index: int
    dtype: DType


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
class Parameter:
    """A kernel parameter. `tensor` names the user's tensor where the parameter is its address."""

    index: int
    dtype: DType
    name: str
    tensor: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in `space` ("shared", "local", "const", "global"), `size` bytes at `align`.

    `initial` holds the bytes of a const or global variable, empty for zero.
    """

    index: int
    space: str
    size: int
    align: int
    name: str = ""
    initial: bytes = b""


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable or parameter plus a byte offset, as an operand of `mov`."""

    of: Variable | Parameter
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """A memory operand `[base + offset]`, offset in bytes."""

    base: Register | Variable | Parameter | Immediate
    offset: int = 0


@dataclass(frozen=True, slots=True)
class TensorAddress:
    """A position `[map, {x, y}]` in the tensor that a tensor map describes, in elements.

    The coordinates begin with the dimension whose elements lie next to each other.
    """

    map: Address
    coordinates: Vector


@dataclass(frozen=True, slots=True)
class Label:
    """A position in the body that branches name."""

    index: int


@dataclass(frozen=True, slots=True)
class Targets:
    """The labels that `brx.idx` chooses from by index: a `.branchtargets` list."""

    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p` as a source operand."""

    register: Register


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a destination that is thrown away."""


Scalar: TypeAlias = Register | Immediate | SpecialRegister | Sink


@dataclass(frozen=True, slots=True)
class Pair:
    """`d|p`: two destinations written as one operand."""

    first: Register | Sink
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
    | Label
    | Targets
    | Negated
    | Sink
    | Pair
    | Vector
)
