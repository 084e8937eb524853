"""Kernels launched by XLA on an NVIDIA GPU: results, graphs, export, devices, threads, errors."""

import ctypes
import dataclasses
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

import pyptx  # noqa: E402
from pyptx import Scalar, Tile, kernel, ptx, reg, smem  # noqa: E402
from pyptx._native import loader  # noqa: E402
from pyptx._runtime import targets  # noqa: E402
from pyptx._runtime.jax import runtime as runtime_jax  # noqa: E402
from pyptx.types import f32, u32  # noqa: E402

pytestmark = pytest.mark.gpu

X = np.random.default_rng(0).standard_normal((5, 200)).astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def gpu():
    try:
        return jax.devices("cuda")[0]
    except RuntimeError as error:
        pytest.skip(f"no GPU: {error}")


@kernel(
    in_specs=(Tile("B", "N", f32), Scalar(f32)),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B, N: (B, ptx.cdiv(N, 128)),
    block=128,
    arch="auto",
)
def scale(X, factor, Y):
    px, py = ptx.global_ptrs(X, Y)
    columns = X.shape[1]
    chunk = reg.from_(ptx.special.ctaid.y(), u32)
    column = ptx.inst.mad.lo.u32(chunk, 128, reg.from_(ptx.special.tid.x(), u32))
    offset = reg.from_(ptx.special.ctaid.x(), u32) * (columns * 4) + column * 4
    with ptx.if_(column < columns):
        x = ptx.inst.ld.global_.f32(ptx.addr(px + offset))
        ptx.inst.st.global_.f32(ptx.addr(py + offset), x * factor)


@kernel(
    in_specs=(Tile("B", 128, f32),),
    out_specs=(Tile("B", 128, f32),),
    grid=lambda B: (1, B, 1),
    block=128,
    arch="auto",
    parallel=("B",),
)
def increment(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.ctaid.y(), u32) * 512 + reg.from_(ptx.special.tid.x(), u32) * 4
    x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
    ptx.inst.st.global_.f32(ptx.addr(py + at), x + 1.0)


@kernel(in_specs=(), out_specs=(Tile(256, u32),), grid=2, block=128)
def iota(Y):
    (py,) = ptx.global_ptrs(Y)
    first = reg.from_(ptx.special.ctaid.x(), u32)
    i = ptx.inst.mad.lo.u32(first, 128, reg.from_(ptx.special.tid.x(), u32))
    ptx.inst.st.global_.u32(ptx.addr(py + i * 4), i)


@kernel(
    in_specs=(Tile(128, f32),),
    out_specs=(Tile(128, f32),),
    block=128,
    input_output_aliases={0: 0},
)
def in_place(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.tid.x(), u32) * 4
    x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
    ptx.inst.st.global_.f32(ptx.addr(py + at), x + 1.0)


def reverse_kernel(size):
    """Reverses `size` floats through shared memory, dynamic where they are more than 48 KiB."""

    @kernel(in_specs=(Tile(size, f32),), out_specs=(Tile(size, f32),), block=128, arch="auto")
    def reverse(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        tile = smem.alloc(f32, (size, 1))
        tid = reg.from_(ptx.special.tid.x(), u32)
        for start in range(0, size, 128):
            i = tid + start
            tile[i, 0] = ptx.inst.ld.global_.f32(ptx.addr(px + i * 4))
        ptx.bar.sync(0)
        for start in range(0, size, 128):
            i = tid + start
            j = (size - 1) - i
            ptx.inst.st.global_.f32(ptx.addr(py + i * 4), tile[j, 0])

    return reverse


def counters():
    """Call sites instantiated, modules loaded, kernels launched, since the process began."""
    out = (ctypes.c_int64 * 3)()
    loader.ffi_library().pyptx_cuda_counters(out)
    return dict(zip(("instantiated", "loaded", "launched"), out, strict=True))


def test_the_device_names_the_target(gpu):
    assert str(targets.for_capability(gpu.compute_capability)).startswith(
        f"sm_{gpu.compute_capability.replace('.', '')}"
    )


def test_eager_and_jit():
    y = scale(jnp.asarray(X), 2.5)
    assert next(iter(y.devices())).platform == "gpu"
    np.testing.assert_array_equal(y, X * np.float32(2.5))
    f = jax.jit(lambda x, s: scale(scale(x, s), 0.5) + 1)
    for factor in (3.0, np.float32(-2), jnp.float32(0.1)):
        np.testing.assert_array_equal(f(X, factor), X * np.float32(factor) * np.float32(0.5) + 1)


def test_no_inputs_no_rows_and_many_rows():
    np.testing.assert_array_equal(iota(), np.arange(256))
    np.testing.assert_array_equal(jax.jit(lambda: iota() * 2)(), np.arange(256) * 2)
    assert scale(jnp.zeros((0, 200), jnp.float32), 1.0).shape == (0, 200)
    x = jnp.arange(65535 * 128, dtype=jnp.float32).reshape(65535, 128)
    np.testing.assert_array_equal(increment(x), np.asarray(x) + 1)


@pytest.mark.parametrize("size", [1024, 48 * 256, 56 * 1024])
def test_static_and_dynamic_shared_memory(size):
    x = jnp.arange(size, dtype=jnp.float32)
    np.testing.assert_array_equal(jax.jit(reverse_kernel(size))(x), np.arange(size)[::-1])


def test_aliases():
    x = jnp.arange(128, dtype=jnp.float32)
    np.testing.assert_array_equal(jax.jit(in_place)(x), np.arange(128) + 1)
    np.testing.assert_array_equal(x, np.arange(128))
    donated = jax.jit(in_place, donate_argnums=0)
    where = x.unsafe_buffer_pointer()
    y = donated(x)
    assert y.unsafe_buffer_pointer() == where
    np.testing.assert_array_equal(y, np.arange(128) + 1)


def test_control_flow():
    body = lambda carry, _: (scale(carry, 2.0), ())
    scanned = jax.jit(lambda x: jax.lax.scan(body, x, length=3)[0])
    np.testing.assert_array_equal(scanned(X), X * 8)
    chosen = jax.jit(lambda p, x: jax.lax.cond(p, lambda: scale(x, 2.0), lambda: x))
    np.testing.assert_array_equal(chosen(True, X), X * 2)
    np.testing.assert_array_equal(chosen(False, X), X)


def test_the_module_is_loaded_once_for_all_programs():
    x = jnp.ones((3, 128), jnp.float32)
    jax.block_until_ready(increment(x))
    before = counters()
    for extra in range(3):
        f = jax.jit(lambda x, extra=extra: increment(x) + extra)
        for _ in range(4):
            np.testing.assert_array_equal(f(x), np.full((3, 128), 2 + extra))
    after = counters()
    assert after["instantiated"] >= before["instantiated"] + 3
    assert after["loaded"] == before["loaded"]


GRAPH = """
    import sys, jax, jax.numpy as jnp, numpy as np
    sys.path.insert(0, sys.argv[1])
    import test_launch as t
    chain = int(sys.argv[2])

    @jax.jit
    def f(x):
        for _ in range(chain):
            x = t.increment(x)
        return x

    x = jnp.zeros((4, 128), jnp.float32)
    for _ in range(12):                      # recorded once for each output buffer that comes along
        y = jax.block_until_ready(f(x))
    before = t.counters()["launched"]
    for _ in range(10):
        y = jax.block_until_ready(f(x))
    np.testing.assert_array_equal(y, np.full((4, 128), chain))
    replayed = t.counters()["launched"] - before
    for i in range(6):                       # other buffers, in a program that is already recorded
        z = jnp.full((4, 128), float(i))
        np.testing.assert_array_equal(f(z), np.full((4, 128), chain + i))
    keep = [f(f(jnp.full((4, 128), float(i)))) for i in range(6)]
    for i, y in enumerate(keep):
        np.testing.assert_array_equal(y, np.full((4, 128), 2 * chain + i))
    print(replayed)
"""


def run(program, *arguments, **environment):
    """What a program prints in a fresh process."""
    kept = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "PYPTX_TARGET")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        env={**kept, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("flags", "chain", "replays"),
    [
        ("", 32, True),
        ("--xla_gpu_graph_min_graph_size=1", 32, True),
        ("--xla_gpu_graph_min_graph_size=1", 1, True),
        ("--xla_gpu_enable_command_buffer=", 32, False),
    ],
)
def test_cuda_graphs(flags, chain, replays):
    """A recorded program is replayed without a call of the handler; without graphs it is not."""
    launched = int(run(GRAPH, Path(__file__).parent, chain, XLA_FLAGS=flags))
    assert launched == (0 if replays else 10 * chain)


def test_a_program_exported_without_a_gpu_runs(tmp_path):
    program = """
        import sys, pathlib, jax, numpy as np, pyptx
        sys.path.insert(0, sys.argv[1])
        import test_launch as t
        assert jax.default_backend() == "cpu"
        def save(name, f, *args):
            e = jax.export.export(jax.jit(f), platforms=("cpu", "cuda"),
                                  disabled_checks=pyptx.export_safety_checks())(*args)
            (pathlib.Path(sys.argv[2]) / name).write_bytes(e.serialize())
        spec = lambda *shape: jax.ShapeDtypeStruct(shape, np.float32)
        save("scale", t.scale, spec(5, 200), spec())
        (b,) = jax.export.symbolic_shape("b")
        save("increment", t.increment, spec(b, 128))
    """
    capability = jax.devices("cuda")[0].compute_capability
    named = str(targets.for_capability(capability))
    run(
        program, Path(__file__).parent, tmp_path, JAX_PLATFORMS="cpu", PYPTX_TARGET=f"sm_80 {named}"
    )
    load = """
        import sys, pathlib, pyptx, jax, jax.export, numpy as np
        load = lambda name: jax.export.deserialize(
            bytearray((pathlib.Path(sys.argv[1]) / name).read_bytes()))
        x = np.arange(1000, dtype=np.float32).reshape(5, 200)
        np.testing.assert_array_equal(load("scale").call(x, np.float32(3)), x * 3)
        for rows in (1, 300):
            x = np.ones((rows, 128), np.float32)
            np.testing.assert_array_equal(load("increment").call(x), x + 1)
        print(jax.default_backend())
    """
    assert run(load, tmp_path) == "gpu"
    assert run(load, tmp_path, JAX_PLATFORMS="cpu") == "cpu"


def test_the_persistent_cache(tmp_path):
    program = """
        import sys, jax, numpy as np
        from jax._src import monitoring
        jax.config.update("jax_compilation_cache_dir", sys.argv[2])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        hits = []
        monitoring.register_event_listener(
            lambda event, **_: hits.append(event) if event.endswith("cache_hits") else None)
        sys.path.insert(0, sys.argv[1])
        import test_launch as t
        x = np.ones((3, 128), np.float32)
        t.np.testing.assert_array_equal(jax.jit(t.increment)(x), x + 1)
        print(len(hits))
    """
    counts = [int(run(program, Path(__file__).parent, tmp_path)) for _ in range(2)]
    assert [count > 0 for count in counts] == [False, True], counts


def test_every_device():
    """All devices that there are: one program on each in turn, and sharded over a mesh of them."""
    devices = jax.devices("cuda")
    f = jax.jit(scale)
    for device in devices:
        y = f(jax.device_put(X, device), 3.0)
        assert y.devices() == {device}
        np.testing.assert_array_equal(y, X * 3)
    mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
    x = np.ones((4 * len(devices), 200), np.float32)
    spec = jax.sharding.PartitionSpec("data")
    local = jax.jit(
        jax.shard_map(lambda a: scale(a, 2.0), mesh=mesh, in_specs=spec, out_specs=spec)
    )
    y = local(jax.device_put(x, jax.sharding.NamedSharding(mesh, spec)))
    np.testing.assert_array_equal(y, x * 2)


def test_threads():
    f = jax.jit(lambda x: scale(x, 2.0))
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((seed + 1, 200)).astype(np.float32)
        wrong.extend(seed for _ in range(30) if not np.array_equal(f(x), x * 2))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def failure(f, *args):
    # JAX raises the second from its C++ dispatch, once a jitted function has run before.
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError)) as caught:
        jax.block_until_ready(f(*args))
    return str(caught.value)


def test_a_grid_out_of_range():
    with pytest.raises(pyptx.SpecError, match="grid dimension y is 65536; the range is 0 to 65535"):
        jax.jit(increment)(jnp.zeros((65536, 128), jnp.float32))
    np.testing.assert_array_equal(increment(jnp.zeros((1, 128), jnp.float32)), np.ones((1, 128)))


def test_code_for_another_device(gpu):
    with pyptx.target("sm_120a"):
        problem = failure(jax.jit(lambda x: scale(x, 9.0)), X)
    assert (
        f"pyptx: kernel scale: the device has compute capability {gpu.compute_capability} and the "
        "program holds code for sm_120a only" in problem
    )


def test_an_error_of_the_driver_is_explained():
    """More shared memory than any device has, which a traced kernel cannot ask for."""
    x = jnp.ones((3, 128), jnp.float32)
    call = increment._prepare((x,), {}, by_reference=True, location=None)
    steps = (dataclasses.replace(call.plan.steps[0], shared="300000"),)
    plan = dataclasses.replace(call.plan, steps=steps)
    greedy = dataclasses.replace(call, plan=plan, arch="sm_90a")  # "auto" makes it anew
    problem = failure(jax.jit(lambda x: runtime_jax.launch(greedy, (x,))), x)
    assert (
        "pyptx: kernel increment: cuLaunchKernelEx failed with CUDA_ERROR_INVALID_VALUE" in problem
    )
    assert (
        "the device does not take this grid, block, cluster or amount of shared memory" in problem
    )
    np.testing.assert_array_equal(increment(x), np.full((3, 128), 2))
