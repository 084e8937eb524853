"""The API reference and the language reference have every public name, with a docstring."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyptx

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tools():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import language_tables
        import reference

        yield reference, language_tables
    finally:
        sys.path.remove(str(ROOT / "tools"))


def test_every_public_name_has_a_docstring(tools):
    reference, _ = tools
    assert reference.undocumented() == []


def test_every_name_of_pyptx_has_a_page(tools):
    reference, _ = tools
    listed = [name for _, _, names in reference.TOP.values() for name in names.split()]
    assert sorted(listed) == reference.top_names()


def test_a_name_without_a_docstring_is_found(tools, monkeypatch):
    reference, _ = tools

    class Bare:
        """A class."""

        def method(self):
            pass

    page = reference.Page("p", "p", "", (reference.Name("pyptx.Bare", "m.Bare", Bare),))
    monkeypatch.setattr(reference, "pages", lambda: (page,))
    assert reference.undocumented() == ["pyptx.Bare.method"]


def test_every_option_of_kernel_is_described():
    import inspect

    options = list(inspect.signature(pyptx.kernel).parameters)[1:]
    described = re.findall(r"^    (\w+): ", inspect.getdoc(pyptx.kernel), re.MULTILINE)
    assert described == options


def test_the_language_reference_is_what_the_tables_say(tools):
    _, language_tables = tools
    text = language_tables.PAGE.read_text()
    assert language_tables.written(text) == text, "run `make pages`"


def test_the_environment_page_has_every_variable_that_is_read():
    page = (ROOT / "docs" / "environment.md").read_text()
    literal = re.compile(
        r"(?:environ|getenv|Setting|_setting|Tool|Final = )[^\n]*?\"(PYPTX_[A-Z_]+)\""
    )
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.c*")]
    read = {name for path in sources for name in literal.findall(path.read_text(errors="replace"))}
    assert len(read) >= 10
    assert set(re.findall(r"^\| `(PYPTX_\w+)`", page, re.MULTILINE)) == read


def test_the_command_line_page_has_every_command_and_option():
    page = (ROOT / "docs" / "command_line.md").read_text()
    from typer.main import get_command

    from pyptx._cli.app import APP as app

    commands = get_command(app).commands
    for name, command in commands.items():
        assert f"## pyptx {name}\n" in page
        part = page.partition(f"## pyptx {name}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option == "--help" or f"`{option}" in part, f"{name} {option}"


def test_nobody_is_told_to_install_the_other_projects_name():
    shown = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    for path in shown:
        assert not re.search(r"pip install [\"']?pyptx", path.read_text()), path


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="needs the docs extra")
@pytest.mark.sweep
def test_the_site_builds_without_warnings(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "kernels.html").exists()
