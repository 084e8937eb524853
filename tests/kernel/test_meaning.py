"""The language does what it says: traced kernels run in the emulator against plain Python."""

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import BY_NUMPY, b32, f16, f16x2, f32, s32, s64, u16, u32, u64

LANES = 32


def per_lane(body, *inputs, dtype=np.int32):
    """Run `body(lane, *values)` in one warp; it returns the register that each lane stores."""
    specs = tuple(Tile(LANES, BY_NUMPY[i.dtype.name]) for i in inputs)
    kind = BY_NUMPY[np.dtype(dtype).name]

    def run(*tensors):
        *sources, target = ptx.global_ptrs(*tensors)
        lane = reg.from_(ptx.special.laneid(), u32)
        values = []
        for source, spec in zip(sources, specs, strict=True):
            t = spec.dtype
            spelled = t.name if t.storage == t.name else f"b{t.bits}"
            load = getattr(ptx.inst.ld.global_, spelled)
            values.append(load(reg.scalar(t), ptx.addr(source + lane * t.bytes)))
        result = body(lane, *values)
        spelled = kind.name if kind.storage == kind.name else f"b{kind.bits}"
        getattr(ptx.inst.st.global_, spelled)(ptx.addr(target + lane * kind.bytes), result)

    names = ", ".join([*(f"x{i}" for i in range(len(inputs))), "y"])
    scope = {"run": run}
    exec(f"def traced({names}): run({names})", scope)
    k = kernel(in_specs=specs, out_specs=(Tile(LANES, kind),), block=LANES)(scope["traced"])
    emulation = k.emulate(*inputs)
    emulation.report.check()
    return emulation.outputs[0]


def integers(dtype, seed=0):
    info = np.iinfo(dtype)
    values = np.random.default_rng(seed).integers(info.min, info.max, LANES, dtype, endpoint=True)
    values[:4] = [info.min, info.max, 1, info.max // 3]
    return values


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.int16, np.uint16])
def test_integer_operators(dtype):
    a, b = integers(dtype, 1), integers(dtype, 2)
    b[:4] = 3  # no division by zero, and none that overflows
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))

    def quotient(x, y):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    expected = {
        "a + b": a + b,
        "a - b": a - b,
        "a & b": a & b,
        "a | b": a | b,
        "a ^ b": a ^ b,
        "~a": ~a,
        "a << 3": a << dtype(3),
        "a >> 3": a >> dtype(3),
        "3 - a": dtype(3) - a,
        "a // b": [quotient(x, y) for x, y in pairs],
        "a % b": [x - quotient(x, y) * y for x, y in pairs],
    }
    if np.dtype(dtype).itemsize == 8:
        expected["a * b"] = a * b
    for source, values in expected.items():
        found = per_lane(lambda _, a, b, s=source: eval(s), a, b, dtype=dtype)
        np.testing.assert_array_equal(found, np.array(values, dtype), source)


@pytest.mark.parametrize(
    ("dtype", "wide"), [(np.int32, np.int64), (np.uint32, np.uint64), (np.int16, np.int32)]
)
def test_products_of_narrow_integers_are_wide(dtype, wide):
    a, b = integers(dtype, 3), integers(dtype, 4)
    found = per_lane(lambda _, a, b: a * b, a, b, dtype=wide)
    np.testing.assert_array_equal(found, a.astype(wide) * b.astype(wide))


def test_a_narrow_operand_is_widened_with_its_sign():
    a, b = integers(np.int64, 5), integers(np.int32, 6)
    np.testing.assert_array_equal(
        per_lane(lambda _, a, b: a + b, a, b, dtype=np.int64), a + b.astype(np.int64)
    )
    c = integers(np.uint32, 7)
    np.testing.assert_array_equal(
        per_lane(lambda _, a, c: a - c, a, c, dtype=np.int64), a - c.astype(np.int64)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_float_operators(dtype):
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((2, LANES)).astype(dtype)
    a[:3] = [np.nan, -0.0, np.inf]
    sources = ["a + b", "a - b", "a * b", "-a", "a + 1.5", "2 - a"]
    sources += ["a / b", "1 / b"] if dtype is not np.float16 else []
    with np.errstate(all="ignore"):
        for source in sources:
            found = per_lane(lambda _, a, b, s=source: eval(s), a, b, dtype=dtype)
            np.testing.assert_array_equal(found, eval(source).astype(dtype), source)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.float32, np.float64])
def test_comparisons(dtype):
    if np.issubdtype(dtype, np.integer):
        a, b = integers(dtype, 9), integers(dtype, 10)
    else:
        a, b = np.random.default_rng(11).standard_normal((2, LANES)).astype(dtype)
        a[:2] = [np.nan, 0.0]
        b[1:3] = [-0.0, np.nan]
    b[5] = a[5]
    for source in ("a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b", "1 < a"):
        found = per_lane(
            lambda _, a, b, s=source: ptx.inst.selp.s32(1, 0, eval(s)), a, b, dtype=np.int32
        )
        np.testing.assert_array_equal(found, eval(source).astype(np.int32), source)


def test_predicates():
    a = integers(np.int32, 12)
    expected = ((a > 5) & ~(a < 100)) | ((a < -9) ^ (a > -1000))

    def body(_, a):
        p = ((a > 5) & ~(a < 100)) | ((a < -9) ^ (a > -1000))
        return ptx.inst.selp.s32(1, 0, p)

    np.testing.assert_array_equal(per_lane(body, a), expected.astype(np.int32))


def model(x: int) -> int:
    """What `nested` computes, in Python."""
    total = 0
    while True:
        i = 0
        while i < x:
            i += 1
            if i == 3:
                continue
            total += i
            for j in range(0, i, 2):
                if j == 4:
                    total += 100
                    break
                if i == 5:
                    continue
                if total % 2 == 0:
                    total += 7
                total += j
            if total > 200:
                break
        if x == 11:
            return total
        total += 1000
        if total > 2000:
            break
    return total + 5


def nested(lane, x):
    total = reg.scalar(s32, init=0)
    result = reg.scalar(s32, init=0)
    out = ptx.label()
    with ptx.loop():
        i = reg.scalar(s32, init=0)
        with ptx.while_(lambda: i < x):
            i += 1
            ptx.continue_(pred=i == 3)
            total += i
            for j in ptx.range_(0, i, 2):
                with ptx.if_(j == 4):
                    total += 100
                    ptx.break_()
                with ptx.else_():
                    with ptx.if_(i == 5):
                        ptx.continue_()
                    with ptx.else_():
                        with ptx.if_(total % 2 == 0):
                            total += 7
                        total += j
            ptx.break_(pred=total > 200)
        ptx.inst.mov.s32(result, total)
        ptx.bra(out, pred=x == 11)
        total += 1000
        ptx.break_(pred=total > 2000)
    ptx.inst.add.s32(result, total, 5)
    ptx.place(out)
    return result


def test_nested_control_flow_with_every_lane_on_its_own_way():
    x = np.arange(LANES, dtype=np.int32)
    np.testing.assert_array_equal(per_lane(nested, x), [model(int(v)) for v in x])


def test_ranges():
    x = np.arange(LANES, dtype=np.int32) - 8

    def body(_, x):
        total = reg.scalar(s32, init=0)
        for i in ptx.range_(x, 20, 3):
            total += i
        for i in ptx.range_(x, -5, -2):
            total += i
        for i in ptx.range_(2, 5):
            total += i
        return total

    expected = [sum(range(v, 20, 3)) + sum(range(v, -5, -2)) + sum(range(2, 5)) for v in x.tolist()]
    np.testing.assert_array_equal(per_lane(body, x), expected)


def test_loops_with_a_predicate_register():
    def body(lane):
        count = reg.scalar(s32, init=0)
        go = lane > 3
        with ptx.while_(go):
            count += 1
            ptx.inst.setp.lt.s32(go, count, 5)
        with ptx.loop(pred=lambda: count < 10):
            count += 10
        return count

    expected = [15 if lane > 3 else 10 for lane in range(LANES)]
    np.testing.assert_array_equal(per_lane(body), expected)


@pytest.mark.parametrize("rows", [4, 400])
def test_shared_memory_by_rows_and_columns(rows):
    """Static and dynamic alike: a transposition through shared memory."""
    x = np.arange(LANES, dtype=np.int32)

    def body(lane, x):
        first = smem.alloc(u16, 3)
        tile = smem.alloc(s32, (rows, LANES + 1))
        last = smem.alloc(s64, 2)
        with ptx.if_(lane == 0):
            first[1] = 7
            last[1] = 9
        tile[2, lane] = x
        with ptx.if_(lane == 5):
            tile[lane & 1, 32] = x
        ptx.bar.sync()
        back = tile[2, 31 - ptx.special.laneid()]
        extra = ptx.inst.cvt.s32.u16(first[1])
        return back + extra + ptx.inst.cvt.s32.s64(last[1]) + tile[1, 32]

    np.testing.assert_array_equal(per_lane(body, x), x[::-1] + 16 + 5)


@pytest.mark.parametrize(
    ("dtype", "operation"),
    [
        (np.int32, "sum"), (np.uint32, "max"), (np.int32, "min"), (np.int64, "sum"),
        (np.uint64, "max"), (np.int64, "min"), (np.float32, "max"), (np.float64, "min"),
        (np.float16, "max"), (np.float32, "sum"), (np.float64, "sum"),
    ],
)  # fmt: skip
def test_reductions_over_the_warp(dtype, operation):
    if np.issubdtype(dtype, np.integer):
        x = integers(dtype, 13)
    else:
        x = np.random.default_rng(14).integers(-99, 99, LANES).astype(dtype)
    found = per_lane(lambda _, x: getattr(ptx.warp, f"reduce_{operation}")(x), x, dtype=dtype)
    expected = x.sum(dtype=dtype) if operation == "sum" else getattr(x, operation)()
    np.testing.assert_array_equal(found, np.full(LANES, expected, dtype))


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_reductions_over_a_part_of_the_warp(width):
    x = np.arange(LANES, dtype=np.int32) ** 2
    found = per_lane(lambda _, x: ptx.warp.reduce_sum(x, width=width), x)
    expected = x.reshape(-1, width).sum(-1, keepdims=True) + 0 * x.reshape(-1, width)
    np.testing.assert_array_equal(found, expected.reshape(-1))


def test_both_halves_of_packed_values():
    def body(_):
        pair = reg.scalar(f32, init=0.0)
        packed = ptx.inst.mov.b32([reg.from_(1.5, f16), reg.from_(-2.0, f16)])
        twice = reg.from_(packed, f16x2) * 2
        low, high = ptx.inst.mov.b32([reg.scalar(f16), reg.scalar(f16)], reg.from_(twice, b32))
        ptx.inst.add.f32(pair, ptx.inst.cvt.f32.f16(low), ptx.inst.cvt.f32.f16(high) * 10)
        return pair

    np.testing.assert_array_equal(per_lane(body, dtype=np.float32), np.full(LANES, 3.0 - 40.0))


def test_scalars_of_the_language_in_64_bits():
    def body(lane):
        big = reg.scalar(u64, init=2**40)
        return big + lane * 4

    np.testing.assert_array_equal(
        per_lane(body, dtype=np.uint64), 2**40 + 4 * np.arange(LANES, dtype=np.uint64)
    )
