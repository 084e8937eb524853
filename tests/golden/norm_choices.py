"""What is chosen for row-wise operations: the kernels, their sizes, and for how many rows each.

A choice is a line of text, such as `<=66 cta(128, direct, parts 4); <=132 cta(1024, direct);
cta(128)`: the first for up to 66 rows, the second for up to 132, the last for more. No kernel is
traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import pytest

from pyptx import device
from pyptx._target import Target
from pyptx.ops._add_norm import AddNorm
from pyptx.ops._cross_entropy import CrossEntropy, CrossEntropyGradient
from pyptx.ops._gates import Gate, row_of
from pyptx.ops._layer_norm import LayerNorm
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops._softmax import Softmax, SoftmaxGradient
from pyptx.ops.rowwise import plan, plan_sums
from pyptx.ops.rowwise.operation import RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.types import DType, bf16, f16, f32, f64

TARGETS = ("sm_80", "sm_90a", "sm_100a")
TYPES = (("bf16", "bf16"), ("f16", "f32"), ("f32", "bf16"), ("f32", "f32"), ("f64", "f64"))
MODELS = (
    *(576, 768, 896, 960, 1024, 1152, 1536, 2048, 2304, 2560, 2880, 3072, 3584, 4096, 4608, 5120),
    *(5376, 6144, 6656, 7168, 8192, 9216, 10240, 11008, 12288, 13824, 14336, 16384, 18432, 20480),
    *(24576, 28672, 32768, 53248),
)
POWERS = (1, 8, 64, 128, 256, 512, 65536, 131072, 262144, 2**20, 2**23)
ODD = (3, 100, 129, 1000, 1025, 2049, 4097, 8191, 16385, 50257, 65537, 151937, 262145)
COLUMNS = tuple(sorted({*MODELS, *POWERS, *ODD}))

Choose = Callable[..., str]
BY_NAME = {str(dtype): dtype for dtype in (bf16, f16, f32, f64)}


def table(choose: Choose) -> Iterator[str]:
    """Lines of text: for each target, direction and pair of types the choice of each length.

    Lengths with one choice are together.
    """
    for target, direction, (x, w) in product(TARGETS, ("forward", "backward"), TYPES):
        yield f"{target} {direction} {x} {w}"
        of = partial(choose, direction, BY_NAME[x], BY_NAME[w], target=Target.parse(target))
        yield from _lines({columns: of(columns=columns) for columns in COLUMNS})


def _lines(chosen: dict[int, str]) -> Iterator[str]:
    """Lengths with one choice in a line."""
    found: dict[str, list[int]] = {}
    for columns, choice in chosen.items():
        found.setdefault(choice, []).append(columns)
    for choice, lengths in found.items():
        yield f"  {' '.join(map(str, lengths))}: {choice}"


def others() -> Iterator[str]:
    """The same of other operations on an H200, without those of sums over rows."""
    for (name, make), dtype in product(OTHERS.items(), (bf16, f32)):
        yield f"{name} {dtype}"
        target = Target.parse("sm_90a")
        yield from _lines({columns: _of(make(columns, dtype), target) for columns in COLUMNS})


def _of(op: RowOp, target: Target, results: tuple[DType, ...] = ()) -> str:
    rows = Rows((op.columns,), types_of(op), op.compute, device=device.of(target))
    with pytest.MonkeyPatch.context() as patch:
        _record_plan(patch)
        return str(getattr(plan._chosen, "__wrapped__")(op, rows, results))  # noqa: B009


OTHERS: dict[str, Callable[[int, DType], RowOp]] = {
    "layer_norm": lambda n, x: LayerNorm(n, x, x, x, x, 1e-5),
    "add_rms_norm": lambda n, x: AddNorm(n, RmsNorm(n, x, x, 1e-5), x, x),
    "softmax": Softmax,
    "softmax_gradient": SoftmaxGradient,
    "cross_entropy": CrossEntropy,
    "cross_entropy_gradient": CrossEntropyGradient,
    "swiglu": lambda n, x: Gate(row_of(n, x), "silu", x),
}


def of_plan(direction: str, x: DType, w: DType, columns: int, target: Target) -> str:
    """What the plan of row-wise operations chooses for the norm's formulas."""
    op = RmsNorm(columns, x, w, 1e-5) if direction == "forward" else RmsNormGradient(columns, x, w)
    results = (w if w.bytes <= op.compute.bytes else op.compute,)
    return _of(op, target, results if direction == "backward" else ())


# ---- kernels as text -----------------------------------------------------------------------------


def _text(name: str, *sizes: Any, **named: Any) -> str:
    """A kernel: its way, its sizes, and what is not as usual."""
    said = [str(size) for size in sizes]
    for key, value in named.items():
        if value is True:
            said.append(key)
        elif value not in (False, None):
            said.append(f"{key} {value}")
    return f"{name}({', '.join(said)})"


def _either(most: int, few: str, many: str) -> str:
    if ";" in few:
        few = f"[{few}]"
    return f"<={most} {few}; {many}"


def _subwarp(shape: Any, *, ctas: int | None = None, maxnreg: int | None = None) -> str:
    sizes = shape.lanes, shape.rows_each, shape.threads
    return _text("subwarp", *sizes, ctas=ctas, registers=maxnreg)


def _cta(rows: Any, *, threads: int, held: bool, maxnreg: int | None = None, **options: Any) -> str:
    parts = options.get("parts", 1)
    return _text(
        "cta",
        threads,
        held=held,
        direct=options.get("direct", False),
        parts=parts if parts > 1 else None,
        registers=maxnreg,
        lines=rows.lines,
    )


def _cluster(shape: Any, *, whole: bool) -> str:
    lag = shape.lag if shape.lag > 1 else None
    pieces = shape.pieces if shape.pieces > 1 else None
    sizes = shape.teams, shape.parts, shape.threads, shape.stages
    name = "grid" if shape.grid else "cluster"
    return _text(
        name, *sizes, lag=lag, shared=shape.shared, pieces=pieces, sums=shape.sums, whole=whole
    )


def _persistent(rows: Any, shape: Any) -> str:
    sizes = shape.ctas, shape.teams, shape.threads, shape.stages
    return _text("persistent", *sizes, lines=rows.lines)


def _finished(kernel: str, partials: int, rows_each: int) -> str:
    return f"{kernel} + sums({partials}, {rows_each})"


def _record_plan(patch: pytest.MonkeyPatch) -> None:
    """Every kernel that the plan can choose becomes its text."""
    replaced = {
        "subwarp.independent": lambda _, __, shape, **options: _subwarp(shape, **options),
        "subwarp.persistent": lambda _, __, shape, **options: _subwarp(shape, **options),
        "cta.independent": lambda _, rows, **options: _cta(rows, **options),
        "persistent.kernel_of": lambda _, rows, shape: _persistent(rows, shape),
        "two_pass.independent": lambda _, __, *, each=4: _text("two_pass", each=each),
        "two_pass.result": lambda _, __, *, each, threads: _text("chunks", threads, each=each),
        "one_pass.independent": lambda _, __, *, threads, each: _text(
            "one_pass", threads, each=each
        ),
        "two_pass_few.persistent": lambda _, __, s, **___: _text(
            "two_pass_few", s.threads, s.together
        ),
        "one_cluster.persistent": lambda _, __, s, **___: _text(
            "one_cluster", s.parts, s.threads, s.together, s.teams
        ),
        "two_pass.persistent": lambda _, __, *, teams: _text("two_pass", teams=teams),
        "by_cluster": lambda _, __, shape, result=None: _cluster(shape, whole=result is not None),
        "either": lambda _, __, most, few, many, *___: _either(most, few, many),
        "finished": lambda _, __, kernel, partials, each, ___: _finished(kernel, partials, each),
    }
    for module, (name, function) in product((plan, plan_sums), replaced.items()):
        place, _, attribute = name.rpartition(".")
        owner = getattr(module, place, None) if place else module
        if hasattr(owner, attribute):
            patch.setattr(owner, attribute, function)
