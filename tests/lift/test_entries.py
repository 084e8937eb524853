"""Kernels that take the address of a kernel, as those that launch others do."""

import pytest

from pyptx import In, LanguageError, Out, Scalar, Tile, from_ptx
from pyptx._lift import lift
from pyptx._text import parse
from pyptx.types import u32, u64

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry child(.param .u64 x)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    st.global.u32 [%rd1], 7;
    ret;
}
"""
PARENT = """\
.visible .entry parent(.param .u64 x, .param .u32 n)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    ADDRESS
    st.global.u64 [%rd1], %rd2;
    ret;
}
"""
TABLE = ".global .align 8 .u64 table[2] = {0, child};\n"
TAKING = """\
.func (.reg .b64 found) taking()
{
    mov.u64 found, child;
    ret;
}
"""
LEFT_OUT = """\


# parent is left out: it takes the address of the kernel child,
# and each kernel here is a module of its own.
"""

ways = pytest.mark.parametrize(
    ("before", "address"),
    [
        pytest.param("", "mov.u64 %rd2, child;", id="itself"),
        pytest.param(TABLE, "ld.global.u64 %rd2, [table+8];", id="in a variable"),
        pytest.param(TAKING, "call (%rd2), taking, ();", id="in a function"),
    ],
)


@ways
def test_the_others_of_the_file_are_lifted(before, address):
    program = lift(parse(HEAD + before + PARENT.replace("ADDRESS", address), "launching.ptx"))
    assert "def child() -> None:" in program
    assert program.endswith(LEFT_OUT)
    assert "taking" not in program
    assert "table" not in program
    compile(program, "lifted", "exec")


def test_what_takes_no_address_is_all_there():
    program = lift(parse(HEAD + PARENT.replace("ADDRESS", "mov.u64 %rd2, 0;"), "launching.ptx"))
    assert "def parent() -> None:" in program
    assert "left out" not in program


def test_a_file_of_which_nothing_is_left():
    only = HEAD.replace("st.global.u32 [%rd1], 7;", "mov.u64 %rd1, child;")
    with pytest.raises(LanguageError) as caught:
        lift(parse(only, "launching.ptx"))
    assert str(caught.value) == (
        "launching.ptx:8: child takes the address of the kernel child, and each kernel of the "
        "language is a module of its own\n"
        "  help: from_ptx assembles and launches such a file as it is"
    )


@ways
@pytest.mark.parametrize("by_reference", [False, True])
def test_it_is_assembled_with_the_kernels_that_it_names(before, address, by_reference):
    run = from_ptx(
        HEAD + before + PARENT.replace("ADDRESS", address),
        in_specs=(Scalar(u32),),
        out_specs=(Tile(1, u64),),
        entry="parent",
        grid=1,
        block=1,
        params=(Out(0), In(0)),
    )
    code = run._code(run._target(None), by_reference=by_reference, batch=None)
    cubin = code.assemble()
    assert cubin.kernel == "parent"
    assert b".text.child" in cubin.code
