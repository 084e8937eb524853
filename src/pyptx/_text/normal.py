"""What text can say of a module: the normal form, in which `parse(write(m))` is `m`.

Text has storage types where registers had types of their own, one order of names, no tensors, and
one array where shared memory is dynamic.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pyptx._ir import Function, Guard, Kernel, Module, Place, SharedLayout, Statement
from pyptx._operands import (
    Address,
    Arguments,
    FabricHandle,
    Immediate,
    Label,
    Minus,
    Negated,
    Operand,
    Pair,
    Parameter,
    Part,
    Prototype,
    Register,
    Symbol,
    Targets,
    TensorAddress,
    Variable,
    Vector,
    replaced,
)
from pyptx._text.instructions import HEX_FLOATS
from pyptx._text.module import in_order
from pyptx._text.names import DYNAMIC_SHARED, Names, variable_name
from pyptx.types import DTYPES


def normal_form(module: Module) -> Module:
    """The module as its text has it: `parse(write(module).ptx) == normal_form(module)`.

    - Registers have the types of their declarations, in the order in which the body names them.
    - Labels are numbered in the order of their places.
    - Parameters and variables have the names that the text gives them; no parameter is a tensor.
    - What several kernels could share is the module's: global and constant variables, and the
      array of dynamic shared memory, which the kernel's shared variables are places in.
    """
    variables = [
        _trimmed(replace(v, index=i, name=variable_name(v))) for i, v in enumerate(module.variables)
    ]
    shared = dict(zip(module.variables, variables, strict=True))
    functions = in_order(_function(f, shared) for f in module.functions)
    kernels = tuple(_kernel(k, shared, variables) for k in module.kernels)
    return replace(module, kernels=kernels, functions=functions, variables=tuple(variables))


def _trimmed(variable: Variable) -> Variable:
    """Without the zero elements at the end of the initial value, which text leaves out."""
    width, data = variable.dtype.bytes, variable.initial
    least = max((a.offset + width for a in variable.addresses), default=0)
    while len(data) > least and not any(data[-width:]):
        data = data[:-width]
    return replace(variable, initial=data)


def _formals(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return tuple(replace(p, dtype=DTYPES[p.dtype.storage]) for p in parameters)


def _constant(immediate: Immediate) -> Immediate:
    """Floats that PTX spells as bits are bits."""
    dtype = immediate.dtype
    if dtype.name not in HEX_FLOATS and (dtype.is_float or dtype.is_packed):
        return replace(immediate, dtype=DTYPES[f"b{dtype.bits}"])
    return immediate


@dataclass
class _Body:
    """What the parts of one body become."""

    names: Names
    layout: SharedLayout | None
    variables: dict[Variable, Variable]
    dynamic: Variable | None
    labels: dict[Label, Label]
    registers: dict[Register, Register] = field(default_factory=dict[Register, Register])
    used: set[Variable] = field(default_factory=set[Variable])
    own: frozenset[Variable] = frozenset()

    def register(self, register: Register) -> Register:
        if register not in self.registers:
            storage = DTYPES[register.dtype.storage]
            self.registers[register] = Register(len(self.registers), storage)
        return self.registers[register]

    def statements(
        self, function: Kernel | Function
    ) -> tuple[tuple[Statement, ...], list[Variable]]:
        """The body, and the variables that are its own."""
        own: list[Variable] = []
        for variable in function.variables:
            inside = self.dynamic is not None and variable.space == "shared"
            if variable not in self.variables and not inside:
                name = self.names.variables[variable]
                found = self.variables[variable] = replace(variable, index=len(own), name=name)
                own.append(found)
        self.own = frozenset(own)
        return tuple(map(self.statement, function.body or ())), own

    def of_module(self) -> list[Variable]:
        """The variables of the module that the body names."""
        return sorted(self.used - self.own, key=lambda variable: variable.index)

    def statement(self, statement: Statement) -> Statement:
        if isinstance(statement, Place):
            return Place(self.labels[statement.label])
        guard = statement.guard
        if guard is not None:
            guard = Guard(self.register(guard.register), guard.negated)
        operands = tuple(map(self.operand, statement.operands))
        return replace(statement, operands=operands, guard=guard)

    def formal(self, parameter: Parameter | Register) -> Parameter | Register:
        if isinstance(parameter, Register):
            return self.register(parameter)
        return self.parameter(parameter)

    def parameter(self, parameter: Parameter) -> Parameter:
        named = replace(parameter, name=self.names.parameters[parameter], tensor=False)
        return replace(named, dtype=DTYPES[parameter.dtype.storage])

    def place(self, of: Variable | Parameter) -> tuple[Variable | Parameter, int]:
        """What holds a variable or parameter, and the byte at which it begins there."""
        if isinstance(of, Parameter):
            return self.parameter(of), 0
        if self.dynamic is not None and self.layout is not None and of in self.layout.offsets:
            self.used.add(self.dynamic)
            return self.dynamic, self.layout.offsets[of]
        self.used.add(self.variables[of])
        return self.variables[of], 0

    def operand(self, operand: Operand) -> Operand:
        match operand:
            case Register():
                return self.register(operand)
            case Pair(first, second):
                first, second = (self.operand(each) for each in (first, second))
                return Pair(first, second)  # pyright: ignore[reportArgumentType]
            case Vector(elements):
                return Vector(tuple(map(self.operand, elements)))  # pyright: ignore[reportArgumentType]
            case Address(base, offset, unified):
                return replace(self.address(base, offset), unified=unified)
            case TensorAddress(tensor_map, coordinates, between):
                found = self.address(tensor_map.base, tensor_map.offset)
                *inside, last = map(self.operand, (*between, coordinates))
                return TensorAddress(found, last, tuple(inside))  # pyright: ignore[reportArgumentType]
            case Negated() | Part() | Minus() | FabricHandle():
                return replaced(operand, self.register)
            case Symbol(of, offset):
                of, start = self.place(of)
                return Symbol(of, start + offset)
            case Label():
                return self.labels[operand]
            case Targets(labels):
                return Targets(tuple(self.labels[label] for label in labels))
            case _:
                return self.other(operand)

    def other(self, operand: Operand) -> Operand:
        match operand:
            case Arguments(elements):
                return Arguments(tuple(map(self.argument, elements)))
            case Prototype(returns, parameters):
                return replace(operand, returns=_formals(returns), parameters=_formals(parameters))
            case Immediate():
                return _constant(operand)
            case _:
                return operand

    def address(self, base: Register | Variable | Parameter | Immediate, offset: int) -> Address:
        if isinstance(base, Register):
            return Address(self.register(base), offset)
        if isinstance(base, Immediate):
            return Address(replace(base, bits=base.bits + offset))
        base, start = self.place(base)
        return Address(base, start + offset)

    def argument(
        self, argument: Register | Immediate | Variable | Parameter
    ) -> Register | Immediate | Variable | Parameter:
        if isinstance(argument, Register):
            return self.register(argument)
        return argument if isinstance(argument, Immediate) else self.place(argument)[0]


def _kernel(kernel: Kernel, shared: dict[Variable, Variable], module: list[Variable]) -> Kernel:
    """A kernel; what it has that belongs to the module is added to `module`."""
    names = Names(kernel)
    known = dict(shared)
    for variable in kernel.variables:
        if variable.space in ("const", "global") and variable not in known:
            named = replace(variable, index=len(module), name=names.variables[variable])
            known[variable] = _trimmed(named)
            module.append(known[variable])
    dynamic = None
    layout = kernel.shared
    if layout.dynamic:
        align = layout.align
        dynamic = Variable(len(module), "shared", 0, align, DYNAMIC_SHARED, linkage="extern")
        module.append(dynamic)
    body = _Body(names, layout, known, dynamic, _labels(kernel))
    parameters = tuple(body.parameter(p) for p in kernel.parameters)
    statements, own = body.statements(kernel)
    return replace(
        kernel,
        parameters=parameters,
        variables=(*own, *body.of_module()),
        registers=tuple(body.registers.values()),
        body=statements,
        undefined=frozenset(
            made.index for r, made in body.registers.items() if r.index in kernel.undefined
        ),
    )


def _function(function: Function, shared: dict[Variable, Variable]) -> Function:
    names = Names(function)
    body = _Body(names, None, dict(shared), None, _labels(function))
    returns = tuple(body.formal(p) for p in function.returns)
    parameters = tuple(body.formal(p) for p in function.parameters)
    statements, own = body.statements(function)
    return replace(
        function,
        returns=returns,
        parameters=parameters,
        variables=(*own, *body.of_module()),
        registers=() if function.body is None else tuple(body.registers.values()),
        body=None if function.body is None else statements,
    )


def _labels(function: Kernel | Function) -> dict[Label, Label]:
    places = (s.label for s in function.body or () if isinstance(s, Place))
    return {label: Label(index) for index, label in enumerate(places)}
