"""The cross entropy with a weight for each class where all classes have a part in each row's."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import torch

from pyptx.ops._cross_entropy_weighted import WeightedCrossEntropy, WeightedCrossEntropyGradient
from pyptx.ops.rowwise import plan
from pyptx.torch._arguments import DTYPES
from pyptx.torch._differentiable import differentiable
from pyptx.types import DType

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


def targets(probabilities: Any, weight: Any, smoothing: float, dtype: Any) -> Any:
    """What logarithms of probabilities are multiplied by; classes are the last dimension."""
    dense = probabilities.to(dtype) * (1 - smoothing) + smoothing / weight.shape[0]
    return (dense * weight.to(dtype)).contiguous()


def loss(
    x: Any, labels: Any, weight: Any, smoothing: float, z: float, ignored: int
) -> tuple[Any, Any]:
    """The loss of rows with int32 labels, and what they count in a mean: the label's weight.

    The weights have no derivative.
    """
    w = weight.detach().contiguous()
    wide = torch.promote_types(x.dtype, torch.float32)
    own = w.to(wide)[labels.long().clamp(0, w.shape[0] - 1)]
    own = torch.where(labels == ignored, 0.0, own).contiguous()
    kinds = DTYPES[x.dtype], DTYPES[w.dtype]
    run = _operation(int(w.shape[0]), *kinds, smoothing, z, ignored).run
    return run(x, w, labels, own), own


@lru_cache(_OPERATIONS)
def _operation(
    columns: int, x: DType, weight: DType, smoothing: float, z: float, ignored: int
) -> Any:
    options = (columns, x, weight, smoothing, z, ignored)
    kept: Any = plan.operation(WeightedCrossEntropy(*options), (columns,))
    gradient: Any = plan.operation(WeightedCrossEntropyGradient(*options), (columns,))

    def cross_entropy(x: Any, w: Any, labels: Any, own: Any) -> Any:
        return kept(x, w, labels, own)[0]

    def forward(x: Any, w: Any, labels: Any, own: Any) -> Any:
        loss, *found = kept(x, w, labels, own)
        return loss, (x, w, labels, own, *found)

    def backward(saved: Any, g: Any) -> Any:
        return gradient(*saved, g), None, None, None

    def reference(x: Any, w: Any, labels: Any, own: Any) -> Any:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        lse = torch.logsumexp(wide, -1)
        at = labels.long().clamp(0, columns - 1)[..., None]
        hot = lse - wide.gather(-1, at)[..., 0]
        each = w.to(wide.dtype) * torch.where(w == 0, 0.0, lse[..., None] - wide)
        found = (
            own * ((1 - smoothing) * hot + (z * lse * lse if z else 0.0))
            + each.sum(-1) * smoothing / columns
        )
        classes = torch.where((labels >= 0) & (labels < columns), 1.0, torch.nan)
        ignores = labels == ignored
        found = torch.where(ignores, 0.0, found)
        return found * torch.where(ignores, 0.0, classes).to(found.dtype)

    return differentiable(cross_entropy, forward, backward, reference=reference)
