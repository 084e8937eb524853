"""`ptx.tensormap`, instruction by instruction."""

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
