"""The kernels of tests/foreign/test_corpus.py and structures by value, launched on this GPU."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "foreign"))

from test_corpus import *  # noqa: F403  # the tests themselves
from test_corpus import CORPUS

import pyptx
from pyptx import Out, Tile
from pyptx.types import u8

jax = pytest.importorskip("jax", reason="the kernels are launched from JAX")

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def gpu(device):
    del device
    try:
        return jax.devices("gpu")[0]
    except RuntimeError as error:
        pytest.skip(f"JAX has no GPU: {error}")


def pytest_generate_tests(metafunc):
    """The files whose target is this GPU, or that any later one runs."""
    if "path" in metafunc.fixturenames:
        targets = "sm_80", "sm_90a"
        paths = [p for p in CORPUS.glob(metafunc.function.files) if p.name.split(".")[1] in targets]
        assert paths
        names = [path.name for path in sorted(paths)]
        metafunc.parametrize("path", sorted(paths), ids=names, indirect=True)


@pytest.fixture
def path(request, tmp_path):
    """The file in PTX 9.0, which has all that it needs: assemblers may be older than it."""
    found = tmp_path / request.param.name
    found.write_text(re.sub(r"(?m)^\.version 9\.\d+", ".version 9.0", request.param.read_text()))
    return found


@pytest.fixture
def run(gpu):
    """A kernel's outputs, by a launch from a jitted program."""

    def launched(kernel, *arrays, sanitize=True):
        del sanitize  # it is the emulator that looks
        # 64-bit types would become 32-bit ones.
        with jax.enable_x64(True), jax.default_device(gpu):
            found = jax.jit(kernel)(*arrays)
            return [np.asarray(each) for each in jax.tree.leaves(found)]

    return launched


BYTES = """.version 8.0
.target sm_80
.address_size 64
.visible .entry bytes(.param .u8 before, .param .align 8 .b8 value[12], .param .u64 to)
{
    .reg .b64 p;
    .reg .b32 word;
    .reg .b16 byte;
    ld.param.u64 p, [to];
    ld.param.b32 word, [value];
    st.global.b32 [p], word;
    ld.param.b32 word, [value+4];
    st.global.b32 [p+4], word;
    ld.param.b32 word, [value+8];
    st.global.b32 [p+8], word;
    ld.param.u8 byte, [before];
    st.global.u8 [p+12], byte;
    ret;
}
"""


def test_a_structure_by_value(run):
    data = struct.pack("<Qf", 2**63 + 5, 0.1)
    kernel = pyptx.from_ptx(
        BYTES, in_specs=(), out_specs=(Tile(13, u8),), params=(7, data, Out(0)), grid=1, block=1
    )
    (found,) = run(kernel)
    assert found.tobytes() == data + b"\x07"


def test_sizes_are_computed_at_each_launch(run):
    text = BYTES.replace("value[12]", "value[8], .param .u32 size").replace("value+8", "size")
    kernel = pyptx.from_ptx(
        text,
        in_specs=(Tile("B", 13, u8),),
        out_specs=(Tile("B", 13, u8),),
        input_output_aliases={0: 0},
        params=(7, bytes(8), lambda B: B * 6 - 3, Out(0)),
        grid=1,
        block=1,
        parallel=("B",),
    )
    for rows in (1, 2, 5):
        found = run(kernel, np.zeros((rows, 13), np.uint8))[0]
        assert found[0].tobytes() == bytes(8) + struct.pack("<i", rows * 6 - 3) + b"\x07"
