"""Every order of warps and any number of host threads give the same bits, and loops end."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx import _emulator as emulator
from pyptx._emulator import Tensor
from pyptx.types import u32

from .harness import device, encode, kinds, output, run

# A block reduction over shuffles, shared memory and two barriers, with diverged lanes in between.
REDUCTION = """
.param u64 X
.param u64 Y
.shared partial 128 16
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %tid.x
mov.u32 %r2, %ctaid.x
mad.lo.u32 %r3, %r2, 256, %r1
mul.wide.u32 %rd3, %r3, 4
add.u64 %rd4, %rd1, %rd3
add.u64 %rd5, %rd2, %rd3
ld.global.f32 %f1, [%rd4]
and.b32 %r4, %r1, 3
mov.u32 %r5, 0
grow:
setp.ge.u32 %p1, %r5, %r4
@%p1 bra grown
add.f32 %f1, %f1, %f1
add.u32 %r5, %r5, 1
bra grow
grown:
mov.f32 %f2, %f1
"""


def reduction() -> str:
    lines = REDUCTION.splitlines()
    for distance in (16, 8, 4, 2, 1):
        lines += [
            "mov.b32 %r6, %f2",
            f"shfl.sync.bfly.b32 %r7, %r6, {distance}, 31, -1",
            "mov.b32 %f3, %r7",
            "add.rn.f32 %f2, %f2, %f3",
        ]
    lines += [
        "and.b32 %r8, %r1, 31",
        "shr.u32 %r9, %r1, 5",
        "shl.b32 %r9, %r9, 2",
        "mov.u32 %r10, partial",
        "add.u32 %r9, %r9, %r10",
        "setp.eq.u32 %p2, %r8, 0",
        "@%p2 st.shared.f32 [%r9], %f2",
        "bar.sync 0",
        "mov.f32 %f4, 0.0",
    ]
    for warp in range(8):
        lines += [f"ld.shared.f32 %f5, [partial+{4 * warp}]", "add.rn.f32 %f4, %f4, %f5"]
    return "\n".join([*lines, "st.global.f32 [%rd5], %f4"])


def expected(x: np.ndarray) -> np.ndarray:
    values = x.reshape(-1, 8, 32) * np.float32(2) ** (np.arange(32) & 3).astype(np.float32)
    for distance in (16, 8, 4, 2, 1):
        values = values + values[..., np.arange(32) ^ distance]
    total = np.zeros(len(values), np.float32)
    for warp in range(8):
        total = total + values[:, warp, 0]
    return np.repeat(total, 256)


CTAS = 40
X = np.random.default_rng(0).standard_normal(CTAS * 256).astype(np.float32)


@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("seed", [None, 0, 1, 12345])
def test_all_schedules_give_the_same_bits(seed, threads: int, sanitize: bool):
    y = output(CTAS * 256, np.float32)
    options = {"seed": seed, "threads": threads, "sanitize": sanitize, "statistics": True}
    run(reduction(), [device(X)], [y], grid=CTAS, block=256, **options).check()
    assert np.array_equal(y, expected(X))


def test_many_launches_of_one_program_may_run_at_once():
    image = encode(reduction())
    outputs = [output(CTAS * 256, np.float32) for _ in range(8)]
    x = device(X)
    reports: list[emulator.Report] = []

    def launch(y: np.ndarray) -> None:
        arguments = [Tensor(x, "X"), Tensor(y, "Y", writable=True)]
        reports.append(
            emulator.run(image, arguments, grid=(CTAS, 1, 1), block=(256, 1, 1), threads=2)
        )

    workers = [threading.Thread(target=launch, args=(y,)) for y in outputs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [report.status for report in reports] == ["ok"] * 8
    assert all(np.array_equal(y, expected(X)) for y in outputs)


COLLATZ = """
.param u64 Y
ld.param.u64 %rd1, [Y]
mov.u32 %r1, %tid.x
mov.u32 %r2, %ctaid.x
mad.lo.u32 %r3, %r2, 128, %r1
mul.wide.u32 %rd2, %r3, 4
add.u64 %rd2, %rd1, %rd2
add.u32 %r4, %r3, 1
mov.u32 %r5, 0
next:
setp.eq.u32 %p1, %r4, 1
@%p1 bra done
add.u32 %r5, %r5, 1
and.b32 %r6, %r4, 1
setp.eq.u32 %p2, %r6, 0
@%p2 bra even
mad.lo.u32 %r4, %r4, 3, 1
bra next
even:
shr.u32 %r4, %r4, 1
bra next
done:
activemask.b32 %r7
st.global.u32 [%rd2], %r5
st.global.u32 [%rd2+4096], %r7
"""


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps


@pytest.mark.parametrize("seed", [None, 3])
def test_diverged_loops_end_and_lanes_converge(seed):
    y = output(2048, np.uint32)
    run(COLLATZ, [], [y], grid=8, block=128, sanitize=True, seed=seed).check()
    assert y[:1024].tolist() == [collatz(n) for n in range(1, 1025)]
    if seed is None:
        assert set(y[1024:].tolist()) == {0xFFFFFFFF}


def test_the_limit_is_on_instructions_of_a_warp():
    text = """
    mov.u32 %r1, 0
    loop:
    add.u32 %r1, %r1, 1
    setp.lt.u32 %p1, %r1, 1000
    @%p1 bra loop
    """
    assert run(text, grid=100, block=64, max_instructions=3002).status == "ok"
    report = run(text, grid=1, block=32, max_instructions=2000)
    assert kinds(report) == ["runaway"]
    assert report.findings[0].note == "the warp has run 2001 instructions"
    assert [w.waits for w in report.waits] == ["nothing; it could run"]


@pytest.mark.parametrize("ctas", [3, 24])
def test_waiting_for_a_cta_that_takes_long_is_no_deadlock(ctas):
    """All CTAs but one poll a flag; host threads with nothing to do must not take it for good."""

    @kernel(
        in_specs=(Tile(1, u32),),
        out_specs=(Tile(1, u32), Tile(ctas, u32)),
        grid=(ctas, 1, 1),
        block=(32, 1, 1),
        cooperative=True,
        input_output_aliases={0: 0},
    )
    def late(FLAG, RAISED, DONE):
        del FLAG
        flag, done = ptx.global_ptrs(RAISED, DONE)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        seen = reg.scalar(u32, init=0)
        with ptx.if_(cta == ctas - 1):
            with ptx.while_(lambda: seen < 200000):
                seen += 1
            ptx.inst.st.relaxed.gpu.global_.u32(ptx.addr(flag), seen)
        with ptx.else_(), ptx.loop("wait"):
            ptx.inst.ld.relaxed.gpu.global_.u32(seen, ptx.addr(flag))
            ptx.break_(pred=seen != 0)
        first = reg.from_(ptx.special.tid.x(), u32) == 0
        ptx.inst.st.global_.u32(ptx.addr(done + cta * 4), seen, pred=first)

    for _ in range(40):
        result = late.emulate(np.zeros(1, np.uint32), threads=2)
        assert not result.report.findings
        np.testing.assert_array_equal(result.outputs[1], 200000)
