"""Typed indexing is as cheap as addresses by hand, and what is compared does the same."""

import importlib.util
import json
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
NAMES = ("transpose", "softmax", "layer_norm", "swiglu", "matmul_mma_sync")


@pytest.fixture(scope="module")
def indexing():
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("indexing", FOLDER / "indexing.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(FOLDER))


def inputs(name):
    rng = np.random.default_rng(0)
    normal = {
        "transpose": lambda: [(50, 33)],
        "softmax": lambda: [(2, 300)],
        "layer_norm": lambda: [(2, 8192), (8192,), (8192,)],
        "swiglu": lambda: [(2, 520), (2, 520)],
        "matmul_mma_sync": lambda: [(3, 64), (128, 64)],
    }[name]()
    kind = {"swiglu": ml_dtypes.bfloat16, "matmul_mma_sync": np.float16}.get(name, np.float32)
    return [rng.standard_normal(shape, np.float32).astype(kind) for shape in normal]


@pytest.mark.parametrize("name", NAMES)
def test_both_forms_do_the_same(indexing, name):
    hand, index, _ = indexing.cases()[name]
    if name == "matmul_mma_sync":
        hand = indexing.by_hand.matmul(128, 64)
        index = indexing.by_hand.example(name).build(128, 64)
    results = []
    for k in (hand, index):
        done = k.emulate(*inputs(name), sanitize=True)
        done.report.check()
        results.append(done.outputs[0].view(np.uint8))
    assert (results[0] == results[1]).all()


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", NAMES)
def test_indexing_costs_no_more_than_addresses_by_hand(indexing, name):
    hand, index, sizes = indexing.cases()[name]
    by_hand, by_index = indexing.cost(hand, sizes), indexing.cost(index, sizes)
    assert by_hand[0] > 20
    for theirs, ours in zip(by_hand, by_index, strict=True):
        assert ours <= indexing.MOST * theirs


def test_what_counts_as_a_line(indexing, tmp_path):
    file = tmp_path / "k.py"
    file.write_text(
        "def k():\n    def k(X):\n        '''What it is.'''\n        # why\n        a = 1\n\n"
        "        b = (\n            2\n        )\n    return k\n\n\ndef other():\n    pass\n"
    )
    assert indexing.lines(file, ("k",)) == 4
    assert indexing.lines(file, ("k", "other")) == 5


def test_the_results_have_the_lines_of_today(indexing):
    file = FOLDER / "indexed_kernels.py"
    for path in (FOLDER / "results").glob("indexing-*.json"):
        for measured in json.loads(path.read_text())["measurements"]:
            name, _, form = measured["name"].partition(", ")
            source = file if form == indexing.HAND else FOLDER.parent / "examples" / f"{name}.py"
            counted = indexing.lines(source, indexing.FUNCTIONS[name])
            assert measured["notes"]["lines"] == counted, "run `make bench` and `make tables`"
