"""Plants bugs in correct kernels and counts what the emulator finds.

    python tools/mutate.py                     the table, for every subject
    python tools/mutate.py --subject softmax   those whose names contain a text
    python tools/mutate.py --schedules 64      orders to try where the first finds nothing

`export_mutants.py` writes the same subjects and mutants for a GPU.

A subject is one launch: of an example, of a page of the tutorial, or of a pattern of the emulator's
tests. A mutant of it is its kernel with one synchronisation instruction deleted, weakened or moved.
A mutant is found if the sanitizer has a finding. It is equivalent if `mutants_equivalent.json` says
why; a reason there that a finding contradicts is an error. Everything else is missed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from unittest.mock import patch

import numpy as np

import pyptx
import pyptx._runtime.numpy as runtime
from pyptx import _emulator as emulator
from pyptx._emulator import Report, Tensor
from pyptx._ir import Instruction, Kernel, Module, Statement
from pyptx._operands import Immediate
from pyptx._target import PtxVersion, Target

ROOT: Final = Path(__file__).parents[1]
EQUIVALENT: Final = Path(__file__).with_name("mutants_equivalent.json")
SECONDS: Final = 20
"""What a mutant may take; one that takes longer hangs, which is a finding."""
NEWEST: Final = PtxVersion(9, 0)
"""The PTX ISA of kernels that come without a module."""


@dataclass(frozen=True)
class Subject:
    """A launch of a correct kernel, and the memory that it starts with."""

    name: str
    kernel: Kernel
    module: Module
    arguments: Sequence[Any]
    options: dict[str, Any]
    before: tuple[np.ndarray[Any, Any], ...]

    def run(self, kernel: Kernel, schedules: int = 1) -> tuple[Report, list[bytes]]:
        for tensor, values in zip(self.tensors, self.before, strict=True):
            tensor.array[...] = values
        with redirect_stdout(io.StringIO()):
            report = emulator.run(
                self.image(kernel), self.arguments, **self.options, sanitize=True,
                schedules=schedules, max_seconds=SECONDS,
            )  # fmt: skip
        return report, [tensor.array.tobytes() for tensor in self.tensors]

    def module_with(self, mutated: Kernel) -> Module:
        """The subject's module with another kernel in the place of its own."""
        kernels = tuple(mutated if k == self.kernel else k for k in self.module.kernels)
        return replace(self.module, kernels=kernels)

    def image(self, mutated: Kernel) -> bytes:
        return emulator.encode(mutated, self.module.target, self.module_with(mutated))

    @property
    def tensors(self) -> list[Tensor]:
        return [a for a in self.arguments if isinstance(a, Tensor) and a.writable]


@dataclass(frozen=True)
class Mutant:
    """A kernel with one change, and what was changed: `7: bar.sync deleted`."""

    change: str
    kernel: Kernel


# ---- Subjects ------------------------------------------------------------------------------------


class Recorder:
    """Keeps the last launch of every kernel without a finding: the largest of the examples'."""

    def __init__(self, name: str) -> None:
        self.subjects: dict[str, Subject] = {}
        self._name = name
        self._kernels: dict[bytes, tuple[Kernel, Module]] = {}
        self._encode, self._run = emulator.encode, runtime.run

    def __enter__(self) -> Recorder:
        self._patches = [
            patch.object(emulator, "encode", self._encoded),
            patch.object(runtime, "run", self._ran),
        ]
        for each in self._patches:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._patches:
            each.stop()

    def _encoded(self, kernel: Kernel, target: Target, *rest: Any) -> bytes:
        image = self._encode(kernel, target, *rest)
        module: Module = rest[0] if rest else Module(NEWEST, target, (kernel,))
        self._kernels[image] = (kernel, module)
        return image

    def _ran(self, image: bytes, arguments: Sequence[Any], **options: Any) -> Report:
        tensors = [a for a in arguments if isinstance(a, Tensor) and a.writable]
        before = tuple(t.array.copy() for t in tensors)
        report = self._run(image, arguments, **options)
        found = self._kernels.get(image)
        # A page shows what goes wrong, too, with a kernel of the same name.
        if found is not None and not report.findings:
            kernel, module = found
            kept = {
                k: options[k]
                for k in ("grid", "block", "cluster", "dynamic_shared")
                if k in options
            }
            name = f"{self._name}: {kernel.name}"
            self.subjects[name] = Subject(name, kernel, module, arguments, kept, before)
        return report


LARGER: Final[dict[str, Callable[[Any], object]]] = {
    # Both buffers of keys and values are used again.
    "attention": lambda m: m.build(256).emulate(
        m.random(1, 64, 0), m.random(1, 256, 1), m.random(1, 256, 2)
    ),
    # Every stage of the ring is used twice and more.
    "hopper/matmul": lambda m: m.build(256, 768).emulate(
        m.random(256, 768, 0), m.random(256, 768, 1)
    ),
    # A CTA makes two tiles.
    "hopper/matmul_steps": lambda m: m.build_persistent(256, 256, 640, ctas=1).emulate(
        m.random(256, 640, 0), m.random(256, 640, 1)
    ),
}


def examples() -> Iterator[Subject]:
    for path in sorted((ROOT / "examples").rglob("*.py")):
        name = str(path.relative_to(ROOT / "examples").with_suffix(""))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        # What it does under JAX is the same again.
        without_jax = patch.dict(sys.modules, {"jax": None})
        with (
            Recorder(name) as recorder,
            redirect_stdout(io.StringIO()),
            without_jax,
            suppress(ImportError),
        ):
            spec.loader.exec_module(module)
            module.main()
        if name in LARGER:
            with recorder:
                LARGER[name](module)
        yield from recorder.subjects.values()


def pages() -> Iterator[Subject]:
    """The programs of the tutorial that call kernels on NumPy arrays."""
    for path in sorted((ROOT / "docs" / "tutorial").glob("[0-9]*.md")):
        names: dict[str, Any] = {"__name__": path.stem}
        with Recorder(f"tutorial/{path.stem}") as recorder:
            for number, block in enumerate(
                re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
            ):
                source = f"{path.stem}_{number}.py"
                # A page shows what goes wrong, too.
                with redirect_stdout(io.StringIO()), suppress(Exception):
                    _exec(block, source, names)
        yield from recorder.subjects.values()


def _exec(block: str, source: str, names: dict[str, Any]) -> None:
    import linecache  # noqa: PLC0415  # only where a page is run

    linecache.cache[source] = (len(block), None, block.splitlines(keepends=True), source)
    exec(compile(block, source, "exec"), names)


def patterns() -> Iterator[Subject]:
    """The pipelines of tests/emulator/test_async_patterns.py."""
    sys.path.insert(0, str(ROOT))
    tests: Any = importlib.import_module("tests.emulator.test_async_patterns")
    assembly: Any = importlib.import_module("tests.emulator.assembly")
    harness: Any = importlib.import_module("tests.emulator.harness")

    target = Target.parse("sm_90a")
    for name, (body, block, expected, options) in tests.PATTERNS.items():
        kernel = assembly.Assembler("pattern", 1).assemble(tests.HEAD + body)
        y = harness.device(options.get("before", np.zeros_like(expected)))
        x = harness.device(tests.NUMBERS)
        arguments = [Tensor(x, "X"), Tensor(y, "Y", writable=True)]
        kept: dict[str, Any] = {
            "grid": (options.get("grid", 1), 1, 1),
            "block": (block, 1, 1),
            "cluster": options.get("cluster", (1, 1, 1)),
        }
        module = Module(NEWEST, target, (kernel,))
        yield Subject(f"patterns: {name}", kernel, module, arguments, kept, (y.copy(),))


def subjects(name: str = "") -> Iterator[Subject]:
    """Those whose names contain a text."""
    return (each for each in (*examples(), *pages(), *patterns()) if name in each.name)


# ---- Mutants -------------------------------------------------------------------------------------

SYNC: Final = re.compile(
    r"bar\.|barrier\.|fence\.|membar|mbarrier\.(arrive|complete_tx|expect_tx)|cp\.async\.(wait|commit|mbarrier)"
    r"|cp\.async\.bulk\.(wait|commit)|wgmma\.(fence|commit|wait)|tcgen05\.(wait|fence|commit)"
)
WAITS: Final = re.compile(r"mbarrier\.(try|test)_wait")
GROUPS: Final = re.compile(r"(cp\.async\.(bulk\.)?wait_group|wgmma\.wait_group)")
MEMORY: Final = re.compile(
    r"(ld|st|atom|red|ldmatrix|stmatrix|cp|wgmma\.mma_async|tcgen05\.(mma|cp|ld|st))\b"
)
COPIES: Final = re.compile(r"cp\.async\.(bulk\.(tensor|global|shared)|ca|cg)")
STRONG: Final = {"release": "relaxed", "acquire": "relaxed", "acq_rel": "relaxed"}
SCOPES: Final = {"gpu": "cta", "sys": "cta", "cluster": "cta"}


def mutants(kernel: Kernel) -> Iterator[Mutant]:
    body = list(kernel.body)
    for at, statement in enumerate(body):
        if not isinstance(statement, Instruction):
            continue
        for what, changed in (*deleted(body, at), *weakened(body, at), *moved(body, at)):
            yield Mutant(
                f"{number_of(body, at)}: {statement.spelling} {what}",
                replace(kernel, body=tuple(changed)),
            )


def number_of(body: Sequence[Statement], at: int) -> int:
    return sum(isinstance(s, Instruction) for s in body[:at])


Changes = Iterator[tuple[str, list[Statement]]]


def deleted(body: list[Statement], at: int) -> Changes:
    instruction = body[at]
    assert isinstance(instruction, Instruction)
    if SYNC.match(instruction.spelling):
        yield "deleted", body[:at] + body[at + 1 :]
    if WAITS.match(instruction.spelling):
        # The loop around it: the next branch, by the predicate that the test sets.
        for k in range(at + 1, min(at + 4, len(body))):
            branch = body[k]
            if (
                isinstance(branch, Instruction)
                and branch.form.opcode == "bra"
                and branch.guard is not None
            ):
                yield "not waited for", body[:k] + body[k + 1 :]
                return


def weakened(body: list[Statement], at: int) -> Changes:
    instruction = body[at]
    assert isinstance(instruction, Instruction)

    def changed(**what: Any) -> list[Statement]:
        return [*body[:at], replace(instruction, **what), *body[at + 1 :]]

    spelling = instruction.spelling
    modifiers = instruction.modifiers
    for i, modifier in enumerate(modifiers):
        if (
            modifier in STRONG
            and "mbarrier_init" not in spelling
            and not spelling.startswith(("fence", "tensormap"))
        ):
            # A barrier has no .relaxed.acquire; its wait is .acquire only.
            if spelling.startswith("barrier.cluster.wait"):
                continue
            yield (
                f".{modifier} as .relaxed",
                changed(modifiers=(*modifiers[:i], "relaxed", *modifiers[i + 1 :])),
            )
        if modifier in SCOPES and not spelling.startswith(
            ("barrier", "cp.", "tcgen05", "fence.mbarrier_init", "fence.proxy")
        ):
            yield (
                f".{modifier} as .cta",
                changed(modifiers=(*modifiers[:i], "cta", *modifiers[i + 1 :])),
            )
    if GROUPS.match(spelling) and "read" not in modifiers and "bulk" in modifiers:
        yield "with .read", changed(modifiers=(*modifiers, "read"))
    if spelling.startswith("barrier.cluster.arrive") and "relaxed" not in modifiers:
        rest = tuple(m for m in modifiers if m not in {"release", "arrive", "cluster"})
        yield "with .relaxed", changed(modifiers=("cluster", "arrive", "relaxed", *rest))
    step = 1 if GROUPS.match(spelling) else -1 if spelling.startswith("mbarrier.init") else 0
    if step == 0:
        return
    for i, operand in enumerate(instruction.operands):
        if isinstance(operand, Immediate) and operand.bits + step >= (step < 0):
            more = replace(operand, bits=operand.bits + step)
            yield (
                f"{step:+d}",
                changed(operands=(*instruction.operands[:i], more, *instruction.operands[i + 1 :])),
            )


def moved(body: list[Statement], at: int) -> Changes:
    """Past the next access of memory, and before the one before it."""
    instruction = body[at]
    assert isinstance(instruction, Instruction)
    if not SYNC.match(instruction.spelling) or instruction.spelling.startswith(
        ("wgmma", "tcgen05")
    ):
        return
    commits, waits = ("commit_group" in instruction.spelling, "wait_group" in instruction.spelling)
    after = _access(body, range(at + 1, len(body)), COPIES if commits else MEMORY)
    if after is not None and "expect_tx" not in instruction.spelling:
        yield (
            "moved past the next access",
            [*body[:at], *body[at + 1 : after + 1], instruction, *body[after + 1 :]],
        )
    # A wait that comes earlier only waits for more.
    before = None if waits else _access(body, range(at - 1, -1, -1), COPIES if commits else MEMORY)
    if before is not None and not set(_registers(instruction)) & set(_written(body[before:at])):
        yield (
            "moved before the access before",
            [*body[:before], instruction, *body[before:at], *body[at + 1 :]],
        )


def _access(body: Sequence[Statement], places: range, wanted: re.Pattern[str]) -> int | None:
    for k in places:
        statement = body[k]
        if not isinstance(statement, Instruction) or statement.form.opcode in {
            "bra",
            "ret",
            "exit",
        }:
            return None
        if SYNC.match(statement.spelling) or WAITS.match(statement.spelling):
            return None
        if wanted.match(statement.spelling) and ".param" not in statement.spelling:
            return k
    return None


def _registers(instruction: Instruction) -> Iterator[object]:
    if instruction.guard is not None:
        yield instruction.guard.register
    for operand in instruction.operands:
        yield operand
        yield getattr(operand, "base", None)


def _written(statements: Sequence[Statement]) -> Iterator[object]:
    for s in statements:
        if isinstance(s, Instruction) and s.operands:
            yield s.operands[0]


# ---- Verdicts ------------------------------------------------------------------------------------

Verdict: TypeAlias = Literal["invalid", "found", "explored", "missed", "equivalent"]
"""No form of the instruction; found by default; found with schedules; not found; correct."""


@dataclass(frozen=True)
class Judged:
    """A mutant, what became of it, the kinds of its findings, and whether its results are wrong."""

    mutant: Mutant
    verdict: Verdict
    kinds: tuple[str, ...] = ()
    wrong: bool = False


def judge(subject: Subject, schedules: int, reasons: dict[str, str]) -> Iterator[Judged] | None:
    """The verdicts on all mutants of a subject; None where the subject itself has findings."""
    clean, expected = subject.run(subject.kernel, schedules)
    if clean.findings:
        # A page shows what is wrong with it.
        if subject.name.startswith("tutorial"):
            return None
        raise SystemExit(f"{subject.name} is not clean:\n{clean.message}")
    return (
        _judged(subject, mutant, schedules, reasons, expected) for mutant in mutants(subject.kernel)
    )


def _judged(
    subject: Subject, mutant: Mutant, schedules: int, reasons: dict[str, str], expected: list[bytes]
) -> Judged:
    name = f"{subject.name} / {mutant.change}"
    try:
        report, results = subject.run(mutant.kernel)
    except pyptx.EmulationError:
        return Judged(mutant, "invalid")
    wrong = results != expected
    if report.findings:
        if name in reasons:
            raise SystemExit(f"{name} is found, and listed as equivalent")
        return Judged(mutant, "found", _kinds(report), wrong)
    explored, _ = subject.run(mutant.kernel, schedules)
    if name in reasons:
        return Judged(mutant, "equivalent", _kinds(explored), wrong)
    return Judged(mutant, "explored" if explored.findings else "missed", _kinds(explored), wrong)


def _kinds(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.kind for finding in report.findings))


# ---- The table -----------------------------------------------------------------------------------


@dataclass
class Row:
    name: str
    found: int = 0
    explored: int = 0
    equivalent: int = 0
    invalid: int = 0
    missed: list[str] | None = None

    @property
    def mutants(self) -> int:
        return self.found + self.explored + len(self.missed or ())


def measure(subject: Subject, schedules: int, reasons: dict[str, str], every: bool) -> Row | None:
    judged = judge(subject, schedules, reasons)
    if judged is None:
        return None
    row = Row(subject.name, missed=[])
    assert row.missed is not None
    for each in judged:
        change = each.mutant.change
        match each.verdict:
            case "invalid":
                row.invalid += 1
            case "found":
                row.found += 1
            case "equivalent":
                row.equivalent += 1
            case "explored":
                row.explored += 1
                if every:
                    print(f"  with schedules: {change}")
            case "missed":
                row.missed.append(change + " (wrong results)" * each.wrong)
    return row


def table(rows: Sequence[Row]) -> str:
    out = [
        "| kernel | mutants | found by default | with schedules | missed | equivalent |",
        "|---|---|---|---|---|---|",
    ]
    total = Row("all", missed=[])
    for row in rows:
        out.append(_line(row))
        total.found += row.found
        total.explored += row.explored
        total.equivalent += row.equivalent
        total.missed = [*(total.missed or ()), *(row.missed or ())]
    out.append(_line(total))
    share = 100 * total.found / max(1, total.mutants)
    more = 100 * (total.found + total.explored) / max(1, total.mutants)
    out.append(f"\n{share:.1f}% are found by default, {more:.1f}% with schedules.")
    return "\n".join(out)


def _line(row: Row) -> str:
    missed = len(row.missed or ())
    counts = (row.mutants, row.found, row.explored, missed, row.equivalent)
    return "| " + " | ".join(map(str, (row.name, *counts))) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subject", default="", help="only subjects whose names contain this")
    parser.add_argument("--schedules", type=int, default=64)
    parser.add_argument(
        "--list", action="store_true", help="print mutants that only schedules find"
    )
    given = parser.parse_args()
    reasons: dict[str, str] = json.loads(EQUIVALENT.read_text())
    rows: list[Row] = []
    for subject in subjects(given.subject):
        row = measure(subject, given.schedules, reasons, given.list)
        if row is None or row.mutants + row.equivalent == 0:
            continue
        rows.append(row)
        for change in row.missed or ():
            print(f"missed: {subject.name} / {change}", flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
