"""Layouts, descriptors and fragments on an NVIDIA GPU: products of matrices, to the last bit."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

pytestmark = pytest.mark.gpu

_path = Path(__file__).parents[1] / "trace/idioms.py"
_spec = importlib.util.spec_from_file_location("trace_idioms", _path)
idioms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(idioms)


@pytest.fixture(scope="module", autouse=True)
def hopper():
    kind = jax.devices()[0].device_kind
    if not any(name in kind for name in ("H100", "H200", "H20", "H800", "GH200")):
        pytest.skip(f"wgmma and these cubins are of sm_90a, and this is {kind}")


def run(program, *arrays):
    found = program(*(jax.device_put(array) for array in arrays))
    return np.asarray(found)


@pytest.mark.parametrize("product", idioms.products(), ids=lambda p: p.name)
def test_wgmma(product):
    a, b = product.inputs()
    kernel = product.kernel()
    found = run(kernel, a, b)
    np.testing.assert_array_equal(product.outcome(found), product.expected(a, b))
    np.testing.assert_array_equal(found, kernel.emulate(a, b).outputs[0])


def test_a_product_of_tiles():
    a = idioms.bits(idioms.whole(1, (256, 320), "bf16"), "bf16")
    b = idioms.bits(idioms.whole(2, (128, 320), "bf16"), "bf16")
    kernel = idioms.tiled_product()
    np.testing.assert_array_equal(run(kernel, a, b), kernel.emulate(a, b).outputs[0])


def test_wgmma_with_a_in_registers():
    a = idioms.bits(idioms.whole(5, (64, 16), "bf16"), "bf16")
    b = idioms.bits(idioms.whole(6, (64, 16), "bf16"), "bf16")
    kernel = idioms.registers_times_shared()
    found = run(kernel, a, b)
    wanted = idioms.values(a, "bf16") @ idioms.values(b, "bf16").T
    np.testing.assert_array_equal(idioms.values(found, "f32"), wanted)
    np.testing.assert_array_equal(found, kernel.emulate(a, b).outputs[0])


@pytest.mark.parametrize("product", idioms.warp_products(), ids=lambda p: p.name)
def test_mma_sync(product):
    a, b = product.inputs()
    found = product.outcome(run(product.kernel(), a, b))
    np.testing.assert_array_equal(found, product.expected(a, b))


@pytest.mark.parametrize("trans", [False, True])
def test_stmatrix(trans):
    x = np.arange(256, dtype=np.uint16).reshape(16, 16)
    found = run(idioms.transpose_by_stmatrix(trans), x)
    np.testing.assert_array_equal(found, x.T if trans else x)
