"""`pyptx.torch.matmul` and `scaled_mm` against PyTorch's own in float64."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal
from torch.autograd import gradcheck, gradgradcheck
from torch.fx.experimental.proxy_tensor import make_fx

import pyptx
import pyptx.torch as ours

TOLERANCES = {torch.bfloat16: 2e-2, torch.float16: 5e-3, torch.float32: 1e-4}
SHAPES = [
    ((33, 40), (40, 24)),
    ((5,), (5,)),
    ((5,), (5, 7)),
    ((3, 5), (5,)),
    ((2, 3, 9, 8), (8, 16)),
    ((2, 1, 9, 8), (3, 8, 16)),
    ((9, 8), (4, 8, 16)),
    ((3, 1100), (1100, 72)),
]
EMPTY = [((0, 8), (8, 4)), ((4, 0), (0, 4)), ((2, 0, 8), (8, 4))]


def close(one, other, tolerance):
    torch.testing.assert_close(one.double(), other.double(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_against_pytorch(shapes, dtype):
    a, b = (torch.randn(shape).to(dtype).requires_grad_() for shape in shapes)
    found, wanted = ours.matmul(a, b), torch.matmul(a.double(), b.double())
    assert found.shape == wanted.shape
    assert found.dtype is dtype
    close(found, wanted, TOLERANCES[dtype])
    g = torch.randn_like(found)
    pairs = torch.autograd.grad(found, [a, b], g), torch.autograd.grad(wanted, [a, b], g.double())
    for one, other in zip(*pairs, strict=True):
        assert one.dtype is dtype
        close(one, other, 3 * TOLERANCES[dtype])


@pytest.mark.parametrize("shapes", EMPTY, ids=str)
def test_sums_of_nothing_are_zeros(shapes):
    a, b = (torch.randn(shape, requires_grad=True) for shape in shapes)
    found = ours.matmul(a, b)
    assert torch.equal(found, torch.matmul(a, b))
    found.sum().backward()
    assert a.grad.shape == a.shape
    assert torch.equal(b.grad, torch.zeros_like(b))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_few_rows_by_a_layer(dtype):
    """By a low tile, with what follows the product."""
    x, weight, bias = torch.randn(4, 2100), torch.randn(40, 2100) / 46, torch.randn(40)
    x, weight, bias = (each.to(dtype) for each in (x, weight, bias))
    wanted = F.linear(x.double(), weight.double(), bias.double())
    close(ours.linear(x, weight, bias), wanted, TOLERANCES[dtype])


def test_transposed_matrices_are_read_where_they_are():
    a, b = torch.randn(40, 32).bfloat16().t(), torch.randn(24, 40).bfloat16().t()
    graph = make_fx(lambda a, b: ours.matmul(a, b))(a, b)
    called = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert not any("clone" in name or "copy" in name for name in called), called
    a.requires_grad_()
    b.requires_grad_()
    found = ours.matmul(a, b)
    close(found, a.double() @ b.double(), 2e-2)
    g = torch.randn_like(found)
    da, db = torch.autograd.grad(found, [a, b], g)
    close(da, g.double() @ b.double().t(), 6e-2)
    close(db, a.double().t() @ g.double(), 6e-2)


def test_derivatives_of_both_orders():
    a, b = torch.randn(4, 6, requires_grad=True), torch.randn(6, 5, requires_grad=True)
    # There is none of float64, so steps are wide: a product is linear in each factor.
    tolerance = {"eps": 1e-1, "atol": 1e-3, "rtol": 1e-3}
    assert gradcheck(ours.matmul, [a, b], **tolerance)
    assert gradgradcheck(ours.matmul, [a, b], **tolerance)


def test_far_and_infinite_float32():
    a, b = torch.randn(8, 16) * 1e20, torch.randn(16, 8) * 1e-20
    close(ours.matmul(a, b), a.double() @ b.double(), 1e-5)
    a[0, 0] = torch.inf
    b[0] = 1.0
    found = ours.matmul(a, b)
    assert found[0].isinf().all()
    assert found[1:].isfinite().all()


def test_negated_views():
    """Views that PyTorch negates when they are read: imaginary parts of conjugates."""
    x = torch.randn(5, 20, dtype=torch.complex64).conj().imag
    assert x.is_neg()
    torch.testing.assert_close(ours.matmul(x, x.t()), x @ x.t(), rtol=1e-5, atol=1e-5)


def test_compiled_with_any_number_of_rows():
    compiled = torch.compile(ours.matmul, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (5, 9, 33):
        a, b = torch.randn(rows, 8, requires_grad=True), torch.randn(8, 16, requires_grad=True)
        found = compiled(a, b)
        close(found, a.double() @ b.double(), 1e-4)
        g = torch.randn_like(found)
        for one, other in zip(
            torch.autograd.grad(found, [a, b], g),
            torch.autograd.grad(a.double() @ b.double(), [a, b], g.double()),
            strict=True,
        ):
            close(one, other, 1e-4)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2


def test_vmap():
    a, b = torch.randn(3, 4, 8), torch.randn(3, 8, 16)
    close(torch.func.vmap(ours.matmul)(a, b), a.double() @ b.double(), 1e-4)
    close(torch.func.vmap(ours.matmul, (0, None))(a, b[0]), a.double() @ b[0].double(), 1e-4)

    def loss(product, a, b):
        return product(a, b).sin().sum()

    found, wanted = (
        torch.func.vmap(torch.func.grad(partial(loss, f), (0, 1)))(a, b)
        for f in (ours.matmul, torch.matmul)
    )
    for one, other in zip(found, wanted, strict=True):
        close(one, other, 1e-3)


def test_opcheck():
    graph = make_fx(lambda a, b: ours.matmul(a, b))(
        torch.randn(5, 8).bfloat16(), torch.randn(8, 16).bfloat16()
    )
    (launch,) = [node for node in graph.graph.nodes if "pyptx" in str(node.target)]
    inputs = [torch.randn(n.meta["val"].shape).to(n.meta["val"].dtype) for n in launch.args[0]]
    torch.library.opcheck(torch.ops.pyptx.launch.default, (inputs, launch.args[1]))


def test_autocast():
    x, weight = torch.randn(5, 8), torch.randn(16, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        found = ours.matmul(x, weight.t())
        assert found.dtype is torch.bfloat16
        assert ours.matmul(x.bfloat16(), weight.t()).dtype is torch.bfloat16
    assert ours.matmul(x, weight.t()).dtype is torch.float32
    found.sum().backward()
    assert weight.grad.dtype is torch.float32
    close(weight.grad, x.sum(0).expand(16, 8), 2e-2)


def test_the_results_type():
    a, b = torch.randn(5, 512).bfloat16(), torch.randn(512, 16).bfloat16()
    found = ours.matmul(a, b, out_dtype=torch.float32)
    assert found.dtype is torch.float32
    close(found, a.double() @ b.double(), 1e-4)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
@pytest.mark.parametrize("by_rows", [False, True])
def test_scaled_mm(dtype, by_rows):
    a = torch.randn(33, 48).to(dtype)
    b = torch.randn(40, 48).to(torch.float8_e4m3fn).t()
    scales = (torch.rand(33, 1), torch.rand(1, 40)) if by_rows else (torch.tensor(0.5),) * 2
    bias = torch.randn(40).bfloat16()
    wanted = (a.double() * scales[0]) @ (b.double() * scales[1])
    close(ours.scaled_mm(a, b, *scales, out_dtype=torch.float32), wanted, 1e-2)
    found = ours.scaled_mm(a, b.contiguous(), *scales, bias, out_dtype=torch.bfloat16)
    assert found.dtype is torch.bfloat16
    close(found, wanted + bias, 3e-2)


@pytest.mark.parametrize("size", [(33, 300, 130), (5, 40, 100), (64, 256, 384)], ids=str)
@pytest.mark.parametrize("of_b", ["block", "column", "one", "columns"])
@pytest.mark.parametrize("of_a", ["block", "row", "one"])
def test_scaled_mm_with_scales_of_blocks(size, of_a, of_b):
    m, n, k = size
    depth, across = -(-k // 128), -(-n // 128)
    a = torch.randn(m, k).to(torch.float8_e4m3fn)
    b = torch.randn(n, k).to(torch.float8_e4m3fn).t()
    scale_a = torch.rand({"block": (m, depth), "row": (m, 1), "one": ()}[of_a])
    scale_b = torch.rand(
        {"block": (depth, across), "column": (depth, n), "one": (1,), "columns": (1, n)}[of_b]
    )
    wide_a = scale_a.repeat_interleave(128, -1)[:, :k] if of_a == "block" else scale_a
    wide_b = scale_b.repeat_interleave(128, 0)[:k] if of_b in ("block", "column") else scale_b
    wide_b = wide_b.repeat_interleave(128, 1)[:, :n] if of_b == "block" else wide_b
    wanted = (a.double() * wide_a) @ (b.double() * wide_b)
    if of_a != "block" and of_b not in ("block", "column"):
        wanted = wanted.float()  # one sum for all of K
    close(ours.scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.float32), wanted, 1e-2)


def test_8_bits_compiled_with_any_number_of_rows():
    operation = lambda *given: ours.scaled_mm(*given, out_dtype=torch.bfloat16) * 2
    for columns in (None, 1, 2):
        torch._dynamo.reset()
        compiled = torch.compile(operation, fullgraph=True, dynamic=True, backend="aot_eager")
        for rows in (5, 17, 33):
            a = torch.randn(rows, 256).to(torch.float8_e4m3fn)
            b = torch.randn(24, 256).to(torch.float8_e4m3fn).t()
            scales = torch.rand((rows, columns) if columns else ()), torch.rand(1, 24)
            given = (a, b, *(scales if columns else (scales[0], scales[0])))
            torch.testing.assert_close(compiled(*given), operation(*given))
    compiled = torch.compile(lambda a, b: ours.int_mm(a, b), dynamic=True, backend="aot_eager")
    for rows in (5, 17):
        a, b = (torch.randint(-9, 9, shape, dtype=torch.int8) for shape in ((rows, 20), (20, 7)))
        assert torch.equal(compiled(a, b), a.int() @ b.int())


def test_scaled_mm_rounds_its_result_to_8_bits():
    a, b = (torch.randn(40, 64).to(torch.float8_e4m3fn) for _ in range(2))
    one, scale = torch.tensor(1.0), torch.tensor(0.5)
    wide = ours.scaled_mm(a, b.t(), one, one, out_dtype=torch.float32)
    found = ours.scaled_mm(a, b.t(), one, one)
    assert found.dtype is torch.float8_e4m3fn
    assert torch.equal(found.float(), wide.clamp(-448, 448).to(torch.float8_e4m3fn).float())
    halved = ours.scaled_mm(a, b.t(), one, one, None, scale, torch.float8_e5m2)
    assert torch.equal(halved.float(), (wide * 0.5).to(torch.float8_e5m2).float())


@pytest.mark.parametrize("kinds", [(torch.int8, torch.int8), (torch.uint8, torch.int8)], ids=str)
def test_int_mm(kinds):
    a, b = (
        torch.randint(-128 if kind is torch.int8 else 0, 127, shape, dtype=kind)
        for kind, shape in zip(kinds, ((33, 100), (100, 41)), strict=True)
    )
    found = ours.int_mm(a, b)
    assert found.dtype is torch.int32
    assert torch.equal(found, a.int() @ b.int())
    assert torch.equal(torch.compile(ours.int_mm, fullgraph=True)(a, b), found)
    assert ours.int_mm(a[:, :0], b[:0]).eq(0).all()
    with pytest.raises(pyptx.CallError, match="legal: int8 uint8"):
        ours.int_mm(a.float(), b)


def test_what_matmul_refuses():
    refused = partial(refusal, ours.matmul)
    a, b = torch.randn(5, 8), torch.randn(8, 16)
    assert refused(a, b.double()) == (
        "other has elements of type float64\n  legal: bfloat16 float16 float32"
    )
    assert refused(a, b.bfloat16()) == (
        "input has elements of type float32 and other of bfloat16; matmul takes one type\n"
        "  help: other.to(input.dtype)"
    )
    assert refused(a, b.t()) == (
        "input has shape (5, 8) and other (16, 8); input's last dimension is other's last but one\n"
        "  legal: (..., M, K) @ (..., K, N)"
    )
    assert refused(torch.randn(2, 5, 8), torch.randn(3, 8, 4)) == (
        "input has shape (2, 5, 8) and other (3, 8, 4), whose batches (2,) and (3,) cannot be "
        "broadcast\n  help: a batch dimension is the same in both, or 1"
    )
    assert refused(a, b, out_dtype=torch.float64) == (
        "out_dtype is torch.float64\n  legal: torch.bfloat16 torch.float16 torch.float32"
    )
    with pyptx.target("sm_75"):
        assert refused(a, b) == (
            "matmul has no kernels for sm_75\n"
            "  legal: sm_80 and later: bf16 and asynchronous copies are theirs"
        )


def test_what_scaled_mm_refuses():
    refused = partial(refusal, ours.scaled_mm)
    a, b = torch.randn(8, 16).to(torch.float8_e4m3fn), torch.randn(16, 8).to(torch.float8_e4m3fn)
    one = torch.tensor(1.0)
    assert refused(a.float(), b, one, one) == (
        "input has elements of type float32\n  legal: float8_e4m3fn float8_e5m2"
    )
    assert refused(a, b.t()[:3], one, one) == (
        "input has shape (8, 16) and mat2 (3, 16); input's last dimension is mat2's first\n"
        "  legal: (M, K) and (K, N)"
    )
    wanted = {"out_dtype": torch.bfloat16}
    assert refused(a, b, torch.ones(1, 8), one, **wanted) == (
        "scale_a has shape (1, 8)\n  legal: () (1,) (1, 1) (8, 1)"
    )
    assert refused(a, b, one, 1.0, **wanted) == (
        "scale_b is float and must be a float32 tensor\n  help: scale_b=torch.tensor(1.0)"
    )
    assert refused(a, b, one, one, scale_result=one, **wanted) == (
        "scale_result is given, and the result's type is bfloat16\n"
        "  help: scaled_mm(...) * scale_result"
    )
    assert refused(a, b, one, one, torch.ones(9), **wanted) == (
        "bias has shape (9,), and mat2 has 8 columns"
    )
    assert refused(a, a, one, one, **wanted) == (
        "input has shape (8, 16) and mat2 (8, 16); input's last dimension is mat2's first\n"
        "  legal: (M, K) and (K, N)"
    )
    with pyptx.target("sm_80"):
        assert refusal(ours.scaled_mm, a, b, one, one) == (
            "scaled_mm of e4m3 has no kernels for sm_80\n"
            "  legal: sm_89 and later\n  help: convert both factors to bfloat16"
        )


@pytest.mark.parametrize("size", [33, 40])
def test_sizes_that_a_program_does_not_know_are_padded(size):
    compiled = torch.compile(
        lambda a, b: ours.matmul(a, b.mT), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    for n in (size, size + 7, size + 8):
        a = torch.randn(n + 3, n + 1, requires_grad=True)
        b = torch.randn(n, n + 1, requires_grad=True)
        found, wanted = compiled(a, b), a @ b.mT
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
        g = torch.randn_like(wanted)
        pairs = (torch.autograd.grad(each, (a, b), g) for each in (found, wanted))
        for one, other in zip(*pairs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)


def test_numbers_that_a_program_does_not_know():
    """Dynamo makes the integers that a function closes over symbols."""
    x = torch.randn(5, 40)
    for dim, offset in ((0, 1), (1, 2), (-1, 3)):
        compiled = torch.compile(
            lambda x, dim=dim, offset=offset: ours.rms_norm(
                ours.softmax(x, dim), (40,), x[0], 1e-5, offset=offset
            ),
            fullgraph=True,
            dynamic=True,
            backend="aot_eager",
        )
        wanted = F.rms_norm(F.softmax(x, dim), (40,), x[0] + offset, 1e-5)
        torch.testing.assert_close(compiled(x), wanted)
