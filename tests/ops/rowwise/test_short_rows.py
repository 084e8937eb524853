"""Short rows with inputs per column: three kernels, by how many bytes there are of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pyptx
from pyptx.ops._layer_norm import LayerNorm
from pyptx.ops.rowwise import measured, plan, sequences
from pyptx.ops.rowwise.strategies import subwarp
from pyptx.types import bf16

ONCE, ROUNDS = 3, 40
"""Rows up to which the first and the second kernel are chosen here."""


def op_of(columns: int) -> LayerNorm:
    return LayerNorm(columns, bf16, bf16, bf16, bf16, 1e-5)


@pytest.fixture(params=[8, 64, 120, 128, 256, 384, 512, 576, 768, 1024])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """With limits that a few rows reach."""
    size = 2 * request.param
    limits = replace(measured.LIMITS, once=ONCE * size, rounds=ROUNDS * size, spread=0, wide=0)
    monkeypatch.setattr(measured, "LIMITS", limits)
    plan._chosen.cache_clear()
    yield request.param
    plan._chosen.cache_clear()


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_all_three_give_the_same_rows(columns: int, target: str):
    rng = np.random.default_rng(columns)
    x = rng.standard_normal((2 * ROUNDS + 1, columns)).astype(ml_dtypes.bfloat16)
    w, b = (rng.standard_normal(columns).astype(ml_dtypes.bfloat16) for _ in range(2))
    with pyptx.target(target):
        norm: Any = plan.operation.__wrapped__(op_of(columns), (columns,))
        found = [norm.emulate(x[:n], w, b) for n in (ONCE, ROUNDS, ROUNDS + 1, len(x))]
    assert not any(each.report.findings for each in found)
    wide = x.astype(np.float64)
    away = wide - wide.mean(-1, keepdims=True)
    exact = away / np.sqrt((away**2).mean(-1, keepdims=True) + 1e-5) * w.astype(np.float64)
    exact += b.astype(np.float64)
    y = found[-1].outputs[0]
    np.testing.assert_allclose(y.astype(np.float64), exact, rtol=2.0**-8, atol=1e-5)
    for each in found[1:]:
        assert np.array_equal(each.outputs[0], y[: len(each.outputs[0])])


def test_few_have_them_once_more_stay_and_many_have_them_once(
    columns: int, monkeypatch: pytest.MonkeyPatch
):
    """Those of many have four accesses of a thread, as far as a row allows it."""
    made: list[tuple[int, int | None]] = []
    limits: list[int] = []
    independent, either = subwarp.independent, sequences.either

    def watched(op: Any, rows: Any, shape: subwarp.Shape, **options: Any) -> Any:
        accesses = shape.rows_each * -(-rows.divided().groups // shape.lanes)
        made.append((accesses, options.get("ctas")))
        return independent(op, rows, shape, **options)

    def limited(op: Any, rows: Any, most: int, *of_two: Any) -> Any:
        limits.append(most)
        return either(op, rows, most, *of_two)

    monkeypatch.setattr(subwarp, "independent", watched)
    monkeypatch.setattr(plan, "either", limited)
    with pyptx.target("sm_90a"):
        norm: Any = plan.operation.__wrapped__(op_of(columns), (columns,))
        x, w = np.ones((1, columns), ml_dtypes.bfloat16), np.ones(columns, ml_dtypes.bfloat16)
        norm.emulate(x, w, w)
    assert limits[-2:] == [ONCE, ROUNDS]
    (_, stay), (accesses, once) = made[-2:]
    assert stay is not None
    assert once is None
    assert 3 <= accesses <= 4
