"""`doctor` and `demo`, and the ways to start the command line."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pyptx as package
from pyptx._cli import demo


def test_help_names_every_command(pyptx):
    done = pyptx("--help")
    for command in ("show", "check", "run", "isa", "doctor", "demo"):
        assert re.search(rf"(?m)^  {command} +[A-Z].*\.", done.out)


def test_the_version(pyptx):
    done = pyptx("--version")
    assert (done.status, done.out, done.err) == (0, f"pyptx {package.__version__}\n", "")
    assert pyptx("isa", "ld.global.v4", "--version", "8.6").status == 0  # that of PTX


def test_an_unknown_command_is_an_error(pyptx):
    done = pyptx("frobnicate")
    assert done.status == 2
    assert "No such command 'frobnicate'" in done.err


def test_importing_pyptx_imports_neither_the_command_line_nor_jax(program):
    file = program("""
        import sys
        import pyptx
        assert not {"typer", "rich", "jax"} & set(sys.modules)
        """)
    # In a process of its own: this one has imported everything.
    subprocess.run([sys.executable, file], check=True)


def test_doctor_finds_what_this_suite_uses(process):
    done = process("doctor", width=300)
    assert done.status == 0
    rows = dict(re.findall(r"(?m)^(?:ok|absent|missing) +(\w+(?: handlers)?)  +(.*\S)", done.out))
    assert rows["Python"].startswith(sys.version.split()[0])
    assert rows["pyptx"].startswith(package.__version__)
    assert re.match(r"\d+\.\d+\.\d+, /", rows["ptxas"])
    assert {"emulator", "XLA handlers", "nvdisasm", "GPU", "cache", "JAX"} <= set(rows)
    assert {"PyTorch", "launcher"} <= set(rows)


def test_doctor_says_what_to_do_without_the_native_library(process, monkeypatch, tmp_path):
    monkeypatch.setenv("PYPTX_NATIVE_DIR", str(tmp_path / "nowhere"))
    done = process("doctor")
    assert done.status == 1
    assert re.search(r"(?m)^missing +emulator +the native library \w+ is missing", done.out)
    assert re.search(r"(?m)^emulator: pip install \. in a checkout builds them", done.out)


def test_doctor_says_what_to_do_without_the_assembler(process, monkeypatch, tmp_path):
    monkeypatch.setenv("PYPTX_PTXAS", str(tmp_path / "ptxas"))
    done = process("doctor")
    assert re.search(r"(?m)^absent +ptxas +PYPTX_PTXAS names ", done.out)


def test_the_demo_checks_and_shows_everything(process):
    done = process("demo", "--rows", "16", "--columns", "1024")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("RMS normalization of 16 x 1024 f32 on cpu (cpu)\n")
    error = re.search(r"largest relative error against float64 +(\S+)", done.out)
    assert error
    assert 0 < float(error[1]) < 1e-5
    for shown in ("sm_90a: PTX", "sm_90a: registers", "sm_90a: spilled"):
        assert f"\n{shown}" in done.out
    assert "rms_norm: no findings" in done.out
    assert "memory of rms_norm, per Python line" in done.out


@pytest.mark.parametrize(
    ("columns", "said"),
    [("100", "100 columns are not a multiple of 128"), ("12799999999872", "Unable to allocate .*")],
)
def test_the_demo_of_sizes_that_its_kernel_does_not_take(process, columns, said):
    done = process("demo", "--rows", "3", "--columns", columns)
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch(f"error: --rows 3 --columns {columns}: {said}\n", done.err)


WRONG = """
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    def build(rows, columns, eps, arch):
        @kernel(in_specs=(Tile(rows, columns, f32), Tile(columns, f32)),
                out_specs=(Tile(rows, columns, f32),), grid=rows, block=columns, arch=arch)
        def copy(X, W, Y):
            x, y = ptx.global_ptrs(X, Y)
            at = reg.from_(ptx.special.ctaid.x(), u32) * (columns * 4)
            at += reg.from_(ptx.special.tid.x(), u32) * 4
            ptx.inst.st.global_.f32(ptx.addr(y + at), ptx.inst.ld.global_.f32(ptx.addr(x + at)))

        return copy
    """


def test_the_demo_fails_where_the_kernel_is_wrong(process, program):
    done = process("demo", "--rows", "2", "--columns", "128", "--example", program(WRONG))
    assert done.status == 1
    assert done.out.endswith("WRONG: the error is larger than 1e-05\n")


def test_the_demo_without_its_kernel(pyptx, monkeypatch):
    monkeypatch.setattr(demo, "EXAMPLE", Path("/nowhere/rms_norm.py"))
    done = pyptx("demo")
    assert done.err == (
        "error: the demo's kernel is not here: /nowhere/rms_norm.py\n"
        "  help: run `make demo` in a source checkout, or give --example FILE\n"
    )


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_no_number_is_not_a_small_error(value):
    x, w = np.ones((1, 4), np.float32), np.ones(4, np.float32)
    result = np.array([[1, 1, float(value), 1]], np.float32)
    assert not demo.largest_error(result, x, w) < demo.TOLERANCE
