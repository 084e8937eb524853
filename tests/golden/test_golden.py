"""The PTX of whole kernels against files; `make goldens` writes them anew.

Every file must assemble, so that a golden can be trusted to be more than what was emitted once.
"""

import re
from pathlib import Path

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from pyptx._assemble import assemble

from .kernels import KERNELS

FILES = sorted((Path(__file__).parent / "__snapshots__").glob("**/*.ptx"))


class PtxFile(SingleFileSnapshotExtension):
    """One .ptx file for each kernel."""

    file_extension = "ptx"
    _write_mode = WriteMode.TEXT


@pytest.mark.parametrize("name", KERNELS)
def test_ptx(name, snapshot):
    k, dims = KERNELS[name]
    assert k.ptx(**dims) == snapshot(extension_class=PtxFile)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_files_assemble(path):
    text = path.read_text()
    target = re.search(r"\.target (\w+)", text)[1]
    cubin = assemble(text, target)
    assert (cubin.spill_stores, cubin.spill_loads) == (0, 0)


def test_there_is_a_file_for_each_kernel():
    assert len(FILES) >= len(KERNELS)
