"""One specialised call, ready to run: what a runtime takes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, Final

from pyptx import device
from pyptx._launch.description import Code, Description, Levels, TensorSpec
from pyptx._launch.layout import has_free_axis, lay_out, unfolded
from pyptx._launch.plan import Plan
from pyptx._recent import Recent
from pyptx._spec import Shape
from pyptx._target import Target
from pyptx.errors import SpecError

AUTO = "auto"
"""The `arch` of a kernel that is assembled for whatever it will run on."""

_LOWERINGS: Final = 64
"""Lists of targets that a call remembers itself for; a process lowers for one or two."""

BATCH_LIMIT: Final = min(device.GRID_LIMITS[1:])
"""CTAs that a grid has in y and in z: so many elements one launch can batch at most."""


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
    description: Description | None = field(kw_only=True, default=None, repr=False)
    """What the same call is made from for other levels and targets.

    None of a loaded call, and of one that `launched_for` made.
    """
    parts: bool = field(kw_only=True, default=False, repr=False)
    """Whether it is the `partial` call of another."""

    @cached_property
    def partial(self) -> Call | None:
        """The call for devices that hold parts of its sums: with outputs in the types to add in.

        None where these are the types of the outputs themselves.
        """
        found = self.description
        if self.parts or found is None or all(t.accumulate is None for t in found.outputs):
            return None
        return make_call(found, self.levels, partial=True)

    def lowered_for(self, targets: tuple[Target, ...]) -> Call:
        """The call that a program for these targets launches, made once for each list of them.

        Its steps, their code's emulated target (the first) and its scratch may differ from this
        one's; inputs and outputs are the same. Without targets, and where the call's `arch` is one
        target, it is this call.
        """
        description = self.description
        if self.arch != AUTO or not targets or description is None:
            return self
        found = self._lowered.get(targets)
        if found is None:
            other = make_call(description.retarget(targets), self.levels, partial=self.parts)
            found = self._lowered.keep(targets, other)
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

    def launched_for(self, input_shapes: Sequence[Sequence[Any]]) -> Call:
        """The call with only the steps that inputs of these shapes launch, and their code.

        A program of fixed shapes carries these: the other steps were skipped in each of its runs,
        and need not be assembled. Its identity differs from this call's, and it takes no levels.
        Where a size is symbolic it is this call.
        """
        shapes = [tuple(shape) for shape in input_shapes]
        if not all(isinstance(size, int) for shape in shapes for size in shape):
            return self
        results = (*self.output_shapes(shapes), *self.scratch_shapes(shapes))
        live = [step.launches(shapes, results) for step in self.plan.steps]
        if all(live):
            return self
        return replace(
            self,
            plan=replace(self.plan, steps=tuple(compress(self.plan.steps, live))),
            code=tuple(compress(self.code, live)),
            description=None,
        )

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
        assert self.description is not None, "a loaded call has no levels"
        levels = (tuple(mapped), *self.levels)
        return make_call(self.description, levels, partial=self.parts)

    def batchable(self, mapped: Sequence[bool], input_shapes: Sequence[Sequence[Any]]) -> bool:
        """Whether `batched(mapped)` can run; `input_shapes` have the new axis where it is mapped.

        False where a level needs an axis of the grid and none is free, and where a grid would be
        larger than a device takes; for sizes that are symbolic the launch finds that out.
        """
        levels = (tuple(mapped), *self.levels)
        found = self.description
        if found is None or (unfolded(found, levels) and not has_free_axis(found)):
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


def make_call(description: Description, levels: Levels = (), *, partial: bool = False) -> Call:
    """The call with these levels. Raises SpecError where a level finds no axis of the grid.

    A `partial` one gives parts of sums, in the types that these are added up in.
    """
    laid = lay_out(description, levels, partial=partial)
    return Call(
        name=description.name,
        arch=description.arch,
        plan=laid.plan,
        code=laid.code,
        inputs=laid.inputs,
        outputs=laid.outputs,
        scratch=laid.scratch,
        aliases=description.aliases,
        levels=levels,
        chosen=description.chosen,
        whole=laid.whole,
        description=description,
        parts=partial,
    )


def digest(*parts: str | bytes) -> str:
    """SHA-256 of the parts, each counted with its length, as hexadecimal text."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()
