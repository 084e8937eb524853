"""Asynchronous copies, stores and reductions: every direction and completion, under every policy."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from pyptx.errors import EmulationError

from .harness import FILE, device, run

HEAD = """
.param u64 X
.param u64 Y
.shared bar 32 8
.shared tile 4096 16
.shared sums 4096 16
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %tid.x
mov.u32 %r9, %ctaid.x
mul.wide.u32 %rd3, %r1, 4
shl.b32 %r2, %r1, 2
mov.u32 %r3, tile
add.u32 %r4, %r3, %r2
mov.u32 %r5, %cluster_ctarank
mov.u32 %r6, sums
add.u32 %r7, %r6, %r2
setp.eq.u32 %p1, %r1, 0
@!%p1 bra started
mbarrier.init.shared::cta.b64 [bar], 1
mbarrier.init.shared::cta.b64 [bar+8], 1
fence.mbarrier_init.release.cluster
started:
bar.sync 0
"""
WAIT = """
wait:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0
@!%p2 bra wait
"""
CLUSTER = "barrier.cluster.arrive.aligned\nbarrier.cluster.wait.aligned\n"
TX = "mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
POLICIES = [
    {},
    {"completion": "eager"},
    {"completion": "late"},
    {"completion": "reversed"},
    {"completion": "random", "seed": 0},
    {"completion": "random", "seed": 1},
    {"completion": "late", "seed": 2},
]


def check(
    body: str, expected: object, x: np.ndarray | None = None, y: object = None, **options: object
) -> None:
    """Run under every policy; `y` is what the output holds before."""
    x = device(np.arange(1024, dtype=np.uint32)) if x is None else device(x)
    wanted = np.asarray(expected)
    wanted = wanted.astype(np.uint32) if wanted.dtype == np.int64 and y is None else wanted
    for policy in POLICIES:
        for sanitize in (True, False):
            out = device(np.zeros_like(wanted) if y is None else y)
            report = run(
                HEAD + body, [x], [out], sanitize=sanitize, initialised=True, **options, **policy
            )
            report.check()
            assert np.array_equal(out, wanted), (policy, out)


@pytest.mark.parametrize("space", ["shared::cluster", "shared::cta"])
def test_bulk_loads(space: str):
    check(
        f"""
    @!%p1 bra wait
    cp.async.bulk.{space}.global.{TX} [tile], [%rd1], 256, [bar]
    cp.async.bulk.{space}.global.{TX} [%r3+256], [%rd1+512], 256, [bar]
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512
    {WAIT}
    ld.shared.u32 %r10, [%r4]
    add.u64 %rd4, %rd2, %rd3
    st.global.u32 [%rd4], %r10
    """,
        [*range(64), *range(128, 192)],
        block=128,
    )


def test_bulk_loads_with_a_cache_policy():
    check(
        f"""
    @!%p1 bra wait
    createpolicy.fractional.L2::evict_first.b64 %rd8, 1.0
    cp.async.bulk.prefetch.L2.global [%rd1], 256
    cp.async.bulk.prefetch.L2.global.L2::cache_hint [%rd1], 256, %rd8
    cp.async.bulk.shared::cluster.global.{TX}.L2::cache_hint [tile], [%rd1], 256, [bar], %rd8
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256
    {WAIT}
    ld.shared.u32 %r10, [%r4]
    add.u64 %rd4, %rd2, %rd3
    st.global.u32 [%rd4], %r10
    """,
        list(range(64)),
        block=64,
    )


def test_multicast_to_a_cluster():
    # CTA 1 loads for CTAs 0, 1 and 3; 2 loads for itself.
    check(
        f"""
    {CLUSTER}
    @!%p1 bra wait
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128
    setp.eq.u32 %p3, %r5, 1
    setp.eq.u32 %p4, %r5, 2
    mov.u16 %h1, 11
    mov.u16 %h2, 4
    @%p3 cp.async.bulk.shared::cluster.global.{TX}.multicast::cluster [tile], [%rd1], 128, [bar], %h1
    @%p4 cp.async.bulk.shared::cluster.global.{TX}.multicast::cluster [tile], [%rd1+128], 128, [bar], %h2
    {WAIT}
    ld.shared.u32 %r10, [%r4]
    shl.b32 %r11, %r9, 5
    mul.wide.u32 %rd5, %r11, 4
    add.u64 %rd4, %rd2, %rd3
    add.u64 %rd4, %rd4, %rd5
    st.global.u32 [%rd4], %r10
    {CLUSTER}
    """,
        [*range(32), *range(32), *range(32, 64), *range(32)],
        grid=4,
        cluster=(4, 1, 1),
    )


def test_bulk_copies_within_a_cluster():
    check(
        f"""
    mad.lo.u32 %r10, %r5, 100, %r1
    st.shared.u32 [%r4], %r10
    fence.proxy.async.shared::cta
    {CLUSTER}
    @!%p1 bra wait
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128
    xor.b32 %r11, %r5, 1
    mapa.shared::cluster.u32 %r12, %r6, %r11
    mov.u32 %r13, bar
    mapa.shared::cluster.u32 %r13, %r13, %r11
    cp.async.bulk.shared::cluster.shared::cta.{TX} [%r12], [tile], 128, [%r13]
    {WAIT}
    ld.shared.u32 %r10, [%r7]
    shl.b32 %r11, %r9, 5
    mul.wide.u32 %rd5, %r11, 4
    add.u64 %rd4, %rd2, %rd3
    add.u64 %rd4, %rd4, %rd5
    st.global.u32 [%rd4], %r10
    {CLUSTER}
    """,
        [*range(100, 132), *range(32)],
        grid=2,
        cluster=(2, 1, 1),
    )


def test_bulk_stores_in_groups():
    # The source of the first store is overwritten once it has been read.
    check(
        """
    st.shared.u32 [%r4], %r1
    fence.proxy.async
    bar.sync 0
    @!%p1 bra over
    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256
    cp.async.bulk.commit_group
    cp.async.bulk.wait_group.read 0
    over:
    bar.sync 0
    add.u32 %r10, %r1, 1000
    st.shared.u32 [%r4], %r10
    fence.proxy.async.shared::cta
    bar.sync 0
    @!%p1 bra done
    cp.async.bulk.global.shared::cta.bulk_group [%rd2+256], [tile], 256
    cp.async.bulk.commit_group
    cp.async.bulk.wait_group 0
    done:
    """,
        [*range(64), *range(1000, 1064)],
        block=64,
    )


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("operation", "type_", "function"),
    [
        ("add", np.uint32, lambda a, b: a + b),
        ("add", np.int32, lambda a, b: a + b),
        ("add", np.uint64, lambda a, b: a + b),
        ("add", np.float32, lambda a, b: a + b),
        ("add", np.float64, lambda a, b: a + b),
        ("add.noftz", np.float16, lambda a, b: a + b),
        ("min", np.int32, np.minimum),
        ("min", np.uint64, np.minimum),
        ("max", np.int64, np.maximum),
        ("max", np.float16, np.maximum),
        ("and", np.uint32, lambda a, b: a & b),
        ("or", np.uint64, lambda a, b: a | b),
        ("xor", np.uint32, lambda a, b: a ^ b),
        ("inc", np.uint32, lambda a, b: np.where(a >= b, 0, a + 1)),
        ("dec", np.uint32, lambda a, b: np.where((a == 0) | (a > b), b, a - 1)),
    ],
)
def test_bulk_reductions_to_global_memory(operation: str, type_: type, function):
    generator = np.random.default_rng(5)
    dtype = np.dtype(type_)
    n = 256 // dtype.itemsize
    before = generator.integers(0, 100, n).astype(dtype)
    x = generator.integers(0, 100, n).astype(dtype)
    letter = (
        "b" if operation in {"and", "or", "xor"} else {"u": "u", "i": "s", "f": "f"}[dtype.kind]
    )
    check(
        f"""
    add.u64 %rd4, %rd1, %rd3
    ld.global.u32 %r10, [%rd4]
    st.shared.u32 [%r4], %r10
    fence.proxy.async.shared::cta
    bar.sync 0
    @!%p1 bra done
    cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}.{letter}{dtype.itemsize * 8} [%rd2], [tile], 256
    cp.async.bulk.commit_group
    cp.async.bulk.wait_group 0
    done:
    """,
        function(before, x).astype(dtype),
        x=x,
        y=before,
        block=64,
    )


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("add.u32", lambda own, other: own + other),
        ("max.s32", np.maximum),
        ("xor.b32", lambda own, other: own ^ other),
        ("inc.u32", lambda own, other: np.where(own >= other, 0, own + 1)),
    ],
)
def test_bulk_reductions_within_a_cluster(operation: str, expected):
    own = np.arange(64) * 7 % 50
    other = own.reshape(2, 32)[::-1].reshape(-1)
    check(
        f"""
    shl.b32 %r11, %r9, 5
    add.u32 %r10, %r11, %r1
    mul.lo.u32 %r10, %r10, 7
    rem.u32 %r10, %r10, 50
    st.shared.u32 [%r4], %r10
    st.shared.u32 [%r7], %r10
    fence.proxy.async
    {CLUSTER}
    @!%p1 bra wait
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128
    xor.b32 %r12, %r5, 1
    mapa.shared::cluster.u32 %r13, %r6, %r12
    mov.u32 %r14, bar
    mapa.shared::cluster.u32 %r14, %r14, %r12
    cp.reduce.async.bulk.shared::cluster.shared::cta.{TX}.{operation} [%r13], [tile], 128, [%r14]
    {WAIT}
    ld.shared.u32 %r10, [%r7]
    mul.wide.u32 %rd5, %r11, 4
    add.u64 %rd4, %rd2, %rd3
    add.u64 %rd4, %rd4, %rd5
    st.global.u32 [%rd4], %r10
    {CLUSTER}
    """,
        expected(own, other).astype(np.uint32),
        grid=2,
        cluster=(2, 1, 1),
    )


@pytest.mark.parametrize(
    ("vector", "type_", "registers", "bytes_"),
    [
        ("", "u32", "%r1", 4),
        (".v2", "b32", "{%r1, %r20}", 8),
        (".v4", "s32", "{%r1, %r20, %r1, %r20}", 16),
        ("", "b64", "%rd3", 8),
        (".v2", "u64", "{%rd3, %rd10}", 16),
    ],
)
def test_asynchronous_stores(vector: str, type_: str, registers: str, bytes_: int):
    # Each CTA fills the other's tile and counts the bytes there.
    lanes = np.arange(32, dtype=np.uint32)
    words = {
        "%r1": [lanes], "%r20": [lanes + 50], "%rd3": [lanes * 4, 0 * lanes], "%rd10": [lanes + 9, 0 * lanes],
    }  # fmt: skip
    columns = [w for name in registers.strip("{}").split(", ") for w in words[name]]
    tile = np.stack(columns, 1).reshape(-1)
    size = 32 * bytes_
    stores = "\n".join(
        f"ld.shared.u32 %r10, [%r4+{128 * k}]\nst.global.u32 [%rd4+{128 * k}], %r10"
        for k in range(bytes_ // 4)
    )
    check(
        f"""
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size}
    {CLUSTER}
    add.u32 %r20, %r1, 50
    cvt.u64.u32 %rd10, %r1
    add.u64 %rd10, %rd10, 9
    xor.b32 %r11, %r5, 1
    mad.lo.u32 %r12, %r1, {bytes_}, %r3
    mapa.shared::cluster.u32 %r12, %r12, %r11
    mov.u32 %r13, bar
    mapa.shared::cluster.u32 %r13, %r13, %r11
    st.async.weak.shared::cluster.{TX}{vector}.{type_} [%r12], {registers}, [%r13]
    {WAIT}
    mul.wide.u32 %rd5, %r9, {size}
    add.u64 %rd4, %rd2, %rd3
    add.u64 %rd4, %rd4, %rd5
    {stores}
    {CLUSTER}
    """,
        np.concatenate([tile, tile]).astype(np.uint32),
        grid=2,
        cluster=(2, 1, 1),
    )


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("add.u32", 1000 + 31 * 16),
        ("min.s32", 0),
        ("max.u32", 1000),
        ("or.b32", 1000 | 31),
        ("xor.b32", 1000),
        ("and.b32", 0),
    ],
)
def test_asynchronous_reductions(operation: str, expected: int):
    # All lanes of CTA 1 change one word of CTA 0; in which order is not defined.
    check(
        f"""
    @%p1 st.shared.u32 [tile], 1000
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128
    {CLUSTER}
    setp.eq.u32 %p3, %r5, 0
    @%p3 bra wait
    mapa.shared::cluster.u32 %r12, %r3, 0
    mov.u32 %r13, bar
    mapa.shared::cluster.u32 %r13, %r13, 0
    red.async.relaxed.cluster.shared::cluster.{TX}.{operation} [%r12], %r1, [%r13]
    bra done
    {WAIT}
    ld.shared.u32 %r10, [tile]
    @%p1 st.global.u32 [%rd2], %r10
    done:
    {CLUSTER}
    """,
        np.array([expected], np.uint32),
        grid=2,
        cluster=(2, 1, 1),
    )


@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize(
    "operation",
    [
        f"st.async.shared::cluster.{TX}.u32",
        f"red.async.relaxed.cluster.shared::cluster.{TX}.add.u32",
    ],
)
def test_asynchronous_stores_need_a_launch_in_clusters(operation: str, sanitize: bool):
    text = (
        HEAD
        + f"""
    @%p1 st.shared.u32 [tile], 0
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4
    {CLUSTER}
    mov.u32 %r11, %cluster_nctarank
    add.u32 %r12, %r5, 1
    rem.u32 %r12, %r12, %r11
    mapa.shared::cluster.u32 %r13, %r3, %r12
    mov.u32 %r14, bar
    mapa.shared::cluster.u32 %r14, %r14, %r12
    @%p1 {operation} [%r13], 7, [%r14]
    {WAIT}
    {CLUSTER}
    """
    )
    found = [
        run(text, [device(0)], [device(0)], grid=size, cluster=(size, 1, 1), sanitize=sanitize)
        for size in (1, 2)
    ]
    assert [f.kind for f in found[0].findings] == ["bad-copy"]
    assert "the instruction needs a launch in clusters of more than one CTA" in found[0].message
    assert found[1].message == ""


@pytest.mark.parametrize(("cache", "size"), [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)])
def test_copies_of_lanes_in_groups(cache: str, size: int):
    words = size // 4
    loads = "\n".join(
        f"ld.shared.u32 %r10, [%r4+{128 * k}]\nst.global.u32 [%rd4+{128 * k}], %r10"
        for k in range(2 * words)
    )
    check(
        f"""
    mul.lo.u32 %r10, %r1, {size}
    add.u32 %r11, %r3, %r10
    mul.wide.u32 %rd4, %r1, {size}
    add.u64 %rd4, %rd1, %rd4
    cp.async.{cache}.shared.global [%r11], [%rd4], {size}
    cp.async.commit_group
    cp.async.{cache}.shared.global.L2::128B [%r11+{32 * size}], [%rd4+2048], {size}
    cp.async.commit_group
    cp.async.wait_group 1
    cp.async.wait_group 0
    bar.sync 0
    add.u64 %rd4, %rd2, %rd3
    {loads}
    """,
        [*range(32 * words), *range(512, 512 + 32 * words)],
    )


def test_a_shorter_source_is_filled_with_zeros():
    check(
        """
    shl.b32 %r10, %r1, 4
    add.u32 %r11, %r3, %r10
    mul.wide.u32 %rd4, %r1, 16
    add.u64 %rd4, %rd1, %rd4
    and.b32 %r12, %r1, 3
    shl.b32 %r12, %r12, 2
    setp.eq.u32 %p3, %r12, 0
    cp.async.ca.shared.global [%r11], [%rd4], 16, %r12
    cp.async.cg.shared.global [%r11+512], [%rd4], 16, %p3
    cp.async.wait_all
    ld.shared.v4.u32 {%r13, %r14, %r15, %r16}, [%r11]
    mul.wide.u32 %rd5, %r1, 16
    add.u64 %rd5, %rd2, %rd5
    st.global.v4.u32 [%rd5], {%r13, %r14, %r15, %r16}
    ld.shared.v4.u32 {%r13, %r14, %r15, %r16}, [%r11+512]
    st.global.v4.u32 [%rd5+512], {%r13, %r14, %r15, %r16}
    """,
        [
            *(4 * t + k if k < t % 4 else 0 for t in range(32) for k in range(4)),
            *(4 * t + k if t % 4 else 0 for t in range(32) for k in range(4)),
        ],
    )


@pytest.mark.parametrize("increments", [True, False])
def test_copies_that_arrive_at_an_mbarrier(increments: bool):
    # The barrier expects one thread, or every thread's copies.
    start = f"@%p1 mbarrier.init.shared.b64 [bar+16], {1 if increments else 64}\nbar.sync 0"
    arrive = "cp.async.mbarrier.arrive" + ("" if increments else ".noinc")
    late = "bar.sync 0\n@%p1 mbarrier.arrive.shared.b64 _, [bar+16]" if increments else ""
    check(
        f"""
    {start}
    add.u64 %rd4, %rd1, %rd3
    cp.async.ca.shared.global [%r4], [%rd4], 4
    cp.async.ca.shared.global [%r7], [%rd4+256], 4
    {arrive}.shared.b64 [bar+16]
    {late}
    {WAIT.replace("[bar]", "[bar+16]")}
    xor.b32 %r10, %r2, 128
    add.u32 %r11, %r3, %r10
    add.u32 %r12, %r6, %r10
    ld.shared.u32 %r13, [%r11]
    ld.shared.u32 %r14, [%r12]
    add.u64 %rd5, %rd2, %rd3
    st.global.u32 [%rd5], %r13
    st.global.u32 [%rd5+256], %r14
    """,
        [*(t ^ 32 for t in range(64)), *((t ^ 32) + 64 for t in range(64))],
        block=64,
    )


def test_what_has_no_effect_on_values():
    check(
        """
    elect.sync _|%p3, -1
    setmaxnreg.inc.sync.aligned.u32 128
    setmaxnreg.dec.sync.aligned.u32 40
    prefetch.global.L2 [%rd1]
    griddepcontrol.wait
    griddepcontrol.launch_dependents
    add.u64 %rd4, %rd2, %rd3
    selp.u32 %r10, 1, 0, %p3
    st.global.u32 [%rd4], %r10
    """,
        [1] + [0] * 31,
    )


MISSING_FENCE = """
st.shared.u32 [%r4], %r1
bar.sync 0
@!%p1 bra done
cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 128
cp.async.bulk.commit_group
cp.async.bulk.wait_group 0
done:
"""


def message(body: str, **options: object) -> str:
    x = device(np.arange(64, dtype=np.uint32))
    y = device(np.zeros(64, np.uint32))
    report = run(HEAD + body, [x], [y], sanitize=True, initialised=True, **options)
    return report.message.replace(FILE, "kernel")


def line(text: str, body: str) -> int:
    return next(i for i, row in enumerate((HEAD + body).splitlines(), 1) if row.startswith(text))


def test_the_whole_message_of_a_missing_proxy_fence():
    copy, store = line("cp.async.bulk.global", MISSING_FENCE), line("st.shared", MISSING_FENCE)
    assert message(MISSING_FENCE) == (
        "kernel kernel: 1 finding\n"
        f"kernel:{copy}: an asynchronous copy may miss what was stored: loads 128 bytes of shared memory: "
        "no fence.proxy.async lies between the store and the copy\n"
        "  instruction: 20: cp.async.bulk.global.shared::cta.bulk_group [%r1], [tile], 128\n"
        "  thread: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0\n"
        "  address: 0x420, byte 0 of tile (4096 bytes)\n"
        f"  other: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0, stores at kernel:{store}, instruction 17: "
        "st.shared.u32 [%r7], %r2\n"
        "  count: 32; this is the first"
    )


def test_the_whole_message_of_bytes_that_never_arrive():
    body = f"@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512\n{WAIT}"
    wait = line("mbarrier.try_wait", body)
    assert message(body) == (
        "kernel kernel: 1 finding; the launch was stopped\n"
        f"kernel:{wait}: deadlock: no warp of the CTA's cluster can run\n"
        "  instruction: 18: mbarrier.try_wait.parity.shared::cta.b64 %p12, [bar], 0\n"
        "  thread: CTA (0, 0, 0), warp 0\n"
        "who waits for what:\n"
        f"  CTA (0, 0, 0), warp 0, lanes 0xffffffff, at kernel:{wait}, instruction 18: "
        "mbarrier.try_wait.parity.shared::cta.b64 %p12, [bar], 0: waits for the end of phase 0 of the mbarrier at "
        "byte 0 of bar, which is in phase 0: 0 of 1 arrivals pending, 512 bytes outstanding"
    )


def test_the_policy_is_one_of_four():
    with pytest.raises(EmulationError) as caught:
        message("", completion="never")
    assert str(caught.value) == (
        "completion is 'never' and must be one of 'eager', 'late', 'reversed', 'random'"
    )


def test_late_data_is_poison_until_it_comes():
    # What nobody has waited for is not there yet, or, eagerly, already is.
    body = f"""
    @!%p1 bra loaded
    cp.async.bulk.shared::cluster.global.{TX} [tile], [%rd1], 128, [bar]
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128
    loaded:
    bar.sync 0
    ld.shared.u32 %r10, [%r4]
    add.u64 %rd4, %rd2, %rd3
    st.global.u32 [%rd4], %r10
    {WAIT}
    """
    x = device(np.arange(32, dtype=np.uint32))
    seen = {}
    for completion in ("eager", "late"):
        y = device(np.zeros(32, np.uint32))
        run(HEAD + body, [x], [y], sanitize=True, initialised=True, completion=completion)
        seen[completion] = y.tolist()
    assert seen == {"eager": list(range(32)), "late": [0xFFFFFFFF] * 32}


def test_a_copy_that_spins_are_waiting_for_comes_late_too():
    # Two parts of a warp spin on values that a bulk load brings, with nothing to see but memory.
    check(
        f"""
    @!%p1 bra loaded
    st.shared.v2.u32 [tile], {{0, 0}}
    fence.proxy.async
    cp.async.bulk.shared::cluster.global.{TX} [tile], [%rd1+16], 16, [bar]
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16
    loaded:
    setp.lt.u32 %p4, %r1, 16
    @%p4 bra first
    spin:
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0
    @!%p2 bra spin
    bra over
    first:
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0
    @!%p2 bra first
    over:
    ld.shared.u32 %r10, [tile]
    add.u64 %rd4, %rd2, %rd3
    st.global.u32 [%rd4], %r10
    """,
        [4] * 32,
    )


def test_sectors_of_copies_are_counted():
    # 256 bytes from the middle of a sector on, and 4 bytes of every second lane's sector.
    body = f"""
    @!%p1 bra filled
    cp.async.bulk.shared::cluster.global.{TX} [tile], [%rd1+16], 256, [bar]
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256
    filled:
    mul.wide.u32 %rd4, %r1, 16
    add.u64 %rd4, %rd1, %rd4
    cp.async.ca.shared.global [%r7], [%rd4], 4
    cp.async.wait_all
    {WAIT}
    @!%p1 bra done
    fence.proxy.async
    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 128
    cp.async.bulk.commit_group
    cp.async.bulk.wait_group 0
    done:
    """
    x, y = device(np.arange(256, dtype=np.uint32)), device(np.zeros(32, np.uint32))
    report = run(HEAD + body, [x], [y], sanitize=True, initialised=True, statistics=True)
    report.check()
    counted = [(s.requests, s.sectors, s.ideal_sectors) for s in report.statistics if s.sectors]
    assert counted == [(1, 9, 8), (1, 16, 4), (1, 4, 4)]


def test_what_a_launch_leaves_is_no_access_of_the_next():
    """Times of asynchronous stores are kept in memory that a later launch may have for something else."""
    fill = [
        "ld.global.u32 %r1, [%rd1]",
        *(f"st.shared.u32 [%r4+{128 * i}], %r1" for i in range(32)),
    ]
    stores = (
        HEAD
        + "\n".join(fill)
        + (
            f"\nfence.proxy.async.shared::cta\nbar.sync 0\n@!%p1 bra done\n{STORE} [%rd2], [tile], 4096\n"
            f"{STORE} [%rd2+4096], [tile], 1904\ncp.async.bulk.commit_group\ncp.async.bulk.wait_group 0\ndone:"
        )
    )
    plain = (
        HEAD
        + "add.u64 %rd3, %rd3, %rd2\n"
        + "\n".join(
            f"st.global.u32 [%rd3+{128 * i}], %r1\nld.global.u32 %r10, [%rd3+{128 * i}]"
            for i in range(23)
        )
    )
    x = [device(np.arange(1024, dtype=np.uint32))]
    for _ in range(3):
        # As many cells as half of the other's: what one keeps in 4 bytes a cell, the other keeps in 8.
        run(
            stores, x, [device(np.zeros(6008 // 4, np.uint32))], sanitize=True, initialised=True
        ).check()
        run(
            plain, x, [device(np.zeros(3000 // 4, np.uint32))], sanitize=True, initialised=True
        ).check()
