"""Instructions between the lanes of a warp, against models in Python."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import device, kinds, output, run

HEAD = """
.param u64 X
.param u64 Y
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %tid.x
mul.wide.u32 %rd3, %r1, 8
add.u64 %rd4, %rd1, %rd3
add.u64 %rd5, %rd2, %rd3
ld.global.v2.u32 {%r2, %r3}, [%rd4]
"""
TAIL = "st.global.v2.u32 [%rd5], {%r10, %r11}\n"
LANES = np.arange(32)


def values(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 32, 32, np.uint32)


def lanes(body: str, a: np.ndarray, b: object = 0, block: int = 32) -> np.ndarray:
    """Runs lines that turn %r2, %r3 into %r10, %r11; a row per lane."""
    b = np.broadcast_to(np.asarray(b, np.int64).astype(np.uint32), a.shape)
    x = device(np.stack([a.astype(np.uint32), b], axis=1))
    y = output((32, 2), np.uint32)
    report = run(HEAD + body + TAIL, [x], [y], block=block, sanitize=True)
    assert report.message == ""
    return y


def shuffle_model(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    distance, clamp, segment = b & 31, c & 31, c >> 8 & 31
    last = (lane & segment) | (clamp & ~segment)
    first = lane & segment
    source = {
        "up": lane - distance,
        "down": lane + distance,
        "bfly": lane ^ distance,
        "idx": first | (distance & ~segment),
    }[mode]
    inside = source >= last if mode == "up" else source <= last
    return (source if inside else lane), inside


@pytest.mark.sampled(16, each="mode")
@pytest.mark.parametrize("c", [0, 31, 0x1F1F, 0x181F, 0x1C1F, 0x1803, 0x100F, 7])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode: str, c: int):
    a = values()
    for b in [0, 1, 2, 5, 8, 16, 31, 33]:
        body = f"shfl.sync.{mode}.b32 %r10|%p1, %r2, %r3, {c}, -1\nselp.u32 %r11, 1, 0, %p1\n"
        got = lanes(body, a, b)
        constant = lanes(body.replace("%r3", str(b)), a, b)
        assert np.array_equal(constant, got)
        expected = [shuffle_model(mode, lane, b, c) for lane in range(32)]
        assert got[:, 0].tolist() == [int(a[source]) for source, _ in expected]
        assert got[:, 1].tolist() == [int(inside) for _, inside in expected]


def test_a_shuffle_reads_before_it_writes():
    a = values()
    got = lanes("shfl.sync.down.b32 %r2, %r2, 1, 31, -1\nmov.u32 %r10, %r2\nmov.u32 %r11, 0\n", a)
    assert got[:, 0].tolist() == [*a[1:].tolist(), int(a[31])]


def test_subwarps_shuffle_with_masks_of_their_own():
    a = values()
    body = """
    and.b32 %r4, %r1, 16
    mov.u32 %r5, 0xffff
    shl.b32 %r5, %r5, %r4
    shfl.sync.bfly.b32 %r10, %r2, 8, 31, %r5
    vote.sync.ballot.b32 %r11, %p9, %r5
    """.replace("vote", "setp.lt.u32 %p9, %r2, 0x80000000\nvote")
    got = lanes(body, a)
    assert got[:, 0].tolist() == a[LANES ^ 8].tolist()
    ballot = sum(1 << int(lane) for lane in LANES if a[lane] < 0x80000000)
    assert got[:, 1].tolist() == [ballot & 0xFFFF] * 16 + [ballot & 0xFFFF0000] * 16


@pytest.mark.parametrize("limit", [0, 1, 0x80000000, 0xFFFFFFFF])
def test_votes(limit: int):
    a = values()
    p = a < limit
    body = f"""
    setp.lt.u32 %p1, %r2, {limit}
    vote.sync.all.pred %p2, %p1, -1
    vote.sync.any.pred %p3, %p1, -1
    vote.sync.uni.pred %p4, %p1, -1
    vote.sync.all.pred %p5, !%p1, -1
    vote.sync.ballot.b32 %r11, !%p1, -1
    selp.u32 %r10, 1, 0, %p2
    @%p3 add.u32 %r10, %r10, 2
    @%p4 add.u32 %r10, %r10, 4
    @%p5 add.u32 %r10, %r10, 8
    """
    got = lanes(body, a)
    expected = p.all() + 2 * p.any() + 4 * (p.all() or not p.any()) + 8 * (not p.any())
    assert got[:, 0].tolist() == [int(expected)] * 32
    assert got[:, 1].tolist() == [sum(1 << int(lane) for lane in LANES if not p[lane])] * 32


@pytest.mark.parametrize("width", [32, 64])
def test_match(width: int):
    a = values() % 4
    same = [sum(1 << int(k) for k in LANES if a[k] == a[lane]) for lane in LANES]
    wide = "%r2" if width == 32 else "%rd9"
    body = f"""
    cvt.u64.u32 %rd9, %r2
    match.any.sync.b{width} %r10, {wide}, -1
    match.all.sync.b{width} %r11|%p1, {wide}, -1
    selp.u32 %r11, 5, %r11, %p1
    """
    got = lanes(body, a)
    assert got[:, 0].tolist() == same
    assert got[:, 1].tolist() == [0] * 32
    got = lanes(body, np.full(32, 9))
    assert got[:, 0].tolist() == [0xFFFFFFFF] * 32
    assert got[:, 1].tolist() == [5] * 32


REDUX = {
    ("add", "u32"): lambda a: int(a.sum(dtype=np.uint64)) & 0xFFFFFFFF,
    ("add", "s32"): lambda a: int(a.sum(dtype=np.uint64)) & 0xFFFFFFFF,
    ("min", "u32"): lambda a: int(a.min()),
    ("max", "u32"): lambda a: int(a.max()),
    ("min", "s32"): lambda a: int(a.view(np.int32).min()) & 0xFFFFFFFF,
    ("max", "s32"): lambda a: int(a.view(np.int32).max()) & 0xFFFFFFFF,
    ("and", "b32"): lambda a: int(np.bitwise_and.reduce(a)),
    ("or", "b32"): lambda a: int(np.bitwise_or.reduce(a)),
    ("xor", "b32"): lambda a: int(np.bitwise_xor.reduce(a)),
}


@pytest.mark.parametrize(("operation", "dtype"), REDUX)
def test_redux(operation: str, dtype: str):
    a = values() | 3
    body = f"redux.sync.{operation}.{dtype} %r10, %r2, -1\nmov.u32 %r11, 0\n"
    assert lanes(body, a)[:, 0].tolist() == [REDUX[operation, dtype](a)] * 32


@pytest.mark.parametrize(
    "modifiers", ["min", "max", "min.abs", "max.abs", "min.NaN", "max.abs.NaN"]
)
@pytest.mark.parametrize("special", ["none", "nan", "all nan", "zeros"])
def test_redux_of_floats(modifiers: str, special: str):
    a = np.random.default_rng(3).standard_normal(32).astype(np.float32)
    if special == "nan":
        a[7] = np.nan
    elif special == "all nan":
        a[:] = np.nan
    elif special == "zeros":
        a[:] = 0.0
        a[4] = -0.0
    body = f"redux.sync.{modifiers}.f32 %r10, %r2, -1\nmov.u32 %r11, 0\n"
    got = lanes(body, a.view(np.uint32))[:, 0]
    b = np.abs(a) if "abs" in modifiers else a
    real = b[~np.isnan(b)]
    if real.size == 0 or (np.isnan(b).any() and "NaN" in modifiers):
        expected = 0x7FFFFFFF
    elif special == "zeros":
        negative = "abs" not in modifiers and "min" in modifiers
        expected = 0x80000000 if negative else 0
    else:
        expected = (real.min() if "min" in modifiers else real.max()).view(np.uint32)
    assert got.tolist() == [int(expected)] * 32


def test_elect_and_activemask():
    body = """
    mov.u32 %r10, 99
    mov.u32 %r11, 0
    setp.ge.u32 %p1, %r1, 5
    @!%p1 bra join
    activemask.b32 %r11
    elect.sync %r10|%p2, 0xffffffe0
    @%p2 add.u32 %r11, %r11, 1
    join:
    """
    got = lanes(body, values())
    assert got[:, 0].tolist() == [99] * 5 + [5] * 27
    assert got[:, 1].tolist() == [0] * 5 + [0xFFFFFFE1] + [0xFFFFFFE0] * 26


def test_a_shuffle_waits_for_diverged_lanes():
    body = """
    and.b32 %r4, %r1, 1
    setp.eq.u32 %p1, %r4, 0
    @%p1 bra even
    add.u32 %r2, %r2, 100
    bra join
    even:
    add.u32 %r2, %r2, 200
    join:
    shfl.sync.bfly.b32 %r10, %r2, 1, 31, -1
    mov.u32 %r11, 0
    """
    a = LANES
    mine = np.where(LANES % 2 == 0, a + 200, a + 100)
    assert lanes(body, a)[:, 0].tolist() == mine[LANES ^ 1].tolist()


def test_lanes_that_run_ahead_wait_at_the_shuffle():
    # Lane 0 leaves the loop first, then the others one by one; none may pass the shuffle alone.
    body = """
    mov.u32 %r4, 0
    loop:
    add.u32 %r4, %r4, 1
    mul.lo.u32 %r5, %r1, 100
    setp.le.u32 %p1, %r4, %r5
    @%p1 bra loop
    shfl.sync.idx.b32 %r10, %r4, 31, 31, -1
    activemask.b32 %r11
    """
    got = lanes(body, values())
    assert got[:, 0].tolist() == [3101] * 32
    assert got[:, 1].tolist() == [0xFFFFFFFF] * 32


def test_partial_warps_have_no_absent_lanes():
    body = "vote.sync.ballot.b32 %r10, %p1, -1\nmov.u32 %r11, 0\n"
    got = lanes("setp.ge.u32 %p1, %r1, 0\n" + body, values(), block=20)
    assert got[:20, 0].tolist() == [(1 << 20) - 1] * 20


def test_bar_warp_sync_joins_lanes_at_different_instructions():
    text = """
    .param u64 Y
    .shared tile 128 4
    ld.param.u64 %rd1, [Y]
    mov.u32 %r1, %tid.x
    shl.b32 %r2, %r1, 2
    mov.u32 %r3, tile
    add.u32 %r4, %r3, %r2
    xor.b32 %r5, %r2, 64
    add.u32 %r5, %r3, %r5
    mul.wide.u32 %rd2, %r1, 4
    add.u64 %rd2, %rd1, %rd2
    st.shared.u32 [%r4], %r1
    setp.lt.u32 %p1, %r1, 16
    @%p1 bra low
    bar.warp.sync -1
    ld.shared.u32 %r6, [%r5]
    bra join
    low:
    bar.warp.sync -1
    ld.shared.u32 %r6, [%r5]
    join:
    st.global.u32 [%rd2], %r6
    """
    y = output(32, np.uint32)
    run(text, [], [y], sanitize=True).check()
    assert y.tolist() == (LANES ^ 16).tolist()


def test_a_lane_may_wait_for_another_lane_of_its_warp():
    text = """
    .param u64 Y
    ld.param.u64 %rd1, [Y]
    mov.u32 %r1, %tid.x
    setp.ne.u32 %p1, %r1, 0
    @%p1 bra other
    spin:
    ld.volatile.global.u32 %r2, [%rd1]
    setp.eq.u32 %p2, %r2, 0
    @%p2 bra spin
    bra join
    other:
    setp.eq.u32 %p3, %r1, 31
    @%p3 st.volatile.global.u32 [%rd1], 1
    join:
    st.global.u32 [%rd1+4], 5
    """
    y = device([0, 0], np.uint32)
    report = run(text, [], [y], initialised=True, max_instructions=100000)
    report.check()
    assert y.tolist() == [1, 5]


def test_lanes_that_exit_are_not_waited_for():
    body = """
    setp.ge.u32 %p1, %r1, 16
    @%p1 exit
    vote.sync.ballot.b32 %r10, %p2, 0xffff
    mov.u32 %r11, 0
    """
    got = lanes("setp.lt.u32 %p2, %r1, 3\n" + body, values())
    assert got[:16, 0].tolist() == [7] * 16


def test_brx_goes_to_the_indexed_label():
    body = """
    and.b32 %r4, %r1, 3
    min.u32 %r4, %r4, 2
    brx.idx %r4, {zero, one, two}
    zero:
    mov.u32 %r10, 10
    bra join
    one:
    mov.u32 %r10, 11
    bra join
    two:
    mov.u32 %r10, 12
    join:
    activemask.b32 %r11
    """
    got = lanes(body, values())
    assert got[:, 0].tolist() == [10 + min(int(lane) & 3, 2) for lane in LANES]
    assert got[:, 1].tolist() == [0xFFFFFFFF] * 32
    x, y = device(np.zeros((32, 2), np.uint32)), output((32, 2), np.uint32)
    report = run(HEAD + body.replace("min.u32 %r4, %r4, 2", "") + TAIL, [x], [y])
    assert kinds(report) == ["bad-branch"]
    assert report.findings[0].note == "index 3 of 3 targets"
