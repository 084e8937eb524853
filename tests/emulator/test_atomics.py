"""atom and red against arithmetic in Python, in global and shared memory; one warp, lanes in order."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from .harness import device, output, run

KERNEL = """
.param u64 X
.param u64 Y
.param u64 Z
.shared cells 64 32
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
ld.param.u64 %rd3, [Z]
mov.u32 %r1, %tid.x
mul.wide.u32 %rd4, %r1, SIZE
add.u64 %rd5, %rd1, %rd4
add.u64 %rd6, %rd3, %rd4
ld.global.bBITS VALUE, [%rd5]
setp.eq.u32 %p1, %r1, 0
"""

PLACES = {
    "global": "ATOM.global.OP OLD[%rd2], VALUEMORE\nSTORE",
    "generic": "ATOM.OP OLD[%rd2], VALUEMORE\nSTORE",
    "shared": (
        "@%p1 ld.global.bBITS START, [%rd2]\n@%p1 st.shared.bBITS [cells], START\nbar.sync 0\n"
        "ATOM.shared.OP OLD[cells], VALUEMORE\nSTORE\nbar.sync 0\n"
        "@%p1 ld.shared.bBITS START, [cells]\n@%p1 st.global.bBITS [%rd2], START"
    ),
}  # fmt: skip

REGISTERS = {16: "%h1 %h2 %h3", 32: "%r2 %r3 %r4", 64: "%rd7 %rd8 %rd9"}


def atomics(operation, place, values, start, *, atom=True, compare=None, threads=1):
    """The final value of the cell, and what each thread got."""
    bits = values.dtype.itemsize * 8
    value, old, first = REGISTERS[bits].split()
    more = ""
    if compare is not None:
        more = f", {compare}"
    text = (KERNEL + PLACES[place]).replace("ATOM", "atom" if atom else "red")
    text = text.replace("OP", operation).replace("OLD", f"{old}, " if atom else "")
    text = text.replace("STORE", f"st.global.bBITS [%rd6], {old}" if atom else "")
    text = text.replace("VALUEMORE", value + more).replace("VALUE", value).replace("START", first)
    text = text.replace("BITS", str(bits)).replace("SIZE", str(bits // 8))
    y = device(np.array([start], values.dtype))
    z = output(len(values), values.dtype)
    report = run(
        text, [device(values)], [y, z], block=len(values), initialised=True, threads=threads
    )
    assert report.message == ""
    return y[0], z


def fold(function, values, start):
    """What lanes in ascending order leave and see."""
    seen = []
    for value in values.tolist():
        seen.append(start)
        start = function(start, value)
    return start, seen


def wrap(dtype):
    bits = np.dtype(dtype).itemsize * 8
    low = -(1 << bits - 1) if np.dtype(dtype).kind == "i" else 0
    return lambda value: (value - low) % (1 << bits) + low


INTEGERS = {
    "add": lambda w: lambda a, b: w(a + b),
    "min": lambda w: min,
    "max": lambda w: max,
    "and": lambda w: lambda a, b: a & b,
    "or": lambda w: lambda a, b: a | b,
    "xor": lambda w: lambda a, b: a ^ b,
    "exch": lambda w: lambda a, b: b,
    "inc": lambda w: lambda a, b: 0 if a >= b else a + 1,
    "dec": lambda w: lambda a, b: b if a == 0 or a > b else a - 1,
}
TYPES = {
    "add": "u32 s32 u64", "min": "u32 s32 u64 s64", "max": "u32 s32 u64 s64", "and": "b32 b64",
    "or": "b32 b64", "xor": "b32 b64", "exch": "b32 b64", "inc": "u32", "dec": "u32",
}  # fmt: skip
CASES = [(op, dtype) for op, types in TYPES.items() for dtype in types.split()]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("operation", "dtype"), CASES)
def test_integers(operation: str, dtype: str, place: str):
    kind = np.dtype(f"{'i' if dtype[0] == 's' else 'u'}{int(dtype[1:]) // 8}")
    info = np.iinfo(kind)
    rng = np.random.default_rng(len(operation))
    values = rng.integers(info.min, info.max, 32, kind, endpoint=True)
    if operation in {"inc", "dec"}:
        values = rng.integers(0, 9, 32, kind)
    start = kind.type(5)
    expected, seen = fold(INTEGERS[operation](wrap(kind)), values, int(start))
    final, old = atomics(f"{operation}.{dtype}", place, values, start)
    assert int(final) == expected
    assert old.tolist() == seen
    if operation != "exch":
        final, _ = atomics(f"{operation}.{dtype}", place, values, start, atom=False)
        assert int(final) == expected


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_compare_and_swap(place: str, bits: int):
    kind = np.dtype(f"u{bits // 8}")
    values = np.arange(32, dtype=kind)
    # Each thread expects its own number and leaves 7: only thread 3 finds what it expects.
    final, old = atomics(f"cas.b{bits}", place, values, kind.type(3), compare=7)
    assert int(final) == 7
    assert old.tolist() == [3] * 4 + [7] * 28


def test_wide_exchange_and_compare():
    x = device(np.arange(64, dtype=np.uint64).reshape(32, 2))
    y, z = device(np.array([5, 5], np.uint64)), output((32, 2), np.uint64)
    text = """
    .param u64 X
    .param u64 Y
    .param u64 Z
    ld.param.u64 %rd1, [X]
    ld.param.u64 %rd2, [Y]
    ld.param.u64 %rd3, [Z]
    mov.u32 %r1, %tid.x
    mul.wide.u32 %rd4, %r1, 16
    add.u64 %rd5, %rd1, %rd4
    add.u64 %rd6, %rd3, %rd4
    ld.global.b128 %rq1, [%rd5]
    atom.global.exch.b128 %rq2, [%rd2], %rq1
    st.global.b128 [%rd6], %rq2
    setp.eq.u32 %p1, %r1, 9
    @!%p1 exit
    ld.global.b128 %rq3, [%rd1+496]
    ld.global.b128 %rq4, [%rd1+16]
    atom.global.cas.b128 %rq2, [%rd2], %rq3, %rq4
    """
    run(text, [x], [y, z], initialised=True).check()
    assert z.tolist() == [[5, 5], *x.tolist()[:-1]]
    assert y.tolist() == x[1].tolist()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_floats_are_added_in_order(dtype: str, place: str):
    kind = np.float32 if dtype == "f32" else np.float64
    values = np.random.default_rng(0).standard_normal(32).astype(kind)
    total, seen = kind(1.5), []
    for value in values:
        seen.append(total)
        total += value
    bits = values.view(f"u{values.itemsize}")
    start = np.array([1.5], kind).view(bits.dtype)[0]
    final, old = atomics(f"add.{dtype}", place, bits, start)
    assert np.array([final]).view(kind)[0] == total
    assert np.array_equal(old.view(kind), np.array(seen))


@pytest.mark.parametrize(
    ("place", "flushed"), [("global", True), ("generic", True), ("shared", False)]
)
def test_only_global_addition_flushes_subnormals(place: str, flushed: bool):
    tiny = np.full(32, 0x00000001, np.uint32)
    final, _ = atomics("add.f32", place, tiny, np.uint32(0))
    assert int(final) == (0 if flushed else 32)


SIGNALLING, QUIET = 0x7FF0000000000001, 0x7FF8000000000001
MINUS, LAST = 0xFFFFFFFFFFFFFFFE, 0x7FFFFFFFFFFFFFFF


@pytest.mark.parametrize(
    ("place", "start", "value", "final"),
    [
        ("global", SIGNALLING, 5, SIGNALLING),
        ("global", LAST, MINUS, MINUS),
        ("global", SIGNALLING, LAST, LAST),
        ("global", 5, MINUS, MINUS),
        ("generic", LAST, MINUS, MINUS),
        ("shared", SIGNALLING, 5, QUIET),
        ("shared", LAST, MINUS, LAST),
        ("shared", SIGNALLING, LAST, QUIET),
        ("shared", 5, MINUS, MINUS),
    ],
)
def test_the_nan_of_a_double_in_memory(place: str, start: int, value: int, final: int):
    """What an H200 leaves: in global memory the operand's NaN goes first, and none is made quiet."""
    left, old = atomics("add.f64", place, np.array([value], np.uint64), np.uint64(start))
    assert (hex(left), hex(old[0])) == (hex(final), hex(start))


HALVES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", HALVES)
def test_halves_round_once(dtype: str, place: str):
    kind = HALVES[dtype]
    values = (np.random.default_rng(1).standard_normal(32) * 100).astype(kind)
    total = kind(0.25)
    for value in values:
        total = kind(np.float64(total) + np.float64(value))
    start = np.array([0.25], kind).view(np.uint16)[0]
    final, _ = atomics(f"add.noftz.{dtype}", place, values.view(np.uint16), start)
    assert np.array([final]).view(kind)[0] == total


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["subnormal", "overflow", "nan", "halfway"])
def test_halves_at_the_edges(dtype: str, name: str):
    kind = HALVES[dtype]
    info = ml_dtypes.finfo(kind)
    pairs = {
        "subnormal": (info.smallest_subnormal, info.smallest_subnormal),
        "overflow": (info.max, info.max),
        "nan": (kind(np.nan), kind(1)),
        "halfway": (kind(1), kind(float(info.eps) / 2)),
    }
    a, b = (np.array([v], kind) for v in pairs[name])
    final, _ = atomics(f"add.noftz.{dtype}", "global", b.view(np.uint16), a.view(np.uint16)[0])
    with np.errstate(all="ignore"):
        expected = (a.astype(np.float64) + b.astype(np.float64)).astype(kind).view(np.uint16)[0]
    assert int(final) == (0x7FFF if name == "nan" else int(expected))


VECTORS = [
    ("add", "f32", 4),
    *(
        (operation, dtype, count)
        for operation in ("add", "min", "max")
        for dtype, count in (("f16", 4), ("bf16", 8), ("f16x2", 2), ("bf16x2", 4))
    ),
]


@pytest.mark.parametrize(("operation", "dtype", "count"), VECTORS)
def test_vectors_update_each_element(operation: str, dtype: str, count: int):
    kind = np.float32 if dtype == "f32" else HALVES[dtype.removesuffix("x2")]
    size = 2 if dtype in HALVES else 4
    halves = count * size // np.dtype(kind).itemsize
    values = (np.random.default_rng(2).standard_normal((32, halves)) * 4).astype(kind)
    y = device(np.ones(halves, kind).view(np.uint8))
    prefix = "h" if size == 2 else "r"
    old, new = ("{" + ", ".join(f"%{prefix}{k + i}" for i in range(count)) + "}" for k in (10, 30))
    bits = size * 8
    text = f"""
    .param u64 X
    .param u64 Y
    ld.param.u64 %rd1, [X]
    ld.param.u64 %rd2, [Y]
    mov.u32 %r1, %tid.x
    mul.wide.u32 %rd4, %r1, {count * size}
    add.u64 %rd5, %rd1, %rd4
    ld.global.v{count}.b{bits} {new}, [%rd5]
    atom.global.{operation}{"" if dtype == "f32" else ".noftz"}.v{count}.{dtype} {old}, [%rd2], {new}
    """
    run(text, [device(values.view(np.uint8).reshape(32, -1))], [y], initialised=True).check()
    total = np.ones(halves, kind)
    step = {"add": lambda a, b: (a.astype(np.float64) + b.astype(np.float64)).astype(kind),
            "min": np.minimum, "max": np.maximum}[operation]  # fmt: skip
    for row in values:
        total = step(total, row) if dtype != "f32" else total + row
    assert np.array_equal(y.view(kind), total)


def test_host_threads_lose_no_update():
    x, y, z = device([0], np.uint32), device([0, 0], np.uint32), output(64, np.uint32)
    text = """
    .param u64 Y
    ld.param.u64 %rd1, [Y]
    red.global.add.u32 [%rd1], 1
    atom.global.inc.u32 %r1, [%rd1+4], -1
    """
    del x, z
    run(text, [], [y], grid=500, block=96, threads=4, initialised=True).check()
    assert y.tolist() == [500 * 96, 500 * 96]
