"""What stands behind addresses, prototypes and lines in files: `.unified`, `.abi_preserve`,
`.loc_intermediate`."""

import subprocess

import pytest

from pyptx._assemble import ptxas
from pyptx._assemble.ptxas import version as assembler_version
from pyptx._lift import lift
from pyptx._text import ParseError, normal_form, parse, write

HEAD = ".version {version}\n.target sm_90\n.address_size 64\n"

UNIFIED = """.global .attribute(.unified(19, 95)) .align 16 .f32 u[8];
.visible .entry k(.param .u64 p)
{
    .reg .f32 %f<4>;
    .reg .b64 %d<2>;
    ld.param.u64 %d0, [p];
    ld.global.f32 %f0, [u+4].unified;
    ld.weak.f32 %f1, [%d0].unified;
    ld.global.v2.f32 {%f2, %f3}, [u].unified;
    ld.global.f32 %f0, [u];
    ret;
}
"""

PROTOTYPE = """.func f() { ret; }
.visible .entry k(.param .u64 p)
{
    .reg .u64 %d;
    mov.u64 %d, f;
    through: .callprototype _ () .noreturn .abi_preserve 3 .abi_preserve_control 2;
    call %d, through;
    ret;
}
"""

INTERMEDIATE = """.file 1 "a.py"
.file 2 "a.ir"
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r;
    .loc 1 4 5
    .loc_intermediate 2 7 8
    .loc_intermediate 2 9 8
    mov.u32 %r, 1;
    bar.sync 0;
    .loc_intermediate 2 11 1
    bar.sync 1;
    .loc 1 6 1
    ret;
}
"""

TEXTS = {
    "unified": (UNIFIED, "8.0"),
    "prototype": (PROTOTYPE, "9.0"),
    "intermediate": (INTERMEDIATE, "9.4"),
}


def read(text, version):
    return parse(HEAD.format(version=version) + text, "file.ptx")


def with_lines(module):
    return write(module, lines=bool(module.debug.files)).ptx


@pytest.mark.parametrize("text, version", TEXTS.values(), ids=TEXTS)
def test_what_is_written_of_it_means_the_same(text, version):
    module = read(text, version)
    written = with_lines(module)
    assert parse(written, "written.ptx") == normal_form(module)
    assert with_lines(parse(written)) == written


@pytest.mark.parametrize("text, version", TEXTS.values(), ids=TEXTS)
def test_the_assembler_takes_what_is_written_of_it(text, version, tmp_path):
    """As a relocatable file, which variables with .unified have to be in."""
    if version == "9.4" and assembler_version() < "13.4":
        assert not text.startswith(".global")  # an assembler that is too old for it
        return
    (tmp_path / "k.ptx").write_text(with_lines(read(text, version)))
    command = [str(ptxas.find(ptxas.PTXAS)), "-arch=sm_90", "-c", "-lineinfo", "k.ptx", "-o", "k.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


def test_unified_is_kept_in_files_and_in_what_is_lifted():
    module = read(UNIFIED, "8.0")
    assert write(module).ptx.count("].unified") == 3
    program = lift(module)
    assert "ptx.addr(u, 4, unified=True)" in program
    assert program.count("unified=True") == 3


def test_prototypes_are_kept_in_files_and_in_what_is_lifted():
    module = read(PROTOTYPE, "9.0")
    assert " .noreturn .abi_preserve 3 .abi_preserve_control 2;" in write(module).ptx
    assert "noreturn=True, abi_preserve=3, abi_preserve_control=2)" in lift(module)


def test_places_in_other_languages_are_those_of_their_line():
    """Behind an instruction, of the line that holds there, which is said again."""
    body = read(INTERMEDIATE, "9.4").kernels[0].body
    lines = [instruction.debug for instruction in body]
    assert [line.intermediate for line in lines] == [
        ((2, 7, 8), (2, 9, 8)),
        ((2, 7, 8), (2, 9, 8)),
        ((2, 11, 1),),
        (),
    ]
    assert [(line.file, line.line) for line in lines] == [(1, 4), (1, 4), (1, 4), (1, 6)]


WRONG = {
    "a variable without the attribute": (
        ".global .f32 g;\n.entry k() { .reg .f32 %f;\n    ld.global.f32 %f, [g].unified;\n}",
        "9.4",
        """file.ptx:6:5: ld.global.f32: a is .unified, and g is not
    ld.global.f32 %f, [g].unified;
    ^
  form: ld.global.f32  d, [a]
  write: .attribute(.unified(1, 2)) in the declaration of g""",
    ),
    "a store": (
        ".entry k() { .reg .f32 %f; .reg .b64 %d;\n    st.global.f32 [%d].unified, %f;\n}",
        "9.4",
        """file.ptx:5:5: st.global.f32: a cannot be .unified here
    st.global.f32 [%d].unified, %f;
    ^
  legal: weak loads of global memory: ld.global.f32 d, [a].unified
  form: st.global.f32  [a], b""",
    ),
    "shared memory": (
        ".entry k() { .reg .f32 %f; .reg .b64 %d;\n    ld.shared.f32 %f, [%d].unified;\n}",
        "9.4",
        """file.ptx:5:5: ld.shared.f32: a cannot be .unified here
    ld.shared.f32 %f, [%d].unified;
    ^
  legal: weak loads of global memory: ld.global.f32 d, [a].unified
  form: ld.shared.f32  d, [a]""",
    ),
    "no line before it": (
        ".entry k() {\n    .loc_intermediate 1 2 3\n    ret;\n}",
        "9.4",
        """file.ptx:5:23: .loc_intermediate stands behind no .loc
    .loc_intermediate 1 2 3
                      ^
  expected: .loc before it""",
    ),
    "an older version": (
        ".entry k() {\n    .loc 1 2 3\n    .loc_intermediate 1 2 3\n    ret;\n}",
        "9.3",
        """file.ptx:6:23: PTX 9.3 does not have .loc_intermediate
    .loc_intermediate 1 2 3
                      ^
  expected: PTX 9.4""",
    ),
}


@pytest.mark.parametrize("text, version, message", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_at_its_place(text, version, message):
    with pytest.raises(ParseError) as caught:
        read(text, version)
    assert str(caught.value) == message
