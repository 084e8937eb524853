"""Idioms: as many instructions as they say, assembled for their targets.

docs/idioms.md has a row for each case here, with the same number.
"""

import re
from pathlib import Path

import pytest

from pyptx._ir import Instruction
from pyptx._layouts import Swizzle
from pyptx._trace import ptx, reg
from pyptx._trace.core.context import current
from pyptx._trace.memory import smem
from pyptx.types import (
    b32,
    bf16,
    bf16x2,
    e4m3,
    e4m3x2,
    e5m2x4,
    f16,
    f16x2,
    f32,
    pred,
    s8,
    s32,
    tf32,
    u32,
    u64,
)

ROWS = Path(__file__).parents[2] / "docs/idioms.md"
CASES = {}


def case(written, count, target="sm_90a"):
    """A function of what `setup` made, which appends `count` instructions; its row in the docs."""

    def add(function):
        CASES[written] = (function, count, target)
        return function

    return add


def appended():
    return sum(isinstance(s, Instruction) for s in current("a test").body)


class Things:
    """What idioms are called with; made before instructions are counted."""

    def __init__(self, target):
        self.tile = smem.wgmma_tile(bf16, (64, 64), name="tile")
        self.stages = smem.wgmma_tile(bf16, (3, 64, 64), "MN", name="stages")
        self.plain = smem.alloc(f16, (64, 64), name="plain")
        self.swizzled = smem.alloc(f16, (64, 256), swizzle="128B", name="swizzled")
        self.narrow = smem.alloc(f16, (64, 64), swizzle=Swizzle.B128, name="narrow")
        self.bars = smem.mbarrier(3, name="bars")
        self.i = reg.scalar(u32, init=1)
        self.j = reg.scalar(u32, init=2)
        self.p = reg.scalar(pred, init=1)
        self.desc = reg.scalar(u64, init=0)
        self.pointer = reg.scalar(u64, init=0)
        self.taddr = reg.scalar(b32, init=0)
        self.state = ptx.pipeline(3)
        self.ring = ptx.ring(3)
        self.sums = reg.wgmma_frag(n=64, dtype=f32)
        self.four = reg.array(b32, 4)
        self.x = reg.scalar(f32, init=0.0)
        current("a test").block_size, current("a test").cluster_size = (128, 1, 1), (2, 1, 1)


# ---- shared memory -------------------------------------------------------------------------------


@case("`tile[r, c]`, swizzled, both ints", 1)
def _(t):
    assert t.swizzled[3, 130].dtype is f16


@case("`tile[r, c]`, swizzled, `r` a register", 7)
def _(t):
    t.swizzled[t.i, 130]


@case("`tile[r, c]`, swizzled, `c` a register", 8)
def _(t):
    t.swizzled[3, t.j]


@case("`tile[r, c]`, swizzled, both registers", 11)
def _(t):
    t.swizzled[t.i, t.j]


@case("`tile[r, c]`, swizzled, one panel wide, both registers", 8)
def _(t):
    t.narrow[t.i, t.j]


@case("`tile[stage]`, an int", 0)
def _(t):
    assert t.stages[2].offset == 2 * 8192


@case("`tile[stage]`, a register", 2)
def _(t):
    assert t.stages[t.i].shape == (64, 64)


@case('`smem.apply_swizzle(offset, "64B")`', 3)
def _(t):
    smem.apply_swizzle(t.i, "64B")


# ---- wgmma ---------------------------------------------------------------------------------------


@case("`ptx.wgmma.descriptor(tile, k=16)`", 4)
def _(t):
    assert ptx.wgmma.descriptor(t.tile, k=16).dtype is u64


@case("`ptx.wgmma.descriptor(tile, mn=r)`", 5)
def _(t):
    ptx.wgmma.descriptor(t.tile, mn=t.i)


@case("`ptx.wgmma.descriptor(tile[stage])`, a register", 5)
def _(t):
    ptx.wgmma.descriptor(t.stages[t.i])


@case("`ptx.wgmma.auto_descriptor(address, dtype=, shape=, major=)`", 3)
def _(t):
    ptx.wgmma.auto_descriptor(t.i, dtype=bf16, shape=(64, 64), major="K")


@case(
    "`ptx.wgmma.make_descriptor(address, leading_byte_offset=, stride_byte_offset=, swizzle=)`", 3
)
def _(t):
    ptx.wgmma.make_descriptor(
        t.i, leading_byte_offset=16, stride_byte_offset=1024, swizzle=ptx.wgmma.SWIZZLE_128B
    )


def multiply(t, **given):
    product = {
        "shape": (64, 64, 16), "dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16, "d": t.sums,
        "a": t.desc, "b": t.desc, "scale_d": t.p,
    }  # fmt: skip
    ptx.wgmma.mma_async(**product | given)


@case("`ptx.wgmma.mma_async(...)`, descriptors and a predicate", 1)
def _(t):
    multiply(t)


@case("`ptx.wgmma.mma_async(...)`, two tiles, `scale_d=True`", 10)
def _(t):
    multiply(t, a=t.tile, b=t.stages[1], scale_d=True, a_k_offset=t.tile.k_offset(16))


@case("`ptx.wgmma.mma_async(...)`, descriptors with offsets", 3)
def _(t):
    multiply(t, a_k_offset=32, b_k_offset=2048, trans_b=1)


@case("`ptx.wgmma.mma_async(...)`, A in registers, B a tile", 5)
def _(t):
    multiply(t, a=t.four, b=t.tile)


@case("`ptx.wgmma.fence()`, `.commit_group()`, `.wait_group(n)`, each", 1)
def _(t):
    ptx.wgmma.wait_group(1)


@case("`reg.wgmma_frag(n=, dtype=)`, `reg.mma_frag(...)`", 0)
def _(t):
    kinds = (64, f32), (128, s32), (64, f16)
    assert [len(reg.wgmma_frag(m=m, n=64, dtype=d)) for m, d in kinds] == [32, 64, 16]
    assert reg.wgmma_frag(n=8, dtype=f16).dtype is f16x2
    assert [len(reg.mma_frag(o, shape=(16, 8, 16), dtype=f16)) for o in "abcd"] == [4, 2, 2, 2]
    assert len(reg.mma_frag("b", shape=(16, 8, 32), dtype=s8)) == 2
    assert reg.mma_frag("a", shape=(16, 8, 8), dtype=tf32).dtype is b32


@case("`frag.origin(thread)` of a warpgroup", 6)
def _(t):
    t.sums.origin(t.i)


@case("`frag.origin(lane)` of a warp", 4)
def _(t):
    reg.mma_frag("d", shape=(16, 8, 16), dtype=f32).origin(t.i)


# ---- warps' matrices -----------------------------------------------------------------------------


@case("`ptx.ldmatrix(src=, layout=, trans=)`", 1)
def _(t):
    assert len(ptx.ldmatrix(src=t.plain.address(), layout="x2", trans=True)) == 2


@case("`ptx.stmatrix(smem=, regs=)`, `ptx.movmatrix(r)`, each", 1)
def _(t):
    ptx.stmatrix(smem=t.plain, regs=t.four, trans=True)


@case("`ptx.mma.load_a(tile, row, column)`, row-major tile, ints", 9)
def _(t):
    held = ptx.mma.load_a(t.plain, 0, 16)
    assert (len(held), held.dtype) == (4, f16x2)


@case("`ptx.mma.load_a(tile, row, column)`, swizzled tile, one panel wide, ints", 13)
def _(t):
    ptx.mma.load_a(t.narrow, 0, 16)


@case("`ptx.mma.load_b(tile, column, k)`, row-major tile, ints", 14)
def _(t):
    ptx.mma.load_b(t.plain, 16, 16)


@case("`ptx.mma.sync(...)`", 1)
def _(t):
    sums = reg.mma_frag("d", shape=(16, 8, 16), dtype=f32)
    ptx.mma.sync(
        shape=(16, 8, 16), dtype_d=f32, dtype_a=f16, dtype_b=f16, dtype_c=f32, d=sums,
        a=t.four, b=t.four[:2], c=sums,
    )  # fmt: skip


# ---- copies and barriers -------------------------------------------------------------------------


@case("`ptx.cp.async_.ca(dst, src, size)`, `.cg(dst, src)`, each", 1, "sm_80")
def _(t):
    ptx.cp.async_.cg(t.plain, t.pointer)


@case("`ptx.cp.async_.commit_group()`, `.wait_group(n)`, `.wait_all()`, each", 1, "sm_80")
def _(t):
    ptx.cp.async_.wait_group(1)


@case("`ptx.cp.async_.mbarrier_arrive(bar)`", 1, "sm_80")
def _(t):
    ptx.cp.async_.mbarrier_arrive(t.bars[0])


@case("`ptx.cp.async_.bulk.load(dst, src, size, bar)`", 1)
def _(t):
    ptx.cp.async_.bulk.load(t.tile, t.pointer, t.tile.bytes, t.bars[0], multicast_mask=3, pred=t.p)


@case("`ptx.cp.async_.bulk.store(dst, src, size)`, `.to_cluster(...)`, `.prefetch(...)`, each", 1)
def _(t):
    ptx.cp.async_.bulk.store(t.pointer, t.tile, 1024)


@case("`ptx.cp.async_.bulk.commit_group()`, `.wait_group(n, read=)`, each", 1)
def _(t):
    ptx.cp.async_.bulk.wait_group(0, read=True)


@case("`ptx.pipeline(n)`", 2, "sm_80")
def _(t):
    ptx.pipeline(3, cursor=t.i, phase=1)


@case("`state.advance()`", 4, "sm_80")
def _(t):
    t.state.advance()


@case("`stage, phase = state.advance()`: what they were before", 6, "sm_80")
def _(t):
    stage, phase = t.state.advance()
    assert stage.register != t.state.stage.register
    assert phase.register != t.state.phase.register


@case("`ptx.ring(n)`", 0)
def _(t):
    assert len(ptx.ring(2).full) == 2


@case("`ring.init()`, of n stages: 2 n", 6)
def _(t):
    t.ring.init(pred=t.p)


@case("`ring.acquire(state)`", 6)
def _(t):
    t.ring.acquire(t.state)


@case("`ring.wait(state)`", 4)
def _(t):
    t.ring.wait(t.state)


@case("`ring.release(state)`", 3)
def _(t):
    t.ring.release(t.state, pred=~t.p)


@case("`ptx.named_barrier(1, count=128).sync()`, `.arrive()`, each", 1, "sm_80")
def _(t):
    ptx.named_barrier(1, count=128).arrive()


@case("`ptx.elect_one()`", 1)
def _(t):
    assert ptx.elect_one().dtype is pred


# ---- reductions and scans ------------------------------------------------------------------------


@case("`ptx.warp.reduce_sum(r)`, `.reduce_max(r)`, `.reduce_min(r)`, each", 10, "sm_80")
def _(t):
    assert ptx.warp.reduce_sum(t.x).register is t.x.register


@case("`ptx.warp.reduce_sum(r, redux=True)`", 1, "sm_80")
def _(t):
    ptx.warp.reduce_sum(t.i, redux=True)


@case("`ptx.warp.reduce(r, function)`, a function of one instruction", 11, "sm_80")
def _(t):
    assert ptx.warp.reduce(t.x, lambda a, b: a * b).register is t.x.register


@case("`ptx.warp.inclusive_scan(r)`", 11, "sm_80")
def _(t):
    assert ptx.warp.inclusive_scan(t.x).dtype is f32


@case("`ptx.warp.exclusive_scan(r)`", 14, "sm_80")
def _(t):
    ptx.warp.exclusive_scan(t.x, "max")


@case("`ptx.warp.broadcast(r, lane)`", 1, "sm_80")
def _(t):
    ptx.warp.broadcast(t.x, 31)


@case("`ptx.cta.reduce_sum(r)`, `.reduce_max(r)`, `.reduce_min(r)`, each", 32, "sm_80")
def _(t):
    assert ptx.cta.reduce_sum(t.x).register is t.x.register


@case("`ptx.cta.reduce(r, function)`, a function of one instruction", 32, "sm_80")
def _(t):
    ptx.cta.reduce(t.x, lambda a, b: a * b)


@case("`ptx.cta.inclusive_scan(r)`", 34, "sm_80")
def _(t):
    ptx.cta.inclusive_scan(t.x)


@case("`ptx.cta.exclusive_scan(r)`", 37, "sm_80")
def _(t):
    ptx.cta.exclusive_scan(t.x)


@case("`ptx.cta.broadcast(r, thread)`", 6, "sm_80")
def _(t):
    ptx.cta.broadcast(t.x, t.i)


@case("`ptx.cluster.reduce_sum(r)` and the like, of two CTAs, each", 43)
def _(t):
    ptx.cluster.reduce_sum(t.x)


# ---- arithmetic ----------------------------------------------------------------------------------


@case("`ptx.math.exp(r)`", 11, "sm_80")
def _(t):
    assert ptx.math.exp(t.x).dtype is f32


@case("`ptx.math.exp(r, fast=True)`", 2, "sm_80")
def _(t):
    assert ptx.math.exp(t.x, fast=True).dtype is f32


@case("`ptx.math.exp2(r)`, `.log2(r)`, `.rsqrt(r)`, `.sqrt(r)`, `.reciprocal(r)`, each", 1, "sm_80")
def _(t):
    assert ptx.math.rsqrt(t.x).dtype is f32


@case("`ptx.math.log(r)`", 14, "sm_80")
def _(t):
    assert ptx.math.log(t.x).dtype is f32


@case("`ptx.math.log(r, fast=True)`", 2, "sm_80")
def _(t):
    assert ptx.math.log(t.x, fast=True).dtype is f32


@case("`ptx.math.sigmoid(r)`", 17, "sm_80")
def _(t):
    assert ptx.math.sigmoid(t.x).dtype is f32


@case("`ptx.math.sigmoid(r, fast=True)`", 8, "sm_80")
def _(t):
    assert ptx.math.sigmoid(t.x, fast=True).dtype is f32


@case("`ptx.math.silu(r)`", 18, "sm_80")
def _(t):
    assert ptx.math.silu(t.x).dtype is f32


@case("`ptx.math.silu(r, fast=True)`", 9, "sm_80")
def _(t):
    assert ptx.math.silu(t.x, fast=True).dtype is f32


@case("`ptx.math.tanh(r)`", 16, "sm_80")
def _(t):
    assert ptx.math.tanh(t.x).dtype is f32


@case("`ptx.math.tanh(r, fast=True)`", 1, "sm_80")
def _(t):
    assert ptx.math.tanh(t.x, fast=True).dtype is f32


@case("`ptx.math.erf(r)`", 25, "sm_80")
def _(t):
    assert ptx.math.erf(t.x).dtype is f32


@case("`ptx.math.gelu(r)`", 19, "sm_80")
def _(t):
    assert ptx.math.gelu(t.x).dtype is f32


@case("`ptx.math.gelu_tanh(r)`", 11, "sm_80")
def _(t):
    assert ptx.math.gelu_tanh(t.x).dtype is f32


@case("`ptx.where(p, a, b)`", 1, "sm_80")
def _(t):
    assert ptx.where(~t.p, t.x, 0.0).dtype is f32


@case("`ptx.to_f32(r)` of f16, bf16", 1, "sm_80")
def _(t):
    assert len(ptx.to_f32(reg.scalar(bf16))) == 1


@case("`ptx.to_f32(r)` of bf16x2", 2, "sm_80")
def _(t):
    assert len(ptx.to_f32(t.four[0], bf16x2)) == 2


@case("`ptx.to_f32(r)` of f16x2, ue8m0x2", 3, "sm_80")
def _(t):
    assert len(ptx.to_f32(t.four[0], f16x2)) == 2


@case("`ptx.to_f32(r)` of e4m3x2, e5m2x2, e2m3x2, e3m2x2, e2m1x2", 4, "sm_89")
def _(t):
    assert len(ptx.to_f32(reg.scalar(e4m3x2))) == 2


@case("`ptx.to_f32(r)` of e4m3x4, e5m2x4, e2m3x4, e3m2x4", 9, "sm_89")
def _(t):
    assert len(ptx.to_f32(t.four[0], e5m2x4)) == 4


@case("`ptx.from_f32(values, dtype)` of one or two", 1, "sm_89")
def _(t):
    assert ptx.from_f32([t.x, t.x], e4m3x2).dtype is e4m3x2


@case("`ptx.from_f32(values, dtype)` of four", 3, "sm_89")
def _(t):
    assert ptx.from_f32([t.x] * 4, e5m2x4).dtype is e5m2x4


# ---- tcgen05 -------------------------------------------------------------------------------------


@case("`ptx.tcgen05.alloc(slot, columns)`", 1, "sm_100a")
def _(t):
    assert ptx.tcgen05.alloc(t.plain, 128).columns == 128


@case("`memory.address()`", 1, "sm_100a")
def _(t):
    ptx.tcgen05.TensorMemory(
        current("a test"), t.plain.__ptx_operand__(current("a test")), 32
    ).address()


@case("`ptx.tcgen05.dealloc(taddr)`, `.relinquish_alloc_permit()`, each", 1, "sm_100a")
def _(t):
    ptx.tcgen05.dealloc(t.taddr, 128)


@case("`ptx.tcgen05.at(taddr, lane=, column=)`, ints", 1, "sm_100a")
def _(t):
    ptx.tcgen05.at(t.taddr, lane=64, column=3)


@case("`ptx.tcgen05.at(taddr, lane=, column=)`, the lane a register", 2, "sm_100a")
def _(t):
    ptx.tcgen05.at(t.taddr, lane=t.i, column=3)
    assert ptx.tcgen05.at(t.taddr).register is t.taddr.register


@case("`ptx.tcgen05.descriptor(tile, k=16)`", 4, "sm_100a")
def _(t):
    ptx.tcgen05.descriptor(t.tile, k=16)


@case("`ptx.tcgen05.descriptor(address, stride_bytes=, swizzle=)`", 3, "sm_100a")
def _(t):
    ptx.tcgen05.descriptor(t.i, stride_bytes=1024)


@case("`ptx.tcgen05.instruction_descriptor(kind, m=, n=, a=, b=)`", 0, "sm_100a")
def _(t):
    made = ptx.tcgen05.instruction_descriptor("f16", m=128, n=256, a=bf16, b=bf16)
    assert made == ptx.tcgen05.make_instr_desc_f16bf16_f32() == 0x8400490
    scaled = ptx.tcgen05.instruction_descriptor("mxf8f6f4", m=128, n=64, a=e4m3, b="e2m1")
    assert scaled == 5 << 10 | 8 << 17 | 1 << 23 | 1 << 27
    assert ptx.tcgen05.instruction_descriptor("i8", m=64, n=8, a=s8, b="u8") >> 4 & 3 == 2


@case("`ptx.tcgen05.mma(d, a, b, idesc, enable_input_d=True)`", 2, "sm_100a")
def _(t):
    ptx.tcgen05.mma(t.taddr, t.desc, t.desc, 0x8400490)


@case("`ptx.tcgen05.mma(d, a, b, idesc, enable_input_d=p)`", 1, "sm_100a")
def _(t):
    ptx.tcgen05.mma(
        t.taddr, t.taddr, t.desc, t.i, kind="tf32", cta_group=2, enable_input_d=t.p,
        a_is_tmem=True, collector="a::fill", pred=t.p,
    )  # fmt: skip


@case("`ptx.tcgen05.commit(bar)`", 1, "sm_100a")
def _(t):
    ptx.tcgen05.commit(t.bars[1], cta_group=2, multicast_mask=3, pred=t.p)


@case(
    "`ptx.tcgen05.ld(None, taddr)`, `.st(taddr, src)`, `.cp(...)`, each",
    1,
    "sm_100a",
)
def _(t):
    assert len(ptx.tcgen05.ld(None, t.taddr, shape="16x256b", count=2, dtype=f32)) == 8


@case(
    "`ptx.tcgen05.wait_ld()`, `.fence_before_thread_sync()` and the like, each",
    1,
    "sm_100a",
)
def _(t):
    ptx.tcgen05.wait_st()


@pytest.mark.parametrize("written", CASES)
def test_an_idiom_is_as_many_instructions_as_it_says(written, traced):
    function, count, target = CASES[written]

    def body():
        things = Things(target)
        before = appended()
        function(things)
        return appended() - before

    found = traced(body, target)
    assert found.result == count
    found.assemble(target)


def test_the_document_has_a_row_for_each():
    rows = re.findall(r"^\| (`.+?) \| (\d+) \|", ROWS.read_text(), re.MULTILINE)
    assert {written: int(count) for written, count in rows} == {k: v[1] for k, v in CASES.items()}
