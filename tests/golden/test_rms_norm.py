"""What `pyptx.ops.rms_norm` launches on an H200: every kernel's text, and what the assembler says.

The kernels were tuned on an H200, so no change to them is an accident. A text is kept as the
begin of the SHA-256 of its PTX, three as files; registers, spills and shared memory are kept of one
kernel of each sort, of all of them in the sweep. `make goldens` writes the files anew.
"""

from __future__ import annotations

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from pyptx._launch.call import make_call
from pyptx._target import Target
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.strategies import cta, persistent, subwarp
from pyptx.types import DType, bf16, f16, f32, f64

from .test_golden import PtxFile

HOPPER = Target.parse("sm_90a")
EPS = 1e-5

# Lengths on both sides of what the choices compare: groups of a row, bytes of a row, ends.
TABLE: dict[tuple[DType, DType], tuple[int, ...]] = {
    (bf16, bf16): (
        *(1, 128, 136, 768, 1000, 1024, 2048, 2304, 4096, 8191, 8192, 9216, 16384, 18432),
        *(32768, 65536, 65537, 131072, 262144, 2**20, 2**22, 2**23),
    ),
    (f32, f32): (
        *(7, 64, 129, 256, 1024, 2048, 2304, 4096, 8192, 8193, 16384, 20480, 32768, 40001),
        *(65536, 131072, 262144, 2**20, 2**21),
    ),
    (f16, f32): (3, 100, 1025, 4096, 12288, 65536, 400000),
    (f64, bf16): (1, 33, 1000, 4097, 8192, 65536, 262144),
    (f64, f64): (16, 512, 8192, 65536, 262145, 400000),
    (bf16, f32): (10**6,),
}
CASES = [(x, w, n) for (x, w), lengths in TABLE.items() for n in lengths]

# Calls that together launch one kernel of each sort.
ASSEMBLED = [
    *((bf16, bf16, n) for n in (128, 4096, 131072, 2**20, 2**23)),
    (f32, f32, 8193),
]


def rows_of(op):
    """Rows of an H200."""
    return Rows((op.columns,), types_of(op), op.compute)


def texts():
    """Kernels whose PTX is a file, to be read."""
    op = RmsNorm(128, bf16, bf16, EPS)
    yield subwarp.independent(op, rows_of(op), subwarp.Shape(16, 4, 128))
    op = RmsNorm(8192, f32, f32, EPS)
    yield cta.independent(op, rows_of(op), threads=512, held=True)
    op = RmsNormGradient(4096, bf16, bf16)
    yield persistent.kernel_of(op, rows_of(op), persistent.Shape(132, 2, 256, 3))


class Lines(SingleFileSnapshotExtension):
    """A file of lines."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT


def calls(x, w, n):
    """The operations of a call and of its gradient, with their directions."""
    for name, invvar in (("forward", False), ("with invvar", True)):
        op = RmsNorm(n, x, w, EPS, invvar)
        yield name, plan._chosen(op, rows_of(op), ())
    op = RmsNormGradient(n, x, w)
    result = w if w.bytes <= op.compute.bytes else op.compute
    yield "backward", plan._chosen(op, rows_of(op), (result,))


def launches(x, w, n):
    """For each launch: what it is called here, its line of the plan, its code."""
    for direction, operation in calls(x, w, n):
        call = make_call(operation._describe({}, {"B": 1}, {}, by_reference=True))
        for step, code in zip(call.plan.steps, call.code, strict=True):
            yield f"{x} {w} {n} {direction}: {step.kernel}", step, code


def lines_of(x, w, n):
    """The digest is of the PTX and the assembler's options; the rest is the launch."""
    return [
        f"{name} {code.digest[:20]} grid={','.join(step.grid)} block={step.block} "
        f"cluster={step.cluster} shared={step.shared} when={step.when}"
        for name, step, code in launches(x, w, n)
    ]


@pytest.mark.sweep
def test_texts(snapshot):
    lines = [line for case in CASES for line in lines_of(*case)]
    assert "\n".join(lines) + "\n" == snapshot(extension_class=Lines)


@pytest.mark.sampled(12, each="types")
@pytest.mark.parametrize(
    ("types", "n"), [((x, w), n) for x, w, n in CASES], ids=lambda value: str(value)
)
def test_texts_of_a_length(kept, types, n):
    assert lines_of(*types, n) == kept(
        "test_rms_norm/test_texts.txt", f"{types[0]} {types[1]} {n} "
    )


def resources(cases):
    for case in cases:
        for name, step, code in launches(*case):
            cubin = code.cubin(HOPPER)
            yield (
                step.kernel,
                (
                    f"{name} registers={cubin.registers} "
                    f"spills={cubin.spill_stores}+{cubin.spill_loads} "
                    f"shared={cubin.shared}+{step.shared} stack={cubin.stack}"
                ),
            )


def test_resources(snapshot):
    """Of the first kernel of each sort that these calls launch."""
    first: dict[str, str] = {}
    for kernel, line in resources(ASSEMBLED):
        first.setdefault(kernel, line)
    assert len(first) >= 16
    assert "\n".join(first.values()) + "\n" == snapshot(extension_class=Lines)


@pytest.mark.sweep
def test_resources_of_every_kernel(snapshot):
    lines = [line for _, line in resources(CASES)]
    assert "\n".join(lines) + "\n" == snapshot(extension_class=Lines)


@pytest.mark.parametrize("kernel", list(texts()), ids=lambda kernel: kernel.name)
def test_ptx(kernel, snapshot):
    assert kernel.ptx() == snapshot(extension_class=PtxFile)
