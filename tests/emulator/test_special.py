"""The special registers: each has its documented value in each thread."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import _emulator as emulator
from pyptx._emulator.core import Program
from pyptx._ir import Instruction, Kernel
from pyptx._isa.model import Form
from pyptx._isa.special import SPECIAL
from pyptx._operands import Register
from pyptx._target import Target
from pyptx.errors import EmulationError

from .harness import output, run

GRID, BLOCK, CLUSTER = (4, 6, 2), (5, 3, 4), (2, 3, 1)
THREADS = 60
CTAS = 48

# The value in the thread with index t = (x, y, z) of CTA c, and lane l of warp w.
VALUES = {
    "tid.x": lambda t, c, lane: t[0],
    "tid.y": lambda t, c, lane: t[1],
    "tid.z": lambda t, c, lane: t[2],
    "tid.w": lambda t, c, lane: 0,
    "ntid.x": lambda t, c, lane: BLOCK[0],
    "ntid.y": lambda t, c, lane: BLOCK[1],
    "ntid.z": lambda t, c, lane: BLOCK[2],
    "laneid": lambda t, c, lane: lane,
    "warpid": lambda t, c, lane: (t[0] + 5 * (t[1] + 3 * t[2])) // 32,
    "ctaid.x": lambda t, c, lane: c[0],
    "ctaid.y": lambda t, c, lane: c[1],
    "ctaid.z": lambda t, c, lane: c[2],
    "nctaid.x": lambda t, c, lane: GRID[0],
    "nctaid.y": lambda t, c, lane: GRID[1],
    "nctaid.z": lambda t, c, lane: GRID[2],
    "clusterid.x": lambda t, c, lane: c[0] // 2,
    "clusterid.y": lambda t, c, lane: c[1] // 3,
    "clusterid.z": lambda t, c, lane: c[2],
    "nclusterid.x": lambda t, c, lane: 2,
    "nclusterid.y": lambda t, c, lane: 2,
    "nclusterid.z": lambda t, c, lane: 2,
    "cluster_ctaid.x": lambda t, c, lane: c[0] % 2,
    "cluster_ctaid.y": lambda t, c, lane: c[1] % 3,
    "cluster_ctaid.z": lambda t, c, lane: 0,
    "cluster_nctaid.x": lambda t, c, lane: 2,
    "cluster_nctaid.y": lambda t, c, lane: 3,
    "cluster_nctaid.z": lambda t, c, lane: 1,
    "cluster_ctarank": lambda t, c, lane: c[0] % 2 + 2 * (c[1] % 3),
    "cluster_nctarank": lambda t, c, lane: 6,
    "lanemask_eq": lambda t, c, lane: 1 << lane,
    "lanemask_lt": lambda t, c, lane: (1 << lane) - 1,
    "lanemask_le": lambda t, c, lane: (2 << lane) - 1,
    "lanemask_gt": lambda t, c, lane: 0xFFFFFFFF & ~((2 << lane) - 1),
    "lanemask_ge": lambda t, c, lane: 0xFFFFFFFF & ~((1 << lane) - 1),
    "total_smem_size": lambda t, c, lane: 512,
    "aggr_smem_size": lambda t, c, lane: 512 + 1024,
    "dynamic_smem_size": lambda t, c, lane: 200,
    "reserved_smem_offset_begin": lambda t, c, lane: 0,
    "reserved_smem_offset_end": lambda t, c, lane: 1024,
    "envreg31": lambda t, c, lane: 0,
    "pm0": lambda t, c, lane: 0,
}


def read(name: str) -> np.ndarray:
    text = f"""
    .param u64 Y
    .shared tile 256 4
    ld.param.u64 %rd1, [Y]
    mov.u32 %r1, %ctaid.z
    mad.lo.u32 %r1, %r1, {GRID[1]}, %r2
    mad.lo.u32 %r1, %r1, {GRID[0]}, %r3
    mov.u32 %r4, %tid.z
    mad.lo.u32 %r4, %r4, {BLOCK[1]}, %r5
    mad.lo.u32 %r4, %r4, {BLOCK[0]}, %r6
    mad.lo.u32 %r1, %r1, {THREADS}, %r4
    mul.wide.u32 %rd2, %r1, 4
    add.u64 %rd2, %rd1, %rd2
    mov.u32 %r7, %{name}
    st.global.u32 [%rd2], %r7
    """
    first = (
        "mov.u32 %r2, %ctaid.y\nmov.u32 %r3, %ctaid.x\nmov.u32 %r5, %tid.y\nmov.u32 %r6, %tid.x\n"
    )
    y = output((CTAS, THREADS), np.uint32)
    text = text.replace("ld.param", first + "ld.param")
    run(
        text, [], [y], grid=GRID, block=BLOCK, cluster=CLUSTER, dynamic_shared=200, sanitize=True
    ).check()
    return y


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str):
    expected = np.zeros((CTAS, THREADS), np.uint32)
    for n in range(CTAS):
        cta = (n % 4, n // 4 % 6, n // 24)
        for k in range(THREADS):
            expected[n, k] = VALUES[name]((k % 5, k // 5 % 3, k // 15), cta, k % 32)
    assert np.array_equal(read(name), expected)


@pytest.mark.parametrize(("cluster", "expected"), [((1, 1, 1), 0), ((2, 1, 1), 1)])
def test_whether_the_launch_named_a_cluster(cluster: tuple[int, int, int], expected: int):
    text = """
    .param u64 Y
    ld.param.u64 %rd1, [Y]
    mov.pred %p1, %is_explicit_cluster
    selp.u32 %r1, 1, 0, %p1
    st.global.u32 [%rd1], %r1
    """
    y = output(1, np.uint32)
    run(text, [], [y], grid=2, block=1, cluster=cluster).check()
    assert y[0] == expected


def test_clocks_advance():
    text = """
    .param u64 Y
    ld.param.u64 %rd1, [Y]
    mov.u64 %rd2, %clock64
    mov.u64 %rd3, %clock64
    mov.u64 %rd4, %globaltimer
    mov.u32 %r1, %clock
    mov.u32 %r2, %globaltimer_lo
    st.global.v2.u64 [%rd1], {%rd2, %rd3}
    st.global.v2.u32 [%rd1+16], {%r1, %r2}
    """
    y = output(3, np.uint64)
    run(text, [], [y], block=1).check()
    assert y[0] < y[1]
    assert y[1] < int(y.view(np.uint32)[4]) < int(y.view(np.uint32)[5])


REFUSED = {
    "perctamemoryoffset": "no CTA has global memory to itself",
    "perctamemorysize": "no CTA has global memory to itself",
}
"""Special registers that the emulator does not have, with the reason."""


def reading(entries):
    """A kernel that reads each of the special registers once."""
    body, registers = [], []
    for entry in entries:
        register = Register(len(registers), entry.dtype)
        registers.append(register)
        form = Form(opcode="mov", slots=(), operands=())
        body.append(Instruction(form, (entry.dtype.name,), (register, entry.operand)))
    kernel = Kernel("specials", (), (), (), tuple(registers), tuple(body))
    return emulator.encode(kernel, Target.parse("sm_90a"))


def test_every_other_special_register_of_the_table_is_read():
    assert REFUSED.keys() < SPECIAL.keys()
    image = reading(entry for name, entry in SPECIAL.items() if name not in REFUSED)
    assert emulator.unsupported(image) == {}


@pytest.mark.parametrize("name", REFUSED)
def test_a_special_register_that_the_emulator_lacks_is_named(name):
    entry = SPECIAL[name]
    image = reading([SPECIAL["laneid"], entry])
    assert emulator.unsupported(image) == {1: f"mov.{entry.dtype}"}
    message = f"kernel specials: not emulated:\n  mov.{entry.dtype}  (instruction 1: "
    with pytest.raises(EmulationError) as raised:
        Program(image)
    assert str(raised.value).startswith(message)
    assert str(raised.value).endswith(f", %{name})")
