"""`rms_norm_fwd`, `rms_norm_bwd` and `tensordot`, and that PyTorch has what JAX has."""

import pytest
import torch
from refusals import refusal
from torch.fx.experimental.proxy_tensor import make_fx

import pyptx.ops
import pyptx.torch as ours

CALLED = {"ragged_dot": "grouped_mm", "dot_general": "tensordot"}
"""Operations that PyTorch calls otherwise."""


def test_every_operation_of_jax_is_there():
    for name in pyptx.ops.__all__:
        assert callable(getattr(ours, CALLED.get(name, name)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_passes_are_those_of_the_norm(offset, dtype):
    x, w, g = (torch.randn(*shape).to(dtype) for shape in ((2, 3, 40), (40,), (2, 3, 40)))
    given = {"weight": w, "eps": 1e-5, "offset": offset}
    for kept in (given, {"eps": 1e-5}):
        y, rstd = ours.rms_norm_fwd(x, 40, **kept)
        assert torch.equal(y, ours.rms_norm(x, 40, **kept))
        assert rstd.dtype is torch.promote_types(dtype, torch.float32)
        wanted = torch.rsqrt(x.double().square().mean(-1) + 1e-5)
        torch.testing.assert_close(rstd.double(), wanted, rtol=1e-6, atol=0)
        leaves = [each.clone().requires_grad_() for each in (x, *([w] if "weight" in kept else []))]
        options = {name: each for name, each in kept.items() if name != "weight"}
        ours.rms_norm(leaves[0], 40, *leaves[1:], **options).backward(g)
        found = ours.rms_norm_bwd(
            g, x, 40, rstd, kept.get("weight"), offset=kept.get("offset", 0.0)
        )
        assert torch.equal(found[0], leaves[0].grad)
        if "weight" in kept:
            assert torch.equal(found[1], leaves[1].grad)
        else:
            assert found[1] is None


def test_passes_compile_and_have_no_derivative():
    def both(x, w, g):
        y, rstd = ours.rms_norm_fwd(x, (40,), w, 1e-5)
        return (y, *ours.rms_norm_bwd(g, x, (40,), rstd, w))

    x, w, g = torch.randn(5, 40), torch.randn(40), torch.randn(5, 40)
    compiled = torch.compile(both, fullgraph=True, dynamic=True, backend="aot_eager")
    for one, other in zip(compiled(x, w, g), both(x, w, g), strict=True):
        torch.testing.assert_close(one, other)
    graph = make_fx(both)(x, w, g)
    launches = [node for node in graph.graph.nodes if "pyptx" in str(node.target)]
    assert len(launches) == 2
    for node in launches:
        inputs = [torch.randn(each.meta["val"].shape) for each in node.args[0]]
        torch.library.opcheck(torch.ops.pyptx.launch.default, (inputs, node.args[1]))
    y, _ = ours.rms_norm_fwd(x.requires_grad_(), (40,), w)
    with pytest.raises(NotImplementedError):
        y.sum().backward()


def test_what_passes_refuse():
    x, w = torch.randn(5, 40), torch.randn(40)
    _, rstd = ours.rms_norm_fwd(x, 40, w)
    assert refusal(ours.rms_norm_bwd, x[:2], x, 40, rstd, w) == (
        "grad_output is float32[2, 40] and must be float32[5, 40]\n"
        "  help: y, rstd = rms_norm_fwd(input, shape, weight)"
    )
    assert refusal(ours.rms_norm_bwd, x, x, 40, rstd.double(), w) == (
        "rstd is float64[5] and must be float32[5]\n"
        "  help: y, rstd = rms_norm_fwd(input, shape, weight)"
    )
    assert refusal(ours.rms_norm_fwd, x, 41) == (
        "input has shape (5, 40), which does not end with normalized_shape (41,)\n"
        "  help: rms_norm_fwd(input, input.shape[-1:], ...) is over the last dimension"
    )


DIMS = {
    "two": ((3, 4, 5), (4, 5, 6), 2),
    "none": ((3, 4), (5,), 0),
    "pairs": ((3, 4, 5), (5, 2, 3), ([0, 2], [2, 0])),
    "first": ((5, 3), (5, 4), ([0], [0])),
    "negative": ((3, 4, 5), (2, 5), ([-1], [-1])),
    "all": ((3, 4), (3, 4), ([0, 1], [0, 1])),
    "no rows": ((0, 4), (4, 2), 1),
    "numbers": ((), (), 0),
    "a number and a matrix": ((), (4, 2), 0),
    "no pairs of numbers": ((), (), ([], [])),
}


@pytest.mark.parametrize("name", DIMS)
def test_tensordot(name):
    first, second, dims = DIMS[name]
    a, b = (torch.randn(shape, requires_grad=True) for shape in (first, second))
    found, wanted = ours.tensordot(a, b, dims), torch.tensordot(a, b, dims)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    g = torch.randn_like(wanted)
    pairs = (torch.autograd.grad(each, (a, b), g) for each in (found, wanted))
    for one, other in zip(*pairs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_tensordot_in_programs():
    a, b = torch.randn(6, 4, 5), torch.randn(5, 2, 4)
    operation = lambda a, b: ours.tensordot(a, b, ([2, 1], [0, 2]))
    wanted = torch.tensordot(a, b, ([2, 1], [0, 2]))
    compiled = torch.compile(operation, fullgraph=True, dynamic=True, backend="aot_eager")
    close = lambda one, other: torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    close(compiled(a, b), wanted)
    close(compiled(a[:3], b), wanted[:3])
    close(torch.func.vmap(lambda a: operation(a[None], b)[0])(a), wanted)
    with torch.autocast("cpu", torch.bfloat16):
        assert operation(a, b).dtype is torch.bfloat16
    assert ours.tensordot(a.half(), b.half(), ([2], [0]), out_dtype=torch.float32).dtype is (
        torch.float32
    )
    graph = make_fx(lambda a, b: ours.tensordot(a, b, ([0], [0])))(a[:, :, 0], b[0].repeat(3, 1))
    assert sum("pyptx" in str(node.target) for node in graph.graph.nodes) == 1


def test_what_tensordot_refuses():
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    legal = "\n  legal: a number, or dimensions of a and of b: ([0, 1], [1, 0])"
    for dims in (3, -1, True, "ab", ([0],), ([0], [2]), ([0, 0], [1, 0]), ([0, 1], [0])):
        assert refusal(ours.tensordot, a, b, dims) == (
            f"dims is {dims!r}, and a has shape (3, 4) and b (4, 5){legal}"
        )
    assert refusal(ours.tensordot, a, b, 2) == (
        "a has shape (3, 4) and b (4, 5), whose sizes along dimensions [0, 1] and [0, 1] are not "
        "equal"
    )
    assert refusal(ours.tensordot, a.double(), b) == (
        "a has elements of type float64\n  legal: bfloat16 float16 float32"
    )
