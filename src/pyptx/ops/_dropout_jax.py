"""Dropout in JAX: seeds of rows from a key, and the mask in jax.numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from pyptx._source import SourceLocation
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._dropout import COLUMNS, LEVELS, MULTIPLIERS, ROUNDS, STEPS, level

_jax: Any = jax  # for what JAX annotates in part
_jnp: Any = jnp
_HALF: Final = np.uint32((1 << 16) - 1)


def checked(rate: object, key: Any, operation: str, where: SourceLocation) -> float:
    """The rate. Raises CallError for one that is out of range, and for a key that is none."""
    arguments = "x, residual, weight" if operation == "add_rms_norm" else "x, residual"
    example = f"{operation}({arguments}, dropout_rate=0.1, dropout_key=jax.random.key(0))"
    found = shell.number("dropout_rate", rate, example, where)
    if level(found) >= LEVELS:
        problem = f"dropout_rate is {rate!r} and must be below 1, and at most 1 - 2**-16"
    elif found == 0 or _is_key(key):
        return found
    elif key is None:
        problem = f"dropout_rate is {rate!r} and dropout_key is None"
    elif _is_array(key):
        problem = f"dropout_key is {key.dtype}{list(key.shape)} and must be one key of jax.random"
    else:
        problem = f"dropout_key has type {type(key).__name__} and must be one key of jax.random"
    raise CallError(problem, location=where, notes=(("help", example),))


def _is_array(value: object) -> bool:
    return isinstance(value, (jax.Array, np.ndarray))


def _is_key(key: Any) -> bool:
    """Whether it is one key, of the new type or as `jax.random.PRNGKey` gives it."""
    if not _is_array(key):
        return False
    if jnp.issubdtype(key.dtype, _jax.dtypes.prng_key):
        return key.ndim == 0
    raw = _jax.eval_shape(lambda: _jax.random.key_data(_jax.random.key(0)))
    return (key.dtype, key.shape) == (raw.dtype, raw.shape)


def seeds(key: Any, x: Any, rank: int) -> tuple[Any, Any]:
    """Two seeds of each row of x, s32: rows are its last `rank` dimensions."""
    lead = tuple(x.shape[: x.ndim - rank])
    bits = _jax.random.bits(key, (*lead, 2), jnp.uint32)
    bits = shell.of_rows_like(bits, x, len(lead))
    words = _jax.lax.bitcast_convert_type(bits, jnp.int32)
    return words[..., 0], words[..., 1]


@partial(_jax.jit, static_argnums=(0, 2))  # called by itself it is one program
def kept(rate: float, seeds: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Which elements of rows of a shape are kept, as the kernels find it."""
    columns = int(np.prod(shape))
    key = [seed.astype(jnp.uint32)[..., None] for seed in seeds]
    number = _jnp.arange(-(-columns // COLUMNS), dtype=jnp.uint32)
    number = jnp.broadcast_to(number, (*key[0].shape[:-1], number.size))
    zero = _jnp.zeros_like(number)
    words = jnp.stack(philox((number, zero, zero, zero), key), -1)
    halves = jnp.stack((words & _HALF, words >> 16), -1)
    lead = number.shape[:-1]
    bits = halves.reshape(*lead, number.shape[-1] * COLUMNS)[..., :columns]
    return (bits >= level(rate)).reshape(*lead, *shape)


def philox(counter: Sequence[Any], key: Sequence[Any], rounds: int = ROUNDS) -> list[Any]:
    """`_dropout.philox` on arrays of uint32, which are computed modulo 2**32."""
    words = list(counter)
    first, second = key
    for i in range(rounds):
        if i > 0:
            first, second = first + np.uint32(STEPS[0]), second + np.uint32(STEPS[1])
        low, high = _product(words[0], MULTIPLIERS[0])
        other_low, other_high = _product(words[2], MULTIPLIERS[1])
        words = [other_high ^ words[1] ^ first, other_low, high ^ words[3] ^ second, low]
    return words


def _product(word: Any, factor: int) -> tuple[Any, Any]:
    """The lower and upper halves of a product of 64 bits, which JAX may not have."""
    low, high = np.uint32(factor & int(_HALF)), np.uint32(factor >> 16)
    lowest, inner, outer = (word & _HALF) * low, (word >> 16) * low, (word & _HALF) * high
    middle = (lowest >> 16) + (inner & _HALF) + (outer & _HALF)
    upper = (word >> 16) * high + (inner >> 16) + (outer >> 16) + (middle >> 16)
    return word * np.uint32(factor), upper
