"""`ptx.inst`: one call is one instruction; destinations, vectors, pairs, sinks, predicates."""

import pytest

from pyptx._ir import Directive
from pyptx._operands import Pair, Vector
from pyptx._trace import ptx, reg
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Reg
from pyptx._trace.memory import smem
from pyptx.types import b32, b64, f16, f32, f64, pred, s32, u16, u32, u64


def test_the_destination_that_is_given_is_returned(traced):
    def body():
        d, a, b = reg.scalar(f32), reg.scalar(f32), reg.scalar(f32)
        return ptx.inst.add.f32(d, a, b) is d

    found = traced(body)
    assert found.result is True
    assert found.instructions == ["add.f32 %f0, %f1, %f2"]


@pytest.mark.parametrize(
    ("call", "dtype", "line"),
    [
        (lambda a: ptx.inst.add.f32(a, 1.0), f32, "add.f32 %f1, %f0, 0f3F800000"),
        (lambda a: ptx.inst.cvt.rn.f16.f32(a), f16, "cvt.rn.f16.f32 %h0, %f0"),
        (lambda a: ptx.inst.cvt.f64.f32(a), f64, "cvt.f64.f32 %fd0, %f0"),
        (lambda a: ptx.inst.cvt.rzi.s32.f32(a), s32, "cvt.rzi.s32.f32 %s0, %f0"),
        (lambda a: ptx.inst.mov.b32(a), b32, "mov.b32 %r0, %f0"),
        (lambda a: ptx.inst.setp.lt.f32(a, 0.0), pred, "setp.lt.f32 %p0, %f0, 0f00000000"),
        (lambda a: ptx.inst.mul.wide.u16(7, 9), u32, "mul.wide.u16 %u0, 7, 9"),
        (lambda a: ptx.inst.mov.u32(ptx.special.laneid()), u32, "mov.u32 %u0, %laneid"),
        (lambda a: ptx.inst.mov.u64(ptx.special.clock64()), u64, "mov.u64 %ud0, %clock64"),
        (lambda a: ptx.inst.popc.b64(5), u32, "popc.b64 %u0, 5"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_destination_left_out_is_a_fresh_register_of_the_right_type(traced, call, dtype, line):
    found = traced(lambda: call(reg.scalar(f32)))
    assert found.instructions == [line]
    assert isinstance(found.result, Reg)
    assert found.result.dtype is dtype
    found.assemble()


def test_vectors(traced):
    def body():
        p = reg.from_(4096, u64)
        four = reg.array(f32, 4)
        same = ptx.inst.ld.global_.v4.f32(four, ptx.addr(p))
        fresh = ptx.inst.ld.global_.v2.f32(ptx.addr(p, 16))
        mixed = [four[0], fresh[1], four[3], reg.scalar(f32)]
        ptx.inst.ld.global_.v4.f32(mixed, ptx.addr(p, -16))
        ptx.inst.st.global_.v4.f32(ptx.addr(p), four)
        ptx.inst.st.global_.v2.f32(ptx.addr(p), fresh)
        ptx.inst.st.global_.v4.f32(ptx.addr(p), (four[0], 1.0, four[1], -0.0))
        ptx.inst.st.global_.v2.f32(ptx.addr(p), four[1:3])
        return same is four, fresh

    found = traced(body)
    assert found.instructions == [
        "mov.u64 %ud0, 4096",
        "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%ud0]",
        "ld.global.v2.f32 {%f4, %f5}, [%ud0+16]",
        "ld.global.v4.f32 {%f0, %f5, %f3, %f6}, [%ud0+-16]",
        "st.global.v4.f32 [%ud0], {%f0, %f1, %f2, %f3}",
        "st.global.v2.f32 [%ud0], {%f4, %f5}",
        "st.global.v4.f32 [%ud0], {%f0, 0f3F800000, %f1, 0f80000000}",
        "st.global.v2.f32 [%ud0], {%f1, %f2}",
    ]
    same, fresh = found.result
    assert same is True
    assert [r.dtype for r in fresh] == [f32, f32]
    found.assemble()


def test_pack_and_unpack(traced):
    def body():
        low, high = reg.from_(1, b32), reg.from_(2, b32)
        wide = ptx.inst.mov.b64([low, high])
        halves = reg.array(b32, 2)
        ptx.inst.mov.b64(halves, wide)
        ptx.inst.mov.b64([ptx.sink, halves[0]], wide)
        return wide.dtype, type(halves)

    found = traced(body)
    assert found.instructions == [
        "mov.b32 %r0, 1",
        "mov.b32 %r1, 2",
        "mov.b64 %rd0, {%r0, %r1}",
        "mov.b64 {%r2, %r3}, %rd0",
        "mov.b64 {_, %r2}, %rd0",
    ]
    assert found.result == (b64, RegArray)
    found.assemble()


def test_pairs_and_sinks(traced):
    def body():
        a, b = reg.from_(1, u32), reg.from_(2, u32)
        p, q, d = reg.scalar(pred), reg.scalar(pred), reg.scalar(b32)
        ptx.inst.setp.lt.u32(ptx.pair(p, q), a, b)
        ptx.inst.setp.lt.and_.u32(p, a, b, q)
        ptx.inst.setp.lt.and_.u32(p, a, b, ~q)
        ptx.inst.shfl.sync.bfly.b32(ptx.pair(d, p), a, 1, 31, 0xFFFFFFFF)
        ptx.inst.shfl.sync.idx.b32(d, a, 0, 31, 0xFFFFFFFF, pred=~p)
        ptx.inst.elect.sync(ptx.pair(ptx.sink, p), 0xFFFFFFFF)
        ptx.inst.atom.global_.add.u32(ptx.sink, ptx.addr(reg.from_(64, u64)), 1)

    found = traced(body)
    assert found.instructions == [
        "mov.u32 %u0, 1",
        "mov.u32 %u1, 2",
        "setp.lt.u32 %p0|%p1, %u0, %u1",
        "setp.lt.and.u32 %p0, %u0, %u1, %p1",
        "setp.lt.and.u32 %p0, %u0, %u1, !%p1",
        "shfl.sync.bfly.b32 %r0|%p0, %u0, 1, 31, 4294967295",
        "@!%p0 shfl.sync.idx.b32 %r0, %u0, 0, 31, 4294967295",
        "elect.sync _|%p0, 4294967295",
        "mov.u64 %ud0, 64",
        "atom.global.add.u32 _, [%ud0], 1",
    ]
    found.assemble()


def test_predicates_guard_any_instruction(traced):
    def body():
        a = reg.from_(1, u32)
        p = a == 1
        ptx.inst.add.u32(a, a, 1, pred=p)
        ptx.inst.add.u32(a, a, 1, pred=~p)
        ptx.inst.add.u32(a, a, 1, pred=~~p)
        fresh = ptx.inst.mov.u32(a, pred=p)
        ptx.ret(pred=~p)
        return fresh.dtype

    found = traced(body)
    assert found.instructions[2:] == [
        "@%p0 add.u32 %u0, %u0, 1",
        "@!%p0 add.u32 %u0, %u0, 1",
        "@%p0 add.u32 %u0, %u0, 1",
        "@%p0 mov.u32 %u1, %u0",
        "@!%p0 ret",
    ]
    found.assemble()


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda r, p: ptx.inst.and_.b32(r, r, 1), "and.b32 %u0, %u0, 1"),
        (lambda r, p: ptx.inst.or_.b32(r, r, 1), "or.b32 %u0, %u0, 1"),
        (lambda r, p: ptx.inst.not_.b32(r, r), "not.b32 %u0, %u0"),
        (lambda r, p: ptx.inst.ld.global_.u32(r, p), "ld.global.u32 %u0, [%ud0]"),
        (lambda r, p: ptx.inst.ld.const.u32(r, p), "ld.const.u32 %u0, [%ud0]"),
        (
            lambda r, p: ptx.inst.ld.global_.L1__no_allocate.u32(r, p),
            "ld.global.L1::no_allocate.u32 %u0, [%ud0]",
        ),
        (
            lambda r, p: ptx.inst.ld.shared__cluster.u32(r, ptx.addr(r, 4)),
            "ld.shared::cluster.u32 %u0, [%u0+4]",
        ),
        (
            lambda r, p: ptx.inst.ld.relaxed.gpu.global_.u32(r, ptx.addr(p, 4)),
            "ld.relaxed.gpu.global.u32 %u0, [%ud0+4]",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_python_names_of_ptx_spellings(traced, call, line):
    def body():
        r, p = reg.scalar(u32), reg.scalar(u64)
        return call(r, p) is r

    found = traced(body)
    assert found.instructions == [line]
    assert found.result is True
    found.assemble()


def test_registers_of_one_width_agree_as_ptx_says(traced):
    """Untyped bits go with any type of their width, signed with unsigned; ld, st and cvt narrow."""

    def body():
        p = reg.from_(4096, u64)
        bits, signed, single = reg.from_(1, b32), reg.from_(1, s32), reg.from_(1, f32)
        ptx.inst.add.u32(bits, signed, bits)
        ptx.inst.and_.b32(single, bits, single)
        ptx.inst.st.global_.u8(ptx.addr(p, 64), signed)
        ptx.inst.ld.global_.u8(bits, ptx.addr(p, 64))
        ptx.inst.cvt.u16.u32(reg.scalar(u32), bits)

    found = traced(body)
    assert found.instructions[4:] == [
        "add.u32 %r0, %s0, %r0",
        "and.b32 %f0, %r0, %f0",
        "st.global.u8 [%ud0+64], %s0",
        "ld.global.u8 %r0, [%ud0+64]",
        "cvt.u16.u32 %u0, %r0",
    ]
    found.assemble()


def test_addresses(traced):
    def body():
        p = reg.from_(4096, u64)
        tile = smem.alloc(u32, (4, 4), name="tile")
        ptx.inst.ld.global_.u32(p)
        ptx.inst.ld.global_.u32(ptx.addr(ptx.addr(p, 4), 8))
        ptx.inst.ld.shared.u32(tile)
        ptx.inst.ld.shared.u32(ptx.addr(tile, 12))
        ptx.inst.ld.shared.u32(tile.address(1, 2))
        low = ptx.inst.mov.u32(tile)
        ptx.inst.ld.shared.u32(ptx.addr(low, 4))
        ptx.inst.cvta.shared.u64(tile)

    found = traced(body)
    assert found.instructions[1:] == [
        "ld.global.u32 %u0, [%ud0]",
        "ld.global.u32 %u1, [%ud0+12]",
        "ld.shared.u32 %u2, [tile]",
        "ld.shared.u32 %u3, [tile+12]",
        "ld.shared.u32 %u4, [tile+24]",
        "mov.u32 %u5, tile",
        "ld.shared.u32 %u6, [%u5+4]",
        "cvta.shared.u64 %ud1, tile",
    ]
    found.assemble()


def test_a_failed_call_leaves_nothing_behind(traced):
    """A form that does not fit makes no registers, so the numbering stays what it was."""

    def body():
        a = reg.from_(1, u32)
        with pytest.raises(Exception, match="b must be a"):
            ptx.inst.add.u32(a, reg.scalar(f32))
        return ptx.inst.add.u32(a, 1)

    assert traced(body).instructions == ["mov.u32 %u0, 1", "add.u32 %u1, %u0, 1"]


def test_every_special_register_assembles(traced):
    from pyptx._isa.special import SPECIAL

    def body():
        for name in SPECIAL:
            path = ptx.special
            for part in name.split("."):
                path = getattr(path, part)
            special = path()
            assert special.dtype is SPECIAL[name].dtype
            reg.from_(special, special.dtype)

    found = traced(body, directives=(Directive("minperctamemory", (16,)),))
    assert len(found.instructions) == len(SPECIAL)
    assert found.assemble().kernel == "k"


def test_operands_are_frozen_and_shared_by_nothing(traced):
    def body():
        p, q = reg.scalar(pred), reg.scalar(pred)
        return ptx.pair(p, q)

    assert isinstance(traced(body).result, Pair)
    assert hash(Vector((traced(body).result.first,)))


def test_the_namespace_lists_what_may_follow():
    assert "fma" in dir(ptx.inst)
    assert "and_" in dir(ptx.inst)
    assert dir(ptx.inst.fma.rn)[:2] == ["bf16", "bf16x2"]
    assert "global_" in dir(ptx.inst.ld)
    assert repr(ptx.inst.ld.global_.v4.f32) == "ptx.inst.ld.global_.v4.f32"
    assert "tid.x" in dir(ptx.special)
    assert u16.bits == 16
