"""`rope` of views: which are read where they are, and the strides of results and gradients."""

import pytest
import torch
from torch._dynamo.utils import counters
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

import pyptx.torch as ours

B, S, H, K, D = 2, 5, 3, 2, 16


def transposed():
    """Heads in front of the sequence in memory."""
    return (torch.randn(B, heads, S, D).transpose(1, 2) for heads in (H, K))


def fused():
    """Slices of one projection."""
    qkv = torch.randn(B, S, (H + 2 * K) * D).unflatten(-1, (-1, D))
    return qkv[:, :, :H], qkv[:, :, H : H + K]


def last_slices():
    """The rest of the projection is in front of them."""
    vkq = torch.randn(B, S, (H + 2 * K) * D).unflatten(-1, (-1, D))
    return vkq[:, :, 2 * K :], vkq[:, :, K : 2 * K]


def per_head():
    """Query, key and value of each head next to each other, as Megatron's projections are."""
    qkv = torch.randn(S, B, H, 3 * D).transpose(0, 1)
    return qkv[..., :D], qkv[..., D : 2 * D]


def stacked():
    """(B, 3, H, S, D) in memory."""
    qkv = torch.randn(B, 3, H, S, D).transpose(2, 3)
    return qkv[:, 1], qkv[:, 2]


def one_of_both():
    """One is contiguous."""
    return torch.randn(B, S, H, D), torch.randn(B, K, S, D).transpose(1, 2)


def one_head():
    """A key of one head, with the sequence first."""
    return torch.randn(B, H, S, D).transpose(1, 2), torch.randn(S, B, 1, D).transpose(0, 1)


def one_key_for_all_heads():
    """The key is expanded."""
    return torch.randn(B, H, S, D).transpose(1, 2), torch.randn(B, S, 1, D).expand(B, S, K, D)


READ_THERE = (transposed, fused, last_slices, per_head, stacked, one_of_both, one_head)
READ_THERE += (one_key_for_all_heads,)


def expanded():
    return (torch.randn(S, heads, D).expand(B, S, heads, D) for heads in (H, K))


def last_is_not_last():
    return (torch.randn(B, S, D, heads).transpose(-1, -2) for heads in (H, K))


def unaligned():
    return (torch.randn(B, S, heads, D + 1)[..., 1:] for heads in (H, K))


def slices_of_a_cache():
    return (torch.randn(B, heads, S + 3, D)[:, :, :S].transpose(1, 2) for heads in (H, K))


def every_second():
    return (torch.randn(B, S, heads, 2 * D)[..., ::2] for heads in (H, K))


def overlapping():
    q = torch.randn(B * S * D + H * D).as_strided((B, S, H, D), (S * D, D, D, 1))
    return q, q


COPIED = (expanded, last_is_not_last, unaligned, slices_of_a_cache, every_second, overlapping)


@pytest.fixture
def positions():
    return torch.randint(0, 4096, (B, S), dtype=torch.int32)


def copies(function):
    """The tensors that are copied while a function runs."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        function()
    return sum(event.name == "aten::clone" for event in seen.events())


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("make", [*READ_THERE, *COPIED], ids=lambda make: make.__name__)
def test_values_and_strides(make, interleaved, positions):
    q, k = make()
    found = ours.rope(q, k, positions, interleaved=interleaved)
    wanted = ours.rope(q.contiguous(), k.contiguous(), positions, interleaved=interleaved)
    for x, one, other in zip((q, k), found, wanted, strict=True):
        assert torch.equal(one, other)
        like = torch.empty_like(x if x.stride(-1) == 1 else x.contiguous())
        assert one.stride() == like.stride()
        assert one._base is None  # so it may be updated in place


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("make", READ_THERE, ids=lambda make: make.__name__)
def test_nothing_is_copied(make, dtype, positions):
    q, k = make()
    q, k = (x if dtype is x.dtype else x.to(dtype) for x in (q, k))
    assert not copies(lambda: ours.rope(q, k, positions))


@pytest.mark.parametrize("make", COPIED, ids=lambda make: make.__name__)
def test_what_is_copied(make, positions):
    q, k = make()
    assert copies(lambda: ours.rope(q, k, positions)) == 2


def test_sizes_of_one_and_none():
    shapes = (1, S, H), (B, 1, H), (B, S, 1), (1, 1, H), (0, S, H), (B, 0, 2)
    for batch, tokens, heads in shapes:
        positions = torch.arange(tokens, dtype=torch.int32)
        q = torch.randn(batch, heads, tokens, D).transpose(1, 2)
        k = torch.randn(batch, tokens, heads, 3, D)[..., 1, :]
        found, wanted = (
            ours.rope(*each, positions) for each in ((q, k), (q.contiguous(), k.contiguous()))
        )
        for x, one, other in zip((q, k), found, wanted, strict=True):
            assert torch.equal(one, other)
            assert not x.numel() or one.stride() == torch.empty_like(x).stride()
    q = torch.randn(3 * 4, D).t().contiguous().t()  # (heads, D), without other dimensions
    positions = torch.tensor(7, dtype=torch.int32)
    assert torch.equal(ours.rope(q, q, positions)[0], ours.rope(q.contiguous(), q, positions)[0])


def test_many_dimensions():
    q = torch.randn(2, 3, H, 2, 4, D).permute(1, 0, 4, 3, 2, 5)
    k = torch.randn(3, 4, 2, 2, K, D).permute(0, 2, 1, 3, 4, 5)
    positions = torch.arange(48, dtype=torch.int32).view(3, 2, 4, 2)
    found = ours.rope(q, k, positions)
    assert not copies(lambda: ours.rope(q, k, positions))
    for one, other in zip(found, ours.rope(q.contiguous(), k.contiguous(), positions), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("make", [transposed, fused, expanded, last_is_not_last])
def test_gradients(make, positions):
    """Of attention that gives gradients in the order of heads, and of a sum, which expands it."""
    q, k = (x.detach().requires_grad_() for x in make())
    wide = [x.detach().double().contiguous().requires_grad_() for x in (q, k)]
    found = ours.rope(q, k, positions)
    wanted = ours.rope(*wide, positions)
    cotangents = [torch.randn(B, x.shape[2], S, D).transpose(1, 2) for x in found]
    given = torch.autograd.grad(found, [q, k], cotangents, retain_graph=True)
    expected = torch.autograd.grad(
        wanted, wide, [x.double() for x in cotangents], retain_graph=True
    )
    for one, other, cotangent in zip(given, expected, cotangents, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=0, atol=1e-5)
        assert one.stride() == cotangent.stride()
    assert copies(lambda: torch.autograd.grad(found, [q, k], cotangents, retain_graph=True)) == 0
    (one,) = torch.autograd.grad(found[0].sum(), [q])
    (other,) = torch.autograd.grad(wanted[0].sum(), [wide[0]])
    torch.testing.assert_close(one.double(), other, rtol=0, atol=1e-5)


def test_results_may_be_updated_in_place(positions):
    q, k = (x.requires_grad_() for x in transposed())
    y, _ = ours.rope(q, k, positions)
    y.mul_(2)
    assert torch.equal(y, 2 * ours.rope(q, k, positions)[0])
    y.sum().backward()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(backend, positions):
    """The gradients come in the order of heads; strides are as in eager programs."""

    def program(x, positions):
        q = x.view(B, -1, 3, H, D)[:, :, 0]
        k = x.view(B, -1, 3, H, D)[:, :, 1]
        q, k = ours.rope(q, k, positions)
        q, k = ours.rope(q.transpose(1, 2).sin().transpose(1, 2), k, positions)
        return q, k, (q.transpose(1, 2) @ k.transpose(1, 2).mT)

    compiled = torch.compile(program, fullgraph=True, dynamic=True, backend=backend)
    for tokens in (5, 9, 4):
        x = torch.randn(B, tokens, 3 * H * D, requires_grad=True)
        positions = torch.arange(tokens, dtype=torch.int32)
        found, wanted = compiled(x, positions), program(x, positions)
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other)
            assert one.stride() == other.stride()
        pair = (torch.autograd.grad(each[2].sum(), [x])[0] for each in (found, wanted))
        torch.testing.assert_close(*pair)


def test_sizes_that_a_program_computes():
    def program(x, kept):
        q = x[kept].unflatten(-1, (4, D))
        return ours.rope(q[:, :2], q[:, 2:], torch.arange(q.shape[0]))

    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for rows, least in ((6, 0.3), (9, 0.3), (4, 2)):
            x, kept = torch.randn(rows, 4 * D), torch.rand(rows) > least
            for one, other in zip(compiled(x, kept), program(x, kept), strict=True):
                torch.testing.assert_close(one, other)


def test_a_new_number_of_tokens_makes_no_kernel(monkeypatch):
    from pyptx.torch import _rope_strided

    made, kernel_of = [], _rope_strided.kernel_of
    monkeypatch.setattr(
        _rope_strided, "kernel_of", lambda what: made.append(what) or kernel_of(what)
    )
    for make in (transposed, fused, per_head, stacked):
        made.clear()
        for sizes in ((3, 7), (4, 9), (5, 128)):
            monkeypatch.setitem(globals(), "B", sizes[0])
            monkeypatch.setitem(globals(), "S", sizes[1])
            q, k = make()
            ours.rope(q, k, torch.arange(sizes[1], dtype=torch.int32))
        assert len(made) == 3
        assert len(set(made)) == 1


def test_opcheck(positions):
    turns = torch.ones(D // 2, 2, dtype=torch.uint32)
    for make in (transposed, fused, expanded):
        q, k = make()
        for gradients in (False, True):
            given = [x.detach().requires_grad_(gradients) for x in (q, k)]
            torch.library.opcheck(
                torch.ops.pyptx.rope.default, (*given, positions, turns, True, False)
            )


def test_fake_strides(positions):
    from torch._subclasses import FakeTensorMode

    for make in (*READ_THERE, *COPIED):
        q, k = make()
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            fake = [mode.from_tensor(x) for x in (q, k, positions)]
            strides = [x.stride() for x in ours.rope(*fake)]
        assert strides == [x.stride() for x in ours.rope(q, k, positions)]
        meta = ours.rope(*(x.to("meta") for x in (q, k, positions)))
        assert [x.shape for x in meta] == [q.shape, k.shape]


def test_transformed(positions):
    q, k = transposed()
    wanted = ours.rope(q.contiguous(), k.contiguous(), positions)
    mapped = torch.func.vmap(ours.rope)(q, k, positions)
    gradient = torch.func.grad(lambda q: ours.rope(q, k, positions)[0].square().sum())(q)
    torch.testing.assert_close(mapped, wanted)
    torch.testing.assert_close(gradient, 2 * q)
    q.requires_grad_()
    found = checkpoint(ours.rope, q, k, positions, use_reentrant=False)
    found[0].square().sum().backward()
    torch.testing.assert_close(q.grad, 2 * q)
    with torch.inference_mode():
        assert torch.equal(ours.rope(q, k, positions)[0], wanted[0])
    exported = torch.export.export(_Rope(), (q.detach(), k, positions))
    torch.testing.assert_close(exported.module()(q.detach(), k, positions), wanted)


class _Rope(torch.nn.Module):
    def forward(self, q, k, positions):
        return ours.rope(q, k, positions)


def test_second_derivatives_of_views():
    q, k = (x.double().detach().requires_grad_() for x in fused())
    positions = torch.arange(S, dtype=torch.int32)
    (g,) = torch.autograd.grad(ours.rope(q, k, positions)[0].pow(3).sum(), [q], create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), [q])
    wide = q.detach().contiguous().requires_grad_()
    (g,) = torch.autograd.grad(
        ours.rope(wide, k, positions)[0].pow(3).sum(), [wide], create_graph=True
    )
    torch.testing.assert_close(h, torch.autograd.grad(g.sum(), [wide])[0])


def test_a_compiled_program_is_loaded_from_the_cache():
    """Which cannot load constants of type uint32, as the frequencies were."""
    q, positions = torch.randn(S, H, D), torch.arange(S)
    with torch._inductor.utils.fresh_cache():
        for _ in range(2):
            torch._dynamo.reset()
            torch.compile(ours.rope, fullgraph=True)(q, q, positions)
    assert counters["inductor"]["fxgraph_cache_hit"] == 1


@pytest.mark.parametrize("contiguous", [False, True])
def test_strides_of_gradients(contiguous):
    seen = []

    def backward(saved, g):
        seen.append(g.stride())
        return (2 * g,)

    twice = ours.differentiable(
        lambda x: 2 * x, lambda x: (2 * x, ()), backward, contiguous=contiguous
    )
    x = torch.randn(3, 4, requires_grad=True)
    (found,) = torch.autograd.grad(twice(x), x, torch.ones(4, 3).t())
    assert torch.equal(found, torch.full((3, 4), 2.0))
    assert seen == [(4, 1) if contiguous else (1, 3)]
