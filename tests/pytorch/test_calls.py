"""Kernels called on tensors on the CPU: results, memory, and what is refused."""

import copy
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from torch_kernels import copied, increment, product, scale, total, twice

import pyptx
import pyptx.torch as ours
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import BY_NUMPY, f32, u32


def refusal(call, *args, **options):
    """The message of a CallError at a line of this file, without that line."""
    with pytest.raises(pyptx.CallError) as caught:
        call(*args, **options)
    head, _, rest = str(caught.value).partition(": ")
    assert head.startswith(__file__)
    return "\n".join(line for line in rest.splitlines() if not line.startswith("    "))


def test_a_kernel_and_a_sequence(x, w):
    assert torch.equal(product(x, w), x * w)
    assert torch.equal(product(x, w), x * w)  # the second call checks nothing again
    assert torch.equal(twice(x, w), x * w * w)


@pytest.mark.parametrize("dtype", BY_NUMPY)
def test_every_type_comes_back_with_its_bits(dtype):
    kind = BY_NUMPY[dtype]
    size = 1 if dtype == "bool" else kind.bits // 8
    bits = f"b{size * 8}"

    @kernel(in_specs=(Tile(64, kind),), out_specs=(Tile(64, kind),), block=64)
    def same(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), u32) * size
        value = getattr(ptx.inst.ld.global_, bits)(ptx.addr(px + at))
        getattr(ptx.inst.st.global_, bits)(ptx.addr(py + at), value)

    raw = torch.randint(0, 2 if dtype == "bool" else 256, (64 * size,), dtype=torch.uint8)
    x = raw.view(getattr(torch, dtype))
    y = same(x)
    assert y.dtype is x.dtype
    assert torch.equal(y.view(torch.uint8), raw)


def test_scalars(x):
    for factor in (1.5, 3, np.float32(1.5), torch.tensor(1.5), torch.tensor(3)):
        assert torch.equal(scale(x, factor), x * factor)
    assert refusal(scale, x, torch.tensor(1j)).startswith(
        "factor is a tensor of type complex64, and Scalar(f32) takes float32"
    )


def test_no_rows(x, w):
    assert product(x[:0], w).shape == (0, 200)
    assert torch.equal(total(torch.zeros(0, 32)), torch.zeros(32))
    rows = torch.randn(7, 32)
    torch.testing.assert_close(total(rows), rows.sum(0))


def test_views_and_offsets(w):
    many = torch.randn(9, 200)
    assert torch.equal(product(many[3:8], w), many[3:8] * w)
    shifted = torch.randn(5 * 200 + 1)[1:].view(5, 200)
    assert torch.equal(product(shifted, w), shifted * w)
    rows = torch.randn(5 * 128 + 1).bfloat16()[1:].view(5, 128)
    assert rows.data_ptr() % 16 == 2
    assert torch.equal(copied(rows), rows)


def test_strides_are_said(x, w):
    assert refusal(product, x.T.contiguous().T, w) == (
        "X has strides (1, 5), and kernel product reads a tensor of shape (5, 200) with strides "
        "(200, 1)\n"
        "  help: pass X.contiguous(), which copies it"
    )
    product(x, w)  # on known shapes too
    assert refusal(product, x.T.contiguous().T, w).startswith("X has strides (1, 5)")
    assert refusal(product, x.to_sparse(), w) == (
        "X is a sparse_coo tensor, and kernel product reads every element\n"
        "  help: pass X.to_dense()"
    )


def test_nested_tensors_are_said():
    @kernel(
        in_specs=(Tile("*B", 128, f32),), out_specs=(Tile("*B", 128, f32),),
        grid=lambda B: (B, 1, 1), block=128, arch="auto", parallel=("B",),
    )  # fmt: skip
    def same(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), u32) * 4
        at += reg.from_(ptx.special.ctaid.x(), u32) * 512
        ptx.inst.st.global_.f32(ptx.addr(y + at), ptx.inst.ld.global_.f32(ptx.addr(x + at)))

    parts = [torch.randn(2, 128), torch.randn(3, 128)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
    assert refusal(same, nested) == (
        "X is a nested tensor, and kernel same reads a dense one\n"
        "  help: pass X.values(), or to_padded_tensor(0.0)"
    )
    assert torch.equal(same(nested.values()), nested.values())


def test_mixtures_are_said(x, w):
    assert refusal(product, x, w.numpy()) == (
        "X is a torch.Tensor and W a NumPy array\n  help: pass both as one kind: torch.as_tensor(W)"
    )
    jnp = pytest.importorskip("jax.numpy")
    assert refusal(product, x, jnp.zeros(200)) == (
        "W is a JAX array and X a torch.Tensor\n  help: pass both as one kind: jax.numpy.asarray(X)"
    )
    assert refusal(product.emulate, x, w.numpy()) == (
        "X is a torch.Tensor and W a NumPy array\n  help: pass both as one kind: torch.as_tensor(W)"
    )


def test_shapes_and_types_are_said(x, w):
    assert refusal(product, x, w[1:]).splitlines()[0] == (
        'the dimension "N" is 200 in X (axis 1) and 199 in W (axis 0)'
    )
    assert refusal(product, x.double(), w) == (
        'X has elements of type float64 and Tile("B", "N", f32) takes float32\n'
        "  help: convert it: X.to(torch.float32)"
    )
    assert refusal(product, x, w, one=2) == (
        "product has no compile-time keyword one\n  legal: none"
    )


def test_devices_are_said(x, w):
    assert refusal(product.emulate, x, w.to("meta")).startswith("W is on meta; emulating")
    assert product(x.to("meta"), w.to("meta")).shape == (5, 200)
    assert refusal(product.emulate, x.to("meta"), w) == (
        "X is on meta; emulating takes tensors on the CPU\n  help: X.cpu()"
    )
    assert refusal(product, x.to("meta"), w) == (
        "X is on meta and W on cpu\n  help: pass W.to(X.device)"
    )


def test_in_place():
    x = torch.zeros(128)
    version = x._version
    y = increment(x)
    assert y is x
    assert x._version > version
    assert torch.equal(x, torch.ones(128))


def test_what_autograd_kept_and_a_kernel_overwrote_is_noticed():
    x = torch.ones(128, requires_grad=True)
    y = x * 2
    z = y * y
    increment(y.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_emulating(x, w):
    done = product.emulate(x, w)
    assert torch.equal(done.outputs[0], x * w)
    assert done.report.status == "ok"
    assert torch.equal(scale.emulate(x, 2.0).outputs[0], x * 2)
    product.check_parallel(x, w)


def test_a_kernel_that_is_wrong_says_its_line():
    @kernel(in_specs=(Tile(32, u32),), out_specs=(Tile(32, u32),), block=32)
    def beyond(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), u32) * 4
        ptx.inst.st.global_.u32(ptx.addr(py + at, 4), ptx.inst.ld.global_.u32(ptx.addr(px + at)))

    with pytest.raises(pyptx.EmulationError, match=r"test_calls.py"):
        beyond(torch.zeros(32, dtype=torch.uint32))


def test_a_new_number_of_rows_traces_nothing(w):
    product(torch.randn(2, 200), w)
    made = len(product._made)
    for rows in range(3, 12):
        x = torch.randn(rows, 200)
        assert torch.equal(product(x, w), x * w)
    assert len(product._made) == made


def test_no_jax_is_needed():
    program = """
        import sys
        import pyptx
        from pyptx import Tile, kernel, ptx, reg
        from pyptx.types import f32, u32
        assert "torch" not in sys.modules

        @kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), block=128)
        def plus_one(X, Y):
            i = reg.from_(ptx.special.tid.x(), u32)
            Y[i] = X[i] + 1.0

        import torch
        assert torch.equal(plus_one(torch.zeros(128)), torch.ones(128))
        assert "jax" not in sys.modules
        compiled = torch.compile(plus_one, fullgraph=True)
        assert torch.equal(compiled(torch.zeros(128)), torch.ones(128))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, cwd="/tmp")


def test_a_variable_that_a_kernel_reads():
    factor = 2.0

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=32)
    def scaled(X, Y):
        Y[ptx.special.tid.x()] = X[ptx.special.tid.x()] * factor

    x = torch.ones(32)
    assert torch.equal(scaled(x), 2 * x)
    factor = 3.0
    assert torch.equal(scaled(x), 3 * x)


def test_memory_that_a_kernel_read_can_be_resized(x, w):
    """`Tensor.numpy()` would forbid it, and parameters that are split over processes need it."""
    product(x, w)
    w.untyped_storage().resize_(0)
    assert w.untyped_storage().nbytes() == 0


def test_a_module_that_has_operations_can_be_copied(x, w):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel, self.sequence = product, twice
            self.operation = ours.differentiable(
                product, lambda x, w: (product(x, w), (w,)), lambda saved, g: (g * saved[0], None)
            )

        def forward(self, x, w):
            return self.kernel(x, w) + self.sequence(x, w) + self.operation(x, w)

    model = Scaled()
    wanted = model(x, w)
    again = copy.deepcopy(model)
    assert torch.equal(again(x, w), wanted)
    compiled = torch.compile(again, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, w), wanted)
