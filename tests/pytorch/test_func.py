"""Operations under `torch.func`: gradients of what is mapped, and what is mapped of gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch.func import grad, vmap

import pyptx.torch as ours

W = torch.linspace(-1, 1, 24 * 17).reshape(24, 17)
SCALE = torch.linspace(0.5, 2, 24)

PAIRS = {
    "rms_norm": (
        lambda x: ours.rms_norm(x, (24,), SCALE, 1e-5),
        lambda x: F.rms_norm(x, (24,), SCALE, 1e-5),
    ),
    "add_layer_norm": (
        lambda x: ours.add_layer_norm(x, x, (24,), SCALE)[0],
        lambda x: F.layer_norm(2 * x, (24,), SCALE),
    ),
    "softmax": (lambda x: ours.softmax(x, -1), lambda x: F.softmax(x, -1)),
    "swiglu": (lambda x: ours.swiglu(x, x), lambda x: F.silu(x) * x),
    "top_k": (lambda x: ours.top_k(x, 3)[0], lambda x: torch.topk(x, 3)[0]),
    "matmul": (lambda x: ours.matmul(x, W), lambda x: x @ W),
    "linear": (
        lambda x: ours.linear(x, W.t(), activation="silu"),
        lambda x: F.silu(F.linear(x, W.t())),
    ),
}


def squares(f):
    return lambda x: (f(x) ** 2).sum()


TRANSFORMS = {
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).sum()),
    "grad of vmap of vmap": lambda f: grad(lambda x: vmap(vmap(f))(x[:, None]).sum()),
    "vmap of grad": lambda f: vmap(grad(f)),
    "vmap of grad of vmap": lambda f: vmap(grad(lambda x: vmap(f)(x).sum())),
    "grad of grad of vmap": lambda f: grad(
        lambda x: (grad(lambda x: vmap(f)(x).sum())(x) * SCALE).sum()
    ),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("name", PAIRS)
def test_gradients_and_maps(name, transform):
    """What vmap maps does not say that a gradient is asked for: it was left out of a product's."""
    ours_, theirs = PAIRS[name]
    x = torch.randn(2, 3, 24, generator=torch.Generator().manual_seed(0))
    found, wanted = transform(squares(ours_))(x), transform(squares(theirs))(x)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", PAIRS)
def test_autograd_of_vmap(name):
    ours_, theirs = PAIRS[name]
    found, wanted = (torch.linspace(-3, 3, 144).reshape(2, 3, 24).requires_grad_() for _ in "ab")
    vmap(squares(ours_))(found).sum().backward()
    vmap(squares(theirs))(wanted).sum().backward()
    torch.testing.assert_close(found.grad, wanted.grad, rtol=1e-4, atol=1e-4)


def test_nothing_is_kept_where_no_gradient_is_asked_for():
    x = torch.randn(2, 3, 24)
    with torch.no_grad():
        found = grad(lambda y: y.sum() + vmap(PAIRS["matmul"][0])(x).sum())(torch.ones(2))
    torch.testing.assert_close(found, torch.ones(2))
