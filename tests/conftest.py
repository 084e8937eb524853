"""Tests of many combinations: every run has a sample of them, and `make sweep` has all.

`@pytest.mark.sampled(n)` above a parametrised test keeps about one of n cases in every run. A
case's name decides, by its checksum, so that no parameter is tied to another by its place; the
first case is always kept. `@pytest.mark.sampled(n, each="dtype")` keeps at least one case of every
dtype, `each=("dtype", "shape")` one of every dtype and one of every shape, and where cases are of a
dataclass, `each="case.*"` one of every value that any of its fields has.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections import defaultdict
from collections.abc import Iterator

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    families: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        # What the sweep has anyway is not what stands for a value in the other runs.
        if mark is not None and item.get_closest_marker("sweep") is None:
            families[item.nodeid.partition("[")[0], str(mark)].append(item)
    for cases in families.values():
        kept = _kept(cases)
        for item in cases:
            if item not in kept:
                item.add_marker(pytest.mark.sweep)


def _kept(cases: list[pytest.Item]) -> set[pytest.Item]:
    """Those cases of one test that every run has."""
    mark = cases[0].get_closest_marker("sampled")
    assert mark is not None
    (one_of,) = mark.args
    each: str | tuple[str, ...] = mark.kwargs.get("each", ())
    kept = {item for item in cases if _checksum(item) % one_of == 0}
    if not each:
        kept.add(cases[0])
    for name in (each,) if isinstance(each, str) else each:
        of_value: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
        for item in cases:
            for value in _values(item, name):
                of_value[value].append(item)
        for those in of_value.values():
            if kept.isdisjoint(those):
                kept.add(min(those, key=_checksum))
    return kept


def _checksum(item: pytest.Item) -> int:
    return zlib.crc32(item.name.encode())


def _values(item: pytest.Item, name: str) -> Iterator[tuple[str, str]]:
    """The parameter of this name, or the fields of the dataclass that it is."""
    assert isinstance(item, pytest.Function)
    value: object = item.callspec.params[name.removesuffix(".*")]
    if not name.endswith(".*"):
        yield name, repr(value)
        return
    assert dataclasses.is_dataclass(value)
    for field in dataclasses.fields(value):
        yield field.name, repr(getattr(value, field.name))
