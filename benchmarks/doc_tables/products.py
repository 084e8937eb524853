"""Tables of matrix products."""

from __future__ import annotations

import statistics
from typing import Final

from measure import number
from norm_cases import OURS

from doc_tables.record import TITLES, Record, medians

_PUBLISHED: Final = "published"


def matmul_table(record: Record) -> list[str]:
    """A line for each size: TFLOP/s with B as (K, N) and as (N, K), and the best other."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        sizes = f"{notes['m']} x {notes['n']} x {notes['k']}"
        found.setdefault(sizes, {}).setdefault(notes["layout"], {})[notes["candidate"]] = m[
            "median"
        ]
    lines = [
        f"**{TITLES['matmul_table']}**: TFLOP/s; cold L2 cache, random normal data",
        "",
        "| M x N x K | B as (K, N) | best peer | B as (N, K) | best peer |",
        "|---|---:|---:|---:|---:|",
    ]
    for sizes, layouts in found.items():
        cells = [_rates(layouts[layout]) for layout in ("KN", "NK")]
        lines.append(f"| {sizes} | {' | '.join(cells)} |")
    return lines


def fused_matmul_table(record: Record) -> list[str]:
    """A line for each product: its rate, and the best other's."""
    found: dict[str, dict[str, float]] = {}
    for m in record["measurements"]:
        who = m["notes"]["candidate"]
        found.setdefault(m["name"].removesuffix(f": {who}"), {})[who] = m["median"]
    return [
        f"**{TITLES['fused_matmul_table']}**: TFLOP/s; cold L2 cache, random normal data",
        "",
        "| product, M x N x K | pyptx | best peer |",
        "|---|---:|---:|",
        *(f"| {name} | {_rates(who)} |" for name, who in found.items() if OURS in who),
    ]


def matmul_sweep(record: Record) -> list[str]:
    """How many sizes there are, how many are ahead, and the picture."""
    found: dict[str, dict[str, float]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        sizes = f"{notes['m']} x {notes['n']} x {notes['k']}"
        found.setdefault(sizes, {})[notes["candidate"]] = m["median"]
    over = sorted(
        rates.pop(OURS) / max(rates.values())
        for rates in map(dict, found.values())
        if OURS in rates
    )
    middle = statistics.median(over)
    won = sum(quotient >= 1 for quotient in over)
    return [
        f"**{TITLES['matmul_sweep']}**: {len(over)} sizes; ahead at {won}, {middle:.2f}x in the",
        f"middle, {over[0]:.2f}x at least and {over[-1]:.2f}x at most",
        "",
        "![percent of the faster cuBLAS over the number of rows](matmul_sweep.svg)",
    ]


def block_scaled_table(record: Record) -> list[str]:
    """A line for each size: our rate, cuBLASLt's, and what DeepGEMM published of another GPU."""
    found: dict[str, dict[str, float]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        row = found.setdefault(f"{notes['m']} x {notes['n']} x {notes['k']}", {})
        row[notes["candidate"]] = m["median"]
        if "published" in notes:
            row[_PUBLISHED] = notes["published"]
    lines = [
        f"**{TITLES['block_scaled_table']}**: TFLOP/s; cold L2 cache, random normal data.",
        "DeepGEMM was not run: its column is what it published of an H800 in February 2025.",
        "",
        "| M x N x K | pyptx | cuBLASLt | DeepGEMM, on an H800 |",
        "|---|---:|---:|---:|",
    ]
    for sizes, row in found.items():
        published = row.pop(_PUBLISHED)
        rates = _rates(row).replace("cuBLASLt: ", "")
        lines.append(f"| {sizes} | {rates} | {published:.0f} ({row[OURS] / published:.2f}x) |")
    return lines


def _rates(found: dict[str, float]) -> str:
    """The product's rate and that of the fastest other, with their quotient."""
    ours = found[OURS]
    best = max((name for name in found if name != OURS), key=lambda name: found[name])
    quotient = ours / found[best]
    mine = f"{ours:.0f}" if quotient < 1 else f"**{ours:.0f}**"
    return f"{mine} | {best}: {found[best]:.0f} ({quotient:.2f}x)"


def matmul_steps(record: Record) -> list[str]:
    """A line for each step: its rate, that over the rate before it, and its share of the best."""
    rows = medians(record)
    best = max(rate for _, rate, _ in rows)
    lines = [
        f"**{TITLES['matmul_steps']}**; cold L2 cache, random normal data",
        "",
        "| | TFLOP/s | over the step before | of the best |",
        "|---|---:|---:|---:|",
    ]
    before = None
    for name, rate, m in rows:
        over = "" if before is None or not m["notes"]["step"] else f"{rate / before:.2f}x"
        lines.append(f"| {name} | {number(rate)} | {over} | {rate / best:.1%} |")
        before = rate
    return lines
