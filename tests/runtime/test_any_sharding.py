"""Random programs: kernels under random vmaps, meshes and shardings, against jax.numpy."""

import random

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

pytestmark = pytest.mark.sweep

AXES = {"a": 2, "b": 2, "c": 2}
ROWS = [(8,), (8, 4), (6, 4), (2, 4, 4), (3,)]


@pytest.fixture(autouse=True)
def _one_thread_each(monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")


def cases(kernels, reference):
    """Each operation with the shapes of its operands behind the rows (None: no rows)."""

    def scale_of(x):
        return 1 / (1 + (x * x).sum(-1))

    def gradient(g, x, r):
        return (g * x * r[..., None]).sum(tuple(range(x.ndim - 1)))

    def twice(x, w):
        y = reference(x, w)
        z = reference(y, w)
        return z, gradient(y, z, scale_of(y))

    rows, columns = ("rows", 20), (20,)
    return [
        (kernels.normalise, (rows, columns), lambda x, w: (reference(x, w), scale_of(x))),
        (kernels.weight_gradient, (rows, rows, ("rows",)), gradient),
        (kernels.products, ((8, 32), (4, 32)), lambda x, y: x @ y.T),
        (kernels.twice, (rows, columns), twice),
    ]


def any_spec(chance, shape):
    """Some axes of the mesh for some axes of a tensor, wherever they divide it."""
    free = chance.sample(sorted(AXES), k=3)
    spec = []
    for size in shape:
        taken = []
        while free and chance.random() < 0.4 and size % (AXES[free[-1]] * 2 ** len(taken)) == 0:
            taken.append(free.pop())
        spec.append(tuple(taken) or None)
    return P(*spec)


def any_mask(chance, count):
    mask = [chance.random() < 0.6 for _ in range(count)]
    mask[chance.randrange(count)] = True
    return mask


def mapped(f, masks):
    for mask in reversed(masks):
        f = jax.vmap(f, tuple(0 if m else None for m in mask))
    return f


@pytest.mark.parametrize("seed", range(100))
def test_a_random_program(kernels, operations, devices, seed):
    chance, numbers = random.Random(seed), np.random.default_rng(seed)
    kernel, own, reference = chance.choice(cases(kernels, operations.reference))
    rows = chance.choice(ROWS)
    masks = [any_mask(chance, len(own)) for _ in range(chance.choice([0, 0, 1, 2]))]
    sizes = [chance.choice([2, 3, 4, 8]) for _ in masks]
    order = numbers.permutation(devices) if chance.random() < 0.5 else np.array(devices)
    mesh = Mesh(order.reshape(2, 2, 2), tuple(AXES))

    arrays = []
    for i, dims in enumerate(own):
        outer = tuple(size for size, mask in zip(sizes, masks, strict=True) if mask[i])
        shape = (*outer, *(rows if dims[0] == "rows" else dims[:1]), *dims[1:])
        arrays.append(numbers.standard_normal(shape).astype(np.float32))
    specs = [any_spec(chance, array.shape) for array in arrays]
    placed = [
        jax.device_put(array, NamedSharding(mesh, spec))
        for array, spec in zip(arrays, specs, strict=True)
    ]
    wanted = mapped(reference, masks)(*arrays)
    options = {}
    if chance.random() < 0.4:
        options["out_shardings"] = jax.tree.map(
            lambda leaf: NamedSharding(mesh, any_spec(chance, leaf.shape)), wanted
        )
    found = jax.jit(mapped(kernel, masks), **options)(*placed)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4, err_msg=f"{masks} {specs}")
