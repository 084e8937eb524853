"""Kernels of products with parts left out do what is said of them, in the emulator."""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import pytest
import torch

from pyptx.ops.tensor_core import hopper
from pyptx.ops.tensor_core.shape import Shape

FOLDER = Path(__file__).parents[2] / "benchmarks"
HOW = {
    "a block": {"columns": 64},
    "two blocks": {"columns": 64, "rows": 256, "blocks": 2},
    "by turns": {"columns": 64, "blocks": 2, "pingpong": True},
    "cluster of rows": {"columns": 64, "cluster": "rows"},
    "split": {"columns": 64, "split": True},
    "few rows": {"columns": 64, "rows": 16},
    "D^T": {"columns": 72, "transposed": True},
}
STAGES, DEPTH = 3, 64


@pytest.fixture(scope="module")
def floors():
    sys.path.insert(0, str(FOLDER))
    import matmul_floors

    yield matmul_floors
    sys.path.remove(str(FOLDER))


def _shape(how: str) -> Shape:
    return Shape(**{"rows": 128, "stages": STAGES, **HOW[how]})


def _factors(shape: Shape, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """As many tiles as two CTAs, or clusters of two, have at once."""
    torch.manual_seed(0)
    m, n = shape.all_rows, 2 * shape.all_columns
    m, n = (n, m) if shape.transposed else (m, n)
    return torch.randn(m, k).bfloat16(), torch.randn(k, n).bfloat16()


@pytest.mark.parametrize("how", [how for how in HOW if how != "split"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_products_are_of_the_first_stages(floors, how, rounds):
    """Stages are used again where K is longer than they are."""
    shape, ctas = _shape(how), 2 * _shape(how).cluster_size
    a, b = _factors(shape, STAGES * DEPTH * rounds)
    found = floors.parts(floors.PRODUCT, shape, copies=False, products=True, ctas=ctas)(a, b)
    first_a = a[:, : STAGES * DEPTH].repeat(1, rounds)
    first_b = b[: STAGES * DEPTH].repeat(rounds, 1)
    assert torch.equal(found, hopper.build(floors.PRODUCT, shape, ctas)(first_a, first_b))


def test_products_of_split_tiles_are_of_the_first_stages(floors):
    """Where K is no longer than the stages, that is the product."""
    shape = _shape("split")
    a, b = _factors(shape, STAGES * DEPTH)
    found = floors.parts(floors.PRODUCT, shape, copies=False, products=True, ctas=2)(a, b)
    assert torch.equal(found[0], hopper.build(floors.PRODUCT, shape, 2)(a, b)[0])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("copies", [True, False])
def test_without_products_there_are_zeros(floors, how, copies):
    shape, ctas = _shape(how), 2 * _shape(how).cluster_size
    a, b = _factors(shape, 2 * STAGES * DEPTH)
    kernel = floors.parts(floors.PRODUCT, shape, copies=copies, products=False, ctas=ctas)
    found = kernel(a, b)
    assert not (found[0] if shape.split else found).any()
    assert "wgmma.mma_async" not in kernel.ptx()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_warps_stay_together_without_products(floors, how, copies, seed):
    """One of a warpgroup gives stages back: another may not be a round of them behind."""
    shape, ctas = _shape(how), 2 * _shape(how).cluster_size
    arrays = [each.float().numpy().astype(ml_dtypes.bfloat16) for each in _factors(shape, 1024)]
    kernel = floors.parts(floors.PRODUCT, shape, copies=copies, products=False, ctas=ctas)
    kernel.emulate(*arrays, seed=seed).report.check()


def test_every_part_is_measured(floors, monkeypatch):
    """The chosen shape without copies beside the next two; of each part the fastest counts."""
    from chrome_trace import Activity

    sizes = 64, 256, 192
    called = []

    def in_rounds(calls, rounds, flush, *, warm):
        called.extend(calls)
        for call in calls.values():
            call()
        return {key: [[Activity("k", 0.0, 9.0 - i, 1)]] for i, key in enumerate(calls)}

    monkeypatch.setattr(floors, "in_rounds", in_rounds)
    peers = {who: (lambda: None, 0.0) for who in ("pyptx", floors.CUBLAS, "XLA")}
    monkeypatch.setattr(floors, "candidates", lambda *_, **__: peers)
    monkeypatch.setattr(floors, "GOALS", {sizes: 1.5})
    found = {m.notes["candidate"]: m for m in floors.visit(sizes, None, "cpu")}
    assert [who for who, _ in called] == [*peers, *3 * ["products"], "copies", "neither"]
    assert list(found) == [*peers, *floors.LEFT]
    assert found["pyptx"].notes["goal"] == 1.5
    chosen, _, last = floors.shapes(sizes)[:3]
    assert chosen == floors.plan.choose(floors.PRODUCT, *sizes)
    assert found["products"].notes["way"] == floors.named(last)
    assert found["copies"].notes["way"] == floors.named(chosen)
    assert [found[who].median for who in floors.LEFT] == [4.0, 3.0, 2.0]


def test_goals_are_those_of_the_sizes(floors):
    assert floors.GOALS[8192, 8192, 8192] == 1.05
    assert floors.GOALS[1, 8192, 28672] is None
    assert floors.GOALS[300, 5000, 3000] == 1.15
