"""How long a kernel of Hopper's matrix product takes, by its shape and the sizes.

Its CTAs make rounds of tiles, whose stages take as long as the tensor cores do, or as the L2 cache
takes to answer. Meanwhile memory is read and written. The numbers of this model are fitted to
measurements (`measured`), by `make tune`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from pyptx.ops.tensor_core import measured
from pyptx.ops.tensor_core.measured import Common
from pyptx.ops.tensor_core.schedule import FRACTIONS, LEAST, MOST
from pyptx.ops.tensor_core.shape import CTAS, ROWS, SPAN, Product, Shape, clusters_at_once

_CACHE: Final = 25 * 2**20
"""Bytes that each half of an H200's L2 cache holds."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A shape of a kernel, and what it takes on one SM in nanoseconds.

    stage     a stage of K of a tile, where the L2 cache answers in time
    tile      what a tile takes besides its stages
    """

    shape: Shape
    stage: float
    tile: float


@dataclass(frozen=True, slots=True)
class Call:
    """A product of M x N x K, of so many matrices, on a GPU that runs so many CTAs at a time."""

    product: Product
    sizes: tuple[int, int, int]
    matrices: int = 1
    ctas: int = CTAS

    @property
    def transposed(self) -> Call:
        """The call of D^T."""
        m, n, k = self.sizes
        return replace(self, product=self.product.transposed, sizes=(n, m, k))


def expected_ns(cut: Cut, call: Call, common: Common = measured.COMMON) -> float:
    """How long a kernel of this shape takes."""
    if cut.shape.transposed:
        call = call.transposed
    multiplying, handed_over = _on_the_sms(cut, call, common)
    waiting = common.first_bytes + _moved(cut.shape, call) / common.memory
    order = common.overlap
    both = (multiplying**order + waiting**order) ** (1 / order)
    return both + handed_over


def tiles_of(shape: Shape, call: Call) -> int:
    """Of all matrices; those that a cluster has are one."""
    m, n, _ = call.sizes
    across = -(-n * call.product.factors // shape.all_columns)
    if call.product.ragged == "M":
        # The last tile of a group is half full, where groups may have any lengths.
        return across * math.ceil(call.matrices * (m / shape.all_rows + 1 / 2))
    return -(-m // shape.all_rows) * across * call.matrices


def _on_the_sms(cut: Cut, call: Call, common: Common) -> tuple[float, float]:
    """What the rounds of tiles take, and what it takes to add the sums of tiles that are split."""
    shape, product, ctas, k = cut.shape, call.product, call.ctas, call.sizes[2]
    tiles = tiles_of(shape, call)
    each, clusters = shape.cluster_size, clusters_at_once(shape.cluster_size, ctas)
    steps = max(1, -(-k // product.depth))
    if shape.cluster == "depth":
        steps = -(-steps // shape.clustered)
    requests = _requests(shape, call)

    def one(busy: int) -> float:
        """A tile, while so many CTAs multiply."""
        return steps * max(cut.stage, busy * requests / common.requests) + cut.tile

    rounds, rest = divmod(tiles, clusters)
    if not shape.split:
        return rounds * one(ctas) + (one(rest * each) if rest else 0), 0.0
    shares, part = _parts(rest, steps, ctas)
    size = max(shape.rows, ROWS) * shape.columns / (2 * ROWS) ** 2
    last = one(ctas if shares > 1 else rest) * part
    adding = common.share * (shares - 1) * size**common.share_power
    return rounds * one(ctas) + last, common.split + adding


def _moved(shape: Shape, call: Call) -> int:
    """Bytes that memory gives and takes.

    CTAs whose tiles have the same columns of B read them at the same time, and memory gives them
    once; but not those of `q` tiles among `q + 1` CTAs, which begin at other places along K.
    """
    (m, n, k), product = call.sizes, call.product
    of_b = k * n * product.b.bytes * product.factors
    if of_b > _CACHE and _are_apart(shape, call):
        of_b *= -(-m // shape.rows)
    factors = m * k * product.a.bytes + of_b
    elements = () if product.epilogue is None else product.epilogue.elements
    written = m * n * sum(dtype.bytes for dtype in (*product.results, *elements))
    return (factors + written) * call.matrices


def _are_apart(shape: Shape, call: Call) -> bool:
    """Whether there is but one round, of which `q` tiles are among `q + 1` CTAs."""
    rounds, rest = divmod(tiles_of(shape, call), call.ctas)
    steps = -(-call.sizes[2] // call.product.depth)
    if not shape.split or rounds > 0 or rest == 0:
        return False
    return call.ctas // rest == 1 and _parts(rest, steps, call.ctas)[1] < 1


def _requests(shape: Shape, call: Call) -> int:
    """Of the copies of a stage by a CTA. Rows that there are not take as long as others."""
    (m, n, k), product = call.sizes, call.product
    of_a = (k if product.a_major == "K" else m) * product.a.bytes
    of_b = (k if product.b_major == "K" else n) * product.b.bytes
    rows, columns = -(-shape.rows // shape.beside), -(-shape.columns // shape.below)
    return rows * (1 if of_a % SPAN == 0 else 2) + columns * (1 if of_b % SPAN == 0 else 2)


def _parts(rest: int, steps: int, ctas: int) -> tuple[int, float]:
    """Of the last `rest` tiles where they are split (`Schedule`): among how many CTAs each, and
    what part of a round they take."""
    if not rest:
        return 1, 0.0
    shares = max(1, min(ctas // rest, MOST, steps // LEAST))
    if shares > 1 or steps < 2 * LEAST:
        return shares, 1 / shares
    for q in FRACTIONS:
        if -(-rest // q) * (q + 1) <= ctas:
            return 2, q / (q + 1)
    return 1, 1.0
