"""Products by dimension numbers and of groups of rows, as operations of JAX."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import jax
import jax.numpy
import numpy as np

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._matmul_checks import as_matrix, check_types, every_block, result_type
from pyptx.ops._matmul_derivative import dot, ragged_rows, underived_rows
from pyptx.ops._matmul_options import checked_numbers, is_tf32, no_product
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.factors import DTYPES, EIGHT_BITS, FLOAT8, INT8, Call
from pyptx.ops.tensor_core.shape import Major, Spread

jnp: Any = jax.numpy


@binding(CallError, "ragged_dot")
def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    *,
    preferred_element_type: Any = None,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
) -> Any:
    """`jax.lax.ragged_dot`: consecutive groups of rows, each multiplied by its own matrix.

    lhs          (M, K): bf16, f16, f32, float8_e4m3fn or float8_e5m2
    rhs          (G, K, N) of the same type, float8 types may differ; G at most 2048
    group_sizes  (G,) integers, read when the kernel runs: the first rows are the first group's.
                 Negative sizes count as zero; a group ends at the last row of lhs
    preferred_element_type  as `out_dtype` of `matmul`
    lhs_scale    of 8-bit floats, as `a_scale` of `matmul`: (M, 1), (M, K / 128) or one number
    rhs_scale    as `b_scale` with the groups: (G, 1, N), (G, K / 128, N / 128), (G, K / 128, N) or
                 one number
    returns      (M, N); zeros in rows that are in no group

    One launch computes all groups, and one the gradient in `rhs`, with a separate sum over each
    group's rows. Sharded columns of rhs need no communication; lhs is gathered, also under an
    explicit mesh. `jax.export` takes symbolic M, K and N, not G. Everything else is as in
    `matmul`. Raises CallError.
    """
    where = call_site()
    dtype = check_types("ragged_dot", where, lhs=lhs, rhs=rhs)
    out = result_type(preferred_element_type, dtype, where)
    eight = dtype in FLOAT8.values()
    if dtype in INT8.values() or (not eight and (lhs_scale, rhs_scale) != (None, None)):
        what = "" if dtype in INT8.values() else ", which has no scales"
        raise CallError(
            f"lhs has elements of type {lhs.dtype}{what}",
            location=where,
            notes=(("legal", " ".join(FLOAT8 if what else [*DTYPES, *FLOAT8])),),
        )
    lhs, rhs, lengths = _checked_groups(lhs, rhs, group_sizes, where)
    if eight:
        names = ("lhs_scale", "rhs_scale")
        scales = every_block((lhs_scale, rhs_scale), lhs, rhs, dtype, where, names)
        return shell.located(
            "ragged_dot", where, partial(underived_rows, scales.kind, out), lhs,
            jnp.swapaxes(rhs, -1, -2), lengths, (scales.of_a, scales.of_b),
        )  # fmt: skip
    return shell.located("ragged_dot", where, partial(ragged_rows, "MN", out), lhs, rhs, lengths)


def _checked_groups(lhs: Any, rhs: Any, group_sizes: Any, where: SourceLocation) -> list[Any]:
    """Both factors, and the lengths of the groups as kernels take them. Raises CallError."""
    if not isinstance(group_sizes, (jax.Array, np.ndarray)):
        raise CallError(
            f"group_sizes is a {type(group_sizes).__name__}; ragged_dot takes arrays",
            location=where,
            notes=(("help", "jax.numpy.asarray(group_sizes)"),),
        )
    shapes: Any = tuple(lhs.shape), tuple(rhs.shape), tuple(cast("Any", group_sizes).shape)
    ranks = tuple(map(len, shapes)) == (2, 3, 1)
    if not ranks or lhs.shape[1] != rhs.shape[1] or rhs.shape[0] != shapes[2][0]:
        raise CallError(
            f"lhs has shape {shapes[0]}, rhs {shapes[1]} and group_sizes {shapes[2]}",
            location=where,
            notes=(("legal", "(M, K), (G, K, N) and (G,)"),),
        )
    groups, rows = rhs.shape[0], lhs.shape[0]
    if not isinstance(groups, int):
        raise CallError(
            f"rhs has {groups} groups, and ragged_dot takes a number that is known when its "
            "kernel is built",
            location=where,
            notes=(("help", "export it for each number of groups; M, K and N may be symbolic"),),
        )
    if groups > plan.MOST_GROUPS:
        raise CallError(
            f"rhs has {groups} groups, and ragged_dot takes {plan.MOST_GROUPS}", location=where
        )
    dtype = cast("Any", group_sizes).dtype
    if not jnp.issubdtype(dtype, jnp.integer):
        raise CallError(f"group_sizes has elements of type {dtype}", location=where)
    lhs, rhs, lengths = shell.as_jax(lhs, rhs, shell.as_s32(group_sizes))
    # In 32 bits, since the number of rows may be beyond their own type.
    most = min(shell.MOST_ROWS, rows) if isinstance(rows, int) else rows
    return [lhs, rhs, jnp.clip(lengths, 0, most)]


@binding(CallError, "dot_general")
def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`jax.lax.dot_general` for dimension numbers that need no transpose.

    lhs, rhs             of the types that `matmul` takes; for 8-bit types the contracting
                         dimensions come last
    dimension_numbers    ((contracting of lhs, of rhs), (batch of lhs, of rhs)). Batch dimensions
                         come first in both; contracting ones are next to each other, in the same
                         order in both, either directly after the batch or last. Pairs of them may
                         be in any order
    precision               as `matmul`'s
    preferred_element_type  as `out_dtype` of `matmul`

    Everything else is as in `matmul`. Raises CallError.
    """
    where = call_site()
    dtype = check_types("dot_general", where, lhs=lhs, rhs=rhs)
    tf32 = is_tf32(precision, "lhs", lhs, where)
    out = result_type(preferred_element_type, dtype, where)
    (contract_l, contract_r), (batch_l, batch_r) = checked_numbers(
        dimension_numbers, lhs, rhs, where
    )
    lhs, rhs = shell.as_jax(lhs, rhs)
    batch = tuple(range(len(batch_l)))
    if batch_l != batch or batch_r != batch:
        raise no_product("batch dimensions come first, in order", dimension_numbers, where)
    if [lhs.shape[i] for i in (*batch_l, *contract_l)] != [
        rhs.shape[i] for i in (*batch_r, *contract_r)
    ]:
        raise CallError(
            f"lhs has shape {tuple(lhs.shape)} and rhs {tuple(rhs.shape)}, whose sizes along "
            f"{dimension_numbers} are not equal",
            location=where,
        )
    a, a_last = as_matrix(lhs, len(batch), contract_l, dimension_numbers, where)
    b, b_last = as_matrix(rhs, len(batch), contract_r, dimension_numbers, where)
    spread: Spread | None = "G" if len(batch) > 1 else None
    if contract_l == (lhs.ndim - 1,) and not batch and lhs.ndim > 2:
        a, spread = lhs, "M"
    if not (a_last or b_last or batch) and len(contract_l) == lhs.ndim - 1 == rhs.ndim - 1 > 1:
        a, b, spread = lhs, rhs, "K"
    rows = [n for i, n in enumerate(lhs.shape) if i >= len(batch) and i not in contract_l]
    columns = [n for i, n in enumerate(rhs.shape) if i >= len(batch) and i not in contract_r]
    majors: tuple[Major, Major] = ("K" if a_last else "MN", "K" if b_last else "MN")
    if dtype in EIGHT_BITS.values() and majors != ("K", "K"):
        raise no_product(
            "of 8 bits, those that are summed over come last", dimension_numbers, where
        )
    call = Call(*majors, out, tf32=tf32, spread=spread)
    d = shell.located("dot_general", where, partial(dot, call), a, b)
    return d.reshape(*lhs.shape[: len(batch)], *rows, *columns)
