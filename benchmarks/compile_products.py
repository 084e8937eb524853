"""What the first call of a matrix product costs before it is launched: tracing and assembling.

Every kind of kernel of `pyptx.ops.matmul` for sm_90a, made anew each time, with an empty folder of
assembled kernels. Needs no GPU. The first kernel of a process also loads the ISA's table and reads
the package's own sources: those of fresh processes, after `import pyptx.ops`, stand apart.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Final

from measure import (
    Bar,
    Result,
    Summary,
    in_fresh_processes,
    no_collection,
    show,
    start,
    summarise,
)

from pyptx import target
from pyptx.ops.tensor_core import hopper, plan
from pyptx.ops.tensor_core.epilogue import SCALED
from pyptx.ops.tensor_core.shape import Product, Shape
from pyptx.types import bf16, e4m3, f32

RUNS: Final = 5
MOST: Final = 500.0
"""Milliseconds that the first call of a shape may take."""
ARCH: Final = "sm_90a"
LARGE: Final = (4096, 4096, 4096)
FOLDER: Final = "PYPTX_CACHE_DIR"
KINDS: Final = {
    "bf16": Product(bf16, bf16, bf16),
    "bf16, B as (N, K)": Product(bf16, bf16, bf16, b_major="K"),
    "f32 as bf16": Product(bf16, bf16, f32, rounded=True),
    "e4m3": Product(e4m3, e4m3, bf16, b_major="K", epilogue=SCALED, batches=(False, False)),
    "blocks": Product(e4m3, e4m3, bf16, b_major="K", blocks="block", batches=(False, False)),
}
SIZES: Final = {
    "bf16": (
        (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 2112, 7168),
        (1024, 5120, 5120), (1024, 2112, 7168), (300, 5000, 3000), (64, 8192, 8192),
        (16, 14336, 4096), (1, 8192, 28672),
    ),
    "f32 as bf16": ((4096, 4096, 4096),),
    "e4m3": ((4096, 7168, 2048), (64, 8192, 8192)),
    "blocks": ((4096, 7168, 2048), (64, 7168, 2048)),
}  # fmt: skip
FIRST: Final = f"""
import os, tempfile, time
import pyptx.ops
from pyptx.ops.tensor_core import hopper, plan
from pyptx.ops.tensor_core.shape import Product
from pyptx.types import bf16
with tempfile.TemporaryDirectory() as folder:
    os.environ["{FOLDER}"] = folder
    begin = time.perf_counter()
    product = Product(bf16, bf16, bf16)
    hopper.build(product, plan.choose(product, *{LARGE})).cubin(arch="{ARCH}")
    print(time.perf_counter() - begin)
"""


def measure(device: dict[str, object], runs: int = RUNS) -> Result:
    """Milliseconds of tracing and of assembling each kernel."""
    result = start(
        "compile_products", device, runs=runs, arch=ARCH,
        counted="wall-clock time, with an empty folder of assembled kernels",
    )  # fmt: skip
    for kind, shapes in SIZES.items():
        for sizes in shapes:
            _add(result, f"{kind}, {spelled(sizes)}", KINDS[kind], sizes, runs)
    first = [1000 * taken for taken in in_fresh_processes(FIRST, runs)]
    result.put(summarise(f"the first of a process, bf16, {spelled(LARGE)}", "ms", first))
    return result


def spelled(sizes: Iterable[int]) -> str:
    """Sizes as titles have them."""
    return " x ".join(map(str, sizes))


def _add(
    result: Result, title: str, product: Product, sizes: tuple[int, int, int], runs: int
) -> None:
    """A kernel's times; one more run is not counted."""
    shape = plan.choose(product, *sizes)
    taken = [_compiled(product, shape) for _ in range(runs + 1)][1:]
    traced, assembled, lines = zip(*taken, strict=True)
    both = [sum(each) for each in zip(traced, assembled, strict=True)]
    result.put(
        summarise(
            title, "ms", both, trace=median(traced), assemble=median(assembled), lines=lines[0],
            tile=shape.tile, split=shape.split, threads=shape.threads,
        )
    )  # fmt: skip
    result.bars.append(Bar(title, result.median(title), MOST, " ms"))


def _compiled(product: Product, shape: Shape) -> tuple[float, float, int]:
    """Milliseconds of tracing and of assembling, and the lines of PTX."""
    kernel = hopper.build(product, shape)
    with no_cubins(), no_collection():
        begin = time.perf_counter()
        with target(ARCH):
            text = kernel.ptx()
        traced = time.perf_counter()
        kernel.cubin(arch=ARCH)
        assembled = time.perf_counter()
    return 1000 * (traced - begin), 1000 * (assembled - traced), text.count("\n")


@contextmanager
def no_cubins() -> Generator[None]:
    """An empty folder of assembled kernels, for a moment."""
    before = os.environ.get(FOLDER)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[FOLDER]
            else:
                os.environ[FOLDER] = before


def report(result: Result) -> None:
    """The table."""
    show(result, {name: partial(_note, name) for name in ("trace", "assemble", "lines")})


def _note(name: str, measured: Summary) -> object:
    found = measured.notes.get(name, "")
    return f"{found:.0f} ms" if isinstance(found, float) else found
