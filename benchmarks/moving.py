"""Kernels that move arrays and compute nothing to speak of: what memory allows.

Each thread loads vectors of 16 bytes of every input, and stores their exclusive or to every output.
Without outputs it stores only what never comes about, so that the loads are not left out.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg
from pyptx.ops._parameters import with_parameters
from pyptx.ops.tensor_core.operands import leaves_first
from pyptx.types import s32, u32

VECTOR: Final = 4
"""Words of 32 bits that a thread loads at once."""


@dataclass(frozen=True, slots=True)
class Moving:
    """How many arrays are read and written, and by how many threads of how many vectors each.

    With `first`, the lines that are read are the first to leave the L2 cache, so that what a kernel
    before has written stays there, and is not written to memory meanwhile.
    """

    inputs: int
    outputs: int
    threads: int
    vectors: int
    first: bool = False

    def __str__(self) -> str:
        return f"{self.threads} threads of {self.vectors}{', leaving first' * self.first}"


def ways(inputs: int, outputs: int, *, first: tuple[bool, ...] = (False,)) -> list[Moving]:
    """What there is to choose from."""
    return [
        Moving(inputs, outputs, threads, vectors, each)
        for each in first
        for threads in (64, 128, 256, 512)
        for vectors in (1, 2, 4)
    ]


class _Loads:
    """Loads of vectors, with a cache policy or without."""

    def __init__(self, how: Moving) -> None:
        self.policy = leaves_first() if how.first else None

    def __call__(self, x: Tensor, start: Reg, inside: Reg) -> list[Reg]:
        if self.policy is None:
            return list(x.load(start, vector=VECTOR, pred=inside, other=0))
        words = [reg.scalar(s32, init=0) for _ in range(VECTOR)]
        load = ptx.inst[f"ld.global.L2::cache_hint.v{VECTOR}.s32"]
        load(words, x.address(start), self.policy, pred=inside)
        return words


def _never(words: list[Reg]) -> Reg:
    """A predicate that depends on four words, and holds for one in 2**128 of them."""
    same = (words[0] == words[1]) & (words[1] == words[2]) & (words[2] == words[3])
    return same & (words[0] == 1 - 2**31)


@lru_cache(None)
def moving(how: Moving) -> Kernel:
    """The kernel of arrays of W words, which are a multiple of 4; W is known when it runs."""
    read, written = Tile("W", s32), Tile("W", s32, partial=how.outputs == 0)

    def move(*tensors: Any) -> None:
        sources, targets = tensors[: how.inputs], tensors[how.inputs :]
        words = ptx.inst.cvt.u32.u64(sources[0].shape[0])
        own = how.threads * how.vectors
        thread = reg.from_(ptx.special.tid.x(), u32)
        first = ptx.inst.mad.lo.u32(reg.from_(ptx.special.ctaid.x(), u32), own, thread)
        starts = [
            ptx.inst.mul.lo.u32(first + how.threads * i if i else first, VECTOR)
            for i in range(how.vectors)
        ]
        there = [start < words for start in starts]
        load = _Loads(how)
        found = [
            [load(x, start, inside) for x in sources]
            for start, inside in zip(starts, there, strict=True)
        ]
        for start, inside, loaded in zip(starts, there, found, strict=True):
            total = list(loaded[0])
            for more in loaded[1:]:
                total = [a ^ b for a, b in zip(total, more, strict=True)]
            rare = inside if how.outputs else inside & _never(total)
            for y in targets:
                y.store(start, total, pred=rare)

    each = how.threads * how.vectors * VECTOR
    names = [f"X{i}" for i in range(how.inputs)] + [f"Y{i}" for i in range(max(how.outputs, 1))]
    return kernel(
        in_specs=(read,) * how.inputs,
        out_specs=(written,) * max(how.outputs, 1),
        grid=(f"cdiv(W, {each})", 1, 1),
        block=how.threads,
        dynamic=("W",),
        arch="auto",
        name=f"move_{how.inputs}_{how.outputs}",
    )(with_parameters(move, names, annotation=Tensor))


def call_of(how: Moving, arrays: list[Any]) -> Callable[[], Any]:
    """A call that does not wait for its end. PyTorch's arrays need no program for each size."""
    return partial(moving(how), *arrays)


def fastest(times: dict[str, list[float]]) -> str:
    """The way whose times are least in the middle."""
    return min(times, key=lambda way: statistics.median(times[way]))
