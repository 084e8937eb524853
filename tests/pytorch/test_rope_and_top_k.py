"""`rope`, `top_k`, `argmax`, the norms of sums, and softmax with masks."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal
from torch.autograd import gradcheck, gradgradcheck

import pyptx.torch as ours

COMPILED = {"fullgraph": True, "backend": "aot_eager"}


def rotated(x, positions, base=10000.0, interleaved=False):
    size = x.shape[-1]
    turns = base ** (-2 * torch.arange(size // 2, dtype=torch.float64) / size)
    angles = positions.double()[..., None, None] * turns
    pair = (slice(0, None, 2), slice(1, None, 2))
    if not interleaved:
        pair = (slice(0, size // 2), slice(size // 2, None))
    one, other = (x[..., each].double() for each in pair)
    found = torch.empty(x.shape, dtype=torch.float64)
    found[..., pair[0]] = one * angles.cos() - other * angles.sin()
    found[..., pair[1]] = other * angles.cos() + one * angles.sin()
    return found


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_rope(dtype, interleaved):
    q, k = torch.randn(2, 5, 3, 16).to(dtype), torch.randn(2, 5, 1, 16).to(dtype)
    positions = torch.tensor([0, 1, 7, 1000, 123456])
    for base in (10000.0, 500000.0):
        found = ours.rope(q, k, positions, base=base, interleaved=interleaved)
        for one, x in zip(found, (q, k), strict=True):
            assert one.dtype is dtype
            torch.testing.assert_close(one, rotated(x, positions, base, interleaved).to(dtype))


def test_derivatives_of_rope():
    q, k = (torch.randn(3, heads, 8, dtype=torch.float64, requires_grad=True) for heads in (2, 1))
    turn = partial(ours.rope, positions=torch.arange(3))
    assert gradcheck(turn, [q, k])
    assert gradgradcheck(turn, [q, k])


def test_rope_compiled_and_mapped():
    compiled = torch.compile(ours.rope, dynamic=True, **COMPILED)
    for tokens in (5, 9):
        q = torch.randn(tokens, 2, 16, requires_grad=True)
        positions = torch.arange(tokens)
        found, _ = compiled(q, q, positions)
        torch.testing.assert_close(found, rotated(q, positions).float())
        (one,) = torch.autograd.grad(found.sum(), [q])
        (other,) = torch.autograd.grad(ours.rope(q, q, positions)[0].sum(), [q])
        torch.testing.assert_close(one, other)
    q, positions = torch.randn(3, 5, 2, 16), torch.arange(15).view(3, 5)
    found, _ = torch.func.vmap(ours.rope)(q, q, positions)
    torch.testing.assert_close(found, rotated(q, positions).float())


def test_top_k_and_argmax():
    x = torch.randn(4, 6, 9)
    for k, dim in ((1, -1), (3, -1), (2, 0), (6, 1)):
        found, wanted = ours.top_k(x, k, dim), torch.topk(x, k, dim)
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype is other.dtype
            assert torch.equal(one, other)
    for options in ({}, {"dim": 0}, {"dim": -1, "keepdim": True}, {"keepdim": True}):
        assert torch.equal(ours.argmax(x, **options), torch.argmax(x, **options))
    for special in (torch.nan, torch.inf):
        x[1, 2, 5] = special
        assert torch.equal(ours.argmax(x, -1), torch.argmax(x, -1))
        assert ours.top_k(x, 2)[1][1, 2, 0] == 5


def test_derivatives_of_top_k():
    x = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    values = lambda x: ours.top_k(x, 3, 0)[0] ** 2
    assert gradcheck(values, [x])
    assert gradgradcheck(values, [x])
    assert not ours.argmax(x).requires_grad


def test_top_k_compiled_and_mapped():
    compiled = torch.compile(lambda x: ours.top_k(x.sin(), 3), dynamic=True, **COMPILED)
    for rows in (4, 7):
        x = torch.randn(rows, 20, requires_grad=True)
        found, wanted = compiled(x), torch.topk(x.sin(), 3)
        assert torch.equal(found[0], wanted[0])
        assert torch.equal(found[1], wanted[1])
        one, other = (torch.autograd.grad(each[0].sum(), [x])[0] for each in (found, wanted))
        torch.testing.assert_close(one, other)
    x = torch.randn(3, 4, 20)
    found = torch.func.vmap(lambda x: ours.top_k(x, 2))(x)
    assert torch.equal(found[1], torch.topk(x, 2)[1])


NORMS = {
    "rms": (
        lambda x, r, w, b: ours.add_rms_norm(x, r, x.shape[-1:], w, 1e-5),
        lambda s, w, b: F.rms_norm(s, s.shape[-1:], w, 1e-5),
    ),
    "rms without weight": (
        lambda x, r, w, b: ours.add_rms_norm(x, r, x.shape[-1:], eps=1e-5),
        lambda s, w, b: F.rms_norm(s, s.shape[-1:], eps=1e-5),
    ),
    "layer": (
        lambda x, r, w, b: ours.add_layer_norm(x, r, x.shape[-1:], w, b),
        lambda s, w, b: F.layer_norm(s, s.shape[-1:], w, b),
    ),
    "layer with bias": (
        lambda x, r, w, b: ours.add_layer_norm(x, r, x.shape[-1:], None, b),
        lambda s, w, b: F.layer_norm(s, s.shape[-1:], None, b),
    ),
    "layer without either": (
        lambda x, r, w, b: ours.add_layer_norm(x, r, x.shape[-1]),
        lambda s, w, b: F.layer_norm(s, s.shape[-1:]),
    ),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_of_sums(name):
    operation, reference = NORMS[name]
    shapes = (3, 7), (3, 7), (7,), (7,)
    given = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    x, r, w, b = given
    y, s = operation(*given)
    torch.testing.assert_close(s, x + r)
    torch.testing.assert_close(y, reference(x + r, w, b))
    assert gradcheck(operation, given)
    assert gradgradcheck(operation, given)


def test_types_of_norms_of_sums():
    x, w = torch.randn(5, 64).bfloat16().requires_grad_(), torch.randn(64, requires_grad=True)
    r = torch.randn(5, 64, requires_grad=True)
    for norm in (ours.add_rms_norm, ours.add_layer_norm):
        y, s = norm(x, r, (64,), w)
        assert (y.dtype, s.dtype) == (torch.bfloat16, torch.float32)
        torch.testing.assert_close(s, x.float() + r)
        found = torch.autograd.grad([y.float().sum() + s.sum()], [x, r, w])
        assert [each.dtype for each in found] == [torch.bfloat16, torch.float32, torch.float32]
    compiled = torch.compile(
        lambda x, r, w: ours.add_rms_norm(x, r, (64,), w), dynamic=True, **COMPILED
    )
    for found, wanted in zip(compiled(x, r, w), ours.add_rms_norm(x, r, (64,), w), strict=True):
        torch.testing.assert_close(found, wanted)
    several = torch.func.vmap(lambda x, r: ours.add_rms_norm(x, r, (64,), w))(x, r)
    for found, wanted in zip(several, ours.add_rms_norm(x, r, (64,), w), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_with_masks(name):
    ourselves, theirs = getattr(ours, name), getattr(F, name)
    x = torch.randn(2, 5, 7, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(5, 7) > 0.4
    mask[:, 0] = True
    causal = torch.ones(5, 7, dtype=torch.bool).tril()
    torch.testing.assert_close(ourselves(x, -1, scale=0.3), theirs(0.3 * x, -1))
    masked = theirs(x.masked_fill(~mask, -torch.inf), -1)
    torch.testing.assert_close(ourselves(x, -1, where=mask), masked)
    wanted = theirs(2 * x.masked_fill(~causal, -torch.inf), -1)
    torch.testing.assert_close(ourselves(x, -1, causal=True, scale=2.0), wanted)
    if name == "log_softmax":
        return  # minus infinities have no differences
    assert gradcheck(partial(ourselves, dim=1, where=mask), [x])
    assert gradcheck(partial(ourselves, dim=-1, causal=True, scale=0.5), [x])
    assert gradgradcheck(partial(ourselves, dim=-1, causal=True, scale=0.5), [x])
    mask[2] = False
    found = ourselves(x, -1, where=mask)
    assert torch.equal(found[:, 2], torch.zeros(2, 7, dtype=torch.float64))


def test_what_is_refusal():
    x, q = torch.randn(3, 40), torch.randn(3, 2, 8)
    assert refusal(ours.top_k, x, 65) == (
        "k is 65 and must be a Python integer from 1 to 40\n  help: for more, torch.topk(input, k)"
    )
    assert refusal(ours.top_k, x, 2, largest=False) == (
        "largest is False, and top_k gives the largest elements\n"
        "  help: torch.topk(input, k, largest=False)"
    )
    assert refusal(ours.argmax, x, 2) == "dim is 2 and input has shape (3, 40)\n  legal: -2 to 1"
    assert refusal(ours.rope, q, q.double(), torch.arange(3)) == (
        "k is float64[3, 2, 8], and q float32[3, 2, 8]\n  help: k.to(q.dtype)"
    )
    assert refusal(ours.rope, q, q, torch.arange(3.0)) == (
        "positions are float32 and must be a tensor of integers"
    )
    assert refusal(ours.rope, q, q, torch.arange(4)) == (
        "positions have shape (4,), which does not broadcast to (3,)"
    )
    assert refusal(ours.rope, q[..., :7], q[..., :7], torch.arange(3)) == (
        "q has shape (3, 2, 7), and rope takes (..., heads, D) with D even"
    )
    assert refusal(ours.rope, q, q, torch.arange(3), base=0.5) == (
        "base is 0.5 and must be at least 1"
    )
    assert refusal(ours.add_rms_norm, x, x.double(), (40,)) == (
        "residual is float64[3, 40], and input float32[3, 40]\n"
        "  legal: one shape; float64 only for both"
    )
    assert refusal(ours.softmax, x, 0, causal=True) == (
        "dim is 0 and input has shape (3, 40); causal is of the last dimension, and needs one of "
        "rows before it"
    )
    assert refusal(ours.softmax, x, -1, where=x) == (
        "where is float32 and must be a tensor of booleans"
    )
    assert refusal(ours.softmax, x, -1, where=torch.ones(7, dtype=torch.bool)) == (
        "where has shape (7,), and input (3, 40)"
    )
    assert refusal(ours.softmax, x, -1, scale=0) == "scale is 0 and must be positive"


@pytest.mark.parametrize("log", [False, True], ids=["softmax", "log_softmax"])
def test_causal_by_positions(log):
    ourselves, theirs = (ours.log_softmax, F.log_softmax) if log else (ours.softmax, F.softmax)
    x = torch.randn(2, 3, 40, dtype=torch.float64, requires_grad=True)
    positions = torch.tensor([[0, 39, 7], [2**40, 5, 20]])
    masked = x.masked_fill(torch.arange(40) > positions[..., None], -torch.inf)
    found = ourselves(x, -1, causal=True, positions=positions)
    torch.testing.assert_close(found, theirs(masked, -1))
    kept = torch.where(torch.isfinite(found), found, 0.0)
    wanted = torch.where(torch.isfinite(found), theirs(masked, -1), 0.0)
    pairs = (torch.autograd.grad((each**2).sum(), x)[0] for each in (kept, wanted))
    torch.testing.assert_close(*pairs)
    none = ourselves(x, -1, causal=True, positions=torch.tensor(-1))
    assert torch.equal(none, torch.full_like(x, -torch.inf if log else 0.0))
    assert refusal(ours.softmax, x, -1, positions=positions) == (
        "positions are given, which causal=True takes, of rows in the last dimension"
    )
    assert refusal(ours.softmax, x, -1, causal=True, positions=positions[0].double()) == (
        "positions are float64 and must be a tensor of integers"
    )
    assert refusal(ours.softmax, x, -1, causal=True, positions=positions[:, :2]) == (
        "positions have shape (2, 2), which does not broadcast to (2, 3)"
    )
