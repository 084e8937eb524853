"""Products of groups of rows, in the emulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.ops.tensor_core.products import TENSOR_CORE, ULP, built, in_memory, normal

from pyptx.ops.tensor_core import mma_sync, plan
from pyptx.ops.tensor_core.shape import Product, Shape
from pyptx.ops.tensor_core.times import Call, Cut, expected_ns, tiles_of
from pyptx.types import bf16, f16, f32

SHAPES = {
    "one block": Shape(band=2),
    "narrow": Shape(128, 128, stages=3, band=1),
    "one warpgroup": Shape(64, 256, stages=3),
    "one warpgroup, narrow": Shape(64, 128, stages=2),
}
LENGTHS = {
    "one": [200], "whole tiles": [128, 128], "odd": [1, 63, 0, 65, 130, 0, 2],
    "empty": [0, 0, 0], "rows after": [70, 3, 40], "beyond": [100, 500, 3],
    "negative": [-5, 40, -1], "many": [i % 5 for i in range(70)],
}  # fmt: skip
ROWS = 264


def bounds(lengths, rows):
    """Where groups begin and end, as the kernel counts."""
    ends = np.minimum(np.cumsum(np.maximum(lengths, 0)), rows)
    return list(zip([0, *ends[:-1]], ends, strict=True))


def close(product, found, expected, allowed):
    error = np.abs(found.astype(np.float64) - expected)
    assert np.all(error <= ULP[product.d] * np.abs(expected) + allowed + 1e-30)


def of_rows(kernel, product, lengths, rows, n, k):
    """Held against each group's product."""
    a, b = normal((rows, k), product.a, 0), normal((len(lengths), k, n), product.b, 1)
    a[bounds(lengths, rows)[-1][1] :] = np.nan  # rows after all groups give zeros
    ran = kernel.emulate(
        a, in_memory(b, turned=product.b_major == "K"), np.asarray(lengths, np.int32)
    )
    ran.report.check()
    x, y = np.nan_to_num(a.astype(np.float64)), b.astype(np.float64)
    expected, size = np.zeros((rows, n)), np.zeros((rows, n))
    for group, (begin, end) in enumerate(bounds(lengths, rows)):
        expected[begin:end] = x[begin:end] @ y[group]
        size[begin:end] = np.abs(x[begin:end]) @ np.abs(y[group])
    close(product, np.asarray(ran.outputs[0]), expected, (k / 16 + 1) * TENSOR_CORE * size)


def of_parts(kernel, product, lengths, rows, m, n):
    """Held against the product of each group's part; other groups' NaN stay theirs."""
    a, b = normal((rows, m), product.a, 0), normal((rows, n), product.b, 1)
    parts = bounds(lengths, rows)
    broken = [group for group, (begin, end) in enumerate(parts) if end > begin][1:2]
    for group in broken:
        a[parts[group][0]] = np.nan
        b[parts[group][0]] = np.inf
    b[parts[-1][1] :] = np.nan
    ran = kernel.emulate(a, b, np.asarray(lengths, np.int32))
    ran.report.check()
    found = np.asarray(ran.outputs[0])
    x, y = a.astype(np.float64), b.astype(np.float64)
    for group, (begin, end) in enumerate(parts):
        if group in broken:
            assert np.all(np.isnan(found[group]))
            continue
        own, other = x[begin:end].T, y[begin:end]
        allowed = (rows / 16 + 1) * TENSOR_CORE * (np.abs(own) @ np.abs(other))
        close(product, found[group], own @ other, allowed)


def ragged_rows(b_major="MN", d=f32):
    kind = f16 if d is f16 else bf16
    return Product(kind, kind, d, "K", b_major, b_batched=True, ragged="M")


PARTS = Product(bf16, bf16, f32, "MN", "MN", ragged="K")


@pytest.mark.sampled(32, each="shape")
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_rows(lengths, shape):
    product = ragged_rows()
    of_rows(built(product, shape, 5), product, lengths, ROWS, 136, 72)


@pytest.mark.sampled(48)
@pytest.mark.parametrize("ctas", [4, 7, 9])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_rows_of_tiles_that_are_split(lengths, shape, ctas):
    """Some tiles are whole, and the last ones have several CTAs, by what the lengths leave."""
    product, split = ragged_rows(), replace(shape, split=True)
    assert plan.fits(split, product)
    of_rows(built(product, split, ctas), product, lengths, ROWS, 136, 1032)


def test_split_rows_in_several_orders():
    product = ragged_rows("K", bf16)
    a, b = normal((ROWS, 1032), bf16, 0), normal((2, 1032, 136), bf16, 1)
    kernel = built(product, replace(SHAPES["narrow"], split=True), 7)
    ran = kernel.emulate(a, in_memory(b, turned=True), np.array([70, 190], np.int32), schedules=6)
    ran.report.check()


def test_groups_of_any_lengths_have_half_a_tile_more():
    """Which is a wave more for eight groups of 1024 rows on average, of which little remains."""
    product = ragged_rows("MN", bf16)
    shape = Shape()
    given = Call(product, (1024, 4096, 4096), 8)
    assert tiles_of(shape, given) == (64 + 4) * 16
    assert tiles_of(shape, replace(given, product=Product(bf16, bf16, bf16))) == 64 * 16
    either = shape, replace(shape, split=True)
    whole, split = (expected_ns(Cut(each, 575, 3223), given) for each in either)
    assert split < whole
    assert plan.choose_ragged(product, 8192, 4096, 4096, 8).split
    assert not plan.choose_ragged(product, 16384, 7168, 2048, 8).split


def test_groups_along_k_are_not_split():
    assert not plan.fits(replace(SHAPES["one block"], split=True), PARTS)


@pytest.mark.sampled(24, each=("d", "b_major"))
@pytest.mark.parametrize("b_major", ["K", "MN"])
@pytest.mark.parametrize("d", [f32, bf16, f16], ids=str)
def test_layouts_and_types_of_rows(b_major, d):
    product = ragged_rows(b_major, d)
    lengths = LENGTHS["odd"]
    of_rows(built(product, Shape(band=2), 3), product, lengths, ROWS, 264, 136)
    of_rows(mma_sync.build(product), product, lengths, ROWS, 264, 136)


@pytest.mark.sampled(32, each="shape")
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_parts(lengths, shape):
    of_parts(built(PARTS, shape, 5), PARTS, lengths, ROWS, 72, 136)


@pytest.mark.sampled(32, each="d")
@pytest.mark.parametrize("d", [f32, bf16], ids=str)
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
def test_mma_sync(lengths, d):
    product = ragged_rows("K", d)
    of_rows(mma_sync.build(product), product, lengths, ROWS, 136, 40)
    product = replace(PARTS, d=d)
    of_parts(mma_sync.build(product), product, lengths, ROWS, 40, 136)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("groups", [8, 256, plan.MOST_GROUPS])
def test_multiplications_stay_asynchronous(shape, groups):
    whole = plan.with_table(shape, groups)
    products = [(ragged_rows("K", bf16), each) for each in (whole, replace(whole, split=True))]
    for product, each in (*products, (replace(PARTS, d=bf16), whole)):
        cubin = built(product, each).cubin(G=groups)
        assert cubin.spill_stores == cubin.spill_loads == 0
        assert not cubin.warnings, cubin.log
        assert "serialized" not in cubin.log
