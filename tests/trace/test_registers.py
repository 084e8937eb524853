"""Registers, arrays of registers, and Python numbers as exact constants."""

import math

import ml_dtypes
import numpy as np
import pytest

from pyptx._trace import ptx, reg
from pyptx.types import (
    DTYPES,
    b16,
    b32,
    b64,
    bf16,
    bf16x2,
    f16,
    f16x2,
    f32,
    f64,
    pred,
    s16,
    s32,
    s64,
    u16,
    u32,
    u64,
)


@pytest.mark.parametrize(
    ("dtype", "value", "written"),
    [
        (f32, 0.0, "mov.f32 %f0, 0f00000000"),
        (f32, -0.0, "mov.f32 %f0, 0f80000000"),
        (f32, 1, "mov.f32 %f0, 0f3F800000"),
        (f32, 0.1, "mov.f32 %f0, 0f3DCCCCCD"),
        (f32, 1e-45, "mov.f32 %f0, 0f00000001"),
        (f32, math.inf, "mov.f32 %f0, 0f7F800000"),
        (f32, -math.inf, "mov.f32 %f0, 0fFF800000"),
        (f32, math.nan, "mov.f32 %f0, 0f7FC00000"),
        (f32, np.float64(0.1), "mov.f32 %f0, 0f3DCCCCCD"),
        (f32, ml_dtypes.bfloat16(0.1), "mov.f32 %f0, 0f3DCD0000"),
        (f32, 2**24 + 1, "mov.f32 %f0, 0f4B800000"),
        (f64, 0.1, "mov.f64 %fd0, 0d3FB999999999999A"),
        (f64, -0.0, "mov.f64 %fd0, 0d8000000000000000"),
        (f64, math.nan, "mov.f64 %fd0, 0d7FF8000000000000"),
        (f64, 2**53 + 1, "mov.f64 %fd0, 0d4340000000000000"),
        (f16, 1.0, "mov.b16 %h0, 0x3C00"),
        (f16, -0.0, "mov.b16 %h0, 0x8000"),
        (f16, 65504, "mov.b16 %h0, 0x7BFF"),
        (f16, 6e-8, "mov.b16 %h0, 0x0001"),
        (f16, math.inf, "mov.b16 %h0, 0x7C00"),
        (f16, math.nan, "mov.b16 %h0, 0x7E00"),
        (f16, 1 + 2**-11, "mov.b16 %h0, 0x3C00"),
        (bf16, 1.0, "mov.b16 %h0, 0x3F80"),
        (bf16, 0.1, "mov.b16 %h0, 0x3DCD"),
        (bf16, 1 + 2**-8, "mov.b16 %h0, 0x3F80"),
        (bf16, 1 + 2**-8 + 2**-40, "mov.b16 %h0, 0x3F81"),
        (bf16, -math.inf, "mov.b16 %h0, 0xFF80"),
        (bf16, math.nan, "mov.b16 %h0, 0x7FFF"),
        (f16x2, 1.0, "mov.b32 %r0, 0x3C003C00"),
        (bf16x2, -2.0, "mov.b32 %r0, 0xC000C000"),
        (u16, 65535, "mov.u16 %us0, 65535"),
        (s16, -32768, "mov.s16 %ss0, -32768"),
        (u32, 2**32 - 1, "mov.u32 %u0, 4294967295"),
        (s32, -(2**31), "mov.s32 %s0, -2147483648"),
        (u64, 2**64 - 1, "mov.u64 %ud0, 18446744073709551615"),
        (s64, -(2**63), "mov.s64 %sd0, -9223372036854775808"),
        (s64, np.int64(-5), "mov.s64 %sd0, -5"),
        (b16, -1, "mov.b16 %h0, -1"),
        (b32, 0xFFFFFFFF, "mov.b32 %r0, 4294967295"),
        (b32, -1, "mov.b32 %r0, -1"),
        (b64, 2**63, "mov.b64 %rd0, 9223372036854775808"),
    ],
    ids=str,
)
def test_numbers_become_exact_constants(traced, dtype, value, written):
    found = traced(lambda: reg.scalar(dtype, init=value))
    assert found.instructions == [written]
    assert found.result.dtype is dtype


def test_all_constants_assemble(traced):
    floats = [0.0, -0.0, 0.1, 1e-45, 3e38, math.inf, -math.inf, math.nan]

    def body():
        for dtype in (f32, f64):
            for value in floats:
                reg.scalar(dtype, init=value)
        for dtype in (f16, bf16, f16x2, bf16x2):
            for value in (0.0, -0.0, 0.1, math.inf, math.nan):
                reg.scalar(dtype, init=value)
        for dtype in (u16, s16, u32, s32, u64, s64):
            low = 0 if not dtype.is_signed else -(2 ** (dtype.bits - 1))
            for value in (low, low + 2**dtype.bits - 1):
                reg.scalar(dtype, init=value)
        for dtype in (b16, b32, b64):
            reg.scalar(dtype, init=-1)
            reg.scalar(dtype, init=2**dtype.bits - 1)

    traced(body).assemble()


def test_from_copies_registers_and_special_registers(traced):
    def body():
        a = reg.from_(7, u32)
        b = reg.from_(a, s32)
        c = reg.from_(ptx.special.tid.y(), u32)
        d = reg.scalar(b32, init=reg.from_(1.0, f32))
        e = reg.from_(reg.from_(1.0, f16), b16)
        p = reg.from_(a == 3, pred)
        return b.dtype, c.dtype, d.dtype, e.dtype, p.dtype

    found = traced(body)
    assert found.instructions == [
        "mov.u32 %u0, 7",
        "mov.s32 %s0, %u0",
        "mov.u32 %u1, %tid.y",
        "mov.f32 %f0, 0f3F800000",
        "mov.b32 %r0, %f0",
        "mov.b16 %h0, 0x3C00",
        "mov.b16 %h1, %h0",
        "setp.eq.u32 %p0, %u0, 3",
        "mov.pred %p1, %p0",
    ]
    assert found.result == (s32, u32, b32, b16, pred)
    found.assemble()


def test_a_register_without_a_first_value_appends_nothing(traced):
    assert traced(lambda: reg.scalar(f32)).instructions == []
    assert traced(lambda: reg.array(f32, 8)).instructions == []


def test_arrays(traced):
    def body():
        a = reg.array(u32, 4)
        assert (len(a), a.dtype) == (4, u32)
        assert a[0] is a[0]
        assert a[-1] is a[3]
        assert a[np.int64(1)] is a[1]
        assert list(a)[2] is a[2]
        assert len(a[1:3]) == 2
        assert a[1:3][1] is a[2]
        a[0] = 5
        a[1] = a[0]
        a[2] = ptx.special.laneid()
        a[3] = a[3]
        a[3] += a[0]
        a[0] += 1
        return a

    found = traced(body)
    assert found.instructions == [
        "mov.u32 %u0, 5",
        "mov.u32 %u1, %u0",
        "mov.u32 %u2, %laneid",
        "add.u32 %u3, %u3, %u0",
        "add.u32 %u0, %u0, 1",
    ]
    found.assemble()


def test_a_value_in_an_array_is_copied_and_not_renamed(traced):
    """`a[i] = x` leaves x alone: what x was computed by still writes x."""

    def body():
        a = reg.array(f32, 1)
        x = reg.from_(1.0, f32) + 2.0
        a[0] = x
        a[0] += 1.0
        return x, a[0]

    found = traced(body)
    x, first = found.result
    assert found.named(x=x, first=first)[1:] == [
        "add.rn.f32 x, %f1, 0f40000000",
        "mov.f32 first, x",
        "add.rn.f32 first, first, 0f3F800000",
    ]


def test_declarations_are_one_line_a_class(traced):
    def body():
        for dtype in DTYPES.values():
            if dtype.bits <= 64:
                reg.scalar(dtype)

    found = traced(body)
    declared = [line.strip() for line in found.text.splitlines() if line.startswith("    .reg")]
    assert declared == sorted(declared, key=lambda line: line.split("%")[1])
    assert len(declared) == len({d.prefix for d in DTYPES.values() if d.bits <= 64})
    found.assemble()


@pytest.mark.parametrize(
    ("operation", "dtype", "count", "step"),
    [
        ("sum", u32, 10, "add.u32"),
        ("sum", s32, 10, "add.s32"),
        ("sum", f32, 10, "add.rn.f32"),
        ("sum", f16x2, 10, "add.rn.f16x2"),
        ("sum", bf16x2, 10, "add.rn.bf16x2"),
        ("sum", f64, 25, "add.rn.f64"),
        ("sum", u64, 25, "add.u64"),
        ("sum", f16, 20, "add.rn.f16"),
        ("sum", bf16, 20, "add.rn.bf16"),
        ("max", s32, 10, "max.s32"),
        ("max", u32, 10, "max.u32"),
        ("max", f32, 10, "max.f32"),
        ("max", f64, 25, "max.f64"),
        ("min", f16x2, 10, "min.f16x2"),
        ("min", s64, 25, "min.s64"),
        ("min", bf16, 20, "min.bf16"),
    ],
)
def test_warp_reductions(traced, operation, dtype, count, step):
    def body():
        x = reg.scalar(dtype, init=1)
        assert getattr(ptx.warp, f"reduce_{operation}")(x).register is x.register
        return x

    found = traced(body)
    x = found.result
    lines = found.named(x=x)[1:]
    assert len(lines) == count
    steps = [line for line in lines if line.startswith(step)]
    assert len(steps) == 5
    assert all(line.startswith(f"{step} x, x, %") for line in steps)
    shuffles = [line.split(", ")[2:] for line in lines if line.startswith("shfl.sync.bfly.b32")]
    each = 2 if dtype.bits == 64 else 1
    distances = [d for d in (16, 8, 4, 2, 1) for _ in range(each)]
    assert shuffles == [[str(d), "31", "4294967295"] for d in distances]
    found.assemble()
