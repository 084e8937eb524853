"""Runs a kernel's function once and closes the trace: function and sizes to a verified module."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace

from pyptx import _verify as verify
from pyptx._agreement import run_time_sizes
from pyptx._ir import Directive, Instruction, Module
from pyptx._isa import directives
from pyptx._operands import Parameter, Register
from pyptx._source import SourceLocation, raised_by_user
from pyptx._spec import Scalar, Spec, Tile, size_of
from pyptx._target import PtxVersion, Target
from pyptx._trace.core.batch import Batch
from pyptx._trace.core.context import Trace, tracing
from pyptx._trace.core.names import root
from pyptx._trace.core.values import Reg
from pyptx._trace.memory.arrangement import check_arrangements
from pyptx._trace.memory.transactions import check_transactions
from pyptx._trace.tensors.tensor import Extent, Tensor, batch_indices, load_reference, load_value
from pyptx._trace.tensors.tensor_map import check_copies
from pyptx._trace.tensors.tensor_types import check_types
from pyptx._trace.tensors.unset import check_unset
from pyptx.errors import LanguageError, PtxError, SpecError
from pyptx.types import DType, b8, u64


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel's function takes: its name, its positional parameters and what each is.

    `specs` is one per parameter, None for a parameter of a kernel without specs (an address).
    `run_time` names the dimensions whose size is a run-time argument, parallel and dynamic ones.
    """

    name: str
    parameters: tuple[str, ...]
    specs: tuple[Spec | None, ...]
    run_time: tuple[str, ...]
    location: SourceLocation


@root
def build(
    function: Callable[..., object],
    signature: Signature,
    *,
    dims: Mapping[str, int],
    constants: Mapping[str, object],
    target: Target,
    version: PtxVersion | None,
    given: Sequence[Directive],
    scalars_by_reference: bool,
    batch: Batch | None = None,
    block: tuple[int, int, int] | None = None,
    cluster: tuple[int, int, int] | None = None,
    unset: Container[int] = (),
) -> Module:
    """Trace `function` for these sizes and compile-time values; `given` are its directives.

    `block` and `cluster` are what it is launched with, `unset` the positions of outputs that no
    launch initialises.

    Raises the errors of the language at the user's lines, SpecError for what the target lacks.
    """
    _check_version(signature, target, version)
    trace = Trace(target, version, block, cluster)
    with tracing(trace):
        trace.implicit = signature.location
        trace.module.kernel = signature.name
        trace.sizes |= {**(getattr(function, "__kwdefaults__", None) or {}), **constants}
        arguments = _arguments(
            trace, signature, dims, by_reference=scalars_by_reference, batch=batch
        )
        trace.implicit = None
        trace.start = len(trace.body)
        result = function(*arguments, **constants)
        if result is not None:
            raise SpecError(
                f"{signature.name} returns a {type(result).__name__}; "
                "results are stored to the outputs",
                location=signature.location,
            )
        trace.implicit = signature.location
        kernel = trace.finish(signature.name)
        _check_sizes(trace)
        check_copies(trace)
        check_transactions(trace)
        check_arrangements(trace)
        check_types(trace.body, [each for each in arguments if isinstance(each, Tensor)])
        outputs = (each for i, each in enumerate(arguments) if i in unset)
        tensors = [each for each in outputs if isinstance(each, Tensor)]
        check_unset(trace.body, trace.parameters, tensors)
    needed = max(trace.needed, target.version, _directive_version(given, target, version))
    functions = trace.module.traced(target, version)
    module = Module(
        version or max(needed, trace.module.needed),
        target,
        (replace(kernel, directives=tuple(given)),),
        functions,
        tuple(variable for _, variable in trace.module.variables.values()),
        tuple(trace.module.options),
    )
    verify.verify(module)
    return module


def _check_sizes(trace: Trace) -> None:
    """Raises LanguageError where the kernel writes the register of a run-time dimension."""
    if not trace.run_time:
        return
    loaded: set[Register] = set()
    for statement in trace.body:
        if not isinstance(statement, Instruction):
            continue
        for register in verify.reads_and_writes(statement)[1]:
            dim = trace.run_time.get(register)
            if dim is None:
                continue
            if register not in loaded:  # from the launch's parameters
                loaded.add(register)
            else:
                raise LanguageError(
                    f"this writes the size {dim} itself, which X.shape and every index have",
                    location=statement.location,
                    notes=(
                        ("help", f"n = reg.from_(X.shape[i], {register.dtype}) is a copy to write"),
                        ("help", "m = n // 2 makes a new register, m //= 2 writes one"),
                    ),
                )


def _check_version(signature: Signature, target: Target, version: PtxVersion | None) -> None:
    if version is not None and version < target.version:
        raise SpecError(
            f"PTX {version} does not know {target}",
            location=signature.location,
            notes=(("first in", f"PTX {target.version}"),),
        )


def _directive_version(
    given: Sequence[Directive], target: Target, version: PtxVersion | None
) -> PtxVersion:
    """The PTX version that the directives need. Raises SpecError where the target lacks one."""
    try:
        return directives.check([(d.name, d.values) for d in given], target, version)
    except PtxError as error:
        raise SpecError(error.problem, notes=error.notes) from None


def _arguments(
    trace: Trace,
    signature: Signature,
    dims: Mapping[str, int],
    *,
    by_reference: bool,
    batch: Batch | None,
) -> list[Tensor | Reg]:
    """Declare the parameters, then load what the body gets in registers."""
    parameters: list[Parameter] = []
    for name, spec in zip(signature.parameters, signature.specs, strict=True):
        by_value = isinstance(spec, Scalar) and not by_reference
        dtype = spec.dtype if spec is not None and by_value else u64
        parameters.append(_parameter(trace, dtype, name, tensor=not by_value))
    sizes: dict[str, Extent] = dict(dims)
    for number, dim in enumerate(run_time_sizes(signature.specs, signature.run_time)):
        name = dim if dim.isidentifier() else f"computed_{number}"
        size = load_value(trace, _parameter(trace, u64, f"{name}_size"), u64)
        sizes[dim] = size
        trace.run_time[size.register] = dim
    trace.sizes |= sizes
    if batch is not None:
        _open_batch(trace, batch, parameters)
    made: list[Tensor | Reg] = []
    for name, spec, parameter in zip(
        signature.parameters, signature.specs, parameters, strict=True
    ):
        if isinstance(spec, Scalar):
            load = load_reference if by_reference else load_value
            made.append(load(trace, parameter, spec.dtype))
        else:
            made.append(_tensor(name, spec, parameter, sizes))
    return made


def _open_batch(trace: Trace, batch: Batch, tensors: Sequence[Parameter]) -> None:
    """Declare the batch's sizes and strides in the order of the launch, and find this CTA in it."""
    sizes = [_parameter(trace, u64, f"batch_{i}_size") for i in range(1, len(batch.masks))]
    strides: list[tuple[int, Parameter, Parameter]] = []
    for level, mask in enumerate(batch.masks):
        for tensor, mapped in zip(tensors, mask, strict=True):
            if mapped:
                stride = _parameter(trace, u64, f"{tensor.name}_stride_{level}")
                strides.append((level, tensor, stride))
    indices = batch_indices(trace, batch.axis, sizes)
    for level, tensor, stride in strides:
        known = trace.strides.get(tensor, ())
        trace.strides[tensor] = (*known, (indices[level], stride))
    trace.batch = batch


def _parameter(trace: Trace, dtype: DType, name: str, *, tensor: bool = False) -> Parameter:
    parameter = Parameter(len(trace.parameters), dtype, name, tensor)
    trace.parameters.append(parameter)
    return parameter


def _tensor(
    name: str, spec: Tile | None, parameter: Parameter, sizes: Mapping[str, Extent]
) -> Tensor:
    if spec is None:
        return Tensor(name, (), b8, parameter)
    shape = tuple(size_of(dim, sizes) for dim in spec.dims)
    return Tensor(name, shape, spec.dtype, parameter, spec)


def at_kernel(error: PtxError, signature: Signature) -> PtxError:
    """The error where it was raised by the user, at the kernel's definition otherwise."""
    if error.location:
        return error
    return error.at(raised_by_user(error.__traceback__) or signature.location)
