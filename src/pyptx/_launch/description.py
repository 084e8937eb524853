"""A call as kernels and sequences describe it: kernels applied to tensors, without levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pyptx import _expressions as expressions
from pyptx._assemble import Cubin
from pyptx._dims import Extent
from pyptx._launch.plan import Argument, Bytes, OutputAddress, Triple
from pyptx._layouts import TensorMap
from pyptx._spec import Shape, Spec
from pyptx._target import Target
from pyptx._trace.core.batch import Batch
from pyptx.types import DType

Axes: TypeAlias = tuple[int | str, ...]
Levels: TypeAlias = tuple[tuple[bool, ...], ...]
"""For each level of `jax.vmap`, outermost first, which inputs have its axis."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A buffer of a call: for each axis its size, or the name of the factor that it belongs to.

    Factors are the axes that a call treats each index of on its own: "B" is the axis of a parallel
    dimension, "B.0" and "B.1" are those of a starred one, "vmap.0" is the axis of the outermost
    level. Their sizes are known at run time. So are those of dynamic dimensions, "N", and of
    expressions over such, "(N // 2)", which are no factors: the call has them in `whole`.
    `sums` names the factors that an output is a sum over. `dtype` is NumPy's name of the type.
    """

    name: str
    dtype: str
    axes: Axes
    sums: tuple[str, ...] = ()

    def shape(self, sizes: Mapping[str, int]) -> Shape:
        """The shape where the factors have these sizes."""
        return tuple(expressions.axis_size(axis, sizes) for axis in self.axes)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a call without levels; a dimension is a size or one that has none yet.

    `accumulate` is its type where it holds one device's part of a sum, None where that is `dtype`.
    """

    name: str
    dtype: DType
    dims: tuple[Extent, ...]
    sums: tuple[str, ...] = ()
    accumulate: DType | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """An integer that a kernel takes: what its dimensions make of it, in so many bits."""

    extent: Callable[[Mapping[str, Extent]], Extent]
    bits: int = 64


@dataclass(frozen=True, slots=True)
class Code:
    """The code of one step, made when it is asked for.

    `digest` identifies everything that `cubin` and `image` are made from: the PTX (of the call's
    first target where its `arch` is "auto") and the assembler's options, but no Python lines.
    `shared` is its dynamic shared memory in bytes, `maps` are its tensor maps, each with the number
    of the tensor among its parameters. `widths` gives the widest access in bytes of each tensor; a
    loaded call has none.
    """

    digest: str
    cubin: Callable[[Target], Cubin] = field(compare=False, repr=False)
    """The kernel assembled for a target. Raises AssembleError."""
    image: Callable[[], bytes] = field(compare=False, repr=False)
    """The emulator's program image (docs/architecture.md). Raises EmulationError."""
    shared: int = field(default=0, compare=False)
    maps: tuple[tuple[int, TensorMap], ...] = field(default=(), compare=False)
    widths: Callable[[], tuple[int, ...]] = field(default=tuple, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Application:
    """A kernel with its fixed sizes and compile-time values, applied to tensors of the call.

    `dims` says what the kernel's dimensions are there; `grid` gives the sizes of the grid from
    them. `code` traces the kernel, for a batch or without one, and for parts of sums or for all of
    them. `parallel` are the dimensions whose size is known at the launch, `tensors` the names of
    the kernel's tensors. `takes` is what the kernel takes, in its order: the number of one of its
    tensors, outputs after inputs, an integer, or bytes; its tensor maps follow. `shared` is its
    dynamic shared memory in bytes, where that is not its code's. With `when` the kernel is applied
    only where that is more than 0, in each element of a batch alike.
    """

    name: str
    tensors: tuple[str, ...]
    in_specs: tuple[Spec, ...]
    out_specs: tuple[Spec, ...]
    parallel: tuple[str, ...]
    grid: Callable[[Mapping[str, Extent]], tuple[Extent, Extent, Extent]]
    block: Triple
    cluster: Triple
    code: Callable[[Batch | None, bool], Code]
    takes: tuple[int | Number | Bytes, ...]
    shared: Callable[[Mapping[str, Extent]], Extent] | None
    cooperative: bool
    programmatic_stream_serialization: bool
    inputs: tuple[Argument, ...]
    outputs: tuple[OutputAddress, ...]
    dims: Mapping[str, Extent]
    when: Extent | None = None

    @property
    def specs(self) -> tuple[Spec, ...]:
        """Those of all tensors, outputs after inputs."""
        return (*self.in_specs, *self.out_specs)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The tensors of the call that it is applied to."""
        return (*self.inputs, *self.outputs)


@dataclass(frozen=True, slots=True)
class Description:
    """A call without levels. `stars` has the number of axes of each starred dimension.

    `dynamic` are the dimensions that are known at the launch and not parallel. `retarget` describes
    the same call for other targets; `chosen` is the Call's.
    """

    name: str
    arch: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    steps: tuple[Application, ...]
    scratch: tuple[Tensor, ...] = ()
    stars: Mapping[str, int] | None = None
    aliases: tuple[tuple[int, int], ...] = ()
    chosen: str = ""
    dynamic: tuple[str, ...] = ()
    retarget: Callable[[tuple[Target, ...]], Description] = field(kw_only=True)
