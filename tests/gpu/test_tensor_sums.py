"""Products of this GPU's tensor cores against the emulator and against the model: equal bits.

`make gpu-products` runs this with its counts. Where products differ, the output has operands, what
was expected, what the GPU gives, and which parameters of the model explain most of the products.
`PYPTX_PRODUCTS=1048576 make gpu-products` runs more of them.
"""

import os
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from emulator.fitting import report
from emulator.products import KINDS, Form, draw, launch

pytestmark = pytest.mark.gpu

PRODUCTS = int(os.environ.get("PYPTX_PRODUCTS", "65536"))
"""Elements of D of each form."""
FITTED = 16
"""Tiles that parameters are fitted to, where products differ."""
FP8 = [(a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
INT8 = [(a, b) for a in ("s8", "u8") for b in ("s8", "u8")]
MMA = [
    *((k, "f16", "f16", d) for k in (8, 16) for d in ("f16", "f32")),
    *((k, "bf16", "bf16", "f32") for k in (8, 16)),
    *((k, "tf32", "tf32", "f32") for k in (4, 8)),
    *((k, a, b, d) for k in (16, 32) for a, b in FP8 for d in ("f16", "f32")),
    *((k, a, b, "s32") for k in (16, 32) for a, b in INT8),
    *((k, a, b, "s32") for k in (32, 64) for a in ("s4", "u4") for b in ("s4", "u4")),
]
WGMMA = [
    *((16, "f16", "f16", d) for d in ("f16", "f32")),
    (16, "bf16", "bf16", "f32"),
    (8, "tf32", "tf32", "f32"),
    *((32, a, b, d) for a, b in FP8 for d in ("f16", "f32")),
    *((32, a, b, "s32") for a, b in INT8),
]
WIDTHS = (8, 24, 64, 128, 256)


def architecture():
    """This GPU's target among those that the forms know."""
    capability = jax.devices()[0].compute_capability.replace(".", "")
    return {"80": "sm_80", "89": "sm_89", "90": "sm_90a", "120": "sm_120a"}.get(capability)


def held(form):
    """Runs the form on the GPU; "" where all products are the emulator's."""
    tiles = max(KINDS, PRODUCTS // (form.m * form.n) // KINDS * KINDS)
    operands = draw(form, tiles, 5)
    found = launch(form, operands, lambda words: jax.device_put(words, jax.devices()[0]))
    mine = launch(form, operands)
    differ = (found != mine).reshape(tiles, -1).any(1)
    counts = [int((found != mine)[kind::KINDS].sum()) for kind in range(KINDS)]
    print(f"{form}: {found.size} products, {sum(counts)} differ, by kind of operands {counts}")
    if not differ.any():
        return ""
    some = np.flatnonzero(differ)[:FITTED]
    if form.d == "s32":
        return f"{form}: {sum(counts)} integer products differ"
    return report(form, tuple(x[some] for x in operands), found[some])


@pytest.mark.parametrize(("k", "a", "b", "d"), MMA)
def test_products_of_mma(k, a, b, d):
    arch = architecture()
    if arch is None or (arch == "sm_80" and a in {"e4m3", "e5m2"}):
        pytest.skip("no such products on this GPU")
    told = held(Form("mma", 16, 8, k, a, b, d, arch))
    assert not told, told


@pytest.mark.parametrize(("k", "a", "b", "d"), WGMMA)
@pytest.mark.parametrize("n", WIDTHS)
def test_products_of_wgmma(n, k, a, b, d):
    if architecture() != "sm_90a":
        pytest.skip("wgmma is sm_90a's")
    told = held(Form("wgmma", 64, n, k, a, b, d))
    assert not told, told
