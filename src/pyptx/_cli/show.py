"""`pyptx show`: what a kernel becomes."""

from __future__ import annotations

from collections.abc import Sequence

from pyptx._assemble import Cubin, SassInstruction
from pyptx._cli.console import ERRORS, say, show_table, size
from pyptx._cli.program import Sizes, require_sizes
from pyptx._kernel import Kernel
from pyptx._source import SourceLocation


def show_kernel(kernel: Kernel, sizes: Sizes, arch: str | None, *, lines: bool, sass: bool) -> None:
    """Print the PTX, with `sass` the machine code, and what the assembled kernel needs."""
    require_sizes(kernel, sizes)
    text = kernel.ptx(lines=lines, arch=arch, **sizes)
    say(text.rstrip())
    say()
    cubin = kernel.cubin(arch=arch, **sizes)
    if sass:
        show_sass(kernel.sass(arch=arch, **sizes))
    show_usage(cubin, text)


def show_usage(cubin: Cubin, text: str) -> None:
    """Registers, spills and sizes in one table, on stderr: stdout is a PTX file."""
    show_table(f"{cubin.kernel} for {cubin.target}", ("", ""), usage(cubin, text), ERRORS)


def usage(cubin: Cubin, text: str) -> list[tuple[str, str]]:
    """What a kernel needs of the device, each with its unit."""
    spills = f"{cubin.spill_stores} stored, {cubin.spill_loads} loaded"
    return [
        ("PTX", f"{text.count(chr(10))} lines, {size(len(text.encode()))}"),
        ("registers", f"{cubin.registers} per thread"),
        ("spilled", f"{spills} bytes per thread"),
        ("stack", f"{cubin.stack} bytes per thread"),
        ("shared memory", f"{size(cubin.shared)} per CTA"),
        ("constant memory", size(cubin.constant)),
        ("barriers", str(cubin.barriers)),
        ("cubin", size(len(cubin.code))),
        ("assembler", f"ptxas {cubin.assembler}"),
    ]


def show_sass(instructions: Sequence[SassInstruction]) -> None:
    """The machine code; a Python line stands before the first instruction that comes from it."""
    last: SourceLocation | None = None
    for instruction in instructions:
        location = instruction.location
        if location is not None and location != last:
            say(f"// {location}  {location.text}")
            last = location
        say(f"  {instruction.offset:04x}  {instruction.text}")
    say()
