"""Which kernel makes a matrix product: by target, and on Hopper by the sizes.

The numbers of `CUTS` were measured on an H200 (benchmarks/results, matmul_table): a kernel's time
is that of its rounds, and the shape whose time is least is chosen. A kernel is right for any sizes,
so a choice is about time alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from pyptx import CallError, KernelSequence, device, lowered_for, sequence
from pyptx._target import Target
from pyptx.ops.tensor_core import arrays, hopper, mma_sync
from pyptx.ops.tensor_core.schedule import FRACTIONS, LEAST, MOST
from pyptx.ops.tensor_core.shape import CTAS, ROWS, SPAN, Product, Shape
from pyptx.types import DType, bf16, e4m3, e5m2

KEPT: Final = 1024
"""Operations that are kept: one for each kind of product and shape of a kernel."""
_EVERYWHERE: Final = ("bf16", "cp.async")


@dataclass(frozen=True, slots=True)
class Cut:
    """A shape of a kernel, and what it takes on one SM in nanoseconds.

    stage     a stage of K of a tile, while all SMs are busy
    tile      what a tile takes besides its stages
    memory    bytes that memory gives in a nanosecond: more where boxes of B are wide
    """

    shape: Shape
    stage: float
    tile: float
    memory: float


LAUNCH_NS: Final = 3500.0
SPLIT_NS: Final = 1500.0
"""A split product's flags are cleared first, and its launch is cooperative."""
SHARE_NS: Final = 5000.0
"""One CTA waits for another's sums and adds them."""


MOST_GROUPS: Final = 2048
"""Of a product of groups: a CTA has a table of them in shared memory."""
FEW_GROUPS: Final = 240
"""Their table has room next to two panels of results."""


def _either_way(shape: Shape, stage: float, tile: float, memory: float) -> tuple[Cut, Cut]:
    """A shape whose tiles are whole, and the same with tiles that are split."""
    return Cut(shape, stage, tile, memory), Cut(replace(shape, split=True), stage, tile, memory)


CUTS: Final = (
    *_either_way(Shape(128, 256, stages=4, band=12), 655, 500, 3800),
    *_either_way(Shape(256, 3 * ROWS, blocks=2, stages=3, panels=3, band=8), 955, 1500, 3800),
    *_either_way(Shape(128, 128, stages=6, band=16), 345, 800, 3600),
    *_either_way(Shape(64, 256, stages=5, band=16), 480, 800, 3800),
    *_either_way(Shape(64, 128, stages=8, band=16), 315, 800, 3600),
)


PROMOTED_CUTS: Final = (
    Cut(Shape(256, 128, blocks=2, stages=4, band=12), 825, 2050, 2300),
    *_either_way(Shape(128, 128, stages=6, band=16), 504, 1970, 3200),
    *_either_way(Shape(64, 128, stages=8, band=16), 291, 1740, 1970),
)
"""Of products whose sums are promoted; fitted to what the benchmark `matmul_shapes` measured."""


def any_size(product: Product) -> Shape:
    """The shape for sizes that are known only when the kernel runs."""
    return Shape(128, 128, stages=6, band=16) if product.promoted else Shape()


def cuts(product: Product) -> tuple[Cut, ...]:
    """What there is to choose from."""
    return PROMOTED_CUTS if product.promoted else CUTS


def choose(product: Product, m: int, n: int, k: int, matrices: int = 1, ctas: int = CTAS) -> Shape:
    """The shape whose kernel is expected to take least time."""
    fit = [cut for cut in cuts(product) if fits(cut.shape, product)]
    return min(fit, key=lambda cut: expected_ns(cut, product, (m, n, k), matrices, ctas)).shape


def choose_ragged(product: Product, m: int, n: int, k: int, groups: int, ctas: int = CTAS) -> Shape:
    """The shape for groups whose lengths are known when the kernel runs: as if they were equal."""
    m, k = (-(-m // groups), k) if product.ragged == "M" else (m, -(-k // groups))
    return with_table(choose(product, m, n, k, groups, ctas), groups)


def with_table(shape: Shape, groups: int) -> Shape:
    """The shape with room in shared memory for the table of so many groups."""
    return replace(shape, panels=1) if groups > FEW_GROUPS else shape


def fits(shape: Shape, product: Product) -> bool:
    """Whether a tile's columns of D are whole panels of each of its results, and registers do.

    Two blocks of sums leave an epilogue too few, but for one that multiplies, and scales of single
    columns, too.
    """
    if product.ragged is not None and shape.split:
        return False
    plain = product.epilogue is None or product.epilogue.linear
    if product.blocks == "column" or product.ragged is not None:
        plain = False
    if shape.blocks > 1 and not (plain and len(product.results) == 1):
        return False
    widest = SPAN // min(dtype.bytes for dtype in product.results)
    return shape.columns % (product.factors * widest) == 0


def expected_ns(
    cut: Cut, product: Product, sizes: tuple[int, int, int], matrices: int, ctas: int
) -> float:
    """How long a kernel of this shape takes."""
    m, n, k = sizes
    shape = cut.shape
    tiles = -(-m // shape.rows) * -(-n * product.factors // shape.columns) * matrices
    steps = max(1, -(-k // product.depth))
    rounds, rest = divmod(tiles, ctas)
    one = steps * cut.stage + cut.tile
    time = LAUNCH_NS + rounds * one
    handed_over = 0.0
    if shape.split:
        parts = _parts(rest, steps, ctas)
        handed_over = SPLIT_NS + (SHARE_NS if 0 < parts < 1 else 0)
        time += one * parts
    elif rest:
        time += one
    factors = m * k * product.a.bytes + k * n * product.b.bytes * product.factors
    elements = () if product.epilogue is None else product.epilogue.elements
    written = m * n * sum(dtype.bytes for dtype in (*product.results, *elements))
    moved = (factors + written) * matrices
    floor = LAUNCH_NS + moved / cut.memory
    # Of shapes that wait for memory, the one that has the least to do besides.
    return max(time, floor) + handed_over + time / 100


def _parts(rest: int, steps: int, ctas: int) -> float:
    """What part of a round the last `rest` tiles take where they are split (`Schedule`)."""
    if not rest:
        return 0.0
    shares = max(1, min(ctas // rest, MOST, steps // LEAST))
    if shares > 1 or steps < 2 * LEAST:
        return 1 / shares
    for q in FRACTIONS:
        if -(-rest // q) * (q + 1) <= ctas:
            return q / (q + 1)
    return 1.0


# ---- operations ----------------------------------------------------------------------------------


@lru_cache(KEPT)
def operation(product: Product, shape: Shape) -> KernelSequence:
    """The product of A and B, on whatever it is lowered for; `shape` is Hopper's.

    Its results are D, or a tuple of D and the epilogue's further results.
    """

    def on_targets(*given: Any) -> Any:
        targets = lowered_for()
        check("matmul", targets, product.a, product.results)
        common = device.common(targets)
        if common.has("wgmma"):
            made = hopper.build(product, shape, common.multiprocessors)(*given)
            return made[: len(arrays.results(product))] if shape.split else made
        return mma_sync.build(product)(*given)

    on_targets.__name__ = on_targets.__qualname__ = "matmul"
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter(n, kind) for n in arrays.names(product) if n[0] != "D" and n != "AMAX"
    ]
    on_targets.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return sequence(
        in_specs=arrays.inputs(product),
        out_specs=arrays.results(product),
        **arrays.run_time(product),
    )(on_targets)


def check(
    name: str, targets: Iterable[Target], dtype: DType = bf16, results: Sequence[DType] = ()
) -> None:
    """Raises CallError for a target without kernels for such elements and results."""
    for target in targets:
        found = device.of(target)
        if not found.has(*_EVERYWHERE):
            raise CallError(
                f"{name} has no kernels for {target}",
                notes=(("legal", "sm_80 and later: bf16 and asynchronous copies are theirs"),),
            )
        if dtype in (e4m3, e5m2) and not found.has("mma.e4m3"):
            raise CallError(
                f"{name} of {dtype} has no kernels for {target}",
                notes=(
                    ("legal", "sm_89 and later"),
                    ("help", "a.astype(jax.numpy.bfloat16), and b too"),
                ),
            )
        for result in results:
            if result in (e4m3, e5m2) and not found.has("mma.e4m3"):
                raise CallError(
                    f"{name} with a result of {result} has no kernels for {target}",
                    notes=(("legal", "sm_89 and later"), ("help", "out_dtype=jax.numpy.bfloat16")),
                )
