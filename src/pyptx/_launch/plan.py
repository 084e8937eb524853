"""What a call launches, as plain data: names, sizes as expressions, where arguments come from.

A plan names the buffers of a call by position: input 0 is `a0`, result 1 is `r1`, and dimension 2
of input 0 is `a0.2`. Expressions are reverse Polish over those and 64-bit integers: `a0.0 4 cdiv`.
The native handlers evaluate a plan from the buffers of each call, so that a program whose shapes
change after it was lowered (partitioning, symbolic export) launches what those shapes need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pyptx import device
from pyptx._dims import OPERATORS, apply
from pyptx._layouts import MapError, TensorMap
from pyptx._spec import Shape, advice
from pyptx._target import Target
from pyptx.device import BLOCK_LIMITS, CLUSTER_LIMIT, CTA_THREADS, GRID_LIMITS, Triple
from pyptx.errors import SpecError

INT_MAX: Final = 2**31 - 1
"""The most bytes that a launch's argument holds."""


@dataclass(frozen=True, slots=True)
class InputAddress:
    """The address of an input's first element."""

    index: int

    def __str__(self) -> str:
        return f"a{self.index}"


@dataclass(frozen=True, slots=True)
class OutputAddress:
    """The address of an output's first element."""

    index: int

    def __str__(self) -> str:
        return f"r{self.index}"


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """The address of a result that an earlier step wrote and this one only reads."""

    index: int

    def __str__(self) -> str:
        return f"e{self.index}"


@dataclass(frozen=True, slots=True)
class InputValue:
    """The value of a scalar input, copied into the launch."""

    index: int

    def __str__(self) -> str:
        return f"v{self.index}"


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer of 8, 16, 32 or 64 bits, as an expression over dimensions."""

    expression: str
    bits: int = 64

    def __str__(self) -> str:
        return f"i{self.bits}:{self.expression}"

    def evaluate(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Integer:
        """Its value for buffers of these shapes. Raises SpecError where the bits do not hold it."""
        value = evaluate(self.expression, inputs, outputs)
        if not -(1 << self.bits - 1) <= value < 1 << self.bits:
            raise SpecError(f"an integer argument of {self.bits} bits is {value}")
        return Integer(str(value), self.bits)

    @property
    def value(self) -> bytes:
        """The bytes of an evaluated one."""
        return (int(self.expression) % (1 << self.bits)).to_bytes(self.bits // 8, "little")


Address: TypeAlias = InputAddress | OutputAddress | EarlierResult


@dataclass(frozen=True, slots=True)
class MapArgument:
    """A tensor map, encoded at each launch from a buffer's address and these expressions.

    `sizes` are those of the axes, `strides` the bytes from one index to the next of all axes but
    the last. `name` is the tensor's.
    """

    buffer: Address
    name: str
    map: TensorMap
    sizes: tuple[str, ...]
    strides: tuple[str, ...]

    def __str__(self) -> str:
        described = self.map
        fields = (
            self.buffer,
            self.name,
            described.dtype,
            "|".join(self.sizes),
            "|".join(self.strides),
            "|".join(map(str, described.box)),
            "|".join(map(str, described.element_strides)),
            described.layout.interleave.value,
            described.layout.driver_swizzle,
            described.l2_promotion.value,
            described.oob_fill.value,
            *("|".join(map(str, corner)) for corner in described.corners),
        )
        return f"map:{':'.join(map(str, fields))}"

    def evaluate(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> MapArgument:
        """The same for buffers of these shapes. Raises SpecError for a rule that is broken."""
        sizes, strides = (
            [evaluate(text, inputs, outputs) for text in texts]
            for texts in (self.sizes, self.strides)
        )
        try:
            self.map.check_tensor(sizes, strides)
        except MapError as error:
            problem = f"the tensor map of {self.name}: {error.problem}"
            raise SpecError(problem, notes=advice(error)) from None
        return MapArgument(
            self.buffer, self.name, self.map, tuple(map(str, sizes)), tuple(map(str, strides))
        )


@dataclass(frozen=True, slots=True)
class Bytes:
    """A value that is known before the launch, at a multiple of `align` bytes."""

    data: bytes
    align: int

    def __str__(self) -> str:
        return f"b{self.align}:{self.data.hex()}"


Argument: TypeAlias = Address | InputValue | Integer | Bytes | MapArgument
PlanShape: TypeAlias = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """An evaluated step: what goes to the driver or the emulator.

    `zeros` are the positions of results to fill with zeros instead, where the grid is empty;
    `complete` and `init` are those of the step. Of a step that is `skipped`, nothing is left to do.
    """

    kernel: str
    grid: Triple
    block: Triple
    cluster: Triple
    shared: int
    arguments: tuple[Argument, ...]
    zeros: tuple[int, ...] = ()
    complete: tuple[int, ...] = ()
    init: tuple[tuple[int, bytes], ...] = ()
    skipped: bool = False
    cooperative: bool = False
    programmatic_stream_serialization: bool = False

    @property
    def empty(self) -> bool:
        """A grid with a zero launches nothing."""
        return 0 in self.grid

    def __str__(self) -> str:
        if self.skipped:
            return f"kernel={self.kernel};skipped=1"
        return (
            f"kernel={self.kernel};grid={_commas(self.grid)};block={_commas(self.block)};"
            f"cluster={_commas(self.cluster)};shared={self.shared};"
            f"params={_commas(self.arguments)}{_results_text(self)}"
        )


@dataclass(frozen=True, slots=True)
class Step:
    """How to launch one kernel of a call.

    `grid` and `shared` (dynamic bytes) are expressions, `block` and `cluster` sizes. `zeros` are
    the positions of the results that an empty grid leaves as zeros: sums over nothing. `complete`
    are those of the results of which the kernel writes every element; a grid may be empty only
    where these are zeros or have no elements. `init` says what every element of a result is before
    the kernel starts: its bytes, 1, 2, 4 or 8.
    `cooperative` and `programmatic_stream_serialization` are CUDA's launch attributes of those
    names. With `when`, an expression, the step is skipped unless that is more than 0.
    """

    kernel: str
    grid: tuple[str, str, str]
    block: Triple
    arguments: tuple[Argument, ...]
    cluster: Triple = (1, 1, 1)
    shared: str = "0"
    zeros: tuple[int, ...] = ()
    complete: tuple[int, ...] = ()
    init: tuple[tuple[int, bytes], ...] = ()
    cooperative: bool = False
    programmatic_stream_serialization: bool = False
    when: str | None = None

    def __str__(self) -> str:
        attributes = ("cooperative", "programmatic_stream_serialization")
        return (
            f"kernel={self.kernel};grid={_commas(self.grid)};block={_commas(self.block)};"
            f"cluster={_commas(self.cluster)};shared={self.shared};"
            f"params={_commas(self.arguments)}{_results_text(self)}"
            + "".join(f";{name}=1" for name in attributes if getattr(self, name))
            + (f";when={self.when}" if self.when is not None else "")
        )

    def launches(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> bool:
        """Whether the step is not skipped for buffers of these shapes."""
        return self.when is None or evaluate(self.when, inputs, outputs) > 0

    def evaluate(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Launch:
        """The launch for buffers of these shapes. Raises SpecError where something does not fit."""
        if not self.launches(inputs, outputs):
            return Launch(self.kernel, (0, 0, 0), self.block, self.cluster, 0, (), skipped=True)
        x, y, z = (evaluate(text, inputs, outputs) for text in self.grid)
        check_grid((x, y, z), self.cluster)
        shared = evaluate(self.shared, inputs, outputs)
        if not 0 <= shared <= INT_MAX:
            raise SpecError(f"the dynamic shared memory is {shared} bytes")
        empty = 0 in (x, y, z)
        if empty:
            self._check_empty((x, y, z), outputs)
        arguments = tuple(
            _evaluated(argument, inputs, outputs, empty=empty) for argument in self.arguments
        )
        return Launch(
            self.kernel,
            (x, y, z),
            self.block,
            self.cluster,
            shared,
            arguments,
            self.zeros,
            self.complete,
            self.init,
            cooperative=self.cooperative,
            programmatic_stream_serialization=self.programmatic_stream_serialization,
        )

    def _check_empty(self, grid: Triple, outputs: Sequence[Shape]) -> None:
        """An empty grid writes nothing, so what it would write all of must have no elements."""
        for index in self.complete:
            if index not in self.zeros and 0 not in outputs[index]:
                raise SpecError(
                    f"the grid {grid} launches nothing, and output {index} of shape "
                    f"{tuple(outputs[index])} would never be written",
                    notes=(
                        ("help", "Tile(..., init=0) in out_specs gives every element that value"),
                    ),
                )


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one call, in order, and the shapes of its buffers.

    A None in a shape is a dimension known at run time; the others are what the kernels were
    compiled for and are compared with the buffers before each call. The last `outputs` are scratch,
    where a call has some. `str(plan)` is what compiled programs carry: a line of shapes, then a
    line for each step.
    """

    inputs: tuple[PlanShape, ...]
    outputs: tuple[PlanShape, ...]
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        shapes = (
            f"inputs={_commas(map(_shape_text, self.inputs))};"
            f"outputs={_commas(map(_shape_text, self.outputs))}"
        )
        return "\n".join((shapes, *map(str, self.steps)))

    @property
    def strides(self) -> tuple[tuple[str, int], ...]:
        """The strides of all tensor maps, as expressions, each with what it is a multiple of."""
        maps = (a for step in self.steps for a in step.arguments if isinstance(a, MapArgument))
        found = ((stride, each.map.stride_unit) for each in maps for stride in each.strides)
        return tuple(dict.fromkeys(found))

    def evaluate(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> tuple[Launch, ...]:
        """The launches for buffers of these shapes. Raises SpecError for what does not fit."""
        _check_shapes("input", self.inputs, inputs)
        _check_shapes("output", self.outputs, outputs)
        return tuple(step.evaluate(inputs, outputs) for step in self.steps)


def sizes_of(expression: str) -> Iterator[tuple[str, int, int]]:
    """The dimensions that an expression reads: "a" or "r", input or output, its index, its axis."""
    return (_size(token) for token in expression.split(" ") if token[0] in "ar")


def _size(token: str) -> tuple[str, int, int]:
    index, _, axis = token[1:].partition(".")
    return token[0], int(index), int(axis)


def evaluate(expression: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    """The value of a reverse Polish expression over the dimensions of these buffers."""
    stack: list[int] = []
    for token in expression.split(" "):
        if token in OPERATORS:
            right = stack.pop()
            stack.append(apply(token, stack.pop(), right))
        elif token[0] in "ar":
            kind, index, axis = _size(token)
            stack.append((inputs if kind == "a" else outputs)[index][axis])
        else:
            stack.append(int(token))
    (value,) = stack
    return value


def _evaluated(
    argument: Argument, inputs: Sequence[Shape], outputs: Sequence[Shape], *, empty: bool
) -> Argument:
    match argument:
        case Integer():
            return argument.evaluate(inputs, outputs)
        case MapArgument() if not empty:  # the tensors of an empty grid may be empty too
            return argument.evaluate(inputs, outputs)
        case _:
            return argument


def _commas(values: Iterable[object]) -> str:
    return ",".join(map(str, values))


def _results_text(step: Launch | Step) -> str:
    """What is said of results beyond their addresses."""
    fields = {
        "zeros": [f"r{index}" for index in step.zeros],
        "complete": [f"r{index}" for index in step.complete],
        "init": [f"r{index}:{value.hex()}" for index, value in step.init],
    }
    return "".join(f";{name}={_commas(values)}" for name, values in fields.items() if values)


def _shape_text(shape: PlanShape) -> str:
    return f"[{' '.join('?' if size is None else str(size) for size in shape)}]"


def _check_shapes(what: str, expected: Sequence[PlanShape], shapes: Sequence[Shape]) -> None:
    if len(shapes) != len(expected):
        raise SpecError(f"it takes {len(expected)} {what}s and got {len(shapes)}")
    for i, (want, got) in enumerate(zip(expected, shapes, strict=True)):
        same = len(want) == len(got) and all(w in (None, g) for w, g in zip(want, got, strict=True))
        if not same:
            text = str(tuple("?" if size is None else size for size in want)).replace("'", "")
            problem = f"{what} {i} has shape {tuple(got)}; the kernel was made for {text}"
            raise SpecError(problem)


def check_grid(grid: Triple, cluster: Triple) -> None:
    """Raises SpecError for a grid that no device takes, or that clusters do not divide."""
    for axis, size, limit, step in zip("xyz", grid, GRID_LIMITS, cluster, strict=True):
        if not 0 <= size <= limit:
            raise SpecError(f"grid dimension {axis} is {size}; the range is 0 to {limit}")
        if size % step:
            raise SpecError(
                f"grid dimension {axis} is {size}, not a multiple of the cluster's {step}"
            )


def check_resident(grid: Triple, block: Triple, shared: int, target: Target) -> None:
    """Raises SpecError for a cooperative grid that no device that runs this target holds.

    `shared` are bytes for each CTA. Registers, which the assembler chooses, can make it less: then
    the launch fails.
    """
    most = max(
        each.largest * each.resident_ctas(math.prod(block), shared)
        for each in device.that_run(target)
    )
    if math.prod(grid) > most:
        raise SpecError(
            f"the cooperative grid {grid} has {math.prod(grid)} CTAs, and no device that runs "
            f"{target} holds more than {most} at once, each of "
            f"{math.prod(block)} threads and {shared} bytes of shared memory",
            notes=(("help", "a grid of one CTA for each SM fits; let each do more of the work"),),
        )


def check_block(block: Triple) -> None:
    """Raises SpecError for a CTA that no device takes."""
    for axis, size, limit in zip("xyz", block, BLOCK_LIMITS, strict=True):
        if not 1 <= size <= limit:
            raise SpecError(f"block dimension {axis} is {size}; the range is 1 to {limit}")
    threads = block[0] * block[1] * block[2]
    if threads > CTA_THREADS:
        raise SpecError(f"block {block} has {threads} threads; a CTA has at most {CTA_THREADS}")


def check_cluster(cluster: Triple) -> None:
    """Raises SpecError for a cluster that no device takes."""
    size = cluster[0] * cluster[1] * cluster[2]
    if min(cluster) < 1 or size > CLUSTER_LIMIT:
        raise SpecError(
            f"cluster {cluster} has {size} CTAs; a cluster has 1 to {CLUSTER_LIMIT}, "
            "and more than 8 only where the device allows it"
        )
