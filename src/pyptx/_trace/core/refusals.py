"""What Python asks of a value of a kernel that it has only when it runs: the errors, and cures.

Python's own functions ask for a truth value or a number from C, so the user's instruction that is
running tells which of them it is.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from typing import Final, cast

from pyptx._bytecode import code_of
from pyptx._isa.scalar import conversion
from pyptx._source import caller, users_frames
from pyptx.errors import LanguageError
from pyptx.types import DType, f32, pred, s32

FUNCTIONS: Final = (
    "help",
    "ptx.math.exp(r), ptx.math.sqrt(r) and the like are made of instructions",
)
"""How functions of registers are written."""

EXTREMES: Final = "r.max(v) and r.min(v) are the larger and the smaller of a register and a value"

_COMPARING: Final = {
    "max": EXTREMES,
    "min": EXTREMES,
    "sorted": "a.min(b) and a.max(b) put two registers in order; compare and exchange sorts more",
    "any": "p | q holds where one of two predicates does",
    "all": "p & q holds where both of two predicates do",
    "where": "ptx.where(p, a, b) is a where p holds and b elsewhere",
    "clip": "r.max(low).min(high) is between two bounds",
}
"""Functions of Python that compare, and what registers have instead."""

_LOOKUP: Final = (
    (
        "help",
        'TABLE = ptx.const(f32, name="table", init=[...]) before the kernel, TABLE[i] in it',
    ),
    ("help", "registers by an index: keep them in shared memory (smem.alloc)"),
)
_BLOCKS: Final = (
    ("help", "with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ..."),
    ("instead of and, or, not", "predicates combine with &, | and ~: (r > 0) & (r < n)"),
)


def one_value(dtype: DType, value: object) -> object:
    """The value. Raises LanguageError for a list of one; of two, `mov` packs the numbers."""
    _refuse_one_listed(dtype, value)
    return value


def _refuse_one_listed(dtype: DType, value: object) -> None:
    kind = type(value).__name__
    listed = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    if len(listed) == 1:
        raise LanguageError(
            f"a register holds one value, not {listed!r} of type {kind}",
            location=caller(),
            notes=(("help", f"{listed[0]!r} without the brackets, or reg.array({dtype}, n)"),),
        )


def no_truth(noun: str) -> LanguageError:
    """The error for a value as a condition of Python."""
    where = caller()
    function = _called()
    if function in _COMPARING:
        return LanguageError(
            f"{noun} has no value while the kernel is traced, so Python's {function}() cannot "
            "compare it",
            location=where,
            notes=(("help", _COMPARING[function]),),
        )
    return LanguageError(
        f"{noun} has no value while the kernel is traced, so Python cannot branch on it",
        location=where,
        notes=_BLOCKS,
    )


def no_index(noun: str, dtype: DType) -> LanguageError:
    """The error for a value where Python needs an integer: as an index, or as a bound of range."""
    if not _indexes():
        return _no_number(noun, _FORMATTED.get(_called()) or _whole_or_rounds(dtype))
    return choice_by_register(noun, dtype)


def choice_by_register(noun: str, dtype: DType) -> LanguageError:
    """The error for a value as the index of a list or an array of Python."""
    return LanguageError(
        f"{noun} has no value while the kernel is traced, so Python's lists and arrays have no "
        "element for it",
        location=caller(),
        notes=_choice(dtype),
    )


def no_int(noun: str, dtype: DType) -> LanguageError:
    """The error for `int(r)`, and for `"%d" % r`."""
    return _no_number(noun, _whole(dtype) if _called() else PRINTED)


def no_float(noun: str, dtype: DType) -> LanguageError:
    """The error for `float(r)`, and for functions of Python's math."""
    where = caller()
    if rounded := _ROUNDING.search(where.text):
        spelled = f"ptx.inst.cvt.{_MODES[rounded[1]]}.{dtype}.{dtype}(r)"
        return _no_number(noun, ("help", f"{spelled} is math.{rounded[1]} of a register"))
    if "math." in where.text:
        return LanguageError(
            f"{noun} has no value while the kernel is traced, so Python's math cannot take it",
            location=where,
            notes=(FUNCTIONS,),
        )
    if dtype is f32:
        return _no_number(noun, ("help", "the register is .f32: leave float() out"))
    return _no_number(noun, ("help", conversion(f32, dtype)))


_MODES: Final = {"floor": "rmi", "ceil": "rpi", "trunc": "rzi"}
_ROUNDING: Final = re.compile(r"\bmath\.(floor|ceil|trunc)\(")
_ROUNDS: Final = ("help", "for i in ptx.range_(stop): ...   loops over a bound in a register")


PRINTED: Final = ("help", 'ptx.printf("%d\\n", r)   prints when the kernel runs')
_FORMATTED: Final[dict[str, tuple[str, str]]] = dict.fromkeys(("hex", "oct", "bin", "chr"), PRINTED)


def _whole_or_rounds(dtype: DType) -> tuple[str, str]:
    return _whole(dtype) if _called() == "int" else _ROUNDS


def _whole(dtype: DType) -> tuple[str, str]:
    if dtype.is_integer:
        return ("help", f"the register is an integer, .{dtype}: leave int() out")
    return ("help", conversion(s32, dtype))


def _no_number(noun: str, help_: tuple[str, str]) -> LanguageError:
    return LanguageError(
        f"{noun} has no value while the kernel is traced, so it is not a Python number",
        location=caller(),
        notes=(help_,),
    )


def _choice(dtype: DType) -> tuple[tuple[str, str], ...]:
    """How a value chooses one of several."""
    if dtype is pred:
        return (("help", "ptx.where(p, a, b) is a where p holds and b elsewhere"),)
    return (*_LOOKUP, ("help", "one of two: ptx.where(i == 0, a, b)"))


# ---- what the user's line does -------------------------------------------------------------------

_SUBSCRIPT: Final = re.compile("SUBSCR|SLICE")
_NAME: Final = re.compile(r"(?:\w+\.)*(\w+)\s*\(")


def _indexes() -> bool:
    """Whether the user's instruction that runs is a subscript."""
    for frame in users_frames():
        found = code_of(frame.f_code)
        instruction = found.instructions[found.at(frame.f_lasti)]
        return bool(_SUBSCRIPT.search(instruction.opname)) or instruction.argrepr == "[]"
    return False


def _called() -> str:
    """The name of the function of Python that the user's instruction calls, "" for no call."""
    for frame in users_frames():
        found = code_of(frame.f_code)
        instruction = found.instructions[found.at(frame.f_lasti)]
        at = instruction.positions
        if not instruction.opname.startswith("CALL") or at is None or at.lineno is None:
            return ""
        line = linecache.getline(frame.f_code.co_filename, at.lineno).encode()
        written = _NAME.match(line[at.col_offset or 0 :].decode(errors="replace"))
        return written[1] if written else ""
    return ""
