"""The reports' words and numbers: whole messages, the table of counts, what Python gets."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import json

import numpy as np
import pytest

from pyptx import _emulator as emulator
from pyptx._emulator import Tensor
from pyptx.errors import EmulationError

from .harness import FILE, device, encode, output, run

RACE = """
.param u64 Y
.shared tile 512 16
mov.u32 %r1, %tid.x
shl.b32 %r2, %r1, 2
mov.u32 %r3, tile
add.u32 %r4, %r3, %r2
st.shared.u32 [%r4], %r1
xor.b32 %r5, %r2, 252
add.u32 %r6, %r3, %r5
ld.shared.u32 %r7, [%r6]
"""


def test_a_race_names_both_parties():
    report = run(RACE, [], [output(64, np.uint32)], block=64, sanitize=True)
    assert report.message == (
        "kernel kernel: 1 finding\n"
        f"{FILE}:8: race in shared memory: stores 4 bytes of shared memory: no barrier orders the two\n"
        "  instruction: 4: st.shared.u32 [%r3], %r0\n"
        "  thread: CTA (0, 0, 0), thread (32, 0, 0), warp 1 lane 0\n"
        "  address: 0x480, byte 128 of tile (512 bytes)\n"
        f"  other: CTA (0, 0, 0), thread (31, 0, 0), warp 0 lane 31, loads at {FILE}:11, "
        "instruction 7: ld.shared.u32 %r6, [%r5]\n"
        "  count: 64; this is the first"
    )
    (finding,) = report.findings
    assert (finding.kind, finding.count, finding.space) == ("shared-race", 64, "shared")
    assert (finding.address, finding.bytes, finding.tensor) == (0x480, 4, "tile")
    assert (finding.site.warp, finding.site.lane, finding.site.thread) == (1, 0, (32, 0, 0))
    assert finding.site.store
    assert finding.other is not None
    assert (finding.other.warp, finding.other.lane, finding.other.store) == (0, 31, False)
    assert finding.other.location is not None
    assert finding.other.location.line == 11
    assert str(finding) in report.message


OUT_OF_BOUNDS = """
.param u64 X
ld.param.u64 %rd1, [X]
mov.u32 %r1, %laneid
mul.wide.u32 %rd2, %r1, 8
add.u64 %rd3, %rd1, %rd2
ld.global.f32 %f1, [%rd3+OFFSET]
"""


def bounds(offset: int) -> str:
    x = device(np.zeros((4, 16), np.float32))
    report = run(OUT_OF_BOUNDS.replace("OFFSET", str(offset)), [x], block=(8, 4, 1))
    (finding,) = report.findings
    return report.message.replace(hex(finding.address or 0), "ADDRESS")


def test_an_access_past_the_end_says_by_how_much():
    assert bounds(16) == (
        "kernel kernel: 1 finding; the launch was stopped\n"
        f"{FILE}:7: out of bounds: loads 4 bytes of global memory\n"
        "  instruction: 4: ld.global.f32 %r4, [%r3+16]\n"
        "  thread: CTA (0, 0, 0), thread (6, 3, 0), warp 0 lane 30\n"
        "  address: ADDRESS, 0 bytes past the end of X (256 bytes)\n"
        "  count: 2; this is the first"
    )
    assert "address: ADDRESS, 8 bytes before X (256 bytes)" in bounds(-8)


def test_an_element_has_its_index():
    y = output((4, 16), np.uint32)
    text = """
    .param u64 Y
    ld.param.u64 %rd1, [Y]
    ld.global.u32 %r1, [%rd1+180]
    """
    report = run(text, [], [y], block=1, sanitize=True)
    (finding,) = report.findings
    assert (finding.tensor, finding.index) == ("Y", (2, 13))
    assert finding.where == f"{finding.address:#x}, Y[2, 13]"


def test_where_no_source_is_registered_findings_name_the_instruction():
    x = device(np.zeros(4, np.float32))
    image = encode(OUT_OF_BOUNDS.replace("OFFSET", "24"), "sm_100a")
    other = image.replace(b"kernel", b"elsewh")  # the same program under another name
    report = emulator.run(other, [Tensor(x)], grid=(1, 1, 1), block=(1, 1, 1))
    assert report.message.startswith(
        "kernel elsewh: 1 finding; the launch was stopped\n"
        "out of bounds: loads 4 bytes of global memory\n"
        "  instruction: 4: ld.global.f32 %r4, [%r3+24]\n"
    )
    assert "past the end of X (16 bytes)" in report.message
    assert report.findings[0].site.location is None


def test_tensors_are_named_by_position_where_the_launch_does_not():
    x = device(np.zeros(4, np.float32))
    image = encode(OUT_OF_BOUNDS.replace("OFFSET", "20"))
    report = emulator.run(image, [Tensor(x)], grid=(1, 1, 1), block=(1, 1, 1))
    assert report.findings[0].tensor == "X"


def test_a_report_with_findings_raises_when_checked():
    report = run(RACE, [], [output(64, np.uint32)], block=64, sanitize=True)
    with pytest.raises(EmulationError) as raised:
        report.check()
    assert str(raised.value) == report.message
    assert raised.value.findings == report.findings


def test_several_findings_are_in_the_order_of_the_program():
    text = """
    .param u64 Y
    ld.param.u64 %rd1, [Y]
    .shared tile 64 4
    ld.shared.u32 %r1, [tile]
    ld.global.u32 %r2, [%rd1]
    ld.shared.u32 %r3, [tile+4]
    """
    report = run(text, [], [output(4, np.uint32)], sanitize=True)
    assert [f.site.instruction for f in report.findings] == [1, 2, 3]
    assert report.message.startswith("kernel kernel: 3 findings\n")
    assert report.status == "findings"


def test_the_first_example_is_of_the_lowest_cta():
    text = """
    .param u64 Y
    ld.param.u64 %rd1, [Y]
    mov.u32 %r1, %ctaid.x
    mul.wide.u32 %rd2, %r1, 4
    add.u64 %rd2, %rd1, %rd2
    ld.global.u32 %r2, [%rd2]
    """
    for threads in (1, 4):
        report = run(text, [], [output(64, np.uint32)], grid=64, sanitize=1, threads=threads)
        assert report.findings[0].site.cta == (0, 0, 0)


COUNTED = """
.param u64 X
.param u64 Y
.shared tile 4096 16
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %tid.x
mul.wide.u32 %rd3, %r1, STRIDE
add.u64 %rd3, %rd1, %rd3
ld.global.u32 %r2, [%rd3]
mul.lo.u32 %r3, %r1, BANK
mov.u32 %r4, tile
add.u32 %r4, %r4, %r3
st.shared.u32 [%r4], %r2
setp.lt.u32 %p1, %r1, 10
@%p1 st.shared.u32 [%r4], %r1
"""


@pytest.mark.parametrize(
    ("stride", "sectors", "ideal"), [(4, 4, 4), (8, 8, 4), (32, 32, 4), (0, 1, 1)]
)
def test_sectors(stride: int, sectors: int, ideal: int):
    x, y = device(np.zeros(1024, np.uint32)), output(4, np.uint32)
    text = COUNTED.replace("STRIDE", str(stride)).replace("BANK", "4")
    report = run(text, [x], [y], block=64, statistics=True)
    counts = report.statistics[5]
    scale = 2  # warps
    assert (counts.executions, counts.lanes, counts.requests) == (2, 64, 2)
    assert (counts.sectors, counts.ideal_sectors) == (scale * sectors, scale * ideal)


@pytest.mark.parametrize(("bank", "passes"), [(4, 1), (8, 2), (16, 4), (64, 16), (128, 32)])
def test_bank_conflicts(bank: int, passes: int):
    x, y = device(np.zeros(1024, np.uint32)), output(4, np.uint32)
    text = COUNTED.replace("STRIDE", "4").replace("BANK", str(bank))
    report = run(text, [x], [y], statistics=True)
    counts = report.statistics[9]
    assert (counts.wavefronts, counts.ideal_wavefronts) == (passes, 1)
    partial = report.statistics[11]
    assert (partial.executions, partial.lanes) == (1, 10)


@pytest.mark.parametrize("threads", [1, 3])
def test_counts_of_all_ctas_are_added(threads: int):
    x, y = device(np.zeros(1024, np.uint32)), output(4, np.uint32)
    text = COUNTED.replace("STRIDE", "4").replace("BANK", "4")
    report = run(text, [x], [y], grid=50, block=64, statistics=True, threads=threads)
    assert report.statistics[5].executions == 100
    # The last store runs in the first warp only; each warp also leaves the kernel.
    assert report.instructions == sum(s.executions for s in report.statistics) + 50 + 100


def test_lines_add_up_their_instructions():
    x, y = device(np.zeros(1024, np.uint32)), output(4, np.uint32)
    text = COUNTED.replace("STRIDE", "4").replace("BANK", "4")
    report = run(text, [x], [y], block=64, statistics=True)
    assert [line.location.line for line in report.lines] == [
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        14,
        15,
        16,
    ]
    assert all(line.instructions == 1 for line in report.lines)
    assert "kernel kernel: no findings" in str(report)
    assert f"{FILE}:10" in str(report)
    assert report.lines[5].counts.sectors == 8


def test_names_with_quotes_survive_json():
    x = output(4, np.float32)
    image = encode(OUT_OF_BOUNDS.replace("OFFSET", "28"))
    report = emulator.run(image, [Tensor(x, 'X"\\\n')], grid=(1, 1, 1), block=(1, 1, 1))
    assert report.findings[0].tensor == 'X"\\\n'
    assert json.dumps(report.message)
