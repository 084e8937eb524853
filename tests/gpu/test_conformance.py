"""Every spelling on this GPU, against the emulator: equal bits, or the documented bound."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))

import device
import emulated
from comparing import Operands, bound_of, compared, worst
from kernels import cases, inputs
from record import digest

pytestmark = pytest.mark.gpu


def test_the_gpu_computes_what_the_emulator_computes():
    wrong = []
    for case, output in device.run([c for c in cases() if emulated.supported(c)]):
        operands = Operands(inputs(case))
        mine, theirs = case.results(emulated.run(case)), case.results(output)
        bound = bound_of(case)
        if bound is None:
            if digest(case, mine, operands) != digest(case, theirs, operands):
                wrong.append(case.spelling)
        elif worst(case, bound, mine, theirs, compared(case, operands), operands) > 1:
            wrong.append(f"{case.spelling} beyond {bound}")
    assert wrong == []
