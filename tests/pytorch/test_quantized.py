"""`quantize`, `rms_norm_quantized` and `layer_norm_quantized` as operations of PyTorch."""

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal
from torch.fx.experimental.proxy_tensor import make_fx

import pyptx
import pyptx.torch as ours

E4M3, E5M2, INT8 = torch.float8_e4m3fn, torch.float8_e5m2, torch.int8
LARGEST = {E4M3: 448.0, E5M2: 57344.0, INT8: 127.0}
COMPILED = {"fullgraph": True, "backend": "aot_eager"}
X, W = torch.randn(16, 200), torch.linspace(0.5, 1.5, 200)
FUNCTIONS = {
    "quantize": lambda x: ours.quantize(x, E4M3),
    "blocks": lambda x: ours.quantize(x, INT8, block=128),
    "given": lambda x: ours.quantize(x, E5M2, scale=0.1),
    "rms": lambda x: ours.rms_norm_quantized(x, 200, W, E4M3, 1e-5, offset=1.0),
    "rms without weight": lambda x: ours.rms_norm_quantized(x, 200, None, INT8),
    "rms given": lambda x: ours.rms_norm_quantized(
        x, (200,), W, E5M2, scale=torch.full((*x.shape[:-1], 1), 0.1)
    ),
    "layer": lambda x: ours.layer_norm_quantized(x, (200,), W, W, E4M3),
    "layer blocks": lambda x: ours.layer_norm_quantized(x, 200, None, W, INT8, block=128),
}


def bits(tensor):
    return tensor.contiguous().view(torch.uint8)


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype is other.dtype
        assert torch.equal(bits(one).flatten(), bits(other).flatten())


def rounded(values, dtype):
    near = values.clamp(-LARGEST[dtype], LARGEST[dtype])
    return near.round().to(dtype) if dtype is INT8 else near.to(dtype)


@pytest.mark.parametrize("block", [None, 128])
@pytest.mark.parametrize("dtype", LARGEST, ids=str)
@pytest.mark.parametrize("of", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_rows(of, dtype, block):
    for columns in (1, 61, 256, 1000):
        x = torch.randn(3, columns).to(of)
        x[1] = 0
        y, scale = ours.quantize(x, dtype, block=block)
        wide = x.to(torch.promote_types(of, torch.float32))
        padded = F.pad(wide, (0, -columns % (block or columns)))
        largest = padded.abs().view(3, -1, block or columns).amax(-1)
        wanted = torch.where(largest == 0, 1, largest / LARGEST[dtype]).float()
        assert torch.equal(scale, wanted)
        each = scale.repeat_interleave(block or columns, -1)[:, :columns]
        assert torch.equal(bits(y), bits(rounded(wide * (1 / each.to(wide.dtype)), dtype)))


def test_norms():
    x, b = torch.randn(5, 3000), torch.randn(3000)
    w = torch.linspace(0.5, 1.5, 3000)
    pairs = (
        (ours.rms_norm_quantized(x, 3000, w, E4M3, 1e-5), F.rms_norm(x, (3000,), w, 1e-5)),
        (ours.layer_norm_quantized(x, 3000, w, b, E4M3), F.layer_norm(x, (3000,), w, b)),
    )
    for (y, scale), norm in pairs:
        torch.testing.assert_close(scale[:, 0], norm.abs().amax(-1) / 448)
        wanted = rounded(norm / scale, E4M3)
        assert (bits(y) == bits(wanted)).float().mean() > 0.99
        torch.testing.assert_close(y.float() * scale, norm, atol=0.02, rtol=0.07)
    y, amax = ours.rms_norm_quantized(x, 3000, w, INT8, 1e-5, scale=0.05)
    torch.testing.assert_close(amax[:, 0], pairs[0][1].abs().amax(-1))
    assert (y == rounded(pairs[0][1] / 0.05, INT8)).float().mean() > 0.99


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_compiled_and_mapped(function):
    wanted = function(X)
    for _ in range(10):  # the launcher's quick way is taken after a few
        same(function(X), wanted)
    compiled = torch.compile(function, dynamic=True, **COMPILED)
    for rows in (16, 5):
        same(compiled(X[:rows]), [each[:rows] for each in wanted])
    same(torch.func.vmap(function)(X.view(2, 8, 200)), wanted)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_opcheck(function):
    graph = make_fx(function)(X)
    launches = [node for node in graph.graph.nodes if "pyptx" in str(node.target)]
    assert len(launches) == 1
    inputs = [torch.randn(node.meta["val"].shape) for node in launches[0].args[0]]
    torch.library.opcheck(torch.ops.pyptx.launch.default, (inputs, launches[0].args[1]))


def test_shapes_and_strides():
    x, w = torch.randn(2, 3, 4, 50), torch.randn(4, 50)
    y, scale = ours.rms_norm_quantized(x, (4, 50), w, E4M3)
    assert (y.shape, scale.shape) == ((2, 3, 4, 50), (2, 3, 1, 1))
    turned = X.t().contiguous().t()
    same(ours.quantize(turned, INT8), ours.quantize(X, INT8))
    scales = torch.linspace(0.01, 0.1, 16)[:, None].double()
    y, amax = ours.quantize(X, INT8, scale=scales)
    for i in range(16):
        same(ours.quantize(X[i], INT8, scale=scales[i]), (y[i], amax[i]))
    assert ours.quantize(X[:0], E4M3)[1].shape == (0, 1)
    for options, shape in (({}, (16, 1)), ({"block": 128}, (16, 0)), ({"scale": 1.0}, (16, 1))):
        y, numbers = ours.quantize(X[:, :0], E5M2, **options)
        assert (y.shape, y.dtype, numbers.shape) == ((16, 0), E5M2, shape)
        assert (numbers == (0 if "scale" in options else 1)).all()


def test_results_are_operands_of_scaled_mm():
    x, w = torch.randn(32, 256), torch.randn(48, 256)
    (a, a_scale), (b, b_scale) = ours.quantize(x, E4M3), ours.quantize(w, E4M3)
    found = ours.scaled_mm(a, b.t(), a_scale, b_scale.t(), out_dtype=torch.float32)
    product = (a.float() * a_scale) @ (b.float() * b_scale).t()
    torch.testing.assert_close(found, product, atol=0.05, rtol=1e-3)


@pytest.mark.parametrize("name", ["quantize", "rms_norm_quantized", "layer_norm_quantized"])
@pytest.mark.parametrize("dtype", [E4M3, INT8], ids=str)
def test_there_is_no_derivative(name, dtype):
    others = {"quantize": (), "rms_norm_quantized": (200, W)}.get(name, (200, W, None))

    def call(x):
        return getattr(ours, name)(x, *others, dtype)

    message = (
        f"{name} has no derivative: its results are rounded to 8 bits\n"
        f"  help: {name}(input.detach(), ...)"
    )
    x = X.clone().requires_grad_()
    y, scale = call(x)
    for derivative in (
        lambda: scale.sum().backward(retain_graph=True),
        lambda: (y.float() * scale).sum().backward(),
        lambda: torch.func.grad(lambda x: call(x)[1].sum())(X),
    ):
        with pytest.raises(pyptx.CallError) as caught:
            derivative()
        lines = str(caught.value).splitlines()
        kept = [line for line in lines if not line.startswith("    ")]
        assert "\n".join(kept).endswith(message)
    assert not call(x.detach())[1].requires_grad
    with torch.no_grad():
        same(torch.compile(call, **COMPILED)(x), call(X))


LEGAL = "\n  legal: torch.float8_e4m3fn torch.float8_e5m2 torch.int8"


def test_misuse():
    assert refusal(ours.quantize, X, torch.bfloat16) == f"dtype is torch.bfloat16{LEGAL}"
    assert refusal(ours.quantize, X, None) == f"dtype is None{LEGAL}"
    assert refusal(ours.rms_norm_quantized, X, 200, W, 1e-5) == f"dtype is 1e-05{LEGAL}"
    assert refusal(ours.quantize, X.to(INT8), INT8) == (
        "input has elements of type int8\n  legal: bfloat16 float16 float32 float64"
    )
    assert refusal(ours.quantize, X.numpy(), INT8) == (
        "input is a ndarray; quantize takes tensors\n  help: torch.as_tensor(input)"
    )
    assert refusal(ours.quantize, X[0, 0], INT8) == (
        "input has shape (), and rows are its last dimension"
    )
    assert refusal(ours.quantize, X, INT8, block=64) == (
        "block is 64 and must be 128, the columns that share a scale\n  legal: 128 None"
    )
    assert refusal(ours.layer_norm_quantized, X, 200, W, W, INT8, scale=1.0, block=128) == (
        "scale and block are both given: scales of blocks are found, not given\n"
        "  help: layer_norm_quantized(..., scale=scale) or layer_norm_quantized(..., block=128)"
    )
    two = X.view(16, 4, 50), (4, 50), None
    assert refusal(ours.rms_norm_quantized, *two, INT8, block=128) == (
        "block is 128, and normalized_shape is (4, 50): blocks are for one dimension\n"
        "  help: reshape input and weight"
    )
    assert refusal(ours.quantize, X, INT8, scale=torch.ones(200)) == (
        "scale has shape (200,), which is not broadcast to (16, 1)\n"
        "  legal: one number, or one for each row: (..., 1)"
    )
    assert refusal(ours.quantize, X, INT8, scale="amax") == (
        "scale is a str and must be a number or a tensor"
    )
    assert refusal(ours.rms_norm_quantized, X, 20, None, INT8) == (
        "input has shape (16, 200), which does not end with normalized_shape (20,)\n"
        "  help: rms_norm_quantized(input, input.shape[-1:], ...) is over the last dimension"
    )
    assert refusal(ours.rms_norm_quantized, X, 200, None, INT8, offset=1.0) == (
        "offset is 1.0, and weight, which it is added to, is None\n"
        "  help: rms_norm_quantized(input, shape, weight, dtype, offset=1.0)"
    )
    assert refusal(ours.layer_norm_quantized, X, 200, W, W, INT8, -1.0) == (
        "eps is -1.0 and must be finite and not negative\n"
        "  help: layer_norm_quantized(input, shape, weight, bias, dtype, eps=1e-5)"
    )
