"""Global variables of files with several kernels: each kernel has its own, and says so."""

import warnings

import pytest

import pyptx
from pyptx import Tile
from pyptx.errors import SharedVariableWarning
from pyptx.types import u32

HEAD = """
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 5;
.global .align 4 .u32 table[2] = {3, 4};
"""

BUMP = """
.visible .entry bump(.param .u64 out) {
    .reg .u64 %d<4>;
    .reg .u32 %r<4>;
    ld.param.u64 %d1, [out];
    mov.u64 %d2, counter;
    cvta.global.u64 %d3, %d2;
    atom.add.u32 %r1, [%d3], 1;
    st.global.u32 [%d1], %r1;
    ret;
}
"""

SHOW = """
.visible .entry show(.param .u64 out) {
    .reg .u64 %d<4>;
    .reg .u32 %r<4>;
    ld.param.u64 %d1, [out];
    ld.global.u32 %r1, [NAME];
    st.global.u32 [%d1], %r1;
    ret;
}
"""

IN_A_FUNCTION = """
.func bump_it() {
    .reg .u32 %r<2>;
    mov.u32 %r1, 9;
    st.global.u32 [counter], %r1;
    ret;
}
.visible .entry bump(.param .u64 out) {
    call bump_it;
    ret;
}
"""


def read(text, entry):
    return pyptx.from_ptx(
        text, entry=entry, in_specs=(), out_specs=(Tile(1, u32),), grid=1, block=1
    )


@pytest.mark.parametrize("writer", [BUMP, IN_A_FUNCTION], ids=["at an address", "in a function"])
@pytest.mark.parametrize("entry", ["bump", "show"])
def test_a_variable_that_two_kernels_use_and_one_changes(writer, entry):
    text = HEAD + writer + SHOW.replace("NAME", "counter")
    other = {"bump": "show", "show": "bump"}[entry]
    with pytest.warns(SharedVariableWarning) as caught:
        kernel = read(text, entry)
    (warning,) = caught
    assert str(warning.message) == (
        f"{entry} and {other} of {kernel.file} use the global variable counter, which is changed; "
        "in CUDA they would see one, here each kernel has its own\n"
        "  help: pass what kernels hand on to each other as an array, in in_specs and out_specs"
    )
    assert warning.filename == __file__


@pytest.mark.parametrize(
    "text",
    [
        HEAD + BUMP,
        HEAD + BUMP + SHOW.replace("NAME", "table"),
        HEAD
        + SHOW.replace("NAME", "table")
        + SHOW.replace("NAME", "table").replace("show", "bump"),
    ],
    ids=["one kernel", "another variable", "nothing changes it"],
)
def test_nothing_is_said_where_nothing_is_shared(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(text, "bump")


def test_each_launch_begins_with_the_initial_value_in_the_emulator():
    """What docs/foreign.md says of both kernels."""
    text = HEAD + BUMP + SHOW.replace("NAME", "counter")
    with pytest.warns(SharedVariableWarning):
        bump, show = read(text, "bump"), read(text, "show")
    for _ in range(2):
        assert bump.emulate().outputs[0].tolist() == [5]
        assert show.emulate().outputs[0].tolist() == [5]


def test_each_kernel_is_a_module_of_its_own():
    """Other code, so another module on a device, with a variable of its own."""
    text = HEAD + BUMP + SHOW.replace("NAME", "counter")
    with pytest.warns(SharedVariableWarning):
        bump, show = read(text, "bump"), read(text, "show")
    assert bump.cubin().code != show.cubin().code
