"""jax.vmap of kernels: every choice of mapped inputs, nested, and what it launches."""

import itertools
import re

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx import Tile, kernel, ptx, reg  # noqa: E402
from pyptx.types import f32, u32  # noqa: E402

RNG = np.random.default_rng(0)
SIZES = (3, 2, 4)


@pytest.fixture(autouse=True)
def _on_cpu():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def random(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)


def compiled(f, *arguments):
    """The results, the number of launches in the program, and whether it has a loop."""
    program = jax.jit(f).lower(*arguments).compile()
    text = program.as_text()
    return program(*arguments), text.count('custom_call_target="pyptx_cpu"'), " while(" in text


def nest(f, levels):
    """f under a vmap for each level, the first level outermost."""
    for mask in reversed(levels):
        f = jax.vmap(f, tuple(0 if mapped else None for mapped in mask))
    return f


def operand(levels, index, *shape):
    return random(*(SIZES[i] for i, mask in enumerate(levels) if mask[index]), *shape)


def masks(inputs):
    """All choices of mapped inputs, but for none of them."""
    return [m for m in itertools.product((True, False), repeat=inputs) if any(m)]


TWO_LEVELS = [*itertools.product(masks(2), repeat=1), *itertools.product(masks(2), repeat=2)]
THREE_LEVELS = [
    ((True, False), (False, True), (True, False)),
    ((False, True), (True, True), (False, True)),
    ((True, True), (True, False), (True, True)),
    ((False, True), (False, True), (True, False)),
]


def shown(levels):
    return "-".join("".join("01"[mapped] for mapped in mask) for mask in levels)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("levels", TWO_LEVELS + THREE_LEVELS, ids=shown)
def test_values(operations, levels):
    x, w = operand(levels, 0, 2, 20), operand(levels, 1, 20)
    y, launches, loops = compiled(nest(operations.normalise, levels), x, w)
    close(y, jax.jit(nest(operations.reference, levels))(x, w))
    assert (launches, loops) == (1, False)


GRADIENTS = [
    *itertools.product(masks(2), repeat=1),
    ((True, False), (False, True)),
    ((False, True), (True, False)),
    ((True, True), (True, False)),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("levels", GRADIENTS, ids=shown)
def test_gradients_of_each_element(operations, levels):
    """vmap of a gradient: one weight gradient for each element."""
    x, w, g = operand(levels, 0, 2, 20), operand(levels, 1, 20), random(2, 20)

    def gradient(f):
        return nest(lambda x, w: jax.vjp(f, x, w)[1](jnp.asarray(g)), levels)

    found, launches, loops = compiled(gradient(operations.normalise), x, w)
    close(found, jax.jit(gradient(operations.reference))(x, w))
    assert (launches, loops) == (3, False), "the value, the rows' gradient and the weights'"


@pytest.mark.sampled(12)
@pytest.mark.parametrize("levels", GRADIENTS, ids=shown)
def test_the_gradient_of_a_vmap(operations, levels):
    x, w = operand(levels, 0, 2, 20), operand(levels, 1, 20)

    def gradient(f):
        return jax.grad(lambda x, w: (nest(f, levels)(x, w) ** 2).sum(), (0, 1))

    close(
        jax.jit(gradient(operations.normalise))(x, w),
        jax.jit(gradient(operations.reference))(x, w),
    )


@pytest.mark.sampled(12)
@pytest.mark.parametrize("mask", masks(3), ids=lambda m: shown([m]))
def test_sums(kernels, mask):
    shapes = ((2, 4, 20), (2, 4, 20), (2, 4))
    g, x, r = (random(*((3,) if m else ()), *s) for m, s in zip(mask, shapes, strict=True))
    found, launches, loops = compiled(nest(kernels.weight_gradient, [mask]), g, x, r)
    close(found, nest(lambda g, x, r: (g * x * r[..., None]).sum((0, 1)), [mask])(g, x, r))
    assert (launches, loops) == (1, False)


def test_two_parallel_dimensions(kernels):
    x, y = random(3, 4, 32), random(3, 5, 32)
    for in_axes in ((0, 0), (0, None), (None, 0)):
        taken = [a if axis == 0 else a[0] for a, axis in zip((x, y), in_axes, strict=True)]
        found, launches, loops = compiled(jax.vmap(kernels.products, in_axes), *taken)
        close(found, jax.vmap(lambda a, b: a @ b.T, in_axes)(*taken))
        assert (launches, loops) == (1, False)


def test_axes(kernels, operations):
    x, w = random(2, 20, 3), random(20, 3)
    mapped = jax.vmap(lambda x, w: kernels.normalise(x, w)[0], (2, 1), out_axes=1)
    wanted = jax.vmap(operations.reference, (2, 1), out_axes=1)(x, w)
    close(mapped(jnp.asarray(x), jnp.asarray(w)), wanted)
    close(jax.jit(mapped)(x, w), wanted)
    close(jax.vmap(mapped, (None, 0))(x, random(3, 20, 3)).shape, (3, 2, 3, 20))


def test_scalars(kernels):
    x, factors = random(5, 200), random(3)
    found, launches, _ = compiled(jax.vmap(kernels.scale, (None, 0)), x, factors)
    close(found, x * factors[:, None, None])
    assert launches == 1
    close(jax.vmap(lambda a: kernels.scale(a, 2.0))(random(3, 5, 200)).shape, (3, 5, 200))


def test_what_is_updated_in_place(kernels):
    x = random(3, 128)
    close(jax.jit(jax.vmap(kernels.increment))(x), x + 1)

    @kernel(
        in_specs=(Tile(8, f32), Tile(8, f32)),
        out_specs=(Tile(8, f32),),
        block=8,
        input_output_aliases={0: 0},
    )
    def accumulate(A, X, Y):
        pa, px, py = ptx.global_ptrs(A, X, Y)
        at = ptx.special.tid.x() * 4
        a = ptx.inst.ld.global_.f32(ptx.addr(pa + at))
        x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
        ptx.inst.st.global_.f32(ptx.addr(py + at), a + x)

    a, x = random(8), random(3, 8)
    kept = jnp.asarray(a)
    found, launches, _ = compiled(jax.vmap(accumulate, (None, 0)), kept, x)
    close(found, a + x)
    close(kept, a)
    assert launches == 1


def test_nothing_to_map(kernels):
    """Inputs without the axis, among other operations that have it."""
    y = jax.jit(jax.vmap(lambda x: x + kernels.iota()))(np.zeros((3, 256), np.int32))
    np.testing.assert_array_equal(y, np.tile(np.arange(256), (3, 1)))


def test_no_elements(kernels):
    y, r = jax.vmap(kernels.normalise, (0, None))(jnp.zeros((0, 2, 20)), jnp.ones(20))
    assert (y.shape, r.shape) == ((0, 2, 20), (0, 2))
    dw = jax.vmap(kernels.weight_gradient)(
        jnp.ones((3, 0, 20)), jnp.ones((3, 0, 20)), jnp.ones((3, 0))
    )
    np.testing.assert_array_equal(dw, np.zeros((3, 20)))


def test_one_after_the_other_where_no_axis_is_free(kernels):
    x, w = random(4, 64), random(3, 64)
    found, launches, loops = compiled(jax.vmap(kernels.add_row, (None, 0)), x, w)
    close(found, x + w[:, None])
    assert (launches, loops) == (1, True)
    # The level inside still folds into the rows.
    x = random(2, 4, 64)
    inner = jax.vmap(kernels.add_row, (0, None))
    found, launches, loops = compiled(jax.vmap(inner, (None, 0)), x, w)
    close(found, x + w[:, None, None])
    assert (launches, loops) == (1, True)
    # One element is no reason to launch what cannot be.
    one = jax.jit(jax.vmap(kernels.add_row, (None, 0)))(x[0], w[:1])
    close(one, x[0] + w[:1, None])


def test_elements_that_would_begin_within_a_vector():
    """A kernel may load 16 bytes where an array begins: so elements begin at multiples of that."""

    @kernel(
        in_specs=(Tile("B", "N", f32), Tile("N", f32), Tile("B", f32)),
        out_specs=(Tile("B", "N", f32),),
        grid=lambda B: (B, 1, 1),
        block=1,
        parallel=("B",),
    )
    def scale_first(X, W, S, Y):
        """Rows of whole vectors, by one thread."""
        row = ptx.special.ctaid.x()
        assert X.shape[1] % 4 == 0
        for column in range(0, X.shape[1], 4):
            x, w = X.load(row, column, vector=4), W.load(column, vector=4)
            Y.store(row, column, [S[row] * a * b for a, b in zip(x, w, strict=True)])

    def wanted(x, w, s):
        return x * w * s[:, None]

    x, w, s = random(5, 3, 8), random(5, 8), random(5, 3)
    for axes, program in (
        ((0, None, 0), (1, False)),  # further rows
        ((0, 0, 0), (1, False)),  # 96, 32 and 12 bytes, of which the scales are read one by one
        ((None, 0, None), (1, False)),
    ):
        taken = [a if axis == 0 else a[0] for a, axis in zip((x, w, s), axes, strict=True)]
        found, *rest = compiled(jax.vmap(scale_first, axes), *taken)
        close(found, jax.vmap(wanted, axes)(*taken))
        assert tuple(rest) == program

    @kernel(
        in_specs=(Tile("B", 6, f32), Tile(6, f32)),
        out_specs=(Tile("B", 6, f32),),
        grid=lambda B: (B, 1, 1),
        block=1,
        parallel=("B",),
    )
    def scale_pairs(X, W, Y):
        """Rows of 24 bytes, of which every second begins at a multiple of 16."""
        row = ptx.special.ctaid.x()
        for column in range(0, 6, 2):
            x, w = X.load(row, column, vector=2), W.load(column, vector=2)
            Y.store(row, column, [a * b for a, b in zip(x, w, strict=True)])

    x, w = random(5, 3, 6), random(5, 6)
    found, *rest = compiled(jax.vmap(scale_pairs), x, w)
    close(found, x * w[:, None])
    assert rest == [1, False]

    @kernel(
        in_specs=(Tile("B", 5, f32), Tile(5, f32), Tile("B", f32)),
        out_specs=(Tile("B", 5, f32),),
        grid=lambda B: (B, 1, 1),
        block=1,
        parallel=("B",),
    )
    def scale_five(X, W, S, Y):
        """Rows of 20 bytes; the first four weights are one vector."""
        row = ptx.special.ctaid.x()
        w = [*W.load(0, vector=4), W[4]]
        for column in range(5):
            Y[row, column] = S[row] * X[row, column] * w[column]

    x, w, s = random(5, 3, 5), random(5, 5), random(5, 3)
    for axes, program in (
        ((0, None, 0), (1, False)),
        ((0, None, None), (1, False)),  # the scales are repeated
        ((0, 0, 0), (1, True)),  # one after the other
        ((None, 0, None), (1, True)),
    ):
        taken = [a if axis == 0 else a[0] for a, axis in zip((x, w, s), axes, strict=True)]
        found, *rest = compiled(jax.vmap(scale_five, axes), *taken)
        close(found, jax.vmap(wanted, axes)(*taken))
        assert tuple(rest) == program


def test_more_elements_than_a_grid_takes():
    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), block=1)
    def negate(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        ptx.inst.st.global_.f32(ptx.addr(py), -ptx.inst.ld.global_.f32(ptx.addr(px)))

    x = random(65535, 1)
    found, launches, loops = compiled(jax.vmap(negate), x)
    np.testing.assert_array_equal(found, -x)
    assert (launches, loops) == (1, False)
    x = random(70000, 1)
    found, _, _ = compiled(jax.vmap(negate), x)
    np.testing.assert_array_equal(found, -x)


def test_scans_inside_and_outside(operations):
    x, weights = random(3, 2, 20), random(4, 20)

    def layers(f):
        return lambda x: jax.lax.scan(lambda c, w: (f(c, w), None), x, weights)[0]

    wanted = jax.vmap(layers(operations.reference))(x)
    close(jax.jit(jax.vmap(layers(operations.normalise)))(x), wanted)
    each = lambda f: jax.lax.scan(
        lambda c, w: (jax.vmap(f, (0, None))(c, w), None), jnp.asarray(x), weights
    )[0]
    close(jax.jit(lambda: each(operations.normalise))(), wanted)


def test_no_derivative_under_vmap(kernels):
    with pytest.raises(NotImplementedError, match=re.escape("kernel increment has no derivative")):
        jax.vmap(jax.grad(lambda x: kernels.increment(x).sum()))(jnp.ones((3, 128), jnp.float32))


def test_symbolic_sizes(kernels, operations):
    """A program that is exported for any number of elements."""
    import pyptx

    n, b = jax.export.symbolic_shape("n, b")
    f = jax.jit(jax.vmap(lambda x, w: kernels.normalise(x, w)[0]))
    specs = jax.ShapeDtypeStruct((n, b, 20), np.float32), jax.ShapeDtypeStruct((n, 20), np.float32)
    exported = jax.export.export(
        f, platforms=["cpu"], disabled_checks=pyptx.export_safety_checks()
    )(*specs)
    for shape in ((3, 2, 20), (1, 5, 20)):
        x, w = random(*shape), random(shape[0], 20)
        close(exported.call(x, w), jax.vmap(operations.reference)(x, w))


def test_the_axis_that_batches_is_not_the_kernels():
    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, u32),), block=1)
    def where(X, Y):
        (py,) = ptx.global_ptrs(Y)
        ptx.inst.st.global_.u32(ptx.addr(py), reg.from_(ptx.special.ctaid.z(), u32))

    np.testing.assert_array_equal(where(jnp.ones(1)), [0])
    with pytest.raises(Exception, match=r"ctaid\.z"):
        jax.vmap(where)(jnp.ones((3, 1)))
