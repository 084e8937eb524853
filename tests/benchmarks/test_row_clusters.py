"""`make tune`: the rates of clusters, from what many shapes of them took."""

from __future__ import annotations

import importlib
import json
import math
import random
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import pytest

import pyptx
from pyptx import device
from pyptx._target import Target
from pyptx.ops.rowwise import cluster_ends, cluster_rates, measured
from pyptx.ops.rowwise.cluster_rates import Work
from pyptx.ops.rowwise.strategies import cluster
from pyptx.types import bf16

ROOT = Path(__file__).parents[2]
H200 = device.of(Target.parse("sm_90a"))


@pytest.fixture(scope="module")
def tune(loaded) -> ModuleType:
    return loaded("tune_rowwise", "tools/tune_rowwise.py")


@pytest.fixture(scope="module")
def bench(loaded) -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield loaded("row_clusters", "benchmarks/row_clusters.py")


# ---- what is measured ----------------------------------------------------------------------------


def test_every_case_has_shapes_that_fit(bench):
    """Of both kinds of rows there are enough to fit rates to; each shape is legal."""
    counts = {True: 0, False: 0}
    for case in bench.cases():
        rows = bench.rows_of(case.op, case.columns, H200)
        found = list(bench.shapes(case.op, rows))
        assert len(found) == len(set(found)) >= 3
        for shape in found:
            assert H200.allows(cluster.needs(case.op, rows, shape))
            assert shape.teams % rows.alignments == 0
        assert len({bench.named(shape) for shape in found}) == len(found)
        counts[rows.aligned] += len(found)
    assert min(counts.values()) > 300


def test_what_is_chosen_is_among_them(bench):
    """But for shapes with other threads: a rate says nothing of what is not measured."""
    for case in bench.cases():
        rows = bench.rows_of(case.op, case.columns, H200)
        fastest = cluster_rates.fastest if rows.aligned else cluster_ends.fastest
        for given in bench.shapes(case.op, rows):
            assert fastest(case.op, rows, given) in list(bench.shapes(case.op, rows))


def test_a_case_is_measured(bench, monkeypatch):
    """At a size that the emulator takes; a shape with another result is noticed."""
    case = bench.Point("row_clusters", "layer_norm", bf16, 2057, 9, 2057)
    shapes = [cluster.Shape(8, 2, threads, 3, 1, shared=False) for threads in (64, 96)]
    monkeypatch.setattr(bench, "shapes", lambda op, rows: iter(shapes))
    activity = importlib.import_module("chrome_trace").Activity

    def timed(calls: Any, count: int, *, warm: int) -> Any:
        assert list(calls) == shapes
        assert (count, warm) == (bench.CALLS, bench.WARM)
        return {s: [[activity("kernel", 0.0, 5.0 + i, 1)]] * count for i, s in enumerate(calls)}

    with pyptx.target("sm_90a"):
        first, second = bench.measured(case, bench.calls(case, H200), timed, on=H200)
    assert (first.median, second.median) == (5.0, 6.0)
    assert first.name == "layer_norm 9 x 2057 bf16 by 8 x 2 x 64, 3 rows, registers"
    rows = bench.rows_of(case.op, 2057, H200)
    work = Work.of(case.op, rows, shapes[0])
    assert {name: first.notes[name] for name in asdict(work)} == asdict(work)
    assert first.notes["ends"] is True
    json.dumps(first.notes)


def test_shapes_that_disagree_are_noticed(bench, monkeypatch):
    """By more than roundings, or by a NaN."""
    case = bench.Point("row_clusters", "layer_norm", bf16, 2057, 9, 2057)
    right = jax.numpy.ones((9, 2057), jax.numpy.bfloat16)
    bench.same(right, right * 1.01, case)
    for wrong in (right.at[8, 2056].set(1.1), right.at[0, 0].set(jax.numpy.nan)):
        with pytest.raises(RuntimeError, match="disagree"):
            bench.same(right, wrong, case)
        given = iter((right, wrong))
        shapes = [cluster.Shape(8, 2, threads, 3, 1, shared=False) for threads in (64, 96)]
        monkeypatch.setattr(bench, "shapes", lambda op, rows, shapes=shapes: iter(shapes))
        monkeypatch.setattr(bench, "compiled", lambda *_, given=given: partial(next, given))
        with pytest.raises(RuntimeError, match="disagree"):
            bench.calls(case, H200)


def test_a_case_that_fails_ends_the_benchmark(bench, monkeypatch):
    """Rates of the others alone would be of other lengths."""
    options = importlib.import_module("norm_cases").Options()

    def failing(result: Any, options: Any, titles: Any, *_: Any) -> None:
        assert options.budget == math.inf
        result.settings["failed"] = {titles[0]: "disagree"}

    monkeypatch.setattr(importlib.import_module("by_points"), "by_builder", failing)
    with pytest.raises(RuntimeError, match=r"not measured: \{.*: 'disagree'\}"):
        bench.measure({"name": "A GPU"}, options)


def test_a_builder_builds_and_measures_by_title(bench, monkeypatch):
    """Every title of `measure` is one of its cases, and is forgotten once it is measured."""
    stub = SimpleNamespace(in_rounds=lambda *_, **__: None, Flush=lambda: None)
    monkeypatch.setitem(sys.modules, "device_time", stub)
    monkeypatch.setattr(bench, "device_here", lambda: H200)
    monkeypatch.setattr(bench, "calls", lambda case, on: {"of": case})
    monkeypatch.setattr(bench, "measured", lambda case, built, timed, *, on: iter((case, built)))
    builder = bench.Builder()
    titles: list[str] = []
    points = importlib.import_module("by_points")
    monkeypatch.setattr(points, "by_builder", lambda result, options, given, *_: (
        titles.extend(given), result.settings.update(failed={})
    ))  # fmt: skip
    bench.measure({"name": "A GPU"}, importlib.import_module("norm_cases").Options())
    assert len(titles) == len(set(titles)) == len(list(bench.cases()))
    for title, case in zip(titles, bench.cases(), strict=True):
        assert builder.build(title) == {}
        assert builder.measure() == [case, {"of": case}]
        with pytest.raises(AssertionError, match="first"):
            builder.measure()


# ---- what becomes of it --------------------------------------------------------------------------

KINDS = {
    "rates": (measured.RATES, cluster_rates.expected, False),
    "rates of ends": (measured.END_RATES, cluster_ends.expected, True),
}


def readings(tune, bench, rates, expected, ends, noise=0.0, seed=0):
    """As of a GPU with these rates."""
    draw = random.Random(seed)
    found = []
    for case in bench.cases():
        rows = bench.rows_of(case.op, case.columns, H200)
        if rows.aligned == ends:
            continue
        for shape in bench.shapes(case.op, rows):
            work = Work.of(case.op, rows, shape)
            rate = expected(work, rates) * (1 + draw.uniform(-noise, noise))
            found.append(tune.Reading(f"{case.name} {case.columns} {case.dtype}", work, rate))
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_rates_of_another_gpu_are_found(tune, bench, kind, seed):
    """With them shapes are chosen that lose nearly nothing; with those before they lose more."""
    before, expected, ends = KINDS[kind]
    draw = random.Random(seed)
    other = replace(
        before, memory=1.6 * before.memory, vector=before.vector * draw.uniform(0.8, 1.2),
        one_number=before.one_number * draw.uniform(3, 4), several=before.several * 3,
        on_their_way=before.on_their_way * draw.uniform(1.3, 1.7),
    )  # fmt: skip
    given = readings(tune, bench, other, expected, ends, noise=0.01, seed=seed)
    made = tune.fitted(given, before, expected)
    assert type(made) is type(before)
    lost = tune.time_lost(given, made, expected)
    assert lost <= tune.time_lost(given, other, expected) + 0.005
    assert lost < tune.time_lost(given, before, expected) - 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_rates_that_choose_as_well_stay(tune, bench, kind):
    before, expected, ends = KINDS[kind]
    given = readings(tune, bench, before, expected, ends, noise=0.02)
    assert tune.fitted(given, before, expected) == before
    assert tune.fitted([], before, expected) == before
    assert tune.time_lost([], before, expected) == 0


def test_what_is_lost(tune, bench):
    """Of a case in which the shape that is expected to be fastest takes a quarter more time."""
    before, expected, _ = KINDS["rates"]
    given = readings(tune, bench, before, expected, ends=False)
    own = [reading for reading in given if reading.case == given[0].case]
    chosen = max(own, key=lambda reading: expected(reading.work, before))
    slower = [replace(r, rate=r.rate / 1.25) if r == chosen else replace(r, rate=1.0) for r in own]
    one = next(i for i, reading in enumerate(own) if reading != chosen)
    slower[one] = replace(slower[one], rate=chosen.rate)
    assert tune.time_lost(slower, before, expected) == pytest.approx(0.25)


@pytest.mark.parametrize(("kind", "lost"), [("rates", 0.011), ("rates of ends", 0.023)])
def test_what_the_rates_lose_on_another_gpu(tune, kind, lost):
    """Of the same model, as docs/benchmarks.md says."""
    rates, expected, ends = KINDS[kind]
    record = json.loads((ROOT / "benchmarks/results/row_clusters-nvidia-h200.json").read_text())
    given = tune.readings(record, ends=ends)
    assert tune.time_lost(given, rates, expected) == pytest.approx(lost, abs=0.0006)


def test_measurements_become_readings(tune):
    """The last round of teams counts as a whole one."""
    work = {field.name: 2 for field in fields(Work)} | {"moved": 1000, "teams": 8}
    notes = {"operation": "rms_norm", "rows": 9, "columns": 33001, "dtype": "bf16", "ends": True}
    record = {"measurements": [{"median": 4.0, "notes": {**notes, **work}}]}
    expected = tune.Reading("rms_norm 9 x 33001 bf16", Work(**work), 16 * 1000 / 4.0)
    assert tune.readings(record, ends=True) == [expected]
    assert tune.readings(record, ends=False) == []


def test_the_module_that_is_written_has_the_rates(tune, bench, tmp_path, monkeypatch, capsys):
    """Both kinds, with the limits as they are."""
    before, expected, _ = KINDS["rates"]
    other = replace(before, memory=60.0, several=4.0, one_number=2.5)
    target = tmp_path / "measured.py"
    target.write_text(tune.TARGET.read_text())
    monkeypatch.setattr(tune, "TARGET", target)
    given = readings(tune, bench, other, expected, ends=False)
    measurements = [
        {
            "median": math.ceil(1000 / r.work.teams) * r.work.teams * r.work.moved / r.rate,
            "notes": {
                "operation": r.case, "rows": 1000, "columns": 0, "dtype": "", "ends": False,
                **asdict(r.work),
            },
        }
        for r in given
    ]  # fmt: skip
    record = tmp_path / "row_clusters-other.json"
    record.write_text(
        json.dumps(
            {
                "part": "row_clusters",
                "device": {"name": "NVIDIA Other"},
                "measurements": measurements,
            }
        )
    )
    monkeypatch.setattr(sys, "argv", ["tune_rowwise.py", str(record)])
    tune.main()
    namespace = runpy.run_path(str(target), run_name="pyptx._written")
    assert namespace["DEVICE"] == "NVIDIA Other"
    assert asdict(namespace["LIMITS"]) == asdict(measured.LIMITS)
    assert asdict(namespace["END_RATES"]) == asdict(measured.END_RATES)
    made = measured.Rates(**asdict(namespace["RATES"]))
    assert tune.time_lost(given, made, expected) < 0.005 < tune.time_lost(given, before, expected)
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said] == ["Rates", "EndRates"]


def test_text_of_the_rates_as_they_are(tune):
    text = tune.TARGET.read_text()
    for numbers in (measured.LIMITS, measured.RATES, measured.END_RATES):
        assert tune.with_numbers(text, numbers) == text


# ---- the command ---------------------------------------------------------------------------------


def test_commands_of_the_makefile_are_understood(bench, loaded):
    """Every line that runs benchmarks/run.py: `make tune` had options that it does not take."""
    run = loaded("run_of_benchmarks", "benchmarks/run.py")
    text = (ROOT / "Makefile").read_text().replace("$(ARGS)", "")
    lines = re.findall(r"benchmarks/run\.py(.*)", re.sub(r"\$\((\w+)\)", r"\1", text))
    assert any("row_clusters" in line for line in lines)
    for line in lines:
        given = run.arguments().parse_args(shlex.split(line))
        assert set(given.only or ()) <= set(run.PARTS)
