"""Constant expressions: what the assembler puts into memory for them is what the parser says."""

import random
import struct
import subprocess

import pytest

from pyptx._assemble import ptxas
from pyptx._text import ParseError, parse

COUNT = 2000
HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
BINARY = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "<", ">=", "==", "!=")


def values(expressions):
    """The words that the parser puts into an array for expressions."""
    text = f"{HEADER}.global .u64 x[{len(expressions)}] = {{{', '.join(expressions)}}};\n"
    (variable,) = parse(text).variables
    data = variable.initial.ljust(8 * len(expressions), b"\0")
    return list(struct.unpack(f"<{len(expressions)}Q", data))


def assembled(expressions, folder):
    """The words that the assembler puts there."""
    listed = ", ".join(expressions)
    text = f"{HEADER}.visible .global .u64 x[{len(expressions)}] = {{{listed}}};\n"
    (folder / "x.ptx").write_text(text + ".visible .entry k() { ret; }\n")
    command = [ptxas.find(ptxas.PTXAS), "-arch=sm_80", "x.ptx", "-o", "x.cubin"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    data = section((folder / "x.cubin").read_bytes(), b".nv.global.init")
    return list(struct.unpack(f"<{len(expressions)}Q", data[: 8 * len(expressions)]))


def section(elf, wanted):
    start, size, count, names = struct.unpack_from("<40xQ10xHHH", elf)
    headers = [struct.unpack_from("<IIQQQQ", elf, start + i * size) for i in range(count)]
    strings = headers[names][4]
    for name, _, _, _, offset, length in headers:
        begin = strings + name
        if elf[begin : elf.index(b"\0", begin)] == wanted:
            return elf[offset : offset + length]
    raise AssertionError(wanted)


def expression(generator, depth=0):
    """A random expression of integers; shifts are by less than 64 and divisors are not zero."""
    kind = generator.random()
    if depth > 3 or kind < 0.3:
        value = generator.choice((0, 1, 2, 7, 63, 255, 2**31, 2**32 - 1, 2**63 - 1, 2**63))
        spelled = generator.choice(("{}", "0x{:x}", "0{:o}", "0b{:b}", "{}U"))
        return spelled.format(value)
    if kind < 0.5:
        inner = expression(generator, depth + 1)
        return f"{generator.choice('-~!+')}({inner})"
    if kind < 0.58:
        cast = generator.choice((".s64", ".u64"))
        return f"({cast}) ({expression(generator, depth + 1)})"
    if kind < 0.64:
        parts = (expression(generator, depth + 1) for _ in range(3))
        return "(({}) ? ({}) : ({}))".format(*parts)
    mark = generator.choice(BINARY)
    left = expression(generator, depth + 1)
    right = expression(generator, depth + 1)
    if mark in ("<<", ">>"):
        right = str(generator.randrange(64))
    elif mark in ("/", "%"):
        right = str(generator.choice((1, 2, 3, 10, 2**33)))
    return f"({left}) {mark} ({right})"


def test_random_expressions_have_the_value_that_the_assembler_gives_them(tmp_path):
    generator = random.Random(7)
    expressions = [expression(generator) for _ in range(COUNT)]
    found, expected = values(expressions), assembled(expressions, tmp_path)
    wrong = [
        f"{text} is {e:#x}, not {f:#x}"
        for text, f, e in zip(expressions, found, expected, strict=True)
        if f != e
    ]
    assert not wrong, "\n".join(wrong[:10])


def test_precedence_is_that_of_the_assembler(tmp_path):
    expressions = [
        f"5 {a} 3 {b} 2"
        for a in BINARY
        for b in BINARY
        if (a in ("/", "%")) + (b in ("/", "%")) < 2
    ]
    assert values(expressions) == assembled(expressions, tmp_path)


@pytest.mark.parametrize(
    ("written", "problem", "expected"),
    [
        ("1 / 0", "<ptx>:4:20: division by zero", None),
        ("1 % (2 - 2)", "<ptx>:4:20: division by zero", None),
        ("08", "<ptx>:4:18: '08' is no octal number", None),
        ("0x10000000000000000", "<ptx>:4:18: the constant does not fit 64 bits", None),
        ("9" * 5000, "<ptx>:4:18: the constant does not fit 64 bits", None),
        ("1e999", "<ptx>:4:18: 1e999 is out of range for .f64", None),
        ("-0f3F800000", "<ptx>:4:18: a hexadecimal float has no sign", None),
        ("1.5 << 2", "<ptx>:4:22: << is for integers", None),
        ("~1.5", "<ptx>:4:18: ~ is for integers", None),
        ("1 +", "<ptx>:4:21: ';' is out of place", "an integer"),
        ("(1", "<ptx>:4:20: ';' is out of place", ")"),
        ("(.u32) 1", "<ptx>:4:19: '.u32' is out of place", ".s64 .u64"),
        ("(" * 100 + "1" + ")" * 100, "<ptx>:4:82: the expression is nested too deeply", None),
        ("-" * 100 + "1", "<ptx>:4:81: the expression is nested too deeply", None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_expression(written, problem, expected):
    with pytest.raises(ParseError) as caught:
        parse(f"{HEADER}.global .u64 x = {written};")
    lines = str(caught.value).splitlines()
    assert lines[0] == problem
    assert lines[3:] == ([] if expected is None else [f"  expected: {expected}"])
