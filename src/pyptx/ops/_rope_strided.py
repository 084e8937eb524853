"""The kernel of rotary position embedding for heads with arbitrary strides.

`_rope` takes contiguous arrays. Here only the elements of a head are consecutive, and the kernel
takes the memory of an array from its first element to its last. Strides are numbers that the kernel
is made for, times sizes that it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx
from pyptx.ops._parameters import with_parameters
from pyptx.ops._rope import Rope, Row, Thread, cta_of
from pyptx.ops.rowwise.vectors import wide
from pyptx.types import s32, u32


class Stride(NamedTuple):
    """A stride in elements: a number, times the sizes of some of the tokens' indices."""

    number: int
    sizes: tuple[int, ...] = ()


class Place(NamedTuple):
    """Where the heads of an array are: the stride of each index of a token, and that of heads."""

    tokens: tuple[Stride, ...]
    head: Stride


@dataclass(frozen=True)
class Strided:
    """Arrays of tokens with one index or more: where their heads are, and where the results go."""

    op: Rope
    inputs: tuple[Place, ...]
    results: tuple[Place, ...]

    @property
    def rank(self) -> int:
        """The number of indices of a token."""
        return len(self.inputs[0].tokens)


@lru_cache(256)
def kernel_of(what: Strided) -> Kernel:
    """positions[N0, ...], `frequencies`, memory of arrays, and of results, updated in place."""
    op = what.op
    lanes, tokens, threads = cta_of(op)
    count = len(op.heads)
    sizes = [f"N{i}" for i in range(what.rank)]
    inputs = [Tile(f"X{i}", op.dtype) for i in range(count)]
    results = [Tile(f"Y{i}", op.dtype) for i in range(count)]

    def program(*tensors: Tensor) -> None:
        _Thread(what, tensors, lanes, tokens, threads).run()

    names = ["positions", "turns"]
    names += [f"{letter}{i}" for letter in "xyz" for i in range(count)]
    body = with_parameters(program, names, name=f"{op.name}_strided", annotation=Tensor)
    turns = Tile(op.size // 2, op.words, u32)
    return kernel(
        in_specs=(Tile(*sizes, s32), turns, *inputs, *results),
        out_specs=tuple(results),
        grid=f"cdiv({' * '.join(sizes)}, {tokens})",
        block=(threads, 1, 1),
        arch="auto",
        dynamic=(*sizes, *(f"{letter}{i}" for letter in "XY" for i in range(count))),
        input_output_aliases={2 + count + i: i for i in range(count)},
    )(body)


class _Thread(Thread):
    def __init__(
        self, what: Strided, tensors: Sequence[Tensor], lanes: int, tokens: int, threads: int
    ) -> None:
        super().__init__(what.op, tensors[: 2 + 2 * len(what.op.heads)], lanes, tokens, threads)
        self._what = what
        self._sizes = [ptx.inst.cvt.u32.u64(size) for size in tensors[0].shape]

    def total(self) -> Reg:
        first, *others = self._sizes
        for size in others:
            first = ptx.inst.mul.lo.u32(first, size)
        return first

    def rows(self, i: int, token: Reg, place: Reg) -> tuple[Row, Row]:
        indices = self._indices(token)
        x, y = self.pointers[2 + i], self.pointers[2 + len(self.op.heads) + i]
        vector = wide(place * self.op.vector.size)
        what = self._what
        source, result = what.inputs[i], what.results[i]
        return self._row(x, source, indices, vector), self._row(y, result, indices, vector)

    def _indices(self, token: Reg) -> list[Reg]:
        rest, found = token, list[Reg]()
        for size in reversed(self._sizes[1:]):
            found.insert(0, rest % size)
            rest = rest // size
        return [rest, *found]

    def _row(self, base: Reg, place: Place, indices: Sequence[Reg], element: Reg) -> Row:
        for index, stride in zip(indices, place.tokens, strict=True):
            element = element + wide(index) * self._elements(stride)
        head, size = self._elements(place.head), self.op.dtype.bytes
        element = element + wide(self.head) * head
        return Row(base, element * size, head * (self.lanes * size))

    def _elements(self, stride: Stride) -> int | Reg:
        found: int | Reg = stride.number
        for axis in stride.sizes:
            found = wide(self._sizes[axis]) * found
        return found
