"""Dropout of x in `add_rms_norm` and `add_layer_norm`: its generator, its mask, and derivatives."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import Tile, kernel, ops, ptx  # noqa: E402
from pyptx.ops import _dropout, _dropout_jax  # noqa: E402
from pyptx.ops._add_norm import AddNorm, AddNormGradient  # noqa: E402
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient  # noqa: E402
from pyptx.ops.rowwise import plan  # noqa: E402
from pyptx.ops.rowwise.partition import Rows  # noqa: E402
from pyptx.ops.rowwise.program import types_of  # noqa: E402
from pyptx.ops.rowwise.strategies import (  # noqa: E402
    cluster,
    cta,
    one_cluster,
    persistent,
    subwarp,
    two_pass,
)
from pyptx.types import bf16, f32, f64, u32  # noqa: E402

KEY = jax.random.key(3)
RATE = 0.3
NORMS = {"add_rms_norm": ops.add_rms_norm, "add_layer_norm": ops.add_layer_norm}
ROUNDED = {"bfloat16": 2**-7, "float32": 1e-5, "float64": 1e-13}

# Counter, key, rounds and result, from kat_vectors of the authors' Random123 library.
KNOWN = [
    ([0] * 4, [0] * 2, 10, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([2**32 - 1] * 4, [2**32 - 1] * 2, 10, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        10,
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
    ([0] * 4, [0] * 2, 7, [0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48]),
    ([2**32 - 1] * 4, [2**32 - 1] * 2, 7, [0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662]),
]


# ---- the generator -------------------------------------------------------------------------------


def of_integers(counter, key, rounds):
    """The paper's definition, in Python integers."""
    (a, b, c, d), (e, f) = counter, key
    for _ in range(rounds):
        p, q = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (q >> 32) ^ b ^ e, q % 2**32, (p >> 32) ^ d ^ f, p % 2**32
        e, f = (e + 0x9E3779B9) % 2**32, (f + 0xBB67AE85) % 2**32
    return [a, b, c, d]


def in_the_emulator(counter, key, rounds):
    @kernel(in_specs=(Tile(6, u32),), out_specs=(Tile(4, u32),), block=1, arch="sm_90a")
    def block(G, W):
        given, words = ptx.global_ptrs(G, W)
        values = [ptx.inst.ld.global_.u32(ptx.addr(given, 4 * i)) for i in range(6)]
        for i, word in enumerate(_dropout.philox(values[:4], values[4:], rounds)):
            ptx.inst.st.global_.b32(ptx.addr(words, 4 * i), word)

    found = block.emulate(np.asarray([*counter, *key], np.uint32), sanitize=True)
    assert not found.report.findings
    return found.outputs[0].tolist()


@pytest.mark.parametrize(("counter", "key", "rounds", "words"), KNOWN)
def test_known_answers(counter, key, rounds, words):
    assert of_integers(counter, key, rounds) == words
    assert in_the_emulator(counter, key, rounds) == words


@pytest.mark.parametrize("rounds", [_dropout.ROUNDS, 10])
def test_three_implementations_agree(rounds):
    values = np.random.default_rng(rounds).integers(0, 2**32, 6, np.uint32)
    counter, key = values[:4].tolist(), values[4:].tolist()
    expected = of_integers(counter, key, rounds)
    assert in_the_emulator(counter, key, rounds) == expected
    arrays = [jnp.asarray([value], jnp.uint32) for value in values]
    assert [int(w[0]) for w in _dropout_jax.philox(arrays[:4], arrays[4:], rounds)] == expected


def test_an_elements_bits_are_those_of_its_column():
    """16 of the block of every eight columns, from the lowest on, as the file promises."""
    seeds = np.asarray([7, -9], np.int32)
    threshold = _dropout.level(0.5)
    expected = []
    for column in range(61):
        block = of_integers((column // 8, 0, 0, 0), (7, 2**32 - 9), _dropout.ROUNDS)
        bits = block[column % 8 // 2] >> 16 * (column % 2) & 0xFFFF
        expected.append(bits >= threshold)
    found = _dropout_jax.kept(0.5, [jnp.asarray(seeds[i : i + 1]) for i in range(2)], (61,))
    np.testing.assert_array_equal(found[0], expected)


# ---- strategies ----------------------------------------------------------------------------------


def forward_op(n, dtype):
    norm = RmsNorm(n, dtype, dtype, 1e-5, False, 0.0)
    return AddNorm(n, norm, dtype, dtype, _dropout.Dropout(RATE, n))


def gradient_op(n, dtype):
    norm = RmsNormGradient(n, dtype, dtype, 0.0)
    return AddNormGradient(n, norm, dtype, dtype, _dropout.Dropout(RATE, n))


def arguments(op, count, dtype):
    """Arrays of an operation by names, and which elements are kept."""
    random = np.random.default_rng(count)
    arrays = {}
    for operand in op.inputs:
        shape = {"element": (count, op.columns), "column": (op.columns,), "row": (count,)}
        if operand.name.startswith("seed"):
            arrays[operand.name] = random.integers(-(2**31), 2**31, count).astype(np.int32)
        else:
            values = 1 + random.random(shape[operand.per])
            arrays[operand.name] = values.astype(operand.dtype.numpy)
    seeds = [jnp.asarray(arrays[f"seed_{i}"]) for i in range(2)]
    return arrays, np.asarray(_dropout_jax.kept(RATE, seeds, (op.columns,)))


def check_forward(op, kernel, count, *more):
    arrays, kept = arguments(op, count, op.x)
    found = kernel.emulate(*arrays.values(), *more, sanitize=True)
    assert not found.report.findings
    x, residual = (arrays[name].astype(np.float64) for name in ("x", "residual"))
    expected = residual + np.where(kept, x / (1 - RATE), 0)
    s = np.asarray(found.outputs[1]).astype(np.float64)
    np.testing.assert_allclose(s, expected, rtol=ROUNDED[np.dtype(op.x.numpy).name])
    return s


def check_gradient(op, kernel, count, *more):
    arrays, kept = arguments(op, count, op.x)
    found = kernel.emulate(*arrays.values(), *more, sanitize=True)
    assert not found.report.findings
    dx, dr = (np.asarray(a).astype(np.float64) for a in found.outputs[:2])
    np.testing.assert_allclose(
        dx,
        np.where(kept, dr / (1 - RATE), 0),
        rtol=2 * ROUNDED[np.dtype(op.x.numpy).name],
    )


class Both:
    """Two kernels, one after the other."""

    def __init__(self, *kernels):
        self._kernels = kernels

    def emulate(self, *arrays, **options):
        first, second = self._kernels
        found = first.emulate(*arrays, **options)
        assert not found.report.findings
        return second.emulate(*arrays, *found.outputs, **options)


def by_two_passes(op, rows):
    return Both(two_pass.statistics(op, rows, each=1), two_pass.result(op, rows, each=1))


FORWARD = {
    "subwarp": (
        (24, 61),
        lambda op, rows: subwarp.independent(op, rows, subwarp.Shape(8, 2, 64)),
    ),
    "subwarps that stay": (
        (24, 61),
        lambda op, rows: subwarp.independent(op, rows, subwarp.Shape(8, 1, 64), ctas=2),
    ),
    "cta": ((512, 515), partial(cta.independent, threads=64, held=True)),
    "direct": ((515,), partial(cta.independent, threads=64, held=True, direct=True, parts=4)),
    "two passes": ((1024, 1031), by_two_passes),
    "cluster": (
        (1031,),
        lambda op, rows: cluster.kernel_of(op, rows, cluster.Shape(8, 2, 64, 7, lag=2, pieces=2)),
    ),
}

GRADIENTS = {
    "subwarp": (
        (61,),
        lambda op, rows: subwarp.persistent(op, rows, subwarp.Shape(8, 2, 64), ctas=2),
    ),
    "persistent": (
        (512, 515),
        lambda op, rows: persistent.kernel_of(op, rows, persistent.Shape(8, 2, 64, 2)),
    ),
    "one cluster": (
        (512,),
        lambda op, rows: one_cluster.persistent(
            op, rows.divided(), one_cluster.Shape(4, 64, 4), result=op.compute
        ),
    ),
}


def strategies(table):
    """Each way with each length, and one of the types."""
    types = (bf16, f32, f64)
    for way, (lengths, make) in table.items():
        for i, n in enumerate(lengths):
            dtype = types[(i + len(way)) % 3]
            for each in types:
                marks = () if each is dtype else pytest.mark.sweep
                yield pytest.param(make, n, each, marks=marks, id=f"{way}-{n}-{each.name}")


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("make", "n", "dtype"), list(strategies(FORWARD)))
def test_strategies(make, n, dtype):
    op = forward_op(n, dtype)
    check_forward(op, make(op, Rows((n,), types_of(op), op.compute)), 5)


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("make", "n", "dtype"), list(strategies(GRADIENTS)))
def test_strategies_of_gradients(make, n, dtype):
    op = gradient_op(n, dtype)
    check_gradient(op, make(op, Rows((n,), types_of(op), op.compute)), 9)


def test_targets_agree():
    n, results = 515, []
    for target in ("sm_80", "sm_90a"):
        with pyptx.target(target):
            op = forward_op(n, bf16)
            results.append(check_forward(op, plan.operation(op, (n,)), 3))
    np.testing.assert_array_equal(*results)


# ---- in JAX --------------------------------------------------------------------------------------


def reference(name, x, residual, *columns, key=KEY):
    """The operation in jax.numpy, in the type that kernels compute in: y and s, not rounded."""
    compute = jnp.promote_types(x.dtype, jnp.float32)
    x, residual, *columns = (a.astype(compute) for a in (x, residual, *columns))
    kept = _dropout_jax.kept(RATE, _dropout_jax.seeds(key, x, 1), x.shape[-1:])
    s = residual + jnp.where(kept, x / (1 - RATE), 0)
    away = s if name == "add_rms_norm" else s - s.mean(-1, keepdims=True)
    y = away * jax.lax.rsqrt((away**2).mean(-1, keepdims=True) + 1e-5)
    y = y * columns[0]
    return (y + columns[1] if len(columns) > 1 else y), s


def arrays(name, *shape, dtype=jnp.float32):
    random = np.random.default_rng(0)
    shapes = [shape, shape, *[shape[-1:]] * (1 if name == "add_rms_norm" else 2)]
    return [jnp.asarray(random.standard_normal(each), dtype) for each in shapes]


def dropped(name, key=KEY):
    return partial(NORMS[name], dropout_rate=RATE, dropout_key=key)


def total(operation, weights):
    """A number with a derivative in y and in s."""

    def run(*operands):
        return sum(
            (r.astype(w.dtype) * w).sum()
            for r, w in zip(operation(*operands), weights, strict=True)
        )

    return run


def close(found, expected, tolerance):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        wide = np.asarray(other, np.float64)
        allowed = tolerance * max(1.0, float(np.abs(wide).max()))
        np.testing.assert_allclose(
            np.asarray(one).astype(np.float64), wide, rtol=tolerance, atol=allowed
        )


@pytest.mark.parametrize(
    ("name", "shape", "dtype"),
    [
        pytest.param("add_rms_norm", (5, 64), jnp.bfloat16, marks=pytest.mark.sweep),
        pytest.param("add_layer_norm", (2, 3, 1000), jnp.float32, marks=pytest.mark.sweep),
        ("add_layer_norm", (3, 61), np.float64),
        ("add_rms_norm", (3, 4099), jnp.bfloat16),
        pytest.param("add_rms_norm", (2, 40000), jnp.float32, marks=pytest.mark.sweep),
    ],
)
def test_values_and_gradients(name, shape, dtype):
    with jax.enable_x64(dtype is np.float64):
        given = arrays(name, *shape, dtype=dtype)
        tolerance = 2 * ROUNDED[np.dtype(dtype).name]
        wide = jnp.promote_types(dtype, jnp.float32)
        found, pull = jax.vjp(dropped(name), *given)
        expected, pull_expected = jax.vjp(
            jax.jit(partial(reference, name)), *(a.astype(wide) for a in given)
        )
        close(found, expected, tolerance)
        cotangents = [a.astype(dtype) for a in arrays(name, *shape)[:2]]
        gradients = pull(tuple(cotangents))
        close(gradients, pull_expected(tuple(a.astype(wide) for a in cotangents)), 2 * tolerance)
        kept = _dropout_jax.kept(RATE, _dropout_jax.seeds(KEY, given[0], 1), shape[-1:])
        np.testing.assert_array_equal(gradients[0] != 0, kept)


def test_types_of_x_and_residual_may_differ():
    given = arrays("add_rms_norm", 2, 2, 1000)
    x = given[0].astype(jnp.bfloat16)
    found, pull = jax.vjp(dropped("add_rms_norm"), x, *given[1:])
    reference_of_wide = jax.jit(partial(reference, "add_rms_norm"))
    expected, pull_expected = jax.vjp(reference_of_wide, x.astype(jnp.float32), *given[1:])
    assert [a.dtype for a in found] == [jnp.float32, jnp.float32]
    close(found, expected, 1e-5)
    (dx, *rest), (dx_expected, *rest_expected) = pull(found), pull_expected(expected)
    assert dx.dtype == jnp.bfloat16
    close(dx, dx_expected, 2**-8)
    close(rest, rest_expected, 1e-4)


def test_dropped_elements_do_not_count_even_if_they_are_infinite():
    x, residual, w = arrays("add_rms_norm", 2, 64)
    kept = _dropout_jax.kept(RATE, _dropout_jax.seeds(KEY, x, 1), (64,))
    found = dropped("add_rms_norm")(jnp.where(kept, x, jnp.inf), residual, w)
    for one, other in zip(found, dropped("add_rms_norm")(x, residual, w), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_share_of_kept_elements():
    """Within four standard deviations, in all columns and in each lane of eight."""
    shape = 200, 4096
    seeds = _dropout_jax.seeds(KEY, jnp.zeros(shape), 1)
    for rate in (0.001, 0.1, 0.5, 0.9):
        kept = np.asarray(_dropout_jax.kept(rate, seeds, shape[1:]))
        for part in (kept, *(kept[:, i::8] for i in range(8))):
            away = abs(part.mean() - (1 - rate))
            assert away < 4 * (rate * (1 - rate) / part.size) ** 0.5 + 2**-17


def test_keys():
    given = arrays("add_rms_norm", 3, 64)
    _, s = dropped("add_rms_norm")(*given)
    np.testing.assert_array_equal(dropped("add_rms_norm", jax.random.key(3))(*given)[1], s)
    np.testing.assert_array_equal(dropped("add_rms_norm", jax.random.PRNGKey(3))(*given)[1], s)
    other = dropped("add_rms_norm", jax.random.key(4))(*given)[1]
    assert (np.asarray(other) != np.asarray(s)).mean() > 0.3


def test_a_rate_of_zero_is_the_sum_without_dropout():
    given = arrays("add_rms_norm", 3, 64)
    found = jax.jit(partial(ops.add_rms_norm, dropout_rate=0, dropout_key=KEY)).lower(*given)
    assert found.as_text() == jax.jit(partial(ops.add_rms_norm)).lower(*given).as_text()


def test_a_rate_that_rounds_to_zero_drops_nothing():
    given = arrays("add_rms_norm", 3, 64)
    _, s = ops.add_rms_norm(*given, dropout_rate=1e-6, dropout_key=KEY)
    close(s, given[0] + given[1], 1e-5)


def test_jit_vmap_and_checkpoint():
    x, residual, w = arrays("add_rms_norm", 2, 3, 64)
    keys = jax.random.split(KEY, 2)

    def run(x, residual, key):
        return ops.add_rms_norm(x, residual, w, dropout_rate=RATE, dropout_key=key)

    found = jax.jit(jax.vmap(run))(x, residual, keys)
    for i in range(2):
        for one, other in zip(found, run(x[i], residual[i], keys[i]), strict=True):
            np.testing.assert_array_equal(one[i], other)
    same = jax.vmap(run, (0, 0, None))(x, residual, KEY)[1]
    np.testing.assert_array_equal(same[1], run(x[1], residual[1], KEY)[1])

    weights = [jnp.ones_like(x), 2 * jnp.ones_like(x)]
    plain = jax.jit(jax.grad(total(dropped("add_rms_norm"), weights), (0, 1, 2)))
    again = jax.jit(jax.grad(total(jax.checkpoint(dropped("add_rms_norm")), weights), (0, 1, 2)))
    for one, other in zip(plain(x, residual, w), again(x, residual, w), strict=True):
        np.testing.assert_array_equal(one, other)


def test_second_derivatives():
    given = arrays("add_layer_norm", 2, 12)
    weights = arrays("add_rms_norm", 2, 12)[:2]

    def second(operation):
        first = jax.grad(total(operation, weights), 0)
        return jax.jit(jax.grad(lambda *a: jnp.sin(first(*a)).sum(), (0, 1, 2)))(*given)

    close(second(dropped("add_layer_norm")), second(partial(reference, "add_layer_norm")), 1e-4)


def test_rows_over_devices():
    given = arrays("add_rms_norm", 16, 64)
    expected = dropped("add_rms_norm")(*given)
    weights = [jnp.ones_like(given[0])] * 2
    gradient = jax.grad(total(dropped("add_rms_norm"), weights), (0, 1, 2))
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
    rows, whole = NamedSharding(mesh, P("rows")), NamedSharding(mesh, P())
    placed = [jax.device_put(a, to) for a, to in zip(given, (rows, rows, whole), strict=True)]
    compiled = jax.jit(dropped("add_rms_norm")).lower(*placed).compile()
    assert pyptx.collectives(compiled) == {}
    for one, other in zip(compiled(*placed), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    close(jax.jit(gradient)(*placed), gradient(*given), 1e-6)


def test_an_explicit_mesh():
    given = arrays("add_rms_norm", 16, 64)
    expected = dropped("add_rms_norm")(*given)
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Explicit,))
    with jax.set_mesh(mesh):
        specs = P("rows"), P("rows"), P()
        placed = [jax.sharding.reshard(a, to) for a, to in zip(given, specs, strict=True)]
        found = jax.jit(dropped("add_rms_norm"))(*placed)
        assert jax.typeof(found[1]).sharding.spec == P("rows", None)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_arrays_of_an_explicit_mesh_alone():
    """What is made of each row is sharded as they are, also where no mesh is set."""
    given = arrays("add_rms_norm", 16, 64)
    expected = dropped("add_rms_norm")(*given)
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Explicit,))
    specs = P("rows"), P("rows"), P()
    placed = [
        jax.device_put(a, NamedSharding(mesh, to)) for a, to in zip(given, specs, strict=True)
    ]
    for function in (dropped("add_rms_norm"), jax.jit(dropped("add_rms_norm"))):
        for one, other in zip(function(*placed), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    y, amax = ops.quantize(placed[0], jnp.int8, scale=0.1)
    for one, other in zip((y, amax), ops.quantize(given[0], jnp.int8, scale=0.1), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("check_vma", [True, pytest.param(False, marks=pytest.mark.sweep)])
def test_shard_map(check_vma):
    """Devices fold their index into the key, as with jax.random."""
    given = arrays("add_rms_norm", 8, 64)

    def on_each(*operands):
        return dropped("add_rms_norm", jax.random.fold_in(KEY, jax.lax.axis_index("rows")))(
            *operands
        )

    def together(*operands):
        return dropped("add_rms_norm")(*operands)

    mesh = jax.make_mesh((2,), ("rows",), axis_types=(AxisType.Auto,))
    specs = {"in_specs": (P("rows"), P("rows"), P()), "out_specs": P("rows")}
    mapped = partial(jax.shard_map, mesh=mesh, check_vma=check_vma, **specs)
    x, residual, w = given
    for each, keys in (
        (on_each, [jax.random.fold_in(KEY, i) for i in range(2)]),
        (together, [KEY] * 2),
    ):
        found = jax.jit(mapped(each))(*given)
        for i, key in enumerate(keys):
            part = slice(4 * i, 4 * i + 4)
            expected = dropped("add_rms_norm", key)(x[part], residual[part], w)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one[part], other)
    weights = [jnp.ones_like(x)] * 2
    dx, *_ = jax.jit(jax.grad(total(mapped(on_each), weights), (0, 1, 2)))(*given)
    assert 0.5 < float((dx != 0).mean()) < 0.9
