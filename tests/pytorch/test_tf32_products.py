"""Products of float32 matrices by tf32, as PyTorch is told."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import pyptx.torch as ours


@pytest.fixture(params=["high", "medium"])
def told(request):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(request.param)
    yield
    torch.set_float32_matmul_precision(before)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.utils.counters.clear()


def rounded(x):
    """The nearest number of 10 bits of fraction, the even one of two; in float64."""
    fraction, exponent = torch.frexp(x.detach().double())
    return torch.ldexp(torch.round(fraction * 2**11), exponent - 11)


def near(found, wanted):
    scale = float(wanted.abs().max())
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=2e-6 * scale)


def made(*shape):
    return torch.randn(*shape).requires_grad_()


def transposed(a, b):
    return ours.matmul(a, b.mT)


@pytest.mark.parametrize("operation", [ours.matmul, transposed])
def test_products(told, operation):
    turned = operation is transposed
    a, b = made(40, 72), made(*((24, 72) if turned else (72, 24)))
    d = operation(a, b)
    whole = rounded(b).mT if turned else rounded(b)
    near(d, rounded(a) @ whole)
    exact = b.detach().double()
    assert (d - a.detach().double() @ (exact.mT if turned else exact)).abs().max() > 1e-4
    g = torch.randn_like(d)
    da, db = torch.autograd.grad(d, (a, b), g)
    near(da, rounded(g) @ whole.mT)
    of_b = rounded(a).mT @ rounded(g)
    near(db, of_b.mT if turned else of_b)


def test_layers(told):
    x, w, bias = made(3, 20, 40), made(24, 40), made(24)
    found = ours.linear(x, w, bias, activation="relu")
    near(found, F.relu(F.linear(rounded(x), rounded(w), bias.detach().double())))
    gate, up = made(40, 24), made(40, 24)
    both = rounded(x) @ rounded(gate), rounded(x) @ rounded(up)
    near(ours.gated_matmul(x, gate, up), F.silu(both[0]) * both[1])


def test_numbers_beyond_those_of_tf32(told):
    top = torch.finfo(torch.float32).max
    a = torch.tensor([[torch.inf, 1.0], [torch.nan, 1.0], [top, 0.0], [-0.0, 2.0**-149]])
    found = ours.matmul(a, torch.eye(2))
    assert torch.isinf(found[0, 0])
    assert torch.isnan(found[1, 0])
    assert torch.isinf(found[2, 0])  # the next of 10 bits of fraction is infinity
    assert (found[3] == 0).all()


def test_a_compiled_function_follows():
    a, b = torch.randn(33, 40), torch.randn(40, 24)
    compiled = torch.compile(lambda a, b: ours.matmul(a, b), fullgraph=True)
    exact = a.double() @ b.double()
    before = torch.get_float32_matmul_precision()
    try:
        for precision in ("highest", "high", "highest", "high"):
            torch.set_float32_matmul_precision(precision)
            error = (compiled(a, b).double() - exact).abs().max() / exact.abs().max()
            assert (error < 1e-6) if precision == "highest" else (1e-5 < error < 1e-3)
    finally:
        torch.set_float32_matmul_precision(before)


def test_compiled_products_keep_all_bits():
    """The compiler leaves out that a number is rounded and widened again, by which it was split."""
    x, w, offs = torch.randn(40, 72), torch.randn(72, 24), torch.tensor([16, 40], dtype=torch.int32)
    exact = x.double() @ w.double()

    @torch.compile(fullgraph=True)
    def both(x, w):
        groups = ours.grouped_mm(x, torch.stack((w, w)), offs=offs)
        return ours.linear(x, w.t()), groups, ours.gated_matmul(x, w, w)

    layer, groups, gated = both(x, w)
    near(layer, exact)
    near(groups, exact)
    near(gated, F.silu(exact) * exact)
