"""pyptx refuses to be imported from a folder that also has the other project of its name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pyptx
from pyptx import _distribution

ROOT = Path(__file__).parents[2]


def install(folder: Path, *distributions: str) -> None:
    """The package in a folder as pip would leave it, with the metadata of these distributions."""
    (folder / "pyptx").symlink_to(Path(pyptx.__file__).parent)
    for distribution in distributions:
        (folder / f"{distribution}.dist-info").mkdir()


def test_another_project_in_the_same_folder_is_refused(tmp_path: Path):
    install(tmp_path, "pyptx-0.1.1", "pyptx_lang-0.1.0")
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; import pyptx"
    done = subprocess.run(  # -I and -S: no other package is found
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"ImportError: {tmp_path} holds two packages that import as pyptx: pyptx-lang, which this "
        "is, and the distribution pyptx 0.1.1, another project; the files of one have replaced "
        "files of the other\n"
        "  help: pip uninstall pyptx pyptx-lang, then install the one that you want again\n"
    )


@pytest.mark.parametrize(
    "neighbours", [(), ("pyptx_lang-0.1.0",), ("pyptx_tools-1.0", "pyptxas-2")]
)
def test_alone_or_with_packages_of_other_names_it_is_not(tmp_path: Path, neighbours):
    install(tmp_path, *neighbours)
    _distribution.refuse_another(tmp_path)


def test_what_cannot_be_listed_is_not_refused(tmp_path: Path):
    _distribution.refuse_another(tmp_path / "packages.zip")


def test_the_name_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == _distribution.NAME
    assert f"{_distribution.NAME}[jax,sass]" in project["optional-dependencies"]["dev"]


def test_no_document_installs_the_other_project():
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    wrong = re.compile(r"pip install[^\n`]*\bpyptx\b(?!-lang|/|\[?\w*\]? @)")
    said = [
        f"{document.name}: {line}"
        for document in documents
        for line in document.read_text().splitlines()
        if wrong.search(line)
    ]
    assert said == []


def test_the_check_costs_no_import():
    """`importlib.metadata` brings `email` and `zipfile`, and takes longer than the check."""
    code = (
        f"import sys; sys.path[:0] = [{os.fspath(Path(pyptx.__file__).parents[1])!r}]\n"
        "import importlib.util as u\n"
        f"spec = u.spec_from_file_location('d', {_distribution.__file__!r})\n"
        "module = u.module_from_spec(spec); spec.loader.exec_module(module)\n"
        "print('importlib.metadata' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
