"""Files for targets that the assembler reads and makes no code for."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import Out, SpecError, Tile, from_ptx
from pyptx import _text as text
from pyptx._lift import lift
from pyptx._text import ParseError
from pyptx.types import u32

OLDER = ["sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72"]
TEXT = """\
.version 6.1
.target TARGET
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<2>;
    .reg .b64 %d<2>;
    ld.param.u64 %d0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d0, %d0, %d1;
    MORE
    st.global.u32 [%d0], %r0;
    ret;
}
"""


def written(target, more=""):
    return TEXT.replace("TARGET", target).replace("MORE", more)


def made(target, **options):
    return from_ptx(
        written(target),
        in_specs=(),
        out_specs=(Tile(32, u32),),
        params=(Out(0),),
        grid=1,
        block=32,
        **options,
    )


@pytest.mark.parametrize("target", OLDER)
def test_it_is_assembled_for_later_ones(target):
    kernel = made(target)
    assert str(kernel.cubin().target) == "sm_75"
    assert str(kernel.cubin(arch="sm_90a").target) == "sm_90a"
    np.testing.assert_array_equal(kernel.emulate(sanitize=True).outputs[0], np.arange(32))
    assert f".target {target}\n" in kernel.ptx()


@pytest.mark.parametrize("target", ["sm_50", "sm_72"])
def test_its_text_is_kept(target):
    module = text.parse(written(target), "older.ptx")
    again = text.write(module).ptx
    assert f".target {target}\n" in again
    assert text.parse(again, "older.ptx") == text.normal_form(module)


def test_its_program_is_for_the_next_target():
    program = lift(text.parse(written("sm_60"), "older.ptx"))
    assert '@kernel(arch="sm_75", version="6.3")' in program


def test_it_has_what_the_next_target_has():
    with pytest.raises(ParseError) as caught:
        text.parse(written("sm_60", "cp.async.wait_all;"), "older.ptx")
    assert (
        str(caught.value).splitlines()[0] == "older.ptx:12:5: sm_60 does not have cp.async.wait_all"
    )


def test_a_version_that_does_not_know_it():
    with pytest.raises(ParseError) as caught:
        text.parse(written("sm_72").replace("6.1", "6.0"), "older.ptx")
    assert "PTX 6.0 does not know sm_72" in str(caught.value)


def test_code_for_it_is_not_made():
    with pytest.raises(SpecError):
        made("sm_60", arch="sm_60")
    with pytest.raises(ParseError):
        text.parse(written("sm_35"), "older.ptx")
