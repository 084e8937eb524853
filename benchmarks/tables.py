"""Measured numbers of docs/, made from benchmarks/results and nothing else.

`python benchmarks/tables.py` prints them, `--write` puts them between the two marks of each
document. The test suite compares, so a number there is always one in a results file.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import jax_block_table
import mutants_table
from measure import RESULTS, ROOT, load, number
from norm_cases import (
    BACKWARD,
    DIRECTIONS,
    FORWARD,
    GOALS,
    OURS,
    PEERS,
    TENSORS,
    Shape,
    host_bars,
    measurement_name,
    percent,
)
from norm_cases import COPY as NORM_COPY

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
COPY: Final = "copy of the same bytes"

Record = dict[str, Any]


def section(folder: Path = RESULTS, document: Path = BENCHMARKS) -> str:
    """Markdown for every part of a document, GPUs first."""
    parts = DOCUMENTS[document].items()
    return "\n".join(text for part, render in parts for text in _parts(folder, part, render))


def _parts(folder: Path, part: str, render: Callable[[Record], list[str]]) -> Iterator[str]:
    records = [load(path) for path in sorted(folder.glob(f"{part}-*.json"))]
    for record in records:
        bars = [] if part in JUDGED else [*_bars(record), ""]
        yield "\n".join((*render(record), "", *bars, machine(record), ""))
    if not records:
        yield f"*{TITLES[part]}: not measured yet; `make bench` does it.*\n"


def machine(record: Record) -> str:
    """Where, with what and from which state of the cache the numbers were taken, in one line."""
    device, environment = record["device"], record["environment"]
    packages: dict[str, str] = environment["packages"]
    shown = [f"{name} {packages[name]}" for name in ("jax", "torch", "triton") if name in packages]
    driver = [f"driver {device['driver_version']}"] if "driver_version" in device else []
    where = ", ".join((device["name"], *driver, f"Python {environment['python']}", *shown))
    flush = f"; {record['settings']['flush']}" if "flush" in record["settings"] else ""
    return f"<sub>{where}; commit {environment['commit']}, {environment['time'][:10]}{flush}</sub>"


def _bars(record: Record) -> list[str]:
    lines: list[str] = []
    for bar in record["bars"]:
        relation = "at least" if bar["at_least"] else "at most"
        verdict = "" if bar["holds"] else " **not reached**"
        value, limit = (f"{number(bar[key])}{bar['unit']}" for key in ("value", "limit"))
        lines.append(f"- {bar['name']}: {value} (goal: {relation} {limit}){verdict}")
    return lines


def _medians(record: Record) -> list[tuple[str, float, Record]]:
    return [(m["name"], m["median"], m) for m in record["measurements"]]


def rms_norm(record: Record) -> list[str]:
    """Time, share of the copy's time and bandwidth, fastest first."""
    settings = record["settings"]
    total = settings["columns"] * 4 * (2 * settings["rows"] + 1)
    rows = [row for row in _medians(record) if not row[0].endswith("CUDA events")]
    copy = next(median for name, median, _ in rows if name == COPY)
    size = f"{settings['rows']} x {settings['columns']} {settings['dtype']}"
    lines = [
        f"**{TITLES['rms_norm']}**, {size}, device time of one call with a cold L2 cache",
        "",
        "| | us | copy = 1 | GB/s |",
        "|---|---:|---:|---:|",
    ]
    for name, median, _ in sorted(rows, key=lambda row: row[1]):
        shown = f"**{name}**" if name.startswith("pyptx") else name
        bandwidth = f"{total / median / 1000:,.0f}"
        lines.append(f"| {shown} | {number(median)} | {number(median / copy)} | {bandwidth} |")
    return lines


def plain(record: Record) -> list[str]:
    """Median and range of every measurement, and how many kernels a call launched."""
    rows = _medians(record)
    counted = any("kernels" in m["notes"] for _, _, m in rows)
    heading = "| | median | min to max |" + " kernels a call |" * counted
    lines = [f"**{TITLES[record['part']]}**", "", heading, "|---|---:|---:|" + "---:|" * counted]
    for name, median, m in rows:
        extent = f"{number(m['minimum'])} to {number(m['maximum'])}"
        kernels = f" {_kernels(m['notes'].get('kernels', ''))} |" * counted
        lines.append(f"| {name} | {number(median)} {m['unit']} | {extent} |{kernels}")
    return lines


def _kernels(launched: float | dict[str, float] | str) -> str:
    """How many, or which ones and how often each."""
    if not isinstance(launched, dict):
        return str(launched)
    return ", ".join(name if n == 1 else f"{n:g} {name}" for name, n in launched.items())


def norm_host(record: Record) -> list[str]:
    """Times of calls, and how far the operation is from a kernel called by hand."""
    samples = {m["name"]: m["samples"] for m in record["measurements"]}
    return [*plain(record), "", *_bars({"bars": [bar.record() for bar in host_bars(samples)]})]


def norm_table(record: Record) -> list[str]:
    """A table for each direction: microseconds and percent of the copy's speed, beside the goal."""
    found = {m["name"]: m for m in record["measurements"]}
    title = f"**{TITLES['norm_table']}**, microseconds and percent of a copy's speed, cold L2 cache"
    compiled = any(m["notes"]["candidate"] in PEERS for m in found.values())
    lines = (
        [f"{title};", f"torch.compile with {record['settings']['mode']}"] if compiled else [title]
    )
    for direction in DIRECTIONS:
        peers = [p for p in PEERS if any(m["notes"]["candidate"] == p
                 and m["notes"]["direction"] == direction for m in found.values())]  # fmt: skip
        lines += ["", HEADINGS[direction], "",
                  f"| | {' | '.join(('at copy speed', '**pyptx**', 'goal', *peers))} |",
                  "|---|---:|---:|---:|" + "---:|" * len(peers)]  # fmt: skip
        for shape in GOALS:
            copied = found.get(measurement_name(shape, FORWARD, NORM_COPY))
            if copied is not None:
                lines.append(_norm_row(found, shape, direction, copied["median"], peers))
    return lines


def _norm_row(found: Record, shape: Shape, direction: str, copied: float, peers: list[str]) -> str:
    goal = GOALS[shape]
    ideal = copied * TENSORS[direction] / TENSORS[FORWARD]

    def cell(name: str) -> str:
        m = found.get(measurement_name(shape, direction, name))
        if m is None:
            return "-"
        return f"{number(m['median'])} ({percent(m['notes'], m['median']):.0f})"

    ours = found.get(measurement_name(shape, direction, OURS))
    reached = None if ours is None else (
        percent(ours["notes"], ours["median"]) >= goal.limit(direction) if goal.unit == "%"
        else ours["median"] <= goal.limit(direction)
    )  # fmt: skip
    missed = "" if reached else " **not reached**"
    limit = f"{goal.limit(direction):g}{goal.unit}{missed}"
    cells = (shape.title, number(ideal), f"**{cell(OURS)}**", limit, *map(cell, peers))
    return f"| {' | '.join(cells)} |"


def norm_sweep(record: Record) -> list[str]:
    """The picture, how much it shows, and where a peer is faster."""
    cases: dict[str, dict[str, float]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        shape = Shape(notes["rows"], notes["columns"], notes["dtype"])
        case = cases.setdefault(f"{shape.title} {notes['direction']}", {})
        case[notes["candidate"]] = m["median"]
    cases = {case: found for case, found in cases.items() if OURS in found}
    lines = [f"**{TITLES['norm_sweep']}**: {len(cases)} cases; {_ahead(cases)}"]
    if (ROOT / "docs" / PICTURE).exists():
        lines += ["", f"![percent of the speed of a copy over the length of a row]({PICTURE})"]
    return lines


def _ahead(cases: dict[str, dict[str, float]]) -> str:
    found: list[str] = []
    for case, times in cases.items():
        peers = {name: us for name, us in times.items() if name not in (OURS, NORM_COPY)}
        if peers and min(peers.values()) < times[OURS]:
            best = min(peers, key=peers.__getitem__)
            found.append(f"{case} ({best}, {times[OURS] / peers[best] - 1:.1%})")
    return f"a peer is faster in {len(found) or 'none'}" + ": " * bool(found) + ", ".join(found)


def norm_reasons(record: Record) -> list[str]:
    """A line for each reason: the product's time, and each other way's."""
    lines = ["| choice | rows | us | alternatives, us |", "|---|---|---:|---|"]
    for (shape, what), ways in _by_reason(record).items():
        (_, product), *others = ways
        rest = ", ".join(f"{way}: {number(us)} ({us / product - 1:+.1%})" for way, us in others)
        lines.append(f"| {what} | {shape} | {number(product)} | {rest} |")
    return lines


def _by_reason(record: Record) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """The ways of each reason with their medians, the product's first."""
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        what, mark, way = notes["candidate"].partition(": ")
        if mark:  # the copy has none
            shape = Shape(notes["rows"], notes["columns"], notes["dtype"]).title
            found.setdefault((f"{shape} {notes['direction']}", what), []).append((way, m["median"]))
    return found


def row_table(record: Record) -> list[str]:
    """A line for each operation and shape: the share of a copy's speed, and the best other."""
    cases: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        case = notes["operation"], f"{notes['rows']} x {notes['columns']} {notes['dtype']}"
        cases.setdefault((*case, notes["direction"]), {})[notes["candidate"]] = m
    title = f"**{TITLES['row_table']}**: microseconds, and percent of the speed of a copy of the"
    lines = [
        f"{title} bytes that must move; cold L2 cache",
        "",
        "| operation | shape | forward | best peer | backward | best peer |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for operation, shape, direction in cases:
        if direction == FORWARD:
            cells = [_against(cases.get((operation, shape, d), {})) for d in DIRECTIONS]
            lines.append(f"| {operation} | {shape} | {' | '.join(cells)} |")
    return lines


def _against(found: dict[str, dict[str, Any]]) -> str:
    """The product's cell and that of the fastest other; dashes where nothing was measured."""
    if not found:
        return "- | -"
    others = [name for name in found if name not in (OURS, NORM_COPY)]
    best = min(others, key=lambda name: found[name]["median"])

    def cell(name: str) -> str:
        m = found[name]
        return f"{number(m['median'])} us, {m['notes']['share']:.1%}"

    ours = cell(OURS)
    ahead = found[OURS]["median"] <= found[best]["median"]
    return f"{f'**{ours}**' if ahead else ours} | {best}: {cell(best)}"


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


def _rates(found: dict[str, float]) -> str:
    """The product's rate and that of the fastest other, with their quotient."""
    ours = found[OURS]
    best = max((name for name in found if name != OURS), key=lambda name: found[name])
    quotient = ours / found[best]
    mine = f"{ours:.0f}" if quotient < 1 else f"**{ours:.0f}**"
    return f"{mine} | {best}: {found[best]:.0f} ({quotient:.2f}x)"


TITLES: Final = {
    "matmul_table": "`pyptx.ops.matmul` in bf16",
    "matmul_steps": "A product of 4096 x 4096 x 4096 in bf16, step by step",
    "fused_matmul_table": "Products with epilogues, of groups and of 8 bits",
    "row_table": "Row-wise operations of `pyptx.ops`",
    "norm_table": "`pyptx.ops.rms_norm`",
    "norm_sweep": "`pyptx.ops.rms_norm` over row lengths from 64 to 1M, 1M to 512M values",
    "norm_reasons": "Choices of the kernels, and their alternatives",
    "norm_host": "Host time of one call of `pyptx.ops.rms_norm` on 8 x 128 f32",
    "torch_host": "Host time of one call in PyTorch on 8 x 1024 bf16",
    "torch_block": "A training step of a transformer block in PyTorch, 4096 tokens of 4096 in bf16",
    "jax_block": jax_block_table.TITLE,
    "norm_scale": "A training step with `pyptx.ops.rms_norm`, the same rows on every GPU",
    "rms_norm": "RMS normalization",
    "launch": "Launching from JAX: host time of a call, and a chain of dependent kernels",
    "text": "Text and tracing, on one core",
    "fuzz": "Inputs of each fuzz target in one run of `make fuzz`",
    "indexing": "Five kernels, by hand and by index",
    "approximations": "Results of a GPU against the emulator's, on all arguments",
    "mutants": "Mutants under compute-sanitizer and in the emulator",
    "emulator": "Emulator: 2048 x 8192 f32 RMS normalization, million warp-instructions a second",
}
HEADINGS: Final = {
    FORWARD: "Forward: y",
    BACKWARD: "Backward: the gradients of x and weight",
}
PICTURE: Final = "norm_sweep.svg"
JUDGED: Final = (
    "norm_table", "norm_host", "row_table", "matmul_table", "fused_matmul_table", "matmul_steps",
)  # fmt: skip
"""Parts whose table shows the bars itself."""
PARTS: Final[dict[str, Callable[[Record], list[str]]]] = {
    "row_table": row_table,
    "matmul_table": matmul_table,
    "fused_matmul_table": fused_matmul_table,
    "norm_table": norm_table,
    "norm_sweep": norm_sweep,
    "norm_host": norm_host,
    "torch_host": plain,
    "torch_block": plain,
    "jax_block": jax_block_table.table,
    "norm_scale": plain,
    "rms_norm": rms_norm,
    "launch": plain,
    "emulator": plain,
}


def text_speed(record: Record) -> list[str]:
    """The table, and what stands between the parser and its bar."""
    found = {m["name"]: m["median"] for m in record["measurements"]}
    speed, known = (found[f"parse, generated{which}"] for which in ("", ", known words"))
    bar = next(bar for bar in record["bars"] if bar["name"] == "parse")
    reached = "reached" if bar["holds"] else "not reached"
    made = found["make a register, a location and an instruction"]
    sentence = (
        f"The parser's goal of {bar['limit']:.0f},000 instructions a second is {reached}. If every "
        f"word of a line is known, an instruction takes {number(1000 / known)} us, of which "
        f"{number(made)} us make its register, location and instruction. If every result has its "
        f"own register, it takes {number(1000 / speed)} us: each new word is read once, in Python, "
        "and kept."
    )
    return [*plain(record), "", *textwrap.wrap(sentence, 118)]


def fuzz(record: Record) -> list[str]:
    """A line for each target: its inputs, and the places in the code that they reach."""
    title = f"**{TITLES['fuzz']}**, {record['settings']['seconds']} s each; no failures"
    rows = [
        f"| {name} | {int(median):,} | {m['notes']['covered']:,} |"
        for name, median, m in _medians(record)
    ]
    return [title, "", "| reader | inputs | places reached |", "|---|---:|---:|", *rows]


def indexing(record: Record) -> list[str]:
    """A line for each kernel: what it is by hand, and by index."""
    found: dict[str, list[str]] = {}
    for m in record["measurements"]:
        cells = (m["notes"]["lines"], m["notes"]["registers"], int(m["median"]))
        found.setdefault(m["name"].partition(", ")[0], []).extend(map(str, cells))
    heading = "lines by hand | registers | instructions | lines by index | registers | instructions"
    rows = [
        f"| [{name}](../examples/{name}.py) | {' | '.join(cells)} |"
        for name, cells in found.items()
    ]
    title = f"**{TITLES['indexing']}**, for {record['settings']['arch']}"
    return [title, "", f"| | {heading} |", "|---|" + "---:|" * 6, *rows]


def approximations(record: Record) -> list[str]:
    """How many results of each function a GPU gives with other bits than the emulator."""
    rows = [
        f"| `{m['name']}` | {notes['inputs']:,} | {notes['different']:,} | {number(m['median'])} |"
        for m in record["measurements"]
        for notes in (m["notes"],)
    ]
    heading = "| function | arguments | results with other bits | largest distance, ulp |"
    return [f"**{TITLES['approximations']}**", "", heading, "|---|---:|---:|---:|", *rows]


def matmul_steps(record: Record) -> list[str]:
    """A line for each step: its rate, that over the rate before it, and its share of the best."""
    rows = _medians(record)
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


DOCUMENTS: Final[dict[Path, dict[str, Callable[[Record], list[str]]]]] = {
    BENCHMARKS: PARTS,
    NORM_PAGE: {"norm_reasons": norm_reasons},
    ARCHITECTURE: {"text": text_speed},
    INDEXING: {"indexing": indexing},
    SECURITY: {"fuzz": fuzz},
    EMULATOR: {"mutants": mutants_table.table},
    ARITHMETIC: {"approximations": approximations},
    FAST_PRODUCT: {"matmul_steps": matmul_steps},
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
