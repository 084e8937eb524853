"""The kernels whose PTX is kept, by the name of their file: each a way to write the language."""

from pyptx import Kernel, Scalar, Tile, kernel, ptx, reg, smem
from pyptx.types import b32, b64, bf16, bf16x2, f16, f32, f64, pred, s32, u32, u64

ROWS = {
    "in_specs": (Tile("B", "N", f32), Tile("N", f32)),
    "out_specs": (Tile("B", "N", f32),),
    "grid": lambda B, N: (B, 1, 1),
}


@kernel(**ROWS, block=(128, 1, 1))
def scale_rows(X, W, Y):
    """A row for each CTA, an element for each thread."""
    x, w, y = ptx.global_ptrs(X, W, Y)
    columns = X.shape[1]
    row = reg.from_(ptx.special.ctaid.x(), u32)
    tid = reg.from_(ptx.special.tid.x(), u32)
    x += row * (columns * 4)
    y += row * (columns * 4)
    for i in ptx.range_(tid, columns, 128):
        offset = i * 4
        value = ptx.inst.ld.global_.f32(ptx.addr(x + offset))
        weight = ptx.inst.ld.global_.nc.f32(ptx.addr(w + offset))
        ptx.inst.st.global_.f32(ptx.addr(y + offset), value * weight)


@kernel(**ROWS, block=512, maxnreg=64)
def dynamic_shared_memory(X, W, Y):
    """More than 48 KiB of shared memory in three variables, rows of one indexed by registers."""
    (x,) = ptx.global_ptrs(X)
    tid = reg.from_(ptx.special.tid.x(), u32)
    flags = smem.alloc(b32, 3)
    tile = smem.alloc(f32, (32, 512), name="tile")
    bars = smem.alloc(b64, 2, align=8)
    flags[2] = 1
    for r in range(0, 32, 16):
        tile[r, tid] = ptx.inst.ld.global_.f32(ptx.addr(x, r * 4))
    ptx.bar.sync()
    row = tid >> 4
    total = tile[row, 3] + tile[row, tid & 15]
    ptx.inst.st.shared.v2.f32(tile.address(row, 2), [total, total])
    bars[1] = bars[0]
    ptx.inst.cvta.shared.u64(tile)


@kernel(block=64)
def control_flow(X):
    """Every construct in another one, with every way out."""
    (x,) = ptx.global_ptrs(X)
    i = reg.from_(ptx.special.laneid(), u32)
    done = i == 31
    with ptx.loop("rounds"):
        with ptx.while_(lambda: i < 100):
            for j in ptx.range_(0, reg.from_(i, u32), 2):
                with ptx.if_(j == 6):
                    i += 1
                    ptx.continue_()
                with ptx.else_():
                    with ptx.if_(~done):
                        ptx.break_()
                    i += j
            ptx.break_(pred=i > 50)
        ptx.ret(pred=done & (i != 7))
        ptx.break_(pred=i > 60)
    again = ptx.label()
    ptx.place(again)
    i >>= 1
    ptx.bra(again, pred=i > 3)
    with ptx.loop(pred=done):
        ptx.inst.setp.lt.u32(done, i, 3)
        i += 1
    ptx.inst.st.global_.u32(ptx.addr(x), i)


@kernel
def reductions(X):
    """The butterfly of each width."""
    (x,) = ptx.global_ptrs(X)
    for dtype, reduce in (
        (u32, ptx.warp.reduce_sum),
        (s32, ptx.warp.reduce_max),
        (f32, ptx.warp.reduce_min),
        (f64, ptx.warp.reduce_sum),
        (u64, ptx.warp.reduce_max),
        (f16, ptx.warp.reduce_sum),
        (bf16x2, ptx.warp.reduce_max),
    ):
        value = reduce(reg.scalar(dtype, init=3))
        bits = reg.from_(value, b64 if dtype.bits == 64 else b32) if dtype.bits > 16 else value
        store = {16: ptx.inst.st.global_.b16, 32: ptx.inst.st.global_.b32}
        store.get(dtype.bits, ptx.inst.st.global_.b64)(ptx.addr(x), bits)


@kernel(
    in_specs=(Tile("B", "N", bf16), Scalar(f32), Scalar(f16)),
    out_specs=(Tile("B", "N", bf16),),
    grid=lambda B, N: (ptx.cdiv(B, 4), 1, 1),
    block=(32, 4, 1),
    parallel=("B",),
)
def run_time_rows(X, factor, offset, Y):
    """One kernel for every number of rows, with scalars by value."""
    x, y = ptx.global_ptrs(X, Y)
    rows, columns = X.shape
    row = reg.from_(ptx.special.ctaid.x(), u32) * 4 + reg.from_(ptx.special.tid.y(), u32)
    with ptx.if_(row >= rows):
        ptx.ret()
    start = row * (columns * 2)
    shift = ptx.inst.cvt.f32.f16(offset)
    for i in ptx.range_(ptx.special.tid.x(), columns, 32):
        at = start + i * 2
        bits = ptx.inst.ld.global_.b16(ptx.addr(x + at))
        wide = ptx.inst.fma.rn.f32(ptx.inst.cvt.f32.bf16(bits), factor, shift)
        ptx.inst.st.global_.b16(ptx.addr(y + at), ptx.inst.cvt.rn.bf16.f32(wide))


@kernel(arch="sm_80")
def text_among_calls(X):
    """PTX as text that shares registers and shared memory with the calls around it."""
    (x,) = ptx.global_ptrs(X)
    total, ready = reg.scalar(u32, init=0), reg.scalar(pred)
    tile = smem.alloc(u32, 32, name="tile")
    ptx.raw(
        """
        {
            .reg .b32 lane, slot<2>;
            mov.u32 lane, %laneid;
            shl.b32 slot0, lane, 2;
            mov.u32 slot1, tile;
            add.u32 slot1, slot1, slot0;
        wait:
            ld.shared.u32 lane, [slot1];
            setp.ne.u32 ready, lane, 0;
            @!ready bra wait;
            ld.global.v2.u32 {lane, slot0}, [x+8];
            add.u32 total, total, lane;
        }
        """,
        x=x,
        total=total,
        ready=ready,
        tile=tile,
    )
    ptx.inst.st.global_.u32(ptx.addr(x), total, pred=~ready)


@kernel(
    in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),),
    grid=lambda N: (N // 128, 1, 1), block=128, cluster=(2, 1, 1), arch="sm_90a",
)  # fmt: skip
def copies_through_mbarriers(X, Y):
    """Bulk copies into a ring of two stages, passed on to the other CTA of the cluster."""
    x, y = ptx.global_ptrs(X, Y)
    ring = smem.alloc(f32, (2, 64), align=128, name="ring")
    full, passed = smem.mbarrier(2, name="full"), smem.mbarrier(name="passed")
    tid = reg.from_(ptx.special.tid.x(), u32)
    with ptx.if_(tid < 32):
        leader = ptx.elect()
        full.init(1, pred=leader)
        passed.init(128, pred=leader)
        ptx.fence.mbarrier_init()
    ptx.cluster.sync()
    other = ptx.inst.xor.b32(ptx.cluster.rank(), 1)
    place = ptx.special.ctaid.x() * 512
    load = ptx.inst.cp.async_.bulk.shared__cluster.global_.mbarrier__complete_tx__bytes
    for stage in ptx.range_(0, 2, dtype=u32):
        bar = full[stage]
        with ptx.if_(tid == 0):
            bar.arrive_expect_tx(256)
            load(ring.address(stage, 0), ptx.addr(x + place + stage * 256), 256, bar)
        bar.wait(0)
    ptx.cluster.arrive_remote(passed, other)
    passed.wait(0, cluster=True)
    theirs = ptx.cluster.map_shared_rank(ring.address(1, 2), other)
    with ptx.if_(tid == 0):
        ring[0, 0] = ptx.inst.ld.shared__cluster.f32(ptx.addr(theirs, 8))
    ptx.fence.proxy_async("shared::cta")
    ptx.bar.sync()
    with ptx.if_(tid == 0):
        store = ptx.inst.cp.async_.bulk.global_.shared__cta.bulk_group
        store(ptx.addr(y + place), ring, 512)
        ptx.inst.cp.async_.bulk.commit_group()
        ptx.inst.cp.async_.bulk.wait_group.read(0)
    ptx.cluster.sync(aligned=True)


KERNELS: dict[str, tuple[Kernel, dict[str, int]]] = {
    "scale_rows": (scale_rows, {"B": 4, "N": 1000}),
    "dynamic_shared_memory": (dynamic_shared_memory, {"B": 1, "N": 512}),
    "control_flow": (control_flow, {}),
    "reductions": (reductions, {}),
    "run_time_rows": (run_time_rows, {"N": 96}),
    "text_among_calls": (text_among_calls, {}),
    "copies_through_mbarriers": (copies_through_mbarriers, {"N": 256}),
}
