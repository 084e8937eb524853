"""Programs for several devices in other processes: exported, cached, and over two processes."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is an optional dependency")

HERE = Path(__file__).parent
EIGHT = "--xla_force_host_platform_device_count=8"

START = """
    import sys, pathlib, jax, jax.numpy as jnp, numpy as np, pyptx
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, 8, 2, 20)).astype(np.float32)
    w = rng.standard_normal(20).astype(np.float32)
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    put = lambda array, *spec: jax.device_put(array, NamedSharding(mesh, P(*spec)))
    def close(found, wanted):
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)
"""


def program(text):
    return textwrap.dedent(START) + textwrap.dedent(text)


# ---- exported ------------------------------------------------------------------------------------


def test_exported_for_eight_devices(copied, tmp_path):
    """Value, gradient, a program of shard_map and one for any number of rows, for CPU and CUDA."""
    save = """
        import kernels, operations
        f = operations.make(kernels)
        rows, second = NamedSharding(mesh, P("data")), NamedSharding(mesh, P(("data", "model")))
        whole = NamedSharding(mesh, P())
        def save(name, f, *shardings, shapes=(x.shape, w.shape, g.shape)):
            specs = [jax.ShapeDtypeStruct(s, np.float32, sharding=sharding)
                     for s, sharding in zip(shapes, shardings)]
            with pyptx.target("sm_90a"):
                exported = jax.export.export(jax.jit(f), platforms=("cpu", "cuda"),
                                             disabled_checks=pyptx.export_safety_checks())(*specs)
            (folder / name).write_bytes(exported.serialize(vjp_order=0))
        save("value", f, rows, whole)
        save("gradient", lambda x, w, g: jax.vjp(f, x, w)[1](g), second, whole, second)
        save("local", jax.shard_map(f, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data")),
             rows, whole)
        (n,) = jax.export.symbolic_shape("n")
        save("any", f, rows, whole, shapes=((4 * n, 2, 20), w.shape))
    """
    copied(program(save), tmp_path, XLA_FLAGS=EIGHT)
    load = """
        def load(name):
            exported = jax.export.deserialize(bytearray((folder / name).read_bytes()))
            assert exported.nr_devices == 8
            return jax.jit(exported.call)
        def reference(x, w):
            return x * w / (1 + (x * x).sum(-1, keepdims=True))
        def sent(name, *arguments):
            program = load(name).lower(*arguments).compile()
            return program(*arguments), pyptx.collectives(program)
        y, kinds = sent("value", put(x, "data"), put(w))
        close(y, reference(x, w))
        assert (kinds, y.sharding.spec) == ({}, P("data"))
        rows = ("data", "model"),
        dx, kinds = sent("gradient", put(x, *rows), put(w), put(g, *rows))
        close(dx, jax.vjp(reference, x, w)[1](g))
        assert kinds == {"all-reduce": 1}
        y, kinds = sent("local", put(x, "data"), put(w))
        close(y, reference(x, w))
        assert kinds == {}
        for n in (1, 3):
            x = rng.standard_normal((4 * n, 2, 20)).astype(np.float32)
            close(load("any")(put(x, "data"), put(w)), reference(x, w))
        print("ok")
    """
    assert copied(program(load), tmp_path, XLA_FLAGS=EIGHT) == "ok\n"


@pytest.mark.sweep  # test_jax.py has the same of a program for one device
def test_what_is_exported_depends_on_its_content_alone(process, tmp_path):
    text = """
        import hashlib, kernels
        with pyptx.target("sm_90a"):
            traced = jax.jit(kernels.normalise).trace(put(x, "data"), put(w))
            text = traced.lower(lowering_platforms=("cpu", "cuda")).as_text()
        assert "pyptx_partition" in text and "kernels.py" not in text
        print(hashlib.sha256(text.encode()).hexdigest())
    """
    seen = {
        process(program(text), tmp_path, PYTHONHASHSEED=seed, XLA_FLAGS=EIGHT)
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_without_shardy(process, tmp_path):
    """XLA's older propagation of shardings, which JAX can still be switched to."""
    text = """
        import kernels, operations, pyptx.ops
        f = operations.make(kernels)
        reference = operations.reference
        gradient = lambda f: lambda x, w, g: (f(x, w), jax.vjp(f, x, w)[1](g))
        arguments = put(x, "data"), put(w), put(g, "data")
        program = jax.jit(gradient(f)).lower(*arguments).compile()
        y, (dx, dw) = program(*arguments)
        close((y, (dx, dw)), gradient(reference)(x, w, g))
        assert pyptx.collectives(program) == {"all-reduce": 1}
        assert (y.sharding.spec, dx.sharding.spec, dw.sharding.spec) == (P("data"), P("data"), P())
        both = jax.jit(lambda x: (x + 1, kernels.iota()))
        np.testing.assert_array_equal(both(put(x, "data"))[1], np.arange(256))
        a, b = (rng.integers(-3, 4, (64, 32)).astype(np.float32) for _ in range(2))
        rows = NamedSharding(mesh, P("data", "model"))
        product = jax.jit(lambda a, b: pyptx.ops.matmul(a.T, b), out_shardings=rows)
        product = product.lower(put(a, "data"), put(b, "data")).compile()
        np.testing.assert_array_equal(product(put(a, "data"), put(b, "data")), a.T @ b)
        assert pyptx.collectives(product) == {"reduce-scatter": 1}
        print("ok")
    """
    flags = {"XLA_FLAGS": EIGHT, "JAX_USE_SHARDY_PARTITIONER": "false"}
    assert process(program(text), tmp_path, **flags) == "ok\n"


def test_a_finding_on_one_device_while_the_others_wait_for_it(tmp_path):
    """XLA ends such a process before it raises the error, which has been said by then."""
    text = """
        from pyptx import Tile, kernel, ptx, reg
        from pyptx.types import f32, u32

        @kernel(in_specs=(Tile("B", 8, f32),), out_specs=(Tile(8, f32, sum_over="B"),), block=8,
                arch="auto", parallel=("B",))
        def total(X, S):
            px, ps = ptx.global_ptrs(X, S)
            at = reg.from_(ptx.special.tid.x(), u32) * 4
            x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
            with ptx.if_(x > 5.0):
                ptx.inst.st.global_.f32(ptx.addr(ps + at, 4096), x)
            ptx.inst.st.global_.f32(ptx.addr(ps + at), x)

        x = np.ones((8, 8), np.float32)
        x[2, 3] = 9
        jax.block_until_ready(jax.jit(total)(put(x, ("data", "model"))))
    """
    source = tmp_path / "program.py"
    source.write_text(program(text))
    patience = "--xla_cpu_collective_call_{}_timeout_seconds={}"
    done = subprocess.run(
        [sys.executable, str(source), str(tmp_path)],
        env={
            **os.environ,
            "XLA_FLAGS": " ".join(
                (EIGHT, patience.format("warn_stuck", 1), patience.format("terminate", 2))
            ),
            "JAX_PLATFORMS": "cpu",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    said = done.stderr.index("kernel total: 1 finding; the launch was stopped")
    assert "program.py:" in done.stderr[said:].splitlines()[1]
    assert said < done.stderr.index("Termination timeout")


# ---- the persistent cache ------------------------------------------------------------------------


@pytest.mark.sweep  # what the cache is asked for is in test_jax.py, of a program for one device
def test_the_persistent_cache_of_a_sharded_program(process, tmp_path):
    """Another process finds it with the same kernel, and not with another constant in it."""
    text = """
        import kernels
        from jax._src import monitoring
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        rows, whole = put(x, "data"), put(w)
        hits = []
        monitoring.register_event_listener(
            lambda event, **_: hits.append(event) if event.endswith("cache_hits") else None)
        one = float(sys.argv[2])
        f = jax.jit(lambda x, w: kernels.normalise(x, w, one=one))
        program = f.lower(rows, whole).compile()
        found = len(hits)
        y, r = program(rows, whole)
        close(r, 1 / (one + (x * x).sum(-1)))
        assert pyptx.collectives(program) == {}
        print(found)
    """
    runs = [process(program(text), tmp_path, one, XLA_FLAGS=EIGHT) for one in (1.0, 1.0, 2.0)]
    assert [int(found) for found in runs] == [0, 1, 0]


# ---- two processes -------------------------------------------------------------------------------

WORKER = """
    import sys, numpy as np, jax
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    rank, port = int(sys.argv[1]), sys.argv[2]
    jax.distributed.initialize(f"localhost:{port}", 2, rank, initialization_timeout=60)
    import pyptx, kernels, operations
    from jax.sharding import NamedSharding, PartitionSpec as P

    assert (jax.process_count(), len(jax.devices()), len(jax.local_devices())) == (2, 4, 2)
    f = operations.make(kernels)
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, 8, 20)).astype(np.float32)
    w = rng.standard_normal(20).astype(np.float32)
    mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))

    def put(array, *spec):
        sharding = NamedSharding(mesh, P(*spec))
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])

    def gradient(f):
        return lambda x, w, g: (f(x, w), jax.vjp(f, x, w)[1](g))

    arguments = put(x, "data"), put(w), put(g, "data")
    program = jax.jit(gradient(f)).lower(*arguments).compile()
    assert pyptx.collectives(program) == {"all-reduce": 1}
    y, (dx, dw) = program(*arguments)
    wanted, (wanted_dx, wanted_dw) = gradient(operations.reference)(x, w, g)
    for found, whole in ((y, wanted), (dx, wanted_dx), (dw, wanted_dw)):
        for shard in found.addressable_shards:
            np.testing.assert_allclose(
                shard.data, np.asarray(whole)[shard.index], rtol=3e-4, atol=3e-5)
    assert y.sharding.spec == P("data") and dw.is_fully_replicated
    print("ok")
    jax.distributed.shutdown()
"""


def run_together(commands, environment, folder, seconds):
    """Runs processes until all have ended, or one has failed; returns (status, output) of each."""
    logs = [folder / f"log{i}" for i in range(len(commands))]
    workers = []
    for command, log in zip(commands, logs, strict=True):
        with log.open("w") as out:
            workers.append(
                subprocess.Popen(
                    command, env=environment, stdout=out, stderr=out, start_new_session=True
                )
            )
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status = {worker.poll() for worker in workers}
        if None not in status or status - {None, 0}:
            break
        time.sleep(0.1)
    for worker in workers:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    return [(w.returncode, log.read_text()) for w, log in zip(workers, logs, strict=True)]


def test_two_processes(tmp_path):
    """Two processes with two devices each, joined by jax.distributed: one mesh over all four."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "JAX_PLATFORMS": "cpu",
        "PYPTX_EMULATOR_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    commands = [
        [sys.executable, "-c", textwrap.dedent(WORKER), str(rank), str(port)] for rank in range(2)
    ]
    ended = run_together(commands, environment, tmp_path, seconds=120)
    assert all(status == 0 and "ok" in said.split() for status, said in ended), ended
