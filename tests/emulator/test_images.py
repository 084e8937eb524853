"""Copies of pixels of images, against the manual's description of im2col mode in NumPy."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx import EmulationError, Im2col
from pyptx.types import f32

sys.path.insert(0, str(Path(__file__).parents[1] / "tensor_maps"))

import boxes
import images
from images import CASES, STORES

POLICIES = [{"completion": "late"}, {"completion": "eager"}, {"completion": "random", "seed": 1}]


def load(case, x, **options):
    done = images.load_kernel(case).emulate(
        boxes.typed(case, x), images.coordinates(case), images.offsets(case), statistics=False,
        **options,
    )  # fmt: skip
    done.report.check()
    return done.outputs[0]


def store(case, memory, y, **options):
    done = images.store_kernel(case).emulate(memory, boxes.typed(case, y), **options)
    done.report.check()
    return done.outputs[0].view(case.numpy)


@pytest.mark.parametrize("name", CASES)
def test_loads(name):
    case = CASES[name]
    x = images.tensor(case)
    wanted = images.loaded(case, x)
    for policy in POLICIES:
        for sanitize in (True, False):
            found = load(case, x, sanitize=sanitize, **policy)
            assert np.array_equal(found, wanted), policy


@pytest.mark.parametrize("name", STORES)
def test_stores(name):
    case = STORES[name]
    memory, y = boxes.memories(case), images.tensor(case)
    wanted = images.stored(case, y, memory)
    assert not np.array_equal(wanted, y)
    for policy in POLICIES:
        assert np.array_equal(store(case, memory, y, **policy), wanted), policy


def test_a_convolution_of_patches():
    """The manual's first example: a 3 by 3 filter over padded images, offset by offset."""
    shape, pixels = (2, 7, 9, 8), 2 * 7 * 9
    im2col = Im2col((-1, -1), (-1, -1), 8, pixels)
    moves = tuple((w, h) for h in range(3) for w in range(3))
    case = images.Images(f32, shape, im2col, ((0, -1, -1, 0),) * 9, moves)
    x = np.random.default_rng(2).random(shape, np.float32)
    found = load(case, x.view(np.uint32)).view(np.float32)[:, : pixels * 8].reshape(9, *shape)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for (w, h), patch in zip(moves, found, strict=True):
        assert np.array_equal(patch, padded[:, h : h + 7, w : w + 9])


@st.composite
def any_images(draw):
    axes = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 6)) for _ in range(axes + 1))
    lower = tuple(draw(st.integers(-2, 1)) for _ in range(axes))
    upper = tuple(
        draw(st.integers(max(-2, low - n + 1), 2)) for low, n in zip(lower, shape[1:], strict=True)
    )
    ends = [n - 1 + u for n, u in zip(shape[1:], upper, strict=True)]
    inside = [st.integers(a, b) for a, b in zip(lower[::-1], ends[::-1], strict=True)]
    coord = st.tuples(st.sampled_from([0, 4, 8]), *inside, st.integers(0, shape[0]))
    coords = draw(st.lists(coord, min_size=1, max_size=3))
    moves = tuple(tuple(draw(st.integers(0, 4)) for _ in range(axes)) for _ in coords)
    strides = (1, *(draw(st.integers(1, 3)) for _ in range(axes)), 1)
    im2col = Im2col(lower, upper, draw(st.sampled_from([4, 8])), draw(st.integers(1, 40)))
    return images.Images(f32, (*shape, 8), im2col, tuple(coords), moves, strides=strides)


@settings(max_examples=40, deadline=None)
@given(case=any_images(), policy=st.sampled_from(POLICIES))
def test_any_load(case, policy):
    x = images.tensor(case)
    assert np.array_equal(load(case, x, **policy), images.loaded(case, x))


BASE = images.Images(f32, (2, 6, 6, 8), Im2col((0, 0), (-2, -2), 8, 4), ((0, 0, 0, 0),), ((0, 0),))
WRONG = {
    "before the bounding box": (
        replace(BASE, coords=((0, -1, 0, 0),)),
        "coordinate 1 is -1, outside of the bounding box, 0 to 3",
    ),
    "behind the bounding box": (
        replace(BASE, coords=((0, 0, 4, 0),)),
        "coordinate 2 is 4, outside of the bounding box, 0 to 3",
    ),
    "a large offset": (
        replace(BASE, offsets=((0, 300),)), "offset 1 is 300; the range is 0 to 255"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_place_outside_of_the_bounding_box_is_found(name):
    case, note = WRONG[name]
    with pytest.raises(EmulationError) as caught:
        load(case, images.tensor(case))
    assert note in str(caught.value)


def test_what_is_emulated_assembles():
    for case in CASES.values():
        assert images.load_kernel(case).cubin().spill_stores == 0
    for case in STORES.values():
        assert images.store_kernel(case).cubin().spill_stores == 0
