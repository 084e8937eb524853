"""`@sequence`: kernels that run one after the other as one operation, and `cond` between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, cast

from pyptx._agreement import check_dynamic, check_outputs, check_parallel
from pyptx._calls import binding
from pyptx._dims import Comparison, Extent
from pyptx._grid import condition_of
from pyptx._kernel.operation import Operation, Targets
from pyptx._kernel.options import dimension_names
from pyptx._kernel.recording import (
    Bound,
    Dim,
    Name,
    Recording,
    SymbolicArray,
    accepts,
    renumbered,
    shape_of,
)
from pyptx._kernel.signature import Body, check_constants, parameters_of, specs
from pyptx._launch.description import Description
from pyptx._launch.plan import EarlierResult, InputAddress
from pyptx._runtime.recording import current, recording
from pyptx._runtime.targets import DEFAULT
from pyptx._source import SourceLocation, caller, raised_by_user
from pyptx._spec import Spec, Tile
from pyptx._target import Target
from pyptx.errors import CallError, PtxError, SpecError

_sequences: Final = count(1)
"""Tells sequences apart that choose by target: their code for other targets is not compared."""


class KernelSequence(Operation):
    """Several kernels called as one operation: `s(*arrays, **constants)`, `s.emulate(...)`.

    In a JAX program it is one operation, which launches its steps on one stream. Results that the
    function does not return are scratch memory.
    """

    def __init__(
        self,
        function: Body,
        in_specs: Sequence[Spec],
        out_specs: Sequence[Tile],
        *,
        parallel: tuple[str, ...],
        dynamic: tuple[str, ...],
        location: SourceLocation,
    ) -> None:
        name, parameters, constants = parameters_of(function, "sequence", location)
        if len(parameters) != len(in_specs):
            raise SpecError(
                f"{name} takes {len(parameters)} arrays ({', '.join(parameters) or 'none'}), "
                f"and has {len(in_specs)} in_specs",
                location=location,
                notes=(("help", "a sequence takes its inputs, and returns its outputs"),),
            )
        self._body = function
        self._chosen = str(next(_sequences))
        super().__init__(
            function,
            name,
            in_specs=in_specs,
            out_specs=out_specs,
            parameters=parameters,
            constants=constants,
            parallel=parallel,
            dynamic=dynamic,
            location=location,
        )
        try:
            check_outputs(self.in_specs, self.out_specs, constants)
            check_dynamic((*self.in_specs, *self.out_specs), parallel, dynamic, constants, name)
            check_parallel(self.in_specs, self.out_specs, parallel, name)
        except PtxError as error:
            raise error.at(location) from None

    def __repr__(self) -> str:
        return f"<pyptx sequence {self.name} of {', '.join(self.input_names)}>"

    def _describe(
        self,
        fixed: Mapping[str, int],
        stars: Mapping[str, int],
        constants: Mapping[str, object],
        targets: Targets = (),
        *,
        by_reference: bool,
    ) -> Description:
        values = {**self._constants, **constants}
        check_constants(self.name, values)
        record = _Tracing(self.name, by_reference, self.parallel, targets)
        bound: Bound = {**{name: Name(name) for name in self.run_time}, **fixed}
        inputs = [
            SymbolicArray(name, shape_of(spec, bound), spec.dtype, InputAddress(i), record)
            for i, (name, spec) in enumerate(zip(self.input_names, self.in_specs, strict=True))
        ]
        with recording(record):
            try:
                returned = self._body(*inputs, **values)
            except PtxError as error:
                raise self._located(error) from None
        self._capture(values)
        outputs = self._outputs(returned, record, bound)
        scratch = [array for array in record.results if array not in outputs]
        parts = [a for a, spec in zip(outputs, self.out_specs, strict=True) if spec.accumulate]
        accumulated = record.accumulated(parts, self._location)
        order = {array.reference.index: i for i, array in enumerate((*outputs, *scratch))}
        return Description(
            name=self.name,
            arch=record.arch or "auto",
            inputs=tuple(map(record.tensor, inputs)),
            outputs=tuple(
                record.tensor(array, spec.sum_over, accumulated)
                for array, spec in zip(outputs, self.out_specs, strict=True)
            ),
            steps=tuple(renumbered(step, order) for step in record.steps),
            scratch=tuple(record.tensor(array, (), accumulated) for array in scratch),
            stars=stars,
            chosen=self._chosen if record.asked else "",
            dynamic=self.dynamic,
            retarget=lambda others: self._describe(
                fixed, stars, constants, others, by_reference=by_reference
            ),
        )

    def _located(self, error: PtxError) -> PtxError:
        if error.location:
            return error
        return error.at(raised_by_user(error.__traceback__) or self._location)

    def _inlined(
        self,
        record: Recording,
        arrays: Sequence[object],
        constants: Mapping[str, object],
        where: SourceLocation,
    ) -> SymbolicArray | tuple[SymbolicArray, ...]:
        """Run the function in another sequence, which records its kernels as its own."""
        values = {**self._constants, **constants}
        check_constants(self.name, values)
        given, bound = record.bind(self, arrays, constants, where)
        record.fixed(self, bound, where)
        found = self._outputs(self._body(*given, **values), record, bound)
        return found[0] if len(found) == 1 else tuple(found)

    def _outputs(self, returned: object, record: Recording, bound: Bound) -> list[SymbolicArray]:
        """What the function returned, one result for each of out_specs. Raises SpecError."""
        values = _several(returned)
        count = len(self.out_specs)
        if len(values) != count:
            raise SpecError(
                f"{self.name} returns {len(values)} results and has {count} out_specs",
                location=self._location,
            )
        found: list[SymbolicArray] = []
        for i, (value, spec) in enumerate(zip(values, self.out_specs, strict=True)):
            if not isinstance(value, SymbolicArray) or value.recording is not record:
                raise self._no_result(i, f"{value!r}")
            if not isinstance(value.reference, EarlierResult):
                raise self._no_result(i, f"its input {value.name}")
            if value in found:
                raise self._no_result(i, f"{value.name} a second time")
            self._check_output(i, value, spec, shape_of(spec, bound))
            found.append(value)
        return found

    def _no_result(self, index: int, what: str) -> SpecError:
        return SpecError(
            f"{self.name} returns {what} as output {index}; outputs are results of its kernels",
            location=self._location,
        )

    def _check_output(
        self, index: int, array: SymbolicArray, spec: Tile, shape: tuple[Dim, ...]
    ) -> None:
        if (array.shape, array.dtype) != (shape, spec.dtype):
            raise SpecError(
                f"output {index} of {self.name} is {array.name} of shape {array.shape} and type "
                f"{array.dtype!r}, and its spec is {spec!r}, here {shape}",
                location=self._location,
            )
        if not spec.complete and spec.written != array.written:
            raise SpecError(
                f"output {index} of {self.name} is {array.name}, and its spec is {spec!r}: "
                f"{spec.written} is of the kernel that writes it, whose Tile does not say so",
                location=self._location,
                notes=(("help", f"{spec.written} in the out_specs of that kernel"),),
            )
        for dim in spec.sum_over:
            if dim not in array.sums:
                raise SpecError(
                    f'output {index} of {self.name} is {array.name}, which is no sum over "{dim}": '
                    "split over devices, it would be added up once for each of them",
                    location=self._location,
                    notes=(("help", f"compute {array.name} outside of the sequence"),),
                )
        if spec.sum_over and spec.accumulate is not array.accumulate:
            written, given = (t.accumulate or t.dtype for t in (array, spec))
            raise SpecError(
                f"output {index} of {self.name} is {array.name}, whose parts its kernel writes as "
                f"{written!r}, and its spec is {spec!r}, which adds them up as {given!r}",
                location=self._location,
                notes=(("help", "give the Tiles of both the same accumulate="),),
            )


class _Tracing(Recording):
    """What a sequence records: its kernels, and those of the sequences that it applies."""

    def apply(
        self,
        operation: Operation,
        arrays: Sequence[object],
        constants: Mapping[str, object],
        where: SourceLocation,
    ) -> SymbolicArray | tuple[SymbolicArray, ...]:
        if isinstance(operation, KernelSequence):
            return operation._inlined(self, arrays, constants, where)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return super().apply(operation, arrays, constants, where)


def _several(returned: object) -> tuple[object, ...]:
    if isinstance(returned, tuple):
        return cast("tuple[object, ...]", returned)
    return (returned,)


@binding(SpecError, "sequence")
def sequence(
    *,
    in_specs: Sequence[Spec],
    out_specs: Sequence[Tile],
    parallel: Iterable[str] = (),
    dynamic: Iterable[str] = (),
) -> Callable[[Body], KernelSequence]:
    """Make one operation from a function that applies kernels to arrays.

        @sequence(
            in_specs=(Tile("*B", "N", f32), Tile("N", f32)),
            out_specs=(Tile("*B", "N", f32), Tile("N", f32, sum_over="B")),
            parallel=("B",),
        )
        def backward(g, w):
            dx, partial = rows(g, w)
            return dx, finish(partial)

    in_specs, out_specs      a Tile (or Scalar, inputs only) for each positional parameter, and for
                             each array that the function returns
    parallel, dynamic        named dimensions that are run-time values, as for a kernel

    The function is traced, once for all sizes of parallel dimensions: its arrays have a `shape` and
    a `dtype` and no values, and only kernels can be applied to them. Keyword-only parameters are
    compile-time values. Raises SpecError.
    """
    where = caller()
    names = dimension_names(parallel, where)
    others = dimension_names(dynamic, where, "dynamic")
    inputs = specs("in_specs", in_specs, where) or ()
    outputs = specs("out_specs", out_specs, where) or ()

    @binding(SpecError, "sequence(...)")
    def decorate(body: Body) -> KernelSequence:
        return KernelSequence(body, inputs, outputs, parallel=names, dynamic=others, location=where)

    return decorate


def _open() -> Recording | None:
    """The sequence that is being traced, if one is."""
    found = current()
    assert found is None or isinstance(found, Recording)
    return found


@binding(CallError, "lowered_for")
def lowered_for() -> tuple[Target, ...]:
    """In the body of a sequence: the targets that it is traced for, so that it can choose by them.

        @sequence(in_specs=..., out_specs=..., parallel=("B",))
        def norm(x, w):
            device = pyptx.device.common(pyptx.lowered_for())
            return (clustered if device.has("clusters") else single)(x, w)

    The function is traced again for each list of targets that a program is lowered for, and its
    kernels with `arch="auto"` are assembled for all of them; so what it chooses has to run on each.
    In the emulator it is one target: that of `pyptx.target`, else sm_90a. Results have the shapes
    and types of `out_specs` whatever it chooses. Raises CallError outside of a sequence.
    """
    record = _open()
    if record is None:
        raise CallError(
            "lowered_for tells the targets of a sequence, and none is being traced",
            location=caller(),
            notes=(("help", "@sequence(...)\ndef f(x): ... pyptx.lowered_for()"),),
        )
    record.asked = True
    return record.targets or (DEFAULT,)


@binding(CallError, "cond")
def cond(
    pred: Callable[..., object],
    true_operation: Operation,
    false_operation: Operation,
    *arrays: object,
) -> Any:
    """In a sequence: run one operation or the other, depending on the sizes of the call.

        @sequence(in_specs=..., out_specs=..., parallel=("B",))
        def norm(x, w):
            return pyptx.cond(lambda B: B <= 16, few_rows, many_rows, x, w)

    pred              a comparison (`< <= > >=`) of sizes, as a function of dimensions of
                      `true_operation` by their names; its `min` and `max` take dimensions
    true_operation    the kernel or sequence for calls where it holds
    false_operation   the one for all others, whose results have the same shapes and types

    Both are compiled; which one runs is decided at each launch, where the sizes of parallel
    dimensions are known: those of a device's part of arrays that are split over devices, and those
    of one element under `jax.vmap`. Returns the results. Raises CallError and SpecError.
    """
    where = caller()
    record = _open()
    if record is None:
        raise CallError(
            "cond chooses between operations in the body of a sequence, and none is being traced",
            location=where,
            notes=(("help", "@sequence(...)\ndef f(x): return cond(pred, one, other, x)"),),
        )

    if not callable(pred):
        raise CallError(
            f"cond chooses by a function of dimensions, not by {pred!r}",
            location=where,
            notes=(("help", "cond(lambda B: B <= 16, one, other, x)"),),
        )

    def holds(dims: Mapping[str, Extent]) -> Comparison | bool:
        try:
            return condition_of(pred, dims)
        except PtxError as error:
            raise error.at(where) from None

    for operation in (true_operation, false_operation):
        if not isinstance(operation, Operation):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CallError(
                f"cond chooses between kernels and sequences, and {operation!r} is neither",
                location=where,
                notes=(("help", "cond(lambda B: B <= 16, one, other, x)"),),
            )
        accepts(operation, arrays, where)
    yes, no = (
        partial(record.apply, operation, arrays, {}, where)
        for operation in (true_operation, false_operation)
    )
    return record.cond(holds, (yes, no), true_operation, arrays, where)
