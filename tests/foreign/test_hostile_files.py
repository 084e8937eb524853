"""Files that declare more than there is, are no text, or are no files: only pyptx's errors."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pyptx import PtxError, SpecError, Tile, from_ptx
from pyptx import _emulator as emulator
from pyptx._cli.file import parse_argument, sizes
from pyptx._cli.program import parse_sizes
from pyptx._lift import lift
from pyptx._text import ParseError, decoded, for_assembler, parse, read_file
from pyptx.errors import CallError, EmulationError
from pyptx.types import u32

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
STORE = """
.visible .entry k(.param .u64 x)
{
    BODY
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [x];
    st.global.u32 [%rd1], 7;
    ret;
}
"""


def kernel(body="", before=""):
    return f"{HEAD}{before}{STORE.replace('BODY', body)}"


def stored(source):
    run = from_ptx(source, in_specs=(), out_specs=(Tile(1, u32),), grid=1, block=1)
    return run.emulate().outputs[0][0]


# ---- declarations that are too large -------------------------------------------------------------

LARGE = {
    "shared": (
        kernel(".shared .b8 a[99999999999]; st.shared.u8 [a], 1;"),
        "a of k ends at byte 99999999999 of shared memory, of which the emulator has 1048576",
    ),
    "local": (
        kernel(".local .b8 a[3000000000]; st.local.u8 [a], 1;"),
        "a of k ends at byte 3000000000 of local memory, of which the emulator has 524288",
    ),
    "constant": (
        kernel("", ".const .b8 a[70000];").replace("ret;", "ld.const.u8 %rd1, [a]; ret;"),
        "a of k ends at byte 70000 of constant memory, of which the emulator has 65536",
    ),
    "global": (
        kernel("st.global.u8 [a], 1;", ".global .b8 a[99999999999];"),
        "a of k ends at byte 99999999999 of global memory, of which the emulator has 1073741824",
    ),
    "parameters": (
        kernel().replace(".u64 x", ".u64 x, .param .b8 p[99999999999]"),
        "the parameters of k are 100000000007 bytes, and a kernel has at most 32764",
    ),
    "a list": (
        kernel(
            f"T: .branchtargets {', '.join(['L'] * 300)};"
            ".reg .u32 i; mov.u32 i, 0; brx.idx i, T; L:"
        ),
        "k has an instruction with a list of 300, and the emulator has lists of up to 255",
    ),
    "calls in calls": (
        kernel(
            "call f2999;",
            "".join(
                f".func f{i}() {{ {f'call f{i - 1};' if i else ''} ret; }}\n" for i in range(3000)
            ),
        ),
        "the calls of k go too deep to be emulated",
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_the_emulator_has_no_room_for(name):
    text, problem = LARGE[name]
    module = parse(text)
    with pytest.raises(EmulationError) as caught:
        emulator.encode(module.kernels[0], module.target, module)
    assert str(caught.value) == problem


def test_an_offset_in_an_initial_value_has_64_bits():
    text = kernel("", ".global .b8 b[4]; .global .u64 a = b+18446744073709551615;")
    (initial,) = parse(text).variables[1].addresses
    assert initial.addend == -1
    assert stored(text) == 7


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
sys.argv[1:] = ["check", sys.argv[1]]
import pyptx._cli
pyptx._cli.main()
"""


@pytest.mark.parametrize(
    "declared",
    [
        "r<2000000000>",
        pytest.param("r<0xFFFFFFFF>", marks=pytest.mark.sweep),
        ", ".join(["r<9>", *(f"r{i}_<999999>" for i in range(2000))]),
    ],
)
def test_a_range_of_billions_costs_what_is_named_of_it(declared, tmp_path):
    text = kernel(f".reg .b32 {declared}; mov.b32 r5, 1;")
    file = tmp_path / "k.ptx"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "k      sm_80" in done.stdout
    assert stored(text) == 7
    given = for_assembler(text, parse(text), "k.ptx")
    assert ".reg .b32 %r<1>;" in given.ptx
    assert len(given.ptx) < 500


def test_other_files_are_given_to_the_assembler_as_they_are():
    text = kernel(".reg .b32 r<1000>; mov.b32 r5, 1;")
    given = for_assembler(text, parse(text), "k.ptx")
    assert given.ptx == text
    assert (given.lines[5].file, given.lines[5].line) == ("k.ptx", 5)


# ---- nesting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    ["(" * 5000 + "1" + ")" * 5000, "-" * 5000 + "1", "1?" * 5000 + "1" + ":1" * 5000],
)
def test_expressions_in_one_another(value):
    with pytest.raises(ParseError, match="the expression is nested too deeply"):
        parse(kernel(f".reg .b64 r; mov.b64 r, {value};"))


def test_masks_in_one_another():
    with pytest.raises(ParseError, match="a mask is for an address or an integer"):
        parse(kernel("", f".global .u8 a[3] = {{{'0xFF(' * 5000}1{')' * 5000}}};"))


def test_scopes_in_one_another():
    assert stored(kernel("{" * 3000 + "}" * 3000)) == 7


# ---- bytes ---------------------------------------------------------------------------------------


def test_comments_may_have_any_bytes(tmp_path):
    data = kernel("// caf\xe9\n/* \xff\xfe */").encode("latin-1")
    file = tmp_path / "k.ptx"
    file.write_bytes(data)
    assert stored(file) == 7
    assert stored(data) == 7
    assert "def k(" in lift(parse(read_file(file)))
    assert from_ptx(file, in_specs=(), out_specs=(Tile(1, u32),), grid=1, block=1).cubin(
        arch="sm_80"
    )


def test_other_bytes_are_said_at_their_place():
    data = kernel("mov.b32 r\xe9, 1;").encode("latin-1")
    with pytest.raises(ParseError) as caught:
        parse(decoded(data), "k.ptx")
    assert str(caught.value).startswith("k.ptx:7:14: '\ufffd' cannot stand in PTX")


def test_a_nul_at_the_end_is_no_part_of_the_text():
    text = kernel()
    assert stored(text + "\0") == stored(text.encode() + b"\0") == 7
    run = from_ptx(text + "\0", in_specs=(), out_specs=(Tile(1, u32),), grid=1, block=1)
    assert run.cubin(arch="sm_80").kernel == "k"
    assert parse(text + "\0\0") == parse(text)
    with pytest.raises(ParseError, match="cannot stand in PTX"):
        parse(kernel("\0"))


# ---- what is no file -----------------------------------------------------------------------------


def no_files(folder: Path):
    os.mkfifo(folder / "fifo.ptx")
    (folder / "folder.ptx").mkdir()
    return {
        folder / "fifo.ptx": "is no regular file",
        folder / "folder.ptx": "is no regular file",
        folder / ("x" * 300 + ".ptx"): "cannot be read: File name too long",
    }


def test_what_is_no_file(tmp_path):
    for path, problem in no_files(tmp_path).items():
        with pytest.raises(PtxError) as caught:
            read_file(path)
        assert str(caught.value) == f"{path} {problem}"
        with pytest.raises(SpecError) as caught:
            stored(path)
        assert caught.value.problem == f"{path} {problem}"
    with pytest.raises(PtxError, match="there is no file"):
        read_file(tmp_path / "nothing.ptx")


# ---- the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        "[" * 5000,
        "9" * 5000,
        "f32[" + "9" * 5000 + "]",
        "f32[999999999999999]",
        "f32[2]=" + "-" * 50000 + "1",
        "f32[2]=[1, 2]",
        "u8[2]=" + "9" * 40,
    ],
)
def test_arguments_that_are_none(given):
    with pytest.raises(PtxError) as caught:
        parse_argument(given)
    assert str(caught.value).startswith(f"--arg {given}")


def test_files_that_hold_no_array(tmp_path):
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "empty.npy").write_bytes(b"")
    np.savez(tmp_path / "several", a=np.zeros(2), b=np.zeros(3))
    (tmp_path / "several.npz").rename(tmp_path / "several.npy")
    for name in ("text.npy", "empty.npy", "several.npy"):
        with pytest.raises(PtxError) as caught:
            parse_argument(f"in:{tmp_path / name}")
        assert str(caught.value).startswith(f"--arg in:{tmp_path / name}: {tmp_path / name} ")


def test_sizes_that_are_none():
    with pytest.raises(PtxError, match="is not one to three sizes"):
        sizes("--grid", "9" * 5000)
    assert parse_sizes([f"N={'[' * 5000}"]) == {"N": "[" * 5000}
    with pytest.raises(CallError):
        parse_sizes(["=3"])
