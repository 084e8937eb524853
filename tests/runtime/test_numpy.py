"""Kernels on NumPy arrays, and how the arrays choose where a kernel runs."""

import re
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from pyptx import Scalar, Tile, kernel, ptx
from pyptx import _emulator as emulator
from pyptx.errors import CallError, EmulationError
from pyptx.types import bf16, f16, f32, s64, u8, u32

X = np.random.default_rng(0).standard_normal((5, 200)).astype(np.float32)


def test_arrays_come_back(kernels):
    y = kernels.scale(X, 2.5)
    assert type(y) is np.ndarray
    np.testing.assert_array_equal(y, X * np.float32(2.5))
    total, difference = kernels.both(X, X[0])
    np.testing.assert_array_equal(total, X + X[0])
    np.testing.assert_array_equal(difference, X - X[0])


@pytest.mark.parametrize("factor", [3, 0.1, np.float32(2), np.float64(0.1), np.asarray(2.0), True])
def test_scalars(kernels, factor):
    np.testing.assert_array_equal(kernels.scale(X, factor), X * np.float32(factor))


def test_any_layout(kernels):
    reversed_rows = X[::-2, ::-1]
    assert not reversed_rows.flags.c_contiguous
    np.testing.assert_array_equal(kernels.scale(reversed_rows, 2.0), reversed_rows * 2)
    np.testing.assert_array_equal(kernels.scale(np.asfortranarray(X), 2.0), X * 2)


def test_inputs_are_left_alone(kernels):
    x = np.arange(128, dtype=np.float32)
    np.testing.assert_array_equal(kernels.increment(x), np.arange(128) + 1)
    np.testing.assert_array_equal(x, np.arange(128))


def test_no_rows(kernels):
    assert kernels.scale(np.zeros((0, 200), np.float32), 1.0).shape == (0, 200)


def test_values_of_every_size_are_laid_out_as_ptx_does():
    @kernel(
        in_specs=(Scalar(u8), Scalar(s64), Scalar(f16), Scalar(f32), Scalar(bf16)),
        out_specs=(Tile(1, u8), Tile(1, s64), Tile(1, f16), Tile(1, f32), Tile(1, bf16)),
    )
    def copy(A, B, C, D, E, VA, VB, VC, VD, VE):
        pa, pb, pc, pd, pe = ptx.global_ptrs(VA, VB, VC, VD, VE)
        ptx.inst.st.global_.u8(ptx.addr(pa), A)
        ptx.inst.st.global_.s64(ptx.addr(pb), B)
        ptx.inst.st.global_.b16(ptx.addr(pc), C)
        ptx.inst.st.global_.f32(ptx.addr(pd), D)
        ptx.inst.st.global_.b16(ptx.addr(pe), E)

    values = (200, -(2**40), 1.5, 0.1, -3.0)
    found = copy(np.asarray(200, np.uint8), *values[1:])
    assert [float(v[0]) for v in found] == [200, -(2**40), 1.5, float(np.float32(0.1)), -3.0]
    assert found[4].dtype == ml_dtypes.bfloat16


def test_run_time_dimensions(kernels):
    for rows in (1, 3, 0):
        x = np.random.default_rng(rows).standard_normal((rows, 128)).astype(np.float32)
        np.testing.assert_array_equal(kernels.square(x), x * x)


def test_a_finding_raises_with_its_line(kernels):
    with pytest.raises(EmulationError, match=r"kernels\.py:\d+") as caught:
        kernels.beyond(np.ones(128, np.float32))
    assert len(caught.value.findings) == 1
    assert "Y" in str(caught.value)


def test_a_finding_has_its_line_after_many_other_kernels(kernels):
    """The core forgets source lines that it has not used for long, and is told them again."""
    x = np.ones(128, np.float32)
    found: list[str] = []
    for _ in range(2):
        found += re.findall(r"kernels\.py:\d+", kernels.beyond.emulate(x).report.findings[0].text)
        for i in range(1100):
            emulator.register_sources(i.to_bytes(4, "little"), SimpleNamespace(parameters=()), ())
    assert len(found) == 2
    assert found[0] == found[1]


def test_emulate_keeps_the_report(kernels):
    x = np.ones(128, np.float32)
    done = kernels.beyond.emulate(x)
    assert done.report.status == "stopped"
    assert len(done.report.findings) == 1
    done = kernels.increment.emulate(x, threads=1, seed=3)
    assert (done.report.status, done.report.findings) == ("ok", ())
    np.testing.assert_array_equal(done.outputs[0], x + 1)


def test_the_environment_adds_the_sanitizer(monkeypatch):
    @kernel(in_specs=(Tile(1, u32),), out_specs=(Tile(1, u32, partial=True), Tile(1, u32)))
    def uninitialised(X, Y, Z):
        _, py, pz = ptx.global_ptrs(X, Y, Z)
        ptx.inst.st.global_.u32(ptx.addr(pz), ptx.inst.ld.global_.u32(ptx.addr(py)))

    x = np.zeros(1, np.uint32)
    uninitialised(x)
    monkeypatch.setenv("PYPTX_EMULATOR_SANITIZE", "1")
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")
    with pytest.raises(EmulationError, match=r"test_numpy\.py:\d+"):
        uninitialised(x)
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "many")
    with pytest.raises(CallError) as caught:
        uninitialised(x)
    assert str(caught.value) == (
        f"{__file__}:{caught.value.location.line}: "
        "PYPTX_EMULATOR_THREADS is 'many' and must be a number\n"
        "    uninitialised(x)"
    )


# ---- the choice ----------------------------------------------------------------------------------


def refusal(call, *args):
    with pytest.raises(CallError) as caught:
        call(*args)
    head, _, rest = str(caught.value).partition(": ")
    assert head.startswith(__file__)
    return "\n".join(line for line in rest.splitlines() if not line.startswith("    "))


def test_other_types(kernels):
    assert refusal(kernels.scale, [1.0], 2.0) == (
        "X is a list; kernels take arrays of JAX and NumPy, and tensors of PyTorch\n"
        "  help: numpy.asarray(X), jax.numpy.asarray(X) or torch.as_tensor(X)"
    )
    assert refusal(kernels.scale, 1.0, 2.0) == (
        "X is a float; kernels take arrays of JAX and NumPy, and tensors of PyTorch\n"
        "  help: numpy.asarray(X), jax.numpy.asarray(X) or torch.as_tensor(X)"
    )
    assert refusal(kernels.scale, X, "2") == (
        "factor is a str; kernels take arrays of JAX and NumPy, and tensors of PyTorch\n"
        "  help: numpy.asarray(factor), jax.numpy.asarray(factor) or torch.as_tensor(factor)"
    )


def test_no_mixtures(kernels):
    jnp = pytest.importorskip("jax.numpy", reason="JAX is an optional dependency")
    assert refusal(kernels.both, jnp.asarray(X), X[0]) == (
        "X is a JAX array and W a NumPy array\n  help: pass both as one kind: jax.numpy.asarray(W)"
    )
    assert refusal(kernels.both.emulate, jnp.asarray(X), X[0]) == (
        "X is a JAX array; emulating takes NumPy arrays\n  help: numpy.asarray(X)"
    )


def test_shapes_and_types_are_checked(kernels):
    assert refusal(kernels.both, X, X[0, :100]) == (
        'the dimension "N" is 200 in X (axis 1) and 100 in W (axis 0)\n'
        '  spec: W: Tile("N", f32)\n  shape: W: (100,)'
    )
    assert refusal(kernels.both, X, X[0].astype(np.float64)) == (
        'W has elements of type float64 and Tile("N", f32) takes float32\n'
        "  help: convert it: W.astype('float32')"
    )
    assert refusal(kernels.both, X) == "both takes 2 arrays (X, W), not 1"
    assert refusal(kernels.scale, X, X).startswith("factor has rank 2 and Scalar(f32) has rank 0")


def test_numpy_needs_no_jax(process):
    program = """
        import sys, numpy as np, kernels
        x = np.ones((5, 200), np.float32)
        np.testing.assert_array_equal(kernels.scale(x, 2.0), x * 2)
        np.testing.assert_array_equal(kernels.iota(), np.arange(256))
        assert "jax" not in sys.modules
        print("ok")
    """
    assert process(program) == "ok\n"
