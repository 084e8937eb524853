"""`swiglu`, `geglu`, `reglu`, `silu`, `gelu` and `relu` as operations of JAX."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax

from pyptx._source import call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._gates import Activation, Gate, GateGradient
from pyptx.ops.rowwise import plan

_jax: Any = jax  # for what JAX annotates in part

_WIDEST = 16
"""Bytes of an access: rows are cut so that each thread has one of each array."""


def swiglu(gate: Any, up: Any) -> Any:
    """silu(gate) * up, element by element, rounded once. `jax.nn.silu(gate) * up`.

    gate, up   bf16, f16, f32 or f64, of the same shape and type
    returns    their shape and type

    Computed in f32, in f64 where the arrays are. Differentiable in reverse mode by one kernel for
    both gradients, and of higher order by jax.numpy; one launch under `jax.vmap`, and for each
    device however the arrays are sharded. Raises CallError.
    """
    return _call("swiglu", "silu", gate, up)


def geglu(gate: Any, up: Any, *, approximate: bool = True) -> Any:
    """gelu(gate) * up with gelu as `jax.nn.gelu` has it, by tanh or exact; else as `swiglu`."""
    return _call("geglu", _gelu(approximate), gate, up)


def reglu(gate: Any, up: Any) -> Any:
    """max(gate, 0) * up; else as `swiglu`."""
    return _call("reglu", "relu", gate, up)


def silu(x: Any) -> Any:
    """x / (1 + exp(-x)), as `jax.nn.silu`; else as `swiglu`."""
    return _call("silu", "silu", x)


def gelu(x: Any, approximate: bool = True) -> Any:
    """x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), as `jax.nn.gelu`.

    Where `approximate` is False x (1 + erf(x / sqrt(2))) / 2, as there: in f32 within 8e-7 + 1e-7
    x^2 below 0 and 8e-7 above, in f64 within 8e-15 + 2e-16 x^2, relative.
    """
    return _call("gelu", _gelu(approximate), x)


def relu(x: Any) -> Any:
    """max(x, 0), and NaN for NaN, as `jax.nn.relu`; else as `swiglu`."""
    return _call("relu", "relu", x)


def _gelu(approximate: object) -> Activation:
    if not isinstance(approximate, bool):
        problem = f"approximate is {approximate!r} and must be True or False"
        raise CallError(problem, location=call_site())
    return "gelu_tanh" if approximate else "gelu"


def _call(name: str, activation: Activation, *arrays: Any) -> Any:
    where = call_site()
    shell.check_targets(name, where)
    names = ["gate", "up"][: len(arrays)] if len(arrays) > 1 else ["x"]
    dtypes = [shell.check_array(n, a, name, where) for n, a in zip(names, arrays, strict=True)]
    first: Any = next(iter(arrays))
    for n, array, dtype in zip(names[1:], arrays[1:], dtypes[1:], strict=True):
        if (tuple(array.shape), dtype) != (tuple(first.shape), dtypes[0]):
            raise CallError(
                f"{n} is {array.dtype}{list(array.shape)}, and {names[0]} "
                f"{first.dtype}{list(first.shape)}",
                location=where,
                notes=(
                    ("help", f"{n}.astype({names[0]}.dtype), jax.numpy.broadcast_to({n}, ...)"),
                ),
            )
    if 0 in first.shape:
        return first
    return shell.located(name, where, _gate, activation, *shell.as_jax(*arrays))


def _vectors(array: Any) -> tuple[tuple[int, ...], int]:
    """An array's shape with its last dimension cut into vectors, and the size of one."""
    lead, last = array.shape[:-1], array.shape[-1] if array.ndim else 1
    size = math.gcd(last, _WIDEST // array.dtype.itemsize) if isinstance(last, int) else 1
    return (*lead, last // size, size), size


def _run(op: type[Gate], activation: Activation, *arrays: Any) -> tuple[Any, ...]:
    shape, size = _vectors(arrays[0])
    gated = len(arrays) > (2 if op is GateGradient else 1)
    what = op(size, activation, shell.DTYPES[str(arrays[0].dtype)], gated)
    found: Any = plan.operation(what, (size,))(*(array.reshape(shape) for array in arrays))
    results = [found] if len(what.outputs) == 1 else list(found)
    return tuple(each.reshape(arrays[0].shape) for each in results)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _gate(activation: Activation, *arrays: Any) -> Any:
    return _run(Gate, activation, *arrays)[0]


def _gate_fwd(activation: Activation, *arrays: Any) -> tuple[Any, Any]:
    return _gate(activation, *arrays), arrays


def _gate_bwd(activation: Activation, arrays: tuple[Any, ...], g: Any) -> tuple[Any, ...]:
    found = gradient(activation, *arrays, *shell.as_jax(g))
    return tuple(shell.like(d, a) for d, a in zip(found, arrays, strict=True))


_gate.defvjp(_gate_fwd, _gate_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def gradient(activation: Activation, *operands: Any) -> tuple[Any, ...]:
    return _run(GateGradient, activation, *operands)


def gradient_fwd(activation: Activation, *operands: Any) -> tuple[Any, Any]:
    return gradient(activation, *operands), operands


def gradient_bwd(activation: Activation, operands: tuple[Any, ...], cotangents: Any) -> Any:
    """By the formula in jax.numpy."""

    def gradients(*operands: Any) -> Any:
        *arrays, g = operands
        return _jax.vjp(partial(_reference, activation), *arrays)[1](g)

    return _jax.vjp(gradients, *operands)[1](cotangents)


gradient.defvjp(gradient_fwd, gradient_bwd)


def _reference(activation: Activation, *arrays: Any) -> Any:
    compute = _jax.numpy.promote_types(arrays[0].dtype, _jax.numpy.float32)
    functions = {
        "silu": _jax.nn.silu,
        "gelu_tanh": _jax.nn.gelu,
        "gelu": partial(_jax.nn.gelu, approximate=False),
        "relu": _jax.nn.relu,
    }
    value: Any = functions[activation](arrays[0].astype(compute))
    for array in arrays[1:]:
        value = value * array.astype(compute)
    return value.astype(arrays[0].dtype)
