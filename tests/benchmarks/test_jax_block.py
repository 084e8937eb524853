"""The training step that is measured on GPUs, here in the emulator with a few tokens."""

import dataclasses
import sys
from pathlib import Path

import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import jax_block as block  # noqa: E402
import jax_block_model as model  # noqa: E402
import measure  # noqa: E402
from block_sizes import Sizes  # noqa: E402
from doc_tables import jax_block as table  # noqa: E402
from norm_cases import Options  # noqa: E402

SIZES = Sizes(tokens=8, width=32, hidden=64, heads=2, vocabulary=64)
ONE, DATA, TENSOR = block.FORMS


@pytest.fixture(scope="module")
def devices():
    return jax.devices("cpu")


@pytest.fixture(scope="module")
def ways(devices):
    return block.ways(ONE.mesh(devices))


@pytest.fixture(scope="module")
def loss(devices):
    """The first loss of a way in f32."""
    training = block.Training(ONE, devices, SIZES, jnp.float32)
    parameters, ids = training.begin()["parameters"], training.batches[0]
    return lambda way: float(jax.jit(lambda p: model.loss(way, SIZES.heads, p, ids))(parameters))


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.sweep)])
def test_the_losses_of_all_ways_are_the_same(loss, ways, step):
    wanted = loss(ways[block.THEIRS])
    assert len(ways) == 12
    for name, operations in list(ways.items())[::step]:
        assert loss(operations) == pytest.approx(wanted, rel=2e-6), name
    theirs = ways[block.THEIRS]
    wrong = dataclasses.replace(theirs, swiglu=lambda g, u: model.swiglu(g, u) * 1.01)
    assert loss(wrong) != pytest.approx(wanted, rel=2e-5)


def test_what_is_measured(devices, tmp_path, monkeypatch):
    """Losses within their bound, and no exchange but the gradients' and the loss'."""
    scale = block.Scale(
        curve=24, rounds=2, steps=1, forms=(DATA,), ways=(block.THEIRS, block.ROWWISE)
    )
    one = lambda training: [training.program(model.rounded_twice())]  # each takes a second
    monkeypatch.setattr(block, "roundings", one)
    sizes = dataclasses.replace(SIZES, tokens=32)  # rounding is less in a loss of many
    result = block.measure({"name": "X"}, Options(out=tmp_path), sizes, scale, devices)
    theirs, ours = result.measurements
    assert theirs.notes["exchanged"] == ours.notes["exchanged"] == {"all-reduce": 11}
    assert len(ours.samples) == 2
    assert ours.notes["losses"][-1] < ours.notes["losses"][0] - 0.5
    losses, share, exchanged = result.bars
    assert losses.holds
    assert 0 < losses.value < losses.limit < 0.02
    assert share.value > 0
    assert exchanged.holds
    (path,) = tmp_path.iterdir()
    record = measure.load(path)
    again = Options(known=record, resume=True)
    assert block.measure({"name": "X"}, again, sizes, scale, devices).bars == result.bars
    assert table.table(record)[-1] == (
        "- 2 GPUs, data parallel: arrays exchanged in a step: 11 by all-reduce (all)"
    )


def test_tensor_parallel(devices):
    """The cross entropy of pyptx exchanges fewer numbers, and no operation gathers columns."""
    training = block.Training(TENSOR, devices, SIZES, jnp.float32)
    found = block.ways(training.mesh)
    theirs, ours = (training.program(found[name]) for name in (block.THEIRS, block.PRODUCTS))
    assert block.exchanged(theirs) == {"all-reduce": 7}
    assert block.exchanged(ours) == {"all-reduce": 5}
    wanted = training.curve(theirs, 4)
    assert block.difference(training.curve(ours, 4), wanted) < 2e-4


def test_arrays_are_counted_where_collectives_are_combined():
    class Program:
        def as_text(self):
            return """
              %a = (f32[8]{0}, bf16[4]{0}) all-reduce-start(%x, %y), channel_id=1
              %b = (f32[8]{0}, bf16[4]{0}) all-reduce-done(%a)
              %c = f32[16]{0} all-gather(%b.1), channel_id=2, dimensions={0}
            """

    found = block.exchanged(Program())
    assert found == {"all-gather": 1, "all-reduce": 2}
    assert block.beyond(found, {"all-reduce": 3}) == 1
    assert block.beyond({"all-reduce": 4}, {"all-reduce": 3, "all-gather": 5}) == 1
