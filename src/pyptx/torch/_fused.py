"""`linear` and `gated_matmul`: products whose kernels do what follows, too."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final

import torch
from torch.nn import functional

from pyptx._runtime import targets
from pyptx._runtime.torch.tensors import dtype_name
from pyptx.errors import CallError
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.epilogue import (
    ACTIVATIONS,
    Activation,
    Epilogue,
    Layer,
    cotangent_type,
    kept_type,
    with_sums,
)
from pyptx.ops.tensor_core.factors import ALIGNED, DTYPES, Call
from pyptx.torch import _arguments as arguments
from pyptx.torch import _gates, _matmul
from pyptx.torch._differentiable import differentiable
from pyptx.torch._products import as_rows, computed, cotangents, in_memory, takes_tf32, tensor_type
from pyptx.torch._products_split import rows, rows_like
from pyptx.types import DType, bf16, f32

Function = Callable[..., Any]
_ALIGNED: Final = ALIGNED // bf16.bytes
"""Rows that A is padded to a multiple of where they are next to each other in memory."""
_GELU: Final = partial(functional.gelu, approximate="tanh")
_FUNCTIONS: Final[dict[str, Function]] = {
    "relu": functional.relu,
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": _GELU,
}


@arguments.operation
def linear(
    input: Any,
    weight: Any,
    bias: Any = None,
    *,
    activation: Any = None,
    residual: Any = None,
    out_dtype: Any = None,
) -> Any:
    """`torch.nn.functional.linear` with a fused activation and residual, on tensor cores.

    input       (..., K): bfloat16, float16 or float32
    weight      (N, K) of the same type; under autocast both are converted to its type
    bias        (N)
    activation  applied to the sum: "relu", "silu", "gelu" or "gelu_tanh"
    residual    (..., N), added last
    out_dtype   of the result: bfloat16, float16 or float32; by default input's type
    returns     (..., N): activation(input @ weight.T + bias) + residual, rounded once

    If the derivative of the activation needs the sums, the kernel also writes them, in the result's
    type, or in float32 for float16, whose range sums may exceed. Everything else, also the
    precision of float32, is as in `matmul`. Raises CallError.
    """
    kind, out = checked("linear", out_dtype, input=input, weight=weight)
    if weight.ndim != 2 or input.ndim < 1 or input.shape[-1] != weight.shape[1]:
        raise CallError(
            f"input has shape {tuple(input.shape)} and weight {tuple(weight.shape)}; their last "
            "dimensions are the same",
            notes=(("legal", "(..., K) and (N, K)"),),
        )
    _check_activation(activation)
    dims = (*input.shape[:-1], weight.shape[0])
    of_bias = operand("bias", bias, dims[-1:])
    of_residual = operand("residual", residual, dims)
    layer = Layer(bias=of_bias, activation=activation, residual=of_residual)
    formula = _of_layer(layer)

    def run(input: Any, weight: Any, bias: Any = None, **more: Any) -> Any:
        x, back = rows(input.to(kind))
        residual = more.get("residual")
        operands = [each for each in (bias, residual) if each is not None]
        shaped = [each if each is bias else rows_like(each, input) for each in operands]
        return back(run_product(formula, out, x, [weight.to(kind).t()], shaped))

    return run


@arguments.operation
def gated_matmul(
    input: Any, gate: Any, up: Any, *, activation: Any = "silu", out_dtype: Any = None
) -> Any:
    """activation(input @ gate) * (input @ up), in one kernel: the first half of a SwiGLU layer.

    input       (..., K): bfloat16, float16 or float32
    gate, up    (K, N) of the same type; pass a layer's weight (N, K) transposed, `weight.t()`,
                which copies nothing
    activation  "silu", "gelu", "gelu_tanh" or "relu"
    out_dtype   as for `linear`
    returns     (..., N)

    Everything else is as in `linear`. Raises CallError.
    """
    kind, out = checked("gated_matmul", out_dtype, input=input, gate=gate, up=up)
    check_matrix(input, gate, "gate")
    _check_activation(activation)
    if activation is None or tuple(gate.shape) != tuple(up.shape):
        problem = f"gate has shape {tuple(gate.shape)} and up {tuple(up.shape)}; they have one"
        raise CallError(problem if activation else "activation is None, and a gate needs one")
    formula = _of_layer(Layer(activation=activation, paired=True))

    def run(input: Any, gate: Any, up: Any, **_: Any) -> Any:
        x, back = rows(input.to(kind))
        return back(run_product(formula, out, x, [gate.to(kind), up.to(kind)], []))

    return run


# ---- products with an epilogue -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Formula:
    """What elements are, for a kernel and, in `reference`, for PyTorch.

    reference   `reference(*sums, *operands)` of f32 tensors that broadcast gives D, or a tuple of D
                and the further results
    keeps       whether the derivative needs the sums, which the kernel then writes, too
    adds        whether D is the sum and what is added to it: then the gradient of D is that of the
                sum and of each operand, which is read as it is
    gate        the activation of the sum or of the first of two, where D is that, times the second
                if there are two, and what is added to it: then a kernel computes the derivative
    bounded     whether the derivative of D in its sum is about one at most, or the other sum of a
                gated pair: it is in the range of D's type where a program of that type alone is
    """

    epilogue: Epilogue
    reference: Function
    keeps: bool
    adds: bool = False
    gate: Activation | None = None
    bounded: bool = False


@lru_cache(plan.KEPT)
def _of_layer(layer: Layer) -> Formula:
    keeps = layer.paired or layer.activation is not None
    gate = layer.activation if layer.bias is None else None
    return Formula(
        layer.epilogue, partial(_layer, layer), keeps,
        adds=not keeps, gate=gate, bounded=True,
    )  # fmt: skip


def _layer(layer: Layer, total: Any, *others: Any) -> Any:
    """The formula of a Layer without scales."""
    left = list(others)
    other = left.pop(0) if layer.paired else None
    if layer.bias is not None:
        total = total + left.pop(0)
    if layer.activation is not None:
        total = _FUNCTIONS[layer.activation](total)
    if other is not None:
        total = total * other
    return total if layer.residual is None else total + left.pop(0)


def run_product(
    formula: Formula, out: DType, a: Any, bs: Sequence[Any], operands: Sequence[Any]
) -> Any:
    """D of (..., K) and matrices, with its leading dimensions as one; further results after it."""
    a, a_major = in_memory(as_rows(a), "K")
    of_rows = formula.epilogue.rows or formula.epilogue.elements
    if a_major != "K" and of_rows and a.shape[-1] % _ALIGNED:
        a, a_major = a.mT.contiguous(), "K"  # padded along M, it would have other rows than they
    held = [in_memory(b, "MN") for b in bs]
    b_major = held[0][1]
    if any(major != b_major for _, major in held):
        held, b_major = [(b.contiguous(), "MN") for b in bs], "MN"
    call = Call(a_major, b_major, out, formula.epilogue, tf32=takes_tf32(a.dtype))
    operation = _operation(call, formula, len(bs))
    return operation.run(a, *(b for b, _ in held), *(x.contiguous() for x in operands))


@lru_cache(plan.KEPT)
def _operation(call: Call, formula: Formula, factors: int) -> Any:
    kept = call
    if formula.keeps:
        kept = replace(call, epilogue=with_sums(formula.epilogue, kept_type(call.out)))

    results = len(call.results)

    def matmul(a: Any, *rest: Any) -> Any:
        found = computed(call, a, rest[:factors], rest[factors:])
        return found[0] if results == 1 else tuple(found)

    def forward(a: Any, *rest: Any) -> Any:
        found = computed(kept, a, rest[:factors], rest[factors:])
        several, sums = found[:results], found[results:]
        return several[0] if results == 1 else tuple(several), (a, *rest, *sums)

    def backward(saved: Any, *gradients: Any) -> Any:
        sums = saved[-factors:] if formula.keeps else ()
        a, *rest = saved[: len(saved) - len(sums)]
        bs, operands = rest[:factors], rest[factors:]
        found = _pulled(formula, factors, sums, operands, gradients)
        of_sums = [_rounded(formula, call, a, s) for s in found[:factors]]
        pairs = [cotangents(call, a, b, s) for b, s in zip(bs, of_sums, strict=True)]
        da = pairs[0][0]
        for more, _ in pairs[1:]:
            da = da + more
        return da, *(db for _, db in pairs), *found[factors:]

    def reference(a: Any, *rest: Any) -> Any:
        one = (a if call.a_major == "K" else a.mT).float()
        others = [(b if call.b_major == "MN" else b.mT).float() for b in rest[:factors]]
        operands = [x.float() for x in rest[factors:]]
        found = formula.reference(*(one @ b for b in others), *operands)
        several = (found,) if results == 1 else found
        typed = [x.to(tensor_type(t)) for x, t in zip(several, call.results, strict=True)]
        return typed[0] if results == 1 else tuple(typed)

    return differentiable(matmul, forward, backward, reference=reference)


def _pulled(
    formula: Formula, count: int, sums: Sequence[Any], operands: Sequence[Any], gs: Sequence[Any]
) -> Sequence[Any]:
    """The gradients of `count` sums and of the operands, for those of the results.

    By one kernel for the usual formulas, or by none: PyTorch's operators would go through all
    elements several times, in float32.
    """
    first = gs[0]
    if formula.adds:
        return [first, *(_of_added(first, x) for x in operands)]
    if formula.gate is not None and isinstance(first.shape[-1], int):
        found = _gates.gradient(formula.gate, sums, first.to(sums[0].dtype))
        return [*found, *(_of_added(first, x) for x in operands)]
    wide = tuple(g.float() for g in gs)
    totals = [s.float() for s in sums] or [wide[0] * 0 for _ in range(count)]
    _, pull = torch.func.vjp(formula.reference, *totals, *(x.float() for x in operands))
    found = pull(wide[0] if len(wide) == 1 else wide)
    of_operands = zip(found[count:], operands, strict=True)
    return [*found[:count], *(d.to(x.dtype) for d, x in of_operands)]


def _rounded(formula: Formula, call: Call, a: Any, g: Any) -> Any:
    """The gradient of a sum as it is multiplied by the factors; see `cotangent_type`."""
    factor = DTYPES[dtype_name(a.dtype)]
    dtype = cotangent_type(call.results, factor, bounded=formula.bounded)
    return g if dtype is f32 else g.to(tensor_type(dtype))


def _of_added(g: Any, operand: Any) -> Any:
    """The gradient of what is added to each element, or of columns to each row."""
    found = g if operand.ndim == g.ndim else torch.sum(g, 0, dtype=torch.float32)
    return found.to(operand.dtype)


# ---- checks --------------------------------------------------------------------------------------


def checked(name: str, out_dtype: Any, **tensors: Any) -> tuple[Any, DType]:
    """The type to multiply in, and the result's. Raises CallError."""
    _matmul.check_types(name, DTYPES, **tensors)
    first, *others = tensors.values()
    wanted = arguments.autocast_type(first.device.type)
    for each, other in zip(list(tensors)[1:], others, strict=True):
        if wanted is None and other.dtype != first.dtype:
            raise CallError(
                f"input has elements of type {dtype_name(first.dtype)} and {each} of "
                f"{dtype_name(other.dtype)}; {name} takes one type",
                notes=(("help", f"{each}.to(input.dtype)"),),
            )
    plan.check(name, targets.chosen(), bf16)
    kind = first.dtype if wanted is None else wanted
    return kind, _matmul.result_type(kind if out_dtype is None else out_dtype)


def check_matrix(x: Any, b: Any, name: str) -> None:
    if b.ndim != 2 or x.ndim < 1 or x.shape[-1] != b.shape[0]:
        raise CallError(
            f"input has shape {tuple(x.shape)} and {name} {tuple(b.shape)}; input's last dimension "
            f"is {name}'s first",
            notes=(("legal", "(..., K) and (K, N)"),),
        )


def _check_activation(activation: object) -> None:
    if activation is not None and activation not in tuple(ACTIVATIONS):
        raise CallError(
            f"there is no activation {activation!r}", notes=(("legal", " ".join(ACTIVATIONS)),)
        )


def operand(name: str, x: Any, shape: tuple[int, ...], what: str = "linear") -> DType | None:
    """The type of a further tensor. Raises CallError for other types and shapes."""
    if x is None:
        return None
    _matmul.check_types(what, DTYPES, **{name: x})
    if tuple(x.shape) != shape:
        raise CallError(f"{name} has shape {tuple(x.shape)} and must have {shape}")
    return DTYPES[dtype_name(x.dtype)]
