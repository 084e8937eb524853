"""`ptx.raw`: PTX text among the language."""

import pytest

from pyptx._text import ParseError
from pyptx._trace import ptx, reg
from pyptx._trace.memory import smem
from pyptx.errors import PtxError
from pyptx.types import f32, pred, u32, u64


def test_statements_with_registers_labels_and_scopes(traced):
    def body():
        x, p = reg.from_(0, u32), reg.scalar(pred)
        tile = smem.alloc(f32, 8, name="tile")
        ptx.raw(
            """
            {                                   // a scope
                .reg .b32 t<2>, u;
                .reg .f32 value;
                mov.u32 t0, %tid.x;
                add.u32 t1, t0, 0x10;
            again:
                add.u32 x, x, t1;
                setp.lt.u32 p, x, 100U;
                @p bra again;                   /* round
                                                   again */
                mov.f32 value, 0f3F800000;
                st.shared.f32 [tile+4], value;
                ld.shared.v2.f32 {value, value}, [tile+8];
                @!p mov.b32 u, -1;
            }
            { .reg .b32 t0; mov.b32 t0, x; }
            """,
            x=x,
            p=p,
            tile=tile,
        )
        x += 1

    found = traced(body)
    assert found.body[:-1] == [
        "mov.u32 %u0, 0;",
        "mov.u32 %r0, %tid.x;",
        "add.u32 %r1, %r0, 16;",
        "$L0:",
        "add.u32 %u0, %u0, %r1;",
        "setp.lt.u32 %p0, %u0, 100;",
        "@%p0 bra $L0;",
        "mov.f32 %f0, 0f3F800000;",
        "st.shared.f32 [tile+4], %f0;",
        "ld.shared.v2.f32 {%f0, %f0}, [tile+8];",
        "@!%p0 mov.b32 %r2, -1;",
        "mov.b32 %r3, %u0;",
        "add.u32 %u0, %u0, 1;",
    ]
    found.assemble()


def test_operands_of_every_kind(traced):
    def body():
        p = reg.from_(4096, u64)
        ptx.raw(
            """
            .reg .b32 a, b; .reg .pred q<2>; .reg .f32 f; .reg .f64 d; .reg .b64 w;
            ld.global.u32 a, [p+-4];
            ld.global.u32 a, [p-4];
            ld.global.u32 a, [p+0x10];
            st.global.v2.f32 [p], {0f3F800000, f};
            st.global.v2.f32 [p], {1.5, f};
            setp.eq.u32 q0|q1, a, 3;
            setp.eq.and.u32 q0, a, 3, !q1;
            shfl.sync.bfly.b32 b|q0, a, 1, 0x1f, -1;
            add.f32 f, 0f3F800000, 2.5;
            add.f64 d, 0d3FF0000000000000, 1e3;
            mov.b64 w, {a, b};
            mov.b64 {_, b}, w;
            mov.u64 w, %clock64;
            mov.u32 a, %ctaid.x;
            and.b32 a, a, 017;
            and.b32 a, a, 0b101;
            atom.global.add.u32 _, [p], 1;
            bar.sync 0;
            """,
            p=p,
        )

    found = traced(body)
    assert found.instructions[1:] == [
        "ld.global.u32 %r0, [%ud0+-4]",
        "ld.global.u32 %r0, [%ud0+-4]",
        "ld.global.u32 %r0, [%ud0+16]",
        "st.global.v2.f32 [%ud0], {0f3F800000, %f0}",
        "st.global.v2.f32 [%ud0], {0f3FC00000, %f0}",
        "setp.eq.u32 %p0|%p1, %r0, 3",
        "setp.eq.and.u32 %p0, %r0, 3, !%p1",
        "shfl.sync.bfly.b32 %r1|%p0, %r0, 1, 31, -1",
        "add.f32 %f0, 0f3F800000, 0f40200000",
        "add.f64 %fd0, 0d3FF0000000000000, 0d408F400000000000",
        "mov.b64 %rd0, {%r0, %r1}",
        "mov.b64 {_, %r1}, %rd0",
        "mov.u64 %rd0, %clock64",
        "mov.u32 %r0, %ctaid.x",
        "and.b32 %r0, %r0, 15",
        "and.b32 %r0, %r0, 5",
        "atom.global.add.u32 _, [%ud0], 1",
        "bar.sync 0",
    ]
    found.assemble()


def test_two_texts_do_not_share_names(traced):
    def body():
        for _ in range(2):
            ptx.raw(".reg .b32 t; mov.b32 t, 1; L: bra L2; L2:")

    found = traced(body)
    assert found.body[:-1] == [
        "mov.b32 %r0, 1;",
        "bra $L0;",
        "$L0:",
        "mov.b32 %r1, 1;",
        "bra $L1;",
        "$L1:",
    ]
    found.assemble()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("add.u32 x, x, 1", "line 1, column 16: 'the end' is out of place\n  expected: ;"),
        ("add.u32 x, x,\n  #;", "line 2, column 3: '#' cannot stand in PTX"),
        ("{ add.u32 x, x, 1;", "line 1, column 19: a { is not closed\n  expected: }"),
        ("add.u32 x, x, 1; }", "line 1, column 18: a } closes nothing"),
        (
            "bra out;",
            "line 1, column 5: the label out is nowhere\n  expected: out: before a statement",
        ),
        ("a: a: ret;", "line 1, column 4: the label a stands twice"),
        (".reg .b32 t; .reg .b32 t;", "line 1, column 24: t is declared already"),
        (".reg .b33 t;", "line 1, column 6: '.b33' is no type\n  expected: a type such as .b32"),
        (
            "mov.u32 x, %tid.q;",
            (
                "line 1, column 12: %tid.q is not declared and no special register\n"
                "  expected: .reg .b32 name; in the text, or a keyword of ptx.raw"
            ),
        ),
        (
            "@z add.u32 x, x, 1;",
            (
                "line 1, column 2: z is not a register\n"
                "  expected: .reg .b32 name; in the text, or a keyword of ptx.raw"
            ),
        ),
        (
            "add.u32 x, x,\n y;",
            (
                "line 2, column 2: y is not declared\n"
                "  expected: .reg .b32 name; in the text, or a keyword of ptx.raw"
            ),
        ),
        (
            "st.shared.v2.u32 [x], {x, y};",
            (
                "line 1, column 27: y is not declared\n"
                "  expected: .reg .b32 name; in the text, or a keyword of ptx.raw"
            ),
        ),
        (
            ".shared .b32 s;",
            (
                "line 1, column 1: .shared cannot stand here\n"
                "  expected: an instruction, a label or .reg"
            ),
        ),
        ("add.u32 x, [x;", "line 1, column 14: ';' is out of place\n  expected: ]"),
        (".reg .b32 t<x>;", "line 1, column 13: 'x' is out of place\n  expected: an integer"),
        ("add.u32 x, x, 08;", "line 1, column 15: '08' is no octal number"),
        ("/* never ends", "line 1, column 1: the comment is not closed\n  expected: */"),
    ],
)
def test_text_that_is_no_ptx(traced, text, problem):
    def body():
        x = reg.from_(0, u32)
        ptx.raw(text, x=x)

    with pytest.raises(PtxError) as error:
        traced(body)
    assert isinstance(error.value, ParseError)
    message = str(error.value)
    head, _, rest = message.partition("\n")
    assert head.partition(": ")[2] == problem.partition("\n")[0]
    assert rest.partition("\n")[2] == problem.partition("\n")[2]
