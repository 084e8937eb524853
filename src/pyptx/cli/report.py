"""What the emulator found and counted, for a person to read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyptx.cli.console import say, show_table
from pyptx.emulator import InstructionStatistics, Report
from pyptx.source import SourceLocation

SOURCE_WIDTH: Final = 48


def show_report(report: Report) -> None:
    """The findings, then per Python line what it asked of memory."""
    say(report.message.rstrip() or f"{report.kernel}: no findings")
    say(f"{report.instructions:,} warp-instructions")
    say()
    if any(line.counts.requests for line in report.lines):
        show_memory(report)


def show_memory(report: Report) -> None:
    """One row for each Python line that goes to global or shared memory.

    Sectors are 32 bytes of global memory and wavefronts passes through the banks of shared memory;
    each stands beside what the same bytes need at best.
    """
    memory = ("sectors>", "at best>", "wavefronts>", "at best>")
    columns = ("line", "source", "executed>", "lanes>", *memory)
    lines = [line for line in report.lines if line.counts.requests]
    rows = [(place(li.location), shortened(li.location.text), *counts(li.counts)) for li in lines]
    show_table(f"memory of {report.kernel}, per Python line", columns, rows)


def shortened(source: str) -> str:
    """A source line that leaves room for the numbers."""
    return source if len(source) <= SOURCE_WIDTH else source[: SOURCE_WIDTH - 3] + "..."


def counts(count: InstructionStatistics) -> tuple[str, ...]:
    """Executions, active lanes of an execution, sectors and wavefronts with their ideals."""
    lanes = f"{count.lanes / count.executions:.4g}" if count.executions else ""
    memory = (count.sectors, count.ideal_sectors, count.wavefronts, count.ideal_wavefronts)
    return (f"{count.executions:,}", lanes, *(f"{value:,}" if value else "" for value in memory))


def place(location: SourceLocation) -> str:
    """File name and line, without the folders."""
    return f"{Path(location.file).name}:{location.line}"
