"""Operations in JAX programs: their values, derivatives, maps, shardings, exported programs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import ops  # noqa: E402

from .operations import CASES, TYPES  # noqa: E402

# Rounding to a type, and the arithmetic in f32 or f64 before it.
ROUNDED = {"bfloat16": 2**-8, "float16": 2**-10, "float32": 4e-6, "float64": 2e-14}
LENGTHS = (1, 24, 129, 1000, 2049)
# What every run has; `make sweep` has all.
OFTEN = {(jnp.bfloat16, 1), (jnp.float16, 1000), (np.float64, 129), (jnp.float32, 2049)}
# Few rows and many; `make sweep` has all.
LONG_OFTEN = {(300, 20001), (2, 50257)}

LONG_ONES = ("layer_norm", "softmax", "add_rms_norm")
LONG = [case for case in CASES if case.name in LONG_ONES or case.reduces]


def combinations(often, first, second):
    """All pairs; those that are not in `often` are of the sweep."""
    return [
        pytest.param(a, b, marks=() if (a, b) in often else pytest.mark.sweep)
        for a in first
        for b in second
    ]


each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def close(found, expected, dtype):
    tolerance = ROUNDED[np.dtype(dtype).name]
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(
        np.asarray(found).astype(np.float64), expected, rtol=tolerance, atol=tolerance * scale
    )


def scalar(function, direction):
    return lambda *arrays: (function(*arrays).astype(direction.dtype) * direction).sum()


@each_case
@pytest.mark.sampled(48, each="case")
@pytest.mark.parametrize(
    ("dtype", "length"),
    combinations(OFTEN, TYPES, LENGTHS),
    ids=lambda value: str(value) if isinstance(value, int) else np.dtype(value).name,
)
def test_values_and_gradients(case, dtype, length):
    with jax.enable_x64(dtype is np.float64):
        arrays = [jnp.asarray(a) for a in case.arguments(3, length, dtype=dtype)]
        y = case.operation(*arrays)
        assert (y.shape, y.dtype) == case.result(arrays[0])
        close(y, case.exact(*arrays), y.dtype)
        np.testing.assert_array_equal(jax.jit(case.operation)(*arrays), y)
        g = np.random.default_rng(1).standard_normal(y.shape).astype(y.dtype)
        direction = scalar(case.operation, jnp.asarray(g))
        found = jax.jit(jax.grad(direction, case.floats))(*arrays)
    with jax.enable_x64(True):
        direction = scalar(case.formula, jnp.asarray(g.astype(np.float64)))
        exact = jax.jit(jax.grad(direction, case.floats))(*case.wide(*arrays))
    for one, other in zip(found, exact, strict=True):
        # A gradient of softmax is made from y, which is rounded.
        close(one, np.asarray(other), jnp.bfloat16 if case.from_result else dtype)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("case", LONG, ids=lambda case: case.name)
@pytest.mark.parametrize(
    ("rows", "length"), combinations(LONG_OFTEN, (2, 300), (9000, 20001, 50257, 131072, 262144))
)
def test_long_rows(case, rows, length):
    """By several CTAs for a row, and by two passes; where rows are many, by other kernels."""
    if rows * length > 2_000_000:
        rows = 2_000_000 // length
    arrays = [jnp.asarray(a) for a in case.arguments(rows, length, dtype=jnp.bfloat16)]
    y = case.operation(*arrays)
    close(y, case.exact(*arrays), y.dtype)
    g = np.random.default_rng(1).standard_normal(y.shape).astype(y.dtype)
    found = jax.jit(jax.grad(scalar(case.operation, jnp.asarray(g)), case.floats))(*arrays)
    with jax.enable_x64(True):
        direction = scalar(case.formula, jnp.asarray(g.astype(np.float64)))
        exact = jax.jit(jax.grad(direction, case.floats))(*case.wide(*arrays))
    for one, other in zip(found, exact, strict=True):
        close(one, np.asarray(other), jnp.bfloat16)


@each_case
@pytest.mark.sampled(20)
def test_second_derivatives(case):
    arrays = [jnp.asarray(a) for a in case.arguments(2, 5)]

    def twice(function):
        first = jax.grad(lambda *a: (function(*a) ** 2).sum())
        return jax.jit(jax.jacrev(lambda *a: first(*a).sum()))(*arrays)

    np.testing.assert_allclose(twice(case.operation), twice(case.formula), rtol=2e-4, atol=2e-4)


@pytest.mark.sampled(16)
@each_case
def test_vmap_is_one_launch_of_more_rows(case):
    arrays = [jnp.asarray(a) for a in case.arguments(4, 3, 40)]
    axes = tuple(None if case.per_column(i) else 0 for i in range(len(arrays)))
    mapped = jax.jit(jax.vmap(case.operation, axes))
    np.testing.assert_array_equal(mapped(*arrays), case.operation(*arrays))
    assert str(jax.make_jaxpr(mapped)(*arrays)).count("pyptx_launch[") == 1


@pytest.mark.sampled(16)
@each_case
def test_sharded_rows_need_no_collective_but_the_sums_of_columns(case):
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
    rows, whole = NamedSharding(mesh, P("rows")), NamedSharding(mesh, P())
    arrays = case.arguments(16, 40)
    placed = [
        jax.device_put(a, whole if case.per_column(i) else rows) for i, a in enumerate(arrays)
    ]
    forward = jax.jit(case.operation).lower(*placed).compile()
    assert pyptx.collectives(forward) == {}
    y = case.operation(*map(jnp.asarray, arrays))
    np.testing.assert_array_equal(forward(*placed), y)
    g = jax.device_put(np.ones(y.shape, np.float32), rows)

    def gradient(g, *arrays):
        floats, labels = arrays[: len(case.floats)], arrays[len(case.floats) :]
        return jax.vjp(lambda *floats: case.operation(*floats, *labels), *floats)[1](g)

    backward = jax.jit(gradient).lower(g, *placed).compile()
    sums = pyptx.collectives(backward)
    assert set(sums) <= ({"all-reduce"} if case.columns else set())
    alone = gradient(jnp.ones(y.shape), *map(jnp.asarray, arrays))
    for found, expected in zip(backward(g, *placed), alone, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.sampled(16)
@each_case
def test_export(case):
    """In a program with a symbolic number of rows, read back."""
    arrays = case.arguments(6, 24)
    (size,) = jax.export.symbolic_shape("b")
    shapes = [
        jax.ShapeDtypeStruct(a.shape if case.per_column(i) else (size, *a.shape[1:]), a.dtype)
        for i, a in enumerate(arrays)
    ]
    exported = jax.export.export(
        jax.jit(case.operation), disabled_checks=pyptx.export_safety_checks()
    )(*shapes)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(*arrays), case.operation(*map(jnp.asarray, arrays)))


@each_case
def test_no_rows(case):
    arrays = [jnp.asarray(a) for a in case.arguments(0, 24)]
    assert case.operation(*arrays).shape == case.result(arrays[0])[0]


def test_what_is_no_number_spreads_as_in_the_formula():
    x = np.zeros((6, 40), np.float32)
    x[0, 3], x[1, 3], x[2], x[3, 5] = np.nan, np.inf, -np.inf, -np.inf
    for found, formula in ((ops.softmax, jax.nn.softmax), (ops.log_softmax, jax.nn.log_softmax)):
        np.testing.assert_array_equal(np.isnan(found(x)), np.isnan(formula(x)))
    y = ops.layer_norm(x)
    assert np.isnan(y[:4]).all()
    np.testing.assert_array_equal(y[4:], 0)


def test_a_mean_far_from_zero_costs_no_digits():
    x = np.random.default_rng(0).standard_normal((4, 3000)).astype(np.float32) + 4096
    exact = x.astype(np.float64)
    away = exact - exact.mean(-1, keepdims=True)
    expected = away / np.sqrt((away**2).mean(-1, keepdims=True) + 1e-5)
    assert np.abs(ops.layer_norm(x) - expected).max() < 4096 * 2**-23


@pytest.mark.parametrize("length", [40, 4096, 50257])
def test_a_row_of_softmax_adds_up_to_one(length):
    x = (np.random.default_rng(0).standard_normal((3, length)) * 30).astype(np.float32)
    exact = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True).astype(np.float64))
    exact /= exact.sum(-1, keepdims=True)
    assert np.abs(np.asarray(ops.softmax(x), np.float64) - exact).max() <= 2e-6


def test_labels_that_are_no_columns():
    x = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
    x[4] = np.nan
    labels = np.array([3, 40, -1, -100, -100, 39], np.int32)
    loss = partial(ops.cross_entropy, ignore_index=-100)
    y, pull = jax.vjp(lambda x: loss(x, labels), jnp.asarray(x))
    (dx,) = pull(jnp.ones(6))
    np.testing.assert_array_equal(np.isnan(y), [False, True, True, False, False, False])
    np.testing.assert_array_equal(y[3:5], 0)
    np.testing.assert_array_equal(np.isnan(dx).any(1), np.isnan(y))
    np.testing.assert_array_equal(dx[3:5], 0)
    assert np.isnan(ops.cross_entropy(x, labels)[3])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_labels_of_other_integers(dtype):
    x = np.random.default_rng(0).standard_normal((3, 40)).astype(np.float32)
    with jax.enable_x64(True):
        labels = np.array([0, 39, np.iinfo(dtype).max], dtype)
        y = ops.cross_entropy(x, labels)
    np.testing.assert_array_equal(y[:2], ops.cross_entropy(x[:2], np.array([0, 39], np.int32)))
    assert np.isnan(y[2])


def test_what_is_no_number_makes_no_loss():
    x = np.zeros((5, 40), np.float32)
    x[0, 3], x[1, 3], x[2], x[3, 5], x[4, 0] = np.nan, np.inf, -np.inf, -np.inf, -np.inf
    labels = np.zeros(5, np.int32)
    y = np.asarray(ops.cross_entropy(x, labels))
    assert np.isnan(y[:3]).all()
    np.testing.assert_allclose(y[3], np.log(39), rtol=1e-6)
    assert y[4] == np.inf
    targets = np.full((5, 40), 1 / 39, np.float32)
    targets[:, 5] = 0
    y = np.asarray(ops.cross_entropy(x, targets))
    assert np.isnan(y[:3]).all()
    np.testing.assert_allclose(y[3], np.log(39), rtol=1e-6)


@pytest.mark.parametrize("length", [129, 4096, 50257, 131072])
@pytest.mark.parametrize("scale", [1, 40])
def test_losses_within_a_millionth(length, scale):
    random = np.random.default_rng(0)
    x = (random.standard_normal((4, length)) * scale).astype(np.float32)
    labels = random.integers(0, length, 4).astype(np.int32)
    wide = x.astype(np.float64)
    top = wide.max(-1)
    lse = np.log(np.exp(wide - top[:, None]).sum(-1)) + top
    found = np.asarray(ops.cross_entropy(x, labels), np.float64)
    assert (np.abs(found - (lse - wide[np.arange(4), labels])) <= 1e-6 * np.abs(lse)).all()


def test_a_sum_has_its_own_type():
    random = np.random.default_rng(0)
    x = random.standard_normal((3, 1000)).astype(jnp.bfloat16)
    residual = random.standard_normal((3, 1000)).astype(np.float32)
    w = random.standard_normal(1000).astype(np.float16)
    for operation, norm, kind in (
        (ops.add_rms_norm, ops.rms_norm, w.dtype),
        (ops.add_layer_norm, ops.layer_norm, x.dtype),
    ):
        (y, s), pull = jax.vjp(operation, *map(jnp.asarray, (x, residual, w)))
        np.testing.assert_array_equal(s, x.astype(np.float32) + residual)
        assert (y.dtype, s.dtype) == (kind, residual.dtype)
        np.testing.assert_allclose(
            np.asarray(y, np.float32),
            np.asarray(norm(s, jnp.asarray(w)), np.float32),
            rtol=1e-2,
            atol=1e-2,
        )
        dx, dr, dw = pull((jnp.ones_like(y), jnp.ones_like(s)))
        assert (dx.dtype, dr.dtype, dw.dtype) == (x.dtype, residual.dtype, w.dtype)
        np.testing.assert_array_equal(dx, dr.astype(dx.dtype))


def test_the_norm_reads_the_sum_as_it_is_written():
    random = np.random.default_rng(0)
    x, residual = (random.standard_normal((3, 1000)).astype(jnp.bfloat16) for _ in range(2))
    y, s = ops.add_layer_norm(x, residual)
    np.testing.assert_array_equal(s, x + residual)
    np.testing.assert_array_equal(y, ops.layer_norm(s))


SOFTMAXES = ((ops.softmax, jax.nn.softmax), (ops.log_softmax, jax.nn.log_softmax))


def of_what_counts(function, counts, g):
    """A number with a derivative, of a result that may be infinite elsewhere."""
    return lambda x: jnp.where(counts, function(x) * g, 0).sum()


@pytest.mark.sampled(24, each=("masked", "shape"))
@pytest.mark.parametrize(
    "shape",
    [
        (1, 1),
        (3, 7, 7),
        (2, 9, 1003),
        *(pytest.param(shape, marks=pytest.mark.sweep) for shape in ((2, 40, 24), (3, 4099))),
    ],
)
@pytest.mark.parametrize("masked", [False, True], ids=["causal", "where"])
def test_softmax_of_what_counts(shape, masked):
    random = np.random.default_rng(0)
    x = jnp.asarray(random.standard_normal(shape).astype(np.float32))
    counts = np.broadcast_to(np.arange(shape[-1]) <= np.arange(shape[-2])[:, None], shape)
    options = {"causal": True}
    if masked:
        counts = random.random(shape) < 0.5
        counts[..., 0, :] = False
        options = {"where": jnp.asarray(counts)}
    g = jnp.asarray(random.standard_normal(shape).astype(np.float32))
    for operation, formula in SOFTMAXES:
        found = partial(operation, scale=0.5, **options)
        exact = jax.jit(lambda x, formula=formula: formula(0.5 * x, where=counts))
        np.testing.assert_allclose(found(x), exact(x), rtol=2e-6, atol=2e-6)
        one, other = (jax.jit(jax.grad(of_what_counts(f, counts, g)))(x) for f in (found, exact))
        # That of jax.nn is NaN where nothing counts.
        there = counts.any(-1)
        np.testing.assert_allclose(one[there], other[there], rtol=1e-5, atol=2e-6)
        np.testing.assert_array_equal(np.asarray(one)[~counts], 0)


@pytest.mark.sampled(48, each=("dtype", "largest", "columns"))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("largest", [-3.4e38, -1e10, -1e5, 1e4, 65504.0, 5e8, 6.3e9, 3e38])
@pytest.mark.parametrize("columns", [3, 100, 3000, 40000])
def test_rows_of_large_elements(dtype, largest, columns):
    """As masks make them: of f32, or the lowest number of a type, in all of a row."""
    random = np.random.default_rng(0)
    near = largest * (1 + random.integers(0, 3, (6, columns)) * 2.0**-22)
    near[0] = largest
    near[1] = random.standard_normal(columns)
    near[1, : columns // 2] = largest
    near[2] = largest + random.standard_normal(columns)
    x = jnp.asarray(near.astype(np.float32)).astype(dtype)
    labels = random.integers(0, columns, 6).astype(np.int32)
    with jax.enable_x64(True):
        wide = jnp.asarray(np.asarray(x).astype(np.float64))
        soft, logs = (np.array(f(wide)) for f in (jax.nn.softmax, jax.nn.log_softmax))
    picked = logs[np.arange(6), labels]
    within = dict.fromkeys(("rtol", "atol"), 2e-6 if dtype == "float32" else 4e-3)
    np.testing.assert_allclose(np.asarray(ops.softmax(x), np.float64), soft, **within)
    np.testing.assert_allclose(np.asarray(ops.log_softmax(x), np.float64), logs, **within)
    loss, slope = jax.value_and_grad(lambda x: ops.cross_entropy(x, labels).sum())(x)
    np.testing.assert_allclose(loss, -picked.sum(), rtol=1e-6)
    soft[np.arange(6), labels] -= 1
    np.testing.assert_allclose(np.asarray(slope, np.float64), soft, **within)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("columns", [20000, 32000, 40000, 50304])
def test_gradients_of_vocabularies(dtype, columns):
    """Rows that leave a CTA no room for another one, and have nothing to wait for."""
    random = np.random.default_rng(columns)
    x = jnp.asarray(random.standard_normal((5, columns)), dtype)
    labels = random.integers(0, columns, 5).astype(np.int32)
    wide = np.asarray(x).astype(np.float64)
    soft = np.exp(wide) / np.exp(wide).sum(-1, keepdims=True)
    soft[np.arange(5), labels] -= 1
    found = jax.grad(lambda x: ops.cross_entropy(x, labels).sum())(x)
    bound = {"rtol": 2.0**-8, "atol": 1e-8} if dtype == "bfloat16" else {"rtol": 1e-5, "atol": 1e-9}
    np.testing.assert_allclose(np.asarray(found).astype(np.float64), soft, **bound)
    slope = jax.grad(lambda x: ops.silu(x).astype(jnp.float32).sum())(x)
    sigmoid = 1 / (1 + np.exp(-wide))
    exact = sigmoid * (1 + wide * (1 - sigmoid))
    np.testing.assert_allclose(np.asarray(slope).astype(np.float64), exact, rtol=2e-2, atol=4e-3)
    np.testing.assert_allclose(
        np.asarray(ops.silu(x)).astype(np.float64), wide * sigmoid, rtol=2.0**-8, atol=1e-6
    )


def test_cotangents_of_masked_elements_do_not_count():
    """They are constants of log-softmax, whatever is made of them."""
    random = np.random.default_rng(0)
    x, g = (jnp.asarray(random.standard_normal((5, 70)), jnp.float32) for _ in range(2))
    rows = jnp.asarray(random.random((5, 70)) < 0.5).at[:, 0].set(True)
    for mask in (rows, rows[0]):
        found, exact = (
            jax.jit(lambda x, f=f, mask=mask: jax.vjp(lambda x: f(x, where=mask), x)[1](g)[0])(x)
            for f in (ops.log_softmax, jax.nn.log_softmax)
        )
        np.testing.assert_allclose(found, exact, rtol=2e-6, atol=2e-6)


def test_numpys_f64_is_what_jax_makes_of_it():
    x = np.random.default_rng(0).standard_normal((3, 8))
    w, labels = np.ones(8), np.array([0, 7, 2])
    for found, dtype in (
        (ops.softmax(x), np.float32),
        (ops.layer_norm(x, w, w), np.float32),
        (ops.add_rms_norm(x, x, w)[1], np.float32),
        (ops.cross_entropy(x, labels), np.float32),
        (ops.top_k(x, 2)[0], np.float32),
        (ops.swiglu(x), np.float32),
        (jax.jit(lambda w: ops.rms_norm(x, w))(w), np.float32),
        (ops.rms_norm(x, jnp.asarray(w)), np.float32),
        (ops.rms_norm(x.astype(np.float32), jnp.ones(8)), np.float32),
        (ops.rms_norm(x, w), np.float64),  # of NumPy's arrays alone NumPy's kind comes back
    ):
        assert found.dtype == dtype
    np.testing.assert_allclose(ops.softmax(x), jax.nn.softmax(x), rtol=2e-6)


def test_integers_of_numpy_that_are_no_s32():
    """JAX would take their low halves."""
    x = np.random.default_rng(0).standard_normal((2, 5)).astype(np.float32)
    loss = ops.cross_entropy(x, np.array([2**32 + 1, 1]))
    assert np.isnan(loss[0])
    assert loss[1] == ops.cross_entropy(x, np.array([1, 1]))[1]
    whole = ops.softmax(x, causal=True, positions=np.array([2**40, 2**33]))
    np.testing.assert_array_equal(whole, ops.softmax(x))


def test_second_derivatives_of_a_causal_softmax():
    x = jnp.asarray(np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32))
    counts = np.tri(5, dtype=bool)
    for operation, formula in SOFTMAXES:
        found, exact = (
            jax.jit(jax.jacrev(jax.grad(lambda x, f=f: (jnp.where(counts, f(x), 0) ** 2).sum())))(x)
            for f in (partial(operation, causal=True), partial(formula, where=counts))
        )
        np.testing.assert_allclose(found, exact, rtol=2e-4, atol=2e-4)


def test_a_causal_softmax_of_sharded_batches_needs_no_collective():
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
    x = np.random.default_rng(0).standard_normal((8, 6, 40)).astype(np.float32)
    placed = jax.device_put(x, NamedSharding(mesh, P("rows")))
    both = jax.jit(jax.value_and_grad(lambda x: (ops.softmax(x, causal=True) ** 2)[0].sum()))
    forward = jax.jit(partial(ops.softmax, causal=True)).lower(placed).compile()
    assert pyptx.collectives(forward) == {}
    np.testing.assert_array_equal(forward(placed), ops.softmax(x, causal=True))
    np.testing.assert_allclose(both(placed)[1], both(jnp.asarray(x))[1], rtol=1e-6)


def test_the_mask_of_a_softmax_broadcasts():
    x = np.random.default_rng(0).standard_normal((2, 3, 40)).astype(np.float32)
    counts = np.arange(40) < 13
    expected = jax.nn.softmax(x, where=counts)
    for mask in (counts, counts[None], np.broadcast_to(counts, (2, 1, 40))):
        np.testing.assert_allclose(ops.softmax(x, where=mask), expected, rtol=2e-6)


def test_a_mask_is_exported():
    x, mask = np.ones((6, 24), np.float32), np.arange(24) < 5
    (size,) = jax.export.symbolic_shape("b")
    function = jax.jit(lambda x, mask: ops.softmax(x, where=mask, causal=True))
    exported = jax.export.export(function, disabled_checks=pyptx.export_safety_checks())(
        jax.ShapeDtypeStruct((size, 24), x.dtype), jax.ShapeDtypeStruct((24,), mask.dtype)
    )
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(x, mask), function(x, mask))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_gelu_of_large_numbers(dtype):
    tiny = np.finfo(dtype).tiny
    x = np.array([-np.inf, -1e30, -8.0, -0.0, 0.0, tiny, 1e-25, 9.0, 1e30, np.inf, np.nan], dtype)
    with jax.enable_x64(dtype is np.float64):
        exact = partial(ops.gelu, approximate=False)
        y = np.asarray(exact(x))
        slope = np.asarray(jax.grad(lambda x: exact(x).sum())(jnp.asarray(x)))
    # 8 deviations below 0 there is 6.22e-16 of the area, under a density of 5.05e-15.
    np.testing.assert_allclose(y[:4], [0, 0, -8 * 6.2209605742718e-16, 0], rtol=2e-5)
    np.testing.assert_allclose(y[4:-1], [0, tiny / 2, 5e-26, 9, 1e30, np.inf], rtol=1e-6)
    np.testing.assert_allclose(slope[:-1], [0, 0, slope[2], 0.5, 0.5, 0.5, 0.5, 1, 1, 1], rtol=1e-6)
    np.testing.assert_allclose(slope[2], 6.22096e-16 - 8 * 5.052271e-15, rtol=2e-5)
    assert np.isnan(y[-1])
    assert np.isnan(slope[-1])


@pytest.mark.sampled(32)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float32], ids=["bfloat16", "float32"])
@pytest.mark.parametrize("columns", [4, 61, 1000])
def test_a_vocabulary_that_is_split_needs_one_all_reduce(dtype, columns):
    mesh = jax.make_mesh((2, 4), ("rows", "columns"), axis_types=(AxisType.Auto,) * 2)
    random = np.random.default_rng(0)
    x = jnp.asarray((random.standard_normal((6, 4 * columns)) * 3).astype(dtype))
    labels = jnp.asarray([0, 4 * columns - 1, 4 * columns, -1, -100, columns], jnp.int32)
    options = {"ignore_index": -100, "label_smoothing": 0.1, "z_loss": 1e-2}
    split = jax.jit(
        jax.shard_map(
            partial(ops.cross_entropy, axis_name="columns", **options),
            mesh=mesh,
            in_specs=(P("rows", "columns"), P("rows")),
            out_specs=P("rows"),
        )
    )
    whole = partial(ops.cross_entropy, **options)
    placed = [
        jax.device_put(a, NamedSharding(mesh, P(*axes)))
        for a, axes in ((x, ("rows", "columns")), (labels, ("rows",)))
    ]
    assert pyptx.collectives(split.lower(*placed).compile()) == {"all-reduce": 1}
    np.testing.assert_allclose(split(x, labels), whole(x, labels), rtol=2e-6)
    there = jnp.asarray([0, 1, 4, 5])
    found, expected = (
        jax.jit(jax.grad(lambda x, f=f: (f(x, labels)[there] ** 2).sum()))(x)
        for f in (split, whole)
    )
    tolerance = ROUNDED[np.dtype(dtype).name]
    np.testing.assert_allclose(
        found[there].astype(np.float32),
        expected[there].astype(np.float32),
        rtol=tolerance,
        atol=tolerance,
    )


@pytest.mark.parametrize("largest", [1e4, 6.3e9, -3.4e38])
def test_a_split_vocabulary_of_large_elements(largest):
    """The gradient of a device's columns is made of their maximum, not of a rounded logarithm."""
    mesh = jax.make_mesh((2,), ("columns",), axis_types=(AxisType.Auto,))
    random = np.random.default_rng(0)
    x = (largest + random.standard_normal((4, 16))).astype(np.float32)
    x[1] = random.standard_normal(16)
    x[1, 8:] = largest
    labels = np.asarray([0, 15, 7, 8], np.int32)
    split = jax.shard_map(
        partial(ops.cross_entropy, axis_name="columns"),
        mesh=mesh,
        in_specs=(P(None, "columns"), P()),
        out_specs=P(),
    )
    with jax.enable_x64(True):
        exact = np.array(jax.nn.softmax(jnp.asarray(x.astype(np.float64))))
    exact[np.arange(4), labels] -= 1
    found = jax.jit(jax.grad(lambda x: split(x, labels).sum()))(x)
    np.testing.assert_allclose(found, exact, rtol=2e-6, atol=2e-6)


def test_a_split_vocabulary_of_what_is_no_number():
    """Rows that are ignored, columns of minus infinity on a device, and labels out of range."""
    mesh = jax.make_mesh((2,), ("columns",), axis_types=(AxisType.Auto,))
    x = np.random.default_rng(0).standard_normal((5, 16)).astype(np.float32)
    x[0, 1], x[1, 15], x[2, :8], x[4, 8:] = np.nan, np.inf, -np.inf, -np.inf
    labels = np.asarray([-100, -100, 9, 16, 0], np.int32)
    split = jax.shard_map(
        partial(ops.cross_entropy, axis_name="columns", ignore_index=-100),
        mesh=mesh,
        in_specs=(P(None, "columns"), P()),
        out_specs=P(),
    )
    whole = partial(ops.cross_entropy, ignore_index=-100)
    for f in (lambda g: g(x, labels), lambda g: jax.grad(lambda x: g(x, labels).sum())(x)):
        np.testing.assert_allclose(jax.jit(lambda f=f: f(split))(), f(whole), rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(32, each=("dtype", "scale"))
@pytest.mark.parametrize("scale", [1, 30, 1000, 1e5])
@pytest.mark.parametrize("columns", [1, 2, 100, 3000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_next_to_zero(dtype, columns, scale):
    """However large the elements are; and no probability is larger than 1."""
    generator = np.random.default_rng(columns)
    x = (generator.normal(size=(9, columns)) * scale).astype(dtype)
    with jax.enable_x64(True):
        exact = np.asarray(jax.nn.log_softmax(x.astype(np.float64)))
        found = np.asarray(ops.log_softmax(jnp.asarray(x)))
        largest = x.argmax(-1)
        losses = np.asarray(ops.cross_entropy(jnp.asarray(x), largest))
    bound = 1e-6 if dtype == "float32" else 1e-14
    assert found.max() <= 0
    assert losses.min() >= 0
    assert not np.signbit(losses).any()
    assert np.abs(losses + exact.max(-1)).max() < bound
    assert np.abs(found.max(-1) - exact.max(-1)).max() < bound


@pytest.mark.sampled(32, each="name")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_causal_by_positions(name, dtype):
    """Queries that follow others keep more columns than their index; at -1 a row keeps none."""
    with jax.enable_x64(dtype is np.float64):
        check_positions(getattr(ops, name), getattr(jax.nn, name), dtype)


def check_positions(operation, formula, dtype):
    x = jnp.asarray(np.random.default_rng(0).standard_normal((2, 3, 70)), dtype)
    kinds = np.int32, np.uint8, np.int64
    for shape, kind in zip(((2, 3), (2, 1), ()), kinds, strict=True):
        positions = np.random.default_rng(1).integers(0, 70, shape).astype(kind)
        if shape == (2, 3):
            positions[0, 1], positions[1, 2] = -1, 2**31 - 1
        keeps = np.arange(70) <= np.broadcast_to(positions, (2, 3))[..., None].astype(np.int64)

        def ours(x, positions=positions):
            return operation(x, causal=True, positions=positions)

        theirs = jax.jit(partial(formula, where=keeps))

        found, wide = ours(x), jnp.asarray(x, jnp.promote_types(dtype, jnp.float32))
        tolerance = 1e-2 if found.dtype.itemsize == 2 else 3e-6
        np.testing.assert_allclose(
            *(np.asarray(a).astype(np.float64) for a in (found, theirs(wide))),
            rtol=tolerance, atol=tolerance,
        )  # fmt: skip
        # The logarithm of an element that does not count has no derivative.
        g = jnp.asarray(keeps, dtype)
        dx, wanted = (
            jax.jit(lambda a, b, f=f: jax.vjp(f, a)[1](b)[0])(a, b)
            for f, a, b in ((ours, x, g), (theirs, wide, g.astype(wide.dtype)))
        )
        rows = keeps.any(-1)
        np.testing.assert_allclose(
            *(np.asarray(a).astype(np.float64)[rows] for a in (dx, wanted)),
            rtol=4 * tolerance, atol=4 * tolerance,
        )  # fmt: skip
        assert not np.asarray(dx)[~rows].astype(bool).any()
        mapped = jax.vmap(ours)(jnp.stack([x, x]))
        np.testing.assert_array_equal(mapped[1], found)
