"""What a launch was found to do: findings, who waits for what, and counts per Python line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from pyptx._source import UNKNOWN, SourceLocation
from pyptx.errors import EmulationError


@dataclass(frozen=True, slots=True)
class Site:
    """The thread and the instruction of an access; None where they are not known.

    `instruction` is the index of the instruction in the kernel, `ptx` is its text. `cta` and
    `thread` are (x, y, z), `warp` is the index in the CTA, `lane` in the warp.
    """

    instruction: int | None = None
    ptx: str = ""
    location: SourceLocation | None = None
    cta: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    warp: int | None = None
    lane: int | None = None
    store: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake, with its first occurrence; `count` says how often it happened.

    `kind` is one of `KINDS`. `text` is the whole finding as text. For memory, `where` describes
    `address` (in `space`); `tensor` and `index` name the element if the address is in a tensor of
    known shape. `other` is the other access of a race, or the absent lane.
    """

    kind: str
    text: str
    count: int
    site: Site
    other: Site | None = None
    note: str = ""
    space: str | None = None
    address: int | None = None
    bytes: int = 0
    where: str = ""
    tensor: str | None = None
    index: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return self.text.rstrip()


KINDS: Final = {
    "out-of-bounds": "memory outside the launch's tensors or the space's size",
    "misaligned": "an address, or a first coordinate, that is not a multiple of what it must be",
    "read-only": "a store to an input, or to constant or parameter memory",
    "deadlock": "no warp can run; `Report.waits` says who waits for what",
    "runaway": "a warp ran more instructions than the launch allows",
    "trap": "`trap` was executed",
    "bad-barrier": "a barrier that does not exist or is in use otherwise",
    "bad-mbarrier": "an mbarrier that is not there, or counts beyond its range",
    "bad-copy": "an asynchronous copy, or a tensor map, that the manual leaves undefined",
    "bad-matrix": "a matrix instruction with operands that the manual leaves undefined",
    "bad-tensor-memory": "Tensor Memory that is not there, not allocated, or not the warp's",
    "bad-texture": "a handle of no texture or surface, or one of another kind or type",
    "bad-branch": "an index beyond the targets of `brx.idx`",
    "bad-call": "a call of no function or of one that takes something else, or a wrong format",
    "stack-overflow": "functions call each other deeper than a thread's stack holds",
    "budget": "the launch ran more instructions, or longer, than it may",
    "residency": "more CTAs wait for each other than the device holds at once",
    "index-out-of-range": "an index of an element that is not below the size of its dimension",
    "unwritten-output": "elements of an output that the launch never wrote",
    "not-parallel": "an index of a parallel dimension that depends on others, by `check_parallel`",
    "uninitialised-memory": "a load of memory that nothing has stored to",
    "uninitialised-register": "a register read before it is written",
    "unassigned-predicate": "a predicate used before it is assigned",
    "shared-race": "two accesses to shared memory that nothing orders",
    "global-race": "two accesses to global memory that nothing orders",
    "narrow-scope": "two accesses that only wider scopes would order",
    "divergent-barrier": "an aligned instruction that not all lanes of a warp execute",
    "absent-lane": "a shuffle or vote with a lane that does not execute it",
    "bad-membermask": "a membermask without the lane that executes it",
    "proxy-race": "a bulk copy of what was stored, or by such a tensor map, without a proxy fence",
    "unordered-init": "an mbarrier used where its initialisation is not ordered before",
    "mbarrier-access": "a load, store or copy where an mbarrier is",
    "phase-overrun": "a wait for a phase whose parity means a later one by now",
    "unfinished-copy": "an exit while an asynchronous operation still needs shared memory",
    "early-access": "an access of a CTA's shared memory that its start may follow",
    "early-exit": "an access of a CTA's shared memory that its exit may precede",
    "non-coherent-load": "a load by `ld.global.nc` of what the kernel stores",
    "register-file": "warps ask for more registers by `setmaxnreg` than there are",
    "register-race": "a register of a `wgmma` or a `tcgen05.ld` used without its wait or fence",
    "tensor-race": "accesses to Tensor Memory without what orders them, or without a wait",
    "tensor-fence": "accesses to Tensor Memory that are ordered, without a tcgen05.fence",
    "unfreed-tensor-memory": "an exit of a CTA with Tensor Memory that is not deallocated",
}
"""The kinds of findings and what they mean; those up to "unwritten-output" are always checked."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row of a deadlock's table: lanes of a warp (a mask) and what they wait for."""

    site: Site
    lanes: int
    waits: str


@dataclass(frozen=True, slots=True)
class InstructionStatistics:
    """Counts of one instruction, or of several added up.

    executions  warps that executed it, `lanes` the sum of their executing lanes
    requests    executions that went to global or shared memory
    sectors     32-byte sectors of global memory; `ideal_sectors` if the same bytes were contiguous
    wavefronts  passes through the banks of shared memory; `ideal_wavefronts` without conflicts
    """

    executions: int = 0
    lanes: int = 0
    requests: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0

    def __add__(self, other: InstructionStatistics) -> InstructionStatistics:
        return InstructionStatistics(
            *(getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        )


@dataclass(frozen=True, slots=True)
class LineStatistics:
    """The counts of all instructions that one Python line made."""

    location: SourceLocation
    instructions: int
    counts: InstructionStatistics


@dataclass(frozen=True, slots=True)
class Visit:
    """Lanes (a mask) of a warp that touched a watched range in one instruction.

    `watch` is the position of the range, `cta` counts in the grid, `warp` in the CTA.
    """

    watch: int
    instruction: int
    cta: int
    warp: int
    lanes: int
    store: bool


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one launch.

    `status` is "ok", "findings" (it ran to its end) or "stopped". `message` is the whole report as
    text. `instructions` counts warp-instructions, `seconds` is their run time. `statistics` has a
    row per instruction, and is empty unless the launch asked for them; `lines` adds them up per
    Python line. `printed` is the kernel's printf output, in the order of the CTAs' indices, and in
    a CTA in the order in which its threads ran. `visits` are the accesses to the ranges that the
    launch watched.
    """

    kernel: str
    status: str
    message: str
    findings: tuple[Finding, ...] = ()
    waits: tuple[Waiting, ...] = ()
    instructions: int = 0
    seconds: float = field(default=0.0, compare=False)
    statistics: tuple[InstructionStatistics, ...] = ()
    locations: tuple[SourceLocation, ...] = field(default=(), repr=False)
    printed: str = ""
    visits: tuple[Visit, ...] = field(default=(), repr=False)

    def check(self) -> None:
        """Raise EmulationError with the whole message if there are findings."""
        if self.findings:
            error = EmulationError(self.message)
            error.findings = self.findings
            raise error

    @property
    def lines(self) -> tuple[LineStatistics, ...]:
        """The counts per Python line, in the order in which the lines first appear."""
        sums: dict[SourceLocation, tuple[int, InstructionStatistics]] = {}
        for i, counts in enumerate(self.statistics):
            location = self.locations[i] if i < len(self.locations) else UNKNOWN
            number, total = sums.get(location, (0, InstructionStatistics()))
            sums[location] = (number + 1, total + counts)
        return tuple(LineStatistics(place, n, total) for place, (n, total) in sums.items())

    def __repr__(self) -> str:
        count = len(self.findings)
        found = f"{count} finding{'s' * (count != 1)}" if count else "no findings"
        return f"<report of {self.kernel}: {found}, {self.instructions} warp-instructions>"

    def __str__(self) -> str:
        head = self.message or f"kernel {self.kernel}: no findings"
        parts = [head, f"{self.instructions} warp-instructions"]
        if self.statistics:
            parts.append(table(self.lines))
        return "\n".join(parts)


def joined(reports: Sequence[Report]) -> Report:
    """Reports of launches that ran one after the other, as one."""
    if len(reports) == 1:
        return reports[0]
    return Report(
        kernel=", ".join(report.kernel for report in reports),
        status=max((report.status for report in reports), key=tuple(_STATUS.values()).index),
        message="\n".join(report.message for report in reports if report.message),
        findings=tuple(finding for report in reports for finding in report.findings),
        waits=tuple(row for report in reports for row in report.waits),
        instructions=sum(report.instructions for report in reports),
        seconds=sum(report.seconds for report in reports),
        statistics=tuple(row for report in reports for row in report.statistics),
        locations=tuple(place for report in reports for place in report.locations),
        printed="".join(report.printed for report in reports),
        visits=tuple(visit for report in reports for visit in report.visits),
    )


_COLUMNS: Final = ("line", "executed", "lanes", "sectors", "ideal", "wavefronts", "ideal", "source")


def table(lines: Iterable[LineStatistics]) -> str:
    """Counts per line as text: active lanes per execution, sectors and wavefronts with ideals."""
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for line in lines:
        c = line.counts
        lanes = f"{c.lanes / c.executions:.1f}" if c.executions else "-"
        memory = (c.sectors, c.ideal_sectors, c.wavefronts, c.ideal_wavefronts)
        cells = (str(value) if value else "-" for value in memory)
        rows.append((str(line.location), str(c.executions), lanes, *cells, line.location.text[:60]))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    return "\n".join(_aligned(row, widths) for row in rows)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first = row[0].ljust(widths[0])
    middle = (cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True))
    return "  ".join((first, *middle, row[-1])).rstrip()


_STATUS: Final = {0: "ok", 1: "findings", 2: "stopped"}


def report_from(
    status: int,
    *,
    message: str,
    text: str,
    instructions: int,
    seconds: float,
    printed: str,
    statistics: Iterable[tuple[int, ...]],
    locations: tuple[SourceLocation, ...],
    visits: Iterable[tuple[int, int, int, int, int, bool]],
) -> Report:
    """A report from the core's JSON and counters."""
    data: Mapping[str, Any] = json.loads(text)
    return Report(
        kernel=data["kernel"],
        status=_STATUS[status],
        message=message,
        findings=tuple(_finding(row) for row in data["findings"]),
        waits=tuple(Waiting(_site(r["site"]), r["lanes"], r["waits"]) for r in data["waits"]),
        instructions=instructions,
        seconds=seconds,
        statistics=tuple(InstructionStatistics(*row) for row in statistics),
        locations=locations,
        printed=printed,
        visits=tuple(Visit(*row) for row in visits),
    )


def _finding(row: Mapping[str, Any]) -> Finding:
    other, index = row.get("other"), row.get("index")
    return Finding(
        kind=row["kind"],
        text=row["text"],
        count=row["count"],
        site=_site(row["site"]),
        other=_site(other) if other else None,
        note=row["note"],
        space=row.get("space"),
        address=row.get("address"),
        bytes=row.get("bytes", 0),
        where=row.get("where", ""),
        tensor=row.get("tensor"),
        index=tuple(index) if index is not None else None,
    )


def _site(row: Mapping[str, Any]) -> Site:
    known = "file" in row
    return Site(
        instruction=row.get("instruction"),
        ptx=row.get("ptx", ""),
        location=SourceLocation(row["file"], row["line"]) if known else None,
        cta=_triple(row.get("cta")),
        thread=_triple(row.get("thread")),
        warp=row.get("warp"),
        lane=row.get("lane"),
        store=row["store"],
    )


def _triple(value: Sequence[int] | None) -> tuple[int, int, int] | None:
    return None if value is None else (value[0], value[1], value[2])
