"""tcgen05.shift in the emulator: rows of Tensor Memory move down by one, held to NumPy."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from .harness import device, kinds, output, run
from .tensor_forms import wait
from .test_tensor_core import (
    ENDED,
    FREE,
    POLICIES,
    READY,
    SETUP,
    SYNC,
    from_tensor,
    pointers,
    to_tensor,
)
from .test_tensor_pairs import FREE as FREE_PAIR
from .test_tensor_pairs import MET, PAIR, PAIRED

COLUMN, COLUMNS = 24, 16


def shifted(before, *, times=1, address=COLUMN, more="", columns=COLUMNS, **policy):
    """16 columns from column 24 on of all lanes, [column, lane], after one thread's shifts."""
    found = output((COLUMNS, 128), np.uint32)
    shift = f"@%p2 tcgen05.shift.cta_group::1.down [%r30+{address}]\n"
    text = f"""
{pointers("T", "D")}
{SETUP}
{READY}
{to_tensor("%rd1", columns, COLUMN)}
{SYNC}
{shift * times}
{more}
{ENDED}
{from_tensor("%rd2", COLUMNS, COLUMN)}
{FREE}
"""
    report = run(text, [device(before)], [found], block=128, target="sm_100a", **policy)
    return report, found


def moved(words, times=1):
    """Rows of each quarter of the lanes, [column, lane], `times` rows down; the last one stays."""
    rows = np.minimum(np.arange(32) + times, 31)
    return words[:, (np.arange(128) // 32 * 32) + np.tile(rows, 4)]


def drawn():
    return np.random.default_rng(5).integers(0, 1 << 32, (COLUMNS, 128), np.uint32)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("times", [1, 2, 40])
def test_each_quarter_keeps_its_last_row(times, policy):
    """32 bytes move; the columns next to them stay."""
    before = drawn()
    report, found = shifted(before, times=times, **policy)
    assert kinds(report) == [], report.message
    wanted = np.concatenate([moved(before[:8], times), before[8:]])
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_each_cta_of_a_pair_moves_its_own(policy):
    before = np.random.default_rng(6).integers(0, 1 << 32, (2, 8, 128), np.uint32)
    found = output((2, 8, 128), np.uint32)
    text = f"""
{pointers("T", "D")}
{PAIR}
mul.wide.u32 %rd40, %r2, {8 * 512}
add.u64 %rd1, %rd1, %rd40
add.u64 %rd2, %rd2, %rd40
{READY}
{to_tensor("%rd1", 8, COLUMN)}
{MET}
@%p6 tcgen05.shift.cta_group::2.down [%r30+{COLUMN}]
{wait(2)}
{from_tensor("%rd2", 8, COLUMN)}
{FREE_PAIR}
"""
    report = run(text, [device(before)], [found], **PAIRED, **policy)
    assert kinds(report) == [], report.message
    np.testing.assert_array_equal(found, np.array([moved(each) for each in before]))


@pytest.mark.parametrize(
    ("address", "note"),
    [
        (COLUMN + (5 << 16), "its matrix begins in lane 5, which is no multiple of 32"),
        (
            COLUMN + (32 << 16),
            "its matrix begins in lane 32, which the emulator does not run; from lane 0 on it moves all quarters",
        ),
        (508, "it needs lanes 0 to 127, columns 508 to 515; there are 128 lanes and 512 columns"),
    ],
)
def test_where_it_may_begin(address, note):
    report, _ = shifted(drawn(), address=address)
    assert [(f.kind, f.note) for f in report.findings] == [("bad-tensor-memory", note)]


def test_rows_without_a_value_move_too():
    """Only half of the columns that move were stored: what is loaded of the others has no value."""
    report, _ = shifted(drawn(), columns=8, address=COLUMN + 4, sanitize=True)
    assert kinds(report) == ["uninitialised-memory"]


@pytest.mark.parametrize("planted", [True, False])
def test_a_load_must_wait_for_its_commit(planted):
    """Without the wait a load of what it moves is a race, of the columns beside it is none."""
    found = output((8, 128), np.uint32)
    text = f"""
{pointers("T", "D")}
{SETUP}
{READY}
{to_tensor("%rd1", 16, COLUMN)}
{SYNC}
@%p2 tcgen05.shift.cta_group::1.down [%r30+{COLUMN}]
{SYNC}
{from_tensor("%rd2", 8, COLUMN if planted else COLUMN + 8)}
{ENDED}
{FREE}
"""
    report = run(text, [device(drawn())], [found], block=128, target="sm_100a", sanitize=True)
    if not planted:
        assert kinds(report) == [], report.message
        return
    (finding,) = report.findings
    assert finding.kind == "tensor-race"
    assert finding.note == (
        "no wait for an mbarrier with its tcgen05.commit says that the operation has ended"
    )
    assert finding.other is not None
    assert "tcgen05.shift.cta_group::1.down" in finding.other.ptx
