"""`show` and `check`: looking at kernels."""

import re

import numpy as np

AXPY = "examples/first_kernel.py"
RMS = "examples/hopper/rms_norm.py:build(4, 512)"


def test_show_prints_the_text_and_what_the_kernel_needs(pyptx):
    done = pyptx("show", AXPY, "--dim", "N=1000")
    assert done.status == 0
    text, (title, _, table) = done.out, done.err.partition("\n")
    assert title.rstrip() == "axpy for sm_90a"
    assert "axpy for sm_90a" not in text
    assert text.startswith(".version 8.0\n.target sm_90a\n")
    assert "    fma.rn.f32 " in text
    assert ".loc" not in text
    assert re.search(r"(?m)^registers +\d+ per thread", table)
    assert re.search(r"(?m)^spilled +0 stored, 0 loaded bytes per thread", table)
    assert re.search(r"(?m)^assembler +ptxas \d+\.\d+\.\d+", table)


def test_show_lines_names_the_file_and_nothing_of_the_command_line(pyptx):
    done = pyptx("show", AXPY, "--dim", "N=1000", "--lines")
    files = re.findall(r'^\.file \d+ "(.*)"', done.out, re.MULTILINE)
    assert [name.rpartition("/")[2] for name in files] == ["first_kernel.py"]
    assert len(re.findall(r"(?m)^    \.loc 1 ", done.out)) >= 8


def test_show_sass_puts_python_lines_between_the_instructions(pyptx):
    done = pyptx("show", AXPY, "--dim", "N=1000", "--sass")
    python = re.search(r"(?m)^// .*first_kernel.py:\d+  (addend = .*)\n  [0-9a-f]{4}  ", done.out)
    assert python, done.out
    assert "FFMA" in done.out


def test_show_takes_a_call_that_makes_a_kernel_and_another_target(pyptx):
    done = pyptx("show", "examples/hopper/rms_norm.py:build(4, 512, eps=1e-5)", "--arch", "sm_100a")
    assert done.status == 0
    assert "rms_norm for sm_100a" in done.err


BRANCHES = """
    from pyptx import Tile, kernel, ptx
    from pyptx.types import f32

    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block="N")
    def k(X, Y):
        Y[ptx.special.tid.x()] = 80.0 if str(ptx.target()).startswith("sm_8") else 90.0
"""


def test_show_prints_the_text_for_the_target_that_is_named(pyptx, program):
    file = program(BRANCHES)
    old = pyptx("show", f"{file}:k", "--dim", "N=32", "--arch", "sm_80")
    assert "\n.target sm_80\n" in old.out
    assert "0f42A00000" in old.out  # 80.0
    assert "k for sm_80" in old.err
    new = pyptx("show", f"{file}:k", "--dim", "N=32")
    assert "\n.target sm_90a\n" in new.out
    assert "0f42B40000" in new.out  # 90.0


def test_check_traces_for_the_target_that_is_named(pyptx, program):
    file = program(BRANCHES.replace("90.0", "ptx.wgmma.fence() or 90.0"))
    assert pyptx("check", file, "--dim", "N=32").status == 0
    done = pyptx("check", file, "--dim", "N=32", "--arch", "sm_80")
    assert re.search(r"(?m)^k +sm_80 +7\.0 ", done.out), done.out


def test_show_of_a_target_that_is_none_prints_the_error_alone(pyptx):
    done = pyptx("show", AXPY, "--dim", "N=1000", "--arch", "sm_99")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error: unknown target 'sm_99'; known: sm_75 ")
    assert done.err.count("\n") == 1


def test_what_show_prints_is_a_file_that_check_and_show_take(pyptx, tmp_path):
    file = tmp_path / "axpy.ptx"
    file.write_text(pyptx("show", AXPY, "--dim", "N=1000").out)
    assert re.search(r"(?m)^axpy +sm_90a +8\.0 +\d+ +0 +yes +none", pyptx("check", str(file)).out)
    assert pyptx("show", str(file)).out == file.read_text()


def test_an_error_of_an_option_has_no_place_in_python(pyptx, tmp_path):
    done = pyptx("show", AXPY, "--dim", "N=1000", "--dim", "BN=32")
    assert done.err == "error: axpy has no dimension or keyword BN\n  legal: N\n"
    file = tmp_path / "axpy.ptx"
    file.write_text(pyptx("show", AXPY, "--dim", "N=1000").out)
    for checked in (("check", AXPY, "--dim", "N=1000"), ("check", str(file))):
        done = pyptx(*checked, "--arch", "sm_999")
        assert done.err.startswith("error: unknown target 'sm_999'; known: sm_75 "), done.err
        assert done.err.count("\n") == 1


def test_run_without_a_block_names_the_option(pyptx, tmp_path):
    file = tmp_path / "axpy.ptx"
    file.write_text(pyptx("show", AXPY, "--dim", "N=1000").out.replace(".reqntid", ".maxntid"))
    arrays = ["--arg=2.0", *(f"--arg={way}:f32[1000]" for way in ("in", "in", "out"))]
    done = pyptx("run", str(file), *arrays)
    assert done.err == (
        "error: axpy needs --block: the file does not require a size\n  help: --block 128\n"
    )


def test_a_finding_of_a_ptx_file_that_no_line_causes_has_no_place_in_python(pyptx, tmp_path):
    file = tmp_path / "axpy.ptx"
    file.write_text(pyptx("show", AXPY, "--dim", "N=1000").out.replace(".reqntid", ".maxntid"))
    arrays = ["--arg=2.0", *(f"--arg={way}:f32[1000]" for way in ("in", "in", "out"))]
    done = pyptx("run", str(file), *arrays, "--block", "32")
    assert done.status == 1
    assert re.search(r"(?m)^\w+: \d+ of 1000 elements never written", done.out), done.out
    assert "typer" not in done.out


def test_show_without_sizes_says_which_are_missing(pyptx):
    done = pyptx("show", AXPY)
    assert done.status == 1
    assert done.err == "error: axpy needs a size for N\n  help: --dim N=...\n"


def test_a_file_that_is_not_there(pyptx):
    done = pyptx("show", "nothing.py:kernel")
    assert (done.status, done.out) == (1, "")
    assert done.err == "error: there is no file nothing.py\n"


def test_a_file_without_kernels_at_its_top_level(pyptx):
    done = pyptx("check", "examples/hopper/rms_norm.py")
    assert done.err == (
        "error: examples/hopper/rms_norm.py has no kernel at its top level\n"
        '  help: name a call that makes one: "examples/hopper/rms_norm.py:build(16, 512)"\n'
    )


def test_a_name_that_the_file_does_not_have(pyptx):
    done = pyptx("show", f"{AXPY}:other")
    assert done.err == (
        "error: 'other' is neither a name nor a call with plain values: the file has no other\n"
        '  help: FILE:rms_norm or "FILE:build(16, 512, eps=1e-5)"\n'
    )


def test_arguments_are_values_and_never_code(pyptx, tmp_path):
    marker = tmp_path / "made"
    done = pyptx("show", f"{AXPY}:axpy(open({str(marker)!r}, 'w'))")
    assert done.status == 1
    assert "is neither a name nor a call with plain values" in done.err
    assert not marker.exists()


def test_something_that_is_no_kernel(pyptx):
    assert pyptx("show", f"{AXPY}:THREADS").err == "error: THREADS is no kernel but int\n"


def test_a_size_without_a_value(pyptx):
    done = pyptx("show", AXPY, "--dim", "N")
    assert done.err == "error: --dim N is not NAME=VALUE\n  help: --dim N=8192\n"


def test_a_size_that_is_none(pyptx):
    for command in ("show", "check", "run"):
        for value in ("-3", "abc", "1.5"):
            assert pyptx(command, f"{AXPY}:axpy", "--dim", f"N={value}").err == (
                f"error: --dim N={value}: the size of a dimension is a whole number, 0 or more\n"
                "  help: --dim N=1024\n"
            )


def test_check_lists_each_kernel(pyptx):
    done = pyptx("check", RMS)
    assert done.status == 0
    assert re.search(r"(?m)^rms_norm +sm_90a +8\.0 +\d+ +0 +none", done.out)


SEVERAL = """
    from pyptx import Tile, kernel, ptx
    from pyptx.types import f32

    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block="T")
    def one(X, Y, *, T=64):
        Y[ptx.special.tid.x()] = X[0] * T

    @kernel(in_specs=(Tile("M", f32),), out_specs=(Tile("M", f32),), block="M")
    def two(Z, Y):
        Y[ptx.special.tid.x()] = Z[0]
"""


def test_a_size_is_that_of_the_kernels_that_have_it(pyptx, program):
    file = program(SEVERAL)
    sizes = ("--dim", "N=32", "--dim", "M=64", "--dim", "T=32")
    done = pyptx("check", file, *sizes)
    assert (done.status, done.err) == (0, "")
    assert re.findall(r"(?m)^(one|two) +sm_90a", done.out) == ["one", "two"]
    assert pyptx("show", file, *sizes).out.count(".visible .entry ") == 2
    done = pyptx("run", file, *sizes, "--input", f"Z={_saved(file)}")
    assert re.findall(r"(?m)^(one|two): no findings", done.out) == ["one", "two"]


def _saved(program):
    """The name of a file of 64 ones."""
    path = f"{program}.npy"
    np.save(path, np.ones(64, np.float32))
    return path


def test_a_size_or_input_that_no_kernel_has(pyptx, program):
    sizes = (program(SEVERAL), "--dim", "N=32", "--dim", "M=64")
    for command in ("check", "show"):
        done = pyptx(command, *sizes, "--dim", "Q=32")
        assert done.err == "error: one has no dimension or keyword Q\n  legal: N T\n"
    done = pyptx("run", *sizes, "--dim", "Q=32")
    assert done.err == "error: one has no compile-time keyword Q\n  legal: T\n"
    done = pyptx("run", *sizes, "--input", "Q=0:1")
    assert done.err == "error: one has no input Q\n  inputs: X\n"
    assert pyptx("check", *sizes[:-1], "N=32").err == (
        "error: two needs a size for M\n  help: --dim M=...\n"
    )


def test_check_shows_an_error_of_the_language_as_a_message(pyptx, program):
    file = program("""
        from pyptx import kernel, ptx, reg
        from pyptx.types import f32

        @kernel
        def wrong():
            x = reg.scalar(f32, init=1.0)
            ptx.inst.add.f33(x, x, x)
        """)
    done = pyptx("check", file)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"error: {file}:7: ")
    assert "\n    ptx.inst.add.f33(x, x, x)\n" in done.err
    assert "Traceback" not in done.err


def test_an_error_of_the_program_itself_keeps_its_traceback(process, program):
    done = process("check", program("1 / 0"))
    assert done.status == 1
    assert "ZeroDivisionError" in done.err
    assert 'program.py", line 1' in done.err
