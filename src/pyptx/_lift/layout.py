"""Python expressions and statements as text, laid out as ruff format lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

WIDTH: Final = 100
"""The longest line."""


@dataclass(frozen=True, slots=True)
class Call:
    """`head(arguments)`, or `[arguments]` where `head` is empty."""

    head: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Keyword:
    """`name=value` in a call."""

    name: str
    value: Expression


Expression: TypeAlias = "str | Call | Keyword"


def call(head: str, *arguments: Expression, **keywords: Expression) -> Call:
    """A call of something."""
    named = (Keyword(name, value) for name, value in keywords.items())
    return Call(head, (*arguments, *named))


def flat(expression: Expression) -> str:
    """The expression on one line."""
    if isinstance(expression, Keyword):
        return f"{expression.name}={flat(expression.value)}"
    if isinstance(expression, str):
        return expression
    inside = ", ".join(map(flat, expression.arguments))
    return f"{expression.head}({inside})" if expression.head else f"[{inside}]"


def statement(indent: int, before: str, expression: Expression, after: str = "") -> list[str]:
    """The lines of a statement: `before`, the expression, `after`."""
    space = " " * indent
    line = f"{space}{before}{flat(expression)}{after}"
    if len(line) <= WIDTH or isinstance(expression, str):
        return [line]
    if isinstance(expression, Keyword):
        return statement(indent, f"{before}{expression.name}=", expression.value, after)
    if not expression.arguments:
        return [line]
    opening, closing = f"{expression.head}(" if expression.head else "[", ")"
    closing = closing if expression.head else "]"
    if before and len(f"{space}{before}{opening}") > WIDTH:
        return [f"{space}{before}(", *statement(indent + 4, "", expression), f"{space}){after}"]
    inside = f"{space}    {', '.join(map(flat, expression.arguments))}"
    if expression.head and len(inside) <= WIDTH:
        return [f"{space}{before}{opening}", inside, f"{space}{closing}{after}"]
    lines = [f"{space}{before}{opening}"]
    for argument in expression.arguments:
        lines += statement(indent + 4, "", argument, ",")
    return [*lines, f"{space}{closing}{after}"]


def string(text: str) -> str:
    """A string literal in double quotes where that needs no escapes."""
    if text.isprintable() and not {'"', "\\"} & set(text):
        return f'"{text}"'
    return repr(text)


def comment(indent: int, text: str) -> list[str]:
    """A comment of PTX as one of Python."""
    text = text.removeprefix("/*").removesuffix("*/").removeprefix("//")
    lines = [line.strip().lstrip("*/").strip() for line in text.splitlines()]
    return [f"{' ' * indent}# {line}" for line in lines if line]
