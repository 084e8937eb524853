"""Dropout of the input in `add_rms_norm` and `add_layer_norm`, whose mask is drawn twice."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal
from torch.autograd import gradcheck, gradgradcheck
from torch.utils.checkpoint import checkpoint

import pyptx.torch as ours
from pyptx.torch import _dropout

P = 0.3
NORMS = {
    "add_rms_norm": (
        lambda x, r, w, **options: ours.add_rms_norm(x, r, w.shape, w, 1e-5, **options),
        lambda s, w: F.rms_norm(s, w.shape, w, 1e-5),
    ),
    "add_layer_norm": (
        lambda x, r, w, **options: ours.add_layer_norm(x, r, w.shape, w, **options),
        lambda s, w: F.layer_norm(s, w.shape, w),
    ),
}
norms = pytest.mark.parametrize("name", NORMS)


def mask_of(seed, x, rank=1):
    """What the call draws after `torch.manual_seed(seed)`."""
    torch.manual_seed(seed)
    return _dropout.kept(P, _dropout.seeds(x, rank), tuple(x.shape[x.ndim - rank :]))


def seeded(seed, function, *tensors):
    torch.manual_seed(seed)
    return function(*tensors, dropout_p=P)


def given(*lead, columns=(72,), dtype=torch.float32, grad=False):
    shapes = (*lead, *columns), (*lead, *columns), columns
    return [torch.randn(shape, dtype=dtype, requires_grad=grad) for shape in shapes]


def test_the_generator_of_tensors_is_that_of_the_kernels():
    """Known answers of Philox-4x32-7, from kat_vectors of the authors' Random123 library."""
    for value, words in (
        (0, [0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48]),
        (2**32 - 1, [0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662]),
    ):
        word = torch.tensor([value])
        assert [int(each) for each in _dropout.philox([word] * 4, [word] * 2)] == words


@norms
@pytest.mark.parametrize("columns", [(1,), (7,), (2, 36), (1000,)], ids=str)
def test_elements_that_are_kept_are_scaled(name, columns):
    operation, reference = NORMS[name]
    x, r, w = given(5, columns=columns)
    y, s = seeded(1, operation, x, r, w)
    keeps = mask_of(1, x, len(columns))
    torch.testing.assert_close(s, torch.where(keeps, x / (1 - P), 0) + r)
    torch.testing.assert_close(y, reference(s, w))


@norms
def test_how_many_are_kept(name):
    x, r = torch.ones(64, 4096), torch.zeros(64, 4096)
    _, s = NORMS[name][0](x, r, torch.ones(4096), dropout_p=P)
    kept = s.ne(0).double()
    # Six standard deviations of as many coins.
    assert abs(kept.mean() - (1 - P)) < 6 * (P * (1 - P) / kept.numel()) ** 0.5
    assert (kept.mean(1) - (1 - P)).abs().max() < 6 * (P * (1 - P) / 4096) ** 0.5
    assert torch.unique(s).tolist() == [0, pytest.approx(1 / (1 - P))]


@norms
def test_calls_differ_and_a_seed_repeats_them(name):
    x, r, w = given(4)
    one, other = (NORMS[name][0](x, r, w, dropout_p=P)[1] for _ in range(2))
    assert not torch.equal(one, other)
    assert torch.equal(seeded(5, NORMS[name][0], x, r, w)[1], seeded(5, NORMS[name][0], x, r, w)[1])


@norms
def test_no_dropout_draws_nothing(name):
    x, r, w = given(4)
    before = torch.random.get_rng_state()
    for found, wanted in zip(
        NORMS[name][0](x, r, w, dropout_p=0), NORMS[name][0](x, r, w), strict=True
    ):
        assert torch.equal(found, wanted)
    assert torch.equal(torch.random.get_rng_state(), before)


@norms
def test_gradients_of_both_orders(name):
    tensors = given(3, columns=(11,), dtype=torch.float64, grad=True)
    operation = partial(seeded, 2, NORMS[name][0])
    assert gradcheck(operation, tensors)
    assert gradgradcheck(operation, tensors)


@norms
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_gradients_have_the_mask_of_the_result(name, dtype):
    operation, reference = NORMS[name]
    x, r, w = given(6, dtype=dtype, grad=True)
    r = r.detach().float().requires_grad_()
    keeps = mask_of(3, x)

    def plain(x, r, w):
        s = torch.where(keeps, x.float() / (1 - P), 0) + r
        return reference(s, w.float()).to(dtype), s

    found, wanted = seeded(3, operation, x, r, w), plain(x, r, w)
    pulls = [torch.randn_like(each) for each in wanted]
    ulp = torch.finfo(dtype).eps
    for one, other in zip(
        torch.autograd.grad(found, (x, r, w), pulls),
        torch.autograd.grad(wanted, (x, r, w), pulls),
        strict=True,
    ):
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=4 * ulp, atol=8 * ulp)
        assert torch.equal(one == 0, other == 0) or one.shape != x.shape


@norms
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(name, backend):
    operation = NORMS[name][0]

    @partial(torch.compile, fullgraph=True, dynamic=True, backend=backend)
    def compiled(x, r, w):
        return operation(x.sin(), r, w, dropout_p=P)

    masks = []
    for rows in (4, 6, 6):
        x, r, w = given(rows, grad=True)
        _, s = compiled(x, r, w)
        keeps = (s - r).detach() != 0
        torch.testing.assert_close(s, torch.where(keeps, x.sin() / (1 - P), 0) + r)
        (dx,) = torch.autograd.grad(s.sum(), x)
        assert torch.equal(dx != 0, keeps)
        masks.append(keeps)
    assert not torch.equal(masks[1], masks[2])


@norms
def test_checkpoint_draws_the_same_again(name):
    x, r, w = given(4, grad=True)
    keeps = mask_of(7, x)
    torch.manual_seed(7)
    call = partial(NORMS[name][0], dropout_p=P)
    _, s = checkpoint(call, x, r, w, use_reentrant=False)
    (dx,) = torch.autograd.grad(s.sum(), x)
    torch.testing.assert_close(dx, keeps / (1 - P))


@norms
def test_vmap_asks_for_its_randomness(name):
    x, r, w = given(3, 4)
    call = partial(NORMS[name][0], w=w, dropout_p=P)
    _, different = torch.func.vmap(call, randomness="different")(x, r)
    _, same = torch.func.vmap(call, randomness="same")(x, r)
    for s, are_equal in ((different, False), (same, True)):
        keeps = (s - r) != 0
        torch.testing.assert_close(s, torch.where(keeps, x / (1 - P), 0) + r)
        assert torch.equal(keeps[0], keeps[1]) is are_equal
    with pytest.raises(RuntimeError, match="randomness"):
        torch.func.vmap(call)(x, r)


def test_exported():
    class Block(torch.nn.Module):
        def forward(self, x, r):
            return ours.add_rms_norm(x, r, (72,), eps=1e-5, dropout_p=P)

    x, r, _ = given(4)
    _, s = torch.export.export(Block(), (x, r)).module()(x, r)
    keeps = (s - r) != 0
    assert 0 < keeps.sum() < keeps.numel()
    torch.testing.assert_close(s, torch.where(keeps, x / (1 - P), 0) + r)


def test_refused_rates():
    x, r, w = given(2)
    help_ = "\n  help: add_rms_norm(input, residual, shape, dropout_p=0.1)"
    for p, problem in (
        (1.0, "dropout_p is 1.0 and must be below 1, and at most 1 - 2**-16"),
        (-0.5, "dropout_p is -0.5 and must be finite and not negative"),
        ("a", "dropout_p must be a Python number: it is part of the kernel"),
        (True, "dropout_p must be a Python number: it is part of the kernel"),
    ):
        assert refusal(ours.add_rms_norm, x, r, (72,), w, dropout_p=p) == problem + help_
