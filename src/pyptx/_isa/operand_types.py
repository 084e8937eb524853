"""What a form says of one operand, once its modifiers are chosen."""

from __future__ import annotations

from dataclasses import dataclass

from pyptx._isa.model import WIDE, OperandSpec, Option, length_in, slot_of
from pyptx._isa.syntax import NAMED
from pyptx.types import DTYPES, DType, b64


class MismatchError(Exception):
    """Why an operand list is not this form's. `depth` is how far it got: the farthest is shown."""

    def __init__(self, depth: int, problem: str, *notes: tuple[str, str]) -> None:
        super().__init__(problem)
        self.depth = depth
        self.problem = problem
        self.notes = notes


@dataclass(frozen=True, slots=True, eq=False)
class Typed:
    """An operand of a spelling: what its row says, with types, length and state spaces worked out.

    A register of type `exact` fits as it is; None where that takes a closer look. `access` is how
    many bytes the instruction reads or writes at an address, 0 where it does neither or where its
    type does not tell; `align` what the address is a multiple of.
    """

    spec: OperandSpec
    dtype: DType
    length: int
    spaces: tuple[str, ...]
    access: int
    align: int
    exact: DType | None
    inner: tuple[Typed, ...] = ()


def typed_operand(spec: OperandSpec, chosen: dict[str, Option]) -> Typed:
    dtype = b64 if spec.kind in (*NAMED, "sink") else type_of(spec, chosen)
    length = length_of(spec, chosen)
    scalar = length == 1 and not spec.braces and spec.second != "required"
    plain = scalar and not spec.partial and spec.minus != "required"
    exact = dtype if plain and spec.kind == "value" else None
    access = _access(chosen) if spec.kind == "address" and not spec.align else 0
    align = spec.align or access
    inner = tuple(typed_operand(each, chosen) for each in spec.inner)
    return Typed(spec, dtype, length, legal_spaces(spec, chosen), access, align, exact, inner)


def _access(chosen: dict[str, Option]) -> int:
    """Bytes of a memory access: the last modifier is its type, slot vec the number of elements."""
    *_, last = (option.name for option in chosen.values())
    count = int(chosen["vec"].name[1:]) if "vec" in chosen else 1
    return DTYPES[last].bytes * count if last in DTYPES else 0


def type_of(spec: OperandSpec, chosen: dict[str, Option]) -> DType:
    """The type of an operand once the modifiers are chosen."""
    if spec.type.startswith("wide("):
        inner = spec.type[5:-1]
        return DTYPES[WIDE[chosen[inner].name if inner in chosen else inner]]
    return DTYPES[chosen[spec.type].name if spec.type in chosen else spec.type]


def length_of(spec: OperandSpec, chosen: dict[str, Option]) -> int:
    """How many elements an operand has once the modifiers are chosen."""
    if isinstance(spec.length, int):
        return spec.length
    slot = slot_of(spec.length)
    return (length_in(spec.length, chosen[slot].name) or 1) if slot in chosen else 1


def legal_spaces(spec: OperandSpec, chosen: dict[str, Option]) -> tuple[str, ...]:
    if "symbol" in spec.accepts and "space" in chosen:
        return (chosen["space"].name.split("::")[0],)
    names: list[str] = []
    for space in spec.spaces:
        option = chosen.get(space)
        names.append((option.name if option else space).split("::")[0])
    known = ("const", "global", "local", "param", "shared", "tmem", "handle", "fabric")
    return tuple(name if name in known else "generic" for name in names)
