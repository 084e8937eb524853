"""Sequences in JAX programs: one call, over devices and mapped; and sums that are not complete."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

from jax.sharding import AxisType, Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import Tile, kernel, sequence  # noqa: E402
from pyptx.types import f32  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 2, 20)).astype(np.float32)
W = RNG.standard_normal(20).astype(np.float32)


@pytest.fixture(autouse=True)
def _on_cpu(monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.fixture
def reference(operations):
    def twice(x, w):
        y = operations.reference(x, w)
        z = operations.reference(y, w)
        r = 1 / (1 + (y * y).sum(-1, keepdims=True))
        return z, (y * z * r).sum(tuple(range(x.ndim - 1)))

    return twice


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)


def test_one_call(kernels, reference):
    program = jax.jit(kernels.twice).lower(X, W).compile()
    close(program(X, W), reference(X, W))
    assert program.as_text().count('custom_call_target="pyptx_cpu"') == 1
    close(kernels.twice(jax.numpy.asarray(X), jax.numpy.asarray(W)), reference(X, W))


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("spec", [("data",), (("data", "model"),), ("data", "model")], ids=str)
def test_over_devices(kernels, reference, devices, kind, spec):
    mesh = Mesh(np.reshape(devices, (4, 2)), ("data", "model"), (kind, kind))
    x, w = (jax.device_put(a, NamedSharding(mesh, P(*s))) for a, s in ((X, spec), (W, ())))
    program = jax.jit(kernels.twice).lower(x, w).compile()
    z, total = program(x, w)
    close((z, total), reference(X, W))
    assert pyptx.collectives(program) == {"all-reduce": 1}
    assert z.sharding.is_equivalent_to(NamedSharding(mesh, P(*spec)), 3)
    assert total.sharding.is_fully_replicated


def test_inside_shard_map(kernels, reference, devices):
    mesh = Mesh(np.array(devices), ("data",))

    def local(x, w):
        z, part = kernels.twice(x, w)
        return z, jax.lax.psum(part, "data")

    specs = (P("data"), P())
    f = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=specs)
    close(jax.jit(f)(X, W), reference(X, W))


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)], ids=str)
def test_mapped(kernels, reference, devices, in_axes):
    """Results between the steps have the mapped axis too, also where a device has a part of it."""
    mesh = Mesh(np.reshape(devices, (4, 2)), ("data", "model"))
    x = X if in_axes[0] == 0 else X[0]
    w = np.stack([W * i for i in range(1, 9)]) if in_axes[1] == 0 else W
    wanted = jax.vmap(reference, in_axes)(x, w)
    f = jax.jit(jax.vmap(kernels.twice, in_axes))
    close(f(x, w), wanted)
    put = lambda a, axis: jax.device_put(a, NamedSharding(mesh, P(*("data",) * (axis == 0))))
    x, w = (put(a, axis) for a, axis in zip((x, w), in_axes, strict=True))
    program = f.lower(x, w).compile()
    close(program(x, w), wanted)
    assert pyptx.collectives(program) == {}


# ---- sums that end with the sequence -------------------------------------------------------------


@kernel(
    in_specs=(Tile("B", 4, f32),),
    out_specs=(Tile(4, f32, sum_over="B"),),
    block=4,
    parallel=("B",),
)
def total(X, T):
    pass


@kernel(
    in_specs=(Tile("B", 4, f32), Tile(4, f32)),
    out_specs=(Tile("B", 4, f32),),
    grid=lambda B: (B, 1, 1),
    block=4,
    parallel=("B",),
)
def subtract(X, T, Y):
    pass


@kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), block=4)
def halve(X, Y):
    pass


ROWS, COLUMNS = Tile("B", 4, f32), Tile(4, f32)


def message(call):
    with pytest.raises(pyptx.PtxError) as caught:
        call(np.ones((3, 4), np.float32), np.ones(4, np.float32))
    _, _, rest = str(caught.value).partition(": ")
    return "\n".join(line for line in rest.splitlines() if not line.startswith("    "))


def test_a_sum_is_used_before_it_is_complete():
    @sequence(in_specs=(ROWS, COLUMNS), out_specs=(ROWS,), parallel=("B",))
    def centre(x, w):
        return subtract(x, halve(total(x)))

    assert message(centre) == (
        'T of subtract is Y, a sum over "B", and subtract works on "B" as well: split over '
        "devices, it would see a part of the sum\n"
        "  help: end the sequence with Y, and start another"
    )


def test_an_output_that_is_no_sum():
    @sequence(in_specs=(ROWS, COLUMNS), out_specs=(Tile(4, f32, sum_over="B"),), parallel=("B",))
    def other(x, w):
        return halve(w)

    assert message(other) == (
        'output 0 of other is Y, which is no sum over "B": split over devices, it would be added '
        "up once for each of them\n"
        "  help: compute Y outside of the sequence"
    )


def test_what_is_made_of_a_sum_is_one():
    @sequence(in_specs=(ROWS, COLUMNS), out_specs=(Tile(4, f32, sum_over="B"),), parallel=("B",))
    def half(x, w):
        return halve(total(x))

    assert half.emulate(np.ones((0, 4), np.float32), np.ones(4, np.float32)).outputs[0].shape == (
        4,
    )
