"""What cooperative groups of CUDA are compiled to: the grid's barrier, and memory of the system."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

from pyptx import In, Out, Tile, from_ptx
from pyptx.types import f32, u32

# y[i] = 2 x[i]; grid.sync(); z[i] = y[n - 1 - i]
GRID = """\
.version 8.7
.target sm_80
.address_size 64
.visible .entry reversed(.param .u64 x, .param .u64 y, .param .u64 z)
{
    .reg .pred %p<4>;
    .reg .f32 %f<2>;
    .reg .b32 %r<12>;
    .reg .b64 %d<10>;
    ld.param.u64 %d0, [x];
    ld.param.u64 %d1, [y];
    ld.param.u64 %d2, [z];
    mov.u32 %r0, %envreg2;
    cvt.u64.u32 %d3, %r0;
    mov.u32 %r1, %envreg1;
    cvt.u64.u32 %d4, %r1;
    bfi.b64 %d3, %d4, %d3, 32, 32;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mov.u32 %r5, %nctaid.x;
    mad.lo.s32 %r6, %r2, %r3, %r4;
    mul.wide.u32 %d5, %r6, 4;
    add.u64 %d6, %d0, %d5;
    ld.global.f32 %f0, [%d6];
    add.f32 %f0, %f0, %f0;
    add.u64 %d6, %d1, %d5;
    st.global.f32 [%d6], %f0;
    setp.ne.s64 %p0, %d3, 0;
    @%p0 bra there;
    trap;
there:
    barrier.sync 0;
    setp.ne.u32 %p1, %r4, 0;
    @%p1 bra met;
    setp.eq.u32 %p2, %r2, 0;
    sub.s32 %r7, -2147483647, %r5;
    selp.b32 %r8, %r7, 1, %p2;
    atom.add.SEM.gpu.u32 %r9, [%d3+4], %r8;
again:
    ld.acquire.gpu.u32 %r10, [%d3+4];
    xor.b32 %r11, %r10, %r9;
    setp.gt.s32 %p3, %r11, -1;
    @%p3 bra again;
met:
    barrier.sync 0;
    mul.lo.u32 %r7, %r5, %r3;
    sub.u32 %r7, %r7, 1;
    sub.u32 %r7, %r7, %r6;
    mul.wide.u32 %d7, %r7, 4;
    add.u64 %d7, %d1, %d7;
    ld.global.f32 %f1, [%d7];
    add.u64 %d8, %d2, %d5;
    st.global.f32 [%d8], %f1;
    ret;
}
"""


def made(sem="release", **options):
    return from_ptx(
        GRID.replace("SEM", sem),
        in_specs=(Tile(192, f32),),
        out_specs=(Tile(192, f32), Tile(192, f32)),
        params=(In(0), Out(0), Out(1)),
        grid=3,
        block=64,
        **options,
    )


X = np.arange(192, dtype=np.float32)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_grids_barrier(seed):
    done = made(cooperative=True).emulate(X, sanitize=True, seed=seed)
    assert done.report.findings == ()
    np.testing.assert_array_equal(done.outputs[1], 2 * X[::-1])


def test_the_grids_barrier_in_a_jax_program():
    _, z = jax.jit(made(cooperative=True))(X)
    np.testing.assert_array_equal(z, 2 * X[::-1])


def test_a_barrier_that_releases_nothing():
    found = made("relaxed", cooperative=True).emulate(X, sanitize=True).report.findings
    assert "global-race" in {f.kind for f in found}


def test_other_launches_have_no_barrier_of_the_grid():
    (found,) = made().emulate(X, sanitize=True).report.findings
    assert (found.kind, found.site.location.text) == ("trap", "trap;")


SCRATCH = """\
.version 8.7
.target TARGET
.address_size 64
.visible .entry k(.param .u64 out)
{
    .shared .align 4 .b8 own[256];
    .reg .b32 %r<8>;
    .reg .b64 %d<3>;
    ld.param.u64 %d0, [out];
    mov.u32 %r0, %tid.x;
    shl.b32 %r1, %r0, 2;
    mov.u32 %r2, %reserved_smem_offset_1;
    add.u32 %r2, %r2, %r1;
    mov.u32 %r3, own;
    add.u32 %r3, %r3, %r1;
    st.shared.u32 [%r3], 7;
    st.shared.u32 [%r2+OFFSET], %r0;
    ld.shared.u32 %r4, [%r2+OFFSET];
    ld.shared.u32 %r5, [%r3];
    add.u32 %r4, %r4, %r5;
    mov.u32 %r6, %total_smem_size;
    mad.lo.u32 %r4, %r6, 1000, %r4;
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d0, %d0, %d1;
    st.global.u32 [%d0], %r4;
    ret;
}
"""


def scratch(target, offset):
    kernel = from_ptx(
        SCRATCH.replace("TARGET", target).replace("OFFSET", str(offset)),
        in_specs=(),
        out_specs=(Tile(64, u32),),
        params=(Out(0),),
        grid=1,
        block=64,
    )
    return kernel.emulate(sanitize=True)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_the_systems_shared_memory(target):
    """It is apart from the kernel's own, which is not larger for it."""
    done = scratch(target, 0)
    assert done.report.findings == ()
    np.testing.assert_array_equal(done.outputs[0], np.arange(64) + 256007)


def test_beyond_the_systems_shared_memory():
    assert {f.kind for f in scratch("sm_90a", 1024).report.findings} == {"out-of-bounds"}


TILES = (Path(__file__).parents[1] / "text/corpus/nvcc/tiles.sm_80.ptx").read_text()


def tiles(text, **options):
    kernel = from_ptx(
        text,
        in_specs=(Tile(256, f32),),
        out_specs=(Tile(256, f32),),
        params=(In(0), Out(0)),
        grid=1,
        block=256,
    )
    return kernel.emulate(np.arange(256, dtype=np.float32), sanitize=True, **options).report


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("seed", [None, *range(8)])
def test_reductions_over_tiles_of_several_warps_are_clean(seed, threads):
    assert tiles(TILES, seed=seed, threads=threads).message == ""


def without(text, wanted, place, instead):
    """The text with one of the instructions that `wanted` begins changed."""
    parts = text.split(wanted)
    return wanted.join(parts[:place]) + instead + wanted.join(parts[place:])


# The first bar.warp.sync of the file has nothing to order.
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(
    ("wanted", "place", "instead"),
    [
        *(("bar.warp.sync \t-1;", place, "") for place in (2, 3, 4, 5)),
        ("atom.or.acq_rel", 1, "atom.or.relaxed"),
        ("atom.or.acq_rel", 1, "atom.or.release"),
        ("atom.or.acq_rel", 2, "atom.or.acquire"),
        ("ld.acquire", 1, "ld.relaxed"),
        ("ld.acquire", 2, "ld.relaxed"),
    ],
)
def test_reductions_over_tiles_with_less_order(wanted, place, instead, threads):
    text = without(TILES, wanted, place, instead)
    assert text != TILES
    assert {f.kind for f in tiles(text, threads=threads).findings} == {"shared-race"}
