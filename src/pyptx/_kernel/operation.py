"""What kernels and sequences of kernels have in common: they are called on arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import update_wrapper
from types import MappingProxyType
from typing import Any, Self, TypeAlias, cast

from pyptx import _emulator as emulator
from pyptx import _runtime as runtime
from pyptx._binding import ARRAY_CONVERSION, bind, check_dtypes, size_at_call
from pyptx._dims import Extent, Symbol
from pyptx._kernel import emulation
from pyptx._kernel.captured import Captured
from pyptx._kernel.signature import check_constants, exact
from pyptx._launch.call import Call, make_call
from pyptx._launch.description import Description
from pyptx._recent import CALLS, SPECIALISATIONS, Recent
from pyptx._runtime import dynamo
from pyptx._runtime.recording import Recorder, refuse
from pyptx._runtime.shortcut import MISSED, Shortcut
from pyptx._source import SourceLocation, caller
from pyptx._spec import Scalar, Shape, Size, Spec, Tile, size_of
from pyptx._target import Target
from pyptx._trace.core.context import refuse_in_kernel
from pyptx._trace.core.values import integer
from pyptx._tracebacks import boundary, shortened
from pyptx.errors import CallError, PtxError

Targets: TypeAlias = tuple[Target, ...]


class Operation:
    """What is called on arrays: its specs, and the calls that were prepared."""

    def __init__(
        self,
        function: Callable[..., object] | None,
        name: str,
        *,
        in_specs: Sequence[Spec],
        out_specs: Sequence[Tile],
        parameters: Sequence[str],
        constants: Mapping[str, object],
        parallel: Sequence[str],
        dynamic: Sequence[str],
        location: SourceLocation,
    ) -> None:
        if function is not None:
            update_wrapper(self, function)
        self._function = function
        self._name = name
        self._key = dynamo.register(name, self)
        self.in_specs: tuple[Spec, ...] = tuple(in_specs)
        self.out_specs: tuple[Tile, ...] = tuple(out_specs)
        self._inputs = tuple(parameters[: len(self.in_specs)])
        self._constants = dict(constants)
        self._parallel = tuple(parallel)
        self._dynamic = tuple(dynamic)
        uses = {name for spec in (*in_specs, *out_specs) for name in spec.uses}
        self._keyword_names = tuple(name for name in constants if name in uses)
        self._location = location
        # Where arrays of some kinds, shapes and types run, and as what: a call on known ones
        # checks nothing again. Scalars are converted at each call, so they are looked up later.
        self._known: Recent[Callable[[Sequence[Any]], tuple[Any, ...]]] = Recent(CALLS)
        self._shortcut = Shortcut()
        self._has_scalars = any(isinstance(spec, Scalar) for spec in self.in_specs)
        # Calls by shapes, types and values, and by what they are made of: the sizes of parallel
        # dimensions are no part of that.
        self._calls: Recent[Call] = Recent(CALLS)
        self._made: Recent[Call] = Recent(SPECIALISATIONS)
        # What its function read from outside, by the compile-time values that may read it.
        self._captured: dict[Hashable, Captured] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def input_names(self) -> tuple[str, ...]:
        return self._inputs

    @property
    def parallel(self) -> tuple[str, ...]:
        """The dimensions that are run-time values, and whose every index is treated on its own."""
        return self._parallel

    @property
    def dynamic(self) -> tuple[str, ...]:
        """The other dimensions whose sizes are run-time values."""
        return self._dynamic

    @property
    def run_time(self) -> tuple[str, ...]:
        """The dimensions that are run-time values: the parallel ones, then the dynamic ones."""
        return (*self._parallel, *self._dynamic)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself, as with a function: a module that has an operation can be copied."""
        return self

    # ---- running ---------------------------------------------------------------------------------

    def __call__(self, *arrays: object, **constants: object) -> Any:
        """Run on arrays: inputs in the order of `in_specs`; keywords are compile-time values.

        One array comes back, of the kind that was given, or a tuple in the order of `out_specs`.
        """
        if dynamo.traces() and dynamo.allow():
            return dynamo.apply(self._key, *arrays, **constants)
        try:
            if self._captured:
                self._refresh()
            if self._shortcut.call is not None and not constants:
                found = self._shortcut.call(*arrays)
                if found is not MISSED:
                    return found
            try:
                known = self._known.get(_kinds(arrays, constants))
            except (TypeError, AttributeError):  # no arrays, or no value for a key
                known = None
            if known is None:
                return self._call(arrays, constants)
            refuse_in_kernel(self.name)
            try:
                results = known(arrays)
            except CallError as error:
                raise _located(error, caller()) from None
            return results[0] if len(results) == 1 else results
        except Exception as error:
            error.__traceback__ = shortened(error.__traceback__, error)
            raise

    def _call(self, arrays: Sequence[object], constants: Mapping[str, object]) -> object:
        """Check and prepare, then apply it to symbolic arrays or run it on real ones."""
        where = caller()
        refuse_in_kernel(self.name)
        self._needs_specs("called", where)
        names = self._arrays(arrays, where, constants)
        place = runtime.select(self.in_specs, arrays, names, where)
        if isinstance(place, Recorder):
            self._check_keywords(constants, where)
            return place.apply(self, arrays, constants, where)
        return self._run(place, arrays, constants, where)

    def _run(
        self,
        place: runtime.Runtime,
        arrays: Sequence[object],
        constants: Mapping[str, object],
        where: SourceLocation,
    ) -> object:
        try:
            call, operands = self._bind(place, arrays, constants, where)
            if self._has_scalars and not constants:
                results = place.launch_with_scalars(call, operands, arrays, self._shortcut)
            else:
                if not self._has_scalars:
                    launch = place.remembered(call, operands, self._shortcut)
                    self._remember(_kinds(arrays, constants), launch)
                results = place.launch(call, operands)
        except CallError as error:
            raise _located(error, where) from None
        return results[0] if len(results) == 1 else results

    def _remember(self, kinds: object, launch: Callable[[Sequence[Any]], tuple[Any, ...]]) -> None:
        if _hashable(kinds):  # sizes that PyTorch does not know yet are not
            self._known.keep(cast("Hashable", kinds), launch)

    def _arrays(
        self,
        arrays: Sequence[object],
        where: SourceLocation,
        constants: Mapping[str, object] = MappingProxyType({}),
    ) -> tuple[str, ...]:
        """The names of the inputs, of which there are as many as arrays."""
        names = self._inputs
        if len(arrays) != len(names):
            raise CallError(
                f"{self.name} takes {len(names)} arrays ({', '.join(names) or 'none'}), "
                f"not {len(arrays)}",
                location=where,
                notes=(("help", f"arrays are positional: {self.name}({', '.join(names)})"),)
                if any(name in constants for name in names)
                else (),
            )
        return names

    def _bind(
        self,
        place: runtime.Runtime,
        arrays: Sequence[object],
        constants: Mapping[str, object],
        where: SourceLocation,
    ) -> tuple[Call, Sequence[Any]]:
        """What a runtime takes: the call, specialised for these arrays, and its operands."""
        operands = [
            place.scalar(array, str(spec.dtype.numpy), name) if isinstance(spec, Scalar) else array
            for spec, array, name in zip(self.in_specs, arrays, self._inputs, strict=True)
        ]
        by_reference = self._has_scalars and not place.scalars_by_value
        described = place.describe(operands)
        return self._prepare(
            described,
            constants,
            by_reference=by_reference,
            location=where,
            conversion=place.conversion,
        ), operands

    @boundary
    def emulate(
        self,
        *arrays: object,
        sanitize: bool = True,
        threads: int | None = None,
        max_instructions: int | None = None,
        max_launch_instructions: int | None = None,
        max_seconds: float | None = None,
        seed: int | None = None,
        schedules: int | None = None,
        statistics: bool = True,
        completion: emulator.Completion | None = None,
        **constants: object,
    ) -> emulator.Emulation:
        """Run on NumPy arrays, or tensors on the CPU, in the emulator and keep its report.

        `sanitize` adds initialisation, races and the rest to the checks that are always on.
        `threads` are host threads at most (all cores), `max_instructions` bounds the instructions
        of a warp, `max_launch_instructions` those of all warps, `max_seconds` the time. `seed` runs
        CTAs and warps in a random order of that seed, and with `sanitize` lets strong loads give
        older values; `schedules` tries so many orders, the one of `seed` and `completion` and then
        those of the seeds that follow, until one has findings.
        `statistics` counts per Python line.
        `completion` is "eager", "late", "reversed" or "random": when asynchronous operations move
        their data, by default late with the sanitizer. The result has `outputs`, `report` and
        `reports` of each step; findings do not raise here.
        """
        where = caller()
        options = emulation.checked(
            where,
            sanitize=sanitize,
            threads=threads,
            max_instructions=max_instructions,
            max_launch_instructions=max_launch_instructions,
            max_seconds=max_seconds,
            seed=seed,
            schedules=schedules,
            statistics=statistics,
            completion=completion,
        )
        refuse(f"{self.name} is emulated")
        refuse_in_kernel(self.name)
        self._needs_specs("emulated", where)
        names = self._arrays(arrays, where, constants)
        place = runtime.emulator(self.in_specs, arrays, names, where)
        try:
            call, operands = self._bind(place, arrays, constants, where)
        except CallError as error:
            raise _located(error, where) from None
        return place.emulate(call, operands, **options)

    @boundary
    def check_parallel(self, *arrays: object, **constants: object) -> None:
        """Raise EmulationError unless every index of the parallel dimensions is on its own.

        `parallel=("B",)` is a promise, and `jax.vmap` and shardings rely on it. Here the emulator
        runs the operation on these NumPy arrays with the values of some indices changed, moved and
        taken apart: whether results of the others keep every bit, and move and add up with their
        values, within rounding. The error names the line, the tensor and the indices, and has
        `findings` of the kind "not-parallel". A few dozen runs for arrays of any size, so small
        ones will do: several indices, random values, and more than one CTA's share of them.

        That nothing is found is no proof: it is for these values and sizes. Raises CallError for
        arrays on which nothing would show, and EmulationError for what `emulate` finds.
        """
        where = caller()
        refuse(f"{self.name} is checked")
        self._needs_specs("checked", where)
        names = self._arrays(arrays, where, constants)
        if not self.parallel:
            raise CallError(
                f"{self.name} has no parallel dimension to check",
                location=where,
                notes=(("help", 'parallel=("B",)'),),
            )
        given = runtime.numpy_arrays(self.in_specs, arrays, names, where)
        place = runtime.emulator(self.in_specs, given, names, where)
        call, operands = self._bind(place, given, constants, where)

        def run(given: Sequence[object], **options: object) -> emulator.Emulation:
            call, operands = self._bind(place, given, constants, where)
            return place.emulate(call, operands, threads=1, clear=True, **options)

        outputs = tuple(tensor.name for tensor in call.outputs)
        from pyptx._kernel import parallel  # noqa: PLC0415 (NumPy, for the few who check)

        subject = parallel.Subject(
            self.name, self._inputs, outputs, self.in_specs, self.out_specs, self._location, run
        )
        parallel.check(subject, self.parallel, tuple(operands), where)

    # ---- preparing -------------------------------------------------------------------------------

    def _capture(self, constants: Mapping[str, object]) -> None:
        """Remember what its function, traced with these values, has read from outside."""
        objects = [v for v in constants.values() if not isinstance(v, (int, float, str, bytes))]
        captured = Captured(self._function, objects)
        if captured:
            self._captured = {**self._captured, tuple(map(id, objects)): captured}
            while len(self._captured) > SPECIALISATIONS:
                del self._captured[next(iter(self._captured))]

    def _refresh(self) -> None:
        """Forget the traces of its function where what that has read from outside has changed."""
        if any(captured.changed() for captured in self._captured.values()):
            self._forget()

    def _forget(self) -> None:
        self._captured = {}
        self._shortcut = Shortcut()
        for cache in (self._known, self._calls, self._made):
            cache.clear()

    def _prepare(
        self,
        operands: Sequence[Any],
        constants: Mapping[str, object],
        *,
        by_reference: bool,
        location: SourceLocation,
        conversion: str = ARRAY_CONVERSION,
    ) -> Call:
        """What a runtime needs to run this on arrays of these shapes."""
        self._refresh()
        shapes = [tuple(o.shape) for o in operands]
        values = tuple((name, exact(constants[name])) for name in sorted(constants))
        key = tuple(shapes), tuple(o.dtype for o in operands), values, by_reference
        hashable = _hashable(key)  # sizes that PyTorch traces with are not
        if hashable and (found := self._calls.get(key)) is not None:
            return found
        self._check_keywords(constants, location)
        dtypes = [str(o.dtype) for o in operands]
        check_dtypes(self.in_specs, dtypes, self._inputs, location, conversion=conversion)
        keywords = self._keyword_sizes(constants, location)
        dims = bind(self.in_specs, shapes, self._inputs, location, keywords)
        for spec in self.out_specs:
            for dim in spec.computed:
                size_at_call(dim, dims, location)
        fixed = self._fixed(dims, location)
        stars = {n: len(s) for n, s in dims.items() if isinstance(s, tuple)}
        made = tuple(fixed.items()), tuple(stars.items()), values, by_reference
        call = self._made.get(made) if _hashable(made) else None
        if call is None:
            call = make_call(self._describe(fixed, stars, constants, by_reference=by_reference))
            self._made.keep(made, call)
        _check_launches(call, shapes, location)
        return self._calls.keep(key, call) if hashable else call

    def _describe(
        self,
        fixed: Mapping[str, int],
        stars: Mapping[str, int],
        constants: Mapping[str, object],
        targets: Targets = (),
        *,
        by_reference: bool,
    ) -> Description:
        """The call for these sizes of the dimensions that are not parallel, and these targets.

        Without targets it is for what "auto" means where nothing names them.
        """
        raise NotImplementedError

    def _fixed(self, dims: Mapping[str, Size], location: SourceLocation) -> dict[str, int]:
        """The sizes of dimensions that are not run-time values. Raises CallError for symbols."""
        found: dict[str, int] = {}
        for name, size in dims.items():
            if name in self.run_time:
                continue
            if not isinstance(size, int):
                size = dynamo.specialised(size)  # noqa: PLW2901
            if not isinstance(size, int):
                raise CallError(
                    f'the dimension "{name}" of {self.name} has the symbolic size {size}, and only '
                    "parallel and dynamic dimensions have a size that is not known",
                    location=location,
                    notes=(("help", f"dynamic={(*self._dynamic, name)!r}"),),
                )
            found[name] = size
        return found

    @property
    def dimension_names(self) -> tuple[str, ...]:
        """The named dimensions of its tensors, compile-time keywords not among them."""
        specs = (*self.in_specs, *self.out_specs)
        names = dict.fromkeys(name for spec in specs for name in spec.names)
        return tuple(name for name in names if name not in self._constants)

    def _keyword_sizes(
        self, constants: Mapping[str, object], location: SourceLocation
    ) -> dict[str, int]:
        """The compile-time keywords that Tiles name, with their values. Raises CallError."""
        if not self._keyword_names:
            return {}
        values = {**self._constants, **constants}
        check_constants(self.name, {name: values[name] for name in self._keyword_names})
        found: dict[str, int] = {}
        for name in self._keyword_names:
            size = integer(values[name])
            if size is None or size < 0:
                raise CallError(
                    f"the compile-time keyword {name} of {self.name} is {values[name]!r}, and a "
                    "Tile has it as a size",
                    location=location,
                    notes=(("legal", "an integer that is not negative"),),
                )
            found[name] = size
        return found

    def _check_keywords(self, constants: Mapping[str, object], location: SourceLocation) -> None:
        for name in constants:
            if name not in self._constants:
                raise CallError(
                    f"{self.name} has no compile-time keyword {name}",
                    location=location,
                    notes=(("legal", " ".join(self._constants) or "none"),),
                )

    def _needs_specs(self, what: str, where: SourceLocation) -> None:
        """Raises SpecError where the operation is not called on arrays."""


def _kinds(arrays: Sequence[Any], constants: Mapping[str, object]) -> object:
    """What decides where arrays run and as what call."""
    kinds = tuple([(array.__class__, array.shape, array.dtype) for array in arrays])
    if not constants:
        return kinds
    return kinds, tuple([(name, exact(value)) for name, value in constants.items()])


def symbolic(spec: Spec, fixed: Mapping[str, int]) -> tuple[Extent, ...]:
    """The dimensions of a Tile: sizes, and expressions of those that are run-time values."""
    sizes = {name: fixed.get(name, Symbol(name)) for name in spec.uses}
    return tuple(size_of(dim, sizes) for dim in spec.dims)


def _located(error: CallError, where: SourceLocation) -> CallError:
    """The error at the call, where it came from a layer that does not know the user's line."""
    return error if error.location else error.at(where)


def _hashable(key: object) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _check_launches(call: Call, shapes: Sequence[Shape], location: SourceLocation) -> None:
    """Refuse a grid that no device takes at the call, where its sizes come from."""
    results = (*call.output_shapes(shapes), *call.scratch_shapes(shapes))
    if not all(isinstance(size, int) for shape in (*shapes, *results) for size in shape):  # pyright: ignore[reportUnnecessaryIsInstance]
        return  # jax.export with symbolic sizes: the launch checks
    try:
        call.plan.evaluate(shapes, results)
    except PtxError as error:
        raise error.at(location) from None
