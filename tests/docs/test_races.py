"""The programs of docs/races.md find what the page says, and their fixed twins nothing."""

from __future__ import annotations

import linecache
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "races.md"
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n```text\n(.*?)```)?", PAGE.read_text(), re.DOTALL)


def test_every_program_prints_what_the_page_says():
    names: dict[str, Any] = {"__name__": "races"}
    told = 0
    for number, (program, expected) in enumerate(BLOCKS):
        file = f"races_{number}.py"
        linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
        said = StringIO()
        with redirect_stdout(said):
            exec(compile(program, file, "exec"), names)
        lines = [line.rstrip() for line in said.getvalue().splitlines()]
        assert lines == expected.splitlines(), program
        told += bool(expected)
    assert told == 8
