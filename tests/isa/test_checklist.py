"""`make instruction`: what is left to fill in after a change of the table, by file and line."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPORT = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest">
<testcase classname="tests.isa.test_rows" name="test_a_row_is_read_whole"/>
<testcase classname="tests.isa.test_rows" name="test_rows_stand_under_their_opcode">
  <failure message="AssertionError: add is under sub&#10;1 == 2">text</failure></testcase>
<testcase classname="tests.semantics.test_semantics" name="test_every_spelling">
  <failure message="AssertionError: assert ['add.probe.u16'] == []">text</failure></testcase>
<testcase classname="tests.emulator.test_coverage" name="test_one[a]">
  <failure message="AssertionError: add.probe.u16">text</failure></testcase>
<testcase classname="tests.emulator.test_coverage" name="test_one[b]">
  <failure message="AssertionError: add.probe.u16">text</failure></testcase>
<testcase classname="tests.emulator.test_coverage" name="test_two">
  <error message="RuntimeError: no image">text</error></testcase>
</testsuite></testsuites>
"""


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("instruction", ROOT / "tools/instruction.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line_of(file: str, start: str) -> str:
    lines = (ROOT / file).read_text().splitlines()
    return f"{file}:{next(n for n, line in enumerate(lines, 1) if line.startswith(start))}"


def test_each_failure_is_said_at_the_place_to_fill_in(tool):
    coverage = line_of("tests/emulator/test_coverage.py", "WITHOUT = {")
    cases = line_of("tests/semantics/cases.py", "CASES: Final")
    assert tool.written(tool.checklist(REPORT)) == (
        f"[ ] {coverage}: its function in src/pyptx/_native/src/emulator/semantics; or here why it "
        "is not emulated\n"
        "      AssertionError: add.probe.u16\n"
        "      RuntimeError: no image\n"
        f"[ ] {cases}: its model, or its spelling in NOT_EMULATED with the reason\n"
        "      AssertionError: assert ['add.probe.u16'] == []\n"
        "[ ] tests.isa.test_rows.test_rows_stand_under_their_opcode: a test that no place is known "
        "for\n"
        "      AssertionError: add is under sub"
    )  # fmt: skip


def test_nothing_left_is_said(tool):
    assert tool.written(tool.checklist("<testsuites/>")) == "nothing is left to fill in"


def test_a_long_list_is_cut(tool):
    entry = tool.Entry("here:1", "do it", [f"spelling {n}" for n in range(8)])
    shown = tool.written([entry]).splitlines()
    assert shown[-2:] == ["      spelling 4", "      and 3 more"]


def test_every_place_and_every_test_is_there(tool):
    """A file that is renamed, or a table, must be renamed in the tool too."""
    for place in tool.PLACES:
        assert place.line > 0
        named = ROOT / place.tests.replace(".", "/")
        assert named.is_dir() or named.with_suffix(".py").is_file(), place.tests
    for tests in tool.CHECKED:
        assert (ROOT / tests).exists(), tests
    for _, arguments in (*tool.WRITERS, *tool.PROBES):
        for argument in arguments:
            assert not argument.startswith(("tools/", "tests/")) or (ROOT / argument).exists()
