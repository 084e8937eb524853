"""Matrix products of tensors by kernels: padding, parts of float32 numbers, and derivatives."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

import torch
from torch.nn import functional

from pyptx._runtime.torch.runtime import is_distributed
from pyptx._runtime.torch.tensors import DTYPES as TENSOR_TYPES
from pyptx._runtime.torch.tensors import dtype_name
from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.factors import ALIGNED, DTYPES, KINDS, Call, derivatives, part_pairs
from pyptx.ops.tensor_core.shape import Blocks, Major, Product, Shape
from pyptx.torch import _arguments as arguments
from pyptx.torch import _products_split
from pyptx.torch._differentiable import differentiable
from pyptx.types import DType, f32

"""The types of elements by name."""


def tensor_type(dtype: Any) -> Any:
    """PyTorch's name of a type."""
    return TENSOR_TYPES[str(dtype.numpy)]


def in_memory(x: Any, other: Major) -> tuple[Any, Major]:
    """A matrix, or a batch of them, as it is in memory: as it is given, or with K last for A.

    `other` is the major of a contiguous one: "K" of A (M, K), "MN" of B (K, N). One that is
    contiguous neither way is copied.
    """
    if not arguments.is_contiguous(x) and arguments.is_contiguous(x.mT):
        return x.mT, "MN" if other == "K" else "K"
    return x.contiguous(), other


def as_rows(x: Any) -> Any:
    """All dimensions but the last one as one. PyTorch finds no size for -1 where another is 0."""
    return _products_split.reshaped(x, (math.prod(x.shape[:-1]), x.shape[-1]))


@lru_cache(plan.KEPT)
def dot(call: Call) -> Any:
    """D of matrices, or of batches of them (rank 3), as an operation with derivatives."""

    def matmul(a: Any, b: Any) -> Any:
        return computed(call, a, [b])[0]

    def forward(a: Any, b: Any) -> Any:
        return matmul(a, b), (a, b)

    def backward(saved: Any, g: Any) -> Any:
        a, b = saved
        return cotangents(call, a, b, g)

    def reference(a: Any, b: Any) -> Any:
        one = (a if call.a_major == "K" else a.mT).float()
        other = (b if call.b_major == "MN" else b.mT).float()
        return (one @ other).to(tensor_type(call.out))

    return differentiable(matmul, forward, backward, reference=reference)


def cotangents(call: Call, a: Any, b: Any, g: Any) -> tuple[Any, Any]:
    """The gradients of both factors, for that of their product.

    It is multiplied in its own type: rounded to the factors', one of float32 would lose its bits,
    or be beyond the range of float16.
    """
    factors = {"a": a, "b": b, "g": g.to(a.dtype) if call.tf32 else g}
    da, db = (
        _cotangent(primal, of.majors, *(factors[name] for name in of.factors), tf32=call.tf32)
        for primal, of in zip((a, b), derivatives(call.a_major, call.b_major), strict=True)
    )
    return da, db


def _cotangent(primal: Any, majors: tuple[Major, Major], x: Any, y: Any, *, tf32: bool) -> Any:
    """The gradient of a factor; added up over a batch that the factor is the same for."""
    summed = primal.ndim == 2 and (x.ndim == 3 or y.ndim == 3)
    dtype = f32 if summed else DTYPES[dtype_name(primal.dtype)]
    found = computed(Call(*majors, dtype, tf32=tf32), x, [y])[0]
    return found.sum(0).to(primal.dtype) if summed else found


def computed(call: Call, a: Any, bs: Sequence[Any], operands: Sequence[Any] = ()) -> list[Any]:
    """D and further results, by one kernel. Factors are matrices or batches of them, contiguous.

    `operands` are the epilogue's: (M,) of rows, (N,) of columns, (M, N); before them the block
    scales of A and B.
    """
    if is_distributed((a, *bs)):

        def part(own: Product, tensors: Sequence[Any]) -> list[Any]:
            x, *rest = tensors
            return computed(replace(call, out=own.d), x, rest[: len(bs)], rest[len(bs) :])

        whole = _product(call, a, bs[0], len(operands))
        return _products_split.computed(whole, (a, *bs, *operands), part)
    m, n, k = call.sizes(a, bs[0])
    if call.blocks and isinstance(k, int) and k == 0:
        call, operands = replace(call, blocks=None), operands[2:]
    lead = a.shape[:-2] or bs[0].shape[:-2]
    nothing = (m, n, *lead) if call.epilogue is not None else (m, n, k, *lead)
    if any(isinstance(size, int) and size == 0 for size in nothing):
        return [a.new_zeros((*lead, m, n), dtype=tensor_type(t)) for t in call.results]
    pairs = () if call.tf32 else part_pairs(dtype_name(a.dtype), dtype_name(bs[0].dtype))
    if call.tf32:
        a, bs = _as_tf32(a, call.a_major), [_as_tf32(b, call.b_major) for b in bs]
        call = replace(call, a_major="K", b_major="K")
    if pairs:
        a = _in_parts(a, call.a_major, 0, pairs)
        bs = [_in_parts(b, call.b_major, 1, pairs) for b in bs]
    least = min(a.dtype.itemsize, *(dtype.bytes for dtype in call.results))
    a = _padded(a, -1)
    bs = [_padded(_padded(b, -1), -2 if call.b_major == "K" else -1, least) for b in bs]
    a_depth, b_depth = (-1 if major == "K" else -2 for major in (call.a_major, call.b_major))
    depth = a.shape[a_depth] if call.a_major == "K" else bs[0].shape[b_depth]
    if isinstance(depth, int):
        depth = max(depth, ALIGNED // a.dtype.itemsize)  # sums of nothing are zeros
    a, bs = _to(a, a_depth, depth), [_to(b, b_depth, depth) for b in bs]
    columns = bs[0].shape[-2 if call.b_major == "K" else -1]
    as_given = 0 if call.epilogue is None else len(call.epilogue.rows)
    scales: list[Any] = []
    if call.blocks:
        of_a, of_b, *operands = operands
        of_b = _to(of_b, -1, columns) if call.blocks == "column" else of_b
        scales = [_padded(of_a, -1), of_b]
    given = [x if i < as_given else _to(x, -1, columns) for i, x in enumerate(operands)]
    given = [*scales, *given]
    product = replace(_product(call, a, bs[0], len(given)), rounded=bool(pairs))
    found: Any = plan.operation(product, _shape(product, call, a, bs[0]))(a, *bs, *given)
    several = [found] if len(call.results) == 1 else list(found)
    return [d if d.shape[-2:] == (m, n) else d[..., :m, :n].contiguous() for d in several]


def _product(call: Call, a: Any, b: Any, operands: int) -> Product:
    return Product(
        KINDS[dtype_name(a.dtype)], KINDS[dtype_name(b.dtype)], call.out, call.a_major,
        call.b_major, a.ndim == 3, b.ndim == 3, call.epilogue, batches=(False,) * operands,
        blocks=call.blocks,
    )  # fmt: skip


def ragged(
    along: Literal["M", "K"], b_major: Major, out: DType, a: Any, b: Any, lengths: Any,
    blocks: Blocks | None = None, scales: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """The product of groups of rows, as `Product.ragged` says. `lengths` are int32, one a group.

    "M": a (M, K) and b (groups, K, N), or (groups, N, K), to (M, N); the block scales of a, and
         (groups, ...) of b
    "K": a (K, M) and b (K, N) to (groups, M, N)
    """
    call = Call("K" if along == "M" else "MN", b_major, out, blocks=blocks)
    product = replace(
        _product(call, a, b, 0), a_batched=False, b_batched=along == "M", ragged=along,
        batches=(False, True) if blocks else (),
    )  # fmt: skip
    if is_distributed((a, b)):

        def part(own: Product, parts: Sequence[Any]) -> list[Any]:
            x, y, groups, *of_parts = parts
            return [ragged(along, b_major, own.d, x, y, groups, blocks, of_parts)]

        (d,) = _products_split.computed(product, (a, b, lengths, *scales), part)
        return d
    m, n, k = call.sizes(a, b)
    groups = lengths.shape[0]
    dims = (m, n) if along == "M" else (groups, m, n)
    if any(isinstance(size, int) and size == 0 for size in (*dims, k, groups)):
        return a.new_zeros(dims, dtype=tensor_type(out))
    pairs = part_pairs(dtype_name(a.dtype), dtype_name(b.dtype))
    if pairs:
        a, b = _in_parts(a, call.a_major, 0, pairs), _in_parts(b, b_major, 1, pairs)
        lengths = lengths * len(pairs) if along == "K" else lengths
        product = replace(product, a=KINDS["bfloat16"], b=KINDS["bfloat16"], rounded=True)
    least = min(a.dtype.itemsize, out.bytes)
    a, b = _padded(a, -1), _padded(_padded(b, -1), -2 if b_major == "K" else -1, least)
    if along == "M":
        depth = a.shape[-1] if b_major == "MN" else b.shape[-1]
        a, b = _to(a, -1, depth), _to(b, -2 if b_major == "MN" else -1, depth)
    m, n, k = call.sizes(a, b)
    if blocks:
        of_a, of_b = scales
        scales = [_padded(of_a, -1), _to(of_b, -1, n) if blocks == "column" else of_b]
    known = all(isinstance(size, int) for size in (m, n, k, groups))
    shape = (
        plan.choose_ragged(product, m, n, k, groups)
        if known
        else replace(plan.any_size(product), panels=1)
    )
    d: Any = plan.operation(product, shape)(a, b, lengths, *scales)
    return d if tuple(d.shape) == dims else d[..., : dims[-2], : dims[-1]].contiguous()


def _shape(product: Product, call: Call, a: Any, b: Any) -> Shape:
    m, n, k = call.sizes(a, b)
    lead = a.shape[:-2] or b.shape[:-2] or (1,)
    if all(isinstance(size, int) for size in (m, n, k, *lead)):
        return plan.choose(product, m, n, k, lead[0])
    return plan.any_size(product)


def _padded(x: Any, axis: int, itemsize: int | None = None) -> Any:
    """Zeros after a dimension, so that it is a multiple of 16 bytes, of results too."""
    size = x.shape[axis]
    return _to(x, axis, size + -size % (ALIGNED // (itemsize or x.dtype.itemsize)))


def _to(x: Any, axis: int, size: Any) -> Any:
    if x.shape[axis] == size:  # of a dimension without a size, programs are kept apart by it
        return x
    more = (0, size - x.shape[axis])
    widths = more if axis == -1 else (0, 0, *more)
    if x.dtype.itemsize == 1:  # which PyTorch pads no floats of
        return bits(functional.pad(bits(x, torch.uint8), widths), x.dtype)
    return functional.pad(x, widths)


def bits(x: Any, dtype: Any) -> Any:
    """A tensor's bits as elements of another type of the same size."""
    layers = torch._C._functorch  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
    return _Bits.apply(x, dtype) if layers.is_batchedtensor(x) else x.resolve_neg().view(dtype)


class _Bits(torch.autograd.Function):
    """The same of what torch.func.vmap maps: PyTorch 2.11 has no rule for it."""

    @staticmethod
    def forward(x: Any, dtype: Any) -> Any:
        return x.view(dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Nothing: what calls it has derivatives of its own."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, dtype: Any) -> Any:
        del info
        return _Bits.apply(x, dtype), in_dims[0]


def takes_tf32(kind: Any) -> bool:
    """Whether PyTorch is told that float32 matrices may be multiplied with fewer bits."""
    return kind is torch.float32 and torch.get_float32_matmul_precision() != "highest"


def _as_tf32(x: Any, major: Major) -> Any:
    """Rounded to nearest at 10 bits of fraction, with K last: tensor cores transpose 16 bits."""
    word = bits(x.contiguous(), torch.int32)
    even = (word >> 13) & 1
    rounded = bits((word + (0xFFF + even)) & ~0x1FFF, torch.float32)
    found = torch.where(torch.isfinite(x), rounded, x)
    return found if major == "K" else found.mT.contiguous()


def _in_parts(x: Any, major: Major, which: int, pairs: Sequence[tuple[int, int]]) -> Any:
    """bf16 parts of numbers, next to each other along K: one product adds all that are wanted.

    `which` is this number's of each of the pairs. What is infinite is so in the product of the
    largest parts alone: by a zero part of the other number it would give NaN.
    """
    rest, parts = x.float(), list[Any]()
    for _ in range(1 + max(pair[which] for pair in pairs)):
        # By bits: torch.compile leaves out the rounding of a number that is widened again.
        part = bits(bits(rest, torch.int32) & -0x10000, torch.float32)
        finite = torch.isfinite(part)
        parts.append(torch.where(finite, part, 0.0) if parts else part)
        rest = torch.where(finite, rest - part, 0.0)
    bounded = [torch.where(torch.isfinite(parts[0]), parts[0], 0.0), *parts[1:]]
    chosen = [bounded[pair[which]] for pair in pairs[:-1]] + [parts[0]]
    chosen = [part.to(torch.bfloat16) for part in chosen]  # which has all their bits
    axis = x.ndim - (1 if major == "K" else 2)
    shape = (*x.shape[:axis], x.shape[axis] * len(pairs), *x.shape[axis + 1 :])
    return torch.stack(chosen, axis + 1).reshape(shape)
