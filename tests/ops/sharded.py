"""Programs over simulated devices: what they compute, compared with jax.numpy."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

F32, BF16, E4M3 = jnp.float32, jnp.bfloat16, jnp.float8_e4m3fn
SCATTER, REDUCE, GATHER = "reduce-scatter", "all-reduce", "all-gather"
EXACT = partial(jnp.matmul, precision="highest")


def mesh(*sizes, kind=AxisType.Auto):
    devices = np.reshape(jax.devices("cpu")[: int(np.prod(sizes))], sizes)
    return Mesh(devices, ("x", "y")[: len(sizes)], axis_types=(kind,) * len(sizes))


def normal(*shape, dtype=F32, seed=0):
    return jnp.asarray(np.random.default_rng(seed + sum(shape)).standard_normal(shape), dtype)


def constrained(x, place, *spec):
    return jax.lax.with_sharding_constraint(x, NamedSharding(place, P(*spec)))


def squares(f):
    return lambda *arrays: (f(*arrays).astype(F32) ** 2).sum()


def check(place, functions, arrays, specs, out=None, tolerance=2e-6):
    """Compiles, compares with jax.numpy in f32, and returns the program."""
    f, reference = functions
    put = [jax.device_put(x, NamedSharding(place, p)) for x, p in zip(arrays, specs, strict=True)]
    wanted = {}
    if out is not None:
        is_spec = {"is_leaf": lambda p: isinstance(p, P)}
        wanted["out_shardings"] = jax.tree.map(partial(NamedSharding, place), out, **is_spec)
    program = jax.jit(f, **wanted).lower(*put).compile()
    wide = [x if x.dtype == jnp.int32 else jnp.asarray(np.asarray(x), F32) for x in arrays]
    with jax.default_matmul_precision("highest"):
        exact = reference(*wide)
    for one, other in zip(*map(jax.tree.leaves, (program(*put), exact)), strict=True):
        a, b = (np.asarray(each).astype(np.float64) for each in (one, other))
        assert a.shape == b.shape
        assert np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)
    return program
