"""Quantization to 8 bits: codes bit by bit, scales, norms, and what JAX does with them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import CallError, device, ops  # noqa: E402
from pyptx._launch.call import make_call  # noqa: E402
from pyptx._target import Target  # noqa: E402
from pyptx.ops._layer_norm import LayerNorm  # noqa: E402
from pyptx.ops._quantize import Quantized  # noqa: E402
from pyptx.ops._rms_norm import RmsNorm  # noqa: E402
from pyptx.ops.rowwise import plan  # noqa: E402
from pyptx.types import BY_NUMPY, bf16, e4m3, e5m2, f32, f64, s8  # noqa: E402

E4M3, E5M2, INT8 = jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.int8
RESULTS = {e4m3: 448.0, e5m2: 57344.0, s8: 127.0}
INPUTS = [np.dtype(t) for t in (ml_dtypes.bfloat16, np.float16, np.float32, np.float64)]
EPS = 1e-5


def table(to):
    """The numbers of a type that are not negative, by their codes."""
    if to is s8:
        return np.arange(128.0)
    codes = np.arange(0x7F if to is e4m3 else 0x7C, dtype=np.uint8)
    return codes.view(to.numpy).astype(np.float64)


def codes_of(n, to):
    """The 8 bits of numbers: nearest, the even one of two, saturated; by comparison alone."""
    values = table(to)
    middles = (values[1:] + values[:-1]) / 2
    with np.errstate(invalid="ignore"):  # NaN of 16 bits
        n = n.astype(np.float64)
    size = np.abs(n)
    code = np.searchsorted(middles, size)  # of a middle the lower one
    tie = (code < len(middles)) & (middles[np.minimum(code, len(middles) - 1)] == size)
    code = code + (tie & (code % 2 == 1))
    if to is s8:
        code = np.where(np.signbit(n), -code, code)
        return np.where(np.isnan(n), 0, code).astype(np.int8).view(np.uint8)
    code = code | np.where(np.signbit(n), 0x80, 0)
    return np.where(np.isnan(n), 0x7F, code).astype(np.uint8)


def bits(array):
    return np.ascontiguousarray(np.asarray(array)).view(np.uint8)


def run(op, arch, *arrays):
    with pyptx.target(arch), pyptx.sanitize():
        return plan.operation(op, (op.columns,))(*arrays)


# ---- codes ---------------------------------------------------------------------------------------


def numbers(dtype, to):
    """All numbers of 16 bits; of others the middles of neighbours, and what is next to them."""
    if dtype.itemsize == 2:
        return np.arange(2**16, dtype=np.uint16).view(dtype)
    values = table(to)
    middles = np.concatenate([values, (values[1:] + values[:-1]) / 2, [1e-40, 1e9, 1e38]])
    near = np.concatenate([middles, middles * (1 + 2.0**-50), middles * (1 - 2.0**-50)])
    near = near.astype(dtype)
    near = np.concatenate([near, np.nextafter(near, 9e9, dtype=dtype), np.nextafter(near, 0)])
    near = np.concatenate([near, -near, np.array([np.nan, -np.nan, np.inf, -np.inf])])
    return near.astype(dtype)


@pytest.mark.sampled(48, each=("dtype", "to", "arch"))
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("to", RESULTS, ids=str)
@pytest.mark.parametrize("dtype", INPUTS, ids=str)
def test_every_code(dtype, to, arch):
    """Devices with and without cvt to 8-bit floats have the same bits."""
    x = numbers(dtype, to)
    x = np.concatenate([x, np.zeros(-len(x) % 256, dtype)]).reshape(-1, 256)
    ones = np.ones(len(x), np.float32)
    y, _ = run(Quantized(256, BY_NUMPY[str(dtype)], to, "given"), arch, x, ones)
    np.testing.assert_array_equal(bits(y), codes_of(x, to))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 6, 8])
def test_vectors_of_few_elements(columns):
    """Rows that one, two, four or eight elements divide are stored in words of as many bytes."""
    x = np.random.default_rng(columns).standard_normal((9, columns)).astype(np.float32)
    for to, arch in itertools.product(RESULTS, ("sm_80", "sm_90a")):
        y, _ = run(Quantized(columns, f32, to, "given"), arch, x, np.full(9, 0.5, np.float32))
        np.testing.assert_array_equal(bits(y), codes_of(x * 2, to))


# ---- values --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    norm: str
    scaling: str
    x: np.dtype
    to: object
    columns: int
    arch: str

    @property
    def compute(self):
        return np.float64 if self.x == np.float64 else np.float32

    def arrays(self):
        """x with a row of zeros, and what there is per column."""
        random = np.random.default_rng(self.columns)
        x = 3 * random.standard_normal((5, self.columns))
        x[-1] = 0
        w, b = 1 + random.standard_normal((2, self.columns)) / 8
        return x.astype(self.x), w.astype(np.float32), b.astype(np.float32)

    def op(self):
        x, n = BY_NUMPY[str(self.x)], self.columns
        norm = {
            "none": lambda: None,
            "rms": lambda: RmsNorm(n, x, f32, EPS, offset=0.25),
            "layer": lambda: LayerNorm(n, x, x, f32, f32, EPS),
            "plain layer": lambda: LayerNorm(n, x, x, None, None, EPS),
        }[self.norm]()
        return Quantized(n, x, self.to, self.scaling, norm)

    def normed(self, x, w, b):
        """n, of x as it is in the type of the sums, of a norm in f64."""
        if self.norm == "none":
            return x.astype(self.compute)
        x = x.astype(np.float64)
        if self.norm == "rms":
            return x * (w + 0.25) / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
        normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPS)
        return normal * w + b if self.norm == "layer" else normal


GIVEN = np.float32(0.0123)
CASES = [
    Case(*case)
    for case in itertools.product(
        ("none", "rms", "layer", "plain layer"),
        ("row", "block", "given"),
        INPUTS,
        RESULTS,
        (1, 7, 61, 128, 200, 1000, 1024, 4099, 5120, 20000, 70001),
        ("sm_80", "sm_90a"),
    )
]


def name_of(case):
    return f"{case.norm}-{case.scaling}-{case.x}-{case.to}-{case.columns}-{case.arch}"


@pytest.mark.sampled(640)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_values(case):
    x, w, b = case.arrays()
    arrays = {"rms": (x, w), "layer": (x, w, b)}.get(case.norm, (x,))
    given = (np.full(len(x), GIVEN),) if case.scaling == "given" else ()
    y, found = run(case.op(), case.arch, *arrays, *given)
    n = case.normed(x, w, b)
    blocks = -(-case.columns // 128)
    padded = np.zeros((len(x), blocks * 128), n.dtype)
    padded[:, : case.columns] = np.abs(n)
    block = case.scaling == "block"
    largest = padded.reshape(len(x), blocks, 128).max(-1) if block else padded.max(-1)
    check_numbers(case, found, largest)
    scale = np.repeat(found, 128, -1)[:, : case.columns] if block else found[:, None]
    scale = np.full_like(scale, GIVEN) if case.scaling == "given" else scale
    check_codes(case, bits(y), n, scale)


def check_numbers(case, found, largest):
    if case.scaling != "given":
        limit = largest.dtype.type(RESULTS[case.to])
        largest = np.where(largest == 0, 1, largest / limit)
    if case.norm == "none":
        np.testing.assert_array_equal(found, largest.astype(np.float32))
    np.testing.assert_allclose(found, largest, rtol=2e-6)


def check_codes(case, found, n, scale):
    """Of x itself the very bits; of a norm, next to a middle, either neighbour."""
    if case.norm == "none":
        inverse = case.compute(1) / scale.astype(case.compute)
        np.testing.assert_array_equal(found, codes_of(n * inverse, case.to))
        return
    exact = n / scale
    slack = 4e-6 * np.abs(n)
    if "layer" in case.norm:  # where the mean or the bias cancels
        slack += 1e-6 * np.abs(n).max(-1, keepdims=True)
    slack /= scale
    below, value, above = (
        codes.view(case.to.numpy).astype(np.float64)
        for codes in (codes_of(exact - slack, case.to), found, codes_of(exact + slack, case.to))
    )
    assert ((below <= value) & (value <= above)).all()
    assert (found == codes_of(exact, case.to))[:-1].mean() > 0.99 or case.columns < 200


def launches(op, arch):
    """The steps of a program for a target, each with its code."""
    operation, targets = plan.operation(op, (op.columns,)), (Target.parse(arch),)
    call = make_call(operation._describe({}, {"B": 1}, {}, targets, by_reference=True))
    return list(zip(call.plan.steps, call.code, strict=True))


def test_rows_go_every_way():
    """What the values are tested on: kernels of all strategies that the lengths have."""
    names = set()
    for columns in (61, 1024, 70001):
        for op in (
            Quantized(columns, bf16, e4m3, "row"),
            Quantized(columns, bf16, e4m3, "block"),
            Quantized(columns, f64, e4m3, "row", RmsNorm(columns, f64, f32, EPS)),
        ):
            names |= {step.kernel for arch in ("sm_80", "sm_90a") for step, _ in launches(op, arch)}
    ways = {name.partition("_row_")[2] or name.partition("_block_")[2] for name in names}
    assert ways == {"subwarp", "row", "cluster", "chunks", "two_pass", "two_reductions"}, names


# ---- what is no number, and rows of zeros --------------------------------------------------------


@pytest.mark.sampled(24, each=("columns", "block", "dtype"))
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("block", [None, 128])
@pytest.mark.parametrize("columns", [40, 1100])
def test_nan_and_infinity(columns, block, dtype):
    x = np.ones((4, columns), dtype)
    x[0, 3], x[1, 5], x[2, 7], x[3, 1:] = np.nan, -np.inf, -np.nan, 0
    with jax.enable_x64(dtype is np.float64):
        y, scale = (np.asarray(a) for a in ops.quantize(x, E4M3, block=block))
        z, same = (np.asarray(a) for a in ops.quantize(x, INT8, block=block))
        given, amax = (np.asarray(a) for a in ops.quantize(x, E5M2, scale=1.0))
    first = slice(0, 128 if block else None)
    assert np.isnan(scale[[0, 2], 0]).all()
    assert np.isposinf(scale[1, 0])
    assert scale[3, 0] == np.float32(1 / 448)
    assert np.isnan(y[[0, 2], first].astype(np.float32)).all()
    assert np.isnan(y[1, 5].astype(np.float32))
    assert (np.delete(y[1, first].astype(np.float32), 5) == 0).all()
    assert (z[[0, 1, 2], first] == 0).all()
    np.testing.assert_array_equal(np.isnan(same), np.isnan(scale))
    assert np.isnan(given[[0, 2], [3, 7]].astype(np.float32)).all()
    assert float(given[1, 5]) == -57344
    np.testing.assert_array_equal(amax[:, 0], [np.nan, np.inf, np.nan, 1])
    if block and columns > 128:  # other blocks have none of it
        np.testing.assert_array_equal(scale[:3, 1:], np.float32(1 / 448))
        np.testing.assert_array_equal(scale[3, 1:], 1)


@pytest.mark.parametrize("block", [None, 128])
def test_zeros_and_what_is_nearly_zero(block):
    x = np.zeros((3, 130), np.float32)
    x[1, 0], x[2, :] = 1e-45, -1e-38
    y, scale = (np.asarray(a) for a in ops.quantize(x, E4M3, block=block))
    np.testing.assert_array_equal(scale[:, 0], np.float32([1, 2.0**-126, 2.0**-126]))
    expected = codes_of(x * np.float32(2.0**126), e4m3)
    np.testing.assert_array_equal(bits(y), expected)
    assert ops.quantize(x, E4M3, scale=7.0)[1].tolist() == [
        [0],
        [np.float32(1e-45)],
        [x[2, 0] * -1],
    ]


def test_a_row_without_elements():
    x = jnp.ones((3, 0))
    for options, shape in (({}, (3, 1)), ({"block": 128}, (3, 0)), ({"scale": 2}, (3, 1))):
        y, numbers = ops.quantize(x, INT8, **options)
        assert (y.shape, y.dtype, numbers.shape) == ((3, 0), jnp.int8, shape)
        assert (numbers == (0 if "scale" in options else 1)).all()
    y, scale = ops.rms_norm_quantized(jnp.ones((0, 24)), jnp.ones(24), E4M3)
    assert (y.shape, scale.shape) == ((0, 24), (0, 1))


# ---- in JAX --------------------------------------------------------------------------------------

X = jax.random.normal(jax.random.key(0), (16, 200), jnp.bfloat16)
W = jnp.linspace(0.5, 1.5, 200)
FUNCTIONS = {
    "quantize": lambda x: ops.quantize(x, E4M3),
    "blocks": lambda x: ops.quantize(x, INT8, block=128),
    "rms": lambda x: ops.rms_norm_quantized(x, W, E4M3, offset=1.0),
    "rms given": lambda x: ops.rms_norm_quantized(x, W, E5M2, scale=0.1),
    "layer": lambda x: ops.layer_norm_quantized(x, W, W, E5M2),
    "layer given": lambda x: ops.layer_norm_quantized(x, None, W, INT8, scale=jnp.float32(0.1)),
    "layer blocks": lambda x: ops.layer_norm_quantized(x, None, None, E4M3, block=128),
}


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(bits(a).reshape(-1), bits(b).reshape(-1))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_vmap_is_one_launch_of_more_rows(function):
    x = X.reshape(2, 8, 200)
    same(jax.vmap(function)(x), function(X))
    assert str(jax.make_jaxpr(jax.vmap(function))(x)).count("pyptx_launch[") == 1


@pytest.mark.sampled(20, each="kind")
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit], ids=lambda kind: kind.name)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_sharded_rows_need_no_collective(function, kind):
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(kind,))
    with jax.set_mesh(mesh):
        placed = jax.device_put(X, NamedSharding(mesh, P("rows")))
        compiled = jax.jit(function).lower(placed).compile()
        assert pyptx.collectives(compiled) == {}
        found = compiled(placed)
        assert all(array.sharding.spec[0] == "rows" for array in found)
        mapped = jax.jit(jax.shard_map(function, in_specs=P("rows"), out_specs=P("rows")))(placed)
    same(found, function(X))
    same(mapped, found)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_export(function):
    (size,) = jax.export.symbolic_shape("b")
    exported = jax.export.export(jax.jit(function), disabled_checks=pyptx.export_safety_checks())(
        jax.ShapeDtypeStruct((size, 200), X.dtype)
    )
    same(jax.export.deserialize(exported.serialize()).call(X[:5]), function(X[:5]))


def test_a_scale_for_each_row():
    scales = jnp.linspace(0.01, 0.2, 16)[:, None]
    y, amax = ops.quantize(X, INT8, scale=scales)
    for i in range(16):
        same(ops.quantize(X[i], INT8, scale=scales[i, 0]), (y[i], amax[i]))
    np.testing.assert_array_equal(amax[:, 0], jnp.abs(X).max(-1).astype(jnp.float32))


def test_scales_may_be_mapped_and_traced():
    """Alone, with x, and of a program: no number of theirs is part of a kernel."""
    scales = jnp.linspace(0.05, 0.2, 3)

    def call(x, scale):
        return ops.rms_norm_quantized(x, W, INT8, scale=scale)

    of_scales = jax.vmap(call, (None, 0))
    assert str(jax.make_jaxpr(of_scales)(X, scales)).count("pyptx_launch[") == 1
    several = jnp.stack([X, 2 * X, X - 1])
    alone, both, traced = of_scales(X, scales), jax.vmap(call)(several, scales), jax.jit(call)
    for i, scale in enumerate(scales):
        same((alone[0][i], alone[1][i]), call(X, scale))
        same((both[0][i], both[1][i]), call(several[i], scale))
        same(traced(X, scale), call(X, scale))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("columns", [40, 1000, 4099])
@pytest.mark.parametrize("block", [None, 128])
def test_what_a_thread_does_not_have_is_not_measured(block, columns):
    """Less the mean, a zero beyond the row would be its largest element."""
    x = 100 + jax.random.normal(jax.random.key(2), (3, columns))
    _, scale = ops.layer_norm_quantized(x, None, None, INT8, block=block)
    wide = np.asarray(x, np.float64)
    n = (wide - wide.mean(-1, keepdims=True)) / wide.std(-1, keepdims=True)
    each = block or columns
    largest = [np.abs(n[:, i : i + each]).max(-1) for i in range(0, columns, each)]
    np.testing.assert_allclose(scale, np.stack(largest, -1) / 127, rtol=1e-4)


def test_nan_in_a_norm():
    x = X.at[0, 3].set(jnp.nan).astype(jnp.float32)
    for norm in (ops.rms_norm_quantized, partial(ops.layer_norm_quantized, bias=None)):
        for options in ({}, {"block": 128}, {"scale": 1.0}):
            y, numbers = norm(x, W, dtype=E4M3, **options)
            assert (np.isnan(np.asarray(numbers)) == (np.arange(16) == 0)[:, None]).all()
            assert (np.isnan(y.astype(jnp.float32)) == (jnp.arange(16) == 0)[:, None]).all()


def test_weights_of_two_dimensions():
    x, w = X.reshape(16, 4, 50), W.reshape(4, 50)
    y, scale = ops.rms_norm_quantized(x, w, E4M3)
    assert (y.shape, scale.shape) == ((16, 4, 50), (16, 1, 1))
    same((y, scale), ops.rms_norm_quantized(X, W, E4M3))
    given = ops.layer_norm_quantized(x, w, None, INT8, scale=jnp.full((16, 1, 1), 0.1))
    same(given, ops.layer_norm_quantized(X, W, None, INT8, scale=0.1))


@pytest.mark.parametrize("block", [None, 128])
def test_results_are_operands_of_matmul(block):
    x = jax.random.normal(jax.random.key(1), (24, 256), jnp.float32)
    w = jax.random.normal(jax.random.key(2), (256, 16), jnp.float32)
    a, a_scale = ops.quantize(x, E4M3, block=block)
    b, b_scale = ops.quantize(w.T, E4M3, block=block)
    found = ops.matmul(a, b.T, a_scale=a_scale, b_scale=b_scale.T, out_dtype=jnp.float32)

    def wide(y, scale):
        return y.astype(jnp.float32) * (scale if block is None else jnp.repeat(scale, block, -1))

    product = wide(a, a_scale) @ wide(b, b_scale).T
    np.testing.assert_allclose(found, product, atol=0.05)
    assert float(jnp.abs(found - x @ w).max() / jnp.abs(x @ w).max()) < 0.05


@pytest.mark.sampled(24)
@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("scaling", ["row", "block", "given"])
def test_every_target_assembles_it(arch, scaling):
    for columns in (61, 4096):
        norms = RmsNorm(columns, bf16, bf16, EPS), LayerNorm(columns, bf16, bf16, f32, f32, EPS)
        for norm, to in zip((None, *norms), (s8, e4m3, e5m2), strict=True):
            op = Quantized(columns, bf16, to, scaling, norm)
            for step, code in launches(op, arch):
                cubin = code.cubin(Target.parse(arch))
                assert cubin.registers * step.block[0] <= device.CTA_REGISTERS, step.kernel
                assert cubin.spill_stores == 0, step.kernel


# ---- derivatives and misuse ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["quantize", "rms_norm_quantized", "layer_norm_quantized"])
def test_there_is_no_derivative(name):
    arrays = {"quantize": (), "rms_norm_quantized": (W,), "layer_norm_quantized": (W, None)}[name]

    def call(x):
        return getattr(ops, name)(x, *arrays, E4M3)[1].sum()

    message = (
        f"{name} has no derivative: its results are rounded to 8 bits\n"
        f"  help: {name}(jax.lax.stop_gradient(x), ...)"
    )
    for derivative in (
        lambda: jax.grad(call)(X),
        lambda: jax.jvp(call, (X,), (X,)),
        lambda: jax.grad(jax.jit(call))(X),
    ):
        with pytest.raises(CallError) as caught:
            derivative()
        assert whole(caught.value, call.__code__.co_firstlineno + 1) == message
    gradient = jax.grad(lambda x: (x + call(jax.lax.stop_gradient(x)).astype(x.dtype)).sum())(X)
    np.testing.assert_array_equal(gradient, jnp.ones_like(X))


def whole(error, line):
    """The message without the line of code that it quotes."""
    where, _, text = str(error).partition(": ")
    assert where == f"{__file__}:{line}"
    problem, _source, *notes = text.splitlines()
    return "\n".join([problem, *notes])


LEGAL = "\n  legal: float8_e4m3fn float8_e5m2 int8"
MISUSES = {
    "no type": (lambda: ops.quantize(X, None), f"dtype is None{LEGAL}"),
    "a wider type": (lambda: ops.quantize(X, jnp.bfloat16), f"dtype is bfloat16{LEGAL}"),
    "a number as type": (lambda: ops.rms_norm_quantized(X, W, 1e-5), f"dtype is 1e-05{LEGAL}"),
    "integers": (
        lambda: ops.quantize(np.ones((2, 8), np.int8), INT8),
        "x has elements of type int8\n  legal: bfloat16 float16 float32 float64",
    ),
    "a number": (
        lambda: ops.quantize(jnp.float32(1), INT8),
        "x has shape (), and rows are its last dimension",
    ),
    "another block": (
        lambda: ops.quantize(X, INT8, block=64),
        "block is 64 and must be 128, the columns that share a scale\n  legal: 128 None",
    ),
    "a block and a scale": (
        lambda: ops.layer_norm_quantized(X, W, W, E4M3, scale=1.0, block=128),
        (
            "scale and block are both given: scales of blocks are found, not given\n"
            "  help: layer_norm_quantized(..., scale=scale) or layer_norm_quantized(..., block=128)"
        ),
    ),
    "blocks of two dimensions": (
        lambda: ops.rms_norm_quantized(X.reshape(16, 4, 50), jnp.ones((4, 50)), E4M3, block=128),
        (
            "block is 128, and rows have 2 dimensions: blocks are for rows of one\n"
            "  help: reshape x and weight"
        ),
    ),
    "a scale for each column": (
        lambda: ops.quantize(X, INT8, scale=jnp.ones(200)),
        (
            "scale has shape (200,), which is not broadcast to (16, 1)\n"
            "  legal: one number, or one for each row: (..., 1)"
        ),
    ),
    "a scale that is none": (
        lambda: ops.quantize(X, INT8, scale="amax"),
        "scale is a str and must be a number or an array",
    ),
    "no weight": (
        lambda: ops.rms_norm_quantized(X, None, INT8),
        (
            "weight is a NoneType; rms_norm_quantized takes arrays\n"
            "  help: jax.numpy.ones(x.shape[-1])"
        ),
    ),
    "other weights": (
        lambda: ops.rms_norm_quantized(X, jnp.ones(20), INT8),
        (
            "x has shape (16, 200), which does not end with (20,)\n"
            "  help: the mean is over the dimensions of weight, the last ones of x"
        ),
    ),
    "eps": (
        lambda: ops.layer_norm_quantized(X, W, W, INT8, -1.0),
        (
            "eps is -1.0 and must be finite and not negative\n"
            "  help: layer_norm_quantized(x, weight, bias, dtype, eps=1e-5)"
        ),
    ),
    "offset": (
        lambda: ops.rms_norm_quantized(X, W, INT8, offset="1"),
        (
            "offset is '1' and must be a Python or NumPy number\n"
            "  help: rms_norm_quantized(x, weight, dtype, offset=1.0)"
        ),
    ),
    "a norm without elements": (
        lambda: ops.rms_norm_quantized(jnp.ones((2, 0)), jnp.ones(0), INT8),
        "x has shape (2, 0), and rms_norm_quantized of a row without elements is none",
    ),
}


@pytest.mark.parametrize(("call", "message"), MISUSES.values(), ids=MISUSES)
def test_the_whole_message(call, message):
    with pytest.raises(CallError) as caught:
        call()
    assert whole(caught.value, call.__code__.co_firstlineno) == message


def test_a_target_without_kernels():
    with pyptx.target("sm_75"), pytest.raises(CallError, match="quantize has no kernels for sm_75"):
        ops.quantize(X, INT8)
