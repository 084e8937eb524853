"""The language's mbarriers, clusters and copies do in the emulator what their names say."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import EmulationError, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

VECTOR = {"in_specs": (Tile(64, f32),), "out_specs": (Tile(64, f32),), "arch": "sm_90a"}
X = np.arange(64, dtype=np.float32)


def prepared(*bars, count):
    """Thread 0 makes the mbarriers."""
    with ptx.if_(reg.from_(ptx.special.tid.x(), u32) == 0):
        for bar in bars:
            bar.init(count)
        ptx.fence.mbarrier_init()


def exchange(*, wait_for_the_other: bool):
    """A kernel of two CTAs that give each other their halves through shared memory."""

    @kernel(**VECTOR, grid=(2, 1, 1), block=32, cluster=(2, 1, 1))
    def swap(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        tile, bar = smem.alloc(f32, 32), smem.mbarrier()
        prepared(bar, count=32)
        tid = reg.from_(ptx.special.tid.x(), u32)
        rank = ptx.cluster.rank()
        other = ptx.inst.xor.b32(rank, 1)
        place = (rank * 32 + tid) * 4
        ptx.cluster.sync()
        remote = ptx.cluster.map_shared_rank(tile, other)
        value = ptx.inst.ld.global_.f32(ptx.addr(x + place))
        ptx.inst.st.shared__cluster.f32(ptx.addr(ptx.inst.mad.lo.u32(tid, 4, remote)), value)
        ptx.cluster.arrive_remote(bar, other)
        if wait_for_the_other:
            bar.wait(0, cluster=True)
        ptx.inst.st.global_.f32(ptx.addr(y + place), tile[tid])
        ptx.cluster.sync()

    return swap.emulate(X, sanitize=True)


def test_two_ctas_exchange_their_halves():
    done = exchange(wait_for_the_other=True)
    assert done.report.findings == ()
    np.testing.assert_array_equal(done.outputs[0], np.roll(X, 32))


def test_an_exchange_without_the_wait_is_a_race():
    done = exchange(wait_for_the_other=False)
    assert {f.kind for f in done.report.findings} & {"shared-race", "uninitialised"}


def test_phases_alternate_in_parity():
    """Two stages, each filled twice: a stage's phase i has parity i & 1."""

    @kernel(**VECTOR, block=32)
    def pipeline(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        ring, full = smem.alloc(f32, (2, 16), align=128), smem.mbarrier(2)
        tid = reg.from_(ptx.special.tid.x(), u32)
        prepared(*full, count=1)
        ptx.bar.sync()
        load = ptx.inst.cp.async_.bulk.shared__cluster.global_.mbarrier__complete_tx__bytes
        for part in ptx.range_(0, 4, dtype=u32):
            stage, parity = part & 1, part >> 1
            bar = full[stage]
            with ptx.if_(tid == 0):
                bar.arrive_expect_tx(64)
                load(ring.address(stage, 0), ptx.addr(x + part * 64), 64, bar)
            bar.wait(parity)
            with ptx.if_(tid < 16):
                ptx.inst.st.global_.f32(ptx.addr(y + part * 64 + tid * 4), ring[stage, tid])
            ptx.fence.proxy_async("shared::cta")
            ptx.bar.sync()

    done = pipeline.emulate(X, sanitize=True)
    assert done.report.findings == ()
    np.testing.assert_array_equal(done.outputs[0], X)


def test_one_lane_is_elected():
    @kernel(**VECTOR, block=64)
    def count(X, Y):
        _, y = ptx.global_ptrs(X, Y)
        total = smem.alloc(u32, 1)
        total[0] = 0
        ptx.bar.sync()
        ptx.inst.red.shared.add.u32(total, 1, pred=ptx.elect())
        ptx.bar.sync()
        found = ptx.inst.cvt.rn.f32.u32(total[0])
        tid = reg.from_(ptx.special.tid.x(), u32)
        ptx.inst.st.global_.f32(ptx.addr(y + tid * 4), found)

    np.testing.assert_array_equal(count.emulate(X).outputs[0], np.full(64, 2.0, np.float32))


def test_a_phase_that_no_one_ends_is_a_deadlock():
    @kernel(**VECTOR, block=32)
    def stuck(X, Y):
        bar = smem.mbarrier()
        prepared(bar, count=33)
        ptx.bar.sync()
        bar.arrive()
        bar.wait(0)

    with pytest.raises(EmulationError, match=r"bar\.wait"):
        stuck(X)
