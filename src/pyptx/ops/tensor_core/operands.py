"""A and B on their way: tensor maps, stages of shared memory, and what `wgmma` reads of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyptx import Layout, Reg, SharedTile, Tensor, ptx, reg, smem
from pyptx.ops.tensor_core.schedule import low
from pyptx.ops.tensor_core.shape import ATOM, CLUSTER_SIZE, SPAN, Major
from pyptx.types import DType, b32, u32

BOTH: Final = 0b11
"""The CTAs of a cluster, as a mask."""
LARGE: Final = 2**28
"""Bytes of an operand that is read once: on an H100, 112 and 128 MiB took 8 to 10 % less time with
their lines first to leave the L2 cache, and 448 MiB took 2 % more."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A or B: `lines` rows of A, or columns of B, for each of the stages.

    Two matrices B have half of the lines each, and a map each. Where both CTAs of a cluster
    multiply the same lines, each fetches the half of them that is its `rank`'s, for both.
    """

    dtype: DType
    lines: int
    k_major: bool
    batched: bool
    stages: SharedTile
    maps: tuple[Any, ...]
    rank: Reg | None = None

    @property
    def shared(self) -> bool:
        """Whether the CTAs of a cluster fetch it for each other."""
        return self.rank is not None

    @property
    def bytes(self) -> int:
        """Of a stage."""
        return self.lines * SPAN

    def fetch(
        self,
        stage: Reg,
        full: Any,
        line: Reg,
        k: Reg,
        matrix: list[Reg],
        policy: Reg | None = None,
    ) -> None:
        """Have a stage filled, from this row or column and this value of K on. One thread."""
        after = matrix if self.batched else []
        copy = ptx.cp.async_.bulk.tensor_3d if self.batched else ptx.cp.async_.bulk.tensor_2d
        tile = self.stages[stage]
        each = self.lines // len(self.maps)
        own = each if self.rank is None else each // CLUSTER_SIZE
        width = own if self.k_major else SPAN // self.dtype.bytes
        half = None if self.rank is None else low(self.rank, own)
        more: dict[str, Any] = {} if half is None else {"multicast_mask": BOTH}
        more["cache_policy"] = policy
        line = line if half is None else line + half
        for i, described in enumerate(self.maps):
            for panel in range(0, own, width):
                first = i * each + panel if half is None else half + (i * each + panel)
                place = tile.address(*((first, 0) if self.k_major else (0, first)))
                at = line + panel if panel else line
                coord = [k, at, *after] if self.k_major else [at, k, *after]
                copy(dst=place, src=described, coord=coord, mbar=full, **more)

    def clear(self, stage: Reg, first: Reg, thread: Reg, threads: int) -> None:
        """Write zeros from this value of K on, of a stage that is not along K; 16 bytes a store."""
        words = self.stages.view(b32)
        _, depth, across = words.shape
        chunk, row = (thread & 7) << 2, reg.from_(first + (thread >> 3), u32)
        with ptx.while_(lambda: row < depth):
            for panel in range(0, across, SPAN // b32.bytes):
                place = words.address(stage, row, chunk + panel)
                ptx.inst.st.shared.v4.b32(place, [0, 0, 0, 0])
            row += threads // 8

    def descriptor(self, stage: Reg, k: int, line: Reg | int) -> Reg:
        """The matrix descriptor of what one instruction reads from this value of K and line on."""
        return ptx.wgmma.descriptor(self.stages[stage], k=k, mn=line)


def leaves_first() -> Reg:
    """The cache policy of an operand that is read once: its lines are the first to leave the L2
    cache, so that lines which kernels before have written stay. To write these back would take
    memory's time.

    Other copies have no policy at all, as those of docs/tutorial/11_fast_product.md, whose last
    kernel took 5 to 10 % less time on an H200 than one of this shape with `evict_normal`.
    """
    return ptx.inst["createpolicy.fractional.L2::evict_first.b64"](1.0)


def is_read_once(once: Reg, lines: Reg, steps: Reg) -> Reg:
    """Whether an operand of so many lines and stages along K has that policy, if read `once`.

    One much larger than the cache pushes other lines out anyway, and was read a little slower so.
    """
    return once & (ptx.inst.mul.wide.u32(lines, steps) < LARGE // SPAN)


def shared_lines(lines: int, matrices: int, major: Major, dtype: DType) -> bool:
    """Whether half of these lines of every matrix is whole boxes, so that each of two CTAs fetches
    one half."""
    own, rest = divmod(lines, matrices * CLUSTER_SIZE)
    unit = ATOM if major == "K" else SPAN // dtype.bytes
    return rest == 0 and own % unit == 0


def operand(
    tensors: Sequence[Tensor],
    major: Major,
    lines: int,
    stages: int,
    batched: bool,
    rank: Reg | None = None,
) -> Operand:
    """The stages of A, or of B and a second one, and tensor maps of boxes as wide as a swizzle."""
    dtype = tensors[0].dtype
    depth = SPAN // dtype.bytes
    k_major = major == "K"
    whole = (stages, lines, depth) if k_major else (stages, depth, lines)
    fetched = lines // len(tensors) if rank is None else lines // len(tensors) // CLUSTER_SIZE
    box = (fetched, depth) if k_major else (depth, SPAN // dtype.bytes)
    held = smem.wgmma_tile(dtype, whole, major)
    shape = (*((1,) if batched else ()), *box)
    maps = tuple(tensor.tma_desc(shape, layout=Layout.TMA_128B) for tensor in tensors)
    return Operand(dtype, lines, k_major, batched, held, maps, rank)
