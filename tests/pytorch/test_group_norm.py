"""`pyptx.torch.group_norm` and `instance_norm` against PyTorch's own in float64."""

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal
from torch.autograd import gradcheck, gradgradcheck

import pyptx.torch as ours

TOLERANCES = {torch.bfloat16: 2e-2, torch.float16: 3e-3, torch.float32: 1e-5, torch.float64: 1e-12}


def close(found, wanted, tolerance):
    torch.testing.assert_close(found.double(), wanted.double(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("parameters", ["", "weight", "bias", "weight bias"])
@pytest.mark.parametrize("shape", [(2, 6), (1, 6, 7), (3, 6, 4, 5), (0, 6, 3)], ids=str)
def test_values_and_gradients(shape, parameters, dtype):
    x = (torch.randn(shape) + 3).to(dtype).requires_grad_()
    weight, bias = (
        torch.randn(6).requires_grad_() if name in parameters else None
        for name in ("weight", "bias")
    )
    tensors = [each for each in (x, weight, bias) if each is not None]
    for found, wanted in (
        (ours.group_norm(x, 3, weight, bias), lambda *a: F.group_norm(a[0], 3, *a[1:])),
        (
            ours.instance_norm(x, weight=weight, bias=bias),
            lambda *a: F.group_norm(a[0], 6, *a[1:]),  # which takes channels of one element
        ),
    ):
        assert found.dtype is dtype
        # PyTorch 2.11 fails to give the gradient of a bias without a weight.
        ones = torch.ones(6) if weight is None else weight
        exact = wanted(*(None if a is None else a.double() for a in (x, ones, bias)))
        close(found, exact, TOLERANCES[dtype])
        g = torch.randn(shape, dtype=dtype)
        pairs = (
            torch.autograd.grad(found, tensors, g),
            torch.autograd.grad(exact, tensors, g.double()),
        )
        for one, other, tensor in zip(*pairs, tensors, strict=True):
            assert one.dtype is tensor.dtype
            close(one, other, 20 * TOLERANCES[dtype])


def test_derivatives_in_float64():
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    w, b = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert gradcheck(lambda *a: ours.group_norm(a[0], 2, *a[1:]), (x, w, b))
    assert gradgradcheck(lambda *a: ours.group_norm(a[0], 2, *a[1:]), (x, w, b))


def test_strides_vmap_and_programs():
    x = torch.randn(2, 5, 7, 6).permute(0, 3, 1, 2)
    close(ours.group_norm(x, 2), F.group_norm(x, 2), 1e-5)
    found = torch.func.vmap(lambda x: ours.group_norm(x, 2))(x[None].expand(3, 2, 6, 5, 7))
    close(found[2], F.group_norm(x, 2), 1e-5)
    compiled = torch.compile(
        lambda x: ours.group_norm(torch.sin(x), 2),
        fullgraph=True,
        dynamic=True,
        backend="aot_eager",
    )
    for count in (2, 3):
        y = torch.randn(count, 6, 4, 5)
        close(compiled(y), F.group_norm(torch.sin(y), 2), 1e-5)


def test_a_module_and_a_model():
    x = torch.randn(2, 6, 5)
    theirs = torch.nn.GroupNorm(3, 6)
    mine = ours.GroupNorm(3, 6)
    mine.load_state_dict(theirs.state_dict())
    close(mine(x), theirs(x), 1e-5)
    model = torch.nn.Sequential(theirs)
    wanted = model(x)
    assert ours.patch(model) == ["0"]
    close(model(x), wanted, 1e-5)


def test_refusals():
    x = torch.randn(2, 6, 5)
    assert refusal(ours.group_norm, x, 4) == (
        "num_groups is 4 and must divide the 6 channels of input"
    )
    assert refusal(ours.group_norm, x[0, 0], 1) == (
        "input has shape (5,), and group_norm takes (N, C, ...)"
    )
    assert refusal(ours.group_norm, x, 2, torch.ones(5)) == (
        "weight has shape (5,), and input 6 channels\n  legal: (6,)"
    )
    assert refusal(ours.instance_norm, x, torch.zeros(6), torch.ones(6)) == (
        "instance_norm takes the statistics of input, and keeps no running ones\n"
        "  help: instance_norm(input, weight=weight, bias=bias)"
    )
