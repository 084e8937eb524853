"""Measured numbers of docs/, made from benchmarks/results and nothing else.

`python benchmarks/tables.py` prints them, `--write` puts them between the marks of each document,
which has a pair of them for each of its sections. The test suite compares, so a number there is
always one in a results file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import mutants_table
from doc_tables import emulator, jax_block, language, norm, products, rows, torch_block
from doc_tables.record import TITLES, Record, bars, machine, plain
from measure import RESULTS, ROOT, load

BENCHMARKS: Final = ROOT / "docs" / "benchmarks.md"
NORM_PAGE: Final = ROOT / "docs" / "rms_norm.md"
ARCHITECTURE: Final = ROOT / "docs" / "architecture.md"
INDEXING: Final = ROOT / "docs" / "indexing.md"
ARITHMETIC: Final = ROOT / "docs" / "arithmetic.md"
EMULATOR: Final = ROOT / "docs" / "emulator.md"
SECURITY: Final = ROOT / "docs" / "security.md"
FAST_PRODUCT: Final = ROOT / "docs" / "tutorial" / "11_fast_product.md"
BEGIN: Final = "<!-- measured: begin (make tables) -->"
END: Final = "<!-- measured: end -->"


def section(folder: Path = RESULTS, document: Path = BENCHMARKS) -> str:
    """Markdown for every part of a document, GPUs first."""
    return "\n".join(sections(folder, document))


def sections(folder: Path = RESULTS, document: Path = BENCHMARKS) -> list[str]:
    """The same for each pair of marks."""
    return [
        "\n".join(text for part, render in parts.items() for text in _parts(folder, part, render))
        for parts in DOCUMENTS[document]
    ]


def _parts(folder: Path, part: str, render: Callable[[Record], list[str]]) -> Iterator[str]:
    records = [load(path) for path in sorted(folder.glob(f"{part}-*.json"))]
    for record in records:
        judged = [] if part in JUDGED else [*bars(record), ""]
        yield "\n".join((*render(record), "", *judged, machine(record), ""))
    if not records:
        yield f"*{TITLES[part]}: not measured yet; `make bench` does it.*\n"


JUDGED: Final = (
    "norm_table", "norm_host", "row_table", "matmul_table", "fused_matmul_table", "matmul_steps",
    "block_scaled_table", "row_sweep", "row_floors", "matmul_sweep", "matmul_clocks",
    "matmul_floors",    "matmul_power", "matmul_sums", "compile_products",
)  # fmt: skip
"""Parts whose table shows the bars itself."""
Parts = dict[str, Callable[[Record], list[str]]]
ROWS: Final[Parts] = {
    "row_table": rows.row_table,
    "row_sweep": rows.row_sweep,
    "row_floors": rows.row_floors,
    "norm_table": norm.norm_table,
    "norm_sweep": norm.norm_sweep,
    "rms_norm": norm.rms_norm,
}
PRODUCTS: Final[Parts] = {
    "matmul_table": products.matmul_table,
    "matmul_sweep": products.matmul_sweep,
    "fused_matmul_table": products.fused_matmul_table,
    "block_scaled_table": products.block_scaled_table,
    "matmul_floors": products.matmul_floors,
    "matmul_clocks": products.matmul_clocks,
    "matmul_power": products.matmul_power,
    "matmul_sums": products.matmul_sums,
    "compile_products": products.compile_products,
}
CALLS: Final[Parts] = {
    "launch": plain,
    "norm_host": norm.norm_host,
    "torch_host": plain,
    "matmul_host": plain,
    "torch_block": torch_block.table,
    "jax_block": jax_block.table,
    "norm_scale": plain,
}
PARTS: Final[Parts] = {**ROWS, **PRODUCTS, **CALLS, "emulator": plain}
DOCUMENTS: Final[dict[Path, tuple[Parts, ...]]] = {
    BENCHMARKS: (ROWS, PRODUCTS, CALLS, {"emulator": plain}),
    NORM_PAGE: ({"norm_reasons": norm.norm_reasons},),
    ARCHITECTURE: ({"text": language.text_speed},),
    INDEXING: ({"indexing": language.indexing},),
    SECURITY: ({"fuzz": emulator.fuzz},),
    EMULATOR: ({"mutants": mutants_table.table},),
    ARITHMETIC: ({"approximations": emulator.approximations},),
    FAST_PRODUCT: ({"matmul_steps": products.matmul_steps},),
}


def replaced(text: str, insides: Sequence[str]) -> str:
    """A document's text with these between its pairs of marks."""
    pieces: list[str] = []
    rest = text
    for inside in insides:
        before, _, rest = rest.partition(BEGIN)
        _, mark, rest = rest.partition(END)
        if not mark:
            count = f"{len(insides)} times " if len(insides) > 1 else ""
            raise SystemExit(
                f"there is no {BEGIN} ... {END} {count}in what begins with {text[:40]!r}"
            )
        pieces += [before, f"{BEGIN}\n{inside}\n{END}"]
    if BEGIN in rest:
        raise SystemExit(
            f"there are more than {len(insides)} {BEGIN} in what begins with {text[:40]!r}"
        )
    return "".join([*pieces, rest])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="change the documents")
    write: bool = parser.parse_args().write
    for document in DOCUMENTS:
        texts = sections(document=document)
        if write:
            document.write_text(replaced(document.read_text(), texts))
        else:
            sys.stdout.write("\n".join([*texts, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
