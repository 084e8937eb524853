"""Programs carry the code of the steps that they launch: of all where their shapes may change."""

import re
import threading

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

from jax import export  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import AssembleError, Tile, kernel, ptx, reg, sequence  # noqa: E402
from pyptx._launch.description import Code  # noqa: E402
from pyptx._runtime.assembling import assembled  # noqa: E402
from pyptx._target import Target  # noqa: E402
from pyptx.types import f32, u32  # noqa: E402


@pytest.fixture(autouse=True)
def _on_cpu():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def adding(number, name):
    """x[B, 4] + number, a CTA for each row."""

    def add(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        lane = reg.from_(ptx.special.tid.x(), u32)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        with ptx.if_(lane < 4):
            at = row * 16 + lane * 4
            x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
            ptx.inst.st.global_.f32(ptx.addr(py + at), x + number)

    add.__name__ = name
    rows = Tile("B", 4, f32)
    options = {"grid": lambda B: (B, 1, 1), "block": 32, "arch": "auto", "parallel": ("B",)}
    return kernel(in_specs=(rows,), out_specs=(rows,), **options)(add)


ONE, FEW, MANY = adding(1.0, "one"), adding(10.0, "few"), adding(100.0, "many")
SPECS = {"in_specs": ONE.in_specs, "out_specs": ONE.out_specs, "parallel": ("B",)}


@sequence(**SPECS)
def added(x):
    """1 more, and then 10 more for at most 2 rows, 100 for others."""
    return pyptx.cond(lambda B: B <= 2, FEW, MANY, ONE(x))


def wanted(x, number):
    return x + np.float32(1) + np.float32(number)


def data(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def steps(lowered):
    return re.findall(r"kernel=(\w+)", lowered.as_text())


def sources(lowered):
    """Of how many steps a program has the code."""
    entries = re.search(r"images = \{(.*?)\}", lowered.as_text(), re.DOTALL)
    return re.findall(r"(?<![\w\"])\"?(\d+)\"? = dense", entries[1])


@pytest.mark.parametrize("rows", range(5))
def test_a_program_of_fixed_shapes_has_what_it_launches(rows):
    x = data(rows, 4)
    lowered = jax.jit(added).lower(x)
    assert steps(lowered) == ["one", "few" if rows <= 2 else "many"]
    assert sources(lowered) == ["0", "1"]
    np.testing.assert_array_equal(lowered.compile()(x), wanted(x, 10 if rows <= 2 else 100))


def test_each_shape_is_a_program_of_its_own():
    jitted = jax.jit(added)
    for rows in (3, 2, 3, 1):
        x = data(rows, 4)
        np.testing.assert_array_equal(jitted(x), wanted(x, 10 if rows <= 2 else 100))


def test_a_program_whose_rows_are_known_at_run_time_has_all():
    (rows,) = export.symbolic_shape("n")
    allowed = pyptx.export_safety_checks()
    exported = export.export(jax.jit(added), platforms=["cpu"], disabled_checks=allowed)(
        jax.ShapeDtypeStruct((rows, 4), np.float32)
    )
    assert re.findall(r"kernel=(\w+)", exported.mlir_module()) == ["one", "few", "many"]
    loaded = jax.jit(export.deserialize(exported.serialize()).call)
    for rows in range(1, 5):
        x = data(rows, 4)
        np.testing.assert_array_equal(loaded(x), wanted(x, 10 if rows <= 2 else 100))


@pytest.mark.parametrize("parts", [2, 1])
def test_the_rows_of_each_device_decide(devices, parts):
    """The partitioner splits the rows after the steps were put into the program."""
    mesh = Mesh(np.array(devices[:2]), ("data",))
    x = data(4, 4)
    split = jax.device_put(x, NamedSharding(mesh, P("data" if parts == 2 else None)))
    lowered = jax.jit(added).lower(split)
    assert {"one", "few", "many"} <= set(steps(lowered))
    np.testing.assert_array_equal(lowered.compile()(split), wanted(x, 10 if parts == 2 else 100))


def test_inside_shard_map_the_shapes_are_those_of_a_device(devices):
    mesh = Mesh(np.array(devices[:2]), ("data",))
    x = data(4, 4)
    mapped = jax.shard_map(added, mesh=mesh, in_specs=P("data"), out_specs=P("data"))
    lowered = jax.jit(mapped).lower(x)
    assert steps(lowered) == ["one", "few"]
    np.testing.assert_array_equal(lowered.compile()(x), wanted(x, 10))


def test_each_element_of_a_level_decides():
    x = data(3, 2, 4)
    lowered = jax.jit(jax.vmap(added)).lower(x)
    assert steps(lowered) == ["one", "few"]
    np.testing.assert_array_equal(lowered.compile()(x), wanted(x, 10))


def test_calls_are_the_same_until_they_are_lowered():
    """Steps are left out of programs, not of calls: these stand for every number of rows."""
    jaxprs = [jax.make_jaxpr(added)(data(rows, 4)) for rows in (2, 3)]
    first, second = (jaxpr.eqns[0].params["call"] for jaxpr in jaxprs)
    assert first == second
    few, many = (first.launched_for([(rows, 4)]) for rows in (2, 3))
    assert [step.kernel for step in few.plan.steps] == ["one", "few"]
    assert [step.kernel for step in many.plan.steps] == ["one", "many"]
    assert few != many
    assert few != first
    assert few.code == (first.code[0], first.code[1])
    assert many.code == (first.code[0], first.code[2])


def test_steps_are_assembled_at_the_same_time(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    together = threading.Barrier(4)

    def code(number):
        def cubin(target):
            together.wait(60)
            return number, target

        return Code(str(number), cubin, bytes)

    targets = (Target(90, "a"), Target(80))
    assert assembled([code(0), code(1)], targets) == [
        {"sm_90a": (n, targets[0]), "sm_80": (n, targets[1])} for n in range(2)
    ]


@pytest.mark.parametrize("processors", [1, 4])
def test_the_error_is_that_of_the_first_step_that_has_one(monkeypatch, processors):
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    last = threading.Event()

    def failing(target):
        if processors > 1:
            assert last.wait(60)
        raise AssembleError("the second step")

    def failing_first(target):
        last.set()
        raise AssembleError("the third step")

    codes = [Code("0", str, bytes), Code("1", failing, bytes), Code("2", failing_first, bytes)]
    with pytest.raises(AssembleError, match=r"^the second step$"):
        assembled(codes, [Target(90, "a")])
