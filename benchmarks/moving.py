"""Kernels that move arrays and compute nothing to speak of: what memory allows.

Each thread loads vectors of 16 bytes of every input, and stores their exclusive or to every output.
Without outputs it stores only what never comes about, so that the loads are not left out.

An operation that needs a statistic of a row has to exchange numbers before it may store. With
`exchanging`, each thread gives one word to a thread of another warp, or of the next CTA of its
cluster, and stores when all have done so.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops._parameters import with_parameters
from pyptx.ops.tensor_core.operands import leaves_first
from pyptx.types import s32, u32

VECTOR: Final = 4
"""Words of 32 bits that a thread loads at once."""


@dataclass(frozen=True, slots=True)
class Moving:
    """How many arrays are read and written, and by how many threads of how many vectors each.

    With `first`, the lines that are read are the first to leave the L2 cache, so that what a kernel
    before has written stays there, and is not written to memory meanwhile. `exchanging` are the
    CTAs that exchange words between their loads and their stores: 0 for none, 1 for the warps of
    each CTA.
    """

    inputs: int
    outputs: int
    threads: int
    vectors: int
    first: bool = False
    exchanging: int = 0

    def __str__(self) -> str:
        with_others = f", {self.exchanging} CTAs" if self.exchanging else ""
        return (
            f"{self.threads} threads of {self.vectors}{', leaving first' * self.first}{with_others}"
        )


def ways(
    inputs: int,
    outputs: int,
    *,
    first: tuple[bool, ...] = (False,),
    exchanging: tuple[int, ...] = (0,),
) -> list[Moving]:
    """What there is to choose from."""
    return [
        Moving(inputs, outputs, threads, vectors, each, ctas)
        for each in first
        for ctas in exchanging
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


def _together(words: Sequence[Reg]) -> Reg:
    """The exclusive or of all."""
    total, *others = words
    for word in others:
        total = total ^ word
    return total


class _Exchange:
    """Each thread gives a word to another one, and none goes on before all have done so."""

    def __init__(self, how: Moving, thread: Reg) -> None:
        self.ctas, self.thread = how.exchanging, thread
        self.words = smem.alloc(s32, how.threads)
        self.other = (thread + WARP) & (how.threads - 1)
        if self.ctas > 1:  # a CTA must run before another one writes to it
            self.arrived = smem.mbarrier(1)[0]
            with ptx.if_(thread == 0):
                self.arrived.init(1)
                ptx.fence.mbarrier_init()
            ptx.cluster.arrive(relaxed=True, aligned=True)

    def __call__(self, word: Reg) -> Reg:
        """The other thread's word."""
        if self.ctas == 1:
            self.words[self.thread] = word
            ptx.bar.sync()
            return self.words[self.other]
        place = self.words.address(self.thread)
        following = (ptx.cluster.rank() + 1) & (self.ctas - 1)
        ptx.cluster.wait(aligned=True)
        with ptx.if_(self.thread == 0):
            self.arrived.arrive_expect_tx(self.words.shape[0] * s32.bytes)
        ptx.inst.st.async_.shared__cluster.mbarrier__complete_tx__bytes.s32(
            ptx.cluster.map_shared_rank(place, following),
            word,
            ptx.addr(ptx.cluster.map_shared_rank(self.arrived, following)),
        )
        self.arrived.wait(0, cluster=True)
        return self.words[self.thread]


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
        exchange = _Exchange(how, thread) if how.exchanging else None
        load = _Loads(how)
        found = [
            [load(x, start, inside) for x in sources]
            for start, inside in zip(starts, there, strict=True)
        ]
        totals = [[_together(word) for word in zip(*loaded, strict=True)] for loaded in found]
        if exchange is not None:
            other = exchange(_together([word for total in totals for word in total]))
            totals = [[word ^ other for word in total] for total in totals]
        for start, inside, total in zip(starts, there, totals, strict=True):
            rare = inside if how.outputs else inside & _never(total)
            for y in targets:
                y.store(start, total, pred=rare)

    each, ctas = how.threads * how.vectors * VECTOR, max(1, how.exchanging)
    names = [f"X{i}" for i in range(how.inputs)] + [f"Y{i}" for i in range(max(how.outputs, 1))]
    return kernel(
        in_specs=(read,) * how.inputs,
        out_specs=(written,) * max(how.outputs, 1),
        grid=(f"cdiv(W, {each * ctas}) * {ctas}", 1, 1),
        block=how.threads,
        cluster=(ctas, 1, 1),
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
