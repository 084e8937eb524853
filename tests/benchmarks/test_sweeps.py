"""The sweeps' pictures and tables: what needs no GPU and no PyTorch."""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
ROWS = [
    ("softmax", 2**16, 1024, "bf16", "forward", {"copy": 10.0, "pyptx": 10.0, "quack": 12.5}),
    ("softmax", 2**16, 1024, "bf16", "backward", {"pyptx": 16.0, "quack": 15.0, "XLA": 30.0}),
    ("softmax", 2**10, 2**16, "bf16", "forward", {"copy": 10.0, "pyptx": 20.0}),
    ("swiglu", 16, 576, "f32", "forward", {"copy": 1.0, "pyptx": 2.0, "XLA": 2.0, "Liger": 3.0}),
]
PRODUCTS = [
    ((1, 4096, 4096), {"pyptx": 3.0, "PyTorch (cuBLAS)": 2.0, "XLA": 2.5}),
    ((64, 4096, 4096), {"pyptx": 120.0, "PyTorch (cuBLAS)": 150.0, "XLA": 100.0}),
    ((64, 8192, 1024), {"pyptx": 150.0, "PyTorch (cuBLAS)": 150.0, "XLA": 100.0}),
]


@pytest.fixture(scope="module", autouse=True)
def importable():
    """The benchmarks import one another by name, as scripts in one folder do."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def module(name: str) -> Any:
    return importlib.import_module(name)


def written(folder: Path, part: str) -> Path:
    """A results file of the cases above."""
    measure = module("measure")
    result = measure.Result(part, {"name": "A GPU"}, {"packages": {}}, {"flush": "all"})
    if part == "row_sweep":
        for operation, rows, columns, dtype, direction, times in ROWS:
            for who, us in times.items():
                result.put(measure.summarise(
                    f"{operation} {rows} x {columns} {dtype} {direction}: {who}", "us", [us],
                    operation=operation, rows=rows, columns=columns, dtype=dtype,
                    direction=direction, candidate=who, share=10.0 / us,
                ))  # fmt: skip
    else:
        for (m, n, k), rates in PRODUCTS:
            for who, rate in rates.items():
                name = f"{m} x {n} x {k}, KN: {who}"
                result.put(measure.summarise(
                    name, "TFLOP/s", [rate], m=m, n=n, k=k, layout="KN", candidate=who
                ))  # fmt: skip
    return result.write(folder)


def test_a_curve_is_ours_and_one_the_fastest_peer(tmp_path):
    pictures, record = (
        module("sweep_pictures"),
        module("measure").load(written(tmp_path, "row_sweep")),
    )
    curves = pictures.row_curves(record)
    assert set(curves) == {
        "softmax bf16 forward, many rows", "softmax bf16 backward, many rows",
        "swiglu f32 forward, few rows",
    }  # fmt: skip
    assert curves["swiglu f32 forward, few rows"] == {"pyptx": [(576, 100.0)]}
    assert curves["softmax bf16 forward, many rows"] == {
        "pyptx": [(1024, 100.0), (2**16, 50.0)], "best peer": [(1024, 80.0)],
    }  # fmt: skip
    (share,) = curves["softmax bf16 backward, many rows"]["best peer"]
    assert share == (1024, pytest.approx(1000 / 15))


def test_a_product_is_over_the_faster_cublas(tmp_path):
    pictures = module("sweep_pictures")
    record = module("measure").load(written(tmp_path, "matmul_sweep"))
    assert pictures.product_curves(record) == {
        "M x 4096 x 4096": {"pyptx": [(1, pytest.approx(120.0)), (64, pytest.approx(80.0))]},
        "M x 8192 x 1024": {"pyptx": [(64, pytest.approx(100.0))]},
    }


@pytest.mark.parametrize(("part", "panels"), [("row_sweep", 3), ("matmul_sweep", 2)])
def test_the_same_results_give_the_same_picture(part, panels, tmp_path):
    pictures = module("sweep_pictures")
    results = written(tmp_path, part)
    drawn = [pictures.write(part, results, tmp_path).read_bytes() for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert module("picture").digest(results).encode() in drawn[0]
    figure = pictures.draw(part, module("measure").load(results))
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert len(shown) == panels
    (legend,) = figure.legends
    assert next(iter(legend.get_texts())).get_text() == "pyptx"


def test_forward_is_beside_backward():
    pictures = module("sweep_pictures")
    titles = ["a bf16 backward, few rows", "b bf16 forward, few rows", "a bf16 forward, few rows"]
    assert sorted(titles, key=pictures._order) == [titles[2], titles[0], titles[1]]


def test_the_page_says_where_a_peer_is_faster(tmp_path):
    tables = module("tables")
    for part in ("row_sweep", "matmul_sweep"):
        written(tmp_path, part)
    record = module("measure").load(tmp_path / "row_sweep-a-gpu.json")
    (first, _, picture) = module("doc_tables.rows").row_sweep(record)
    assert first.endswith(
        "4 cases; a peer is faster in 1: softmax 65536 x 1024 bf16 backward (quack, 6.7%)"
    )
    assert "row_sweep.svg" in picture
    record = module("measure").load(tmp_path / "matmul_sweep-a-gpu.json")
    lines = module("doc_tables.products").matmul_sweep(record)
    assert lines[0].endswith("3 sizes; ahead at 2, 1.00x in the")
    assert lines[1] == "middle, 0.80x at least and 1.20x at most"
    assert {"row_sweep", "matmul_sweep"} <= set(tables.PARTS)


def test_the_page_has_clock_and_power(tmp_path):
    measure, products = module("measure"), module("doc_tables.products")
    result = measure.Result("matmul_power", {"name": "A GPU"}, {}, {"limit": "700.00"})
    for who, rate in (("pyptx", 800.0), ("XLA", 790.0)):
        result.put(measure.summarise(
            f"8192 x 8192 x 8192: {who}", "TFLOP/s", [rate], candidate=who, m=8192, n=8192, k=8192,
            clock=1500.0, power=698.6, share=0.9864,
        ))  # fmt: skip
    *_, heading, _, line = products.matmul_power(result.record())
    assert heading == "| M x N x K | pyptx | XLA |"
    assert line == (
        "| 8192 x 8192 x 8192 | 800 at 1500 MHz, 699 W: 98.6% | 790 at 1500 MHz, 699 W: 98.6% |"
    )


def test_the_page_has_sums_in_order_and_atomic():
    measure, products = module("measure"), module("doc_tables.products")
    result = measure.Result("matmul_sums", {"name": "A GPU"}, {}, {})
    for who, time in (("atomic, without clearing", 9.0), ("in order", 10.04), ("atomic", 13.5)):
        result.put(measure.summarise(
            f"64 x 128 x 8192: {who}", "us", [time], candidate=who, m=64, n=128, k=8192,
        ))  # fmt: skip
    *_, heading, _, line = products.matmul_sums(result.record())
    assert heading == "| M x N x K | in order | atomic | atomic, without clearing |"
    assert line == "| 64 x 128 x 8192 | 10.0 | 13.5 | 9.0 |"


def test_groups_are_beside_the_dense_product():
    measure, products = module("measure"), module("doc_tables.products")
    result = measure.Result("fused_matmul_table", {"name": "A GPU"}, {}, {})
    for name, who, rate in (
        ("8 groups, 1 x 2 x 3", "pyptx", 95.0),
        ("8 groups, 1 x 2 x 3", "a peer", 90.0),
        ("8 groups, 1 x 2 x 3", "dense product", 100.0),
        ("gelu, 1 x 2 x 3", "pyptx", 80.0),
        ("gelu, 1 x 2 x 3", "a peer", 100.0),
    ):
        result.put(measure.summarise(f"{name}: {who}", "TFLOP/s", [rate], candidate=who))
    groups, gelu = products.fused_matmul_table(result.record())[-2:]
    assert groups == "| 8 groups, 1 x 2 x 3 | **95** | a peer: 90 (1.06x) | 100 (0.95x) |"
    assert gelu == "| gelu, 1 x 2 x 3 | 80 | a peer: 100 (0.80x) |  |"


def test_the_page_has_the_clock_of_a_call():
    measure, products = module("measure"), module("doc_tables.products")
    result = measure.Result("matmul_clocks", {"name": "A GPU"}, {}, {})
    sizes = {"m": 4096, "n": 4096, "k": 4096}
    for who, rate, more in (
        ("pyptx", 785.2, {}),
        ("with stamps", 781.0, {"clock": 1581.4, "peak": 855.1, "busy": 0.947}),
        ("PyTorch (cuBLAS)", 787.0, {}),
    ):
        result.put(measure.summarise(
            f"4096 x 4096 x 4096: {who}", "TFLOP/s", [rate], candidate=who, **sizes, **more
        ))  # fmt: skip
    *_, line = products.matmul_clocks(result.record())
    assert line == "| 4096 x 4096 x 4096 | 785 | 787 | 781 | 1581 MHz | 855 | 94.7% |"


def test_the_page_has_what_products_take_at_least():
    measure, products = module("measure"), module("doc_tables.products")
    result = measure.Result("matmul_floors", {"name": "A GPU"}, {}, {})
    for size, goal in ((4096, {"goal": 1.04}), (8, {})):
        sizes = {"m": size, "n": 4096, "k": 4096}
        for who, time in (
            ("pyptx", 176.0), ("PyTorch (cuBLAS)", 175.1), ("XLA", 174.0), ("products", 170.0),
            ("copies", 64.25), ("neither", 12.5),
        ):  # fmt: skip
            result.put(measure.summarise(
                f"{size} x 4096 x 4096: {who}", "us", [time], candidate=who, **sizes,
                **(goal if who == "pyptx" else {}),
            ))  # fmt: skip
    *_, many, few = products.matmul_floors(result.record())
    assert many == "| 4096 x 4096 x 4096 | 176.0 | 174.0 | 170.0 | 64.25 | 12.50 | 1.02x | 1.04x |"
    assert few == "| 8 x 4096 x 4096 | 176.0 | 174.0 | 170.0 | 64.25 | 12.50 | 1.02x |  |"


def test_few_rows_are_beside_reading_b():
    """What only reads is no peer; it has a column of its own, empty for many rows."""
    measure, products = module("measure"), module("doc_tables.products")
    alone = module("norm_cases").ALONE
    tables = {}
    for part in ("matmul_table", "block_scaled_table"):
        result = measure.Result(part, {"name": "A GPU"}, {}, {})
        for m in (64, 4096):
            for layout in ("KN", "NK"):
                for who, rate in (("pyptx", 230.0), ("XLA", 200.0)):
                    result.put(measure.summarise(
                        f"{m} {layout} {who}", "TFLOP/s", [rate], candidate=who, m=m, n=8, k=8,
                        layout=layout, **({"published": 210} if layout == "KN" and
                        who == "pyptx" else {}),
                    ))  # fmt: skip
        result.put(measure.summarise(
            f"64 {alone}", "TFLOP/s", [227.5], candidate=alone, m=64, n=8, k=8, way="1"
        ))  # fmt: skip
        tables[part] = getattr(products, part)(result.record())[-2:]
    rates = "**230** | XLA: 200 (1.15x)"
    assert tables["matmul_table"] == [
        f"| 64 x 8 x 8 | {rates} | {rates} | 227.5 |",
        f"| 4096 x 8 x 8 | {rates} | {rates} |  |",
    ]
    assert tables["block_scaled_table"] == [
        f"| 64 x 8 x 8 | {rates} | 210 (1.10x) | 227.5 |",
        f"| 4096 x 8 x 8 | {rates} | 210 (1.10x) |  |",
    ]


def test_the_readme_says_what_was_measured():
    """The number of cases in which a peer was faster is that of the record."""
    norm = module("doc_tables.norm")
    root = FOLDER.parent
    cases = norm.cases_of(
        module("measure").load(root / "benchmarks/results/row_sweep-nvidia-h200.json")
    )
    said = re.search(r"was faster in (\d+) of (\d+) cases", (root / "README.md").read_text())
    assert said is not None
    assert norm.ahead(cases).startswith(f"a peer is faster in {said[1]}: ")
    assert len(cases) == int(said[2])
    assert {case.split()[0] for case in cases} == {
        "layer_norm", "softmax", "add_rms_norm", "cross_entropy", "swiglu",
    }  # fmt: skip


# ---- cases built in several processes -----------------------------------------------------------

PART = """
import os
from measure import summarise

class Builder:
    def build(self, title):
        if title == "raises":
            raise ValueError("not this\\none")
        if title == "ends":
            os._exit(1)
        self.title = title
        return {f"{title} forward: quack": "it is not here"} if title == "some" else {}

    def measure(self):
        notes = {"process": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]}
        return [summarise(f"{self.title} forward: pyptx", "us", [1.0], **notes)]
"""


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """Three of a part that fails in each way; PyTorch is not needed for it."""
    (tmp_path / "part_of_a_test.py").write_text(PART)
    folder = tmp_path / "torch" / "_inductor" / "runtime"
    folder.mkdir(parents=True)
    for package in (folder, *folder.parents[:2]):
        (package / "__init__.py").touch()
    (tmp_path / "torch" / "__init__.py").write_text(
        "class cuda:\n    is_available = staticmethod(lambda: False)\n"
    )
    (folder / "triton_heuristics.py").write_text("class CachingAutotuner:\n    run = None\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with module("processes").Processes("part_of_a_test", 3) as found:
        yield found


def test_cases_are_built_at_once_and_fail_alone(processes, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    for _ in range(2):  # a process that ended is replaced
        processes.build(["some", "raises", "ends"])
        found, failed = processes.measure("some")
        assert [each.name for each in found] == ["some forward: pyptx"]
        assert failed == {"some forward: quack": "it is not here"}
        assert processes.measure("raises") == ([], {"raises": "ValueError: not this one"})
        assert processes.measure("ends") == ([], {"ends": "its process ended"})
    processes.build(["one", "two", "three"])
    found = [processes.measure(title)[0][0].notes for title in ("two", "one", "three")]
    assert len({notes["process"] for notes in found}) == 3
    # A process compiles with one thread, and what comes after it as before.
    assert {notes["threads"] for notes in found} == {"1"}
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_a_sweep_builds_as_many_cases_as_there_are_processes(tmp_path):
    measure, sweeps = module("measure"), module("sweeps")
    events: list[Any] = []

    class Ahead:
        jobs = 2

        def build(self, titles):
            events.append(titles)

    def case(title: str) -> Any:
        def measured():
            events.append(title)
            return [measure.summarise(f"{title} forward: pyptx", "us", [1.0])], {}

        return f"{title} ", measured

    result = measure.Result("row_sweep", {"name": "A GPU"}, {}, {})
    result.put(measure.summarise("b forward: pyptx", "us", [1.0]))
    options = module("norm_cases").Options()
    sweeps.sweep(result, options, map(case, "abcd"), Ahead())
    assert events == [["a", "c"], "a", "c", ["d"], "d"]


def test_the_page_has_goals_and_what_memory_allows():
    measure, rows = module("measure"), module("doc_tables.rows")
    result = measure.Result("row_floors", {"name": "A GPU"}, {}, {})
    for who, time, share in (("pyptx", 3.0, 1.02), ("the same bytes alone", 2.5, 1.1)):
        for name in ("softmax 8 x 8 bf16 forward", "softmax 8 x 8 bf16 backward"):
            result.put(measure.summarise(f"{name}: {who}", "us", [time], share=share))
    result.bars = [
        measure.Bar("softmax 8 x 8 bf16 forward", 102.0, 101.0, "%", at_least=True),
        measure.Bar("softmax 8 x 8 bf16 backward", 3.0, 2.9, " us"),
    ]
    late = "softmax 8 x 8 bf16 backward: with one exchange"
    result.put(measure.summarise(late, "us", [2.75], share=1.05))
    *_, heading, _, first, second = rows.row_floors(result.record())
    assert heading == (
        "| operation, shape, direction | goal | pyptx | the same bytes alone | with one exchange |"
    )
    assert first == "| softmax 8 x 8 bf16 forward | 101% | **102.0%** | 110.0% |  |"
    assert second == "| softmax 8 x 8 bf16 backward | 2.9 us | 3.00 us | 2.50 us | 2.75 us |"
