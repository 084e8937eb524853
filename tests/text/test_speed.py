"""The lines that are read without tokens: the same module, and in a fraction of the time."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyptx._ir import Instruction
from pyptx._operands import Register
from pyptx._source import SourceLocation
from pyptx._text import ParseError, parse
from pyptx._text.body import BodyParser
from pyptx._text.lines import LineReader
from pyptx.types import b32

CORPUS = sorted((Path(__file__).parent / "corpus").glob("**/*.ptx"))
SIZE = 25_000
# A parse makes a register, a location and an instruction of each line. What their constructors
# take is the measure of the machine; the limit leaves room for a busy one.
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


@pytest.mark.sampled(16)
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


USUAL = """
.reg .b32 %one;
mov.u32 %one, %tid.x;
mov.u32 %r1, 0x1F;
mov.b64 %rd1, -9223371899415822336;
mov.f64 %fd1, 0d3FF0000000000000;
mov.b64 %rd1, {%r1, %r2};  // a comment
ld.global.b32 { %r3 }, [ %rd1 + 8 ];
ld.param.u64 %rd2, [p];
mov.u64 %rd3, table;
ld.global.u32 %r4, [table+4];
shfl.sync.down.b32 %r5|%p1, %r4, 1, 31, -1;
@!%p1 bra $L;
$L:  // a label
.loc 1 7 3
.loc 1 8 3, function_name $f, inlined_at 1 2 3
"""
LINES = [
    USUAL,
    ".reg .v2 .b32 %v;\nmov.b64 {%v.x, %v.y}, %rd1;",
    "{\n.reg .b32 %r1;\nmov.u32 %r1, %r7;\nmov.u32 %r3, %r1;\n}\nmov.u32 %r4, %r1;",
    "{ .reg .b64 %in; mov.b64 %in, %rd1;\nadd.u64 %rd2, %in, 1; }",
    "mov.b64 {%r42, %r41}, %rd1;\nmov.b64 {%r43,%r44}, %rd1;",
    "mov.u32 %r1,%r2;\nmov.u32 %r1 , %r2 ;\nmov.u32\n%r1,\n%r2;",
    "mov.u32 %r1, 1; mov.u32 %r2, 2; /* two\nmov.u32 %r9, 3;\n*/ mov.u32 %r3, %r9;",
    "mov.u32 %r1, 18446744073709551615;\nadd.s64 %rd1, %rd2, -9223372036854775808;",
    "mov.u32 %r1, 010;\nmov.u32 %r2, -0;\nmov.u32 %r3, 4U;\nmov.f32 %f1, 1.5;",
    "T:\n.branchtargets $A, $B;\nbrx.idx %r1, T;\n$A:\n$B:",
    "{\nbra $X;\n}\n$X:\n{\n$X:\nbra $X;\n}",
    "{\n{\nbra $X;\n}\nbra $X;\n}\n$X:",
    '.pragma "nounroll";\nbra $E;\n$E: mov.u32 %r1, 2;',
    "mov.u32 %r1,  %r2;\nmov.u32  %r1, %r2 ;\nmov.u32 %r1, %r2;\t\nbra\t$L9;\n$L9:",
    "@%p1 bra $M;\n@%p1\tbra $M;\n@%p1 mov.b64 {%r1, %r2}, %rd1;\nmov.b64 {%r1,  %r2}, %rd1;\n$M:",
    "\tmov.u32 %r1, 2;\r\n  \t\r\n\tmov.u32 %r2, 3;\r",
]


def inside(lines):
    """A kernel of these lines."""
    head = '.version 8.7\n.target sm_90a\n.address_size 64\n.file 1 "a.cu"\n'
    head += ".global .align 8 .b8 table[64];\n.entry k(.param .u64 p)\n{\n"
    kinds = {"p": "pred", "r": "b32", "f": "f32", "rd": "b64", "fd": "f64"}
    head += "".join(f".reg .{kind} %{name}<99>;\n" for name, kind in kinds.items())
    return f"{head}{lines}\nret;\n}}\n"


@pytest.mark.parametrize("lines", LINES)
def test_both_ways_read_the_same_lines(lines, monkeypatch):
    quick = parse(inside(lines))
    by_tokens(monkeypatch)
    slow = parse(inside(lines))
    assert quick == slow
    assert quick.comments == slow.comments
    assert repr(quick.kernels) == repr(slow.kernels)


def test_usual_lines_need_no_tokens(monkeypatch):
    over_tokens = []
    statement = BodyParser._statement

    def counted(self):
        over_tokens.append(self.cursor.peek().text)
        return statement(self)

    monkeypatch.setattr(BodyParser, "_statement", counted)
    parse(inside(USUAL))
    parse(generated(5000))
    assert over_tokens == ["}", "}"]


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
        "bra $L5;\nbra $L55;\n@%p1 bra $L55;",
        "T:\n.branchtargets $L5, $nowhere;\nbrx.idx %r1, T;",
        "bra $nowhere;\n/* a */ bra $nowhere;",
        "{\nbra $nowhere;\n}\nbra $nowhere;",
        "bra, $L5;",
        "bra $L5,;",
        "add.u32 %r1, %r1, 1; // ;\nadd.u32 %r1, %r1 // 1;",
        "mov.b64 {%r1, %rd1}, %rd1;",
        "mov.u32 %r1, %clock64;",
        "mov.u32 %r1, $x;",
        "add.u32 %r1, %r1;",
        "add.u32 %r1, %r1, 1,;",
        "add.u32 %r1, %r1, 1 ret;",
        "add.u32 %r1, %r1, 1",
        "add.u32.;",
        "$L5:",
        ".reg .b32 %r<5>;",
        "add.u32 %r1,\N{NO-BREAK SPACE}%r1, 1;",
        "add.u32 %r1,\f%r1, 1;",
        "ld.global.f32 %f1, [%rd1+8;",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%rd1], 32;",
        "ld.param.u64 %rd1, [p+8];",
        "@%p9 add.u32 %r1, %r1, 1;",
        "@ add.u32 %r1, %r1, 1;",
    ],
)
def test_both_ways_refuse_the_same(line, monkeypatch):
    known = "mov.b64 %rd1, {%r1, %r1};\nmov.b64 {%r1, %r1}, %rd1;\n"
    text = generated(200).replace("ret;", f"{known}$L5:\n{line}\nret;")

    def refused():
        with pytest.raises(ParseError) as caught:
            parse(text)
        return str(caught.value)

    quick = refused()
    by_tokens(monkeypatch)
    assert refused() == quick


def test_large_files():
    """In a process of its own: what a test suite keeps makes every collection of garbage slower."""
    command = [sys.executable, __file__]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    times = json.loads(done.stdout)
    assert min(times) < TIMES_WHAT_IT_MAKES, f"a parse takes {times} times as long as its objects"


def measured():
    """How many times what it makes a parse takes, of each round: short ones, for one speed."""
    text = generated(SIZE)
    parse(generated(1000))
    return [spent(lambda: parse(text)) / spent(make) for _ in range(4)]


def make():
    """What a parse makes, without a parse."""
    return [
        (Register(i, b32), SourceLocation("", i), Instruction(None, (), (), None))
        for i in range(SIZE)
    ]


def spent(function):
    """Seconds of processor time."""
    start = time.process_time()
    function()
    return time.process_time() - start


if __name__ == "__main__":
    print(json.dumps(measured()))
