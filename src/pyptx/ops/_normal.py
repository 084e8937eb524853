"""The normal distribution in f64: the area under its density, by a series of Chebyshev polynomials.

With z = |x| / sqrt(2), the tail is erfc(z) / 2 = exp(-z^2) erfcx(z) / 2. The scaled function is
smooth in t = 2 / (2 + z), from which a series is made when this module is first needed.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

from pyptx import Reg, ptx
from pyptx.ops.rowwise.arithmetic import Math

_TERMS: Final = 26


def distribution(m: Math, x: Reg) -> Reg:
    """The area left of x under the normal density, f64: within 8e-15 + 2e-16 x^2 of the tail."""
    z = m.mul(m.abs(x), math.sqrt(0.5))
    t = m.divide(2.0, m.add(z, 2.0))
    y = m.fma(t, 2.0, -1.0)
    # Clenshaw's recurrence.
    twice = m.add(y, y)
    after, found = m.zero(), m.zero()
    for coefficient in reversed(coefficients()[1:]):
        after, found = found, m.add(m.fma(twice, found, m.neg(after)), coefficient)
    scaled = m.add(m.fma(y, found, m.neg(after)), coefficients()[0])
    power = m.exp(m.mul(m.mul(x, x), -0.5))
    tail = m.mul(m.mul(m.mul(scaled, t), power), 0.5)
    return m.selp(m.sub(1.0, tail), tail, ptx.inst.setp.gt.f64(x, 0.0))


@cache
def coefficients() -> tuple[float, ...]:
    """Of erfcx(z) / t as a series in 2 t - 1."""
    nodes = [math.pi * (i + 0.5) / (2 * _TERMS) for i in range(2 * _TERMS)]
    values = [_scaled(4 / (math.cos(node) + 1) - 2) * (2 / (math.cos(node) + 1)) for node in nodes]
    sums = [
        math.fsum(value * math.cos(n * node) for node, value in zip(nodes, values, strict=True))
        for n in range(_TERMS)
    ]
    return (sums[0] / (2 * _TERMS), *(total / _TERMS for total in sums[1:]))


def _scaled(z: float) -> float:
    """exp(z^2) erfc(z)."""
    if z < 2:
        return math.exp(z * z) * math.erfc(z)
    found = z
    for n in range(400, 0, -1):  # the continued fraction of Laplace
        found = z + n / 2 / found
    return 1 / (found * math.sqrt(math.pi))
