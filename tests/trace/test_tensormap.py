"""`ptx.tensormap`, instruction by instruction."""

import numpy as np
import pytest

from pyptx import Layout, OobFill, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32, u64


def written(body):
    """The instructions that a body appends, for one tensor."""
    made = kernel(
        in_specs=(Tile(64, 64, f32, tma_box=(8, 32)),),
        out_specs=(Tile(64, 64, f32),),
        arch="sm_90a",
    )(body)
    assert made.cubin().spill_stores == 0
    lines = [line.strip().rstrip(";") for line in made.ptx().splitlines()]
    return [line for line in lines if line.startswith(("tensormap", "fence", "@", "ld.b32", "bar"))]


def test_fields_count_from_the_last_axis():
    def body(X, Y):
        mine = smem.alloc(u32, 32, align=128, name="mine")
        address, stride = reg.scalar(u64, init=0), reg.scalar(u64, init=256)
        rows = reg.scalar(u32, init=9)
        ptx.tensormap.replace(
            mine, global_address=address, rank=2, global_dim=(rows, 64), global_stride=(stride,),
            box_dim=(None, 16), element_stride=(2, None), elemtype=bf16, layout=Layout.TMA_32B,
            fill_mode=OobFill.NAN,
        )  # fmt: skip

    found = [line.removeprefix("tensormap.replace.tile.") for line in written(body)]
    assert found == [
        "global_address.shared::cta.b1024.b64 [mine], %ud0",
        "rank.shared::cta.b1024.b32 [mine], 1",
        "global_dim.shared::cta.b1024.b32 [mine], 0, 64",
        "global_dim.shared::cta.b1024.b32 [mine], 1, %u0",
        "global_stride.shared::cta.b1024.b64 [mine], 0, %ud1",
        "box_dim.shared::cta.b1024.b32 [mine], 0, 16",
        "element_stride.shared::cta.b1024.b32 [mine], 1, 2",
        "elemtype.shared::cta.b1024.b32 [mine], 10",
        "interleave_layout.shared::cta.b1024.b32 [mine], 0",
        "swizzle_mode.shared::cta.b1024.b32 [mine], 1",
        "fill_mode.shared::cta.b1024.b32 [mine], 1",
    ]


def test_a_map_in_global_memory_is_replaced_where_it_is():
    def body(X, Y):
        (y,) = ptx.global_ptrs(Y)
        ptx.tensormap.replace(y, rank=1, pred=reg.from_(ptx.special.tid.x(), u32) == 0)
        ptx.tensormap.replace(ptx.addr(y, 128), rank=5)
        ptx.fence.proxy_tensormap_release("cta")
        ptx.fence.proxy_tensormap_acquire(y, "sys")

    assert written(body) == [
        "@%p0 tensormap.replace.tile.rank.global.b1024.b32 [%ud1], 0",
        "tensormap.replace.tile.rank.global.b1024.b32 [%ud1+128], 4",
        "fence.proxy.tensormap::generic.release.cta",
        "fence.proxy.tensormap::generic.acquire.sys [%ud1], 128",
    ]


def test_a_map_goes_to_shared_memory_and_on():
    def body(X, Y):
        mine = smem.alloc(u32, (2, 32), align=128, name="mine")
        (y,) = ptx.global_ptrs(Y)
        ptx.tensormap.copy(mine[1], X.tma_desc())
        ptx.tensormap.copy(reg.from_(mine, u32), X.tma_desc())
        ptx.tensormap.cp_fenceproxy(y, mine[1], scope="cluster")

    copy = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.cluster"
    assert written(body) == [
        *["ld.b32 %r0, [%ud5]", "bar.warp.sync 4294967295"],
        *["ld.b32 %r1, [%ud9]", "bar.warp.sync 4294967295"],
        f"{copy}.sync.aligned [%ud1], [mine+128], 128",
    ]


@pytest.mark.parametrize(("rows", "columns"), [(8, 32), (16, 8)])
def test_a_box_of_keywords_and_expressions_is_that_of_their_values(rows, columns):
    def copying(box):
        @kernel(
            in_specs=(Tile("M", "K", f32, tma_box=box),),
            out_specs=(Tile("M", "K", f32),),
            grid=("K//BK", "cdiv(M, 2*HALF)"),
            block=32,
        )
        def copy(X, Y, *, HALF, BK=8):
            tile = smem.alloc(f32, (2 * HALF, BK), align=128)
            bar = smem.mbarrier()
            x, lane = X.tma_desc(), reg.from_(ptx.special.tid.x(), u32)
            column, row = ptx.special.ctaid.x() * BK, ptx.special.ctaid.y() * (2 * HALF)
            column, row = (ptx.inst.cvt.u32.u64(each) for each in (column, row))
            bar.init(1, pred=lane == 0)
            ptx.bar.sync()
            bar.arrive_expect_tx(x.bytes, pred=lane == 0)
            ptx.cp.async_.bulk.tensor_2d(
                dst=tile, src=x, coord=[column, row], mbar=bar, pred=lane == 0
            )
            bar.wait(0)
            with ptx.if_(lane < BK):
                for i in range(2 * HALF):
                    Y[row + i, column + lane] = tile[i, lane]

        return copy

    x = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    sizes = {"HALF": rows // 2, "BK": columns}
    named = copying(("2*HALF", "BK"))
    done = named.emulate(x, sanitize=True, **sizes)
    np.testing.assert_array_equal(done.outputs[0], x)
    assert not done.report.findings
    fixed = copying((rows, columns))
    assert named.ptx(M=32, K=64, **sizes) == fixed.ptx(M=32, K=64, **sizes)


def test_a_box_may_name_what_another_tensor_has():
    @kernel(
        in_specs=(Tile("M", "K", f32, tma_box=("N", "K//2")), Tile("N", f32)),
        out_specs=(),
        block=32,
    )
    def look(X, W):
        assert X.tma_desc().bytes == W.shape[0] * X.shape[1] // 2 * 4

    look.ptx(M=8, K=64, N=16)
