"""Running mutants on a GPU, with a driver and a compute-sanitizer that are stubs."""

import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
TOOL = HERE.parents[1] / "tools" / "mutants_on_gpu.py"
INPUT = bytes(range(64))

LAUNCH = """entry kernel
grid 1 1 1
block 32 1 1
cluster 2 1 1
shared 1024
buffer 64 0.bin
buffer 64 -
argument address 0 0
argument address 1 0
argument value 0a000000
result 1
"""

# Knows one option of each tool; reports by the name of the cubin.
SANITIZER = """#!/bin/sh
case "$1" in
  --version) echo "NVIDIA (R) Compute Sanitizer"; echo "Version 2025.3.1.0 (build 1)"; exit ;;
  --help) echo "--padding arg --num-cuda-barriers arg --check-exit-code arg"; exit ;;
esac
tool=${1#--tool=}
while case "$1" in --*) true ;; *) false ;; esac; do shift; done
echo "========= COMPUTE-SANITIZER"
"$@"
case "$tool $3" in
  *slow*) sleep 600 ;;
  *broken*) echo "========= Internal Sanitizer Error: no" ;;
  racecheck*stuck*) echo "========= Deadlock detected in Cuda::barrier wait" ;;
  racecheck*racy*)
    echo "========= Error: Race reported between Write access at kernel+0x90 [8 hazards]"
    echo "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)" ;;
  racecheck*) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
  memcheck*fail*)
    echo "========= Program hit CUDA_ERROR_STUB (error 719)"
    echo "========= ERROR SUMMARY: 2 errors" ;;
  *) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
"""


@pytest.fixture(scope="module")
def gpu():
    spec = importlib.util.spec_from_file_location("mutants_on_gpu", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants_on_gpu"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def launcher(gpu, tmp_path_factory):
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    return gpu.build(tmp_path_factory.mktemp("launcher"))


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    library = folder / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "stub_driver.c"], check=True)
    return folder


@pytest.fixture
def stubbed(driver, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))


@pytest.fixture
def sanitizer(gpu, tmp_path):
    path = tmp_path / "compute-sanitizer"
    path.write_text(SANITIZER)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def exported(tmp_path):
    """The kernel of one subject and its mutants, each a word for the stub."""
    folder = tmp_path / "cases"
    (folder / "s").mkdir(parents=True)
    (folder / "s" / "launch.txt").write_text(LAUNCH)
    (folder / "s" / "0.bin").write_bytes(INPUT)
    (folder / "s" / "expected.bin").write_bytes(INPUT)
    words = {"clean": "copy", "racy": "copy", "wrong": "skip", "drifting": "drift",
             "stuck": "hang", "failing": "fail", "broken": "copy"}  # fmt: skip
    cases = []
    for name, word in words.items():
        (folder / "s" / f"{name}.cubin").write_text(word)
        verdict = "clean" if name == "clean" else "found"
        cases.append({"subject": "a subject", "folder": "s", "cubin": f"{name}.cubin",
                      "change": name, "verdict": verdict, "kinds": []})  # fmt: skip
    export = {"made": "now", "commit": "c", "target": "sm_90a", "assembler": "13.0.1",
              "schedules": 64, "left_out": [], "refused": [], "cases": cases,
              "results": {"a subject": [{"dtype": "uint32", "bytes": 64}]}}  # fmt: skip
    (folder / "cases.json").write_text(json.dumps(export))
    return folder


def launched(gpu, launcher, folder, name, *rest):
    command = [launcher, folder / "s" / "launch.txt", folder / "s" / f"{name}.cubin", *rest]
    status, said = gpu.run(list(map(str, command)), 60)
    return status, gpu.read_launches(said)


def test_a_launch_gives_the_digest_of_its_results(gpu, launcher, stubbed, exported, tmp_path):
    results = tmp_path / "results"
    status, clean = launched(gpu, launcher, exported, "clean", 3, 5, "fill", results)
    assert status == 0
    assert clean["outcome"] == "ran"
    assert len(clean["digests"]) == 1
    assert results.read_bytes() == INPUT
    _, wrong = launched(gpu, launcher, exported, "wrong", 3, 5, "fill", results)
    assert wrong["digests"] != clean["digests"]
    assert results.read_bytes() == b"\xa5" * 64


def test_results_that_change_from_launch_to_launch_have_as_many_digests(
    gpu, launcher, stubbed, exported
):
    assert len(launched(gpu, launcher, exported, "drifting", 4, 5, "fill")[1]["digests"]) == 4


def test_a_launch_that_hangs_ends_the_process_and_one_that_fails_says_so(
    gpu, launcher, stubbed, exported
):
    begin = time.monotonic()
    status, hung = launched(gpu, launcher, exported, "stuck", 3, 0.5, "fill")
    assert (status, hung["outcome"]) == (4, "hang")
    assert time.monotonic() - begin < 10
    status, failed = launched(gpu, launcher, exported, "failing", 3, 5, "fill")
    assert (status, failed["outcome"]) == (3, "error")
    assert "CUDA_ERROR_STUB" in failed["driver"]


def test_a_tensor_map_is_encoded_for_the_buffer_where_it_is(
    gpu, launcher, stubbed, exported, tmp_path
):
    from pyptx._emulator import Map
    from pyptx._emulator.run import device_array
    from pyptx._layouts import TensorMap
    from pyptx.types import DTYPES

    described = TensorMap(DTYPES["f32"], (2, 4), (1, 1))
    array = device_array((2, 8), np.float32)
    encoded = Map(array, "X", described, (2, 8), (32,)).encode()
    text = LAUNCH.replace("argument address 0 0", f"argument map 0 16 {encoded.hex()}")
    (exported / "s" / "launch.txt").write_text(text)
    results = tmp_path / "results"
    status, _ = launched(gpu, launcher, exported, "clean", 1, 5, "leave", results)
    assert status == 0
    # 64 bytes from 16 on; what is behind the buffer is anything.
    assert results.read_bytes()[:48] == INPUT[16:]


@pytest.mark.parametrize(
    ("text", "said"),
    [("entry kernel\nbuffer 8 0.bin\n", "0.bin has another size"),
     ("argument address 0 0\n", "an argument is of no buffer"),
     ("gird 1 1 1\n", "an unknown word: gird"), ("grid 1 1\n", "an incomplete line: grid 1 1")],
)  # fmt: skip
def test_a_wrong_file_is_named(gpu, launcher, stubbed, exported, text, said):
    (exported / "s" / "launch.txt").write_text(text)
    path = exported / "s"
    command = [launcher, path / "launch.txt", path / "clean.cubin", 1, 1, "fill"]
    status, output = gpu.run(list(map(str, command)), 60)
    assert (status, output.strip()) == (2, f"launch_case: {said}")


@pytest.mark.parametrize(
    ("output", "errors", "summary", "said", "trouble"),
    [
        ("========= ERROR SUMMARY: 0 errors", 0, True, "", ""),
        ("========= Invalid __global__ read of size 4 bytes\n========= ERROR SUMMARY: 3 errors",
         3, True, "Invalid __global__ read of size 4 bytes", ""),
        ("========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)", 1, True, "", ""),
        ("========= Deadlock detected in Cuda::barrier wait", 1, False,
         "Deadlock detected in Cuda::barrier wait", ""),
        ("========= Warning: Detected overflow of tracked cuda::barrier structures.", 0, False, "",
         "Warning: Detected overflow of tracked cuda::barrier structures."),
        ("Invalid words of the program itself", 0, False, "", ""),
    ],
)  # fmt: skip
def test_what_a_tool_says_is_read(gpu, output, errors, summary, said, trouble):
    assert gpu.read_tool(output) == {
        "errors": errors, "summary": summary, "said": said, "trouble": trouble
    }  # fmt: skip


@pytest.mark.parametrize(
    ("results", "verdict"),
    [([1.0, 2.0], "exact"), ([1.0, 2.001], "close"), ([1.0, 3.0], "different"),
     ([1.0, float("nan")], "different"), ([1.0], "another size")],
)  # fmt: skip
def test_results_are_compared_with_the_emulators(gpu, results, verdict):
    data = np.array(results, np.float32).tobytes()
    expected = np.array([1.0, 2.0], np.float32).tobytes()
    assert gpu.agreement(data, expected, [{"dtype": "float32", "bytes": 8}]) == verdict


def test_a_process_that_takes_too_long_is_killed_with_those_that_it_started(gpu, tmp_path):
    pid = tmp_path / "pid"
    begin = time.monotonic()
    status, said = gpu.run(["sh", "-c", f"echo first; sleep 600 & echo $! > {pid}; wait"], 1)
    assert (status, said) == (None, "first\n")
    assert time.monotonic() - begin < 20
    for _ in range(100):
        if not alive(int(pid.read_text())):
            break
        time.sleep(0.1)
    assert not alive(int(pid.read_text()))


def alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def main(gpu, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["mutants_on_gpu.py", *map(str, arguments)])
    return gpu.main()


@pytest.fixture
def quick(gpu, launcher, monkeypatch):
    monkeypatch.setattr(gpu, "SECONDS", {gpu.ALONE: 1, "tool": 3, "known to hang": 1})
    monkeypatch.setattr(gpu, "build", lambda folder: launcher)
    monkeypatch.setattr(gpu, "device", lambda: {"name": "stub", "driver_version": "1"})
    monkeypatch.setattr(gpu, "gpus", lambda: ["2", "3"])


@pytest.mark.skipif(os.name != "posix", reason="processes and libraries are those of Linux")
def test_every_case_runs_alone_and_under_every_tool(
    gpu, quick, stubbed, exported, sanitizer, tmp_path, monkeypatch
):
    out = tmp_path / "mutants.json"
    arguments = (exported, "--out", out, "--jobs", 4, "--sanitizer", sanitizer)
    assert main(gpu, monkeypatch, *arguments) == 0
    record = json.loads(out.read_text())
    assert record["environment"]["compute_sanitizer"] == "2025.3.1.0"
    assert record["settings"]["options"]["memcheck"] == ["--check-exit-code=no", "--padding=512"]
    runs = {case["change"]: case["runs"] for case in record["cases"]}
    assert {name: found["alone"]["outcome"] for name, found in runs.items()} == {
        "clean": "ran", "racy": "ran", "wrong": "ran", "drifting": "ran", "stuck": "hang",
        "failing": "error", "broken": "ran",
    }  # fmt: skip
    assert runs["clean"]["alone"]["emulator"] == "exact"
    flagged = {
        (name, tool) for name, found in runs.items() for tool in gpu.TOOLS if found[tool]["errors"]
    }
    assert flagged == {("racy", "racecheck"), ("stuck", "racecheck"), ("failing", "memcheck")}
    assert runs["broken"]["synccheck"]["trouble"] == "Internal Sanitizer Error: no"


@pytest.mark.skipif(os.name != "posix", reason="processes and libraries are those of Linux")
def test_a_second_command_goes_on_where_the_first_one_ended(
    gpu, quick, stubbed, exported, sanitizer, tmp_path, monkeypatch
):
    out = tmp_path / "mutants.json"
    arguments = (exported, "--out", out, "--jobs", 2, "--sanitizer", sanitizer, "--limit", 2)
    assert main(gpu, monkeypatch, *arguments, "--within", 0) == 1
    assert all(not case["runs"] for case in json.loads(out.read_text())["cases"])
    assert main(gpu, monkeypatch, *arguments, "--tools", "memcheck") == 0
    first, second, third, *_ = json.loads(out.read_text())["cases"]
    assert set(first["runs"]) == set(second["runs"]) == {"alone", "memcheck"}
    assert not third["runs"]
    done = first["runs"]["alone"]
    assert main(gpu, monkeypatch, *arguments) == 0
    first, _, third, *_ = json.loads(out.read_text())["cases"]
    assert set(first["runs"]) == {"alone", *gpu.TOOLS}
    assert first["runs"]["alone"] == done
    (exported / "cases.json").write_text(
        (exported / "cases.json").read_text().replace('"now"', '"later"')
    )
    with pytest.raises(SystemExit, match="is of another export"):
        main(gpu, monkeypatch, *arguments)


def test_processes_take_turns_at_the_gpus(gpu, exported, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,3")
    assert gpu.gpus() == ["1", "3"]
    bench = gpu.Bench(exported, exported, None, {}, exported, gpu.gpus())
    seen = [bench._on(slot)["CUDA_VISIBLE_DEVICES"] for slot in range(3)]
    assert seen == ["1", "3", "1"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(gpu, "run", lambda *_: (0, "0\n1\n2\n"))
    assert gpu.gpus() == ["0", "1", "2"]


def test_cases_that_hang_alone_are_last_under_tools(gpu):
    def case(verdict, outcome="ran", done=()):
        return {"verdict": verdict, "runs": {"alone": {"outcome": outcome}, **dict.fromkeys(done)}}

    cases = [case("equivalent"), case("found", "hang"), case("found"), case("clean", done=["a"])]
    ordered = gpu.order(cases, ["a", "b"])
    assert [(cases.index(each), tool) for each, tool in ordered] == [
        (3, "b"), (2, "a"), (2, "b"), (0, "a"), (0, "b"), (1, "a"), (1, "b"),
    ]  # fmt: skip
