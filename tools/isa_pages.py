"""Writes docs/isa: a page for each instruction and their index, from the ISA table."""

from __future__ import annotations

from pathlib import Path

from pyptx._emulator.coverage import coverage
from pyptx._isa.reference import pages

FOLDER = Path(__file__).parents[1] / "docs" / "isa"


def made() -> dict[str, str]:
    """Every page by its name; what the emulator runs comes from its core."""
    return pages(lambda form: str(coverage(form)))


def main() -> None:
    """Write the pages and remove those of instructions that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    written = made()
    for old in FOLDER.glob("*.md"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text)
    print(f"{FOLDER}: {len(written)} pages")


if __name__ == "__main__":
    main()
