"""The training step of benchmarks/jax_block.py with small matrices, on one GPU and on two."""

import sys
from pathlib import Path

import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import jax_block as block  # noqa: E402
from block_sizes import Sizes  # noqa: E402

pytestmark = pytest.mark.gpu

SIZES = Sizes(tokens=256, width=256, hidden=768, heads=2, vocabulary=1024)


@pytest.fixture(scope="module")
def gpus():
    try:
        return jax.devices("cuda")
    except RuntimeError as error:
        pytest.skip(f"no GPU: {error}")


@pytest.mark.parametrize("form", block.FORMS, ids=lambda form: form.name)
def test_losses_and_exchanges_are_those_of_jax_numpy(gpus, form):
    if len(gpus) < form.devices:
        pytest.skip("there is one GPU")
    scale = block.Scale(rounds=1, steps=1, forms=(form,))
    result = block.measure({"name": "GPU"}, sizes=SIZES, scale=scale, devices=gpus)
    assert len(result.measurements) == 12
    losses, _, *exchanged = result.bars  # the time of a step is for the benchmark
    assert losses.holds, losses
    assert len(exchanged) == (form.devices > 1)
    assert all(bar.holds for bar in exchanged), [m.notes for m in result.measurements]
    for m in result.measurements:
        assert set(m.notes["exchanged"]) <= {"all-reduce"}, m.name
        first, last = m.notes["losses"][0], m.notes["losses"][-1]
        assert last < first / 2, m.name
