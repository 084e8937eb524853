"""Loads, stores and addresses, in every space and width."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from .harness import device, output, run

POINTERS = """
.param u64 X
.param u64 Y
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %tid.x
"""

PREFIX = {8: "b", 16: "h", 32: "r", 64: "rd", 128: "rq"}


def at(register: int, base: int, scale: int) -> str:
    """%rd`register` = %rd`base` + thread * scale."""
    return f"mul.wide.u32 %rd{register}, %r1, {scale}\nadd.u64 %rd{register}, %rd{base}, %rd{register}\n"


def registers(bits: int, count: int) -> str:
    names = [f"%{PREFIX[bits]}{20 + i}" for i in range(count)]
    return names[0] if count == 1 else "{" + ", ".join(names) + "}"


VECTORS = [
    (bits, count)
    for bits in (8, 16, 32, 64, 128)
    for count in (1, 2, 4, 8)
    if bits * count <= (256 if bits in (32, 64) else 128) and not (bits == 8 and count == 8)
]


@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize(("bits", "count"), VECTORS)
@pytest.mark.parametrize("space", ["global", "generic", "shared", "local"])
@pytest.mark.parametrize("pattern", ["consecutive", "strided", "partial"])
def test_vectors_of_every_width_are_copied(bits, count, space, pattern, sanitize):
    size = bits * count // 8
    stride = size * (3 if pattern == "strided" else 1)
    block = 45 if pattern == "partial" else 64
    vector = "" if count == 1 else f".v{count}"
    values = registers(bits, count)
    rng = np.random.default_rng(bits + count)
    x = device(rng.integers(0, 256, 64 * stride, np.uint8))
    y = output(64 * stride, np.uint8)
    through = ""
    if space == "shared":
        through = (
            f".shared tile {64 * stride} 32\nmov.u32 %r2, tile\nmul.lo.u32 %r3, %r1, {stride}\n"
            f"add.u32 %r2, %r2, %r3\nst.shared{vector}.b{bits} [%r2], {values}\n"
            f"ld.shared{vector}.b{bits} {values}, [%r2]\n"
        )
    elif space == "local":
        through = (
            f".local mine {2 * size} 32\nst.local{vector}.b{bits} [mine+{size}], {values}\n"
            f"mov.u64 %rd9, mine\nld.local{vector}.b{bits} {values}, [%rd9+{size}]\n"
        )
    name = ".global" if space != "generic" else ""
    text = (
        POINTERS + at(3, 1, stride) + at(4, 2, stride)
        + f"ld{name}{vector}.b{bits} {values}, [%rd3]\n" + through
        + f"st{name}{vector}.b{bits} [%rd4], {values}\n"
    )  # fmt: skip
    report = run(text, [x], [y], block=block, sanitize=sanitize)
    assert report.message == ""
    moved = np.zeros(64 * stride, bool)
    for thread in range(block):
        moved[thread * stride : thread * stride + size] = True
    assert np.array_equal(y[moved], x[moved])
    assert np.all(y[~moved] == 0xA5)


EXTENSIONS = [
    (dtype, wide)
    for dtype in ("u8", "s8", "b8", "u16", "s16", "u32", "s32")
    for wide in (16, 32, 64)
    if wide > int(dtype[1:])
]


@pytest.mark.parametrize(("dtype", "wide"), EXTENSIONS)
def test_narrow_loads_extend_into_wider_registers(dtype: str, wide: int):
    bits = int(dtype[1:])
    kind = np.dtype(f"{'i' if dtype[0] == 's' else 'u'}{bits // 8}")
    result = np.dtype(f"{'i' if dtype[0] == 's' else 'u'}{wide // 8}")
    values = np.arange(32, dtype=np.int64) * (1 << bits - 5) - (1 << bits - 1)
    x = device(values.astype(kind))
    y = output(32, result)
    text = (
        POINTERS + at(3, 1, bits // 8) + at(4, 2, wide // 8)
        + f"ld.global.{dtype} {registers(wide, 1)}, [%rd3]\nst.global.b{wide} [%rd4], {registers(wide, 1)}\n"
    )  # fmt: skip
    run(text, [x], [y]).check()
    assert np.array_equal(y, x.astype(result))


@pytest.mark.parametrize("wide", [16, 32, 64])
def test_a_store_takes_the_low_bits_of_a_wider_register(wide: int):
    x = device(np.arange(32, dtype=np.uint64) * 0x0123456789ABCDEF)
    y = output(32, np.uint8)
    low = {
        16: "cvt.u16.u64 %h20, %rd21",
        32: "cvt.u32.u64 %r20, %rd21",
        64: "mov.u64 %rd20, %rd21",
    }[wide]
    text = (
        POINTERS + at(3, 1, 8) + at(4, 2, 1)
        + f"ld.global.u64 %rd21, [%rd3]\n{low}\nst.global.u8 [%rd4], {registers(wide, 1)}\n"
    )  # fmt: skip
    run(text, [x], [y]).check()
    assert np.array_equal(y, x.astype(np.uint8))


def test_vector_elements_may_be_thrown_away():
    x, y = device(np.arange(128, dtype=np.float32)), output(32, np.float32)
    text = (
        POINTERS + at(3, 1, 16) + at(4, 2, 4)
        + "ld.global.v4.f32 {_, _, %f1, _}, [%rd3]\nst.global.f32 [%rd4], %f1\n"
    )  # fmt: skip
    run(text, [x], [y], sanitize=True).check()
    assert np.array_equal(y, x[2::4])


def test_immediates_are_stored():
    y = output(64, np.float32)
    text = POINTERS + at(4, 2, 8) + "st.global.v2.f32 [%rd4], {1.5, -2.5}\n"
    run(text, [device([0.0])], [y]).check()
    assert np.array_equal(y, np.tile(np.float32([1.5, -2.5]), 32))


@pytest.mark.parametrize("modifiers", [
    "global.ca", "global.nc", "global.cs.L2::128B", "volatile.global", "relaxed.gpu.global",
    "acquire.sys.global", "weak.global", "mmio.relaxed.sys.global", "global.L1::evict_last",
    "global.L1::no_allocate.L2::256B",
])  # fmt: skip
def test_hints_and_orders_do_not_change_values(modifiers: str):
    x, y = device(np.arange(32, dtype=np.uint32)), output(32, np.uint32)
    text = (
        POINTERS
        + at(3, 1, 4)
        + at(4, 2, 4)
        + f"ld.{modifiers}.u32 %r2, [%rd3]\nst.global.u32 [%rd4], %r2\n"
    )
    run(text, [x], [y], sanitize=True).check()
    assert np.array_equal(y, x)


def test_a_cache_policy_is_an_operand():
    x, y = device(np.arange(32, dtype=np.uint32)), output(32, np.uint32)
    text = (
        POINTERS + at(3, 1, 4) + at(4, 2, 4)
        + "createpolicy.fractional.L2::evict_last.b64 %rd5, 1.0\n"
        + "ld.global.L2::cache_hint.u32 %r2, [%rd3], %rd5\nst.global.L2::cache_hint.u32 [%rd4], %r2, %rd5\n"
    )  # fmt: skip
    run(text, [x], [y], sanitize=True).check()
    assert np.array_equal(y, x)


def test_constants_and_global_variables_have_their_initial_values():
    table = np.arange(32, dtype=np.uint32) * 7
    y = output(64, np.uint32)
    text = f"""
    .param u64 Y
    .const table 128 4 {table.tobytes().hex()}
    .global cells 128 4 {table[:4].tobytes().hex()}
    ld.param.u64 %rd2, [Y]
    mov.u32 %r1, %tid.x
    shl.b32 %r2, %r1, 2
    cvt.u64.u32 %rd3, %r2
    mov.u64 %rd4, table
    add.u64 %rd5, %rd4, %rd3
    ld.const.u32 %r3, [%rd5]
    mov.u64 %rd6, cells
    add.u64 %rd7, %rd6, %rd3
    ld.global.u32 %r4, [%rd7]
    ld.global.u32 %r5, [cells+8]
    add.u32 %r4, %r4, %r5
    add.u64 %rd8, %rd2, %rd3
    st.global.u32 [%rd8], %r3
    st.global.u32 [%rd8+128], %r4
    st.global.u32 [%rd7], %r1
    """
    for _ in range(2):  # a launch starts with the initial values again
        run(text, [], [y]).check()
        assert np.array_equal(y[:32], table)
        expected = np.where(np.arange(32) < 4, table, 0) + table[2]
        assert np.array_equal(y[32:], expected)


def test_generic_addresses_reach_every_space():
    y = output(32 * 5, np.uint32)
    text = """
    .param u64 Y
    .param u32 value
    .const table 4 4 2a000000
    .shared tile 128 4
    .local mine 8 4
    ld.param.u64 %rd2, [Y]
    mov.u32 %r1, %tid.x
    mul.wide.u32 %rd3, %r1, 4
    add.u64 %rd3, %rd2, %rd3
    shl.b32 %r2, %r1, 2
    mov.u64 %rd4, tile
    cvt.u64.u32 %rd5, %r2
    add.u64 %rd4, %rd4, %rd5
    cvta.shared.u64 %rd6, %rd4
    mov.u64 %rd7, mine
    cvta.local.u64 %rd8, %rd7
    mov.u64 %rd9, table
    cvta.const.u64 %rd10, %rd9
    mov.u64 %rd11, value
    cvta.param.u64 %rd12, %rd11
    cvta.global.u64 %rd13, %rd3
    st.u32 [%rd6], %r1
    st.u32 [%rd8+4], %r2
    ld.shared.u32 %r3, [%rd4]
    ld.local.u32 %r4, [mine+4]
    ld.u32 %r5, [%rd10]
    ld.u32 %r6, [%rd12]
    st.u32 [%rd13], %r3
    st.u32 [%rd13+128], %r4
    st.u32 [%rd13+256], %r5
    st.u32 [%rd13+384], %r6
    isspacep.shared %p1, %rd6
    isspacep.local %p2, %rd8
    isspacep.const %p3, %rd10
    isspacep.param %p4, %rd12
    isspacep.global %p5, %rd13
    isspacep.global %p6, %rd6
    isspacep.shared %p7, %rd8
    isspacep.shared::cluster %p8, %rd6
    selp.u32 %r10, 1, 0, %p1
    selp.u32 %r11, 2, 0, %p2
    selp.u32 %r12, 4, 0, %p3
    selp.u32 %r13, 8, 0, %p4
    selp.u32 %r14, 16, 0, %p5
    selp.u32 %r15, 32, 0, %p6
    selp.u32 %r16, 64, 0, %p7
    selp.u32 %r17, 128, 0, %p8
    add.u32 %r10, %r10, %r11
    add.u32 %r10, %r10, %r12
    add.u32 %r10, %r10, %r13
    add.u32 %r10, %r10, %r14
    add.u32 %r10, %r10, %r15
    add.u32 %r10, %r10, %r16
    add.u32 %r10, %r10, %r17
    st.u32 [%rd13+512], %r10
    """
    lines = text.splitlines()
    text = "\n".join(sorted(lines, key=lambda line: not line.strip().startswith(".param")))
    from pyptx import _emulator as emulator
    from pyptx._emulator import Tensor

    from .harness import encode

    report = emulator.run(
        encode(text), [Tensor(y, "Y", writable=True), (77).to_bytes(4, "little")],
        grid=(1, 1, 1), block=(32, 1, 1), sanitize=True,
    )  # fmt: skip
    report.check()
    lanes = np.arange(32)
    assert np.array_equal(y.reshape(5, 32)[0], lanes)
    assert np.array_equal(y.reshape(5, 32)[1], lanes * 4)
    assert np.all(y.reshape(5, 32)[2] == 42)
    assert np.all(y.reshape(5, 32)[3] == 77)
    assert np.all(y.reshape(5, 32)[4] == 1 + 2 + 4 + 8 + 16 + 128)


def test_lanes_of_one_generic_access_may_be_in_different_spaces():
    x, y = device(np.arange(32, dtype=np.uint32) + 100), output(32, np.uint32)
    text = (
        POINTERS
        + at(3, 1, 4)
        + at(4, 2, 4)
        + """
    .shared tile 128 4
    mov.u64 %rd5, tile
    mul.wide.u32 %rd6, %r1, 4
    add.u64 %rd5, %rd5, %rd6
    st.shared.u32 [%rd5], %r1
    cvta.shared.u64 %rd7, %rd5
    and.b32 %r2, %r1, 1
    setp.eq.u32 %p1, %r2, 1
    selp.b64 %rd8, %rd7, %rd3, %p1
    ld.u32 %r3, [%rd8]
    st.global.u32 [%rd4], %r3
    """
    )
    run(text, [x], [y], sanitize=True).check()
    lanes = np.arange(32)
    assert np.array_equal(y, np.where(lanes % 2 == 1, lanes, lanes + 100))


def test_every_thread_has_its_own_local_memory():
    y = output(96, np.uint32)
    text = """
    .param u64 Y
    .local mine 8 8
    ld.param.u64 %rd2, [Y]
    mov.u32 %r1, %tid.x
    mul.wide.u32 %rd3, %r1, 4
    add.u64 %rd3, %rd2, %rd3
    mov.u64 %rd4, mine
    st.local.u32 [%rd4+4], %r1
    bar.sync 0
    ld.local.u32 %r2, [mine+4]
    st.global.u32 [%rd3], %r2
    """
    run(text, [], [y], block=96, sanitize=True).check()
    assert np.array_equal(y, np.arange(96))


def test_an_input_that_is_also_the_output_may_be_written():
    x = device(np.arange(32, dtype=np.uint32))
    text = (
        POINTERS
        + at(3, 1, 4)
        + at(4, 2, 4)
        + """
    ld.global.u32 %r2, [%rd3]
    add.u32 %r2, %r2, 1
    st.global.u32 [%rd4], %r2
    """
    )
    run(text, [x], [x], sanitize=True).check()
    assert np.array_equal(x, np.arange(32) + 1)


def test_nothing_outside_the_tensors_is_touched():
    whole = output(96, np.uint32)
    y = whole[:32]
    text = POINTERS + at(4, 2, 4) + "st.global.u32 [%rd4+128], %r1\nst.global.u32 [%rd4], %r1\n"
    report = run(text, [device([0])], [y])
    assert [f.kind for f in report.findings] == ["out-of-bounds"]
    assert np.all(whole.view(np.uint8) == 0xA5)


def test_discarded_memory_is_uninitialised():
    y = output(64, np.uint32)
    text = (
        POINTERS
        + """
    shl.b32 %r2, %r1, 2
    cvt.u64.u32 %rd3, %r2
    add.u64 %rd3, %rd2, %rd3
    st.global.u32 [%rd3], %r1
    bar.warp.sync -1
    discard.global.L2 [%rd2], 128
    ld.global.u32 %r3, [%rd3]
    """
    )
    report = run(text, [device([0])], [y], sanitize=True)
    assert [f.kind for f in report.findings] == ["uninitialised-memory"]
