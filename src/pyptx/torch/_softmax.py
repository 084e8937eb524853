"""`softmax` and `log_softmax` as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import torch
from torch.nn import functional

from pyptx.errors import CallError
from pyptx.ops._softmax import Softmax, SoftmaxGradient
from pyptx.ops.rowwise import plan
from pyptx.torch import _arguments as arguments
from pyptx.torch._differentiable import differentiable
from pyptx.types import DType

_INTEGERS: Final = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


@arguments.operation
def softmax(
    input: Any,
    dim: Any,
    *,
    dtype: Any = None,
    scale: Any = 1.0,
    where: Any = None,
    causal: Any = False,
    positions: Any = None,
) -> Any:
    """`torch.nn.functional.softmax` in kernels, rounded once.

    input      bfloat16, float16, float32 or float64, of any shape but ()
    dim        the dimension of the sums; if it is not the last one, input is copied
    dtype      the type that input is converted to first
    scale      what input is multiplied by first, positive
    where      booleans that broadcast to input's shape, True for elements to keep: the others are
               0, and a row with none to keep is zeros
    causal     a causal mask over the last two dimensions: row i keeps columns j <= i, and the
               kernel reads no others
    positions  with `causal`, integers that broadcast to input's shape without its last dimension: a
               row keeps columns up to its position. At a negative one it keeps none, and is zeros
    returns    input's shape and type; float32 on a GPU under autocast, as in PyTorch

    Sums and exponentials are in float32, or in float64 for float64 input. A row of minus
    infinities, and a row with NaN or plus infinity, gives NaN. Kernels compute first derivatives,
    PyTorch's operators those of higher order. Raises CallError.
    """
    return _call("softmax", input, dim, dtype, scale, where, causal, positions)


@arguments.operation
def log_softmax(
    input: Any,
    dim: Any,
    *,
    dtype: Any = None,
    scale: Any = 1.0,
    where: Any = None,
    causal: Any = False,
    positions: Any = None,
) -> Any:
    """`torch.nn.functional.log_softmax` in kernels, rounded once; otherwise as `softmax`."""
    return _call("log_softmax", input, dim, dtype, scale, where, causal, positions)


def _call(
    name: str, x: Any, dim: Any, dtype: Any, scale: Any, where: Any, causal: Any, positions: Any
) -> Any:
    arguments.dtype_of("input", x, name)
    arguments.check_targets(name)
    dim = arguments.dimension(dim, x)
    if dtype is None and arguments.widened(x):
        dtype = torch.promote_types(x.dtype, torch.float32)
    kind = x.dtype if dtype is None else dtype
    arguments.check_rows(x.movedim(dim, -1), 1, name)
    factor = _checked(name, x, dim, scale, where, causal, positions)
    last = dim == x.ndim - 1
    element = arguments.kernel_type("input", kind)
    masked = where is not None or positions is not None
    what = _What(int(x.shape[dim]), element, name, factor, causal, masked)
    run = _operation(what).run

    def computed(
        input: Any, *_: Any, where: Any = None, positions: Any = None, **__: Any
    ) -> Any:  # dim, dtype, scale and causal are known
        rows = input.to(kind)
        if where is not None:
            rows = rows.masked_fill(where.logical_not(), -math.inf)
        rows = rows if last else rows.movedim(dim, -1)
        columns = _last(rows, positions) if causal else None
        found = run(rows.contiguous(), columns)
        return found if last else found.movedim(-1, dim)

    return computed


def _checked(
    name: str, x: Any, dim: int, scale: Any, where: Any, causal: Any, positions: Any
) -> float:
    """The scale. Raises CallError."""
    factor = arguments.number("scale", scale, f"{name}(input, -1, scale=0.125)")
    problem = "scale is 0 and must be positive" if factor == 0 else None
    if not isinstance(causal, bool):
        problem = f"causal is {causal!r} and must be True or False"
    elif positions is not None:
        problem = _problem_of(positions, x, last=causal and dim == x.ndim - 1)
    elif causal and (x.ndim < 2 or dim != x.ndim - 1):
        problem = (
            f"dim is {dim} and input has shape {tuple(x.shape)}; causal is of the last dimension, "
            "and needs one of rows before it"
        )
    if problem is not None:
        raise CallError(problem)
    if where is not None and getattr(where, "dtype", None) is not torch.bool:
        kind = getattr(where, "dtype", type(where).__name__)
        kind = str(kind).removeprefix("torch.")
        problem = f"where is {kind} and must be a tensor of booleans"
    elif where is not None and not arguments.broadcasts(tuple(where.shape), tuple(x.shape)):
        problem = f"where has shape {tuple(where.shape)}, and input {tuple(x.shape)}"
    if problem is not None:
        raise CallError(problem)
    return factor


def _problem_of(positions: Any, x: Any, *, last: bool) -> str | None:
    """What is wrong with positions."""
    kind = getattr(positions, "dtype", type(positions).__name__)
    if not last:
        return "positions are given, which causal=True takes, of rows in the last dimension"
    if kind not in _INTEGERS:
        kind = str(kind).removeprefix("torch.")
        return f"positions are {kind} and must be a tensor of integers"
    shape, lead = tuple(positions.shape), tuple(x.shape[:-1])
    if not arguments.broadcasts(shape, lead):
        return f"positions have shape {shape}, which does not broadcast to {lead}"
    return None


def _last(x: Any, positions: Any) -> Any:
    """The last column of each row that counts."""
    if positions is not None:
        last = positions.long().clamp(-1, x.shape[-1] - 1).to(torch.int32)
        return last.expand(x.shape[:-1]).contiguous()
    rows = torch.arange(x.shape[-2], dtype=torch.int32, device=x.device)
    return rows.expand(x.shape[:-1]).contiguous()


@dataclass(frozen=True, slots=True)
class _What:
    """What kernels are made for."""

    columns: int
    x: DType
    name: str
    scale: float
    causal: bool
    masked: bool

    @property
    def log(self) -> bool:
        return self.name == "log_softmax"


@lru_cache(_OPERATIONS)
def _operation(what: _What) -> Any:
    shape, options = (what.columns,), (what.log, what.scale, what.causal)
    plain = plan.operation(Softmax(what.columns, what.x, *options, what.masked), shape)
    gradient = plan.operation(SoftmaxGradient(what.columns, what.x, *options), shape)

    def softmax(x: Any, last: Any) -> Any:
        return plain(x) if last is None else plain(x, last)

    def forward(x: Any, last: Any) -> Any:
        y: Any = softmax(x, last)
        return y, (y,) if last is None else (y, last)

    def backward(saved: Any, g: Any) -> Any:
        y, *last = saved
        return gradient(y, g, *last), None

    def reference(x: Any, last: Any) -> Any:
        wide = x.to(torch.promote_types(x.dtype, torch.float32)) * what.scale
        if last is not None:
            columns = torch.arange(what.columns, device=x.device)
            wide = wide.masked_fill(columns > last[..., None], -math.inf)
        found = (functional.log_softmax if what.log else functional.softmax)(wide, -1)
        if what.masked and not what.log:  # a row without elements
            found = found.masked_fill((wide == -math.inf).all(-1, keepdim=True), 0.0)
        return found.to(x.dtype)

    softmax.__name__ = what.name
    return differentiable(softmax, forward, backward, reference=reference)
