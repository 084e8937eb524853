"""Files that are no PTX: the whole message, with line, column, the line and what was expected."""

import textwrap

import pytest

from pyptx._text import ParseError, parse
from pyptx.errors import PtxError

HEADER = ".version 7.8\n.target sm_80\n.address_size 64\n"
KERNEL = """\
.visible .entry k(.param .u64 p)
{{
    .reg .b32 %r<9>;
    .reg .f32 %f<9>;
    .reg .b64 %rd<9>;
    .reg .pred %p<9>;
    {}
    ret;
}}
"""
DECLARED = "  expected: .reg .b32 name; before it"


def message(text):
    with pytest.raises(PtxError) as caught:
        parse(text, "a.ptx")
    assert type(caught.value) is ParseError
    assert caught.value.location.file == "a.ptx"
    return str(caught.value)


BODIES = [
    (
        "ret.unl;",
        """
        a.ptx:10:5: ret has no modifier .unl here
            ret.unl;
            ^
          legal here: .uni or the operands
          nearest: .uni
        """,
    ),
    (
        "createpolicies.b64 %rd1;",
        """
        a.ptx:10:5: PTX has no instruction 'createpolicies'
            createpolicies.b64 %rd1;
            ^
          nearest: createpolicy
        """,
    ),
    (
        "add.u32 %r1, %f2, 1;",
        """
        a.ptx:10:5: add.u32: a must be a .u32 register, not a .f32 one
            add.u32 %r1, %f2, 1;
            ^
          form: add.u32  d, a, b
        """,
    ),
    (
        "add.u32 %r1, %r2;",
        """
        a.ptx:10:5: add.u32: takes 3 operands, not 2
            add.u32 %r1, %r2;
            ^
          form: add.u32  d, a, b
        """,
    ),
    (
        "add.u32 %r1, %r2, %r9;",
        f"""
        a.ptx:10:23: %r9 is not declared and no special register
            add.u32 %r1, %r2, %r9;
                              ^
        {DECLARED}
        """,
    ),
    (
        "add.u32 %r1, %r2, other;",
        f"""
        a.ptx:10:23: other is not declared
            add.u32 %r1, %r2, other;
                              ^
        {DECLARED}
        """,
    ),
    (
        "@%r1 bra end;",
        """
        a.ptx:10:6: the guard is a .b32 register, not a predicate
            @%r1 bra end;
             ^
        """,
    ),
    (
        "bra end;",
        """
        a.ptx:10:9: the label end is nowhere
            bra end;
                ^
          expected: end: before a statement
        """,
    ),
    (
        "{ inner: } bra inner;",
        """
        a.ptx:10:20: the label inner is nowhere
            { inner: } bra inner;
                           ^
          expected: inner: before a statement
        """,
    ),
    (
        "l: l: ret;",
        """
        a.ptx:10:8: the label l stands twice
            l: l: ret;
               ^
        """,
    ),
    (
        "ld.global.u32 %r1, %rd1;",
        """
        a.ptx:10:24: '%rd1' is out of place
            ld.global.u32 %r1, %rd1;
                               ^
          expected: an address in brackets
        """,
    ),
    (
        "ld.global.u32 %r1, [%rd1+4;",
        """
        a.ptx:10:31: ';' is out of place
            ld.global.u32 %r1, [%rd1+4;
                                      ^
          expected: ]
        """,
    ),
    (
        "ld.param.u64 %rd1, [p+4];",
        """
        a.ptx:10:5: ld.param.u64: a is 8 bytes at offset 4 of p, which has 8 bytes
            ld.param.u64 %rd1, [p+4];
            ^
          form: ld.param.u64  d, [a]
        """,
    ),
    (
        "mov.u32 %r1, %cluster_ctarank;",
        """
        a.ptx:10:18: sm_80 does not have %cluster_ctarank
            mov.u32 %r1, %cluster_ctarank;
                         ^
          targets that do: sm_90 and later
        """,
    ),
    (
        "barrier.cluster.arrive;",
        """
        a.ptx:10:5: sm_80 does not have barrier.cluster.arrive
            barrier.cluster.arrive;
            ^
          targets that do: sm_90 and later
        """,
    ),
    (
        ".reg .b32 %r;  .reg .b32 %r;",
        """
        a.ptx:10:30: %r is declared already
            .reg .b32 %r;  .reg .b32 %r;
                                     ^
        """,
    ),
    (
        ".reg .b31 x;",
        """
        a.ptx:10:10: '.b31' is no type
            .reg .b31 x;
                 ^
          expected: a type such as .b32
        """,
    ),
    (
        ".shared .align 3 .b8 x[4];",
        """
        a.ptx:10:20: an alignment of 3 bytes
            .shared .align 3 .b8 x[4];
                           ^
          expected: a power of two
        """,
    ),
    (
        ".local .b8 x[];",
        """
        a.ptx:10:16: x has no size
            .local .b8 x[];
                       ^
          expected: [n], an initial value or .extern
        """,
    ),
    (
        ".shared .u32 x = 1;",
        """
        a.ptx:10:20: x cannot have an initial value
            .shared .u32 x = 1;
                           ^
        """,
    ),
    (
        "call f, (%r1);",
        f"""
        a.ptx:10:10: f is not declared
            call f, (%r1);
                 ^
        {DECLARED}
        """,
    ),
    (
        ".entry inner()",
        """
        a.ptx:10:5: .entry cannot stand here
            .entry inner()
            ^
          expected: an instruction, a label or a declaration
        """,
    ),
    (
        "/* never ends",
        """
        a.ptx:10:5: the comment is not closed
            /* never ends
            ^
          expected: */
        """,
    ),
    (
        '.pragma "nounroll;',
        """
        a.ptx:10:13: the string is not closed
            .pragma "nounroll;
                    ^
          expected: "
        """,
    ),
]


@pytest.mark.parametrize(("line", "said"), BODIES, ids=lambda text: text.strip()[:30])
def test_a_body(line, said):
    assert message(HEADER + KERNEL.format(line)) == textwrap.dedent(said).strip("\n")


FILES = [
    (
        "",
        """
        a.ptx:1:1: 'the end' is out of place
          expected: .version, with which a file begins
        """,
    ),
    (
        ".version 7\n",
        """
        a.ptx:1:10: '7' is out of place
            .version 7
                     ^
          expected: a version such as 8.7
        """,
    ),
    (
        ".version 7.0\n.target sm_90\n",
        """
        a.ptx:2:9: PTX 7.0 does not know sm_90
            .target sm_90
                    ^
          first in: PTX 7.8
        """,
    ),
    (
        ".version 9.9\n.target sm_80\n.address_size 32\n",
        """
        a.ptx:3:15: addresses of 32 bits
            .address_size 32
                          ^
          expected: 64
        """,
    ),
    (
        f"{HEADER}add.u32 %r1, %r2, 1;\n",
        """
        a.ptx:4:1: 'add' is out of place
            add.u32 %r1, %r2, 1;
            ^
          expected: a directive such as .visible .entry .func .global .file
        """,
    ),
    (
        f"{HEADER}.visible .reg .b32 x;\n",
        """
        a.ptx:4:10: '.reg' is out of place
            .visible .reg .b32 x;
                     ^
          expected: .entry .func .global .const .shared
        """,
    ),
    (
        f"{HEADER}.entry k()\n.maxntid 2048\n{{ ret; }}\n",
        """
        a.ptx:5:1: .maxntid 2048 is out of range
            .maxntid 2048
            ^
          legal: 1 to 1024
        """,
    ),
    (
        f"{HEADER}.entry k() .maxntid 32 .reqntid 32 {{ ret; }}\n",
        """
        a.ptx:4:12: .maxntid and .reqntid cannot stand together
            .entry k() .maxntid 32 .reqntid 32 { ret; }
                       ^
        """,
    ),
    (
        f"{HEADER}.func f() .maxntid 2 {{ ret; }}\n",
        """
        a.ptx:4:11: a function has no directive .maxntid
            .func f() .maxntid 2 { ret; }
                      ^
          expected: .noreturn .abi_preserve .abi_preserve_control
        """,
    ),
    (
        f"{HEADER}.global .u32 x[2] = {{1, 2, 3}};\n",
        """
        a.ptx:4:14: x has 2 elements and 3 initial values
            .global .u32 x[2] = {1, 2, 3};
                         ^
        """,
    ),
    (
        f"{HEADER}.global .u64 x = y;\n",
        """
        a.ptx:4:18: y is not declared
            .global .u64 x = y;
                             ^
          expected: a variable or function of the module, above
        """,
    ),
    (
        f"{HEADER}.global .u32 x = 1.5;\n",
        """
        a.ptx:4:14: an initial value of x is not a constant of type .u32
            .global .u32 x = 1.5;
                         ^
        """,
    ),
    (
        f"{HEADER}.global .u32 x; .global .u32 x;\n",
        """
        a.ptx:4:30: x is declared already
            .global .u32 x; .global .u32 x;
                                         ^
        """,
    ),
    (
        f"{HEADER}.entry k(.param .u64 a, .reg .u64 b) {{ ret; }}\n",
        """
        a.ptx:4:25: '.reg' is out of place
            .entry k(.param .u64 a, .reg .u64 b) { ret; }
                                    ^
          expected: .param
        """,
    ),
    (
        f"{HEADER}.entry k() {{ ret;\n",
        """
        a.ptx:5:1: the body of k is not closed
          expected: }
        """,
    ),
    (
        f"{HEADER}.section .debug_str {{ .b8 1\n",
        """
        a.ptx:5:1: the section .debug_str is not closed
          expected: }
        """,
    ),
]


@pytest.mark.parametrize(("text", "said"), FILES, ids=lambda text: text.strip()[-30:])
def test_a_file(text, said):
    assert message(text) == textwrap.dedent(said).strip("\n")


def test_modifiers_in_any_order():
    """As compilers write them and assemblers take them; the module has the manual's order."""
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n"
    head += ".reg .b32 %r<3>; .reg .f32 %f<3>; .reg .b64 %rd<2>;\n"
    body = "add.f32.rn %f1, %f1, %f2;\natom.global.gpu.acq_rel.add.u32 %r1, [%rd1], %r2;\n"
    body += "cvt.f32.rn.s32 %f1, %r1;\ncvt.s32.f32.rzi %r1, %f1;\n"
    module = parse(f"{head}{body}}}\n")
    spelled = [statement.spelling for statement in module.kernels[0].body]
    assert spelled == [
        "add.rn.f32", "atom.acq_rel.gpu.global.add.u32", "cvt.rn.f32.s32", "cvt.rzi.s32.f32",
    ]  # fmt: skip
