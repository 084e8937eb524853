"""Each operation of `pyptx.torch`: derivatives of both orders, and PyTorch's checks of its kernels.

Products have no float64; the steps of their numerical derivatives are wide.
"""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.fx.experimental.proxy_tensor import make_fx

import pyptx.torch as ours
from pyptx import ptx

F32, F64 = torch.float32, torch.float64
LABELS = torch.tensor([3, -100, 0])
ENDS = torch.tensor([1, 3], dtype=torch.int32)
E4M3, ONE = torch.float8_e4m3fn, torch.tensor(1.0)


def capped(total, cap):
    return cap * ptx.math.tanh(total / cap)


def fused(a, b, cap):
    formula = lambda total, cap: cap * torch.tanh(total / cap)
    return ours.fused_matmul(a, b, capped, columns=(1 + cap.abs(),), reference=formula)


# A name: the operation, the type of its tensors and their shapes.
DIFFERENTIABLE = {
    "add_layer_norm": (lambda x, r, w, b: ours.add_layer_norm(x, r, 8, w, b), F64, "38 38 8 8"),
    "add_rms_norm": (lambda x, r, w: ours.add_rms_norm(x, r, 8, w, 1e-5), F64, "38 38 8"),
    "cross_entropy": (
        lambda x: ours.cross_entropy(x, LABELS, label_smoothing=0.1, z_loss=0.1), F64, "38",
    ),
    "fused_matmul": (fused, F32, "34 45 5"),
    "gated_matmul": (lambda x, g, u: ours.gated_matmul(x, g, u), F32, "34 45 45"),
    "geglu": (lambda a, b: ours.geglu(a, b, approximate="none"), F64, "38 38"),
    "gelu": (lambda x: ours.gelu(x), F64, "38"),
    "group_norm": (lambda x, w, b: ours.group_norm(x, 2, w, b), F64, "345 4 4"),
    "grouped_mm": (lambda a, b: ours.grouped_mm(a, b, offs=ENDS), F32, "34 245"),
    "instance_norm": (lambda x, w, b: ours.instance_norm(x, weight=w, bias=b), F64, "245 4 4"),
    "layer_norm": (lambda x, w, b: ours.layer_norm(x, 8, w, b), F64, "38 8 8"),
    "linear": (lambda x, w, b: ours.linear(x, w, b, activation="silu"), F32, "34 54 5"),
    "log_softmax": (lambda x: ours.log_softmax(x, -1), F64, "38"),
    "matmul": (lambda a, b: ours.matmul(a, b), F32, "34 45"),
    "reglu": (lambda a: ours.reglu(a, interleaved=True), F64, "38"),
    "relu": (lambda x: ours.relu(x), F64, "38"),
    "rms_norm": (lambda x, w: ours.rms_norm(x, 8, w, 1e-5, offset=0.5), F64, "38 8"),
    "rope": (lambda q, k: ours.rope(q, k, torch.arange(3)), F64, "324 314"),
    "silu": (lambda x: ours.silu(x), F64, "38"),
    "softmax": (lambda x: ours.softmax(x, -1, scale=0.5, causal=True), F64, "48"),
    "swiglu": (lambda a: ours.swiglu(a), F64, "38"),
    "tensordot": (lambda a, b: ours.tensordot(a, b, ([1, 2], [1, 0])), F32, "345 542"),
    "top_k": (lambda x: ours.top_k(x, 3)[0], F64, "38"),
}  # fmt: skip
OTHERS = {
    "argmax": (lambda x: ours.argmax(x, -1), F64, "38"),
    "int_mm": (lambda a, b: ours.int_mm(a, b), torch.int8, "34 45"),
    "layer_norm_quantized": (
        lambda x, w, b: ours.layer_norm_quantized(x, 8, w, b, torch.int8), F32, "38 8 8",
    ),
    "quantize": (lambda x: ours.quantize(x, torch.int8), F32, "38"),
    "rms_norm_bwd": (lambda g, x, r, w: ours.rms_norm_bwd(g, x, 8, r, w), F32, "38 38 3 8"),
    "rms_norm_fwd": (lambda x, w: ours.rms_norm_fwd(x, 8, w), F32, "38 8"),
    "rms_norm_quantized": (lambda x, w: ours.rms_norm_quantized(x, 8, w, torch.int8), F32, "38 8"),
    "scaled_grouped_mm": (
        lambda a, b: ours.scaled_grouped_mm(a, b, ONE, ONE, ENDS), E4M3, "34 245",
    ),
    "scaled_mm": (lambda a, b: ours.scaled_mm(a, b, ONE, ONE, out_dtype=F32), E4M3, "34 45"),
}  # fmt: skip
NO_OPERATIONS = {"differentiable", "patch", "unpatch"}


def made(dtype, shapes):
    """Tensors of the shapes whose sizes are these digits."""
    shapes = [tuple(map(int, shape)) for shape in shapes.split()]
    return [torch.randn(shape, dtype=F64).mul(3).to(dtype) for shape in shapes]


def test_the_tables_have_every_operation():
    functions = {
        name
        for name, each in vars(ours).items()
        if callable(each) and not isinstance(each, type) and not name.startswith("_")
    }
    assert functions == {*DIFFERENTIABLE, *OTHERS, *NO_OPERATIONS}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name):
    operation, dtype, shapes = DIFFERENTIABLE[name]
    given = [tensor.div(3).requires_grad_() for tensor in made(dtype, shapes)]
    wide = {} if dtype is F64 else {"eps": 2e-2, "atol": 2e-2, "rtol": 2e-2}
    assert gradcheck(operation, given, **wide)
    assert gradgradcheck(operation, given, **wide)


@pytest.mark.parametrize("name", [*DIFFERENTIABLE, *OTHERS])
def test_opcheck(name):
    """Of each kernel in a program with gradients, where there are some."""
    operation, dtype, shapes = {**DIFFERENTIABLE, **OTHERS}[name]
    given = made(dtype, shapes)

    def gradients(*tensors):
        found = operation(*tensors)
        first = found[0] if isinstance(found, tuple) else found
        return torch.autograd.grad(first.sum(), tensors)

    if name in DIFFERENTIABLE:
        graph = make_fx(gradients)(*(tensor.requires_grad_() for tensor in given))
    else:
        graph = make_fx(operation)(*given)
    launches = [node for node in graph.graph.nodes if "pyptx.launch" in str(node.target)]
    assert launches
    tests = ["test_autograd_registration", "test_faketensor"]
    if dtype is not E4M3:  # of which PyTorch's checks need operators that it does not have
        tests += ["test_schema", "test_aot_dispatch_dynamic"]
    for node in launches:
        values = [each.meta["val"] for each in node.args[0]]
        inputs = [torch.zeros(each.shape, dtype=each.dtype) for each in values]
        inputs = [each.uniform_(1, 2) if each.dtype in (F32, F64) else each for each in inputs]
        torch.library.opcheck(
            torch.ops.pyptx.launch.default, (inputs, node.args[1]), test_utils=tests
        )
