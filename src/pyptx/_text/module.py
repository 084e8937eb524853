"""A whole PTX file to a module.

    module = parse(Path("kernel.ptx").read_text(), "kernel.ptx")

Instructions go through the ISA table as those of Python do, for the target and version that the
file names. What text cannot say of a traced kernel is `normal_form`'s subject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Final

from pyptx._frozen import uncollected
from pyptx._ir import CodeLabel, Debug, Directive, Function, Kernel, Module, Section
from pyptx._isa import directives
from pyptx._operands import Parameter, Register
from pyptx._target import PTX_FOR_TARGET, PtxVersion, Target
from pyptx._text import declarations
from pyptx._text.body import BodyParser, strings
from pyptx._text.expressions import Expressions
from pyptx._text.lexer import Cursor, Source, Token
from pyptx._text.unit import Unit, notes_for_text
from pyptx.errors import IsaError

TEXT: Final = "<ptx>"
"""The file name of text that comes from no file."""

_OPTIONS: Final = ("texmode_unified", "texmode_independent", "debug", "map_f64_to_f32")
_OF_FUNCTIONS: Final = ("noreturn", "abi_preserve", "abi_preserve_control")
_EXPECTED: Final = "a directive such as .visible .entry .func .global .file"


def parse(text: str, file: str = TEXT) -> Module:
    """The module that a PTX file means.

    Registers are numbered in the order in which each body first names them, labels in the order of
    their places, and scopes are gone; comments are in `Module.comments`, `.loc` lines at their
    instructions, and locations of instructions are lines of the file. Raises ParseError for
    everything that PTX or the ISA table does not have, with line, column and what was expected.
    """
    with uncollected():
        return _ModuleParser(Source(text.rstrip("\0"), file or TEXT)).module()


def in_order(functions: Iterable[Function]) -> tuple[Function, ...]:
    """Functions as a module has them: those that it only declares stand before the others."""
    return tuple(sorted(functions, key=lambda function: function.body is not None))


class _ModuleParser:
    def __init__(self, source: Source) -> None:
        self._cursor = Cursor(source)
        self._expressions = Expressions(self._cursor)
        self._kernels: dict[str, Kernel] = {}
        self._declared_kernels: dict[str, Token] = {}
        self._options: tuple[str, ...] = ()
        self._pragmas: list[str] = []
        self._aliases: list[tuple[str, str]] = []
        self._files: list[tuple[int, str]] = []
        self._sections: list[tuple[str, list[Token]]] = []
        spaces = ("global", "const", "shared")
        self._readers: dict[str, Callable[[], None]] = {
            ".address_size": self._address_size,
            ".entry": self._kernel,
            ".func": self._function,
            ".pragma": self._pragma,
            ".alias": self._alias,
            ".file": self._file,
            ".section": self._section,
            **{f".{word}": partial(self._linked, word) for word in declarations.LINKAGES},
            **{f".{space}": partial(self._variables, space) for space in spaces},
        }
        version = self._version()
        self._unit = Unit(version, self._target(version), source.name)

    def module(self) -> Module:
        """Read the file to its end."""
        cursor, unit = self._cursor, self._unit
        while (token := cursor.next()).kind != "end":
            read = self._readers.get(token.text) if token.kind == "dotted" else None
            if read is not None:
                read()
            elif token.text != ";":
                raise cursor.out_of_place(token, _EXPECTED)
        for name, token in self._declared_kernels.items():
            raise cursor.error(token, f"the kernel {name} is declared and has no body", "{")
        sections = tuple(Section(name, self._content(tokens)) for name, tokens in self._sections)
        return Module(
            unit.version,
            unit.target,
            tuple(self._kernels.values()),
            in_order(unit.functions.values()),
            tuple(unit.variables.values()),
            self._options,
            tuple(self._pragmas),
            tuple(self._aliases),
            tuple(cursor.comments),
            Debug(tuple(self._files), sections),
        )

    # ---- header ----------------------------------------------------------------------------------

    def _version(self) -> PtxVersion:
        cursor = self._cursor
        token = cursor.next()
        if token.text != ".version":
            raise cursor.out_of_place(token, ".version, with which a file begins")
        number = cursor.next()
        try:
            major, minor = number.text.split(".")
            return PtxVersion(int(major), int(minor))
        except ValueError:
            raise cursor.out_of_place(number, "a version such as 8.7") from None

    def _target(self, version: PtxVersion) -> Target:
        cursor = self._cursor
        token = cursor.next()
        if token.text != ".target":
            raise cursor.out_of_place(token, ".target")
        name = cursor.name("a target such as sm_90a")
        try:
            target = Target.of_file(name.text)
        except ValueError:
            known = " ".join(map(str, PTX_FOR_TARGET))
            raise cursor.error(name, f"{name.text} is no target that is known", known) from None
        if version < target.version:
            problem = f"PTX {version} does not know {target}"
            raise cursor.source.error(name.offset, problem, ("first in", f"PTX {target.version}"))
        while cursor.take(","):
            option = cursor.name("an option")
            if option.text not in _OPTIONS:
                raise cursor.out_of_place(option, " ".join(_OPTIONS))
            self._options = (*self._options, option.text)
        return target

    def _address_size(self) -> None:
        token = self._cursor.peek()
        size = self._expressions.plain()
        if size != 64:
            raise self._cursor.error(token, f"addresses of {size} bits", "64")

    # ---- variables and functions -----------------------------------------------------------------

    def _linked(self, linkage: str) -> None:
        token = self._cursor.next()
        if token.text == ".entry":
            self._kernel(linkage)
        elif token.text == ".func":
            self._function(linkage)
        elif token.text in (".global", ".const", ".shared"):
            self._variables(token.text[1:], linkage)
        else:
            raise self._cursor.out_of_place(token, ".entry .func .global .const .shared")

    def _variables(self, space: str, linkage: str = "") -> None:
        cursor, unit = self._cursor, self._unit
        for token, variable in declarations.variables(
            cursor, self._expressions, space, linkage, unit
        ):
            if token.text in unit:
                raise cursor.error(token, f"{token.text} is declared already")
            index = len(unit.variables)
            unit.variables[token.text] = replace(variable, index=index, name=token.text)

    def _kernel(self, linkage: str = "") -> None:
        cursor, unit = self._cursor, self._unit
        token = cursor.name("the name of a kernel")
        known = token.text in unit and token.text not in self._declared_kernels
        if token.text in self._kernels or known:
            raise cursor.error(token, f"{token.text} is declared already")
        body = BodyParser(cursor, unit, token.text)
        formals = self._formals(body, registers=False)
        parameters = tuple(each for each in formals if isinstance(each, Parameter))
        given, pragmas = self._directives()
        unit.kernels.add(token.text)
        if cursor.take(";"):
            self._declared_kernels[token.text] = token
            return
        cursor.expect("{")
        self._declared_kernels.pop(token.text, None)
        body.parse()
        self._kernels[token.text] = Kernel(
            token.text,
            parameters,
            body.variables,
            given,
            body.registers,
            body.statements,
            linkage,
            pragmas,
            body.written,
        )

    def _function(self, linkage: str = "") -> None:
        cursor, unit = self._cursor, self._unit
        declarations.attributes(cursor, self._expressions)
        body = BodyParser(cursor, unit, "")
        returns = self._formals(body, returned=True) if cursor.peek().text == "(" else ()
        token = cursor.name("the name of a function")
        body.name = token.text
        before = unit.functions.get(token.text)
        if token.text in unit and (before is None or before.body is not None):
            raise cursor.error(token, f"{token.text} is declared already")
        parameters = self._formals(body)
        given, pragmas = self._directives(*_OF_FUNCTIONS)
        function = Function(token.text, returns, parameters, (), given, (), None, linkage, pragmas)
        unit.functions[token.text] = function
        if cursor.take(";"):
            return
        cursor.expect("{")
        body.parse()
        del unit.functions[token.text]
        unit.functions[token.text] = replace(
            function,
            variables=body.variables,
            registers=body.registers,
            body=body.statements,
            written=body.written,
        )

    def _formals(
        self, body: BodyParser, *, returned: bool = False, registers: bool = True
    ) -> tuple[Parameter | Register, ...]:
        """The parameters in their parentheses, known to the body from here on.

        A function may have them in `registers`, a kernel may not.
        """
        cursor = self._cursor
        found: list[Parameter | Register] = []
        if not cursor.take("("):
            return ()
        while not cursor.take(")"):
            if found:
                cursor.expect(",")
            token = cursor.next()
            if token.text == ".reg" and registers:
                found.append(body.formal_register())
            elif token.text == ".param":
                name, parameter = declarations.parameter(
                    cursor, self._expressions, len(found), returned=returned
                )
                body.formal(name, parameter)
                found.append(parameter)
            else:
                raise cursor.out_of_place(token, ".param")
        return tuple(found)

    def _directives(self, *known: str) -> tuple[tuple[Directive, ...], tuple[str, ...]]:
        """The directives between the parameters and the body: `known`, or those of a kernel."""
        cursor = self._cursor
        given: dict[Token, tuple[int, ...]] = {}
        pragmas: list[str] = []
        while (token := cursor.peek()).kind == "dotted":
            cursor.next()
            if token.text == ".pragma":
                pragmas += strings(cursor)
                cursor.expect(";")
                continue
            if known and token.text[1:] not in known:
                expected = " ".join(f".{name}" for name in known)
                raise cursor.error(token, f"a function has no directive {token.text}", expected)
            values: list[int] = []
            while cursor.peek().kind == "number" or (values and cursor.take(",")):
                values.append(self._expressions.plain())
            given[token] = tuple(values)
        found = [(token.text[1:], values) for token, values in given.items()]
        if not known:
            self._check_directives(list(given), found)
        return tuple(Directive(*each) for each in found), tuple(pragmas)

    def _check_directives(
        self, tokens: list[Token], found: list[tuple[str, tuple[int, ...]]]
    ) -> None:
        try:
            directives.check(found, self._unit.target, self._unit.version)
        except IsaError as error:
            named = [t for t in tokens if t.text in error.problem.split()] or tokens
            notes = notes_for_text(error)
            raise self._cursor.source.error(named[0].offset, error.problem, *notes) from None

    # ---- everything else -------------------------------------------------------------------------

    def _alias(self) -> None:
        cursor = self._cursor
        names: list[str] = []
        for _ in range(2):
            token = cursor.name("a function")
            if token.text not in self._unit.functions:
                raise cursor.error(token, f"{token.text} is no function that is declared above")
            names.append(token.text)
            cursor.expect(";" if len(names) == 2 else ",")
        self._aliases.append((names[0], names[1]))

    def _pragma(self) -> None:
        self._pragmas += strings(self._cursor)
        self._cursor.expect(";")

    def _file(self) -> None:
        """`.file 1 "name"`, with a time and a size that are left out."""
        number = self._expressions.plain("the number of the file")
        token = self._cursor.next()
        if token.kind != "string":
            raise self._cursor.out_of_place(token, "the name of the file in quotation marks")
        while self._cursor.take(","):
            self._expressions.plain()
        name = token.text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        self._files.append((number, name))

    def _section(self) -> None:
        cursor = self._cursor
        token = cursor.next()
        if token.kind not in ("dotted", "name"):
            raise cursor.out_of_place(token, "the name of a section")
        cursor.expect("{")
        tokens: list[Token] = []
        while not cursor.take("}"):
            tokens.append(cursor.next())
            if tokens[-1].kind == "end":
                raise cursor.error(tokens[-1], f"the section {token.text} is not closed", "}")
        self._sections.append((token.text, tokens))

    def _content(self, tokens: list[Token]) -> tuple[str | CodeLabel, ...]:
        """The tokens of a section, labels of the code apart from those of sections."""
        own = {a.text for a, b in pairwise(tokens) if b.text == ":"}
        labels = self._unit.labels
        return tuple(
            labels[t.text]
            if t.kind == "name" and t.text in labels and t.text not in own
            else t.text
            for t in tokens
        )
