"""Proves with ptxas that the table is the whole ISA and nothing but it, and writes the proof down.

    python tools/prove_isa.py              all that is not proven of the table as it is
    python tools/prove_isa.py ld cp        only these opcodes
    python tools/prove_isa.py --all        what was proven before too
    python tools/prove_isa.py --seconds N  stop after so long; the next run goes on from there

Three things are shown of each form, and of each opcode:

accepted  every spelling of the form with every kind of operand is assembled without an error, for
          the oldest target and the first PTX version that the table claims for it
denied    every spelling is refused by the version before, and by targets that the table does not
          claim
searched  millions of spellings that the table lacks, made of modifiers of the whole ISA, are
          refused by a target of each generation (`isa_search`)

The proof names each form with a digest of all that is known of it, so it holds until the form is
changed, and a test compares the two. What is in the file is not run again. Where the assembler
disagrees it is printed, and the form is not in the proof.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, TypedDict, cast

import isa_oracle as oracle
import isa_search
import probe_isa

from pyptx._assemble.ptxas import version as assembler_version
from pyptx._isa.available import availability
from pyptx._isa.differences import REFUSED, WIDER, reason
from pyptx._isa.model import Form, OperandSpec
from pyptx._isa.sample import combinations, render, spellings
from pyptx._isa.table import forms
from pyptx._target import TARGETS, PtxVersion, Target

PREFERRED: Final = tuple(
    Target(sm, suffix)
    for sm, suffixes in ((75, " "), (80, " "), (89, " "), (90, " a"), (100, " fa"), (120, "fa"))
    for suffix in map(str.strip, suffixes)
)
"""The targets that instructions are tried for first, so that few modules hold them all."""

PROCESSES: Final = 2
"""How many opcodes are searched at once."""

_AT_ONCE: Final = 4000

Place: TypeAlias = tuple[Target, PtxVersion]
Trial: TypeAlias = tuple[str, str]
"""A spelling, and the stub that has it with operands."""


class Proof(TypedDict):
    """What is proven with one assembler: of each form how many spellings and instructions were
    tried, of each opcode how many changed spellings and instructions with them."""

    ptxas: str
    ptx: str
    accepted: dict[str, list[int]]
    denied: dict[str, list[int]]
    searched: dict[str, list[int]]


# ---- what a proof is of -------------------------------------------------------------------------


def name(form: Form) -> str:
    """The form's syntax, and a digest that changes with all that is known of it."""
    return f"{form.syntax}  #{digest([form])}"


def opcode_name(opcode: str) -> str:
    """The opcode, and a digest of all its forms."""
    return f"{opcode}  #{digest(f for f in forms() if f.opcode == opcode)}"


def digest(of: Iterable[Form]) -> str:
    """The same for the same rows in every process, wherever in the manual they stand."""
    known = [
        (f.opcode, f.slots, list(map(_known, f.operands)), f.availability, f.rules) for f in of
    ]
    return hashlib.sha256(repr(known).encode()).hexdigest()[:12]


def _known(operand: OperandSpec) -> list[object]:
    """What sets an operand apart: all that is not as it is in most."""
    found: list[object] = []
    for each in fields(operand):
        value = getattr(operand, each.name)
        if isinstance(value, frozenset):
            value = sorted(cast("frozenset[str]", value))
        if each.name == "inner":
            value = list(map(_known, operand.inner))
        if value not in (each.default, []):
            found.append((each.name, value))
    return found


# ---- where instructions are tried ---------------------------------------------------------------


def place(form: Form, modifiers: tuple[str, ...]) -> Place | None:
    """The first preferred target that has a spelling and the version from which it does.

    None where the installed assembler is too old for it.
    """
    targets, version = availability(form, modifiers)
    for target in (*PREFERRED, *TARGETS):
        if target in targets and target in oracle.known_targets():
            needed = max(version, target.version)
            if needed <= oracle.newest():
                return target, needed
    return None


def outside(form: Form, modifiers: tuple[str, ...]) -> list[Place]:
    """Where the table says that a spelling is not: on other targets, and before its version."""
    newest = oracle.newest()
    targets, version = availability(form, modifiers)
    without = [t for t in oracle.known_targets() if t not in targets]
    places = [(t, newest) for t in without[:: max(1, len(without) // 2)]]
    for target in oracle.known_targets():
        before = [v for v in oracle.VERSIONS if target.version <= v < version]
        if target in targets and before:
            return [*places, (target, min(before[-1], newest))]
    return places


# ---- the three parts ----------------------------------------------------------------------------


def accepted(wanted: Sequence[Form]) -> tuple[dict[str, list[int]], list[str]]:
    """Try every spelling with every kind of operand where the table has it first.

    Returns the numbers of spellings and instructions by form, and where the assembler disagrees.
    """
    counts: dict[str, list[int]] = {}
    trials: defaultdict[Place, list[Trial]] = defaultdict(list)
    for form in wanted:
        tried = counts[name(form)] = [0, 0]
        for modifiers in spellings(form):
            spelling = ".".join((form.opcode, *modifiers))
            where = place(form, modifiers)
            if where is None or reason(spelling, REFUSED, assembler_version()) is not None:
                continue
            lines = [oracle.line(spelling, operands) for operands in render(form, modifiers)]
            trials[where] += [(spelling, line) for line in lines]
            tried[0] += 1
            tried[1] += len(lines)
    return counts, _against(trials, lambda verdict: verdict is not None)


def denied(wanted: Sequence[Form]) -> tuple[dict[str, list[int]], list[str]]:
    """Try every spelling where the table does not have it; the same results."""
    counts: dict[str, list[int]] = {}
    trials: defaultdict[Place, list[Trial]] = defaultdict(list)
    for form in wanted:
        tried = counts[name(form)] = [0, 0]
        for modifiers in spellings(form):
            spelling = ".".join((form.opcode, *modifiers))
            if reason(spelling, WIDER, assembler_version()) is not None:
                continue
            line = oracle.line(spelling, render(form, modifiers)[0])
            places = outside(form, modifiers)
            for where in places:
                trials[where].append((spelling, line))
            tried[0] += 1
            tried[1] += len(places)
    return counts, _against(trials, lambda verdict: verdict is None)


def searched(opcode: str) -> tuple[list[int], list[str]]:
    """Search for spellings of an opcode that the table lacks; how many spellings and instructions
    were tried, and what was found."""
    found = isa_search.Search(opcode).run()
    return [found.spellings, found.instructions], [
        f"{spelling}: taken by {' '.join(map(str, where))}"
        for spelling, where in found.taken.items()
    ]


def _against(
    trials: dict[Place, list[Trial]], disagrees: Callable[[str | None], bool]
) -> list[str]:
    wrong: list[str] = []
    for (target, version), tried in trials.items():
        verdicts = oracle.verdicts([line for _, line in tried], version, target)
        wrong += [
            f"{line}: PTX {version}, {target}: {verdict or 'taken'}"
            for (_, line), verdict in zip(tried, verdicts, strict=True)
            if disagrees(verdict)
        ]
    return wrong


# ---- running ------------------------------------------------------------------------------------


def path() -> Path:
    """Where the proof of the installed assembler is kept."""
    return probe_isa.RESULTS / f"proof-{assembler_version()}.json"


def load(file: Path) -> Proof:
    """What is proven so far."""
    if file.exists():
        return json.loads(file.read_text())
    return {
        "ptxas": assembler_version(),
        "ptx": str(oracle.newest()),
        "accepted": {},
        "denied": {},
        "searched": {},
    }


def store(file: Path, proof: Proof) -> None:
    """Write a proof in the order of the table, without rows that are no longer there."""
    names = list(dict.fromkeys(map(name, forms())))
    opcodes = [opcode_name(each) for each in dict.fromkeys(f.opcode for f in forms())]
    kept: Proof = {
        **proof,
        "accepted": _ordered(proof["accepted"], names),
        "denied": _ordered(proof["denied"], names),
        "searched": _ordered(proof["searched"], opcodes),
    }
    file.write_text(json.dumps(kept, indent=0) + "\n")


def _ordered(found: dict[str, list[int]], names: Iterable[str]) -> dict[str, list[int]]:
    return {each: found[each] for each in names if each in found}


def forget(proof: Proof, of: Iterable[Form]) -> None:
    """Leave out what is proven of some rows and of their opcodes."""
    for form in of:
        proof["accepted"].pop(name(form), None)
        proof["denied"].pop(name(form), None)
        proof["searched"].pop(opcode_name(form.opcode), None)


def steps(proof: Proof, wanted: Sequence[Form]) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """What is not proven yet, each with what it is called; to be run it enters its result."""
    for part, done, prove in (
        ("accepted", proof["accepted"], accepted),
        ("denied", proof["denied"], denied),
    ):
        for chunk in _chunks([f for f in wanted if name(f) not in done]):
            yield (
                f"{part}: {chunk[0].opcode} to {chunk[-1].opcode}",
                partial(_enter, done, prove, chunk),
            )
    opcodes = dict.fromkeys(form.opcode for form in wanted)
    left = [each for each in opcodes if opcode_name(each) not in proof["searched"]]
    left.sort(key=lambda opcode: -sum(f.opcode == opcode for f in forms()))  # the longest first
    with ProcessPoolExecutor(PROCESSES) as pool:
        for opcode, result in [(each, pool.submit(searched, each)) for each in left]:
            yield f"searched: {opcode}", partial(_search, proof["searched"], opcode, result)
        pool.shutdown(cancel_futures=True)


def _enter(
    done: dict[str, list[int]],
    prove: Callable[[Sequence[Form]], tuple[dict[str, list[int]], list[str]]],
    chunk: Sequence[Form],
) -> list[str]:
    counts, wrong = prove(chunk)
    if not wrong:
        done |= counts
    return wrong


def _search(
    done: dict[str, list[int]], opcode: str, result: Future[tuple[list[int], list[str]]]
) -> list[str]:
    tried, wrong = result.result()
    if not wrong:
        done[opcode_name(opcode)] = tried
    return wrong


def _chunks(wanted: Sequence[Form]) -> Iterator[list[Form]]:
    """Forms that together have a few thousand spellings, or a form that has more."""
    chunk: list[Form] = []
    size = 0
    for form in wanted:
        if chunk and size + combinations(form) > _AT_ONCE:
            yield chunk
            chunk, size = [], 0
        chunk.append(form)
        size += combinations(form)
    if chunk:
        yield chunk


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="also what was proven before")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("opcodes", nargs="*", help="only these opcodes")
    arguments = parser.parse_args()
    file = path()
    wanted = [f for f in forms() if not arguments.opcodes or f.opcode in arguments.opcodes]
    proof = load(file)
    if arguments.all:
        forget(proof, wanted)
    start = time.monotonic()
    wrong: list[str] = []
    for what, run in steps(proof, wanted):
        if time.monotonic() - start > arguments.seconds:
            print("out of time: run it again to go on")
            break
        found = run()
        wrong += found
        print(f"{time.monotonic() - start:7.1f} s  {what}: {len(found)} disagree", flush=True)
        print("".join(f"    {each}\n" for each in found[:40]), end="", flush=True)
        store(file, proof)
    print(f"{len(wrong)} disagree; wrote {file}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
