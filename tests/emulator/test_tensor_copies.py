"""Copies of boxes of tensors, against what the manual says of boxes, written with NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx import EmulationError, Layout, OobFill
from pyptx.types import bf16, f16, f32, f64, s64, u8, u16, u32

sys.path.insert(0, str(Path(__file__).parents[1] / "tensor_maps"))

import boxes
from boxes import CASES, NANS, REDUCTIONS, Box

POLICIES = [
    {"completion": "late"},
    {"completion": "eager"},
    {"completion": "reversed"},
    {"completion": "random", "seed": 1},
]


def load(case: Box, x, **options):
    done = boxes.load_kernel(case).emulate(
        boxes.typed(case, x), boxes.coordinates(case), statistics=False, **options
    )
    done.report.check()
    return done.outputs[0]


def store(case: Box, memory, y, op: str = "", **options):
    done = boxes.store_kernel(case, op).emulate(memory, y, statistics=False, **options)
    done.report.check()
    return done.outputs[0]


@pytest.mark.parametrize("name", CASES)
def test_loads(name):
    case = CASES[name]
    x = boxes.tensor(case)
    wanted = boxes.loaded(case, x)
    for policy in POLICIES:
        for sanitize in (True, False):
            found = load(case, x, sanitize=sanitize, **policy)
            assert np.array_equal(found, wanted), policy


@pytest.mark.parametrize("name", CASES)
def test_stores(name):
    case = CASES[name]
    memory, y = boxes.memories(case), boxes.tensor(case)
    wanted = boxes.stored(case, y, memory)
    assert not np.array_equal(wanted, y)
    for policy in POLICIES:
        for sanitize in (True, False):
            found = store(case, memory, boxes.typed(case, y), sanitize=sanitize, **policy)
            assert np.array_equal(found.view(case.numpy), wanted), policy


NAN = {2: 0x7FFF, 4: 0x7FFFFFFF, 8: 0x7FFFFFFFFFFFFFFF}


@pytest.mark.parametrize("name", NANS)
def test_boxes_beyond_the_tensor_are_filled_with_nan(name):
    case = NANS[name]
    x = boxes.tensor(case)
    found = load(case, x)
    assert np.array_equal(found, boxes.loaded(case, x, NAN[case.dtype.bytes]))
    assert np.isnan(boxes.boxes_of(case, found)[-1].view(str(case.dtype.numpy))).any()


COMBINE = {
    "add": lambda a, b: a + b, "min": np.minimum, "max": np.maximum,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "inc": lambda a, b: np.where(a >= b, 0, a + 1),
    "dec": lambda a, b: np.where((a == 0) | (a > b), b, a - 1),
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "op"), REDUCTIONS, ids=str)
def test_reductions(dtype, op):
    case = boxes.reduction(dtype)
    source, y = boxes.reduced(case)
    name = str(dtype.numpy)
    combine = COMBINE[op]
    wanted = boxes.stored(
        case, y.view(case.numpy), source,
        lambda a, b: np.asarray(combine(a.view(name), b.view(name))).astype(name).view(case.numpy),
    )  # fmt: skip
    for policy in POLICIES:
        found = store(case, source, y, op, **policy)
        assert np.array_equal(found.view(case.numpy), wanted), policy


@pytest.mark.parametrize("layout", [Layout.ROW, Layout.TMA_128B])
def test_multicast_reaches_both_ctas(layout):
    case = Box(f32, (20, 40), (8, 32), ((-3, 2), (16, 15)), layout)
    x = boxes.tensor(case)
    both = boxes.loaded(case, x).reshape(1, -1)
    for policy in POLICIES:
        done = boxes.multicast_kernel(case).emulate(
            boxes.typed(case, x), boxes.coordinates(case), statistics=False, **policy
        )
        done.report.check()
        assert np.array_equal(done.outputs[0], np.concatenate([both, both])), policy


# ---- any box -------------------------------------------------------------------------------------


@st.composite
def any_box(draw) -> Box:
    dtype = draw(st.sampled_from([u8, u16, bf16, f32, u32, f64, s64]))
    rank = draw(st.integers(1, 5))
    layout = draw(st.sampled_from(list(boxes.PATTERNS)))
    unit = 16 // dtype.bytes
    most = boxes.SWIZZLES.get(layout, 64) // 16
    outer = rank - 1
    shape = [draw(st.integers(1, 6)) for _ in range(outer)]
    box = [draw(st.integers(1, 5)) for _ in range(outer)]
    strides = [draw(st.integers(1, 4)) for _ in range(outer)]
    last = draw(st.integers(1, 6)) * unit if outer else draw(st.integers(1, 100))
    box.append(draw(st.integers(1, most)) * unit)
    shape.append(last)
    starts = [st.integers(-b - 1, n + 1) for b, n in zip(box[::-1], shape[::-1], strict=True)]
    coords = draw(st.lists(st.tuples(*starts), min_size=1, max_size=3))
    fills = list(OobFill) if dtype in (bf16, f16, f32, f64) else [OobFill.ZEROS]
    return Box(
        dtype, tuple(shape), tuple(box), tuple(coords), layout, (*strides, 1),
        draw(st.sampled_from(fills)),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(case=any_box(), policy=st.sampled_from(POLICIES))
def test_any_load(case, policy):
    x = boxes.tensor(case)
    fill = NAN[case.dtype.bytes] if case.fill is OobFill.NAN else 0
    assert np.array_equal(load(case, x, **policy), boxes.loaded(case, x, fill))


@settings(max_examples=60, deadline=None)
@given(case=any_box(), policy=st.sampled_from(POLICIES))
def test_any_store(case, policy):
    memory, y = boxes.memories(case), boxes.tensor(case)
    found = store(case, memory, boxes.typed(case, y), **policy)
    assert np.array_equal(found.view(case.numpy), boxes.stored(case, y, memory))


def test_what_a_reduction_lacks_is_a_finding():
    case = Box(f32, (4, 8), (4, 8), ((0, 0),))
    with pytest.raises(EmulationError) as caught:
        store(case, boxes.memories(case), np.zeros(case.shape, np.float32), "inc")
    assert "there is no reduction .inc of elements of type f32" in str(caught.value)
