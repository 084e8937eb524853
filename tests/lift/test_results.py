"""What is lifted runs to the results of what it was lifted from."""

import numpy as np
import pytest
from tests.lift.comparing import kernels, machine_code

from pyptx import SpecError, Tile, from_ptx, kernel, ptx, smem
from pyptx._text import parse, write
from pyptx.types import f32, u32, u64

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
THREADS = 64

STORED_AND_READ = """
.visible .entry k(.param .u64 x)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, first;
    add.u32 %r3, %r3, %r2;
    mov.u32 %r4, second;
    add.u32 %r4, %r4, %r2;
    mad.lo.u32 %r5, %r1, 3, 5;
    st.shared.u32 [%r3], %r5;
    st.shared.u32 [%r4], 1000;
    bar.sync 0;
    ld.shared.u32 %r6, [%r3];
    ld.shared.u32 %r7, [%r4];
    add.u32 %r6, %r6, %r7;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r6;
    ret;
}
"""


def results(text, *, smem=None, sanitize=True):
    """What the entry of a text stores for each thread, run in the emulator with all checks."""
    run = from_ptx(
        text,
        in_specs=(),
        out_specs=(Tile(THREADS, u32),),
        grid=1,
        block=THREADS,
        smem=smem,
    )
    done = run.emulate(sanitize=sanitize)
    assert not done.report.findings, done.report.message
    return done.outputs[0]


def lifted_text(text):
    """The PTX that the lifted program traces to."""
    (traced,) = kernels(parse(text)).values()
    return write(traced.module()).ptx


@pytest.mark.sampled(8)
@pytest.mark.parametrize("linkage", ["", ".weak ", ".visible ", ".extern "])
def test_arrays_of_a_module_in_shared_memory_keep_apart(linkage, tmp_path):
    text = (
        f"{HEAD}{linkage}.shared .align 4 .b8 first[256];\n"
        f"{linkage}.shared .align 8 .b8 second[256];\n{STORED_AND_READ}"
    )
    expected = np.arange(THREADS, dtype=np.uint32) * 3 + 1005
    again = lifted_text(text)
    assert f"{linkage}.shared .align 8 .b8 second[256];" in again
    np.testing.assert_array_equal(results(text), expected)
    np.testing.assert_array_equal(results(again), expected)
    assert machine_code(parse(again), tmp_path) == machine_code(parse(text), tmp_path)


def test_dynamic_shared_memory_is_one_memory_by_all_of_its_names():
    text = (
        f"{HEAD}.shared .align 4 .b8 apart[16];\n.extern .shared .align 4 .b8 first[];\n"
        f".extern .shared .align 16 .b8 second[];\n{STORED_AND_READ}"
    ).replace("bar.sync 0;", "bar.sync 0; ld.shared.u32 %r8, [apart];")
    expected = np.full(THREADS, 2000, np.uint32)
    again = lifted_text(text)
    assert ".extern .shared .align 4 .b8 first[];" in again
    assert ".extern .shared .align 16 .b8 second[];" in again
    np.testing.assert_array_equal(results(text, smem=256, sanitize=False), expected)
    np.testing.assert_array_equal(results(again, smem=256, sanitize=False), expected)


WITH_A_FUNCTION = """
.shared .align 4 .u32 given[64];
.shared .align 4 .b8 taken[256];
.func put(.reg .u32 at, .reg .u32 value)
{
    .reg .u32 where;
    mov.u32 where, given;
    add.u32 where, where, at;
    st.shared.u32 [where], value;
    ret;
}
.visible .entry k(.param .u64 x)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, taken;
    add.u32 %r3, %r3, %r2;
    st.shared.u32 [%r3], 40;
    call put, (%r2, %r1);
    bar.sync 0;
    xor.b32 %r4, %r2, 4;
    mov.u32 %r5, given;
    add.u32 %r5, %r5, %r4;
    ld.shared.u32 %r6, [%r5];
    ld.shared.u32 %r7, [%r3];
    add.u32 %r6, %r6, %r7;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r6;
    ret;
}
"""


def test_a_function_and_its_kernel_see_the_same_array():
    text = HEAD + WITH_A_FUNCTION
    expected = (np.arange(THREADS) ^ 1) + 40
    again = lifted_text(text)
    np.testing.assert_array_equal(results(text), expected)
    np.testing.assert_array_equal(results(again), expected)


COUNTS = ptx.shared(u32, 2, name="counts")
LARGE = ptx.shared(f32, 64, name="large")
DYNAMIC = smem.extern(u32, name="dynamic")


def test_shared_memory_of_the_module_by_hand():
    @ptx.func
    def mark() -> None:
        ptx.inst.st.shared.u32(ptx.addr(COUNTS, 4), 9)

    @kernel
    def k() -> None:
        x = ptx.inst.ld.param.u64(ptx.param(u64, "x"))
        ptx.inst.st.shared.u32(ptx.addr(COUNTS), 4)
        ptx.inst.st.shared.u32(ptx.addr(DYNAMIC), 100)
        ptx.call(mark)
        total = ptx.inst.ld.shared.u32(ptx.addr(COUNTS))
        total += ptx.inst.ld.shared.u32(ptx.addr(COUNTS, 4))
        total += ptx.inst.ld.shared.u32(ptx.addr(DYNAMIC))
        ptx.inst.st.global_.u32(ptx.addr(x), total)

    text = k.ptx()
    assert "\n.shared .align 4 .u32 counts[2];\n" in text
    run = from_ptx(text, in_specs=(), out_specs=(Tile(1, u32),), grid=1, block=1, smem=4)
    assert run.emulate(sanitize=True).outputs[0] == 113


def test_more_than_the_static_limit_with_a_variable_of_the_module_is_refused():
    @kernel
    def k() -> None:
        tile = smem.alloc(f32, (64 * 192,))
        tile[0] = 1.0
        ptx.inst.st.shared.f32(ptx.addr(LARGE), tile[1])

    line = k._signature.location.line
    with pytest.raises(SpecError) as caught:
        k.ptx()
    assert caught.value.render() == (
        f"{__file__}:{line}: k names large, a .shared variable of the module, "
        "and has 49408 bytes of shared memory; "
        "with one it has at most 49152\n"
        "    @kernel\n"
        "  help: smem.alloc for all, or smem.extern for what a launch makes larger"
    )
