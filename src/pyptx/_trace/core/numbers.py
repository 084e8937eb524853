"""Numbers of Python as operands of a type."""

from __future__ import annotations

from numbers import Complex, Real

from pyptx._isa.constants import BadConstantError, constant
from pyptx._source import caller
from pyptx.errors import LanguageError
from pyptx.types import DType


def is_number(value: object) -> bool:
    """Whether Python or NumPy calls it a real number; isinstance with a protocol is far slower."""
    kind = type(value)
    if kind in (int, float) or hasattr(kind, "__index__"):
        return True
    return hasattr(kind, "__float__") and not (
        issubclass(kind, Complex) and not issubclass(kind, Real)
    )


def number(value: object, dtype: DType, notes: tuple[tuple[str, str], ...] = ()) -> int:
    """The bit pattern of a Python number; LanguageError, with `notes`, where it does not fit."""
    try:
        return constant(value, dtype).bits
    except BadConstantError as error:
        raise LanguageError(str(error), location=caller(), notes=notes) from None
