"""The benchmark of row-wise operations calls each as it is, and checks it, on the CPU."""

from __future__ import annotations

import sys
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
