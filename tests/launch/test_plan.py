# ruff: noqa: E501 -- whole messages stand on their lines
"""Plans: what they serialise to, and that Python and the native library evaluate them alike."""

import ctypes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx.errors import SpecError
from pyptx.launch.plan import (
    InputAddress,
    InputValue,
    Integer,
    OutputAddress,
    Plan,
    evaluate,
    make_plan,
)
from pyptx.native import loader
from pyptx.spec import Scalar, Symbol, Tile, cdiv, minimum
from pyptx.types import f32

B, N = Symbol("B"), Symbol("N")
SPECS = {
    "in_specs": (Tile("B", "N", f32), Tile("N", f32), Scalar(f32)),
    "out_specs": (Tile("B", "N", f32),),
}
ARGUMENTS = (InputAddress(0), InputAddress(1), InputValue(2), OutputAddress(0))


def native(plan: str, inputs, outputs) -> str:
    """The launch that the native library makes of a plan, or its problem."""
    shapes = (*inputs, *outputs)
    ranks = (ctypes.c_int32 * len(shapes))(*map(len, shapes))
    sizes = [size for shape in shapes for size in shape]
    dims = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
    out = ctypes.create_string_buffer(2048)
    loader.ffi_library().pyptx_plan_evaluate(
        plan.encode(), ranks, len(inputs), len(outputs), dims, out, ctypes.c_size_t(2048)
    )
    return out.value.decode()


def python(plan: Plan, inputs, outputs) -> str:
    try:
        return str(plan.evaluate(inputs, outputs))
    except SpecError as error:
        return str(error)


def test_a_plan_is_a_short_text():
    plan = make_plan(
        "scale",
        grid=(cdiv(B, 4), minimum(N, 7), 1),
        block=(128, 1, 1),
        arguments=(*ARGUMENTS, B * 4),
        dims={"N": 512},
        shared=2048,
        **SPECS,
    )
    assert str(plan) == (
        "kernel=scale;grid=a0.0 4 cdiv,a0.1 7 min,1;block=128,1,1;cluster=1,1,1;shared=2048;"
        "params=a0,a1,v2,r0,i64:a0.0 4 *;inputs=[? 512],[512],[];outputs=[? 512]"
    )
    launch = plan.evaluate([(10, 512), (512,), ()], [(10, 512)])
    assert str(launch) == (
        "kernel=scale;grid=3,7,1;block=128,1,1;cluster=1,1,1;shared=2048;params=a0,a1,v2,r0,i64:40"
    )
    assert not launch.empty
    assert plan.evaluate([(0, 512), (512,), ()], [(0, 512)]).empty
    assert plan == make_plan(
        "scale",
        grid=(cdiv(B, 4), minimum(N, 7), 1),
        block=(128, 1, 1),
        arguments=(*ARGUMENTS, B * 4),
        dims={"N": 512},
        shared=2048,
        **SPECS,
    )
    assert hash(plan) == hash(plan)


def test_a_kernel_without_inputs():
    plan = make_plan(
        "iota",
        grid=(2, 1, 1),
        block=(128, 1, 1),
        arguments=[OutputAddress(0)],
        in_specs=(),
        out_specs=(Tile(256, f32),),
        dims={},
    )
    assert python(plan, [], [(256,)]) == native(str(plan), [], [(256,)])
    assert ";inputs=;" in str(plan)


@pytest.mark.parametrize(
    ("change", "inputs", "problem"),
    [
        ({}, [(4, 8), (9,)], "input 1 has shape (9,); the kernel was made for (8,)"),
        ({}, [(4, 8, 1), (8,)], "input 0 has shape (4, 8, 1); the kernel was made for (?, 8)"),
        ({}, [(4, 8)], "it takes 2 inputs and got 1"),
        (
            {"grid": ("1", "a0.0 20000 *", "1")},
            [(4, 8), (8,)],
            "grid dimension y is 80000; the range is 0 to 65535",
        ),
        (
            {"grid": ("a0.0 9 -", "1", "1")},
            [(4, 8), (8,)],
            "grid dimension x is -5; the range is 0 to 2147483647",
        ),
        (
            {"cluster": (8, 1, 1)},
            [(4, 8), (8,)],
            "grid dimension x is 4, not a multiple of the cluster's 8",
        ),
        ({"shared": "a0.0 5 -"}, [(4, 8), (8,)], "the dynamic shared memory is -1 bytes"),
    ],
)
def test_launches_that_do_not_fit(change, inputs, problem):
    usual = {
        "kernel": "k",
        "grid": ("a0.0", "1", "1"),
        "block": (32, 1, 1),
        "arguments": (InputAddress(0), OutputAddress(0)),
        "inputs": ((None, 8), (8,)),
        "outputs": ((None, 8),),
    }
    plan = Plan(**{**usual, **change})
    assert python(plan, inputs, [(4, 8)]) == problem
    assert native(str(plan), inputs, [(4, 8)]) == problem


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ((1025, 1, 1), "block dimension x is 1025; the range is 1 to 1024"),
        ((1, 1, 65), "block dimension z is 65; the range is 1 to 64"),
        ((0, 1, 1), "block dimension x is 0; the range is 1 to 1024"),
        ((512, 2, 2), "block (512, 2, 2) has 2048 threads; a CTA has at most 1024"),
    ],
)
def test_wrong_blocks(block, problem):
    with pytest.raises(SpecError) as caught:
        make_plan("k", grid=(1, 1, 1), block=block, arguments=(), dims={}, **SPECS)
    assert str(caught.value) == problem


def test_wrong_clusters():
    with pytest.raises(SpecError) as caught:
        make_plan(
            "k",
            grid=(1, 1, 1),
            block=(1, 1, 1),
            arguments=(),
            dims={},
            cluster=(4, 5, 1),
            **SPECS,
        )
    assert str(caught.value) == (
        "cluster (4, 5, 1) has 20 CTAs; a cluster has 1 to 16, and more than 8 only where the device "
        "allows it"
    )


LEAVES = st.one_of(
    st.integers(-5, 5).map(str),
    st.sampled_from(["a0.0", "a0.1", "r0.0", str(2**62), str(-(2**63))]),
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.tuples(
        inner, inner, st.sampled_from(["+", "-", "*", "//", "cdiv", "min", "max"])
    ).map(" ".join),
    max_leaves=12,
)


@settings(deadline=None, max_examples=400)
@given(EXPRESSIONS, st.tuples(st.integers(0, 9), st.integers(0, 2**40)), st.integers(-1, 2**33))
def test_both_evaluate_alike(expression, shape, other):
    inputs, outputs = [shape], [(max(other, 0),)]
    plan = Plan(
        "k",
        ("1", "1", "1"),
        (1, 1, 1),
        (Integer(expression),),
        ((None, None),),
        ((None,),),
    )
    answer = native(str(plan), inputs, outputs)
    try:
        value = evaluate(expression, inputs, outputs)
    except SpecError as error:
        kind = "divides by zero" if "zero" in str(error) else "does not fit 64 bits"
        assert answer == f"an integer argument {kind}"
    else:
        assert answer.endswith(f";params=i64:{value}")


def test_floor_and_ceiling_of_negative_numbers():
    for a in range(-9, 10):
        for b in (-4, -3, -1, 1, 2, 5):
            for name, value in (("//", a // b), ("cdiv", -(-a // b))):
                plan = Plan("k", ("1",) * 3, (1,) * 3, (Integer(f"{a} {b} {name}"),), (), ())
                assert native(str(plan), [], []).endswith(f"i64:{value}"), (a, name, b)
