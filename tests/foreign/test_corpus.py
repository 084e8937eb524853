"""Kernels that compilers and people wrote, emulated and compared with NumPy.

tests/gpu/test_foreign.py collects the same tests with a `run` that launches.
"""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import pyptx
from pyptx import In, Out, Scalar, Tile, ptx
from pyptx.types import bf16, f16, f32, f64, s8, s32, u8, u32, u64

CORPUS = Path(__file__).parents[1] / "text/corpus"


def of_files(pattern):
    """A test of every file of the corpus with such a name."""

    def marked(test):
        test.files = pattern
        return test

    return marked


everyday = of_files("nvcc/everyday.*.ptx")


def pytest_generate_tests(metafunc):
    if "path" in metafunc.fixturenames:
        paths = sorted(CORPUS.glob(metafunc.function.files))
        metafunc.parametrize("path", paths, ids=[path.name for path in paths])


@pytest.fixture
def run():
    """A kernel's outputs, of a run in the emulator without findings."""

    def emulated(kernel, *arrays, sanitize=True):
        done = kernel.emulate(*arrays, sanitize=sanitize)
        assert done.report.message == ""
        return done.outputs

    return emulated


def rng():
    return np.random.default_rng(7)


@everyday
def test_a_sum_over_warps_and_shared_memory(path, run):
    kernel = pyptx.from_ptx(
        path,
        entry="block_sum",
        in_specs=(Tile("N", f32), Tile(1, f32)),
        out_specs=(Tile(1, f32),),
        input_output_aliases={1: 0},
        params=(In(0), In(1), "N"),
        grid=4,
        block=256,
    )
    x = rng().standard_normal(5000).astype(np.float32)
    (y,) = run(kernel, x, np.full(1, 2, np.float32))
    np.testing.assert_allclose(y[0], 2 + x.astype(np.float64).sum(), rtol=1e-4)


@of_files("nvcc/tiles.*.ptx")
def test_reductions_over_tiles_of_several_warps(path, run):
    kernel = pyptx.from_ptx(
        path,
        in_specs=(Tile(256, f32),),
        out_specs=(Tile(256, f32),),
        params=(In(0), Out(0)),
        grid=1,
        block=256,
    )
    x = rng().integers(-50, 50, 256).astype(np.float32)
    (y,) = run(kernel, x)
    tiles = x.reshape(2, 128)
    np.testing.assert_array_equal(y, np.repeat(tiles.sum(1) + tiles.max(1), 128))


@everyday
def test_a_histogram(path, run):
    kernel = pyptx.from_ptx(
        path,
        entry="histogram",
        in_specs=(Tile("N", u8), Tile(256, u32)),
        out_specs=(Tile(256, u32),),
        input_output_aliases={1: 0},
        params=(In(0), In(1), "N"),
        grid=1,
        block=256,
    )
    data = rng().integers(0, 256, 3000).astype(np.uint8)
    (bins,) = run(kernel, data, np.ones(256, np.uint32))
    np.testing.assert_array_equal(bins, 1 + np.bincount(data, minlength=256))


def interpret(program, a, b):
    """The interpreter of everyday.cu in Python; what it leaves in its registers."""
    registers = {}

    def wrap(v):
        return (v + 2**31) % 2**32 - 2**31

    for i, code in enumerate(program):
        match code:
            case 0:
                a = wrap(a + b)
            case 1:
                a = wrap(a - b)
            case 2:
                a = wrap(a ^ wrap(b << 3))
            case 3:
                b = wrap(a * 5)
            case 4:
                b = ~b
            case 5:
                a = max(a, b)
            case 6:
                a = (a % 2**32).bit_count()
            case 7:
                b = 32 - ((a | 1) % 2**32).bit_length()
            case 8:
                a = int(a / (b | 1))
            case 9:
                registers[i] = a
            case _:
                return registers
    return registers | {0: a, 1: b}  # fmt: skip


@everyday
@pytest.mark.parametrize("seed", range(3))
def test_a_switch(path, seed, run):
    kernel = pyptx.from_ptx(
        path,
        entry="interpreter",
        in_specs=(Tile("N", s32), Tile("N", s32)),
        out_specs=(Tile("N", s32),),
        input_output_aliases={1: 0},
        params=(In(0), In(1), "N"),
        grid=1,
        block=1,
    )
    program = np.random.default_rng(seed).integers(0, 10 + (seed == 2), 60).astype(np.int32)
    before = np.arange(5, 65, dtype=np.int32)
    (after,) = run(kernel, program, before)
    expected = before.copy()
    for place, value in interpret(program.tolist(), 5, 6).items():
        expected[place] = value
    np.testing.assert_array_equal(after, expected)


@everyday
def test_functions_called_by_name_and_through_a_table(path, run):
    kernel = pyptx.from_ptx(
        path,
        entry="calls",
        in_specs=(Tile("T", 2, u64), Tile("T", f32), Scalar(s32)),
        out_specs=(Tile("T", 2, u64), Tile("T", f32)),
        input_output_aliases={0: 0, 1: 1},
        grid=1,
        block=32,
        smem=lambda T: 4 * T,
    )
    keys = rng().integers(-50, 50, 32).astype(np.int32)
    values = rng().standard_normal(32)
    floats = rng().standard_normal(32).astype(np.float32)
    pairs = np.zeros((32, 2), np.uint64)
    pairs[:, 0], pairs[:, 1] = keys.view(np.uint32), values.view(np.uint64)
    weights = [0.5, 0.25, 0.125, 0.0625, 0.03125]
    for which in (1, 3, 8):
        got_pairs, got_floats = run(kernel, pairs, floats, which)
        k, v, f = keys.astype(np.int64), values.copy(), np.zeros(32)
        if which > 2:
            k = -k
            v = np.array([1.0, -2.5])[k & 1] - v
        for i in range(which):
            f = f * floats + weights[i % 5]
        k = k + [k + 1, k * 7, k << 3][which % 3] + 7
        np.testing.assert_array_equal(got_pairs[:, 0].astype(np.uint32).view(np.int32), k)
        np.testing.assert_array_equal(got_pairs[:, 1].view(np.float64), v)
        np.testing.assert_allclose(got_floats, f[np.arange(32) ^ 1], rtol=1e-4, atol=1e-5)
        printed = kernel.emulate(pairs, floats, which).report.printed
        assert printed == f"{k[0]} of {got_floats[0]:f}\n"


@everyday
def test_an_array_on_the_stack(path, run):
    kernel = pyptx.from_ptx(
        path,
        entry="spills",
        in_specs=(Tile(64, s32), Scalar(s32)),
        out_specs=(Tile(64, s32),),
        input_output_aliases={0: 0},
        grid=1,
        block=1,
    )
    stack = rng().integers(0, 100, 64).astype(np.int32)
    expected = stack.copy()
    for i in range(30):
        expected[(expected[i & 63] + i) & 63] += expected[(i * 7) & 63]
    np.testing.assert_array_equal(run(kernel, stack, 30)[0], expected)


@everyday
def test_doubles(path, run):
    kernel = pyptx.from_ptx(
        path,
        entry="doubles",
        in_specs=(Tile("N", f64),),
        out_specs=(Tile("N", f64),),
        params=(In(0), Out(0), "N"),
        grid=lambda N: ptx.cdiv(N, 128),
        block=128,
        parallel=("N",),
    )
    x = np.abs(rng().standard_normal(1000)) * 9
    (y,) = run(kernel, x)
    expected = np.sqrt(x) / (1 + x * x) + np.abs(x) + np.floor(x) + np.trunc(x)
    np.testing.assert_allclose(y, expected, rtol=1e-15)


@of_files("nvcc/inline*.ptx")
def test_a_pipeline_of_bulk_copies(path, run):
    kernel = pyptx.from_ptx(
        path,
        in_specs=(Tile("S", 128, 4, f32),),
        out_specs=(Tile("S", 128, 4, f32),),
        params=(In(0), Out(0), "S"),
        grid=1,
        block=128,
    )
    x = rng().standard_normal((5, 128, 4)).astype(np.float32)
    (y,) = run(kernel, x)
    thread = np.arange(128)
    np.testing.assert_array_equal(y, x[:, thread ^ thread % 32])


def test_code_for_a_debugger(run):
    kernel = pyptx.from_ptx(
        CORPUS / "nvcc/debugged.sm_90a.ptx",
        in_specs=(Tile("N", s32),),
        out_specs=(Tile("N", s32),),
        params=(In(0), Out(0), "N"),
        grid=lambda N: ptx.cdiv(N, 64),
        block=64,
    )
    x = rng().integers(-300, 300, 200).astype(np.int32)
    np.testing.assert_array_equal(run(kernel, x)[0], np.clip(x, -100, 100))


def test_functions_in_every_way_that_ptx_has(run):
    text = (CORPUS / "functions.ptx").read_text()
    call = "        call.uni (status), vprintf, (format, values);\n"
    assert call in text
    kernel = pyptx.from_ptx(
        text.replace(call, ""),
        in_specs=(Tile(1, u32),),
        out_specs=(Tile(1, u32),),
        input_output_aliases={0: 0},
        grid=1,
        block=1,
    )
    assert run(kernel, np.array([20], np.uint32))[0].tolist() == [41]
    wraps = np.array([2**31 - 1 + 2**31], np.uint32)  # 2 a + 1 wraps to -1
    assert run(kernel, wraps, sanitize=False)[0].tolist() == [2**32 - 1]


def test_a_jump_table_local_memory_and_a_structure_by_value(run):
    kernel = pyptx.from_ptx(
        CORPUS / "by_hand.ptx",
        in_specs=(Tile(6, u32), Scalar(u32)),
        out_specs=(Tile(6, u32),),
        input_output_aliases={0: 0},
        params=(In(0), In(1), bytes(range(24))),
        grid=1,
        block=1,
    )
    for choice, added in ((0, 35), (2, 19), (3, 35)):
        # The file reads shared memory that nothing sets, so the sanitizer does not look.
        (out,) = run(kernel, np.zeros(6, np.uint32), choice, sanitize=False)
        assert out[0] == added
        assert out[2:5].view(np.float32).tolist() == [3.5, 0.0, 1.0]


def whole(generator, shape, dtype):
    return generator.integers(-4, 5, shape).astype(NUMPY[dtype])


NUMPY = {f16: np.float16, bf16: ml_dtypes.bfloat16, s8: np.int8}


@pytest.mark.parametrize(
    ("entry", "dtype", "out"), [("halves", f16, f32), ("brains", bf16, f32), ("bytes", s8, s32)]
)
@of_files("nvcc/tensor_cores.*.ptx")
def test_products_by_wmma(path, run, entry, dtype, out):
    kernel = pyptx.from_ptx(
        path,
        entry=entry,
        in_specs=(Tile(16, "K", dtype), Tile(16, "K", dtype)),
        out_specs=(Tile(16, 16, out),),
        params=(In(0), In(1), Out(0), "K"),
        grid=1,
        block=32,
    )
    generator = rng()
    a, b = (whole(generator, (16, 64), dtype) for _ in range(2))
    (c,) = run(kernel, a, b)
    np.testing.assert_array_equal(c, a.astype(float) @ b.astype(float).T)


@of_files("triton/product.sm_[!1]*.ptx")
def test_products_by_mma_and_wgmma(path, run):
    kernel = pyptx.from_ptx(
        path,
        in_specs=(Tile("M", 64, f16), Tile(64, 64, f16)),
        out_specs=(Tile("M", 64, f16),),
        params=(
            In(0),
            In(1),
            Out(0),
            64,
            In(0),
            In(0),
        ),  # the last two are of scratch memory, unused
        grid=lambda M: (M // 64, 1, 1),
        smem=65536,
    )
    generator = rng()
    a, b = (whole(generator, (rows, 64), f16) for rows in (128, 64))
    (c,) = run(kernel, a, b)
    np.testing.assert_array_equal(c, a.astype(float) @ b.astype(float).T)


def test_code_in_the_style_of_triton(run):
    kernel = pyptx.from_ptx(
        CORPUS / "triton_style.ptx",
        in_specs=(Tile("R", 512, f32),),
        out_specs=(Tile("R", 512, f32),),
        params=(In(0), Out(0), 512),
        grid=1,
        smem=16,
    )
    assert kernel.block == (128, 1, 1)
    x = rng().standard_normal((1, 512)).astype(np.float32)
    (y,) = run(kernel, x, sanitize=False)
    quads, got = x.reshape(128, 4), y.reshape(128, 4)
    pair = np.exp(quads[:, :2] - quads[:64, :2].max(initial=-1e9, where=WARP_LEADERS))
    np.testing.assert_allclose(got[:, :2], pair / pair.sum(1, keepdims=True), rtol=1e-5)
    words = got[:, 0].view(np.uint32)
    np.testing.assert_array_equal(got[:, 2].view(np.uint32), words << 16 | words >> 16)
    np.testing.assert_array_equal(got[:, 3], quads[:, 3])


WARP_LEADERS = (np.arange(64) % 16 == 0)[:, None]  # lanes 0 and 16 of two warps
