"""Device functions: `@ptx.func`, what they take and return, and `ptx.call`.

Source: PTX ISA, "Abstracting the ABI", ".func" and "call".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, overload

from pyptx._ir import Directive, Function
from pyptx._isa import given, opcode_path
from pyptx._isa.table import spellings
from pyptx._operands import (
    Arguments,
    CallTargets,
    FunctionName,
    Immediate,
    Parameter,
    Prototype,
    Register,
    Variable,
)
from pyptx._source import caller
from pyptx._target import PtxVersion, Target
from pyptx._text.names import identifier
from pyptx._trace.core.context import Trace, current, tracing
from pyptx._trace.core.names import root
from pyptx._trace.core.scope import DeviceFunction, ModuleScope
from pyptx._trace.core.values import Not, Reg, checked_dtype, guard, integer, own
from pyptx._trace.memory.variables import parameter
from pyptx.errors import LanguageError
from pyptx.types import DType, b64

_LINKAGES: Final = ("", "visible", "extern", "weak")


@dataclass
class FunctionTrace(Trace):
    """The function being traced: what it returns, and what it takes, in order.

    Of the registers that it takes, each stands behind so many parameters.
    """

    returns: list[Parameter | Register] = field(default_factory=list[Parameter | Register])
    takes: list[tuple[int, Register]] = field(default_factory=list["tuple[int, Register]"])

    @property
    def formals(self) -> tuple[Parameter | Register, ...]:
        """What the function takes."""
        found: list[Parameter | Register] = [p for p in self.parameters if not p.returned]
        for before, register in reversed(self.takes):
            found.insert(before, register)
        return tuple(found)


class Func(DeviceFunction):
    """A device function. `ptx.call(f, ...)` calls it; as an operand it is its address."""

    def __init__(
        self, body: Callable[[], object], name: str, linkage: str, directives: Sequence[str]
    ) -> None:
        self.body = body
        self._directives = tuple(Directive(each) for each in directives)
        self.name = name
        self.linkage = linkage

    def __repr__(self) -> str:
        return f"<device function {self.name}>"

    def __ptx_operand__(self, trace: Trace) -> FunctionName:
        trace.module.function(self)
        return FunctionName(self.name)

    @root
    def traced(self, scope: ModuleScope, target: Target, version: PtxVersion | None) -> Function:
        """The function, traced for the target and version of the module."""
        trace = FunctionTrace(target, version, module=scope)
        with tracing(trace):
            result = self.body()
            if result is not None:
                raise LanguageError(
                    f"{self.name} returns a {type(result).__name__} while it is traced; "
                    "what a function returns is stored to ptx.returned(...)"
                )
            kernel = trace.finish(self.name)
        scope.needed = max(scope.needed, trace.needed)
        return Function(
            self.name,
            tuple(trace.returns),
            trace.formals,
            kernel.variables,
            self._directives,
            kernel.registers,
            kernel.body,
            self.linkage,
            kernel.pragmas,
        )


class ExternFunc(Func):
    """A function of another module: only what it takes and returns is known."""

    @root
    def traced(self, scope: ModuleScope, target: Target, version: PtxVersion | None) -> Function:
        trace = FunctionTrace(target, version, module=scope)
        with tracing(trace):
            self.body()
        linkage, given = self.linkage, self._directives
        returns, takes = tuple(trace.returns), trace.formals
        return Function(self.name, returns, takes, (), given, (), None, linkage)


@overload
def func(body: Callable[[], object], /) -> Func: ...
@overload
def func(
    *, name: str | None = None, linkage: str = "", noreturn: bool = False, external: bool = False
) -> Callable[[Callable[[], object]], Func]: ...
def func(
    body: Callable[[], object] | None = None,
    /,
    *,
    name: str | None = None,
    linkage: str = "",
    noreturn: bool = False,
    external: bool = False,
) -> Func | Callable[[Callable[[], object]], Func]:
    """Make a device function of a Python function without parameters.

    Its body begins with `ptx.returned` and `ptx.param` for what it returns and takes. It is traced
    once for each module that calls it. An `external` one is defined in another module (`vprintf`),
    so its body has nothing else. `name` is that of PTX, by default the Python function's.
    """
    if linkage not in _LINKAGES:
        raise LanguageError(
            f"linkage={linkage!r} is none", location=caller(), notes=(("legal", repr(_LINKAGES)),)
        )

    def made(function: Callable[[], object]) -> Func:
        called = name or function.__name__
        if identifier(called, "") != called:
            raise LanguageError(f"{called!r} cannot be a name in PTX", location=caller())
        directives = ("noreturn",) if noreturn else ()
        kind = ExternFunc if external else Func
        return kind(function, called, linkage or ("extern" if external else ""), directives)

    return made if body is None else made(body)


def returned(dtype: DType, name: str, count: int | None = None, *, align: int = 0) -> Parameter:
    """A result of the function that is being traced, in the parameter space.

    `ptx.inst.st.param` stores to it. No instruction.
    """
    trace = _function_trace("ptx.returned")
    made = parameter(dtype, name, count, align, len(trace.returns))
    made = replace(made, returned=True)
    trace.returns.append(made)
    trace.parameters.append(made)
    return made


def returned_register(dtype: DType) -> Reg:
    """A result of the function, in a register that the body sets. No instruction."""
    trace = _function_trace("ptx.returned_register")
    register = trace.register(checked_dtype(dtype))
    trace.returns.append(register)
    return Reg(trace, register)


def param_register(dtype: DType) -> Reg:
    """A parameter of the function, in a register. No instruction."""
    trace = _function_trace("ptx.param_register")
    register = trace.register(checked_dtype(dtype))
    before = sum(not p.returned for p in trace.parameters)
    trace.takes.append((before, register))
    return Reg(trace, register)


def _function_trace(what: str) -> FunctionTrace:
    trace = current(what)
    if isinstance(trace, FunctionTrace):
        return trace
    raise LanguageError(
        f"{what} is for functions, and a kernel returns nothing",
        location=caller(),
        notes=(("help", "@ptx.func above the function that returns it"),),
    )


# ---- calls ---------------------------------------------------------------------------------------


def prototype(
    returns: Sequence[Parameter] = (),
    takes: Sequence[Parameter] = (),
    *,
    noreturn: bool = False,
    abi_preserve: int | None = None,
    abi_preserve_control: int | None = None,
) -> Prototype:
    """What a function that is called through its address takes and returns: `.callprototype`.

    Each is a `ptx.formal(dtype, count, align=...)`. The others are the directives of these names:
    that the function does not return, and how many registers it preserves.
    """
    return Prototype(
        _numbered(returns, returned=True),
        _numbered(takes, returned=False),
        noreturn,
        abi_preserve,
        abi_preserve_control,
    )


def formal(dtype: DType, count: int | None = None, *, align: int = 0) -> Parameter:
    """One value that a `ptx.prototype` takes or returns."""
    return replace(parameter(dtype, "formal", count, align, 0), name="")


def _numbered(formals: Sequence[Parameter], *, returned: bool) -> tuple[Parameter, ...]:
    return tuple(replace(p, index=i, returned=returned) for i, p in enumerate(formals))


def call(
    function: Func | Reg,
    arguments: Sequence[Variable | Reg | int] = (),
    returns: Sequence[Variable | Reg] = (),
    *,
    through: Prototype | Sequence[Func] | None = None,
    uni: bool = False,
    pred: Reg | Not | None = None,
) -> None:
    """Call a function, or the function at an address in a register. One `call`.

    Arguments and results are `ptx.argument(...)`, or registers where the function takes registers.
    A call through an address says with `through` what is there: a `ptx.prototype(...)`, or the
    functions that it can be. `uni`: all threads of the warp call the same.
    """
    trace = current("ptx.call")
    target = own(trace, function) if isinstance(function, Reg) else _operand(trace, function)
    listed: list[given.Raw] = [Arguments(_passed(trace, returns))] if returns else []
    listed.append(target)
    if arguments or returns:
        listed.append(Arguments(_passed(trace, arguments)))
    if isinstance(through, Prototype):
        listed.append(through)
    elif through is not None:
        listed.append(CallTargets(tuple(_operand(trace, each) for each in through)))
    state = opcode_path.walk(spellings(), "call", ("uni",) if uni else ())
    trace.emit(state, listed, guard(trace, pred), fresh=False)


def _operand(trace: Trace, function: object) -> FunctionName:
    if isinstance(function, Func):
        return function.__ptx_operand__(trace)
    raise LanguageError(
        f"ptx.call takes a function of @ptx.func or an address in a register, not {function!r}",
        location=caller(),
    )


def _passed(
    trace: Trace, values: Sequence[Variable | Reg | int]
) -> tuple[Register | Immediate | Variable | Parameter, ...]:
    found: list[Register | Immediate | Variable | Parameter] = []
    for value in values:
        number = integer(value)
        if isinstance(value, Reg):
            found.append(own(trace, value))
        elif isinstance(value, Variable | Parameter):
            found.append(value)
        elif number is not None:
            found.append(Immediate(number, b64))
        else:
            raise LanguageError(
                f"{value!r} cannot be passed to a function",
                location=caller(),
                notes=(("legal", "ptx.argument(...), a register, an int"),),
            )
    return tuple(found)
