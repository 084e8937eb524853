"""IR to PTX text: total, deterministic, one instruction a line.

The same module gives the same text in any process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyptx._ir import (
    CodeLabel,
    Directive,
    Function,
    Instruction,
    Kernel,
    Line,
    Module,
    Place,
    Section,
)
from pyptx._operands import (
    CallTargets,
    FunctionName,
    Initial,
    Operand,
    Parameter,
    Register,
    Variable,
)
from pyptx._source import UNKNOWN, SourceLocation
from pyptx._text.instructions import HEX_FLOATS, declarations, instruction_text, parameter_text
from pyptx._text.names import DYNAMIC_SHARED, LISTING, Names, operands_of, variable_name


@dataclass(frozen=True, slots=True)
class Text:
    """PTX text and, for each of its lines that came from one, the Python line."""

    ptx: str
    lines: Mapping[int, SourceLocation]


def write(module: Module, *, lines: bool = False) -> Text:
    """The text of a module.

    With `lines`, the debug information of the module, or where it has none, `.loc` directives that
    name the source of its instructions. Sections are written as they were read but for labels of
    the code; what they say of registers, as compilers' `-G` does, is of the names before.
    """
    writer = _Writer(module, lines=lines)
    writer.write()
    return Text("\n".join(writer.out) + "\n", writer.locations)


class _Writer:
    def __init__(self, module: Module, *, lines: bool) -> None:
        self.out: list[str] = []
        self.locations: dict[int, SourceLocation] = {}
        self._module = module
        self._compiled = lines and bool(module.debug.files)
        self._traced = lines and not self._compiled
        self._files: dict[str, int] = {}
        self._declared: set[Operand] = set()
        self._names: dict[str, Names] = {}
        self._first_label = 0

    def write(self) -> None:
        module = self._module
        self.out += [
            f".version {module.version}",
            f".target {', '.join((str(module.target), *module.options))}",
            ".address_size 64",
        ]
        self.out += [f'.pragma "{text}";' for text in module.pragmas]
        if self._compiled:
            self.out += [f".file {n} {_quoted(name)}" for n, name in module.debug.files]
        for function in (*_kernels_named(module), *_declared_first(module)):
            kernel = isinstance(function, Kernel)
            declared = replace(function, directives=()) if kernel else function
            self.out += ["", *_head(declared, Names(function))]
            self.out[-1] += ";"
        for variable in module.variables:
            self.out += ["", variable_text(variable, variable_name(variable))]
        for function in module.functions:
            if function.body is not None:
                self._number_files(function)
                self.out.append("")
                self._function(function)
        self.out += [f".alias {name}, {function};" for name, function in module.aliases]
        for kernel in module.kernels:
            self._kernel(kernel)
        if self._compiled:
            for section in module.debug.sections:
                self._section(section)

    def _kernel(self, kernel: Kernel) -> None:
        """A kernel, and before it what it has in memory that belongs to the module."""
        self._number_files(kernel)
        names = Names(kernel)
        shared = frozenset(self._module.variables)
        for variable in kernel.variables:
            if variable.space in ("const", "global") and variable not in shared:
                self.out += ["", variable_text(variable, names.variables[variable])]
        if kernel.shared.dynamic:
            layout = kernel.shared
            self.out += ["", f".extern .shared .align {layout.align} .b8 {DYNAMIC_SHARED}[];"]
        self.out.append("")
        self._function(kernel)

    def _number_files(self, kernel: Kernel | Function) -> None:
        if not self._traced:
            return
        for statement in kernel.body or ():
            if isinstance(statement, Instruction) and statement.location is not UNKNOWN:
                file = statement.location.file
                if file not in self._files:
                    self._files[file] = len(self._files) + 1
                    self.out.append(f".file {self._files[file]} {_quoted(file)}")

    def _function(self, function: Kernel | Function) -> None:
        names = self._names[function.name] = Names(function, self._first_label)
        if self._compiled:  # sections name labels of all bodies
            self._first_label += len(names.labels)
        self._declared = set()
        self.out += _head(function, names)
        self.out += [f'.pragma "{text}";' for text in function.pragmas]
        self.out.append("{")
        self.out += names.declarations
        self.out += _local_variables(function, names, self._module.variables)
        self._body(function, names)
        self.out.append("}")

    def _body(self, function: Kernel | Function, names: Names) -> None:
        previous: SourceLocation | Line | None = UNKNOWN
        for statement in function.body or ():
            if isinstance(statement, Place):
                self.out.append(f"{names.labels[statement.label]}:")
                continue
            line = statement.debug if self._compiled else statement.location
            if (self._traced or self._compiled) and line != previous:
                self._loc(line)
                previous = line or previous
            self.out += [f'    .pragma "{text}";' for text in statement.pragmas]
            listed = declarations(statement, names) if statement.form.opcode in LISTING else ()
            for operand, text in listed:
                if operand not in self._declared:
                    self._declared.add(operand)
                    self.out.append(f"    {text}")
            self.out.append(f"    {instruction_text(statement, names)}")
            if statement.location is not UNKNOWN:
                self.locations[len(self.out)] = statement.location

    def _loc(self, line: SourceLocation | Line | None) -> None:
        if isinstance(line, Line):
            for each in line.before:
                self._loc(each)
            inlined = f", {line.inlined}" if line.inlined else ""
            self.out.append(f"    .loc {line.file} {line.line} {line.column}{inlined}")
            for place in line.intermediate:
                self.out.append(f"    .loc_intermediate {' '.join(map(str, place))}")
        elif line is not None and line is not UNKNOWN:
            self.out.append(f"    .loc {self._files[line.file]} {line.line} 0")

    def _section(self, section: Section) -> None:
        """A section of debug information, each of its directives on a line."""
        self.out += ["", f".section {section.name}", "{"]
        line = ""
        for token in section.content:
            text = self._code_label(token) if isinstance(token, CodeLabel) else token
            if text.startswith(".") and line:
                self.out.append(line)
                line = ""
            line += text if text in (",", ":") or not line else f" {text}"
            if text == ":":
                self.out.append(line)
                line = ""
        self.out += [line, "}"] if line else ["}"]

    def _code_label(self, token: CodeLabel) -> str:
        return self._names[token.function].labels[token.label]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _declared_first(module: Module) -> Iterable[Function]:
    """The functions that are named before they are defined, or defined in another module."""
    named = {i.of for v in module.variables for i in v.addresses}
    for function in module.functions:
        if function.body is not None:
            named |= _functions_named(function) - {function.name}
        if function.body is None or function.name in named:
            yield function


def _kernels_named(module: Module) -> Iterable[Kernel]:
    """The kernels whose addresses something of the module has."""
    named = {i.of for v in module.variables for i in v.addresses}
    named = named.union(*map(_functions_named, (*module.functions, *module.kernels)))
    return (kernel for kernel in module.kernels if kernel.name in named)


def _functions_named(function: Kernel | Function) -> set[str]:
    found: set[str] = set()
    for operand in operands_of(function):
        if isinstance(operand, FunctionName):
            found.add(operand.name)
        elif isinstance(operand, CallTargets):
            found.update(f.name for f in operand.functions)
    return found


def _head(function: Kernel | Function, names: Names) -> list[str]:
    """Everything before the body: linkage, results, name, parameters and directives."""
    linkage = f".{function.linkage} " if function.linkage else ""
    kind, returns = ".entry", ""
    if isinstance(function, Function):
        kind = ".func"
        returns = ", ".join(_formals(function.returns, names))
        returns = f"({returns}) " if returns else ""
    parameters = ",\n".join(f"    {p}" for p in _formals(function.parameters, names))
    listed = f"(\n{parameters}\n)" if parameters else "()"
    head = f"{linkage}{kind} {returns}{function.name}{listed}".split("\n")
    return head + [_directive(d) for d in function.directives]


def _formals(parameters: Sequence[Parameter | Register], names: Names) -> list[str]:
    return [
        parameter_text(p, names.parameters[p])
        if isinstance(p, Parameter)
        else f".reg .{p.dtype.storage} {names.registers[p.index]}"
        for p in parameters
    ]


def _directive(directive: Directive) -> str:
    values = ", ".join(map(str, directive.values))
    return f".{directive.name} {values}".rstrip()


def _local_variables(
    function: Kernel | Function, names: Names, module: tuple[Variable, ...]
) -> list[str]:
    shared = frozenset(module)
    dynamic = isinstance(function, Kernel) and function.shared.dynamic
    return [
        f"    {variable_text(v, names.variables[v])}"
        for v in function.variables
        if v not in shared
        and (v.space in ("local", "param") or (v.space == "shared" and not dynamic))
    ]


def variable_text(variable: Variable, name: str) -> str:
    """The declaration of a variable with its initial value."""
    parts = [variable.linkage, variable.space]
    parts += [f"attribute({', '.join(f'.{a}' for a in variable.attributes)})"] * bool(
        variable.attributes
    )
    head = " ".join(f".{part}" for part in parts if part)
    if variable.opaque:
        return f"{head} .{variable.opaque} {name};"
    head += f" .align {variable.align} .{variable.dtype} {name}{_extent(variable)}"
    if not variable.initial and not variable.addresses:
        return f"{head};"
    values = ", ".join(_values(variable))
    return f"{head} = {values};" if not _extent(variable) else f"{head} = {{{values}}};"


def _extent(variable: Variable) -> str:
    """The brackets of an array; a single element of more than a byte is written without."""
    width = variable.dtype.bytes
    if variable.size == width and width > 1:
        return ""
    return f"[{variable.size // width}]" if variable.size else "[]"


def _values(variable: Variable) -> list[str]:
    width = variable.dtype.bytes
    data = variable.initial.ljust(variable.size, b"\0") if variable.addresses else variable.initial
    words = (data[i : i + width] for i in range(0, len(data), width))
    values = [_value(int.from_bytes(word, "little"), variable) for word in words]
    for initial in variable.addresses:
        values[initial.offset // width] = initial_text(initial)
    return values


def _value(bits: int, variable: Variable) -> str:
    if variable.dtype.name in HEX_FLOATS:
        prefix, digits = HEX_FLOATS[variable.dtype.name]
        return f"{prefix}{bits:0{digits}X}"
    return str(bits)


def initial_text(initial: Initial) -> str:
    """An address in an initial value: `generic(name)+4`, of it a byte `0xFF00(name)`."""
    text = f"generic({initial.of})" if initial.generic else initial.of
    text += f"+{initial.addend}" if initial.addend else ""
    return f"0x{initial.mask:X}({text})" if initial.mask else text
