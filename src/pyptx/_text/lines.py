"""Lines of a body that hold one whole instruction of the usual words, a label, `.reg` or `.loc`.

Almost all text is such lines, so they are read without tokens: a line is split into words, the
words are looked up, and what they are together is looked up as a shape. Every other line, and so
every error, takes the way over tokens.
"""

from __future__ import annotations

import re
from typing import Final

from pyptx._frozen import constructor
from pyptx._ir import Comment, Instruction, Line
from pyptx._source import SourceLocation
from pyptx._text.lexer import Cursor
from pyptx._text.scopes import Declared, FlatBody
from pyptx._text.shapes import known_spellings, settled
from pyptx._text.unit import Unit
from pyptx._text.words import Words
from pyptx.types import DTYPES

_make_instruction: Final = constructor(Instruction)
_make_location: Final = constructor(SourceLocation)

# Lines are taken in portions: the last line of a body is not known before.
_AT_ONCE: Final = 500
# A word has its brackets and braces whole, and ends behind a comma or semicolon.
_WORD: Final = re.compile(r"(?:[^\s,;{}\[\]]|\{[^{}]*\}|\[[^\[\]]*\])+[,;]?|\S")
# Between operands, not in the braces of one.
_COMMA: Final = re.compile(r", (?![^{]*\})")
_HEAD: Final = re.compile(r"\s*([^\s;]+)\s*(.*)", re.DOTALL)
_NAME: Final = r"[A-Za-z][\w$]*|[_$][\w$]+"
_REG: Final = re.compile(
    rf"\s*\.reg\s+\.(\w+)\s+(%[\w$]+|{_NAME})(?:<([1-9]\d{{0,8}})>)?\s*;\s*", re.ASCII
)
_LABEL: Final = re.compile(rf"\s*({_NAME})\s*:\s*", re.ASCII)
_LISTS: Final = (".branchtargets", ".calltargets", ".callprototype")
_NUMBER: Final = r"(0|[1-9]\d{0,8})"
_PLACE: Final = rf"\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s*"
_LOC: Final = re.compile(
    rf"\s*\.loc{_PLACE}(?:,\s*function_name\s+({_NAME})\s*,\s*inlined_at{_PLACE})?", re.ASCII
)


class LineReader:
    """Reads lines of a body at a cursor; who reads the others tells of scopes and declarations."""

    def __init__(self, cursor: Cursor, unit: Unit, flat: FlatBody) -> None:
        self._cursor = cursor
        self._unit = unit
        self._flat = flat
        self._spellings = known_spellings(unit.target, unit.version)
        self._words = [Words(flat, unit)]

    @property
    def words(self) -> Words:
        """What words mean in the innermost scope."""
        return self._words[-1]

    def open(self) -> None:
        """A scope begins."""
        self._words.append(Words(self._flat, self._unit))

    def close(self) -> None:
        """A scope ends."""
        self._words.pop()

    def read(self) -> bool:
        """Read lines as long as they are usual; whether there was one.

        This loop is most of the time of a parse, so it calls little.
        """
        source, flat, words, file = self._cursor.source, self._flat, self.words, self._unit.file
        if source.has_other_spaces:
            return False
        offset, starts = self._cursor.offset, source.starts
        first, column = source.place(offset)
        number = first
        rest = [source.lines[first - 1][column - 1 :], *source.lines[first : first + _AT_ONCE]]
        spellings, guards, pending = self._spellings, words.guards, flat.pending
        meaning_of, append = words.__getitem__, flat.statements.append
        for number, line in enumerate(rest, first):
            try:
                guard, (head, text) = None, line.split(None, 1)
                if head in guards:
                    guard, (head, text) = guards[head], text.split(None, 1)
                shapes = spellings[head].shapes
                if text[-1] != ";":
                    text = _to_semicolon(text)
                parts = text[:-1].split(", ") if "{" not in text else _COMMA.split(text[:-1])
                operands, codes = zip(*map(meaning_of, parts), strict=True)
                form, modifiers, choices = shapes[codes]
                if choices:
                    form, operands = settled(choices, operands)
            except (LookupError, ValueError):
                start = offset if number == first else starts[number - 1]
                if not self._unusual(line, number, start):
                    break
            else:
                place = _make_location(file, number)
                pragmas = flat.take_pending() if pending else ()
                append(
                    _make_instruction(
                        form, modifiers, operands, guard, place, pragmas, flat.line, ()
                    )
                )
        else:
            number += 1
        if number > first:
            self._cursor.offset = min(starts[number - 1], len(source.text))
        return self._cursor.offset > offset

    # ---- lines that the loop does not know -------------------------------------------------------

    def _unusual(self, line: str, number: int, start: int) -> bool:
        """Read a line, which begins at an offset; False where that takes the grammar."""
        text, mark, comment = line.partition("//")
        if text and not text.isspace():
            known = self._label(text, number, start) or self._reg(text) or self._loc(text)
            if not known and not self._instruction(text, number):
                return False
        if mark:
            place = self._cursor.source.place(start + len(text))
            self._cursor.comments.append(Comment(*place, mark + comment))
        return True

    def _label(self, text: str, number: int, start: int) -> bool:
        found = _LABEL.fullmatch(text)
        if found is None or self._is_list(number):
            return False
        seen = self._flat.seen(found[1], start + found.start(1))
        if not seen.placed:
            self._flat.place(seen)
            return True
        return False

    def _is_list(self, number: int) -> bool:
        """Whether the label of a line is the name of a list on the next line."""
        lines = self._cursor.source.lines
        return number < len(lines) and lines[number].lstrip().startswith(_LISTS)

    def _reg(self, text: str) -> bool:
        found = _REG.fullmatch(text)
        if found is None or found[1] not in DTYPES:
            return False
        scope, (kind, name, count) = self._flat.scope, found.groups()
        if name in scope.ranges if count else name in scope.names or scope.in_range(name):
            return False
        self.words.forget()
        if count:
            scope.ranges[name] = DTYPES[kind], int(count)
        else:
            scope.names[name] = Declared(DTYPES[kind])
        return True

    def _loc(self, text: str) -> bool:
        found = _LOC.fullmatch(text)
        if found is None:
            return False
        file, line, column, function, *place = found.groups()
        inlined = f"function_name {function}, inlined_at {' '.join(place)}" if function else ""
        self._flat.pending.append(Line(int(file), int(line), int(column), inlined))
        return True

    def _instruction(self, text: str, number: int) -> bool:
        """An instruction with a guard, words or a shape that are new, or other spaces."""
        words, guard = self.words, None
        try:
            head, rest = _head(text)
            if head[0] == "@":
                guard = words.guard(head)
                head, rest = _head(rest)
            spelled = self._spellings.learn(head)
            meanings = [words[each] for each in _operands(rest)]
            operands = tuple(operand for operand, _ in meanings)
            codes = tuple(code for _, code in meanings)
            form, modifiers, choices = spelled.shape(codes, operands)
            if choices:
                form, operands = settled(choices, operands)
        except LookupError:
            return False
        place = _make_location(self._unit.file, number)
        pragmas = self._flat.take_pending()
        self._flat.statements.append(
            _make_instruction(form, modifiers, operands, guard, place, pragmas, self._flat.line, ())
        )
        return True


def _to_semicolon(text: str) -> str:
    """A line without the spaces at its end. Raises KeyError where no semicolon is before them."""
    text = text.rstrip()
    if text[-1:] != ";":
        raise KeyError(text)
    return text


def _head(text: str) -> tuple[str, str]:
    """The first word of an instruction, and the rest to the semicolon. Raises KeyError."""
    found = _HEAD.fullmatch(text)
    if found is None:
        raise KeyError(text)
    return found[1], found[2]


def _operands(text: str) -> list[str]:
    """The operands before a semicolon, with commas between them. Raises KeyError."""
    words = _WORD.findall(text)
    ends = [word[-1] for word in words]
    if ends != [*[","] * (len(words) - 1), ";"]:
        raise KeyError(text)
    return [word[:-1] for word in words] if len(words) > 1 or len(words[0]) > 1 else []
