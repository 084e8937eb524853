"""Whole programs by pairs of CTAs: sums in turn in two places, factors that copies bring."""

# ruff: noqa: E501  # a line of the text is a line

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, e4m3, f32, u16, u32

from .test_mma import factors
from .test_tensor_core import POLICIES

ROWS, K_TILE, K, N_TILE, TILES = 128, 64, 128, 128, 3
FETCHING, MULTIPLYING = 128, 160


def of_stage(sums, place):
    return ptx.inst.mov.b32(ptx.inst.mad.lo.u32(place.stage, N_TILE, sums))


def persistent(*, arrives="both", fence=True):
    """D (256 by 3 * 128): the next tile is multiplied while this one's sums are stored.

    Threads of both CTAs arrive at the even one's mbarrier when they have loaded their sums.
    """
    a_box = {"layout": Layout.TMA_128B, "tma_box": (ROWS, K_TILE)}
    b_box = {"layout": Layout.TMA_128B, "tma_box": (N_TILE // 2, K_TILE)}

    @kernel(
        in_specs=(Tile(2 * ROWS, K, bf16, **a_box), Tile(N_TILE * TILES, K, bf16, **b_box)),
        out_specs=(Tile(2 * ROWS, N_TILE * TILES, f32),),
        grid=(2, 1, 1), block=192, cluster=(2, 1, 1), arch="sm_100a",
    )  # fmt: skip
    def program(A, B, D):
        tiles_a = smem.wgmma_tile(bf16, (2, ROWS, K_TILE))
        tiles_b = smem.wgmma_tile(bf16, (2, N_TILE // 2, K_TILE))
        ring, slot = ptx.ring(2), smem.alloc(u32, 1)
        filled, drained = smem.mbarrier(2), smem.mbarrier(2)
        a, b = A.tma_desc(), B.tma_desc()
        tid, rank = reg.from_(ptx.special.tid.x(), u32), ptx.cluster.rank()
        with ptx.if_(tid >> 5 == 0):
            memory = ptx.tcgen05.alloc(slot, 2 * N_TILE, cta_group=2)
            ptx.tcgen05.relinquish_alloc_permit(cta_group=2)
        with ptx.if_(tid == 0):
            ring.init()
            filled.init(1)
            drained.init(128 * (2 if arrives == "both" else 1))
            ptx.fence.mbarrier_init()
        ptx.tcgen05.fence_before_thread_sync()
        ptx.cluster.sync()
        ptx.tcgen05.fence_after_thread_sync()
        sums = memory.address()

        with ptx.if_(tid == FETCHING):
            state = ring.producer()
            for tile in ptx.range_(0, TILES, dtype=u32):
                for column in ptx.range_(0, K, K_TILE, dtype=u32):
                    full = ring.acquire(state)
                    with ptx.if_(rank == 0):
                        full.arrive_expect_tx(2 * (a.bytes + b.bytes))
                    both = ptx.addr(ptx.cluster.map_shared_rank(full, 0))
                    row = ptx.inst.mad.lo.u32(tile, N_TILE, ptx.inst.mul.lo.u32(rank, N_TILE // 2))
                    for map_, to, first in (
                        (a, tiles_a, ptx.inst.mul.lo.u32(rank, ROWS)),
                        (b, tiles_b, row),
                    ):
                        ptx.cp.async_.bulk.tensor_2d(
                            dst=to[state.stage],
                            src=map_,
                            coord=[column, first],
                            mbar=both,
                            cta_group=2,
                        )
                    state.advance()
            for _ in range(2):
                ring.acquire(state)
                state.advance()

        with ptx.if_(tid == MULTIPLYING), ptx.if_(rank == 0):
            how = ptx.tcgen05.instruction_descriptor(
                "f16", m=256, n=N_TILE, a=bf16, b=bf16, cta_group=2
            )
            state, place = ring.consumer(), ptx.pipeline(2, phase=1)
            for _ in ptx.range_(0, TILES, dtype=u32):
                drained[place.stage].wait(place.phase, cluster=True)
                ptx.tcgen05.fence_after_thread_sync()
                to = of_stage(sums, place)
                for column in ptx.range_(0, K, K_TILE, dtype=u32):
                    ring.wait(state)
                    ptx.tcgen05.fence_after_thread_sync()
                    for step in range(0, K_TILE, 16):
                        x, y = (
                            ptx.tcgen05.descriptor(t[state.stage], k=step)
                            for t in (tiles_a, tiles_b)
                        )
                        ptx.tcgen05.mma(
                            to, x, y, how, enable_input_d=True if step else column > 0, cta_group=2
                        )
                    ptx.tcgen05.commit(ring.empty[state.stage], cta_group=2, multicast_mask=3)
                    state.advance()
                ptx.tcgen05.commit(filled[place.stage], cta_group=2, multicast_mask=3)
                place.advance()

        with ptx.if_(tid < FETCHING):
            (d,) = ptx.global_ptrs(D)
            d += (ptx.inst.mad.lo.u32(rank, ROWS, tid)) * (4 * N_TILE * TILES)
            place = ptx.pipeline(2)
            for _ in ptx.range_(0, TILES, dtype=u32):
                filled[place.stage].wait(place.phase)
                ptx.tcgen05.fence_after_thread_sync()
                lanes = ptx.tcgen05.at(of_stage(sums, place), lane=tid >> 5 << 5)
                for column in range(0, N_TILE, 64):
                    values = ptx.tcgen05.ld(
                        None, ptx.tcgen05.at(lanes, column=column), count=64, dtype=f32
                    )
                    ptx.tcgen05.wait_ld()
                    for i in range(64):
                        ptx.inst.st.global_.f32(ptx.addr(d, (column + i) * 4), values[i])
                if fence:
                    ptx.tcgen05.fence_before_thread_sync()
                if arrives == "both":
                    drained[place.stage].arrive_remote(0)
                else:
                    with ptx.if_(rank == 0):
                        drained[place.stage].arrive()
                d += 4 * N_TILE
                place.advance()
        ptx.cluster.sync()  # the odd CTA's last arrivals are at the even one's mbarriers
        with ptx.if_(tid >> 5 == 0):
            ptx.tcgen05.dealloc(sums)

    return program


def inputs():
    random = np.random.default_rng(1)
    return [
        random.normal(size=(rows, K)).astype(ml_dtypes.bfloat16)
        for rows in (2 * ROWS, N_TILE * TILES)
    ]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_sums_in_turn_in_two_places(policy):
    a, b = inputs()
    done = persistent().emulate(a, b, **policy)
    assert not done.report.findings, done.report.message
    exact, size = (
        a.astype(float) @ b.astype(float).T,
        np.abs(a.astype(float)) @ np.abs(b.astype(float)).T,
    )
    # Sums of 17 numbers, each cut 25 bits below the largest, the sum 23 bits below its own.
    assert (np.abs(done.outputs[0] - exact) <= K // 16 * (17 * 2.0**-25 + 2.0**-23) * size).all()


@pytest.mark.parametrize("policy", [p for p in POLICIES if p["sanitize"]], ids=str)
def test_both_ctas_have_to_say_that_their_sums_are_loaded(policy):
    """The third tile overwrites what the odd CTA may not have loaded yet."""
    report = persistent(arrives="even").emulate(*inputs(), **policy).report
    assert [f.kind for f in report.findings] == ["tensor-race"], report.message
    (finding,) = report.findings
    assert "tcgen05.mma.cta_group::2" in finding.text
    assert "tcgen05.ld" in finding.text


@pytest.mark.parametrize("policy", [p for p in POLICIES if p["sanitize"]], ids=str)
def test_a_fence_lies_between_loads_and_the_arrival(policy):
    report = persistent(fence=False).emulate(*inputs(), **policy).report
    assert {f.kind for f in report.findings} == {"tensor-fence"}, report.message


# ---- factors -------------------------------------------------------------------------------------

SCALED_K, SCALED_N = 128, 128
"""Four factors for each row of K = 128: a word of each of A's 256 rows, and of B's 128."""


def scaled(m):
    """D (256 or 128 rows) of e4m3 with ue8m0 factors, which copies bring to both CTAs."""
    rows, parts = m // 2, 2 if m == 128 else 1
    boxes = [{"layout": Layout.TMA_128B, "tma_box": (n, SCALED_K)} for n in (rows, SCALED_N // 2)]

    @kernel(
        in_specs=(
            Tile(m, SCALED_K, e4m3, **boxes[0]), Tile(SCALED_N, SCALED_K, e4m3, **boxes[1]),
            Tile(2, 128, u32), Tile(parts, 128, u32),
        ),
        out_specs=(Tile(2, 128, SCALED_N // parts, f32),),
        grid=(2, 1, 1), block=128, cluster=(2, 1, 1), arch="sm_100a",
    )  # fmt: skip
    def program(A, B, FA, FB, D):
        tile_a, tile_b = (
            smem.wgmma_tile(e4m3, (rows, SCALED_K)),
            smem.wgmma_tile(e4m3, (SCALED_N // 2, SCALED_K)),
        )
        factors = smem.alloc(u32, (1 + parts, 128), align=128)
        full, done, slot = smem.mbarrier(), smem.mbarrier(), smem.alloc(u32, 1)
        a, b = A.tma_desc(), B.tma_desc()
        fa, fb, d = ptx.global_ptrs(FA, FB, D)
        tid, rank = reg.from_(ptx.special.tid.x(), u32), ptx.cluster.rank()
        with ptx.if_(tid >> 5 == 0):
            memory = ptx.tcgen05.alloc(slot, 256, cta_group=2)
        with ptx.if_(tid == 0):
            full.init(1)
            done.init(1)
            ptx.fence.mbarrier_init()
        at = ptx.inst.mad.lo.u32(tid & 31, 16, ptx.inst.mul.lo.u32(tid >> 5, 4))
        mine = reg.from_(factors, u32) + at
        sources = [
            fa + ptx.inst.mad.lo.u32(rank, 128, tid) * 4,
            *(fb + (tid + 128 * part) * 4 for part in range(parts)),
        ]
        for i, source in enumerate(sources):
            ptx.inst.st.shared.u32(
                ptx.addr(mine, 512 * i), ptx.inst.ld.global_.u32(ptx.addr(source))
            )
        ptx.fence.proxy_async("shared::cta")
        ptx.tcgen05.fence_before_thread_sync()
        ptx.cluster.sync()
        ptx.tcgen05.fence_after_thread_sync()
        sums = memory.address()
        with ptx.if_(tid == 0):
            with ptx.if_(rank == 0):
                full.arrive_expect_tx(2 * (a.bytes + b.bytes))
            both = ptx.addr(ptx.cluster.map_shared_rank(full, 0))
            for map_, to, n in ((a, tile_a, rows), (b, tile_b, SCALED_N // 2)):
                row = ptx.inst.mul.lo.u32(rank, n)
                ptx.cp.async_.bulk.tensor_2d(
                    dst=to, src=map_, coord=[0, row], mbar=both, cta_group=2
                )
            with ptx.if_(rank == 0):
                full.wait(0)
                spread = [
                    ("32x128b", "warpx4"),
                    ("32x128b", "warpx4") if parts == 1 else ("64x128b", "warpx2::01_23"),
                ]
                for i, (size, multicast) in enumerate(spread):
                    matrix = ptx.tcgen05.descriptor(
                        factors, byte_offset=512 * i, stride_bytes=128, swizzle="none"
                    )
                    ptx.tcgen05.cp(
                        ptx.tcgen05.at(sums, column=128 + 4 * i),
                        matrix,
                        size=size,
                        multicast=multicast,
                        cta_group=2,
                    )
                for step in range(4):
                    how = ptx.tcgen05.instruction_descriptor(
                        "mxf8f6f4", m=m, n=SCALED_N, a=e4m3, b=e4m3, cta_group=2, scale_a_id=step, scale_b_id=step,
                    )  # fmt: skip
                    x, y = (ptx.tcgen05.descriptor(t, k=32 * step) for t in (tile_a, tile_b))
                    of_a, of_b = (ptx.tcgen05.at(sums, column=128 + 4 * i) for i in range(2))
                    ptx.tcgen05.mma(
                        sums,
                        x,
                        y,
                        how,
                        kind="mxf8f6f4",
                        cta_group=2,
                        enable_input_d=step > 0,
                        scale_a=of_a,
                        scale_b=of_b,
                    )
                ptx.tcgen05.commit(done, cta_group=2, multicast_mask=3)
        done.wait(0)
        ptx.tcgen05.fence_after_thread_sync()
        d += ptx.inst.mad.lo.u32(rank, 128, tid) * (4 * SCALED_N // parts)
        lanes = ptx.tcgen05.at(sums, lane=tid >> 5 << 5)
        values = ptx.tcgen05.ld(None, lanes, count=SCALED_N // parts, dtype=f32)
        ptx.tcgen05.wait_ld()
        for i, value in enumerate(values):
            ptx.inst.st.global_.f32(ptx.addr(d, 4 * i), value)
        ptx.bar.sync()
        with ptx.if_(tid >> 5 == 0):
            ptx.tcgen05.dealloc(sums)

    return program


def of_lanes(codes, lanes):
    """Words of `lanes` rows, one for each thread that stores it: more rows than there are repeat."""
    return np.resize(np.ascontiguousarray(codes.astype(np.uint8)).view(np.uint32)[:, 0], lanes)


@pytest.mark.sampled(24, each=("m", "policy"))
@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("m", [128, 256])
def test_copies_bring_factors_to_both(m, policy):
    random = np.random.default_rng(m)
    a, b = (
        random.normal(size=(rows, SCALED_K)).astype(ml_dtypes.float8_e4m3fn)
        for rows in (m, SCALED_N)
    )
    (codes_a, of_a), (codes_b, of_b) = (
        factors(random, (rows, 4), "ue8m0") for rows in (m, SCALED_N)
    )
    halves = np.split(codes_a, 2)
    words_a = np.stack([of_lanes(half, 128) for half in halves])
    words_b = of_lanes(codes_b, 128)[None]
    if m == 128:  # a quarter has the factors of its half of the columns
        half = [of_lanes(part, 64) for part in np.split(codes_b, 2)]
        words_b = np.stack([np.resize(part, 128) for part in half])
    done = scaled(m).emulate(a, b, words_a, words_b, **policy)
    assert not done.report.findings, done.report.message
    x, y = (v.astype(float) * np.repeat(f, 32, axis=1) for v, f in ((a, of_a), (b, of_b)))
    exact, size = x @ y.T, np.abs(x) @ np.abs(y).T
    found = np.array(done.outputs[0])
    if m == 128:  # columns behind each other in the lanes
        found = found.reshape(2, 2, 64, 64).swapaxes(1, 2).reshape(128, 128)
    # Four sums of 33 numbers, each cut 25 bits below the largest, the sum 23 bits below its own.
    assert (
        np.abs(found.reshape(m, SCALED_N) - exact) <= 4 * (33 * 2.0**-25 + 2.0**-23) * size
    ).all()


# ---- descriptors ---------------------------------------------------------------------------------


@kernel(
    in_specs=(Tile(128, 32, u16), Tile(64, 32, u16)), out_specs=(Tile(2, 128, 64, f32),),
    grid=(2, 1, 1), block=128, cluster=(2, 1, 1), arch="sm_100a",
)  # fmt: skip
def alone(A, B, D):
    """Each CTA of a cluster multiplies for itself, of tiles without a swizzle."""
    tiles = [smem.wgmma_tile(bf16, (n, 32), swizzle="none") for n in (128, 64)]
    done, slot = smem.mbarrier(), smem.alloc(u32, 1)
    *sources, d = ptx.global_ptrs(A, B, D)
    tid, rank = reg.from_(ptx.special.tid.x(), u32), ptx.cluster.rank()
    with ptx.if_(tid >> 5 == 0):
        memory = ptx.tcgen05.alloc(slot, 64)
    with ptx.if_(tid == 0):
        done.init(1)
    for tile, source in zip(tiles, sources, strict=True):
        for i in ptx.range_(reg.from_(tid, u32), tile.shape[0] * 32, 128):
            value = ptx.inst.ld.global_.u16(ptx.addr(source + i * 2))
            ptx.inst.st.shared.u16(tile.address(i // 32, i % 32), value)
    ptx.fence.proxy_async("shared::cta")
    ptx.tcgen05.fence_before_thread_sync()
    ptx.bar.sync()
    ptx.tcgen05.fence_after_thread_sync()
    sums = memory.address()
    how = ptx.tcgen05.instruction_descriptor("f16", m=128, n=64, a=bf16, b=bf16)
    with ptx.if_(tid == 0):
        for k in (0, 16):
            x, y = (ptx.tcgen05.descriptor(tile, k=k) for tile in tiles)
            ptx.tcgen05.mma(sums, x, y, how, enable_input_d=k > 0)
        ptx.tcgen05.commit(done)
    done.wait(0)
    ptx.tcgen05.fence_after_thread_sync()
    values = ptx.tcgen05.ld(None, ptx.tcgen05.at(sums, lane=tid >> 5 << 5), count=64, dtype=f32)
    ptx.tcgen05.wait_ld()
    d += ptx.inst.mad.lo.u32(rank, 128, tid) * (4 * 64)
    for i, value in enumerate(values):
        ptx.inst.st.global_.f32(ptx.addr(d, 4 * i), value)
    ptx.bar.sync()
    with ptx.if_(tid >> 5 == 0):
        ptx.tcgen05.dealloc(sums)


def test_descriptors_hold_in_every_cta_of_a_cluster():
    """Addresses in shared memory have the CTA's rank, which is no part of a descriptor."""
    random = np.random.default_rng(7)
    a, b = (random.normal(size=(n, 32)).astype(ml_dtypes.bfloat16) for n in (128, 64))
    done = alone.emulate(a.view(np.uint16), b.view(np.uint16))
    assert not done.report.findings, done.report.message
    exact = a.astype(float) @ b.astype(float).T
    for found in done.outputs[0]:
        np.testing.assert_allclose(found, exact, atol=1e-5)


def test_the_programs_assemble():
    for program in (persistent(), scaled(128), scaled(256), alone):
        assert program.cubin().spill_stores == 0
