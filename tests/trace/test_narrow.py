"""`ptx.to_f32`, `ptx.from_f32` and `ptx.where`: values, instructions and targets."""

import ml_dtypes
import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx._ir import Instruction
from pyptx._trace.core.context import current
from pyptx.types import DTYPES, b16, b32, f32, pred, u16, u32, u64

NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f16x2": np.float16,
    "bf16x2": ml_dtypes.bfloat16, "e4m3x2": ml_dtypes.float8_e4m3fn,
    "e5m2x2": ml_dtypes.float8_e5m2, "e4m3x4": ml_dtypes.float8_e4m3fn,
    "e5m2x4": ml_dtypes.float8_e5m2, "e2m3x2": ml_dtypes.float6_e2m3fn,
    "e3m2x2": ml_dtypes.float6_e3m2fn, "e2m3x4": ml_dtypes.float6_e2m3fn,
    "e3m2x4": ml_dtypes.float6_e3m2fn, "ue8m0x2": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip
SIX = ("e2m3x2", "e3m2x2", "e2m3x4", "e3m2x4")
UNSIGNED = {16: u16, 32: u32}


def numbers(name):
    return 4 if name.endswith("x4") else 2 if name.endswith("x2") else 1


def target_of(name):
    if name in SIX or name.startswith("ue8m0"):
        return "sm_100a"
    return "sm_89" if name.startswith(("e4", "e5")) else "sm_80"


def widened(name, bits):
    """The f32 that each register of bits holds, a row for each register."""
    dtype, count = DTYPES[name], numbers(name)

    @kernel(
        in_specs=(Tile("N", UNSIGNED[dtype.bits]),),
        out_specs=(Tile("N", count, f32),),
        grid=lambda N: (N // 32, 1, 1),
        block=32,
        arch=target_of(name),
    )
    def program(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        index = ptx.inst.mad.lo.u32(
            reg.from_(ptx.special.ctaid.x(), u32), 32, reg.from_(ptx.special.tid.x(), u32)
        )
        load = getattr(ptx.inst.ld.global_, f"b{dtype.bits}")
        held = load(reg.scalar(DTYPES[f"b{dtype.bits}"]), ptx.addr(x + index * dtype.bytes))
        found = ptx.to_f32(held, dtype)
        assert len(found) == count
        for i, each in enumerate(found):
            ptx.inst.st.global_.f32(ptx.addr(y + index * (4 * count), 4 * i), each)

    return program.emulate(bits, sanitize=True).outputs[0]


def narrowed(name, values):
    dtype, count = DTYPES[name], numbers(name)

    @kernel(
        in_specs=(Tile("N", count, f32),),
        out_specs=(Tile("N", UNSIGNED[dtype.bits]),),
        grid=lambda N: (N // 32, 1, 1),
        block=32,
        arch=target_of(name),
    )
    def program(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        index = ptx.inst.mad.lo.u32(
            reg.from_(ptx.special.ctaid.x(), u32), 32, reg.from_(ptx.special.tid.x(), u32)
        )
        start = x + index * (4 * count)
        given = [ptx.inst.ld.global_.f32(ptx.addr(start, 4 * i)) for i in range(count)]
        made = ptx.from_f32(given if count > 1 else given[0], dtype)
        store = getattr(ptx.inst.st.global_, f"b{dtype.bits}")
        store(ptx.addr(y + index * dtype.bytes), made)

    return program.emulate(values, sanitize=True).outputs[0]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", NUMPY)
def test_every_value_widens_exactly(name):
    """All bit patterns of the type, in every place of the register."""
    dtype, count = DTYPES[name], numbers(name)
    each = dtype.bits // count
    patterns = 1 << (6 if name in SIX else each)
    values = np.arange(patterns, dtype=f"u{each // 8}")
    rows = np.stack([np.roll(values, 7 * i) for i in range(count)], 1)
    bits = np.ascontiguousarray(rows).view(f"u{dtype.bytes}").reshape(-1)
    with np.errstate(invalid="ignore"):
        expected = rows.view(NUMPY[name]).astype(np.float32)
    np.testing.assert_array_equal(widened(name, bits), expected)


@pytest.mark.parametrize("name", [n for n in NUMPY if not n.startswith("ue8m0")])
def test_numbers_are_rounded_to_nearest_even(name):
    random = np.random.default_rng(3)
    count = numbers(name)
    scale = 2.0 ** random.integers(-6, 4, (2048, count))
    values = (random.standard_normal((2048, count)) * scale).astype(np.float32)
    kind = NUMPY[name]
    if numbers(name) == 4 or name in SIX or name.startswith("e"):
        most = float(ml_dtypes.finfo(kind).max)
        values[0], values[1] = 1e30, -1e30  # .satfinite
        expected = np.clip(values, -most, most).astype(kind)
    else:
        values[0], values[1] = np.inf, -1e38
        with np.errstate(over="ignore"):
            expected = values.astype(kind)
    found = narrowed(name, values).view(kind).reshape(-1, count)
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


COUNTS = {
    "f32": (0, 0), "f16": (1, 1), "bf16": (1, 1), "f16x2": (3, 1), "bf16x2": (2, 1),
    "ue8m0x2": (3, None), "e4m3x2": (4, 1), "e5m2x2": (4, 1), "e2m3x2": (4, 1), "e3m2x2": (4, 1),
    "e2m1x2": (4, 1), "e4m3x4": (9, 3), "e5m2x4": (9, 3), "e2m3x4": (9, 3), "e3m2x4": (9, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_as_many_instructions_as_they_say(traced, name):
    to, back = COUNTS[name]
    dtype = DTYPES[name]

    def appended(function):
        trace = current("a test")
        before = sum(isinstance(s, Instruction) for s in trace.body)
        result = function()
        return result, sum(isinstance(s, Instruction) for s in trace.body) - before

    def body():
        given = reg.array(f32, 4)
        found = [(back, back)]
        if back is not None:
            made, count = appended(lambda: ptx.from_f32(given[: numbers(name)], dtype))
            assert made.dtype is dtype
            found = [(back, count)]
        values, count = appended(lambda: ptx.to_f32(reg.scalar(dtype)))
        assert [v.dtype for v in values] == [f32] * numbers(name)
        return [*found, (to, count)]

    target = "sm_100a" if name in (*SIX, "e2m1x2") or name.startswith("ue") else target_of(name)
    found = traced(body, target)
    assert all(said == count for said, count in found.result)
    found.assemble(target)


# ---- where ---------------------------------------------------------------------------------------


WHERE = ("u16", "s16", "b16", "f16", "bf16", "e4m3x2", "u32", "s32", "b32", "f32", "f16x2",
         "bf16x2", "e4m3x4", "u64", "s64", "b64", "f64")  # fmt: skip


@pytest.mark.parametrize("name", WHERE)
def test_where_is_one_selp(traced, name):
    dtype = DTYPES[name]

    def body():
        p, a, b = reg.scalar(pred, init=1), reg.scalar(dtype), reg.scalar(dtype)
        found = [ptx.where(p, a, b), ptx.where(~p, a, b)]
        if not name.startswith("e"):
            found += [ptx.where(p, 2, b), ptx.where(p, a, 0)]
        assert all(each.dtype is dtype for each in found)
        return len(found)

    found = traced(body, "sm_100a")
    spelled = "selp." + (name if dtype.storage == name else f"b{dtype.bits}")
    assert sum(line.startswith(spelled + " ") for line in found.instructions) == found.result
    assert len(found.instructions) == 1 + found.result
    found.assemble("sm_100a")


def test_where_chooses(traced):
    """Registers and numbers of every width, both ways of the predicate."""

    @kernel(in_specs=(Tile(32, u32),), out_specs=(Tile(32, 4, u64),), block=32, arch="sm_80")
    def choose(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        value = ptx.inst.ld.global_.u32(ptx.addr(x + tid * 4))
        p = value > 5
        half = reg.from_(2.0, DTYPES["f16"])
        pair = reg.from_(3.0, DTYPES["bf16x2"])
        found = [
            ptx.inst.cvt.u64.u32(ptx.where(p, value, 77)),
            ptx.where(~p, reg.from_(1 << 40, u64), 5),
            ptx.inst.cvt.u64.u16(reg.from_(reg.from_(ptx.where(p, half, -1.5), b16), u16)),
            ptx.inst.cvt.u64.u32(reg.from_(reg.from_(ptx.where(p, 1.0, pair), b32), u32)),
        ]
        for i, each in enumerate(found):
            ptx.inst.st.global_.u64(ptx.addr(y + tid * 32, 8 * i), each)

    x = np.arange(32, dtype=np.uint32)
    done = choose.emulate(x, sanitize=True)
    assert not done.report.findings
    p = x > 5
    expected = [
        np.where(p, x, 77), np.where(~p, 1 << 40, 5), np.where(p, 0x4000, 0xBE00),
        np.where(p, 0x3F803F80, 0x40404040),
    ]  # fmt: skip
    np.testing.assert_array_equal(done.outputs[0], np.stack(expected, 1).astype(np.uint64))


def test_registers_of_several_are_put_into_one_list():
    @kernel(out_specs=(Tile(3, f32),), grid=(1, 1, 1), block=1, arch="sm_90a")
    def program(Y):
        found = kept = [reg.scalar(f32, init=1.0)]
        found += ptx.to_f32(reg.scalar(f32, init=2.0))
        found.extend(ptx.to_f32(reg.scalar(f32, init=3.0)))
        assert kept is found
        for i, value in enumerate([*found]):
            Y[i] = value

    assert program.emulate().outputs[0].tolist() == [1.0, 2.0, 3.0]
