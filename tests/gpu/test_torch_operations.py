"""`pyptx.torch` on an NVIDIA GPU: results, gradients, programs, CUDA graphs, autocast, two GPUs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional dependency")

import torch.multiprocessing as processes  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import pyptx.torch as ours  # noqa: E402
from pyptx._native import launcher  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1] / "pytorch"))
from torch_kernels import product, total, twice  # noqa: E402
from torch_operations import DTYPES, OPERATIONS, operands  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

SHAPES = ((5, 40), (33, 1000), (7, 4096), (300, 8192), (2, 3, 777))


@pytest.fixture(scope="module", autouse=True)
def gpu():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(0)


def close(found, wanted, dtype):
    tolerance = {
        torch.float64: (1e-9, 1e-9),
        torch.float32: (1e-4, 1e-4),
        torch.float16: (4e-3, 4e-3),
        torch.bfloat16: (2e-2, 2e-2),
    }[dtype]
    torch.testing.assert_close(
        found.double(),
        wanted.double(),
        rtol=tolerance[0],
        atol=tolerance[1] * (1 + wanted.abs().max().item()),
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_results_and_gradients(name, dtype, shape):
    operation, reference, counts = OPERATIONS[name]
    given = operands(counts, shape=shape, dtype=dtype, device="cuda")
    wide = [tensor.detach().double().requires_grad_() for tensor in given]
    g = torch.randn(shape, dtype=dtype, device="cuda")
    y, wanted = operation(*given), reference(*wide)
    assert y.dtype is dtype
    close(y, wanted, dtype)
    found = torch.autograd.grad(y, given, g)
    for one, other in zip(found, torch.autograd.grad(wanted, wide, g.double()), strict=True):
        assert one.dtype is dtype
        close(one, other, dtype)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "softmax", "swiglu"])
def test_compiled(name, mode):
    operation, reference, counts = OPERATIONS[name]

    def loss(f, *tensors):
        return f(torch.sin(tensors[0]), *tensors[1:]).cos().sum()

    compiled = torch.compile(lambda *tensors: loss(operation, *tensors), fullgraph=True, mode=mode)
    for _ in range(4):  # graphs are recorded at the second run
        given = operands(counts, shape=(64, 1024), dtype=torch.float32, device="cuda")
        torch.compiler.cudagraph_mark_step_begin()
        found = torch.autograd.grad(compiled(*given), given)
        wanted = torch.autograd.grad(loss(reference, *given), given)
        for one, other in zip(found, wanted, strict=True):
            close(one.clone(), other, torch.float32)


def test_a_new_number_of_rows_compiles_nothing():
    w = torch.randn(200, device="cuda")
    compiled = torch.compile(lambda x: twice(torch.sin(x), w), fullgraph=True, dynamic=True)
    compiled(torch.randn(2, 200, device="cuda"))
    modules, _ = launcher.counters()
    for rows in (3, 7, 100, 1000):
        x = torch.randn(rows, 200, device="cuda")
        torch.testing.assert_close(compiled(x), torch.sin(x) * w * w)
    assert launcher.counters()[0] == modules
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_autocast_makes_norms_float32():
    x, w = torch.randn(3, 40, device="cuda").bfloat16(), torch.randn(40, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        for found, wanted in (
            (ours.layer_norm(x, (40,), w, w), F.layer_norm(x, (40,), w, w)),
            (ours.softmax(x, -1), F.softmax(x, -1)),
            (ours.swiglu(x, x), F.silu(x) * x),
        ):
            assert found.dtype is wanted.dtype
            torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)


def test_vmap_on_the_device():
    x, w = torch.randn(3, 5, 200, device="cuda"), torch.randn(3, 200, device="cuda")
    torch.testing.assert_close(torch.func.vmap(product)(x, w), x * w[:, None])
    rows = torch.randn(4, 7, 32, device="cuda")
    torch.testing.assert_close(torch.func.vmap(total)(rows), rows.sum(1))


def test_opcheck():
    from torch.fx.experimental.proxy_tensor import make_fx

    x, w = torch.randn(5, 200, device="cuda"), torch.randn(200, device="cuda")
    graph = make_fx(lambda x, w: product(x, w))(x, w)
    (text,) = {n.args[1] for n in graph.graph.nodes if "pyptx" in str(n.target)}
    torch.library.opcheck(torch.ops.pyptx.launch.default, ([x, w], text))


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = ours.RMSNorm(512, eps=1e-5)

    def forward(self, x):
        return self.norm(x) * 2


LOADING = """
import sys
import torch
import pyptx.torch

exported = torch.export.load(sys.argv[1])
given, wanted = torch.load(sys.argv[2])
torch.testing.assert_close(exported.module()(*given), wanted)
print("same")
"""


def test_exported_and_loaded_by_another_process(tmp_path):
    module = Norm().cuda().requires_grad_(False)
    x = torch.randn(5, 512, device="cuda")
    exported = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("B")},))
    more = torch.randn(1000, 512, device="cuda")
    torch.export.save(exported, tmp_path / "program.pt2")
    torch.save(((more,), module(more)), tmp_path / "tensors.pt")
    files = [str(tmp_path / "program.pt2"), str(tmp_path / "tensors.pt")]
    command = [sys.executable, "-W", "ignore", "-c", LOADING, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "same\n", done.stderr


def _sharded(rank, port, failures):
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=2)
    try:
        torch.manual_seed(0)
        mesh = torch.distributed.device_mesh.init_device_mesh("cuda", (2,))
        x, w, g = torch.randn(64, 512), torch.randn(512), torch.randn(64, 512)
        x, w, g = x.cuda(), w.cuda(), g.cuda()
        rows = distribute_tensor(x, mesh, [Shard(0)]).requires_grad_()
        weight = distribute_tensor(w, mesh, [Replicate()]).requires_grad_()
        gradient = distribute_tensor(g, mesh, [Shard(0)])
        with CommDebugMode() as seen:
            y = ours.rms_norm(rows, (512,), weight, 1e-5)
        assert seen.get_total_counts() == 0
        y.backward(gradient)
        x.requires_grad_()
        w.requires_grad_()
        F.rms_norm(x, (512,), w, 1e-5).backward(g)
        close(rows.grad.full_tensor(), x.grad, torch.float32)
        close(weight.grad.full_tensor(), w.grad, torch.float32)
        torch.distributed.barrier()
    except Exception:  # noqa: BLE001
        failures.put(traceback.format_exc())
    finally:
        torch.distributed.destroy_process_group()


def test_two_gpus():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = processes.get_context("spawn")
    failures = context.SimpleQueue()
    started = [context.Process(target=_sharded, args=(r, port, failures)) for r in range(2)]
    for each in started:
        each.start()
    for each in started:
        each.join(timeout=300)
    if not failures.empty():
        pytest.fail(failures.get())
    assert [each.exitcode for each in started] == [0, 0]
