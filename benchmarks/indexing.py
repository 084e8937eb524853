"""Typed indexing against addresses by hand: lines of Python, registers, machine instructions.

Needs no GPU: the kernels are assembled and their machine code is counted, without the instructions
that only fill up its end. Lines are those of the body of the kernel, and of the functions of the
same name in both forms, without blank lines, comments and docstrings.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, Final

import indexed_kernels as by_hand
from measure import ROOT, Bar, Result, show, start, summarise

from pyptx import Kernel

ARCH: Final = "sm_90a"
MOST: Final = 1.02
"""What the indexed form may need of the other's registers and instructions."""
HAND: Final = "by hand"
INDEX: Final = "by index"
FUNCTIONS: Final = {
    "transpose": ("transpose",),
    "softmax": ("softmax",),
    "layer_norm": ("layer_norm",),
    "swiglu": ("swiglu",),
    "matmul_mma_sync": ("matmul", "copy", "store"),
}
"""The functions of each example that by_hand has too."""


def cases() -> dict[str, tuple[Kernel, Kernel, dict[str, Any]]]:
    """By the name of the example: the kernel by hand, by index, and the sizes that are traced."""
    example = by_hand.example
    return {
        "transpose": (by_hand.transpose, example("transpose").transpose, {"M": 4096, "N": 4096}),
        "softmax": (by_hand.softmax, example("softmax").softmax, {"N": 8192}),
        "layer_norm": (by_hand.layer_norm(8192, 512), example("layer_norm").build(8192), {}),
        "swiglu": (by_hand.swiglu, example("swiglu").swiglu, {"N": 8192}),
        "matmul_mma_sync": (
            by_hand.matmul(4096, 4096), example("matmul_mma_sync").build(4096, 4096), {}
        ),
    }  # fmt: skip


def measure(device: dict[str, object]) -> Result:
    """Every kernel in both forms."""
    result = start(
        "indexing", device, arch=ARCH, counted="instructions of the machine code, without NOP"
    )
    for name, (hand, index, sizes) in cases().items():
        hand_file, index_file = Path(by_hand.__file__), ROOT / "examples" / f"{name}.py"
        for form, k, file in ((HAND, hand, hand_file), (INDEX, index, index_file)):
            count, registers = cost(k, sizes)
            result.measurements.append(
                summarise(f"{name}, {form}", "instructions", [float(count)],
                    registers=registers, lines=lines(file, FUNCTIONS[name]), **sizes)
            )  # fmt: skip
    add_bars(result)
    return result


def cost(k: Kernel, sizes: dict[str, Any], arch: str = ARCH) -> tuple[int, int]:
    """Machine instructions without those that fill up the end, and registers."""
    found = sum(each.text != "NOP" for each in k.sass(arch=arch, **sizes))
    return found, k.cubin(arch=arch, **sizes).registers


def lines(file: Path, functions: tuple[str, ...]) -> int:
    """Lines of the bodies of these functions, the innermost of each name."""
    text = file.read_text()
    found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    innermost = {f.name: f for f in sorted(found, key=lambda f: f.lineno)}
    count = 0
    for name in functions:
        function = innermost[name]
        first = function.body[ast.get_docstring(function) is not None]
        assert function.end_lineno is not None
        body = text.splitlines()[first.lineno - 1 : function.end_lineno]
        count += sum(bool(line.strip()) and not line.strip().startswith("#") for line in body)
    return count


def add_bars(result: Result) -> None:
    """The kernel whose indexed form is dearest, in instructions and in registers."""
    counts: dict[str, list[float]] = {"instructions": [], "registers": []}
    noted = {m.name: m for m in result.measurements}
    for name in FUNCTIONS:
        hand, index = (noted[f"{name}, {form}"] for form in (HAND, INDEX))
        counts["instructions"].append(index.median / hand.median)
        held: list[Any] = [m.notes["registers"] for m in (index, hand)]
        counts["registers"].append(held[0] / held[1])
    for what, ratios in counts.items():
        result.bars.append(
            Bar(f"{what} by index over those by hand, at most", max(ratios), MOST, "x")
        )


def report(result: Result) -> None:
    """The table."""
    show(result)
