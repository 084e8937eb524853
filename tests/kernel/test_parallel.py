"""`check_parallel`: promises that hold, in many shapes, and promises that do not."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import pyptx
from pyptx import CallError, EmulationError, Scalar, Tile, kernel, ptx, reg, sequence, smem
from pyptx.types import bf16, f32, s32, u32

RANDOM = np.random.default_rng(7)
ROWS = {"in_specs": (Tile("B", 8, f32),), "out_specs": (Tile("B", 8, f32),), "parallel": ("B",)}
ONE = {**ROWS, "grid": lambda B: B, "block": 8}
HELP = (
    '  help: leave "B" out of parallel=, or compute what an index of it has from that index alone'
)


def rows(count=7, width=8):
    return RANDOM.standard_normal((count, width)).astype(np.float32)


def tid():
    return reg.from_(ptx.special.tid.x(), u32)


def cta():
    return reg.from_(ptx.special.ctaid.x(), u32)


def low(value):
    """The low 32 bits."""
    return ptx.inst.cvt.u32.u64(value)


def load(base, row, column, width=8):
    at = ptx.inst.mad.lo.u32(row, width, column)
    return ptx.inst.ld.global_.f32(ptx.addr(base + at * 4))


def store(base, row, column, value, width=8):
    at = ptx.inst.mad.lo.u32(row, width, column)
    ptx.inst.st.global_.f32(ptx.addr(base + at * 4), value)


# ---- promises that hold --------------------------------------------------------------------------


@kernel(**ONE)
def doubles(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    value = load(x, cta(), tid())
    store(y, cta(), tid(), value + value)


@kernel(**ROWS, grid=lambda B: ptx.cdiv(B, 4), block=(8, 4))
def four_in_a_cta(X, Y):
    """Four rows for each CTA, fewer for the last; each is summed in shared memory."""
    x, y = ptx.global_ptrs(X, Y)
    tile = smem.alloc(f32, (4, 8))
    line = reg.from_(ptx.special.tid.y(), u32)
    row = ptx.inst.mad.lo.u32(cta(), 4, line)
    inside = row < low(X.shape[0])
    tile[line, tid()] = 0.0
    with ptx.if_(inside):
        tile[line, tid()] = load(x, row, tid())
    ptx.bar.sync(0)
    total = reg.scalar(f32, init=0.0)
    for column in range(8):
        total += tile[line, column]
    with ptx.if_(inside):
        store(y, row, tid(), total)


def persistent(*, carry=False):
    @kernel(**ROWS, grid=3, block=8)
    def loops(X, Y):
        """Three CTAs take every third row."""
        x, y = ptx.global_ptrs(X, Y)
        row, total = reg.from_(cta(), u32), reg.scalar(f32, init=0.0)
        with ptx.while_(lambda: row < low(X.shape[0])):
            value = load(x, row, tid())
            if carry:
                total += value
                store(y, row, tid(), total)
            else:
                store(y, row, tid(), value * value)
            row += 3

    return loops


@kernel(
    in_specs=(Tile(8, "B", f32), Tile("B", s32)), out_specs=(Tile(8, "B", f32),),
    grid=lambda B: B, block=8, parallel=("B",),
)  # fmt: skip
def columns(X, Shift, Y):
    """B is the second axis; each index has an integer of its own."""
    x, s, y = ptx.global_ptrs(X, Shift, Y)
    count = low(X.shape[1])
    at = (ptx.inst.mad.lo.u32(tid(), count, cta())) * 4
    shift = ptx.inst.ld.global_.s32(ptx.addr(s + cta() * 4))
    value = ptx.inst.ld.global_.f32(ptx.addr(x + at))
    ptx.inst.st.global_.f32(ptx.addr(y + at), value + ptx.inst.cvt.rn.f32.s32(shift))


@kernel(
    in_specs=(Tile("*B", 8, bf16),), out_specs=(Tile("*B", 8, bf16),),
    grid=lambda B: B, block=8, parallel=("B",),
)  # fmt: skip
def starred(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    at = ptx.inst.mad.lo.u32(cta(), 8, tid()) * 2
    value = reg.scalar(bf16)
    ptx.inst.ld.global_.b16(value, ptx.addr(x + at))
    ptx.inst.st.global_.b16(ptx.addr(y + at), value + value)


PARTS = 3


@kernel(
    in_specs=(Tile("B", 8, f32),), out_specs=(Tile(PARTS, 8, f32, sum_over="B"),),
    grid=PARTS, block=8, parallel=("B",),
)  # fmt: skip
def partial_sums(X, P):
    """A sum for each of three CTAs, of other rows where B is another."""
    x, p = ptx.global_ptrs(X, P)
    row, total = reg.from_(cta(), u32), reg.scalar(f32, init=0.0)
    with ptx.while_(lambda: row < low(X.shape[0])):
        total += load(x, row, tid())
        row += PARTS
    store(p, cta(), tid(), total)


@kernel(in_specs=(Tile(PARTS, 8, f32),), out_specs=(Tile(8, f32),), block=8)
def finish(P, W):
    p, w = ptx.global_ptrs(P, W)
    total = reg.scalar(f32, init=0.0)
    for part in range(PARTS):
        total += load(p, reg.scalar(u32, init=part), tid())
    ptx.inst.st.global_.f32(ptx.addr(w + tid() * 4), total)


SUMS = {
    "in_specs": (Tile("B", 8, f32),),
    "out_specs": (Tile(8, f32, sum_over="B"),),
    "parallel": ("B",),
}


@sequence(**SUMS)
def in_steps(x):
    return finish(partial_sums(x))


def atomic_sums(dtype=f32, *, weighted=False):
    spelled = getattr(ptx.inst.red.global_.add, str(dtype))
    loading = getattr(ptx.inst.ld.global_, str(dtype))

    @kernel(
        in_specs=(Tile("B", 8, dtype),), out_specs=(Tile(8, dtype, sum_over="B", init=0),),
        grid=lambda B: B, block=8, parallel=("B",),
    )  # fmt: skip
    def adds(X, W):
        x, w = ptx.global_ptrs(X, W)
        value = loading(ptx.addr(x + ptx.inst.mad.lo.u32(cta(), 8, tid()) * 4))
        if weighted:
            value = ptx.inst.mul.lo.u32(value, cta())
        spelled(ptx.addr(w + tid() * 4), value)

    return adds


@kernel(**ROWS, grid=lambda B: B, block=8)
def backwards_in_a_row(X, Y):
    """Adds in another order than `sums_of_rows`."""
    x, y = ptx.global_ptrs(X, Y)
    total = reg.scalar(f32, init=0.0)
    for column in reversed(range(8)):
        total += load(x, cta(), reg.scalar(u32, init=column))
    store(y, cta(), tid(), total)


@kernel(**ROWS, grid=lambda B: B, block=8)
def sums_of_rows(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    total = reg.scalar(f32, init=0.0)
    for column in range(8):
        total += load(x, cta(), reg.scalar(u32, init=column))
    store(y, cta(), tid(), total)


@sequence(**ROWS)
def chooses(x):
    """The size decides the order of additions: other bits, the same sums."""
    return pyptx.cond(lambda B: B <= 3, sums_of_rows, backwards_in_a_row, x)


@kernel(**{**ONE, "in_specs": (Tile("B", 8, f32), Scalar(f32), Tile(8, f32))})
def scaled(X, factor, W, Y):
    x, w, y = ptx.global_ptrs(X, W, Y)
    value = load(x, cta(), tid()) * factor
    store(y, cta(), tid(), value * ptx.inst.ld.global_.f32(ptx.addr(w + tid() * 4)))


@kernel(**ONE, input_output_aliases={0: 0})
def in_place(X, Y):
    (y,) = ptx.global_ptrs(Y)
    value = load(y, cta(), tid())
    store(y, cta(), tid(), value + 1.0)


@kernel(**{**ONE, "out_specs": (Tile("B", 8, f32, partial=True), Tile("B", u32))})
def where_positive(X, Y, Count):
    """Writes some elements, and how many."""
    x, y, c = ptx.global_ptrs(X, Y, Count)
    value = load(x, cta(), tid())
    positive = value > 0.0
    with ptx.if_(positive):
        store(y, cta(), tid(), value)
    found = ptx.inst.vote.sync.ballot.b32(positive, 0xFF)
    ptx.inst.st.global_.u32(ptx.addr(c + cta() * 4), ptx.inst.popc.b32(found), pred=tid() == 0)


def grid_of_two(*, wrong=False):
    @kernel(
        in_specs=(Tile("B", "C", f32),), out_specs=(Tile("B", "C", f32),),
        grid=lambda B, C: (C, B), parallel=("B", "C"),
    )  # fmt: skip
    def two_dimensions(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        row = reg.from_(ptx.special.ctaid.y(), u32)
        at = ptx.inst.mad.lo.u32(row, low(X.shape[1]), cta()) * 4
        value = ptx.inst.ld.global_.f32(ptx.addr(x + at))
        if wrong:
            with ptx.if_(cta() > 2):
                value += ptx.inst.ld.global_.f32(ptx.addr(x + at, -4))
        ptx.inst.st.global_.f32(ptx.addr(y + at), value)

    return two_dimensions


@kernel(
    in_specs=(Tile("B", 64, f32),), out_specs=(Tile("B", f32, init=0),),
    grid=lambda B: (8, B), block=8, parallel=("B",),
)  # fmt: skip
def any_order(X, Y):
    """Several CTAs add to one result: its bits depend on the schedule."""
    x, y = ptx.global_ptrs(X, Y)
    row = reg.from_(ptx.special.ctaid.y(), u32)
    column = ptx.inst.mad.lo.u32(cta(), 8, tid())
    ptx.inst.red.global_.add.f32(ptx.addr(y + row * 4), load(x, row, column, 64))


@kernel(**{**ONE, "grid": lambda B: B // 4, "block": 32})
def multiples_of_four(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    store(y, cta(), tid(), load(x, cta(), tid(), 32), 32)


SMALL = RANDOM.integers(0, 1000, (7, 8)).astype(np.uint32)
TRUE = {
    "a row for each CTA": (doubles, (rows(),)),
    "two rows": (doubles, (rows(2),)),
    "several rows for each CTA": (four_in_a_cta, (rows(11),)),
    "a persistent kernel": (persistent(), (rows(11),)),
    "the second axis": (columns, (rows(8, 5), RANDOM.integers(0, 9, 5).astype(np.int32))),
    "a starred dimension": (starred, (rows(12).astype(ml_dtypes.bfloat16).reshape(3, 4, 8),)),
    "parts of a sum": (partial_sums, (rows(10),)),
    "a sum in steps": (in_steps, (rows(10),)),
    "a sum by atomics": (atomic_sums(), (rows(10),)),
    "a sum of integers": (atomic_sums(u32), (SMALL,)),
    "another order of additions by size": (chooses, (rows(9),)),
    "a scalar and a tensor without B": (scaled, (rows(), 0.5, rows(1)[0])),
    "in place": (in_place, (rows(),)),
    "elements that are not written": (where_positive, (rows(),)),
    "two dimensions": (grid_of_two(), (rows(3, 5),)),
    "any order": (any_order, (rows(9, 64) * 10.0 ** RANDOM.integers(-4, 4, (9, 64)).astype("f4"),)),
    "multiples of four": (multiples_of_four, (rows(12),)),
}


@pytest.mark.parametrize("name", TRUE)
def test_a_promise_that_holds(name):
    operation, arrays = TRUE[name]
    operation.check_parallel(*arrays)


@pytest.mark.parametrize("x", [np.zeros, np.ones])
def test_values_that_tell_nothing(x):
    with pytest.raises(CallError) as caught:
        atomic_sums(u32).check_parallel(x((3, 8), np.uint32))
    line = caught.value.location.line
    assert str(caught.value) == (
        f'{__file__}:{line}: X of adds has the same values for every index of "B", which tell '
        "nothing apart\n"
        "    atomic_sums(u32).check_parallel(x((3, 8), np.uint32))\n"
        "  help: give random values"
    )


def test_one_index_alone():
    with pytest.raises(CallError) as caught:
        doubles.check_parallel(rows(1))
    line = caught.value.location.line
    assert str(caught.value) == (
        f"{__file__}:{line}: doubles is called on B = 1, and one index has no others to depend on\n"
        "    doubles.check_parallel(rows(1))\n"
        "  help: give arrays with several indices of each parallel dimension"
    )


def test_no_parallel_dimension():
    with pytest.raises(CallError) as caught:
        finish.check_parallel(rows(PARTS))
    line = caught.value.location.line
    assert str(caught.value) == (
        f"{__file__}:{line}: finish has no parallel dimension to check\n"
        "    finish.check_parallel(rows(PARTS))\n"
        '  help: parallel=("B",)'
    )


# ---- promises that do not ------------------------------------------------------------------------


@kernel(**{**ROWS, "grid": 1, "block": 8})
def prefix_sum(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    total, row = reg.scalar(f32, init=0.0), reg.scalar(u32, init=0)
    with ptx.while_(lambda: row < low(X.shape[0])):
        total += load(x, row, tid())
        store(y, row, tid(), total)
        row += 1


@kernel(**ONE)
def neighbour(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    own = load(x, cta(), tid())
    with ptx.if_(cta() > 0):
        other = load(x, cta() - 1, tid())  # the neighbour's row
        store(y, cta(), tid(), own + other)
    with ptx.if_(cta() == 0):
        store(y, cta(), tid(), own)


@kernel(**ONE)
def reverses(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    value = load(x, low(X.shape[0]) - 1 - cta(), tid())
    store(y, cta(), tid(), value)


@kernel(**{**ONE, "out_specs": (Tile("B", 8, f32, init=0),)})
def adds_to_the_next(X, Y):
    """Atomics across B: a CTA adds to its own row and to the one after it."""
    x, y = ptx.global_ptrs(X, Y)
    value = load(x, cta(), tid())
    at = ptx.inst.mad.lo.u32(cta(), 8, tid()) * 4
    ptx.inst.red.global_.add.f32(ptx.addr(y + at), value)
    with ptx.if_(cta() + 1 < low(X.shape[0])):
        ptx.inst.red.global_.add.f32(ptx.addr(y + at, 32), value)


@kernel(**{**ROWS, "grid": 1, "block": 8})
def normalises(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    total, row = reg.scalar(f32, init=0.0), reg.scalar(u32, init=0)
    count = low(X.shape[0])
    with ptx.while_(lambda: row < count):
        total += load(x, row, tid())
        row += 1
    again = reg.scalar(u32, init=0)
    with ptx.while_(lambda: again < count):
        store(y, again, tid(), ptx.inst.div.rn.f32(load(x, again, tid()), total))
        again += 1


@kernel(**ROWS, grid=lambda B: ptx.cdiv(B, 4), block=(8, 4))
def rows_of_a_cta(X, Y):
    """Each row of a CTA adds the first one's, through shared memory."""
    x, y = ptx.global_ptrs(X, Y)
    tile = smem.alloc(f32, (4, 8))
    line = reg.from_(ptx.special.tid.y(), u32)
    row = ptx.inst.mad.lo.u32(cta(), 4, line)
    inside = row < low(X.shape[0])
    with ptx.if_(inside):
        tile[line, tid()] = load(x, row, tid())
    ptx.bar.sync(0)
    with ptx.if_(inside):
        store(y, row, tid(), tile[line, tid()] + tile[0, tid()])


@kernel(**ONE)
def times_its_number(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    factor = ptx.inst.cvt.rn.f32.u32(cta())
    store(y, cta(), tid(), load(x, cta(), tid()) * factor)


@kernel(**ONE)
def over_the_size(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    size = ptx.inst.cvt.rn.f32.u32(low(X.shape[0]))
    store(y, cta(), tid(), ptx.inst.div.rn.f32(load(x, cta(), tid()), size))


@kernel(
    in_specs=(Tile("B", 8, u32),), out_specs=(Tile(8, u32, sum_over="B", init=0),),
    grid=lambda B: B, block=8, parallel=("B",),
)  # fmt: skip
def largest(X, W):
    x, w = ptx.global_ptrs(X, W)
    value = ptx.inst.ld.global_.u32(ptx.addr(x + ptx.inst.mad.lo.u32(cta(), 8, tid()) * 4))
    ptx.inst.red.global_.max.u32(ptx.addr(w + tid() * 4), value)


@sequence(**ROWS)
def two_steps(x):
    return reverses(doubles(x))


@kernel(
    in_specs=(Tile("B", 8, f32), Tile("B", u32)), out_specs=(Tile("B", 8, f32),),
    grid=lambda B: B, block=8, parallel=("B",),
)  # fmt: skip
def gathers(X, From, Y):
    """An index says of which row each is a copy."""
    x, source, y = ptx.global_ptrs(X, From, Y)
    row = ptx.inst.ld.global_.u32(ptx.addr(source + cta() * 4))
    store(y, cta(), tid(), load(x, row, tid()))


@kernel(**ONE)
def one_of_many(X, Y):
    """A single pair of many rows, and only where the other one's element is larger."""
    x, y = ptx.global_ptrs(X, Y)
    value = load(x, cta(), tid())
    with ptx.if_(cta() == 70):
        ptx.inst.max.f32(value, value, load(x, reg.scalar(u32, init=33), tid()))
    store(y, cta(), tid(), value)


FALSE = {
    "two dimensions": (
        grid_of_two(wrong=True), (rows(3, 5),), r"X\[:, \d\] is read by the threads of C = [34]$",
    ),
    "one of many": (one_of_many, (rows(99),), r"X\[33\] is read by the threads of B = 70$"),
    "a prefix sum": (prefix_sum, (rows(),), r"X\[\d\] is read by the threads of B = \d"),
    "a neighbour": (neighbour, (rows(),), r"X\[(\d)\] is read by the threads of B = \d"),
    "a neighbour of many": (neighbour, (rows(70),), r"X\[\d+\] is read by the threads of B = \d+"),
    "reversed": (reverses, (rows(),), r"X\[\d\] is read by the threads of B = \d"),
    "reversed, two rows": (reverses, (rows(2),), r"X\[(0\] .* B = 1|1\] .* B = 0)$"),
    "atomics": (adds_to_the_next, (rows(),), r"X\[\d\] is read by the threads of B = \d"),
    "normalised": (normalises, (rows(),), r"X\[\d\] is read by the threads of B = \d"),
    "rows of a CTA": (rows_of_a_cta, (rows(),), r"X\[\d\] is read by the threads of B = \d"),
    "a carried sum": (persistent(carry=True), (rows(11),), r"X\[\d+\] is read by the threads of B"),
    "its number": (times_its_number, (rows(),), r'Y\[\d, \d\] depends on its place along "B"'),
    "the size": (
        over_the_size, (rows(),), r'Y\[0, 0\] depends on other indices of "B" or their number',
    ),
    "a maximum": (largest, (SMALL,), 'W is no sum over "B"'),
    "a weighted sum": (atomic_sums(u32, weighted=True), (SMALL,), 'W is no sum over "B"'),
    "two steps": (two_steps, (rows(),), r"Y\[\d, \d\] depends on x\[\d\]"),
    "gathered": (
        gathers, (rows(5), np.array([0, 1, 2, 4, 4], np.uint32)), r"is read by the threads of B",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_a_promise_that_does_not_hold(name):
    operation, arrays, problem = FALSE[name]
    with pytest.raises(EmulationError) as caught:
        operation.check_parallel(*arrays)
    (finding,) = caught.value.findings
    assert finding.kind == "not-parallel"
    assert re.search(problem, finding.note), str(caught.value)
    assert str(caught.value).startswith(f"{operation.name} is not parallel: 1 finding\n{__file__}:")
    assert str(caught.value).endswith(HELP if name != "two dimensions" else HELP.replace("B", "C"))


def test_the_whole_message():
    x = np.arange(1, 41, dtype=np.float32).reshape(5, 8)
    with pytest.raises(EmulationError) as caught:
        neighbour.check_parallel(x)
    lines = Path(__file__).read_text().splitlines()
    read = next(n for n, text in enumerate(lines, 1) if "# the neighbour's row" in text)
    loaded = next(n for n, text in enumerate(lines, 1) if "return ptx.inst.ld.global_.f32" in text)
    (finding,) = caught.value.findings
    source = int(re.search(r"X\[(\d)\]", finding.note)[1])
    assert finding.note == f"X[{source}] is read by the threads of B = {source + 1}"
    assert (finding.tensor, finding.index[0]) == ("Y", source + 1)
    assert finding.site.location.line in (read, loaded)
    assert not finding.site.store and finding.other.store
    at = finding.site.location
    value = x[source + 1, 0] + x[source, 0]
    assert re.fullmatch(
        "neighbour is not parallel: 1 finding\n"
        + re.escape(f"{at}: {finding.note}\n    {at.text}\n  result: Y[{source + 1}, 0] is {value}")
        + r", and [\d.]+ with other values in "
        + re.escape(f"X[{source}]\n  written: {finding.other.location}: ")
        + r"ptx\.inst\.st\.global_\.f32\(.*\)\n"
        + re.escape(HELP),
        str(caught.value),
    ), str(caught.value)


def test_what_the_emulator_finds_comes_first():
    @kernel(**{**ONE, "grid": lambda B: B + 1})
    def too_many(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        store(y, cta(), tid(), load(x, cta(), tid()))

    with pytest.raises(EmulationError, match="out of bounds"):
        too_many.check_parallel(rows())
