"""What tests of golden files share."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "__snapshots__"


@pytest.fixture
def kept(request):
    """Lines of a golden file that begin with something. While such files are written, none."""
    if request.config.getoption("update_snapshots"):
        pytest.skip("golden files are written")

    def lines(name, begin):
        return [line for line in (FOLDER / name).read_text().splitlines() if line.startswith(begin)]

    return lines
