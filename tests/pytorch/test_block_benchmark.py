"""The training step that is measured on a GPU, here with a few tokens: every way has one loss."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import torch_block

SIZES = torch_block.Sizes(tokens=6, width=64, hidden=96, heads=2, vocabulary=50)


def test_losses_and_gradients_are_the_same():
    ids, labels = torch_block.inputs(SIZES, "cpu")
    found = {}
    for name, operations in torch_block.ways().items():
        if name == "Liger":
            continue  # has kernels for GPUs alone
        model = torch_block.block(SIZES, operations, "cpu", torch.float32)
        loss = torch_block.step(model, ids, labels, compiled=False)()
        found[name] = loss, [parameter.grad for parameter in model.parameters()]
    (one, gradients), (other, wanted) = found["pyptx.torch"], found["PyTorch"]
    torch.testing.assert_close(one, other)
    for gradient, expected in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-5)


def test_the_step_is_one_graph():
    ids, labels = torch_block.inputs(SIZES, "cpu")
    model = torch_block.block(SIZES, torch_block.ways()["pyptx.torch"], "cpu", torch.float32)
    loss = model(ids, labels)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    again = compiled(ids, labels)
    again.backward()
    torch.testing.assert_close(again, loss)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
