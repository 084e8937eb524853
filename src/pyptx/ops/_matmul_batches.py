"""Leading dimensions of matrix products in JAX: broadcast, and given to one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy

from pyptx.ops import _jax as shell
from pyptx.ops._matmul_checks import BlockScales
from pyptx.ops._matmul_derivative import Formula, Fused, dot, formula_of, fused, underived
from pyptx.ops.tensor_core.epilogue import Epilogue, Layer
from pyptx.ops.tensor_core.factors import EIGHT_BITS, Call
from pyptx.ops.tensor_core.shape import Major, Spread
from pyptx.types import DType

jnp: Any = jax.numpy


class Batched:
    """A product of matrices along leading dimensions, which are broadcast."""

    def __init__(
        self, out: DType, applied: Layer | Epilogue, blocks: BlockScales | None = None,
        reference: Callable[..., Any] | None = None, tf32: bool = False,
    ) -> None:  # fmt: skip
        self.out, self.applied, self.blocks, self.reference = out, applied, blocks, reference
        self.tf32 = tf32

    def product(
        self, a: Any, bs: Sequence[Any], rows: Sequence[Any], columns: Sequence[Any],
        elements: Sequence[Any],
    ) -> list[Any]:  # fmt: skip
        """D and further results. `rows`, `columns` and `elements` have the whole batch, or none."""
        lead = jnp.broadcast_shapes(a.shape[:-2], bs[0].shape[:-2])
        m, n = a.shape[-2], bs[0].shape[-1]
        columns = [_one_of(x, 1) for x in columns]
        scales: list[Any] = []
        if self.blocks is not None:
            scales = [self.blocks.of_a, _one_of(self.blocks.of_b, 2)]
        shared = all(x.ndim == 1 for x in columns) and all(x.ndim == 2 for x in scales[1:])
        if _shared(bs[0], 2) and shared:
            # One matrix for all rows of a, whose axes stay what devices may split.
            operands = [
                *(jnp.broadcast_to(x, (*lead, *x.shape[-2:])) for x in scales[:1]),
                *scales[1:],
                *(jnp.broadcast_to(x, (*lead, m)) for x in rows),
                *columns,
                *(jnp.broadcast_to(x, (*lead, m, n)) for x in elements),
            ]
            a = jnp.broadcast_to(a, (*lead, *a.shape[-2:]))
            own = [_one_of(b, 2) for b in bs]
            return self._one(a, own, operands, "M" if lead else None)
        operands = [
            *(_batch_of(x, 2, lead) for x in scales),
            *(_batch_of(x, 1, lead) for x in (*rows, *columns)),
            *(_batch_of(x, 2, lead) for x in elements),
        ]
        # Repeated by the launch, so that their cotangents are added up before they are rounded.
        a = _one_of(a, 2) if _shared(a, 2) else _of_rank(a, len(lead) + 2)
        own = [_of_rank(b, len(lead) + 2) for b in bs]
        return self._one(a, own, operands, "G" if len(lead) > 1 else None)

    def _one(
        self, a: Any, bs: Sequence[Any], operands: Sequence[Any], spread: Spread | None = None
    ) -> list[Any]:
        major: Major = "MN"
        if str(a.dtype) in EIGHT_BITS:
            bs, major = [jnp.swapaxes(b, -1, -2) for b in bs], "K"
        kind = None if self.blocks is None else self.blocks.kind
        call = Call("K", major, self.out, self._epilogue, kind, self.tf32, spread)
        amax = call.epilogue is not None and call.epilogue.amax
        if self.blocks is not None or amax or self.out in EIGHT_BITS.values():
            return shell.applied(underived, call, a, list(bs), list(operands))
        if call.epilogue is None:
            return [shell.applied(dot, call, a, bs[0])]
        own = self.applied
        formula = formula_of(own) if isinstance(own, Layer) else Formula(own, self.reference)
        product = Fused("K", major, self.out, formula, tf32=self.tf32, spread=spread)
        return shell.applied(fused, product, a, list(bs), list(operands))

    @property
    def _epilogue(self) -> Epilogue | None:
        if isinstance(self.applied, Epilogue):
            return self.applied
        return None if self.applied == Layer() else self.applied.epilogue


def _shared(x: Any, rank: int) -> bool:
    """Whether an array has one element of the batch, of this rank."""
    return all(isinstance(size, int) and size == 1 for size in x.shape[: x.ndim - rank])


def _one_of(x: Any, rank: int) -> Any:
    """Without a batch, where it is one of one."""
    return x.reshape(x.shape[x.ndim - rank :]) if _shared(x, rank) else x


def _of_rank(x: Any, rank: int) -> Any:
    """With dimensions of 1 before the others."""
    return x if x.ndim == rank else x.reshape((1,) * (rank - x.ndim) + x.shape)


def _batch_of(x: Any, rank: int, lead: tuple[Any, ...]) -> Any:
    """One for all of the batch, or one for each of it."""
    if _shared(x, rank):
        return _one_of(x, rank)
    return jnp.broadcast_to(x, (*lead, *x.shape[x.ndim - rank :]))
