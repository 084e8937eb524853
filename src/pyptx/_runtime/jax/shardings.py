"""Which part of a call each device runs, as tables of coordinates.

XLA describes a sharding by the part of the tensor that each device holds. A call is split along
factors, axes that its tensors share: a factor gives each device a coordinate, and a set of factors
splits the work evenly where every combination of coordinates belongs to equally many devices. That
needs no mesh and no names of axes, so it holds in every program, exported ones among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Axes: TypeAlias = "tuple[int | str, ...]"
"""For each axis of a tensor its factor, or the size of one that every device needs whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Tiling:
    """A tensor's sharding: the number of parts of each axis, and which part each device holds.

    `coordinates` has a row for each device and a column for each axis.
    """

    parts: tuple[int, ...]
    coordinates: Integers

    def holders(self) -> Integers:
        """The devices by the part that they hold: a dimension for each axis, then the copies."""
        devices = np.arange(len(self.coordinates))
        order = np.lexsort([devices, *reversed(self.coordinates.T)]).astype(np.int64)
        return order.reshape(*self.parts, -1)

    def gives(self, other: Tiling) -> bool:
        """Whether each device holds the part that it has in the other."""
        return np.array_equal(self.coordinates, other.coordinates)

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of one device's part of a tensor."""
        return tuple(size // parts for size, parts in zip(shape, self.parts, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """How devices add up their parts of one result, and which part of the sum each then has.

    `scatters` come first, one after the other: an axis, and sets of devices, one a row, each of
    which gets the sum of its own part along that axis, in the order of the row. The devices of each
    row of `groups` then add up what they have; where a row has one device, nothing is left to add.
    """

    scatters: tuple[tuple[int, Integers], ...]
    groups: Integers
    tiling: Tiling

    @property
    def is_sent(self) -> bool:
        """Whether devices have parts of one sum."""
        return bool(self.scatters) or self.groups.shape[1] > 1


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The factors that a call is split along over a number of `devices`.

    `parts` counts each factor's parts, and `coordinates` says which one each device runs.
    """

    devices: int
    parts: Mapping[str, int]
    coordinates: Mapping[str, Integers]

    def tiling(self, axes: Axes) -> Tiling:
        """How a tensor with these axes is split."""
        nothing = np.zeros(self.devices, np.int64)
        columns = [
            self.coordinates.get(a, nothing) if isinstance(a, str) else nothing for a in axes
        ]
        table = np.stack(columns, axis=1) if axes else np.zeros((self.devices, 0), np.int64)
        return Tiling(tuple(map(self._parts, axes)), table)

    def added(
        self, factors: Iterable[str], axes: Axes, shape: Sequence[int], wanted: Tiling
    ) -> Sum:
        """How a result of this whole shape, the sum over `factors`, is added up.

        Where the devices that have parts of a sum want different parts of the result (`wanted`),
        and the axis divides evenly, each gets no more than its own. Where they want parts of what
        devices with equal sums have, too, each gets the smallest part that has its own.
        """
        groups, found = self.sum_groups(factors), self.tiling(axes)
        parts, columns = list(found.parts), list(found.coordinates.T)
        scatters: list[tuple[int, Integers]] = []
        for axis, (size, count) in enumerate(zip(shape, wanted.parts, strict=True)):
            if count % parts[axis] or size % count:
                continue
            for times in _divisors(count // parts[axis]):
                column = wanted.coordinates[:, axis] * times * parts[axis] // count
                if (column // times != columns[axis]).any():
                    continue
                split = _by_part(groups, column % times, times)
                if split is None:
                    continue
                scatters.append((axis, split.swapaxes(1, 2).reshape(-1, times)))
                groups = split.reshape(-1, split.shape[2])
                parts[axis], columns[axis] = parts[axis] * times, column
                break
        table = np.stack(columns, axis=1) if columns else found.coordinates
        return Sum(tuple(scatters), groups, Tiling(tuple(parts), table))

    def sum_groups(self, factors: Iterable[str]) -> Integers:
        """The sets of devices, one a row, whose results add up to the sum over `factors`."""
        summed = [name for name in factors if name in self.parts]
        kept = [name for name in self.parts if name not in summed]
        parts = math.prod(self.parts[name] for name in summed)
        copies = self.devices // math.prod(self.parts.values())
        # Devices with equal coordinates have equal results; each adds its own to another set.
        sets = self.tiling((*kept, *summed)).holders().reshape(-1, parts, copies)
        return sets.swapaxes(1, 2).reshape(-1, parts)

    def _parts(self, axis: int | str) -> int:
        return self.parts.get(axis, 1) if isinstance(axis, str) else 1


Split: TypeAlias = tuple[Axes, Sequence[int], Tiling]
"""Axes of a tensor, its whole shape and its sharding."""


def assign(
    operands: Sequence[Split],
    results: Sequence[Split] = (),
    *,
    sums: Iterable[str] = (),
    whole: Sequence[str] = (),
) -> Assignment:
    """Follow the shardings of operands, the first one first, and then those that results want.

    Where operands cannot be split together as they are, those come first that a result wants split
    in the same way; of results that are sums over factors (`sums`), only operands that have one of
    these, as numbers of rows and columns are few. A factor is split as the first tensor that splits
    it, or into fewer parts, of several of these, where the split would not be even together with
    those before it. Factors in `whole` are not split; nor is one where its size is no multiple of
    the parts. XLA then gathers that axis.
    """
    parts: dict[str, int] = {}
    coordinates: dict[str, Integers] = {}
    summed = set[int | str](sums)
    wanted = {axis: column for _, axis, _, column in _columns(results, whole)}

    def is_wanted(found: tuple[Axes, str, int, Integers]) -> bool:
        axes, axis, _, column = found
        counts = not summed or bool(summed.intersection(axes))
        return counts and axis in wanted and np.array_equal(column, wanted[axis])

    of_operands = sorted(_columns(operands, whole), key=is_wanted, reverse=True)
    for _, axis, count, column in (*of_operands, *_columns(results, whole)):
        for fewer in () if axis in parts else _divisors(count):
            coarse = column * fewer // count
            if _even([*coordinates.values(), coarse], math.prod(parts.values()) * fewer):
                parts[axis], coordinates[axis] = fewer, coarse
                break
    tensors = (*operands, *results)
    devices = len(tensors[0][2].coordinates) if tensors else 1
    return Assignment(devices, parts, coordinates)


def _columns(
    tensors: Sequence[Split], whole: Sequence[str]
) -> Iterator[tuple[Axes, str, int, Integers]]:
    """The factors that tensors split: the tensor's, one of them, its parts and each device's."""
    for axes, shape, tiling in tensors:
        for i, (axis, size, count) in enumerate(zip(axes, shape, tiling.parts, strict=True)):
            if isinstance(axis, str) and axis not in whole and count > 1 and size % count == 0:
                yield axes, axis, count, tiling.coordinates[:, i]


def _divisors(count: int) -> list[int]:
    """Those above 1, the largest first."""
    return [times for times in range(count, 1, -1) if count % times == 0]


def _by_part(groups: Integers, part: Integers, count: int) -> Integers | None:
    """The devices of each row of `groups` by their part of an axis: (rows, count, the rest).

    None where not every part is that of equally many devices of a row.
    """
    ordered = np.take_along_axis(groups, np.argsort(part[groups], axis=1, kind="stable"), axis=1)
    rest, left = divmod(groups.shape[1], count)
    if left:
        return None
    even = np.repeat(np.arange(count), rest)
    return ordered.reshape(-1, count, rest) if (part[ordered] == even).all() else None


def _even(columns: Sequence[Integers], combinations: int) -> bool:
    """Whether all combinations of the columns' values occur, so many, and equally often."""
    found, times = np.unique(np.stack(columns), axis=1, return_counts=True)
    return found.shape[1] == combinations and bool((times == times[0]).all())
