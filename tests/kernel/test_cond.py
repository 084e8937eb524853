"""`pyptx.cond`: one operation or another, by the sizes of a call."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pyptx
from pyptx import CallError, SpecError, Tile, kernel, ptx, reg, sequence
from pyptx._source import UNKNOWN
from pyptx.types import f32, u32, u64


def marked(mark):
    """x[B, 4] to y[B, 4], x + mark, and the sum over B of x, plus mark."""

    @kernel(
        in_specs=(Tile("B", 4, f32),),
        out_specs=(Tile("B", 4, f32), Tile(4, f32, sum_over="B")),
        grid=(1, 1, 1),
        block=32,
        arch="auto",
        parallel=("B",),
    )
    def add(X, Y, S):
        px, py, ps = ptx.global_ptrs(X, Y, S)
        rows, _ = X.shape
        lane = reg.from_(ptx.special.tid.x(), u32)
        total = reg.scalar(f32, init=mark)
        with ptx.if_(lane < 4):
            for row in ptx.range_(reg.scalar(u64, init=0), rows, 1):
                at = row * 16 + lane * 4
                x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
                total += x
                ptx.inst.st.global_.f32(ptx.addr(py + at), x + mark)
            ptx.inst.st.global_.f32(ptx.addr(ps + lane * 4), total)

    return add


FEW, MANY, MORE = marked(100.0), marked(200.0), marked(300.0)
SPECS = {"in_specs": FEW.in_specs, "out_specs": FEW.out_specs, "parallel": ("B",)}


@sequence(**SPECS)
def chosen(x):
    return pyptx.cond(lambda B: B <= 2, FEW, MANY, x)


def data(rows):
    return np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)


def check(found, x, mark):
    np.testing.assert_allclose(found[0], x + np.float32(mark), rtol=1e-6)
    np.testing.assert_allclose(found[1], x.sum(0) + mark, rtol=1e-5)


@pytest.mark.parametrize("rows", range(5))
def test_the_size_of_a_call_decides(rows):
    x = data(rows)
    mark = 100 if rows <= 2 else 200
    check(chosen(x), x, mark)
    check(jax.jit(chosen)(x), x, mark)
    done = chosen.emulate(x)
    assert done.report.message == ""
    assert [report.status for report in done.reports] == ["ok", "ok"]


def test_one_program_has_both():
    call = chosen._prepare((data(1),), {}, by_reference=True, location=UNKNOWN)
    first, second = call.plan.steps
    assert (first.when, second.when) == ("3 a0.0 -", "1 3 a0.0 - -")
    assert first.arguments[:3] == second.arguments[:3]
    assert call.scratch == ()
    for rows, skipped in ((0, [False, True]), (2, [False, True]), (3, [True, False])):
        launches = call.plan.evaluate([(rows, 4)], [(rows, 4), (4,)])
        assert [launch.skipped for launch in launches] == skipped
    assert chosen._prepare((data(9),), {}, by_reference=True, location=UNKNOWN) is call


@pytest.mark.parametrize(
    ("pred", "limit"),
    [
        (lambda B: B < 3, range(3)),
        (lambda B: B >= 3, range(3, 6)),
        (lambda B: B > 3, range(4, 6)),
        (lambda B: B * 2 <= 7, range(4)),
        (lambda B: max(B, 2) <= 3, range(4)),
        (lambda B: B < B * B - 5, range(3, 6)),
    ],
)
def test_comparisons(pred, limit):
    @sequence(**SPECS)
    def one(x):
        return pyptx.cond(pred, FEW, MANY, x)

    for rows in range(6):
        x = data(rows)
        check(one(x), x, 100 if rows in limit else 200)


def test_sizes_that_are_known_choose_when_the_program_is_made():
    first, second = marked(1.0), marked(2.0)

    @sequence(**SPECS)
    def one(x):
        return pyptx.cond(lambda B, N=4: N < 8, first, second, x)

    x = data(3)
    check(one(x), x, 1)
    assert len(one._prepare((x,), {}, by_reference=True, location=UNKNOWN).plan.steps) == 1


@sequence(**SPECS)
def nested(x):
    return pyptx.cond(lambda B: B < 4, chosen, MORE, x)


@sequence(in_specs=FEW.in_specs, out_specs=FEW.out_specs[:1], parallel=("B",))
def twice(x):
    """The result of one choice is what another is made of."""
    y, _ = nested(x)
    z, _ = pyptx.cond(lambda B: B > 4, MANY, chosen, y)
    return z


@pytest.mark.parametrize("rows", range(6))
def test_choices_in_choices_and_one_after_the_other(rows):
    x = data(rows)
    mark = 100 if rows <= 2 else 200 if rows < 4 else 300
    check(nested(x), x, mark)
    mark += 200 if rows > 4 or rows > 2 else 100
    np.testing.assert_allclose(twice(x), x + np.float32(mark), rtol=1e-5)
    assert twice.emulate(x).report.message == ""


def test_scratch_of_both():
    @sequence(**SPECS)
    def double(x):
        y, _ = MANY(x)
        return MANY(y)

    @sequence(**SPECS)
    def one(x):
        return pyptx.cond(lambda B: B <= 2, FEW, double, x)

    for rows in (1, 3):
        x = data(rows)
        y = one(x)[0]
        np.testing.assert_allclose(y, x + np.float32(100 if rows <= 2 else 400), rtol=1e-5)


def test_vmap_decides_by_the_size_of_one_element():
    x = np.stack([data(3), data(3) + 1, data(3) * 2])
    for batch, mark in ((x, 200), (x[:, :2], 100)):
        found = jax.jit(jax.vmap(chosen))(batch)
        np.testing.assert_allclose(found[0], batch + np.float32(mark), rtol=1e-6)
        np.testing.assert_allclose(found[1], batch.sum(1) + mark, rtol=1e-5)


def test_devices_decide_by_their_part():
    mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    x = data(8)
    over = jax.device_put(x, jax.NamedSharding(mesh, jax.P("d")))
    y, total = jax.jit(chosen)(over)  # two rows on each of four devices
    np.testing.assert_allclose(y, x + np.float32(100), rtol=1e-6)
    np.testing.assert_allclose(total, x.sum(0) + 400, rtol=1e-5)


def test_an_exported_program_decides():
    sizes = jax.export.symbolic_shape("b, 4")
    program = jax.export.export(jax.jit(chosen), disabled_checks=pyptx.export_safety_checks())(
        jax.ShapeDtypeStruct(sizes, jnp.float32)
    )
    again = jax.export.deserialize(program.serialize())
    for rows, mark in ((2, 100), (3, 200)):
        check(again.call(data(rows)), data(rows), mark)


# ---- errors --------------------------------------------------------------------------------------


def problem(body, error):
    def traced(x):
        return body(x)

    with pytest.raises(error) as caught:
        sequence(**SPECS)(traced)(data(1))
    return re.sub(r"^\S+?:\d+: |\n    .*", "", str(caught.value))


def test_outside_of_a_sequence():
    with pytest.raises(CallError) as caught:
        pyptx.cond(lambda B: B < 2, FEW, MANY, data(1))
    assert (
        str(caught.value)
        .splitlines()[0]
        .endswith(
            "cond chooses between operations in the body of a sequence, and none is being traced"
        )
    )


def test_no_comparison():
    assert problem(lambda x: pyptx.cond(lambda B: B, FEW, MANY, x), SpecError) == (
        "the condition gives Symbol(name='B'), which is no comparison\n  help: lambda B: B <= 16"
    )
    assert problem(lambda x: pyptx.cond(lambda Q: Q < 2, FEW, MANY, x), SpecError) == (
        "the condition asks for the dimension Q\n  dimensions: B"
    )


def test_results_that_differ():
    assert problem(lambda x: pyptx.cond(lambda B: B < 2, FEW, twice, x), CallError) == (
        "the operations of cond give different results: "
        'Y (B, 4) of f32, S (4,) of f32, sum_over="B", and Y (B, 4) of f32\n'
        "  legal: equal shapes, types, sum_over= and accumulate="
    )


def test_results_that_were_given():
    @kernel(
        in_specs=FEW.in_specs,
        out_specs=FEW.out_specs[:1],
        parallel=("B",),
        block=32,
        input_output_aliases={0: 0},
        arch="auto",
    )
    def in_place(X, Y):
        ptx.global_ptrs(X)

    def body(x):
        y, total = FEW(x)
        return pyptx.cond(lambda B: B < 2, in_place, in_place, y), total

    assert problem(body, CallError) == (
        "an operation of cond returns Y, which it was given\n"
        "  help: write a new array; the other operation does too"
    )


def test_the_wrong_number_of_arrays():
    assert problem(lambda x: pyptx.cond(lambda B: B < 2, FEW, MANY, x, x), CallError) == (
        "add takes 1 arrays (X), not 2"
    )
