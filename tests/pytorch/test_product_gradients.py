"""Gradients of products of 16 bits against products in float64, element by element."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal

import pyptx.torch as ours
from pyptx import LanguageError, ptx

BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
ULP = {BF16: 2.0**-7, F16: 0.5, F32: 2.0**-22}
LEAST = {BF16: 0.0, F16: 2.0**-24, F32: 0.0}
"""What numbers are multiples of near zero."""
KINDS = {
    "bf16": (BF16, F32, 1.0, 1.0), "large": (F16, F32, 1e5, 0.01), "small": (F16, F32, 1e-8, 1e3),
    "large bf16": (F16, BF16, 1e5, 0.01), "f16 of bf16": (BF16, F16, 1.0, 1.0),
}  # fmt: skip


def made(shape, dtype=F32, seed=0, size=1.0):
    found = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * size
    return found.to(dtype)


def check(found, wanted, absolute):
    """Within 1e-6 of the sum of absolute products, and a unit in the last place."""
    bound = 1e-6 * absolute + ULP[found.dtype] * wanted.abs() + LEAST[found.dtype]
    assert found.shape == wanted.shape
    assert ((found.double() - wanted).abs() <= bound).all()


def gradients(f, g, *tensors):
    leaves = [x.detach().requires_grad_() for x in tensors]
    return torch.autograd.grad(f(*leaves), leaves, g)


def check_both(found, a, b, g):
    """The gradients of (..., M, K) by (..., K, N); b may be one matrix of a batch."""
    a, b, g = a.double(), b.double(), g.double()
    for one, x, y in ((found[0], g, b.mT), (found[1], a.mT, g)):
        wanted, absolute = x @ y, x.abs() @ y.abs()
        batch = range(wanted.ndim - one.ndim)
        check(one, *(each.sum([*batch]) if batch else each for each in (wanted, absolute)))


SHAPES = [
    ((24, 40), (40, 16)),
    ((9, 35), (35, 7)),
    ((3, 5, 24), (24, 16)),
    ((2, 9, 16), (2, 16, 8)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_all_bits_of_a_gradient_are_multiplied(kind, shapes):
    """float16 has the gradients of the factors, and not that of the result, of KINDS."""
    dtype, out, size, factor = KINDS[kind]
    a = made(shapes[0], dtype, 0, size**-0.5 if factor != 1 else 1.0)
    b = made(shapes[1], dtype, 1, factor)
    g = made((*shapes[0][:-1], shapes[1][-1]), out, 2, size)
    check_both(gradients(partial(ours.matmul, out_dtype=out), g, a, b), a, b, g)
    turned = lambda a, b: ours.matmul(a, b.mT, out_dtype=out)
    da, db = gradients(turned, g, a, b.mT.contiguous())
    check_both((da, db.mT), a, b, g)


@pytest.mark.parametrize("kind", [k for k in KINDS if KINDS[k][1] is F32])
@pytest.mark.parametrize("along_k", [False, True])
def test_groups(along_k, kind):
    dtype, _, size, factor = KINDS[kind]
    ends = torch.tensor([4, 4, 20], dtype=torch.int32)
    parts = [slice(0, 4), slice(4, 4), slice(4, 20)]
    f = partial(ours.grouped_mm, offs=ends, out_dtype=F32)
    a = made((10, 20) if along_k else (20, 24), dtype, 0, size**-0.5 if factor != 1 else 1.0)
    b = made((20, 12) if along_k else (3, 24, 12), dtype, 1, factor)
    g = made((3, 10, 12) if along_k else (20, 12), F32, 2, size)
    da, db = gradients(f, g, a, b)
    for i, part in enumerate(parts):
        if along_k:
            check_both((da[:, part], db[part]), a[:, part], b[part], g[i])
        else:
            check_both((da[part], db[i]), a[part], b[i], g[part])


@pytest.mark.parametrize("dtype", [BF16, F16], ids=str)
def test_layers_of_more_bits(dtype):
    x, w, bias, g = made((9, 40), dtype), made((24, 40), dtype, 1), made(24), made((9, 24), F32, 2)
    da, dw, dbias = gradients(partial(ours.linear, out_dtype=F32), g, x, w, bias)
    check_both((da, dw.mT), x, w.mT, g)
    check(dbias, g.double().sum(0), g.double().abs().sum(0))
    for activation, plain in (("relu", F.relu), ("silu", F.silu)):
        of_sums = gradients(plain, g.double(), F.linear(x.double(), w.double()))[0]
        found = gradients(partial(ours.linear, activation=activation, out_dtype=F32), g, x, w)
        for one, wanted in zip(found, (of_sums @ w.double(), of_sums.mT @ x.double()), strict=True):
            check(one, wanted, 30.0)


@pytest.mark.parametrize("shape", [(4, 64, 8), (3, 72, 20)], ids=str)
@pytest.mark.parametrize("activation", ["relu", "silu", "gelu", "gelu_tanh"])
def test_sums_beyond_float16_have_a_gradient(activation, shape):
    m, k, n = shape
    x, w = torch.full((m, k), 100.0, dtype=F16), torch.full((n, k), -100.0, dtype=F16)
    g = torch.ones((m, n), dtype=F16)
    found = gradients(partial(ours.linear, activation=activation), g, x, w)
    assert not any(each.any() for each in found)


def test_a_gate_beyond_float16():
    x, gate, up = (
        torch.full(shape, value, dtype=F16)
        for shape, value in (((4, 64), 100.0), ((64, 8), 1e-6), ((64, 8), 20.0))
    )
    g = torch.full((4, 8), 0.5, dtype=F16)
    plain = lambda x, gate, up: F.silu(x @ gate) * (x @ up)
    wanted = gradients(plain, g.double(), *(each.double() for each in (x, gate, up)))
    found = gradients(ours.gated_matmul, g, x, gate, up)
    for i in (0, 2):  # the gradient of the gate is beyond float16 itself
        torch.testing.assert_close(found[i].double(), wanted[i], rtol=2e-3, atol=2.0**-24)


def shrunk(total):
    return ptx.inst.mul.rn.f32(total, 1e-7)


def test_a_function_of_your_own_beyond_float16():
    a, b = torch.full((4, 64), 100.0, dtype=F16), torch.full((64, 8), 100.0, dtype=F16)
    f = lambda a, b: ours.fused_matmul(a, b, shrunk, reference=lambda total: total * 1e-7)
    g = torch.ones((4, 8), dtype=F16)
    da, db = gradients(f, g, a, b)
    check(da, torch.full((4, 64), 8e2 * 1e-7).double(), 8e-5)
    check(db, torch.full((64, 8), 4e2 * 1e-7).double(), 4e-5)


def test_silu_of_minus_infinity_is_zero():
    x, w = torch.full((3, 16), -torch.inf), torch.ones(8, 16)
    assert not ours.linear(x, w, activation="silu").any()


# ---- misuse --------------------------------------------------------------------------------------


def of_a_sum(total):
    return total


def test_an_epilogue_of_other_parameters_is_refused():
    x, w = torch.randn(5, 8), torch.randn(8, 16)
    with pytest.raises(LanguageError) as caught:
        ours.fused_matmul(x, w, of_a_sum, rows=[torch.ones(5)], elements=[torch.ones(5, 16)])
    line = of_a_sum.__code__.co_firstlineno
    assert str(caught.value) == (
        f"{__file__}:{line}: of_a_sum(total) cannot take its registers: one sum, 1 of rows, "
        "1 of elements\n"
        "    def of_a_sum(total):\n"
        "  legal: epilogue(*sums, *of_rows, *of_columns, *of_elements)"
    )


def test_types_that_are_none_are_refused():
    x, w = torch.randn(5, 8), torch.randn(8, 16)
    legal = "\n  legal: torch.bfloat16 torch.float16 torch.float32"
    run = partial(refusal, ours.fused_matmul, x, w, of_a_sum)
    assert run(further=[[1]]) == f"further[0] is [1]{legal}"
    assert run(further=[F32, None]) == f"further[1] is None{legal}"
    assert run(out_dtype=[1]) == f"out_dtype is [1]{legal}"
    assert refusal(ours.linear, x, w.t(), activation=["relu"]) == (
        "there is no activation ['relu']\n  legal: relu silu gelu gelu_tanh"
    )
