"""What "the same as the GPU" means for each case: equal bits, or within a documented bound.

Rows of a case are its threads. A row is left out where the manual gives the operands no meaning, or
where the manual and the H200 differ: the emulator follows the manual, and the table says in what.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from kernels import CASES, OPERANDS, SLOT, Case

Rows = np.ndarray
"""One bool for each thread."""


@dataclass(frozen=True)
class Operands:
    """The input buffer of a case, read as values of each thread's operands."""

    buffer: np.ndarray

    def u32(self, index: int) -> np.ndarray:
        return self._slot(index)[:, :4].copy().view(np.uint32)[:, 0]

    def f32(self, index: int) -> np.ndarray:
        return self.u32(index).view(np.float32)

    def _slot(self, index: int) -> np.ndarray:
        return self.buffer.reshape(OPERANDS, CASES, SLOT)[index]


@dataclass(frozen=True)
class LeftOut:
    """Rows of some spellings that are not compared, and why."""

    spelling: str
    rows: Callable[[Operands], Rows]
    reason: str


NO_MEANING: Final = (
    LeftOut(
        r"fns\.",
        lambda o: (o.u32(1) > 31) | (o.u32(2) == 0x80000000),
        "the base is a bit position of a 32-bit mask",
    ),
    LeftOut(
        r"div\.approx",
        lambda o: ~_between(o.f32(1), 2.0**-126, 2.0**126),
        "the bound is stated for 2^-126 <= |b| <= 2^126",
    ),
    LeftOut(
        r"div\.full\.f32",
        lambda o: ~_between(o.f32(1), 2.0**-126, 2.0**126),
        "subnormal and huge divisors are scaled, which may lose a subnormal quotient",
    ),
)

MANUAL_AND_H200_DIFFER: Final = (
    LeftOut(
        r"bfe\.[us]64",
        lambda o: (o.u32(1) > 255) | (o.u32(2) > 255),
        "the manual takes the low 8 bits of position and length; the H200 takes all 32",
    ),
    LeftOut(
        r"bfi\.b64",
        lambda o: (o.u32(2) > 255) | (o.u32(3) > 255),
        "the manual takes the low 8 bits of position and length; the H200 takes all 32",
    ),
    LeftOut(
        r"cvt\.r[pm]\.ftz(\.sat)?\.f16\.f32",
        lambda o: _subnormal(o.f32(0)),
        "the manual flushes subnormal f32 sources; the H200 rounds them up or down",
    ),
)


def _between(values: np.ndarray, low: float, high: float) -> Rows:
    size = np.abs(values.astype(np.float64))
    return (size >= low) & (size <= high)


def _subnormal(values: np.ndarray) -> Rows:
    size = np.abs(values.astype(np.float64))
    return (size > 0) & (size < 2.0**-126)


def compared(case: Case, operands: Operands) -> Rows:
    """The rows whose results must agree."""
    rows = np.ones(CASES, bool)
    with np.errstate(invalid="ignore"):  # signalling NaNs among the values
        for entry in (*NO_MEANING, *MANUAL_AND_H200_DIFFER):
            if re.match(entry.spelling, case.spelling):
                rows &= ~entry.rows(operands)
    return rows


# ---- approximate operations ----

# Spelling and the error that the manual allows, beside our own result's rounding.
BOUNDS: Final = (
    (r"div\.(approx|full)", "2 ulp"),
    (r"rcp\.approx(\.ftz)?\.f32", "1 ulp"),
    (r"(rcp|rsqrt)\.approx\.ftz\.f64", "relative -20"),
    (r"rsqrt\.approx\.f64", "relative -52"),
    (r"sqrt\.approx", "relative -23"),
    (r"rsqrt\.approx(\.ftz)?\.f32", "relative -22.9"),
    (r"(sin|cos)\.approx", "absolute -20.5"),
    (r"lg2\.approx", "lg2 -22"),
    (r"ex2\.approx(\.ftz)?\.f32", "2 ulp"),
    (r"ex2\.approx\.f16", "relative -9.9"),
    (r"ex2\.approx\.ftz\.bf16", "relative -7"),
    (r"tanh\.approx\.f32", "relative -11"),
    (r"tanh\.approx\.f16", "absolute -10.987"),
    (r"tanh\.approx\.bf16", "absolute -8"),
)


def bound_of(case: Case) -> str | None:
    """The bound of an approximate spelling, None for an exact one."""
    return next((text for pattern, text in BOUNDS if re.match(pattern, case.spelling)), None)


def worst(
    case: Case,
    bound: str,
    got: bytes,
    want: bytes,
    rows: Rows,
    operands: Operands,
) -> float:
    """The largest error over what is allowed; infinite where only one result is a number.

    An infinity against a finite value counts as the first value beyond the greatest finite one,
    and with .ftz the least normal value and zero as the same: an allowed error decides which.
    """
    name = case.spelling.rsplit(".", 1)[1]
    with np.errstate(invalid="ignore", over="ignore"):
        mine, theirs = (_values(data, name, case.result_bytes)[rows] for data in (got, want))
        same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
        mine, theirs = _bounded(mine, name), _bounded(theirs, name)
        if ".ftz" in case.spelling:
            same |= np.abs(mine) + np.abs(theirs) == 2.0 ** _LEAST[name]
        error = np.abs(mine - theirs) / _allowed(bound, name, mine, operands, rows)
    error = np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))
    return float(error.max(initial=0.0))


_MANTISSA: Final = {"f16": 10, "f16x2": 10, "bf16": 7, "bf16x2": 7, "f32": 23, "f64": 52}
_LEAST: Final = {"f16": -14, "f16x2": -14, "bf16": -126, "bf16x2": -126, "f32": -126, "f64": -1022}


def _bounded(values: np.ndarray, name: str) -> np.ndarray:
    beyond = 2.0 ** (2 - _LEAST[name]) if name != "f64" else np.inf  # the greatest exponent and one
    return np.where(np.isinf(values), np.copysign(beyond, values), values)


def _values(data: bytes, name: str, size: int) -> np.ndarray:
    rows = np.frombuffer(data[: size * CASES], np.uint8).reshape(CASES, size)
    if name.startswith("bf16"):
        halves = rows.copy().view(np.uint16).astype(np.uint32) << 16
        return halves.view(np.float32).astype(np.float64)
    kinds = {"f16": np.float16, "f16x2": np.float16, "f32": np.float32, "f64": np.float64}
    return rows.copy().view(kinds[name]).astype(np.float64)


def _ulp(values: np.ndarray, name: str) -> np.ndarray:
    exponent = np.maximum(np.frexp(np.abs(values))[1] - 1, _LEAST[name])
    return np.ldexp(1.0, exponent - _MANTISSA[name])


def _allowed(
    bound: str, name: str, exact: np.ndarray, operands: Operands, rows: Rows
) -> np.ndarray:
    """The documented error, plus half a unit for the rounding of the emulator's own result."""
    ulp = _ulp(exact, name)
    kind, number = bound.split() if "ulp" not in bound else ("ulp", bound.split(maxsplit=1)[0])
    amount = float(number)
    if kind == "ulp":
        return amount * ulp + ulp / 2
    if kind == "absolute":
        return 2.0**amount + ulp / 2
    # A part of a subnormal result may be less than its unit in the last place, which is lost.
    subnormal = np.abs(exact) < 2.0 ** _LEAST[name]
    relative = np.maximum(2.0**amount * np.abs(exact), np.where(subnormal, ulp, 0)) + ulp / 2
    if kind == "lg2":
        a = operands.f32(0).astype(np.float64)[rows][:, None]
        return np.where((a > 0.5) & (a < 2), 2.0**amount + ulp / 2, relative)
    return relative
