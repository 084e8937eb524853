"""Sums of tensor cores in the emulator, held to models in exact integers, by target and type."""

from __future__ import annotations

import numpy as np
import pytest

from .products import Form, draw, expected, launch

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


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_products_are_the_models(form):
    """Cancellation, subnormals, large products and addends, infinities and NaNs: equal bits."""
    operands = draw(form, 16, 11)
    np.testing.assert_array_equal(launch(form, operands), expected(form, operands))


@pytest.mark.sweep
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_many_products_are_the_models(form):
    operands = draw(form, 1024 if form.unit == "mma" else 64, 12)
    np.testing.assert_array_equal(launch(form, operands), expected(form, operands))
