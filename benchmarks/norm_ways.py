"""What the kernels of `pyptx.ops.rms_norm` do, and how else it could be done.

Each reason is a part of docs/rms_norm.md: at one shape the product, and ways that differ from it in
one thing. Needs neither a GPU nor PyTorch.
"""

# The ways take the product's kernels apart, below its public functions.
# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest import mock

from norm_cases import BACKWARD, FORWARD, Shape

from pyptx import Reg, ptx
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise import (
    cluster_registers,
    cluster_sizes,
    column_sums,
    plan,
    plan_sums,
    sequences,
    vectors,
)
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.strategies import cluster, cta, persistent, subwarp
from pyptx.ops.rowwise.vectors import Vector
from pyptx.types import BY_NUMPY, f32

EPS: Final = 1e-5
DTYPES: Final = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}
CTAS: Final = 132

Make = Callable[[Rows], Any]
"""Rows to a kernel or a sequence: of x and w forward, of x, g, r and w backward."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to do it: what makes the operation, and under which change of the kernels' code."""

    name: str
    make: Make
    changed: Callable[[], AbstractContextManager[Any]] = nullcontext


@dataclass(frozen=True, slots=True)
class Reason:
    """What is compared at a shape; the first way is the product's."""

    what: str
    shape: Shape
    direction: str
    ways: tuple[Way, ...]

    @property
    def rows(self) -> Rows:
        dtype = BY_NUMPY[DTYPES[self.shape.dtype]]
        return Rows((self.shape.columns,), (dtype,), f32)


# ---- the product ---------------------------------------------------------------------------------

# The functions without their caches: what is traced under a change must not be found later.


def _norm(what: Rows) -> RmsNorm:
    return RmsNorm(what.columns, what.types[0], what.types[0], EPS)


def _gradient(what: Rows) -> RmsNormGradient:
    return RmsNormGradient(what.columns, what.types[0], what.types[0])


def _forward(what: Rows) -> Any:
    return plan._without_sums(_norm(what), what)


def _backward(what: Rows) -> Any:
    return plan_sums.with_sums(_gradient(what), what, what.types)


PRODUCT: Final = {FORWARD: _forward, BACKWARD: _backward}


def _clusters(what: Rows, **changes: Any) -> Any:
    """Clusters as the product has them, but for some fields of their shape."""
    shape = cluster_sizes.clusters_of(_norm(what), what)
    assert shape is not None
    return cluster.kernel_of(_norm(what), what, replace(shape, **changes))


def _many_backward(what: Rows) -> Any:
    return plan_sums._many_summed(_gradient(what), what, what.types)


# ---- changes -------------------------------------------------------------------------------------

NONE: Final = "no policy"
"""Of loads without a qualifier."""


def _policy(priority: str) -> Callable[[], AbstractContextManager[Any]]:
    """Reads with another cache policy, or with none."""

    def kept() -> tuple[str, list[Reg]]:
        if priority == NONE:
            return "", []
        return ".L2::cache_hint", [ptx.inst[f"createpolicy.fractional.L2::{priority}.b64"](1.0)]

    return lambda: mock.patch.object(vectors, "kept", kept)


def _stores(operator: str) -> Callable[[], AbstractContextManager[Any]]:
    """Results written with another cache operator."""
    store = Vector.store

    def changed(
        self: Vector, space: str, base: object, offset: int, words: Sequence[Reg], **options: Any
    ) -> None:
        spelled = f"global.{operator}" if space == "global" else space
        store(self, spelled, base, offset, words, **options)

    return lambda: mock.patch.object(Vector, "store", changed)


def _constant(module: Any, name: str, value: object) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: mock.patch.object(module, name, value)


# ---- kernels with other sizes --------------------------------------------------------------------


def _ctas(threads: int, *, lines: bool = False, **options: Any) -> Make:
    def make(what: Rows) -> Any:
        what = replace(what, lines=lines)
        return cta.independent(_norm(what), what, threads=threads, **options)

    return make


def _subwarps(lanes: int, rows_each: int, threads: int, maxnreg: int | None) -> Make:
    shape = subwarp.Shape(lanes, rows_each, threads)
    return lambda what: subwarp.independent(_norm(what), what, shape, maxnreg=maxnreg)


def _persistent(
    count: int, threads: int, stages: int, *, ctas: int = CTAS, lines: bool = False
) -> Make:
    shape = persistent.Shape(ctas, count, threads, stages)

    def make(what: Rows) -> Any:
        op, what = _gradient(what), replace(what, lines=lines)
        kernel = persistent.kernel_of(op, what, shape)
        return sequences.finished(op, what, kernel, ctas, shape.neighbours(op, what), what.types)

    return make


def _clusters_with(**changes: Any) -> Make:
    return lambda what: _clusters(what, **changes)


def _clusters_backward(parts: int, threads: int) -> Make:
    def make(what: Rows) -> Any:
        op = _gradient(what)
        shape = cluster_sizes.clusters(op, what, parts)
        assert shape is not None
        kernel = cluster.kernel_of(op, what, replace(shape, threads=threads))
        return sequences.finished(op, what, kernel, shape.teams, 1, what.types)

    return make


# ---- the reasons ---------------------------------------------------------------------------------


def _reason(what: str, shape: Shape, direction: str, *ways: Way) -> Reason:
    product = Way("as it is", PRODUCT[direction])
    return Reason(what, shape, direction, (product, *ways))


def _policies(shape: Shape, direction: str) -> Reason:
    ways = (
        Way(name, PRODUCT[direction], _policy(name))
        for name in (NONE, "evict_normal", "evict_first")
    )
    return _reason("reads evict_last", shape, direction, *ways)


_SHORT: Final = Shape(65536, 128, "bf16")
_FEW: Final = Shape(8, 8192, "bf16")
_FEW_LONG: Final = Shape(8, 32768, "bf16")
_ONE_EACH: Final = Shape(128, 8192, "bf16")
_UNEVEN: Final = Shape(29120, 2304, "bf16")
_UNEVEN_LONG: Final = Shape(3640, 18432, "bf16")
_LONG: Final = Shape(2048, 262144, "bf16")
_ODD: Final = Shape(8192, 8191, "bf16")
_TALL: Final = Shape(16384, 4096, "bf16")

REASONS: Final = (
    _policies(Shape(16384, 8192, "f32"), FORWARD),
    _policies(Shape(32768, 4096, "bf16"), FORWARD),
    _policies(_TALL, BACKWARD),
    _reason(
        "plain stores", Shape(16384, 8192, "f32"), FORWARD,
        *(Way(f"st.{each}", _forward, _stores(each)) for each in ("cs", "cg", "wt")),
    ),
    _reason(
        "a copy of the row", Shape(32768, 4096, "bf16"), FORWARD,
        Way("loads", _ctas(256, held=True, direct=True)),
    ),
    _reason(
        "a copy of the row", Shape(16384, 8192, "f32"), FORWARD,
        Way("loads", _ctas(512, held=True, direct=True)),
    ),
    _reason("loads of the row", _ONE_EACH, FORWARD, Way("a copy", _ctas(512, held=True))),
    _reason(
        "several CTAs a row", _FEW, FORWARD, Way("one", _ctas(256, held=True, direct=True))
    ),
    _reason(
        "255 registers", _FEW, FORWARD,
        Way("as many as it takes", _ctas(256, held=True, direct=True, parts=4)),
    ),
    _reason(
        "several CTAs a row", _FEW_LONG, FORWARD, Way("one", _ctas(1024, held=True, direct=True))
    ),
    _reason(
        "relaxed loads", _FEW_LONG, FORWARD,
        Way("weak", _forward, _constant(cta, "AT_ONCE", "global")),
    ),
    _reason(
        "four rows at once", _SHORT, FORWARD,
        *(Way(f"{n}", _subwarps(16, n, 256, 32)) for n in (1, 2)),
    ),
    _reason(
        "two rows at once of little", Shape(4096, 256, "bf16"), FORWARD,
        *(Way(f"{n}", _subwarps(32, n, 256, 32)) for n in (1, 4)),
    ),
    _reason(
        "CTAs of 256 threads for little", Shape(4096, 256, "bf16"), FORWARD,
        *(Way(f"of {n}", _subwarps(32, 2, n, 32)) for n in (128, 512)),
    ),
    _reason(
        "32 registers", _SHORT, FORWARD, Way("as many as it takes", _subwarps(16, 4, 256, None))
    ),
    _reason("three groups a thread", _UNEVEN, FORWARD,
            Way("two", _ctas(160, held=True)),
            Way("at most two, 256 threads", _ctas(256, held=True))),
    _reason(
        "two teams of 192 threads", Shape(29120, 2304, "f32"), BACKWARD,
        Way("one of 512", _persistent(1, 512, 3)), Way("two of 288", _persistent(2, 288, 3)),
    ),
    _reason(
        "two CTAs of 576 threads", _UNEVEN_LONG, BACKWARD,
        Way("four of 512", _clusters_backward(4, 512)),
        Way("two of 512", _clusters_backward(2, 512)),
    ),
    _reason("cut at lines", _ODD, FORWARD, Way("cut at 16 bytes", _ctas(128, held=False))),
    _reason(
        "cut at lines", _ODD, BACKWARD, Way("cut at 16 bytes", _persistent(1, 512, 3, ctas=128))
    ),
    _reason("three stages", _TALL, BACKWARD, Way("two", _persistent(2, 256, 2)),
            Way("four", _persistent(2, 256, 4))),
    _reason("two groups for each of 512 threads", _TALL, BACKWARD,
            Way("one for each of 1024", _persistent(2, 512, 3))),
    _reason(
        "second sums in registers", Shape(8192, 8192, "bf16"), BACKWARD,
        Way("in memory", _backward, _constant(column_sums, "FEW", 0)),
    ),
    _reason("one cluster for few rows", _FEW, BACKWARD, Way("as many rows", _many_backward)),
    _reason("twice the CTAs for some rows", Shape(64, 16384, "bf16"), BACKWARD,
            Way("as many rows", _many_backward)),
    _reason(
        "few long rows read twice", Shape(4, 262144, "bf16"), BACKWARD,
        Way("as many rows", _many_backward),
    ),
    _reason("few long rows read twice", Shape(2, 524288, "bf16"), FORWARD,
            Way("as many rows", _clusters)),
    _reason(
        "four rows in a CTA of a cluster", Shape(4096, 32768, "bf16"), BACKWARD,
        Way("six", _backward, _constant(cluster_registers, "STAGES", 6)),
    ),
    _reason("a lag of one row", _LONG, FORWARD, Way("none", _clusters_with(lag=0))),
    _reason("six clusters of 16", _LONG, FORWARD, Way("five", _clusters_with(teams=5)),
            Way("eight", _clusters_with(teams=8))),
)  # fmt: skip
"""What docs/rms_norm.md says is worth something."""
