"""What a matrix product is, and how a kernel for Hopper is cut into tiles and stages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from pyptx import Reg, device, ptx
from pyptx._target import Target
from pyptx.ops._divide import by_number
from pyptx.ops.tensor_core.epilogue import Epilogue
from pyptx.types import DType, f32, s8, s32, tf32, u8

Major: TypeAlias = Literal["K", "MN"]
Blocks: TypeAlias = Literal["block", "column"]
Spread: TypeAlias = Literal["M", "K", "G"]
Cluster: TypeAlias = Literal["rows", "columns", "depth"]
Tile: TypeAlias = "tuple[int, int, Cluster | None, int, bool, bool]"
"""Rows and columns that a CTA multiplies at a time, what the CTAs of its cluster divide, how many
CTAs that has, whether a CTA's warpgroups multiply by turns, and whether D is transposed."""
BLOCK: Final = 128
"""Values of K, and columns of B, that have one scale in a product with block scales."""
WARPGROUP: Final = 128
"""Threads of a warpgroup."""
ROWS: Final = 64
"""Rows of A that one `wgmma` multiplies."""
EIGHT: Final = 8
"""Columns of B that one `wgmma` multiplies any multiple of, up to 256."""
SPAN: Final = 128
"""Bytes of the widest swizzle: what a stage has of each row of A and column of B along K."""
HOPPER: Final = device.of(Target.parse("sm_90a"))
CTAS: Final = HOPPER.multiprocessors
"""Of a persistent kernel: one on each SM of the GPU that choices were measured on."""
ATOM: Final = 8
"""Rows of SPAN bytes after which the widest swizzle repeats."""
STEP: Final = 32
"""Bytes that one `wgmma` multiplies along K."""
KINDS: Final[dict[DType, DType]] = {f32: tf32}
"""What the tensor cores multiply elements of a type as, where it is another type."""


@dataclass(frozen=True, slots=True)
class Product:
    """D = A @ B with sums in f32, of integers in s32.

    a, b        types of the elements of A (M, K) and B (K, N)
    d           type of D (M, N)
    a_major     "K": A is in memory as (M, K); "MN": as (K, M)
    b_major     "K": B is in memory as (N, K); "MN": as (K, N)
    a_batched, b_batched   whether they have a first dimension of matrices; D has it if either has
    """

    a: DType
    b: DType
    d: DType
    a_major: Major = "K"
    b_major: Major = "MN"
    a_batched: bool = False
    b_batched: bool = False
    epilogue: Epilogue | None = None
    """What becomes of a sum before it is an element of D."""
    ragged: Literal["M", "K"] | None = None
    """Of a product of groups, with the length of each: what the groups are consecutive parts of.
    "M": rows of A, each multiplied by its group's matrix of B. "K": each group gives a matrix."""
    batches: tuple[bool, ...] = ()
    """Of the block scales and the epilogue's arrays: whether they have a first dimension of
    matrices, or of rows' and columns' numbers of each matrix."""
    blocks: Blocks | None = None
    """Block scales: A has one for each row and 128 of K; B for each 128 of K and 128 columns
    ("block"), or each 128 of K and column ("column"). Sums of 128 of K are multiplied by them."""
    spread: Spread | None = None
    """A dimension that arrays have as any number of axes, one after the other in memory, so that
    devices may split each of them. "M": A is (..., K), and D and arrays of its rows have the same
    axes. "K": both are K by rows, (..., M) and (..., N). "G": of a batch."""
    rounded: bool = False
    """Whether sums of each stage are added up in f32 registers, rounded to nearest: tensor cores
    truncate each sum, all in one direction."""

    @property
    def promoted(self) -> bool:
        """Whether tensor cores sum the products of a stage alone."""
        return self.rounded or self.blocks is not None

    @property
    def operand_batches(self) -> tuple[bool, ...]:
        """Those of `batches` that are the epilogue's."""
        return self.batches[2:] if self.blocks else self.batches

    @property
    def batched(self) -> bool:
        """Whether D is several matrices."""
        if self.ragged is not None:
            return self.ragged == "K"
        return self.a_batched or self.b_batched or any(self.batches)

    @property
    def sum(self) -> DType:
        """The type of a sum in a kernel."""
        return s32 if self.a in (s8, u8) else f32

    @property
    def factors(self) -> int:
        """Matrices B: with two, half of a tile's columns are those of each."""
        return 1 if self.epilogue is None else self.epilogue.factors

    @property
    def results(self) -> tuple[DType, ...]:
        """The types of D and of further results of its shape."""
        return (self.d, *(() if self.epilogue is None else self.epilogue.results))

    @property
    def amax(self) -> bool:
        """Whether the largest absolute value of each row of D is a result, too."""
        return self.epilogue is not None and self.epilogue.amax

    @property
    def divisible(self) -> bool:
        """Whether D is the sum of what parts of K give."""
        linear = self.epilogue is None or self.epilogue.linear
        return self.ragged is None and self.blocks is None and linear

    @property
    def kinds(self) -> tuple[DType, DType]:
        """The types that `wgmma` names."""
        return KINDS.get(self.a, self.a), KINDS.get(self.b, self.b)

    @property
    def transposed(self) -> Product:
        """D^T = B^T A^T, of the same arrays: what is K-major stays so."""
        return replace(
            self, a=self.b, b=self.a, a_major=self.b_major, b_major=self.a_major,
            a_batched=self.b_batched, b_batched=self.a_batched,
        )  # fmt: skip

    @property
    def kind(self) -> tuple[int, Major, bool]:
        """What its measured sizes are listed by: bits of an element, B's layout, and whether sums
        are promoted."""
        return self.a.bits, self.b_major, self.promoted

    @property
    def depth(self) -> int:
        """Values of K that a stage has."""
        return SPAN // self.a.bytes


@dataclass(frozen=True, slots=True)
class Shape:
    """How a kernel is cut.

    rows, columns  of A and of B (of both, where there are two) that a CTA multiplies at a time:
                   whole blocks of 64 rows, or 16 or 32, which are multiplied as 64 with zeros for
                   the others
    blocks         of 64 rows that each of its warpgroups multiplies: 1 or 2
    stages         of shared memory, each with 128 bytes along K of every row of A and column of B
    band           tiles along the rows of D that are made before the next column of tiles
    panels         of 128 bytes of 64 rows that a warpgroup's results wait in
    split          whether tiles that are too few for all CTAs are split along K
    cluster        the CTAs of a cluster make tiles that are next to each other: one below the other
                   ("rows"), which have the same columns of B, or side by side ("columns"), which
                   have the same rows of A. Each fetches a part of what all multiply, for all. Or
                   all make the same tile ("depth"), each a part of K
    clustered      CTAs of such a cluster
    pingpong       whether two warpgroups make tiles by turns: one multiplies while the other's
                   results are written
    transposed     whether the kernel makes D^T = B^T A^T: rows are those of D^T, which are columns
                   of D. `wgmma` multiplies 64 rows and any multiple of 8 columns
    """

    rows: int = 128
    columns: int = 256
    blocks: int = 1
    stages: int = 4
    band: int = 12
    panels: int = 2
    split: bool = False
    cluster: Cluster | None = None
    clustered: int = 2
    pingpong: bool = False
    transposed: bool = False

    @property
    def tile(self) -> Tile:
        """What its measured times are listed by."""
        return (
            self.rows, self.columns, self.cluster, self.cluster_size, self.pingpong,
            self.transposed,
        )  # fmt: skip

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return 1 if self.cluster is None else self.clustered

    @property
    def shares(self) -> bool:
        """Whether the CTAs of a cluster fetch for each other."""
        return self.cluster in ("rows", "columns")

    @property
    def below(self) -> int:
        """CTAs of a cluster with the same columns of B, one below the other."""
        return self.clustered if self.cluster == "rows" else 1

    @property
    def beside(self) -> int:
        """CTAs of a cluster with the same rows of A, side by side."""
        return self.clustered if self.cluster == "columns" else 1

    @property
    def all_rows(self) -> int:
        """Of A that a cluster multiplies at a time."""
        return self.rows * self.below

    @property
    def all_columns(self) -> int:
        """Of B that a cluster multiplies at a time."""
        return self.columns * self.beside

    @property
    def groups(self) -> int:
        """Warpgroups that multiply."""
        return self.per_tile * (2 if self.pingpong else 1)

    @property
    def per_tile(self) -> int:
        """Warpgroups that multiply a tile."""
        return max(self.rows, ROWS) // (ROWS * self.blocks)

    @property
    def readers(self) -> int:
        """Warpgroups that read a stage, of all CTAs that it is fetched for."""
        return self.per_tile * (self.cluster_size if self.shares else 1)

    @property
    def is_low(self) -> bool:
        """Whether a tile has fewer rows than one `wgmma` multiplies."""
        return self.rows < ROWS

    def end(self, row: Reg, rows: Reg) -> Reg:
        """The first row that is not of the tile that begins at `row`, of so many rows of D, where
        it has fewer rows than its warpgroups have sums; otherwise `rows`."""
        return ptx.inst.min.u32(row + self.rows, rows) if self.is_low else rows

    @property
    def threads(self) -> int:
        """Of a CTA: one warpgroup more, which fetches."""
        return WARPGROUP * (1 + self.groups)


def clusters_at_once(size: int, ctas: int) -> int:
    """Clusters of so many CTAs that run at a time where `ctas` CTAs do, at least one.

    Two multiprocessors are neighbours everywhere; those of a larger cluster are in one GPC.
    """
    if size <= 2:
        return max(1, ctas // size)
    return max(1, HOPPER.resident_clusters(size) * ctas // CTAS)


def rank_of(cta: Reg, size: int) -> Reg:
    """The rank in its cluster, of so many CTAs, of the CTA of this number."""
    return cta - ptx.inst.mul.lo.u32(by_number(cta, size), size)


def first_sum(lane: Reg) -> tuple[Reg, Reg]:
    """Row and column of the first sum of `wgmma` that a thread of a warpgroup has.

    It has the next column, too, both eight rows below, and the same of every 8 columns (PTX ISA,
    register fragments of `wgmma`).
    """
    warp, within = lane >> 5, lane & 31
    return (warp << 4) + (within >> 2), (within & 3) << 1


def barrier_of(group: Reg) -> Any:
    """The named barrier of the threads of a warpgroup."""
    return ptx.named_barrier(group + 1, count=WARPGROUP)


def everybody_of(groups: int) -> Any:
    """The named barrier of all threads that multiply, of so many warpgroups."""
    return ptx.named_barrier(groups + 3, count=WARPGROUP * groups)


def turn_of(group: Reg) -> Any:
    """The named barrier at which one of two warpgroups waits until the other has multiplied."""
    return ptx.named_barrier(group + 3, count=2 * WARPGROUP)
