# ruff: noqa: E501 -- whole messages stand on their lines
"""Plans: what they serialise to, and that Python and the native library evaluate them alike."""

import ctypes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx._launch.plan import (
    Bytes,
    EarlierResult,
    InputAddress,
    InputValue,
    Integer,
    OutputAddress,
    Plan,
    Step,
    check_block,
    check_cluster,
    evaluate,
)
from pyptx._native import loader
from pyptx.errors import SpecError

ROWS = Step(
    "rows",
    ("a0.0 4 cdiv", "a0.1 7 min", "1"),
    (128, 1, 1),
    (
        InputAddress(0),
        InputAddress(1),
        InputValue(2),
        OutputAddress(0),
        OutputAddress(1),
        Integer("a0.0 4 *"),
    ),
    shared="2048",
    zeros=(1,),
    complete=(0, 1),
    init=((0, b"\0\0\x80\x3f"),),
)
FINISH = Step(
    "finish",
    ("1", "1", "1"),
    (32, 1, 1),
    (EarlierResult(1), OutputAddress(2)),
    cluster=(1, 1, 1),
    cooperative=True,
    programmatic_stream_serialization=True,
)


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
        return "\n".join(map(str, plan.evaluate(inputs, outputs)))
    except SpecError as error:
        return str(error)


def test_a_plan_is_a_short_text():
    shapes = ((None, 512), (512,), ()), ((None, 512), (4, 512), (512,))
    plan = Plan(*shapes, (ROWS, FINISH))
    assert str(plan) == (
        "inputs=[? 512],[512],[];outputs=[? 512],[4 512],[512]\n"
        "kernel=rows;grid=a0.0 4 cdiv,a0.1 7 min,1;block=128,1,1;cluster=1,1,1;shared=2048;"
        "params=a0,a1,v2,r0,r1,i64:a0.0 4 *;zeros=r1;complete=r0,r1;init=r0:0000803f\n"
        "kernel=finish;grid=1,1,1;block=32,1,1;cluster=1,1,1;shared=0;params=e1,r2;"
        "cooperative=1;programmatic_stream_serialization=1"
    )
    inputs, outputs = [(10, 512), (512,), ()], [(10, 512), (4, 512), (512,)]
    assert python(plan, inputs, outputs) == native(str(plan), inputs, outputs)
    assert python(plan, inputs, outputs) == (
        "kernel=rows;grid=3,7,1;block=128,1,1;cluster=1,1,1;shared=2048;"
        "params=a0,a1,v2,r0,r1,i64:40;zeros=r1;complete=r0,r1;init=r0:0000803f\n"
        "kernel=finish;grid=1,1,1;block=32,1,1;cluster=1,1,1;shared=0;params=e1,r2"
    )
    empty = plan.evaluate([(0, 512), (512,), ()], [(0, 512), (4, 512), (512,)])
    assert [launch.empty for launch in empty] == [True, False]
    assert plan == Plan(*shapes, (ROWS, FINISH))
    assert hash(plan) == hash(Plan(*shapes, (ROWS, FINISH)))


def test_a_step_with_a_condition():
    step = Step("few", ("a0.0", "1", "1"), (32, 1, 1), (OutputAddress(0),), when="3 a0.0 -")
    plan = Plan(((None,),), ((None,),), (step,))
    assert str(step).endswith(";params=r0;when=3 a0.0 -")
    for size, launch in ((0, "grid=0,1,1"), (2, "grid=2,1,1"), (3, "skipped=1"), (9, "skipped=1")):
        shapes = [(size,)], [(size,)]
        assert python(plan, *shapes) == native(str(plan), *shapes)
        assert python(plan, *shapes).startswith(f"kernel=few;{launch}")
    (launch,) = plan.evaluate([(3,)], [(3,)])
    assert (launch.empty, launch.zeros) == (True, ())


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ({"complete": (1,)}, "output 1 of shape (3,) would never be written"),
        ({"complete": (0, 1), "zeros": (0,)}, "output 1 of shape (3,) would never be written"),
        ({"complete": (0, 1), "zeros": (1,)}, ""),
        ({"complete": (0,), "init": ((1, b"\7"),)}, ""),
    ],
)
def test_an_empty_grid_writes_nothing(step, problem):
    """Output 0 has no elements where the grid is empty."""
    grid = ("a0.0", "2", "1")
    plan = Plan(((None,),), ((None,), (3,)), (Step("k", grid, (32, 1, 1), (), **step),))
    assert native(str(plan), [(2,)], [(2,), (3,)]) == python(plan, [(2,)], [(2,), (3,)])
    shapes = [(0,)], [(0,), (3,)]
    if not problem:
        assert native(str(plan), *shapes) == python(plan, *shapes)
        return
    whole = f"the grid (0, 2, 1) launches nothing, and {problem}"
    assert native(str(plan), *shapes) == whole
    assert python(plan, *shapes) == (
        f"{whole}\n  help: Tile(..., init=0) in out_specs gives every element that value"
    )


def test_a_kernel_without_inputs():
    plan = Plan((), ((256,),), (Step("iota", ("2", "1", "1"), (128, 1, 1), (OutputAddress(0),)),))
    assert python(plan, [], [(256,)]) == native(str(plan), [], [(256,)])
    assert str(plan).startswith("inputs=;outputs=[256]\n")


STEP = "kernel=k;grid=1,1,1;block=1,1,1;cluster=1,1,1;shared=0;params="
ONE = f"inputs=[];outputs=[]\n{STEP}"
DEEP = "1 " * 33 + "+ " * 31 + "+"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("inputs=[];outputs=", "its plan has no steps"),
        (f"{ONE};zeros=r1", "its plan names a buffer that does not exist"),
        (f"{ONE};zeros=a0", "bad output 'a0' in its plan"),
        (f"{ONE}e1", "its plan names a buffer that does not exist"),
        (f"{ONE};when=a0.0", "its plan names a dimension that no buffer has"),
        (f"{ONE};programmatic_stream_serialization=yes", "bad flag 'yes' in its plan"),
        (f"{ONE};cooperative=true", "bad flag 'true' in its plan"),
        ("inputs=[];outputs=[]\nkernel=k;inputs=[]", "unknown field 'inputs' in its plan"),
        (f"{ONE}\n{STEP[9:]}", "its plan lacks the field 'kernel'"),
        (f"{ONE}\n", "its plan lacks the field 'kernel'"),
        *(
            (
                ONE.replace(f"{name}=", "when=1;when="),
                "its plan has the field 'when' twice in one line",
            )
            for name in ("grid", "block", "cluster", "shared")
        ),
        *(
            (
                f"{ONE};{field}",
                f"its plan has the field '{field.partition('=')[0]}' twice in one line",
            )
            for field in STEP.split(";")
        ),
        (f"{ONE};zeros=r0;zeros=r0", "its plan has the field 'zeros' twice in one line"),
        (f"inputs=[];{ONE}", "its plan has the field 'inputs' twice in one line"),
        (ONE.replace("outputs=[]", "x=1"), "unknown field 'x' in its plan"),
        (ONE.replace(";outputs=[]", ""), "its plan lacks the field 'outputs'"),
        (
            f"{ONE};when={DEEP}",
            f"the expression '{DEEP}' in its plan is nested deeper than 32",
        ),
        (f"{ONE};when=1 +", "bad expression '1 +' in its plan"),
        (f"{ONE};when=1 1", "bad expression '1 1' in its plan"),
        (f"{ONE};when={2**63}", f"bad token '{2**63}' in its plan"),
        (f"{ONE}i64:{-(2**63)} -1 //", "an integer argument does not fit 64 bits"),
        (f"{ONE}i64:{-(2**63)} -1 *", "an integer argument does not fit 64 bits"),
        (f"{ONE}a{2**32}", f"bad parameter 'a{2**32}' in its plan"),
        (f"{ONE}b256:00", "bad parameter 'b256:00' in its plan"),
        (f"{ONE}b1:{'00' * 32765}", f"bad parameter 'b1:{'00' * 32765}' in its plan"[:2047]),
        (
            f"{ONE}{','.join(['i64:1'] * 4096)}",
            "its plan has more than the 32764 bytes of arguments that a launch takes",
        ),
        (
            f"inputs=[1];outputs=[]\n{STEP}v0",
            "its plan passes input 0 by value, which is no scalar",
        ),
        (ONE.replace("block=1,1,1", "block=1,1,65"), "bad triple '1,1,65' in its plan"),
        (ONE.replace("cluster=1,1,1", "cluster=17,1,1"), "bad triple '17,1,1' in its plan"),
    ],
)
def test_damaged_plans(text, problem):
    assert native(text, [()], [()]) == problem


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
    }
    plan = Plan(((None, 8), (8,)), ((None, 8),), (Step(**{**usual, **change}),))
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
        check_block(block)
    assert str(caught.value) == problem


def test_wrong_clusters():
    with pytest.raises(SpecError) as caught:
        check_cluster((4, 5, 1))
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
    step = Step("k", ("1", "1", "1"), (1, 1, 1), (Integer(expression),))
    plan = Plan(((None, None),), ((None,),), (step,))
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
                step = Step("k", ("1",) * 3, (1,) * 3, (Integer(f"{a} {b} {name}"),))
                plan = Plan((), (), (step,))
                assert native(str(plan), [], []).endswith(f"i64:{value}"), (a, name, b)


def test_integers_of_any_width_and_bytes():
    inputs = [(300,)]
    for bits in (8, 16, 32, 64):
        for value in (-1, -(1 << bits - 1), (1 << bits - 1) - 1, 300):
            argument = Integer("a0.0" if value == 300 else str(value), bits)
            plan = Plan(((None,),), (), (Step("k", ("1",) * 3, (1,) * 3, (argument,)),))
            answer = native(str(plan), inputs, [])
            if bits == 8 and value == 300:
                problem = "an integer argument of 8 bits is 300"
                assert answer == problem
                with pytest.raises(SpecError, match=problem):
                    plan.evaluate(inputs, [])
                continue
            (launch,) = plan.evaluate(inputs, [])
            assert answer == str(launch)
            assert answer.endswith(f";params=i{bits}:{value}")
            taken = launch.arguments[0]
            assert int.from_bytes(taken.value, "little") == value % (1 << bits)
            assert len(taken.value) == bits // 8
    step = Step("k", ("1",) * 3, (1,) * 3, (Bytes(b"\x01\xffz", 4), Bytes(b"", 1)))
    plan = Plan((), (), (step,))
    assert native(str(plan), [], []) == str(step)
    assert str(step).endswith(";params=b4:01ff7a,b1:")
    for wrong in ("b3:00", "b4:0", "b4:0g", "i24:1", "i:1"):
        text = str(plan).replace("b4:01ff7a,b1:", wrong)
        assert native(text, [], []) == f"bad parameter '{wrong}' in its plan"
