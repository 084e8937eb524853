"""Damaged files: an error of pyptx that points into the file, or a module whose text is read back.

Each damaged file must be done within seconds, however it is damaged.
"""

import itertools
import random
import re
import signal
import time
from pathlib import Path

import pytest

from pyptx._text import ParseError, normal_form, parse, write

CORPUS = Path(__file__).parent / "corpus"
FILES = [
    CORPUS / name
    for name in ("by_hand.ptx", "functions.ptx", "triton_style.ptx", "nvcc/debugged.sm_90a.ptx")
]
SEEDS = range(6)
EACH = 60
SECONDS = 5
CAMPAIGN = 600
_TOKEN = re.compile(r"[%$\w.]+|[^\s\w]|\s+")
STRANGE = (
    *"{}[]()<>@!|;:,=+-*/'\\\n\t\0é?_",
    '"', "/*", "//", "0x", "0f3F8", "9" * 30, "1" * 5000, "[[", "(" * 200, "-" * 200, "{" * 200,
    ".reg", ".b32", ".param", ".v4", ".align 0", "[1099511627776]", "<4294967296>", "%r99999999999",
    ".loc 1 2 3", ".section x {", ".entry", ".func", "call", "WARP_SZ", "0xFF(", "1 ? 2",
)  # fmt: skip


def damaged(text, generator):
    """The text with one to four things taken out, put in, doubled, moved or exchanged."""
    tokens = _TOKEN.findall(text)
    for _ in range(generator.randint(1, 4)):
        at, other = generator.randrange(len(tokens)), generator.randrange(len(tokens))
        match generator.randrange(7):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, generator.choice(STRANGE))
            case 2:
                tokens[at] = generator.choice(STRANGE)
            case 3:
                tokens.insert(at, tokens[other])
            case 4:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 5:
                del tokens[at : at + generator.randint(1, 40)]
            case _:
                tokens[at:at] = tokens[other : other + generator.randint(1, 40)]
    return "".join(tokens)


@pytest.fixture
def limited():
    """Raises in what takes longer than it may."""

    def too_long(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, too_long)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def survives(wrong):
    """Whether a damaged text is a module; checks what is said of it otherwise."""
    try:
        module = parse(wrong, "damaged.ptx")
    except ParseError as error:
        assert error.location.file == "damaged.ptx"
        assert 1 <= error.location.line <= wrong.count("\n") + 1
        assert error.column >= 1
        return False
    assert parse(write(module, lines=bool(module.debug.files)).ptx) == normal_form(module)
    return True


@pytest.mark.sampled(20, each="path")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_damaged_file(path, seed, limited):
    text = path.read_text()
    generator = random.Random(f"{path.name} {seed}")
    refused = 0
    for _ in range(EACH):
        limited()
        refused += not survives(damaged(text, generator))
    assert refused > EACH // 3


@pytest.mark.sweep
def test_a_long_campaign(limited):
    """Ten minutes of all the files, another seed each time: a failure names the one to repeat."""
    start = random.SystemRandom().randrange(10**9)
    files = sorted(CORPUS.glob("**/*.ptx"))
    end = time.monotonic() + CAMPAIGN
    for seed in itertools.count(start):
        if time.monotonic() > end:
            break
        generator = random.Random(seed)
        path = generator.choice(files)
        wrong = damaged(path.read_text(), generator)
        limited()
        try:
            survives(wrong)
        except Exception as error:
            error.add_note(f"{path.name}, seed {seed}")
            raise


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_that_ends_anywhere(path, limited):
    text = path.read_text()
    generator = random.Random(path.name)
    for _ in range(EACH):
        limited()
        try:
            parse(text[: generator.randrange(len(text))])
        except ParseError as error:
            assert error.column >= 1
