"""What idioms append, to the letter, where a number of instructions does not say it all."""

import pytest

from pyptx._trace import ptx, reg
from pyptx._trace.memory import smem
from pyptx.types import b32, b64, bf16, f16x2, f32, pred, s32, u8, u32, u64


def test_typed_instructions(traced):
    def body():
        a, b, x = reg.scalar(u32), reg.scalar(s32), reg.scalar(f32)
        p, pointer = reg.scalar(pred), reg.scalar(u64)
        ptx.mov(u32, a, 1)
        ptx.add(u32, a, a, 2)
        ptx.add(f32, x, x, x)
        ptx.sub(s32, b, b, 3, pred=p)
        ptx.mul(u32, a, a, a, mode="hi")
        ptx.mul(f16x2, reg.scalar(f16x2), reg.scalar(f16x2), reg.scalar(f16x2))
        wide = ptx.mul(s32, None, b, b, mode="wide")
        ptx.mad(u32, a, a, a, a)
        ptx.shl(u32, a, a, 4)
        ptx.shr(s32, b, b, 4)
        ptx.and_(u32, a, a, 7)
        ptx.or_(pred, p, p, p)
        ptx.xor_(s32, b, b, b)
        ptx.not_(u32, a, a)
        same = ptx.setp("lt", s32, p, b, 0)
        ptx.selp(f32, x, x, x, p)
        ptx.cvt(u8, f32, a, x, rounding="rzi", sat=True)
        ptx.ld(f32, x, ptx.addr(pointer), cache="cg")
        ptx.st(f32, ptx.addr(pointer), x, pred=~p)
        return wide.dtype.bits, same is p

    found = traced(body)
    assert found.result == (64, True)
    assert [line.partition(" ")[0] for line in found.instructions] == [
        "mov.u32", "add.u32", "add.rn.f32", "@%p0", "mul.hi.u32", "mul.rn.f16x2", "mul.wide.s32",
        "mad.lo.u32", "shl.b32", "shr.s32", "and.b32", "or.pred", "xor.b32", "not.b32",
        "setp.lt.s32", "selp.f32", "cvt.rzi.sat.u8.f32", "ld.global.cg.f32", "@!%p0",
    ]  # fmt: skip
    found.assemble()


def test_an_array_of_mbarriers_at_an_address(traced):
    def body():
        base = reg.scalar(u32, init=0)
        bars = ptx.mbarrier.array(base, 64, 2)
        bars.init_all(1)
        bars[1].wait(0)
        bars.at(base).arrive()
        bars[0].arrive_remote(1)
        named = ptx.mbarrier.array(smem.mbarrier(3, name="bars"), 8, 2)
        named.arrive_remote_all(0, 2)
        named[base].inval()
        return len(bars), [bar.offset for bar in named]

    found = traced(body)
    assert found.result == (2, [8, 16])
    assert found.instructions[1:] == [
        "mbarrier.init.shared.b64 [%u0+64], 1",
        "mbarrier.init.shared.b64 [%u0+72], 1",
        "mbarrier.try_wait.parity.shared.b64 %p0, [%u0+72], 0",
        "@!%p0 bra $L0",
        "mad.lo.u32 %u1, %u0, 8, %u0",
        "mbarrier.arrive.shared.b64 %rd0, [%u1+64]",
        "add.u32 %u2, %u0, 64",
        "mapa.shared::cluster.u32 %u3, %u2, 1",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%u3]",
        "mapa.shared::cluster.u32 %u4, bars+8, 0",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%u4], 2",
        "mapa.shared::cluster.u32 %u5, bars+16, 0",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%u5], 2",
        "mov.u32 %u6, bars",
        "mad.lo.u32 %u7, %u0, 8, %u6",
        "mbarrier.inval.shared.b64 [%u7+8]",
    ]
    found.assemble()


def test_copies(traced):
    def body():
        tile, bar = smem.alloc(f32, (32, 32), align=128, name="tile"), smem.mbarrier(name="bar")
        pointer, mask = reg.scalar(u64), reg.scalar(u32)
        there = ptx.cluster.map_shared_u32(bar, 1)
        copy = ptx.cp.async_
        copy.ca(tile, pointer, 8, src_size=4)
        copy.cg(tile, pointer, pred=mask == 0)
        copy.commit_group()
        copy.wait_group(2)
        copy.wait_all()
        copy.mbarrier_arrive(bar, noinc=False)
        copy.bulk.load(tile, pointer, 512, bar)
        copy.bulk.to_cluster(ptx.addr(there, 64), tile, 512, ptx.addr(there))
        copy.bulk.store(pointer, tile, mask)
        copy.bulk.prefetch(pointer, 512)
        copy.bulk.commit_group()
        copy.bulk.wait_group(1, read=True)

    found = traced(body)
    complete = "mbarrier::complete_tx::bytes"
    assert found.instructions[1:] == [
        "cp.async.ca.shared.global [tile], [%ud0], 8, 4",
        "setp.eq.u32 %p0, %u0, 0",
        "@%p0 cp.async.cg.shared.global [tile], [%ud0], 16",
        "cp.async.commit_group",
        "cp.async.wait_group 2",
        "cp.async.wait_all",
        "cp.async.mbarrier.arrive.shared.b64 [bar]",
        f"cp.async.bulk.shared::cluster.global.{complete} [tile], [%ud0], 512, [bar]",
        f"cp.async.bulk.shared::cluster.shared::cta.{complete} [%u1+64], [tile], 512, [%u1]",
        "cp.async.bulk.global.shared::cta.bulk_group [%ud0], [tile], %u0",
        "cp.async.bulk.prefetch.L2.global [%ud0], 512",
        "cp.async.bulk.commit_group",
        "cp.async.bulk.wait_group.read 1",
    ]
    found.assemble()


def test_elected_lanes_registers_and_fences(traced):
    def body():
        lane, chosen = reg.scalar(b32), reg.scalar(pred)
        ptx.elect_sync(lane, chosen)
        ptx.elect_sync(ptx.sink, chosen, 0xFF)
        ptx.setmaxnreg_inc(232)
        ptx.setmaxnreg_dec(40)
        ptx.fence.proxy_async_shared_cta()
        ptx.fence.proxy_async_generic_acquire_shared_cluster()

    found = traced(body)
    assert found.instructions == [
        "elect.sync %r0|%p0, 4294967295",
        "elect.sync _|%p0, 255",
        "setmaxnreg.inc.sync.aligned.u32 232",
        "setmaxnreg.dec.sync.aligned.u32 40",
        "fence.proxy.async.shared::cta",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
    ]
    found.assemble()


def test_a_pipeline_of_one_stage_flips_its_phase(traced):
    def body():
        state = ptx.pipeline(1)
        state.advance()

    assert traced(body).instructions[2:] == ["xor.b32 %u1, %u1, 1"]


def test_unpacking_gives_the_stage_and_the_phase_before(traced):
    def body():
        stage, phase = ptx.pipeline(3).advance()
        return stage, phase

    found = traced(body)
    stage, phase = found.result
    assert found.named(stage=stage, phase=phase)[2:5] == [
        "mov.u32 stage, %u0",
        "mov.u32 phase, %u1",
        "add.u32 %u0, %u0, 1",
    ]


def test_going_on_wraps_the_stage_and_flips_the_phase(traced):
    def body():
        ptx.pipeline(3, phase=1).advance()

    assert traced(body).instructions == [
        "mov.u32 %u0, 0",
        "mov.u32 %u1, 1",
        "add.u32 %u0, %u0, 1",
        "setp.eq.u32 %p0, %u0, 3",
        "@%p0 mov.u32 %u0, 0",
        "@%p0 xor.b32 %u1, %u1, 1",
    ]


def test_the_descriptor_of_a_tile_and_of_its_next_k(traced):
    """What is added to the encoded address: the fields of the layout, and the bytes of K."""

    def body():
        tile = smem.wgmma_tile(bf16, (2, 64, 128), name="tile")
        ptx.wgmma.descriptor(tile[1], k=80)
        ptx.wgmma.descriptor(tile[reg.scalar(u32, init=1)], mn=8)
        return tile.layout.align, tile.bytes, tile.k_offset(80)

    found = traced(body)
    fields = 1 << 62 | 64 << 32 | 1 << 16
    assert found.result == (1024, 2 * 64 * 128 * 2, 64 * 128 + 32)
    assert found.instructions == [
        "mov.u32 %u0, tile",
        "bfe.u32 %u1, %u0, 4, 14",
        "cvt.u64.u32 %ud0, %u1",
        f"add.u64 %ud1, %ud0, {fields + (16384 + 64 * 128 + 32 >> 4)}",
        "mov.u32 %u2, 1",
        "mov.u32 %u3, tile",
        "mad.lo.u32 %u4, %u2, 16384, %u3",
        "bfe.u32 %u5, %u4, 4, 14",
        "cvt.u64.u32 %ud2, %u5",
        f"add.u64 %ud3, %ud2, {fields + (8 * 128 >> 4)}",
    ]
    assert ".shared .align 1024 .b8 tile[32768];" in found.text
    found.assemble()


@pytest.mark.parametrize(
    ("kind", "given", "modifiers"),
    [
        ("f16", {"ws": True, "collector": "b1::use"},
         "ws.cta_group::1.kind::f16.collector::b1::use"),
        ("tf32", {"cta_group": 2}, "cta_group::2.kind::tf32"),
        ("i8", {"a_is_tmem": True}, "cta_group::1.kind::i8"),
        ("mxf8f6f4", {"scaled": True, "scale_vector": "scale_vec::1X"},
         "cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X"),
        ("mxf4", {"scaled": True}, "cta_group::1.kind::mxf4.block_scale"),
        ("mxf4nvf4", {"scaled": True, "scale_vector": "block16", "sparse": True},
         "sp.cta_group::1.kind::mxf4nvf4.block_scale.block16"),
    ],
)  # fmt: skip
def test_multiplication_of_every_kind(traced, kind, given, modifiers):
    def body():
        group = given.get("cta_group", 1)
        memory = ptx.tcgen05.alloc(smem.alloc(u32, 1), 512, cta_group=group)
        taddr, desc, more = memory.address(), reg.scalar(b64), reg.scalar(pred)
        options = dict(given)
        if options.pop("scaled", False):
            options |= {"scale_a": taddr, "scale_b": ptx.tcgen05.at(taddr, column=4)}
        if options.pop("sparse", False):
            options["sparse_metadata"] = taddr
        a = taddr if options.get("a_is_tmem") else desc
        ptx.tcgen05.mma(taddr, a, desc, reg.scalar(u32), kind=kind, enable_input_d=more, **options)

    found = traced(body, "sm_100a")
    assert found.instructions[-1].startswith(f"tcgen05.mma.{modifiers} [%r0], ")
    found.assemble("sm_100a")


def test_moving_to_and_from_tensor_memory(traced):
    def body():
        taddr, desc = reg.scalar(b32), reg.scalar(u64)
        t5 = ptx.tcgen05
        held = t5.ld(None, taddr, shape="16x32bx2", count=4, split=8, pack=True)
        t5.ld(held, taddr, shape="16x128b", count=2)
        t5.st(taddr, held, shape="16x32bx2", count=4, split=8, unpack=True)
        t5.cp(taddr, desc, size="64x128b", multicast="warpx2::02_13", fmt="b4x16_p64")
        t5.shift(taddr)
        t5.relinquish_alloc_permit()
        t5.dealloc(taddr, 64)

    found = traced(body, "sm_100a")
    four = "{%r1, %r2, %r3, %r4}"
    assert found.instructions == [
        f"tcgen05.ld.sync.aligned.16x32bx2.x4.pack::16b.b32 {four}, [%r0], 8",
        f"tcgen05.ld.sync.aligned.16x128b.x2.b32 {four}, [%r0]",
        f"tcgen05.st.sync.aligned.16x32bx2.x4.unpack::16b.b32 [%r0], 8, {four}",
        "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b4x16_p64 [%r0], %ud0",
        "tcgen05.shift.cta_group::1.down [%r0]",
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 64",
    ]
    found.assemble("sm_100a")
