"""`make tune`: the times of matrix products are fitted to what was measured."""

from __future__ import annotations

import json
import random
import runpy
from dataclasses import astuple, replace
from pathlib import Path
from types import ModuleType

import pytest

from pyptx.ops.tensor_core import measured, plan
from pyptx.ops.tensor_core.measured import Common
from pyptx.ops.tensor_core.shape import Product
from pyptx.ops.tensor_core.times import Call, expected_ns
from pyptx.types import bf16

ROOT = Path(__file__).parents[2]
SIZES = [
    (m, n, k)
    for m in (1, 24, 64, 300, 2048, 8192)
    for n, k in ((4096, 4096), (5000, 3000), (8192, 1024), (1024, 28672))
]


@pytest.fixture(scope="module")
def tune(loaded) -> ModuleType:
    return loaded("tune_matmul", "tools/tune_matmul.py")


def another_gpu(tune, seed):
    """Times that each are up to twice, or down to half, of the H200's, with its tensor cores."""
    draw = random.Random(seed)

    def other(number):
        return number * 2 ** draw.uniform(-1, 1)

    common = Common(*(other(number) for number in astuple(measured.COMMON)))
    common = replace(common, overlap=draw.uniform(1.5, 4), share_power=draw.uniform(1, 2))
    times, promoted = (
        {
            cut.shape.tile: (
                max(other(cut.stage), tune.products_ns(cut.shape.tile)),
                other(cut.tile),
            )
            for cut in cuts
        }
        for cuts in ((*plan.CUTS, *plan.OTHERS), (*plan.PROMOTED_CUTS, *plan.PROMOTED_OTHERS))
    )
    return tune.Fit(common, times, promoted)


def measurements(tune, made, noise=0.0):
    draw = random.Random(1)
    found = []
    for kind in ("bf16", "blocks"):
        product = tune.PRODUCTS[kind]
        every = plan.candidates(product)
        # Of every third tile: a fit takes the square of their number.
        some = set(sorted({cut.shape.tile for cut in every}, key=str)[::3])
        for sizes in SIZES:
            for cut in plan.fitting(every, product, sizes[0]):
                if cut.shape.tile not in some:
                    continue
                one = tune.Measurement(kind, cut.shape, Call(product, sizes), 1.0)
                took = made.expected(one) * (1 + draw.uniform(-noise, noise))
                found.append(replace(one, took=took))
    return found


@pytest.mark.parametrize(
    ("seed", "noise"),
    [
        (0, 0.05),
        *(pytest.param(*p, marks=pytest.mark.sweep) for p in ((0, 0), (1, 0), (1, 0.05), (2, 0))),
    ],
)
def test_a_gpu_that_behaves_as_the_model_is_met(tune, seed, noise):
    made = another_gpu(tune, seed)
    far, slower = tune.quality(tune.fit(measurements(tune, made, noise)), measurements(tune, made))
    assert far < (0.05 if noise else 0.02)
    assert slower < (0.02 if noise else 0.005)


def test_the_module_that_is_written_has_the_numbers(tune, tmp_path):
    made = another_gpu(tune, 5)
    fastest = {(16, "MN", False, 64, 4096, 128): ((64, 128, "columns", 2, False, False), True)}
    text = tune.written(made, fastest, "NVIDIA Other")
    (tmp_path / "measured.py").write_text(text)
    namespace = runpy.run_path(str(tmp_path / "measured.py"), run_name="pyptx._written")
    assert namespace["DEVICE"] == "NVIDIA Other"
    assert namespace["FASTEST"] == fastest
    assert astuple(namespace["COMMON"]) == pytest.approx(astuple(made.common), rel=1e-3)
    for name, times in (("TIMES", made.times), ("PROMOTED_TIMES", made.promoted)):
        read = namespace[name]
        assert list(read) == sorted(times, key=lambda tile: (*tile[:2], tile[2] or "", *tile[3:]))
        for tile, pair in times.items():
            assert read[tile] == pytest.approx(pair, abs=0.06)
    # and once more it is the same text
    again = tune.Fit(namespace["COMMON"], namespace["TIMES"], namespace["PROMOTED_TIMES"])
    assert tune.written(again, fastest, "NVIDIA Other") == text
    # and choices are made by these digits
    rounded = tune.as_written(made)
    assert astuple(rounded.common) == astuple(again.common)
    assert (rounded.times, rounded.promoted) == (again.times, again.promoted)


@pytest.fixture(scope="module")
def records(tune):
    return [json.loads(path.read_text()) for path in tune.recorded()]


@pytest.mark.sweep
def test_no_other_numbers_are_much_closer_to_the_recorded_measurements(tune, records):
    known = tune.joined(records)
    own = tune.Fit(measured.COMMON, measured.TIMES, measured.PROMOTED_TIMES)
    far, _ = tune.quality(own, known, measured.FASTEST)
    best_far, _ = tune.quality(tune.fit(known), known)
    assert far < best_far + 0.002


def test_the_numbers_in_the_product_are_those_of_the_recorded_measurements(tune, records):
    assert records
    known = tune.joined(records)
    assert {one.kind for one in known} == set(tune.PRODUCTS)
    assert {record["device"]["name"] for record in records} == {measured.DEVICE}
    own = tune.Fit(measured.COMMON, measured.TIMES, measured.PROMOTED_TIMES)
    far, slower = tune.quality(own, known, measured.FASTEST)
    assert far < 0.08
    assert slower < 0.02
    # Where the expected times choose badly, the measurement is listed.
    assert tune.exceptions(own, known) == measured.FASTEST
    for each in tune.by_size(known):
        call = each[0].call
        chosen = plan.choose(call.product, *call.sizes)
        (took,) = (
            one.took for one in each if (one.tile, one.shape.split) == (chosen.tile, chosen.split)
        )
        assert took <= 1.011 * min(one.took for one in tune.plausible(own, each))


def test_no_stage_is_expected_to_take_less_than_its_products(tune):
    """An H100 does 989 TFLOP/s at 1.83 GHz, which 132 SMs have as 4096 operations a clock each."""
    for times in (measured.TIMES, measured.PROMOTED_TIMES):
        for (rows, columns, *others), (stage, _) in times.items():
            operations = 2 * max(rows, 64) * columns * 64
            assert tune.products_ns((rows, columns, *others)) == pytest.approx(
                operations / 4096 / 1.98
            )
            assert stage > operations / 4096 / 1.98 - 0.1


def test_long_products_have_shapes_that_are_expected_to_be_fast(tune):
    """A hot GPU makes slow ones as fast as others."""
    product = tune.PRODUCTS["bf16"]
    made = tune.Fit(measured.COMMON, measured.TIMES, measured.PROMOTED_TIMES)
    cuts = {cut.shape.tile: cut.shape for cut in plan.CUTS if not cut.shape.split}
    wide, narrow = (cuts[128, columns, None, 1, False, False] for columns in (256, 128))

    def some(*sizes):
        return [
            tune.Measurement("bf16", shape, plan.Call(product, sizes), took)
            for shape, took in ((wide, 1000.0), (narrow, 900.0))
        ]

    long, short = some(8192, 8192, 8192), some(2048, 2048, 2048)
    assert tune.plausible(made, long) == long[:1]
    assert tune.plausible(made, short) == short
    assert set(tune.exceptions(made, long).values()) == {(wide.tile, False)}
    expected = {one.tile: made.expected(one) for one in long}
    assert 250_000 < 1.05 * expected[wide.tile] < expected[narrow.tile]


def test_a_later_record_replaces_the_products_that_it_has(tune):
    def record(took, *sizes):
        shape = plan.CUTS[0].shape
        notes = {"kind": "bf16", "rows": shape.rows, "columns": shape.columns}
        notes |= {"blocks": shape.blocks, "stages": shape.stages, "split": shape.split}
        return {"measurements": [
            {"median": took, "notes": {**notes, "m": m, "n": 128, "k": 64}} for m in sizes
        ]}  # fmt: skip

    found = tune.joined([record(1.0, 16, 32), record(2.0, 32, 64)])
    assert {one.call.sizes[0]: one.took for one in found} == {16: 1000, 32: 2000, 64: 2000}
    names = [path.name for path in tune.recorded()]
    times = [json.loads(path.read_text())["environment"]["time"] for path in tune.recorded()]
    assert times == sorted(times)
    assert names[-1] == "matmul_shapes-nvidia-h200.json"


def test_lines_that_are_no_multiple_of_128_bytes_are_two_requests():
    product = Product(bf16, bf16, bf16)
    (narrow,) = (c for c in plan.CUTS if (c.shape.rows, c.shape.columns) == (128, 128)
                 and not c.shape.split)  # fmt: skip
    times = [expected_ns(narrow, Call(product, (8192, 8192, k))) / k for k in (4096, 4104)]
    assert 1.3 < times[1] / times[0] < 2
    shape = plan.choose(product, 4096, 5000, 3000)
    assert (shape.rows, shape.columns, shape.cluster) == (128, 256, "rows")


@pytest.mark.parametrize(("unit", "chosen"), [(1e3, 1), (1e6, 0)], ids=["short", "long"])
def test_of_equal_kernels_the_one_that_is_made_soonest(tune, unit, chosen):
    """Which writes its sums in fewest copies; a long product has the fastest."""
    product, call = tune.PRODUCTS["bf16"], Call(tune.PRODUCTS["bf16"], (2048, 2048, 2048))
    shapes = [
        plan.Shape(256, 128, blocks=2), plan.Shape(128, 256), plan.Shape(128, 192),
        plan.Shape(128, 256, split=True),
    ]  # fmt: skip
    assert all(plan.fits(shape, product) for shape in shapes[:2])
    times = (1.0, 1.004, 1.006, 1.001)
    every = [
        tune.Measurement("bf16", shape, call, unit * time)
        for shape, time in zip(shapes, times, strict=True)
    ]
    assert tune.quickest(every) is every[chosen]
