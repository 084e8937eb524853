"""The products are assembled, without spills, at each type and major."""

import importlib.util
from pathlib import Path

import pytest

_path = Path(__file__).with_name("idioms.py")
_spec = importlib.util.spec_from_file_location("trace_idioms", _path)
idioms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(idioms)

PRODUCTS = [p for p in idioms.products() if p.swizzle == "128B"]


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda p: p.name)
def test_wgmma_is_assembled(product):
    program = product.kernel()
    assert program.ptx().count("wgmma.mma_async") == product.k // product.step
    assert program.cubin().spill_stores == 0


def test_a_product_of_tiles_is_assembled():
    assert idioms.tiled_product().cubin(M=256, N=128, K=320).spill_stores == 0


def test_wgmma_with_a_in_registers_is_assembled():
    assert idioms.registers_times_shared().cubin().spill_stores == 0
