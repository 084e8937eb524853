"""Tensor maps on this GPU, against the emulator: every rank, layout and type, bit by bit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tensor_maps"))

import boxes
import changed
import groups
import images
from boxes import ATOMS, CASES, NANS, REDUCTIONS, Box

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

jax = pytest.importorskip("jax", reason="the kernels are launched from JAX")

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def hopper(device):
    """Tensor maps need compute capability 9.0 or more, and JAX a CUDA plugin."""
    del device
    try:
        capability = jax.devices("gpu")[0].compute_capability
    except RuntimeError as error:
        pytest.skip(f"JAX has no GPU: {error}")
    if float(capability) < 9.0:
        pytest.skip(f"a device of compute capability {capability} has no tensor maps")


def on_gpu(program, *arrays):
    """The one result of a kernel on the GPU, on its bits as they are."""
    # 64-bit types would become 32-bit ones.
    with jax.enable_x64(True), jax.default_device(jax.devices("gpu")[0]):
        return np.asarray(jax.jit(program)(*(jax.numpy.asarray(array) for array in arrays)))


def emulated(program, *arrays):
    return program.emulate(*arrays, statistics=False, sanitize=False).outputs[0]


def same(case: Box | images.Images, program, *arrays) -> None:
    found, wanted = on_gpu(program, *arrays), emulated(program, *arrays)
    assert found.dtype == wanted.dtype
    assert np.array_equal(np.atleast_1d(found).view(np.uint8), np.atleast_1d(wanted).view(np.uint8))


@pytest.mark.parametrize("name", CASES)
def test_loads(name):
    case = CASES[name]
    x = boxes.typed(case, boxes.tensor(case))
    same(case, boxes.load_kernel(case), x, boxes.coordinates(case))


@pytest.mark.parametrize("name", CASES)
def test_stores(name):
    case = boxes.for_stores(CASES[name])
    y = boxes.typed(case, boxes.tensor(case))
    same(case, boxes.store_kernel(case), boxes.memories(case), y)


def same_or_refused(case: Box, program, *arrays) -> None:
    """Swizzles that move more than 16 bytes as a whole need compute capability 10.0 or more.

    A device with less says that the kernel has no code for it, before it sees a tensor map.
    """
    capability = jax.devices("gpu")[0].compute_capability
    if float(capability) >= 10.0:
        same(case, program, *arrays)
        return
    # JAX raises the second from its C++ dispatch, once a jitted function has run before.
    with pytest.raises(
        (jax.errors.JaxRuntimeError, ValueError),
        match=rf"compute capability {capability} and the program holds code for {case.arch} only",
    ):
        on_gpu(program, *arrays)


@pytest.mark.parametrize("name", ATOMS)
def test_loads_in_wider_atoms(name):
    case = ATOMS[name]
    x = boxes.typed(case, boxes.tensor(case))
    same_or_refused(case, boxes.load_kernel(case), x, boxes.coordinates(case))


@pytest.mark.parametrize("name", [name for name in ATOMS if "FLIP" not in name])
def test_stores_in_wider_atoms(name):
    case = boxes.for_stores(ATOMS[name])
    y = boxes.typed(case, boxes.tensor(case))
    same_or_refused(case, boxes.store_kernel(case), boxes.memories(case), y)


@pytest.mark.parametrize("name", images.CASES)
def test_loads_of_images(name):
    case = images.CASES[name]
    x = boxes.typed(case, images.tensor(case))
    same(case, images.load_kernel(case), x, images.coordinates(case), images.offsets(case))


@pytest.mark.parametrize("name", images.STORES)
def test_stores_of_images(name):
    case = images.STORES[name]
    y = boxes.typed(case, images.tensor(case))
    same(case, images.store_kernel(case), boxes.memories(case), y)


@pytest.mark.parametrize("how", ["shared", "global"])
def test_maps_that_are_changed(how):
    """Compared with what is wanted: the kernel gives the map too, whose bytes are the driver's."""
    x, starts = changed.groups()
    program = changed.grouped_kernel(len(starts) - 1, 2, how)
    found = on_gpu(lambda *arrays: program(*arrays)[0], x, starts)
    assert np.array_equal(found, changed.grouped(x, starts, 2))


def test_every_field_of_a_map_is_changed():
    program = changed.fields_kernel()
    x, w = np.zeros((4, 64), np.uint32), np.random.default_rng(1).random((20, 24), np.float32)
    found = on_gpu(lambda *arrays: program(*arrays)[0], x, w)
    assert np.array_equal(found, program.emulate(x, w).outputs[0])


@pytest.mark.parametrize("name", NANS)
def test_boxes_beyond_the_tensor_are_filled_with_nan(name):
    """The manual does not say which NaN, so only that there is one is compared."""
    case = NANS[name]
    x = boxes.typed(case, np.where(boxes.tensor(case) % 2 == 0, 0, 1).astype(case.numpy))
    program, coords = boxes.load_kernel(case), boxes.coordinates(case)
    found, wanted = on_gpu(program, x, coords), emulated(program, x, coords)
    values = [boxes.boxes_of(case, each).view(x.dtype) for each in (found, wanted)]
    missing = [np.isnan(each) for each in values]
    assert missing[1].any()
    assert np.array_equal(*missing)
    bits = [np.where(m, 0, v.view(case.numpy)) for m, v in zip(missing, values, strict=True)]
    assert np.array_equal(*bits)


@pytest.mark.parametrize("columns", groups.COLUMNS)
def test_boxes_end_with_the_groups_of_a_split_axis(columns):
    x = np.random.default_rng(columns).standard_normal((5, columns)).astype(np.float32)
    assert np.array_equal(on_gpu(groups.boxes_of_groups, x), groups.boxes_of_whole_groups(x))


@pytest.mark.parametrize(("dtype", "op"), REDUCTIONS, ids=str)
def test_reductions(dtype, op):
    case = boxes.reduction(dtype)
    source, y = boxes.reduced(case)
    same(case, boxes.store_kernel(case, op), source, y)


@pytest.mark.parametrize("layout", [Layout.ROW, Layout.TMA_128B])
def test_multicast_reaches_both_ctas(layout):
    case = boxes.multicast(layout)
    x = boxes.typed(case, boxes.tensor(case))
    same(case, boxes.multicast_kernel(case), x, boxes.coordinates(case))


@kernel(
    in_specs=(Tile("B", "N", f32, Layout.TMA_128B, tma_box=(32, 32)),),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B, N: (N // 32, ptx.cdiv(B, 32), 1),
    block=(32, 1, 1),
    parallel=("B",),
)
def through_shared(X, Y):
    """A copy of X, 32 by 32 at a time: loaded and stored by maps of different layouts and boxes."""
    tile = smem.alloc(f32, (32, 32), align=1024)
    plain = smem.alloc(f32, (32, 32), align=128)
    bar = smem.mbarrier()
    x, y = X.tma_desc(), Y.tma_desc((32, 32))
    lane = reg.from_(ptx.special.tid.x(), u32)
    one = lane == 0
    at = [ptx.special.ctaid.x() << 5, ptx.special.ctaid.y() << 5]
    bar.init(1, pred=one)
    ptx.bar.sync(0)
    bar.arrive_expect_tx(x.bytes, pred=one)
    ptx.cp.async_.bulk.tensor_2d(dst=tile, src=x, coord=at, mbar=bar, pred=one)
    bar.wait(0)
    base = reg.from_(tile, u32)
    for row in range(32):
        # Chunk c of a row stands at c ^ (row % 8), as the manual's table of 128-byte swizzles says.
        place = (lane ^ (row % 8 * 4)) << 2
        plain[row, lane] = ptx.inst.ld.shared.f32(ptx.addr(base + place, 128 * row))
    ptx.inst.fence.proxy.async_.shared__cta()
    ptx.bar.sync(0)
    with ptx.if_(one):
        ptx.cp.async_.bulk.tensor_2d.store(dst=y, src=plain, coord=at)
        ptx.cp.async_.bulk.commit_group()
        ptx.cp.async_.bulk.wait_group(0)


@pytest.mark.parametrize("rows", [1, 31, 32, 100])
def test_one_program_serves_all_sizes_of_a_parallel_dimension(rows):
    x = np.random.default_rng(rows).standard_normal((rows, 64)).astype(np.float32)
    assert np.array_equal(on_gpu(through_shared, x), x)


def test_vmap_and_graphs_of_many_launches():
    """The map is encoded at every launch, from the buffers of that launch."""
    x = np.random.default_rng(0).standard_normal((4, 48, 64)).astype(np.float32)
    assert np.array_equal(on_gpu(jax.vmap(through_shared), x), x)

    def repeated(x):
        step = lambda x, _: (through_shared(x) + 1, None)
        return jax.lax.scan(step, x, None, length=8)[0]

    assert np.allclose(on_gpu(repeated, x[0]), x[0] + 8, atol=1e-5)
