"""Tensor maps of kernels that are called: NumPy, jit, vmap, sequences, exported programs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tensor_maps"))

import groups

import pyptx
from pyptx import Layout, Tile, kernel, ptx, reg, sequence, smem
from pyptx.types import f32, u32

jax = pytest.importorskip("jax", reason="most of it is about programs of JAX")


def through(parallel=()):
    """A kernel that copies X to Y, 8 by 16 at a time, through swizzled shared memory."""

    @kernel(
        in_specs=(Tile("B", "N", f32, Layout.TMA_64B, tma_box=(8, 16)),),
        out_specs=(Tile("B", "N", f32, Layout.TMA_64B, tma_box=(8, 16)),),
        grid=lambda B, N: (ptx.cdiv(N, 16), ptx.cdiv(B, 8), 1),
        block=(32, 1, 1),
        parallel=parallel,
    )  # fmt: skip
    def through(X, Y):
        tile = smem.alloc(f32, (8, 16), align=512)
        bar = smem.mbarrier()
        x, y = X.tma_desc(), Y.tma_desc()
        one = reg.from_(ptx.special.tid.x(), u32) == 0
        at = [ptx.special.ctaid.x() << 4, ptx.special.ctaid.y() << 3]
        bar.init(1, pred=one)
        ptx.bar.sync(0)
        bar.arrive_expect_tx(x.bytes, pred=one)
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=x, coord=at, mbar=bar, pred=one)
        bar.wait(0)
        with ptx.if_(one):
            ptx.cp.async_.bulk.tensor_2d.store(dst=y, src=tile, coord=at)
            ptx.cp.async_.bulk.commit_group()
            ptx.cp.async_.bulk.wait_group(0)

    return through


ROWS = through(parallel=("B",))
FIXED = through()


def array(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("program", [ROWS, FIXED])
@pytest.mark.parametrize("rows", [1, 8, 13])
def test_numpy_and_jit_agree(program, rows):
    x = array(rows, 36)
    assert np.array_equal(program(x), x)
    assert np.array_equal(jax.jit(program)(x), x)
    program.emulate(x).report.check()


def test_the_plan_says_how_the_map_is_made():
    x = jax.ShapeDtypeStruct((13, 36), np.float32)
    text = jax.jit(ROWS).lower(x).as_text()
    assert (
        "params=a0,r0,i64:a0.0,"
        "map:a0:X:f32:a0.0|36:144:8|16:1|1:0:2:0:0,map:r0:Y:f32:a0.0|36:144:8|16:1|1:0:2:0:0"
    ) in text
    assert ROWS.ptx(N=36).count(".param .align 128 .b8") == 2


@pytest.mark.parametrize("columns", groups.COLUMNS)
def test_a_box_ends_with_its_group_of_a_split_axis(columns):
    x = array(5, columns)
    wanted = groups.boxes_of_whole_groups(x)
    run = groups.boxes_of_groups.emulate(x)
    run.report.check()
    assert np.array_equal(run.outputs[0], wanted)
    assert np.array_equal(jax.jit(groups.boxes_of_groups)(x), wanted)
    three = np.stack([x, 2 * x, -x])
    mapped = jax.vmap(groups.boxes_of_groups)(three)
    assert np.array_equal(mapped, [groups.boxes_of_whole_groups(each) for each in three])


def test_the_plan_has_the_axes_of_a_split_map():
    text = jax.jit(groups.boxes_of_groups).lower(np.zeros((5, 144), np.float32)).as_text()
    axes = "a0.0|1 a0.1 48 // max|48 a0.1 min:4 a0.1 *|192:1|1|32:1|1|1:0:0:0:0"
    assert f"map:a0:X:f32:{axes}" in text


def test_an_array_that_is_not_aligned_is_copied():
    x = np.zeros(13 * 36 + 1, np.float32)[1:].reshape(13, 36)
    x[...] = array(13, 36)
    assert np.array_equal(ROWS(x), x)


def test_vmap_folds_into_a_parallel_dimension():
    """One launch whose map has the rows of all elements."""
    x = array(3, 2, 16, 16)
    both = jax.vmap(jax.vmap(ROWS))
    assert np.array_equal(both(x), x)
    assert str(jax.make_jaxpr(both)(x)).count("pyptx_launch") == 1


def test_vmap_of_a_fixed_dimension_runs_once_per_element():
    x = array(3, 5, 20)
    assert np.array_equal(jax.vmap(FIXED)(x), x)
    assert "scan" in str(jax.make_jaxpr(jax.vmap(FIXED))(x))


@kernel(
    in_specs=(Tile("N", f32), Tile("M", "K", f32, tma_box=(4, 8))),
    out_specs=(Tile("N", f32),),
    grid=(1, 1, 1), block=(32, 1, 1),
)  # fmt: skip
def add_corner(X, W, Y):
    """Adds W's first element; only X is mapped by vmap, so the map of W serves all elements."""
    tile = smem.alloc(f32, (4, 8), align=128)
    bar = smem.mbarrier()
    x, y = ptx.global_ptrs(X, Y)
    w = W.tma_desc()
    lane = reg.from_(ptx.special.tid.x(), u32)
    one = lane == 0
    bar.init(1, pred=one)
    ptx.bar.sync(0)
    bar.arrive_expect_tx(w.bytes, pred=one)
    ptx.cp.async_.bulk.tensor_2d(dst=tile, src=w, coord=[0, 0], mbar=bar, pred=one)
    bar.wait(0)
    at = lane * 4
    value = ptx.inst.ld.global_.f32(ptx.addr(x + at)) + tile[0, 0]
    ptx.inst.st.global_.f32(ptx.addr(y + at), value)


def test_a_tensor_that_is_not_mapped_keeps_its_map():
    x, w = jax.numpy.asarray(array(5, 32)), jax.numpy.asarray(array(4, 8))
    mapped = jax.vmap(add_corner, in_axes=(0, None))
    assert np.array_equal(mapped(x, w), x + w[0, 0])
    assert "scan" not in str(jax.make_jaxpr(mapped)(x, w))


def test_a_step_reads_what_an_earlier_one_wrote():
    @sequence(in_specs=ROWS.in_specs, out_specs=ROWS.out_specs, parallel=("B",))
    def twice(X):
        return ROWS(ROWS(X))

    x = array(13, 36)
    assert np.array_equal(twice(x), x)
    assert np.array_equal(jax.jit(twice)(x), x)
    assert "params=e1,r0,i64:a0.0,map:e1:X:f32:a0.0|36:" in jax.jit(twice).lower(x).as_text()


def test_exported_with_a_symbolic_size():
    """The map is made from the sizes of each call, so one program serves all of them."""
    (rows,) = jax.export.symbolic_shape("rows")
    exported = jax.export.export(jax.jit(ROWS), disabled_checks=pyptx.export_safety_checks())(
        jax.ShapeDtypeStruct((rows, 36), np.float32)
    )
    again = jax.export.deserialize(exported.serialize(vjp_order=0))
    for size in (3, 24):
        x = array(size, 36)
        assert np.array_equal(jax.jit(again.call)(x), x)


def test_a_program_says_which_rule_the_sizes_of_a_call_break():
    """Sizes that are symbolic until the program runs are checked there."""
    columns = kernel(
        in_specs=(Tile("B", "N", f32, tma_box=(1, 4)),),
        out_specs=(Tile("B", "N", f32, partial=True),),
        grid=(1, 1, 1), block=(32, 1, 1), parallel=("B", "N"),
    )(_describe_only)  # fmt: skip
    (n,) = jax.export.symbolic_shape("n")
    exported = jax.export.export(jax.jit(columns), disabled_checks=pyptx.export_safety_checks())(
        jax.ShapeDtypeStruct((2, n), np.float32)
    )
    assert exported.call(np.zeros((2, 8), np.float32)).shape == (2, 8)
    with pytest.raises(Exception, match="the stride of axis 0 is 36 bytes; it must be a multiple"):
        np.asarray(exported.call(np.zeros((2, 9), np.float32)))


def _describe_only(X, Y):
    X.tma_desc()


def test_sharded_rows_have_maps_of_their_own():
    """Each device's map is that of its part; no all-gather."""
    devices = jax.devices()
    if len(devices) < 4:
        pytest.skip("needs four devices of the CPU")
    mesh = jax.sharding.Mesh(np.array(devices[:4]), ("d",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d", None))
    x = array(32, 48)
    compiled = jax.jit(ROWS).lower(jax.device_put(x, sharding)).compile()
    assert np.array_equal(compiled(jax.device_put(x, sharding)), x)
    assert not pyptx.collectives(compiled)
