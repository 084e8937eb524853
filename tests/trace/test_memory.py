"""Shared memory: where elements lie, static and dynamic, indexed by ints and by registers."""

import re

import numpy as np
import pytest

from pyptx._trace import ptx, reg
from pyptx._trace.memory import smem
from pyptx.types import (
    b16,
    b32,
    b64,
    bf16,
    e4m3,
    e4m3x4,
    f16,
    f16x2,
    f32,
    f64,
    s8,
    s16,
    s32,
    tf32,
    u8,
    u16,
    u32,
    u64,
)


def test_elements_at_constant_positions(traced):
    def body():
        tile = smem.alloc(f32, (4, 8), name="tile")
        line = smem.alloc(f64, 3)
        tile[0, 0] = 1.0
        tile[1, 2] = tile[3, np.int64(7)]
        line[2] = line[1]
        return tile[0, 1].dtype, line[0].dtype

    found = traced(body)
    assert found.instructions == [
        "mov.f32 %f0, 0f3F800000",
        "st.shared.f32 [tile], %f0",
        "ld.shared.f32 %f1, [tile+124]",
        "st.shared.f32 [tile+40], %f1",
        "ld.shared.f64 %fd0, [shared_1+8]",
        "st.shared.f64 [shared_1+16], %fd0",
        "ld.shared.f32 %f2, [tile+4]",
        "ld.shared.f64 %fd1, [shared_1]",
    ]
    assert found.result == (f32, f64)
    assert (
        "    .shared .align 16 .b8 tile[128];\n    .shared .align 16 .b8 shared_1[24];"
        in found.text
    )
    assert found.assemble().shared == 152


def test_elements_at_registers(traced):
    """One `mov` of the address, one `mad` for each index in a register, then the access."""

    def body():
        tile = smem.alloc(f32, (4, 8))
        i, j = reg.from_(1, u32), reg.from_(2, s32)
        tile[i, j] = tile[i, 3]
        tile[2, j] = tile[ptx.special.tid.x(), 1]

    found = traced(body)
    assert found.instructions[2:] == [
        "mov.u32 %u1, shared_0",
        "mad.lo.u32 %u2, %u0, 32, %u1",
        "ld.shared.f32 %f0, [%u2+12]",
        "mov.u32 %u3, shared_0",
        "mad.lo.u32 %u4, %u0, 32, %u3",
        "mad.lo.u32 %u5, %s0, 4, %u4",
        "st.shared.f32 [%u5], %f0",
        "mov.u32 %u6, shared_0",
        "mov.u32 %u7, %tid.x",
        "mad.lo.u32 %u8, %u7, 32, %u6",
        "ld.shared.f32 %f1, [%u8+4]",
        "mov.u32 %u9, shared_0",
        "mad.lo.u32 %u10, %s0, 4, %u9",
        "st.shared.f32 [%u10+64], %f1",
    ]
    found.assemble()


@pytest.mark.parametrize(
    ("dtype", "access", "value"),
    [(f16, "b16", 1.0), (bf16, "b16", 1.0), (f16x2, "b32", 1.0), (u8, "u8", 1), (b64, "b64", 1)],
    ids=str,
)
def test_small_and_packed_elements_move_as_bits(traced, dtype, access, value):
    def body():
        tile = smem.alloc(dtype, 4)
        tile[1] = tile[0]
        return tile[3].dtype

    found = traced(body)
    assert [re.sub(r"%\w+", "r", line) for line in found.instructions[:2]] == [
        f"ld.shared.{access} r, [shared_0]",
        f"st.shared.{access} [shared_0+{dtype.bytes}], r",
    ]
    assert found.result is dtype
    found.assemble()


@pytest.mark.parametrize(
    ("dtype", "taken"),
    [
        (f16, (b16,)),
        (bf16, (b16,)),
        (f16x2, (b32,)),
        (tf32, (b32, f32)),
        (u8, (b16, b32, u16, s32)),
        (e4m3, (b16, b32, u16, s32)),
        (u16, (b16, s16)),
        (b16, (f16, bf16, u16)),
        (b32, (f32, f16x2, u32, e4m3x4)),
        (b64, (u64, f64)),
    ],
    ids=str,
)
def test_registers_of_other_types_that_elements_take(traced, dtype, taken):
    def body():
        tile = smem.alloc(dtype, 4)
        for kind in taken:
            tile[0] = reg.scalar(kind)

    traced(body).assemble()


def test_tiles_are_equal_where_they_are_the_same_memory(traced):
    def body():
        tile, other = smem.alloc(u8, (4, 4)), smem.alloc(u8, (4, 4))
        assert tile == tile
        assert tile != other
        assert tile[1] == tile[1]
        assert tile[1] != tile[2]
        assert tile in [other, tile]

    traced(body)


def test_numbers_of_8_bits_are_in_a_register_of_16(traced):
    def body():
        smem.alloc(u8, 4)[1] = 200
        smem.alloc(e4m3, 4)[2] = 1.5
        smem.store(s8, smem.alloc(s8, 4), -1)

    found = traced(body)
    assert found.instructions == [
        "mov.b16 %h0, 200",
        "st.shared.u8 [shared_0+1], %h0",
        "mov.b16 %h1, 60",
        "st.shared.b8 [shared_1+2], %h1",
        "mov.b16 %h2, 255",
        "st.shared.s8 [shared_2], %h2",
    ]
    found.assemble()


def test_dynamic_shared_memory_has_the_same_elements_at_the_same_offsets(traced):
    """Beyond 48 KiB all variables move into one array; the body stays as it is."""

    def body(rows):
        def trace():
            first = smem.alloc(u8, 20, name="first")
            tile = smem.alloc(f32, (rows, 32), name="tile")
            bars = smem.alloc(b64, 2, align=8)
            i = reg.from_(1, u32)
            tile[2, 3] = tile[i, 5]
            bars[1] = bars[0]
            ptx.inst.mov.u32(bars)
            ptx.inst.ld.shared.u8(reg.scalar(u32), first)
            ptx.inst.ld.shared.v4.f32(ptx.addr(tile, 16))

        return trace

    static, dynamic = traced(body(64)), traced(body(512))
    assert static.instructions == [
        "mov.u32 %u0, 1",
        "mov.u32 %u1, tile",
        "mad.lo.u32 %u2, %u0, 128, %u1",
        "ld.shared.f32 %f0, [%u2+20]",
        "st.shared.f32 [tile+268], %f0",
        "ld.shared.b64 %rd0, [shared_2]",
        "st.shared.b64 [shared_2+8], %rd0",
        "mov.u32 %u3, shared_2",
        "ld.shared.u8 %u4, [first]",
        "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [tile+16]",
    ]
    start = 32 + 512 * 128
    assert dynamic.instructions == [
        "mov.u32 %u0, 1",
        "mov.u32 %u1, dynamic_shared+32",
        "mad.lo.u32 %u2, %u0, 128, %u1",
        "ld.shared.f32 %f0, [%u2+20]",
        f"st.shared.f32 [dynamic_shared+{32 + 268}], %f0",
        f"ld.shared.b64 %rd0, [dynamic_shared+{start}]",
        f"st.shared.b64 [dynamic_shared+{start + 8}], %rd0",
        f"mov.u32 %u3, dynamic_shared+{start}",
        "ld.shared.u8 %u4, [dynamic_shared]",
        "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [dynamic_shared+48]",
    ]
    assert ".extern .shared .align 16 .b8 dynamic_shared[];" in dynamic.text
    assert static.kernel.shared.size == 32 + 64 * 128 + 16
    assert dynamic.kernel.shared.size == start + 16
    assert (static.kernel.shared.dynamic, dynamic.kernel.shared.dynamic) == (False, True)
    assert static.assemble().shared == static.kernel.shared.size
    assert dynamic.assemble().shared == 0


@pytest.mark.parametrize(("size", "dynamic"), [(48 * 1024, False), (48 * 1024 + 1, True)])
def test_the_limit_of_static_shared_memory(traced, size, dynamic):
    found = traced(lambda: smem.alloc(u8, size)[size - 1])
    assert found.kernel.shared.dynamic is dynamic
    found.assemble()


def test_alignment(traced):
    def body():
        smem.alloc(u8, 1)
        smem.alloc(f32, 4, align=128)
        smem.alloc(u8, 1, align=1)
        smem.alloc(u8, 1, align=1)

    layout = traced(body).kernel.shared
    assert list(layout.offsets.values()) == [0, 128, 144, 145]
    assert (layout.size, layout.align) == (146, 128)


def test_three_dimensions(traced):
    def body():
        cube = smem.alloc(u32, (2, 3, 5))
        i = reg.from_(1, u32)
        return cube[1, 2, 4], cube[i, 2, i]

    assert traced(body).instructions == [
        "mov.u32 %u0, 1",
        "ld.shared.u32 %u1, [shared_0+116]",
        "mov.u32 %u2, shared_0",
        "mad.lo.u32 %u3, %u0, 60, %u2",
        "mad.lo.u32 %u4, %u0, 4, %u3",
        "ld.shared.u32 %u5, [%u4+40]",
    ]


def test_in_place_operators_on_elements_load_and_store(traced):
    def body():
        tile = smem.alloc(u32, 2)
        tile[1] += 5

    assert traced(body).instructions == [
        "ld.shared.u32 %u0, [shared_0+4]",
        "add.u32 %u0, %u0, 5",
        "st.shared.u32 [shared_0+4], %u0",
    ]


def test_names_that_ptx_cannot_have_and_names_twice(traced):
    def body():
        smem.alloc(u32, 1, name="two words")
        smem.alloc(u32, 1, name="same")
        smem.alloc(u32, 1, name="same")

    found = traced(body)
    names = re.findall(r"\.b8 (\S+)\[", found.text)
    assert names == ["shared_0", "same", "same_"]
    found.assemble()


def test_loads_and_stores_at_addresses(traced):
    def body():
        tile = smem.alloc(f16, 8, name="tile")
        value = smem.load(f16, tile)
        smem.store(f16, ptx.addr(tile, 4), value)
        smem.store(f32, tile.address(6), 1.0)
        return value.dtype

    found = traced(body)
    assert found.result is f16
    assert found.instructions == [
        "ld.shared.b16 %h0, [tile]",
        "st.shared.b16 [tile+4], %h0",
        "mov.f32 %f0, 0f3F800000",
        "st.shared.f32 [tile+12], %f0",
    ]
    found.assemble()


def test_an_address_stays_usable_as_an_operand(traced):
    def body():
        tile = smem.alloc(u32, (4, 4), name="tile")
        generic = ptx.inst.cvta.shared.u64(tile)
        ptx.inst.ld.u32(generic)
        i = reg.from_(3, u32)
        ptx.inst.st.shared.v2.u32(tile.address(i, 2), [i, i])
        return generic.dtype

    found = traced(body)
    assert found.result is u64
    assert found.instructions[-2:] == [
        "mad.lo.u32 %u3, %u1, 16, %u2",
        "st.shared.v2.u32 [%u3+8], {%u1, %u1}",
    ]
    found.assemble()
