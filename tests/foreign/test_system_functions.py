"""Functions of CUDA's device runtime that code of compilers calls: assertions and the heap."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import EmulationError, Out, Tile, from_ptx
from pyptx.types import u32

HEAD = """\
.version 8.7
.target sm_80
.address_size 64
.global .align 1 .b8 text[6] = {105, 32, 60, 32, 110, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 name[2] = {107, 0};
.extern .func (.param .b64 result) malloc (.param .b64 bytes);
.extern .func free (.param .b64 address);
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c,
    .param .b64 d, .param .b64 e);
.visible .entry k(.param .u64 k_out)
{
    .reg .pred %p<2>;
    .reg .b32 %value<9>;
    .reg .b64 %at<9>;
    ld.param.u64 %at0, [k_out];
    cvta.to.global.u64 %at0, %at0;
    mov.u32 %value0, %tid.x;
    mul.wide.u32 %at1, %value0, 4;
    add.u64 %at0, %at0, %at1;
"""
MALLOC = """{
.param .b64 bytes; .param .b64 got;
st.param.b64 [bytes], BYTES;
call.uni (got), malloc, (bytes);
ld.param.b64 %at2, [got];
}
"""
FREE = """{
.param .b64 old;
st.param.b64 [old], %at2;
call.uni free, (old);
}
"""
ASSERT = """setp.lt.u32 %p0, %value0, MOST;
@%p0 bra fine;
{
.param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
mov.u64 %at3, text; cvta.global.u64 %at3, %at3; st.param.b64 [a], %at3;
mov.u64 %at3, file; cvta.global.u64 %at3, %at3; st.param.b64 [b], %at3;
st.param.b32 [c], 12;
mov.u64 %at3, name; cvta.global.u64 %at3, %at3; st.param.b64 [d], %at3;
st.param.b64 [e], 1;
call.uni __assertfail, (a, b, c, d, e);
}
fine:
st.global.u32 [%at0], %value0;
"""


def made(body, block=32):
    return from_ptx(
        HEAD + body + "    ret;\n}\n",
        in_specs=(),
        out_specs=(Tile(block, u32),),
        params=(Out(0),),
        grid=1,
        block=block,
    )


def ran(body, block=32):
    return made(body, block).emulate(sanitize=True)


def test_an_assertion_that_holds():
    done = ran(ASSERT.replace("MOST", "32"))
    assert done.report.findings == ()
    np.testing.assert_array_equal(done.outputs[0], np.arange(32))


def test_an_assertion_that_fails():
    kernel = made(ASSERT.replace("MOST", "20"))
    with pytest.raises(EmulationError) as caught:
        kernel.emulate(sanitize=False).report.check()
    (found,) = caught.value.findings
    assert found.kind == "trap"
    assert found.note == "the assertion `i < n` of k at a.cu:12 failed"
    assert found.site.thread == (20, 0, 0)
    assert kernel.cubin().kernel == "k"


USE = """st.u32 [%at2], %value0;
st.u32 [%at2+12], 7;
ld.u32 %value1, [%at2];
ld.u32 %value2, [%at2+12];
add.u32 %value1, %value1, %value2;
"""
RESULT = "st.global.u32 [%at0], %value1;\n"


def test_memory_of_the_heap_is_a_threads_own():
    kernel = made(MALLOC.replace("BYTES", "16") + USE + FREE + RESULT)
    for options in ({"sanitize": True}, {"sanitize": True, "seed": 3}, {"sanitize": False}):
        done = kernel.emulate(**options)
        assert done.report.findings == ()
        np.testing.assert_array_equal(done.outputs[0], np.arange(32) + 7)
    assert kernel.cubin().kernel == "k"


def test_memory_that_was_freed_is_given_again():
    loop = "mov.u32 %value3, 0;\nagain:\n" + MALLOC.replace("BYTES", "3000000") + USE + FREE
    loop += "add.u32 %value3, %value3, 1;\nsetp.lt.u32 %p0, %value3, 20;\n@%p0 bra again;\n"
    done = ran(loop + RESULT, block=2)
    assert done.report.findings == ()
    np.testing.assert_array_equal(done.outputs[0], [7, 8])


@pytest.mark.parametrize(("size", "given"), [("0", 0), ("8388608", 1), ("8388609", 0), ("-1", 0)])
def test_a_heap_has_8_mib(size, given):
    body = (
        MALLOC.replace("BYTES", size) + "setp.ne.u64 %p0, %at2, 0;\nselp.u32 %value1, 1, 0, %p0;\n"
    )
    np.testing.assert_array_equal(ran(body + FREE + RESULT, block=1).outputs[0], [given])


LOAD = "ld.u32 %value1, [%at2+4];\n"


def test_what_malloc_gives_has_no_values():
    body = MALLOC.replace("BYTES", "16") + USE
    (found,) = ran(body + LOAD + FREE + RESULT).report.findings
    assert found.kind == "uninitialised-memory"
    assert found.site.location.text == LOAD.strip()
    assert ran(body + LOAD.replace("+4", "+12") + FREE + RESULT).report.findings == ()


def test_a_load_after_free():
    body = MALLOC.replace("BYTES", "16") + USE
    (found,) = ran(body + FREE + LOAD.replace("+4", "") + RESULT).report.findings
    assert found.kind == "uninitialised-memory"


@pytest.mark.parametrize("bug", [FREE, "add.u64 %at2, %at2, 8;\n"], ids=["twice", "in the middle"])
def test_free_of_what_is_no_block(bug):
    body = MALLOC.replace("BYTES", "16")
    (found,) = ran(body + bug + FREE + RESULT.replace("%value1", "%value0")).report.findings
    assert found.kind == "bad-call"
    assert found.note == "free of an address that malloc has not given, or that is free already"


def test_free_of_nothing():
    body = "mov.u64 %at2, 0;\n" + FREE + RESULT.replace("%value1", "%value0")
    assert ran(body).report.findings == ()


def test_findings_name_registers_as_the_file_does():
    done = ran("add.u32 %value5, %value8, 1;\nst.global.u32 [%at0+4], %value5;\n")
    kinds = {f.kind: f for f in done.report.findings}
    assert kinds["uninitialised-register"].note == "%value8"
    assert kinds["uninitialised-register"].site.ptx == "add.u32 %value5, %value8, 1"
    assert "instruction: 6: st.global.u32 [%at0+4], %value5\n" in done.report.message
