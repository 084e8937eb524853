"""Tables of matrix products."""

from __future__ import annotations

import statistics
from typing import Final

from measure import number
from norm_cases import ALONE, DENSE, OURS

from doc_tables.record import TITLES, Record, medians

READING: Final = "The last column is what a product would have that took as long as only to read B."
"""Of tables that have products of few rows."""

PARTS_LEFT: Final = ("products", "copies", "neither")
"""What kernels of `matmul_floors` have."""


def matmul_table(record: Record) -> list[str]:
    """A line for each size: TFLOP/s with B as (K, N) and as (N, K), and the best other."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    alone: dict[str, float] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        sizes = _sizes(notes)
        if notes["candidate"] == ALONE:
            alone[sizes] = m["median"]
            continue
        found.setdefault(sizes, {}).setdefault(notes["layout"], {})[notes["candidate"]] = m[
            "median"
        ]
    lines = [
        f"**{TITLES['matmul_table']}**: TFLOP/s; cold L2 cache, random normal data.",
        READING,
        "",
        "| M x N x K | B as (K, N) | best peer | B as (N, K) | best peer | reading B |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for sizes, layouts in found.items():
        cells = [_rates(layouts[layout]) for layout in ("KN", "NK")]
        lines.append(f"| {sizes} | {' | '.join(cells)} | {_reading(alone.get(sizes))} |")
    return lines


def _reading(rate: float | None) -> str:
    """Of a product that is made while B is read; of many rows it was not measured."""
    return "" if rate is None else number(rate)


def fused_matmul_table(record: Record) -> list[str]:
    """A line for each product: its rate, and the best other's."""
    found: dict[str, dict[str, float]] = {}
    for m in record["measurements"]:
        who = m["notes"]["candidate"]
        found.setdefault(m["name"].removesuffix(f": {who}"), {})[who] = m["median"]
    return [
        f"**{TITLES['fused_matmul_table']}**: TFLOP/s; cold L2 cache, random normal data",
        "",
        "| product, M x N x K | pyptx | best peer | the dense product |",
        "|---|---:|---:|---:|",
        *(_with_dense(name, who) for name, who in found.items() if OURS in who),
    ]


def _with_dense(name: str, found: dict[str, float]) -> str:
    """A line, with the product of as many rows by one matrix where groups have several."""
    others = {who: rate for who, rate in found.items() if who != DENSE}
    dense = f"{found[DENSE]:.0f} ({found[OURS] / found[DENSE]:.2f}x)" if DENSE in found else ""
    return f"| {name} | {_rates(others)} | {dense} |"


def matmul_sweep(record: Record) -> list[str]:
    """How many sizes there are, how many are ahead, and the picture."""
    over = sorted(_best(found)[1] for found in _by_size(record).values() if OURS in found)
    middle = statistics.median(over)
    won = sum(quotient >= 1 for quotient in over)
    return [
        f"**{TITLES['matmul_sweep']}**: {len(over)} sizes; ahead at {won}, {middle:.2f}x in the",
        f"middle, {over[0]:.2f}x at least and {over[-1]:.2f}x at most",
        "",
        "![percent of the faster cuBLAS over the number of rows](matmul_sweep.svg)",
    ]


def matmul_clocks(record: Record) -> list[str]:
    """A line for each size: the clock during a call, and of ours the clocks with products."""
    by_size: dict[str, dict[str, Record]] = {}
    for m in record["measurements"]:
        by_size.setdefault(_sizes(m["notes"]), {})[m["notes"]["candidate"]] = m
    lines = [
        f"**{TITLES['matmul_clocks']}**: TFLOP/s; cold L2 cache, random normal data.",
        "The kernel itself reads clock and time in each CTA. Busy is the part of the clocks, from",
        "a CTA's first wait for a stage to its end, in which its tensor cores multiply.",
        "",
        "| M x N x K | pyptx | cuBLAS | with stamps | clock | tensor cores at it | busy |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for sizes, found in by_size.items():
        (stamped,) = (m for m in found.values() if "clock" in m["notes"])
        notes = stamped["notes"]
        (peer,) = (m for who, m in found.items() if who != OURS and m is not stamped)
        rates = " | ".join(f"{m['median']:.0f}" for m in (found[OURS], peer, stamped))
        lines.append(
            f"| {sizes} | {rates} | {notes['clock']:.0f} MHz | {notes['peak']:.0f} "
            f"| {notes['busy']:.1%} |"
        )
    return lines


def matmul_floors(record: Record) -> list[str]:
    """A line for each size: microseconds, and how far ahead of cuBLAS its tensor cores would be."""
    notes = [m["notes"] for m in record["measurements"]]
    goals = {_sizes(each): f"{each['goal']}x" for each in notes if "goal" in each}
    lines = [
        f"**{TITLES['matmul_floors']}**: microseconds; cold L2 cache, random normal data.",
        "The kernels of `matmul` with products of stages that are filled once, with copies alone,",
        "and with neither; how far ahead of cuBLAS the first of these are, and the goal.",
        "",
        "| M x N x K | pyptx | cuBLAS | products | copies | neither | at best | goal |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for sizes, found in _by_size(record).items():
        left = [found[part] for part in PARTS_LEFT]
        cublas = min(time for who, time in found.items() if who not in (OURS, *PARTS_LEFT))
        times = " | ".join(number(time) for time in (found[OURS], cublas, *left))
        lines.append(f"| {sizes} | {times} | {cublas / left[0]:.2f}x | {goals.get(sizes, '')} |")
    return lines


def matmul_power(record: Record) -> list[str]:
    """A line for each size: each candidate's rate, with the clock and the power that it had."""
    by_size: dict[str, dict[str, str]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        cell = f"{m['median']:.0f} at {notes['clock']:.0f} MHz, {notes['power']:.0f} W"
        sizes = _sizes(notes)
        cells = by_size.setdefault(sizes, {})
        cells[notes["candidate"]] = f"{cell}: {notes['share']:.1%}"
    names = list(dict.fromkeys(who for cells in by_size.values() for who in cells))
    return [
        f"**{TITLES['matmul_power']}**: TFLOP/s, and the percent of what the tensor cores do at",
        f"the clock that the GPU had; its limit is {record['settings']['limit']} W",
        "",
        f"| M x N x K | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
        *(
            f"| {sizes} | {' | '.join(cells.get(who, '-') for who in names)} |"
            for sizes, cells in by_size.items()
        ),
    ]


def block_scaled_table(record: Record) -> list[str]:
    """A line for each size: our rate, cuBLASLt's, and what DeepGEMM published of another GPU."""
    published = [
        m["notes"]["published"] for m in record["measurements"] if "published" in m["notes"]
    ]
    lines = [
        f"**{TITLES['block_scaled_table']}**: TFLOP/s; cold L2 cache, random normal data.",
        "DeepGEMM was not run: its column is what it published of an H800 in February 2025.",
        READING,
        "",
        "| M x N x K | pyptx | cuBLASLt | DeepGEMM, on an H800 | reading B |",
        "|---|---:|---:|---:|---:|",
    ]
    for (sizes, found), rate in zip(_by_size(record).items(), published, strict=True):
        alone = _reading(found.pop(ALONE, None))
        rates = _rates(found).replace("cuBLASLt: ", "")
        lines.append(f"| {sizes} | {rates} | {rate:.0f} ({found[OURS] / rate:.2f}x) | {alone} |")
    return lines


def _by_size(record: Record) -> dict[str, dict[str, float]]:
    """What each candidate reached, by M, N and K."""
    found: dict[str, dict[str, float]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        sizes = _sizes(notes)
        found.setdefault(sizes, {})[notes["candidate"]] = m["median"]
    return found


def _sizes(notes: Record) -> str:
    return f"{notes['m']} x {notes['n']} x {notes['k']}"


def _best(found: dict[str, float]) -> tuple[str, float]:
    """The fastest other, and the product's rate over its."""
    best = max((name for name in found if name != OURS), key=lambda name: found[name])
    return best, found[OURS] / found[best]


def _rates(found: dict[str, float]) -> str:
    """The product's rate and that of the fastest other, with their quotient."""
    best, quotient = _best(found)
    mine = f"{found[OURS]:.0f}" if quotient < 1 else f"**{found[OURS]:.0f}**"
    return f"{mine} | {best}: {found[best]:.0f} ({quotient:.2f}x)"


def matmul_sums(record: Record) -> list[str]:
    """A line for each size: the time in order, and by atomic additions with and without zeros."""
    names = ("in order", "atomic", "atomic, without clearing")
    return [
        f"**{TITLES['matmul_sums']}**: microseconds; cold L2 cache, random normal data",
        "",
        f"| M x N x K | {' | '.join(names)} |",
        "|---|---:|---:|---:|",
        *(
            f"| {size} | {' | '.join(f'{found[name]:.1f}' for name in names)} |"
            for size, found in _by_size(record).items()
        ),
    ]


def compile_products(record: Record) -> list[str]:
    """A line for each kernel: tracing, assembling, both, and how long its text is."""
    holds = {bar["name"]: bar["holds"] for bar in record["bars"]}
    most = max(bar["limit"] for bar in record["bars"])
    lines = [
        f"**{TITLES['compile_products']}**: milliseconds, at most {most:.0f} in bold",
        "",
        "| | trace | assemble | both | lines of PTX |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, both, m in medians(record):
        notes = m["notes"]
        parts = [f"{notes[key]:.0f}" if key in notes else "" for key in ("trace", "assemble")]
        bold = "**" if holds.get(name) else ""
        lines.append(
            f"| {name} | {' | '.join(parts)} | {bold}{both:.0f}{bold} | {notes.get('lines', '')} |"
        )
    return lines


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
