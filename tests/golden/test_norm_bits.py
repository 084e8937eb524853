"""The very bits that an RMS normalization and its gradient give, in the emulator as an H200.

A change of the kernels that is no change of the arithmetic leaves them as they are: of every
strategy, the begin of the SHA-256 of y, r, dx and dw. `make goldens` writes them anew.
"""

from __future__ import annotations

import hashlib

import ml_dtypes
import numpy as np
import pytest

import pyptx
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise import plan
from pyptx.types import BY_NUMPY, bf16, f16, f32, f64

from .test_rms_norm import EPS, Lines

CASES = [
    *((bf16, bf16, n, rows) for n, rows in ((1, 5), (128, 40), (136, 9), (768, 12), (4096, 3))),
    *((bf16, bf16, n, rows) for n, rows in ((4096, 40), (8191, 17), (32768, 9), (65537, 5))),
    *((f32, f32, n, rows) for n, rows in ((64, 20), (129, 11), (1024, 5), (20480, 7), (65536, 3))),
    *((f16, f32, n, rows) for n, rows in ((100, 4), (1025, 11), (12288, 6))),
    *((f64, bf16, n, rows) for n, rows in ((33, 9), (1000, 5))),
    *((f64, f64, n, rows) for n, rows in ((512, 20), (8192, 9))),
]


def digests(x, w, n, rows):
    random = np.random.default_rng(n * 1000 + rows)
    shapes = (((rows, n), x), ((n,), w), ((rows, n), w))
    given, weight, g = (random.standard_normal(s).astype(t.numpy) for s, t in shapes)
    norm = plan.operation(RmsNorm(n, x, w, EPS, invvar=True), (n,))
    result = w if w.bytes <= norm.out_specs[1].dtype.bytes else f32
    gradient = plan.operation(RmsNormGradient(n, x, w), (n,), (result,))
    y, r = norm(given, weight)
    for array in (y, r, *gradient(given, g, r, weight)):
        yield hashlib.sha256(array.tobytes()).hexdigest()[:16]


def line_of(x, w, n, rows):
    assert BY_NUMPY[str(np.dtype(ml_dtypes.bfloat16))] is bf16  # its import tells NumPy of bf16
    with pyptx.target("sm_90a"):
        return f"{x} {w} {rows}x{n} {' '.join(digests(x, w, n, rows))}"


@pytest.mark.sweep
def test_bits(snapshot):
    lines = [line_of(*case) for case in CASES]
    assert "\n".join(lines) + "\n" == snapshot(extension_class=Lines)


@pytest.mark.sampled(12, each="types")
@pytest.mark.parametrize(
    ("types", "n", "rows"), [((x, w), n, rows) for x, w, n, rows in CASES],
    ids=lambda value: str(value),
)  # fmt: skip
def test_bits_of_a_length(kept, types, n, rows):
    x, w = types
    assert [line_of(x, w, n, rows)] == kept("test_norm_bits/test_bits.txt", f"{x} {w} {rows}x{n} ")
