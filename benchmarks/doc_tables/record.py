"""What all tables share: titles, where the numbers were taken, bars, and the plain table."""

from __future__ import annotations

from typing import Any, Final

from measure import number

from doc_tables import jax_block, torch_block

Record = dict[str, Any]

TITLES: Final = {
    "matmul_table": "`pyptx.ops.matmul` in bf16",
    "matmul_steps": "A product of 4096 x 4096 x 4096 in bf16, step by step",
    "fused_matmul_table": "Products with epilogues, of groups and of 8 bits",
    "block_scaled_table": "Products of e4m3 with scales of 128 and 128 x 128 values",
    "row_sweep": "Row-wise operations of `pyptx.ops` over row lengths, many rows and few",
    "matmul_sweep": "`pyptx.ops.matmul` in bf16 over 1 to 16384 rows, beside cuBLAS",
    "matmul_clocks": "Large products in bf16, one call: the clock, and what tensor cores do at it",
    "matmul_floors": "Matrix products in bf16, and their kernels with parts left out",
    "matmul_power": "Large products in bf16, each for a second: rate, clock and power",
    "matmul_sums": "Tiles that are split along K: sums in a fixed order, and by atomic additions",
    "compile_products": "Kernels of `pyptx.ops.matmul` for sm_90a before their first launch",
    "matmul_host": "Host time of one product: of a known kernel, and the first of a shape",
    "row_floors": "Row-wise operations of `pyptx.ops`, and kernels that move the same bytes alone",
    "row_table": "Row-wise operations of `pyptx.ops`",
    "norm_table": "`pyptx.ops.rms_norm`",
    "norm_sweep": "`pyptx.ops.rms_norm` over row lengths from 64 to 1M, 1M to 512M values",
    "norm_reasons": "Choices of the kernels, and their alternatives",
    "norm_host": "Host time of one call of `pyptx.ops.rms_norm` on 8 x 128 f32",
    "torch_host": "Host time of one call in PyTorch on 8 x 1024 bf16",
    "torch_block": torch_block.TITLE,
    "jax_block": jax_block.TITLE,
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


def machine(record: Record) -> str:
    """Where, with what and from which state of the cache the numbers were taken, in one line."""
    device, environment = record["device"], record["environment"]
    packages: dict[str, str] = environment["packages"]
    shown = [f"{name} {packages[name]}" for name in ("jax", "torch", "triton") if name in packages]
    driver = [f"driver {device['driver_version']}"] if "driver_version" in device else []
    where = ", ".join((device["name"], *driver, f"Python {environment['python']}", *shown))
    flush = f"; {record['settings']['flush']}" if "flush" in record["settings"] else ""
    return f"<sub>{where}; commit {environment['commit']}, {environment['time'][:10]}{flush}</sub>"


def bars(record: Record) -> list[str]:
    lines: list[str] = []
    for bar in record["bars"]:
        relation = "at least" if bar["at_least"] else "at most"
        verdict = "" if bar["holds"] else " **not reached**"
        value, limit = (f"{number(bar[key])}{bar['unit']}" for key in ("value", "limit"))
        lines.append(f"- {bar['name']}: {value} (goal: {relation} {limit}){verdict}")
    return lines


def medians(record: Record) -> list[tuple[str, float, Record]]:
    return [(m["name"], m["median"], m) for m in record["measurements"]]


def plain(record: Record) -> list[str]:
    """Median and range of every measurement, and how many kernels a call launched."""
    rows = medians(record)
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
