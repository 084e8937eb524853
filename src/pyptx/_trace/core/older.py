"""What was made before a register was written, and is read after it: the warnings.

`x += v` writes the register of x, and Python binds x, and nothing else, anew. What holds the number
of before, such as an attribute, a list or a default argument, has the same register. The negation
`~p`, the address `ptx.addr(x)` and `ptx.special.clock64()` are operands, read by the instruction
that takes them. Each of these reads another value than Python's reader expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple, Protocol

from pyptx import _bytecode as bytecode
from pyptx._ir import Instruction, Statement
from pyptx._operands import Address, Register, SpecialRegister
from pyptx._source import SourceLocation, caller, users_frames
from pyptx._trace.core.warned import warn_at
from pyptx._verify import reads_and_writes
from pyptx.types import DType

COUNTS: Final = ("clock", "globaltimer", "pm")
"""How the names of special registers begin that have another value at each read."""
_COPY: Final = "reg.from_({}, {}) is a copy, another register"


class UsersAddress(Address):
    """The address that `ptx.addr` gives, and how many statements there were before it."""

    __slots__ = ("made",)
    made: int

    def __init__(self, address: Address, made: int) -> None:
        super().__init__(address.base, address.offset, address.unified)
        object.__setattr__(self, "made", made)


class Left(NamedTuple):
    """The line that wrote a register and gave it to another object, and the words for that."""

    where: SourceLocation
    what: str
    at: int
    """How many statements there were before that."""


class Readable(Protocol):
    """A register, which knows this module."""

    dtype: DType
    left: Left | None


def rebinds() -> bool:
    """Whether the user's line binds its result, and by that leaves what else holds the register.

    Not where it writes the variable of a `for` of Python, or a parameter whose new value is not
    returned to be bound: that is how a loop writes the registers of a list, and a function those of
    its caller.
    """
    frames = users_frames()
    frame = next(frames, None)
    if frame is None:
        return False
    code, here = frame.f_code, frame.f_lasti
    name = bytecode.assigned(code, here)
    given = name is not None and bytecode.is_parameter(code, name)
    if given or bytecode.is_returned(code, here):
        passed = name is None or bytecode.returned(code, name)
        outer = next(frames, None) if passed else None
        return outer is not None and not bytecode.discarded(outer.f_code, outer.f_lasti)
    if name is None:
        return not bytecode.discarded(code, here)
    return not bytecode.is_loop_variable(code, name)


def warn_of_left(body: Sequence[Statement], left: Left, register: Register) -> None:
    """Warn that a register is read by what an in-place operator has left.

    Not where that line has set it: who held it before had no value.
    """
    if _written_between(body, 0, left.at, register) is not None:
        warn_at(
            left.where,
            f"{left.what} writes a register that something else holds too, by which it is read "
            "later",
            ("read", caller().quoted),
            ("help", _COPY.format("r", register.dtype)),
        )


def warn_of_rounds(
    loop: SourceLocation, construct: str, older: Sequence[tuple[str, SourceLocation, Readable]]
) -> None:
    """Warn that a loop writes registers which it also reads by these, one round later."""
    for spelled, read, register in older:
        if register.left is not None:  # else it was said where the operator stands
            register.left = None
            warn_at(
                loop,
                f"{spelled} is a register that an operator of this {construct} writes under "
                "another name, so each round reads what the one before has written",
                ("read", read.quoted),
                ("help", _COPY.format(spelled, register.dtype)),
            )


def warn_of_negation(body: Sequence[Statement], made: int, register: Register) -> None:
    """Warn that a predicate was written between `~p` and the instruction that takes it."""
    _warn_if_written(
        body, made, register,
        "this writes the predicate p of a `~p` from before, which negates what p has where it is "
        "read",
        how="read", cure="reg.from_(~p, pred) is the negation in a register of its own",
    )  # fmt: skip


def plain(body: Sequence[Statement], address: UsersAddress) -> Address:
    """An address as an operand. Warns where its base was written since `ptx.addr` made it."""
    base = address.base
    if isinstance(base, Register):
        _warn_if_written(
            body, address.made, base,
            "this writes the register x of a ptx.addr(x) from before, which is read later and has "
            "what x has then",
            how="read", cure=f"ptx.addr(reg.from_(x, {base.dtype})) has a register of its own",
        )  # fmt: skip
    return Address(base, address.offset, address.unified)


def warn_of_place(body: Sequence[Statement], made: int, base: Register) -> None:
    """Warn that the register which an mbarrier is at was written since `ptx.mbarrier.at`."""
    _warn_if_written(
        body, made, base,
        "this writes the register x of a ptx.mbarrier.at(x) from before, which is from here on an "
        "mbarrier at another address",
        how="used", cure=f"ptx.mbarrier.at(reg.from_(x, {base.dtype})) has a register of its own",
    )  # fmt: skip


def special(
    body: Sequence[Statement], register: SpecialRegister, made: tuple[int, SourceLocation] | None
) -> SpecialRegister:
    """A special register as an operand; of a clock, `made` is before which statement and where.

    Warns where another instruction reads a clock than the line of the clock suggests.
    """
    if made is not None and made[0] < len(body) and (here := caller()) != made[1]:
        name = register.name
        warn_at(
            made[1],
            f"%{name} is read where an instruction takes it, later than this line",
            ("read", here.quoted),
            ("help", f"t = reg.from_(ptx.special.{name}(), {register.dtype}) reads it here"),
        )
    return register


def _warn_if_written(
    body: Sequence[Statement], made: int, register: Register, problem: str, *, how: str, cure: str
) -> None:
    """Warn where a register was written since `made`; `how` the user's line takes it now."""
    written = _written_between(body, made, None, register)
    if written is not None:
        warn_at(written, problem, (how, caller().quoted), ("help", cure))


def _written_between(
    body: Sequence[Statement], first: int, end: int | None, register: Register
) -> SourceLocation | None:
    """The line that wrote a register last, of these statements."""
    found: SourceLocation | None = None
    for statement in islice(body, first, end):
        if isinstance(statement, Instruction) and register in reads_and_writes(statement)[1]:
            found = statement.location
    return found
