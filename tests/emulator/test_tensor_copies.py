"""Copies of boxes of tensors, against what the manual says of boxes, written with NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyptx import EmulationError, Layout, OobFill, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f16, f32, f64, s64, u8, u16, u32

sys.path.insert(0, str(Path(__file__).parents[1] / "tensor_maps"))

import boxes
from boxes import ATOMS, CASES, NANS, REDUCTIONS, Box

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


@pytest.mark.parametrize("name", CASES | ATOMS)
def test_loads(name):
    case = (CASES | ATOMS)[name]
    x = boxes.tensor(case)
    wanted = boxes.loaded(case, x)
    for policy in POLICIES:
        for sanitize in (True, False):
            found = load(case, x, sanitize=sanitize, **policy)
            assert np.array_equal(found, wanted), policy


BOTH_WAYS = CASES | {name: case for name, case in ATOMS.items() if "FLIP" not in name}


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_stores(name):
    case = boxes.for_stores(BOTH_WAYS[name])
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
    case = boxes.multicast(layout)
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
def any_box(draw, *, store: bool = False) -> Box:
    dtype = draw(st.sampled_from([u8, u16, bf16, f32, u32, f64, s64]))
    rank = draw(st.integers(1, 5))
    flips = Layout.TMA_128B_ATOM_32B_FLIP_8B
    layout = draw(
        st.sampled_from([each for each in boxes.PATTERNS if not (store and each is flips)])
    )
    unit = 16 // dtype.bytes
    span = None if layout is Layout.ROW else layout.swizzle.span
    pieces = st.integers(1, 4) if span is None else st.just(span // 16)
    outer = rank - 1
    shape = [draw(st.integers(1, 6)) for _ in range(outer)]
    box = [draw(st.integers(1, 5)) for _ in range(outer)]
    strides = [draw(st.integers(1, 4)) for _ in range(outer)]
    last = draw(st.integers(1, 6)) * unit if outer else draw(st.integers(1, 100))
    box.append(draw(pieces) * unit)
    shape.append(last)
    starts = [
        st.integers(0 if store else -b // u - 1, n // u + 1).map(lambda start, u=u: start * u)
        for b, n, u in zip(box[::-1], shape[::-1], (unit, *[1] * outer), strict=True)
    ]
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
@given(case=any_box(store=True), policy=st.sampled_from(POLICIES))
def test_any_store(case, policy):
    memory, y = boxes.memories(case), boxes.tensor(case)
    found = store(case, memory, boxes.typed(case, y), **policy)
    assert np.array_equal(found.view(case.numpy), boxes.stored(case, y, memory))


@pytest.mark.parametrize(
    ("dtype", "op"), [(f32, "inc"), (s64, "and"), (s64, "or"), (s64, "xor")], ids=str
)
def test_what_a_reduction_lacks_is_a_finding(dtype, op):
    case = Box(dtype, (4, 8), (4, 8), ((0, 0),))
    with pytest.raises(EmulationError) as caught:
        store(case, boxes.memories(case), np.zeros(case.shape, str(dtype.numpy)), op)
    assert f"there is no reduction .{op} of elements of type {dtype}" in str(caught.value)


# ---- rows that are gathered and scattered --------------------------------------------------------

ROWS = ((5, 0, 5, 11), (-1, 3, 12, 2))


@kernel(
    in_specs=(
        Tile(12, 40, f32, Layout.TMA_64B, tma_box=(1, 16)),
        Tile(12, 40, f32, Layout.TMA_64B, tma_box=(1, 16)),
    ),
    out_specs=(Tile(12, 40, f32, Layout.TMA_64B, tma_box=(1, 16)),),
    input_output_aliases={1: 0},
    grid=(1, 1, 1), block=(32, 1, 1), arch="sm_100a",
)  # fmt: skip
def move_rows(X, Y0, Y):
    """Gathers four rows of X, and scatters them to the rows after them in Y."""
    tile = smem.alloc(f32, (8, 16), align=512)
    bar = smem.mbarrier()
    x, y = X.tma_desc(), Y.tma_desc()
    one = reg.from_(ptx.special.tid.x(), u32) == 0
    tensor = ptx.inst.cp.async_.bulk.tensor._2d
    gather = tensor.shared__cta.global_.tile__gather4.mbarrier__complete_tx__bytes
    scatter = tensor.global_.shared__cta.tile__scatter4.bulk_group
    bar.init(1, pred=one)
    ptx.bar.sync(0)
    bar.arrive_expect_tx(4 * len(ROWS) * x.bytes, pred=one)
    for k, rows in enumerate(ROWS):
        place = tile.address(4 * k, 0)
        gather(place, ptx.addr(x, [32, *rows]), bar, pred=one)
    bar.wait(0)
    with ptx.if_(one):
        for k, rows in enumerate(ROWS):
            scatter(ptx.addr(y, [28, *(row + 1 for row in rows)]), tile.address(4 * k, 0))
        ptx.cp.async_.bulk.commit_group()
        ptx.cp.async_.bulk.wait_group(0)


def test_rows_are_gathered_and_scattered():
    x = np.arange(12 * 40, dtype=np.float32).reshape(12, 40)
    wanted = np.full_like(x, -1)
    for row in (row for rows in ROWS for row in rows):
        if 0 <= row + 1 < 12:
            wanted[row + 1, 28:] = 0
            if 0 <= row < 12:
                wanted[row + 1, 28:36] = x[row, 32:]
    for policy in POLICIES:
        done = move_rows.emulate(x, np.full_like(x, -1), **policy)
        done.report.check()
        assert np.array_equal(done.outputs[0], wanted), policy


def test_what_is_emulated_assembles():
    """The kernels of this file, for the targets that have the instructions."""
    names = ("rank 1", "rank 5", "TMA_128B of bf16", "every third of an odd box", "NaN of f16")
    known = CASES | NANS
    kernels = [
        move_rows,
        boxes.multicast_kernel(boxes.multicast(Layout.ROW)),
        *(boxes.load_kernel(known[name]) for name in names),
        *(boxes.load_kernel(case) for case in ATOMS.values()),
        *(boxes.store_kernel(boxes.reduction(dtype), op) for dtype, op in REDUCTIONS[::9]),
    ]
    for each in kernels:
        assert each.cubin().spill_stores == 0
