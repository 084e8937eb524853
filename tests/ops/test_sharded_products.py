"""Sharded products: values and what devices send, for sharded operands and results."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import ops  # noqa: E402
from pyptx.ops.tensor_core import plan  # noqa: E402
from pyptx.ops.tensor_core.shape import Shape  # noqa: E402

from .sharded import BF16, E4M3, F32, GATHER, REDUCE, SCATTER, check, mesh, normal, squares  # noqa: E402


@pytest.fixture(autouse=True)
def _one_thread_each(monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")


# ---- one product ---------------------------------------------------------------------------------

A, B = (16, 64), (64, 32)
DEPTH = P(None, "x"), P("x")
BOTH = P(None, ("x", "y")), P(("x", "y"))
PRODUCTS = {
    "rows": ((4,), A, B, DEPTH, P("x"), {SCATTER: 1}),
    "columns": ((4,), A, B, DEPTH, P(None, "x"), {SCATTER: 1}),
    "whole": ((4,), A, B, DEPTH, P(), {REDUCE: 1}),
    "K of a only": ((4,), A, B, (P(None, "x"), P()), P("x"), {SCATTER: 1}),
    "K of b only": ((4,), A, B, (P(), P("x")), P("x"), {SCATTER: 1}),
    "one of two axes": ((2, 2), A, B, BOTH, P(None, "x"), {SCATTER: 1, REDUCE: 1}),
    "each of two axes": ((2, 2), A, B, BOTH, P("y", "x"), {SCATTER: 2}),
    "both axes of rows": ((2, 2), A, B, BOTH, P(("x", "y")), {SCATTER: 1}),
    "rows cut further": ((2, 2), A, B, DEPTH, P(("x", "y")), {SCATTER: 1}),
    "rows split before": ((2, 2), A, B, DEPTH, P(("y", "x")), {SCATTER: 1}),
    "rows of both": ((2, 2), A, B, (P("y", "x"), P("x")), P(("y", "x")), {SCATTER: 1}),
    "2 x 1": ((2, 1), A, B, (P("y", "x"), P("x", "y")), P("x", "y"), {SCATTER: 1}),
    "1 x 2": ((1, 2), A, B, (P("x", "y"), P("y", "x")), P("x", "y"), {SCATTER: 1}),
    "3 axes": ((4,), (2, *A), B, (P(None, None, "x"), P("x")), P(None, "x"), {SCATTER: 1}),
    "4 axes": ((4,), (3, 1, *A), B, (P(None, None, None, "x"), P("x")),
               P(None, None, "x"), {SCATTER: 1}),
    "matrices": ((2, 2), (4, *A), (4, *B), (P("x", None, "y"), P("x", "y")), P("x", "y"),
                 {SCATTER: 1}),
    "rows to matrices": ((4,), (4, *A), (4, *B), (P(None, None, "x"), P(None, "x")), P("x"),
                         {SCATTER: 1}),
    "sequences": ((2, 2), (4, *A), B, (P("x", "y"), P()), P("x", "y"), {}),
    "heads": ((2, 2), (2, 4, *A), (2, 4, *B), (P("x", "y"), P("x", "y")), P("x", "y"), {}),
    "a vector": ((4,), (2, *A), (64,), (P(None, None, "x"), P("x")), P(None, "x"), {SCATTER: 1}),
    "rows by columns": ((4,), A, B, (P("x"), P(None, "x")), P("x"), {GATHER: 1}),
    "columns by rows": ((4,), A, B, (P("x"), P(None, "x")), P(None, "x"), {GATHER: 1}),
}  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize("case", PRODUCTS.values(), ids=PRODUCTS)
def test_products(case):
    sizes, of_a, of_b, specs, out, sent = case
    arrays = normal(*of_a, dtype=BF16), normal(*of_b, dtype=BF16, seed=1)
    functions = partial(ops.matmul, out_dtype=F32), jnp.matmul
    program = check(mesh(*sizes), functions, arrays, specs, out)
    assert pyptx.collectives(program) == sent


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("of_a", "of_b", "specs", "out"),
    [
        ((10, 64), (64, 36), (P(None, "x"), P("x")), P(None, "x")),
        ((12, 30), (30, 14), (P("x", "y"), P("y")), P("x")),
        ((6, 64), (64, 32), (P(None, "x"), P("x")), P()),
        ((2, 3, 64), (64, 5), (P("x", None, "y"), P("y")), P("x")),
    ],
    ids=str,
)  # fmt: skip
def test_sizes_that_are_no_multiple(of_a, of_b, specs, out):
    arrays = normal(*of_a), normal(*of_b, seed=1)
    check(mesh(2, 2), (ops.matmul, jnp.matmul), arrays, specs, out)


@pytest.mark.parametrize("out", [P("x"), P(None, "x")], ids=str)
def test_parts_are_rounded_once(out):
    """Each part of the sum is beyond what bf16 keeps of it, and the sum is not."""
    a = jnp.concatenate([jnp.full((16, 32), 1.0), jnp.full((16, 32), -1.0)], 1).astype(BF16)
    b = normal(32, 32, dtype=BF16)
    b = jnp.concatenate([b, b + 1 / 64]).astype(BF16)
    arrays = a, b
    program = check(mesh(4), (ops.matmul, jnp.matmul), arrays, DEPTH, out, 4e-3)
    assert re.findall(r"= (\w+)\[[\d,]*\]\S* reduce-scatter\(", program.as_text()) == ["f32"]


@pytest.mark.parametrize("transposed", [False, True])
def test_tiles_of_any_width_add_up_parts_in_32_bits(monkeypatch, transposed):
    shape = Shape(64, 72, stages=3, panels=1, transposed=transposed)
    asked: list[object] = []
    monkeypatch.setattr(plan, "choose", lambda *given: asked.append(given) or shape)
    # JAX remembers what it has traced for a shape.
    arrays = normal(56 if transposed else 40, 256, dtype=BF16), normal(96, 256, dtype=BF16, seed=1)
    functions = ((lambda a, b, f=f: f(a, b.T)) for f in (ops.matmul, jnp.matmul))
    specs = P(None, "x"), P(None, "x")
    program = check(mesh(4), functions, arrays, specs, P("x"), 4e-3)
    assert re.findall(r"= (\w+)\[[\d,]*\]\S* reduce-scatter\(", program.as_text()) == ["f32"]
    assert asked


def test_transposed_operands_and_two_dimensions_that_are_summed():
    place = mesh(4)
    a, b = normal(64, 16), normal(64, 32, seed=1)
    turned = ((lambda a, b, f=f: f(a.T, b)) for f in (ops.matmul, jnp.matmul))
    program = check(place, turned, (a, b), (P("x"), P("x")), P("x"))
    assert pyptx.collectives(program) == {SCATTER: 1}
    turned = ((lambda a, b, f=f: f(a, b.T)) for f in (ops.matmul, jnp.matmul))
    program = check(place, turned, (a.T, b.T), (P(None, "x"), P(None, "x")), P("x"))
    assert pyptx.collectives(program) == {SCATTER: 1}
    numbers = (((0, 1), (0, 1)), ((), ()))
    both = (
        partial(ops.dot_general, dimension_numbers=numbers),
        partial(jnp.tensordot, axes=numbers[0]),
    )
    arrays = normal(4, 8, 16), normal(4, 8, 32, seed=1)
    specs = (P("x", "y"), P("x", "y"))
    program = check(mesh(2, 2), both, arrays, specs, P("x"))
    assert pyptx.collectives(program) == {SCATTER: 1, REDUCE: 1}
    arrays = normal(4, 8, 16), normal(16, 32, seed=1)
    both = partial(ops.dot_general, dimension_numbers=(((2,), (0,)), ((), ()))), jnp.matmul
    program = check(mesh(2, 2), both, arrays, (P("x", "y"), P()), P("x", "y"))
    assert pyptx.collectives(program) == {}


def test_scales_of_8_bit_products():
    a, b = normal(2, 16, 256).astype(E4M3), normal(256, 128, seed=1).astype(E4M3)
    of_a, of_b = jnp.abs(normal(2, 16, 1)), jnp.abs(normal(1, 128))

    def ours(a, b, of_a, of_b):
        return ops.matmul(a, b, a_scale=of_a, b_scale=of_b, out_dtype=F32)

    def reference(a, b, of_a, of_b):
        return (a @ b) * of_a * of_b

    arrays, split = (a, b, of_a, of_b), (P(None, None, "x"), P("x"), P(), P())
    program = check(mesh(4), (ours, reference), arrays, split, P(None, "x"), 2e-3)
    assert pyptx.collectives(program) == {SCATTER: 1}
    rows = (P("x", "y"), P(), P("x", "y"), P())
    program = check(mesh(2, 2), (ours, reference), arrays, rows, P("x", "y"), 2e-3)
    assert pyptx.collectives(program) == {}

    def blocks(a, b, of_a, of_b):
        wide = jnp.repeat(jnp.repeat(of_b, 128, 0), 128, 1)
        return (a * jnp.repeat(of_a, 128, -1)) @ (b * wide)

    arrays = a, b, jnp.abs(normal(2, 16, 2)), jnp.abs(normal(2, 1))
    program = check(mesh(2, 2), (ours, blocks), arrays, rows, P("x", "y"), 2e-3)
    assert pyptx.collectives(program) == {}
    assert pyptx.collectives(check(mesh(4), (ours, blocks), arrays, (P(),) * 4, None, 2e-3)) == {}


def test_integers_are_scattered_as_such():
    a, b = (
        jnp.asarray(np.random.default_rng(i).integers(-9, 9, shape), jnp.int8)
        for i, shape in enumerate(((4, 8, 64), (64, 32)))
    )
    split = (P(None, None, "x"), P("x"))
    program = check(mesh(4), (ops.matmul, jnp.matmul), (a, b), split, P("x"), 0)
    assert pyptx.collectives(program) == {SCATTER: 1}


def test_arrays_of_rows_are_split_as_the_rows():
    def ours(a, b, bias, residual):
        return ops.matmul(a, b, bias=bias, activation="gelu", residual=residual)

    def reference(a, b, bias, residual):
        return jax.nn.gelu(a @ b + bias, approximate=False) + residual

    arrays = normal(2, 16, 64), normal(64, 32), normal(32), normal(2, 16, 32)
    split = (P("x", "y"), P(), P(), P("x", "y"))
    program = check(mesh(2, 2), (ours, reference), arrays, split, P("x", "y"))
    assert pyptx.collectives(program) == {}
    gradients = (jax.grad(squares(f), argnums=(0, 1, 2, 3)) for f in (ours, reference))
    check(mesh(2, 2), gradients, arrays, split, split)
    # A sum has to be whole before it is applied: K is gathered.
    split = (P(None, None, "x"), P("x"), P(), P(None, "x"))
    program = check(mesh(4), (ours, reference), arrays, split, P(None, "x"))
    assert not {SCATTER, REDUCE} & set(pyptx.collectives(program))

    def factors(a, b, rows):
        return ops.fused_matmul(a, b, lambda total, row: total * row, rows=(rows,))

    arrays = normal(2, 8, 64), normal(64, 32), normal(2, 8)
    both = factors, lambda a, b, rows: (a @ b) * rows[..., None]
    split = (P("x", "y"), P(), P("x", "y"))
    assert pyptx.collectives(check(mesh(2, 2), both, arrays, split, P("x", "y"))) == {}
