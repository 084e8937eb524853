"""Kernels that start before the one before them has ended: what precedes griddepcontrol.wait."""

from __future__ import annotations

import re

import numpy as np
import pytest

import pyptx
from pyptx import Tile, kernel, ptx, reg, sequence, smem
from pyptx.types import f32, u32

N = Tile(256, f32)
X = np.arange(256, dtype=np.float32)


def doubled(X, Y):
    i = ptx.special.ctaid.x() * 64 + ptx.special.tid.x()
    Y[i] = X[i] + X[i]


first = kernel(in_specs=(N,), out_specs=(N,), grid=4, block=64, arch="sm_90a")(doubled)


def wait():
    ptx.inst.griddepcontrol.wait()


def at_once(X, W, Y):
    i = ptx.special.ctaid.x() * 64 + ptx.special.tid.x()
    wait()
    Y[i] = X[i] + W[i]


def constants_first(X, W, Y):
    i = ptx.special.ctaid.x() * 64 + ptx.special.tid.x()
    w = W[i]
    wait()
    Y[i] = X[i] + w


def late(X, W, Y):
    i = ptx.special.ctaid.x() * 64 + ptx.special.tid.x()
    x = X[i]
    wait()
    Y[i] = x + W[i]


def by_one_thread(barrier):
    def waits(X, W, Y):
        i = ptx.special.ctaid.x() * 64 + ptx.special.tid.x()
        with ptx.if_(ptx.special.tid.x() == 40):
            wait()
        barrier()
        Y[i] = X[i] + W[i]

    return waits


def copied(early):
    def copies(X, W, Y):
        tile, full = smem.alloc(f32, 64, align=128), smem.mbarrier()
        tid = reg.from_(ptx.special.tid.x(), u32)
        cta = ptx.special.ctaid.x()
        full.init(1, pred=tid == 0)
        ptx.fence.mbarrier_init()
        ptx.bar.sync()
        with ptx.if_(tid == 0):
            if not early:
                wait()
            full.arrive_expect_tx(256)
            ptx.cp.async_.bulk.load(tile, X.address(cta * 64), 256, full)
            if early:
                wait()
        full.wait(0)
        Y[cta * 64 + tid] = tile[tid] + W[cta * 64 + tid]

    return copies


def made(body, *, early=True):
    second = kernel(
        in_specs=(N, N),
        out_specs=(N,),
        grid=4,
        block=64,
        arch="sm_90a",
        programmatic_stream_serialization=early,
    )(body)

    @sequence(in_specs=(N, N), out_specs=(N,))
    def both(x, w):
        return second(first(x), w)

    return both


SYNC, WARP = (lambda: ptx.bar.sync()), (lambda: ptx.inst.bar.warp.sync(0xFFFFFFFF))
CLEAN = {
    "at once": at_once,
    "constants first": constants_first,
    "by one thread": by_one_thread(SYNC),
    "copied": copied(early=False),
}
BUGS = {
    "late": late,
    "by one thread, without a barrier": by_one_thread(lambda: ptx.inst.nanosleep.u32(1)),
    "by one thread for its warp": by_one_thread(WARP),
    "copied": copied(early=True),
}


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("name", CLEAN)
def test_what_comes_after_the_wait_is_clean(name, seed, threads):
    done = made(CLEAN[name]).emulate(X, X, seed=seed, threads=threads)
    assert done.report.message == ""
    np.testing.assert_array_equal(done.outputs[0], 3 * X)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", BUGS)
def test_what_comes_before_the_wait_is_a_race(name, threads):
    found = made(BUGS[name]).emulate(X, X, threads=threads).report.findings
    assert [(f.kind, f.tensor) for f in found] == [("global-race", "Y")]  # first's


@pytest.mark.parametrize("name", BUGS)
def test_a_kernel_that_does_not_start_early_needs_no_wait(name):
    assert made(BUGS[name], early=False).emulate(X, X).report.message == ""


MESSAGE = """\
kernel late: 1 finding
FILE:LINE: race in global memory: loads 4 bytes of global memory: the kernel before this one stores to this tensor and may not have ended; griddepcontrol.wait waits for its end
    x = X[i]
  instruction: 12: ld.global.f32 %r8, [%r7]
  thread: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0
  address: HOST, Y[0]
  count: 256; this is the first
"""  # noqa: E501


@pytest.mark.parametrize("threads", [1, 4])
def test_the_message(threads):
    message = made(late).emulate(X, X, threads=threads).report.message
    line = late.__code__.co_firstlineno + 2
    expected = MESSAGE.replace("FILE:LINE", f"{__file__}:{line}").rstrip("\n")
    assert re.sub(r"address: 0x[0-9a-f]+", "address: HOST", message).rstrip("\n") == expected


def test_a_store_to_what_the_kernel_before_reads():
    def overwritten(early):
        def overwrites(X, Y):
            i = ptx.special.ctaid.x() * 64 + ptx.special.tid.x()
            if not early:
                wait()
            Y[i] = 1.0
            if early:
                wait()

        second = kernel(
            in_specs=(N,),
            out_specs=(N,),
            input_output_aliases={0: 0},
            grid=4,
            block=64,
            arch="sm_90a",
            programmatic_stream_serialization=True,
        )(overwrites)

        @sequence(in_specs=(N,), out_specs=(N, N))
        def both(x):
            y = first(x)
            return first(y), second(y)

        return both.emulate(X).report

    assert overwritten(early=False).message == ""
    (finding,) = overwritten(early=True).findings
    assert finding.kind == "global-race"
    assert finding.note == (
        "the kernel before this one loads from this tensor and may not have ended; "
        "griddepcontrol.wait waits for its end"
    )


def test_in_a_jax_program():
    jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
    with pyptx.sanitize():
        np.testing.assert_array_equal(jax.jit(made(at_once))(X, X), 3 * X)
    with pytest.raises(pyptx.EmulationError, match="may not have ended"), pyptx.sanitize():
        jax.block_until_ready(jax.jit(made(late))(X, X))
