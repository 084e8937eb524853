"""The whole messages of findings about scopes, lanes, phases and the start of CTAs."""

# ruff: noqa: E501  # a line of a message is a line

from __future__ import annotations

import re

import pytest

from .harness import FILE
from .test_findings import CASES, launch

MESSAGES = {
    "a release of the CTA's scope for another CTA": """\
kernel kernel: 1 finding
FILE:23: race because a scope is too narrow: loads 4 bytes of global memory: the other's scope .cta is too narrow for two threads of which one is in another CTA; .gpu is enough
  instruction: 16: ld.acquire.gpu.global.u32 %r12, [%r1+4]
  thread: CTA (1, 0, 0), thread (0, 0, 0), warp 0 lane 0
  address: HOST, Y[1]
  other: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0, stores at FILE:19, instruction 14: st.release.cta.global.u32 [%r1+4], 1""",
    "an acquiring fence of the CTA's scope": """\
kernel kernel: 1 finding
FILE:27: race because a scope is too narrow: loads 4 bytes of global memory: the scope .cta of fence.acq_rel.cta at FILE:26 is too narrow to order the two; .gpu is enough
  instruction: 20: ld.global.u32 %r14, [%r1]
  thread: CTA (1, 0, 0), thread (0, 0, 0), warp 0 lane 0
  address: HOST, Y[0]
  other: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0, stores at FILE:18, instruction 13: st.global.u32 [%r1], 42""",
    "an arrival of the CTA's scope in another CTA": """\
kernel kernel: 1 finding
FILE:36: race because a scope is too narrow: loads 4 bytes of shared memory: the scope .cta of @%p11 mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r15] at FILE:31 is too narrow to order the two; .cluster is enough
  instruction: 29: ld.shared.u32 %r18, [tile]
  thread: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0
  address: 0x400, byte 0 of tile (1024 bytes)
  other: CTA (1, 0, 0), thread (0, 0, 0), warp 0 lane 0, stores at FILE:30, instruction 24: @%p11 st.shared::cluster.u32 [%r16], 5
  count: 2; this is the first""",
    "a lane that arrives for its warp": """\
kernel kernel: 1 finding
FILE:31: race in shared memory: loads 4 bytes of shared memory: no barrier orders the two
  instruction: 23: ld.shared.u32 %r15, [%r10-128]
  thread: CTA (0, 0, 0), thread (33, 0, 0), warp 1 lane 1
  address: 0x404, byte 4 of tile (1024 bytes)
  other: CTA (0, 0, 0), thread (1, 0, 0), warp 0 lane 1, stores at FILE:23, instruction 17: st.shared.u32 [%r10], %r2
  count: 31; this is the first""",
    "a wait that nothing orders before the next phase": """\
kernel kernel: 1 finding
FILE:27: mbarrier has run ahead of who waits for it: nothing orders this wait for the end of phase 0 before the end of phase 1, after which the parity is that of phase 2
  instruction: 19: mbarrier.try_wait.parity.shared::cta.b64 %p14, [bar], 0
  thread: CTA (0, 0, 0), thread (32, 0, 0), warp 1 lane 0
  address: 0x800, byte 0 of bar (32 bytes)
  other: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0, stores at FILE:31, instruction 22: @%p11 mbarrier.arrive.shared::cta.b64 _, [bar]""",
    "a store to a CTA that may not have started": """\
kernel kernel: 1 finding
FILE:22: memory of a CTA that may not have started: nothing orders it after the start of the CTA whose memory this is: barrier.cluster.arrive and barrier.cluster.wait do
  instruction: 17: @%p13 st.shared::cluster.u32 [%r12], 5
  thread: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0
  address: 0x1000400, byte 0 of tile (1024 bytes)
  count: 2; this is the first""",
    "a non-coherent load of what the CTA has stored": """\
kernel kernel: 1 finding
FILE:17: non-coherent load of what the kernel stores: loads 4 bytes of global memory: ld.global.nc may give the value from before the kernel's store; ld.global gives the stored one
  instruction: 12: ld.global.nc.u32 %r11, [%r8]
  thread: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0
  address: HOST, Y[0]
  other: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0, stores at FILE:16, instruction 11: st.global.u32 [%r8], %r2
  count: 64; this is the first""",
    "more registers than there are": """\
kernel kernel: 1 finding
FILE:18: more registers than a multiprocessor has: the warps of the CTA ask for 66560 registers together; a multiprocessor has 65536
  instruction: 13: setmaxnreg.inc.sync.aligned.u32 240
  thread: CTA (0, 0, 0), thread (128, 0, 0), warp 4 lane 0""",
    "two warps that store to one place of global memory": """\
kernel kernel: 1 finding
FILE:22: race in global memory: stores 4 bytes of global memory: nothing orders the two warps of the CTA here
  instruction: 17: @!%p13 st.global.u32 [%r12], %r2
  thread: CTA (0, 0, 0), thread (32, 0, 0), warp 1 lane 0
  address: HOST, Y[0]
  other: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0, stores at FILE:20, instruction 15: @%p13 st.global.u32 [%r12], %r2
  count: 32; this is the first""",
    "a weak load after the last of several atomics": """\
kernel kernel: 1 finding
FILE:19: race in global memory: loads 4 bytes of global memory: nothing orders the two warps of the CTA here
  instruction: 14: @%p11 ld.global.u32 %r12, [%r1]
  thread: CTA (0, 0, 0), thread (32, 0, 0), warp 1 lane 0
  address: HOST, Y[0]
  other: CTA (0, 0, 0), warp 0, stores at FILE:16, instruction 11: red.global.add.u32 [%r1], 1""",
    "a shuffle from a lane that has acquired nothing": """\
kernel kernel: 1 finding
FILE:36: race in shared memory: loads 4 bytes of shared memory: no barrier orders the two
  instruction: 27: ld.shared.u32 %r17, [%r10]
  thread: CTA (0, 0, 0), thread (1, 0, 0), warp 0 lane 1
  address: 0x404, byte 4 of tile (1024 bytes)
  other: CTA (0, 0, 0), thread (33, 0, 0), warp 1 lane 1, stores at FILE:24, instruction 18: st.shared.u32 [%r10-128], %r2
  count: 31; this is the first""",
    "one place that lanes load and store without having been together": """\
kernel kernel: 1 finding
FILE:22: race in shared memory: stores 4 bytes of shared memory: no bar.warp.sync or barrier orders these lanes of one warp
  instruction: 17: st.shared.u32 [tile], %r13
  thread: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0
  address: 0x400, byte 0 of tile (1024 bytes)
  other: CTA (0, 0, 0), warp 0, loads at FILE:19, instruction 14: ld.shared.u32 %r12, [tile]""",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_the_message(name: str):
    message = launch(CASES[name], CASES[name].bug, sanitize=True).message.replace(FILE, "FILE")
    assert re.sub(r"address: 0x[0-9a-f]+(?=, Y\[)", "address: HOST", message) == MESSAGES[name]
