"""The table of what compute-sanitizer and the emulator find, from a record that is made up."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "mutants_table.py"


@pytest.fixture(scope="module")
def mutants_table():
    spec = importlib.util.spec_from_file_location("mutants_table", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants_table"] = module
    spec.loader.exec_module(module)
    return module


def case(subject, verdict, alone, *reporting, digests=("a",), **other):
    runs = {
        tool: {"errors": int(tool in reporting), "summary": True, "said": "", "trouble": ""}
        for tool in ("memcheck", "racecheck", "initcheck", "synccheck")
    }
    runs |= {tool: {**runs[tool], **fields} for tool, fields in other.items()}
    runs["alone"] = {"outcome": alone, "digests": list(digests)}
    return {"subject": subject, "change": verdict, "verdict": verdict, "kinds": [], "runs": runs}


@pytest.fixture
def record():
    return {
        "settings": {"schedules": 64},
        "environment": {"compute_sanitizer": "1.2"},
        "cases": [
            case("quiet", "clean", "ran"),
            case("quiet", "found", "ran", "racecheck", "memcheck"),
            case("quiet", "found", "ran", digests=("a", "b")),
            case("quiet", "found", "hang", racecheck={"summary": False}),
            case("quiet", "explored", "ran"),
            case("quiet", "missed", "error", "memcheck"),
            case("quiet", "equivalent", "ran", "synccheck"),
            # racecheck says of the mutant what it says of the kernel.
            case("loud", "clean", "ran", "racecheck", digests=("a", "b")),
            case("loud", "found", "ran", "racecheck"),
        ],
    }


def test_a_tool_finds_what_it_does_not_say_of_the_kernel(mutants_table, record):
    text = "\n".join(mutants_table.table(record))
    assert "**compute-sanitizer 1.2**, 6 mutants of 2 kernels" in text
    assert "| | found of 6 | reports on 2 correct kernels | on 1 equivalent mutants |" in text
    assert "| memcheck | 2 | 0 | 0 |" in text
    assert "| racecheck | 1 | 1 | 0 |" in text
    assert "| synccheck | 0 | 0 | 1 |" in text
    assert "| all four tools | 2 | 1 | 1 |" in text
    assert "| pyptx's emulator | 4 | 0 | 0 |" in text
    assert "| pyptx's emulator, `schedules=64` | 5 | 0 | 0 |" in text


def test_the_ends_of_mutants_say_what_is_silent(mutants_table, record):
    text = "\n".join(mutants_table.table(record))
    assert "| the kernel hangs | 1 | 0 | 1 |" in text
    assert "| the launch fails | 1 | 1 | 0 |" in text
    assert "| wrong results | 1 | 0 | 1 |" in text
    assert "| results that vary, as those of the kernel do | 1 | 0 | 1 |" in text
    assert "| the right results | 2 | 1 | 1 |" in text


def test_each_case_is_listed_with_the_tools_that_gave_no_verdict(
    mutants_table, record, tmp_path, capsys
):
    path = tmp_path / "mutants.json"
    path.write_text(json.dumps(record))
    mutants_table.main([str(path), "--list"])
    said = capsys.readouterr().out
    assert "quiet / found [found] hang : no report; no verdict of racecheck" in said
    assert "loud / found [found] varies : {'racecheck': 'reported'}" in said
