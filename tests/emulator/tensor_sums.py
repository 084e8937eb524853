"""How tensor cores add, in exact integers: what tests hold the emulator and a GPU to.

Nothing here is shared with the emulator: the models are written anew from the papers
(arXiv:2511.10909, arXiv:2512.07004), every cut number is an integer, and sums are sums of integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

FRACTION = 10  # of every multiplicand at most
LEAST = {
    "f16": -14,
    "bf16": -126,
    "tf32": -126,
    "e4m3": -6,
    "e5m2": -14,
    "e3m2": -2,
    "e2m3": 0,
    "e2m1": 0,
}
NAN = {"f16": 0x7FFF, "f32": 0x7FFFFFFF}


@dataclass(frozen=True)
class Model:
    """`block` products are cut to `fraction` bits below the largest exponent and added at once."""

    block: int
    fraction: int
    digits: int = 23  # of a sum in f32
    apart: bool = False  # from zero on, in two parts by k % 4; C is added to nearest
    group: int = 0


def model(unit: str, sm: int, a: str, *, scaled_four: bool = False) -> Model:
    """What the papers say of one instruction ("mma", "wgmma", "tcgen05"), target and type of A."""
    if scaled_four:
        return Model(64, 35, group=16)
    if a in {"f16", "bf16", "tf32"}:
        block, fraction = (16, 25) if sm >= 90 else (8, 24)
        return Model(block // 2 if a == "tf32" else block, fraction)
    if unit == "tcgen05" or (unit == "mma" and sm >= 120):
        return Model(32, 25)
    if unit == "mma" and sm >= 90:
        return Model(16, 25, apart=True)
    return Model(32 if unit == "wgmma" else 16, 13, digits=13)


def parts(values: Any, least: Any) -> tuple[Any, Any]:
    """(significand below 2, exponent), the latter not below that of the type's normal numbers."""
    exponent = np.maximum(np.where(values == 0, -(10**6), np.frexp(values)[1] - 1), least)
    return np.ldexp(values, -exponent), exponent


def cut(numbers: Any, power: Any) -> Any:
    """Integers * 2 ** power, cut toward zero."""
    size = np.abs(numbers)
    left, right = np.clip(power, 0, 62), np.clip(-power, 0, 63)
    return np.sign(numbers) * np.where(power >= 0, size << left, size >> right)


def to_half(total: Any, power: Any) -> Any:
    """Integers * 2 ** power as the nearest f16, by f64, which has them exactly; zeros are +0."""
    return np.ldexp(total.astype(float), power).astype(np.float16).astype(float) + 0.0


def to_float(total: Any, power: Any, digits: int) -> Any:
    """Cut to f32 with `digits` bits of fraction; numbers below the normal ones have fewer."""
    size = np.abs(total)
    width = np.frexp(size.astype(float))[1]
    extra = np.maximum(width - 1 - digits, (-126 - digits) - power)
    kept = np.where(extra > 0, size >> np.clip(extra, 0, 62) << np.clip(extra, 0, 62), size)
    value = np.ldexp(kept.astype(float), power)
    return np.copysign(np.where(value >= 2.0**128, np.inf, value), total)


def add_block(how: Model, d: str, products: list[tuple[Any, Any]], shift: int, c: Any) -> Any:
    """Products are (integer, exponent), the integer having `shift` bits of fraction."""
    least = np.where((c == 0) | (d != "f16"), -126, -14)
    significand, top = parts(c, least)
    terms = [((significand * 2.0**23).astype(np.int64), top, 23)]
    for number, exponent in products:
        terms.append((number, exponent, shift))
        top = np.maximum(top, np.where(number == 0, -(10**6), exponent))
    total = np.zeros(c.shape, np.int64)
    for number, exponent, fraction in terms:
        total += cut(number, np.clip(exponent - top + how.fraction - fraction, -63, 62))
    power = top - how.fraction
    return to_half(total, power) if d == "f16" else to_float(total, power, how.digits)


def special(a: Any, b: Any, c: Any) -> Any:
    """Where infinities and NaNs decide: what f64 makes of them, elsewhere 0."""
    sums = c + sum(a[:, k, None] * b[:, k] for k in range(a.shape[1]))
    return np.where(np.isfinite(sums), 0, sums)


def one_block(how: Model, types: tuple[str, str, str], a: Any, b: Any, c: Any, factors: Any) -> Any:
    """a[m, k], b[m, k, n], c[m, n] are float64; factors are like a and b, with their type."""
    odd = special(a, b, c)
    # Numbers that are multiplied as f16 have the exponents that they have in it.
    least = [LEAST["f16" if how.apart else dtype] for dtype in types[:2]]
    x, e = parts(np.where(np.isfinite(a), a, 0), least[0])
    y, f = parts(np.where(np.isfinite(b), b, 0), least[1])
    x, y = (np.rint(v * 2**FRACTION).astype(np.int64) for v in (x, y))
    power, extra = 0, 0
    if factors is not None:
        least = -6 if factors[2] == "ue4m3" else -127
        (p, g), (q, h) = parts(factors[0], least), parts(factors[1], least)
        e, f, extra = e + g, f + h, 6
        x, y = x * (p * 8).astype(np.int64)[:, :], y * (q * 8).astype(np.int64)
        odd = np.where(
            np.isnan(factors[0]).any(1)[:, None] | np.isnan(factors[1]).any(1), np.nan, odd
        )
    products = []
    if how.group:
        for k in range(0, a.shape[1], how.group):
            block = slice(k, k + how.group)
            exact = np.einsum("mk,mkn->mn", a[:, block] * 4, b[:, block]).astype(np.int64)
            both = (p[:, k, None] * 8 * q[:, k] * 8).astype(np.int64)
            products.append((exact * both, g[:, k, None] + h[:, k]))
        power = 2 + extra
    else:
        products = [(x[:, k, None] * y[:, k], e[:, k, None] + f[:, k]) for k in range(a.shape[1])]
        power = 2 * FRACTION + extra
    sums = add_block(how, types[2], products, power, np.where(np.isfinite(c), c, 0))
    return np.where(odd != 0, odd, sums)


@np.errstate(all="ignore")
def add(
    how: Model, types: tuple[str, str, str], a: Any, b: Any, c: Any, factors: Any = None
) -> Any:
    """D as bit patterns. a[m, k]; b[m, k, n] or [k, n]; c[m, n] are float64."""
    b = np.broadcast_to(b, (a.shape[0], *b.shape)) if b.ndim == 2 else b
    steps = np.arange(a.shape[1])
    blocks = [steps[k : k + how.block] for k in range(0, len(steps), how.block)]
    if how.apart:
        blocks = [steps[steps % 4 < 2], steps[steps % 4 >= 2]]
    sums = np.zeros_like(c) if how.apart else c
    for block in blocks:
        some = None
        if factors is not None:
            some = factors[0][:, block], factors[1][:, block], factors[2]
        sums = one_block(how, types, a[:, block], b[:, block], sums, some)
    kind = np.float16 if types[2] == "f16" else np.float32
    narrow = (sums + c if how.apart else sums).astype(kind)
    bits = narrow.view(f"u{narrow.itemsize}").astype(np.uint32)
    return np.where(np.isnan(narrow), NAN[types[2]], bits)
