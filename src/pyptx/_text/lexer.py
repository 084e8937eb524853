"""PTX text to tokens, read as they are asked for, and the errors that point into the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from pyptx._ir import Comment
from pyptx._source import SourceLocation
from pyptx.errors import PtxError


class ParseError(PtxError):
    """Text that is not PTX. The message has line, column and what was expected.

    For a file it also has the line of the text, with a mark below the column; `column` is from 1.
    """

    def __init__(
        self,
        problem: str,
        *,
        location: SourceLocation | None = None,
        notes: tuple[tuple[str, str], ...] = (),
        column: int = 0,
        source: str = "",
    ) -> None:
        self.column = column
        self.source = source
        super().__init__(problem, location=location, notes=notes)

    def render(self) -> str:
        """The whole message: place and problem, the line with a mark, then the labelled notes."""
        if not self.column:
            return super().render()
        line = self.source.expandtabs(1)
        shown = line.strip()
        left = self.column - 1 - (len(line) - len(line.lstrip()))
        lines = [f"{self.location}:{self.column}: {self.problem}"]
        if shown:
            lines += [f"    {shown}", f"    {' ' * max(left, 0)}^"]
        return "\n".join([*lines, *(f"  {label}: {text}" for label, text in self.notes)])


_OTHER_SPACES: Final = [c for c in map(chr, range(0x3001)) if c.isspace() and c not in " \t\r\n"]


@dataclass(frozen=True)
class Source:
    """A text and the name of its file; "" where it is no file but part of a program."""

    text: str
    name: str = ""

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, without their ends."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line, and that of one behind the last."""
        return [0, *accumulate(map((1).__add__, map(len, self.lines)))]

    @cached_property
    def has_other_spaces(self) -> bool:
        """Whether there are spaces in the text that PTX does not have as such."""
        return any(space in self.text for space in _OTHER_SPACES)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def error(self, offset: int, problem: str, *notes: tuple[str, str]) -> ParseError:
        """An error at an offset."""
        line, column = self.place(offset)
        if not self.name:
            return ParseError(f"line {line}, column {column}: {problem}", notes=notes)
        location = SourceLocation(self.name, line)
        return ParseError(
            problem, location=location, notes=notes, column=column, source=self.lines[line - 1]
        )


class Token(NamedTuple):
    """A token and where it begins. `kind` is the name of a group of the lexer's pattern, or end."""

    kind: str
    text: str
    offset: int

    @property
    def end(self) -> int:
        return self.offset + len(self.text) if self.kind != "end" else self.offset


_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<float>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b
          |\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
      | (?P<number>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)
      | (?P<name>[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+|_)
      | (?P<dotted>\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+(?::\d+)?)*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<mark><<|>>|<=|>=|==|!=|&&|\|\||/(?!\*)|[@!,;:{}\[\]()|<>+\-=*%&^~?])""",
    re.VERBOSE | re.DOTALL,
)


class Cursor:
    """Reads tokens of a text in order; comments are put aside."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.comments: list[Comment] = []
        self._position = 0
        self._ahead: list[Token] = []
        self._last = 0

    @property
    def offset(self) -> int:
        """Where the next token, or the space before it, begins."""
        return self._ahead[0].offset if self._ahead else self._position

    @offset.setter
    def offset(self, value: int) -> None:
        self._position = value
        self._ahead.clear()

    @property
    def last(self) -> int:
        """Where the last token that was taken ends."""
        return self._last

    def peek(self, ahead: int = 0) -> Token:
        """A token that is still to come, the next one or one after it. Raises ParseError."""
        while len(self._ahead) <= ahead:
            self._ahead.append(self._read())
        return self._ahead[ahead]

    def next(self) -> Token:
        """Take a token. At the end of the text it is one of kind "end", again and again."""
        token = self._ahead.pop(0) if self._ahead else self._read()
        if token.kind == "end":
            self._ahead.insert(0, token)
        else:
            self._last = token.offset + len(token.text)
        return token

    def take(self, mark: str) -> bool:
        """Take a mark if it comes next."""
        token = self.peek()
        if token.text != mark or token.kind != "mark":
            return False
        self.next()
        return True

    def expect(self, mark: str) -> None:
        """Take a mark. Raises ParseError where something else comes next."""
        if not self.take(mark):
            raise self.out_of_place(self.peek(), mark)

    def name(self, what: str) -> Token:
        """Take a name. Raises ParseError that says what was expected."""
        token = self.next()
        if token.kind != "name":
            raise self.out_of_place(token, what)
        return token

    def error(self, token: Token, problem: str, expected: str = "") -> ParseError:
        """An error at a token."""
        notes = (("expected", expected),) if expected else ()
        return self.source.error(token.offset, problem, *notes)

    def out_of_place(self, token: Token, expected: str) -> ParseError:
        """The error where one thing was expected and another one came."""
        return self.error(token, f"{token.text!r} is out of place", expected)

    def _read(self) -> Token:
        text, position = self.source.text, self._position
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise self._unreadable(position)
            kind = match.lastgroup or ""
            self._position = match.end()
            if kind == "comment":
                self.comments.append(Comment(*self.source.place(position), match[0]))
            elif kind != "space":
                return Token(kind, match[0], position)
            position = self._position
        self._position = position
        return Token("end", "the end", position)

    def _unreadable(self, position: int) -> ParseError:
        text = self.source.text
        if text.startswith("/*", position):
            return self.source.error(position, "the comment is not closed", ("expected", "*/"))
        if text[position] == '"':
            return self.source.error(position, "the string is not closed", ("expected", '"'))
        return self.source.error(position, f"{text[position]!r} cannot stand in PTX")
