"""What the body of a kernel sees of its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pyptx.errors import LanguageError
from pyptx.isa.check import Raw
from pyptx.operands import Address, Parameter, Register
from pyptx.source import caller
from pyptx.trace.context import Trace
from pyptx.trace.values import Reg
from pyptx.types import DType, u64

Extent: TypeAlias = "int | Reg"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor argument: `shape` holds ints, and a 64-bit register for each run-time dimension."""

    name: str
    shape: tuple[Extent, ...]
    dtype: DType
    parameter: Parameter

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __ptx_operand__(self, trace: Trace) -> Raw:
        raise LanguageError(
            f"{self.name} is a tensor, not an operand",
            location=caller(),
            notes=(("help", f"p, = ptx.global_ptrs({self.name}) gives its global address"),),
        )


def global_pointer(trace: Trace, tensor: object) -> Reg:
    """The global address of a tensor: `ld.param.u64` and `cvta.to.global.u64`."""
    if not isinstance(tensor, Tensor):
        raise LanguageError(
            f"ptx.global_ptrs takes tensors of the kernel, not {tensor!r}", location=caller()
        )
    if not any(tensor.parameter is own for own in trace.parameters):
        raise LanguageError(
            f"{tensor.name} belongs to another kernel, or to another trace of this one",
            location=caller(),
        )
    generic, pointer = trace.register(u64), trace.register(u64)
    trace.write("ld.param.u64", generic, Address(tensor.parameter))
    trace.write("cvta.to.global.u64", pointer, generic)
    return Reg(trace, pointer)


def load_value(trace: Trace, parameter: Parameter, dtype: DType) -> Reg:
    """A parameter passed by value, in a register of its type. One `ld.param`."""
    register = trace.register(dtype)
    trace.write(f"ld.param.{_access(dtype)}", register, Address(parameter))
    return Reg(trace, register)


def load_reference(trace: Trace, parameter: Parameter, dtype: DType) -> Reg:
    """A scalar that lives in device memory, in a register of its type. Three instructions."""
    generic, pointer = trace.register(u64), trace.register(u64)
    trace.write("ld.param.u64", generic, Address(parameter))
    trace.write("cvta.to.global.u64", pointer, generic)
    register: Register = trace.register(dtype)
    trace.write(f"ld.global.{_access(dtype)}", register, Address(pointer))
    return Reg(trace, register)


def _access(dtype: DType) -> str:
    return dtype.name if dtype.storage == dtype.name else f"b{dtype.bits}"
