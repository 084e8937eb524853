"""A small Llama in JAX, with the operations that `jax_block` replaces as a parameter.

Embedding, one block (RMS norm, causal attention with rotary positions, a norm of the sum, a SwiGLU
MLP), logits and their cross entropy. A training step is forward, backward and Adam's update.
"""

# JAX's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
from block_sizes import Sizes
from jax import numpy as jnp

EPS: Final = 1e-5
RATE: Final = 0.125
"""Of learning, for matrices, over the width: the terms of a sum change together."""
ROWS: Final[dict[str, float]] = dict.fromkeys(("embedding", "first", "second", "last"), 1 / 128)
"""For what multiplies or is an element: numbers near 1 have steps of 1 / 128 in bf16."""
DECAYS: Final = 0.9, 0.99
SMALL: Final = 1e-8

State = dict[str, dict[str, Any]]
"""The parameters, and Adam's averages of their gradients and of the squares."""


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Those of the parameters, by name."""
    width = sizes.width
    return {
        "embedding": (sizes.vocabulary, width),
        "first": (width,),
        "qkv": (width, 3 * width),
        "out": (width, width),
        "second": (width,),
        "gate": (width, sizes.hidden),
        "up": (width, sizes.hidden),
        "down": (sizes.hidden, width),
        "last": (width,),
        "logits": (width, sizes.vocabulary),
    }


# ---- the operations in jax.numpy: each computes in f32 and rounds once, as pyptx does ------------


def rms_norm(x: Any, weight: Any, eps: float) -> Any:
    """The norm of rows."""
    wide = x.astype(jnp.float32)
    r = jax.lax.rsqrt(jnp.mean(wide**2, -1, keepdims=True) + eps)
    return (wide * r * weight.astype(jnp.float32)).astype(x.dtype)


def add_rms_norm(x: Any, residual: Any, weight: Any, eps: float) -> tuple[Any, Any]:
    """The norm of a sum, and the sum."""
    total = x + residual
    return rms_norm(total, weight, eps), total


def rope(q: Any, k: Any, positions: Any) -> tuple[Any, Any]:
    """Rotary positions of arrays of shape (..., heads, size)."""
    size = q.shape[-1]
    powers = jnp.arange(0, size, 2, dtype=jnp.float32) / size
    turns = positions[..., None, None].astype(jnp.float32) * 10000.0**-powers
    cosine, sine = jnp.cos(turns), jnp.sin(turns)

    def turned(x: Any) -> Any:
        one, other = jnp.split(x.astype(jnp.float32), 2, -1)
        both = (one * cosine - other * sine, other * cosine + one * sine)
        return jnp.concatenate(both, -1).astype(x.dtype)

    return turned(q), turned(k)


def softmax(scores: Any, *, scale: float, causal: bool) -> Any:
    """Of each query's scores, with a causal mask."""
    assert causal
    rows, columns = (jax.lax.broadcasted_iota(jnp.int32, scores.shape[-2:], i) for i in (0, 1))
    kept = columns <= rows
    return jax.nn.softmax(scores.astype(jnp.float32) * scale, where=kept).astype(scores.dtype)


def swiglu(gate: Any, up: Any) -> Any:
    """The gate of the MLP."""
    return (jax.nn.silu(gate.astype(jnp.float32)) * up.astype(jnp.float32)).astype(gate.dtype)


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The loss of each row."""
    wide = logits.astype(jnp.float32)
    picked = jnp.take_along_axis(wide, labels[..., None], -1)[..., 0]
    return jax.nn.logsumexp(wide, -1) - picked


@dataclass(frozen=True, slots=True)
class Operations:
    """What the ways differ in; by default jax.numpy's."""

    rms_norm: Callable[..., Any] = rms_norm
    add_rms_norm: Callable[..., Any] = add_rms_norm
    rope: Callable[..., Any] = rope
    softmax: Callable[..., Any] = softmax
    swiglu: Callable[..., Any] = swiglu
    cross_entropy: Callable[..., Any] = cross_entropy
    matmul: Callable[..., Any] = jnp.matmul
    gated_matmul: Callable[..., Any] | None = None
    """Both products of the MLP and the gate, in place of two `matmul` and `swiglu`."""
    wide: bool = False
    """Whether activations are f32, whatever the parameters are."""


def rounded_twice() -> Operations:
    """As in the Llama of Hugging Face: norms are rounded before the weight, silu before `up`."""

    def norm(x: Any, weight: Any, eps: float) -> Any:
        return rms_norm(x, jnp.ones_like(weight), eps) * weight

    def add_norm(x: Any, residual: Any, weight: Any, eps: float) -> tuple[Any, Any]:
        total = x + residual
        return norm(total, weight, eps), total

    def gate_of(gate: Any, up: Any) -> Any:
        return swiglu(gate, jnp.ones_like(up)) * up

    return Operations(rms_norm=norm, add_rms_norm=add_norm, swiglu=gate_of)


def summed_in_halves() -> Operations:
    """Products whose sums have another order: that of each half of K, then both."""

    def product(x: Any, weight: Any) -> Any:
        half = weight.shape[0] // 2
        parts = (x[..., :half], weight[:half]), (x[..., half:], weight[half:])
        first, second = (jnp.matmul(*part, preferred_element_type=jnp.float32) for part in parts)
        return (first + second).astype(x.dtype)

    return Operations(matmul=product)


# ---- the model -----------------------------------------------------------------------------------


def loss(op: Operations, heads: int, parameters: dict[str, Any], ids: Any) -> Any:
    """The mean loss of the tokens that follow; `ids` has shape (batch, tokens + 1)."""
    p = {k: v.astype(jnp.float32) for k, v in parameters.items()} if op.wide else parameters
    x = p["embedding"][ids[:, :-1]]
    attended = _attention(op, heads, op.rms_norm(x, p["first"], EPS), p["qkv"])
    y, x = op.add_rms_norm(op.matmul(attended, p["out"]), x, p["second"], EPS)
    inner = op.matmul(_gated(op, y, p["gate"], p["up"]), p["down"])
    y, _ = op.add_rms_norm(inner, x, p["last"], EPS)
    return op.cross_entropy(op.matmul(y, p["logits"]), ids[:, 1:]).mean()


def _attention(op: Operations, heads: int, x: Any, qkv: Any) -> Any:
    """Causal attention of all heads."""
    batch, tokens, width = x.shape
    split = op.matmul(x, qkv).reshape(batch, tokens, 3, heads, width // heads)
    q, k, v = (split[:, :, i] for i in range(3))
    q, k = op.rope(q, k, jnp.arange(tokens, dtype=jnp.int32))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    weights = op.softmax(scores, scale=1 / math.sqrt(width // heads), causal=True)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, tokens, width)


def _gated(op: Operations, x: Any, gate: Any, up: Any) -> Any:
    if op.gated_matmul is not None:
        return op.gated_matmul(x, gate, up)
    return op.swiglu(op.matmul(x, gate), op.matmul(x, up))


# ---- training ------------------------------------------------------------------------------------


def initial(sizes: Sizes, dtype: Any, seed: int = 0) -> State:
    """The same parameters for all ways: ones for norms, otherwise normal, of variance 1 / rows."""
    named = shapes(sizes)
    counts = [math.prod(shape) for shape in named.values()]
    drawn = jax.random.normal(jax.random.key(seed), (sum(counts),), jnp.float32)

    def values(name: str, shape: tuple[int, ...], first: int) -> Any:
        if len(shape) == 1:
            return jnp.ones(shape, dtype)
        spread = 1.0 if name == "embedding" else 1 / math.sqrt(shape[0])
        return (drawn[first : first + math.prod(shape)].reshape(shape) * spread).astype(dtype)

    begins = itertools.accumulate(counts, initial=0)
    parameters = {
        name: values(name, shape, first)
        for (name, shape), first in zip(named.items(), begins, strict=False)
    }
    mean, square = (
        {name: jnp.zeros(shape, jnp.float32) for name, shape in named.items()} for _ in range(2)
    )
    return {"parameters": parameters, "mean": mean, "square": square}


def step(op: Operations, heads: int, state: State, ids: Any) -> tuple[State, Any]:
    """The state after one step of Adam, and the loss before it."""
    parameters = state["parameters"]
    found, gradients = jax.value_and_grad(partial(loss, op, heads))(parameters, ids)
    width = parameters["first"].shape[0]
    new: State = {"parameters": {}, "mean": {}, "square": {}}
    for name, value in parameters.items():
        g = gradients[name].astype(jnp.float32)
        mean, square = (
            decay * state[what][name] + (1 - decay) * power
            for what, decay, power in zip(("mean", "square"), DECAYS, (g, g * g), strict=True)
        )
        change = ROWS.get(name, RATE / width) * mean / (jnp.sqrt(square) + SMALL)
        moved = value.astype(jnp.float32) - change
        new["parameters"][name] = moved.astype(value.dtype)
        new["mean"][name], new["square"][name] = mean, square
    return new, found
