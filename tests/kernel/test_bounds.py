"""What a process keeps of kernels that it no longer uses: every cache has a bound."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx._emulator import core
from pyptx._recent import CALLS, IMAGES, SPECIALISATIONS, Recent
from pyptx.types import f32, u32

MANY = 10_000
FEWEST = 2800


class Bounds(NamedTuple):
    """How many calls, traced kernels and images caches keep."""

    calls: int
    specialisations: int
    images: int


@kernel(
    in_specs=(Tile("B", u32),),
    out_specs=(Tile("B", u32),),
    grid=lambda B: (B, 1, 1),
    block=(1, 1, 1),
    parallel=("B",),
)
def added(X, Y, *, by: int = 0):
    i = ptx.special.ctaid.x()
    Y[i] = X[i] + by


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), arch="sm_90a")
def first(X, Y):
    n = reg.scalar(u32, init=X.shape[0])
    with ptx.if_(n > 0):
        Y[0] = X[0]


def test_the_least_recently_used_goes_first():
    cache: Recent[str] = Recent(2)
    assert cache.keep("a", "A") == "A"
    cache.keep("b", "B")
    assert cache.get("a") == "A"
    cache.keep("c", "C")
    assert (cache.get("a"), cache.get("b"), cache.get("c"), len(cache)) == ("A", None, "C", 2)
    cache.keep("a", "new")
    cache.keep("d", "D")
    assert (cache.get("a"), cache.get("c"), cache.get("d"), len(cache)) == ("new", None, "D", 2)


def test_a_value_that_cannot_be_a_key_is_refused():
    cache: Recent[int] = Recent(2)
    with pytest.raises(TypeError, match="unhashable"):
        cache.get([])  # pyright: ignore[reportArgumentType]
    cache.keep("a", 1)  # and the cache is not locked
    assert cache.get("a") == 1


def test_threads_share_one():
    cache: Recent[int] = Recent(16)
    wrong: list[tuple[int, int]] = []

    def use(start: int) -> None:
        for i in range(start, start + 3000):
            cache.keep(i % 64, i % 64)
            found = cache.get((i + 7) % 64)
            if found not in (None, (i + 7) % 64) or len(cache) > 16:
                wrong.append((i, len(cache)))

    threads = [threading.Thread(target=use, args=(i * 17,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(cache) == 16


def test_sizes_of_a_parallel_dimension():
    """Each of 10,000 batch sizes is known for a while; they share one call and one trace."""
    for size in range(1, MANY + 1):
        shaped = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint32), (size,), (0,))
        added._prepare([shaped], {}, by_reference=False, location=added._location)
    assert len(added._calls) == CALLS
    assert len(added._made) == 1
    assert len(added._traced) == 1


def test_calls_on_arrays_are_known_for_a_while():
    for size in range(1, CALLS + 100):
        x = np.arange(size, dtype=np.uint32)
        np.testing.assert_array_equal(added(x, by=1), x + 1)
    assert len(added._known) == CALLS
    np.testing.assert_array_equal(added(np.arange(3, dtype=np.uint32), by=1), [1, 2, 3])


@pytest.fixture
def bounds():
    """What the caches of a kernel are to keep."""
    return Bounds(CALLS, SPECIALISATIONS, IMAGES)


@pytest.fixture
def low_bounds(monkeypatch):
    """An eighth of that, which far fewer calls fill."""
    low = Bounds(CALLS // 8, SPECIALISATIONS // 8, IMAGES // 8)
    for cache, most in (
        (first._calls, low.calls),
        (first._made, low.specialisations),
        (first._traced, low.specialisations),
        (core._locations, low.images),
    ):
        monkeypatch.setattr(cache, "_most", most)
    yield low
    first._calls.clear()
    first._made.clear()
    first._traced.clear()


def test_specialisations_and_their_memory(low_bounds):
    """Of sizes that are compile-time values few are kept, and memory stays what it was."""
    early, late = memory_of(FEWEST // 4, sys.getallocatedblocks, low_bounds)
    assert late - early < FEWEST // 4 // 4  # objects, of as many calls as half of it


@pytest.mark.sweep
def test_specialisations_and_their_memory_with_the_bounds_that_there_are(bounds):
    early, late = memory_of(FEWEST, sys.getallocatedblocks, bounds)
    assert late - early < FEWEST // 4


@pytest.mark.sweep
def test_all_memory_of_specialisations(bounds):
    """Counting every byte takes four times as long."""
    tracemalloc.start()
    try:
        early, late = memory_of(2 * MANY, lambda: tracemalloc.get_traced_memory()[0], bounds)
    finally:
        tracemalloc.stop()
    assert late < 1.1 * early


def memory_of(many, memory, bounds):
    """What is held after half of the calls, and after all."""
    early = many // 2
    assert early * 3 // 4 > max(bounds)
    held: dict[int, int] = {}
    for size in range(1, many + 1):
        x = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (size,), (0,))
        call = first._prepare([x], {}, by_reference=False, location=first._location)
        if size % 4:
            call.code[0].image()
        if size in (early, many):
            gc.collect()
            held[size] = memory()
    assert len(first._traced) == len(first._made) == bounds.specialisations
    assert len(first._calls) == bounds.calls
    assert len(core._locations) == bounds.images
    return held[early], held[many]


def test_what_was_forgotten_is_traced_again():
    texts = [first.ptx(N=n) for n in range(1, 4)]
    for n in range(4, 5 + SPECIALISATIONS):
        first.ptx(N=n)
    assert [first.ptx(N=n) for n in range(1, 4)] == texts
