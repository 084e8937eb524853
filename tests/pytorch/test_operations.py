"""`pyptx.torch`: results against PyTorch's own, gradients, programs, modules and refusals."""

import contextlib
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from refusals import refusal
from torch._subclasses import FakeTensorMode
from torch.autograd import gradcheck, gradgradcheck
from torch.fx.experimental.proxy_tensor import make_fx
from torch_operations import DTYPES, OPERATIONS, SHAPE, operands, rows

import pyptx
import pyptx.torch as ours


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_against_pytorch(name, dtype):
    operation, reference, counts = OPERATIONS[name]
    given = operands(counts, dtype=dtype, grad=False)
    found = operation(*given)
    wanted = reference(*(tensor.double() for tensor in given)).to(dtype)
    assert found.dtype is wanted.dtype
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_in_float64(name):
    operation, _, counts = OPERATIONS[name]
    given = operands(counts, shape=(3, 7))
    assert gradcheck(operation, given)
    assert gradgradcheck(operation, given)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_against_pytorch(name, dtype):
    operation, reference, counts = OPERATIONS[name]
    given = operands(counts, dtype=dtype)
    wide = [tensor.detach().double().requires_grad_() for tensor in given]
    g = torch.randn(SHAPE, dtype=dtype)
    found = torch.autograd.grad(operation(*given), given, g)
    wanted = torch.autograd.grad(reference(*wide), wide, g.double())
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype is dtype
        torch.testing.assert_close(
            one, other.to(dtype), rtol=2e-2, atol=1e-4 if dtype is torch.float32 else 2e-2
        )


@pytest.mark.parametrize("name", OPERATIONS)
def test_compiled_with_a_gradient(name):
    operation, reference, counts = OPERATIONS[name]
    given = operands(counts, dtype=torch.float32)
    compiled = torch.compile(
        lambda *tensors: operation(torch.sin(tensors[0]), *tensors[1:]).cos(),
        fullgraph=True,
        backend="aot_eager",
    )
    g = torch.randn(SHAPE)
    found = torch.autograd.grad(compiled(*given), given, g)
    value = reference(torch.sin(given[0]), *given[1:]).cos()
    for one, other in zip(found, torch.autograd.grad(value, given, g), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "softmax", "swiglu"])
def test_a_new_number_of_rows_compiles_nothing(name):
    operation, reference, counts = OPERATIONS[name]
    compiled = torch.compile(operation, fullgraph=True, dynamic=True, backend="aot_eager")
    for count in (5, 3, 17):
        given = operands(counts, shape=(count, 40), dtype=torch.float32)
        torch.testing.assert_close(compiled(*given), reference(*given))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("name", OPERATIONS)
def test_opcheck(name):
    operation, _, counts = OPERATIONS[name]
    given = operands(counts, dtype=torch.float32, grad=False)
    graph = make_fx(operation)(*given)
    launches = [node for node in graph.graph.nodes if "pyptx" in str(node.target)]
    assert len(launches) == 1
    inputs = [torch.randn(node.meta["val"].shape) for node in launches[0].args[0]]
    torch.library.opcheck(torch.ops.pyptx.launch.default, (inputs, launches[0].args[1]))


@pytest.mark.parametrize(
    "name", ["rms_norm", "layer_norm", "softmax", "swiglu", "swiglu of halves"]
)
def test_vmap_of_a_gradient(name):
    operation, _, counts = OPERATIONS[name]
    given = operands(counts, dtype=torch.float32, grad=False)

    def loss(*one):
        return operation(*one).sin().sum()

    every = torch.func.grad(loss, tuple(range(len(given))))
    dims = tuple(0 if tensor.ndim == 2 else None for tensor in given)
    found = torch.func.vmap(every, dims)(*given)
    wanted = every(*given)
    for one, other in zip(found, wanted, strict=True):
        total = one if other.ndim == 2 else one.sum(0)
        torch.testing.assert_close(total, other, rtol=1e-4, atol=1e-4)


def test_shapes_of_several_dimensions_and_no_rows():
    x, w = torch.randn(2, 3, 4, 5), torch.randn(4, 5)
    torch.testing.assert_close(ours.rms_norm(x, (4, 5), w, 1e-5), F.rms_norm(x, (4, 5), w, 1e-5))
    torch.testing.assert_close(ours.layer_norm(x, (4, 5), w), F.layer_norm(x, (4, 5), w))
    torch.testing.assert_close(ours.softmax(x, 1), F.softmax(x, 1))
    moved = x.transpose(0, 2)
    torch.testing.assert_close(ours.layer_norm(moved, (2, 5)), F.layer_norm(moved, (2, 5)))
    empty = torch.randn(0, 40, requires_grad=True)
    weight = torch.randn(40, requires_grad=True)
    ours.rms_norm(empty, (40,), weight).sum().backward()
    assert torch.equal(weight.grad, torch.zeros(40))
    assert ours.swiglu(empty, empty).shape == (0, 40)


def test_arguments_by_name_and_values_of_other_types():
    x, w = torch.randn(3, 40), torch.randn(40)
    for _ in range(2):  # the second call is a known one
        found = ours.rms_norm(input=x, normalized_shape=[40], weight=w, eps=1e-5)
        torch.testing.assert_close(found, F.rms_norm(x, (40,), w, 1e-5))
        found = ours.layer_norm(x, normalized_shape=(40,), bias=w, weight=w)
        torch.testing.assert_close(found, F.layer_norm(x, (40,), w, w))
        torch.testing.assert_close(ours.softmax(input=x, dim=0), F.softmax(x, 0))
        torch.testing.assert_close(ours.swiglu(up=x, gate=x + 1), F.silu(x + 1) * x)
        torch.testing.assert_close(ours.silu(input=x), F.silu(x))
        assert ours.softmax(x, 1, dtype=torch.float64).dtype is torch.float64
    ours.layer_norm(x, 40, eps=1)
    with pytest.raises(pyptx.CallError):
        ours.layer_norm(x, 40, eps=True)  # equals 1, and is no number of this kind


def test_gates_whose_parts_are_one_tensor():
    x = torch.randn(2, 3, 24)
    halves, pairs = (x[..., :12], x[..., 12:]), (x[..., ::2], x[..., 1::2])
    for operation in (ours.swiglu, ours.geglu, ours.reglu):
        assert torch.equal(operation(x), operation(*halves))
        assert torch.equal(operation(x, interleaved=True), operation(*pairs))
        assert torch.equal(operation(gate=x[0, 0], up=None), operation(x)[0, 0])
    exact = ours.geglu(x, approximate="none", interleaved=True)
    assert torch.equal(exact, ours.geglu(*pairs, approximate="none"))
    turned = x.transpose(0, 2)[..., :2]
    assert torch.equal(ours.swiglu(turned), ours.swiglu(turned.contiguous()))
    for shape in ((0, 24), (3, 0), (2, 0, 6)):
        empty = torch.randn(*shape, requires_grad=True)
        found = ours.swiglu(empty)
        assert found.shape == (*shape[:-1], shape[-1] // 2)
        assert torch.autograd.grad(found.sum(), empty)[0].shape == shape
    assert refusal(ours.swiglu, x[..., :5]) == (
        "gate has shape (2, 3, 5), and swiglu of one tensor takes (..., 2 n)\n"
        "  help: swiglu(gate, up)"
    )
    assert refusal(ours.reglu, x, x, interleaved=True) == (
        "interleaved is True, and gate and up are two tensors\n"
        "  help: reglu(gate_and_up, interleaved=True), of shape (..., 2 n)"
    )
    assert refusal(ours.geglu, x, interleaved=1) == "interleaved is 1 and must be True or False"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_eps_is_by_default_what_pytorch_has(dtype):
    x = torch.randn(3, 40, dtype=dtype) * 0.01
    wanted = F.rms_norm(x.double(), (40,), eps=torch.finfo(dtype).eps).to(dtype)
    torch.testing.assert_close(ours.rms_norm(x, (40,)), wanted)


def test_types_of_two_kinds():
    x, w = torch.randn(3, 40).bfloat16(), torch.randn(40)
    for given in ((x, w), (x.float(), w.bfloat16()), (x, w.half())):
        found = ours.rms_norm(given[0], (40,), given[1], 1e-5)
        wanted = F.rms_norm(given[0].double(), (40,), given[1].double(), 1e-5)
        assert found.dtype is given[0].dtype
        torch.testing.assert_close(found, wanted.to(found.dtype))
    assert ours.layer_norm(x, (40,), w).dtype is torch.bfloat16
    wide = ours.rms_norm(x, (40,), w, 1e-5, out_dtype=torch.float32)
    wanted = F.rms_norm(x.double(), (40,), w.double(), 1e-5).float()
    torch.testing.assert_close(wide, wanted)
    double = rows(3, 40), rows(40)
    norm = partial(ours.rms_norm, normalized_shape=(40,), eps=1e-5, out_dtype=torch.float64)
    assert gradgradcheck(lambda x, w: norm(x, weight=w), double, atol=1e-4)
    assert refusal(ours.rms_norm, x, (40,), out_dtype=torch.int8) == (
        "the result has elements of type int8\n  legal: bfloat16 float16 float32 float64"
    )


def test_autocast():
    x, w, labels = torch.randn(3, 40).bfloat16(), torch.randn(40), torch.tensor([1, 39, 0])
    with torch.autocast("cpu", torch.bfloat16):
        for found, wanted in (
            (ours.layer_norm(x, (40,), w, w), F.layer_norm(x, (40,), w, w)),
            (ours.softmax(x, -1), F.softmax(x, -1)),
            (ours.swiglu(x, x), F.silu(x) * x),
            (ours.rms_norm(x, (40,), w, 1e-5), F.rms_norm(x, (40,), w.bfloat16(), 1e-5)),
            (ours.cross_entropy(x, labels), F.cross_entropy(x, labels)),
        ):
            assert found.dtype is wanted.dtype
            torch.testing.assert_close(found, wanted)


def test_numbers_that_a_program_is_traced_with():
    """Each is a number of the kernel, and another one another program."""
    x = torch.randn(3, 12)
    for operation, reference in (
        (lambda x, n: ours.top_k(x, n)[0], lambda x, n: torch.topk(x, n)[0]),
        (lambda x, n: ours.group_norm(x, n), lambda x, n: F.group_norm(x, n)),
        (lambda x, n: ours.softmax(x, n - 4), lambda x, n: F.softmax(x, n - 4)),
        (
            lambda x, n: ours.cross_entropy(x, torch.arange(3), ignore_index=n - 2),
            lambda x, n: F.cross_entropy(x, torch.arange(3), ignore_index=n - 2),
        ),
    ):
        compiled = torch.compile(operation, fullgraph=True, dynamic=True, backend="aot_eager")
        for n in (2, 3, 4):
            torch.testing.assert_close(compiled(x, n), reference(x, n))


def test_tensors_without_data():
    for device in ("meta", "cpu", "cuda"):
        with contextlib.nullcontext() if device == "meta" else FakeTensorMode():
            x = torch.empty(3, 16, device=device, requires_grad=True)
            for operation in (
                lambda x: ours.rms_norm(x, (16,)),
                lambda x: ours.matmul(x, x.t()),
                lambda x: ours.linear(x, x, activation="silu"),
                lambda x: ours.gated_matmul(x, x.t(), x.t()),
                lambda x: ours.add_rms_norm(x, x, (16,), dropout_p=0.5)[0],
                lambda x: ours.cross_entropy(x, x.new_zeros(3, dtype=torch.int64)),
                lambda x: ours.top_k(x, 2)[0],
            ):
                found = operation(x)
                assert found.device.type == device
                if device == "cuda":
                    continue  # of which autograd needs one
                (dx,) = torch.autograd.grad(found.sum(), x)
                assert dx.shape == x.shape


def test_a_pair_of_functions_makes_an_operation():
    calls = []

    def cube(x):
        return x**3

    def forward(x):
        return x**3, (x,)

    def backward(saved, g):
        calls.append(g.is_contiguous())
        return 3 * saved[0] ** 2 * g

    x = rows(3, 4)
    once = ours.differentiable(cube, forward, backward)
    assert gradcheck(once, [x])
    (g,) = torch.autograd.grad(once(x).sum(), [x], create_graph=True)
    assert all(calls)  # the gradient of a sum is one number, expanded
    with pytest.raises(NotImplementedError) as raised:
        torch.autograd.grad(g.sum(), [x])
    assert str(raised.value) == (
        "cube has no derivative of second order; pyptx.torch.differentiable(..., reference=) makes "
        "one of a function of PyTorch's own operators"
    )
    assert gradgradcheck(ours.differentiable(cube, forward, backward, reference=cube), [x])
    wrong = ours.differentiable(cube, forward, lambda saved, g: (g, g))
    with pytest.raises(pyptx.CallError) as raised:
        wrong(x).sum().backward()
    assert (
        str(raised.value)
        .splitlines()[0]
        .endswith(
            "the backward function of cube returns 2 gradients, and the operation takes 1 tensors"
        )
    )


def test_what_is_refused():
    x = torch.randn(3, 40)
    assert refusal(ours.rms_norm, [1.0], (1,)) == (
        "input is a list; rms_norm takes tensors\n  help: torch.as_tensor(input)"
    )
    assert refusal(ours.rms_norm, x.long(), (40,)) == (
        "input has elements of type int64\n  legal: bfloat16 float16 float32 float64"
    )
    assert refusal(ours.layer_norm, x, (41,)) == (
        "input has shape (3, 40), which does not end with normalized_shape (41,)\n"
        "  help: layer_norm(input, input.shape[-1:], ...) is over the last dimension"
    )
    assert refusal(ours.layer_norm, x, (40,), x) == (
        "weight has shape (3, 40), and normalized_shape is (40,)"
    )
    assert refusal(ours.layer_norm, x, (40,), eps=-1) == (
        "eps is -1 and must be finite and not negative\n"
        "  help: layer_norm(input, shape, weight, bias, eps=1e-5)"
    )
    assert refusal(ours.softmax, x, 2) == ("dim is 2 and input has shape (3, 40)\n  legal: -2 to 1")
    assert refusal(ours.silu, x, True) == (
        "silu has no inplace=True: its result is a tensor of its own\n"
        "  help: x = pyptx.torch.silu(x)"
    )
    assert refusal(ours.gelu, x, "fast") == "approximate is 'fast'\n  legal: 'none' 'tanh'"
    assert refusal(ours.swiglu, x, x[:2]) == (
        "up is float32[2, 40], and gate float32[3, 40]\n  help: up.to(gate.dtype).expand_as(gate)"
    )
    assert refusal(ours.patch, x) == (
        "pyptx.torch.patch takes a torch.nn.Module, not Tensor\n  help: pyptx.torch.patch(model)"
    )
    assert refusal(ours.differentiable, 1, 2, 3) == (
        "function is 1, and no function\n"
        "  help: pyptx.torch.differentiable(function, forward, backward)"
    )
    for given, problem in (
        (x.to_sparse(), "a sparse_coo tensor; {} takes dense tensors\n  help: input.to_dense()"),
        (
            torch.nested.nested_tensor([x, x], layout=torch.jagged),
            (
                "a nested tensor; {} takes dense tensors\n"
                "  help: input.values(), or to_padded_tensor(0.0)"
            ),
        ),
    ):
        assert refusal(ours.silu, given) == f"input is {problem.format('silu')}"
        assert refusal(ours.linear, given, x) == f"input is {problem.format('linear')}"
    with pyptx.target("sm_75"):
        assert refusal(ours.relu, x) == (
            "relu has no kernels for sm_75\n"
            "  legal: sm_80 and later: bf16 and the cache policies of loads are theirs"
        )


def test_there_is_no_derivative_in_forward_mode():
    """PyTorch would drop the tangents of an operator that has none."""
    x = torch.randn(3, 40)
    message = (
        "kernel relu has no derivative in forward mode (jvp); derivatives in reverse mode are "
        "those of pyptx.torch.differentiable"
    )
    for given in (x, x.clone().requires_grad_()):
        with pytest.raises(NotImplementedError):
            torch.func.jvp(ours.relu, (given,), (x,))
        with pytest.raises(NotImplementedError):
            torch.func.jvp(torch.func.vmap(ours.relu), (given,), (x,))
    with pytest.raises(NotImplementedError) as raised, torch.autograd.forward_ad.dual_level():
        ours.relu(torch.autograd.forward_ad.make_dual(x, x))
    assert str(raised.value) == message
