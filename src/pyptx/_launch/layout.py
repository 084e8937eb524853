"""From kernels applied to the tensors of a call to its plan, with levels and factors.

A call is described once, with symbols for its parallel dimensions; every choice of levels
(`jax.vmap`) makes a call of that description. A level is folded where it is one more axis of a
parallel dimension of a step. The others share an axis of the step's grid, and the kernel adds a
stride for each to the addresses of its tensors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeAlias

from pyptx import _expressions as expressions
from pyptx._dims import Binary, Dim, Extent, Symbol, combine, maximum, minimum, rpn
from pyptx._launch.description import (
    Application,
    Axes,
    Code,
    Description,
    Levels,
    Number,
    Tensor,
    TensorSpec,
)
from pyptx._launch.plan import (
    Argument,
    Bytes,
    EarlierResult,
    InputAddress,
    Integer,
    MapArgument,
    OutputAddress,
    Plan,
    PlanShape,
    Step,
)
from pyptx._layouts import TensorMap
from pyptx._spec import Tile, size_of
from pyptx._trace.core.batch import Batch
from pyptx.errors import SpecError
from pyptx.types import BY_NUMPY, DType

Mask: TypeAlias = tuple[bool, ...]

_AXES: Final = "xyz"


@dataclass(frozen=True, slots=True)
class Laid:
    """The plan and the code of a call with its levels, and its tensors.

    `whole` are the axes that are known at the launch and along which a call cannot be split.
    """

    plan: Plan
    code: tuple[Code, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    scratch: tuple[TensorSpec, ...]
    whole: tuple[str, ...]


def lay_out(description: Description, levels: Levels, *, partial: bool) -> Laid:
    """The call with these levels. Raises SpecError where a level finds no axis of the grid.

    A `partial` one gives parts of sums, in the types that these are added up in.
    """
    buffers = _Buffers(description, levels, partial=partial)
    made = [_step(application, buffers) for application in description.steps]
    count = len(description.outputs)
    return Laid(
        Plan(
            tuple(map(_plan_shape, buffers.inputs)),
            tuple(map(_plan_shape, buffers.results)),
            tuple(step for step, _ in made),
        ),
        tuple(code for _, code in made),
        buffers.inputs,
        buffers.results[:count],
        buffers.results[count:],
        _whole(buffers, description.dynamic),
    )


def unfolded(description: Description, levels: Levels) -> int:
    """How many of the levels, outermost first, need an axis of the grid in one step or another."""
    masks = [_masks(application, levels) for application in description.steps]
    folded = (
        _fold(application, mask)[1]
        for application, mask in zip(description.steps, masks, strict=True)
    )
    return max((len(levels) - count for count in folded), default=0)


def distances(description: Description, levels: Levels) -> list[tuple[Argument, str, int]]:
    """Each tensor of each step with a level that takes an axis of the grid, and with a width.

    From one element of the level to the next the distance in bytes has to be a multiple of the
    width, that of the step's widest access of the tensor.
    """
    found: list[tuple[Argument, str, int]] = []
    for application in description.steps:
        masks = _masks(application, levels)
        outer = len(levels) - _fold(application, masks)[1]
        if outer:
            widths = application.code(None, False).widths()
            found += [
                (reference, f"vmap.{i}", width)
                for i, mask in enumerate(masks[:outer])
                for reference, mapped, width in zip(
                    application.arguments, mask, widths, strict=True
                )
                if mapped
            ]
    return found


def has_free_axis(description: Description) -> bool:
    """Whether the grid of every step has an axis that can batch."""
    return all(_free_axis(step, step.grid(step.dims)) is not None for step in description.steps)


def _whole(buffers: _Buffers, dynamic: Sequence[str]) -> tuple[str, ...]:
    axes = {axis for tensor in (*buffers.inputs, *buffers.results) for axis in _names(tensor.axes)}
    return tuple(
        sorted(a for a in axes if isinstance(expressions.axis_extent(a), Binary) or a in dynamic)
    )


# ---- the tensors of a call -----------------------------------------------------------------------


class _Buffers:
    """The tensors of a call with its levels, and where the size of each factor is read."""

    def __init__(self, description: Description, levels: Levels, *, partial: bool) -> None:
        self.levels = levels
        self.partial = partial
        self.aliased = frozenset(target for _, target in description.aliases)
        self.stars = description.stars or {}
        outer = tuple(f"vmap.{i}" for i in range(len(levels)))
        self.inputs = tuple(
            self._spec(tensor, tuple(n for n, m in zip(outer, levels, strict=True) if m[i]))
            for i, tensor in enumerate(description.inputs)
        )
        results = (*description.outputs, *description.scratch)
        self.accumulated = frozenset(
            i for i, tensor in enumerate(results) if partial and tensor.accumulate is not None
        )
        self.results = tuple(self._spec(tensor, outer) for tensor in results)
        self.places: dict[str, str] = {}
        for letter, tensors in (("a", self.inputs), ("r", self.results)):
            for index, tensor in enumerate(tensors):
                for axis, factor in enumerate(tensor.axes):
                    if isinstance(factor, str):
                        self.places.setdefault(factor, f"{letter}{index}.{axis}")
        for name, count in self.stars.items():
            axes = [Symbol(f"{name}.{i}") for i in range(count)]
            self.places[name] = rpn(product(axes), self.places)

    def _spec(self, tensor: Tensor, outer: tuple[str, ...]) -> TensorSpec:
        own = tuple(axis for dim in tensor.dims for axis in self._axes(dim))
        sums = tuple(axis for name in tensor.sums for axis in self._axes(Symbol(name)))
        dtype = (tensor.accumulate if self.partial else None) or tensor.dtype
        return TensorSpec(tensor.name, str(dtype.numpy), (*outer, *own), _names(sums))

    def _axes(self, dim: Extent) -> Axes:
        if not isinstance(dim, Symbol):
            return (str(dim),) if isinstance(dim, Dim) else (dim,)
        count = self.stars.get(dim.name)
        if count is None:
            return (dim.name,)
        return tuple(f"{dim.name}.{i}" for i in range(count))

    def size(self, extent: Extent) -> str:
        """An expression over dimensions and factors, as the plan writes it."""
        return rpn(extent, self.places)

    def dtype(self, index: int) -> DType:
        """The type of a result."""
        return BY_NUMPY[self.results[index].dtype]

    def stride(self, reference: Argument, level: str) -> Extent:
        """The bytes from one element of a level to the next in a tensor."""
        tensors = self.inputs if isinstance(reference, InputAddress) else self.results
        assert not isinstance(reference, Integer | Bytes | MapArgument)
        tensor = tensors[reference.index]
        inner = tensor.axes[tensor.axes.index(level) + 1 :]
        known = math.prod(axis for axis in inner if isinstance(axis, int))
        symbols = (expressions.axis_extent(axis) for axis in inner if isinstance(axis, str))
        return product([BY_NUMPY[tensor.dtype].bytes * known, *symbols])


def product(extents: Sequence[Extent]) -> Extent:
    """The product of sizes, 1 for none."""
    return reduce(_times, extents, 1)


def _times(a: Extent, b: Extent) -> Extent:
    if isinstance(b, int) and b == 1:
        return a
    return b if isinstance(a, int) and a == 1 else combine("*", a, b)


def _names(axes: Axes) -> tuple[str, ...]:
    return tuple(axis for axis in axes if isinstance(axis, str))


def _plan_shape(tensor: TensorSpec) -> PlanShape:
    return tuple(None if isinstance(axis, str) else axis for axis in tensor.axes)


# ---- one step ------------------------------------------------------------------------------------


def _step(application: Application, buffers: _Buffers) -> tuple[Step, Code]:
    """The plan of a step and its code."""
    levels = buffers.levels
    masks = _masks(application, levels)
    dim, count = _fold(application, masks)
    outer = len(levels) - count
    dims = dict(application.dims)
    if dim is not None:
        folded = [Symbol(f"vmap.{i}") for i in range(outer, len(levels))]
        dims[dim] = product([*folded, dims[dim]])
    base = application.grid(dims)
    batch = _Batching(application, base, masks[:outer]) if outer else None
    partial = any(output.index in buffers.accumulated for output in application.outputs)
    code = application.code(batch.batch if batch else None, partial)
    extents: list[Extent] = []
    grid = base
    if batch is not None:
        grid = batch.grid(base)
        extents += batch.arguments(application, buffers)
    x, y, z = map(buffers.size, grid)
    fresh = _fresh(application, buffers)
    shared = code.shared if application.shared is None else application.shared(dims)
    step = Step(
        kernel=application.name,
        grid=(x, y, z),
        block=application.block,
        arguments=(
            *(_argument(application, taken, dims, buffers) for taken in application.takes),
            *(Integer(buffers.size(extent)) for extent in extents),
            *(
                _map(application, number, described, dims, buffers)
                for number, described in code.maps
            ),
        ),
        cluster=application.cluster,
        shared=buffers.size(shared),
        zeros=_zeros(application, base),
        complete=tuple(index for index, spec in fresh if spec.complete),
        init=tuple((i, value) for i, s in fresh if (value := s.initial(buffers.dtype(i)))),
        cooperative=application.cooperative,
        programmatic_stream_serialization=application.programmatic_stream_serialization,
        when=None if application.when is None else buffers.size(application.when),
    )
    return step, code


def _map(
    application: Application,
    number: int,
    described: TensorMap,
    dims: Mapping[str, Extent],
    buffers: _Buffers,
) -> MapArgument:
    """The tensor map of the step's tensor of that number: a contiguous array of its sizes."""
    spec = application.specs[number]
    buffer = application.arguments[number]
    assert isinstance(buffer, InputAddress | OutputAddress | EarlierResult)
    sizes: list[Extent] = [size_of(dim, dims) for dim in spec.dims]
    strides = [
        product([described.dtype.bytes, *sizes[axis + 1 :]]) for axis in range(len(sizes) - 1)
    ]
    if described.split is not None:  # whole groups of the last axis; a shorter one is a group
        groups = combine("//", sizes[-1], described.split)
        sizes[-1:] = maximum(1, groups), minimum(described.split, sizes[-1])
        strides.append(described.split * described.dtype.bytes)
    return MapArgument(
        buffer,
        application.tensors[number],
        described,
        tuple(map(buffers.size, sizes)),
        tuple(map(buffers.size, strides)),
    )


def _argument(
    application: Application,
    taken: int | Number | Bytes,
    dims: Mapping[str, Extent],
    buffers: _Buffers,
) -> Argument:
    match taken:
        case Number(extent, bits):
            return Integer(buffers.size(extent(dims)), bits)
        case Bytes():
            return taken
        case _:
            return application.arguments[taken]


def _zeros(application: Application, grid: Sequence[Extent]) -> tuple[int, ...]:
    """The results that are sums over nothing where the grid can be empty."""
    if all(isinstance(size, int) and size > 0 for size in grid):
        return ()
    specs = zip(application.out_specs, application.outputs, strict=True)
    return tuple(output.index for spec, output in specs if spec.sum_over)


def _fresh(application: Application, buffers: _Buffers) -> list[tuple[int, Tile]]:
    """The results that have no values before the step, each with its Tile."""
    updated = {a.index for a in application.inputs if isinstance(a, OutputAddress)}
    specs = zip(application.out_specs, application.outputs, strict=True)
    known = updated | buffers.aliased
    return [
        (output.index, spec)
        for spec, output in specs
        if isinstance(spec, Tile) and output.index not in known
    ]


def _masks(application: Application, levels: Levels) -> tuple[Mask, ...]:
    """For each level, which tensors of the step have its axis; results have all."""
    return tuple(
        (
            *(_is_mapped(reference, level) for reference in application.inputs),
            *(True for _ in application.outputs),
        )
        for level in levels
    )


def _is_mapped(reference: Argument, level: Mask) -> bool:
    return level[reference.index] if isinstance(reference, InputAddress) else True


def _fold(application: Application, masks: Sequence[Mask]) -> tuple[str | None, int]:
    """The parallel dimension that the innermost levels are further axes of, and how many are."""
    best: tuple[str | None, int] = (None, 0)
    for dim in application.parallel:
        having = _leading(application, dim)
        count = 0
        while count < len(masks) and masks[-1 - count] == having:
            count += 1
        if count > best[1]:
            best = dim, count
    return best


def _leading(application: Application, dim: str) -> Mask | None:
    """Which tensors have `dim` as their first dimension; None where a level cannot fold into it.

    It cannot where a tensor has it elsewhere too, or an output does not have it.
    """
    having: list[bool] = []
    for spec in application.specs:
        names = [d.removeprefix("*") if isinstance(d, str) else d for d in spec.dims]
        if dim in names[1:]:
            return None
        having.append(names[:1] == [dim])
    if not all(having[len(application.in_specs) :]) or any(
        spec.sum_over for spec in application.out_specs
    ):
        return None
    return tuple(having)


# ---- levels that take an axis of the grid --------------------------------------------------------


class _Batching:
    """The levels of a step that are not folded: adjacent ones with one mask are one."""

    def __init__(
        self, application: Application, grid: Sequence[Extent], masks: Sequence[Mask]
    ) -> None:
        axis = _free_axis(application, grid)
        if application.cooperative:
            raise SpecError(
                f"{application.name} is cooperative, and with more elements the device might not "
                "hold its whole grid at once: it runs for one element at a time"
            )
        if axis is None:
            raise SpecError(
                f"{application.name} has no free axis of the grid to batch: one with one CTA "
                "and a cluster of one in y or z"
            )
        groups: list[tuple[Mask, list[int]]] = []
        for level, mask in enumerate(masks):
            if groups and groups[-1][0] == mask:
                groups[-1][1].append(level)
            else:
                groups.append((mask, [level]))
        self.levels = [[Symbol(f"vmap.{level}") for level in members] for _, members in groups]
        self.batch: Final = Batch(_AXES[axis], tuple(mask for mask, _ in groups))
        self.axis = axis

    def grid(self, base: Sequence[Extent]) -> tuple[Extent, Extent, Extent]:
        """The grid with all elements of the batch on its free axis."""
        sizes = [*base]
        sizes[self.axis] = product([size for levels in self.levels for size in levels])
        x, y, z = sizes
        return x, y, z

    def arguments(self, application: Application, buffers: _Buffers) -> list[Extent]:
        """What the kernel takes after its sizes: sizes of inner levels, then strides in bytes."""
        sizes = [product(levels) for levels in self.levels[1:]]
        references = application.arguments
        return [
            *sizes,
            *(
                buffers.stride(references[tensor], levels[-1].name)
                for levels, mask in zip(self.levels, self.batch.masks, strict=True)
                for tensor, mapped in enumerate(mask)
                if mapped
            ),
        ]


def _free_axis(application: Application, grid: Sequence[Extent]) -> int | None:
    """The axis of the grid that a batch takes: z or y, of one CTA, in clusters of one.

    A cooperative grid has none: with more elements the device might not hold all of its CTAs.
    """
    if application.cooperative:
        return None
    for axis in (2, 1):
        size = grid[axis]
        if isinstance(size, int) and size == 1 and application.cluster[axis] == 1:
            return axis
    return None
