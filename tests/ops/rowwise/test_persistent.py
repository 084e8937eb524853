"""Persistent CTAs, at shapes so small that the emulator watches all of it."""

from __future__ import annotations

import math

import pytest

import pyptx
from pyptx import device
from pyptx._target import Target
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise.column_sums import FEW
from pyptx.ops.rowwise.operation import RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.strategies import persistent
from pyptx.ops.rowwise.strategies.persistent import Shape
from pyptx.types import bf16, f16, f32, f64

from .toys_persistent import Alone, Everything, Scaled, Softmax, Toy, check

TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]
POLICIES: list[dict[str, object]] = [
    {},
    {"completion": "eager"},
    {"completion": "random", "seed": 2},
]
OPERATIONS = [
    lambda n: Everything(n),
    lambda n: Everything(n, f64, f16, f64),
    lambda n: Everything(n, f16, bf16),
    lambda n: Scaled(n),
    lambda n: Scaled(n, f64, f64),
    lambda n: Softmax(n, bf16),
    lambda n: Softmax(n, f32, summed=True),
    lambda n: Alone(n),
    lambda n: Alone(n, bf16, f64, summed=True),
]
NAMES = ["mixed", "wide", "half", "range", "range f64", "softmax", "use", "alone", "alone f64"]
operations = pytest.mark.parametrize("make", OPERATIONS, ids=NAMES)


def divided(op: RowOp, rows: Rows, ctas: int, teams: int, threads: int, stages: int = 2) -> Shape:
    """A shape whose teams have rows that are cut alike; one team where they have many sums."""
    if persistent.sums_of_thread(op, rows, threads) > 2 * FEW:
        teams = 1
    return Shape(math.lcm(ctas, rows.alignments), teams, threads, stages)


def run(op: Toy, rows: Rows, shape: Shape, count: int, **how: object) -> None:
    written = min(shape.ctas, -(-count // shape.neighbours(op, rows)))
    check(op, rows, persistent.kernel_of(op, rows, shape), count, written, **how)


@pytest.mark.sampled(24)
@operations
@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("n", [512, 519])
def test_rows_of_one_team(n, policy, make):
    op = make(n)
    rows = op.rows()
    shape = divided(op, rows, 2, 1, 64)
    run(op, rows, shape, 2 * shape.ctas + 1, **policy)


@pytest.mark.sampled(36, each="make")
@operations
@pytest.mark.parametrize("threads", [64, 96])
@pytest.mark.parametrize("n", [256, 130])
def test_rows_of_teams(n, threads, make):
    """Two and three warps a team; 130 elements have an end at least where vectors have four."""
    op = make(n)
    rows = op.rows()
    shape = divided(op, rows, 2, 2, threads)
    run(op, rows, shape, 3 * shape.ctas + 1)


@pytest.mark.sampled(48, each=("make", "count"))
@operations
@pytest.mark.parametrize("count", [0, 1, 5])
def test_teams_without_rows(count, make):
    op = make(260)
    rows = op.rows()
    run(op, rows, divided(op, rows, 4, 4, 64), count)


@pytest.mark.sampled(48, each=("make", "n"))
@operations
@pytest.mark.parametrize("n", [256, 263])
def test_without_bulk_copies(n, make):
    """Each thread fetches what it reads."""
    op = make(n)
    with pyptx.target("sm_80"):
        rows = op.rows(device=device.of(Target(80)))
        shape = divided(op, rows, 1, 2, 64)
        run(op, rows, shape, 3 * shape.ctas + 1)


@pytest.mark.parametrize("make", [Softmax, Scaled, Alone], ids=["softmax", "range", "alone"])
def test_rows_cut_at_lines(make):
    op = make(1091)
    rows = op.rows(lines=True)
    run(op, rows, Shape(rows.alignments // 2, 2, 128, 2), rows.alignments + 3)


def test_teams_without_sums_take_neighbours_also_where_rows_have_ends():
    op, summed = Alone(131), Alone(131, summed=True)
    assert Shape(8, 4, 64, 1).neighbours(op, op.rows()) == 4
    assert Shape(8, 4, 64, 1).neighbours(summed, summed.rows()) == 1


@pytest.mark.sampled(16)
@pytest.mark.parametrize("each", [31, 32, 33, 65])
@pytest.mark.parametrize("n", [67, 603])  # second sums in registers, and in memory
def test_sums_of_blocks_of_rows(n, each):
    op = Softmax(n, f32, summed=True)
    rows = op.rows()
    run(op, rows, Shape(4, 1, 32, 3), each * 4)


def test_rows_of_a_team_have_to_be_cut_alike():
    op = Alone(131, summed=True)
    with pytest.raises(AssertionError, match="rows of a CTA that are not cut alike"):
        persistent.kernel_of(op, op.rows(), Shape(4, 2, 64, 1))
    with pytest.raises(AssertionError, match="rows of a team that are not cut alike"):
        persistent.kernel_of(Alone(131), Alone(131).rows(), Shape(3, 2, 64, 1))


def test_rows_have_a_unit():
    op = Softmax(7, bf16)
    with pytest.raises(AssertionError, match="rows that are shorter than a unit"):
        persistent.kernel_of(op, op.rows(), Shape(8, 1, 64, 2))


@pytest.mark.sampled(40, each=("make", "target"))
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1024, 1027])
@pytest.mark.parametrize("make", [*OPERATIONS, lambda n: RmsNormGradient(n, bf16, f32)])
def test_needs_are_what_is_allocated(make, n, target):
    """On every target, and hardly more; and nothing is spilled."""
    op = make(n)
    rows = Rows((n,), types_of(op), op.compute, device=device.of(Target.parse(target)))
    shape = divided(op, rows, 8, 2, 128)
    needs = persistent.needs(op, rows, shape)
    assert rows.device.allows(needs)
    kernel = persistent.kernel_of(op, rows, shape)
    with pyptx.target(target):
        used = kernel.module().kernels[0].shared.size
        code = kernel.cubin()
    assert used <= needs.shared <= used + 512
    assert code.spill_stores == 0


def test_a_norm_too():
    """Whose way of moving rows is another: one without sums over rows, and with ends."""
    op = RmsNorm(263, f16, f32, 1e-5, invvar=True)
    rows = Rows((263,), types_of(op), op.compute)
    persistent.kernel_of(op, rows, Shape(8, 2, 64, 2)).cubin()
