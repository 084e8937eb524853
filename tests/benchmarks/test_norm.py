"""The benchmark of the complete operation: what needs no GPU and no PyTorch."""

import importlib
import json
import math
import sys
from pathlib import Path

import jax
import pytest

from pyptx._source import UNKNOWN

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def importable():
    """The benchmarks import one another by name, as scripts in one folder do."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def module(name):
    return importlib.import_module(name)


@pytest.fixture
def cases():
    return module("norm_cases")


@pytest.fixture
def run():
    return module("run")


# ---- what is measured ----------------------------------------------------------------------------


def test_a_shape_is_read_as_it_is_written(cases):
    shape = cases.parse_shape("2048x8192:f32")
    assert (shape.rows, shape.columns, shape.dtype) == (2048, 8192, "f32")
    assert shape.title == "2048 x 8192 f32"
    assert shape.bytes("forward") == 2 * 2048 * 8192 * 4
    assert shape.bytes("backward") == 3 * 2048 * 8192 * 4


@pytest.mark.parametrize("text", ["2048x8192", "2048:8192:f32", "0x8:f32", "8x8:f8", "8x8:f32 "])
def test_another_spelling_is_an_error_that_shows_one(cases, text):
    with pytest.raises(ValueError, match="is no shape") as error:
        cases.parse_shape(text)
    assert str(error.value) == (
        f"{text!r} is no shape; write rows x columns : dtype, as 2048x8192:f32, with a dtype of "
        "f32, bf16, f16"
    )


def test_every_goal_is_a_shape_that_the_table_measures(cases):
    assert len(cases.GOALS) == 21
    limits = [(g.forward, g.backward) for g in cases.GOALS.values()][:13]
    assert [f for f, _ in limits] == [99, 101, 99, 99, 97, 99, 97, 94, 94, 93, 98, 107, 1.8]
    assert [b for _, b in limits] == [92, 99, 93, 88, 85, 92, 88, 87, 85, 85, 80, 85, 3.4]
    times = {shape.title for shape, goal in cases.GOALS.items() if goal.unit != "%"}
    assert times == {"8 x 8192 bf16", "1 x 4096 bf16", "32 x 7168 bf16", "128 x 5120 bf16"}


def test_a_direction_without_a_goal_has_no_bar(cases):
    shape = cases.parse_shape("128x524288:bf16")
    assert cases.bars([], ("forward",), [shape]) == []
    (bar,) = cases.bars([], ("backward",), [shape])
    assert (bar.name, bar.limit, bar.holds) == ("128 x 524288 bf16 backward", 90, False)


def test_the_sweep_has_whole_rows_in_every_size(cases):
    shapes = cases.sweep_shapes()
    assert len(cases.SWEEP_COLUMNS) == 18
    assert len(set(shapes)) == len(shapes) == 18 * 4 * 2
    for shape in shapes:
        size = cases.nominal_values(shape)
        assert 0 <= size - shape.values < shape.columns
    assert {s.columns for s in shapes} >= {64, 4097, 8191, 50257, 2**20}
    assert {cases.nominal_values(s) for s in shapes} == {2**20, 2**23, 2**26, 2**29}
    assert set(cases.COMPILED_COLUMNS) < set(cases.SWEEP_COLUMNS)


def test_options_select_shapes_and_dtypes(cases):
    known = tuple(cases.GOALS)
    one = cases.parse_shape("3x5:f16")
    assert cases.Options().select(known) == known
    assert {s.dtype for s in cases.Options(dtypes=("f32",)).select(known)} == {"f32"}
    assert cases.Options(shapes=(one,)).select(known) == (one,)
    assert cases.Options(shapes=(one,), dtypes=("f32",)).select(known) == ()


@pytest.mark.parametrize(
    "text, name, function, direction",
    [
        ("a.b:rms_norm", "a.b:rms_norm", "rms_norm", "forward"),
        ("a.b:rms_norm_bwd", "a.b:rms_norm_bwd", "rms_norm_bwd", "backward"),
        ("backward=v/x.py:two_steps", "v/x.py:two_steps", "two_steps", "backward"),
        ("forward=m:f_bwd", "m:f_bwd", "f_bwd", "forward"),
    ],
)
def test_a_variant_names_its_function_and_direction(cases, text, name, function, direction):
    made = cases.parse_operation(text)
    assert (made.name, made.function, made.direction) == (name, function, direction)


def test_a_variant_without_a_function_is_an_error(cases):
    with pytest.raises(ValueError, match="names no operation") as error:
        cases.parse_operation("module")
    assert str(error.value) == (
        "'module' names no operation; write module:function, file.py:function, or with a "
        "direction, backward=module:function"
    )


# ---- from readings to bars -----------------------------------------------------------------------


def readings(cases, forward=(20.0, 22.0), backward=(40.0, 33.0)):
    return {
        ("forward", cases.COPY, ""): [19.8, 20.0, 20.2],
        ("forward", cases.OURS, ""): [forward[0], forward[0], forward[0]],
        ("forward", cases.TRITON, "4 warps"): [25.0, 25.0, 25.0],
        ("forward", cases.TRITON, "8 warps"): [forward[1], forward[1], forward[1]],
        ("backward", cases.OURS, ""): [backward[0], backward[0], backward[0]],
        ("backward", cases.NATIVE, ""): [backward[1], backward[1], backward[1]],
    }


def test_measurements_are_of_the_fastest_variant_beside_the_copy_of_the_same_run(cases):
    shape = cases.parse_shape("2048x8192:f32")
    made = {
        m.name: m
        for m in cases.summaries(
            shape, readings(cases), {("forward", cases.OURS): {"kernels": 1, "error": 0.5}}
        )
    }
    assert len(made) == 5
    triton = made["2048 x 8192 f32 forward: Triton, one row per program"]
    assert (triton.median, triton.notes["variant"], triton.notes["copy"]) == (22.0, "8 warps", 20.0)
    ours = made["2048 x 8192 f32 forward: pyptx"]
    assert ours.notes["kernels"] == 1
    assert cases.percent(ours.notes, ours.median) == 100.0
    # The backward moves three tensors where the copy moves two: 30 us at its speed.
    backward = made["2048 x 8192 f32 backward: pyptx"]
    assert cases.percent(backward.notes, backward.median) == 75.0
    assert cases.share(backward) == "75.00%"


def test_bars_are_shares_of_the_copy_and_a_time_for_the_tiny_shape(cases):
    large, tiny = cases.parse_shape("2048x8192:f32"), cases.parse_shape("8x8192:bf16")
    measured = [
        *cases.summaries(large, readings(cases, forward=(20.3, 22)), {}),
        *cases.summaries(tiny, readings(cases, forward=(1.8, 2), backward=(3.5, 4)), {}),
    ]
    made = {b.name: b for b in cases.bars(measured, cases.DIRECTIONS, (large, tiny))}
    forward = made["2048 x 8192 f32 forward"]
    assert (round(forward.value, 1), forward.limit, forward.unit, forward.holds) == (
        98.5, 99, "%", False,
    )  # fmt: skip
    assert made["8 x 8192 bf16 forward"].holds
    assert not made["8 x 8192 bf16 backward"].holds
    assert made["8 x 8192 bf16 backward"].unit == " us"


def test_a_shape_that_was_not_measured_does_not_hold_and_one_without_a_goal_has_no_bar(cases):
    bars = cases.bars([], ("forward",), (cases.parse_shape("2048x8192:f32"),
                                         cases.parse_shape("3x3:f32")))  # fmt: skip
    assert [bar.name for bar in bars] == ["2048 x 8192 f32 forward"]
    assert math.isnan(bars[0].value)
    assert not bars[0].holds


# ---- device time ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "intervals, busy",
    [
        ([(0, 10)], 10),
        ([(0, 10), (20, 5)], 15),  # a gap does not count
        ([(0, 10), (8, 7)], 15),  # an overlap counts once
        ([(0, 10), (2, 3)], 10),  # one within another
        ([(0, 10), (2, 3), (9, 2)], 11),
        ([(8, 7), (0, 10)], 15),  # in any order
        ([(0, 10), (10, 5)], 15),
        ([], 0),
    ],
)
def test_device_time_is_the_union_of_the_intervals(intervals, busy):
    chrome_trace = module("chrome_trace")
    call = [chrome_trace.Activity("k", float(s), float(d), 0) for s, d in intervals]
    assert chrome_trace.busy(call) == busy


def test_a_fill_of_another_type_belongs_to_the_call():
    chrome_trace = module("chrome_trace")
    flush, zeros = "fill<FillFunctor<unsigned char>>", "fill<FillFunctor<float>>"
    names = [flush, zeros, "backward", flush, "backward"]
    found = chrome_trace.split(
        chrome_trace.Activity(name, float(i), 0.5, i) for i, name in enumerate(names)
    )
    assert [[a.name for a in call] for call in found] == [[zeros, "backward"], ["backward"]]


# ---- joining -------------------------------------------------------------------------------------


def result(cases, names, commit="c1", part="norm_sweep", **settings):
    measure = module("measure")
    gpu = {"name": "NVIDIA H200", "driver_version": "1", "temperature.gpu": str(len(names))}
    made = measure.start(part, gpu, calls=7, **settings)
    made.environment["commit"] = commit
    for name in names:
        made.measurements += cases.summaries(
            cases.parse_shape(name), readings(cases), {}
        )  # fmt: skip
    made.settings |= {"failed": {}, "left": []}
    return made


def test_results_of_several_commands_are_joined(cases, tmp_path):
    first = result(cases, ["4x64:f32"])
    first.settings["failed"] = {
        "9 x 64 f32 forward: pyptx": "why",
        "8 x 64 f32 forward: pyptx": "x",
    }
    first.settings["left"] = ["8 x 64 f32: pyptx, F.rms_norm", "9 x 64 f32: pyptx"]
    second = result(cases, ["4x64:f32", "8x64:f32"])
    paths = [made.write(tmp_path / str(i)) for i, made in enumerate((first, second))]
    merge = module("merge")
    joined = merge.merged([module("measure").load(path) for path in paths])
    assert len(joined.measurements) == 2 * 5
    assert joined.settings["failed"] == {"9 x 64 f32 forward: pyptx": "why"}
    assert joined.settings["left"] == ["9 x 64 f32: pyptx"]
    again = module("measure").load(joined.write(tmp_path / "out"))
    assert again["measurements"] == json.loads(json.dumps(joined.record()["measurements"]))
    assert again["part"] == "norm_sweep"


@pytest.mark.parametrize(
    "change, what",
    [({"commit": "c2"}, "environment"), ({"part": "norm_table"}, "part"),
     ({"mode": "x"}, "settings")],
)  # fmt: skip
def test_results_of_different_kinds_are_not_joined(cases, change, what):
    records = [result(cases, ["4x64:f32"]).record(), result(cases, ["8x64:f32"], **change).record()]
    with pytest.raises(ValueError, match=f"not of one kind: {what} "):
        module("merge").merged(records)


def test_the_bars_of_the_last_file_are_kept(cases):
    measure = module("measure")
    records = []
    for value in (1.0, 3.0):
        made = result(cases, ["4x64:f32"], part="norm_table")
        made.bars = [measure.Bar("a", value, 2.0, "%", at_least=True)]
        records.append(made.record())
    assert [bar.holds for bar in module("merge").merged(records).bars] == [True]


# ---- the command line ----------------------------------------------------------------------------


def options(run, *arguments):
    parser = run.arguments()
    return run.selected(parser.parse_args(arguments), parser)


def test_the_command_line_selects_a_quick_run_of_a_variant(run, cases):
    made = options(run, "--only", "norm_table", "--shapes", "2048x8192:f32,4x4:bf16", "--no-peers",
                   "--op", "v.py:rms_norm", "--direction", "forward", "--calls", "5")  # fmt: skip
    assert [s.title for s in made.shapes] == ["2048 x 8192 f32", "4 x 4 bf16"]
    assert (made.peers, made.ops, made.directions, made.calls) == (
        False, ("v.py:rms_norm",), ("forward",), 5,
    )  # fmt: skip
    assert made.out is None  # a variant's numbers are not the product's
    assert options(run, "--only", "norm_table").out == module("measure").RESULTS
    assert options(run) == cases.Options(out=module("measure").RESULTS)
    some = options(run, "--only", "row_table", "--operation", "softmax,swiglu", "--budget", "9")
    assert (some.operations, some.budget) == (("softmax", "swiglu"), 9)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--only", "norm_table", "--shapes", "2048"], "'2048' is no shape"),
        (["--only", "norm_table", "--dtype", "f8"], "'f8' is none of f32, bf16"),
        (["--only", "norm_table", "--direction", "up"], "'up' is none of forward, backward"),
        (["--only", "norm_table", "--op", "x"], "'x' names no operation"),
        (["--shapes", "2x2:f32"], "these options select from norm_table, norm_sweep, norm_reasons"),
        (["--only", "emulator", "--no-peers"], "these options select from norm_table"),
        (
            ["--only", "norm_table", "--operation", "softmax"],
            "these options select from row_table, row_sweep:",
        ),
        (
            ["--operation", "softmax", "--calls", "2"],
            "no part takes all of these: calls, operations",
        ),
        (
            ["--only", "row_table", "--resume"],
            "jax_block, row_sweep, row_clusters, row_shapes, matmul_sweep, matmul_shapes: say",
        ),
    ],
)
def test_what_cannot_be_selected_ends_the_program(run, arguments, said, capsys):
    with pytest.raises(SystemExit):
        options(run, *arguments)
    assert said in " ".join(capsys.readouterr().err.split())


# ---- the reasons ---------------------------------------------------------------------------------


def ways():
    """The module, which names the tests: before there is a fixture."""
    sys.path.insert(0, str(FOLDER))
    try:
        return module("norm_ways")
    finally:
        sys.path.remove(str(FOLDER))


def identity(reason, way):
    """All that a way launches."""
    rows, columns, dtype = (
        reason.shape.rows,
        reason.shape.columns,
        ways().DTYPES[reason.shape.dtype],
    )
    x, w = (jax.ShapeDtypeStruct(shape, dtype) for shape in ((rows, columns), (columns,)))
    r = jax.ShapeDtypeStruct((rows,), "float32")
    arrays = (x, w) if reason.direction == "forward" else (x, x, r, w)
    with way.changed():
        operation = way.make(reason.rows)
        return operation._prepare(arrays, {}, by_reference=True, location=UNKNOWN).identity


@pytest.mark.parametrize("reason", ways().REASONS, ids=lambda r: f"{r.what} {r.shape.title}")
def test_the_ways_of_a_reason_differ(reason):
    """A change that no kernel is traced under would compare the product with itself."""
    found = [identity(reason, way) for way in reason.ways]
    assert len(set(found)) == len(found) > 1
    assert identity(reason, reason.ways[0]) == found[0], "a change is left behind"


def test_earlier_results_are_found_for_merging(run, cases, tmp_path):
    device = {"name": "NVIDIA H200"}
    asked = cases.Options(out=tmp_path)
    assert run.earlier("norm_sweep", device, asked) is None
    result(cases, ["4x64:f32"]).write(tmp_path)
    assert len(run.earlier("norm_sweep", device, asked)["measurements"]) == 5
    assert run.earlier("norm_sweep", device, cases.Options()) is None


def test_the_parts_of_the_operation_need_a_gpu(run, capsys):
    left = [m.__name__ for m in run.modules(run.PARTS, has_gpu=False)]
    assert left == ["emulator", "text", "indexing", "compile_products"]
    said = capsys.readouterr().out
    for part in ("norm_table", "norm_sweep", "norm_host"):
        assert f"{part}: not measured, it needs an NVIDIA GPU" in said


# ---- tables and the picture ----------------------------------------------------------------------


def test_the_table_shows_times_shares_and_goals(cases, tmp_path):
    tables = module("tables")
    made = result(cases, ["2048x8192:f32", "8x8192:bf16"], part="norm_table", mode="m")
    made.write(tmp_path)
    text = tables.section(tmp_path)
    assert "torch.compile with m" in text
    assert "| | at copy speed | **pyptx** | goal | F.rms_norm |" in text  # backward's only peer
    assert (
        "| 2048 x 8192 f32 | 20.00 | **20.00 (100)** | 99% | 22.00 (91) |" in text
    ), text  # fmt: skip
    assert "| 2048 x 8192 f32 | 30.00 | **40.00 (75)** | 92% **not reached** | 33.00 (91) |" in text
    assert "| 8 x 8192 bf16 | 20.00 | **20.00 (100)** | 1.8 us **not reached** |" in text
    assert "16384 x 8192" not in text


def sweep(cases):
    shapes = list(cases.sweep_shapes((64, 4097, 2**20)))
    return result(cases, [f"{s.rows}x{s.columns}:{s.dtype}" for s in shapes])


def test_the_sweep_is_its_picture_on_its_page(cases, monkeypatch, tmp_path):
    tables, norm = module("tables"), module("doc_tables.norm")
    sweep(cases).write(tmp_path)
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(norm, "ROOT", tmp_path)
    assert "1M to 512M values**: 48 cases; a peer is faster in 24: " in tables.section(tmp_path)
    assert tables.section(tmp_path).count(" backward (F.rms_norm, 21.2%)") == 24
    assert "![" not in tables.section(tmp_path)
    (tmp_path / "docs" / norm.PICTURE).write_text("<svg/>")
    shown = "![percent of the speed of a copy over the length of a row](norm_sweep.svg)"
    assert shown in tables.section(tmp_path)


def test_a_curve_is_the_shares_over_the_row_lengths(cases):
    picture = module("picture")
    curves = picture.curves(sweep(cases).record())
    assert len(curves) == 2 * 2 * 4
    assert curves["f32", "forward", 2**26] == {
        cases.OURS: [(64, 100.0), (4097, 100.0), (2**20, 100.0)],
        cases.TRITON: [(n, pytest.approx(100 / 1.1)) for n in (64, 4097, 2**20)],
    }
    assert curves["bf16", "backward", 2**20][cases.OURS] == [
        (64, 75.0),
        (4097, 75.0),
        (2**20, 75.0),
    ]


def test_the_same_results_give_the_same_picture(cases, monkeypatch, tmp_path):
    picture = module("picture")
    # A few of the panels: drawing all of them takes four times as long.
    monkeypatch.setattr(picture, "SWEEP_DTYPES", picture.SWEEP_DTYPES[:1])
    monkeypatch.setattr(picture, "SWEEP_VALUES", sorted(picture.SWEEP_VALUES)[:2])
    path = sweep(cases).write(tmp_path)
    drawn = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        files = picture.write(path, folder / "p.svg")
        drawn.append([file.read_bytes() for file in files])
    assert drawn[0] == drawn[1]
    svg, png = drawn[0]
    assert picture.digest(path).encode() in svg
    assert b"<dc:date>" not in svg
    assert b"atplotlib" not in png
    assert png.startswith(b"\x89PNG")


def test_a_candidate_that_is_measured_is_drawn_and_named(cases):
    picture = module("picture")
    figure = picture.draw(sweep(cases).record())
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == [
        "pyptx", "copy", "Triton, one row per program", "F.rms_norm",
    ]  # fmt: skip
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[:4] == [f"bf16 forward, {n}M" for n in (1, 8, 64, 512)]
    color = picture.STYLES[cases.OURS]["color"]
    lines = [a for a in figure.axes[4].get_lines() if a.get_color() == color]  # bf16 backward, 1M
    assert [list(line.get_xdata()) for line in lines] == [[64, 2**20], [4097]]
    assert [list(line.get_ydata()) for line in lines] == [[75.0, 75.0], [75.0]]


def test_the_committed_picture_is_of_the_committed_results():
    picture = module("picture")
    files = sorted((FOLDER / "results").glob("norm_sweep-*.json"))
    drawn = picture.PICTURE.exists()
    assert drawn == bool(files), "run `make picture`"
    if drawn:
        assert picture.digest(files[0]) in picture.PICTURE.read_text(), "run `make picture`"


# ---- host time -----------------------------------------------------------------------------------


def test_the_host_time_of_the_operation_is_compared_turn_by_turn(cases, tmp_path):
    """A slow moment of the host counts for both: the medians, eager, are 52 us apart."""
    tables, measure = module("tables"), module("measure")
    made = measure.Result("norm_host", {"name": "H200"}, measure.environment(), {})
    for how in ("eager", "jitted"):
        for name, times in (
            ("pyptx.ops.rms_norm", (104.0, 54.0, 153.0)),
            (
                "a kernel called by hand",
                (8.0, 52.0, 149.0) if how == "eager" else (102.0, 53.0, 150.0),
            ),
        ):
            made.put(measure.summarise(f"{name}, {how}", "us", times))
    made.write(tmp_path)
    text = tables.section(tmp_path)
    assert (
        "- beyond a kernel called by hand, eager, in pairs of turns: 4.00 us "
        "(goal: at most 3.00 us) **not reached**\n" in text
    ), text
    assert "by hand, jitted, in pairs of turns: 2.00 us (goal: at most 3.00 us)\n" in text


def test_host_time_is_of_checked_calls_eager_and_jitted():
    host = module("norm_host")

    def operation(x, w, eps):
        scale = (x * x).mean(-1, keepdims=True) + eps
        return x / scale**0.5 * w

    made = host.measure({"name": "CPU"}, calls=3, rounds=2, operation=operation)
    assert [m.name for m in made.measurements] == [
        f"{name}, {how}"
        for how in ("eager", "jitted")
        for name in ("pyptx.ops.rms_norm", "a kernel called by hand", "jax.numpy")
    ]
    assert all(m.unit == "us" and len(m.samples) == 2 and m.minimum > 0 for m in made.measurements)
    assert [bar.name.split(", ")[1] for bar in made.bars] == ["eager", "jitted"]
    with pytest.raises(ValueError, match=r"pyptx\.ops\.rms_norm, eager is wrong"):
        host.measure({"name": "CPU"}, 3, 2, operation=lambda x, w, eps: operation(x, w, eps) * 2)
