"""Reductions, scans and broadcasts of warps, CTAs and clusters, in the emulator with its checks."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from pyptx._ir import Instruction
from pyptx._trace import ptx, reg
from pyptx._trace.collectives import collective
from pyptx._trace.core.context import current
from pyptx.types import DTYPES, b32, f16x2, s32, u32

_path = Path(__file__).with_name("collectives.py")
_spec = importlib.util.spec_from_file_location("trace_collectives", _path)
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)
combined, whole, totals, each_thread = (
    programs.combined, programs.whole, programs.totals, programs.each_thread,
)  # fmt: skip

TYPES = tuple(programs.NUMPY)
BLOCKS = (
    (1, 1, 1), (7, 1, 1), (16, 1, 1), (31, 1, 1), (32, 1, 1), (33, 1, 1), (64, 1, 1), (96, 1, 1),
    (5, 7, 3), (8, 8, 1), (160, 1, 1), (4, 1, 64), (1000, 1, 1), (16, 16, 4), (992, 1, 1),
)  # fmt: skip
# Each block with two of the types, so that each type meets blocks of all kinds.
CASES = [(block, TYPES[(3 * i + 5 * j) % 8]) for i, block in enumerate(BLOCKS) for j in range(2)]


def cases(function):
    ids = [f"{'x'.join(map(str, block))}-{dtype}" for block, dtype in CASES]
    return pytest.mark.parametrize(("block", "dtype"), CASES, ids=ids)(function)


def before(rows, first, operation):
    """The exclusive scan of rows."""
    done = operation.accumulate(rows.astype(np.float64), axis=1)
    return np.concatenate([np.full((len(rows), 1), first), done[:, :-1]], 1)


def sparse(seed, dtype, block):
    """Two rows whose sums the 16-bit types hold."""
    values = whole(seed, dtype, 2 * math.prod(block), least=-2)
    return values * (np.random.default_rng(seed).random(values.shape) < 0.1).astype(values.dtype)


# ---- CTAs ----------------------------------------------------------------------------------------


@pytest.mark.sampled(16, each=("block", "dtype"))
@pytest.mark.parametrize("name", ["sum", "max", "min"])
@cases
def test_a_reduction_over_a_cta(block, dtype, name):
    x = sparse(1, dtype, block)
    reduce = getattr(ptx.cta, f"reduce_{name}")
    found = combined(lambda r, _: reduce(r), dtype, block, x)
    np.testing.assert_array_equal(found, totals(name, x.reshape(2, -1)))


@cases
def test_a_reduction_by_a_function(block, dtype):
    """The value of the greatest magnitude: no order of the threads gives another one."""
    x = whole(2, dtype, 2 * math.prod(block))
    greatest = getattr(ptx.inst.max, dtype)
    found = combined(lambda r, _: ptx.cta.reduce(r, lambda a, b: greatest(a, b)), dtype, block, x)
    np.testing.assert_array_equal(found, totals("max", x.reshape(2, -1)))


@cases
def test_an_inclusive_scan_of_sums(block, dtype):
    x = sparse(3, dtype, block)
    found = combined(lambda r, _: ptx.cta.inclusive_scan(r), dtype, block, x)
    expected = np.add.accumulate(x.reshape(2, -1).astype(np.float64), axis=1)
    np.testing.assert_array_equal(found.astype(np.float64), expected)


@pytest.mark.parametrize("name", ["max", "min"])
@cases
def test_an_exclusive_scan_of_extremes(block, dtype, name):
    x = whole(4, dtype, 2 * math.prod(block))
    found = combined(lambda r, _: ptx.cta.exclusive_scan(r, name), dtype, block, x)
    info = np.iinfo if np.issubdtype(x.dtype, np.integer) else None
    least, most = (info(x.dtype).min, info(x.dtype).max) if info else (-np.inf, np.inf)
    operation = np.maximum if name == "max" else np.minimum
    expected = before(x.reshape(2, -1), 0, operation).astype(x.dtype)
    expected[:, 0] = least if name == "max" else most
    np.testing.assert_array_equal(found, expected)


def affine(first, second):
    """Two functions of the line, one after the other: associative, not commutative.

    A register holds a slope in its upper half and what is added in its lower one, modulo 65536.
    """
    shift, half = 16, 0xFFFF
    slope = ptx.inst.mul.lo.u32(first >> shift, second >> shift) << shift
    added = ptx.inst.mad.lo.u32(first & half, second >> shift, second)
    return slope | (added & half)


def after(lines, identity):
    found, slope, added = [], *identity
    for line in lines:
        found.append((slope << 16 | added) & 0xFFFFFFFF)
        slope, added = (
            slope * (line >> 16) & 0xFFFF,
            added * (line >> 16) + (line & 0xFFFF) & 0xFFFF,
        )
    return [*found, (slope << 16 | added) & 0xFFFFFFFF]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: "x".join(map(str, b)))
def test_scans_of_a_function_keep_the_order_of_threads(block):
    x = np.random.default_rng(5).integers(0, 2**32, math.prod(block), np.uint32)
    expected = np.array(after([int(line) for line in x], (1, 0)), np.uint32)

    def exclusive(r, _):
        return ptx.cta.exclusive_scan(r, affine, identity=1 << 16)

    found = combined(lambda r, _: ptx.cta.inclusive_scan(r, affine), "u32", block, x)
    np.testing.assert_array_equal(found[0], expected[1:])
    np.testing.assert_array_equal(combined(exclusive, "u32", block, x)[0], expected[:-1])


@cases
def test_a_broadcast_of_a_thread(block, dtype):
    x, chosen = whole(6, dtype, 2 * math.prod(block)), math.prod(block) * 2 // 3
    rows = x.reshape(2, -1)
    expected = np.broadcast_to(rows[:, chosen : chosen + 1], rows.shape)
    found = combined(lambda r, _: ptx.cta.broadcast(r, chosen), dtype, block, x)
    np.testing.assert_array_equal(found, expected)
    found = combined(lambda r, _: ptx.cta.broadcast(r, reg.from_(chosen, u32)), dtype, block, x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("block", [(96, 1, 1), (50, 3, 1), (27, 1, 1), (1024, 1, 1)])
def test_calls_in_a_row_and_in_a_loop(block):
    """All kinds of calls share their memory: no order of them is a race."""
    x = whole(7, "s32", math.prod(block))

    def body(r, thread):
        total = reg.scalar(s32, init=0)
        for i in ptx.range_(3):
            value = r + i
            ptx.cta.reduce_max(value)
            value += ptx.cta.inclusive_scan(r)
            total += ptx.cta.broadcast(value, math.prod(block) - 1)
            total += ptx.cta.exclusive_scan(r, "min", identity=9)
            total += ptx.cta.reduce_sum(reg.from_(r, s32))
            total += ptx.cta.reduce_min(reg.from_(r, s32))
        return total

    scanned = np.minimum.accumulate(np.concatenate([[9], x[:-1]]))
    once = 2 * x.sum() + x.max() + x.min() + scanned
    np.testing.assert_array_equal(combined(body, "s32", block, x)[0], 3 * once + 3)


def kinds():
    return {
        "reduce": lambda r: ptx.cta.reduce_sum(reg.from_(r, s32)),
        "scan": ptx.cta.inclusive_scan,
        "broadcast": ptx.cta.broadcast,
    }


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("kind", kinds())
def test_each_barrier_is_needed(monkeypatch, kind, missing):
    """Without one of its two barriers a call in a loop is a race."""
    whole_barrier, count = collective.Cta.barrier, [0]

    def barrier(self):
        count[0] += 1
        if count[0] - 1 != missing:
            whole_barrier(self)

    monkeypatch.setattr(collective.Cta, "barrier", barrier)

    def body(r, _):
        total = reg.scalar(s32, init=0)
        for _ in ptx.range_(2):
            total += kinds()[kind](r)
        return total

    _, report = each_thread(body, "s32", (128, 1, 1), whole(8, "s32", 128))
    assert "shared-race" in {finding.kind for finding in report.findings}


def test_the_sum_has_the_same_bits_in_every_thread():
    x = np.random.default_rng(9).standard_normal(2 * 416).astype(np.float32)
    found = combined(lambda r, _: ptx.cta.reduce_sum(r), "f32", (416, 1, 1), x)
    assert (found == found[:, :1]).all()
    np.testing.assert_allclose(found[:, 0], x.reshape(2, -1).astype(np.float64).sum(1), rtol=1e-5)


def test_packed_values():
    """Both halves of a pair, each on its own."""
    block, x = (96, 1, 1), whole(16, "f16", 2 * 96)

    def check(body, expected):
        def packed(r, _):
            return reg.from_(body(reg.from_(r, f16x2)), b32)

        found = combined(packed, "u32", block, x.view(np.uint32))[0]
        np.testing.assert_array_equal(found.view(np.float16).reshape(-1, 2), expected)

    rows = x.reshape(-1, 2)
    check(ptx.cta.inclusive_scan, np.add.accumulate(rows.astype(np.float64)))
    check(ptx.cta.reduce_min, np.broadcast_to(rows.min(0), rows.shape))
    least = np.maximum.accumulate(rows)
    least = np.concatenate([np.full((1, 2), -np.inf), least[:-1]])
    check(lambda r: ptx.cta.exclusive_scan(r, "max"), least)


@pytest.mark.parametrize("kind", ["reduce", "scan"])
def test_a_call_that_some_threads_do_not_reach_is_found(kind):
    def body(r, thread):
        with ptx.if_(thread < 64):
            kinds()[kind](r)
        return r

    _, report = each_thread(body, "s32", (128, 1, 1), whole(17, "s32", 128))
    assert report.findings


# ---- clusters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "ctas", "dtype"),
    [
        ((128, 1, 1), 2, "f32"), ((1, 1, 1), 4, "u64"), ((24, 1, 1), 8, "bf16"),
        ((70, 1, 1), 3, "s32"), ((16, 8, 2), 4, "f64"), ((64, 1, 1), 1, "f16"),
        ((1024, 1, 1), 2, "s64"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_a_reduction_over_a_cluster(block, ctas, dtype, name):
    x = whole(10, dtype, 2 * ctas * math.prod(block))
    x *= (np.random.default_rng(1).random(x.shape) < 0.1).astype(x.dtype)
    reduce = getattr(ptx.cluster, f"reduce_{name}")
    found = combined(lambda r, _: reduce(r), dtype, block, x, cluster=ctas)
    expected = totals(name, x.reshape(2, -1))
    np.testing.assert_array_equal(found.reshape(2, -1), expected)


def test_reductions_over_a_cluster_in_a_loop():
    x = whole(11, "s32", 4 * 96)

    def body(r, _):
        total = reg.scalar(s32, init=0)
        for i in ptx.range_(3):
            total += ptx.cluster.reduce(r + i, lambda a, b: ptx.inst.max.s32(a, b))
            total += ptx.cta.reduce_sum(reg.from_(r, s32))
        return total

    found = combined(body, "s32", (96, 1, 1), x, cluster=4)
    sums = x.reshape(4, -1).sum(1, keepdims=True)
    np.testing.assert_array_equal(found, np.broadcast_to(3 * x.max() + 3 + 3 * sums, found.shape))


@pytest.mark.parametrize("missing", [0, 1])
def test_each_barrier_of_the_cluster_is_needed(monkeypatch, missing):
    """Without the first a CTA reads what nothing has written, without the second one that ended."""
    barrier, count = collective.cluster_barrier, [0]

    def some(trace):
        count[0] += 1
        if count[0] - 1 != missing:
            barrier(trace)

    monkeypatch.setattr(collective, "cluster_barrier", some)
    x = whole(12, "s32", 2 * 64)
    _, report = each_thread(lambda r, _: ptx.cluster.reduce_sum(r), "s32", (64, 1, 1), x, cluster=2)
    assert report.findings


# ---- warps ---------------------------------------------------------------------------------------


@pytest.mark.sampled(16, each=("width", "dtype"))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [2, 8, 32])
def test_scans_and_functions_over_a_warp(dtype, width):
    x = whole(13, dtype, 64)
    rows = x.reshape(-1, width)

    def check(body, expected):
        found = combined(lambda r, _: body(r), dtype, (64, 1, 1), x)
        np.testing.assert_array_equal(found.reshape(rows.shape).astype(np.float64), expected)

    least = getattr(ptx.inst.min, dtype)
    sums = np.add.accumulate(rows.astype(np.float64), axis=1)
    check(lambda r: ptx.warp.inclusive_scan(r, width=width), sums)
    check(lambda r: ptx.warp.exclusive_scan(r, width=width), before(rows, 0, np.add))
    check(
        lambda r: ptx.warp.exclusive_scan(r, lambda a, b: least(a, b), identity=3, width=width),
        before(rows, 3, np.minimum),
    )
    check(
        lambda r: ptx.warp.reduce(r, lambda a, b: least(a, b), width=width),
        totals("min", rows).astype(np.float64),
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_a_broadcast_over_a_warp(dtype):
    x = whole(14, dtype, 64)
    expected = np.repeat(x.reshape(2, 32)[:, 5], 32)
    for lane in (lambda: 5, lambda: reg.from_(5, u32)):
        found = combined(lambda r, _, at=lane: ptx.warp.broadcast(r, at()), dtype, (64, 1, 1), x)
        np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize("dtype", ["u32", "s32"])
@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_one_instruction_reduces_integers(dtype, name):
    x = whole(15, dtype, 64)
    reduce = getattr(ptx.warp, f"reduce_{name}")
    found = combined(lambda r, _: reduce(r, redux=True), dtype, (64, 1, 1), x, arch="sm_80")
    np.testing.assert_array_equal(found.reshape(2, 32), totals(name, x.reshape(2, 32)))


# ---- how many instructions -----------------------------------------------------------------------


def logarithm(count):
    return (count - 1).bit_length()


def thread_and_lanes(block):
    """Beyond 32 threads: the thread's number along more than one axis, and a last warp."""
    axes = sum(size > 1 for size in block)
    return 2 * (axes - 1) + (3 if math.prod(block) % 32 else 0)


def promised(kind, block, dtype):
    """What the docstrings of ptx.cta and ptx.cluster say."""
    threads = math.prod(block)
    warps, more = -(-threads // 32), {16: 2, 32: 0, 64: 3}[DTYPES[dtype].bits]
    r, s = logarithm(warps), logarithm(warps - 1)
    few, rest = logarithm(threads), 2 if threads & (threads - 1) else 0
    if threads <= 32:
        return {
            "reduce": 2 * few + rest + more * (few + rest // 2),
            "inclusive": 2 * few + 1 + more * few,
            "exclusive": 2 * few + 4 + more * (few + 1),
            "broadcast": 1 + more,
            "cluster": 10 + 2 * few + 3 * 4 + more * few,
        }[kind]
    full = warps == 32
    shuffles = {"inclusive": 5 + s, "exclusive": 6 + s, "broadcast": 0}.get(kind, 5 + r)
    count = {
        "reduce": 28 + 2 * r - full,
        "inclusive": 30 + 2 * s,
        "exclusive": 33 + 2 * s,
        "broadcast": 6,
        "cluster": 33 + 2 * r + 3 * 4 - full,
    }[kind]
    extra = thread_and_lanes(block)
    if kind == "broadcast":
        extra = 2 * (sum(size > 1 for size in block) - 1)
    return count + more * shuffles + extra


CALLS = {
    "reduce": lambda r: ptx.cta.reduce_max(r),
    "inclusive": lambda r: ptx.cta.inclusive_scan(r),
    "exclusive": lambda r: ptx.cta.exclusive_scan(r, "min"),
    "broadcast": lambda r: ptx.cta.broadcast(r),
    "cluster": lambda r: ptx.cluster.reduce_sum(r),
}


@pytest.mark.sampled(16, each=("block", "kind"))
@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: "x".join(map(str, b)))
def test_calls_append_what_they_say(traced, kind, block):
    for dtype in TYPES:
        register = []

        def body(dtype=dtype, register=register):
            current("a test").block_size = block
            current("a test").cluster_size = (2, 2, 1)
            register.append(reg.scalar(DTYPES[dtype]))
            CALLS[kind](register[0])

        found = traced(body)
        assert len(found.instructions) == promised(kind, block, dtype), (block, dtype)
    found.assemble()


@pytest.mark.parametrize("kind", ["reduce", "inclusive", "exclusive"])
def test_masks_name_no_lane_that_is_not_there(traced, kind):
    """The last warp of 100 threads has four lanes; a CTA of seven has seven."""

    def masks(block):
        def body():
            current("a test").block_size = block
            CALLS[kind](reg.scalar(s32))

        lines = traced(body).instructions
        before_barrier = lines[: lines.index("bar.sync 0")] if "bar.sync 0" in lines else lines
        chosen = [line for line in lines if line.startswith("selp.u32") and ", 15, " in line]
        return {line.split(", ")[-1] for line in before_barrier if line.startswith("shfl")}, chosen

    assert masks((7, 1, 1))[0] == {"127"}
    assert masks((96, 1, 1))[0] == {"4294967295"}
    (mask,), (chosen,) = masks((100, 1, 1))
    register = chosen.split()[1].rstrip(",")
    assert mask == register
    assert chosen.split(", ")[1:3] == ["4294967295", "15"]


def appended(body):
    """How many instructions `body` of a new register of bits appends."""
    trace = current("a test")
    before_ = sum(isinstance(s, Instruction) for s in trace.body)
    body(reg.scalar(b32))
    return sum(isinstance(s, Instruction) for s in trace.body) - before_


@pytest.mark.parametrize("f", [1, 3])
def test_functions_count_as_the_docstrings_say(traced, f):
    def function(a, b):
        result = reg.scalar(b32)
        for _ in range(f):
            ptx.inst.xor.b32(result, a, b)
        return result

    def body():
        trace = current("a test")
        warp = [
            appended(lambda r: ptx.warp.reduce(r, function)),
            appended(lambda r: ptx.warp.inclusive_scan(r, function)),
            appended(lambda r: ptx.warp.exclusive_scan(r, function, identity=0)),
        ]
        trace.block_size = (256, 1, 1)
        cta = [
            appended(lambda r: ptx.cta.reduce(r, function)),
            appended(lambda r: ptx.cta.inclusive_scan(r, function)),
        ]
        trace.block_size, trace.scratch = (96 - 1, 1, 1), None
        cta.append(appended(lambda r: ptx.cta.reduce(r, function)))
        trace.block_size = (16, 1, 1)
        cta.append(appended(lambda r: ptx.cta.reduce(r, function)))
        trace.block_size = (24, 1, 1)
        cta.append(appended(lambda r: ptx.cta.reduce(r, function)))
        return warp, cta

    g = f + 1
    assert traced(body).result == (
        [5 * (1 + f) + 1, 6 + 5 * g, 9 + 5 * g],
        [28 + 2 * 3 + 8 * (f - 1), 30 + 2 * 3 + 9 * (f - 1) + 8 + 1,
         31 + 2 * 2 + 7 * (g - 1), 2 * 4 + 4 * (f - 1) + 1, 2 * 5 + 2 + 5 * (g - 1)],
    )  # fmt: skip
