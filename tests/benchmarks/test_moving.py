"""Kernels that move bytes and compute nothing: every way, in the emulator."""

import functools
import operator
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import moving

    yield moving
    sys.modules.pop("moving", None)


@pytest.mark.sampled(20, each=("words", "inputs", "outputs"))
@pytest.mark.parametrize("inputs, outputs", [(1, 1), (2, 1), (3, 2), (2, 2), (3, 1)])
@pytest.mark.parametrize("words", [4, 4096, 5000])
def test_everything_is_moved(module, inputs, outputs, words):
    rng = np.random.default_rng(words)
    arrays = [rng.integers(-(2**31), 2**31, words).astype(np.int32) for _ in range(inputs)]
    exact = functools.reduce(operator.xor, arrays)
    for how in module.ways(inputs, outputs, first=(False, True)):
        emulation = module.moving(how).emulate(*arrays)
        emulation.report.check()
        assert len(emulation.outputs) == outputs
        for found in emulation.outputs:
            np.testing.assert_array_equal(np.asarray(found), exact)


@pytest.mark.parametrize("words", [4, 5000])
def test_what_is_only_read_is_not_left_out(module, words):
    """It stores where four words are what none of these are, and the cubin has the loads."""
    x = np.arange(words, dtype=np.int32)
    x[:4] = 1 - 2**31
    for how in module.ways(1, 0, first=(False, True)):
        (found,) = module.moving(how).emulate(x).outputs
        np.testing.assert_array_equal(np.asarray(found)[:4], x[:4])
        load = "ld.global.L2::cache_hint.v4" if how.first else "ld.global.v4"
        assert module.moving(how).ptx().count(load) == how.vectors


@pytest.mark.parametrize("ctas", [1, 2, 8])
@pytest.mark.parametrize("words", [4, 5000])
def test_threads_exchange_a_word_before_they_store(module, ctas, words):
    """Each has the exclusive or of its own words and of another thread's."""
    x = np.random.default_rng(ctas).integers(-(2**31), 2**31, words).astype(np.int32)
    threads = 64
    for vectors in (1, 2):
        how = module.Moving(1, 1, threads, vectors, exchanging=ctas)
        emulation = module.moving(how).emulate(x)
        emulation.report.check()
        size = ctas * vectors * threads * 4
        own = np.zeros(-(-words // size) * size, np.int32)
        own[:words] = x
        own = own.reshape(-1, ctas, vectors, threads, 4)
        given = np.bitwise_xor.reduce(own, axis=(2, 4))
        shift = (-32, 2) if ctas == 1 else (1, 1)
        other = np.roll(given, *shift)
        exact = (own ^ other[:, :, None, :, None]).reshape(-1)[:words]
        np.testing.assert_array_equal(np.asarray(emulation.outputs[0]), exact)
