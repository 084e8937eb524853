"""The text around instructions: header, declarations, names, `.loc`."""

import pytest

from pyptx._ir import Directive, Instruction, Kernel, Module, Place
from pyptx._isa.opcode_path import walk
from pyptx._isa.table import opcodes
from pyptx._operands import Address, Immediate, Label, Parameter, Register, Symbol, Variable
from pyptx._source import SourceLocation
from pyptx._target import PtxVersion, Target
from pyptx._text import identifier, write
from pyptx.types import b16, f16, f32, f64, u32, u64

X, U = Register(0, u64), Register(1, u32)
TABLE = Variable(0, "const", 4, 4, "table", bytes((1, 2, 3, 4)))
COUNTER = Variable(1, "global", 8, 8)
STACK = Variable(2, "local", 16, 16)


def instruction(spelling: str, *operands, line: int = 0) -> Instruction:
    opcode, *modifiers = spelling.split(".")
    form, _ = walk(opcodes(), opcode, modifiers).forms[0]
    location = SourceLocation(f'dir/a "b"{line % 2}.py', line)
    return Instruction(form, tuple(modifiers), operands, None, location)


def module(*body, variables=(), registers=(X, U), parameters=(), directives=()) -> Module:
    kernel = Kernel("k", parameters, variables, directives, registers, body)
    return Module(PtxVersion(8, 7), Target(100, "f"), (kernel,))


def test_everything_that_surrounds_instructions():
    parameters = (Parameter(0, u64, "X", tensor=True), Parameter(1, f16, "two words"))
    directives = (Directive("maxntid", (256, 1, 1)), Directive("explicitcluster"))
    label = Label(7)
    body = (
        instruction("ld.param.u64", X, Address(parameters[0])),
        Place(label),
        instruction("ld.const.u32", U, Address(TABLE)),
        instruction("ld.global.u32", U, Address(COUNTER, 4)),
        instruction("st.local.u32", Address(STACK, 12), U),
        instruction("mov.u64", X, Symbol(COUNTER, 4)),
        instruction("bra", label),
    )
    text = write(
        module(
            *body, variables=(TABLE, COUNTER, STACK), parameters=parameters, directives=directives
        )
    ).ptx
    assert (
        text
        == """\
.version 8.7
.target sm_100f
.address_size 64

.const .align 4 .b8 table[4] = {1, 2, 3, 4};

.global .align 8 .b8 global_1[8];

.visible .entry k(
    .param .u64 X,
    .param .b16 k_param_1
)
.maxntid 256, 1, 1
.explicitcluster
{
    .reg .u32 %u<1>;
    .reg .u64 %ud<1>;
    .local .align 16 .b8 local_2[16];
    ld.param.u64 %ud0, [X];
$L0:
    ld.const.u32 %u0, [table];
    ld.global.u32 %u0, [global_1+4];
    st.local.u32 [local_2+12], %u0;
    mov.u64 %ud0, global_1+4;
    bra $L0;
}
"""
    )


def test_lines_are_a_table_beside_the_text_or_loc_in_it():
    body = (
        instruction("mov.u32", U, Immediate(1, u32), line=3),
        instruction("mov.u32", U, Immediate(2, u32), line=3),
        instruction("ret", line=4),
    )
    plain, located = write(module(*body)), write(module(*body), lines=True)
    assert ".loc" not in plain.ptx
    assert "dir" not in plain.ptx
    lines = plain.ptx.splitlines()
    assert {lines[n - 1].strip(): str(where) for n, where in plain.lines.items()} == {
        "mov.u32 %u0, 1;": 'dir/a "b"1.py:3',
        "mov.u32 %u0, 2;": 'dir/a "b"1.py:3',
        "ret;": 'dir/a "b"0.py:4',
    }
    assert [
        line.strip() for line in located.ptx.splitlines() if "loc" in line or "file" in line
    ] == [
        '.file 1 "dir/a \\"b\\"1.py"',
        '.file 2 "dir/a \\"b\\"0.py"',
        ".loc 1 3 0",
        ".loc 2 4 0",
    ]
    assert {str(w) for w in located.lines.values()} == {str(w) for w in plain.lines.values()}


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("tile", "tile"),
        ("_x1$", "_x1$"),
        ("class", "class"),
        ("_", "fallback"),
        ("", "fallback"),
        ("1x", "fallback"),
        ("two words", "fallback"),
        ("größe", "fallback"),
        ("%u0", "fallback"),
        ("$L0", "fallback"),
        ("WARP_SZ", "fallback"),
        ("dynamic_shared", "fallback"),
    ],
)
def test_identifiers(name, written):
    assert identifier(name, "fallback") == written


@pytest.mark.parametrize(
    ("immediate", "written"),
    [
        (Immediate(-1, u32), "-1"),
        (Immediate(0x7F800000, f32), "0f7F800000"),
        (Immediate(1, f64), "0d0000000000000001"),
        (Immediate(0x3C00, f16), "0x3C00"),
        (Immediate(0x3C00, b16), "15360"),
    ],
)
def test_constants(immediate, written):
    body = (instruction("mov.u32", U, immediate),)
    assert f"    mov.u32 %u0, {written};" in write(module(*body)).ptx.splitlines()


def test_one_text_whatever_was_written_before():
    body = (instruction("mov.u32", U, Immediate(1, u32)), instruction("ret"))
    first = write(module(*body)).ptx
    write(module(Place(Label(3)), *body, variables=(TABLE,)))
    assert write(module(*body)).ptx == first


def test_two_registers_with_one_number_are_no_kernel():
    with pytest.raises(AssertionError, match=r"^1 counts two registers$"):
        write(module(registers=(X, U, Register(1, f32))))
