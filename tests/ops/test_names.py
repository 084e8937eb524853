"""Names that kernels of `pyptx.ops` bind in run-time blocks, which are not followed when they run.

Those of users are, as tests/trace says. Here those of the operations are too.
"""

from __future__ import annotations

import linecache
from dataclasses import replace
from pathlib import Path

import pytest
from tests.ops.tensor_core.products import built

pytest.importorskip("jax", reason="the operations are JAX's")

import jax
import jax.numpy as jnp

import pyptx
from pyptx import Tile, kernel, ptx, reg
from pyptx._trace.core import names
from pyptx.errors import LanguageError
from pyptx.ops.tensor_core.epilogue import SCALED
from pyptx.ops.tensor_core.shape import Product, Shape
from pyptx.types import bf16, e4m3, f32, u32

from .operations import CASES

SHAPES = {
    "one block": Shape(128, 128, stages=3),
    "two blocks": Shape(256, 128, blocks=2, stages=3),
    "by turns": Shape(128, 64, blocks=2, stages=3, pingpong=True),
    "split": Shape(128, 128, stages=3, split=True),
    "cluster of rows": Shape(128, 128, stages=3, cluster="rows"),
    "cluster along K": Shape(64, 128, stages=3, cluster="depth"),
    "few rows": Shape(16, 128, stages=3),
    "transposed": Shape(128, 136, stages=3, transposed=True),
}
BF16 = Product(bf16, bf16, bf16)
PRODUCTS = {
    "of three dimensions": replace(BF16, a_batched=True, b_batched=True),
    "of groups of rows": replace(BF16, b_batched=True, ragged="M"),
    "of groups along K": replace(BF16, a_major="MN", ragged="K"),
    "scaled": Product(e4m3, e4m3, bf16, b_major="K", epilogue=SCALED, batches=(False, False)),
    "of blocks": Product(e4m3, e4m3, bf16, b_major="K", blocks="block", batches=(False, False)),
    "rounded": Product(bf16, bf16, f32, rounded=True),
}
MISTAKE = """
def made(users):
    def program(x_ref, y_ref):
        px, py = ptx.global_ptrs(x_ref, y_ref)
        at = reg.from_(ptx.special.tid.x(), u32) * 4
        x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
        users.sum = x
        with ptx.if_(at > 64):
            {}
        ptx.inst.st.global_.f32(ptx.addr(py + at), x)
        ptx.inst.st.global_.f32(ptx.addr(py + at), users.sum)
    return program
"""


class Kept:
    """An object of the user."""

    sum = None


def mistaken(request, line):
    """A kernel of a file of the package with this line in a block."""
    path, text = str(Path(names.__file__).parents[2] / "ops" / "_mistake.py"), MISTAKE.format(line)
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    request.addfinalizer(lambda: linecache.cache.pop(path, None))
    space = {"ptx": ptx, "reg": reg, "u32": u32}
    exec(compile(text, path, "exec"), space)
    specs = {"in_specs": (Tile(32, f32),), "out_specs": (Tile(32, f32),), "block": 32}
    return kernel(**specs)(space["made"](Kept()))


@pytest.fixture
def followed(monkeypatch):
    monkeypatch.setattr(names, "is_of_ops", lambda frame: False)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_shapes_of_products(followed, shape):
    with pyptx.target("sm_90a"):
        assert built(BF16, shape, 7).ptx()


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_kinds_of_products(followed, product):
    with pyptx.target("sm_90a"):
        groups = {"G": 3} if product.ragged else {}
        assert built(product, replace(SHAPES["one block"], panels=1), 7).ptx(**groups)


@pytest.mark.sampled(32, each="case")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("length", [37, 2309, 40003])
def test_rows(followed, case, length):
    """Forward and backward; the lengths are those of no other test, so the kernels are traced."""
    arrays = [jnp.asarray(a, jnp.bfloat16) for a in case.arguments(1, length)]
    if case.labels:
        arrays[-1] = arrays[-1].astype(jnp.int32)

    def both(*given):
        y, back = jax.vjp(
            lambda *floats: case.operation(*floats, *given[len(case.floats) :]),
            *given[: len(case.floats)],
        )
        return y, back(y)

    with pyptx.target("sm_90a"):
        assert "pyptx" in jax.jit(both).lower(*arrays).as_text()


def test_a_mistake_is_seen_here(request):
    """What the language refuses in a user's file, it does in the package's if it follows it."""
    assert mistaken(request, "x = x + 1.0").ptx()
    request.getfixturevalue("followed")
    with pytest.raises(LanguageError, match=r"x was bound before ptx\.if_ and is bound anew"):
        mistaken(request, "x = x + 1.0").ptx()


def test_what_is_the_users_is_followed_always(request):
    """An object of the user, such as his operation, is in a variable of the package's."""
    assert mistaken(request, "users.sum.set(x + 1.0)").ptx()
    with pytest.raises(LanguageError, match=r"users\.sum has another register after ptx\.if_"):
        mistaken(request, "users.sum = x + 1.0").ptx()
