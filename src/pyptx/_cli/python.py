"""`pyptx python`: the Python program for a PTX file."""

from __future__ import annotations

from pathlib import Path

from pyptx import _text as text
from pyptx._cli.console import say
from pyptx._lift import lift
from pyptx.errors import PtxError


def write_python(file: Path, output: Path | None) -> None:
    """Print the program, or write it to a file. Raises PtxError, for PTX with line and column."""
    program = lift(text.parse(text.read_file(file), str(file)), file.name)
    if output is None:
        say(program.rstrip())
        return
    if output.exists():
        raise PtxError(
            f"{output} is there already", notes=(("help", "name a file that is not there yet"),)
        )
    try:
        output.write_text(program)
    except OSError as error:
        raise PtxError(f"{output} cannot be written: {error.strerror}") from None
