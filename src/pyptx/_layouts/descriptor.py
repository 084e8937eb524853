"""The bits of descriptors that tensor cores take: of matrices in shared memory, of instructions.

Fields are tables of (first bit, bits), as in the manual's. Source: PTX ISA, "Matrix Descriptor
Format" of wgmma, "Shared memory descriptor" and "Instruction descriptor" of tcgen05.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

from pyptx._layouts.matrix import LayoutError
from pyptx._layouts.swizzle import Swizzle

_Key = TypeVar("_Key")

ADDRESS_BITS: Final = 18
"""Addresses and offsets in matrix descriptors are of 18 bits, without the lowest four."""

# ---- matrices ------------------------------------------------------------------------------------

_MATRIX: Final = {
    "start_address": (0, 14),
    "leading_byte_offset": (16, 14),
    "stride_byte_offset": (32, 14),
    "base_offset": (49, 3),
}
_WGMMA: Final = {**_MATRIX, "swizzle": (62, 2)}
_TCGEN05: Final = {**_MATRIX, "version": (46, 3), "lbo_mode": (52, 1), "swizzle": (61, 3)}

WGMMA_SWIZZLE: Final = {Swizzle.NONE: 0, Swizzle.B128: 1, Swizzle.B64: 2, Swizzle.B32: 3}
TCGEN05_SWIZZLE: Final = {Swizzle.NONE: 0, Swizzle.B128: 2, Swizzle.B64: 4, Swizzle.B32: 6}
TCGEN05_VERSION: Final = 1


def encoded(name: str, value: int) -> int:
    """An address or an offset in bytes as a field has it. Raises LayoutError."""
    if value % 16 or not 0 <= value < 1 << ADDRESS_BITS:
        raise LayoutError(
            f"{name}={value} does not fit a matrix descriptor",
            f"multiples of 16 below {1 << ADDRESS_BITS}",
        )
    return value >> 4


def wgmma_matrix(
    *, leading: int, stride: int, swizzle: Swizzle, base_offset: int = 0, start: int = 0
) -> int:
    """The 64-bit matrix descriptor of wgmma. Offsets and the start address are in bytes."""
    return _packed(
        _WGMMA,
        {
            "start_address": encoded("start", start),
            "leading_byte_offset": encoded("leading_byte_offset", leading),
            "stride_byte_offset": encoded("stride_byte_offset", stride),
            "base_offset": base_offset,
            "swizzle": WGMMA_SWIZZLE[swizzle],
        },
    )


def tcgen05_matrix(
    *,
    leading: int,
    stride: int,
    swizzle: Swizzle,
    base_offset: int = 0,
    start: int = 0,
    lbo_mode: int = 0,
) -> int:
    """The 64-bit shared memory descriptor of tcgen05. Offsets and the start address are in bytes.

    `lbo_mode` 1 makes the leading dimension's offset an address (sm_103a, for K of 48 bytes).
    """
    return _packed(
        _TCGEN05,
        {
            "start_address": encoded("start", start),
            "leading_byte_offset": encoded("leading_byte_offset", leading),
            "stride_byte_offset": encoded("stride_byte_offset", stride),
            "version": TCGEN05_VERSION,
            "base_offset": base_offset,
            "lbo_mode": lbo_mode,
            "swizzle": TCGEN05_SWIZZLE[swizzle],
        },
    )


# ---- instructions --------------------------------------------------------------------------------

_PLAIN: Final = {
    "sparsity_selector": (0, 2),
    "sparse": (2, 1),
    "saturate": (3, 1),
    "d": (4, 2),
    "a": (7, 3),
    "b": (10, 3),
    "negate_a": (13, 1),
    "negate_b": (14, 1),
    "transpose_a": (15, 1),
    "transpose_b": (16, 1),
    "n": (17, 6),
    "m": (24, 5),
    "max_shift": (30, 2),
}
_SCALED: Final = {
    "sparse": (2, 1),
    "scale_b_id": (4, 2),
    "a": (7, 3),
    "b": (10, 3),
    "negate_a": (13, 1),
    "negate_b": (14, 1),
    "transpose_a": (15, 1),
    "transpose_b": (16, 1),
    "n": (17, 6),
    "scale": (23, 1),
    "m": (27, 2),
    "scale_a_id": (29, 2),
}
_SCALED4: Final = {**_SCALED, "b": (10, 2), "k96": (31, 1)}

_NARROW: Final = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
_NEEDS: Final = {"sparsity_selector": "without sparse=True", "max_shift": "without ws=True"}
_SHIFTS: Final = {0: 0, 8: 1, 16: 2, 32: 3}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a `.kind` of tcgen05.mma takes, and how its descriptor is laid out.

    `k` is K of a dense product; a sparse one has twice as much. `m_bits` are the low bits of M that
    the descriptor leaves out.
    """

    name: str
    fields: Mapping[str, tuple[int, int]]
    d: Mapping[str, int]
    ab: Mapping[str, int]
    k: int
    m_bits: int = 4
    scales: Mapping[str, int] | None = None
    ids: tuple[int, ...] = ()
    transposes: bool = True
    negates: bool = True
    saturates: bool = False
    together: bool = False  # both multiplicands have one type


_FLOATS: Final = {"f16": 0, "f32": 1}
_IDS: Final = (0, 1, 2, 3)
KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("f16", _PLAIN, _FLOATS, {"f16": 0, "bf16": 1}, 16, together=True),
        Kind("tf32", _PLAIN, {"f32": 1}, {"tf32": 2}, 8),
        Kind("f8f6f4", _PLAIN, _FLOATS, _NARROW, 32),
        Kind("i8", _PLAIN, {"s32": 2}, {"u8": 0, "s8": 1}, 32, negates=False, saturates=True),
        Kind("mxf8f6f4", _SCALED, {"f32": 1}, _NARROW, 32, 7, {"ue8m0": 1}, _IDS),
        Kind("mxf4", _SCALED4, {"f32": 1}, {"e2m1": 1}, 64, 7, {"ue8m0": 1}, (0, 2),
             transposes=False),
        Kind("mxf4nvf4", _SCALED4, {"f32": 1}, {"e2m1": 1}, 64, 7, {"ue4m3": 0, "ue8m0": 1}, (0, 2),
             transposes=False),
    )
}  # fmt: skip
"""The kinds of tcgen05.mma by name."""


def instruction_descriptor(
    kind: str,
    *,
    m: int,
    n: int,
    a: str,
    b: str,
    d: str = "f32",
    cta_group: int = 1,
    ws: bool = False,
    transpose_a: bool = False,
    transpose_b: bool = False,
    negate_a: bool = False,
    negate_b: bool = False,
    saturate: bool = False,
    sparse: bool = False,
    sparsity_selector: int = 0,
    max_shift: int = 0,
    scale: str = "",
    scale_a_id: int = 0,
    scale_b_id: int = 0,
    k: int | None = None,
) -> int:
    """The 32-bit instruction descriptor of tcgen05.mma. Raises LayoutError.

    `a`, `b`, `d` and `scale` are names of types; `transpose_*` says that a multiplicand is
    MN-major. `max_shift` is 0, 8, 16 or 32 rows, with `ws`. `k` is only needed for K=96 of 4-bit
    kinds.
    """
    if kind not in KINDS:
        raise LayoutError(f"kind={kind!r} is unknown", " ".join(KINDS))
    form = KINDS[kind]
    _check_types(form, a, b, d)
    _check_shape(form, m, n, cta_group=cta_group, ws=ws, sparse=sparse)
    options = {
        "transpose_a": int(transpose_a),
        "transpose_b": int(transpose_b),
        "negate_a": int(negate_a),
        "negate_b": int(negate_b),
        "saturate": int(saturate),
        "sparsity_selector": sparsity_selector,
        "max_shift": _of("max_shift", max_shift, _SHIFTS),
        "scale_a_id": scale_a_id,
        "scale_b_id": scale_b_id,
    }
    _check_options(form, options, ws=ws, sparse=sparse)
    values = {
        **options,
        "sparse": int(sparse),
        "d": form.d[d],
        "a": form.ab[a],
        "b": form.ab[b],
        "n": n >> 3,
        "m": m >> form.m_bits,
        "scale": _scale(form, scale),
        "k96": int(_k(form, k, m, cta_group, sparse=sparse) == 96),
    }
    return _packed(form.fields, {name: values[name] for name in form.fields})


def _check_types(kind: Kind, a: str, b: str, d: str) -> None:
    for name, value, known in (("a", a, kind.ab), ("b", b, kind.ab), ("d", d, kind.d)):
        if value not in known:
            raise LayoutError(
                f"kind::{kind.name} has no {name}={value}", " ".join(f".{k}" for k in known)
            )
    if kind.together and a != b:
        raise LayoutError(f"kind::{kind.name} takes a and b of one type, not {a} and {b}")
    if kind.name == "f16" and d == "f16" and a != "f16":
        raise LayoutError(f"kind::f16 adds {a} in f32 alone", ".f32")


def _rows(kind: Kind, *, cta_group: int, ws: bool, sparse: bool) -> tuple[int, ...]:
    """The M that a kind has: table "Various combinations of .kind and shapes"."""
    if kind.scales is None:
        return (32, 64, 128) if ws else ((64, 128) if cta_group == 1 else (128, 256))
    return (128,) if cta_group == 1 else ((256,) if sparse else (128, 256))


def _columns(kind: Kind, *, cta_group: int, ws: bool, sparse: bool) -> tuple[int, ...]:
    """The N that a kind has, from the same table."""
    if ws:
        return (64, 128) if sparse else (64, 128, 256)
    if kind.name == "i8":
        first = (8, 16, 24, *range(32, 257, 16))
        return first if cta_group == 1 else tuple(range(32, 257, 32))
    return tuple(range(8, 257, 8)) if cta_group == 1 else tuple(range(16, 257, 16))


def _check_shape(kind: Kind, m: int, n: int, *, cta_group: int, ws: bool, sparse: bool) -> None:
    if cta_group not in (1, 2):
        raise LayoutError(f"cta_group={cta_group} is no group of CTAs", "1 2")
    if ws and (cta_group != 1 or kind.scales is not None):
        raise LayoutError(
            f"kind::{kind.name} has no .ws with cta_group::{cta_group}",
            "kind::f16 tf32 f8f6f4 i8 with cta_group::1",
        )
    where = f"kind::{kind.name}{'.ws' if ws else ''} with cta_group::{cta_group}"
    rows = _rows(kind, cta_group=cta_group, ws=ws, sparse=sparse)
    columns = _columns(kind, cta_group=cta_group, ws=ws, sparse=sparse)
    if m not in rows:
        raise LayoutError(f"{where} has no M={m}", " ".join(map(str, rows)))
    if n not in columns:
        raise LayoutError(f"{where} has no N={n}", _listed(columns))


def _check_options(kind: Kind, given: Mapping[str, int], *, ws: bool, sparse: bool) -> None:
    scaled = kind.scales is not None
    allowed = {
        "transpose_a": kind.transposes,
        "transpose_b": kind.transposes,
        "negate_a": kind.negates,
        "negate_b": kind.negates,
        "saturate": kind.saturates,
        "sparsity_selector": sparse and not scaled,
        "max_shift": ws,
        "scale_a_id": scaled,
        "scale_b_id": scaled,
    }
    for name, value in given.items():
        if value and not allowed[name]:
            only = f"{_NEEDS[name]} has" if name in _NEEDS else "has"
            raise LayoutError(f"kind::{kind.name} {only} no {name}")
    for name in ("scale_a_id", "scale_b_id"):
        if scaled and given[name] not in kind.ids:
            raise LayoutError(
                f"kind::{kind.name} has no {name}={given[name]}", " ".join(map(str, kind.ids))
            )


def _scale(kind: Kind, scale: str) -> int:
    if kind.scales is None:
        if scale:
            raise LayoutError(f"kind::{kind.name} has no scale")
        return 0
    if not scale and len(kind.scales) == 1:
        return next(iter(kind.scales.values()))
    return _of("scale", scale, kind.scales)


def _k(kind: Kind, k: int | None, m: int, cta_group: int, *, sparse: bool) -> int:
    usual = kind.k * (2 if sparse else 1)
    longer = "k96" in kind.fields and not sparse and cta_group == 2 and m == 256
    legal = (usual, 96) if longer else (usual,)
    if k is not None and k not in legal:
        raise LayoutError(
            f"kind::{kind.name} has no K={k} with M={m}, cta_group::{cta_group}",
            " ".join(map(str, legal)),
        )
    return usual if k is None else k


def _listed(values: tuple[int, ...]) -> str:
    """`16 to 256 in steps of 16`, or the values."""
    steps = {b - a for a, b in pairwise(values)}
    if len(steps) == 1 and len(values) > 4:
        return f"{values[0]} to {values[-1]} in steps of {steps.pop()}"
    return " ".join(map(str, values))


def _of(name: str, value: _Key, table: Mapping[_Key, int]) -> int:
    if value not in table:
        raise LayoutError(f"{name}={value!r} is unknown", " ".join(str(k) for k in table))
    return table[value]


def _packed(fields: Mapping[str, tuple[int, int]], values: Mapping[str, int]) -> int:
    total = 0
    for name, value in values.items():
        first, bits = fields[name]
        if not 0 <= value < 1 << bits:
            raise LayoutError(f"{name}={value} does not fit its {bits} bits")
        total |= value << first
    return total
