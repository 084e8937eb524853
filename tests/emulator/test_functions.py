"""Device functions, variables of the module and frames, run on PTX files."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx
from pyptx import _emulator as emulator
from pyptx import _text as text
from pyptx._emulator import Report, Tensor
from pyptx.errors import EmulationError
from pyptx.types import b32, u32

from .harness import kinds, output

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"

# What a kernel does with its thread's number, `t`, in `r`.
ENTRY = """
.visible .entry kernel (.param .u64 out)
{{
    .reg .u64 p, o;
    .reg .u32 t, r, s;
    .reg .pred q;
    ld.param.u64 p, [out];
    mov.u32 t, %tid.x;
    mul.wide.u32 o, t, 4;
    add.u64 p, p, o;
{body}
    st.global.u32 [p], r;
    ret;
}}
"""


def run(
    functions: str, body: str, *, block: int = 64, **options: object
) -> tuple[np.ndarray, Report]:
    module = text.parse(HEAD + functions + ENTRY.format(body=body), "functions.ptx")
    kernel = module.kernels[0]
    image = emulator.encode(kernel, module.target, module)
    emulator.register_sources(
        image, kernel, [i.location for i in emulator.link(kernel, module).program]
    )
    out = output(block, np.uint32)
    options = {"sanitize": True, **options}
    arguments = [Tensor(out, "out", writable=True, initialised=False)]
    report = emulator.run(image, arguments, grid=(1, 1, 1), block=(block, 1, 1), **options)
    return out, report


T = np.arange(64, dtype=np.uint32)

DOUBLED = """
.func (.reg .u32 result) doubled (.reg .u32 value)
{
    add.u32 result, value, value;
    ret;
}
"""
IN_MEMORY = """
.func (.param .b32 result) plus (.param .b32 a, .param .align 8 .b8 more[16])
{
    .reg .u32 x, y;
    ld.param.u32 x, [a];
    ld.param.u32 y, [more+8];
    add.u32 x, x, y;
    st.param.b32 [result], x;
    ret;
}
.func (.param .b32 result) minus (.param .b32 a, .param .align 8 .b8 more[16])
{
    .reg .u32 x, y;
    ld.param.u32 x, [a];
    ld.param.u32 y, [more];
    sub.u32 x, x, y;
    st.param.b32 [result], x;
}
.global .u64 operations[2] = {plus, minus};
"""
PASS = """
    {{
        .param .b32 first;
        .param .align 8 .b8 second[16];
        .param .b32 back;
        st.param.b32 [first], t;
        st.param.b64 [second], 3;
        st.param.b64 [second+8], 7;
        {call}
        ld.param.b32 r, [back];
    }}
"""
FACTORIAL = """
.func (.reg .u32 r) factorial (.reg .u32 n)
{
    .reg .pred p;
    .reg .u32 m, t;
    .local .align 4 .b32 keep;
    setp.le.u32 p, n, 1;
    mov.u32 r, 1;
    @p ret;
    st.local.u32 [keep], n;
    sub.u32 m, n, 1;
    call (t), factorial, (m);
    ld.local.u32 m, [keep];
    mul.lo.u32 r, t, m;
    ret;
}
"""
PARITY = """
.func (.reg .u32 r) odd (.reg .u32 n);
.func (.reg .u32 r) even (.reg .u32 n)
{
    .reg .pred p;
    .reg .u32 m;
    setp.eq.u32 p, n, 0;
    mov.u32 r, 1;
    @p ret;
    sub.u32 m, n, 1;
    call (r), odd, (m);
    ret;
}
.func (.reg .u32 r) odd (.reg .u32 n)
{
    .reg .pred p;
    .reg .u32 m;
    setp.eq.u32 p, n, 0;
    mov.u32 r, 0;
    @p ret;
    sub.u32 m, n, 1;
    call (r), even, (m);
    ret;
}
"""
# Every depth of the recursion adds to a variable of the first caller, through its address.
POINTERS = """
.func down (.reg .u64 sum, .reg .u32 n)
{
    .reg .pred p;
    .reg .u32 x;
    .reg .u64 own;
    .local .align 8 .b32 mine[2];
    st.local.u32 [mine+4], n;
    setp.eq.u32 p, n, 0;
    @p ret;
    ld.local.u32 x, [sum];
    add.u32 x, x, n;
    st.local.u32 [sum], x;
    sub.u32 x, n, 1;
    call down, (sum, x);
    ld.local.u32 x, [mine+4];
    setp.ne.u32 p, x, n;
    @p trap;
    ret;
}
"""


def test_a_value_goes_there_and_back_in_registers():
    out, report = run(DOUBLED, "call (r), doubled, (t);")
    assert report.message == ""
    np.testing.assert_array_equal(out, 2 * T)


def test_what_is_passed_in_memory_and_a_body_without_ret():
    for call, expected in (("plus", T + 7), ("minus", T - 3)):
        body = PASS.format(call=f"call.uni (back), {call}, (first, second);")
        out, report = run(IN_MEMORY, body)
        assert report.message == ""
        np.testing.assert_array_equal(out, expected)


INDIRECT = """
    .reg .u64 f;
    and.b32 s, t, 1;
    mul.wide.u32 o, s, 8;
    mov.u64 f, operations;
    add.u64 f, f, o;
    ld.global.u64 f, [f];
"""


@pytest.mark.parametrize("seed", range(3))
def test_lanes_that_call_different_functions(seed: int):
    shape = "shape: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]);\n"
    call = PASS.format(call=shape + "call (back), f, (first, second), shape;")
    out, report = run(IN_MEMORY, INDIRECT + call, seed=seed)
    assert report.message == ""
    np.testing.assert_array_equal(out, np.where(T % 2 == 0, T + 7, T - 3))


def test_lanes_that_call_one_function_from_two_places():
    body = """
    setp.lt.u32 q, t, 11;
    @q bra low;
    call (r), doubled, (t);
    add.u32 r, r, 1;
    bra.uni done;
low:
    call (r), doubled, (t);
done:
    bar.warp.sync -1;
"""
    out, report = run(DOUBLED, body, statistics=True)
    assert report.message == ""
    np.testing.assert_array_equal(out, np.where(T < 11, 2 * T, 2 * T + 1))


def test_lanes_that_leave_a_function_early_wait_for_the_others():
    functions = """
.func (.reg .u32 r) spin (.reg .u32 n)
{
    .reg .pred p;
    mov.u32 r, 0;
again:
    setp.ge.u32 p, r, n;
    @p ret;
    add.u32 r, r, 1;
    bra again;
}
"""
    body = "call (r), spin, (t);\nadd.u32 r, r, 1;\nadd.u32 r, r, 1;\n"
    out, report = run(functions, body, block=32, statistics=True)
    assert report.message == ""
    np.testing.assert_array_equal(out, T[:32] + 2)
    kernel = [row for row in report.statistics[-4:] if row.executions]
    assert {row.executions for row in kernel} == {1}  # all lanes are together again


def test_guarded_calls_and_exits_in_functions():
    functions = ".func leave () { exit; }\n"
    body = "setp.gt.u32 q, t, 9;\n@q call leave;\nmov.u32 r, 5;\n"
    out, report = run(functions, body)
    assert report.message == ""
    np.testing.assert_array_equal(out, np.where(T > 9, 0xA5A5A5A5, 5))


def test_recursion_keeps_registers_and_memory_of_every_depth():
    out, report = run(FACTORIAL, "rem.u32 s, t, 12;\ncall (r), factorial, (s);")
    assert report.message == ""
    np.testing.assert_array_equal(out, [math.factorial(t % 12) for t in range(64)])
    out, report = run(PARITY, "call (r), even, (t);")
    assert report.message == ""
    np.testing.assert_array_equal(out, 1 - T % 2)


def test_addresses_of_variables_of_callers():
    body = """
    .local .align 4 .b32 sum;
    .reg .u64 a;
    st.local.u32 [sum], 0;
    mov.u64 a, sum;
    and.b32 s, t, 15;
    call down, (a, s);
    ld.local.u32 r, [sum];
"""
    out, report = run(POINTERS, body)
    assert report.message == ""
    np.testing.assert_array_equal(out, [sum(range(t % 16 + 1)) for t in range(64)])


def test_variables_of_the_module_have_their_initial_values():
    functions = """
.const .align 4 .u32 table[4] = {10, 20, 30, 40};
.global .align 4 .u32 counter = 7;
.global .u64 where[2] = {counter, generic(table)+8};
.const .u64 back = where;
.global .align 1 .u8 bytes[8] = {0xFF(counter), 0xFF00(counter), 0xFF0000(counter)};
.global .align 8 .b8 unused[64];
"""
    body = """
    .reg .u64 a, b;
    ld.const.u64 b, [back];
    ld.global.u64 a, [b];
    ld.global.u32 r, [a];
    ld.global.u64 a, [b+8];
    ld.u32 s, [a];
    add.u32 r, r, s;
    ld.const.u32 s, [table+4];
    add.u32 r, r, s;
    mov.u64 b, bytes;
    ld.global.u8 s, [b+1];
    mov.u64 a, counter;
    shr.u64 a, a, 8;
    cvt.u32.u64 r, a;
    and.b32 r, r, 255;
    sub.u32 r, r, s;
    ld.const.u32 s, [table+12];
    add.u32 r, r, s;
"""
    out, report = run(functions, body)
    assert report.message == ""
    assert set(out) == {40}


def test_shared_memory_of_functions_is_one_with_the_kernels():
    functions = """
.shared .align 4 .b32 common[64];
.extern .shared .align 16 .b8 dynamic[];
.func put (.reg .u32 t)
{
    .reg .u32 a, b;
    shl.b32 a, t, 2;
    mov.u32 b, common;
    add.u32 a, a, b;
    st.shared.u32 [a], t;
    shl.b32 a, t, 2;
    mov.u32 b, dynamic;
    add.u32 a, a, b;
    st.shared.u32 [a], t;
    ret;
}
"""
    body = """
    call put, (t);
    bar.sync 0;
    xor.b32 s, t, 1;
    shl.b32 s, s, 2;
    mov.u32 r, common;
    add.u32 r, r, s;
    ld.shared.u32 r, [r];
    .reg .u32 d;
    mov.u32 d, dynamic;
    add.u32 d, d, s;
    ld.shared.u32 d, [d];
    add.u32 r, r, d;
"""
    out, report = run(functions, body, dynamic_shared=256)
    assert report.message == ""
    np.testing.assert_array_equal(out, 2 * (T ^ 1))
    _, report = run(functions, body, dynamic_shared=128)
    assert kinds(report) == ["out-of-bounds"]


def test_functions_of_the_language():
    @ptx.func
    def twice() -> None:
        result, x = ptx.returned(b32, "result"), ptx.param(b32, "x")
        value = ptx.inst.ld.param.u32(x)
        ptx.inst.st.param.u32(result, value + value)

    @ptx.func
    def increased() -> None:
        result, value = ptx.returned_register(u32), ptx.param_register(u32)
        ptx.inst.add.u32(result, value, 1)

    @kernel(in_specs=(Tile(64, u32),), out_specs=(Tile(64, u32),), block=64)
    def changed(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        offset = ptx.special.tid.x() * 4
        given, back = ptx.argument(b32), ptx.argument(b32)
        ptx.inst.st.param.u32(given, ptx.inst.ld.global_.u32(ptx.addr(x + offset)))
        ptx.call(twice, [given], [back])
        value = ptx.inst.ld.param.u32(back)
        ptx.call(increased, [value], [value])
        ptx.inst.st.global_.u32(ptx.addr(y + offset), value)

    done = changed.emulate(T)
    assert done.report.message == ""
    np.testing.assert_array_equal(done.outputs[0], 2 * T + 1)


# ---- findings: a bug, and its clean twin ---------------------------------------------------------


def test_a_call_through_what_is_no_address_of_a_function():
    shape = "shape: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]);\n"
    call = PASS.format(call=shape + "call (back), f, (first, second), shape;")
    wrong = INDIRECT + "add.u64 f, f, 4;\n" + call
    for sanitize in (False, True):
        _, report = run(IN_MEMORY, wrong, sanitize=sanitize)
        assert kinds(report) == ["bad-call"]
        assert report.status == "stopped"
        (finding,) = report.findings
        assert finding.note == "the address is that of no function"
        assert (
            "call (back), f"
            in HEAD.join(("", IN_MEMORY + ENTRY.format(body=wrong))).splitlines()[
                finding.site.location.line - 1
            ]
        )


def test_a_call_of_what_is_not_listed_or_takes_something_else():
    listed = "either: .calltargets plus;\n"
    call = PASS.format(call=listed + "call (back), f, (first, second), either;")
    _, report = run(IN_MEMORY, INDIRECT + call)
    assert kinds(report) == ["bad-call"]
    assert report.findings[0].note == "minus is not in .calltargets"
    listed = "either: .calltargets plus, minus;\n"
    call = PASS.format(call=listed + "call (back), f, (first, second), either;")
    assert run(IN_MEMORY, INDIRECT + call)[1].message == ""
    shape = "shape: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    call = PASS.format(call=shape + "call (back), f, (first), shape;")
    _, report = run(IN_MEMORY, INDIRECT + call)
    assert report.findings[0].note == "plus takes or gives another number of values"


def test_a_function_that_calls_itself_for_ever():
    forever = FACTORIAL.replace("@p ret;", "")
    for sanitize in (False, True):
        _, report = run(forever, "call (r), factorial, (t);", sanitize=sanitize)
        assert kinds(report) == ["stack-overflow"]
        assert report.status == "stopped"
        assert "factorial is the call number" in report.findings[0].note
    assert run(FACTORIAL, "and.b32 s, t, 7;\ncall (r), factorial, (s);")[1].message == ""
    without_memory = ".func f () { call f; ret; }\n"
    _, report = run(without_memory, "call f;\nmov.u32 r, 1;")
    assert kinds(report) == ["stack-overflow"]


def test_what_a_function_does_not_set_and_what_it_is_not_given():
    empty = DOUBLED.replace("value, value", "value, other").replace(
        "{\n", "{\n    .reg .u32 other;\n"
    )
    _, report = run(empty, "call (r), doubled, (t);")
    assert kinds(report) == ["uninitialised-register"]
    body = PASS.format(call="call.uni (back), plus, (first, second);")
    _, report = run(IN_MEMORY, body.replace("st.param.b32 [first], t;", ""))
    assert kinds(report) == ["uninitialised-memory"]
    assert "ld.param" in report.message
    stale = FACTORIAL.replace("st.local.u32 [keep], n;", "")
    _, report = run(stale, "mov.u32 s, 3;\ncall (r), factorial, (s);")
    assert kinds(report) == ["uninitialised-memory"]
    assert run(IN_MEMORY, body)[1].message == ""


def test_the_second_call_of_a_function_has_a_frame_of_its_own():
    functions = """
.func (.reg .u32 r) kept (.reg .u32 n)
{
    .reg .pred p;
    .local .align 4 .b32 keep;
    setp.ne.u32 p, n, 0;
    @p st.local.u32 [keep], n;
    ld.local.u32 r, [keep];
    ret;
}
"""
    good = "call (r), kept, (5);\ncall (r), kept, (6);\n"
    assert run(functions, good)[1].message == ""
    _, report = run(functions, good.replace("(6)", "(0)"))
    assert kinds(report) == ["uninitialised-memory"]


def test_a_store_past_a_variable_of_the_module_names_it():
    functions = ".global .align 4 .b32 totals[4];\n"
    store = "mov.u64 o, totals;\nst.global.u32 [o+{at}], 1;\nmov.u32 r, 1;\n"
    _, report = run(functions, store.format(at=16), block=1)
    assert kinds(report) == ["out-of-bounds"]
    assert "totals" in report.message
    assert run(functions, store.format(at=12), block=1)[1].message == ""


# ---- what is not emulated ------------------------------------------------------------------------


def test_functions_without_a_body():
    functions = (
        ".extern .func (.param .b32 status) malloc (.param .b64 format, .param .b64 values);\n"
    )
    body = """
    {
        .param .b64 format;
        .param .b64 values;
        .param .b32 status;
        st.param.b64 [format], 0;
        st.param.b64 [values], 0;
        call.uni (status), malloc, (format, values);
    }
    mov.u32 r, 1;
"""
    with pytest.raises(EmulationError) as caught:
        run(functions, body)
    assert str(caught.value) == (
        "kernel calls malloc, and the file has no body of it; of the functions of the "
        "system, the emulator has vprintf, __assertfail, malloc, free"
    )
