"""`pyptx.torch.scaled_grouped_mm` against products of each group in float64."""

import pytest
import torch
from refusals import refusal
from torch.fx.experimental.proxy_tensor import make_fx

import pyptx.torch as ours

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
LENGTHS = [[3, 0, 5, 1], [9], [0, 0], [130, 7]]


def made(lengths, k, n, of_a="row", of_b="column", types=(E4M3, E4M3)):
    """Matrices, scales and the ends of groups, after which there are two more rows."""
    m, groups = sum(lengths) + 2, len(lengths)
    depth, across = -(-k // 128), -(-n // 128)
    a, b = torch.randn(m, k).to(types[0]), torch.randn(groups, n, k).to(types[1]).mT
    scale_a = torch.rand({"one": (), "row": (m,), "block": (m, depth)}[of_a])
    shapes = {
        "one": (),
        "column": (groups, n),
        "block": (groups, depth, across),
        "block of a column": (groups, depth, n),
    }
    ends = torch.cumsum(torch.tensor(lengths), 0).to(torch.int32)
    return a, b, scale_a, torch.rand(shapes[of_b]), ends


def exact(lengths, a, b, scale_a, scale_b, of_b):
    k, n = b.shape[1:]
    wide_a = scale_a[:, None] if scale_a.ndim == 1 else scale_a
    if scale_a.ndim == 2:
        wide_a = scale_a.repeat_interleave(128, 1)[:, :k]
    wide_b = scale_b[:, None] if scale_b.ndim == 2 else scale_b
    if scale_b.ndim == 3:
        wide_b = scale_b.repeat_interleave(128, 1)[:, :k]
    if of_b == "block":
        wide_b = wide_b.repeat_interleave(128, 2)[:, :, :n]
    parts = torch.split((a.double() * wide_a)[: sum(lengths)], lengths)
    found = [one @ other for one, other in zip(parts, b.double() * wide_b, strict=True)]
    return torch.cat([*found, torch.zeros(2, n, dtype=torch.float64)])


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("of_a", ["one", "row", "block"])
@pytest.mark.parametrize("of_b", ["one", "column", "block", "block of a column"])
def test_scales(of_b, of_a, lengths):
    for k, n, types in ((48, 20, (E4M3, E5M2)), (300, 130, (E4M3, E4M3))):
        a, b, scale_a, scale_b, ends = made(lengths, k, n, of_a, of_b, types)
        found = ours.scaled_grouped_mm(a, b, scale_a, scale_b, ends, out_dtype=torch.float32)
        wanted = exact(lengths, a, b, scale_a, scale_b, of_b)
        torch.testing.assert_close(found.double(), wanted, rtol=1e-2, atol=2e-2)
    assert ours.scaled_grouped_mm(a, b, scale_a, scale_b, offs=ends).dtype is torch.bfloat16


def made_along_k(lengths, m, n, of_a="row", of_b="column", types=(E4M3, E4M3)):
    """Matrices, of which two more values of K are in no group, scales, and the ends of groups."""
    k, groups = sum(lengths) + 2, len(lengths)
    a, b = torch.randn(m, k).to(types[0]), torch.randn(n, k).to(types[1]).t()
    scale_a = torch.rand(groups * m if of_a == "row" else ())
    scale_b = torch.rand(groups * n if of_b == "column" else (1,))
    return a, b, scale_a, scale_b, torch.cumsum(torch.tensor(lengths), 0).to(torch.int32)


def exact_along_k(lengths, a, b, scale_a, scale_b):
    groups, k = len(lengths), sum(lengths)
    ways = [torch.split(x.double()[:k], lengths) for x in (a.t(), b)]
    found = torch.stack([x.t() @ y for x, y in zip(*ways, strict=True)])
    rows = scale_a.double().expand(groups * a.shape[0]).view(groups, -1, 1)
    return found * rows * scale_b.double().expand(groups * b.shape[1]).view(groups, 1, -1)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_groups_along_k(lengths):
    for of_a, of_b in (("row", "column"), ("one", "column"), ("row", "one"), ("one", "one")):
        for m, n, types in ((20, 12, (E4M3, E5M2)), (130, 37, (E5M2, E4M3))):
            given = made_along_k(lengths, m, n, of_a, of_b, types)
            found = ours.scaled_grouped_mm(*given, out_dtype=torch.float32)
            wanted = exact_along_k(lengths, *given[:4])
            torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-4)
    a, b, *rest = given
    assert torch.equal(
        ours.scaled_grouped_mm(a.t().contiguous().t(), b.contiguous(), *rest).float(),
        found.bfloat16().float(),
    )


def test_groups_along_k_compiled():
    operation = lambda *given: ours.scaled_grouped_mm(*given) * 2
    compiled = torch.compile(operation, fullgraph=True, dynamic=True, backend="aot_eager")
    for lengths in ([3, 5], [130, 7], [1, 1]):
        given = made_along_k(lengths, 24, 16)
        torch.testing.assert_close(compiled(*given), operation(*given))
    for lengths, m, n in (([], 3, 4), ([0, 0], 3, 4), ([5], 0, 4)):
        found = ours.scaled_grouped_mm(*made_along_k(lengths, m, n))
        assert torch.equal(found, torch.zeros(len(lengths), m, n, dtype=torch.bfloat16))


def test_sums_of_nothing_are_zeros():
    for lengths, k, n in (([0], 0, 4), ([3], 0, 4), ([3, 1], 16, 0)):
        given = made(lengths, k, n)
        found = ours.scaled_grouped_mm(*given)
        assert torch.equal(found, torch.zeros(sum(lengths) + 2, n, dtype=torch.bfloat16))


def test_compiled_with_any_number_of_rows():
    operation = lambda *given: ours.scaled_grouped_mm(*given) * 2
    compiled = torch.compile(operation, fullgraph=True, dynamic=True, backend="aot_eager")
    for lengths in ([3, 5], [130, 7], [1, 1]):
        given = made(lengths, 256, 24, "block", "block of a column")
        torch.testing.assert_close(compiled(*given), operation(*given))


@pytest.mark.parametrize("of_a", ["one", "row"])
def test_opcheck(of_a):
    graph = make_fx(lambda *given: ours.scaled_grouped_mm(*given))(*made([3, 5], 48, 24, of_a))
    launches = [node for node in graph.graph.nodes if "pyptx" in str(node.target)]
    assert len(launches) == 1
    values = [node.meta["val"] for node in launches[0].args[0]]
    inputs = [torch.zeros(each.shape, dtype=each.dtype) for each in values]
    tests = ("test_faketensor", "test_autograd_registration")  # PyTorch multiplies no 8 bits
    torch.library.opcheck(
        torch.ops.pyptx.launch.default, (inputs, launches[0].args[1]), test_utils=tests
    )


def test_what_is_refused():
    a, b, scale_a, scale_b, ends = made([3, 5], 48, 20)
    call = ours.scaled_grouped_mm
    assert refusal(call, a.float(), b, scale_a, scale_b, ends) == (
        "mat_a has elements of type float32\n  legal: float8_e4m3fn float8_e5m2"
    )
    assert refusal(call, a, b[0, :9], scale_a, scale_b, ends) == (
        "mat_a has shape (10, 48) and mat_b (9, 20)\n"
        "  legal: (M, K) and (G, K, N), or (M, K) and (K, N) for groups along K"
    )
    assert refusal(call, a, b[0], scale_a, scale_b, ends) == (
        "scale_a has shape (10,)\n  legal: () (1,) (20,)"
    )
    assert refusal(call, a, b[0], scale_a[0], scale_b[0], ends) == (
        "scale_b has shape (20,)\n  legal: () (1,) (40,)"
    )
    assert refusal(call, a, b, scale_a[:5], scale_b, ends) == (
        "scale_a has shape (5,)\n  legal: () (1,) (10,) (10, 1)"
    )
    assert refusal(call, a, b, scale_a, scale_b.double(), ends) == (
        "scale_b is float64 and must be a float32 tensor\n  help: scale_b=torch.tensor(1.0)"
    )
    assert refusal(call, a, b, scale_a, scale_b) == (
        "offs is NoneType, and must be a vector of int32\n"
        "  help: offs = torch.cumsum(lengths, 0, dtype=torch.int32)"
    )
    assert refusal(call, a, b, scale_a, scale_b, ends, bias=scale_a) == (
        "bias is given, and scaled_grouped_mm takes none"
    )
    assert refusal(call, a, b, scale_a, scale_b, ends, out_dtype=torch.int8) == (
        "out_dtype is torch.int8\n  legal: torch.bfloat16 torch.float16 torch.float32"
    )
