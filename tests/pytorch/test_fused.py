"""`pyptx.torch.linear` and `gated_matmul` against PyTorch's own in float64."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal
from torch.autograd import gradcheck, gradgradcheck
from torch.utils._python_dispatch import TorchDispatchMode

import pyptx.torch as ours

ACTIVATIONS = {
    None: lambda x: x,
    "relu": F.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
}
TOLERANCES = {torch.bfloat16: 3e-2, torch.float32: 2e-4}


def close(one, other, tolerance):
    torch.testing.assert_close(one.double(), other.double(), rtol=tolerance, atol=tolerance)


def check(found, wanted, tensors, tolerance):
    close(found, wanted, tolerance)
    g = torch.randn_like(found)
    pairs = torch.autograd.grad(found, tensors, g), torch.autograd.grad(wanted, tensors, g.double())
    for one, other, tensor in zip(*pairs, tensors, strict=True):
        assert one.dtype is tensor.dtype
        close(one, other, 4 * tolerance)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("parts", ["", "bias", "residual", "bias residual"])
@pytest.mark.parametrize("activation", [None, "relu", "gelu"])
def test_linear(activation, parts, dtype):
    def made(*shape):
        return torch.randn(*shape).to(dtype).requires_grad_()

    x, w = made(2, 5, 24), made(17, 24)
    bias = made(17) if "bias" in parts else None
    residual = made(2, 5, 17) if "residual" in parts else None
    given = [each for each in (x, w, bias, residual) if each is not None]
    found = ours.linear(x, w, bias, activation=activation, residual=residual)
    assert found.dtype is dtype
    wide = F.linear(x.double(), w.double(), None if bias is None else bias.double())
    wanted = ACTIVATIONS[activation](wide)
    wanted = wanted if residual is None else wanted + residual.double()
    # Sums are of 24 products of numbers around 1.
    check(found, wanted, given, 5 * TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("activation", ["silu", "gelu_tanh"])
def test_gated_matmul(activation, dtype):
    x = torch.randn(5, 24).to(dtype).requires_grad_()
    gate = (torch.randn(24, 16) / 5).to(dtype).requires_grad_()
    up = (torch.randn(16, 24) / 5).to(dtype).t().requires_grad_()
    found = ours.gated_matmul(x, gate, up, activation=activation)
    wide = x.double()
    wanted = ACTIVATIONS[activation](wide @ gate.double()) * (wide @ up.double())
    check(found, wanted, [x, gate, up], TOLERANCES[dtype])


def test_compiled_mapped_and_of_one_row():
    compiled = torch.compile(
        lambda x, w, b: ours.linear(x, w, b, activation="gelu"),
        fullgraph=True,
        dynamic=True,
        backend="aot_eager",
    )
    w, b = torch.randn(16, 24), torch.randn(16)
    for rows in (4, 9):
        x = torch.randn(rows, 24, requires_grad=True)
        wanted = F.gelu(F.linear(x, w, b))
        check(compiled(x, w, b), wanted.double(), [x], 1e-3)
    x = torch.randn(3, 4, 24)
    close(torch.func.vmap(lambda x: ours.linear(x, w, b))(x), F.linear(x, w, b), 1e-3)
    close(ours.linear(x[0, 0], w, b), F.linear(x[0, 0], w, b), 1e-3)
    with torch.autocast("cpu", torch.bfloat16):
        assert ours.linear(x, w, b).dtype is torch.bfloat16


def test_derivatives_of_both_orders():
    x, w, b = (torch.randn(shape, requires_grad=True) for shape in ((3, 4), (5, 4), (5,)))
    tolerance = {"eps": 1e-1, "atol": 1e-3, "rtol": 1e-3}  # it is linear in each
    assert gradcheck(ours.linear, [x, w, b], **tolerance)
    assert gradgradcheck(ours.linear, [x, w, b], **tolerance)


class Launches(TorchDispatchMode):
    """Names of PyTorch's own operators that compute something, in the order of their calls."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        if not func.is_view and func.namespace == "aten" and "empty" not in func.name():
            self.names.append(func.name())
        return found


@pytest.mark.parametrize("activation", [None, "silu"])
@pytest.mark.parametrize("gated", [False, True])
def test_gradients_are_computed_by_kernels_alone(gated, activation):
    """PyTorch's operators would read and write all elements several times in float32."""
    x, weight, other = (
        torch.randn(24, 32, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)
    )
    if gated:
        y = ours.gated_matmul(x, weight.t(), other.t(), activation=activation or "relu")
    else:
        y = ours.linear(x, weight, activation=activation, residual=torch.randn_like(x @ weight.t()))
    g = torch.randn_like(y)
    with Launches() as launches:
        y.backward(g)
    allowed = {"aten::add.Tensor"} if gated else set()  # of two gradients of the input
    assert set(launches.names) - {"aten::detach"} <= allowed


def test_what_is_refused():
    x, w = torch.randn(5, 8), torch.randn(16, 8)
    assert refusal(ours.linear, x, w.t()) == (
        "input has shape (5, 8) and weight (8, 16); their last dimensions are the same\n"
        "  legal: (..., K) and (N, K)"
    )
    assert refusal(ours.linear, x, w.half()) == (
        "input has elements of type float32 and weight of float16; linear takes one type\n"
        "  help: weight.to(input.dtype)"
    )
    assert refusal(ours.linear, x, w, activation="tanh") == (
        "there is no activation 'tanh'\n  legal: relu silu gelu gelu_tanh"
    )
    assert refusal(ours.linear, x, w, torch.ones(5)) == "bias has shape (5,) and must have (16,)"
    assert refusal(ours.linear, x, w, residual=torch.ones(16)) == (
        "residual has shape (16,) and must have (5, 16)"
    )
    assert refusal(ours.gated_matmul, x, w, w) == (
        "input has shape (5, 8) and gate (16, 8); input's last dimension is gate's first\n"
        "  legal: (..., K) and (K, N)"
    )
    assert refusal(ours.gated_matmul, x, w.t(), w.t()[:, :4]) == (
        "gate has shape (8, 16) and up (8, 4); they have one"
    )
    assert refusal(ours.gated_matmul, x, w.t(), w.t(), activation=None) == (
        "activation is None, and a gate needs one"
    )


@pytest.mark.parametrize("sizes", [(0, 5, 4), (3, 0, 4), (3, 5, 0), (0, 0, 4), (3, 0, 0)], ids=str)
@pytest.mark.parametrize("lead", [(), (2,), (0, 2)], ids=str)
def test_nothing_of_something(lead, sizes):
    """Sizes of 0 in every place: sums of nothing are zeros."""
    m, k, n = sizes
    x, w, b = torch.randn(*lead, m, k), torch.randn(n, k), torch.randn(n)
    residual = torch.randn(*lead, m, n)
    wanted = F.relu(F.linear(x, w, b)) + residual
    close(ours.linear(x, w, b, activation="relu", residual=residual), wanted, 1e-5)
    close(ours.matmul(x, w.t()), x @ w.t(), 1e-5)
    close(ours.gated_matmul(x, w.t(), w.t()), F.silu(x @ w.t()) * (x @ w.t()), 1e-5)
    found = ours.fused_matmul(x, w.t(), lambda total, e: total + e, elements=(residual,))
    close(found, x @ w.t() + residual, 1e-5)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_a_transposed_input_of_rows_that_are_padded(dtype):
    """Rows of the residual are as many as the input's, which would be padded to eight of them."""
    x = torch.randn(24, 3).to(dtype).t().requires_grad_()
    w, residual = torch.randn(17, 24).to(dtype).requires_grad_(), torch.randn(3, 17).to(dtype)
    wanted = F.linear(x.double(), w.double()) + residual.double()
    check(ours.linear(x, w, residual=residual), wanted, [x, w], 5 * TOLERANCES[dtype])


def test_derivatives_of_a_residual_are_those_of_the_result():
    """Of one type they are one tensor, which PyTorch does not let a derivative save and return."""
    x, w = torch.randn(3, 8), torch.randn(5, 8)
    residual = torch.randn(3, 5, requires_grad=True)

    def loss(residual):
        return (ours.linear(x, w, residual=residual) ** 2).sum()

    def wanted(residual):
        return ((F.linear(x, w) + residual) ** 2).sum()

    close(
        torch.func.grad(loss)(residual.detach()), torch.func.grad(wanted)(residual.detach()), 1e-5
    )
    (first,) = torch.autograd.grad(loss(residual), residual, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), residual)
    close(second, torch.full((3, 5), 2.0), 1e-6)
