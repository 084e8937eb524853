"""Measures everything that this machine can: `python benchmarks/run.py [--only PART ...]`.

Without a GPU that is the emulator, text, indexing and what products take to compile; it says so.
Results go to benchmarks/results, one file for each part and device, with the machine, the versions
and every reading. `--check` makes a bar that does not hold an error.

One shape of the complete operation, quickly, and a variant of it that is not in the product yet
(nothing is written then, unless --out says where):

    run.py --only norm_table --shapes 2048x8192:f32 --no-peers --op variant.py:rms_norm

The sweep in several commands, each adding to the same file:

    run.py --only norm_sweep --dtype bf16 --out build/bench --resume --budget 500
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from measure import CONSOLE, RESULTS, Result, cpu, first_gpu, gpu, load, slug
from norm_cases import DIRECTIONS, ITEM_SIZES, Options, parse_operation, parse_shape

GPU_PARTS: Final = {
    "rms_norm": ("jax", "torch", "triton"),
    "norm_table": ("jax", "torch"),
    "norm_sweep": ("jax", "torch"),
    "norm_reasons": ("jax", "torch"),
    "norm_host": ("jax",),
    "torch_host": ("torch",),
    "torch_block": ("torch",),
    "jax_block": ("jax",),
    "row_table": ("jax", "torch"),
    "row_sweep": ("jax", "torch"),
    "row_floors": ("jax", "torch"),
    "row_limits": ("jax", "torch"),
    "row_clusters": ("jax", "torch"),
    "row_shapes": ("jax", "torch"),
    "matmul_table": ("jax", "torch"),
    "matmul_sweep": ("jax", "torch"),
    "matmul_power": ("jax", "torch"),
    "matmul_clocks": ("jax", "torch"),
    "matmul_floors": ("jax", "torch"),
    "matmul_sums": ("jax", "torch"),
    "matmul_steps": ("jax", "torch"),
    "matmul_host": ("jax", "torch"),
    "fused_matmul_table": ("jax", "torch"),
    "block_scaled_table": ("jax", "torch"),
    "matmul_shapes": ("jax", "torch"),
    "norm_scale": ("jax", "torch"),
    "launch": ("jax", "torch"),
    "approximations": ("jax",),
}
"""Parts that need a GPU, and the packages that they compare with."""
PARTS: Final = (*GPU_PARTS, "emulator", "text", "indexing", "compile_products")
OF_NORMS: Final = frozenset(
    {"shapes", "dtypes", "directions", "peers", "ops", "calls", "budget", "resume"}
)
SELECTIVE: Final = {
    "norm_table": OF_NORMS,
    "norm_sweep": OF_NORMS,
    "norm_reasons": OF_NORMS,
    "jax_block": frozenset({"budget", "resume"}),
    "row_table": frozenset({"budget", "operations"}),
    "row_sweep": frozenset({"budget", "operations", "dtypes", "resume", "jobs"}),
    "row_limits": frozenset({"limits"}),
    "row_clusters": frozenset({"budget", "resume", "jobs"}),
    "row_shapes": frozenset({"budget", "resume", "jobs"}),
    "matmul_sweep": frozenset({"budget", "resume"}),
    "matmul_shapes": frozenset({"budget", "resume"}),
}
"""Parts that take options, and which."""


def main() -> int:
    parser = arguments()
    given = parser.parse_args()
    options = selected(given, parser)
    # PyTorch and JAX share the memory of one GPU.
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    device = gpu()
    if device is not None:
        first_gpu()
    results: list[Result] = []
    for module in modules(given.only or PARTS, has_gpu=device is not None):
        part = module.__name__
        where = device if device and part in GPU_PARTS else cpu()
        result = measure(module, where, options, given)
        module.report(result)
        if options.out is not None:
            CONSOLE.print(f"written: {result.write(options.out)}\n")
        results.append(result)
    failed = [bar for result in results for bar in result.bars if not bar.holds]
    if failed:
        CONSOLE.print(f"{len(failed)} bars do not hold: {', '.join(bar.name for bar in failed)}")
    return 1 if not results or (failed and given.check) else 0


def measure(
    module: ModuleType, device: dict[str, object], options: Options, given: argparse.Namespace
) -> Result:
    """One part, with the options where it takes them."""
    if module.__name__ not in SELECTIVE:
        return module.measure(device)
    known = earlier(module.__name__, device, options) if given.merge or given.resume else None
    return module.measure(device, dataclasses.replace(options, known=known))


def earlier(part: str, device: dict[str, object], options: Options) -> dict[str, Any] | None:
    """The results that there are already."""
    if options.out is None:
        return None
    path = options.out / f"{part}-{slug(str(device['name']))}.json"
    return load(path) if path.exists() else None


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", action="append", choices=PARTS, help="may be repeated")
    add("--out", type=Path, help="where results are written: benchmarks/results without --op")
    add("--check", action="store_true", help="exit with 1 if a bar does not hold")
    group = parser.add_argument_group(
        "of norm_table, norm_sweep and norm_reasons; jax_block and other sweeps take some of them"
    )
    add = group.add_argument
    add("--shapes", type=_list_of(parse_shape), default=(), metavar="2048x8192:f32,...",
        help="these instead of the part's own")  # fmt: skip
    add("--dtype", type=_list_of(_one_of(ITEM_SIZES)), default=(), metavar="f32,...")
    add("--direction", type=_list_of(_one_of(DIRECTIONS)), default=DIRECTIONS)
    add("--no-peers", action="store_true", help="pyptx and the copy alone")
    add("--op", action="append", default=[], metavar="[DIRECTION=]MODULE:FUNCTION",
        help="time this beside it; may be repeated; a file is a module too")  # fmt: skip
    add("--calls", type=int, help="calls of each candidate")
    add("--budget", type=float, metavar="SECONDS",
        help="begin no further shape, or form of the block, after them")  # fmt: skip
    add("--merge", action="store_true", help="add to the file that is there, in place of its own")
    add("--resume", action="store_true", help="add to the file what it lacks")
    group = parser.add_argument_group("of row_table and row_sweep, which take --budget too")
    add = group.add_argument
    add("--operation", type=_list_of(str), default=(), metavar="softmax,...",
        help="only these; merge.py joins the files of several commands")  # fmt: skip
    add("--jobs", type=int, default=1, metavar="N",
        help="of row_sweep, row_clusters and row_shapes: build so many cases at once")  # fmt: skip
    add("--limit", type=_list_of(str), default=(), metavar="direct,...",
        help="of row_limits: only these")  # fmt: skip
    return parser


def _list_of(parse: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    def read(text: str) -> tuple[Any, ...]:
        try:
            return tuple(parse(part) for part in text.split(","))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def _one_of(legal: Any) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in legal:
            raise ValueError(f"{text!r} is none of {', '.join(legal)}")
        return text

    return read


def selected(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Options:
    """The options of the norm's parts. Ends the program where they could have no effect."""
    options = Options(
        shapes=given.shapes, dtypes=given.dtype, directions=given.direction,
        peers=not given.no_peers, ops=tuple(given.op), calls=given.calls, budget=given.budget,
        out=given.out or (None if given.op else RESULTS), resume=given.resume,
        operations=given.operation, jobs=given.jobs, limits=given.limit,
    )  # fmt: skip
    defaults = Options(out=options.out)
    names = [field.name for field in dataclasses.fields(Options)]
    changed = {name for name in names if getattr(options, name) != getattr(defaults, name)}
    takers = [part for part, taken in SELECTIVE.items() if changed <= taken]
    if not takers:
        parser.error(f"no part takes all of these: {', '.join(sorted(changed))}")
    if changed and not set(given.only or ()) & set(takers):
        parser.error(f"these options select from {', '.join(takers)}: say --only one of them")
    for text in options.ops:
        try:
            parse_operation(text)
        except ValueError as error:
            parser.error(str(error))
    return options


def modules(parts: list[str] | tuple[str, ...], *, has_gpu: bool) -> Iterator[ModuleType]:
    """The modules of the parts that can run here; says why another one cannot."""
    for part in PARTS:
        if part not in parts:
            continue
        if part in GPU_PARTS and not has_gpu:
            CONSOLE.print(f"{part}: not measured, it needs an NVIDIA GPU and there is none here")
            continue
        missing = [n for n in GPU_PARTS.get(part, ()) if importlib.util.find_spec(n) is None]
        if missing:
            CONSOLE.print(f"{part}: not measured, it needs {' and '.join(missing)}")
            continue
        yield importlib.import_module(part)


if __name__ == "__main__":
    sys.exit(main())
