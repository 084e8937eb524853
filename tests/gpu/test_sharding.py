"""Mapped and sharded kernels on NVIDIA GPUs: one mesh over all that there are, also over one."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

from jax.sharding import AxisType, Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx._runtime import targets  # noqa: E402

pytestmark = pytest.mark.gpu

# The kernels and the operation made of them are those of the tests without a GPU.
SHARED = Path(__file__).parent.parent / "runtime"
RNG = np.random.default_rng(0)
W = RNG.standard_normal(200).astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def gpus():
    try:
        return jax.devices("cuda")
    except RuntimeError as error:
        pytest.skip(f"no GPU: {error}")


@pytest.fixture(scope="module")
def x(gpus):
    return RNG.standard_normal((6 * len(gpus), 3, 200)).astype(np.float32)


def module(name):
    spec = importlib.util.spec_from_file_location(f"shared_{name}", SHARED / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def kernels():
    return module("kernels")


@pytest.fixture(scope="module")
def operations(kernels):
    loaded = module("operations")
    loaded.normalise = loaded.make(kernels)
    return loaded


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def compiled(f, *arguments):
    """The results and the compiled program."""
    program = jax.jit(f).lower(*arguments).compile()
    return program(*arguments), program


def launches(program):
    return program.as_text().count('custom_call_target="pyptx_cuda"')


def gradient(f):
    return lambda x, w, g: jax.vjp(f, x, w)[1](g)


# ---- vmap ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)], ids=str)
def test_vmap_is_one_launch(operations, x, in_axes):
    """Folded into the rows where x alone is mapped, otherwise on an axis of the grid."""
    a = x if in_axes[0] == 0 else x[0]
    w = np.stack([W, 2 * W, -W] * (len(x) // 3)) if in_axes[1] == 0 else W
    found, program = compiled(jax.vmap(operations.normalise, in_axes), a, w)
    close(found, jax.vmap(operations.reference, in_axes)(a, w))
    assert launches(program) == 1


def test_vmap_in_vmap(operations, x):
    w = np.stack([W, 2 * W, -W])
    nested = lambda f: jax.vmap(jax.vmap(f, (0, 0)), (0, None))
    found, program = compiled(nested(operations.normalise), x, w)
    close(found, nested(operations.reference)(x, w))
    assert launches(program) == 1


@pytest.mark.parametrize("in_axes", [(0, None, 0), (0, 0, 0), (None, 0, None)], ids=str)
def test_vmap_of_a_gradient(operations, x, in_axes):
    weights = np.stack([W, 2 * W, -W] * (len(x) // 3))
    x, w, g = (
        a if axis == 0 else a[0] for a, axis in zip((x, weights, x + 1), in_axes, strict=True)
    )
    mapped = lambda f: jax.vmap(gradient(f), in_axes)
    found, program = compiled(mapped(operations.normalise), x, w, g)
    close(found, mapped(operations.reference)(x, w, g))
    assert launches(program) == 3


def test_sums_over_nothing(kernels):
    """Zeros are written, also for each element of a batch, and from a recorded graph too."""
    f = jax.jit(jax.vmap(kernels.weight_gradient))
    empty = np.ones((3, 0, 200), np.float32)
    for _ in range(4):
        np.testing.assert_array_equal(f(empty, empty, empty[..., 0]), np.zeros((3, 200)))


def test_one_after_the_other(kernels):
    x, w = (RNG.standard_normal((n, 64)).astype(np.float32) for n in (4, 3))
    close(jax.jit(jax.vmap(kernels.add_row, (None, 0)))(x, w), x + w[:, None])


# ---- meshes --------------------------------------------------------------------------------------


@pytest.fixture(params=["auto", "explicit", "shard_map", "shard_map over one axis"])
def sharded(request, gpus):
    """How f(x, w) is sharded over all GPUs, and a function that places arrays."""
    kind = AxisType.Explicit if request.param == "explicit" else AxisType.Auto
    mesh = Mesh(np.reshape(gpus, (len(gpus), 1)), ("data", "model"), (kind, kind))

    def put(array, *spec):
        return jax.device_put(array, NamedSharding(mesh, P(*spec)))

    def shard(f):
        if not request.param.startswith("shard_map"):
            return f
        some = {"axis_names": {"data"}} if request.param.endswith("axis") else {}
        return jax.shard_map(f, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"), **some)

    return put, shard


def test_nothing_is_sent_forward(operations, x, sharded):
    put, shard = sharded
    for f in (operations.normalise, jax.vmap(operations.normalise, (0, None))):
        y, program = compiled(shard(f), put(x, "data"), put(W))
        close(y, operations.reference(x, W))
        assert pyptx.collectives(program) == {}
        assert y.sharding.shard_shape(y.shape) == (6, 3, 200)


def test_a_weight_gradient_is_added_up_once(operations, x, gpus, sharded):
    put, shard = sharded
    arguments = put(x, "data"), put(W), put(x + 1, "data")
    found, program = compiled(gradient(shard(operations.normalise)), *arguments)
    close(found, gradient(operations.reference)(x, W, x + 1))
    if len(gpus) > 1:
        assert pyptx.collectives(program) == {"all-reduce": 1}


def test_a_sequence(kernels, operations, x, gpus):
    mesh = Mesh(np.array(gpus), ("data",))
    put = lambda a, *spec: jax.device_put(a, NamedSharding(mesh, P(*spec)))
    (z, total), program = compiled(kernels.twice, put(x, "data"), put(W))
    y = operations.reference(x, W)
    wanted = operations.reference(y, W)
    close(z, wanted)
    close(total, (y * wanted / (1 + (y * y).sum(-1, keepdims=True))).sum((0, 1)))
    assert pyptx.collectives(program) == ({"all-reduce": 1} if len(gpus) > 1 else {})
    assert launches(program) == 1


def test_many_calls_with_other_buffers(operations, x, gpus):
    """Chains long enough for CUDA graphs, with buffers that change from call to call."""
    mesh = Mesh(np.array(gpus), ("data",))
    put = lambda a, *spec: jax.device_put(a, NamedSharding(mesh, P(*spec)))

    @jax.jit
    def chain(x, w, g):
        for _ in range(4):
            x, dw = gradient(operations.normalise)(x, w, g)
            w = w + dw
        return x, w

    def wanted(x, w, g):
        for _ in range(4):
            x, dw = gradient(operations.reference)(x, w, g)
            w = w + dw
        return x, w

    for i in range(1, 7):
        arguments = x / i, W, x * 0.01
        close(
            chain(
                *(put(a, *s) for a, s in zip(arguments, (("data",), (), ("data",)), strict=True))
            ),
            wanted(*arguments),
        )


# ---- other processes -----------------------------------------------------------------------------

START = """
    import sys, pathlib
    sys.path.insert(0, sys.argv[1])
    folder, count = pathlib.Path(sys.argv[2]), int(sys.argv[3])
    import jax, jax.export, numpy as np, pyptx
    from jax.sharding import NamedSharding, PartitionSpec as P
    mesh = jax.make_mesh((count,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, 6 * count, 200)).astype(np.float32)
    w = rng.standard_normal(200).astype(np.float32)
    rows, whole = (NamedSharding(mesh, P(*spec)) for spec in (("data",), ()))
    place = lambda *arrays: [
        jax.device_put(a, rows if a.ndim == 2 else whole) for a in arrays]
    def close(found, wanted):
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    def gradient(f):
        return lambda x, w, g: jax.vjp(f, x, w)[1](g)
"""


def run(program, *arguments, **environment):
    """What a program prints in a fresh process."""
    kept = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "PYPTX_TARGET")}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(START) + textwrap.dedent(program),
            *map(str, (SHARED, *arguments)),
        ],
        env={**kept, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def test_exported_without_a_gpu(gpus, tmp_path):
    """The gradient, exported on CPU devices for as many GPUs as there are, runs on them."""
    export = """
        import kernels, operations
        specs = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=rows if a.ndim == 2 else whole)
                 for a in (x, w, g)]
        exported = jax.export.export(
            jax.jit(gradient(operations.make(kernels))), platforms=("cpu", "cuda"),
            disabled_checks=pyptx.export_safety_checks())(*specs)
        (folder / "gradient").write_bytes(exported.serialize())
        print(jax.default_backend())
    """
    count = len(gpus)
    said = run(
        export,
        tmp_path,
        count,
        JAX_PLATFORMS="cpu",
        XLA_FLAGS=f"--xla_force_host_platform_device_count={count}",
        PYPTX_TARGET=str(targets.for_capability(gpus[0].compute_capability)),
    )
    assert said == ["cpu"]
    load = """
        exported = jax.export.deserialize(bytearray((folder / "gradient").read_bytes()))
        assert exported.nr_devices == count
        arguments = place(x, w, g)
        program = jax.jit(exported.call).lower(*arguments).compile()
        reference = lambda x, w: x * w / (1 + (x * x).sum(-1, keepdims=True))
        close(program(*arguments), gradient(reference)(x, w, g))
        print(jax.default_backend(), *pyptx.collectives(program))
    """
    assert run(load, tmp_path, count) == ["gpu", *(["all-reduce"] if count > 1 else [])]


def test_the_persistent_cache(gpus, tmp_path):
    """Another process finds a sharded program, and not that of another constant."""
    program = """
        import kernels
        from jax._src import monitoring
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        one = float(sys.argv[4])
        a, b = place(x, w)
        hits = []
        monitoring.register_event_listener(
            lambda event, **_: hits.append(event) if event.endswith("cache_hits") else None)
        f = jax.jit(lambda x, w: kernels.normalise(x, w, one=one)).lower(a, b).compile()
        found = len(hits)
        close(f(a, b)[1], 1 / (one + (x * x).sum(-1)))
        print(found)
    """
    counts = [run(program, tmp_path, len(gpus), one) for one in (1.0, 1.0, 2.0, 2.0)]
    assert counts == [["0"], ["1"], ["0"], ["1"]]
