"""Operands as a program writes them, before a form has given them types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from pyptx._operands import (
    Address,
    FabricHandle,
    Immediate,
    Label,
    Minus,
    Operand,
    Pair,
    Part,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Targets,
    TensorAddress,
    Vector,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A constant as the user wrote it, before its type is known.

    An integer that `wraps` is converted to its type, as constants of PTX text are.
    """

    value: object
    wraps: bool = False


RawScalar: TypeAlias = Register | SpecialRegister | Symbol | Sink | Number | Immediate


@dataclass(frozen=True, slots=True)
class TensorPosition:
    """A tensor map, what stands behind it, and coordinates, as the user wrote them."""

    map: Address
    coordinates: tuple[RawScalar, ...]
    between: tuple[RawScalar | tuple[RawScalar, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RawPair:
    """Destinations `first|second` of which the first is a vector, as the user wrote them."""

    first: tuple[RawScalar, ...]
    second: Register | Sink


Raw: TypeAlias = Operand | Number | TensorPosition | RawPair | tuple[RawScalar, ...]

OPERANDS: Final = (
    Address,
    FabricHandle,
    Label,
    Minus,
    Pair,
    Part,
    RawPair,
    Symbol,
    Sink,
    Targets,
    TensorAddress,
    TensorPosition,
    Vector,
)
"""What is an operand as it is, or a pair or position whose parts are."""
