"""Runs every fuzz target guided by coverage, and records how many inputs it had: `make fuzz`.

The targets are in tests/fuzz: the native readers with Clang's libFuzzer and its sanitizers, the
readers in Python with atheris. FUZZ_SECONDS is the time of each. New inputs are kept in
build/fuzz/inputs for the next run. An input that fails is left in build/fuzz/failed; put it into
tests/fuzz/corpus as "found-NAME" together with the fix.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from measure import RESULTS, ROOT, Summary, cpu, start, summarise

BUILD: Final = ROOT / "build/fuzz"
OPTIONS: Final = ("-print_final_stats=1", "-timeout=20", "-rss_limit_mb=4096")
TARGETS: Final = {
    "plan, native": 4096, "image, native": 16384, "tensor_map, native": 128,
    "ptx, Python": 8192, "plan, Python": 4096, "cache, Python": 4096,
}  # fmt: skip
"""The longest input of each target, in bytes."""
UNITS: Final = re.compile(r"stat::number_of_executed_units: (\d+)")
COVERAGE: Final = re.compile(r"cov: (\d+)")


def build() -> None:
    """The native targets. Exits where there is no Clang with libFuzzer."""
    clang = os.environ.get("FUZZ_CXX") or shutil.which("clang++")
    if clang is None:
        sys.exit("make fuzz: no clang++, which has libFuzzer; install clang, or set FUZZ_CXX")
    cmake = [sys.executable, "-m", "cmake"]
    configure = ["-S", str(ROOT / "tests/fuzz"), "-B", str(BUILD), f"-DCMAKE_CXX_COMPILER={clang}"]
    subprocess.run([*cmake, *configure], check=True)
    subprocess.run([*cmake, "--build", str(BUILD), "--parallel", "2"], check=True)


def seeds(target: str) -> Path:
    """The folder with the committed inputs of a target; the parser's are those of its tests."""
    return ROOT / ("tests/text/corpus" if target == "ptx" else f"tests/fuzz/corpus/{target}")


def run(name: str, longest: int, seconds: int) -> Summary:
    """One target for so many seconds. Exits where an input fails."""
    target, _, language = name.partition(", ")
    inputs = BUILD / "inputs" / f"{target}-{language}"
    failed = BUILD / "failed"
    for folder in (inputs, failed):
        folder.mkdir(parents=True, exist_ok=True)
    native = [str(BUILD / target)]
    command = (
        native if language == "native" else [sys.executable, "-m", "tests.fuzz.campaign", target]
    )
    options = [
        *OPTIONS,
        f"-max_total_time={seconds}",
        f"-max_len={longest}",
        f"-artifact_prefix={failed}/{target}-",
    ]
    done = subprocess.run(
        [*command, *options, str(inputs), str(seeds(target))],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    units = UNITS.search(said)
    if done.returncode != 0 or units is None:
        sys.exit(f"{said[-4000:]}\nmake fuzz: {name} fails; the input is in {failed}")
    reached = max(map(int, COVERAGE.findall(said)), default=0)
    print(f"{name}: {units[1]} inputs, {reached} places covered", flush=True)
    return summarise(name, "inputs", [float(units[1])], covered=reached)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    arguments = parser.parse_args()
    build()
    result = start("fuzz", cpu(), seconds=arguments.seconds)
    for name, longest in TARGETS.items():
        result.put(run(name, longest, arguments.seconds))
    print(result.write(RESULTS))


if __name__ == "__main__":
    main()
