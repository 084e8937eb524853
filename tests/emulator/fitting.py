"""Which model a chip follows: where products differ, the parameters that explain most of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import tensor_sums
from .products import Form, expected, values
from .tensor_sums import Model

ROWS = 24
"""Rows of one tile whose products candidates are held to."""
SHOWN = 4


@dataclass(frozen=True)
class Fit:
    model: Model
    equal: int
    products: int

    def __str__(self) -> str:
        m = self.model
        where = ", C added apart" if m.apart else ""
        return (
            f"{self.equal} of {self.products} equal with {m.block} products at once, {m.fraction} "
            f"bits below the largest exponent, {m.digits} bits of an f32 sum{where}"
        )


def candidates(form: Form) -> Iterator[Model]:
    """The form's own model, then each with other blocks, bits below, and bits of a sum."""
    yield form.model
    for block in (4, 8, 16, 32):
        for fraction in range(11, 37):
            if block <= form.k:
                yield Model(block, fraction)
                if form.a in {"e4m3", "e5m2"}:
                    yield Model(block, fraction, digits=13)
                    yield Model(block, fraction, apart=True)


def sample(form: Form, operands: Any, found: Any) -> tuple[Any, Any]:
    """Operands [row, ...] and results of rows in which products differ from the form's model."""
    a, b, c = operands
    differ = np.argwhere((found != expected(form, operands)).any(2))
    chosen = differ[np.linspace(0, len(differ) - 1, min(ROWS, len(differ))).astype(int)]
    tile, row = chosen.T
    numbers = (
        values(form, w, x)
        for w, x in zip("abd", (a[tile, row], b[tile], c[tile, row]), strict=True)
    )
    return tuple(numbers), found[tile, row]


def fit(form: Form, operands: Any, found: Any) -> list[Fit]:
    """Candidates by how many of the sampled products they give, the best first."""
    (a, b, c), results = sample(form, operands, found)
    types, b = (form.a, form.b, form.d), b.swapaxes(1, 2)
    fits = [
        Fit(m, int((tensor_sums.add(m, types, a, b, c) == results).sum()), results.size)
        for m in dict.fromkeys(candidates(form))
    ]
    return sorted(fits, key=lambda f: -f.equal)


def report(form: Form, operands: Any, found: Any) -> str:
    """How many products differ from the emulator's model, some with all bits, and the fits."""
    wanted = expected(form, operands)
    differ = np.argwhere(found != wanted)
    lines = [f"{form}: {len(differ)} of {found.size} products differ"]
    if not len(differ):
        return lines[0]
    for tile, row, column in differ[:: max(1, len(differ) // SHOWN)][:SHOWN]:
        a, b = operands[0][tile, row], operands[1][tile, column]
        lines += [
            f"  A {' '.join(f'{int(x):x}' for x in a)}",
            f"  B {' '.join(f'{int(x):x}' for x in b)}",
            f"  C {int(operands[2][tile, row, column]):x}",
            f"  expected {int(wanted[tile, row, column]):x}, got {int(found[tile, row, column]):x}",
        ]
    own, *_ = fits = fit(form, operands, found)
    lines += [f"  {f}" for f in fits[:3]]
    if own.equal != own.products:
        lines.append("  no candidate explains all: another rounding, or special values")
    return "\n".join(lines)
