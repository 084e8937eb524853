"""Indices in registers are held to the sizes of their dimensions, whatever their addresses hit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import pyptx
from pyptx import EmulationError, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, bf16x2, f32, s32, u32, u64

HELP = (
    "  help: a guard leaves out the threads beyond it: with ptx.if_(i < n): ...   "
    "X.load(i, pred=i < n)"
)
ROWS = np.arange(80, dtype=np.float32).reshape(4, 20)


def thread() -> Any:
    return reg.from_(ptx.special.tid.x(), u32)


def cta() -> Any:
    return reg.from_(ptx.special.ctaid.x(), u32)


def notes(run: Any) -> list[str]:
    """What the report says of indices, and that it says nothing else of them."""
    return [f.note for f in run.report.findings if f.kind == "index-out-of-range"]


# ---- what it says --------------------------------------------------------------------------------


@kernel(in_specs=(Tile("M", "N", f32),), out_specs=(Tile("M", "N", f32),), grid="M", block=32)
def next_row(X, Y, *, guarded=False):
    i, row = thread(), cta()
    with ptx.if_((i < 20) if guarded else (i < 20) | (row < 3)):
        Y[row, i] = X[row, i]


def test_the_whole_message():
    with pytest.raises(EmulationError) as caught, pyptx.sanitize():
        next_row(ROWS)
    lines = Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith("Y[row, i] = X[row, i]"))
    message = str(caught.value).splitlines()
    assert message[1:7] == [
        f"{__file__}:{line}: index out of range: index 20 of dimension 1 of X, whose size is 20",
        "    Y[row, i] = X[row, i]",
        HELP,
        "  instruction: 13: ld.global.f32 %r10, [%r8]",
        "  thread: CTA (0, 0, 0), thread (20, 0, 0), warp 0 lane 20",
        "  count: 72; this is the first",
    ]


@pytest.mark.parametrize(
    "options", [{}, {"sanitize": False}, {"threads": 1}, {"threads": 2}, {"seed": 3}], ids=str
)
def test_it_is_checked_in_every_mode(options: dict[str, Any]):
    report = next_row.emulate(ROWS, **options).report
    (found,) = [f for f in report.findings if f.kind == "index-out-of-range"]
    assert (found.count, found.site.thread, report.status) == (72, (20, 0, 0), "findings")
    assert not next_row.emulate(ROWS, guarded=True, **options).report.findings


def test_the_wrong_index_is_named_before_the_race_that_it_makes():
    kinds = [f.kind for f in next_row.emulate(ROWS).report.findings]
    assert kinds == ["index-out-of-range", "global-race"]


def test_a_launch_that_leaves_memory_says_that_alone():
    report = next_row.emulate(ROWS[:3], guarded=False).report
    assert [f.kind for f in report.findings if f.site.cta == (2, 0, 0)] == ["out-of-bounds"]


def test_under_jax():
    with pytest.raises(EmulationError, match="index 20 of dimension 1 of X"), pyptx.sanitize():
        jax.block_until_ready(jax.jit(next_row)(ROWS))


# ---- every memory, with a clean twin -------------------------------------------------------------

VECTOR = {"in_specs": (Tile("N", f32),), "out_specs": (Tile("N", f32),), "grid": 1, "block": 32}
X = np.arange(32, dtype=np.float32)


@kernel(**VECTOR)
def shared(X, Y, *, beyond=1):
    i = thread()
    first, second = smem.alloc(f32, (32,), name="first"), smem.alloc(f32, (32,), name="second")
    first[i] = X[i]
    second[i] = 0.0
    ptx.bar.sync(0)
    first[i + beyond] = X[i]
    ptx.bar.sync(0)
    Y[i] = first[i] + second[i]


@kernel(**VECTOR)
def rows_of_shared(X, Y, *, beyond=1):
    i = thread()
    tile = smem.alloc(f32, (2, 32), name="tile")
    tile[0, i] = X[i]
    tile[1, i] = 0.0
    ptx.bar.sync(0)
    Y[i] = tile[0, i + beyond]


@kernel(**VECTOR)
def swizzled(X, Y, *, beyond=1):
    i = thread()
    tile = smem.alloc(bf16, (8, 64), swizzle="128B", name="tile")
    after = smem.alloc(bf16, (8, 64), swizzle="128B", name="after")
    value = ptx.from_f32(X[i], dtype=bf16)
    for row in range(8):
        for each in (tile, after):
            each[row, i] = value
            each[row, i + 32] = value
    ptx.bar.sync(0)
    (found,) = ptx.to_f32(tile[i & 7, i + 32 * beyond])
    Y[i] = found


@kernel(**VECTOR)
def local(X, Y, *, beyond=1):
    i = thread()
    first, second = ptx.local(f32, 4, name="first"), ptx.local(f32, 4, name="second")
    for j in range(4):
        first[j] = X[i]
        second[j] = X[i]
    Y[i] = first[(i & 3) + beyond]


@kernel(**VECTOR)
def constant(X, Y, *, beyond=1):
    i = thread()
    table = ptx.const(f32, name="table", init=[1.0] * 32)
    after = ptx.const(f32, name="after", init=[2.0] * 32)
    Y[i] = table[i + beyond] + after[i]


MEMORIES: dict[str, tuple[Any, list[str]]] = {
    "shared": (shared, ["index 32 of dimension 0 of first, whose size is 32"]),
    "a row": (rows_of_shared, ["index 32 of dimension 1 of tile, whose size is 32"]),
    "local": (local, ["index 4 of dimension 0 of first, whose size is 4"]),
    "constant": (constant, ["index 32 of dimension 0 of table, whose size is 32"]),
}


@pytest.mark.parametrize("name", MEMORIES)
def test_memories(name: str):
    k, expected = MEMORIES[name]
    assert notes(k.emulate(X)) == expected
    assert not k.emulate(X, beyond=0).report.findings


def test_a_swizzled_matrix():
    assert notes(swizzled.emulate(X, beyond=2)) == [
        "index 64 of dimension 1 of tile, whose size is 64"
    ]
    assert not swizzled.emulate(X, beyond=1).report.findings


# ---- kinds of indices ----------------------------------------------------------------------------


@kernel(in_specs=(Tile(2, 32, f32),), out_specs=(Tile(2, 32, f32),), grid=1, block=32)
def negative(X, Y, *, back=1):
    i = reg.from_(thread(), s32)
    Y[0, thread()] = X[0, thread()]
    Y[1, thread()] = X[1, i - back]


@kernel(in_specs=(Tile(2, 32, f32),), out_specs=(Tile(2, 32, f32),), grid=1, block=32)
def wide(X, Y, *, beyond=1):
    i = ptx.inst.cvt.u64.u32(thread())
    assert i.dtype is u64
    Y[1, i] = X[0, i + beyond]
    Y[0, i] = X[0, i]


@kernel(in_specs=(Tile(2, 32, bf16),), out_specs=(Tile(2, 32, bf16),), grid=1, block=32)
def vectors(X, Y, *, beyond=8):
    i = thread()
    with ptx.if_(i < 4):
        for row in range(2):
            at = i * 8 + beyond * (1 - row)
            Y.store(row, i * 8, X.load(row, reg.from_(ptx.inst.cvt.u32.u64(at), u32), vector=4,
                                       dtype=bf16x2), dtype=bf16x2)  # fmt: skip


def test_signs_widths_and_vectors():
    x = np.arange(64, dtype=np.float32).reshape(2, 32)
    assert notes(negative.emulate(x)) == ["index -1 of dimension 1 of X, whose size is 32"]
    assert not negative.emulate(x, back=0).report.findings
    assert notes(wide.emulate(x)) == ["index 32 of dimension 1 of X, whose size is 32"]
    assert not wide.emulate(x, beyond=0).report.findings
    narrow = x.astype(jax.numpy.bfloat16)
    assert notes(vectors.emulate(narrow)) == [
        "indices 32 to 39 of dimension 1 of X, whose size is 32"
    ]
    assert not vectors.emulate(narrow, beyond=0).report.findings


@kernel(
    in_specs=(Tile("B", "N", f32),),
    out_specs=(Tile("B", "N", f32, partial=True),),
    grid="B",
    block=32,
    parallel=("B",),
    dynamic=("N",),
)
def sizes_of_the_launch(X, Y, *, guarded=False):
    i, row = thread(), cta()
    columns = ptx.inst.cvt.u32.u64(X.shape[1])
    last = ptx.inst.cvt.u32.u64(X.shape[0]) - 1
    with ptx.if_((i < columns) if guarded else (row < last) | (i < columns)):
        Y[row, i] = X[row, i]


def test_sizes_that_are_known_at_the_launch():
    for rows, columns in ((5, 20), (3, 31)):
        x = np.zeros((rows, columns), np.float32)
        found = notes(sizes_of_the_launch.emulate(x))
        assert f"index {columns} of dimension 1 of X, whose size is {columns}" in found
        assert not sizes_of_the_launch.emulate(x, guarded=True).report.findings


# ---- what is no mistake --------------------------------------------------------------------------


@kernel(in_specs=(Tile("M", "N", f32),), out_specs=(Tile("M", "N", f32),), grid=1, block=32)
def by_predicate_and_part(X, Y):
    i = thread()
    Y.store(3, i, X.load(3, i, pred=i < 20, other=0.0), pred=i < 20)
    # From an element on, a distance is no index of the tensor's.
    part, into = X.at(0, 0), Y.at(0, 0)
    into[0, i] = part[0, i]
    with ptx.if_(i < 28):
        into[0, i + 32] = part[0, i + 32]


def test_predicates_and_parts():
    assert not by_predicate_and_part.emulate(ROWS).report.findings


@kernel(**VECTOR)
def a_register_that_changes_after_it_led_to_a_part(X, Y):
    i, stage = thread(), reg.scalar(u32, init=1)
    tile = smem.alloc(f32, (2, 32))
    part = tile[stage]
    stage += 7
    part[i] = X[i]
    Y[i] = part[i]


def test_parts_of_shared_memory():
    assert not a_register_that_changes_after_it_led_to_a_part.emulate(X).report.findings
