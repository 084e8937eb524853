"""Products, losses and selections of `pyptx.torch` on an NVIDIA GPU, against float64."""

from __future__ import annotations

import warnings
from functools import partial

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional dependency")

import torch.nn.functional as F  # noqa: E402

import pyptx  # noqa: E402
import pyptx.torch as ours  # noqa: E402

pytestmark = pytest.mark.gpu

DEVICE = "cuda"
TOLERANCES = {torch.bfloat16: 1e-2, torch.float16: 2e-3, torch.float32: 1e-5}
"""Of the largest element: results are rounded once, and sums of random numbers grow slowly."""
SIZES = [(64, 64, 64), (300, 520, 200), (1024, 768, 2048), (1, 4096, 512)]


@pytest.fixture(scope="module", autouse=True)
def gpu():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    # Once in a process PyTorch warns where its thread for gradients calls cuBLAS first of all.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.ones(2, 2, device=DEVICE, dtype=torch.float64, requires_grad=True)
        torch.autograd.grad((x @ x).sum(), x)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def made(dtype, *shape):
    return torch.randn(*shape, device=DEVICE).to(dtype).requires_grad_()


def near(found, wanted, tolerance):
    scale = float(wanted.detach().abs().max()) if wanted.numel() else 0.0
    torch.testing.assert_close(
        found.double(), wanted.double(), rtol=0, atol=tolerance * (scale + 1e-6)
    )


def check(operation, reference, dtype, *given):
    wide = [x.detach().double().requires_grad_() for x in given]
    found, wanted = operation(*given), reference(*wide)
    near(found, wanted, TOLERANCES[dtype])
    g = torch.randn_like(found)
    pairs = torch.autograd.grad(found, given, g), torch.autograd.grad(wanted, wide, g.double())
    for one, other, tensor in zip(*pairs, given, strict=True):
        assert one.dtype is tensor.dtype
        near(one, other, 3 * TOLERANCES[dtype])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_products(dtype, sizes):
    m, n, k = sizes
    check(ours.matmul, torch.matmul, dtype, made(dtype, m, k), made(dtype, k, n))
    transposed = lambda f: lambda a, b: f(a, b.mT)
    a, b = made(dtype, 2, m, k), made(dtype, 2, n, k)
    check(transposed(ours.matmul), transposed(torch.matmul), dtype, a, b)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_fused_products(dtype, sizes):
    m, n, k = sizes
    x, w, bias = made(dtype, m, k), made(dtype, n, k), made(dtype, n)
    layer = partial(ours.linear, activation="silu")
    check(layer, lambda x, w, b: F.silu(F.linear(x, w, b)), dtype, x, w, bias)
    gate, up = made(dtype, k, n), made(dtype, k, n)
    wanted = lambda x, g, u: F.silu(x @ g) * (x @ u)
    check(ours.gated_matmul, wanted, dtype, x, gate, up)


@pytest.mark.parametrize("lengths", [[300, 0, 17, 700], [64] * 32, [1000, 24]], ids=str)
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_groups(dtype, lengths):
    rows, groups = sum(lengths), len(lengths)
    offs = torch.cumsum(torch.tensor(lengths, device=DEVICE), 0, dtype=torch.int32)
    a, b = made(dtype, rows, 200), made(dtype, groups, 200, 136)

    def of_rows(a, b):
        parts = zip(torch.split(a, lengths), b, strict=True)
        return torch.cat([one @ other for one, other in parts])

    def along_k(a, b):
        parts = zip(torch.split(a, lengths), torch.split(b, lengths), strict=True)
        return torch.stack([one.t() @ other for one, other in parts])

    check(partial(ours.grouped_mm, offs=offs), of_rows, dtype, a, b)
    along = lambda a, b: ours.grouped_mm(a.t(), b, offs=offs)
    check(along, along_k, dtype, a, made(dtype, rows, 136))


def test_products_of_eight_bits():
    if torch.cuda.get_device_capability() < (8, 9):
        with pytest.raises(pyptx.CallError, match="has no kernels for"):
            _eight_bits()
        return
    found, wanted = _eight_bits()
    near(found, wanted, 1e-2)


def _eight_bits():
    a, b = (torch.randn(shape, device=DEVICE) for shape in ((256, 512), (384, 512)))
    a, b = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t()
    scales = torch.rand(256, 1, device=DEVICE), torch.rand(1, 384, device=DEVICE)
    wanted = (a.double() * scales[0]) @ (b.double() * scales[1])
    return ours.scaled_mm(a, b, *scales, out_dtype=torch.bfloat16), wanted


@pytest.mark.parametrize("columns", [3, 384])
def test_products_with_scales_of_blocks(columns):
    if torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("8-bit floats need sm_89")
    a, b = (torch.randn(shape, device=DEVICE) for shape in ((256, 512), (384, 512)))
    a, b = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t()
    of_a, of_b = torch.rand(256, 4, device=DEVICE), torch.rand(4, columns, device=DEVICE)
    wide = of_b.repeat_interleave(128, 1) if columns == 3 else of_b
    wanted = (a.double() * of_a.repeat_interleave(128, 1)) @ (
        b.double() * wide.repeat_interleave(128, 0)
    )
    near(ours.scaled_mm(a, b, of_a, of_b, out_dtype=torch.float32), wanted, 2e-3)
    rounded = ours.scaled_mm(a, b, of_a, of_b, scale_result=torch.tensor(0.25, device=DEVICE))
    near(rounded.float(), wanted / 4, 7e-2)


def test_products_of_integers():
    a = torch.randint(-128, 127, (300, 400), dtype=torch.int8, device=DEVICE)
    b = torch.randint(-128, 127, (400, 200), dtype=torch.int8, device=DEVICE)
    assert torch.equal(ours.int_mm(a, b).double(), a.double() @ b.double())


@pytest.mark.parametrize("classes", [17, 4096, 128256])
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_losses(dtype, classes):
    x = made(dtype, 70, classes)
    target = torch.randint(classes, (70,), device=DEVICE)
    target[::7] = -100
    wide = x.detach().double().requires_grad_()
    found = ours.cross_entropy(x, target, label_smoothing=0.1)
    wanted = F.cross_entropy(wide, target, label_smoothing=0.1)
    near(found, wanted, TOLERANCES[dtype])
    found.backward()
    wanted.backward()
    near(x.grad, wide.grad, TOLERANCES[dtype])


@pytest.mark.parametrize("columns", [17, 4096, 128256])
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_the_largest(dtype, columns):
    x = made(dtype, 70, columns).detach()
    values, _ = ours.top_k(x, 8)
    assert torch.equal(values, torch.topk(x, 8).values)
    row = torch.arange(70, device=DEVICE)
    assert torch.equal(x[row, ours.argmax(x, -1)], x.max(-1).values)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_sums_are_normalized(dtype):
    x, residual, w = made(dtype, 33, 1000), made(dtype, 33, 1000), made(dtype, 1000)

    def wanted(x, residual, w):
        s = x + residual
        s = s + (s.to(dtype).double() - s).detach()
        return F.rms_norm(s, (1000,), w + 1, 1e-5)

    norm = lambda x, r, w: ours.add_rms_norm(x, r, (1000,), w, 1e-5, offset=1.0)[0]
    check(norm, wanted, dtype, x, residual, w)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_products_with_a_function(dtype, sizes):
    """Of the user's own, with a number of each row, column and element, and a second result."""
    m, n, k = sizes

    def scaled(total, row, column, other):
        return total * row * column + other, total * 0.5

    function = partial(ours.fused_matmul, further=[dtype], reference=scaled)
    run = lambda x, w, *given: torch.cat(
        function(x, w, scaled, rows=given[:1], columns=given[1:2], elements=given[2:])
    )
    wanted = lambda x, w, row, column, other: torch.cat(scaled(x @ w, row[:, None], column, other))
    shapes = (m, k), (k, n), (m,), (n,), (m, n)
    check(run, wanted, dtype, *(made(dtype, *shape) for shape in shapes))


@pytest.mark.parametrize("columns", [40, 1000, 8192, 50257])
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_dropout_in_a_compiled_program(dtype, columns):
    x, residual = made(dtype, 33, columns), made(dtype, 33, columns)
    norm = lambda x, r: ours.add_rms_norm(x, r, (columns,), eps=1e-5, dropout_p=0.5)
    for run in (norm, torch.compile(norm, fullgraph=True)):
        _, s = run(x, residual)
        dx, dr = torch.autograd.grad(s.sum(), (x, residual))
        keeps = dx != 0
        near(s, torch.where(keeps, 2 * x.double(), 0) + residual.double(), TOLERANCES[dtype])
        assert torch.equal(dx.double(), 2.0 * keeps)
        assert torch.equal(dr, torch.ones_like(dr))
        assert abs(keeps.double().mean() - 0.5) < 3 * (33 * columns) ** -0.5
