"""The commands, and how an error leaves the program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from rich.text import Text

from pyptx.cli import check, demo, doctor, isa, python, run, show
from pyptx.cli.console import ERRORS
from pyptx.cli.program import Program, parse_sizes
from pyptx.errors import PtxError

APP: Final = typer.Typer(
    name="pyptx",
    help="Hand-written PTX kernels in Python: look at them, run them without a GPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

File = Annotated[str, typer.Argument(metavar="FILE[:KERNEL]", help="A Python file; a kernel.")]
Dims = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="N=8192", help="A dimension or compile-time keyword."),
]
Arch = Annotated[str | None, typer.Option("--arch", help="Target, such as sm_90a.")]


@APP.command("show")
def show_command(
    file: File,
    dim: Dims = None,
    arch: Arch = None,
    lines: Annotated[bool, typer.Option("--lines", help="PTX with .loc of the Python.")] = False,
    sass: Annotated[bool, typer.Option("--sass", help="Also the machine code.")] = False,
) -> None:
    """PTX of a kernel, its registers, spills and sizes."""
    for kernel in Program.parse(file).kernels():
        show.show_kernel(kernel, parse_sizes(dim or []), arch, lines=lines, sass=sass)


@APP.command("check")
def check_command(file: File, dim: Dims = None, arch: Arch = None) -> None:
    """Trace, check and assemble the kernels of a file."""
    check.check_kernels(Program.parse(file).kernels(), parse_sizes(dim or []), arch)


@APP.command("run")
def run_command(file: File, dim: Dims = None) -> None:
    """Run a program, or a kernel on random arrays, in the emulator with all checks."""
    program = Program.parse(file)
    if program.kernel is None and not dim:
        run.run_program(program)
    else:
        run.run_kernels(program.kernels(), parse_sizes(dim or []))


@APP.command("python")
def python_command(
    file: Annotated[Path, typer.Argument(metavar="FILE.ptx", help="A PTX file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new Python file.")
    ] = None,
) -> None:
    """Write the Python program that traces to the kernels of a PTX file."""
    python.write_python(file, output)


@APP.command("isa")
def isa_command(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="ld.global.v4, or words.")],
    target: Annotated[str | None, typer.Option("--target", help="Only what sm_100a has.")] = None,
    version: Annotated[str | None, typer.Option("--version", help="Only what PTX 8.6 has.")] = None,
) -> None:
    """Search the instruction table: forms, operands, targets, PTX versions, an example."""
    isa.search(words, target, version)


@APP.command("doctor")
def doctor_command() -> None:
    """What is installed, and what to do about what is missing."""
    doctor.examine()


@APP.command("demo")
def demo_command(
    rows: Annotated[int, typer.Option(min=1)] = 2048,
    columns: Annotated[int, typer.Option(min=1)] = 8192,
    example: Annotated[Path | None, typer.Option(help="The kernel's file.")] = None,
) -> None:
    """RMS normalization under jax.jit on whatever is here, checked."""
    demo.run_demo(rows, columns, example)


def main() -> NoReturn:
    """Run the command of this process. Errors of pyptx are messages, with exit status 1."""
    try:
        APP()
    except PtxError as error:
        ERRORS.print(Text(f"error: {error}"), soft_wrap=True)
    sys.exit(1)
