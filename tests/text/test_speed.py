"""The lines that are read without tokens: the same module, and in a fraction of the time."""

import random
import time
from pathlib import Path

import pytest

from pyptx.ir import Instruction
from pyptx.operands import Register
from pyptx.source import SourceLocation
from pyptx.text import ParseError, parse
from pyptx.text.lines import LineReader
from pyptx.types import b32

CORPUS = sorted((Path(__file__).parent / "corpus").glob("**/*.ptx"))
SIZE = 100_000
# A parse makes a register, a location and an instruction of each line. What their constructors
# take is the measure of the machine. A parse takes 2.4 times as long, so 200,000 instructions a
# second where the three are made in 2 microseconds; the limit leaves room for a busy machine.
TIMES_WHAT_IT_MAKES = 5


def generated(size):
    """A kernel of so many instructions: each result in a register of its own, as compilers do."""
    generator = random.Random(1)
    lines = ["ld.param.u64 %rd1, [p];", "mov.u32 %r1, %tid.x;", "mov.f32 %f1, 0f3F800000;"]
    lines += ["cvta.to.global.u64 %rd2, %rd1;", "setp.lt.s32 %p1, %r1, 7;"]
    r, f, d = 1, 1, 2
    while len(lines) < size - 1:
        match generator.choices(range(6), (5, 5, 3, 3, 2, 1))[0]:
            case 0:
                lines.append(f"add.s32 %r{r + 1}, %r{r}, {generator.randint(-500, 500)};")
                r += 1
            case 1:
                lines.append(f"fma.rn.f32 %f{f + 1}, %f{f}, %f{generator.randint(1, f)}, %f1;")
                f += 1
            case 2:
                lines.append(f"mul.wide.s32 %rd{d + 1}, %r{r}, 4;")
                d += 1
            case 3:
                offset = 4 * generator.randint(0, 200)
                lines.append(f"ld.global.f32 %f{f + 1}, [%rd{d}+{offset}];")
                f += 1
            case 4:
                lines.append(f"st.global.f32 [%rd{d}], %f{f};")
            case _:
                lines.append(f"@%p1 bra $L{len(lines)};\n$L{len(lines)}:")
    declared = (".pred %p<2>", f".b32 %r<{r + 1}>", f".f32 %f<{f + 1}>", f".b64 %rd<{d + 1}>")
    head = [".version 8.0", ".target sm_90", ".address_size 64", ".entry big(.param .u64 p)", "{"]
    return "\n".join((*head, *(f".reg {each};" for each in declared), *lines, "ret;", "}", ""))


def by_tokens(monkeypatch):
    """Let every statement take the way over tokens."""
    monkeypatch.setattr(LineReader, "read", lambda self: False)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_both_ways_read_the_same_module(path, monkeypatch):
    text = path.read_text()
    quick = parse(text, path.name)
    by_tokens(monkeypatch)
    slow = parse(text, path.name)
    assert quick == slow
    assert (quick.comments, quick.debug) == (slow.comments, slow.debug)
    for one, other in zip(all_statements(quick), all_statements(slow), strict=True):
        if isinstance(one, Instruction):
            assert (one.location, one.debug) == (other.location, other.debug)


def all_statements(module):
    return [s for f in (*module.functions, *module.kernels) for s in f.body or ()]


@pytest.mark.parametrize(
    "line",
    [
        "add.u32 %r1, %f1, 1;",
        "add.u32 %r1, %r999999, 1;",
        "add.u32 %r1, %r1 %r2, 1;",
        "add.u32 %r1, , 1;",
        "ld.global.f32 %f1, %rd1;",
        "ld.global.f32 %f1, [%r1];",
        "add.s32 %r1, %r01, 1;",
        "st.global.f32 [%rd1], %f1, %f1;",
        "@%r1 bra $L;",
        "mov.b64 %rd1 {%r1, %r1};",
        "mov.b64 %rd1,, {%r1, %r1};",
        "mov.b64 {%r1, %r1}, %rd1 %rd1;",
        "mov.b64 {%r1, %r1 %r1}, %rd1;",
        "bra $nowhere;",
    ],
)
def test_both_ways_refuse_the_same(line, monkeypatch):
    known = "mov.b64 %rd1, {%r1, %r1};\nmov.b64 {%r1, %r1}, %rd1;\n"
    text = generated(200).replace("ret;", f"{known}{line}\nret;")

    def refused():
        with pytest.raises(ParseError) as caught:
            parse(text)
        return str(caught.value)

    quick = refused()
    by_tokens(monkeypatch)
    assert refused() == quick


def test_large_files():
    text = generated(SIZE)
    parse(generated(1000))
    made = best(make)
    spent = best(lambda: parse(text))
    assert spent < TIMES_WHAT_IT_MAKES * made, f"{SIZE / spent:.0f} instructions a second"


def make():
    """What a parse makes, without a parse."""
    return [
        (Register(i, b32), SourceLocation("", i), Instruction(None, (), (), None))
        for i in range(SIZE)
    ]


def best(function):
    """Seconds of processor time, the best of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)
