"""Kernels of matrix products: every layout, size and way to split, in the emulator."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.ops.tensor_core.products import built, emulated, error, factors, in_memory

from pyptx.ops.tensor_core import hopper, mma_sync, plan
from pyptx.ops.tensor_core.epilogue import SCALED, Layer
from pyptx.ops.tensor_core.schedule import FRACTIONS, LEAST, MOST
from pyptx.ops.tensor_core.shape import Product, Shape
from pyptx.types import bf16, e4m3, e5m2, f16, f32, s8, s32, u8

MAJORS = [(a, b) for a in ("K", "MN") for b in ("K", "MN")]
BIG = Shape(256, 192, blocks=2, stages=3, panels=3, band=2)
SHAPES = {
    "one block": Shape(band=2),
    "two blocks": BIG,
    "narrow": Shape(128, 128, stages=3, band=1),
    "one warpgroup": Shape(64, 256, stages=3),
    "one warpgroup, narrow": Shape(64, 128, stages=2),
    "by turns": Shape(128, 192, blocks=2, stages=3, panels=1, band=2, pingpong=True),
    "by turns, one block": Shape(64, 128, stages=2, pingpong=True),
}


SPLIT = ["one block", "two blocks", "by turns", "by turns, one block"]


def name(value: object) -> str | None:
    return value if isinstance(value, str) else None


@pytest.mark.sampled(24, each=("d", "shape"))
@pytest.mark.parametrize(("a_major", "b_major"), MAJORS)
@pytest.mark.parametrize("d", [f32, bf16, f16], ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_every_layout_and_type(a_major, b_major, d, shape):
    kind = f16 if d is f16 else bf16
    product = Product(kind, kind, d, a_major, b_major)
    assert emulated(built(product, shape, 4), product, 328, 392, 136) <= 1


# One stage, two, three; tiles that are whole, that have one row or 8 columns; fewer than CTAs.
SIZES = [(1, 8, 8), (64, 128, 64), (129, 264, 65 * 8), (300, 8, 192), (513, 520, 128)]


@pytest.mark.sampled(16, each="shape")
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_sizes(size, shape):
    product = Product(bf16, bf16, f32)
    assert emulated(built(product, shape, 3), product, *size) <= 1


@pytest.mark.sampled(36, each=("shape", "d"))
@pytest.mark.parametrize("ctas", [1, 2, 3, 5, 7, 8, 11])
@pytest.mark.parametrize("d", [f32, bf16], ids=str)
@pytest.mark.parametrize("shape", [SHAPES[which] for which in SPLIT], ids=SPLIT)
def test_tiles_that_are_split(ctas, d, shape):
    product = Product(bf16, bf16, d, "K", "K")
    kernel = built(product, replace(shape, split=True), ctas)
    assert emulated(kernel, product, 500, 392, 1024) <= 1


@pytest.mark.sampled(16)
@pytest.mark.parametrize("steps", [1, 3, 4, 7, 8, 9, 33])
@pytest.mark.parametrize("ctas", [3, 4, 8])
def test_few_stages_are_split_too(steps, ctas):
    product = Product(bf16, bf16, f32)
    shape = Shape(64, 128, stages=3, split=True)
    assert emulated(built(product, shape, ctas), product, 64, 256, steps * 64 - 8) <= 1


def shares_of(tiles: int, steps: int, ctas: int) -> list[np.ndarray]:
    """For each CTA, the (tile, first, steps) of what it makes, as the flags of a run show it."""
    product = Product(bf16, bf16, f32, "K", "K")
    shape = Shape(64, 128, stages=2, split=True)
    a, b = factors(product, 64, 128 * tiles, 64 * steps)
    emulation = built(product, shape, ctas).emulate(a, in_memory(b, turned=True))
    emulation.report.check()
    return [np.asarray(output) for output in emulation.outputs]


@pytest.mark.parametrize(
    ("tiles", "ctas"), [(1, 4), (2, 3), (3, 4), (4, 5), (5, 8), (4, 8), (9, 5)]
)
def test_how_many_sums_are_handed_over(tiles, ctas):
    """All CTAs of a tile say that they have given the others' sums; of whole tiles none."""
    steps = 16
    _, _, flags = shares_of(tiles, steps, ctas)
    rest = tiles % ctas
    shares = max(1, min(ctas // rest, MOST, steps // LEAST)) if rest else 1
    if shares == 1 and rest:
        fits = [q for q in FRACTIONS if -(-rest // q) * (q + 1) <= ctas]
        shares = 2 if fits else 1
    assert np.count_nonzero(flags) == (shares * rest if shares > 1 else 0)


@pytest.mark.sampled(24, each="split")
@pytest.mark.parametrize(("a_batched", "b_batched"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(("a_major", "b_major"), MAJORS)
def test_batches(a_batched, b_batched, split, a_major, b_major):
    product = Product(bf16, bf16, f32, a_major, b_major, a_batched, b_batched)
    kernel = built(product, Shape(64, 128, stages=3, split=split), 4)
    assert emulated(kernel, product, 72, 136, 520) <= 1


@pytest.mark.sampled(48, each="shape")
@pytest.mark.parametrize("kinds", [(e4m3, e4m3), (e5m2, e4m3), (e4m3, e5m2), (e5m2, e5m2)], ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("split", [False, True])
def test_eight_bits(kinds, shape, split):
    product = Product(*kinds, f32, "K", "K")
    kernel = built(product, replace(shape, split=split), 3)
    assert emulated(kernel, product, 200, 264, 1040, coarse=True) <= 1


# ---- clusters ------------------------------------------------------------------------------------

# Low tiles have their own file.
OTHERS = [cut.shape for cut in plan.OTHERS if not cut.shape.is_low]
CLUSTERS = [shape for shape in OTHERS if shape.shares]
IN_CLUSTERS = pytest.mark.parametrize("shape", CLUSTERS, ids=str)
DEEP = [shape for shape in OTHERS if shape.cluster == "depth"]
"""Clusters of which each CTA has a part of K."""
IN_DEPTH = pytest.mark.parametrize("shape", DEEP, ids=str)
IN_ANY_CLUSTERS = pytest.mark.parametrize("shape", [*CLUSTERS, *DEEP], ids=str)


@pytest.mark.sampled(48, each=("a_major", "b_major", "ctas"))
@IN_CLUSTERS
@pytest.mark.parametrize(("a_major", "b_major"), MAJORS)
@pytest.mark.parametrize("ctas", [2, 7, 18])
def test_clusters_of_every_layout(a_major, b_major, shape, ctas):
    """CTAs that are too many for whole clusters are not launched, and one cluster always is."""
    product = Product(bf16, bf16, bf16, a_major, b_major)
    shape = plan.with_boxes(shape, product)
    # What is shared is more than a box, or groups of eight, and columns are whole boxes, or half a
    # box is left.
    made = product.transposed if shape.transposed else product
    shared = [(shape.columns, made.b_major)] * (shape.below > 1)
    shared += [(shape.rows, made.a_major)] * (shape.beside > 1)
    several = all(lines > (8 if major == "K" else 64) for lines, major in shared)
    boxes = made.b_major == "K" or shape.columns % 32 == 0
    assert plan.fits(shape, product) == (several and boxes)
    if plan.fits(shape, product):
        kernel = built(product, replace(shape, band=2, stages=2), ctas)
        assert emulated(kernel, product, 328, 392, 200) <= 1


@pytest.mark.sampled(48, each="size")
@IN_CLUSTERS
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sizes_of_clusters(size, shape):
    """One CTA of a cluster may have no row or column at all."""
    product = Product(bf16, bf16, f32)
    if not plan.fits(shape, product):
        product = replace(product, b_major="K")
    assert emulated(built(product, shape, 4), product, *size) <= 1


@pytest.mark.sampled(56, each=("a_batched", "b_batched"))
@IN_ANY_CLUSTERS
@pytest.mark.parametrize(("a_batched", "b_batched"), [(True, True), (True, False), (False, True)])
def test_batches_of_clusters(a_batched, b_batched, shape):
    product = Product(bf16, bf16, f32, "K", "K", a_batched, b_batched)
    k = 392 if shape.cluster == "depth" else 136
    assert emulated(built(product, shape, 4), product, 72, 136, k) <= 1


@pytest.mark.sampled(32)
@IN_ANY_CLUSTERS
def test_clusters_of_eight_bits(shape):
    product = Product(e4m3, e5m2, f32, "K", "K")
    assert emulated(built(product, shape, 6), product, 200, 264, 1040, coarse=True) <= 1


@pytest.mark.sampled(12)
@IN_CLUSTERS
def test_clusters_fetch_what_they_share_once(shape):
    """Each CTA gives a part of the shared lines to all, in whole boxes; or has none to give."""
    text = built(Product(bf16, bf16, bf16, "K", "K"), shape).ptx()
    # With a cache policy, and without.
    loops = 2 if shape.rows == 64 and not shape.transposed else 1
    assert text.count(".multicast::cluster") == loops


@pytest.mark.sampled(16)
@IN_CLUSTERS
def test_clusters_have_no_fence_of_all_memory(shape):
    """The assembler makes one of every release at the cluster's scope, and of every fence."""
    text = built(Product(bf16, bf16, bf16, "K", "K"), shape).ptx()
    lines = [line.strip() for line in text.splitlines() if ".cluster" in line]
    # The latter makes mbarriers visible, and no instruction.
    ordering = [line for line in lines if ".release" in line or ".acquire" in line]
    assert ordering == ["fence.mbarrier_init.release.cluster;"]
    assert [line for line in lines if line.startswith("barrier.cluster")] == [
        "barrier.cluster.arrive.relaxed;",
        "barrier.cluster.wait;",
    ]
    assert "mbarrier.arrive.relaxed.cluster.shared::cluster.b64" in text
    assert "mbarrier.try_wait.parity.relaxed.cluster.shared.b64" in text


# ---- clusters of which each CTA has a part of K --------------------------------------------------


@pytest.mark.sampled(56, each="d")
@IN_DEPTH
@pytest.mark.parametrize(("a_major", "b_major"), MAJORS)
@pytest.mark.parametrize("d", [f32, bf16, f16], ids=str)
def test_parts_of_every_layout(a_major, b_major, d, shape):
    kind = f16 if d is f16 else bf16
    product = Product(kind, kind, d, a_major, b_major)
    assert plan.fits(shape, product)
    assert emulated(built(product, shape, 4), product, 200, 264, 456) <= 1


@pytest.mark.sampled(32, each="size")
@IN_DEPTH
@pytest.mark.parametrize("size", [*SIZES, (16, 72, 2056)], ids=str)
def test_sizes_of_parts(size, shape):
    """Of few stages most CTAs have what is beyond K."""
    product = Product(bf16, bf16, f32)
    assert emulated(built(product, shape, 4), product, *size) <= 1


@IN_DEPTH
def test_parts_of_integers(shape):
    product = Product(s8, u8, s32, "K", "K")
    assert integer_error(built(product, shape, 3), product, 72, 136, 1040) == 0


@pytest.mark.sampled(24)
@IN_DEPTH
def test_parts_in_several_orders(shape):
    """The CTAs of a cluster wait for each other before they read, and before they end."""
    product = Product(bf16, bf16, bf16, "K", "K")
    a, b = factors(product, 72, 136, 520)
    kernel = built(product, shape, 4)
    kernel.emulate(a, in_memory(b, turned=True), schedules=6).report.check()


def test_what_cannot_be_divided():
    """Groups of rows, columns in fewer eights than CTAs, and shapes that write a tile in parts."""
    deep = replace(DEEP[0], clustered=8)
    pairs = replace(
        Product(bf16, bf16, bf16), epilogue=Layer(activation="silu", paired=True).epilogue
    )
    assert plan.fits(deep, Product(bf16, bf16, bf16))
    assert not plan.fits(deep, pairs)
    assert not plan.fits(deep, Product(bf16, bf16, bf16, ragged="M"))
    for change in ({"split": True}, {"pingpong": True, "rows": 64}, {"blocks": 2, "rows": 128}):
        assert not plan.fits(replace(deep, **change), Product(bf16, bf16, bf16))


@pytest.mark.parametrize(
    ("batched", "rows", "count"),
    [
        ((False, False), 64, 1),
        ((True, True), 64, 1),
        ((False, True), 64, 1),
        ((True, False), 64, 0),
        ((False, False), 128, 0),
    ],
)
def test_b_that_is_read_once_leaves_the_cache_first(batched, rows, count):
    """Neither a matrix B that others of A are multiplied by as well, nor one of D of many rows."""
    shape = Shape(rows, 256)
    text = built(Product(bf16, bf16, bf16, "K", "K", *batched), shape).ptx()
    assert text.count("createpolicy") == count
    assert text.count("createpolicy.fractional.L2::evict_first.b64") == count
    assert text.count(".L2::cache_hint [") == count  # of B alone: one box of 256 columns


@pytest.mark.parametrize("cluster", [None, "rows"])
@pytest.mark.parametrize(("m", "n", "k"), [(40, 264, 136), (136, 264, 136)])
def test_few_rows_and_more_with_one_kernel(cluster, m, n, k):
    """B is read once, and several times."""
    product = Product(bf16, bf16, f32, "K", "K")
    shape = Shape(64, 256, cluster=cluster)
    assert emulated(built(product, shape, 4), product, m, n, k) <= 1


def integer_error(kernel, product, m, n, k):
    """The largest error of a kernel's sums, which are in its results."""
    a, b = factors(product, m, n, k)
    emulation = kernel.emulate(a, in_memory(b, turned=True))
    emulation.report.check()
    exact = a.astype(np.int64) @ b.astype(np.int64)
    return np.max(np.abs(np.asarray(emulation.outputs[0]).astype(np.int64) - exact))


@pytest.mark.sampled(24, each="shape")
@pytest.mark.parametrize("kinds", list(itertools.product((s8, u8), repeat=2)), ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("split", [False, True])
def test_integers(kinds, shape, split):
    product = Product(*kinds, s32, "K", "K")
    kernel = built(product, replace(shape, split=split), 3)
    assert integer_error(kernel, product, 200, 264, 1040) == 0


@pytest.mark.parametrize("kinds", list(itertools.product((s8, u8), repeat=2)), ids=str)
def test_integers_by_mma_sync(kinds):
    product = Product(*kinds, s32, "K", "K")
    assert integer_error(mma_sync.build(product), product, 136, 264, 208) == 0


@pytest.mark.sampled(20, each="d")
@pytest.mark.parametrize("cut", plan.CUTS, ids=lambda cut: str(cut.shape))
@pytest.mark.parametrize("d", [s32, bf16], ids=str)
def test_multiplications_of_integers_stay_asynchronous(cut, d):
    cubin = built(Product(s8, s8, d, "K", "K"), cut.shape).cubin()
    assert cubin.spill_stores == cubin.spill_loads == 0
    assert not cubin.warnings, cubin.log
    assert "serialized" not in cubin.log


def tf32_error(kernel, product, m, n, k):
    """The largest error over the sum of absolute products, of numbers that tf32 has."""
    a, b = ((x.view(np.uint32) & 0xFFFFE000).view(np.float32) for x in factors(product, m, n, k))
    emulation = kernel.emulate(a, in_memory(b, turned=True))
    emulation.report.check()
    x, y = a.astype(np.float64), b.astype(np.float64)
    return np.max(np.abs(np.asarray(emulation.outputs[0]) - x @ y) / (np.abs(x) @ np.abs(y)))


@pytest.mark.sampled(16, each="shape")
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("split", [False, True])
def test_tf32(shape, split):
    product = Product(f32, f32, f32, "K", "K")
    kernel = built(product, replace(shape, split=split), 3)
    assert tf32_error(kernel, product, 200, 264, 260) < 2.0**-20


def test_tf32_by_mma_sync():
    product = Product(f32, f32, f32, "K", "K")
    assert tf32_error(mma_sync.build(product), product, 136, 264, 104) < 2.0**-20


@pytest.mark.sampled(20)
@pytest.mark.parametrize("cut", plan.CUTS, ids=lambda cut: str(cut.shape))
def test_multiplications_of_tf32_stay_asynchronous(cut):
    cubin = built(Product(f32, f32, f32, "K", "K"), cut.shape).cubin()
    assert cubin.spill_stores == cubin.spill_loads == 0
    assert not cubin.warnings, cubin.log
    assert "serialized" not in cubin.log


@pytest.mark.sampled(24, each="d")
@pytest.mark.parametrize(("a_major", "b_major"), MAJORS)
@pytest.mark.parametrize("d", [f32, bf16, f16], ids=str)
@pytest.mark.parametrize("batches", list(itertools.product([False, True], repeat=2)), ids=str)
def test_mma_sync(a_major, b_major, d, batches):
    kind = f16 if d is f16 else bf16
    product = Product(kind, kind, d, a_major, b_major, *batches)
    assert emulated(mma_sync.build(product), product, 136, 264, 104, 2) <= 1


@pytest.mark.parametrize("size", [(1, 8, 8), (8, 8, 40), (257, 8, 16)], ids=str)
def test_sizes_of_mma_sync(size):
    product = Product(bf16, bf16, f32)
    assert emulated(mma_sync.build(product), product, *size) <= 1


def test_results_are_the_same_in_every_run_and_with_any_threads():
    product = Product(bf16, bf16, f32, "K", "K")
    a, b = factors(product, 200, 392, 1024)
    kernel = built(product, Shape(split=True), 7)
    runs = [kernel.emulate(a, in_memory(b, turned=True), threads=n) for n in (1, 2, 2, 1)]
    first = np.asarray(runs[0].outputs[0])
    assert all(np.array_equal(first, np.asarray(run.outputs[0])) for run in runs)


@pytest.mark.parametrize("k", [520, 904], ids="K = {}".format)
@pytest.mark.parametrize("columns", [128, 256])
def test_shared_tiles_after_whole_ones(k, columns):
    """Of 904 three CTAs make the last tile: the first unit that one of them writes has the panel of
    shared memory that the last one of its tile before has."""
    product = Product(bf16, bf16, bf16)
    rows, across = 300, 4 * columns + 8
    assert (
        emulated(built(product, Shape(128, columns, split=True), 7), product, rows, across, k) <= 1
    )


# ---- any order -----------------------------------------------------------------------------------


@pytest.mark.sampled(48, each=("b_major", "seed"))
@pytest.mark.parametrize("shape", [cut.shape for cut in (*plan.CUTS, *plan.OTHERS)], ids=str)
@pytest.mark.parametrize("b_major", ["K", "MN"])
@pytest.mark.parametrize("seed", [1, 2])
def test_any_order_of_warps_and_copies(shape, b_major, seed):
    """Warps take turns, and copies arrive, as the seed has it."""
    product = Product(bf16, bf16, bf16, b_major=b_major)
    if not plan.fits(shape, product):
        product = replace(product, b_major="K")
    rows, columns = (shape.rows, 2 * shape.columns + 8) if shape.is_low else (200, 392)
    a, b = factors(product, rows, columns, 1032)
    given = in_memory(b, turned=product.b_major == "K")
    run = built(product, shape, 7).emulate(a, given, seed=seed, completion="random")
    run.report.check()
    assert error(product, run.outputs[0], a, b) <= 1


# ---- tiles between panels ------------------------------------------------------------------------

BETWEEN = [shape for shape in OTHERS if shape.columns % 64 and not shape.transposed]
"""The last panel of a result is a part of one, and B by rows of K has boxes with more columns."""
HALF = [shape for shape in BETWEEN if shape.columns % 64 == 32 and shape.cluster is None]


def layouts(shape):
    """A's and B's: columns that are no half panels are for B as (N, K)."""
    products = [Product(bf16, bf16, bf16, *majors) for majors in MAJORS]
    found = [
        (product.a_major, product.b_major)
        for product in products
        if plan.fits(plan.with_boxes(shape, product), product)
    ]
    assert found
    assert len(found) == len(MAJORS) or {b for _, b in found} == {"K"}
    return found


EACH_BETWEEN = [(shape, *majors) for shape in BETWEEN for majors in layouts(shape)]


@pytest.mark.sampled(160, each=("kind", "a_major", "b_major"))
@pytest.mark.parametrize(("shape", "a_major", "b_major"), EACH_BETWEEN, ids=str)
@pytest.mark.parametrize("kind", [bf16, f16], ids=str)
@pytest.mark.parametrize("columns", [152, 456])
def test_tiles_between_panels(shape, a_major, b_major, kind, columns):
    product = Product(kind, kind, kind, a_major, b_major)
    assert emulated(built(product, shape, 4), product, 328, columns, 200) <= 1


@pytest.mark.parametrize("shape", HALF, ids=str)
@pytest.mark.parametrize("a_major", ["K", "MN"])
@pytest.mark.parametrize("left", [0, 8, -8])
def test_tiles_that_begin_between_lines_have_their_first_half_box_last(shape, a_major, left):
    """Every second whole tile of B by rows of K; one that the matrix has a part of does not."""
    product = Product(bf16, bf16, bf16, a_major, "MN")
    assert "_map1" in built(product, shape, 4).ptx()
    assert emulated(built(product, shape, 4), product, 136, 4 * shape.columns + left, 200) <= 1
    turned = replace(shape, transposed=True)
    product = replace(product, a_major="MN", b_major=a_major)
    if shape.columns <= 160:
        assert emulated(built(product, turned, 4), product, 2 * shape.columns + left, 136, 72) <= 1


@pytest.mark.sampled(40, each=("transposed", "d"))
@pytest.mark.parametrize("columns", range(8, 264, 8))
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("d", [bf16, f32], ids=str)
def test_every_number_of_columns(columns, transposed, d):
    """Results of 32 bits are what devices make that have parts of K."""
    shape = Shape(64, columns, stages=3, panels=1, transposed=transposed)
    product = Product(bf16, bf16, d, "K", "K")
    assert plan.fits(shape, replace(product, d=bf16))
    assert emulated(hopper.build(product, shape, 4), product, 136, 2 * columns + 8, 72) <= 1


@pytest.mark.sampled(32, each=("transposed", "count"))
@pytest.mark.parametrize("columns", [24, 40, 72, 104, 136, 152])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("transposed", [False, True])
def test_ctas_that_fetch_unequal_parts_for_each_other(columns, count, transposed):
    """An odd number of groups of eight lines along K: the first CTAs fetch one group more."""
    shape = Shape(
        64, columns, stages=3, panels=1, cluster="rows", clustered=count, transposed=transposed
    )
    product = Product(bf16, bf16, bf16, "K", "K")
    assert plan.fits(shape, product)
    sizes = (2 * columns + 8, 328) if transposed else (328, 2 * columns + 8)
    assert emulated(built(product, shape, 10), product, *sizes, 200) <= 1


@pytest.mark.parametrize("shape", HALF, ids=str)
def test_tiles_between_panels_of_eight_bits_and_batches(shape):
    product = Product(e4m3, e5m2, bf16, "K", "K")
    a, b = factors(product, 200, 464, 272)
    found, usual = (
        np.asarray(built(product, each, 3).emulate(a, in_memory(b, turned=True)).outputs[0])
        for each in (shape, Shape())
    )
    assert np.array_equal(found, usual)
    product = Product(bf16, bf16, bf16, "K", "MN", a_batched=True, b_batched=True)
    assert emulated(built(product, shape, 3), product, 72, 264, 136) <= 1


@pytest.mark.parametrize("shape", HALF, ids=str)
def test_what_tiles_between_panels_are_not_for(shape):
    """Results of another width, a pair of matrices, groups, block scales, clusters along K."""
    fits = plan.fits
    assert fits(shape, Product(bf16, bf16, bf16))
    assert fits(shape, Product(bf16, bf16, f32, b_major="K"))  # whole panels of 32 columns
    assert not fits(shape, Product(bf16, bf16, f32))  # but no whole boxes of B
    assert not fits(shape, Product(bf16, bf16, e4m3))
    assert not fits(shape, Product(bf16, bf16, bf16, b_batched=True, ragged="M"))
    assert not fits(shape, Product(bf16, bf16, bf16, rounded=True))
    assert not fits(replace(shape, cluster="depth"), Product(bf16, bf16, bf16))
    assert fits(replace(shape, columns=shape.columns + 8), Product(bf16, bf16, bf16, b_major="K"))
    assert not fits(replace(shape, columns=shape.columns + 8), Product(bf16, bf16, bf16))
    assert not fits(replace(shape, stages=12), Product(bf16, bf16, bf16))  # no room
    assert not fits(
        replace(shape, columns=shape.columns + 4), Product(bf16, bf16, bf16, b_major="K")
    )


# ---- D transposed --------------------------------------------------------------------------------

TRANSPOSED = [shape for shape in OTHERS if shape.transposed]


@pytest.mark.sampled(240, each=("a_major", "d"))
@pytest.mark.parametrize("shape", TRANSPOSED, ids=str)
@pytest.mark.parametrize(("a_major", "b_major"), MAJORS)
@pytest.mark.parametrize(("kind", "d"), [(bf16, bf16), (f16, f16), (bf16, f32)], ids=str)
@pytest.mark.parametrize("batches", [(False, False), (True, True), (True, False)], ids=str)
def test_transposed(shape, a_major, b_major, kind, d, batches):
    product = Product(kind, kind, d, a_major, b_major, *batches)
    if not plan.fits(shape, replace(product, d=kind)):
        # Rows come in whole boxes then, and so do columns that CTAs fetch for each other.
        assert a_major == "MN" or (b_major == "MN" and shape.cluster == "columns")
        return
    assert emulated(built(product, shape, 4), product, 328, 456, 200, 2) <= 1


@pytest.mark.sampled(16, each=("d", "columns"))
@pytest.mark.parametrize("columns", [64, 88, 160])
@pytest.mark.parametrize("d", [bf16, f32], ids=str)
@pytest.mark.parametrize("ctas", [3, 7])
def test_transposed_tiles_that_are_split(columns, d, ctas):
    shape = Shape(128, columns, stages=4, panels=1, split=True, transposed=True)
    product = Product(bf16, bf16, d)
    assert emulated(hopper.build(product, shape, ctas), product, 200, 392, 1040) <= 1


@pytest.mark.parametrize("sizes", [(1, 8, 8), (8, 16, 8), (9, 520, 1000), (257, 64, 520)], ids=str)
def test_sizes_of_transposed(sizes):
    """Rows of A may be any number; in memory those of B, D and A are multiples of 16 bytes."""
    product = Product(bf16, bf16, bf16)
    shape = Shape(64, 256, stages=4, panels=1, transposed=True)
    assert emulated(built(product, shape, 5), product, *sizes) <= 1


@pytest.mark.parametrize("shape", TRANSPOSED, ids=str)
def test_what_transposed_tiles_are_not_for(shape):
    """Epilogues, groups, promoted sums, other widths than 16 bits, low tiles, clusters along K."""
    fits, product = plan.fits, Product(bf16, bf16, bf16, "K", "K")
    assert fits(shape, product)
    assert not fits(shape, replace(product, epilogue=SCALED, batches=(False, False)))
    assert not fits(shape, Product(bf16, bf16, bf16, b_batched=True, ragged="M"))
    assert not fits(shape, replace(product, rounded=True))
    assert not fits(shape, replace(product, d=f32))
    assert not fits(shape, Product(e4m3, e4m3, bf16, "K", "K"))
    assert not fits(replace(shape, rows=16), product)
    assert not fits(replace(shape, cluster="depth"), product)


# ---- the assembler -------------------------------------------------------------------------------


@pytest.mark.sampled(96, each=("a_major", "b_major"))
@pytest.mark.parametrize("cut", (*plan.CUTS, *plan.OTHERS), ids=lambda cut: str(cut.shape))
@pytest.mark.parametrize(("a_major", "b_major"), MAJORS)
def test_multiplications_stay_asynchronous(cut, a_major, b_major):
    """The assembler says so where it has to run one after another, and kernels spill nothing."""
    product = Product(bf16, bf16, bf16, a_major, b_major)
    if not plan.fits(cut.shape, product):
        whole = cut.shape.columns % 64 == 0
        assert cut.shape.cluster or (cut.shape.is_low and a_major == "MN") or not whole
        return
    kernel = built(product, cut.shape)
    cubin = kernel.cubin()
    assert cubin.spill_stores == cubin.spill_loads == 0
    assert not cubin.warnings, cubin.log
    assert "serialized" not in cubin.log


@pytest.mark.sampled(80, each=("a_major", "b_major", "d"))
@pytest.mark.parametrize("shape", [*BETWEEN, *TRANSPOSED], ids=str)
@pytest.mark.parametrize(("a_major", "b_major"), MAJORS)
@pytest.mark.parametrize("d", [bf16, f32], ids=str)
def test_what_fits_has_room(shape, a_major, b_major, d):
    """Whole boxes and sums in 32 bits, as devices have them that have parts of K, need more."""
    product = Product(bf16, bf16, bf16, a_major, b_major)
    if plan.fits(shape, product):
        built(replace(product, d=d), shape).ptx()
