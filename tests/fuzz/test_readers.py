"""The readers in Python on the corpus and on changes of it, the same in every run.

The parser's own test of damaged files is tests/text/test_fuzz.py.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from tests.fuzz.readers import TARGETS, corpus

CHANGES = {"ptx": 80, "plan": 15_000, "cache": 3000}
SECONDS = 20
BYTES = b';,0 9-|:.[]{}"=ar1\x00\x7f\x80\xff'


def changed(data: bytes, other: bytes, draw: random.Random) -> bytes:
    """One to four pieces taken out, put in, replaced or copied from the other."""
    result = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at, span = draw.randrange(len(result) + 1), draw.randint(1, 8)
        match draw.randrange(4):
            case 0:
                del result[at : at + span]
            case 1:
                result[at:at] = bytes([draw.choice(BYTES)]) * draw.choice((1, span))
            case 2:
                result[at : at + 1] = bytes([draw.choice(BYTES)])
            case _:
                start = draw.randrange(len(other) + 1)
                result[at:at] = other[start : start + 4 * span]
    return bytes(result)


@pytest.fixture
def clock() -> Iterator[None]:
    """Each input may take SECONDS; the test sets the timer anew."""

    def too_long(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, too_long)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("target", TARGETS)
def test_a_reader(target: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYPTX_CACHE_DIR", "")  # restored behind the target, which sets it
    read, files = TARGETS[target], corpus(target)
    inputs = [file.read_bytes() for file in files]
    for file, data in zip(files, inputs, strict=True):
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        assert read(data) or file.name.startswith("found-"), file
    draw = random.Random(2026)
    taken = 0
    for _ in range(CHANGES[target]):
        data = changed(draw.choice(inputs), draw.choice(inputs), draw)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            taken += read(data)
        except Exception as error:
            error.add_note(repr(data))
            raise
    assert 0 < taken < CHANGES[target]


def test_a_reader_that_breaks_its_promise_is_seen(monkeypatch: pytest.MonkeyPatch):
    """An error that is none of the reader's own leaves the target."""

    def broken(text: str) -> object:
        raise IndexError(text)

    monkeypatch.setattr("pyptx._launch.reading.read", broken)
    with pytest.raises(IndexError):
        TARGETS["plan"](b"inputs=;outputs=")
