"""`pyptx.torch.cross_entropy` against PyTorch's own."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal
from torch.autograd import gradcheck, gradgradcheck

import pyptx.torch as ours

CLASSES = 11
INDICES = (0, 3, -100, 10, 5, 5)
OPTIONS = {
    "mean": {},
    "sum": {"reduction": "sum"},
    "none": {"reduction": "none"},
    "smoothed": {"label_smoothing": 0.1},
    "ignoring": {"ignore_index": 5},
    "ignoring and smoothed": {"ignore_index": 5, "label_smoothing": 0.3},
}

refused = partial(refusal, ours.cross_entropy)


def given(dtype=torch.float64):
    indices = torch.tensor(INDICES)
    return torch.randn(len(INDICES), CLASSES, dtype=dtype), indices


@pytest.mark.parametrize("name", OPTIONS)
def test_of_class_indices(name):
    options = OPTIONS[name]
    x, indices = given()
    if options.get("ignore_index"):
        indices[2] = 0  # PyTorch refuses what is neither ignored nor a class
    for kind in (torch.int64, torch.int32):
        wanted = F.cross_entropy(x, indices, **options)
        torch.testing.assert_close(ours.cross_entropy(x, indices.to(kind), **options), wanted)
    loss = partial(ours.cross_entropy, target=indices, **options)
    x.requires_grad_()
    assert gradcheck(loss, [x])
    assert gradgradcheck(loss, [x])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_of_probabilities(smoothing):
    x, _ = given()
    p = torch.rand_like(x).requires_grad_()
    x.requires_grad_()
    options = {"label_smoothing": smoothing}
    wanted = F.cross_entropy(x, p, **options)
    torch.testing.assert_close(ours.cross_entropy(x, p, **options), wanted)
    assert gradcheck(partial(ours.cross_entropy, **options), [x, p])
    assert gradgradcheck(partial(ours.cross_entropy, **options), [x, p])


def test_weights_of_classes():
    x, indices = given()
    weight = torch.rand(CLASSES, dtype=torch.float64)
    for reduction in ("mean", "sum", "none"):
        found = ours.cross_entropy(x, indices, weight, reduction=reduction)
        torch.testing.assert_close(found, F.cross_entropy(x, indices, weight, reduction=reduction))
    assert gradcheck(
        partial(ours.cross_entropy, target=indices, weight=weight), [x.requires_grad_()]
    )


def test_z_loss_is_of_the_logarithm_of_the_sum():
    x, indices = given()
    kept = (indices != -100).double()
    penalty = (torch.logsumexp(x, -1).square() * kept).sum() / kept.sum()
    wanted = F.cross_entropy(x, indices) + 1e-2 * penalty
    torch.testing.assert_close(ours.cross_entropy(x, indices, z_loss=1e-2), wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_types_and_gradients_of_narrow_ones(dtype):
    x, indices = given(dtype)
    x.requires_grad_()
    wide = x.detach().double().requires_grad_()
    found, wanted = ours.cross_entropy(x, indices), F.cross_entropy(wide, indices)
    assert found.dtype is dtype
    torch.testing.assert_close(found, wanted.to(dtype))
    (one,), (other,) = torch.autograd.grad(found, [x]), torch.autograd.grad(wanted, [wide])
    assert one.dtype is dtype
    torch.testing.assert_close(one, other.to(dtype), rtol=2e-2, atol=2e-3)


def test_images_one_row_and_other_shapes():
    x, indices = torch.randn(2, 5, 3, 4, requires_grad=True), torch.randint(0, 5, (2, 3, 4))
    wanted = F.cross_entropy(x, indices)
    torch.testing.assert_close(ours.cross_entropy(x, indices), wanted)
    one, other = (
        torch.autograd.grad(f(x, indices), [x])[0] for f in (ours.cross_entropy, F.cross_entropy)
    )
    torch.testing.assert_close(one, other)
    row, index = torch.randn(7), torch.tensor(3)
    torch.testing.assert_close(ours.cross_entropy(row, index), F.cross_entropy(row, index))
    p = torch.rand(2, 5, 3)
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(ours.cross_entropy(x, p), F.cross_entropy(x, p))


def test_what_is_no_class_is_not_a_number():
    x = torch.randn(3, 5, requires_grad=True)
    loss = ours.cross_entropy(x, torch.tensor([1, 5, 2**40]), reduction="none")
    assert loss.isnan().tolist() == [False, True, True]
    loss.sum().backward()
    assert x.grad.isnan().any(-1).tolist() == [False, True, True]
    assert ours.cross_entropy(x, torch.full((3,), -100)).isnan()  # no row counts, as in PyTorch


def test_compiled_with_any_number_of_rows():
    compiled = torch.compile(ours.cross_entropy, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (5, 3, 17):
        x, indices = torch.randn(rows, 40, requires_grad=True), torch.randint(0, 40, (rows,))
        found, wanted = compiled(x, indices), F.cross_entropy(x, indices)
        torch.testing.assert_close(found, wanted)
        one, other = torch.autograd.grad(found, [x]), torch.autograd.grad(wanted, [x])
        torch.testing.assert_close(one, other)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2  # 0 and 1 dims of 40


def test_vmap_of_a_gradient():
    x, indices = torch.randn(3, 5, 40), torch.randint(0, 40, (3, 5))
    found, wanted = (
        torch.func.vmap(torch.func.grad(f))(x, indices)
        for f in (ours.cross_entropy, F.cross_entropy)
    )
    torch.testing.assert_close(found, wanted)


def test_the_module_of_a_model_is_patched():
    model = torch.nn.ModuleDict({"loss": torch.nn.CrossEntropyLoss(label_smoothing=0.1)})
    x, indices = torch.randn(5, 40), torch.randint(0, 40, (5,))
    wanted = model["loss"](x, indices)
    assert ours.patch(model) == ["loss"]
    torch.testing.assert_close(model["loss"](x, indices), wanted)
    mine = ours.CrossEntropyLoss(reduction="sum")
    torch.testing.assert_close(mine(x, indices), F.cross_entropy(x, indices, reduction="sum"))
    odd = torch.nn.CrossEntropyLoss(weight=torch.rand(40), label_smoothing=0.1)
    assert ours.patch(odd) == []  # there is no such kernel


def test_what_is_refused():
    x, indices = torch.randn(3, 5), torch.tensor([0, 1, 2])
    assert refused(x, [0, 1, 2]) == (
        "target is a list; cross_entropy takes tensors\n  help: torch.as_tensor(target)"
    )
    assert refused(x, indices[:2]) == (
        "target is int64 of shape (2,), and input has shape (3, 5)\n"
        "  legal: class indices, integers of shape (3,)\n"
        "  legal: probabilities, floating, of shape (3, 5)"
    )
    assert refused(x, indices, reduction="max") == (
        "reduction is 'max'\n  legal: 'mean' 'sum' 'none'"
    )
    assert refused(x, indices, reduce=True) == (
        "cross_entropy takes reduction= in place of reduce=\n"
        '  help: cross_entropy(input, target, reduction="mean")'
    )
    assert refused(x, indices, label_smoothing=1.5) == (
        "label_smoothing is 1.5 and must be at most 1\n"
        "  help: cross_entropy(input, target, label_smoothing=0.1, z_loss=1e-4)"
    )
    assert refused(x, indices, torch.rand(5), label_smoothing=0.1) == (
        "cross_entropy has weight= for class indices without label_smoothing\n"
        "  help: torch.nn.functional.cross_entropy has it for all"
    )
    assert refused(x, indices, torch.rand(4)) == "weight has shape (4,), and there are 5 classes"
    assert refused(x, indices, ignore_index=1.5) == (
        "ignore_index is 1.5 and must be a Python integer\n"
        "  help: cross_entropy(input, target, ignore_index=-100)"
    )
    assert refused(x, indices, ignore_index=2**31) == (
        "ignore_index is 2147483648 and must be less than 2147483647 from 0\n"
        "  help: cross_entropy(input, target, ignore_index=-100)"
    )
    assert refused(torch.tensor(1.0), indices) == (
        "input has shape (), and needs a dimension of classes"
    )
