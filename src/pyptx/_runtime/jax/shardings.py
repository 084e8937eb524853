"""Which part of a call each device runs, as tables of coordinates.

XLA describes a sharding by the part of the tensor that each device holds. A call is split along
factors, axes that its tensors share: a factor gives each device a coordinate, and a set of factors
splits the work evenly where every combination of coordinates belongs to equally many devices. That
needs no mesh and no names of axes, so it holds in every program, exported ones among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The factors that a call is split along over a number of `devices`.

    `parts` counts each factor's parts, and `coordinates` says which one each device runs.
    """

    devices: int
    parts: Mapping[str, int]
    coordinates: Mapping[str, Integers]

    def shape(self, axes: Axes, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of one device's part of a tensor."""
        return tuple(size // self._parts(axis) for axis, size in zip(axes, shape, strict=True))

    def follows(self, axes: Axes, tiling: Tiling) -> bool:
        """Whether a tensor that is sharded so is split as the call is."""
        nothing = np.zeros(self.devices, np.int64)
        wanted = [self.coordinates.get(a, nothing) if isinstance(a, str) else nothing for a in axes]
        return all(map(np.array_equal, tiling.coordinates.T, wanted))

    def holders(self, axes: Axes) -> Integers:
        """The devices by the part that they hold: a dimension for each axis, then the copies."""
        order = self._sorted(axes)
        return order.reshape(*(self._parts(axis) for axis in axes), -1)

    def sum_groups(self, factors: Iterable[str]) -> Integers:
        """The sets of devices, one a row, whose results add up to the sum over `factors`."""
        summed = [name for name in factors if name in self.parts]
        kept = [name for name in self.parts if name not in summed]
        parts = math.prod(self.parts[name] for name in summed)
        copies = self.devices // math.prod(self.parts.values())
        # Devices with equal coordinates have equal results; each adds its own to another set.
        sets = self._sorted([*kept, *summed]).reshape(-1, parts, copies)
        return sets.swapaxes(1, 2).reshape(-1, parts)

    def _sorted(self, axes: Sequence[int | str]) -> Integers:
        """The devices by their coordinates, those of the first axis slowest."""
        columns = [self.coordinates[a] for a in axes if isinstance(a, str) and a in self.parts]
        return np.lexsort([np.arange(self.devices), *reversed(columns)]).astype(np.int64)

    def _parts(self, axis: int | str) -> int:
        return self.parts.get(axis, 1) if isinstance(axis, str) else 1


def assign(
    tensors: Sequence[tuple[Axes, Sequence[int], Tiling]], whole: Sequence[str] = ()
) -> Assignment:
    """Follow the shardings of `tensors` (axes, whole shape, sharding), the first one first.

    A factor is split as the first tensor that splits it does. Those in `whole` are not; nor is one
    where its size is no multiple of the parts, or where the split would not be even together with
    those before it. XLA then gathers that axis.
    """
    parts: dict[str, int] = {}
    coordinates: dict[str, Integers] = {}
    for axes, shape, tiling in tensors:
        for i, (axis, size, count) in enumerate(zip(axes, shape, tiling.parts, strict=True)):
            if isinstance(axis, int) or axis in parts or axis in whole:
                continue
            if count == 1 or size % count:
                continue
            column = tiling.coordinates[:, i]
            if _even([*coordinates.values(), column], math.prod(parts.values()) * count):
                parts[axis], coordinates[axis] = count, column
    devices = len(tensors[0][2].coordinates) if tensors else 1
    return Assignment(devices, parts, coordinates)


def _even(columns: Sequence[Integers], combinations: int) -> bool:
    """Whether all combinations of the columns' values occur, so many, and equally often."""
    found, times = np.unique(np.stack(columns), axis=1, return_counts=True)
    return found.shape[1] == combinations and bool((times == times[0]).all())
