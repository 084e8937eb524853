"""Measured numbers of docs/, made from benchmarks/results and nothing else.

`python benchmarks/tables.py` prints them, `--write` puts them between the two marks of each
document. The test suite compares, so a number there is always one in a results file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
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
    parts = DOCUMENTS[document].items()
    return "\n".join(text for part, render in parts for text in _parts(folder, part, render))


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
PARTS: Final[dict[str, Callable[[Record], list[str]]]] = {
    "row_table": rows.row_table,
    "row_sweep": rows.row_sweep,
    "row_floors": rows.row_floors,
    "matmul_table": products.matmul_table,
    "matmul_sweep": products.matmul_sweep,
    "matmul_clocks": products.matmul_clocks,
    "matmul_floors": products.matmul_floors,
    "matmul_power": products.matmul_power,
    "matmul_sums": products.matmul_sums,
    "matmul_host": plain,
    "compile_products": products.compile_products,
    "fused_matmul_table": products.fused_matmul_table,
    "block_scaled_table": products.block_scaled_table,
    "norm_table": norm.norm_table,
    "norm_sweep": norm.norm_sweep,
    "norm_host": norm.norm_host,
    "torch_host": plain,
    "torch_block": torch_block.table,
    "jax_block": jax_block.table,
    "norm_scale": plain,
    "rms_norm": norm.rms_norm,
    "launch": plain,
    "emulator": plain,
}
DOCUMENTS: Final[dict[Path, dict[str, Callable[[Record], list[str]]]]] = {
    BENCHMARKS: PARTS,
    NORM_PAGE: {"norm_reasons": norm.norm_reasons},
    ARCHITECTURE: {"text": language.text_speed},
    INDEXING: {"indexing": language.indexing},
    SECURITY: {"fuzz": emulator.fuzz},
    EMULATOR: {"mutants": mutants_table.table},
    ARITHMETIC: {"approximations": emulator.approximations},
    FAST_PRODUCT: {"matmul_steps": products.matmul_steps},
}


def replaced(text: str, inside: str) -> str:
    """A document's text with `inside` between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"there is no {BEGIN} ... {END} in what begins with {text[:40]!r}")
    return f"{before}{BEGIN}\n{inside}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="change the documents")
    write: bool = parser.parse_args().write
    for document in DOCUMENTS:
        text = section(document=document)
        if write:
            document.write_text(replaced(document.read_text(), text))
        else:
            sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
