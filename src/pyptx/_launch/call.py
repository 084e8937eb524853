"""One specialised call, ready to run: what a runtime takes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

from pyptx import _expressions as expressions
from pyptx import device
from pyptx._assemble import Cubin
from pyptx._launch.plan import Plan
from pyptx._recent import Recent
from pyptx._spec import Shape
from pyptx._target import Target
from pyptx.errors import SpecError

AUTO = "auto"
"""The `arch` of a kernel that is assembled for whatever it will run on."""

Axes: TypeAlias = tuple[int | str, ...]
Levels: TypeAlias = tuple[tuple[bool, ...], ...]
"""For each level of `jax.vmap`, outermost first, which inputs have its axis."""

_LOWERINGS: Final = 64
"""Lists of targets that a call remembers itself for; a process lowers for one or two."""

BATCH_LIMIT: Final = min(device.GRID_LIMITS[1:])
"""CTAs that a grid has in y and in z: so many elements one launch can batch at most."""


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
class Code:
    """The code of one step, made when it is asked for.

    `digest` stands for everything that `cubin` and `image` are made from: the PTX (of the call's
    first target where its `arch` is "auto") and the assembler's options, but no Python lines.
    """

    digest: str
    cubin: Callable[[Target], Cubin] = field(compare=False, repr=False)
    """The kernel assembled for a target. Raises AssembleError."""
    image: Callable[[], bytes] = field(compare=False, repr=False)
    """The emulator's program image (docs/architecture.md). Raises EmulationError."""


@dataclass(frozen=True, eq=False)
class Call:
    """Launches in order on the buffers of one call, comparable and hashable by content.

    Nothing in it depends on the size of a parallel dimension or of a level, so one call serves
    every batch size, every shard and every width of `jax.vmap`. Two calls that compare equal give
    the same code for every target, so JAX's caches share their programs. The providers in `code`
    serve lowering in the process that traced the kernels, and never a run: a compiled program
    carries their results.

    whole    axes with a size that is known at run time and that are no factors
    plan     what is launched; its line for step i goes with `code[i]`
    inputs   the tensors of the call
    outputs  the results
    scratch  further results that only later steps read, in the plan after the outputs
    aliases  (input, output) pairs that share memory
    levels   which inputs have the axis of each level of `jax.vmap`
    chosen   what tells calls apart whose steps depend on the targets (`lowered_for`), empty for
             others: such calls may have the same steps for one target and others for the next
    """

    name: str
    arch: str
    plan: Plan
    code: tuple[Code, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    scratch: tuple[TensorSpec, ...] = ()
    aliases: tuple[tuple[int, int], ...] = ()
    levels: Levels = ()
    chosen: str = ""
    whole: tuple[str, ...] = ()
    relevel: Callable[[Levels], Call] = field(kw_only=True, repr=False)
    """The same call with other levels. Raises SpecError where they need an axis that is taken."""
    unfolded: Callable[[Levels], int] = field(kw_only=True, repr=False)
    """How many of the levels, outermost first, need an axis of the grid in one step or another."""
    free_axis: bool = field(kw_only=True)
    """Whether the grid of every step has an axis that can batch."""
    retarget: Callable[[tuple[Target, ...]], Call] = field(kw_only=True, repr=False)
    """`lowered_for`. Raises the errors of the language, as it traces kernels."""
    make_partial: Callable[[], Call] | None = field(kw_only=True, default=None, repr=False)
    """`partial` where there is one. Raises the errors of the language, as it traces kernels."""

    @cached_property
    def partial(self) -> Call | None:
        """The call for devices that hold parts of its sums: with outputs in the types to add in.

        None where these are the types of the outputs themselves.
        """
        return self.make_partial() if self.make_partial is not None else None

    def lowered_for(self, targets: tuple[Target, ...]) -> Call:
        """The call that a program for these targets launches, made once for each list of them.

        Its steps, their code's emulated target (the first) and its scratch may differ from this
        one's; inputs and outputs are the same. Without targets, and where the call's `arch` is one
        target, it is this call.
        """
        if self.arch != AUTO or not targets:
            return self
        found = self._lowered.get(targets)
        if found is None:
            found = self._lowered.keep(targets, self.retarget(targets))
        return found

    @cached_property
    def _lowered(self) -> Recent[Call]:
        return Recent(_LOWERINGS)

    @cached_property
    def identity(self) -> str:
        """A SHA-256 of all that the call does, the same in every process."""
        parts = (self.plan, self.inputs, self.outputs, self.scratch, self.aliases, self.levels)
        parts = (*parts, self.whole) if self.whole else parts
        codes = (code.digest for code in self.code)
        partial = (self.partial.identity,) if self.partial is not None else ()
        return digest(self.name, self.arch, self.chosen, *codes, *map(str, parts), *partial)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Call) and self.identity == other.identity)

    def __hash__(self) -> int:
        return hash(self.identity)

    def output_shapes(self, input_shapes: Sequence[Sequence[Any]]) -> tuple[Shape, ...]:
        """The shapes of the outputs for inputs of these shapes; symbolic sizes too."""
        sizes = self._sizes(input_shapes)
        return tuple(output.shape(sizes) for output in self.outputs)

    def scratch_shapes(self, input_shapes: Sequence[Sequence[Any]]) -> tuple[Shape, ...]:
        """The shapes of the scratch buffers for inputs of these shapes."""
        sizes = self._sizes(input_shapes)
        return tuple(scratch.shape(sizes) for scratch in self.scratch)

    def _sizes(self, input_shapes: Sequence[Sequence[Any]]) -> dict[str, int]:
        return {
            axis: size
            for tensor, shape in zip(self.inputs, input_shapes, strict=True)
            for axis, size in zip(tensor.axes, shape, strict=True)
            if isinstance(axis, str)
        }

    def batched(self, mapped: Sequence[bool]) -> Call:
        """The call with one more level outside of the others.

        Inputs that are `mapped` have one more axis, in front of all others, and so do all outputs.
        An input that shares its memory with an output must be mapped. Raises SpecError where the
        level needs a free axis of the grid and there is none; `batchable` says so before.
        """
        for source, _ in self.aliases:
            if not mapped[source]:
                raise ValueError(f"{self.inputs[source].name} shares an output's memory: map it")
        return self.relevel((tuple(mapped), *self.levels))

    def batchable(self, mapped: Sequence[bool], input_shapes: Sequence[Sequence[Any]]) -> bool:
        """Whether `batched(mapped)` can run; `input_shapes` have the new axis where it is mapped.

        False where a level needs an axis of the grid and none is free, and where a grid would be
        larger than a device takes; for sizes that are symbolic the launch finds that out.
        """
        levels = (tuple(mapped), *self.levels)
        if self.unfolded(levels) and not self.free_axis:
            return False
        shapes = [tuple(shape) for shape in input_shapes]
        try:
            call = self.batched(mapped)
            results = (*call.output_shapes(shapes), *call.scratch_shapes(shapes))
            if all(isinstance(size, int) for shape in (*shapes, *results) for size in shape):
                call.plan.evaluate(shapes, results)
        except SpecError:
            return False
        return True

    def batch_width(self, mapped: Sequence[bool], input_shapes: Sequence[Sequence[Any]]) -> int:
        """How many elements of a level one launch takes, where it cannot take all of them."""
        width = BATCH_LIMIT
        while width > 1:
            shapes = [
                (width, *s[1:]) if m else s for m, s in zip(mapped, input_shapes, strict=True)
            ]
            if self.batchable(mapped, shapes):
                break
            width //= 2
        return width


def digest(*parts: str | bytes) -> str:
    """SHA-256 of the parts, each counted with its length, as hexadecimal text."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()
