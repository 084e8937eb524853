"""Kernels over eight simulated devices: transformations times shardings, and what is sent."""

import contextlib
import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
import pyptx.ops  # noqa: E402
from pyptx import CallError, Tile, kernel, ptx, reg  # noqa: E402
from pyptx.types import f32, f64, s32, s64, u32, u64  # noqa: E402

RNG = np.random.default_rng(0)
X, G = RNG.standard_normal((2, 8, 2, 20)).astype(np.float32)
W = RNG.standard_normal(20).astype(np.float32)
LAYERS = RNG.standard_normal((3, 20)).astype(np.float32)

AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit


@pytest.fixture(autouse=True)
def _one_thread_each(monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")


@pytest.fixture
def mesh(devices):
    return lambda kind=AUTO: Mesh(np.reshape(devices, (4, 2)), ("data", "model"), (kind, kind))


def put(array, mesh, *spec):
    return jax.device_put(array, NamedSharding(mesh, P(*spec)))


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)


# ---- transformations -----------------------------------------------------------------------------
# Each makes a function of x, w and a cotangent g from an operation of x and w.


def forward(f):
    return lambda x, w, g: f(x, w)


def gradient(f):
    return lambda x, w, g: jax.vjp(f, x, w)[1](g)


def remat(f):
    return gradient(jax.checkpoint(f))


def layers(f):
    """A scan over weights."""
    weights = LAYERS
    return lambda x, w, g: jax.lax.scan(lambda c, v: (f(c, v * w), None), x, weights)[0]


def layers_gradient(f):
    scanned = layers(f)
    return gradient(lambda x, w: scanned(x, w, None))


def cond(f):
    return lambda x, w, g: jax.lax.cond(w[0] < 9, lambda: f(x, w), lambda: x)


def mapped(f):
    """vmap of the first axis, one launch for all of it."""
    return lambda x, w, g: jax.vmap(f, (0, None))(x, w)


def mapped_with_weights(f):
    """vmap of the first axis with a weight for each index."""
    return lambda x, w, g: jax.vmap(f)(x, _weights(w))


def mapped_gradient(f):
    """A weight gradient for each index of the first axis."""
    each = gradient(f)
    return lambda x, w, g: jax.vmap(each, (0, None, 0))(x, w, g)


def mapped_gradient_with_weights(f):
    each = gradient(f)
    return lambda x, w, g: jax.vmap(each)(x, _weights(w), g)


def nested(f):
    """Both axes of rows mapped, weights along the second."""
    inner = jax.vmap(f, (0, 0))
    return lambda x, w, g: jax.vmap(inner, (0, None))(x, w * np.array([[1.0], [2.0]], np.float32))


def with_axis_name(f):
    """vmap with the name of the mesh axis that the mapped axis is sharded over."""
    return lambda x, w, g: jax.vmap(f, (0, None), spmd_axis_name="data")(x, w)


def _weights(w):
    return w * np.arange(1, 9, dtype=np.float32)[:, None]


# What they send where rows are sharded along the first axis, or along the second too: sums over the
# second axis remain where the first one is mapped.
FORWARD = [forward, layers, cond, mapped, mapped_with_weights, nested, with_axis_name]
BACKWARD = [gradient, remat, layers_gradient]
MAPPED_BACKWARD = [mapped_gradient, mapped_gradient_with_weights]

# How x is sharded, of shape (8, 2, 20): its rows are the first two axes.
ROWS = {
    "replicated": (),
    "data": ("data",),
    "data and model": (("data", "model"),),
    "model and data": (("model", "data"),),
    "both axes": ("data", "model"),
    "second axis": (None, "model"),
}


def names(values):
    return getattr(values, "__name__", None)


def check(operations, transformation, *arguments):
    """Compiles, compares with jax.numpy, and returns the results and what the program sends."""
    program = jax.jit(transformation(operations.normalise)).lower(*arguments).compile()
    found = program(*arguments)
    close(found, wanted(transformation, operations.reference))
    return found, pyptx.collectives(program)


@functools.cache
def wanted(transformation, reference):
    return transformation(reference)(X, W, G)


@pytest.mark.sampled(32, each=("transformation", "spec"))
@pytest.mark.parametrize("spec", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("transformation", FORWARD, ids=names)
def test_nothing_is_sent(operations, mesh, transformation, spec):
    m = mesh()
    y, sent = check(operations, transformation, put(X, m, *spec), put(W, m), put(G, m, *spec))
    assert sent == {}
    assert y.sharding.is_equivalent_to(NamedSharding(m, P(*spec)), y.ndim)


@pytest.mark.sampled(24, each=("transformation", "spec"))
@pytest.mark.parametrize("spec", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("transformation", BACKWARD, ids=names)
def test_weight_gradients_are_added_up_once(operations, mesh, transformation, spec):
    m = mesh()
    _, sent = check(operations, transformation, put(X, m, *spec), put(W, m), put(G, m, *spec))
    assert sent == ({"all-reduce": 1} if spec else {})


@pytest.mark.sampled(24, each=("transformation", "spec"))
@pytest.mark.parametrize("spec", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("transformation", MAPPED_BACKWARD, ids=names)
def test_mapped_weight_gradients_are_added_up_along_the_other_axis(
    operations, mesh, transformation, spec
):
    m = mesh()
    _, sent = check(operations, transformation, put(X, m, *spec), put(W, m), put(G, m, *spec))
    assert sent == ({"all-reduce": 1} if len(spec) == 2 else {})


# ---- what plain jit is given ---------------------------------------------------------------------


def test_with_a_mesh_that_is_set(operations, mesh):
    m = mesh()
    with jax.set_mesh(m):
        for transformation in (forward, gradient):
            _, sent = check(operations, transformation, put(X, m, "data"), put(W, m), put(G, m))
            assert sent == ({"all-reduce": 1} if transformation is gradient else {})


def test_sharded_arguments_alone_are_enough(operations, mesh):
    y = jax.jit(operations.normalise)(put(X, mesh(), "data"), W)
    assert y.sharding.spec == P("data")
    close(y, operations.reference(X, W))


def test_in_shardings_and_out_shardings(operations, mesh):
    rows, whole = (NamedSharding(mesh(), P(*spec)) for spec in (("data",), ()))
    for given in ({"in_shardings": (rows, whole)}, {"out_shardings": rows}):
        program = jax.jit(operations.normalise, **given).lower(X, W).compile()
        assert pyptx.collectives(program) == {}
        y = program(X, W)
        assert y.sharding.is_equivalent_to(rows, y.ndim)
        close(y, operations.reference(X, W))


def test_other_users_of_a_result(operations, mesh):
    """What is sharded in another way, before and behind, is sent and right."""
    m = mesh()
    other = NamedSharding(m, P(None, "model"))

    def f(x, w):
        y = operations.normalise(x, w)
        return jax.lax.with_sharding_constraint(y, other), y.sum(0)

    y, total = jax.jit(f)(put(X, m, "data"), W)
    close((y, total), (operations.reference(X, W), operations.reference(X, W).sum(0)))
    assert y.sharding.is_equivalent_to(other, y.ndim)


def test_operands_that_are_sharded_differently(kernels, mesh):
    m = mesh()
    for x_spec, g_spec in (
        (("data",), ("model",)),
        (("data",), (("model", "data"),)),
        ((), ("data",)),
    ):
        r = put(np.ones((8, 2), np.float32), m)
        found = jax.jit(kernels.weight_gradient)(put(G, m, *g_spec), put(X, m, *x_spec), r)
        close(found, (G * X).sum((0, 1)))


@pytest.mark.parametrize("rows", [1, 3, 6, 12, 13])
def test_rows_that_the_mesh_does_not_divide(kernels, operations, mesh, rows):
    """XLA pads such a sharding with what is no row, and a sum must not see it."""
    m = mesh()
    x = RNG.standard_normal((rows, 20)).astype(np.float32)
    split = NamedSharding(m, P(("data", "model")))

    def f(x, w):
        x = jax.lax.with_sharding_constraint(x * 1, split)
        return operations.normalise(x, w), kernels.weight_gradient(x, x, jnp.ones(rows))

    close(jax.jit(f)(put(x, m), put(W, m)), (operations.reference(x, W), (x * x).sum(0)))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("spec", [(P(), P(None, "model")), (P(None, "model"), P("model", None))])
@pytest.mark.parametrize(("n", "k"), [(24, 64), (8, 64), (200, 24), (64, 64)])
def test_rows_that_tensor_maps_do_not_take(mesh, n, k, spec):
    """Rows of part of B, or A, that are no multiple of 16 bytes are gathered; others are not."""
    a, b = (RNG.standard_normal(shape).astype(jnp.bfloat16) for shape in ((32, k), (k, n)))
    given = [jax.device_put(x, NamedSharding(mesh(), s)) for x, s in zip((a, b), spec, strict=True)]
    run = jax.jit(pyptx.ops.matmul)
    exact = a.astype(np.float32) @ b.astype(np.float32)
    found = np.asarray(run(*given)).astype(np.float32)
    np.testing.assert_allclose(found, exact, rtol=2**-8, atol=2**-12)
    split = n if spec[0] == P() else k
    text = run.lower(*given).compile().as_text()
    assert ("all-gather" in text) == (split // 2 % 8 != 0)


def test_no_rows(operations, mesh):
    m = mesh()
    x = put(np.zeros((0, 20), np.float32), m, "data")
    y, (dx, dw) = jax.jit(
        lambda x, w: (operations.normalise(x, w), gradient(operations.normalise)(x, w, x))
    )(x, W)
    assert y.shape == dx.shape == (0, 20)
    np.testing.assert_array_equal(dw, np.zeros(20))


def test_no_operands(kernels, mesh):
    _, y = jax.jit(lambda x: (x + 1, kernels.iota()))(put(X, mesh(), "data"))
    np.testing.assert_array_equal(y, np.arange(256))


def test_two_parallel_dimensions(kernels, mesh):
    m = mesh()
    x, y = RNG.standard_normal((2, 8, 32)).astype(np.float32)
    for x_spec, y_spec, z_spec in (
        (("data",), ("model",), ("data", "model")),
        ((), ("data",), (None, "data")),
        ((("model", "data"),), (), (("model", "data"),)),
    ):
        arguments = put(x, m, *x_spec), put(y, m, *y_spec)
        program = jax.jit(kernels.products).lower(*arguments).compile()
        z = program(*arguments)
        close(z, x @ y.T)
        assert pyptx.collectives(program) == {}
        assert z.sharding.is_equivalent_to(NamedSharding(m, P(*z_spec)), 2)
    # One axis of the mesh splits one of them; the other operand is gathered.
    arguments = put(x, m, "data"), put(y, m, "data")
    program = jax.jit(kernels.products).lower(*arguments).compile()
    close(program(*arguments), x @ y.T)
    assert "all-gather" in pyptx.collectives(program)


def test_in_place(kernels, mesh):
    m = mesh()
    x = RNG.standard_normal((8, 32)).astype(np.float32)
    given = put(x, m, "data") * 1  # memory of XLA, not that of NumPy
    program = jax.jit(kernels.double, donate_argnums=0).lower(given).compile()
    assert pyptx.collectives(program) == {}
    where = {s.device: s.data.unsafe_buffer_pointer() for s in given.addressable_shards}
    y = program(given)
    close(y, x * 2)
    assert given.is_deleted()
    assert {s.device: s.data.unsafe_buffer_pointer() for s in y.addressable_shards} == where
    kept = put(x, m, "data")
    close(jax.jit(kernels.double)(kept), x * 2)
    close(kept, x)


@pytest.mark.parametrize("dtype", [f32, f64, s32, u32, s64, u64], ids=str)
def test_sums_are_added_up_in_their_own_type(mesh, dtype):
    @kernel(
        in_specs=(Tile("B", 8, dtype),),
        out_specs=(Tile(8, dtype, sum_over="B"),),
        block=8,
        arch="auto",
        parallel=("B",),
    )
    def total(X, S):
        px, ps = ptx.global_ptrs(X, S)
        at = reg.from_(ptx.special.tid.x(), u32) * dtype.bytes
        result = reg.scalar(dtype, init=0)
        for row in ptx.range_(X.shape[0]):
            place = ptx.addr(px + row * (8 * dtype.bytes) + at)
            result += getattr(ptx.inst.ld.global_, dtype.name)(place)
        getattr(ptx.inst.st.global_, dtype.name)(ptx.addr(ps + at), result)

    with jax.enable_x64(True):
        rows = RNG.integers(1, 100, (8, 8))
        x = rows.astype(dtype.numpy) * np.asarray(2**21 + 1 if dtype.bytes == 8 else 1, dtype.numpy)
        found = jax.jit(total)(put(x, mesh(), ("data", "model")))
    assert found.dtype == dtype.numpy
    np.testing.assert_array_equal(found, x.sum(0, dtype=dtype.numpy))


def test_devices_that_are_not_here(operations):
    """A program is lowered for a mesh of CUDA devices that this process does not have."""
    m = jax.sharding.AbstractMesh((16, 2), ("data", "model"))
    x, w = (
        jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=NamedSharding(m, P(*spec)))
        for a, spec in ((np.tile(X, (2, 1, 1)), ("data",)), (W, ()))
    )
    with pyptx.target("sm_90a"):
        traced = jax.jit(gradient(operations.normalise)).trace(x, w, x)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("@pyptx_partition") == 3
    assert "sdy.sharding_rule" in text
    assert "@pyptx_cuda" not in text


def test_devices_in_another_order(operations, devices):
    order = [3, 1, 0, 2, 7, 6, 4, 5]
    m = Mesh(np.reshape([devices[i] for i in order], (2, 2, 2)), ("a", "b", "c"))
    for spec in (("a",), ("c",), (("c", "a"),), ("c", "b"), (("b", "a"), "c")):
        _, sent = check(operations, gradient, put(X, m, *spec), put(W, m), put(G, m, *spec))
        assert sent == {"all-reduce": 1}


def test_eager_calls_keep_their_sharding(kernels, operations, mesh):
    m = mesh()
    x = put(X, m, "data", "model")
    y, r = kernels.normalise(x, put(W, m))
    assert (y.sharding.spec, r.sharding.spec) == (P("data", "model"), P("data", "model"))
    close(y, operations.reference(X, W))
    dw = kernels.weight_gradient(
        put(G, m, "data"), put(X, m, "data"), put(np.ones((8, 2), np.float32), m)
    )
    assert dw.sharding.is_fully_replicated
    close(dw, (G * X).sum((0, 1)))
    y, _ = jax.vmap(kernels.normalise)(put(X, m, "data"), put(_weights(W), m, "data"))
    assert y.sharding.is_equivalent_to(NamedSharding(m, P("data")), 3)
    close(y, jax.vmap(operations.reference)(X, _weights(W)))


def test_a_sharded_dimension_that_is_not_parallel(kernels, operations, mesh):
    """Under plain jit XLA gathers it; where the sharding is seen it is an error."""
    m = mesh()
    x, w = put(X, m, "data", None, "model"), put(W, m, "model")
    y, sent = check(operations, forward, x, w, G)
    assert set(sent) == {"all-gather"}
    assert y.sharding.is_equivalent_to(NamedSharding(m, P("data")), 3)
    problem = (
        "dimension 2 of X is sharded over 'model', and kernel normalise needs it whole\n"
        "  help: call the kernel inside jax.shard_map, or replicate the array\n"
        "  help: parallel= names dimensions that a kernel treats each index of on its own"
    )
    assert refused(lambda: kernels.normalise(x, put(W, m))) == problem
    assert refused(lambda: jax.vmap(kernels.normalise, (0, None))(x, put(W, m))) == problem.replace(
        "dimension 2", "dimension 1"
    )


def refused(call):
    """The message without the line of the call, which must be one of this file."""
    with pytest.raises(CallError) as caught:
        call()
    assert caught.value.location.file == __file__
    return CallError(caught.value.problem, notes=caught.value.notes).render()


# ---- explicit meshes -----------------------------------------------------------------------------

EXPLICIT_ROWS = [("data",), (("model", "data"),), ("data", "model")]


# There vmap wants all mapped axes sharded alike, so no weights are mapped along a sharded axis.
@pytest.mark.sampled(32, each=("transformation", "spec", "context"))
@pytest.mark.parametrize("context", [True, False], ids=["set_mesh", "arrays alone"])
@pytest.mark.parametrize(
    ("transformation", "spec"),
    [
        (t, s)
        for t in (forward, layers, mapped, nested, gradient)
        for s in EXPLICIT_ROWS
        if not (t is nested and len(s) == 2)
    ],
    ids=lambda value: names(value) or str(value),
)
def test_explicit_meshes(operations, mesh, transformation, spec, context):
    m = mesh(EXPLICIT)
    arguments = put(X, m, *spec), put(W, m), put(G, m, *spec)
    with jax.set_mesh(m) if context else contextlib.nullcontext():
        found, sent = check(operations, transformation, *arguments)
    assert sent == ({"all-reduce": 1} if transformation is gradient else {})
    first = jax.tree.leaves(found)[0]
    assert tuple(jax.typeof(first).sharding.spec)[: len(spec)] == spec


def test_types_under_an_explicit_mesh(kernels, mesh):
    m = mesh(EXPLICIT)
    r = put(np.ones((8, 2), np.float32), m)
    with jax.set_mesh(m):
        y, r = jax.eval_shape(kernels.normalise, put(X, m, "data"), put(W, m))
        assert (y.sharding.spec, r.sharding.spec) == (P("data", None, None), P("data", None))
        dw = jax.eval_shape(kernels.weight_gradient, put(G, m), put(X, m, "data"), r)
        assert dw.sharding.spec == P(None)
        x, y = (
            put(np.ones((8, 32), np.float32), m, "model"),
            put(np.ones((4, 32), np.float32), m, "data"),
        )
        assert jax.eval_shape(kernels.products, x, y).sharding.spec == P("model", "data")
        eager = kernels.products(x, y)
        assert jax.typeof(eager).sharding.spec == P("model", "data")
        np.testing.assert_array_equal(eager, np.full((8, 4), 32))


def test_errors_under_an_explicit_mesh(kernels, mesh):
    m = mesh(EXPLICIT)
    ones = np.ones((8, 32), np.float32)
    r = put(np.ones((8, 2), np.float32), m)
    with jax.set_mesh(m):
        assert refused(
            lambda: jax.jit(kernels.normalise)(put(X, m, None, None, "model"), put(W, m, "model"))
        ) == (
            "dimension 2 of X is sharded over 'model', and kernel normalise needs it whole\n"
            "  help: call the kernel inside jax.shard_map, or replicate the array\n"
            "  help: parallel= names dimensions that a kernel treats each index of on its own"
        )
        assert refused(
            lambda: jax.jit(kernels.weight_gradient)(put(G, m, "data"), put(X, m, "model"), r)
        ) == (
            "dimension 0 of X is sharded over 'model' and dimension 0 of G over 'data', and kernel "
            "weight_gradient takes both the same way\n"
            "  help: jax.sharding.reshard changes the sharding"
        )
        assert refused(lambda: kernels.products(put(ones, m, "data"), put(ones, m, "data"))) == (
            "dimension 0 of X and dimension 0 of Y are both sharded over 'data', and kernel "
            "products works on each pair of their indices\n"
            "  help: jax.sharding.reshard changes the sharding"
        )


def test_an_unreduced_operand(kernels, mesh):
    m = mesh(EXPLICIT)
    a, b = put(np.ones((8, 16), np.float32), m, None, "data"), put(np.ones((16, 20)), m, "data")
    with jax.set_mesh(m):
        product = jax.jit(
            lambda a, b, w: kernels.normalise(
                jnp.dot(a, b, out_sharding=P(unreduced={"data"})).astype(np.float32), w
            )
        )
        assert refused(lambda: product(a, b, put(W, m))) == (
            "X is unreduced over data, and kernel normalise reads its values\n"
            "  help: jax.sharding.reshard changes the sharding"
        )


def test_a_mesh_of_both_kinds(operations, devices):
    m = Mesh(np.reshape(devices, (4, 2)), ("data", "model"), (EXPLICIT, AUTO))
    with jax.set_mesh(m):
        for transformation in (forward, gradient):
            arguments = put(X, m, "data"), put(W, m), put(G, m, "data")
            _, sent = check(operations, transformation, *arguments)
            assert sent == ({"all-reduce": 1} if transformation is gradient else {})


# ---- shard_map -----------------------------------------------------------------------------------


def local(f, m, spec, checked, **options):
    """One device's part of x, g and the results of f; the gradient of w is the sum of all."""
    rows, whole = P(*spec), P()

    def g(x, w, g):
        results = f(x, w, g)
        if isinstance(results, tuple) and not checked:  # without types nothing is added up for w
            over = [n for s in spec for n in (s if isinstance(s, tuple) else (s,)) if n]
            return results[0], jax.lax.psum(results[1], over)
        return results

    outputs = (rows, whole) if f.__qualname__.startswith("gradient") else rows
    return jax.shard_map(
        g, mesh=m, in_specs=(rows, whole, rows), out_specs=outputs, check_vma=checked, **options
    )


@pytest.mark.sampled(32, each=("transformation", "spec", "checked"))
@pytest.mark.parametrize("checked", [True, False], ids=["types", "no types"])
@pytest.mark.parametrize("spec", [("data",), (("data", "model"),), ("data", "model")], ids=str)
@pytest.mark.parametrize("transformation", [forward, layers, mapped, gradient], ids=names)
def test_inside_shard_map(operations, mesh, transformation, spec, checked):
    m = mesh()
    _, sent = check(
        operations,
        lambda f: (
            local(transformation(f), m, spec, checked)
            if f is operations.normalise
            else transformation(f)
        ),
        put(X, m, *spec),
        put(W, m),
        put(G, m, *spec),
    )
    assert sent == ({"all-reduce": 1} if transformation is gradient else {})


@pytest.mark.parametrize("checked", [True, False], ids=["types", "no types"])
def test_the_gradient_of_a_shard_map(operations, mesh, checked):
    m = mesh()
    f = jax.shard_map(
        operations.normalise,
        mesh=m,
        in_specs=(P("data"), P()),
        out_specs=P("data"),
        check_vma=checked,
    )
    arguments = put(X, m, "data"), put(W, m), put(G, m, "data")
    program = jax.jit(gradient(f)).lower(*arguments).compile()
    close(program(*arguments), wanted(gradient, operations.reference))
    # Without types JAX adds up what it takes for one part of the gradient for each device.
    assert pyptx.collectives(program) == {"all-reduce": 1 if checked else 2}


@pytest.mark.parametrize("checked", [True, False], ids=["types", "no types"])
@pytest.mark.parametrize("inner", [(), ("model",), (None, "model")], ids=str)
def test_inside_shard_map_over_one_of_two_axes(operations, mesh, inner, checked):
    """The other axis is left to XLA, and rows are split along it too."""
    m = mesh()
    spec = (("data", "model"),) if inner == ("model",) else ("data", *inner[1:])
    f = jax.shard_map(
        operations.normalise,
        mesh=m,
        in_specs=(P("data"), P()),
        out_specs=P("data"),
        axis_names={"data"},
        check_vma=checked,
    )
    y, sent = check(
        operations,
        lambda g: forward(f) if g is operations.normalise else forward(g),
        put(X, m, *spec),
        put(W, m),
        put(G, m, *spec),
    )
    assert sent == {}
    assert y.sharding.is_equivalent_to(NamedSharding(m, P(*spec)), 3)


@pytest.mark.parametrize("count", [1, 4])
def test_inside_shard_map_where_the_other_axes_have_one_device(kernels, devices, count):
    """XLA's partitioner has nothing to do there, or does not run; the sum is not gathered for."""
    m = Mesh(np.reshape(devices[:count], (count, 1)), ("data", "model"))

    def f(g, x, r):
        return jax.lax.psum(kernels.weight_gradient(g, x, r), "data")

    f = jax.shard_map(f, mesh=m, in_specs=(P("data"),) * 3, out_specs=P(), axis_names={"data"})
    arguments = put(G, m, "data"), put(X, m, "data"), put(np.ones((8, 2), np.float32), m, "data")
    program = jax.jit(f).lower(*arguments).compile()
    close(program(*arguments), (G * X).sum((0, 1)))
    assert pyptx.collectives(program) == {"all-reduce": 1}


@pytest.mark.parametrize("spec", [("data",), (("data", "model"),), ("data", "model")], ids=str)
def test_a_sum_inside_shard_map_over_one_of_two_axes(kernels, mesh, spec):
    """It stays whole along the other axis: what is split there is gathered."""
    m = mesh()

    def f(g, x, r):
        return jax.lax.psum(kernels.weight_gradient(g, x, r), "data")

    f = jax.shard_map(
        f, mesh=m, in_specs=(P("data"),) * 3, out_specs=P(), axis_names={"data"}, check_vma=False
    )
    arguments = put(G, m, *spec), put(X, m, *spec), put(np.ones((8, 2), np.float32), m, *spec)
    program = jax.jit(f).lower(*arguments).compile()
    close(program(*arguments), (G * X).sum((0, 1)))
    sent = pyptx.collectives(program)
    assert sent["all-reduce"] == 1
    assert ("all-gather" in sent) == ("model" in str(spec))
