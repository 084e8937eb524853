"""The benchmarks' own logic: statistics, traces, tables; what they measure is not for tests."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def importable():
    """The benchmarks import one another by name, as scripts in one folder do."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def measure():
    return load("measure")


@pytest.fixture(scope="module")
def tables(measure):
    return load("tables")


@pytest.fixture(scope="module")
def kernels(measure):
    return load("measured_kernels")


def test_documents_have_exactly_what_the_results_say(tables):
    for document in tables.DOCUMENTS:
        text = document.read_text()
        insides = tables.sections(document=document)
        assert tables.replaced(text, insides) == text, "run `make tables`"


def test_a_summary_is_the_median_and_the_middle_of_the_readings(measure):
    made = measure.summarise(
        "time", "us", [5.0, 1.0, 3.0, 2.0, 4.0, 6.0, 7.0, 8.0, 9.0, 10.0, 100.0]
    )
    assert (made.median, made.minimum, made.maximum) == (6.0, 1.0, 100.0)
    assert made.spread == pytest.approx((10 - 2) / 6)
    assert made.samples[0] == 5.0


@pytest.mark.parametrize(
    "value, at_least, holds",
    [(1.0, False, True), (1.1, False, False), (1.0, True, True), (0.9, True, False),
     (float("nan"), False, False), (float("nan"), True, False)],
)  # fmt: skip
def test_a_bar_holds_at_its_limit_and_never_for_no_number(measure, value, at_least, holds):
    assert measure.Bar("b", value, 1.0, "us", at_least=at_least).holds is holds


def test_each_round_starts_with_another_candidate(measure):
    assert list(measure.turns(("a", "b", "c"), 4)) == list("abcbcacababc")


@pytest.mark.parametrize(
    "value, text",
    [(0.0, "0"), (0.01234, "0.0123"), (1.234, "1.23"), (123.44, "123.4"), (123456.0, "123,456")],
)
def test_numbers_are_short(measure, value, text):
    assert measure.number(value) == text


def test_a_result_is_written_whole_and_read_back(measure, tmp_path):
    result = measure.start("part", {"kind": "gpu", "name": "NVIDIA H200"}, rows=2)
    result.measurements.append(measure.summarise("copy", "us", [1.0, 2.0, 3.0], kernels=["k"]))
    result.bars.append(measure.Bar("bar", result.median("copy"), 1.0, "us"))
    path = result.write(tmp_path)
    assert path.name == "part-nvidia-h200.json"
    record = measure.load(path)
    assert record["measurements"][0]["samples"] == [1.0, 2.0, 3.0]
    assert record["bars"][0]["holds"] is False
    assert record["environment"]["packages"]["numpy"] == np.__version__
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_results_files_say_where_they_come_from_and_hold_their_readings(measure):
    for path in sorted((FOLDER / "results").glob("*.json")):
        record = measure.load(path)
        assert record["device"]["name"], path
        assert record["environment"]["commit"] != "unknown", path
        for measured in record["measurements"]:
            again = measure.summarise("", "", measured["samples"])
            assert (again.median, again.spread) == (measured["median"], measured["spread"]), path


@pytest.mark.parametrize(
    ("launched", "shown"),
    [(32, "32"), ("", ""), ({"sum": 1.0, "copy": 2.0, "rare": 0.5}, "sum, 2 copy, 0.5 rare")],
)
def test_a_table_names_the_kernels_of_a_call(measure, tables, launched, shown):
    made = measure.start("launch", {"name": "X"})
    made.put(measure.summarise("one", "us", [1.0], kernels=launched))
    made.put(measure.summarise("none", "us", [1.0]))
    record = made.record()
    assert f"| one | 1.00 us | 1.00 to 1.00 | {shown} |" in tables.plain(record)
    assert "| none | 1.00 us | 1.00 to 1.00 |  |" in tables.plain(record)


def test_tables_come_from_the_files_alone(measure, tables, tmp_path):
    assert tables.section(tmp_path).count("not measured yet") == len(tables.PARTS)
    result = measure.start("rms_norm", {"name": "X", "driver_version": "1"}, rows=2048,
                           columns=8192, dtype="f32")  # fmt: skip
    for name, time in (
        ("copy of the same bytes", 30.0),
        ("pyptx, ours", 33.0),
        ("other, by CUDA events", 1.0),
    ):
        result.measurements.append(measure.summarise(name, "us", [time]))
    result.bars.append(measure.Bar("a bar", 1.1, 1.0, "x"))
    result.write(tmp_path)
    text = tables.section(tmp_path)
    assert "| copy of the same bytes | 30.00 | 1.00 | 4,475 |" in text
    assert "| **pyptx, ours** | 33.00 | 1.10 | 4,068 |" in text
    assert "CUDA events" not in text
    assert "- a bar: 1.10x (goal: at most 1.00x) **not reached**" in text
    assert text.count("not measured yet") == len(tables.PARTS) - 1


def test_reasons_have_the_products_time_and_what_another_way_takes_more(measure, tables, tmp_path):
    page = tables.NORM_PAGE
    assert "not measured yet" in tables.section(tmp_path, page)
    result = measure.start("norm_reasons", {"name": "X"})
    notes = {"rows": 8, "columns": 128, "dtype": "f32", "direction": "forward"}
    for way, time in (("copy", 1.0), ("a: as it is", 2.0), ("a: b", 3.0), ("a: c", 1.5)):
        made = measure.summarise(
            f"8 x 128 f32 forward: {way}", "us", [time], candidate=way, **notes
        )
        result.measurements.append(made)
    result.write(tmp_path)
    lines = tables.section(tmp_path, page).splitlines()
    assert "| a | 8 x 128 f32 forward | 2.00 | b: 3.00 (+50.0%), c: 1.50 (-25.0%) |" in lines


def test_sections_stand_between_the_marks(tables):
    def marked(*insides):
        return "\n".join(f"before\n{tables.BEGIN}\n{each}\n{tables.END}\nafter" for each in insides)

    assert tables.replaced(marked("old"), ["new"]) == marked("new")
    assert tables.replaced(marked("a", "b"), ["c", "d"]) == marked("c", "d")
    with pytest.raises(SystemExit, match=r"^there is no <!-- .* in what begins with 'no marks'$"):
        tables.replaced("no marks", ["new"])
    with pytest.raises(SystemExit, match=r"^there is no <!-- .* 2 times in what begins with 'befo"):
        tables.replaced(marked("a"), ["c", "d"])
    with pytest.raises(SystemExit, match=r"^there are more than 1 <!-- .* in what begins with 'b"):
        tables.replaced(marked("a", "b"), ["c"])


def test_the_kernel_of_the_benchmark_is_right(kernels):
    x, w = kernels.inputs(3, 2048, seed=1)
    done = kernels.four_warps(3, 2048).emulate(x, w)
    done.report.check()
    kernels.check(done.outputs[0], kernels.reference(x, w), "four warps")


def test_a_wrong_result_stops_the_benchmark(kernels):
    x, w = kernels.inputs(2, 512)
    expected = kernels.reference(x, w)
    for wrong in (expected * 1.0001, np.full_like(expected, np.nan), np.zeros_like(expected)):
        with pytest.raises(ValueError, match=r"^it is wrong: relative error"):
            kernels.check(wrong, expected, "it")


def test_without_a_gpu_the_emulator_is_measured_and_the_rest_named(measure, monkeypatch, capsys):
    run = load("run")
    left = [module.__name__ for module in run.modules(run.PARTS, has_gpu=False)]
    assert left == ["emulator", "text", "indexing", "compile_products"]
    said = capsys.readouterr().out
    assert "rms_norm: not measured, it needs an NVIDIA GPU" in said
    assert "launch: not measured, it needs an NVIDIA GPU" in said


def test_products_in_the_emulator_are_checked_and_counted(measure):
    found = load("emulated_products").speeds(1)
    assert [(unit, len(speeds)) for _, unit, speeds in found] == [
        ("GFLOP/s", 1),
        ("GFLOP/s", 1),
        ("GFLOP/s", 1),
        ("M/s", 1),
        ("M/s", 1),
    ]
    assert all(speed > 0 for _, _, (speed,) in found)


def activity(kind, name, start, duration, **arguments):
    return {"cat": kind, "name": name, "ts": start, "dur": duration, "args": arguments}


FILL = "f<FillFunctor<unsigned char>>"
TRACE = {
    "traceEvents": [
        activity("kernel", "second", 20.0, 2.0, correlation=7),
        activity("kernel", FILL, 5.0, 9.0, correlation=1),
        activity("gpu_memcpy", "Memcpy DtoD", 15.0, 3.0, correlation=7),
        activity("kernel", FILL, 30.0, 9.0),
        activity("kernel", "third", 40.5, 1.5, correlation=9),
        activity("cuda_driver", "cuGraphLaunch", 1.0, 1.0),
        activity("cpu_op", "aten::fill_", 1.0, 1.0),
        {"ph": "M", "name": "process_name"},
    ]
}


def test_a_trace_is_split_into_calls_by_the_flushes():
    chrome_trace = load("chrome_trace")
    trace = chrome_trace.read_trace(json.loads(json.dumps(TRACE)))
    assert trace.launches == ("cuGraphLaunch",)
    calls = chrome_trace.split(trace.activities)
    assert [[a.name for a in call] for call in calls] == [["Memcpy DtoD", "second"], ["third"]]
    assert [chrome_trace.busy(call) for call in calls] == [5.0, 1.5]
    assert chrome_trace.span(calls[0]) == 7.0
    assert {a.correlation for a in calls[0]} == {7}


def test_calls_are_found_by_the_gaps_between_them():
    chrome_trace = load("chrome_trace")
    starts = [0.0, 1.2, 2.4, 50.0, 51.2, 52.4, 90.0, 91.2]
    kernels = [chrome_trace.Activity("k", start, 1.0, 0) for start in starts]
    calls = chrome_trace.split_at_gaps(kernels, 3)
    assert [[a.start for a in call] for call in calls] == [starts[:3], starts[3:6], starts[6:]]
    assert [chrome_trace.span(call) for call in calls] == pytest.approx([3.4, 3.4, 2.2])
    assert chrome_trace.split_at_gaps(kernels, 1) == [kernels]


@pytest.fixture(scope="module")
def text(measure):
    return load("text")


def test_text_is_measured_whole(measure, text, monkeypatch):
    monkeypatch.setattr(text, "FEW", 20)
    monkeypatch.setattr(text, "MANY", 40)
    monkeypatch.setattr(text, "FILES", text.FILES[:1])
    result = text.measure({"name": "X"}, runs=1, size=2000)
    names = [m.name for m in result.measurements]
    assert names[:2] == ["parse, generated", "parse, generated, known words"]
    assert all(m.minimum > 0 for m in result.measurements)
    assert [m.notes["instructions"] for m in result.measurements[:2]] == [2000, 2005]
    assert [(bar.limit, bar.at_least) for bar in result.bars] == [
        (200.0, True), (3.0, False), (1.25, False), (100.0, False),
    ]  # fmt: skip


def test_generated_text_has_new_registers_and_each_label_once(text):
    from pyptx._ir import Place

    lines = text.generated_lines(3000)
    (kernel,) = text.parse(text.module_text(lines * 2)).kernels
    assert text.instructions(text.parse(text.module_text(lines))) == 3000
    assert 2000 < len(kernel.registers) < 3000
    assert sum(isinstance(s, Place) for s in kernel.body) == sum("$L" in line for line in lines)


@pytest.mark.parametrize(("speed", "said"), [(125.0, "is not reached"), (250.0, "is reached")])
def test_the_page_says_what_a_parse_is_made_of(measure, tables, tmp_path, speed, said):
    result = measure.start("text", {"name": "X"})
    for name, unit, value in (
        ("parse, generated", "thousand/s", speed),
        ("parse, generated, known words", "thousand/s", 400.0),
        ("make a register, a location and an instruction", "us", 1.5),
    ):
        result.measurements.append(measure.summarise(name, unit, [value]))
    result.bars.append(measure.Bar("parse", speed, 200.0, " thousand/s", at_least=True))
    result.write(tmp_path)
    page = " ".join(tables.section(tmp_path, tables.ARCHITECTURE).split())
    assert f"goal of 200,000 instructions a second {said}." in page
    assert f"it takes {1000 / speed:.2f} us: each new word is read once" in page
    assert "takes 2.50 us, of which 1.50 us make its register, location and instruction." in page
