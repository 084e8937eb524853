"""Numbers for `Scalar` parameters: what a type holds, and what would be lost in it."""

from __future__ import annotations

import math
from typing import Any, cast

import ml_dtypes  # NumPy learns bfloat16 and the 8-bit floats from it
import numpy as np

from pyptx.errors import CallError
from pyptx.types import BY_NUMPY


def check(value: object, dtype: str, name: str) -> None:
    """Raises CallError where the number `value` is none of NumPy's type `dtype`.

    An integer type holds whole numbers in its range. A float type rounds, and holds no finite
    number that would become infinite. `value` is a Python or NumPy number or a NumPy array of rank
    0; an array of another rank is refused elsewhere.
    """
    if isinstance(value, np.ndarray) and value.ndim:
        return
    number = _item(value)
    if not isinstance(number, (bool, int, float, np.floating)):
        raise _wrong(f"{number!r}, which is no real number", dtype, name)
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        _check_integer(number, kind, name)
    elif kind.kind == "b":
        if number not in (0, 1):
            raise _wrong(f"{number!r}, and a bool is 0 or 1", dtype, name)
    else:
        _check_float(number, kind, name)


def _item(value: Any) -> Any:
    """The Python number in one of NumPy's, or in an array of rank 0."""
    return value.item() if hasattr(value, "item") else value


def check_kind(given: Any, dtype: str, name: str) -> None:
    """Raises CallError where an array of type `given` cannot be a scalar of type `dtype`.

    For arrays on a device, whose values are not read: a float or complex array is no integer.
    """
    source, kind = np.dtype(given), np.dtype(dtype)
    complex_ = source.kind == "c"
    if complex_ or (kind.kind in "iub" and source.kind not in "iub"):
        convert = "take its real part" if complex_ else f"convert it: {name}.astype({dtype!r})"
        raise CallError(
            f"{name} is an array of type {source.name} and Scalar({BY_NUMPY[dtype]}) takes {dtype}",
            notes=(("legal", _legal(dtype)), ("help", convert)),
        )


def _check_integer(number: Any, kind: np.dtype[Any], name: str) -> None:
    if not math.isfinite(number) or number != int(number):
        raise _wrong(f"{_shown(number)}, which is not a whole number", kind.name, name)
    limits = np.iinfo(kind)
    if not limits.min <= int(number) <= limits.max:
        raise _wrong(f"{_shown(number)}, which is out of its range", kind.name, name)


def _check_float(number: Any, kind: np.dtype[Any], name: str) -> None:
    try:
        wide = np.longdouble(number)
    except OverflowError:  # an int beyond every float
        wide = np.longdouble(math.inf)
    exact = isinstance(number, int) and np.isinf(wide)
    with np.errstate(all="ignore"):
        held = float(wide.astype(np.float64).astype(kind))
    if (exact or np.isfinite(wide)) and not math.isfinite(held):
        raise _wrong(f"{_shown(number)}, which is out of its range", kind.name, name)
    if np.isinf(wide) and math.isnan(held):
        raise _wrong(
            f"{_shown(number)}, and {BY_NUMPY[kind.name]} has no infinity", kind.name, name
        )


def _shown(number: Any) -> str:
    """A number for a message; the digits of a huge integer tell nobody anything."""
    if isinstance(number, int) and abs(number) >= 10**40:
        return f"an integer of {number.bit_length()} bits"
    return repr(number)


def _wrong(what: str, dtype: str, name: str) -> CallError:
    return CallError(
        f"{name} is a Scalar({BY_NUMPY[dtype]}) and is given {what}",
        notes=(("legal", _legal(dtype)),),
    )


def _legal(dtype: str) -> str:
    """What a scalar of this type can be given."""
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return f"whole numbers from {limits.min} to {limits.max}"
    if kind.kind == "b":
        return "0 1 False True"
    largest = float(cast("Any", ml_dtypes.finfo(kind)).max)
    special = "nan" if dtype == "float8_e4m3fn" else "inf and nan"
    return f"numbers from {-largest:.8g} to {largest:.8g}, {special}; they are rounded"
