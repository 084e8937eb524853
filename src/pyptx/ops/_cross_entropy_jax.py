"""`cross_entropy` as an operation of JAX."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

import jax
import jax.numpy as jnp
import numpy as np

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _cross_entropy_split
from pyptx.ops import _jax as shell
from pyptx.ops._cross_entropy import CrossEntropy, CrossEntropyGradient
from pyptx.ops.rowwise import plan
from pyptx.types import DType

_jax: Any = jax  # for what JAX annotates in part
_MOST: Final = 2**31 - 1


@binding(CallError, "cross_entropy")
def cross_entropy(
    logits: Any,
    labels: Any,
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    axis_name: str | None = None,
) -> Any:
    """The cross entropy of softmax(logits), for each row: logsumexp(logits) - logits[label].

    logits           bf16, f16, f32 or f64, of shape (..., N)
    labels           class indices, integers of shape (...); or targets, bf16, f16, f32 or f64, of
                     logits' shape: minus sum(targets * log_softmax(logits))
    ignore_index     rows with this label have loss 0 and gradient 0, whatever their logits
    label_smoothing  s, 0 to 1: targets are (1 - s) times the one-hot label or `labels`, plus s / N
    z_loss           z, not negative: z * logsumexp(logits)**2 is added
    axis_name        inside `jax.shard_map`, the mesh axis over which columns are sharded: each
                     device has the same number of columns, in order, and labels index all columns.
                     Costs one all-reduce of a few numbers per row
    returns          the loss of each row: shape (...), f32, or f64 for f64 logits

    For any other label out of range, including a negative one, loss and gradient are NaN. The loss
    of a row of minus infinities, and of a row with NaN or plus infinity, is NaN. A target of 0 adds
    nothing, even if its logit is minus infinity.

    The forward pass reads the logits once and saves one number per row; the backward pass reads
    them once and writes the gradient once. Kernels compute reverse-mode derivatives, also in
    targets; jax.numpy computes those of higher order. One launch under `jax.vmap`, and one per
    device if leading dimensions are sharded. Raises CallError.
    """
    where = call_site()
    example = "cross_entropy(logits, labels, label_smoothing=0.1, z_loss=1e-4)"
    smoothing = shell.number("label_smoothing", label_smoothing, example, where)
    if smoothing > 1:
        raise CallError(
            f"label_smoothing is {label_smoothing!r} and must be at most 1",
            location=where,
            notes=(("help", example),),
        )
    z = shell.number("z_loss", z_loss, example, where)
    what = checked(logits, labels, ignore_index, smoothing, z, where)
    given = labels if what.targets is not None else shell.as_s32(labels)
    x, given = shell.as_jax(logits, given)
    if axis_name is None:
        return shell.located("cross_entropy", where, _loss, what, x, given)
    if what.targets is not None:
        problem = "axis_name is given, and labels are targets; columns are split for integers alone"
        raise CallError(problem, location=where)
    try:
        _jax.lax.axis_size(axis_name)
    except (NameError, ValueError, TypeError):
        problem = f"there is no mesh axis {axis_name!r} here"
        raise CallError(
            problem, location=where, notes=(("help", "call it inside jax.shard_map"),)
        ) from None
    options = (axis_name, what.ignored, smoothing, z)
    return shell.located("cross_entropy", where, _cross_entropy_split.loss, x, given, *options)


@dataclass(frozen=True, slots=True)
class What:
    """What kernels are made for."""

    columns: int
    x: DType
    targets: DType | None
    smoothing: float
    z: float
    ignored: int | None

    def forward(self, *, kept: bool) -> CrossEntropy:
        options = (self.targets, self.smoothing, self.z, self.ignored, kept)
        return CrossEntropy(self.columns, self.x, *options)

    @property
    def gradient(self) -> CrossEntropyGradient:
        options = (self.targets, self.smoothing, self.z, self.ignored)
        return CrossEntropyGradient(self.columns, self.x, *options)


def checked(
    logits: Any,
    labels: Any,
    ignore_index: object,
    smoothing: float,
    z: float,
    where: SourceLocation,
) -> What:
    name = "cross_entropy"
    shell.check_targets(name, where)
    x = shell.check_array("logits", logits, name, where)
    if logits.ndim == 0:
        raise CallError("logits have shape (), and rows are their last dimension", location=where)
    shell.check_rows(logits, 1, name, where, "logits")
    targets = _targets(labels, where)
    shape = tuple(logits.shape) if targets is not None else tuple(logits.shape[:-1])
    if tuple(labels.shape) != shape:
        raise CallError(
            f"labels have shape {tuple(labels.shape)}, and logits {tuple(logits.shape)}",
            location=where,
            notes=(
                ("legal", f"one integer for each row, {tuple(logits.shape[:-1])}"),
                ("legal", f"one target for each logit, {tuple(logits.shape)}, not integers"),
            ),
        )
    ignored = _ignored(ignore_index, targets, where)
    return What(logits.shape[-1], x, targets, smoothing, z, ignored)


def _targets(labels: Any, where: SourceLocation) -> DType | None:
    """The type of targets, None for labels."""
    dtype = _dtype(labels)
    if dtype is not None and _jax.numpy.issubdtype(dtype, np.integer):
        return None
    if dtype is not None and str(dtype) not in shell.DTYPES:
        raise CallError(
            f"labels have elements of type {dtype}",
            location=where,
            notes=(("legal", " ".join(("integers", *shell.DTYPES))),),
        )
    return shell.check_array("labels", labels, "cross_entropy", where)


def _dtype(array: Any) -> Any:
    """The type of an array's elements, None of anything else."""
    return cast("Any", array).dtype if isinstance(array, (jax.Array, np.ndarray)) else None


def _ignored(ignore_index: object, targets: DType | None, where: SourceLocation) -> int | None:
    if ignore_index is None:
        return None
    example = "cross_entropy(logits, labels, ignore_index=-100)"
    if targets is not None:
        problem = "ignore_index is of labels, and these are targets"
        example = "(targets.sum(-1) > 0) * cross_entropy(logits, targets)"
    elif isinstance(ignore_index, (bool, jax.Array)) or not hasattr(ignore_index, "__index__"):
        problem = f"ignore_index is {ignore_index!r} and must be a Python integer"
    elif abs(operator.index(ignore_index)) >= _MOST:  # pyright: ignore[reportArgumentType]
        problem = f"ignore_index is {ignore_index!r} and must be less than {_MOST} from 0"
    else:
        return operator.index(ignore_index)  # pyright: ignore[reportArgumentType]
    raise CallError(problem, location=where, notes=(("help", example),))


# ---- the loss and its derivatives ----------------------------------------------------------------


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _loss(what: What, x: Any, labels: Any) -> Any:
    return plan.operation(what.forward(kept=False), (what.columns,))(x, labels)


def _loss_fwd(what: What, x: Any, labels: Any) -> tuple[Any, Any]:
    loss, *found = kept(what, x, labels)
    return loss, (x, labels, found)


def _loss_bwd(what: What, saved: tuple[Any, ...], g: Any) -> tuple[Any, Any]:
    x, labels, found = saved
    dx, dt = gradient(what, x, labels, *shell.as_jax(*found, g))
    return shell.like(dx, x), dt if dt is None else shell.like(dt, labels)


_loss.defvjp(_loss_fwd, _loss_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def kept(what: What, x: Any, labels: Any) -> tuple[Any, ...]:
    """The loss, with what its gradient needs: the maximum, the sum of exp(x - maximum), and of
    targets their sum."""
    return tuple(plan.operation(what.forward(kept=True), (what.columns,))(x, labels))


def _kept_fwd(what: What, x: Any, labels: Any) -> tuple[Any, Any]:
    return kept(what, x, labels), (x, labels)


def _kept_bwd(what: What, saved: tuple[Any, Any], cotangents: Any) -> tuple[Any, Any]:
    x, labels = saved
    if what.targets is not None:
        return _jax.vjp(partial(_reference, what), x, labels)[1](cotangents)

    def of_logits(x: Any) -> Any:
        return _reference(what, x, labels)

    (dx,) = _jax.vjp(of_logits, x)[1](cotangents)
    return dx, None


kept.defvjp(_kept_fwd, _kept_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def gradient(what: What, x: Any, labels: Any, *rows: Any) -> tuple[Any, Any]:
    """dx, and of targets dt; `rows` are what is kept, and the cotangent."""
    found: Any = plan.operation(what.gradient, (what.columns,))(x, labels, *rows)
    return tuple(found) if what.targets is not None else (found, None)


def _gradient_fwd(what: What, *operands: Any) -> tuple[Any, Any]:
    return gradient(what, *operands), operands


def _gradient_bwd(what: What, operands: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    x, labels, *rows = operands
    if what.targets is not None:
        return _jax.vjp(partial(_reference_gradient, what), *operands)[1](cotangents)

    def of_rest(x: Any, *rows: Any) -> Any:
        return _reference_gradient(what, x, labels, *rows)

    dx, *others = _jax.vjp(of_rest, x, *rows)[1](cotangents)
    return dx, None, *others


gradient.defvjp(_gradient_fwd, _gradient_bwd)


def _dense(what: What, labels: Any, compute: Any) -> tuple[Any, Any]:
    """Targets with smoothing, and whether rows count: NaN where their label is no column."""
    if what.targets is not None:
        return labels.astype(compute) * (1 - what.smoothing) + what.smoothing / what.columns, None
    hot = _jax.nn.one_hot(labels, what.columns, dtype=compute)
    weight = jnp.where((labels >= 0) & (labels < what.columns), 1, jnp.nan).astype(compute)
    if what.ignored is not None:
        weight = jnp.where(labels == what.ignored, 0, weight)
    return hot * (1 - what.smoothing) + what.smoothing / what.columns, weight


def _reference(what: What, x: Any, labels: Any) -> tuple[Any, ...]:
    """The formulas in jax.numpy, for derivatives of higher order."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    targets, weight = _dense(what, labels, wide.dtype)
    maximum, exponentials = _max_sum_exp(wide)
    lse = maximum + jnp.log(exponentials)
    total = jnp.sum(targets, -1)
    products = jnp.where(targets == 0, 0, targets * wide)
    loss = total * lse - jnp.sum(products, -1)
    loss = loss + what.z * lse**2 if what.z else loss  # a square may be infinite
    if weight is None:
        return loss, maximum, exponentials, total
    return _weighted(weight, loss), maximum, exponentials


def _max_sum_exp(x: Any) -> tuple[Any, Any]:
    """What formulas of both have does not depend on the maximum, so it is no variable."""
    maximum = _jax.lax.stop_gradient(jnp.max(x, -1))
    return maximum, jnp.sum(jnp.exp(x - maximum[..., None]), -1)


def _reference_gradient(
    what: What, x: Any, labels: Any, maximum: Any, exponentials: Any, *rows: Any
) -> tuple[Any, Any]:
    """Those of the gradient."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    targets, weight = _dense(what, labels, wide.dtype)
    g = rows[-1] if weight is None else _weighted(weight, rows[-1])
    total = rows[0] if weight is None else 1
    lse = maximum + jnp.log(exponentials)
    powers = jnp.exp(wide - maximum[..., None]) / exponentials[..., None]
    dx = g[..., None] * ((total + 2 * what.z * lse)[..., None] * powers - targets)
    if weight is None:
        dt = g[..., None] * (lse[..., None] - wide) * (1 - what.smoothing)
        return dx.astype(x.dtype), dt.astype(labels.dtype)
    return jnp.where(weight[..., None] == 0, 0, dx).astype(x.dtype), None


def _weighted(weight: Any, value: Any) -> Any:
    return jnp.where(weight == 0, 0, weight * value)
