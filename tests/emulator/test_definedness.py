"""Bytes of registers that have no value go through moves, and what computes with them is found."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import Out, Tile, from_ptx
from pyptx.types import u8, u32

HEAD = """\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
    .shared .align 8 .b8 tile[512];
    .reg .pred %p<3>;
    .reg .b16 %h<6>;
    .reg .b32 %r<12>;
    .reg .b64 %d<5>;
    ld.param.u64 %d0, [out];
    cvta.to.global.u64 %d0, %d0;
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d3, %r0, 8;
    add.u64 %d0, %d0, %d3;
"""
# What moves %r9, %h1 or %p2, which nothing sets; a use of what has no value; one of what has.
CASES = {
    "a pair": (
        "mov.b64 %d1, {%r0, %r9}; mov.b64 {%r1, %r2}, %d1;",
        "add.u32 %r3, %r2, 1;",
        "add.u32 %r3, %r1, 1;",
    ),
    "the whole of a pair": (
        "mov.b64 %d1, {%r0, %r9};",
        "add.u64 %d1, %d1, 1; cvt.u32.u64 %r3, %d1;",
        "cvt.u32.u64 %r3, %d1; add.u32 %r3, %r3, 1;",
    ),
    "prmt": (
        "prmt.b32 %r1, %r0, %r9, 0x7410;",
        "shr.u32 %r3, %r1, 16;",
        "cvt.u32.u16 %r3, %r1; add.u32 %r3, %r3, 1;",
    ),
    "prmt by a register": (
        "mov.u32 %r4, 0x7410; prmt.b32 %r1, %r0, %r9, %r4; mov.b32 {%h2, %h3}, %r1;",
        "add.u16 %h4, %h3, 1; cvt.u32.u16 %r3, %h4;",
        "add.u16 %h4, %h2, 1; cvt.u32.u16 %r3, %h4;",
    ),
    "halves": (
        "cvt.u16.u32 %h2, %r0; mov.b32 %r2, {%h2, %h1}; mov.b32 {%h3, %h4}, %r2;",
        "add.u16 %h5, %h4, 1; cvt.u32.u16 %r3, %h5;",
        "add.u16 %h5, %h3, 1; cvt.u32.u16 %r3, %h5;",
    ),
    "extension": (
        "cvt.s64.s32 %d1, %r9; cvt.u64.u32 %d2, %r9;",
        "mov.b64 {%r1, %r2}, %d1; add.u32 %r3, %r2, 1;",
        "mov.b64 {%r1, %r2}, %d2; add.u32 %r3, %r2, 1;",
    ),
    "some lanes": (
        "setp.lt.u32 %p0, %r0, 4; mov.u32 %r3, 0; @%p0 mov.u32 %r9, 3; mov.b32 %r2, %r9;",
        "add.u32 %r3, %r2, 1;",
        "@%p0 add.u32 %r3, %r2, 1;",
    ),
    "a predicate": (
        "mov.pred %p0, %p2; mov.u32 %r3, 0;",
        "@%p0 mov.u32 %r3, 1;",
        "mov.pred %p0, 1; @%p0 mov.u32 %r3, 1;",
    ),
}


def findings(text, dtype=u32, columns=2):
    kernel = from_ptx(
        HEAD + text + "\n    ret;\n}\n",
        in_specs=(),
        out_specs=(Tile(32, columns, dtype),),
        params=(Out(0),),
        grid=1,
        block=32,
    )
    done = kernel.emulate(sanitize=True)
    return done.report.findings, done.outputs


@pytest.mark.parametrize("case", CASES)
def test_a_use_of_what_has_no_value(case):
    moves, bug, clean = CASES[case]
    end = " mov.b64 %d4, {%r3, %r3}; st.global.b64 [%d0], %d4;"
    (found,), _ = findings(f"{moves}\n{bug}\n{end}")
    kind = "unassigned-predicate" if case == "a predicate" else "uninitialised-register"
    assert found.kind == kind
    assert found.site.location.text == bug
    assert findings(f"{moves}\n{clean}\n{end}")[0] == ()


def test_a_register_is_stored_that_has_a_value_in_part():
    found, (out,) = findings("mov.b64 %d1, {%r0, %r9}; st.global.b64 [%d0], %d1;")
    assert found == ()
    np.testing.assert_array_equal(out[:, 0], np.arange(32))


def test_a_register_is_stored_that_has_none():
    text = "mov.b64 %d1, {%r0, %r9}; mov.b64 {%r1, %r2}, %d1;\nst.global.v2.b32 [%d0], {%r1, %r2};"
    (found,), _ = findings(text)
    assert found.kind == "uninitialised-register"
    assert found.site.location.text == "st.global.v2.b32 [%d0], {%r1, %r2};"
    assert findings(text.replace("[%d0], {%r1, %r2};", "[%d0], {%r1, %r1};"))[0] == ()


PADDED = """
    shl.b32 %r1, %r0, 3;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r1;
    st.shared.u8 [%r2], %r0;
    STORE
    .pragma "used_bytes_mask MASK";
    ld.shared.v2.b32 {%r4, %r5}, [%r2];
    st.global.v2.b32 [%d0], {%r4, %r5};
"""


@pytest.mark.parametrize("mask", ["241", "0xf1"])
def test_padding_that_a_load_brings_along(mask):
    """The compiler says which bytes of the load it uses: a char, and an int after three bytes."""
    whole = PADDED.replace("STORE", "st.shared.u32 [%r2+4], %r0;").replace("MASK", mask)
    assert findings(whole, u8, 8)[0] == ()
    (found,), _ = findings(PADDED.replace("STORE", "").replace("MASK", mask), u8, 8)
    assert found.kind == "uninitialised-memory"
    assert found.site.location.text == "ld.shared.v2.b32 {%r4, %r5}, [%r2];"
    (found,), _ = findings(whole.replace(mask, "255"), u8, 8)
    assert found.kind == "uninitialised-memory"


def test_a_mask_that_is_no_number_is_none():
    text = PADDED.replace("STORE", "st.shared.u32 [%r2+4], %r0;").replace("MASK", "few")
    assert [f.kind for f in findings(text, u8, 8)[0]] == ["uninitialised-memory"]


# A structure of a char, an int and a short is copied with its padding, which nothing sets.
COPIED = """\
.version 8.7
.target sm_90a
.address_size 64
.func (.param .align 4 .b8 back[12]) same (.param .align 4 .b8 given[12])
{
    .reg .b16 %h<3>;
    .reg .b32 %r<2>;
    .local .align 4 .b8 kept[12];
    ld.param.b8 %h0, [given];
    ld.param.b32 %r0, [given+4];
    ld.param.v2.b8 {%h1, %h2}, [given+10];
    st.local.b8 [kept], %h0;
    st.local.b32 [kept+4], %r0;
    st.local.v2.b8 [kept+10], {%h1, %h2};
    ld.local.b8 %h0, [kept];
    ld.local.b32 %r0, [kept+4];
    ld.local.v2.b8 {%h1, %h2}, [kept+10];
    st.param.b8 [back], %h0;
    st.param.b32 [back+4], %r0;
    st.param.v2.b8 [back+10], {%h1, %h2};
    ret;
}
.visible .entry k(.param .u64 out)
{
    .reg .b16 %h<4>;
    .reg .b32 %r<4>;
    .reg .b64 %d<3>;
    .local .align 4 .b8 mine[12];
    ld.param.u64 %d0, [out];
    cvta.to.global.u64 %d0, %d0;
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d0, %d0, %d1;
    {
        .param .align 4 .b8 passed[12];
        .param .align 4 .b8 got[12];
        st.param.b8 [passed], 3;
        SET
        call.uni (got), same, (passed);
        ld.param.b8 %h0, [got];
        ld.param.b32 %r1, [got+4];
        ld.param.v2.b8 {%h1, %h2}, [got+10];
    }
    mov.u64 %d2, mine;
    cvta.local.u64 %d2, %d2;
    st.u8 [%d2+10], %h1;
    ld.s8 %h3, [%d2+10];
USE
    st.global.b32 [%d0], %r1;
    ret;
}
"""


def copied(use="", sets="st.param.b32 [passed+4], %r0;"):
    kernel = from_ptx(
        COPIED.replace("SET", sets).replace("USE", use),
        in_specs=(),
        out_specs=(Tile(32, u32),),
        params=(Out(0),),
        grid=1,
        block=32,
    )
    done = kernel.emulate(sanitize=True)
    return done.report.findings, done.outputs[0]


def test_a_structure_is_copied_with_its_padding():
    found, out = copied()
    assert found == ()
    np.testing.assert_array_equal(out, np.arange(32))


@pytest.mark.parametrize(
    ("use", "load"),
    [
        ("cvt.u32.u16 %r2, %h1;\nadd.u32 %r1, %r1, %r2;", "ld.param.v2.b8 {%h1, %h2}, [got+10];"),
        ("cvt.u32.u16 %r2, %h3;\nadd.u32 %r1, %r1, %r2;", "ld.s8 %h3, [%d2+10];"),
        ("prmt.b32 %r2, %r0, %r0, 0x3210;\nshr.u16 %h2, %h3, 8;", "ld.s8 %h3, [%d2+10];"),
    ],
    ids=["as it comes back", "from local memory", "what extends the sign"],
)
def test_padding_is_used(use, load):
    found, _ = copied(use)
    assert [(f.kind, f.site.location.text) for f in found] == [("uninitialised-memory", load)]
    assert found[0].count == 32


def test_a_field_that_nothing_sets_is_stored():
    (found,), _ = copied(sets="")
    assert found.kind == "uninitialised-memory"
    assert found.site.location.text == "ld.param.b32 %r1, [got+4];"


def test_half_of_the_smallest_access_is_stored():
    """Local memory is checked in pieces of the kernel's smallest access, here of 8 bytes."""
    text = """\
    .local .align 8 .b8 kept[8];
    st.local.v2.b32 [kept], {%r0, %r9};
    ld.local.v2.b32 {%r1, %r2}, [kept];
    add.u32 %r1, %r1, 1;
    mov.b64 %d1, {%r1, %r1};
    st.global.b64 [%d0], %d1;"""
    found, (out,) = findings(text)
    assert found == ()
    np.testing.assert_array_equal(out[:, 0], np.arange(32) + 1)
    (found,), _ = findings(text.replace("st.local.v2.b32 [kept], {%r0, %r9};\n", ""))
    assert found.kind == "uninitialised-memory"
