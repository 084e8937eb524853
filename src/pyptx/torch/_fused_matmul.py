"""`fused_matmul`: a product whose kernel applies your own function to each element."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import torch

from pyptx._runtime import dynamo
from pyptx._source import call_site
from pyptx.errors import CallError
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.epilogue import Epilogue, begin
from pyptx.ops.tensor_core.factors import DTYPES
from pyptx.torch import _arguments as arguments
from pyptx.torch import _matmul
from pyptx.torch._fused import Formula, Function, check_matrix, checked, operand, run_product
from pyptx.torch._products import as_rows
from pyptx.torch._products_split import reshaped
from pyptx.types import DType

MOST_FACTORS: Final = 2
"""Matrices that a kernel multiplies by."""


def fused_matmul(
    input: Any,
    other: Any,
    epilogue: Function,
    *,
    rows: Sequence[Any] = (),
    columns: Sequence[Any] = (),
    elements: Sequence[Any] = (),
    further: Sequence[Any] = (),
    out_dtype: Any = None,
    reference: Function | None = None,
) -> Any:
    """A matrix product with your own function applied to each element, in one kernel.

    input      (..., K): bfloat16, float16 or float32
    other      (K, N) of the same type, or a tuple of two such matrices: then input is multiplied by
               both, and each element has two sums
    epilogue   `epilogue(sum, *of_rows, *of_columns, *of_elements)` of f32 registers returns the
               element, an f32 register; if other is a tuple, two sums come first. With `further`
               results it returns a tuple. It is traced once for each kernel
    rows       tensors of shape (...): a number for each row
    columns    tensors of shape (N)
    elements   tensors of shape (..., N)
    further    the types of further results, each of shape (..., N)
    out_dtype  as for `linear`
    reference  the same function on float32 tensors that broadcast; gradients are computed from it,
               and without it there are none
    returns    (..., N), or a tuple of it and the further results

    Kernels are cached by the function object, so define the function once, not in code that runs
    often. Everything else is as in `linear`. Raises CallError.
    """
    given = {"rows": rows, "columns": columns, "elements": elements, "further": further}
    for name, each in given.items():
        if not isinstance(each, (tuple, list)):
            raise CallError(
                f"{name} is a {type(each).__name__}; fused_matmul takes a tuple",
                notes=(("help", f"{name}=({name},)"),),
            ).at(call_site())
    types = {f"further[{i}]": each for i, each in enumerate(further)}
    for name, each in (*types.items(), ("out_dtype", out_dtype)):
        if not isinstance(each, torch.dtype) and (each is not None or name != "out_dtype"):
            raise CallError(
                f"{name} is {each!r}", notes=(("legal", " ".join(f"torch.{t}" for t in DTYPES)),)
            ).at(call_site())
    others = other if isinstance(other, tuple) else (other,)
    counts = len(others), len(rows), len(columns), len(elements)
    what = epilogue, reference, counts, tuple(further), out_dtype
    tensors = input, *others, *rows, *columns, *elements
    if dynamo.traces() and dynamo.allow():
        return dynamo.apply(_key(*what), *tensors)
    return _operation(*what)(*tensors)


def _key(*what: Any) -> str:
    """The operation's key. No argument is a tensor, so Dynamo runs this when it comes to it."""
    return getattr(_operation(*what), "_pyptx_key")  # noqa: B009


setattr(_key, "_dynamo_marked_constant", True)  # noqa: B010  # as torch.compiler.assume_constant_result does


@lru_cache(plan.KEPT)
def _operation(
    epilogue: Function,
    reference: Function | None,
    counts: tuple[int, int, int, int],
    further: tuple[Any, ...],
    out_dtype: Any,
) -> Any:
    """The operation on tensors alone."""
    if not callable(epilogue):
        raise CallError(
            f"epilogue is {epilogue!r}, and no function",
            notes=(("help", "fused_matmul(input, other, lambda total: total * 0.5)"),),
        ).at(call_site())
    factors, *per = counts
    plain = _by_torch(epilogue, reference, factors, per[0], 1 + len(further))

    def fused_matmul(input: Any, *tensors: Any) -> Any:
        others, operands = tensors[:factors], tensors[factors:]
        kind, out, types = _checked(input, others, operands, per, out_dtype)
        of_rows, of_columns, of_elements = _split(types, per)
        results = tuple(_matmul.result_type(each) for each in further)
        own = Epilogue(epilogue, of_rows, of_columns, of_elements, results, factors > 1)
        formula = Formula(own, plain, keeps=reference is not None)

        def run(input: Any, *tensors: Any) -> Any:
            lead, n = input.shape[:-1], tensors[0].shape[-1]
            some, more, last = _split(tensors[factors:], per)
            operands = [reshaped(x, (x.numel(),)) for x in some]
            operands += [*more, *map(as_rows, last)]
            bs = [b.to(kind) for b in tensors[:factors]]
            found = run_product(formula, out, input.to(kind), bs, operands)
            if not results:
                return reshaped(found, (*lead, n))
            return tuple(reshaped(d, (*lead, n)) for d in found)

        return run

    return arguments.operation(fused_matmul)


def _split(found: Sequence[Any], counts: Sequence[int]) -> list[tuple[Any, ...]]:
    """What is given of rows, of columns, and of elements."""
    left = iter(found)
    return [tuple(islice(left, count)) for count in counts]


def _by_torch(
    epilogue: Function, reference: Function | None, factors: int, rows: int, results: int
) -> Function:
    """The function on tensors, which sees numbers of rows as a column."""

    def applied(*given: Any) -> Any:
        if reference is None:
            raise CallError(
                "this epilogue has no gradient: fused_matmul was not given reference=",
                location=begin(epilogue),
                notes=(("help", "reference= is the same function on tensors"),),
            )
        sums, operands = given[:factors], given[factors:]
        found = reference(*sums, *(x[:, None] for x in operands[:rows]), *operands[rows:])
        several = len(found) if isinstance(found, tuple) else 1
        if several != results:
            raise CallError(
                f"reference gives {several} of {results} results",
                location=begin(reference),
                notes=(("help", "reference= is the same function on tensors"),),
            )
        return found

    return applied


# ---- checks --------------------------------------------------------------------------------------


def _checked(
    input: Any, others: Sequence[Any], operands: Sequence[Any], counts: Sequence[int], out: Any
) -> tuple[Any, DType, list[DType]]:
    """The type to multiply in, the result's, and those of the operands. Raises CallError."""
    if len(others) > MOST_FACTORS or not others:
        raise CallError(
            f"other is a tuple of {len(others)}",
            notes=(("legal", "one matrix, or two in a tuple"),),
        )
    names = ("other",) if len(others) == 1 else ("other[0]", "other[1]")
    given = dict(zip(names, others, strict=True))
    kind, result = checked("fused_matmul", out, input=input, **given)
    for name, b in given.items():
        check_matrix(input, b, name)
    if others[0].shape != others[-1].shape:
        shapes = " and ".join(str(tuple(b.shape)) for b in others)
        raise CallError(f"the matrices of other have shapes {shapes}; they have one")
    lead, n = tuple(input.shape[:-1]), others[0].shape[1]
    shapes = zip(("rows", "columns", "elements"), (lead, (n,), (*lead, n)), counts, strict=True)
    each = [(f"{name}[{i}]", shape) for name, shape, count in shapes for i in range(count)]
    found = [
        operand(name, x, shape, "fused_matmul")
        for (name, shape), x in zip(each, operands, strict=True)
    ]
    return kind, result, [dtype for dtype in found if dtype is not None]
