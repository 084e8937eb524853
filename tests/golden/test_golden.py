"""The PTX of whole kernels against files; `make goldens` writes them anew.

Every file must assemble, so that a golden can be trusted to be more than what was emitted once.
"""

import re
from pathlib import Path

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from pyptx.assemble import assemble

from .kernels import KERNELS

FOLDER = Path(__file__).parent / "__snapshots__" / "test_golden"


class PtxFile(SingleFileSnapshotExtension):
    """One .ptx file for each kernel."""

    file_extension = "ptx"
    _write_mode = WriteMode.TEXT

    @classmethod
    def get_snapshot_name(cls, *, test_location, index=0):
        return str(index)


@pytest.mark.parametrize("name", KERNELS)
def test_ptx(name, snapshot):
    k, dims = KERNELS[name]
    assert k.ptx(**dims) == snapshot(extension_class=PtxFile, name=name)


@pytest.mark.parametrize("name", KERNELS)
def test_golden_files_assemble(name):
    text = (FOLDER / f"{name}.ptx").read_text()
    target = re.search(r"\.target (\w+)", text)[1]
    cubin = assemble(text, target)
    assert (cubin.spill_stores, cubin.spill_loads) == (0, 0)


def test_there_is_no_file_without_a_kernel():
    assert {path.stem for path in FOLDER.iterdir()} == set(KERNELS)
