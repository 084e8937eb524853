"""Sums of tensor cores in the emulator, held to models in exact integers, by target and type."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from . import fitting
from .products import Form, draw, expected, launch
from .tensor_sums import Model
from .test_mma import numbers

TARGETS = ("sm_80", "sm_89", "sm_90a", "sm_120a")
FLOATS = [("f16", "f16"), ("bf16", "f32"), ("f16", "f32"), ("tf32", "f32")]
FORMS = [
    *(
        Form("mma", 16, 8, k * (1 if a == "tf32" else 2), a, a, d, arch)
        for a, d in FLOATS
        for k in (4, 8)
        for arch in TARGETS
    ),
    *(
        Form("mma", 16, 8, k, a, b, d, arch)
        for a, b in (("e4m3", "e5m2"), ("e5m2", "e4m3"))
        for d in ("f16", "f32")
        for k in (16, 32)
        for arch in TARGETS[1:]
    ),
    *(Form("wgmma", 64, n, 8 if a == "tf32" else 16, a, a, d) for a, d in FLOATS for n in (8, 40)),
    *(
        Form("wgmma", 64, n, 32, a, b, d)
        for a, b in (("e4m3", "e4m3"), ("e5m2", "e4m3"))
        for d in ("f16", "f32")
        for n in (8, 40)
    ),
]


@pytest.mark.sampled(36, each="form.*")
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_products_are_the_models(form):
    """Cancellation, subnormals, large products and addends, infinities and NaNs: equal bits."""
    operands = draw(form, 16, 11)
    np.testing.assert_array_equal(launch(form, operands), expected(form, operands))


@pytest.mark.parametrize("unit", ["mma", "wgmma"])
def test_a_sum_that_rounds_to_zero_is_positive(unit):
    """What an H200 gives for -2**-26, less than half of the smallest f16."""
    form = Form(unit, 16 if unit == "mma" else 64, 8, 16, "f16", "f16", "f16")
    a, b, c = (np.zeros_like(x) for x in draw(form, 2, 1))
    a[0, :, 3], b[0, :, 3] = 0x8800, 0x0800  # -2**-13, 2**-13
    found = launch(form, (a, b, c))
    assert (found == 0).all()
    np.testing.assert_array_equal(found, expected(form, (a, b, c)))


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        (
            "a82f 3d9f 3b34 3a8a 282f bd9f bb34 ba8a",
            "b4d5 bdc4 3571 bd84 b4d4 bdc4 3571 bd84",
            0x8086,
        ),
        (
            "33b5 2faf 3879 bb48 b3b5 afaf b879 3b48",
            "30b4 3a4d ad23 36b3 30b5 3a4d ad23 36b3",
            0x1ED,
        ),
        (
            "2f72 b211 c09b 4010 af72 3211 409b c010",
            "37ab ab69 2960 b2cc 37aa ab69 2960 b2cc",
            0x81DD,
        ),
    ],
    ids=["from below", "from above", "far"],
)
def test_cancelled_products_in_f16_that_an_h200_gave_as_zero(a, b, c):
    form = Form("mma", 16, 8, 8, "f16", "f16", "f16")
    operands = [np.zeros_like(x) for x in draw(form, 1, 1)]
    operands[0][0, 3] = [int(word, 16) for word in a.split()]
    operands[1][0, 5] = [int(word, 16) for word in b.split()]
    operands[2][0, 3, 5] = c
    assert launch(form, tuple(operands))[0, 3, 5] == 0
    assert expected(form, tuple(operands))[0, 3, 5] == 0


@pytest.mark.parametrize(
    ("a", "b", "c", "d"),
    [
        (
            "27c8e1b6a3c684937d8c255405e025c9",
            "2a841b3d271a79e58f204a27909e9495",
            0x85F6B427,
            0xC383B852,
        ),
        (
            "26918ce23d196a3d01064385ee23697c",
            "5ab84f12458719a2f99d23ebb1c707ad",
            0x1FF83A54,
            0xC11064C2,
        ),
    ],
    ids=["-320", "-80"],
)
def test_subnormal_e4m3_are_normal_numbers_of_f16(a, b, c, d):
    """What an H200 gave: the largest product is of a subnormal number, and hides no other."""
    form = Form("mma", 16, 8, 16, "e4m3", "e5m2", "f32")
    operands = [np.zeros_like(x) for x in draw(form, 1, 1)]
    operands[0][0, 3] = list(bytes.fromhex(a))
    operands[1][0, 5] = list(bytes.fromhex(b))
    operands[2][0, 3, 5] = c
    assert launch(form, tuple(operands))[0, 3, 5] == d
    assert expected(form, tuple(operands))[0, 3, 5] == d


@pytest.mark.sweep
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_many_products_are_the_models(form):
    operands = draw(form, 1024 if form.unit == "mma" else 64, 12)
    np.testing.assert_array_equal(launch(form, operands), expected(form, operands))


@pytest.mark.parametrize(
    ("form", "chip", "model"),
    [
        (Form("mma", 16, 8, 16, "f16", "f16", "f32"), "sm_80", Model(8, 24)),
        (Form("mma", 16, 8, 16, "bf16", "bf16", "f32", "sm_89"), "sm_90a", Model(16, 25)),
        (Form("mma", 16, 8, 32, "e4m3", "e4m3", "f32"), "sm_120a", Model(32, 25)),
        (Form("mma", 16, 8, 32, "e4m3", "e4m3", "f32"), "sm_89", Model(16, 13, 13)),
    ],
    ids=str,
)
def test_a_chip_of_another_model_is_recognised(form, chip, model):
    """The report of `make gpu-products`, where the chip is the emulator of another target."""
    operands = draw(form, 8, 7)
    found = launch(replace(form, arch=chip), operands)
    best = fitting.fit(form, operands, found)[0]
    assert best.model == model
    assert best.equal == best.products
    text = fitting.report(form, operands, found)
    assert f"{best.products} of {best.products} equal with {model.block} products at once" in text
    assert str(best) in text


def test_nothing_is_fitted_where_all_products_are_equal():
    form = Form("mma", 16, 8, 16, "f16", "f16", "f32")
    operands = draw(form, 8, 7)
    told = fitting.report(form, operands, launch(form, operands))
    assert told == "mma m16n8k16 f32.f16.f16 sm_90a: 0 of 1024 products differ"


@pytest.mark.parametrize(
    "form",
    [
        Form("mma", 16, 8, 64, "s4", "u4", "s32"),
        Form("mma", 16, 8, 32, "u8", "s8", "s32"),
        Form("wgmma", 64, 24, 32, "s8", "u8", "s32"),
    ],
    ids=str,
)
def test_sums_of_integers_wrap(form):
    a, b, c = draw(form, 8, 3)
    x, y = (numbers(m, t).astype(np.int64) for m, t in ((a, form.a), (b, form.b)))
    wanted = (np.einsum("tmk,tnk->tmn", x, y) + c.astype(np.int64)).astype(np.uint32)
    np.testing.assert_array_equal(launch(form, (a, b, c)), wanted)
