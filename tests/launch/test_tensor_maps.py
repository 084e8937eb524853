"""Tensor maps in plans: Python and the native library read and evaluate them alike."""
# ruff: noqa: E501 -- whole messages stand on their lines

import ctypes
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx._launch.plan import EarlierResult, InputAddress, MapArgument, OutputAddress, Plan, Step
from pyptx._layouts import Im2col, L2Promotion, Layout, MapError, OobFill, TensorMap
from pyptx._layouts.tensor_map import DATA_TYPES
from pyptx._native import loader
from pyptx.errors import SpecError
from pyptx.types import DTYPES, f32

SHAPES = [(6, 8), (5, 16, 4)]


def native(plan: str, inputs=SHAPES, outputs=SHAPES[:1]) -> str:
    shapes = (*inputs, *outputs)
    ranks = (ctypes.c_int32 * len(shapes))(*map(len, shapes))
    sizes = [size for shape in shapes for size in shape]
    dims = (ctypes.c_int64 * len(sizes))(*sizes)
    out = ctypes.create_string_buffer(4096)
    loader.ffi_library().pyptx_plan_evaluate(
        plan.encode(), ranks, len(inputs), len(outputs), dims, out, ctypes.c_size_t(4096)
    )
    return out.value.decode()


def python(plan: Plan) -> str:
    try:
        return "\n".join(map(str, plan.evaluate(SHAPES, SHAPES[:1])))
    except SpecError as error:
        return error.problem


def plan_of(*maps: MapArgument, grid: str = "1") -> Plan:
    anything = [tuple(None for _ in shape) for shape in SHAPES]
    step = Step("k", (grid, "1", "1"), (32, 1, 1), (InputAddress(0), *maps))
    return Plan(tuple(anything), (anything[0],), (step,))


SIZES = st.sampled_from(
    ["1", "0", "16", "a0.0", "a0.1", "a1.2 4 *", "a0.0 9 -", str(2**32), str(2**33)]
)
STRIDES = st.sampled_from(["16", "48", "a0.1 4 *", "a0.0", "a0.1 4 * a1.0 *", str(2**40), "0 16 -"])


@st.composite
def any_map(draw) -> MapArgument:
    rank = draw(st.integers(1, 5))
    described = TensorMap(
        DTYPES[draw(st.sampled_from(sorted(DATA_TYPES)))],
        tuple(draw(st.lists(st.integers(1, 256), min_size=rank, max_size=rank))),
        (*draw(st.lists(st.integers(1, 8), min_size=rank - 1, max_size=rank - 1)), 1),
        draw(st.sampled_from(Layout)),
        draw(st.sampled_from(L2Promotion)),
        draw(st.sampled_from(OobFill)),
    )
    if rank > 2 and draw(st.booleans()):
        corners = st.lists(st.integers(-4, 4), min_size=rank - 2, max_size=rank - 2).map(tuple)
        images = Im2col(draw(corners), draw(corners), 8, draw(st.integers(1, 1024)))
        described = replace(described, box=(images.pixels, 8), im2col=images)
    try:
        described.check()
    except MapError:
        described = TensorMap(f32, (8,) * rank, (1,) * rank)
    buffer = draw(st.sampled_from([InputAddress(1), OutputAddress(0), EarlierResult(0)]))
    sizes = draw(st.lists(SIZES, min_size=rank, max_size=rank))
    strides = draw(st.lists(STRIDES, min_size=rank - 1, max_size=rank - 1))
    return MapArgument(buffer, "X", described, tuple(sizes), tuple(strides))


@settings(max_examples=300, deadline=None)
@given(maps=st.lists(any_map(), min_size=1, max_size=3), grid=st.sampled_from(["1", "a0.0", "0"]))
def test_both_evaluate_alike(maps, grid):
    plan = plan_of(*maps, grid=grid)
    assert python(plan) == native(str(plan))


def test_a_map_of_images_ends_with_its_corners():
    images = Im2col((-1, 0), (2, -3), 4, 100)
    layout = Layout.ROW
    described = TensorMap(f32, (100, 4), (1, 2, 3, 1), layout, im2col=images)
    argument = MapArgument(
        InputAddress(1), "X", described, ("5", "16", "8", "4"), ("512", "32", "16")
    )
    plan = plan_of(argument)
    assert str(argument) == "map:a1:X:f32:5|16|8|4:512|32|16:100|4:1|2|3|1:0:0:0:0:-1|0:2|-3"
    assert python(plan) == native(str(plan))
    empty = replace(argument, sizes=("5", "16", "2", "4"))
    problem = "the tensor map of X: the bounding box is empty along axis 2: it goes from 0 to -2"
    assert problem in native(str(plan_of(empty)))
    assert python(plan_of(empty)) == problem


def test_a_map_is_a_short_text():
    described = TensorMap(f32, (4, 8), (2, 1), Layout.TMA_32B, L2Promotion.B256, OobFill.NAN)
    argument = MapArgument(OutputAddress(0), "Y", described, ("a0.0", "8"), ("32",))
    plan = plan_of(argument)
    assert str(argument) == "map:r0:Y:f32:a0.0|8:32:4|8:2|1:0:1:3:1"
    assert python(plan) == native(str(plan))
    assert "map:r0:Y:f32:6|8:32:4|8:2|1:0:1:3:1" in python(plan)


GOOD = "map:a0:X:f32:6|8:32:4|8:1|1:0:1:0:0"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("map:", "bad tensor map '' in its plan"),
        (GOOD.replace(":f32:", ":f33:"), f"bad tensor map '{GOOD[4:].replace('f32', 'f33')}' in its plan"),
        (GOOD.replace("a0", "b0"), f"bad tensor map '{GOOD[4:].replace('a0', 'b0')}' in its plan"),
        (GOOD.replace("a0", "a9"), "its plan names a buffer that does not exist"),
        (GOOD.replace("6|8", "a7.0|8"), "its plan names a dimension that no buffer has"),
        (GOOD.replace(":32:", ":32|4:"), "bad axes '32|4' in its plan"),
        (GOOD.replace("4|8", "4"), f"bad tensor map '{GOOD[4:].replace('4|8', '4')}' in its plan"),
        (GOOD.replace("4|8", "4|80"), "the tensor map of X: its box has 320 bytes along the last axis, and the swizzle's span 32"),
        (GOOD.replace("4|8", "999|8"), "the tensor map of X: its box has 999 elements along an axis; the range is 1 to 256"),
        (GOOD.replace("1|1:", "1|2:"), "the tensor map of X: its element stride along the last axis must be 1"),
    ],
)  # fmt: skip
def test_damaged_maps(text, problem):
    plan = str(plan_of()).replace("params=a0", f"params=a0,{text}")
    assert native(plan) == problem
