"""What the first call of a product costs: that nothing is known of it, and what is recorded."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pyptx import _assemble
from pyptx.ops.tensor_core import plan

FOLDER = Path(__file__).parents[2] / "benchmarks"
SIZES = (64, 192, 128)


@pytest.fixture(scope="module", autouse=True)
def importable():
    """The benchmarks import one another by name, as scripts in one folder do."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


@pytest.fixture
def assembled(monkeypatch) -> list[str]:
    """The texts that the assembler is given."""
    found: list[str] = []
    once = _assemble.ptxas._assemble

    def noted(ptx: str, *rest: Any) -> Any:
        found.append(ptx)
        return once(ptx, *rest)

    monkeypatch.setattr(_assemble.ptxas, "_assemble", noted)
    return found


def test_every_run_traces_and_assembles(monkeypatch, assembled):
    part = importlib.import_module("compile_products")
    monkeypatch.setenv("PYPTX_CACHE_DIR", "/tmp")
    monkeypatch.setattr(part, "SIZES", dict.fromkeys(part.KINDS, (SIZES,)))
    monkeypatch.setattr(part, "in_fresh_processes", lambda program, runs: [0.5] * runs)
    made = part.measure({"name": "CPU"}, runs=1)
    assert os.environ["PYPTX_CACHE_DIR"] == "/tmp"
    assert len(assembled) == 2 * len(part.KINDS)  # one more is not counted
    assert len(set(assembled)) == len(part.KINDS)
    *kinds, first = made.measurements
    assert [m.name for m in kinds] == [f"{kind}, 64 x 192 x 128" for kind in part.KINDS]
    for measured in kinds:
        notes = measured.notes
        assert len(measured.samples) == 1
        assert min(notes["trace"], notes["assemble"]) > 0
        assert notes["lines"] in {text.count("\n") for text in assembled}
    assert first.samples == (500.0,)
    assert [(bar.name, bar.limit) for bar in made.bars] == [(m.name, 500.0) for m in kinds]
    part.report(made)
    *_, last, process = importlib.import_module("doc_tables.products").compile_products(
        made.record()
    )
    assert last.startswith(f"| {kinds[-1].name} | ")
    bold = "**" * made.bars[-1].holds
    assert last.endswith(f" | {bold}{kinds[-1].median:.0f}{bold} | {kinds[-1].notes['lines']} |")
    assert process == "| the first of a process, bf16, 4096 x 4096 x 4096 |  |  | 500 |  |"


def test_a_first_call_knows_no_kernel():
    part = importlib.import_module("matmul_host")
    made = part.measure({"name": "CPU"}, calls=2, rounds=2, runs=2, shapes=(SIZES,))
    names = [m.name for m in made.measurements]
    assert names == [
        *(
            f"a known kernel: {name}, {how}"
            for how in ("eager", "jitted")
            for name in (part.OURS, part.THEIRS)
        ),
        *(f"the first 64 x 192 x 128: {name}, jitted" for name in (part.OURS, part.THEIRS)),
        f"the first 64 x 192 x 128: {part.OURS}",
    ]
    assert [bar.name for bar in made.bars] == ["the first 64 x 192 x 128"]
    known = []
    part.forgotten(lambda: known.append(plan.operation.cache_info().currsize))
    assert known == [0]


def test_a_wrong_product_is_not_timed(monkeypatch):
    part = importlib.import_module("matmul_host")
    right = part.ops.matmul
    monkeypatch.setattr(part.ops, "matmul", lambda a, b: right(a, b) * 1.1)
    with pytest.raises(RuntimeError, match=r"pyptx\.ops\.matmul, eager is off by 0\.1"):
        part.known(2, 2)
