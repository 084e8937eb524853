"""Lines that type checkers reject: each, and no other, ends in `# rejected`."""

from pyptx import Reg, ptx, reg, smem
from pyptx.types import f32


def spelling(a: Reg, b: Reg, c: Reg) -> None:
    ptx.inst.fmad.rn.f32(a, b, c)  # rejected
    ptx.inst.fma.rn.f33(a, b, c)  # rejected
    ptx.inst.fma.f32(a, b, c)  # rejected
    ptx.inst.fma.rn.sat.ftz.f32(a, b, c)  # rejected
    ptx.inst.ld.f32.global_(ptx.addr(a))  # rejected
    ptx.inst.ld.v4.global_.f32(ptx.addr(a))  # rejected
    ptx.inst.ld.global_.v4.u128(ptx.addr(a))  # rejected
    ptx.inst.ld.global_.nc.volatile.f32(ptx.addr(a))  # rejected
    ptx.inst.ld.shared.nc.f32(ptx.addr(a))  # rejected
    ptx.inst.red.global_.cas.b32(ptx.addr(a), b)  # rejected
    ptx.inst.fma.rn(a, b, c)  # rejected
    ptx.inst.wgmma.mma_async.sync.aligned.m64n129k16.f32.bf16.bf16(a)  # rejected
    ptx.inst.atom.relaxed.global_.add.f16(ptx.addr(a), b)  # rejected
    ptx.inst.setp.lo.s32(a, b)  # rejected
    ptx.inst.cp.async_.cg.shared.shared(ptx.addr(a), ptx.addr(b), 16)  # rejected


def number_of_operands(a: Reg, b: Reg, c: Reg, d: Reg) -> None:
    ptx.inst.fma.rn.f32(a, b)  # rejected
    ptx.inst.fma.rn.f32(d, a, b, c, c)  # rejected
    ptx.inst.add.u32(a)  # rejected
    ptx.inst.st.global_.f32(ptx.addr(a))  # rejected
    ptx.inst.bar.sync()  # rejected
    ptx.inst.exit(0)  # rejected
    ptx.inst.setp.lt.and_.u32(a, b)  # rejected
    ptx.inst.add.u32(a, b, predicate=c)  # rejected


def kinds_of_operands(a: Reg, b: Reg, pointer: Reg, four: list[Reg]) -> None:
    ptx.inst.add.u32(a, 1.5)  # rejected
    ptx.inst.add.u32(a, "1")  # rejected
    ptx.inst.add.u32(a, None)  # rejected
    ptx.inst.add.f16(a, 1.0)  # rejected
    ptx.inst.add.u32(a, ptx.addr(pointer))  # rejected
    ptx.inst.add.u32(a, ptx.special.tid.x())  # rejected
    ptx.inst.add.u32(1, a, b)  # rejected
    ptx.inst.st.global_.v4.f32(ptx.addr(pointer), a)  # rejected
    ptx.inst.st.global_.f32(ptx.addr(pointer), four)  # rejected
    ptx.inst.ld.global_.f32(four, ptx.addr(pointer))  # rejected
    ptx.inst.ld.global_.v4.f32(a, ptx.addr(pointer))  # rejected
    ptx.inst.ld.global_.f32(4)  # rejected
    ptx.inst.ld.global_.f32(ptx.addr(pointer, [0, 0]))  # rejected
    ptx.inst.cp.async_.bulk.wait_group(a)  # rejected
    ptx.inst.cp.async_.bulk.prefetch.tensor._2d.L2.global_(ptx.addr(pointer))  # rejected
    ptx.inst.setp.lt.u32(a, four)  # rejected
    ptx.inst.bra(3)  # rejected
    ptx.inst.brx.idx(a, [a, b])  # rejected
    ptx.inst.add.u32(a, b, pred=True)  # rejected
    ptx.inst.elect.sync(a, 1)  # rejected


def results(pointer: Reg, a: Reg) -> None:
    stored: Reg = ptx.inst.st.global_.f32(ptx.addr(pointer), a)  # rejected
    vector: Reg = ptx.inst.ld.global_.v4.f32(ptx.addr(pointer))  # rejected
    scalar: list[Reg] = ptx.inst.ld.global_.f32(ptx.addr(pointer))  # rejected
    print(stored, vector, scalar)


def others(a: Reg) -> None:
    ptx.special.tid()  # rejected
    ptx.special.tid.q()  # rejected
    ptx.special.thread()  # rejected
    ptx.barrier.sync(0)  # rejected
    reg.scalar("f32")  # rejected
    reg.array(f32, a)  # rejected
    smem.alloc(f32, [4, 4])  # rejected
    ptx.cta.reduce(a, "product")  # rejected
    ptx.warp.inclusive_scan(a, lambda x: x)  # rejected
    ptx.math.exp(1.0)  # rejected
    ptx.where(True, a, a)  # rejected
    ptx.from_f32([1.0, 2.0], f32)  # rejected
