"""A whole module as a Python program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Final

from pyptx import _verify as verify
from pyptx._ir import Comment, Directive, Function, Instruction, Kernel, Module
from pyptx._lift import declarations
from pyptx._lift.body import BodyWriter, global_pointers
from pyptx._lift.layout import WIDTH, Call, Expression, Keyword, call, comment, statement, string
from pyptx._lift.naming import Names
from pyptx._operands import Parameter, Register, Variable
from pyptx._text.entries import without_entry_addresses
from pyptx.types import DTYPES

_PARTS: Final = re.compile(r"(\d+)")
_CONTRACTED: Final = frozenset(("add", "sub", "mul"))
_FLOATS: Final = frozenset(d.name for d in DTYPES.values() if d.is_float or d.is_packed)
_ROUNDINGS: Final = frozenset(("rn", "rz", "rm", "rp"))


def lift(module: Module, file: str = "") -> str:
    """The pyptx program for a module: a `@kernel` for each kernel.

    `file` is named in its docstring. Traced, each kernel gives PTX that assembles to the machine
    code of the module. Formatted as ruff format does. A register that is read where nothing has set
    it is one of `reg.undefined`. A kernel that takes the address of another one is left out, with a
    comment that says so. Raises SpecError for what the checks of the language refuse, LanguageError
    where no kernel is left.
    """
    module, left_out = without_entry_addresses(module)
    module = replace(module, kernels=tuple(map(_with_undefined, module.kernels)))
    verify.verify(module)
    return _Program(module, file, left_out).text()


def _with_undefined(kernel: Kernel) -> Kernel:
    """The kernel with the registers that it reads where nothing has set them."""
    found = frozenset(register.index for register, _ in verify.unset_reads(kernel))
    return replace(kernel, undefined=kernel.undefined | found)


@dataclass
class _Program:
    module: Module
    file: str
    left_out: Mapping[str, str]
    symbols: dict[Variable | Parameter | str, str] = field(
        default_factory=dict["Variable | Parameter | str", str]
    )
    names: Names = field(default_factory=Names)

    def text(self) -> str:
        """The program."""
        module = self.module
        late = [v for v in module.variables if self._needs_functions(v)]
        early = [v for v in module.variables if v not in late]
        for variable in module.variables:
            self.symbols[variable] = self.names.new(variable.name, "variable")
        for function in (*module.functions, *module.kernels):
            fallback = "entry" if isinstance(function, Kernel) else "function"
            self.symbols[function.name] = self.names.new(function.name, fallback)
        parts = [self._variables(early)]
        parts += [self._function(function) for function in module.functions]
        parts.append(self._variables(late))
        parts += [self._kernel(kernel) for kernel in module.kernels]
        parts += [[line for each in self.left_out.items() for line in _left_out(*each)]]
        blocks = ["\n".join(part) for part in parts if part]
        joined = "\n\n\n".join(blocks)
        head = self._head(joined)
        space = ["", ""] if blocks and blocks[0].startswith("@") else [""]
        return "\n".join([*head, *space, joined]) + "\n" if blocks else "\n".join(head) + "\n"

    # ---- the head --------------------------------------------------------------------------------

    def _head(self, body: str) -> list[str]:
        """Docstring, comments and imports."""
        source = f" from {self.file}" if self.file else ""
        lines = [f'"""Kernels{source}, for {self.module.target.current}."""', ""]
        notes = [line for each in self._first_comments() for line in comment(0, each.text)]
        lines += [*notes, ""] if notes else []
        text = re.sub(r"  *# .*", "", body)
        words = set(re.findall(r"(?<![\w.\"])[A-Za-z_]\w*\b(?!\"|=)", text))
        lines += _import("pyptx", words & {"Tensor", "kernel", "ptx", "reg", "smem"})
        lines += _import("pyptx.types", words & DTYPES.keys())
        return lines

    def _first_comments(self) -> Iterable[Comment]:
        """The comments that begin the file."""
        last = 0
        for each in self.module.comments:
            text = each.text.strip("/* \n")
            if each.column != 1 or each.line > last + 3 or text.startswith("."):
                return
            last = each.line + each.text.count("\n")
            if text and "has been demoted" not in text:
                yield each

    # ---- variables -------------------------------------------------------------------------------

    def _needs_functions(self, variable: Variable) -> bool:
        functions = {function.name for function in self.module.functions}
        return any(initial.of in functions for initial in variable.addresses)

    def _variables(self, variables: list[Variable]) -> list[str]:
        lines: list[str] = []
        names: dict[object, str] = {v.name: self.symbols[v] for v in self.module.variables}
        names |= {f.name: self.symbols[f.name] for f in self.module.functions}
        for variable in variables:
            made = declarations.of_module(variable, names)
            lines += statement(0, f"{self.symbols[variable]} = ", made)
        return lines

    # ---- functions and kernels -------------------------------------------------------------------

    def _function(self, function: Function) -> list[str]:
        name = self.symbols[function.name]
        named: dict[str, Expression] = {}
        if name != function.name:
            named["name"] = string(function.name)
        if function.linkage not in ("", "extern") or (
            function.linkage and function.body is not None
        ):
            named["linkage"] = string(function.linkage)
        if any(directive.name == "noreturn" for directive in function.directives):
            named["noreturn"] = "True"
        if function.body is None:
            named["external"] = "True"
        lines = statement(0, "@", call("ptx.func", **named)) if named else ["@ptx.func"]
        return [*lines, f"def {name}() -> None:", *self._body(function)]

    def _kernel(self, kernel: Kernel) -> list[str]:
        module = self.module
        name = self.symbols[kernel.name]
        named: list[Expression] = []
        if name != kernel.name:
            named.append(Keyword("name", string(kernel.name)))
        named += [
            Keyword("arch", string(str(module.target.current))),
            Keyword("version", string(str(max(module.version, module.target.current.version)))),
        ]
        named += [_directive(directive) for directive in kernel.directives]
        sizes = {directive.name: directive.values for directive in kernel.directives}
        for directive, option in (("reqntid", "block"), ("reqnctapercluster", "cluster")):
            if directive in sizes:
                named.append(Keyword(option, _values(sizes[directive])))
        if _contracts(kernel) or any(map(_contracts, module.functions)):
            named.append(Keyword("contract", "True"))
        lines = statement(0, "@", call("kernel", *named))
        scope = Names(self.names.taken)
        pointers = bool(global_pointers(kernel))
        takes = ""
        if pointers:
            fits = self._takes_tensors(kernel, scope)
            pointers = fits is not None
            takes = fits or ""
        line = f"def {name}({takes}) -> None:"
        head = [*lines, line if len(line) <= WIDTH else f"def {name}({takes}):"]
        return [*head, *self._body(kernel, scope, pointers=pointers)]

    def _takes_tensors(self, kernel: Kernel, scope: Names) -> str | None:
        """The parameters of the Python function where all are addresses of tensors."""
        for parameter in kernel.parameters:
            name = scope.new(parameter.name, "tensor")
            if name != parameter.name:
                return None
            self.symbols[parameter] = name
        return ", ".join(f"{p.name}: Tensor" for p in kernel.parameters)

    def _body(
        self, function: Kernel | Function, scope: Names | None = None, *, pointers: bool = False
    ) -> list[str]:
        scope = scope or Names(self.names.taken)
        formals: list[Parameter | Register] = [
            *(function.returns if isinstance(function, Function) else ()),
            *function.parameters,
        ]
        declared: list[tuple[str, Call]] = []
        for formal in () if pointers else formals:
            if isinstance(formal, Parameter):
                self.symbols[formal] = scope.new(formal.name, "param")
                declared.append((self.symbols[formal], declarations.parameter(formal)))
        for variable in function.variables:
            if variable not in self.module.variables:
                self.symbols[variable] = scope.new(variable.name, variable.space)
                declared.append((self.symbols[variable], declarations.own(variable)))
        body: list[str] = []
        if function.body is not None:
            writer = BodyWriter(
                function,
                self.module.target.current,
                scope,
                self.symbols,
                self.module.comments,
                pointers=pointers,
            )
            body = writer.lines
            for formal in formals:
                if isinstance(formal, Register):
                    returned = isinstance(function, Function) and formal in function.returns
                    head = "ptx.returned_register" if returned else "ptx.param_register"
                    declared.append((writer.formals[formal], call(head, str(formal.dtype))))
        words = set(re.findall(r"\w+", "\n".join(body)))
        lines: list[str] = []
        for name, made in declared:
            lines += statement(4, f"{name} = " if name in words else "", made)
        options = [option for option in self.module.options if option != "debug"]
        lines += [f"    ptx.target_options({string(option)})" for option in options]
        pragmas = (*self.module.pragmas, *function.pragmas)
        lines += [f"    ptx.pragma({string(text)}, whole=True)" for text in pragmas]
        if body == ["    pass"] and lines:
            return lines
        return [*lines, *body] or ["    pass"]


def _left_out(kernel: str, named: str) -> list[str]:
    return comment(
        0,
        f"{kernel} is left out: it takes the address of the kernel {named},\n"
        "and each kernel here is a module of its own.",
    )


def _import(module: str, names: Set[str]) -> list[str]:
    """An import as ruff sorts it: numbers in names by their value."""
    if not names:
        return []
    listed = sorted(names, key=lambda n: [int(p) if p.isdigit() else p for p in _PARTS.split(n)])
    line = f"from {module} import {', '.join(listed)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in listed), ")"]


def _directive(directive: Directive) -> Keyword:
    return Keyword(directive.name, _values(directive.values) if directive.values else "True")


def _values(values: tuple[int, ...]) -> str:
    return str(values[0]) if len(values) == 1 else str(values)


def _contracts(function: Kernel | Function) -> bool:
    """Whether the assembler may fuse instructions of a body as long as nobody forbids it."""
    return any(
        isinstance(statement, Instruction)
        and statement.form.opcode in _CONTRACTED
        and statement.modifiers[-1] in _FLOATS
        and not _ROUNDINGS & set(statement.modifiers)
        for statement in function.body or ()
    )
