"""Kernels in programs that PyTorch compiles, exports and transforms."""

import contextlib
import random
import subprocess
import sys

import pytest
import torch
from torch._dynamo.utils import counters
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint
from torch_kernels import increment, product, scale, total, twice

import pyptx
import pyptx.torch as ours
from pyptx._runtime.torch import programs

MODES = {"static": {"dynamic": False}, "dynamic": {"dynamic": True}, "as found": {}}


def program(operation, *tensors):
    """The text that the operator has for a call on these tensors."""
    graph = make_fx(lambda *given: operation(*given))(*tensors)
    node = next(n for n in graph.graph.nodes if "pyptx" in str(n.target))
    return node.args[-1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operation", [product, twice])
def test_compiled(operation, mode, x, w):
    compiled = torch.compile(
        lambda x, w: operation(torch.sin(x), w) * 2, fullgraph=True, **MODES[mode]
    )
    power = 1 if operation is product else 2
    torch.testing.assert_close(compiled(x, w), torch.sin(x) * w**power * 2)


def test_a_new_number_of_rows_compiles_nothing(w):
    compiled = torch.compile(lambda x: product(torch.sin(x), w), fullgraph=True, dynamic=True)
    for rows in (5, 3, 7, 100, 2):
        x = torch.randn(rows, 200)
        torch.testing.assert_close(compiled(x), torch.sin(x) * w)
    assert counters["stats"]["unique_graphs"] == 1


def test_a_first_call_may_be_compiled(x):
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    @kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32), Tile(128, f32)), block=128)
    def both(X, Y, Z):
        i = reg.from_(ptx.special.tid.x(), u32)
        Y[i] = X[i] + 1.0
        Z[i] = X[i] - 1.0

    x = torch.randn(128)
    y, z = torch.compile(both, fullgraph=True)(x)
    assert torch.equal(y, x + 1)
    assert torch.equal(z, x - 1)


def test_scalars_are_no_constants_of_the_program(x):
    compiled = torch.compile(lambda x, a: scale(x, a) + 1, fullgraph=True)
    for factor in (2.5, 3.5, 4.5, 5.5):
        torch.testing.assert_close(compiled(x, factor), x * factor + 1)
    assert counters["stats"]["unique_graphs"] <= 2
    torch.testing.assert_close(compiled(x, torch.tensor(0.5)), x * 0.5 + 1)


def test_what_is_updated_in_place_is_functionalized():
    def function(x):
        y = increment(x)
        return y * 2

    x = torch.zeros(128)
    assert torch.equal(torch.compile(function, fullgraph=True)(x), torch.full((128,), 2.0))
    assert torch.equal(x, torch.ones(128))
    graph = make_fx(torch.func.functionalize(lambda x: function(x + 0)))(torch.zeros(128))
    assert torch.equal(graph(torch.ones(128)), torch.full((128,), 4.0))
    assert "launch_" not in graph.code


def test_the_shapes_of_results_follow_without_data(x, w):
    with FakeTensorMode() as mode:
        fake = product(mode.from_tensor(x), mode.from_tensor(w))
    assert fake.shape == (5, 200)
    assert fake.dtype is torch.float32
    graph = make_fx(twice, tracing_mode="symbolic")(x, w)
    assert [str(n.target) for n in graph.graph.nodes if "pyptx" in str(n.target)] == [
        "pyptx.launch.default"
    ]
    more = torch.randn(11, 200)
    assert torch.equal(graph(more, w), more * w * w)


@pytest.mark.parametrize("gradients", [False, True])
def test_opcheck(gradients, x, w):
    x = x.requires_grad_(gradients)
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    tests = tests if gradients else (*tests, "test_aot_dispatch_dynamic")
    for operation, tensors in ((product, [x, w]), (twice, [x, w]), (total, [x[:, :32]])):
        given = [t.detach().contiguous().requires_grad_(t.requires_grad) for t in tensors]
        text = program(operation, *(t.detach() for t in given))
        torch.library.opcheck(torch.ops.pyptx.launch.default, (given, text), test_utils=tests)


def test_opcheck_in_place():
    text = program(torch.func.functionalize(increment), torch.zeros(128))
    torch.library.opcheck(torch.ops.pyptx.launch.default, ([torch.zeros(128)], text))
    torch.library.opcheck(torch.ops.pyptx.launch_.default, ([], [torch.zeros(128)], text))


def test_without_a_derivative_that_is_said(x, w):
    y = product(x.requires_grad_(), w)
    with pytest.raises(NotImplementedError) as raised:
        y.sum().backward()
    assert str(raised.value) == (
        "kernel product has no derivative; pyptx.torch.differentiable makes an operation of it and "
        "a kernel for the gradient"
    )
    with pytest.raises(NotImplementedError) as transformed:
        torch.func.grad(lambda x: product(x, w).sum())(x.detach())
    assert str(transformed.value) == str(raised.value)


def test_checkpoints(x, w):
    def function(x):
        return torch.sin(x) * product(x.detach(), w)

    x.requires_grad_()
    checkpoint(function, x, use_reentrant=False).sum().backward()
    torch.testing.assert_close(x.grad, torch.cos(x) * x.detach() * w)


# ---- torch.func.vmap -----------------------------------------------------------------------------


def test_vmap(w):
    x = torch.randn(3, 5, 200)
    weights = torch.randn(3, 200)
    vmap = torch.func.vmap
    torch.testing.assert_close(vmap(product, (0, None))(x, w), x * w)
    torch.testing.assert_close(vmap(product)(x, weights), x * weights[:, None])
    torch.testing.assert_close(vmap(product, (None, 0))(x[0], weights), x[0] * weights[:, None])
    moved = x.transpose(0, 1).contiguous()
    torch.testing.assert_close(vmap(product, (1, 0))(moved, weights), x * weights[:, None])
    twice_ = vmap(vmap(product, (0, None)), (0, 0))
    rows = torch.randn(3, 2, 5, 200)
    torch.testing.assert_close(twice_(rows, weights), rows * weights[:, None, None])
    torch.testing.assert_close(vmap(total)(x[..., :32].contiguous()), x[..., :32].sum(1))


def test_vmap_that_folds_is_one_launch(x, w):
    folded = program(torch.func.vmap(product, (0, None)), torch.randn(3, 5, 200), w)
    call = programs.call(folded)
    assert [tensor.axes for tensor in call.inputs] == [("vmap.0", "B", 200), (200,)]
    assert len(call.plan.steps) == 1


def test_vmap_beyond_what_a_grid_holds():
    rows = torch.randn(70_000, 1, 128)
    kernel_ = _in_yz()
    torch.testing.assert_close(torch.func.vmap(kernel_)(rows[:, 0]), rows[:, 0] + 1)


def _in_yz():
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    @kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), block=128)
    def plus_one(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), u32) * 4
        ptx.inst.st.global_.f32(ptx.addr(py + at), ptx.inst.ld.global_.f32(ptx.addr(px + at)) + 1.0)

    return plus_one


def test_vmap_of_what_is_updated_in_place():
    x = torch.zeros(3, 128)
    y = torch.func.vmap(increment)(x)
    assert torch.equal(y, torch.ones(3, 128))
    assert torch.equal(x, torch.ones(3, 128))


# ---- torch.export --------------------------------------------------------------------------------


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(200), requires_grad=False)

    def forward(self, x):
        return twice(torch.sin(x), self.w) + 1


@pytest.mark.parametrize("strict", [False, True])
def test_exported(x, strict):
    module = Module()
    exported = torch.export.export(
        module, (x,), dynamic_shapes=({0: torch.export.Dim("B")},), strict=strict
    )
    for rows in (1, 5, 31):
        more = torch.randn(rows, 200)
        torch.testing.assert_close(exported.module()(more), module(more))


LOADING = """
import sys
import torch
import pyptx.torch

exported = torch.export.load(sys.argv[1])
given, wanted = torch.load(sys.argv[2])
torch.testing.assert_close(exported.module()(*given), wanted)
print("same")
"""


def loaded(tmp_path, exported, given, wanted):
    """What a process that knows nothing of the kernels prints."""
    torch.export.save(exported, tmp_path / "program.pt2")
    torch.save((given, wanted), tmp_path / "tensors.pt")
    files = [str(tmp_path / "program.pt2"), str(tmp_path / "tensors.pt")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOADING, *files],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_exported_and_loaded_by_another_process(tmp_path, x):
    module = Module()
    exported = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("B")},))
    more = torch.randn(31, 200)
    assert loaded(tmp_path, exported, (more,), module(more)) == "same\n"


PACKAGED = """
import sys, torch, pyptx.torch
program = torch._inductor.aoti_load_package(sys.argv[1])
x, wanted = torch.load(sys.argv[2])
torch.testing.assert_close(program(x), wanted)
print("same")
"""


@pytest.mark.sweep  # a C++ compiler takes half a minute
def test_packaged_by_aot_inductor_and_loaded_by_another_process(tmp_path, x):
    module = Module()
    rows = torch.export.Dim("B", min=2)
    exported = torch.export.export(module, (x,), dynamic_shapes=({0: rows},))
    package = torch._inductor.aoti_compile_and_package(
        exported, package_path=str(tmp_path / "program.pt2")
    )
    more, tensors = torch.randn(31, 200), tmp_path / "tensors.pt"
    torch.save((more, module(more)), tensors)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PACKAGED, package, str(tensors)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "same\n"


def test_an_exported_program_has_code_for_the_targets_that_are_named(x, w):
    with pyptx.target("sm_90a", "sm_100a"):
        exported = torch.export.export(Module(), (x,))
    (text,) = {n.args[1] for n in exported.graph.nodes if "pyptx" in str(n.target)}
    call = programs.call(text)
    there = programs.on_cuda(call)
    assert [sorted(step) for step in there.cubins] == [["sm_100a", "sm_90a"]] * 2
    assert all(code.startswith(b"\x7fELF") for step in there.cubins for code in step.values())
    assert torch.equal(torch.ops.pyptx.launch([x, w], text)[0], x * w * w)
    mapped = torch.func.vmap(lambda x: torch.ops.pyptx.launch([x, w], text)[0])(x.expand(3, 5, 200))
    assert torch.equal(mapped, (x * w * w).expand(3, 5, 200))


def test_a_damaged_program_is_said(x):
    exported = torch.export.export(Module(), (x,))
    (text,) = {n.args[1] for n in exported.graph.nodes if "pyptx" in str(n.target)}
    draw = random.Random(0)
    for _ in range(300):
        at = draw.randrange(text.index("{"), len(text))
        damaged = text[:at] + draw.choice('{}[],:;="0r') + text[at + 1 + draw.randrange(3) :]
        with contextlib.suppress(pyptx.PtxError):
            programs.call(damaged)
    with pytest.raises(pyptx.CallError) as raised:
        programs.call(text[:-5])
    assert str(raised.value).startswith("the program's call of kernel twice is damaged: ")
    with pytest.raises(pyptx.CallError) as raised:
        programs.call("twice 0123")
    assert str(raised.value) == (
        "the program calls kernel twice, which this process has not made\n"
        "  help: torch.export.save writes programs for other processes"
    )


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::FutureWarning")
def test_torch_jit_trace_is_refused(x, w):
    """It would keep the result for this input as a constant."""
    for call, given in (
        (lambda x: product(x, w), (x,)),
        (lambda x: ours.rms_norm(x, (200,)), (x,)),
        (lambda x: ours.rms_norm(x, (200,)), (x,)),  # known from here on
        (lambda x: ours.linear(x, w[None]), (x.clone().requires_grad_(),)),
    ):
        with pytest.raises(pyptx.CallError) as raised:
            torch.jit.trace(call, given)
        first, _, last = str(raised.value).splitlines()
        assert first.startswith(__file__)
        assert first.endswith(": torch.jit.trace records no kernels")
        assert last == "  help: torch.export.export and torch.compile do"
    torch.testing.assert_close(product(x, w), x * w)


@pytest.mark.parametrize(
    "operation",
    [
        ours.swiglu,
        lambda x: ours.geglu(x, x),
        ours.gelu,
        lambda x: ours.softmax(x, -1, where=x > 0),
        lambda x: ours.softmax(x, -1, causal=True, positions=torch.arange(x.shape[0])),
        lambda x: ours.matmul(x, torch.ones(16, 8)),
    ],
    ids=["swiglu", "geglu", "gelu", "where", "causal", "matmul"],
)
def test_rows_that_a_program_selects(operation):
    """Their number is known when it runs, and may be none."""
    program = lambda x, kept: operation(x[kept])
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for rows, least in ((6, 0.3), (9, 0.3), (4, 2)):
            x, kept = torch.randn(rows, 16), torch.rand(rows) > least
            torch.testing.assert_close(compiled(x, kept), program(x, kept))


def test_a_product_over_rows_that_a_program_selects():
    program = lambda x, kept: ours.matmul(x[kept].t(), x[kept])
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for rows in (6, 9):
            x, kept = torch.randn(rows, 16), torch.arange(rows) > 2
            torch.testing.assert_close(compiled(x, kept), program(x, kept))
