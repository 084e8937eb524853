"""`rope` as an operation of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Any, Final

import torch

from pyptx._runtime.torch.runtime import is_distributed
from pyptx.errors import CallError
from pyptx.ops._rope import Rope, frequencies
from pyptx.torch import _arguments as arguments
from pyptx.torch._differentiable import differentiable
from pyptx.torch._rope_strided import turned
from pyptx.types import DType

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of heads, which a program has few of."""

_SIGN: Final = 2**31
_INTEGERS: Final = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@arguments.operation
def rope(
    q: Any, k: Any, positions: Any, *, base: Any = 10000.0, interleaved: Any = False
) -> tuple[Any, Any]:
    """Rotary position embedding of queries and keys: (q, k), with each pair of elements rotated.

    q, k         bfloat16, float16, float32 or float64, of one type; of shape (..., heads, D) with D
                 even. The numbers of heads may differ; the leading dimensions must be the same
    positions    integers that broadcast to the leading dimensions, from -2**31 to 2**31 - 1
    base         at least 1: pair i is rotated by position * base**(-2 i / D)
    interleaved  pairs are elements 2 i and 2 i + 1; otherwise i and i + D / 2
    returns      tensors of the shapes and type of q and k

    Angles are computed in integers, so large positions cost no accuracy. Rotations are in float32,
    or in float64 for float64 tensors, and rounded once. One kernel rotates both; the gradient is
    the inverse rotation, by the same kernel. Views in which the elements of a head are consecutive,
    such as transposed tensors and slices of a fused projection, are not copied, and the results
    have their strides. Other tensors that are not contiguous are copied. Raises CallError.
    """
    op = _checked(q, k, positions, interleaved)
    turn = arguments.number("base", base, "rope(q, k, positions, base=10000.0)")
    if turn < 1:
        raise CallError(f"base is {base!r} and must be at least 1")
    run = _operation(op, turn).run

    def computed(q: Any, k: Any, positions: Any, **_: Any) -> tuple[Any, Any]:
        given = positions.to(torch.int32).expand(q.shape[:-2]).contiguous()
        turns = _turns(turn, op, given)
        y, z = run(given, turns, q, k)
        return y, z

    return computed  # pyright: ignore[reportReturnType]  # what `operation` makes the result with


def _checked(q: Any, k: Any, positions: Any, interleaved: object) -> Rope:
    dtype = arguments.dtype_of("q", q, "rope")
    arguments.check_targets("rope")
    if arguments.dtype_of("k", k, "rope") is not dtype:
        raise CallError(
            f"k is {arguments.described(k)}, and q {arguments.described(q)}",
            notes=(("help", "k.to(q.dtype)"),),
        )
    problem = None
    if q.ndim < 2 or q.shape[-1] % 2 or 0 in q.shape[-2:]:
        problem = f"q has shape {tuple(q.shape)}, and rope takes (..., heads, D) with D even"
    elif (*k.shape[:-2], k.shape[-1]) != (*q.shape[:-2], q.shape[-1]) or 0 in k.shape[-2:]:
        problem = f"k has shape {tuple(k.shape)}, and q {tuple(q.shape)}; heads alone may differ"
    elif not isinstance(interleaved, bool):
        problem = f"interleaved is {interleaved!r} and must be True or False"
    elif not isinstance(positions, torch.Tensor) or positions.dtype not in _INTEGERS:
        kind = positions.dtype if isinstance(positions, torch.Tensor) else type(positions).__name__
        kind = str(kind).removeprefix("torch.")
        problem = f"positions are {kind} and must be a tensor of integers"
    elif not arguments.broadcasts(tuple(positions.shape), tuple(q.shape[:-2])):
        problem = (
            f"positions have shape {tuple(positions.shape)}, which does not broadcast to "
            f"{tuple(q.shape[:-2])}"
        )
    if problem is not None:
        raise CallError(problem)
    heads = (int(q.shape[-2]), int(k.shape[-2]))
    return Rope(dtype, int(q.shape[-1]), heads, bool(interleaved), back=False)


def _turns(base: float, op: Rope, like: Any) -> Any:
    """The frequencies where another tensor is, kept from call to call but in a traced program."""
    if is_distributed((like,)):
        return arguments.replicated(_turns(base, op, like.to_local()), like)
    if arguments.is_traced():
        return _made_turns(base, op.size, op.dtype, like.device)
    return _kept_turns(base, op.size, op.dtype, like.device)


def _made_turns(base: float, size: int, dtype: DType, device: Any) -> Any:
    """The words as a constant of type int32: Inductor's cache cannot load one of type uint32."""
    words = [[(word ^ _SIGN) - _SIGN for word in words] for words in frequencies(base, size, dtype)]
    return torch.tensor(words, dtype=torch.int32, device=device).view(torch.uint32)


_kept_turns: Final = cache(_made_turns)


@lru_cache(_OPERATIONS)
def _operation(op: Rope, base: float) -> Any:
    """The rotation of q and k, and back: each is the derivative of the other."""
    plain: Any = partial(turned, op)
    back: Any = partial(turned, replace(op, back=not op.back))

    def rope(positions: Any, turns: Any, q: Any, k: Any) -> Any:
        return plain(positions, turns, q, k)

    def forward(positions: Any, turns: Any, q: Any, k: Any) -> Any:
        return plain(positions, turns, q, k), (positions, turns)

    def backward(saved: Any, g: Any, h: Any) -> Any:
        return None, None, *back(*saved, g, h)

    def reference(positions: Any, turns: Any, q: Any, k: Any) -> Any:
        del turns
        index = torch.arange(op.size // 2, device=q.device, dtype=torch.float64)
        angles = positions.double()[..., None, None] * base ** (-2 * index / op.size)
        return tuple(_turned(x, angles, interleaved=op.interleaved) for x in (q, k))

    return differentiable(rope, forward, backward, reference=reference, contiguous=False)


def _turned(x: Any, angles: Any, *, interleaved: bool) -> Any:
    """The formula in PyTorch's operators."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    cosine, sine = angles.cos().to(wide.dtype), angles.sin().to(wide.dtype)
    axis = -1 if interleaved else -2
    pairs = wide.unflatten(-1, (-1, 2) if interleaved else (2, -1))
    one, other = pairs.select(axis, 0), pairs.select(axis, 1)
    turned = one * cosine - other * sine, other * cosine + one * sine
    return torch.stack(turned, axis).flatten(-2).to(x.dtype)
