"""What every benchmark shares: the record of the machine, statistics, results files and tables."""

from __future__ import annotations

import dataclasses
import datetime as dt
import gc
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from rich.console import Console
from rich.table import Table

from pyptx import PtxError
from pyptx import _assemble as assemble

ROOT: Final = Path(__file__).parent.parent
RESULTS: Final = Path(__file__).parent / "results"

PACKAGES: Final = (
    "pyptx", "jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda12-plugin", "torch", "triton", "numpy",
    "nvidia-cuda-nvcc",
)  # fmt: skip
T = TypeVar("T")
LONGEST_REASON: Final = 200
GPU_FIELDS: Final = (
    "name", "driver_version", "memory.total", "clocks.sm", "clocks.mem", "clocks.max.sm",
    "clocks.max.mem", "power.draw", "power.limit", "temperature.gpu",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Summary:
    """Repeated readings of one quantity. `spread` is the middle 80 % of them, over the median."""

    name: str
    unit: str
    median: float
    minimum: float
    maximum: float
    spread: float
    samples: tuple[float, ...]
    notes: Mapping[str, object] = field(default_factory=dict[str, object])


def summarise(name: str, unit: str, samples: Sequence[float], **notes: object) -> Summary:
    """Median and range of at least one reading."""
    ordered = sorted(samples)
    last = len(ordered) - 1
    low, high = ordered[round(0.1 * last)], ordered[round(0.9 * last)]
    middle = statistics.median(ordered)
    spread = (high - low) / middle if middle else 0.0
    return Summary(name, unit, middle, ordered[0], ordered[-1], spread, tuple(samples), notes)


@dataclass(frozen=True, slots=True)
class Bar:
    """A number that a measurement has to reach. `at_least` says in which direction."""

    name: str
    value: float
    limit: float
    unit: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def record(self) -> dict[str, Any]:
        """Everything as plain data, with the verdict."""
        return dataclasses.asdict(self) | {"holds": self.holds}


@dataclass(slots=True)
class Result:
    """One part of the benchmarks on one machine: what a results file holds."""

    part: str
    device: dict[str, object]
    environment: dict[str, object]
    settings: dict[str, object]
    measurements: list[Summary] = field(default_factory=list[Summary])
    bars: list[Bar] = field(default_factory=list[Bar])

    def median(self, name: str) -> float:
        """The median of the measurement with this name."""
        return next(m.median for m in self.measurements if m.name == name)

    def put(self, measured: Summary) -> None:
        """Add a measurement, in place of one of the same name."""
        self.measurements = [m for m in self.measurements if m.name != measured.name]
        self.measurements.append(measured)

    def adopt(self, record: Mapping[str, Any]) -> None:
        """Begin with the measurements of an earlier record. Raises ValueError for another's.

        Part, GPU, commit, versions and settings have to be the same; the bars are not taken over.
        """
        for what, ours, theirs in (
            ("part", self.part, record["part"]),
            ("device", _fixed(self.device), _fixed(record["device"])),
            ("environment", _fixed(self.environment), _fixed(record["environment"])),
            ("settings", _fixed(self.record()["settings"]), _fixed(record["settings"])),
        ):
            if ours != theirs:
                raise ValueError(f"these results are not of one kind: {what} {theirs}, not {ours}")
        for measured in record["measurements"]:
            fields: dict[str, Any] = {**measured, "samples": tuple(measured["samples"])}
            self.put(Summary(**fields))

    def record(self) -> dict[str, Any]:
        """Everything as plain data, each bar with its verdict."""
        return dataclasses.asdict(self) | {"bars": [bar.record() for bar in self.bars]}

    def write(self, folder: Path) -> Path:
        """Write `<part>-<device>.json`, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.part}-{slug(str(self.device['name']))}.json"
        temporary = path.with_suffix(".tmp")
        temporary.write_text(written(self.record()))
        temporary.replace(path)
        return path


CHANGING: Final = frozenset(
    {"time", "cpu", "clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "load"}
    | {"failed", "left"}
)
"""What differs between two commands that measure the same thing on the same machine."""


def _fixed(facts: Any) -> Any:
    if not isinstance(facts, dict):
        return facts
    known: dict[str, Any] = json.loads(json.dumps(facts, default=str))
    return {key: value for key, value in known.items() if key not in CHANGING}


def written(record: Mapping[str, Any]) -> str:
    """The text of a results file: JSON with a line for each measurement."""
    lines = [json.dumps(m, default=str) for m in record["measurements"]]
    rest = json.dumps({**record, "measurements": []}, indent=1, default=str)
    inside = "[\n  " + ",\n  ".join(lines) + "\n ]" if lines else "[]"
    return rest.replace('"measurements": []', f'"measurements": {inside}', 1) + "\n"


def start(part: str, device: dict[str, object], **settings: object) -> Result:
    """An empty result for this machine and this moment."""
    return Result(part, device, environment(), settings)


def slug(name: str) -> str:
    """A name as part of a file name: `NVIDIA H200` gives `nvidia-h200`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


# ---- the machine ---------------------------------------------------------------------------------


def gpu() -> dict[str, object] | None:
    """The first GPU with its driver, clocks and power as they are now; None without one."""
    query = f"--query-gpu={','.join(GPU_FIELDS)}"
    said = _output("nvidia-smi", query, "--format=csv,noheader,nounits", "--id=0")
    if not said:
        return None
    values = (value.strip() for value in said.splitlines()[0].split(","))
    return {"kind": "gpu", **dict(zip(GPU_FIELDS, values, strict=True))}


def first_gpu() -> None:
    """JAX starts CUDA on every GPU and leaves the last one current; PyTorch's arrays are on 0."""
    if all(importlib.util.find_spec(name) for name in ("jax", "torch")):
        cuda: Any = importlib.import_module("torch").cuda
        if cuda.is_available():
            importlib.import_module("jax").devices()
            cuda.set_device(0)


def reason(error: Exception) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:LONGEST_REASON]


def cpu() -> dict[str, object]:
    """The processor, for what needs no GPU."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    return {
        "kind": "cpu",
        "name": found[1] if found else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
    }


def environment() -> dict[str, object]:
    """Versions, the commit and the time."""
    return {
        "time": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "ptxas": _ptxas(),
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
        "cpu": cpu(),
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _ptxas() -> str:
    try:
        return assemble.version()
    except PtxError:
        return "missing"


def _commit() -> str:
    """The commit of the sources, marked where they differ from it; $PYPTX_COMMIT names a copy's."""
    if named := os.environ.get("PYPTX_COMMIT"):
        return named
    commit = _output("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD")
    changed = _output("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no")
    return commit + (" with changes" if changed else "") if commit else "unknown"


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# ---- timing on the host --------------------------------------------------------------------------


@contextmanager
def no_collection() -> Generator[None]:
    """No garbage collection while a clock runs."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(call: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def in_fresh_processes(program: str, runs: int) -> list[float]:
    """The number that a program prints in each of so many processes.

    They have the bytecode that Python keeps, made by one more before them.
    """
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs + 1):
            done = subprocess.run(
                [sys.executable, "-c", program], env=kept | {"PYTHONPYCACHEPREFIX": folder},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            found.append(float(done.stdout))
    return found[1:]


def turns(names: Sequence[T], rounds: int) -> Iterator[T]:
    """Every name once per round; each round starts with another one.

    So drifting clocks and warm caches favour nobody.
    """
    for turn in range(rounds):
        first = turn % len(names)
        yield from (*names[first:], *names[:first])


# ---- showing -------------------------------------------------------------------------------------

CONSOLE: Final = Console(width=110, highlight=False)


def show(result: Result, columns: Mapping[str, Callable[[Summary], object]] | None = None) -> None:
    """Print the measurements, with further columns, and whether each bar holds."""
    extra = columns or {}
    table = Table(title=f"{result.part} on {result.device['name']}", title_justify="left")
    table.add_column("what")
    for heading in ("median", "min", "max", "spread", *extra):
        table.add_column(heading, justify="right")
    for m in result.measurements:
        values = (f"{number(v)} {m.unit}" for v in (m.median, m.minimum, m.maximum))
        cells = (str(cell(m)) for cell in extra.values())
        table.add_row(m.name, *values, f"{m.spread:.1%}", *cells)
    CONSOLE.print(table)
    for bar in result.bars:
        relation = "at least" if bar.at_least else "at most"
        verdict = "holds" if bar.holds else "DOES NOT HOLD"
        CONSOLE.print(
            f"{verdict}: {bar.name} is {number(bar.value)}{bar.unit}, "
            f"bar {relation} {number(bar.limit)}{bar.unit}"
        )


def number(value: float) -> str:
    """Three or four digits, without an exponent."""
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 4
    return f"{value:,.{digits}f}"


def load(path: Path) -> dict[str, Any]:
    """A results file."""
    return json.loads(path.read_text())
