"""Lines that type checkers accept, with the types of what they give."""

from typing import Any, assert_type

import numpy as np

from pyptx import (
    Pred,
    PtxError,
    Reg,
    Scalar,
    Tensor,
    Tile,
    kernel,
    ptx,
    reg,
    sequence,
    smem,
    target,
)
from pyptx._isa.given import TensorPosition
from pyptx._operands import Address, Pair
from pyptx.ops import rms_norm
from pyptx.types import b32, b64, bf16x2, f32, f64, pred, s32, u32, u64


def arithmetic(a: Reg, b: Reg, c: Reg) -> None:
    assert_type(ptx.inst.fma.rn.f32(a, b, c), Reg)
    assert_type(ptx.inst.fma.rn.ftz.sat.f32(a, b, c), Reg)
    assert_type(ptx.inst.add.u32(c, a, b), Reg)
    ptx.inst.add.f32(c, a, 1)
    ptx.inst.add.f64(a, np.float32(1.5))
    ptx.inst.add.u32(a, np.int64(1))
    ptx.inst.max.f32(a, b, c)
    ptx.inst.max.f32(c, a, b)
    ptx.inst.mad.lo.u32(a, 128, b, pred=c < 3)
    ptx.inst.and_.b32(a, ~b)
    ptx.inst.or_.b32(a, 0xFF)
    ptx.inst.not_.b64(a)
    ptx.inst.cvt.rn.bf16x2.f32(a, b)
    ptx.inst.prmt.b32(a, b, 0x5410)
    ptx.inst.sub.cc.u32(a, b)
    ptx.inst.dp4a.u32.s32(a, b, c)


def comparison(a: Reg, b: Reg, p: Reg, q: Reg) -> None:
    assert_type(ptx.inst.setp.lt.f32(a, b), Reg)
    assert_type(ptx.inst.setp.lt.and_.u32(p, a, 4, ~q), Reg)
    ptx.inst.setp.lt.u32(ptx.pair(p, q), a, b)
    ptx.inst.selp.u32(1, 0, p)
    ptx.inst.slct.f32.s32(a, b, p)
    negated: Pred = ~p
    ptx.inst.add.u32(a, b, pred=negated)


def movement(a: Reg, p: Reg, pointer: Reg) -> None:
    tile = smem.alloc(f32, (4, 4))
    four = reg.array(f32, 4)
    assert_type(ptx.inst.ld.global_.f32(ptx.addr(pointer, 4)), Reg)
    assert_type(ptx.inst.ld.global_.v4.f32(pointer), list[Reg])
    ptx.inst.ld.global_.L1__no_allocate.v4.f32(four, ptx.addr(pointer))
    ptx.inst.ld.global_.L1__evict_first.L2__256B.u32(ptx.addr(pointer + 4))
    assert_type(ptx.inst.st.global_.v4.f32(ptx.addr(pointer), four), None)
    ptx.inst.st.shared.v2.f32(tile.address(0, 2), [a, 1.0])
    ptx.inst.st.shared.v4.f32(tile, four[0:4])
    assert_type(ptx.inst.mov.u32(tile), Reg)
    ptx.inst.mov.u32(ptx.special.tid.x())
    ptx.inst.mov.b64(pointer, [a, a])
    assert_type(ptx.inst.mov.b64([a, a], pointer), list[Reg])
    ptx.inst.mov.b64([a, ptx.sink], pointer)
    ptx.inst.cvta.to.shared.u64(pointer)
    assert_type(ptx.inst.shfl.sync.bfly.b32(ptx.pair(a, p), a, 16, 31, -1), Pair)
    ptx.inst.shfl.sync.bfly.b32(a, 16, 31, 0xFFFFFFFF)
    ptx.inst.prefetch.global_.L2(ptx.addr(pointer))


def asynchronous(map_: Reg, pointer: Reg, state: Reg) -> None:
    tile = smem.alloc(f32, 1024, align=128)
    bars = smem.mbarrier(2)
    load = ptx.inst.cp.async_.bulk.shared__cluster.global_.mbarrier__complete_tx__bytes
    assert_type(load(tile, ptx.addr(pointer), 4096, bars[0]), None)
    tensor = ptx.inst.cp.async_.bulk.tensor._2d.shared__cluster.global_
    tensor.mbarrier__complete_tx__bytes(tile, ptx.addr(map_, [0, pointer]), bars[1])
    ptx.inst.cp.async_.ca.shared.global_(tile, ptx.addr(pointer), 16)
    ptx.inst.cp.async_.bulk.wait_group.read(0)
    ptx.inst.cp.async_.wait_all()
    assert_type(ptx.inst.mbarrier.arrive.shared.b64(bars[0]), Reg)
    ptx.inst.mbarrier.arrive.shared.b64(ptx.sink, bars[0], 2)
    ptx.inst.mbarrier.try_wait.parity.shared.b64(bars[0], 0)
    assert_type(ptx.inst.atom.global_.add.u32(ptx.addr(pointer), 1), Reg)
    assert_type(ptx.inst.red.global_.add.u32(ptx.addr(pointer), 1), None)
    ptx.inst.atom.acq_rel.gpu.global_.cas.b64(ptx.addr(pointer), state, 1)
    ptx.inst.bar.sync(0)
    ptx.inst.barrier.cluster.arrive.release.aligned()


def matrices(a: list[Reg], b: list[Reg], c: list[Reg], descriptor: Reg, p: Reg) -> None:
    mma = ptx.inst.mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    assert_type(mma(a, b, c), list[Reg])
    mma(c, a, b, c)
    ptx.inst.ldmatrix.sync.aligned.m8n8.x4.shared.b16(ptx.addr(descriptor))
    ptx.inst.wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16(
        reg.array(f32, 64), descriptor, descriptor, p, 1, 1, 0, 0
    )
    ptx.inst.wgmma.wait_group.sync.aligned(0)
    ptx.inst.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(ptx.addr(descriptor), 128)


def control(p: Reg) -> None:
    done = ptx.label()
    ptx.inst.bra(done, pred=~p)
    ptx.inst.bra.uni("end")
    ptx.place(done)
    ptx.label("end")
    ptx.inst.exit()
    ptx.inst.griddepcontrol.wait()
    with ptx.if_(p):
        ptx.ret()
    with ptx.else_():
        ptx.bar.sync()
    for i in ptx.range_(4):
        assert_type(i, Reg)


@kernel(
    in_specs=(Scalar(f32), Tile("N", f32)),
    out_specs=(Tile("N", f32),),
    grid=lambda N: ptx.cdiv(N, 128),
    block=128,
)
def scaled(a: Reg, X: Tensor, Y: Tensor) -> None:
    x, y = ptx.global_ptrs(X, Y)
    i = ptx.inst.mad.lo.u32(reg.from_(ptx.special.ctaid.x(), u32), 128, ptx.cluster.rank())
    with ptx.if_(i < X.shape[0]):
        ptx.inst.st.global_.f32(ptx.addr(y + i * 4), a * ptx.inst.ld.global_.f32(ptx.addr(x)))


def registers() -> None:
    assert_type(reg.scalar(f64, init=0.0), Reg)
    assert_type(reg.array(s32, 4)[0], Reg)
    total = reg.scalar(b32) + 1
    assert_type(total, Reg)
    assert_type(total == 1, Reg)
    assert_type(ptx.elect(), Reg)
    ptx.warp.reduce_sum(total)
    reg.scalar(pred)
    assert_type(ptx.cta.reduce(total, lambda a, b: a * b), Reg)
    assert_type(ptx.cta.exclusive_scan(total, "max", identity=0), Reg)
    assert_type(ptx.warp.broadcast(total, 3), Reg)
    assert_type(ptx.cluster.reduce_sum(total), Reg)
    assert_type(ptx.math.exp(reg.scalar(f32), fast=True), Reg)
    assert_type(ptx.where(~(total > 0), total, 1), Reg)
    assert_type(ptx.to_f32(total, bf16x2), list[Reg])
    assert_type(ptx.from_f32(reg.array(f32, 2), bf16x2), Reg)
    reg.scalar(b64)
    reg.from_(1, u64)


def memory_of_functions_and_modules(pointer: Reg) -> None:
    stack = ptx.local(f32, 4)
    table = ptx.const(f32, name="table", init=[1.0, 2.0])
    ptx.inst.st.local.f32(ptx.addr(stack, 4), 1.0)
    ptx.inst.ld.const.f32(ptx.addr(table))
    ptx.inst.mov.u64(table)
    ptx.raw("add.u32 %r0, %r0, 1;")


def barriers_and_copies(X: Tensor, p: Reg) -> None:
    bars = smem.mbarrier(4)
    bars[0].init(1, pred=p)
    assert_type(bars[1].arrive(), Reg)
    bars[0].wait(0)
    tile = smem.alloc(f32, (8, 32), align=128)
    tile[0, 1] = 2.0
    assert_type(tile.address(0, 1), Address)
    tensor_map = X.tma_desc((8, 32))
    assert_type(ptx.addr(tensor_map, [0, 0]), TensorPosition)
    load = ptx.inst.cp.async_.bulk.tensor._2d.shared__cluster.global_.mbarrier__complete_tx__bytes
    load(tile, ptx.addr(tensor_map, [0, 0]), bars[0])
    ptx.fence.mbarrier_init()
    ptx.cluster.sync()
    assert_type(ptx.cluster.rank(), Reg)
    assert_type(X.shape, tuple[int | Reg, ...])


@kernel
def bare() -> None:
    ptx.bar.sync(0)


@sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
def twice(x: Any) -> Any:
    return scaled(2.0, scaled(2.0, x))


def looking() -> None:
    assert_type(scaled.ptx(N=128), str)
    assembled = scaled.cubin(N=128, arch="sm_90a")
    assert_type(assembled.registers, int)
    assert_type(assembled.code, bytes)
    emulation = scaled.emulate(2.0, np.zeros(128, np.float32), sanitize=True)
    emulation.report.check()
    for finding in emulation.report.findings:
        print(finding.kind, finding.text)
    with target("sm_90a"):
        print(rms_norm(np.zeros((2, 8), np.float32), np.ones(8, np.float32)))
    try:
        scaled.ptx()
    except PtxError as error:
        assert_type(error.problem, str)
