"""`pyptx python`."""

from pathlib import Path

from pyptx._lift import lift
from pyptx._text import parse

FILE = "tests/text/corpus/triton_style.ptx"


def test_it_prints_the_program(pyptx):
    done = pyptx("python", FILE)
    assert done.status == 0
    assert done.out == lift(parse(Path(FILE).read_text(), FILE), "triton_style.ptx")


def test_it_writes_a_new_file_and_no_other(pyptx, tmp_path):
    output = tmp_path / "softmax.py"
    assert pyptx("python", FILE, "-o", str(output)).status == 0
    assert "def softmax_kernel() -> None:" in output.read_text()
    again = pyptx("python", FILE, "-o", str(output))
    assert again.status == 1
    assert again.err == (
        f"error: {output} is there already\n  help: name a file that is not there yet\n"
    )


def test_an_error_of_the_file_has_line_and_column(pyptx, tmp_path):
    file = tmp_path / "wrong.ptx"
    file.write_text(
        ".version 8.0\n.target sm_90a\n.visible .entry k()\n{\n    add.u32 a, b, c;\n}\n"
    )
    done = pyptx("python", str(file))
    assert done.status == 1
    assert done.err.startswith(f"error: {file}:5:13: a is not declared\n")


def test_a_file_that_is_not_there(pyptx):
    done = pyptx("python", "nowhere.ptx")
    assert done.status == 1
    assert done.err == "error: there is no file nowhere.ptx\n"
