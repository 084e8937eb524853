"""What is written by hand about instructions: lines of examples, and what is often got wrong.

`x` and `y` are global addresses of 1024 u32 each, one to read and one to write; `X` and `Y` are
their tensors, of 32 x 32 where a tensor map is asked for.
"""

from __future__ import annotations

from typing import Final

THREADS: Final = {
    "wgmma": 128,
    "tcgen05": 128,
    "setmaxnreg": 128,
    "shfl": 32,
    "vote": 32,
    "match": 32,
    "redux": 32,
    "tensormap": 32,
    "elect": 32,
    "bar": 32,
    "mma": 32,
    "wmma": 32,
    "ldmatrix": 32,
    "stmatrix": 32,
    "movmatrix": 32,
}
"""Threads of the examples' CTA, by how the spelling starts; one where it is not here."""

CLUSTERS: Final = ("st.async", "red.async.relaxed")
"""Spellings that start so are shown in a cluster of two CTAs."""

_DATA: Final = "data-movement-and-conversion-instructions-"
_SYNC: Final = "parallel-synchronization-and-communication-instructions-"
_WGMMA: Final = "asynchronous-warpgroup-level-matrix-instructions-"


def _sections(prefix: str, text: str) -> dict[str, tuple[str, ...]]:
    """Read sections: a name after `#`, then lines of the body."""
    found: dict[str, tuple[str, ...]] = {}
    for part in text.split("\n# ")[1:]:
        name, *lines = part.rstrip().splitlines()
        found[prefix + name] = tuple(lines)
    return found


WRITTEN: Final[dict[str, tuple[str, ...]]] = {
    **_sections(
        _DATA,
        """
# mov-2
low, high = reg.scalar(u32, init=1), reg.scalar(u32, init=2)
both = ptx.inst.mov.b64([low, high])  # the first element is the low half
low, high = ptx.inst.mov.b64([low, high], both)
# ld
one = ptx.inst.ld.global_.u32(ptx.addr(x, 16))  # the value 16 bytes on
four = ptx.inst.ld.global_.v4.u32(ptx.addr(x))  # a list of four registers, one access
# st
values = [reg.scalar(u32, init=i) for i in range(4)]
ptx.inst.st.global_.v4.u32(ptx.addr(y), values)  # 16 bytes; the address is a multiple of 16
ptx.inst.st.global_.u32(ptx.addr(y, 16), 7)
# shfl-sync
lane = reg.from_(ptx.special.laneid(), u32)
other = ptx.inst.shfl.sync.bfly.b32(lane, 16, 31, 0xFFFFFFFF)  # that of the lane 16 away
value, inside = reg.scalar(b32), reg.scalar(pred)
ptx.inst.shfl.sync.down.b32(ptx.pair(value, inside), lane, 1, 31, 0xFFFFFFFF)
# cp-async
tile = smem.alloc(u32, 4)
ptx.inst.cp.async_.cg.shared.global_(tile, ptx.addr(x), 16)
ptx.inst.cp.async_.wait_all()
first = tile[0]
# cp-async-commit-group
tile = smem.alloc(u32, 4)
ptx.inst.cp.async_.ca.shared.global_(tile, ptx.addr(x), 4)
ptx.inst.cp.async_.commit_group()
ptx.inst.cp.async_.wait_group(0)
# cp-async-wait-group-cp-async-wait-all
tile = smem.alloc(u32, (2, 4))
for stage in range(2):
    ptx.inst.cp.async_.cg.shared.global_(tile.address(stage, 0), ptx.addr(x, stage * 16), 16)
    ptx.inst.cp.async_.commit_group()
ptx.inst.cp.async_.wait_group(1)  # all but the latest group, so the first stage is there
first = tile[0, 0]
ptx.inst.cp.async_.wait_group(0)
# cp-async-bulk
tile = smem.alloc(u32, 64, align=128)
bar = smem.mbarrier()
bar.init(1)
ptx.fence.mbarrier_init()
ptx.inst.mbarrier.arrive.expect_tx.shared.b64(bar, 256)
load = ptx.inst.cp.async_.bulk.shared__cluster.global_.mbarrier__complete_tx__bytes
load(tile, ptx.addr(x), 256, bar)
bar.wait(0)
first = tile[0]
# cp-async-bulk-commit-group
tile = smem.alloc(u32, 4, align=16)
for i in range(4):
    tile[i] = i
ptx.inst.fence.proxy.async_.shared__cta()
ptx.inst.cp.async_.bulk.global_.shared__cta.bulk_group(ptx.addr(y), tile, 16)
ptx.inst.cp.async_.bulk.commit_group()
ptx.inst.cp.async_.bulk.wait_group(0)
# cp-async-bulk-wait-group
tile = smem.alloc(u32, 4, align=16)
for i in range(4):
    tile[i] = i
ptx.inst.fence.proxy.async_.shared__cta()
ptx.inst.cp.async_.bulk.global_.shared__cta.bulk_group(ptx.addr(y), tile, 16)
ptx.inst.cp.async_.bulk.commit_group()
ptx.inst.cp.async_.bulk.wait_group.read(0)  # the tile may be written again
tile[0] = 9
ptx.inst.cp.async_.bulk.wait_group(0)  # the copy is complete
# cp-async-bulk-prefetch
ptx.inst.cp.async_.bulk.prefetch.L2.global_(ptx.addr(x), 4096)
# cp-reduce-async-bulk
tile = smem.alloc(u32, 4, align=16)
for i in range(4):
    tile[i] = i
    ptx.inst.st.global_.u32(ptx.addr(y, i * 4), 10)
ptx.inst.fence.proxy.async_()
ptx.inst.cp.reduce.async_.bulk.global_.shared__cta.bulk_group.add.u32(ptx.addr(y), tile, 16)
ptx.inst.cp.async_.bulk.commit_group()
ptx.inst.cp.async_.bulk.wait_group(0)
# cp-async-bulk-tensor
tensor_map = X.tma_desc((8, 32))  # boxes of 8 rows and 32 columns
tile = smem.alloc(u32, (8, 32), align=128)
bar = smem.mbarrier()
bar.init(1)
ptx.fence.mbarrier_init()
ptx.inst.mbarrier.arrive.expect_tx.shared.b64(bar, 1024)
load = ptx.inst.cp.async_.bulk.tensor._2d.shared__cluster.global_.mbarrier__complete_tx__bytes
load(tile, ptx.addr(tensor_map, [0, 16]), bar)  # from column 0 of row 16 on
bar.wait(0)
first = tile[0, 0]
# cp-reduce-async-bulk-tensor
tensor_map = Y.tma_desc((1, 32))
tile = smem.alloc(u32, (1, 32), align=128)
for i in range(32):
    tile[0, i] = i
    ptx.inst.st.global_.u32(ptx.addr(y, i * 4), 10)
ptx.inst.fence.proxy.async_()
add = ptx.inst.cp.reduce.async_.bulk.tensor._2d.global_.shared__cta.add.bulk_group
add(ptx.addr(tensor_map, [0, 0]), tile)
ptx.inst.cp.async_.bulk.commit_group()
ptx.inst.cp.async_.bulk.wait_group(0)
# tensormap-replace
copied = smem.alloc(u32, (1, 32), align=128)
ptx.tensormap.copy(copied[0], X.tma_desc((8, 32)))  # all threads of a warp
first = reg.from_(ptx.special.tid.x(), u32) == 0  # one thread of it
ptx.inst.tensormap.replace.tile.global_address.shared__cta.b1024.b64(copied[0], y, pred=first)
# cp-async-bulk-prefetch-tensor
tensor_map = X.tma_desc((8, 32))
ptx.inst.cp.async_.bulk.prefetch.tensor._2d.L2.global_(ptx.addr(tensor_map, [0, 8]))
# st-async
slot = smem.alloc(u32, 4)
bar = smem.mbarrier()
bar.init(1)
bar.arrive_expect_tx(4)
ptx.cluster.sync()  # both CTAs of the cluster have their barrier
other = ptx.cluster.rank() ^ 1
there = ptx.inst.mapa.shared__cluster.u32(ptx.inst.mov.u32(slot), other)
its_bar = ptx.inst.mapa.shared__cluster.u32(ptx.inst.mov.u32(bar), other)
store = ptx.inst.st.async_.shared__cluster.mbarrier__complete_tx__bytes.u32
store(ptx.addr(there), other, ptx.addr(its_bar))
bar.wait(0)
received = slot[0]
# st-bulk
tile = smem.alloc(u32, 64)
start = ptx.inst.mov.u32(tile)
ptx.inst.st.bulk.shared__cta(ptx.addr(start), 256, 0)
# cvt
a = reg.scalar(f32, init=1.5)
nearest = ptx.inst.cvt.rni.s32.f32(a)  # to an integer: how to round is part of it
narrow = ptx.inst.cvt.rn.bf16.f32(a)  # to fewer bits: too
wide = ptx.inst.cvt.f32.bf16(narrow)  # to more bits: exact
two = ptx.inst.cvt.rn.f16x2.f32(a, 2.0)  # the first becomes the upper half
# cvta
generic = ptx.inst.cvta.global_.u64(x)
pointer = ptx.inst.cvta.to.global_.u64(generic)
# mapa
tile = smem.alloc(u32, 4)
near = ptx.inst.mov.u32(tile)
far = ptx.inst.mapa.shared__cluster.u32(near, 0)  # the same variable in the CTA of rank 0
# isspacep
generic = ptx.inst.cvta.global_.u64(x)
is_global = ptx.inst.isspacep.global_(generic)
# prmt
a, b = reg.scalar(b32, init=0x33221100), reg.scalar(b32, init=0x77665544)
swapped = ptx.inst.prmt.b32(a, b, 0x0123)  # bytes 0 to 3 of a, the last first
""",
    ),
    **_sections(
        _SYNC,
        """
# cp-async-mbarrier-arrive
tile = smem.alloc(u32, 4)
bar = smem.mbarrier()
bar.init(1)
ptx.inst.cp.async_.cg.shared.global_(tile, ptx.addr(x), 16)
ptx.inst.cp.async_.mbarrier.arrive.noinc.shared.b64(bar)  # one of the arrivals that init counts
bar.wait(0)
first = tile[0]
# red-async
total = smem.alloc(u32, 4)
bar = smem.mbarrier()
bar.init(1)
bar.arrive_expect_tx(4)
total[0] = 40
ptx.cluster.sync()  # both CTAs of the cluster have their barrier
other = ptx.cluster.rank() ^ 1
there = ptx.inst.mapa.shared__cluster.u32(ptx.inst.mov.u32(total), other)
its_bar = ptx.inst.mapa.shared__cluster.u32(ptx.inst.mov.u32(bar), other)
add = ptx.inst.red.async_.relaxed.cluster.shared__cluster.mbarrier__complete_tx__bytes.add.u32
add(ptx.addr(there), 2, ptx.addr(its_bar))
bar.wait(0)
# bar
ptx.inst.bar.sync(0)  # all threads of the CTA
ptx.inst.bar.sync(1, 32)  # 32 threads of it, at another of the 16 barriers
# bar-warp-sync
ptx.inst.bar.warp.sync(0xFFFFFFFF)
# barrier-cluster
ptx.inst.barrier.cluster.arrive.release.aligned()
ptx.inst.barrier.cluster.wait.acquire.aligned()
# atom
ptx.inst.st.global_.u32(ptx.addr(y), 40)
before = ptx.inst.atom.global_.add.u32(ptx.addr(y), 2)
seen = ptx.inst.atom.acq_rel.gpu.global_.cas.b32(ptx.addr(y), 42, 0)  # 0 where it is 42
# red
ptx.inst.st.global_.u32(ptx.addr(y), 40)
ptx.inst.red.global_.add.u32(ptx.addr(y), 2)
# vote-sync
lane = reg.from_(ptx.special.laneid(), u32)
lanes = ptx.inst.vote.sync.ballot.b32(lane < 8, 0xFFFFFFFF)  # 0xFF
every = ptx.inst.vote.sync.all.pred(lane < 32, 0xFFFFFFFF)
# match-sync
lane = reg.from_(ptx.special.laneid(), u32)
same = ptx.inst.match.any.sync.b32(lane & 3, 0xFFFFFFFF)  # the lanes that have this value
# redux-sync
lane = reg.from_(ptx.special.laneid(), u32)
total = ptx.inst.redux.sync.add.u32(lane, 0xFFFFFFFF)  # 496, in every lane
# elect-sync
chosen = ptx.pair(ptx.sink, reg.scalar(pred))
ptx.inst.elect.sync(chosen, 0xFFFFFFFF)
# mbarrier-init
bar = smem.mbarrier()
ptx.inst.mbarrier.init.shared.b64(bar, 1)
# mbarrier-inval
bar = smem.mbarrier()
bar.init(1)
ptx.inst.mbarrier.inval.shared.b64(bar)  # its memory may hold something else
# mbarrier-expect-tx
bar = smem.mbarrier()
bar.init(1)
ptx.inst.mbarrier.expect_tx.relaxed.cta.shared.b64(bar, 16)
# mbarrier-complete-tx
bar = smem.mbarrier()
bar.init(1)
bar.arrive_expect_tx(16)
ptx.inst.mbarrier.complete_tx.relaxed.cta.shared.b64(bar, 16)  # as a copy of 16 bytes does
bar.wait(0)
# mbarrier-arrive
bar = smem.mbarrier()
bar.init(2)
state = ptx.inst.mbarrier.arrive.shared.b64(bar)
ptx.inst.mbarrier.arrive.release.cta.shared.b64(ptx.sink, bar)
# mbarrier-arrive-drop
bar = smem.mbarrier()
bar.init(2)
ptx.inst.mbarrier.arrive_drop.shared.b64(ptx.sink, bar)  # later phases wait for one
ptx.inst.mbarrier.arrive.shared.b64(ptx.sink, bar)
# tensormap-cp-fenceproxy
copied = smem.alloc(u32, (1, 32), align=128)
ptx.tensormap.copy(copied[0], X.tma_desc((8, 32)))
ptx.inst.tensormap.cp_fenceproxy.global_.shared__cta.tensormap__generic.release.gpu.sync.aligned(
    ptx.addr(y), copied[0], 128
)
# mbarrier-test-wait-try-wait
bar = smem.mbarrier()
bar.init(1)
ptx.inst.mbarrier.arrive.shared.b64(ptx.sink, bar)
complete = ptx.inst.mbarrier.test_wait.parity.shared.b64(bar, 0)  # whether, without waiting
complete = ptx.inst.mbarrier.try_wait.parity.shared.b64(bar, 0)  # may wait; repeat it in a loop
# mbarrier-pending-count
bar = smem.mbarrier()
bar.init(2)
state = ptx.inst.mbarrier.arrive.noComplete.shared.b64(bar, 1)
pending = ptx.inst.mbarrier.pending_count.b64(state)
""",
    ),
    **_sections(
        _WGMMA,
        """
# wgmma-mma
tile = smem.wgmma_tile(bf16, (64, 64))  # A, and here B too
mine = reg.from_(tile, u32) + (ptx.special.tid.x() << 6)  # 64 bytes of it for each thread
for i in range(16):
    ptx.inst.st.shared.u32(ptx.addr(mine, 4 * i), 0x3F803F80)  # twice 1.0
ptx.inst.fence.proxy.async_.shared__cta()
ptx.bar.sync()
a = b = ptx.wgmma.descriptor(tile)
d = [reg.scalar(f32, init=0) for _ in range(32)]
add = reg.scalar(u32, init=0) == 1  # whether to add to d
ptx.inst.wgmma.fence.sync.aligned()
ptx.inst.wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16(d, a, b, add, 1, 1, 0, 0)
ptx.inst.wgmma.commit_group.sync.aligned()
ptx.inst.wgmma.wait_group.sync.aligned(0)
# wgmma-mma-sp
tile = smem.wgmma_tile(bf16, (64, 64))  # A without what is left out, and here B too
mine = reg.from_(tile, u32) + (ptx.special.tid.x() << 6)  # 64 bytes of it for each thread
for i in range(16):
    ptx.inst.st.shared.u32(ptx.addr(mine, 4 * i), 0x3F803F80)  # twice 1.0
ptx.inst.fence.proxy.async_.shared__cta()
ptx.bar.sync()
a = b = ptx.wgmma.descriptor(tile)
d = [reg.scalar(f32, init=0) for _ in range(32)]
where = reg.scalar(b32, init=0x44444444)  # of four values the first two
add = reg.scalar(u32, init=0) == 1  # whether to add to d
ptx.inst.wgmma.fence.sync.aligned()
product = ptx.inst.wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.bf16.bf16
product(d, a, b, where, 0, add, 1, 1, 0, 0)
ptx.inst.wgmma.commit_group.sync.aligned()
ptx.inst.wgmma.wait_group.sync.aligned(0)
""",
    ),
    **_sections(
        "integer-arithmetic-instructions-",
        """
# mul
a, b = reg.scalar(u32, init=70000), reg.scalar(u32, init=80000)
low = ptx.inst.mul.lo.u32(a, b)  # the lower 32 bits
product = ptx.inst.mul.wide.u32(a, b)  # all 64, in a u64 register
# mad
row, column = reg.scalar(u32, init=3), reg.scalar(u32, init=5)
index = ptx.inst.mad.lo.u32(row, 128, column)
# bfe
word = reg.scalar(u32, init=0xABCD)
nibble = ptx.inst.bfe.u32(word, 4, 4)  # 4 bits from bit 4 on: 0xC
# bfi
field, word = reg.scalar(b32, init=0xF), reg.scalar(b32, init=0)
word = ptx.inst.bfi.b32(field, word, 8, 4)  # 4 bits of the field at bit 8: 0xF00
# dp4a
a, b = reg.scalar(b32, init=0x04030201), reg.scalar(b32, init=0x01010101)
total = ptx.inst.dp4a.u32.u32(a, b, reg.scalar(u32, init=100))  # 110
""",
    ),
    **_sections(
        "extended-precision-arithmetic-instructions-",
        """
# add-cc
a = [reg.scalar(u32, init=0xFFFFFFFF), reg.scalar(u32, init=1)]
b = [reg.scalar(u32, init=1), reg.scalar(u32, init=2)]
low = ptx.inst.add.cc.u32(a[0], b[0])  # keeps the carry
high = ptx.inst.addc.u32(a[1], b[1])  # 4, with the carry
# addc
a = [reg.scalar(u32, init=0xFFFFFFFF) for _ in range(3)]
low = ptx.inst.add.cc.u32(a[0], 1)
middle = ptx.inst.addc.cc.u32(a[1], 0)  # takes a carry and gives one
high = ptx.inst.addc.u32(a[2], 0)
""",
    ),
    **_sections(
        "floating-point-instructions-",
        """
# div
a, b = reg.scalar(f32, init=1), reg.scalar(f32, init=3)
exact = ptx.inst.div.rn.f32(a, b)  # correctly rounded
fast = ptx.inst.div.full.f32(a, b)  # within 2 units in the last place
# ex2
a = reg.scalar(f32, init=1)
log2_e = 1.4426950408889634
power = ptx.inst.ex2.approx.f32(ptx.inst.mul.rn.f32(a, log2_e))  # e to the a
# max
a, b = reg.scalar(f32, init=1), reg.scalar(f32, init=2)
larger = ptx.inst.max.f32(a, b)
or_nan = ptx.inst.max.NaN.f32(a, b)  # NaN where one is
# sqrt
a = reg.scalar(f32, init=2)
root = ptx.inst.sqrt.rn.f32(a)
""",
    ),
    **_sections(
        "comparison-and-selection-instructions-",
        """
# setp
i = reg.scalar(u32, init=5)
inside = ptx.inst.setp.lt.u32(i, 8)
less, not_less = reg.scalar(pred), reg.scalar(pred)
ptx.inst.setp.lt.u32(ptx.pair(less, not_less), i, 8)  # also the opposite
both = ptx.inst.setp.ge.and_.u32(i, 2, inside)  # i >= 2 and inside
moved = ptx.inst.mov.u32(1, pred=both)  # an instruction that the predicate guards
# selp
i = reg.scalar(u32, init=5)
clamped = ptx.inst.selp.u32(i, 7, i < 7)  # i where it is less than 7, else 7
""",
    ),
    **_sections(
        "logic-and-shift-instructions-",
        """
# lop3
a, b, c = (reg.scalar(b32, init=i) for i in (0b1100, 0b1010, 0b1001))
both = ptx.inst.lop3.b32(a, b, c, (0xF0 & 0xCC) | 0xAA)  # (a & b) | c
# shf
low, high = reg.scalar(b32, init=0x89ABCDEF), reg.scalar(b32, init=0x01234567)
upper = ptx.inst.shf.l.wrap.b32(low, high, 8)  # bits that 64 shifted by 8 have above 32
turned = ptx.inst.shf.l.wrap.b32(low, low, 8)  # a rotation
# shr
a = reg.scalar(s32, init=-8)
signed = ptx.inst.shr.s32(a, 1)  # -4: the sign comes in
unsigned = ptx.inst.shr.u32(a, 1)  # zeros come in
""",
    ),
    **_sections(
        "warp-level-matrix-instructions-",
        """
# mma
a = [reg.scalar(b32, init=0) for _ in range(4)]  # 16 x 16 of bf16
b = [reg.scalar(b32, init=0) for _ in range(2)]  # 16 x 8
c = [reg.scalar(f32, init=0) for _ in range(4)]  # 16 x 8
d = ptx.inst.mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32(a, b, c)
# wmma-ld
load = ptx.inst.wmma.load.a.sync.aligned.row.m16n16k16.global_.f16
a = load(ptx.addr(x), 16)  # rows of 16 values, 16 values apart
# ldmatrix
tile = smem.alloc(b16, (32, 8), align=16)
lane = reg.from_(ptx.special.laneid(), u32)
for i in range(8):
    tile[lane, i] = i
ptx.inst.bar.warp.sync(0xFFFFFFFF)
row = ptx.inst.mad.lo.u32(lane, 16, ptx.inst.mov.u32(tile))  # each lane has the address of a row
fragments = ptx.inst.ldmatrix.sync.aligned.m8n8.x4.shared.b16(ptx.addr(row))
# stmatrix
tile = smem.alloc(b16, (32, 8), align=16)
lane = reg.from_(ptx.special.laneid(), u32)
fragments = [reg.scalar(b32, init=i) for i in range(4)]
row = ptx.inst.mad.lo.u32(lane, 16, ptx.inst.mov.u32(tile))
ptx.inst.stmatrix.sync.aligned.m8n8.x4.shared.b16(ptx.addr(row), fragments)
""",
    ),
    **_sections(
        "tcgen05-instructions-",
        """
# tcgen05-alloc-dealloc-relinquish-alloc-permit
slot, first = smem.alloc(u32, 1), reg.from_(ptx.special.tid.x(), u32) < 32  # one warp
ptx.inst.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(slot, 128, pred=first)  # columns
ptx.bar.sync()
columns = ptx.inst.ld.shared.b32(slot)
ptx.inst.tcgen05.dealloc.cta_group__1.sync.aligned.b32(columns, 128, pred=first)
# tcgen05-ld
slot, tid = smem.alloc(u32, 1), reg.from_(ptx.special.tid.x(), u32)
with ptx.if_(tid < 32):
    memory = ptx.tcgen05.alloc(slot, 128)
ptx.bar.sync()
columns = memory.address()
lanes = ptx.tcgen05.at(columns, lane=tid & 96)  # each warp has 32 lanes
ptx.tcgen05.st(lanes, [tid, tid], count=2)
ptx.tcgen05.wait_st()
values = ptx.inst.tcgen05.ld.sync.aligned._32x32b.x2.b32(ptx.addr(lanes))
ptx.inst.tcgen05.wait__ld.sync.aligned()  # before values are used
ptx.bar.sync()
with ptx.if_(tid < 32):
    ptx.tcgen05.dealloc(columns)
# tcgen05-st
slot, tid = smem.alloc(u32, 1), reg.from_(ptx.special.tid.x(), u32)
with ptx.if_(tid < 32):
    memory = ptx.tcgen05.alloc(slot, 128)
ptx.bar.sync()
columns = memory.address()
lanes = ptx.tcgen05.at(columns, lane=tid & 96)  # each warp has 32 lanes
ptx.inst.tcgen05.st.sync.aligned._32x32b.x2.b32(ptx.addr(lanes), [tid, tid])
ptx.inst.tcgen05.wait__st.sync.aligned()
ptx.bar.sync()
with ptx.if_(tid < 32):
    ptx.tcgen05.dealloc(columns)
# tcgen05-cp
slot, tid = smem.alloc(u32, 1), reg.from_(ptx.special.tid.x(), u32)
with ptx.if_(tid < 32):
    memory = ptx.tcgen05.alloc(slot, 128)
one, bar = tid == 0, smem.mbarrier()
with ptx.if_(one):
    bar.init(1)
tile = smem.wgmma_tile(bf16, (128, 16))  # 128 rows of 32 bytes
mine = reg.from_(tile, u32) + (tid << 5)  # a row for each thread
for i in range(8):
    ptx.inst.st.shared.u32(ptx.addr(mine, 4 * i), 0x3F803F80)  # twice 1.0
ptx.inst.fence.proxy.async_.shared__cta()
ptx.bar.sync()
columns, matrix = memory.address(), ptx.tcgen05.descriptor(tile)
ptx.inst.tcgen05.cp.cta_group__1._128x256b(ptx.addr(columns), matrix, pred=one)
ptx.tcgen05.commit(bar, pred=one)
bar.wait(0)
ptx.bar.sync()
with ptx.if_(tid < 32):
    ptx.tcgen05.dealloc(columns)
# tcgen05-shift
slot, tid = smem.alloc(u32, 1), reg.from_(ptx.special.tid.x(), u32)
with ptx.if_(tid < 32):
    memory = ptx.tcgen05.alloc(slot, 128)
one, bar = tid == 0, smem.mbarrier()
with ptx.if_(one):
    bar.init(1)
ptx.bar.sync()
columns = memory.address()
ptx.inst.tcgen05.shift.cta_group__1.down(ptx.addr(columns), pred=one)  # 32 bytes of each lane
ptx.tcgen05.commit(bar, pred=one)
bar.wait(0)
ptx.bar.sync()
with ptx.if_(tid < 32):
    ptx.tcgen05.dealloc(columns)
# tcgen05-mma
slot, tid = smem.alloc(u32, 1), reg.from_(ptx.special.tid.x(), u32)
with ptx.if_(tid < 32):
    memory = ptx.tcgen05.alloc(slot, 128)
one, bar = tid == 0, smem.mbarrier()
with ptx.if_(one):
    bar.init(1)
tile = smem.wgmma_tile(bf16, (128, 16))  # 128 rows of 32 bytes
mine = reg.from_(tile, u32) + (tid << 5)  # a row for each thread
for i in range(8):
    ptx.inst.st.shared.u32(ptx.addr(mine, 4 * i), 0x3F803F80)  # twice 1.0
ptx.inst.fence.proxy.async_.shared__cta()
ptx.bar.sync()
columns, matrix = memory.address(), ptx.tcgen05.descriptor(tile)
how = ptx.tcgen05.instruction_descriptor("f16", m=128, n=128, a=bf16, b=bf16)
add = reg.scalar(u32, init=0) == 1  # whether to add to what is there
ptx.inst.tcgen05.mma.cta_group__1.kind__f16(
    ptx.addr(columns), matrix, matrix, how, add, pred=one
)
ptx.tcgen05.commit(bar, pred=one)
bar.wait(0)
ptx.bar.sync()
with ptx.if_(tid < 32):
    ptx.tcgen05.dealloc(columns)
# tcgen05-mma-ws
slot, tid = smem.alloc(u32, 1), reg.from_(ptx.special.tid.x(), u32)
with ptx.if_(tid < 32):
    memory = ptx.tcgen05.alloc(slot, 32)
one, bar = tid == 0, smem.mbarrier()
with ptx.if_(one):
    bar.init(1)
tile = smem.wgmma_tile(bf16, (128, 16))  # 128 rows of 32 bytes
mine = reg.from_(tile, u32) + (tid << 5)  # a row for each thread
for i in range(8):
    ptx.inst.st.shared.u32(ptx.addr(mine, 4 * i), 0x3F803F80)  # twice 1.0
ptx.inst.fence.proxy.async_.shared__cta()
ptx.bar.sync()
columns, matrix = memory.address(), ptx.tcgen05.descriptor(tile)
how = ptx.tcgen05.instruction_descriptor("f16", m=32, n=128, a=bf16, b=bf16, ws=True)
add = reg.scalar(u32, init=0) == 1  # whether to add to what is there
ptx.inst.tcgen05.mma.ws.cta_group__1.kind__f16(  # a quarter of N in each 32 lanes
    ptx.addr(columns), matrix, matrix, how, add, pred=one
)
ptx.tcgen05.commit(bar, pred=one)
bar.wait(0)
ptx.bar.sync()
with ptx.if_(tid < 32):
    ptx.tcgen05.dealloc(columns)
# tcgen05-commit
one, bar = reg.from_(ptx.special.tid.x(), u32) == 0, smem.mbarrier()
with ptx.if_(one):
    bar.init(1)
ptx.bar.sync()
ptx.inst.tcgen05.commit.cta_group__1.mbarrier__arrive__one.shared__cluster.b64(bar, pred=one)
bar.wait(0)
""",
    ),
    **_sections(
        "control-flow-instructions-",
        """
# bra
done = ptx.label()
ptx.inst.bra(done)
ptx.place(done)
# brx-idx
first, second = ptx.label(), ptx.label()
index = reg.scalar(u32, init=1)
ptx.inst.brx.idx(index, [first, second])
ptx.place(first)
ptx.place(second)
""",
    ),
    **_sections(
        "miscellaneous-instructions-",
        """
# trap
wrong = reg.scalar(u32, init=0) == 1
ptx.inst.trap(pred=wrong)
# brkpt
wrong = reg.scalar(u32, init=0) == 1
ptx.inst.brkpt(pred=wrong)
""",
    ),
}
"""Lines of the body, by the section of the manual."""


def _notes(text: str) -> dict[str, tuple[str, ...]]:
    """Read notes: an opcode after `#`, then its notes after `-`, which may take several lines."""
    found = _sections("", text)
    return {
        opcode: tuple(" ".join(note.split()) for note in "\n".join(lines)[2:].split("\n- "))
        for opcode, lines in found.items()
    }


NOTES: Final = _notes("""
# add
- With two 32-bit integers there is no carry to see: `add.cc` keeps it for `addc`.
# atom
- Without `.sem` and `.scope` it is relaxed, among the threads of the GPU.
- Where nobody reads the old value, `red` does the same without returning it.
# bar
- A count of threads is a multiple of 32: warps arrive as wholes.
# bfind
- Where no bit is found the result is 0xFFFFFFFF.
# cp
- Bulk copies take addresses and sizes that are multiples of 16 bytes.
- An mbarrier has to expect as many bytes as the copy brings, or its phase never ends.
- Bulk copies are made by the async proxy: `fence.proxy.async` stands between the stores that fill
  shared memory and the copy that reads it.
- A CTA may not exit while a copy into its shared memory, or out of it, is under way.
# cvt
- From floats to integers the rounding is one of `.rni .rzi .rmi .rpi`; values out of range give
  the nearest end of it.
- To a pair, the first source becomes the upper half and the second the lower one.
# div
- For f32, `.full` and `.approx` are faster and not correctly rounded; `.rn` is.
# elect
- All lanes that the mask names execute it together.
# ex2
- It is a power of two: multiply by log2(e) before it for one of e.
# fma
- One rounding: the result can differ from `mul` and `add` in the last place.
# ld
- The address is a multiple of the whole access: 16 for `.v4.f32`, not 4.
- `.nc` is for memory that nothing writes while the kernel runs.
- 8- and 16-bit types load into wider registers, extended by the sign or with zeros.
- `ptx.addr(u, 4, unified=True)` is `[u+4].unified`, for a variable with that attribute (sm_90, PTX
  8.0); assemblers take such variables in relocatable code only.
# ldmatrix
- Each lane gives the address of a row of 16 bytes, a multiple of 16: lanes 0 to 7 those of the
  first matrix, 8 to 15 of the second. `.x1` and `.x2` ignore those of other lanes.
# lop3
- `immLut` is the function itself, with 0xF0 for a, 0xCC for b and 0xAA for c.
# max
- Where one source is NaN the other is the result, unless `.NaN` is there.
# mbarrier
- `try_wait` may give up before the phase ends: repeat it until it holds.
- Phases have parities 0, 1, 0 and so on; parity 0 waits for the first to end.
- An object is made by one thread; others use it after a barrier, other CTAs after a fence.
# min
- Where one source is NaN the other is the result, unless `.NaN` is there.
# mma
- All 32 lanes execute it; which elements a lane holds depends on shape and type.
# mov
- In a list the first element is the lowest bits.
# mul
- `.lo` and `.hi` keep half of an integer product, `.wide` all of it.
# prmt
- Each 4 bits of the selector choose a byte, those of the lowest byte first.
# red
- Without `.sem` and `.scope` it is relaxed, among the threads of the GPU.
# rsqrt
- It is an approximation; `rcp.rn` of `sqrt.rn` rounds twice, and correctly each.
# selp
- Where the predicate holds it is the first source.
# setmaxnreg
- All warps of a warpgroup execute it, with the same count, a multiple of 8; the kernel's register
  count has to be known (`maxnreg`, or the block's size).
# setp
- With a NaN `.lt` and the like do not hold, and `.ltu` and the like do; `.ne` does not, `.neu`
  does.
# shf
- It shifts 64 bits in two registers; `.wrap` takes the amount modulo 32.
# shfl
- `c` is 31 for whole warps with `.bfly`, `.down` and `.idx`, and 0 with `.up`.
- All lanes that the mask names execute the same instruction.
# shl
- Amounts beyond the width count as the width: the result is 0.
# shr
- Amounts beyond the width count as the width: 0, or the sign of signed types.
# st
- The address is a multiple of the whole access: 16 for `.v4.f32`, not 4.
# tcgen05
- An address in Tensor Memory has the lane in its upper 16 bits, the column in the lower.
- What is allocated has to be freed before the CTA exits.
# vote
- `.ballot` has a bit for each lane of the mask; the other bits are 0.
# wgmma
- All four warps of a warpgroup execute it, and `wgmma.fence` before the first one and after
  registers of it are written otherwise.
- Its registers are not to be read or written until `wgmma.wait_group` has waited for it.
""")
"""What is often got wrong, by opcode."""
