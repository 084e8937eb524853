"""`check` and `run` of PTX files."""

import subprocess

import numpy as np

SCALE = """
    .version 8.0
    .target sm_80
    .address_size 64

    .visible .entry scale(.param .u32 n, .param .f32 factor, .param .u64 x, .param .u64 y)
    .maxntid 128
    {
        .reg .pred p;
        .reg .b32 %n, %i, %c;
        .reg .f32 %f, %v;
        .reg .b64 %x, %y, %o;
        ld.param.u32 %n, [n];
        ld.param.f32 %f, [factor];
        ld.param.u64 %x, [x];
        ld.param.u64 %y, [y];
        mov.u32 %c, %ctaid.x;
        mov.u32 %i, %tid.x;
        mad.lo.u32 %i, %c, 128, %i;
        setp.ge.u32 p, %i, %n;
        @p ret;
        mul.wide.u32 %o, %i, 4;
        add.u64 %x, %x, %o;
        add.u64 %y, %y, %o;
        ld.global.f32 %v, [%x];
        mul.f32 %v, %v, %f;
        st.global.f32 [%y], %v;
        ret;
    }
    """
RUN = ("--grid", "2", "--block", "128", "--arg", "200", "--arg", "3.0", "--arg", "in:f32[200]=2")


def test_a_file_is_checked(pyptx, program):
    done = pyptx("check", program(SCALE, "scale.ptx"))
    assert (done.status, done.err) == (0, "")
    head, row = (line.split() for line in done.out.splitlines()[:2])
    assert head == ["entry", "target", "PTX", "registers", "spilled", "emulated", "warnings"]
    assert row[:3] == ["scale", "sm_80", "8.0"]
    assert row[4:] == ["0", "yes", "none"]
    other = pyptx("check", program(SCALE, "scale.ptx") + ":scale", "--arch", "sm_100a")
    assert "sm_100a" in other.out


ENTRIES = """
    .version 8.0
    .target sm_90a
    .address_size 64

    .func deep(.param .b32 n)
    {
        .param .b32 a;
        st.param.b32 [a], 1;
        call deep, (a);
        ret;
    }
    .visible .entry quiet() { ret; }
    .visible .entry calls()
    {
        .param .b32 a;
        st.param.b32 [a], 1;
        call deep, (a);
        ret;
    }
    .visible .entry wide() .maxntid 1024 .minnctapersm 40 { ret; }
    .visible .entry loud() .minnctapersm 4
    {
        ret;
    }
    """
WARNINGS = {
    "quiet": "none",
    "calls": "Stack size for entry function 'calls' cannot be statically determined",
    "wide": "Value of minnctapersm for entry wide is out of range. minnctapersm will be ignored",
    "loud": ".minnctapersm is ignored when neither .maxntid nor .reqntid is specified.",
}


def warned(out: str) -> dict[str, str]:
    """The warnings of each entry of a table, whose lines may be broken."""
    found: dict[str, str] = {}
    for line in out.splitlines()[1:]:
        if line[:1].strip():
            name = line.split()[0]
            found[name] = line.partition("yes")[2].strip()
        elif line.strip():
            found[name] += " " + line.strip()
    return found


def test_one_run_of_the_assembler_serves_all_entries(pyptx, program, monkeypatch, tmp_path):
    commands: list[list[str]] = []
    run = subprocess.run

    def counted(command: list[str], **options: object):
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", counted)
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path / "cache"))
    done = pyptx("check", program(ENTRIES, "entries.ptx"))
    assert (done.status, done.err) == (0, "")
    assert warned(done.out) == WARNINGS
    assert sum("kernel.ptx" in command for command in commands) == 1


def test_a_warning_that_names_no_entry_is_for_those_that_the_assembler_gives_it_for(
    pyptx, program, monkeypatch, tmp_path
):
    """One run for all cannot say whose it is, so there is one for each entry."""
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path / "cache"))
    text = ENTRIES.replace("quiet() { ret; }", "quiet() .minnctapersm 4 { ret;\n\n}")
    found = warned(pyptx("check", program(text, "entries.ptx")).out)
    assert set(found) == set(WARNINGS)
    assert all(WARNINGS["loud"] in text for text in found.values())


def test_what_no_assembler_is_needed_for_is_at_line_and_column(pyptx, program):
    file = program(SCALE.replace("mul.f32 %v", "mul.f23 %v"), "scale.ptx")
    done = pyptx("check", file)
    assert done.status == 1
    assert done.err.startswith(f"error: {file}:25:5: mul has no modifier .f23 here")
    assert "mul.f23 %v, %v, %f;" in done.err


def test_what_only_the_assembler_finds_is_at_its_line(pyptx, program):
    text = SCALE.replace(".visible", ".func put (.reg .f32 a) { ret; }\n    .visible")
    text = text.replace("        mul.f32", "        call put, (%n, %n);\n        mul.f32")
    file = program(text, "scale.ptx")
    done = pyptx("check", file)
    assert done.status == 1
    assert done.err.startswith(f"error: {file}:26: ptxas rejected the kernel: ")
    assert "call put, (%n, %n);" in done.err


def test_registers_that_nothing_sets_and_functions_without_a_body(pyptx, program):
    file = program(SCALE.replace("ld.param.f32 %f, [factor];", ""), "scale.ptx")
    done = pyptx("check", file)
    assert done.status == 0
    assert "line 25: mul.f32 reads a .f32 register that nothing has set" in " ".join(
        done.out.split()
    )
    calls = SCALE.replace(".visible", ".extern .func outside ();\n    .visible")
    calls = calls.replace("        mul.f32", "        call outside;\n        mul.f32")
    done = pyptx("check", program(calls, "calls.ptx"))
    assert "outside" in done.err + done.out


def test_an_entry_is_run_and_its_results_are_shown_and_saved(pyptx, program, tmp_path):
    file = program(SCALE, "scale.ptx")
    done = pyptx("run", file, *RUN, "--arg", "out:f32[200]", "--save", str(tmp_path / "results"))
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("scale: no findings\n")
    assert "memory of scale, per PTX line" in done.out
    assert "y          float32 200      6     6  6 6 6 6" in done.out
    np.testing.assert_array_equal(np.load(tmp_path / "results/y.npy"), np.full(200, 6, np.float32))
    np.save(tmp_path / "x.npy", np.arange(200, dtype=np.float32))
    arguments = (*RUN[:-1], f"in:{tmp_path / 'x.npy'}")
    done = pyptx("run", file, *arguments, "--arg", "inout:f32[200]")
    assert "0   597  0 3 6 9" in done.out


def test_findings_end_with_status_1(pyptx, program):
    file = program(SCALE, "scale.ptx")
    done = pyptx("run", file, *RUN, "--arg", "out:f32[100]")
    assert done.status == 1
    assert f"{file}:26: out of bounds: stores 4 bytes of global memory" in done.out
    assert "0 bytes past the end of y (400 bytes)" in done.out


def test_a_file_is_shown_with_what_its_entries_need(pyptx, program):
    done = pyptx("show", program(SCALE, "scale.ptx"), "--arch", "sm_90", "--sass")
    assert done.status == 0
    text, _, rest = done.out.partition("\n\n  0000  ")
    assert text.strip().startswith(SCALE.strip().splitlines()[0].strip())
    assert "EXIT" in rest
    assert done.err.startswith("scale for sm_90")
    assert "registers" in done.err


def test_wrong_arguments(pyptx, program):
    file = program(SCALE, "scale.ptx")
    done = pyptx("run", file, *RUN)
    assert done.status == 1
    assert done.err.splitlines()[:2] == [
        "error: scale takes 4 parameters, and there are 3 --arg",
        "  parameters: n .u32, factor .f32, x .u64, y .u64",
    ]
    for wrong, said in {
        "f33[4]": "--arg f33[4]: arrays have no type f33",
        "none.npy": "--arg none.npy: there is no file none.npy",
        "x": "--arg x is neither a number nor an array",
        "f32[4]=x": "--arg f32[4]=x: x is no number",
        "hex:0": "--arg hex:0: non-hexadecimal number found in fromhex() arg at position 1",
    }.items():
        assert pyptx("run", file, *RUN, "--arg", wrong).err.startswith(f"error: {said}"), wrong
    done = pyptx("run", file, "--grid", "1,2,3,4", *RUN[2:], "--arg", "out:f32[200]")
    assert "error: --grid 1,2,3,4 is not one to three sizes" in done.err
    assert "error: --dim is for Python files" in pyptx("run", file, "--dim", "N=1").err
    assert "are for PTX files" in pyptx("run", "README.md", "--arg", "1").err
    assert "error: there is no file none.ptx" in pyptx("check", "none.ptx").err
    shown = "error: --dim is for Python files; the PTX is the same for all sizes\n"
    assert pyptx("show", file, "--dim", "N=4").err == shown
    assert pyptx("show", file, "--lines").err == (
        "error: --lines is for Python files; PTX has the .loc lines that it has\n"
    )
    missing = pyptx("check", f"{file}:other").err
    assert missing.splitlines()[1] == "  entries: scale"
