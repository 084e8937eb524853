"""What completion shows of the language: its public names, and nothing that it is made of."""

import types

import pytest

import pyptx
from pyptx import ptx, reg, smem

NAMESPACES = {
    "ptx": ptx,
    "reg": reg,
    "smem": smem,
    **{
        f"ptx.{name}": getattr(ptx, name)
        for name in ptx.__all__
        if isinstance(getattr(ptx, name), types.ModuleType)
    },
}


@pytest.mark.parametrize("name", NAMESPACES)
def test_each_name_is_documented_and_its_own(name):
    namespace = NAMESPACES[name]
    names = dir(namespace)
    assert names
    for each in names:
        assert not each.startswith("_"), each
        value = getattr(namespace, each)
        assert not isinstance(value, type) or value.__module__ == namespace.__name__, each
        if callable(value):
            assert value.__doc__, each


def test_what_they_are_made_of_is_not_shown():
    assert {"Trace", "current", "caller", "cast"}.isdisjoint(dir(ptx))
    assert dir(reg) == ["array", "from_", "mma_frag", "scalar", "undefined", "wgmma_frag"]
    assert "reduce_sum" in dir(ptx.warp)
    assert "Trace" not in dir(ptx.warp)


def test_the_package_shows_its_public_names():
    names = dir(pyptx)
    assert {"Kernel", "Tile", "kernel", "ptx", "types", "__version__"} <= set(names)
    assert [name for name in names if name.startswith("_")] == ["__version__"]
