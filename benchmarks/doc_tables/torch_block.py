"""The results of `torch_block` as a table of docs: a line for each way."""

from __future__ import annotations

from typing import Any, Final

from measure import number

Record = dict[str, Any]

TITLE: Final = "A training step of a transformer block in PyTorch, 4096 tokens of 4096 in bf16"
KINDS: Final = ("matrix products", "attention", "everything else")
"""Of kernels, as the benchmark tells them apart."""


def table(record: Record) -> list[str]:
    """A step's time, and what the device spends on each kind of kernel."""
    found = {m["name"]: m for m in record["measurements"]}
    ways = [name for name in found if ": " not in name]
    best = min(ways, key=lambda way: found[way]["median"])
    lines = [
        f"**{TITLE}**: milliseconds of a step, and milliseconds that kernels take in it",
        "",
        f"| operations | step | {' | '.join(KINDS)} |",
        "|---|---:|" + "---:|" * len(KINDS),
    ]
    for way in ways:
        step = number(found[way]["median"])
        parts = [found.get(f"{way}: {kind}") for kind in KINDS]
        cells = ["-" if m is None else number(m["median"] / 1e3) for m in parts]
        lines.append(f"| {way} | {f'**{step}**' if way == best else step} | {' | '.join(cells)} |")
    return lines
