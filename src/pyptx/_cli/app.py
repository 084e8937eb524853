"""The commands, and how an error leaves the program."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from rich.text import Text

import pyptx
from pyptx._cli import check, demo, doctor, isa, python, run, show
from pyptx._cli.console import ERRORS, say
from pyptx._cli.file import Launch, PtxFile, check_file, run_file, show_file
from pyptx._cli.program import Program, parse_sizes, sizes_of_each
from pyptx._tracebacks import VARIABLE, shortened
from pyptx.errors import PtxError

_CALLERS: Final = ("typer", "click", "rich", "runpy")

APP: Final = typer.Typer(
    name="pyptx",
    help="Hand-written PTX kernels in Python: look at them, run them without a GPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

AnyFile = Annotated[
    str, typer.Argument(metavar="FILE[:KERNEL]", help="A Python or PTX file; a kernel or entry.")
]
Dims = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="N=8192", help="A dimension or compile-time keyword."),
]
Arch = Annotated[str | None, typer.Option("--arch", help="Target, such as sm_90a.")]


def _show_version(asked: bool) -> None:
    if asked:
        say(f"pyptx {pyptx.__version__}")
        raise typer.Exit


@APP.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""
    del version  # its callback has shown it


@APP.command("show")
def show_command(
    file: AnyFile,
    dim: Dims = None,
    arch: Arch = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="PTX with .loc directives for the Python lines.")
    ] = False,
    sass: Annotated[bool, typer.Option("--sass", help="Also show the machine code.")] = False,
) -> None:
    """Show the PTX of a kernel or of a PTX file, with its registers, spills and memory sizes."""
    ptx = PtxFile.parse(file)
    if ptx is not None:
        _only_of_python(dim)
        if lines:
            raise PtxError("--lines is for Python files; PTX has the .loc lines that it has")
        show_file(ptx, arch, sass=sass)
        return
    kernels = Program.parse(file).kernels()
    sizes = sizes_of_each(kernels, parse_sizes(dim or []))
    for kernel, own in zip(kernels, sizes, strict=True):
        show.show_kernel(kernel, own, arch, lines=lines, sass=sass)


@APP.command("check")
def check_command(file: AnyFile, dim: Dims = None, arch: Arch = None) -> None:
    """Trace, check and assemble the kernels of a Python file, or the entries of a PTX file."""
    ptx = PtxFile.parse(file)
    if ptx is not None:
        _only_of_python(dim)
        check_file(ptx, arch)
        return
    check.check_kernels(Program.parse(file).kernels(), parse_sizes(dim or []), arch)


@APP.command("run")
def run_command(  # noqa: PLR0917  # options by their names
    file: AnyFile,
    dim: Dims = None,
    arg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE",
            help="PTX: the value of each parameter, in order: 1024, 2.5, in:f32[64,64], "
            "out:f32[64], inout:f32[64]=0, in:x.npy, hex:00ff.",
        ),
    ] = None,
    grid: Annotated[str, typer.Option(metavar="X,Y,Z", help="PTX: the grid, in CTAs.")] = "1",
    block: Annotated[
        str | None, typer.Option(metavar="X,Y,Z", help="PTX: the threads of a CTA.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="X,Y,Z", help="PTX: the CTAs of a cluster.")
    ] = None,
    smem: Annotated[int | None, typer.Option(help="PTX: dynamic shared memory, in bytes.")] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME=VALUES",
            help="Python: an input: I=0:M, random numbers from 0 to M - 1, or I=x.npy.",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="PTX: the folder for the results.")
    ] = None,
    schedules: Annotated[
        int,
        typer.Option(
            min=1, max=2**31 - 1, help="How many orders of CTAs, warps and copies to try."
        ),
    ] = 1,
) -> None:
    """Run a program, a kernel on random arrays, or a PTX entry, in the emulator with all checks."""
    launch = Launch(grid, block, cluster, smem, tuple(arg or ()), save)
    ptx = PtxFile.parse(file)
    if ptx is not None:
        _only_of_python(dim)
        if inputs:
            raise PtxError("--input is for Python files; --arg in:x.npy is an array of PTX")
        run_file(ptx, launch, schedules)
        return
    if launch.given:
        raise PtxError("--arg, --grid, --block, --cluster, --smem and --save are for PTX files")
    program = Program.parse(file)
    if program.kernel is None and not dim and not inputs:
        run.run_program(program, schedules)
    else:
        run.run_kernels(program.operations(), parse_sizes(dim or []), schedules, inputs or [])


@APP.command("python")
def python_command(
    file: Annotated[Path, typer.Argument(metavar="FILE.ptx", help="A PTX file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The Python file to write.")
    ] = None,
) -> None:
    """Write the Python program that traces to the kernels of a PTX file."""
    python.write_python(file, output)


def _only_of_python(dim: list[str] | None) -> None:
    if dim:
        raise PtxError("--dim is for Python files; the PTX is the same for all sizes")


@APP.command("isa")
def isa_command(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="ld.global.v4, or words.")],
    target: Annotated[
        str | None,
        typer.Option("--target", help="Only instructions of this target, such as sm_100a."),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option("--version", help="Only instructions of this PTX version, such as 8.6."),
    ] = None,
) -> None:
    """Search the instruction table: forms, operands, targets, PTX versions, an example."""
    isa.search(words, target, version)


@APP.command("doctor")
def doctor_command() -> None:
    """List what is installed and how to install what is missing."""
    doctor.examine()


@APP.command("demo")
def demo_command(
    rows: Annotated[int, typer.Option(min=1)] = 2048,
    columns: Annotated[int, typer.Option(min=1)] = 8192,
    example: Annotated[Path | None, typer.Option(help="The file with the kernel.")] = None,
) -> None:
    """Run RMS normalization under jax.jit, on a GPU or in the emulator, and check the result."""
    demo.run_demo(rows, columns, example)


def main() -> NoReturn:
    """Run the command of this process. Errors of pyptx are messages, with exit status 1.

    Other errors are those of the user's program, and shown as Python does without this one.
    """
    try:
        APP()
    except Exception as error:  # noqa: BLE001  # what the program of a user raises
        full = os.environ.get(VARIABLE) == "1"
        if isinstance(error, PtxError) and not full:
            ERRORS.print(Text(f"error: {error}"), soft_wrap=True)
        else:
            error.__traceback__ = shortened(error.__traceback__, error, hidden=_CALLERS)
            traceback.print_exception(error)
    sys.exit(1)
