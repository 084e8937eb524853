"""Kernels with block scales, in the emulator with its sanitizer, and what the assembler says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.ops.tensor_core.products import built, factors, in_memory

import pyptx
from pyptx.ops.tensor_core import mma_sync, plan
from pyptx.ops.tensor_core.epilogue import Layer
from pyptx.ops.tensor_core.shape import Product, Shape
from pyptx.types import bf16, e4m3, e5m2, f32

SIZES = (200, 272, 592)
SHAPES = {
    "two warpgroups": Shape(128, 128, stages=3, band=2),
    "one warpgroup": Shape(64, 128, stages=2),
    "two blocks": Shape(256, 128, blocks=2, stages=3, band=2),
    "split": Shape(128, 128, stages=3, split=True),
    "tiles that begin within a block": Shape(128, 192, stages=2, band=2),
    "such tiles, split": Shape(128, 192, stages=2, split=True),
    "parts of K": Shape(64, 128, stages=2, cluster="depth", clustered=4),
    "parts of K, two warpgroups": Shape(128, 128, stages=2, cluster="depth"),
    "16 rows": Shape(16, 64, stages=3),
    "32 rows, split": Shape(32, 128, stages=2, split=True),
}
CUTS = (*plan.PROMOTED_CUTS, *plan.PROMOTED_OTHERS)


def product_of(blocks, *, batched=False, d=f32):
    return Product(
        e4m3, e5m2, d, "K", "K", batched, batched, blocks=blocks, batches=(batched, batched)
    )


def padded(rows):
    """A's scales with zeros up to 16 bytes, as launches give them."""
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, -rows.shape[-1] % 4)])


def check(kernel, product, m, n, k):
    """Against float64; raises what the sanitizer finds."""
    a, b = factors(product, m, n, k, 2)
    rng = np.random.default_rng(7)
    matrices = (2,) if product.batched else ()
    depth, columns = -(-k // 128), n if product.blocks == "column" else -(-n // 128)
    rows = rng.uniform(0.1, 2, (*matrices, m, depth)).astype(np.float32)
    others = rng.uniform(0.1, 2, (*matrices, depth, columns)).astype(np.float32)
    emulation = kernel.emulate(a, in_memory(b, turned=True), padded(rows), others)
    emulation.report.check()
    wide = np.repeat(rows, 128, -1)[..., :k]
    tall = np.repeat(others, 128, -2)[..., :k, :]
    tall = tall if product.blocks == "column" else np.repeat(tall, 128, -1)[..., :n]
    x, y = a.astype(np.float64) * wide, b.astype(np.float64) * tall
    error = np.abs(np.asarray(emulation.outputs[0]) - x @ y)
    # Of each stage 13 bits of the largest product are kept.
    assert np.max(error / (np.abs(x) @ np.abs(y))) < 2.0**-11


@pytest.mark.sampled(48, each=("blocks", "batched"))
@pytest.mark.parametrize("blocks", ["block", "column"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("batched", [False, True])
def test_hopper(blocks, shape, batched):
    product = product_of(blocks, batched=batched)
    check(built(product, shape, 3), product, *SIZES)


@pytest.mark.sampled(72, each=("k", "blocks"))
@pytest.mark.parametrize("blocks", ["block", "column"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("k", [1024, 1040, 2320, 3328])
def test_hopper_of_a_long_k(blocks, shape, k):
    """Of more blocks of K than shared memory has scales of, which are 16, and of a few less."""
    product = product_of(blocks)
    check(built(product, shape, 3), product, 72, 208, k)


@pytest.mark.sampled(16, each="target")
@pytest.mark.parametrize("blocks", ["block", "column"])
@pytest.mark.parametrize("target", ["sm_89", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("batched", [False, True])
def test_mma_sync(blocks, target, batched):
    product = product_of(blocks, batched=batched)
    with pyptx.target(target):
        check(mma_sync.build(product), product, *SIZES)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("blocks", ["block", "column"])
@pytest.mark.parametrize("lengths", [[90, 0, 45], [0, 200, 300], [0, 0, 0]], ids=str)
@pytest.mark.parametrize("target", ["sm_89", "sm_90a"])
def test_groups(blocks, lengths, target):
    """Rows after all groups have no matrix of B and no scales of it."""
    m, n, k = 200, 144, 272
    product = Product(
        e4m3, e4m3, f32, "K", "K", b_batched=True, ragged="M", blocks=blocks, batches=(False, True)
    )
    a, b = factors(product, m, n, k)
    rng = np.random.default_rng(5)
    rows = rng.uniform(0.1, 2, (m, 3)).astype(np.float32)
    others = rng.uniform(0.1, 2, (3, 3, n if blocks == "column" else 2)).astype(np.float32)
    with pyptx.target(target):
        kernel = mma_sync.build(product)
        if target == "sm_90a":
            kernel = built(product, Shape(128, 128, stages=3, panels=1), 3)
        emulation = kernel.emulate(
            a, in_memory(b, turned=True), np.array(lengths, np.int32), padded(rows), others
        )
    emulation.report.check()
    tall = np.repeat(others, 128, 1)[:, :k]
    tall = tall if blocks == "column" else np.repeat(tall, 128, 2)[:, :, :n]
    x, y = a.astype(np.float64) * np.repeat(rows, 128, 1)[:, :k], b.astype(np.float64) * tall
    group = np.searchsorted(np.cumsum(lengths), np.arange(m), side="right")
    y = np.concatenate([y, np.zeros_like(y[:1])])
    exact = np.einsum("mk,mkn->mn", x, y[group])
    size = np.einsum("mk,mkn->mn", np.abs(x), np.abs(y[group])) + 1e-30
    assert np.max(np.abs(np.asarray(emulation.outputs[0]) - exact) / size) < 2.0**-11


@pytest.mark.sampled(48, each="blocks")
@pytest.mark.parametrize("blocks", ["block", "column"])
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: str(cut.shape))
def test_multiplications_stay_asynchronous(blocks, cut):
    product = product_of(blocks, d=bf16)
    if not plan.fits(cut.shape, product):
        assert blocks == "column" and (cut.shape.blocks == 2 or cut.shape.columns == 192)
        return
    cubin = built(product, cut.shape).cubin()
    assert cubin.spill_stores == cubin.spill_loads == 0
    assert not cubin.warnings, cubin.log
    assert "serialized" not in cubin.log


@pytest.mark.sampled(48, each="blocks")
@pytest.mark.parametrize("blocks", ["block", "column"])
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: str(cut.shape))
def test_an_epilogue_leaves_registers(blocks, cut):
    layer = Layer(bias=bf16, activation="gelu", residual=bf16, quantized=True, amax=True)
    product = replace(product_of(blocks, d=e4m3), epilogue=layer.epilogue, batches=(False,) * 5)
    few = cut.shape.blocks == 1 and cut.shape.columns <= 128
    # A panel of results of 8 bits is 128 columns wide.
    whole = cut.shape.columns == 128 or cut.shape.cluster == "depth"
    assert plan.fits(cut.shape, product) == (few and whole)
    if plan.fits(cut.shape, product):
        cubin = built(product, cut.shape).cubin()
        assert cubin.spill_stores == cubin.spill_loads == 0
        assert "serialized" not in cubin.log


@pytest.mark.sampled(12, each="target")
@pytest.mark.parametrize("blocks", ["block", "column"])
@pytest.mark.parametrize("target", ["sm_89", "sm_100a", "sm_120a"])
def test_registers_of_mma_sync(blocks, target):
    cubin = mma_sync.build(product_of(blocks, d=bf16)).cubin(arch=target)
    assert cubin.spill_stores == cubin.spill_loads == 0


def test_what_is_chosen():
    """Scales of single columns leave registers for one block of 64 rows."""
    product = product_of("block", d=bf16)
    assert plan.choose(product, 4096, 7168, 2048).blocks == 2
    assert plan.choose(replace(product, blocks="column"), 4096, 7168, 2048).blocks == 1
    assert plan.choose(product, 64, 7168, 2048).rows == 64
