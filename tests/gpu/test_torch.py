"""Kernels on tensors of PyTorch on an NVIDIA GPU: streams, threads, devices, graphs, errors."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional dependency")

import pyptx  # noqa: E402
from pyptx import Tile, kernel, ptx, reg  # noqa: E402
from pyptx._native import launcher  # noqa: E402
from pyptx.types import e4m3, f32, u32  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1] / "pytorch"))
from torch_kernels import copied, increment, product, scale, total, twice  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def gpu():
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")


@pytest.fixture
def x():
    return torch.randn(5, 200, device="cuda", generator=torch.Generator("cuda").manual_seed(0))


@pytest.fixture
def w(x):
    return torch.randn(200, device="cuda", generator=torch.Generator("cuda").manual_seed(1))


def test_a_kernel_and_a_sequence(x, w):
    assert torch.equal(product(x, w), x * w)
    assert torch.equal(twice(x, w), x * w * w)
    assert product(x, w).device == x.device


def test_scalars(x):
    assert torch.equal(scale(x, 1.5), x * 1.5)
    assert torch.equal(scale(x, torch.tensor(1.5, device="cuda")), x * 1.5)
    assert torch.equal(scale(x, torch.tensor(1.5)), x * 1.5)


def test_no_rows(x, w):
    assert product(x[:0], w).shape == (0, 200)
    assert torch.equal(total(torch.zeros(0, 32, device="cuda")), torch.zeros(32, device="cuda"))


def test_views_and_offsets(x, w):
    many = torch.randn(9, 200, device="cuda")
    assert torch.equal(product(many[3:8], w), many[3:8] * w)
    flat = torch.randn(5 * 200 + 1, device="cuda")
    shifted = flat[1:].view(5, 200)  # 4 bytes after the start of the memory
    assert torch.equal(product(shifted, w), shifted * w)
    rows = torch.randn(5 * 128 + 1, device="cuda").bfloat16()[1:].view(5, 128)
    assert rows.data_ptr() % 16 == 2
    assert torch.equal(copied(rows), rows)


def test_strides_are_said(x, w):
    with pytest.raises(pyptx.CallError) as raised:
        product(x.T.contiguous().T, w)
    first, _, _ = str(raised.value).partition("\n")
    assert first.endswith(
        "X has strides (1, 5), and kernel product reads a tensor of shape (5, 200) with "
        "strides (200, 1)"
    )


def test_devices_are_not_mixed(x, w):
    with pytest.raises(pyptx.CallError, match="X is on cuda:0 and W on cpu"):
        product(x, w.cpu())
    with pytest.raises(pyptx.CallError, match="X is on cuda:0; emulating takes tensors on the CPU"):
        product.emulate(x, w)


def test_in_place():
    x = torch.zeros(128, device="cuda")
    version = x._version
    y = increment(x)
    assert y is x
    assert x._version > version
    assert torch.equal(x, torch.ones(128, device="cuda"))


def test_every_number_of_rows_is_the_same_code(w):
    product(torch.randn(2, 200, device="cuda"), w)
    modules, launched = launcher.counters()
    for rows in range(3, 40):
        x = torch.randn(rows, 200, device="cuda")
        assert torch.equal(product(x, w), x * w)
    assert launcher.counters() == (modules, launched + 37)


def test_streams(x, w):
    product(x, w)
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    found = []
    for stream in (one, two):
        with torch.cuda.stream(stream):
            y = x
            for _ in range(50):
                y = product(y, w * 0 + 1)
            found.append(product(y, w))
    torch.cuda.synchronize()
    assert all(torch.equal(y, x * w) for y in found)


def test_a_call_waits_for_its_stream_only(x, w):
    product(x, w)  # assembled before the stream is asked for
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1_000_000_000)  # half a second: other processes may run in between
        late = product(x, w)
    assert not stream.query()
    assert torch.equal(product(x, w), x * w)
    stream.synchronize()
    assert torch.equal(late, x * w)


def test_threads(w):
    wrong = []

    def work(seed):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for step in range(100):
                x = torch.full((1 + step % 7, 200), float(seed + step), device="cuda")
                if not torch.equal(product(x, w), x * w):
                    wrong.append((seed, step))

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_several_devices(x, w):
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    there = x.to("cuda:1")
    y = product(there, w.to("cuda:1"))
    assert y.device == there.device
    assert torch.cuda.current_device() == 0
    assert torch.equal(y.cpu(), product(x, w).cpu())
    with pytest.raises(pyptx.CallError, match="X is on cuda:0 and W on cuda:1"):
        product(x, w.to("cuda:1"))


def test_a_captured_graph(x, w):
    product(x, w)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = twice(x, w)
    x.mul_(3)
    graph.replay()
    assert torch.equal(y, x * w * w)


def test_fp8():
    @kernel(in_specs=(Tile(128, e4m3),), out_specs=(Tile(128, e4m3),), block=128, arch="auto")
    def same(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        i = reg.from_(ptx.special.tid.x(), u32)
        ptx.inst.st.global_.u8(ptx.addr(py + i), ptx.inst.ld.global_.u8(ptx.addr(px + i)))

    x = torch.randn(128, device="cuda").to(torch.float8_e4m3fn)
    assert torch.equal(same(x).view(torch.uint8), x.view(torch.uint8))


def test_running_out_of_memory_leaves_everything_usable(x, w):
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    large = torch.empty(int(free * 0.6) // 800, 200, device="cuda")
    with pytest.raises(torch.OutOfMemoryError):
        product(large, w)
    del large
    assert torch.equal(product(x, w), x * w)


def test_a_launch_that_fails_leaves_everything_usable(x, w):
    @kernel(
        in_specs=(Tile("B", 128, f32),),
        out_specs=(Tile("B", 128, f32),),
        grid=lambda B: (B, 1, 1),
        block=128,
        arch="auto",
        parallel=("B",),
        cooperative=True,
    )
    def together(X, Y):
        i = reg.from_(ptx.special.tid.x(), u32)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        Y[row, i] = X[row, i]

    few = torch.randn(4, 128, device="cuda")
    assert torch.equal(together(few), few)
    with pytest.raises(pyptx.PtxError, match="the cooperative grid"):
        together(torch.randn(1_000_000, 128, device="cuda"))
    assert torch.equal(product(x, w), x * w)


def test_no_jax_is_needed():
    program = """
        import sys
        import torch
        from pyptx import Tile, kernel, ptx, reg
        from pyptx.types import f32, u32

        @kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), block=128, arch="auto")
        def plus_one(X, Y):
            i = reg.from_(ptx.special.tid.x(), u32)
            Y[i] = X[i] + 1.0

        assert torch.equal(plus_one(torch.zeros(128, device="cuda")).cpu(), torch.ones(128))
        assert "jax" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, cwd="/tmp")
