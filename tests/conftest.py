"""Tests of many combinations: every run has a sample of them, and `make sweep` has all.

`@pytest.mark.sampled(n)` above a parametrised test keeps about one of n cases in every run. A
case's name decides, by its checksum, so that no parameter is tied to another by its place; the
first case is always kept.
"""

from __future__ import annotations

import zlib

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seen: set[tuple[str, str]] = set()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None:
            continue
        (one_of,) = mark.args
        test = item.nodeid.partition("[")[0], str(one_of)
        first = test not in seen
        seen.add(test)
        if not first and zlib.crc32(item.name.encode()) % one_of:
            item.add_marker(pytest.mark.sweep)
