"""Epilogues: what a kernel makes of its sums, in the emulator, held against float64."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from tests.ops.tensor_core.products import NUMPY, ULP, built, factors, in_memory, normal

import pyptx
from pyptx import LanguageError, ptx
from pyptx.ops.tensor_core import mma_sync, plan
from pyptx.ops.tensor_core.epilogue import ACTIVATIONS, SCALED, Epilogue, Layer, with_sums
from pyptx.ops.tensor_core.shape import Product, Shape
from pyptx.types import bf16, e4m3, e5m2, f16, f32

SHAPES = {
    "one block": Shape(band=2),
    "two blocks": Shape(256, 192, blocks=2, stages=3, panels=3, band=2),
    "narrow": Shape(128, 128, stages=3, band=1),
    "one warpgroup": Shape(64, 256, stages=3),
    "one warpgroup, narrow": Shape(64, 128, stages=2),
    "parts of K": Shape(64, 128, stages=2, cluster="depth", clustered=4),
    "parts of K, two warpgroups": Shape(128, 128, stages=2, cluster="depth", clustered=8),
}
PAIRS = {name: shape for name, shape in SHAPES.items() if shape.columns % 128 == 0}
SIZES = (200, 136, 72)
erf = np.vectorize(math.erf)
FUNCTIONS = {
    None: lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


def arrays(product, m, n, matrices):
    """Those of the epilogue."""
    e = product.epilogue
    shapes = [*((m,),) * len(e.rows), *((n,),) * len(e.columns), *((m, n),) * len(e.elements)]
    found = []
    for i, (shape, dtype, batched) in enumerate(
        zip(shapes, e.operands, product.batches, strict=True)
    ):
        found.append(normal((*((matrices,) if batched else ()), *shape), dtype, 10 + i))
    return found


def run(kernel, product, m, n, k, matrices=3):
    """What the kernel gives; A, the matrices B, and the epilogue's arrays, in float64."""
    a, b = factors(product, m, n, k, matrices)
    given = [in_memory(a, turned=product.a_major == "MN")]
    others = [b]
    if product.factors > 1:
        others.append(normal(b.shape, product.b, 2))
    given += [in_memory(x, turned=product.b_major == "K") for x in others]
    operands = arrays(product, m, n, matrices)
    emulation = kernel.emulate(*given, *operands)
    emulation.report.check()
    results = emulation.outputs[: len(product.results)]
    return [np.asarray(x).astype(np.float64) for x in results], a, others, operands


def layer(product, m, n, k, kernel, tolerance=2.0**-7):
    """Held against the formula of the product's Layer."""
    (found,), a, others, operands = run(kernel, product, m, n, k)
    formula = product.epilogue.function
    sums = [a.astype(np.float64) @ b.astype(np.float64) for b in others]
    left = [x.astype(np.float64) for x in operands]
    total = sums[0]
    if formula.scaled:
        row, column = left.pop(0), left.pop(0)
        total = total * row[..., :, None] * column[..., None, :]
    if formula.bias is not None:
        total = total + left.pop(0)[..., None, :]
    total = FUNCTIONS[formula.activation](total)
    if formula.paired:
        total = total * sums[1]
    if formula.residual is not None:
        total = total + left.pop(0)
    size = 1 + np.abs(total) + math.sqrt(k)
    assert found.shape == total.shape
    assert np.max(np.abs(found - total) / size) < ULP[product.d] + tolerance * 1e-2


def product_of(formula, d=bf16, **options):
    epilogue = formula.epilogue
    return Product(
        bf16, bf16, d, epilogue=epilogue, batches=(False,) * len(epilogue.operands), **options
    )


@pytest.mark.sampled(40, each="activation")
@pytest.mark.parametrize("activation", FUNCTIONS, ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_layers(activation, shape):
    formula = Layer(scaled=True, bias=f32, activation=activation, residual=bf16)
    product = product_of(formula)
    layer(product, *SIZES, built(product, shape, 3))


@pytest.mark.parametrize("left", [0, -8])
@pytest.mark.parametrize("rows", [64, 128])
def test_columns_of_tiles_with_half_a_box(rows, left):
    """Of B by rows of K, every second tile has its columns in another order."""
    product = product_of(Layer(scaled=True, bias=f32, activation="relu", residual=bf16))
    shape = Shape(rows, 96, stages=3, panels=1)
    assert plan.fits(shape, product)
    layer(product, 136, 4 * shape.columns + left, 72, built(product, shape, 3))


@pytest.mark.sampled(24, each="shape")
@pytest.mark.parametrize("shape", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize("b_major", ["K", "MN"])
def test_two_matrices(b_major, shape):
    product = product_of(Layer(activation="silu", paired=True), b_major=b_major)
    layer(product, *SIZES, built(product, shape, 3))


@pytest.mark.sampled(48, each=("d", "b_major"))
@pytest.mark.parametrize("cut", plan.CUTS, ids=lambda cut: str(cut.shape))
@pytest.mark.parametrize("d", [f32, bf16], ids=str)
@pytest.mark.parametrize("b_major", ["K", "MN"])
def test_every_shape_that_a_pair_fits(b_major, d, cut):
    product = product_of(Layer(activation="silu", paired=True), d, b_major=b_major)
    narrow = 128 if b_major == "MN" or d is bf16 else 64
    assert plan.fits(cut.shape, product) == (cut.shape.blocks == 1 and cut.shape.columns >= narrow)
    if plan.fits(cut.shape, product):
        layer(product, *SIZES, built(product, cut.shape, 3))


@pytest.mark.sampled(24, each=("paired", "d"))
@pytest.mark.parametrize("d", [f32, f16, bf16], ids=str)
@pytest.mark.parametrize("paired", [False, True])
def test_tiles_that_are_split(d, paired):
    product = product_of(Layer(activation="gelu_tanh", residual=f32, paired=paired), d)
    shape = replace(SHAPES["one block"], split=True)
    layer(product, 200, 136, 1024, built(product, shape, 5))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("b_major", ["K", "MN"])
@pytest.mark.parametrize("a_major", ["K", "MN"])
def test_mma_sync(a_major, b_major, paired):
    formula = Layer(scaled=not paired, bias=bf16, activation="gelu", residual=f16, paired=paired)
    product = product_of(formula, f32, a_major=a_major, b_major=b_major)
    layer(product, *SIZES, mma_sync.build(product))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("build", [lambda p: built(p, Shape(), 3), mma_sync.build])
@pytest.mark.parametrize("batches", [(True, False, False), (False, True, True)], ids=str)
def test_batches_of_arrays(batches, build):
    epilogue = Layer(scaled=True, residual=bf16).epilogue
    product = Product(bf16, bf16, bf16, epilogue=epilogue, batches=batches)
    layer(product, *SIZES, build(product))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("build", [lambda p: built(p, Shape(), 3), mma_sync.build])
@pytest.mark.parametrize("more", [bf16, f32], ids=str)
def test_further_results(build, more):
    """A function of the user's own, with the sums as further results."""

    def clipped(total, row, column):
        return ptx.inst.min.f32(total * row, column), ptx.inst.ex2.approx.f32(-row)

    own = Epilogue(clipped, rows=(f32,), columns=(bf16,), results=(f16,))
    epilogue = with_sums(own, more)
    product = Product(bf16, bf16, bf16, epilogue=epilogue, batches=(False, False))
    (d, second, kept), a, (b,), (row, column) = run(build(product), product, *SIZES)
    total = a.astype(np.float64) @ b.astype(np.float64)
    assert np.allclose(kept, total, 2.0**-8, 1e-4)
    assert np.allclose(d, np.minimum(total * row[:, None], column.astype(np.float64)), 0.01, 1e-3)
    assert np.allclose(second, np.broadcast_to(2.0 ** -row[:, None], d.shape), 2.0**-10)


@pytest.mark.sampled(16, each=("shape", "dtype"))
@pytest.mark.parametrize("dtype", [e4m3, e5m2], ids=str)
@pytest.mark.parametrize(
    "shape", [SHAPES["one block"], SHAPES["one warpgroup, narrow"], SHAPES["parts of K"]]
)
def test_results_of_eight_bits(dtype, shape):
    product = Product(bf16, bf16, dtype, epilogue=SCALED, batches=(False, False))
    kernel = built(product, shape, 3)
    (d,), a, (b,), (row, column) = run(kernel, product, 136, 144, 72)
    exact = a.astype(np.float64) @ b.astype(np.float64) * row[:, None] * column
    nearest = exact.astype(np.float32).clip(
        *(float(f(ml_dtypes.finfo(NUMPY[dtype]))) for f in (lambda i: i.min, lambda i: i.max))
    )
    assert np.mean(d == nearest.astype(NUMPY[dtype]).astype(np.float64)) > 0.999
    assert np.allclose(d, nearest, 0.13 if dtype is e4m3 else 0.26, 0.01)


def test_what_is_no_value():
    def wrong(total):
        return total, total

    product = Product(bf16, bf16, bf16, epilogue=Epilogue(wrong))
    with pytest.raises(LanguageError) as error:
        mma_sync.build(product).emulate(*factors(product, 8, 8, 8))
    line = wrong.__code__.co_firstlineno
    said = re.sub(r"register \d+", "register N", str(error.value))
    assert said == (
        f"{__file__}:{line}: wrong gave (<register N .f32>, <register N .f32>); an epilogue gives "
        "one f32 register\n"
        "    def wrong(total):\n"
        "  help: ptx.to_f32(value) widens; return d or return d, more"
    )


def test_every_activation_is_tried():
    assert set(FUNCTIONS) == {None, *ACTIVATIONS}


def test_shapes_that_a_pair_does_not_fit():
    paired = product_of(Layer(activation="silu", paired=True))
    chosen = {plan.choose(paired, m, 4096, 4096).columns for m in (64, 1024, 4096, 8192)}
    assert 192 not in chosen
    for own, right in ((Shape(), True), (Shape(128, 192), False), (SHAPES["two blocks"], False)):
        assert plan.fits(own, paired) == right
    wide = replace(paired, d=f32)
    assert plan.fits(Shape(128, 192), replace(wide, b_major="K"))
    assert not plan.fits(Shape(128, 192), replace(wide, b_major="MN"))
    assert plan.fits(SHAPES["two blocks"], Product(bf16, bf16, bf16, epilogue=SCALED))


# ---- the largest absolute value ------------------------------------------------------------------


def amax_of(kernel, product, m, n, k):
    """D and the rows' largest values, and what they are of: sums times a number of the row."""
    a, b = factors(product, m, n, k)
    rows = np.abs(normal((m,), f32, 10)) + 0.5
    emulation = kernel.emulate(a, b, rows)
    emulation.report.check()
    d, largest = emulation.outputs[:2]
    return np.asarray(d), np.asarray(largest).view(np.float32), a, b, rows


@pytest.mark.sampled(40, each=("d", "shape"))
@pytest.mark.parametrize("d", [e4m3, bf16, f32], ids=str)
@pytest.mark.parametrize("shape", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("split", [False, True])
def test_amax(d, shape, split):
    epilogue = Layer(quantized=True, amax=True).epilogue
    product = Product(bf16, bf16, d, epilogue=epilogue, batches=(False,))
    split = split and shape.cluster is None  # those of a cluster are split already
    kernel = built(product, replace(shape, split=split), 3)
    found, largest, a, b, rows = amax_of(kernel, product, 200, 144, 520)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(largest, np.abs(exact).max(1), rtol=1e-5)
    expected = exact * rows[:, None]
    expected = np.clip(expected, -448, 448) if d is e4m3 else expected
    error = np.abs(found.astype(np.float64) - expected) / (np.abs(expected) + 1)
    assert np.max(error) < {e4m3: 2.0**-4, bf16: 2.0**-8, f32: 0.0}[d] + 1e-4


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_120a"])
def test_amax_by_mma_sync(target):
    epilogue = Layer(quantized=True, amax=True).epilogue
    product = Product(bf16, bf16, f32, epilogue=epilogue, batches=(False,))
    with pyptx.target(target):
        found, largest, a, b, rows = amax_of(mma_sync.build(product), product, 200, 144, 104)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(largest, np.abs(exact).max(1), rtol=1e-5)
    np.testing.assert_allclose(found, exact * rows[:, None], rtol=1e-4, atol=1e-4)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("cut", plan.CUTS, ids=lambda cut: str(cut.shape))
@pytest.mark.parametrize("paired", [False, True])
def test_registers_of_quantized_results(cut, paired):
    activation = "silu" if paired else None
    epilogue = Layer(
        scaled=True, activation=activation, paired=paired, quantized=True, amax=True
    ).epilogue
    batches = (False,) * len(epilogue.operands)
    product = Product(e4m3, e4m3, e4m3, "K", "K", epilogue=epilogue, batches=batches)
    whole = cut.shape.columns % (128 * product.factors) == 0
    assert plan.fits(cut.shape, product) == (cut.shape.blocks == 1 and whole)
    if not plan.fits(cut.shape, product):
        return
    cubin = built(product, cut.shape).cubin()
    assert cubin.spill_stores == cubin.spill_loads == 0
    assert not cubin.warnings, cubin.log
    assert "serialized" not in cubin.log
