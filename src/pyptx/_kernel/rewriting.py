"""A foreign kernel changed for a call: scalars that are in device memory, elements of a batch.

A traced kernel is traced again for these. In PTX that others wrote, the loads of parameters are
changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pyptx._ir import Function, Instruction, Kernel, Module, Place, Statement
from pyptx._operands import (
    Address,
    Arguments,
    Operand,
    Parameter,
    Register,
    SpecialRegister,
    Symbol,
)
from pyptx._source import UNKNOWN
from pyptx._trace.core.batch import Batch
from pyptx._trace.core.context import Trace
from pyptx._trace.tensors.tensor import batch_indices
from pyptx.errors import SpecError
from pyptx.types import u64

_LOADS: Final = ("ld.param", "ld.param::entry")


def rewritten(
    module: Module,
    kernel: Kernel,
    tensors: Mapping[int, int],
    scalars: frozenset[int],
    batch: Batch | None,
) -> Module:
    """The module with this kernel alone, changed.

    `tensors` are the parameters that are addresses, by number, each with its number among the
    kernel's tensors. `scalars` are the parameters whose values are in device memory: the address is
    passed. With a `batch`, its sizes and strides are further parameters, and the addresses are
    those of the element that the CTA belongs to. Raises SpecError where the body does something
    with them that cannot be changed so.
    """
    changed = _Rewriting(module, kernel, tensors, scalars, batch).kernel()
    return replace(module, kernels=(changed,))


class _Rewriting:
    def __init__(
        self,
        module: Module,
        kernel: Kernel,
        tensors: Mapping[int, int],
        scalars: frozenset[int],
        batch: Batch | None,
    ) -> None:
        self._kernel = kernel
        self._tensors = tensors
        self._scalars = scalars
        self._trace = Trace(module.target, module.version)
        self._trace.implicit = UNKNOWN
        self._trace.registers = list(kernel.registers)
        self._trace.parameters = [
            replace(p, dtype=u64) if p.index in scalars else p for p in kernel.parameters
        ]
        # For each parameter that is an address: the index in a level, and the stride's parameter.
        self._strides: dict[int, list[tuple[Register, Parameter]]] = {}
        if batch is not None:
            _check_maps(kernel)
            _check_axis(module, kernel, batch)
            self._open(batch)

    def kernel(self) -> Kernel:
        for statement in self._kernel.body:
            self._statement(statement)
        trace = self._trace
        return replace(
            self._kernel,
            parameters=tuple(trace.parameters),
            registers=tuple(trace.registers),
            body=tuple(trace.body),
        )

    def _open(self, batch: Batch) -> None:
        """Declare the batch's sizes and strides in the order of the launch; find the CTA in it."""
        sizes = [self._parameter(f"batch_{i}_size") for i in range(1, len(batch.masks))]
        rows: list[tuple[int, int, Parameter]] = []
        for level, mask in enumerate(batch.masks):
            for tensor, mapped in enumerate(mask):
                if mapped:
                    rows.append((level, tensor, self._parameter(f"stride_{level}_{tensor}")))
        indices = batch_indices(self._trace, batch.axis, sizes)
        for number, tensor in self._tensors.items():
            self._strides[number] = [(indices[row[0]], row[2]) for row in rows if row[1] == tensor]

    def _parameter(self, name: str) -> Parameter:
        taken = {p.name for p in self._trace.parameters}
        while name in taken:
            name += "_"
        parameter = Parameter(len(self._trace.parameters), u64, name)
        self._trace.parameters.append(parameter)
        return parameter

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Place):
            self._trace.body.append(statement)
            return
        found = [p for p in _parameters(statement) if self._changes(p)]
        if not found:
            self._trace.body.append(statement)
        elif found[0].index in self._scalars:
            self._load_reference(statement, found[0])
        else:
            self._move(statement, found[0])

    def _changes(self, parameter: Parameter) -> bool:
        return parameter.index in self._scalars or bool(self._strides.get(parameter.index))

    def _load_reference(self, load: Instruction, parameter: Parameter) -> None:
        """The load of a scalar: its address, then it."""
        address = self._loaded(load, parameter)
        trace, guard = self._trace, load.guard
        generic, pointer = trace.register(u64), trace.register(u64)
        declared = trace.parameters[parameter.index]
        trace.write("ld.param.u64", generic, Address(declared), guard=guard)
        self._add_strides(load, parameter, generic)
        trace.write("cvta.to.global.u64", pointer, generic, guard=guard)
        dtype = load.modifiers[1:]
        spelling = ".".join(("ld", "global", *dtype))
        value = load.operands[0]
        trace.write(spelling, value, Address(pointer, address.offset), guard=guard)  # pyright: ignore[reportArgumentType]

    def _move(self, load: Instruction, parameter: Parameter) -> None:
        """The load of an address, which is then moved to the element of the batch."""
        address = self._loaded(load, parameter)
        moved = load.operands[0]
        if address.offset or not isinstance(moved, Register) or moved.dtype.bits != 64:
            raise self._refused(load, parameter)
        self._trace.body.append(load)
        self._add_strides(load, parameter, moved)

    def _add_strides(self, load: Instruction, parameter: Parameter, address: Register) -> None:
        """Move an address that was loaded to the element of the batch that this CTA belongs to."""
        trace, guard = self._trace, load.guard
        for index, stride in self._strides.get(parameter.index, ()):
            step = trace.register(u64)
            trace.write("ld.param.u64", step, Address(stride), guard=guard)
            trace.write("mad.lo.u64", address, index, step, address, guard=guard)

    def _loaded(self, load: Instruction, parameter: Parameter) -> Address:
        address = load.operands[1] if len(load.operands) == 2 else None
        if not load.spelling.startswith(_LOADS) or not isinstance(address, Address):
            raise self._refused(load, parameter)
        return address

    def _refused(self, instruction: Instruction, parameter: Parameter) -> SpecError:
        what = "a scalar in device memory" if parameter.index in self._scalars else "batched"
        return SpecError(
            f"the parameter {parameter.name} of {self._kernel.name} is {what} here, and "
            f"{instruction.spelling} does something else with it than to load it",
            location=instruction.location,
        )


def _check_maps(kernel: Kernel) -> None:
    if any(parameter.tensor_map is not None for parameter in kernel.parameters):
        raise SpecError(f"{kernel.name} has tensor maps, which are of one element of a batch")


def _check_axis(module: Module, kernel: Kernel, batch: Batch) -> None:
    """Raises SpecError where the code reads the axis of the grid that counts elements."""
    for body in (kernel, *module.functions):
        for instruction in _instructions(body):
            for operand in instruction.operands:
                if isinstance(operand, SpecialRegister) and batch.takes(operand.name):
                    raise SpecError(
                        f"{body.name} reads %{operand.name}, which would count elements of a batch",
                        location=instruction.location,
                    )


def _instructions(body: Kernel | Function) -> Iterator[Instruction]:
    return (s for s in body.body or () if isinstance(s, Instruction))


def _parameters(instruction: Instruction) -> list[Parameter]:
    """The parameters of the kernel that an instruction names."""
    named = (of for operand in instruction.operands for of in _named(operand))
    return [of for of in named if isinstance(of, Parameter)]


def _named(operand: Operand) -> Sequence[object]:
    match operand:
        case Address(base):
            return (base,)
        case Symbol(of):
            return (of,)
        case Arguments(elements):
            return elements
        case _:
            return ()
