"""Descriptors against tables of bits as the manual prints them, and against known values."""

import itertools
import re

import pytest

from pyptx._layouts import Swizzle
from pyptx._layouts.descriptor import (
    KINDS,
    instruction_descriptor,
    tcgen05_matrix,
    wgmma_matrix,
)
from pyptx._layouts.matrix import LayoutError

# "Instruction descriptor format", one field a line; other bits are reserved and 0.
PLAIN = """
    0-1 sparsity_selector
    2 sparse
    3 saturate
    4-5 d
    7-9 a
    10-12 b
    13 negate_a
    14 negate_b
    15 transpose_a
    16 transpose_b
    17-22 n
    24-28 m
    30-31 max_shift
"""
SCALED = """
    2 sparse
    4-5 scale_b_id
    7-9 a
    10-12 b
    13 negate_a
    14 negate_b
    15 transpose_a
    16 transpose_b
    17-22 n
    23 scale
    27-28 m
    29-30 scale_a_id
"""
SCALED_4 = SCALED.replace("10-12 b", "10-11 b") + "    31 k96\n"
TABLES = {"f16": PLAIN, "tf32": PLAIN, "f8f6f4": PLAIN, "i8": PLAIN, "mxf8f6f4": SCALED,
          "mxf4": SCALED_4, "mxf4nvf4": SCALED_4}  # fmt: skip


def fields(kind, value):
    """What each field of a descriptor holds, without those that are 0; no bit is left over."""
    found, rest = {}, value
    for first, last, name in re.findall(r"(\d+)(?:-(\d+))? (\w+)", TABLES[kind]):
        low, high = int(first), int(last or first)
        here = value >> low & (1 << high - low + 1) - 1
        rest &= ~(here << low)
        if here:
            found[name] = here
    assert rest == 0
    return found


CASES = (
    (
        "f16",
        {"m": 128, "n": 256, "a": "bf16", "b": "bf16"},
        {"d": 1, "a": 1, "b": 1, "n": 32, "m": 8},
    ),
    ("f16", {"m": 64, "n": 8, "a": "f16", "b": "f16", "d": "f16"}, {"n": 1, "m": 4}),
    ("f16", {"m": 256, "n": 32, "a": "f16", "b": "f16", "cta_group": 2}, {"d": 1, "n": 4, "m": 16}),
    (
        "f16",
        {"m": 32, "n": 64, "a": "f16", "b": "f16", "ws": True, "max_shift": 16},
        {"d": 1, "n": 8, "m": 2, "max_shift": 2},
    ),
    (
        "f16",
        {
            "m": 64,
            "n": 16,
            "a": "f16",
            "b": "f16",
            "transpose_a": True,
            "negate_b": True,
            "sparse": True,
            "sparsity_selector": 3,
        },
        {
            "d": 1,
            "n": 2,
            "m": 4,
            "transpose_a": 1,
            "negate_b": 1,
            "sparse": 1,
            "sparsity_selector": 3,
        },
    ),
    (
        "tf32",
        {"m": 128, "n": 128, "a": "tf32", "b": "tf32"},
        {"d": 1, "a": 2, "b": 2, "n": 16, "m": 8},
    ),
    (
        "f8f6f4",
        {"m": 64, "n": 24, "a": "e3m2", "b": "e2m1", "d": "f16"},
        {"a": 4, "b": 5, "n": 3, "m": 4},
    ),
    (
        "f8f6f4",
        {"m": 128, "n": 64, "a": "e2m3", "b": "e5m2"},
        {"d": 1, "a": 3, "b": 1, "n": 8, "m": 8},
    ),
    (
        "i8",
        {
            "m": 128,
            "n": 24,
            "a": "u8",
            "b": "s8",
            "d": "s32",
            "saturate": True,
            "transpose_b": True,
        },
        {"d": 2, "b": 1, "n": 3, "m": 8, "saturate": 1, "transpose_b": 1},
    ),
    (
        "mxf8f6f4",
        {"m": 128, "n": 128, "a": "e4m3", "b": "e2m1", "scale_a_id": 3, "scale_b_id": 1},
        {"b": 5, "n": 16, "m": 1, "scale": 1, "scale_a_id": 3, "scale_b_id": 1},
    ),
    (
        "mxf4",
        {"m": 256, "n": 64, "a": "e2m1", "b": "e2m1", "cta_group": 2, "k": 96},
        {"a": 1, "b": 1, "n": 8, "m": 2, "scale": 1, "k96": 1},
    ),
    (
        "mxf4",
        {"m": 128, "n": 64, "a": "e2m1", "b": "e2m1", "scale_a_id": 2, "negate_a": True},
        {"a": 1, "b": 1, "n": 8, "m": 1, "scale": 1, "scale_a_id": 2, "negate_a": 1},
    ),
    (
        "mxf4nvf4",
        {"m": 128, "n": 256, "a": "e2m1", "b": "e2m1", "scale": "ue4m3"},
        {"a": 1, "b": 1, "n": 32, "m": 1},
    ),
    (
        "mxf4nvf4",
        {"m": 128, "n": 8, "a": "e2m1", "b": "e2m1", "scale": "ue8m0", "sparse": True},
        {"a": 1, "b": 1, "n": 1, "m": 1, "scale": 1, "sparse": 1},
    ),
)


@pytest.mark.parametrize(("kind", "given", "expected"), CASES)
def test_fields_of_an_instruction_descriptor(kind, given, expected):
    assert fields(kind, instruction_descriptor(kind, **given)) == expected


def test_every_kind_is_among_the_cases():
    assert {kind for kind, _, _ in CASES} == set(KINDS)


def test_a_known_instruction_descriptor():
    """What kernels for B200 pass for bf16, 128 by 256, added in f32."""
    known = 1 << 4 | 1 << 7 | 1 << 10 | 256 >> 3 << 17 | 128 >> 4 << 24
    assert instruction_descriptor("f16", m=128, n=256, a="bf16", b="bf16") == known == 0x8400490


SHAPES = {  # "Various combinations of .kind and shapes": kind, CTAs, .ws, sparse -> M, N
    ("f16", 1, False, False): ({64, 128}, set(range(8, 257, 8))),
    ("tf32", 2, False, True): ({128, 256}, set(range(16, 257, 16))),
    ("f8f6f4", 1, True, False): ({32, 64, 128}, {64, 128, 256}),
    ("f16", 1, True, True): ({32, 64, 128}, {64, 128}),
    ("i8", 1, False, False): ({64, 128}, {8, 16, 24, *range(32, 257, 16)}),
    ("i8", 2, False, False): ({128, 256}, set(range(32, 257, 32))),
    ("mxf8f6f4", 1, False, False): ({128}, set(range(8, 257, 8))),
    ("mxf8f6f4", 2, False, False): ({128, 256}, set(range(16, 257, 16))),
    ("mxf4", 2, False, True): ({256}, set(range(16, 257, 16))),
}


@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_shapes_that_a_kind_has(case):
    kind, group, ws, sparse = case
    ab, d = next(iter(KINDS[kind].ab)), next(reversed(KINDS[kind].d))
    found = set()
    for m, n in itertools.product((16, 32, 64, 96, 128, 192, 256, 512), range(8, 265, 8)):
        try:
            instruction_descriptor(
                kind, m=m, n=n, a=ab, b=ab, d=d, cta_group=group, ws=ws, sparse=sparse
            )
        except LayoutError:
            continue
        found.add((m, n))
    rows, columns = SHAPES[case]
    assert found == set(itertools.product(rows, columns))


WRONG = (
    (("f17", {}), "kind='f17' is unknown", "f16 tf32 f8f6f4 i8 mxf8f6f4 mxf4 mxf4nvf4"),
    (("f16", {"a": "tf32"}), "kind::f16 has no a=tf32", ".f16 .bf16"),
    (("f16", {"a": "bf16"}), "kind::f16 takes a and b of one type, not bf16 and f16", ""),
    (("f16", {"a": "bf16", "b": "bf16", "d": "f16"}), "kind::f16 adds bf16 in f32 alone", ".f32"),
    (("f16", {"m": 96}), "kind::f16 with cta_group::1 has no M=96", "64 128"),
    (("f16", {"n": 12}), "kind::f16 with cta_group::1 has no N=12", "8 to 256 in steps of 8"),
    (("f16", {"cta_group": 3}), "cta_group=3 is no group of CTAs", "1 2"),
    (("f16", {"saturate": True}), "kind::f16 has no saturate", ""),
    (("f16", {"max_shift": 8}), "kind::f16 without ws=True has no max_shift", ""),
    (("f16", {"max_shift": 9, "ws": True}), "max_shift=9 is unknown", "0 8 16 32"),
    (
        ("f16", {"sparsity_selector": 1}),
        "kind::f16 without sparse=True has no sparsity_selector",
        "",
    ),
    (("f16", {"scale": "ue8m0"}), "kind::f16 has no scale", ""),
    (("f16", {"k": 32}), "kind::f16 has no K=32 with M=128, cta_group::1", "16"),
    (
        ("mxf4", {"a": "e2m1", "b": "e2m1", "scale_a_id": 1}),
        "kind::mxf4 has no scale_a_id=1",
        "0 2",
    ),
    (
        ("mxf4", {"a": "e2m1", "b": "e2m1", "transpose_a": True}),
        "kind::mxf4 has no transpose_a",
        "",
    ),
    (("mxf4nvf4", {"a": "e2m1", "b": "e2m1"}), "scale='' is unknown", "ue4m3 ue8m0"),
    (
        ("mxf4", {"a": "e2m1", "b": "e2m1", "ws": True}),
        "kind::mxf4 has no .ws with cta_group::1",
        "kind::f16 tf32 f8f6f4 i8 with cta_group::1",
    ),
)


@pytest.mark.parametrize(("given", "message", "legal"), WRONG, ids=lambda v: str(v)[:40])
def test_a_wrong_instruction_descriptor(given, message, legal):
    kind, changed = given
    with pytest.raises(LayoutError) as caught:
        instruction_descriptor(kind, **{"m": 128, "n": 64, "a": "f16", "b": "f16"} | changed)
    assert (str(caught.value), caught.value.legal) == (message, legal)


def test_matrix_descriptors_of_the_manual_s_examples():
    """K-major tf32 without swizzle and with 32 bytes, MN-major bf16 with 64: LBO, SBO encoded."""
    for leading, stride, swizzle, fields_ in (
        (256, 128, Swizzle.NONE, (16, 8, 0)),
        (16, 256, Swizzle.B32, (1, 16, 3)),
        (512, 1024, Swizzle.B64, (32, 64, 2)),
    ):
        found = wgmma_matrix(leading=leading, stride=stride, swizzle=swizzle)
        assert (found >> 16 & 0x3FFF, found >> 32 & 0x3FFF, found >> 62) == fields_
        assert found & ~(0x3FFF << 16 | 0x3FFF << 32 | 3 << 62) == 0


def test_known_matrix_descriptors():
    """A 128-byte swizzled K-major operand, as CUTLASS's kernels have it."""
    given = {"leading": 16, "stride": 1024, "swizzle": Swizzle.B128}
    assert wgmma_matrix(**given) == 1 << 62 | 64 << 32 | 1 << 16
    assert tcgen05_matrix(**given) == 2 << 61 | 1 << 46 | 64 << 32 | 1 << 16
    assert tcgen05_matrix(**given | {"swizzle": Swizzle.B64}) >> 61 == 4
    assert tcgen05_matrix(**given | {"swizzle": Swizzle.B32}) >> 61 == 6
    assert tcgen05_matrix(**given, lbo_mode=1, base_offset=5) >> 49 & 0xF == 0b1101


@pytest.mark.parametrize("field", ["leading", "stride", "start"])
@pytest.mark.parametrize("value", [8, -16, 1 << 18])
def test_offsets_are_multiples_of_16_below_256_kib(field, value):
    given = {"leading": 16, "stride": 1024, "swizzle": Swizzle.NONE} | {field: value}
    for make in (wgmma_matrix, tcgen05_matrix):
        with pytest.raises(LayoutError) as caught:
            make(**given)
        assert caught.value.legal == "multiples of 16 below 262144"
