"""Tensor maps that kernels change: what copies bring through them, and what the emulator finds."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

sys.path.insert(0, str(Path(__file__).parents[1] / "tensor_maps"))

import boxes
import changed

POLICIES = [{}, {"completion": "eager"}, {"completion": "reversed"}, {"seed": 3}]
HOW = ("shared", "global")


def run(how="shared", wrong="", **options):
    x, starts = changed.groups()
    program = changed.grouped_kernel(len(starts) - 1, 2, how, wrong)
    return program.emulate(x, starts, **options)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("sanitize", [True, False])
def test_every_group_is_a_tensor_of_its_own(how, sanitize):
    x, starts = changed.groups()
    for policy in POLICIES:
        done = run(how, sanitize=sanitize, **policy)
        assert done.report.message == ""
        assert np.array_equal(done.outputs[0], changed.grouped(x, starts, 2))


@pytest.mark.parametrize("sanitize", [True, False])
def test_every_field_can_be_replaced(sanitize):
    x, w = np.zeros((4, 64), np.uint32), np.random.default_rng(1).random((20, 24), np.float32)
    done = changed.fields_kernel().emulate(x, w, sanitize=sanitize)
    done.report.check()
    case = boxes.Box(f32, (5, 4, 24), (2, 4, 16), ((12, 1, 4),), Layout.TMA_64B, (1, 2, 1))
    wanted = boxes.loaded(case, w.view(np.uint32).reshape(case.shape))[0]
    found = done.outputs[0]
    assert np.array_equal(found[:64], wanted[:64])
    assert np.all(found[64:] == 7)


def test_what_is_emulated_assembles():
    for how in HOW:
        assert changed.grouped_kernel(4, 2, how).cubin(R=33).spill_stores == 0
    assert changed.fields_kernel().cubin().spill_stores == 0


# ---- bugs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bug:
    kind: str
    at: str
    """What stands in the line that the finding names."""
    note: str
    how: tuple[str, ...] = HOW
    always: bool = True


RELEASE = "nobody has released the tensor map since: fence.proxy.tensormap::generic.release"
ACQUIRE = "the CTA has not acquired the tensor map since: fence.proxy.tensormap::generic.acquire"
BUGS = {
    "not released": Bug("proxy-race", "load(dst=tile", RELEASE, ("global",), always=False),
    "not acquired": Bug("proxy-race", "load(dst=tile", ACQUIRE, always=False),
    "acquired before it is changed": Bug("proxy-race", "load(dst=tile", ACQUIRE, always=False),
    "changed behind the acquire": Bug("proxy-race", "load(dst=tile", RELEASE, always=False),
    "a misaligned place": Bug(
        "misaligned", "ptx.tensormap.replace(place", "multiple of 128", ("shared",)
    ),
    # Zeros are where a map may begin; not all of its fields are set then.
    "a place of no map": Bug("bad-copy", "load(dst=tile", "its rank is 0, and the copy's is 2"),
    "another rank": Bug("bad-copy", "load(dst=tile", "its rank is 3, and the copy's is 2"),
    "a stride of 24 bytes": Bug(
        "bad-copy", "ptx.tensormap.replace(",
        "the stride of 24 bytes must be a multiple of 16 below 2**40",
    ),
    "a box of 0 rows": Bug(
        "bad-copy", "ptx.tensormap.replace(", "the size of the box 0 is outside of 1 to 256"
    ),
    "a box without elements along a row": Bug(
        "bad-copy", "load(dst=tile",
        "its box has 8 bytes along the last axis, no multiple of 16",
    ),
    "a size of 0": Bug(
        "bad-copy", "ptx.tensormap.replace(", "the size of the tensor 0 is outside of 1 to 2**32"
    ),
    "a swizzle narrower than the box": Bug(
        "bad-copy", "load(dst=tile",
        "its box has 128 bytes along the last axis, and the swizzle's span 64",
    ),
    "a tensor beyond the array": Bug("out-of-bounds", "load(dst=tile", "X"),
}  # fmt: skip
PLANTED = [(name, how) for name, bug in BUGS.items() for how in bug.how]


@pytest.mark.parametrize(("name", "how"), PLANTED)
def test_the_bug_is_found_where_it_is(name, how):
    bug = BUGS[name]
    for policy in POLICIES:
        report = run(how, name, **policy).report
        assert {f.kind for f in report.findings} == {bug.kind}, report.message
        assert all(bug.at in f.site.location.text for f in report.findings), report.message
        assert bug.note in report.message


@pytest.mark.parametrize(("name", "how"), [each for each in PLANTED if BUGS[each[0]].always])
def test_some_are_always_found(name, how):
    report = run(how, name, sanitize=False).report
    assert {f.kind for f in report.findings} == {BUGS[name].kind}, report.message


# ---- several CTAs --------------------------------------------------------------------------------


@kernel(
    in_specs=(Tile(16, 32, f32, tma_box=(8, 32)),),
    out_specs=(Tile(8, 32, f32), Tile(32, u32), Tile(1, u32)),
    grid=(2, 1, 1), block=(32, 1, 1), arch="sm_90a",
)  # fmt: skip
def handed_over(X, Y, M, F, *, wrong):
    """CTA 0 makes the map, and CTA 1 copies through it behind a flag."""
    tile, mine = smem.alloc(f32, (8, 32), align=128), smem.alloc(u32, 32, align=128)
    bar, box = smem.mbarrier(), X.tma_desc()
    x, y, where, flag = ptx.global_ptrs(X, Y, M, F)
    lane = reg.from_(ptx.special.tid.x(), u32)
    one = lane == 0
    bar.init(1, pred=one)
    with ptx.if_(ptx.special.ctaid.x() == 0):
        ptx.tensormap.copy(mine, box)
        ptx.tensormap.replace(mine, global_address=x + 8 * 128, global_dim=(8, None), pred=one)
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
        ptx.tensormap.cp_fenceproxy(where, mine)
        if wrong == "acquired by the other CTA":
            ptx.fence.proxy_tensormap_acquire(where)
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
        order = ptx.inst.st.relaxed if wrong == "no release of the flag" else ptx.inst.st.release
        order.gpu.global_.u32(ptx.addr(flag), 1, pred=one)
    with ptx.else_():
        seen = reg.scalar(u32, init=0)
        with ptx.while_(lambda: seen == 0):
            ptx.inst.ld.acquire.gpu.global_.u32(seen, ptx.addr(flag))
        if not wrong.startswith("acquired"):
            ptx.fence.proxy_tensormap_acquire(where)
        with ptx.if_(one):
            bar.arrive_expect_tx(box.bytes)
            load = ptx.cp.async_.bulk.tensor_2d
            load(dst=tile, src=ptx.tensormap.at(where, box), coord=[0, 0], mbar=bar)
        bar.wait(0)
        for row in range(8):
            ptx.inst.st.global_.f32(ptx.addr(y + lane * 4, 128 * row), tile[row, lane])


HANDED = {
    "acquired by nobody": ACQUIRE,
    "acquired by the other CTA": ACQUIRE,
    "no release of the flag": RELEASE,
}


@pytest.mark.parametrize("wrong", HANDED)
def test_a_map_that_is_handed_over_badly_is_found(wrong):
    x = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    for policy in POLICIES:
        report = handed_over.emulate(x, wrong=wrong, **policy).report
        assert {f.kind for f in report.findings} == {"proxy-race"}, report.message
        assert HANDED[wrong] in report.message
        assert re.search(r"load\(dst=tile", report.message)


def test_a_map_that_is_handed_over_is_silent():
    x = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    for policy in POLICIES:
        done = handed_over.emulate(x, wrong="", **policy)
        assert done.report.message == ""
        assert np.array_equal(done.outputs[0], x[8:])
