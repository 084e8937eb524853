"""What the kernels of `pyptx.ops.rms_norm` do, each beside the same without it.

Measured as norm_table.py does, with the ways of norm_ways.py in the place of peers: the reasons
that docs/rms_norm.md gives are these numbers.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
from measure import CONSOLE, Result, number, start
from norm_candidates import EPS, Call, Tensors
from norm_cases import CONDITIONS, FORWARD, Options, percent
from norm_visit import Timer, Visit, on_device, run
from norm_ways import REASONS, Reason, Way

CALLS = 20


@dataclass(frozen=True, slots=True)
class Comparison(Visit):
    """A visit whose candidates are the ways of one reason, all checked as the product is."""

    reason: Reason

    def candidates(self) -> dict[tuple[str, str], Callable[[Tensors], Mapping[str, Call]]]:
        direction = self.reason.direction
        return {
            (direction, name_of(self.reason, way)): lambda tensors, way=way: built(
                self.reason, way, tensors
            )
            for way in self.reason.ways
        }

    def own(self, name: str) -> bool:  # noqa: ARG002  # all of them
        return True


def name_of(reason: Reason, way: Way) -> str:
    """The candidate's name in a results file."""
    return f"{reason.what}: {way.name}"


def built(reason: Reason, way: Way, tensors: Tensors) -> Mapping[str, Call]:
    """A way, compiled: a change is in force while kernels are traced, which lowering does too."""
    x, w, g, r = tensors.arrays
    arguments = (x, w) if reason.direction == FORWARD else (x, g, r, w)
    with way.changed():
        compiled: Any = jax.jit(way.make(reason.rows)).lower(*arguments).compile()
    return {"": lambda: jax.block_until_ready(compiled(*arguments))}


def measure(
    device: dict[str, object], options: Options, timer: Timer | None = None, place: str = "cuda"
) -> Result:
    """Every reason whose shape and direction are asked for."""
    calls = options.calls or CALLS
    result = start(
        "norm_reasons", device, calls=calls, eps=EPS, **CONDITIONS
    )  # fmt: skip
    run(result, wanted(options, calls), options, timer or on_device(), device=place)
    return result


def wanted(options: Options, calls: int) -> Iterator[Comparison]:
    """A visit for each reason."""
    shapes = options.select(reason.shape for reason in REASONS)
    for reason in REASONS:
        if reason.shape in shapes and reason.direction in options.directions:
            names = tuple(name_of(reason, way) for way in reason.ways)
            yield Comparison(reason.shape, names, (reason.direction,), (), "", calls, reason)


def report(result: Result) -> None:
    """Each way with its share of the copy's speed."""
    for m in result.measurements:
        CONSOLE.print(f"{m.name}: {number(m.median)} us, {number(percent(m.notes, m.median))}%")
