"""`cross_entropy` as an operation of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import torch
from torch.nn import functional

from pyptx.errors import CallError
from pyptx.ops._cross_entropy import CrossEntropy, CrossEntropyGradient
from pyptx.ops.rowwise import plan
from pyptx.torch import _arguments as arguments
from pyptx.torch import _losses_split, _losses_weighted
from pyptx.torch._differentiable import differentiable
from pyptx.types import DType, f32, f64

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""

_MOST: Final = 2**31 - 1
_INTEGERS: Final = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_REDUCTIONS: Final = ("mean", "sum", "none")
_EXAMPLE: Final = "cross_entropy(input, target, label_smoothing=0.1, z_loss=1e-4)"


@arguments.operation
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: Any = -100,
    reduce: Any = None,
    reduction: Any = "mean",
    label_smoothing: Any = 0.0,
    *,
    z_loss: Any = 0.0,
) -> Any:
    """`torch.nn.functional.cross_entropy` in kernels.

    input            bfloat16, float16, float32 or float64: (C), (N, C) or (N, C, d1, ...); if C is
                     not the last dimension, input is copied
    target           class indices, integers of input's shape without C; or probabilities, floating,
                     of input's shape
    weight           (C), the weight of each class, of any of input's types
    ignore_index     rows with this class index have loss 0 and gradient 0, and the mean leaves them
                     out
    reduction        "mean", "sum" or "none"
    label_smoothing  s, 0 to 1: targets are (1 - s) times `target`, plus s / C
    z_loss           z, not negative: z * logsumexp(input)**2 is added to the loss of each row; with
                     weight and class indices it is multiplied by the weight of the row's class
    returns          the loss, in input's type; float32 under autocast, as in PyTorch

    Classes of a DTensor may be sharded over one axis of its mesh, for class indices: one all-reduce
    of a few numbers per row gives the loss, which is split as the rows are. They take weight only
    without label_smoothing.

    Sums are in float32, or in float64 for float64 input, and the result is rounded once. For a
    class index out of range, loss and gradient are NaN; PyTorch raises a device-side assertion. The
    forward pass reads input once and saves one number per row; the backward pass reads input once
    and writes the gradient once. Kernels compute first derivatives, PyTorch's operators those of
    higher order. `size_average` and `reduce`, which PyTorch has deprecated, are not accepted.
    Raises CallError.
    """
    x = arguments.dtype_of("input", input, "cross_entropy")
    arguments.check_targets("cross_entropy")
    _check_options(size_average, reduce, reduction)
    smoothing = arguments.number("label_smoothing", label_smoothing, _EXAMPLE)
    if smoothing > 1:
        problem = f"label_smoothing is {label_smoothing!r} and must be at most 1"
        raise CallError(problem, notes=(("help", _EXAMPLE),))
    z = arguments.number("z_loss", z_loss, _EXAMPLE)
    dim = _class_dimension(input, target)
    targets = _targets(input, target, dim)
    ignored = _ignored(ignore_index) if targets is None else None
    _check_weight(weight, input.shape[dim])
    what = _What(int(input.shape[dim]), x, targets, smoothing, z, ignored)
    if weight is not None and targets is not None:
        what = replace(what, targets=f64 if x is f64 else f32, smoothing=0.0)
    run = _operation(what).run
    wide = arguments.autocast_type(input.device.type) is not None
    last = dim == input.ndim - 1

    def computed(
        input: Any, target: Any, weight: Any = None, *_: Any, **__: Any
    ) -> Any:  # the other arguments are known
        rows = input if last else input.movedim(dim, -1)
        counted = None
        if targets is None:
            labels = _as_int32(target)
        else:
            labels = (target if last else target.movedim(dim, -1)).contiguous()
            if weight is not None:
                kind = torch.promote_types(input.dtype, torch.float32)
                labels = _losses_weighted.targets(labels, weight, smoothing, kind)
        axis = _losses_split.axis_of(rows)
        smooth = weight is not None and targets is None and smoothing > 0
        if axis is not None:
            _check_split(targets, smooth=smooth)
            loss = _losses_split.loss(rows, labels, axis, ignored, smoothing, z)
        elif smooth and ignored is not None:
            rows = rows.contiguous()
            loss, counted = _losses_weighted.loss(rows, labels, weight, smoothing, z, ignored)
        else:
            loss = run(rows.contiguous(), labels)
        if weight is not None and targets is None and not smooth:
            loss, counted = _weighted(loss, target, weight, ignored)
        dtype = torch.float32 if wide and input.dtype.itemsize < 4 else input.dtype
        return _reduced(loss, target, counted, reduction, ignored).to(dtype)

    return computed


@dataclass(frozen=True, slots=True)
class _What:
    """What kernels are made for."""

    columns: int
    x: DType
    targets: DType | None
    smoothing: float
    z: float
    ignored: int | None

    def forward(self, *, kept: bool) -> Any:
        options = (self.targets, self.smoothing, self.z, self.ignored, kept)
        return plan.operation(CrossEntropy(self.columns, self.x, *options), (self.columns,))

    @property
    def gradient(self) -> Any:
        options = (self.targets, self.smoothing, self.z, self.ignored)
        return plan.operation(CrossEntropyGradient(self.columns, self.x, *options), (self.columns,))


@lru_cache(_OPERATIONS)
def _operation(what: _What) -> Any:
    """The loss of each row, of logits in rows and int32 labels or targets."""
    plain, kept, gradient = what.forward(kept=False), what.forward(kept=True), what.gradient

    def cross_entropy(x: Any, labels: Any) -> Any:
        return plain(x, labels)

    def forward(x: Any, labels: Any) -> Any:
        loss, *found = kept(x, labels)
        return loss, (x, labels, *found)

    def backward(saved: Any, g: Any) -> Any:
        found = gradient(*saved, g)
        return found if what.targets is not None else (found, None)

    def reference(x: Any, labels: Any) -> Any:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        lse = torch.logsumexp(wide, -1)
        penalty = what.z * lse * lse if what.z else 0.0  # a square may be infinite
        if what.targets is None:
            hot = functional.one_hot(labels.long().clamp(0, what.columns - 1), what.columns)
            dense = hot.to(wide.dtype) * (1 - what.smoothing) + what.smoothing / what.columns
            loss = lse - (dense * wide).sum(-1) + penalty
            return _counted(loss, labels, what)
        dense = labels.to(wide.dtype) * (1 - what.smoothing) + what.smoothing / what.columns
        products = torch.where(dense == 0, 0.0, dense * wide)
        return dense.sum(-1) * lse - products.sum(-1) + penalty

    return differentiable(cross_entropy, forward, backward, reference=reference)


def _counted(loss: Any, labels: Any, what: _What) -> Any:
    """The loss of rows that count: 0 where they do not, and NaN where the label is no class."""
    classes = (labels >= 0) & (labels < what.columns)
    weight = torch.where(classes, 1.0, torch.nan).to(loss.dtype)
    if what.ignored is None:
        return loss * weight
    ignored = labels == what.ignored
    return torch.where(ignored, 0.0, loss * torch.where(ignored, 0.0, weight))


def _as_int32(labels: Any) -> Any:
    """Labels as kernels take them; those that are no int32 are no classes either."""
    if labels.dtype == torch.int64:
        labels = labels.clamp(-_MOST, _MOST)
    return labels.to(torch.int32).contiguous()


def _weighted(loss: Any, target: Any, weight: Any, ignored: int | None) -> tuple[Any, Any]:
    """The loss times what its class counts, and these numbers."""
    classes = target.long().clamp(0, weight.shape[0] - 1)
    each = weight.to(loss.dtype)[classes]
    if ignored is not None:
        each = torch.where(target == ignored, 0.0, each)
    return loss * each, each


def _reduced(loss: Any, target: Any, counted: Any, reduction: str, ignored: int | None) -> Any:
    if reduction == "none":
        return loss
    total = loss.sum()
    if reduction == "sum":
        return total
    if counted is not None:
        return total / counted.sum()
    if ignored is None:
        return total / loss.numel()
    return total / (target != ignored).sum()


# ---- checks --------------------------------------------------------------------------------------


def _check_options(size_average: object, reduce: object, reduction: object) -> None:
    for name, value in (("size_average", size_average), ("reduce", reduce)):
        if value is not None:
            raise CallError(
                f"cross_entropy takes reduction= in place of {name}=",
                notes=(("help", 'cross_entropy(input, target, reduction="mean")'),),
            )
    if reduction not in _REDUCTIONS:
        raise CallError(
            f"reduction is {reduction!r}", notes=(("legal", " ".join(map(repr, _REDUCTIONS))),)
        )


def _class_dimension(input: Any, target: Any) -> int:
    """Which dimension the classes are, as PyTorch has it. Raises CallError for other shapes."""
    arguments.check_tensor("target", target, "cross_entropy")
    if input.ndim == 0:
        raise CallError("input has shape (), and needs a dimension of classes")
    dim = min(1, input.ndim - 1)
    arguments.check_rows(input.movedim(dim, -1), 1, "cross_entropy")
    return dim


def _targets(input: Any, target: Any, dim: int) -> DType | None:
    """The type of probabilities, None for class indices. Raises CallError."""
    whole = tuple(input.shape)
    rows = (*whole[:dim], *whole[dim + 1 :])
    if target.dtype in _INTEGERS:
        if tuple(target.shape) == rows:
            return None
    elif tuple(target.shape) == whole:
        return arguments.dtype_of("target", target, "cross_entropy")
    kind = str(target.dtype).removeprefix("torch.")
    raise CallError(
        f"target is {kind} of shape {tuple(target.shape)}, and input has shape {whole}",
        notes=(
            ("legal", f"class indices, integers of shape {rows}"),
            ("legal", f"probabilities, floating, of shape {whole}"),
        ),
    )


def _ignored(ignore_index: Any) -> int:
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, int):
        problem = f"ignore_index is {ignore_index!r} and must be a Python integer"
    elif abs(ignore_index) >= _MOST:
        problem = f"ignore_index is {ignore_index!r} and must be less than {_MOST} from 0"
    else:
        return ignore_index
    raise CallError(problem, notes=(("help", "cross_entropy(input, target, ignore_index=-100)"),))


def _check_split(targets: DType | None, *, smooth: bool) -> None:
    if targets is not None or smooth:
        reason = "weight is given with label_smoothing" if smooth else "target has probabilities"
        raise CallError(
            f"the classes of input are sharded, and {reason}",
            notes=(("help", "input.redistribute(placements=[Replicate()])"),),
        )


def _check_weight(weight: Any, classes: int) -> None:
    if weight is None:
        return
    arguments.dtype_of("weight", weight, "cross_entropy")
    if tuple(weight.shape) != (classes,):
        raise CallError(f"weight has shape {tuple(weight.shape)}, and there are {classes} classes")
