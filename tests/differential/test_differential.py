"""Random kernels in the emulator against what a reader of Python expects of them.

Each program is right in both, or an error, a warning or a finding says that it is not: nothing
wrong is silent. A failure names the seed and the file with both texts.
"""

from __future__ import annotations

import functools
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import pyptx.types
from pyptx import LanguageWarning, PtxError, Tile, kernel, ptx, reg, smem

from . import model
from .programs import SIZE, Program

TYPES = {name: getattr(pyptx.types, name) for name in model.ARRAYS}
BUDGET, LONG = range(60), range(1000, 4000)


def _inputs(program):
    chosen = np.random.default_rng(program.seed)
    found = {}
    for name, dtype in program.inputs.items():
        if model.is_integer(dtype):
            low = -20 if dtype[0] == "s" else 0
            values = chosen.integers(low, 40, SIZE)
        else:
            values = chosen.choice([0.0, -0.0, 1.0, -1.0, 0.5, -3.5, 100.0], SIZE)
        found[name] = values.astype(model.ARRAYS[dtype])
    return found


def _convert(spelling, _, register):
    instruction = ptx.inst
    for part in spelling.split("."):
        instruction = getattr(instruction, part)
    return instruction(register)


def _converted(spelling, dtype, given):
    """The reader's: to integers towards zero, within their range, and NaN to 0."""
    value = given.value
    if ".rzi." in spelling:
        if np.isnan(value):
            return model.number(dtype, 0)
        limits = np.iinfo(model.ARRAYS[dtype])
        value = int(max(limits.min, min(limits.max, np.trunc(float(value)))))
    return model.number(dtype, value)


def _defined(text, name, path, known):
    path.write_text(text)
    scope = {"functools": functools, "types": types, "__name__": "program", **known}
    exec(compile(text, str(path), "exec"), scope)
    return scope[name]


def outcome(program, folder):
    """What pyptx says of a program, None for nothing, and its results."""
    known = {"reg": reg, "ptx": ptx, "smem": smem, "convert": _convert, **TYPES}
    body = _defined(program.kernel_text, "body", folder / f"kernel_{program.seed}.py", known)
    specs = tuple(Tile(SIZE, TYPES[dtype]) for dtype in program.inputs.values())
    outs = tuple(Tile(program.block, TYPES[dtype], init=0) for _, dtype in program.outputs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = kernel(body, in_specs=specs, out_specs=outs, block=program.block, arch="sm_90a")
            emulation = made.emulate(*_inputs(program).values())
        except PtxError as error:
            return error, ()
    said = [each for each in caught if issubclass(each.category, LanguageWarning)]
    return next(iter((*said, *emulation.report.findings)), None), emulation.outputs


def expected(program, folder):
    """The results of the reader, None where Python has none."""
    known = {
        "reg": model.Registers,
        "ptx": model.Functions,
        "holds": model.holds,
        "counted": model.counted,
        "convert": _converted,
        **{name: name for name in TYPES},
    }
    reader = _defined(program.reader_text, "reader", folder / f"reader_{program.seed}.py", known)
    inputs = _inputs(program)
    memory = [model.Memory(program.inputs[name], array) for name, array in inputs.items()]
    outs = [
        model.Memory(dtype, np.zeros(program.block, model.ARRAYS[dtype]))
        for _, dtype in program.outputs
    ]
    try:
        model.run([reader(model.number("u32", i), *memory, *outs) for i in range(program.block)])
    except (model.Undefined, UnboundLocalError):
        return None
    return [each.array for each in outs]


def _equal(a, b):
    if a.dtype.kind in "iu":
        return np.array_equal(a, b)
    return np.array_equal(a.astype(np.float64), b.astype(np.float64), equal_nan=True)


def differs(program, folder):
    """Whether the results are others than the reader's and nothing is said; None for undefined."""
    said, results = outcome(program, folder)
    if said is not None:
        return False
    wanted = expected(program, folder)
    if wanted is None:
        return None
    return not all(map(_equal, results, wanted))


def _check(seeds, folder: Path):
    compared = 0
    for seed in seeds:
        program = Program(seed)
        found = differs(program, folder)
        where = folder / f"kernel_{seed}.py"
        assert not found, f"seed {seed} gives other results in silence: {where}"
        compared += found is False
    assert compared > len(seeds) // 2


def test_nothing_wrong_is_silent(tmp_path):
    _check(BUDGET, tmp_path)


@pytest.mark.sweep
def test_nothing_wrong_is_silent_in_many(tmp_path):
    _check(LONG, tmp_path)


def test_most_programs_are_right_without_a_word(tmp_path):
    said = [outcome(Program(seed), tmp_path)[0] for seed in BUDGET]
    assert sum(each is None for each in said) > len(said) // 3


def test_a_planted_difference_is_found(tmp_path):
    program = Program(0)
    program.block, program.outputs = 32, [("v", "f32")]
    program.inputs = {"X_f32": "f32"}
    program.kernel = ["    v = X_f32[thread] + 1.0", "    Y0[thread] = v"]
    program.reader = list(program.kernel)
    assert differs(program, tmp_path) is False
    program.reader[0] = "    v = X_f32[thread] + 2.0"
    assert differs(program, tmp_path) is True
    program.kernel[0] += "; kept = (v,); v += 1.0; v = kept[0]"
    assert outcome(program, tmp_path)[0] is not None
    assert differs(program, tmp_path) is False
