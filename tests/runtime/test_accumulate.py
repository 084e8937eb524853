"""Sums with accumulate=: rounded once, behind the sum over devices."""

import re

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import Tile, kernel, ptx  # noqa: E402
from pyptx._source import UNKNOWN  # noqa: E402
from pyptx.types import bf16, f32  # noqa: E402

BF16 = ml_dtypes.bfloat16
# Multiples of 1/256 below 1: every sum of them here is exact in f32, whatever its order.
X = (np.random.default_rng(0).integers(0, 256, (16, 24, 64)) / 256).astype(BF16)
AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit
OPERATIONS = pytest.mark.parametrize("name", ["total", "total_in_steps"])


@pytest.fixture(autouse=True)
def _on_cpu(monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def exact(x, axis=(0, 1)):
    """The sum in float64, rounded once."""
    return x.astype(np.float64).sum(axis).astype(BF16)


def same(found, wanted):
    assert found.dtype == BF16
    np.testing.assert_array_equal(np.asarray(found, np.float32), wanted.astype(np.float32))


def put(array, devices, kind, *spec):
    mesh = Mesh(np.reshape(devices, (4, 2)), ("data", "model"), (kind, kind))
    return jax.device_put(array, NamedSharding(mesh, P(*spec)))


def compiled(function, *arguments):
    """The results, the collectives and the types that all-reduces add up in."""
    program = jax.jit(function).lower(*arguments).compile()
    text = program.as_text()
    assert ("all-reduce" in text) == (" convert(" in text)
    types = re.findall(r"= (\w+)\[[\d,]*\]\S* all-reduce(?:-start)?\(", text)
    return program(*arguments), pyptx.collectives(program), types


def test_rounding_parts_would_be_seen():
    for count in (2, 4, 8):
        parts = X.reshape(count, -1, 64).astype(np.float64).sum(1).astype(BF16)
        rounded = parts.astype(np.float64).sum(0).astype(BF16)
        assert (rounded != exact(X)).sum() > 2


@OPERATIONS
def test_numpy(accumulating, name):
    same(getattr(accumulating, name)(X), exact(X))
    done = getattr(accumulating, name).emulate(X)
    done.report.check()
    same(done.outputs[0], exact(X))


@OPERATIONS
def test_one_device_converts_nothing(accumulating, name):
    f, x = getattr(accumulating, name), jnp.asarray(X)
    program = jax.jit(f).lower(x).compile()
    same(program(x), exact(X))
    assert " convert(" not in program.as_text()
    assert program.as_text().count('custom_call_target="pyptx_cpu"') == 1
    same(f(x), exact(X))


@pytest.mark.sampled(16, each=("spec", "kind", "name"))
@OPERATIONS
@pytest.mark.parametrize("kind", [AUTO, EXPLICIT], ids=str)
@pytest.mark.parametrize("spec", [("data",), (("data", "model"),), ("data", "model")], ids=str)
def test_over_devices(accumulating, name, devices, kind, spec):
    x = put(X, devices, kind, *spec)
    y, kinds, types = compiled(getattr(accumulating, name), x)
    assert (kinds, types) == ({"all-reduce": 1}, ["f32"])
    same(y, exact(X))
    assert y.sharding.is_fully_replicated
    same(getattr(accumulating, name)(x), exact(X))


@OPERATIONS
def test_copies_on_devices_add_up_nothing(accumulating, name, devices):
    x = put(X, devices, AUTO)
    program = jax.jit(getattr(accumulating, name)).lower(x).compile()
    same(program(x), exact(X))
    assert pyptx.collectives(program) == {}
    assert " convert(" not in program.as_text()


def test_a_sequence_gives_its_other_results_as_they_are(accumulating, devices):
    (y, total), kinds, types = compiled(accumulating.copy_and_total, put(X, devices, AUTO, "data"))
    assert (kinds, types) == ({"all-reduce": 1}, ["f32"])
    same(y, X)
    same(total, exact(X))
    assert y.sharding.spec == P("data")


@OPERATIONS
def test_shard_map_gives_the_sum_of_each_device(accumulating, name, devices):
    x = put(X, devices, AUTO, "data")
    f = getattr(accumulating, name)
    mapped = jax.shard_map(
        lambda x: f(x)[None],
        mesh=x.sharding.mesh,
        in_specs=P("data"),
        out_specs=P("data"),
        axis_names={"data", "model"},
    )
    y, kinds, _ = compiled(mapped, x)
    assert kinds == {}
    same(y, exact(X.reshape(4, 4, 24, 64), (1, 2)))


@OPERATIONS
def test_mapped(accumulating, name, devices):
    mapped = jax.vmap(getattr(accumulating, name))
    wanted = exact(X, 1)
    y, kinds, _ = compiled(mapped, jnp.asarray(X))
    assert kinds == {}
    same(y, wanted)
    y, kinds, _ = compiled(mapped, put(X, devices, AUTO, "data"))
    assert kinds == {}
    same(y, wanted)
    y, kinds, types = compiled(mapped, put(X, devices, AUTO, "data", "model"))
    assert (kinds, types) == ({"all-reduce": 1}, ["f32"])
    same(y, wanted)
    twice = jax.vmap(jax.vmap(getattr(accumulating, name)))
    x = X.reshape(16, 2, 12, 64)
    y, kinds, types = compiled(twice, put(x, devices, EXPLICIT, "data", None, "model"))
    assert (kinds, types) == ({"all-reduce": 1}, ["f32"])
    same(y, exact(x, 2))


def test_no_rows(accumulating, devices):
    x = np.zeros((0, 24, 64), BF16)
    same(jax.jit(accumulating.total)(put(x, devices, AUTO, "data")), np.zeros(64, BF16))
    same(accumulating.total(x), np.zeros(64, BF16))


# ---- what a call is ------------------------------------------------------------------------------


def prepared(operation):
    return operation._prepare((X,), {}, by_reference=True, location=UNKNOWN)


def summing(scale):
    """A kernel whose parts are multiplied by `scale`, and the whole sum is not."""

    def body(X, Y):
        (py,) = ptx.global_ptrs(Y)
        if Y.dtype is f32:
            ptx.inst.st.global_.f32(ptx.addr(py), scale)
        else:
            ptx.inst.st.global_.b16(ptx.addr(py), 0x3F80)

    spec = Tile("N", bf16, sum_over="B", accumulate=f32)
    return kernel(in_specs=(Tile("*B", "N", bf16),), out_specs=(spec,), parallel=("B",))(body)


def test_both_kinds_are_what_a_call_is():
    call, other, third = (prepared(summing(scale)) for scale in (1.0, 1.0, 2.0))
    assert call == other
    assert hash(call) == hash(other)
    assert call != third
    assert str(call.plan) == str(third.plan)
    assert [digest.digest for digest in call.code] == [digest.digest for digest in third.code]


def test_partial_calls(accumulating):
    call = prepared(accumulating.copy_and_total)
    partial = call.partial
    assert [o.dtype for o in call.outputs] == ["bfloat16", "bfloat16"]
    assert [o.dtype for o in partial.outputs] == ["bfloat16", "float32"]
    assert partial.partial is None
    assert (partial.plan, partial.inputs) == (call.plan, call.inputs)
    first, last = zip(call.code, partial.code, strict=True)
    assert first[0].digest == first[1].digest
    assert last[0].digest != last[1].digest
    mapped = call.batched((True,))
    assert mapped.partial == partial.batched((True,))
    assert mapped.partial.outputs[1].axes == ("vmap.0", 64)


@pytest.mark.sweep  # test_programs.py exports what is sharded, and the rest of this file sums
def test_exported_and_loaded_in_another_process(copied, tmp_path):
    start = """
        import sys, pathlib, jax, numpy as np, pyptx, ml_dtypes
        from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
        path = pathlib.Path(sys.argv[1]) / "program"
        mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))
        rows = NamedSharding(mesh, P("data"))
        x = (np.random.default_rng(0).integers(0, 256, (16, 24, 64)) / 256).astype("bfloat16")
    """
    save = """
        import accumulating
        with pyptx.target("sm_90a"):
            exported = jax.export.export(
                jax.jit(accumulating.total_in_steps), platforms=("cpu", "cuda"),
                disabled_checks=pyptx.export_safety_checks(),
            )(jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=rows))
        path.write_bytes(exported.serialize())
    """
    load = """
        exported = jax.export.deserialize(bytearray(path.read_bytes()))
        x = jax.device_put(x, rows)
        program = jax.jit(exported.call).lower(x).compile()
        assert pyptx.collectives(program) == {"all-reduce": 1}
        wanted = np.asarray(x, np.float64).sum((0, 1)).astype("bfloat16")
        assert (np.asarray(program(x)) == wanted).all()
        print("ok")
    """
    devices = "--xla_force_host_platform_device_count=8"
    copied(start + save, tmp_path, XLA_FLAGS=devices)
    assert copied(start + load, tmp_path, XLA_FLAGS=devices) == "ok\n"
