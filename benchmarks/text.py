"""Parsing, writing and tracing large kernels, and what has to be loaded before the first.

Needs no GPU. Times are of the processor, so that other programs count less. The generated kernel
has each result in a register of its own, as compilers do; the repeated one is a thousand of its
lines again and again, so all of its words are known. What an instruction is made of, by itself, is
what no parser of this kind can go below.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from measure import ROOT, Bar, Result, in_fresh_processes, show, start, summarise

from pyptx import Tile, kernel, ptx
from pyptx._frozen import constructor, uncollected
from pyptx._ir import Instruction, Module
from pyptx._operands import Register
from pyptx._source import SourceLocation
from pyptx._text import parse, write
from pyptx.types import b32, f32

RUNS: Final = 7
PARSED: Final = 50_000
FEW, MANY = 25_000, 100_000
CORPUS: Final = ROOT / "tests" / "text" / "corpus"
FILES = ("triton/product.sm_100a.ptx", "nvcc/everyday.sm_120.ptx", "nvcc/everyday.sm_100a.ptx")
"""The largest of the corpus."""
make_register, make_location = constructor(Register), constructor(SourceLocation)
make_instruction: Callable[..., Instruction] = constructor(Instruction)
LOAD: Final = """
import time
import pyptx
begin = time.process_time()
from pyptx._isa.table import spellings
spellings()
print(time.process_time() - begin)
"""
HEAD: Final = """.version 8.0
.target sm_90
.address_size 64
.visible .entry big(.param .u64 p)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<{0}>;
    .reg .f32 %f<{0}>;
    .reg .b64 %rd<{0}>;
    ld.param.u64 %rd0, [p];
    mov.u32 %r0, %tid.x;
    mov.f32 %f0, 0f3F800000;
    setp.lt.s32 %p1, %r0, 7;
"""


def measure(device: dict[str, object], runs: int = RUNS, size: int = PARSED) -> Result:
    """Instructions a second of parsing and writing, seconds of tracing, milliseconds of loading."""
    result = start(
        "text", device, runs=runs, parsed=size, traced=[FEW, MANY],
        counted="instructions over processor time, in one process, the first run apart",
    )  # fmt: skip
    lines = generated_lines(size)
    texts = {
        "parse, generated": module_text(lines),
        "parse, generated, known words": module_text(lines[:1000] * (size // 1000)),
    }
    for file in FILES:
        texts[f"parse, {file}"] = (CORPUS / file).read_text()
    for name, text in texts.items():
        module = parse(text)
        result.put(rates(name, lambda: parse(text), instructions(module), runs))  # noqa: B023
    module = parse(texts["parse, generated"])
    result.put(rates("write, generated", lambda: write(module), instructions(module), runs))
    made = [t / size * 1e6 for t in times(lambda: make(size), runs)]
    result.put(summarise("make a register, a location and an instruction", "us", made))
    for count in (FEW, MANY):
        taken = times(lambda: traced(count), max(3, runs // 2))  # noqa: B023
        result.put(summarise(f"trace, check and write {count:,} instructions", "s", taken))
    loads = [seconds * 1000 for seconds in in_fresh_processes(LOAD, runs)]
    result.put(summarise("load the ISA table", "ms", loads))
    add_bars(result)
    return result


def generated_lines(size: int) -> list[str]:
    """Instructions, each result in a register of its own, and a label before some of them.

    Sources are registers that were set shortly before, or anywhere before.
    """
    generator = random.Random(1)
    last: dict[str, int] = {"r": 0, "f": 0, "rd": 0}

    def near(kind: str) -> str:
        return f"%{kind}{generator.randint(max(0, last[kind] - 20), last[kind])}"

    def new(kind: str) -> str:
        last[kind] += 1
        return f"%{kind}{last[kind]}"

    ways: tuple[Callable[[], str], ...] = (
        lambda: f"add.s32 {new('r')}, {near('r')}, {generator.randint(-500, 500)};",
        lambda: f"add.s32 {new('r')}, {near('r')}, {near('r')};",
        lambda: f"fma.rn.f32 {new('f')}, {near('f')}, %f{generator.randint(0, last['f'])}, %f0;",
        lambda: f"mul.wide.s32 {new('rd')}, {near('r')}, 4;",
        lambda: f"ld.global.f32 {new('f')}, [{near('rd')}+{4 * generator.randint(0, 200)}];",
        lambda: f"st.global.f32 [{near('rd')}], {near('f')};",
        lambda: f"@%p1 mov.u32 {new('r')}, {near('r')};",
    )
    lines: list[str] = []
    for i in range(size - 5):
        label = f"$L{i}:\n" if generator.random() < 0.04 else ""
        lines.append(label + generator.choice(ways)())
    return lines


def module_text(lines: Iterable[str]) -> str:
    """A kernel of these lines."""
    seen: set[str] = set()
    found: list[str] = []
    for line in lines:  # a label stands once
        label, _, rest = line.rpartition("\n")
        found.append(rest if label in seen else line)
        seen.add(label)
    body = "\n    ".join("\n".join(found).split("\n"))
    return f"{HEAD.format(PARSED + 1)}    {body}\n    ret;\n}}\n"


def instructions(module: Module) -> int:
    """How many a module has."""
    bodies = (f.body or () for f in (*module.functions, *module.kernels))
    return sum(isinstance(s, Instruction) for body in bodies for s in body)


def times(function: Callable[[], Any], runs: int) -> list[float]:
    """Seconds of processor time of each run but the first; what it makes is not kept."""
    found: list[float] = []
    for _ in range(runs + 1):
        gc.collect()
        begin = time.process_time()
        function()
        found.append(time.process_time() - begin)
    return found[1:]


def rates(name: str, function: Callable[[], Any], count: int, runs: int) -> Any:
    """Thousands of instructions a second."""
    speeds = [count / taken / 1000 for taken in times(function, runs)]
    return summarise(name, "thousand/s", speeds, instructions=count)


def make(size: int) -> None:
    """What a parse makes of each instruction, as it makes it, without a parse."""
    with uncollected():
        made = [
            (
                make_register(i, b32),
                make_location("", i),
                make_instruction(None, (), (), None, None, (), None, ()),
            )
            for i in range(size)
        ]
    del made


def traced(size: int) -> None:
    """Trace, check and write a kernel of so many instructions."""

    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), block=32)
    def chain(X: Any, Y: Any) -> None:
        x, y = ptx.global_ptrs(X, Y)
        first = ptx.inst.ld.global_.f32(ptx.addr(x))
        values = [first] * 4
        for i in range(size):
            values[i % 4] = ptx.inst.fma.rn.f32(values[i % 4], values[(i + 1) % 4], first)
        ptx.inst.st.global_.f32(ptx.addr(y), values[0])

    chain.ptx()


def add_bars(result: Result) -> None:
    """200,000 instructions a second parsed, 100,000 traced in 3 s and in line, 0.1 s to load."""
    parsed = result.median("parse, generated")
    result.bars.append(Bar("parse", parsed, 200.0, " thousand/s", at_least=True))
    few, many = (result.median(f"trace, check and write {n:,} instructions") for n in (FEW, MANY))
    result.bars.append(Bar(f"trace, check and write {MANY:,}", many, 3.0, " s"))
    result.bars.append(
        Bar("an instruction of many over one of few", many / MANY / few * FEW, 1.25, "x")
    )
    loaded = result.median("load the ISA table")
    result.bars.append(Bar("load the ISA table", loaded, 100.0, " ms"))


def report(result: Result) -> None:
    """The table."""
    show(result)
