"""Fit the times of `pyptx.ops.tensor_core.times` to what the benchmark `matmul_shapes` measured.

    python benchmarks/run.py --only matmul_shapes && python tools/tune_matmul.py [result.json ...]

Without a file it reads all results of one GPU. Products that several of them have are those of the
file whose name has no commit. Writes src/pyptx/ops/tensor_core/measured.py, and says how far the
fit is from the measurements and how much slower the chosen shapes are than the fastest ones.
"""

# SciPy has no annotations.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import numpy as np
from scipy.optimize import least_squares

from pyptx.ops.tensor_core import measured, plan
from pyptx.ops.tensor_core.epilogue import SCALED
from pyptx.ops.tensor_core.measured import Common, Sizes
from pyptx.ops.tensor_core.shape import ROWS, SPAN, STEP, Product, Shape, Tile
from pyptx.ops.tensor_core.times import Call, Cut, expected_ns
from pyptx.types import bf16, e4m3, f32

ROOT: Final = Path(__file__).parent.parent
TARGET: Final = ROOT / "src/pyptx/ops/tensor_core/measured.py"
PRODUCTS: Final = {
    "bf16": Product(bf16, bf16, bf16),
    "bf16, B as (N, K)": Product(bf16, bf16, bf16, b_major="K"),
    "f32 as bf16": Product(bf16, bf16, f32, rounded=True),
    "e4m3": Product(e4m3, e4m3, bf16, b_major="K", epilogue=SCALED, batches=(False, False)),
    "blocks": Product(e4m3, e4m3, bf16, b_major="K", blocks="block", batches=(False, False)),
}
"""The kinds of products that `matmul_shapes` measures."""

_APART: Final = 30.0
"""How many times larger or smaller a number may become: wild ones overflow."""
_CLOCK: Final = 1.98
"""Cycles of an H200 in a nanosecond, at most."""
_STEP: Final = 2.0**-26
"""The difference of a logarithm by which its slope is found."""
_SLOWER: Final = 0.005
"""What a choice may lose of the fastest shape."""
_SLOWER_LONG: Final = 0.006
"""The same of a long product, whose times vary more."""
_LONG: Final = 250_000.0
"""Nanoseconds of a product in which power limits the clock."""
_LIKELY: Final = 1.05
"""Times the least time that is expected: a shape for such a product takes no more."""

Times: TypeAlias = "dict[Tile, tuple[float, float]]"
Fastest: TypeAlias = "dict[Sizes, tuple[Tile, bool]]"


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a shape took for a product, in nanoseconds."""

    kind: str
    shape: Shape
    call: Call
    took: float

    @property
    def tile(self) -> Tile:
        return self.shape.tile


@dataclass(frozen=True, slots=True)
class Fit:
    """The numbers of `measured`."""

    common: Common
    times: Times
    promoted: Times

    def expected(self, one: Measurement) -> float:
        """Nanoseconds."""
        times = self.promoted if one.call.product.promoted else self.times
        return expected_ns(Cut(one.shape, *times[one.tile]), one.call, self.common)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path, nargs="*", default=recorded())
    given = parser.parse_args()
    if not given.results:
        parser.error("there is no matmul_shapes result; make bench ARGS='--only matmul_shapes'")
    records = [json.loads(path.read_text()) for path in given.results]
    names = {str(record["device"]["name"]) for record in records}
    if len(names) > 1:
        parser.error(f"results of several GPUs: {', '.join(sorted(names))}")
    measurements = joined(records)
    made = as_written(fit(measurements))
    fastest = exceptions(made, measurements)
    TARGET.write_text(written(made, fastest, *names))
    far, slower = quality(made, measurements, fastest)
    print(f"{len(measurements)} measurements, met within {far:.1%} on average")
    print(f"the chosen shapes are {slower:.1%} slower than the fastest ones, on average")


def recorded() -> list[Path]:
    """The results files in the order in which later ones replace earlier ones."""
    found = (ROOT / "benchmarks/results").glob("matmul_shapes*.json")
    return sorted(found, key=lambda path: json.loads(path.read_text())["environment"]["time"])


def joined(records: Sequence[Mapping[str, Any]]) -> list[Measurement]:
    """The measurements of all records; of a product in several, those of the last."""
    found: dict[tuple[str, tuple[int, int, int]], list[Measurement]] = {}
    for record in records:
        found |= {(each[0].kind, each[0].call.sizes): each for each in by_size(read(record))}
    return [one for each in found.values() for one in each]


def read(record: Mapping[str, Any]) -> list[Measurement]:
    """The measurements of a result of `matmul_shapes`, of the shapes that there still are."""
    found: list[Measurement] = []
    for summary in record["measurements"]:
        notes = summary["notes"]
        if "few_rows" in notes:  # of a kernel without tiles, which was slower everywhere
            continue
        shape = Shape(
            notes["rows"], notes["columns"], blocks=notes["blocks"], stages=notes["stages"],
            split=notes["split"], cluster=notes.get("cluster"),
            clustered=notes.get("clustered", 2), pingpong=notes.get("pingpong", False),
            transposed=notes.get("transposed", False),
        )  # fmt: skip
        call = Call(PRODUCTS[notes["kind"]], (notes["m"], notes["n"], notes["k"]))
        if plan.suits(shape, notes["m"]) and any(
            (shape.tile, shape.split) == (cut.shape.tile, cut.shape.split)
            and plan.fits(cut.shape, call.product)
            for cut in plan.candidates(call.product)
        ):
            found.append(Measurement(notes["kind"], shape, call, 1000 * summary["median"]))
    return found


def fit(measurements: Sequence[Measurement]) -> Fit:
    """The numbers whose expected times are closest: least squares of the ratios' logarithms."""
    plain = [one for one in measurements if not one.call.product.promoted]
    promoted = [one for one in measurements if one.call.product.promoted]
    count = len(fields(Common))
    tiles = sorted({one.tile for one in plain}, key=_order)

    def plain_fit(x: Sequence[float]) -> Fit:
        return Fit(Common(*x[:count]), _times(tiles, x[count:]), {})

    begin = [*astuple(measured.COMMON), *_start(measured.TIMES, tiles)]
    first = plain_fit(_closest(plain_fit, plain, begin, tiles))
    others = sorted({one.tile for one in promoted}, key=_order)

    def promoted_fit(x: Sequence[float]) -> Fit:
        return Fit(first.common, first.times, _times(others, x))

    start = _start(measured.PROMOTED_TIMES, others)
    return promoted_fit(_closest(promoted_fit, promoted, start, others))


def _closest(
    made: Callable[[Sequence[float]], Fit],
    measurements: Sequence[Measurement],
    begin: list[float],
    tiles: Sequence[Tile],
) -> list[float]:
    """The numbers, all positive. Each is divided by where it begins, as they differ by 1000.

    The last ones are two of each tile, which count for its own measurements alone.
    """
    if not measurements:
        return begin
    every = range(len(measurements))
    own = [[i for i in every if measurements[i].tile == tile] for tile in tiles for _ in range(2)]
    rows = [*[list(every)] * (len(begin) - len(own)), *own]

    def of(logarithms: np.ndarray, some: Iterable[int]) -> np.ndarray:
        candidate = made(np.exp(logarithms).tolist())
        ratios = [candidate.expected(measurements[i]) / measurements[i].took for i in some]
        return np.log(ratios)

    def off(logarithms: np.ndarray) -> np.ndarray:
        return of(logarithms, every)

    def slopes(logarithms: np.ndarray) -> np.ndarray:
        now = off(logarithms)
        found = np.zeros((len(measurements), len(logarithms)))
        for j, some in enumerate(rows):
            moved = logarithms.copy()
            moved[j] += _STEP * max(1.0, abs(moved[j]))
            found[some, j] = (of(moved, some) - now[some]) / (moved[j] - logarithms[j])
        return found

    start = np.log(np.maximum(np.array(begin), 1.0))  # all numbers are positive
    bounds = start - math.log(_APART), start + math.log(_APART)
    found = least_squares(
        off, start, cast("Any", slopes), bounds=bounds, loss="soft_l1", f_scale=0.1
    )
    return np.exp(found.x).tolist()


def _times(tiles: Sequence[Tile], numbers: Sequence[float]) -> Times:
    """A stage takes as long as its products at least: where the L2 cache's answers took longer in
    all measurements of a tile, these do not tell."""
    pairs = zip(tiles, numbers[::2], numbers[1::2], strict=True)
    return {tile: (max(stage, products_ns(tile)), rest) for tile, stage, rest in pairs}


def products_ns(tile: Tile) -> float:
    """What a stage's products take at the highest clock: in 128 cycles tensor cores multiply 64
    rows, 256 columns and 32 bytes of K."""
    rows, columns = max(tile[0], ROWS), tile[1]
    return rows / ROWS * columns / 256 * 128 * (SPAN / STEP) / _CLOCK


def _start(times: Mapping[Tile, tuple[float, float]], tiles: Sequence[Tile]) -> list[float]:
    """Where a fit begins: what was there, or a usual time for a tile that is new."""
    return [number for tile in tiles for number in times.get(tile, (400.0, 1000.0))]


def quality(
    made: Fit, measurements: Sequence[Measurement], fastest: Fastest | None = None
) -> tuple[float, float]:
    """The mean distance from the measurements, and what the choices lose of the fastest shapes.

    Sizes in `fastest` have the shape that is listed there, and lose nothing.
    """
    far = statistics.fmean(abs(made.expected(one) / one.took - 1) for one in measurements)
    lost = [
        0.0 if fastest and _sizes(each[0]) in fastest else _lost_by(made, fastest or {}, each)
        for each in by_size(measurements)
    ]
    return far, statistics.fmean(lost)


def _lost_by(made: Fit, fastest: Fastest, each: Sequence[Measurement]) -> float:
    """How much slower than the fastest shape of a size its choice is."""
    call = each[0].call
    stand = plan.fastest(fastest, call.product, *call.sizes)
    if stand is None:
        return _lost(made, each)
    took = [one.took for one in each if (one.tile, one.shape.split) == stand]
    return took[0] / min(one.took for one in each) - 1 if took else math.inf


def _lost(made: Fit, each: Sequence[Measurement]) -> float:
    """How much slower than the fastest shape of a size the one is that is expected to be.

    Infinite where that one came later and was not measured at this size.
    """
    call = each[0].call
    times = made.promoted if call.product.promoted else made.times
    cuts = plan.fitting(plan.candidates(call.product), call.product, call.sizes[0])
    expected = {
        cut.shape: expected_ns(Cut(cut.shape, *times[cut.shape.tile]), call, made.common)
        for cut in cuts
        if cut.shape.tile in times
    }
    chosen = min(expected, key=lambda shape: expected[shape])
    took = [one.took for one in each if (one.tile, one.shape.split) == (chosen.tile, chosen.split)]
    return took[0] / min(one.took for one in each) - 1 if took else math.inf


def _sizes(one: Measurement) -> Sizes:
    return (*one.call.product.kind, *one.call.sizes)


def exceptions(made: Fit, measurements: Sequence[Measurement]) -> Fastest:
    """The fastest shapes of the sizes for which the choice by expected times is slower.

    Those of more rows first, which may stand for fewer, and of B as (K, N), which may stand for
    (N, K) (`plan.fastest`).
    """
    found: Fastest = {}
    for each in sorted(by_size(measurements), key=_stands):
        best = quickest(plausible(made, each))
        if _lost_by(made, found, each) > (_SLOWER_LONG if best.took > _LONG else _SLOWER):
            found[_sizes(best)] = (best.tile, best.shape.split)
    return found


def _stands(each: Sequence[Measurement]) -> tuple[int, bool]:
    call = each[0].call
    return -call.sizes[0], call.product.b_major == "K"


def quickest(each: Sequence[Measurement]) -> Measurement:
    """The fastest of a size; of those that take as long, the one whose kernel is made soonest.

    A long product has time for it.
    """
    best = min(each, key=lambda one: one.took)
    most = best.took * (1 if best.took > _LONG else 1 + _SLOWER)
    equal = [one for one in each if one.took <= most]
    return min(equal, key=lambda one: (_writes(one.shape), one.took))


def _writes(shape: Shape) -> int:
    """How often a kernel has what writes or adds a block's sums, most of what is assembled."""
    once = shape.blocks if shape.pingpong or shape.blocks == 1 else shape.blocks + 1
    return once + 2 * shape.split


def plausible(made: Fit, each: Sequence[Measurement]) -> list[Measurement]:
    """Those of a size that may be chosen. In a long product power limits the clock, and shapes that
    keep the tensor cores less busy take as long as others, but only as long as the GPU is hot."""
    least = min(made.expected(one) for one in each)
    most = _LIKELY * least if least > _LONG else math.inf
    return [one for one in each if made.expected(one) <= most]


def by_size(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Those of the same product together."""
    same: dict[tuple[str, tuple[int, int, int]], list[Measurement]] = {}
    for one in measurements:
        same.setdefault((one.kind, one.call.sizes), []).append(one)
    return list(same.values())


def written(made: Fit, fastest: Fastest, device: str) -> str:
    """The module."""
    common = "".join(f"    {name}={value:.4g},\n" for name, value in asdict(made.common).items())
    text = TARGET.read_text()
    head = text[: text.index("DEVICE: Final")]
    return (
        f'{head}DEVICE: Final = "{device}"\n\nCOMMON: Final = Common(\n{common})\n\n'
        f"{_head('TIMES')}{_lines(made.times)}}}\n"
        '"""A stage and a tile of each shape that was measured, in nanoseconds."""\n\n'
        f"{_head('PROMOTED_TIMES')}{_lines(made.promoted)}}}\n"
        '"""The same where sums are promoted."""\n\n'
        f"FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {{\n{_entries(fastest)}}}\n"
        '"""Sizes whose fastest tile, split or not, is another than the one expected."""\n'
    )


def as_written(made: Fit) -> Fit:
    """The same with the digits that are written: where two shapes are expected to take about as
    long, the choice is that of the product."""
    common = Common(**{name: float(f"{value:.4g}") for name, value in asdict(made.common).items()})
    times, promoted = (
        {tile: (round(stage, 1), round(rest, 1)) for tile, (stage, rest) in each.items()}
        for each in (made.times, made.promoted)
    )
    return Fit(common, times, promoted)


def _entries(fastest: Fastest) -> str:
    return "".join(
        f"    {_literal(sizes)}: ({_literal(tile)}, {split}),\n"
        for sizes, (tile, split) in sorted(fastest.items())
    )


def _literal(values: Sequence[object]) -> str:
    """A tuple, as the formatter writes it."""
    return f"({', '.join(json.dumps(v) if isinstance(v, str) else str(v) for v in values)})"


def _head(name: str) -> str:
    return f"{name}: Final[dict[Tile, tuple[float, float]]] = {{\n"


def _lines(times: Times) -> str:
    return "".join(_line(tile, *times[tile]) for tile in sorted(times, key=_order))


def _line(tile: Tile, stage: float, rest: float) -> str:
    return f"    {_literal(tile)}: ({stage:.1f}, {rest:.1f}),\n"


def _order(tile: Tile) -> tuple[int, int, str, int, bool, bool]:
    rows, columns, cluster, size, pingpong, transposed = tile
    return rows, columns, cluster or "", size, pingpong, transposed


if __name__ == "__main__":
    main()
