"""Values across the lanes of a warp: shuffles of every width, and what combines two values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from pyptx import _verify as verify
from pyptx._ir import Guard, Instruction
from pyptx._isa.given import Number, Raw
from pyptx._operands import Pair, Register
from pyptx._source import caller
from pyptx._trace.core import aliases
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.values import Reg, integer, move, move_spelling, own, renewed
from pyptx.errors import LanguageError
from pyptx.types import DType, b32, pred

Function: TypeAlias = Callable[[Reg, Reg], Reg]
Named: TypeAlias = Literal["sum", "max", "min"]

FULL: Final = Number(0xFFFFFFFF)
LAST_LANE: Final = Number(0x1F)
_SPELLINGS: Final = {
    "sum": {"int": "add.T", "float": "add.rn.T"},
    "max": {"int": "max.T", "float": "max.T"},
    "min": {"int": "min.T", "float": "min.T"},
}
_FLOATS: Final = ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2")


# ---- what combines two values --------------------------------------------------------------------


class Combination(ABC):
    """What a reduction or a scan does with two values."""

    @abstractmethod
    def apply(
        self, trace: Trace, held: Register, first: Register, second: Register, guard: Guard | None
    ) -> Register:
        """Combine two registers; the register that holds the result.

        With a guard that is `held`, which keeps its value where the guard does not hold.
        """

    @abstractmethod
    def identity(self, given: object) -> object:
        """What the first of an exclusive scan gets: a number or a register."""


@dataclass(frozen=True, slots=True)
class Builtin(Combination):
    """Sum, maximum or minimum: one instruction, which writes `held`."""

    name: Named
    dtype: DType
    spelling: str

    def apply(
        self, trace: Trace, held: Register, first: Register, second: Register, guard: Guard | None
    ) -> Register:
        trace.write(self.spelling, held, first, second, guard=guard)
        return held

    def identity(self, given: object) -> object:
        if given is not None:
            return given
        if self.name == "sum":
            return 0
        sign = -1 if self.name == "max" else 1
        if not self.dtype.is_integer:
            return sign * float("inf")
        signed = self.dtype.is_signed
        least = -(1 << self.dtype.bits - 1) if signed else 0
        return least if sign < 0 else least + (1 << self.dtype.bits) - 1


@dataclass(frozen=True, slots=True)
class Written(Combination):
    """A function of the user's: what it appends, and one `mov` where there is a guard."""

    what: str
    function: Function
    dtype: DType

    def apply(
        self, trace: Trace, held: Register, first: Register, second: Register, guard: Guard | None
    ) -> Register:
        begin = len(trace.body)
        result = self.function(Reg(trace, first), Reg(trace, second))
        register = self._checked(trace, result)
        for statement in trace.body[begin:]:
            if isinstance(statement, Instruction):
                self._check_writes(statement, (first, second))
        if guard is not None:
            trace.write(move_spelling(self.dtype), held, register, guard=guard)
            return held
        return register

    def identity(self, given: object) -> object:
        if given is None:
            raise LanguageError(
                f"{self.what} of a function needs the identity, which the first value gets",
                location=caller(),
                notes=(("help", "identity=1 for a product: what changes no value"),),
            )
        return given

    def _checked(self, trace: Trace, result: object) -> Register:
        if isinstance(result, Reg) and result.dtype is self.dtype:
            return own(trace, result)
        found = f"a .{result.dtype} register" if isinstance(result, Reg) else repr(result)
        raise LanguageError(
            f"the function of {self.what} gives {found}; "
            f"it takes two .{self.dtype} registers and gives one",
            location=caller(),
            notes=(("help", "lambda a, b: ptx.inst.max.s32(a, b)"),),
        )

    def _check_writes(self, instruction: Instruction, given: Sequence[Register]) -> None:
        if any(register in given for register in verify.reads_and_writes(instruction)[1]):
            raise LanguageError(
                f"the function of {self.what} writes a register that it is given",
                location=instruction.location,
                notes=(("help", "make a new one: `return a + b`, not `a += b`"),),
            )


def combination(what: str, value: Reg, given: object) -> Combination:
    """What `"sum"`, `"max"`, `"min"` or a function does. Raises LanguageError for anything else.

    `what` is the idiom, for messages; `value` the register whose type it is for.
    """
    dtype = value.dtype
    if given in _SPELLINGS and isinstance(given, str):
        kind = "int" if dtype.is_integer and dtype.bits in (32, 64) else "float"
        if kind == "float" and dtype.name not in _FLOATS:
            raise LanguageError(
                f"{what} has no instruction for .{dtype}",
                location=caller(),
                notes=(("legal", "u32 s32 u64 s64 f16 bf16 f32 f64 f16x2 bf16x2"),),
            )
        return Builtin(
            cast("Named", given), dtype, _SPELLINGS[given][kind].replace("T", dtype.name)
        )
    if not callable(given):
        raise LanguageError(
            f"{what} takes a function of two registers, not {given!r}",
            location=caller(),
            notes=(("legal", '"sum" "max" "min", lambda a, b: a * b'),),
        )
    shuffled(what, value)
    return Written(what, cast("Function", given), dtype)


def taken(what: str, value: object, does: str = "writes") -> Reg:
    """A register that an idiom takes. Raises LanguageError for anything else."""
    if isinstance(value, Reg):
        return value
    raise LanguageError(f"{what} takes a register that it {does}, not {value!r}", location=caller())


def given_back(what: str, value: Reg) -> Reg:
    """The register that an idiom has written and gives back. Warns where its old value is read."""
    told = aliases.warn_of_result(value, what, value.dtype)
    return renewed(value, what, told=told)


def shuffled(what: str, value: Reg) -> None:
    """Raises LanguageError where shuffles do not move registers of this type."""
    if value.dtype.bits not in (16, 32, 64):
        raise LanguageError(
            f"{what} cannot move .{value.dtype} from lane to lane",
            location=caller(),
            notes=(("legal", "registers of 16, 32 and 64 bits"),),
        )


def lane_operand(what: str, kind: str, lane: object, count: int) -> Raw:
    """A lane or a thread, which `kind` says, as an operand. Raises LanguageError for none."""
    if isinstance(lane, Reg):
        return own(current(what), lane)
    found = integer(lane)
    if found is None or not 0 <= found < count:
        raise LanguageError(
            f"{what} takes the number of a {kind}, not {lane!r}",
            location=caller(),
            notes=(("legal", f"0 to {count - 1}, or a 32-bit register"),),
        )
    return Number(found)


# ---- shuffles ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes that take part, and the `c` operand of a butterfly: the last lane of a segment."""

    mask: Raw = FULL
    clamp: Raw = LAST_LANE


WHOLE: Final = Lanes()


def shuffle(
    trace: Trace,
    mode: str,
    source: Register,
    lane: Raw,
    *,
    clamp: Raw = LAST_LANE,
    mask: Raw = FULL,
    inside: bool = False,
) -> tuple[Register, Guard | None]:
    """The value of another lane, in a new register; with `inside`, whether there is such a lane.

    32 bits: one `shfl`. 64: `mov`, two `shfl`, `mov`. 16: `mov`, `shfl`, `mov`.
    """
    bits = source.dtype.bits

    def move_lanes(to: Register, of: Register, held: Register | None) -> None:
        target = to if held is None else Pair(to, held)
        trace.write(f"shfl.sync.{mode}.b32", target, of, lane, clamp, mask)

    if bits == 32:
        other = trace.register(source.dtype)
        held = trace.register(pred) if inside else None
        move_lanes(other, source, held)
    elif bits == 64:
        halves = trace.register(b32), trace.register(b32)
        trace.write("mov.b64", halves, source)
        held = trace.register(pred) if inside else None
        move_lanes(halves[0], halves[0], held)
        move_lanes(halves[1], halves[1], None)
        other = trace.register(source.dtype)
        trace.write("mov.b64", other, halves)
    else:
        wide = trace.register(b32)
        trace.write("mov.b32", wide, (source, source))
        held = trace.register(pred) if inside else None
        move_lanes(wide, wide, held)
        other, rest = trace.register(source.dtype), trace.register(source.dtype)
        trace.write("mov.b32", (other, rest), wide)
    return other, None if held is None else Guard(held)


# ---- reductions and scans ------------------------------------------------------------------------


def fold(
    trace: Trace,
    how: Combination,
    value: Register,
    count: int,
    lanes: Lanes = WHOLE,
    *,
    some: bool = False,
) -> Register:
    """Combine the first `count` lanes of each segment of a power of two; the register of it.

    A power of two is a butterfly, and every lane has the result. `some` says that lanes beyond
    the clamp do not count: then lane 0 alone has it, and `value` is written.
    """
    for distance in (16, 8, 4, 2, 1):
        if distance < count:
            step = Number(distance)
            other, inside = shuffle(
                trace, "bfly", value, step, clamp=lanes.clamp, mask=lanes.mask, inside=some
            )
            value = how.apply(trace, value, value, other, inside)
    return value


def scan(
    trace: Trace,
    how: Combination,
    value: Register,
    count: int,
    *,
    mask: Raw = FULL,
    segment: int = 32,
) -> None:
    """Combine each lane with those before it, of `count`, into `value`; segments apart."""
    clamp = Number(32 - segment << 8)
    for distance in (1, 2, 4, 8, 16):
        if distance < count:
            step = Number(distance)
            other, inside = shuffle(trace, "up", value, step, clamp=clamp, mask=mask, inside=True)
            how.apply(trace, value, other, value, inside)


def shift(
    trace: Trace, value: Register, identity: object, *, mask: Raw = FULL, segment: int = 32
) -> Register:
    """The value of the lane before in a new register; `identity` in the first lane.

    One `mov`, a shuffle and one `mov`.
    """
    result = copied(trace, value.dtype, identity)
    clamp = Number(32 - segment << 8)
    other, inside = shuffle(trace, "up", value, Number(1), clamp=clamp, mask=mask, inside=True)
    trace.write(move_spelling(value.dtype), result, other, guard=inside)
    return result


def copied(trace: Trace, dtype: DType, value: object) -> Register:
    """A new register with the value of a register or a number. One `mov`."""
    result = Reg(trace, trace.register(dtype))
    move(result, Reg(trace, value) if isinstance(value, Register) else value)
    return result.register


def put(trace: Trace, target: Register, value: Register) -> None:
    """One `mov` into `target`, none where it is the register already."""
    if value is not target:
        trace.write(move_spelling(target.dtype), target, value)
