"""Compiles what row_table will measure, in many processes at once.

    python benchmarks/compile_ahead.py [--operation softmax,...] [--jobs 24]

The peers' compilers take most of the time of that part, one shape after the other. They keep
what they have compiled in folders ($TORCHINDUCTOR_CACHE_DIR, $TRITON_CACHE_DIR), where the part
finds it. Which of its configurations is fastest torch.compile measures again, alone on the GPU:
processes that share one would not find out. The processes take turns at the GPUs that
$CUDA_VISIBLE_DEVICES names.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from measure import CONSOLE, first_gpu
from norm_cases import Options
from processes import ENVIRONMENT

LONGEST: Final = 300
"""Seconds of a process."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--operation", default="", help="only these, with commas between them")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--case", type=int, help="one of the cases, in this process")
    given = parser.parse_args()
    found = cases(tuple(filter(None, given.operation.split(","))))
    if given.case is not None:
        return compile_case(found[given.case])
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")

    def one(case: int) -> bool:
        return other(given, case, gpus[case % len(gpus)])

    with ThreadPoolExecutor(given.jobs) as pool:
        done = list(pool.map(one, range(len(found))))
    forget_choices()
    CONSOLE.print(f"{sum(done)} of {len(found)} cases compiled")
    return 0 if all(done) else 1


def cases(operations: tuple[str, ...]) -> list[Any]:
    """What row_table measures."""
    table: Any = importlib.import_module("row_table")
    return table.cases(Options(operations=operations))


def compile_case(case: Any) -> int:
    """Build and call each candidate once."""
    torch: Any = importlib.import_module("torch")
    first_gpu()
    table: Any = importlib.import_module("row_table")
    calls, failed = table.candidates(case)
    for call in calls.values():
        call()
    torch.cuda.synchronize()
    CONSOLE.print(f"{case.title}: {len(calls)} compiled {failed or ''}", markup=False)
    return 0


def other(given: argparse.Namespace, case: int, gpu: str) -> bool:
    """One case in a process of its own; whether it ended well."""
    command = [sys.executable, __file__, "--case", str(case)]
    command += ["--operation", given.operation] if given.operation else []
    environment = {
        **os.environ,
        **ENVIRONMENT,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        **({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}),
    }
    try:
        return (
            subprocess.run(command, env=environment, timeout=LONGEST, check=False).returncode == 0
        )
    except subprocess.TimeoutExpired:
        return False


def forget_choices() -> None:
    """Remove what torch.compile has measured while others used the GPU."""
    folder: str = importlib.import_module("torch._inductor.runtime.runtime_utils").cache_dir()
    for path in Path(folder).rglob("*.best_config"):
        path.unlink()


if __name__ == "__main__":
    sys.exit(main())
