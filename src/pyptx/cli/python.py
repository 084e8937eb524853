"""`pyptx python`: the Python program for a PTX file."""

from __future__ import annotations

from pathlib import Path

from pyptx import text
from pyptx.cli.console import say
from pyptx.errors import PtxError
from pyptx.lift import lift


def write_python(file: Path, output: Path | None) -> None:
    """Print the program, or write it to a file. Raises PtxError, for PTX with line and column."""
    try:
        written = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PtxError(f"{file} cannot be read: {error}") from None
    program = lift(text.parse(written, str(file)), file.name)
    if output is None:
        say(program.rstrip())
        return
    if output.exists():
        raise PtxError(
            f"{output} is there already", notes=(("help", "name a file that is not there yet"),)
        )
    output.write_text(program)
