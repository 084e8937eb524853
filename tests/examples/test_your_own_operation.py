"""The operation of docs/your_own_operation.md, against jax.numpy, float64 and the sanitizer."""

import ast
import importlib.util
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import pyptx  # noqa: E402
from pyptx.types import bf16, f16, f32  # noqa: E402

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "your_own_operation.py"
GUIDE = ROOT / "docs" / "your_own_operation.md"
ROUNDING = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("your_own_operation", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rms_norm(example):
    return example.rms_norm


@pytest.fixture(autouse=True)
def _on_cpu():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.fixture
def mesh():
    found = jax.devices("cpu")
    assert len(found) == 8, "something started JAX before XLA_FLAGS was set"
    return Mesh(np.array(found), ("x",), axis_types=(AxisType.Auto,))


def normal(seed, shape, dtype=jnp.float32):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def exact(x, weight, g, eps=1e-5):
    """y, dx and dw in float64, and the scale of each one's error."""
    x, w, g = (np.asarray(a, np.float64) for a in (x, weight, g))
    axes, lead = tuple(range(x.ndim - w.ndim, x.ndim)), tuple(range(x.ndim - w.ndim))
    r = 1 / np.sqrt((x * x).mean(axes, keepdims=True) + eps)
    y, gw = x * r * w, g * w
    dx = r * gw - x * r**3 * (gw * x).mean(axes, keepdims=True)
    each = g * x * r
    largest = np.abs(r * gw).max(axes, keepdims=True, initial=0.0)
    return (y, dx, each.sum(lead)), (np.abs(y), largest, np.abs(each).sum(lead))


def close(found, wanted, scale):
    """1e-6 of the scale for what is computed in f32, and the rounding of the result's type."""
    assert found.shape == wanted.shape
    error = np.abs(np.asarray(found, np.float64) - wanted)
    bound = 1e-6 * scale + ROUNDING[found.dtype.name] * np.abs(wanted) + 1e-7
    assert np.all(error <= bound), float(np.max(error / bound))


def all_close(norm, x, weight, g):
    y, vjp = jax.vjp(norm, x, weight)
    dx, dw = vjp(g)
    assert (y.dtype, dx.dtype, dw.dtype) == (weight.dtype, x.dtype, weight.dtype)
    for found, wanted, scale in zip((y, dx, dw), *exact(x, weight, g), strict=True):
        close(found, wanted, scale)


# ---- the guide -----------------------------------------------------------------------------------


def test_the_guide_shows_all_of_the_example():
    source, guide = EXAMPLE.read_text(), GUIDE.read_text()
    lines = source.splitlines()
    shown = 0
    for node in ast.parse(source).body[2:]:
        if isinstance(node, ast.If) or getattr(node, "name", None) == "main":
            continue
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        assert "\n".join(lines[first - 1 : node.end_lineno]) in guide
        shown += 1
    assert shown > 20


# ---- values and gradients ------------------------------------------------------------------------


@pytest.mark.sampled(16)
@pytest.mark.parametrize("x_type", [bf16, f16, f32], ids=str)
@pytest.mark.parametrize("w_type", [bf16, f16, f32], ids=str)
def test_every_pair_of_types(rms_norm, x_type, w_type):
    x, g = normal(0, (3, 5, 129), x_type.numpy), normal(1, (3, 5, 129), w_type.numpy)
    all_close(rms_norm, x, (1 + 0.1 * normal(2, (129,))).astype(w_type.numpy), g)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "shape, axes",
    [
        ((4, 1), 1),
        ((2, 31), 1),
        ((7,), 1),
        ((2, 3, 4, 50), 2),
        ((2, 5), 2),
        ((3, 1025), 1),
        ((300, 4), 1),  # more rows than the CTAs that share the sum
        ((0, 64), 1),
    ],
    ids=str,
)
def test_shapes(rms_norm, shape, axes):
    all_close(rms_norm, normal(0, shape), normal(1, shape[-axes:]), normal(2, shape))


def test_its_eps(rms_norm):
    x, weight = jnp.full((1, 8), 1e-3), jnp.ones(8)
    np.testing.assert_allclose(rms_norm(x, weight, 1.0), 1e-3 / np.sqrt(1 + 1e-6), rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 3, 200])
def test_the_kernels_are_clean(example, rows):
    x, g = np.asarray(normal(0, (2, rows, 70), jnp.bfloat16))
    weight = np.asarray(normal(1, (70,)))
    forward = example.forward(bf16, f32).emulate(x, weight, eps=1e-5, seed=1)
    forward.report.check()
    backward = example.backward(bf16, f32)
    done = backward.emulate(g.astype(np.float32), x, weight, forward.outputs[1], seed=1)
    done.report.check()
    assert [len(report.lines) > 0 for report in done.reports] == [True, True]


@pytest.mark.parametrize(
    "x, weight, error, message",
    [
        ((4, 6), (4,), ValueError, r"x of shape \(4, 6\) does not end with weight's \(4,\)"),
        ((4,), (4, 4), ValueError, r"x of shape \(4,\) does not end with weight's \(4, 4\)"),
        ((4, 4), (), TypeError, "rms_norm takes bfloat16, float16, float32, and got int32"),
    ],
)
def test_what_it_refuses(rms_norm, x, weight, error, message):
    dtype = np.int32 if error is TypeError else np.float32
    with pytest.raises(error, match=message):
        rms_norm(jnp.ones(x, dtype), jnp.ones(weight))


# ---- the checks of the C++ and CUDA way: bfloat16, rows of 512 x 512, four to a device -----------


@pytest.fixture(scope="module")
def large():
    x = normal(0, (8 * 4, 512, 512), jnp.bfloat16)
    return x, jnp.ones(x.shape[-2:], jnp.bfloat16)


def mean_square(norm):
    return lambda x, weight: -jnp.mean(norm(x, weight) ** 2)


def test_large_rows(rms_norm, example, large):
    lowered = jax.jit(rms_norm).lower(*large).as_text()
    assert lowered.count("@pyptx_cpu(") == 1
    assert "rsqrt" not in lowered.partition("custom_call")[0]
    y = rms_norm(*large)
    assert y.dtype == jnp.bfloat16
    assert jnp.allclose(y, example.reference(*large), atol=1e-2, rtol=1e-2)
    check_grads(mean_square(rms_norm), (large[0][:4], large[1]), order=1, modes=["rev"])


def test_large_rows_over_devices(rms_norm, large, mesh, monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")
    split, whole = NamedSharding(mesh, P("x", None, None)), NamedSharding(mesh, P(None, None))
    forward = jax.jit(rms_norm, in_shardings=(split, whole), out_shardings=split)
    program = forward.lower(*large).compile()
    assert pyptx.collectives(program) == {}
    x, weight = jax.device_put(large[0], split), jax.device_put(large[1], whole)
    assert jnp.array_equal(program(x, weight), rms_norm(*large))

    gradient = jax.grad(mean_square(rms_norm), argnums=(0, 1))
    shardings = (split, whole)
    program = jax.jit(gradient, in_shardings=shardings, out_shardings=shardings)
    program = program.lower(*large).compile()
    assert pyptx.collectives(program) == {"all-reduce": 1}
    for found, wanted in zip(program(x, weight), gradient(*large), strict=True):
        assert jnp.allclose(found, wanted, atol=1e-2, rtol=1e-2)


# ---- transformed ---------------------------------------------------------------------------------


X, G, W = normal(0, (8, 5, 96)), normal(1, (8, 5, 96)), normal(2, (96,))


def gradient(norm):
    return jax.grad(lambda x, w, g: jnp.vdot(norm(x, w), g), argnums=(0, 1))


@pytest.mark.parametrize("in_axes", [(0, None, 0), (None, 0, 0), (0, 0, 0)], ids=str)
def test_mapped(rms_norm, in_axes):
    """One launch forward, one backward, and what each element gives alone."""
    weights = jnp.stack([W * i for i in range(1, 9)])
    arguments = X if in_axes[0] == 0 else X[0], weights if in_axes[1] == 0 else W, G
    mapped = jax.jit(jax.vmap(gradient(rms_norm), in_axes))
    assert mapped.lower(*arguments).as_text().count("@pyptx_cpu(") == 2
    dx, dw = mapped(*arguments)
    for i in range(8):
        at = [a if axis is None else a[i] for a, axis in zip(arguments, in_axes, strict=True)]
        (_, *wanted), (_, *scales) = exact(*at)
        close(dx[i], wanted[0], scales[0])
        close(dw[i], wanted[1], scales[1])


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_over_devices(rms_norm, mesh, kind):
    mesh = Mesh(mesh.devices.reshape(4, 2), ("x", "y"), axis_types=(kind, kind))
    split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    x, g, w = jax.device_put(X, split), jax.device_put(G, split), jax.device_put(W, whole)
    with jax.set_mesh(mesh):
        program = jax.jit(lambda x, w, g: jax.vjp(rms_norm, x, w)[1](g)).lower(x, w, g).compile()
    assert pyptx.collectives(program) == {"all-reduce": 1}
    (_, *wanted), (_, *scales) = exact(X, W, G)
    for found, value, scale in zip(program(x, w, g), wanted, scales, strict=True):
        close(found, value, scale)


@pytest.mark.parametrize("check_vma", [True, False])
def test_inside_shard_map(rms_norm, mesh, check_vma):
    def local(x, w, g):
        return jax.lax.psum(jnp.vdot(rms_norm(x, w), g), "x")

    f = jax.shard_map(
        local, mesh=mesh, in_specs=(P("x"), P(), P("x")), out_specs=P(), check_vma=check_vma
    )
    (_, *wanted), (_, *scales) = exact(X, W, G)
    gradients = jax.jit(jax.grad(f, (0, 1)))(X, W, G)
    for found, value, scale in zip(gradients, wanted, scales, strict=True):
        close(found, value, scale)


def test_each_device_keeps_its_own_sum_where_the_weight_is_its_own(rms_norm, mesh):
    """A weight that is split has gradients that are not added up."""
    weights = jnp.stack([W * i for i in range(1, 9)])
    f = jax.shard_map(
        lambda x, w, g: gradient(rms_norm)(x, w[0], g)[1][None],
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    program = jax.jit(f).lower(X, weights, G).compile()
    assert pyptx.collectives(program) == {}
    found = program(X, weights, G)
    for i in range(8):
        (_, _, wanted), (_, _, scale) = exact(X[i : i + 1], weights[i], G[i : i + 1])
        close(found[i], wanted, scale)


def test_remat_and_scan(rms_norm):
    """The kernels inside jax.checkpoint and jax.lax.scan, forward and backward."""

    def layers(norm):
        def run(x, weights):
            step = jax.checkpoint(lambda x, w: (x + norm(x, w), None))
            return jax.lax.scan(step, x, weights)[0].var()

        return jax.grad(run, (0, 1))

    reference = lambda x, w: x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w
    weights = jnp.stack([W, 2 * W, 3 * W])
    wanted = layers(reference)(X, weights)
    for found, value in zip(jax.jit(layers(rms_norm))(X, weights), wanted, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5)
