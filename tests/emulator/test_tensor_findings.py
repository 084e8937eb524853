"""What the emulator finds wrong with copies of boxes: each bug planted, and the twin without it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, s32, u32, u64

SHAPE, BOX = (12, 32), (8, 32)
POLICIES = [{}, {"completion": "eager"}, {"completion": "reversed"}, {"seed": 3}]


def maker(cluster=1):
    """A kernel whose body has one of the bugs that `wrong` names, none for ""."""

    @kernel(
        in_specs=(Tile(*SHAPE, f32, Layout.TMA_128B, tma_box=BOX),),
        out_specs=(Tile(*SHAPE, f32, Layout.TMA_128B, tma_box=BOX, partial=True),),
        grid=(cluster, 1, 1), cluster=(cluster, 1, 1), block=(64, 1, 1),
    )  # fmt: skip
    def copies(X, Y, *, wrong=""):
        tile = smem.alloc(f32, (9, 32), align=1024)
        bar = smem.mbarrier()
        x, y = X.tma_desc(), Y.tma_desc()
        copy = ptx.cp.async_.bulk.tensor_2d
        lane = reg.from_(ptx.special.tid.x(), u32)
        one = lane == 0
        place = reg.from_(tile, u32)
        bar.init(1, pred=one)
        ptx.fence.mbarrier_init()
        if wrong == "a load over what was stored without a proxy fence":
            tile[lane >> 5, lane & 31] = 1.0
        if cluster > 1:
            ptx.cluster.sync()
        else:
            ptx.bar.sync(0)
        expected = {"too many bytes expected": 16, "too few bytes expected": -16}.get(wrong, 0)
        # In a register, where only the emulator knows it.
        bar.arrive_expect_tx(reg.scalar(u32, init=x.bytes + expected), pred=one)
        source = x
        if wrong == "a tensor instead of a map":
            (address,) = ptx.global_ptrs(X)
            source = address
        if wrong == "a map of another rank":
            moved = reg.from_(x, u64)
            ptx.cp.async_.bulk.tensor_1d(dst=tile, src=moved, coord=[0], mbar=bar, pred=one)
        elif wrong == "a box at an odd place":
            copy(dst=ptx.addr(place, 64), src=x, coord=[0, 0], mbar=bar, pred=one)
        elif wrong == "a box past the end of shared memory":
            copy(dst=ptx.addr(place, 2048), src=x, coord=[0, 0], mbar=bar, pred=one)
        elif wrong == "a multicast to no CTA":
            copy(dst=tile, src=x, coord=[0, 0], mbar=bar, multicast_mask=8, pred=one)
        else:
            copy(dst=tile, src=source, coord=[0, 0], mbar=bar, pred=one)
        if wrong == "a load that is not waited for":
            ptx.inst.st.shared.f32(ptx.addr(place, 0), tile[4, lane & 31], pred=one)
        bar.wait(0)
        if wrong == "a store without a proxy fence":
            tile[lane >> 5, lane & 31] = 2.0
            ptx.bar.sync(0)
        else:
            ptx.bar.sync(0)
            with ptx.if_(lane < 32):
                tile[0, lane] = tile[0, lane] + 1.0
            ptx.inst.fence.proxy.async_.shared__cta()
            ptx.bar.sync(0)
        out = x if wrong == "a store to an input" else y
        row = ptx.special.cluster_ctarank() << 3
        with ptx.if_(one):
            copy.store(dst=out, src=tile, coord=[0, row])
            ptx.cp.async_.bulk.commit_group()
            if wrong == "the source is overwritten before it is read":
                tile[1, 0] = 0.0
            if wrong != "an exit before the source is read":
                ptx.cp.async_.bulk.wait_group(0)
        if cluster > 1:
            ptx.cluster.sync()

    return copies


COPIES, CLUSTER = maker(), maker(2)


@dataclass(frozen=True)
class Bug:
    kind: str
    at: str
    """What stands in the line that the finding names."""
    note: str = ""
    always: bool = False
    cluster: bool = False


BUGS = {
    "too many bytes expected": Bug("deadlock", "bar.wait", "outstanding", always=True),
    "too few bytes expected": Bug("deadlock", "bar.wait", "outstanding", always=True),
    "a tensor instead of a map": Bug(
        "bad-copy", "copy(dst=tile", "there is no tensor map here", always=True
    ),
    "a map of another rank": Bug(
        "bad-copy", "tensor_1d", "its rank is 2, and the copy's is 1", always=True
    ),
    "a box at an odd place": Bug("misaligned", "place, 64", "multiple of 128", always=True),
    "a box past the end of shared memory": Bug("out-of-bounds", "place, 2048", always=True),
    "a multicast to no CTA": Bug(
        "bad-copy", "multicast_mask=8", "does not name CTAs", always=True, cluster=True
    ),
    "a store to an input": Bug("read-only", "copy.store", always=True),
    "a load that is not waited for": Bug("shared-race", "tile[4, lane & 31]"),
    "a load over what was stored without a proxy fence": Bug("proxy-race", "copy(dst=tile"),
    "a store without a proxy fence": Bug("proxy-race", "copy.store"),
    "the source is overwritten before it is read": Bug("shared-race", "tile[1, 0] = 0.0"),
    "an exit before the source is read": Bug("unfinished-copy", "copy.store"),
}


def run(bug: Bug, wrong: str, **options):
    x = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)
    return (CLUSTER if bug.cluster else COPIES).emulate(x, wrong=wrong, **options)


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_found_where_it_is(name):
    bug = BUGS[name]
    for policy in POLICIES:
        report = run(bug, name, **policy).report
        assert {f.kind for f in report.findings} == {bug.kind}, report.message
        assert any(bug.at in f.site.location.text for f in report.findings), report.message
        assert bug.note in report.message


@pytest.mark.parametrize("name", [name for name, bug in BUGS.items() if bug.always])
def test_some_are_always_found(name):
    report = run(BUGS[name], name, sanitize=False).report
    assert [f.kind for f in report.findings] == [BUGS[name].kind], report.message


@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_clean_twin_is_silent(cluster, seed):
    twin = Bug("", "", cluster=cluster)
    for policy in POLICIES:
        done = run(twin, "", **{"seed": seed, **policy})
        assert done.report.message == ""
        wanted = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)[:8]
        wanted[0] += 1
        assert np.array_equal(done.outputs[0][:8], wanted)


@kernel(
    in_specs=(Tile(8, 8, f32, tma_box=(8, 8)),),
    out_specs=(Tile(8, 8, f32, tma_box=(8, 8), partial=True),),
    grid=(2, 1, 1), block=(32, 1, 1),
)  # fmt: skip
def exchanges(X, Y, *, column):
    """CTA 0 stores a box that begins in this column of Y; CTA 1 the first element of the last row.

    From column 4 on, half of the box is beyond the ends of the rows, where the next rows begin.
    """
    tile = smem.alloc(f32, (8, 8), align=128)
    lane = reg.from_(ptx.special.tid.x(), u32)
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    for first in (0, 32):
        tile[(lane + first) >> 3, lane & 7] = 1.0
    (y,) = ptx.global_ptrs(Y)
    ptx.inst.fence.proxy.async_.shared__cta()
    ptx.bar.sync(0)
    with ptx.if_((cta == 0) & (lane == 0)):
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc(), src=tile, coord=[column, 0])
        ptx.cp.async_.bulk.commit_group()
        ptx.cp.async_.bulk.wait_group(0)
    with ptx.if_((cta == 1) & (lane == 0)):
        ptx.inst.st.global_.f32(ptx.addr(y, 32 * 7), 2.0)


def test_a_finding_has_the_instruction_as_ptx_writes_it():
    message = run(BUGS["a map of another rank"], "a map of another rank").report.message
    assert re.search(r"\[variable0\], \[%r\d+, \{0\}\], \[variable1\]", message), message


def test_what_is_clipped_is_not_written():
    """A box that reaches beyond the tensor races with nobody there."""
    x = np.zeros((8, 8), np.float32)
    racing = exchanges.emulate(x, column=0).report
    assert [f.kind for f in racing.findings] == ["global-race"], racing.message
    clean = exchanges.emulate(x, column=4)
    assert clean.report.message == ""
    assert np.all(clean.outputs[0][:, 4:] == 1)
    assert clean.outputs[0][7, 0] == 2


# ---- where boxes begin ---------------------------------------------------------------------------


PLAIN = Tile(*SHAPE, f32, tma_box=(4, 8))


@kernel(
    in_specs=(PLAIN, PLAIN), out_specs=(PLAIN,), input_output_aliases={1: 0},
    grid=(1, 1, 1), block=(32, 1, 1),
)  # fmt: skip
def begins(X, Y0, Y, *, how, column, row):
    """Copies a box whose coordinates are in registers."""
    tile = smem.alloc(f32, (4, 8), align=128)
    bar = smem.mbarrier()
    x, y = X.tma_desc(), Y.tma_desc()
    copy = ptx.cp.async_.bulk.tensor_2d
    lane = reg.from_(ptx.special.tid.x(), u32)
    at = [reg.scalar(s32, init=column), reg.scalar(s32, init=row)]
    tile[lane >> 3, lane & 7] = 3.0
    bar.init(1, pred=lane == 0)
    ptx.inst.fence.proxy.async_.shared__cta()
    ptx.bar.sync(0)
    with ptx.if_(lane == 0):
        if how == "load":
            bar.arrive_expect_tx(x.bytes)
            copy(dst=tile, src=x, coord=at, mbar=bar)
            bar.wait(0)
        elif how == "prefetch":
            copy.prefetch(src=x, coord=at)
        elif how == "store":
            copy.store(dst=y, src=tile, coord=at)
        else:
            copy.reduce("add", dst=y, src=tile, coord=at)
        ptx.cp.async_.bulk.commit_group()
        ptx.cp.async_.bulk.wait_group(0)


LINES = {"load": "copy(dst", "prefetch": "copy.prefetch", "store": "copy.store", "reduce": "copy.r"}
MISALIGNED = "it must be a multiple of 4 elements, 16 bytes"
NEGATIVE = (
    "those of stores and reductions must not be negative, only loads may begin before the tensor"
)


def start(how, column, row, **options):
    x, y = np.zeros(SHAPE, np.float32), np.ones(SHAPE, np.float32)
    return begins.emulate(x, y, how=how, column=column, row=row, **options)


@pytest.mark.parametrize("sanitize", [True, False])
@pytest.mark.parametrize("how", LINES)
@pytest.mark.parametrize("column", [-6, -1, 1, 2, 30, 37])
def test_a_box_that_begins_inside_of_16_bytes_is_found(how, column, sanitize):
    for policy in POLICIES:
        done = start(how, column, 0, sanitize=sanitize, **policy)
        (finding,) = done.report.findings
        assert finding.kind == "misaligned"
        assert finding.site.location.text.startswith(LINES[how])
        first = f"the box's first coordinate is {column}, {4 * column} bytes of f32; "
        assert first + MISALIGNED in done.report.message


@pytest.mark.parametrize("sanitize", [True, False])
@pytest.mark.parametrize("how", ["store", "reduce"])
@pytest.mark.parametrize(("column", "row"), [(-4, 0), (-32, 0), (0, -1), (0, -9), (4, -2)])
def test_a_store_that_begins_before_the_tensor_is_found(how, column, row, sanitize):
    axis = 0 if column < 0 else 1
    for policy in POLICIES:
        done = start(how, column, row, sanitize=sanitize, **policy)
        (finding,) = done.report.findings
        assert finding.kind == "bad-copy"
        assert finding.site.location.text.startswith(LINES[how])
        first = f"coordinate {axis} of the box is {(column, row)[axis]}; "
        assert first + NEGATIVE in done.report.message
        assert np.all(done.outputs[0] == 1)


@pytest.mark.parametrize("how", LINES)
@pytest.mark.parametrize("column", [-8, -4, 0, 4, 28, 32, 64])
@pytest.mark.parametrize("row", [-4, -1, 0, 3, 11, 12])
def test_boxes_that_begin_where_they_may_are_silent(how, column, row):
    if how in ("store", "reduce") and min(column, row) < 0:
        column, row = abs(column), abs(row)
    wanted = np.ones(SHAPE, np.float32)
    if how in ("store", "reduce"):
        wanted[row : row + 4, column : column + 8] = 3 if how == "store" else 4
    for policy in POLICIES:
        done = start(how, column, row, **policy)
        assert done.report.message == ""
        assert np.array_equal(done.outputs[0], wanted)
