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


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("smoothing", [0.2, 1.0])
def test_weights_of_classes_with_smoothing(name, smoothing):
    options = {**OPTIONS[name], "label_smoothing": smoothing}
    x, indices = given()
    if options.get("ignore_index"):
        indices[2] = 0
    weight = torch.rand(CLASSES, dtype=torch.float64)
    weight[3] = 0
    wanted = F.cross_entropy(x, indices, weight, **options)
    torch.testing.assert_close(ours.cross_entropy(x, indices, weight, **options), wanted)
    loss = partial(ours.cross_entropy, target=indices, weight=weight, **options)
    x.requires_grad_()
    assert gradcheck(loss, [x])
    assert gradgradcheck(loss, [x])
    torch.testing.assert_close(
        torch.autograd.grad(loss(x).sum(), x),
        torch.autograd.grad(F.cross_entropy(x, indices, weight, **options).sum(), x),
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_weights_of_classes_with_probabilities(reduction, smoothing):
    x, _ = given()
    options = {"reduction": reduction, "label_smoothing": smoothing}
    tensors = [x, torch.rand_like(x), torch.rand(CLASSES, dtype=torch.float64)]
    x, p, weight = (each.requires_grad_() for each in tensors)
    found, wanted = (f(x, p, weight, **options) for f in (ours.cross_entropy, F.cross_entropy))
    torch.testing.assert_close(found, wanted)
    pair = (torch.autograd.grad(each.sum(), [x, p, weight]) for each in (found, wanted))
    for one, other in zip(*pair, strict=True):
        torch.testing.assert_close(one, other)
    images, q = torch.randn(2, 5, 3), torch.rand(2, 5, 3)
    w = torch.rand(5)
    wanted = F.cross_entropy(images, q, w, **options)
    torch.testing.assert_close(ours.cross_entropy(images, q, w, **options), wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("columns", [40, 3001, 40000])
def test_narrow_types_with_weights_and_smoothing(columns, dtype):
    """Short rows, and rows that a CTA and several read."""
    x = (3 * torch.randn(4, columns)).to(dtype).requires_grad_()
    wide = x.detach().double().requires_grad_()
    weight, indices = torch.rand(columns), torch.tensor([0, columns - 1, -100, 7])
    found = ours.cross_entropy(x, indices, weight, label_smoothing=0.1)
    wanted = F.cross_entropy(wide, indices, weight.double(), label_smoothing=0.1)
    assert found.dtype is dtype
    torch.testing.assert_close(found, wanted.to(dtype))
    (one,), (other,) = torch.autograd.grad(found, [x]), torch.autograd.grad(wanted, [wide])
    torch.testing.assert_close(one, other.to(dtype), rtol=2e-2, atol=1e-5)


def test_weights_and_smoothing_elsewhere():
    """Images, z_loss, what is no class, minus infinities, torch.func and torch.compile."""
    x, indices, weight = torch.randn(2, 5, 3, 4), torch.randint(0, 5, (2, 3, 4)), torch.rand(5)
    options = {"weight": weight, "label_smoothing": 0.2}
    wanted = F.cross_entropy(x, indices, **options)
    torch.testing.assert_close(ours.cross_entropy(x, indices, **options), wanted)
    own, lse = weight[indices], torch.logsumexp(x, 1)
    penalty = (own * lse.square()).sum() / own.sum()
    found = ours.cross_entropy(x, indices, **options, z_loss=0.01)
    torch.testing.assert_close(found, wanted + 0.01 * penalty)
    rows = torch.randn(3, 5, requires_grad=True)
    loss = ours.cross_entropy(rows, torch.tensor([1, 5, 2**40]), reduction="none", **options)
    assert loss.isnan().tolist() == [False, True, True]
    masked = torch.randn(3, 5)
    masked[:, 4], weight[4] = -torch.inf, 0
    found = ours.cross_entropy(masked, torch.tensor([0, 1, 2]), **options)
    short = {"weight": weight[:4], "label_smoothing": 0.2 * 4 / 5}
    wanted = F.cross_entropy(masked[:, :4], torch.tensor([0, 1, 2]), reduction="sum", **short)
    hot = F.cross_entropy(masked[:, :4], torch.tensor([0, 1, 2]), weight[:4], reduction="sum")
    torch.testing.assert_close(found, (wanted - 0.04 * hot) / weight[:3].sum())
    x, indices = torch.randn(3, 5, 40), torch.randint(0, 40, (3, 5))
    options = {"weight": torch.rand(40), "label_smoothing": 0.2}
    gradients = [
        torch.func.vmap(torch.func.grad(partial(f, **options)))(x, indices)
        for f in (ours.cross_entropy, F.cross_entropy)
    ]
    torch.testing.assert_close(*gradients)
    compiled = torch.compile(
        partial(ours.cross_entropy, **options), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    for n in (3, 9):
        x, indices = torch.randn(n, 40, requires_grad=True), torch.randint(0, 40, (n,))
        pair = compiled(x, indices), F.cross_entropy(x, indices, **options)
        torch.testing.assert_close(*pair)
        torch.testing.assert_close(*(torch.autograd.grad(each, x)[0] for each in pair))


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
    weighted = torch.nn.CrossEntropyLoss(weight=torch.rand(40), label_smoothing=0.1)
    wanted = weighted(x, indices)
    assert ours.patch(weighted) == [""]
    torch.testing.assert_close(weighted(x, indices), wanted)


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
