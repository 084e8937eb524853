"""`pyptx.ops.matmul` in bf16 over 1 to 16384 rows and the weights of models, beside cuBLAS.

Measured as matmul_table.py does, with fewer calls of each. cuBLAS is called through PyTorch and
through XLA, which tries its algorithms when it compiles; B is in memory as (K, N). `--budget` ends
it, and `--resume` goes on.
"""

# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from device_time import Flush
from matmul_table import measured
from measure import Result, Summary, show, start
from norm_cases import Options
from sweeps import sweep

CALLS: Final = 5
ROWS: Final = tuple(2**k for k in range(15))
WEIGHTS: Final = (
    (4096, 4096), (6144, 4096), (14336, 4096), (4096, 14336), (8192, 8192), (10240, 8192),
    (28672, 8192), (8192, 28672), (5120, 5120), (13824, 5120), (5120, 13824), (2112, 7168),
    (7168, 2048), (24576, 1536),
)  # fmt: skip
"""N and K of Llama 3 8B and 70B, Llama 2 13B and DeepSeek V3."""
LAYOUT: Final = "KN"


def sizes() -> Iterator[tuple[int, int, int]]:
    """M, N and K, all numbers of rows of a weight after the other."""
    for n, k in WEIGHTS:
        for m in ROWS:
            yield m, n, k


def measure(device: dict[str, object], options: Options) -> Result:
    """Every size that begins within the budget, and that is not known; saved after each."""
    result = start("matmul_sweep", device, calls=CALLS, dtype="bf16", layout=LAYOUT)
    flush: Any = Flush()

    def visit(size: tuple[int, int, int]) -> tuple[list[Summary], dict[str, str]]:
        return measured(size, LAYOUT, flush, calls=CALLS, quack=False), {}

    sweep(result, options, (
        (f"{m} x {n} x {k}, ", partial(visit, (m, n, k))) for m, n, k in sizes()
    ))  # fmt: skip
    return result


def report(result: Result) -> None:
    """The table."""
    show(result)
