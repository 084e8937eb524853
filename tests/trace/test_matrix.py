"""Matrices, Tensor Memory, textures, video and stack instructions as `ptx.inst` writes them.

One program of each family is assembled; the whole of each row is proved in tests/isa.
"""

import pytest

from pyptx._trace import ptx, reg
from pyptx._trace.memory import smem
from pyptx.errors import IsaError
from pyptx.types import b32, f16x2, f32, pred, s32, u16, u32, u64


def zeros(dtype, count):
    return reg.array(dtype, count)


def said(error):
    """The problem without the place before it and the notes after it."""
    return str(error.value).splitlines()[0].partition(": ")[2]


def test_a_warp_multiplies_matrices(traced):
    def body():
        tile = smem.alloc(u16, (16, 16), align=128)
        at = ptx.inst.mov.u32(tile)
        a = ptx.inst.ldmatrix.sync.aligned.m8n8.x4.shared.b16(ptx.addr(at))
        b = ptx.inst.ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16(ptx.addr(at))
        c = zeros(f32, 4)
        d = ptx.inst.mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32(a, b, c)
        ptx.inst.mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32(c, a, b, d)
        one = ptx.inst.ldmatrix.sync.aligned.m8n8.x1.shared.b16(ptx.addr(at))
        ptx.inst.stmatrix.sync.aligned.m8n8.x1.shared.b16(ptx.addr(at), one)
        return a, d, one

    found = traced(body)
    a, d, one = found.result
    assert [len(a), len(d), len(one)] == [4, 4, 1]
    mma, ab = (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "{%r0, %r1, %r2, %r3}, {%r4, %r5}",
    )
    assert found.instructions[3:5] == [
        f"{mma} {{%f4, %f5, %f6, %f7}}, {ab}, {{%f0, %f1, %f2, %f3}}",
        f"{mma} {{%f0, %f1, %f2, %f3}}, {ab}, {{%f4, %f5, %f6, %f7}}",
    ]
    found.assemble()


def test_a_sparse_product_with_block_scales(traced):
    def body():
        a, b, c = zeros(b32, 4), zeros(b32, 4), zeros(f32, 4)
        metadata, scale = reg.scalar(b32), reg.scalar(b32)
        mma = ptx.inst.mma.sp__ordered_metadata.sync.aligned.m16n8k64.row.col.kind__mxf8f6f4
        product = mma.block_scale.scale_vec__1X.f32.e4m3.e2m1.f32.ue8m0
        product(c, a, b, c, metadata, 0, scale, [0, 0], scale, [0, 1])

    traced(body, "sm_120a").assemble("sm_120a")


def test_a_warpgroup_accumulates_in_lists_of_registers(traced):
    def body():
        accumulators = zeros(f32, 128)
        a, b, more = reg.scalar(u64), reg.scalar(u64), reg.scalar(pred)
        ptx.inst.wgmma.fence.sync.aligned()
        product = ptx.inst.wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
        same = product(accumulators, a, b, more, 1, -1, 0, 1)
        product(accumulators, zeros(b32, 4), b, more, 1, 1, 0)
        half = ptx.inst.wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16
        half(zeros(f16x2, 2), a, b, more, 1, 1, 0, 0)
        ptx.inst.wgmma.commit_group.sync.aligned()
        ptx.inst.wgmma.wait_group.sync.aligned(0)
        return same is accumulators

    found = traced(body)
    assert found.result is True
    first = found.instructions[1]
    assert first.startswith("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%f0, %f1, ")
    assert first.endswith("%f126, %f127}, %ud0, %ud1, %p0, 1, -1, 0, 1")
    found.assemble()


def test_the_accumulator_is_as_long_as_its_shape_says(traced):
    def body():
        a, more = reg.scalar(u64), reg.scalar(pred)
        product = ptx.inst.wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
        product(zeros(f32, 64), a, a, more, 1, 1, 0, 0)

    with pytest.raises(IsaError) as error:
        traced(body)
    assert said(error) == (
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16:"
        " d must be a list of 32 elements, not 64"
    )


def test_tensor_memory(traced):
    def body():
        place = smem.alloc(b32, 1)
        bar = smem.mbarrier(1)
        ptx.inst.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(place, 128)
        d = ptx.inst.ld.shared.b32(place)
        a, idesc, more = reg.scalar(u64), reg.scalar(u32), reg.scalar(pred)
        product = ptx.inst.tcgen05.mma.cta_group__1.kind__f16
        product(ptx.addr(d), a, a, idesc, more)
        product(ptx.addr(d), ptx.addr(d), a, idesc, zeros(b32, 4), more, 3)
        ptx.inst.tcgen05.commit.cta_group__1.mbarrier__arrive__one.shared__cluster.b64(
            ptx.addr(bar)
        )
        loaded = ptx.inst.tcgen05.ld.sync.aligned._16x256b.x2.b32(ptx.addr(d, 16))
        ptx.inst.tcgen05.wait__ld.sync.aligned()
        ptx.inst.tcgen05.st.sync.aligned._32x32b.x8.b32(ptx.addr(d), loaded)
        ptx.inst.tcgen05.dealloc.cta_group__1.sync.aligned.b32(d, 128)
        return loaded

    found = traced(body, "sm_100a")
    assert len(found.result) == 8
    found.assemble("sm_100a")


def test_an_address_in_tensor_memory_is_a_32_bit_register(traced):
    def body():
        ptx.inst.tcgen05.shift.cta_group__1.down(ptx.addr(reg.scalar(f32)))

    with pytest.raises(IsaError) as error:
        traced(body, "sm_100a")
    assert said(error) == (
        "tcgen05.shift.cta_group::1.down: taddr is an address in Tensor Memory"
        " and needs a .b32 register, not a .f32 one"
    )


def test_textures_and_surfaces(traced):
    def body():
        handle, layer, x, y = reg.scalar(u64), reg.scalar(u32), reg.scalar(f32), reg.scalar(f32)
        texel = ptx.inst.tex.a2d.v4.f32.f32(ptx.addr(handle, [layer, x, y, y]))
        ptx.inst.tex.level._2d.v4.f32.f32(texel, ptx.addr(handle, [x, y]), x, [1, -1])
        width = ptx.inst.txq.width.b32(ptx.addr(handle))
        i = reg.scalar(s32)
        ptx.inst.sust.b._2d.v4.b32.trap(ptx.addr(handle, [i, i]), texel)
        return texel, width

    found = traced(body)
    assert found.instructions[0] == (
        "tex.a2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%ud0, {%u0, %f0, %f1, %f1}]"
    )
    found.assemble()


def test_the_layer_of_a_texture_is_an_integer(traced):
    def body():
        handle, x = reg.scalar(u64), reg.scalar(f32)
        ptx.inst.tex.a1d.v4.f32.f32(ptx.addr(handle, [x, x]))

    with pytest.raises(IsaError) as error:
        traced(body)
    assert said(error) == (
        "tex.a1d.v4.f32.f32: the coordinate must be a .u32 register, not a .f32 one"
    )


def test_a_handle_has_no_offset(traced):
    with pytest.raises(IsaError) as error:
        traced(lambda: ptx.inst.txq.width.b32(ptx.addr(reg.scalar(u64), 8)))
    assert said(error) == "txq.width.b32: tex is a handle, which has no offset"


def test_video_stack_and_fabric(traced):
    def body():
        a = reg.scalar(s32)
        ptx.inst.vadd2.s32.s32.s32.sat(a, a, a, a)
        ptx.inst.vmad.s32.s32.s32.shr7(a, a, a, a)
        before = ptx.inst.stacksave.u64()
        ptx.inst.alloca.u64(64, 16)
        ptx.inst.stackrestore.u64(before)
        ptx.inst.fabric.submit()

    traced(body, "sm_100").assemble("sm_100")


def test_the_same_as_text(traced):
    """What is written is read again: tensor addresses, vectors and modifiers with `::`."""

    def body():
        ptx.raw("""
            .reg .b32 %d;
            .reg .b64 %t;
            .reg .f32 %f<4>;
            .reg .pred %p;
            tcgen05.mma.cta_group::1.kind::f16 [%d], %t, %t, %d, %p;
            tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%f0, %f1}];
        """)

    found = traced(body, "sm_100a")
    assert [line.split()[0] for line in found.instructions] == [
        "tcgen05.mma.cta_group::1.kind::f16",
        "tex.2d.v4.f32.f32",
    ]
    found.assemble("sm_100a")


def test_parts_of_registers(traced):
    def body():
        a, b, c = (reg.scalar(s32, init=k) for k in (1, 2, 3))
        u = reg.scalar(u32, init=0)
        d = ptx.inst.vadd.s32.s32.s32.sat(ptx.part(a, "b0"), ptx.part(b, "h1"))
        ptx.inst.vadd.s32.s32.s32(ptx.part(d, "b2"), a, ptx.part(b, "b3"), c)
        ptx.inst.vmad.s32.s32.s32.shr7(d, ptx.minus(ptx.part(a, "h0")), b, c)
        ptx.inst.vmad.s32.s32.s32(d, a, ptx.part(b, "h0"), ptx.minus(c))
        ptx.inst.vset.s32.s32.lt.add(u, a, 7, u)
        ptx.inst.vsub2.s32.s32.s32(ptx.part(d, "h1"), ptx.part(a, "h30"), b, c)
        ptx.inst.vavrg4.s32.s32.s32(d, ptx.part(a, "b7654"), ptx.part(b, "b0123"), c)

    found = traced(body)
    assert found.instructions[-7:] == [
        "vadd.s32.s32.s32.sat %s3, %s0.b0, %s1.h1",
        "vadd.s32.s32.s32 %s3.b2, %s0, %s1.b3, %s2",
        "vmad.s32.s32.s32.shr7 %s3, -%s0.h0, %s1, %s2",
        "vmad.s32.s32.s32 %s3, %s0, %s1.h0, -%s2",
        "vset.s32.s32.lt.add %u0, %s0, 7, %u0",
        "vsub2.s32.s32.s32 %s3.h1, %s0.h30, %s1, %s2",
        "vavrg4.s32.s32.s32 %s3, %s0.b7654, %s1.b0123, %s2",
    ]
    found.assemble()


def test_a_texture_with_a_sampler_and_a_predicate(traced):
    def body():
        handle, sampler = reg.scalar(u64, init=0), reg.scalar(u64, init=0)
        x, p, texel = reg.scalar(f32, init=0.5), reg.scalar(pred), reg.array(f32, 4)
        ptx.inst.tex._2d.v4.f32.f32(ptx.pair(texel, p), ptx.addr(handle, sampler, [x, x]))
        ptx.inst.tld4.r._2d.v4.f32.f32(texel, ptx.addr(handle, sampler, [x, x]))

    found = traced(body)
    assert found.instructions[-2:] == [
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}|%p0, [%ud0, %ud1, {%f0, %f0}]",
        "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%ud0, %ud1, {%f0, %f0}]",
    ]
    found.assemble()


def test_handles_of_the_fabric_and_fields_in_place_of_a_tensor_map(traced):
    def body():
        endpoint, offset = reg.scalar(u32, init=0), reg.scalar(u64, init=0)
        tile, bar = smem.alloc(f32, 64, align=128), smem.mbarrier(1)
        handle = ptx.fabric_handle(endpoint, offset)
        put = ptx.inst.fabric.try_put.async_.shared__cta.mbarrier__complete_tx__16B
        put.mbarrier__report__fabric.relaxed.sys.b128(handle, tile, 64, bar)
        counted = ptx.fabric_handle(endpoint, offset, offset)
        put.mbarrier__report__fabric.counted__bytes.relaxed.sys.b128(counted, tile, 64, bar)
        size, upper, stride = (reg.scalar(t, init=8) for t in (u16, u16, u32))
        prefetch = ptx.inst.cp.async_.bulk.prefetch.tensor._2d.L2.global_
        prefetch.override__global_address.override__global_dim_stride(
            ptx.addr(offset, offset, [size, 8], [stride], upper, [0, 0])
        )

    found = traced(body, "sm_107f")
    assert [line.split(" ", 1)[1] for line in found.instructions if line[:2] in ("fa", "cp")] == [
        "[%u0, %ud0], [shared_0], 64, [shared_1]",
        "[%u0, %ud0, %ud0], [shared_0], 64, [shared_1]",
        "[%ud0, %ud0, {%us0, 8}, {%u1}, %us1, {0, 0}]",
    ]
    found.assemble("sm_107f")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("vadd.u32.u32.u32 a.b1, a.h0, b, b", "vadd.u32.u32.u32 %u0.b1, %u0.h0, %u1, %u1"),
        ("vmad.s32.u32.u32 a, -a.h0, b, b", "vmad.s32.u32.u32 %u0, -%u0.h0, %u1, %u1"),
        ("vmad.u32.u32.u32 a, a, b.b3, -b", "vmad.u32.u32.u32 %u0, %u0, %u1.b3, -%u1"),
        ("vset4.u32.u32.ne.add a.b310, a.b7654, b, b",
         "vset4.u32.u32.ne.add %u0.b310, %u0.b7654, %u1, %u1"),
    ],
)  # fmt: skip
def test_parts_of_registers_in_text(traced, text, written):
    def body():
        a, b = reg.scalar(u32, init=1), reg.scalar(u32, init=2)
        ptx.raw(f"{text};", a=a, b=b)

    found = traced(body)
    assert written in found.instructions
    found.assemble()


def test_what_is_selected_is_checked(traced):
    def message(call):
        def body():
            a, b = reg.scalar(u32, init=1), reg.scalar(u32, init=2)
            with pytest.raises(IsaError) as caught:
                call(a, b)
            return caught.value.problem, caught.value.notes

        return traced(body).result

    vadd = ptx.inst.vadd.u32.u32.u32
    problem, notes = message(lambda a, b: vadd(a, ptx.part(b, "h2"), b))
    assert problem == "vadd.u32.u32.u32: a has no part .h2"
    assert notes[0] == ("legal", ".b0 to .b3, .h0, .h1")
    problem, _ = message(lambda a, b: vadd(a, b, ptx.minus(b)))
    assert problem == "vadd.u32.u32.u32: b cannot be negated here"
    problem, notes = message(lambda a, b: vadd(a, b, b, b))
    assert problem == "vadd.u32.u32.u32: d must be a part of a register, not a .u32 register"
    assert notes[0] == ("help", 'ptx.part(d, "b0")')
    problem, _ = message(lambda a, b: ptx.inst.add.u32(a, ptx.part(b, "b0"), b))
    assert problem == ("add.u32: a must be a whole register, not part .b0 of a .u32 register")
    problem, _ = message(lambda a, b: ptx.inst.vmad.u32.u32.u32(a, ptx.minus(a), b, ptx.minus(b)))
    assert problem == "vmad.u32.u32.u32: c cannot be negated here"
    problem, notes = message(
        lambda a, b: ptx.inst.createpolicy.range.fabric.L2__evict_last.b64(ptx.addr(a), 1, 2)
    )
    assert problem.endswith("[leId, dataOff] must be a handle of the fabric, not an address")
    assert notes[0] == ("help", "ptx.fabric_handle(leId, dataOff)")
