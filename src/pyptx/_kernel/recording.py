"""The body of a sequence while it is traced: symbolic arrays, and the kernels applied to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeAlias, cast

from pyptx._binding import bind, check_dtypes
from pyptx._dims import Comparison, Extent, combine, minimum
from pyptx._expressions import names, parse
from pyptx._kernel.entry import Kernel
from pyptx._kernel.operation import Operation
from pyptx._launch.description import Application, Tensor
from pyptx._launch.layout import product
from pyptx._launch.plan import Argument, EarlierResult, InputAddress, InputValue, OutputAddress
from pyptx._runtime.recording import Recorder
from pyptx._source import SourceLocation, caller
from pyptx._spec import Scalar, Spec, Tile
from pyptx._target import Target
from pyptx.errors import CallError, SpecError
from pyptx.types import DType


class Name(str):
    """A run-time dimension in the shape of a symbolic array, or an expression of such."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


Dim: TypeAlias = "int | Name"
Branch: TypeAlias = "Callable[[], object]"
"""Records one of two operations."""
Bound: TypeAlias = "Mapping[str, Dim | tuple[Dim, ...]]"
"""What the dimensions of an operation are in a sequence; a starred one is several."""


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicArray:
    """An array of a sequence: only kernels can be applied to it.

    `shape` holds ints, and the name of each run-time dimension; a starred one is one entry. `sums`
    are the parallel dimensions that it is a sum over: each device has its part of that sum, and
    what is made of it is one too, until the sequence has ended. `accumulate` is the type of such
    parts, None where it is `dtype`. `written` is what the Tile of its kernel says of unwritten
    elements.
    """

    name: str
    shape: tuple[Dim, ...]
    dtype: DType
    reference: InputAddress | EarlierResult = field(repr=False)
    recording: Recording = field(repr=False)
    sums: frozenset[str] = field(default=frozenset(), repr=False)
    accumulate: DType | None = field(default=None, repr=False)
    written: str = field(default="", repr=False)

    def _no_value(self, *_: object, **__: object) -> NoReturn:
        raise CallError(
            f"{self.name} has no values while the sequence {self.recording.name} is traced; "
            "only kernels can be applied to it",
            location=caller(),
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_value
    __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __pow__ = __neg__ = _no_value
    __getitem__ = __iter__ = __bool__ = __float__ = __index__ = _no_value
    __lt__ = __le__ = __gt__ = __ge__ = __array__ = _no_value


@dataclass
class Recording(Recorder):
    """The kernels that a sequence has applied so far; `parallel` are the sequence's dimensions."""

    name: str
    by_reference: bool
    parallel: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    """What the sequence is traced for; none where nothing has named them."""
    steps: list[Application] = field(default_factory=list[Application])
    results: list[SymbolicArray] = field(default_factory=list[SymbolicArray])
    arch: str | None = None
    asked: bool = False
    """Whether the function has asked for the targets, so that its steps may depend on them."""
    _when: Extent | None = None
    """What has to be more than 0 for the steps that are recorded now; None for all cases."""
    _made: int = 0
    """Results so far, those of `cond` that stand for others included."""

    def apply(
        self,
        operation: Operation,
        arrays: Sequence[object],
        constants: Mapping[str, object],
        where: SourceLocation,
    ) -> SymbolicArray | tuple[SymbolicArray, ...]:
        """Record a kernel on arrays of this sequence. Raises CallError where they do not fit."""
        assert isinstance(operation, Kernel)
        kernel = operation
        self._check_kernel(kernel, where)
        given, bound = self.bind(kernel, arrays, constants, where)
        fixed = self.fixed(kernel, bound, where)
        self._check_sums(kernel, given, bound, where)
        self._check_aliases(kernel, given, where)
        results = self._results(kernel, given, bound)
        arguments = list(map(self._argument, given, kernel.in_specs))
        for source, target in kernel.aliases:
            arguments[source] = OutputAddress(results[target].reference.index)
        step = kernel._apply(  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            fixed,
            constants,
            self.targets,
            by_reference=self.by_reference,
            inputs=tuple(arguments),
            outputs=tuple(OutputAddress(result.reference.index) for result in results),
            dims={name: _extent(value) for name, value in bound.items()},
            when=self._when,
        )
        self.steps.append(step)
        return results[0] if len(results) == 1 else tuple(results)

    def cond(
        self,
        holds: Callable[[Mapping[str, Extent]], Comparison | bool],
        branches: tuple[Branch, Branch],
        first: Operation,
        arrays: Sequence[object],
        where: SourceLocation,
    ) -> object:
        """Record both branches, of which a call runs one; `holds` takes the dimensions of `first`.

        The results of the second are those of the first under other names. Raises CallError.
        """
        _, bound = self.bind(first, arrays, {}, where)
        found = holds({name: _extent(value) for name, value in bound.items()})
        yes, no = branches
        if isinstance(found, bool):
            return yes() if found else no()
        kept = self._branch(found.positive, yes, where)
        begin = len(self.steps)
        other = self._branch(combine("-", 1, found.positive), no, where)
        _check_alike(kept, other, where)
        same = {
            drop.reference.index: keep.reference.index
            for keep, drop in zip(kept, other, strict=True)
        }
        self.steps[begin:] = [renumbered(step, same) for step in self.steps[begin:]]
        self.results = [array for array in self.results if array not in other]
        return kept[0] if len(kept) == 1 else tuple(kept)

    def _branch(self, when: Extent, run: Branch, where: SourceLocation) -> list[SymbolicArray]:
        """The results of steps that are skipped unless `when` is more than 0. Raises CallError."""
        outer, begin = self._when, self._made
        self._when = when if outer is None else minimum(outer, when)
        try:
            found = run()
        finally:
            self._when = outer
        results = cast("tuple[SymbolicArray, ...]", found if isinstance(found, tuple) else (found,))
        for array in results:
            if isinstance(array.reference, InputAddress) or array.reference.index < begin:
                raise CallError(
                    f"an operation of cond returns {array.name}, which it was given",
                    location=where,
                    notes=(("help", "write a new array; the other operation does too"),),
                )
        return list(results)

    def bind(
        self,
        operation: Operation,
        arrays: Sequence[object],
        constants: Mapping[str, object],
        where: SourceLocation,
    ) -> tuple[list[SymbolicArray], Bound]:
        """The arrays as those of this sequence, and what the operation's dimensions are there."""
        names = operation.input_names
        given = [
            self._own(array, spec, operation.name, name, where)
            for array, spec, name in zip(arrays, operation.in_specs, names, strict=True)
        ]
        check_dtypes(operation.in_specs, [str(a.dtype.numpy) for a in given], names, where)
        shapes = cast("list[tuple[int, ...]]", [array.shape for array in given])
        keywords = operation._keyword_sizes(constants, where)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return given, cast("Bound", bind(operation.in_specs, shapes, names, where, keywords))

    def _check_kernel(self, kernel: Kernel, where: SourceLocation) -> None:
        if self.arch not in (None, kernel.arch):
            raise CallError(
                f"{kernel.name} is for {kernel.arch}, and the kernels before it in {self.name} are "
                f"for {self.arch}",
                location=where,
                notes=(("help", "give the kernels of a sequence one arch="),),
            )
        self.arch = kernel.arch

    def _own(
        self, array: object, spec: Spec, operation: str, name: str, where: SourceLocation
    ) -> SymbolicArray:
        """The array, which must be one of this sequence. Raises CallError."""
        if not isinstance(array, SymbolicArray):
            kind = f"{type(array).__module__}.{type(array).__qualname__}"
            raise CallError(
                f"{name} is a {kind.removeprefix('builtins.')}; in the sequence {self.name}, "
                f"{operation} takes the arrays of the sequence and results of its kernels",
                location=where,
                notes=(("help", "make it an input of the sequence, or a compile-time keyword"),),
            )
        if array.recording is not self:
            raise CallError(
                f"{name} is an array of the sequence {array.recording.name}, which has ended",
                location=where,
            )
        if isinstance(spec, Scalar) and isinstance(array.reference, EarlierResult):
            raise CallError(
                f"{name} is a result, and a {spec!r} is an input of the sequence",
                location=where,
                notes=(("help", f"load it from a tensor: {Tile(spec.dtype)!r}"),),
            )
        return array

    def fixed(self, operation: Operation, bound: Bound, where: SourceLocation) -> dict[str, int]:
        """The sizes of the dimensions that are not run-time values there. Raises CallError."""
        fixed: dict[str, int] = {}
        for name, size in bound.items():
            if name in operation.parallel:
                continue
            if isinstance(size, int):
                if name not in operation.dynamic:
                    fixed[name] = size
                continue
            here = self._parallel_in(size)
            if name in operation.dynamic and not here:
                continue
            kind = "parallel" if here else "dynamic"
            known = operation.parallel if here else operation.dynamic
            wanted = tuple(dict.fromkeys((*known, name)))
            of = kind if str(size).isidentifier() else "computed"
            does = (
                f"and {operation.name} has it as dynamic: its indices may depend on each other"
                if name in operation.dynamic
                else "which has no size before the launch"
            )
            raise CallError(
                f'the dimension "{name}" of {operation.name} is the {of} dimension "{size}" of '
                f"{self.name}, {does}",
                location=where,
                notes=(("help", f"declare {kind}={wanted!r} there too"),),
            )
        return fixed

    def _parallel_in(self, size: Dim | tuple[Dim, ...]) -> frozenset[str]:
        """The parallel dimensions of the sequence that a size is made of."""
        texts = size if isinstance(size, tuple) else (size,)
        every = (name for each in texts if isinstance(each, Name) for name in names(each))
        return frozenset(every) & frozenset(self.parallel)

    def _check_aliases(
        self, kernel: Kernel, given: Sequence[SymbolicArray], where: SourceLocation
    ) -> None:
        """A step may write in place what an earlier step has made. Raises CallError for others."""
        for source, _ in kernel.aliases:
            array, name = given[source], kernel.input_names[source]
            if not isinstance(array.reference, EarlierResult):
                raise CallError(
                    f"{kernel.name} writes {name} in place, and {array.name} is an input of the "
                    f"sequence {self.name}",
                    location=where,
                    notes=(("help", "copy it by a kernel of the sequence first"),),
                )

    def _check_sums(
        self,
        kernel: Kernel,
        given: Sequence[SymbolicArray],
        bound: Bound,
        where: SourceLocation,
    ) -> None:
        """A sum over a parallel dimension is complete only behind the sequence.

        A kernel that only adds up further, over the same dimension, may take the sum of a part.
        """
        added = [self._names(bound[dim] for dim in spec.sum_over) for spec in kernel.out_specs]
        there = self._names(bound.values()) - frozenset[str].intersection(*added)
        for array, name in zip(given, kernel.input_names, strict=True):
            for dim in sorted(array.sums & there):
                raise CallError(
                    f'{name} of {kernel.name} is {array.name}, a sum over "{dim}", and '
                    f'{kernel.name} works on "{dim}" as well: split over devices, it would see a '
                    "part of the sum",
                    location=where,
                    notes=(("help", f"end the sequence with {array.name}, and start another"),),
                )

    def _results(
        self, kernel: Kernel, given: Sequence[SymbolicArray], bound: Bound
    ) -> list[SymbolicArray]:
        made: list[SymbolicArray] = []
        carried = frozenset[str]().union(*(array.sums for array in given))
        sources = {target: source for source, target in kernel.aliases}
        for name, spec in zip(kernel.output_names, kernel.out_specs, strict=True):
            shape = shape_of(spec, bound)
            source = sources.get(len(made))
            if source is not None:  # in place
                made.append(given[source])
                continue
            reference = EarlierResult(self._made)
            self._made += 1
            sums = carried | self._names(bound[dim] for dim in spec.sum_over)
            made.append(
                SymbolicArray(
                    name, shape, spec.dtype, reference, self, sums, spec.accumulate, spec.written
                )
            )
            self.results.append(made[-1])
        return made

    def _names(self, dims: Iterable[Dim | tuple[Dim, ...]]) -> frozenset[str]:
        """The parallel dimensions among them."""
        return frozenset[str]().union(*map(self._parallel_in, dims))

    def _argument(self, array: SymbolicArray, spec: Spec) -> Argument:
        if isinstance(spec, Scalar) and not self.by_reference:
            return InputValue(array.reference.index)
        return array.reference

    def accumulated(
        self, parts: Iterable[SymbolicArray], where: SourceLocation
    ) -> frozenset[SymbolicArray]:
        """The arrays of another type where kernels write `parts` of sums: all that these write.

        Raises SpecError where a kernel reads one.
        """
        wanted = {array.reference.index for array in parts}
        written = {
            output.index
            for step in self.steps
            if any(output.index in wanted for output in step.outputs)
            for output in step.outputs
        }
        found = [a for a in self.results if a.reference.index in written and a.accumulate]
        for step in self.steps:
            read = {a.index for a in step.inputs if isinstance(a, EarlierResult | OutputAddress)}
            for array in found:
                if array.reference.index in read:
                    raise SpecError(
                        f"{array.name} is accumulated in {array.accumulate!r} across devices, and "
                        f"{step.name} reads it as {array.dtype!r} before that",
                        location=where,
                        notes=(("help", f"apply {step.name} outside of the sequence"),),
                    )
        return frozenset(found)

    def tensor(
        self,
        array: SymbolicArray,
        sums: tuple[str, ...] = (),
        accumulated: Set[SymbolicArray] = frozenset(),
    ) -> Tensor:
        """The buffer of an array; `accumulated` are those whose type is another in parts."""
        accumulate = array.accumulate if array in accumulated else None
        return Tensor(array.name, array.dtype, tuple(map(_dim, array.shape)), sums, accumulate)


def accepts(operation: Operation, arrays: Sequence[object], where: SourceLocation) -> None:
    """Raises SpecError or CallError where it cannot be called on so many arrays."""
    operation._needs_specs("called", where)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    operation._arrays(arrays, where)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def renumbered(step: Application, order: Mapping[int, int]) -> Application:
    """The step with other numbers for the results that `order` has."""

    def argument(old: Argument) -> Argument:
        if isinstance(old, EarlierResult | OutputAddress):  # the latter is updated in place
            return type(old)(order.get(old.index, old.index))
        return old

    outputs = tuple(OutputAddress(order.get(old.index, old.index)) for old in step.outputs)
    return replace(step, inputs=tuple(map(argument, step.inputs)), outputs=outputs)


def _check_alike(
    kept: Sequence[SymbolicArray], other: Sequence[SymbolicArray], where: SourceLocation
) -> None:
    """Raises CallError unless both branches give arrays of the same kinds."""
    first, second = (
        [(a.shape, a.dtype, sorted(a.sums), a.accumulate) for a in arrays]
        for arrays in (kept, other)
    )
    if first != second:
        names = [", ".join(map(_described, arrays)) for arrays in (kept, other)]
        raise CallError(
            f"the operations of cond give different results: {names[0]}, and {names[1]}",
            location=where,
            notes=(("legal", "equal shapes, types, sum_over= and accumulate="),),
        )


def _described(array: SymbolicArray) -> str:
    sums = "".join(f', sum_over="{dim}"' for dim in sorted(array.sums))
    accumulate = f", accumulate={array.accumulate!r}" if array.accumulate else ""
    return f"{array.name} {array.shape} of {array.dtype!r}{sums}{accumulate}"


def shape_of(spec: Spec, bound: Bound) -> tuple[Dim, ...]:
    """The shape of a Tile where its dimensions are these."""
    return cast("tuple[Dim, ...]", spec.shape(cast("Mapping[str, Any]", bound)))


def _dim(dim: Dim) -> Extent:
    return dim if isinstance(dim, int) else parse(dim)


def _extent(value: Dim | tuple[Dim, ...]) -> Extent:
    """A dimension of a kernel in terms of those of the sequence."""
    return product([_dim(dim) for dim in (value if isinstance(value, tuple) else (value,))])
