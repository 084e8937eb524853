"""`isa`: the instruction table, searched."""

import re

import pytest

from pyptx._isa.search import find
from pyptx._isa.table import forms

# What `pyptx isa redux warp --target sm_90` prints below its table.
REDUX = """\
redux.sync.op.T  d, a, membermask
  Reduce a value over the lanes of a warp; PTX ISA, #parallel-synchronization-and-communication-instructions-redux-sync
  .op: .add .min .max
  .T: .u32 .s32
  d: destination: a .T register
  a: a .T register or a constant
  membermask: a 32-bit integer register or a constant
  d = ptx.inst.redux.sync.add.u32(a, membermask)
  ptx.inst.redux.sync.add.u32(d, a, membermask)

redux.sync.op.b32  d, a, membermask
  Reduce a value over the lanes of a warp; PTX ISA, #parallel-synchronization-and-communication-instructions-redux-sync
  .op: .and .or .xor
  d: destination: a 32-bit integer register
  a: a 32-bit integer register or a constant
  membermask: a 32-bit integer register or a constant
  d = ptx.inst.redux.sync.and_.b32(a, membermask)
  ptx.inst.redux.sync.and_.b32(d, a, membermask)

from pyptx import kernel, ptx, reg
from pyptx.types import u32


@kernel(in_specs=(), out_specs=(), block=32, arch="sm_90a")
def example():
    lane = reg.from_(ptx.special.laneid(), u32)
    total = ptx.inst.redux.sync.add.u32(lane, 0xFFFFFFFF)  # 496, in every lane

"""  # noqa: E501


def test_words_of_what_it_does_and_a_target(pyptx):
    done = pyptx("isa", "reduction", "warp", "--target", "sm_90")
    assert (done.status, done.err) == (0, "")
    table, _, rest = done.out.partition("\n\n")
    assert [line.split() for line in table.splitlines()] == [
        ["instruction", "targets", "PTX", "emulated"],
        ["redux.sync.op.T", "d,", "a,", "membermask", "sm_80+", "7.0+", "yes"],
        ["redux.sync.op.b32", "d,", "a,", "membermask", "sm_80+", "7.0+", "yes"],
    ]
    assert rest == REDUX


def test_a_spelling_shows_its_form_with_modifiers_operands_and_itself_in_python(pyptx):
    done = pyptx("isa", "fma.rn.ftz.f32")
    assert done.status == 0
    assert re.search(r"(?m)^fma\.rnd\{\.ftz\}\{\.sat\}\.f32  d, a, b, c +all +any +yes", done.out)
    assert "\n  .rnd: .rn .rz .rm .rp\n  .ftz (optional): .ftz\n" in done.out
    assert "\n  a: a .f32 register or a constant\n" in done.out
    assert "\n  d = ptx.inst.fma.rn.ftz.f32(a, b, c)\n" in done.out
    assert "\n- One rounding: " in done.out


def test_the_python_spelling_and_a_path_of_the_namespace(pyptx):
    one, *others = (
        pyptx("isa", text).out
        for text in ("ld.global.v4.f32", "ld.global_.v4.f32", "ptx.inst.ld.global_.v4.f32")
    )
    assert all(other == one for other in others)


def test_the_beginning_of_a_spelling(pyptx):
    out = pyptx("isa", "wgmma.wait_group").out
    assert re.match(r"instruction .*\nwgmma\.wait_group\.sync\.aligned  n +sm_90a +8\.0\+ +", out)
    assert "\n  n: a .u32 constant, 0 to 7\n" in out


def test_where_a_form_exists(pyptx):
    done = pyptx("isa", "fma.rn.f32x2")
    assert re.search(r"f32x2  d, a, b, c +sm_100\+ +8\.6\+ +yes", done.out)


def test_a_call_is_written_with_the_functions_of_the_language(pyptx):
    out = pyptx("isa", "call").out
    assert re.search(r"(?m)^call\{\.uni\}  ret, func, params +all +any +yes", out)
    assert "\n  func: a function that ptx.func makes\n" in out
    assert "\n  ptx.call(func, params, ret)\n" in out
    assert "\n  ptx.call(fptr, params, ret, through=flist)\n" in out


def test_several_words_keep_what_all_of_them_match(pyptx):
    listed = pyptx("isa", "cas", "b128").out
    assert re.search(r"(?m)^atom\S*\.cas\S*  d, \[a\], b, c", listed), listed
    assert not re.search(r"(?m)^(red|ld|st)\.", listed.partition("\n\n")[0])


@pytest.mark.parametrize(
    ("words", "opcode"),
    [
        ("reciprocal square root", "rsqrt"),
        ("count leading zeros", "clz"),
        ("loads matrix", "ldmatrix"),
        ("allocate tensor memory", "tcgen05"),
        ("position bit set", "fns"),
        ("shuffle", None),
        ("copies bulk global", "cp"),
        ("half precision add", "add"),
    ],
)
def test_what_words_find(words, opcode):
    if opcode is None:
        words, opcode = "lane another", "shfl"
    found = find(words.split(), None, None).forms
    assert opcode in {form.opcode for form in found}
    assert len({form.opcode for form in found}) < 12


def test_only_options_that_a_target_has_are_shown(pyptx):
    old = pyptx("isa", "ld.global.v4.f32", "--target", "sm_75").out
    new = pyptx("isa", "ld.global.v4.f32", "--target", "sm_90").out
    assert ".shared::cluster" not in old
    assert ".shared::cluster [sm_90+, PTX 7.8+]" in new
    assert "  .L2::cache_hint (optional)" not in old
    assert "  .L2::cache_hint (optional)" in new


def test_a_ptx_version_leaves_out_what_is_newer():
    everything = find(["fma"], None, None).forms
    from pyptx._target import PtxVersion

    old = find(["fma"], None, PtxVersion(7, 0)).forms
    assert set(old) < set(everything)
    assert all(form.availability.ptx <= PtxVersion(7, 0) for form in old)


def test_every_opcode(pyptx):
    for opcode in sorted({form.opcode for form in forms()})[::9]:
        assert pyptx("isa", opcode).status == 0


def test_every_opcode_and_every_least_spelling_is_found():
    from pyptx._isa.sample import least

    for form in forms():
        assert form in find([".".join((form.opcode, *least(form)))], None, None).forms
        assert form in find([form.opcode], None, None).forms


def test_a_typing_error_offers_the_nearest(pyptx):
    done = pyptx("isa", "fmad.rn.f32")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "error: no instruction matches fmad.rn.f32\n  nearest to fmad: mad fma vmad\n"
    )


def test_words_that_do_not_go_together(pyptx):
    done = pyptx("isa", "elect", "f32")
    assert done.status == 1
    head, note = done.err.splitlines()
    assert head == "error: no instruction matches elect f32"
    assert re.fullmatch(r"  each alone: elect: \d+ forms, f32: \d+ forms", note)


def test_a_target_that_does_not_have_it(pyptx):
    done = pyptx("isa", "wgmma", "--target", "sm_100a")
    assert done.status == 1
    assert done.err == (
        "error: sm_100a does not have wgmma\n  targets that do: sm_90a\n  first in: PTX 8.0\n"
    )


def test_a_version_that_does_not_have_it(pyptx):
    done = pyptx("isa", "elect.sync", "--version", "7.0")
    assert done.err.splitlines()[0] == "error: PTX 7.0 does not have elect.sync"


def test_a_target_and_a_version_that_are_none(pyptx):
    done = pyptx("isa", "fma", "--target", "hopper")
    assert done.err.startswith("error: unknown target 'hopper'; known: sm_75 ")
    done = pyptx("isa", "fma", "--version", "new")
    assert done.err == "error: --version new is not a PTX version, such as 8.6\n"
