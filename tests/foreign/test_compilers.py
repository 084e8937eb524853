"""Kernels of Triton, Numba and NVRTC, compared with NumPy; `run` is that of test_corpus.py.

tests/text/corpus has their sources beside them.
"""

import math

import numpy as np
from tests.foreign.test_corpus import of_files, pytest_generate_tests, rng, run

import pyptx
from pyptx import In, Out, Tile
from pyptx.types import f16, f32, f64, s32, s64, u32

__all__ = ["pytest_generate_tests", "run"]


# ---- Triton: the arguments, then two addresses of scratch memory that these kernels do not use ---


@of_files("triton/softmax.*.ptx")
def test_a_softmax_of_triton(path, run):
    kernel = pyptx.from_ptx(
        path,
        in_specs=(Tile("R", "N", f32),),
        out_specs=(Tile("R", "N", f32),),
        params=(Out(0), In(0), "N", "N", 0, 0),
        grid=lambda R, N: R,
        smem=1024,
        parallel=("R",),
    )
    x = rng().standard_normal((3, 400)).astype(np.float32)
    e = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(run(kernel, x)[0], e / e.sum(1, keepdims=True), rtol=1e-5)


@of_files("triton/histogram.*.ptx")
def test_atomic_sums_of_triton(path, run):
    kernel = pyptx.from_ptx(
        path,
        in_specs=(Tile("N", s32), Tile(65, s32), Tile("B", f32)),
        out_specs=(Tile(65, s32), Tile("B", f32)),
        input_output_aliases={1: 0, 2: 1},
        params=(In(0), In(1), In(2), "N", 0, 0),
        grid=lambda N, B: B,
        smem=1024,
    )
    x = rng().integers(0, 500, 700).astype(np.int32)
    counts, sums = run(kernel, x, np.ones(65, np.int32), np.ones(3, np.float32))
    np.testing.assert_array_equal(counts[:64], 1 + np.bincount(x & 63, minlength=64))
    assert counts[64] == x.max()
    np.testing.assert_array_equal(sums, [1 + x[i : i + 256].sum() for i in (0, 256, 512)])


@of_files("triton/product.sm_[!1]*.ptx")
def test_a_product_of_triton(path, run):
    a, b = factors()
    wanted = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_array_equal(run(product_of_triton(path), a, b)[0], wanted)


@of_files("triton/product.sm_100a.ptx")
def test_a_product_of_triton_in_tensor_memory(path):
    """Right where loads are there at once. By the manual two things are missing.

    Registers of its tcgen05.ld are used before tcgen05.wait::ld, and there is no tcgen05.fence.
    """
    a, b = factors()
    wanted = a.astype(np.float32) @ b.astype(np.float32).T
    kernel = product_of_triton(path)
    done = kernel.emulate(a, b, sanitize=False)
    assert done.report.message == ""
    np.testing.assert_array_equal(done.outputs[0], wanted)
    at_once = kernel.emulate(a, b, sanitize=True, completion="eager")
    assert {f.kind for f in at_once.report.findings} == {"register-race", "tensor-fence"}
    np.testing.assert_array_equal(at_once.outputs[0], wanted)


def factors():
    return rng().integers(-3, 4, (2, 128, 128)).astype(np.float16)


def product_of_triton(path):
    return pyptx.from_ptx(
        path,
        in_specs=(Tile("K", "K", f16), Tile("K", "K", f16)),
        out_specs=(Tile("K", "K", f16),),
        params=(In(0), In(1), Out(0), "K", 0, 0),
        grid=lambda K: (K // 64, K // 64),
        smem=48 << 10,
    )


# ---- Numba: an array is seven parameters, or nine with two dimensions ----------------------------


def array(data, itemsize, *shape):
    """What Numba passes for an array: two pointers of its own, sizes, the data, shape, strides."""
    strides = [itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape))]
    return (0, 0, math.prod(shape), itemsize, data, *shape, *strides)


@of_files("numba/reversed_rows.*.ptx")
def test_shared_memory_of_numba(path, run):
    kernel = pyptx.from_ptx(
        path,
        in_specs=(Tile(4, 100, f32),),
        out_specs=(Tile(4, 100, f32),),
        params=(*array(In(0), 4, 4, 100), *array(Out(0), 4, 4, 100)),
        grid=4,
        block=128,
    )
    x = rng().standard_normal((4, 100)).astype(np.float32)
    np.testing.assert_array_equal(run(kernel, x)[0], x[:, ::-1])


@of_files("numba/counted.*.ptx")
def test_atomics_and_shuffles_of_numba(path, run):
    kernel = pyptx.from_ptx(
        path,
        in_specs=(Tile(256, s32), Tile(16, s32), Tile(2, f64)),
        out_specs=(Tile(16, s32), Tile(2, f64)),
        input_output_aliases={1: 0, 2: 1},
        params=(*array(In(0), 4, 256), *array(In(1), 4, 16), *array(In(2), 8, 2)),
        grid=2,
        block=128,
    )
    x = rng().integers(0, 1000, 256).astype(np.int32)
    counts, total = run(kernel, x, np.zeros(16, np.int32), np.zeros(2))
    np.testing.assert_array_equal(counts, np.bincount(x % 16, minlength=16))
    assert total.tolist() == [x.max(), x.sum()]


@of_files("numba/roots.*.ptx")
def test_functions_of_numba(path, run):
    kernel = pyptx.from_ptx(
        path,
        in_specs=(Tile(300, f64),),
        out_specs=(Tile(300, f64),),
        params=(*array(In(0), 8, 300), *array(Out(0), 8, 300)),
        grid=2,
        block=64,
    )
    x = 3 * rng().standard_normal(300)
    wanted = np.where(x >= 0, np.sqrt(np.abs(x)), np.exp(x) / (1 + x * x))
    np.testing.assert_allclose(run(kernel, x)[0], wanted, rtol=1e-14)


# ---- NVRTC ---------------------------------------------------------------------------------------


@of_files("nvrtc/plain.*.ptx")
def test_rows_that_nvrtc_sorts(path, run):
    kernel = pyptx.from_ptx(
        path,
        entry="sort_rows",
        in_specs=(Tile(64, "L", u32),),
        out_specs=(Tile(64, "L", u32),),
        input_output_aliases={0: 0},
        params=(In(0), "L"),
        grid=2,
        block=32,
    )
    x = rng().integers(0, 2**32, (64, 11), dtype=np.uint32)
    np.testing.assert_array_equal(run(kernel, x)[0], np.sort(x, axis=1))


@of_files("nvrtc/plain.*.ptx")
def test_packed_values_of_nvrtc(path, run):
    kernel = pyptx.from_ptx(
        path,
        entry="packed",
        in_specs=(Tile(64, 4, u32),),
        out_specs=(Tile(64, 2, u32), Tile(64, s64)),
        grid=1,
        block=64,
    )
    halves = rng().standard_normal((64, 8)).astype(np.float16)
    out, _ = run(kernel, halves.view(np.uint32))
    low, high = halves[:, [0, 2]], halves[:, [5, 7]]
    np.testing.assert_array_equal(out.view(np.float16)[:, :2], low + high)
    low, high = (v.copy().view(np.uint32)[:, 0].astype(np.uint64) for v in (low, high))
    np.testing.assert_array_equal(out[:, 1], ((high << 32 | low) << 7 >> 32).astype(np.uint32))


@of_files("nvrtc/pipeline.*.ptx")
def test_a_pipeline_of_nvrtc(path, run):
    kernel = pyptx.from_ptx(
        path,
        in_specs=(Tile("T", 256, f32),),
        out_specs=(Tile(256, f32),),
        params=(In(0), Out(0), "T"),
        grid=1,
        block=256,
    )
    x = rng().integers(-50, 50, (5, 256)).astype(np.float32)
    np.testing.assert_array_equal(run(kernel, x)[0], x[:, ::-1].sum(0))
