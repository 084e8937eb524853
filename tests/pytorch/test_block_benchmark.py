"""The training step that is measured on a GPU, here with a few tokens: every way has one loss."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import torch_block


def eager(graph, inputs):
    """A backend that runs a graph as it is."""
    del inputs
    return graph.forward


SIZES = torch_block.Sizes(tokens=6, width=64, hidden=96, heads=2, vocabulary=50)


def trained(name):
    """The model of a way after one step, with its gradients, and the loss."""
    ids, labels = torch_block.inputs(SIZES, "cpu")
    model = torch_block.block(SIZES, torch_block.ways()[name], "cpu", torch.float32)
    return model, torch_block.step(model, ids, labels, compiled=False)()


# Liger has kernels for GPUs alone.
@pytest.mark.parametrize("name", [n for n in torch_block.ways() if n not in ("PyTorch", "Liger")])
def test_losses_and_gradients_are_the_same(name):
    (model, loss), (other, wanted) = trained(name), trained("PyTorch")
    torch.testing.assert_close(loss, wanted)
    for found, expected in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(found.grad, expected.grad, rtol=1e-3, atol=1e-5)


def test_a_wrong_gradient_is_seen():
    (one, _), (other, _) = trained("PyTorch"), trained("pyptx.torch")
    assert torch_block.difference(other, one) < 1e-3
    other.up.weight.grad[0] = 0
    assert torch_block.difference(other, one) > torch_block.LARGEST_DIFFERENCE
    other.up.weight.grad[0] = torch.nan
    assert not torch_block.difference(other, one) < torch_block.LARGEST_DIFFERENCE


def test_the_step_is_one_graph():
    ids, labels = torch_block.inputs(SIZES, "cpu")
    model = torch_block.block(SIZES, torch_block.ways()["pyptx.torch"], "cpu", torch.float32)
    loss = model(ids, labels)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    again = compiled(ids, labels)
    again.backward()
    torch.testing.assert_close(again, loss)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_a_graph_that_breaks_does_not_replace_those_of_other_ways():
    """The part before the break of one fits all of them: torch.compile keeps graphs by code."""
    ids, labels = torch_block.inputs(SIZES, "cpu")
    theirs = torch_block.ways()["PyTorch"]
    norm = torch.compiler.disable(lambda *given: theirs.rms_norm(*given))
    several = [theirs, replace(theirs, rms_norm=norm, one_graph=False)]
    models = [torch_block.block(SIZES, each, "cpu", torch.float32) for each in several]
    steps = [torch_block.step(model, ids, labels, backend=eager) for model in models]
    first = [float(run()) for run in steps]
    assert [float(run()) for run in steps] == first  # `step` raises where no graph was run


def test_a_step_that_is_not_compiled_is_seen():
    ids, labels = torch_block.inputs(SIZES, "cpu")
    model = torch_block.block(SIZES, torch_block.ways()["PyTorch"], "cpu", torch.float32)
    run = torch_block.step(model, ids, labels, backend=eager)
    run()
    with (
        torch.compiler.set_stance("force_eager"),
        pytest.raises(RuntimeError, match="a step ran 0 graphs"),
    ):
        run()


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NNT", "matrix products"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16>", "matrix products"),
        ("matmul", "matrix products"),
        ("void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<cutlass>", "attention"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob", "attention"),
        ("triton_poi_fused__scaled_dot_product_flash_attention_mm_t_3", "everything else"),
        ("rms_norm", "everything else"),
        ("Memset (Device)", "everything else"),
    ],
)
def test_kernels_are_told_apart(kernel: str, kind: str):
    assert torch_block.kind_of(kernel) == kind
