"""What the emulator found and counted, for a person to read."""

from __future__ import annotations

from pathlib import Path

from pyptx._cli.console import say, show_table
from pyptx._emulator import InstructionStatistics, Report
from pyptx._source import SourceLocation


def show_report(report: Report) -> None:
    """The findings, then per line what it asked of memory."""
    say(report.message.rstrip() or f"{report.kernel}: no findings")
    say(f"{report.instructions:,} warp-instructions")
    say()
    if any(line.counts.requests for line in report.lines):
        show_memory(report)


def show_memory(report: Report) -> None:
    """One row for each line, of Python or of a PTX file, that goes to global or shared memory.

    Sectors are 32 bytes of global memory, wavefronts passes through the banks of shared memory.
    Beside each stands how many times more that is than the same bytes need at best.
    """
    columns = ("line", "source…", "executed>", "lanes>", "sectors>", "x>", "wavefronts>", "x>")
    lines = [line for line in report.lines if line.counts.requests]
    rows = [(place(li.location), li.location.text, *counts(li.counts)) for li in lines]
    language = "PTX" if all(li.location.file.endswith(".ptx") for li in lines) else "Python"
    show_table(f"memory of {report.kernel}, per {language} line", columns, rows)


def counts(count: InstructionStatistics) -> tuple[str, ...]:
    """Executions, active lanes of an execution, sectors and wavefronts, each over its ideal."""
    return (
        f"{count.executions:,}",
        f"{count.lanes / count.executions:.4g}" if count.executions else "",
        *over(count.sectors, count.ideal_sectors),
        *over(count.wavefronts, count.ideal_wavefronts),
    )


def over(number: int, ideal: int) -> tuple[str, str]:
    """A count and its ratio to the ideal; nothing where there is nothing."""
    return (f"{number:,}", f"{number / ideal:.3g}") if ideal else ("", "")


def place(location: SourceLocation) -> str:
    """File name and line, without the folders."""
    return f"{Path(location.file).name}:{location.line}"
