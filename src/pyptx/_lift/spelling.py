"""One instruction of PTX as a statement of Python: an operator where that is the same instruction.

Every spelling is tried on the language before it is used: it is bound as the trace would bind it,
and kept where the same form with the same operands comes out. Types of registers follow from that:
a register whose first mention is a destination has the type that the language gives it there, if
the file declares the same one, or only bits; every other register is declared as in the file.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, cast

from pyptx._ir import Function, Instruction, Kernel
from pyptx._isa import check, opcode_path
from pyptx._isa.automaton import State
from pyptx._isa.given import Number, Raw, RawPair, RawScalar, TensorPosition
from pyptx._isa.table import spellings
from pyptx._lift.layout import Call, Expression, Keyword, call, string
from pyptx._operands import (
    Address,
    Arguments,
    CallTargets,
    FabricHandle,
    FunctionName,
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
    Sink,
    SpecialRegister,
    Symbol,
    Targets,
    TensorAddress,
    Variable,
    Vector,
    registers_of,
    replaced,
)
from pyptx._target import Target
from pyptx._text import Names as PtxNames
from pyptx._text import instruction_text
from pyptx._trace.core.context import Trace, tracing
from pyptx._trace.core.values import Reg, binary, in_place, move_spelling, unary
from pyptx.errors import IsaError, PtxError
from pyptx.types import DTYPES, DType, pred

Symbols: TypeAlias = Mapping[Variable | Parameter | str, str]
"""The Python names of variables, of parameters, and of functions by their names."""

_BINARY: Final = {
    "add": ("+",), "sub": ("-",), "mul": ("*",), "div": ("//", "/"), "rem": ("%",),
    "shl": ("<<",), "shr": (">>",), "and": ("&",), "or": ("|",), "xor": ("^",),
    "setp": ("<", "<=", ">", ">=", "==", "!="),
}  # fmt: skip
_UNARY: Final = {"neg": "-"}  # to type checkers, `~` may be a negated predicate
_MOST_TARGETS: Final = 8  # registers of longer vectors are an array
_LARGE: Final = 1 << 16  # unsigned numbers from here on are read as bits
_DIGITS_OF_F32: Final = 9  # tell each value from all others


@dataclass(frozen=True, slots=True)
class Spelled:
    """A statement: what it assigns to (or updates with `symbol`), and the expression.

    `declared` are the registers that have to be declared before it.
    """

    expression: Expression
    targets: tuple[Register, ...] = ()
    braces: bool = False
    symbol: str = ""
    declared: tuple[Register, ...] = ()


@dataclass(frozen=True, slots=True)
class _Made:
    """A way to write an instruction whose destination is new, and the types that it gets."""

    types: tuple[DType, ...]
    expression: Expression


class Speller:
    """Spells the instructions of one body, in order.

    `names` are the Python expressions of registers, `bits` the registers that keep the type of
    their declaration. After all instructions, `types` has the types of registers in Python, and
    `unfit` what else has to keep its declaration.
    """

    def __init__(
        self,
        function: Kernel | Function,
        target: Target,
        *,
        names: Mapping[Register, str],
        labels: Mapping[Label, str],
        symbols: Symbols,
        bits: frozenset[Register],
    ) -> None:
        self._function = function
        self._names = names
        self._labels = labels
        self._symbols = symbols
        self._bits = bits
        self._undefined = undefined(function)
        self._refines = all(_untyped(register.dtype) for register in function.registers)
        self._trace = Trace(target)
        self._ptx_names = PtxNames(function)
        self.types: dict[Register, DType] = {}
        self.unfit: set[Register] = set()

    def known(self, register: Register) -> None:
        """A register that stands for something from the start: a parameter or a result."""
        self.types[register] = register.dtype

    def spell(self, instruction: Instruction) -> Spelled:
        """The next instruction of the body."""
        made = self._new_destinations(instruction)
        declared = self._declared(r for r in mentioned(instruction) if r not in made)
        found = self._defined(instruction, made) if made else None
        if found is None:
            declared += self._declared(made)
            found = self._updated(instruction)
        return replace(found, declared=tuple(declared))

    def _declared(self, registers: Iterable[Register]) -> list[Register]:
        """Those of the registers that are named for the first time, with their types."""
        found = [r for r in dict.fromkeys(registers) if r not in self.types]
        self.types.update({register: register.dtype for register in found})
        return found

    # ---- destinations ----------------------------------------------------------------------------

    def _new_destinations(self, instruction: Instruction) -> tuple[Register, ...]:
        """The registers of a destination where all of them are named for the first time."""
        specs = instruction.form.operands
        if not specs or specs[0].access != "out" or not instruction.operands:
            return ()
        first = instruction.operands[0]
        elements = first.elements if isinstance(first, Vector) else (first,)
        registers = [e for e in elements if isinstance(e, Register)]
        if len(registers) != len(elements) or len(set(registers)) != len(registers):
            return ()
        if len(registers) > _MOST_TARGETS:
            return ()
        others = set(mentioned(replace(instruction, operands=instruction.operands[1:])))
        fresh = all(
            r not in self.types
            and r not in others
            and r not in self._undefined
            and self._names[r].isidentifier()
            for r in registers
        )
        return tuple(registers) if fresh else ()

    def _defined(self, instruction: Instruction, made: tuple[Register, ...]) -> Spelled | None:
        if any(register in self._bits for register in made):
            declared = tuple(register.dtype for register in made)
            ways = [w for w in self._ways(instruction) if w.types == declared]
        else:
            ways = [w for w in self._ways(instruction) if self._fits(made, w)]
            if not self._refines:
                ways.sort(key=lambda way: not self._exactly(made, way))
        if not ways:
            return None
        self.types.update(zip(made, ways[0].types, strict=True))
        braces = isinstance(instruction.operands[0], Vector)
        return Spelled(ways[0].expression, made, braces)

    def _exactly(self, made: tuple[Register, ...], way: _Made) -> bool:
        pairs = zip(made, way.types, strict=True)
        return all(dtype.storage == register.dtype.storage for register, dtype in pairs)

    def _fits(self, made: tuple[Register, ...], way: _Made) -> bool:
        """Whether the declarations say the same types, or only bits of the same width."""
        return self._exactly(made, way) or (
            self._refines
            and all(
                register.dtype.is_bits
                and register.dtype.bits == dtype.bits
                and (dtype.is_integer or dtype.is_float)
                for register, dtype in zip(made, way.types, strict=True)
            )
        )

    def _ways(self, instruction: Instruction) -> list[_Made]:
        """The ways to write an instruction with a new destination, the best one first."""
        ways: list[_Made] = []
        if instruction.guard is None and len(instruction.operands) in (2, 3):
            ways += self._operators(instruction)
            ways += self._moves(instruction)
        called = self._called(instruction, left_out=True)
        return ways if called is None else [*ways, called]

    # ---- operators -------------------------------------------------------------------------------

    def _operators(self, instruction: Instruction) -> list[_Made]:
        _, *sources = instruction.operands
        values = [self._value(source) for source in sources]
        if any(value is None for value in values):
            return []
        texts = [self._text(source) for source in sources]
        opcode = instruction.form.opcode
        if len(values) == 1:
            if opcode not in _UNARY or not isinstance(values[0], Reg):
                return []
            found = self._tried(instruction, lambda: unary(opcode, cast("Reg", values[0])))
            return [] if found is None else [_Made((found,), f"{_UNARY[opcode]}{texts[0]}")]
        ways: list[_Made] = []
        for symbol in _BINARY.get(opcode, ()):
            if not any(isinstance(value, Reg) for value in values):
                continue
            dtype = self._tried(instruction, lambda s=symbol: binary(s, values[0], values[1]))
            if dtype is not None:
                ways.append(_Made((dtype,), f"{texts[0]} {symbol} {texts[1]}"))
        return ways

    def _tried(self, instruction: Instruction, operator: Callable[[], Reg]) -> DType | None:
        """The type of what an operator makes where it appends this instruction and no other."""
        with tracing(self._trace):
            self._trace.body.clear()
            try:
                result = operator()
            except PtxError:
                return None
        if len(self._trace.body) != 1:
            return None
        found = self._trace.body[0]
        wanted = tuple(map(self._retyped, instruction.operands[1:]))
        same = (
            isinstance(found, Instruction)
            and found.spelling == instruction.spelling
            and found.form is instruction.form
            and found.operands[1:] == wanted
        )
        return result.dtype if same else None

    def _value(self, operand: Operand) -> Reg | int | float | None:
        """An operand as an operator takes it."""
        if isinstance(operand, Register):
            return Reg(self._trace, self._retyped_register(operand))
        return number(operand) if isinstance(operand, Immediate) else None

    def _moves(self, instruction: Instruction) -> list[_Made]:
        """`reg.from_` and `reg.scalar(..., init=)`."""
        if instruction.form.opcode != "mov" or len(instruction.operands) != 2:
            return []
        dtype = DTYPES.get(instruction.modifiers[-1])
        if dtype is None or dtype is pred or move_spelling(dtype) != instruction.spelling:
            return []
        source = instruction.operands[1]
        if isinstance(source, Vector) or not self._binds(instruction, left_out=True):
            return []
        text = self._text(source)
        if isinstance(source, Immediate):
            value = call("reg.scalar", str(dtype), init=text)
        else:
            value = call("reg.from_", text, str(dtype))
        return [_Made((dtype,), value)]

    # ---- instructions ----------------------------------------------------------------------------

    def _updated(self, instruction: Instruction) -> Spelled:
        """An instruction whose registers all have a type."""
        if instruction.form.opcode == "call":
            return Spelled(self._call(instruction))
        found = self._in_place(instruction) or self._assigned(instruction)
        if found is not None:
            return found
        made = self._called(instruction, left_out=False)
        if made is not None:
            return Spelled(made.expression)
        registers = set(mentioned(instruction))
        if all(self.types[register] is register.dtype for register in registers):
            return Spelled(self._as_text(instruction))
        self.unfit |= registers
        return Spelled("...")

    def _in_place(self, instruction: Instruction) -> Spelled | None:
        symbols = _BINARY.get(instruction.form.opcode, ())
        operands = instruction.operands
        if instruction.guard is not None or len(operands) != 3 or operands[0] != operands[1]:
            return None
        target, right = self._value(operands[1]), self._value(operands[2])
        if not isinstance(target, Reg) or right is None or instruction.form.opcode == "setp":
            return None
        for symbol in symbols:
            if self._tried(instruction, lambda s=symbol: in_place(s, target, right)) is not None:
                register = cast("Register", operands[0])
                return Spelled(self._text(operands[2]), (register,), symbol=f"{symbol}=")
        return None

    def _assigned(self, instruction: Instruction) -> Spelled | None:
        """`a[i] = v` of an array, which is one `mov`."""
        first, *rest = instruction.operands or (Sink(),)
        if (
            instruction.form.opcode != "mov"
            or instruction.guard is not None
            or not isinstance(first, Register)
            or self._names[first].isidentifier()
            or len(rest) != 1
            or isinstance(rest[0], Vector)
        ):
            return None
        if move_spelling(self.types[first]) != instruction.spelling:
            return None
        if self._binds(instruction, left_out=False) is None:
            return None
        return Spelled(self._text(rest[0]), (first,))

    def _called(self, instruction: Instruction, *, left_out: bool) -> _Made | None:
        """`ptx.inst` with all operands, or without the destination."""
        types = self._binds(instruction, left_out=left_out)
        if types is None:
            return None
        operands = instruction.operands[1:] if left_out else instruction.operands
        texts = [self._expression(operand) for operand in operands]
        head = _SHORT.get(instruction.spelling, opcode_path.python_spelling(instruction.spelling))
        if instruction.spelling == "bar.sync" and len(texts) > 2:
            head = "ptx.inst.bar.sync"
        return _Made(types, Call(head, (*texts, *self._guard(instruction))))

    def _binds(self, instruction: Instruction, *, left_out: bool) -> tuple[DType, ...] | None:
        """The types of new destinations where the language makes this instruction; else None."""
        operands = tuple(map(self._retyped, instruction.operands[left_out:]))
        made: list[DType] = []

        def fresh(dtype: DType) -> Register:
            made.append(dtype)
            return Register(-len(made), dtype)

        try:
            state = _state(instruction)
            raw = [_raw(operand) for operand in operands]
            bound = check.bind(state, raw, fresh if left_out else None)
        except IsaError:
            return None
        same = bound.form is instruction.form and bound.operands[left_out:] == operands
        return tuple(made) if same and bool(made) == left_out else None

    def _guard(self, instruction: Instruction) -> tuple[Keyword, ...]:
        if instruction.guard is None:
            return ()
        mark = "~" if instruction.guard.negated else ""
        return (Keyword("pred", f"{mark}{self._names[instruction.guard.register]}"),)

    def condition(self, instruction: Instruction, *, opposite: bool) -> str:
        """The guard of a branch as a condition, or its opposite."""
        assert instruction.guard is not None
        mark = "~" if instruction.guard.negated is not opposite else ""
        return f"{mark}{self._names[instruction.guard.register]}"

    def _as_text(self, instruction: Instruction) -> Call:
        """PTX, for what no expression says: constants such as a NaN of certain bits."""
        names = self._ptx_names
        registers = list(dict.fromkeys(mentioned(instruction)))
        given = {register: f"r{index}" for index, register in enumerate(registers)}
        known = names.registers
        names.registers = {register.index: name for register, name in given.items()}
        text = instruction_text(instruction, names)
        names.registers = known
        keywords = {given[r]: self._names[r] for r in registers}
        for operand in instruction.operands:
            base = operand.base if isinstance(operand, Address) else operand
            base = base.of if isinstance(base, Symbol) else base
            if isinstance(base, Variable):
                keywords[names.variables[base]] = self._symbols[base]
        return call("ptx.raw", string(text), **keywords)

    # ---- calls -----------------------------------------------------------------------------------

    def _call(self, instruction: Instruction) -> Call:
        operands = list(instruction.operands)
        returns = operands.pop(0) if isinstance(operands[0], Arguments) else None
        function = operands.pop(0)
        takes = operands.pop(0) if operands and isinstance(operands[0], Arguments) else None
        listed: list[Expression] = [self._expression(function)]
        if takes is not None or returns is not None:
            listed.append(self._arguments(takes))
        if returns is not None:
            listed.append(self._arguments(returns))
        named: dict[str, Expression] = {}
        if operands:
            named["through"] = self._through(operands[0])
        if "uni" in instruction.modifiers:
            named["uni"] = "True"
        made = call("ptx.call", *listed, **named)
        return Call(made.head, (*made.arguments, *self._guard(instruction)))

    def _arguments(self, arguments: Operand | None) -> Call:
        elements = arguments.elements if isinstance(arguments, Arguments) else ()
        return Call(
            "",
            tuple(
                self._symbols[e] if isinstance(e, Variable | Parameter) else self._text(e)
                for e in elements
            ),
        )

    def _through(self, operand: Operand) -> Expression:
        if isinstance(operand, CallTargets):
            return Call("", tuple(self._symbols[f.name] for f in operand.functions))
        assert isinstance(operand, Prototype)
        lists = [
            Call("", tuple(map(formal, each))) for each in (operand.returns, operand.parameters)
        ]
        more: dict[str, Expression] = {"noreturn": "True"} if operand.noreturn else {}
        more |= {name: str(number) for name, number in operand.preserves.items()}
        return call("ptx.prototype", *lists, **more)

    # ---- operands --------------------------------------------------------------------------------

    def _retyped_register(self, register: Register) -> Register:
        return Register(register.index, self.types.get(register, register.dtype))

    def _retyped(self, operand: Operand) -> Operand:
        """An operand with the types that its registers have in Python."""
        return replaced(operand, self._retyped_register)

    def _text(self, operand: Operand) -> str:
        found = self._expression(operand)
        assert isinstance(found, str)
        return found

    def _expression(self, operand: Operand) -> Expression:
        match operand:
            case Register():
                return self._names[operand]
            case Negated(register):
                return f"~{self._names[register]}"
            case Immediate():
                return literal(operand)
            case SpecialRegister(name):
                return f"ptx.special.{name}()"
            case Address(base, offset, unified):
                found = self._address(base, offset)
                return f"{found.removesuffix(')')}, unified=True)" if unified else found
            case TensorAddress(tensor_map, coordinates, between):
                base = tensor_map.base
                where = self._symbols[base] if isinstance(base, Variable | Parameter) else None
                inside = map(self._expression, (*between, coordinates))
                return call("ptx.addr", where or self._names[cast("Register", base)], *inside)
            case Vector(elements):
                return self._vector(elements)
            case Pair(first, second):
                return call("ptx.pair", self._expression(first), self._expression(second))
            case Symbol(of, offset):
                name = self._symbols[of]
                return f"ptx.address_of({name}, {offset})" if offset else name
            case _:
                return self._named(operand)

    def _named(self, operand: Operand) -> Expression:
        match operand:
            case Label():
                return string(self._labels[operand])
            case Targets(labels):
                return Call("", tuple(string(self._labels[label]) for label in labels))
            case FunctionName(name):
                return self._symbols[name]
            case Sink():
                return "ptx.sink"
            case Part(register, lanes):
                return call("ptx.part", self._names[register], string(lanes))
            case Minus(of):
                return call("ptx.minus", self._expression(of))
            case FabricHandle(endpoint, offsets):
                return call("ptx.fabric_handle", *(self._names[r] for r in (endpoint, *offsets)))
            case _:
                raise AssertionError(operand)

    def _address(self, base: Register | Variable | Parameter | Immediate, offset: int) -> str:
        if isinstance(base, Parameter) and not offset:
            return self._symbols[base]
        if isinstance(base, Register):
            name = self._names[base]
        elif isinstance(base, Immediate):
            name = literal(base)
        else:
            name = self._symbols[base]
        return f"ptx.addr({name}, {offset})" if offset else f"ptx.addr({name})"

    def _vector(self, elements: tuple[Operand, ...]) -> Expression:
        """A list, or a slice of an array."""
        texts = [self._text(element) for element in elements]
        name, _, first = texts[0].removesuffix("]").partition("[")
        run = [f"{name}[{int(first) + i}]" for i in range(len(texts))] if first.isdigit() else []
        if texts == run and len(run) > 1:
            return f"{name}[{first}:{int(first) + len(run)}]"
        return Call("", tuple(texts))


_SHORT: Final = {"bra": "ptx.bra", "ret": "ptx.ret", "bar.sync": "ptx.bar.sync"}
_states: dict[str, State] = {}


def _state(instruction: Instruction) -> State:
    spelling = instruction.spelling
    if spelling not in _states:
        form = instruction.form
        _states[spelling] = opcode_path.walk(spellings(), form.opcode, instruction.modifiers)
    return _states[spelling]


def undefined(function: Kernel | Function) -> frozenset[Register]:
    """The registers that are read where nothing has set them, which are declared."""
    if isinstance(function, Function):
        return frozenset()
    return frozenset(r for r in function.registers if r.index in function.undefined)


def _untyped(dtype: DType) -> bool:
    """Whether a declaration is as compilers write them: bits, floats and predicates."""
    return not dtype.is_integer


def _raw(operand: Operand) -> Raw:
    """An operand as the trace is handed it."""
    if isinstance(operand, Immediate):
        return Number(number(operand))
    if isinstance(operand, Vector):
        return tuple(cast("RawScalar", _raw(element)) for element in operand.elements)
    if isinstance(operand, TensorAddress):
        *between, coordinates = (_raw(each) for each in (*operand.between, operand.coordinates))
        inside = cast("tuple[RawScalar, ...]", tuple(between))
        return TensorPosition(operand.map, cast("tuple[RawScalar, ...]", coordinates), inside)
    if isinstance(operand, Pair) and isinstance(operand.first, Vector):
        return RawPair(cast("tuple[RawScalar, ...]", _raw(operand.first)), operand.second)
    return operand


def mentioned(instruction: Instruction) -> list[Register]:
    """The registers of an instruction and its guard."""
    found = [] if instruction.guard is None else [instruction.guard.register]
    for operand in instruction.operands:
        found += registers_of(operand)
    return found


def number(immediate: Immediate) -> int | float:
    """The Python number of a constant, as its literal means it: one NaN stands for all."""
    formats = {"f32": ("<I", "<f"), "f64": ("<Q", "<d"), "f16": ("<H", "<e")}
    if immediate.dtype.name not in formats:
        return immediate.bits
    into, out_of = formats[immediate.dtype.name]
    value: float = struct.unpack(out_of, struct.pack(into, immediate.bits))[0]
    return math.nan if math.isnan(value) else value


def literal(immediate: Immediate) -> str:
    """A constant as Python writes it, floats with no more digits than they need."""
    value = number(immediate)
    if isinstance(value, int):
        large = value >= _LARGE and not immediate.dtype.is_signed
        return f"0x{value:X}" if large else str(value)
    if not math.isfinite(value):
        return f'float("{value}")'
    return _single(value) if immediate.dtype.name == "f32" else repr(value)


def _single(value: float) -> str:
    """A value of f32 with as few digits as tell it from others."""
    rounded = ctypes.c_float(value).value
    texts = (f"{rounded:.{digits}g}" for digits in range(1, _DIGITS_OF_F32))
    found = (text for text in texts if ctypes.c_float(float(text)).value == rounded)
    return repr(float(next(found, f"{rounded:.{_DIGITS_OF_F32}g}")))


def formal(parameter: Parameter) -> Call:
    """One parameter of a prototype."""
    more = "" if parameter.length is None else str(parameter.length)
    named: dict[str, Expression] = {"align": str(parameter.align)} if parameter.align else {}
    return call("ptx.formal", str(parameter.dtype), *([more] if more else []), **named)
