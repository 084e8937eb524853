"""The benchmark of row-wise operations calls each as it is, and checks it, on the CPU."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "benchmarks"
NAMES = ("layer_norm", "softmax", "swiglu", "add_rms_norm", "cross_entropy")


@pytest.fixture(scope="module")
def table():
    sys.path.insert(0, str(FOLDER))
    import row_table

    yield row_table
    sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_what_is_timed_is_right(table, name, direction):
    """The calls of pyptx and of XLA give what float64 gives, as `check` judges it."""
    op, rows, columns = table.OPERATIONS[name], 6, 256
    shapes = [(rows, columns)] * op.arrays + [(columns,)] * op.columns
    torch.manual_seed(0)
    tensors = [torch.randn(*shape) for shape in shapes]
    tensors += [torch.randint(0, columns, (rows,)).int() for _ in range(op.labels)]
    g = [torch.randn(rows, *((columns,) * (not op.reduces))) for _ in range(op.results)]
    exact = table.expected(op, tensors, g)[direction == table.BACKWARD]
    build = table.builders(op, tensors, g)
    for candidate in ("pyptx", "XLA"):
        table.check(build[direction, candidate]()(), exact, "f32")


def test_every_operation_is_tried(table):
    assert set(NAMES) == set(table.OPERATIONS)


# ---- the sweep -----------------------------------------------------------------------------------


def test_the_sweep_has_each_case_once(table):
    import row_sweep

    every = [case.title for case in row_sweep.cases(table.Options())]
    assert len(every) == len(set(every)) == 5 * 2 * (13 + 6 + 3)
    some = list(row_sweep.cases(table.Options(operations=("softmax",), dtypes=("f32",))))
    assert {(case.operation.name, case.dtype) for case in some} == {("softmax", "f32")}
    assert len(some) == 13 + 6 + 3
    assert all(case.rows > 0 for case in some)
    with pytest.raises(SystemExit, match="soft: operations are layer_norm"):
        list(row_sweep.cases(table.Options(operations=("soft",))))


def test_the_sweep_goes_on_where_it_ended(table, monkeypatch, tmp_path):
    """What is known is left out, and what the budget leaves out is named."""
    import row_sweep
    from measure import load, summarise

    visited = []

    class Builder:
        def build(self, title):
            visited.append(title)
            return {f"{title} forward: quack": "it is not here"}

        def measure(self):
            return [summarise(f"{visited[-1]} forward: pyptx", "us", [1.0], share=1.0)]

    monkeypatch.setattr(row_sweep, "Builder", Builder)
    options = table.Options(operations=("softmax",), dtypes=("f32",), out=tmp_path)
    device = {"kind": "gpu", "name": "A GPU"}
    first = row_sweep.measure(device, replace(options, budget=-1.0))
    assert visited == []
    assert len(first.settings["left"]) == 13 + 6 + 3
    whole = row_sweep.measure(device, options)
    assert len(visited) == 13 + 6 + 3
    record = load(tmp_path / "row_sweep-a-gpu.json")
    assert set(record["settings"]["failed"].values()) == {"it is not here"}
    again = row_sweep.measure(device, replace(options, known=record, resume=True))
    assert len(visited) == 13 + 6 + 3
    assert len(again.measurements) == len(whole.measurements)


def test_a_process_builds_what_it_measures_later(table, monkeypatch):
    """Nothing is measured before `measure`, which gives the calls back."""
    import row_sweep

    row_sweep_calls = {("forward", "copy"): list}
    asked = []

    def timed(case, calls, timer, count):
        asked.append((case.title, calls, count))
        yield "what was measured"

    monkeypatch.setattr(row_sweep, "on_device", lambda: None)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    monkeypatch.setattr(row_sweep, "candidates", lambda case, mode: (row_sweep_calls, {mode: "no"}))
    monkeypatch.setattr(row_sweep, "timed", timed)
    builder = row_sweep.Builder()
    assert builder.build("softmax 20 x 50257 bf16") == {"default": "no"}
    assert asked == []
    assert builder.measure() == ["what was measured"]
    assert asked == [("softmax 20 x 50257 bf16", row_sweep_calls, row_sweep.CALLS)]
    with pytest.raises(AssertionError, match="`build` comes first"):
        builder.measure()


def test_a_kernel_is_chosen_when_others_wait(monkeypatch):
    """While cases are built, the first configuration runs; the choice is made after that."""
    import processes
    from torch._inductor.runtime import triton_heuristics

    ran = []

    class Autotuner:
        def __init__(self):
            self.launchers, self._cached_launcher = [], None

        def precompile(self):
            self.launchers = ["slow", "fast"]

        def run(self, *arguments):
            if len(self.launchers) > 1:
                self.launchers = ["fast"]
            self._cached_launcher = self.launchers[0]
            ran.append((*self.launchers, *arguments))

    monkeypatch.setattr(triton_heuristics, "CachingAutotuner", Autotuner)
    kernel = Autotuner()
    with processes.choosing_later():
        kernel.run(1)
        assert (kernel.launchers, kernel._cached_launcher) == (["slow", "fast"], None)
    kernel.run(2)
    assert ran == [("slow", 1), ("fast", 2)]


def test_what_is_replaced_in_pytorch_is_there():
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    assert callable(CachingAutotuner.run)
    assert callable(CachingAutotuner.precompile)


def test_sizes_of_products_are_those_of_models(table):
    import matmul_sweep

    every = list(matmul_sweep.sizes())
    assert len(every) == len(set(every)) == 210
    assert {m for m, _, _ in every} == {2**i for i in range(15)}


@pytest.mark.parametrize("kind", ["bf16", "bf16, B as (N, K)", "f32 as bf16", "e4m3", "blocks"])
def test_shapes_of_products_are_checked_before_they_are_measured(table, monkeypatch, kind):
    """Some of each kind, and what is measured says which; a wrong product is an error."""
    import device_time
    import matmul_shapes
    from chrome_trace import Activity

    every = matmul_shapes.products()
    assert len(every) == sum(map(len, matmul_shapes.SIZES.values()))
    assert every["bf16, B as (N, K), 16 x 14336 x 4096"] == ("bf16, B as (N, K)", (16, 14336, 4096))
    product, sizes = matmul_shapes.KINDS[kind], (40, 192, 512)
    some = matmul_shapes.plan.candidates(product)[::5]
    monkeypatch.setattr(matmul_shapes.plan, "candidates", lambda _: some)
    monkeypatch.setattr(matmul_shapes, "FAR", math.inf)
    monkeypatch.setattr(matmul_shapes, "NEAR", math.inf)
    calls = matmul_shapes._calls(product, sizes, "cpu")
    assert list(calls) == [
        c.shape
        for c in some
        if matmul_shapes.plan.fits(c.shape, product) and matmul_shapes.plan.suits(c.shape, 40)
    ]
    title = f"{kind}, 40 x 192 x 512"
    monkeypatch.setattr(matmul_shapes, "products", lambda: {title: (kind, sizes)})
    times = {call: float(i) for i, call in enumerate(calls.values())}

    def sequence(order, flush):
        assert len(order) == 8 * len(calls)
        return [[Activity("k", 0.0, times[call], 1)] for call in order]

    monkeypatch.setattr(device_time, "flushed_sequence", sequence)
    measured = list(matmul_shapes._measured(title, calls, None))
    assert [each.samples for each in measured] == [(time,) * 6 for time in times.values()]
    assert measured[0].name.startswith(f"{title}: ")
    monkeypatch.setattr(matmul_shapes, "CLOSE", 1e-9)
    with pytest.raises(RuntimeError, match=r"at \(40, 192, 512\) is off by"):
        matmul_shapes._calls(product, sizes, "cpu")


def test_shapes_that_are_known_to_be_slow_are_not_measured(table, monkeypatch):
    """But what the table of times lacks is, if it may be fast."""
    import matmul_shapes
    from matmul_shapes import plan

    product, sizes = matmul_shapes.KINDS["bf16"], (4096, 4096, 4096)
    found = matmul_shapes.likely(product, sizes)
    assert plan.choose(product, *sizes) in found
    known = {cut.shape: cut for cut in plan.cuts(product)}
    slow = plan.Shape(64, 64, stages=12, band=16)
    assert slow in known
    assert slow not in found
    call = plan.Call(product, sizes)
    times = {shape: plan.expected_ns(known[shape], call) for shape in found if shape in known}
    assert max(times.values()) < matmul_shapes.FAR * min(times.values())
    # As if two had not been measured: for 1024 x 5120 x 5120 one is expected to be fast.
    unmeasured = (128, 160, None, 1, False, False), (64, 64, None, 1, False, False)
    times = {tile: each for tile, each in plan.measured.TIMES.items() if tile not in unmeasured}
    monkeypatch.setattr(plan.measured, "TIMES", times)
    known = {cut.shape: cut for cut in plan.cuts(product)}
    sizes = 1024, 5120, 5120
    call = plan.Call(product, sizes)
    cuts = plan.fitting(plan.candidates(product), product, sizes[0])
    least = min(plan.expected_ns(cut, call) for cut in cuts if cut.shape in known)
    unknown = {
        cut.shape: plan.expected_ns(cut, call) / least for cut in cuts if cut.shape not in known
    }
    near = {shape for shape, time in unknown.items() if time < matmul_shapes.NEAR}
    assert set() < near < set(unknown)
    assert set(matmul_shapes.likely(product, sizes)) & set(unknown) == near


def test_calls_of_a_round_have_an_order_by_chance(table, monkeypatch):
    """Each once in every round, the same order in every run, without the rounds before."""
    import device_time

    made: list[str] = []

    def sequence(order, flush):
        made.clear()
        made.extend(call() for call in order)
        return [[(name, i)] for i, name in enumerate(made)]

    monkeypatch.setattr(device_time, "flushed_sequence", sequence)
    calls = {name: lambda name=name: name for name in "abcd"}
    found = device_time.in_rounds(calls, 6, None, warm=2)
    rounds = [made[i : i + 4] for i in range(0, len(made), 4)]
    assert len(rounds) == 8
    assert all(sorted(each) == list("abcd") for each in rounds)
    assert len(set(map(tuple, rounds))) > 4
    assert found == {
        name: [[(name, 4 * i + rounds[i].index(name))] for i in range(2, 8)] for name in calls
    }
    first = list(made)
    device_time.in_rounds(calls, 6, None, warm=2)
    assert made == first


def test_kernels_of_products_are_assembled_ahead(table, monkeypatch, tmp_path):
    """The cubins that calls need are in the folder then."""
    import matmul_shapes

    product = matmul_shapes.KINDS["bf16"]
    some = matmul_shapes.plan.candidates(product)[:2]
    monkeypatch.setattr(matmul_shapes, "KINDS", {"bf16": product})
    monkeypatch.setattr(matmul_shapes.plan, "candidates", lambda _: some)
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    matmul_shapes.assemble()
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) >= len(some)


def test_what_is_compiled_ahead_is_what_is_measured(table):
    import compile_ahead

    assert [c.title for c in compile_ahead.cases(())] == [c.title for c in table.cases()]
    assert {c.operation.name for c in compile_ahead.cases(("softmax",))} == {"softmax"}


def test_choices_made_while_others_used_the_gpu_are_forgotten(table, monkeypatch, tmp_path):
    import compile_ahead

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    (tmp_path / "a").mkdir()
    for name in ("a/k.best_config", "a/k.py"):
        (tmp_path / name).write_text("{}")
    compile_ahead.forget_choices()
    assert [path.name for path in tmp_path.rglob("*.*")] == ["k.py"]


def test_power_is_read_while_products_are_made(table, monkeypatch):
    """The rate is of the second half; so are clock and power, and what the peak was there."""
    import matmul_power

    monkeypatch.setattr(matmul_power, "SECONDS", 0.2)
    monkeypatch.setattr(matmul_power, "ROUND", 0.02)
    made = []

    def call():
        made.append(time.sleep(0.001))
        return torch.zeros(1)

    class Watch:
        """Readings at times before its end, in seconds."""

        def __init__(self, *readings):
            self.readings = readings

        def __enter__(self):
            return self

        def __exit__(self, *_):
            end = time.monotonic()
            self.readings = [
                matmul_power.Reading(end - before, clock, power)
                for before, clock, power in self.readings
            ]

    watch = Watch((0.3, 1980.0, 100.0), (0.07, 1500.0, 700.0), (0.05, 1400.0, 690.0))
    found = matmul_power.measured((100, 100, 100), "pyptx", call, 132, watch)
    assert (found.notes["clock"], found.notes["power"]) == (1450, 695)
    # A call takes a millisecond or a little more.
    assert 0.3e-3 < found.median < 2e-3
    assert len(made) > 100
    peak = 132 * 4096 * 1450e6 / 1e12
    assert found.notes["share"] == pytest.approx(found.median / peak, abs=1e-4)
    with pytest.raises(RuntimeError, match="nvidia-smi gave no readings"):
        matmul_power.measured((100, 100, 100), "pyptx", call, 132, Watch())


@pytest.mark.parametrize("how", [{"cluster": "rows"}, {"split": True}, {"rows": 64}], ids=str)
def test_a_kernel_reads_its_clock(table, how):
    """The product is the same, and each CTA says when it began and ended."""
    import matmul_clocks

    shape = matmul_clocks.Shape(**{"rows": 128, "columns": 128, "stages": 3, **how})
    kernel = matmul_clocks.stamped(matmul_clocks.PRODUCT, shape, 4)
    torch.manual_seed(0)
    a, b = torch.randn(300, 264).bfloat16(), torch.randn(264, 512).bfloat16()
    found, *_, stamps = kernel(a, b)
    plain = matmul_clocks.hopper.build(matmul_clocks.PRODUCT, shape, 4)(a, b)
    assert torch.equal(found, plain[0] if shape.split else plain)
    torch.testing.assert_close(found.float(), a.float() @ b.float(), rtol=2**-7, atol=0.5)
    rows = stamps.view(torch.int64).tolist()
    assert len(rows) == 4
    assert all(0 < begin < end and 0 < early < late for begin, early, end, late in rows)


def test_clocks_are_read_as_rate_and_share(table):
    """Of two CTAs, 2000 and 4000 clocks at 2 GHz; one that had no tile has no say."""
    import matmul_clocks

    stamps = [[100, 50, 2100, 1050], [0, 0, 4000, 2000], [0, 0, 0, 0]]
    found = matmul_clocks.readings_of(stamps, 4096 * 3000, 2)
    assert found == {"clock": 2000.0, "peak": round(4096 * 2 * 2000e-6, 1), "busy": 0.5}


# ---- what memory allows --------------------------------------------------------------------------


def test_goals_are_of_all_shapes_and_streams_of_all_arrays(table):
    import row_floors

    assert set(row_floors.GOALS) == {case.title for case in table.cases()}
    for name, op in table.OPERATIONS.items():
        moved = {way: sum(streams) for way, streams in row_floors.STREAMS[name].items()}
        assert moved == dict(op.moved)


def test_the_fastest_of_what_only_moves_counts(table, monkeypatch):
    """Each call moves the arrays, and the fastest way's readings are those that are kept."""
    import row_floors
    from chrome_trace import Activity

    case = table.Case(table.OPERATIONS["swiglu"], 6, 256, "bf16")
    calls = {
        ("forward", "copy"): lambda: 1,
        ("forward", "pyptx"): lambda: 2,
        ("backward", "pyptx"): lambda: 3,
    }
    monkeypatch.setattr(row_floors, "candidates", lambda case, names: (calls, {}))
    arrays = [torch.arange(6 * 128, dtype=torch.int32) * (i + 1) for i in range(3)]
    monkeypatch.setattr(row_floors, "_words", lambda case, count: arrays[:count])
    monkeypatch.setattr(row_floors, "free", lambda: None)
    microseconds = {"copy": 8.0, "pyptx": 13.0, "": 0.0}

    def timer(keyed, count):
        for (direction, who, _), call in keyed.items():
            if who == row_floors.ALONE:
                found = call() if direction == "backward" else [call()]
                exact = arrays[0] ^ arrays[1] ^ (arrays[2] if direction == "backward" else 0)
                assert all(torch.equal(x, exact) for x in found)
        return {
            key: [[Activity("k", 0.0, microseconds.get(key[1], 20.0 - len(key[2])), 1)]]
            for key in keyed
        }

    found = {(m.notes["direction"], m.notes["candidate"]): m for m in row_floors.visit(case, timer)}
    alone = found["forward", row_floors.ALONE]
    assert len(alone.notes["way"]) == max(len(str(w)) for w in row_floors.ways(2, 1))
    assert alone.median == 20.0 - len(alone.notes["way"])
    assert found["forward", "pyptx"].notes["share"] == round(8 * 3 / 2 / 13, 4)
    assert found["backward", "pyptx"].notes["share"] == round(8 * 5 / 2 / 13, 4)


def test_goals_are_bars(table):
    import row_floors
    from measure import Result, summarise

    result = Result("row_floors", {}, {}, {})
    for title in row_floors.GOALS:
        for direction in ("forward", "backward"):
            name = f"{title} {direction}: pyptx"
            result.put(summarise(name, "us", [2.95], share=1.015))
    bars = {bar.name: bar for bar in row_floors.bars(result)}
    assert len(bars) == 2 * len(row_floors.GOALS)
    assert bars["layer_norm 32768 x 4096 bf16 forward"].holds
    assert not bars["softmax 65536 x 128 bf16 backward"].holds  # 114 %
    assert not bars["add_rms_norm 64 x 8192 bf16 forward"].holds  # 2.9 us
    assert bars["layer_norm 8 x 8192 bf16 backward"].limit == 3.4


@pytest.mark.parametrize("sizes", [(1024, 5120, 5120), (64, 4096, 14336)], ids=str)
def test_atomic_additions_give_the_product(table, sizes):
    """The kernel that the order of sums is compared with, on five CTAs that share tiles."""
    import matmul_sums

    shape = matmul_sums.split_shape(sizes)
    assert shape.split
    made = matmul_sums.atomic(matmul_sums.PRODUCT, shape, 5)
    assert "red.relaxed.gpu.global.add.v4.f32" in made.ptx()
    torch.manual_seed(0)
    a, b = (torch.randn(size).bfloat16() for size in ((min(200, sizes[0]), 704), (704, 400)))
    ran = made.emulate(a, b)
    ran.report.check()
    torch.testing.assert_close(
        torch.as_tensor(ran.outputs[0]).float(), a.float() @ b.float(), atol=0.4, rtol=1e-2
    )


def test_what_clears_memory_is_left_out(table):
    import matmul_sums
    from chrome_trace import Activity

    names = [field.name for field in fields(Activity)]
    call = [
        Activity(**dict.fromkeys(names, 0) | {"name": name})
        for name in ("Memset (Device)", "matmul")
    ]
    assert [activity.name for activity in matmul_sums.uncleared(call)] == ["matmul"]


@pytest.mark.parametrize(
    ("title", "direction", "least"),
    [
        ("layer_norm 8 x 8192 bf16", "forward", 1024),
        ("layer_norm 8 x 8192 bf16", "backward", 8 * 1024),
        ("add_rms_norm 64 x 8192 bf16", "backward", 1024),
        ("swiglu 16 x 14336 bf16", "forward", None),
        ("layer_norm 32768 x 4096 bf16", "forward", None),
    ],
)
def test_who_exchanges_has_what_a_statistic_is_of(table, title, direction, least):
    """Vectors of a row; with sums over rows of all of them, where a cluster can have so many."""
    import row_floors

    (case,) = (case for case in table.cases() if case.title == title)
    every = row_floors.ways(2, 1, exchanging=row_floors.TOGETHER)
    found = row_floors.exchanging(case, direction, every)
    held = {how.exchanging * how.threads * how.vectors for how in found}
    assert (min(held, default=None)) == least
