"""`swiglu`, `geglu`, `reglu`, `silu`, `gelu` and `relu` as operations of JAX."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._gates import Activation, Gate, GateGradient, row_of
from pyptx.ops._gates_one import GateOfOne, kernel_of
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.checks import check_length

_jax: Any = jax  # for what JAX annotates in part


@binding(CallError, "swiglu")
def swiglu(gate: Any, up: Any = None, *, interleaved: bool = False) -> Any:
    """silu(gate) * up, element by element, rounded once. `jax.nn.silu(gate) * up`.

    gate, up     bf16, f16, f32 or f64, of the same shape and type
    interleaved  only without `up`
    returns      their shape and type

    Without `up`, the first array has shape (..., 2 n) and holds both, and the result has shape
    (..., n): gate is `[..., :n]` and up is `[..., n:]`; interleaved they are `[..., ::2]` and
    `[..., 1::2]`. Nothing is copied: the kernels read that array and write one gradient of its
    shape. They are fastest if n is a multiple of 16 bytes. (`jax.nn.glu` has the gate in the second
    half.)

    Computed in f32, or in f64 for f64 arrays. One kernel computes both reverse-mode gradients;
    jax.numpy computes derivatives of higher order. One launch under `jax.vmap`, and one per device
    for any sharding (of leading dimensions, if gate and up are one array). Raises CallError.
    """
    return _gated("swiglu", "silu", gate, up, interleaved)


@binding(CallError, "geglu")
def geglu(gate: Any, up: Any = None, *, approximate: bool = True, interleaved: bool = False) -> Any:
    """gelu(gate) * up, with gelu as in `jax.nn.gelu`, by tanh or exact; otherwise as `swiglu`."""
    return _gated("geglu", _gelu(approximate), gate, up, interleaved)


@binding(CallError, "reglu")
def reglu(gate: Any, up: Any = None, *, interleaved: bool = False) -> Any:
    """max(gate, 0) * up; otherwise as `swiglu`."""
    return _gated("reglu", "relu", gate, up, interleaved)


@binding(CallError, "silu")
def silu(x: Any) -> Any:
    """x / (1 + exp(-x)), as `jax.nn.silu`; otherwise as `swiglu`."""
    return _call("silu", "silu", x)


@binding(CallError, "gelu")
def gelu(x: Any, approximate: bool = True) -> Any:
    """x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), as `jax.nn.gelu`.

    With `approximate=False`, x (1 + erf(x / sqrt(2))) / 2, as in JAX. The relative error is within
    8e-7 + 1e-7 x^2 below 0 and 8e-7 above 0 in f32, and within 8e-15 + 2e-16 x^2 in f64.
    """
    return _call("gelu", _gelu(approximate), x)


@binding(CallError, "relu")
def relu(x: Any) -> Any:
    """max(x, 0), and NaN for NaN, as `jax.nn.relu`; otherwise as `swiglu`."""
    return _call("relu", "relu", x)


def _gelu(approximate: object) -> Activation:
    if not isinstance(approximate, bool):
        problem = f"approximate is {approximate!r} and must be True or False"
        raise CallError(problem, location=call_site())
    return "gelu_tanh" if approximate else "gelu"


def _gated(name: str, activation: Activation, gate: Any, up: Any, interleaved: object) -> Any:
    where = call_site()
    if not isinstance(interleaved, bool):
        problem = f"interleaved is {interleaved!r} and must be True or False"
        raise CallError(problem, location=where)
    if up is None:
        return _call_of_one(name, activation, gate, interleaved, where)
    if interleaved:
        raise CallError(
            "interleaved is True, and gate and up are two arrays",
            location=where,
            notes=(("help", f"{name}(gate_and_up, interleaved=True), of shape (..., 2 n)"),),
        )
    return _call(name, activation, gate, up)


def _call_of_one(
    name: str, activation: Activation, x: Any, interleaved: bool, where: SourceLocation
) -> Any:
    shell.check_targets(name, where)
    dtype = shell.check_array("gate", x, name, where)
    if x.ndim:
        check_length(name, x.shape[-1], where)
    if x.ndim == 0 or x.shape[-1] % 2:
        raise CallError(
            f"gate has shape {tuple(x.shape)}, and {name} of one array takes (..., 2 n)",
            location=where,
            notes=(("help", f"{name}(gate, up)"),),
        )
    columns = x.shape[-1] // 2
    if columns:
        shell.check_rows(x, 1, name, where, "gate")
    if 0 in x.shape:
        return _jax.numpy.zeros((*x.shape[:-1], columns), x.dtype)
    what = GateOfOne(activation, dtype, columns, interleaved)
    return shell.located(name, where, _of_one, what, *shell.as_jax(x))


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


def _rows(array: Any) -> tuple[tuple[int, ...], int]:
    """An array's shape with its last dimension cut into what kernels take as rows, and their size.

    A size that is known only when the program runs is cut into single elements.
    """
    lead, last = array.shape[:-1], array.shape[-1] if array.ndim else 1
    size = row_of(last, shell.DTYPES[str(array.dtype)]) if isinstance(last, int) else 1
    return (*lead, last // size, size), size


def _run(op: type[Gate], activation: Activation, *arrays: Any) -> tuple[Any, ...]:
    shape, size = _rows(arrays[0])
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


# ---- of one array --------------------------------------------------------------------------------


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _of_one(what: GateOfOne, x: Any) -> Any:
    return kernel_of(what)(x)


def _of_one_fwd(what: GateOfOne, x: Any) -> tuple[Any, Any]:
    return _of_one(what, x), x


def _of_one_bwd(what: GateOfOne, x: Any, g: Any) -> tuple[Any]:
    found = gradient_of_one(replace(what, gradient=True), x, *shell.as_jax(g))
    return (shell.like(found, x),)


_of_one.defvjp(_of_one_fwd, _of_one_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def gradient_of_one(what: GateOfOne, x: Any, g: Any) -> Any:
    return kernel_of(what)(x, g)


def _gradient_of_one_fwd(what: GateOfOne, *operands: Any) -> tuple[Any, Any]:
    return gradient_of_one(what, *operands), operands


def _gradient_of_one_bwd(what: GateOfOne, operands: tuple[Any, ...], cotangent: Any) -> Any:
    """By the formula in jax.numpy."""

    def value(x: Any) -> Any:
        n = what.columns
        parts = (x[..., ::2], x[..., 1::2]) if what.interleaved else (x[..., :n], x[..., n:])
        return _reference(what.activation, *parts)

    def gradients(x: Any, g: Any) -> Any:
        return _jax.vjp(value, x)[1](g)[0]

    return _jax.vjp(gradients, *operands)[1](cotangent)


gradient_of_one.defvjp(_gradient_of_one_fwd, _gradient_of_one_bwd)


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
