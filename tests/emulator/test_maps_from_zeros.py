"""Tensor maps that a kernel makes in memory that it has filled with zeros, as Triton's do."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import In, Out, Tile, from_ptx
from pyptx.types import f32, u32

# Of a tensor (ROWS, 32) of f32, its row 3. The map is made in shared memory and copied to global.
TEXT = """\
.version 8.3
.target sm_90a
.address_size 64
.visible .entry rows(.param .u64 x, .param .u64 maps, .param .u64 y)
{
    .reg .pred %p<4>;
    .reg .b32 %r<12>;
    .reg .b64 %d<8>;
    .shared .align 128 .b8 map[128];
    .shared .align 128 .b8 tile[128];
    .shared .align 8 .b64 full;
    ld.param.u64 %d0, [x];
    ld.param.u64 %d1, [maps];
    ld.param.u64 %d2, [y];
    mov.u32 %r0, %tid.x;
    shl.b32 %r1, %r0, 2;
    mov.u32 %r2, map;
    add.u32 %r3, %r2, %r1;
    ZEROS
    bar.warp.sync 0xffffffff;
    setp.ne.u32 %p0, %r0, 0;
    mov.b64 %d3, 128;
    @%p0 bra made;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r2], %d0;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r2], 1;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 0, 32;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 1, 1;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 0, 32;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 1, 8;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r2], 0, %d3;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 0, 1;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 1, 1;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r2], 0x7;
    tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r2], 0x0;
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r2], 0x0;
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r2], 0x0;
made:
    bar.warp.sync 0xffffffff;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
        [%d1], [%r2], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;
    mov.u32 %r4, full;
    mov.u32 %r5, tile;
    @%p0 bra wait;
    mbarrier.init.shared.b64 [%r4], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 128;
    mov.u32 %r6, 0;
    mov.u32 %r7, 3;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
        [%r5], [%d1, {%r6, %r7}], [%r4];
wait:
    bar.sync 0;
again:
    mbarrier.try_wait.parity.shared.b64 %p1, [%r4], 0;
    @!%p1 bra again;
    add.u32 %r8, %r5, %r1;
    ld.shared.b32 %r9, [%r8];
    mul.wide.u32 %d4, %r0, 4;
    add.u64 %d5, %d2, %d4;
    st.global.b32 [%d5], %r9;
    ret;
}
"""
X = np.arange(256, dtype=np.float32).reshape(8, 32)


def ran(text, **options):
    kernel = from_ptx(
        text,
        in_specs=(Tile(8, 32, f32),),
        out_specs=(Tile(32, u32, partial=True), Tile(32, f32, partial=True)),
        params=(In(0), Out(0), Out(1)),
        grid=1,
        block=32,
    )
    return kernel.emulate(X, **options)


@pytest.mark.parametrize("sanitize", [True, False])
def test_every_field_is_set(sanitize):
    done = ran(TEXT.replace("ZEROS", "st.shared.b32 [%r3], 0;"), sanitize=sanitize)
    assert done.report.message == ""
    np.testing.assert_array_equal(done.outputs[1], X[3])


@pytest.mark.parametrize(
    "line",
    [
        "box_dim.shared::cta.b1024.b32 [%r2], 1, 1",
        "element_stride.shared::cta.b1024.b32 [%r2], 0, 1",
    ],
)
def test_a_field_is_not_set(line):
    text = TEXT.replace("ZEROS", "st.shared.b32 [%r3], 0;")
    without = text.replace(f"    tensormap.replace.tile.{line};\n", "")
    assert without != text
    (found,) = ran(without).report.findings
    assert found.kind == "bad-copy"


def test_memory_that_is_neither_a_map_nor_zeros():
    (found,) = ran(TEXT.replace("ZEROS", "st.shared.b32 [%r3], 5;")).report.findings
    assert (found.kind, found.note) == ("bad-copy", "the tensor map: there is no tensor map here")


def test_memory_that_is_not_filled():
    kinds = {f.kind for f in ran(TEXT.replace("ZEROS", ""), sanitize=True).report.findings}
    assert "uninitialised-memory" in kinds
