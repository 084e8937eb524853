"""The benchmark's candidates and checks with PyTorch on the CPU."""

import importlib
import math
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
VARIANT = """
import jax.numpy as jnp

def rms_norm(x, weight, eps):
    wide = x.astype(jnp.float32)
    scale = 1 / jnp.sqrt(jnp.mean(wide * wide, -1, keepdims=True) + eps)
    return (wide * scale * weight.astype(jnp.float32)).astype(weight.dtype)

def rms_norm_bwd(g, invvar, x, weight, eps):
    g, wide, w = (a.astype(jnp.float32) for a in (g, x, weight))
    normal = wide * invvar[:, None]
    weighted = g * w
    dx = invvar[:, None] * (weighted - normal * jnp.mean(weighted * normal, -1, keepdims=True))
    return dx.astype(x.dtype), jnp.sum(g * normal, 0).astype(weight.dtype)

def half(x, weight, eps):
    return rms_norm(x, weight, eps) / 2

def broken(x, weight, eps):
    raise RuntimeError("it is\\n broken")
"""


@pytest.fixture(scope="module", autouse=True)
def importable():
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def module(name):
    return importlib.import_module(name)


@pytest.fixture
def variant(tmp_path):
    path = tmp_path / "variant.py"
    path.write_text(VARIANT)
    return path


def made(text):
    return module("norm_candidates").random_tensors(module("norm_cases").parse_shape(text), "cpu")


def fake_timer(calls, rounds):
    """Activities as a device would give them: each candidate a microsecond slower."""
    activity = module("chrome_trace").Activity
    for call in calls.values():
        call()
    return {
        key: [[activity("k", 0.0, 10.0 + i, 0)] for _ in range(rounds)]
        for i, key in enumerate(calls)
    }


SHAPES = ("700x300:f16", "5x64:f32", "7x33:bf16", "1x1:f32", "300x16:bf16", "3x1000:f16")


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_peers_are_right(text, direction):
    candidates, visit, check = module("norm_candidates"), module("norm_visit"), module("norm_check")
    tensors = made(text)
    names = tuple(
        name
        for name in module("norm_cases").PEERS
        if name not in (candidates.COMPILE, candidates.TRITON)  # need a compiler, a GPU
    )
    built = candidates.builders(names, (), direction, "default")
    assert candidates.NATIVE in built
    assert (candidates.EAGER in built) == (direction == "forward")
    for build in built.values():
        for call in build(tensors).values():
            for _ in range(2):  # a backward can be called again
                visit.checked(call(), tensors, direction, check.OTHERS)


@pytest.mark.parametrize("text", SHAPES)
def test_a_wrong_result_is_not_timed(text):
    check = module("norm_check")
    t = made(text)
    eps = module("norm_candidates").EPS
    wide = t.x.double()
    exact = wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt() * t.w.double()
    y = exact.to(t.w.dtype)

    def forward(y, tolerance):
        return check.forward_error(y, t.x, t.w, eps=eps, tolerance=tolerance)

    for tolerance in (check.OWN, check.OTHERS):
        assert forward(y, tolerance) <= 1
        assert forward(y * 0, tolerance) > 1
        assert forward(y * 1.25, tolerance) > 1
        assert math.isnan(forward(y * float("nan"), tolerance))
    step = {4: 4e-6, 2: 2.0**-5}[t.x.element_size()]
    assert forward((exact * (1 + step)).to(y.dtype), check.OWN) > 1
    with pytest.raises(ValueError, match="the result is"):
        forward(y.double(), check.OWN)


@pytest.mark.parametrize("text", ["5x64:f32", "300x16:bf16", "2000x8:f32"])
def test_wrong_gradients_are_not_timed(text):
    check = module("norm_check")
    torch = importlib.import_module("torch")
    t = made(text)
    eps = module("norm_candidates").EPS
    x, w = (a.double().requires_grad_() for a in (t.x, t.w))
    y = x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * w
    dx, dw = torch.autograd.grad(y, (x, w), t.g.double())
    exact = (dx.to(t.x.dtype), dw.to(t.x.dtype))

    def error(gradients, tolerance):
        return check.backward_error(gradients, t.g, t.x, t.w, eps=eps, tolerance=tolerance)

    for tolerance in (check.OWN, check.OTHERS):
        assert error(exact, tolerance) <= 1
        for factors in ((0, 1), (1, 0), (1, -1), (math.nan, 1), (1, math.nan)):
            wrong = tuple(gradient * f for gradient, f in zip(exact, factors, strict=True))
            assert not error(wrong, tolerance) <= 1
    # Without the second term of the formula.
    partial = t.g.double() * t.w.double() * t.invvar.double()[:, None]
    assert error((partial.to(t.x.dtype), exact[1]), check.OWN) > 1


def test_chunks_cover_every_row(monkeypatch):
    check = module("norm_check")
    monkeypatch.setattr(check, "CHUNK", 100)
    for rows, columns in ((7, 30), (7, 200), (1, 1), (100, 1), (101, 1)):
        covered = [r for part in check.chunks(rows, columns) for r in range(rows)[part]]
        assert covered == list(range(rows))
    t = made("7x30:f32")
    forward = check.forward_error
    y = module("norm_candidates").torch_rms_norm(t.x, t.w)
    eps = module("norm_candidates").EPS
    assert forward(y, t.x, t.w, eps=eps, tolerance=check.OWN) <= 1
    y[6] = 0  # in the last chunk
    assert forward(y, t.x, t.w, eps=eps, tolerance=check.OWN) > 1


def test_jax_sees_the_same_memory():
    t = made("16x64:bf16")
    x, w, g, r = t.arrays
    for array, tensor in ((x, t.x), (w, t.w), (g, t.g), (r, t.invvar)):
        assert array.shape == tuple(tensor.shape)
        back = module("norm_candidates").as_tensor(array)
        assert back.dtype == tensor.dtype
        assert bool((back == tensor).all())


def visited(directory, names, ops=(), text="6x32:bf16", directions=("forward", "backward")):
    visit, cases = module("norm_visit"), module("norm_cases")
    operations = tuple(cases.parse_operation(op) for op in ops)
    wanted = visit.Visit(cases.parse_shape(text), names, directions, operations, "default", 3)
    return visit.visit(wanted, fake_timer, "cpu")


def test_a_visit_times_what_is_right_and_says_why_not_the_rest(variant):
    cases = module("norm_cases")
    ops = [f"{variant}:{name}" for name in ("rms_norm", "rms_norm_bwd", "half", "broken")]
    found = visited(variant.parent, (cases.NATIVE,), ops)
    assert [m.name for m in found.measurements] == [
        "6 x 32 bf16 forward: copy",
        "6 x 32 bf16 forward: F.rms_norm",
        f"6 x 32 bf16 forward: {ops[0]}",
        "6 x 32 bf16 backward: F.rms_norm",
        f"6 x 32 bf16 backward: {ops[1]}",
    ]
    assert [m.median for m in found.measurements] == [10.0, 11.0, 12.0, 13.0, 14.0]
    assert all(0 <= m.notes["error"] <= 1 for m in found.measurements[1:])
    assert found.measurements[1].notes["kernels"] == 1
    assert "parts" not in found.measurements[1].notes
    assert found.measurements[2].notes["parts"] == "k: 12.00 us"
    assert found.measurements[2].notes["with gaps"] == 12.0
    assert found.measurements[4].notes["copy"] == 10.0
    assert found.failed.keys() == {f"6 x 32 bf16 forward: {op}" for op in ops[2:]}
    assert found.failed[f"6 x 32 bf16 forward: {ops[2]}"].startswith("ValueError: wrong: ")
    assert found.failed[f"6 x 32 bf16 forward: {ops[3]}"] == "RuntimeError: it is broken"


def product(monkeypatch, variant):
    """The variant in the product's place."""
    candidates = module("norm_candidates")
    name = f"product_{variant.parent.name.replace('-', '_')}"
    monkeypatch.setitem(sys.modules, name, candidates.module_of_file(variant))
    monkeypatch.setattr(candidates, "OPERATION", name)


def test_the_table_is_measured_saved_and_judged(monkeypatch, variant, tmp_path, capsys):
    cases, table = module("norm_cases"), module("norm_table")
    product(monkeypatch, variant)
    shape = cases.parse_shape("8x8192:bf16")
    options = cases.Options(shapes=(shape,), peers=False, out=tmp_path)
    result = table.measure({"name": "CPU"}, options, fake_timer, "cpu")
    assert [b.name for b in result.bars] == [f"8 x 8192 bf16 {d}" for d in cases.DIRECTIONS]
    assert not any(b.holds for b in result.bars)
    assert len(result.measurements[0].samples) == table.CALLS
    record = module("measure").load(tmp_path / "norm_table-cpu.json")
    assert [m["name"] for m in record["measurements"]] == [m.name for m in result.measurements]
    table.report(result)
    assert "of copy" in capsys.readouterr().out


def test_without_the_product_the_bars_do_not_hold(monkeypatch, tmp_path, capsys):
    cases, table = module("norm_cases"), module("norm_table")
    monkeypatch.setattr(module("norm_candidates"), "OPERATION", "no_such_product")
    options = cases.Options(shapes=(cases.parse_shape("8x8192:bf16"),), peers=False)
    result = table.measure({"name": "CPU"}, options, fake_timer, "cpu")
    assert [math.isnan(bar.value) and not bar.holds for bar in result.bars] == [True, True]
    assert "No module named 'no_such_product'" in capsys.readouterr().out


def test_the_sweep_ends_with_its_budget_and_resumes(monkeypatch, variant, tmp_path):
    cases, sweep = module("norm_cases"), module("norm_sweep")
    product(monkeypatch, variant)
    monkeypatch.setattr(sweep, "QUICK", (cases.OURS, cases.NATIVE))
    monkeypatch.setattr(sweep, "COMPILED_COLUMNS", ())
    shapes = tuple(cases.parse_shape(s) for s in ("4x64:f32", "2x128:f32"))
    first = cases.Options(shapes=shapes, budget=0, out=tmp_path)
    result = sweep.measure({"name": "CPU"}, first, fake_timer, "cpu")
    assert result.settings["left"] == [f"{s.title}: pyptx, F.rms_norm" for s in shapes]
    one = cases.Options(shapes=shapes[:1], out=tmp_path)
    sweep.measure({"name": "CPU"}, one, fake_timer, "cpu")
    known = module("measure").load(tmp_path / "norm_sweep-cpu.json")
    assert len(known["measurements"]) == 5
    seen = []

    def timer(calls, rounds):
        seen.append(len(calls))
        return fake_timer(calls, rounds)

    rest = cases.Options(shapes=shapes, out=tmp_path, known=known, resume=True)
    result = sweep.measure({"name": "CPU"}, rest, timer, "cpu")
    assert seen == [5]  # the first shape is there already
    assert len(result.measurements) == 10
    assert result.settings["left"] == []
    sweep.report(result)


def test_a_failing_profiler_costs_one_shape(monkeypatch, variant):
    cases, sweep = module("norm_cases"), module("norm_sweep")
    product(monkeypatch, variant)
    shapes = tuple(cases.parse_shape(s) for s in ("4x64:f32", "2x128:f32"))

    def timer(calls, rounds):
        if calls["forward", "copy", ""]().shape[0] == 4:
            raise RuntimeError("the profiler shows 3 of 4 calls")
        return fake_timer(calls, rounds)

    options = cases.Options(shapes=shapes, peers=False)
    result = sweep.measure({"name": "CPU"}, options, timer, "cpu")
    assert set(result.settings["failed"]) == {f"4 x 64 f32 {d}: pyptx" for d in cases.DIRECTIONS}
    assert len(result.measurements) == 3


def test_a_variant_is_timed_from_the_command_line(monkeypatch, variant, tmp_path, capsys):
    run, table, visit = module("run"), module("norm_table"), module("norm_visit")
    product(monkeypatch, variant)
    monkeypatch.setattr(run, "gpu", lambda: {"name": "CPU"})
    monkeypatch.setattr(table, "on_device", lambda: fake_timer)
    build = visit.random_tensors
    monkeypatch.setattr(visit, "random_tensors", lambda shape, _device: build(shape, "cpu"))
    arguments = ["run.py", "--only", "norm_table", "--shapes", "3x64:bf16", "--no-peers",
                 "--op", f"{variant}:rms_norm_bwd", "--calls", "2"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", arguments)
    assert run.main() == 0
    said = capsys.readouterr().out
    assert "3 x 64 bf16: 4 measurements" in said
    assert "written" not in said
    for shape in ("3x64:bf16", "4x64:bf16"):
        arguments[4] = shape
        monkeypatch.setattr(sys, "argv", [*arguments, "--out", str(tmp_path), "--merge"])
        assert run.main() == 0
    record = module("measure").load(tmp_path / "norm_table-cpu.json")
    assert len(record["measurements"]) == 8


def test_missing_packages_of_peers_are_named(monkeypatch):
    candidates = module("norm_candidates")
    monkeypatch.setattr(candidates, "NEEDS", {"a": "no_such_package", "b": "json"})
    assert candidates.absent() == {"a": "no_such_package"}


def test_the_timer_gives_each_candidate_its_own_calls(monkeypatch):
    device_time, chrome_trace = module("device_time"), module("chrome_trace")
    done = []

    def launch(name):
        done.append(chrome_trace.Activity(name, float(len(done)), 0.5, 0))

    def profile(run):
        done.clear()
        run()
        return chrome_trace.Trace(tuple(done), ())

    monkeypatch.setattr(device_time, "profile", profile)
    monkeypatch.setattr(device_time, "Flush", lambda: lambda: launch("FillFunctor<unsigned char>"))
    monkeypatch.setattr(device_time.torch.cuda, "synchronize", lambda: None)
    timer = module("norm_visit").on_device()
    calls = {
        ("forward", "a", ""): lambda: launch("a"),
        ("forward", "b", ""): lambda: (launch("b1"), launch("b2")),
        ("backward", "a", ""): lambda: launch("da"),
    }
    found = {
        key: [[a.name for a in call] for call in measured]
        for key, measured in timer(calls, 4).items()
    }
    assert found == {
        ("forward", "a", ""): [["a"]] * 4,
        ("forward", "b", ""): [["b1", "b2"]] * 4,
        ("backward", "a", ""): [["da"]] * 4,
    }
    with pytest.raises(RuntimeError) as error:
        timer({**calls, ("forward", "idle", ""): lambda: None}, 2)
    assert str(error.value) == "the profiler shows 8 of 8 calls, 2 of them without work"


@pytest.mark.gpu
def test_a_flush_leaves_no_line_that_was_read_to_stay():
    """A copy of what the norm has just read with evict_last takes as long as any first copy.

    Behind a fill alone, even one of five times the cache, it finds some of it there.
    """
    from statistics import median

    import jax
    import torch

    from pyptx.ops import rms_norm

    device_time = module("device_time")
    x = torch.randn(65536, 128, device="cuda", dtype=torch.bfloat16)
    seen, y = jax.dlpack.from_dlpack(x), torch.empty_like(x)
    w = jax.numpy.ones(128, jax.numpy.bfloat16)
    jitted = jax.jit(lambda x, w: rms_norm(x, w, eps=1e-5))

    def norm():
        return jitted(seen, w)  # as an argument: a constant would be another copy of x

    norm().block_until_ready()

    def copy():
        y.copy_(x)

    def behind(first, flush):
        """The time of a copy behind others that began with a cold cache."""
        device_time.Flush()()
        found = device_time.flushed_sequence([*first, copy] * 9, flush)
        calls = found[len(first) :: len(first) + 1]
        return median(sum(activity.duration for activity in call) for call in calls)

    flush = device_time.Flush()
    cold = behind([], flush)
    assert behind([norm], flush) >= 0.95 * cold
    assert behind([norm], flush.fill) < 0.95 * cold
