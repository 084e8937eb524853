"""The teaching kernels at other sizes, what they cost, and what is found without their waits."""

import importlib.util
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pyptx._trace import ptx
from pyptx.types import bf16

EXAMPLES = Path(__file__).parents[2] / "examples"
POLICIES = ["eager", "late", "reversed", "random"]


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def emulated(kernel, *arrays, **options):
    done = kernel.emulate(*arrays, sanitize=True, **options)
    done.report.check()
    return done


# ---- results ---- ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (32, 32), (31, 65), (200, 3)])
def test_transpose(shape):
    x = normal(*shape)
    assert (emulated(load("transpose").transpose, x).outputs[0] == x.T).all()


@pytest.mark.parametrize("columns", [1, 31, 256, 257, 3000])
def test_softmax(columns):
    example, x = load("softmax"), 20 * normal(3, columns)
    x[1] = 1e30
    x[2, : columns // 2] = -np.inf
    result = emulated(example.softmax, x).outputs[0]
    np.testing.assert_allclose(result, example.reference(x), rtol=2e-5, atol=1e-30)


def test_softmax_of_nothing_but_minus_infinity_is_nan():
    x = np.full((2, 40), -np.inf, np.float32)
    x[0] = 0
    result = emulated(load("softmax").softmax, x).outputs[0]
    assert (result[0] == np.float32(1 / 40)).all()
    assert np.isnan(result[1]).all()


@pytest.mark.parametrize("columns", [128, 384, 1280, 4096])
def test_layer_norm(columns):
    example = load("layer_norm")
    x, w, b = 1000 + normal(3, columns), normal(columns, seed=1), normal(columns, seed=2)
    x[1] = 7.0  # a row without a variance
    result = emulated(example.build(columns), x, w, b).outputs[0]
    np.testing.assert_allclose(result, example.reference(x, w, b), atol=2e-3)
    np.testing.assert_allclose(result[1], b, atol=1e-6)


def test_layer_norm_takes_its_eps():
    x, one = np.tile(np.float32([1, -1]), 64)[None], np.ones(128, np.float32)
    (result,) = emulated(load("layer_norm").build(128, eps=3.0), x, one, 0 * one).outputs
    np.testing.assert_allclose(result, x / 2, rtol=1e-5)


@pytest.mark.parametrize("columns", [8, 2048, 2056])
def test_swiglu(columns):
    example = load("swiglu")
    gate = (30 * normal(2, columns)).astype(ml_dtypes.bfloat16)
    up = normal(2, columns, seed=1).astype(ml_dtypes.bfloat16)
    gate[0, :3] = [0, 200, -200]
    result = emulated(example.swiglu, gate, up).outputs[0].astype(np.float64)
    expected = example.reference(gate, up)
    np.testing.assert_allclose(result, expected, rtol=2.0**-8, atol=1e-36)


@pytest.mark.sampled(16, each=("m", "k", "completion"))
@pytest.mark.parametrize("completion", POLICIES)
@pytest.mark.parametrize("m, k", [(1, 32), (129, 96)])
def test_matmul(m, k, completion):
    example = load("matmul_mma_sync")
    a, b = example.random(m, k, 2), example.random(128, k, 3)
    done = emulated(example.build(128, k), a, b, completion=completion)
    assert example.largest_error(done.outputs[0], a, b) <= 1


def test_matmul_of_bf16():
    example = load("matmul_mma_sync")
    a, b = normal(20, 64).astype(ml_dtypes.bfloat16), normal(128, 64, seed=1)
    b = b.astype(ml_dtypes.bfloat16)
    done = emulated(example.build(128, 64, bf16), a, b)
    assert example.largest_error(done.outputs[0], a, b) <= 1


@pytest.mark.parametrize("sizes", [[5], [0, 0, 64], [65, 63, 0], [1, 1, 1, 129]])
def test_grouped_matmul(sizes):
    example, counts = load("grouped_matmul"), np.array(sizes, np.uint32)
    a, b = example.random((sum(sizes), 64), 2), example.random((len(sizes), 64, 64), 3)
    done = emulated(example.build(len(sizes), 64, 64), a, b, counts)
    assert example.largest_error(done.outputs[0], a, b, counts) <= 1


@pytest.mark.sampled(16, each=("causal", "completion"))
@pytest.mark.parametrize("completion", POLICIES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal, completion):
    example = load("attention")
    q, k, v = (example.random(1, 192, seed) for seed in range(3))
    k[:, 100:110] *= 8  # the maximum grows along the way
    done = emulated(example.build(192, causal=causal), q, k, v, completion=completion)
    expected = example.reference(q, k, v, causal=causal)
    np.testing.assert_allclose(done.outputs[0], expected, atol=4e-3)


# ---- mistakes ---- -----------------------------------------------------------------------------


def findings(kernel, *arrays):
    return {finding.kind for finding in kernel.emulate(*arrays, sanitize=True).report.findings}


@pytest.mark.parametrize("name", ["transpose", "softmax"])
def test_it_needs_its_barrier(name, monkeypatch):
    monkeypatch.setattr(ptx.bar, "sync", lambda: None)
    kernel = getattr(load(name), name)
    assert findings(kernel, normal(64, 300)) == {"shared-race"}


def test_layer_norm_needs_its_barrier(monkeypatch):
    monkeypatch.setattr(ptx.bar, "sync", lambda: None)
    x, w, b = normal(2, 1024), normal(1024), normal(1024)
    assert findings(load("layer_norm").build(1024), x, w, b) == {"shared-race"}


@pytest.mark.parametrize("lost", ["sync", "wait"])
@pytest.mark.parametrize("name", ["matmul_mma_sync", "attention", "grouped_matmul"])
def test_it_needs_what_it_waits_for(name, lost, monkeypatch):
    if lost == "sync":
        monkeypatch.setattr(ptx.bar, "sync", lambda: None)
    else:
        monkeypatch.setattr(ptx.cp.async_, "wait_group", lambda n: None)
        monkeypatch.setattr(ptx.cp.async_, "wait_all", lambda: None)
    example = load(name)
    kernel, arrays = {
        "matmul_mma_sync": lambda: (
            example.build(128, 160),
            [example.random(128, 160, 0), example.random(128, 160, 1)],
        ),
        "attention": lambda: (example.build(192), [example.random(1, 192, i) for i in range(3)]),
        "grouped_matmul": lambda: (
            example.build(1, 64, 128),
            [example.random((64, 128), 0), example.random((1, 64, 128), 1), np.uint32([64])],
        ),
    }[name]()
    assert "shared-race" in findings(kernel, *arrays)


# ---- costs ---- --------------------------------------------------------------------------------


def built():
    matmul, attention = load("matmul_mma_sync"), load("attention")
    return {
        "layer_norm": (load("layer_norm").build(8192), {}),
        "matmul": (matmul.build(256, 256), {}),
        "grouped_matmul": (load("grouped_matmul").build(4, 128, 128), {"M": 256}),
        "attention": (attention.build(256), {"T": 64}),
        "causal attention": (attention.build(256, causal=True), {"T": 64}),
    }


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_none_keeps_registers_in_memory(arch):
    for name, (kernel, dims) in built().items():
        cubin = kernel.cubin(arch=arch, **dims)
        assert (name, cubin.spill_stores, cubin.stack) == (name, 0, 0)


def test_shared_memory_without_bank_conflicts():
    matmul, attention, grouped = load("matmul_mma_sync"), load("attention"), load("grouped_matmul")
    reports = [
        emulated(load("transpose").transpose, normal(64, 64)),
        emulated(load("layer_norm").build(1024), normal(2, 1024), normal(1024), normal(1024)),
        emulated(matmul.build(128, 64), matmul.random(128, 64, 0), matmul.random(128, 64, 1)),
        emulated(attention.build(64), *(attention.random(1, 64, i) for i in range(3))),
        emulated(
            grouped.build(1, 64, 64),
            *(grouped.random((64, 64), 0), grouped.random((1, 64, 64), 1), np.uint32([64])),
        ),
    ]
    for done in reports:
        for line in done.report.lines:
            assert line.counts.wavefronts == line.counts.ideal_wavefronts, line


def test_what_they_refuse():
    with pytest.raises(ValueError, match=r"^100 columns are not a multiple of 128$"):
        load("layer_norm").build(100)
    with pytest.raises(ValueError, match=r"^n=100 is no multiple of 128, or k=64 none of 32$"):
        load("matmul_mma_sync").build(100, 64)
    with pytest.raises(ValueError, match=r"^n=64 or k=32 is no multiple of 64$"):
        load("grouped_matmul").build(2, 64, 32)
    with pytest.raises(ValueError, match=r"^65 keys are not a multiple of 64$"):
        load("attention").build(65)
