"""The emulator against what an H200 computed: equal bits, or within the documented bound."""

from __future__ import annotations

import json
from pathlib import Path

import emulated
import numpy as np
import pytest
from comparing import MANUAL_AND_H200_DIFFER, NO_MEANING, Operands, bound_of, compared, worst
from kernels import CASES, cases, inputs
from record import digest

FOLDER = Path(__file__).parent
ALL = list(cases())
BY_OPCODE = sorted({case.form.opcode for case in ALL})


@pytest.fixture(scope="module")
def recorded():
    return json.loads((FOLDER / "h200.json").read_text()), np.load(FOLDER / "h200.npz")


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("opcode", BY_OPCODE)
def test_the_emulator_computes_what_the_h200_computed(opcode, step, recorded):
    record, approximate = recorded
    wrong = []
    # A prime step falls on every type, as types come in fours and sixes.
    chosen = [c for c in ALL if c.form.opcode == opcode and emulated.supported(c)]
    for case in chosen if len(chosen) < 8 else chosen[::step]:
        operands = Operands(inputs(case))
        results = case.results(emulated.run(case))
        bound = bound_of(case)
        if bound is None:
            if digest(case, results, operands) != record["digests"][case.name]:
                wrong.append(case.spelling)
            continue
        rows = compared(case, operands)
        error = worst(case, bound, results, approximate[case.name].tobytes(), rows, operands)
        if error > 1:
            wrong.append(f"{case.spelling}: {error:.3g} times {bound}")
    assert wrong == []


@pytest.mark.parametrize("spelling", [c.spelling for c in ALL if bound_of(c) is not None])
def test_approximations_have_the_bits_of_an_h200(spelling, recorded):
    _, approximate = recorded
    (case,) = (c for c in ALL if c.spelling == spelling)
    mine, theirs = (
        np.frombuffer(each, np.uint8)[: CASES * case.result_bytes].reshape(CASES, -1)
        for each in (case.results(emulated.run(case)), approximate[case.name].tobytes())
    )
    assert np.count_nonzero((mine != theirs).any(1)) == 0


def test_every_case_is_recorded(recorded):
    record, approximate = recorded
    missing = [c.spelling for c in ALL if c.name not in record["digests"].keys() | set(approximate)]
    assert missing == []


def test_a_wrong_bit_does_not_go_unseen(recorded):
    record, _ = recorded
    case = next(c for c in ALL if c.spelling == "add.rn.f32")
    results = bytearray(case.results(emulated.run(case)))
    results[4 * 77] ^= 1
    assert digest(case, bytes(results), Operands(inputs(case))) != record["digests"][case.name]


@pytest.mark.parametrize("entry", [*NO_MEANING, *MANUAL_AND_H200_DIFFER], ids=lambda e: e.spelling)
def test_rows_are_left_out_only_where_the_table_says(entry):
    import re

    chosen = [c for c in ALL if re.match(entry.spelling, c.spelling)]
    assert chosen, "the entry leaves nothing out"
    for case in chosen:
        rows = compared(case, Operands(inputs(case)))
        assert 0 < rows.sum() < CASES
