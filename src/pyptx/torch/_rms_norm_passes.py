"""`rms_norm_fwd` and `rms_norm_bwd`: the passes of `rms_norm`, for derivatives of one's own."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import Any

import torch

from pyptx.errors import CallError
from pyptx.torch import _arguments as arguments
from pyptx.torch._norms import rms_of


@arguments.operation
def rms_norm_fwd(
    input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None, *, offset: Any = 0.0
) -> tuple[Any, Any]:
    """The result of `rms_norm`, and rsqrt(mean(input^2) + eps) of each row for `rms_norm_bwd`.

    Arguments are those of `rms_norm`. The second result has the shape of input's leading
    dimensions, and is float32, or float64 for float64 input. Derivatives are not supported. Raises
    CallError.
    """
    what = rms_of("rms_norm_fwd", input, normalized_shape, weight, eps, offset)
    kept = what.forward(kept=True)

    def computed(
        input: Any, normalized_shape: Any, weight: Any = None, *_: Any, **__: Any
    ) -> tuple[Any, Any]:
        del normalized_shape
        y, rstd = kept(input.contiguous(), what.scale(input, weight))
        return y, rstd

    return computed  # pyright: ignore[reportReturnType]  # what `operation` makes the result with


@arguments.operation
def rms_norm_bwd(
    grad_output: Any,
    input: Any,
    normalized_shape: Any,
    rstd: Any,
    weight: Any = None,
    *,
    offset: Any = 0.0,
) -> tuple[Any, Any]:
    """The gradients of `rms_norm` in input and weight, None for no weight.

    grad_output   of the result's shape and type, which are input's
    rstd          the second result of `rms_norm_fwd`
    returns       tensors of the shapes and types of input and weight

    The other arguments are those of `rms_norm`. Sums over rows are in float32, or in float64 for
    float64 input. Derivatives are not supported. Raises CallError.
    """
    what = rms_of("rms_norm_bwd", input, normalized_shape, weight, 0.0, offset)
    wide = torch.promote_types(input.dtype, torch.float32)
    lead = tuple(input.shape[: input.ndim - len(what.shape)])
    _check_like("grad_output", grad_output, tuple(input.shape), input.dtype)
    _check_like("rstd", rstd, lead, wide)
    gradient = what.gradient

    def computed(
        grad_output: Any, input: Any, normalized_shape: Any, rstd: Any, weight: Any = None, **_: Any
    ) -> tuple[Any, Any]:
        del normalized_shape
        given = (input, grad_output, rstd)
        dx, dw = gradient(*(each.contiguous() for each in given), what.scale(input, weight))
        return dx, None if weight is None else dw.to(weight.dtype)

    return computed  # pyright: ignore[reportReturnType]  # what `operation` makes the result with


def _check_like(name: str, tensor: Any, shape: tuple[Any, ...], dtype: Any) -> None:
    arguments.dtype_of(name, tensor, "rms_norm_bwd")
    if tuple(tensor.shape) != shape or tensor.dtype != dtype:
        kind = str(dtype).removeprefix("torch.")
        raise CallError(
            f"{name} is {arguments.described(tensor)} and must be {kind}{[*shape]}",
            notes=(("help", "y, rstd = rms_norm_fwd(input, shape, weight)"),),
        )
