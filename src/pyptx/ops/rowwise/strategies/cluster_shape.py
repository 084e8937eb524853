"""How rows are split over several CTAs, what that takes, and where a CTA is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyptx import Reg, ptx, reg
from pyptx.device import WARP, Needs
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.column_sums import FEW
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Ends, Part, Rows
from pyptx.ops.rowwise.program import Arrays
from pyptx.ops.rowwise.statistics import Statistic
from pyptx.ops.rowwise.vectors import BULK, LINE, PIECE, rounded_up
from pyptx.types import DType, u32


@dataclass(frozen=True, slots=True)
class Shape:
    """`teams` teams of `parts` CTAs, each with `threads` threads that compute.

    All rows of a team are cut alike: `teams` is a multiple of `Rows.alignments`.

    stages   pieces of rows that a CTA holds: being fetched, waiting, and being written; at least
             (lag + 1) * pieces
    lag      rows between the one that is reduced and the one that is written; with 0, a CTA only
             fetches while it waits for the statistics of others
    shared   whether the inputs per column are in shared memory (otherwise in registers)
    pieces   how many a row comes in; so much sooner there is room for the next one
    grid     whether a team is larger than a cluster, and its CTAs exchange statistics through
             global memory
    sums     whether second sums over rows are in shared memory (otherwise in registers, or where
             they are too many, in global memory)
    """

    teams: int
    parts: int
    threads: int
    stages: int
    lag: int = 1
    shared: bool = True
    grid: bool = False
    pieces: int = 1
    sums: bool = False

    @property
    def block(self) -> int:
        """Threads of a CTA with the warp that fetches, and the one that exchanges."""
        return self.threads + WARP * (2 if self.grid else 1)

    @property
    def warps(self) -> int:
        """Warps that compute."""
        return self.threads // WARP

    @property
    def slots(self) -> int:
        """Statistics of so many rows can be on their way before the first is overwritten."""
        return 2 * self.lag + 2

    def clustered(self, op: RowOp) -> bool:
        """Whether a team is a cluster: several CTAs, no grid, that have something to exchange."""
        return self.parts > 1 and not self.grid and op.statistic is not None

    def letter(self, compute: DType) -> int:
        """Numbers that a CTA receives of each number of a statistic, with room to read vectors.

        Through global memory it is the statistic of the row; otherwise one number of each CTA.
        """
        return 1 if self.grid else rounded_up(self.parts, PIECE // compute.bytes)


def stage_bytes(op: RowOp, rows: Rows, shape: Shape) -> int:
    """Bytes of a piece of a row in each input per element, as `stages.Ring` has them."""
    most = rows.part(shape.parts)
    each = -(-most // shape.threads)
    groups = min(most, -(-each // shape.pieces) * shape.threads)
    return sum(rounded_up(groups * rows.vector(o.dtype).bytes) for o in op.given(ELEMENT))


def sums_of_thread(op: RowOp, rows: Rows, shape: Shape) -> int:
    """Bytes of what a thread sums over rows, without their ends."""
    each = -(-rows.part(shape.parts) // shape.threads)
    return each * rows.group * len(op.written(COLUMN)) * rows.compute.bytes


def has_near_sums(op: RowOp, rows: Rows, shape: Shape) -> bool:
    """Whether second sums over rows are in registers or in shared memory, not in global memory."""
    return shape.sums or sums_of_thread(op, rows, shape) <= FEW


def has_whole_sums(op: RowOp, rows: Rows, shape: Shape) -> bool:
    """Whether one team has all rows, and writes their sums once."""
    return shape.teams == 1 and rows.aligned and has_near_sums(op, rows, shape)


def needs(op: RowOp, rows: Rows, shape: Shape) -> Needs:
    """What the kernel needs of a device: for stages, inputs per column, and statistics."""
    shared = shape.stages * (stage_bytes(op, rows, shape) + 2 * 8) + LINE
    if op.statistic is not None:
        numbers = op.statistic.count * (shape.warps + shape.letter(rows.compute))
        shared += shape.slots * (rounded_up(numbers * rows.compute.bytes, PIECE) + 2 * 8)
    if shape.shared:
        columns = [rows.vector(operand.dtype).bytes for operand in op.given(COLUMN)]
        shared += sum(rounded_up(rows.part(shape.parts) * bytes_, PIECE) for bytes_ in columns)
    if shape.sums:
        ends = 0 if rows.aligned else len(op.written(COLUMN)) * rows.compute.bytes
        shared += shape.threads * (sums_of_thread(op, rows, shape) + ends) + PIECE
    if not shape.clustered(op):
        return Needs(BULK, shared, at_once=shape.teams * shape.parts if shape.grid else 0)
    return Needs((*BULK, "clusters", "st.async"), shared, cluster=shape.parts)


def words(statistic: Statistic, compute: DType) -> int:
    """64-bit words that carry a statistic through global memory, 32 bits each and a mark."""
    return statistic.count * (compute.bytes // 4)


class Cta:
    """A CTA: its team, its rank there, and its part of the team's rows."""

    def __init__(self, arrays: Arrays, shape: Shape) -> None:
        # A row is reduced when all of its pieces are there, and those before it wait meanwhile.
        assert shape.stages >= (shape.lag + 1) * shape.pieces
        rows = arrays.rows
        self.shape: Final = shape
        self.m: Final = Math(rows.compute)
        self.clustered: Final = shape.clustered(arrays.op)
        self.thread: Final = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        self.team: Final = cta // shape.parts
        self.rank: Final = ptx.cluster.rank() if self.clustered else cta % shape.parts
        first = arrays.tensors[arrays.inputs(ELEMENT)[0][0].name]
        self.total: Final = ptx.inst.cvt.u32.u64(first.shape[0])
        """The number of rows, u32."""
        self.row = reg.scalar(u32, init=self.team)
        """The row that comes up; others follow `shape.teams` apart."""
        self.part: Final = Part(rows, self.row, self.thread, shape.threads, shape.parts, self.rank)
        self.ends: Final = None if rows.aligned else Ends(self.part, self.rank)
        self.active: Final[list[Reg | None]] = [self.part.active(k) for k in range(self.part.each)]

    @property
    def leads_warp(self) -> Reg:
        """Whether the thread is the first of its warp. Two instructions."""
        return (self.thread & (WARP - 1)) == 0
