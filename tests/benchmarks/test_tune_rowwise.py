"""`make tune`: the limits of row-wise operations, from both kernels on their sides."""

from __future__ import annotations

import importlib
import random
import runpy
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

import pyptx
from pyptx.ops.rowwise import measured, plan, plan_sums
from pyptx.ops.rowwise.measured import Limits

ROOT = Path(__file__).parents[2]
LIMITS = [field.name for field in fields(Limits)]


@pytest.fixture(scope="module")
def tune(loaded) -> ModuleType:
    return loaded("tune_rowwise", "tools/tune_rowwise.py")


@pytest.fixture(scope="module")
def bench(loaded, monkeypatch_module) -> ModuleType:
    monkeypatch_module.syspath_prepend(str(ROOT / "benchmarks"))
    return loaded("row_limits", "benchmarks/row_limits.py")


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


# ---- what is measured ----------------------------------------------------------------------------


@pytest.mark.parametrize("limit", LIMITS)
def test_the_two_kernels_are_those_of_the_plan(bench, limit):
    """On each side of a limit the plan takes what is measured as that side's, and they differ."""
    value = getattr(measured.LIMITS, limit)
    points = list(bench.points(limit, 132))
    below = [point for point in points if point.size <= value]
    above = [point for point in points if point.size > value]
    assert below
    assert above or limit == "held_regular"  # above it no kernel has registers for a row
    for point in (below[-1], *above[:1]):
        few, many, chosen = (
            launched(bench, point, limits)
            for limits in ({limit: bench.ALWAYS}, {limit: bench.NEVER}, {})
        )
        assert few != many
        assert chosen == (few if point in below else many)


def launched(bench, point, limits):
    """The kernels that a call launches, and nothing of those that it might."""

    def either(op, rows, most, few, many, results=()):
        del op, rows, results
        return few if point.count <= most else many

    with (
        mock.patch.object(plan, "either", either),
        mock.patch.object(plan_sums, "either", either),
        pyptx.target("sm_90a"),
    ):
        return bench.lowered(point, limits, bench.structures(point)).as_text()


def test_both_kernels_compute_the_same(bench):
    """At a size that the emulator takes; and kernels that do not are noticed."""
    (point, *_) = (replace(p, count=3) for p in bench.points("held", 132))
    arrays = bench.arguments(point)
    calls = [bench.compiled(point, side, arrays) for side in ("few", "many")]
    found = [call() for call in calls]
    bench.same(*found, point)
    with pytest.raises(RuntimeError, match="disagree"):
        bench.same(found[0], found[1] + 1, point)


def test_some_limits_alone(bench):
    options = importlib.import_module("norm_cases").Options
    assert bench.named(options()) == tuple(LIMITS)
    assert bench.named(options(limits=("four", "held"))) == ("four", "held")
    with pytest.raises(SystemExit, match=r"^five, six: limits are direct, direct_late, "):
        bench.named(options(limits=("six", "direct", "five")))


def test_a_change_of_limits_ends(bench):
    before = measured.LIMITS
    with bench.forced({"direct": 1}):
        assert replace(before, direct=1) == measured.LIMITS
    assert measured.LIMITS is before


# ---- what becomes of it --------------------------------------------------------------------------


def pairs_of(tune, limits, noise=0.0, seed=0):
    """As of a GPU with these limits: each kernel loses a fifth on the wrong side, at 12 sizes."""
    draw = random.Random(seed)
    found = []
    for name, limit in asdict(limits).items():
        for step in range(-6, 6):
            size = limit * 1.5 ** (step + 0.5)
            wrong = 1.2 * (1 + draw.uniform(-noise, noise))
            few, many = (1.0, wrong) if size <= limit else (wrong, 1.0)
            found.append(tune.Pair(name, size, 10 * few, 10 * many))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_limits_of_another_gpu_are_found(tune, seed):
    draw = random.Random(seed)
    other = Limits(**{
        name: type(value)(value * 2 ** draw.uniform(-1.5, 1.5))
        for name, value in asdict(measured.LIMITS).items()
    })  # fmt: skip
    made = tune.tuned(pairs_of(tune, other, 0.1, seed), measured.LIMITS)
    for name, value in asdict(made).items():
        assert value == pytest.approx(getattr(other, name), rel=0.23)  # between two sizes
        assert type(value) is type(getattr(measured.LIMITS, name))


def test_a_limit_that_is_as_good_as_any_stays(tune):
    assert tune.tuned(pairs_of(tune, measured.LIMITS), measured.LIMITS) == measured.LIMITS
    assert tune.tuned([], measured.LIMITS) == measured.LIMITS
    same = [tune.Pair("direct", size, 5.0, 5.0 * 1.002) for size in (1e6, 1e7, 1e8)]
    assert tune.tuned(same, measured.LIMITS) == measured.LIMITS


def test_a_kernel_that_is_never_quicker_is_never_taken(tune):
    always = [tune.Pair("four", size, 2.0, 1.0) for size in (0.1, 0.5, 1.0)]
    assert tune.tuned(always, measured.LIMITS).four < 0.1
    never = [tune.Pair("four", size, 1.0, 2.0) for size in (0.1, 0.5, 1.0)]
    assert tune.tuned(never, measured.LIMITS).four >= 1.0


def test_measurements_become_pairs(tune):
    notes = {"limit": "direct", "size": 64, "operation": "softmax", "rows": 2, "columns": 16,
             "dtype": "f32"}  # fmt: skip
    summaries = [
        {"median": 3.0, "notes": {**notes, "side": "few"}},
        {"median": 5.0, "notes": {**notes, "side": "many"}},
    ]
    assert tune.read({"measurements": summaries}) == [tune.Pair("direct", 64, 3.0, 5.0)]


def test_the_module_that_is_written_has_the_limits(tune, tmp_path):
    other = replace(measured.LIMITS, direct=12345, four=0.75)
    text = tune.written(other, "NVIDIA Other")
    (tmp_path / "measured.py").write_text(text)
    namespace = runpy.run_path(str(tmp_path / "measured.py"), run_name="pyptx._written")
    assert namespace["DEVICE"] == "NVIDIA Other"
    assert asdict(namespace["LIMITS"]) == asdict(other)
    assert tune.written(measured.LIMITS, measured.DEVICE) == tune.TARGET.read_text()
