"""How large files and functions of the package may become."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pyptx

SOURCE = Path(pyptx.__file__).parent
LINES_OF_A_FILE = 700
LINES_OF_AN_OPERATION = 400  # files of `ops`, which users read before they write their own
LINES_OF_A_FUNCTION = 60

# The ISA rows are data, one row an instruction; what is generated from them, the stubs, is .pyi.
DATA = ("_isa/forms/",)


def files(*suffixes: str) -> list[Path]:
    """Files of the package by suffix, without those that are exempt."""
    found = [each for suffix in suffixes for each in SOURCE.rglob(f"*{suffix}")]
    assert len(found) > 50
    return sorted(f for f in found if not str(f.relative_to(SOURCE)).startswith(DATA))


def long_functions(text: str) -> Iterator[tuple[str, int]]:
    """Functions of more lines than one may have, and how many.

    A docstring is not counted: it is the contract of the function, as long as that needs.
    """
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        assert node.end_lineno is not None
        lines = node.end_lineno - node.lineno + 1
        if ast.get_docstring(node, clean=False) is not None:
            contract = node.body[0]
            assert contract.end_lineno is not None
            lines -= contract.end_lineno - contract.lineno + 1
        if lines > LINES_OF_A_FUNCTION:
            yield node.name, lines


def test_no_file_is_too_long():
    lines = {
        str(f.relative_to(SOURCE)): len(f.read_text().splitlines())
        for f in files(".py", ".cpp", ".cc", ".h")
    }
    too_long = {
        name: count
        for name, count in lines.items()
        if count > (LINES_OF_AN_OPERATION if name.startswith("ops/") else LINES_OF_A_FILE)
    }
    assert too_long == {}


def test_no_function_is_too_long():
    found = {
        f"{file.relative_to(SOURCE)}: {name}": lines
        for file in files(".py")
        for name, lines in long_functions(file.read_text())
    }
    assert found == {}


@pytest.mark.parametrize("lines", [LINES_OF_A_FUNCTION, LINES_OF_A_FUNCTION + 1])
@pytest.mark.parametrize("head", ["def f():", "async def f():"])
def test_long_functions_are_seen(head: str, lines: int):
    body = "\n".join(["    x = 1"] * (lines - 1))
    text = f'{head}\n    """One.\n\n    Two.\n    """\n{body}\n'
    nested = "class C:\n" + "\n".join(f"    {line}" for line in text.splitlines())
    expected = [("f", lines)] if lines > LINES_OF_A_FUNCTION else []
    assert list(long_functions(text)) == expected
    assert list(long_functions(nested)) == expected
