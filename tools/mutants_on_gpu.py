"""Runs what export_mutants.py wrote on a GPU: alone, and under the tools of compute-sanitizer.

    python tools/mutants_on_gpu.py FOLDER --out mutants.json       what is not in that file yet
    python tools/mutants_on_gpu.py FOLDER --out mutants.json --subject softmax --limit 20

It needs NVIDIA's driver, compute-sanitizer, g++ and NumPy, and not pyptx. Every run is a process of
its own, tools/launch_case.cpp, several at a time on all GPUs. The file is written again and again,
and a second command goes on where the first one ended; benchmarks/mutants_table.py makes a table.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

ROOT: Final = Path(__file__).parents[1]
NATIVE: Final = ROOT / "src" / "pyptx" / "_native" / "src"
SOURCES: Final = (
    Path(__file__).with_name("launch_case.cpp"),
    NATIVE / "launch" / "driver.cc",
)
ALONE: Final = "alone"
TOOLS: Final[dict[str, tuple[str, ...]]] = {
    # An access past the end of a buffer is not in the next one.
    "memcheck": ("--padding=512",),
    # Deadlocks at mbarriers are not looked for by default.
    "racecheck": (
        "--racecheck-report=all",
        "--racecheck-deadlock-timeout=3000",
        "--racecheck-continue-on-deadlock=no",
        "--num-cuda-barriers=64",
    ),
    # Shared memory is not looked at by default, and by older versions not at all.
    "initcheck": ("--initcheck-address-space=all",),
    # The compiler says how many barriers CUDA C++ has; those of PTX are in no count.
    "synccheck": ("--num-cuda-barriers=64",),
}
"""The options of each tool, of which it gets those that it knows."""
COMMON: Final = (
    "--check-exit-code=no", "--launch-timeout=60", "--print-limit=20", "--max-connections=16",
)  # fmt: skip
LAUNCHES: Final = 20
"""Of a kernel that runs alone: a race need not show the first time."""
SECONDS: Final = {ALONE: 3, "tool": 20, "known to hang": 6}
"""What a launch may take. One that hangs alone hangs under a tool, too."""
STARTING: Final = 40
"""Seconds that a process may take besides."""
SAVED: Final = 2
"""Seconds between two writings of the file."""
TOLERANCE: Final = 1e-2

Record = dict[str, Any]


# ---- What a tool says ----------------------------------------------------------------------------

SUMMARY: Final = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)")
REPORT: Final = re.compile(
    r"Invalid |Misaligned |Uninitialized |Barrier error|Warpgroup MMA|Deadlock detected"
    r"|Race reported|hazard detected|Potential invalid|Program hit|Host API|Missing|out of bounds"
)
TROUBLE: Final = re.compile(
    r"Internal Sanitizer Error|Detected overflow|[Uu]nsupported|not supported|Unrecognized"
    r"|didn't terminate|before first instrumented|Unable to"
)
"""What keeps a tool from a verdict."""
PREFIX: Final = "========="


def read_tool(output: str) -> Record:
    """How many errors a tool counts, its first report, and what kept it from working."""
    lines = [
        line.removeprefix(PREFIX).strip() for line in output.splitlines() if line.startswith(PREFIX)
    ]
    summaries = [int(found[1]) for line in lines if (found := SUMMARY.search(line))]
    reports = [line for line in lines if REPORT.search(line)]
    troubles = [line for line in lines if TROUBLE.search(line)]
    return {
        "errors": max(sum(summaries), int(bool(reports))),
        "summary": bool(summaries),
        "said": reports[0] if reports else "",
        "trouble": troubles[0] if troubles else "",
    }


def read_launches(output: str) -> Record:
    """What launch_case prints: how it ended, and the digests of the results that there were."""
    lines = [line for line in output.splitlines() if not line.startswith(PREFIX)]
    digests = [line for line in lines if re.fullmatch("[0-9a-f]{16}", line)]
    ends = [line for line in lines if line == "hang" or line.startswith("error ")]
    found: Record = {"digests": list(dict.fromkeys(digests))}
    if ends:
        end, _, said = ends[0].partition(" ")
        return {**found, "outcome": end, "driver": said}
    return {**found, "outcome": "ran" if digests else "failed"}


# ---- Processes -----------------------------------------------------------------------------------


def run(
    command: Sequence[str], seconds: float, environment: dict[str, str] | None = None
) -> tuple[int | None, str]:
    """A command's exit status, None where it was killed for its time, and all that it said."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True, env=environment,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]
    return process.returncode, said


def build(folder: Path) -> Path:
    """The launcher, compiled."""
    launcher = folder / "launch_case"
    subprocess.run(
        ["g++", "-std=c++17", "-O1", f"-I{NATIVE}", "-o", str(launcher), *map(str, SOURCES),
         "-ldl", "-pthread"],
        check=True,
    )  # fmt: skip
    return launcher


def gpus() -> list[str]:
    """The GPUs that processes take turns at, as CUDA_VISIBLE_DEVICES names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named:
        return named.split(",")
    _, said = run(["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], STARTING)
    return said.split()


def on(gpu: str) -> dict[str, str]:
    """The environment of a process that sees one GPU."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": gpu}


@contextmanager
def awake(launcher: Path, gpu: str) -> Generator[None]:
    """A context on a device: without any, the driver starts the device for each process."""
    holder = subprocess.Popen(
        [str(launcher), "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=on(gpu),
    )  # fmt: skip
    assert holder.stdout is not None
    if not holder.stdout.readline():
        raise SystemExit(f"GPU {gpu} does not start")
    try:
        yield
    finally:
        holder.communicate("")


@dataclass(frozen=True)
class Sanitizer:
    """compute-sanitizer, with the options of each tool that this version knows."""

    path: str
    version: str
    options: dict[str, list[str]]

    @staticmethod
    def find(named: str | None) -> Sanitizer:
        usual = "/usr/local/cuda/bin/compute-sanitizer"
        path = named or shutil.which("compute-sanitizer") or usual
        _, version = run([path, "--version"], STARTING)
        _, known = run([path, "--help"], STARTING)
        options = {
            tool: [each for each in (*COMMON, *own) if each.partition("=")[0] in known]
            for tool, own in TOOLS.items()
        }
        number = re.search(r"Version ([\d.]+)", version)
        return Sanitizer(path, number[1] if number else version.strip(), options)

    def command(self, tool: str, slot: int) -> list[str]:
        """With ports of its own for each of the processes at a time."""
        port = f"--port={49152 + 16 * slot}"
        return [self.path, f"--tool={tool}", *self.options[tool], port]


# ---- Cases ---------------------------------------------------------------------------------------


def agreement(results: bytes, expected: bytes, described: Sequence[Record]) -> str:
    """How the results of a kernel stand to those of the emulator."""
    if results == expected:
        return "exact"
    if len(results) != len(expected):
        return "another size"
    start = 0
    for each in described:
        got, wanted = (_values(data, start, each) for data in (results, expected))
        if not np.allclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE * np.abs(wanted).max()):
            return "different"
        start += each["bytes"]
    return "close"


def _values(data: bytes, start: int, described: Record) -> NDArray[np.float64]:
    kind = np.dtype(described["dtype"])
    return np.frombuffer(data[start : start + described["bytes"]], kind).astype(np.float64)


@dataclass
class Bench:
    """Runs cases of a folder, and keeps what came of them in a file."""

    folder: Path
    launcher: Path
    sanitizer: Sanitizer
    record: Record
    out: Path
    gpus: Sequence[str]
    slots: queue.SimpleQueue[int] = field(default_factory=queue.SimpleQueue[int])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _saved: float = 0.0

    def __call__(self, case: Record, how: str) -> None:
        """Run a case alone or under a tool."""
        begin = time.monotonic()
        slot = self.slots.get()
        try:
            found = self._alone(case, slot) if how == ALONE else self._under(case, how, slot)
        finally:
            self.slots.put(slot)
        found["seconds"] = round(time.monotonic() - begin, 2)
        with self._lock:
            case["runs"][how] = found
            if time.monotonic() - self._saved > SAVED:
                self.save()

    def _alone(self, case: Record, slot: int) -> Record:
        seconds = SECONDS[ALONE]
        launch = self._launch(case, LAUNCHES, seconds, "fill")
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results"
            status, said = run([*launch, str(results)], STARTING + seconds, self._on(slot))
            found = self._ended(status, said)
            if case["verdict"] == "clean" and results.exists():
                expected = (self.folder / case["folder"] / "expected.bin").read_bytes()
                described = self.record["results"][case["subject"]]
                found["emulator"] = agreement(results.read_bytes(), expected, described)
        return found

    def _under(self, case: Record, tool: str, slot: int) -> Record:
        hangs = case["runs"].get(ALONE, {}).get("outcome") == "hang"
        seconds = SECONDS["known to hang" if hangs else "tool"]
        launch = self._launch(case, 1, seconds, "leave")
        command = [*self.sanitizer.command(tool, slot), *launch]
        status, said = run(command, STARTING + seconds, self._on(slot))
        found = {**self._ended(status, said), **read_tool(said)}
        if not found["summary"]:
            found["output"] = said[-1000:]
        return found

    def _on(self, slot: int) -> dict[str, str]:
        return on(self.gpus[slot % len(self.gpus)])

    def _launch(self, case: Record, times: int, seconds: int, fill: str) -> list[str]:
        folder = self.folder / case["folder"]
        files = (str(folder / "launch.txt"), str(folder / case["cubin"]))
        return [str(self.launcher), *files, str(times), str(seconds), fill]

    @staticmethod
    def _ended(status: int | None, said: str) -> Record:
        found = read_launches(said)
        if status is None:
            found["outcome"] = "killed"
        elif found["outcome"] == "failed":
            found["output"] = said[-1000:]
        return found

    def save(self) -> None:
        self._saved = time.monotonic()
        temporary = self.out.with_suffix(".tmp")
        temporary.write_text(written(self.record))
        temporary.replace(self.out)


def written(record: Record) -> str:
    """The text of a results file: JSON with a line for each case."""
    lines = ",\n  ".join(json.dumps(case) for case in record["cases"])
    rest = json.dumps({**record, "cases": []}, indent=1)
    return rest.replace('"cases": []', f'"cases": [\n  {lines}\n ]', 1) + "\n"


# ---- All of them ---------------------------------------------------------------------------------


def started(folder: Path, out: Path, sanitizer: Sanitizer) -> Record:
    """The record that a file has so far, or an empty one of all cases."""
    export = json.loads((folder / "cases.json").read_text())
    if out.exists():
        record = json.loads(out.read_text())
        if record["export"] != export["made"]:
            raise SystemExit(f"{out} is of another export; name another file")
        return record
    return {
        "part": "mutants",
        "device": device(),
        "environment": {
            "time": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "commit": export["commit"],
            "python": platform.python_version(),
            "packages": {},
            "ptxas": export["assembler"],
            "compute_sanitizer": sanitizer.version,
        },
        "settings": {
            "schedules": export["schedules"],
            "target": export["target"],
            "options": sanitizer.options,
            "launches": LAUNCHES,
        },
        "export": export["made"],
        "measurements": [],
        "bars": [],
        "left_out": export["left_out"],
        "refused": export["refused"],
        "results": export["results"],
        "cases": [{**case, "runs": {}} for case in export["cases"]],
    }


def device() -> Record:
    """The GPU and its driver."""
    query = "--query-gpu=name,driver_version"
    _, said = run(["nvidia-smi", query, "--format=csv,noheader", "--id=0"], STARTING)
    name, _, driver = said.strip().partition(", ")
    return {"kind": "gpu", "name": name, "driver_version": driver}


def order(cases: Sequence[Record], tools: Sequence[str]) -> list[tuple[Record, str]]:
    """What is still to run under tools: kernels, mutants, equivalent ones, and those that hang."""
    ranks = {"clean": 0, "equivalent": 2}

    def rank(case: Record) -> int:
        hangs = case["runs"].get(ALONE, {}).get("outcome") == "hang"
        return 3 if hangs else ranks.get(case["verdict"], 1)

    return [
        (case, tool)
        for case in sorted(cases, key=rank)
        for tool in tools
        if tool not in case["runs"]
    ]


def in_parallel(
    do: Callable[[Record, str], None], todo: Sequence[tuple[Record, str]], jobs: int, end: float
) -> int:
    """Do all that begins before `end`, several at a time; returns how many were done."""
    done = 0
    begin = time.monotonic()

    def one(item: tuple[Record, str]) -> bool:
        if time.monotonic() > end:
            return False
        do(*item)
        return True

    with ThreadPoolExecutor(jobs) as pool:
        for finished in pool.map(one, todo):
            done += finished
            if done % 50 == 0 and finished:
                print(f"{done} of {len(todo)}, {time.monotonic() - begin:.0f} s", flush=True)
    return done


def chosen(record: Record, subject: str, limit: int | None) -> list[Record]:
    """The cases of the subjects whose names contain a text, the first of them."""
    return [case for case in record["cases"] if subject in case["subject"]][:limit]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="the results, kept if it exists")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--subject", default="", help="only subjects whose names contain this")
    parser.add_argument("--limit", type=int, help="so many cases at most")
    parser.add_argument("--tools", nargs="*", choices=[*TOOLS], default=[*TOOLS])
    parser.add_argument("--within", type=float, default=500, help="seconds to begin runs in")
    parser.add_argument("--sanitizer", help="the path of compute-sanitizer")
    given = parser.parse_args()
    end = time.monotonic() + given.within
    sanitizer = Sanitizer.find(given.sanitizer)
    record = started(given.folder, given.out, sanitizer)
    print(f"compute-sanitizer {sanitizer.version}: {sanitizer.options}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        launcher = build(Path(folder))
        bench = Bench(given.folder, launcher, sanitizer, record, given.out, gpus())
        for slot in range(given.jobs):
            bench.slots.put(slot)
        cases = chosen(record, given.subject, given.limit)
        with ExitStack() as held:
            for gpu in bench.gpus:
                held.enter_context(awake(launcher, gpu))
            alone = [(case, ALONE) for case in cases if ALONE not in case["runs"]]
            left = len(alone) - in_parallel(bench, alone, given.jobs, end)
            todo = order(cases, given.tools)
            left += len(todo) - in_parallel(bench, todo, given.jobs, end)
        bench.save()
    print(f"{left} runs left" if left else "all done", flush=True)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
