"""Every shape of the strategies for the goals that miss: what is measured, and that it is right."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import pyptx
from pyptx import device
from pyptx._target import Target
from pyptx.ops.rowwise.operation import COLUMN
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.types import bf16, f32

ROOT = Path(__file__).parents[2]
H200 = device.of(Target.parse("sm_90a"))
WAYS = ("lanes", "stay", "copies", "held", "late", "loads", "clusters of", "one row", "two passes")


@pytest.fixture(scope="module")
def bench(loaded) -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield loaded("row_shapes", "benchmarks/row_shapes.py")


def rows_of(case: Any) -> Rows:
    return Rows((case.columns,), types_of(case.op), case.op.compute, device=H200)


def test_every_case_has_many_shapes(bench):
    """With names of their own, of every way that there is."""
    titles: set[str] = set()
    ways: set[str] = set()
    for case in bench.cases():
        names = [name for name, _ in bench.shapes(case.op, rows_of(case), case.count)]
        assert len(names) == len(set(names)) > 30
        titles.add(case.title)
        ways |= {way for way in WAYS if any(way in name for name in names)}
    assert len(titles) == len(bench.CASES)
    assert ways == set(WAYS)


CASES = [
    ("layer_norm", 64, bf16), ("layer_norm", 520, bf16), ("softmax", 520, bf16),
    ("softmax", 4096, bf16), ("softmax_gradient", 1000, f32), ("add_rms_norm", 2056, bf16),
    ("rms_norm", 3001, bf16), ("rms_norm", 2051, f32), ("add_rms_norm_gradient", 2048, bf16),
]  # fmt: skip


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(("name", "columns", "dtype"), CASES, ids=str)
def test_shapes_give_the_same_results(bench, monkeypatch, name, columns, dtype, place):
    """One of seventeen of them, in the emulator; `calls` compares."""
    case = bench.Point("row_shapes", name, dtype, columns, 5, columns)
    every = bench.shapes

    def some(*given: Any) -> Iterator[Any]:
        return islice(every(*given), 5 * place, None, 17)

    monkeypatch.setattr(bench, "shapes", some)
    with pyptx.target("sm_90a"):
        found = bench.calls(case, H200)
    assert found.keys() - {bench.CHOSEN} == {name for name, _ in some(case.op, rows_of(case), 5)}
    assert len(found) > 1


def test_one_that_gives_other_results_is_noticed(bench, monkeypatch):
    case = bench.Point("row_shapes", "softmax", bf16, 64, 3, 64)
    other = bench.Point("row_shapes", "layer_norm", bf16, 64, 3, 64)
    wrong = replaced(bench, monkeypatch, other)
    monkeypatch.setattr(bench, "shapes", lambda *_: iter([("wrong", wrong)]))
    with pyptx.target("sm_90a"), pytest.raises(RuntimeError, match="disagree"):
        bench.calls(case, H200)


def replaced(bench: Any, monkeypatch: pytest.MonkeyPatch, other: Any) -> Any:
    """Makes a kernel of another formula, with the arrays of softmax."""
    _, make = next(iter(bench.shapes(other.op, rows_of(other), other.count)))
    columns = [each for each in other.op.inputs if each.per == COLUMN]

    def made() -> Any:
        kernel, jnp = make(), importlib.import_module("jax.numpy")
        ones = [jnp.ones((other.columns,), each.dtype.numpy) for each in columns]
        return lambda x: kernel(x, *ones)

    jax = importlib.import_module("jax")
    monkeypatch.setattr(bench, "compiled", lambda op, rows, results, kernel, arrays: partial(
        bench.ready, jax.jit(kernel).lower(*arrays).compile(), arrays
    ))  # fmt: skip
    return made


def test_a_case_is_measured(bench):
    """Its time, and its share of a copy's speed."""
    activity = importlib.import_module("chrome_trace").Activity
    case = bench.Point("row_shapes", "add_rms_norm", bf16, 64, 3, 64)

    def timed(calls: Any, count: int, *, warm: int) -> Any:
        assert (count, warm) == (bench.CALLS, bench.WARM)
        return {what: [[activity("kernel", 0.0, us, 1)]] * count for what, us in calls.items()}

    first, second, copy = bench.measured(case, {"chosen": 5.0, "a": 4.0, "copy": 2.0}, timed)
    assert (first.median, second.median, copy.median) == (5.0, 4.0, 2.0)
    assert first.name == "add_rms_norm 3 x 64 bf16 by chosen"
    assert first.notes == {"case": "add_rms_norm 3 x 64 bf16", "shape": "chosen", "share": 0.8}
    assert second.notes["share"] == 1.0
    json.dumps(first.notes)


def test_a_builder_builds_and_measures_by_title(bench, monkeypatch):
    """Every title of `measure` is one of its cases; a case that fails ends the benchmark."""
    stub = SimpleNamespace(in_rounds=lambda *_, **__: None, Flush=lambda: None)
    monkeypatch.setitem(sys.modules, "device_time", stub)
    monkeypatch.setattr(bench, "device_here", lambda: H200)
    monkeypatch.setattr(bench, "copying", lambda case: case)
    monkeypatch.setattr(bench, "calls", lambda case, on: {"of": case})
    monkeypatch.setattr(bench, "measured", lambda case, built, timed: iter((case, built)))
    builder = bench.Builder()

    def by_builder(failed: Any, result: Any, options: Any, titles: Any, *_: Any) -> None:
        assert options.budget == math.inf
        for title, case in zip(titles, bench.cases(), strict=True):
            assert builder.build(title) == {}
            assert builder.measure() == [case, {"of": case, "copy": case}]
            with pytest.raises(AssertionError, match="first"):
                builder.measure()
        result.settings["failed"] = failed

    options = importlib.import_module("norm_cases").Options()
    points = importlib.import_module("by_points")
    monkeypatch.setattr(points, "by_builder", partial(by_builder, {}))
    assert bench.measure({"name": "A GPU"}, options).part == "row_shapes"
    monkeypatch.setattr(points, "by_builder", partial(by_builder, {"a case": "disagree"}))
    with pytest.raises(RuntimeError, match=r"not measured: \{'a case': 'disagree'\}"):
        bench.measure({"name": "A GPU"}, options)


def test_the_fastest_are_shown(bench, capsys):
    """Five of each case, and the chosen one."""
    measure = importlib.import_module("measure")
    result = measure.Result("row_shapes", {"name": "A GPU"}, {"packages": {}}, {})
    title = next(bench.cases()).title
    for what, us in [*((f"shape {i}", 10.0 + i) for i in range(9)), ("chosen", 17.5)]:
        name = f"{title} by {what}"
        result.put(measure.summarise(name, "us", [us], case=title, shape=what, share=1 / us))
    bench.report(result)
    shown = capsys.readouterr().out
    assert [f"shape {i}" in shown for i in range(9)] == [True] * 5 + [False] * 4
    assert "chosen" in shown
